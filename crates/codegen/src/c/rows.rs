//! Loops that add to rows in vectors: `for j: { A[3*j] += x; A[3*j + 1] += y; A[3*j + 2] += z }` for four `j` at a time.
//!
//! # Why
//! In lanes, `x`, `y` and `z` are vectors, and their elements take turns in memory. Compilers take the rows of `A` apart into such vectors, add, and put them together again. It is
//! enough to put together what is added.
//! # Input
//! A loop with a constant number of iterations, at least as many as a vector has lanes, over assignments: to temporaries of one iteration, and updates of arrays that the loop
//! does not read otherwise. The updates go along rows two, three or four elements at a time, and fill them. What they compute is what [vectors can](super::across).
//! # Output
//! The loop for compilers that have the vectors of gcc. All others get it as it is. Each element is the same operations in the same order.
//! # Method
//! Two vectors, or one, go through the body together; a long body is written once, for one. What each row gets is put in order by shuffles and added, vector by vector. The last vector of
//! a loop of ten iterations begins at the seventh; what its first two lanes would add again is -0, which changes nothing.
//! # Complexity
//! Linear in the operations, times the vectors.
//! # Not done
//! Elements of other sizes than eight bytes, and loops that do little else than to add.

use std::collections::BTreeMap;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{ArrayId, Assignee, Dtype, Expr, ExprId, InameId, InsnId, InstructionKind, LoopTree, Op};
use rustc_hash::FxHashMap;

use super::across::{Across, Held, Visit};
use super::arrays::Storage;
use super::error::CodegenError;
use super::layout::Code;
use super::loops::Loop;
use super::packing::INLINE;
use super::statements::Temporaries;
use super::strips::{Strip, address};
use super::temporaries::Place;
use super::text::Precedence;
use super::writer::Writer;

/// Lanes of a vector.
const LANES: usize = 4;
/// How many elements of a row an iteration may add to.
const ELEMENTS: std::ops::RangeInclusive<i64> = 2..=4;
/// So many operations for each update, at least.
const OPERATIONS: usize = 4;
/// Bodies of more operations are written once, for one vector: processors keep only so much code decoded.
const MAX_OPERATIONS: usize = 512;
/// So many steps of two vectors are written one after the other; more become a loop.
const MAX_STEPS: usize = 1;

/// The function that says which lanes add.
const KEEP: &str = "lanes_keep";

/// Lanes of the last vector whose iterations another has done.
enum Known {
    /// There are none.
    None,
    /// So many.
    First(usize),
    /// As masks say, which are variables: all bits of the lanes that add, and a sign for those that do not.
    Masked { keep: String, none: String },
}

/// The elements of a row that an iteration adds to, in the order in which they stand in memory.
struct Row {
    updates: Vec<InsnId>,
}

/// A row, up to where in it.
type RowPlace = (ArrayId, Vec<Affine>);

impl Writer<'_> {
    /// All iterations of a loop, in vectors; `None` if it does something else, or is short.
    pub(crate) fn rows(
        &mut self,
        one: &Loop,
        (iname, body): (InameId, &[LoopTree]),
        temporaries: &Temporaries,
        open: &mut Vec<InameId>,
    ) -> Result<Option<Vec<Code>>, CodegenError> {
        let Some(n) = self.trips_in_vectors(one).filter(|&n| n >= LANES) else { return Ok(None) };
        let Ok(first) = one.header.first.parse::<i64>() else { return Ok(None) };
        let Some((across, rows, n_operations)) = self.found_rows(iname, body, temporaries) else { return Ok(None) };
        if n_operations > MAX_OPERATIONS {
            let body = self.one_by_one_vector(&across, &rows, (one, first, n), (body, open))?;
            return Ok(Some(body));
        }
        let (ty, name) = (one.header.ty, &one.header.name);
        let (n_steps, rest) = (n / (2 * LANES), n % LANES);
        let n_looped = if n_steps > MAX_STEPS { n_steps } else { 0 };
        let mut code = Vec::new();
        open.push(iname);
        if n_looped > 0 {
            let body = self.through_rows(&across, &rows, (None, vec![0, LANES]), &Known::None, (body, open))?;
            let end = first + (n_looped * 2 * LANES) as i64;
            let head = format!("for ({}; {name} < {end}; {name} += {})", one.header.declaration(), 2 * LANES);
            code.push(Code::Block { head, body });
        }
        let mut steps: Vec<(usize, Vec<usize>, Known)> =
            (n_looped..n_steps).map(|step| (2 * LANES * step, vec![0, LANES], Known::None)).collect();
        if n / LANES % 2 == 1 {
            steps.push((n_steps * 2 * LANES, vec![0], Known::None));
        }
        if rest > 0 {
            steps.push((n - LANES, vec![0], Known::First(LANES - rest)));
        }
        for (begin, offsets, known) in steps {
            let at = first + begin as i64;
            let mut body = self.through_rows(&across, &rows, (Some(at), offsets), &known, (body, open))?;
            body.insert(0, Code::line(format!("const {ty} {name} = {at};")));
            code.push(Code::Block { head: String::new(), body });
        }
        open.pop();
        Ok(Some(code))
    }

    /// All iterations, one vector in each of a loop; the last begins where it ends with the last iteration.
    fn one_by_one_vector(
        &mut self,
        across: &Across,
        rows: &[Row],
        (one, first, n): (&Loop, i64, usize),
        (body, open): (&[LoopTree], &mut Vec<InameId>),
    ) -> Result<Vec<Code>, CodegenError> {
        let (ty, name) = (one.header.ty, &one.header.name);
        let end = first + n as i64;
        open.push(across.iname);
        let res = if n % LANES == 0 {
            let body = self.through_rows(across, rows, (None, vec![0]), &Known::None, (body, open))?;
            let head = format!("for ({}; {name} < {end}; {name} += {LANES})", one.header.declaration());
            Code::Block { head, body }
        } else {
            let [next, keep, none] = ["next", "keep", "none"].map(|stem| self.symbols.names.fresh(stem));
            let last = end - LANES as i64;
            self.keep_lanes(across.strip);
            let mut code = vec![
                Code::line(format!("const {ty} {name} = {next} < {last} ? {next} : {last};")),
                Code::line(format!("const {KEEP}_bits {keep} = {KEEP}({next} - {name});")),
                Code::line(format!("const {KEEP}_bits {none} = ~{keep} & INT64_MIN;")),
            ];
            let known = Known::Masked { keep, none };
            code.extend(self.through_rows(across, rows, (None, vec![0]), &known, (body, open))?);
            let head = format!("for ({ty} {next} = {first}; {next} < {end}; {next} += {LANES})");
            Code::Block { head, body: code }
        };
        open.pop();
        Ok(vec![res])
    }

    /// What is known of a loop that can be written so, and its operations.
    fn found_rows(
        &self,
        iname: InameId,
        body: &[LoopTree],
        temporaries: &Temporaries,
    ) -> Option<(Across, Vec<Row>, usize)> {
        let (kernel, dtype) = (self.kernel, Dtype::Float64);
        let runs: Option<Vec<InsnId>> =
            body.iter().map(|node| if let LoopTree::Run(insn) = node { Some(*insn) } else { None }).collect();
        let runs = runs.filter(|_| kernel[iname].tags.is_empty())?;
        let mut written: FxHashMap<ArrayId, Vec<&Assignee>> = FxHashMap::default();
        let (mut updates, mut held) = (Vec::new(), Vec::new());
        for &insn in &runs {
            let instruction = &kernel[insn];
            let InstructionKind::Assignment { assignee, .. } = &instruction.kind else { return None };
            let array = &kernel[assignee.array];
            let is_paired = self.pairs.as_ref().is_some_and(|pairs| pairs.roles.contains_key(&insn));
            let is_plain = array.dtype == dtype && array.stored.is_none() && !self.arrays.is_held(assignee.array);
            if !instruction.predicates.is_empty() || is_paired || !is_plain {
                return None;
            }
            let known = written.entry(assignee.array).or_default();
            known.push(assignee);
            if assignee.indices.is_empty() {
                let declared = temporaries.declarations.get(&assignee.array)?;
                if known.len() > 1 || !matches!(declared.place, Place::At { insn, .. } if runs.contains(&insn)) {
                    return None;
                }
                held.push(Held { at: assignee.clone(), is_read: false });
            } else {
                let (Op::Add | Op::Sub, added) = instruction.update(&kernel.exprs)? else { return None };
                updates.push((insn, added));
            }
        }
        let visits: Vec<Visit> = runs.iter().map(|&insn| Visit { insn, inner: Vec::new() }).collect();
        let is_read_early = |held: &Held| self.is_read_first(&held.at, &visits);
        let added = updates.iter().map(|update| update.1);
        let others = runs.iter().filter(|insn| !updates.iter().any(|update| update.0 == **insn));
        let of_others = others.flat_map(|&insn| kernel[insn].expressions());
        let read = arrays_below(&kernel.exprs, added.chain(of_others));
        let n_operations = self.n_operations(&runs, iname, &written);
        let changed = |update: &(InsnId, ExprId)| read.contains(&kernel[update.0].assignees()[0].array);
        if updates.is_empty()
            || held.iter().any(is_read_early)
            || updates.iter().any(changed)
            || !visits.iter().all(|visit| self.is_written_across(visit, &written, (iname, dtype)))
            || n_operations < OPERATIONS * updates.len()
        {
            return None;
        }
        let rows = self.filled(&updates, iname)?;
        let across = Across { iname, strip: Strip::whole(dtype), held, n_sums: 0, has_columns: false };
        let has_column = |&insn: &InsnId| self.has_columns(insn, iname);
        (!runs.iter().any(has_column)).then_some((across, rows, n_operations))
    }

    /// Operations on floats that differ between the iterations of a loop.
    fn n_operations(&self, runs: &[InsnId], iname: InameId, written: &FxHashMap<ArrayId, Vec<&Assignee>>) -> usize {
        let roots = runs.iter().flat_map(|&insn| self.kernel[insn].expressions());
        let varying = self.varying(roots, iname, |array| written.contains_key(&array));
        let of = |&id: &ExprId| match &self.kernel.exprs[id] {
            Expr::Op { operands, .. } if self.facts.dtype(id).is_float() => (operands.len() - 1).max(1),
            _ => 0,
        };
        varying.iter().map(of).sum()
    }

    /// The rows that updates fill; `None` if they do something else, or might change the same element.
    fn filled(&self, updates: &[(InsnId, ExprId)], iname: InameId) -> Option<Vec<Row>> {
        let kernel = self.kernel;
        let mut rows: BTreeMap<RowPlace, BTreeMap<i64, InsnId>> = BTreeMap::new();
        let mut length = None;
        for &(insn, _) in updates {
            let Assignee { array, indices } = &kernel[insn].assignees()[0];
            let mut place: Vec<Affine> =
                indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect::<Option<_>>()?;
            let (last, others) = place.split_last_mut()?;
            let step = last.coefficient(Var::Iname(iname));
            let is_flat = matches!(self.arrays.layout(*array).storage, Storage::Flat | Storage::Heap);
            let is_row = others.iter().all(|other| other.coefficient(Var::Iname(iname)) == 0);
            if !is_flat || !is_row || !ELEMENTS.contains(&step) || *length.get_or_insert(step) != step {
                return None;
            }
            let at = std::mem::take(&mut last.constant);
            if rows.entry((*array, place)).or_default().insert(at, insn).is_some() {
                return None;
            }
        }
        let is_filled = |row: &BTreeMap<i64, InsnId>| {
            let first = row.keys().next().copied().unwrap_or(0);
            (first..).zip(row.keys()).all(|(at, known)| at == *known) && Some(row.len() as i64) == length
        };
        let are_apart = |a: &RowPlace, b: &RowPlace| {
            let differ = |(a, b): (&Affine, &Affine)| {
                a.plus(b, -1).and_then(|difference| difference.as_constant()).is_some_and(|difference| difference != 0)
            };
            let n = a.1.len() - 1;
            a.0 != b.0 || a.1[..n].iter().zip(&b.1[..n]).any(differ)
        };
        let places: Vec<&RowPlace> = rows.keys().collect();
        let is_alone =
            |(idx, place): (usize, &&RowPlace)| places[idx + 1..].iter().all(|other| are_apart(place, other));
        let is_fit = rows.values().all(is_filled) && places.iter().enumerate().all(is_alone);
        is_fit.then(|| rows.into_values().map(|row| Row { updates: row.into_values().collect() }).collect())
    }

    /// The body for the vectors that begin at these offsets, of which some lanes may add nothing.
    fn through_rows(
        &mut self,
        across: &Across,
        rows: &[Row],
        (first, offsets): (Option<i64>, Vec<usize>),
        known: &Known,
        (body, open): (&[LoopTree], &[InameId]),
    ) -> Result<Vec<Code>, CodegenError> {
        let ty = self.strip_type(across.strip);
        let (block, mut code) = self.declare_held(across, first, offsets);
        // What each update adds, in each vector.
        let mut added: FxHashMap<InsnId, Vec<String>> = FxHashMap::default();
        for node in body {
            let LoopTree::Run(insn) = *node else { continue };
            let Some(row) = rows.iter().find(|row| row.updates.contains(&insn)) else {
                code.extend(self.assign_across(across, &block, insn, open)?);
                continue;
            };
            let Some((op, value)) = self.kernel[insn].update(&self.kernel.exprs) else { continue };
            let (before, values) = self.values_across(across, &block, value, open)?;
            code.extend(before);
            let mut names = Vec::new();
            for value in values {
                let name = self.symbols.names.fresh("s");
                let value = match op {
                    Op::Sub => format!("-{}", value.at_least(Precedence::Primary)),
                    _ => value.text,
                };
                let value = match known {
                    Known::None => value,
                    Known::First(n_known) => self.last_lanes(*n_known, &value),
                    Known::Masked { keep, none } => format!("({ty})((({KEEP}_bits)({value}) & {keep}) | {none})"),
                };
                code.push(Code::line(format!("const {ty} {name} = {value};")));
                names.push(name);
            }
            added.insert(insn, names);
            if row.updates.iter().all(|update| added.contains_key(update)) {
                code.extend(self.add_to_row(across, row, (&block.offsets, &added), open)?);
            }
        }
        Ok(code)
    }

    /// The statements that add to a row what its updates add.
    fn add_to_row(
        &mut self,
        across: &Across,
        row: &Row,
        (offsets, added): (&[usize], &FxHashMap<InsnId, Vec<String>>),
        open: &[InameId],
    ) -> Result<Vec<Code>, CodegenError> {
        let at = self.kernel[row.updates[0]].assignees()[0].clone();
        let (mut code, element) = self.element_at(&at, open)?;
        let function = self.add_rows(across.strip, row.updates.len());
        for (at, &offset) in offsets.iter().enumerate() {
            let values: Vec<&str> = row.updates.iter().map(|update| added[update][at].as_str()).collect();
            let place = address(&element, (row.updates.len() * offset) as i64);
            code.push(Code::line(format!("{function}({place}, {});", values.join(", "))));
        }
        Ok(code)
    }

    /// The function that says which lanes of a vector add: those after the first so many.
    fn keep_lanes(&mut self, strip: Strip) {
        self.strip_type(strip);
        let bytes = LANES * 8;
        let definition = format!(
            "/* Whether a lane comes after the first so many. */\n#if defined(__GNUC__)\n\
             typedef int64_t {KEEP}_bits __attribute__((vector_size({bytes})));\n\
             {INLINE} {KEEP}_bits {KEEP}(int64_t n)\n{{\n    return ({KEEP}_bits){{0, 1, 2, 3}} >= ({KEEP}_bits){{n, n, n, n}};\n}}\n#endif\n"
        );
        self.lane_functions.entry(KEEP.to_owned()).or_insert(definition);
    }

    /// A vector that is -0 in so many lanes, and then what it was.
    fn last_lanes(&mut self, n_known: usize, value: &str) -> String {
        let name = format!("lanes_last_{}_f64", LANES - n_known);
        let lanes: Vec<String> =
            (0..LANES).map(|lane| if lane < n_known { "-0.0".to_owned() } else { format!("a[{lane}]") }).collect();
        let definition = format!(
            "/* What adds nothing in the first lanes. */\n#if defined(__GNUC__)\n\
             {INLINE} lanes_f64 {name}(lanes_f64 a)\n{{\n    return (lanes_f64){{{}}};\n}}\n#endif\n",
            lanes.join(", ")
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        format!("{name}({value})")
    }

    /// The function that adds vectors to memory where their elements take turns.
    fn add_rows(&mut self, strip: Strip, n: usize) -> String {
        let vector = self.strip_type(strip);
        let name = format!("lanes_rows_{n}_f64");
        let names = ["a", "b", "c", "d"];
        let (shuffles, rows): (&[[&str; 4]], &[[&str; 3]]) = match n {
            2 => (&[], &[["a", "b", "0, 4, 1, 5"], ["a", "b", "2, 6, 3, 7"]]),
            3 => (
                &[["t", "a", "b", "0, 4, 2, 6"], ["u", "c", "a", "0, 5, 2, 7"], ["v", "b", "c", "1, 5, 3, 7"]],
                &[["t", "u", "0, 1, 4, 5"], ["v", "t", "0, 1, 6, 7"], ["u", "v", "2, 3, 6, 7"]],
            ),
            _ => (
                &[
                    ["t", "a", "b", "0, 4, 2, 6"],
                    ["u", "a", "b", "1, 5, 3, 7"],
                    ["v", "c", "d", "0, 4, 2, 6"],
                    ["w", "c", "d", "1, 5, 3, 7"],
                ],
                &[
                    ["t", "v", "0, 1, 4, 5"],
                    ["u", "w", "0, 1, 4, 5"],
                    ["t", "v", "2, 3, 6, 7"],
                    ["u", "w", "2, 3, 6, 7"],
                ],
            ),
        };
        let parameters: Vec<String> = names[..n].iter().map(|name| format!("{vector} {name}")).collect();
        let mut body = String::new();
        for [to, left, right, order] in shuffles {
            body += &format!("    const {vector} {to} = NESTEGG_SHUFFLE({left}, {right}, {order});\n");
        }
        for (at, [left, right, order]) in rows.iter().enumerate() {
            let place = if at == 0 { "at".to_owned() } else { format!("(at + {})", at * LANES) };
            body += &format!("    *({vector}_loose *){place} += NESTEGG_SHUFFLE({left}, {right}, {order});\n");
        }
        let definition = format!(
            "/* Adds to rows of {n}, of which each vector has one element. */\n#if defined(__GNUC__)\n\
             {INLINE} void {name}(double *at, {})\n{{\n{body}}}\n#endif\n",
            parameters.join(", ")
        );
        self.lane_functions.entry(name.clone()).or_insert(definition);
        name
    }
}
