//! Pointers that the function declares: other names for what parameters point to, and memory from the heap.
//!
//! Memory that is taken as `char` is a block in which arrays are. They do not overlap: each is `restrict`, which promises that.

use nestegg_span::Span;
use tree_sitter::Node;

use super::{Lift, Pointer, Role, Size, Symbol, bare};
use crate::problem::{self, Lifted};
use crate::text::children;
use crate::types::{Base, Wrap, declared};

impl<'f> Lift<'f> {
    /// A pointer that is declared with what it points to.
    pub(super) fn alias(
        &mut self,
        name: &'f str,
        wraps: &[Wrap<'f>],
        base: &Base,
        (value, is_restrict): (Option<Node<'f>>, bool),
        at: Span,
    ) -> Lifted<()> {
        if matches!(base, Base::Other(spelled) if spelled == "char")
            && matches!(wraps, [Wrap::Pointer])
            && value.map(uncast).is_some_and(|source| self.takes_memory(source) || self.is_in_block(source))
        {
            self.declare(name, Symbol::Block);
            return Ok(());
        }
        let help = "let it point to a parameter: `double (*u)[n] = (double (*)[n]) p;`";
        let refused = || problem::unsupported(&format!("the pointer `{name}`"), at, help);
        let Base::Number(dtype) = base else {
            return Err(problem::wrong_type(&format!("`{name}`"), "a pointer to what kernels lack", at));
        };
        let dtype = *dtype;
        let (Some(value), Some(shape)) = (value, self.pointed(wraps)?) else { return Err(refused()) };
        let source = uncast(value);
        let is_in_block = self.is_in_block(source);
        if is_in_block && !is_restrict {
            let help = "declare it `restrict`: then it overlaps no other";
            return Err(problem::unsupported(&format!("the pointer `{name}` into a block"), at, help));
        }
        if is_in_block || source.kind() == "call_expression" {
            if !is_in_block && !self.takes_memory(source) {
                return Err(refused());
            }
            let array = self.array(name, dtype, shape, Role::Temporary, at);
            self.declare(name, Symbol::Array(array));
            return Ok(());
        }
        let root = match source.kind() {
            "field_expression" => source.child_by_field_name("argument"),
            "identifier" => Some(source),
            _ => None,
        };
        let Some(symbol) = root.and_then(|root| self.symbol(self.slice(root))).cloned() else { return Err(refused()) };
        let text: String = self.slice(source).split_whitespace().collect();
        match symbol {
            // Another name of the same array.
            Symbol::Array(array)
                if self.is_heap(source) && self.arrays[array].dtype == dtype && matches!(wraps, [Wrap::Pointer]) =>
            {
                self.declare(name, Symbol::Array(array));
                Ok(())
            }
            Symbol::Structure if source.kind() == "field_expression" => {
                if self.pointers.iter().any(|pointer| pointer.text == text) {
                    return Err(problem::unsupported(&format!("a second name for `{text}`"), at, "use one name"));
                }
                let text = text.clone();
                let base = Base::Number(dtype);
                let pointer =
                    Pointer { name: name.to_owned(), text, base, shape, is_flat: false, array: None, span: at };
                self.pointers.push(pointer);
                self.declare(name, Symbol::Pointer(self.pointers.len() - 1));
                Ok(())
            }
            Symbol::Pointer(pointer) if source.kind() == "identifier" => {
                let known = &mut self.pointers[pointer];
                let is_same = matches!(&known.base, Base::Void) || known.base == Base::Number(dtype);
                if known.array.is_some() || !is_same {
                    let help = "use one name and one type for what a parameter points to";
                    return Err(problem::unsupported(&format!("another view of `{text}`"), at, help));
                }
                // From here on both names are of one array, in the shape that the alias declares.
                known.base = Base::Number(dtype);
                known.is_flat = known.is_flat && matches!(wraps, [Wrap::Pointer]);
                if let [Wrap::Pointer] = wraps {
                } else {
                    known.shape = shape;
                }
                let array = self.pointed_array(pointer, at)?;
                self.declare(name, Symbol::Array(array));
                Ok(())
            }
            _ => Err(refused()),
        }
    }

    /// Whether an expression takes memory from the heap.
    fn takes_memory(&self, source: Node<'f>) -> bool {
        let function = source.child_by_field_name("function").map(|name| self.slice(name)).unwrap_or_default();
        source.kind() == "call_expression" && matches!(function, "malloc" | "aligned_alloc")
    }

    /// Whether it is a block of memory, or a place in one.
    fn is_in_block(&self, source: Node<'f>) -> bool {
        let mut at = bare(source);
        if at.kind() == "binary_expression" && super::operator(at, self.text) == "+" {
            let Some(left) = at.child_by_field_name("left") else { return false };
            at = bare(left);
        }
        matches!(self.symbol(self.slice(at)), Some(Symbol::Block))
    }

    /// Whether a call is about memory of a local array, and changes no values.
    pub(super) fn is_of_heap(&self, call: Node<'f>) -> bool {
        let name = call.child_by_field_name("function").map(|name| self.slice(name)).unwrap_or_default();
        let arguments = call.child_by_field_name("arguments").map(children).unwrap_or_default();
        name == "free" && matches!(arguments.as_slice(), [only] if self.is_heap(*only))
    }

    fn is_heap(&self, node: Node<'f>) -> bool {
        match self.symbol(self.slice(bare(node))) {
            Some(Symbol::Array(array)) => {
                let info = &self.arrays[*array];
                matches!(info.role, Role::Temporary) && matches!(info.shape.first(), Some(Size::Unknown))
            }
            Some(Symbol::Block) => true,
            _ => false,
        }
    }

    /// Whether a condition asks if there was no memory for a local array: a kernel has always enough.
    pub(super) fn tests_heap(&self, condition: Node<'f>) -> bool {
        let condition = bare(condition);
        match condition.kind() {
            "unary_expression" => condition.child_by_field_name("argument").is_some_and(|inside| self.is_heap(inside)),
            "binary_expression" => {
                let sides = (condition.child_by_field_name("left"), condition.child_by_field_name("right"));
                matches!(sides, (Some(left), Some(right)) if self.is_heap(left) && self.slice(right) == "NULL")
                    && super::operator(condition, self.text) == "=="
            }
            _ => false,
        }
    }
}

/// What is converted.
fn uncast(node: Node<'_>) -> Node<'_> {
    let mut at = bare(node);
    while at.kind() == "cast_expression" {
        let is_pointer = at
            .child_by_field_name("type")
            .and_then(|ty| ty.child_by_field_name("declarator"))
            .is_some_and(|declarator| !declared(declarator).1.is_empty());
        match at.child_by_field_name("value") {
            Some(value) if is_pointer => at = bare(value),
            _ => break,
        }
    }
    at
}
