//! What the value of an expression depends on beside the expression: the instruction that evaluates it, or less.
//!
//! # Input
//! A kernel in value form, and what is known of its conditions, bounds and order.
//! # Output
//! For an expression that an instruction evaluates a number, its *version*: an expression has one class for each version.
//! # Method
//! For each expression once: which arrays that the kernel writes it reads, whether something in it may have to stay where the
//! kernel computes it, and whether its points depend on the loops around. For each instruction that says what tells versions apart:
//! the states of these arrays; the instruction itself, where what stays has a condition or a loop that may be empty around it;
//! the loops. What is read inside an array that always has values can be read anywhere.
//! # Complexity
//! Linear in the expressions; for each instruction linear in what it evaluates and no instruction before it did. An
//! expression that reads more than [`MAX_ARRAYS`] written arrays has a version for each instruction.

use std::cell::RefCell;

use indexmap::IndexSet;
use nestegg_ir::domains::DomainError;
use nestegg_ir::sequences::{MemoryState, Sequences};
use nestegg_ir::sets::{EMPTY, SetId, SetPool};
use nestegg_ir::{ArrayId, Expr, InameSet, InsnId, Kernel};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Of how many written arrays the states are told apart.
const MAX_ARRAYS: usize = 16;

/// A version, by number; 0 is that of expressions that depend on nothing.
pub(super) type VersionIdx = usize;

/// What versions of an expression may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Dependence {
    /// Arrays that the kernel writes between reads.
    arrays: SetId,
    /// Whether there are more of these than are told apart.
    is_memory_large: bool,
    /// Whether something may have to stay where the kernel computes it.
    stays: bool,
    /// Whether some of that is in a branch of a selection.
    stays_in_branch: bool,
    /// Whether a reduction's points depend on the loops around.
    is_coupled: bool,
}

impl Dependence {
    const NONE: Self =
        Self { arrays: EMPTY, is_memory_large: false, stays: false, stays_in_branch: false, is_coupled: false };
}

/// What tells a version of an expression from others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Version {
    /// An instruction, and whether it is its first predicate.
    insn: Option<(InsnId, bool)>,
    loops: Option<InameSet>,
    states: Vec<(ArrayId, Option<MemoryState>)>,
}

/// The versions of a kernel's expressions.
#[derive(Debug)]
pub(super) struct Versions<'a> {
    sequences: &'a Sequences,
    dependences: Vec<Dependence>,
    arrays: SetPool<ArrayId>,
    all: RefCell<IndexSet<Version, FxBuildHasher>>,
    /// Those of the instruction at hand, inside and outside of reductions whose loops matter.
    own: RefCell<FxHashMap<(Dependence, bool), VersionIdx>>,
    insn: InsnId,
    is_first_predicate: bool,
    loops: InameSet,
    /// Whether what is at hand may not be evaluated.
    is_guarded: bool,
}

impl<'a> Versions<'a> {
    /// The versions of expressions: `stays` says of an expression, its operands aside, whether it may have to stay where the
    /// kernel computes it, `is_in_branch` whether that is a branch, `changes` of an array whether not all its readers see the same
    /// state of it; `coupled` which inames' values depend on others.
    pub(super) fn new(
        kernel: &Kernel,
        sequences: &'a Sequences,
        (stays, is_in_branch, changes): (
            impl Fn(usize, &Expr) -> Result<bool, DomainError>,
            impl Fn(usize) -> bool,
            impl Fn(ArrayId) -> bool,
        ),
        coupled: &[InameSet],
    ) -> Result<Self, DomainError> {
        let changes: Vec<bool> = kernel.array_ids().map(changes).collect();
        let mut arrays = SetPool::new();
        let mut dependences: Vec<Dependence> = Vec::with_capacity(kernel.exprs.len());
        for (id, expr) in kernel.exprs.iter() {
            let mut res = Dependence::NONE;
            match expr {
                Expr::Access { array, .. } if changes[array.index()] => res.arrays = arrays.intern(vec![*array]),
                Expr::Reduce { inames, .. } => {
                    res.is_coupled = inames.iter().any(|iname| !coupled[iname.index()].is_empty());
                }
                _ => {}
            }
            res.stays = stays(id.index(), expr)?;
            res.stays_in_branch = res.stays && is_in_branch(id.index());
            for child in expr.children() {
                let other = dependences[child.index()];
                res.arrays = arrays.union(res.arrays, other.arrays);
                res.is_memory_large |= other.is_memory_large;
                res.stays |= other.stays;
                res.stays_in_branch |= other.stays_in_branch;
                res.is_coupled |= other.is_coupled;
            }
            if arrays.get(res.arrays).len() > MAX_ARRAYS {
                (res.arrays, res.is_memory_large) = (EMPTY, true);
            }
            dependences.push(res);
        }
        Ok(Self {
            sequences,
            dependences,
            arrays,
            all: RefCell::new([Version::default()].into_iter().collect()),
            own: RefCell::default(),
            insn: InsnId::new(0),
            is_first_predicate: false,
            loops: InameSet::new(),
            is_guarded: false,
        })
    }

    /// Goes on to an instruction within `loops`, or its first predicate, which may not be evaluated if it `is_guarded`.
    pub(super) fn enter(&mut self, insn: InsnId, is_first_predicate: bool, loops: InameSet, is_guarded: bool) {
        (self.insn, self.is_first_predicate, self.loops, self.is_guarded) =
            (insn, is_first_predicate, loops, is_guarded);
        self.own.borrow_mut().clear();
    }

    /// The version of an expression that the instruction at hand evaluates, `is_nested` in reductions whose loops matter.
    pub(super) fn of(&self, expr: nestegg_ir::ExprId, is_nested: bool) -> VersionIdx {
        let dependence = self.dependences[expr.index()];
        if dependence == Dependence::NONE {
            return 0;
        }
        let compute = || self.all.borrow_mut().insert_full(self.version(dependence, is_nested)).0;
        *self.own.borrow_mut().entry((dependence, is_nested)).or_insert_with(compute)
    }

    fn version(&self, dependence: Dependence, is_nested: bool) -> Version {
        let is_kept = dependence.stays && (self.is_guarded || is_nested || dependence.stays_in_branch);
        if is_kept || dependence.is_memory_large {
            return Version { insn: Some((self.insn, self.is_first_predicate)), ..Version::default() };
        }
        let arrays = self.arrays.get(dependence.arrays);
        Version {
            insn: None,
            loops: dependence.is_coupled.then(|| self.loops.clone()),
            states: arrays.iter().map(|&array| (array, self.sequences.memory_state(self.insn, array))).collect(),
        }
    }
}
