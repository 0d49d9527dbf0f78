//! Types of expressions, by loopy's rules.
//!
//! # Method
//! Bottom-up; types that a print leaves open (`<auto/runtime>`) follow from what is assigned, again until none changes.
//! A float literal is a single float if it is exact as one, as loopy takes those of Python; where nothing but literals decides, the print has
//! lost the type, for literals of numpy look the same.

use std::cell::RefCell;
use std::rc::Rc;

use nestegg_ir::{Dtype, Number, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::{E, Expr, Kind, Reduction};
use crate::problem::{self, Known};

/// What is known of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Nothing yet.
    Open,
    /// A float literal that is exact as a single float.
    Literal,
    Of(Dtype),
}

impl Type {
    /// The type of an operation on both.
    fn join(self, other: Self) -> Self {
        use Dtype::{Bool, Float32, Float64, Int32, Int64};
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Open, known) | (known, Self::Open) => known,
            (Self::Of(Bool), known) | (known, Self::Of(Bool)) => known,
            (Self::Literal, Self::Of(Int32)) | (Self::Of(Int32), Self::Literal) => Self::Literal,
            (Self::Of(Int32 | Int64), Self::Of(Int32 | Int64)) => Self::Of(Int64),
            (Self::Literal, Self::Of(Float32)) | (Self::Of(Float32), Self::Literal) => Self::Of(Float32),
            (Self::Of(Int32), Self::Of(Float32)) | (Self::Of(Float32), Self::Of(Int32)) => Self::Of(Float32),
            _ => Self::Of(Float64),
        }
    }

    /// Whether it is no float, as far as is known.
    fn is_integral(self) -> bool {
        matches!(self, Self::Open | Self::Of(Dtype::Bool | Dtype::Int32 | Dtype::Int64))
    }

    /// The dtype that it is where nothing else says more.
    pub(crate) fn dtype(self) -> Dtype {
        match self {
            Self::Of(dtype) => dtype,
            Self::Literal => Dtype::Float32,
            Self::Open => Dtype::Int32,
        }
    }
}

/// The types of names, and of expressions that have been asked for.
#[derive(Debug, Default)]
pub(crate) struct Types {
    names: FxHashMap<String, Type>,
    known: RefCell<FxHashMap<*const Expr, (E, Type)>>,
}

impl Types {
    /// Says the type of a name.
    pub(crate) fn declare(&mut self, name: &str, dtype: Option<Dtype>) {
        self.names.insert(name.to_owned(), dtype.map_or(Type::Open, Type::Of));
    }

    /// Whether the name is declared.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Finds the types of open names from the assignments to them.
    pub(crate) fn infer(&mut self, assignments: &[(&str, &E)]) -> Known<()> {
        let open: FxHashSet<String> =
            self.names.iter().filter(|(_, known)| **known == Type::Open).map(|(name, _)| name.clone()).collect();
        let assignments: Vec<_> = assignments.iter().filter(|(name, _)| open.contains(*name)).collect();
        // A type only becomes wider: open, literal, single, double or two integers.
        for _ in 0..=open.len().saturating_mul(5) {
            let mut is_changed = false;
            for (name, value) in &assignments {
                self.known.borrow_mut().clear();
                let new = self.of(value);
                if let Some(old) = self.names.get_mut(*name) {
                    let joined = old.join(new);
                    is_changed |= joined != *old;
                    *old = joined;
                }
            }
            if !is_changed {
                break;
            }
        }
        self.known.borrow_mut().clear();
        for (name, value) in assignments {
            if matches!(self.names.get(*name), Some(Type::Literal | Type::Open)) {
                let help = "print the kernel after `loopy.infer_unknown_types(t_unit, expect_completion=True)`";
                return Err(problem::lost(
                    &format!("the type of `{name}`, which only literals decide"),
                    value.at,
                    help,
                ));
            }
        }
        Ok(())
    }

    /// The type of a name.
    pub(crate) fn of_name(&self, name: &str) -> Type {
        self.names.get(name).copied().unwrap_or(Type::Open)
    }

    /// The type of an expression.
    pub(crate) fn of(&self, expr: &E) -> Type {
        let key = Rc::as_ptr(expr);
        if let Some((_, known)) = self.known.borrow().get(&key) {
            return *known;
        }
        let res = self.find(expr);
        self.known.borrow_mut().insert(key, (expr.clone(), res));
        res
    }

    fn find(&self, expr: &E) -> Type {
        let joined = |of: &[E]| of.iter().map(|operand| self.of(operand)).fold(Type::Open, Type::join);
        match &expr.kind {
            Kind::Number(Number::Int(value)) => {
                Type::Of(if i32::try_from(*value).is_ok() { Dtype::Int32 } else { Dtype::Int64 })
            }
            Kind::Number(number) => {
                if number.to_single() == *number {
                    Type::Literal
                } else {
                    Type::Of(Dtype::Float64)
                }
            }
            Kind::Name(name) | Kind::Subscript(name) | Kind::Linear(name) => self.of_name(name),
            Kind::Cast(dtype) => Type::Of(*dtype),
            Kind::Reduce(Reduction::Any | Reduction::All, _) => Type::Of(Dtype::Bool),
            Kind::Reduce(..) | Kind::Part(_) => joined(&expr.of),
            Kind::Call(name) => match joined(&expr.of) {
                known if matches!(&**name, "abs" | "min" | "max") => known,
                known if known.is_integral() && known != Type::Open => Type::Of(Dtype::Float64),
                known => known,
            },
            Kind::Op(op) => match op {
                _ if op.is_comparison() || op.is_logic() => Type::Of(Dtype::Bool),
                Op::If => joined(expr.of.get(1..).unwrap_or_default()),
                Op::Div => match joined(&expr.of) {
                    known if known.is_integral() => Type::Of(Dtype::Float64),
                    known => known,
                },
                Op::Add | Op::Mul => {
                    // Small integers do not widen floats.
                    let is_small = |operand: &&E| operand.as_int().is_some_and(|value| value.abs() < 1024);
                    let others = |operand: &&E| !is_small(operand);
                    let known =
                        expr.of.iter().filter(others).map(|operand| self.of(operand)).fold(Type::Open, Type::join);
                    if known.is_integral() { joined(&expr.of) } else { known }
                }
                _ => joined(&expr.of),
            },
        }
    }
}
