//! Expressions of loopy as the format has them.
//!
//! C decides what a number means in loopy: a condition is a number, a number is a condition, and a quotient of integers depends on where it
//! stands. The format keeps conditions and numbers apart and has one quotient, so each is written out; the same as the Python package does.

use nestegg_dump::syntax::{Fold, Name, NodeId, NodeKind, Nodes};
use nestegg_ir::{Dtype, Number, Op};
use nestegg_span::Span;
use rustc_hash::FxHashMap;

use crate::expr::{E, Expr, Kind, Reduction, negated};
use crate::layout::Layout;
use crate::problem::{self, Known};
use crate::types::Types;

/// Nodes of a kernel: quotients of integers are written out, and each copies its operands.
const MAX_NODES: usize = 1_000_000;

/// What stands around an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Integer,
    Single,
    Double,
}

impl Around {
    pub(crate) fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Float64 => Self::Double,
            Dtype::Float32 => Self::Single,
            _ => Self::Integer,
        }
    }
}

/// Functions of `math.h` that the format knows, by their names for doubles.
const FUNCTIONS: [&str; 46] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "j0",
    "j1",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "pow",
    "remainder",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
];

fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Writes expressions.
pub(crate) struct Writer<'a> {
    pub(crate) nodes: &'a mut Nodes<'static>,
    pub(crate) types: &'a Types,
    pub(crate) layouts: &'a FxHashMap<String, Layout>,
    /// Inames, which are integers without a declaration.
    pub(crate) is_iname: &'a dyn Fn(&str) -> bool,
    pub(crate) n_nodes: usize,
}

impl Writer<'_> {
    fn push(&mut self, kind: NodeKind<'static>, at: Span, children: &[NodeId]) -> Known<NodeId> {
        self.n_nodes += 1;
        if self.n_nodes > MAX_NODES {
            return Err(problem::unsupported("an expression that becomes so long", at, ""));
        }
        Ok(self.nodes.push(kind, at, children))
    }

    fn op(&mut self, op: Op, at: Span, children: &[NodeId]) -> Known<NodeId> {
        self.push(NodeKind::Op(op), at, children)
    }

    fn int(&mut self, value: i64, at: Span) -> Known<NodeId> {
        self.push(NodeKind::Number(Number::Int(value)), at, &[])
    }

    /// What is assigned to something of a dtype: converted as C does where the format does not convert.
    pub(crate) fn value(&mut self, expr: &E, dtype: Dtype) -> Known<NodeId> {
        if dtype == Dtype::Bool {
            return self.condition(expr);
        }
        let own = self.types.of(expr).dtype();
        if !dtype.is_float() && own.is_float() {
            let value = self.number(expr, Around::of(own))?;
            return self.push(NodeKind::Cast(dtype), expr.at, &[value]);
        }
        self.number(expr, Around::of(dtype))
    }

    /// An integer.
    pub(crate) fn index(&mut self, expr: &E) -> Known<NodeId> {
        self.number(expr, Around::Integer)
    }

    /// What an expression is by itself.
    fn around(&self, expr: &E) -> Around {
        Around::of(self.types.of(expr).dtype())
    }

    /// What operands become together.
    fn common(&self, of: &[E]) -> Around {
        let all = || of.iter().map(|operand| self.around(operand));
        match () {
            () if all().any(|around| around == Around::Double) => Around::Double,
            () if all().any(|around| around == Around::Single) => Around::Single,
            () => Around::Integer,
        }
    }

    fn numbers(&mut self, of: &[E], around: Around) -> Known<Vec<NodeId>> {
        of.iter().map(|operand| self.number(operand, around)).collect()
    }

    /// Whether the format's value of an expression is a condition.
    fn is_condition(&self, expr: &E) -> bool {
        match &expr.kind {
            Kind::Op(Op::If) => {
                expr.of.get(1..).is_some_and(|branches| branches.iter().all(|branch| self.is_condition(branch)))
            }
            Kind::Op(op) => op.is_comparison() || op.is_logic(),
            Kind::Name(_) | Kind::Subscript(_) => self.types.of(expr).dtype() == Dtype::Bool,
            _ => false,
        }
    }

    /// A number is true where it is not zero.
    pub(crate) fn condition(&mut self, expr: &E) -> Known<NodeId> {
        match &expr.kind {
            Kind::Op(op) if op.is_comparison() => {
                let around = self.common(&expr.of);
                let of = self.numbers(&expr.of, around)?;
                self.op(*op, expr.at, &of)
            }
            Kind::Op(op) if op.is_logic() || (*op == Op::If && self.is_condition(expr)) => {
                let of = expr.of.iter().map(|operand| self.condition(operand)).collect::<Known<Vec<_>>>()?;
                self.op(*op, expr.at, &of)
            }
            Kind::Name(_) | Kind::Subscript(_) if self.is_condition(expr) => self.element(expr),
            Kind::Reduce(reduction @ (Reduction::Any | Reduction::All), inames) => {
                self.any_or_all(*reduction, inames, expr)
            }
            _ => {
                let around = self.around(expr);
                let value = self.number(expr, around)?;
                let zero = self.int(0, expr.at)?;
                self.op(Op::Ne, expr.at, &[value, zero])
            }
        }
    }

    /// Whether any condition holds, or all do.
    fn any_or_all(&mut self, reduction: Reduction, inames: &[String], expr: &E) -> Known<NodeId> {
        let inner = expr.of.first().ok_or_else(|| problem::syntax("what is reduced", expr.at))?;
        let condition = self.condition(inner)?;
        let fold = if reduction == Reduction::Any { Fold::Any } else { Fold::All };
        self.push(NodeKind::Reduce(fold, names(inames, expr.at)), expr.at, &[condition])
    }

    /// A name or an element of an array.
    pub(crate) fn element(&mut self, expr: &E) -> Known<NodeId> {
        let (Kind::Name(name) | Kind::Subscript(name) | Kind::Linear(name)) = &expr.kind else {
            return Err(problem::unsupported("an assignment to this", expr.at, ""));
        };
        let layouts = self.layouts;
        let Some(layout) = layouts.get(name) else {
            if !matches!(expr.kind, Kind::Name(_)) || !(self.types.has(name) || (self.is_iname)(name)) {
                return Err(problem::unknown_name(name, expr.at));
            }
            return self.push(NodeKind::Name(name.clone().into()), expr.at, &[]);
        };
        let indices = match &expr.kind {
            Kind::Linear(_) => expr.of.clone(),
            Kind::Name(_) => layout.shape.iter().map(|_| Expr::int(0, expr.at)).collect(),
            _ if layout.shape.is_empty() => Vec::new(),
            _ => layout.indices(&expr.of, expr)?,
        };
        if indices.is_empty() {
            return self.push(NodeKind::Name(name.clone().into()), expr.at, &[]);
        }
        let indices = indices.iter().map(|index| self.index(index)).collect::<Known<Vec<_>>>()?;
        let name = Name { text: name.clone().into(), span: expr.at };
        self.push(NodeKind::Subscript(name), expr.at, &indices)
    }

    /// A number.
    pub(crate) fn number(&mut self, expr: &E, around: Around) -> Known<NodeId> {
        let at = expr.at;
        if self.is_condition(expr) {
            let condition = self.condition(expr)?;
            return self.zero_or_one(condition, at);
        }
        match &expr.kind {
            Kind::Number(number) => {
                // C computes with singles there, and loopy prints those of numpy by their shortest digits.
                let number = if around == Around::Single { number.to_single() } else { *number };
                self.push(NodeKind::Number(number), at, &[])
            }
            Kind::Name(_) | Kind::Subscript(_) | Kind::Linear(_) => self.element(expr),
            Kind::Cast(dtype) => {
                let inner = expr.of.first().ok_or_else(|| problem::syntax("what is converted", at))?;
                let value = self.number(inner, self.around(inner))?;
                self.push(NodeKind::Cast(*dtype), at, &[value])
            }
            Kind::Reduce(reduction, inames) => match reduction {
                Reduction::Op(op) => {
                    let inner = self.numbers(&expr.of, around)?;
                    self.push(NodeKind::Reduce(Fold::Number(*op), names(inames, at)), at, &inner)
                }
                Reduction::Any | Reduction::All => {
                    let condition = self.any_or_all(*reduction, inames, expr)?;
                    self.zero_or_one(condition, at)
                }
            },
            Kind::Part(_) => Err(problem::unsupported("the part of an array outside of a call", at, "")),
            Kind::Call(name) => self.call(name, expr),
            Kind::Op(op) => self.operation(*op, expr, around),
        }
    }

    fn zero_or_one(&mut self, condition: NodeId, at: Span) -> Known<NodeId> {
        let one = self.int(1, at)?;
        let zero = self.int(0, at)?;
        self.op(Op::If, at, &[condition, one, zero])
    }

    fn operation(&mut self, op: Op, expr: &E, around: Around) -> Known<NodeId> {
        let at = expr.at;
        match (op, expr.of.as_slice()) {
            (Op::Add, [first, second]) => {
                if negated(first)?.is_none()
                    && let Some(second) = negated(second)?
                {
                    let of = self.numbers(&[first.clone(), second], around)?;
                    return self.op(Op::Sub, at, &of);
                }
                let of = self.numbers(&expr.of, around)?;
                self.op(Op::Add, at, &of)
            }
            (Op::Mul, _) => {
                if let Some(inner) = negated(expr)? {
                    let inner = self.number(&inner, around)?;
                    return self.op(Op::Neg, at, &[inner]);
                }
                let of = self.numbers(&expr.of, around)?;
                self.op(Op::Mul, at, &of)
            }
            (Op::Div, [top, bottom]) => {
                if self.types.of(top).dtype().is_float() || self.types.of(bottom).dtype().is_float() {
                    let of = self.numbers(&expr.of, around)?;
                    return self.op(Op::Div, at, &of);
                }
                self.quotient(top, bottom, around, at)
            }
            (Op::Pow, [base, exponent]) => {
                let base = self.number(base, around)?;
                let is_float = self.types.of(exponent).dtype().is_float();
                let exponent = self.number(exponent, if is_float { around } else { Around::Integer })?;
                self.op(Op::Pow, at, &[base, exponent])
            }
            (Op::If, [condition, yes, no]) => {
                let condition = self.condition(condition)?;
                let yes = self.number(yes, around)?;
                let no = self.number(no, around)?;
                self.op(Op::If, at, &[condition, yes, no])
            }
            (Op::Shl | Op::Shr | Op::BitNot | Op::BitOr | Op::BitXor | Op::BitAnd, of) => {
                let of = self.numbers(of, Around::Integer)?;
                self.op(op, at, &of)
            }
            (_, of) => {
                let of = self.numbers(of, around)?;
                self.op(op, at, &of)
            }
        }
    }

    /// A quotient of integers: a float where one is expected, else C's, towards zero.
    fn quotient(&mut self, top: &E, bottom: &E, around: Around, at: Span) -> Known<NodeId> {
        let of = [top.clone(), bottom.clone()];
        match around {
            Around::Double => {
                let of = self.numbers(&of, Around::Integer)?;
                return self.op(Op::Div, at, &of);
            }
            Around::Single => {
                let top = self.index(top)?;
                let top = self.push(NodeKind::Cast(Dtype::Float32), at, &[top])?;
                let bottom = self.index(bottom)?;
                let bottom = self.push(NodeKind::Cast(Dtype::Float32), at, &[bottom])?;
                return self.op(Op::Div, at, &[top, bottom]);
            }
            Around::Integer => {}
        }
        if let (Some(a), Some(b)) = (top.as_int(), bottom.as_int())
            && let Some(quotient) = a.checked_div(b)
        {
            return self.int(quotient, at);
        }
        let condition = if bottom.as_int().is_some_and(|value| value > 0) {
            self.is_negative(top, at)?
        } else {
            let mut signs = Vec::new();
            for operand in &of {
                let is_negative = self.is_negative(operand, at)?;
                signs.push(self.zero_or_one(is_negative, at)?);
            }
            self.op(Op::Ne, at, &signs)?
        };
        let a = self.index(top)?;
        let a = self.op(Op::Neg, at, &[a])?;
        let b = self.index(bottom)?;
        let down = self.op(Op::FloorDiv, at, &[a, b])?;
        let up = self.op(Op::Neg, at, &[down])?;
        let plain = self.numbers(&of, Around::Integer)?;
        let plain = self.op(Op::FloorDiv, at, &plain)?;
        self.op(Op::If, at, &[condition, up, plain])
    }

    fn is_negative(&mut self, expr: &E, at: Span) -> Known<NodeId> {
        let value = self.index(expr)?;
        let zero = self.int(0, at)?;
        self.op(Op::Lt, at, &[value, zero])
    }

    fn call(&mut self, name: &str, expr: &E) -> Known<NodeId> {
        let at = expr.at;
        let common = self.common(&expr.of);
        if matches!(name, "min" | "max") && expr.of.len() >= 2 {
            let of = self.numbers(&expr.of, common)?;
            return self.op(if name == "min" { Op::Min } else { Op::Max }, at, &of);
        }
        if let ("abs", [operand], Around::Integer) = (name, expr.of.as_slice(), common) {
            let value = self.index(operand)?;
            let negative = self.index(operand)?;
            let negative = self.op(Op::Neg, at, &[negative])?;
            return self.op(Op::Max, at, &[value, negative]);
        }
        let name = if name == "abs" { "fabs" } else { name };
        // Types make `sqrt` of singles `sqrtf`.
        let known = match name.strip_suffix('f') {
            _ if is_function(name) => name,
            Some(double) if is_function(double) => double,
            _ => {
                let help = "kernels may call functions of C's math.h, and kernels of the same print";
                return Err(problem::unsupported(&format!("the function `{name}`"), at, help));
            }
        };
        let around = if common == Around::Integer { Around::Double } else { common };
        let of = self.numbers(&expr.of, around)?;
        self.push(NodeKind::Call(Name { text: known.to_owned().into(), span: at }), at, &of)
    }
}

/// Inames of a reduction, which loopy prints without places of their own here.
fn names(inames: &[String], at: Span) -> Vec<Name<'static>> {
    inames.iter().map(|iname| Name { text: iname.clone().into(), span: at }).collect()
}
