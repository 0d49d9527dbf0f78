//! Names of C for everything that the kernel names, and for what is new.
//!
//! A name of the kernel stays as it is unless C has another use for it (keywords, macros and functions of the
//! headers that the text includes) or something else took it; then it gets a suffix.

use rustc_hash::FxHashSet;

use super::math;

/// Words that cannot be a variable's name.
const RESERVED: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "true",
    "false",
    "asm",
    "typeof",
    "main",
    "malloc",
    "free",
    "calloc",
    "realloc",
    "exit",
    "abort",
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "rand",
    "srand",
    "system",
    "getenv",
    "qsort",
    "bsearch",
    "NULL",
    "INFINITY",
    "NAN",
    "HUGE_VAL",
    "HUGE_VALF",
    "HUGE_VALL",
    "EOF",
    "RAND_MAX",
    "EXIT_SUCCESS",
    "EXIT_FAILURE",
    "signgam",
    "math_errhandling",
    "size_t",
    "wchar_t",
    "float_t",
    "double_t",
    "class",
    "new",
    "delete",
    "this",
    "template",
    "namespace",
    "private",
    "protected",
    "public",
    "virtual",
    "operator",
    "using",
    "try",
    "catch",
    "throw",
    "typename",
    "friend",
];

/// The names in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    used: FxHashSet<String>,
    n_fresh: rustc_hash::FxHashMap<String, usize>,
}

impl Names {
    /// Takes a name exactly as it is.
    pub(crate) fn take(&mut self, name: &str) {
        self.used.insert(name.to_owned());
    }

    /// The name, with a suffix if it is not free.
    pub(crate) fn claim(&mut self, name: &str) -> String {
        if is_free_in_c(name) && self.used.insert(name.to_owned()) {
            return name.to_owned();
        }
        let mut candidate = format!("{name}_");
        let mut number = 2;
        while !self.used.insert(candidate.clone()) {
            candidate = format!("{name}_{number}");
            number += 1;
        }
        candidate
    }

    /// A new name: the stem with the next number.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        let number = self.n_fresh.entry(stem.to_owned()).or_default();
        loop {
            let candidate = format!("{stem}{number}");
            *number += 1;
            if self.used.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Whether `name` means nothing in C and its headers.
pub(crate) fn is_free_in_c(name: &str) -> bool {
    let stem = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let typelike = name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint"));
    let limit = (name.starts_with("INT") || name.starts_with("UINT"))
        && (name.ends_with("_MIN") || name.ends_with("_MAX") || name.ends_with("_C"));
    let hidden = name.starts_with("__") || (name.starts_with('_') && name[1..].starts_with(char::is_uppercase));
    let helper = ["floor_div_", "floor_mod_", "min_", "max_", "shift_left_", "power_", "lanes_", "NESTEGG_"];
    let vector = ["f32x", "f64x", "i32x", "i64x"].iter().any(|prefix| name.starts_with(prefix));
    let own = vector || helper.iter().any(|prefix| name.starts_with(prefix));
    let known = own || math::is_standard(name) || math::is_standard(stem) || name.starts_with("FP_");
    !(RESERVED.contains(&name) || known || typelike || limit || hidden)
}

/// Whether `name` is an identifier of C.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
}

/// The identifiers in C text, each as often as it stands there; words in comments and strings are among them.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_c_get_a_suffix() {
        let mut names = Names::default();
        for (name, expected) in [
            ("x", "x"),
            ("x", "x_"),
            ("x", "x_2"),
            ("double", "double_"),
            ("sin", "sin_"),
            ("sqrtf", "sqrtf_"),
            ("j0", "j0"),
        ] {
            assert_eq!(names.claim(name), expected);
        }
        assert_eq!(names.claim("int8_t"), "int8_t_");
        assert_eq!(names.claim("__x"), "__x_");
    }

    #[test]
    fn fresh_names_avoid_those_in_use() {
        let mut names = Names::default();
        names.take("s0");
        assert_eq!(names.fresh("s"), "s1");
        assert_eq!(names.fresh("s"), "s2");
    }
}
