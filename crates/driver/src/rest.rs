//! The candidates that are left, the best first.
//!
//! # Input
//! What a search found, and which candidates the judge refused because they round too much.
//! # Output
//! The next candidate.
//! # Method
//! After the ranking come candidates that are made only on demand: the value form without rules, the input without its dead code, and the unchanged input.
//! Where results round too much and the next is clearly worse, the strategy runs once more with its `careful-forms` on the seeds of these results and of those that came
//! near the best exact one; what it finds takes its place among the others.
//! # Complexity
//! At most one more search, of some of the seeds.

use std::borrow::Cow;
use std::collections::VecDeque;

use indexmap::IndexMap;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_rules::{OptionValue, ResolvedStrategy};

use crate::candidates::Candidate;
use crate::error::Error;
use crate::report::Operations;
use crate::search::{AS_IT_CAME, Found, Told, as_it_came, linearized, search, without_rules};
use crate::seeds::words;
use crate::stages::Stages;
use crate::time::Nanoseconds;

/// Candidates that are left, the best first.
pub(crate) struct Rest<'a> {
    input: &'a Program,
    form: Option<&'a LinearizedKernel>,
    told: Told<'a>,
    /// Operations of the input: nothing that does more is a candidate.
    limit: u128,
    /// Its time: nothing that takes longer is a candidate, where time is made small.
    time: Option<Nanoseconds>,
    /// What the search made, and its operations.
    seeds: &'a IndexMap<String, u128>,
    ranked: VecDeque<Cow<'a, Candidate>>,
    last: VecDeque<Last>,
    /// What the input is called among the seeds.
    name: &'static str,
    /// What was refused because it rounds too much, and what comes of that.
    lost: Option<Lost>,
}

/// Candidates that round too much.
struct Lost {
    /// Of the best.
    cost: u128,
    time: Nanoseconds,
    /// The seeds of all of them.
    refused: Vec<String>,
    /// The second search's seeds and the operations of their results, once it has run.
    seeds: Option<IndexMap<String, u128>>,
}

impl Lost {
    /// Whether a candidate takes so much more that a second search is worth it.
    fn is_clearly_better_than(&self, next: &Candidate) -> bool {
        if next.time == Nanoseconds::default() {
            next.cost - next.cost / 100 * WORTH > self.cost
        } else {
            next.time.less(WORTH) > self.time
        }
    }
}

/// The next candidate must be worse than a refused one by so many hundredths before the strategy runs once more.
const WORTH: u128 = 5;

/// A seed is made once more if its result was worse than the best exact candidate by no more hundredths than this.
const NEAR: u128 = 25;

/// What is added to the names of seeds of the second search.
const CAREFUL: &str = ", carefully";

/// Candidates that are made only when they are needed.
enum Last {
    WithoutRules,
    WithoutDeadCode,
    AsItCame,
}

impl<'a> Rest<'a> {
    pub(crate) fn new(
        input: &'a Program,
        found: &'a Found,
        told: Told<'a>,
        before: &Operations,
        time: Option<Nanoseconds>,
    ) -> Result<Self, Error> {
        let limit = before.total;
        let is_worth = |candidate: &&Candidate| is_worth(candidate, limit, time);
        let mut ranked: VecDeque<Cow<'_, Candidate>> =
            found.ranking.iter().filter(is_worth).map(Cow::Borrowed).collect();
        if let (Program::Linearized(_), Some(best)) = (input, ranked.front())
            && time.is_none()
            && best.cost == limit
            && best.operations(told.values)? == *before
            && best.is_only_reordered(&as_it_came(input)?, told.values)
        {
            ranked.clear();
        }
        let mut last = VecDeque::from([Last::WithoutDeadCode, Last::AsItCame]);
        if !ranked.is_empty() || !found.failed.is_empty() {
            last.push_front(Last::WithoutRules);
        }
        let name = if found.ranking.is_empty() && found.failed.is_empty() { "rolled" } else { AS_IT_CAME };
        let (form, seeds) = (found.form.as_ref(), &found.seeds);
        Ok(Self { input, form, told, limit, time, seeds, ranked, last, name, lost: None })
    }

    /// Takes note of a candidate that was refused because it rounds too much.
    pub(crate) fn lose(&mut self, candidate: &Candidate) {
        let Candidate { cost, time, .. } = *candidate;
        let lost = self.lost.get_or_insert_with(|| Lost { cost, time, refused: Vec::new(), seeds: None });
        lost.refused.push(candidate.seed.clone());
    }

    /// The seeds of the second search with the operations of their results; none if it has not run.
    pub(crate) fn of_second_search(&self) -> impl Iterator<Item = (String, u128)> {
        let seeds = self.lost.iter().filter_map(|lost| lost.seeds.as_ref());
        seeds.flatten().map(|(seed, cost)| (seed.clone(), *cost))
    }

    /// The next candidate.
    ///
    /// # Errors
    /// Those of making it.
    pub(crate) fn next(&mut self, stages: &mut Stages) -> Result<Option<Candidate>, Error> {
        self.search_carefully(stages)?;
        if let Some(next) = self.ranked.pop_front() {
            return Ok(Some(next.into_owned()));
        }
        while let Some(last) = self.last.pop_front() {
            let made = match last {
                Last::WithoutRules => match self.form {
                    Some(form) => {
                        let made = without_rules(form, self.told, stages)?;
                        let mut made: Vec<Candidate> = made.into_iter().collect();
                        self.told.estimate(&mut made, stages);
                        made.into_iter().find(|candidate| is_worth(candidate, self.limit, self.time))
                    }
                    None => None,
                },
                Last::WithoutDeadCode => Some(stages.run("keep the input", || {
                    Candidate::untouched(as_it_came(self.input)?, self.name, self.told.values)
                })?),
                Last::AsItCame => Some(Candidate::untouched(linearized(self.input)?, self.name, self.told.values)?),
            };
            if made.is_some() {
                return Ok(made);
            }
        }
        Ok(None)
    }

    /// Runs the strategy once more if that is due: with the forms that round less.
    fn search_carefully(&mut self, stages: &mut Stages) -> Result<(), Error> {
        let Some(lost) = self.lost.as_mut().filter(|lost| lost.seeds.is_none()) else { return Ok(()) };
        if self.ranked.front().is_some_and(|next| !lost.is_clearly_better_than(next)) {
            return Ok(());
        }
        let Some(strategy) = carefully(self.told.strategy) else { return Ok(()) };
        // What is exact holds; seeds of which nothing came near it come no nearer with fewer forms.
        let exact = self.ranked.iter().filter(|candidate| candidate.approximated.is_none());
        let near = exact.map(|exact| exact.cost + exact.cost / 100 * NEAR).min().unwrap_or(u128::MAX);
        let seeds = self.seeds.iter().filter(|(_, cost)| **cost <= near).map(|(seed, _)| seed);
        let only: Vec<String> = lost.refused.iter().chain(seeds).cloned().collect();
        let told = Told { strategy: &strategy, only: Some(&only), ..self.told };
        let found = search(self.input, told, stages)?;
        let named = |seed: String| seed + CAREFUL;
        lost.seeds = Some(found.seeds.into_iter().map(|(seed, cost)| (named(seed), cost)).collect());
        let further = found.ranking.into_iter().filter(|candidate| is_worth(candidate, self.limit, self.time));
        let further = further.map(|candidate| Candidate { seed: named(candidate.seed), ..candidate });
        self.ranked.extend(further.map(Cow::Owned));
        self.ranked.make_contiguous().sort_by_key(|candidate| candidate.rank());
        Ok(())
    }
}

/// Whether a candidate takes no more operations than the input, and no more time where time is made small. To a thousandth both take the same: then the candidate is
/// better, whose sums are in loops that C may have in vectors.
fn is_worth(candidate: &Candidate, operations: u128, time: Option<Nanoseconds>) -> bool {
    candidate.cost <= operations && time.is_none_or(|time| candidate.time.is_at_most(time))
}

/// A strategy with those of its forms that round less; `None` if these are all.
fn carefully<'b>(strategy: &ResolvedStrategy<'b>) -> Option<ResolvedStrategy<'b>> {
    let (mut forms, careful) = (words(strategy, "forms"), words(strategy, "careful-forms"));
    let n_forms = forms.len();
    forms.retain(|form| careful.contains(form));
    (forms.len() < n_forms).then(|| {
        let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
        let mut res = strategy.clone();
        res.options.insert("forms".into(), OptionValue::words(&forms));
        res
    })
}
