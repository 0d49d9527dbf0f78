//! Substitution rules: made where they are first used, used again where they still mean something.

use nestegg_ir::{Dtype, Expr, ExprId, InameSet, Substitution, SubstitutionId};

use crate::builder::{Builder, RuleInfo};
use crate::hazards::Use;

impl Builder<'_> {
    /// The application of a rule, old or new.
    pub(crate) fn substitution(&mut self, depth: u32) -> Option<ExprId> {
        let n = self.rules.len();
        if n > 0 && !self.chance(30) {
            let rule = SubstitutionId::new(n - 1 - self.position(n.min(6)));
            if self.is_applicable(rule) {
                for (array, indices) in self.rules[rule.index()].reads.clone() {
                    self.record(array, &indices, Use::Read);
                    self.reads.push((array, indices));
                }
                return Some(self.apply(rule, depth));
            }
        }
        let rule = self.new_rule(depth);
        Some(self.apply(rule, depth))
    }

    fn apply(&mut self, rule: SubstitutionId, depth: u32) -> ExprId {
        let n = self.kernel[rule].parameters.len();
        let arguments = (0..n).map(|_| self.float_argument(depth.saturating_sub(1))).collect();
        self.kernel.exprs.intern(Expr::Substitution { rule, arguments })
    }

    /// A value that is a float by itself, so that the rule's body has the same type wherever it is used.
    fn float_argument(&mut self, depth: u32) -> ExprId {
        let operand = self.float(depth);
        let has_dtype = matches!(&self.kernel.exprs[operand], Expr::Access { array, .. } if self.kernel[*array].dtype == Dtype::Float64);
        if has_dtype { operand } else { self.kernel.exprs.intern(Expr::Cast { dtype: Dtype::Float64, operand }) }
    }

    fn is_applicable(&self, rule: SubstitutionId) -> bool {
        let info = &self.rules[rule.index()];
        info.free.iter().all(|iname| self.has_value(iname))
            && !info.reduced.iter().any(|iname| self.has_value(iname))
            && info
                .reads
                .iter()
                .all(|(array, indices)| self.is_defined(*array, indices) && self.admits(*array, indices, Use::Read))
    }

    /// A new rule. Its body stands outside of all reductions and guards, so that it may be used outside of them too.
    fn new_rule(&mut self, depth: u32) -> SubstitutionId {
        let n_formals = self.below(3) as u32;
        let pool = std::mem::take(&mut self.pool);
        let facts = std::mem::take(&mut self.facts);
        let bound = std::mem::take(&mut self.bound);
        let outer_formals = std::mem::replace(&mut self.n_formals, n_formals);
        let outer_reads = std::mem::take(&mut self.reads);
        let expression = self.rule_body(&bound, depth);
        let reads = std::mem::replace(&mut self.reads, outer_reads);
        self.reads.extend(reads.iter().cloned());
        self.n_formals = outer_formals;
        self.bound = bound;
        self.facts = facts;
        self.pool = pool;
        let (free, reduced) = self.inames_of(expression);
        let rule = SubstitutionId::new(self.rules.len());
        let parameters = (0..n_formals).map(|idx| ["x", "y", "z"][idx as usize].to_owned()).collect();
        self.kernel.substitutions.push(Substitution { name: format!("f{}", rule.index()), parameters, expression });
        self.rules.push(RuleInfo { free, reduced, reads });
        rule
    }

    /// A body in which no reduction is over an iname that has a value where the rule is used first.
    fn rule_body(&mut self, hidden: &[nestegg_ir::InameId], depth: u32) -> ExprId {
        let body = self.float(depth.saturating_sub(1).max(1));
        let (_, reduced) = self.inames_of(body);
        if hidden.iter().any(|&iname| reduced.contains(iname)) { self.float_literal() } else { body }
    }

    /// The inames that are free in an expression, and those that reductions in it bind.
    pub(crate) fn inames_of(&self, root: ExprId) -> (InameSet, InameSet) {
        let exprs = &self.kernel.exprs;
        let order = exprs.reachable([root]);
        let mut free: rustc_hash::FxHashMap<ExprId, InameSet> = rustc_hash::FxHashMap::default();
        let mut reduced = InameSet::new();
        for &id in &order {
            let mut own = exprs[id].children().iter().fold(InameSet::new(), |set, child| set.union(&free[child]));
            match &exprs[id] {
                Expr::Iname(iname) => {
                    own.insert(*iname);
                }
                Expr::Reduce { inames, .. } => {
                    let inames: InameSet = inames.iter().copied().collect();
                    own = own.difference(&inames);
                    // The bounds of a reduction may need outer inames.
                    let outers = inames.iter().flat_map(|iname| self.ranges[iname.index()].outers());
                    own.extend(outers.filter(|outer| !inames.contains(*outer)).collect::<Vec<_>>());
                    reduced = reduced.union(&inames);
                }
                Expr::Substitution { rule, .. } => {
                    own = own.union(&self.rules[rule.index()].free);
                    reduced = reduced.union(&self.rules[rule.index()].reduced);
                }
                _ => {}
            }
            free.insert(id, own);
        }
        (free.remove(&root).unwrap_or_default(), reduced)
    }
}
