//! Reduction inames of quadrature points as several digits, where tables depend on single digits.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which a reduction over `q` that indexes tables of a tensor-product rule is one over digits: `T[q, j]` with equal
//! entries at all `q` with one first digit is `T[9*a, j]`. `None` if no iname has digits.
//! # Method
//! For each reduction iname with a constant number of values, and each way to write that as a product, the finest first: a table *with* another iname
//! beside it must depend on one digit alone; the others, such as weights, are read at all digits together. Entries must be equal to the bit, or within the
//! tolerance for tables, which is then reported.
//! # Complexity
//! For each iname linear in the tables that it indexes, times the number of ordered factorisations of its extent, at most [`MAX_FACTORISATIONS`].
//! Source: Homolya, Kirby and Ham, "Exposing and exploiting structure: optimal code generation for high-order finite element methods", 2017.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{Expr, ExprId, Exprs, InameId, InsnId, Kernel, LinearizedKernel};
use nestegg_solve::cluster::TOLERANCE;
use rustc_hash::FxHashMap;

use crate::stores;
use crate::{FormError, LinearMaps, Tolerance};
use nestegg_ir::names::{Names, add_iname};

/// How many ordered factorisations of an extent are tried.
const MAX_FACTORISATIONS: usize = 200;

/// The kernel with reduction inames as digits; `None` if none has any.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn split_digits(linearized: &LinearizedKernel) -> Result<Option<LinearMaps>, FormError> {
    let mut kernel = linearized.kernel.clone();
    let extents = stores::extents(&kernel)?;
    let mut names = Names::new(&kernel);
    let mut tolerance = Tolerance::default();
    let mut n_split = 0;
    for iname in kernel.iname_ids() {
        let Some(extent) = extents[iname.index()] else { continue };
        if kernel.instructions.iter().any(|instruction| instruction.within.contains(&iname)) {
            continue;
        }
        let uses = Uses::of(&kernel, iname);
        let Some((digits, change)) = uses.digits(&kernel, extent) else { continue };
        tolerance.largest_change = tolerance.largest_change.max(change);
        tolerance.n_changed += usize::from(change > 0.0);
        n_split += 1;
        rewrite(&mut kernel, &mut names, iname, &digits, &uses);
    }
    if n_split == 0 {
        return Ok(None);
    }
    let linearization = linearized.linearization.clone();
    let linearized = LinearizedKernel { kernel, linearization };
    Ok(Some(LinearMaps { linearized, n_stores: 0, n_features: 0, tolerance }))
}

/// The elements of tables that an iname indexes by itself.
struct Uses {
    /// The element, its table, and which of its indices is the iname.
    elements: Vec<(ExprId, usize)>,
}

impl Uses {
    fn of(kernel: &Kernel, iname: InameId) -> Self {
        let mut elements = Vec::new();
        let mut roots = Vec::new();
        for instruction in &kernel.instructions {
            roots.extend(instruction.expressions());
        }
        for id in kernel.exprs.reachable(roots) {
            let Expr::Access { array, indices } = &kernel.exprs[id] else { continue };
            let is_table = kernel[*array].table().is_some();
            let others = indices.iter().any(|&index| affine::of(&kernel.exprs, index).is_none());
            let at = indices
                .iter()
                .position(|&index| affine::of(&kernel.exprs, index).and_then(|index| index.as_iname()) == Some(iname));
            if let (true, false, Some(at)) = (is_table, others, at) {
                elements.push((id, at));
            }
        }
        Self { elements }
    }

    /// The finest digits, outermost first, such that each table with other indices depends on one digit alone, and the largest difference of entries
    /// that are then taken for equal.
    fn digits(&self, kernel: &Kernel, extent: usize) -> Option<(Vec<usize>, f64)> {
        let mut best: Option<(Vec<usize>, f64)> = None;
        for digits in factorisations(extent) {
            if best.as_ref().is_some_and(|known| known.0.len() >= digits.len()) {
                continue;
            }
            let mut largest = 0.0_f64;
            let is_separable = self.elements.iter().all(|&(element, at)| {
                if !self.is_beside_others(kernel, element) {
                    return true;
                }
                match digit_of(kernel, element, at, &digits) {
                    Some((_, change)) => {
                        largest = largest.max(change);
                        true
                    }
                    None => false,
                }
            });
            let has_some = self.elements.iter().any(|&(element, _)| self.is_beside_others(kernel, element));
            if is_separable && has_some {
                best = Some((digits, largest));
            }
        }
        best
    }

    /// Whether a table has more axes than that of the iname.
    fn is_beside_others(&self, kernel: &Kernel, element: ExprId) -> bool {
        matches!(&kernel.exprs[element], Expr::Access { indices, .. } if indices.len() > 1)
    }
}

/// The digit that a table depends on, and the largest difference of entries that should be equal; `None` if there are several.
fn digit_of(kernel: &Kernel, element: ExprId, at: usize, digits: &[usize]) -> Option<(usize, f64)> {
    let Expr::Access { array, .. } = &kernel.exprs[element] else { return None };
    let values = kernel[*array].table()?;
    let shape = kernel.constant_shape(*array)?;
    let inner: usize = shape[at + 1..].iter().product();
    let outer: usize = shape[..at].iter().product();
    let extent = shape[at];
    if extent != digits.iter().product::<usize>() {
        return None;
    }
    let largest = values.iter().fold(0.0_f64, |max, value| max.max(value.to_f64().abs()));
    (0..digits.len()).find_map(|digit| {
        let stride: usize = digits[digit + 1..].iter().product();
        let mut change = 0.0_f64;
        for block in 0..outer {
            for point in 0..extent {
                let representative = point / stride % digits[digit] * stride;
                for column in 0..inner {
                    let value = |point: usize| values[(block * extent + point) * inner + column].to_f64();
                    change = change.max((value(point) - value(representative)).abs());
                }
            }
        }
        (change <= TOLERANCE * largest).then_some((digit, if largest > 0.0 { change / largest } else { 0.0 }))
    })
}

/// The ways to write a number as an ordered product of at least two factors above one, those of most factors first.
pub(crate) fn factorisations(number: usize) -> Vec<Vec<usize>> {
    let mut done = Vec::new();
    let mut pending = vec![(Vec::new(), number)];
    while let Some((factors, rest)) = pending.pop() {
        if done.len() > MAX_FACTORISATIONS {
            break;
        }
        for factor in 2..=rest {
            if rest % factor == 0 {
                let next: Vec<usize> = factors.iter().copied().chain([factor]).collect();
                if factor == rest {
                    if next.len() > 1 {
                        done.push(next);
                    }
                } else {
                    pending.push((next, rest / factor));
                }
            }
        }
    }
    done.sort_by_key(|factors| (std::cmp::Reverse(factors.len()), factors.clone()));
    done
}

/// Puts digits in the place of an iname.
fn rewrite(kernel: &mut Kernel, names: &mut Names, iname: InameId, digits: &[usize], uses: &Uses) {
    let inames: Vec<InameId> = digits.iter().map(|&extent| add_iname(kernel, names, iname, extent)).collect();
    let part = |digit: usize| {
        let stride = digits[digit + 1..].iter().product::<usize>() as i64;
        Affine { constant: 0, terms: vec![(Var::Iname(inames[digit]), stride)] }
    };
    let whole = (0..digits.len()).fold(Affine::default(), |sum, digit| sum.plus(&part(digit), 1).unwrap_or_default());
    let of_element: FxHashMap<ExprId, (usize, Affine)> = uses
        .elements
        .iter()
        .filter(|&&(element, _)| uses.is_beside_others(kernel, element))
        .filter_map(|&(element, at)| Some((element, (at, part(digit_of(kernel, element, at, digits)?.0)))))
        .collect();
    let mut exprs: Exprs = std::mem::take(&mut kernel.exprs);
    let whole = whole.to_expr(&mut exprs);
    for insn in 0..kernel.instructions.len() {
        let insn = InsnId::new(insn);
        let roots: Vec<ExprId> = kernel[insn].expressions().collect();
        let rewritten = exprs.rewrite(roots, |exprs, old, expr| match expr {
            Expr::Iname(other) if other == iname => whole,
            Expr::Access { array, mut indices } => {
                if let Some((at, index)) = of_element.get(&old) {
                    indices[*at] = index.to_expr(exprs);
                }
                exprs.access(array, indices)
            }
            Expr::Reduce { op, inames: reduced, body } => {
                let reduced = reduced
                    .iter()
                    .flat_map(|&other| if other == iname { inames.clone() } else { vec![other] })
                    .collect();
                exprs.intern(Expr::Reduce { op, inames: reduced, body })
            }
            expr => exprs.intern(expr),
        });
        kernel[insn].map_expressions(|expr| rewritten.get(expr));
    }
    kernel.exprs = exprs;
}
