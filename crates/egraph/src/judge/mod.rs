//! Rules are judged when they fire: both sides of an equation are evaluated before it is believed.
//!
//! # Input
//! A kernel, its domains, the e-graph of its values, and the equations that a rule found in one pass.
//! # Output
//! The first equation that is none, with the rule, what its variables stand for, the place, the data, and both values; or the number of
//! equations of which nothing can be said, by reason.
//! # Method
//! Each side is a [term](terms), which no union changes. Both are [evaluated](evaluate) at [`N_SAMPLES`] samples: [places](places) in the
//! domains, and [data](data) that reach both sides of what the terms decide on. Values are [real numbers](real), exact or with some hundred digits and a bound
//! of the error, so that rounding excuses nothing. Where the left side has no value, or none that can be told, there is no evidence. Where it has
//! one and the right side has none, the rule is wrong, unless it is tagged `finite-only`.
//! # Complexity
//! Terms are evaluated once for each sample. [`MAX_FULL`] equations of a rule are judged at all samples, [`MAX_QUICK`] more at
//! [`N_QUICK`] of them; a rule may spend [`MAX_STEPS`] operations. All of these are reported.
//! # Not done
//! Bits of floats: a rule that is tagged `exact` is held to real numbers here, and to bits when the result is validated. Decisions that no datum
//! reaches, because of what the kernel computes, are not looked for.

mod data;
mod evaluate;
mod function;
mod gap;
mod places;
mod real;
mod terms;
mod text;

use std::fmt;

use astro_float::Consts;
use egg::Id;
use indexmap::IndexMap;
use miette::NamedSource;
use nestegg_ir::domains::Domains;
use nestegg_ir::{InameSet, Kernel};
use nestegg_rules::Rule;
use nestegg_span::Span;

use crate::analysis::Graph;
use crate::builtin;
use evaluate::{Sample, World};
pub use gap::Gap;
use real::{Precise, Real};
use terms::Terms;
pub use text::{operation, spelled, term};

/// At how many samples an equation is judged.
pub const N_SAMPLES: usize = 28;
/// At how many of them it is judged once a rule has made [`MAX_FULL`] equations.
pub const N_QUICK: usize = 4;
/// How many equations of a rule are judged at all samples.
pub const MAX_FULL: usize = 1_000;
/// How many more are judged at some of them.
pub const MAX_QUICK: usize = 20_000;
/// How many operations a rule may spend.
pub const MAX_STEPS: u64 = 4_000_000;
/// How many elements a message shows.
const MAX_SHOWN: usize = 6;
/// How many elements a finding has.
const MAX_ELEMENTS: usize = 256;

/// Whose rules are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Nobody's.
    Nobody,
    /// Those of files that are not built in.
    Given,
    /// All rules.
    Everybody,
}

/// Two values that a rule says are equal.
#[derive(Clone, Debug)]
pub struct Equation {
    /// What was there.
    pub class: Id,
    /// What the rule says it equals.
    pub form: Id,
    /// What the variables of the rule stand for, if it is a pattern.
    pub bindings: Vec<(String, Meaning)>,
}

/// What a variable stands for.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// Values.
    Values(Vec<Id>),
    /// Inames that a reduction binds.
    Inames(InameSet),
}

/// A rule that is no equality.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("rule `{rule}` is not an equality: {finding}")]
#[diagnostic(code(rules::unsound), help("{}", self.advice()))]
pub struct Wrong {
    /// The rule.
    pub rule: String,
    /// What was found.
    pub finding: Finding,
    /// Its file.
    #[source_code]
    file: NamedSource<std::sync::Arc<str>>,
    /// Its place there.
    #[label("{}", self.finding.bindings())]
    at: Span,
}

/// An equation that is none, and where.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was there, as text.
    pub left: String,
    /// What the rule says it equals.
    pub right: String,
    /// The value of the left side.
    pub left_value: f64,
    /// The value of the right side; or why it has none.
    pub right_value: Result<f64, Gap>,
    /// What is between the two where they differ by less than doubles show.
    pub difference: Option<f64>,
    /// What the variables of the rule stand for, with their values where they have one.
    pub variables: Vec<(String, String, Option<f64>)>,
    /// Values of parameters and inames.
    pub place: Vec<(String, i64)>,
    /// Elements of arrays with their values, in the order in which the sides read them, some of them twice.
    pub elements: Vec<(String, f64)>,
}

/// A judge of rules at work on one kernel.
#[derive(Debug)]
pub struct Judge<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    judged: Judged,
    terms: Terms,
    samples: Vec<Sample<'a>>,
    precise: Option<Precise>,
    spent: IndexMap<String, Spent>,
    /// How many equations nothing can be said of, by rule and reason.
    unjudged: IndexMap<(String, Gap), usize>,
}

/// What judging a rule has cost.
#[derive(Clone, Copy, Debug)]
struct Spent {
    n_equations: usize,
    /// Steps that are left.
    steps: u64,
}

impl<'a> Judge<'a> {
    /// A judge of these rules. It costs nothing until one of them fires.
    #[must_use]
    pub fn new(kernel: &'a Kernel, domains: &'a Domains, judged: Judged) -> Self {
        Self {
            kernel,
            domains,
            judged,
            terms: Terms::default(),
            samples: Vec::new(),
            precise: None,
            spent: IndexMap::new(),
            unjudged: IndexMap::new(),
        }
    }

    /// Whether a rule is judged.
    #[must_use]
    pub fn judges(&self, rule: &Rule) -> bool {
        match self.judged {
            Judged::Nobody => false,
            Judged::Given => !builtin::has(&rule.source),
            Judged::Everybody => true,
        }
    }

    /// How many equations nothing can be said of, by rule and reason.
    #[must_use]
    pub fn unjudged(&self) -> &IndexMap<(String, Gap), usize> {
        &self.unjudged
    }

    /// Rules of which not all equations were judged at all samples.
    pub fn hurried(&self) -> impl Iterator<Item = &str> {
        self.spent.iter().filter(|(_, spent)| spent.n_equations > MAX_FULL).map(|(rule, _)| rule.as_str())
    }

    /// Judges what a rule made.
    ///
    /// # Errors
    /// The first equation that is none.
    pub fn judge(&mut self, graph: &Graph, rule: &Rule, equations: &[Equation]) -> Result<(), Box<Wrong>> {
        if equations.is_empty() {
            return Ok(());
        }
        self.prepare(graph);
        let is_finite_only = rule.tags.iter().any(|tag| tag.as_str() == "finite-only");
        for equation in equations {
            let name = rule.name.as_str();
            let mut spent = self.spent.get(name).copied().unwrap_or(Spent { n_equations: 0, steps: MAX_STEPS });
            spent.n_equations += 1;
            let n_samples = match spent.n_equations {
                ..=MAX_FULL => N_SAMPLES,
                n if n <= MAX_FULL + MAX_QUICK => N_QUICK,
                _ => 0,
            };
            let verdict = self.compare(graph, equation, n_samples, is_finite_only, &mut spent.steps);
            self.spent.insert(name.to_owned(), spent);
            match verdict {
                Agreement::Equal => {}
                Agreement::Unknown(gap) => *self.unjudged.entry((name.to_owned(), gap)).or_default() += 1,
                Agreement::Different(finding) => {
                    return Err(Box::new(Wrong {
                        rule: name.to_owned(),
                        finding: *finding,
                        file: rule.source.named_source(),
                        at: rule.span,
                    }));
                }
            }
        }
        Ok(())
    }

    /// Evaluates two terms at all samples, without a rule to blame; `steps` is the budget, and counts down.
    pub fn agree(&mut self, graph: &Graph, class: Id, form: Id, steps: &mut u64) -> Agreement {
        self.prepare(graph);
        let equation = Equation { class, form, bindings: Vec::new() };
        self.compare(graph, &equation, N_SAMPLES, false, steps)
    }

    /// Takes new terms in; samples start anew where there are new constants to decide on.
    fn prepare(&mut self, graph: &Graph) {
        if self.terms.extend(graph) || self.samples.is_empty() {
            let sample = |number| Sample::new(self.kernel, self.domains, number, &self.terms.palette);
            self.samples = (0..N_SAMPLES).map(sample).collect();
        }
        if self.precise.is_none() {
            self.precise = Consts::new().ok().map(Precise);
        }
    }

    fn compare(
        &mut self,
        graph: &Graph,
        equation: &Equation,
        n_samples: usize,
        is_finite_only: bool,
        steps: &mut u64,
    ) -> Agreement {
        let Some(precise) = &mut self.precise else { return Agreement::Unknown(Gap::Steps) };
        let mut world = World { graph, terms: &self.terms, precise, steps };
        let mut gap = None;
        let mut n_equal = 0;
        for sample in &mut self.samples[..n_samples] {
            let left = match sample.value(&mut world, equation.class) {
                Ok(left) => left,
                Err(error) => {
                    gap.get_or_insert(error);
                    continue;
                }
            };
            let right = sample.value(&mut world, equation.form);
            let is_equal = match &right {
                Ok(right) => left.agrees(right),
                // Finite values excuse infinities and zero divisors, not the logarithm of a negative number.
                Err(Gap::Argument) => Ok(false),
                Err(error) if error.is_undefined() && !is_finite_only => Ok(false),
                Err(error) => Err(*error),
            };
            match is_equal {
                Ok(true) => n_equal += 1,
                Ok(false) => {
                    let finding = finding(self.kernel, sample, &mut world, equation, &left, right);
                    return Agreement::Different(Box::new(finding));
                }
                Err(error) => gap = gap.or(Some(error)),
            }
        }
        if n_equal > 0 { Agreement::Equal } else { Agreement::Unknown(gap.unwrap_or(Gap::Steps)) }
    }
}

/// What the samples say of two terms.
#[derive(Clone, Debug)]
pub enum Agreement {
    /// They are equal wherever both have a value.
    Equal,
    /// Nothing can be said.
    Unknown(Gap),
    /// They are not equal.
    Different(Box<Finding>),
}

fn finding(
    kernel: &Kernel,
    sample: &mut Sample<'_>,
    world: &mut World<'_>,
    equation: &Equation,
    left: &Real,
    right: Result<Real, Gap>,
) -> Finding {
    let text = |id: Id| text::term(world.graph, kernel, id);
    let roots = [equation.class, equation.form];
    let (left_text, right_text) = (text(equation.class), text(equation.form));
    let texts = |meaning: &Meaning| match meaning {
        Meaning::Values(ids) => ids.iter().map(|&id| text(id)).collect::<Vec<String>>(),
        Meaning::Inames(inames) => inames.iter().map(|iname| kernel[iname].name.clone()).collect(),
    };
    let named: Vec<(String, Vec<String>)> =
        equation.bindings.iter().map(|(name, meaning)| (name.clone(), texts(meaning))).collect();
    let variables = named.into_iter().zip(&equation.bindings).map(|((name, texts), (_, meaning))| {
        let value = match meaning {
            Meaning::Values(ids) if ids.len() == 1 => sample.value(world, ids[0]).ok().map(|value| value.to_f64()),
            _ => None,
        };
        (name, texts.join(", "), value)
    });
    let variables = variables.collect();
    let (left_value, right_value) = (left.to_f64(), right.as_ref().map(Real::to_f64).map_err(|gap| *gap));
    let is_close = right_value.is_ok_and(|right| (right - left_value).abs() <= 1e-12 * left_value.abs());
    let difference = right.ok().filter(|_| is_close).and_then(|right| right.minus(left).ok()).map(|rest| rest.to_f64());
    let elements = sample.elements(world, roots, MAX_ELEMENTS);
    Finding {
        left: left_text,
        right: right_text,
        left_value,
        right_value,
        difference,
        variables,
        place: sample.place(world.terms, roots),
        elements,
    }
}

impl Wrong {
    fn advice(&self) -> String {
        let place = self.finding.place.iter().map(|(name, value)| format!("{name} = {value}"));
        let mut elements = self.finding.elements.clone();
        elements.truncate(MAX_SHOWN);
        elements.sort_by(|a, b| a.0.cmp(&b.0));
        elements.dedup();
        let elements = elements.iter().map(|(name, value)| format!("{name} = {value}"));
        let where_: Vec<String> = place.chain(elements).collect();
        let at = if where_.is_empty() { String::new() } else { format!("this is so where {}; ", where_.join(", ")) };
        format!("{at}mend the rule, or give it the condition under which it holds (`:when`)")
    }
}

impl Finding {
    /// What the variables stand for, in words.
    fn bindings(&self) -> String {
        if self.variables.is_empty() {
            return "this rule".to_owned();
        }
        let texts = self.variables.iter().map(|(name, text, value)| match value {
            _ if text.is_empty() => format!("{name} is nothing"),
            Some(value) if value.to_string() != *text => format!("{name} is `{text}` = {value}"),
            _ => format!("{name} is `{text}`"),
        });
        texts.collect::<Vec<String>>().join(", ")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}, but `{}` ", self.left, self.left_value, self.right)?;
        match (&self.right_value, self.difference) {
            (Ok(_), Some(difference)) if difference > 0.0 => write!(f, "is more by {difference:e}"),
            (Ok(_), Some(difference)) => write!(f, "is less by {:e}", -difference),
            (Ok(value), None) => write!(f, "is {value}"),
            (Err(gap), _) => write!(f, "has no value: {gap}"),
        }
    }
}
