//! The sizes at which two programs are compared.

use std::collections::BTreeSet;

use nestegg_ir::{Expr, Kernel, Number, Op, Program, unstated};

use crate::parameters::for_runs;
use crate::validation::is_assumed;

/// The least value of parameters at a small size.
const SMALL: i64 = 3;

/// Programs are compared at this many sizes, and at those beside numbers that sizes are compared with.
const MAX_SIZES: usize = 9;

/// Sizes beside larger numbers are not tried, where the number may have nothing to do with sizes,
const MAX_NUMBER: i64 = 300;

/// and where it has.
const MAX_DECISIVE: i64 = 1_000_000;

/// So many numbers that sizes are compared with are tried, the smallest ones.
const N_DECISIVE: usize = 5;

/// The parameter values to compare at: what is assumed, then small sizes, all different and all equal, and those beside
/// each number that bounds a loop or is compared with. At a small size loops are short and their ends matter.
pub(super) fn sizes(programs: [&Program; 2], values: &[(String, i64)]) -> Vec<Vec<(String, i64)>> {
    let first = programs[0].kernel();
    let mut res = vec![for_runs(first, values)];
    let is_stated = |name: &String| first.stated_parameters().any(|parameter| first[parameter].name == *name);
    let values: Vec<&(String, i64)> = values.iter().filter(|(name, _)| is_stated(name)).collect();
    if values.is_empty() {
        return res;
    }
    // Extents that are not stated hold what the first program accesses at these values.
    let with_extents = |mut values: Vec<(String, i64)>| {
        let extents = unstated::extents(first, &values);
        values.extend(extents);
        values
    };
    let all = |value: i64| with_extents(values.iter().map(|(name, _)| (name.clone(), value)).collect());
    let beside = |number: i64| [number - 1, number, number + 1].map(all);
    let of_both = |numbers: fn(&Kernel) -> BTreeSet<i64>| {
        programs.iter().flat_map(|program| numbers(program.kernel())).collect::<BTreeSet<i64>>()
    };
    let mut add = |candidate: Vec<(String, i64)>, max_sizes: usize| {
        if res.len() < max_sizes && !res.contains(&candidate) && is_assumed(first, &candidate) {
            res.push(candidate);
        }
    };
    let different = (SMALL..).zip(&values).map(|(value, (name, _))| (name.clone(), value)).collect();
    add(with_extents(different), MAX_SIZES);
    [0, 1, 2, SMALL, 7].map(all).into_iter().for_each(|candidate| add(candidate, MAX_SIZES));
    let decisive = of_both(decisive).into_iter().filter(|&number| number <= MAX_DECISIVE).take(N_DECISIVE);
    decisive.flat_map(beside).for_each(|candidate| add(candidate, usize::MAX));
    let others = of_both(numbers).into_iter().filter(|&number| number <= MAX_NUMBER);
    others.flat_map(beside).for_each(|candidate| add(candidate, MAX_SIZES));
    res
}

/// The whole numbers above [`SMALL`] that inames and parameters alone are compared with: in conditions, extrema, and domains with parameters.
fn decisive(kernel: &Kernel) -> BTreeSet<i64> {
    let mut res = BTreeSet::new();
    for domain in kernel.domains.iter().filter(|domain| !domain.parameters.is_empty()) {
        res.extend(numbers_in(&domain.text));
    }
    for (id, expr) in kernel.exprs.iter() {
        let Expr::Op { op, .. } = expr else { continue };
        if !op.is_comparison() && !matches!(op, Op::Min | Op::Max) {
            continue;
        }
        let below = kernel.exprs.reachable([id]);
        if !below.iter().any(|&id| matches!(kernel.exprs[id], Expr::Access { .. })) {
            res.extend(below.into_iter().filter_map(|id| whole_number(&kernel.exprs[id])));
        }
    }
    res.retain(|&number| number > SMALL);
    res
}

/// The whole numbers above [`SMALL`] that domains and comparisons of a kernel hold.
fn numbers(kernel: &Kernel) -> BTreeSet<i64> {
    let texts = kernel.domains.iter().map(|domain| &*domain.text).chain(kernel.assumptions.as_deref());
    let mut res: BTreeSet<i64> = texts.flat_map(numbers_in).collect();
    let comparisons = kernel.exprs.iter().filter(|(_, expr)| matches!(expr, Expr::Op { op, .. } if op.is_comparison()));
    let operands = comparisons.flat_map(|(_, expr)| expr.children());
    res.extend(operands.filter_map(|&operand| whole_number(&kernel.exprs[operand])));
    res.retain(|&number| number > SMALL);
    res
}

fn whole_number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Number(Number::Int(value)) => Some(*value),
        _ => None,
    }
}

/// The whole numbers in a text of isl.
fn numbers_in(text: &str) -> impl Iterator<Item = i64> + '_ {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter_map(|word| word.parse::<i64>().ok())
}
