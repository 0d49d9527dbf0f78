//! Summaries of lists of numbers.

/// The geometric mean of positive numbers; `None` of none.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    let sum: f64 = positive.iter().map(|value| value.ln()).sum();
    (!positive.is_empty()).then(|| (sum / positive.len() as f64).exp())
}

/// The median; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The largest; `None` of none.
pub fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// The exponent `b` of the best fit `y = a·x^b`, by least squares of the logarithms; `None` of fewer than two sizes.
pub fn growth(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mean_x, mean_y) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let spread: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let product: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (logs.len() > 1 && spread > 0.0).then(|| product / spread)
}

/// The rank correlation of two lists, by Spearman: 1 where one grows with the other, equal values sharing their ranks. `None` where one list does not vary.
pub fn rank_correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    let [a, b] = [ranks(left), ranks(right)];
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(x, y)| f(x - mean, y - mean)).sum::<f64>();
    let (both, first, second) = (sum(&|x, y| x * y), sum(&|x, _| x * x), sum(&|_, y| y * y));
    (first > 0.0 && second > 0.0).then(|| both / (first * second).sqrt())
}

/// The rank of each value, from 1; the mean of their ranks for equal ones.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut res = vec![0.0; values.len()];
    let mut start = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = start as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&idx| res[idx] = rank);
        start += equal.len();
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_small_lists() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(median(&[]), None);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(largest(&[1.0, 5.0, 2.0]), Some(5.0));
    }

    #[test]
    fn ranks_correlate() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 30.0], &[5.0, 6.0, 7.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 30.0], &[7.0, 6.0, 5.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0], &[7.0, 6.0]), None);
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [2.5, 1.0, 2.5]);
    }

    #[test]
    fn growth_finds_the_exponent() {
        let points: Vec<(f64, f64)> = [1.0, 10.0, 100.0].iter().map(|&x| (x, 3.0 * f64::powf(x, 1.5))).collect();
        assert!((growth(&points).unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(growth(&points[..1]), None);
    }
}
