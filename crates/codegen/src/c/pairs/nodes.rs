//! Two expressions as one over vectors of two, and what that is estimated to take.
//!
//! Expressions are compared from the root down: sums with sums, products with products, quotients with quotients. The first two operands of one
//! side may change places. What is the same on both sides is a scalar for both lanes; what is alike in nothing is computed twice and put together.
//! A cost is a number of instructions; what a loop does not change counts as often as it is computed. Linear in the couples of
//! expressions that are met.

use std::rc::Rc;

use nestegg_ir::walk::below;
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId, Kernel, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::arrays::Arrays;
use super::super::facts::literal_of;
use super::find::holds_pairs;
use super::lists::{are_neighbours, exchanged, factors, terms, unsigned};

/// Names and literals in the text of one couple.
const MAX_SIZE: usize = 60;
/// Levels of operations that are compared.
const MAX_DEPTH: usize = 20;
/// Putting two scalars together, for which what is done with them waits.
const GATHER: f64 = 2.0;
/// Putting elements of arrays together in each iteration: compilers do better with several iterations in the lanes.
const GATHER_ELEMENTS: f64 = 10.0;
/// A scalar in both lanes.
const SPLAT: f64 = 0.5;
/// A quotient, in one or two lanes.
const QUOTIENT: f64 = 4.0;
/// A call, or anything else that is not floating-point arithmetic.
const OTHER: f64 = 10.0;

/// An expression over vectors of two.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A scalar, for both lanes.
    Splat(ExprId),
    /// A scalar for each lane, and whether it is negated.
    Lanes([(ExprId, bool); 2]),
    /// The vector of two temporaries, and whether its lanes change places.
    Temporary([ArrayId; 2], bool),
    /// Two elements that are neighbours, by the access to the first.
    Elements(ExprId),
    /// Terms, and whether they are taken away.
    Sum(Vec<(bool, Rc<Node>)>),
    Product(Vec<Rc<Node>>),
    Quotient(Rc<Node>, Rc<Node>),
    Negation(Rc<Node>),
    /// What is negated in one lane: in the second?
    Sign(Rc<Node>, bool),
}

/// A node, what it takes, and its size.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) node: Rc<Node>,
    pub(super) cost: f64,
    size: usize,
}

/// Compares the expressions of one couple.
pub(super) struct Match<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) dtypes: &'a [Dtype],
    /// The dtype of both lanes.
    pub(super) dtype: Dtype,
    /// How often loops run.
    pub(super) trips: &'a FxHashMap<InameId, f64>,
    /// The inames around the couple.
    pub(super) within: &'a [InameId],
    /// The inames around what writes an array.
    pub(super) depends: &'a FxHashMap<ArrayId, Vec<InameId>>,
    /// Whether two temporaries are a pair.
    pub(super) is_pair: &'a dyn Fn([ArrayId; 2]) -> bool,
    pub(super) arrays: &'a Arrays,
    /// What was found before.
    pub(super) known: FxHashMap<(ExprId, ExprId), Found>,
    /// Levels of operations above.
    pub(super) depth: usize,
}

impl Node {
    /// The nodes below.
    pub(super) fn operands(&self) -> Vec<Rc<Self>> {
        match self {
            Self::Splat(_) | Self::Lanes(_) | Self::Temporary(..) | Self::Elements(_) => Vec::new(),
            Self::Sum(terms) => terms.iter().map(|term| term.1.clone()).collect(),
            Self::Product(factors) => factors.clone(),
            Self::Quotient(a, b) => vec![a.clone(), b.clone()],
            Self::Negation(a) | Self::Sign(a, _) => vec![a.clone()],
        }
    }
}

impl Match<'_> {
    /// The node of two expressions.
    pub(super) fn node(&mut self, a: ExprId, b: ExprId) -> Found {
        if let Some(known) = self.known.get(&(a, b)) {
            return known.clone();
        }
        let alone = self.alone(a, b);
        self.depth += 1;
        let alike = if self.depth < MAX_DEPTH { self.alike(a, b) } else { None };
        self.depth -= 1;
        let found = match alike {
            Some(found) if found.size <= MAX_SIZE && found.cost < alone.cost => found,
            _ => alone,
        };
        self.known.insert((a, b), found.clone());
        found
    }

    /// Scalars, for both lanes or put together.
    fn alone(&self, a: ExprId, b: ExprId) -> Found {
        let share = self.share(&[a, b]);
        if a == b {
            let spread = if literal_of(self.kernel, a).is_some() { 0.0 } else { SPLAT };
            return Found { node: Rc::new(Node::Splat(a)), cost: share * (self.scalar([a]) + spread), size: 1 };
        }
        let literal = |id| literal_of(self.kernel, id).is_some();
        let gather = match () {
            () if literal(a) && literal(b) => 0.0,
            // No loop around keeps so many in registers.
            () if self.reads_elements(&[a, b]) => GATHER_ELEMENTS / share,
            () => GATHER,
        };
        let cost = share * (self.scalar([a]) + self.scalar([b]) + gather);
        Found { node: Rc::new(Node::Lanes([(a, false), (b, false)])), cost, size: 2 }
    }

    /// Both sides as one operation, or one read.
    fn alike(&mut self, a: ExprId, b: ExprId) -> Option<Found> {
        let kernel = self.kernel;
        if a == b {
            return None;
        }
        if let (Expr::Access { array, indices }, Expr::Access { array: other, indices: others }) =
            (&kernel.exprs[a], &kernel.exprs[b])
        {
            if indices.is_empty() && others.is_empty() {
                let read = |arrays, swapped| Found {
                    node: Rc::new(Node::Temporary(arrays, swapped)),
                    cost: if swapped { 1.0 } else { 0.0 },
                    size: 1,
                };
                return match () {
                    () if (self.is_pair)([*array, *other]) => Some(read([*array, *other], false)),
                    () if (self.is_pair)([*other, *array]) => Some(read([*other, *array], true)),
                    () => None,
                };
            }
            if array == other && are_neighbours(kernel, others, indices) {
                let cost = 2.0 * self.share(&[a]);
                return Some(Found { node: Rc::new(Node::Lanes([(a, false), (b, false)])), cost, size: 2 });
            }
            let are_elements =
                array == other && holds_pairs(kernel, self.arrays, *array) && are_neighbours(kernel, indices, others);
            let cost = self.share(&[a]);
            return are_elements.then(|| Found { node: Rc::new(Node::Elements(a)), cost, size: 1 });
        }
        if [a, b].iter().any(|id| self.dtypes[id.index()] != self.dtype) {
            return None;
        }
        let ((signs_a, a), (signs_b, b)) = (unsigned(kernel, a), unsigned(kernel, b));
        let is = |id: ExprId, wanted: &[Op]| matches!(&kernel.exprs[id], Expr::Op { op, .. } if wanted.contains(op));
        let both = |wanted: &[Op]| is(a, wanted) && is(b, wanted);
        let found = if both(&[Op::Add, Op::Sub]) {
            self.sum(&terms(kernel, a), &terms(kernel, b))?
        } else if both(&[Op::Mul]) {
            self.product(a, &factors(kernel, a), &factors(kernel, b))?
        } else if let (Expr::Op { op: Op::Div, operands }, Expr::Op { op: Op::Div, operands: others }) =
            (&kernel.exprs[a], &kernel.exprs[b])
        {
            let above = self.node(operands[0], others[0]);
            let below = self.node(operands[1], others[1]);
            let cost = above.cost + below.cost + QUOTIENT;
            let size = above.size + below.size;
            Found { node: Rc::new(Node::Quotient(above.node, below.node)), cost, size }
        } else if signs_a || signs_b {
            self.node(a, b)
        } else {
            return None;
        };
        Some(match (signs_a, signs_b) {
            (false, false) => found,
            (true, true) => {
                Found { node: Rc::new(Node::Negation(found.node)), cost: found.cost + 1.0, size: found.size }
            }
            (_, second) => self.signed(found, second),
        })
    }

    /// A node with the sign of one lane turned; the sign goes to a factor that is the same in both, if there is one.
    fn signed(&self, found: Found, second: bool) -> Found {
        let signs = |id: ExprId| Rc::new(Node::Lanes([(id, !second), (id, second)]));
        let share = |id: ExprId| self.share(&[id]) * (GATHER - SPLAT + 0.5);
        match &*found.node {
            Node::Splat(id) => Found { node: signs(*id), cost: found.cost + share(*id), size: 2 },
            Node::Lanes([(a, negated), (b, also)]) => {
                let node = Node::Lanes([(*a, *negated == second), (*b, *also != second)]);
                Found { node: Rc::new(node), cost: found.cost + self.share(&[*a, *b]), size: 2 }
            }
            Node::Product(factors) => {
                // The one that is computed least often.
                let share = |factor: &Node| match factor {
                    Node::Splat(id) => Some(self.share(&[*id])),
                    Node::Lanes([(a, _), (b, _)]) => Some(self.share(&[*a, *b])),
                    _ => None,
                };
                let shares = factors.iter().enumerate().filter_map(|(at, factor)| Some((at, share(factor)?)));
                let Some((at, _)) = shares.min_by(|a, b| a.1.total_cmp(&b.1)) else {
                    return Self::turned(found, second);
                };
                let factor = self.signed(Found { node: factors[at].clone(), cost: 0.0, size: 1 }, second);
                let mut factors = factors.clone();
                factors[at] = factor.node;
                let cost = found.cost + factor.cost;
                Found { node: Rc::new(Node::Product(factors)), cost, size: found.size + 1 }
            }
            _ => Self::turned(found, second),
        }
    }

    fn turned(found: Found, second: bool) -> Found {
        Found { node: Rc::new(Node::Sign(found.node, second)), cost: found.cost + 1.0, size: found.size }
    }

    /// Sums of as many terms.
    fn sum(&mut self, a: &[(bool, ExprId)], b: &[(bool, ExprId)]) -> Option<Found> {
        if a.len() != b.len() {
            return None;
        }
        let mut of = |b: &[(bool, ExprId)]| {
            let (mut nodes, mut cost, mut size) = (Vec::with_capacity(a.len()), 0.0, 0);
            for (&(minus, a), &(other, b)) in a.iter().zip(b) {
                let mut found = self.node(a, b);
                if minus != other {
                    found = self.signed(found, other);
                }
                cost += found.cost + 1.0;
                size += found.size;
                nodes.push((minus && other, found.node));
            }
            // A product that is added is one instruction with the sum.
            let n_products = nodes.iter().filter(|(_, node)| matches!(**node, Node::Product(_))).count();
            cost -= n_products.min(nodes.len() - 1) as f64;
            // A sum begins with a sign only if it costs one.
            let cost = if nodes[0].0 { cost } else { cost - 1.0 };
            Found { node: Rc::new(Node::Sum(nodes)), cost, size }
        };
        Some(best(of(b), of(&exchanged(b))))
    }

    /// Products of as many factors.
    fn product(&mut self, whole: ExprId, a: &[ExprId], b: &[ExprId]) -> Option<Found> {
        if a.len() != b.len() {
            return None;
        }
        let mut of = |b: &[ExprId]| {
            let found: Vec<Found> = a.iter().zip(b).map(|(&a, &b)| self.node(a, b)).collect();
            let cost = found.iter().map(|one| one.cost + 1.0).sum::<f64>() - 1.0;
            let size = found.iter().map(|one| one.size).sum();
            // Factors that only changed places.
            if found.iter().all(|one| matches!(*one.node, Node::Splat(_))) {
                return Found { node: Rc::new(Node::Splat(whole)), cost, size: 1 };
            }
            let nodes = found.into_iter().map(|one| one.node).collect();
            Found { node: Rc::new(Node::Product(nodes)), cost, size }
        };
        Some(best(of(b), of(&exchanged(b))))
    }

    /// Whether expressions read elements of arrays that are others in each iteration of the innermost loop.
    fn reads_elements(&self, ids: &[ExprId]) -> bool {
        let exprs = &self.kernel.exprs;
        let Some(innermost) = self.within.last() else { return false };
        let is_there = |index: &ExprId| {
            below(exprs, [*index]).into_iter().any(|id| matches!(&exprs[id], Expr::Iname(iname) if iname == innermost))
        };
        below(exprs, ids.iter().copied()).into_iter().any(|id| match &exprs[id] {
            Expr::Access { array, indices } => self.kernel[*array].table().is_none() && indices.iter().any(is_there),
            _ => false,
        })
    }

    fn is_product(&self, id: ExprId) -> bool {
        matches!(self.kernel.exprs[id], Expr::Op { op: Op::Mul, .. })
    }

    /// The part of the couple's runs in which expressions are computed anew.
    fn share(&self, ids: &[ExprId]) -> f64 {
        let mut inames: Vec<InameId> = Vec::new();
        for id in below(&self.kernel.exprs, ids.iter().copied()) {
            match &self.kernel.exprs[id] {
                Expr::Iname(iname) => inames.push(*iname),
                Expr::Access { array, .. } => inames.extend(self.depends.get(array).into_iter().flatten()),
                _ => {}
            }
        }
        inames.retain(|iname| self.within.contains(iname));
        inames.sort_unstable();
        inames.dedup();
        runs(self.trips, &inames) / runs(self.trips, self.within)
    }

    /// The instructions that scalars take, each counted once.
    pub(super) fn scalar(&self, ids: impl IntoIterator<Item = ExprId>) -> f64 {
        let mut seen = FxHashSet::default();
        let mut pending: Vec<ExprId> = ids.into_iter().collect();
        let mut cost = 0.0;
        while let Some(id) = pending.pop() {
            if !seen.insert(id) || literal_of(self.kernel, id).is_some() {
                continue;
            }
            cost += match &self.kernel.exprs[id] {
                Expr::Access { indices, array } => {
                    // Tables are numbers where their loops are unrolled.
                    let is_read = !indices.is_empty() && self.kernel[*array].table().is_none();
                    f64::from(u8::from(is_read))
                }
                Expr::Op { op: Op::Neg, operands } => {
                    pending.extend(&**operands);
                    0.0
                }
                Expr::Op { op, operands } => {
                    pending.extend(&**operands);
                    let n = operands.len() as f64 - 1.0;
                    let is_product = |&&id: &&ExprId| self.is_product(unsigned(self.kernel, id).1);
                    match op {
                        // A product that is added is one instruction with the sum.
                        Op::Add | Op::Sub => n - (operands.iter().filter(is_product).count() as f64).min(n),
                        Op::Div => QUOTIENT * n,
                        Op::Pow => 1.0,
                        _ => n.max(1.0),
                    }
                }
                Expr::Number(_) | Expr::Iname(_) | Expr::Parameter(_) => 0.0,
                _ => OTHER,
            };
        }
        cost
    }
}

/// How often loops run together, given how often each runs.
pub(super) fn runs(trips: &FxHashMap<InameId, f64>, inames: &[InameId]) -> f64 {
    inames.iter().map(|iname| trips[iname]).product()
}

fn best(a: Found, b: Found) -> Found {
    if b.cost < a.cost { b } else { a }
}
