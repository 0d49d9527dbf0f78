//! Why a rule does not fire: what it nearly matches.
//!
//! # Input
//! An e-graph, rebuilt, and a pattern rule in one direction.
//! # Output
//! [`Near`]: how often it fires; where its left side matches and its condition does not hold, or its right side cannot be made; and the
//! e-classes that look most like its left side, with the part that does not fit.
//! # Method
//! Matches come from the same search that applies the rule, without what the condition requires. For the others each e-class is set against
//! the left side from the root: operands go to the parts that they fit best, one after another, and the first part that nothing
//! fits is the miss. A variable that would have to be two values is a miss too.
//! # Complexity
//! For each e-class with the root's operator the product of operands and parts.

use egg::Id;

use super::fact::{self, When};
use super::index::RootIndex;
use super::query::{Matcher, Query};
use super::{Bindings, Functions, Operator, PatternRule, Slot, Slots, query, template};
use crate::analysis::Graph;
use crate::apply::count_uses;
use crate::judge::Meaning;
use crate::language::Kind;

/// How many misses of each sort are kept.
pub const MAX_MISSES: usize = 3;

/// What came nearest to a rule.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// Matches that hold and give a form.
    pub n_fires: usize,
    /// A function of the rule that the kernel has no name for: the rule cannot even be asked about.
    pub no_function: Option<String>,
    /// Matches whose condition does not hold, the first ones.
    pub refused: Vec<Refused>,
    /// How many there are.
    pub n_refused: usize,
    /// How many matches hold, but their right side cannot be made: a size is no number, or a reduction would be over other points.
    pub n_not_made: usize,
    /// The e-classes that are most like the left side, the nearest first.
    pub unlike: Vec<Unlike>,
}

/// A match whose condition does not hold.
#[derive(Clone, Debug)]
pub struct Refused {
    /// What the left side matches.
    pub class: Id,
    /// What the variables stand for.
    pub bindings: Vec<(String, Meaning)>,
    /// The tests of the condition as they are written, and whether they hold.
    pub tests: Vec<(String, bool)>,
}

/// An e-class that is not what a left side says, and why.
#[derive(Clone, Debug)]
pub struct Unlike {
    /// The e-class.
    pub class: Id,
    /// How many parts of the left side fit, and how many it has.
    pub fits: (usize, usize),
    /// The part that does not fit.
    pub miss: Miss,
}

/// A part of a left side that does not fit.
#[derive(Clone, Debug)]
pub enum Miss {
    /// A value is not what a part says.
    Part {
        /// The part, as rule files have it.
        wanted: String,
        /// The value.
        found: Id,
    },
    /// An operation has too few operands, or too many for a left side without a rest variable.
    Operands {
        /// The part, as rule files have it.
        wanted: String,
        /// How many operands the value has.
        found: usize,
        /// The value.
        class: Id,
    },
    /// A variable would have to stand for two values.
    Variable {
        /// The variable.
        name: String,
        /// A value.
        first: Id,
        /// Another one.
        second: Id,
    },
}

/// What comes nearest to a rule in an e-graph, which gains forms of operands that the search takes apart, and no equations.
pub fn near(graph: &mut Graph, rule: &PatternRule<'_>) -> Near {
    let mut res = Near::default();
    let mut slots = Slots::default();
    let Some(query) = query::compile(rule.lhs, &mut slots, rule.functions) else {
        res.no_function = unknown(rule.lhs, rule.functions);
        return res;
    };
    let Some(template) = template::compile(rule.rhs, &mut slots, rule.functions) else {
        res.no_function = unknown(rule.rhs, rule.functions);
        return res;
    };
    let when = rule.when.map(|when| fact::compile(when, &mut slots));
    let uses = count_uses(graph);
    let mut classes: Vec<Id> = graph.classes().map(|class| class.id).collect();
    classes.sort_unstable();
    let index = RootIndex::new(graph, &classes);
    let total = query.n_parts();
    for class in index.classes(&query).collect::<Vec<Id>>() {
        let found = Matcher::new(graph, &uses).search(&query, class, slots.0.len());
        for bindings in &found {
            let tests = when.as_ref().map(|when| verdicts(when, graph, &uses, bindings)).unwrap_or_default();
            let holds = when.as_ref().is_none_or(|when| Matcher::new(graph, &uses).fulfils(when, bindings));
            let kind = Kind::of(graph[class].data.dtype);
            if !holds {
                res.n_refused += 1;
                if res.refused.len() < MAX_MISSES {
                    res.refused.push(Refused { class, bindings: slots.meanings(bindings), tests });
                }
            } else if template::instantiate(graph, &uses, &template, bindings, kind).is_some() {
                res.n_fires += 1;
            } else {
                res.n_not_made += 1;
            }
        }
        if found.is_empty() {
            let mut matcher = Matcher::new(graph, &uses);
            let mut fit = Fit {
                slots: &slots,
                functions: rule.functions,
                known: vec![None; slots.0.len()],
                n_fits: 0,
                miss: None,
            };
            fit.compare(&mut matcher, &query, class);
            if let Some(miss) = fit.miss {
                res.unlike.push(Unlike { class, fits: (fit.n_fits, total), miss });
            }
        }
    }
    res.unlike.sort_by_key(|unlike| (std::cmp::Reverse(unlike.fits.0), unlike.class));
    res.unlike.truncate(MAX_MISSES);
    res
}

/// The tests of a condition, and which hold.
fn verdicts(
    when: &When<'_>,
    graph: &mut Graph,
    uses: &rustc_hash::FxHashMap<Id, usize>,
    bindings: &Bindings,
) -> Vec<(String, bool)> {
    Matcher::new(graph, uses).verdicts(when, bindings)
}

/// The first function of a pattern that the kernel has no name for.
fn unknown(pattern: &nestegg_rules::Pattern, functions: &Functions) -> Option<String> {
    super::calls(pattern).find(|name| !functions.contains_key(*name)).map(str::to_owned)
}

/// A left side set against an e-class.
struct Fit<'a> {
    slots: &'a Slots,
    functions: &'a Functions,
    /// What variables stand for so far.
    known: Vec<Option<Id>>,
    n_fits: usize,
    /// The first part that does not fit.
    miss: Option<Miss>,
}

impl Fit<'_> {
    /// Recursion is as deep as the pattern.
    fn compare(&mut self, matcher: &mut Matcher<'_>, query: &Query, class: Id) {
        let class = matcher.graph.find(class);
        match query {
            Query::Variable(slot) => self.bind(*slot, class),
            Query::Number(value) => {
                let is_it = matcher.graph[class].data.constant.as_ref() == Some(value);
                self.note(is_it, || Miss::Part { wanted: value.to_string(), found: class });
            }
            Query::Reduce(reduce) => match matcher.reductions(reduce, class).into_iter().next() {
                None => {
                    self.note(false, || Miss::Part { wanted: written(query, self.slots, self.functions), found: class })
                }
                Some((bound, body)) => {
                    let n_bound = bound.inames.len();
                    let n_blocks = reduce.n_blocks();
                    let fits = n_bound >= n_blocks && (reduce.takes_rest() || n_bound == n_blocks);
                    self.note(fits, || Miss::Operands {
                        wanted: written(query, self.slots, self.functions),
                        found: n_bound,
                        class,
                    });
                    self.compare(matcher, &reduce.body, body);
                }
            },
            Query::Apply(apply) => {
                let lists = matcher.lists_of_any_length(apply, class);
                let n_plain = apply.plain.len();
                let fitting = |n: usize| n == n_plain || (apply.takes_rest() && n > n_plain);
                let Some(operands) = lists.iter().find(|list| fitting(list.all.len())).or_else(|| lists.first()) else {
                    self.note(false, || Miss::Part {
                        wanted: written(query, self.slots, self.functions),
                        found: class,
                    });
                    return;
                };
                let n = operands.all.len();
                self.note(fitting(n), || Miss::Operands {
                    wanted: written(query, self.slots, self.functions),
                    found: n,
                    class,
                });
                let values: Vec<Id> = operands.all.iter().map(|own| matcher.value_of(apply.operator, own)).collect();
                let mut taken = vec![false; values.len()];
                for (position, part) in apply.plain.iter().enumerate() {
                    let mut best: Option<(usize, Self)> = None;
                    for (idx, &value) in values.iter().enumerate() {
                        if taken[idx] || (!apply.operator.is_unordered() && idx != position) {
                            continue;
                        }
                        let mut trial = Self { known: self.known.clone(), miss: self.miss.clone(), ..*self };
                        trial.compare(matcher, part, value);
                        let is_better = best.as_ref().is_none_or(|(_, best)| {
                            (trial.n_fits, trial.miss.is_none()) > (best.n_fits, best.miss.is_none())
                        });
                        if is_better {
                            best = Some((idx, trial));
                        }
                    }
                    if let Some((idx, trial)) = best {
                        taken[idx] = true;
                        (self.known, self.n_fits, self.miss) = (trial.known, trial.n_fits, trial.miss);
                    }
                }
            }
        }
    }

    fn bind(&mut self, slot: Slot, class: Id) {
        match self.known[slot] {
            Some(first) if first != class => {
                let name = format!("?{}", self.slots.0[slot]);
                self.note(false, || Miss::Variable { name, first, second: class });
            }
            _ => {
                self.known[slot] = Some(class);
                self.note(true, || Miss::Part { wanted: String::new(), found: class });
            }
        }
    }

    fn note(&mut self, fits: bool, miss: impl FnOnce() -> Miss) {
        if fits {
            self.n_fits += 1;
        } else if self.miss.is_none() {
            self.miss = Some(miss());
        }
    }
}

/// A part of a left side as rule files have it.
fn written(query: &Query, slots: &Slots, functions: &Functions) -> String {
    let function = |operator: Operator| match operator {
        Operator::Call(function) => {
            functions.iter().find(|(_, id)| **id == function).map_or_else(String::new, |(name, _)| name.clone())
        }
        other => other.op().map_or_else(String::new, |op| op.spelling().to_owned()),
    };
    query.written(&|slot| slots.0[slot].to_string(), &function)
}
