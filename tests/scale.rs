//! Large kernels go through every level: many instructions, many loops, large tables.
//!
//! How long each takes is measured by `nestegg-bench scaling`; here it is only asked that each ends, with a result that is equal.
//! A stage that needs more than about linear time does not end within anybody's patience.

use std::fmt::Write;

use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::optimize;
use nestegg_driver::report::Validated;
use nestegg_span::Source;

/// Instructions of the kernels that have many.
const N_INSTRUCTIONS: usize = 10_000;
/// Loops of the kernels that have many.
const DEPTH: usize = 12;

fn check(text: &str, levels: &[&str]) {
    let source = Source::new("large.knl", text);
    for level in levels {
        let config = Config { strategy: Strategy::Named((*level).to_owned()), ..Config::of_operations() };
        let optimized = optimize(&source, &config).unwrap_or_else(|error| panic!("{level}: {error}"));
        assert!(matches!(optimized.report.validation, Validated::Equal { .. }), "{level} is not compared");
        assert!(optimized.report.after.total <= optimized.report.before.total, "{level} has more operations");
    }
}

/// A kernel that begins with `head`, declares scalars `t0, t1, …`, and opens a loop in `begin`, which makes the first; `statement` writes what makes another.
fn chain_of_scalars(
    (head, begin): (&str, &str),
    n_instructions: usize,
    mut statement: impl FnMut(&mut String, usize),
) -> String {
    let mut text = head.to_owned();
    for idx in 0..n_instructions {
        let _ = writeln!(text, "temp t{idx} : float64");
    }
    text += begin;
    for idx in 1..n_instructions {
        statement(&mut text, idx);
    }
    text
}

/// What kernels of scalars in two loops begin with.
const IN_TWO_LOOPS: (&str, &str) = (
    "kernel scalars\ndomain { [i, j] : 0 <= i, j < 3 }\narg x : float64[3, 3] read\n\
     arg c : float64[8] read\narg y : float64[3, 3] readwrite\n",
    "for i, j\n  t0 = x[i, j] {id=s0}\n",
);

/// The numbers of two statements before this one: the last, and another.
fn two_before(idx: usize) -> (usize, usize) {
    (idx - 1, idx.saturating_sub(1 + idx * idx % 17))
}

/// Loop names `i0, i1, …` and a domain in which each has two values.
fn deep_head(name: &str) -> (String, Vec<String>) {
    let inames: Vec<String> = (0..DEPTH).map(|idx| format!("i{idx}")).collect();
    let bounds: Vec<String> = inames.iter().map(|iname| format!("0 <= {iname} < 2")).collect();
    let mut text = format!("kernel {name}\ndomain {{ [{}] : {} }}\n", inames.join(", "), bounds.join(" and "));
    for idx in 0..DEPTH {
        let _ = writeln!(text, "arg a{idx} : float64[2] read");
    }
    (text, inames)
}

/// A product of sums, each over two neighbouring loops.
fn deep_product() -> String {
    let factors = (0..DEPTH).map(|idx| {
        let next = (idx + 1) % DEPTH;
        format!("(a{idx}[i{idx}] + a{next}[i{next}])")
    });
    factors.collect::<Vec<_>>().join("*")
}

/// Scalars in loops: each from the one before and another, some selected and some stored under a condition.
fn statements(n_instructions: usize) -> String {
    let text = chain_of_scalars(IN_TWO_LOOPS, n_instructions, |text, idx| {
        let (last, other) = two_before(idx);
        let (input, limit) = (idx % 8, idx % 5);
        let value = match idx % 4 {
            1 => format!("if(c[{input}] > {limit}.0, 0.5*t{last}, t{other} + 1.0)"),
            2 => format!("t{last}*c[{input}]"),
            _ => format!("0.25*t{last} + t{other}"),
        };
        let _ = writeln!(text, "  t{idx} = {value} {{id=s{idx}}}");
        if idx % 4 == 2 {
            let _ = writeln!(text, "  y[i, j] = y[i, j] + t{idx} {{id=y{idx}, if=c[{input}] < {limit}.5}}");
        }
    });
    text + "end\n"
}

/// Arrays, each computed in a loop of its own from the one before and another.
fn loops(n_instructions: usize) -> String {
    let mut text =
        "kernel loops\ndomain { [i] : 0 <= i < 3 }\narg x : float64[3] read\narg y : float64[3] write\n".to_owned();
    for idx in 0..n_instructions {
        let _ = writeln!(text, "temp t{idx} : float64[3]");
    }
    text += "for i\n  t0[i] = x[i]\nend\n";
    for idx in 1..n_instructions {
        let (last, other) = two_before(idx);
        let _ = writeln!(text, "for i\n  t{idx}[i] = 0.25*t{last}[i] + t{other}[i]\nend");
    }
    let _ = writeln!(text, "for i\n  y[i] = t{}[i]\nend", n_instructions - 1);
    text
}

/// Stores of elements that nothing else touches.
fn independent(n_instructions: usize) -> String {
    let mut text = format!(
        "kernel independent\ndomain {{ [i] : 0 <= i < 3 }}\narg x : float64[{n_instructions}, 3] read\n\
         arg c : float64[8] read\narg y : float64[{n_instructions}, 3] write\nfor i\n"
    );
    for idx in 0..n_instructions {
        let (a, b) = (idx % 8, (idx + 3) % 8);
        let _ = writeln!(text, "  y[{idx}, i] = x[{idx}, i]*c[{a}] + c[{b}]*c[{}] {{id=s{idx}}}", idx % 5);
    }
    text + "end\n"
}

/// Values that are made one from another, every fourth selected and every fourth stored, each time under another condition, and the last one whatever holds.
fn conditions(n_instructions: usize) -> String {
    let text = chain_of_scalars(IN_TWO_LOOPS, n_instructions, |text, idx| {
        let (last, other) = two_before(idx);
        let condition = format!("c[{}] < {idx}.5", idx % 8);
        let value = match idx % 4 {
            1 => format!("if({condition}, 0.5*t{last}, t{other} + 1.0)"),
            2 => format!("t{other}"),
            _ => format!("0.25*t{last} + t{other}"),
        };
        let _ = writeln!(text, "  t{idx} = {value} {{id=s{idx}}}");
        if idx % 4 == 2 {
            let _ = writeln!(text, "  y[i, j] = y[i, j] + t{last}*t{other} {{id=y{idx}, if={condition}}}");
        }
    });
    text + &format!("  y[i, j] = y[i, j] + t{}\nend\n", n_instructions - 1)
}

/// Values that are made one from another of what an array held before, each stored, before the array is updated.
fn updates(n_instructions: usize) -> String {
    let head = format!(
        "kernel updates\ndomain {{ [i] : 0 <= i < 3 }}\narg x : float64[3] read\narg y : float64[3] readwrite\n\
         arg z : float64[{n_instructions}, 3] write\n"
    );
    let begin = "for i\n  t0 = y[i]*x[i]\n";
    let text = chain_of_scalars((&head, begin), n_instructions, |text, idx| {
        let _ = writeln!(text, "  t{idx} = 0.5*t{} + x[i]*x[{}]", idx - 1, idx % 3);
        if idx % 4 == 0 {
            let _ = writeln!(text, "  z[{idx}, i] = t{idx}");
        }
    });
    text + &format!("  y[i] = y[i] + t{}\nend\n", n_instructions - 1)
}

/// A table of small dyadic numbers.
fn table(n_rows: usize, n_columns: usize) -> String {
    let entry = |at: usize| format!("{:?}", ((at * at + 7 * at) % 129) as f64 / 64.0 - 1.0);
    let row = |row: usize| (0..n_columns).map(|column| entry(row * n_columns + column)).collect::<Vec<_>>().join(", ");
    format!("[[{}]]", (0..n_rows).map(row).collect::<Vec<_>>().join("], ["))
}

#[test]
fn ten_thousand_loops() {
    check(&loops(N_INSTRUCTIONS), &["O0", "O1", "O2", "O3"]);
}

#[test]
fn ten_thousand_independent_statements() {
    check(&independent(N_INSTRUCTIONS), &["O0", "O1"]);
}

/// Whether a store may leave its loops is not asked of every other store, nor whether its loop may be joined with that of another element; and
/// what a store adds is looked for without a copy of the kernel.
#[test]
fn thousands_of_independent_statements_in_all_forms() {
    check(&independent(4_000), &["O2", "O3"]);
}

/// What many stores share is taken apart once, not once for each of them, nor once more for other atoms where these are the same; the numbers that become of factors
/// along a chain are no fractions of a hundred digits to be reduced; a form that costs more is not looked through for cycles; and how often what stands under
/// a condition runs is not asked anew for each condition that says nothing of loops.
#[test]
fn thousands_of_values_under_different_conditions() {
    check(&conditions(N_INSTRUCTIONS), &["O1"]);
    check(&conditions(4_000), &["O2", "O3"]);
}

/// Seeds that differ in nothing but the names of instructions and the order of expressions are one.
#[test]
fn seeds_that_are_the_same_are_tried_once() {
    let source = Source::new("same.knl", conditions(100));
    let optimized =
        optimize(&source, &Config { strategy: Strategy::Named("O3".to_owned()), ..Config::of_operations() });
    let seeds = optimized.unwrap_or_else(|error| panic!("{error}")).report.seeds;
    let forms: Vec<&String> = seeds.keys().filter(|seed| seed.starts_with("rolled, ")).collect();
    assert_eq!(forms.len(), 1, "{forms:?} are the same");
}

/// Whether halves of sums may be computed is asked of each of a thousand stores without a look at all of the others' expressions.
#[test]
fn a_table_with_a_row_for_each_of_a_thousand_stores() {
    check(&over_table(20, 1_000), &["O2", "O3"]);
}

/// What cannot trap is encoded once, not once for each instruction that evaluates it under its condition.
#[test]
fn ten_thousand_statements_with_conditions() {
    check(&statements(N_INSTRUCTIONS), &["O0", "O1"]);
}

/// A read of one state of memory is one value, however many instructions evaluate it.
#[test]
fn ten_thousand_statements_that_read_what_is_updated() {
    check(&updates(N_INSTRUCTIONS), &["O0", "O1"]);
}

/// Values that are shared must not be taken apart once for each way to them.
#[test]
fn a_thousand_shared_values_with_conditions() {
    check(&statements(1_000), &["O0", "O1", "O2", "O3"]);
}

#[test]
fn twelve_loops() {
    let (mut text, inames) = deep_head("deep");
    let sizes = ["2"; DEPTH].join(", ");
    let indices = inames.join(", ");
    let _ = writeln!(text, "arg y : float64[{sizes}] readwrite\nfor {indices}");
    let _ = writeln!(text, "  y[{indices}] = y[{indices}] + {}\nend", deep_product());
    check(&text, &["O0", "O1", "O2", "O3"]);
}

#[test]
fn eleven_loops_are_summed_over() {
    let (mut text, inames) = deep_head("deep_sum");
    let _ = writeln!(text, "arg y : float64[2] write\nfor i0");
    let _ = writeln!(text, "  y[i0] = sum([{}], {})\nend", inames[1..].join(", "), deep_product());
    check(&text, &["O0", "O1", "O2", "O3"]);
}

/// A loop over a table with so many rows and columns.
fn over_table(n_rows: usize, n_columns: usize) -> String {
    format!(
        "kernel large_table\ndomain {{ [q, j] : 0 <= q < {n_rows} and 0 <= j < {n_columns} }}\narg x : float64[{n_rows}] read\n\
         arg y : float64[{n_columns}] readwrite\ntable phi : float64[{n_rows}, {n_columns}] = {}\n\
         for q, j\n  y[j] = y[j] + x[q]*x[q]*phi[q, j]\nend\n",
        table(n_rows, n_columns)
    )
}

#[test]
fn a_table_of_a_hundred_thousand_numbers() {
    check(&over_table(2_000, 50), &["O0", "O1", "O2", "O3"]);
}

#[test]
fn tables_of_a_million_numbers() {
    for (n_rows, n_columns) in [(1_000, 1_000), (1_000_000, 1)] {
        check(&over_table(n_rows, n_columns), &["O0", "O1", "O2", "O3"]);
    }
}
