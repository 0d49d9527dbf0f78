//! Clusters of table values that should be equal.
//!
//! # Policy
//! Equal entries of real tables scatter, by 5e-15 at degree 2 up to 1e-11 of their own size at degree 4. The tolerance is
//! therefore absolute, a multiple of the table's maximum: [`TOLERANCE`] to tell values apart, [`DROP`] of it below which a value
//! is zero. A cluster is represented by its median member, never by a fraction near it: snapping to fractions costs digits
//! and saves nothing.
//!
//! That is meant for noise, which is noise because it is added to something larger. What stands alone is not: an element of
//! a result made of small numbers only needs them as they are. So no number moves by more than [`PART`] of the magnitude of
//! the sum that it goes into, either.
//! # Input
//! Finite values and absolute tolerances.
//! # Output
//! Values of which any two have equal or clearly different magnitudes; no value moved by more than the tolerance.
//! # Method
//! Magnitudes are sorted; a cluster ends where the next magnitude is farther than the tolerance from its first. A
//! cluster of a chain of close values is thus cut by its width, so nothing drifts.
//! # Complexity
//! O(n log n).

/// Tolerance that tells entries of a table apart, as a multiple of the largest magnitude in it.
pub const TOLERANCE: f64 = 1e-12;

/// Entries below so much of the tolerance are zero.
pub const DROP: f64 = 0.1;

/// How far a number may be moved at most, as a multiple of the magnitude of the sum that it goes into.
pub const PART: f64 = 1e-10;

/// What clustering did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clustered {
    /// The largest change of a value.
    pub largest_change: f64,
    /// Values that were changed.
    pub n_changed: usize,
    /// Distinct magnitudes that are left, zero not counted.
    pub n_magnitudes: usize,
}

/// Replaces each value by the representative of its cluster of magnitudes, with the sign kept; magnitudes below
/// [`DROP`]` * tolerance` become zero. A tolerance of zero changes nothing. Values that are not finite stay as they are.
pub fn cluster(values: &mut [f64], tolerance: f64) -> Clustered {
    cluster_each(values, |_| tolerance)
}

/// The same with a tolerance for each value: a cluster is at most as wide as the least of its members.
pub fn cluster_each(values: &mut [f64], tolerance: impl Fn(usize) -> f64) -> Clustered {
    let mut res = Clustered::default();
    let mut order: Vec<usize> = Vec::with_capacity(values.len());
    for (value_idx, value) in values.iter_mut().enumerate() {
        if *value != 0.0 && value.abs() < DROP * tolerance(value_idx) {
            res.largest_change = res.largest_change.max(value.abs());
            res.n_changed += 1;
            *value = 0.0;
        }
        if *value != 0.0 && value.is_finite() {
            order.push(value_idx);
        }
    }
    order.sort_by(|&left, &right| values[left].abs().total_cmp(&values[right].abs()).then(left.cmp(&right)));
    let mut begin = 0;
    while begin < order.len() {
        let first = values[order[begin]].abs();
        let mut width = f64::INFINITY;
        let mut is_member = |value_idx: usize| {
            width = width.min(tolerance(value_idx));
            values[value_idx].abs() - first <= width
        };
        let n_members = order[begin..].iter().copied().take_while(|&value_idx| is_member(value_idx)).count().max(1);
        let members = &order[begin..begin + n_members];
        let representative = values[members[(n_members - 1) / 2]].abs();
        for &value_idx in members {
            let change = (values[value_idx].abs() - representative).abs();
            if change > 0.0 {
                res.largest_change = res.largest_change.max(change);
                res.n_changed += 1;
                values[value_idx] = representative.copysign(values[value_idx]);
            }
        }
        res.n_magnitudes += 1;
        begin += n_members;
    }
    res
}

#[cfg(test)]
mod tests {
    use super::{cluster, cluster_each};

    #[test]
    fn scatter_goes_and_signs_stay() {
        let mut values = [0.1, -0.1 - 1e-15, 0.1 + 2e-15, 1.0, 1e-14, -0.0];
        let res = cluster(&mut values, 1e-12);
        assert_eq!(values, [0.1 + 1e-15, -0.1 - 1e-15, 0.1 + 1e-15, 1.0, 0.0, 0.0]);
        assert_eq!((res.n_changed, res.n_magnitudes), (3, 2));
        assert_eq!(res.largest_change, 1e-14);
    }

    #[test]
    fn a_chain_is_cut_by_its_width() {
        let mut values: Vec<f64> = (0..100).map(|step| 1.0 + f64::from(step) * 0.4).collect();
        let before = values.clone();
        let res = cluster(&mut values, 1.0);
        assert!(res.largest_change <= 1.0);
        assert!(res.n_magnitudes >= 30);
        assert!(before.iter().zip(&values).all(|(old, new)| (old - new).abs() <= 1.0));
    }

    #[test]
    fn each_value_has_its_tolerance() {
        let mut values = [1e-16, 64.0, 3e-16, 64.0 + 1e-13, 1e-16];
        let tolerances = [1e-26, 1e-12, 1e-26, 1e-12, 1e-3];
        let res = cluster_each(&mut values, |value_idx| tolerances[value_idx]);
        assert_eq!(values, [1e-16, 64.0, 3e-16, 64.0, 0.0]);
        assert_eq!((res.n_changed, res.n_magnitudes), (2, 3));
    }

    #[test]
    fn without_tolerance_nothing_changes() {
        let mut values = [1e-300, 1.0, 1.0 + f64::EPSILON];
        assert_eq!(cluster(&mut values, 0.0).n_changed, 0);
        assert_eq!(values, [1e-300, 1.0, 1.0 + f64::EPSILON]);
    }
}
