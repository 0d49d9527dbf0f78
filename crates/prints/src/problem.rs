//! What can be wrong with a print, as problems with a place and a way out. Codes are stable.

use nestegg_dump::{Problem, ReadError};
use nestegg_span::Span;

/// Whatever was wrong is said by this.
pub(crate) type Known<T> = Result<T, Box<ReadError>>;

/// Text that loopy does not print.
pub(crate) fn syntax(expected: &str, at: Span) -> Box<ReadError> {
    let help = "this is read as what `str` of a translation unit of loopy 2025.2 gives";
    Problem::error("print::syntax", format!("expected {expected}"), "here", at, help)
}

/// Something that loopy has and kernels have not.
pub(crate) fn unsupported(what: &str, at: Span, help: &str) -> Box<ReadError> {
    Problem::error("print::unsupported", format!("{what} has no place in a kernel"), "this", at, help)
}

/// Something that the print leaves out.
pub(crate) fn lost(what: &str, at: Span, help: &str) -> Box<ReadError> {
    Problem::error("print::lost", format!("the print has lost {what}"), "of this", at, help)
}

/// Text that loopy prints for different expressions.
pub(crate) fn ambiguous(what: &str, at: Span) -> Box<ReadError> {
    let help =
        "loopy prints two different expressions like this; give the kernel itself: `nestegg.dump(t_unit)` in Python";
    Problem::error("print::two_readings", format!("{what} has two readings"), "here", at, help)
}

/// A name that nothing declares.
pub(crate) fn unknown_name(name: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "print::unknown_name",
        format!("the name `{name}` is not declared in this print"),
        "unknown name",
        at,
        "",
    )
}

/// Several kernels, or kernels that call each other in a circle.
pub(crate) fn no_entry(help: &str, at: Span) -> Box<ReadError> {
    Problem::error("print::entry", "a print needs one kernel that no other calls".to_owned(), "this kernel", at, help)
}

/// A kernel that calls another one, in a way that is not followed.
pub(crate) fn not_inlined(callee: &str, why: &str, at: Span) -> Box<ReadError> {
    let help = "print the kernel after `loopy.inline_callable_kernel`";
    Problem::error("print::call", format!("the call of `{callee}` cannot be inlined: {why}"), "called here", at, help)
}
