//! Themes: the small worlds in which equations are looked for. A vocabulary with everything in it has too many terms to look far.

use super::term::{Leaf, Loops, Sort};

/// A vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// The name.
    pub name: &'static str,
    /// What it is about, as a sentence.
    pub about: &'static str,
    /// Operators and functions, by name. `square` is the second power, `-` the negative.
    pub operators: &'static [&'static str],
    /// Reductions.
    pub reductions: &'static [&'static str],
    /// Numbers.
    pub numbers: &'static [i32],
    pub(super) leaves: &'static [Leaf],
    pub(super) loops: Loops,
    /// Nodes of the largest terms.
    pub max_size: usize,
}

const fn leaf(name: &'static str, over: Loops, sort: Sort) -> Leaf {
    Leaf { name, over, sort }
}

const A: Leaf = leaf("a", Loops::NONE, Sort::Any);
const B: Leaf = leaf("b", Loops::NONE, Sort::Any);
const C: Leaf = leaf("c", Loops::NONE, Sort::Any);
const K: Leaf = leaf("k", Loops::NONE, Sort::Truth);
const P: Leaf = leaf("p", Loops::NONE, Sort::Nonnegative);
const X: Leaf = leaf("x", Loops::Q, Sort::Any);
const Y: Leaf = leaf("y", Loops::Q, Sort::Any);
const W: Leaf = leaf("w", Loops::BOTH, Sort::Any);

/// The themes.
pub const THEMES: [Theme; 12] = [
    Theme {
        name: "algebra",
        about: "Sums and products.",
        operators: &["+", "*"],
        reductions: &[],
        numbers: &[],
        leaves: &[A, B, C],
        loops: Loops::NONE,
        max_size: 7,
    },
    Theme {
        name: "quotients",
        about: "Quotients.",
        operators: &["+", "*", "/"],
        reductions: &[],
        numbers: &[1],
        leaves: &[A, B, C],
        loops: Loops::NONE,
        max_size: 5,
    },
    Theme {
        name: "magnitudes",
        about: "Magnitudes, squares and roots.",
        operators: &["-", "*", "square", "fabs", "sqrt"],
        reductions: &[],
        numbers: &[],
        leaves: &[A, P],
        loops: Loops::NONE,
        max_size: 5,
    },
    Theme {
        name: "exponentials",
        about: "Exponentials, logarithms and powers.",
        operators: &["+", "-", "*", "/", "exp", "log", "pow"],
        reductions: &[],
        numbers: &[2],
        leaves: &[A, B],
        loops: Loops::NONE,
        max_size: 5,
    },
    Theme {
        name: "angles",
        about: "Sines and cosines.",
        operators: &["+", "-", "square", "sin", "cos"],
        reductions: &[],
        numbers: &[1],
        leaves: &[A],
        loops: Loops::NONE,
        max_size: 7,
    },
    Theme {
        name: "extrema",
        about: "Minima and maxima.",
        operators: &["+", "*", "-", "min", "max"],
        reductions: &[],
        numbers: &[],
        leaves: &[A, B, P],
        loops: Loops::NONE,
        max_size: 7,
    },
    Theme {
        name: "selections",
        about: "Selections.",
        operators: &["+", "*", "-", "if"],
        reductions: &[],
        numbers: &[],
        leaves: &[A, B, C, K],
        loops: Loops::NONE,
        max_size: 8,
    },
    Theme {
        name: "sums",
        about: "Reductions that add.",
        operators: &["+", "*"],
        reductions: &["sum"],
        numbers: &[],
        leaves: &[A, X, Y],
        loops: Loops::Q,
        max_size: 7,
    },
    Theme {
        name: "products",
        about: "Reductions that multiply.",
        operators: &["*", "**"],
        reductions: &["product"],
        numbers: &[],
        leaves: &[A, X, Y],
        loops: Loops::Q,
        max_size: 6,
    },
    Theme {
        name: "minima",
        about: "Reductions that take the least.",
        operators: &["+", "*", "-"],
        reductions: &["min", "max"],
        numbers: &[],
        leaves: &[A, P, X],
        loops: Loops::Q,
        max_size: 6,
    },
    Theme {
        name: "nests",
        about: "Reductions in reductions.",
        operators: &["*"],
        reductions: &["sum", "product", "min", "max"],
        numbers: &[],
        leaves: &[X, W],
        loops: Loops::BOTH,
        max_size: 6,
    },
    Theme {
        name: "selected-sums",
        about: "Selections in reductions, and reductions in selections.",
        operators: &["*", "if"],
        reductions: &["sum", "min"],
        numbers: &[],
        leaves: &[A, K, X, Y],
        loops: Loops::Q,
        max_size: 7,
    },
];
