//! New inames that range over the values of others.
//!
//! # Method
//! Inames whose ranges bound each other, because they share a domain that is not a product, are copied together. A
//! copy's domain is the text of the original with two kinds of names replaced: the copied inames, and the inames that
//! enclose them. Copies are kept and reused, so equal values stay equal expressions.

use indexmap::IndexMap;
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{Domain, DomainId, Iname, InameId, InameSet};
use nestegg_isl as isl;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::workspace::Workspace;

/// What a copy is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Copied {
    /// Inames of one component of a domain.
    pub(crate) group: Vec<InameId>,
    /// What replaces the inames that bound them; sorted.
    pub(crate) replaced: Vec<(InameId, Affine)>,
    /// Inames that bound them and no longer do: the values are those for any value of these.
    pub(crate) projected: InameSet,
}

/// The copies made so far.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    copies: IndexMap<Copied, Vec<Vec<InameId>>, FxBuildHasher>,
    /// The iname whose values a copy has, where nothing else was replaced.
    origins: FxHashMap<InameId, InameId>,
}

impl Workspace {
    /// Inames in place of a group, none of them among `taken`. `None` if isl cannot make their domain.
    pub(crate) fn alias_group(&mut self, mut copied: Copied, taken: &InameSet) -> Option<Vec<InameId>> {
        copied.replaced.retain(|(from, to)| to.as_iname() != Some(*from));
        copied.replaced.sort_unstable();
        let is_same = copied.replaced.is_empty() && copied.projected.is_empty();
        if is_same {
            let origin = |iname: &InameId| self.aliases.origins.get(iname).copied().unwrap_or(*iname);
            copied.group = copied.group.iter().map(origin).collect();
        }
        let is_fit = |copy: &[InameId]| !copy.iter().any(|&iname| taken.contains(iname));
        if is_same && is_fit(&copied.group) {
            return Some(copied.group);
        }
        if let Some(copies) = self.aliases.copies.get(&copied)
            && let Some(known) = copies.iter().find(|copy| is_fit(copy))
        {
            return Some(known.clone());
        }
        let copy = self.copy_domain(&copied).ok()?;
        if is_same {
            self.aliases.origins.extend(copy.iter().copied().zip(copied.group.iter().copied()));
        }
        self.aliases.copies.entry(copied).or_default().push(copy.clone());
        Some(copy)
    }

    /// A new domain for copies of a group.
    fn copy_domain(&mut self, copied: &Copied) -> Result<Vec<InameId>, isl::Error> {
        let Copied { group: sources, replaced, projected } = copied;
        let old = self.kernel[self.kernel[sources[0]].domain].clone();
        let name_of = |this: &Self, iname: InameId| this.kernel[iname].name.clone();
        // What bounds the sources becomes a parameter; what does not is projected out.
        let mut outer = InameSet::new();
        for &source in sources {
            let dependencies = self.ranges.dependencies(source).difference(projected);
            outer.extend(dependencies.iter().filter(|other| !sources.contains(other)));
        }
        let kept: Vec<String> = sources
            .iter()
            .copied()
            .chain(outer.iter().filter(|other| old.inames.contains(other)))
            .map(|iname| name_of(self, iname))
            .collect();
        let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
        let set = isl::Set::parse(self.domains.context(), &old.text)?.set_tuple_name(None)?.project_onto(&kept)?;
        let mut set = set.dims_to_params()?;
        // A copy has inames of other domains as parameters.
        let known = set.param_names()?;
        let gone: Vec<String> = projected.iter().map(|iname| name_of(self, iname)).collect();
        let gone: Vec<&str> =
            gone.iter().map(String::as_str).filter(|name| known.iter().any(|known| known == name)).collect();
        if !gone.is_empty() {
            set = set.params_to_dims(&gone)?.project_out(&gone)?.params()?;
        }
        // Through names that nothing has, so that names can change places.
        let names: Vec<String> = sources.iter().map(|&source| self.fresh_name(source)).collect();
        for (&source, name) in sources.iter().zip(&names) {
            set = set.rename_dim(&name_of(self, source), name)?;
        }
        let moved: Vec<&(InameId, Affine)> = replaced.iter().filter(|(from, _)| outer.contains(*from)).collect();
        let stand_in = |idx: usize| format!("replaced__{idx}");
        for (idx, (from, _)) in moved.iter().enumerate() {
            set = set.rename_dim(&name_of(self, *from), &stand_in(idx))?;
        }
        for (idx, (_, value)) in moved.iter().enumerate() {
            let value = self.isl_affine(value)?;
            let new: Vec<&str> = value.names();
            let known = set.param_names()?;
            let new: Vec<&str> = new.into_iter().filter(|name| !known.iter().any(|known| known == name)).collect();
            let equal = isl::Constraint::equality(isl::Affine::var(&stand_in(idx)).sub(&value)?);
            let name = stand_in(idx);
            set = set.with_params(&new)?.constrain(&[equal])?.params_to_dims(&[&name])?.project_out(&[&name])?;
            set = set.params()?;
        }
        let dims: Vec<&str> = names.iter().map(String::as_str).collect();
        let set = set.params_to_dims(&dims)?;
        let params = set.param_names()?;
        let mut unused = Vec::new();
        for param in &params {
            if !set.involves(param)? {
                unused.push((param.as_str(), 0));
            }
        }
        let set = set.fix_params(&unused)?;
        let params = set.param_names()?;
        let after = |iname: InameId| -> InameSet {
            match moved.iter().find(|(from, _)| *from == iname) {
                Some((_, value)) => value.inames().collect(),
                None => std::iter::once(iname).collect(),
            }
        };
        let enclosing: InameSet = outer.iter().flat_map(|iname| after(iname).as_slice().to_vec()).collect();
        let enclosing: Vec<InameId> =
            enclosing.iter().filter(|&iname| params.contains(&self.kernel[iname].name)).collect();
        let parameters = self.kernel.parameter_ids();
        let parameters = parameters.filter(|&parameter| params.contains(&self.kernel[parameter].name)).collect();
        let first = self.kernel.inames.len();
        let copy: Vec<InameId> = (0..sources.len()).map(|offset| InameId::new(first + offset)).collect();
        let domain = DomainId::new(self.kernel.domains.len());
        for (&source, name) in sources.iter().zip(names) {
            let tags = self.kernel[source].tags.clone();
            self.kernel.inames.push(Iname { name: name.clone(), tags, domain });
            self.names.insert(name);
            let dependencies = self.ranges.dependencies(source).difference(projected);
            let dependencies =
                dependencies.iter().flat_map(|other| match sources.iter().position(|&source| source == other) {
                    Some(idx) => vec![copy[idx]],
                    None => after(other).as_slice().to_vec(),
                });
            let dependencies: InameSet = dependencies.collect();
            let is_alone = sources.len() == 1;
            let component = if is_alone {
                std::iter::once(InameId::new(self.kernel.inames.len() - 1)).collect()
            } else {
                copy.iter().copied().collect()
            };
            self.ranges.push_copy(source, dependencies, component);
        }
        self.kernel.domains.push(Domain { text: set.to_string(), inames: copy.clone(), enclosing, parameters });
        Ok(copy)
    }

    /// An affine function with the names that isl knows inames and parameters by.
    fn isl_affine(&self, affine: &Affine) -> Result<isl::Affine, isl::Error> {
        let name = |var: Var| match var {
            Var::Iname(iname) => self.kernel[iname].name.clone(),
            Var::Parameter(parameter) => self.kernel[parameter].name.clone(),
        };
        isl::Affine::new(affine.constant, affine.terms.iter().map(|&(var, coefficient)| (name(var), coefficient)))
    }

    /// `q_1`, `q_2`, … for `q`: the first that nothing is called. The caller registers it.
    fn fresh_name(&self, source: InameId) -> String {
        let origin = self.aliases.origins.get(&source).copied().unwrap_or(source);
        let base = &self.kernel[origin].name;
        let mut n = 1_usize;
        loop {
            let name = format!("{base}_{n}");
            if !self.names.contains(&name) {
                return name;
            }
            n += 1;
        }
    }
}
