//! Anti-unification: one expression for a family of expressions that differ in numbers.
//!
//! # Input
//! The members' expressions.
//! # Output
//! A [`Family`]: nodes that all members have in common, and in them *holes*, where each member has a number, an index or a table of its own. A term that some
//! members lack is multiplied by a number that is 0 for them; what else it holds is theirs to choose (`None`).
//! # Method
//! Tuples of expressions, one from each member, are split into tuples of their operands, each once. Operands pair up by position where their skeletons agree, and by
//! skeleton otherwise; sums and products of floats are taken apart into terms and factors for that.
//! # Complexity
//! Linear in the tuples, of which the DAGs of the members have as many as the largest of them has expressions; [`MAX_ENTRIES`] limits them.
//! Source: Plotkin, "A note on inductive generalization", Machine Intelligence 5, 1970.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::types::{Type, Types};
use nestegg_ir::walk::terms;
use nestegg_ir::{ArrayId, Expr, ExprId, Float, Kernel, Number, Op};
use rustc_hash::FxHashMap;

use super::skeleton::Skeletons;
use crate::table_pool::TablePool;

/// A family is given up if its tuples have more entries.
pub(super) const MAX_ENTRIES: usize = 1 << 20;

/// Sums and products are taken apart into so many operands at most.
const MAX_OPERANDS: usize = 256;

/// All terms together are at most so many times those that a member has on average: of four, three may be missing.
const MAX_TERMS: usize = 4;

/// An expression of each member; `None` where it may be any.
pub(super) type Tuple = Box<[Option<ExprId>]>;

/// An index of an access.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// The same for all.
    Fixed(ExprId),
    /// Affine functions that differ in their constants.
    Affine(Affine, Vec<Option<i64>>),
}

/// A term: numbers times nodes.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) coefficients: Vec<Option<Float>>,
    pub(super) factors: Vec<usize>,
}

/// Terms with their signs.
type Terms = Vec<(f64, ExprId)>;

/// What members have in common.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// The same expression.
    Same(ExprId),
    /// A float of each.
    Literals(Vec<Option<Float>>),
    /// An integer of each.
    Integers(Vec<Option<i64>>),
    /// An element of an array of each.
    Access(Vec<Option<ArrayId>>, Vec<Index>),
    /// An operation like this one on nodes.
    Like(ExprId, Vec<usize>),
    /// A sum of terms.
    Sum(Vec<Term>),
}

/// Nodes, operands first.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) nodes: Vec<Node>,
}

/// A node whose operands are tuples still; it holds their positions.
struct Open {
    tuple: Tuple,
    node: Node,
    operands: Vec<Tuple>,
    next: usize,
}

/// Looks for what the members of families have in common.
pub(super) struct Unifier<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) types: &'a Types,
    pub(super) skeletons: &'a Skeletons,
    pub(super) tables: &'a TablePool,
}

impl Unifier<'_> {
    /// A family of these members, and the nodes of its roots; `None` if they differ in more than numbers.
    pub(super) fn family(&self, roots: &[Tuple]) -> Option<(Family, Vec<usize>)> {
        let mut family = Family::default();
        let mut known: FxHashMap<Tuple, usize> = FxHashMap::default();
        let mut n_entries = 0;
        for root in roots {
            let mut open = Vec::new();
            if !known.contains_key(root) {
                open.push(self.opened(root.clone())?);
            }
            while let Some(mut top) = open.pop() {
                let missing = top.operands[top.next..].iter().position(|operand| !known.contains_key(operand));
                if let Some(missing) = missing {
                    top.next += missing;
                    let operand = top.operands[top.next].clone();
                    n_entries += operand.len();
                    if n_entries > MAX_ENTRIES {
                        return None;
                    }
                    open.push(top);
                    open.push(self.opened(operand)?);
                    continue;
                }
                let at = |place: usize| known[&top.operands[place]];
                let node = match top.node {
                    Node::Like(first, operands) => Node::Like(first, operands.into_iter().map(at).collect()),
                    Node::Sum(terms) => Node::Sum(
                        terms
                            .into_iter()
                            .map(|term| Term { factors: term.factors.into_iter().map(at).collect(), ..term })
                            .collect(),
                    ),
                    node => node,
                };
                family.nodes.push(node);
                known.insert(top.tuple, family.nodes.len() - 1);
            }
        }
        let roots = roots.iter().map(|root| known[root]).collect();
        Some((family, roots))
    }

    fn opened(&self, tuple: Tuple) -> Option<Open> {
        let (node, operands) = self.split(&tuple)?;
        Some(Open { tuple, node, operands, next: 0 })
    }

    /// The top of a tuple, and the tuples below it.
    fn split(&self, tuple: &Tuple) -> Option<(Node, Vec<Tuple>)> {
        let exprs = &self.kernel.exprs;
        let all = || tuple.iter().flatten().copied();
        let first = all().next()?;
        if all().all(|id| id == first) {
            return Some((Node::Same(first), Vec::new()));
        }
        let float = |id: ExprId| if let Expr::Number(Number::Float(value)) = exprs[id] { Some(value) } else { None };
        let integer = |id: ExprId| if let Expr::Number(Number::Int(value)) = exprs[id] { Some(value) } else { None };
        if all().all(|id| float(id).is_some()) {
            return Some((Node::Literals(tuple.iter().map(|id| id.and_then(float)).collect()), Vec::new()));
        }
        if all().all(|id| integer(id).is_some()) {
            return Some((Node::Integers(tuple.iter().map(|id| id.and_then(integer)).collect()), Vec::new()));
        }
        if all().all(|id| matches!(exprs[id], Expr::Access { .. })) {
            return Some((self.access(tuple)?, Vec::new()));
        }
        let is_alike = all().all(|id| is_alike(&exprs[first], &exprs[id]));
        let operands = || -> Vec<Tuple> {
            let of = |at: usize| tuple.iter().map(|id| id.map(|id| exprs[id].children()[at])).collect();
            (0..exprs[first].children().len()).map(of).collect()
        };
        let like = |operands: Vec<Tuple>| Some((Node::Like(first, (0..operands.len()).collect()), operands));
        let is_ordered = !matches!(exprs[first], Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Neg, .. });
        if is_alike {
            let operands = operands();
            let agrees = |operand: &Tuple| {
                let mut skeletons = operand.iter().flatten().map(|&id| self.skeletons.of(id));
                let first = skeletons.next();
                skeletons.all(|other| Some(other) == first)
            };
            if is_ordered || operands.iter().all(agrees) {
                return like(operands);
            }
        }
        if !all().all(|id| matches!(self.types.of(id), Type::Float64 | Type::WeakFloat)) {
            return None;
        }
        if all().any(|id| matches!(exprs[id], Expr::Op { op: Op::Add | Op::Sub, .. })) {
            return self.sum(tuple);
        }
        let column: Vec<Option<(f64, ExprId)>> = tuple.iter().map(|id| id.map(|id| (1.0, id))).collect();
        let mut taken = Vec::new();
        match self.term(&column, &mut taken) {
            // A factor that is all of its member is split no further.
            Some(term) if taken.first() != Some(tuple) => Some((Node::Sum(vec![term]), taken)),
            None if is_alike => like(operands()),
            _ => None,
        }
    }

    fn access(&self, tuple: &Tuple) -> Option<Node> {
        let exprs = &self.kernel.exprs;
        let parts: Vec<Option<(ArrayId, &[ExprId])>> = tuple
            .iter()
            .map(|id| match id.map(|id| &exprs[id]) {
                Some(Expr::Access { array, indices }) => Some((*array, &**indices)),
                _ => None,
            })
            .collect();
        let (first, indices) = *parts.iter().flatten().next()?;
        let shape = |array: ArrayId| self.tables.contents(array).map(|contents| (contents.dtype, &contents.shape));
        let is_like = |&(array, _): &(ArrayId, &[ExprId])| {
            array == first || shape(first).is_some() && shape(array) == shape(first)
        };
        if !parts.iter().flatten().all(is_like) {
            return None;
        }
        let mut all = Vec::with_capacity(indices.len());
        for (at, &index) in indices.iter().enumerate() {
            if parts.iter().flatten().all(|(_, indices)| indices[at] == index) {
                all.push(match affine::of(exprs, index) {
                    Some(affine) => with_constants(affine, parts.len()),
                    None => Index::Fixed(index),
                });
                continue;
            }
            let mut terms: Option<Affine> = None;
            let mut constants = Vec::with_capacity(parts.len());
            for part in &parts {
                let Some((_, indices)) = part else {
                    constants.push(None);
                    continue;
                };
                let mut affine = affine::of(exprs, indices[at])?;
                constants.push(Some(std::mem::take(&mut affine.constant)));
                if terms.get_or_insert_with(|| affine.clone()) != &affine {
                    return None;
                }
            }
            all.push(Index::Affine(terms?, constants));
        }
        let arrays = parts.iter().map(|part| part.map(|(array, _)| array)).collect();
        Some(Node::Access(arrays, all))
    }

    /// A tuple some of whose members are sums, term by term.
    fn sum(&self, tuple: &Tuple) -> Option<(Node, Vec<Tuple>)> {
        let exprs = &self.kernel.exprs;
        let mut classes: Vec<Vec<Terms>> = Vec::new();
        let mut class_of: FxHashMap<u64, usize> = FxHashMap::default();
        let (mut n_terms, mut n_members) = (0, 0);
        for (member, id) in tuple.iter().enumerate() {
            let Some(id) = id else { continue };
            n_members += 1;
            for (term, sign) in terms(exprs, *id, MAX_OPERANDS)? {
                let skeleton = self.skeletons.of(term);
                let class = *class_of.entry(skeleton).or_insert_with(|| {
                    classes.push(vec![Vec::new(); tuple.len()]);
                    classes.len() - 1
                });
                classes[class][member].push((sign, term));
                n_terms += 1;
            }
        }
        let mut columns = Vec::new();
        for of_members in classes {
            columns.extend(columns_of(tuple, of_members));
        }
        if columns.len() * n_members > n_terms * MAX_TERMS {
            return None;
        }
        let mut operands = Vec::new();
        let terms: Option<Vec<Term>> = columns.iter().map(|column| self.term(column, &mut operands)).collect();
        Some((Node::Sum(terms?), operands))
    }

    /// Members' products, factor by factor; the tuples of factors are added to the operands.
    fn term(&self, column: &[Option<(f64, ExprId)>], operands: &mut Vec<Tuple>) -> Option<Term> {
        let mut coefficients = Vec::with_capacity(column.len());
        let mut products: Vec<Option<Vec<ExprId>>> = Vec::with_capacity(column.len());
        for entry in column {
            let Some((sign, id)) = *entry else {
                coefficients.push(Float::new(0.0));
                products.push(None);
                continue;
            };
            let (coefficient, mut factors) = self.factors(id)?;
            coefficients.push(Some(Float::new(sign * coefficient)?));
            factors.sort_by_key(|&factor| self.skeletons.of(factor));
            // What is multiplied by zero may be anything.
            products.push(if coefficient == 0.0 { None } else { Some(factors) });
        }
        let n_factors = products.iter().flatten().next().map_or(0, Vec::len);
        if products.iter().flatten().any(|product| product.len() != n_factors) {
            return None;
        }
        // Only a single factor may have another skeleton: what it is made of may still agree.
        let slots: Vec<Tuple> = (0..n_factors)
            .map(|at| products.iter().map(|product| product.as_ref().map(|product| product[at])).collect())
            .collect();
        let agrees = |slot: &Tuple| {
            let mut skeletons = slot.iter().flatten().map(|&id| self.skeletons.of(id));
            let first = skeletons.next();
            skeletons.all(|other| Some(other) == first)
        };
        if n_factors > 1 && !slots.iter().all(agrees) {
            return None;
        }
        let first = operands.len();
        operands.extend(slots);
        Some(Term { coefficients, factors: (first..operands.len()).collect() })
    }

    /// The factors of a product, its literals apart; `None` if the product of these is rounded.
    fn factors(&self, id: ExprId) -> Option<(f64, Vec<ExprId>)> {
        let (mut coefficient, mut res) = (1.0_f64, Vec::new());
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            match &self.kernel.exprs[id] {
                Expr::Op { op: Op::Mul, operands } => pending.extend(operands.iter().rev()),
                Expr::Op { op: Op::Neg, operands } => {
                    coefficient = -coefficient;
                    pending.push(operands[0]);
                }
                Expr::Number(number) => {
                    let value = number.to_f64();
                    let product = coefficient * value;
                    if coefficient.mul_add(value, -product) != 0.0 || product.is_subnormal() {
                        return None;
                    }
                    coefficient = product;
                }
                _ => res.push(id),
            }
            if res.len() + pending.len() > MAX_OPERANDS {
                return None;
            }
        }
        Some((coefficient, res))
    }
}

fn with_constants(mut affine: Affine, n_members: usize) -> Index {
    let constant = std::mem::take(&mut affine.constant);
    Index::Affine(affine, vec![Some(constant); n_members])
}

/// Whether two operations differ in their operands alone.
fn is_alike(a: &Expr, b: &Expr) -> bool {
    let has_same_head = match (a, b) {
        (Expr::Op { op: a, .. }, Expr::Op { op: b, .. }) => a == b,
        (Expr::Call { function: a, .. }, Expr::Call { function: b, .. }) => a == b,
        (Expr::Cast { dtype: a, .. }, Expr::Cast { dtype: b, .. }) => a == b,
        (Expr::Reduce { op: a, inames: of_a, .. }, Expr::Reduce { op: b, inames: of_b, .. }) => a == b && of_a == of_b,
        _ => false,
    };
    has_same_head && a.children().len() == b.children().len()
}

/// Terms of one skeleton, one of each member in a column: in order where all have as many, equal ones together otherwise.
fn columns_of(tuple: &Tuple, of_members: Vec<Terms>) -> Vec<Vec<Option<(f64, ExprId)>>> {
    let n_most = of_members.iter().map(Vec::len).max().unwrap_or(0);
    let is_full = |(id, terms): (&Option<ExprId>, &Vec<_>)| id.is_none() || terms.len() == n_most;
    let mut rest = of_members;
    let mut res = Vec::new();
    if !tuple.iter().zip(&rest).all(is_full) {
        let mut n_members: indexmap::IndexMap<ExprId, usize> = indexmap::IndexMap::new();
        for terms in &rest {
            terms.iter().for_each(|(_, id)| *n_members.entry(*id).or_default() += 1);
        }
        for (id, _) in n_members.into_iter().filter(|(_, n)| *n > 1) {
            let mut take = |terms: &mut Terms| {
                let at = terms.iter().position(|(_, other)| *other == id)?;
                Some(terms.remove(at))
            };
            res.push(rest.iter_mut().map(&mut take).collect());
        }
    }
    let n_left = rest.iter().map(Vec::len).max().unwrap_or(0);
    res.extend((0..n_left).map(|at| rest.iter().map(|terms| terms.get(at).copied()).collect()));
    res
}
