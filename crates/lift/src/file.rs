//! What a file defines: functions, tables and constants, names of types.

use nestegg_ir::Dtype;
use nestegg_span::Span;
use rustc_hash::FxHashMap;
use tree_sitter::{Node, Tree};

use crate::text::{self, Macro, children};
use crate::types::{Base, Types, Wrap, declared};

/// A function with a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition<'t> {
    /// Its name.
    pub(crate) name: &'t str,
    /// Where the name stands.
    pub(crate) name_span: Span,
    /// The whole definition.
    pub(crate) span: Span,
    /// The list of its parameters.
    pub(crate) parameters: Node<'t>,
    /// What it does.
    pub(crate) body: Node<'t>,
    /// The definition.
    pub(crate) node: Node<'t>,
    /// Whether it takes pointers or arrays.
    takes_arrays: bool,
    /// Whether the declarator says that it returns a pointer.
    pub(crate) returns_pointer: bool,
}

/// A file and what it defines.
#[derive(Debug)]
pub(crate) struct File<'t> {
    /// Its text.
    pub(crate) text: &'t str,
    /// Its macros.
    pub(crate) macros: &'t [Macro],
    /// Its names of types.
    pub(crate) types: Types,
    /// Its functions.
    functions: Vec<Definition<'t>>,
    /// Its variables, by name: the declaration and the declarator.
    variables: FxHashMap<&'t str, (Node<'t>, Node<'t>)>,
}

impl<'t> File<'t> {
    /// What stands in a file.
    pub(crate) fn new(text: &'t str, tree: &'t Tree, macros: &'t [Macro]) -> Self {
        let mut file =
            Self { text, macros, types: Types::default(), functions: Vec::new(), variables: FxHashMap::default() };
        file.types.define_macros(macros);
        let mut open: Vec<Node<'t>> = vec![tree.root_node()];
        while let Some(node) = open.pop() {
            match node.kind() {
                "translation_unit" | "declaration_list" => open.extend(children(node).into_iter().rev()),
                "linkage_specification" => open.extend(node.child_by_field_name("body")),
                "type_definition" => file.define_type(node),
                "function_definition" => file.function(node),
                "declaration" => file.declare(node),
                _ => {}
            }
        }
        file
    }

    fn slice(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn define_type(&mut self, node: Node<'t>) {
        let base = self.types.of_node(node, self.text);
        let spelled = node.child_by_field_name("type").map(|ty| self.slice(ty)).unwrap_or_default();
        for declarator in text::fields(node, "declarator") {
            let (name, wraps) = declared(declarator);
            if let (Some(name), true) = (name, wraps.is_empty()) {
                self.types.define(self.slice(name), base.clone(), spelled);
            }
        }
    }

    fn declare(&mut self, node: Node<'t>) {
        for declarator in text::fields(node, "declarator") {
            if let (Some(name), _) = declared(declarator) {
                self.variables.insert(self.slice(name), (node, declarator));
            }
        }
    }

    fn function(&mut self, node: Node<'t>) {
        let (Some(declarator), Some(body)) = (node.child_by_field_name("declarator"), node.child_by_field_name("body"))
        else {
            return;
        };
        let (Some(name), wraps) = declared(declarator) else { return };
        let Some(Wrap::Function(parameters)) = wraps.first().copied() else { return };
        let takes_arrays = children(parameters).into_iter().any(|parameter| {
            let wraps = parameter.child_by_field_name("declarator").map(|declarator| declared(declarator).1);
            wraps.is_some_and(|wraps| !wraps.is_empty())
        });
        self.functions.push(Definition {
            name: self.slice(name),
            name_span: text::span(name),
            span: text::span(node),
            parameters,
            body,
            node,
            takes_arrays,
            returns_pointer: wraps.len() > 1,
        });
    }

    /// The functions that can be kernels.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = Definition<'t>> {
        self.functions.iter().copied().filter(|function| function.takes_arrays && function.name != "main")
    }

    /// The function of that name which takes numbers only.
    pub(crate) fn helper(&self, name: &str) -> Option<Definition<'t>> {
        self.functions.iter().copied().find(|function| function.name == name && !function.takes_arrays)
    }

    /// Whether a function or a type has that name, but for the case of letters.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name.eq_ignore_ascii_case(name)) || self.types.has(name)
    }

    /// The type that a function takes and returns, and how many arguments it takes, if it is declared to compute floats of one type from floats alone.
    pub(crate) fn pure(&self, name: &str) -> Option<(Dtype, usize)> {
        let (declaration, declarator) = self.variable(name)?;
        let words = self.slice(declaration);
        let is_pure =
            ["((const))", "((__const__))", "((pure))", "((__pure__))"].iter().any(|word| words.contains(word));
        let (_, wraps) = declared(declarator);
        let [Wrap::Function(parameters)] = wraps.as_slice() else { return None };
        let Base::Number(returned) = self.types.of_node(declaration, self.text) else { return None };
        let taken: Vec<Node<'t>> = children(*parameters);
        let is_same = taken.iter().all(|parameter| {
            let wraps = parameter.child_by_field_name("declarator").map(|declarator| declared(declarator).1);
            wraps.is_none_or(|wraps| wraps.is_empty())
                && self.types.of_node(*parameter, self.text) == Base::Number(returned)
        });
        (is_pure && is_same && returned.is_float()).then_some((returned, taken.len()))
    }

    /// The declaration of a variable of the file, and its declarator.
    pub(crate) fn variable(&self, name: &str) -> Option<(Node<'t>, Node<'t>)> {
        self.variables.get(name).copied()
    }

    /// The macro of that name; the last one, if there are several.
    pub(crate) fn find_macro(&self, name: &str) -> Option<&'t Macro> {
        self.macros.iter().rev().find(|known| known.name == name)
    }

    /// What a definition returns.
    pub(crate) fn returned(&self, function: Definition<'_>) -> Base {
        if function.returns_pointer {
            Base::Other("a pointer".to_owned())
        } else {
            self.types.of_node(function.node, self.text)
        }
    }
}
