//! The coefficients of a kernel, separated from it.
//!
//! # Output
//! The kernel with its tables of floats, and the literals that it adds and multiplies, as elements of arguments; and
//! their values. Given other values, the kernel with these in place of the old ones.
//! # Method
//! A literal is one coefficient for each operation and instruction that it is an operand of: a number that stands in
//! two places for two nearly equal ones becomes two again.
//! # Complexity
//! Linear in the DAG, once for each instruction.
//! # Not done
//! Exponents, arguments of functions and bounds of comparisons are not coefficients, nor are one and minus one.

use std::sync::Arc;

use nestegg_ir::names::Names;
use nestegg_ir::{
    ArgumentAccess, Array, ArrayId, ArrayKind, Dtype, Expr, ExprId, Exprs, Float, InstructionKind, Kernel,
    LinearizedKernel, Number, Op,
};

/// A kernel whose coefficients are elements of arguments.
#[derive(Clone, Debug)]
pub struct Coefficients {
    /// The kernel.
    pub linearized: LinearizedKernel,
    /// The arguments that hold coefficients, with their values, row-major: tables first, then literals.
    pub values: Vec<(ArrayId, Vec<f64>)>,
}

/// Takes the coefficients of a kernel apart from it.
#[must_use]
pub fn coefficients(linearized: &LinearizedKernel) -> Coefficients {
    let mut kernel = linearized.kernel.clone();
    let mut values = Vec::new();
    for array in tables(&linearized.kernel) {
        if let Some(table) = linearized.kernel[array].table() {
            values.push((array, table.iter().map(|number| number.to_f64()).collect()));
            kernel[array].kind = ArrayKind::Argument(ArgumentAccess::Read);
        }
    }
    let array = ArrayId::new(kernel.arrays.len());
    let mut literals = Vec::new();
    visit_literals(&mut kernel, |exprs, value| {
        let index = exprs.int(literals.len() as i64);
        literals.push(value);
        exprs.access(array, [index])
    });
    let name = Names::new(&kernel).new_name("literals");
    let shape = vec![kernel.exprs.int(literals.len() as i64)];
    let kind = ArrayKind::Argument(ArgumentAccess::Read);
    kernel.arrays.push(Array { name, dtype: Dtype::Float64, stored: None, shape, kind });
    values.push((array, literals));
    Coefficients { linearized: LinearizedKernel { kernel, linearization: linearized.linearization.clone() }, values }
}

/// A kernel with these values of its coefficients, in the order of [`coefficients`]. What is not finite stays as it was.
#[must_use]
pub fn with_coefficients(linearized: &LinearizedKernel, values: &[Vec<f64>]) -> LinearizedKernel {
    let mut res = linearized.clone();
    let mut all = values.iter();
    for array in tables(&linearized.kernel) {
        if let (Some(table), Some(values)) = (linearized.kernel[array].table(), all.next()) {
            let new: Vec<Number> = table.iter().zip(values).map(|(old, &value)| with_value(*old, value)).collect();
            res.kernel[array].kind = ArrayKind::Table(Arc::from(new));
        }
    }
    let mut literals = all.next().into_iter().flatten();
    visit_literals(&mut res.kernel, |exprs, old| {
        let value = literals.next().copied().and_then(Float::new).or_else(|| Float::new(old));
        exprs.float(value.unwrap_or_else(|| unreachable!("literals are finite")))
    });
    res
}

/// A number with a value; the same number if that is its value already.
fn with_value(old: Number, value: f64) -> Number {
    if old.to_f64() == value { old } else { Float::new(value).map_or(old, Number::Float) }
}

fn tables(kernel: &Kernel) -> Vec<ArrayId> {
    kernel.array_ids().filter(|&array| kernel[array].table().is_some() && kernel[array].dtype.is_float()).collect()
}

/// Puts something in the place of each literal that is added or multiplied, in one order.
fn visit_literals(kernel: &mut Kernel, mut place: impl FnMut(&mut Exprs, f64) -> ExprId) {
    for instruction in &mut kernel.instructions {
        let InstructionKind::Assignment { expression, .. } = &mut instruction.kind else { continue };
        let rewritten = kernel.exprs.rewrite([*expression], |exprs, _, mut expr| {
            if let Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Div, operands } = &mut expr {
                for operand in operands {
                    let Expr::Number(Number::Float(value)) = exprs[*operand] else { continue };
                    if !matches!(value.get().abs(), 0.0 | 1.0) {
                        *operand = place(exprs, value.get());
                    }
                }
            }
            exprs.intern(expr)
        });
        *expression = rewritten.get(*expression);
    }
}
