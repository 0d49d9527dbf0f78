//! Temporaries of constants alone as tables.
//!
//! # Input
//! A kernel of which each temporary is computed in loops of its own, as selection makes it.
//! # Output
//! The same kernel in which a temporary whose values are made of numbers and tables alone, such as weights times basis functions, is a table, and is computed no
//! more. `None` if there is none.
//! # Method
//! Instructions are looked at in their order, so that tables are made of tables. Values are computed in the precision of the temporary, operation by operation, as C
//! does: they are what the kernel would compute, and differ from exact values by rounding alone. Conditions do not matter: nobody may read what was not computed.
//! # Complexity
//! Linear in the points of the loops, at most [`MAX_POINTS`] for each temporary, times the expression.
//! Source: pre-evaluation, Luporini, Ham and Kelly, "An algorithm for the optimization of finite element integration loops", ACM TOMS 2017.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{LoopTree, from_tree, to_tree};
use nestegg_ir::{
    ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, Float, InameSet, InsnId, InstructionKind, Kernel,
    LinearizedKernel, Number, Op,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::elements::{constant_shape, position};
use crate::{FormError, LinearMaps, Tolerance};

/// Points of the loops of a temporary that may be a table.
const MAX_POINTS: usize = 65_536;

/// The kernel with its constant temporaries as tables; `None` if it has none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn tabulate(linearized: &LinearizedKernel) -> Result<Option<LinearMaps>, FormError> {
    let trees = to_tree(&linearized.linearization)?;
    let context = isl::Context::new();
    let domains = Domains::new(&context, &linearized.kernel)?;
    let mut n_writers: FxHashMap<ArrayId, usize> = FxHashMap::default();
    for instruction in &linearized.kernel.instructions {
        for array in instruction.written_arrays() {
            *n_writers.entry(array).or_default() += 1;
        }
    }
    let mut pass =
        Pass { kernel: linearized.kernel.clone(), domains, n_writers, n_tables: 0, tolerance: Tolerance::default() };
    let trees = pass.sequence(trees);
    if pass.n_tables == 0 {
        return Ok(None);
    }
    let Pass { kernel, n_tables, tolerance, .. } = pass;
    let linearized = LinearizedKernel { linearization: from_tree(&trees), kernel };
    Ok(Some(LinearMaps { linearized, n_stores: n_tables, n_features: 0, tolerance }))
}

struct Pass {
    kernel: Kernel,
    domains: Domains,
    /// For each array how many instructions write it.
    n_writers: FxHashMap<ArrayId, usize>,
    n_tables: usize,
    tolerance: Tolerance,
}

impl Pass {
    /// A sequence of trees without the instructions whose temporaries became tables.
    fn sequence(&mut self, trees: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut res = Vec::new();
        for tree in trees {
            match tree {
                LoopTree::Run(insn) if self.has_tabulated(insn) => {}
                LoopTree::Run(insn) => res.push(LoopTree::Run(insn)),
                LoopTree::Loop { iname, body } => {
                    let body = self.sequence(body);
                    if !body.is_empty() {
                        res.push(LoopTree::Loop { iname, body });
                    }
                }
                LoopTree::Branch { condition, body } => {
                    let body = self.sequence(body);
                    if !body.is_empty() {
                        res.push(LoopTree::Branch { condition, body });
                    }
                }
            }
        }
        res
    }

    /// Makes the temporary of an instruction a table if it is constant; answers whether it did.
    fn has_tabulated(&mut self, insn: InsnId) -> bool {
        let Some((array, values)) = self.values(insn) else { return false };
        let numbers: Option<Vec<Number>> =
            values.into_iter().map(|value| Float::new(value).map(Number::Float)).collect();
        let Some(numbers) = numbers else { return false };
        self.tolerance.n_changed += numbers.len();
        self.tolerance.largest_change = self.tolerance.largest_change.max(f64::EPSILON);
        self.kernel[array].kind = ArrayKind::Table(numbers.into());
        self.n_tables += 1;
        true
    }

    /// The temporary that an instruction computes, and its elements; `None` if they are not constant.
    fn values(&self, insn: InsnId) -> Option<(ArrayId, Vec<f64>)> {
        let kernel = &self.kernel;
        let instruction = &kernel[insn];
        let InstructionKind::Assignment { assignee: Assignee { array, indices }, expression } = &instruction.kind
        else {
            return None;
        };
        let is_own = kernel[*array].is_temporary() && self.n_writers.get(array) == Some(&1);
        if !is_own || !kernel[*array].dtype.is_float() {
            return None;
        }
        let program = Constant::of(kernel, *expression)?;
        let indices: Option<Vec<Affine>> = indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect();
        let shape = constant_shape(kernel, *array)?;
        let inames: InameSet = instruction.within_set();
        let order: Vec<_> = inames.iter().collect();
        let points = self.domains.of(&inames).ok()?.points(MAX_POINTS).ok()?;
        let mut res = vec![0.0; usize::try_from(shape.iter().product::<i64>()).ok()?];
        let indices = indices?;
        for point in points {
            let value = |var: Var| order.iter().position(|&iname| Var::Iname(iname) == var).map(|at| point[at]);
            let at = position(&indices, &shape, &value)?;
            *res.get_mut(at)? = program.evaluate(kernel[*array].dtype, &value)?;
        }
        Some((*array, res))
    }
}

/// One operation of a constant expression; operands by position.
#[derive(Debug)]
enum Step<'a> {
    Number(f64),
    Element { numbers: &'a [Number], shape: Vec<i64>, indices: Vec<Affine> },
    Op(Op, Vec<usize>),
}

/// An expression of numbers and tables.
#[derive(Debug)]
struct Constant<'a> {
    /// Operands before operations.
    steps: Vec<Step<'a>>,
}

impl<'a> Constant<'a> {
    /// `None` if the expression is another, or no operation at all.
    fn of(kernel: &'a Kernel, root: ExprId) -> Option<Self> {
        let mut steps = Vec::new();
        let mut at: FxHashMap<ExprId, usize> = FxHashMap::default();
        // Indices are no operations: only what stands outside of them is walked.
        let mut pending = vec![root];
        while let Some(&id) = pending.last() {
            if at.contains_key(&id) {
                pending.pop();
                continue;
            }
            let step = match &kernel.exprs[id] {
                Expr::Number(number) => Step::Number(number.to_f64()),
                Expr::Access { array, indices } => Step::Element {
                    numbers: kernel[*array].table()?,
                    shape: constant_shape(kernel, *array)?,
                    indices: indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect::<Option<_>>()?,
                },
                Expr::Op { op: op @ (Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg), operands } => {
                    let missing: Vec<ExprId> =
                        operands.iter().rev().copied().filter(|operand| !at.contains_key(operand)).collect();
                    if !missing.is_empty() {
                        pending.extend(missing);
                        continue;
                    }
                    Step::Op(*op, operands.iter().map(|operand| at[operand]).collect())
                }
                _ => return None,
            };
            at.insert(id, steps.len());
            steps.push(step);
            pending.pop();
        }
        matches!(steps.last(), Some(Step::Op(..))).then_some(Self { steps })
    }

    /// The value for values of inames, each operation rounded to the type; `None` if it is not finite, or an element is outside its table.
    fn evaluate(&self, dtype: Dtype, value: &dyn Fn(Var) -> Option<i64>) -> Option<f64> {
        let rounded = |value: f64| if dtype == Dtype::Float32 { f64::from(value as f32) } else { value };
        let mut known: Vec<f64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let next = match step {
                Step::Number(number) => *number,
                Step::Element { numbers, shape, indices } => numbers.get(position(indices, shape, value)?)?.to_f64(),
                Step::Op(op, operands) => {
                    let first = known[operands[0]];
                    operands[1..].iter().fold(if *op == Op::Neg { -first } else { first }, |so_far, &operand| {
                        let next = known[operand];
                        rounded(match op {
                            Op::Add => so_far + next,
                            Op::Sub => so_far - next,
                            Op::Mul => so_far * next,
                            _ => so_far / next,
                        })
                    })
                }
            };
            known.push(rounded(next));
        }
        known.last().copied().filter(|value| value.is_finite())
    }
}
