//! Loops that write a symmetric matrix: tiles above the diagonal are computed once and written twice.
//!
//! # Input
//! Two loops from 0 to n around one assignment to the elements `[i, j]` of an array of n by n: the sum of [`MIN_TABLES`] or more tables, each read at
//! `[i, j]` and symmetric to the bit, times scalars; or that sum added to the element.
//! # Output
//! The same elements, equal to the bit: element `[j, i]` is the same operations on the same numbers as `[i, j]`. Tiles of 4 by 4 are computed in vectors of gcc and clang, written, transposed, and
//! written again on the other side of the diagonal; other compilers get loops over the elements of a tile. The numbers that are read stand in one new table, in the order
//! in which they are read, so that about half of the numbers are loaded, by vectors through one pointer. Rows that are left over are written along the row
//! and along the column.
//! # Complexity
//! Linear in the numbers of the tables.
//! # Not done
//! Matrices with fewer rows, or of fewer tables: there the shuffles and the elements that are left over take longer than the loads that are saved.

use std::collections::{BTreeMap, BTreeSet};

use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, Exprs, InameId, InsnId, InstructionKind, LoopTree, Number, Op};

use super::arrays::{Extent, Storage};
use super::layout::{self, Code};
use super::literal::literal;
use super::packing::INLINE;
use super::text::Text;
use super::writer::Writer;

/// Rows and columns of a tile: the float64 of a vector of 32 bytes.
const TILE: usize = 4;
/// The fewest tables.
const MIN_TABLES: usize = 4;
/// The fewest and the most rows.
const ROWS: (usize, usize) = (12, 256);

/// The matrix that two loops write.
struct Mirrored {
    /// The array, in C.
    array: String,
    /// `=` or `+=`.
    operator: &'static str,
    /// Rows, and columns.
    n: usize,
    /// The operations of the sum, operands first.
    operations: Vec<ExprId>,
    /// The tables, by the expressions that read them.
    tables: BTreeMap<ExprId, ArrayId>,
    /// The operands that are added, in order.
    sum: Vec<ExprId>,
}

impl Writer<'_> {
    /// The statements of a loop over `row` that writes a symmetric matrix; `None` if it does something else.
    pub(crate) fn mirrored(&mut self, row: InameId, body: &[LoopTree]) -> Option<Vec<Code>> {
        let [LoopTree::Loop { iname: column, body }] = body else { return None };
        let [LoopTree::Run(insn)] = body.as_slice() else { return None };
        if !self.mirrors || self.lanes.is_some() {
            return None;
        }
        let matrix = self.matrix(row, *column, *insn)?;
        let table = self.symbols.names.fresh("mirrored");
        let numbers = self.numbers(&matrix);
        let mut text = String::new();
        let list: Vec<String> = numbers.iter().map(|&number| literal(number, Dtype::Float64).text).collect();
        let line = format!("static _Alignas(32) const double {table}[{}] = {{{}}};", list.len(), list.join(", "));
        layout::comment("", "the numbers of symmetric tables, in the order in which they are read", &mut text);
        layout::print(&[Code::Line(line)], 0, &mut text);
        text.push('\n');
        self.mirrored_tables.push(text);
        self.lane_functions.insert("tile_turn".to_owned(), turn());
        let names = Names {
            row: self.symbols.inames[row.index()].clone(),
            column: self.symbols.inames[column.index()].clone(),
            next: self.symbols.names.fresh("next"),
            tile: self.symbols.names.fresh("tile"),
            table,
        };
        let comment = "a symmetric matrix: tiles above the diagonal are computed once and written twice";
        let block = |body| vec![Code::Block { head: String::new(), body }];
        let mut res = vec![Code::Comment(comment.to_owned())];
        res.extend(Code::either(
            block(self.in_vectors_of_rows(&matrix, &names)),
            block(self.one_by_one(&matrix, &names)),
        ));
        Some(res)
    }

    /// The matrix, if the instruction writes one.
    fn matrix(&self, row: InameId, column: InameId, insn: InsnId) -> Option<Mirrored> {
        let kernel = self.kernel;
        let n = self.extent(row).filter(|&n| self.extent(column) == Some(n) && (ROWS.0..=ROWS.1).contains(&n))?;
        let instruction = &kernel[insn];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
        let is_here = |indices: &[ExprId]| match indices {
            [i, j] => kernel.exprs[*i] == Expr::Iname(row) && kernel.exprs[*j] == Expr::Iname(column),
            _ => false,
        };
        let is_square = |array: ArrayId| {
            let layout = self.arrays.layout(array);
            let is_n = |extent: &Extent| matches!(extent, Extent::Number(size) if usize::try_from(*size) == Ok(n));
            kernel[array].dtype == Dtype::Float64
                && kernel[array].stored.is_none()
                && layout.extents.len() == 2
                && is_n(&layout.extents[1])
                && (is_n(&layout.extents[0]) || kernel[array].table().is_none())
        };
        let is_flat = matches!(self.arrays.layout(assignee.array).storage, Storage::Flat | Storage::Heap);
        if !instruction.predicates.is_empty() || !is_flat || !is_here(&assignee.indices) || !is_square(assignee.array) {
            return None;
        }
        let is_target = |id: ExprId| matches!(&kernel.exprs[id], Expr::Access { array, indices } if *array == assignee.array && is_here(indices));
        let (operator, sum) = update(&kernel.exprs, *expression, &is_target);
        let mut operations = below(&kernel.exprs, sum.iter().copied());
        operations.sort_unstable();
        let mut tables = BTreeMap::new();
        let is_iname = |id: ExprId| matches!(kernel.exprs[id], Expr::Iname(_));
        let mut n_uses = vec![0_u32; kernel.exprs.len()];
        for &id in &operations {
            match &kernel.exprs[id] {
                Expr::Access { array, indices } if is_here(indices) => {
                    let values = kernel[*array].table().filter(|_| is_square(*array))?;
                    if !is_symmetric(values, n) {
                        return None;
                    }
                    tables.insert(id, *array);
                }
                Expr::Access { array, indices } if indices.is_empty() && *array != assignee.array => {}
                Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Neg, operands } => {
                    if operands.iter().any(|&operand| is_iname(operand)) {
                        return None;
                    }
                    operands.iter().for_each(|operand| n_uses[operand.index()] += 1);
                }
                Expr::Number(Number::Float(_)) | Expr::Iname(_) => {}
                _ => return None,
            }
        }
        // What is left are the indices of tables.
        operations.retain(|&id| !is_iname(id));
        let is_fit = |&id: &ExprId| {
            let is_shared = matches!(kernel.exprs[id], Expr::Op { .. }) && n_uses[id.index()] > 1;
            !is_shared && self.facts.dtype(id) == Dtype::Float64
        };
        if tables.len() < MIN_TABLES || !operations.iter().all(is_fit) {
            return None;
        }
        let array = self.symbols.arrays[assignee.array.index()].clone();
        Some(Mirrored { array, operator, n, operations, tables, sum })
    }

    /// How often a loop runs, if it begins at 0, depends on no other, and has no tag.
    pub(crate) fn extent(&self, iname: InameId) -> Option<usize> {
        if !self.kernel[iname].tags.is_empty() {
            return None;
        }
        let (low, high) = self.loops.box_of(self.kernel, iname)?;
        usize::try_from(high.checked_add(1)?).ok().filter(|_| low == 0)
    }

    /// The numbers of the tables in the order in which they are read.
    fn numbers(&self, matrix: &Mirrored) -> Vec<Number> {
        let n = matrix.n;
        let whole = n / TILE * TILE;
        let tables: Vec<&[Number]> =
            matrix.tables.values().filter_map(|&array| self.kernel[array].table().map(|values| &**values)).collect();
        let mut res = Vec::new();
        let mut row = |i: usize, first: usize, length: usize| {
            for values in &tables {
                res.extend_from_slice(&values[i * n + first..i * n + first + length]);
            }
        };
        for i in (0..whole).step_by(TILE) {
            for j in (i..whole).step_by(TILE) {
                (i..i + TILE).for_each(|at| row(at, j, TILE));
            }
            (whole..n).for_each(|at| row(at, i, TILE));
        }
        for at in whole..n {
            (whole..n).for_each(|column| row(at, column, 1));
        }
        res
    }

    /// The sum, given the text of the number of each table.
    fn value(&self, matrix: &Mirrored, number: &dyn Fn(usize) -> String) -> String {
        self.sum_of(&matrix.operations, &matrix.sum, &|id| self.access(matrix, id, number)).text
    }

    /// An access, given the text of the number of each table.
    fn access(&self, matrix: &Mirrored, id: ExprId, number: &dyn Fn(usize) -> String) -> Text {
        match (matrix.tables.keys().position(|&table| table == id), &self.kernel.exprs[id]) {
            (Some(at), _) => Text::primary(number(at)),
            (None, Expr::Access { array, .. }) => {
                super::facts::read_element(self.kernel, &self.symbols, &self.arrays, *array, &[])
            }
            _ => unreachable!("only accesses are asked for"),
        }
    }

    /// The text of a sum of sums, differences, products, quotients and signs of floats, operands first, given that of each access.
    pub(crate) fn sum_of(&self, operations: &[ExprId], sum: &[ExprId], access: &dyn Fn(ExprId) -> Text) -> Text {
        let texts = self.texts_of(operations, access);
        let sum: Vec<Text> = sum.iter().map(|operand| texts[operand].clone()).collect();
        if sum.len() == 1 { sum[0].clone() } else { Text::sum(&sum) }
    }

    /// The texts of such operations.
    fn texts_of(&self, operations: &[ExprId], access: &dyn Fn(ExprId) -> Text) -> BTreeMap<ExprId, Text> {
        let mut texts: BTreeMap<ExprId, Text> = BTreeMap::new();
        for &id in operations {
            let text = match &self.kernel.exprs[id] {
                Expr::Access { .. } => Some(access(id)),
                Expr::Number(number) => Some(literal(*number, self.facts.dtype(id))),
                Expr::Op { op, operands } => {
                    Text::arithmetic(*op, operands.iter().map(|operand| texts[operand].clone()).collect())
                }
                _ => None,
            };
            let Some(text) = text else { unreachable!("there are no other operations") };
            texts.insert(id, text);
        }
        texts
    }

    /// The statements that compute the rows of a tile. Each term is added to all rows before the next: no row waits for itself, and the scalars, which are more than
    /// there are registers, are loaded once for all.
    fn terms_of_rows(&mut self, matrix: &Mirrored, names: &Names) -> Vec<Code> {
        let next = |row: usize, table: usize| format!("{}[{}]", names.next, row * matrix.tables.len() + table);
        let of_row = |row: usize| {
            let access = |id: ExprId| self.access(matrix, id, &|table| next(row, table));
            self.texts_of(&matrix.operations, &access)
        };
        let texts: Vec<BTreeMap<ExprId, Text>> = (0..TILE).map(of_row).collect();
        let mut vectors: BTreeSet<ExprId> = matrix.tables.keys().copied().collect();
        for &id in &matrix.operations {
            if self.kernel.exprs[id].children().iter().any(|child| vectors.contains(child)) {
                vectors.insert(id);
            }
        }
        let terms = match matrix.sum.as_slice() {
            [one] => summands(&self.kernel.exprs, *one).unwrap_or(&matrix.sum),
            all => all,
        };
        let mut code = Vec::new();
        self.add_terms(&names.tile, terms, &Tile { texts, vectors }, &mut code);
        code
    }

    /// The statements that add terms up in these rows, of which at least one is a vector. Sums that are terms are added up in rows of their own.
    fn add_terms(&mut self, rows: &str, terms: &[ExprId], tile: &Tile, code: &mut Vec<Code>) {
        code.push(Code::line(format!("tile_row {rows}[{TILE}];")));
        let values: Vec<Vec<Text>> = terms
            .iter()
            .map(|term| match summands(&self.kernel.exprs, *term).filter(|_| tile.vectors.contains(term)) {
                Some(summands) => {
                    let part = self.symbols.names.fresh("part");
                    self.add_terms(&part, summands, tile, code);
                    (0..TILE).map(|row| Text::primary(format!("{part}[{row}]"))).collect()
                }
                None => tile.texts.iter().map(|texts| texts[term].clone()).collect(),
            })
            .collect();
        // A number alone is no vector.
        let first = terms.iter().position(|term| tile.vectors.contains(term)).map_or(0, |first| first + 1);
        for row in 0..TILE {
            let begin: Vec<Text> = values[..first].iter().map(|of_rows| of_rows[row].clone()).collect();
            code.push(Code::line(format!("{rows}[{row}] = {};", Text::sum(&begin).text)));
        }
        for of_rows in &values[first..] {
            for (row, value) in of_rows.iter().enumerate() {
                code.push(Code::line(match value.negated() {
                    Some(rest) => format!("{rows}[{row}] -= {rest};"),
                    None => format!("{rows}[{row}] += {};", value.text),
                }));
            }
        }
    }

    /// The statements with vectors.
    fn in_vectors_of_rows(&mut self, matrix: &Mirrored, names: &Names) -> Vec<Code> {
        let Mirrored { array, operator, n, tables, .. } = matrix;
        let Names { row, column, next, tile, table } = names;
        let (n_tables, whole) = (tables.len(), n / TILE * TILE);
        let vector = |place: String| format!("*(tile_row_loose *)({array} + {place})");
        let place = |first: &str, at: usize, second: &str| match at {
            0 => format!("{n}*{first} + {second}"),
            _ => format!("{n}*({first} + {at}) + {second}"),
        };
        let mut inner = self.terms_of_rows(matrix, names);
        inner.push(Code::line(format!("{next} += {};", TILE * n_tables)));
        let written = |first: &str, second: &str| -> Vec<Code> {
            let line = |at| format!("{} {operator} {tile}[{at}];", vector(place(first, at, second)));
            (0..TILE).map(|at| Code::line(line(at))).collect()
        };
        inner.extend(written(row, column));
        let mut again = vec![Code::line(format!("tile_turn({tile});"))];
        again.extend(written(column, row));
        inner.push(Code::Block { head: format!("if ({column} > {row})"), body: again });
        let mut outer = vec![Code::Block { head: tiles(column, row, whole), body: inner }];
        if whole < *n {
            let value = self.value(matrix, &|table| format!("{next}[{table}]"));
            let mut rest = vec![
                Code::line(format!("const tile_row {tile} = {value};")),
                Code::line(format!("{next} += {n_tables};")),
                Code::line(format!("{} {operator} {tile};", vector(place(column, 0, row)))),
            ];
            let line = |at| format!("{array}[{}] {operator} {tile}[{at}];", place(row, at, column));
            rest.extend((0..TILE).map(|at| Code::line(line(at))));
            outer.push(Code::Block { head: rows(column, whole, *n), body: rest });
        }
        let mut res = vec![
            Code::line(format!("const tile_row *{next} = (const tile_row *){table};")),
            Code::Block { head: tiles(row, "0", whole), body: outer },
        ];
        res.extend(self.corner(matrix, &|at| format!("((const double *){next})[{at}]")));
        res
    }

    /// The elements below and right of all tiles; the numbers of each by its place.
    fn corner(&self, matrix: &Mirrored, number: &dyn Fn(usize) -> String) -> Vec<Code> {
        let (n, n_tables) = (matrix.n, matrix.tables.len());
        let whole = n / TILE * TILE;
        let elements = (whole..n).flat_map(|i| (whole..n).map(move |j| (i, j))).enumerate();
        let line = |(at, (i, j)): (usize, (usize, usize))| {
            let value = self.value(matrix, &|table| number(at * n_tables + table));
            Code::line(format!("{}[{}] {} {value};", matrix.array, i * n + j, matrix.operator))
        };
        elements.map(line).collect()
    }

    /// The statements without vectors. Where the numbers of a tile begin follows from its row and column, as it must for C that is read back.
    fn one_by_one(&self, matrix: &Mirrored, names: &Names) -> Vec<Code> {
        let Mirrored { array, operator, n, tables, .. } = matrix;
        let Names { row, column, next, tile, table } = names;
        let (n_tables, whole) = (tables.len(), n / TILE * TILE);
        // The rows above hold `n_tables*(n - row)` numbers each, but for those left of the diagonal tiles.
        let before = format!("{n_tables}*{row}*({} - {row}/2)", n + TILE / 2);
        let begin = format!("const int32_t {next} = {before} + {}*({column} - {row});", TILE * n_tables);
        let value = self.value(matrix, &|at| {
            format!("{table}[{next} + {tile}/{TILE}*{} + {tile}%{TILE} + {}]", TILE * n_tables, TILE * at)
        });
        let (i, j) = (format!("({row} + {tile}/{TILE})"), format!("({column} + {tile}%{TILE})"));
        let element = Code::line(format!("{array}[{n}*{i} + {j}] {operator} {value};"));
        let mirror = Code::line(format!("{array}[{n}*{j} + {i}] {operator} {value};"));
        let each = vec![element, Code::Block { head: format!("if ({column} > {row})"), body: vec![mirror] }];
        let head = |n: usize| format!("for (int32_t {tile} = 0; {tile} < {n}; ++{tile})");
        let inner = vec![Code::line(begin.clone()), Code::Block { head: head(TILE * TILE), body: each }];
        let mut outer = vec![Code::Block { head: tiles(column, row, whole), body: inner }];
        if whole < *n {
            let value = self.value(matrix, &|at| format!("{table}[{next} + {tile} + {}]", TILE * at));
            let both = vec![
                Code::line(format!("{array}[{n}*{column} + {row} + {tile}] {operator} {value};")),
                Code::line(format!("{array}[{n}*({row} + {tile}) + {column}] {operator} {value};")),
            ];
            let rest = vec![Code::line(begin), Code::Block { head: head(TILE), body: both }];
            outer.push(Code::Block { head: rows(column, whole, *n), body: rest });
        }
        let corner = n_tables * whole * (n + TILE / 2 - whole / 2);
        let mut res = vec![Code::Block { head: tiles(row, "0", whole), body: outer }];
        res.extend(self.corner(matrix, &|at| format!("{table}[{}]", corner + at)));
        res
    }
}

/// The operator, `=` or `+=`, and the operands that are added on its right side. `(a + b) + x` is `x + (a + b)`, but `(x + a) + b` is not.
pub(crate) fn update(exprs: &Exprs, value: ExprId, is_target: &dyn Fn(ExprId) -> bool) -> (&'static str, Vec<ExprId>) {
    match &exprs[value] {
        Expr::Op { op: Op::Add, operands } => match operands.as_ref() {
            [before @ .., last] if is_target(*last) => ("+=", before.to_vec()),
            [first, last] if is_target(*first) => ("+=", vec![*last]),
            _ => ("=", vec![value]),
        },
        _ => ("=", vec![value]),
    }
}

/// The terms of a sum.
fn summands(exprs: &Exprs, value: ExprId) -> Option<&[ExprId]> {
    match &exprs[value] {
        Expr::Op { op: Op::Add, operands } => Some(operands),
        _ => None,
    }
}

/// The rows of a tile.
struct Tile {
    /// The texts of the operations in each row.
    texts: Vec<BTreeMap<ExprId, Text>>,
    /// The operations that differ between elements.
    vectors: BTreeSet<ExprId>,
}

/// What is called how in C.
struct Names {
    row: String,
    column: String,
    /// The numbers that are read next: a pointer to them, or their place.
    next: String,
    tile: String,
    table: String,
}

/// The loop over tiles from `first` on.
fn tiles(iname: &str, first: &str, end: usize) -> String {
    format!("for (int32_t {iname} = {first}; {iname} < {end}; {iname} += {TILE})")
}

/// The loop over rows.
fn rows(iname: &str, first: usize, end: usize) -> String {
    format!("for (int32_t {iname} = {first}; {iname} < {end}; ++{iname})")
}

/// Whether numbers are those of a symmetric matrix, to the bit.
fn is_symmetric(values: &[Number], n: usize) -> bool {
    let bits = |i: usize, j: usize| values.get(i * n + j).map(|value| value.to_f64().to_bits());
    values.len() == n * n && (0..n).all(|i| (0..i).all(|j| bits(i, j) == bits(j, i)))
}

/// The types of rows, and the function that transposes a tile.
fn turn() -> String {
    let bytes = TILE * 8;
    let mut body = String::new();
    for (a, b, low, high) in [
        (0, 1, "0, 4, 2, 6", "1, 5, 3, 7"),
        (2, 3, "0, 4, 2, 6", "1, 5, 3, 7"),
        (0, 2, "0, 1, 4, 5", "2, 3, 6, 7"),
        (1, 3, "0, 1, 4, 5", "2, 3, 6, 7"),
    ] {
        body += &format!("    t = r[{a}];\n    r[{a}] = NESTEGG_SHUFFLE(t, r[{b}], {low});\n");
        body += &format!("    r[{b}] = NESTEGG_SHUFFLE(t, r[{b}], {high});\n");
    }
    format!(
        "/* {TILE} rows of {TILE} values, transposed. */\n\
         #if defined(__GNUC__)\n\
         typedef double tile_row __attribute__((vector_size({bytes}), may_alias));\n\
         typedef double tile_row_loose __attribute__((vector_size({bytes}), aligned(8), may_alias));\n\
         {INLINE} void tile_turn(tile_row *restrict r)\n{{\n    tile_row t;\n{body}}}\n\
         #endif\n"
    )
}
