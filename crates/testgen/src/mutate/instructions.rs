//! Instructions: their order, their number, and whether they store or accumulate.

use nestegg_ir::{Expr, ExprId, InsnId, InstructionKind, Item, LinearizedKernel, Number, Op};

use super::Sites;
use super::conditions::moved as moved_number;
use super::view::{View, accumulation, end_of, mentions, runs, without};

/// Neighbours that touch the same array change places: a value is read before it is written, or after it is overwritten.
pub(super) fn order(view: &View<'_>, sites: &mut Sites<'_>) {
    let items = &view.linearized.linearization;
    let is_closing = |at: usize| matches!(items.get(at), None | Some(Item::End(_) | Item::EndIf));
    for start in (0..items.len()).filter(|&start| !is_closing(start)) {
        let middle = end_of(items, start) + 1;
        if is_closing(middle) {
            continue;
        }
        let end = end_of(items, middle) + 1;
        if view.conflict(&runs(&items[start..middle]), &runs(&items[middle..end])) {
            sites.kernel(format!("what begins at items {start} and {middle} exchanged"), move |mutant| {
                mutant.linearization[start..end].rotate_left(middle - start);
            });
        }
    }
}

/// An instruction that does not name the iname of the loop right around it runs once before or after that loop.
pub(super) fn moved(view: &View<'_>, sites: &mut Sites<'_>) {
    let (kernel, items) = (view.kernel(), &view.linearized.linearization);
    let mut open: Vec<usize> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::For(_) | Item::If(_) => open.push(at),
            Item::End(_) | Item::EndIf => drop(open.pop()),
            Item::Run(insn) => {
                let (insn, Some(&start)) = (*insn, open.last()) else { continue };
                let Item::For(iname) = items[start] else { continue };
                let is_free = !matches!(kernel[insn].kind, InstructionKind::Opaque { .. })
                    && !mentions(kernel, kernel[insn].expressions(), iname);
                if !is_free {
                    continue;
                }
                let end = end_of(items, start);
                for (where_to, from, to) in [("before", at, start), ("after", at, end)] {
                    let what = format!("`{}` moved {where_to} the loop over `{}`", kernel[insn].id, kernel[iname].name);
                    sites.kernel(what, move |mutant| {
                        let item = mutant.linearization.remove(from);
                        mutant.linearization.insert(to, item);
                        mutant.kernel[insn].within.retain(|&within| within != iname);
                    });
                }
            }
        }
    }
}

/// An instruction is gone.
pub(super) fn lost(view: &View<'_>, sites: &mut Sites<'_>) {
    for insn in view.kernel().insn_ids() {
        sites.kernel(format!("`{}` lost", view.kernel()[insn].id), move |mutant| remove(mutant, insn));
    }
}

fn remove(mutant: &mut LinearizedKernel, gone: InsnId) {
    let renumbered = |insn: InsnId| if insn > gone { InsnId::new(insn.index() - 1) } else { insn };
    mutant.kernel.instructions.remove(gone.index());
    for instruction in &mut mutant.kernel.instructions {
        instruction.depends_on.retain(|&before| before != gone);
        instruction.depends_on.iter_mut().for_each(|before| *before = renumbered(*before));
    }
    mutant.linearization.retain(|item| *item != Item::Run(gone));
    for item in &mut mutant.linearization {
        if let Item::Run(insn) = item {
            *insn = renumbered(*insn);
        }
    }
}

/// An instruction runs twice in a row.
pub(super) fn doubled(view: &View<'_>, sites: &mut Sites<'_>) {
    for insn in view.kernel().insn_ids() {
        sites.kernel(format!("`{}` runs twice", view.kernel()[insn].id), move |mutant| {
            let mut again = mutant.kernel[insn].clone();
            again.id += "_again";
            again.depends_on.push(insn);
            mutant.kernel.instructions.push(again);
            let new = InsnId::new(mutant.kernel.instructions.len() - 1);
            if let Some(at) = mutant.linearization.iter().position(|item| *item == Item::Run(insn)) {
                mutant.linearization.insert(at + 1, Item::Run(new));
            }
        });
    }
}

/// What was added to an element is stored in it.
pub(super) fn accumulation_lost<'a>(view: &View<'a>, sites: &mut Sites<'a>) {
    for insn in view.kernel().insn_ids() {
        let Some((op, at, operands)) = accumulation(view.kernel(), &view.kernel()[insn]) else { continue };
        sites.kernel(format!("`{}` only stores", view.kernel()[insn].id), move |mutant| {
            let rest = without(&mut mutant.kernel, op, operands, at);
            let value = if op == Op::Sub { mutant.kernel.exprs.op(Op::Neg, [rest]) } else { rest };
            store(mutant, insn, value);
        });
    }
}

/// What was stored in an element is added to it.
pub(super) fn accumulation_added<'a>(view: &View<'a>, sites: &mut Sites<'a>) {
    let kernel = view.kernel();
    for insn in kernel.insn_ids() {
        let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { continue };
        if kernel[assignee.array].dtype == nestegg_ir::Dtype::Bool || accumulation(kernel, &kernel[insn]).is_some() {
            continue;
        }
        sites.kernel(format!("`{}` accumulates", kernel[insn].id), move |mutant| {
            let old = mutant.kernel.exprs.access(assignee.array, assignee.indices.clone());
            let sum = mutant.kernel.exprs.op(Op::Add, [old, *expression]);
            store(mutant, insn, sum);
        });
    }
}

fn store(mutant: &mut LinearizedKernel, insn: InsnId, value: ExprId) {
    if let InstructionKind::Assignment { expression, .. } = &mut mutant.kernel[insn].kind {
        *expression = value;
    }
}

/// The number that is stored by an assignment of nothing else is one more.
pub(super) fn start(view: &View<'_>, sites: &mut Sites<'_>) {
    let kernel = view.kernel();
    for insn in kernel.insn_ids() {
        let InstructionKind::Assignment { expression, .. } = &kernel[insn].kind else { continue };
        let Expr::Number(number) = kernel.exprs[*expression] else { continue };
        for other in [1, -1].into_iter().filter_map(|by| moved_number(number, by)).filter(|other| *other != number) {
            sites.kernel(format!("`{}` stores {other}, not {number}", kernel[insn].id), move |mutant| {
                let other = match other {
                    Number::Int(value) => mutant.kernel.exprs.int(value),
                    Number::Float(value) => mutant.kernel.exprs.float(value),
                };
                store(mutant, insn, other);
            });
        }
    }
}
