//! The writers of an array in program order, found by the constants among their indices.
//!
//! Elements with different constants in one dimension are different: a read passes over all such writers at once. Writers
//! are kept by *which* dimensions they index by constants, and among those by the constants.
//! # Complexity
//! A few look-ups and binary searches for each read, as many as there are kinds of writers.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::normalise::element::Constants;

/// The writers of one array that came so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    kinds: Vec<Kind>,
    /// Positions of instructions that may write any element.
    anywhere: Vec<usize>,
}

/// Writers with constants in the same dimensions.
#[derive(Clone, Debug)]
struct Kind {
    /// For each dimension whether its index is a constant.
    is_constant: SmallVec<[bool; 4]>,
    /// Positions by the constants.
    by_constants: FxHashMap<SmallVec<[i64; 4]>, Vec<usize>>,
    /// All positions.
    all: Vec<usize>,
}

impl Writers {
    /// Adds the writer at a position, after all others; without constants if it may write any element.
    pub(crate) fn push(&mut self, position: usize, constants: Option<&Constants>) {
        let Some(constants) = constants else {
            self.anywhere.push(position);
            return;
        };
        let is_constant: SmallVec<[bool; 4]> = constants.iter().map(Option::is_some).collect();
        let kind_idx = self.kinds.iter().position(|kind| kind.is_constant == is_constant).unwrap_or_else(|| {
            self.kinds.push(Kind { is_constant, by_constants: FxHashMap::default(), all: Vec::new() });
            self.kinds.len() - 1
        });
        let kind = &mut self.kinds[kind_idx];
        kind.all.push(position);
        kind.by_constants.entry(constants.iter().flatten().copied().collect()).or_default().push(position);
    }

    /// The last writer before a position that can write an element with these constants.
    pub(crate) fn last_before(&self, position: usize, constants: &Constants) -> Option<usize> {
        let last =
            |positions: &[usize]| positions[..positions.partition_point(|&writer| writer < position)].last().copied();
        let of_kind = |kind: &Kind| {
            let own = constants.iter().zip(&kind.is_constant).filter(|(_, is_constant)| **is_constant);
            match own.map(|(constant, _)| *constant).collect::<Option<SmallVec<[i64; 4]>>>() {
                Some(key) => kind.by_constants.get(&key).and_then(|positions| last(positions)),
                // The read varies where these writers do not: it may meet any of them.
                None => last(&kind.all),
            }
        };
        self.kinds.iter().filter_map(of_kind).chain(last(&self.anywhere)).max()
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn writers_of_other_constants_are_passed() {
        let mut writers = Writers::default();
        writers.push(1, Some(&smallvec![Some(0), None]));
        writers.push(2, Some(&smallvec![Some(1), None]));
        writers.push(3, Some(&smallvec![Some(1), Some(5)]));
        let zero = smallvec![Some(0), None];
        assert_eq!(
            writers.last_before(9, &zero),
            Some(3),
            "the read may be at 5, the writer's 1 is known by kind only"
        );
        assert_eq!(writers.last_before(9, &smallvec![Some(0), Some(5)]), Some(1));
        assert_eq!(writers.last_before(9, &smallvec![None, None]), Some(3));
        assert_eq!(writers.last_before(1, &zero), None);
        writers.push(4, None);
        assert_eq!(writers.last_before(9, &zero), Some(4));
    }
}
