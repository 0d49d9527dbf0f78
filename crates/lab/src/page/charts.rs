//! Charts of the search, drawn from its events.

use indexmap::IndexMap;
use maud::{Markup, html};
use nestegg_driver::report::Report;
use nestegg_driver::trace::Event;

use super::{count, share};

/// The size of a chart in its own units, and its margins.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 34.0;

/// So many times below the best cost a bound is not drawn.
const FAR_BELOW: u128 = 3;
/// So many forms are listed before one asks for the others.
const MAX_FORMS: usize = 14;

/// So many labels stand side by side on a phone.
const MAX_NARROW: usize = 9;

/// What was chosen of a seed.
struct Choice<'a> {
    seed: &'a str,
    cost: u128,
    bound: u128,
}

/// The events of the search of the kernel as a whole, without those of some of its stores.
fn of_whole(events: &[Event]) -> Vec<&Event> {
    let mut depth = 0_usize;
    let mut res = Vec::new();
    for event in events {
        match event {
            Event::Apart { .. } => depth += 1,
            Event::Joined { .. } => depth = depth.saturating_sub(1),
            _ if depth == 0 => res.push(event),
            _ => {}
        }
    }
    res
}

/// The costs of all choices in the order in which they were made, and what none can go below.
pub(super) fn search(report: &Report, events: &[Event]) -> Markup {
    let mut choices: Vec<Choice<'_>> = Vec::new();
    let mut bound_of: IndexMap<&str, u128> = IndexMap::new();
    for event in of_whole(events) {
        match event {
            Event::Selected { seed, bound, .. } => {
                bound_of.insert(seed, *bound);
            }
            Event::Made { seed, operations } => {
                let bound = bound_of.get(seed.as_str()).copied().unwrap_or(0);
                choices.push(Choice { seed, cost: *operations, bound });
            }
            _ => {}
        }
    }
    let best = choices.iter().map(|choice| choice.cost).chain([report.after.total]).min().unwrap_or(0);
    // Bounds that are far below say nothing, and would press the costs together.
    let is_shown = |bound: u128| bound > 0 && bound.saturating_mul(FAR_BELOW) >= best;
    let bounds = choices.iter().map(|choice| choice.bound).filter(|&bound| is_shown(bound));
    let scale = Scale::new(choices.iter().map(|choice| choice.cost).chain(bounds).chain([best.max(1)]), true);
    let x = |idx: usize| at(idx, choices.len());
    let mut best = u128::MAX;
    let mut steps = String::new();
    for (idx, choice) in choices.iter().enumerate() {
        let y = scale.y(best.min(choice.cost));
        if best == u128::MAX {
            steps.push_str(&format!("M{:.1} {y:.1}", x(idx)));
        } else {
            steps.push_str(&format!("H{:.1}V{y:.1}", x(idx)));
        }
        best = best.min(choice.cost);
    }
    let drawing = html! {
        (scale.grid())
        path.best d=(steps) {}
        @for (idx, choice) in choices.iter().enumerate() {
            g.choice.taken[choice.seed == report.seed] {
                title { (choice.seed) ": " (count(choice.cost)) " operations" @if choice.bound > 0 { ", no choice below " (count(choice.bound)) } }
                @if is_shown(choice.bound) {
                    line x1=(fixed(x(idx))) x2=(fixed(x(idx))) y1=(fixed(scale.y(choice.cost))) y2=(fixed(scale.y(choice.bound))) {}
                    rect.bound x=(fixed(x(idx) - 4.0)) y=(fixed(scale.y(choice.bound) - 1.0)) width="8" height="2" {}
                }
                circle cx=(fixed(x(idx))) cy=(fixed(scale.y(choice.cost))) r="4" {}
            }
        }
        text.axis x=(fixed((LEFT + WIDTH - RIGHT) / 2.0)) y=(fixed(HEIGHT - 6.0)) text-anchor="middle" { "choices, in the order in which they were made" }
    };
    html! {
        section #search aria-labelledby="search-title" {
            h2 #search-title { "Cost over the search" }
            @match choices.as_slice() {
                [] => { p { "Nothing was searched." } }
                [only] => {
                    p.lead {
                        "One choice was made, of seed " b { (only.seed) } ": it has " b { (count(only.cost)) } " operations"
                        @if only.bound > 0 { ", and no choice among the forms of that seed has fewer than " (count(only.bound)) } "."
                    }
                }
                _ => {
                    p.lead { "Each dot is the choice made of one seed, the line the best so far; a dash is the bound below which no choice among the forms of that seed can go, where it is near. The scale is logarithmic." }
                    (chart(&format!("Operations of {} choices; the best has {}", choices.len(), count(report.after.total)), &drawing, 1))
                }
            }
        }
    }
}

/// A pass of rules.
struct Pass<'a> {
    phase: &'a str,
    nodes: usize,
    title: String,
}

/// E-nodes after each pass of the seed that the result was made of, phase by phase.
pub(super) fn growth(report: &Report, events: &[Event]) -> Markup {
    let events = of_whole(events);
    let has = |name: &str| events.iter().any(|event| matches!(event, Event::Encoded { seed, .. } if seed == name));
    let first = events.iter().find_map(|event| match event {
        Event::Encoded { seed, .. } => Some(seed.as_str()),
        _ => None,
    });
    let seed = if has(&report.seed) { report.seed.as_str() } else { first.unwrap_or_default() };
    let mut passes: Vec<Pass<'_>> = Vec::new();
    for event in &events {
        match event {
            // A seed that hit a limit is searched once more: the last run counts.
            Event::Encoded { seed: own, nodes, classes } if own == seed => {
                passes.clear();
                let title = format!("the kernel itself: {nodes} e-nodes in {classes} e-classes");
                passes.push(Pass { phase: "kernel", nodes: *nodes, title });
            }
            Event::Pass { seed: own, phase, pass, rules, nodes, classes } if own == seed => {
                let mut most: Vec<(usize, &str)> =
                    rules.iter().filter(|rule| rule.new > 0).map(|rule| (rule.new, rule.rule.as_str())).collect();
                most.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
                let rules: Vec<String> = most.iter().take(4).map(|(n, rule)| format!("{rule} {n}")).collect();
                let rules = if rules.is_empty() { "nothing new".to_owned() } else { rules.join(", ") };
                let title = format!("{phase}, pass {pass}: {nodes} e-nodes in {classes} e-classes; {rules}");
                passes.push(Pass { phase, nodes: *nodes, title });
            }
            _ => {}
        }
    }
    let scale = Scale::new(passes.iter().map(|pass| pass.nodes as u128).chain([0]), false);
    let width = (WIDTH - LEFT - RIGHT) / passes.len().max(1) as f64;
    let mut bands: Vec<(&str, usize, usize)> = Vec::new();
    for (idx, pass) in passes.iter().enumerate() {
        match bands.last_mut() {
            Some((phase, _, end)) if *phase == pass.phase => *end = idx + 1,
            _ => bands.push((pass.phase, idx, idx + 1)),
        }
    }
    let left = |idx: usize| LEFT + idx as f64 * width;
    let drawing = html! {
        (scale.grid())
        @for (number, (phase, from, to)) in bands.iter().enumerate() {
            @if number % 2 == 1 {
                rect.band x=(fixed(left(*from))) y=(fixed(TOP)) width=(fixed(width * (to - from) as f64)) height=(fixed(HEIGHT - TOP - BOTTOM)) {}
            }
            text.axis x=(fixed(left(*from) + width * (to - from) as f64 / 2.0)) y=(fixed(HEIGHT - 14.0)) text-anchor="middle" { (phase) }
        }
        @for (idx, pass) in passes.iter().enumerate() {
            rect.pass x=(fixed(left(idx) + width * 0.1)) y=(fixed(scale.y(pass.nodes as u128))) width=(fixed(width * 0.8)) height=(fixed(HEIGHT - BOTTOM - scale.y(pass.nodes as u128))) {
                title { (pass.title) }
            }
        }
    };
    html! {
        section #growth aria-labelledby="growth-title" {
            h2 #growth-title { "Growth of the e-graph" }
            p.lead { "E-nodes after each pass, phase by phase, on seed " b { (seed) } "." }
            @if passes.is_empty() {
                p { "No e-graph was built." }
            } @else {
                (chart(&format!("E-nodes after each of {} passes", passes.len() - 1), &drawing, passes.len()))
            }
        }
    }
}

/// What each seed came to, the best first.
pub(super) fn forms(report: &Report, events: &[Event]) -> Markup {
    let refused = |name: &str| {
        events.iter().find_map(|event| match event {
            Event::Refused { seed, reason, .. } | Event::Failed { seed, reason } if seed == name => {
                Some(reason.as_str())
            }
            _ => None,
        })
    };
    let mut seeds: Vec<(&str, u128)> = report.seeds.iter().map(|(seed, &cost)| (seed.as_str(), cost)).collect();
    seeds.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(b.0)));
    let most = seeds.iter().map(|(_, cost)| *cost).max().unwrap_or(1);
    let row = |&(seed, cost): &(&str, u128)| {
        html! {
            li.taken[seed == report.seed] {
                span.name { (seed) @if let Some(reason) = refused(seed) { small.bad { " " (reason) } } }
                span.track { span.bar style=(format!("width:{}%", share(cost, most))) {} }
                span.number { (count(cost)) }
            }
        }
    };
    let n_shown = seeds.len().min(MAX_FORMS);
    html! {
        section #forms aria-labelledby="forms-title" {
            h2 #forms-title { "What each form came to" }
            p.lead { "Whole-expression forms that the strategy started from, and the operations of what rules and selection made of each." }
            ol.bars { @for seed in &seeds[..n_shown] { (row(seed)) } }
            @if n_shown < seeds.len() {
                details {
                    summary { (seeds.len() - n_shown) " more" }
                    ol.bars { @for seed in &seeds[n_shown..] { (row(seed)) } }
                }
            }
        }
    }
}

/// A drawing with so many labels side by side. With more than a phone has room for, it is as wide as they need, and scrolls.
fn chart(label: &str, drawing: &Markup, n: usize) -> Markup {
    html! {
        figure.chart.many[n > MAX_NARROW] {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) preserveAspectRatio="xMidYMid meet" { (drawing) }
        }
    }
}

/// Where the so-manieth of several things stands.
fn at(idx: usize, n: usize) -> f64 {
    let inner = WIDTH - LEFT - RIGHT - 24.0;
    LEFT + 12.0 + if n > 1 { inner * idx as f64 / (n - 1) as f64 } else { inner / 2.0 }
}

fn fixed(x: f64) -> String {
    format!("{x:.1}")
}

/// The vertical scale of a chart.
struct Scale {
    lower: f64,
    upper: f64,
    is_logarithmic: bool,
}

impl Scale {
    fn new(values: impl Iterator<Item = u128>, is_logarithmic: bool) -> Self {
        let values: Vec<f64> =
            values.map(|n| if is_logarithmic { (n.max(1) as f64).log10() } else { n as f64 }).collect();
        let lower = values.iter().copied().fold(f64::INFINITY, f64::min);
        let upper = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (lower, upper) = if values.is_empty() { (0.0, 1.0) } else { (lower, upper) };
        let room = if is_logarithmic { ((upper - lower) * 0.08).max(0.05) } else { 0.0 };
        let upper = if upper > lower { upper } else { lower + 1.0 };
        Self { lower: lower - room, upper: upper + room, is_logarithmic }
    }

    fn place(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.lower) / (self.upper - self.lower)
    }

    fn y(&self, n: u128) -> f64 {
        self.place(if self.is_logarithmic { (n.max(1) as f64).log10() } else { n as f64 })
    }

    /// Lines with their numbers.
    fn grid(&self) -> Markup {
        const N_LINES: usize = 4;
        let lines = (0..=N_LINES).map(|idx| self.lower + (self.upper - self.lower) * idx as f64 / N_LINES as f64);
        let label = |value: f64| {
            let n = if self.is_logarithmic { 10_f64.powf(value) } else { value };
            let n = n.round().max(0.0);
            if n < 1e15 { count(n as u128) } else { format!("{n:.0e}") }
        };
        let lines: Vec<(f64, String)> = lines.map(|value| (self.place(value), label(value))).collect();
        html! {
            @for (y, label) in &lines {
                line.grid x1=(fixed(LEFT)) x2=(fixed(WIDTH - RIGHT)) y1=(fixed(*y)) y2=(fixed(*y)) {}
                text.axis x=(fixed(LEFT - 8.0)) y=(fixed(*y + 4.0)) text-anchor="end" { (label) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_left_out_with_the_parts_in_them() {
        let made = |seed: &str| Event::Made { seed: seed.to_owned(), operations: 1 };
        let (apart, joined) =
            (|part: &str| Event::Apart { part: part.to_owned() }, |part: &str| Event::Joined { part: part.to_owned() });
        let events = [
            made("whole"),
            apart("y and z"),
            made("of part"),
            apart("y"),
            made("of part"),
            joined("y"),
            made("of part"),
            joined("y and z"),
            made("whole"),
        ];
        assert_eq!(of_whole(&events), [&made("whole"), &made("whole")]);
    }

    #[test]
    fn scales_put_the_largest_on_top() {
        let scale = Scale::new([0, 5, 10].into_iter(), false);
        assert_eq!(fixed(scale.y(10)), fixed(TOP));
        assert_eq!(fixed(scale.y(0)), fixed(HEIGHT - BOTTOM));
        let scale = Scale::new([10, 1000].into_iter(), true);
        assert!(scale.y(1000) < scale.y(100) && scale.y(100) < scale.y(10));
        assert!(scale.y(1000) > TOP, "there is room at both ends");
    }
}
