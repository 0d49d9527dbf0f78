//! The values that costs and checks assume for parameters.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::{ExprId, Kernel, data_bounds, unstated};
use nestegg_isl as isl;

use crate::error::Error;
use crate::report::{AssumedParameter, ParameterSource};

/// What is assumed of a parameter that neither the kernel nor the caller says anything about.
pub const DEFAULT_VALUE: i64 = 100;

/// The value of every parameter: the given one, else the kernel's estimate, else [`DEFAULT_VALUE`]. Extents that the kernel does not state come
/// last; they [hold what it accesses](unstated).
///
/// # Errors
/// If a value is given for a parameter that the kernel does not have, or given values do not satisfy the kernel's assumptions.
pub fn assumed(kernel: &Kernel, given: &[(String, i64)]) -> Result<Vec<AssumedParameter>, Error> {
    for (name, _) in given {
        if !kernel.parameters.iter().any(|parameter| parameter.name == *name) {
            return Err(unknown(kernel, name));
        }
    }
    let assume = |parameter: &nestegg_ir::Parameter| {
        // The last one given counts, as with any flag.
        let value = given.iter().rev().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value);
        let (value, source) = match (value, parameter.estimate) {
            (Some(value), _) => (value, ParameterSource::Given),
            (None, Some(estimate)) => (estimate, ParameterSource::Estimate),
            (None, None) => (DEFAULT_VALUE, ParameterSource::Default),
        };
        AssumedParameter { name: parameter.name.clone(), value, source }
    };
    let mut res: Vec<AssumedParameter> =
        kernel.parameters.iter().filter(|parameter| parameter.is_stated).map(assume).collect();
    let of_extent = |(name, value): (String, i64)| match given.iter().rev().find(|(known, _)| *known == name) {
        Some(&(_, value)) => AssumedParameter { name, value, source: ParameterSource::Given },
        None => AssumedParameter { name, value, source: ParameterSource::Unstated },
    };
    // A loop that data end is as long as the estimate says where costs are counted; data for runs make it shorter.
    let ends = kernel.domain_ids().filter_map(|domain| data_bounds::end_of(kernel, domain));
    let ends: Vec<AssumedParameter> = ends
        .map(|end| match assume(&kernel[end]) {
            given @ AssumedParameter { source: ParameterSource::Given, .. } => given,
            estimated => AssumedParameter { source: ParameterSource::DataBound, ..estimated },
        })
        .collect();
    let mut known = values(&res);
    known.extend(values(&ends));
    let is_end = |name: &String| ends.iter().any(|end| end.name == *name);
    let extents: Vec<(String, i64)> =
        unstated::extents(kernel, &for_runs(kernel, &known)).into_iter().filter(|(name, _)| !is_end(name)).collect();
    res.extend(ends.iter().cloned().chain(extents.into_iter().map(of_extent)));
    match &kernel.assumptions {
        Some(assumptions) if !given.is_empty() && satisfies(assumptions, &values(&res)) == Some(false) => {
            let known: Vec<String> = res.iter().map(|known| format!("{} = {}", known.name, known.value)).collect();
            Err(Error::ExcludedValues {
                kernel: kernel.name.clone(),
                values: known.join(", "),
                help: format!("it assumes `{assumptions}`"),
            })
        }
        _ => Ok(res),
    }
}

/// The values with which a kernel runs: a loop that data end is as long as test data may make it.
#[must_use]
pub fn for_runs(kernel: &Kernel, values: &[(String, i64)]) -> Vec<(String, i64)> {
    let ends = if data_bounds::has_open_inames(kernel) { unstated::ends(kernel, values) } else { Vec::new() };
    let end = |name: &String| ends.iter().find(|(known, _)| known == name).map(|(_, end)| *end);
    values.iter().map(|(name, value)| (name.clone(), end(name).unwrap_or(*value))).collect()
}

/// Whether values satisfy a kernel's assumptions; `None` if isl cannot tell.
pub(crate) fn satisfies(assumptions: &str, values: &[(String, i64)]) -> Option<bool> {
    let set = isl::Set::parse(&isl::Context::new(), assumptions).ok()?;
    let names = set.param_names().ok()?;
    let known = values.iter().filter(|(name, _)| names.contains(name));
    let known: Vec<(&str, i64)> = known.map(|(name, value)| (name.as_str(), *value)).collect();
    set.fix_params(&known).and_then(|set| set.is_empty()).ok().map(|is_empty| !is_empty)
}

/// The same as pairs.
#[must_use]
pub fn values(assumed: &[AssumedParameter]) -> Vec<(String, i64)> {
    assumed.iter().map(|parameter| (parameter.name.clone(), parameter.value)).collect()
}

/// The value of an expression that is affine in parameters, under these values; `None` of any other.
#[must_use]
pub fn evaluate(kernel: &Kernel, expression: ExprId, values: &[(String, i64)]) -> Option<i64> {
    let affine = affine::of(&kernel.exprs, expression)?;
    affine.terms.iter().try_fold(affine.constant, |sum, (var, coefficient)| {
        let Var::Parameter(parameter) = var else { return None };
        let (_, value) = values.iter().find(|(name, _)| *name == kernel[*parameter].name)?;
        sum.checked_add(coefficient.checked_mul(*value)?)
    })
}

fn unknown(kernel: &Kernel, name: &str) -> Error {
    let known = kernel.stated_parameters().map(|parameter| format!("`{}`", kernel[parameter].name));
    let known: Vec<String> = known.collect();
    let help = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    Error::UnknownParameter { kernel: kernel.name.clone(), name: name.to_owned(), help }
}
