//! Loops and reductions: bounds, operations, nesting.

use std::collections::BTreeSet;

use nestegg_ir::{Domain, DomainId, Expr, InameId, Item, Kernel, LinearizedKernel, Op, ReduceOp};
use nestegg_isl::{Affine, Context, Map, Set};

use super::Sites;
use super::view::{View, accumulation, end_of, mentions, runs};

/// A loop has one value more or less.
pub(super) fn bound(view: &View<'_>, sites: &mut Sites<'_>) {
    let reduced = reduced(view.kernel());
    bounds(view, sites, |iname| !reduced.contains(&iname));
}

/// A reduction, as such or as an accumulation in a loop, has one point more or less.
pub(super) fn reduction_bound(view: &View<'_>, sites: &mut Sites<'_>) {
    let reduced = reduced(view.kernel());
    bounds(view, sites, |iname| reduced.contains(&iname));
}

/// The inames of reductions, and those of loops around accumulations into elements that are the same for all their values.
fn reduced(kernel: &Kernel) -> BTreeSet<InameId> {
    let mut res = BTreeSet::new();
    for (_, expr) in kernel.exprs.iter() {
        if let Expr::Reduce { inames, .. } = expr {
            res.extend(inames);
        }
    }
    for instruction in kernel.instructions.iter().filter(|instruction| accumulation(kernel, instruction).is_some()) {
        let targets = || instruction.assignees().iter().flat_map(|assignee| assignee.indices.iter().copied());
        res.extend(instruction.within.iter().filter(|&&iname| !mentions(kernel, targets(), iname)));
    }
    res
}

fn bounds(view: &View<'_>, sites: &mut Sites<'_>, is_meant: impl Fn(InameId) -> bool) {
    let kernel = view.kernel();
    for iname in kernel.iname_ids().filter(|&iname| is_meant(iname)) {
        for (how, grows, by) in [
            ("loses its last values", false, -1),
            ("loses its first values", false, 1),
            ("has one value more at the end", true, 1),
            ("has one value more at the beginning", true, -1),
        ] {
            let domain = kernel[iname].domain;
            sites.kernel(format!("`{}` {how}", kernel[iname].name), move |mutant| {
                if let Some(text) = moved_bound(&mutant.kernel, domain, iname, grows, by) {
                    mutant.kernel[domain].text = text;
                }
            });
        }
    }
}

/// A domain together with, or only where it meets, its copy moved along an iname; `None` where that is the domain, or nothing.
fn moved_bound(kernel: &Kernel, domain: DomainId, iname: InameId, grows: bool, by: i64) -> Option<String> {
    let Domain { text, inames, .. } = &kernel[domain];
    let set = Set::parse(&Context::new(), text).ok()?;
    let names: Vec<&str> = inames.iter().map(|&iname| kernel[iname].name.as_str()).collect();
    let images: Vec<Affine> = inames
        .iter()
        .map(|&other| Affine::new(if other == iname { by } else { 0 }, [(kernel[other].name.clone(), 1)]).ok())
        .collect::<Option<_>>()?;
    let tuple = set.tuple_name().ok()?;
    let copy = set.apply(&Map::from_affine(&set, tuple.as_deref(), &images).ok()?).ok()?;
    let changed = if grows { set.union(&copy) } else { set.intersect(&copy) }.ok()?.coalesce().ok()?;
    let is_useful = !changed.is_equal(&set).ok()? && !changed.is_empty().ok()?;
    is_useful.then_some(())?;
    Some(changed.with_dim_names(&names).ok()?.to_string())
}

/// Another operation of a reduction, or of an accumulation.
pub(super) fn reduction<'a>(view: &View<'a>, sites: &mut Sites<'a>) {
    for node in &view.nodes {
        let Expr::Reduce { op, inames, body } = view.expr(node.id) else { continue };
        for other in ReduceOp::ALL.into_iter().filter(|other| other != op) {
            let what = format!("`{}` for `{}`", other.spelling(), op.spelling());
            sites.put(node, what, Expr::Reduce { op: other, inames: inames.clone(), body: *body });
        }
    }
    for insn in view.kernel().insn_ids() {
        let Some((op, _, operands)) = accumulation(view.kernel(), &view.kernel()[insn]) else { continue };
        for other in [Op::Add, Op::Mul, Op::Min, Op::Max].into_iter().filter(|&other| other != op) {
            let id = &view.kernel()[insn].id;
            sites.kernel(
                format!("`{}` for `{}` in the accumulation `{id}`", other.spelling(), op.spelling()),
                move |mutant| {
                    let expression = mutant.kernel.exprs.op(other, operands);
                    if let nestegg_ir::InstructionKind::Assignment { expression: old, .. } =
                        &mut mutant.kernel[insn].kind
                    {
                        *old = expression;
                    }
                },
            );
        }
    }
}

/// Two loops of which one is all that the other holds change places.
pub(super) fn exchanged(view: &View<'_>, sites: &mut Sites<'_>) {
    let (kernel, items) = (view.kernel(), &view.linearized.linearization);
    for at in 1..items.len() {
        let (Item::For(outer), Item::For(inner)) = (items[at - 1], items[at]) else { continue };
        let (end_outer, end_inner) = (end_of(items, at - 1), end_of(items, at));
        let is_bounded = kernel[kernel[inner].domain].enclosing.contains(&outer);
        if end_outer == end_inner + 1 && !is_bounded {
            let what = format!("loops over `{}` and `{}` exchanged", kernel[outer].name, kernel[inner].name);
            sites.kernel(what, move |mutant| {
                mutant.linearization.swap(at - 1, at);
                mutant.linearization.swap(end_inner, end_outer);
            });
        }
    }
}

/// Two loops over one iname that follow each other become one.
pub(super) fn joined(view: &View<'_>, sites: &mut Sites<'_>) {
    let items = &view.linearized.linearization;
    for at in 1..items.len() {
        let (Item::End(first), Item::For(second)) = (items[at - 1], items[at]) else { continue };
        if first == second {
            let what = format!("loops over `{}` joined at item {at}", view.kernel()[first].name);
            sites.kernel(what, move |mutant| drop(mutant.linearization.drain(at - 1..=at)));
        }
    }
}

/// A loop is cut in two between parts that touch the same array.
pub(super) fn cut(view: &View<'_>, sites: &mut Sites<'_>) {
    let items = &view.linearized.linearization;
    for start in 0..items.len() {
        let Item::For(iname) = items[start] else { continue };
        let end = end_of(items, start);
        let mut at = start + 1;
        while at < end {
            let next = end_of(items, at) + 1;
            if next < end && view.conflict(&runs(&items[start..next]), &runs(&items[next..end])) {
                let what = format!("loop over `{}` cut at item {next}", view.kernel()[iname].name);
                sites.kernel(what, move |mutant: &mut LinearizedKernel| {
                    mutant.linearization.splice(next..next, [Item::End(iname), Item::For(iname)]);
                });
            }
            at = next;
        }
    }
}
