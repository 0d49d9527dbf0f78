//! What is shared by everything that writes a part of one kernel.

use std::collections::BTreeMap;
use std::rc::Rc;

use indexmap::IndexMap;
use nestegg_ir::{Dtype, Expr, ExprId, InameId, InstructionKind, Item, Kernel, LoopTree, SummingLoop};

use super::COptions;
use super::arrays::Arrays;
use super::error::CodegenError;
use super::facts::{Facts, dtypes};
use super::helpers::Helpers;
use super::lanes::Lanes;
use super::loops::{Loop, Loops};
use super::math;
use super::names::is_free_in_c;
use super::pairs::Pairs;
use super::symbols::Symbols;
use super::threads::Threads;

/// The type of a function that is neither of C nor of this text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signature {
    /// Takes floats, returns one.
    Pure {
        /// The dtype of arguments and result.
        dtype: Dtype,
        /// How many arguments it takes.
        n_arguments: usize,
    },
    /// Takes values, stores results through pointers after them.
    Several {
        /// The dtypes of its arguments.
        arguments: Vec<Dtype>,
        /// The dtypes of its results.
        results: Vec<Dtype>,
    },
}

impl Signature {
    /// The types of result and arguments.
    fn types(&self) -> (&'static str, Vec<String>) {
        match self {
            Self::Pure { dtype, n_arguments } => (dtype.c_name(), vec![dtype.c_name().to_owned(); *n_arguments]),
            Self::Several { arguments, results } => {
                let values = arguments.iter().map(|&dtype| dtype.c_name().to_owned());
                let pointers = results.iter().map(|&dtype| format!("{} *", dtype.c_name()));
                ("void", values.chain(pointers).collect())
            }
        }
    }

    /// The declaration of a function of this type, on a line.
    pub(crate) fn prototype(&self, name: &str) -> String {
        let (result, arguments) = self.types();
        let list = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
        // A function of its arguments alone: so says the kernel that calls it in an expression.
        let pure = if matches!(self, Self::Pure { .. }) { " __attribute__((const))" } else { "" };
        format!("#ifndef {name}\nextern {result} {name}({list}){pure};\n#endif\n")
    }

    /// The definition of a function that stands in for an unknown one: a weighted sum of its arguments.
    pub(crate) fn stand_in(&self, name: &str) -> String {
        let (result, types) = self.types();
        let declared: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("{ty} a{at}")).collect();
        let list = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
        let n_values = match self {
            Self::Pure { n_arguments, .. } => *n_arguments,
            Self::Several { arguments, .. } => arguments.len(),
        };
        let terms: Vec<String> = (0..n_values).map(|at| format!("(double)a{at}/{}", at + 2)).collect();
        let value = if terms.is_empty() { "0.5".to_owned() } else { terms.join(" + ") };
        let body = match self {
            Self::Pure { dtype, .. } => format!("return ({})({value});", dtype.c_name()),
            Self::Several { results, .. } => {
                let store =
                    |(at, dtype): (usize, &Dtype)| format!("*a{} = ({})({value});", n_values + at, dtype.c_name());
                results.iter().enumerate().map(store).collect::<Vec<_>>().join(" ")
            }
        };
        format!("{}{result} {name}({list}) {{ {body} }}\n", self.prototype(name))
    }
}

/// The state of writing one kernel.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    /// The kernel, without substitution rules.
    pub(crate) kernel: &'a Kernel,
    /// Names.
    pub(crate) symbols: Symbols,
    /// Loops.
    pub(crate) loops: Loops,
    /// Helper functions used so far.
    pub(crate) helpers: Helpers,
    /// What is known of expressions.
    pub(crate) facts: Facts,
    /// Where arrays are.
    pub(crate) arrays: Arrays,
    /// The functions that others define, by name, in order of first use.
    pub(crate) signatures: IndexMap<String, Signature>,
    /// The lanes that are written as vectors, if there are some.
    pub(crate) lanes: Option<Rc<Lanes>>,
    /// What is known of expressions where those that differ between lanes are vectors; of single lanes, while vectors are written.
    pub(crate) other_facts: Option<Facts>,
    /// Functions on vectors used so far: their definitions by name.
    pub(crate) lane_functions: BTreeMap<String, String>,
    /// Loops that may run in lanes although they add to scalars.
    pub(crate) summing: Vec<SummingLoop>,
    /// Whether values may be right to a few units in the last place only.
    pub(crate) may_round: bool,
    /// Loops whose iterations may go to threads.
    pub(crate) threads: Threads,
    /// Whether [symmetric matrices](super::mirrored) are written in tiles.
    pub(crate) mirrors: bool,
    /// The tables of those written so far.
    pub(crate) mirrored_tables: Vec<String>,
    /// Whether [neighbouring elements](super::neighbours) are stored together, [short rows](super::flat) run one after the other, and [loops around others](super::across) run in vectors.
    pub(crate) neighbours: bool,
    /// What is written as vectors of two, if something is.
    pub(crate) pairs: Option<Rc<Pairs>>,
}

impl<'a> Writer<'a> {
    /// Prepares to write a kernel.
    pub(crate) fn new(
        kernel: &'a Kernel,
        (items, tree): (&[Item], &[LoopTree]),
        options: &COptions,
    ) -> Result<Self, CodegenError> {
        let mut symbols = Symbols::of(kernel, options.symbol.as_deref())?;
        let mut arrays = Arrays::of(kernel, &mut symbols)?;
        let mut loops = Loops::new(kernel)?;
        let mut roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|insn| insn.expressions()).collect();
        roots.extend(items.iter().filter_map(|item| match item {
            Item::If(condition) => Some(*condition),
            _ => None,
        }));
        roots.extend(arrays.extents.iter().map(|extent| extent.1));
        let of_exprs = dtypes(kernel, &symbols);
        let lanes = Lanes::of(kernel, items, &loops, &of_exprs).map(Rc::new);
        let pairs = if options.pairs && lanes.is_none() {
            Pairs::of(kernel, tree, (&arrays, &loops, &of_exprs), &mut symbols).map(Rc::new)
        } else {
            None
        };
        let mut other_facts = None;
        if let Some(lanes) = &lanes {
            arrays.hold(kernel, &mut symbols, lanes);
            arrays.is_vector = true;
            let mut facts = Facts::of(kernel, &symbols, &arrays, &mut loops, &roots);
            facts.mask(kernel, lanes);
            arrays.is_vector = false;
            other_facts = Some(facts);
        }
        let facts = Facts::of(kernel, &symbols, &arrays, &mut loops, &roots);
        let signatures = signatures(kernel, &facts, &roots)?;
        let (helpers, lane_functions) = (Helpers::default(), BTreeMap::new());
        let threads = Threads::new(options.parallel.clone());
        Ok(Self {
            kernel,
            symbols,
            loops,
            helpers,
            facts,
            arrays,
            signatures,
            lanes,
            other_facts,
            lane_functions,
            summing: options.summing.clone(),
            may_round: options.may_round,
            threads,
            // Tiles of one iteration are rows of others.
            mirrors: options.mirrors && options.parallel.is_empty(),
            mirrored_tables: Vec::new(),
            neighbours: options.neighbours,
            pairs,
        })
    }

    /// The loop over an iname inside others.
    pub(crate) fn loop_over(&mut self, iname: InameId, open: &[InameId]) -> Result<Rc<Loop>, CodegenError> {
        self.loops.of(self.kernel, &self.symbols, &mut self.helpers, iname, open)
    }
}

/// The types of all functions that are not of `math.h`.
fn signatures(kernel: &Kernel, facts: &Facts, roots: &[ExprId]) -> Result<IndexMap<String, Signature>, CodegenError> {
    let mut res: IndexMap<String, Signature> = IndexMap::new();
    for id in kernel.exprs.reachable(roots.iter().copied()) {
        let Expr::Call { function, arguments } = &kernel.exprs[id] else { continue };
        let name = &kernel[*function];
        match math::standard(name) {
            Some(known) => check_arity(known, arguments.len())?,
            None => add(&mut res, name, pure(facts.dtype(id), arguments.len()))?,
        }
    }
    for instruction in &kernel.instructions {
        let InstructionKind::Call { assignees, function, arguments } = &instruction.kind else { continue };
        let name = &kernel[*function];
        let dtypes = arguments.iter().map(|&argument| facts.dtype(argument));
        let signature = if assignees.len() == 1 {
            if let Some(known) = math::standard(name) {
                check_arity(known, arguments.len())?;
                continue;
            }
            let single = !arguments.is_empty() && arguments.iter().all(|&a| facts.dtype(a) == Dtype::Float32);
            pure(if single { Dtype::Float32 } else { Dtype::Float64 }, arguments.len())
        } else {
            let results = assignees.iter().map(|assignee| kernel[assignee.array].dtype).collect();
            Signature::Several { arguments: dtypes.collect(), results }
        };
        add(&mut res, name, signature)?;
    }
    Ok(res)
}

fn check_arity(function: math::Standard, found: usize) -> Result<(), CodegenError> {
    let math::Standard { name, n_arguments: expected, .. } = function;
    if found == expected {
        return Ok(());
    }
    Err(CodegenError::MathArity { function: name.to_owned(), expected, found })
}

fn pure(dtype: Dtype, n_arguments: usize) -> Signature {
    Signature::Pure { dtype: if dtype == Dtype::Float32 { dtype } else { Dtype::Float64 }, n_arguments }
}

/// Joins what two calls of a function say of its type.
fn add(all: &mut IndexMap<String, Signature>, name: &str, new: Signature) -> Result<(), CodegenError> {
    if !is_free_in_c(name) {
        return Err(CodegenError::Function { function: name.to_owned() });
    }
    let Some(known) = all.get_mut(name) else {
        all.insert(name.to_owned(), new);
        return Ok(());
    };
    let clash = |first: String, second: String| Err(CodegenError::Arity { function: name.to_owned(), first, second });
    match (&mut *known, &new) {
        (Signature::Pure { dtype, n_arguments }, Signature::Pure { dtype: other, n_arguments: n_other }) => {
            if n_arguments != n_other {
                return clash(format!("{n_arguments} arguments"), format!("{n_other} arguments"));
            }
            *dtype = (*dtype).max(*other);
        }
        (Signature::Several { arguments, results }, Signature::Several { arguments: a, results: r }) => {
            if arguments.len() != a.len() {
                return clash(format!("{} arguments", arguments.len()), format!("{} arguments", a.len()));
            }
            if results != r {
                return clash(dtype_list(results), dtype_list(r));
            }
            for (known, other) in arguments.iter_mut().zip(a) {
                *known = join(*known, *other);
            }
        }
        _ => return clash("one result".to_owned(), "several results".to_owned()),
    }
    Ok(())
}

/// The dtype that holds values of both.
fn join(a: Dtype, b: Dtype) -> Dtype {
    match (a.max(b), a.min(b)) {
        (Dtype::Float32, Dtype::Int32 | Dtype::Int64) => Dtype::Float64,
        (greater, _) => greater,
    }
}

fn dtype_list(dtypes: &[Dtype]) -> String {
    let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
    format!("results of {}", names.join(", "))
}
