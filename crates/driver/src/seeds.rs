//! Kernels that a strategy starts from: the kernel as it is, and whole-expression forms of it.
//!
//! # Input
//! A kernel in value form, and a strategy with its options `seeds`, `forms` and `max-statements`.
//! # Output
//! Seeds, each an equal kernel in value form; those that would repeat another are left out. The first is the kernel itself.
//! # Method
//! Forms meant for one seed explode in another, so that each gets a small e-graph of its own and the cheapest result wins: on real kernels that
//! beats one large e-graph in result and in time.
//! A seed that computes with tables is equal within the tolerance for tables only; it says so, and is compared with the kernel it came
//! from in floats, and what is made of it with the seed itself, exactly.

use nestegg_forms::{
    LinearMaps, Options, Shape, Tolerance, eliminate_deltas, interpolate, linear_maps, paired_tables, point_features,
    share_symmetric, split_digits,
};
use nestegg_ir::LinearizedKernel;
use nestegg_rules::{OptionValue, ResolvedStrategy};
use nestegg_transform::{SplitOptions, eliminate_dead, isolate_stores, share_shifted, split_at_zeros};

use crate::error::Error;

/// Numbers of pieces that inames are cut into at most, one seed each.
const PIECES: [usize; 4] = [16, 4, 3, 2];

/// A kernel to start from.
#[derive(Debug)]
pub(crate) struct Seed {
    /// What was done to the kernel.
    pub(crate) name: String,
    /// The kernel.
    pub(crate) linearized: LinearizedKernel,
    /// What was done to numbers; `None` where the seed is equal exactly.
    pub(crate) tolerance: Option<Tolerance>,
}

/// The seeds that a strategy asks for.
pub(crate) fn seeds(
    form: &LinearizedKernel,
    strategy: &ResolvedStrategy<'_>,
    max_statements: Option<u64>,
) -> Result<Vec<Seed>, Error> {
    let words = |option: &str| match strategy.options.get(option) {
        Some(OptionValue::Words(words)) => words.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let kinds: Vec<String> = words("seeds");
    let forms: Vec<String> = words("forms");
    let of_strategy = match strategy.options.get("max-statements") {
        Some(OptionValue::Integer(limit)) => Some(*limit),
        _ => None,
    };
    let max_statements = max_statements
        .or(of_strategy)
        .map_or(Options::DEFAULT_MAX_STATEMENTS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let has = |form: &str| forms.iter().any(|word| word == form);
    let options = Options {
        shape: Shape::StraightLine,
        basis: has("basis"),
        row_differences: has("row-differences"),
        pairs: has("common-pairs"),
        scalars: has("scalar-algebra"),
        max_statements,
    };
    let mut all = Seeds { kernel: form.kernel.name.clone(), found: Vec::new() };
    let wants = |kind: &str| kinds.iter().any(|word| word == kind);
    let mut bases = vec![("rolled".to_owned(), form.clone(), None)];
    if wants("digits")
        && let Some(LinearMaps { linearized, tolerance, .. }) =
            split_digits(form).map_err(|source| all.refused("digits", source))?
    {
        let is_exact = tolerance.n_changed == 0;
        bases.push(("digits".to_owned(), linearized, (!is_exact).then_some(tolerance)));
    }
    if wants("deltas") {
        let isolated = all.isolated(form)?;
        let without = eliminate_deltas(&isolated).map_err(|source| all.refused("deltas", source))?;
        bases.extend(without.map(|without| ("deltas".to_owned(), eliminate_dead(without), None)));
    }
    if wants("interpolation") {
        for (name, form, known) in bases.clone() {
            if let Some(LinearMaps { linearized, tolerance, .. }) = interpolate(&form) {
                bases.push((format!("{name}, interpolation"), linearized, Some(known.unwrap_or(tolerance))));
            }
        }
    }
    for (base, form, tolerance) in bases {
        let mut forms = vec![(base.clone(), form.clone())];
        if wants("split") {
            for pieces in PIECES {
                forms.extend(all.split(&form, pieces)?.map(|split| (format!("{base}, split into {pieces}"), split)));
            }
        }
        for (name, form) in forms {
            if wants("pairs") {
                let isolated = all.isolated(&form)?;
                let paired = paired_tables(&isolated, &options).map_err(|source| all.refused("pairs", source))?;
                if let Some(LinearMaps { linearized, tolerance, .. }) = paired {
                    all.add(&format!("{name}, pairs"), eliminate_dead(linearized), Some(tolerance));
                }
            }
            if wants("symmetric") {
                let isolated = all.isolated(&form)?;
                let shared = share_symmetric(&isolated).map_err(|source| all.refused("symmetric", source))?;
                if let Some(shared) = shared {
                    all.add(&format!("{name}, symmetric"), eliminate_dead(shared), tolerance);
                }
            }
            if wants("features") {
                let isolated = all.isolated(&form)?;
                let features = point_features(&isolated, &options).map_err(|source| all.refused("features", source))?;
                if let Some(LinearMaps { linearized, tolerance, .. }) = features {
                    all.add(&format!("{name}, features"), eliminate_dead(linearized), Some(tolerance));
                }
            }
            if kinds.is_empty() || name != "rolled" || wants("rolled") {
                all.add(&name, form, tolerance);
            }
        }
    }
    if wants("shifted")
        && let Some(shifted) = all.shifted(form)?
    {
        all.add("shifted", shifted, None);
    }
    let isolated = if wants("linear-map") || wants("merged") { Some(all.isolated(form)?) } else { None };
    for (kind, shape) in [("linear-map", Shape::StraightLine), ("merged", Shape::Loops)] {
        let Some(isolated) = isolated.as_ref().filter(|_| wants(kind)) else { continue };
        let Some(LinearMaps { linearized, tolerance, .. }) = all.mapped(isolated, &Options { shape, ..options })?
        else {
            continue;
        };
        let linearized = eliminate_dead(linearized);
        all.add(kind, linearized, Some(tolerance));
    }
    if all.found.is_empty() {
        all.add("rolled", form.clone(), None);
    }
    Ok(all.found)
}

/// Seeds so far.
struct Seeds {
    kernel: String,
    found: Vec<Seed>,
}

impl Seeds {
    fn add(&mut self, name: &str, linearized: LinearizedKernel, tolerance: Option<Tolerance>) {
        let is_known = self.found.iter().any(|seed| is_same(&seed.linearized, &linearized));
        if !is_known {
            self.found.push(Seed { name: name.to_owned(), linearized, tolerance });
        }
    }

    fn split(&self, form: &LinearizedKernel, pieces: usize) -> Result<Option<LinearizedKernel>, Error> {
        let options =
            SplitOptions { max_instructions: SplitOptions::DEFAULT_MAX_INSTRUCTIONS, max_pieces_per_iname: pieces };
        split_at_zeros(form.clone(), &options).map_err(|source| self.refused("split at zeros", source))
    }

    fn shifted(&self, form: &LinearizedKernel) -> Result<Option<LinearizedKernel>, Error> {
        share_shifted(form).map_err(|source| self.refused("share shifted", source))
    }

    fn isolated(&self, form: &LinearizedKernel) -> Result<LinearizedKernel, Error> {
        isolate_stores(form.clone()).map_err(|source| self.refused("isolate stores", source))
    }

    fn mapped(&self, form: &LinearizedKernel, options: &Options) -> Result<Option<LinearMaps>, Error> {
        linear_maps(form, options).map_err(|source| self.refused("linear maps", source))
    }

    fn refused(&self, pass: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Refused { pass, kernel: self.kernel.clone(), source: Box::new(source) }
    }
}

/// Whether two kernels have the same instructions in the same order.
fn is_same(a: &LinearizedKernel, b: &LinearizedKernel) -> bool {
    a.linearization == b.linearization
        && a.kernel.instructions == b.kernel.instructions
        && a.kernel.domains == b.kernel.domains
        && a.kernel.arrays == b.kernel.arrays
        && a.kernel.exprs.len() == b.kernel.exprs.len()
        && a.kernel.exprs.iter().eq(b.kernel.exprs.iter())
}
