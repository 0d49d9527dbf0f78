//! Blocks of arguments, from rows of elements to vectors and back.
//!
//! # Output
//! Functions that copy a block of W elements with S values each into S vectors (*pack*), out of them (*unpack*), or add them (*add*). W rows of W values are
//! turned by log2 W rounds of shuffles; what S leaves over goes value by value. Where statements without loops write each element once, squares of W
//! by W are turned as soon as they are complete ([`Writer::flushed`]), so that their vectors need no memory.
//!
//! A short block is borrowed: its rows are copied to a place for W rows, the last one again for those that it lacks, and what was written to rows that are
//! there is copied back. So all other code sees whole blocks.
//! # Source
//! The rounds of shuffles: Eklundh, "A fast computer method for matrix transposing", IEEE Transactions on Computers, 1972.

use nestegg_ir::{ArrayId, Dtype, InsnId};

use super::arrays::{Arrays, Copy, Extent, Storage};
use super::bounds::Spelling;
use super::error::CodegenError;
use super::lanes::{Held, Way};
use super::layout::Code;
use super::text::{Precedence, Text};
use super::writer::Writer;

impl Writer<'_> {
    /// The statements of a block with the copies of its arguments around them.
    pub(crate) fn packed(&mut self, body: Vec<Code>) -> Result<Vec<Code>, CodegenError> {
        let Some(lanes) = self.lanes.clone() else { return Ok(body) };
        let mut ways: Vec<(ArrayId, Way)> = lanes.ways.iter().map(|(&array, &way)| (array, way)).collect();
        ways.sort_unstable_by_key(|pair| pair.0);
        if ways.is_empty() {
            return Ok(body);
        }
        let width = lanes.width;
        let mut res = Vec::new();
        let mut n_lanes = String::new();
        if let Some(limit) = &lanes.limit {
            n_lanes = self.symbols.names.fresh("n_lanes");
            let dtype = self.symbols.iname_dtype(lanes.lane);
            let failed = |error| CodegenError::Bounds { iname: self.kernel[lanes.lane].name.clone(), error };
            let after = limit.add(&nestegg_isl::Affine::constant(1)).map_err(failed)?;
            let (symbols, helpers, loops) = (&self.symbols, &mut self.helpers, &mut self.loops);
            let left = Spelling { kernel: self.kernel, symbols, helpers, loops }.affine(&after, dtype);
            let (ty, left) = (dtype.c_name(), left.at_least(Precedence::Sum));
            res.push(Code::line(format!("const {ty} {n_lanes} = {left} < {width} ? {left} : {width};")));
        }
        let (mut borrowed, mut given_back) = (Vec::new(), Vec::new());
        for &(array, way) in &ways {
            let Copy { pointer, rest, size, .. } = self.arrays.copies[&array].clone();
            let (ty, name) = (self.kernel[array].dtype.c_name(), self.symbols.arrays[array.index()].clone());
            let constant = if way == Way::In { "const " } else { "" };
            let block = Text::primary(self.symbols.inames[lanes.block.index()].as_str());
            let block = block.cast(self.symbols.iname_dtype(lanes.block), Dtype::Int64);
            let first = Text::product(&[Text::primary((size * width).to_string()), block]).text;
            res.push(Code::line(format!("{constant}{ty} *{pointer} = {name} + {first};")));
            if way != Way::Out {
                let function = self.borrowing("borrow", array);
                borrowed.push(Code::line(format!("{function}({rest}, {pointer}, {size}, {n_lanes});")));
            }
            borrowed.push(Code::line(format!("{pointer} = {rest};")));
            if way != Way::In {
                let function = self.borrowing("give_back", array);
                given_back.push(Code::line(format!("{function}({name} + {first}, {rest}, {size}, {n_lanes});")));
            }
        }
        let is_short = format!("if ({n_lanes} < {width})");
        if lanes.limit.is_some() {
            res.push(Code::Block { head: is_short.clone(), body: borrowed });
        }
        for &(array, way) in &ways {
            if matches!(way, Way::In | Way::InOut) {
                res.push(self.copy(array, "pack"));
            }
        }
        res.extend(body);
        for &(array, way) in &ways {
            if lanes.is_flushed(array) {
                continue;
            }
            match way {
                Way::In => {}
                Way::Out | Way::InOut => res.push(self.copy(array, "unpack")),
                Way::Added => res.push(self.copy(array, "add")),
            }
        }
        if lanes.limit.is_some() && !given_back.is_empty() {
            res.push(Code::Block { head: is_short, body: given_back });
        }
        Ok(res)
    }

    /// What an instruction completes: squares of values, or single ones, that go to memory.
    pub(crate) fn flushed(&mut self, insn: InsnId) -> Vec<Code> {
        let Some(lanes) = self.lanes.clone() else { return Vec::new() };
        let mut res = Vec::new();
        for (array, start, written) in lanes.flushes.get(&insn).map_or(&[][..], Vec::as_slice) {
            let (array, start, n) = (*array, *start, written.len());
            // Added to a zero of either sign, it leaves that sign alone.
            let nothing = format!("-({}){{0}}", self.lanes_type(self.kernel[array].dtype));
            let Copy { name, pointer, layout, size, .. } = self.arrays.copies[&array].clone();
            let what = if lanes.ways.get(&array) == Some(&Way::Added) { "add" } else { "unpack" };
            let values: Vec<String> = (start..start + n)
                .zip(written)
                .map(|(at, &is_written)| {
                    if !is_written {
                        return nothing.clone();
                    }
                    let mut rest = at;
                    let mut indices: Vec<Text> = Vec::new();
                    for extent in layout.extents.iter().rev() {
                        let Extent::Number(extent) = extent else { continue };
                        let extent = usize::try_from(*extent).unwrap_or(1).max(1);
                        indices.insert(0, Text::primary((rest % extent).to_string()));
                        rest /= extent;
                    }
                    Arrays::element_of(&name, &layout, &indices).text
                })
                .collect();
            let function = self.square(what, self.kernel[array].dtype, n);
            let to = if start == 0 { pointer } else { format!("{pointer} + {start}") };
            res.push(Code::line(format!("{function}({to}, {size}, {});", values.join(", "))));
        }
        res
    }

    /// One call that copies a block.
    fn copy(&mut self, array: ArrayId, what: &str) -> Code {
        let Some(lanes) = self.lanes.clone() else { return Code::line(";") };
        let Copy { name, pointer, layout, size, .. } = self.arrays.copies[&array].clone();
        let dtype = self.kernel[array].dtype;
        let is_interleaved = lanes.held[array.index()] == Held::Interleaved;
        let first = match layout.storage {
            Storage::Variable => format!("&{name}"),
            Storage::Nested => format!("&{name}{}", "[0]".repeat(layout.extents.len())),
            _ => name,
        };
        let function = self.copying(what, dtype, is_interleaved);
        let arguments = if what == "pack" { format!("{first}, {pointer}") } else { format!("{pointer}, {first}") };
        Code::line(format!("{function}({arguments}, {size});"))
    }

    /// The function that copies blocks.
    fn copying(&mut self, what: &str, dtype: Dtype, is_interleaved: bool) -> String {
        let (ty, scalar) = (self.lanes_type(dtype), dtype.c_name());
        let width = self.lanes.as_ref().map_or(1, |lanes| lanes.width);
        let suffix = if is_interleaved { "_interleaved" } else { "" };
        let name = format!("lanes_{what}{suffix}_{ty}");
        if self.lane_functions.contains_key(&name) {
            return name;
        }
        let (whole, rest) = if is_interleaved { interleaved(what, &ty, width) } else { rows(what, &ty, width) };
        let parameters = match what {
            "pack" => format!("{ty} *restrict to, const {scalar} *restrict from"),
            _ => format!("{scalar} *restrict to, const {ty} *restrict from"),
        };
        let comment = match what {
            "pack" => "A block of elements as vectors.",
            "unpack" => "Vectors as a block of elements.",
            _ => "Vectors added to a block of elements.",
        };
        let definition = format!(
            "/* {comment} */\n{INLINE} void {name}(\n    {parameters}, int64_t size)\n{{\n    \
             int64_t i = 0;\n{whole}    for (; i < size; ++i) {{\n{rest}    }}\n}}\n"
        );
        if !is_interleaved && whole.contains("lanes_turn") {
            self.turning(dtype);
        }
        self.lane_functions.insert(name.clone(), definition);
        name
    }

    /// Defines the function that transposes squares.
    fn turning(&mut self, dtype: Dtype) {
        let (ty, width) = (self.lanes_type(dtype), self.lanes.as_ref().map_or(1, |lanes| lanes.width));
        let definition = turn(&ty, dtype.c_name(), width, width * dtype.size() as i64);
        self.lane_functions.insert(format!("lanes_0_turn_{ty}"), definition);
    }

    /// The function that takes a complete square to memory, or one vector.
    fn square(&mut self, what: &str, dtype: Dtype, n: usize) -> String {
        let (ty, scalar) = (self.lanes_type(dtype), dtype.c_name());
        let width = self.lanes.as_ref().map_or(1, |lanes| lanes.width);
        let operator = if what == "add" { "+=" } else { "=" };
        let name = format!("lanes_{what}_{n}_{ty}");
        let parameters: Vec<String> = (0..n).map(|at| format!("{ty} x{at}")).collect();
        let values: Vec<String> = (0..n).map(|at| format!("x{at}")).collect();
        let body: String = if n == 1 {
            (0..width).map(|lane| format!("    to[{}] {operator} x0[{lane}];\n", row(lane, ""))).collect()
        } else {
            self.turning(dtype);
            let stores: String = (0..width)
                .map(|lane| format!("    *({ty}_loose *)(to + {}) {operator} r[{lane}];\n", row(lane, "")))
                .collect();
            format!("    {ty} r[{n}] = {{{}}};\n    lanes_turn_{ty}(r);\n{stores}", values.join(", "))
        };
        let definition = format!(
            "{INLINE} void {name}(\n    {scalar} *to, int64_t size, {})\n{{\n{body}}}\n",
            parameters.join(", ")
        );
        self.lane_functions.insert(name.clone(), definition);
        name
    }

    /// The function that borrows the rows of a short block, or gives them back.
    fn borrowing(&mut self, what: &str, array: ArrayId) -> String {
        let Some(lanes) = self.lanes.clone() else { return String::new() };
        let (scalar, width) = (self.kernel[array].dtype.c_name(), lanes.width);
        let is_interleaved = lanes.held[array.index()] == Held::Interleaved;
        let suffix = if is_interleaved { "_interleaved" } else { "" };
        let name = format!("lanes_{what}{suffix}_{scalar}x{width}");
        let at = |lane: &str| if is_interleaved { format!("i*{width} + {lane}") } else { format!("{lane}*size + i") };
        let (comment, n, from) = match what {
            "borrow" => (
                "Whole rows for a short block: its last element stands for those that it lacks.",
                width.to_string(),
                "there",
            ),
            _ => ("The rows of a short block.", "n_lanes".to_owned(), "lane"),
        };
        let there = match what {
            "borrow" => "        const int64_t there = lane < n_lanes ? lane : n_lanes - 1;\n",
            _ => "",
        };
        let definition = format!(
            "/* {comment} */\nstatic inline void {name}(\n    {scalar} *restrict to, const {scalar} *restrict from, int64_t size, int64_t n_lanes)\n{{\n    \
             for (int64_t lane = 0; lane < {n}; ++lane) {{\n{there}        \
             for (int64_t i = 0; i < size; ++i) to[{}] = from[{}];\n    }}\n}}\n",
            at("lane"),
            at(from)
        );
        self.lane_functions.insert(name.clone(), definition);
        name
    }

    /// The sizes of a copy in C.
    pub(crate) fn copy_sizes(extents: &[Extent]) -> String {
        extents
            .iter()
            .map(|extent| match extent {
                Extent::Number(size) => format!("[{}]", (*size).max(1)),
                Extent::Text(_) | Extent::Unstated => "[1]".to_owned(),
            })
            .collect()
    }
}

/// How small functions on vectors begin: out of line, how vectors are passed depends on flags.
pub(crate) const INLINE: &str = "static inline __attribute__((always_inline))";

/// Where the row of a lane begins, and `rest` after it.
fn row(lane: i64, rest: &str) -> String {
    match (lane, rest.is_empty()) {
        (0, true) => "0".to_owned(),
        (0, false) => rest.to_owned(),
        (1, true) => "size".to_owned(),
        (1, false) => format!("size + {rest}"),
        (_, true) => format!("{lane}*size"),
        (_, false) => format!("{lane}*size + {rest}"),
    }
}

/// The parts of a function on rows of elements: whole squares, and single values.
fn rows(what: &str, ty: &str, width: i64) -> (String, String) {
    let list = |item: &dyn Fn(i64) -> String| (0..width).map(item).collect::<Vec<_>>().join(",\n            ");
    let loose = format!("{ty}_loose");
    let operator = if what == "add" { "+=" } else { "=" };
    let mut whole = format!("    for (; i + {width} <= size; i += {width}) {{\n");
    let loads = match what {
        "pack" => list(&|lane| format!("*(const {loose} *)(from + {})", row(lane, "i"))),
        _ => list(&|lane| format!("from[i + {lane}]")),
    };
    whole += &format!("        {ty} r[{width}] = {{{loads}}};\n        lanes_turn_{ty}(r);\n");
    for lane in 0..width {
        whole += &match what {
            "pack" => format!("        to[i + {lane}] = r[{lane}];\n"),
            _ => format!("        *({loose} *)(to + {}) {operator} r[{lane}];\n", row(lane, "i")),
        };
    }
    whole += "    }\n";
    let rest = match what {
        "pack" => format!("        to[i] = ({ty}){{{}}};\n", list(&|lane| format!("from[{}]", row(lane, "i")))),
        _ => (0..width).map(|lane| format!("        to[{}] {operator} from[i][{lane}];\n", row(lane, "i"))).collect(),
    };
    (whole, rest)
}

/// The same where the lanes of a value lie side by side.
fn interleaved(what: &str, ty: &str, width: i64) -> (String, String) {
    let operator = if what == "add" { "+=" } else { "=" };
    let rest = match what {
        "pack" => format!("        to[i] = *(const {ty}_loose *)(from + {width}*i);\n"),
        _ => format!("        *({ty}_loose *)(to + {width}*i) {operator} from[i];\n"),
    };
    (String::new(), rest)
}

/// The function that transposes W vectors of W lanes, which have so many bytes each.
///
/// Compilers take shuffles apart, lane by lane, if the machine has no such vectors; so vectors that it may not have are transposed in halves.
fn turn(ty: &str, scalar: &str, width: i64, bytes: i64) -> String {
    let shuffled = shuffled(ty, width);
    let has_vectors = match bytes {
        ..=16 => None,
        32 => Some("defined(__AVX__)"),
        64 => Some("defined(__AVX512F__)"),
        _ => Some("0"),
    };
    let (before, body) = match has_vectors {
        None => (String::new(), shuffled),
        Some(has_vectors) => {
            let half = format!("{ty}_half");
            let before = format!(
                "#if !({has_vectors})\ntypedef {scalar} {half} __attribute__((vector_size({}), may_alias));\n{}#endif\n",
                bytes / 2,
                turn(&half, scalar, width / 2, bytes / 2)
            );
            (before, format!("#if {has_vectors}\n{shuffled}#else\n{}#endif\n", halved(&half, width / 2)))
        }
    };
    format!(
        "{before}/* {width} rows of {width} values, transposed. */\n{INLINE} void lanes_turn_{ty}({ty} *restrict r)\n{{\n{body}}}\n"
    )
}

/// A transposition by shuffles of two vectors.
fn shuffled(ty: &str, width: i64) -> String {
    let mut body = format!("    {ty} t;\n");
    let mut step = 1;
    while step < width {
        for first in (0..width).filter(|first| first & step == 0) {
            let second = first + step;
            let low = (0..width).map(|lane| if lane & step == 0 { lane } else { width + lane - step });
            let high = (0..width).map(|lane| if lane & step == 0 { lane + step } else { width + lane });
            let list = |lanes: &mut dyn Iterator<Item = i64>| {
                lanes.map(|lane| lane.to_string()).collect::<Vec<_>>().join(", ")
            };
            let (low, high) = (list(&mut low.into_iter()), list(&mut high.into_iter()));
            body += &format!("    t = r[{first}];\n");
            body += &format!("    r[{first}] = NESTEGG_SHUFFLE(t, r[{second}], {low});\n");
            body += &format!("    r[{second}] = NESTEGG_SHUFFLE(t, r[{second}], {high});\n");
        }
        step *= 2;
    }
    body
}

/// A transposition by those of the four quarters, of which two change places; vectors have two halves of `width` lanes.
fn halved(half: &str, width: i64) -> String {
    let quarter = |name: &str, row: i64, column: i64| {
        let rows: Vec<String> = (0..width).map(|at| format!("h[{}]", 2 * (row * width + at) + column)).collect();
        format!("    {half} {name}[{width}] = {{{}}};\n    lanes_turn_{half}({name});\n", rows.join(", "))
    };
    let stored = |name: &str, row: i64, column: i64| {
        let rows = (0..width).map(|at| format!("    h[{}] = {name}[{at}];\n", 2 * (row * width + at) + column));
        rows.collect::<String>()
    };
    let mut body = format!("    {half} *const h = ({half} *)r;\n");
    let places = [("a", 0, 0), ("b", 0, 1), ("c", 1, 0), ("d", 1, 1)];
    body.extend(places.map(|(name, row, column)| quarter(name, row, column)));
    body.extend(places.map(|(name, row, column)| stored(name, column, row)));
    body
}
