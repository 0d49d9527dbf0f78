//! Loops whose iterations may run at the same time.
//!
//! # Input
//! A verified kernel with its order.
//! # Output
//! Each loop whose iterations have nothing in common but what they read and scalars that they add to, with the temporaries that each thread or lane needs for
//! itself. Loops inside such a loop are there, too.
//! # Method
//! Two iterations may run at the same time if they [touch no element](crate::independent) that one of them writes. A temporary that the loop alone
//! touches, and of which each iteration reads only what it has written, may be every thread's own instead. A float scalar that the loop only adds to is a sum:
//! if additions may be reordered, lanes can keep partial sums and add them up at the end. Loops marked `sequential` and
//! loops around opaque instructions stay as they are.
//! # Complexity
//! That of [`Meetings`] for pairs of accesses, one of them writing, to an array with at most [`MAX_ACCESSES`] accesses in the loop.
//! # Not done
//! Sums that are elements of arrays.

use nestegg_ir::domains::Domains;
use nestegg_ir::inline::inline_substitutions;
use nestegg_ir::linearization::{conditions_mut, runs_in, to_tree};
use nestegg_ir::{Array, ArrayId, InameId, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::batch::BatchError;
use crate::independent::{Access, MAX_ISL_OPERATIONS, Meetings, Touch, accesses, first_carried};

/// Arrays with more different accesses in a loop are taken to stand in the way.
const MAX_ACCESSES: usize = 512;

/// A loop whose iterations may run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelLoop {
    /// Which of the loops in the linearization, in their order.
    pub nth: usize,
    /// The iname.
    pub iname: InameId,
    /// The loops around it, outermost first.
    pub outer: Vec<InameId>,
    /// Temporaries that each thread or lane needs for itself, in order.
    pub private: Vec<ArrayId>,
    /// Scalars that the iterations add to, in order.
    pub sums: Vec<ArrayId>,
    /// The instructions in the loop, in order.
    pub insns: Vec<InsnId>,
}

/// The loops whose iterations have nothing in common, so that they may run at the same time, in the order of the linearization.
///
/// # Errors
/// If loops do not nest, a rule is defined by itself, or isl cannot use a domain.
pub fn parallel_loops(program: &LinearizedKernel) -> Result<Vec<ParallelLoop>, BatchError> {
    let mut res = apart_but_for_sums(program)?;
    res.retain(|found| found.sums.is_empty());
    Ok(res)
}

/// The loops whose iterations have nothing in common but sums, in the order of the linearization.
///
/// # Errors
/// Those of [`parallel_loops`].
pub(crate) fn apart_but_for_sums(program: &LinearizedKernel) -> Result<Vec<ParallelLoop>, BatchError> {
    let mut program = program.clone();
    let mut conditions = conditions_mut(&mut program.linearization);
    inline_substitutions(&mut program.kernel, &mut conditions)?;
    let LinearizedKernel { kernel, linearization } = &program;
    let tree = to_tree(linearization)?;
    let mut n_accesses: FxHashMap<ArrayId, usize> = FxHashMap::default();
    for access in accesses(kernel, &tree) {
        *n_accesses.entry(access.array).or_default() += 1;
    }
    let domains = Domains::bounded(kernel, MAX_ISL_OPERATIONS)?;
    let mut walk = Walk { kernel, domains, n_accesses, outer: Vec::new(), n_loops: 0, found: Vec::new() };
    walk.visit(&tree);
    Ok(walk.found)
}

struct Walk<'a> {
    kernel: &'a Kernel,
    domains: Domains,
    /// How many accesses to each array the kernel has.
    n_accesses: FxHashMap<ArrayId, usize>,
    outer: Vec<InameId>,
    n_loops: usize,
    found: Vec<ParallelLoop>,
}

impl Walk<'_> {
    /// Nested at most [`MAX_NESTING`](nestegg_ir::linearization::MAX_NESTING) deep.
    fn visit(&mut self, tree: &[LoopTree]) {
        for node in tree {
            match node {
                LoopTree::Loop { iname, body } => {
                    if let Some((private, sums)) = self.apart(*iname, body) {
                        let (outer, insns) = (self.outer.clone(), runs_in(body));
                        self.found.push(ParallelLoop { nth: self.n_loops, iname: *iname, outer, private, sums, insns });
                    }
                    self.n_loops += 1;
                    self.outer.push(*iname);
                    self.visit(body);
                    self.outer.pop();
                }
                LoopTree::Branch { body, .. } => self.visit(body),
                LoopTree::Run(_) => {}
            }
        }
    }

    /// The temporaries that each thread needs for itself if the iterations of a loop run at the same time, and the scalars that are sums; `None` if they may not.
    fn apart(&self, iname: InameId, body: &[LoopTree]) -> Option<(Vec<ArrayId>, Vec<ArrayId>)> {
        let is_opaque = |insn: InsnId| matches!(self.kernel[insn].kind, InstructionKind::Opaque { .. });
        if self.kernel.is_sequential(iname) || runs_in(body).into_iter().any(is_opaque) {
            return None;
        }
        let accesses = accesses(self.kernel, body);
        let meetings = Meetings::new(&self.domains, &self.outer, iname);
        let (mut private, mut sums) = (Vec::new(), Vec::new());
        let mut arrays: Vec<ArrayId> = accesses.iter().map(|access| access.array).collect();
        arrays.sort_unstable();
        arrays.dedup();
        for array in arrays {
            let of_array: Vec<&Access> = accesses.iter().filter(|access| access.array == array).collect();
            if of_array.iter().all(|access| access.touch == Touch::Read) || is_independent(&meetings, &of_array) {
                continue;
            }
            let Array { dtype, shape, .. } = &self.kernel[array];
            if shape.is_empty()
                && dtype.is_float()
                && of_array.iter().all(|access| access.touch == Touch::Update(Op::Add))
            {
                sums.push(array);
                continue;
            }
            let is_own = self.kernel[array].is_temporary()
                && self.n_accesses.get(&array) == Some(&of_array.len())
                && first_carried(self.kernel, &self.domains, of_array.iter().copied()).is_none();
            if !is_own {
                return None;
            }
            private.push(array);
        }
        Some((private, sums))
    }
}

/// Whether the accesses to one array meet in equal iterations only, where one of them writes.
fn is_independent(meetings: &Meetings<'_>, accesses: &[&Access]) -> bool {
    let mut seen = FxHashSet::default();
    let different: Vec<&&Access> = accesses.iter().filter(|access| seen.insert(access.at())).collect();
    different.len() <= MAX_ACCESSES
        && different.iter().enumerate().all(|(at, one)| {
            different[at..].iter().all(|other| {
                let is_read = one.touch == Touch::Read && other.touch == Touch::Read;
                is_read || meetings.are_only_equal(one, other)
            })
        })
}
