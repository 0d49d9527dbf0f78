//! Strips: as many iterations of a loop as a vector holds.
//!
//! # Input
//! Expressions of sums, products, quotients and [functions](vector_function) that processors have, over elements that go from one iteration to its neighbour in memory, and values that
//! stay the same.
//! # Output
//! Their values in vectors of gcc and clang, as text; the type of these vectors, and functions that load, store and add them up, which are defined once.
//! # Complexity
//! Linear in the operations, times the vectors.

use nestegg_ir::affine::{self, Var};
use nestegg_ir::walk::{OperandsFirst, below};
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::arrays::{Extent, Storage};
use super::evaluate::MAX_HEIGHT;
use super::helpers::{float_suffix, suffix};
use super::layout::Code;
use super::math;
use super::packing::INLINE;
use super::text::{Precedence, Text};
use super::vectors::EachLane;
use super::writer::Writer;

/// Bytes of a vector, and of a half.
const BYTES: [u64; 2] = [32, 16];

/// The most lanes: those of float32.
pub(super) const MAX_LANES: usize = 8;

/// How the names of functions begin that add up the lanes of a vector.
pub(super) const TOTAL: &str = "lanes_total_";

/// Values, each in several vectors.
pub(super) type Texts = FxHashMap<ExprId, Vec<Text>>;

/// A vector of neighbours, or half of one, which has as many lanes as a short loop iterations.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    pub(super) dtype: Dtype,
    pub(super) is_half: bool,
}

impl Strip {
    pub(super) fn whole(dtype: Dtype) -> Self {
        Self { dtype, is_half: false }
    }

    /// The widest for a loop of so many iterations, of which each lane is one; `None` if there are too few.
    pub(super) fn within(dtype: Dtype, n_iterations: usize) -> Option<Self> {
        let strips = [false, true].map(|is_half| Self { dtype, is_half });
        strips.into_iter().find(|strip| (2..=n_iterations).contains(&strip.n_lanes()))
    }

    fn bytes(self) -> u64 {
        BYTES[usize::from(self.is_half)]
    }

    /// Its iterations.
    pub(super) fn n_lanes(self) -> usize {
        (self.bytes() / self.dtype.size()) as usize
    }

    /// How the names of its type and functions begin.
    fn prefix(self) -> &'static str {
        if self.is_half { "half_lanes" } else { "lanes" }
    }

    /// Its type.
    fn name(self) -> String {
        format!("{}_{}", self.prefix(), suffix(self.dtype))
    }
}

/// The function of `math.h` that a call is, if processors have it for vectors.
pub(super) fn vector_function(name: &str) -> Option<&'static str> {
    math::standard(name).map(|known| known.name).filter(|name| matches!(*name, "fabs" | "sqrt"))
}

/// What values are written in.
pub(super) struct Strips<'a> {
    pub(super) strip: Strip,
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
        let ty = self.strip_type(strips.strip);
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
                Expr::Call { function, arguments } => {
                    if walk.waits_for(arguments.iter().copied(), |id| texts.contains_key(id)) {
                        continue;
                    }
                    let function = vector_function(&self.kernel[*function]);
                    let name = function.map(|function| self.strip_function(function, strips.strip));
                    let of = |at: usize| {
                        let arguments: Vec<Text> = arguments.iter().map(|one| texts[one][at].clone()).collect();
                        Some(Text::call(name.as_deref()?, &arguments))
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
                    code.push(Code::line(format!("const {ty} {name} = {};", text.text)));
                    *text = Text::primary(name);
                }
            }
            texts.insert(id, list);
        }
    }

    /// How far in memory an access goes from one iteration to the next, if that is one element.
    pub(super) fn step_of(&self, array: ArrayId, indices: &[ExprId], iname: InameId) -> Option<i64> {
        self.stride_of(array, indices, iname).filter(|step| step.abs() == 1)
    }

    /// How far in memory an access goes from one iteration to the next, if it goes in equal steps.
    pub(super) fn stride_of(&self, array: ArrayId, indices: &[ExprId], iname: InameId) -> Option<i64> {
        let layout = self.arrays.layout(array);
        let is_plain = self.kernel[array].stored.is_none()
            && matches!(layout.storage, Storage::Flat | Storage::Heap | Storage::Nested);
        let (mut stride, mut size) = (0_i64, Some(1_i64));
        for (&index, extent) in indices.iter().zip(&layout.extents).rev() {
            let moves = affine::of(&self.kernel.exprs, index)?.coefficient(Var::Iname(iname));
            if moves != 0 {
                stride = stride.checked_add(moves.checked_mul(size?)?)?;
            }
            size = match extent {
                Extent::Number(extent) => size.and_then(|size| size.checked_mul(*extent)),
                _ => None,
            };
        }
        (is_plain && stride != 0).then_some(stride)
    }

    /// The type of a vector, which is defined once, with the sum of its lanes.
    pub(super) fn strip_type(&mut self, strip: Strip) -> String {
        let (ty, size, bytes, suffix) = (strip.dtype.c_name(), strip.dtype.size(), strip.bytes(), suffix(strip.dtype));
        let (name, prefix) = (strip.name(), strip.prefix());
        let lanes: Vec<String> = (0..strip.n_lanes()).map(|lane| format!("a[{lane}]")).collect();
        let definition = format!(
            "/* Neighbours in memory, and the sum of lanes. */\n#if defined(__GNUC__)\n\
             typedef {ty} {name} __attribute__((vector_size({bytes})));\n\
             typedef {ty} {name}_loose __attribute__((vector_size({bytes}), aligned({size}), may_alias));\n\
             {INLINE} {name} {prefix}_load_{suffix}(const {ty} *at)\n{{\n    return *(const {name}_loose *)at;\n}}\n\
             {INLINE} {ty} {prefix}_total_{suffix}({name} a)\n{{\n    return {};\n}}\n#endif\n",
            halves(&lanes)
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }

    /// A vector of elements in equal steps, from the address of the first lane.
    pub(super) fn load_in_steps(&mut self, strip: Strip, step: i64, address: &str) -> String {
        if step.abs() == 1 {
            return format!("{}({address})", self.load(strip, step < 0));
        }
        let (ty, suffix, prefix) = (strip.dtype.c_name(), suffix(strip.dtype), strip.prefix());
        let (vector, name) = (self.strip_type(strip), format!("{prefix}_load_apart_{suffix}"));
        let lanes: Vec<String> = (0..strip.n_lanes()).map(|lane| format!("at[{lane}*step]")).collect();
        let definition = format!(
            "/* Elements in equal steps. */\n#if defined(__GNUC__)\n\
             {INLINE} {vector} {name}(const {ty} *at, int64_t step)\n{{\n    return ({vector}){{{}}};\n}}\n#endif\n",
            lanes.join(", ")
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        format!("{name}({address}, {step})")
    }

    /// The function that loads neighbours in memory, to be called with the address of the first lane.
    pub(super) fn load(&mut self, strip: Strip, is_back: bool) -> String {
        let (ty, suffix, prefix) = (strip.dtype.c_name(), suffix(strip.dtype), strip.prefix());
        if !is_back {
            return format!("{prefix}_load_{suffix}");
        }
        let (vector, name) = (self.strip_type(strip), format!("{prefix}_load_back_{suffix}"));
        let last = strip.n_lanes() - 1;
        let lanes: Vec<String> = (0..=last).rev().map(|lane| format!("a[{lane}]")).collect();
        let definition = format!(
            "/* Neighbours in memory, backwards. */\n#if defined(__GNUC__)\n\
             {INLINE} {vector} {name}(const {ty} *at)\n{{\n    \
             const {vector} a = {prefix}_load_{suffix}(at - {last});\n    return ({vector}){{{}}};\n}}\n#endif\n",
            lanes.join(", ")
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }

    /// The function that stores neighbours in memory, to be called with the address of the first lane and a vector.
    pub(super) fn store(&mut self, strip: Strip, is_back: bool) -> String {
        let (ty, suffix) = (strip.dtype.c_name(), suffix(strip.dtype));
        let (vector, words) = (self.strip_type(strip), if is_back { "store_back" } else { "store" });
        let name = format!("{}_{words}_{suffix}", strip.prefix());
        let (note, first, value) = if is_back {
            let lanes: Vec<String> = (0..strip.n_lanes()).rev().map(|lane| format!("a[{lane}]")).collect();
            (", backwards", format!("(at - {})", lanes.len() - 1), format!("({vector}){{{}}}", lanes.join(", ")))
        } else {
            ("", "at".to_owned(), "a".to_owned())
        };
        let definition = format!(
            "/* Stores neighbours in memory{note}. */\n#if defined(__GNUC__)\n\
             {INLINE} void {name}({ty} *at, {vector} a)\n{{\n    *({vector}_loose *){first} = {value};\n}}\n#endif\n"
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }

    /// The function of vectors that is one of [`vector_function`] for each lane.
    fn strip_function(&mut self, function: &str, strip: Strip) -> String {
        let (ty, dtype) = (self.strip_type(strip), strip.dtype);
        let name = format!("{}_{function}_{}", strip.prefix(), suffix(dtype));
        let function = format!("{function}{}", float_suffix(dtype));
        let bits = format!("{name}_bits");
        let of = EachLane { function: &function, dtype, n_arguments: 1, ty: &ty, bits: &bits };
        let integers = if dtype == Dtype::Float32 { Dtype::Int32 } else { Dtype::Int64 };
        let definition = format!(
            "#if defined(__GNUC__)\ntypedef {} {bits} __attribute__((vector_size({})));\n{}#endif\n",
            integers.c_name(),
            strip.bytes(),
            of.definition(&name, strip.n_lanes() as i64)
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
