//! Why a rule does not fire on a kernel: the nearest misses.
//!
//! # Input
//! A kernel, a configuration, the name of a rule.
//! # Output
//! How often it fired, whether the strategy runs it at all, and [what came nearest](nestegg_egraph::pattern::near), in words: the part
//! that did not match, the condition that did not hold with what is known of its values, what the normal form hides.
//! # Not done
//! Guided rules are code; of them only the count is known.

use std::fmt::Write;

use nestegg_driver::Error;
use nestegg_driver::config::Config;
use nestegg_driver::explore::{Explored, explore};
use nestegg_egraph::analysis::Graph;
use nestegg_egraph::judge::{Meaning, term};
use nestegg_egraph::lint::lint;
use nestegg_egraph::pattern::PatternRule;
use nestegg_egraph::pattern::near::{Miss, Near, near};
use nestegg_ir::{Kernel, Licence};
use nestegg_rules::RuleKind;
use nestegg_span::Source;

/// What there is to say of a rule on a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How often it fired.
    pub fired: usize,
    /// The whole answer, in lines.
    pub text: String,
}

/// Asks why a rule does not fire; `None` if there is no such rule.
///
/// # Errors
/// Those of [`explore`].
pub fn why_not(source: &Source, config: &Config, rule: &str) -> Result<Option<Answer>, Error> {
    explore(source, config, |explored| answer(explored, rule))
}

fn answer(explored: Explored<'_>, name: &str) -> Option<Answer> {
    let Explored { kernel, graph, functions, book, strategy, licence, saturation } = explored;
    let rule = book.rules.get(name)?;
    let fired = saturation.fired.get(name).copied().unwrap_or(0);
    let mut text = format!("`{name}` fires {} on `{}` at {}\n", times(fired), kernel.name, strategy.name);
    let phases: Vec<&str> = strategy
        .phases
        .iter()
        .filter(|phase| phase.rules.iter().any(|own| own.name == rule.name))
        .map(|phase| phase.name.as_str())
        .collect();
    if phases.is_empty() {
        let needed = Licence::needed(rule.tags.iter().map(|tag| tag.as_str()));
        let _ = match needed <= licence {
            true => writeln!(text, "{} does not run it: no phase names it", strategy.name),
            false => writeln!(
                text,
                "{} does not run it: it is `{}`, which `--float {}` grants and `{}` does not",
                strategy.name,
                needed.tag(),
                needed.name(),
                licence.name()
            ),
        };
    }
    let RuleKind::Pattern { lhs, rhs, when, is_two_way } = &rule.kind else {
        text.push_str("it is guided: its search is code, of which nothing more is known\n");
        return Some(Answer { fired, text });
    };
    if fired > 0 {
        let _ = writeln!(
            text,
            "it runs in the phase{} `{}`",
            if phases.len() == 1 { "" } else { "s" },
            phases.join("`, `")
        );
        return Some(Answer { fired, text });
    }
    for warning in lint(book, |own| own.name == rule.name) {
        let _ = writeln!(text, "note: {}; {}", warning.what, warning.help);
    }
    let when = when.as_ref();
    let mut directions = vec![PatternRule { lhs, rhs, when, functions, is_forward: true }];
    if *is_two_way {
        directions.push(PatternRule { lhs: rhs, rhs: lhs, when, functions, is_forward: false });
    }
    let is_several = directions.len() > 1;
    for direction in directions {
        if is_several {
            let _ = writeln!(text, "from `{}`:", direction.lhs);
        }
        let found = near(graph, &direction);
        describe(&found, (graph, kernel), phases.is_empty(), &mut text);
    }
    Some(Answer { fired, text })
}

fn describe(near: &Near, (graph, kernel): (&Graph, &Kernel), is_left_out: bool, text: &mut String) {
    let value = |id| term(graph, kernel, id);
    if let Some(function) = &near.no_function {
        let _ = writeln!(text, "it calls `{function}`, which the kernel does not: no form of a value can");
        return;
    }
    if near.n_fires > 0 {
        let _ = match is_left_out {
            true => writeln!(text, "it would fire {} on the forms that the strategy finds", times(near.n_fires)),
            false => writeln!(
                text,
                "it matches {}, but says nothing new: both sides are one value already",
                times(near.n_fires)
            ),
        };
    }
    if near.n_not_made > 0 {
        let _ = writeln!(
            text,
            "it matches {} where its right side cannot be made: a size is no number, or a reduction would be over other points",
            times(near.n_not_made)
        );
    }
    if near.n_refused > 0 {
        let _ = writeln!(text, "it matches {} where its condition does not hold:", times(near.n_refused));
    }
    for refused in &near.refused {
        let _ = writeln!(text, "  `{}`", value(refused.class));
        for (name, meaning) in &refused.bindings {
            let _ = writeln!(text, "    {name} is {}", meant(meaning, (graph, kernel)));
        }
        for (test, holds) in &refused.tests {
            let facts = if *holds { String::new() } else { known(test, &refused.bindings, (graph, kernel)) };
            let _ = writeln!(text, "    {test} {}{facts}", if *holds { "holds" } else { "does not hold" });
        }
    }
    if !near.unlike.is_empty() && near.n_refused + near.n_fires + near.n_not_made == 0 {
        text.push_str("the nearest misses:\n");
        for unlike in &near.unlike {
            let (fits, all) = unlike.fits;
            let _ = writeln!(text, "  `{}` fits in {fits} of {all} parts", value(unlike.class));
            let _ = match &unlike.miss {
                Miss::Part { wanted, found } => {
                    writeln!(text, "    `{wanted}` is wanted, and there is `{}`", value(*found))
                }
                Miss::Operands { wanted, found, class } => {
                    writeln!(text, "    `{wanted}` is wanted, and `{}` has {found} operands", value(*class))
                }
                Miss::Variable { name, first, second } => {
                    writeln!(text, "    `{name}` would be both `{}` and `{}`", value(*first), value(*second))
                }
            };
        }
    }
    if near.unlike.is_empty() && near.n_refused + near.n_fires + near.n_not_made == 0 {
        text.push_str("nothing in the kernel begins as its left side does\n");
    }
}

/// How often, in words.
fn times(n: usize) -> String {
    match n {
        0 => "nowhere".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

fn meant(meaning: &Meaning, (graph, kernel): (&Graph, &Kernel)) -> String {
    let texts: Vec<String> = match meaning {
        Meaning::Values(ids) => ids.iter().map(|&id| format!("`{}`", term(graph, kernel, id))).collect(),
        Meaning::Inames(inames) => inames.iter().map(|iname| kernel[iname].name.clone()).collect(),
    };
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}

/// What is known of the values that a test asks about, as far as it matters to the test.
fn known(test: &str, bindings: &[(String, Meaning)], (graph, kernel): (&Graph, &Kernel)) -> String {
    let inner = test.trim_matches(['(', ')']);
    let mut words = inner.split_whitespace();
    let head = words.next().unwrap_or_default();
    let mut facts = Vec::new();
    for word in words {
        let word = word.trim_matches(['(', ')']);
        let Some((_, Meaning::Values(ids))) = bindings.iter().find(|(name, _)| name == word) else { continue };
        for &id in ids {
            let data = &graph[id].data;
            let inames: Vec<&str> = data.inames.iter().map(|iname| kernel[iname].name.as_str()).collect();
            let fact = match head {
                "constant" => "is no constant".to_owned(),
                "nonzero" => "may be zero".to_owned(),
                "nonnegative" | "<" | "<=" | ">" | ">=" | "==" | "!=" => match (&data.range.lower, &data.range.upper) {
                    (None, None) => "may be any number".to_owned(),
                    (Some(lower), None) => format!("is at least {lower}"),
                    (None, Some(upper)) => format!("is at most {upper}"),
                    (Some(lower), Some(upper)) => format!("is between {lower} and {upper}"),
                },
                "float" | "integer" | "type" => format!("is of type {}", format!("{:?}", data.dtype).to_lowercase()),
                "free-of" | "within" | "fewer-inames" | "same-inames" | "invariant" | "has-factor-free-of" => {
                    match inames.as_slice() {
                        [] => "depends on no iname".to_owned(),
                        inames => format!("depends on {}", inames.join(", ")),
                    }
                }
                "used-once" => "is used at several places".to_owned(),
                _ => continue,
            };
            facts.push(format!("`{}` {fact}", term(graph, kernel, id)));
        }
    }
    if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) }
}
