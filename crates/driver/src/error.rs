//! The errors between a kernel and its result.

use std::sync::Arc;

use miette::{NamedSource, SourceSpan};
use nestegg_dump::ReadErrors;
use nestegg_egraph::saturate::Unsound;
use nestegg_interp::Difference;
use nestegg_ir::count::CountError;
use nestegg_ir::order::OrderError;
use nestegg_rules::RuleErrors;
use nestegg_span::{Source, Span};

use crate::report::Failure;
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
    /// A strategy file with several strategies, of which none was chosen.
    #[error("`{file}` defines several strategies: {names}")]
    #[diagnostic(code(driver::several_strategies))]
    SeveralStrategies {
        /// The file's name.
        file: String,
        /// The names that it defines.
        names: String,
        /// How to choose.
        #[help]
        help: String,
    },
    /// A name that the strategy file does not define.
    #[error("`{file}` defines no strategy `{name}`")]
    #[diagnostic(code(driver::unknown_strategy))]
    UnknownStrategyOfFile {
        /// The file's name.
        file: String,
        /// The name given.
        name: String,
        /// The names that it defines.
        #[help]
        help: String,
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
    /// Elements cannot be put together.
    #[error("the elements of `{kernel}` cannot be put together: {reason}")]
    #[diagnostic(code(driver::batch), help("without `--batch` the kernel of one element is written"))]
    Batch {
        /// The kernel's name.
        kernel: String,
        /// Why.
        reason: String,
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
    /// A rule is no equality: the caller's own, as a rule.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unsound(Box<Unsound>),
    /// The input reads what is not there: it means nothing, so no result can be compared with it.
    #[error("`{kernel}` is undefined")]
    #[diagnostic(
        code(driver::undefined),
        help(
            "a kernel may read only elements inside its arrays, and only after they have a value; `--unvalidated` optimizes it all the same"
        )
    )]
    Undefined {
        /// The kernel's name.
        kernel: String,
        /// The instruction, the point, and what it does there.
        source: Box<nestegg_interp::Error>,
        /// The kernel's text, where it is known.
        #[source_code]
        text: Option<Arc<NamedSource<Arc<str>>>>,
        /// Where the instruction stands in it.
        #[label("in this instruction")]
        at: Option<SourceSpan>,
    },
    /// A result in which a rule of the caller's had a part is not equal to the input.
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
    /// No result could be validated, not even the input as it came.
    #[error("no result for `{kernel}` could be validated: {reason}")]
    #[diagnostic(
        code(driver::not_validated),
        help("nothing was written; `--unvalidated` writes the best result without evidence that it is right")
    )]
    NotValidated {
        /// The kernel's name.
        kernel: String,
        /// Why the input could not be compared even with itself.
        reason: String,
        /// What became of the results.
        #[related]
        failures: Vec<Failure>,
    },
}

fn after_semicolon(smallest: &Option<Box<Smallest>>) -> String {
    smallest.as_ref().map(|smallest| format!("; {smallest}")).unwrap_or_default()
}

impl Error {
    /// The same, with the place of its instruction in the text of the kernel.
    pub(crate) fn located(mut self, written: &Source, span: impl Fn(&str) -> Option<Span>) -> Self {
        if let Self::Undefined { source, text, at, .. } = &mut self
            && let nestegg_interp::Error::Trap { instruction, .. } = source.as_ref()
        {
            *at = span(instruction).map(SourceSpan::from);
            *text = at.is_some().then(|| Arc::new(written.named_source()));
        }
        self
    }

    /// Whether a pass is at fault that works for one form only, so that another form may do.
    pub(crate) fn is_of_one_form(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::Refused { .. })
    }

    /// Whether there is no result that holds, as opposed to input that is at fault.
    #[must_use]
    pub fn is_wrong_result(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::NotEqual { .. } | Self::NotValidated { .. })
    }
}
