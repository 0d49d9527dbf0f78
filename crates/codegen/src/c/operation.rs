//! The C text of one operation whose operands are written.
//!
//! Every operand is brought to the dtype in which the operation is computed: literals are written in it, other
//! operands are cast where C would not convert them as the kernel's types say, or would warn.

use nestegg_ir::{Dtype, Expr, ExprId, Kernel, Op, ReduceOp};

use super::facts::{literal_of, read_element};
use super::helpers::{Helper, float_suffix};
use super::literal::{int, literal};
use super::math::{self, Kind};
use super::plan::{is_known, whole_exponent};
use super::text::{Precedence, Text};
use super::writer::{Signature, Writer};

impl Writer<'_> {
    /// An operand's value in a dtype.
    pub(crate) fn convert(&self, id: ExprId, text: Text, to: Dtype) -> Text {
        match literal_of(self.kernel, id) {
            Some(number) => literal(number, to),
            None if self.is_varying(id) => self.convert_lanes(text, self.facts.dtype(id), to),
            None => text.cast(self.facts.dtype(id), to),
        }
    }

    /// Operands in a dtype; of two, C itself widens the one to the other within floats and within integers.
    pub(crate) fn convert_all(&self, ids: &[ExprId], texts: Vec<Text>, to: Dtype) -> Vec<Text> {
        let has = |id: ExprId| self.facts.dtype(id) == to || literal_of(self.kernel, id).is_some();
        let same_kind =
            ids.iter().all(|&id| self.facts.dtype(id).is_float() == to.is_float() && self.facts.dtype(id) <= to);
        let in_lanes = ids.iter().any(|&id| self.is_varying(id));
        let implicit = !in_lanes && ids.len() == 2 && same_kind && ids.iter().any(|&id| has(id));
        let convert = |(&id, text): (&ExprId, Text)| {
            if implicit && literal_of(self.kernel, id).is_none() { text } else { self.convert(id, text, to) }
        };
        ids.iter().zip(texts).map(convert).collect()
    }

    /// An operation without regions of its own: everything but reductions, and selections and conditions with code
    /// in their branches.
    pub(crate) fn operation(&mut self, id: ExprId, texts: Vec<Text>) -> Text {
        let kernel = self.kernel;
        let dtype = self.facts.dtype(id);
        if self.is_varying(id)
            && let Some(text) = self.lanes_operation(id, dtype, &texts)
        {
            return text;
        }
        match &kernel.exprs[id] {
            Expr::Op { op, operands } => self.operator(*op, dtype, operands, texts),
            Expr::Access { array, .. } => read_element(kernel, &self.symbols, &self.arrays, *array, &texts),
            Expr::Call { function, arguments } => self.call(&kernel[*function], dtype, arguments, texts),
            Expr::Cast { dtype, operand } => {
                texts.into_iter().next().map_or_else(|| int(0), |text| self.convert(*operand, text, *dtype))
            }
            // Literals and names are cheap; rules are inlined and formal parameters with them; reductions are loops.
            Expr::Number(_)
            | Expr::Iname(_)
            | Expr::Parameter(_)
            | Expr::Formal(_)
            | Expr::Reduce { .. }
            | Expr::Substitution { .. } => int(0),
        }
    }

    fn operator(&mut self, op: Op, dtype: Dtype, ids: &[ExprId], texts: Vec<Text>) -> Text {
        match op {
            Op::Add | Op::And | Op::Or | Op::BitAnd | Op::BitOr | Op::BitXor => {
                let texts = self.convert_all(ids, texts, dtype);
                self.join(op, dtype, texts)
            }
            Op::Sub => pair(self.convert_all(ids, texts, dtype), Text::difference),
            Op::Mul => self.product(ids, texts, dtype),
            Op::Div if self.may_round && dtype.is_float() && is_inexact_divisor(self.kernel, ids[1]) => {
                let one = literal(nestegg_ir::Number::Int(1), dtype);
                pair(self.convert_all(ids, texts, dtype), |a, b| Text::product(&[a, Text::quotient(one, b)]))
            }
            Op::Div => pair(self.convert_all(ids, texts, dtype), Text::quotient),
            Op::Neg => single(self.convert_all(ids, texts, dtype), Text::negation),
            Op::Pow => self.power(dtype, ids, texts),
            Op::FloorDiv | Op::Mod => {
                let plain = dtype.is_integer() && ids.iter().all(|&id| self.facts.is_non_negative(id));
                // The helper's parameters convert; so must the operands.
                let texts: Vec<Text> = ids.iter().zip(texts).map(|(&id, text)| self.convert(id, text, dtype)).collect();
                pair(texts, |a, b| match op {
                    Op::FloorDiv => self.helpers.floor_div(a, b, dtype, plain),
                    _ => self.helpers.floor_mod(a, b, dtype, plain),
                })
            }
            Op::If => {
                let mut texts = texts.into_iter();
                match (texts.next(), texts.next(), texts.next()) {
                    (Some(c), Some(a), Some(b)) => {
                        let c = self.convert(ids[0], c, Dtype::Bool);
                        Text::choice(c, self.convert(ids[1], a, dtype), self.convert(ids[2], b, dtype))
                    }
                    _ => int(0),
                }
            }
            Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne => self.comparison(op, ids, texts),
            Op::Not => single(self.convert_all(ids, texts, Dtype::Bool), |a| Text::prefix("!", a)),
            Op::Min | Op::Max => {
                let texts = ids.iter().zip(texts).map(|(&id, text)| self.convert(id, text, dtype)).collect();
                self.helpers.extremum(op == Op::Min, texts, dtype)
            }
            Op::Shl => {
                let texts: Vec<Text> = ids.iter().zip(texts).map(|(&id, text)| self.convert(id, text, dtype)).collect();
                self.helpers.call(Helper::ShiftLeft(dtype), &texts)
            }
            Op::Shr => {
                let texts = self.convert_all(ids, texts, dtype);
                Text::chain(">>", Precedence::Bits, Precedence::Prefix, &texts)
            }
            Op::BitNot => single(self.convert_all(ids, texts, dtype), |a| Text::prefix("~", a)),
        }
    }

    /// Some of the operands of an n-ary operation, already in its dtype.
    pub(crate) fn join(&mut self, op: Op, dtype: Dtype, texts: Vec<Text>) -> Text {
        let bits = |operator| Text::chain(operator, Precedence::Bits, Precedence::Prefix, &texts);
        match op {
            Op::Mul => Text::product(&texts),
            Op::And => Text::chain("&&", Precedence::And, Precedence::Comparison, &texts),
            Op::Or => Text::chain("||", Precedence::Or, Precedence::Comparison, &texts),
            Op::BitAnd => bits("&"),
            Op::BitOr => bits("|"),
            Op::BitXor => bits("^"),
            Op::Min | Op::Max => self.helpers.extremum(op == Op::Min, texts, dtype),
            _ => Text::sum(&texts),
        }
    }

    /// A product; a leading literal −1 becomes a sign.
    fn product(&self, ids: &[ExprId], texts: Vec<Text>, dtype: Dtype) -> Text {
        let minus_one = literal_of(self.kernel, ids[0]).is_some_and(|number| number.to_f64() == -1.0);
        let mut texts = self.convert_all(ids, texts, dtype);
        if !minus_one {
            return Text::product(&texts);
        }
        texts.remove(0);
        match texts.len() {
            1 => single(texts, Text::negation),
            _ => Text::negation(Text::product(&texts)),
        }
    }

    /// The dtype in which two values are compared.
    pub(crate) fn compared_in(&self, ids: &[ExprId]) -> Dtype {
        let known = |id: &ExprId| literal_of(self.kernel, *id).is_none();
        let dtypes = ids.iter().filter(|id| known(id)).map(|&id| self.facts.dtype(id));
        let literals = ids.iter().filter(|id| !known(id)).map(|&id| self.facts.dtype(id));
        // A literal takes the dtype it meets, unless it is a float beside an integer.
        match (dtypes.max(), literals.max()) {
            (Some(Dtype::Bool), None) => Dtype::Bool,
            (Some(dtype), Some(literal)) if literal.is_float() && !dtype.is_float() => literal,
            (Some(dtype), Some(Dtype::Int64)) if !dtype.is_float() => Dtype::Int64,
            (Some(Dtype::Bool), Some(_)) => Dtype::Int32,
            (Some(dtype), _) | (None, Some(dtype)) => dtype,
            (None, None) => Dtype::Int32,
        }
    }

    pub(crate) fn comparison(&self, op: Op, ids: &[ExprId], texts: Vec<Text>) -> Text {
        let operator = match op {
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
            Op::Eq => "==",
            _ => "!=",
        };
        let dtype = self.compared_in(ids);
        if is_known(&self.facts, ids) {
            return Text::primary(if matches!(op, Op::Le | Op::Ge | Op::Eq) { "true" } else { "false" });
        }
        Text::chain(operator, Precedence::Comparison, Precedence::Sum, &self.convert_all(ids, texts, dtype))
    }

    fn power(&mut self, dtype: Dtype, ids: &[ExprId], texts: Vec<Text>) -> Text {
        let mut texts = texts.into_iter();
        let (Some(base), Some(exponent)) = (texts.next(), texts.next()) else { return int(0) };
        let base = self.convert(ids[0], base, dtype);
        let whole = whole_exponent(self.kernel, ids[1]).filter(|&n| n >= 0 || dtype.is_float());
        let Some(n) = whole else {
            // Types make every other power a float.
            let exponent = self.convert(ids[1], exponent, dtype);
            return Text::call(&format!("pow{}", float_suffix(dtype)), &[base, exponent]);
        };
        let one = || literal(nestegg_ir::Number::Int(1), dtype);
        let positive = match n.unsigned_abs() {
            0 => return one(),
            1 => base,
            2 => Text::product(&[base.clone(), base]),
            3 => Text::product(&[base.clone(), base.clone(), base]),
            n => self.helpers.call(Helper::Power(dtype, n), &[base]),
        };
        if n < 0 { Text::quotient(one(), positive) } else { positive }
    }

    /// A call of a function with one result.
    pub(crate) fn call(&mut self, name: &str, dtype: Dtype, ids: &[ExprId], texts: Vec<Text>) -> Text {
        let standard = math::standard(name);
        let of_function = match (standard, self.signatures.get(name)) {
            (None, Some(Signature::Pure { dtype, .. })) => *dtype,
            _ if dtype == Dtype::Float32 => dtype,
            _ => Dtype::Float64,
        };
        let is_exponent = |at| at == 1 && standard.is_some_and(|standard| standard.kind == Kind::Exponent);
        let texts: Vec<Text> = ids
            .iter()
            .zip(texts)
            .enumerate()
            .map(|(at, (&id, text))| self.convert(id, text, if is_exponent(at) { Dtype::Int32 } else { of_function }))
            .collect();
        let suffix = float_suffix(of_function);
        let Some(standard) = standard else { return Text::call(name, &texts).cast(of_function, dtype) };
        match standard.kind {
            Kind::Float | Kind::Exponent => {
                Text::call(&format!("{}{suffix}", standard.name), &texts).cast(of_function, dtype)
            }
            Kind::Whole => Text::call(&format!("{}{suffix}", standard.name), &texts).cast(Dtype::Int64, dtype),
            Kind::Classification => Text::call(standard.name, &texts).cast(Dtype::Int32, dtype),
        }
    }

    /// What a reduction over nothing is.
    pub(crate) fn neutral(op: ReduceOp, dtype: Dtype) -> Text {
        let number = |value| literal(nestegg_ir::Number::Int(value), dtype);
        match (op, dtype) {
            (ReduceOp::Sum, _) => number(0),
            (ReduceOp::Product, _) => number(1),
            (ReduceOp::Min, Dtype::Int64) => Text::primary("INT64_MAX"),
            (ReduceOp::Max, Dtype::Int64) => Text::primary("INT64_MIN"),
            (ReduceOp::Min, Dtype::Int32 | Dtype::Bool) => Text::primary("INT32_MAX"),
            (ReduceOp::Max, Dtype::Int32 | Dtype::Bool) => Text::primary("INT32_MIN"),
            (ReduceOp::Min, _) => Text::primary("INFINITY"),
            (ReduceOp::Max, _) => Text::negation(Text::primary("INFINITY")),
        }
    }
}

/// Whether a divisor is a number whose reciprocal compilers do not use by themselves, since it is rounded.
fn is_inexact_divisor(kernel: &Kernel, id: ExprId) -> bool {
    literal_of(kernel, id).is_some_and(|number| {
        let value = number.to_f64().abs();
        value != 0.0 && value.log2().fract() != 0.0
    })
}

fn single(texts: Vec<Text>, make: impl FnOnce(Text) -> Text) -> Text {
    texts.into_iter().next().map_or_else(|| int(0), make)
}

fn pair(texts: Vec<Text>, make: impl FnOnce(Text, Text) -> Text) -> Text {
    let mut texts = texts.into_iter();
    match (texts.next(), texts.next()) {
        (Some(a), Some(b)) => make(a, b),
        _ => int(0),
    }
}
