//! The value of one expression whose operands are known.

use nestegg_ir::types::{Type, Types};
use nestegg_ir::{Expr, ExprId, InameId, Kernel, Number, Op};

use super::function;
use super::operation::{operation, power};
use super::value::{Known, Value};

/// The value of an expression, by what is known of its operands; reductions are not looked into.
pub(super) fn evaluate(
    kernel: &Kernel,
    types: &Types,
    id: ExprId,
    known: impl Fn(ExprId) -> Option<Known>,
    iname: impl Fn(InameId) -> Option<i64>,
) -> Option<Known> {
    let ty = types.of(id);
    match &kernel.exprs[id] {
        Expr::Number(number) => Some(Known::literal(*number)),
        Expr::Iname(own) => Known::int(iname(*own)?, Type::Int32, true),
        Expr::Access { array, indices } => {
            let array = &kernel[*array];
            let values = array.table()?;
            let mut position = 0_usize;
            for (&index, &size) in indices.iter().zip(&array.shape) {
                let (Value::Int(index), Expr::Number(Number::Int(size))) = (known(index)?.value, &kernel.exprs[size])
                else {
                    return None;
                };
                if !(0..*size).contains(&index) {
                    return None;
                }
                position = position.checked_mul(usize::try_from(*size).ok()?)?;
                position = position.checked_add(usize::try_from(index).ok()?)?;
            }
            let is_exact = indices.iter().all(|&index| known(index).is_some_and(|index| index.is_exact));
            let element = Known::element(*values.get(position)?, ty)?;
            Some(Known { is_exact: element.is_exact && is_exact, ..element })
        }
        Expr::Op { op: Op::If, operands } => {
            let condition = known(operands[0])?;
            let chosen = if condition.truth()? { operands[1] } else { operands[2] };
            let value = known(chosen)?.converted(types.of(chosen), ty)?;
            Some(Known { is_exact: value.is_exact && condition.is_exact, ..value })
        }
        Expr::Op { op: Op::Pow, operands } => {
            let exponent = match kernel.exprs[operands[1]] {
                Expr::Number(Number::Int(exponent)) => exponent,
                Expr::Number(Number::Float(exponent)) if exponent.get().fract() == 0.0 => exponent.get() as i64,
                _ => return None,
            };
            let base = known(operands[0])?.converted(types.of(operands[0]), ty)?;
            power(base, exponent, ty)
        }
        Expr::Op { op, operands } => {
            let joined = if op.is_logic() {
                Type::Bool
            } else if *op == Op::Div {
                ty
            } else {
                operands.iter().map(|&operand| types.of(operand)).fold(Type::WeakInt, Type::join)
            };
            let values = operands.iter().map(|&operand| known(operand)?.converted(types.of(operand), joined));
            operation(*op, &values.collect::<Option<Vec<_>>>()?, joined, ty)
        }
        Expr::Call { function, arguments } => {
            let values = arguments.iter().map(|&argument| known(argument)?.converted(types.of(argument), ty));
            function::call(&kernel[*function], &values.collect::<Option<Vec<_>>>()?, ty)
        }
        Expr::Cast { dtype, operand } => known(*operand)?.converted(types.of(*operand), Type::from(*dtype)),
        Expr::Parameter(_) | Expr::Formal(_) | Expr::Reduce { .. } | Expr::Substitution { .. } => None,
    }
}
