//! The commands of filetests: one per pass, and one per thing that the command line does.
//!
//! A command runs in this process on the kernel of its file. It answers a text that is compared with a snapshot, or
//! nothing where it only asserts.
//!
//! | command | options | what it does |
//! | --- | --- | --- |
//! | `check` | `param=n:5` | answers the rendered errors, or that there are none |
//! | `convert` | `to=json` or `to=text` | answers the kernel in that notation; asserts that both round trips lose nothing |
//! | `count` | `param=n:5` | answers the operations |
//! | `linearize` | | answers the kernel in its default order |
//! | `normalise` | | answers the kernel in value form |
//! | `realize` | | answers the kernel with its reductions realized |
//! | `schedule` | | answers the kernel with its loops rebuilt |
//! | `optimize` | `level=O1` `rules=tests/error/unsound.rules` `float=strict` `traps=keep` `param=n:5` `max-statements=9` `seeds=rolled,split` `forms=basis` `phase=hoist` `grant=fast` `selection=as-is` | answers result and story; asserts that the result is validated, that nothing better failed, and that `validate` finds what is written of it equal. The last five make a strategy that extends the level: with those seeds alone, with those forms, with a phase of those rules, with an own licence, with another selection |
//! | `refuse` | as `optimize` | answers the rendered error; asserts that there is one |
//! | `why-not` | `rule=NAME` `level=O1` `rules=examples/factor.rules` | answers why the rule does not fire |
//! | `explain` | as `optimize`, and `value=NAME` | answers how the result came about; asserts that every step holds |
//! | `run` | `seed=0` `param=n:5` | answers the outputs of the interpreter |
//! | `batch` | as `optimize`, and `batch=4` `shared=w,phi` `layout=interleaved` | answers what was made of the elements, the kernel of many, and its C; asserts that it is validated, and that compilers accept the C without a warning |
//! | `c` | `level=O1` | answers the C; asserts that compilers accept it without a warning |

use std::fmt::Write;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use nestegg_driver::config::{BatchLayout, BatchRequest, Config, CostModel, Strategy};
use nestegg_driver::explain::Verify;
use nestegg_driver::report::{Report, Validated};
use nestegg_driver::validation::{Comparison, compare};
use nestegg_driver::{Notation, emit, parameters};
use nestegg_interp::{Inputs, RunOptions, Values};
use nestegg_ir::{Licence, LinearizedKernel, Program, Traps};
use nestegg_span::Source;

use crate::compilers;
use crate::header::TestCommand;

/// Names of commands that answer a text.
const ANSWERING: [&str; 14] = [
    "check",
    "convert",
    "count",
    "linearize",
    "normalise",
    "realize",
    "schedule",
    "optimize",
    "refuse",
    "run",
    "c",
    "batch",
    "why-not",
    "explain",
];

/// Options of commands that optimize.
const OPTIMIZE: [&str; 15] = [
    "level",
    "rules",
    "param",
    "max-statements",
    "float",
    "traps",
    "seeds",
    "forms",
    "phase",
    "grant",
    "selection",
    "batch",
    "shared",
    "layout",
    "cost",
];

/// Whether the command answers a text.
#[must_use]
pub fn answers(name: &str) -> bool {
    ANSWERING.contains(&name)
}

/// Runs a command on the kernel in `source`; `bytes` are those of the file, which need not be text.
///
/// # Errors
/// If the command fails, asserts something that does not hold, or is not known.
pub fn run(command: &TestCommand, source: &Source, bytes: &[u8]) -> Result<Option<String>, String> {
    match command.name.as_str() {
        "check" => check(command, source, bytes),
        "convert" => convert(command, source),
        "count" => count(command, source),
        "linearize" => pass(command, source, Ok),
        "normalise" => {
            pass(command, source, |program| nestegg_transform::normalise(program).map_err(|error| error.to_string()))
        }
        "realize" => pass(command, source, |program| {
            nestegg_schedule::realize_reductions(program).map_err(|error| error.to_string())
        }),
        "schedule" => {
            pass(command, source, |program| nestegg_schedule::schedule(program).map_err(|error| error.to_string()))
        }
        "optimize" => optimize(command, source),
        "refuse" => refuse(command, source),
        "run" => interpret(command, source),
        "why-not" => why_not(command, source),
        "explain" => explain(command, source),
        "c" => c(command, source),
        "batch" => batch(command, source),
        other => Err(format!("there is no command `{other}`")),
    }
    .map(Some)
}

fn check(command: &TestCommand, source: &Source, bytes: &[u8]) -> Result<String, String> {
    command.allow(&["param"])?;
    let given = command.parameters()?;
    let checked = nestegg_dump::read_bytes(&source.name, bytes)
        .and_then(|(source, read)| nestegg_dump::check_defined(&source, &read, &given));
    Ok(match checked {
        Ok(()) => "well-formed".to_owned(),
        Err(errors) => rendered(&*errors),
    })
}

fn convert(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&["to"])?;
    let program = read(source)?;
    let (json, text) = (Notation::Json.write(&program), Notation::Text.write(&program));
    for written in [&json, &text] {
        let again = read(&Source::new("written", written.as_str()))?;
        if Notation::Json.write(&again) != json || Notation::Text.write(&again) != text {
            return Err(format!("reading this again gives another kernel:\n{written}"));
        }
    }
    match command.option("to").unwrap_or("json") {
        "json" => Ok(json),
        "text" => Ok(text),
        other => Err(format!("there is no notation `{other}`")),
    }
}

fn count(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&["param"])?;
    let counted = nestegg_driver::count(source, &command.parameters()?).map_err(|error| rendered(&error))?;
    let mut text = format!("{}\n", counted.total);
    for entry in counted.entries {
        let _ = writeln!(text, "depth {}: {} {}", entry.depth, entry.operations, entry.kind);
    }
    Ok(text)
}

/// A pass from one linearized kernel to another; its result is verified.
fn pass(
    command: &TestCommand,
    source: &Source,
    pass: impl FnOnce(LinearizedKernel) -> Result<LinearizedKernel, String>,
) -> Result<String, String> {
    command.allow(&[])?;
    let linearized = read(source)?.into_linearized().map_err(|error| error.to_string())?;
    let result = Program::Linearized(pass(linearized)?);
    let violations = nestegg_ir::verify::verify(&result);
    match violations.as_slice() {
        [] => Ok(Notation::Text.write(&result)),
        [first, ..] => Err(format!("the result is broken: {}", first.violation)),
    }
}

fn optimize(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&OPTIMIZE)?;
    let optimized = optimized(command, source)?;
    Ok(format!("{}\n{}", story(&optimized.report), emit::text(&optimized.program).text))
}

fn optimized(command: &TestCommand, source: &Source) -> Result<nestegg_driver::Optimized, String> {
    let optimized = nestegg_driver::optimize(source, &config(command)?).map_err(|error| rendered(&error))?;
    if let Some(failure) = optimized.report.failures.iter().find(|failure| failure.is_bug()) {
        return Err(rendered(failure));
    }
    match &optimized.report.validation {
        Validated::Equal { .. } => written_is_equal(command, source, &optimized).map(|()| optimized),
        Validated::NotCompared { reason } => Err(format!("the result was not validated: {reason}")),
    }
}

/// What is written of a result is equal to the kernel as it says itself, without what the optimizer knows besides.
fn written_is_equal(
    command: &TestCommand,
    source: &Source,
    optimized: &nestegg_driver::Optimized,
) -> Result<(), String> {
    let input = read(source)?;
    let output = read(&Source::new("written", emit::dump(&optimized.program).text))?;
    let assumed = parameters::assumed(input.kernel(), &command.parameters()?).map_err(|error| rendered(&error))?;
    match compare(&input, &output, &parameters::values(&assumed)).map_err(|error| rendered(&error))? {
        Comparison::Equal { .. } => Ok(()),
        other => Err(format!("what is written is not equal to the input: {other:?}")),
    }
}

/// What the optimizer is told by a command.
fn config(command: &TestCommand) -> Result<Config, String> {
    let max_statements = command.option("max-statements").map(str::parse).transpose();
    let float = command.option("float");
    let rules = |path: &str| {
        let text = std::fs::read_to_string(crate::root().join(path)).map_err(|error| format!("`{path}`: {error}"))?;
        Ok::<_, String>(Source::new(path, text))
    };
    Ok(Config {
        strategy: strategy(command),
        rules: command.option("rules").map(rules).into_iter().collect::<Result<_, _>>()?,
        float: float.map(|name| Licence::from_name(name).ok_or(format!("no licence `{name}`"))).transpose()?,
        traps: match command.option("traps") {
            None | Some("ignore") => Traps::Ignore,
            Some("keep") => Traps::Keep,
            Some(other) => return Err(format!("`traps` is `keep` or `ignore`, not `{other}`")),
        },
        max_statements: max_statements.map_err(|error| format!("`max-statements`: {error}"))?,
        parameters: command.parameters()?,
        batch: command.option("batch").map(|width| request(command, width)).transpose()?,
        cost: match command.option("cost") {
            None | Some("operations") => CostModel::Operations,
            Some("time") => CostModel::Time,
            Some(other) => return Err(format!("`cost` is `operations` or `time`, not `{other}`")),
        },
        ..Config::of_operations()
    })
}

/// How a command wants elements put together.
fn request(command: &TestCommand, width: &str) -> Result<BatchRequest, String> {
    let width = width.parse()?;
    let shared = command.option("shared").map(|names| names.split(',').map(str::to_owned).collect());
    let layout = match command.option("layout") {
        None | Some("contiguous") => BatchLayout::Contiguous,
        Some("interleaved") => BatchLayout::Interleaved,
        Some(other) => return Err(format!("there is no layout `{other}`")),
    };
    Ok(BatchRequest { width, shared: shared.unwrap_or_default(), layout })
}

/// The level that a command names, or a strategy that extends it.
fn strategy(command: &TestCommand) -> Strategy {
    let level = command.option("level").unwrap_or("O1");
    let (mut own, mut first) = (String::new(), "");
    for (key, option) in [("seeds", "seeds"), ("forms", "forms"), ("grant", "float"), ("selection", "selection")] {
        if let Some(words) = command.option(key) {
            let _ = write!(own, "\n  :option ({option} {})", words.replace(',', " "));
            first = if first.is_empty() { key } else { first };
        }
    }
    if let Some(rules) = command.option("phase") {
        first = if first.is_empty() { "phase" } else { first };
        let _ = write!(own, "\n  (phase own :rules ({}) :passes 2 :nodes 10000)", rules.replace(',', " "));
    }
    if own.is_empty() {
        return Strategy::Named(level.to_owned());
    }
    let text = format!(";; A level.\n\n;; With changes.\n(strategy {level}-{first} :extends {level}{own})\n");
    Strategy::InFile(Source::new("own.rules", text))
}

/// What the optimizer says against a command.
fn refuse(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&OPTIMIZE)?;
    match nestegg_driver::optimize(source, &config(command)?) {
        Ok(_) => Err("nothing is wrong with this".to_owned()),
        Err(error) => Ok(rendered(&error)),
    }
}

/// Why a rule does not fire.
fn why_not(command: &TestCommand, source: &Source) -> Result<String, String> {
    let rule = command.option("rule").ok_or("`rule` names the rule")?;
    let mut options = command.clone();
    options.options.remove("rule");
    options.allow(&OPTIMIZE)?;
    let answer = nestegg_lab::why_not::why_not(source, &config(&options)?, rule).map_err(|error| rendered(&error))?;
    answer.map(|answer| answer.text).ok_or_else(|| format!("there is no rule `{rule}`"))
}

/// How a result came about; every chain is checked.
fn explain(command: &TestCommand, source: &Source) -> Result<String, String> {
    let value = command.option("value");
    let mut options = command.clone();
    options.options.remove("value");
    options.allow(&OPTIMIZE)?;
    let explained = nestegg_driver::explain::explain(source, &config(&options)?, Verify::Yes);
    let explanation = explained.map_err(|error| rendered(&error))?;
    let text =
        explanation.to_text(value).ok_or_else(|| format!("there is no value `{}`", value.unwrap_or_default()))?;
    match explanation.verified {
        Some(verified) if verified.wrong == 0 => Ok(text),
        _ => Err(format!("the explanation does not hold:\n{text}")),
    }
}

/// The report without what changes from run to run.
fn story(report: &Report) -> String {
    let text = report.to_text(usize::MAX);
    let lines = text.lines().filter(|line| !line.starts_with("seconds"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn interpret(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&["seed", "param"])?;
    let seed = command.option("seed").unwrap_or("0").parse().map_err(|_| "the seed is no number")?;
    let program = read(source)?;
    let assumed = parameters::assumed(program.kernel(), &command.parameters()?).map_err(|error| rendered(&error))?;
    let values = parameters::for_runs(program.kernel(), &parameters::values(&assumed)).into_iter().collect();
    let inputs = Inputs::random(program.kernel(), &values, seed).map_err(|error| error.to_string())?;
    let outputs = match nestegg_interp::run(&program, &inputs, &RunOptions::default()) {
        Ok(outputs) => outputs,
        Err(error) => return Ok(format!("error: {error}\n")),
    };
    let mut text = String::new();
    for (name, output) in &outputs.arrays {
        // Fewer digits than there are: a snapshot must not depend on a C library's last bit.
        let elements: Vec<String> = match &output.values {
            Values::Floats(values) => values.iter().map(|value| format!("{value:.9e}")).collect(),
            Values::Ints(values) => values.iter().map(i64::to_string).collect(),
        };
        let _ = writeln!(text, "{name} = {}", elements.join(" "));
    }
    Ok(text)
}

fn c(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&["level", "param", "cost"])?;
    let products = emit::c(&optimized(command, source)?).map_err(|error| rendered(&error))?;
    let mut text = String::new();
    for product in &products {
        compilers::accept(product.extension, &product.text)?;
        let _ = writeln!(text, "/* .{} */\n{}", product.extension, product.text);
    }
    Ok(text)
}

fn batch(command: &TestCommand, source: &Source) -> Result<String, String> {
    command.allow(&OPTIMIZE)?;
    let optimized = optimized(command, source)?;
    let batched = optimized.batched.as_ref().ok_or("elements are not put together: say `batch=4`")?;
    let report = optimized.report.batch.as_ref().ok_or("the report says nothing of elements")?;
    let Validated::Equal { .. } = report.validation else { return Err(format!("not validated: {report}")) };
    let products = emit::c(&optimized).map_err(|error| rendered(&error))?;
    let mut text = format!("{report}\n\n{}", emit::text(&batched.program).text);
    for product in &products {
        compilers::accept(product.extension, &product.text)?;
        let _ = writeln!(text, "\n/* .{} */\n{}", product.extension, product.text);
    }
    Ok(text)
}

fn read(source: &Source) -> Result<Program, String> {
    nestegg_driver::read(source).map(|read| read.program).map_err(|error| rendered(&error))
}

/// An error as the command line shows it, without colours and at a fixed width.
fn rendered(error: &dyn Diagnostic) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    match handler.render_report(&mut text, error) {
        Ok(()) => text,
        Err(_) => error.to_string(),
    }
}
