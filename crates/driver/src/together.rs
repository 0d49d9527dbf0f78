//! Groups of stores that were searched apart, put together again.
//!
//! # Input
//! For each group of a kernel ([`nestegg_transform::apart`]) its alternatives: the results that selection made from its
//! seeds.
//! # Output
//! Seeds of the whole: one takes the alternative of each group that minimizes the total cost; another does the same
//! among the alternatives that equal the kernel exactly.
//! # Method
//! The value forms of all alternatives become one kernel and one e-graph, in which equal values are one;
//! [`nestegg_extract::together`] chooses among them. The choice is brought to value form, so values that several groups
//! share are computed once, and the terms they add to the same elements are added at once.
//! # Complexity
//! One e-graph of at most [`MAX_ALTERNATIVES`] kernels for each group, without rules.

use nestegg_egraph::encode;
use nestegg_ir::domains::Domains;
use nestegg_ir::join::in_sequence;
use nestegg_ir::{InsnId, LinearizedKernel, Semantics};

use crate::error::Error;
use crate::seeds::{Fired, Seed, add_fired};

/// So many alternatives of each group take part, the cheapest ones.
pub(crate) const MAX_ALTERNATIVES: usize = 8;

/// The name of these seeds.
const NAME: &str = "together";

/// The seeds that alternatives of all groups make; none if a group has none.
pub(crate) fn seeds(groups: &[Vec<Seed>], values: &[(String, i64)], semantics: Semantics) -> Result<Vec<Seed>, Error> {
    let all: Option<Vec<Seed>> = of_those(groups, |_| true, values, semantics)?.map(|seed| vec![seed]);
    let Some(mut res) = all else { return Ok(Vec::new()) };
    if res[0].tolerance.is_some() {
        res.extend(of_those(groups, |seed| seed.tolerance.is_none(), values, semantics)?);
    }
    Ok(res)
}

/// The best choice of alternatives that satisfy a predicate.
fn of_those(
    groups: &[Vec<Seed>],
    is_allowed: impl Fn(&Seed) -> bool,
    values: &[(String, i64)],
    semantics: Semantics,
) -> Result<Option<Seed>, Error> {
    let groups: Vec<Vec<&Seed>> = groups
        .iter()
        .map(|group| group.iter().filter(|seed| is_allowed(seed)).take(MAX_ALTERNATIVES).collect())
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
    let Some(joint) = in_sequence(&chosen) else { return Ok(None) };
    let joint = nestegg_transform::join_domains(value_form(joint)?).map_err(|error| refused(Box::new(error)))?;
    let linearized =
        nestegg_transform::join_reductions(joint, semantics.licence).map_err(|error| refused(Box::new(error)))?;
    let of: Vec<&str> = seeds.iter().map(|seed| seed.name.as_str()).collect();
    let tolerance = seeds.iter().filter_map(|seed| seed.tolerance).reduce(|a, b| a.and(b));
    let unrolled = seeds.iter().flat_map(|seed| seed.unrolled.iter().cloned()).collect();
    let mut rules = Fired::default();
    seeds.iter().for_each(|seed| add_fired(&mut rules, seed.rules.iter().map(|(rule, &times)| (rule, times))));
    let from = seeds.iter().flat_map(|seed| seed.from.iter().cloned()).collect();
    Ok(Some(Seed { name: format!("{NAME} ({})", of.join(" and ")), linearized, tolerance, unrolled, rules, from }))
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
