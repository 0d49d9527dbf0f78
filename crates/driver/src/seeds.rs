//! The kernels that a strategy starts from: the kernel itself, and whole-expression forms of it.
//!
//! # Input
//! A kernel in value form, a strategy with its options `seeds`, `time-seeds`, `forms` and `max-statements`, and the cost model.
//! # Output
//! Seeds, each an equal kernel in value form, without repetitions. The first is the kernel itself.
//! # Method
//! Forms meant for one seed explode in another, so each seed gets a small e-graph of its own and the cheapest result
//! wins: on real kernels this beats one large e-graph in result and in time. The work is listed first, then done in
//! parallel; seeds come in the order of the list. A seed that computes with tables is equal only within the tolerance
//! for tables, and says so. It is compared in floats with the kernel it came from; its results are compared with the
//! seed itself, exactly. A seed whose loops are unrolled is equal once the constants that meet there are folded, and says so, too.
//! Loops that run once, as forms make them of short loops, are replaced by their bodies, so that rules see numbers of tables instead of tables.

use std::borrow::Cow;

use indexmap::IndexMap;
use nestegg_forms::{
    CommonRoots, LinearMaps, Options, Selected, Shape, Stores, Sums, Tolerance, common_roots, eliminate_deltas,
    even_odd, interpolate, linear_maps, monomial_counts, paired_tables, point_features, separate, share_symmetric,
    split_digits, tabulate, traces,
};
use nestegg_ir::{Expr, Instruction, Kernel, Licence, LinearizedKernel};
use nestegg_rules::{OptionValue, ResolvedStrategy};
use nestegg_transform::shift::{self, share_shifted};
use nestegg_transform::{
    EqualTerms, Opened, SplitOptions, eliminate_dead, factor_sums, flatten_sums, isolate_stores, multiply_out,
    normalise_under, restrict_to_bands, roll_up, roll_up_sums, split_at_zeros, without_loops_of_one,
    write_out_components,
};
use rayon::prelude::*;

use crate::config::CostModel;
use crate::error::Error;
use crate::lineage::Lineages;
use crate::report::LimitHit;
use crate::same::is_same;
use crate::screen;
use crate::search::Told;
use crate::unrolled::{Names, Unrolled, smallest, unrolled};

/// Numbers of pieces that inames are cut into at most, one seed each.
const PIECES: [usize; 4] = [16, 4, 3, 2];

/// Results with more expressions than this, in value form, are not looked at for values that recur.
const MAX_RESULT_EXPRESSIONS: usize = 6_000;

/// `factored-if-cheaper` keeps a factored kernel only if the original costs more than this many times as much.
const MIN_GAIN: u128 = 2;

/// The name of the seed that is the kernel itself.
const AS_IT_IS: &str = "rolled";

/// The name of the seed in which powers are whole powers of roots.
const ROOTS: &str = "roots";

/// The name of the seed in which sums over components are written out.
const WRITTEN_OUT: &str = "written out";

/// The name of the seed in which loops that were written out are loops again.
const ROLLED_UP: &str = "rolled up";

/// The name of the seed in which written-out sums are reductions again, too.
const ROLLED_UP_SUMS: &str = "rolled up with sums";

/// The name of the seed without columns that are zero in the tables that run-time numbers select.
const TRACES: &str = "traces";

/// The name of the seed without short loops.
const UNROLLED: &str = "unrolled";

/// The name of a form of one of these.
fn named(of: &str, what: &str) -> String {
    if of == AS_IT_IS { what.to_owned() } else { format!("{of}, {what}") }
}

/// A kernel to start from.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    /// What was done to the kernel.
    pub(crate) name: String,
    /// The same without interpolation by fewer products, with which a kernel often costs nearly what it costs without.
    pub(crate) family: String,
    /// The kernel.
    pub(crate) linearized: LinearizedKernel,
    /// What was done to numbers; `None` where the seed is equal exactly.
    pub(crate) tolerance: Option<Tolerance>,
    /// The instructions that were unrolled, and constants in them folded.
    pub(crate) unrolled: Names,
    /// Whether it was made for the sake of time, so that its operations say little.
    pub(crate) is_for_time: bool,
    /// The rules that fired on the way to it, with how often.
    pub(crate) rules: Fired,
    /// What it was made of, where that is remembered.
    pub(crate) from: Lineages,
}

/// Rules that fired, with how often.
pub(crate) type Fired = IndexMap<String, u64>;

/// Adds how often rules fired.
pub(crate) fn add_fired<'a>(to: &mut Fired, more: impl IntoIterator<Item = (&'a String, u64)>) {
    more.into_iter().for_each(|(rule, times)| *to.entry(rule.clone()).or_default() += times);
}

/// The seeds that a run asks for, and the limits that left some out; the kernel itself if nothing else is.
pub(crate) fn seeds(form: &LinearizedKernel, told: Told<'_>) -> Result<(Vec<Seed>, Vec<LimitHit>), Error> {
    let Told { strategy, semantics, values, config, .. } = told;
    let mut wishes = Wishes::of(strategy, config.max_statements);
    if config.cost == CostModel::Time {
        wishes.kinds.extend(words(strategy, "time-seeds"));
    }
    let maker = Maker::new(form, wishes);
    let mut limits = Vec::new();
    let of_itself = maker.work(AS_IT_IS, form, &mut limits)?;
    // Where powers have common roots, everything else is made of these.
    let rooted = maker.rooted(form);
    let form = rooted.as_ref().map_or(form, |rooted| &rooted.linearized);
    let mut work: Vec<Task> = Vec::new();
    if rooted.is_some() {
        work.extend(maker.work(ROOTS, form, &mut limits)?.into_iter().map(Task::from));
    }
    if maker.wishes.wants("written-out")
        && let Some(written) = maker.done("write out", write_out_components(form))?
    {
        work.extend(maker.work(WRITTEN_OUT, &written, &mut limits)?.into_iter().map(Task::from));
    }
    if maker.wishes.wants("traces")
        && let Some(LinearMaps { linearized, tolerance, .. }) = maker.done("traces", traces(&maker.isolated(form)?))?
    {
        let of_traces = maker.work(TRACES, &eliminate_dead(linearized), &mut limits)?;
        let tolerance = changed(tolerance);
        work.extend(of_traces.into_iter().map(|work| Task { tolerance, ..Task::from(work) }));
    }
    for (name, base) in respelled(&maker, form, told)? {
        let of_base = maker.work(&name, &base, &mut limits)?;
        let is_rolled_up = [ROLLED_UP, ROLLED_UP_SUMS].contains(&name.as_str());
        // Sums that factoring made are not those in which digits cancel, and maps of them take long to find.
        let is_of_other_sums = |work: &Work| !is_rolled_up && matches!(work, Work::LinearMaps { sums: Sums::Kept, .. });
        work.extend(of_base.into_iter().filter(|work| !is_of_other_sums(work)).map(Task::from));
    }
    if maker.wishes.wants("unrolled")
        && let Some(Unrolled { after: linearized, .. }) = unrolled(form)
    {
        let unrolled = smallest(form, semantics.licence);
        let others = refactored(&maker, &linearized, Opened::WithNumbers);
        let others = others.into_iter().map(|(name, kernel)| (format!("{UNROLLED}, {name}"), kernel));
        for (name, base) in std::iter::once((UNROLLED.to_owned(), linearized)).chain(others) {
            let of_base = maker.work(&name, &base, &mut limits)?;
            work.extend(of_base.into_iter().map(|work| Task { unrolled: unrolled.clone(), ..Task::from(work) }));
        }
    }
    if let Some(rooted) = &rooted {
        // Linear maps of roots at each point have many monomials, which cost more than the powers.
        work.retain(|task| !rooted.varies || !matches!(task.work, Work::LinearMaps { .. }));
        let tolerance = changed(rooted.tolerance);
        work.iter_mut().for_each(|task| task.tolerance = both(tolerance, task.tolerance));
    }
    let work = of_itself.into_iter().map(Task::from).chain(work).collect();
    let (in_loops, work): (Vec<Task>, Vec<Task>) =
        within(without_repetition(work), told.only).into_iter().partition(|task| {
            config.cost == CostModel::Operations && matches!(task.work, Work::LinearMaps { shape: Shape::Loops, .. })
        });
    let made = make_all(&work, &maker, values)?;
    let in_loops: Vec<Task> = in_loops.into_iter().filter(|task| !has_shorter(task, &work, &made)).collect();
    let made_in_loops = make_all(&in_loops, &maker, values)?;
    let mut found = Vec::new();
    made.into_iter().chain(made_in_loops).flatten().for_each(|seed| add(&mut found, seed));
    if found.is_empty() {
        found.push(rolled(form));
    }
    Ok((found, limits))
}

/// What comes of each task, some side by side.
fn make_all(work: &[Task], maker: &Maker, values: &[(String, i64)]) -> Result<Vec<Vec<Seed>>, Error> {
    let made: Vec<Result<Vec<Seed>, Error>> = work.par_iter().map(|task| task.make(maker, values)).collect();
    made.into_iter().collect()
}

/// Whether the map of a task was made in straight-line code: in loops it takes no fewer operations.
fn has_shorter(task: &Task, work: &[Task], made: &[Vec<Seed>]) -> bool {
    let is_shorter = |other: &Task| match (&task.work, &other.work) {
        (
            Work::LinearMaps { of, selected, .. },
            Work::LinearMaps { of: of_other, selected: of_others, shape: Shape::StraightLine, .. },
        ) => of == of_other && selected == of_others,
        _ => false,
    };
    std::iter::zip(work, made).any(|(other, seeds)| is_shorter(other) && !seeds.is_empty())
}

/// The kernel written in other ways, as far as a strategy asks for them, each with its name.
fn respelled(
    maker: &Maker,
    form: &LinearizedKernel,
    Told { semantics, values, .. }: Told<'_>,
) -> Result<Vec<(String, LinearizedKernel)>, Error> {
    let mut res = Vec::new();
    if maker.wishes.wants("rolled-up") {
        let rolled = maker.done("roll up", roll_up(form))?;
        let sums = roll_up_sums(rolled.as_ref().unwrap_or(form));
        // Sums within sums are new sums of products; others are written out in what was rolled up, or in the kernel.
        let flat = sums.as_ref().map(|sums| maker.flattened(sums)).transpose()?.flatten();
        let of = |name: &'static str, kernel: &LinearizedKernel| {
            let refactored = refactored(maker, kernel, Opened::WithInames);
            refactored.into_iter().map(move |(what, kernel)| (format!("{name}, {what}"), kernel))
        };
        let refactored: Vec<_> = (rolled.iter().flat_map(|rolled| of(ROLLED_UP, rolled)))
            .chain(flat.iter().flat_map(|flat| of(ROLLED_UP_SUMS, flat)))
            .collect();
        res.extend(rolled.map(|rolled| (ROLLED_UP.to_owned(), rolled)));
        res.extend(flat.or(sums).map(|sums| (ROLLED_UP_SUMS.to_owned(), sums)));
        res.extend(refactored);
    }
    let flattened = if maker.wishes.wants("flattened") { maker.flattened(form)? } else { None };
    res.extend(flattened.clone().map(|flattened| ("flattened".to_owned(), flattened)));
    // Products of nested sums are multiplied out in one sum.
    let form = flattened.as_ref().unwrap_or(form);
    let named = |(name, kernel): (&str, LinearizedKernel)| (name.to_owned(), kernel);
    if maker.wishes.wants("factored-if-cheaper") {
        let cost = |kernel: &LinearizedKernel| Some(screen::before_rules(kernel, semantics, values)?.0);
        let factored = factored(form);
        let limit = if factored.is_empty() { None } else { cost(form) };
        let is_cheaper = |kernel: &LinearizedKernel| {
            cost(kernel).zip(limit).is_some_and(|(cost, limit)| cost.saturating_mul(MIN_GAIN) < limit)
        };
        res.extend(factored.into_iter().filter(|(_, kernel)| is_cheaper(kernel)).map(named));
    }
    // Where loops were written out, numbers stand where elements of tables were.
    let opened = if has_loops(&form.kernel) { Opened::WithInames } else { Opened::WithNumbers };
    res.extend(refactored(maker, form, opened).into_iter().map(named));
    Ok(res)
}

fn has_loops(kernel: &Kernel) -> bool {
    let is_in_loop = |instruction: &Instruction| !instruction.within.is_empty();
    kernel.instructions.iter().any(is_in_loop)
        || kernel.exprs.iter().any(|(_, expr)| matches!(expr, Expr::Reduce { .. }))
}

/// The kernel with its products multiplied out, and with its sums factored, as far as a strategy asks for that, each with its name.
fn refactored(maker: &Maker, form: &LinearizedKernel, opened: Opened) -> Vec<(&'static str, LinearizedKernel)> {
    let mut res = Vec::new();
    if maker.wishes.wants("factored") {
        res.extend(factored(form));
    }
    if maker.wishes.wants("multiplied-out") {
        res.extend(multiply_out(form, EqualTerms::Gathered, opened).map(|out| ("multiplied out", out)));
    }
    res
}

/// The kernel with its sums factored, as they are and once its products are multiplied out, each with its name.
fn factored(form: &LinearizedKernel) -> Vec<(&'static str, LinearizedKernel)> {
    let out = |equal_terms| multiply_out(form, equal_terms, Opened::WithInames);
    let out = out(EqualTerms::Kept).or_else(|| out(EqualTerms::Gathered));
    let as_it_is = factor_sums(form).map(|factored| ("factored", factored));
    let anew = out.as_ref().and_then(factor_sums).map(|factored| ("factored anew", factored));
    as_it_is.into_iter().chain(anew).collect()
}

/// What a strategy asks to be made of the tables of a kernel that selection made; `None` if that is nothing.
pub(crate) fn with_tables(selected: &Seed, strategy: &ResolvedStrategy<'_>) -> Result<Option<Seed>, Error> {
    let maker = Maker::new(&selected.linearized, Wishes::of(strategy, None));
    let mut res: Option<Seed> = None;
    for kind in ["tabulated", "even-odd"].into_iter().filter(|kind| maker.wishes.wants(kind)) {
        let from = res.as_ref().unwrap_or(selected);
        let kernel = &from.linearized;
        let found = maker.done(kind, if kind == "tabulated" { tabulate(kernel) } else { even_odd(kernel) })?;
        if let Some(LinearMaps { linearized, tolerance, .. }) = found {
            res = Some(from.derived(kind, linearized, Some(tolerance)));
        }
    }
    Ok(res)
}

/// The value form of a kernel that selection made.
pub(crate) fn form_of(selected: &Seed, licence: Licence) -> Result<Seed, Error> {
    let form = normalise_under(selected.linearized.clone(), licence);
    let linearized = done(&selected.linearized.kernel.name, "normalise", form)?;
    Ok(Seed { linearized, ..selected.clone() })
}

/// The forms that are small enough to be looked at for values that recur, and the limit that others exceed.
pub(crate) fn small(forms: Vec<Seed>) -> (Vec<Seed>, Option<LimitHit>) {
    let (small, large): (Vec<Seed>, Vec<Seed>) =
        forms.into_iter().partition(|form| form.linearized.kernel.exprs.len() <= MAX_RESULT_EXPRESSIONS);
    let value = Some(MAX_RESULT_EXPRESSIONS as u64);
    let place = "seeds shifted-results".to_owned();
    (small, (!large.is_empty()).then(|| LimitHit { place, limit: "expressions".to_owned(), value }))
}

/// A seed with the values that recur in it kept in arrays; `None` if none do.
pub(crate) fn shifted(form: &Seed, values: &[(String, i64)]) -> Result<Option<Seed>, Error> {
    let found = done(&form.linearized.kernel.name, "share shifted", share_shifted(&form.linearized, values))?;
    Ok(found.map(|found| form.derived("shifted", found, None)))
}

/// Whether a strategy asks for a kind of seeds.
pub(crate) fn wants(strategy: &ResolvedStrategy<'_>, kind: &str) -> bool {
    Wishes::of(strategy, None).wants(kind)
}

/// The kernel itself, whatever a strategy asks for.
pub(crate) fn rolled(form: &LinearizedKernel) -> Seed {
    Seed::exact(AS_IT_IS, form.clone())
}

/// The words of an option.
pub(crate) fn words(strategy: &ResolvedStrategy<'_>, option: &str) -> Vec<String> {
    match strategy.options.get(option) {
        Some(OptionValue::Words(words)) => words.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// What a strategy asks for.
struct Wishes {
    kinds: Vec<String>,
    options: Options,
}

impl Wishes {
    fn of(strategy: &ResolvedStrategy<'_>, max_statements: Option<u64>) -> Self {
        let of_strategy = match strategy.options.get("max-statements") {
            Some(OptionValue::Integer(limit)) => Some(*limit),
            _ => None,
        };
        let max_statements = max_statements
            .or(of_strategy)
            .map_or(Options::DEFAULT_MAX_STATEMENTS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let forms = words(strategy, "forms");
        let has = |form: &str| forms.iter().any(|word| word == form);
        let options = Options {
            shape: Shape::StraightLine,
            stores: Stores::Together,
            sums: Sums::Expanded,
            basis: has("basis"),
            moments: has("moments"),
            row_differences: has("row-differences"),
            pairs: has("common-pairs"),
            scalars: has("scalar-algebra"),
            max_statements,
            max_monomials: None,
            selected: Selected::Scalars,
        };
        Self { kinds: words(strategy, "seeds"), options }
    }

    fn wants(&self, kind: &str) -> bool {
        self.kinds.iter().any(|word| word == kind)
    }
}

impl Seed {
    fn exact(name: &str, linearized: LinearizedKernel) -> Self {
        Self {
            name: name.to_owned(),
            family: name.to_owned(),
            linearized,
            tolerance: None,
            unrolled: Names::new(),
            is_for_time: false,
            rules: Fired::default(),
            from: Lineages::new(),
        }
    }

    /// A kernel with computed tables.
    fn computed(name: String, LinearMaps { linearized, tolerance, .. }: LinearMaps) -> Self {
        let linearized = tidy(linearized);
        Self { tolerance: Some(tolerance), ..Self::exact(&name, linearized) }
    }

    /// A form of this seed; it is no more exact than the seed.
    fn derived(&self, what: &str, linearized: LinearizedKernel, tolerance: Option<Tolerance>) -> Self {
        Self {
            name: format!("{}, {what}", self.name),
            family: format!("{}, {what}", self.family),
            linearized: tidy(linearized),
            tolerance: both(self.tolerance, tolerance),
            unrolled: self.unrolled.clone(),
            is_for_time: self.is_for_time,
            rules: self.rules.clone(),
            from: self.from.clone(),
        }
    }
}

/// A form without dead code and without loops that run once.
fn tidy(form: LinearizedKernel) -> LinearizedKernel {
    eliminate_dead(without_loops_of_one(&form).unwrap_or(form))
}

/// What two steps did to numbers, one after the other.
fn both(before: Option<Tolerance>, after: Option<Tolerance>) -> Option<Tolerance> {
    match (before, after) {
        (Some(before), Some(after)) => Some(before.and(after)),
        (before, after) => after.or(before),
    }
}

/// What a form did to numbers; `None` if nothing.
fn changed(tolerance: Tolerance) -> Option<Tolerance> {
    (tolerance.n_changed > 0).then_some(tolerance)
}

/// Seeds without those that would repeat one before.
pub(crate) fn distinct(seeds: Vec<Seed>) -> Vec<Seed> {
    let mut res = Vec::new();
    seeds.into_iter().for_each(|seed| add(&mut res, seed));
    res
}

/// Adds a seed that would not repeat another.
fn add(found: &mut Vec<Seed>, seed: Seed) {
    // What changed numbers does not stand for what did not.
    let is_known = found.iter().any(|known| {
        (known.tolerance.is_none() || seed.tolerance.is_some()) && is_same(&known.linearized, &seed.linearized)
    });
    if !is_known {
        found.push(seed);
    }
}

/// A step on the way to seeds that needs no other.
enum Work {
    /// A base, as it is or split, and its forms.
    Variant(Seed),
    /// Stores of which few monomials are linear maps, up to so many.
    Integrands { of: String, isolated: LinearizedKernel, limit: u64, selected: Selected },
    /// Sharing of what is the same elsewhere.
    Shifted { of: String, form: LinearizedKernel },
    /// Stores as linear maps.
    LinearMaps {
        of: String,
        name: &'static str,
        isolated: LinearizedKernel,
        shape: Shape,
        sums: Sums,
        selected: Selected,
    },
}

impl Work {
    /// What the names of its seeds begin with.
    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Variant(variant) => Cow::Borrowed(&variant.name),
            Self::Integrands { of, limit, selected, .. } => {
                let of_families = if *selected == Selected::Families { " of families" } else { "" };
                Cow::Owned(named(of, &format!("integrands{of_families} up to {limit}")))
            }
            Self::Shifted { of, .. } => Cow::Owned(named(of, "shifted")),
            Self::LinearMaps { of, name, .. } => Cow::Owned(named(of, name)),
        }
    }
}

/// A step, and what was done before it: the instructions that were unrolled, and what became of numbers.
struct Task {
    work: Work,
    unrolled: Names,
    tolerance: Option<Tolerance>,
}

impl From<Work> for Task {
    fn from(work: Work) -> Self {
        Self { work, unrolled: Names::new(), tolerance: None }
    }
}

impl Task {
    /// The seeds that come of it.
    fn make(&self, maker: &Maker, values: &[(String, i64)]) -> Result<Vec<Seed>, Error> {
        let seeds = maker.make(&self.work, values)?;
        let with_before = |seed: Seed| Seed {
            unrolled: self.unrolled.clone(),
            tolerance: both(self.tolerance, seed.tolerance),
            ..seed
        };
        Ok(seeds.into_iter().map(with_before).collect())
    }
}

/// A form of a kernel whose stores are in loops of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Pairs,
    Symmetric,
    Features(Sums, Stores),
}

impl Form {
    const ALL: [Self; 5] = [
        Self::Pairs,
        Self::Symmetric,
        Self::Features(Sums::Expanded, Stores::Together),
        Self::Features(Sums::Expanded, Stores::Apart),
        Self::Features(Sums::Kept, Stores::Together),
    ];

    /// What strategies call it.
    fn kind(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Symmetric => "symmetric",
            Self::Features(..) => "features",
        }
    }
}

/// The tasks whose seeds these results came from, or all tasks where they came from none.
fn within(work: Vec<Task>, only: Option<&[String]>) -> Vec<Task> {
    let Some(results) = only else { return work };
    let is_of_any = |task: &Task| {
        let name = task.work.name();
        results.iter().any(|result| result.contains(&*name))
    };
    let (of_results, others): (Vec<Task>, Vec<Task>) = work.into_iter().partition(is_of_any);
    if of_results.is_empty() { others } else { of_results }
}

/// Work without variants that came before: of the same one come the same seeds again.
fn without_repetition(work: Vec<Task>) -> Vec<Task> {
    let mut res: Vec<Task> = Vec::with_capacity(work.len());
    for next in work {
        let is_known = |known: &Task| match (&known.work, &next.work) {
            (Work::Variant(known), Work::Variant(next)) => is_same(&known.linearized, &next.linearized),
            _ => false,
        };
        if !res.iter().any(is_known) {
            res.push(next);
        }
    }
    res
}

/// Makes seeds of one kernel.
struct Maker {
    kernel: String,
    wishes: Wishes,
}

impl Maker {
    fn new(form: &LinearizedKernel, wishes: Wishes) -> Self {
        Self { kernel: form.kernel.name.clone(), wishes }
    }

    /// All that is to be done for one kernel, which has this name.
    fn work(&self, name: &str, form: &LinearizedKernel, limits: &mut Vec<LimitHit>) -> Result<Vec<Work>, Error> {
        let bases = self.bases(name, form)?;
        // The kernel as it is, with interpolation by fewer products where that was found, in all numbers of pieces; others have what few pieces find in finer ones.
        let in_all_pieces = bases.iter().rposition(|base| base.name.starts_with(name));
        let pieces = |idx| if Some(idx) == in_all_pieces { PIECES.as_slice() } else { &PIECES[..1] };
        let variants: Vec<Result<Vec<Seed>, Error>> =
            bases.into_par_iter().enumerate().map(|(idx, base)| self.variants(base, pieces(idx))).collect();
        let mut res = Vec::new();
        for variants in variants {
            res.extend(variants?.into_iter().map(Work::Variant));
        }
        self.add_integrands(name, form, &mut res)?;
        self.add_shifted(name, form, &mut res, limits);
        self.add_linear_maps(name, form, &mut res)?;
        Ok(res)
    }

    /// The seeds that come of a step.
    fn make(&self, work: &Work, values: &[(String, i64)]) -> Result<Vec<Seed>, Error> {
        match work {
            Work::Variant(variant) => self.forms(variant),
            Work::Integrands { isolated, limit, selected, .. } => {
                self.integrands(&work.name(), isolated, *limit, *selected)
            }
            Work::Shifted { form, .. } => {
                let shifted = self.done("share shifted", share_shifted(form, values))?;
                Ok(shifted.map(|shifted| Seed::exact(&work.name(), shifted)).into_iter().collect())
            }
            Work::LinearMaps { isolated, shape, sums, selected, .. } => {
                let options = Options { shape: *shape, sums: *sums, selected: *selected, ..self.wishes.options };
                let found = self.done("linear maps", linear_maps(isolated, &options))?;
                let is_for_time = *shape == Shape::Dense;
                let seed = |found| Seed { is_for_time, ..Seed::computed(work.name().into_owned(), found) };
                Ok(found.map(seed).into_iter().collect())
            }
        }
    }

    /// The kernel with powers as whole powers of common roots, if that is asked for.
    fn rooted(&self, form: &LinearizedKernel) -> Option<CommonRoots> {
        let may_round = self.wishes.wants("rounded-roots");
        (may_round || self.wishes.wants("common-roots")).then(|| common_roots(form, may_round))?
    }

    /// The kernel with one sum in place of nested ones; `None` if there are none.
    fn flattened(&self, form: &LinearizedKernel) -> Result<Option<LinearizedKernel>, Error> {
        self.done("flatten sums", flatten_sums(form))
    }

    /// The kernel, and with other reductions: over digits, without identity tables, with interpolation by differences.
    fn bases(&self, name: &str, form: &LinearizedKernel) -> Result<Vec<Seed>, Error> {
        let mut res = vec![Seed::exact(name, form.clone())];
        if self.wishes.wants("digits")
            && let Some(LinearMaps { linearized, tolerance, .. }) = self.done("digits", split_digits(form))?
        {
            res.push(Seed { tolerance: changed(tolerance), ..Seed::exact(&named(name, "digits"), linearized) });
        }
        if self.wishes.wants("separated")
            && let Some(separated) = self.done("separate", separate(&self.isolated(form)?))?
            && let Some(split) = self.done("digits", split_digits(&separated.linearized))?
        {
            let tolerance = separated.tolerance.and(split.tolerance);
            let linearized = eliminate_dead(split.linearized);
            res.push(Seed { tolerance: Some(tolerance), ..Seed::exact(&named(name, "separated"), linearized) });
        }
        if self.wishes.wants("deltas") {
            let isolated = self.isolated(form)?;
            let without = self.done("deltas", eliminate_deltas(&isolated))?;
            res.extend(without.map(|without| Seed::exact(&named(name, "deltas"), eliminate_dead(without))));
        }
        if self.wishes.wants("band") {
            let banded = self.done("band", restrict_to_bands(form))?;
            res.extend(banded.map(|banded| Seed::exact(&named(name, "band"), banded)));
        }
        if self.wishes.wants("interpolation") {
            let mut interpolated = Vec::new();
            for base in &res {
                interpolated.extend(self.interpolated(base)?);
            }
            res.extend(interpolated);
        }
        Ok(res)
    }

    /// A seed with interpolation by fewer products.
    fn interpolated(&self, seed: &Seed) -> Result<Option<Seed>, Error> {
        let found = self.done("interpolation", interpolate(&seed.linearized))?;
        Ok(found.map(|found| Seed {
            family: seed.family.clone(),
            ..seed.derived("interpolation", found.linearized, Some(found.tolerance))
        }))
    }

    /// A base as it is and split at zeros.
    fn variants(&self, base: Seed, pieces: &[usize]) -> Result<Vec<Seed>, Error> {
        let mut split = Vec::new();
        if self.wishes.wants("split") {
            for &pieces in pieces {
                let options = SplitOptions {
                    max_instructions: SplitOptions::DEFAULT_MAX_INSTRUCTIONS,
                    max_pieces_per_iname: pieces,
                };
                let found = self.done("split at zeros", split_at_zeros(base.linearized.clone(), &options))?;
                split.extend(found.map(|found| base.derived(&format!("split into {pieces}"), found, None)));
            }
        }
        Ok(std::iter::once(base).chain(split).collect())
    }

    /// Forms of a variant whose stores are in loops of their own, and the variant itself where it is a seed.
    fn forms(&self, variant: &Seed) -> Result<Vec<Seed>, Error> {
        let wanted: Vec<Form> = Form::ALL.into_iter().filter(|form| self.wishes.wants(form.kind())).collect();
        let mut res = Vec::new();
        if !wanted.is_empty() {
            let isolated = self.isolated(&variant.linearized)?;
            let made: Vec<_> = wanted.par_iter().map(|&form| self.form(form, variant, &isolated)).collect();
            for seed in made {
                res.extend(seed?);
            }
        }
        if self.takes(variant) {
            res.push(variant.clone());
        }
        Ok(res)
    }

    fn form(&self, form: Form, variant: &Seed, isolated: &LinearizedKernel) -> Result<Option<Seed>, Error> {
        let computed = |name, found: Option<LinearMaps>| {
            found.map(|found| variant.derived(name, found.linearized, Some(found.tolerance)))
        };
        Ok(match form {
            Form::Pairs => computed("pairs", self.done("pairs", paired_tables(isolated, &self.wishes.options))?),
            Form::Symmetric => {
                let found = self.done("symmetric", share_symmetric(isolated))?;
                found.map(|linearized| variant.derived("symmetric", linearized, None))
            }
            Form::Features(sums, stores) => {
                let name = match (sums, stores) {
                    (Sums::Expanded, Stores::Together) => "features",
                    (Sums::Expanded, Stores::Apart) => "features of each store",
                    (Sums::Kept, _) => "features of sums",
                };
                let options = Options { sums, stores, ..self.wishes.options };
                computed(name, self.done("features", point_features(isolated, &options))?)
            }
        })
    }

    /// Whether a variant is a seed itself.
    fn takes(&self, variant: &Seed) -> bool {
        variant.name != AS_IT_IS || self.wishes.kinds.is_empty() || self.wishes.wants(AS_IT_IS)
    }

    fn add_shifted(&self, of: &str, form: &LinearizedKernel, work: &mut Vec<Work>, limits: &mut Vec<LimitHit>) {
        if !self.wishes.wants("shifted") {
            return;
        }
        if shift::exceeds_limit(form) {
            let value = Some(shift::MAX_EXPRESSIONS as u64);
            let place = format!("seed {}", named(of, "shifted"));
            limits.push(LimitHit { place, limit: "expressions".to_owned(), value });
        }
        work.push(Work::Shifted { of: of.to_owned(), form: form.clone() });
    }

    fn add_integrands(&self, of: &str, form: &LinearizedKernel, work: &mut Vec<Work>) -> Result<(), Error> {
        if self.wishes.wants("integrands") {
            let isolated = self.isolated(form)?;
            let limits = self.done("integrands", monomial_counts(&isolated))?;
            for limit in limits {
                for selected in [Selected::Scalars, Selected::Families] {
                    let isolated = isolated.clone();
                    work.push(Work::Integrands { of: of.to_owned(), isolated, limit, selected });
                }
            }
        }
        Ok(())
    }

    /// Stores of which few monomials are linear maps, and the rest sums over points.
    fn integrands(
        &self,
        name: &str,
        isolated: &LinearizedKernel,
        limit: u64,
        selected: Selected,
    ) -> Result<Vec<Seed>, Error> {
        let options = Options { max_monomials: Some(limit), selected, ..self.wishes.options };
        let Some(found) = self.done("integrands", linear_maps(isolated, &options))? else { return Ok(Vec::new()) };
        let mut base = Seed::computed(name.to_owned(), found);
        if self.wishes.wants("interpolation")
            && let Some(interpolated) = self.interpolated(&base)?
        {
            base = interpolated;
        }
        let mut res = Vec::new();
        if self.wishes.wants("features") {
            let isolated = self.isolated(&base.linearized)?;
            let features = self.done("features", point_features(&isolated, &self.wishes.options))?;
            res.extend(features.map(|found| base.derived("features", found.linearized, Some(found.tolerance))));
        }
        res.push(base);
        Ok(res)
    }

    /// Stores as linear maps, in straight-line code and in loops.
    fn add_linear_maps(&self, of: &str, form: &LinearizedKernel, work: &mut Vec<Work>) -> Result<(), Error> {
        let kinds = [
            ("linear-map", "linear-map", Shape::StraightLine, Sums::Expanded, Selected::Scalars),
            ("linear-map", "linear-map of sums", Shape::StraightLine, Sums::Kept, Selected::Scalars),
            ("linear-map", "linear-map of families", Shape::StraightLine, Sums::Expanded, Selected::Families),
            ("linear-map", "linear-map of sums of families", Shape::StraightLine, Sums::Kept, Selected::Families),
            ("merged", "merged", Shape::Loops, Sums::Expanded, Selected::Scalars),
            ("dense", "dense", Shape::Dense, Sums::Expanded, Selected::Scalars),
        ];
        for (kind, name, shape, sums, selected) in kinds {
            if self.wishes.wants(kind) {
                let isolated = self.isolated(form)?;
                work.push(Work::LinearMaps { of: of.to_owned(), name, isolated, shape, sums, selected });
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
        done(&self.kernel, pass, res)
    }
}

/// What a pass made of a kernel.
fn done<T, E>(kernel: &str, pass: &'static str, res: Result<T, E>) -> Result<T, Error>
where
    E: std::error::Error + Send + Sync + 'static,
{
    res.map_err(|source| Error::Refused { pass, kernel: kernel.to_owned(), source: Box::new(source) })
}
