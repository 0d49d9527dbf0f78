//! Which elements of an argument the statements write, and how often.
//!
//! # Output
//! How the copy of a block gets and gives its elements, `None` where only both is right; and, where each element is written once by a statement without
//! loops, after which instructions squares of them are complete.
//! # Method
//! Every element that a statement without conditions writes is listed; its indices are numbers, or inames of the loops around it, each once.
//! # Complexity
//! Linear in the elements, of which there are at most [`MAX_ELEMENTS`].

use nestegg_ir::affine;
use nestegg_ir::linearization::for_each_run;
use nestegg_ir::walk::reads;
use nestegg_ir::{ArrayId, Assignee, ExprId, InameId, InsnId, InstructionKind, Item, Kernel, Op};

use super::{Held, Lanes, Way};
use crate::c::loops::Loops;

/// The longest list of elements.
const MAX_ELEMENTS: usize = 1 << 16;

/// An instruction, from where on values are complete after it, and which of them are written.
type Flush = (InsnId, usize, Vec<bool>);

/// How the copy of a written argument is filled and emptied, and when.
pub(super) fn way(
    lanes: &Lanes,
    kernel: &Kernel,
    items: &[Item],
    loops: &Loops,
    array: ArrayId,
) -> Option<(Way, Vec<Flush>)> {
    let sizes: Vec<usize> = lanes
        .inner(array, &kernel[array].shape)
        .iter()
        .map(|&size| usize::try_from(affine::of(&kernel.exprs, size)?.as_constant()?).ok())
        .collect::<Option<_>>()?;
    let n_elements = sizes.iter().try_fold(1_usize, |n, &size| n.checked_mul(size)).filter(|&n| n <= MAX_ELEMENTS)?;
    let mut n_writes = vec![0_u8; n_elements];
    // For each element its instruction, by position in the order.
    let mut writers: Vec<(usize, InsnId)> = vec![(0, InsnId::new(0)); n_elements];
    let (mut position, mut is_straight) = (0, true);
    let (mut is_sum, mut is_set, mut is_known) = (true, true, true);
    for_each_run(items, |insn, around| {
        position += 1;
        let instruction = &kernel[insn];
        let is_read = |roots: &mut dyn Iterator<Item = ExprId>| reads(&kernel.exprs, roots, array);
        if around.conditions.iter().any(|&condition| is_read(&mut [condition].into_iter())) {
            is_known = false;
        }
        if !instruction.written_arrays().contains(&array) {
            is_known &= !is_read(&mut instruction.expressions());
            return;
        }
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else {
            is_known = false;
            return;
        };
        is_known &= around.conditions.is_empty() && instruction.predicates.is_empty() && lanes.is_vector[insn.index()];
        match instruction.update(&kernel.exprs) {
            Some((Op::Add | Op::Sub, other)) => {
                is_set = false;
                is_sum &= !is_read(&mut [other].into_iter());
            }
            _ => {
                is_sum = false;
                is_set &= !is_read(&mut [*expression].into_iter());
            }
        }
        let elements = elements(lanes, kernel, loops, assignee, &around.loops, &sizes);
        is_known &= elements.is_some();
        is_straight &= around.loops.len() == 2;
        for at in elements.unwrap_or_default() {
            n_writes[at] = n_writes[at].saturating_add(1);
            writers[at] = (position, insn);
        }
    });
    let is_whole = !n_writes.contains(&0);
    let is_once = n_writes.iter().all(|&n| n <= 1);
    // What is not written gets nothing added, if the copy as a whole never goes to memory.
    let may_lack = is_straight && lanes.held[array.index()] == Held::First;
    let way = match () {
        () if !is_known => return None,
        () if is_set && is_whole => Way::Out,
        () if is_sum && is_once && (is_whole || may_lack) => Way::Added,
        () => return None,
    };
    let is_written = |(writer, &n): (&(usize, InsnId), &u8)| (n > 0).then_some(*writer);
    let writers: Vec<Option<(usize, InsnId)>> = writers.iter().zip(&n_writes).map(is_written).collect();
    let flushes =
        if is_once && is_straight { flushes(&writers, usize::try_from(lanes.width).ok()?) } else { Vec::new() };
    Some((way, flushes))
}

/// Squares in which two values or more are written, and single values; each after the last instruction that writes one of its values.
fn flushes(writers: &[Option<(usize, InsnId)>], width: usize) -> Vec<Flush> {
    let mut res = Vec::new();
    for (idx, square) in writers.chunks(width).enumerate() {
        let n_written = square.iter().flatten().count();
        let n = if square.len() == width && n_written > 1 { width } else { 1 };
        for (at, part) in square.chunks(n).enumerate() {
            if let Some(last) = part.iter().flatten().max() {
                res.push((last.1, idx * width + at, part.iter().map(Option::is_some).collect()));
            }
        }
    }
    res
}

/// The elements that an instruction writes.
fn elements(
    lanes: &Lanes,
    kernel: &Kernel,
    loops: &Loops,
    assignee: &Assignee,
    around: &[InameId],
    sizes: &[usize],
) -> Option<Vec<usize>> {
    let mut free: Vec<InameId> =
        around.iter().copied().filter(|&iname| iname != lanes.lane && iname != lanes.block).collect();
    let mut positions = vec![0_usize];
    for (&index, &size) in lanes.inner(assignee.array, &assignee.indices).iter().zip(sizes) {
        let index = affine::of(&kernel.exprs, index)?;
        let values: Vec<usize> = match (index.as_constant(), index.as_iname()) {
            (Some(number), _) => vec![usize::try_from(number).ok()?],
            (None, Some(iname)) => {
                let at = free.iter().position(|&other| other == iname)?;
                free.remove(at);
                let (low, high) = loops.box_of(kernel, iname)?;
                (usize::try_from(low).ok()?..=usize::try_from(high).ok()?).collect()
            }
            (None, None) => return None,
        };
        if values.iter().any(|&value| value >= size) || positions.len().checked_mul(values.len())? > MAX_ELEMENTS {
            return None;
        }
        positions = positions.iter().flat_map(|at| values.iter().map(move |value| at * size + value)).collect();
    }
    if !free.is_empty() {
        // The statement runs more than once for each element.
        return None;
    }
    Some(positions)
}
