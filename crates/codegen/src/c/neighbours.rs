//! Stores to neighbouring elements: straight-line code writes four or two of them at once, in a vector.
//!
//! # Input
//! The statements of a block that no loop surrounds, with assignments to elements of arguments at places that are numbers: `A[7] = x`,
//! `A[7] = A[7] + x`, `A[7] = x + y + A[7]`, `A[7] = A[7] - x`, `A[7] = -(x - A[7])`.
//! # Output
//! For each such assignment that has neighbours, what it is in their group: the last of a group stands for all. Values stay scalars, which a small
//! function puts together; compilers without vectors get one assignment after the other.
//! # Correctness
//! Elements are what they were, to the bit, but for the sign of a zero. An assignment moves down to the last of its group: none between writes
//! what it reads, and none between touches its array in another way than by such an assignment to another element.
//! # Method
//! gcc looks for vectors from the stores down, and takes a whole run of them at once: it computes all their values before it stores the first, and
//! keeps on the stack what does not fit the registers. Groups of four tell it what to store together, and when.
//! Leftover elements come first where that takes fewer groups.
//! # Complexity
//! `n log n` in the statements of a block.
//! # Not done
//! Stores in loops, and sums to which the element is not the first or the last that is added.

use std::collections::BTreeMap;

use nestegg_ir::linearization::runs_in;
use nestegg_ir::walk::{arrays_below, below, reads};
use nestegg_ir::{ArrayId, ArrayKind, Dtype, Expr, ExprId, InameId, InsnId, InstructionKind, LoopTree, Op};
use rustc_hash::FxHashMap;

use super::arrays::Storage;
use super::error::CodegenError;
use super::evaluate::Evaluated;
use super::facts::{element, literal_of};
use super::helpers::suffix;
use super::layout::Code;
use super::packing::INLINE;
use super::pairs::conditions_in;
use super::plan::{ROOT, RegionId};
use super::statements::Temporaries;
use super::text::Text;
use super::writer::Writer;

/// The most elements of a group: float64 in a vector of 32 bytes.
const MOST: usize = 4;

/// How an assignment writes its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Whatever it was.
    Store,
    /// Adds to it.
    Add,
    /// In another way, which no group has.
    Alone,
}

/// What an assignment does to its element.
#[derive(Clone, Debug)]
struct Stored {
    insn: InsnId,
    /// Its position in the block.
    at: usize,
    how: How,
    /// Whether the value is subtracted.
    is_negated: bool,
    /// The operands of the sum that is the value.
    terms: Vec<ExprId>,
}

/// Assignments to neighbouring elements, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Group(Vec<Stored>);

/// What an assignment is in its group.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// The group's statement stands here.
    Leads(Group),
    /// The group's statement comes later.
    Waits,
}

/// The assignments to an array that may still be put together, by the place of the element.
type Open = BTreeMap<i64, Stored>;

impl Writer<'_> {
    /// The groups in a block.
    pub(crate) fn groups(&self, tree: &[LoopTree]) -> FxHashMap<InsnId, Part> {
        let mut res = FxHashMap::default();
        let kernel = self.kernel;
        let is_plain = |insn: InsnId| matches!(kernel[insn].kind, InstructionKind::Assignment { .. });
        if !self.neighbours || self.lanes.is_some() || !runs_in(tree).into_iter().all(is_plain) {
            return res;
        }
        let mut written: FxHashMap<ArrayId, Vec<usize>> = FxHashMap::default();
        for (at, node) in tree.iter().enumerate() {
            for insn in runs_in(std::slice::from_ref(node)) {
                for array in kernel[insn].written_arrays() {
                    written.entry(array).or_default().push(at);
                }
            }
        }
        let mut open: BTreeMap<ArrayId, Open> = BTreeMap::new();
        for (at, node) in tree.iter().enumerate() {
            let mut touched = arrays_below(&kernel.exprs, conditions_in(node));
            for insn in runs_in(std::slice::from_ref(node)) {
                touched.extend(arrays_below(&kernel.exprs, kernel[insn].expressions()));
                touched.extend(kernel[insn].written_arrays());
            }
            let stored = match node {
                LoopTree::Run(insn) => self.stored(*insn, at),
                _ => None,
            };
            for array in touched {
                let is_apart = stored.as_ref().is_some_and(|(target, place, _)| {
                    *target == array && open.get(target).is_none_or(|open| !open.contains_key(place))
                });
                if !is_apart && let Some(done) = open.remove(&array) {
                    close(done, &written, kernel, &mut res);
                }
            }
            if let Some((array, place, stored)) = stored {
                open.entry(array).or_default().insert(place, stored);
            }
        }
        open.into_values().for_each(|done| close(done, &written, kernel, &mut res));
        res
    }

    /// The array and the place of the element that an instruction writes, and what it does to it, if that is simple.
    fn stored(&self, insn: InsnId, at: usize) -> Option<(ArrayId, i64, Stored)> {
        let (kernel, exprs) = (self.kernel, &self.kernel.exprs);
        let instruction = &kernel[insn];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
        let (id, array) = (assignee.array, &kernel[assignee.array]);
        let is_paired = self.pairs.as_ref().is_some_and(|pairs| pairs.roles.contains_key(&insn));
        if !matches!(array.kind, ArrayKind::Argument(_))
            || !array.dtype.is_float()
            || array.stored.is_some()
            || !instruction.predicates.is_empty()
            || is_paired
        {
            return None;
        }
        let layout = self.arrays.layout(id);
        if layout.storage != Storage::Flat {
            return None;
        }
        let place = layout.place(exprs, &assignee.indices)?.as_constant()?;
        let is_target = |of: ExprId| matches!(&exprs[of], Expr::Access { array, indices } if *array == id && *indices == assignee.indices);
        let operands = |of: ExprId| match &exprs[of] {
            Expr::Op { op, operands } => Some((*op, operands.as_ref())),
            _ => None,
        };
        let (how, is_negated, terms) = match (instruction.update(&kernel.exprs), operands(*expression)) {
            (Some((Op::Add, term)), _) => (How::Add, false, vec![term]),
            (Some((Op::Sub, term)), _) => (How::Add, true, vec![term]),
            (None, Some((Op::Add, [before @ .., last]))) if is_target(*last) => (How::Add, false, before.to_vec()),
            (None, Some((Op::Neg, [difference])))
                if let Some((Op::Sub, [term, last])) = operands(*difference)
                    && is_target(*last) =>
            {
                (How::Add, true, vec![*term])
            }
            _ => (How::Store, false, vec![*expression]),
        };
        let is_exact = |&term: &ExprId| self.facts.dtype(term) == array.dtype || literal_of(kernel, term).is_some();
        let is_other = |of: ExprId| matches!(&exprs[of], Expr::Access { array, .. } if *array == id) && !is_target(of);
        if below(exprs, [*expression]).into_iter().any(is_other) {
            return None;
        }
        let is_fit = terms.iter().all(is_exact) && !reads(exprs, terms.iter().copied(), id);
        let how = if is_fit { how } else { How::Alone };
        Some((id, place, Stored { insn, at, how, is_negated, terms }))
    }

    /// The statement of a group, beside those of its assignments.
    pub(crate) fn together(
        &mut self,
        group: &Group,
        temporaries: &Temporaries,
        open: &[InameId],
    ) -> Result<Vec<Code>, CodegenError> {
        let Group(stored) = group;
        let instruction = &self.kernel[stored[0].insn];
        let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return Ok(Vec::new()) };
        let dtype = self.kernel[assignee.array].dtype;
        let mut roots: Vec<(ExprId, RegionId)> = assignee.indices.iter().map(|&index| (index, ROOT)).collect();
        roots.extend(stored.iter().flat_map(|stored| &stored.terms).map(|&term| (term, ROOT)));
        let place = || format!("instruction `{}`", instruction.id);
        let Evaluated { mut regions, roots: texts } = self.evaluate(&roots, 0, open, &place)?;
        let mut vectors = std::mem::take(&mut regions[ROOT]);
        let mut texts = texts.into_iter();
        let indices: Vec<Text> = texts.by_ref().take(assignee.indices.len()).collect();
        let mut list = vec![format!("&{}", element(&self.symbols, &self.arrays, assignee.array, &indices).text)];
        for Stored { terms, .. } in stored {
            let mut values: Vec<Text> =
                terms.iter().zip(texts.by_ref()).map(|(&term, text)| self.convert(term, text, dtype)).collect();
            let value = if values.len() == 1 { values.swap_remove(0) } else { Text::sum(&values) };
            list.push(value.text);
        }
        let n_negated = stored.iter().filter(|stored| stored.is_negated).count();
        let what = match (stored[0].how, n_negated) {
            (How::Store | How::Alone, _) => What::Store,
            (How::Add, 0) => What::Add,
            (How::Add, n) if n == stored.len() => What::Subtract,
            (How::Add, _) => What::AddSigned,
        };
        if what == What::AddSigned {
            list.extend(stored.iter().map(|stored| if stored.is_negated { "-1" } else { "1" }.to_owned()));
        }
        let (name, definition) = function(what, dtype, stored.len());
        vectors.push(Code::line(format!("{name}({});", list.join(", "))));
        self.lane_functions.entry(name).or_insert(definition);
        let mut scalars = Vec::new();
        for Stored { insn, .. } in stored {
            scalars.extend(self.instruction(*insn, temporaries, open)?);
        }
        Ok(Code::either(vectors, scalars))
    }
}

/// Puts together what stands side by side.
fn close(
    open: Open,
    written: &FxHashMap<ArrayId, Vec<usize>>,
    kernel: &nestegg_ir::Kernel,
    res: &mut FxHashMap<InsnId, Part>,
) {
    let is_written = |array: &ArrayId, from: usize, to: usize| {
        let places = written.get(array).map_or(&[][..], Vec::as_slice);
        places.get(places.partition_point(|&at| at <= from)).is_some_and(|&at| at < to)
    };
    // Whether all may move to the place of the last.
    let may_join = |group: &[Stored]| {
        let last = group.iter().map(|stored| stored.at).max().unwrap_or(0);
        group.iter().all(|stored| {
            let reads = arrays_below(&kernel.exprs, stored.terms.iter().copied());
            !reads.iter().any(|array| is_written(array, stored.at, last))
        })
    };
    let mut join = |group: &[Stored]| {
        if group.len() < 2 || !may_join(group) {
            return false;
        }
        let Some(lead) = group.iter().max_by_key(|stored| stored.at) else { return false };
        res.extend(group.iter().map(|stored| (stored.insn, Part::Waits)));
        res.insert(lead.insn, Part::Leads(Group(group.to_vec())));
        true
    };
    let mut run: Vec<(i64, Stored)> = Vec::new();
    let mut runs = Vec::new();
    for (place, stored) in open {
        let is_next = |(last, before): &(i64, Stored)| last + 1 == place && before.how == stored.how;
        if stored.how == How::Alone || !run.last().is_some_and(is_next) {
            runs.push(std::mem::take(&mut run));
        }
        run.push((place, stored));
    }
    runs.push(run);
    for run in runs.iter().filter(|run| run.len() > 1) {
        let stored: Vec<Stored> = run.iter().map(|(_, stored)| stored.clone()).collect();
        let mut rest = stored.as_slice();
        for size in sizes(run[0].0, run.len()) {
            let (group, after) = rest.split_at(size);
            if !join(group) && size == MOST {
                group.chunks(2).for_each(|pair| {
                    join(pair);
                });
            }
            rest = after;
        }
    }
}

/// The sizes of groups of `n` elements from `first` on: the fewest groups, if possible with fours where rows of memory are.
fn sizes(first: i64, n: usize) -> Vec<usize> {
    let split = |head: usize| {
        // What is left over: next to the fours stand two.
        let few = |n: usize, is_before: bool| match (n, is_before) {
            (3, true) => vec![1, 2],
            (3, false) => vec![2, 1],
            (0, _) => Vec::new(),
            _ => vec![n],
        };
        let mut res = few(head, true);
        res.extend(std::iter::repeat_n(MOST, (n - head) / MOST));
        res.extend(few((n - head) % MOST, false));
        res
    };
    let is_aligned = |head: usize| i64::try_from(head).is_ok_and(|head| (first + head).rem_euclid(MOST as i64) == 0);
    let heads = 0..MOST.min(n + 1);
    let best = heads.min_by_key(|&head| (split(head).len(), !is_aligned(head), head));
    split(best.unwrap_or(0))
}

/// What a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Store,
    Add,
    Subtract,
    /// Adds some, and subtracts others.
    AddSigned,
}

/// The function that does it to so many elements: its name and definition.
fn function(what: What, dtype: Dtype, n: usize) -> (String, String) {
    let (verb, operator, comment) = match what {
        What::Store => ("store", "=", "Stores numbers side by side."),
        What::Add => ("add", "+=", "Adds numbers to elements side by side."),
        What::Subtract => ("subtract", "-=", "Subtracts numbers from elements side by side."),
        What::AddSigned => ("add_signed", "+=", "Adds numbers with their signs to elements side by side."),
    };
    let (ty, size, suffix) = (dtype.c_name(), dtype.size(), suffix(dtype));
    let list = |stem: char| (0..n).map(|at| format!("{stem}{at}")).collect::<Vec<String>>();
    let (values, signs) = (list('x'), list('s'));
    let is_signed = what == What::AddSigned;
    let parameters: Vec<String> =
        values.iter().chain(signs.iter().filter(|_| is_signed)).map(|name| format!("{ty} {name}")).collect();
    let vector = |names: &[String]| format!("(row){{{}}}", names.join(", "));
    let mut whole = vector(&values);
    if is_signed {
        whole = format!("{}*{whole}", vector(&signs));
    }
    let name = format!("lanes_{verb}_{n}_{suffix}");
    let bytes = n as u64 * size;
    let definition = format!(
        "/* {comment} */\n#if defined(__GNUC__)\n{INLINE} void {name}(\n    {ty} *to, {parameters})\n{{\n    \
         typedef {ty} row __attribute__((vector_size({bytes})));\n    \
         typedef {ty} loose __attribute__((vector_size({bytes}), aligned({size}), may_alias));\n    \
         *(loose *)to {operator} {whole};\n}}\n#endif\n",
        parameters = parameters.join(", "),
    );
    (name, definition)
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn groups_are_few_and_in_rows() {
        for (first, n, expected) in [
            (0, 9, vec![4, 4, 1]),
            (1, 9, vec![4, 4, 1]),
            (3, 9, vec![1, 4, 4]),
            (2, 6, vec![2, 4]),
            (1, 4, vec![4]),
            (0, 3, vec![2, 1]),
            (1, 2, vec![2]),
        ] {
            assert_eq!(sizes(first, n), expected, "{n} from {first} on");
        }
    }
}
