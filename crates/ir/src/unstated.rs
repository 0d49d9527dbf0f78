//! Extents and ends of loops that a kernel does not state, chosen so that they hold what it accesses, and so that loops run as long as data say.
//!
//! # Input
//! A kernel, and values for its parameters; those without one take their estimate.
//! # Output
//! For each [unstated](crate::Parameter::is_stated) extent or end a value, by the name of the parameter that stands for it.
//! # Method
//! Interval arithmetic over the DAG bounds every index; inames range over their domains. Values read from arguments are assumed to lie
//! below [`N_VALUES`]; generators of test data respect the resulting extents. A temporary has the bounds of the values assigned to it.
//! A loop that data end runs as far as the greatest of its [ends](crate::data_bounds::end).
//! # Complexity
//! Linear in the expressions, a few times; one projection of a domain for each iname.
//! # Not done
//! Conditions narrow nothing, and a temporary that keeps growing has bounds that may not hold: then a run says which access is outside.

use nestegg_isl as isl;

use crate::data_bounds::{self, end_of};
use crate::domains::Domains;
use crate::expr::{Expr, Op};
use crate::ids::{ExprId, InameId, ParameterId};
use crate::inline::expand_substitutions;
use crate::kernel::{ArrayKind, InstructionKind, Kernel, Parameter};
use crate::number::Number;

/// Numbers that come as data are taken to be below it where they serve as indices.
pub const N_VALUES: i64 = 16;

/// Temporaries may be computed from temporaries so many times.
const MAX_ROUNDS: usize = 4;

/// The least and the greatest value of an expression.
type Range = (i64, i64);

const DATA: Range = (0, N_VALUES - 1);

/// A value for each unstated extent and end. `values` are values of parameters, before the kernel's estimates.
#[must_use]
pub fn extents(kernel: &Kernel, values: &[(String, i64)]) -> Vec<(String, i64)> {
    extents_with(kernel, values, DATA)
}

/// The same, where numbers that come as data are in a range.
fn extents_with(kernel: &Kernel, values: &[(String, i64)], data: Range) -> Vec<(String, i64)> {
    let unstated: Vec<ParameterId> = kernel.parameter_ids().filter(|&id| !kernel[id].is_stated).collect();
    if unstated.is_empty() {
        return Vec::new();
    }
    let mut expanded = kernel.clone();
    // A kernel with a rule that needs itself is refused elsewhere; its rules count as data.
    let kernel = if expand_substitutions(&mut expanded, &mut []).is_ok() { &expanded } else { kernel };
    let open = open(kernel);
    let given =
        |id: ParameterId| values.iter().rev().find(|(name, _)| *name == kernel[id].name).map(|(_, value)| *value);
    let value = |id: ParameterId| {
        let is_end = open.iter().any(|&(_, end)| end == id);
        given(id).or(if is_end { None } else { kernel[id].estimate })
    };
    let mut values: Vec<Option<i64>> = kernel.parameter_ids().map(value).collect();
    let mut bounds = bounds(kernel, &values, data);
    if !open.is_empty() {
        // Ends may depend on inames whose own ends are open.
        for _ in 0..MAX_ROUNDS {
            for &(iname, end) in open.iter().filter(|&&(_, end)| given(end).is_none()) {
                values[end.index()] = Some(greatest_end(kernel, iname, &bounds));
            }
            bounds = self::bounds(kernel, &values, data);
        }
    }
    let greatest = |array: &crate::Array, id: ParameterId| {
        let is_own = |size: &ExprId| matches!(kernel.exprs[*size], Expr::Parameter(own) if own == id);
        array.shape.first().is_some_and(is_own)
    };
    let extent = |&id: &ParameterId| {
        if open.iter().any(|&(_, end)| end == id) {
            return (kernel[id].name.clone(), values[id.index()].unwrap_or(N_VALUES));
        }
        let own = kernel.array_ids().find(|&array| greatest(&kernel[array], id));
        let read = kernel.exprs.iter().filter_map(|(_, expr)| match expr {
            Expr::Access { array, indices } if Some(*array) == own => indices.first(),
            _ => None,
        });
        let written = kernel.instructions.iter().flat_map(|instruction| instruction.assignees());
        let written =
            written.filter(|assignee| Some(assignee.array) == own).filter_map(|assignee| assignee.indices.first());
        let last = read.chain(written).map(|index| bounds[index.index()].1).max().unwrap_or(0);
        (kernel[id].name.clone(), last.max(0).saturating_add(1))
    };
    unstated.iter().map(extent).collect()
}

/// The value of each parameter, in the kernel's order: the given one, else for an unstated extent or end the chosen one, else the kernel's estimate.
#[must_use]
pub fn values(kernel: &Kernel, given: &[(String, i64)]) -> Vec<Option<i64>> {
    let find = |values: &[(String, i64)], name: &str| {
        values.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
    };
    let is_open = |id: &ParameterId| !kernel[*id].is_stated && find(given, &kernel[*id].name).is_none();
    let chosen = if kernel.parameter_ids().any(|id| is_open(&id)) { extents(kernel, given) } else { Vec::new() };
    let value = |id: ParameterId| {
        let Parameter { name, estimate, .. } = &kernel[id];
        find(given, name).or_else(|| find(&chosen, name)).or(*estimate)
    };
    kernel.parameter_ids().map(value).collect()
}

/// The ends alone, whatever is given for them: as many values as an iname has with test data.
#[must_use]
pub fn ends(kernel: &Kernel, values: &[(String, i64)]) -> Vec<(String, i64)> {
    ends_with(kernel, values, DATA)
}

/// The same, where numbers that come as data are in a range.
#[must_use]
pub fn ends_with(kernel: &Kernel, values: &[(String, i64)], data: (i64, i64)) -> Vec<(String, i64)> {
    let open = open(kernel);
    let is_end = |name: &String| open.iter().any(|&(_, end)| kernel[end].name == *name);
    let others: Vec<(String, i64)> = values.iter().filter(|(name, _)| !is_end(name)).cloned().collect();
    extents_with(kernel, &others, data).into_iter().filter(|(name, _)| is_end(name)).collect()
}

/// The inames that data end, with the parameters that stand for their ends.
fn open(kernel: &Kernel) -> Vec<(InameId, ParameterId)> {
    kernel.iname_ids().filter_map(|iname| Some((iname, end_of(kernel, kernel[iname].domain)?))).collect()
}

/// The greatest end of an iname that any comparison states.
fn greatest_end(kernel: &Kernel, iname: InameId, bounds: &[Range]) -> i64 {
    let ends = kernel.exprs.iter().filter_map(|(id, _)| data_bounds::end(&kernel.exprs, id, iname));
    let greatest = |end: data_bounds::Sum| {
        end.terms.iter().fold(end.constant, |sum, (&leaf, &coefficient)| {
            let (least, greatest) = bounds[leaf.index()];
            sum.saturating_add(coefficient.saturating_mul(if coefficient > 0 { greatest } else { least }))
        })
    };
    ends.map(greatest).max().unwrap_or(N_VALUES).max(0)
}

/// The bounds of every expression.
fn bounds(kernel: &Kernel, values: &[Option<i64>], data: Range) -> Vec<Range> {
    let context = isl::Context::new();
    let domains = Domains::new(&context, kernel).ok();
    let iname = |id: InameId| domains.as_ref().and_then(|domains| range_of(kernel, domains, id, values));
    let inames: Vec<Range> = kernel.iname_ids().map(|id| iname(id).unwrap_or(data)).collect();
    let mut arrays: Vec<Range> = kernel.arrays.iter().map(|array| table(&array.kind).unwrap_or(data)).collect();
    let mut res = Vec::new();
    for _ in 0..MAX_ROUNDS {
        res = with_arrays(kernel, values, (&inames, &arrays), data);
        let mut assigned: Vec<Option<Range>> = vec![None; kernel.arrays.len()];
        for instruction in &kernel.instructions {
            let value = match &instruction.kind {
                InstructionKind::Assignment { expression, .. } => res[expression.index()],
                InstructionKind::Call { .. } | InstructionKind::Opaque { .. } => data,
            };
            for array in instruction.written_arrays().into_iter().filter(|&array| kernel[array].is_temporary()) {
                let known = &mut assigned[array.index()];
                *known = Some(known.map_or(value, |known| union(known, value)));
            }
        }
        let is_same = arrays.iter().zip(&assigned).all(|(known, new)| new.is_none_or(|new| new == *known));
        if is_same {
            break;
        }
        for (known, new) in arrays.iter_mut().zip(assigned) {
            *known = new.unwrap_or(*known);
        }
    }
    res
}

/// The bounds of every expression, where elements of arrays have the given ones. Operands come before operations.
fn with_arrays(
    kernel: &Kernel,
    values: &[Option<i64>],
    (inames, arrays): (&[Range], &[Range]),
    data: Range,
) -> Vec<Range> {
    let mut res: Vec<Range> = Vec::with_capacity(kernel.exprs.len());
    for (_, expr) in kernel.exprs.iter() {
        let of = |id: &ExprId| res[id.index()];
        let range = match expr {
            Expr::Number(Number::Int(value)) => (*value, *value),
            Expr::Iname(iname) => inames[iname.index()],
            Expr::Parameter(id) => values[id.index()].map_or(data, |value| (value, value)),
            Expr::Access { array, .. } => arrays[array.index()],
            Expr::Cast { operand, .. } => of(operand),
            Expr::Reduce { body, .. } => of(body),
            Expr::Op { op, operands } => {
                let operands: Vec<Range> = operands.iter().map(of).collect();
                operation(*op, &operands, data)
            }
            _ => data,
        };
        res.push(range);
    }
    res
}

fn operation(op: Op, operands: &[Range], data: Range) -> Range {
    let fold = |f: fn(Range, Range) -> Range| operands.iter().copied().reduce(f).unwrap_or(data);
    match (op, operands) {
        (Op::Add, _) => fold(|a, b| (a.0.saturating_add(b.0), a.1.saturating_add(b.1))),
        (Op::Sub, [a, b]) => (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0)),
        (Op::Neg, [a]) => (a.1.saturating_neg(), a.0.saturating_neg()),
        (Op::Mul, _) => fold(product),
        (Op::FloorDiv, [a, (divisor, same)]) if divisor == same && *divisor > 0 => {
            (a.0.div_euclid(*divisor), a.1.div_euclid(*divisor))
        }
        (Op::Mod, [_, b]) if b.1 > 0 => (0, b.1 - 1),
        (Op::Min, _) => fold(|a, b| (a.0.min(b.0), a.1.min(b.1))),
        (Op::Max, _) => fold(|a, b| (a.0.max(b.0), a.1.max(b.1))),
        (Op::If, [_, a, b]) => union(*a, *b),
        (Op::BitAnd, _) => (0, operands.iter().map(|range| range.1).min().unwrap_or(0).max(0)),
        _ => data,
    }
}

fn product(a: Range, b: Range) -> Range {
    let all = [a.0.saturating_mul(b.0), a.0.saturating_mul(b.1), a.1.saturating_mul(b.0), a.1.saturating_mul(b.1)];
    all.iter().fold((i64::MAX, i64::MIN), |range, &value| (range.0.min(value), range.1.max(value)))
}

fn union(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The ends of the values of an iname, if there are both.
fn range_of(kernel: &Kernel, domains: &Domains, iname: InameId, values: &[Option<i64>]) -> Option<Range> {
    let fixed: Vec<(&str, i64)> = kernel
        .parameters
        .iter()
        .zip(values)
        .filter_map(|(parameter, value)| Some((parameter.name.as_str(), (*value)?)))
        .collect();
    let set = domains.of(&std::iter::once(iname).collect()).ok()?.fix_params(&fixed).ok()?;
    let name = &kernel[iname].name;
    Some((set.dim_min_val(name).ok()??, set.dim_max_val(name).ok()??))
}

/// The least and the greatest number of a table.
fn table(kind: &ArrayKind) -> Option<Range> {
    let ArrayKind::Table(values) = kind else { return None };
    let values = values.iter().map(|value| match value {
        Number::Int(value) => *value,
        Number::Float(value) => value.get() as i64,
    });
    values.map(|value| (value, value)).reduce(union)
}
