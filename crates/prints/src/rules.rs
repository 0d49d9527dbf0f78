//! Substitution rules, which loopy prints as Python objects.
//!
//! `SubstitutionRule(name='sq', arguments=('x',), expression=Product((Variable('x'), Variable('x'))))`; deep inside of an expression, Python's
//! print has three dots, and the rule is lost.

use std::ops::Range;

use nestegg_ir::{Number, Op, ReduceOp};
use nestegg_span::Span;

use crate::expr::{E, Expr, Kind, MAX_DEPTH, Reduction};
use crate::parse;
use crate::problem::{self, Known};
use crate::sections::Line;

/// A substitution rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) formals: Vec<String>,
    pub(crate) body: E,
}

/// Something that Python prints.
enum Value {
    Expr(E),
    Tuple(Vec<Value>),
    /// A text, or a word.
    Text(String),
}

/// Reads the line of a rule.
pub(crate) fn rule(line: Line<'_>) -> Known<Rule> {
    let form = || problem::syntax("`SubstitutionRule(name=…, arguments=…, expression=…)`", line.span());
    let inner =
        line.text.strip_prefix("SubstitutionRule(name=").and_then(|rest| rest.strip_suffix(')')).ok_or_else(form)?;
    let start = line.text.len() - 1 - inner.len();
    let mut reader = Reader { line, at: start, end: start + inner.len(), depth: 0 };
    let Value::Text(name) = reader.value()? else { return Err(form()) };
    reader.expect(", arguments=")?;
    let Value::Tuple(formals) = reader.value()? else { return Err(form()) };
    let formals = formals.into_iter().filter_map(|formal| match formal {
        Value::Text(name) => Some(name),
        _ => None,
    });
    reader.expect(", expression=")?;
    let Value::Expr(body) = reader.value()? else { return Err(form()) };
    Ok(Rule { name, formals: formals.collect(), body })
}

struct Reader<'t> {
    line: Line<'t>,
    at: usize,
    end: usize,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.line.text.get(self.at..self.end).unwrap_or_default()
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::from_range(self.line.start + range.start..self.line.start + range.end)
    }

    fn skip(&mut self, mark: &str) -> bool {
        let is_there = self.rest().starts_with(mark);
        if is_there {
            self.at += mark.len();
        }
        is_there
    }

    fn expect(&mut self, mark: &str) -> Known<()> {
        if self.skip(mark) { Ok(()) } else { Err(problem::syntax(&format!("`{mark}`"), self.span(self.at..self.at))) }
    }

    /// Takes as many bytes as come before the first character that is no part.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    /// Values up to a closing parenthesis.
    fn values(&mut self) -> Known<Vec<Value>> {
        let mut res = Vec::new();
        while !self.skip(")") {
            res.push(self.value()?);
            if !self.skip(",") {
                self.expect(")")?;
                break;
            }
            self.skip(" ");
        }
        Ok(res)
    }

    fn value(&mut self) -> Known<Value> {
        let start = self.at;
        if self.depth > MAX_DEPTH {
            return Err(problem::unsupported("an expression that is nested so deep", self.span(start..start), ""));
        }
        if self.skip("...") {
            let help = "print the kernel after `loopy.expand_subst(t_unit)`";
            return Err(problem::lost("the inside of a substitution rule", self.span(start..self.at), help));
        }
        if self.skip("'") {
            let text = self.take(|c| c != '\'').to_owned();
            self.expect("'")?;
            return Ok(Value::Text(text));
        }
        self.depth += 1;
        let res = self.compound(start)?;
        self.depth -= 1;
        Ok(res)
    }

    fn compound(&mut self, start: usize) -> Known<Value> {
        if self.skip("(") {
            return self.values().map(Value::Tuple);
        }
        let word = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+'));
        if word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.')) {
            let at = self.span(start..self.at);
            let number = parse::number(word).ok_or_else(|| problem::syntax("a finite number", at))?;
            return Expr::new(Kind::Number(number), Vec::new(), at).map(Value::Expr);
        }
        if word.is_empty() {
            return Err(problem::syntax("what Python prints of an expression", self.span(start..start)));
        }
        if !self.skip("(") {
            return Ok(Value::Text(word.to_owned()));
        }
        let of = self.values()?;
        object(word, of, self.span(start..self.at)).map(Value::Expr)
    }
}

/// The expression of an object of pymbolic.
fn object(class: &str, of: Vec<Value>, at: Span) -> Known<E> {
    let unsupported = || problem::unsupported(&format!("a substitution rule with `{class}`"), at, "");
    let several = match class {
        "Sum" => Some(Op::Add),
        "Product" => Some(Op::Mul),
        "LogicalAnd" => Some(Op::And),
        "LogicalOr" => Some(Op::Or),
        "BitwiseAnd" => Some(Op::BitAnd),
        "BitwiseOr" => Some(Op::BitOr),
        "BitwiseXor" => Some(Op::BitXor),
        "Min" => Some(Op::Min),
        "Max" => Some(Op::Max),
        _ => None,
    };
    let direct = match class {
        "Quotient" => Some((Op::Div, 2)),
        "FloorDiv" => Some((Op::FloorDiv, 2)),
        "Remainder" => Some((Op::Mod, 2)),
        "Power" => Some((Op::Pow, 2)),
        "LeftShift" => Some((Op::Shl, 2)),
        "RightShift" => Some((Op::Shr, 2)),
        "LogicalNot" => Some((Op::Not, 1)),
        "BitwiseNot" => Some((Op::BitNot, 1)),
        "If" => Some((Op::If, 3)),
        _ => None,
    };
    let expressions = |values: Vec<Value>| -> Option<Vec<E>> {
        let each = values.into_iter().map(|value| match value {
            Value::Expr(expr) => Some(expr),
            _ => None,
        });
        each.collect()
    };
    let mut of = of.into_iter();
    let (first, second, third) = (of.next(), of.next(), of.next());
    let (kind, operands) = match (class, first, second, third) {
        ("Variable", Some(Value::Text(name)), None, None) => (Kind::Name(name), Some(Vec::new())),
        ("np.float32" | "np.float64", Some(Value::Expr(number)), None, None) => match (&number.kind, class) {
            (Kind::Number(number), "np.float32") => (Kind::Number(number.to_single()), Some(Vec::new())),
            (Kind::Number(number @ Number::Float(_)), _) => (Kind::Number(*number), Some(Vec::new())),
            _ => return Err(unsupported()),
        },
        ("Call", Some(Value::Expr(function)), Some(Value::Tuple(arguments)), None) => match &function.kind {
            Kind::Name(name) => (Kind::Call(name.clone()), expressions(arguments)),
            _ => return Err(unsupported()),
        },
        ("Subscript", Some(Value::Expr(array)), Some(index), None) => match &array.kind {
            Kind::Name(name) => {
                let indices = match index {
                    Value::Tuple(indices) => indices,
                    index => vec![index],
                };
                (Kind::Subscript(name.clone()), expressions(indices))
            }
            _ => return Err(unsupported()),
        },
        ("Comparison", Some(Value::Expr(left)), Some(Value::Text(sign)), Some(Value::Expr(right))) => {
            let op = match &*sign {
                "<" => Op::Lt,
                "<=" => Op::Le,
                ">" => Op::Gt,
                ">=" => Op::Ge,
                "==" => Op::Eq,
                "!=" => Op::Ne,
                _ => return Err(unsupported()),
            };
            (Kind::Op(op), Some(vec![left, right]))
        }
        ("Reduction", Some(Value::Text(class)), Some(Value::Tuple(inames)), Some(Value::Expr(value))) => {
            let word = class.strip_suffix("ReductionOperation").unwrap_or(&class).to_lowercase();
            let reduction = match (&*word, ReduceOp::from_spelling(&word)) {
                ("any", _) => Reduction::Any,
                ("all", _) => Reduction::All,
                (_, Some(op)) => Reduction::Op(op),
                _ => return Err(unsupported()),
            };
            let inames = inames.into_iter().filter_map(|iname| match iname {
                Value::Text(name) => Some(name),
                _ => None,
            });
            (Kind::Reduce(reduction, inames.collect()), Some(vec![value]))
        }
        (_, Some(Value::Tuple(operands)), None, None) => match several {
            Some(op) => (Kind::Op(op), expressions(operands)),
            None => return Err(unsupported()),
        },
        (_, first, second, third) => match direct {
            Some((op, n)) => {
                let values: Vec<Value> = [first, second, third].into_iter().flatten().collect();
                (Kind::Op(op), Some(values).filter(|values| values.len() == n).and_then(expressions))
            }
            None => return Err(unsupported()),
        },
    };
    Expr::new(kind, operands.ok_or_else(unsupported)?, at)
}
