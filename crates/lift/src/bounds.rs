//! Conditions of loops in isl's notation: affine expressions, and minima, maxima and selections of such.

use nestegg_ir::Op;
use nestegg_isl::Affine;

use crate::term::{Kind, Term};

/// An integer that depends on inames and parameters piece by piece.
#[derive(Clone, Debug)]
enum Piecewise {
    One(Affine),
    Min(Vec<Self>),
    Max(Vec<Self>),
    /// Where the condition holds the first, else the second.
    Choice(String, Box<Self>, Box<Self>),
}

impl Piecewise {
    fn of(term: &Term) -> Option<Self> {
        if let Some(affine) = term.affine() {
            return Some(Self::One(affine));
        }
        let (op, operands) = match &term.kind {
            Kind::Cast(dtype, operand) if dtype.is_integer() => return Self::of(operand),
            Kind::Op(op, operands) => (op, operands),
            _ => return None,
        };
        let all = || operands.iter().map(|operand| Self::of(operand)).collect::<Option<Vec<Self>>>();
        let constant = |at: usize| operands.get(at)?.affine()?.as_constant();
        match op {
            Op::Min => Some(Self::Min(all()?)),
            Op::Max => Some(Self::Max(all()?)),
            Op::If => match operands.as_slice() {
                [condition, first, second] => {
                    let (first, second) = (Self::of(first)?, Self::of(second)?);
                    Some(Self::Choice(condition.condition()?, Box::new(first), Box::new(second)))
                }
                _ => None,
            },
            Op::Add => {
                let (mut whole, mut sum) = (None, Affine::constant(0));
                for operand in all()? {
                    match operand {
                        Self::One(affine) => sum = sum.add(&affine).ok()?,
                        other if whole.is_none() => whole = Some(other),
                        _ => return None,
                    }
                }
                whole?.map(&|part| part.add(&sum).ok())
            }
            Op::Sub => match (Self::of(operands.first()?)?, Self::of(operands.get(1)?)?) {
                (whole, Self::One(affine)) => whole.map(&|part| part.sub(&affine).ok()),
                (Self::One(affine), whole) => whole.negated()?.map(&|part| part.add(&affine).ok()),
                _ => None,
            },
            Op::Neg => Self::of(operands.first()?)?.negated(),
            Op::Mul => match (constant(0), constant(1), operands.len()) {
                (_, Some(factor), 2) => Self::of(operands.first()?)?.scaled(factor),
                (Some(factor), _, 2) => Self::of(operands.get(1)?)?.scaled(factor),
                _ => None,
            },
            Op::FloorDiv => {
                let divisor = constant(1).filter(|divisor| *divisor > 0)?;
                Self::of(operands.first()?)?.map(&|part| part.floor_div(divisor).ok())
            }
            _ => None,
        }
    }

    /// The same with each piece changed by a function that does not fall.
    fn map(&self, change: &dyn Fn(&Affine) -> Option<Affine>) -> Option<Self> {
        let all = |parts: &[Self]| parts.iter().map(|part| part.map(change)).collect::<Option<Vec<Self>>>();
        Some(match self {
            Self::One(affine) => Self::One(change(affine)?),
            Self::Min(parts) => Self::Min(all(parts)?),
            Self::Max(parts) => Self::Max(all(parts)?),
            Self::Choice(condition, first, second) => {
                Self::Choice(condition.clone(), Box::new(first.map(change)?), Box::new(second.map(change)?))
            }
        })
    }

    fn negated(&self) -> Option<Self> {
        let all = |parts: &[Self]| parts.iter().map(Self::negated).collect::<Option<Vec<Self>>>();
        Some(match self {
            Self::One(affine) => Self::One(affine.scale(-1).ok()?),
            Self::Min(parts) => Self::Max(all(parts)?),
            Self::Max(parts) => Self::Min(all(parts)?),
            Self::Choice(condition, first, second) => {
                Self::Choice(condition.clone(), Box::new(first.negated()?), Box::new(second.negated()?))
            }
        })
    }

    fn scaled(&self, factor: i64) -> Option<Self> {
        if factor < 0 {
            self.negated()?.scaled(factor.checked_neg()?)
        } else {
            self.map(&|part| part.scale(factor).ok())
        }
    }

    /// `self <= other` or `self < other`, in isl's notation.
    fn below(&self, relation: &str, other: &Self) -> String {
        let join = |word: &str, parts: Vec<String>| format!("({})", parts.join(word));
        match (self, other) {
            (Self::One(left), Self::One(right)) => format!("{left} {relation} {right}"),
            (Self::Choice(condition, first, second), _) => format!(
                "((({condition}) and {}) or (not ({condition}) and {}))",
                first.below(relation, other),
                second.below(relation, other)
            ),
            (_, Self::Choice(condition, first, second)) => format!(
                "((({condition}) and {}) or (not ({condition}) and {}))",
                self.below(relation, first),
                self.below(relation, second)
            ),
            (Self::Max(parts), _) => join(" and ", parts.iter().map(|part| part.below(relation, other)).collect()),
            (Self::Min(parts), _) => join(" or ", parts.iter().map(|part| part.below(relation, other)).collect()),
            (_, Self::Min(parts)) => join(" and ", parts.iter().map(|part| self.below(relation, part)).collect()),
            (_, Self::Max(parts)) => join(" or ", parts.iter().map(|part| self.below(relation, part)).collect()),
        }
    }

    /// Whether a name occurs.
    fn involves(&self, name: &str) -> bool {
        match self {
            Self::One(affine) => affine.involves(name),
            Self::Min(parts) | Self::Max(parts) => parts.iter().any(|part| part.involves(name)),
            Self::Choice(condition, first, second) => {
                names(condition).any(|word| word == name) || first.involves(name) || second.involves(name)
            }
        }
    }
}

/// The words in a text of isl's notation, where coefficients stand before names without a space: `2i`.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit())).filter(|word| !word.is_empty())
}

/// `start <= name`, in isl's notation; `None` if the start is not affine piece by piece.
pub(crate) fn from(name: &str, start: &Term) -> Option<String> {
    Some(Piecewise::of(start)?.below("<=", &Piecewise::One(Affine::var(name))))
}

/// The condition under which a loop over `iname` goes on, in isl's notation.
/// `None` if it is not affine piece by piece, or does not end the loop for good when it fails.
pub(crate) fn condition(term: &Term, iname: &str) -> Option<String> {
    let Kind::Op(op, operands) = &term.kind else { return None };
    if *op == Op::And {
        let parts: Option<Vec<String>> = operands.iter().map(|operand| condition(operand, iname)).collect();
        return Some(parts?.join(" and "));
    }
    let [left, right] = operands.as_slice() else { return None };
    let (mut left, mut right) = (Piecewise::of(left)?, Piecewise::of(right)?);
    let relation = match op {
        Op::Lt | Op::Ne => "<",
        Op::Le => "<=",
        Op::Gt => {
            std::mem::swap(&mut left, &mut right);
            "<"
        }
        Op::Ge => {
            std::mem::swap(&mut left, &mut right);
            "<="
        }
        _ => return None,
    };
    // A condition that fails once must fail from then on: the difference of the sides rises with the iname.
    let rising = |side: &Piecewise, sign: i64| match side {
        Piecewise::One(affine) => {
            let outside = affine.coefficient(iname);
            let in_floors = affine.floors.iter().any(|floor| floor.0.numerator.involves(iname));
            (!in_floors).then_some(outside.checked_mul(sign)?)
        }
        other => (!other.involves(iname)).then_some(0),
    };
    let mut slope = rising(&left, 1)?.checked_add(rising(&right, -1)?)?;
    if *op == Op::Ne && slope < 0 {
        std::mem::swap(&mut left, &mut right);
        slope = -slope;
    }
    // Steps of more than one may pass by the value that `!=` waits for.
    let is_met = *op != Op::Ne || slope == 1;
    (slope >= 0 && is_met).then(|| left.below(relation, &right))
}
