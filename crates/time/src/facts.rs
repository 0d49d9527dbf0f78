//! What the value of an expression depends on: inames, and arrays that the kernel writes.
//!
//! Scalars that are assigned once are what they are assigned, as compilers see them: their facts are those of the value.

use std::collections::BTreeSet;

use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{ArrayId, Expr, ExprId, InameSet, Kernel};
use rustc_hash::FxHashMap;

/// What a value depends on.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) inames: InameSet,
    /// Arrays that instructions write.
    pub(crate) arrays: BTreeSet<ArrayId>,
    /// Whether it is known as soon as its inames are: made of literals and tables.
    pub(crate) is_constant: bool,
}

impl Facts {
    fn add(&mut self, other: &Self) {
        self.inames = self.inames.union(&other.inames);
        self.arrays.extend(&other.arrays);
        self.is_constant &= other.is_constant;
    }
}

/// The facts of expressions, found in the order in which instructions run.
#[derive(Debug)]
pub(crate) struct AllFacts {
    known: FxHashMap<ExprId, Facts>,
    /// Scalars that are assigned once, with what their values depend on.
    scalars: FxHashMap<ArrayId, Facts>,
    written: Vec<bool>,
}

impl AllFacts {
    pub(crate) fn new(kernel: &Kernel) -> Self {
        Self { known: FxHashMap::default(), scalars: FxHashMap::default(), written: kernel.written() }
    }

    /// A scalar is from now on what it is assigned.
    pub(crate) fn assign(&mut self, scalar: ArrayId, value: ExprId) {
        if let Some(facts) = self.known.get(&value) {
            self.scalars.insert(scalar, facts.clone());
        }
    }

    /// The facts of an expression.
    pub(crate) fn of(&mut self, kernel: &Kernel, root: ExprId) -> &Facts {
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| self.known.contains_key(id)) {
            let expr = &kernel.exprs[id];
            if walk.waits_for(expr.children().iter().copied(), |child| self.known.contains_key(child)) {
                continue;
            }
            let mut facts = Facts { inames: InameSet::new(), arrays: BTreeSet::new(), is_constant: true };
            expr.children().iter().for_each(|child| facts.add(&self.known[child]));
            match expr {
                Expr::Iname(iname) => _ = facts.inames.insert(*iname),
                Expr::Access { array, .. } => match self.scalars.get(array) {
                    Some(of_value) => facts.add(of_value),
                    None => {
                        facts.is_constant &= kernel[*array].table().is_some();
                        if self.written[array.index()] {
                            facts.arrays.insert(*array);
                        }
                    }
                },
                Expr::Reduce { inames, .. } => inames.iter().for_each(|iname| _ = facts.inames.remove(*iname)),
                Expr::Parameter(_) | Expr::Formal(_) => facts.is_constant = false,
                _ => {}
            }
            self.known.insert(id, facts);
        }
        &self.known[&root]
    }
}
