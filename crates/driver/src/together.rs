//! Groups of stores that were searched apart, put together again.
//!
//! # Input
//! For each group of a kernel ([`nestegg_transform::apart`]) its alternatives: the results that selection made from its
//! seeds.
//! # Output
//! Seeds of the whole: one takes the alternative of each group that minimizes the total cost; another does the same
//! among the alternatives that equal the kernel exactly. Where seeds have temporary arrays, two more run the cheapest seeds
//! of the groups, as they were tried, one after the other, and two more their cheapest results.
//! # Method
//! The value forms of all alternatives become one kernel and one e-graph, in which equal values are one;
//! [`nestegg_extract::together`] chooses among them. The choice is brought to value form, so values that several groups
//! share are computed once, and the terms they add to the same elements are added at once.
//!
//! A value form has no temporary arrays, so it loses what `shifted` keeps in them. Seeds as they were tried still have these
//! arrays, and the e-graph of the joint kernel shares everything else.
//!
//! The cheapest results, with these arrays, are also shared as they were found: no rule runs again, so each group keeps its form.
//!
//! What was found for [one element](OneElement) is shared between elements in the same way ([`in_loop`]).
//! # Complexity
//! One e-graph of at most [`MAX_ALTERNATIVES`] kernels for each group, without rules.

use nestegg_egraph::encode;
use nestegg_ir::domains::Domains;
use nestegg_ir::join::in_sequence;
use nestegg_ir::{Array, InsnId, Licence, LinearizedKernel, Semantics};
use nestegg_transform::OneElement;

use crate::error::Error;
use crate::search::Selected;
use crate::seeds::{Fired, Seed, add_fired, distinct};

/// So many alternatives of each group take part, the cheapest ones.
pub(crate) const MAX_ALTERNATIVES: usize = 8;

/// The name of seeds that are chosen together.
const CHOSEN: &str = "together";

/// The name of seeds that are put together as they were tried.
const AS_TRIED: &str = "together as tried";

/// The name of results that are put together as they were found.
const AS_FOUND: &str = "together as found";

/// The name of results of one element in the loop over all of them.
const ONE_ELEMENT: &str = "one element";

/// The seeds that the alternatives of all groups make; none if a group has none. Each group is sorted, its cheapest alternative first.
pub(crate) fn seeds(
    groups: &[Vec<Selected>],
    values: &[(String, i64)],
    semantics: Semantics,
) -> Result<Vec<Seed>, Error> {
    let Some(all) = of_those(groups, |_| true, values, semantics)? else { return Ok(Vec::new()) };
    let exact = if all.tolerance.is_some() { of_those(groups, is_exact, values, semantics)? } else { None };
    let as_tried = cheapest_with_arrays(groups).filter_map(|cheapest| {
        let seeds: Vec<&Seed> = cheapest.iter().map(|selected| &selected.tried).collect();
        let kernels: Vec<&LinearizedKernel> = seeds.iter().map(|seed| &seed.linearized).collect();
        Some(joint(AS_TRIED, &seeds, in_sequence(&kernels)?))
    });
    Ok(distinct(std::iter::once(all).chain(exact).chain(as_tried).collect()))
}

/// The cheapest results of all groups, and the cheapest that equal the kernel exactly, for a search without rules: they keep the temporary arrays of
/// their seeds, and all else is computed where it is used. None where no seed has a temporary array.
pub(crate) fn as_found(groups: &[Vec<Selected>], licence: Licence) -> Result<Vec<Seed>, Error> {
    let mut res = Vec::new();
    for cheapest in cheapest_with_arrays(groups) {
        let kernels = cheapest.iter().map(|selected| in_arrays_of_its_seed(selected, licence));
        let kernels = kernels.collect::<Result<Vec<LinearizedKernel>, Error>>()?;
        let Some(sequence) = in_sequence(&kernels.iter().collect::<Vec<_>>()) else { continue };
        let seeds: Vec<&Seed> = cheapest.iter().map(|selected| &selected.result).collect();
        res.push(joint(AS_FOUND, &seeds, sequence));
    }
    Ok(distinct(res))
}

/// The cheapest alternative of each group, and the cheapest that equals the kernel exactly; neither where a group has none, or where no seed has a
/// temporary array.
fn cheapest_with_arrays(groups: &[Vec<Selected>]) -> impl Iterator<Item = Vec<&Selected>> {
    let has_temporary = |selected: &&Selected| selected.tried.linearized.kernel.arrays.iter().any(Array::is_temporary);
    let cheapest = |is_allowed: fn(&Selected) -> bool| -> Option<Vec<&Selected>> {
        groups.iter().map(|group| group.iter().find(|selected| is_allowed(selected))).collect()
    };
    let both: [Option<Vec<&Selected>>; 2] = [cheapest(|_| true), cheapest(is_exact)];
    both.into_iter().flatten().filter(move |cheapest| cheapest.iter().any(has_temporary))
}

fn is_exact(selected: &Selected) -> bool {
    selected.result.tolerance.is_none()
}

/// The cheapest results of one element, and the cheapest that equals its kernel exactly, in the loop over all elements, for a search without rules:
/// what does not depend on the element leaves the loop.
pub(crate) fn in_loop(of_one: &[Selected], elements: &OneElement, licence: Licence) -> Result<Vec<Seed>, Error> {
    let Some(first) = of_one.first() else { return Ok(Vec::new()) };
    let exact = if is_exact(first) { None } else { of_one.iter().find(|selected| is_exact(selected)) };
    let mut res = Vec::new();
    for selected in std::iter::once(first).chain(exact) {
        let name = format!("{ONE_ELEMENT} ({})", selected.result.name);
        if let Some(linearized) = elements.in_loop(in_arrays_of_its_seed(selected, licence)?) {
            res.push(Seed { family: name.clone(), name, linearized, ..selected.result.clone() });
        }
    }
    Ok(distinct(res))
}

/// A result with no temporaries but the arrays of its seed.
fn in_arrays_of_its_seed(selected: &Selected, licence: Licence) -> Result<LinearizedKernel, Error> {
    let arrays = &selected.tried.linearized.kernel.arrays;
    let keeps = |array: &Array| arrays.iter().any(|own| own.is_temporary() && own.name == array.name);
    let result = selected.result.linearized.clone();
    let kernel = result.kernel.name.clone();
    nestegg_transform::normalise_keeping(result, licence, keeps).map_err(|source| Error::Refused {
        pass: "together",
        kernel,
        source: Box::new(source),
    })
}

/// A seed of the whole that does what these seeds do one after the other.
fn joint(name: &str, seeds: &[&Seed], linearized: LinearizedKernel) -> Seed {
    let of: Vec<&str> = seeds.iter().map(|seed| seed.name.as_str()).collect();
    let mut rules = Fired::default();
    seeds.iter().for_each(|seed| add_fired(&mut rules, seed.rules.iter().map(|(rule, &times)| (rule, times))));
    let name = format!("{name} ({})", of.join(" and "));
    Seed {
        family: name.clone(),
        name,
        linearized,
        tolerance: seeds.iter().filter_map(|seed| seed.tolerance).reduce(|a, b| a.and(b)),
        unrolled: seeds.iter().flat_map(|seed| seed.unrolled.iter().cloned()).collect(),
        is_for_time: seeds.iter().any(|seed| seed.is_for_time),
        rules,
        from: seeds.iter().flat_map(|seed| seed.from.iter().cloned()).collect(),
    }
}

/// The best choice of alternatives that satisfy a predicate.
fn of_those(
    groups: &[Vec<Selected>],
    is_allowed: impl Fn(&Selected) -> bool,
    values: &[(String, i64)],
    semantics: Semantics,
) -> Result<Option<Seed>, Error> {
    let groups: Vec<Vec<&Seed>> = groups
        .iter()
        .map(|group| group.iter().filter(|selected| is_allowed(selected)).map(|selected| &selected.result))
        .map(|results| results.take(MAX_ALTERNATIVES).collect())
        .collect();
    let Some(kernel) = groups.first().and_then(|group| group.first()).map(|seed| seed.linearized.kernel.name.clone())
    else {
        return Ok(None);
    };
    if groups.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let refused = |source: Box<dyn std::error::Error + Send + Sync>| Error::Refused {
        pass: "together",
        kernel: kernel.clone(),
        source,
    };
    let value_form = |linearized: LinearizedKernel| {
        nestegg_transform::normalise_under(linearized, semantics.licence).map_err(|error| refused(Box::new(error)))
    };
    let mut forms: Vec<Vec<LinearizedKernel>> = Vec::with_capacity(groups.len());
    for group in &groups {
        forms.push(group.iter().map(|seed| value_form(seed.linearized.clone())).collect::<Result<_, Error>>()?);
    }
    let choice = choose(&forms, values, semantics).map_err(refused)?;
    let chosen: Vec<&LinearizedKernel> = forms.iter().zip(&choice).map(|(forms, &at)| &forms[at]).collect();
    let seeds: Vec<&Seed> = groups.iter().zip(&choice).map(|(group, &at)| group[at]).collect();
    let Some(sequence) = in_sequence(&chosen) else { return Ok(None) };
    let form = nestegg_transform::join_domains(value_form(sequence)?).map_err(|error| refused(Box::new(error)))?;
    let form = nestegg_transform::join_reductions(form, semantics.licence).map_err(|error| refused(Box::new(error)))?;
    Ok(Some(joint(CHOSEN, &seeds, form)))
}

/// Which alternative of each group, by the cost of all together.
fn choose(
    forms: &[Vec<LinearizedKernel>],
    values: &[(String, i64)],
    semantics: Semantics,
) -> Result<Vec<usize>, Box<dyn std::error::Error + Send + Sync>> {
    let mut n_before = 0;
    let instructions = forms
        .iter()
        .map(|group| {
            let of_one = |form: &LinearizedKernel| {
                let own = (n_before..n_before + form.kernel.instructions.len()).map(InsnId::new).collect();
                n_before += form.kernel.instructions.len();
                own
            };
            group.iter().map(of_one).collect()
        })
        .collect::<Vec<Vec<Vec<InsnId>>>>();
    let all: Vec<&LinearizedKernel> = forms.iter().flatten().collect();
    let Some(joint) = in_sequence(&all) else { return Ok(Vec::new()) };
    let joint = nestegg_transform::name_bound_inames(joint)?;
    let context = nestegg_isl::Context::new();
    let domains = Domains::new(&context, &joint.kernel)?.with_values(values);
    let encoded = encode::encode(&joint, &domains, semantics)?;
    Ok(nestegg_extract::together(&encoded, &domains, &instructions)?)
}
