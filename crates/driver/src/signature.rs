//! C that takes the place of the function that a kernel was lifted from.
//!
//! # Input
//! A kernel whose `meta` says, under `c_function`, how its function is called: the head of the definition, and what each parameter and
//! argument of the kernel is there.
//! # Output
//! The function under its own head. It calls a static function before it that holds the kernel.
//! # Not done
//! A kernel whose arguments the function does not have gets no such text: it has the interface of every other kernel.

use std::collections::BTreeMap;

use nestegg_codegen::c::SharedText;
use nestegg_ir::Kernel;
use serde::Deserialize;

/// The `meta` of a kernel, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Meta {
    c_function: Signature,
}

/// How a function of C is called.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Signature {
    /// The definition up to its body.
    head: String,
    /// What stands there for the parameters and arguments of the kernel.
    passed: BTreeMap<String, String>,
    /// What the function returns.
    returns: Option<String>,
}

impl Signature {
    /// The function that a kernel was lifted from.
    pub(crate) fn of(kernel: &Kernel) -> Option<Self> {
        let meta: Meta = serde_json::from_str(kernel.meta.as_deref()?).ok()?;
        let signature = meta.c_function;
        // Text of a function goes into a file of C as it is.
        let is_plain = |text: &str| !text.contains(['{', '}', ';', '#', '"', '\n']);
        // What is passed may be a list of values in braces, but no statement.
        let is_value = |text: &str| !text.contains([';', '#', '"', '\n']);
        let is_head = is_plain(&signature.head) && signature.returns.as_deref().is_none_or(is_plain);
        let fits =
            is_head && signature.passed.values().all(|text| is_value(text)) && signature.call(kernel, "f").is_some();
        fits.then_some(signature)
    }

    /// The call of the function that holds the kernel; `None` if the function lacks something.
    fn call(&self, kernel: &Kernel, symbol: &str) -> Option<String> {
        let parameters = kernel.stated_parameters().map(|parameter| kernel[parameter].name.as_str());
        let arguments = kernel.arguments().map(|array| kernel[array].name.as_str());
        let passed: Option<Vec<&str>> =
            parameters.chain(arguments).map(|name| self.passed.get(name).map(String::as_str)).collect();
        Some(format!("{symbol}({})", passed?.join(", ")))
    }

    /// The name of the static function that holds a kernel.
    pub(crate) fn symbol(kernel: &Kernel) -> String {
        format!("nestegg_{}", kernel.name)
    }

    /// The text of a file: the given static function, and the function of that head.
    pub(crate) fn source(&self, kernel: &Kernel, held: &SharedText) -> Option<String> {
        let call = self.call(kernel, &Self::symbol(kernel))?;
        // Where memory for temporaries is short, no number is right.
        let SharedText { source, can_fail } = held;
        let body = match (self.returns.as_deref(), can_fail) {
            (Some("0"), true) => format!("    return {call};\n"),
            (None, false) => format!("    (void){call};\n"),
            (returned, _) => {
                let call = if *can_fail { format!("if ({call}) abort()") } else { format!("(void){call}") };
                let returned = returned.map(|value| format!("    return {value};\n")).unwrap_or_default();
                format!("    {call};\n{returned}")
            }
        };
        Some(format!("{source}\n{}{}\n{{\n{body}}}\n", self.includes(), self.head))
    }

    /// The declaration in a header.
    pub(crate) fn header(&self, kernel: &Kernel) -> String {
        let guard = format!("NESTEGG_{}_H", kernel.name.to_uppercase());
        let head: Vec<&str> = self.head.split(' ').filter(|word| !matches!(*word, "static" | "inline")).collect();
        // C++ has no `restrict`; compilers of both have the other spelling.
        let head = head.join(" ").replace("__restrict__", "restrict").replace("restrict", "__restrict__");
        format!(
            "#ifndef {guard}\n#define {guard}\n\n{}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{head};\n\n\
             #ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n",
            self.includes()
        )
    }

    /// The headers that the types in the head need.
    fn includes(&self) -> String {
        let mut words = self.head.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let headers = [("bool", "stdbool"), ("size_t", "stddef"), ("ptrdiff_t", "stddef")];
        let is_sized = |word: &str| word.ends_with("_t") && word.contains("int");
        let mut res = String::new();
        if words.clone().any(is_sized) {
            res.push_str("#include <stdint.h>\n");
        }
        if let Some((_, header)) = headers.iter().find(|(word, _)| words.any(|used| used == *word)) {
            res.push_str(&format!("#include <{header}.h>\n"));
        }
        res
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::read;
    use nestegg_span::Source;

    #[test]
    fn only_what_fits_is_used() {
        let text = "void f(double *a) { a[0] = 1.0; }";
        let kernel = read(&Source::new("f.c", text)).unwrap_or_else(|error| panic!("{error:?}")).program;
        let mut kernel = kernel.kernel().clone();
        assert!(Signature::of(&kernel).is_some());
        for wrong in ["void f(double *a) { exit(1); }", "void f(\n#include <x>\n)"] {
            let meta = serde_json::json!({ "c_function": { "head": wrong, "passed": { "a": "a" }, "returns": null } });
            kernel.meta = Some(meta.to_string().into());
            assert!(Signature::of(&kernel).is_none(), "{wrong}");
        }
    }
}
