//! Where the expressions of a trial live: the loops, arrays and tables of a small kernel.
//!
//! # Output
//! The text of a kernel that stores expressions at every point of its loops. Only what the expressions use is declared.
//! # Method
//! Loops come from a fixed [list](LOOPS), which has the cases at which rules about reductions break: one point, no point, a size that is a
//! parameter, two inames in one triangular domain, a domain inside another. An array is named after its letter and its inames, so that
//! the same text is the same value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::scope;

/// A loop that trials may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// The iname.
    pub(super) name: &'static str,
    /// The domain, which it may share with another.
    pub(super) domain: &'static str,
    /// The extent of an axis that it indexes.
    pub(super) extent: &'static str,
    /// The same where it is a number, as tables need.
    pub(super) size: Option<usize>,
}

impl Loop {
    /// The domain of the inames that stand for its own inside reductions.
    fn inside(&self) -> String {
        let (head, set) = self.domain.split_once("{ ").unwrap_or(("", self.domain));
        let own: Vec<&str> = LOOPS.iter().filter(|known| known.domain == self.domain).map(|known| known.name).collect();
        let own = if own.is_empty() { vec![self.name] } else { own };
        format!("{head}{{ {}", scope::with_names(set, &own))
    }
}

const fn fixed(name: &'static str, domain: &'static str, extent: &'static str, size: usize) -> Loop {
    Loop { name, domain, extent, size: Some(size) }
}

/// The loops. Those of a domain stand together.
pub(super) const LOOPS: [Loop; 9] = [
    Loop { name: "i", domain: "[n] -> { [i] : 0 <= i < n }", extent: "n", size: None },
    fixed("j", "{ [j] : 0 <= j < 3 }", "3", 3),
    fixed("q", "{ [q] : 0 <= q < 4 }", "4", 4),
    fixed("r", "{ [r] : 0 <= r < 2 }", "2", 2),
    fixed("one", "{ [one] : 0 <= one < 1 }", "1", 1),
    fixed("none", "{ [none] : 0 <= none < 0 }", "1", 1),
    Loop { name: "p", domain: "[n] -> { [p] : 0 <= p < n }", extent: "n", size: None },
    fixed("s", "{ [s, t] : 0 <= s <= t < 3 }", "3", 3),
    fixed("t", "{ [s, t] : 0 <= s <= t < 3 }", "3", 3),
];

/// A loop whose range depends on `i`.
pub(super) const DEPENDENT: Loop = Loop { name: "d", domain: "[i] -> { [d] : 0 <= d <= i }", extent: "n", size: None };

/// The loop of that name.
pub(super) fn loop_of(name: &str) -> Option<&'static Loop> {
    LOOPS.iter().find(|known| known.name == name).or_else(|| (name == DEPENDENT.name).then_some(&DEPENDENT))
}

/// Types of the elements of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    Float64,
    Float32,
    Int32,
}

impl Element {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Int32 => "int32",
        }
    }

    pub(super) fn is_float(self) -> bool {
        self != Self::Int32
    }
}

/// An array that a trial reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) element: Element,
    pub(super) inames: Vec<&'static str>,
    /// The elements of a table, row-major; `None` for an argument.
    pub(super) table: Option<Vec<String>>,
}

/// The loops and arrays of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The type of what the expression is.
    pub(super) element: Element,
    /// The loops around the expression, outermost first.
    pub(super) outer: Vec<&'static str>,
    /// The value of the parameter `n`.
    pub(super) n: i64,
    /// The loops in use.
    pub(super) loops: BTreeSet<&'static str>,
    pub(super) arrays: BTreeMap<String, Array>,
}

impl Setting {
    pub(super) fn new(element: Element, outer: Vec<&'static str>, n: i64) -> Self {
        let loops = outer.iter().copied().collect();
        Self { element, outer, n, loops, arrays: BTreeMap::new() }
    }

    /// An element of an argument.
    pub(super) fn argument(&mut self, letter: &str, element: Element, inames: &[&'static str]) -> String {
        self.read(letter, Array { element, inames: inames.to_vec(), table: None })
    }

    /// An element of a table.
    pub(super) fn table(
        &mut self,
        letter: &str,
        element: Element,
        inames: &[&'static str],
        values: Vec<String>,
    ) -> String {
        self.read(letter, Array { element, inames: inames.to_vec(), table: Some(values) })
    }

    fn read(&mut self, letter: &str, array: Array) -> String {
        let indices = array.inames.join(", ");
        let kind = if array.element == self.element { "" } else { array.element.name() };
        let name = [&[letter, kind], array.inames.as_slice()].concat();
        let name: Vec<&str> = name.into_iter().filter(|part| !part.is_empty()).collect();
        let name = name.join("_");
        self.arrays.insert(name.clone(), array);
        if indices.is_empty() { name } else { format!("{name}[{indices}]") }
    }

    /// Whether something depends on the parameter.
    pub(super) fn has_parameter(&self) -> bool {
        let of = |name: &&str| loop_of(name).is_some_and(|known| known.size.is_none());
        self.loops.iter().any(of)
            || self.arrays.values().any(|array| array.inames.iter().any(of))
            || self.outer.iter().any(of)
    }

    /// A kernel that stores these expressions, each in an array of its own.
    pub(crate) fn kernel(&self, name: &str, stores: &[(&str, &str)]) -> String {
        self.kernel_with(name, stores, |_, _| None)
    }

    /// The same where arguments may hold given elements, as tables.
    pub(super) fn kernel_with(
        &self,
        name: &str,
        stores: &[(&str, &str)],
        data: impl Fn(&str, &Array) -> Option<Vec<String>>,
    ) -> String {
        let mut text = format!("kernel {name}\n");
        let mut domains = BTreeSet::new();
        let used = self.loops.iter().chain(&self.outer).chain(self.arrays.values().flat_map(|array| &array.inames));
        for known in used.filter_map(|name| loop_of(name)) {
            domains.insert(known.domain);
        }
        if self.has_parameter() {
            let _ = writeln!(text, "param n : int32 = {}", self.n);
            text.push_str("assume [n] -> { : n >= 0 }\n");
        }
        for domain in domains {
            let _ = writeln!(text, "domain {domain}");
        }
        // Inames of one domain are renamed together.
        let of_outer =
            |known: &&Loop| self.outer.iter().filter_map(|name| loop_of(name)).any(|own| own.domain == known.domain);
        let around: Vec<&'static Loop> = LOOPS.iter().chain([&DEPENDENT]).filter(of_outer).collect();
        let names: Vec<&str> = around.iter().map(|known| known.name).collect();
        let renamed: Vec<(String, bool)> = stores.iter().map(|(_, side)| scope::renamed(side, &names)).collect();
        if renamed.iter().any(|(_, is_renamed)| *is_renamed) {
            let inner: BTreeSet<String> = around.iter().map(|known| known.inside()).collect();
            for domain in inner {
                let _ = writeln!(text, "domain {domain}");
            }
        }
        for (name, array) in &self.arrays {
            let given = array.table.clone().or_else(|| data(name, array));
            let is_fixed = array.table.is_none() && given.is_some();
            let shape = shape(&array.inames, is_fixed.then_some(self.n));
            let ty = array.element.name();
            let _ = match given {
                Some(values) => writeln!(text, "table {name} : {ty}{shape} = {}", nested(&values, &self.sizes(array))),
                None => writeln!(text, "arg {name} : {ty}{shape} read"),
            };
        }
        for (name, _) in stores {
            let _ = writeln!(text, "arg {name} : {}{} write", self.element.name(), shape(&self.outer, None));
        }
        let index = if self.outer.is_empty() { String::new() } else { format!("[{}]", self.outer.join(", ")) };
        let indent = if self.outer.is_empty() { "" } else { "  " };
        if !self.outer.is_empty() {
            let _ = writeln!(text, "for {}", self.outer.join(", "));
        }
        for ((name, _), (expression, _)) in stores.iter().zip(&renamed) {
            let _ = writeln!(text, "{indent}{name}{index} = {expression}");
        }
        if !self.outer.is_empty() {
            text.push_str("end\n");
        }
        text
    }

    /// The values of the loops at a position of what is stored.
    pub(super) fn point(&self, position: usize) -> String {
        let stored = Array { element: self.element, inames: self.outer.clone(), table: None };
        let mut rest = position;
        let mut values: Vec<String> = Vec::new();
        for (name, size) in self.outer.iter().zip(self.sizes(&stored)).rev() {
            values.insert(0, format!("{name} = {}", rest % size.max(1)));
            rest /= size.max(1);
        }
        values.join(", ")
    }

    /// The extents of an array.
    pub(super) fn sizes(&self, array: &Array) -> Vec<usize> {
        let n = usize::try_from(self.n.max(1)).unwrap_or(1);
        array.inames.iter().filter_map(|name| loop_of(name)).map(|known| known.size.unwrap_or(n)).collect()
    }
}

/// The shape of an array; with a value for the parameter, in numbers.
fn shape(inames: &[&str], n: Option<i64>) -> String {
    if inames.is_empty() {
        return String::new();
    }
    let extent = |known: &Loop| match n {
        Some(n) if known.size.is_none() => n.max(1).to_string(),
        _ => known.extent.to_owned(),
    };
    let extents: Vec<String> = inames.iter().filter_map(|name| loop_of(name)).map(extent).collect();
    format!("[{}]", extents.join(", "))
}

/// Elements in nested brackets.
fn nested(values: &[String], sizes: &[usize]) -> String {
    let mut texts = values.to_vec();
    for &size in sizes.iter().rev() {
        texts = texts.chunks(size.max(1)).map(|row| format!("[{}]", row.join(", "))).collect();
    }
    texts.join(", ")
}
