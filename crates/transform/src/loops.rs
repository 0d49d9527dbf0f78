//! Loops and reductions start at zero, have stride one, and run up.
//!
//! # Output
//! [`from_zero`] counts every iname from zero in steps of one, where its least value and its stride are constants:
//! `{ [i] : 3 <= i < 9 }` becomes `{ [i] : 0 <= i < 6 }`, and `x[i]` becomes `x[i + 3]`. [`run_up`] reverses reductions
//! and loops that read most of their arrays backwards: `sum(q, w[5 - q]*f[5 - q])` over `0 <= q < 6` becomes
//! `sum(q, w[q]*f[q])`.
//! # Why
//! Equal values then have equal expressions, however their loops were written; and reads of tables begin at their first
//! entries.
//! # Legality
//! Counting from zero keeps the order of iterations. A reduction over real numbers has none. A loop is reversed if no
//! element that one of its instructions writes is touched at another iteration, or if all of them only add to it.
//! # Complexity
//! Linear in the DAG for [`from_zero`]; for [`run_up`] linear in the body of each reversed reduction, and in that of each reversed loop for each array that it
//! writes.
//! # Not done
//! Inames around opaque code, which knows them by name. Least values that depend on parameters or on other inames.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::walk::{below, reads};
use nestegg_ir::{
    ArrayId, Domain, DomainId, Expr, ExprId, Exprs, InameId, InameSet, InsnId, Instruction, InstructionKind, Item,
    Kernel, Licence, Linearization, LinearizedKernel, Op, Rewritten,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::independent::update_of;
use crate::ranges::{Answer, Ranges};
use crate::substitute::with_inames;

/// The value of an iname is `stride` times its new one plus `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    first: i64,
    stride: i64,
}

/// Counts inames from zero, in steps of one.
///
/// # Errors
/// If isl cannot read a domain.
pub(crate) fn from_zero(kernel: &mut Kernel, linearization: &mut Linearization) -> Result<(), DomainError> {
    let context = isl::Context::new();
    let fixed = around_opaque_code(kernel);
    let mut counts: Vec<Option<Count>> = vec![None; kernel.inames.len()];
    for domain in kernel.domain_ids() {
        let set = isl::Set::parse(&context, &kernel[domain].text)
            .map_err(|error| DomainError::Text { domain, error })?
            .set_tuple_name(None)?;
        for &iname in &kernel[domain].inames {
            if !fixed.contains(iname) {
                counts[iname.index()] = count(&set, &kernel[iname].name);
            }
        }
    }
    if counts.iter().all(Option::is_none) {
        return Ok(());
    }
    for domain in kernel.domain_ids() {
        recount(kernel, &context, domain, &counts)?;
    }
    let value = |exprs: &mut Exprs, iname: InameId| match counts[iname.index()] {
        Some(Count { first, stride }) => {
            Affine { constant: first, terms: vec![(Var::Iname(iname), stride)] }.to_expr(exprs)
        }
        None => exprs.iname(iname),
    };
    kernel.rewrite_all(linearization, |exprs, _, expr| match expr {
        Expr::Iname(iname) => value(exprs, iname),
        expr => exprs.intern(expr),
    });
    Ok(())
}

/// Inames that opaque code knows by name.
pub(crate) fn around_opaque_code(kernel: &Kernel) -> InameSet {
    let is_opaque = |instruction: &&Instruction| matches!(instruction.kind, InstructionKind::Opaque { .. });
    kernel.instructions.iter().filter(is_opaque).flat_map(|instruction| instruction.within.iter().copied()).collect()
}

/// How an iname would be counted from zero; `None` if it is, or if its least value is no constant.
fn count(set: &isl::Set, name: &str) -> Option<Count> {
    let stride = match set.stride(name).ok()? {
        Some(isl::Stride { modulus, remainder }) if remainder.as_constant().is_some() => modulus,
        _ => 1,
    };
    let first = set.dim_min_val(name).ok()??;
    let res = Count { first, stride };
    (res != Count { first: 0, stride: 1 }).then_some(res)
}

/// The domain over the new values of its own inames and of those that enclose it.
fn recount(
    kernel: &mut Kernel,
    context: &isl::Context,
    domain: DomainId,
    counts: &[Option<Count>],
) -> Result<(), DomainError> {
    let Domain { text, inames, enclosing, .. } = &kernel[domain];
    if inames.iter().chain(enclosing).all(|iname| counts[iname.index()].is_none()) {
        return Ok(());
    }
    let outer: Vec<&str> = enclosing.iter().map(|&iname| kernel[iname].name.as_str()).collect();
    let set = isl::Set::parse(context, text)?.set_tuple_name(None)?;
    let all = if outer.is_empty() { set } else { set.params_to_dims(&outer)? };
    let dims = all.dim_names()?;
    let names: Vec<&str> = dims.iter().map(String::as_str).collect();
    let old = names
        .iter()
        .map(|&name| {
            let mut inames = inames.iter().chain(enclosing);
            let counted = inames.find(|iname| kernel[**iname].name == name).and_then(|iname| counts[iname.index()]);
            let Count { first, stride } = counted.unwrap_or(Count { first: 0, stride: 1 });
            isl::Affine::var(name).scale(stride)?.add(&isl::Affine::constant(first))
        })
        .collect::<Result<Vec<isl::Affine>, isl::Error>>()?;
    // A domain need not say what those of enclosing inames say, such as that they are even: only the new values that belong to old ones count.
    let parameters = all.param_names()?;
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let new = isl::Set::universe(context, &parameters, &names)?;
    let counted = isl::Map::from_affine(&new, None, &old)?.reverse()?;
    let mut image = all.apply(&counted)?.with_dim_names(&names)?.coalesce()?;
    if !outer.is_empty() {
        image = image.move_dims(isl::Dim::Param, 0, isl::Dim::Set, inames.len(), outer.len())?;
    }
    kernel[domain].text = image.to_string();
    Ok(())
}

/// Turns reductions and loops that mostly read backwards.
///
/// # Errors
/// If a domain cannot be used.
pub(crate) fn run_up(linearized: LinearizedKernel, licence: Licence) -> Result<LinearizedKernel, DomainError> {
    let backwards = read_backwards(&linearized.kernel);
    if backwards.is_empty() || licence == Licence::Strict {
        return Ok(linearized);
    }
    let LinearizedKernel { mut kernel, linearization } = linearized;
    let domains = Domains::new(&isl::Context::new(), &kernel)?;
    let ranges = Ranges::new(&kernel, &domains)?;
    let lasts: Vec<Option<i64>> = kernel
        .iname_ids()
        .map(|iname| backwards.contains(iname).then(|| last(&kernel, &ranges, iname)).flatten())
        .collect();
    turn_reductions(&mut kernel, &lasts);
    let has_conditions = linearization.iter().any(|item| matches!(item, Item::If(_)));
    for iname in kernel.iname_ids().filter(|_| !has_conditions) {
        if let Some(last) = lasts[iname.index()] {
            turn_loop(&mut kernel, iname, last);
        }
    }
    Ok(LinearizedKernel { kernel, linearization })
}

/// The inames with a negative coefficient in some index.
fn read_backwards(kernel: &Kernel) -> InameSet {
    let mut res = InameSet::new();
    for (_, expr) in kernel.exprs.iter() {
        for affine in indices(&kernel.exprs, expr) {
            res.extend(affine.inames().filter(|&iname| affine.coefficient(Var::Iname(iname)) < 0));
        }
    }
    res
}

/// The affine indices of an access.
fn indices<'a>(exprs: &'a Exprs, expr: &'a Expr) -> impl Iterator<Item = Affine> + 'a {
    let indices: &[ExprId] = match expr {
        Expr::Access { indices, .. } => indices,
        _ => &[],
    };
    indices.iter().filter_map(|&index| affine::of(exprs, index))
}

/// The last value of an iname that takes all values from zero to there, whatever others are.
fn last(kernel: &Kernel, ranges: &Ranges, iname: InameId) -> Option<i64> {
    let (Some(0), Some(last)) = ranges.bounds(iname) else { return None };
    let is_turned_into_itself = ranges.containment(iname, &backwards(iname, last)) == Answer::Always;
    (ranges.is_independent(iname) && is_turned_into_itself && !kernel.is_sequential(iname)).then_some(last)
}

/// `last - iname`.
fn backwards(iname: InameId, last: i64) -> Affine {
    Affine { constant: last, terms: vec![(Var::Iname(iname), -1)] }
}

/// Whether more accesses read backwards along an iname than forwards.
fn is_backwards(exprs: &Exprs, roots: impl IntoIterator<Item = ExprId>, iname: InameId) -> bool {
    let direction = |id: ExprId| -> i64 {
        indices(exprs, &exprs[id]).map(|affine| affine.coefficient(Var::Iname(iname)).signum()).sum()
    };
    below(exprs, roots).into_iter().map(direction).sum::<i64>() < 0
}

/// Expressions with `last - iname` for an iname.
fn turned(exprs: &mut Exprs, roots: Vec<ExprId>, iname: InameId, last: i64) -> Rewritten {
    with_inames(exprs, roots, |other| (other == iname).then(|| backwards(iname, last)))
}

fn turn_reductions(kernel: &mut Kernel, lasts: &[Option<i64>]) {
    kernel.rewrite(|exprs, _, expr| {
        let Expr::Reduce { op, inames, mut body } = expr else { return exprs.intern(expr) };
        for &iname in &inames {
            if let Some(last) = lasts[iname.index()]
                && is_backwards(exprs, [body], iname)
            {
                body = turned(exprs, vec![body], iname, last).get(body);
            }
        }
        exprs.intern(Expr::Reduce { op, inames, body })
    });
}

fn turn_loop(kernel: &mut Kernel, iname: InameId, last: i64) {
    let inside: Vec<InsnId> = kernel.insn_ids().filter(|&insn| kernel[insn].within.contains(&iname)).collect();
    let roots: Vec<ExprId> = inside.iter().flat_map(|&insn| kernel[insn].expressions()).collect();
    if !is_backwards(&kernel.exprs, roots.iter().copied(), iname) || !may_be_turned(kernel, &inside, iname) {
        return;
    }
    let rewritten = turned(&mut kernel.exprs, roots, iname, last);
    for insn in inside {
        kernel[insn].map_expressions(|id| rewritten.get(id));
    }
}

/// Whether the iterations of a loop around these instructions may run in the opposite order.
fn may_be_turned(kernel: &Kernel, inside: &[InsnId], iname: InameId) -> bool {
    if inside.iter().any(|&insn| matches!(kernel[insn].kind, InstructionKind::Opaque { .. })) {
        return false;
    }
    let written = |insn: &InsnId| kernel[*insn].assignees().iter().map(|assignee| (assignee.array, &*assignee.indices));
    let mut places: FxHashMap<ArrayId, Vec<&[ExprId]>> = FxHashMap::default();
    for (array, indices) in inside.iter().flat_map(written) {
        places.entry(array).or_default().push(indices);
    }
    places.retain(|&array, _| !inside.iter().all(|&insn| only_adds(kernel, insn, array)));
    let roots = inside.iter().flat_map(|&insn| kernel[insn].expressions());
    for id in below(&kernel.exprs, roots) {
        if let Expr::Access { array, indices } = &kernel.exprs[id]
            && let Some(places) = places.get_mut(array)
        {
            places.push(indices);
        }
    }
    let are_apart = |places: &Vec<&[ExprId]>| (0..places[0].len()).any(|axis| are_apart(kernel, places, axis, iname));
    places.values().all(are_apart)
}

/// Whether elements are different in different iterations of a loop, because their indices along one axis say so.
fn are_apart(kernel: &Kernel, places: &[&[ExprId]], axis: usize, iname: InameId) -> bool {
    let mut first: Option<Affine> = None;
    // For each remainder by the stride the distance from the first.
    let mut distances: FxHashMap<i64, i64> = FxHashMap::default();
    places.iter().all(|place| {
        let Some(affine) = affine::of(&kernel.exprs, place[axis]).filter(|affine| affine.inames().eq([iname])) else {
            return false;
        };
        let stride = affine.coefficient(Var::Iname(iname));
        let first = first.get_or_insert_with(|| affine.clone());
        let Some(distance) = affine.plus(first, -1).and_then(|difference| difference.as_constant()) else {
            return false;
        };
        let Some(remainder) = distance.checked_rem_euclid(stride) else { return false };
        *distances.entry(remainder).or_insert(distance) == distance
    })
}

/// Whether an instruction has nothing to do with an array, or only adds to its elements.
fn only_adds(kernel: &Kernel, insn: InsnId, array: ArrayId) -> bool {
    let is_written = kernel[insn].assignees().iter().any(|assignee| assignee.array == array);
    if is_written {
        matches!(update_of(kernel, insn), Some((Op::Add, _)))
    } else {
        !reads(&kernel.exprs, kernel[insn].expressions(), array)
    }
}
