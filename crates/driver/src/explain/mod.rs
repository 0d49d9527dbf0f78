//! How a result came about: the chain of named rules from what the kernel computes to each chosen form and temporary.
//!
//! # Input
//! A kernel and a configuration.
//! # Output
//! The passes from kernel to kernel, by name; and for each search by rules on the way the [values](Value) of its result: where each comes
//! from, the equations that lead to its form, and the form. With [`Verify::Yes`], what an independent check of all that found.
//! # Method
//! The kernel is optimized, and every kernel that the result was made of is remembered ([`crate::lineage`]). Each search among them runs once
//! more, now with a log of its unions, of which [proofs](nestegg_egraph::proof) are made. Passes are checked by the interpreter, as results are; equations
//! by the judge of rules; and instances of rules by the rules, run alone.
//! # Complexity
//! One run of the optimizer, and one more of each search that had a part in the result.

pub mod picture;
mod text;

use std::sync::Arc;

use egg::Id;
use nestegg_egraph::encode::{self, Encoded};
use nestegg_egraph::judge::{Judge, Judged, term};
use nestegg_egraph::pattern::Functions;
use nestegg_egraph::proof::{self, Birth, Choice, Log, Proofs, Why};
use nestegg_egraph::saturate::saturate;
use nestegg_extract::{Constructed, choices, extract_noting};
use nestegg_interp::Runnable;
use nestegg_ir::domains::Domains;
use nestegg_ir::join::in_sequence;
use nestegg_ir::{InstructionKind, Kernel, LinearizedKernel, Program, Semantics};
use nestegg_rules::RuleBook;
use nestegg_span::Source;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::begin::{Begun, begin};
use crate::config::Config;
use crate::error::Error;
use crate::excerpt::excerpt;
use crate::lineage::{Lineage, Lineages, Searched};
use crate::pipeline::optimize;
use crate::probabilities::Probabilities;
use crate::report::{Operations, Validated};
use crate::rules::{self, Licensed};
use crate::search::{Passes, functions, selection, value_form, with_unrolled};
use crate::stages::Stages;
use crate::unrolled::Names;
use crate::validation::{self, Steps, Subject};

/// Whether an explanation is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Every step.
    Yes,
    /// Nothing.
    No,
}

/// How a result came about.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The kernel's name.
    pub kernel: String,
    /// The strategy.
    pub strategy: String,
    /// The seed that the result was made of.
    pub seed: String,
    /// Operations of the input.
    pub before: Operations,
    /// Operations of the result.
    pub after: Operations,
    /// Passes and searches, in the order in which the result was made.
    pub stages: Vec<Stage>,
    /// What checking found, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
}

/// A step from kernel to kernel.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Stage {
    /// Passes, which need no rules.
    Passes {
        /// Their names, or what they make.
        name: String,
        /// What comparing the kernels before and after found.
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<Evidence>,
    },
    /// Rules, and a choice among what they found.
    Search(Search),
}

/// What comparing two kernels found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "because")]
pub enum Evidence {
    /// They are equal.
    Equal(String),
    /// They are not.
    Different(String),
    /// They cannot be compared.
    NotCompared(String),
}

/// A search by rules.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    /// The seed that rules worked on.
    pub seed: String,
    /// The strategy.
    pub strategy: String,
    /// The values of the result, operands first.
    pub values: Vec<Value>,
    /// What checking the chains found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Chains>,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// What it is called: a temporary, or what an instruction stores.
    pub names: Vec<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// The equations that lead to the form, those that others rest on first.
    pub steps: Vec<Equation>,
    /// How many steps rest on equal operands beside.
    pub n_congruences: usize,
    /// The form, in which temporaries go by their names.
    pub form: String,
    /// Whether the form is what the value was from the start.
    pub is_unchanged: bool,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The kernel computes it.
    Kernel {
        /// As it is there.
        term: String,
    },
    /// It first appears inside a form that a rule made.
    Rule {
        /// The part.
        term: String,
        /// What the rule says.
        by: Equation,
    },
    /// It is a part of some form.
    Form {
        /// The part.
        term: String,
    },
}

/// An equation on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Equation {
    /// Its number in the search, the same wherever it is used.
    pub number: usize,
    /// The rule; `None` for the normal form, which computes constants.
    pub rule: Option<String>,
    /// What the rule looked at.
    pub left: String,
    /// What it made.
    pub right: String,
}

/// What checking the chains of a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chains {
    /// Values with a chain.
    pub values: usize,
    /// Steps of all kinds.
    pub steps: usize,
    /// Different equations of rules and of the normal form.
    pub equations: usize,
    /// Those whose sides were evaluated, and are equal.
    pub evaluated: usize,
    /// Those that evaluation can say nothing of.
    pub not_evaluated: usize,
    /// Instances of pattern rules.
    pub instances: usize,
    /// Those that the rule, run alone, made again; the others rest on their values alone.
    pub rematched: usize,
    /// The others, in words.
    pub not_made: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<String>,
}

/// What checking an explanation found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Values with a chain that holds.
    pub chains: usize,
    /// Equations that were evaluated.
    pub equations: usize,
    /// Instances of pattern rules among them.
    pub instances: usize,
    /// Those that their rule, run alone, made again.
    pub rematched: usize,
    /// Kernels that were compared.
    pub passes: usize,
    /// What could not be evaluated or compared.
    pub unknown: usize,
    /// What is wrong.
    pub wrong: usize,
}

/// Optimizes a kernel, and says how the result came about.
///
/// # Errors
/// Those of [`optimize`].
pub fn explain(source: &Source, config: &Config, verify: Verify) -> Result<Explanation, Error> {
    let config = Config { keeps_lineage: true, batch: None, ..config.clone() };
    let optimized = optimize(source, &config)?;
    begin(source, &config, |Begun { program, input, book, semantics, values, pass, .. }| {
        let mut explainer = Explainer {
            config: &config,
            book,
            pass,
            semantics,
            values,
            verify,
            known: FxHashMap::default(),
            stages: Vec::new(),
        };
        if !optimized.from.is_empty() {
            let (form, folds) = value_form(input.clone(), &explainer.pass, &mut Stages::new(None))?;
            let evidence = explainer.compared(program, Steps { folds: &folds, approximated: None }, &form)?;
            explainer.stages.push(Stage::Passes { name: "value form".to_owned(), evidence });
        }
        let last = explainer.kernels(&optimized.from)?;
        let evidence = match &optimized.report.validation {
            // How the result was put together again shows in it alone, and a fitted one has other numbers.
            _ if optimized.report.seed.ends_with("fitted") || last.is_none() => {
                Some(as_validated(&optimized.report.validation))
            }
            _ => match last.as_ref() {
                Some(last) => {
                    explainer.compared(&Program::Linearized(last.clone()), Steps::default(), &optimized.program)?
                }
                None => None,
            },
        };
        let name = if optimized.from.is_empty() {
            "the input, without dead code"
        } else {
            "reductions realized, loops scheduled"
        };
        let evidence = evidence.filter(|_| verify == Verify::Yes);
        explainer.stages.push(Stage::Passes { name: name.to_owned(), evidence });
        let stages = explainer.stages;
        let report = optimized.report;
        Ok(Explanation {
            kernel: report.kernel,
            strategy: report.strategy,
            seed: report.seed,
            before: report.before,
            after: report.after,
            verified: (verify == Verify::Yes).then(|| verified(&stages)),
            stages,
        })
    })
}

fn as_validated(validated: &Validated) -> Evidence {
    match validated {
        Validated::Equal { evidence } => Evidence::Equal(evidence.clone()),
        Validated::NotCompared { reason } => Evidence::NotCompared(reason.clone()),
    }
}

fn verified(stages: &[Stage]) -> Verified {
    let mut res = Verified::default();
    for stage in stages {
        match stage {
            Stage::Passes { evidence: None, .. } => {}
            Stage::Passes { evidence: Some(evidence), .. } => match evidence {
                Evidence::Equal(_) => res.passes += 1,
                Evidence::Different(_) => res.wrong += 1,
                Evidence::NotCompared(_) => res.unknown += 1,
            },
            Stage::Search(search) => {
                let Some(chains) = &search.checked else { continue };
                res.chains += chains.values;
                res.equations += chains.evaluated;
                res.unknown += chains.not_evaluated;
                res.instances += chains.instances;
                res.rematched += chains.rematched;
                res.wrong += chains.wrong.len();
            }
        }
    }
    res
}

/// Makes the stages of an explanation.
struct Explainer<'a> {
    config: &'a Config,
    book: &'a RuleBook,
    pass: Passes<'a>,
    semantics: Semantics,
    values: &'a [(String, i64)],
    verify: Verify,
    /// What selection made of each search, by address: the same one may have a part in several places.
    known: FxHashMap<*const Lineage, LinearizedKernel>,
    stages: Vec<Stage>,
}

impl Explainer<'_> {
    /// The kernel that these are together, once their stages are made; `None` if there are none.
    fn kernels(&mut self, from: &Lineages) -> Result<Option<LinearizedKernel>, Error> {
        let mut all = Vec::with_capacity(from.len());
        for lineage in from {
            all.push(self.kernel(lineage)?);
        }
        Ok(match all.as_slice() {
            [one] => Some(one.clone()),
            several => in_sequence(&several.iter().collect::<Vec<_>>()),
        })
    }

    /// Recursion is as deep as seeds were made of results: a handful.
    fn kernel(&mut self, lineage: &Arc<Lineage>) -> Result<LinearizedKernel, Error> {
        let searched = match &**lineage {
            Lineage::Form(form) => return Ok((**form).clone()),
            Lineage::Searched(searched) => searched,
        };
        if let Some(known) = self.known.get(&Arc::as_ptr(lineage)) {
            return Ok(known.clone());
        }
        let seed = &searched.seed;
        if let Some(base) = self.kernels(&seed.from)? {
            let approximated = seed.tolerance.map(|tolerance| (seed.linearized.clone(), tolerance));
            // What selection made of an unrolled form is unrolled already.
            let is_of_form = seed.from.iter().all(|from| matches!(**from, Lineage::Form(_)));
            let unrolled = if is_of_form { seed.unrolled.clone() } else { Names::new() };
            let folds = with_unrolled(Vec::new(), &base, &unrolled, self.semantics.licence).unwrap_or_default();
            let base = Program::Linearized(base);
            let steps = Steps { folds: &folds, approximated: approximated.as_ref() };
            let evidence = self.compared(&base, steps, &seed.linearized)?;
            self.stages.push(Stage::Passes { name: format!("seed `{}`", seed.name), evidence });
        }
        let (search, selected) = self.search(searched)?;
        let seed = Program::Linearized(seed.linearized.clone());
        let evidence = self.compared(&seed, Steps::default(), &selected)?;
        self.stages.push(Stage::Search(search));
        if evidence.is_some() {
            self.stages.push(Stage::Passes { name: "selection".to_owned(), evidence });
        }
        self.known.insert(Arc::as_ptr(lineage), selected.clone());
        Ok(selected)
    }

    /// What comparing two kernels finds, if that is asked for.
    fn compared(
        &self,
        first: &Program,
        steps: Steps<'_>,
        second: &LinearizedKernel,
    ) -> Result<Option<Evidence>, Error> {
        if self.verify == Verify::No {
            return Ok(None);
        }
        let second = Program::Linearized(second.clone());
        let (first, second) = (Runnable::from(first), Runnable::from(&second));
        let found = validation::check(
            Subject::from(&first),
            steps,
            Subject::from(&second),
            self.values,
            self.semantics.licence,
        );
        Ok(Some(match found {
            Ok(Ok((validated, _))) => as_validated(&validated),
            Ok(Err(refusal)) => Evidence::Different(refusal.reason()),
            Err(Error::NotValidated { reason, .. }) => Evidence::NotCompared(reason),
            Err(Error::Undefined { source, .. }) => Evidence::NotCompared(source.to_string()),
            Err(error) => return Err(error),
        }))
    }

    /// Searches again, and explains what was chosen.
    fn search(&self, searched: &Searched) -> Result<(Search, LinearizedKernel), Error> {
        self.again(searched, |again| {
            let Again { kernel, functions, encoded, n_encoded, chosen, constructed, judge } = again;
            let rule = |name: &str| self.book.rules.get(name);
            let proofs = Proofs::new(&mut encoded.graph, n_encoded, chosen, rule, functions);
            let checked = (self.verify == Verify::Yes).then(|| {
                let found = proof::check(&proofs, &encoded.graph, kernel, judge, rule, functions);
                Chains {
                    values: proofs.values.iter().filter(|value| value.lemma.is_some()).count(),
                    steps: found.n_steps,
                    equations: found.n_equations,
                    evaluated: found.n_evaluated,
                    not_evaluated: found.unjudged.values().sum(),
                    instances: found.n_instances,
                    rematched: found.n_rematched,
                    not_made: found.not_made,
                    wrong: found.wrong,
                }
            });
            let values = told(&proofs, encoded, (kernel, constructed));
            let (seed, strategy) = (searched.seed.name.clone(), searched.strategy.clone());
            (Search { seed, strategy, values, checked }, constructed.linearized.clone())
        })
    }

    /// Searches again, with a log.
    fn again<T>(&self, searched: &Searched, look: impl FnOnce(Again<'_, '_>) -> T) -> Result<T, Error> {
        let Licensed { strategy, .. } = rules::licensed(self.book, &searched.strategy, self.config)?;
        let strategy = searched.limit(strategy);
        let named = nestegg_transform::name_bound_inames(searched.seed.linearized.clone());
        let mut form = self.pass.done("encode", named)?;
        let functions = functions(&mut form.kernel, &strategy);
        let context = nestegg_isl::Context::new();
        let domains = self.pass.done("encode", Domains::new(&context, &form.kernel))?.with_values(self.values);
        let mut encoded = self.pass.done("encode", encode::encode(&form, &domains, self.semantics))?;
        let n_encoded = encoded.graph.nodes().len();
        encoded.graph.analysis.log = Some(Log::new(&encoded.graph));
        let mut judge = Judge::new(&form.kernel, &domains, Judged::Nobody);
        saturate(&mut encoded.graph, &strategy, &functions, &mut judge)
            .map_err(|unsound| Error::Unsound(Box::new(unsound)))?;
        let probabilities = Probabilities::of(&form.kernel);
        let probability = |condition| probabilities.get(&form.kernel, condition);
        let search = selection(&strategy, searched.worth_proving);
        let mut chosen: Vec<Choice> = Vec::new();
        let extracted = extract_noting(&form, &mut encoded, &domains, search, &probability, |placement| {
            chosen = choices(placement)
        });
        let constructed = self.pass.done("select", extracted)?.constructed;
        Ok(look(Again {
            kernel: &form.kernel,
            functions: &functions,
            encoded: &mut encoded,
            n_encoded,
            chosen: &chosen,
            constructed: &constructed,
            judge: &mut judge,
        }))
    }
}

/// A search as it ran, with the log of its e-graph.
struct Again<'a, 'j> {
    kernel: &'a Kernel,
    functions: &'a Functions,
    encoded: &'a mut Encoded,
    n_encoded: usize,
    chosen: &'a [Choice],
    constructed: &'a Constructed,
    judge: &'a mut Judge<'j>,
}

/// The kept values of a search by their e-classes: what they are called, and their forms.
fn named(encoded: &Encoded, (kernel, constructed): (&Kernel, &Constructed)) -> FxHashMap<Id, (Vec<String>, String)> {
    let graph = &encoded.graph;
    let mut named: FxHashMap<Id, (Vec<String>, String)> = FxHashMap::default();
    let new = &constructed.linearized.kernel;
    for temporary in &constructed.temporaries {
        let inames: Vec<&str> = temporary.inames.iter().map(|iname| kernel[iname].name.as_str()).collect();
        let name = if inames.is_empty() {
            temporary.name.clone()
        } else {
            format!("{}[{}]", temporary.name, inames.join(", "))
        };
        named.entry(graph.find(temporary.class)).or_insert((vec![name], excerpt(new, temporary.expression)));
    }
    for root in &encoded.roots {
        let instruction = &kernel[root.insn];
        let place = instruction.expressions().position(|expr| expr == root.expr).unwrap_or_default();
        let name = match &instruction.kind {
            InstructionKind::Assignment { assignee, .. } if place == 0 => stored(kernel, assignee),
            _ if place + instruction.predicates.len() >= instruction.expressions().count() => {
                format!("condition of `{}`", instruction.id)
            }
            _ => format!("`{}`", instruction.id),
        };
        let form = new[root.insn].expressions().nth(place).map(|expr| excerpt(new, expr)).unwrap_or_default();
        let entry = named.entry(graph.find(root.class)).or_insert_with(|| (Vec::new(), form));
        if !entry.0.contains(&name) {
            entry.0.push(name);
        }
    }
    named
}

/// The values of a search in words.
fn told(proofs: &Proofs, encoded: &Encoded, (kernel, constructed): (&Kernel, &Constructed)) -> Vec<Value> {
    let graph = &encoded.graph;
    let text = |id: Id| if proofs.is_term(id) { term(&proofs.terms, kernel, id) } else { "the chosen form".to_owned() };
    let mut named = named(encoded, (kernel, constructed));
    let mut numbers: FxHashMap<(String, Id, Id), usize> = FxHashMap::default();
    let mut res = Vec::with_capacity(proofs.values.len());
    for value in &proofs.values {
        let (names, form) = named.remove(&graph.find(value.class)).unwrap_or_default();
        let origin = match &value.birth {
            Birth::Kernel => Origin::Kernel { term: text(value.start) },
            Birth::Rule { name, left, right } => {
                let number = number(&mut numbers, (Some(name), *left, *right));
                let by = Equation { number, rule: Some(name.clone()), left: text(*left), right: text(*right) };
                Origin::Rule { term: text(value.start), by }
            }
            Birth::Form => Origin::Form { term: text(value.start) },
        };
        let equations = value.lemma.map(|lemma| proofs.equations(lemma)).unwrap_or_default();
        let n_congruences = value.lemma.map_or(0, |lemma| proofs.n_congruences(lemma));
        let mut steps = Vec::with_capacity(equations.len());
        for step in equations {
            let (left, right) = if step.is_reversed { (step.right, step.left) } else { (step.left, step.right) };
            let rule = match &step.why {
                Why::Rule { name, .. } => Some(name.clone()),
                Why::Normal | Why::Parts(_) => None,
            };
            let number = number(&mut numbers, (rule.as_deref(), left, right));
            steps.push(Equation { number, rule, left: text(left), right: text(right) });
        }
        res.push(Value { names, origin, steps, n_congruences, form, is_unchanged: value.is_unchanged });
    }
    res
}

fn stored(kernel: &Kernel, assignee: &nestegg_ir::Assignee) -> String {
    let indices: Vec<String> = assignee.indices.iter().map(|&index| excerpt(kernel, index)).collect();
    let name = &kernel[assignee.array].name;
    if indices.is_empty() { name.clone() } else { format!("{name}[{}]", indices.join(", ")) }
}

/// The number of an equation: the next one where it is new.
fn number(numbers: &mut FxHashMap<(String, Id, Id), usize>, (rule, left, right): (Option<&str>, Id, Id)) -> usize {
    let next = numbers.len() + 1;
    *numbers.entry((rule.unwrap_or_default().to_owned(), left, right)).or_insert(next)
}
