//! Value form: every read of a temporary is replaced by the value that reaches it.
//!
//! # Input
//! A verified kernel with its order.
//! # Output
//! A kernel with the same meaning, its expressions a DAG in SSA form: substitution rules are inlined as shared
//! expressions, reads of temporaries become the stored expressions with inames substituted, and accumulations in loops
//! become reductions. The rest stays in its order, in the loops that it needs: stores to arguments, opaque
//! instructions, calls with several results, and temporaries that could not be resolved.
//! # Method
//! The pass visits instructions in program order and rewrites operands bottom-up. For a read of a temporary, it
//! searches the earlier writes backwards (`resolve`); their values are resolved already, so a read is a substitution of
//! inames in a known expression. If the read in a write `t = t + e` cannot be resolved, because a loop carries it, the
//! write is an accumulation, which a later read sees as a reduction. Stores that accumulate in loops over which their
//! element does not vary become one store of a reduction (`hoist`).
//! # Complexity
//! Near linear in the DAG: a binary search and a walk over the nesting for each write between a read and its source.
//! # Not done
//! Reads of arguments are not resolved. A read whose source differs by instance stays in memory, unless the condition
//! that distinguishes them is the writer's own.

pub(crate) mod element;
mod hoist;
pub(crate) mod joint;
mod prepare;
pub(crate) mod reshape;
mod resolve;
mod writers;

use nestegg_ir::domains::DomainError;
use nestegg_ir::inline::RecursiveRule;
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{Array, Expr, ExprId, InsnId, InstructionKind, Item, Licence, LinearizedKernel, ReduceOp};
use rustc_hash::FxHashMap;

use crate::dead::eliminate_dead;
use crate::decided::drop_decided;
use crate::depends::set_dependences;
use crate::join_stores::join_stores;
use crate::loops::run_up;
use crate::merge_digits::merge_digits;
use crate::nest::{Entry, Nest, NestError, NodeId, NodeKind};
use crate::normalise::element::Element;
use crate::normalise::resolve::Reader;
use crate::normalise::writers::Writers;
use crate::predicates::conditions_to_predicates;
use crate::workspace::Workspace;

/// Why a kernel has no value form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NormaliseError {
    /// The linearization is not that of the kernel.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// A domain cannot be used.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A substitution rule is recursive.
    #[error(transparent)]
    RecursiveRule(#[from] RecursiveRule),
    /// A reduction uses an iname that is bound around it, and its domain cannot be copied.
    #[error("a reduction over `{iname}` is inside another or inside a loop over it")]
    BoundTwice {
        /// The iname.
        iname: String,
    },
    /// A temporary is read and never written.
    #[error("instruction `{insn}` reads `{array}`, which no instruction writes")]
    Undefined {
        /// The reading instruction.
        insn: String,
        /// The temporary.
        array: String,
    },
}

/// Brings a kernel to value form, its sums as those of real numbers.
///
/// # Errors
/// If the kernel is not well-formed, or reads a temporary that nothing writes.
pub fn normalise(linearized: LinearizedKernel) -> Result<LinearizedKernel, NormaliseError> {
    normalise_under(linearized, Licence::default())
}

/// Brings a kernel to value form. Under a strict licence accumulations of floats stay in memory, in their order.
///
/// # Errors
/// If the kernel is not well-formed, or reads a temporary that nothing writes.
pub fn normalise_under(linearized: LinearizedKernel, licence: Licence) -> Result<LinearizedKernel, NormaliseError> {
    normalise_keeping(linearized, licence, |_| false)
}

/// The same, but temporaries that satisfy a predicate stay in memory.
///
/// # Errors
/// If the kernel is not well-formed, or reads a temporary that nothing writes.
pub fn normalise_keeping(
    linearized: LinearizedKernel,
    licence: Licence,
    keeps: impl Fn(&Array) -> bool,
) -> Result<LinearizedKernel, NormaliseError> {
    let resolved = Normaliser::new(linearized, keeps, licence)?.run()?;
    let linearized = hoist::hoist_accumulations(eliminate_dead(resolved), licence)?;
    let linearized = merge_digits(join_stores(run_up(linearized, licence)?, licence)?, licence)?;
    let mut linearized = conditions_to_predicates(eliminate_dead(linearized));
    drop_decided(&mut linearized.kernel, &mut linearized.linearization)?;
    set_dependences(&mut linearized.kernel, &linearized.linearization);
    Ok(linearized)
}

/// What an instruction stored, resolved.
#[derive(Clone, Debug)]
struct Stored {
    /// The value as the array holds it; the term of an accumulation.
    value: ExprId,
    /// How the term is joined to the element, in an accumulation.
    accumulation: Option<ReduceOp>,
    /// When it stores.
    predicates: Vec<ExprId>,
}

/// The state of the pass.
struct Normaliser {
    work: Workspace,
    nest: Nest,
    linearization: Vec<Item>,
    /// For each array whether it stays in memory.
    kept: Vec<bool>,
    /// For each array the positions of its writers.
    writers: Vec<Vec<usize>>,
    /// For each array its writers so far, by what they write.
    written: Vec<Writers>,
    /// For each instruction what it stored; nothing before it is resolved, or if it is no assignment to a temporary.
    stored: Vec<Option<Stored>>,
    /// For each instruction the element that it writes; nothing if it may write any.
    elements: Vec<Option<Element>>,
    /// For each node its condition, resolved; nothing before that, or if it is none.
    conditions: Vec<Option<ExprId>>,
    /// Expressions of the input that read no temporary.
    plain: Vec<Option<bool>>,
}

impl Normaliser {
    fn new(
        linearized: LinearizedKernel,
        keeps: impl Fn(&Array) -> bool,
        licence: Licence,
    ) -> Result<Self, NormaliseError> {
        let (mut work, linearization) = prepare::prepare(linearized)?;
        work.licence = licence;
        let kernel = &work.kernel;
        let nest = Nest::new(kernel, &linearization)?;
        let kept = kernel.arrays.iter().map(keeps).collect();
        let mut writers = vec![Vec::new(); kernel.arrays.len()];
        for (position, entry) in nest.entries() {
            if let Entry::Run(insn) = entry {
                for array in kernel[insn].written_arrays() {
                    writers[array.index()].push(position);
                }
            }
        }
        for positions in &mut writers {
            positions.dedup();
        }
        let elements = work.kernel.instructions.iter().map(|instruction| match &instruction.kind {
            InstructionKind::Assignment { assignee, .. } => Some(Element::new(&work, &assignee.indices)),
            _ => None,
        });
        let elements = elements.collect();
        let (n_insns, n_nodes, n_exprs) = (work.kernel.instructions.len(), nest.n_nodes(), work.kernel.exprs.len());
        Ok(Self {
            work,
            nest,
            linearization,
            kept,
            written: vec![Writers::default(); writers.len()],
            writers,
            stored: vec![None; n_insns],
            elements,
            conditions: vec![None; n_nodes],
            plain: vec![None; n_exprs],
        })
    }

    fn run(mut self) -> Result<LinearizedKernel, NormaliseError> {
        let entries: Vec<(usize, Entry)> = self.nest.entries().collect();
        for (position, entry) in entries {
            match entry {
                Entry::Run(insn) => self.resolve_instruction(position, insn)?,
                Entry::Begin(node) => self.resolve_condition(position, node)?,
            }
        }
        Ok(LinearizedKernel { kernel: self.work.kernel, linearization: self.linearization })
    }

    /// A reader inside `node`.
    fn reader(&self, position: usize, node: NodeId) -> Reader {
        let known = self.nest.outwards(node).filter_map(|id| self.conditions[id.index()]);
        // What a condition read may have changed since it was tested.
        let known = known.filter(|&condition| self.work.facts.memory(condition).is_empty()).collect();
        Reader { position, node, forbidden: self.nest.loops(node).collect(), known }
    }

    fn resolve_condition(&mut self, position: usize, node: NodeId) -> Result<(), NormaliseError> {
        let NodeKind::Branch(condition) = self.nest[node].kind else { return Ok(()) };
        let mut reader = self.reader(position, self.nest[node].parent);
        reader.forbidden.extend(self.work.facts.bound(condition).iter().copied());
        let resolved = self.rewrite(&reader, condition, &mut FxHashMap::default(), "if")?;
        self.conditions[node.index()] = Some(resolved);
        self.linearization[position] = Item::If(resolved);
        Ok(())
    }

    fn resolve_instruction(&mut self, position: usize, insn: InsnId) -> Result<(), NormaliseError> {
        let mut reader = self.reader(position, self.nest.home(insn));
        let instruction = self.work.kernel[insn].clone();
        for expr in instruction.expressions() {
            reader.forbidden.extend(self.work.facts.bound(expr).iter().copied());
        }
        let mut memo = FxHashMap::default();
        let mut predicates = Vec::with_capacity(instruction.predicates.len());
        for &predicate in &instruction.predicates {
            predicates.push(self.rewrite(&reader, predicate, &mut memo, &instruction.id)?);
        }
        reader.known.extend(&predicates);
        for expr in instruction.expressions() {
            self.rewrite(&reader, expr, &mut memo, &instruction.id)?;
        }
        self.work.kernel[insn].map_expressions(|expr| memo.get(&expr).copied().unwrap_or(expr));
        let InstructionKind::Assignment { assignee, expression } = self.work.kernel[insn].kind.clone() else {
            for array in self.work.kernel[insn].written_arrays() {
                self.written[array.index()].push(position, None);
            }
            return Ok(());
        };
        let element = Element::new(&self.work, &assignee.indices);
        self.written[assignee.array.index()].push(position, Some(&element.constants()));
        self.elements[insn.index()] = Some(element);
        let array = assignee.array;
        if !self.work.kernel[array].is_temporary() {
            return Ok(());
        }
        let accumulation = if self.work.reads(expression, array) {
            self.work.accumulation(array, &assignee.indices, expression)
        } else {
            None
        };
        self.stored[insn.index()] = Some(match accumulation {
            Some(accumulation) => Stored { value: accumulation.term, accumulation: Some(accumulation.op), predicates },
            None => {
                let dtype = self.work.kernel[array].dtype;
                Stored { value: self.work.coerce(expression, dtype), accumulation: None, predicates }
            }
        });
        Ok(())
    }

    /// An expression of the input with its reads of temporaries resolved.
    fn rewrite(
        &mut self,
        reader: &Reader,
        root: ExprId,
        memo: &mut FxHashMap<ExprId, ExprId>,
        place: &str,
    ) -> Result<ExprId, NormaliseError> {
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| memo.contains_key(id)) {
            if self.is_plain(id) {
                memo.insert(id, id);
                continue;
            }
            let mut expr = self.work.kernel.exprs[id].clone();
            if walk.waits_for(expr.children().iter().copied(), |child| memo.contains_key(child)) {
                continue;
            }
            for child in expr.children_mut() {
                *child = memo[child];
            }
            let res = match &expr {
                Expr::Access { array, indices } if self.work.kernel[*array].is_temporary() => {
                    if self.writers[array.index()].is_empty() {
                        let array = self.work.kernel[*array].name.clone();
                        return Err(NormaliseError::Undefined { insn: place.to_owned(), array });
                    }
                    if self.kept[array.index()] { None } else { self.resolve(reader, *array, indices) }
                }
                _ => None,
            };
            let res = match res {
                Some(value) => value,
                None => self.work.intern(expr),
            };
            memo.insert(id, res);
        }
        Ok(memo[&root])
    }

    /// Whether an expression reads no temporary.
    fn is_plain(&mut self, id: ExprId) -> bool {
        let Some(known) = self.plain.get(id.index()).copied().flatten() else {
            let memory = self.work.facts.memory(id);
            let kernel = &self.work.kernel;
            let reads_unwritten =
                matches!(&kernel.exprs[id], Expr::Access { array, .. } if kernel[*array].is_temporary());
            let res = !reads_unwritten && !memory.iter().any(|&array| kernel[array].is_temporary());
            if let Some(entry) = self.plain.get_mut(id.index()) {
                *entry = Some(res);
            }
            return res;
        };
        known
    }
}
