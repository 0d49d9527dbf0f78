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
    LinearMaps, Options, Shape, Sums, Tolerance, eliminate_deltas, even_odd, interpolate, linear_maps, monomial_counts,
    paired_tables, point_features, share_symmetric, split_digits, tabulate,
};
use nestegg_ir::LinearizedKernel;
use nestegg_rules::{OptionValue, ResolvedStrategy};
use nestegg_transform::shift::{self, share_shifted};
use nestegg_transform::{SplitOptions, eliminate_dead, isolate_stores, split_at_zeros, write_out_components};

use crate::error::Error;
use crate::report::LimitHit;
use crate::same::is_same;

/// Numbers of pieces that inames are cut into at most, one seed each.
const PIECES: [usize; 4] = [16, 4, 3, 2];

/// The name of the seed that is the kernel itself.
const AS_IT_IS: &str = "rolled";

/// The name of the seed in which sums over components are written out.
const WRITTEN_OUT: &str = "written out";

/// The name of a form of one of these two.
fn named(of: &str, what: &str) -> String {
    if of == AS_IT_IS { what.to_owned() } else { format!("{of}, {what}") }
}

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

/// The seeds that a strategy asks for, with these `values` of parameters, and the limits that left some out; the kernel itself if nothing else is.
pub(crate) fn seeds(
    form: &LinearizedKernel,
    strategy: &ResolvedStrategy<'_>,
    (values, max_statements): (&[(String, i64)], Option<u64>),
) -> Result<(Vec<Seed>, Vec<LimitHit>), Error> {
    let mut all = Seeds::new(form, Wishes::of(strategy, max_statements));
    all.add_all(AS_IT_IS, form, values)?;
    if all.wishes.wants("written-out")
        && let Some(written) = all.done("write out", write_out_components(form))?
    {
        all.add_all(WRITTEN_OUT, &written, values)?;
    }
    if all.found.is_empty() {
        all.add(rolled(form));
    }
    Ok((all.found, all.limits))
}

/// What a strategy asks to be made of a kernel that selection made; `None` if that is nothing.
pub(crate) fn of_selected(selected: &Seed, strategy: &ResolvedStrategy<'_>) -> Result<Option<Seed>, Error> {
    let seeds = Seeds::new(&selected.linearized, Wishes::of(strategy, None));
    let mut res: Option<Seed> = None;
    for kind in ["tabulated", "even-odd"].into_iter().filter(|kind| seeds.wishes.wants(kind)) {
        let from = res.as_ref().unwrap_or(selected);
        let kernel = &from.linearized;
        let found = seeds.done(kind, if kind == "tabulated" { tabulate(kernel) } else { even_odd(kernel) })?;
        if let Some(LinearMaps { linearized, tolerance, .. }) = found {
            res = Some(from.derived(kind, linearized, Some(tolerance)));
        }
    }
    Ok(res)
}

/// The kernel itself, whatever a strategy asks for.
pub(crate) fn rolled(form: &LinearizedKernel) -> Seed {
    Seed::exact(AS_IT_IS, form.clone())
}

/// What a strategy asks for.
struct Wishes {
    kinds: Vec<String>,
    options: Options,
}

impl Wishes {
    fn of(strategy: &ResolvedStrategy<'_>, max_statements: Option<u64>) -> Self {
        let words = |option: &str| -> Vec<String> {
            match strategy.options.get(option) {
                Some(OptionValue::Words(words)) => words.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            }
        };
        let of_strategy = match strategy.options.get("max-statements") {
            Some(OptionValue::Integer(limit)) => Some(*limit),
            _ => None,
        };
        let max_statements = max_statements
            .or(of_strategy)
            .map_or(Options::DEFAULT_MAX_STATEMENTS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let forms = words("forms");
        let has = |form: &str| forms.iter().any(|word| word == form);
        let options = Options {
            shape: Shape::StraightLine,
            sums: Sums::Expanded,
            basis: has("basis"),
            moments: has("moments"),
            row_differences: has("row-differences"),
            pairs: has("common-pairs"),
            scalars: has("scalar-algebra"),
            max_statements,
            max_monomials: None,
        };
        Self { kinds: words("seeds"), options }
    }

    fn wants(&self, kind: &str) -> bool {
        self.kinds.iter().any(|word| word == kind)
    }
}

impl Seed {
    fn exact(name: &str, linearized: LinearizedKernel) -> Self {
        Self { name: name.to_owned(), linearized, tolerance: None }
    }

    /// A form of this seed; it is no more exact than the seed.
    fn derived(&self, what: &str, linearized: LinearizedKernel, tolerance: Option<Tolerance>) -> Self {
        Self {
            name: format!("{}, {what}", self.name),
            linearized: eliminate_dead(linearized),
            tolerance: match (self.tolerance, tolerance) {
                (Some(before), Some(after)) => Some(before.and(after)),
                (before, after) => after.or(before),
            },
        }
    }
}

/// Seeds so far.
struct Seeds {
    kernel: String,
    wishes: Wishes,
    found: Vec<Seed>,
    /// Kernels that forms were made of: of the same one come the same again.
    tried: Vec<LinearizedKernel>,
    /// Limits that left seeds out.
    limits: Vec<LimitHit>,
}

impl Seeds {
    /// None yet, of a kernel.
    fn new(form: &LinearizedKernel, wishes: Wishes) -> Self {
        let kernel = form.kernel.name.clone();
        Self { kernel, wishes, found: Vec::new(), tried: Vec::new(), limits: Vec::new() }
    }

    fn add(&mut self, seed: Seed) {
        // What changed numbers does not stand for what did not.
        let is_known = self.found.iter().any(|known| {
            (known.tolerance.is_none() || seed.tolerance.is_some()) && is_same(&known.linearized, &seed.linearized)
        });
        if !is_known {
            self.found.push(seed);
        }
    }

    /// All seeds that are made of one kernel, which has this name.
    fn add_all(&mut self, name: &str, form: &LinearizedKernel, values: &[(String, i64)]) -> Result<(), Error> {
        let bases = self.bases(name, form)?;
        // The kernel as it is, with interpolation by fewer products where that was found, in all numbers of pieces; others have what few pieces find in finer ones.
        let in_all_pieces = bases.iter().rposition(|base| base.name.starts_with(name));
        for (idx, base) in bases.iter().enumerate() {
            let pieces = if Some(idx) == in_all_pieces { PIECES.as_slice() } else { &PIECES[..1] };
            self.add_variants(base, pieces)?;
        }
        self.add_integrands(name, form)?;
        self.add_shifted(name, form, values)?;
        self.add_linear_maps(name, form)
    }

    /// The kernel, and with other reductions: over digits, without identity tables, with interpolation by differences.
    fn bases(&self, name: &str, form: &LinearizedKernel) -> Result<Vec<Seed>, Error> {
        let mut res = vec![Seed::exact(name, form.clone())];
        if self.wishes.wants("digits")
            && let Some(LinearMaps { linearized, tolerance, .. }) = self.done("digits", split_digits(form))?
        {
            let is_exact = tolerance.n_changed == 0;
            let tolerance = (!is_exact).then_some(tolerance);
            res.push(Seed { name: named(name, "digits"), linearized, tolerance });
        }
        if self.wishes.wants("deltas") {
            let isolated = self.isolated(form)?;
            let without = self.done("deltas", eliminate_deltas(&isolated))?;
            res.extend(without.map(|without| Seed::exact(&named(name, "deltas"), eliminate_dead(without))));
        }
        if self.wishes.wants("interpolation") {
            let mut interpolated = Vec::new();
            for base in &res {
                if let Some(LinearMaps { linearized, tolerance, .. }) =
                    self.done("interpolation", interpolate(&base.linearized))?
                {
                    interpolated.push(base.derived("interpolation", linearized, Some(tolerance)));
                }
            }
            res.extend(interpolated);
        }
        Ok(res)
    }

    /// A base as it is and split at zeros, and the forms of each of these.
    fn add_variants(&mut self, base: &Seed, pieces: &[usize]) -> Result<(), Error> {
        let mut variants = vec![Seed { linearized: base.linearized.clone(), name: base.name.clone(), ..*base }];
        if self.wishes.wants("split") {
            for &pieces in pieces {
                let options = SplitOptions {
                    max_instructions: SplitOptions::DEFAULT_MAX_INSTRUCTIONS,
                    max_pieces_per_iname: pieces,
                };
                let split = self.done("split at zeros", split_at_zeros(base.linearized.clone(), &options))?;
                variants.extend(split.map(|split| base.derived(&format!("split into {pieces}"), split, None)));
            }
        }
        for variant in variants {
            if self.tried.iter().any(|tried| is_same(tried, &variant.linearized)) {
                continue;
            }
            self.tried.push(variant.linearized.clone());
            self.add_forms(&variant)?;
            if self.takes(&variant) {
                self.add(variant);
            }
        }
        Ok(())
    }

    /// Forms of a variant whose stores are in loops of their own.
    fn add_forms(&mut self, variant: &Seed) -> Result<(), Error> {
        if !["pairs", "symmetric", "features"].iter().any(|kind| self.wishes.wants(kind)) {
            return Ok(());
        }
        let isolated = self.isolated(&variant.linearized)?;
        if self.wishes.wants("pairs")
            && let Some(LinearMaps { linearized, tolerance, .. }) =
                self.done("pairs", paired_tables(&isolated, &self.wishes.options))?
        {
            self.add(variant.derived("pairs", linearized, Some(tolerance)));
        }
        if self.wishes.wants("symmetric")
            && let Some(linearized) = self.done("symmetric", share_symmetric(&isolated))?
        {
            self.add(variant.derived("symmetric", linearized, None));
        }
        if self.wishes.wants("features") {
            for (name, sums) in [("features", Sums::Expanded), ("features of sums", Sums::Kept)] {
                let options = Options { sums, ..self.wishes.options };
                let found = self.done("features", point_features(&isolated, &options))?;
                if let Some(LinearMaps { linearized, tolerance, .. }) = found {
                    self.add(variant.derived(name, linearized, Some(tolerance)));
                }
            }
        }
        Ok(())
    }

    /// Whether a variant is a seed itself.
    fn takes(&self, variant: &Seed) -> bool {
        variant.name != AS_IT_IS || self.wishes.kinds.is_empty() || self.wishes.wants(AS_IT_IS)
    }

    fn add_shifted(&mut self, name: &str, form: &LinearizedKernel, values: &[(String, i64)]) -> Result<(), Error> {
        if !self.wishes.wants("shifted") {
            return Ok(());
        }
        if shift::exceeds_limit(form) {
            let value = Some(shift::MAX_EXPRESSIONS as u64);
            let place = format!("seed {}", named(name, "shifted"));
            self.limits.push(LimitHit { place, limit: "expressions".to_owned(), value });
        }
        if let Some(shifted) = self.done("share shifted", share_shifted(form, values))? {
            self.add(Seed::exact(&named(name, "shifted"), shifted));
        }
        Ok(())
    }

    /// Stores of which few monomials are linear maps, and the rest sums over points.
    fn add_integrands(&mut self, name: &str, form: &LinearizedKernel) -> Result<(), Error> {
        if !self.wishes.wants("integrands") {
            return Ok(());
        }
        let isolated = self.isolated(form)?;
        for limit in self.done("integrands", monomial_counts(&isolated))? {
            let options = Options { max_monomials: Some(limit), ..self.wishes.options };
            let Some(LinearMaps { linearized, tolerance, .. }) =
                self.done("integrands", linear_maps(&isolated, &options))?
            else {
                continue;
            };
            let name = named(name, &format!("integrands up to {limit}"));
            let base = Seed { name, linearized: eliminate_dead(linearized), tolerance: Some(tolerance) };
            let interpolated = match self.wishes.wants("interpolation") {
                true => self.done("interpolation", interpolate(&base.linearized))?,
                false => None,
            };
            let base = match interpolated {
                Some(LinearMaps { linearized, tolerance, .. }) => {
                    base.derived("interpolation", linearized, Some(tolerance))
                }
                None => base,
            };
            if self.wishes.wants("features") {
                let isolated = self.isolated(&base.linearized)?;
                let features = self.done("features", point_features(&isolated, &self.wishes.options))?;
                self.found
                    .extend(features.map(|found| base.derived("features", found.linearized, Some(found.tolerance))));
            }
            self.add(base);
        }
        Ok(())
    }

    /// Stores as linear maps, in straight-line code and in loops.
    fn add_linear_maps(&mut self, of: &str, form: &LinearizedKernel) -> Result<(), Error> {
        let kinds = [
            ("linear-map", "linear-map", Shape::StraightLine, Sums::Expanded),
            ("linear-map", "linear-map of sums", Shape::StraightLine, Sums::Kept),
            ("merged", "merged", Shape::Loops, Sums::Expanded),
        ];
        for (kind, name, shape, sums) in kinds {
            if !self.wishes.wants(kind) {
                continue;
            }
            let isolated = self.isolated(form)?;
            let options = Options { shape, sums, ..self.wishes.options };
            if let Some(LinearMaps { linearized, tolerance, .. }) =
                self.done("linear maps", linear_maps(&isolated, &options))?
            {
                let linearized = eliminate_dead(linearized);
                self.add(Seed { name: named(of, name), linearized, tolerance: Some(tolerance) });
            }
        }
        Ok(())
    }

    fn isolated(&self, form: &LinearizedKernel) -> Result<LinearizedKernel, Error> {
        self.done("isolate stores", isolate_stores(form.clone()))
    }

    fn done<T, E>(&self, pass: &'static str, res: Result<T, E>) -> Result<T, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        res.map_err(|source| Error::Refused { pass, kernel: self.kernel.clone(), source: Box::new(source) })
    }
}
