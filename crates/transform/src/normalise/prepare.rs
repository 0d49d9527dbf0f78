//! What comes before resolution: substitution rules are inlined, loops that run once and conditions that always hold removed,
//! inames counted from zero, index expressions spelled alike, and no name is bound twice.
//!
//! # Output
//! A workspace in which no reduction is inside another over the same iname or inside a loop over it, and equal affine indices
//! are equal expressions.
//! # Method
//! Reductions in the bodies of rules with parameters get inames of their own first, so that inlining captures nothing of
//! the arguments. After inlining, a reduction inside one over the same iname is renamed, innermost first.

use indexmap::IndexSet;
use nestegg_ir::inline::inline_substitutions;
use nestegg_ir::linearization::conditions_mut;
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{
    Assignee, Expr, ExprId, InameId, InameSet, InstructionKind, Item, Kernel, Linearization, LinearizedKernel,
};
use rustc_hash::FxHashMap;

use crate::decided::drop_decided;
use crate::loops::from_zero;
use crate::nest::{Entry, Nest, NodeKind};
use crate::normalise::NormaliseError;
use crate::once::remove_loops_that_run_once;
use crate::workspace::Workspace;
use crate::write_out::write_out_reductions;

/// A workspace on the kernel, prepared.
pub(super) fn prepare(linearized: LinearizedKernel) -> Result<(Workspace, Linearization), NormaliseError> {
    let LinearizedKernel { kernel, mut linearization } = linearized;
    let mut kernel = inline_rules(kernel, &mut linearization)?;
    remove_loops_that_run_once(&mut kernel, &mut linearization)?;
    from_zero(&mut kernel, &mut linearization)?;
    drop_decided(&mut kernel, &mut linearization)?;
    write_out_reductions(&mut kernel, &mut linearization)?;
    let mut work = Workspace::new(kernel)?;
    tidy_expressions(&mut work, &mut linearization)?;
    separate_loops(&mut work, &linearization)?;
    close_reductions(&mut work, &mut linearization)?;
    Ok((work, linearization))
}

fn inline_rules(mut kernel: Kernel, linearization: &mut Linearization) -> Result<Kernel, NormaliseError> {
    let has_parameters = kernel.substitutions.iter().any(|rule| !rule.parameters.is_empty());
    if has_parameters && kernel.exprs.iter().any(|(_, expr)| matches!(expr, Expr::Reduce { .. })) {
        kernel = separate_rules(kernel)?;
    }
    let mut conditions = conditions_mut(linearization);
    inline_substitutions(&mut kernel, &mut conditions)?;
    Ok(kernel)
}

/// Gives the reductions in rules with parameters inames that nothing else uses.
fn separate_rules(kernel: Kernel) -> Result<Kernel, NormaliseError> {
    let mut work = Workspace::new(kernel)?;
    for rule in work.kernel.substitution_ids() {
        let body = work.kernel[rule].expression;
        let bound: Vec<InameId> = work.facts.bound(body).to_vec();
        if bound.is_empty() || work.kernel[rule].parameters.is_empty() {
            continue;
        }
        let all: InameSet = work.kernel.iname_ids().collect();
        let Some(body) = work.unbind(body, &bound, &all) else { return Err(cannot_rename(&work, bound[0])) };
        work.kernel[rule].expression = body;
    }
    Ok(work.kernel)
}

/// Spells affine indices alike, and renames reductions that are inside one over the same iname.
fn tidy_expressions(work: &mut Workspace, linearization: &mut Linearization) -> Result<(), NormaliseError> {
    let mut roots: Vec<ExprId> =
        work.kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    roots.extend(linearization.iter().filter_map(|item| match item {
        Item::If(condition) => Some(*condition),
        _ => None,
    }));
    let order = work.kernel.exprs.reachable(roots);
    let mut memo: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in order {
        let mut expr = work.kernel.exprs[id].clone();
        for child in expr.children_mut() {
            *child = memo[child];
        }
        match &mut expr {
            Expr::Access { indices, .. } => {
                for index in indices {
                    *index = work.canonical_index(*index);
                }
            }
            Expr::Reduce { inames, body, .. } => {
                let twice = inames.iter().copied().find(|&iname| work.is_bound(*body, iname));
                if let Some(iname) = twice {
                    let around: InameSet = work.facts.free(*body).iter().chain(inames.iter()).copied().collect();
                    match work.unbind(*body, inames, &around) {
                        Some(separate) => *body = separate,
                        None => return Err(cannot_rename(work, iname)),
                    }
                }
            }
            _ => {}
        }
        let res = work.intern(expr);
        memo.insert(id, res);
    }
    for insn in work.kernel.insn_ids() {
        let kind = work.kernel[insn].kind.clone();
        let assignees: &[Assignee] = match &kind {
            InstructionKind::Assignment { assignee, .. } => std::slice::from_ref(assignee),
            InstructionKind::Call { assignees, .. } => assignees,
            InstructionKind::Opaque { .. } => &[],
        };
        for index in assignees.iter().flat_map(|assignee| assignee.indices.iter()) {
            let spelled = work.canonical_index(memo[index]);
            memo.insert(*index, spelled);
        }
        work.kernel[insn].map_expressions(|id| memo[&id]);
    }
    for item in linearization {
        if let Item::If(condition) = item {
            *condition = memo[condition];
        }
    }
    Ok(())
}

/// Renames reductions over an iname of a loop around them, as rules can make them.
fn separate_loops(work: &mut Workspace, linearization: &Linearization) -> Result<(), NormaliseError> {
    let nest = Nest::new(&work.kernel, linearization)?;
    for insn in work.kernel.insn_ids() {
        let loops: Vec<InameId> = nest.loops(nest.home(insn)).collect();
        let exprs: Vec<ExprId> = work.kernel[insn].expressions().collect();
        let Some(&iname) = loops.iter().find(|&&iname| exprs.iter().any(|&expr| work.is_bound(expr, iname))) else {
            continue;
        };
        let mut around: InameSet = loops.iter().copied().collect();
        around.extend(exprs.iter().flat_map(|&expr| work.facts.bound(expr)).copied());
        let mut memo: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for expr in exprs {
            match work.unbind(expr, &loops, &around) {
                Some(separate) => memo.insert(expr, separate),
                None => return Err(cannot_rename(work, iname)),
            };
        }
        work.kernel[insn].map_expressions(|id| memo[&id]);
    }
    Ok(())
}

/// Makes the range of each reduction independent of where it stands: see [`Workspace::closed_reduction`].
fn close_reductions(work: &mut Workspace, linearization: &mut Linearization) -> Result<(), NormaliseError> {
    let is_needed = |(_, expr): (ExprId, &Expr)| matches!(expr, Expr::Reduce { inames, .. } if !inames.iter().all(|&iname| work.ranges.is_alone(iname)));
    if !work.kernel.exprs.iter().any(is_needed) {
        return Ok(());
    }
    let nest = Nest::new(&work.kernel, linearization)?;
    let mut closer = Closer::default();
    for insn in work.kernel.insn_ids() {
        let loops: InameSet = nest.loops(nest.home(insn)).collect();
        let exprs: Vec<ExprId> = work.kernel[insn].expressions().collect();
        let mut memo: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for expr in exprs {
            let closed = closer.close(work, expr, &loops)?;
            memo.insert(expr, closed);
        }
        work.kernel[insn].map_expressions(|id| memo[&id]);
    }
    for (position, entry) in nest.entries() {
        if let Entry::Begin(node) = entry
            && let NodeKind::Branch(condition) = nest[node].kind
        {
            let closed = closer.close(work, condition, &nest.loops(node).collect())?;
            linearization[position] = Item::If(closed);
        }
    }
    Ok(())
}

/// Closes the reductions of expressions, each under the inames that are open around it.
#[derive(Default)]
struct Closer {
    contexts: IndexSet<InameSet>,
    done: FxHashMap<(ExprId, usize), ExprId>,
}

impl Closer {
    fn close(&mut self, work: &mut Workspace, root: ExprId, open: &InameSet) -> Result<ExprId, NormaliseError> {
        let (outermost, _) = self.contexts.insert_full(open.clone());
        let mut walk = OperandsFirst::new((root, outermost));
        while let Some((id, context)) = walk.next_unknown(|key| self.done.contains_key(key)) {
            if work.facts.bound(id).iter().all(|&iname| work.ranges.is_alone(iname)) {
                self.done.insert((id, context), id);
                continue;
            }
            let mut expr = work.kernel.exprs[id].clone();
            let mut inner = context;
            if let Expr::Reduce { inames, .. } = &expr {
                let mut open = self.contexts[context].clone();
                open.extend(inames.iter().copied());
                (inner, _) = self.contexts.insert_full(open);
            }
            let children = expr.children().iter().map(|&child| (child, inner));
            if walk.waits_for(children, |key| self.done.contains_key(key)) {
                continue;
            }
            for child in expr.children_mut() {
                *child = self.done[&(*child, inner)];
            }
            let res = match expr {
                Expr::Reduce { op, inames, body } => {
                    let open = self.contexts[context].clone();
                    work.closed_reduction(op, &inames, body, &open).ok_or_else(|| cannot_rename(work, inames[0]))?
                }
                expr => work.intern(expr),
            };
            self.done.insert((id, context), res);
        }
        Ok(self.done[&(root, outermost)])
    }
}

fn cannot_rename(work: &Workspace, iname: InameId) -> NormaliseError {
    NormaliseError::BoundTwice { iname: work.kernel[iname].name.clone() }
}
