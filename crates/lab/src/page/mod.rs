//! The story of a run as one page for a browser.
//!
//! # Output
//! HTML with its style, its script and its data inside, so that it needs no network: the loops before and after with the operations and the
//! estimated time of each line and the ways of temporaries, the search as charts, what each form came to, the rules, and the e-graph around a chosen value. The same bytes on
//! every run: no measured times are in it.
//! # Method
//! Everything but the e-graph is drawn here; the script (`page.js`) only marks what belongs together, and draws the e-graph that one asks for. Colours
//! are in `page.css`, light and dark.

mod charts;
mod loops;

use std::collections::BTreeSet;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use nestegg_driver::config::Config;
use nestegg_driver::explain::picture::{Picture, draw};
use nestegg_driver::listing::listing;
use nestegg_driver::report::{Report, Validated};
use nestegg_driver::{Error, Optimized, parameters, read};
use nestegg_span::Source;

/// The style of pages; colours of its own are in it, light and dark.
pub const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of a result, which must come with its [events](Config::traces) and [what it was made of](Config::keeps_lineage).
///
/// # Errors
/// What is wrong with the kernel, which the run would have found.
pub fn page(source: &Source, config: &Config, optimized: &Optimized) -> Result<String, Error> {
    let report = &optimized.report;
    let values = parameters::values(&report.parameters);
    let kernel = report.kernel.clone();
    let input = read(source)?.program.into_linearized().map_err(|source| Error::Order { kernel, source })?;
    let listing = |program| listing(program, &values, &config.machine);
    let (before, after) = (listing(&input)?, listing(&optimized.program)?);
    let picture = draw(source, config, optimized)?;
    let command = config.command(&source.name);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (report.kernel) " · nestegg" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#loops" { "Skip to the loops" }
                (header(report, &command))
                main {
                    (loops::section(report, &before, &after))
                    (charts::search(report, &optimized.events))
                    (charts::growth(report, &optimized.events))
                    (charts::forms(report, &optimized.events))
                    (rules(report, &picture))
                    (egraph(&picture))
                    (evidence(report))
                }
                script type="application/json" id="picture" { (PreEscaped(json(&picture))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(markup.into_string())
}

/// Data for a script element: nothing in it can end the element.
fn json(picture: &Picture) -> String {
    serde_json::to_string(picture).expect("text and numbers").replace('<', "\\u003c")
}

fn header(report: &Report, command: &str) -> Markup {
    html! {
        header {
            div.title {
                p.mark { "nestegg" }
                h1 { (report.kernel) }
                p.how {
                    (report.strategy) ", from seed " b { (report.seed) } ", floats " (report.float)
                    @for parameter in &report.parameters { ", " (parameter.name) " = " (parameter.value) }
                }
            }
            dl.figures {
                div { dt { "operations before" } dd { (count(report.before.total)) } }
                div { dt { "after" } dd { (count(report.after.total)) } }
                div.gain { dt { "fewer by a factor of" } dd { (gain(report)) } }
                div {
                    dt { "against the input" }
                    dd.(verdict(report).1) { (verdict(report).0) }
                }
            }
            nav {
                a href="#loops" { "Loops" }
                a href="#search" { "Search" }
                a href="#growth" { "Growth" }
                a href="#forms" { "Forms" }
                a href="#rules" { "Rules" }
                a href="#egraph" { "E-graph" }
                button #theme type="button" aria-label="Switch between light and dark" { "◐" }
            }
            p.command { code { (command) } }
        }
    }
}

fn verdict(report: &Report) -> (&'static str, &'static str) {
    match report.validation {
        Validated::Equal { .. } => ("equal", "good"),
        Validated::NotCompared { .. } => ("not compared", "bad"),
    }
}

fn rules(report: &Report, picture: &Picture) -> Markup {
    let most = report.rules.values().copied().max().unwrap_or(1).max(1);
    let mut rules: Vec<(&String, u64)> = report.rules.iter().map(|(rule, &n)| (rule, n)).collect();
    rules.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    html! {
        section #rules aria-labelledby="rules-title" {
            h2 #rules-title { "Rules" }
            p.lead { "New equations of each rule on the way to the result. Colours are those of the e-graph below." }
            @if rules.is_empty() {
                p { "No rule had a part in it." }
            } @else {
                ol.bars {
                    @for (rule, n) in rules {
                        li style=(format!("--h:{}", hue(picture, rule))) {
                            span.name { (rule) }
                            span.track { span.bar.rule style=(format!("width:{}%", share(n.into(), most.into()))) {} }
                            span.number { (count(n.into())) }
                        }
                    }
                }
            }
        }
    }
}

/// The colours of rules are spread over the circle in the order of their names; the script does the same.
fn hue(picture: &Picture, rule: &str) -> usize {
    let all: BTreeSet<&str> =
        picture.classes.iter().flat_map(|class| &class.nodes).filter_map(|node| node.rule.as_deref()).collect();
    let at = all.iter().position(|known| *known == rule).unwrap_or(all.len());
    (at * 137 + 210) % 360
}

fn egraph(picture: &Picture) -> Markup {
    html! {
        section #egraph aria-labelledby="egraph-title" {
            h2 #egraph-title { "E-graph" }
            p.lead {
                "Equal forms around a value. Each box is an e-class, each line in it a form; the one that the result computes is marked. "
                "Lines lead to operands. Select a box, and it becomes the centre."
            }
            @if picture.values.is_empty() {
                p { "The result was not chosen from an e-graph." }
            } @else {
                div.tools role="toolbar" aria-label="E-graph" {
                    label { "Value "
                        select #value {
                            @for (name, class) in &picture.values { option value=(class) { (name) } }
                        }
                    }
                    label { "Steps "
                        input #depth type="number" min="1" max="6" value="2";
                    }
                    label { "Search "
                        input #find type="search" placeholder="b[q], pull-…" autocomplete="off";
                    }
                    span #found role="status" {}
                    span.buttons {
                        button #back type="button" disabled { "Back" }
                        button #out type="button" aria-label="Zoom out" { "−" }
                        button #in type="button" aria-label="Zoom in" { "+" }
                        button #fit type="button" { "Fit" }
                    }
                }
                div #canvas tabindex="0" role="group" aria-label="E-graph; arrow keys move it, plus and minus zoom, 0 fits it" {
                    svg #drawing xmlns="http://www.w3.org/2000/svg" {}
                }
                ul #legend aria-label="Colours of rules" {}
                noscript { p { "The e-graph is drawn by a script." } }
            }
        }
    }
}

fn evidence(report: &Report) -> Markup {
    html! {
        section #evidence aria-labelledby="evidence-title" {
            h2 #evidence-title { "Evidence" }
            @match &report.validation {
                Validated::Equal { evidence } => p { "Equal: " (evidence) "." },
                Validated::NotCompared { reason } => p { "Not compared: " (reason) "." },
            }
            @if !report.limits.is_empty() {
                h3 { "Limits that were hit" }
                ul.limits {
                    @for limit in &report.limits {
                        li { (limit.place) ": " (limit.limit) @if let Some(value) = limit.value { " (" (count(value.into())) ")" } }
                    }
                }
            }
            @for failure in &report.failures {
                p.bad { (failure.seed) " was not taken: " (failure.reason) }
            }
        }
    }
}

/// How many times fewer operations there are.
fn gain(report: &Report) -> String {
    let (before, after) = (report.before.total as f64, report.after.total as f64);
    let ratio = if report.after.total > 0 { before / after } else { f64::INFINITY };
    match ratio {
        ratio if ratio.is_infinite() && report.before.total == 0 => "1".to_owned(),
        ratio if ratio.is_infinite() => "∞".to_owned(),
        ratio if ratio >= 100.0 => count(ratio.round() as u128),
        ratio if ratio >= 10.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

/// A number with its digits in groups.
fn count(n: u128) -> String {
    let digits = n.to_string();
    let mut res = String::with_capacity(digits.len() * 4 / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            res.push('\u{202f}');
        }
        res.push(digit);
    }
    res
}

/// So many percent of the whole, in two digits behind the point.
fn share(part: u128, whole: u128) -> String {
    format!("{:.2}", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(share(1, 3), "33.33");
    }
}
