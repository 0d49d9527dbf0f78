//! Looking names up.

use nestegg_ir::{ArrayId, InameId, InameSet};

use super::names::wrong_kind;
use super::{Entity, Lowering};
use crate::error::ReadError;
use crate::syntax::Name;

impl<'k, 's> Lowering<'k, 's> {
    /// What a name stands for; reports unknown ones.
    pub(super) fn entity(&mut self, name: &Name<'_>) -> Option<Entity> {
        if let Some(&(entity, _)) = self.names.get(&*name.text) {
            return Some(entity);
        }
        self.report_unknown(name);
        None
    }

    /// Reports a name that nothing defines, at the first of its uses that is looked at.
    pub(super) fn report_unknown(&mut self, name: &Name<'_>) {
        // What could not be read may define it.
        if self.has_all_names && self.unknown.insert(name.text.to_string()) {
            let help = self.suggest(&name.text, |_| true);
            let text = crate::json::shortened(&name.text);
            self.errors.push(ReadError::UnknownName { name: text, at: name.span, help });
        }
    }

    pub(super) fn suggest(&mut self, name: &str, of_kind: impl Fn(Entity) -> bool) -> Option<String> {
        if !self.errors.may_suggest() {
            return None;
        }
        let mut known: Vec<&str> =
            self.names.iter().filter(|(_, (entity, _))| of_kind(*entity)).map(|(name, _)| *name).collect();
        known.sort_unstable();
        self.errors.suggest(name, known)
    }

    /// The iname of that name.
    pub(super) fn iname(&mut self, name: &Name<'_>) -> Option<InameId> {
        match self.names.get(&*name.text) {
            Some(&(Entity::Iname(iname), _)) => Some(iname),
            Some(&(other, _)) => {
                self.errors.push(wrong_kind(name, other, "an iname"));
                None
            }
            None => {
                if self.has_all_names {
                    let help = self.suggest(&name.text, |entity| matches!(entity, Entity::Iname(_)));
                    let text = crate::json::shortened(&name.text);
                    self.errors.push(ReadError::InameWithoutDomain { name: text, at: name.span, help });
                }
                None
            }
        }
    }

    /// A list of distinct inames, in the order written; says whether all of them are known.
    pub(super) fn inames(&mut self, names: &[Name<'_>]) -> (Vec<InameId>, bool) {
        let mut res = Vec::with_capacity(names.len());
        let mut seen = InameSet::new();
        for name in names {
            let Some(iname) = self.iname(name) else { continue };
            if seen.insert(iname) {
                res.push(iname);
            } else {
                self.errors.push(ReadError::RepeatedName { name: name.text.to_string(), at: name.span });
            }
        }
        let is_complete = res.len() == names.len();
        (res, is_complete)
    }

    /// The array of that name.
    pub(super) fn array(&mut self, name: &Name<'_>) -> Option<ArrayId> {
        match self.entity(name)? {
            Entity::Array(array) => Some(array),
            other => {
                self.errors.push(wrong_kind(name, other, "an array"));
                None
            }
        }
    }

    /// Reports the enclosing inames of `iname` that have no value.
    pub(super) fn check_enclosing(&mut self, iname: InameId, name: &Name<'_>, has_value: impl Fn(InameId) -> bool) {
        let domain = self.kernel[iname].domain;
        for outer in self.kernel[domain].enclosing.clone() {
            if !has_value(outer) {
                self.errors.push(ReadError::EnclosingInameMissing {
                    name: name.text.to_string(),
                    outer: self.kernel[outer].name.clone(),
                    at: name.span,
                });
            }
        }
    }
}
