//! Interned sets: equal sets are one id, and the union of two is computed once.

use std::hash::Hash;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// An interned set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetId(u32);

/// The set without members.
pub const EMPTY: SetId = SetId(0);

/// Sets as sorted slices, each stored once.
#[derive(Debug)]
pub struct SetPool<T> {
    sets: IndexSet<Box<[T]>, FxBuildHasher>,
    unions: FxHashMap<(SetId, SetId), SetId>,
}

impl<T: Copy + Ord + Hash> SetPool<T> {
    /// A pool with the empty set.
    #[must_use]
    pub fn new() -> Self {
        Self { sets: [Box::default()].into_iter().collect(), unions: FxHashMap::default() }
    }

    /// The members, sorted.
    #[must_use]
    pub fn get(&self, id: SetId) -> &[T] {
        &self.sets[id.0 as usize]
    }

    /// The set of these members.
    ///
    /// # Panics
    /// Beyond 2^32 sets.
    pub fn intern(&mut self, mut members: Vec<T>) -> SetId {
        members.sort_unstable();
        members.dedup();
        let (idx, _) = self.sets.insert_full(members.into());
        SetId(u32::try_from(idx).expect("there are fewer sets than expressions"))
    }

    /// Members of either set.
    pub fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let key = (SetId(a.0.min(b.0)), SetId(a.0.max(b.0)));
        if let Some(&known) = self.unions.get(&key) {
            return known;
        }
        let members = [self.get(a), self.get(b)].concat();
        let res = self.intern(members);
        self.unions.insert(key, res);
        res
    }
}

impl<T: Copy + Ord + Hash> Default for SetPool<T> {
    fn default() -> Self {
        Self::new()
    }
}
