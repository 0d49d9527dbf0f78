//! The command line as it is typed. Nothing is checked here but what clap checks; see [`crate::config`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use nestegg_driver::batch::Width;
use nestegg_driver::config::{DEFAULT_STRATEGY, PLAIN_STRATEGY};
use nestegg_driver::rules::built_in_strategies;
use nestegg_lab::infer::THEMES;
use nestegg_time::DEFAULT_MACHINE;

/// An optimizer for loop-nest kernels.
///
/// Reads a kernel, finds the same values in far fewer operations, and writes the kernel again: scheduled, checked
/// against its input, in the same notation or as C. FILE may be `-` for standard input, and a kernel in JSON or in the
/// text form; which one it is shows in its content.
#[derive(Debug, Parser)]
#[command(name = "nestegg", version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  a negative answer (`validate`: not equal)
  2  bad input or usage
  3  no result that holds: nothing could be validated, or a given rule is wrong
After 2 and 3 no output file is written. A result that fails validation is not written either: the next best
one is, with a warning.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the same kernel with fewer operations
    Optimize(Box<OptimizeArgs>),
    /// Say how a result came about: the rules that lead from the kernel to each chosen form and temporary
    Explain(ExplainArgs),
    /// Read a kernel and report everything that is wrong with it
    Check(CheckArgs),
    /// Count floating-point operations, by kind and by loop depth
    Count(CountArgs),
    /// Convert a kernel between JSON and the text form
    Convert(ConvertArgs),
    /// Ask whether two kernels compute the same values
    Validate(ValidateArgs),
    /// Run a kernel with the reference interpreter and print what it writes
    Run(RunArgs),
    /// List rules, rule sets and strategies with their documentation, or put rules to the test
    Rules(RulesArgs),
    /// Leave each rule, seed and form of a strategy out in turn, and show what that costs
    Ablate(AblateArgs),
    /// Show kernels and rules of a folder live in a browser: what an edit does is there within a second
    Serve(ServeArgs),
    /// Talk with an editor by the Language Server Protocol: errors in rule files and kernels as one types, definitions, what names mean
    Lsp {
        /// Talk on standard input and output, as always; editors like to say so
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Say what the cache holds that `optimize --cache` and the Python package share, or remove it
    Cache {
        /// What to do with it.
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Time small kernels, and write the machine file that `optimize --machine FILE` reads
    Calibrate(CalibrateArgs),
    /// Print the JSON schema of kernel dumps
    Schema,
    /// Print the recommended flags for compiling emitted C
    Cflags {
        /// Those for `optimize --openmp`
        #[arg(long)]
        openmp: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages, one for each command
    Man {
        /// The folder that they go to, made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// The path that output goes to; `None` for standard output.
pub fn path_of(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| path.as_os_str() != "-")
}

/// What a print of loopy leaves out.
#[derive(Clone, Debug, Default, Args)]
pub struct DataArgs {
    /// The tables that a print of loopy leaves out, and its `assumptions`: a FILE of a JSON object or an `.npz` archive; may be repeated [default: none]
    #[arg(long = "data", value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `nestegg optimize`.
#[derive(Debug, Args)]
pub struct OptimizeArgs {
    /// The kernel, `-`, or a folder whose kernels are all optimized
    pub input: PathBuf,
    /// Where the result goes: a file, or a folder if the input is one [default: `-`, standard output]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// What is written, several with commas [default: what the ending of the output says, else the notation of the input]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub emit: Vec<Emit>,
    /// How hard to try: a built-in strategy, one that a `--rules` file defines, a strategy FILE, or FILE#NAME where it
    /// defines several
    #[arg(long, visible_alias = "strategy", value_name = "LEVEL|FILE", value_parser = Level, default_value = DEFAULT_STRATEGY)]
    pub level: String,
    /// A file with further rules, or a folder of such files (`*.rules`, in the order of their names); may be repeated
    #[arg(long, value_name = "FILE|FOLDER")]
    pub rules: Vec<PathBuf>,
    /// What may be done to floats [default: what the strategy says, else `reassociate`]
    #[arg(long, value_enum, value_name = "LICENCE")]
    pub float: Option<Float>,
    /// Whether quotients and calls of floats may be evaluated where the kernel does not
    #[arg(long, value_enum, default_value_t = Traps::Ignore)]
    pub traps: Traps,
    /// What is made small
    #[arg(long, value_enum, default_value_t = Cost::Time)]
    pub cost: Cost,
    /// The machine for `--cost time`: a FILE that `nestegg calibrate` wrote, or one that comes with nestegg
    #[arg(long, value_name = "FILE|NAME", default_value = DEFAULT_MACHINE)]
    pub machine: String,
    /// Compile and run the best N results, and take the fastest; the compiler is that of the machine, or `$CC` with `$CFLAGS` [default: 1: nothing is run]
    #[arg(long, value_name = "N")]
    pub tune: Option<usize>,
    #[command(flatten)]
    pub parameters: ParameterArgs,
    /// How many statements straight-line code may have [default: what the strategy says, else 2000]
    #[arg(long, value_name = "N")]
    pub max_statements: Option<u64>,
    /// How many bytes the temporaries of a result may take together [default: any number]
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<u64>,
    /// The story of the run: on standard output if the result goes to a file, else on standard error
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub report: ReportFormat,
    /// Leave out of the report how long each stage took: then it is the same on every run
    #[arg(long)]
    pub no_seconds: bool,
    /// Write the events of the run into a file, a line of JSON for each; the same on every run [default: not]
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// No report and no progress; errors are still shown
    #[arg(short, long, conflicts_with = "report")]
    pub quiet: bool,
    /// Put W elements together, one in each lane of vectors: 1, 2, 4, 8, 16, or `auto`, which takes the least estimated time. A kernel of one
    /// element becomes `NAME_batch`, of as many as a new parameter says; a kernel that is a loop over elements keeps its interface [default: one element at a time]
    #[arg(long, value_name = "W")]
    pub batch: Option<Width>,
    /// Arguments that all elements share, with commas: the others get a leading axis of elements [default: none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "batch")]
    pub batch_shared: Vec<String>,
    /// How the arguments of elements lie in memory
    #[arg(long, value_enum, default_value_t = Layout::Contiguous, requires = "batch")]
    pub batch_layout: Layout,
    /// Give long loops of emitted C whose iterations have nothing in common to threads, where the compiler has OpenMP [default: one thread]
    #[arg(long)]
    pub openmp: bool,
    /// Write the best result without comparing it with the input: nothing says then that it is right
    #[arg(long, alias = "no-validate")]
    pub unvalidated: bool,
    /// Keep results in this folder, and take those that are kept there: any number of processes may share it [default: none]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// How many times the rounding errors of the input those of a result may be, or `off` [default: 10, and 100 with computed tables]
    #[arg(long, value_name = "FACTOR", value_parser = accuracy)]
    pub accuracy: Option<f64>,
    /// Threads that work on kernels of a folder and on seeds of a kernel; the result is the same with any number [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub data: DataArgs,
}

/// `nestegg cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Print the folder that the Python package uses by default: `$NESTEGG_CACHE`, else `nestegg` where the system keeps caches
    Folder,
    /// Print how many results a cache holds, and their bytes
    Size {
        /// The cache [default: the folder that `cache folder` prints]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Remove all results from a cache
    Clear {
        /// The cache [default: the folder that `cache folder` prints]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// `nestegg calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Where the machine file goes [default: `-`, standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The compiler [default: `$CC`, else gcc]
    #[arg(long)]
    pub cc: Option<String>,
    /// Its flags [default: `$CFLAGS`, else those of the default machine]
    #[arg(long, allow_hyphen_values = true)]
    pub flags: Option<String>,
    /// No progress; errors are still shown
    #[arg(short, long)]
    pub quiet: bool,
}

/// `nestegg check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The kernels
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub data: DataArgs,
}

/// `nestegg count`.
#[derive(Debug, Args)]
pub struct CountArgs {
    /// The kernel
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    #[command(flatten)]
    pub parameters: ParameterArgs,
    /// How the counts are printed
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    #[command(flatten)]
    pub data: DataArgs,
}

/// `nestegg convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The kernel
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Where the result goes [default: `-`, standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The notation [default: what the ending of the output says, else the one that the input is not in]
    #[arg(long, value_enum)]
    pub to: Option<DataFormat>,
    #[command(flatten)]
    pub data: DataArgs,
}

/// `nestegg validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The kernel that says what is right
    pub a: PathBuf,
    /// The kernel that is compared with it
    pub b: PathBuf,
    #[command(flatten)]
    pub parameters: ParameterArgs,
    #[command(flatten)]
    pub data: DataArgs,
}

/// `nestegg run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The kernel
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// The seed of the random arguments
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Arguments as a JSON object of (nested lists of) numbers [default: all are random]
    #[arg(long, value_name = "FILE")]
    pub arguments: Option<PathBuf>,
    #[command(flatten)]
    pub parameters: ParameterArgs,
    #[command(flatten)]
    pub data: DataArgs,
}

/// `nestegg rules`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RulesArgs {
    /// What to do with rules, instead of listing them
    #[command(subcommand)]
    pub command: Option<RulesCommand>,
    /// Only rules, rule sets and strategies of these names
    pub names: Vec<String>,
    /// A file with further rules, or a folder of such files; may be repeated
    #[arg(long, value_name = "FILE|FOLDER")]
    pub rules: Vec<PathBuf>,
    /// List what rule files may use instead: operators, conditions, guided rules, tags, options
    #[arg(long)]
    pub vocabulary: bool,
}

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// Ask whether rules are sound, on small kernels made from their left sides
    Check(RulesCheckArgs),
    /// Run the tests of a folder: kernels that say which rules fire on them, with snapshots of their results
    Test(RulesTestArgs),
    /// Say why a rule does not fire on a kernel: what it nearly matches, and which condition does not hold
    WhyNot(RulesWhyNotArgs),
    /// Optimize kernels with and without rules, and show what they win and what they cost
    Try(RulesTryArgs),
    /// Look for rules: equations that hold in a small vocabulary, and of them the few that imply the rest
    Infer(RulesInferArgs),
}

/// `nestegg rules test`.
#[derive(Debug, Args)]
pub struct RulesTestArgs {
    /// The folder, with the folders in it: kernels (`*.knl`), and the rule files beside them (`*.rules`)
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Write the snapshots anew: `NAME.expect` beside `NAME.knl`
    #[arg(long)]
    pub update: bool,
}

/// `nestegg rules why-not`.
#[derive(Debug, Args)]
pub struct RulesWhyNotArgs {
    /// The rule
    pub rule: String,
    /// The kernel
    #[arg(value_name = "KERNEL")]
    pub kernel: PathBuf,
    #[command(flatten)]
    pub strategy: StrategyArgs,
}

/// `nestegg rules try`.
#[derive(Debug, Args)]
pub struct RulesTryArgs {
    /// The rules: a file, or a folder of files (`*.rules`)
    #[arg(value_name = "FILE|FOLDER")]
    pub file: PathBuf,
    /// The kernels
    #[arg(value_name = "KERNEL", required = true)]
    pub kernels: Vec<PathBuf>,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// How the comparison is printed; JSON is the same on every run
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    /// Seconds of each rule and phase too
    #[arg(long)]
    pub seconds: bool,
}

/// `nestegg rules infer`.
#[derive(Debug, Args)]
pub struct RulesInferArgs {
    /// The vocabularies [default: all, one after another]
    #[arg(value_name = "THEME", value_parser = PossibleValuesParser::new(THEMES.map(|theme| PossibleValue::new(theme.name).help(theme.about))))]
    pub themes: Vec<String>,
    /// Kernels on which rules that are not known are tried, the most useful first: a file, or a folder whose kernels are all taken; may be repeated
    #[arg(long, value_name = "KERNEL|FOLDER")]
    pub kernels: Vec<PathBuf>,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Leave out what the rules that come with nestegg, and those of `--rules`, give already
    #[arg(long)]
    pub new: bool,
    /// How the rules are printed; text is a rule file
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// `nestegg ablate`.
#[derive(Debug, Args)]
pub struct AblateArgs {
    /// The kernels: files, or a folder whose kernels are all taken
    #[arg(value_name = "KERNEL|FOLDER", required = true)]
    pub kernels: Vec<PathBuf>,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Only these rules, seeds and forms, with commas [default: all of the strategy]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// How the table is printed
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// `nestegg serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The folder: kernels (`*.knl`, `*.json`), and the rule files (`*.rules`) that all of them run with
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// The port of the loopback address [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    #[command(flatten)]
    pub strategy: StrategyArgs,
}

/// `nestegg explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The kernel
    pub kernel: PathBuf,
    /// Only this value: an array that the kernel writes, or a temporary of the result [default: all]
    pub value: Option<String>,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Check every step: kernels against each other, both sides of equations on data, and instances by their rules
    #[arg(long)]
    pub verify: bool,
    /// How the explanation is printed
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    #[command(flatten)]
    pub data: DataArgs,
}

/// What runs.
#[derive(Debug, Args)]
pub struct StrategyArgs {
    /// The level, as for `optimize`; operations are counted
    #[arg(long, visible_alias = "strategy", value_name = "LEVEL|FILE", value_parser = Level, default_value = PLAIN_STRATEGY)]
    pub level: String,
    /// What may be done to floats [default: what the strategy says, else `reassociate`]
    #[arg(long, value_enum)]
    pub float: Option<Float>,
    /// A file with further rules, or a folder of such files; may be repeated
    #[arg(long, value_name = "FILE|FOLDER")]
    pub rules: Vec<PathBuf>,
    #[command(flatten)]
    pub parameters: ParameterArgs,
}

/// `nestegg rules check`.
#[derive(Debug, Args)]
pub struct RulesCheckArgs {
    /// The rules: files, folders of files (`*.rules`), or names of rules and rule sets [default: all rules that come with nestegg]
    #[arg(value_name = "FILE|FOLDER|NAME")]
    pub rules: Vec<String>,
    /// Write a kernel for each unsound rule into this folder: a counter-example, for `nestegg run`
    #[arg(long, value_name = "FOLDER")]
    pub save: Option<PathBuf>,
    /// How verdicts are printed
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Values for the parameters of kernels.
#[derive(Debug, Args)]
pub struct ParameterArgs {
    /// The value that is assumed for a parameter; may be repeated [default: the kernel's estimate, else 100]
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    pub values: Vec<(String, i64)>,
}

/// What `optimize` can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Emit {
    /// A kernel dump in JSON
    #[value(alias = "json")]
    Dump,
    /// A kernel in the text form
    #[value(alias = "knl")]
    Text,
    /// C11, with a header
    C,
    /// The header alone; with `c` beside it
    H,
    /// The e-graph around the values of the result, for Graphviz
    Dot,
}

/// How the arguments of elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// One element after the other
    Contiguous,
    /// Blocks of W elements, the values of a block side by side: `[n/W][…][W]`
    Interleaved,
}

/// What `optimize` makes small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cost {
    /// Floating-point operations by the format's rule
    Operations,
    /// Estimated time on a machine
    Time,
}

/// What `optimize` may do to floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Float {
    /// Nothing that changes a bit of a result
    Strict,
    /// What holds for real numbers
    Reassociate,
    /// What holds for real numbers, none of them infinite or a zero divisor
    Fast,
}

/// Whether floats may trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Traps {
    /// They may be evaluated wherever that is cheapest
    Ignore,
    /// They stay under their conditions, and in loops that may be empty
    Keep,
}

/// Forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page for a browser, with pictures: the loops before and after, the search, the e-graph
    Html,
    /// No report
    None,
}

/// Notations of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    /// JSON
    Json,
    /// Text for people
    Text,
}

/// Reads a level: any text, for files define levels too. The built-in ones are shown in the help, as they stand in the rule files.
#[derive(Clone, Copy, Debug)]
struct Level;

impl TypedValueParser for Level {
    type Value = String;

    fn parse_ref(&self, command: &clap::Command, _: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        value
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidUtf8).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let shown = |(name, doc): (String, String)| PossibleValue::new(name).help(doc);
        Some(Box::new(built_in_strategies().into_iter().map(shown)))
    }
}

/// A factor, or infinity for `off`.
fn accuracy(text: &str) -> Result<f64, String> {
    if text == "off" {
        return Ok(f64::INFINITY);
    }
    match text.parse() {
        Ok(factor) if factor >= 1.0 => Ok(factor),
        _ => Err(format!("`{text}` is neither `off` nor a number of at least 1")),
    }
}

/// A parameter's name and value.
fn parameter(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is given as `name=value`")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is not a whole number of 64 bits"))?;
    Ok((name.trim().to_owned(), value))
}
