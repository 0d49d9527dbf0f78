//! Kernels from C: functions of loops and arrays, lifted to [`Program`](nestegg_ir::Program)s.
//!
//! # Input
//! C text with functions as code generators and people write them: loops with affine bounds, assignments, conditions, local
//! scalars and arrays, `static const` tables, calls of `math.h`. Any text is allowed: nothing panics.
//! # Output
//! The kernel of one function, linearized in the order of the text, with the places of its parts; or every error that was found. The
//! kernel's `meta` keeps how the function is called, so that C written of the kernel can take its place ([`signature`]).
//! # Method
//! The preprocessor's conditionals choose text ([`preprocess`]) and tree-sitter parses it ([`text`]); one walk over the function ([`function`]) gives the same syntax tree that the readers of dumps
//! give, and `nestegg_dump` makes the kernel of it, with all checks. Extents that C does not declare follow from the accesses, by isl ([`extents`]).
//! # Meaning
//! Integers do not overflow, pointer parameters do not overlap, and functions of `math.h` set no `errno`: what C leaves undefined does not
//! happen. Everything else means what C11 says.
//! # Complexity
//! Linear in the text, plus isl's work for each loop and for each access to an array without an extent.
//! # Not done
//! No headers are read, no macros expanded outside of expressions and conditions, no pointers followed.
#![warn(missing_docs)]

mod bounds;
mod constants;
mod extents;
mod file;
mod function;
mod math;
mod preprocess;
mod problem;
mod signature;
mod term;
mod text;
mod types;

use std::collections::BTreeSet;

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
    let refused = |error: Box<ReadError>| Errors::refuse(source, *error);
    let text = text::prepared(&source.text, &[]).map_err(refused)?.text;
    let tree = text::parse(&text).map_err(refused)?;
    let file = File::new(&text, &tree, &[]);
    if file.kernels().next().is_none() {
        text::check(tree.root_node()).map_err(refused)?;
    }
    Ok(file.kernels().map(|kernel| Function { name: kernel.name.to_owned(), span: kernel.span }).collect())
}

/// The same file with one kernel: the others are blank, so that every place stays where it is. Directives of conditionals stay, for they may
/// belong to others outside.
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
    let prepared = text::prepared(&source.text, &[]).map_err(|error| Errors::refuse(source, *error))?;
    let directives: Vec<Span> = prepared.conditionals.into_iter().flatten().collect();
    let mut bytes = source.text.as_bytes().to_vec();
    for function in all.iter().filter(|function| function.name != name) {
        let mut blank = vec![true; function.span.range().len()];
        for directive in directives.iter().filter(|directive| function.span.contains(**directive)) {
            let start = function.span.range().start;
            blank[directive.range().start - start..directive.range().end - start].fill(false);
        }
        let inside = bytes[function.span.range()].iter_mut().zip(blank);
        inside.filter(|(byte, is_blank)| *is_blank && **byte != b'\n').for_each(|(byte, _)| *byte = b' ');
    }
    // Functions and directives are whole, so that what is left is text.
    let text = String::from_utf8(bytes).unwrap_or_else(|_| source.text.to_string());
    Ok(Source::new(source.name.clone(), text))
}

/// The file with other text in place of functions, by their names: all that stands around them is kept.
///
/// # Errors
/// If the text is not C, has no such function, or defines a macro that would change the new text; or if a conditional begins or ends inside of the
/// function.
pub fn replaced(source: &Source, functions: &[(String, String)]) -> Result<String, Box<ReadErrors>> {
    let refused = |error: Box<ReadError>| Errors::refuse(source, *error);
    let prepared = text::prepared(&source.text, &[]).map_err(refused)?;
    let tree = text::parse(&prepared.text).map_err(refused)?;
    let file = File::new(&prepared.text, &tree, &[]);
    let mut places: Vec<(Span, String)> = Vec::new();
    for (name, new) in functions {
        let Some(found) = file.kernels().find(|kernel| kernel.name == name) else {
            return Err(refused(problem::unknown_kernel(name, "", Span::default())));
        };
        let n_inside = |places: &Vec<Span>| places.iter().filter(|place| found.span.contains(**place)).count();
        if prepared.conditionals.iter().any(|places| !matches!(n_inside(places), n if n == 0 || n == places.len())) {
            return Err(refused(problem::cut_conditional(name, found.name_span)));
        }
        let is_macro = |word: &str| prepared.macro_names.iter().any(|known| known == word);
        let mut words = words(new);
        if let Some(word) = words.find(|word| !word.starts_with("NESTEGG_") && is_macro(word)) {
            return Err(refused(problem::macro_in_result(word, found.name_span)));
        }
        places.push((found.span, format!("{}{}", guards(&source.text, &file, new), new.trim_end())));
    }
    places.sort_by_key(|(span, _)| *span);
    let mut res = source.text.to_string();
    for (span, new) in places.iter().rev() {
        res.replace_range(span.range(), new);
    }
    Ok(res)
}

/// The words of C text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

/// Definitions of the macros that leave helpers out of a new text which the file has already, as C of nestegg does. Some of them
/// only compilers with vectors see.
fn guards(source: &str, file: &File<'_>, new: &str) -> String {
    let asked: BTreeSet<&str> = words(new).filter_map(|word| word.strip_prefix("NESTEGG_HAS_")).collect();
    if asked.is_empty() {
        return String::new();
    }
    let prepared = text::prepared(source, &["__GNUC__"]).ok();
    let parsed = prepared.and_then(|prepared| text::parse(&prepared.text).ok().map(|tree| (prepared.text, tree)));
    let other = parsed.as_ref().map(|(text, tree)| File::new(text, tree, &[]));
    let is_known = |name: &&str| file.has(name) || other.as_ref().is_some_and(|other| other.has(name));
    let define = |name| format!("#ifndef NESTEGG_HAS_{name}\n#define NESTEGG_HAS_{name}\n#endif\n");
    asked.into_iter().filter(is_known).map(define).collect()
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
    match lifted(source) {
        Ok(syntax) => nestegg_dump::build(source, &syntax, Errors::default()),
        Err(errors) => Err(errors.of(source)),
    }
}

fn lifted(source: &Source) -> Result<KernelSyntax<'static>, Errors> {
    let alone = |error: Box<ReadError>| {
        let mut errors = Errors::default();
        errors.push(*error);
        errors
    };
    let prepared = text::prepared(&source.text, &[]).map_err(alone)?;
    let (text, macros) = (prepared.text.as_str(), prepared.macros());
    let tree = text::parse(text).map_err(alone)?;
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
