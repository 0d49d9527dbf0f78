//! The loops before and after, side by side: operations and estimated time per line as bars, and arcs from where a temporary is written to where it is read.

use maud::{Markup, html};
use nestegg_driver::listing::{Line, Listing};
use nestegg_driver::report::Report;

use super::{count, share};

/// The height of a line, as in `page.css`.
const LINE: usize = 22;
/// So many arcs are drawn.
const MAX_ARCS: usize = 2_000;
/// Arcs over more lines than this are shown only for a line that one points at.
const FAR: usize = 16;
/// The width of the margin for arcs.
const MARGIN: usize = 64;
/// Longer lines are cut.
const MAX_CHARS: usize = 400;

pub(super) fn section(report: &Report, before: &Listing, after: &Listing) -> Markup {
    html! {
        section #loops aria-labelledby="loops-title" {
            h2 #loops-title { "Loops" }
            p.lead { "The bars show the operations of a line at all points of its loops, and its share of the estimated time of a run, beside those of the other lines on its side. Arcs lead from where a temporary is written to where it is read; point at a line to see all of its own." }
            div.sides {
                (side("Before", report.before.total, before))
                (side("After", report.after.total, after))
            }
            @if !report.temporaries.is_empty() { (temporaries(report)) }
        }
    }
}

fn side(name: &str, total: u128, listing: &Listing) -> Markup {
    let most = Most {
        operations: listing.lines.iter().map(|line| line.operations).max().unwrap_or(0),
        nanoseconds: listing.lines.iter().map(|line| line.nanoseconds).fold(0.0, f64::max),
    };
    let declarations = &listing.lines[..listing.body.min(listing.lines.len())];
    let body = &listing.lines[declarations.len()..];
    let arcs = arcs(body);
    html! {
        div.side {
            h3 {
                (name) " " span.number { (count(total)) }
                @if let Some(whole) = listing.nanoseconds { " " span.time { (duration(whole)) } }
            }
            @if !declarations.is_empty() {
                details {
                    summary { (declarations.len()) " lines of declarations" }
                    pre.declarations { @for line in declarations { (cut(&line.text)) "\n" } }
                }
            }
            div.heads.has-arcs[!arcs.is_empty()] aria-hidden="true" { span { "operations" } span { "time" } }
            div.code tabindex="0" role="group" aria-label=(format!("{name}, {} lines", body.len())) {
                @if !arcs.is_empty() {
                    svg.arcs width=(MARGIN) height=(body.len() * LINE) aria-hidden="true" {
                        @for arc in &arcs {
                            path.far[arc.is_far()] d=(arc.path()) data-name=(arc.name) { title { (arc.name) } }
                        }
                    }
                }
                ol.lines.has-arcs[!arcs.is_empty()] {
                    @for line in body { (row(line, &most)) }
                }
            }
        }
    }
}

/// The largest of all lines on a side.
struct Most {
    operations: u128,
    nanoseconds: f64,
}

fn row(line: &Line, most: &Most) -> Markup {
    let names: Vec<&str> = line.writes.iter().chain(&line.reads).map(String::as_str).collect();
    html! {
        li data-names=[(!names.is_empty()).then(|| names.join(" "))] {
            span.cost title=[(line.operations > 0).then(|| format!("{} operations", line.operations))] {
                @if line.operations > 0 {
                    span.number { (short(line.operations)) }
                    span.bar style=(format!("width:{}%", share(line.operations, most.operations))) {}
                }
            }
            span.cost.time title=[(line.nanoseconds > 0.0).then(|| format!("{} of a run, estimated", duration(line.nanoseconds)))] {
                @if line.nanoseconds > 0.0 {
                    span.number { (duration(line.nanoseconds)) }
                    span.bar style=(format!("width:{:.2}%", 100.0 * line.nanoseconds / most.nanoseconds)) {}
                }
            }
            code { (cut(without_id(&line.text))) }
        }
    }
}

/// A line without the name of its instruction, which says nothing to a reader.
fn without_id(line: &str) -> &str {
    line.rfind("  {id=")
        .map_or(line, |at| if line.ends_with('}') && !line[at..].contains(',') { &line[..at] } else { line })
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_CHARS {
        text.to_owned()
    } else {
        text.chars().take(MAX_CHARS).chain(['…']).collect()
    }
}

/// A number in a few characters.
fn short(n: u128) -> String {
    const UNITS: [(u128, &str); 4] = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")];
    for (unit, name) in UNITS {
        if n >= unit {
            let unit = if name == "k" { 1_000 } else { unit };
            let scaled = n as f64 / unit as f64;
            return if scaled < 10.0 { format!("{scaled:.1}{name}") } else { format!("{scaled:.0}{name}") };
        }
    }
    n.to_string()
}

/// A time in a few characters.
fn duration(nanoseconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| nanoseconds >= *unit).unwrap_or((1.0, "ns"));
    let scaled = nanoseconds / unit;
    match scaled {
        scaled if scaled >= 99.95 => format!("{scaled:.0}\u{202f}{name}"),
        scaled if scaled >= 0.95 => format!("{scaled:.1}\u{202f}{name}"),
        scaled => format!("{scaled:.2}\u{202f}{name}"),
    }
}

/// A way of a temporary.
struct Arc<'a> {
    name: &'a str,
    from: usize,
    to: usize,
}

impl Arc<'_> {
    fn is_far(&self) -> bool {
        self.from.abs_diff(self.to) > FAR
    }

    /// A bow in the margin with a head; the longer it is, the further out.
    fn path(&self) -> String {
        let y = |line: usize| line * LINE + LINE / 2;
        let (from, to) = (y(self.from), y(self.to));
        let right = MARGIN - 6;
        let reach = (8 + (self.from.abs_diff(self.to)) * 3).min(MARGIN - 12);
        let left = right - reach;
        format!("M{right} {from}C{left} {from} {left} {to} {right} {to}m-5 -3l5 3l-5 3",)
    }
}

/// From each write to the reads after it, up to the next write that does not read.
fn arcs(lines: &[Line]) -> Vec<Arc<'_>> {
    let mut written: Vec<(&str, usize)> = Vec::new();
    let mut res = Vec::new();
    for (idx, line) in lines.iter().enumerate() {
        for name in &line.reads {
            if let Some(&(name, from)) = written.iter().rev().find(|(known, _)| known == name) {
                res.push(Arc { name, from, to: idx });
            }
        }
        written.extend(line.writes.iter().map(|name| (name.as_str(), idx)));
    }
    res.truncate(MAX_ARCS);
    res
}

fn temporaries(report: &Report) -> Markup {
    html! {
        details.temporaries {
            summary { (report.temporaries.len()) " temporaries" }
            div.scroll {
                table {
                    thead { tr { th { "name" } th { "shape" } th { "value" } th.right { "uses" } th.right { "saves" } } }
                    tbody {
                        @for temporary in &report.temporaries {
                            tr {
                                th scope="row" { code { (temporary.name) } }
                                td { code { (if temporary.shape.is_empty() { "scalar".to_owned() } else { temporary.shape.join(" × ") }) } }
                                td { code { (temporary.definition) } }
                                td.right { (temporary.uses) }
                                td.right { @if let Some(saved) = temporary.saved { (count(saved)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(writes: &[&str], reads: &[&str]) -> Line {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Line { writes: own(writes), reads: own(reads), ..Line::default() }
    }

    #[test]
    fn arcs_lead_from_the_last_write_to_each_read() {
        let lines = [line(&["a"], &[]), line(&["b"], &["a"]), line(&["a"], &["a"]), line(&[], &["a", "b"])];
        let found: Vec<(String, usize, usize)> =
            arcs(&lines).into_iter().map(|arc| (arc.name.to_owned(), arc.from, arc.to)).collect();
        let expected = [("a", 0, 1), ("a", 0, 2), ("a", 2, 3), ("b", 1, 3)];
        assert_eq!(found, expected.map(|(name, from, to)| (name.to_owned(), from, to)));
    }

    #[test]
    fn names_of_instructions_are_left_out() {
        assert_eq!(without_id("  v0 = a - b  {id=define_v0}"), "  v0 = a - b");
        assert_eq!(without_id("y = x  {id=a, dep=b}"), "y = x  {id=a, dep=b}");
        assert_eq!(without_id("for i"), "for i");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([7, 9_999, 38_350_224, 12_345].map(short), ["7", "9999", "38M", "12k"]);
        let times =
            [0.004, 1.25, 87.0, 1_234.0, 250_000.0, 3e9].map(duration).map(|text| text.replace('\u{202f}', " "));
        assert_eq!(times, ["0.00 ns", "1.2 ns", "87.0 ns", "1.2 µs", "250 µs", "3.0 s"]);
    }
}
