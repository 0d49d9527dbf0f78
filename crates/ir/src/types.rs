//! Types of expressions.
//!
//! A literal is *weak*: a float literal takes the float dtype that it meets, an integer literal the number dtype.
//! Otherwise the wider operand decides, floats over integers. Linear in the DAG.

use crate::expr::{Expr, Op};
use crate::ids::ExprId;
use crate::kernel::Kernel;
use crate::number::{Dtype, Number};

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Truth value.
    Bool,
    /// An integer literal, or an operation on such.
    WeakInt,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// A float literal, or an operation on such and integer literals.
    WeakFloat,
    /// IEEE binary32.
    Float32,
    /// IEEE binary64.
    Float64,
}

impl Type {
    /// The dtype of a value of this type that meets no other: weak integers are `int32`, weak floats `float64`.
    #[must_use]
    pub fn dtype(self) -> Dtype {
        match self {
            Self::Bool => Dtype::Bool,
            Self::WeakInt | Self::Int32 => Dtype::Int32,
            Self::Int64 => Dtype::Int64,
            Self::Float32 => Dtype::Float32,
            Self::WeakFloat | Self::Float64 => Dtype::Float64,
        }
    }

    /// Whether it is an integer, weak or not.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self, Self::WeakInt | Self::Int32 | Self::Int64)
    }

    /// Whether it is a float, weak or not.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::WeakFloat | Self::Float32 | Self::Float64)
    }

    /// The type of an operation on numbers of both types. A bool counts as a weak integer.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let number = |ty| if ty == Self::Bool { Self::WeakInt } else { ty };
        // The variants are declared in the order in which they win.
        number(self).max(number(other))
    }
}

impl From<Dtype> for Type {
    fn from(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Bool => Self::Bool,
            Dtype::Int32 => Self::Int32,
            Dtype::Int64 => Self::Int64,
            Dtype::Float32 => Self::Float32,
            Dtype::Float64 => Self::Float64,
        }
    }
}

/// An operand of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{operation}` takes {expected}, not {found:?}")]
pub struct TypeError {
    /// The operation.
    pub expr: ExprId,
    /// Its spelling.
    pub operation: String,
    /// What its operands must be.
    pub expected: &'static str,
    /// What one of them is.
    pub found: Type,
}

/// The types of all expressions of a kernel.
#[derive(Clone, Debug)]
pub struct Types(Vec<Type>);

impl Types {
    /// Infers the types of all expressions. Formal parameters of substitution rules count as weak integers: check a
    /// rule's uses, not its body.
    ///
    /// # Errors
    /// The first operand of a wrong type among the expressions `checked` by the caller is found by
    /// [`Types::check`]; inference itself never fails.
    #[must_use]
    pub fn infer(kernel: &Kernel) -> Self {
        let mut types: Vec<Type> = Vec::with_capacity(kernel.exprs.len());
        for (_, expr) in kernel.exprs.iter() {
            let ty = type_of(kernel, expr, &types);
            types.push(ty);
        }
        Self(types)
    }

    /// Whether expressions have floats of both sizes.
    #[must_use]
    pub fn has_both_floats(&self) -> bool {
        self.0.contains(&Type::Float32) && self.0.contains(&Type::Float64)
    }

    /// The type of an expression.
    #[must_use]
    pub fn of(&self, expr: ExprId) -> Type {
        self.0[expr.index()]
    }

    /// Types of expressions that were added after inference.
    pub fn extend(&mut self, kernel: &Kernel) {
        for (_, expr) in kernel.exprs.iter().skip(self.0.len()) {
            let ty = type_of(kernel, expr, &self.0);
            self.0.push(ty);
        }
    }

    /// Whether the operands of one expression are of types that it takes.
    ///
    /// # Errors
    /// If one is not.
    pub fn check(&self, kernel: &Kernel, id: ExprId) -> Result<(), TypeError> {
        let expr = &kernel.exprs[id];
        let (operation, expected, allowed): (&str, _, fn(Type) -> bool) = match expr {
            Expr::Op { op, .. } if op.is_bitwise() => (op.spelling(), "integers", Type::is_integer),
            Expr::Op { op: op @ (Op::Mod | Op::FloorDiv), .. } => {
                (op.spelling(), "numbers", |ty| ty.is_integer() || ty.is_float())
            }
            Expr::Op { op, .. } if op.is_logic() => (op.spelling(), "conditions", |ty| ty == Type::Bool),
            Expr::Op { op: Op::If, operands } => {
                let condition = self.of(operands[0]);
                return if condition == Type::Bool {
                    Ok(())
                } else {
                    Err(TypeError { expr: id, operation: "if".into(), expected: "a condition first", found: condition })
                };
            }
            Expr::Op { op: Op::Eq | Op::Ne, .. } => return Ok(()),
            Expr::Op { op, .. } => (op.spelling(), "numbers", |ty| ty != Type::Bool),
            Expr::Reduce { op, .. } => (op.spelling(), "numbers", |ty| ty != Type::Bool),
            Expr::Call { function, .. } => (kernel[*function].as_str(), "numbers", |ty| ty != Type::Bool),
            Expr::Access { array, .. } => (kernel[*array].name.as_str(), "integer indices", Type::is_integer),
            _ => return Ok(()),
        };
        match expr.children().iter().map(|&child| self.of(child)).find(|&ty| !allowed(ty)) {
            Some(found) => Err(TypeError { expr: id, operation: operation.to_owned(), expected, found }),
            None => Ok(()),
        }
    }
}

fn type_of(kernel: &Kernel, expr: &Expr, known: &[Type]) -> Type {
    let of = |child: &ExprId| known[child.index()];
    let join = |children: &[ExprId]| children.iter().map(of).fold(Type::WeakInt, Type::join);
    match expr {
        Expr::Number(Number::Int(value)) if i32::try_from(*value).is_err() => Type::Int64,
        Expr::Number(Number::Int(_)) | Expr::Formal(_) => Type::WeakInt,
        Expr::Number(Number::Float(_)) => Type::WeakFloat,
        Expr::Iname(_) => Type::Int32,
        Expr::Parameter(parameter) => kernel[*parameter].dtype.into(),
        Expr::Access { array, .. } => kernel[*array].dtype.into(),
        Expr::Op { op, .. } if op.is_comparison() || op.is_logic() => Type::Bool,
        Expr::Op { op: Op::If, operands } => match (of(&operands[1]), of(&operands[2])) {
            (Type::Bool, Type::Bool) => Type::Bool,
            (a, b) => a.join(b),
        },
        Expr::Op { op: Op::Div, operands } => match join(operands) {
            ty if ty.is_float() => ty,
            Type::WeakInt => Type::WeakFloat,
            _ => Type::Float64,
        },
        Expr::Op { op: Op::Pow, operands } => {
            let whole = matches!(kernel.exprs[operands[1]], Expr::Number(Number::Int(value)) if value >= 0);
            match (of(&operands[0]), whole) {
                (base, true) => base.join(Type::WeakInt),
                _ => match join(operands) {
                    ty if ty.is_float() => ty,
                    Type::WeakInt => Type::WeakFloat,
                    _ => Type::Float64,
                },
            }
        }
        Expr::Op { operands, .. } => join(operands),
        Expr::Call { arguments, .. } => match join(arguments) {
            ty if ty.is_float() => ty,
            _ => Type::Float64,
        },
        Expr::Reduce { body, .. } => of(body).join(Type::WeakInt),
        // A rule's value is typed at its inlined body; before that, by its body with weak formals.
        Expr::Substitution { rule, arguments } => {
            let body = kernel[*rule].expression;
            match known.get(body.index()) {
                Some(Type::Bool) => Type::Bool,
                Some(&ty) => ty.join(join(arguments)),
                None => Type::Float64,
            }
        }
        Expr::Cast { dtype, .. } => (*dtype).into(),
    }
}
