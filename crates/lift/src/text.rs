//! C text as tree-sitter takes it, and what macros expand to.
//!
//! Spellings that the grammar does not know are replaced by others of the same length, so that every place stays where it is.

use nestegg_span::Span;
use tree_sitter::{Node, Parser, Tree};

use crate::preprocess::{Definition, Preprocessed, preprocess};
use crate::problem::{self, Lifted};

/// Words that C text begins with.
const FIRST_WORDS: [&str; 20] = [
    "void", "double", "float", "int", "long", "short", "unsigned", "signed", "bool", "_Bool", "size_t", "int32_t",
    "int64_t", "static", "const", "extern", "inline", "typedef", "struct", "enum",
];

/// Whether a text is C: what its name ends in, or else how it begins.
pub(crate) fn is_c(name: &str, text: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    if matches!(ending, Some("c" | "h")) {
        return true;
    }
    if matches!(ending, Some("knl" | "json")) {
        return false;
    }
    let text = text.trim_start();
    let directives = ["#include", "#define", "#pragma", "#if"];
    if text.starts_with("//") || text.starts_with("/*") || directives.iter().any(|word| text.starts_with(word)) {
        return true;
    }
    let word = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    FIRST_WORDS.contains(&word)
}

/// A text as the grammar takes it.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// What the preprocessor leaves, of the same length, in the words of the grammar; macros that expand to nothing or to a pragma are blank.
    pub(crate) text: String,
    /// The names of macros that the file defines anywhere.
    pub(crate) macro_names: Vec<String>,
    /// The places of the directives of each conditional.
    pub(crate) conditionals: Vec<Vec<Span>>,
    definitions: Vec<Definition>,
}

impl Prepared {
    /// The macros that the chosen text defines.
    pub(crate) fn macros(&self) -> Vec<Macro> {
        self.definitions.iter().map(Macro::new).collect()
    }
}

/// Prepares a text; `defined` are names that the compiler defines.
pub(crate) fn prepared(text: &str, defined: &[&str]) -> Lifted<Prepared> {
    let Preprocessed { text, definitions, names, conditionals } = preprocess(text, defined)?;
    let is_hint = |value: &str| value.is_empty() || value.starts_with("_Pragma") || value.starts_with("__attribute__");
    let hints: Vec<&str> =
        definitions.iter().filter(|known| is_hint(&known.value)).map(|known| known.name.as_str()).collect();
    let text = in_words_of_grammar(&text, &hints);
    Ok(Prepared { text, macro_names: names, conditionals, definitions })
}

/// The same text, of the same length, in the words of the grammar, and without these words.
fn in_words_of_grammar(text: &str, hints: &[&str]) -> String {
    let mut res = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('#') {
            res.push_str(line);
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| is_word(c)) {
            res.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            match word {
                "__restrict" => res.push_str("restrict  "),
                "__inline" => res.push_str("inline  "),
                "__const" => res.push_str("const  "),
                _ if hints.contains(&word) => res.extend(std::iter::repeat_n(' ', word.len())),
                _ => res.push_str(word),
            }
            rest = &rest[end..];
        }
        res.push_str(rest);
    }
    res
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The place of a node.
pub(crate) fn span(node: Node<'_>) -> Span {
    Span::from_range(node.byte_range())
}

/// The named children of a node, without comments.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// The children of a node in one of its fields.
pub(crate) fn fields<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(name, &mut cursor).collect()
}

fn tree(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).ok()?;
    parser.parse(unambiguous(text), None)
}

/// The same text, of the same length, with `%` for `*` where the grammar could take a product for a type: `(a*(b)) - c`. Both operators
/// bind alike, and which one it is says the text itself.
fn unambiguous(text: &str) -> String {
    let named: Vec<&str> = text
        .split("typedef ")
        .skip(1)
        .filter_map(|rest| rest.split(';').next()?.rsplit(|c: char| !is_word(c)).find(|word| !word.is_empty()))
        .collect();
    let is_type = |word: &str| {
        FIRST_WORDS.contains(&word)
            || word.ends_with("_t")
            || matches!(word, "restrict" | "volatile" | "char")
            || named.contains(&word)
    };
    let mut bytes = text.as_bytes().to_vec();
    for (at, _) in text.match_indices('*') {
        let (before, after) = (text[..at].trim_end(), text[at + 1..].trim_start());
        let word = before.rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
        let is_name = word.starts_with(|c: char| !c.is_ascii_digit());
        if after.starts_with('(') && is_name && !is_type(word) {
            bytes[at] = b'%';
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The tree of a file. What the grammar does not take is found by [`check`].
pub(crate) fn parse(text: &str) -> Lifted<Tree> {
    tree(text).ok_or_else(|| problem::syntax("the parser gives up", Span::default()))
}

/// Whether the grammar takes all of a part of a file.
pub(crate) fn check(node: Node<'_>) -> Lifted<()> {
    match first_error(node) {
        Some((at, message)) => Err(problem::syntax(&message, at)),
        None => Ok(()),
    }
}

/// What the grammar does not take: the first place.
fn first_error(node: Node<'_>) -> Option<(Span, String)> {
    let mut cursor = node.walk();
    if !cursor.node().has_error() {
        return None;
    }
    loop {
        let node = cursor.node();
        if node.is_missing() {
            return Some((span(node), format!("`{}` is missing", node.kind())));
        }
        if node.is_error() {
            // The places of large errors say little: what follows the last thing that was understood says more.
            let within =
                node.named_child_count().checked_sub(1).and_then(|last| node.named_child(u32::try_from(last).ok()?));
            let start = within.map_or(node.start_byte(), |last| last.end_byte().min(node.end_byte()));
            return Some((
                Span::from_range(start..node.end_byte().min(start + 40)),
                "the grammar has no place for this".to_owned(),
            ));
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// A macro of the file.
#[derive(Debug)]
pub(crate) struct Macro {
    /// Its name.
    pub(crate) name: String,
    /// Its parameters, if it is used like a function.
    pub(crate) parameters: Option<Vec<String>>,
    /// What it expands to.
    pub(crate) value: String,
    /// The value as a parenthesized expression statement, with its tree; `None` if it is not an expression.
    tree: Option<(String, Tree)>,
}

impl Macro {
    fn new(definition: &Definition) -> Self {
        let Definition { name, parameters, value, .. } = definition.clone();
        let wrapped = format!("void f(void) {{ ({value}); }}");
        let is_expression = |tree: &Tree| !value.is_empty() && !tree.root_node().has_error();
        let tree = tree(&wrapped).filter(is_expression).map(|tree| (wrapped, tree));
        Self { name, parameters, value, tree }
    }

    /// The text of which [`Macro::expression`] is a part.
    pub(crate) fn text(&self) -> &str {
        self.tree.as_ref().map_or("", |(text, _)| text)
    }

    /// The expression that it expands to, if it is one.
    pub(crate) fn expression(&self) -> Option<Node<'_>> {
        let (_, tree) = self.tree.as_ref()?;
        let function = tree.root_node().named_child(0)?;
        let statement = function.child_by_field_name("body")?.named_child(0)?;
        // The parentheses are not the macro's own.
        (statement.kind() == "expression_statement").then(|| statement.named_child(0)?.named_child(0)).flatten()
    }
}
