//! Couples in C.

use std::fmt::Write;

use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind, Dtype, Expr, ExprId, InameId, InstructionKind};

use super::super::error::CodegenError;
use super::super::evaluate::Evaluated;
use super::super::layout::Code;
use super::super::plan::{ROOT, RegionId};
use super::super::statements::Temporaries;
use super::super::text::{Precedence, Text};
use super::super::writer::Writer;
use super::Couple;
use super::nodes::Node;

impl Writer<'_> {
    /// The statement of a couple.
    pub(crate) fn couple(
        &mut self,
        couple: &Couple,
        temporaries: &Temporaries,
        open: &[InameId],
    ) -> Result<Vec<Code>, CodegenError> {
        let kernel = self.kernel;
        let instruction = &kernel[couple.insns[0]];
        let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return Ok(Vec::new()) };
        let dtype = kernel[assignee.array].dtype;
        let place = || format!("instruction `{}`", instruction.id);
        let (update, node) = update(self, couple);
        let mut roots: Vec<(ExprId, RegionId)> = assignee.indices.iter().map(|&index| (index, ROOT)).collect();
        scalars(self, &node, &mut roots);
        let Evaluated { mut regions, roots: texts } = self.evaluate(&roots, 0, open, &place)?;
        let mut code = std::mem::take(&mut regions[ROOT]);
        let mut texts = texts.into_iter();
        let indices: Vec<Text> = texts.by_ref().take(assignee.indices.len()).collect();
        let value = self.vector_of(&node, dtype, &mut texts).text;
        let temporary = self.pairs.as_ref().and_then(|pairs| pairs.temporaries.get(&assignee.array)).cloned();
        let ty = self.pair_type(dtype);
        match (temporary, couple.declares) {
            (Some((pair, _, name)), Some(is_constant)) => {
                for (lane, array) in pair.into_iter().enumerate() {
                    let note = temporaries.notes.get(&array).map_or("", |(note, _)| note.as_str());
                    code.push(Code::Comment(format!("{name}[{lane}] is {note}")));
                }
                let qualifier = if is_constant { "const " } else { "" };
                code.push(Code::line(format!("{qualifier}{ty} {name} = {value};")));
            }
            (Some((_, _, name)), None) => code.push(Code::line(format!("{name} {update}= {value};"))),
            (None, _) => {
                let target = self.elements(assignee.array, dtype, &indices).text;
                code.push(Code::line(format!("{target} {update}= {value};")));
            }
        }
        Ok(code)
    }

    /// The text of a node, given those of its scalars in order.
    fn vector(&mut self, node: &Node, dtype: Dtype, texts: &mut dyn Iterator<Item = Text>) -> Text {
        let ty = self.pair_type(dtype);
        let mut scalar = |id: ExprId, writer: &Self| {
            let text = texts.next().unwrap_or_else(|| Text::primary("0"));
            writer.convert(id, text, dtype)
        };
        match node {
            Node::Splat(id) => scalar(*id, self),
            Node::Lanes(lanes) => {
                let list = lanes.map(|(id, is_negated)| {
                    let text = scalar(id, self);
                    if is_negated { Text::negation(text) } else { text }
                });
                Text::primary(format!("({ty}){{{}, {}}}", list[0].text, list[1].text)).over(&list)
            }
            Node::Temporary(pair, is_swapped) => {
                let name = self.pair_name(pair[0]);
                Text::primary(if *is_swapped { format!("({ty}){{{name}[1], {name}[0]}}") } else { name })
            }
            Node::Elements(access) => {
                let Expr::Access { array, indices } = &self.kernel.exprs[*access] else { return Text::primary("0") };
                let indices: Vec<Text> = indices.iter().filter_map(|_| texts.next()).collect();
                self.elements(*array, dtype, &indices)
            }
            Node::Sum(terms) => {
                let mut list = Vec::with_capacity(terms.len());
                for (is_negated, term) in terms {
                    let text = self.vector_of(term, dtype, texts);
                    list.push(if *is_negated { Text::negation(text) } else { text });
                }
                Text::sum(&list)
            }
            Node::Product(factors) => {
                let list: Vec<Text> = factors.iter().map(|factor| self.vector(factor, dtype, texts)).collect();
                Text::product(&list)
            }
            Node::Quotient(above, below) => {
                let above = self.vector_of(above, dtype, texts);
                Text::quotient(above, self.vector(below, dtype, texts))
            }
            Node::Negation(operand) => Text::negation(self.vector_of(operand, dtype, texts)),
            Node::Sign(operand, second) => {
                let text = self.vector(operand, dtype, texts);
                let signs = if *second { "1, -1" } else { "-1, 1" };
                Text::product(&[text, Text::primary(format!("({ty}){{{signs}}}"))])
            }
        }
    }

    /// The same where a scalar would not become a vector by what stands beside it.
    fn vector_of(&mut self, node: &Node, dtype: Dtype, texts: &mut dyn Iterator<Item = Text>) -> Text {
        let text = self.vector(node, dtype, texts);
        if !matches!(node, Node::Splat(_)) {
            return text;
        }
        let ty = self.pair_type(dtype);
        Text::primary(format!("({ty}){{{0}, {0}}}", text.text)).over(&[text])
    }

    /// Two elements that are neighbours, by the indices of the first.
    fn elements(&mut self, array: ArrayId, dtype: Dtype, indices: &[Text]) -> Text {
        let ty = self.pair_type(dtype);
        let element = super::super::facts::element(&self.symbols, &self.arrays, array, indices);
        let is_constant = matches!(self.kernel[array].kind, ArrayKind::Argument(ArgumentAccess::Read));
        let constant = if is_constant { "const " } else { "" };
        let text = format!("*({constant}{ty}_loose *)&{}", element.text);
        // `a*(*p)` is easier to read than `a**p`.
        Text { precedence: Precedence::Product, ..Text::primary(text) }
    }

    fn pair_name(&self, array: ArrayId) -> String {
        let temporaries = self.pairs.as_ref().map(|pairs| &pairs.temporaries);
        temporaries.and_then(|all| all.get(&array)).map_or_else(String::new, |one| one.2.clone())
    }

    /// The vector type of a dtype, which is defined once.
    fn pair_type(&mut self, dtype: Dtype) -> String {
        let name = if dtype == Dtype::Float32 { "pair_f32" } else { "pair_f64" };
        let (ty, size) = (dtype.c_name(), dtype.size());
        let mut definition = String::from("/* Two numbers side by side. */\n#if defined(__GNUC__)\n");
        let _ = writeln!(definition, "typedef {ty} {name} __attribute__((vector_size({})));", 2 * size);
        let attributes = format!("vector_size({}), aligned({size}), may_alias", 2 * size);
        let _ = writeln!(definition, "typedef {ty} {name}_loose __attribute__(({attributes}));\n#endif");
        self.lane_functions.entry(name.to_owned()).or_insert(definition);
        name.to_owned()
    }
}

/// The scalars of a node in the order of its text: indices of elements, too.
fn scalars(writer: &Writer<'_>, node: &Node, roots: &mut Vec<(ExprId, RegionId)>) {
    match node {
        Node::Splat(id) => roots.push((*id, ROOT)),
        Node::Lanes(lanes) => roots.extend(lanes.map(|(id, _)| (id, ROOT))),
        Node::Elements(access) => {
            roots.extend(writer.kernel.exprs[*access].children().iter().map(|&index| (index, ROOT)));
        }
        _ => node.operands().iter().for_each(|operand| scalars(writer, operand, roots)),
    }
}

/// The operator and operand of `x op= operand`, if a couple is that in both lanes; else no operator, and all that is assigned.
fn update(writer: &Writer<'_>, couple: &Couple) -> (&'static str, Node) {
    let whole = || ("", couple.node.clone());
    let InstructionKind::Assignment { assignee, .. } = &writer.kernel[couple.insns[0]].kind else { return whole() };
    let is_target = |node: &Node| match node {
        Node::Temporary(pair, false) => pair[0] == assignee.array,
        Node::Elements(access) => assignee.is_read_by(&writer.kernel.exprs, *access),
        _ => false,
    };
    let Node::Sum(terms) = &couple.node else { return whole() };
    let [(minus, first), (also, second)] = terms.as_slice() else { return whole() };
    let operator = |minus: bool| if minus { "-" } else { "+" };
    match () {
        () if !minus && is_target(first) => (operator(*also), (**second).clone()),
        () if !also && is_target(second) => (operator(*minus), (**first).clone()),
        () => whole(),
    }
}
