//! Sizes and ranges: what is known of the values that inames take.
//!
//! Everything that a generated kernel may index with is known here, before isl sees a domain: that is how
//! generated accesses are in bounds for every value of the parameters that the assumptions allow.

use nestegg_ir::{ExprId, Exprs, InameId, Op, ParameterId};

/// What is known of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParameterInfo {
    /// The assumptions say that it is at least this.
    pub(crate) least: i64,
    /// Its value in the runs of this kernel.
    pub(crate) value: i64,
}

/// The number of values of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// A literal.
    Const(i64),
    /// A parameter plus a literal that is at least 0.
    Param(ParameterId, i64),
}

impl Size {
    pub(crate) fn plus(self, offset: i64) -> Self {
        match self {
            Self::Const(size) => Self::Const(size + offset),
            Self::Param(parameter, old) => Self::Param(parameter, old + offset),
        }
    }

    pub(crate) fn as_const(self) -> Option<i64> {
        match self {
            Self::Const(size) => Some(size),
            Self::Param(..) => None,
        }
    }

    /// It is at least this, whatever the parameters.
    pub(crate) fn least(self, parameters: &[ParameterInfo]) -> i64 {
        match self {
            Self::Const(size) => size,
            Self::Param(parameter, offset) => parameters[parameter.index()].least + offset,
        }
    }

    /// `outer - self` is at least this, whatever the parameters; `None` if nothing is known.
    pub(crate) fn slack_in(self, outer: Self, parameters: &[ParameterInfo]) -> Option<i64> {
        match (self, outer) {
            (Self::Param(own, offset), Self::Param(other, bound)) if own == other => Some(bound - offset),
            (Self::Const(size), outer) => Some(outer.least(parameters) - size),
            (Self::Param(..), _) => None,
        }
    }

    /// The size plus `offset`, as an expression.
    pub(crate) fn expr(self, offset: i64, exprs: &mut Exprs) -> ExprId {
        match self.plus(offset) {
            Self::Const(size) => exprs.int(size),
            Self::Param(parameter, offset) => {
                let parameter = exprs.intern(nestegg_ir::Expr::Parameter(parameter));
                match offset {
                    0 => parameter,
                    _ => {
                        let offset = exprs.int(offset);
                        exprs.op(Op::Add, [parameter, offset])
                    }
                }
            }
        }
    }
}

/// How the values of an iname are bounded within `0 <= i < size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `low <= i < size - high`.
    Box {
        /// Values left out at the beginning.
        low: i64,
        /// Values left out at the end.
        high: i64,
    },
    /// Multiples of the stride.
    Strided(i64),
    /// All but this one.
    Hole(i64),
    /// `i <= outer`, or `i < outer` if strict.
    Below {
        /// The iname that bounds it.
        outer: InameId,
        /// Whether `outer` itself is left out.
        strict: bool,
    },
    /// `i >= outer`, or `i > outer` if strict.
    Above {
        /// The iname that bounds it.
        outer: InameId,
        /// Whether `outer` itself is left out.
        strict: bool,
    },
    /// `i <= outer` and `i <= other`.
    BelowBoth {
        /// The iname with the same size.
        outer: InameId,
        /// The other one.
        other: InameId,
    },
    /// `low <= i <= high`.
    Between {
        /// The iname that bounds it from below; it may be zero.
        low: InameId,
        /// The iname that bounds it from above, of the same size.
        high: InameId,
    },
}

/// The values that an iname takes, given those of the inames around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// All values are from 0 to below this.
    pub(crate) size: Size,
    /// Which of them.
    pub(crate) shape: Shape,
}

impl Range {
    /// The inames that bound it.
    pub(crate) fn outers(self) -> impl Iterator<Item = InameId> + Clone {
        let outers = match self.shape {
            Shape::Below { outer, .. } | Shape::Above { outer, .. } => [Some(outer), None],
            Shape::BelowBoth { outer, other } => [Some(outer), Some(other)],
            Shape::Between { low, high } => [Some(low), Some(high)],
            Shape::Box { .. } | Shape::Strided(_) | Shape::Hole(_) => [None, None],
        };
        outers.into_iter().flatten()
    }

    /// The same shape with other inames around it.
    pub(crate) fn renamed(self, name: impl Fn(InameId) -> InameId) -> Self {
        let shape = match self.shape {
            Shape::Below { outer, strict } => Shape::Below { outer: name(outer), strict },
            Shape::Above { outer, strict } => Shape::Above { outer: name(outer), strict },
            Shape::BelowBoth { outer, other } => Shape::BelowBoth { outer: name(outer), other: name(other) },
            Shape::Between { low, high } => Shape::Between { low: name(low), high: name(high) },
            shape => shape,
        };
        Self { shape, ..self }
    }

    /// Whether zero is among the values, whatever the outer inames are.
    pub(crate) fn has_zero(self) -> bool {
        match self.shape {
            Shape::Box { low, .. } => low == 0,
            Shape::Below { strict, .. } => !strict,
            Shape::Strided(_) | Shape::BelowBoth { .. } => true,
            Shape::Hole(_) | Shape::Above { .. } | Shape::Between { .. } => false,
        }
    }

    /// Whether every value below the size is taken.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self.shape, Shape::Box { low: 0, high: 0 } | Shape::Strided(1))
    }

    /// At least so many values are taken, whatever the parameters and the outer inames.
    pub(crate) fn least_points(self, parameters: &[ParameterInfo]) -> i64 {
        let size = self.size.least(parameters);
        let points = match self.shape {
            Shape::Box { low, high } => size - low - high,
            Shape::Strided(stride) => (size + stride - 1) / stride,
            Shape::Hole(_) => size - 1,
            // The outer iname is within the same size, so that its own value is there.
            Shape::Below { strict, .. } | Shape::Above { strict, .. } => i64::from(!strict),
            Shape::BelowBoth { .. } => 1,
            Shape::Between { .. } => 0,
        };
        points.max(0)
    }

    /// The value minus this is not negative.
    pub(crate) fn margin_low(self) -> i64 {
        match self.shape {
            Shape::Box { low, .. } => low,
            Shape::Above { strict, .. } => i64::from(strict),
            Shape::Strided(_)
            | Shape::Hole(_)
            | Shape::Below { .. }
            | Shape::BelowBoth { .. }
            | Shape::Between { .. } => 0,
        }
    }

    /// The value plus this is below the size.
    pub(crate) fn margin_high(self) -> i64 {
        match self.shape {
            Shape::Box { high, .. } => high,
            Shape::Below { strict, .. } => i64::from(strict),
            Shape::Strided(_)
            | Shape::Hole(_)
            | Shape::Above { .. }
            | Shape::BelowBoth { .. }
            | Shape::Between { .. } => 0,
        }
    }

    /// The constraints in isl's notation.
    pub(crate) fn constraint(
        self,
        iname: &str,
        name_of: impl Fn(InameId) -> String,
        parameter: impl Fn(ParameterId) -> String,
    ) -> String {
        let size = |less: i64| match self.size.plus(-less) {
            Size::Const(size) => size.to_string(),
            Size::Param(id, 0) => parameter(id),
            Size::Param(id, offset) if offset < 0 => format!("{} - {}", parameter(id), -offset),
            Size::Param(id, offset) => format!("{} + {offset}", parameter(id)),
        };
        let relation = |strict: bool| if strict { "<" } else { "<=" };
        match self.shape {
            Shape::Box { low, high } => format!("{low} <= {iname} < {}", size(high)),
            Shape::Strided(stride) => format!("0 <= {iname} < {} and {iname} mod {stride} = 0", size(0)),
            Shape::Hole(value) => format!("0 <= {iname} < {} and {iname} != {value}", size(0)),
            Shape::Below { outer, strict } => format!("0 <= {iname} {} {}", relation(strict), name_of(outer)),
            Shape::BelowBoth { outer, other } => {
                format!("0 <= {iname} <= {} and {iname} <= {}", name_of(outer), name_of(other))
            }
            Shape::Between { low, high } => format!("{} <= {iname} <= {}", name_of(low), name_of(high)),
            Shape::Above { outer, strict } => {
                format!("{} {} {iname} < {}", name_of(outer), relation(strict), size(0))
            }
        }
    }
}
