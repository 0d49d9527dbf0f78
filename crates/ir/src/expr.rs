//! Expressions as a hash-consed DAG.
//!
//! Every expression of a kernel lives in its [`Exprs`]; equal expressions are one [`ExprId`], and an
//! expression's operands always have smaller ids than itself. A pass over expressions is therefore a loop over
//! ids, never a recursion: kernels of a thousand DAG nodes can be millions of nodes as trees, and chains can be
//! 100,000 operations deep.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::ids::{ArrayId, ExprId, FunctionId, InameId, ParameterId, SubstitutionId};
use crate::number::{Dtype, Float, Number};

/// An operator of the kernel format, with its spelling there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// `+`, two or more operands.
    Add,
    /// `*`, two or more operands.
    Mul,
    /// `-` with one operand.
    Neg,
    /// `-` with two operands.
    Sub,
    /// `/`: the quotient of numbers, a float even of two integers.
    Div,
    /// `**`: power.
    Pow,
    /// `//`: floor division.
    FloorDiv,
    /// `%`: modulo, with the sign of the divisor.
    Mod,
    /// `if`: condition, value if it holds, value if not.
    If,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `==`.
    Eq,
    /// `!=`.
    Ne,
    /// `and`, two or more operands.
    And,
    /// `or`, two or more operands.
    Or,
    /// `not`.
    Not,
    /// `min`, two or more operands.
    Min,
    /// `max`, two or more operands.
    Max,
    /// `&`, two or more operands.
    BitAnd,
    /// `|`, two or more operands.
    BitOr,
    /// `^`, two or more operands.
    BitXor,
    /// `<<`.
    Shl,
    /// `>>`: arithmetic shift.
    Shr,
    /// `~`.
    BitNot,
}

/// How many operands an operator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly so many.
    Exactly(usize),
    /// So many or more.
    AtLeast(usize),
}

impl Arity {
    /// Whether `n_operands` operands are allowed.
    #[must_use]
    pub fn allows(self, n_operands: usize) -> bool {
        match self {
            Self::Exactly(n) => n_operands == n,
            Self::AtLeast(n) => n_operands >= n,
        }
    }
}

impl Op {
    /// Every operator.
    pub const ALL: [Self; 26] = [
        Self::Add,
        Self::Mul,
        Self::Neg,
        Self::Sub,
        Self::Div,
        Self::Pow,
        Self::FloorDiv,
        Self::Mod,
        Self::If,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::Eq,
        Self::Ne,
        Self::And,
        Self::Or,
        Self::Not,
        Self::Min,
        Self::Max,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::Shl,
        Self::Shr,
        Self::BitNot,
    ];

    /// Its spelling in kernel dumps. `Neg` and `Sub` share `-`: the number of operands tells them apart.
    #[must_use]
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Mul => "*",
            Self::Neg | Self::Sub => "-",
            Self::Div => "/",
            Self::Pow => "**",
            Self::FloorDiv => "//",
            Self::Mod => "%",
            Self::If => "if",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
            Self::Min => "min",
            Self::Max => "max",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::BitNot => "~",
        }
    }

    /// The operator with that spelling and that many operands.
    #[must_use]
    pub fn from_spelling(spelling: &str, n_operands: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.spelling() == spelling && op.arity().allows(n_operands))
    }

    /// How many operands it takes.
    #[must_use]
    pub fn arity(self) -> Arity {
        match self {
            Self::Neg | Self::Not | Self::BitNot => Arity::Exactly(1),
            Self::If => Arity::Exactly(3),
            Self::Sub | Self::Div | Self::Pow | Self::FloorDiv | Self::Mod | Self::Shl | Self::Shr => Arity::Exactly(2),
            Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::Eq | Self::Ne => Arity::Exactly(2),
            Self::Add
            | Self::Mul
            | Self::And
            | Self::Or
            | Self::Min
            | Self::Max
            | Self::BitAnd
            | Self::BitOr
            | Self::BitXor => Arity::AtLeast(2),
        }
    }

    /// Whether it compares two numbers.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::Eq | Self::Ne)
    }

    /// Whether it is `and`, `or` or `not`.
    #[must_use]
    pub fn is_logic(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Not)
    }

    /// Whether it works on the bits of integers.
    #[must_use]
    pub fn is_bitwise(self) -> bool {
        matches!(self, Self::BitAnd | Self::BitOr | Self::BitXor | Self::Shl | Self::Shr | Self::BitNot)
    }
}

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReduceOp {
    /// Sum; of nothing 0.
    Sum,
    /// Product; of nothing 1.
    Product,
    /// Minimum; of nothing plus infinity (the largest value of an integer dtype).
    Min,
    /// Maximum; of nothing minus infinity (the smallest value of an integer dtype).
    Max,
}

impl ReduceOp {
    /// Every reduction operation.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Product, Self::Min, Self::Max];

    /// Its spelling in kernel dumps.
    #[must_use]
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// The reduction operation with that spelling.
    #[must_use]
    pub fn from_spelling(spelling: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.spelling() == spelling)
    }

    /// The operator that joins two partial results.
    #[must_use]
    pub fn operator(self) -> Op {
        match self {
            Self::Sum => Op::Add,
            Self::Product => Op::Mul,
            Self::Min => Op::Min,
            Self::Max => Op::Max,
        }
    }
}

/// One node of the expression DAG.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A literal.
    Number(Number),
    /// The value of an iname.
    Iname(InameId),
    /// The value of a parameter.
    Parameter(ParameterId),
    /// The formal parameter of the substitution rule in whose body it stands, by position.
    Formal(u32),
    /// An element of an array; a scalar has no indices.
    Access {
        /// Argument, temporary or table.
        array: ArrayId,
        /// One integer expression per dimension.
        indices: Box<[ExprId]>,
    },
    /// An operator applied to its operands.
    Op {
        /// The operator.
        op: Op,
        /// As many as [`Op::arity`] allows.
        operands: Box<[ExprId]>,
    },
    /// A pure function applied to its arguments.
    Call {
        /// The function.
        function: FunctionId,
        /// Its arguments.
        arguments: Box<[ExprId]>,
    },
    /// A reduction; the inames are bound in the body.
    Reduce {
        /// The operation.
        op: ReduceOp,
        /// Reduction inames, at least one, in the order written.
        inames: Box<[InameId]>,
        /// The reduced expression.
        body: ExprId,
    },
    /// A substitution rule applied to its arguments.
    Substitution {
        /// The rule.
        rule: SubstitutionId,
        /// One per formal parameter.
        arguments: Box<[ExprId]>,
    },
    /// Conversion to a dtype.
    Cast {
        /// Target.
        dtype: Dtype,
        /// What is converted.
        operand: ExprId,
    },
}

impl Expr {
    /// The operands, in order.
    #[must_use]
    pub fn children(&self) -> &[ExprId] {
        match self {
            Self::Number(_) | Self::Iname(_) | Self::Parameter(_) | Self::Formal(_) => &[],
            Self::Access { indices: children, .. }
            | Self::Op { operands: children, .. }
            | Self::Call { arguments: children, .. }
            | Self::Substitution { arguments: children, .. } => children,
            Self::Reduce { body: child, .. } | Self::Cast { operand: child, .. } => std::slice::from_ref(child),
        }
    }

    /// The operands, in order, to be replaced.
    pub fn children_mut(&mut self) -> &mut [ExprId] {
        match self {
            Self::Number(_) | Self::Iname(_) | Self::Parameter(_) | Self::Formal(_) => &mut [],
            Self::Access { indices: children, .. }
            | Self::Op { operands: children, .. }
            | Self::Call { arguments: children, .. }
            | Self::Substitution { arguments: children, .. } => children,
            Self::Reduce { body: child, .. } | Self::Cast { operand: child, .. } => std::slice::from_mut(child),
        }
    }
}

/// The expressions of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Exprs {
    nodes: IndexSet<Expr, FxBuildHasher>,
}

impl Exprs {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of `expr`, which is stored if it is new.
    ///
    /// # Panics
    /// If an operand is not of this store: a bug of the caller.
    pub fn intern(&mut self, expr: Expr) -> ExprId {
        debug_assert!(
            expr.children().iter().all(|child| child.index() < self.nodes.len()),
            "an operand is interned before its operation"
        );
        let (idx, _) = self.nodes.insert_full(expr);
        ExprId::new(idx)
    }

    /// The id of an expression that is known.
    #[must_use]
    pub fn find(&self, expr: &Expr) -> Option<ExprId> {
        self.nodes.get_index_of(expr).map(ExprId::new)
    }

    /// How many expressions there are; every id is below this.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All ids with their expressions, operands before operations.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ExprId, &Expr)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(idx, expr)| (ExprId::new(idx), expr))
    }

    /// An integer literal.
    pub fn int(&mut self, value: i64) -> ExprId {
        self.intern(Expr::Number(Number::Int(value)))
    }

    /// A float literal.
    pub fn float(&mut self, value: Float) -> ExprId {
        self.intern(Expr::Number(Number::Float(value)))
    }

    /// The value of an iname.
    pub fn iname(&mut self, iname: InameId) -> ExprId {
        self.intern(Expr::Iname(iname))
    }

    /// An element of an array.
    pub fn access(&mut self, array: ArrayId, indices: impl Into<Box<[ExprId]>>) -> ExprId {
        self.intern(Expr::Access { array, indices: indices.into() })
    }

    /// An operator applied to operands.
    pub fn op(&mut self, op: Op, operands: impl Into<Box<[ExprId]>>) -> ExprId {
        let operands = operands.into();
        debug_assert!(op.arity().allows(operands.len()), "`{}` with {} operands", op.spelling(), operands.len());
        self.intern(Expr::Op { op, operands })
    }

    /// `max(0, size)`: a size that may come out below zero where there is nothing to keep.
    pub fn clipped_at_zero(&mut self, size: ExprId) -> ExprId {
        let zero = self.int(0);
        self.op(Op::Max, [zero, size])
    }

    /// The ids reachable from `roots` (roots included), operands before operations.
    #[must_use]
    pub fn reachable(&self, roots: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
        let roots: Vec<ExprId> = roots.into_iter().collect();
        let last = roots.iter().map(|root| root.index() + 1).max().unwrap_or(0);
        let mut seen = vec![false; last];
        for root in roots {
            seen[root.index()] = true;
        }
        for idx in (0..last).rev() {
            if seen[idx] {
                for child in self.nodes[idx].children() {
                    seen[child.index()] = true;
                }
            }
        }
        (0..last).filter(|&idx| seen[idx]).map(ExprId::new).collect()
    }

    /// A store of the expressions reachable from `roots` alone, and what each is there.
    #[must_use]
    pub fn compacted(&self, roots: impl IntoIterator<Item = ExprId>) -> (Self, Rewritten) {
        let mut res = Self::new();
        let order = self.reachable(roots);
        let mut map = vec![None; order.last().map_or(0, |id| id.index() + 1)];
        for old in order {
            let mut expr = self[old].clone();
            for child in expr.children_mut() {
                *child = map[child.index()].expect("operands come before operations");
            }
            map[old.index()] = Some(res.intern(expr));
        }
        (res, Rewritten { map })
    }

    /// The number that an expression is, if it is a literal, or the negation of one.
    #[must_use]
    pub fn literal(&self, id: ExprId) -> Option<f64> {
        match &self[id] {
            Expr::Number(number) => Some(number.to_f64()),
            Expr::Op { op: Op::Neg, operands } => match &self[operands[0]] {
                Expr::Number(number) => Some(-number.to_f64()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Rewrites the expressions reachable from `roots` bottom-up: each is rebuilt on its rewritten operands and
    /// given to `rewrite`, which answers what stands in its place. Linear in the DAG.
    ///
    /// The answer maps every reachable old id; look roots up in it.
    pub fn rewrite(
        &mut self,
        roots: impl IntoIterator<Item = ExprId>,
        mut rewrite: impl FnMut(&mut Self, ExprId, Expr) -> ExprId,
    ) -> Rewritten {
        let order = self.reachable(roots);
        let mut map = vec![None; order.last().map_or(0, |id| id.index() + 1)];
        for old in order {
            let mut expr = self[old].clone();
            for child in expr.children_mut() {
                *child = map[child.index()].expect("operands come before operations");
            }
            map[old.index()] = Some(rewrite(self, old, expr));
        }
        Rewritten { map }
    }
}

impl std::ops::Index<ExprId> for Exprs {
    type Output = Expr;

    fn index(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }
}

/// What [`Exprs::rewrite`] or [`Exprs::compacted`] made of each expression.
#[derive(Clone, Debug)]
pub struct Rewritten {
    map: Vec<Option<ExprId>>,
}

impl Rewritten {
    /// What stands in the place of `old`; `old` itself if it was not reachable.
    #[must_use]
    pub fn get(&self, old: ExprId) -> ExprId {
        self.map.get(old.index()).copied().flatten().unwrap_or(old)
    }
}
