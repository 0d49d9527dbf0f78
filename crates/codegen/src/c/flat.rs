//! Short rows one after the other: two loops over the elements of a matrix become one over its memory.
//!
//! # Input
//! Two loops from 0 around one assignment, each access in which either stays the same in both, or goes through memory without a gap as they run:
//! `A[i, j]`, `T[i, j]`, `B[6*i + j]` in rows of 6. Rows are no whole number of vectors.
//! # Output
//! One loop, for compilers that have the vectors of gcc; all others get the two. Each element is the same operations on the same numbers, so it is equal to the bit.
//! # Method
//! A row of ten numbers is two vectors of four and a rest, and the vectors of every other row lie across two lines of the cache: ten rows one after
//! the other are 25 vectors, all in one line. Long loops that do little are marked to be unrolled, since compilers do that to short rows, but not to them.
//! # Complexity
//! Linear in the operations.
//! # Not done
//! Several assignments, functions, and conditions.

use nestegg_ir::affine::Var;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InstructionKind, LoopTree, Number, Op};
use rustc_hash::FxHashMap;

use super::arrays::Storage;
use super::evaluate::MAX_HEIGHT;
use super::layout::Code;
use super::mirrored::update;
use super::text::Text;
use super::writer::Writer;

/// Bytes of a vector.
const VECTOR: u64 = 32;
/// Elements of the matrix from which on the loop is marked; shorter ones compilers unroll completely.
const MIN_MARKED: usize = 65;
/// The most elements that a marked loop reads beside the one it writes: where it reads more, entering the next iteration takes no time of its own.
const MAX_LOADS: usize = 2;
/// The most elements: where they are more, rows are long.
const MAX_ELEMENTS: usize = 4096;
/// The mark.
const UNROLL: &str = "NESTEGG_UNROLL_8";
/// What it is.
const MARK: &str = "\
#if defined(__GNUC__) && !defined(__clang__)
#define NESTEGG_UNROLL_8 _Pragma(\"GCC unroll 8\")
#else
#define NESTEGG_UNROLL_8
#endif
";

/// Two loops: their inames, and the number of columns.
#[derive(Clone, Copy)]
struct Rows {
    row: InameId,
    column: InameId,
    n_columns: usize,
}

impl Writer<'_> {
    /// The loop over all elements in the place of loops over rows and columns; `None` if they do something else.
    pub(crate) fn flat(&mut self, row: InameId, body: &[LoopTree]) -> Option<Vec<Code>> {
        let [LoopTree::Loop { iname: column, body }] = body else { return None };
        let [LoopTree::Run(insn)] = body.as_slice() else { return None };
        let is_paired = self.pairs.as_ref().is_some_and(|pairs| pairs.roles.contains_key(insn));
        if !self.neighbours || self.lanes.is_some() || !self.threads.is_empty() || is_paired {
            return None;
        }
        let (kernel, exprs) = (self.kernel, &self.kernel.exprs);
        let InstructionKind::Assignment { assignee, expression } = &kernel[*insn].kind else { return None };
        let dtype = kernel[assignee.array].dtype;
        let (n_rows, n_columns) = (self.extent(row)?, self.extent(*column)?);
        let n = n_rows.checked_mul(n_columns).filter(|&n| n <= MAX_ELEMENTS)?;
        let is_whole = (n_columns as u64 * dtype.size()).is_multiple_of(VECTOR);
        if n_rows < 2 || n_columns < 2 || is_whole || !dtype.is_float() || !kernel[*insn].predicates.is_empty() {
            return None;
        }
        let rows = Rows { row, column: *column, n_columns };
        let target = self.offset(rows, assignee.array, &assignee.indices)?;
        let is_target = |id: ExprId| assignee.is_read_by(exprs, id);
        let (operator, sum) = update(exprs, *expression, &is_target);
        let (operations, offsets) = self.operations(rows, &sum, (assignee.array, &is_target))?;
        let is_exact = |&id: &ExprId| self.facts.dtype(id) == dtype;
        if !operations.iter().all(is_exact) {
            return None;
        }
        let at = self.symbols.names.fresh("element");
        let access = |id: ExprId| match (&exprs[id], offsets.get(&id)) {
            (Expr::Access { array, .. }, Some(&offset)) => self.in_memory(*array, &at, offset),
            _ => self.facts.cheap(id).cloned().unwrap_or_else(|| Text::primary("0")),
        };
        let value = self.sum_of(&operations, &sum, &access);
        if value.height > MAX_HEIGHT {
            return None;
        }
        let target = self.in_memory(assignee.array, &at, target);
        let mut res = vec![Code::Comment(format!("rows of {n_columns} one after the other"))];
        if n >= MIN_MARKED && offsets.len() <= MAX_LOADS {
            self.lane_functions.entry(UNROLL.to_owned()).or_insert_with(|| MARK.to_owned());
            res.push(Code::line(UNROLL));
        }
        let line = Code::line(format!("{} {operator} {};", target.text, value.text));
        let head = format!("for (int32_t {at} = 0; {at} < {n}; ++{at})");
        res.push(Code::Block { head, body: vec![line] });
        Some(res)
    }

    /// The operations of a sum, operands first, and how far from the element each access is that moves with it. `None` if there are other operations.
    fn operations(
        &self,
        rows: Rows,
        sum: &[ExprId],
        (target, is_target): (ArrayId, &dyn Fn(ExprId) -> bool),
    ) -> Option<(Vec<ExprId>, FxHashMap<ExprId, i64>)> {
        let exprs = &self.kernel.exprs;
        let mut n_uses: FxHashMap<ExprId, u32> = FxHashMap::default();
        let mut offsets = FxHashMap::default();
        let mut pending = sum.to_vec();
        while let Some(id) = pending.pop() {
            let uses = n_uses.entry(id).or_default();
            *uses += 1;
            match &exprs[id] {
                Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg, operands } if *uses == 1 => {
                    pending.extend(operands.iter().copied());
                }
                // Each iteration reads of the array what it writes.
                Expr::Access { array, .. } if *array == target && !is_target(id) => return None,
                Expr::Access { array, indices } => {
                    let moves = indices.iter().any(|&index| self.moves(rows, index));
                    if moves {
                        offsets.insert(id, self.offset(rows, *array, indices)?);
                    } else if self.kernel[*array].stored.is_some() || self.facts.cheap(id).is_none() {
                        return None;
                    }
                }
                Expr::Number(Number::Float(_)) => {}
                _ => return None,
            }
        }
        let mut operations: Vec<ExprId> = n_uses.into_keys().collect();
        operations.sort_unstable();
        Some((operations, offsets))
    }

    /// Whether an index depends on the loops.
    fn moves(&self, rows: Rows, index: ExprId) -> bool {
        let is_iname = |id: ExprId| matches!(self.kernel.exprs[id], Expr::Iname(iname) if iname == rows.row || iname == rows.column);
        nestegg_ir::walk::below(&self.kernel.exprs, [index]).into_iter().any(is_iname)
    }

    /// How far from the number of the iteration an element lies in memory, if that stays the same.
    fn offset(&self, rows: Rows, id: ArrayId, indices: &[ExprId]) -> Option<i64> {
        let layout = self.arrays.layout(id);
        if !matches!(layout.storage, Storage::Flat | Storage::Heap | Storage::Nested)
            || self.kernel[id].stored.is_some()
        {
            return None;
        }
        let place = layout.place(&self.kernel.exprs, indices)?;
        let n_columns = i64::try_from(rows.n_columns).ok()?;
        let is_dense = place.terms.len() == 2
            && place.coefficient(Var::Iname(rows.row)) == n_columns
            && place.coefficient(Var::Iname(rows.column)) == 1;
        is_dense.then_some(place.constant)
    }

    /// The element of an array that is seen as one row.
    fn in_memory(&self, id: ArrayId, at: &str, offset: i64) -> Text {
        let name = &self.symbols.arrays[id.index()];
        let place = match offset {
            0 => at.to_owned(),
            _ if offset < 0 => format!("{at} - {}", offset.unsigned_abs()),
            _ => format!("{at} + {offset}"),
        };
        let constant = if self.kernel[id].table().is_some() { "const " } else { "" };
        let is_row = self.arrays.layout(id).storage != Storage::Nested || self.arrays.layout(id).extents.len() == 1;
        Text::primary(match is_row {
            true => format!("{name}[{place}]"),
            false => format!("(({constant}{} *){name})[{place}]", self.kernel[id].dtype.c_name()),
        })
    }
}
