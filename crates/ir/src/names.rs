//! Names that nothing else in a kernel has, and inames that get one.
//!
//! # Output
//! Names are fresh among instructions, inames, arrays, parameters, substitution rules and functions, so that one pool serves all of them. They come in a fixed order.

use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::domains::{DomainError, Domains};
use crate::{Array, ArrayId, ArrayKind, Domain, DomainId, Dtype, ExprId, Iname, InameId, InameTag, Kernel};

/// Names that are in use.
#[derive(Debug)]
pub struct Names {
    used: FxHashSet<String>,
    next: FxHashMap<String, usize>,
}

impl Names {
    /// The names of a kernel.
    #[must_use]
    pub fn new(kernel: &Kernel) -> Self {
        Self { used: names_of(kernel), next: FxHashMap::default() }
    }

    /// `name` itself if it is free, else a name that begins with it.
    pub fn new_name_like(&mut self, name: &str) -> String {
        if self.used.insert(name.to_owned()) { name.to_owned() } else { self.new_name(name) }
    }

    /// A name that begins with `stem`.
    pub fn new_name(&mut self, stem: &str) -> String {
        loop {
            let next = self.next.entry(stem.to_owned()).or_default();
            let name = format!("{stem}_{next}");
            *next += 1;
            if self.used.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// All names in a kernel, and its own.
pub(crate) fn names_of(kernel: &Kernel) -> FxHashSet<String> {
    let names = kernel.instructions.iter().map(|instruction| &instruction.id);
    let names = names.chain(kernel.inames.iter().map(|iname| &iname.name));
    let names = names.chain(kernel.arrays.iter().map(|array| &array.name));
    let names = names.chain(kernel.parameters.iter().map(|parameter| &parameter.name));
    let names = names.chain(kernel.substitutions.iter().map(|rule| &rule.name));
    names.chain(&kernel.functions).chain([&kernel.name]).cloned().collect()
}

/// A new temporary without axes.
pub fn add_scalar(kernel: &mut Kernel, name: String, dtype: Dtype) -> ArrayId {
    add_temporary(kernel, name, dtype, Vec::new())
}

/// A new temporary with one axis of so many elements.
pub fn add_row(kernel: &mut Kernel, name: String, dtype: Dtype, n_elements: i64) -> ArrayId {
    let extent = kernel.exprs.int(n_elements);
    add_temporary(kernel, name, dtype, vec![extent])
}

fn add_temporary(kernel: &mut Kernel, name: String, dtype: Dtype, shape: Vec<ExprId>) -> ArrayId {
    kernel.arrays.push(Array { name, dtype, stored: None, shape, kind: ArrayKind::Temporary });
    ArrayId::new(kernel.arrays.len() - 1)
}

/// New inames in one domain, named after others; `condition` is the condition of the domain for their names.
pub fn add_inames(
    kernel: &mut Kernel,
    names: &mut Names,
    after: &[InameId],
    condition: impl Fn(&[String]) -> String,
) -> Vec<InameId> {
    let text = |names: &[String]| Some(format!("{{ [{}] : {} }}", names.join(", "), condition(names)));
    add_inames_in(kernel, names, after, text).unwrap_or_default()
}

/// New inames in one domain, named after others; `text` is the domain for their names. `None` if there is no such text.
pub fn add_inames_in(
    kernel: &mut Kernel,
    names: &mut Names,
    after: &[InameId],
    text: impl Fn(&[String]) -> Option<String>,
) -> Option<Vec<InameId>> {
    let new: Vec<String> = after.iter().map(|&iname| names.new_name(&kernel[iname].name)).collect();
    let domain = DomainId::new(kernel.domains.len());
    let inames: Vec<InameId> = (0..new.len()).map(|idx| InameId::new(kernel.inames.len() + idx)).collect();
    let text = text(&new)?;
    kernel.domains.push(Domain { text, inames: inames.clone(), enclosing: Vec::new(), parameters: Vec::new() });
    kernel.inames.extend(new.into_iter().map(|name| Iname { name, tags: Vec::new(), domain }));
    Some(inames)
}

/// A new iname with values in a range, both ends included, named after another.
pub fn add_iname_from(kernel: &mut Kernel, names: &mut Names, after: InameId, (low, high): (i64, i64)) -> InameId {
    add_inames(kernel, names, &[after], |names| format!("{low} <= {} <= {high}", names[0]))[0]
}

/// A new iname of this name with the values of a set, whose parameters are the kernel's and inames of the loops `around`.
///
/// # Errors
/// If isl fails.
pub fn add_iname_of_set(
    kernel: &mut Kernel,
    (name, tags): (String, Vec<InameTag>),
    set: &isl::Set,
    around: &[InameId],
) -> Result<InameId, isl::Error> {
    let params = set.param_names()?;
    let enclosing = around.iter().copied().filter(|&iname| params.contains(&kernel[iname].name)).collect();
    let parameters = kernel.parameter_ids().filter(|&one| params.contains(&kernel[one].name)).collect();
    let (iname, domain) = (InameId::new(kernel.inames.len()), DomainId::new(kernel.domains.len()));
    kernel.inames.push(Iname { name, tags, domain });
    kernel.domains.push(Domain { text: set.to_string(), inames: vec![iname], enclosing, parameters });
    Ok(iname)
}

/// A new iname of this name with the values that it has in a set, whose other dimensions are the inames of the loops `around`.
///
/// # Errors
/// If isl fails, or has too much to do.
pub fn add_iname_inside(
    kernel: &mut Kernel,
    domains: &Domains,
    (name, tags): (String, Vec<InameTag>),
    set: isl::Set,
    around: &[InameId],
) -> Result<InameId, DomainError> {
    let set = set.dims_to_params()?.params_to_dims(&[&name])?;
    let known = isl::Set::parse(domains.context(), &format!("{{ [{name}] }}"))?;
    let outer = domains.of(&around.iter().copied().collect())?;
    let known = known.intersect_params(&outer.dims_to_params()?.params()?)?;
    let set = set.gist(&known)?.coalesce()?;
    Ok(add_iname_of_set(kernel, (name, tags), &set, around)?)
}

/// A new iname from zero to before `extent`, named after another.
pub fn add_iname(kernel: &mut Kernel, names: &mut Names, after: InameId, extent: usize) -> InameId {
    add_inames(kernel, names, &[after], |names| format!("0 <= {} < {extent}", names[0]))[0]
}
