//! Value form of random kernels means what the kernels mean, and so does what passes over loops make of them.
//!
//! Kernels that the interpreter refuses, because they read a temporary before it has a value, are passed over.
#![allow(missing_docs)]

mod support;

use std::fmt::Write;

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, run_field};
use nestegg_transform::{align_loops, call_first, eliminate_dead, normalise, recompute, store_last};

use support::{assert_same_meaning, parse};

const HEAD: &str = "kernel random linearized
domain { [i] : 0 <= i < 3 }
domain { [j] : 0 <= j < 3 }
domain { [k] : 1 <= k < 3 }
domain [i] -> { [l] : 0 <= l <= i }
domain { [m, n] : 0 <= m <= n < 3 }
domain { [q] : 0 <= q < 2 }
domain { [r] : 0 <= r < 2 }
arg x : float64[4] read
arg p : float64[4, 4] read
arg A : float64[4] readwrite
arg B : float64[4, 4] readwrite
arg o : float64[3] readwrite
temp s : float64
temp t : float64
temp a : float64[4]
temp b : float64[4]
temp c : float64[4, 4]
";

const INITIALISATION: &str = "s = 0.0
t = x[3]
a[3] = 1.0
b[0] = 2.0
for i
  a[i] = x[i]
  b[i + 1] = x[i]*x[0]
  for j
    c[i, j] = p[i, j]
    c[3, i] = p[0, i]
  end
  c[i, 3] = 2.0
end
c[3, 3] = 1.5
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
        let n_items = 2 + self.below(4);
        self.items(n_items, 0);
        self.text
    }

    fn items(&mut self, n: usize, depth: usize) {
        for _ in 0..n {
            match self.below(10) {
                0..=4 if depth < 3 => self.nest(depth),
                5 if depth < 3 => {
                    let condition = self.condition();
                    self.line(&format!("if {condition}"));
                    self.open.push("");
                    let n_items = 1 + self.below(2);
                    self.items(n_items, depth + 1);
                    self.open.pop();
                    self.line("end");
                }
                _ => self.statement(),
            }
        }
    }

    fn nest(&mut self, depth: usize) {
        let mut inames = vec!["i", "j", "k", "m", "q", "r"];
        if self.open.contains(&"i") {
            inames.push("l");
        }
        if self.open.contains(&"m") {
            inames.push("n");
        }
        inames.retain(|iname| !self.open.contains(iname));
        let Some(iname) = (!inames.is_empty()).then(|| self.pick(&inames)) else { return };
        self.line(&format!("for {iname}"));
        self.open.push(iname);
        let n_items = 1 + self.below(3);
        self.items(n_items, depth + 1);
        self.open.pop();
        self.line("end");
    }

    fn index(&mut self, extra: Option<&'static str>) -> String {
        let mut inames: Vec<&str> = self.open.iter().copied().filter(|name| !name.is_empty()).collect();
        inames.extend(extra);
        if inames.is_empty() || self.below(6) == 0 {
            return self.below(4).to_string();
        }
        let iname = self.pick(&inames);
        match self.below(6) {
            0 => format!("{iname} + 1"),
            1 => format!("3 - {iname}"),
            _ => iname.to_string(),
        }
    }

    fn element(&mut self, arrays: &[&str], extra: Option<&'static str>) -> String {
        let array = self.pick(arrays);
        match array {
            "p" | "B" | "c" => format!("{array}[{}, {}]", self.index(extra), self.index(extra)),
            "s" | "t" => array.to_string(),
            _ => format!("{array}[{}]", self.index(extra)),
        }
    }

    fn leaf(&mut self, extra: Option<&'static str>) -> String {
        match self.below(8) {
            0 => format!("{}.0", 1 + self.below(5)),
            1 => format!("f({})", self.element(&["x", "p", "s", "t", "a", "b", "c"], extra)),
            _ => self.element(&["x", "p", "s", "t", "a", "b", "c", "s", "t", "a", "b", "c", "A"], extra),
        }
    }

    fn expression(&mut self) -> String {
        if self.below(7) == 0 && !self.open.contains(&"q") {
            return format!("sum(q, {}*{})", self.leaf(Some("q")), self.leaf(Some("q")));
        }
        let mut res = self.leaf(None);
        for _ in 0..self.below(3) {
            let op = self.pick(&["+", "*", "-"]);
            res = format!("{res} {op} {}", self.leaf(None));
        }
        res
    }

    fn condition(&mut self) -> String {
        let inames: Vec<&str> = self.open.iter().copied().filter(|name| !name.is_empty()).collect();
        if inames.is_empty() || self.below(3) == 0 {
            format!("{} > 1.0", self.leaf(None))
        } else {
            format!("{} > {}", self.pick(&inames), self.below(3))
        }
    }

    fn statement(&mut self) {
        let target = self.element(&["s", "t", "a", "b", "c", "s", "t", "a", "b", "A", "B", "A"], None);
        let value = match self.below(8) {
            0 | 1 => format!("{target} + {}", self.expression()),
            2 => format!("{} + {target}", self.leaf(None)),
            3 => format!("{target}*{}", self.leaf(None)),
            4 => format!("max({target}, {})", self.leaf(None)),
            5 => format!("{target} - {}", self.leaf(None)),
            _ => self.expression(),
        };
        let options = if self.below(8) == 0 { format!("  {{if={}}}", self.condition()) } else { String::new() };
        self.line(&format!("{target} = {value}{options}"));
    }
}

/// Compares the kernel of a seed with its value form; says how many temporaries stayed, if the kernel can be run.
fn check(seed: u64) -> Option<usize> {
    let mut generator = Generator { state: seed, text: HEAD.to_owned(), open: Vec::new() };
    generator.below(2);
    if generator.below(4) > 0 {
        generator.text.push_str(INITIALISATION);
    }
    let mut text = generator.kernel();
    text.push_str("o[0] = s\no[1] = t\nfor i\n  A[i] = a[i] + b[3 - i]\n  o[2] = o[2] + a[i]*c[i, 1]\nend\n");
    let name = format!("seed {seed}\n{text}");
    let program = parse(&name, &text);
    let inputs = Inputs::random(program.kernel(), &IndexMap::new(), 0).expect("inputs are drawn");
    run_field(&program, &inputs, 0, &RunOptions::default()).ok()?;
    let linearized = program.clone().into_linearized().expect("the kernel has an order");
    assert_same_meaning(&name, &program, &eliminate_dead(linearized.clone()));
    let of_temporaries = ["a", "b", "c"].into_iter().filter_map(|name| recompute(&linearized, name));
    let of_loops = [align_loops, call_first, store_last].into_iter().filter_map(|pass| pass(&linearized));
    for output in of_temporaries.chain(of_loops) {
        assert_same_meaning(&name, &program, &output);
    }
    let form = normalise(linearized).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_same_meaning(&name, &program, &form);
    Some(form.kernel.arrays.iter().filter(|array| array.is_temporary()).count())
}

#[test]
fn random_kernels_keep_their_meaning() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, n_seeds) = (number("NESTEGG_FIRST_SEED", 0), number("NESTEGG_SEEDS", 200));
    let stayed: Vec<usize> = (first..first + n_seeds).filter_map(check).collect();
    assert!(stayed.len() * 3 > n_seeds as usize, "{} kernels could be run", stayed.len());
    let n_resolved = stayed.iter().filter(|&&n| n == 0).count();
    assert!(n_resolved * 50 > stayed.len(), "{n_resolved} of {} kernels were resolved", stayed.len());
}
