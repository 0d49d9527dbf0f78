//! Operations on vectors of lanes, in the vector types of gcc and clang.
//!
//! A vector of W values is a type like `f64x4`. Arithmetic is C's own on it, also between a vector and a scalar. Truth values of lanes are *masks*, integers
//! of the width of the floats that are 0 or -1; selections take bits by masks. Functions of `math.h` are called for each lane.
//! What the text needs beyond operators are small functions, written only where they are used.

use std::fmt::Write;

use nestegg_ir::{Array, Dtype, Expr, ExprId, Op, ReduceOp};

use super::helpers::{Helper, float_suffix};
use super::lanes::Lanes;
use super::math;
use super::packing::INLINE;
use super::plan::{is_known, whole_exponent};
use super::text::{Precedence, Text, stored_name};
use super::writer::Writer;

impl Writer<'_> {
    /// The lanes, while vectors are written.
    fn in_vectors(&self) -> Option<&Lanes> {
        self.lanes.as_deref().filter(|_| self.arrays.is_vector)
    }

    /// Switches between vectors and single lanes.
    pub(crate) fn switch(&mut self) {
        if let Some(facts) = &mut self.other_facts {
            std::mem::swap(facts, &mut self.facts);
            self.arrays.is_vector = !self.arrays.is_vector;
        }
    }

    /// Whether an expression is a vector here.
    pub(crate) fn is_varying(&self, id: ExprId) -> bool {
        self.in_vectors().is_some_and(|lanes| lanes.varying[id.index()])
    }

    /// Whether an expression reads an element that does not hold lanes at another place for each lane.
    pub(crate) fn gathers(&self, id: ExprId) -> bool {
        self.is_varying(id)
            && matches!(&self.kernel.exprs[id], Expr::Access { array, .. } if !self.arrays.is_held(*array))
    }

    /// The C type of an expression here.
    pub(crate) fn type_of(&self, id: ExprId, dtype: Dtype) -> String {
        if self.is_varying(id) { self.lanes_type(dtype) } else { dtype.c_name().to_owned() }
    }

    /// The C type of the elements of an array.
    pub(crate) fn element_type(&self, array: &Array, is_held: bool) -> String {
        if is_held { self.lanes_type(array.dtype) } else { stored_name(array) }
    }

    /// The vector type of a dtype; of truth values, a mask.
    pub(crate) fn lanes_type(&self, dtype: Dtype) -> String {
        self.lanes.as_ref().map_or_else(String::new, |lanes| vector_name(lanes, dtype))
    }

    /// A vector of one dtype as one of another.
    pub(crate) fn convert_lanes(&self, text: Text, from: Dtype, to: Dtype) -> Text {
        let Some(lanes) = self.in_vectors().filter(|_| from != to) else { return text };
        let converted = |text: &str, to| format!("__builtin_convertvector({text}, {})", vector_name(lanes, to));
        let operands = [text];
        let text = match (from, to) {
            (_, Dtype::Bool) => {
                let text = Text::chain(
                    "!=",
                    Precedence::Comparison,
                    Precedence::Sum,
                    &[operands[0].clone(), Text::primary("0")],
                );
                return self.as_mask(text, from);
            }
            (Dtype::Bool, _) if to == lanes.mask => return Text::negation(operands[0].clone()),
            (Dtype::Bool, _) => {
                return Text::negation(Text::primary(converted(&operands[0].text, to)).over(&operands));
            }
            _ => converted(&operands[0].text, to),
        };
        Text::primary(text).over(&operands)
    }

    /// The answer of comparing vectors of a dtype as a mask.
    fn as_mask(&self, text: Text, compared: Dtype) -> Text {
        let Some(lanes) = self.in_vectors().filter(|lanes| compared.size() != lanes.mask.size()) else {
            // Comparisons of floats give integers of their width, by whichever name: one cast names it.
            let ty = self.lanes_type(Dtype::Bool);
            return Text::prefix(&format!("({ty})"), text);
        };
        let operands = [text];
        Text::primary(format!("__builtin_convertvector({}, {})", operands[0].text, vector_name(lanes, Dtype::Bool)))
            .over(&operands)
    }

    /// A scalar as a vector that has it in each lane.
    pub(crate) fn splat(&self, text: Text, dtype: Dtype) -> Text {
        let ty = self.lanes_type(dtype);
        let width = self.lanes.as_ref().map_or(1, |lanes| lanes.width);
        if let Ok(number) = text.text.trim_end_matches('f').parse::<f64>() {
            let zero = number == 0.0 && number.is_sign_positive();
            let list = if zero {
                "0".to_owned()
            } else {
                vec![text.text.as_str(); usize::try_from(width).unwrap_or(1)].join(", ")
            };
            return Text::primary(format!("({ty}){{{list}}}")).over(&[text]);
        }
        let operands = [text];
        let text = match dtype {
            Dtype::Bool => format!("({ty}){{0}} - {}", operands[0].at_least(Precedence::Prefix)),
            // What is taken away is +0, which changes nothing, not even the sign of a zero.
            _ => format!("{} - ({ty}){{0}}", operands[0].at_least(Precedence::Sum)),
        };
        Text::operation(text, Precedence::Sum, &operands)
    }

    /// An operand's value, as a vector if that of the operation is one.
    pub(crate) fn spread_like(&self, whole: ExprId, operand: ExprId, dtype: Dtype, text: Text) -> Text {
        if self.is_varying(whole) && !self.is_varying(operand) { self.splat(text, dtype) } else { text }
    }

    /// Operands as vectors of a dtype.
    fn vectors(&self, ids: &[ExprId], texts: &[Text], dtype: Dtype) -> Vec<Text> {
        let vector = |(&id, text): (&ExprId, &Text)| {
            let text = self.convert(id, text.clone(), dtype);
            if self.is_varying(id) { text } else { self.splat(text, dtype) }
        };
        ids.iter().zip(texts).map(vector).collect()
    }

    /// An operation on vectors that C has no operator for; `None` if it has.
    pub(crate) fn lanes_operation(&mut self, id: ExprId, dtype: Dtype, texts: &[Text]) -> Option<Text> {
        let kernel = self.kernel;
        match &kernel.exprs[id] {
            Expr::Access { array, indices } if !self.arrays.is_held(*array) => {
                let width = self.lanes.as_ref()?.width;
                let of_lane = |lane: i64| {
                    let of = |(&index, text): (&ExprId, &Text)| match self.is_varying(index) {
                        true => Text { text: format!("{}[{lane}]", text.text), ..text.clone() },
                        false => text.clone(),
                    };
                    let indices: Vec<Text> = indices.iter().zip(texts).map(of).collect();
                    super::facts::element(&self.symbols, &self.arrays, *array, &indices).text
                };
                let list: Vec<String> = (0..width).map(of_lane).collect();
                Some(Text::primary(format!("({}){{{}}}", self.lanes_type(dtype), list.join(", "))).over(texts))
            }
            Expr::Op { op, operands } => self.lanes_operator(*op, dtype, operands, texts),
            Expr::Call { function, arguments } => {
                let name = &kernel[*function];
                let standard = math::standard(name).map(|known| known.name);
                let of_function = match self.signatures.get(name) {
                    Some(super::writer::Signature::Pure { dtype, .. }) if standard.is_none() => *dtype,
                    _ if dtype == Dtype::Float32 => dtype,
                    _ => Dtype::Float64,
                };
                let called = standard.map_or(name.clone(), |name| format!("{name}{}", float_suffix(of_function)));
                let texts = self.vectors(arguments, texts, of_function);
                let text = self.each(&called, of_function, &texts);
                Some(self.convert_lanes(text, of_function, dtype))
            }
            _ => None,
        }
    }

    fn lanes_operator(&mut self, op: Op, dtype: Dtype, ids: &[ExprId], texts: &[Text]) -> Option<Text> {
        match op {
            Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne => {
                let text = self.comparison(op, ids, texts.to_vec());
                if is_known(&self.facts, ids) {
                    return Some(self.splat(text, Dtype::Bool));
                }
                Some(self.as_mask(text, self.compared_in(ids)))
            }
            Op::And | Op::Or => {
                let operator = if op == Op::And { "&" } else { "|" };
                let texts = self.vectors(ids, texts, Dtype::Bool);
                Some(Text::chain(operator, Precedence::Bits, Precedence::Prefix, &texts))
            }
            Op::Not => Some(Text::prefix("~", self.vectors(ids, texts, Dtype::Bool).swap_remove(0))),
            Op::If if self.is_varying(ids[0]) => {
                let mask = self.convert(ids[0], texts[0].clone(), Dtype::Bool);
                let branches = self.vectors(&ids[1..], &texts[1..], dtype);
                Some(self.select(mask, &branches[0], &branches[1], dtype))
            }
            Op::If => {
                let condition = self.convert(ids[0], texts[0].clone(), Dtype::Bool);
                let branches = self.vectors(&ids[1..], &texts[1..], dtype);
                Some(Text::choice(condition, branches[0].clone(), branches[1].clone()))
            }
            Op::Min | Op::Max => {
                let reduce = if op == Op::Min { ReduceOp::Min } else { ReduceOp::Max };
                let mut texts = self.vectors(ids, texts, dtype).into_iter();
                let mut res = texts.next()?;
                for text in texts {
                    res = self.extremum(reduce, dtype, &[res, text]);
                }
                Some(res)
            }
            Op::Pow => {
                let whole = whole_exponent(self.kernel, ids[1]).filter(|&n| n >= 0 || dtype.is_float());
                match whole {
                    Some(n) if n.unsigned_abs() < 4 && n != 0 => None,
                    Some(0) => Some(self.splat(super::literal::literal(nestegg_ir::Number::Int(1), dtype), dtype)),
                    Some(n) => {
                        let helper = Helper::Power(dtype, n.unsigned_abs());
                        self.helpers.0.insert(helper);
                        let base = self.vectors(&ids[..1], &texts[..1], dtype);
                        let power = self.each(&helper.name(), dtype, &base);
                        let one = || super::literal::literal(nestegg_ir::Number::Int(1), dtype);
                        Some(if n < 0 { Text::quotient(one(), power) } else { power })
                    }
                    None => {
                        let texts = self.vectors(ids, texts, dtype);
                        Some(self.each(&format!("pow{}", float_suffix(dtype)), dtype, &texts))
                    }
                }
            }
            _ => None,
        }
    }

    /// `a` where the mask holds, else `b`.
    pub(crate) fn select(&mut self, mask: Text, a: &Text, b: &Text, dtype: Dtype) -> Text {
        let (ty, bits) = (self.lanes_type(dtype), self.bits_type(dtype));
        let mask_type = self.lanes_type(Dtype::Bool);
        let name = format!("lanes_select_{}", if dtype == Dtype::Bool { "mask".to_owned() } else { ty.clone() });
        let mask_of =
            if mask_type == bits { "mask".to_owned() } else { format!("__builtin_convertvector(mask, {bits})") };
        let definition = format!(
            "/* What a mask selects: the first where it is -1, the second where it is 0. */\n\
             {INLINE} {ty} {name}({mask_type} mask, {ty} a, {ty} b)\n{{\n    const {bits} m = {mask_of};\n    \
             return ({ty})((m & ({bits})a) | (~m & ({bits})b));\n}}\n"
        );
        self.lane_functions.insert(name.clone(), definition);
        Text::call(&name, &[mask, a.clone(), b.clone()])
    }

    /// The integer vector as wide as a dtype.
    fn bits_type(&self, dtype: Dtype) -> String {
        self.lanes_type(match dtype {
            Dtype::Float64 | Dtype::Int64 => Dtype::Int64,
            Dtype::Float32 | Dtype::Int32 => Dtype::Int32,
            Dtype::Bool => Dtype::Bool,
        })
    }

    /// The lesser or greater of two vectors, lane by lane; of a number and no number, the number.
    fn extremum(&mut self, op: ReduceOp, dtype: Dtype, operands: &[Text]) -> Text {
        let ty = self.lanes_type(dtype);
        let (word, sign) = if op == ReduceOp::Min { ("min", "<") } else { ("max", ">") };
        let name = format!("lanes_{word}_{ty}");
        let bits = self.bits_type(dtype);
        let chosen = if dtype.is_float() { format!("(a {sign} b) | (b != b)") } else { format!("a {sign} b") };
        let definition = format!(
            "{INLINE} {ty} {name}({ty} a, {ty} b)\n{{\n    const {bits} m = ({bits})({chosen});\n    \
             return ({ty})((m & ({bits})a) | (~m & ({bits})b));\n}}\n"
        );
        self.lane_functions.insert(name.clone(), definition);
        Text::call(&name, operands)
    }

    /// A function called for each lane.
    fn each(&mut self, function: &str, dtype: Dtype, operands: &[Text]) -> Text {
        let ty = self.lanes_type(dtype);
        let name = format!("lanes_{function}_{ty}");
        let width = self.lanes.as_ref().map_or(1, |lanes| lanes.width);
        let of = EachLane { function, dtype, n_arguments: operands.len(), ty: &ty, bits: &self.bits_type(dtype) };
        let definition = of.definition(&name, width);
        self.lane_functions.insert(name.clone(), definition);
        Text::call(&name, operands)
    }
}

/// A function of vectors that is one of scalars for each lane.
pub(super) struct EachLane<'a> {
    /// The function of scalars.
    pub(super) function: &'a str,
    /// What it takes and gives.
    pub(super) dtype: Dtype,
    pub(super) n_arguments: usize,
    /// The type of the vectors.
    pub(super) ty: &'a str,
    /// The type of vectors of integers of the same width.
    pub(super) bits: &'a str,
}

impl EachLane<'_> {
    /// The definition by a name, for so many lanes.
    pub(super) fn definition(&self, name: &str, width: i64) -> String {
        let Self { function, ty, bits, .. } = self;
        let letters: Vec<char> = ('a'..='z').take(self.n_arguments).collect();
        let parameters: Vec<String> = letters.iter().map(|letter| format!("{ty} {letter}")).collect();
        let body = if function.trim_end_matches('f') == "fabs" {
            let all = if self.dtype == Dtype::Float32 { "INT32_MAX" } else { "INT64_MAX" };
            format!("({ty})(({bits})a & {all})")
        } else {
            let of_lane = |lane| {
                let arguments: Vec<String> = letters.iter().map(|letter| format!("{letter}[{lane}]")).collect();
                format!("{function}({})", arguments.join(", "))
            };
            let list: Vec<String> = (0..width).map(of_lane).collect();
            format!("({ty}){{{}}}", list.join(", "))
        };
        let list = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        format!("{INLINE} {ty} {name}({list})\n{{\n    return {body};\n}}\n")
    }
}

/// The name of a vector type.
fn vector_name(lanes: &Lanes, dtype: Dtype) -> String {
    let letter = match dtype {
        Dtype::Bool => return vector_name(lanes, lanes.mask),
        Dtype::Int32 => "i32",
        Dtype::Int64 => "i64",
        Dtype::Float32 => "f32",
        Dtype::Float64 => "f64",
    };
    format!("{letter}x{}", lanes.width)
}

/// The definitions of the vector types that a text names; `is_used` tells which.
pub(crate) fn types(lanes: &Lanes, is_used: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    for dtype in [Dtype::Float64, Dtype::Float32, Dtype::Int64, Dtype::Int32] {
        let name = vector_name(lanes, dtype);
        let loose = format!("{name}_loose");
        let (size, bytes) = (dtype.size(), lanes.width * i64::try_from(dtype.size()).unwrap_or(8));
        if is_used(&name) || is_used(&loose) {
            let ty = dtype.c_name();
            let _ = writeln!(out, "typedef {ty} {name} __attribute__((vector_size({bytes})));");
            if is_used(&loose) {
                let attributes = format!("vector_size({bytes}), aligned({size}), may_alias");
                let _ = writeln!(out, "typedef {ty} {loose} __attribute__(({attributes}));");
            }
        }
    }
    out
}
