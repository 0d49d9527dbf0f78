//! Text of C expressions with what is needed to join it to more text: its precedence, height and size.
//!
//! Parentheses are put where C needs them, and where gcc's or clang's `-Wall` asks for them (`&&` inside `||`, arithmetic inside
//! shifts and bit operations); nowhere else.

use nestegg_ir::{Array, Dtype, Op, Stored};

/// How tightly an expression's outermost operator binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precedence {
    /// `?:`.
    Choice,
    /// `||`.
    Or,
    /// `&&`.
    And,
    /// `&`, `|`, `^`, `<<`, `>>`: each is put in parentheses inside every other operator.
    Bits,
    /// Comparisons.
    Comparison,
    /// `+`, `-`.
    Sum,
    /// `*`, `/`.
    Product,
    /// Prefix operators and casts.
    Prefix,
    /// Names, literals, calls, elements.
    Primary,
}

/// A C expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The expression.
    pub(crate) text: String,
    /// Its outermost operator.
    pub(crate) precedence: Precedence,
    /// Levels of operators.
    pub(crate) height: u32,
    /// Names and literals in it.
    pub(crate) size: u32,
}

impl Text {
    /// A name, a literal without sign, a call, an element.
    pub(crate) fn primary(text: impl Into<String>) -> Self {
        Self { text: text.into(), precedence: Precedence::Primary, height: 0, size: 1 }
    }

    /// The same with the height and size of an operation on `operands`.
    pub(crate) fn over<'a>(mut self, operands: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut height, mut size) = (0, 0_u32);
        for operand in operands {
            height = height.max(operand.height);
            size = size.saturating_add(operand.size);
        }
        self.height = height.saturating_add(1);
        self.size = size.max(1);
        self
    }

    /// The text of an operation of that precedence.
    pub(crate) fn operation(text: String, precedence: Precedence, operands: &[Self]) -> Self {
        Self { text, precedence, height: 0, size: 1 }.over(operands)
    }

    /// A call.
    pub(crate) fn call(function: &str, arguments: &[Self]) -> Self {
        let list: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
        Self::primary(format!("{function}({})", list.join(", "))).over(arguments)
    }

    /// Its text, in parentheses unless it binds at least as tightly as `least`.
    pub(crate) fn at_least(&self, least: Precedence) -> String {
        if self.precedence >= least { self.text.clone() } else { format!("({})", self.text) }
    }

    /// The rest of the text after a leading minus that may be joined to the operator of a sum.
    pub(crate) fn negated(&self) -> Option<&str> {
        self.text.strip_prefix('-').filter(|_| self.precedence >= Precedence::Product)
    }

    /// `+` of many, left to right.
    pub(crate) fn sum(operands: &[Self]) -> Self {
        let mut text = String::new();
        for (idx, operand) in operands.iter().enumerate() {
            if idx == 0 {
                text.push_str(&operand.at_least(Precedence::Sum));
            } else if let Some(rest) = operand.negated() {
                text.push_str(" - ");
                text.push_str(rest);
            } else {
                text.push_str(" + ");
                text.push_str(&operand.at_least(Precedence::Product));
            }
        }
        Self::operation(text, Precedence::Sum, operands)
    }

    /// `a - b`.
    pub(crate) fn difference(a: Self, b: Self) -> Self {
        let text = match b.negated() {
            Some(rest) => format!("{} + {rest}", a.at_least(Precedence::Sum)),
            None => format!("{} - {}", a.at_least(Precedence::Sum), b.at_least(Precedence::Product)),
        };
        Self::operation(text, Precedence::Sum, &[a, b])
    }

    /// `*` of many, left to right.
    pub(crate) fn product(operands: &[Self]) -> Self {
        let mut factors = Vec::with_capacity(operands.len());
        for (idx, operand) in operands.iter().enumerate() {
            factors.push(if idx == 0 { operand.at_least(Precedence::Product) } else { operand.as_factor() });
        }
        Self::operation(factors.join("*"), Precedence::Product, operands)
    }

    /// `a / b`.
    pub(crate) fn quotient(a: Self, b: Self) -> Self {
        Self::operation(format!("{}/{}", a.at_least(Precedence::Product), b.as_factor()), Precedence::Product, &[a, b])
    }

    /// As an operand after `*` or `/`.
    fn as_factor(&self) -> String {
        if self.text.starts_with('-') { format!("({})", self.text) } else { self.at_least(Precedence::Prefix) }
    }

    /// Sums, differences, products, quotients and signs; `None` of other operations.
    pub(crate) fn arithmetic(op: Op, operands: Vec<Self>) -> Option<Self> {
        Some(match op {
            Op::Add => Self::sum(&operands),
            Op::Mul => Self::product(&operands),
            Op::Sub | Op::Div => {
                let [a, b] = <[Self; 2]>::try_from(operands).ok()?;
                if op == Op::Sub { Self::difference(a, b) } else { Self::quotient(a, b) }
            }
            Op::Neg => {
                let [a] = <[Self; 1]>::try_from(operands).ok()?;
                Self::negation(a)
            }
            _ => return None,
        })
    }

    /// `-a`; of a product, the negated first factor, which is the same value.
    pub(crate) fn negation(a: Self) -> Self {
        if a.text.starts_with('-') {
            return Self::operation(format!("-({})", a.text), Precedence::Prefix, &[a]);
        }
        let precedence = if a.precedence == Precedence::Product { Precedence::Product } else { Precedence::Prefix };
        Self::operation(format!("-{}", a.at_least(Precedence::Product)), precedence, &[a])
    }

    /// `a op b op …` with the operator's spaces; operands of lower precedence than `least` in parentheses.
    pub(crate) fn chain(operator: &str, precedence: Precedence, least: Precedence, operands: &[Self]) -> Self {
        let list: Vec<String> = operands.iter().map(|operand| operand.at_least(least)).collect();
        Self::operation(list.join(&format!(" {operator} ")), precedence, operands)
    }

    /// A prefix operator or cast.
    pub(crate) fn prefix(operator: &str, a: Self) -> Self {
        let operand = if a.text.starts_with('-') { format!("({})", a.text) } else { a.at_least(Precedence::Prefix) };
        Self::operation(format!("{operator}{operand}"), Precedence::Prefix, &[a])
    }

    /// `c ? a : b`.
    pub(crate) fn choice(c: Self, a: Self, b: Self) -> Self {
        let text = format!(
            "{} ? {} : {}",
            c.at_least(Precedence::Comparison),
            a.at_least(Precedence::Sum),
            b.at_least(Precedence::Sum)
        );
        Self::operation(text, Precedence::Choice, &[c, a, b])
    }

    /// A value of dtype `from` as one of dtype `to`.
    pub(crate) fn cast(self, from: Dtype, to: Dtype) -> Self {
        match (from, to) {
            _ if from == to => self,
            (_, Dtype::Bool) => Self::operation(
                format!("{} != 0", self.at_least(Precedence::Sum)),
                Precedence::Comparison,
                std::slice::from_ref(&self),
            ),
            _ => Self::prefix(&format!("({})", to.c_name()), self),
        }
    }
}

/// The C type of an integer in memory.
pub(crate) fn stored_type(stored: Stored) -> String {
    format!("{}_t", stored.name())
}

/// The C type of an array's elements in memory.
pub(crate) fn stored_name(array: &Array) -> String {
    array.stored.map_or_else(|| array.dtype.c_name().to_owned(), stored_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Text {
        Text::primary(text)
    }

    fn check(text: Text, expected: &str) {
        assert_eq!(text.text, expected);
    }

    #[test]
    fn parentheses_are_minimal() {
        let sum = || Text::sum(&[name("a"), name("b")]);
        check(Text::product(&[sum(), name("c")]), "(a + b)*c");
        check(Text::sum(&[sum(), sum()]), "a + b + (a + b)");
        check(Text::quotient(name("a"), Text::product(&[name("b"), name("c")])), "a/(b*c)");
        check(Text::quotient(Text::product(&[name("a"), name("b")]), name("c")), "a*b/c");
        check(Text::difference(name("a"), sum()), "a - (a + b)");
        check(Text::choice(name("c"), sum(), name("b")), "c ? a + b : b");
    }

    #[test]
    fn minus_joins_sums() {
        let minus = || Text::negation(name("b"));
        check(Text::sum(&[name("a"), minus()]), "a - b");
        check(Text::difference(name("a"), minus()), "a + b");
        check(Text::product(&[name("a"), minus()]), "a*(-b)");
        check(Text::negation(minus()), "-(-b)");
        check(Text::negation(Text::sum(&[name("a"), name("b")])), "-(a + b)");
        check(Text::negation(Text::product(&[name("a"), name("b")])), "-a*b");
        check(Text::sum(&[name("c"), Text::negation(Text::product(&[name("a"), name("b")]))]), "c - a*b");
    }
}
