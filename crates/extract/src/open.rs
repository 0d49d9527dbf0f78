//! Values along loops that data end are kept for one iteration only: nobody knows how long an array of them would be.
//!
//! # Method
//! A temporary over an open iname is one number if all other loops around its uses are inside of the loop over that iname. The input's nesting says
//! which are.
//! # Not done
//! Loops that could change places.

use nestegg_ir::data_bounds::{has_open_inames, is_open};
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, InameId, InameSet, Item, Kernel, LinearizedKernel};
use rustc_hash::FxHashSet;

/// Which loops are inside of loops that data end.
#[derive(Clone, Debug, Default)]
pub struct OpenLoops {
    open: InameSet,
    /// Loops inside of open ones.
    inside: FxHashSet<(InameId, InameId)>,
    /// Loops around open ones.
    around: FxHashSet<(InameId, InameId)>,
}

impl OpenLoops {
    /// The loops of a kernel.
    #[must_use]
    pub fn of(linearized: &LinearizedKernel) -> Self {
        let LinearizedKernel { kernel, linearization } = linearized;
        let mut res = Self::default();
        if !has_open_inames(kernel) {
            return res;
        }
        res.open = kernel.iname_ids().filter(|&iname| is_open(kernel, iname)).collect();
        let mut loops: Vec<InameId> = Vec::new();
        for item in linearization {
            match *item {
                Item::For(iname) => {
                    loops.iter().for_each(|&outer| res.note(outer, iname));
                    loops.push(iname);
                }
                Item::End(_) => drop(loops.pop()),
                Item::Run(insn) => {
                    for id in below(&kernel.exprs, kernel[insn].expressions()) {
                        res.note_reduction(kernel, &kernel.exprs[id], &loops);
                    }
                }
                Item::If(_) | Item::EndIf => {}
            }
        }
        res
    }

    fn note_reduction(&mut self, kernel: &Kernel, expr: &Expr, loops: &[InameId]) {
        let Expr::Reduce { inames, body, .. } = expr else { return };
        for &iname in inames {
            loops.iter().for_each(|&outer| self.note(outer, iname));
            inames.iter().filter(|&&other| other != iname).for_each(|&other| self.note(other, iname));
            for id in below(&kernel.exprs, [*body]) {
                if let Expr::Reduce { inames: inner, .. } = &kernel.exprs[id] {
                    inner.iter().for_each(|&inner| self.note(iname, inner));
                }
            }
        }
    }

    fn note(&mut self, outer: InameId, inner: InameId) {
        if self.open.contains(outer) {
            self.inside.insert((outer, inner));
        }
        if self.open.contains(inner) {
            self.around.insert((inner, outer));
        }
    }

    /// Whether a value over its own inames that is used inside of loops over all of these would be an array along an open one.
    #[must_use]
    pub fn need_array(&self, own: &InameSet, around: &InameSet) -> bool {
        let is_inside = |open: InameId, other: InameId| {
            self.inside.contains(&(open, other)) && !self.around.contains(&(open, other))
        };
        let mut open = own.iter().filter(|&iname| self.open.contains(iname));
        open.any(|open| around.iter().any(|other| !own.contains(other) && !is_inside(open, other)))
    }
}
