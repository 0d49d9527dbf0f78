//! From an input kernel to the cheapest equal one that a strategy finds.
//!
//! # Input
//! A checked program, a strategy, and values for parameters.
//! # Output
//! A linearized kernel with the same meaning, and what happened on the way.
//! # Method
//! The stages in their order: linearize, normalise, fold, join, encode, saturate, select, realize, schedule. A strategy
//! without phases that selects forms as they are only removes dead code. Every pass takes the output of the pass before
//! it; none knows of another.
//!
//! Parts of a kernel that share nothing are searched one by one, and their results put together. Groups of stores that
//! share only values are searched together and apart; results found apart are [chosen together](crate::together). What a loop over elements does is
//! searched for all elements and for one of them.
//!
//! Each seed that the strategy asks for gets an e-graph of its own, unless it [costs many times what others
//! do](crate::screen) from the start. Results within a factor of two of the best are
//! tried again, with values that recur computed once, with tabulated temporaries, and with even and odd parts, once
//! selection has put their reductions in order and their temporaries in arrays. All results are kept: those with the fewest operations first, among equals
//! those that equal the kernel exactly, and then the first made. If a pass refuses or breaks a seed, that seed alone
//! fails.

use indexmap::IndexMap;
use nestegg_egraph::judge::{Judge, Judged};
use nestegg_egraph::pattern::{self, Functions};
use nestegg_egraph::{encode, saturate};
use nestegg_extract::{Cost, Extracted, Search};
use nestegg_ir::domains::Domains;
use nestegg_ir::{Array, Item, Kernel, Licence, LinearizedKernel, Program, Semantics, Traps};
use nestegg_rules::{OptionValue, ResolvedStrategy, Rule};
use nestegg_schedule::Order;
use nestegg_transform::OneElement;
use rayon::prelude::*;

use crate::budget::{self, Budget, FULL_SEEDS};
use crate::candidates::Candidate;
use crate::config::{Config, CostModel, Validation};
use crate::count::operations;
use crate::error::Error;
use crate::parts::{self, Part};
use crate::probabilities::Probabilities;
use crate::report::{Gap, LimitHit, Operations, Unjudged};
use crate::same::{different, is_same};
use crate::screen;
use crate::seeds::{self, Seed, add_fired};
use crate::stages::Stages;
use crate::time::Nanoseconds;
use crate::trace::{Event, RuleInPass};
use crate::unrolled::{Names, Unrolled, unrolled_in};
use crate::{lineage, temporaries, together};

/// The name of the input among seeds, where no seed gave anything better.
pub(crate) const AS_IT_CAME: &str = "as it came";

/// The name of the kernel without any rule among seeds.
const WITHOUT_RULES: &str = "rolled, without rules";

/// A kernel before and after its constants were folded: equal to the bit.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) before: LinearizedKernel,
    pub(crate) after: LinearizedKernel,
    /// The instructions that were unrolled in both.
    pub(crate) unrolled: Names,
}

/// What a strategy made of a kernel.
#[derive(Debug)]
pub(crate) struct Found {
    /// The results, the best first.
    pub(crate) ranking: Vec<Candidate>,
    /// Operations of what was made of each seed.
    pub(crate) seeds: IndexMap<String, u128>,
    /// The value form that all of them were made of, if there is one.
    pub(crate) form: Option<LinearizedKernel>,
    /// Where constants were folded on the way to it, in the order of passes.
    pub(crate) folds: Vec<Fold>,
    /// Limits that kept results from being taken.
    pub(crate) limits: Vec<LimitHit>,
    /// Seeds that a pass refused or broke, and the error.
    pub(crate) failed: Vec<(String, Error)>,
}

/// What a run is told of the search: the same for all seeds.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    /// The strategy.
    pub(crate) strategy: &'a ResolvedStrategy<'a>,
    /// What may be done to floats.
    pub(crate) semantics: Semantics,
    /// Values of parameters.
    pub(crate) values: &'a [(String, i64)],
    /// The rest.
    pub(crate) config: &'a Config,
    /// The operations of the input.
    pub(crate) most: u128,
    /// Whether an error of a pass is one of the caller's, not of one seed: where the caller's own rules run.
    pub(crate) is_strict: bool,
    /// Names of results: only the seeds that they came from are made, or all seeds where they came from none.
    pub(crate) only: Option<&'a [String]>,
}

/// Runs a strategy on a program.
pub(crate) fn search(input: &Program, told: Told<'_>, stages: &mut Stages) -> Result<Found, Error> {
    let mut found = Found {
        ranking: Vec::new(),
        seeds: IndexMap::new(),
        form: None,
        folds: Vec::new(),
        limits: Vec::new(),
        failed: Vec::new(),
    };
    if told.strategy.phases.is_empty() && selection(told.strategy, Cost::INFINITE) == Search::BottomUp {
        let program = stages.run("eliminate dead", || as_it_came(input))?;
        found.ranking.push(Candidate::untouched(program, "rolled", told.values)?);
        told.estimate(&mut found.ranking, stages);
        return Ok(found);
    }
    let linearized = stages.run("linearize", || linearized(input).map(nestegg_transform::eliminate_empty))?;
    let pass = Passes::new(&linearized, &told);
    match value_form(linearized, &pass, stages) {
        Ok((form, folds)) => (found.form, found.folds) = (Some(form), folds),
        Err(error) if error.is_of_one_form() && !told.is_strict => {
            found.failed.push(("value form".to_owned(), error));
            return Ok(found);
        }
        Err(error) => return Err(error),
    }
    let Some(form) = &found.form else { return Ok(found) };
    let forms = stages.run("parts", || nestegg_transform::parts(form));
    let is_whole = forms.len() == 1;
    let mut parts = Vec::with_capacity(forms.len());
    for form in forms {
        let mut race = Race::new(told);
        race.run(&form, &pass, stages)?;
        race.run_apart(&form, &pass, stages)?;
        race.run_one_element(&form, &pass, stages)?;
        if is_whole {
            told.estimate(&mut race.ranking, stages);
        } else {
            told.estimate_parts(&mut race.ranking, stages);
        }
        race.ranking.sort_by_key(Candidate::rank);
        let part = Part { form, ranking: race.ranking };
        let name = |seed: String| if is_whole { seed } else { format!("{}: {seed}", part.name()) };
        found.seeds.extend(race.costs.into_iter().map(|(seed, cost)| (name(seed), cost)));
        found.limits.extend(race.limits);
        found.failed.extend(race.failed.into_iter().map(|(seed, error)| (name(seed), error)));
        parts.push(part);
    }
    found.ranking = match parts.pop() {
        Some(whole) if parts.is_empty() => whole.ranking,
        last => {
            parts.extend(last);
            let mut ranking = in_order(&parts, NEXT_OF_PARTS, &pass, stages)?;
            told.estimate(&mut ranking, stages);
            ranking.retain(|candidate| is_within_memory(candidate, told, &mut found.limits));
            ranking.sort_by_key(Candidate::rank);
            ranking
        }
    };
    Ok(found)
}

/// So many further results of each part are tried beside the best of the others.
const NEXT_OF_PARTS: usize = 6;

/// Results of parts, one after the other.
fn in_order(parts: &[Part], n_next: usize, pass: &Passes<'_>, stages: &mut Stages) -> Result<Vec<Candidate>, Error> {
    let refused = |source| pass.refused("schedule", source);
    // Parts have their loops in orders of their own.
    let orders = if pass.cost == CostModel::Time { [Order::Shared, Order::Kept].as_slice() } else { &[Order::Shared] };
    let orders = (pass.semantics.licence, orders);
    let mut res = stages.run("parts", || parts::in_order(parts, n_next, orders, pass.values, refused))?;
    res.retain_mut(|candidate| {
        let bounded = nestegg_transform::bound_loops(std::mem::take(&mut candidate.program));
        bounded.map(|bounded| candidate.program = bounded).is_some()
    });
    for candidate in &res {
        pass.verified("parts", &candidate.program)?;
    }
    Ok(res)
}

/// Whether the temporaries of a result take no more memory than is allowed; where they do, the limit is noted.
fn is_within_memory(candidate: &Candidate, told: Told<'_>, limits: &mut Vec<LimitHit>) -> bool {
    let limit = told.config.memory;
    let is_within = temporaries::are_within(&candidate.program, told.values, limit);
    if !is_within {
        let hit = LimitHit { place: candidate.seed.clone(), limit: "memory".to_owned(), value: limit };
        if !limits.contains(&hit) {
            limits.push(hit);
        }
    }
    is_within
}

/// What selection makes of a value form without any rule: less can go wrong with it than with the results of a strategy.
pub(crate) fn without_rules(
    form: &LinearizedKernel,
    told: Told<'_>,
    stages: &mut Stages,
) -> Result<Option<Candidate>, Error> {
    let seed = Seed { name: WITHOUT_RULES.to_owned(), ..seeds::rolled(form) };
    match optimized(&seed, &Passes::new(form, &told), &without_phases(told.strategy), Cost::ZERO, stages) {
        Ok((candidates, _)) => Ok(candidates.into_iter().next()),
        Err(error) if error.is_of_one_form() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A strategy that runs no rule.
fn without_phases<'b>(strategy: &ResolvedStrategy<'b>) -> ResolvedStrategy<'b> {
    let mut res = strategy.clone();
    res.phases.clear();
    res
}

/// How often a kernel is brought to value form again because constants decided something.
const MAX_ROUNDS: usize = 3;

/// The value form of a kernel with its constants folded and enclosed domains joined, and where that was done to the bit only.
pub(crate) fn value_form(
    linearized: LinearizedKernel,
    pass: &Passes<'_>,
    stages: &mut Stages,
) -> Result<(LinearizedKernel, Vec<Fold>), Error> {
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
            folds.push(Fold { before, after: form.clone(), unrolled: Names::new() });
        }
        let has_temporaries = form.kernel.arrays.iter().any(Array::is_temporary);
        if !folded.decides || !has_temporaries {
            break;
        }
    }
    let form = stages.run("join", || pass.done("join domains", nestegg_transform::join_domains(form)))?;
    pass.verified("join domains", &form)?;
    let joined = || nestegg_transform::join_reductions(form, pass.semantics.licence);
    let form = stages.run("join", || pass.done("join reductions", joined()))?;
    pass.verified("join reductions", &form)?;
    let form = stages.run("slice tables", || nestegg_transform::slice_tables(form));
    pass.verified("slice tables", &form)?;
    let freed = || nestegg_transform::free_factors(form, pass.semantics.licence);
    let form = stages.run("join", || pass.done("free factors", freed()))?;
    pass.verified("free factors", &form)?;
    Ok((form, folds))
}

/// Where constants of a program are folded to the bit only, in its value form and then in these instructions, unrolled: the same as in [`search`].
/// `None` if these cannot be unrolled.
pub(crate) fn folds(
    input: &Program,
    unrolled: &Names,
    (licence, values): (Licence, &[(String, i64)]),
) -> Result<Option<Vec<Fold>>, Error> {
    let linearized = nestegg_transform::eliminate_empty(linearized(input)?);
    let pass = Passes {
        kernel: linearized.kernel.name.clone(),
        semantics: Semantics { licence, ..Semantics::default() },
        values,
        judged: Judged::Nobody,
        cost: CostModel::Operations,
        keeps_lineage: false,
    };
    let (form, folds) = value_form(linearized, &pass, &mut Stages::new(None))?;
    Ok(with_unrolled(folds, &form, unrolled, licence))
}

/// Where constants were folded on the way to a value form, and then in these instructions, unrolled; `None` if these cannot be.
pub(crate) fn with_unrolled(
    mut folds: Vec<Fold>,
    form: &LinearizedKernel,
    unrolled: &Names,
    licence: Licence,
) -> Option<Vec<Fold>> {
    if !unrolled.is_empty() {
        let Unrolled { before, after, n_rounded } = unrolled_in(form, unrolled, licence)?;
        if n_rounded > 0 {
            folds.push(Fold { before, after, unrolled: unrolled.clone() });
        }
    }
    Some(folds)
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

/// How many seeds are optimized side by side. It is the same on every machine, for the seeds before them say which results are worth a proof.
const SIDE_BY_SIDE: usize = 8;

/// A strategy with a part of its e-nodes: one over this number.
fn with_nodes<'b>(strategy: &ResolvedStrategy<'b>, part: u32) -> ResolvedStrategy<'b> {
    let mut res = strategy.clone();
    for phase in &mut res.phases {
        phase.nodes = (phase.nodes / part).max(1);
    }
    res
}

/// A seed that was optimized.
pub(crate) struct Selected {
    /// Operations of the result.
    pub(crate) cost: u128,
    /// The seed as it was tried.
    pub(crate) tried: Seed,
    /// What selection made of it, before reductions were realized and loops scheduled.
    pub(crate) result: Seed,
}

/// The results of seeds.
struct Race<'a> {
    told: Told<'a>,
    /// In the order in which they were made.
    ranking: Vec<Candidate>,
    /// Operations of what was made of each seed.
    costs: IndexMap<String, u128>,
    /// What selection made of each seed.
    selected: IndexMap<String, Selected>,
    /// Limits that kept results from being taken.
    limits: Vec<LimitHit>,
    /// Seeds of which nothing came.
    failed: Vec<(String, Error)>,
}

impl<'a> Race<'a> {
    fn new(told: Told<'a>) -> Self {
        Self {
            told,
            ranking: Vec::new(),
            costs: IndexMap::new(),
            selected: IndexMap::new(),
            limits: Vec::new(),
            failed: Vec::new(),
        }
    }

    fn run(&mut self, form: &LinearizedKernel, pass: &Passes<'_>, stages: &mut Stages) -> Result<(), Error> {
        let told = self.told;
        let Told { strategy, values, config, .. } = told;
        let seeds = self.seeds(form, pass, |form| stages.run("seeds", || seeds::seeds(form, told)))?;
        let budget = Budget::of(strategy, config.cost);
        let worth_trying = || screen::worth_trying(seeds, budget.seed_ratio, pass.semantics, values);
        let (seeds, left_out) = stages.run("seeds", worth_trying);
        stages.note(|| Event::Seeds {
            seeds: seeds.iter().map(|seed| seed.name.clone()).collect(),
            limits: left_out.iter().cloned().collect(),
        });
        self.limits.extend(left_out);
        let seeds = if config.keeps_lineage { lineage::from_form(seeds, form) } else { seeds };
        let trial = with_nodes(strategy, if seeds.len() > 1 { budget.first_try } else { 1 });
        let is_part = trial.phases.iter().zip(&strategy.phases).any(|(trial, full)| trial.nodes < full.nodes);
        let costs = self.enter_all(&seeds, pass, &trial, stages)?;
        let mut unfinished: Vec<(u128, &Seed)> = std::iter::zip(costs, &seeds)
            .filter_map(|(entered, seed)| entered.filter(|entered| is_part && !entered.1).map(|(cost, _)| (cost, seed)))
            .collect();
        unfinished.sort_by_key(|seed| seed.0);
        let limit = self.best_cost().map_or(u128::MAX, |best| best.saturating_mul(budget.promising_ratio));
        let mut families: IndexMap<&str, Vec<Seed>> = IndexMap::new();
        for (_, seed) in unfinished.into_iter().filter(|(cost, _)| *cost <= limit) {
            families.entry(&seed.family).or_default().push(seed.clone());
        }
        let mut families: Vec<Vec<Seed>> = families.into_values().collect();
        let limit = (FULL_SEEDS, budget.full_seeds);
        self.limits.extend(budget::truncate(&mut families, limit, "the choice of seeds after a first try"));
        self.enter_families(&families, pass, stages)?;
        let further = self.of_results(&seeds, budget, stages)?;
        self.enter_all(&further, pass, &trial, stages)?;
        Ok(())
    }

    /// Optimizes the first seed of each family with all e-nodes, and then the others of the best of them.
    fn enter_families(&mut self, families: &[Vec<Seed>], pass: &Passes<'_>, stages: &mut Stages) -> Result<(), Error> {
        let firsts: Vec<Seed> = families.iter().filter_map(|family| family.first().cloned()).collect();
        let costs = self.enter_all(&firsts, pass, self.told.strategy, stages)?;
        let best = std::iter::zip(costs, families).filter_map(|(entered, family)| Some((entered?.0, family)));
        if let Some((_, family)) = best.min_by_key(|(cost, _)| *cost) {
            self.enter_all(&family[1..], pass, self.told.strategy, stages)?;
        }
        Ok(())
    }

    /// The seeds that the strategy asks for of results that came near the best, beside those that were tried.
    fn of_results(&mut self, tried: &[Seed], budget: Budget, stages: &mut Stages) -> Result<Vec<Seed>, Error> {
        let Told { strategy, values, semantics, .. } = self.told;
        let promising = self.promising(budget.promising_ratio);
        let mut res = Vec::new();
        if seeds::wants(strategy, "shifted-results") {
            let forms = self.each(&promising, stages, |seed| seeds::form_of(seed, semantics.licence).map(Some))?;
            let (forms, limit) = seeds::small(forms);
            self.limits.extend(limit);
            let shifted = self.each(&seeds::distinct(forms), stages, |form| seeds::shifted(form, values))?;
            let mut shifted = seeds::distinct(shifted);
            shifted.retain(|seed| !tried.iter().any(|known| is_same(&known.linearized, &seed.linearized)));
            res = stages.run("seeds", || screen::cheapest(shifted, budget.shifted_seeds, semantics, values));
        }
        res.extend(self.each(&promising, stages, |selected| seeds::with_tables(selected, strategy))?);
        Ok(res)
    }

    /// What is made of each of these seeds, some side by side. What cannot be made is a failure of that seed.
    fn each(
        &mut self,
        seeds: &[Seed],
        stages: &mut Stages,
        make: impl Fn(&Seed) -> Result<Option<Seed>, Error> + Sync,
    ) -> Result<Vec<Seed>, Error> {
        let made: Vec<_> = stages.run("seeds", || seeds.par_iter().map(&make).collect());
        let mut res = Vec::with_capacity(seeds.len());
        for (seed, made) in seeds.iter().zip(made) {
            res.extend(self.done(&seed.name, made)?.flatten());
        }
        Ok(res)
    }

    /// Searches groups of stores apart where the strategy asks for that, and enters what they are together.
    fn run_apart(&mut self, form: &LinearizedKernel, pass: &Passes<'_>, stages: &mut Stages) -> Result<(), Error> {
        let Told { strategy, values, semantics, .. } = self.told;
        if !seeds::wants(strategy, "apart") || keeps_places(form, pass)? {
            return Ok(());
        }
        let groups = stages.run("parts", || {
            let isolated = pass.done("isolate stores", nestegg_transform::isolate_stores(form.clone()))?;
            pass.done("apart", nestegg_transform::apart(&isolated, semantics.licence))
        });
        let Some(groups) = self.done("apart", groups)? else { return Ok(()) };
        let (mut parts, mut alternatives) = (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
        for form in groups {
            let mut race = self.searched(&form, parts::name(&form.kernel), pass, stages)?;
            self.told.estimate_parts(&mut race.ranking, stages);
            race.ranking.sort_by_key(Candidate::rank);
            let ranking = std::mem::take(&mut race.ranking);
            alternatives.push(race.alternatives());
            parts.push(Part { form, ranking });
        }
        // Side by side without sharing, so that no group costs more than it does alone.
        for candidate in in_order(&parts, 0, pass, stages)? {
            self.take(candidate);
        }
        let together = stages.run("parts", || together::seeds(&alternatives, values, semantics));
        let Some(seeds) = self.done("together", together)? else { return Ok(()) };
        self.enter_all(&seeds, pass, strategy, stages)?;
        let found = stages.run("parts", || together::as_found(&alternatives, semantics.licence));
        let Some(found) = self.done("together", found)? else { return Ok(()) };
        self.enter_all(&found, pass, &without_phases(strategy), stages)?;
        Ok(())
    }

    /// A search of its own, for a part of the kernel by that name.
    fn searched(
        &self,
        form: &LinearizedKernel,
        part: String,
        pass: &Passes<'_>,
        stages: &mut Stages,
    ) -> Result<Self, Error> {
        let mut race = Self::new(self.told);
        stages.note(|| Event::Apart { part: part.clone() });
        race.run(form, pass, stages)?;
        race.run_apart(form, pass, stages)?;
        stages.note(|| Event::Joined { part });
        Ok(race)
    }

    /// Searches what a loop over elements does for one of them where the strategy asks for that, and enters the results in the loop.
    fn run_one_element(
        &mut self,
        form: &LinearizedKernel,
        pass: &Passes<'_>,
        stages: &mut Stages,
    ) -> Result<(), Error> {
        let Told { strategy, semantics, .. } = self.told;
        if !seeds::wants(strategy, "one-element") || keeps_places(form, pass)? {
            return Ok(());
        }
        let Some(elements) = stages.run("parts", || pass.done("one element", OneElement::of(form)))? else {
            return Ok(());
        };
        let part = format!("one element of {}", parts::name(&form.kernel));
        let of_one = self.searched(&elements.linearized, part, pass, stages)?.alternatives();
        let in_loop = stages.run("parts", || together::in_loop(&of_one, &elements, semantics.licence));
        let Some(seeds) = self.done("one element", in_loop)? else { return Ok(()) };
        self.enter_all(&seeds, pass, &without_phases(strategy), stages)?;
        Ok(())
    }

    /// The seeds and what selection made of them, the cheapest first.
    fn alternatives(self) -> Vec<Selected> {
        let mut res: Vec<Selected> = self.selected.into_values().collect();
        res.sort_by_key(|selected| (selected.cost, selected.result.tolerance.is_some()));
        res
    }

    /// The seeds of a value form; of one whose floats may trap under its conditions, or of which no others can be made, the form itself.
    fn seeds(
        &mut self,
        form: &LinearizedKernel,
        pass: &Passes<'_>,
        make: impl FnOnce(&LinearizedKernel) -> Result<(Vec<Seed>, Vec<LimitHit>), Error>,
    ) -> Result<Vec<Seed>, Error> {
        let Some(keeps_places) = self.done("rolled", keeps_places(form, pass))? else { return Ok(Vec::new()) };
        if keeps_places {
            self.limits.push(LimitHit { place: "seeds".to_owned(), limit: "traps".to_owned(), value: None });
            return Ok(vec![seeds::rolled(form)]);
        }
        let Some((seeds, limits)) = self.done("all but rolled", make(form))? else {
            return Ok(vec![seeds::rolled(form)]);
        };
        self.limits.extend(limits);
        Ok(seeds)
    }

    /// What a pass made for one seed. What it could not make is a failure of that seed.
    fn done<T>(&mut self, seed: &str, res: Result<T, Error>) -> Result<Option<T>, Error> {
        match res {
            Ok(made) => Ok(Some(made)),
            Err(error) if error.is_of_one_form() && !self.told.is_strict => {
                self.failed.push((seed.to_owned(), error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn best_cost(&self) -> Option<u128> {
        self.ranking.iter().map(|candidate| candidate.cost).min()
    }

    /// Up to what a result may cost to be worth a proof: that of the best.
    fn worth_proving(&self) -> Cost {
        self.best_cost().map_or(Cost::INFINITE, Cost::new)
    }

    /// What selection made of seeds that came near the best.
    fn promising(&self, ratio: u128) -> Vec<Seed> {
        let Some(best) = self.best_cost() else { return Vec::new() };
        let promising = self.selected.values().filter(|selected| selected.cost <= best.saturating_mul(ratio));
        promising.map(|selected| selected.result.clone()).collect()
    }

    /// Optimizes seeds, some side by side; answers for each the cost of the result, and whether all e-nodes were allowed that it wanted. `None` if it failed.
    fn enter_all(
        &mut self,
        seeds: &[Seed],
        pass: &Passes<'_>,
        strategy: &ResolvedStrategy<'_>,
        stages: &mut Stages,
    ) -> Result<Vec<Option<(u128, bool)>>, Error> {
        let mut res = Vec::with_capacity(seeds.len());
        for group in seeds.chunks(SIDE_BY_SIDE) {
            let worth_proving = self.worth_proving();
            let made =
                stages.side_by_side(group, |seed, stages| optimized(seed, pass, strategy, worth_proving, stages));
            for (seed, made) in group.iter().zip(made) {
                if let Err(error) = &made {
                    stages.note(|| Event::Failed { seed: seed.name.clone(), reason: error.to_string() });
                }
                res.push(self.enter(seed, made)?);
            }
        }
        Ok(res)
    }

    /// Takes in what was made of a seed.
    fn enter(
        &mut self,
        seed: &Seed,
        made: Result<(Vec<Candidate>, Seed), Error>,
    ) -> Result<Option<(u128, bool)>, Error> {
        let Some((candidates, result)) = self.done(&seed.name, made)? else { return Ok(None) };
        let Some(first) = candidates.first() else { return Ok(None) };
        let cost = first.cost;
        let is_finished = first.limits.iter().all(|hit| hit.limit != "nodes");
        if self.selected.get(&seed.name).is_none_or(|known| cost < known.cost) {
            self.selected.insert(seed.name.clone(), Selected { cost, tried: seed.clone(), result });
        }
        candidates.into_iter().for_each(|candidate| self.take(candidate));
        Ok(Some((cost, is_finished)))
    }

    /// Ranks a result whose temporaries are within the limit of memory.
    fn take(&mut self, candidate: Candidate) {
        if is_within_memory(&candidate, self.told, &mut self.limits) {
            let known = self.costs.entry(candidate.seed.clone()).or_insert(candidate.cost);
            *known = candidate.cost.min(*known);
            self.ranking.push(candidate);
        }
    }
}

/// The cheapest kernel that the rules make of one seed, once for each [order](Passes::orders) of loops that makes a difference; and what selection made of it
/// before reductions were realized and loops scheduled. How near the best it is matters up to a cost.
fn optimized(
    seed: &Seed,
    pass: &Passes<'_>,
    strategy: &ResolvedStrategy<'_>,
    worth_proving: Cost,
    stages: &mut Stages,
) -> Result<(Vec<Candidate>, Seed), Error> {
    stages.now_on(&seed.name);
    pass.verified("seeds", &seed.linearized)?;
    let named = || nestegg_transform::name_bound_inames(seed.linearized.clone());
    let form = &mut stages.run("encode", || pass.done("encode", named()))?;
    let functions = functions(&mut form.kernel, strategy);
    let form = &*form;
    let context = nestegg_isl::Context::new();
    let (search, licence) = (selection(strategy, worth_proving), pass.semantics.licence);
    let (domains, mut encoded) = stages.run("encode", || {
        let domains = pass.done("encode", Domains::new(&context, &form.kernel))?.with_values(pass.values);
        let encoded = pass.done("encode", encode::encode(form, &domains, pass.semantics))?;
        Ok::<_, Error>((domains, encoded))
    })?;
    let graph = &encoded.graph;
    let (nodes, classes) = (graph.total_number_of_nodes(), graph.number_of_classes());
    stages.note(|| Event::Encoded { seed: seed.name.clone(), nodes, classes });
    let probabilities = Probabilities::of(&form.kernel);
    let probability = |condition| probabilities.get(&form.kernel, condition);
    let mut judge = Judge::new(&form.kernel, &domains, pass.judged);
    let saturated = stages.run("saturate", || saturate::saturate(&mut encoded.graph, strategy, &functions, &mut judge));
    let saturation = saturated.map_err(|unsound| Error::Unsound(Box::new(unsound)))?;
    let extracted = stages.run("select", || {
        pass.done("select", nestegg_extract::extract(form, encoded, &domains, search, &probability))
    })?;
    let Extracted { constructed, selection } = extracted;
    note_saturation(&seed.name, &saturation, stages);
    stages.note(|| Event::Selected {
        seed: seed.name.clone(),
        cost: selection.cost.operations(),
        bound: selection.bound.operations(),
        temporaries: constructed.temporaries.len(),
        limits: limits(strategy, &saturation, &selection.limits_hit),
    });
    pass.verified("select", &constructed.linearized)?;
    let mut rules = seed.rules.clone();
    add_fired(&mut rules, saturation.fired.iter().map(|(rule, &times)| (rule, times as u64)));
    let from = if pass.keeps_lineage { lineage::searched(seed, strategy, worth_proving) } else { Vec::new() };
    let selected = Seed { linearized: constructed.linearized.clone(), rules: rules.clone(), from, ..seed.clone() };
    let realized = stages.run("realize", || {
        pass.done("realize", nestegg_schedule::realize_reductions_under(constructed.linearized, licence))
    })?;
    pass.verified("realize", &realized)?;
    let programs = different(pass.orders().iter().map(|&order| {
        let realized = realized.clone();
        let scheduled = stages
            .run("schedule", || pass.done("schedule", nestegg_schedule::schedule_under(realized, licence, order)))?;
        pass.verified("schedule", &scheduled)?;
        let dead = || nestegg_transform::eliminate_dead(nestegg_transform::eliminate_empty(scheduled));
        let scheduled = stages.run("eliminate dead", dead);
        Ok(scheduled)
    }))?;
    // A result that leaves a loop unbounded which data end is none.
    let bounded = programs.into_iter().filter_map(nestegg_transform::bound_loops);
    let programs: Vec<LinearizedKernel> = stages.run("bound loops", || bounded.collect());
    for program in &programs {
        pass.verified("bound loops", program)?;
    }
    let gap = if selection.bound > Cost::ZERO || selection.cost == Cost::ZERO {
        Gap::Proved { lower_bound: selection.bound.operations(), cost: selection.cost.operations() }
    } else {
        Gap::NotProved
    };
    let saved = constructed.temporaries.iter().map(|temporary| (temporary.name.clone(), temporary.saved.operations()));
    let saved: IndexMap<String, u128> = saved.collect();
    let candidate = |program: LinearizedKernel| {
        let counted = operations(&Program::Linearized(program.clone()), pass.values)?;
        Ok(Candidate {
            cost: counted.total,
            counted: Some(counted),
            time: Nanoseconds::default(),
            program,
            seed: seed.name.clone(),
            is_of_form: true,
            approximated: seed.tolerance.map(|tolerance| (form.clone(), tolerance)),
            unrolled: seed.unrolled.clone(),
            n_fits: 0,
            rules: rules.clone(),
            limits: limits(strategy, &saturation, &selection.limits_hit),
            unjudged: saturation.unjudged.iter().map(Unjudged::from).collect(),
            gap: gap.clone(),
            saved: saved.clone(),
            from: selected.from.clone(),
        })
    };
    let candidates = programs.into_iter().map(candidate).collect::<Result<Vec<Candidate>, Error>>()?;
    if let Some(first) = candidates.first() {
        stages.note(|| Event::Made { seed: seed.name.clone(), operations: first.cost });
    }
    Ok((candidates, selected))
}

/// Notes what the rules of a strategy did.
fn note_saturation(seed: &str, saturation: &saturate::Saturation, stages: &mut Stages) {
    for phase in &saturation.phases {
        for pass in saturation.passes.iter().filter(|pass| pass.phase == phase.name) {
            let rules = pass.rules.iter().map(|(rule, equated, new)| RuleInPass {
                rule: rule.clone(),
                equated: *equated,
                new: *new,
            });
            stages.note(|| Event::Pass {
                seed: seed.to_owned(),
                phase: phase.name.clone(),
                pass: pass.pass,
                rules: rules.collect(),
                nodes: pass.n_nodes,
                classes: pass.n_classes,
            });
        }
        stages.note(|| Event::Phase {
            seed: seed.to_owned(),
            phase: phase.name.clone(),
            passes: phase.passes,
            stop: match phase.stop {
                saturate::Stop::Saturated => "saturated",
                saturate::Stop::Passes => "passes",
                saturate::Stop::Nodes => "nodes",
            },
            nodes: phase.n_nodes,
        });
    }
}

impl Candidate {
    /// The operations of a result, kind by kind.
    pub(crate) fn operations(&self, values: &[(String, i64)]) -> Result<Operations, Error> {
        match &self.counted {
            Some(counted) => Ok(counted.clone()),
            None => operations(&Program::Linearized(self.program.clone()), values),
        }
    }

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
}

/// A program in its order, without its dead code and what never runs.
pub(crate) fn as_it_came(input: &Program) -> Result<LinearizedKernel, Error> {
    Ok(nestegg_transform::eliminate_dead(nestegg_transform::eliminate_empty(linearized(input)?)))
}

/// Errors of passes, with the kernel's name; what passes must keep, and the values of parameters that they count with.
pub(crate) struct Passes<'a> {
    kernel: String,
    semantics: Semantics,
    values: &'a [(String, i64)],
    /// Whose rules are judged.
    judged: Judged,
    /// What is made small.
    cost: CostModel,
    keeps_lineage: bool,
}

impl<'a> Passes<'a> {
    pub(crate) fn new(input: &LinearizedKernel, told: &Told<'a>) -> Self {
        let is_off = told.config.validation == Validation::Off;
        let judged = if is_off { Judged::Nobody } else { told.config.judged };
        let (kernel, keeps_lineage) = (input.kernel.name.clone(), told.config.keeps_lineage);
        Self { kernel, semantics: told.semantics, values: told.values, judged, cost: told.config.cost, keeps_lineage }
    }

    /// The orders of loops that compete: operations are the same in all of them.
    fn orders(&self) -> &'static [Order] {
        match self.cost {
            CostModel::Operations => &[Order::Shared],
            CostModel::Time => &[Order::Shared, Order::Consecutive, Order::Axes],
        }
    }

    pub(crate) fn done<T, E>(&self, pass: &'static str, res: Result<T, E>) -> Result<T, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        res.map_err(|source| self.refused(pass, source))
    }

    fn refused(&self, pass: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Refused { pass, kernel: self.kernel.clone(), source: Box::new(source) }
    }

    /// Refuses what a pass made if it is no kernel.
    fn verified(&self, pass: &'static str, linearized: &LinearizedKernel) -> Result<(), Error> {
        no_violations(pass, &linearized.kernel, Some(&linearized.linearization))
    }
}

fn no_violations(pass: &'static str, kernel: &Kernel, linearization: Option<&[Item]>) -> Result<(), Error> {
    match violations(kernel, linearization) {
        None => Ok(()),
        Some(violations) => Err(Error::Broken { pass, kernel: kernel.name.clone(), violations }),
    }
}

/// What is wrong with a kernel, if anything is.
pub(crate) fn violations(kernel: &Kernel, linearization: Option<&[Item]>) -> Option<String> {
    let violations = nestegg_ir::verify::verify_parts(kernel, linearization);
    let shown: Vec<String> = violations.iter().take(5).map(|error| error.violation.to_string()).collect();
    (!shown.is_empty()).then(|| shown.join("; "))
}

/// The kernel in its order.
pub(crate) fn linearized(input: &Program) -> Result<LinearizedKernel, Error> {
    let kernel = input.kernel().name.clone();
    input.clone().into_linearized().map_err(|source| Error::Order { kernel, source })
}

/// How the strategy wants forms chosen.
pub(crate) fn selection(strategy: &ResolvedStrategy<'_>, worth_proving: Cost) -> Search {
    match strategy.options.get("selection") {
        Some(OptionValue::Word(word)) if *word == "as-is" => Search::BottomUp,
        _ => Search::Local(worth_proving),
    }
}

/// The functions that the rules of a strategy may call.
pub(crate) fn functions(kernel: &mut Kernel, strategy: &ResolvedStrategy<'_>) -> Functions {
    let rules: Vec<&Rule> = strategy.phases.iter().flat_map(|phase| phase.rules.iter().copied()).collect();
    pattern::functions(kernel, &rules)
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
