//! Expressions with the types that C gives them.
//!
//! A [`Term`] is a tree that may be used in several places; [`emit`] writes one use of it into the syntax tree of a kernel. In kernels,
//! literals take the type that they meet, as they do not in C: where that differs, a conversion is written.

use std::rc::Rc;

use nestegg_dump::syntax::{Name, NodeId, NodeKind, Nodes};
use nestegg_ir::{Dtype, Number, Op};
use nestegg_isl::Affine;
use nestegg_span::Span;

/// An expression.
#[derive(Debug)]
pub(crate) struct Term {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its place.
    pub(crate) span: Span,
    /// How many names, numbers and operations it is made of, as a tree.
    pub(crate) size: usize,
    /// How deep they nest.
    pub(crate) depth: usize,
}

/// What an expression is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A literal.
    Number(Number),
    /// An iname or a parameter.
    Name(String),
    /// An element of an array, by the array's position; a scalar has no indices.
    Element(usize, Vec<Rc<Term>>),
    /// An operation.
    Op(Op, Vec<Rc<Term>>),
    /// A pure function.
    Call(Rc<str>, Vec<Rc<Term>>),
    /// A conversion.
    Cast(Dtype, Rc<Term>),
}

/// An expression and its type in C; what compares and joins conditions is `bool`.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// The expression.
    pub(crate) term: Rc<Term>,
    /// Its type.
    pub(crate) dtype: Dtype,
}

impl Term {
    /// An expression.
    pub(crate) fn new(kind: Kind, span: Span) -> Rc<Self> {
        let parts = match &kind {
            Kind::Number(_) | Kind::Name(_) => &[],
            Kind::Element(_, parts) | Kind::Op(_, parts) | Kind::Call(_, parts) => parts.as_slice(),
            Kind::Cast(_, part) => std::slice::from_ref(part),
        };
        let size = parts.iter().fold(1, |size: usize, part| size.saturating_add(part.size));
        let depth = parts.iter().map(|part| part.depth + 1).max().unwrap_or(0);
        Rc::new(Self { kind, span, size, depth })
    }

    /// An operation.
    pub(crate) fn op(op: Op, operands: Vec<Rc<Self>>, span: Span) -> Rc<Self> {
        Self::new(Kind::Op(op, operands), span)
    }

    /// An integer.
    pub(crate) fn int(value: i64, span: Span) -> Rc<Self> {
        Self::new(Kind::Number(Number::Int(value)), span)
    }

    /// Its value, if it is an integer literal.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self.kind {
            Kind::Number(Number::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// The same as an affine expression of inames and parameters, if it is one.
    pub(crate) fn affine(&self) -> Option<Affine> {
        self.affine_with(&mut |_| None)
    }

    /// The same where `other` says what stands for elements of arrays.
    pub(crate) fn affine_with(&self, other: &mut dyn FnMut(&Self) -> Option<Affine>) -> Option<Affine> {
        let mut of = |operands: &[Rc<Self>]| {
            operands.iter().map(|operand| operand.affine_with(other)).collect::<Option<Vec<_>>>()
        };
        match &self.kind {
            Kind::Number(Number::Int(value)) => Some(Affine::constant(*value)),
            Kind::Name(name) => Some(Affine::var(name)),
            Kind::Cast(dtype, operand) if dtype.is_integer() => operand.affine_with(other),
            Kind::Element(..) => other(self),
            Kind::Op(op, operands) => {
                let values = of(operands)?;
                let mut rest = values.iter();
                let first = rest.next()?;
                match op {
                    Op::Add => rest.try_fold(first.clone(), |sum, value| sum.add(value).ok()),
                    Op::Sub => first.sub(rest.next()?).ok(),
                    Op::Neg => first.scale(-1).ok(),
                    Op::Mul => rest.try_fold(first.clone(), |product, value| {
                        match (product.as_constant(), value.as_constant()) {
                            (_, Some(factor)) => product.scale(factor).ok(),
                            (Some(factor), None) => value.scale(factor).ok(),
                            (None, None) => None,
                        }
                    }),
                    Op::FloorDiv => first.floor_div(rest.next()?.as_constant()?).ok(),
                    Op::Mod => {
                        let divisor = rest.next()?.as_constant()?;
                        first.sub(&first.floor_div(divisor).ok()?.scale(divisor).ok()?).ok()
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The same condition in isl's notation, if it is about inames and parameters only.
    pub(crate) fn condition(&self) -> Option<String> {
        let Kind::Op(op, operands) = &self.kind else { return None };
        let joined = |word: &str| {
            let texts: Option<Vec<String>> = operands.iter().map(|operand| operand.condition()).collect();
            Some(format!("({})", texts?.join(word)))
        };
        let relation = match op {
            Op::And => return joined(" and "),
            Op::Or => return joined(" or "),
            Op::Not => return Some(format!("not ({})", operands.first()?.condition()?)),
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
            Op::Eq => "=",
            Op::Ne => "!=",
            _ => return None,
        };
        let [left, right] = operands.as_slice() else { return None };
        Some(format!("({} {relation} {})", left.affine()?, right.affine()?))
    }

    /// The arrays that it reads.
    pub(crate) fn arrays(&self, found: &mut Vec<usize>) {
        match &self.kind {
            Kind::Number(_) | Kind::Name(_) => {}
            Kind::Element(array, indices) => {
                found.push(*array);
                indices.iter().for_each(|index| index.arrays(found));
            }
            Kind::Op(_, operands) | Kind::Call(_, operands) => {
                operands.iter().for_each(|operand| operand.arrays(found))
            }
            Kind::Cast(_, operand) => operand.arrays(found),
        }
    }
}

impl Value {
    /// A value of that type.
    pub(crate) fn new(term: Rc<Term>, dtype: Dtype) -> Self {
        Self { term, dtype }
    }

    /// An integer of type `int`, or `long` if that is too small.
    pub(crate) fn int(value: i64, span: Span) -> Self {
        let dtype = if i32::try_from(value).is_ok() { Dtype::Int32 } else { Dtype::Int64 };
        Self::new(Term::int(value, span), dtype)
    }

    fn span(&self) -> Span {
        self.term.span
    }

    /// The value as a number: conditions are 1 or 0.
    pub(crate) fn number(self) -> Self {
        if self.dtype != Dtype::Bool {
            return self;
        }
        let span = self.span();
        let operands = vec![self.term, Term::int(1, span), Term::int(0, span)];
        Self::new(Term::op(Op::If, operands, span), Dtype::Int32)
    }

    /// The value as a condition: numbers are true unless zero.
    pub(crate) fn truth(self) -> Rc<Term> {
        if self.dtype == Dtype::Bool {
            return self.term;
        }
        let span = self.span();
        Term::op(Op::Ne, vec![self.term, Term::int(0, span)], span)
    }

    /// The value in another type.
    pub(crate) fn into_dtype(self, dtype: Dtype) -> Self {
        if self.dtype == dtype {
            return self;
        }
        if dtype == Dtype::Bool {
            return Self::new(self.truth(), dtype);
        }
        let value = self.number();
        let span = value.span();
        // A literal of `float` is one of `double`, too: all its digits are there.
        if let (Kind::Cast(Dtype::Float32, inside), Dtype::Float64) = (&value.term.kind, dtype)
            && let Kind::Number(Number::Float(_)) = inside.kind
        {
            return Self::new(inside.clone(), dtype);
        }
        let is_weak = match value.term.kind {
            // A literal takes the type that it meets.
            Kind::Number(Number::Int(_)) => dtype != Dtype::Float32,
            Kind::Number(Number::Float(_)) => dtype == Dtype::Float64,
            _ => false,
        };
        if value.dtype == dtype || is_weak {
            return Self::new(value.term, dtype);
        }
        Self::new(Term::new(Kind::Cast(dtype, value.term), span), dtype)
    }

    /// Two values in the type in which C computes with both.
    pub(crate) fn joined(self, other: Self) -> (Self, Self) {
        let (a, b) = (self.number(), other.number());
        let dtype = a.dtype.max(b.dtype);
        (a.into_dtype(dtype), b.into_dtype(dtype))
    }

    /// An operation on numbers of one type.
    pub(crate) fn arithmetic(op: Op, a: Self, b: Self, span: Span) -> Self {
        let (a, b) = a.joined(b);
        let dtype = a.dtype;
        Self::new(Term::op(op, vec![a.term, b.term], span), dtype)
    }
}

/// Writes one use of an expression into a syntax tree.
pub(crate) fn emit(term: &Term, arrays: &[String], nodes: &mut Nodes<'static>) -> NodeId {
    let mut of = |operands: &[Rc<Term>]| -> Vec<NodeId> {
        operands.iter().map(|operand| emit(operand, arrays, nodes)).collect()
    };
    let (kind, operands) = match &term.kind {
        Kind::Number(number) => (NodeKind::Number(*number), Vec::new()),
        Kind::Name(name) => (NodeKind::Name(name.clone().into()), Vec::new()),
        Kind::Element(array, indices) => {
            let name = arrays[*array].clone();
            let kind = if indices.is_empty() {
                NodeKind::Name(name.into())
            } else {
                NodeKind::Subscript(Name { text: name.into(), span: term.span })
            };
            (kind, of(indices))
        }
        Kind::Op(op, operands) => (NodeKind::Op(*op), of(operands)),
        Kind::Call(function, arguments) => {
            (NodeKind::Call(Name { text: function.to_string().into(), span: term.span }), of(arguments))
        }
        Kind::Cast(dtype, operand) => (NodeKind::Cast(*dtype), of(std::slice::from_ref(operand))),
    };
    nodes.push(kind, term.span, &operands)
}
