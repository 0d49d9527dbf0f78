//! Rule inference: which equations hold in a small vocabulary, and which few of them imply the rest.
//!
//! # Input
//! A [theme](Theme), and the rules that are known already.
//! # Output
//! [Rules](InferredRule), each sound as far as [`check`](crate::check) sees, none of which follows from those before it; and of each, whether known rules
//! have it already.
//! # Method
//! 1. All [terms](term) of the theme, in the order of their sizes, are [run](kernel) as kernels on the same data. Terms that are equal there give candidate
//!    equations, from the dearer to the cheaper.
//! 2. What the normal form of the e-graph equates, or the rules chosen so far [imply](derive), goes. The smallest candidate that is left becomes a rule, as
//!    [general](draft) as the rule language can say it, with the weakest condition and the strongest tag under which `check` finds nothing
//!    against it; and so on until no candidate is left.
//! 3. A rule is *known* if one known pattern rule alone gives the equation, *implied* if all together do, and *new* otherwise.
//! # Complexity
//! The terms of a size are about as many as those of all smaller sizes to the power of the operators' arity; [`MAX_TERMS`] bounds them,
//! [`MAX_TRIED`] the candidates that are checked.
//! # Not done
//! Equations with more than three values, or with both loops in more than one reduction, lie beyond the themes. Tables are not in them.
//! # Source
//! Nandi et al., "Rewrite Rule Inference Using Equality Saturation", OOPSLA 2021; Pal et al., "Equality Saturation Theory Exploration à la
//! Carte", OOPSLA 2023, for themes.

mod derive;
mod draft;
mod enumerate;
mod kernel;
mod term;
mod theme;
pub mod wins;

use std::fmt::Write;

use nestegg_rules::{Rule, RuleBook, RuleKind};
use nestegg_span::Source;
use rayon::prelude::*;
use serde::Serialize;

use crate::check::{self, Verdict};
use draft::Draft;
use term::{Leaf, Loops, Term};
pub use theme::{THEMES, Theme};
pub use wins::Win;

/// Terms of a theme that are looked at.
pub const MAX_TERMS: usize = 30_000;
/// Candidates of a theme that are checked.
pub const MAX_TRIED: usize = 120;

/// A rule that was found.
#[derive(Clone, Debug, Serialize)]
pub struct InferredRule {
    /// Its name: the theme and a number.
    pub name: String,
    /// The equation as people write it.
    pub equation: String,
    /// The text of the rule.
    pub text: String,
    /// Whether it is known.
    pub status: Status,
    /// What it wins on each kernel, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wins: Vec<Win>,
}

/// Whether known rules have a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// One pattern rule alone gives it: each that does.
    Known(Vec<String>),
    /// All of them together give it.
    Implied,
    /// They do not.
    New,
}

/// What was found in a theme.
#[derive(Clone, Debug, Serialize)]
pub struct Inferred {
    /// The theme.
    pub theme: String,
    /// Terms that were run.
    pub terms: usize,
    /// Equations between them that no normal form says.
    pub equations: usize,
    /// Those of them that were refused: no condition was found under which they hold.
    pub refused: usize,
    /// Limits that were hit.
    pub limits: Vec<&'static str>,
    /// The rules, in the order in which they were chosen.
    pub rules: Vec<InferredRule>,
}

/// Looks for the rules of themes, one after another: what follows from the rules of one is not found again in the next. The first theme, of sums and
/// products, comes first in any case. `known` are the rules that
/// are there already; `done` is told what was found in each theme.
#[must_use]
pub fn infer(themes: &[&Theme], known: &[&Rule], done: impl Fn(&Inferred)) -> Vec<Inferred> {
    let mut chosen = Vec::new();
    if !themes.iter().any(|theme| theme.name == THEMES[0].name) {
        of_theme(&THEMES[0], &[], &mut chosen);
    }
    let one = |theme: &&Theme| {
        let found = of_theme(theme, known, &mut chosen);
        done(&found);
        found
    };
    themes.iter().map(one).collect()
}

fn of_theme(theme: &Theme, known: &[&Rule], chosen: &mut Vec<RuleBook>) -> Inferred {
    let found = enumerate::equations(theme, MAX_TERMS);
    let mut limits = Vec::new();
    if found.is_cut {
        limits.push("terms");
    }
    let mut candidates: Vec<(Term, Term)> =
        found.equations.into_iter().filter_map(oriented).map(|equation| renamed(&equation, theme)).collect();
    candidates.sort_by(|a, b| order(a).cmp(&order(b)));
    candidates.dedup();
    let mut candidates = beyond(candidates, chosen);
    let equations = candidates.len();
    let (mut refused, mut rules) = (0, Vec::new());
    while !candidates.is_empty() {
        if rules.len() + refused == MAX_TRIED {
            limits.push("candidates");
            break;
        }
        let (left, right) = candidates.remove(0);
        let name = format!("{}-{}", theme.name, rules.len() + 1);
        let Some((text, book)) = sound(&name, &left, &right) else {
            refused += 1;
            continue;
        };
        chosen.push(book);
        candidates = beyond(candidates, chosen);
        let equation = format!("{} == {}", left.formula(), right.formula());
        rules.push(InferredRule { name, equation, text, status: status(&left, &right, known), wins: Vec::new() });
    }
    Inferred { theme: theme.name.to_owned(), terms: found.n_terms, equations, refused, limits, rules }
}

/// An equation that a rule can say.
fn oriented((left, right): (Term, Term)) -> Option<(Term, Term)> {
    let leaves = left.leaves();
    let mut has_left_size = true;
    right.visit(&mut |term| {
        if let Term::Size(loops) = term {
            has_left_size &= left.bound().contains(*loops);
        }
    });
    let can_be_left = !left.has_size() && matches!(left, Term::Apply(..) | Term::Reduce(..));
    let is_closed = left.free() == Loops::NONE && right.free() == Loops::NONE;
    let binds = right.leaves().iter().all(|leaf| leaves.contains(leaf)) && left.bound().contains(right.bound());
    (can_be_left && is_closed && binds && has_left_size).then_some((left, right))
}

/// An equation with the first leaves of each kind in the order in which it uses them: equations that differ by names alone are one.
fn renamed((left, right): &(Term, Term), theme: &Theme) -> (Term, Term) {
    let mut names: Vec<(Leaf, Leaf)> = Vec::new();
    left.visit(&mut |term| {
        let Term::Leaf(leaf) = term else { return };
        if names.iter().any(|(known, _)| known == leaf) {
            return;
        }
        let is_alike = |other: &&Leaf| other.over == leaf.over && other.sort == leaf.sort;
        let n_before = names.iter().filter(|(known, _)| is_alike(&known)).count();
        let name = theme.leaves.iter().filter(is_alike).nth(n_before).unwrap_or(leaf);
        names.push((*leaf, *name));
    });
    let named = |leaf: Leaf| names.iter().find(|(known, _)| *known == leaf).map_or(leaf, |(_, name)| *name);
    (left.with_leaves(&named), right.with_leaves(&named))
}

/// The order in which candidates are looked at: small ones first, of these general ones.
fn order((left, right): &(Term, Term)) -> (usize, usize, &Term, &Term) {
    let n_values = left.leaves().len();
    (left.size() + right.size(), usize::MAX - n_values, left, right)
}

/// The equations that do not follow from rules.
fn beyond(equations: Vec<(Term, Term)>, chosen: &[RuleBook]) -> Vec<(Term, Term)> {
    let rules: Vec<&Rule> = chosen.iter().flat_map(|book| book.rules.values()).collect();
    let sides: Vec<(&Term, &Term)> = equations.iter().map(|(left, right)| (left, right)).collect();
    let follows = derive::follow(&sides, &rules);
    equations.into_iter().zip(follows).filter(|(_, follows)| !follows).map(|(equation, _)| equation).collect()
}

fn status(left: &Term, right: &Term, known: &[&Rule]) -> Status {
    let equation = [(left, right)];
    // A solver alone gives nearly every equation of its kind, which says little.
    let patterns = known.par_iter().filter(|rule| matches!(rule.kind, RuleKind::Pattern { .. }));
    let alone = patterns.filter(|rule| derive::follow(&equation, &[rule]) == [true]);
    let names: Vec<String> = alone.map(|rule| rule.name.to_string()).collect();
    match names.is_empty() {
        false => Status::Known(names),
        true if derive::follow(&equation, known) == [true] => Status::Implied,
        true => Status::New,
    }
}

/// The most general rule of an equation that is sound, under the weakest condition and with the strongest tag that were tried.
fn sound(name: &str, left: &Term, right: &Term) -> Option<(String, RuleBook)> {
    let equation = format!("{} == {}", left.formula(), right.formula());
    for draft in draft::drafts(left, right) {
        for further in repairs(&draft) {
            // Those that fail do so soon, so the strongest tag comes first.
            let strongest = ["", "reassociate", "finite-only"].into_iter().find_map(|tag| {
                let text = written(name, &equation, &draft, &further, tag);
                passes(&text).map(|book| (text, book))
            });
            // A draft must give the equation that it was made of.
            if let Some((text, book)) = strongest
                && derive::follow(&[(left, right)], &book.rules.values().collect::<Vec<_>>()) == [true]
            {
                return Some((text, book));
            }
        }
    }
    None
}

/// Further conditions, the weakest first.
fn repairs(draft: &Draft) -> Vec<Vec<String>> {
    let signs = &draft.signs;
    let of_values = |test: &str| draft.values.iter().map(|value| format!("({test} {value})")).collect::<Vec<_>>();
    let sizes: Vec<String> = draft.inames.iter().map(|inames| format!("(>= (size {inames}) 1)")).collect();
    let mut res = vec![Vec::new(), of_values("float")];
    if !sizes.is_empty() {
        res.extend([sizes.clone(), [of_values("float"), sizes].concat()]);
    }
    if !signs.is_empty() {
        let with_signs: Vec<Vec<String>> =
            res.iter().map(|further| [signs.clone(), further.clone()].concat()).collect();
        res.truncate(1);
        res.extend(with_signs);
    }
    res
}

fn written(name: &str, equation: &str, draft: &Draft, further: &[String], tag: &str) -> String {
    let conditions: Vec<&str> = draft.conditions.iter().chain(further).map(String::as_str).collect();
    let mut text = format!(";; {equation}.\n(rule {name}\n  {}\n  {}", draft.left, draft.right);
    let _ = match conditions.as_slice() {
        [] => Ok(()),
        [one] => write!(text, "\n  :when {one}"),
        all => write!(text, "\n  :when (and {})", all.join(" ")),
    };
    if !tag.is_empty() {
        let _ = write!(text, "\n  :tag {tag}");
    }
    text + ")\n"
}

/// The rule of a text, if nothing is found against it.
fn passes(text: &str) -> Option<RuleBook> {
    let book = book(text)?;
    let is_sound = book.rules.values().all(|rule| matches!(check::checked(rule, 0).verdict, Verdict::Sound(_)));
    is_sound.then_some(book)
}

/// Reads the text of a rule.
fn book(text: &str) -> Option<RuleBook> {
    let source = Source::new("inferred.rules", format!(";; Inferred rules.\n\n{text}"));
    RuleBook::parse(&[source], &nestegg_egraph::vocabulary::vocabulary()).ok()
}
