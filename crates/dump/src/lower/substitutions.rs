//! Substitution rules: cycles, then bodies, those that others use first.

use nestegg_ir::SubstitutionId;
use nestegg_ir::verify::Place;

use rustc_hash::FxHashSet;

use super::cycles::{describe, successors_first};
use super::exprs::Scope;
use super::{Entity, Lowering, Rule};
use crate::error::ReadError;
use crate::syntax::NodeKind;

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn substitutions(&mut self) {
        let syntax = self.syntax;
        let rules = &syntax.substitutions;
        let used = |idx: usize| -> Vec<usize> {
            let formals: FxHashSet<&str> = rules[idx].parameters.iter().map(|formal| &*formal.text).collect();
            let mut res = Vec::new();
            for node in syntax.nodes.subtree(rules[idx].expression) {
                let name = match &syntax.nodes[node].kind {
                    NodeKind::Name(text) if !formals.contains(&**text) => text,
                    NodeKind::Apply(name) | NodeKind::Substitution(name) => &name.text,
                    _ => continue,
                };
                if let Some(&(Entity::Substitution(rule), _)) = self.names.get(&**name) {
                    res.push(rule.index());
                }
            }
            res
        };
        let (order, cycles) = successors_first(rules.len(), used);
        for cycle in &cycles {
            let name = |idx: usize| &*rules[idx].name.text;
            let (name, cycle, at) = (name(cycle[0]).to_owned(), describe(cycle, name), rules[cycle[0]].name.span);
            self.errors.push(ReadError::CyclicSubstitution { name, cycle, at });
        }
        for idx in order {
            let rule = &rules[idx];
            self.place = Place::Substitution(SubstitutionId::new(idx));
            let mut scope = Scope::rule(&rule.parameters);
            let (expression, ty) = self.expression(rule.expression, &mut scope);
            self.kernel[SubstitutionId::new(idx)].expression = expression;
            let (free, reduced) = scope.into_rule();
            self.rules[idx] = Rule { ty, free, reduced };
        }
    }
}
