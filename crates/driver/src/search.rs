//! From a kernel as it came to the cheapest equal one that a strategy finds.
//!
//! # Input
//! A checked program, a strategy, and values for parameters.
//! # Output
//! A linearized kernel with the same meaning, and what happened on the way.
//! # Method
//! The stages in their order: linearize, normalise, fold, join domains, encode, saturate, select, realize, schedule. A strategy without phases
//! that takes forms as they are leaves the kernel as it came, but for dead code. Every pass takes what the one before it
//! made; none knows of another.
//! Each seed that the strategy asks for gets an e-graph of its own. Of what selection made of those that came near the best, with its reductions in order and its
//! temporaries in arrays, further seeds are made. The result with the fewest operations is kept, of equals one that is equal to the kernel exactly, and the first of these.

use indexmap::IndexMap;
use nestegg_egraph::pattern::Functions;
use nestegg_egraph::{encode, saturate};
use nestegg_extract::{Cost, Extracted, Search};
use nestegg_forms::Tolerance;
use nestegg_ir::domains::Domains;
use nestegg_ir::{Array, FunctionId, Item, Kernel, LinearizedKernel, Program, Semantics, Traps};
use nestegg_rules::{OptionValue, ResolvedStrategy};

use crate::config::{Config, Validation};
use crate::count::operations;
use crate::error::Error;
use crate::probabilities::Probabilities;
use crate::report::{Gap, LimitHit};
use crate::seeds::{self, Seed};
use crate::stages::{Stages, VALIDATE};
use crate::temporaries;
use crate::validation;

/// The name of the input among seeds, where no seed gave anything better.
pub(crate) const AS_IT_CAME: &str = "as it came";

/// Pairs of a kernel and what was made of it.
pub(crate) type Folds = Vec<(LinearizedKernel, LinearizedKernel)>;

/// What a strategy made of a kernel.
#[derive(Debug)]
pub(crate) struct Found {
    /// The result.
    pub program: LinearizedKernel,
    /// What selection made of the seed, before reductions were realized and loops scheduled.
    pub selected: Option<Seed>,
    /// The seed that it was made of.
    pub seed: String,
    /// Operations of what was made of each seed.
    pub seeds: IndexMap<String, u128>,
    /// That seed and what was done to its numbers, if it is not equal to the input exactly.
    pub approximated: Option<(LinearizedKernel, Tolerance)>,
    /// Kernels before and after constants were folded that are equal to the bit, but not in exact arithmetic, in the order of passes.
    pub folds: Folds,
    /// Rules that found something, with how often.
    pub rules: IndexMap<String, u64>,
    /// Limits that were hit.
    pub limits: Vec<LimitHit>,
    /// How far the choice can be from the best one.
    pub gap: Gap,
    /// Operations that each temporary saves, by its name.
    pub saved: IndexMap<String, u128>,
}

/// Runs a strategy on a program.
pub(crate) fn search(
    input: &Program,
    strategy: &ResolvedStrategy<'_>,
    semantics: Semantics,
    values: &[(String, i64)],
    config: &Config,
    stages: &mut Stages,
) -> Result<Found, Error> {
    let search = selection(strategy, Cost::INFINITE);
    if search == Search::BottomUp && strategy.phases.is_empty() {
        let program = stages.run("eliminate dead", || as_it_came(input))?;
        return Ok(Found::untouched(program));
    }
    let linearized = stages.run("linearize", || linearized(input).map(nestegg_transform::eliminate_empty))?;
    let mut pass = Passes { kernel: linearized.kernel.name.clone(), semantics, values, compared: None };
    let (form, folds) = value_form(linearized, &pass, stages)?;
    pass.compared = (config.validation == Validation::EachSeed).then_some((input, folds.as_slice()));
    let mut race =
        Race { best: None, costs: IndexMap::new(), selected: IndexMap::new(), limits: Vec::new(), values, config };
    let seeds = if keeps_places(&form, &pass)? {
        race.limits.push(LimitHit { place: "seeds".to_owned(), limit: "traps".to_owned(), value: None });
        vec![seeds::rolled(&form)]
    } else {
        stages.run("seeds", || seeds::seeds(&form, strategy, (values, config.max_statements)))?
    };
    let trial = with_nodes(strategy, if seeds.len() > 1 { TRIAL } else { 1 });
    let mut unfinished = Vec::new();
    for seed in seeds {
        let found = optimized(&seed, &pass, &trial, race.worth_proving(), stages)?;
        let is_finished = found.limits.iter().all(|hit| hit.limit != "nodes");
        let cost = race.enter(found)?;
        if !is_finished && trial.phases.iter().zip(&strategy.phases).any(|(trial, full)| trial.nodes < full.nodes) {
            unfinished.push((cost, seed));
        }
    }
    unfinished.sort_by_key(|seed| seed.0);
    for (cost, seed) in unfinished {
        if race.best.as_ref().is_none_or(|best| cost <= best.0.0.saturating_mul(PROMISING)) {
            race.enter(optimized(&seed, &pass, strategy, race.worth_proving(), stages)?)?;
        }
    }
    for selected in race.promising() {
        if let Some(seed) = stages.run("seeds", || seeds::of_selected(&selected, strategy))? {
            race.enter(optimized(&seed, &pass, &trial, race.worth_proving(), stages)?)?;
        }
    }
    let Race { best, costs, limits, .. } = race;
    match best {
        Some((_, mut found)) => {
            found.limits.extend(limits);
            Ok(Found { seeds: costs, folds, ..found })
        }
        // Nothing may be taken: the kernel stays as it came.
        None => Ok(Found { limits, ..Found::untouched(as_it_came(input)?) }),
    }
}

/// How often a kernel is brought to value form again because constants decided something.
const MAX_ROUNDS: usize = 3;

/// The value form of a kernel with its constants folded and enclosed domains joined, and where that was done to the bit only.
fn value_form(
    linearized: LinearizedKernel,
    pass: &Passes<'_>,
    stages: &mut Stages,
) -> Result<(LinearizedKernel, Folds), Error> {
    let mut folds = Vec::new();
    let mut form = linearized;
    for _ in 0..MAX_ROUNDS {
        let normalise = || nestegg_transform::normalise_under(form, pass.semantics.licence);
        form = stages.run("normalise", || pass.done("normalise", normalise()))?;
        pass.verified("normalise", &form)?;
        let Some(folded) = stages.run("fold", || nestegg_transform::fold_constants(&form)) else { break };
        pass.verified("fold", &folded.linearized)?;
        let before = std::mem::replace(&mut form, folded.linearized);
        if folded.n_rounded > 0 {
            folds.push((before, form.clone()));
        }
        let has_temporaries = form.kernel.arrays.iter().any(Array::is_temporary);
        if !folded.decides || !has_temporaries {
            break;
        }
    }
    let form = stages.run("join domains", || pass.done("join domains", nestegg_transform::join_domains(form)))?;
    pass.verified("join domains", &form)?;
    Ok((form, folds))
}

/// Whether floats of a kernel may trap under its conditions: whole-expression forms do not look at these.
fn keeps_places(form: &LinearizedKernel, pass: &Passes<'_>) -> Result<bool, Error> {
    if pass.semantics.traps == Traps::Ignore {
        return Ok(false);
    }
    let context = nestegg_isl::Context::new();
    let domains = pass.done("encode", Domains::new(&context, &form.kernel))?.with_values(pass.values);
    Ok(pass.done("encode", encode::encode(form, &domains, pass.semantics))?.guards_floats())
}

/// Where there are several seeds, each is tried with this part of the e-nodes that a strategy allows first.
const TRIAL: u32 = 10;

/// Seeds that hit that limit are tried with all of the nodes, and seeds are made of results, if they cost at most this many times the best then.
const PROMISING: u128 = 2;

/// A strategy with a part of its e-nodes.
fn with_nodes<'b>(strategy: &ResolvedStrategy<'b>, part: u32) -> ResolvedStrategy<'b> {
    let mut res = strategy.clone();
    for phase in &mut res.phases {
        phase.nodes = (phase.nodes / part).max(1);
    }
    res
}

/// The results of seeds, and the best of them: of equal costs what is equal to the input exactly, then the first.
struct Race<'a> {
    best: Option<((u128, bool), Found)>,
    /// Operations of what was made of each seed.
    costs: IndexMap<String, u128>,
    /// What selection made of each seed, and what came of it.
    selected: IndexMap<String, (u128, Seed)>,
    /// Limits that kept results from being taken.
    limits: Vec<LimitHit>,
    values: &'a [(String, i64)],
    config: &'a Config,
}

impl Race<'_> {
    /// Up to what a result may cost to be worth a proof: that of the best.
    fn worth_proving(&self) -> Cost {
        self.best.as_ref().map_or(Cost::INFINITE, |best| Cost::new(best.0.0))
    }

    /// What selection made of seeds that came near the best.
    fn promising(&mut self) -> Vec<Seed> {
        let Some(best) = self.best.as_ref().map(|best| best.0.0) else { return Vec::new() };
        let all = std::mem::take(&mut self.selected).into_values();
        all.filter(|(cost, _)| *cost <= best.saturating_mul(PROMISING)).map(|(_, seed)| seed).collect()
    }

    /// Takes a result if it is the best; answers its cost.
    fn enter(&mut self, mut found: Found) -> Result<u128, Error> {
        let cost = operations(&Program::Linearized(found.program.clone()), self.values)?.total;
        if let Some(selected) = found.selected.take()
            && self.selected.get(&found.seed).is_none_or(|known| cost < known.0)
        {
            self.selected.insert(found.seed.clone(), (cost, selected));
        }
        if let (Some(limit), needed) = (self.config.memory, temporaries::bytes(&found.program, self.values))
            && needed.is_none_or(|needed| needed > u128::from(limit))
        {
            let hit = LimitHit { place: found.seed, limit: "memory".to_owned(), value: Some(limit) };
            if !self.limits.contains(&hit) {
                self.limits.push(hit);
            }
            return Ok(cost);
        }
        let known = self.costs.entry(found.seed.clone()).or_insert(cost);
        *known = cost.min(*known);
        let rank = (cost, found.approximated.is_some());
        if self.best.as_ref().is_none_or(|best| rank < best.0) {
            self.best = Some((rank, found));
        }
        Ok(cost)
    }
}

/// The cheapest kernel that the rules make of one seed. How near the best it is matters up to a cost.
fn optimized(
    seed: &Seed,
    pass: &Passes<'_>,
    strategy: &ResolvedStrategy<'_>,
    worth_proving: Cost,
    stages: &mut Stages,
) -> Result<Found, Error> {
    let form = &seed.linearized;
    pass.verified("seeds", form)?;
    let context = nestegg_isl::Context::new();
    let (search, licence) = (selection(strategy, worth_proving), pass.semantics.licence);
    let (domains, mut encoded) = stages.run("encode", || {
        let domains = pass.done("encode", Domains::new(&context, &form.kernel))?.with_values(pass.values);
        let encoded = pass.done("encode", encode::encode(form, &domains, pass.semantics))?;
        Ok::<_, Error>((domains, encoded))
    })?;
    let functions = functions(&form.kernel);
    let probabilities = Probabilities::of(&form.kernel);
    let probability = |condition| probabilities.get(&form.kernel, condition);
    let saturation = stages
        .run("saturate", || pass.done("saturate", saturate::saturate(&mut encoded.graph, strategy, &functions)))?;
    let extracted = stages.run("select", || {
        pass.done("select", nestegg_extract::extract(form, encoded, &domains, search, &probability))
    })?;
    let Extracted { constructed, selection } = extracted;
    pass.verified("select", &constructed.linearized)?;
    let selected = Seed { linearized: constructed.linearized.clone(), name: seed.name.clone(), ..*seed };
    let realized = stages.run("realize", || {
        pass.done("realize", nestegg_schedule::realize_reductions_under(constructed.linearized, licence))
    })?;
    pass.verified("realize", &realized)?;
    let scheduled =
        stages.run("schedule", || pass.done("schedule", nestegg_schedule::schedule_under(realized, licence)))?;
    pass.verified("schedule", &scheduled)?;
    let program = stages
        .run("eliminate dead", || nestegg_transform::eliminate_dead(nestegg_transform::eliminate_empty(scheduled)));
    let gap = if selection.bound > Cost::ZERO {
        Gap::Proved { lower_bound: selection.bound.operations(), cost: selection.cost.operations() }
    } else {
        Gap::NotProved
    };
    let saved = constructed.temporaries.iter().map(|temporary| (temporary.name.clone(), temporary.saved.operations()));
    let found = Found {
        program,
        selected: Some(selected),
        seed: seed.name.clone(),
        seeds: IndexMap::new(),
        approximated: seed.tolerance.map(|tolerance| (form.clone(), tolerance)),
        folds: Vec::new(),
        rules: saturation.fired.iter().map(|(rule, &times)| (rule.clone(), times as u64)).collect(),
        limits: limits(strategy, &saturation, &selection.limits_hit),
        gap,
        saved: saved.collect(),
    };
    if let Some((input, folds)) = pass.compared {
        stages.run(VALIDATE, || validation::check_seed(input, folds, &found, pass.values, licence))?;
    }
    Ok(found)
}

impl Found {
    /// Whether a result differs from the input, without its dead code, in nothing but its order.
    pub(crate) fn is_only_reordered(&self, input: &LinearizedKernel, values: &[(String, i64)]) -> bool {
        let bytes = |program: &LinearizedKernel| temporaries::bytes(program, values);
        let has_conditions = |program: &LinearizedKernel| {
            let kernel = &program.kernel;
            kernel.instructions.iter().any(|instruction| !instruction.predicates.is_empty())
                || program.linearization.iter().any(|item| matches!(item, Item::If(_)))
        };
        self.saved.is_empty()
            && self.program.linearization != input.linearization
            && !has_conditions(input)
            && !has_conditions(&self.program)
            && bytes(&self.program) == bytes(input)
            && self.program.kernel.instructions.len() == input.kernel.instructions.len()
    }

    /// What was found does more operations than the input, which is the result instead.
    pub(crate) fn refused(self, input: LinearizedKernel, operations: u128) -> Self {
        let limits = self.limits;
        let seeds = if self.seeds.is_empty() { IndexMap::from([(self.seed, operations)]) } else { self.seeds };
        Self { seeds, limits, seed: AS_IT_CAME.to_owned(), rules: self.rules, ..Self::untouched(input) }
    }

    /// A result that no rule had a part in.
    fn untouched(program: LinearizedKernel) -> Self {
        Self {
            program,
            selected: None,
            seed: "rolled".to_owned(),
            seeds: IndexMap::new(),
            approximated: None,
            folds: Vec::new(),
            rules: IndexMap::new(),
            limits: Vec::new(),
            gap: Gap::NotProved,
            saved: IndexMap::new(),
        }
    }
}

/// A program in its order, without its dead code and what never runs.
pub(crate) fn as_it_came(input: &Program) -> Result<LinearizedKernel, Error> {
    Ok(nestegg_transform::eliminate_dead(nestegg_transform::eliminate_empty(linearized(input)?)))
}

/// Errors of passes, with the kernel's name; what passes must keep, and the values of parameters that they count with.
struct Passes<'a> {
    kernel: String,
    semantics: Semantics,
    values: &'a [(String, i64)],
    /// The input and its folded constants, where every result is compared with it.
    compared: Option<(&'a Program, &'a [(LinearizedKernel, LinearizedKernel)])>,
}

impl Passes<'_> {
    fn done<T, E>(&self, pass: &'static str, res: Result<T, E>) -> Result<T, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        res.map_err(|source| Error::Refused { pass, kernel: self.kernel.clone(), source: Box::new(source) })
    }

    /// Refuses what a pass made if it is no kernel.
    fn verified(&self, pass: &'static str, linearized: &LinearizedKernel) -> Result<(), Error> {
        no_violations(pass, &linearized.kernel, Some(&linearized.linearization))
    }
}

/// Refuses what a pass made if it is no kernel.
pub(crate) fn verified(pass: &'static str, program: &Program) -> Result<(), Error> {
    no_violations(pass, program.kernel(), program.linearization().map(Vec::as_slice))
}

fn no_violations(pass: &'static str, kernel: &Kernel, linearization: Option<&[Item]>) -> Result<(), Error> {
    let violations = nestegg_ir::verify::verify_parts(kernel, linearization);
    if violations.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = violations.iter().take(5).map(|error| error.violation.to_string()).collect();
    Err(Error::Broken { pass, kernel: kernel.name.clone(), violations: shown.join("; ") })
}

/// The kernel in its order.
pub(crate) fn linearized(input: &Program) -> Result<LinearizedKernel, Error> {
    let kernel = input.kernel().name.clone();
    input.clone().into_linearized().map_err(|source| Error::Order { kernel, source })
}

/// How the strategy wants forms chosen.
fn selection(strategy: &ResolvedStrategy<'_>, worth_proving: Cost) -> Search {
    match strategy.options.get("selection") {
        Some(OptionValue::Word(word)) if *word == "as-is" => Search::BottomUp,
        _ => Search::Local(worth_proving),
    }
}

/// The functions that rules may call: those that the kernel calls.
fn functions(kernel: &Kernel) -> Functions {
    kernel.functions.iter().enumerate().map(|(idx, name)| (name.clone(), FunctionId::new(idx))).collect()
}

/// Limits that were hit, with their values where the strategy states them.
fn limits<'s>(
    strategy: &ResolvedStrategy<'_>,
    saturation: &saturate::Saturation,
    of_selection: impl IntoIterator<Item = &'s &'static str>,
) -> Vec<LimitHit> {
    let value = |place: &str, limit: &str| {
        let phase = strategy.phases.iter().find(|phase| phase.name.as_str() == place);
        phase.filter(|_| limit == "nodes").map(|phase| u64::from(phase.nodes))
    };
    let of_saturation = saturation.limits_hit.iter().map(|(place, limit)| LimitHit {
        place: place.clone(),
        limit: limit.clone(),
        value: value(place, limit),
    });
    let of_selection = of_selection.into_iter().map(|limit| LimitHit {
        place: "select".to_owned(),
        limit: (*limit).to_owned(),
        value: None,
    });
    of_saturation.chain(of_selection).collect()
}
