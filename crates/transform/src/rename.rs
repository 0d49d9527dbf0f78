//! Substitution of inames in expressions, without capture.
//!
//! # Input
//! An expression; values for free inames; names that reductions in the result must not bind.
//! # Output
//! The expression at those values, as an expression of the same kernel. Where a reduction binds a name that must not be bound, or that
//! occurs in one of the values, it is made to range over a new iname of the same values, called `q_1`, `q_2`, ….
//! # Method
//! No expression here holds a name both free and bound, nor a reduction inside one over the same iname, so
//! one map from inames to expressions serves for both. Results are kept for each (map, expression).
//! # Complexity
//! Linear in the part of the DAG in which an iname of the map occurs.

use indexmap::IndexSet;
use nestegg_ir::affine::{self, Affine};
use nestegg_ir::{Domain, DomainId, Expr, ExprId, Iname, InameId, InameSet, Kernel};
use nestegg_isl as isl;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::coerce::has_two_float_types;
use crate::facts::Facts;
use crate::ranges::Ranges;

/// Which expression stands for which iname; sorted.
type Map = Vec<(InameId, ExprId)>;

/// A kernel whose expressions and inames grow, with facts on them.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) kernel: Kernel,
    pub(crate) facts: Facts,
    pub(crate) ranges: Ranges,
    /// Whether floats of two sizes can meet.
    pub(crate) has_two_float_types: bool,
    context: isl::Context,
    names: FxHashSet<String>,
    /// For each iname those that range over the same values, itself first; empty for those made here.
    aliases: Vec<Vec<InameId>>,
    /// For each iname the one after which it is named.
    origins: Vec<InameId>,
    maps: IndexSet<Map, FxBuildHasher>,
    done: FxHashMap<(usize, ExprId), ExprId>,
}

impl Workspace {
    /// A workspace on a kernel.
    pub(crate) fn new(kernel: Kernel, ranges: Ranges, context: &isl::Context) -> Self {
        let facts = Facts::new(&kernel, &ranges);
        let has_two_float_types = has_two_float_types(&kernel);
        let names = kernel.inames.iter().map(|iname| &iname.name);
        let names = names.chain(kernel.arrays.iter().map(|array| &array.name));
        let names = names.chain(kernel.parameters.iter().map(|parameter| &parameter.name));
        let names = names.chain(&kernel.functions).chain(kernel.substitutions.iter().map(|rule| &rule.name));
        let names = names.cloned().collect();
        let aliases = kernel.iname_ids().map(|iname| vec![iname]).collect();
        let origins = kernel.iname_ids().collect();
        Self {
            kernel,
            facts,
            ranges,
            has_two_float_types,
            context: context.clone(),
            names,
            aliases,
            origins,
            maps: IndexSet::default(),
            done: FxHashMap::default(),
        }
    }

    /// Stores an expression and its facts.
    pub(crate) fn intern(&mut self, expr: Expr) -> ExprId {
        let id = self.kernel.exprs.intern(expr);
        self.facts.extend(&self.kernel, &self.ranges);
        id
    }

    /// An affine function as an expression.
    pub(crate) fn affine(&mut self, affine: &Affine) -> ExprId {
        let id = affine.to_expr(&mut self.kernel.exprs);
        self.facts.extend(&self.kernel, &self.ranges);
        id
    }

    /// `expr` with `values` for free inames, binding none of `forbidden`. `None` if that needs a domain that
    /// cannot be renamed.
    pub(crate) fn instantiate(
        &mut self,
        expr: ExprId,
        values: &[(InameId, ExprId)],
        forbidden: &InameSet,
    ) -> Option<ExprId> {
        let free = self.facts.free(expr);
        let mut map: Map = values
            .iter()
            .copied()
            .filter(|&(iname, value)| {
                free.binary_search(&iname).is_ok() && self.kernel.exprs[value] != Expr::Iname(iname)
            })
            .collect();
        let bound = self.facts.bound(expr);
        let must_rename = |iname: InameId| {
            forbidden.contains(iname)
                || map.iter().any(|&(_, value)| {
                    self.facts.free(value).binary_search(&iname).is_ok()
                        || self.facts.bound(value).binary_search(&iname).is_ok()
                })
        };
        let renamed: Vec<InameId> = bound.iter().copied().filter(|&iname| must_rename(iname)).collect();
        // The range of a bound iname that depends on an iname of the map would have to change along.
        let is_touched = |iname: InameId| {
            let dependencies = self.ranges.dependencies(iname);
            dependencies.iter().any(|outer| map.iter().any(|&(iname, _)| iname == outer) || renamed.contains(&outer))
        };
        if bound.iter().any(|&iname| is_touched(iname)) {
            return None;
        }
        let mut taken: InameSet = forbidden.clone();
        taken.extend(free.iter().chain(bound).copied());
        for &(_, value) in &map {
            taken.extend(self.facts.free(value).iter().chain(self.facts.bound(value)).copied());
        }
        for iname in renamed {
            let alias = self.alias(iname, &taken)?;
            taken.insert(alias);
            map.push((iname, self.intern(Expr::Iname(alias))));
        }
        map.sort_unstable();
        Some(self.substitute(expr, map))
    }

    /// `expr` with the inames of the map replaced, bound ones too.
    fn substitute(&mut self, root: ExprId, map: Map) -> ExprId {
        if map.is_empty() {
            return root;
        }
        let (map_idx, _) = self.maps.insert_full(map.clone());
        let is_plain = map.iter().all(|&(_, value)| matches!(self.kernel.exprs[value], Expr::Iname(_)));
        let value_of = |iname: InameId| map.binary_search_by_key(&iname, |entry| entry.0).ok().map(|idx| map[idx].1);
        let mut pending = vec![root];
        while let Some(&id) = pending.last() {
            if self.done.contains_key(&(map_idx, id)) {
                pending.pop();
                continue;
            }
            let mut names = self.facts.free(id).iter().chain(self.facts.bound(id));
            if !names.any(|&iname| value_of(iname).is_some()) {
                self.done.insert((map_idx, id), id);
                pending.pop();
                continue;
            }
            let mut expr = self.kernel.exprs[id].clone();
            let n_pending = pending.len();
            pending.extend(expr.children().iter().filter(|&&child| !self.done.contains_key(&(map_idx, child))));
            if pending.len() > n_pending {
                continue;
            }
            pending.pop();
            for child in expr.children_mut() {
                *child = self.done[&(map_idx, *child)];
            }
            let res = match expr {
                Expr::Iname(iname) => value_of(iname).unwrap_or(id),
                Expr::Reduce { op, mut inames, body } => {
                    for iname in &mut inames {
                        if let Some(value) = value_of(*iname) {
                            let Expr::Iname(alias) = self.kernel.exprs[value] else {
                                unreachable!("bound inames are mapped to inames")
                            };
                            *iname = alias;
                        }
                    }
                    self.intern(Expr::Reduce { op, inames, body })
                }
                Expr::Access { array, mut indices } if !is_plain => {
                    // `x + 8` at `x = y - 1` is spelled `y + 7`, as it would be elsewhere.
                    for index in &mut indices {
                        if let Some(affine) = affine::of(&self.kernel.exprs, *index) {
                            *index = self.affine(&affine);
                        }
                    }
                    self.intern(Expr::Access { array, indices })
                }
                expr => self.intern(expr),
            };
            self.done.insert((map_idx, id), res);
        }
        self.done[&(map_idx, root)]
    }

    /// `expr` with a free iname renamed; reductions over the old name inside are left as they are.
    pub(crate) fn rename_free(&mut self, expr: ExprId, from: InameId, to: InameId) -> ExprId {
        let value = self.intern(Expr::Iname(to));
        let mut done: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut pending = vec![expr];
        while let Some(&id) = pending.last() {
            if done.contains_key(&id) {
                pending.pop();
                continue;
            }
            if self.facts.free(id).binary_search(&from).is_err() {
                done.insert(id, id);
                continue;
            }
            let mut expr = self.kernel.exprs[id].clone();
            let n_pending = pending.len();
            pending.extend(expr.children().iter().filter(|child| !done.contains_key(child)));
            if pending.len() > n_pending {
                continue;
            }
            for child in expr.children_mut() {
                *child = done[child];
            }
            let res = if expr == Expr::Iname(from) { value } else { self.intern(expr) };
            done.insert(id, res);
        }
        done[&expr]
    }

    /// An iname of the same values as `iname` that is not among `taken`.
    pub(crate) fn alias(&mut self, iname: InameId, taken: &InameSet) -> Option<InameId> {
        let origin = self.origins[iname.index()];
        if let Some(&known) = self.aliases[origin.index()].iter().find(|&&alias| !taken.contains(alias)) {
            return Some(known);
        }
        let base = self.kernel[origin].name.clone();
        let name = (1..).map(|n| format!("{base}_{n}")).find(|name| !self.names.contains(name))?;
        let source = &self.kernel[origin];
        let domain = &self.kernel[source.domain];
        let set = isl::Set::parse(&self.context, &domain.text).ok()?;
        let set = set.set_tuple_name(None).ok()?.project_onto(&[base.as_str()]).ok()?;
        let set = set.rename_dim(&base, &name).ok()?;
        let names = set.param_names().ok()?;
        let unused = names.iter().filter(|name| !set.involves(name).unwrap_or(true));
        let unused: Vec<(&str, i64)> = unused.map(|name| (name.as_str(), 0)).collect();
        let set = set.fix_params(&unused).ok()?;
        let parameters = set.param_names().ok()?;
        let dependencies = self.ranges.dependencies(origin).clone();
        if dependencies.iter().any(|outer| domain.inames.contains(&outer)) {
            return None;
        }
        let res = InameId::new(self.kernel.inames.len());
        let tags = source.tags.clone();
        let new_domain = Domain {
            text: set.to_string(),
            inames: vec![res],
            enclosing: domain.enclosing.iter().copied().filter(|&outer| dependencies.contains(outer)).collect(),
            parameters: domain
                .parameters
                .iter()
                .copied()
                .filter(|&parameter| parameters.contains(&self.kernel[parameter].name))
                .collect(),
        };
        self.kernel.domains.push(new_domain);
        let domain = DomainId::new(self.kernel.domains.len() - 1);
        self.kernel.inames.push(Iname { name: name.clone(), tags, domain });
        self.names.insert(name);
        self.ranges.push_copy(origin, dependencies);
        self.aliases.push(Vec::new());
        self.origins.push(origin);
        self.aliases[origin.index()].push(res);
        Some(res)
    }
}
