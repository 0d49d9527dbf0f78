//! What everything that the kernel names is called in C, and the integer types of loop variables.
//!
//! # Method
//! The interface gets its names first, then what opaque code may mention, then the rest. An iname is `int64_t`
//! where its domain, or one that it is connected with, has a parameter of dtype int64 or a number beyond 32 bits;
//! else `int32_t`.

use nestegg_ir::{Dtype, InameId, InstructionKind, Kernel, ParameterId};
use rustc_hash::FxHashMap;

use super::error::CodegenError;
use super::math;
use super::names::{Names, is_identifier};

/// Names and integer types.
#[derive(Clone, Debug)]
pub(crate) struct Symbols {
    /// The function that is written.
    pub(crate) function: String,
    /// Of each array.
    pub(crate) arrays: Vec<String>,
    /// Of each iname.
    pub(crate) inames: Vec<String>,
    /// Of each parameter.
    pub(crate) parameters: Vec<String>,
    /// Whether each iname is `int64_t`.
    pub(crate) wide: Vec<bool>,
    /// Inames of the same number have domains that are connected.
    pub(crate) component: Vec<usize>,
    /// Kernel name to C name and whether it is `int64_t`, of inames and parameters.
    by_name: FxHashMap<String, (String, bool)>,
    /// All names in use.
    pub(crate) names: Names,
}

impl Symbols {
    /// The names of a kernel without substitution rules; `symbol` is the function's name if not the kernel's.
    pub(crate) fn of(kernel: &Kernel, symbol: Option<&str>) -> Result<Self, CodegenError> {
        let mut names = Names::default();
        for function in &kernel.functions {
            if math::standard(function).is_none() {
                identifier(function)?;
            }
            names.take(function);
        }
        let wanted = symbol.unwrap_or(&kernel.name);
        identifier(wanted)?;
        let function = names.claim(wanted);
        let mut arrays = vec![String::new(); kernel.arrays.len()];
        let parameters = claim_all(&mut names, kernel.parameters.iter().map(|p| p.name.as_str()))?;
        for id in kernel.array_ids().filter(|&id| kernel[id].is_argument()) {
            arrays[id.index()] = claim(&mut names, &kernel[id].name)?;
        }
        for instruction in &kernel.instructions {
            if let InstructionKind::Opaque { reads, writes, .. } = &instruction.kind {
                for &id in reads.iter().chain(writes) {
                    if arrays[id.index()].is_empty() {
                        arrays[id.index()] = claim(&mut names, &kernel[id].name)?;
                    }
                }
            }
        }
        let inames = claim_all(&mut names, kernel.inames.iter().map(|iname| iname.name.as_str()))?;
        for id in kernel.array_ids() {
            if arrays[id.index()].is_empty() {
                arrays[id.index()] = claim(&mut names, &kernel[id].name)?;
            }
        }
        let component = components(kernel);
        let wide = wide_inames(kernel, &component);
        let of_inames =
            kernel.inames.iter().zip(&inames).zip(&wide).map(|((iname, name), &wide)| (&iname.name, name, wide));
        let of_parameters =
            kernel.parameters.iter().zip(&parameters).map(|(p, name)| (&p.name, name, p.dtype == Dtype::Int64));
        // Scalar temporaries may bound loops.
        let is_scalar = |array: &nestegg_ir::Array| array.is_temporary() && array.shape.is_empty();
        let scalars = kernel.arrays.iter().zip(&arrays).filter(|(array, _)| is_scalar(array));
        let of_scalars = scalars.map(|(array, name)| (&array.name, name, array.dtype == Dtype::Int64));
        let all = of_inames.chain(of_parameters).chain(of_scalars);
        let by_name = all.map(|(from, to, wide)| (from.clone(), (to.clone(), wide))).collect();
        Ok(Self { function, arrays, inames, parameters, wide, component, by_name, names })
    }

    /// The C name of an iname or parameter by its kernel name, and whether it is `int64_t`.
    pub(crate) fn integer<'a>(&'a self, name: &'a str) -> (&'a str, bool) {
        self.by_name.get(name).map_or((name, false), |(name, wide)| (name, *wide))
    }

    /// The dtype of an iname in C.
    pub(crate) fn iname_dtype(&self, iname: InameId) -> Dtype {
        if self.wide[iname.index()] { Dtype::Int64 } else { Dtype::Int32 }
    }

    /// The C name of a parameter.
    pub(crate) fn parameter(&self, parameter: ParameterId) -> &str {
        &self.parameters[parameter.index()]
    }
}

fn identifier(name: &str) -> Result<(), CodegenError> {
    if is_identifier(name) { Ok(()) } else { Err(CodegenError::Name { name: name.to_owned() }) }
}

fn claim(names: &mut Names, name: &str) -> Result<String, CodegenError> {
    identifier(name)?;
    Ok(names.claim(name))
}

fn claim_all<'a>(names: &mut Names, all: impl Iterator<Item = &'a str>) -> Result<Vec<String>, CodegenError> {
    all.map(|name| claim(names, name)).collect()
}

/// Inames that share a domain or enclose one another get the same number.
fn components(kernel: &Kernel) -> Vec<usize> {
    let mut leader: Vec<usize> = (0..kernel.inames.len()).collect();
    fn find(leader: &mut [usize], mut at: usize) -> usize {
        while leader[at] != at {
            leader[at] = leader[leader[at]];
            at = leader[at];
        }
        at
    }
    for domain in &kernel.domains {
        let mut members = domain.inames.iter().chain(&domain.enclosing).map(|iname| iname.index());
        if let Some(first) = members.next() {
            for member in members {
                let (a, b) = (find(&mut leader, first), find(&mut leader, member));
                leader[a.max(b)] = a.min(b);
            }
        }
    }
    (0..leader.len()).map(|at| find(&mut leader, at)).collect()
}

/// Whether a set names a 64-bit temporary.
fn has_long_data(kernel: &Kernel, text: &str) -> bool {
    let is_long = |array: &nestegg_ir::Array| array.is_temporary() && array.dtype == Dtype::Int64;
    let mut long = kernel.arrays.iter().filter(|array| array.shape.is_empty() && is_long(array));
    long.any(|array| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == array.name))
}

fn wide_inames(kernel: &Kernel, component: &[usize]) -> Vec<bool> {
    let mut wide = vec![false; kernel.inames.len()];
    for domain in &kernel.domains {
        let long = |p: &ParameterId| kernel[*p].dtype == Dtype::Int64;
        if domain.parameters.iter().any(long) || has_long_number(&domain.text) || has_long_data(kernel, &domain.text) {
            domain.inames.iter().for_each(|iname| wide[component[iname.index()]] = true);
        }
    }
    component.iter().map(|&number| wide[number]).collect()
}

fn has_long_number(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 9 && digits.parse::<i32>().is_err())
}
