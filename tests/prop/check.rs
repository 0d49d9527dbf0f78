//! What is promised of every kernel: the checks of one kernel at one level.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use nestegg_driver::config::{Config, CostModel, Strategy, Validation};
use nestegg_driver::report::Validated;
use nestegg_driver::{Error, emit, optimize};
use nestegg_interp::{ValidateOptions, Verdict, validate};
use nestegg_ir::verify::verify;
use nestegg_ir::{Licence, Program, Traps};
use nestegg_span::Source;

/// An optimization that takes longer than this is taken for an endless loop; kernels here need milliseconds, or a second or two.
const MAX_SECONDS: u64 = 60;

/// The kind of failure that this is.
const ENDLESS: &str = "endless";

/// How one kernel is optimized.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The name of a strategy.
    pub level: String,
    /// What may be done to floats.
    pub float: Licence,
    /// Whether quotients and calls of floats may be evaluated where the kernel does not.
    pub traps: Traps,
    /// What is made small.
    pub cost: CostModel,
    /// Values of the kernel's parameters.
    pub parameters: Vec<(String, i64)>,
    /// Whether the kernel may hold what has no meaning in any world of the interpreter.
    pub may_be_not_compared: bool,
}

impl Setting {
    /// Every licence with every meaning of traps, one after the other.
    pub fn semantics(number: u64) -> (Licence, Traps) {
        let all = [
            (Licence::Reassociate, Traps::Ignore),
            (Licence::Strict, Traps::Ignore),
            (Licence::Fast, Traps::Ignore),
            (Licence::Reassociate, Traps::Keep),
            (Licence::Strict, Traps::Keep),
            (Licence::Fast, Traps::Keep),
        ];
        all[(number % 6) as usize]
    }

    /// The flags that say the same on the command line.
    pub fn flags(&self) -> String {
        let traps = if self.traps == Traps::Keep { " --traps keep" } else { "" };
        let cost = if self.cost == CostModel::Operations { " --cost operations" } else { "" };
        let mut res = format!("--level {} --float {}{traps}{cost}", self.level, self.float.name());
        self.parameters.iter().for_each(|(name, value)| res += &format!(" --param {name}={value}"));
        res
    }
}

/// A promise that is not kept.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The same for failures that are likely to have the same cause.
    pub kind: String,
    /// In full.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl Failure {
    /// Whether showing it again takes long.
    pub fn is_endless(&self) -> bool {
        self.kind == ENDLESS
    }

    fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into() }
    }

    /// What the optimizer refuses or gets wrong. Names in backticks differ from kernel to kernel, and so do numbers.
    fn of(error: &Error) -> Self {
        let mut message = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            message += &format!(": {cause}");
            source = cause.source();
        }
        if let Error::NotEqual { rules, .. } = error {
            message += &format!("; {}", rules.join(", "));
        }
        let named = message.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let kind = match error {
            // Values differ in all that is said of them, and traps in all but what the trap is.
            Error::NotEqual { difference, .. } => match difference.to_string().rsplit_once(": ") {
                Some((_, trap)) => {
                    format!("not equal: {}", trap.split(['`', '[']).next().unwrap_or_default())
                }
                None => "not equal".to_owned(),
            },
            _ => named.chars().filter(|symbol| !symbol.is_ascii_digit()).take(120).collect(),
        };
        Self::new(kind, message)
    }
}

/// Optimizes the kernel twice and looks at the result.
pub fn check(program: &Program, setting: &Setting) -> Result<(), Failure> {
    let (program, setting) = (program.clone(), setting.clone());
    guarded(move || unguarded(&program, &setting))
}

/// Whether the kernel itself has a meaning: what fails on another proves nothing.
pub fn has_meaning(program: &Program, parameters: &[(String, i64)]) -> bool {
    let (program, parameters) = (program.clone(), parameters.to_vec());
    let valid = move || {
        if !verify(&program).is_empty() || program.clone().into_linearized().is_err() {
            return Err(Failure::new("broken", ""));
        }
        let options = ValidateOptions { parameters: parameters.into_iter().collect(), ..ValidateOptions::default() };
        match validate(&program, &program, &options) {
            Ok(Verdict::Equal(_)) => Ok(()),
            _ => Err(Failure::new("no meaning", "")),
        }
    };
    guarded(valid).is_ok()
}

/// Runs `check` in a thread of its own: a panic and an endless loop are failures too. The thread of a loop is given up.
fn guarded(check: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel();
    let spawned = std::thread::Builder::new().spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default();
            let kind: String = text.chars().filter(|symbol| !symbol.is_ascii_digit()).take(60).collect();
            Err(Failure::new(format!("panic: {kind}"), text))
        });
        // Nobody listens any more if this took too long.
        let _ = sender.send(outcome);
    });
    match spawned {
        Err(error) => Err(Failure::new("no thread", error.to_string())),
        Ok(_) => receiver
            .recv_timeout(Duration::from_secs(MAX_SECONDS))
            .unwrap_or_else(|_| Err(Failure::new(ENDLESS, format!("no result within {MAX_SECONDS} seconds")))),
    }
}

fn unguarded(program: &Program, setting: &Setting) -> Result<(), Failure> {
    let source = Source::new("generated.knl", nestegg_dump::write_text(program));
    let config = Config {
        strategy: Strategy::Named(setting.level.clone()),
        float: Some(setting.float),
        traps: setting.traps,
        cost: setting.cost,
        parameters: setting.parameters.clone(),
        validation: Validation::EachSeed,
        ..Config::default()
    };
    let optimized = match optimize(&source, &config) {
        Err(Error::NotValidated { .. }) if setting.may_be_not_compared => {
            let unvalidated = Config { validation: Validation::Off, ..config.clone() };
            optimize(&source, &unvalidated).map_err(|error| Failure::of(&error))?
        }
        optimized => optimized.map_err(|error| Failure::of(&error))?,
    };
    if let Some(failure) = optimized.report.failures.iter().find(|failure| failure.is_bug()) {
        return Err(Failure::new(format!("{:?}", failure.kind), failure.to_string()));
    }
    let output = Program::Linearized(optimized.program.clone());
    if let Some(error) = verify(&output).first() {
        return Err(Failure::new("the result is broken", error.violation.to_string()));
    }
    match &optimized.report.validation {
        Validated::Equal { .. } => {}
        Validated::NotCompared { .. } if setting.may_be_not_compared => {}
        Validated::NotCompared { reason } => return Err(Failure::new("not compared", reason.as_str())),
    }
    let (before, after) = (optimized.report.before.total, optimized.report.after.total);
    if after > before {
        return Err(Failure::new("more operations", format!("{after} operations, {before} before")));
    }
    let text = emit::text(&optimized.program).text;
    // What loses too many digits is refused by the run that validates alone.
    if !optimized.report.failures.is_empty() {
        return Ok(());
    }
    let config = Config { validation: Validation::On, ..config };
    let again = optimize(&source, &config).map_err(|error| Failure::of(&error))?;
    if emit::text(&again.program).text != text {
        return Err(Failure::new(
            "not deterministic",
            format!("first\n{text}\nthen\n{}", emit::text(&again.program).text),
        ));
    }
    Ok(())
}
