//! The analysis: facts on every e-class, each a join-semilattice.
//!
//! | fact | order, from unknown to known | join of two equal values |
//! | --- | --- | --- |
//! | inames | by inclusion, fewer is more | intersection: a value cannot depend on an iname that an equal value lacks |
//! | constant | none < a number | the number; two different ones are an unsound rule |
//! | dtype | weak < strong | the stronger |
//! | range | wider < narrower | intersection |
//! | nonzero | unknown < known | either |
//! | region | larger < smaller | intersection: see [`region`](crate::region) |
//!
//! All chains are short but those of ranges: a union that makes a value part of itself (`x == 2*x`) narrows its range again and again.
//! So a bound of more than [`MAX_BITS`] bits is none, and the range of an e-class is narrowed [`MAX_NARROWINGS`] times at most; it stays right, if wider.
//!
//! `make` only reads children. `modify` adds the constant's own e-node. Contradictory constants are kept in
//! [`Facts::contradiction`]: saturation stops there and names the rules that fired last. A lower bound of the cost is no
//! fact here: the one that sums over single values is useless (`egraph-study.md`, section 4); selection proves its own.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use egg::{Analysis, DidMerge, EGraph, Id};
use nestegg_ir::types::Type;
use nestegg_ir::{InameSet, Op, ReduceOp};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::apply::group::Grouped;
use crate::context::{Context, Index};
use crate::language::{Kind, Node};
use crate::proof::Log;
use crate::rational::Rational;
use crate::region::Region;

/// Bounds of ranges have at most so many bits.
const MAX_BITS: u64 = 4_096;
/// How often the range of an e-class is narrowed.
const MAX_NARROWINGS: u8 = 32;

/// The e-graph of one kernel.
pub type Graph = EGraph<Node, Facts>;

/// A closed interval of exact numbers; `None` is unbounded on that side.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Range {
    /// The least possible value.
    pub lower: Option<Rational>,
    /// The greatest possible value.
    pub upper: Option<Rational>,
}

impl Range {
    fn point(value: &Rational) -> Self {
        Self { lower: Some(value.clone()), upper: Some(value.clone()) }
    }

    /// Whether every value is at least 0.
    #[must_use]
    pub fn is_nonnegative(&self) -> bool {
        self.lower.as_ref().is_some_and(|lower| !lower.is_negative())
    }

    fn excludes_zero(&self) -> bool {
        self.lower.as_ref().is_some_and(|lower| *lower > Rational::ZERO)
            || self.upper.as_ref().is_some_and(Rational::is_negative)
    }

    fn scaled(&self, factor: &Rational) -> Self {
        let scale = |bound: &Option<Rational>| bound.as_ref().map(|bound| bound.times(factor));
        let (lower, upper) = (scale(&self.lower), scale(&self.upper));
        if factor.is_negative() { Self { lower: upper, upper: lower } } else { Self { lower, upper } }
    }

    fn plus(&self, other: &Self) -> Self {
        let add = |a: &Option<Rational>, b: &Option<Rational>| Some(a.as_ref()?.plus(b.as_ref()?));
        Self { lower: add(&self.lower, &other.lower), upper: add(&self.upper, &other.upper) }
    }

    /// The range without bounds of very many bits.
    fn short(self) -> Self {
        let short = |bound: Option<Rational>| bound.filter(|bound| bound.n_bits() <= MAX_BITS);
        Self { lower: short(self.lower), upper: short(self.upper) }
    }

    /// Narrows `self` to values also in `other`; says whether each of the two was wider than the result.
    fn intersect(&mut self, other: Self) -> DidMerge {
        let lower = pick(&mut self.lower, other.lower, Ordering::Less);
        let upper = pick(&mut self.upper, other.upper, Ordering::Greater);
        lower | upper
    }
}

/// Keeps the tighter of two bounds: the one that the other is `looser` than.
fn pick(kept: &mut Option<Rational>, other: Option<Rational>, looser: Ordering) -> DidMerge {
    match (kept.as_ref(), &other) {
        (None, None) => DidMerge(false, false),
        (Some(_), None) => DidMerge(false, true),
        (None, Some(_)) => {
            *kept = other;
            DidMerge(true, false)
        }
        (Some(a), Some(b)) => match a.cmp(b) {
            Ordering::Equal => DidMerge(false, false),
            order if order == looser => {
                *kept = other;
                DidMerge(true, false)
            }
            _ => DidMerge(false, true),
        },
    }
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The inames that it depends on.
    pub inames: InameSet,
    /// Its value, if it is a constant.
    pub constant: Option<Rational>,
    /// Its type; constants are weak.
    pub dtype: Type,
    /// Between which numbers it lies.
    pub range: Range,
    /// How often that was narrowed.
    pub n_narrowings: u8,
    /// Whether it is known not to be zero.
    pub nonzero: bool,
    /// For which values of its inames it can be other than zero.
    pub region: Region,
}

impl Data {
    /// Whether it is known to be zero everywhere.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.constant.as_ref().is_some_and(Rational::is_zero) || self.region.is_empty()
    }
}

/// The analysis of [`Node`]s, with the kernel's side of the e-graph.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Interned payloads and facts on them.
    pub context: Context,
    /// Two different constants that met in one e-class, if that happened.
    pub contradiction: Option<(Rational, Rational)>,
    /// The e-node that each e-class had when encoding ended.
    pub origin: BTreeMap<Id, Node>,
    /// The e-classes that instructions evaluate.
    pub roots: Vec<Id>,
    /// Whether some e-class is known to be zero everywhere, or was.
    pub has_zeros: bool,
    /// E-nodes that grouping made: their operands are operands of another form, which is the one to search.
    pub grouped: FxHashSet<Node>,
    /// Products that were grouped, by e-class and factors.
    pub grouped_products: FxHashMap<(Id, Vec<(i32, Id)>), Grouped>,
    /// What was united and why, where somebody wants to know.
    pub log: Option<Log>,
}

impl Facts {
    /// The analysis over a context.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self { context, ..Self::default() }
    }
}

impl Analysis<Node> for Facts {
    type Data = Data;

    fn make(graph: &mut Graph, node: &Node, _id: Id) -> Data {
        let range = range(graph, node).short();
        let data = Data {
            inames: inames(graph, node),
            constant: fold(graph, node),
            dtype: dtype(graph, node),
            nonzero: nonzero(graph, node, &range),
            range,
            n_narrowings: 0,
            region: crate::region::region(graph, node),
        };
        graph.analysis.has_zeros |= data.is_zero();
        data
    }

    fn merge(&mut self, to: &mut Data, from: Data) -> DidMerge {
        let mut did = DidMerge(false, false);
        if to.inames != from.inames {
            let common = to.inames.intersection(&from.inames);
            did = did | DidMerge(common != to.inames, common != from.inames);
            to.inames = common;
        }
        did = did
            | match (&to.constant, from.constant) {
                (None, None) => DidMerge(false, false),
                (Some(_), None) => DidMerge(false, true),
                (None, constant) => {
                    to.constant = constant;
                    DidMerge(true, false)
                }
                (Some(a), Some(b)) => {
                    if *a != b && self.contradiction.is_none() {
                        self.contradiction = Some((a.clone(), b));
                    }
                    DidMerge(false, false)
                }
            };
        let dtype = strongest(to.dtype, from.dtype);
        did = did | DidMerge(dtype != to.dtype, dtype != from.dtype);
        to.dtype = dtype;
        to.n_narrowings = to.n_narrowings.max(from.n_narrowings);
        did = did
            | if to.n_narrowings < MAX_NARROWINGS {
                let narrowed = to.range.intersect(from.range);
                to.n_narrowings += u8::from(narrowed.0);
                narrowed
            } else {
                DidMerge(false, to.range != from.range)
            };
        did = did | DidMerge(from.nonzero && !to.nonzero, to.nonzero && !from.nonzero);
        to.nonzero |= from.nonzero;
        did = did | to.region.merge(from.region);
        self.has_zeros |= to.is_zero();
        did
    }

    fn modify(graph: &mut Graph, id: Id) {
        if let Some(constant) = graph[id].data.constant.clone() {
            let kind = Kind::of(graph[id].data.dtype);
            let number = graph.add(Node::Number(constant, kind));
            if let Some(log) = &mut graph.analysis.log {
                log.folded(id, number);
            }
            graph.union(id, number);
        }
        // A sum or product of one plain child is that child.
        let same = graph[id].nodes.iter().find_map(|node| match node {
            Node::Sum { coefficients, children } if children.len() == 1 && coefficients[0].is_one() => {
                Some(children[0])
            }
            Node::Product { exponents, children } if children.len() == 1 && exponents[0] == 1 => Some(children[0]),
            Node::Op(Op::Min | Op::Max, children) if children.len() == 1 => Some(children[0]),
            _ => None,
        });
        if let Some(child) = same.filter(|&child| graph.find(child) != graph.find(id)) {
            if let Some(log) = &mut graph.analysis.log {
                log.folded(id, child);
            }
            graph.union(id, child);
        }
    }
}

/// The type of two equal values of which one may be a weak constant.
fn strongest(a: Type, b: Type) -> Type {
    match (a, b) {
        (Type::WeakInt | Type::WeakFloat, Type::WeakInt | Type::WeakFloat) => a.max(b),
        (Type::WeakInt | Type::WeakFloat, strong) | (strong, Type::WeakInt | Type::WeakFloat) => strong,
        (a, b) => a.max(b),
    }
}

fn inames(graph: &Graph, node: &Node) -> InameSet {
    let context = &graph.analysis.context;
    let of_children = |node: &Node| {
        egg::Language::children(node).iter().fold(InameSet::new(), |all, id| all.union(&graph[*id].data.inames))
    };
    match node {
        // A loop over an iname stands inside loops over those that its domain depends on.
        Node::Iname(iname) => [*iname].into_iter().chain(context.enclosing(*iname).iter()).collect(),
        Node::Access(access, _) => {
            let access = context.access(*access);
            let mut all = of_children(node).union(&access.pinned);
            for index in &access.indices {
                if let Index::Affine(affine) = index {
                    all.extend(affine.inames());
                    affine.inames().for_each(|iname| all.extend(context.enclosing(iname).iter()));
                }
            }
            all
        }
        Node::Reduce(reduction, [body]) => context.free_inames(*reduction, &graph[*body].data.inames),
        Node::Guard(guard, _) => of_children(node).union(&context.guard(*guard).0),
        _ => of_children(node),
    }
}

fn dtype(graph: &Graph, node: &Node) -> Type {
    let context = &graph.analysis.context;
    let of = |id: &Id| graph[*id].data.dtype;
    let join = |children: &[Id]| children.iter().map(of).reduce(Type::join).unwrap_or(Type::WeakInt);
    match node {
        Node::Number(_, Kind::Float) => Type::WeakFloat,
        Node::Number(value, Kind::Integer) => match value.to_int().map(i32::try_from) {
            Some(Ok(_)) => Type::WeakInt,
            _ => Type::Int64,
        },
        Node::Iname(_) => Type::Int32,
        Node::Parameter(parameter) => context.parameter_type(*parameter),
        Node::Access(access, _) => context.array_type(context.access(*access).array),
        Node::Sum { children, .. } => join(children),
        Node::Product { exponents, children } => match join(children) {
            ty if ty.is_float() || exponents.iter().all(|&exponent| exponent > 0) => ty,
            Type::WeakInt => Type::WeakFloat,
            _ => Type::Float64,
        },
        Node::Reduce(_, [body]) => of(body).join(Type::WeakInt),
        Node::Rounded(_, children) => match join(children) {
            ty if ty.is_float() => ty,
            Type::WeakInt => Type::WeakFloat,
            _ => Type::Float64,
        },
        Node::Op(op, _) if op.is_comparison() || op.is_logic() => Type::Bool,
        Node::Op(Op::If, children) => match (of(&children[1]), of(&children[2])) {
            (Type::Bool, Type::Bool) => Type::Bool,
            (a, b) => a.join(b),
        },
        Node::Op(Op::Pow, children) => match join(children) {
            ty if ty.is_float() => ty,
            _ => Type::Float64,
        },
        Node::Op(_, children) => join(children),
        Node::Call(_, children) => match join(children) {
            ty if ty.is_float() => ty,
            _ => Type::Float64,
        },
        Node::Cast(dtype, _) => (*dtype).into(),
        Node::Guard(_, [operand]) => of(operand),
    }
}

/// The exact value, where every operand is constant and the result is exact in any float arithmetic.
fn fold(graph: &Graph, node: &Node) -> Option<Rational> {
    let value = |id: &Id| graph[*id].data.constant.as_ref();
    match node {
        Node::Number(number, _) => Some(number.clone()),
        Node::Sum { coefficients, children } => {
            let mut sum = Rational::ZERO;
            for (coefficient, child) in coefficients.iter().zip(children.iter()).filter(|(c, _)| !c.is_zero()) {
                sum = sum.plus(&coefficient.times(value(child)?));
            }
            exact(sum).filter(|sum| fits(sum, dtype(graph, node)))
        }
        Node::Product { exponents, children } => {
            let mut product = Rational::ONE;
            for (exponent, child) in exponents.iter().zip(children.iter()).filter(|(e, _)| **e != 0) {
                product = product.times(&value(child)?.power(*exponent)?);
            }
            exact(product).filter(|product| fits(product, dtype(graph, node)))
        }
        Node::Reduce(reduction, [body]) => {
            let reduction = graph.analysis.context.reduction(*reduction);
            let body = value(body)?;
            match reduction.op {
                ReduceOp::Sum if body.is_zero() => Some(Rational::ZERO),
                ReduceOp::Product if body.is_one() => Some(Rational::ONE),
                _ => None,
            }
        }
        Node::Rounded(op, children) => fold_rounded(*op, &children.iter().map(value).collect::<Option<Vec<_>>>()?),
        // Validation knows the extrema of floats only as one of them, by chance: those stay unfolded.
        Node::Op(Op::Min | Op::Max, children) if children.iter().any(|id| graph[*id].data.dtype.is_float()) => None,
        Node::Op(op, children) => fold_op(*op, &children.iter().map(value).collect::<Option<Vec<_>>>()?),
        _ => None,
    }
}

/// Results that a double holds exactly; others stay unfolded, so that folding never rounds.
fn exact(value: Rational) -> Option<Rational> {
    value.to_exact_f64().is_some().then_some(value)
}

/// Whether a number is one of a type: what overflows an integer is not folded.
pub(crate) fn fits(value: &Rational, ty: Type) -> bool {
    match ty {
        Type::Int64 => value.to_int().is_some(),
        Type::Bool | Type::WeakInt | Type::Int32 => value.to_int().is_some_and(|value| i32::try_from(value).is_ok()),
        Type::WeakFloat | Type::Float32 | Type::Float64 => true,
    }
}

/// The same for an operation that is to be rounded as it is. A zero has a sign, which exact numbers lack.
fn fold_rounded(op: Op, values: &[&Rational]) -> Option<Rational> {
    let [a, b] = values else { return None };
    let value = match op {
        Op::Add => a.plus(b),
        Op::Sub => a.plus(&b.negated()),
        Op::Mul => a.times(b),
        Op::Div => a.times(&b.power(-1)?),
        _ => return None,
    };
    exact(value).filter(|value| !value.is_zero())
}

fn fold_op(op: Op, values: &[&Rational]) -> Option<Rational> {
    match op {
        Op::Min => values.iter().min().map(|&value| value.clone()),
        Op::Max => values.iter().max().map(|&value| value.clone()),
        Op::FloorDiv | Op::Mod => {
            let (a, b) = (values[0].to_int()?, values[1].to_int()?);
            let quotient = num_integer::Integer::div_floor(&a, &Some(b).filter(|&b| b != 0 && b != -1)?);
            Some(Rational::from_int(if op == Op::FloorDiv { quotient } else { a - b * quotient }))
        }
        _ => None,
    }
}

fn range(graph: &Graph, node: &Node) -> Range {
    let of = |id: Id| &graph[id].data.range;
    let nonnegative = Range { lower: Some(Rational::ZERO), upper: None };
    match node {
        Node::Number(number, _) => Range::point(number),
        Node::Sum { .. } => node
            .terms()
            .into_iter()
            .flatten()
            .map(|(coefficient, child)| of(child).scaled(coefficient))
            .reduce(|sum, term| sum.plus(&term))
            .unwrap_or_else(|| Range::point(&Rational::ZERO)),
        Node::Product { .. } => {
            let mut factors = node.factors().into_iter().flatten();
            if factors.all(|(exponent, child)| exponent % 2 == 0 || of(child).is_nonnegative()) {
                nonnegative
            } else {
                Range::default()
            }
        }
        Node::Op(Op::Min | Op::Max, _) => Range::default(),
        Node::Op(op, _) if op.is_comparison() || op.is_logic() => {
            Range { lower: Some(Rational::ZERO), upper: Some(Rational::ONE) }
        }
        Node::Reduce(reduction, [body]) => match graph.analysis.context.reduction(*reduction).op {
            ReduceOp::Sum | ReduceOp::Product if of(*body).is_nonnegative() => nonnegative,
            // Those of nothing are infinite.
            ReduceOp::Min => Range { lower: of(*body).lower.clone(), upper: None },
            ReduceOp::Max => Range { lower: None, upper: of(*body).upper.clone() },
            ReduceOp::Sum | ReduceOp::Product => Range::default(),
        },
        _ => Range::default(),
    }
}

fn nonzero(graph: &Graph, node: &Node, range: &Range) -> bool {
    match node {
        Node::Number(number, _) => !number.is_zero(),
        Node::Product { children, .. } => children.iter().all(|&child| graph[child].data.nonzero),
        Node::Sum { coefficients, children } if children.len() == 1 => {
            !coefficients[0].is_zero() && graph[children[0]].data.nonzero
        }
        _ => range.excludes_zero(),
    }
}
