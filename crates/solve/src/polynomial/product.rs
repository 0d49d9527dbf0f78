//! Common products of two symbols, computed once.
//!
//! # Input
//! A system.
//! # Output
//! The system with a symbol for each product of two symbols that several monomials contain.
//! # Method
//! The pair of symbols that most monomials contain becomes a symbol, in each of them as often as it can; the square of a symbol
//! is a pair too. Ties go to the pair of the smallest symbols. A new symbol is the largest, so pairs of old symbols only become
//! fewer, and the heap is put right when it is read.
//! # Complexity
//! O(sum of squared lengths of monomials · log).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use super::monomial::{Monomial, MonomialId, Symbol};
use super::system::{Kind, System};

/// Shares products until none occurs twice. Returns whether there was one.
pub fn share_products(system: &mut System) -> bool {
    let mut live: Vec<MonomialId> = Vec::new();
    let of_sums = system.sums.iter().flat_map(|terms| terms.keys().copied());
    live.extend(of_sums.chain(system.outputs.iter().flatten().map(|output| output.1)));
    live.extend(system.kinds.iter().filter_map(|kind| if let Kind::Product(id) = kind { Some(*id) } else { None }));
    live.sort_unstable();
    live.dedup();
    let mut sharing = Sharing {
        monomials: live.iter().map(|&id| system.monomial(id).clone()).collect(),
        readers: vec![Vec::new(); system.kinds.len()],
        counts: FxHashMap::default(),
        heap: BinaryHeap::new(),
    };
    sharing.count_all();
    let n_before = system.kinds.len();
    while let Some(pair) = sharing.best() {
        let symbol = sharing.replace(pair);
        let monomial = if pair.0 == pair.1 { vec![(pair.0, 2)] } else { vec![(pair.0, 1), (pair.1, 1)] };
        let id = system.monomials.intern(&monomial);
        system.monomials.add_use(id);
        let pushed = system.push_symbol(Kind::Product(id));
        assert_eq!(symbol, pushed, "symbols are numbered alike");
    }
    let defined: BTreeSet<MonomialId> = system.kinds[n_before..]
        .iter()
        .filter_map(|kind| if let Kind::Product(id) = kind { Some(*id) } else { None })
        .collect();
    let mut changes = Vec::new();
    for (&id, monomial) in live.iter().zip(&sharing.monomials) {
        if monomial != system.monomial(id) {
            changes.push((id, monomial.clone()));
        }
    }
    system.rewrite_products(changes, &defined);
    system.kinds.len() > n_before
}

type Pair = (Symbol, Symbol);

struct Sharing {
    monomials: Vec<Monomial>,
    /// For each symbol the monomials that contain it or did.
    readers: Vec<Vec<usize>>,
    /// How many monomials contain each pair.
    counts: FxHashMap<Pair, u32>,
    /// Counts, possibly out of date: never too small.
    heap: BinaryHeap<(u32, Reverse<Pair>)>,
}

impl Sharing {
    fn count_all(&mut self) {
        let mut all: Vec<Pair> = Vec::new();
        for (position, monomial) in self.monomials.iter().enumerate() {
            all.extend(pairs(monomial));
            for &(symbol, _) in monomial {
                self.readers[symbol as usize].push(position);
            }
        }
        self.insert(all);
    }

    fn insert(&mut self, mut pairs: Vec<Pair>) {
        pairs.sort_unstable();
        for run in pairs.chunk_by(|left, right| left == right).filter(|run| run.len() > 1) {
            let count = u32::try_from(run.len()).expect("there are fewer than 2^32 monomials");
            self.counts.insert(run[0], count);
            self.heap.push((count, Reverse(run[0])));
        }
    }

    fn best(&mut self) -> Option<Pair> {
        while let Some((count, Reverse(pair))) = self.heap.pop() {
            match self.counts.get(&pair) {
                Some(&now) if now == count => return Some(pair),
                Some(&now) if now > 1 => self.heap.push((now, Reverse(pair))),
                _ => {}
            }
        }
        None
    }

    /// Makes the pair a symbol in all monomials that contain it.
    fn replace(&mut self, pair: Pair) -> Symbol {
        let symbol = Symbol::try_from(self.readers.len()).expect("there are fewer than 2^32 symbols");
        let mut new_pairs: Vec<Pair> = Vec::new();
        let mut touched: Vec<usize> = Vec::new();
        for &position in &self.readers[pair.0 as usize] {
            let monomial = &self.monomials[position];
            let n_times = n_times(monomial, pair);
            if n_times == 0 {
                continue;
            }
            let mut changed: Monomial = Monomial::new();
            for &(other, exponent) in monomial {
                let n_taken = n_times * (u32::from(other == pair.0) + u32::from(other == pair.1));
                if exponent > n_taken {
                    changed.push((other, exponent - n_taken));
                }
            }
            changed.push((symbol, n_times));
            for gone in pairs(monomial) {
                if let Some(count) = self.counts.get_mut(&gone) {
                    *count -= 1;
                }
            }
            for kept in pairs(&changed) {
                if kept.1 == symbol {
                    new_pairs.push(kept);
                } else if let Some(count) = self.counts.get_mut(&kept) {
                    *count += 1;
                }
            }
            self.monomials[position] = changed;
            touched.push(position);
        }
        self.readers.push(touched);
        self.counts.remove(&pair);
        self.insert(new_pairs);
        symbol
    }
}

/// How often a monomial contains a pair.
fn n_times(monomial: &Monomial, pair: Pair) -> u32 {
    let exponent =
        |symbol: Symbol| monomial.binary_search_by_key(&symbol, |factor| factor.0).map_or(0, |place| monomial[place].1);
    if pair.0 == pair.1 { exponent(pair.0) / 2 } else { exponent(pair.0).min(exponent(pair.1)) }
}

/// The pairs that a monomial contains.
fn pairs(monomial: &Monomial) -> impl Iterator<Item = Pair> + '_ {
    monomial.iter().enumerate().flat_map(|(place, &(left, exponent))| {
        let square = (exponent > 1).then_some((left, left));
        square.into_iter().chain(monomial[place + 1..].iter().map(move |&(right, _)| (left, right)))
    })
}
