//! A constant matrix times a vector of run-time values, as a straight-line program with few operations.
//!
//! # Input
//! The entries of a matrix C, sparse, and what may be tried. Entries that should be equal must be equal to the bit,
//! but for the sign: [`cluster`](fn@crate::cluster) them first.
//! # Output
//! A program of y = C x, with one output for each row. It never has more operations than the rows one by one. Its
//! coefficients differ from exact ones by rounding, and by [`LinearOptions::tolerance`] at most for each step that they pass;
//! only entries that scatter come near that.
//! # Method
//! A [net](net::Net) of rows is built, transformed in several ways, and the cheapest is kept:
//! 1. Equal rows are one, up to the sign; proportional rows are one row and its multiples ([`net`]).
//! 2. Columns are scaled by their most frequent value, so that more coefficients are 1 ([`scale`]).
//! 3. A row is another row and their difference, along a minimum spanning tree ([`difference`]).
//! 4. The most frequent pair of terms of one ratio becomes a value, again and again ([`pair`]).
//! 5. Products of a value and a coefficient are computed once, or coefficients are multiplied to sums: whatever is
//!    cheaper for each ([`emit`]).
//!
//! Steps 2 and 3 are alternatives, so each combination is estimated by step 5; step 4 then runs on the combinations in the
//! order of their estimates, as far as [`LinearOptions::max_work`] goes. Of equally cheap programs the first is kept.
//! # Complexity
//! Step 3 O(rows² · columns), step 4 O(sum of squared lengths of rows · log) for each combination.
//! # Not done
//! Sums of equal coefficients made before step 4 and rows as sums of two others were tried and gained next to nothing.
//! Optimality. Sixty randomised runs of the greedy choice gained 0 to 4 %, so there are none.
//! Source: Kirby, Knepley, Logg, Scott, "Optimizing the evaluation of finite element matrices", SIAM J. Sci. Comput. 2005
//! (row differences); Paar, "Optimized arithmetic for Reed-Solomon encoders", ISIT 1997 (pairs).

pub mod difference;
pub mod emit;
pub mod net;
pub mod pair;
pub mod scale;

use std::sync::LazyLock;

use rayon::prelude::*;

use crate::cluster::TOLERANCE;
use crate::memo::{self, Memo};
use crate::program::Program;
use net::Net;

/// What [`linear_map`] may try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearOptions {
    /// Multiples of a row are computed from it.
    pub proportional_rows: bool,
    /// Rows are computed from other rows.
    pub row_differences: bool,
    /// Common pairs of terms are computed once.
    pub pairs: bool,
    /// Columns are scaled.
    pub column_scaling: bool,
    /// Rows that a chain of row differences may be long: each may lose a few digits.
    pub max_chain: usize,
    /// How far an entry may be moved by one step that takes nearly equal ratios or differences for equal, as a multiple of
    /// the largest entry. Zero for rounding alone.
    pub tolerance: f64,
    /// Pairs of entries that may be looked at, in all combinations together; those of one net are tried side by side, each with all that is left.
    pub max_work: u64,
}

impl LinearOptions {
    /// Everything, with limits that keep a matrix of a thousand rows around a second.
    pub const ALL: Self = Self {
        proportional_rows: true,
        row_differences: true,
        pairs: true,
        column_scaling: true,
        max_chain: usize::MAX,
        tolerance: TOLERANCE,
        max_work: 20_000_000,
    };

    /// Nothing but equal rows, shared products and coefficients multiplied to sums.
    pub const NONE: Self = Self {
        proportional_rows: false,
        row_differences: false,
        pairs: false,
        column_scaling: false,
        max_chain: usize::MAX,
        tolerance: TOLERANCE,
        max_work: 20_000_000,
    };
}

/// One entry of a sparse matrix: row, column, value.
pub type Entry = (usize, usize, f64);

/// The shape of the matrix, its entries by their bits, and the options.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    shape: (usize, usize),
    entries: Vec<(usize, usize, u64)>,
    may: [bool; 4],
    max_chain: usize,
    tolerance: u64,
    max_work: u64,
}

impl memo::Question for Question {
    fn n_words(&self) -> u64 {
        3 * self.entries.len() as u64
    }
}

static KNOWN: LazyLock<Memo<Question, Program>> = LazyLock::new(Memo::new);

/// A program of y = C x; entries of the same place are added. Entries must be finite.
///
/// # Panics
/// If an entry lies outside the matrix.
#[must_use]
pub fn linear_map(n_rows: usize, n_columns: usize, entries: &[Entry], options: &LinearOptions) -> Program {
    let question = Question {
        shape: (n_rows, n_columns),
        entries: entries.iter().map(|&(row, column, value)| (row, column, value.to_bits())).collect(),
        may: [options.proportional_rows, options.row_differences, options.pairs, options.column_scaling],
        max_chain: options.max_chain,
        tolerance: options.tolerance.to_bits(),
        max_work: options.max_work,
    };
    KNOWN.answer(question, || solve(n_rows, n_columns, entries, options))
}

fn solve(n_rows: usize, n_columns: usize, entries: &[Entry], options: &LinearOptions) -> Program {
    let base = net::build(n_rows, n_columns, entries, options);
    let mut nets: Vec<Net> = Vec::new();
    let mut work = options.max_work;
    let differences = if options.row_differences { difference::difference(&base, options, &mut work) } else { None };
    for rooted in [Some(base), differences].into_iter().flatten() {
        nets.extend(alternatives(rooted, options));
    }
    let mut programs: Vec<(u64, usize)> = Vec::new();
    let mut best: Option<(u64, Program)> = None;
    let mut keep = |program: Program| {
        let operations = program.operations();
        if best.as_ref().is_none_or(|(least, _)| operations < *least) {
            best = Some((operations, program));
        }
        operations
    };
    for (net_idx, net) in nets.iter().enumerate() {
        programs.push((keep(emit::emit(net)), net_idx));
    }
    if options.pairs {
        programs.sort_unstable();
        for (_, net_idx) in programs {
            if work == 0 {
                break;
            }
            let mut left = work;
            // Where pairs are too many to be counted, no work is left for the nets that follow.
            let Some(counted) = pair::count_pairs(&nets[net_idx], options.tolerance, &mut left) else { break };
            let preferences = [pair::Preference::Unit, pair::Preference::Count, pair::Preference::Newest];
            let tried: Vec<(Program, u64)> = preferences
                .into_par_iter()
                .map(|preference| {
                    let (mut shared, mut left) = (nets[net_idx].clone(), left);
                    pair::share_pairs(&mut shared, &counted, preference, &mut left);
                    (emit::emit(&shared), work - left)
                })
                .collect();
            for (program, used) in tried {
                keep(program);
                work = work.saturating_sub(used);
            }
        }
    }
    best.map_or_else(Program::default, |(_, program)| program)
}

/// The net itself, and with scaled columns.
fn alternatives(net: Net, options: &LinearOptions) -> Vec<Net> {
    let mut scaled = vec![net];
    if options.column_scaling {
        let by_column = scale::scale_columns(&scaled[0], scale::Scales::ByColumn);
        let by_matrix = scale::scale_columns(&scaled[0], scale::Scales::ByMatrix);
        scaled.extend([by_column, by_matrix].into_iter().flatten());
    }
    scaled
}
