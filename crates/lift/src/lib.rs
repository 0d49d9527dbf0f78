//! Kernels from C: functions of loops and arrays, lifted to [`Program`](nestegg_ir::Program)s.
//!
//! # Input
//! C text with functions as code generators and people write them: loops with affine bounds, assignments, conditions, local
//! scalars and arrays, `static const` tables, calls of `math.h`. Any text is allowed: nothing panics.
//! # Output
//! The kernel of one function, linearized in the order of the text, with the places of its parts; or every error that was found. The
//! kernel's `meta` keeps how the function is called, so that C written of the kernel can take its place ([`signature`]).
//! # Method
//! tree-sitter parses ([`text`]); one walk over the function ([`function`]) gives the same syntax tree that the readers of dumps
//! give, and `nestegg_dump` makes the kernel of it, with all checks. Extents that C does not declare follow from the accesses, by isl ([`extents`]).
//! # Meaning
//! Integers do not overflow, pointer parameters do not overlap, and functions of `math.h` set no `errno`: what C leaves undefined does not
//! happen. Everything else means what C11 says.
//! # Complexity
//! Linear in the text, plus isl's work for each loop and for each access to an array without an extent.
//! # Not done
//! No headers are read, no macros expanded outside of expressions, no pointers followed.
#![warn(missing_docs)]

mod bounds;
mod constants;
mod extents;
mod file;
mod function;
mod math;
mod problem;
mod signature;
mod term;
mod text;
mod types;

use nestegg_dump::syntax::KernelSyntax;
use nestegg_dump::{Errors, Read, ReadError, ReadErrors};
use nestegg_span::{Source, Span};

use file::File;

/// Operations and statements nest at most so deep.
const MAX_NESTING: usize = 200;

/// A function of a file that can be a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its definition.
    pub span: Span,
}

/// Whether a source is C: what its name ends in, or else how its text begins.
#[must_use]
pub fn is_c(source: &Source) -> bool {
    text::is_c(&source.name, &source.text)
}

/// The functions of a file that can be kernels, in their order: those with a body that take pointers, `main` excepted.
///
/// # Errors
/// If the text is not C.
pub fn functions(source: &Source) -> Result<Vec<Function>, Box<ReadErrors>> {
    let text = text::prepared(&source.text);
    let tree = text::parse(&text).map_err(|error| Errors::refuse(source, *error))?;
    let file = File::new(&text, &tree, &[]);
    if file.kernels().next().is_none() {
        text::check(tree.root_node()).map_err(|error| Errors::refuse(source, *error))?;
    }
    Ok(file.kernels().map(|kernel| Function { name: kernel.name.to_owned(), span: kernel.span }).collect())
}

/// The same file with one kernel: the others are blank, so that every place stays where it is.
///
/// # Errors
/// If the text is not C, or has no kernel of that name.
pub fn only(source: &Source, name: &str) -> Result<Source, Box<ReadErrors>> {
    let all = functions(source)?;
    if !all.iter().any(|function| function.name == name) {
        let known: Vec<String> = all.iter().map(|function| format!("`{}`", function.name)).collect();
        let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        return Err(Errors::refuse(source, *problem::unknown_kernel(name, &known, Span::default())));
    }
    let mut text = source.text.to_string();
    for function in all.iter().filter(|function| function.name != name) {
        let blank: String =
            source.slice(function.span).bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
        text.replace_range(function.span.range(), &blank);
    }
    Ok(Source::new(source.name.clone(), text))
}

/// The file with other text in place of functions, by their names: all that stands around them is kept.
///
/// # Errors
/// If the text is not C, has no such function, or defines a macro that would change the new text.
pub fn replaced(source: &Source, functions: &[(String, String)]) -> Result<String, Box<ReadErrors>> {
    let text = text::prepared(&source.text);
    let refused = |error: Box<ReadError>| Errors::refuse(source, *error);
    let tree = text::parse(&text).map_err(refused)?;
    let macros = text::macros(&text, &tree);
    let file = File::new(&text, &tree, &macros);
    let mut places: Vec<(Span, String)> = Vec::new();
    for (name, new) in functions {
        let Some(found) = file.kernels().find(|kernel| kernel.name == name) else {
            return Err(refused(problem::unknown_kernel(name, "", Span::default())));
        };
        let mut words = new.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let own = |word: &str| word.starts_with("NESTEGG_");
        if let Some(word) = words.find(|word| !own(word) && macros.iter().any(|known| known.name == *word)) {
            return Err(refused(problem::macro_in_result(word, found.name_span)));
        }
        // Helper functions that C of nestegg defines are there already.
        let known: String = file
            .helpers()
            .map(|helper| format!("NESTEGG_HAS_{}", helper.to_uppercase()))
            .filter(|guard| new.contains(guard.as_str()))
            .map(|guard| format!("#ifndef {guard}\n#define {guard}\n#endif\n"))
            .collect();
        places.push((found.span, format!("{known}{}", new.trim_end())));
    }
    places.sort_by_key(|(span, _)| *span);
    let mut res = source.text.to_string();
    for (span, new) in places.iter().rev() {
        res.replace_range(span.range(), new);
    }
    Ok(res)
}

/// Reads the kernel of a file that has one.
///
/// # Errors
/// All that is wrong with it.
///
/// ```
/// use nestegg_span::Source;
///
/// let text = "void axpy(int n, double a, const double *x, double *y)
/// {
///     for (int i = 0; i < n; ++i)
///         y[i] += a*x[i];
/// }
/// ";
/// let axpy = nestegg_lift::read(&Source::new("axpy.c", text))?;
/// let written = nestegg_dump::write_text(&axpy.program);
/// assert!(written.contains("y[i] = y[i] + a*x[i]"), "{written}");
/// assert!(written.contains("arg x : float64[n] read"), "{written}");
/// # Ok::<(), Box<nestegg_dump::ReadErrors>>(())
/// ```
pub fn read(source: &Source) -> Result<Read, Box<ReadErrors>> {
    let text = text::prepared(&source.text);
    match lifted(source, &text) {
        Ok(syntax) => nestegg_dump::build(source, &syntax, Errors::default()),
        Err(errors) => Err(errors.of(source)),
    }
}

fn lifted(source: &Source, text: &str) -> Result<KernelSyntax<'static>, Errors> {
    let alone = |error: Box<ReadError>| {
        let mut errors = Errors::default();
        errors.push(*error);
        errors
    };
    let tree = text::parse(text).map_err(alone)?;
    let macros = text::macros(text, &tree);
    let file = File::new(text, &tree, &macros);
    let kernels: Vec<_> = file.kernels().collect();
    match kernels.as_slice() {
        [] => {
            text::check(tree.root_node()).map_err(alone)?;
            Err(alone(problem::no_function(Span::from_range(0..text.len().min(1)))))
        }
        [kernel] => {
            text::check(kernel.node).map_err(alone)?;
            function::lift(&file, *kernel)
        }
        [_, second, ..] => {
            let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
            Err(alone(problem::several_functions(&source.name, &names, second.name_span)))
        }
    }
}
