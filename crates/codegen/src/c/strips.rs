//! Strips: as many iterations of a loop as a vector of [`BYTES`] bytes holds.
//!
//! # Input
//! Expressions of sums, products and quotients, over elements that go from one iteration to its neighbour in memory, and values that stay the same.
//! # Output
//! Their values in vectors of gcc and clang, as text; the type of these vectors, and functions that load, store and add them up, which are defined once.
//! # Complexity
//! Linear in the operations, times the vectors.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::walk::{OperandsFirst, below};
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::arrays::Storage;
use super::evaluate::MAX_HEIGHT;
use super::helpers::suffix;
use super::layout::Code;
use super::packing::INLINE;
use super::text::{Precedence, Text};
use super::writer::Writer;

/// Bytes of a vector.
pub(super) const BYTES: u64 = 32;

/// How the names of functions begin that add up the lanes of a vector.
pub(super) const TOTAL: &str = "lanes_total_";

/// Values, each in several vectors.
pub(super) type Texts = FxHashMap<ExprId, Vec<Text>>;

/// What values are written in.
pub(super) struct Strips<'a> {
    /// The type of the vectors.
    pub(super) ty: &'a str,
    /// How many vectors each value has.
    pub(super) n: usize,
    /// Values that are used more than once.
    pub(super) shared: &'a FxHashSet<ExprId>,
    /// Arrays whose one element is in these vectors.
    pub(super) named: &'a FxHashMap<ArrayId, Vec<Text>>,
}

impl Writer<'_> {
    /// The expressions below some roots that differ between the iterations of a loop: what has the iname in it, or reads an array that changes.
    pub(super) fn varying(
        &self,
        roots: impl IntoIterator<Item = ExprId>,
        iname: InameId,
        changes: impl Fn(ArrayId) -> bool,
    ) -> FxHashSet<ExprId> {
        let exprs = &self.kernel.exprs;
        let mut res: FxHashSet<ExprId> = FxHashSet::default();
        for id in below(exprs, roots) {
            let own = match &exprs[id] {
                Expr::Iname(other) => *other == iname,
                Expr::Access { array, .. } => changes(*array),
                _ => false,
            };
            if own || exprs[id].children().iter().any(|child| res.contains(child)) {
                res.insert(id);
            }
        }
        res
    }

    /// Adds the values of an expression to those that are known, which are its elements in memory and what stays the same. A value gets names if it is used more
    /// than once, or if its text is deep.
    pub(super) fn operate(&mut self, root: ExprId, strips: &Strips<'_>, texts: &mut Texts, code: &mut Vec<Code>) {
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| texts.contains_key(id)) {
            let mut list: Vec<Text> = match &self.kernel.exprs[id] {
                Expr::Op { op, operands } => {
                    if walk.waits_for(operands.iter().copied(), |id| texts.contains_key(id)) {
                        continue;
                    }
                    let of = |at: usize| {
                        Text::arithmetic(*op, operands.iter().map(|operand| texts[operand][at].clone()).collect())
                    };
                    (0..strips.n).filter_map(of).collect()
                }
                Expr::Access { array, .. } => strips.named.get(array).cloned().unwrap_or_default(),
                _ => Vec::new(),
            };
            for text in &mut list {
                let is_shared = strips.shared.contains(&id) && text.height > 0;
                if is_shared || text.height > MAX_HEIGHT {
                    let name = self.symbols.names.fresh("s");
                    code.push(Code::line(format!("const {} {name} = {};", strips.ty, text.text)));
                    *text = Text::primary(name);
                }
            }
            texts.insert(id, list);
        }
    }

    /// How far in memory an access goes from one iteration to the next, if that is one element.
    pub(super) fn step_of(&self, array: ArrayId, indices: &[ExprId], iname: InameId) -> Option<i64> {
        let moves =
            |index: ExprId| affine::of(&self.kernel.exprs, index).map(|index| index.coefficient(Var::Iname(iname)));
        let (&last, others) = indices.split_last()?;
        let is_plain = self.kernel[array].stored.is_none()
            && matches!(self.arrays.layout(array).storage, Storage::Flat | Storage::Heap | Storage::Nested)
            && others.iter().all(|&index| moves(index) == Some(0));
        moves(last).filter(|step| is_plain && step.abs() == 1)
    }

    /// The vector type of a dtype, which is defined once, with the sum of its lanes.
    pub(super) fn strip_type(&mut self, dtype: Dtype) -> String {
        let (ty, size, suffix) = (dtype.c_name(), dtype.size(), suffix(dtype));
        let name = format!("lanes_{suffix}");
        let lanes: Vec<String> = (0..BYTES / size).map(|lane| format!("a[{lane}]")).collect();
        let definition = format!(
            "/* Neighbours in memory, and the sum of lanes. */\n#if defined(__GNUC__)\n\
             typedef {ty} {name} __attribute__((vector_size({BYTES})));\n\
             typedef {ty} {name}_loose __attribute__((vector_size({BYTES}), aligned({size}), may_alias));\n\
             {INLINE} {name} lanes_load_{suffix}(const {ty} *at)\n{{\n    return *(const {name}_loose *)at;\n}}\n\
             {INLINE} {ty} {TOTAL}{suffix}({name} a)\n{{\n    return {};\n}}\n#endif\n",
            halves(&lanes)
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }

    /// The function that loads neighbours in memory, to be called with the address of the first lane.
    pub(super) fn load(&mut self, dtype: Dtype, is_back: bool) -> String {
        let (ty, size, suffix) = (dtype.c_name(), dtype.size(), suffix(dtype));
        if !is_back {
            return format!("lanes_load_{suffix}");
        }
        let (vector, name) = (self.strip_type(dtype), format!("lanes_load_back_{suffix}"));
        let last = BYTES / size - 1;
        let lanes: Vec<String> = (0..=last).rev().map(|lane| format!("a[{lane}]")).collect();
        let definition = format!(
            "/* Neighbours in memory, backwards. */\n#if defined(__GNUC__)\n\
             {INLINE} {vector} {name}(const {ty} *at)\n{{\n    \
             const {vector} a = lanes_load_{suffix}(at - {last});\n    return ({vector}){{{}}};\n}}\n#endif\n",
            lanes.join(", ")
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }

    /// The function that stores neighbours in memory, to be called with the address of the first lane and a vector.
    pub(super) fn store(&mut self, dtype: Dtype) -> String {
        let (ty, suffix) = (dtype.c_name(), suffix(dtype));
        let (vector, name) = (self.strip_type(dtype), format!("lanes_store_{suffix}"));
        let definition = format!(
            "/* Stores neighbours in memory. */\n#if defined(__GNUC__)\n\
             {INLINE} void {name}({ty} *at, {vector} a)\n{{\n    *({vector}_loose *)at = a;\n}}\n#endif\n"
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }
}

/// The address of an element so many further in memory.
pub(super) fn address(element: &Text, offset: i64) -> String {
    let address = format!("&{}", element.at_least(Precedence::Primary));
    match offset {
        0 => address,
        1.. => format!("{address} + {offset}"),
        _ => format!("{address} - {}", -offset),
    }
}

/// The sum of lanes: halves of a vector are added as vectors are.
fn halves(lanes: &[String]) -> String {
    match lanes {
        [a, b] => format!("{a} + {b}"),
        _ => {
            let of = |first: usize| {
                let half: Vec<String> = lanes.iter().skip(first).step_by(2).cloned().collect();
                format!("({})", halves(&half))
            };
            format!("{} + {}", of(0), of(1))
        }
    }
}
