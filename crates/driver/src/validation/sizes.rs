//! The sizes at which two programs are compared.

use std::collections::BTreeSet;

use nestegg_ir::{Expr, Kernel, Number, Program};

use crate::validation::is_assumed;

/// The least value of parameters at a small size.
const SMALL: i64 = 3;

/// Programs are compared at this many sizes.
const MAX_SIZES: usize = 9;

/// Sizes beside larger numbers are not tried.
const MAX_NUMBER: i64 = 300;

/// The parameter values to compare at: what is assumed, then small sizes, all different and all equal, and those beside
/// each number that bounds a loop or is compared with. At a small size loops are short and their ends matter.
pub(super) fn sizes(programs: [&Program; 2], values: &[(String, i64)]) -> Vec<Vec<(String, i64)>> {
    let mut res = vec![values.to_vec()];
    if values.is_empty() {
        return res;
    }
    let all = |value: i64| values.iter().map(|(name, _)| (name.clone(), value)).collect::<Vec<_>>();
    let apart = (SMALL..).zip(values).map(|(value, (name, _))| (name.clone(), value)).collect();
    let mut candidates = vec![apart];
    candidates.extend([0, 1, 2, SMALL, 7].map(all));
    let bounds: BTreeSet<i64> = programs.iter().flat_map(|program| numbers(program.kernel())).collect();
    let beside =
        bounds.into_iter().filter(|&number| number <= MAX_NUMBER).flat_map(|number| [number - 1, number, number + 1]);
    candidates.extend(beside.map(all));
    for candidate in candidates {
        if res.len() == MAX_SIZES {
            break;
        }
        if !res.contains(&candidate) && is_assumed(programs[0], &candidate) {
            res.push(candidate);
        }
    }
    res
}

/// The whole numbers above [`SMALL`] that domains and comparisons of a kernel hold.
fn numbers(kernel: &Kernel) -> BTreeSet<i64> {
    let mut res = BTreeSet::new();
    for text in kernel.domains.iter().map(|domain| &*domain.text).chain(kernel.assumptions.as_deref()) {
        let digits = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        res.extend(digits.filter_map(|word| word.parse::<i64>().ok()));
    }
    let comparisons = kernel.exprs.iter().filter(|(_, expr)| matches!(expr, Expr::Op { op, .. } if op.is_comparison()));
    let operands = comparisons.flat_map(|(_, expr)| expr.children());
    res.extend(operands.filter_map(|&operand| match kernel.exprs[operand] {
        Expr::Number(Number::Int(value)) => Some(value),
        _ => None,
    }));
    res.retain(|&number| number > SMALL);
    res
}
