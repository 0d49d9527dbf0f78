//! The kernel's own loop over elements, split into blocks and lanes.
//!
//! # Input
//! A kernel without substitution rules or opaque instructions that is one loop, with its body.
//! # Output
//! Why its iterations cannot run side by side, or the kernel in which they do. `e` becomes `W*block + lane` everywhere.
//! # Method
//! Statement by statement all lanes run before the next statement does, so that iterations may have nothing in common but what commutes:
//! of two accesses to one argument, one of them writing, [only equal iterations meet](crate::independent), or both add to the
//! argument (or multiply, …), which lanes do one after the other. Temporaries get lanes; each iteration must write what it reads of them.
//! Other loops must run alike in all lanes.
//! # Complexity
//! That of [`Meetings`], for the pairs of accesses to a written argument.

use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::from_tree;
use nestegg_ir::names::Names;
use nestegg_ir::{Domain, DomainId, InameId, Kernel, LinearizedKernel, LoopTree};
use nestegg_isl as isl;

use super::lanes::{self, Element, Lanes};
use super::{BatchError, Batched, Batching, varying};
use crate::compact::compact;
use crate::independent::{Access, MAX_ISL_OPERATIONS, Meetings, Touch, accesses, first_carried};

/// Whether the values of an iname are as many as parameters say.
pub(super) fn is_bound_by_parameters(kernel: &Kernel, iname: InameId) -> bool {
    let domain = &kernel[kernel[iname].domain];
    domain.enclosing.is_empty() && !domain.parameters.is_empty()
}

/// Why the iterations of the loop over `element` around `body` cannot run in lanes; `None` if they can.
pub(super) fn why_not(
    kernel: &Kernel,
    element: InameId,
    body: &[LoopTree],
    may_reorder: bool,
) -> Result<Option<String>, BatchError> {
    let name = &kernel[element].name;
    if kernel.is_sequential(element) {
        return Ok(Some(format!("iterations of `{name}` are sequential")));
    }
    if let Some(inner) = kernel.domains.iter().find(|domain| domain.enclosing.contains(&element)) {
        let inner = &kernel[inner.inames[0]].name;
        return Ok(Some(format!("the loop over `{inner}` depends on `{name}`")));
    }
    let domains = Domains::bounded(kernel, MAX_ISL_OPERATIONS)?;
    if !is_product(kernel, &domains, element)? {
        return Ok(Some(format!("loops inside depend on `{name}`")));
    }
    let accesses = accesses(kernel, body);
    if let Some(array) = first_carried(kernel, &domains, accesses.iter()) {
        return Ok(Some(format!("iterations of `{name}` may read what others left in `{}`", kernel[array].name)));
    }
    let meetings = Meetings::new(&domains, &[], element);
    let is_argument = |access: &&Access| kernel[access.array].is_argument();
    for (at, one) in accesses.iter().enumerate().filter(|(_, access)| is_argument(access)) {
        for other in accesses[at..].iter().filter(|other| other.array == one.array) {
            let is_exact = may_reorder || !kernel[one.array].dtype.is_float();
            let commute = is_exact && one.touch == other.touch && matches!(one.touch, Touch::Update(_));
            let reads = one.touch == Touch::Read && other.touch == Touch::Read;
            if !reads && !commute && !meetings.are_only_equal(one, other) {
                return Ok(Some(format!("iterations of `{name}` may meet in `{}`", kernel[one.array].name)));
            }
        }
    }
    Ok(None)
}

/// Splits the loop over `element` into blocks of two or more.
pub(super) fn split(
    mut kernel: Kernel,
    element: InameId,
    body: &[LoopTree],
    width: u32,
) -> Result<Batched, BatchError> {
    let context = isl::Context::new();
    let set = Domains::new(&context, &kernel)?.set(kernel[element].domain).clone();
    let mut names = Names::new(&kernel);
    let iname = kernel[element].name.clone();
    let (block, lane) = (names.new_name_like("block"), names.new_name_like("lane"));
    let old = kernel[element].domain;
    let values = set.project_onto(&[&iname])?;
    let pairs =
        format!("{{ [{block}, {lane}] -> [{iname}] : {iname} = {width}{block} + {lane} and 0 <= {lane} < {width} }}");
    let pairs = isl::Map::parse(&context, &pairs)?.intersect_range(&values)?.domain()?.coalesce()?;
    let of_block = pairs.project_onto(&[&block])?.coalesce()?.to_string();
    let n_params = pairs.param_names()?.len();
    let of_lane = pairs.move_dims(isl::Dim::Param, n_params, isl::Dim::Set, 0, 1)?.to_string();
    // The other inames of the domain keep theirs; the old iname is left alone, and nothing uses it.
    if kernel[old].inames.len() > 1 {
        let text = set.project_out(&[&iname])?.to_string();
        let alone = DomainId::new(kernel.domains.len());
        let parameters = kernel[old].parameters.clone();
        kernel.domains.push(Domain {
            text: values.to_string(),
            inames: vec![element],
            enclosing: Vec::new(),
            parameters: parameters.clone(),
        });
        kernel[element].domain = alone;
        kernel[old].text = text;
        kernel[old].inames.retain(|&other| other != element);
        let words: Vec<String> = isl::Set::parse(&context, &kernel[old].text)?.param_names()?;
        let used = |parameter: &nestegg_ir::ParameterId| words.contains(&kernel[*parameter].name);
        kernel[old].parameters = parameters.into_iter().filter(used).collect();
    }
    let parameters = kernel[kernel[element].domain].parameters.clone();
    let varying = varying::varying(&kernel, body, &[], Some(element));
    let pair = lanes::add_inames(&mut kernel, (block, of_block), Some((lane, of_lane)), &parameters);
    let mut pass = Lanes::new(kernel, names, Element::Iname(element), varying, pair, i64::from(width));
    let body = pass.tree(body);
    let tree = [LoopTree::Loop { iname: pair.0, body }];
    let program = compact(LinearizedKernel { kernel: pass.kernel, linearization: from_tree(&tree) });
    Ok(Batched { program, batching: Batching::InPlace { iname }, width })
}

/// Whether the other inames of the domain take the same values for each value of `element`.
fn is_product(kernel: &Kernel, domains: &Domains, element: InameId) -> Result<bool, BatchError> {
    let domain = kernel[element].domain;
    if kernel[domain].inames.len() == 1 {
        return Ok(true);
    }
    let (set, name) = (domains.set(domain), kernel[element].name.as_str());
    let parts = [set.project_onto(&[name])?, set.project_out(&[name])?];
    let order = set.dim_names()?;
    let order: Vec<&str> = order.iter().map(String::as_str).collect();
    Ok(isl::Set::combine(&parts)?.project_onto(&order)?.is_equal(set)?)
}
