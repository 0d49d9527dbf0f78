//! Loops and reductions over the same points, counted in another way.

use nestegg_ir::{Domain, DomainId, Expr, Iname, InameId, Item, Kernel, LinearizedKernel, LoopTree, Op};
use nestegg_isl::{Affine, Context, Map, Set};

use super::rewrite;

/// Where loops start more.
const SHIFT: i64 = 3;

/// Loops start at 3 more.
pub(super) fn shifted(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    recounted(linearized, |_| Some(Count { factor: 1, offset: SHIFT }))
}

/// Loops run from the last value to the first, where these are numbers.
pub(super) fn reversed(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    recounted(linearized, |range| range.map(|(first, last)| Count { factor: -1, offset: first + last }))
}

/// Loops run over even numbers.
pub(super) fn strided(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    recounted(linearized, |_| Some(Count { factor: 2, offset: 0 }))
}

/// The new value of an iname is `factor` times the old one plus `offset`; `factor` is 1, -1 or 2.
#[derive(Clone, Copy)]
struct Count {
    factor: i64,
    offset: i64,
}

/// Counts each iname that bounds no other domain in another way; `count` is told its first and last value where these are numbers.
fn recounted(
    linearized: &LinearizedKernel,
    count: impl Fn(Option<(i64, i64)>) -> Option<Count>,
) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let mut counts: Vec<Option<Count>> = vec![None; res.kernel.inames.len()];
    for domain in linearized.kernel.domain_ids() {
        for (iname, count) in recount_domain(&mut res.kernel, domain, &count)? {
            counts[iname.index()] = Some(count);
        }
    }
    if counts.iter().all(Option::is_none) {
        return None;
    }
    rewrite(&mut res, |exprs, expr| {
        let Expr::Iname(iname) = expr else { return exprs.intern(expr) };
        let value = exprs.iname(iname);
        let Some(Count { factor, offset }) = counts[iname.index()] else { return value };
        match factor {
            1 => {
                let offset = exprs.int(offset);
                exprs.op(Op::Sub, [value, offset])
            }
            -1 => {
                let offset = exprs.int(offset);
                exprs.op(Op::Sub, [offset, value])
            }
            _ => {
                let factor = exprs.int(factor);
                exprs.op(Op::FloorDiv, [value, factor])
            }
        }
    });
    Some(res)
}

/// Changes one domain; answers the inames that are counted otherwise now.
fn recount_domain(
    kernel: &mut Kernel,
    domain: DomainId,
    count: impl Fn(Option<(i64, i64)>) -> Option<Count>,
) -> Option<Vec<(InameId, Count)>> {
    let Domain { text, inames, enclosing, parameters } = &kernel[domain];
    let is_outer = |iname: InameId| {
        kernel.domains.iter().any(|other| other.enclosing.contains(&iname)) || kernel.is_sequential(iname)
    };
    let set = Set::parse(&Context::new(), text).ok()?;
    let is_constant = enclosing.is_empty() && parameters.is_empty() && !set.is_empty().ok()?;
    let (mut images, mut res) = (Vec::new(), Vec::new());
    for &iname in inames {
        let name = &kernel[iname].name;
        let range = match is_constant {
            true => set.dim_min_val(name).ok()?.zip(set.dim_max_val(name).ok()?),
            false => None,
        };
        let counted = count(range).filter(|_| !is_outer(iname));
        res.extend(counted.map(|count| (iname, count)));
        let Count { factor, offset } = counted.unwrap_or(Count { factor: 1, offset: 0 });
        images.push(Affine::new(offset, [(name.clone(), factor)]).ok()?);
    }
    let names: Vec<&str> = inames.iter().map(|&iname| kernel[iname].name.as_str()).collect();
    let tuple = set.tuple_name().ok()?;
    let map = Map::from_affine(&set, tuple.as_deref(), &images).ok()?;
    let text = set.apply(&map).ok()?.with_dim_names(&names).ok()?.to_string();
    kernel[domain].text = text;
    Some(res)
}

/// Inames get other names; domains, and so inames, come in the opposite order.
pub(super) fn renamed(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let old = &linearized.kernel;
    if old.inames.is_empty() {
        return None;
    }
    let mut res = linearized.clone();
    let context = Context::new();
    let mut order: Vec<InameId> = Vec::new();
    for domain in old.domains.iter().rev() {
        order.extend(&domain.inames);
    }
    let new_of = |iname: InameId| {
        let at = order.iter().position(|&other| other == iname);
        InameId::new(at.expect("every iname is in a domain"))
    };
    let name = |at: usize| super::fresh(old, &format!("z{at}_"));
    let names: Vec<String> = (0..order.len()).map(name).collect();
    let last = old.domains.len() - 1;
    let mut domains = Vec::new();
    for domain in old.domains.iter().rev() {
        let mut set = Set::parse(&context, &domain.text).ok()?;
        for &iname in domain.inames.iter().chain(&domain.enclosing) {
            set = set.rename_dim(&old[iname].name, &names[new_of(iname).index()]).ok()?;
        }
        let mapped = |inames: &[InameId]| inames.iter().map(|&iname| new_of(iname)).collect();
        domains.push(Domain {
            text: set.to_string(),
            inames: mapped(&domain.inames),
            enclosing: mapped(&domain.enclosing),
            parameters: domain.parameters.clone(),
        });
    }
    let inames = order.iter().zip(names).map(|(&iname, name)| Iname {
        name,
        tags: old[iname].tags.clone(),
        domain: DomainId::new(last - old[iname].domain.index()),
    });
    (res.kernel.inames, res.kernel.domains) = (inames.collect(), domains);
    rewrite(&mut res, |exprs, expr| match expr {
        Expr::Iname(iname) => exprs.iname(new_of(iname)),
        Expr::Reduce { op, inames, body } => {
            let inames = inames.iter().map(|&iname| new_of(iname)).collect();
            exprs.intern(Expr::Reduce { op, inames, body })
        }
        expr => exprs.intern(expr),
    });
    for instruction in &mut res.kernel.instructions {
        instruction.within.iter_mut().for_each(|iname| *iname = new_of(*iname));
    }
    for item in &mut res.linearization {
        match item {
            Item::For(iname) | Item::End(iname) => *iname = new_of(*iname),
            _ => {}
        }
    }
    Some(res)
}

/// Loops that enclose nothing but another loop go inside it, and reductions name their inames in the opposite order.
pub(super) fn interchanged(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let tree = nestegg_ir::linearization::to_tree(&linearized.linearization).ok()?;
    let turned: Vec<LoopTree> = tree.into_iter().map(|node| turned(&linearized.kernel, node)).collect();
    res.linearization = nestegg_ir::linearization::from_tree(&turned);
    rewrite(&mut res, |exprs, expr| match expr {
        Expr::Reduce { op, inames, body } => {
            exprs.intern(Expr::Reduce { op, inames: inames.iter().rev().copied().collect(), body })
        }
        expr => exprs.intern(expr),
    });
    let is_changed = res.linearization != linearized.linearization
        || crate::compact::roots(&res) != crate::compact::roots(linearized);
    is_changed.then_some(res)
}

/// A nest with its perfectly nested loops the other way round, as far as domains and tags allow.
fn turned(kernel: &Kernel, node: LoopTree) -> LoopTree {
    let mut chain = Vec::new();
    let mut rest = node;
    let mut body = loop {
        match rest {
            LoopTree::Loop { iname, mut body } => {
                chain.push(iname);
                match (body.pop(), body.is_empty()) {
                    (Some(only @ LoopTree::Loop { .. }), true) => rest = only,
                    (last, _) => {
                        body.extend(last);
                        break body;
                    }
                }
            }
            other => return other,
        }
    };
    body = body.into_iter().map(|node| turned(kernel, node)).collect();
    let is_free = chain.iter().all(|&iname| {
        !kernel.is_sequential(iname)
            && !kernel[kernel[iname].domain].enclosing.iter().any(|outer| chain.contains(outer))
    });
    if is_free {
        chain.reverse();
    }
    let wrap = |body: Vec<LoopTree>, &iname: &InameId| vec![LoopTree::Loop { iname, body }];
    chain.iter().rev().fold(body, wrap).pop().unwrap_or_else(|| unreachable!("a chain has a loop"))
}
