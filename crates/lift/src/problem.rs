//! What can be wrong with C text, as problems with a place and a way out. Codes are stable.

use nestegg_dump::{Problem, ReadError};
use nestegg_span::Span;

/// Whatever was wrong has been said, or is said by this.
pub(crate) type Lifted<T> = Result<T, Box<ReadError>>;

/// Text that is not C.
pub(crate) fn syntax(message: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::syntax",
        format!("not C: {message}"),
        "here",
        at,
        "the text is read as C11; macros are not expanded inside of syntax",
    )
}

/// Directives that make no conditional, or refuse the text.
pub(crate) fn conditional(what: &str, at: Span, help: &str) -> Box<ReadError> {
    Problem::error("c::conditional", what.to_owned(), "here", at, help)
}

/// A function that stands partly in a conditional.
pub(crate) fn cut_conditional(name: &str, at: Span) -> Box<ReadError> {
    let help = "put the whole function inside of the conditional, or outside; or write the result to a file of its own: `--emit text` or `--emit dump`, and that as C";
    conditional(&format!("a conditional begins or ends inside of the function `{name}`"), at, help)
}

/// A condition of the preprocessor without a value.
pub(crate) fn condition(reason: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::condition",
        format!("this condition of the preprocessor has no value: {reason}"),
        "here",
        at,
        "conditions are made of integers, `defined`, and macros that the file defines before; headers are not read. Define the macro in this file, or run \
         the preprocessor first: `cc -E -P`",
    )
}

/// Something that is C but no part of a kernel.
pub(crate) fn unsupported(what: &str, at: Span, help: &str) -> Box<ReadError> {
    Problem::error("c::unsupported", format!("{what} cannot be part of a kernel"), "this", at, help)
}

/// A name that nothing defines.
pub(crate) fn unknown_name(name: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::unknown_name",
        format!("the name `{name}` is not defined"),
        "unknown name",
        at,
        "headers are not read; define it in this file: as a parameter, a local variable, a `static const` table, or by `#define`",
    )
}

/// A function that may do anything.
pub(crate) fn unknown_function(name: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::unknown_function",
        format!("nothing is known of the function `{name}`"),
        "called here",
        at,
        "a kernel may call functions of `math.h`, functions of this file that take and return numbers and consist of one `return`, and functions of \
         floats that the file declares with `__attribute__((const))`",
    )
}

/// A bound or a condition of a loop that is not affine.
pub(crate) fn not_affine(what: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::not_affine",
        format!("{what} is not affine"),
        "not affine",
        at,
        "bounds are sums of integer parameters and outer loop variables, each times a number; quotients by a number and `min` and `max` of such are allowed",
    )
}

/// A type that no value of a kernel has.
pub(crate) fn wrong_type(what: &str, ty: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::type",
        format!("{what} has the type `{ty}`"),
        "not a type of kernels",
        at,
        "values are `float`, `double`, or integers; arrays are of `float`, `double`, `int32_t`, `int64_t` or `bool`",
    )
}

/// An array whose extent cannot be found from its accesses.
pub(crate) fn no_extent(name: &str, reason: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::no_extent",
        format!("the extent of `{name}` does not follow from its accesses: {reason}"),
        "accessed here",
        at,
        &format!("declare it: `double {name}[n]` or `double {name}[n][m]` instead of `double *{name}`"),
    )
}

/// A file without a kernel.
pub(crate) fn no_function(at: Span) -> Box<ReadError> {
    Problem::error(
        "c::no_function",
        "there is no kernel".to_owned(),
        "no function here can be one",
        at,
        "a kernel is a function with a body that takes pointers or arrays",
    )
}

/// A name that no function has.
pub(crate) fn unknown_kernel(name: &str, known: &str, at: Span) -> Box<ReadError> {
    Problem::error("c::unknown_kernel", format!("no kernel has the name `{name}`"), "in this file", at, known)
}

/// A file with several kernels where one is asked for.
pub(crate) fn several_functions(file: &str, names: &[&str], at: Span) -> Box<ReadError> {
    let known = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let example = names.first().copied().unwrap_or_default();
    Problem::error(
        "c::several_functions",
        format!("the file has {} kernels: {known}", names.len()),
        "another one",
        at,
        &format!("choose one: `{file}#{example}`"),
    )
}

/// A macro of the file that would change the result.
pub(crate) fn macro_in_result(name: &str, at: Span) -> Box<ReadError> {
    Problem::error(
        "c::macro_in_result",
        format!("the result uses the name `{name}`, which is a macro of the file"),
        "the result stands here",
        at,
        "rename the macro, or write the result to a file of its own: `--emit text` or `--emit dump`, and that as C",
    )
}
