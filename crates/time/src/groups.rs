//! Straight-line code in vectors: stores to consecutive elements that compilers do together, with the operations before them.
//!
//! # Input
//! The stores of each loop's straight-line code, with their values, and scalars that are assigned once.
//! # Output
//! For each loop the operations that vectors save, the shuffles that they need, and the accesses that are parts of vectors.
//! # Method
//! Runs of consecutive stores are cut into vectors, from their values down: where all lanes do the same operation, it is one
//! for all of them; where all are the same value, it is spread out; consecutive elements are one load, and so are
//! numbers that differ. Other values are put together lane by lane. Terms that some lanes add and others subtract are computed both ways and blended. A scalar operation is
//! saved if nothing but vectors needs its value. A group of stores that saves nothing stays as it is.
//! # Complexity
//! For each group at most [`MAX_LANES`] tuples of lanes, to a depth of [`MAX_DEPTH`]; a sort of the stores.
//! # Source
//! Larsen and Amarasinghe, "Exploiting superword level parallelism with multimedia instruction sets", PLDI 2000.

use std::collections::BTreeMap;

use nestegg_ir::affine::Affine;
use nestegg_ir::{ArrayId, Expr, ExprId, Kernel, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// How far from a store compilers look.
const MAX_DEPTH: usize = 8;

/// So many tuples of lanes are looked at for a group; further ones are put together lane by lane.
const MAX_LANES: usize = 1000;

/// Products of more factors are none that lanes are compared by.
const MAX_FACTORS: usize = 32;

/// So many scalars in a row may be names of one value.
const MAX_NAMES: usize = 32;

/// A store of straight-line code.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// The loop that it is in.
    pub(crate) at: usize,
    pub(crate) array: ArrayId,
    /// Its place, in elements.
    pub(crate) position: Affine,
    /// What is stored.
    pub(crate) value: ExprId,
}

/// What the vectors in the straight-line code of a loop change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    /// Operations less, if positive.
    pub(crate) arithmetic: f64,
    /// Shuffles more.
    pub(crate) moved: f64,
    /// Elements stored by vectors of so many lanes.
    pub(crate) stores: Vec<(ArrayId, Affine, f64)>,
    /// Elements loaded by them.
    pub(crate) loads: Vec<(ArrayId, Affine, f64)>,
    /// Vectors of numbers that they load.
    pub(crate) numbers: f64,
    /// Vectors that are ready before the first of them is stored, for each run of consecutive stores.
    pub(crate) at_once: Vec<f64>,
}

/// What groups are made of.
pub(crate) struct Blocks<'a> {
    pub(crate) kernel: &'a Kernel,
    /// Scalars that are assigned once: the loop, and the value.
    pub(crate) definitions: FxHashMap<ArrayId, (usize, ExprId)>,
    /// In the order in which they run.
    pub(crate) stores: Vec<Stored>,
    /// Values that something else needs.
    pub(crate) roots: Vec<ExprId>,
    /// The position of an element in its array.
    pub(crate) positions: &'a dyn Fn(ArrayId, &[ExprId]) -> Option<Affine>,
    /// Lanes of a vector of an array's elements.
    pub(crate) lanes: &'a dyn Fn(ArrayId) -> usize,
    pub(crate) fuses: bool,
}

/// A sum or product, in the form in which lanes are compared.
enum Node {
    Number,
    Load(ArrayId, Affine),
    /// Terms, and whether each is subtracted.
    Sum(Vec<(bool, ExprId)>),
    /// Factors and divisors; whether a number is among the factors.
    Product {
        factors: Vec<ExprId>,
        divisors: Vec<ExprId>,
        has_number: bool,
    },
    Other,
}

/// Stores that may become a vector.
struct Group<'a> {
    stores: Vec<&'a Stored>,
    /// Which run of consecutive stores they are in.
    run: usize,
    plan: Plan,
}

/// What one group does.
#[derive(Clone, Debug, Default)]
struct Plan {
    vector: f64,
    moved: f64,
    /// Values that vectors compute, with the operations of each.
    computed: Vec<(ExprId, f64)>,
    /// Values that lanes are made of.
    scalar: Vec<ExprId>,
    spread: Vec<ExprId>,
    loads: Vec<(ArrayId, Affine, f64)>,
    /// Vectors of numbers that differ.
    numbers: f64,
}

impl Plan {
    fn add(&mut self, other: Self) {
        self.vector += other.vector;
        self.moved += other.moved;
        self.numbers += other.numbers;
        self.computed.extend(other.computed);
        self.scalar.extend(other.scalar);
        self.spread.extend(other.spread);
        self.loads.extend(other.loads);
    }
}

impl Blocks<'_> {
    /// What vectors save in each loop that has some.
    pub(crate) fn saved(&self) -> BTreeMap<usize, Saved> {
        let mut times: FxHashMap<(usize, ArrayId, i64, Affine), usize> = FxHashMap::default();
        let key = |store: &Stored| {
            let Affine { constant, terms } = store.position.clone();
            (store.at, store.array, constant, Affine { constant: 0, terms })
        };
        self.stores.iter().for_each(|store| *times.entry(key(store)).or_default() += 1);
        let once = |store: &Stored| times.get(&key(store)) == Some(&1);
        let mut sorted: Vec<&Stored> = self.stores.iter().filter(|store| once(store)).collect();
        let order = |store: &Stored| (store.at, store.array, store.position.terms.clone(), store.position.constant);
        sorted.sort_by_cached_key(|store| order(store));
        let follows = |a: &Stored, b: &Stored| {
            let (x, y) = (order(a), order(b));
            (x.0, x.1) == (y.0, y.1) && x.2 == y.2 && x.3 + 1 == y.3
        };
        let mut plans: Vec<Group<'_>> = Vec::new();
        for (run, stores) in sorted.chunk_by(|a, b| follows(a, b)).enumerate() {
            let mut rest = stores;
            while let Some(first) = rest.first() {
                let mut n = (self.lanes)(first.array).min(rest.len());
                n = if n == 0 { 1 } else { 1 << n.ilog2() };
                if n < 2 {
                    break;
                }
                let (group, others) = rest.split_at(n);
                let mut left = MAX_LANES;
                let values: Vec<ExprId> = group.iter().map(|store| store.value).collect();
                let plan = self.plan(&values, group[0].at, (0, &mut left));
                plans.push(Group { stores: group.to_vec(), run, plan });
                rest = others;
            }
        }
        self.worth(plans)
    }

    /// Drops groups that save nothing, and counts what the others save.
    fn worth(&self, mut plans: Vec<Group<'_>>) -> BTreeMap<usize, Saved> {
        // What one group needs as a scalar, no other saves: dropping one may change the others, once.
        for _ in 0..2 {
            let needed = self.needed(&plans);
            plans.retain(|Group { stores, plan, .. }| {
                let saved: f64 = plan.computed.iter().filter(|(id, _)| !needed.contains(id)).map(|one| one.1).sum();
                saved + stores.len() as f64 - 1.0 >= plan.vector + plan.moved
            });
        }
        let needed = self.needed(&plans);
        let mut res: BTreeMap<usize, Saved> = BTreeMap::new();
        let (mut seen, mut spread) = (FxHashSet::default(), FxHashSet::default());
        let mut last_run = None;
        for Group { stores, run, plan } in plans {
            let saved = res.entry(stores[0].at).or_default();
            match saved.at_once.last_mut().filter(|_| last_run == Some(run)) {
                Some(n) => *n += 1.0,
                None => saved.at_once.push(1.0),
            }
            last_run = Some(run);
            saved.numbers += plan.numbers;
            for (id, operations) in plan.computed {
                if !needed.contains(&id) && seen.insert(id) {
                    saved.arithmetic += operations;
                }
            }
            saved.arithmetic -= plan.vector;
            saved.moved += plan.moved + plan.spread.into_iter().filter(|id| spread.insert(*id)).count() as f64;
            let lanes = stores.len() as f64;
            saved.stores.extend(stores.iter().map(|store| (store.array, store.position.clone(), lanes)));
            saved.loads.extend(plan.loads);
        }
        res
    }

    /// All that is computed as scalars: what groups are made of, other stores, and what else is needed.
    fn needed(&self, plans: &[Group<'_>]) -> FxHashSet<ExprId> {
        let grouped: FxHashSet<*const Stored> =
            plans.iter().flat_map(|group| group.stores.iter().map(|store| std::ptr::from_ref(*store))).collect();
        let others = self.stores.iter().filter(|store| !grouped.contains(&std::ptr::from_ref(*store)));
        let mut pending: Vec<ExprId> = self.roots.clone();
        pending.extend(others.map(|store| store.value));
        pending.extend(plans.iter().flat_map(|group| group.plan.scalar.iter().chain(&group.plan.spread).copied()));
        let mut seen = FxHashSet::default();
        while let Some(id) = pending.pop() {
            if seen.insert(id) {
                let expr = &self.kernel.exprs[id];
                pending.extend(expr.children());
                if let Expr::Access { array, .. } = expr
                    && let Some((_, value)) = self.definitions.get(array)
                {
                    pending.push(*value);
                }
            }
        }
        seen
    }

    /// The value that a scalar is assigned in the same loop, and whether it is negated.
    fn resolve(&self, mut id: ExprId, at: usize) -> (bool, ExprId) {
        let mut is_negative = false;
        for _ in 0..MAX_NAMES {
            match &self.kernel.exprs[id] {
                Expr::Op { op: Op::Neg, operands } => {
                    is_negative = !is_negative;
                    id = operands[0];
                }
                Expr::Access { array, indices } if indices.is_empty() => match self.definitions.get(array) {
                    Some((defined, value)) if *defined == at => id = *value,
                    _ => return (is_negative, id),
                },
                _ => return (is_negative, id),
            }
        }
        (is_negative, id)
    }

    fn is_number(&self, id: ExprId) -> bool {
        match &self.kernel.exprs[id] {
            Expr::Number(_) => true,
            Expr::Access { array, indices } => indices.is_empty() && self.kernel[*array].table().is_some(),
            _ => false,
        }
    }

    /// The operands of nested `op` and of its inverse, each with whether it is inverted. Signs of factors are dropped.
    fn taken_apart(&self, root: ExprId, op: Op, inverse: Op) -> Vec<(bool, ExprId)> {
        let mut res = Vec::new();
        let mut pending = vec![(false, root)];
        while let Some((is_inverted, id)) = pending.pop() {
            match &self.kernel.exprs[id] {
                Expr::Op { op: own, operands } if *own == op => {
                    pending.extend(operands.iter().rev().map(|operand| (is_inverted, *operand)));
                }
                Expr::Op { op: own, operands } if *own == inverse => {
                    pending.push((!is_inverted, operands[1]));
                    pending.push((is_inverted, operands[0]));
                }
                Expr::Op { op: Op::Neg, operands } => {
                    pending.push((is_inverted != (op == Op::Add), operands[0]));
                }
                _ => res.push((is_inverted, id)),
            }
        }
        res
    }

    fn node(&self, id: ExprId) -> Node {
        if self.is_number(id) {
            return Node::Number;
        }
        match &self.kernel.exprs[id] {
            Expr::Access { array, indices } if !indices.is_empty() => {
                (self.positions)(*array, indices).map_or(Node::Other, |position| Node::Load(*array, position))
            }
            Expr::Op { op: Op::Add | Op::Sub, .. } => Node::Sum(self.taken_apart(id, Op::Add, Op::Sub)),
            Expr::Op { op: Op::Mul | Op::Div, .. } => {
                let (mut factors, mut divisors, mut has_number) = (Vec::new(), Vec::new(), false);
                for (is_divisor, id) in self.taken_apart(id, Op::Mul, Op::Div) {
                    match is_divisor {
                        _ if self.is_number(id) => has_number = true,
                        true => divisors.push(id),
                        false => factors.push(id),
                    }
                }
                Node::Product { factors, divisors, has_number }
            }
            _ => Node::Other,
        }
    }

    /// How the lanes of a vector are computed: at which depth, and how many more tuples of lanes may be looked at.
    fn plan(&self, lanes: &[ExprId], at: usize, (depth, left): (usize, &mut usize)) -> Plan {
        let n = lanes.len() as f64;
        let resolved: Vec<(bool, ExprId)> = lanes.iter().map(|&lane| self.resolve(lane, at)).collect();
        if resolved.iter().all(|lane| *lane == resolved[0]) {
            let spread = if self.is_number(resolved[0].1) { Vec::new() } else { vec![lanes[0]] };
            return Plan { spread, ..Plan::default() };
        }
        let apart = || Plan { moved: n - 1.0, scalar: lanes.to_vec(), ..Plan::default() };
        if depth == MAX_DEPTH || *left == 0 {
            return apart();
        }
        *left -= 1;
        let nodes: Vec<Node> = resolved.iter().map(|(_, id)| self.node(*id)).collect();
        let is_one_sign = resolved.iter().all(|(is_negative, _)| *is_negative == resolved[0].0);
        let plan = match &nodes[0] {
            Node::Number => {
                nodes.iter().all(|node| matches!(node, Node::Number)).then(|| Plan { numbers: 1.0, ..Plan::default() })
            }
            Node::Load(..) if is_one_sign => self.load(&nodes),
            Node::Sum(_) if is_one_sign => self.sum(&resolved, &nodes, at, (depth, left)),
            Node::Product { .. } => self.product(&resolved, &nodes, is_one_sign, at, (depth, left)),
            _ => None,
        };
        plan.unwrap_or_else(apart)
    }

    fn load(&self, nodes: &[Node]) -> Option<Plan> {
        let mut loads = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Node::Load(array, position) = node else { return None };
            loads.push((*array, position.clone(), nodes.len() as f64));
        }
        let follows = |pair: &[(ArrayId, Affine, f64)]| {
            pair[0].0 == pair[1].0 && pair[0].1.terms == pair[1].1.terms && pair[0].1.constant + 1 == pair[1].1.constant
        };
        loads.windows(2).all(follows).then(|| Plan { loads, ..Plan::default() })
    }

    /// Sums of as many terms, which are paired by what they are.
    fn sum(
        &self,
        resolved: &[(bool, ExprId)],
        nodes: &[Node],
        at: usize,
        (depth, left): (usize, &mut usize),
    ) -> Option<Plan> {
        let mut columns: Vec<Vec<ExprId>> = Vec::new();
        let mut signs: Vec<bool> = Vec::new();
        // Of products with a number, by column: whether the first lane adds it, and whether another lane does not.
        let mut of_numbers: Vec<Option<(bool, bool)>> = Vec::new();
        let mut n_fused = 0.0;
        let mut computed = Vec::with_capacity(nodes.len());
        for (lane, node) in nodes.iter().enumerate() {
            let Node::Sum(terms) = node else { return None };
            // Of a product with a number: whether it is subtracted.
            let mut keyed: Vec<(u8, bool, ExprId, Option<bool>)> = terms
                .iter()
                .map(|&(is_negative, id)| {
                    let (is_flipped, value) = self.resolve(id, at);
                    let is_subtracted = is_negative != is_flipped;
                    match self.node(value) {
                        Node::Load(..) => (0, is_negative, id, None),
                        Node::Product { has_number: true, .. } => {
                            (1, false, id, Some(is_subtracted != self.is_negative(value)))
                        }
                        Node::Product { .. } => (2, is_subtracted, id, None),
                        Node::Sum(_) => (3, is_subtracted, id, None),
                        Node::Number => (4, false, id, None),
                        Node::Other => (5, is_subtracted, id, None),
                    }
                })
                .collect();
            keyed.sort_by_key(|term| (term.0, term.1));
            let of_products = terms.iter().skip(1).filter(|(_, id)| self.is_product(*id)).count() as f64;
            let fused = if self.fuses { of_products } else { 0.0 };
            computed.push((resolved[lane].1, (terms.len() as f64 - 1.0 - fused).max(0.0)));
            if lane == 0 {
                of_numbers = keyed.iter().map(|term| term.3.map(|first| (first, false))).collect();
                columns = keyed.iter().map(|term| vec![term.2]).collect();
                signs = keyed.iter().map(|term| term.1).collect();
                n_fused =
                    if self.fuses { keyed.iter().filter(|term| matches!(term.0, 1 | 2)).count() as f64 } else { 0.0 };
                continue;
            }
            if keyed.len() != columns.len() || keyed.iter().zip(&signs).any(|(term, sign)| term.1 != *sign) {
                return None;
            }
            columns.iter_mut().zip(&keyed).for_each(|(column, term)| column.push(term.2));
            for (known, term) in of_numbers.iter_mut().zip(&keyed) {
                if let (Some((first, is_mixed)), Some(found)) = (known, term.3) {
                    *is_mixed |= *first != found;
                }
            }
        }
        // What some lanes add and others subtract is done both ways, and the right lanes are taken: compilers do not give the sign to the number.
        let n_mixed = of_numbers.iter().flatten().filter(|(_, is_mixed)| *is_mixed).count() as f64;
        let vector = (columns.len() as f64 - 1.0 - n_fused.min(columns.len() as f64 - 1.0)).max(0.0) + n_mixed;
        let mut res = Plan { vector, moved: n_mixed, computed, ..Plan::default() };
        columns.iter().for_each(|column| res.add(self.plan(column, at, (depth + 1, &mut *left))));
        Some(res)
    }

    /// Whether the signs and numbers in a product make it negative.
    fn is_negative(&self, root: ExprId) -> bool {
        let mut res = false;
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            match &self.kernel.exprs[id] {
                Expr::Op { op: Op::Mul | Op::Div, operands } => pending.extend(operands),
                Expr::Op { op: Op::Neg, operands } => {
                    res = !res;
                    pending.push(operands[0]);
                }
                Expr::Number(number) if number.to_f64() < 0.0 => res = !res,
                _ => {}
            }
        }
        res
    }

    fn is_product(&self, id: ExprId) -> bool {
        matches!(&self.kernel.exprs[id], Expr::Op { op: Op::Mul, .. })
    }

    /// Products: a factor that all lanes share is broadcast, each lane's numbers and signs become one factor, and the other factors are paired up.
    fn product(
        &self,
        resolved: &[(bool, ExprId)],
        nodes: &[Node],
        is_one_sign: bool,
        at: usize,
        (depth, left): (usize, &mut usize),
    ) -> Option<Plan> {
        let mut all: Vec<(Vec<ExprId>, &[ExprId])> = Vec::with_capacity(nodes.len());
        let (mut has_any_number, mut have_all_numbers) = (false, true);
        let mut computed = Vec::with_capacity(nodes.len());
        for (lane, node) in nodes.iter().enumerate() {
            let Node::Product { factors, divisors, has_number } = node else { return None };
            if factors.len() > MAX_FACTORS {
                return None;
            }
            has_any_number |= has_number;
            have_all_numbers &= has_number;
            let n = factors.len() + usize::from(*has_number) + divisors.len();
            computed.push((resolved[lane].1, (n as f64 - 1.0).max(0.0)));
            all.push((factors.clone(), divisors));
        }
        if !is_one_sign && !has_any_number || all.iter().any(|(_, divisors)| *divisors != all[0].1) {
            return None;
        }
        let shared: Vec<ExprId> =
            all[0].0.iter().copied().filter(|factor| all.iter().all(|(factors, _)| factors.contains(factor))).collect();
        let mut n_columns = None;
        for (factors, _) in &mut all {
            for factor in &shared {
                if let Some(place) = factors.iter().position(|one| one == factor) {
                    factors.remove(place);
                }
            }
            if *n_columns.get_or_insert(factors.len()) != factors.len() {
                return None;
            }
        }
        let n_columns = n_columns.unwrap_or(0);
        let has_spread = !shared.is_empty() || !all[0].1.is_empty() || have_all_numbers || has_any_number;
        let n_parts = n_columns + usize::from(has_spread);
        let numbers = f64::from(u8::from(has_any_number));
        let mut res = Plan { vector: (n_parts as f64 - 1.0).max(0.0), computed, numbers, ..Plan::default() };
        res.spread.extend(shared.iter().chain(all[0].1));
        for column in 0..n_columns {
            let lanes: Vec<ExprId> = all.iter().map(|(factors, _)| factors[column]).collect();
            res.add(self.plan(&lanes, at, (depth + 1, &mut *left)));
        }
        Some(res)
    }
}
