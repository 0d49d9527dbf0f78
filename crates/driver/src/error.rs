//! What can go wrong between a kernel and its result.

use nestegg_dump::ReadErrors;
use nestegg_interp::Difference;
use nestegg_ir::count::CountError;
use nestegg_ir::order::OrderError;
use nestegg_rules::RuleErrors;

use crate::smallest::Smallest;

/// What can go wrong.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// The kernel is not one.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(Box<ReadErrors>),
    /// A rule file is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Rules(Box<RuleErrors>),
    /// A strategy file without a strategy.
    #[error("`{file}` defines no strategy")]
    #[diagnostic(code(driver::no_strategy), help("a file of rules only is given by `--rules`"))]
    NoStrategy {
        /// The file's name.
        file: String,
    },
    /// A value for a parameter that the kernel does not have.
    #[error("kernel `{kernel}` has no parameter `{name}`")]
    #[diagnostic(code(driver::unknown_parameter))]
    UnknownParameter {
        /// The kernel's name.
        kernel: String,
        /// The name given.
        name: String,
        /// The names that there are.
        #[help]
        help: String,
    },
    /// Values of parameters that the kernel's assumptions exclude.
    #[error("kernel `{kernel}` is not for {values}")]
    #[diagnostic(code(driver::excluded_values))]
    ExcludedValues {
        /// The kernel's name.
        kernel: String,
        /// The values, as `n = 0, m = 3`.
        values: String,
        /// What is assumed.
        #[help]
        help: String,
    },
    /// A strategy that neither the built-in files nor the given ones define.
    #[error("there is no strategy `{name}`")]
    #[diagnostic(code(driver::unknown_strategy))]
    UnknownStrategy {
        /// The name given.
        name: String,
        /// The names that there are.
        #[help]
        help: String,
    },
    /// The instructions have no order.
    #[error("the instructions of `{kernel}` have no order")]
    #[diagnostic(code(driver::no_order))]
    Order {
        /// The kernel's name.
        kernel: String,
        /// Why.
        #[source]
        source: OrderError,
    },
    /// The operations of the kernel have no number.
    #[error("cannot count the operations of `{kernel}`")]
    #[diagnostic(code(driver::cannot_count))]
    Count {
        /// The kernel's name.
        kernel: String,
        /// Why.
        #[source]
        source: CountError,
    },
    /// A pass refuses the kernel.
    #[error("{pass} refuses `{kernel}`")]
    #[diagnostic(code(driver::refused))]
    Refused {
        /// The pass.
        pass: &'static str,
        /// The kernel's name.
        kernel: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A pass made something that is no kernel: a bug of nestegg.
    #[error("{pass} broke `{kernel}`: {violations}")]
    #[diagnostic(code(driver::broken), help("this is a bug of nestegg; nothing was written"))]
    Broken {
        /// The pass.
        pass: &'static str,
        /// The kernel's name.
        kernel: String,
        /// What [`nestegg_ir::verify`] found.
        violations: String,
    },
    /// The result is not equal to the input: a bug of nestegg, or of a rule that it was given.
    #[error("the result for `{kernel}` is not equal to its input: {difference}{}", after_semicolon(smallest))]
    #[diagnostic(
        code(driver::not_equal),
        help("nothing was written; a rule that is not an equality is the likeliest cause: try without `--rules`")
    )]
    NotEqual {
        /// The kernel's name.
        kernel: String,
        /// The first difference.
        difference: Box<Difference>,
        /// The rules that found something.
        rules: Vec<String>,
        /// What to look at, if that was looked for.
        smallest: Option<Box<Smallest>>,
    },
}

fn after_semicolon(smallest: &Option<Box<Smallest>>) -> String {
    smallest.as_ref().map(|smallest| format!("; {smallest}")).unwrap_or_default()
}

impl Error {
    /// The same, with the rules that made the result.
    pub(crate) fn after<'r>(mut self, fired: impl Iterator<Item = &'r String>) -> Self {
        if let Self::NotEqual { rules, .. } = &mut self {
            *rules = fired.cloned().collect();
        }
        self
    }

    /// Whether a result was made and found wrong, as opposed to input that is at fault.
    #[must_use]
    pub fn is_wrong_result(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::NotEqual { .. })
    }
}
