//! Terms: what an equation says, as a pattern of a rule and as an expression of a kernel.
//!
//! A term lives in up to two loops, `q` and `r`, which it may also reduce. Reductions side by side may bind the same loop; one inside another
//! may not. Leaves are values that depend on some of the loops, numbers, and sizes of loops.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Some of the loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Loops(u8);

impl Loops {
    pub(super) const NONE: Self = Self(0);
    pub(super) const Q: Self = Self(1);
    pub(super) const R: Self = Self(2);
    pub(super) const BOTH: Self = Self(3);

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn each(self) -> impl Iterator<Item = (Self, &'static str)> {
        [(Self::Q, "q"), (Self::R, "r")].into_iter().filter(move |(own, _)| self.contains(*own))
    }
}

/// What is known of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sort {
    /// A float.
    Any,
    /// A float of at least zero.
    Nonnegative,
    /// A condition.
    Truth,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Leaf {
    pub(super) name: &'static str,
    pub(super) over: Loops,
    pub(super) sort: Sort,
}

/// A term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Term {
    Leaf(Leaf),
    Number(i32),
    /// The number of points of some loops.
    Size(Loops),
    /// An operator or a function; a power has its exponent as the second operand.
    Apply(&'static str, Vec<Term>),
    Reduce(&'static str, Loops, Box<Term>),
}

/// Operators that take any number of operands, in any order.
pub(super) const VARIADIC: [&str; 4] = ["+", "*", "min", "max"];

impl Term {
    /// The parts right below.
    pub(super) fn children(&self) -> &[Term] {
        match self {
            Self::Apply(_, children) => children,
            Self::Reduce(_, _, body) => std::slice::from_ref(body),
            Self::Leaf(_) | Self::Number(_) | Self::Size(_) => &[],
        }
    }

    /// This and all parts, outermost first. Recursion is as deep as the term.
    pub(super) fn visit<'t>(&'t self, found: &mut impl FnMut(&'t Term)) {
        found(self);
        self.children().iter().for_each(|child| child.visit(found));
    }

    /// The loops that the value depends on.
    pub(super) fn free(&self) -> Loops {
        match self {
            Self::Leaf(leaf) => leaf.over,
            Self::Number(_) | Self::Size(_) => Loops::NONE,
            Self::Apply(_, children) => children.iter().fold(Loops::NONE, |all, child| all.union(child.free())),
            Self::Reduce(_, own, body) => body.free().without(*own),
        }
    }

    /// The loops that are reduced anywhere in it.
    pub(super) fn bound(&self) -> Loops {
        let mut all = Loops::NONE;
        self.visit(&mut |term| {
            if let Self::Reduce(_, own, _) = term {
                all = all.union(*own);
            }
        });
        all
    }

    /// The leaves, each once, by name.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
        let mut all = Vec::new();
        self.visit(&mut |term| {
            if let Self::Leaf(leaf) = term
                && !all.contains(leaf)
            {
                all.push(*leaf);
            }
        });
        all.sort_unstable();
        all
    }

    /// Whether a size stands in it: left sides cannot have one.
    pub(super) fn has_size(&self) -> bool {
        let mut res = false;
        self.visit(&mut |term| res |= matches!(term, Self::Size(_)));
        res
    }

    /// Nodes of the tree; a square is one, and what is squared.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Apply("**", children) if matches!(children[1], Self::Number(_)) => 1 + children[0].size(),
            _ => 1 + self.children().iter().map(Self::size).sum::<usize>(),
        }
    }

    /// Operations where loops have these sizes and nothing is hoisted.
    pub(super) fn cost(&self, sizes: [usize; 2]) -> usize {
        let below: usize = self.children().iter().map(|child| child.cost(sizes)).sum();
        match self {
            Self::Leaf(_) | Self::Number(_) | Self::Size(_) => 0,
            Self::Apply("if", _) => below,
            Self::Apply(operator, children) => match *operator {
                "+" | "-" | "*" | "/" | "**" | "min" | "max" | "<" => below + children.len().saturating_sub(1).max(1),
                // Functions take far longer than sums, magnitudes do not.
                "fabs" => below + 1,
                _ => below + 10,
            },
            Self::Reduce(_, own, _) => own.each().fold(below + 1, |cost, (one, _)| cost * size_of(one, sizes)),
        }
    }

    /// As a kernel has it, in a loop over `e`. A reduction over `q` binds `qq`, so that free and bound loops never meet.
    pub(super) fn expression(&self, sizes: [usize; 2]) -> String {
        self.expression_in(sizes, Loops::NONE)
    }

    fn expression_in(&self, sizes: [usize; 2], bound: Loops) -> String {
        match self {
            Self::Leaf(leaf) => leaf.expression(bound),
            Self::Number(value) if *value < 0 => format!("(-{}.0)", value.unsigned_abs()),
            Self::Number(value) => format!("{value}.0"),
            Self::Size(loops) => {
                format!("{}.0", loops.each().fold(1, |product, (one, _)| product * size_of(one, sizes)))
            }
            Self::Apply(operator, children) => {
                let operands: Vec<String> = children.iter().map(|child| child.expression_in(sizes, bound)).collect();
                match (*operator, operands.as_slice()) {
                    ("-", [operand]) => format!("(-{operand})"),
                    ("if", [condition, a, b]) => format!("({a} if {condition} else {b})"),
                    ("**", [base, exponent]) => format!("({base})**{}", exponent.trim_end_matches(".0")),
                    ("+" | "-" | "*" | "/" | "<", _) => format!("({})", operands.join(&format!(" {operator} "))),
                    _ => format!("{operator}({})", operands.join(", ")),
                }
            }
            Self::Reduce(operator, own, body) => {
                let names: Vec<String> = own.each().map(|(_, name)| name.repeat(2)).collect();
                let body = body.expression_in(sizes, bound.union(*own));
                format!("reduce({operator}, [{}], {body})", names.join(", "))
            }
        }
    }

    /// As people write it.
    pub(super) fn formula(&self) -> String {
        match self {
            Self::Leaf(Leaf { name, over, .. }) => match over.each().map(|(_, name)| name).collect::<Vec<_>>() {
                loops if loops.is_empty() => (*name).to_owned(),
                loops => format!("{name}[{}]", loops.join(", ")),
            },
            Self::Number(value) => value.to_string(),
            Self::Size(loops) => loops.each().map(|(_, name)| format!("n_{name}")).collect::<Vec<_>>().join("*"),
            Self::Apply(operator, children) => {
                let operands: Vec<String> = children.iter().map(Self::formula).collect();
                match (*operator, operands.as_slice()) {
                    ("-", [operand]) => format!("-{operand}"),
                    ("if", [condition, a, b]) => format!("({condition} ? {a} : {b})"),
                    ("**", [base, exponent]) if children[0].children().is_empty() => format!("{base}**{exponent}"),
                    ("**", [base, exponent]) => format!("({base})**{exponent}"),
                    ("*", _) => {
                        let is_product = |child: &Self| matches!(child, Self::Apply("*", _));
                        let texts = children.iter().zip(operands);
                        let texts =
                            texts.map(|(child, text)| if is_product(child) { format!("({text})") } else { text });
                        texts.collect::<Vec<_>>().join("*")
                    }
                    ("+" | "-" | "/" | "<", _) => format!("({})", operands.join(&format!(" {operator} "))),
                    _ => format!("{operator}({})", operands.join(", ")),
                }
            }
            Self::Reduce(operator, own, body) => {
                let names: Vec<&str> = own.each().map(|(_, name)| name).collect();
                let inames = if let [one] = names[..] { one.to_owned() } else { format!("[{}]", names.join(", ")) };
                format!("{operator}({inames}, {})", body.formula())
            }
        }
    }

    /// The same with other leaves, and operands without order in order.
    pub(super) fn with_leaves(&self, named: &impl Fn(Leaf) -> Leaf) -> Self {
        match self {
            Self::Leaf(leaf) => Self::Leaf(named(*leaf)),
            Self::Number(_) | Self::Size(_) => self.clone(),
            Self::Apply(operator, children) => {
                let mut children: Vec<Self> = children.iter().map(|child| child.with_leaves(named)).collect();
                if VARIADIC.contains(operator) {
                    children.sort();
                }
                Self::Apply(operator, children)
            }
            Self::Reduce(operator, own, body) => Self::Reduce(operator, *own, Box::new(body.with_leaves(named))),
        }
    }

    /// For each leaf, the loops around its occurrences that it does not depend on: what a rule must ask for.
    pub(super) fn invariance(&self) -> BTreeMap<Leaf, Loops> {
        let mut res = BTreeMap::new();
        self.invariant_in(Loops::NONE, &mut res);
        res
    }

    fn invariant_in(&self, around: Loops, res: &mut BTreeMap<Leaf, Loops>) {
        match self {
            Self::Leaf(leaf) => {
                let known = res.entry(*leaf).or_default();
                *known = known.union(around.without(leaf.over));
            }
            Self::Reduce(_, own, body) => body.invariant_in(around.union(*own), res),
            _ => self.children().iter().for_each(|child| child.invariant_in(around, res)),
        }
    }
}

impl Leaf {
    fn expression(&self, bound: Loops) -> String {
        let mut index = "e".to_owned();
        for (one, name) in self.over.each() {
            let _ = write!(index, ", {}", if bound.contains(one) { name.repeat(2) } else { name.to_owned() });
        }
        let name = self.name;
        match self.sort {
            Sort::Any => format!("{name}[{index}]"),
            // The analysis knows that sums of squares are at least zero.
            Sort::Nonnegative => format!("({name}[{index}]**2 + {name}{name}[{index}]**2)"),
            Sort::Truth => format!("({name}[{index}] < {name}{name}[{index}])"),
        }
    }

    /// The arrays that it reads.
    pub(super) fn arrays(&self) -> Vec<String> {
        match self.sort {
            Sort::Any => vec![self.name.to_owned()],
            Sort::Nonnegative | Sort::Truth => vec![self.name.to_owned(), self.name.repeat(2)],
        }
    }
}

fn size_of(one: Loops, sizes: [usize; 2]) -> usize {
    sizes[usize::from(one == Loops::R)]
}
