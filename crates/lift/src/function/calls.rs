//! Calls: functions of `math.h`, functions of the file that compute numbers, and macros.

use nestegg_ir::{Dtype, Op};
use nestegg_span::Span;
use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::{Lift, Symbol, declared_name};
use crate::file::Definition;
use crate::math;
use crate::problem::{self, Lifted};
use crate::term::{Kind, Term, Value};
use crate::text::{children, fields};
use crate::types::Base;

impl<'f> Lift<'f> {
    pub(super) fn call(&mut self, node: Node<'f>) -> Lifted<Value> {
        let at = self.span(node);
        let Some(function) = node.child_by_field_name("function") else {
            return Err(problem::syntax("a call lacks its function", at));
        };
        let name = self.slice(function);
        if let Some(value) = self.expanded_call(name, node, |lift, inside| lift.expression(inside))? {
            return Ok(value);
        }
        let mut arguments = Vec::new();
        for argument in node.child_by_field_name("arguments").map(children).unwrap_or_default() {
            arguments.push(self.expression(argument)?.number());
        }
        if let (Some(op), [a, b]) = (math::helper(name), arguments.as_slice()) {
            let dtype = if name.ends_with("_i64") { Dtype::Int64 } else { Dtype::Int32 };
            let value = Value::arithmetic(op, a.clone().into_dtype(dtype), b.clone().into_dtype(dtype), at);
            return Ok(Value::new(value.term, dtype));
        }
        if let (Some(exponent), [base]) = (math::power(name), arguments.as_slice()) {
            let term = Term::op(Op::Pow, vec![base.term.clone(), Term::int(exponent, at)], at);
            return Ok(Value::new(term, base.dtype));
        }
        if let Some(function) = self.file.helper(name) {
            return self.inlined(function, arguments, at);
        }
        if let (Some(op), [a]) = (matches!(name, "abs" | "labs" | "llabs").then_some(Op::Max), arguments.as_slice())
            && !a.dtype.is_float()
        {
            let negative = Term::op(Op::Neg, vec![a.term.clone()], at);
            return Ok(Value::new(Term::op(op, vec![a.term.clone(), negative], at), a.dtype));
        }
        if let Some((dtype, n_arguments)) = self.file.pure(name) {
            if n_arguments != arguments.len() {
                let what = format!("`{name}` with {} arguments", arguments.len());
                return Err(problem::unsupported(&what, at, &format!("it takes {n_arguments}")));
            }
            let terms = arguments.into_iter().map(|argument| argument.into_dtype(dtype).term).collect();
            return Ok(Value::new(Term::new(Kind::Call(name.into(), terms), at), dtype));
        }
        let Some(known) = math::function(name) else { return Err(problem::unknown_function(name, at)) };
        if known.n_arguments != arguments.len() {
            let what = format!("`{name}` with {} arguments", arguments.len());
            return Err(problem::unsupported(&what, at, &format!("it takes {}", known.n_arguments)));
        }
        let dtype = if known.is_single { Dtype::Float32 } else { Dtype::Float64 };
        let values: Vec<Value> = arguments.into_iter().map(|argument| argument.into_dtype(dtype)).collect();
        if known.name == "pow"
            && let [base, exponent] = values.as_slice()
            && let Some(whole) = crate::constants::value(&exponent.term).map(nestegg_ir::Number::to_f64)
            && whole.fract() == 0.0
            && whole.abs() <= 64.0
        {
            let term = Term::op(Op::Pow, vec![base.term.clone(), Term::int(whole as i64, at)], at);
            return Ok(Value::new(term, dtype));
        }
        let terms = values.into_iter().map(|value| value.term).collect();
        Ok(Value::new(Term::new(Kind::Call(known.name.into(), terms), at), dtype))
    }

    /// A function of numbers, put in place: constants, then one `return`.
    fn inlined(&mut self, function: Definition<'f>, arguments: Vec<Value>, at: Span) -> Lifted<Value> {
        let name = function.name;
        crate::text::check(function.node)?;
        let returned = match self.file.returned(function) {
            Base::Number(dtype) | Base::Held(dtype) => dtype,
            Base::Void | Base::Other(_) => return Err(problem::unknown_function(name, at)),
        };
        let parameters: Vec<Node<'f>> = children(function.parameters)
            .into_iter()
            .filter(|node| node.child_by_field_name("declarator").is_some())
            .collect();
        if parameters.len() != arguments.len() {
            let what = format!("`{name}` with {} arguments", arguments.len());
            return Err(problem::unsupported(&what, at, &format!("it takes {}", parameters.len())));
        }
        let mut scope = FxHashMap::default();
        for (parameter, value) in parameters.into_iter().zip(arguments) {
            let base = self.file.types.of_node(parameter, self.file.text);
            let (Base::Number(dtype) | Base::Held(dtype)) = base else {
                return Err(problem::unknown_function(name, at));
            };
            if let Some(name) = parameter.child_by_field_name("declarator").and_then(declared_name) {
                let name = self.file.text.get(name.byte_range()).unwrap_or_default();
                scope.insert(name.to_owned(), Symbol::Value(value.into_dtype(dtype)));
            }
        }
        let used_at = Some(self.used_at.unwrap_or(at));
        let value = self.elsewhere(self.file.text, used_at, scope, |lift| {
            let mut result = None;
            for statement in children(function.body) {
                match (statement.kind(), children(statement).as_slice()) {
                    ("declaration", _) if result.is_none() => lift.local_constant(statement, name, at)?,
                    ("return_statement", [value]) if result.is_none() => result = Some(lift.expression(*value)?),
                    _ => return Err(problem::unknown_function(name, at)),
                }
            }
            result.ok_or_else(|| problem::unknown_function(name, at))
        })?;
        Ok(value.number().into_dtype(returned))
    }

    /// A constant of a function that is put in place.
    fn local_constant(&mut self, node: Node<'f>, function: &str, at: Span) -> Lifted<()> {
        let (Base::Number(dtype) | Base::Held(dtype)) = self.file.types.of_node(node, self.text) else {
            return Err(problem::unknown_function(function, at));
        };
        for declarator in fields(node, "declarator") {
            let (Some(name), Some(value)) = (declared_name(declarator), declarator.child_by_field_name("value")) else {
                return Err(problem::unknown_function(function, at));
            };
            let value = self.expression(value)?.into_dtype(dtype);
            let name = self.slice(name);
            self.declare(name, Symbol::Value(value));
        }
        Ok(())
    }

    /// Does something in another text, where only what `scope` holds and the file's own names are seen.
    fn elsewhere<T>(
        &mut self,
        text: &'f str,
        used_at: Option<Span>,
        scope: FxHashMap<String, Symbol>,
        inside: impl FnOnce(&mut Self) -> Lifted<T>,
    ) -> Lifted<T> {
        let scopes = std::mem::replace(&mut self.scopes, vec![scope]);
        let res = self.within_text(text, used_at, inside);
        self.scopes = scopes;
        res
    }

    fn within_text<T>(
        &mut self,
        text: &'f str,
        used_at: Option<Span>,
        inside: impl FnOnce(&mut Self) -> Lifted<T>,
    ) -> Lifted<T> {
        let (text, used_at) = (std::mem::replace(&mut self.text, text), std::mem::replace(&mut self.used_at, used_at));
        let res = inside(self);
        (self.text, self.used_at) = (text, used_at);
        res
    }

    /// What a macro without parameters gives; nothing if there is no such macro.
    pub(super) fn expanded<T>(
        &mut self,
        name: &str,
        at: Span,
        inside: impl FnOnce(&mut Self, Node<'f>) -> Lifted<T>,
    ) -> Lifted<Option<T>> {
        let file = self.file;
        self.check_defined_once(name, at)?;
        let Some(known) = file.find_macro(name).filter(|known| known.parameters.is_none()) else { return Ok(None) };
        let Some(expression) = known.expression().filter(|expression| is_closed(*expression)) else {
            let what = format!("the macro `{name}`, which is no expression in parentheses,");
            return Err(problem::unsupported(
                &what,
                at,
                "put parentheses around its text, or run the preprocessor first: `cc -E -P`",
            ));
        };
        self.within_text(known.text(), Some(at), |lift| inside(lift, expression)).map(Some)
    }

    /// What a macro with parameters gives; nothing if there is no such macro.
    pub(super) fn expanded_call<T>(
        &mut self,
        name: &str,
        node: Node<'f>,
        inside: impl FnOnce(&mut Self, Node<'f>) -> Lifted<T>,
    ) -> Lifted<Option<T>> {
        let (file, at) = (self.file, self.span(node));
        self.check_defined_once(name, at)?;
        let Some(known) = file.find_macro(name) else { return Ok(None) };
        let Some(parameters) = &known.parameters else { return Ok(None) };
        let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        let is_plain = |expression: Node<'_>| {
            let pairs = parameters.iter().zip(&arguments);
            is_closed(expression)
                && parameters.len() == arguments.len()
                && pairs
                    .into_iter()
                    .all(|(name, argument)| is_closed(*argument) || is_kept_apart(expression, name, known.text()))
        };
        let Some(expression) = known.expression().filter(|expression| is_plain(*expression)) else {
            let what = format!("the macro `{name}` with these arguments");
            let help = "put parentheses around its text and around each parameter in it, or run the preprocessor first: `cc -E -P`";
            return Err(problem::unsupported(&what, at, help));
        };
        let mut scope = FxHashMap::default();
        for (parameter, argument) in parameters.iter().zip(arguments) {
            scope.insert(parameter.clone(), self.passed(argument)?);
        }
        self.scopes.push(scope);
        let res = self.within_text(known.text(), Some(at), |lift| inside(lift, expression));
        self.scopes.pop();
        res.map(Some)
    }

    /// A macro means the same everywhere.
    fn check_defined_once(&self, name: &str, at: Span) -> Lifted<()> {
        let mut all = self.file.macros.iter().filter(|known| known.name == name);
        let first = all.next();
        if all
            .any(|other| first.is_some_and(|first| first.value != other.value || first.parameters != other.parameters))
        {
            let what = format!("the macro `{name}`, which is defined twice,");
            return Err(problem::unsupported(&what, at, "run the preprocessor first: `cc -E -P`"));
        }
        Ok(())
    }

    /// What the parameter of a macro stands for: an array by its name, or else a value.
    fn passed(&mut self, argument: Node<'f>) -> Lifted<Symbol> {
        if argument.kind() == "identifier"
            && let Some(symbol @ (Symbol::Array(_) | Symbol::Pointer(_))) = self.symbol(self.slice(argument))
        {
            return Ok(symbol.clone());
        }
        self.expression(argument).map(Symbol::Value)
    }
}

/// Whether an expression means the same next to any operator, as the text of a macro must.
fn is_closed(node: Node<'_>) -> bool {
    let closed = [
        "number_literal",
        "identifier",
        "parenthesized_expression",
        "call_expression",
        "subscript_expression",
        "true",
        "false",
    ];
    let is_negative = node.kind() == "unary_expression"
        && node.child_by_field_name("argument").is_some_and(|argument| argument.kind() == "number_literal");
    closed.contains(&node.kind()) || is_negative
}

/// Whether no operator stands next to a parameter in the text of a macro.
fn is_kept_apart(expression: Node<'_>, parameter: &str, text: &str) -> bool {
    let mut open = vec![expression];
    while let Some(node) = open.pop() {
        for child in children(node) {
            let is_use = child.kind() == "identifier" && text.get(child.byte_range()) == Some(parameter);
            let is_index = || node.child_by_field_name("index") == Some(child);
            if is_use && !(matches!(node.kind(), "parenthesized_expression" | "argument_list") || is_index()) {
                return false;
            }
            open.push(child);
        }
    }
    true
}
