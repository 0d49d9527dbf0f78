//! Where temporaries are declared, and what is said of them.
//!
//! A scalar is declared at its first assignment if everything that touches it is in the block of that assignment, after it:
//! its value never passes from one iteration to the next. Other scalars are declared at the top of the function
//! and start at zero (compilers cannot see that they are written before they are read); arrays are declared there
//! as they are.

use std::collections::BTreeMap;

use nestegg_ir::order::arrays_read;
use nestegg_ir::{Array, ArrayId, ArrayKind, Expr, ExprId, InameId, InsnId, InstructionKind, Kernel, LoopTree};
use rustc_hash::FxHashMap;

use super::error::CodegenError;
use super::lanes::Lanes;

/// For each iname whose bounds depend on data the temporaries that they depend on.
pub(crate) type Bounding = FxHashMap<InameId, Vec<ArrayId>>;

/// How many of a temporary's instructions a note names.
const MAX_DEFINITIONS: usize = 4;

/// How a temporary is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// Where.
    pub(crate) place: Place,
    /// Whether anything reads it but to write it.
    pub(crate) is_read: bool,
    /// Whether something writes it under a condition, or in a loop that may not run, inside the block around all that touches it:
    /// compilers cannot see that it has a value then.
    pub(crate) is_conditional: bool,
}

/// Where a temporary is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the top of the function.
    Top,
    /// By this instruction, which is the first to touch it.
    At {
        /// The instruction.
        insn: InsnId,
        /// Whether nothing else writes it.
        constant: bool,
    },
}

/// Says whether the loop over an iname, inside others, surely runs.
type Runs<'a> = dyn FnMut(InameId, &[InameId]) -> Result<bool, CodegenError> + 'a;

/// The declarations of the temporaries that are used, by array; tables and arguments are absent.
pub(crate) fn declarations(
    kernel: &Kernel,
    tree: &[LoopTree],
    (lanes, bounding): (Option<&Lanes>, &Bounding),
    runs: &mut Runs<'_>,
) -> Result<BTreeMap<ArrayId, Declaration>, CodegenError> {
    let mut walk = Walk {
        kernel,
        reads: with_bounds(kernel, arrays_read(kernel), bounding),
        bounding,
        touched: FxHashMap::default(),
        blocks: vec![Block { parent: 0, depth: 0, n_conditions: 0 }],
        open: Vec::new(),
        lanes,
        runs,
    };
    walk.block(tree, 0)?;
    let res = walk
        .touched
        .iter()
        .map(|(&array, touched)| {
            let place = match touched.first {
                Some((insn, block)) if block == touched.common && walk.is_scalar(array) => {
                    Place::At { insn, constant: touched.n_writes == 1 }
                }
                _ => Place::Top,
            };
            let is_conditional = touched.n_conditions > walk.blocks[touched.common].n_conditions;
            (array, Declaration { place, is_read: touched.is_read, is_conditional })
        })
        .collect();
    Ok(res)
}

/// What happens to one temporary.
#[derive(Clone, Copy, Debug)]
struct Touched {
    /// The innermost block around everything that touches it.
    common: usize,
    /// The first that touches it and its block, if it is a plain assignment.
    first: Option<(InsnId, usize)>,
    n_writes: usize,
    is_read: bool,
    /// The most conditions around a write.
    n_conditions: usize,
}

/// A stretch of C between braces.
#[derive(Clone, Copy, Debug)]
struct Block {
    parent: usize,
    depth: usize,
    /// How many conditions, and loops that may not run, are around it.
    n_conditions: usize,
}

struct Walk<'a> {
    kernel: &'a Kernel,
    reads: Vec<Vec<ArrayId>>,
    bounding: &'a Bounding,
    touched: FxHashMap<ArrayId, Touched>,
    blocks: Vec<Block>,
    open: Vec<InameId>,
    lanes: Option<&'a Lanes>,
    runs: &'a mut Runs<'a>,
}

impl Walk<'_> {
    /// Whether it is one value, or one vector.
    fn is_scalar(&self, array: ArrayId) -> bool {
        let n_axes = self.kernel[array].shape.len();
        n_axes == 0 || (n_axes == 1 && self.lanes.is_some_and(|lanes| lanes.holds(array)))
    }

    /// Nested at most [`MAX_NESTING`](nestegg_ir::linearization::MAX_NESTING) deep.
    fn block(&mut self, tree: &[LoopTree], block: usize) -> Result<(), CodegenError> {
        for node in tree {
            match node {
                // Vectors are no loop.
                LoopTree::Loop { iname, body } if self.lanes.is_some_and(|lanes| lanes.lane == *iname) => {
                    self.block(body, block)?;
                }
                LoopTree::Loop { iname, body } => {
                    for &array in self.bounding.get(iname).into_iter().flatten() {
                        self.touch(array, block, None, false);
                    }
                    let runs = (self.runs)(*iname, &self.open)?;
                    let inner = self.enter(block, usize::from(!runs));
                    self.open.push(*iname);
                    self.block(body, inner)?;
                    self.open.pop();
                }
                LoopTree::Branch { condition, body } => {
                    for array in accessed(self.kernel, *condition) {
                        self.touch(array, block, None, false);
                    }
                    let inner = self.enter(block, 1);
                    self.block(body, inner)?;
                }
                LoopTree::Run(insn) => self.run(*insn, block),
            }
        }
        Ok(())
    }

    fn enter(&mut self, parent: usize, n_conditions: usize) -> usize {
        let Block { depth, n_conditions: around, .. } = self.blocks[parent];
        self.blocks.push(Block { parent, depth: depth + 1, n_conditions: around + n_conditions });
        self.blocks.len() - 1
    }

    fn run(&mut self, insn: InsnId, block: usize) {
        let instruction = &self.kernel[insn];
        let written = instruction.written_arrays();
        for array in self.reads[insn.index()].clone() {
            self.touch(array, block, None, written.contains(&array));
        }
        let n_conditions = self.blocks[block].n_conditions + instruction.predicates.len();
        // In the loop over lanes a variable lives for one instruction only.
        let is_alone =
            self.lanes.is_some_and(|lanes| !lanes.is_vector[insn.index()] && instruction.within.contains(&lanes.lane));
        let plain = matches!(instruction.kind, InstructionKind::Assignment { .. })
            && instruction.predicates.is_empty()
            && !is_alone;
        for array in written {
            self.touch(array, block, plain.then_some(insn), true);
            if let Some(touched) = self.touched.get_mut(&array) {
                touched.n_writes += 1;
                touched.n_conditions = touched.n_conditions.max(n_conditions);
            }
        }
    }

    fn touch(&mut self, array: ArrayId, block: usize, plain_write: Option<InsnId>, by_writer: bool) {
        if !self.kernel[array].is_temporary() {
            return;
        }
        let first = plain_write.map(|insn| (insn, block));
        let mut known = match self.touched.get(&array) {
            Some(known) => *known,
            None => Touched { common: block, first, n_writes: 0, is_read: false, n_conditions: 0 },
        };
        let mut other = block;
        while known.common != other {
            if self.blocks[known.common].depth >= self.blocks[other].depth {
                known.common = self.blocks[known.common].parent;
            } else {
                other = self.blocks[other].parent;
            }
        }
        known.is_read |= !by_writer;
        self.touched.insert(array, known);
    }
}

/// For each instruction the arrays that it reads, with those that bound its reductions.
fn with_bounds(kernel: &Kernel, mut reads: Vec<Vec<ArrayId>>, bounding: &Bounding) -> Vec<Vec<ArrayId>> {
    if bounding.is_empty() {
        return reads;
    }
    for (instruction, reads) in kernel.instructions.iter().zip(&mut reads) {
        for id in kernel.exprs.reachable(instruction.expressions()) {
            if let Expr::Reduce { inames, .. } = &kernel.exprs[id] {
                reads.extend(inames.iter().filter_map(|iname| bounding.get(iname)).flatten());
            }
        }
    }
    reads
}

fn accessed(kernel: &Kernel, root: ExprId) -> Vec<ArrayId> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut pending = vec![root];
    let mut res = Vec::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let expr = &kernel.exprs[id];
        if let nestegg_ir::Expr::Access { array, .. } = expr {
            res.push(*array);
        }
        pending.extend(expr.children());
    }
    res
}

/// What is said of a temporary where it is declared: the note that was given, or its dtype, shape and definition.
pub(crate) fn note(array: &Array, shape: &str, given: Option<&String>, defined_by: &[&str]) -> String {
    let Array { name, dtype, kind, .. } = array;
    if let Some(note) = given {
        return if note.starts_with(name.as_str()) { note.clone() } else { format!("{name}: {note}") };
    }
    let shape = if shape.is_empty() { String::new() } else { format!("[{shape}]") };
    let first = &defined_by[..defined_by.len().min(MAX_DEFINITIONS)];
    let more = if defined_by.len() > first.len() { ", …" } else { "" };
    match (kind, defined_by.len()) {
        (ArrayKind::Table(_), _) => format!("{name}: table of {dtype}{shape}"),
        (_, 0) => format!("{name}: {dtype}{shape}, never written"),
        (_, 1) => format!("{name}: {dtype}{shape}, defined by instruction {}", first[0]),
        _ => format!("{name}: {dtype}{shape}, defined by instructions {}{more}", first.join(", ")),
    }
}
