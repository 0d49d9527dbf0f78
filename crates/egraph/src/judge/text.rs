//! Terms as people write them, in the language of kernels.
//!
//! For messages, deep and long terms are cut: a message names a value, it does not define one. [`spelled`] cuts nothing, and what it
//! writes can be read again.

use egg::Id;
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{Kernel, Op, ReduceOp};

use crate::analysis::Graph;
use crate::context::Index;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// Operations nested deeper than this are left out.
const MAX_DEPTH: usize = 6;
/// How deep the operands of e-nodes are written.
const SHALLOW: usize = 3;
/// Operands of one operation beyond this are left out.
const MAX_OPERANDS: usize = 8;
/// Longer texts are cut.
const MAX_LENGTH: usize = 160;
/// Fractions of more characters are written as decimals.
const MAX_FRACTION: usize = 7;
/// What stands for what is left out.
const LEFT_OUT: &str = "…";

/// How much of a term is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What fits a message.
    Excerpt,
    /// Everything, so that it can be read again.
    Whole,
}

/// How tightly the outermost operation of a text binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loose,
    Sum,
    Product,
    Power,
    Atom,
}

/// A term on one line, cut to what fits a message.
#[must_use]
pub fn term(graph: &Graph, kernel: &Kernel, id: Id) -> String {
    let text = Writer { graph, kernel, extent: Extent::Excerpt }.text(id, MAX_DEPTH).0;
    if text.chars().count() <= MAX_LENGTH {
        return text;
    }
    text.chars().take(MAX_LENGTH - 1).chain(LEFT_OUT.chars()).collect()
}

/// An e-node on one line, with the terms that its operands were made with.
#[must_use]
pub fn operation(graph: &Graph, kernel: &Kernel, node: &Node, class: Id) -> String {
    let text = Writer { graph, kernel, extent: Extent::Excerpt }.node(node, class, SHALLOW).0;
    if text.chars().count() <= MAX_LENGTH {
        text
    } else {
        text.chars().take(MAX_LENGTH - 1).chain(LEFT_OUT.chars()).collect()
    }
}

/// A coefficient as people write it: a fraction that is long is a decimal.
fn short(value: &Rational) -> String {
    let fraction = value.to_string();
    let is_long = fraction.len() > MAX_FRACTION;
    value.to_exact_f64().filter(|_| value.to_int().is_none() && is_long).map_or(fraction, |x| x.to_string())
}

/// A term as an expression of the text form of kernels, in full. Recursion is as deep as the term: it is for those that are small.
#[must_use]
pub fn spelled(graph: &Graph, kernel: &Kernel, id: Id) -> String {
    Writer { graph, kernel, extent: Extent::Whole }.text(id, usize::MAX).0
}

struct Writer<'a> {
    graph: &'a Graph,
    kernel: &'a Kernel,
    extent: Extent,
}

impl Writer<'_> {
    /// How many operands of one operation are written.
    fn max_operands(&self) -> usize {
        if self.extent == Extent::Whole { usize::MAX } else { MAX_OPERANDS }
    }

    /// Recursion is as deep as `depth`.
    fn text(&self, id: Id, depth: usize) -> (String, Binding) {
        if depth == 0 {
            return (LEFT_OUT.to_owned(), Binding::Atom);
        }
        self.node(self.graph.id_to_node(id), id, depth)
    }

    /// An e-node of the class of `id`.
    fn node(&self, node: &Node, id: Id, depth: usize) -> (String, Binding) {
        let depth = depth - 1;
        let list = |children: &[Id]| self.list(children, depth);
        match node {
            Node::Number(value, kind) if self.extent == Extent::Whole => {
                let text = literal(value, *kind == Kind::Float);
                (text, if value.is_negative() { Binding::Sum } else { Binding::Atom })
            }
            Node::Number(value, _) => {
                let text = value
                    .to_exact_f64()
                    .filter(|_| value.to_int().is_none())
                    .map_or(value.to_string(), |x| x.to_string());
                (text, if value.is_negative() { Binding::Sum } else { Binding::Atom })
            }
            Node::Iname(iname) => (self.kernel[*iname].name.clone(), Binding::Atom),
            Node::Parameter(parameter) => (self.kernel[*parameter].name.clone(), Binding::Atom),
            Node::Access(access, children) => {
                let access = self.graph.analysis.context.access(*access);
                let mut others = children.iter();
                let index = |index: &Index| match index {
                    Index::Affine(affine) => self.affine(affine),
                    Index::Child => others.next().map_or(String::new(), |&child| self.text(child, depth).0),
                };
                let indices: Vec<String> = access.indices.iter().map(index).collect();
                let name = &self.kernel[access.array].name;
                let text = if indices.is_empty() { name.clone() } else { format!("{name}[{}]", indices.join(", ")) };
                (text, Binding::Atom)
            }
            Node::Sum { coefficients, children } => {
                let mut text = String::new();
                for (coefficient, &child) in coefficients.iter().zip(children.iter()).take(self.max_operands()) {
                    let sign = if coefficient.is_negative() { "-" } else { "+" };
                    match (text.is_empty(), sign) {
                        (true, "+") => {}
                        (true, sign) => text.push_str(sign),
                        (false, sign) => text.push_str(&format!(" {sign} ")),
                    }
                    let size = coefficient.abs();
                    if !size.is_one() {
                        let whole = self.extent == Extent::Whole;
                        let is_float = self.graph[id].data.dtype.is_float();
                        let size = if whole { literal(&size, is_float) } else { short(&size) };
                        text.push_str(&format!("{size}*"));
                    }
                    text.push_str(&self.inside(child, depth, Binding::Product));
                }
                (self.cut(text, children.len(), " + "), Binding::Sum)
            }
            Node::Product { exponents, children } => {
                let part = |sign: bool| {
                    let factors =
                        exponents.iter().zip(children.iter()).filter(move |(exponent, _)| (**exponent > 0) == sign);
                    let texts =
                        factors.take(self.max_operands()).map(|(exponent, &child)| match exponent.unsigned_abs() {
                            1 => self.inside(child, depth, Binding::Power),
                            n => format!("{}**{n}", self.inside(child, depth, Binding::Atom)),
                        });
                    texts.collect::<Vec<String>>()
                };
                let (above, below) = (part(true), part(false));
                let mut text = if above.is_empty() { "1".to_owned() } else { above.join("*") };
                match below.as_slice() {
                    [] => {}
                    [single] => text.push_str(&format!("/{single}")),
                    several => text.push_str(&format!("/({})", several.join("*"))),
                }
                (text, Binding::Product)
            }
            Node::Reduce(reduction, [body]) => {
                let reduction = self.graph.analysis.context.reduction(*reduction);
                let inames: Vec<&str> =
                    reduction.inames.iter().map(|&iname| self.kernel[iname].name.as_str()).collect();
                let (op, inames) = (reduction.op, inames.join(", "));
                let head = match op {
                    ReduceOp::Min | ReduceOp::Max if self.extent == Extent::Whole => {
                        format!("reduce({}, ", op.spelling())
                    }
                    _ => format!("{}(", op.spelling()),
                };
                let text = format!("{head}[{inames}], {})", self.text(*body, depth).0);
                (text, Binding::Atom)
            }
            Node::Op(Op::If, children) => {
                let [condition, then, other] = [0, 1, 2].map(|idx| self.inside(children[idx], depth, Binding::Sum));
                (format!("{then} if {condition} else {other}"), Binding::Loose)
            }
            Node::Op(op @ (Op::Min | Op::Max), children) | Node::Rounded(op @ (Op::Min | Op::Max), children) => {
                (format!("{}({})", op.spelling(), list(children)), Binding::Atom)
            }
            Node::Op(op, children) | Node::Rounded(op, children) => match &**children {
                [operand] => {
                    (format!("{} {}", op.spelling(), self.inside(*operand, depth, Binding::Atom)), Binding::Loose)
                }
                operands => {
                    // What binds less than a comparison does is in parentheses, and all that a tighter operation has for operands.
                    let least = if op.is_comparison() { Binding::Product } else { Binding::Atom };
                    let texts: Vec<String> = operands
                        .iter()
                        .take(self.max_operands())
                        .map(|&operand| self.inside(operand, depth, least))
                        .collect();
                    (texts.join(&format!(" {} ", op.spelling())), Binding::Loose)
                }
            },
            Node::Call(function, children) => {
                (format!("{}({})", self.kernel[*function], list(children)), Binding::Atom)
            }
            Node::Cast(dtype, [child]) => {
                (format!("{}({})", format!("{dtype:?}").to_lowercase(), self.text(*child, depth).0), Binding::Atom)
            }
            Node::Guard(_, [child]) => self.text(*child, depth + 1),
        }
    }

    /// The text of an operand, in parentheses if it binds less than it must.
    fn inside(&self, id: Id, depth: usize, least: Binding) -> String {
        let (text, binding) = self.text(id, depth);
        if binding < least { format!("({text})") } else { text }
    }

    fn list(&self, children: &[Id], depth: usize) -> String {
        let texts: Vec<String> =
            children.iter().take(self.max_operands()).map(|&child| self.text(child, depth).0).collect();
        self.cut(texts.join(", "), children.len(), ", ")
    }

    fn cut(&self, text: String, n_operands: usize, separator: &str) -> String {
        if n_operands > self.max_operands() { format!("{text}{separator}{LEFT_OUT}") } else { text }
    }

    fn affine(&self, affine: &Affine) -> String {
        let mut text = String::new();
        for &(var, coefficient) in &affine.terms {
            let name = match var {
                Var::Iname(iname) => &self.kernel[iname].name,
                Var::Parameter(parameter) => &self.kernel[parameter].name,
            };
            let sign = if coefficient < 0 { "-" } else { "+" };
            match (text.is_empty(), sign) {
                (true, "+") => {}
                (true, sign) => text.push_str(sign),
                (false, sign) => text.push_str(&format!(" {sign} ")),
            }
            match coefficient.unsigned_abs() {
                1 => text.push_str(name),
                n => text.push_str(&format!("{n}*{name}")),
            }
        }
        match affine.constant {
            constant if text.is_empty() => constant.to_string(),
            0 => text,
            constant if constant < 0 => format!("{text} - {}", constant.unsigned_abs()),
            constant => format!("{text} + {constant}"),
        }
    }
}

/// A number as a literal of its kind, or as a quotient where no literal is exact.
fn literal(value: &Rational, is_float: bool) -> String {
    match (value.to_int(), value.to_exact_f64()) {
        (Some(whole), _) if !is_float => whole.to_string(),
        (_, Some(float)) => format!("{float:?}"),
        _ => format!("({value})").replace('/', ".0/").replace(')', ".0)"),
    }
}
