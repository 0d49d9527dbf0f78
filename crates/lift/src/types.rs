//! Types of C, as far as kernels have them.

use nestegg_ir::Dtype;
use rustc_hash::FxHashMap;
use tree_sitter::Node;

use crate::text::{Macro, children};

/// The type of a value, or of what a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// `void`.
    Void,
    /// A type that kernels have.
    Number(Dtype),
    /// An integer that a kernel holds in a wider type: its arrays are of another size.
    Held(Dtype),
    /// A type that kernels do not have, as written.
    Other(String),
}

/// The types that have names in a file.
#[derive(Debug, Default)]
pub(crate) struct Types {
    named: FxHashMap<String, (Base, String)>,
}

impl Types {
    /// Adds the definition of a name, with its spelling.
    pub(crate) fn define(&mut self, name: &str, base: Base, spelled: &str) {
        self.named.insert(name.to_owned(), (base, spelled.to_owned()));
    }

    /// Whether a type has that name, but for the case of letters.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.named.keys().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// How the type of that name is spelled without it.
    pub(crate) fn spelled(&self, name: &str) -> Option<&str> {
        self.named.get(name).map(|(_, spelled)| spelled.as_str())
    }

    /// Adds the macros that expand to types.
    pub(crate) fn define_macros(&mut self, macros: &[Macro]) {
        for known in macros.iter().filter(|known| known.parameters.is_none()) {
            match self.of_words(&known.value) {
                Base::Other(_) => {}
                base => self.define(&known.name, base, &known.value),
            }
        }
    }

    /// The type of a declaration, a parameter or a cast: what stands in its field `type`.
    pub(crate) fn of_node(&self, node: Node<'_>, text: &str) -> Base {
        let Some(ty) = node.child_by_field_name("type") else { return Base::Other(String::new()) };
        self.of_words(text.get(ty.byte_range()).unwrap_or_default())
    }

    /// The type of that spelling.
    pub(crate) fn of_words(&self, words: &str) -> Base {
        let mut all: Vec<&str> = words.split_whitespace().filter(|word| !matches!(*word, "const" | "signed")).collect();
        if let [word] = all.as_slice()
            && let Some((base, _)) = self.named.get(*word)
        {
            return base.clone();
        }
        all.sort_unstable();
        match all.as_slice() {
            ["void"] => Base::Void,
            ["double"] => Base::Number(Dtype::Float64),
            ["float"] => Base::Number(Dtype::Float32),
            ["int" | "int32_t"] => Base::Number(Dtype::Int32),
            ["int64_t" | "long" | "ptrdiff_t" | "ssize_t" | "intptr_t"] | ["int" | "long", "long"] => {
                Base::Number(Dtype::Int64)
            }
            ["int", "long", "long"] => Base::Number(Dtype::Int64),
            ["bool" | "_Bool"] => Base::Number(Dtype::Bool),
            ["int8_t" | "int16_t" | "uint8_t" | "uint16_t" | "short"] | ["int" | "unsigned", "short"] => {
                Base::Held(Dtype::Int32)
            }
            ["unsigned" | "uint32_t" | "uint64_t" | "size_t" | "uintptr_t"] => Base::Held(Dtype::Int64),
            [first, .., "unsigned"] if matches!(*first, "int" | "long") => Base::Held(Dtype::Int64),
            _ => Base::Other(words.to_owned()),
        }
    }
}

/// How a declarator wraps its name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrap<'t> {
    /// `*`.
    Pointer,
    /// `[size]`.
    Array(Option<Node<'t>>),
    /// `(…)` of a function.
    Function(Node<'t>),
}

/// The name that a declarator declares, if it has one, and what wraps it, from the name outwards.
pub(crate) fn declared(declarator: Node<'_>) -> (Option<Node<'_>>, Vec<Wrap<'_>>) {
    let mut wraps = Vec::new();
    let mut at = declarator;
    loop {
        let inner = at.child_by_field_name("declarator");
        match at.kind() {
            "identifier" | "type_identifier" | "field_identifier" | "primitive_type" => {
                wraps.reverse();
                return (Some(at), wraps);
            }
            "pointer_declarator" | "abstract_pointer_declarator" => wraps.push(Wrap::Pointer),
            "array_declarator" | "abstract_array_declarator" => wraps.push(Wrap::Array(at.child_by_field_name("size"))),
            "function_declarator" => {
                if let Some(list) = at.child_by_field_name("parameters") {
                    wraps.push(Wrap::Function(list));
                }
            }
            _ => {}
        }
        let next = inner.or_else(|| {
            let parenthesized = matches!(at.kind(), "parenthesized_declarator" | "abstract_parenthesized_declarator");
            parenthesized.then(|| children(at).into_iter().next_back()).flatten()
        });
        match next {
            Some(next) => at = next,
            None => {
                wraps.reverse();
                return (None, wraps);
            }
        }
    }
}
