//! Blocks of arguments, from rows of elements to vectors and back.
//!
//! # Output
//! Functions that copy a block of W elements with S values each into S vectors (*pack*), out of them (*unpack*), or add them (*add*). W rows of W values are
//! turned by log2 W rounds of shuffles; what S leaves over goes value by value. A short block packs its last element
//! again for the lanes that it lacks, and unpacks those that it has.
//! # Source
//! The rounds of shuffles: Eklundh, "A fast computer method for matrix transposing", IEEE Transactions on Computers, 1972.

use nestegg_ir::{ArrayId, Dtype};

use super::arrays::{Extent, Storage, n_elements};
use super::lanes::{Held, Way};
use super::layout::Code;
use super::loops::Loops;
use super::text::{Precedence, Text, type_name};
use super::writer::Writer;
use super::bounds::Spelling;
use super::error::CodegenError;

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
        let n_lanes = match &lanes.limit {
            None => width.to_string(),
            Some(_) => self.symbols.names.fresh("n_lanes"),
        };
        let mut res = Vec::new();
        if let Some(limit) = &lanes.limit {
            let dtype = self.symbols.iname_dtype(lanes.lane);
            let failed = |error| CodegenError::Bounds { iname: self.kernel[lanes.lane].name.clone(), error };
            let after = limit.add(&nestegg_isl::Affine::constant(1)).map_err(failed)?;
            let loops: &mut Loops = &mut self.loops;
            let mut spelling = Spelling { kernel: self.kernel, symbols: &self.symbols, helpers: &mut self.helpers, loops };
            let left = spelling.affine(&after, dtype).at_least(Precedence::Sum);
            let ty = type_name(dtype);
            res.push(Code::line(format!("const {ty} {n_lanes} = {left} < {width} ? {left} : {width};")));
        }
        for &(array, way) in &ways {
            if matches!(way, Way::In | Way::InOut) {
                res.push(self.copy(array, "pack", &n_lanes));
            }
        }
        res.extend(body);
        for &(array, way) in &ways {
            match way {
                Way::In => {}
                Way::Out | Way::InOut => res.push(self.copy(array, "unpack", &n_lanes)),
                Way::Added => res.push(self.copy(array, "add", &n_lanes)),
            }
        }
        Ok(res)
    }

    /// One call that copies a block.
    fn copy(&mut self, array: ArrayId, what: &str, n_lanes: &str) -> Code {
        let Some(lanes) = self.lanes.clone() else { return Code::line(";") };
        let (copy, layout) = self.arrays.copies[&array].clone();
        let size = n_elements(&layout.extents).unwrap_or(1);
        let dtype = self.kernel[array].dtype;
        let is_interleaved = lanes.held[array.index()] == Held::Interleaved;
        let first = match layout.storage {
            Storage::Variable => format!("&{copy}"),
            Storage::Nested => format!("&{copy}{}", "[0]".repeat(layout.extents.len())),
            _ => copy,
        };
        let block = Text::primary(self.symbols.inames[lanes.block.index()].as_str());
        let wide = block.cast(self.symbols.iname_dtype(lanes.block), Dtype::Int64);
        let offset = Text::product(&[Text::primary((size * lanes.width).to_string()), wide]).text;
        let memory = format!("{} + {offset}", self.symbols.arrays[array.index()]);
        let function = self.copying(what, dtype, is_interleaved);
        let arguments = if what == "pack" { format!("{first}, {memory}") } else { format!("{memory}, {first}") };
        Code::line(format!("{function}({arguments}, {size}, {n_lanes});"))
    }

    /// The function that copies blocks.
    fn copying(&mut self, what: &str, dtype: Dtype, is_interleaved: bool) -> String {
        let (ty, scalar) = (self.lanes_type(dtype), type_name(dtype));
        let width = self.lanes.as_ref().map_or(1, |lanes| lanes.width);
        let suffix = if is_interleaved { "_interleaved" } else { "" };
        let name = format!("lanes_{what}{suffix}_{ty}");
        if self.lane_functions.contains_key(&name) {
            return name;
        }
        let (whole, rest, short) = if is_interleaved { interleaved(what, &ty, width) } else { rows(what, &ty, width) };
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
            "/* {comment} */\nstatic inline __attribute__((always_inline)) void {name}(\n    {parameters}, int64_t size, int64_t n_lanes)\n{{\n    \
             if (n_lanes == {width}) {{\n        int64_t i = 0;\n{whole}        for (; i < size; ++i) {{\n{rest}        }}\n    }} else {{\n        \
             for (int64_t i = 0; i < size; ++i) {{\n{short}        }}\n    }}\n}}\n"
        );
        if !is_interleaved {
            self.lane_functions.insert(format!("lanes_0_turn_{ty}"), turn(&ty, width));
        }
        self.lane_functions.insert(name.clone(), definition);
        name
    }

    /// Whether the shape of a copy is one of numbers.
    pub(crate) fn copy_sizes(extents: &[Extent]) -> String {
        extents
            .iter()
            .map(|extent| match extent {
                Extent::Number(size) => format!("[{}]", (*size).max(1)),
                Extent::Text(_) => "[1]".to_owned(),
            })
            .collect()
    }
}

/// The parts of a function on rows of elements: whole squares, single values of whole blocks, values of short blocks.
fn rows(what: &str, ty: &str, width: i64) -> (String, String, String) {
    let row = |lane: i64| match lane {
        0 => "i".to_owned(),
        1 => "size + i".to_owned(),
        _ => format!("{lane}*size + i"),
    };
    let list = |item: &dyn Fn(i64) -> String| (0..width).map(item).collect::<Vec<_>>().join(",\n                ");
    let loose = format!("{ty}_loose");
    let mut whole = format!("        for (; i + {width} <= size; i += {width}) {{\n");
    match what {
        "pack" => {
            let loads = list(&|lane| format!("*(const {loose} *)(from + {})", row(lane)));
            whole += &format!("            {ty} r[{width}] = {{{loads}}};\n            lanes_turn_{ty}(r);\n");
            for lane in 0..width {
                whole += &format!("            to[i + {lane}] = r[{lane}];\n");
            }
        }
        _ => {
            let loads = list(&|lane| format!("from[i + {lane}]"));
            whole += &format!("            {ty} r[{width}] = {{{loads}}};\n            lanes_turn_{ty}(r);\n");
            let operator = if what == "add" { "+=" } else { "=" };
            for lane in 0..width {
                whole += &format!("            *({loose} *)(to + {}) {operator} r[{lane}];\n", row(lane));
            }
        }
    }
    whole += "        }\n";
    let rest = match what {
        "pack" => format!("            to[i] = ({ty}){{{}}};\n", list(&|lane| format!("from[{}]", row(lane)))),
        _ => {
            let operator = if what == "add" { "+=" } else { "=" };
            (0..width).map(|lane| format!("            to[{}] {operator} from[i][{lane}];\n", row(lane))).collect()
        }
    };
    let short = match what {
        "pack" => {
            let there = |lane: i64| match lane {
                0 => "from[i]".to_owned(),
                _ => format!("from[({lane} < n_lanes ? {lane} : n_lanes - 1)*size + i]"),
            };
            format!("            to[i] = ({ty}){{{}}};\n", (0..width).map(there).collect::<Vec<_>>().join(",\n                "))
        }
        _ => {
            let operator = if what == "add" { "+=" } else { "=" };
            format!(
                "            for (int l = 0; l < n_lanes; ++l) {{\n                to[l*size + i] {operator} from[i][l];\n            }}\n"
            )
        }
    };
    (whole, rest, short)
}

/// The same where the lanes of a value lie side by side.
fn interleaved(what: &str, ty: &str, width: i64) -> (String, String, String) {
    let loose = format!("{ty}_loose");
    let operator = if what == "add" { "+=" } else { "=" };
    let (rest, short) = match what {
        "pack" => (
            format!("            to[i] = *(const {loose} *)(from + {width}*i);\n"),
            {
                let there = |lane: i64| match lane {
                    0 => format!("from[{width}*i]"),
                    _ => format!("from[{width}*i + ({lane} < n_lanes ? {lane} : n_lanes - 1)]"),
                };
                let list: Vec<String> = (0..width).map(there).collect();
                format!("            to[i] = ({ty}){{{}}};\n", list.join(",\n                "))
            },
        ),
        _ => (
            format!("            *({loose} *)(to + {width}*i) {operator} from[i];\n"),
            format!(
                "            for (int l = 0; l < n_lanes; ++l) {{\n                to[{width}*i + l] {operator} from[i][l];\n            }}\n"
            ),
        ),
    };
    (String::new(), rest, short)
}

/// The function that transposes W vectors of W lanes.
fn turn(ty: &str, width: i64) -> String {
    let mut body = String::new();
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
    format!(
        "/* {width} rows of {width} values, transposed. */\nstatic inline __attribute__((always_inline)) void lanes_turn_{ty}({ty} *restrict r)\n{{\n    {ty} t;\n{body}}}\n"
    )
}
