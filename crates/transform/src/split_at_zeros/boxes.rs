//! The intervals of inames, and new inames for parts of them.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{Domain, DomainId, Iname, InameId, InameSet, InameTag, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

/// Values from the first to before the second.
pub(crate) type Interval = (i64, i64);

/// What is known of the values of inames.
#[derive(Debug)]
pub(crate) struct Boxes {
    /// For each iname an interval around its values, if they are bounded by constants.
    bounds: Vec<Option<Interval>>,
    /// For each iname whether its values are exactly its interval, whatever those of others are, and it may be cut.
    is_cuttable: Vec<bool>,
    /// New inames by the iname that they are a part of and their values.
    parts: FxHashMap<(InameId, Interval), InameId>,
    n_parts: FxHashMap<InameId, usize>,
    names: FxHashSet<String>,
}

impl Boxes {
    /// Reads the domains of a kernel.
    pub(crate) fn new(kernel: &Kernel, domains: &Domains) -> Result<Self, DomainError> {
        let mut res = Self {
            bounds: Vec::with_capacity(kernel.inames.len()),
            is_cuttable: vec![false; kernel.inames.len()],
            parts: FxHashMap::default(),
            n_parts: FxHashMap::default(),
            names: names(kernel),
        };
        for iname in kernel.iname_ids() {
            let name = kernel[iname].name.as_str();
            let own = domains.of(&InameSet::from_iter([iname]))?;
            // A value beyond 64 bits is as good as none.
            let bounds = (own.dim_min_val(name).ok().flatten(), own.dim_max_val(name).ok().flatten());
            res.bounds.push(match bounds {
                (Some(least), Some(greatest)) => greatest.checked_add(1).map(|end| (least, end)),
                _ => None,
            });
        }
        for domain in kernel.domain_ids() {
            let Domain { inames, enclosing, parameters, .. } = &kernel[domain];
            if enclosing.is_empty() && parameters.is_empty() && domains.set(domain).set_tuple_name(None)?.is_box()? {
                inames.iter().for_each(|iname| res.is_cuttable[iname.index()] = true);
            }
        }
        for outer in kernel.domains.iter().flat_map(|domain| &domain.enclosing) {
            res.is_cuttable[outer.index()] = false;
        }
        for iname in kernel.iname_ids() {
            res.is_cuttable[iname.index()] &= !kernel.is_sequential(iname);
        }
        Ok(res)
    }

    /// The values of an iname that may be cut.
    pub(crate) fn cuttable(&self, iname: InameId) -> Option<Interval> {
        self.bounds[iname.index()].filter(|_| self.is_cuttable[iname.index()])
    }

    /// An interval around the values of an affine function; `None` if it is not known.
    pub(crate) fn interval(&self, affine: &Affine) -> Option<Interval> {
        let (mut least, mut greatest) = (affine.constant, affine.constant);
        for &(var, coefficient) in &affine.terms {
            let Var::Iname(iname) = var else { return None };
            let (start, end) = self.bounds[iname.index()]?;
            let (a, b) = (start.checked_mul(coefficient)?, (end - 1).checked_mul(coefficient)?);
            least = least.checked_add(a.min(b))?;
            greatest = greatest.checked_add(a.max(b))?;
        }
        Some((least, greatest.checked_add(1)?))
    }

    /// The iname for a part of another; made if it is new.
    pub(crate) fn part(&mut self, kernel: &mut Kernel, iname: InameId, interval: Interval) -> InameId {
        if let Some(&known) = self.parts.get(&(iname, interval)) {
            return known;
        }
        let n_parts = self.n_parts.entry(iname).or_default();
        let name = loop {
            let name = format!("{}_{n_parts}", kernel[iname].name);
            *n_parts += 1;
            if self.names.insert(name.clone()) {
                break name;
            }
        };
        let (id, domain) = (InameId::new(kernel.inames.len()), DomainId::new(kernel.domains.len()));
        kernel.domains.push(interval_domain(&name, id, interval));
        let tags: Vec<InameTag> = kernel[iname].tags.clone();
        kernel.inames.push(Iname { name, tags, domain });
        self.bounds.push(Some(interval));
        self.is_cuttable.push(false);
        self.parts.insert((iname, interval), id);
        id
    }

    /// Gives each iname of the domains from which parts were taken a domain of its own.
    pub(crate) fn separate(&self, kernel: &mut Kernel) {
        for domain in kernel.domain_ids() {
            let inames = kernel[domain].inames.clone();
            if inames.len() == 1 || !inames.iter().any(|iname| self.n_parts.contains_key(iname)) {
                continue;
            }
            let intervals: Option<Vec<Interval>> = inames.iter().map(|iname| self.bounds[iname.index()]).collect();
            // A box whose inames were cut has bounds in every dimension.
            let Some(intervals) = intervals else { continue };
            for (idx, (&iname, &interval)) in inames.iter().zip(&intervals).enumerate() {
                let own = interval_domain(&kernel[iname].name, iname, interval);
                if idx == 0 {
                    kernel[domain] = own;
                } else {
                    kernel.domains.push(own);
                    kernel[iname].domain = DomainId::new(kernel.domains.len() - 1);
                }
            }
        }
    }
}

fn interval_domain(name: &str, iname: InameId, (start, end): Interval) -> Domain {
    let text = format!("{{ [{name}] : {start} <= {name} < {end} }}");
    Domain { text, inames: vec![iname], enclosing: Vec::new(), parameters: Vec::new() }
}

/// Names that a new iname must not have.
fn names(kernel: &Kernel) -> FxHashSet<String> {
    let names = kernel.inames.iter().map(|iname| &iname.name);
    let names = names.chain(kernel.arrays.iter().map(|array| &array.name));
    let names = names.chain(kernel.parameters.iter().map(|parameter| &parameter.name));
    names.chain(kernel.substitutions.iter().map(|rule| &rule.name)).chain(&kernel.functions).cloned().collect()
}
