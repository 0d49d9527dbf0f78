//! Which inames of one domain are coupled: the values of one depend on the value of the other.
//!
//! # Input
//! A kernel and the sets of its domains.
//! # Output
//! For each iname those of its own domain that it is coupled with; none in a box. Inames that enclose a domain are no
//! business of this module.
//! # Method
//! Two inames may be coupled if their joint projection is not the product of their own projections. The classes of the
//! closure of that relation are the answer if the domain is the product of its projections on them, which isl decides;
//! otherwise (`i + j + k` even) all inames that are not independent of all others are one class.
//! # Complexity
//! For each domain that is no box a projection and a comparison for each pair of inames.

use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{DomainId, InameId, InameSet, Kernel};
use nestegg_isl as isl;

/// For each iname the other inames of its domain that it is coupled with.
///
/// # Errors
/// If isl fails.
pub fn coupled(kernel: &Kernel, domains: &Domains) -> Result<Vec<InameSet>, DomainError> {
    let mut res = vec![InameSet::new(); kernel.inames.len()];
    for domain in kernel.domain_ids() {
        for class in classes(kernel, domain, domains.set(domain))? {
            for iname in class.iter() {
                res[iname.index()] = class.difference(&[iname].into_iter().collect());
            }
        }
    }
    Ok(res)
}

/// The inames of a domain in classes of which the domain is the product.
fn classes(kernel: &Kernel, domain: DomainId, set: &isl::Set) -> Result<Vec<InameSet>, DomainError> {
    let inames: &[InameId] = &kernel[domain].inames;
    if inames.len() < 2 || set.is_box()? {
        return Ok(Vec::new());
    }
    let mut classes: Vec<InameSet> = inames.iter().map(|&iname| [iname].into_iter().collect()).collect();
    for (idx, &second) in inames.iter().enumerate() {
        for &first in &inames[..idx] {
            let pair: [InameSet; 2] = [first, second].map(|iname| [iname].into_iter().collect());
            if !is_product(kernel, &project(kernel, set, &pair[0].union(&pair[1]))?, &pair)? {
                let (joined, rest): (Vec<InameSet>, Vec<InameSet>) =
                    classes.into_iter().partition(|class| class.contains(first) || class.contains(second));
                classes = rest;
                classes.push(joined.iter().fold(InameSet::new(), |all, class| all.union(class)));
            }
        }
    }
    if is_product(kernel, set, &classes)? {
        return Ok(classes);
    }
    let mut bound = InameSet::new();
    let all: InameSet = inames.iter().copied().collect();
    for &iname in inames {
        let own: InameSet = [iname].into_iter().collect();
        if !is_product(kernel, set, &[own.clone(), all.difference(&own)])? {
            bound.insert(iname);
        }
    }
    Ok(vec![bound])
}

/// Whether a set is the product of its projections on these parts of its dimensions.
fn is_product(kernel: &Kernel, set: &isl::Set, parts: &[InameSet]) -> Result<bool, DomainError> {
    let projections: Vec<isl::Set> =
        parts.iter().map(|part| project(kernel, set, part)).collect::<Result<Vec<_>, DomainError>>()?;
    let names = set.dim_names()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let product = isl::Set::combine(&projections)?.project_onto(&names)?;
    Ok(set.set_tuple_name(None)?.is_equal(&product)?)
}

fn project(kernel: &Kernel, set: &isl::Set, inames: &InameSet) -> Result<isl::Set, DomainError> {
    let names: Vec<&str> = inames.iter().map(|iname| kernel[iname].name.as_str()).collect();
    Ok(set.project_onto(&names)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nestegg_span::Source;

    /// For each iname of a domain those that it is coupled with, all by name.
    fn check(domain: &str, expected: &str) {
        let text = format!("kernel k\n{domain}\n");
        let read = nestegg_dump::read_text(&Source::new("k", text)).unwrap();
        let kernel = read.program.kernel();
        let context = isl::Context::new();
        let coupled = coupled(kernel, &Domains::new(&context, kernel).unwrap()).unwrap();
        let shown: Vec<String> = kernel
            .iname_ids()
            .map(|iname| {
                let others: Vec<&str> =
                    coupled[iname.index()].iter().map(|other| kernel[other].name.as_str()).collect();
                format!("{}:{}", kernel[iname].name, others.join(","))
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{domain}");
    }

    #[test]
    fn boxes_are_free() {
        check("domain { [i, j] : 0 <= i, j < 3 }", "i: j:");
        check("domain { [i, j] : 0 <= i < 3 and 0 <= j < 4 and i <= j + 9 }", "i: j:");
    }

    #[test]
    fn triangles_are_coupled() {
        check("domain { [i, j, k] : 0 <= i <= j < 3 and 0 <= k < 2 }", "i:j j:i k:");
        check("domain { [i, j, k, l] : 0 <= i <= j < 3 and 0 <= k <= l < 2 }", "i:j j:i k:l l:k");
        check("domain { [i, j, k] : 0 <= i <= j <= k < 3 }", "i:j,k j:i,k k:i,j");
    }

    #[test]
    fn three_can_be_coupled_where_no_two_are() {
        check("domain { [i, j, k, l] : 0 <= i, j, k, l < 2 and (i + j + k) mod 2 = 0 }", "i:j,k j:i,k k:i,j l:");
    }
}
