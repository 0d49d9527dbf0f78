//! Interned monomials, with what they cost and how often they are used.
//!
//! # Input
//! Powers of symbols.
//! # Output
//! Ids: equal monomials have equal ids. The first one is 1.
//! # Method
//! A table from monomials to ids; the monomials are sorted by symbol.
//! # Complexity
//! O(length) for each operation.

use rustc_hash::FxHashMap;

use crate::program::power_operations;

/// A value that monomials contain.
pub type Symbol = u32;

/// Symbols with positive exponents, sorted.
pub type Monomial = Vec<(Symbol, u32)>;

/// A position in [`Monomials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonomialId(u32);

impl MonomialId {
    /// The monomial 1.
    pub const ONE: Self = Self(0);

    /// The position, as rows of terms name monomials.
    #[must_use]
    pub fn position(self) -> u32 {
        self.0
    }

    fn idx(self) -> usize {
        self.0 as usize
    }
}

/// All monomials of a system.
#[derive(Clone, Debug)]
pub struct Monomials {
    monomials: Vec<Monomial>,
    n_uses: Vec<u32>,
    known: FxHashMap<Monomial, MonomialId>,
    /// Room for a monomial that is probably known.
    scratch: Monomial,
}

impl Default for Monomials {
    fn default() -> Self {
        let mut res =
            Self { monomials: Vec::new(), n_uses: Vec::new(), known: FxHashMap::default(), scratch: Monomial::new() };
        res.intern(&[]);
        res
    }
}

impl Monomials {
    /// The id of a monomial.
    pub fn intern(&mut self, monomial: &[(Symbol, u32)]) -> MonomialId {
        if let Some(&id) = self.known.get(monomial) {
            return id;
        }
        let id = MonomialId(u32::try_from(self.monomials.len()).expect("there are fewer than 2^32 monomials"));
        self.monomials.push(monomial.to_vec());
        self.n_uses.push(0);
        self.known.insert(monomial.to_vec(), id);
        id
    }

    /// The id of the monomial that is made in the room for one.
    fn intern_made(&mut self, make: impl FnOnce(&mut Monomial, &Self)) -> MonomialId {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        make(&mut scratch, self);
        let id = if scratch.is_empty() { MonomialId::ONE } else { self.intern(&scratch) };
        self.scratch = scratch;
        id
    }

    /// A monomial.
    #[must_use]
    pub fn get(&self, id: MonomialId) -> &Monomial {
        &self.monomials[id.idx()]
    }

    /// Whether a monomial is 1.
    #[must_use]
    pub fn is_one(&self, id: MonomialId) -> bool {
        id == MonomialId::ONE
    }

    /// The monomial at a position, which must be there.
    #[must_use]
    pub fn at(&self, position: u32) -> MonomialId {
        debug_assert!((position as usize) < self.monomials.len());
        MonomialId(position)
    }

    /// How many terms and outputs read a monomial.
    #[must_use]
    pub fn n_uses(&self, id: MonomialId) -> u32 {
        self.n_uses[id.idx()]
    }

    /// One reader more.
    pub fn add_use(&mut self, id: MonomialId) {
        self.n_uses[id.idx()] += 1;
    }

    /// One reader less.
    pub fn remove_use(&mut self, id: MonomialId) {
        self.n_uses[id.idx()] -= 1;
    }

    /// Multiplications of a monomial.
    #[must_use]
    pub fn operations(&self, id: MonomialId) -> i64 {
        let powers: u64 = self.get(id).iter().map(|&(_, exponent)| power_operations(exponent.cast_signed())).sum();
        (self.get(id).len() as i64 - 1).max(0) + powers as i64
    }

    /// The greatest common divisor of some monomials; 1 for none.
    pub fn common(&mut self, ids: impl IntoIterator<Item = MonomialId>) -> MonomialId {
        let mut ids = ids.into_iter();
        let Some(first) = ids.next() else { return MonomialId::ONE };
        self.intern_made(|common, monomials| {
            common.extend_from_slice(monomials.get(first));
            for id in ids {
                keep_common(common, monomials.get(id));
                if common.is_empty() {
                    break;
                }
            }
        })
    }

    /// A monomial divided by one that divides it.
    pub fn divided(&mut self, id: MonomialId, divisor: MonomialId) -> MonomialId {
        if self.is_one(divisor) {
            return id;
        }
        self.intern_made(|quotient, monomials| divide(monomials.get(id), monomials.get(divisor), quotient))
    }

    /// A monomial times a symbol.
    pub fn times(&mut self, id: MonomialId, symbol: Symbol) -> MonomialId {
        self.intern_made(|product, monomials| {
            product.extend_from_slice(monomials.get(id));
            match product.binary_search_by_key(&symbol, |factor| factor.0) {
                Ok(place) => product[place].1 += 1,
                Err(place) => product.insert(place, (symbol, 1)),
            }
        })
    }

    /// Changes monomials, each to another one that no monomial is equal to.
    pub fn rewrite(&mut self, changes: Vec<(MonomialId, Monomial)>) {
        for (id, monomial) in changes {
            let old = std::mem::replace(&mut self.monomials[id.idx()], monomial.clone());
            self.known.remove(&old);
            self.known.insert(monomial, id);
        }
    }
}

/// Leaves of a monomial the powers that it has in common with another one.
fn keep_common(common: &mut Monomial, other: &[(Symbol, u32)]) {
    let mut rest = other.iter().peekable();
    common.retain_mut(|(symbol, exponent)| {
        while rest.next_if(|factor| factor.0 < *symbol).is_some() {}
        let shared = rest.next_if(|factor| factor.0 == *symbol).map(|factor| factor.1);
        *exponent = shared.map_or(0, |shared| shared.min(*exponent));
        *exponent > 0
    });
}

/// Adds the powers of a quotient to those of `res`.
fn divide(monomial: &[(Symbol, u32)], divisor: &[(Symbol, u32)], res: &mut Monomial) {
    let mut rest = divisor.iter().peekable();
    for &(symbol, exponent) in monomial {
        let divided = rest.next_if(|factor| factor.0 == symbol).map_or(0, |factor| factor.1);
        if exponent > divided {
            res.push((symbol, exponent - divided));
        }
    }
}
