//! The inames of a family: the digits of its members' positions.
//!
//! # Input
//! The extents of the axes along which members lie, and the *holes*: what differs between members.
//! # Output
//! Digits of the axes, such that each hole depends on few of them: eight elements whose tables depend on one bit each lie in a cube.
//! # Complexity
//! For each order of the prime factors of an extent, the holes times the members times the digits, squared.

/// What differs between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hole {
    /// Equal numbers for members that are alike; `None` for those that may be anything.
    pub(super) classes: Vec<Option<u32>>,
    /// What should be affine functions of the digits, all or none.
    pub(super) integers: Vec<Vec<Option<i64>>>,
    /// Whether they must be.
    pub(super) is_required: bool,
}

impl Hole {
    /// Integers that must be affine functions of the digits.
    pub(super) fn of_integers(values: Vec<Option<i64>>) -> Self {
        let mut known: Vec<i64> = values.iter().flatten().copied().collect();
        known.sort_unstable();
        known.dedup();
        let class = |value: i64| known.binary_search(&value).ok().map(|at| at as u32);
        Self {
            classes: values.iter().map(|value| value.and_then(class)).collect(),
            integers: vec![values],
            is_required: true,
        }
    }
}

/// A digit of a position along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digit {
    pub(super) axis: usize,
    pub(super) extent: usize,
    pub(super) stride: usize,
}

/// The positions of members: all points of a box, in lexicographic order.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) extents: Vec<usize>,
}

/// An affine function of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    pub(super) constant: i64,
    pub(super) coefficients: Vec<i64>,
}

/// Orders of prime factors that are tried for an axis.
const MAX_ORDERS: usize = 12;

impl Grid {
    pub(super) fn n_members(&self) -> usize {
        self.extents.iter().product()
    }

    /// The value of a digit for a member.
    pub(super) fn digit(&self, member: usize, digit: Digit) -> usize {
        let inner: usize = self.extents[digit.axis + 1..].iter().product();
        let position = member / inner % self.extents[digit.axis];
        position / digit.stride % digit.extent
    }

    /// The digits of a family.
    pub(super) fn digits(&self, holes: &[Hole]) -> Vec<Digit> {
        let mut res = Vec::new();
        for (axis, &extent) in self.extents.iter().enumerate() {
            let best = orders(extent).into_iter().map(|order| digits_of(axis, extent, &order)).min_by_key(|digits| {
                let all = self.with_others(axis, digits);
                holes.iter().map(|hole| self.size(hole, &all)).fold(0_usize, usize::saturating_add)
            });
            res.extend(best.unwrap_or_default());
        }
        self.merged(res, holes)
    }

    /// The digits of one axis, and the others whole.
    fn with_others(&self, axis: usize, digits: &[Digit]) -> Vec<Digit> {
        let whole = |axis: usize| vec![Digit { axis, extent: self.extents[axis], stride: 1 }];
        (0..self.extents.len()).flat_map(|other| if other == axis { digits.to_vec() } else { whole(other) }).collect()
    }

    /// How many values a hole takes.
    fn size(&self, hole: &Hole, digits: &[Digit]) -> usize {
        self.dependence(&hole.classes, digits).into_iter().map(|at| digits[at].extent).product()
    }

    /// A smallest set of digits on which values depend.
    pub(super) fn dependence<T: PartialEq + Copy>(&self, values: &[Option<T>], digits: &[Digit]) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..digits.len()).collect();
        for at in 0..digits.len() {
            let rest: Vec<usize> = kept.iter().copied().filter(|&other| other != at).collect();
            if self.values_at(values, digits, &rest).is_some() {
                kept = rest;
            }
        }
        kept
    }

    /// Values by some of the digits, the first outermost; `None` if others matter too.
    pub(super) fn values_at<T: PartialEq + Copy>(
        &self,
        values: &[Option<T>],
        digits: &[Digit],
        kept: &[usize],
    ) -> Option<Vec<Option<T>>> {
        let n: usize = kept.iter().map(|&at| digits[at].extent).product();
        let mut res: Vec<Option<T>> = vec![None; n];
        for (member, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let place = kept.iter().fold(0, |place, &at| place * digits[at].extent + self.digit(member, digits[at]));
            match &res[place] {
                Some(known) if known != value => return None,
                _ => res[place] = Some(*value),
            }
        }
        Some(res)
    }

    /// Integers as an affine function of digits, which is nowhere outside of their range.
    pub(super) fn fit(&self, values: &[Option<i64>], digits: &[Digit]) -> Option<Fit> {
        let at = |wanted: &dyn Fn(usize) -> usize| -> Option<i64> {
            let is_there = |member: &usize| (0..digits.len()).all(|at| self.digit(*member, digits[at]) == wanted(at));
            (0..values.len()).find(is_there).and_then(|member| values[member])
        };
        let constant = at(&|_| 0)?;
        let mut coefficients = Vec::with_capacity(digits.len());
        for digit in 0..digits.len() {
            coefficients.push(at(&|at| usize::from(at == digit))?.checked_sub(constant)?);
        }
        let low = values.iter().flatten().min()?;
        let high = values.iter().flatten().max()?;
        for (member, value) in values.iter().enumerate() {
            let mut fitted = constant;
            for (&digit, coefficient) in digits.iter().zip(&coefficients) {
                fitted = fitted.checked_add(coefficient.checked_mul(self.digit(member, digit) as i64)?)?;
            }
            let is_right = value.map_or(*low <= fitted && fitted <= *high, |value| value == fitted);
            if !is_right {
                return None;
            }
        }
        Some(Fit { constant, coefficients })
    }

    /// Neighbouring digits of an axis that no hole tells apart are one.
    fn merged(&self, mut digits: Vec<Digit>, holes: &[Hole]) -> Vec<Digit> {
        let mut at = 0;
        while at + 1 < digits.len() {
            let (high, low) = (digits[at], digits[at + 1]);
            if high.axis == low.axis && holes.iter().all(|hole| self.allows(hole, &digits, at)) {
                digits[at] = Digit { axis: low.axis, extent: high.extent * low.extent, stride: low.stride };
                digits.remove(at + 1);
            } else {
                at += 1;
            }
        }
        digits
    }

    /// Whether a hole does not tell a digit from the next.
    fn allows(&self, hole: &Hole, digits: &[Digit], at: usize) -> bool {
        let needed = self.dependence(&hole.classes, digits);
        if needed.contains(&at) != needed.contains(&(at + 1)) {
            return false;
        }
        hole.integers.iter().all(|integers| match self.fit(integers, digits) {
            Some(fit) => fit.coefficients[at] == fit.coefficients[at + 1] * digits[at + 1].extent as i64,
            None => !hole.is_required,
        })
    }
}

fn digits_of(axis: usize, extent: usize, factors: &[usize]) -> Vec<Digit> {
    let mut stride = extent;
    factors
        .iter()
        .map(|&factor| {
            stride /= factor;
            Digit { axis, extent: factor, stride }
        })
        .collect()
}

/// The orders of the prime factors of a number, the increasing one first.
fn orders(number: usize) -> Vec<Vec<usize>> {
    let (mut factors, mut rest, mut factor) = (Vec::new(), number, 2);
    while rest > 1 {
        if rest % factor == 0 {
            factors.push(factor);
            rest /= factor;
        } else {
            factor += 1;
        }
    }
    let mut res: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..factors.len() {
        let mut longer = Vec::new();
        for begun in res {
            let mut tried: Vec<usize> = Vec::new();
            for &factor in &factors {
                let n_left = |of: &[usize]| of.iter().filter(|&&other| other == factor).count();
                if !tried.contains(&factor) && n_left(&begun) < n_left(&factors) {
                    tried.push(factor);
                    longer.push(begun.iter().copied().chain([factor]).collect());
                }
            }
        }
        longer.truncate(MAX_ORDERS);
        res = longer;
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_digits_of_their_own() {
        let grid = Grid { extents: vec![8] };
        let hole = |bit: usize| Hole {
            classes: (0..8).map(|member: usize| Some((member >> bit & 1) as u32)).collect(),
            integers: Vec::new(),
            is_required: false,
        };
        let digits = grid.digits(&[hole(0), hole(2)]);
        let parts: Vec<(usize, usize)> = digits.iter().map(|digit| (digit.extent, digit.stride)).collect();
        assert_eq!(parts, [(2, 4), (2, 2), (2, 1)]);
        // Where nothing tells them apart, they are one.
        let all: Vec<Option<u32>> = (0..8).map(Some).collect();
        assert_eq!(grid.digits(&[Hole { classes: all, integers: Vec::new(), is_required: false }]).len(), 1);
    }

    #[test]
    fn what_is_missing_must_not_leave_the_range() {
        let grid = Grid { extents: vec![2, 2] };
        let digits = grid.digits(&[]);
        assert_eq!(digits.len(), 2);
        let fit = grid.fit(&[Some(4), Some(5), Some(6), Some(7)], &digits).unwrap();
        assert_eq!((fit.constant, fit.coefficients), (4, vec![2, 1]));
        assert!(grid.fit(&[Some(4), Some(5), Some(6), None], &digits).is_none());
    }

    #[test]
    fn orders_of_factors() {
        assert_eq!(orders(12), [[2, 2, 3], [2, 3, 2], [3, 2, 2]]);
        assert_eq!(orders(7), [[7]]);
        assert_eq!(orders(1), [Vec::<usize>::new()]);
    }
}
