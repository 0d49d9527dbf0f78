//! Expressions to nodes, with the conversions that C makes, as the machine makes them.
//!
//! Depth-first with an explicit stack, each (expression, open reductions) once for each place.

use indexmap::IndexSet;
use nestegg_ir::sequences::Sequences;
use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InameSet, Kernel, Number};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::builder::Functions;
use crate::conversions::{self, whole_literal};
use crate::demand::node::{Dim, Facts, Node, NodeId, Op, Place};
use crate::domain::Domains;
use crate::error::Error;
use crate::node::Binary;
use crate::source::Source;

/// Nodes of at most so many operations are computed wherever they are used.
const CHEAP: u8 = 3;

pub(super) struct Lowering<'a, 'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) source: &'a Source,
    pub(super) domains: &'a mut Domains<'k>,
    pub(super) sequences: &'a Sequences,
    /// For each array where it is written.
    pub(super) writes: &'a [Vec<Place>],
    pub(super) functions: Functions,
    pub(super) nodes: IndexSet<Node, FxBuildHasher>,
    pub(super) facts: Vec<Facts>,
    /// The expressions that are a node's value.
    pub(super) exprs_of: Vec<Vec<ExprId>>,
    nests: IndexSet<Vec<InameId>, FxBuildHasher>,
    values: FxHashMap<(ExprId, usize), NodeId>,
}

impl<'a, 'k> Lowering<'a, 'k> {
    pub(super) fn new(
        kernel: &'k Kernel,
        source: &'a Source,
        domains: &'a mut Domains<'k>,
        sequences: &'a Sequences,
        writes: &'a [Vec<Place>],
    ) -> Self {
        Self {
            kernel,
            source,
            domains,
            sequences,
            writes,
            functions: Functions::default(),
            nodes: IndexSet::default(),
            facts: Vec::new(),
            exprs_of: Vec::new(),
            nests: [Vec::new()].into_iter().collect(),
            values: FxHashMap::default(),
        }
    }

    pub(super) fn ty(&self, node: NodeId) -> Type {
        self.nodes[node.index()].ty
    }

    /// The nodes of expressions that are evaluated at one place.
    pub(super) fn values(&mut self, roots: &[ExprId], place: Place) -> Result<Vec<NodeId>, Error> {
        self.values.clear();
        roots.iter().map(|&root| self.value(root, place)).collect()
    }

    fn value(&mut self, root: ExprId, place: Place) -> Result<NodeId, Error> {
        let mut stack = vec![(root, 0)];
        while let Some(&(id, nest)) = stack.last() {
            if self.values.contains_key(&(id, nest)) {
                stack.pop();
                continue;
            }
            let source = self.source;
            let expr = &source.exprs[id];
            let inner = match expr {
                Expr::Reduce { inames, .. } => self.enter(nest, inames),
                _ => nest,
            };
            if source.forms[id.index()].is_none() {
                let n_before = stack.len();
                let missing = expr.children().iter().map(|&child| (child, inner));
                stack.extend(missing.filter(|key| !self.values.contains_key(key)));
                if stack.len() > n_before {
                    continue;
                }
            }
            stack.pop();
            let node = self.lower(id, nest, inner, place)?;
            self.values.insert((id, nest), node);
            if !self.exprs_of[node.index()].contains(&id) {
                self.exprs_of[node.index()].push(id);
            }
        }
        Ok(self.values[&(root, 0)])
    }

    /// The nest inside a reduction: the open reduction inames that share constraints with others.
    fn enter(&mut self, nest: usize, inames: &[InameId]) -> usize {
        let mut open = self.nests[nest].clone();
        for &iname in inames {
            if self.domains.tied(iname).len() > 1 && !open.contains(&iname) {
                open.push(iname);
            }
        }
        open.sort_unstable();
        self.nests.insert_full(open).0
    }

    fn lower(&mut self, id: ExprId, nest: usize, inner: usize, place: Place) -> Result<NodeId, Error> {
        let source = self.source;
        if let Some(form) = &source.forms[id.index()] {
            let ty = conversions::of_form(self.kernel, self.source, id);
            return self.node(Op::Form(form.clone()), ty);
        }
        let of = |lowering: &Self, child: ExprId| lowering.values[&(child, inner)];
        match &source.exprs[id] {
            Expr::Number(Number::Float(value)) => self.node(Op::Float(value.get().to_bits()), Type::WeakFloat),
            Expr::Number(Number::Int(value)) => {
                self.node(Op::Form(crate::source::Form { constant: *value, terms: Vec::new() }), Type::Int64)
            }
            Expr::Iname(_) | Expr::Parameter(_) | Expr::Formal(_) | Expr::Substitution { .. } => {
                Err(self.unsupported("a formal parameter outside its substitution rule"))
            }
            Expr::Access { array, indices } => {
                let dims = self.dims(indices, |lowering, child| of(lowering, child));
                let ty = Type::from(self.kernel[*array].dtype);
                let op = match source.written[array.index()] {
                    false => Op::Read { array: *array, dims },
                    true => Op::Load { array: *array, dims, place: self.state(*array, place) },
                };
                self.node(op, ty)
            }
            Expr::Op { op, operands } => {
                let nodes: Vec<NodeId> = operands.iter().map(|&operand| of(self, operand)).collect();
                let exponent = match source.exprs[id].children() {
                    [_, exponent] => whole_literal(&source.exprs[*exponent]),
                    _ => None,
                };
                self.operation(*op, nodes, exponent)
            }
            Expr::Call { function, arguments } => {
                let name = &self.kernel[*function];
                let joined = arguments.iter().fold(Type::WeakInt, |ty, &argument| ty.join(self.ty(of(self, argument))));
                if let ("pow", [base, exponent]) = (name.as_str(), &**arguments)
                    && let Some(exponent) = whole_literal(&source.exprs[*exponent])
                {
                    let base = of(self, *base);
                    let ty = conversions::of_call(self.ty(base));
                    let base = self.convert(base, ty)?;
                    return self.node(Op::Power(base, exponent), ty);
                }
                let ty = conversions::of_call(joined);
                let nodes: Vec<NodeId> = arguments.iter().map(|&argument| of(self, argument)).collect();
                self.call(name, 0, &nodes, ty)
            }
            Expr::Reduce { op, inames, body } => {
                let body = of(self, *body);
                let ty = self.ty(body).join(Type::WeakInt);
                let mut around = self.sequences.list[place.sequence].loops.clone();
                around.extend(self.nests[nest].iter().copied());
                let inames = self.kernel.enclosing_first(inames);
                around.retain(|iname| !inames.contains(iname));
                self.node(Op::Reduce { op: *op, inames, around, body }, ty)
            }
            Expr::Cast { dtype, operand } => {
                let operand = of(self, *operand);
                let to = Type::from(*dtype);
                // What stays as it is has another type from here on.
                if self.ty(operand) == to { Ok(operand) } else { self.node(Op::Convert(operand), to) }
            }
        }
    }

    pub(super) fn call(&mut self, name: &str, result: u64, arguments: &[NodeId], ty: Type) -> Result<NodeId, Error> {
        let mut nodes = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            nodes.push(self.convert(argument, ty)?);
        }
        let function = self.functions.position(name, nodes.len());
        self.node(Op::Call { function, result, arguments: nodes }, ty)
    }

    fn dims(&mut self, indices: &[ExprId], of: impl Fn(&Self, ExprId) -> NodeId) -> Vec<Dim> {
        let dim = |&id: &ExprId| match &self.source.forms[id.index()] {
            Some(form) => Dim::Affine(form.clone()),
            None => Dim::Computed(of(self, id)),
        };
        indices.iter().map(dim).collect()
    }

    /// The indices of what an instruction writes.
    pub(super) fn assignee(&mut self, indices: &[ExprId], place: Place) -> Result<Vec<Dim>, Error> {
        for &index in indices {
            if self.source.forms[index.index()].is_none() {
                self.value(index, place)?;
            }
        }
        Ok(self.dims(indices, |lowering, child| lowering.values[&(child, 0)]))
    }

    /// The moment whose state of the array is that at `place`, the same for all that see one state.
    fn state(&self, array: ArrayId, place: Place) -> Place {
        let sequences = self.sequences;
        let own = (place.sequence, place.item);
        let common = |write: &Place| sequences.common(place.sequence, write.sequence);
        let writes = &self.writes[array.index()];
        let sequence = writes.iter().map(common).max_by_key(|&idx| sequences.list[idx].depth).unwrap_or(0);
        let item = sequences.item_in(own, sequence).unwrap_or(0);
        let items = writes.iter().filter_map(|write| sequences.item_in((write.sequence, write.item), sequence));
        let before = items.filter(|&other| other < item).max();
        Place { sequence, item: before.map_or(0, |before| before + 1) }
    }

    fn operation(&mut self, op: nestegg_ir::Op, nodes: Vec<NodeId>, exponent: Option<i64>) -> Result<NodeId, Error> {
        use nestegg_ir::Op as Ir;
        let joined = nodes.iter().fold(Type::WeakInt, |ty, &node| ty.join(self.ty(node)));
        match op {
            Ir::Neg => {
                let node = self.convert(nodes[0], joined)?;
                return self.node(Op::Neg(node), joined);
            }
            Ir::Not => {
                let node = self.convert(nodes[0], Type::Bool)?;
                return self.node(Op::Not(node), Type::Bool);
            }
            Ir::BitNot => return self.node(Op::BitNot(nodes[0]), joined),
            Ir::If => {
                let condition = self.convert(nodes[0], Type::Bool)?;
                let ty = conversions::of_selection(self.ty(nodes[1]), self.ty(nodes[2]));
                let (a, b) = (self.convert(nodes[1], ty)?, self.convert(nodes[2], ty)?);
                return self.node(Op::Select(condition, a, b), ty);
            }
            Ir::And | Ir::Or => {
                let mut operands = Vec::with_capacity(nodes.len());
                for node in nodes {
                    operands.push(self.convert(node, Type::Bool)?);
                }
                return self.node(Op::Logic { is_or: op == Ir::Or, operands }, Type::Bool);
            }
            Ir::Min | Ir::Max => {
                let mut operands = Vec::with_capacity(nodes.len());
                for node in nodes {
                    operands.push(self.convert(node, joined)?);
                }
                return self.node(Op::Extremum { is_max: op == Ir::Max, operands }, joined);
            }
            Ir::Pow => {
                if let Some(exponent) = exponent {
                    let ty = conversions::of_power(self.ty(nodes[0]), exponent);
                    let base = self.convert(nodes[0], ty)?;
                    return self.node(Op::Power(base, exponent), ty);
                }
            }
            _ => {}
        }
        let (binary, ty) = conversions::joining(op, joined).expect("the other operators were done above");
        let mut operands = Vec::with_capacity(nodes.len());
        for node in nodes {
            operands.push(self.convert(node, ty)?);
        }
        if matches!(op, Ir::Gt | Ir::Ge) {
            operands.reverse();
        }
        let ty = if op.is_comparison() { Type::Bool } else { ty };
        let mut res = operands[0];
        for &operand in &operands[1..] {
            res = self.node(Op::Binary(binary, res, operand), ty)?;
        }
        Ok(res)
    }

    /// The node as a value of a type; the type of a node that is one already stays.
    pub(super) fn convert(&mut self, node: NodeId, to: Type) -> Result<NodeId, Error> {
        let from = self.ty(node);
        if conversions::is_same(from, to) { Ok(node) } else { self.node(Op::Convert(node), to) }
    }

    pub(super) fn node(&mut self, op: Op, ty: Type) -> Result<NodeId, Error> {
        let node = Node { op, ty };
        if let Some(idx) = self.nodes.get_index_of(&node) {
            return Ok(NodeId::new(idx));
        }
        let facts = self.facts_of(&node)?;
        let (idx, _) = self.nodes.insert_full(node);
        self.facts.push(facts);
        self.exprs_of.push(Vec::new());
        Ok(NodeId::new(idx))
    }

    fn facts_of(&mut self, node: &Node) -> Result<Facts, Error> {
        let mut deps = InameSet::new();
        let (mut cost, mut may_gap, mut is_cheap) = (1_u8, false, true);
        node.op.for_each_operand(|operand| {
            let facts = &self.facts[operand.index()];
            deps = deps.union(&facts.deps);
            cost = cost.saturating_add(facts.cost);
            may_gap |= facts.may_gap;
            is_cheap &= facts.is_cheap;
        });
        match &node.op {
            Op::Form(form) => deps.extend(form.terms.iter().map(|term| term.0)),
            Op::Read { dims, .. } | Op::Load { dims, .. } => {
                for dim in dims {
                    if let Dim::Affine(form) = dim {
                        deps.extend(form.terms.iter().map(|term| term.0));
                    }
                }
            }
            _ => {}
        }
        match &node.op {
            Op::Load { place, .. } => {
                deps.extend(self.sequences.list[place.sequence].loops.iter().copied());
                (may_gap, is_cheap) = (true, false);
            }
            Op::Binary(Binary::Div | Binary::Power, ..) | Op::Power(..) | Op::Call { .. } => {
                (may_gap, is_cheap) = (true, false);
            }
            Op::Convert(operand) if self.ty(*operand).is_float() && !node.ty.is_float() => may_gap = true,
            Op::Select(..) | Op::Logic { .. } | Op::Extremum { .. } => is_cheap = false,
            Op::Reduce { inames, around, .. } => {
                is_cheap = false;
                let mut open = around.clone();
                for &iname in inames {
                    deps.extend(self.domains.bounds(iname, &open)?.depends_on.iter().copied());
                    open.push(iname);
                }
                inames.iter().for_each(|&iname| {
                    deps.remove(iname);
                });
            }
            _ => {}
        }
        Ok(Facts { deps, is_cheap: is_cheap && cost <= CHEAP, cost, may_gap })
    }

    pub(super) fn unsupported(&self, reason: &str) -> Error {
        Error::Unsupported { instruction: self.kernel.name.clone(), reason: reason.to_owned() }
    }
}
