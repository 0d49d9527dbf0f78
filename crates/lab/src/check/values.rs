//! Values that the variables of a pattern may stand for, as expressions of the text form.
//!
//! # Method
//! Most are elements of arrays, of some of the inames in scope. The others are what conditions ask about: constants (0, 1, -1, and those that
//! the rule names, and their neighbours), squares and magnitudes, reciprocals, sums in sums, tables of zeros, tables whose rows add up
//! to 0 or 1, integers, comparisons. A [hint](Hint) of the rule's own conditions makes its cases more likely, never certain.

use nestegg_rules::{Argument, Condition, Pattern, PatternNode, Test};
use nestegg_testgen::{Choices, Seeded};

use super::setting::{Element, LOOPS, Setting, loop_of};

/// What a condition asks of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    Nonnegative,
    Constant,
    Zero,
    Table,
    Divisor,
    Opens,
}

/// What the conditions of a rule ask about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    /// By the name of a variable.
    of: Vec<(String, Hint)>,
    /// Numbers that the rule names, and those beside them.
    pub(super) numbers: Vec<f64>,
    /// The type that a condition asks for.
    pub(super) element: Option<Element>,
}

impl Hints {
    /// The hints of one side of a rule and its condition.
    pub(crate) fn new(pattern: &Pattern, when: Option<&Condition>) -> Self {
        let mut res = Self::default();
        for (_, node) in pattern.nodes() {
            match node {
                PatternNode::Filtered { rest, test } => res.take(test, Some(rest.as_str())),
                PatternNode::Number(value) => res.note(value),
                _ => {}
            }
        }
        for test in when.into_iter().flat_map(Condition::tests) {
            res.take(test, None);
        }
        res
    }

    fn take(&mut self, test: &Test, child: Option<&str>) {
        let hint = match test.name.as_str() {
            "nonnegative" | "nonzero" | ">" | ">=" => Some(Hint::Nonnegative),
            "constant" | "<" | "<=" | "==" | "!=" => Some(Hint::Constant),
            "zero" => Some(Hint::Zero),
            "table" | "total" => Some(Hint::Table),
            "divisor" => Some(Hint::Divisor),
            "opens" => Some(Hint::Opens),
            _ => None,
        };
        let element = |word: &str| match word {
            "float32" => Some(Element::Float32),
            "int32" | "int64" => Some(Element::Int32),
            _ => None,
        };
        if test.name.as_str() == "integer" {
            self.element = Some(Element::Int32);
        }
        let names = test.variables().map(|name| name.as_str()).chain(child);
        self.of.extend(names.filter_map(|name| Some((name.to_owned(), hint?))));
        for argument in &test.arguments {
            match argument {
                Argument::Number(value) => self.note(value),
                Argument::Word(word) => self.element = element(word).or(self.element),
                _ => {}
            }
        }
    }

    fn note(&mut self, value: &num_rational::BigRational) {
        if let Some(value) = num_traits::ToPrimitive::to_f64(value)
            && value.abs() < 1e6
        {
            self.numbers.extend([value, value - 1.0, value + 1.0]);
        }
    }

    fn about(&self, name: &str) -> Vec<Hint> {
        self.of.iter().filter(|(known, _)| known == name).map(|(_, hint)| *hint).collect()
    }
}

/// The operation whose operand a value is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Sum,
    Product,
    Other,
}

/// Draws values in a setting.
#[derive(Debug)]
pub(super) struct Values<'h> {
    pub(super) choices: Seeded,
    pub(super) setting: Setting,
    pub(super) hints: &'h Hints,
}

impl Values<'_> {
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.choices.below(n.max(1) as u64)).unwrap_or(0)
    }

    /// True so many times in a hundred.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A value for a variable of that name.
    pub(super) fn value(&mut self, name: &str, scope: &[&'static str], place: Place) -> String {
        let hints = self.hints.about(name);
        if !hints.is_empty() && self.chance(60) {
            let hint = hints[self.below(hints.len())];
            return self.hinted(hint, scope, place);
        }
        self.any(scope, place)
    }

    fn hinted(&mut self, hint: Hint, scope: &[&'static str], place: Place) -> String {
        match hint {
            Hint::Nonnegative => match self.below(7) {
                0 => self.constant(),
                1 if self.setting.element.is_float() => format!("fabs({})", self.leaf(scope)),
                2 => self.table(scope),
                // The root of -0.0 is -0.0.
                3 if self.setting.element.is_float() => format!("sqrt({})", self.leaf(scope)),
                4 => {
                    let zero = if self.setting.element.is_float() { "0.0" } else { "0" };
                    // Which of two zeros the greater is depends on the order.
                    match self.below(2) {
                        0 => format!("max({}, {zero})", self.leaf(scope)),
                        _ => format!("max({zero}, {})", self.leaf(scope)),
                    }
                }
                _ => {
                    let leaf = self.leaf(scope);
                    format!("({leaf}**2)")
                }
            },
            Hint::Constant => self.constant(),
            Hint::Zero | Hint::Table => self.table(scope),
            Hint::Divisor if self.setting.element.is_float() => {
                let divisor = self.leaf(scope);
                match self.below(3) {
                    0 => format!("(1.0/{divisor}**2)"),
                    1 => format!("({}/{divisor})", self.leaf(scope)),
                    _ => format!("(1.0/{divisor})"),
                }
            }
            Hint::Divisor => self.leaf(scope),
            Hint::Opens => {
                let (a, b) = (self.any(scope, Place::Other), self.leaf(scope));
                match place {
                    Place::Product => format!("({a}*{b})"),
                    _ if self.chance(30) => format!("(2*{a} - {b})"),
                    _ => format!("({a} + {b})"),
                }
            }
        }
    }

    fn any(&mut self, scope: &[&'static str], place: Place) -> String {
        let is_float = self.setting.element.is_float();
        match self.below(26) {
            0..=9 => self.leaf(scope),
            10 | 11 => self.constant(),
            12 => format!("({}*{})", self.leaf(scope), self.leaf(scope)),
            13 => format!("({} + {})", self.leaf(scope), self.leaf(scope)),
            14 => {
                let leaf = self.leaf(scope);
                format!("({leaf}**2)")
            }
            15 => format!("(-({}))", self.leaf(scope)),
            16 => self.table(scope),
            17 => self.reduction(scope),
            18 => format!("min({}, {})", self.leaf(scope), self.leaf(scope)),
            19 if is_float => format!("fabs({})", self.leaf(scope)),
            20 if is_float => format!("exp({})", self.leaf(scope)),
            21 if is_float => format!("(1.0/{})", self.leaf(scope)),
            22 if is_float => format!("({}/{})", self.leaf(scope), self.leaf(scope)),
            23 => {
                let condition = self.truth(scope);
                format!("({} if {condition} else {})", self.leaf(scope), self.leaf(scope))
            }
            24 => self.hinted(Hint::Opens, scope, place),
            25 if !scope.is_empty() => {
                let iname = scope[self.below(scope.len())];
                if is_float { format!("cast({}, {iname})", self.setting.element.name()) } else { iname.to_owned() }
            }
            _ => self.leaf(scope),
        }
    }

    /// A condition.
    pub(super) fn truth(&mut self, scope: &[&'static str]) -> String {
        match self.below(6) {
            0 => {
                let number = self.constant();
                format!("({} < {number})", self.leaf(scope))
            }
            1 => {
                let inames = self.some_of(scope);
                format!("({} == 0)", self.setting.argument("k", Element::Int32, &inames))
            }
            2 if !scope.is_empty() => format!("({} < 1)", scope[self.below(scope.len())]),
            3 => format!("({} <= {})", self.leaf(scope), self.leaf(scope)),
            _ => format!("({} < {})", self.leaf(scope), self.leaf(scope)),
        }
    }

    fn constant(&mut self) -> String {
        const USUAL: [f64; 8] = [0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 3.0, -0.5];
        let numbers = self.hints.numbers.len();
        let value = if numbers > 0 && self.chance(40) {
            self.hints.numbers[self.below(numbers)]
        } else {
            USUAL[self.below(USUAL.len())]
        };
        let text = if self.setting.element.is_float() { format!("{value:?}") } else { format!("{}", value.round()) };
        let text = if text == "-0" { "0".to_owned() } else { text };
        if text.starts_with('-') { format!("({text})") } else { text }
    }

    /// Some of the inames in scope, with less than an even chance each.
    fn some_of(&mut self, scope: &[&'static str]) -> Vec<&'static str> {
        scope.iter().copied().filter(|_| self.chance(45)).collect()
    }

    fn leaf(&mut self, scope: &[&'static str]) -> String {
        let inames = self.some_of(scope);
        let letter = ["a", "b", "c"][self.below(3)];
        let element = self.setting.element;
        self.setting.argument(letter, element, &inames)
    }

    /// An element of a table: with zeros in different places, or whose rows over the last axis add up to 0 or 1.
    fn table(&mut self, scope: &[&'static str]) -> String {
        // The sums of the last two depend on the order.
        const ROWS: [(&str, [i64; 4]); 9] = [
            ("zeros", [0, 0, 0, 0]),
            ("early", [1, 0, 2, 0]),
            ("late", [0, 3, 0, 0]),
            ("unity", [1, 2, -2, 0]),
            ("slope", [-1, -2, 3, 0]),
            ("weight", [1, 2, 5, 3]),
            ("mixed", [4, -1, 0, 1]),
            ("rough_unity", [1 << 53, 1, 0, -(1 << 53)]),
            ("rough_slope", [1 << 53, 1, 1, -(1 << 53) - 2]),
        ];
        let mut inames: Vec<&'static str> =
            scope.iter().copied().filter(|name| loop_of(name).is_some_and(|known| known.size.is_some())).collect();
        while inames.len() > 2 || (inames.len() > 1 && self.chance(50)) {
            inames.remove(self.below(inames.len()));
        }
        if inames.is_empty() {
            return self.constant();
        }
        let element = self.setting.element;
        let n_rows = if element == Element::Float64 { ROWS.len() } else { ROWS.len() - 2 };
        let (letter, row) = ROWS[self.below(n_rows)];
        let sizes: Vec<usize> = inames.iter().filter_map(|name| loop_of(name)?.size).collect();
        let n_last = sizes.last().copied().unwrap_or(1);
        let n_rows: usize = sizes.iter().product::<usize>() / n_last.max(1);
        // A shorter row has the sum of the whole one.
        let mut own: Vec<i64> = row[..n_last].to_vec();
        if let Some(last) = own.last_mut() {
            *last += row[n_last..].iter().sum::<i64>();
        }
        let text = |value: &i64| if element.is_float() { format!("{value}.0") } else { value.to_string() };
        let values: Vec<String> = (0..n_rows).flat_map(|_| own.iter().map(text)).collect();
        self.setting.table(letter, element, &inames, values)
    }

    /// A reduction over a loop of its own.
    fn reduction(&mut self, scope: &[&'static str]) -> String {
        let free: Vec<&'static str> =
            LOOPS[1..5].iter().map(|known| known.name).filter(|name| !scope.contains(name)).collect();
        if free.is_empty() {
            return self.leaf(scope);
        }
        let iname = free[self.below(free.len())];
        self.setting.loops.insert(iname);
        let inner: Vec<&'static str> = scope.iter().copied().chain([iname]).collect();
        let body = self.leaf(&inner);
        match self.below(4) {
            0 => format!("reduce(max, {iname}, {body})"),
            1 => format!("product({iname}, {body})"),
            _ => format!("sum({iname}, {body})"),
        }
    }
}
