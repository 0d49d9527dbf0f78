//! Kernels of any size, in the text form, for measuring how stages grow.
//!
//! # Input
//! A shape and roughly how many DAG nodes.
//! # Output
//! The text of a kernel like those that finite-element compilers write: straight-line geometry in scalar
//! temporaries, then element tensors as sums of products of coefficients and tables. The same for the same input.
//! # Method
//! A small generator of pseudo-random numbers with a fixed seed picks operands; every value is used.
//! Source of the generator: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

use std::fmt::Write;

use nestegg_span::Source;

/// What a generated kernel consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Scalar statements only, each on the results of earlier ones.
    Straight,
    /// A bilinear form: many terms `coefficient × table[q, j] × table[q, k]`, each in a statement of its own.
    Form,
    /// Many loop nests over one array each, which read what earlier nests wrote.
    Nests,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 3] = [Self::Straight, Self::Form, Self::Nests];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Straight => "straight",
            Self::Form => "form",
            Self::Nests => "nests",
        }
    }
}

/// Distinct tables of a form: as many as real forms have, however many terms.
const N_TABLES: usize = 4;

/// Seeds the generator.
const SEED: u64 = 20_260_721;

/// The kernel of that shape with about `n_nodes` DAG nodes.
#[must_use]
pub fn kernel(shape: Shape, n_nodes: usize) -> Source {
    let name = format!("{}_{n_nodes}", shape.name());
    let text = match shape {
        Shape::Straight => straight(&name, n_nodes),
        Shape::Form => form(&name, n_nodes),
        Shape::Nests => nests(&name, n_nodes),
    };
    Source::new(name + ".knl", text)
}

fn straight(name: &str, n_nodes: usize) -> String {
    // Each statement adds five nodes or so.
    let n_statements = (n_nodes / 5).max(1);
    let mut random = Random(SEED);
    let mut text = format!("kernel {name}\narg x : float64[8] read\narg y : float64[1] readwrite\n");
    for idx in 0..n_statements {
        let _ = writeln!(text, "temp t{idx} : float64");
    }
    let mut operands: Vec<String> = (0..8).map(|idx| format!("x[{idx}]")).collect();
    for idx in 0..n_statements {
        let [a, b, c] = [0; 3].map(|_| operands[random.recent(operands.len())].clone());
        let last = operands.last().cloned().unwrap_or_default();
        let _ = writeln!(text, "t{idx} = {last} + 0.5*{a}*{b} - 0.25*{c}  {{id=s{idx}}}");
        operands.push(format!("t{idx}"));
    }
    let _ = writeln!(text, "y[0] = y[0] + t{}  {{id=store}}", n_statements - 1);
    text
}

fn form(name: &str, n_nodes: usize) -> String {
    // A term and its coefficient add six nodes or so; most are coefficients, as in real forms.
    let n_terms = (n_nodes / 6).max(1);
    let mut random = Random(SEED);
    let mut text = format!("kernel {name}\ndomain {{ [q, j, k] : 0 <= q < 6 and 0 <= j, k < 6 }}\n");
    text += "arg A : float64[6, 6] readwrite\narg x : float64[24] read\n";
    for table in 0..N_TABLES {
        let rows: Vec<String> = (0..6).map(|_| format!("[{}]", [0; 6].map(|_| random.number()).join(", "))).collect();
        let _ = writeln!(text, "table phi{table} : float64[6, 6] = [{}]", rows.join(", "));
    }
    for idx in 0..n_terms {
        let _ = writeln!(text, "temp c{idx} : float64");
    }
    let mut operands: Vec<String> = (0..24).map(|idx| format!("x[{idx}]")).collect();
    for idx in 0..n_terms {
        let [a, b, c] = [0; 3].map(|_| operands[random.recent(operands.len())].clone());
        let _ = writeln!(text, "c{idx} = {a}*{b} + 0.5*{c}  {{id=c{idx}}}");
        operands.push(format!("c{idx}"));
    }
    text += "for q, j, k\n";
    for idx in 0..n_terms {
        let [u, v] = [0; 2].map(|_| random.below(N_TABLES));
        let _ = writeln!(text, "  A[j, k] = A[j, k] + c{idx}*phi{u}[q, j]*phi{v}[q, k]  {{id=a{idx}}}");
    }
    text + "end\n"
}

fn nests(name: &str, n_nodes: usize) -> String {
    // A nest adds three nodes or so.
    let n_nests = (n_nodes / 3).max(1);
    let mut random = Random(SEED);
    let mut text = format!("kernel {name}\narg x : float64[16] read\narg y : float64[16] readwrite\n");
    text += "domain { [i] : 0 <= i < 16 }\n";
    for idx in 0..n_nests {
        let _ = writeln!(text, "temp t{idx} : float64[16]");
    }
    let mut operands = vec!["x[i]".to_owned()];
    for idx in 0..n_nests {
        let [a, b] = [0; 2].map(|_| operands[random.recent(operands.len())].clone());
        let last = operands.last().cloned().unwrap_or_default();
        let _ = writeln!(text, "for i\n  t{idx}[i] = {last} + {}*{a}*{b}  {{id=n{idx}}}\nend", random.number());
        operands.push(format!("t{idx}[i]"));
    }
    let _ = writeln!(text, "for i\n  y[i] = y[i] + t{}[i]  {{id=store}}\nend", n_nests - 1);
    text
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of the last values, so that what is written is read soon.
    fn recent(&mut self, n: usize) -> usize {
        n - 1 - self.below(n.min(32))
    }

    /// A literal that prints exactly.
    fn number(&mut self) -> String {
        format!("{:?}", (self.below(63) + 1) as f64 / 64.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_about_right() {
        for shape in Shape::ALL {
            for n_nodes in [100, 1000, 10_000] {
                let read = nestegg_driver::read(&kernel(shape, n_nodes)).unwrap();
                let n_found = read.program.kernel().exprs.len();
                let factor = n_found as f64 / n_nodes as f64;
                assert!((0.4..2.5).contains(&factor), "{} {n_nodes}: {n_found}", shape.name());
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_kernel() {
        assert_eq!(kernel(Shape::Form, 500).text, kernel(Shape::Form, 500).text);
    }
}
