//! Rules of equations: first as general as the rule language can say it, then as the equation is.
//!
//! # Method
//! A value that stands once on the left, among the operands of an operator that takes any number, may be any number of operands: it becomes
//! a rest variable, or one with the test that its operands are free of the loops around, where another is not. An operator of that kind at
//! the root leaves room for further operands. Whether a draft is sound is for [`check`](crate::check) to say.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::term::{Leaf, Loops, Sort, Term, VARIADIC};

/// A rule without name and tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) left: String,
    pub(super) right: String,
    pub(super) conditions: Vec<String>,
    /// What else held of the values where the equation was found: their signs.
    pub(super) signs: Vec<String>,
    /// The variables for values, as written.
    pub(super) values: Vec<String>,
    /// The variables for inames that the left side binds, as written.
    pub(super) inames: Vec<String>,
}

/// What a leaf has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Operands of this operator.
    Rest(&'static str),
    /// Those that are free of these loops.
    Filtered(&'static str, Loops),
}

/// What is written how.
struct Style<'a> {
    roles: &'a BTreeMap<Leaf, Role>,
    /// Whether `r` is one iname of several.
    splits: bool,
    is_left: bool,
    kept: &'a [Leaf],
}

/// The drafts of an equation, the most general first.
pub(super) fn drafts(left: &Term, right: &Term) -> Vec<Draft> {
    let none = BTreeMap::new();
    let all = roles(left);
    let opens = matches!(left, Term::Apply(operator, children) if VARIADIC.contains(operator)
        && !children.iter().any(|child| matches!(child, Term::Leaf(leaf) if all.contains_key(leaf))));
    let mut res =
        vec![draft(left, right, &all, opens), draft(left, right, &none, opens), draft(left, right, &none, false)];
    res.dedup();
    res
}

fn draft(left: &Term, right: &Term, roles: &BTreeMap<Leaf, Role>, opens: bool) -> Draft {
    let mut splits = false;
    left.visit(&mut |term| splits |= matches!(term, Term::Reduce(_, Loops::BOTH, _)));
    let kept = right.leaves();
    let style = |is_left| Style { roles, splits, is_left, kept: &kept };
    let (mut conditions, mut signs) = (Vec::new(), Vec::new());
    for (leaf, around) in left.invariance() {
        let name = style(true).variable(leaf);
        match roles.get(&leaf) {
            Some(Role::Filtered(..)) => conditions.push(format!("(some {name})")),
            role => {
                if role.is_some() {
                    conditions.push(format!("(some {name})"));
                }
                if !around.is_empty() {
                    conditions.push(format!("(free-of {name} {})", style(true).inames(around)));
                }
            }
        }
        if leaf.sort == Sort::Nonnegative {
            signs.push(format!("(nonnegative {name})"));
        }
    }
    let mut texts = [style(true).pattern(left, None), style(false).pattern(right, None)];
    if let (true, Term::Apply(operator, _)) = (opens, left) {
        texts[0].truncate(texts[0].len() - 1);
        texts[0].push_str(" ?rest...)");
        texts[1] = match right {
            Term::Apply(other, _) if other == operator => format!("{} ?rest...)", &texts[1][..texts[1].len() - 1]),
            _ => format!("({operator} {} ?rest...)", texts[1]),
        };
    }
    let [left_text, right_text] = texts;
    Draft {
        left: left_text,
        right: right_text,
        conditions,
        signs,
        values: left
            .leaves()
            .into_iter()
            .filter(|leaf| leaf.sort != Sort::Truth)
            .map(|leaf| style(true).variable(leaf))
            .collect(),
        inames: left.bound().each().map(|(one, _)| style(true).inames(one)).collect(),
    }
}

/// Leaves that may be any number of operands.
fn roles(left: &Term) -> BTreeMap<Leaf, Role> {
    let mut counts: BTreeMap<Leaf, usize> = BTreeMap::new();
    left.visit(&mut |term| {
        if let Term::Leaf(leaf) = term {
            *counts.entry(*leaf).or_default() += 1;
        }
    });
    let invariance = left.invariance();
    let mut res = BTreeMap::new();
    left.visit(&mut |term| {
        let Term::Apply(operator, children) = term else { return };
        if !VARIADIC.contains(operator) {
            return;
        }
        let once = children.iter().filter_map(|child| match child {
            Term::Leaf(leaf) if leaf.sort != Sort::Truth && counts[leaf] == 1 => Some(*leaf),
            _ => None,
        });
        let is_free = |leaf: &Leaf| !invariance[leaf].is_empty();
        let (free, bound): (Vec<Leaf>, Vec<Leaf>) = once.partition(is_free);
        match (free.last(), bound.last()) {
            (Some(&free), Some(&bound)) => {
                res.insert(bound, Role::Rest(operator));
                res.insert(free, Role::Filtered(operator, invariance[&free]));
            }
            (Some(&one), None) | (None, Some(&one)) => {
                res.insert(one, Role::Rest(operator));
            }
            (None, None) => {}
        }
    });
    res
}

impl Style<'_> {
    /// A variable as it stands in conditions.
    fn variable(&self, leaf: Leaf) -> String {
        let mark = if self.kept.contains(&leaf) { "" } else { "_" };
        let dots = if self.roles.contains_key(&leaf) { "..." } else { "" };
        format!("?{mark}{}{dots}", leaf.name)
    }

    fn pattern(&self, term: &Term, parent: Option<&str>) -> String {
        match term {
            Term::Leaf(leaf) => {
                let name = self.variable(*leaf);
                match self.roles.get(leaf) {
                    Some(Role::Filtered(operator, loops)) if self.is_left && parent == Some(operator) => {
                        format!("({name} free-of {})", self.inames(*loops))
                    }
                    Some(Role::Rest(operator) | Role::Filtered(operator, _)) if parent != Some(operator) => {
                        format!("({operator} {name})")
                    }
                    _ => name,
                }
            }
            Term::Number(value) => value.to_string(),
            Term::Size(loops) => format!("(size {})", self.inames(*loops)),
            Term::Apply(operator, children) => {
                let mut text = format!("({operator}");
                for child in children {
                    let _ = write!(text, " {}", self.pattern(child, Some(operator)));
                }
                text + ")"
            }
            Term::Reduce(operator, own, body) => {
                format!("({operator} ({}) {})", self.inames(*own), self.pattern(body, None))
            }
        }
    }

    fn inames(&self, loops: Loops) -> String {
        let names: Vec<&str> = match (loops, self.splits) {
            (Loops::BOTH, true) => vec!["?r", "?q..."],
            (Loops::R, true) => vec!["?r"],
            (Loops::BOTH, false) => vec!["?q...", "?r..."],
            (Loops::R, false) => vec!["?r..."],
            _ => vec!["?q..."],
        };
        names.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Term = Term::Leaf(Leaf { name: "a", over: Loops::NONE, sort: Sort::Any });
    const X: Term = Term::Leaf(Leaf { name: "x", over: Loops::Q, sort: Sort::Any });

    fn sum(body: Term) -> Term {
        Term::Reduce("sum", Loops::Q, Box::new(body))
    }

    #[test]
    fn factors_that_are_free_of_the_loop_leave_it() {
        let left = sum(Term::Apply("*", vec![A, X]));
        let right = Term::Apply("*", vec![A, sum(X)]);
        let drafts = drafts(&left, &right);
        assert_eq!(drafts[0].left, "(sum (?q...) (* (?a... free-of ?q...) ?x...))");
        assert_eq!(drafts[0].right, "(* ?a... (sum (?q...) (* ?x...)))");
        assert_eq!(drafts[0].conditions, ["(some ?a...)", "(some ?x...)"]);
        assert_eq!(drafts[1].left, "(sum (?q...) (* ?a ?x))");
        assert_eq!(drafts[1].conditions, ["(free-of ?a ?q...)"]);
    }

    #[test]
    fn what_is_dropped_is_marked() {
        let drafts = drafts(&Term::Apply("if", vec![A, X, X]), &X);
        assert_eq!(drafts[0].left, "(if ?_a ?x ?x)");
        assert_eq!(drafts.len(), 1, "{drafts:?}");
    }

    #[test]
    fn one_loop_of_two_is_split_off() {
        let w = Term::Leaf(Leaf { name: "w", over: Loops::BOTH, sort: Sort::Any });
        let left = Term::Reduce("sum", Loops::BOTH, Box::new(Term::Apply("*", vec![X, w.clone()])));
        let inner = Term::Reduce("sum", Loops::R, Box::new(w));
        let right = sum(Term::Apply("*", vec![X, inner]));
        let plain = drafts(&left, &right).pop().unwrap();
        assert_eq!(plain.left, "(sum (?r ?q...) (* ?x ?w))");
        assert_eq!(plain.right, "(sum (?q...) (* ?x (sum (?r) ?w)))");
        assert_eq!(plain.conditions, ["(free-of ?x ?r)"]);
    }

    #[test]
    fn there_is_room_for_further_operands_at_the_root() {
        let square = |term: Term| Term::Apply("**", vec![term, Term::Number(2)]);
        let of = |function: &'static str| square(Term::Apply(function, vec![A]));
        let left = Term::Apply("+", vec![of("sin"), of("cos")]);
        let draft = &drafts(&left, &Term::Number(1))[0];
        assert_eq!(draft.left, "(+ (** (sin ?_a) 2) (** (cos ?_a) 2) ?rest...)");
        assert_eq!(draft.right, "(+ 1 ?rest...)");
    }
}
