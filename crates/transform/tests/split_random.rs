//! Random kernels over tables with zeros mean the same when they are split, in value form and as they are.
#![allow(missing_docs)]

mod support;

use std::fmt::Write;

use nestegg_ir::Program;
use nestegg_transform::{SplitOptions, normalise, split_at_zeros};

use support::{assert_same_meaning, parse};

const HEAD: &str = "kernel random linearized
domain { [i] : 0 <= i < 3 }
domain { [j, k] : 0 <= j < 4 and 1 <= k < 4 }
domain [i] -> { [l] : 0 <= l <= i }
domain { [m, n] : 0 <= m <= n < 3 }
domain { [q] : 0 <= q < 4 }
domain { [r, s] : 0 <= r < 2 and 0 <= s < 3 }
arg x : float64[5] read
arg p : float64[5, 5] read
arg A : float64[5] readwrite
arg B : float64[5, 5] readwrite
arg C : float64[5, 5] readwrite
";

/// A kernel under construction; numbers come from a linear congruence.
struct Generator {
    state: u64,
    text: String,
    open: Vec<&'static str>,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn line(&mut self, line: &str) {
        let indent = 2 * self.open.len();
        writeln!(self.text, "{:indent$}{line}", "").expect("a string takes text");
    }

    fn kernel(mut self) -> String {
        let row = |generator: &mut Self| {
            let entries: Vec<&str> =
                (0..5).map(|_| generator.pick(&["0.0", "0.0", "0.0", "0.5", "0.25", "-1.0"])).collect();
            format!("[{}]", entries.join(", "))
        };
        let vector = row(&mut self);
        self.line(&format!("table T : float64[5] = {vector}"));
        for table in ["U", "V"] {
            let rows: Vec<String> = (0..5).map(|_| row(&mut self)).collect();
            self.line(&format!("table {table} : float64[5, 5] = [{}]", rows.join(", ")));
        }
        let n_items = 1 + self.below(3);
        self.items(n_items, 0);
        self.text
    }

    fn items(&mut self, n: usize, depth: usize) {
        for _ in 0..n {
            match self.below(10) {
                0..=5 if depth < 3 => self.nest(depth),
                6 if 0 < depth && depth < 3 => {
                    let condition = self.condition();
                    self.line(&format!("if {condition}"));
                    self.open.push("");
                    self.items(1, depth + 1);
                    self.open.pop();
                    self.line("end");
                }
                _ => self.statement(),
            }
        }
    }

    fn nest(&mut self, depth: usize) {
        let mut inames = vec!["i", "j", "k", "j", "k", "m", "q", "r"];
        if self.open.contains(&"i") {
            inames.push("l");
        }
        inames.retain(|iname| !self.open.contains(iname));
        let iname = self.pick(&inames);
        self.line(&format!("for {iname}"));
        self.open.push(iname);
        let n_items = 1 + self.below(2);
        self.items(n_items, depth + 1);
        self.open.pop();
        self.line("end");
    }

    fn index(&mut self) -> String {
        let inames: Vec<&str> = self.open.iter().copied().filter(|name| !name.is_empty()).collect();
        if inames.is_empty() || self.below(6) == 0 {
            return self.below(5).to_string();
        }
        let iname = self.pick(&inames);
        match self.below(8) {
            0 => format!("{iname} + 1"),
            1 => format!("4 - {iname}"),
            2 => format!("(2*{iname} + {}) % 5", self.pick(&inames)),
            _ => iname.to_string(),
        }
    }

    fn element(&mut self, arrays: &[&str]) -> String {
        match self.pick(arrays) {
            array @ ("x" | "A" | "T") => format!("{array}[{}]", self.index()),
            array => format!("{array}[{}, {}]", self.index(), self.index()),
        }
    }

    fn factor(&mut self, depth: usize) -> String {
        match self.below(14) {
            0 => format!("{}.0", self.below(3)),
            1 if depth < 3 => format!("({})", self.expression(depth + 1)),
            2 if depth < 2 => self.reduction(depth),
            3 if depth < 2 => {
                let condition = self.condition();
                format!("({} if {condition} else {})", self.factor(depth + 1), self.factor(depth + 1))
            }
            4 if !self.open.is_empty() => {
                let index = self.index();
                format!("({index})")
            }
            5 => format!("({}/2.0)", self.element(&["T", "x"])),
            _ => self.element(&["x", "p", "T", "U", "V", "T", "U", "V", "A", "B"]),
        }
    }

    fn reduction(&mut self, depth: usize) -> String {
        let mut over: Vec<&'static str> = vec!["q", "r", "s", "j"];
        over.retain(|iname| !self.open.contains(iname));
        let Some(iname) = (!over.is_empty()).then(|| self.pick(&over)) else { return "2.0".to_owned() };
        self.open.push(iname);
        let body = self.expression(depth + 1);
        self.open.pop();
        format!("sum({iname}, {body})")
    }

    fn expression(&mut self, depth: usize) -> String {
        let mut res = self.factor(depth);
        for _ in 0..1 + self.below(3) {
            let op = self.pick(&["+", "*", "-", "*", "*"]);
            res = format!("{res} {op} {}", self.factor(depth));
        }
        res
    }

    fn condition(&mut self) -> String {
        let inames: Vec<&str> = self.open.iter().copied().filter(|name| !name.is_empty()).collect();
        if inames.is_empty() || self.below(3) == 0 {
            format!("{} > 1.0", self.element(&["x", "p", "A", "T"]))
        } else {
            format!("{} > {}", self.pick(&inames), self.below(3))
        }
    }

    fn statement(&mut self) {
        let target = self.element(&["A", "B", "C", "B", "C"]);
        let value = match self.below(6) {
            0..=2 => format!("{target} + {}", self.expression(0)),
            3 => format!("{target} - {}", self.factor(0)),
            4 => format!("2.0*{target} + {}", self.expression(0)),
            _ => self.expression(0),
        };
        let options = if self.below(8) == 0 { format!("  {{if={}}}", self.condition()) } else { String::new() };
        self.line(&format!("{target} = {value}{options}"));
    }
}

/// Compares the kernel of a seed with what it is split into, and its value form likewise; says how often it was split.
fn check(seed: u64) -> usize {
    let mut generator = Generator { state: seed, text: HEAD.to_owned(), open: Vec::new() };
    generator.below(2);
    let options = SplitOptions { max_instructions: 200, max_pieces_per_iname: 2 + generator.below(4) };
    let text = generator.kernel();
    let name = format!("seed {seed}\n{text}");
    let linearized = parse(&name, &text).into_linearized().expect("the kernel has an order");
    let form = normalise(linearized.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut n_split = 0;
    for kernel in [linearized, form] {
        let before = Program::Linearized(kernel.clone());
        let split = split_at_zeros(kernel, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(split) = split {
            assert_same_meaning(&name, &before, &split);
            n_split += 1;
        }
    }
    n_split
}

#[test]
fn random_kernels_keep_their_meaning() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, n_seeds) = (number("NESTEGG_FIRST_SEED", 0), number("NESTEGG_SEEDS", 100));
    let n_split: usize = (first..first + n_seeds).map(check).sum();
    assert!(n_split as u64 > n_seeds / 2, "{n_split} kernels were split");
}
