//! Typed indices into the vectors of a [`Kernel`](crate::Kernel), and sets of inames.
//!
//! An id is only meaningful together with the kernel that made it.

use std::fmt;

use smallvec::SmallVec;

macro_rules! define_id {
    ($(#[$doc:meta] $name:ident, $letter:literal;)+) => {$(
        #[$doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of position `idx`.
            #[must_use]
            pub fn new(idx: usize) -> Self {
                Self(u32::try_from(idx).expect("a kernel holds fewer than 2^32 entities of a kind"))
            }

            /// The position that this id stands for.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    )+};
}

define_id! {
    /// An iname: position in [`Kernel::inames`](crate::Kernel::inames).
    InameId, "i";
    /// A parameter: position in [`Kernel::parameters`](crate::Kernel::parameters).
    ParameterId, "p";
    /// An argument, temporary or table: position in [`Kernel::arrays`](crate::Kernel::arrays).
    ArrayId, "a";
    /// A substitution rule: position in [`Kernel::substitutions`](crate::Kernel::substitutions).
    SubstitutionId, "s";
    /// A function name: position in [`Kernel::functions`](crate::Kernel::functions).
    FunctionId, "f";
    /// An instruction: position in [`Kernel::instructions`](crate::Kernel::instructions).
    InsnId, "n";
    /// A domain: position in [`Kernel::domains`](crate::Kernel::domains).
    DomainId, "d";
    /// An expression: position in [`Exprs`](crate::Exprs).
    ExprId, "e";
}

/// A set of inames, kept sorted: equal sets compare, order and hash alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InameSet(SmallVec<[InameId; 6]>);

impl InameSet {
    /// The set without inames.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `iname`; says whether it was absent.
    pub fn insert(&mut self, iname: InameId) -> bool {
        match self.0.binary_search(&iname) {
            Ok(_) => false,
            Err(idx) => {
                self.0.insert(idx, iname);
                true
            }
        }
    }

    /// Takes `iname` out; says whether it was there.
    pub fn remove(&mut self, iname: InameId) -> bool {
        match self.0.binary_search(&iname) {
            Ok(idx) => {
                self.0.remove(idx);
                true
            }
            Err(_) => false,
        }
    }

    /// Whether `iname` is a member.
    #[must_use]
    pub fn contains(&self, iname: InameId) -> bool {
        self.0.binary_search(&iname).is_ok()
    }

    /// The members in increasing order of id.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = InameId> + ExactSizeIterator + '_ {
        self.0.iter().copied()
    }

    /// The members in increasing order of id.
    #[must_use]
    pub fn as_slice(&self) -> &[InameId] {
        &self.0
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Members of either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_superset(other) {
            return self.clone();
        }
        let mut res: SmallVec<[InameId; 6]> = SmallVec::with_capacity(self.0.len() + other.0.len());
        let (mut own, mut others) = (self.iter().peekable(), other.iter().peekable());
        while let (Some(&a), Some(&b)) = (own.peek(), others.peek()) {
            res.push(a.min(b));
            own.next_if(|_| a <= b);
            others.next_if(|_| b <= a);
        }
        res.extend(own);
        res.extend(others);
        Self(res)
    }

    /// Members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&iname| other.contains(iname)).collect())
    }

    /// Members of this set that `other` lacks.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&iname| !other.contains(iname)).collect())
    }

    /// Whether every member of `self` is in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut others = other.iter();
        self.len() <= other.len() && self.iter().all(|iname| others.find(|&other| other >= iname) == Some(iname))
    }

    /// Whether every member of `other` is in `self`.
    #[must_use]
    pub fn is_superset(&self, other: &Self) -> bool {
        other.is_subset(self)
    }

    /// Whether no iname is in both.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.iter().all(|iname| !other.contains(iname))
    }
}

impl FromIterator<InameId> for InameSet {
    fn from_iter<I: IntoIterator<Item = InameId>>(iter: I) -> Self {
        let mut res: SmallVec<[InameId; 6]> = iter.into_iter().collect();
        res.sort_unstable();
        res.dedup();
        Self(res)
    }
}

impl Extend<InameId> for InameSet {
    fn extend<I: IntoIterator<Item = InameId>>(&mut self, iter: I) {
        for iname in iter {
            self.insert(iname);
        }
    }
}

impl fmt::Debug for InameSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
