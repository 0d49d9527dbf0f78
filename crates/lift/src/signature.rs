//! How a function is called, so that C written of its kernel can take its place.
//!
//! The kernel's `meta` holds it under `c_function`: the head of the definition, complete in itself, and what each parameter and argument of the
//! kernel is in terms of the function's own parameters. [`nestegg_dump`] carries it through; whoever writes C reads it.

use serde_json::json;

use crate::file::{Definition, File};

/// The name under which `meta` holds the function.
pub(crate) const KEY: &str = "c_function";

/// The `meta` of a kernel. `passed` are names of the kernel with what stands for each in C; `returned` is what the function returns.
pub(crate) fn meta(
    file: &File<'_>,
    function: Definition<'_>,
    passed: &[(String, String)],
    returned: Option<&str>,
) -> String {
    let passed: serde_json::Map<String, serde_json::Value> =
        passed.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
    json!({ KEY: { "head": head(file, function), "passed": passed, "returns": returned } }).to_string()
}

/// The definition up to its body, with the macros and the names of types that the file defines replaced by what they mean.
fn head(file: &File<'_>, function: Definition<'_>) -> String {
    let start = function.node.start_byte();
    let text = file.text.get(start..function.body.start_byte()).unwrap_or_default();
    let mut res = String::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        res.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        res.push_str(&meaning(file, &rest[..end]));
        rest = &rest[end..];
    }
    res.push_str(rest);
    // Comments may hold anything; a line of its own is for each parameter no more.
    res.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a word of the head means.
fn meaning(file: &File<'_>, word: &str) -> String {
    /// Macros of macros are followed so far.
    const MAX_STEPS: usize = 20;
    let mut value = word.to_owned();
    for _ in 0..MAX_STEPS {
        if let Some(known) = file.find_macro(&value).filter(|known| known.parameters.is_none()) {
            value.clone_from(&known.value);
        } else if let Some(spelled) = file.types.spelled(&value) {
            value = spelled.to_owned();
        } else {
            break;
        }
    }
    value
}
