//! Instances of a pattern: expressions that it may match.
//!
//! # Input
//! One side of a rule, its condition for [hints](Hints), and a seed.
//! # Output
//! An expression and its [setting](Setting); `None` where the choices led nowhere, as when a value would have to stand outside a loop
//! that it depends on. The same seed gives the same instance.
//! # Method
//! The pattern is written out from the root, operators as the text form has them. A variable gets a [value](Values) where it occurs first, and
//! the same text everywhere. Reductions bind one to three loops that nothing around them binds; two reductions side by side may bind
//! the same. Rest variables stand for up to three values, whatever the test of their children says: whether it holds is for the
//! e-graph to say.
//! # Not done
//! Whether the pattern matches, and the condition holds, is seen only where the rule is run.

use std::collections::BTreeMap;

use nestegg_ir::Op;
use nestegg_rules::{InameVariable, Pattern, PatternId, PatternNode};
use nestegg_testgen::Seeded;
use num_traits::ToPrimitive;

use super::evidence::may_have_no_value;
use super::setting::{DEPENDENT, Element, LOOPS, Setting};
use super::values::{Hints, Place, Values};

/// An expression and where it lives.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) setting: Setting,
    pub(crate) expression: String,
}

impl Instance {
    /// The instance of a seed.
    pub(crate) fn new(pattern: &Pattern, hints: &Hints, seed: u64) -> Option<Self> {
        let mut values = Values {
            choices: Seeded::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            setting: Setting::new(Element::Float64, Vec::new(), 2),
            hints,
        };
        let element = match values.below(10) {
            0..=2 => Element::Int32,
            3 => Element::Float32,
            _ => Element::Float64,
        };
        let element = hints.element.filter(|_| values.chance(60)).unwrap_or(element);
        let outer = match values.below(6) {
            0 => Vec::new(),
            1 => vec!["j"],
            2 => vec!["i", "j"],
            _ => vec!["i"],
        };
        let n = [2, 3, 0, 1, 2][values.below(5)];
        values.setting = Setting::new(element, outer.clone(), n);
        let mut draw = Draw { pattern, values, scope: outer, bound: BTreeMap::new(), inames: BTreeMap::new() };
        let root = pattern.root();
        let is_truth = draw.is_truth(root);
        let sort = if is_truth { Sort::Truth } else { Sort::Number };
        let mut expression = draw.part(root, sort, Place::Other)?.pop()?;
        if is_truth {
            let [one, zero] = if element.is_float() { ["1.0", "0.0"] } else { ["1", "0"] };
            expression = format!("{one} if {expression} else {zero}");
        }
        let mut setting = draw.values.setting;
        if may_have_no_value(&expression) {
            if setting.loops.contains("none") {
                return None;
            }
            setting.n = setting.n.max(1);
        }
        Some(Self { setting, expression })
    }
}

/// What a value is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Number,
    Truth,
}

/// The value of a variable, and the inames in scope where it was drawn.
type Bound = (Vec<String>, Vec<&'static str>);

struct Draw<'a> {
    pattern: &'a Pattern,
    values: Values<'a>,
    scope: Vec<&'static str>,
    bound: BTreeMap<String, Bound>,
    inames: BTreeMap<String, Vec<&'static str>>,
}

impl Draw<'_> {
    /// The operands that a node stands for, each in parentheses where it needs them. Recursion is as deep as the pattern.
    fn part(&mut self, id: PatternId, sort: Sort, place: Place) -> Option<Vec<String>> {
        Some(match self.pattern.node(id) {
            PatternNode::Variable(name) => self.variable(name.as_str(), 1, sort, place)?,
            PatternNode::Rest(name) | PatternNode::Filtered { rest: name, .. } => {
                let n = [1, 2, 1, 0, 3, 1][self.values.below(6)];
                self.variable(name.as_str(), n, sort, place)?
            }
            PatternNode::Number(value) => vec![self.number(value.to_f64()?, value.is_integer())],
            PatternNode::Reduce { operator, inames, body } => vec![self.reduce(operator.as_str(), inames, *body)?],
            PatternNode::Apply { operator, children } => {
                let operator = operator.as_str();
                let place = match operator {
                    "+" | "-" => Place::Sum,
                    "*" | "/" => Place::Product,
                    _ => Place::Other,
                };
                let mut operands = Vec::new();
                for (idx, &child) in children.iter().enumerate() {
                    let is_condition = matches!(operator, "and" | "or" | "not") || (operator == "if" && idx == 0);
                    let sort = if is_condition { Sort::Truth } else { Sort::Number };
                    operands.extend(self.part(child, sort, place)?);
                }
                vec![applied(operator, &operands)?]
            }
            // These stand on right sides; a rule that works both ways cannot have them.
            PatternNode::Each { .. } | PatternNode::Spread { .. } | PatternNode::Size(_) => return None,
        })
    }

    fn variable(&mut self, name: &str, n: usize, sort: Sort, place: Place) -> Option<Vec<String>> {
        if let Some((known, scope)) = self.bound.get(name) {
            // What was drawn among more inames may depend on those that are not bound here.
            return scope.iter().all(|iname| self.scope.contains(iname)).then(|| known.clone());
        }
        // A value may depend on fewer inames than are in scope.
        let mut scope = self.scope.clone();
        if self.values.chance(35) {
            scope.retain(|_| self.values.chance(50));
        }
        let mut texts = Vec::new();
        for _ in 0..n {
            texts.push(match sort {
                Sort::Truth => self.values.truth(&scope),
                Sort::Number => self.values.value(name, &scope, place),
            });
        }
        self.bound.insert(name.to_owned(), (texts.clone(), scope));
        Some(texts)
    }

    fn number(&self, value: f64, is_whole: bool) -> String {
        let text = match (is_whole, self.values.setting.element.is_float()) {
            (true, false) => format!("{value:.0}"),
            _ => format!("{value:?}"),
        };
        if text.starts_with('-') { format!("({text})") } else { text }
    }

    fn reduce(&mut self, operator: &str, inames: &[InameVariable], body: PatternId) -> Option<String> {
        let depth = self.scope.len();
        let mut own: Vec<&'static str> = Vec::new();
        for iname in inames {
            let name = iname.name().as_str();
            let blocks = match iname {
                InameVariable::One(_) => 1,
                InameVariable::Rest(_) => [1, 1, 0, 2][self.values.below(4)],
            };
            let of_variable = match self.inames.get(name) {
                Some(known) => known.clone(),
                None => {
                    let mut drawn = Vec::new();
                    for _ in 0..blocks {
                        let taken: Vec<&'static str> = own.iter().chain(&drawn).copied().collect();
                        drawn.extend(self.fresh(&taken)?);
                    }
                    self.inames.insert(name.to_owned(), drawn.clone());
                    drawn
                }
            };
            own.extend(of_variable);
        }
        if own.is_empty() || own.iter().any(|iname| self.scope.contains(iname)) {
            return None;
        }
        self.values.setting.loops.extend(own.iter().copied());
        self.scope.extend(&own);
        let body = self.part(body, Sort::Number, Place::Other)?.pop()?;
        self.scope.truncate(depth);
        Some(format!("reduce({operator}, [{}], {body})", own.join(", ")))
    }

    /// Inames of one domain that are neither in scope nor taken.
    fn fresh(&mut self, taken: &[&'static str]) -> Option<Vec<&'static str>> {
        // Loops without points say little about most rules.
        const WEIGHTED: [&str; 14] = ["q", "q", "q", "q", "r", "r", "r", "one", "none", "p", "p", "p", "s", "d"];
        let is_free = |name: &&'static str| !taken.contains(name) && !self.scope.contains(name);
        let has_outer = self.scope.contains(&"i");
        let free: Vec<&'static str> =
            WEIGHTED.into_iter().filter(is_free).filter(|name| *name != DEPENDENT.name || has_outer).collect();
        if free.is_empty() {
            return None;
        }
        let name = free[self.values.below(free.len())];
        let domain = LOOPS.iter().find(|known| known.name == name).map_or(DEPENDENT.domain, |known| known.domain);
        let members: Vec<&'static str> =
            LOOPS.iter().filter(|known| known.domain == domain).map(|known| known.name).collect();
        Some(if members.is_empty() { vec![name] } else { members })
    }

    /// Whether a node is a condition.
    fn is_truth(&self, id: PatternId) -> bool {
        match self.pattern.node(id) {
            PatternNode::Apply { operator, .. } => {
                matches!(operator.as_str(), "and" | "or" | "not" | "<" | "<=" | ">" | ">=" | "==" | "!=")
            }
            _ => false,
        }
    }
}

/// An operation of the text form, in parentheses.
fn applied(operator: &str, operands: &[String]) -> Option<String> {
    let infix = |symbol: &str| match operands {
        [only] => only.clone(),
        all => format!("({})", all.join(&format!(" {symbol} "))),
    };
    Some(match (operator, operands) {
        (_, []) => return None,
        ("-", [operand]) => format!("(-({operand}))"),
        ("not", [operand]) => format!("(not {operand})"),
        ("if", [condition, a, b]) => format!("({a} if {condition} else {b})"),
        ("if", _) => return None,
        ("min" | "max", _) => format!("{operator}({})", operands.join(", ")),
        _ if Op::from_spelling(operator, operands.len()).or_else(|| Op::from_spelling(operator, 2)).is_some() => {
            infix(operator)
        }
        _ => format!("{operator}({})", operands.join(", ")),
    })
}
