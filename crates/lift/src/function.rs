//! One function, lifted: from the tree of C to the syntax tree of a kernel.
//!
//! # Input
//! A function that takes pointers, in a file.
//! # Output
//! The syntax tree of a linearized kernel that does what the function does, in the same order; or all errors, at most one of each statement.
//! # Method
//! One walk over the statements. What a name means is looked up in scopes: loop variables and integers that follow from them are
//! expressions, everything else that is written is a temporary. Extents and accesses of arguments are known at the end.
//! # Not done
//! Nothing is simplified, nothing moved.

mod aliases;
mod calls;
mod declarations;
mod expressions;
mod finish;
mod loops;
mod places;
mod statements;

use std::rc::Rc;

use nestegg_dump::Errors;
use nestegg_dump::syntax::{KernelSyntax, TableItem};
use nestegg_ir::Dtype;
use nestegg_isl as isl;
use nestegg_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::Node;

use crate::MAX_NESTING;
use crate::extents::Access;
use crate::file::{Definition, File};
use crate::problem::{self, Lifted};
use crate::term::{Term, Value};
use crate::text::{self, children, span};
use crate::types::{Base, Wrap, declared};

/// What a size parameter is assumed to be, where nothing else is said.
const ESTIMATE: i64 = 1000;
/// Expressions are made of at most so many parts.
const MAX_SIZE: usize = 1_000_000;
/// What isl may spend on one question.
const MAX_ISL_OPERATIONS: u64 = 2_000_000;
/// Operators of the text form, which nothing can be called.
const OPERATORS: [&str; 3] = ["and", "or", "not"];
/// Words of isl, which inames and parameters cannot be called.
const ISL_WORDS: [&str; 10] = ["exists", "mod", "floor", "ceil", "min", "max", "infty", "implies", "true", "false"];

/// What a name means.
#[derive(Clone, Debug)]
enum Symbol {
    /// A value that never changes where the name is seen: a loop variable, a parameter, a constant.
    Value(Value),
    /// An array or a scalar that is stored.
    Array(usize),
    /// A pointer parameter, by its position; it becomes an array when it is used.
    Pointer(usize),
    /// Memory from the heap in which arrays are.
    Block,
    /// A parameter that points to a structure.
    Structure,
    /// A declared integer that has been neither assigned nor used for a loop.
    Integer(Dtype),
    /// A loop variable after its loop.
    Past,
    /// A parameter of a type that kernels do not have, as written.
    Other(String),
}

/// The size of a dimension.
#[derive(Clone, Debug)]
enum Size {
    /// As declared.
    Known(Rc<Term>),
    /// It follows from the accesses.
    Unknown,
}

/// What an array is.
#[derive(Debug)]
enum Role {
    /// An argument, with what stands for it in C.
    Argument(String),
    Temporary,
    Table(Vec<TableItem>),
}

/// An array or a scalar that is stored.
#[derive(Debug)]
struct ArrayInfo {
    name: String,
    dtype: Dtype,
    shape: Vec<Size>,
    role: Role,
    is_read: bool,
    is_written: bool,
    span: Span,
}

/// A pointer parameter.
#[derive(Debug)]
struct Pointer {
    /// As the function calls it.
    name: String,
    /// What it is in C.
    text: String,
    base: Base,
    shape: Vec<Size>,
    /// Whether C calls it a pointer to numbers, so that no conversion is needed.
    is_flat: bool,
    /// The array that it has become.
    array: Option<usize>,
    span: Span,
}

/// An integer parameter.
#[derive(Debug)]
struct ParameterInfo {
    name: String,
    /// What it is in C.
    text: String,
    dtype: Dtype,
    span: Span,
}

/// A loop that is open.
#[derive(Debug)]
struct Open {
    iname: String,
    /// What holds of the iname, in isl's notation.
    constraint: Rc<str>,
}

/// A step of the kernel, in order.
#[derive(Debug)]
enum Step {
    For(String, Span),
    End(String, Span),
    If { condition: Rc<Term>, is_negated: bool },
    EndIf(Span),
    Run { array: usize, target: Rc<Term>, value: Rc<Term>, within: Vec<String>, span: Span },
}

/// A function on the way.
struct Lift<'f> {
    file: &'f File<'f>,
    /// The text that nodes are part of: the file's, or a macro's.
    text: &'f str,
    /// Where the macro is used that nodes are part of.
    used_at: Option<Span>,
    nesting: usize,
    context: isl::Context,
    scopes: Vec<FxHashMap<String, Symbol>>,
    /// The names that are taken.
    names: FxHashSet<String>,
    /// The names that something in the function assigns to.
    assigned: FxHashSet<&'f str>,
    arrays: Vec<ArrayInfo>,
    pointers: Vec<Pointer>,
    parameters: Vec<ParameterInfo>,
    assumptions: Vec<String>,
    /// The texts of domains with their places.
    domains: Vec<(String, Span)>,
    /// Inames by the name in C and what holds of them.
    inames: FxHashMap<(String, String), String>,
    open: Vec<Open>,
    /// The conditions that hold, in isl's notation.
    guards: Vec<Rc<str>>,
    accesses: Vec<Access>,
    steps: Vec<Step>,
    /// What the function returns at its end.
    returned: Option<String>,
    errors: Errors,
}

/// Lifts a function.
pub(crate) fn lift<'f>(file: &'f File<'f>, function: Definition<'f>) -> Result<KernelSyntax<'static>, Errors> {
    let context = isl::Context::new();
    context.set_max_operations(Some(MAX_ISL_OPERATIONS));
    let mut lift = Lift {
        file,
        text: file.text,
        used_at: None,
        nesting: 0,
        context,
        scopes: vec![FxHashMap::default()],
        names: OPERATORS.iter().map(|word| (*word).to_owned()).collect(),
        assigned: FxHashSet::default(),
        arrays: Vec::new(),
        pointers: Vec::new(),
        parameters: Vec::new(),
        assumptions: Vec::new(),
        domains: Vec::new(),
        inames: FxHashMap::default(),
        open: Vec::new(),
        guards: Vec::new(),
        accesses: Vec::new(),
        steps: Vec::new(),
        returned: None,
        errors: Errors::default(),
    };
    lift.find_assigned(function.body);
    let returned = file.returned(function);
    if !matches!(returned, Base::Void | Base::Number(Dtype::Int32)) {
        let help = "let it return `void`, or an `int` that is 0, and write its result through a pointer";
        lift.report(problem::unsupported("a returned value", function.name_span, help));
    }
    lift.parameters(function.parameters);
    lift.body(function.body);
    if lift.errors.is_empty() { lift.finish(function) } else { Err(lift.errors) }
}

impl<'f> Lift<'f> {
    fn slice(&self, node: Node<'_>) -> &'f str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Where a node is, in the file.
    fn span(&self, node: Node<'_>) -> Span {
        self.used_at.unwrap_or_else(|| span(node))
    }

    #[allow(clippy::boxed_local, reason = "errors come boxed, so that results are small")]
    fn report(&mut self, error: Box<nestegg_dump::ReadError>) {
        self.errors.push(*error);
    }

    /// Does something one level deeper.
    fn nested<T>(&mut self, node: Node<'_>, inside: impl FnOnce(&mut Self) -> Lifted<T>) -> Lifted<T> {
        if self.nesting >= MAX_NESTING {
            let what = format!("what nests more than {MAX_NESTING} deep");
            return Err(problem::unsupported(&what, self.span(node), "name parts of it by local variables"));
        }
        self.nesting += 1;
        let res = inside(self);
        self.nesting -= 1;
        res
    }

    /// A name that nothing else has.
    fn fresh(&mut self, name: &str) -> String {
        let res = self.free(name, &[]);
        self.names.insert(res.clone());
        res
    }

    /// A name for an iname or a parameter that nothing else has.
    fn fresh_in_sets(&mut self, name: &str) -> String {
        let res = self.free(name, &ISL_WORDS);
        self.names.insert(res.clone());
        res
    }

    /// The name, or the name with a number, so that it is free.
    fn free(&self, name: &str, reserved: &[&str]) -> String {
        let mut res = name.to_owned();
        let mut number = 0_usize;
        while self.names.contains(&res) || reserved.contains(&res.as_str()) {
            res = format!("{name}_{number}");
            number += 1;
        }
        res
    }

    fn declare(&mut self, name: &str, symbol: Symbol) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), symbol);
        }
    }

    fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Gives a name that is declared another meaning, in the scope that declares it.
    fn redeclare(&mut self, name: &str, symbol: Symbol) {
        if let Some(known) = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)) {
            *known = symbol;
        }
    }

    fn array(&mut self, name: &str, dtype: Dtype, shape: Vec<Size>, role: Role, span: Span) -> usize {
        let name = self.fresh(name);
        self.arrays.push(ArrayInfo { name, dtype, shape, role, is_read: false, is_written: false, span });
        self.arrays.len() - 1
    }

    /// Notes which names a function assigns to.
    fn find_assigned(&mut self, body: Node<'f>) {
        let mut cursor = body.walk();
        loop {
            let node = cursor.node();
            let target = match node.kind() {
                "assignment_expression" => node.child_by_field_name("left"),
                "update_expression" => node.child_by_field_name("argument"),
                _ => None,
            };
            if let Some(target) = target.filter(|target| target.kind() == "identifier") {
                self.assigned.insert(self.slice(target));
            }
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                if cursor.node() == body {
                    return;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn parameters(&mut self, list: Node<'f>) {
        for parameter in children(list).into_iter().filter(|node| node.kind() == "parameter_declaration") {
            if let Err(error) = self.parameter(parameter) {
                self.report(error);
            }
        }
    }

    fn parameter(&mut self, node: Node<'f>) -> Lifted<()> {
        let Some(declarator) = node.child_by_field_name("declarator") else { return Ok(()) };
        let (Some(name_node), wraps) = declared(declarator) else { return Ok(()) };
        let (name, at) = (self.slice(name_node), self.span(name_node));
        let base = self.file.types.of_node(node, self.text);
        let symbol = match (wraps.as_slice(), base) {
            ([], Base::Number(dtype @ (Dtype::Int32 | Dtype::Int64)) | Base::Held(dtype)) => {
                Symbol::Value(self.size_parameter(name, name, dtype, at))
            }
            ([], Base::Number(dtype)) => {
                let array = self.array(name, dtype, Vec::new(), Role::Argument(name.to_owned()), at);
                Symbol::Array(array)
            }
            ([], base) => Symbol::Other(match base {
                Base::Other(words) => words,
                _ => "void".to_owned(),
            }),
            ([Wrap::Pointer], Base::Other(words)) if words.starts_with("struct") => Symbol::Structure,
            (wraps, base) => {
                let is_flat = matches!(wraps, [Wrap::Pointer | Wrap::Array(_)]);
                match self.pointed(wraps)? {
                    Some(shape) => {
                        let (name, text) = (name.to_owned(), name.to_owned());
                        let pointer = Pointer { name, text, base, shape, is_flat, array: None, span: at };
                        self.pointers.push(pointer);
                        Symbol::Pointer(self.pointers.len() - 1)
                    }
                    None => Symbol::Other("a pointer to pointers".to_owned()),
                }
            }
        };
        self.declare(name, symbol);
        Ok(())
    }

    /// An integer parameter.
    fn size_parameter(&mut self, name: &str, text: &str, dtype: Dtype, at: Span) -> Value {
        let name = self.fresh_in_sets(name);
        let value = Value::new(Term::new(crate::term::Kind::Name(name.clone()), at), dtype);
        self.parameters.push(ParameterInfo { name, text: text.to_owned(), dtype, span: at });
        value
    }

    /// The shape of the elements behind a pointer or array parameter; `None` if the elements are pointers themselves.
    fn pointed(&mut self, wraps: &[Wrap<'f>]) -> Lifted<Option<Vec<Size>>> {
        let mut shape = Vec::with_capacity(wraps.len());
        for (idx, wrap) in wraps.iter().enumerate() {
            shape.push(match wrap {
                Wrap::Pointer if idx == 0 => Size::Unknown,
                Wrap::Array(Some(size)) => Size::Known(self.extent(*size)?),
                Wrap::Array(None) if idx == 0 => Size::Unknown,
                _ => return Ok(None),
            });
        }
        Ok(Some(shape))
    }

    /// A size of an array, which C demands to be positive.
    fn extent(&mut self, node: Node<'f>) -> Lifted<Rc<Term>> {
        let value = self.expression(node)?;
        let at = self.span(node);
        if let Some(number) = crate::constants::value(&value.term) {
            return match number {
                nestegg_ir::Number::Int(value) if value > 0 => Ok(Term::int(value, at)),
                _ => Err(problem::unsupported("an array of this size", at, "sizes are positive integers")),
            };
        }
        let affine = value.term.affine().filter(|affine| affine.names().iter().all(|name| self.is_parameter(name)));
        let Some(affine) = affine else {
            let help = "a size is affine in the integer parameters of the function";
            return Err(problem::unsupported("an array of this size", at, help));
        };
        let assumption = format!("{affine} >= 1");
        if !self.assumptions.contains(&assumption) {
            self.assumptions.push(assumption);
        }
        Ok(value.term)
    }

    fn is_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// The identifiers in a text that are open loop variables or parameters.
    fn known_names(&self, text: &str) -> Vec<String> {
        let mut res: Vec<String> = Vec::new();
        for word in crate::bounds::names(text) {
            let is_known = self.is_parameter(word) || self.open.iter().any(|open| open.iname == word);
            if is_known && !res.iter().any(|known| known == word) {
                res.push(word.to_owned());
            }
        }
        res
    }

    /// Everything that holds here, in isl's notation.
    fn context_text(&self) -> String {
        let mut parts: Vec<String> = self.assumptions.clone();
        parts.extend(self.open.iter().map(|open| format!("({})", open.constraint)));
        parts.extend(self.guards.iter().map(|guard| format!("({guard})")));
        if parts.is_empty() { "true".to_owned() } else { parts.join(" and ") }
    }

    /// Whether an affine expression is certainly not negative here.
    fn is_non_negative(&self, term: &Term) -> bool {
        let Some(affine) = term.affine() else { return false };
        if let Some(value) = affine.as_constant() {
            return value >= 0;
        }
        let text = format!("{} and {affine} < 0", self.context_text());
        let names = self.known_names(&text);
        let set = format!("[{}] -> {{ : {text} }}", names.join(", "));
        isl::Set::parse(&self.context, &set).and_then(|set| set.is_empty()).unwrap_or(false)
    }

    /// Does something where a condition holds; one that is not affine says nothing.
    fn guarded<T>(&mut self, condition: Option<String>, inside: impl FnOnce(&mut Self) -> T) -> T {
        let is_affine = condition.is_some();
        self.guards.extend(condition.map(Rc::from));
        let res = inside(self);
        if is_affine {
            self.guards.pop();
        }
        res
    }
}

/// Whether a declaration has that word among its qualifiers and storage classes.
fn has_word(node: Node<'_>, text: &str, word: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| {
        matches!(child.kind(), "storage_class_specifier" | "type_qualifier")
            && text.get(child.byte_range()) == Some(word)
    })
}

/// The name that a declarator declares.
fn declared_name(declarator: Node<'_>) -> Option<Node<'_>> {
    declared(declarator).0
}

/// The operator of an operation.
fn operator<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    node.child_by_field_name("operator").and_then(|operator| text.get(operator.byte_range())).unwrap_or_default()
}

/// What is inside of parentheses.
fn bare(mut node: Node<'_>) -> Node<'_> {
    while node.kind() == "parenthesized_expression" {
        let inside = text::children(node);
        let [only] = inside.as_slice() else { break };
        node = *only;
    }
    node
}
