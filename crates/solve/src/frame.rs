//! Vectors as sparse combinations of a few of them.
//!
//! # Input
//! Vectors of one length, finite, and for each how often it is needed and how far its entries may be off.
//! # Output
//! Some of the vectors, the *members*, and all vectors as combinations of them that have few terms, weighted by need. What cannot be met is a
//! member itself.
//! # Method
//! What is needed most is taken first as long as it is independent. Then members are exchanged for other vectors, the best exchange first,
//! while that makes terms fewer: an exchange is one step of elimination in the table of all coefficients. The coefficients are solved
//! for anew then ([`spanned`](crate::spanned)). [`Vectors::extended`] makes members of other vectors too, where that saves more terms than one more member costs.
//! # Complexity
//! O(candidates · vectors · rank²) for each exchange, with [`MAX_CANDIDATES`] of the vectors as candidates, and [`MAX_WORK`] at most.
//! # Not done
//! The sparsest frame of all is not sought; members are among the vectors.

use crate::spanned::{Spanned, clean, is_met};

/// How many of the vectors may come in: those that are needed most.
pub const MAX_CANDIDATES: usize = 96;

/// How many coefficients may be looked at.
pub const MAX_WORK: u64 = 200_000_000;

/// Coefficients below this are taken for zero while members are chosen.
const ZERO: f64 = 1e-9;

/// A member goes only where the vector that comes has at least so much of it: others stay as exact as they were.
const PIVOT: f64 = 1e-2;

/// Vectors of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// Their entries.
    pub entries: Vec<Vec<f64>>,
    /// How often each is needed.
    pub needs: Vec<u64>,
    /// How far the entries of each may be off.
    pub tolerances: Vec<f64>,
}

/// Vectors as combinations of some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The positions of the members.
    pub members: Vec<usize>,
    /// For each member what it is made of: `None` for the vector itself, or members before it, with coefficients.
    pub definitions: Vec<Option<Vec<(usize, f64)>>>,
    /// For each vector the positions among the members with the coefficients, none of them zero.
    pub combinations: Vec<Vec<(usize, f64)>>,
}

impl Vectors {
    /// A frame of independent vectors; `None` if there is more to do than is allowed.
    #[must_use]
    pub fn frame(&self) -> Option<Frame> {
        let length = self.entries.first()?.len();
        let order = self.order();
        let rank = length.min(order.len()) as u64;
        let mut left = MAX_WORK.checked_sub(order.len() as u64 * length as u64 * rank)?;
        let mut spanned = Spanned::default();
        for &idx in &order {
            // What is dependent is met by the others below.
            spanned.take(&self.entries, idx).unwrap_or_default();
        }
        let coefficients = self.solved(&spanned.columns);
        let mut table = Table::new(self, spanned.columns, coefficients);
        while let Some((member, coming)) = table.best_exchange(&order[..order.len().min(MAX_CANDIDATES)], &mut left) {
            table.exchange(member, coming);
        }
        let mut members = table.members;
        let mut combinations: Vec<_> = self.solved(&members).iter().map(|row| sparse(row)).collect();
        for (idx, combination) in combinations.iter_mut().enumerate() {
            if combination.is_empty() {
                combination.push((members.len(), 1.0));
                members.push(idx);
            }
        }
        Some(Frame { definitions: vec![None; members.len()], members, combinations })
    }

    /// A frame with more members, each of which costs `of_member` beside what it is made of; `None` if none wins.
    #[must_use]
    pub fn extended(&self, frame: &Frame, of_member: u64) -> Option<Frame> {
        let mut left = MAX_WORK.checked_sub(self.entries.len() as u64 * frame.members.len() as u64)?;
        let dense = |terms: &Vec<(usize, f64)>| {
            let mut res = vec![0.0; frame.members.len()];
            terms.iter().for_each(|&(member, coefficient)| res[member] = coefficient);
            res
        };
        let coefficients = frame.combinations.iter().map(dense).collect();
        let mut table = Table::new(self, frame.members.clone(), coefficients);
        let mut definitions = frame.definitions.clone();
        let order = self.order();
        while let Some(coming) = table.best_addition(&order[..order.len().min(MAX_CANDIDATES)], of_member, &mut left) {
            let member = table.coefficients[coming].clone();
            let definition = sparse(&member);
            definitions.push((definition.len() < table.n_nonzeros[coming]).then_some(definition));
            let (of_member, mut room) = (terms(&member), Vec::new());
            let mut factor = |idx| table.with(idx, &of_member, &mut room).map_or(0.0, |found| found.1);
            let factors: Vec<f64> = (0..self.entries.len()).map(&mut factor).collect();
            table.add(coming, |idx| factors[idx]);
        }
        (table.members.len() > frame.members.len()).then(|| table.frame(definitions))
    }

    /// What is needed most first.
    fn order(&self) -> Vec<usize> {
        let mut res: Vec<usize> = (0..self.entries.len()).collect();
        res.sort_by_cached_key(|&idx| (std::cmp::Reverse(self.needs[idx]), self.n_nonzeros(idx), idx));
        res
    }

    fn n_nonzeros(&self, idx: usize) -> usize {
        self.entries[idx].iter().filter(|&&value| value != 0.0).count()
    }

    /// All vectors in terms of independent ones; zeros for one that is not met.
    fn solved(&self, members: &[usize]) -> Vec<Vec<f64>> {
        let mut spanned = Spanned::default();
        for &idx in members {
            spanned.take(&self.entries, idx).unwrap_or_default();
        }
        let unit =
            |position: usize| (0..members.len()).map(|other| if other == position { 1.0 } else { 0.0 }).collect();
        let mut res: Vec<(usize, Vec<f64>)> = (0..self.entries.len())
            .map(|idx| {
                if let Some(position) = members.iter().position(|&member| member == idx) {
                    return (idx, unit(position));
                }
                let (projections, _) = spanned.project(&self.entries[idx]);
                let solution = spanned.solve(&self.entries, idx, projections, |_| self.tolerances[idx]);
                (idx, solution.unwrap_or_else(|| vec![0.0; members.len()]))
            })
            .collect();
        clean(&self.entries, members, &mut res, |idx, _| self.tolerances[idx]);
        res.into_iter().map(|(_, solution)| solution).collect()
    }
}

fn sparse(row: &[f64]) -> Vec<(usize, f64)> {
    row.iter().copied().enumerate().filter(|(_, value)| *value != 0.0).collect()
}

/// The coefficients that are not taken for zero, with their positions.
fn terms(row: &[f64]) -> Vec<(usize, f64)> {
    row.iter().copied().enumerate().filter(|(_, value)| value.abs() > ZERO).collect()
}

/// A number as it is counted with.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX >> 32)
}

/// The coefficients of all vectors in the members so far.
struct Table<'a> {
    vectors: &'a Vectors,
    /// Of each vector.
    n_nonzeros: Vec<usize>,
    members: Vec<usize>,
    coefficients: Vec<Vec<f64>>,
}

impl<'a> Table<'a> {
    fn new(vectors: &'a Vectors, members: Vec<usize>, coefficients: Vec<Vec<f64>>) -> Self {
        let n_nonzeros = (0..vectors.entries.len()).map(|idx| vectors.n_nonzeros(idx)).collect();
        Self { vectors, n_nonzeros, members, coefficients }
    }

    /// The member that should go and the vector that should come, if that wins.
    fn best_exchange(&self, candidates: &[usize], left: &mut u64) -> Option<(usize, usize)> {
        let mut best: Option<(i64, usize, usize)> = None;
        for &coming in candidates.iter().filter(|coming| !self.members.contains(coming)) {
            let parts = terms(&self.coefficients[coming]);
            let n_pivots = parts.iter().filter(|(_, part)| part.abs() >= PIVOT).count();
            *left = left.checked_sub((n_pivots * self.coefficients.len() * self.members.len()) as u64)?;
            for (&(member, part), gain) in parts.iter().zip(self.gains(coming, &parts)) {
                if part.abs() >= PIVOT && gain > 0 && best.is_none_or(|known| gain > known.0) {
                    best = Some((gain, member, coming));
                }
            }
        }
        best.map(|(_, member, coming)| (member, coming))
    }

    /// How many terms fewer a vector leaves that comes for each of the members it has a part of; these parts are given.
    fn gains(&self, coming: usize, parts: &[(usize, f64)]) -> Vec<i64> {
        let n_nonzeros = |idx: usize| self.n_nonzeros[idx] as i64;
        let mut res: Vec<i64> =
            parts.iter().map(|part| n_nonzeros(self.members[part.0]) - n_nonzeros(coming)).collect();
        // What a row has of the parts: which, how much, and the parts.
        let (mut shared, mut values, mut of_shared) = (Vec::new(), Vec::new(), Vec::new());
        for (row, &need) in self.coefficients.iter().zip(&self.vectors.needs) {
            shared.clear();
            values.clear();
            of_shared.clear();
            for (idx, &(position, part)) in parts.iter().enumerate() {
                let value = row[position];
                if value.abs() > ZERO {
                    shared.push(idx);
                    values.push(value);
                    of_shared.push(part);
                }
            }
            // Only terms that both have can vanish; those of the coming vector alone are added.
            let n_added = (parts.len() - shared.len()) as i64;
            for (at, &idx) in shared.iter().enumerate() {
                let factor = values[at] / of_shared[at];
                let is_gone = |(value, part): (&f64, &f64)| usize::from((value - factor * part).abs() <= ZERO);
                let itself = is_gone((&values[at], &of_shared[at]));
                let n_gone = values.iter().zip(&of_shared).map(is_gone).sum::<usize>() - itself;
                res[idx] += (n_gone as i64 - n_added) * signed(need);
            }
        }
        res
    }

    /// The vector that should become a member beside the others, if that wins.
    fn best_addition(&self, candidates: &[usize], of_member: u64, left: &mut u64) -> Option<usize> {
        let mut room = Vec::new();
        let mut best: Option<(i64, usize)> = None;
        for &coming in candidates.iter().filter(|coming| !self.members.contains(coming)) {
            let terms = terms(&self.coefficients[coming]);
            let n_terms = terms.len() as i64;
            *left = left.checked_sub(self.coefficients.len() as u64 * n_terms as u64 * self.members.len() as u64)?;
            let saved: i64 = (0..self.coefficients.len())
                .map(|idx| {
                    let fewer = match idx == coming {
                        true => n_terms - 1,
                        false => self.with(idx, &terms, &mut room).map_or(0, |found| found.0),
                    };
                    fewer * signed(self.vectors.needs[idx])
                })
                .sum();
            let of_definition = n_terms.min(self.n_nonzeros[coming] as i64);
            let gain = saved - of_definition - signed(of_member);
            if gain > 0 && best.is_none_or(|known| gain > known.0) {
                best = Some((gain, coming));
            }
        }
        best.map(|(_, coming)| coming)
    }

    /// How many terms fewer a vector has with a multiple of one more member, and the multiple; `None` if it has no fewer.
    fn with(&self, idx: usize, member: &[(usize, f64)], room: &mut Vec<(f64, f64)>) -> Option<(i64, f64)> {
        let row = &self.coefficients[idx];
        // Only terms that both have can vanish; terms of the member alone are added.
        room.clear();
        room.extend(
            member.iter().map(|&(position, part)| (row[position], part)).filter(|(value, _)| value.abs() > ZERO),
        );
        let n_new = (member.len() - room.len()) as i64 + 1;
        let most = room.len() as i64 - n_new;
        let mut best: Option<(i64, f64)> = None;
        for &(value, part) in room.iter().filter(|(_, part)| part.abs() >= PIVOT) {
            if best.map_or(0, |known| known.0) >= most {
                break;
            }
            let factor = value / part;
            let n_gone = room.iter().filter(|(value, part)| (value - factor * part).abs() <= ZERO).count();
            let fewer = n_gone as i64 - n_new;
            if fewer > 0 && best.is_none_or(|known| fewer > known.0) {
                best = Some((fewer, factor));
            }
        }
        best
    }

    /// Makes a member of a vector; others have as much of it as the factors say.
    fn add(&mut self, coming: usize, factor: impl Fn(usize) -> f64) {
        let member = self.coefficients[coming].clone();
        self.members.push(coming);
        for idx in 0..self.coefficients.len() {
            let row = &mut self.coefficients[idx];
            let factor = if idx == coming { 1.0 } else { factor(idx) };
            if factor == 0.0 {
                row.push(0.0);
                continue;
            }
            let less = |(&value, &part): (&f64, &f64)| {
                let rest = value - factor * part;
                if rest.abs() <= ZERO { 0.0 } else { rest }
            };
            let changed: Vec<f64> = row.iter().zip(&member).map(less).chain([factor]).collect();
            if idx == coming
                || is_met(&self.vectors.entries, idx, &self.members, &changed, |_| self.vectors.tolerances[idx])
            {
                *row = changed;
            } else {
                row.push(0.0);
            }
        }
    }

    fn frame(self, definitions: Vec<Option<Vec<(usize, f64)>>>) -> Frame {
        let combinations = self.coefficients.iter().map(|row| sparse(row)).collect();
        Frame { members: self.members, definitions, combinations }
    }

    fn exchange(&mut self, member: usize, coming: usize) {
        let pivot = self.coefficients[coming].clone();
        for row in &mut self.coefficients {
            let factor = row[member] / pivot[member];
            if factor.abs() <= ZERO {
                row[member] = 0.0;
                continue;
            }
            for (position, (value, &part)) in row.iter_mut().zip(&pivot).enumerate() {
                if position != member {
                    *value -= factor * part;
                    if value.abs() <= ZERO {
                        *value = 0.0;
                    }
                }
            }
            row[member] = factor;
        }
        self.members[member] = coming;
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Vectors};

    fn dense(found: &Frame, vectors: &Vectors, idx: usize) -> Vec<f64> {
        let mut res = vec![0.0; vectors.entries[idx].len()];
        for &(member, coefficient) in &found.combinations[idx] {
            res.iter_mut()
                .zip(&vectors.entries[found.members[member]])
                .for_each(|(value, part)| *value += coefficient * part);
        }
        res
    }

    #[test]
    fn members_are_exchanged_until_combinations_are_sparse() {
        // The first two are needed most each, but all others are sparse in what the third spans with one of them.
        let entries = vec![
            vec![1.0, 1.0, 0.0],
            vec![1.0, -1.0, 0.0],
            vec![1.0, 0.0, 0.0],
            vec![0.0, 1.0, 0.0],
            vec![0.0, 0.5, 1.0],
            vec![0.0, 1.0, 1.0],
            vec![0.0, 0.25, 1.0],
        ];
        let vectors = Vectors { needs: vec![3, 3, 2, 9, 1, 1, 1], tolerances: vec![1e-12; entries.len()], entries };
        let found = vectors.frame().unwrap();
        let more = vectors.extended(&found, 0).unwrap();
        assert_eq!((found.members.len(), more.members.len()), (3, 5));
        let n_terms = |frame: &Frame| -> usize {
            std::iter::zip(&frame.combinations, &vectors.needs).map(|(terms, &need)| terms.len() * need as usize).sum()
        };
        assert_eq!((n_terms(&found), n_terms(&more)), (27, 22));
        for (idx, vector) in vectors.entries.iter().enumerate() {
            assert_eq!(dense(&found, &vectors, idx), *vector);
            assert_eq!(dense(&more, &vectors, idx), *vector);
        }
        assert_eq!(vectors.extended(&found, 100), None);
    }

    #[test]
    fn what_is_not_met_is_a_member() {
        let mut vectors =
            Vectors { entries: vec![vec![1.0, 0.0], vec![1.0, 1e-11]], needs: vec![1, 1], tolerances: vec![1e-12; 2] };
        assert_eq!(vectors.frame().unwrap().members, [0, 1]);
        vectors.tolerances = vec![1e-10; 2];
        assert_eq!(vectors.frame().unwrap().members, [0]);
        assert_eq!(Vectors::default().frame(), None);
    }
}
