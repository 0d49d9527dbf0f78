//! Short loops and reductions written out.

use nestegg_ir::{Expr, ExprId, InameId, InsnId, Instruction, LinearizedKernel, LoopTree};
use nestegg_isl::{Context, Set};
use rustc_hash::FxHashMap;

use super::rewrite;
use crate::compact::roots;

/// Loops of at most so many values are written out,
const MAX_VALUES: i64 = 4;

/// but no kernel gets more statements than this.
const MAX_STATEMENTS: usize = 256;

/// Every reduction over few values is a sum or product, every loop over few values its copies.
pub(super) fn written_out(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let short: Vec<Option<Vec<i64>>> = kernel.iname_ids().map(|iname| values(linearized, iname)).collect();
    let mut res = linearized.clone();
    reductions(&mut res, &short);
    let tree = nestegg_ir::linearization::to_tree(&linearized.linearization).ok()?;
    let originals = res.kernel.instructions.clone();
    let mut copies = Copies { short: &short, res: &mut res, is_free: vec![true; originals.len()], originals };
    let unrolled = copies.all(&tree, &mut Vec::new())?;
    res.linearization = nestegg_ir::linearization::from_tree(&unrolled);
    (roots(&res) != roots(linearized)).then_some(res)
}

/// The values of an iname of a domain of its own that bounds no other, if they are few.
fn values(linearized: &LinearizedKernel, iname: InameId) -> Option<Vec<i64>> {
    let kernel = &linearized.kernel;
    let domain = &kernel[kernel[iname].domain];
    let is_free = domain.inames.len() == 1
        && domain.enclosing.is_empty()
        && domain.parameters.is_empty()
        && !kernel.domains.iter().any(|other| other.enclosing.contains(&iname));
    let points =
        is_free.then(|| Set::parse(&Context::new(), &domain.text).ok()?.points(MAX_VALUES as usize + 1).ok())??;
    let values: Vec<i64> = points.into_iter().map(|point| point[0]).collect();
    (values.len() > 1 && values.len() <= MAX_VALUES as usize).then_some(values)
}

fn reductions(linearized: &mut LinearizedKernel, short: &[Option<Vec<i64>>]) {
    rewrite(linearized, |exprs, expr| {
        let Expr::Reduce { op, inames, body } = &expr else { return exprs.intern(expr) };
        let Some((iname, values)) = inames.iter().find_map(|&i| Some((i, short[i.index()].as_ref()?))) else {
            return exprs.intern(expr);
        };
        let copies: Vec<ExprId> = values
            .iter()
            .map(|&value| {
                let rewritten = exprs.rewrite([*body], |exprs, _, expr| match expr {
                    Expr::Iname(other) if other == iname => exprs.int(value),
                    expr => exprs.intern(expr),
                });
                rewritten.get(*body)
            })
            .collect();
        let body = exprs.op(op.operator(), copies);
        let rest: Box<[InameId]> = inames.iter().copied().filter(|&other| other != iname).collect();
        if rest.is_empty() { body } else { exprs.intern(Expr::Reduce { op: *op, inames: rest, body }) }
    });
}

/// Copies loop bodies, one copy for each value of a written-out iname.
struct Copies<'a> {
    short: &'a [Option<Vec<i64>>],
    res: &'a mut LinearizedKernel,
    /// The instructions with their reductions written out, but in loops.
    originals: Vec<Instruction>,
    /// Whether no copy stands in the place of the instruction yet.
    is_free: Vec<bool>,
}

impl Copies<'_> {
    /// These nodes at fixed values of the loops around them that are gone.
    fn all(&mut self, nodes: &[LoopTree], fixed: &mut Vec<(InameId, i64)>) -> Option<Vec<LoopTree>> {
        let mut res = Vec::new();
        for node in nodes {
            match node {
                LoopTree::Loop { iname, body } => match self.short[iname.index()].clone() {
                    Some(values) => {
                        for value in values {
                            fixed.push((*iname, value));
                            res.extend(self.all(body, fixed)?);
                            fixed.pop();
                        }
                    }
                    None => res.push(LoopTree::Loop { iname: *iname, body: self.all(body, fixed)? }),
                },
                LoopTree::Branch { condition, body } => {
                    let body = self.all(body, fixed)?;
                    let condition = self.at(&[*condition], fixed)[condition];
                    res.push(LoopTree::Branch { condition, body });
                }
                LoopTree::Run(insn) => res.push(LoopTree::Run(self.copy(*insn, fixed)?)),
            }
        }
        Some(res)
    }

    fn at(&mut self, ids: &[ExprId], fixed: &[(InameId, i64)]) -> FxHashMap<ExprId, ExprId> {
        let rewritten = self.res.kernel.exprs.rewrite(ids.iter().copied(), |exprs, _, expr| match expr {
            Expr::Iname(iname) => match fixed.iter().find(|(other, _)| *other == iname) {
                Some((_, value)) => exprs.int(*value),
                None => exprs.iname(iname),
            },
            expr => exprs.intern(expr),
        });
        ids.iter().map(|&id| (id, rewritten.get(id))).collect()
    }

    fn copy(&mut self, insn: InsnId, fixed: &[(InameId, i64)]) -> Option<InsnId> {
        let whole = self.originals[insn.index()].clone();
        let own: Vec<(InameId, i64)> =
            fixed.iter().copied().filter(|(iname, _)| whole.within.contains(iname)).collect();
        let ids: Vec<ExprId> = whole.expressions().collect();
        let values = self.at(&ids, &own);
        let number = self.res.kernel.instructions.len();
        let mut copy = Instruction { id: format!("{}_copy{number}", whole.id), ..whole };
        copy.within.retain(|iname| own.iter().all(|(other, _)| other != iname));
        copy.map_expressions(|id| values[&id]);
        if std::mem::replace(&mut self.is_free[insn.index()], false) {
            copy.id = self.originals[insn.index()].id.clone();
            self.res.kernel[insn] = copy;
            return Some(insn);
        }
        if number >= MAX_STATEMENTS {
            return None;
        }
        self.res.kernel.instructions.push(copy);
        Some(InsnId::new(number))
    }
}
