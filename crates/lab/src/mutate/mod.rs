//! Mutants: rules that are broken in one place each, to measure how much the [check](crate::check) sees.
//!
//! # Input
//! A pattern rule.
//! # Output
//! Every rule that differs from it by one change of one [family](FAMILIES), and that the reader accepts.
//! # Method
//! The rule is printed, changed as a tree of words, and read again; what is no rule, because a variable is not bound any more, is left out.
//! A mutant whose sides are the same in every case is [trivial](trivial::proof): it is as sound as its origin, and no check can kill it.
//! # Complexity
//! Quadratic in the size of a rule.

mod by_hand;
mod tree;
pub mod trivial;

use std::collections::BTreeSet;

use nestegg_rules::{Rule, RuleBook, RuleKind, Vocabulary};
use nestegg_span::Source;
use rayon::prelude::*;

use crate::check::{Verdict, checked};
use tree::{Path, Tree};

/// What is changed, and how.
pub const FAMILIES: [(&str, &str); 17] = [
    ("condition-dropped", "one condition is left out"),
    ("condition-moved", "a number of a condition is one less"),
    ("test-dropped", "a rest variable takes all floats, not the children that pass a test"),
    ("test-narrowed", "a test of children asks about fewer inames"),
    ("equality-forgotten", "two occurrences of a variable on the left become different variables"),
    ("pattern-changed", "an operator or a number on the left side becomes another one"),
    ("operand-lost", "an operand of the right side is left out"),
    ("operand-doubled", "an operand of the right side stands twice"),
    ("sign-flipped", "a part of the right side is negated"),
    ("operator-changed", "an operator of the right side becomes another one"),
    ("operands-swapped", "two operands of an ordered operator of the right side are swapped"),
    ("variable-changed", "a variable of the right side becomes another one of its kind"),
    ("number-changed", "a number of the right side is one more"),
    ("inames-lost", "a reduction or a size of the right side is over fewer inames"),
    ("inames-captured", "an operand beside a reduction moves into it"),
    ("value-escaped", "a factor or term leaves a reduction"),
    ("tag-strengthened", "the rule claims to be more exact"),
];

/// A rule that is broken in one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The rule that it was made of.
    pub origin: String,
    /// What was changed, one of [`FAMILIES`].
    pub family: &'static str,
    /// The rule.
    pub rule: Rule,
    /// It as text.
    pub text: String,
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The check found a counter-example.
    Killed,
    /// It never fires, which the check says.
    NeverFires,
    /// It is as sound as its origin, for this reason.
    Proved(&'static str),
    /// The check believes it, and nobody knows why it should.
    Survived,
}

/// Checks mutants of rules that are trusted, in parallel: each `stride`-th of all. The answers are in the order of the rules.
#[must_use]
pub fn measure(rules: &[&Rule], stride: usize, done: impl Fn() + Sync) -> Vec<(Mutant, Outcome)> {
    let bare = |rule: &Rule| Rule { doc: String::new(), ..rule.clone() }.to_string();
    let trusted: Vec<String> = rules.iter().map(|rule| bare(rule)).collect();
    let all: Vec<(String, Mutant)> =
        rules.iter().flat_map(|rule| mutants(rule).into_iter().map(|mutant| (bare(rule), mutant))).collect();
    let chosen: Vec<(String, Mutant)> = all.into_iter().step_by(stride.max(1)).collect();
    let outcome = |(origin, mutant): (String, Mutant)| {
        let proof = trivial::proof(&trusted, &origin, &mutant).or_else(|| by_hand::proof(&mutant));
        let outcome = match (checked(&mutant.rule, 0).verdict, proof) {
            (Verdict::Unsound(_), _) => Outcome::Killed,
            (_, Some(reason)) => Outcome::Proved(reason),
            (Verdict::NotChecked { .. }, None) => Outcome::NeverFires,
            (Verdict::Sound(_), None) => Outcome::Survived,
        };
        done();
        (mutant, outcome)
    };
    chosen.into_par_iter().map(outcome).collect()
}

/// The mutants of a rule; none of a guided one.
#[must_use]
pub fn mutants(rule: &Rule) -> Vec<Mutant> {
    let RuleKind::Pattern { .. } = &rule.kind else { return Vec::new() };
    let bare = Rule { doc: String::new(), ..rule.clone() }.to_string();
    let Some(tree) = Tree::read(&bare) else { return Vec::new() };
    let vocabulary = nestegg_egraph::vocabulary::vocabulary();
    let mut seen: BTreeSet<String> = [tree.to_string()].into_iter().collect();
    let mut res = Vec::new();
    for (family, changed) in Changes::new(&tree).all() {
        let text = changed.to_string();
        if seen.insert(text.clone())
            && let Some(broken) = read(&text, &vocabulary)
        {
            res.push(Mutant { origin: rule.name.to_string(), family, rule: broken, text });
        }
    }
    res
}

fn read(text: &str, vocabulary: &Vocabulary) -> Option<Rule> {
    let file = Source::new("mutant.rules", format!(";; A mutant.\n\n;; Broken.\n{text}\n"));
    let book = RuleBook::parse(&[file], vocabulary).ok()?;
    book.rules.into_values().next()
}

/// The parts of a rule, and what may become of them.
struct Changes<'a> {
    tree: &'a Tree,
    left: Path,
    right: Path,
    /// Where the condition is, if there is one.
    when: Option<Path>,
    /// Where each tag is.
    tags: Vec<Path>,
    res: Vec<(&'static str, Tree)>,
}

impl<'a> Changes<'a> {
    fn new(tree: &'a Tree) -> Self {
        let items = tree.items();
        let is_two_way = items.get(3).and_then(Tree::as_word) == Some("<->");
        let values = |key: &str| -> Vec<Path> {
            let keys = items.iter().enumerate().filter(|(_, item)| item.as_word() == Some(key));
            keys.map(|(idx, _)| vec![idx + 1]).collect()
        };
        Self {
            tree,
            left: vec![2],
            right: vec![if is_two_way { 4 } else { 3 }],
            when: values(":when").pop(),
            tags: values(":tag"),
            res: Vec::new(),
        }
    }

    fn all(mut self) -> Vec<(&'static str, Tree)> {
        self.conditions();
        self.left_side();
        for path in self.operands(&self.right.clone()) {
            self.right_part(&path);
        }
        self.tags();
        self.res
    }

    fn add(&mut self, family: &'static str, path: &[usize], part: Option<Tree>) {
        self.res.push((family, self.tree.with(path, part)));
    }

    fn conditions(&mut self) {
        let Some(when) = self.when.clone() else { return };
        let Some(condition) = self.tree.at(&when) else { return };
        if condition.head() == Some("and") && condition.items().len() > 2 {
            for idx in 1..condition.items().len() {
                self.add("condition-dropped", &[when.as_slice(), &[idx]].concat(), None);
            }
        } else {
            let without = self.tree.with(&when, None);
            self.res.push(("condition-dropped", without.with(&[when[0] - 1], None)));
        }
        for path in self.tree.paths(&when) {
            if let Some(number) = self.number(&path) {
                self.add("condition-moved", &path, Some(Tree::word(&(number - 1).to_string())));
            }
        }
    }

    fn left_side(&mut self) {
        let mut seen = BTreeSet::new();
        for path in self.tree.paths(&self.left.clone()) {
            let Some(part) = self.tree.at(&path).cloned() else { continue };
            if part.head().is_some_and(is_rest) && part.items().len() > 1 && !self.is_inames(&path) {
                let all = Tree::List(vec![part.items()[0].clone(), Tree::word("float")]);
                self.add("test-dropped", &path, Some(all));
                for idx in 2..part.items().len().max(2) {
                    if part.items().len() > 3 {
                        self.add("test-narrowed", &[path.as_slice(), &[idx]].concat(), None);
                    }
                }
            }
            match part.as_word() {
                Some(word) if word.starts_with('?') && !is_rest(word) && !seen.insert(word.to_owned()) => {
                    self.add("equality-forgotten", &path, Some(Tree::word("?_other")));
                }
                Some(_) => {
                    if let Some(number) = self.number(&path) {
                        self.add("pattern-changed", &path, Some(Tree::word(&(number + 1).to_string())));
                    }
                }
                None => {}
            }
            for other in self.others(&part) {
                self.add("pattern-changed", &[path.as_slice(), &[0]].concat(), Some(Tree::word(other)));
            }
        }
    }

    /// The ways to the expressions below a place: neither operators nor lists of inames.
    fn operands(&self, from: &[usize]) -> Vec<Path> {
        let is_operand = |path: &Path| {
            let Some(part) = self.tree.at(path) else { return false };
            let is_head = path.len() > from.len() && path.last() == Some(&0);
            let parent = path.split_last().and_then(|(_, parent)| self.tree.at(parent));
            let is_argument = path.len() > from.len()
                && parent
                    .and_then(Tree::head)
                    .is_some_and(|head| is_rest(head) || SPREADING.contains(&head) && is_list_of_variables(part));
            !is_head
                && !is_argument
                && !self.is_inames(path)
                && !path.split_last().is_some_and(|(_, parent)| self.is_inames(parent))
        };
        self.tree.paths(from).into_iter().filter(is_operand).collect()
    }

    fn right_part(&mut self, path: &Path) {
        let Some(part) = self.tree.at(path).cloned() else { return };
        let is_root = *path == self.right;
        let parent = path.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default();
        let beside = self.tree.at(&parent).cloned().unwrap_or_else(|| Tree::List(Vec::new()));
        let is_of_many = !is_root && matches!(beside.head(), Some("+" | "*" | "min" | "max" | "and" | "or"));
        if is_of_many {
            self.add("operand-lost", path, None);
            let mut items = beside.items().to_vec();
            items.push(part.clone());
            self.add("operand-doubled", &parent, Some(Tree::List(items)));
        }
        let is_several = part.as_word().is_some_and(is_rest)
            || matches!(part.head(), Some("each" | "open" | "reciprocals" | "inverse"));
        if !is_several {
            self.add("sign-flipped", path, Some(Tree::List(vec![Tree::word("-"), part.clone()])));
        }
        for other in self.others(&part) {
            self.add("operator-changed", &[path.as_slice(), &[0]].concat(), Some(Tree::word(other)));
        }
        if let (Some("/" | "-" | "**" | "if" | "<" | "<=" | ">" | ">="), [head, rest @ .., a, b]) =
            (part.head(), part.items())
        {
            let swapped = [std::slice::from_ref(head), rest, &[b.clone(), a.clone()]].concat();
            self.add("operands-swapped", path, Some(Tree::List(swapped)));
        }
        if let Some(word) = part.as_word().filter(|word| word.starts_with('?')) {
            for other in self.variables(is_rest(word)) {
                if other != word {
                    self.add("variable-changed", path, Some(Tree::word(&other)));
                }
            }
        }
        if let Some(number) = self.number(path) {
            self.add("number-changed", path, Some(Tree::word(&(number + 1).to_string())));
        }
        self.reduction(path, &part);
        if is_of_many && self.is_reduction(&part) {
            self.captured(&parent, &beside, &part);
        }
    }

    /// Changes of a reduction or a size.
    fn reduction(&mut self, path: &Path, part: &Tree) {
        if part.head() == Some("size") {
            for idx in 1..part.items().len() {
                let lost: Path = [path.as_slice(), &[idx]].concat();
                if part.items().len() > 2 {
                    self.add("inames-lost", &lost, None);
                }
                for other in self.inames() {
                    self.add("variable-changed", &lost, Some(Tree::word(&other)));
                }
            }
            self.add("inames-lost", path, Some(Tree::word("1")));
        }
        if !self.is_reduction(part) {
            return;
        }
        let [_, inames, body] = part.items() else { return };
        for idx in 0..inames.items().len() {
            let place: Path = [path.as_slice(), &[1, idx]].concat();
            if inames.items().len() > 1 {
                self.add("inames-lost", &place, None);
            }
            for other in self.inames() {
                self.add("variable-changed", &place, Some(Tree::word(&other)));
            }
        }
        self.add("inames-lost", path, Some(body.clone()));
        // A child of the body leaves the reduction.
        let Some(operator @ ("+" | "*")) = body.head() else { return };
        for idx in 1..body.items().len() {
            let mut inner = body.items().to_vec();
            let left = inner.remove(idx);
            let within = Tree::List(vec![part.items()[0].clone(), inames.clone(), Tree::List(inner)]);
            self.add("value-escaped", path, Some(Tree::List(vec![Tree::word(operator), left, within])));
        }
    }

    /// Siblings of a reduction move into it.
    fn captured(&mut self, parent: &Path, beside: &Tree, reduction: &Tree) {
        let [operator, inames, body] = reduction.items() else { return };
        for idx in 1..beside.items().len() {
            let moved = &beside.items()[idx];
            if moved == reduction {
                continue;
            }
            let inner = Tree::List(vec![beside.items()[0].clone(), moved.clone(), body.clone()]);
            let within = Tree::List(vec![operator.clone(), inames.clone(), inner]);
            let others = beside.items().iter().enumerate().filter(|(at, item)| *at != idx && *item != reduction);
            let mut items: Vec<Tree> = others.map(|(_, item)| item.clone()).collect();
            items.push(within);
            self.add("inames-captured", parent, Some(Tree::List(items)));
        }
    }

    fn tags(&mut self) {
        for path in self.tags.clone() {
            let stronger: &[&str] = match self.tree.at(&path).and_then(Tree::as_word) {
                Some("reassociate") => &["exact"],
                Some("finite-only") => &["reassociate"],
                _ => &[],
            };
            for tag in stronger {
                self.add("tag-strengthened", &path, Some(Tree::word(tag)));
            }
        }
    }

    fn number(&self, path: &[usize]) -> Option<i64> {
        self.tree.at(path)?.as_word()?.parse().ok()
    }

    /// Operators that may stand for that of a part.
    fn others(&self, part: &Tree) -> &'static [&'static str] {
        match (part.head(), self.is_reduction(part)) {
            (Some("sum"), true) => &["product", "max"],
            (Some("product"), true) => &["sum"],
            (Some("min"), _) => &["max"],
            (Some("max"), _) => &["min"],
            (Some("+"), _) => &["*"],
            (Some("*"), _) => &["+"],
            (Some("/"), _) => &["*"],
            (Some("**"), _) => &["*"],
            (Some("fabs"), _) => &["-"],
            (Some("sqrt"), _) => &["fabs"],
            (Some("exp"), _) => &["expm1"],
            (Some("log"), _) => &["log1p"],
            (Some("sin"), _) => &["cos"],
            (Some("cos"), _) => &["sin"],
            (Some("reciprocals"), _) => &["inverse", "open"],
            (Some("inverse"), _) => &["reciprocals", "open"],
            (Some("open"), _) => &["inverse"],
            _ => &[],
        }
    }

    fn is_reduction(&self, part: &Tree) -> bool {
        matches!(part.head(), Some("sum" | "product" | "min" | "max"))
            && matches!(part.items(), [_, inames, _] if is_list_of_variables(inames))
    }

    /// Whether a place is the list of inames of a reduction.
    fn is_inames(&self, path: &[usize]) -> bool {
        match path.split_last() {
            Some((1, parent)) => self.tree.at(parent).is_some_and(|parent| self.is_reduction(parent)),
            _ => false,
        }
    }

    /// The variables for inames that the left side binds.
    fn inames(&self) -> Vec<String> {
        let lists = self.tree.paths(&self.left).into_iter().filter(|path| self.is_inames(path));
        let words = lists.filter_map(|path| self.tree.at(&path)).flat_map(Tree::items).filter_map(Tree::as_word);
        words.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The variables for values that the left side binds, those for several or for one.
    fn variables(&self, is_several: bool) -> Vec<String> {
        let inames = self.inames();
        let words = self.tree.paths(&self.left).into_iter().filter_map(|path| self.tree.at(&path)?.as_word());
        let own = words.filter(|word| word.starts_with('?') && is_rest(word) == is_several);
        let own: BTreeSet<String> = own.map(str::to_owned).filter(|word| !inames.contains(word)).collect();
        own.into_iter().collect()
    }
}

/// What takes rest variables or inames as they are.
const SPREADING: [&str; 5] = ["size", "each", "open", "reciprocals", "inverse"];

fn is_rest(word: &str) -> bool {
    word.starts_with('?') && word.ends_with("...")
}

fn is_list_of_variables(part: &Tree) -> bool {
    match part {
        Tree::Word(word) => word.starts_with('?'),
        Tree::List(items) => {
            !items.is_empty() && items.iter().all(|item| item.as_word().is_some_and(|word| word.starts_with('?')))
        }
    }
}
