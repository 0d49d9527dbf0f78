//! What the e-graph knows of the kernel: interned accesses and reductions, and facts on their payloads.

use indexmap::IndexSet;
use nestegg_ir::affine::Affine;
use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, InameId, InameSet, InsnId, Kernel, Licence, ReduceOp, Semantics};
use rustc_hash::FxBuildHasher;

use crate::language::{AccessId, ReductionId};
use crate::region::Supports;
use crate::table::Tables;

/// One index of an access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// Affine in inames and parameters.
    Affine(Affine),
    /// Any other integer expression: the next child of the e-node.
    Child,
}

impl Index {
    /// The inames of an affine index.
    pub fn inames(&self) -> impl Iterator<Item = InameId> + '_ {
        let affine = match self {
            Self::Affine(affine) => Some(affine),
            Self::Child => None,
        };
        affine.into_iter().flat_map(Affine::inames)
    }
}

/// Which state of memory an access sees. Accesses with different stamps are never one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stamp {
    /// Memory that nothing in the kernel writes.
    Constant,
    /// The state between two writers, by the number that normalisation gave it.
    Version(u32),
}

/// How far a value may move that may trap, or have no element, where the kernel does not compute it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Anywhere: the kernel computes it at every point of its inames.
    #[default]
    Anywhere,
    /// Where all conditions around its uses are tested: the kernel computes it at every point of its inames where they hold.
    UnderConditions,
    /// It is computed at its uses.
    AtItsUses,
}

/// An access as an e-node's payload.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Argument, temporary or table.
    pub array: ArrayId,
    /// One per dimension.
    pub indices: Box<[Index]>,
    /// The memory that it sees.
    pub stamp: Stamp,
    /// Inames that it depends on beside those in its indices: loops in which that memory is written, and those that it needs
    /// around it so that the kernel computes it at all of its points.
    pub pinned: InameSet,
    /// How far it may move if it may be outside its array, or without a value.
    pub reach: Reach,
}

/// A reduction as an e-node's payload.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduction {
    /// The operation.
    pub op: ReduceOp,
    /// What is bound: in increasing order, or in the order of the kernel where sums keep theirs.
    pub inames: Box<[InameId]>,
    /// Inames around it that those are [coupled](crate::coupling) with: it is over the points that belong to their values.
    pub pinned: InameSet,
}

/// Where a value that may trap is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuardId(u32);

/// The kernel's side of the e-graph.
#[derive(Clone, Debug, Default)]
pub struct Context {
    accesses: IndexSet<Access, FxBuildHasher>,
    /// The inames that a value which may trap needs around it, and how far it may move.
    guards: IndexSet<(InameSet, Reach), FxBuildHasher>,
    reductions: IndexSet<Reduction, FxBuildHasher>,
    /// For each iname the inames that its domain depends on, transitively.
    enclosing: Vec<InameSet>,
    /// For each iname the inames of its domain that it is coupled with.
    coupled: Vec<InameSet>,
    /// For each instruction the inames that it is within.
    within: Vec<InameSet>,
    /// What an iname without a domain depends on.
    nothing: InameSet,
    array_types: Vec<Type>,
    parameter_types: Vec<Type>,
    /// For each iname how many values it takes, where that is one number for all values of the others.
    extents: Vec<Option<i64>>,
    /// For each iname its least value, where its values are all those from there up, whatever the others are.
    starts: Vec<Option<i64>>,
    tables: Tables,
    /// Where tables are zero.
    pub(crate) supports: Supports,
    /// What must be kept.
    semantics: Semantics,
}

impl Context {
    /// The context of a kernel. `extents` gives, per iname, the number of its values where that is constant; `coupled`,
    /// per iname, the inames of its domain that it is coupled with.
    #[must_use]
    pub fn new(kernel: &Kernel, extents: Vec<Option<i64>>, coupled: Vec<InameSet>, semantics: Semantics) -> Self {
        let mut enclosing: Vec<InameSet> = vec![InameSet::new(); kernel.inames.len()];
        // A chain of domains is at most as long as there are domains; each round closes one more step.
        loop {
            let mut changed = false;
            for iname in kernel.iname_ids() {
                let direct: InameSet = kernel[kernel[iname].domain].enclosing.iter().copied().collect();
                let all = direct.iter().fold(direct.clone(), |all, outer| all.union(&enclosing[outer.index()]));
                changed |= all != enclosing[iname.index()];
                enclosing[iname.index()] = all;
            }
            if !changed {
                break;
            }
        }
        Self {
            accesses: IndexSet::default(),
            guards: IndexSet::default(),
            reductions: IndexSet::default(),
            enclosing,
            coupled,
            within: kernel.instructions.iter().map(|instruction| instruction.within_set()).collect(),
            nothing: InameSet::new(),
            array_types: kernel.arrays.iter().map(|array| array.dtype.into()).collect(),
            parameter_types: kernel.parameters.iter().map(|parameter| parameter.dtype.into()).collect(),
            extents,
            starts: Vec::new(),
            tables: Tables::new(kernel),
            supports: Supports::new(kernel),
            semantics,
        }
    }

    /// The same with the least values of inames that take all values from there up, whatever the others are.
    #[must_use]
    pub fn with_starts(self, starts: Vec<Option<i64>>) -> Self {
        Self { starts, ..self }
    }

    /// The least value of an iname, where its values are all those from there up, whatever the others are.
    #[must_use]
    pub fn start(&self, iname: InameId) -> Option<i64> {
        self.starts.get(iname.index()).copied().flatten()
    }

    /// The constant tables.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Whether operations of floats are rounded as the kernel has them.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.semantics.licence == Licence::Strict
    }

    /// What must be kept.
    #[must_use]
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// The id of an access, which is stored if it is new.
    ///
    /// # Panics
    /// Beyond 2^32 accesses.
    pub fn intern_access(&mut self, access: Access) -> AccessId {
        let (idx, _) = self.accesses.insert_full(access);
        AccessId(u32::try_from(idx).expect("fewer than 2^32 accesses"))
    }

    /// The id of an access that is stored.
    #[must_use]
    pub fn known_access(&self, access: &Access) -> Option<AccessId> {
        let idx = self.accesses.get_index_of(access)?;
        Some(AccessId(u32::try_from(idx).expect("fewer than 2^32 accesses")))
    }

    /// The access of that id.
    #[must_use]
    pub fn access(&self, id: AccessId) -> &Access {
        &self.accesses[id.0 as usize]
    }

    /// The id of a reduction of what is inside loops and reductions over `scope`, which is stored if it is new.
    ///
    /// # Panics
    /// Beyond 2^32 reductions.
    pub fn intern_reduction(&mut self, op: ReduceOp, inames: &InameSet, scope: &InameSet) -> ReductionId {
        self.intern_ordered_reduction(op, inames.as_slice(), scope)
    }

    /// The same for a reduction that runs over its inames in this order.
    ///
    /// # Panics
    /// Beyond 2^32 reductions.
    pub fn intern_ordered_reduction(&mut self, op: ReduceOp, inames: &[InameId], scope: &InameSet) -> ReductionId {
        let pinned = scope.intersection(&self.coupled_with(&inames.iter().copied().collect()));
        let (idx, _) = self.reductions.insert_full(Reduction { op, inames: inames.into(), pinned });
        ReductionId(u32::try_from(idx).expect("fewer than 2^32 reductions"))
    }

    /// The reduction of that id.
    #[must_use]
    pub fn reduction(&self, id: ReductionId) -> &Reduction {
        &self.reductions[id.0 as usize]
    }

    /// The inames that the domain of `iname` depends on, transitively.
    #[must_use]
    pub fn enclosing(&self, iname: InameId) -> &InameSet {
        self.enclosing.get(iname.index()).unwrap_or(&self.nothing)
    }

    /// The place of a value that may trap: the inames that it needs around it, and how far it may move.
    pub fn intern_guard(&mut self, inames: InameSet, reach: Reach) -> GuardId {
        let (idx, _) = self.guards.insert_full((inames, reach));
        GuardId(u32::try_from(idx).expect("fewer than 2^32 guards"))
    }

    /// The inames that a guarded value needs around it, and how far it may move.
    #[must_use]
    pub fn guard(&self, guard: GuardId) -> &(InameSet, Reach) {
        &self.guards[guard.0 as usize]
    }

    /// The inames that an instruction is within.
    #[must_use]
    pub fn within(&self, insn: InsnId) -> &InameSet {
        &self.within[insn.index()]
    }

    /// The inames that one of `inames` is coupled with, beside themselves.
    #[must_use]
    pub fn coupled_with(&self, inames: &InameSet) -> InameSet {
        let coupled = |iname: InameId| self.coupled.get(iname.index()).unwrap_or(&self.nothing);
        inames.iter().fold(InameSet::new(), |all, iname| all.union(coupled(iname))).difference(inames)
    }

    /// `iname` with those of `inames` that it is coupled with: they are reduced together.
    #[must_use]
    pub fn block(&self, iname: InameId, inames: &InameSet) -> InameSet {
        let own: InameSet = [iname].into_iter().collect();
        self.coupled_with(&own).intersection(inames).union(&own)
    }

    /// Whether a block of `inames` may be reduced inside the others: none of their domains depends on it.
    #[must_use]
    pub fn can_be_inner(&self, block: &InameSet, inames: &InameSet) -> bool {
        inames.difference(block).iter().all(|other| self.enclosing(other).is_disjoint(block))
    }

    /// How many values `iname` takes, where that is one number for all values of the others.
    #[must_use]
    pub fn extent(&self, iname: InameId) -> Option<i64> {
        self.extents[iname.index()]
    }

    /// The type of an array's elements.
    #[must_use]
    pub fn array_type(&self, array: ArrayId) -> Type {
        self.array_types[array.index()]
    }

    /// The type of a parameter.
    #[must_use]
    pub fn parameter_type(&self, parameter: nestegg_ir::ParameterId) -> Type {
        self.parameter_types[parameter.index()]
    }

    /// The free inames of a reduction's value, from those of its body.
    #[must_use]
    pub fn free_inames(&self, reduction: ReductionId, body: &InameSet) -> InameSet {
        let reduction = self.reduction(reduction);
        let bound: InameSet = reduction.inames.iter().copied().collect();
        body.difference(&bound).union(&self.free_in_range(&bound, &reduction.pinned))
    }

    /// The inames around a reduction that say over which points it is.
    #[must_use]
    pub fn around_reduction(&self, reduction: ReductionId) -> InameSet {
        let reduction = self.reduction(reduction);
        self.free_in_range(&reduction.inames.iter().copied().collect(), &reduction.pinned)
    }

    /// The free inames of what a reduction over `bound` ranges over, where it is coupled with `pinned` inames around it.
    #[must_use]
    pub fn free_in_range(&self, bound: &InameSet, pinned: &InameSet) -> InameSet {
        let all = bound.iter().fold(pinned.clone(), |all, iname| all.union(self.enclosing(iname)));
        all.difference(bound)
    }
}
