//! Declarations: local scalars and arrays, constants and tables.

use nestegg_dump::syntax::TableItem;
use nestegg_ir::{Dtype, Number};
use nestegg_span::Span;
use tree_sitter::Node;

use super::{Lift, Open, Role, Size, Step, Symbol, has_word};
use crate::constants;
use crate::problem::{self, Lifted};
use crate::term::{Kind, Term, Value};
use crate::text::{children, fields};
use crate::types::{Base, Wrap, declared};

/// Integers that are put in place of their names are made of at most so many parts.
const MAX_INLINED: usize = 64;
/// The most values of a table, and elements of an array with a list of initial values.
const MAX_VALUES: i64 = 10_000_000;

/// What the words of a declaration say.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    base: Base,
    is_static: bool,
    is_const: bool,
}

impl<'f> Lift<'f> {
    pub(super) fn declaration(&mut self, node: Node<'f>) -> Lifted<()> {
        let declared = Declared {
            base: self.file.types.of_node(node, self.text),
            is_static: has_word(node, self.text, "static"),
            is_const: has_word(node, self.text, "const") || has_word(node, self.text, "constexpr"),
        };
        for declarator in fields(node, "declarator") {
            if let Err(error) = self.local(&declared, declarator) {
                self.report(error);
                self.stand_in(&declared, declarator);
            }
        }
        Ok(())
    }

    /// Declares a scalar whose declaration was wrong, so that nothing is said of its uses.
    fn stand_in(&mut self, words: &Declared, declarator: Node<'f>) {
        let (Some(name), []) = (super::declared_name(declarator), declared(declarator).1.as_slice()) else { return };
        let dtype = match words.base {
            Base::Number(dtype) | Base::Held(dtype) => dtype,
            _ => Dtype::Float64,
        };
        let (name, at) = (self.slice(name), self.span(name));
        let array = self.array(name, dtype, Vec::new(), Role::Temporary, at);
        self.declare(name, Symbol::Array(array));
    }

    /// A variable of the file: a constant or a table, declared in the outermost scope.
    pub(super) fn file_variable(&mut self, declaration: Node<'f>, declarator: Node<'f>) -> Lifted<()> {
        crate::text::check(declaration)?;
        let (text, used_at) = (std::mem::replace(&mut self.text, self.file.text), self.used_at.take());
        let scopes = std::mem::take(&mut self.scopes);
        self.scopes.push(Default::default());
        let is_const = has_word(declaration, self.text, "const") || has_word(declaration, self.text, "constexpr");
        let declared = Declared { base: self.file.types.of_node(declaration, self.text), is_static: true, is_const };
        let res = self.local(&declared, declarator);
        let found = self.scopes.pop();
        (self.text, self.used_at, self.scopes) = (text, used_at, scopes);
        if let Some(scope) = self.scopes.first_mut() {
            scope.extend(found.into_iter().flatten());
        }
        res
    }

    fn local(&mut self, words: &Declared, declarator: Node<'f>) -> Lifted<()> {
        let at = self.span(declarator);
        let value = declarator.child_by_field_name("value").filter(|_| declarator.kind() == "init_declarator");
        let (Some(name_node), wraps) = declared(declarator) else {
            return Err(problem::unsupported("a declaration without a name", at, ""));
        };
        let name = self.slice(name_node);
        let at = self.span(name_node);
        if matches!(wraps.first(), Some(Wrap::Pointer)) {
            let pointer = declarator.child_by_field_name("declarator").unwrap_or(declarator);
            let is_restrict = ["restrict", "__restrict__"].iter().any(|word| has_word(pointer, self.text, word));
            return self.alias(name, &wraps, &words.base, (value, is_restrict), at);
        }
        let dtype = match &words.base {
            Base::Number(dtype) => *dtype,
            Base::Held(dtype) if wraps.is_empty() => *dtype,
            Base::Held(_) => return Err(problem::wrong_type(&format!("`{name}`"), "an integer of another size", at)),
            Base::Void => return Err(problem::wrong_type(&format!("`{name}`"), "void", at)),
            Base::Other(spelled) => return Err(problem::wrong_type(&format!("`{name}`"), spelled, at)),
        };
        if words.is_static && !words.is_const {
            let help = "make it `static const` with constant values, or a parameter";
            return Err(problem::unsupported(&format!("`{name}`, which outlives the call,"), at, help));
        }
        match wraps.as_slice() {
            [] => self.scalar(name, dtype, words, value, at),
            wraps if wraps.iter().all(|wrap| matches!(wrap, Wrap::Array(_))) => {
                self.local_array(name, wraps, dtype, words, value, at)
            }
            _ => Err(problem::unsupported("a declaration of this form", at, "declare scalars and arrays")),
        }
    }

    fn scalar(
        &mut self,
        name: &'f str,
        dtype: Dtype,
        words: &Declared,
        value: Option<Node<'f>>,
        at: Span,
    ) -> Lifted<()> {
        let Some(node) = value else {
            if words.is_static {
                return Err(problem::unsupported(
                    &format!("the constant `{name}` without a value"),
                    at,
                    "define it in this file",
                ));
            }
            let symbol = if dtype.is_integer() {
                Symbol::Integer(dtype)
            } else {
                Symbol::Array(self.array(name, dtype, Vec::new(), Role::Temporary, at))
            };
            self.declare(name, symbol);
            return Ok(());
        };
        let node = match children(node).as_slice() {
            [only] if node.kind() == "initializer_list" => *only,
            _ => node,
        };
        let value = self.expression(node)?.into_dtype(dtype);
        let is_fixed = words.is_const || !self.assigned.contains(name);
        if is_fixed && let Some(number) = constants::value(&value.term) {
            let value = super::expressions::number_value(of_dtype(number, dtype), dtype, at);
            self.declare(name, Symbol::Value(value));
            return Ok(());
        }
        let mut read = Vec::new();
        value.term.arrays(&mut read);
        if is_fixed && dtype.is_integer() && read.is_empty() && value.term.size <= MAX_INLINED {
            self.declare(name, Symbol::Value(value));
            return Ok(());
        }
        if words.is_static {
            let help = "the value of a `static` variable is computed from numbers";
            return Err(problem::unsupported(&format!("the constant `{name}` with this value"), at, help));
        }
        let array = self.array(name, dtype, Vec::new(), Role::Temporary, at);
        self.declare(name, Symbol::Array(array));
        self.store(array, Term::new(Kind::Element(array, Vec::new()), at), value, at);
        Ok(())
    }

    fn local_array(
        &mut self,
        name: &'f str,
        wraps: &[Wrap<'f>],
        dtype: Dtype,
        words: &Declared,
        value: Option<Node<'f>>,
        at: Span,
    ) -> Lifted<()> {
        let mut shape = Vec::with_capacity(wraps.len());
        for (idx, wrap) in wraps.iter().enumerate() {
            let Wrap::Array(size) = wrap else { continue };
            shape.push(match (size, value) {
                (Some(size), _) => self.extent(*size)?,
                (None, Some(list)) if idx == 0 && list.kind() == "initializer_list" => {
                    Term::int(i64::try_from(children(list).len()).unwrap_or(i64::MAX), at)
                }
                _ => return Err(problem::unsupported("an array without a size", at, "declare its size")),
            });
        }
        let sizes: Option<Vec<i64>> = shape.iter().map(|size| size.as_int()).collect();
        let known: Vec<Size> = shape.into_iter().map(Size::Known).collect();
        let Some(list) = value else {
            if words.is_static {
                return Err(problem::unsupported(
                    &format!("the table `{name}` without values"),
                    at,
                    "define it in this file",
                ));
            }
            let array = self.array(name, dtype, known, Role::Temporary, at);
            self.declare(name, Symbol::Array(array));
            return Ok(());
        };
        let n = sizes.as_ref().and_then(|sizes| sizes.iter().try_fold(1_i64, |n, size| n.checked_mul(*size)));
        let (Some(sizes), Some(_)) = (sizes, n.filter(|n| *n <= MAX_VALUES)) else {
            return Err(problem::unsupported(
                "a list of values for an array of this size",
                at,
                "assign the values in a loop",
            ));
        };
        let mut values = vec![None; usize::try_from(n.unwrap_or(0)).unwrap_or(0)];
        self.flattened(list, &sizes, &mut values)?;
        if words.is_const {
            let mut items = Vec::new();
            if self.table(&values, &sizes, dtype, at, &mut items)? {
                let array = self.array(name, dtype, known, Role::Table(items), at);
                self.declare(name, Symbol::Array(array));
                return Ok(());
            }
            if words.is_static {
                let help = "the values of a table are computed from numbers";
                return Err(problem::unsupported(&format!("the table `{name}` with these values"), at, help));
            }
        }
        let array = self.array(name, dtype, known, Role::Temporary, at);
        self.declare(name, Symbol::Array(array));
        let is_filled = values.iter().any(Option::is_none);
        if is_filled {
            self.fill(name, array, &sizes, at);
        }
        for (position, value) in values.into_iter().enumerate() {
            let Some(node) = value else { continue };
            let value = self.expression(node)?;
            if is_filled && value.term.as_int() == Some(0) {
                continue;
            }
            let indices = indices(position, &sizes).into_iter().map(|index| Term::int(index, at)).collect();
            self.store(array, Term::new(Kind::Element(array, indices), at), value, self.span(node));
        }
        Ok(())
    }

    /// The values of nested lists, by position; lists may be left open, and braces inside of lists left out.
    fn flattened(&mut self, list: Node<'f>, sizes: &[i64], values: &mut [Option<Node<'f>>]) -> Lifted<()> {
        let too_many = |lift: &Self, node| problem::unsupported("more values than elements", lift.span(node), "");
        let Some((_, inner)) = sizes.split_first() else { return Err(too_many(self, list)) };
        let stride: usize = inner.iter().map(|size| usize::try_from(*size).unwrap_or(0)).product();
        let mut at = 0;
        for item in children(list) {
            if item.kind() == "initializer_list" && inner.is_empty() {
                return Err(problem::unsupported("lists nested deeper than the array", self.span(item), ""));
            }
            if item.kind() == "initializer_pair" {
                return Err(problem::unsupported(
                    "designated values",
                    self.span(item),
                    "list all values in their order",
                ));
            }
            if item.kind() == "initializer_list" {
                let Some(part) = values.get_mut(at..at + stride) else { return Err(too_many(self, item)) };
                self.flattened(item, inner, part)?;
                at += stride;
            } else {
                let Some(value) = values.get_mut(at) else { return Err(too_many(self, item)) };
                *value = Some(item);
                at += 1;
            }
        }
        Ok(())
    }

    /// The items of a table; whether all values are constant.
    fn table(
        &mut self,
        values: &[Option<Node<'f>>],
        sizes: &[i64],
        dtype: Dtype,
        at: Span,
        items: &mut Vec<TableItem>,
    ) -> Lifted<bool> {
        let Some((&size, inner)) = sizes.split_first() else { return Ok(true) };
        items.push(TableItem::Open(at));
        let n = values.len() / usize::try_from(size).unwrap_or(1).max(1);
        for part in values.chunks(n.max(1)) {
            if !inner.is_empty() {
                if !self.table(part, inner, dtype, at, items)? {
                    return Ok(false);
                }
                continue;
            }
            for value in part {
                let (number, span) = match value {
                    None => (Number::Int(0), at),
                    Some(node) => match constants::value(&self.expression(*node)?.into_dtype(dtype).term) {
                        Some(number) => (number, self.span(*node)),
                        None => return Ok(false),
                    },
                };
                items.push(TableItem::Number(of_dtype(number, dtype), span));
            }
        }
        items.push(TableItem::Close);
        Ok(true)
    }

    /// Loops that set all elements of an array to zero.
    fn fill(&mut self, name: &str, array: usize, sizes: &[i64], at: Span) {
        let mut inames = Vec::with_capacity(sizes.len());
        for size in sizes {
            let iname = self.fresh_in_sets(&format!("{name}_i"));
            let constraint = format!("0 <= {iname} < {size}");
            self.domains.push((format!("{{ [{iname}] : {constraint} }}"), at));
            self.open.push(Open { iname: iname.clone(), constraint: constraint.into() });
            self.steps.push(Step::For(iname.clone(), at));
            inames.push(iname);
        }
        let indices = inames.iter().map(|iname| Term::new(Kind::Name(iname.clone()), at)).collect();
        self.store(array, Term::new(Kind::Element(array, indices), at), Value::int(0, at), at);
        for iname in inames.into_iter().rev() {
            self.open.pop();
            self.steps.push(Step::End(iname, at));
        }
    }
}

/// A number as that type holds it.
fn of_dtype(number: Number, dtype: Dtype) -> Number {
    match (dtype, number) {
        (Dtype::Float32, _) => number.to_single(),
        (Dtype::Float64, Number::Int(value)) => nestegg_ir::Float::new(value as f64).map_or(number, Number::Float),
        _ => number,
    }
}

/// The indices of an element by its position.
fn indices(position: usize, sizes: &[i64]) -> Vec<i64> {
    let mut rest = i64::try_from(position).unwrap_or(i64::MAX);
    let mut res: Vec<i64> = sizes
        .iter()
        .rev()
        .map(|size| {
            let index = rest % size.max(&1);
            rest /= size.max(&1);
            index
        })
        .collect();
    res.reverse();
    res
}
