//! Tables over points and functions of a tensor product as products of tables over one dimension each.
//!
//! # Input
//! Tables `T[q, i]` with the same `q` and `i`, and the extents of the digits of `q`.
//! # Output
//! For each `i` one number for each digit, and for each table its factors `U[q0, a]`, `V[q1, b]`, … with `T[q, i] = U[q0, a]*V[q1, b]*…` within [`TOLERANCE`];
//! `None` if there are none.
//! # Method
//! A column of a table must have rank one over the digits of `q`: the lines through its largest entry are its factors, up to a scale. Functions with the same lines
//! in a dimension, in all tables, have the same number there; numbers go by where along the dimension the lines have their weight. What is left, the
//! scales, must have rank one over these numbers.
//! # Complexity
//! Linear in the tables, and quadratic in the functions of one dimension.

use nestegg_solve::cluster::{DROP, TOLERANCE};

/// Lines whose entries differ by more than this part of the largest one are those of different functions.
const LINE_TOLERANCE: f64 = 1e-9;

/// A table, column by column: for each `i` its numbers for all `q`.
pub(super) type Columns = Vec<Vec<f64>>;

/// How the functions of some tables are made of those of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Separation {
    /// For each digit how many numbers it has.
    pub(super) extents: Vec<usize>,
    /// For each function its numbers, one for each digit.
    pub(super) numbers: Vec<Vec<usize>>,
    /// For each table and each digit its factor, `U[point][number]`.
    pub(super) factors: Vec<Vec<Vec<Vec<f64>>>>,
}

/// A column as a scale and a line for each digit, whose entry of largest magnitude is one or minus one.
struct Column {
    scale: f64,
    lines: Vec<Vec<f64>>,
}

/// The separation of tables whose points have these digits, the outermost first.
pub(super) fn separation(tables: &[Columns], digits: &[usize]) -> Option<Separation> {
    let n_functions = tables.first()?.len();
    let mut columns: Vec<Vec<Column>> = Vec::with_capacity(tables.len());
    for table in tables {
        let largest = magnitude(table.iter().flatten());
        columns.push(table.iter().map(|column| rank_one(column, digits, largest)).collect::<Option<_>>()?);
    }
    let mut extents = Vec::new();
    let mut numbers = vec![Vec::new(); n_functions];
    for (digit, &n_points) in digits.iter().enumerate() {
        let signature = |function: usize| -> Vec<f64> {
            columns.iter().flat_map(|table| table[function].lines[digit].iter().copied()).collect()
        };
        let signatures: Vec<Vec<f64>> = (0..n_functions).map(signature).collect();
        let (of_functions, extent) = numbered(&signatures, n_points);
        extents.push(extent);
        numbers.iter_mut().zip(of_functions).for_each(|(numbers, number)| numbers.push(number));
    }
    let mut at = vec![None; extents.iter().product()];
    if at.len() != n_functions || extents.iter().any(|&extent| extent < 2) {
        return None;
    }
    for (function, numbers) in numbers.iter().enumerate() {
        let place = &mut at[rank(numbers, &extents)];
        if place.replace(function).is_some() {
            return None;
        }
    }
    let at: Vec<usize> = at.into_iter().collect::<Option<_>>()?;
    let factors = columns.iter().map(|columns| factors(columns, digits, &extents, &at)).collect::<Option<_>>()?;
    Some(Separation { extents, numbers, factors })
}

/// The position of an element, row-major.
pub(super) fn rank(numbers: &[usize], extents: &[usize]) -> usize {
    numbers.iter().zip(extents).fold(0, |rank, (number, extent)| rank * extent + number)
}

/// A digit of a number to mixed bases, the outermost first.
pub(super) fn digit_of(number: usize, bases: &[usize], digit: usize) -> usize {
    number / bases[digit + 1..].iter().product::<usize>() % bases[digit]
}

/// The largest magnitude.
pub(super) fn magnitude<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// A column of a table with that largest magnitude; `None` if it has another rank than one.
fn rank_one(column: &[f64], digits: &[usize], largest: f64) -> Option<Column> {
    let (pivot, _) =
        column.iter().enumerate().fold((0, 0.0), |best, (q, x)| if x.abs() > best.1 { (q, x.abs()) } else { best });
    let mut scale = column[pivot];
    if scale.abs() <= TOLERANCE * largest {
        return None;
    }
    let stride = |digit: usize| digits[digit + 1..].iter().product::<usize>();
    let mut lines = Vec::with_capacity(digits.len());
    for (digit, &extent) in digits.iter().enumerate() {
        let own = digit_of(pivot, digits, digit);
        let mut line: Vec<f64> =
            (0..extent).map(|x| column[pivot + x * stride(digit) - own * stride(digit)] / column[pivot]).collect();
        line.iter_mut().filter(|x| x.abs() < DROP * TOLERANCE).for_each(|x| *x = 0.0);
        // One sign of the two, whatever the order of entries whose magnitudes differ by rounding only.
        let sign = line.iter().enumerate().map(|(x, value)| value * (2.0 + x as f64).sqrt()).sum::<f64>();
        if sign < 0.0 {
            line.iter_mut().for_each(|x| *x = -*x);
            scale = -scale;
        }
        lines.push(line);
    }
    let res = Column { scale, lines };
    let is_close = |(q, &value): (usize, &f64)| {
        let product = (0..digits.len()).map(|digit| res.lines[digit][digit_of(q, digits, digit)]).product::<f64>();
        (res.scale * product - value).abs() <= TOLERANCE * largest
    };
    column.iter().enumerate().all(is_close).then_some(res)
}

/// For each signature the number of its class, and how many classes there are. Classes go by where along the points their signatures have their weight.
fn numbered(signatures: &[Vec<f64>], n_points: usize) -> (Vec<usize>, usize) {
    let mut classes: Vec<&Vec<f64>> = Vec::new();
    let mut of_each = Vec::with_capacity(signatures.len());
    for signature in signatures {
        let is_same = |class: &&Vec<f64>| class.iter().zip(signature).all(|(x, y)| (x - y).abs() <= LINE_TOLERANCE);
        of_each.push(classes.iter().position(is_same).unwrap_or_else(|| {
            classes.push(signature);
            classes.len() - 1
        }));
    }
    let center = |class: &[f64]| {
        let weights = class.iter().enumerate().map(|(idx, value)| ((idx % n_points) as f64, value * value));
        let (sum, weight) = weights.fold((0.0, 0.0), |(sum, all), (at, weight)| (sum + at * weight, all + weight));
        // Rounding has no say in what comes first.
        (sum / weight / LINE_TOLERANCE).round()
    };
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by(|&a, &b| center(classes[a]).total_cmp(&center(classes[b])));
    let mut number = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| number[old] = new);
    (of_each.into_iter().map(|class| number[class]).collect(), order.len())
}

/// The factors of a table whose function with a place in the grid of numbers is `at` of it; `None` if its scales do not have rank one.
fn factors(columns: &[Column], digits: &[usize], extents: &[usize], at: &[usize]) -> Option<Vec<Vec<Vec<f64>>>> {
    let stride = |digit: usize| extents[digit + 1..].iter().product::<usize>();
    let first = columns[at[0]].scale;
    let mut res = Vec::with_capacity(digits.len());
    let mut scales: Vec<Vec<f64>> = Vec::with_capacity(digits.len());
    for (digit, &n_points) in digits.iter().enumerate() {
        let of_number = |number: usize| &columns[at[number * stride(digit)]];
        let scale: Vec<f64> = (0..extents[digit]).map(|number| of_number(number).scale / first).collect();
        let row = |q: usize| -> Vec<f64> {
            scale.iter().enumerate().map(|(number, scale)| scale * of_number(number).lines[digit][q]).collect()
        };
        res.push((0..n_points).map(row).collect::<Vec<Vec<f64>>>());
        scales.push(scale);
    }
    for (place, &function) in at.iter().enumerate() {
        let product = (0..digits.len()).map(|digit| scales[digit][digit_of(place, extents, digit)]).product::<f64>();
        let scale = columns[function].scale;
        if (first * product - scale).abs() > LINE_TOLERANCE * scale.abs() {
            return None;
        }
    }
    // Functions that add up to one stay so in each dimension, the rest goes to one that has none of these.
    let mut rest = first;
    let mut other = 0;
    for (digit, factor) in res.iter_mut().enumerate() {
        let sums: Vec<f64> = factor.iter().map(|row| row.iter().sum()).collect();
        let is_constant = sums.iter().all(|sum| (sum - sums[0]).abs() <= LINE_TOLERANCE * sums[0].abs());
        if is_constant && sums[0].abs() > LINE_TOLERANCE {
            factor.iter_mut().flatten().for_each(|value| *value /= sums[0]);
            rest *= sums[0];
        } else {
            other = digit;
        }
    }
    if (rest - 1.0).abs() > LINE_TOLERANCE {
        res[other].iter_mut().flatten().for_each(|value| *value *= rest);
    }
    Some(res)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear functions at three points, and their derivatives.
    const VALUES: [[f64; 2]; 3] = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]];
    const SLOPES: [[f64; 2]; 3] = [[-1.0, 1.0]; 3];

    fn product(first: [[f64; 2]; 3], second: [[f64; 2]; 3], order: [(usize, usize); 4]) -> Columns {
        let column = |(a, b): (usize, usize)| (0..9).map(|q| first[q / 3][a] * second[q % 3][b]).collect();
        order.into_iter().map(column).collect()
    }

    #[test]
    fn functions_in_any_order_are_found() {
        let order = [(1, 0), (0, 0), (1, 1), (0, 1)];
        let tables = [product(SLOPES, VALUES, order), product(VALUES, SLOPES, order)];
        let found = separation(&tables, &[3, 3]).unwrap();
        assert_eq!(found.extents, [2, 2]);
        assert_eq!(found.numbers, [[1, 0], [0, 0], [1, 1], [0, 1]]);
        for (table, columns) in found.factors.iter().zip(&tables) {
            for (numbers, column) in found.numbers.iter().zip(columns) {
                for (q, value) in column.iter().enumerate() {
                    let made = table[0][q / 3][numbers[0]] * table[1][q % 3][numbers[1]];
                    assert!((made - value).abs() < 1e-15, "{made} {value}");
                }
            }
        }
        // Values stay those of one dimension.
        let of_values = &found.factors[0][1];
        assert!((of_values[0][0] - 0.9).abs() < 1e-15 && (of_values[0][1] - 0.1).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_product_is_left() {
        let order = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let mut table = product(VALUES, VALUES, order);
        assert!(separation(std::slice::from_ref(&table), &[3, 3]).is_some());
        table[2][4] += 1e-6;
        assert!(separation(&[table], &[3, 3]).is_none());
        // One dimension alone does not tell functions apart.
        assert!(separation(&[product(SLOPES, SLOPES, order)], &[3, 3]).is_none());
    }
}
