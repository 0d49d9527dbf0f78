//! What is known of each expression before any is written: dtype, inames bound by reductions around it, whether it can be
//! negative or fail, and the text of those that are cheap enough to be written wherever they are used.
//!
//! Linear in the DAG below the roots.

use nestegg_ir::types::Types;
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameSet, Kernel, Number, Op, Stored};

use super::arrays::Arrays;
use super::lanes::Lanes;
use super::literal::literal;
use super::loops::Loops;
use super::math;
use super::symbols::Symbols;
use super::text::Text;

/// Names and literals that an index may have to be written wherever it is used.
const MAX_CHEAP_INDEX: u32 = 12;
/// The same of an array element.
const MAX_CHEAP_ELEMENT: u32 = 32;

/// Facts about the expressions of one kernel without substitution rules.
#[derive(Debug)]
pub(crate) struct Facts {
    dtypes: Vec<Dtype>,
    bound: Vec<InameSet>,
    cheap: Vec<Option<Text>>,
    non_negative: Vec<bool>,
    harmless: Vec<bool>,
    masked: Vec<bool>,
}

impl Facts {
    /// Facts about what is below the roots.
    pub(crate) fn of(kernel: &Kernel, symbols: &Symbols, arrays: &Arrays, loops: &mut Loops, roots: &[ExprId]) -> Self {
        let reachable = kernel.exprs.reachable(roots.iter().copied());
        let n = kernel.exprs.len();
        let mut facts = Self {
            dtypes: dtypes(kernel, symbols),
            bound: vec![InameSet::new(); n],
            cheap: vec![None; n],
            non_negative: Vec::new(),
            harmless: vec![false; n],
            masked: vec![false; n],
        };
        facts.find_bound(kernel, &reachable);
        facts.find_harmless(kernel, &reachable);
        if reachable.iter().any(|&id| matches!(kernel.exprs[id], Expr::Op { op: Op::FloorDiv | Op::Mod, .. })) {
            facts.find_non_negative(kernel, loops, &reachable);
        }
        facts.write_cheap(kernel, symbols, arrays, &reachable);
        facts
    }

    /// The dtype in which it is computed.
    pub(crate) fn dtype(&self, id: ExprId) -> Dtype {
        self.dtypes[id.index()]
    }

    /// The inames that it depends on and that reductions bind.
    pub(crate) fn bound(&self, id: ExprId) -> &InameSet {
        &self.bound[id.index()]
    }

    /// Its text, if it is cheap.
    pub(crate) fn cheap(&self, id: ExprId) -> Option<&Text> {
        self.cheap[id.index()].as_ref()
    }

    /// Whether it is an integer that is never negative, as far as is known.
    pub(crate) fn is_non_negative(&self, id: ExprId) -> bool {
        self.non_negative.get(id.index()).copied().unwrap_or(false)
    }

    /// Whether it can be evaluated where the kernel does not: nothing in it reads memory at an index, divides or
    /// overflows integers, or converts to them.
    pub(crate) fn is_harmless(&self, id: ExprId) -> bool {
        self.harmless[id.index()]
    }

    /// Whether it is a selection or condition whose operands are all evaluated, because it decides for several lanes.
    pub(crate) fn is_masked(&self, id: ExprId) -> bool {
        self.masked[id.index()]
    }

    /// The same facts where varying expressions are vectors.
    pub(crate) fn mask(&mut self, kernel: &Kernel, lanes: &Lanes) {
        for (id, expr) in kernel.exprs.iter() {
            self.masked[id.index()] = match expr {
                Expr::Op { op: Op::If, operands } => lanes.varying[operands[0].index()],
                Expr::Op { op: Op::And | Op::Or, .. } => lanes.varying[id.index()],
                _ => false,
            };
        }
    }

    fn find_harmless(&mut self, kernel: &Kernel, reachable: &[ExprId]) {
        for &id in reachable {
            let expr = &kernel.exprs[id];
            let own = match expr {
                Expr::Number(_) | Expr::Iname(_) | Expr::Parameter(_) => true,
                Expr::Access { indices, .. } => indices.is_empty(),
                Expr::Op { .. } | Expr::Cast { .. } => !self.dtype(id).is_integer(),
                Expr::Call { function, .. } => math::standard(&kernel[*function]).is_some(),
                Expr::Reduce { .. } | Expr::Formal(_) | Expr::Substitution { .. } => false,
            };
            self.harmless[id.index()] = own && expr.children().iter().all(|child| self.harmless[child.index()]);
        }
    }

    fn find_bound(&mut self, kernel: &Kernel, reachable: &[ExprId]) {
        let mut by_reductions = InameSet::new();
        for &id in reachable {
            if let Expr::Reduce { inames, .. } = &kernel.exprs[id] {
                by_reductions.extend(inames.iter().copied());
            }
        }
        if by_reductions.is_empty() {
            return;
        }
        for &id in reachable {
            let expr = &kernel.exprs[id];
            let mut res = InameSet::new();
            for child in expr.children() {
                let of_child = &self.bound[child.index()];
                if !of_child.is_empty() {
                    res = res.union(of_child);
                }
            }
            match expr {
                Expr::Iname(iname) if by_reductions.contains(*iname) => {
                    res.insert(*iname);
                }
                Expr::Reduce { inames, .. } => inames.iter().for_each(|&iname| {
                    res.remove(iname);
                }),
                _ => {}
            }
            self.bound[id.index()] = res;
        }
    }

    fn find_non_negative(&mut self, kernel: &Kernel, loops: &mut Loops, reachable: &[ExprId]) {
        let mut known = vec![false; kernel.exprs.len()];
        for &id in reachable {
            known[id.index()] = match &kernel.exprs[id] {
                Expr::Number(Number::Int(value)) => *value >= 0,
                Expr::Iname(iname) => loops.non_negative_iname(kernel, *iname),
                Expr::Parameter(parameter) => loops.non_negative_parameter(kernel, *parameter),
                Expr::Op { op: Op::Mod, operands } => known[operands[1].index()],
                Expr::Op { op: Op::Add | Op::Mul | Op::FloorDiv | Op::Min, operands } => {
                    operands.iter().all(|operand| known[operand.index()])
                }
                Expr::Op { op: Op::Max, operands } => operands.iter().any(|operand| known[operand.index()]),
                _ => false,
            };
        }
        self.non_negative = known;
    }

    fn write_cheap(&mut self, kernel: &Kernel, symbols: &Symbols, arrays: &Arrays, reachable: &[ExprId]) {
        // Integer expressions of names and literals only: what an index may be to be cheap.
        let mut is_index = vec![false; kernel.exprs.len()];
        for &id in reachable {
            let expr = &kernel.exprs[id];
            let texts = |ids: &[ExprId]| -> Option<Vec<Text>> {
                ids.iter().map(|child| self.cheap[child.index()].clone()).collect()
            };
            let (text, index) = match expr {
                Expr::Number(number) => (Some(literal(*number, self.dtype(id))), true),
                Expr::Iname(iname) => (Some(Text::primary(symbols.inames[iname.index()].as_str())), true),
                Expr::Parameter(parameter) => (Some(Text::primary(symbols.parameter(*parameter))), true),
                Expr::Access { array, indices } => {
                    let cheap = indices.iter().all(|index| is_index[index.index()]);
                    let texts = if cheap { texts(indices) } else { None };
                    let text = texts.map(|texts| read_element(kernel, symbols, arrays, *array, &texts));
                    (text.filter(|text| text.size <= MAX_CHEAP_ELEMENT), false)
                }
                _ if is_literal(kernel, id) => (literal_of(kernel, id).map(|n| literal(n, self.dtype(id))), true),
                Expr::Op { op, operands } if operands.iter().all(|operand| is_index[operand.index()]) => {
                    (self.index(kernel, *op, id, operands, texts(operands)), true)
                }
                // A sign costs nothing to write again.
                Expr::Op { op, operands } => {
                    let element = negated_element(kernel, *op, operands);
                    let text =
                        element.filter(|&o| self.dtype(o) == self.dtype(id)).and_then(|o| self.cheap(o).cloned());
                    (text.map(Text::negation), false)
                }
                _ => (None, false),
            };
            is_index[id.index()] = index && text.is_some() && !self.dtype(id).is_float();
            self.cheap[id.index()] = text;
        }
    }

    /// A small sum, difference or product of integers, or a negative literal.
    fn index(
        &self,
        kernel: &Kernel,
        op: Op,
        id: ExprId,
        operands: &[ExprId],
        texts: Option<Vec<Text>>,
    ) -> Option<Text> {
        let dtype = self.dtype(id);
        let mut texts = texts.filter(|_| {
            dtype.is_integer() && operands.iter().all(|&o| self.dtype(o) == dtype || is_literal(kernel, o))
        })?;
        let text = match op {
            Op::Add => Text::sum(&texts),
            Op::Mul => Text::product(&texts),
            Op::Sub => {
                let b = texts.pop()?;
                Text::difference(texts.pop()?, b)
            }
            Op::Neg => Text::negation(texts.pop()?),
            _ => return None,
        };
        Some(text).filter(|text| text.size <= MAX_CHEAP_INDEX)
    }
}

/// The element of an array by its name in C.
pub(crate) fn element(symbols: &Symbols, arrays: &Arrays, array: ArrayId, indices: &[Text]) -> Text {
    arrays.element(&symbols.arrays[array.index()], array, indices)
}

/// The value of an element; a truth value of one lane is kept as a mask, which is 0 or -1.
pub(crate) fn read_element(
    kernel: &Kernel,
    symbols: &Symbols,
    arrays: &Arrays,
    array: ArrayId,
    indices: &[Text],
) -> Text {
    let text = element(symbols, arrays, array, indices);
    let is_mask = kernel[array].dtype == Dtype::Bool && arrays.is_held(array) && !arrays.is_vector;
    // C computes with unsigned numbers modulo a power of two; those that fit an `int` it takes for one.
    let is_unsigned = matches!(kernel[array].stored, Some(Stored::Uint32 | Stored::Uint64));
    match () {
        () if is_mask => text.cast(Dtype::Int32, Dtype::Bool),
        () if is_unsigned => Text::prefix("(int64_t)", text),
        () => text,
    }
}

/// The number that an expression is: a literal, or one negated.
pub(crate) fn literal_of(kernel: &Kernel, id: ExprId) -> Option<Number> {
    match &kernel.exprs[id] {
        Expr::Number(number) => Some(*number),
        Expr::Op { op: Op::Neg, operands } => match &kernel.exprs[operands[0]] {
            // `-0` is the integer 0 even where it becomes a float.
            Expr::Number(Number::Int(value)) => value.checked_neg().map(Number::Int),
            Expr::Number(Number::Float(value)) => nestegg_ir::Float::new(-value.get()).map(Number::Float),
            _ => None,
        },
        _ => None,
    }
}

/// The array element that an operation negates: `-x` or `-1*x`.
fn negated_element(kernel: &Kernel, op: Op, operands: &[ExprId]) -> Option<ExprId> {
    let element = match (op, operands) {
        (Op::Neg, [a]) => *a,
        (Op::Mul, [a, b]) if literal_of(kernel, *a).is_some_and(|number| number.to_f64() == -1.0) => *b,
        _ => return None,
    };
    matches!(kernel.exprs[element], Expr::Access { .. }).then_some(element)
}

fn is_literal(kernel: &Kernel, id: ExprId) -> bool {
    literal_of(kernel, id).is_some()
}

/// Inferred dtypes, with the operations on `int64_t` inames widened.
pub(crate) fn dtypes(kernel: &Kernel, symbols: &Symbols) -> Vec<Dtype> {
    let types = Types::infer(kernel);
    let mut res: Vec<Dtype> = kernel.exprs.iter().map(|(id, _)| types.of(id).dtype()).collect();
    if !symbols.wide.iter().any(|&wide| wide) {
        return res;
    }
    for (id, expr) in kernel.exprs.iter() {
        if res[id.index()] != Dtype::Int32 {
            continue;
        }
        let widened = match expr {
            Expr::Iname(iname) => symbols.wide[iname.index()],
            Expr::Op { op: Op::If, operands } => operands[1..].iter().any(|o| res[o.index()] == Dtype::Int64),
            Expr::Op { operands, .. } => operands.iter().any(|o| res[o.index()] == Dtype::Int64),
            Expr::Reduce { body, .. } => res[body.index()] == Dtype::Int64,
            _ => false,
        };
        if widened {
            res[id.index()] = Dtype::Int64;
        }
    }
    res
}
