//! Compiles the instructions of one block to nodes.
//!
//! # Input
//! An inlined kernel, the outer inames, and instructions with their loops inside the block, in order.
//! # Output
//! A [`Block`]; or a refusal, when an instruction must see each point's stores before the next point in a way
//! that a chain of nodes cannot do: the planner then makes more loops outer ones.
//! # Method
//! Equal nodes are one node. A node's set is the union of its operands' sets; a reduction takes its inames away, and adds the
//! inames around it with which their domain is tied. Depth-first with an explicit stack, linear in the expression DAG.

use indexmap::IndexSet;
use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId, InsnId, InstructionKind, Kernel, Number};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::domain::Domains;
use crate::error::Error;
use crate::math::Math;
use crate::memory::Layout;
use crate::node::{
    Action, Address, Binary, Block, Chunk, Dep, Group, Index, Node, NodeId, Op, SCALAR, SetCode, SetId, Unary, Unit,
};
use crate::source::{Form, Source};
use crate::world::{Function, hash_text};

/// The functions that nodes call.
#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) list: Vec<Function>,
    known: FxHashMap<(String, usize), usize>,
}

impl Functions {
    pub(crate) fn position(&mut self, name: &str, n_arguments: usize) -> usize {
        *self.known.entry((name.to_owned(), n_arguments)).or_insert_with(|| {
            let math = Math::of(name, n_arguments);
            self.list.push(Function { name: name.to_owned(), math, hash: hash_text(name), has_stand_in: false });
            self.list.len() - 1
        })
    }
}

/// Why there is no block.
pub(crate) enum Refusal {
    /// Stores and reads of one instruction cannot run as a chain.
    NotABlock,
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// An instruction in a block.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) insn: InsnId,
    /// The loops of the block around it, outermost first.
    pub(crate) loops: Vec<InameId>,
    /// The conditions of the linearization inside the block.
    pub(crate) conditions: Vec<ExprId>,
    /// Its own accesses that read what it stores at other points.
    pub(crate) volatile: Vec<ExprId>,
    /// What it writes is read by later instructions of the block as a value.
    pub(crate) is_forwarded: bool,
}

/// The value of an expression: an affine integer is not a node until it must be one.
#[derive(Clone, Copy)]
enum Value {
    Affine(ExprId),
    Node(NodeId),
}

#[derive(Clone, Copy)]
struct Typed {
    ty: Type,
    value: Value,
}

/// What compilation of all blocks of a kernel shares.
pub(crate) struct Context<'a, 'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) source: &'a Source,
    pub(crate) layouts: &'a [Layout],
    pub(crate) domains: &'a mut Domains<'k>,
    pub(crate) functions: &'a mut Functions,
}

type DepsId = u32;

pub(crate) struct Builder<'c, 'a, 'k> {
    context: &'c mut Context<'a, 'k>,
    outer: &'c [InameId],
    chunked: Option<InameId>,
    /// The inames of the block; positions order the inames of sets.
    inames: IndexSet<InameId, FxBuildHasher>,
    sets: Vec<SetCode>,
    set_ids: FxHashMap<Vec<InameId>, SetId>,
    unions: FxHashMap<(SetId, SetId), SetId>,
    nodes: IndexSet<Node, FxBuildHasher>,
    deps: IndexSet<Vec<Dep>, FxBuildHasher>,
    deps_unions: FxHashMap<(DepsId, DepsId), DepsId>,
    node_deps: Vec<DepsId>,
    is_scheduled: Vec<bool>,
    /// Open reduction inames whose domains are tied to others, by number; the first is none.
    nests: IndexSet<Vec<InameId>, FxBuildHasher>,
    values: FxHashMap<(ExprId, usize), Typed>,
    forwarded: FxHashMap<ExprId, Typed>,
    versions: FxHashMap<ArrayId, u32>,
    next_version: u32,
    units: Vec<Unit>,
    n_clocks: usize,
}

impl<'c, 'a, 'k> Builder<'c, 'a, 'k> {
    pub(crate) fn new(
        context: &'c mut Context<'a, 'k>,
        outer: &'c [InameId],
        loops: &[InameId],
        chunked: Option<InameId>,
    ) -> Result<Self, Error> {
        let mut res = Self {
            context,
            outer,
            chunked,
            inames: loops.iter().copied().collect(),
            sets: Vec::new(),
            set_ids: FxHashMap::default(),
            unions: FxHashMap::default(),
            nodes: IndexSet::default(),
            deps: IndexSet::default(),
            deps_unions: FxHashMap::default(),
            node_deps: Vec::new(),
            is_scheduled: Vec::new(),
            nests: [Vec::new()].into_iter().collect(),
            values: FxHashMap::default(),
            forwarded: FxHashMap::default(),
            versions: FxHashMap::default(),
            next_version: 1,
            units: Vec::new(),
            n_clocks: 0,
        };
        res.set(Vec::new())?;
        res.deps.insert(Vec::new());
        Ok(res)
    }

    /// The largest number of points of a set, the chunked iname counted once.
    pub(crate) fn max_points(&self) -> u64 {
        let points = |set: &SetCode| {
            let lens = set.inames.iter().zip(&set.bounds);
            let lens = lens.map(|(&iname, bounds)| if Some(iname) == self.chunked { 1 } else { bounds.max_len() });
            lens.fold(1_u64, u64::saturating_mul)
        };
        self.sets.iter().map(points).max().unwrap_or(1)
    }

    pub(crate) fn finish(self, chunk: Option<Chunk>) -> Block {
        let Self { sets, nodes, units, n_clocks, .. } = self;
        Block { chunk, sets, nodes: nodes.into_iter().collect(), units, n_clocks }
    }

    // Sets and dependences.

    fn set(&mut self, mut inames: Vec<InameId>) -> Result<SetId, Error> {
        inames.sort_by_key(|iname| self.inames.get_index_of(iname));
        inames.dedup();
        if let Some(&set) = self.set_ids.get(&inames) {
            return Ok(set);
        }
        let mut open = self.outer.to_vec();
        let mut bounds = Vec::with_capacity(inames.len());
        let mut outer = Vec::new();
        for &iname in &inames {
            let of_iname = self.context.domains.bounds(iname, &open)?;
            outer.extend(of_iname.depends_on.iter().filter(|other| self.outer.contains(other)));
            bounds.push(of_iname);
            open.push(iname);
        }
        outer.sort_unstable();
        outer.dedup();
        let set = SetId::new(self.sets.len());
        let is_chunked = self.chunked.is_some_and(|chunked| inames.contains(&chunked));
        self.sets.push(SetCode { inames: inames.clone(), bounds, outer, is_chunked });
        self.set_ids.insert(inames, set);
        Ok(set)
    }

    fn union(&mut self, a: SetId, b: SetId) -> Result<SetId, Error> {
        if a == b || b.index() == SCALAR {
            return Ok(a);
        }
        if a.index() == SCALAR {
            return Ok(b);
        }
        if let Some(&set) = self.unions.get(&(a, b)) {
            return Ok(set);
        }
        let both = self.sets[a.index()].inames.iter().chain(&self.sets[b.index()].inames).copied().collect();
        let set = self.set(both)?;
        self.unions.insert((a, b), set);
        Ok(set)
    }

    fn deps_union(&mut self, a: DepsId, b: DepsId) -> DepsId {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        if let Some(&deps) = self.deps_unions.get(&(a, b)) {
            return deps;
        }
        let mut both: Vec<Dep> = self.deps[a as usize].iter().chain(&self.deps[b as usize]).copied().collect();
        both.sort_unstable();
        both.dedup();
        let deps = self.deps_id(both);
        self.deps_unions.insert((a, b), deps);
        deps
    }

    fn deps_id(&mut self, deps: Vec<Dep>) -> DepsId {
        u32::try_from(self.deps.insert_full(deps).0).expect("a block has fewer than 2^32 sets of dependences")
    }

    // Nodes.

    fn node(&mut self, op: Op, ty: Type, set: SetId) -> NodeId {
        let node = Node { op, ty, set };
        if let Some(idx) = self.nodes.get_index_of(&node) {
            return NodeId::new(idx);
        }
        let mut own: Vec<Dep> = Vec::new();
        match &node.op {
            Op::Affine { outer, .. } => own.extend(outer.iter().map(|term| Dep::Iname(term.0))),
            Op::Load { array, address, .. } => {
                if self.context.source.written[array.index()] {
                    own.push(Dep::Array(*array));
                }
                if let Address::Affine { indices, .. } = address {
                    own.extend(indices.iter().flat_map(|index| &index.outer).map(|term| Dep::Iname(term.0)));
                }
            }
            _ => {}
        }
        let code = &self.sets[set.index()];
        if code.is_chunked || !code.outer.is_empty() {
            own.push(Dep::Points(set));
        }
        own.sort_unstable();
        own.dedup();
        let mut operands = Vec::new();
        node.op.for_each_operand(|operand| operands.push(operand));
        let mut deps = self.deps_id(own);
        for operand in operands {
            deps = self.deps_union(deps, self.node_deps[operand.index()]);
        }
        let (idx, _) = self.nodes.insert_full(node);
        self.node_deps.push(deps);
        self.is_scheduled.push(false);
        NodeId::new(idx)
    }

    fn set_of(&self, node: NodeId) -> SetId {
        self.nodes[node.index()].set
    }

    fn type_of(&self, node: NodeId) -> Type {
        self.nodes[node.index()].ty
    }

    /// The node on all points of `set`; scalars and what is there already stay.
    fn expand(&mut self, node: NodeId, set: SetId) -> NodeId {
        let own = self.set_of(node);
        if own == set || own.index() == SCALAR { node } else { self.node(Op::Expand(node), self.type_of(node), set) }
    }

    /// The same, scalars too.
    fn spread(&mut self, node: NodeId, set: SetId) -> NodeId {
        if self.set_of(node) == set { node } else { self.node(Op::Expand(node), self.type_of(node), set) }
    }

    fn join_sets(&mut self, operands: &mut [NodeId]) -> Result<SetId, Error> {
        let mut set = SetId::new(SCALAR);
        for operand in operands.iter() {
            set = self.union(set, self.set_of(*operand))?;
        }
        for operand in operands.iter_mut() {
            *operand = self.expand(*operand, set);
        }
        Ok(set)
    }

    fn unary(&mut self, op: Unary, operand: NodeId, ty: Type) -> NodeId {
        self.node(Op::Unary(op, operand), ty, self.set_of(operand))
    }

    fn binary(&mut self, op: Binary, a: NodeId, b: NodeId, ty: Type) -> Result<NodeId, Error> {
        let mut operands = [a, b];
        let set = self.join_sets(&mut operands)?;
        Ok(self.node(Op::Binary(op, operands[0], operands[1]), ty, set))
    }

    fn convert(&mut self, node: NodeId, to: Type) -> NodeId {
        let from = self.type_of(node);
        let is_same = match (from, to) {
            _ if from == to => true,
            (_, Type::Float64 | Type::WeakFloat) => from.is_float(),
            (_, Type::Int64 | Type::WeakInt) => !from.is_float(),
            (_, Type::Int32) => matches!(from, Type::Bool | Type::WeakInt),
            _ => false,
        };
        if is_same {
            return node;
        }
        if let (Op::Affine { constant, outer }, true) = (&self.nodes[node.index()].op, to.is_float())
            && outer.is_empty()
            && constant.unsigned_abs() < 1 << 53
        {
            let literal = self.float(*constant as f64);
            return self.convert(literal, to);
        }
        self.unary(Unary::Convert, node, to)
    }

    fn float(&mut self, value: f64) -> NodeId {
        self.node(Op::Float(value.to_bits()), Type::WeakFloat, SetId::new(SCALAR))
    }

    fn index(&self, form: &Form, expr: ExprId) -> Result<Index, Error> {
        let (outer, inner): (Vec<(InameId, i64)>, Vec<(InameId, i64)>) =
            form.terms.iter().copied().partition(|term| self.outer.contains(&term.0));
        match inner.iter().find(|term| !self.inames.contains(&term.0)) {
            Some(term) => Err(self.unsupported(&format!(
                "iname `{}` is used outside its loop (expression {expr:?})",
                self.context.kernel[term.0].name
            ))),
            None => Ok(Index { constant: form.constant, outer, inner }),
        }
    }

    fn unsupported(&self, reason: &str) -> Error {
        Error::Unsupported { instruction: self.context.kernel.name.clone(), reason: reason.to_owned() }
    }

    fn materialise(&mut self, typed: Typed) -> Result<NodeId, Error> {
        let expr = match typed.value {
            Value::Node(node) => return Ok(node),
            Value::Affine(expr) => expr,
        };
        let source = self.context.source;
        let form = source.forms[expr.index()].as_ref().expect("an affine value has a form");
        let index = self.index(form, expr)?;
        let scalar = Op::Affine { constant: index.constant, outer: index.outer };
        let is_zero = matches!(&scalar, Op::Affine { constant: 0, outer } if outer.is_empty());
        let scalar = self.node(scalar, typed.ty, SetId::new(SCALAR));
        if index.inner.is_empty() {
            return Ok(scalar);
        }
        let set = self.set(index.inner.iter().map(|term| term.0).collect())?;
        let linear = self.node(Op::Linear(index.inner), typed.ty, set);
        if is_zero { Ok(linear) } else { self.binary(Binary::Add, linear, scalar, typed.ty) }
    }

    // Expressions.

    fn value(&mut self, root: ExprId, volatile: &[ExprId], own: SetId) -> Result<Typed, Error> {
        let mut stack = vec![(root, 0)];
        while let Some(&(id, nest)) = stack.last() {
            if self.values.contains_key(&(id, nest)) {
                stack.pop();
                continue;
            }
            let source = self.context.source;
            let expr = &source.exprs[id];
            let inner = match expr {
                Expr::Reduce { inames, .. } => self.enter(nest, inames)?,
                _ => nest,
            };
            let is_leaf = source.forms[id.index()].is_some() || self.forwarded.contains_key(&id);
            if !is_leaf {
                let n_before = stack.len();
                let missing = expr.children().iter().map(|&child| (child, inner));
                stack.extend(missing.filter(|key| !self.values.contains_key(key)));
                if stack.len() > n_before {
                    continue;
                }
            }
            stack.pop();
            let typed = self.evaluate(id, nest, inner, volatile, own)?;
            self.values.insert((id, nest), typed);
        }
        Ok(self.values[&(root, 0)])
    }

    /// The nest inside a reduction.
    fn enter(&mut self, nest: usize, inames: &[InameId]) -> Result<usize, Error> {
        let mut open = self.nests[nest].clone();
        for &iname in inames {
            if self.outer.contains(&iname) {
                let reason = format!("reduction over iname `{}` inside its loop", self.context.kernel[iname].name);
                return Err(self.unsupported(&reason));
            }
            self.inames.insert(iname);
            if self.context.domains.group(iname).len() > 1 && !open.contains(&iname) {
                open.push(iname);
            }
        }
        open.sort_unstable();
        Ok(self.nests.insert_full(open).0)
    }

    fn evaluate(
        &mut self,
        id: ExprId,
        nest: usize,
        inner: usize,
        volatile: &[ExprId],
        own: SetId,
    ) -> Result<Typed, Error> {
        if let Some(&typed) = self.forwarded.get(&id) {
            return Ok(typed);
        }
        let source = self.context.source;
        let expr = &source.exprs[id];
        let of = |builder: &Self, child: ExprId| builder.values[&(child, inner)];
        if source.forms[id.index()].is_some() {
            return Ok(Typed { ty: self.form_type(id), value: Value::Affine(id) });
        }
        let node = match expr {
            Expr::Number(Number::Float(value)) => self.float(value.get()),
            Expr::Number(Number::Int(_)) | Expr::Iname(_) | Expr::Parameter(_) => {
                unreachable!("integers and inames have forms")
            }
            Expr::Formal(_) | Expr::Substitution { .. } => {
                return Err(self.unsupported("a formal parameter outside its substitution rule"));
            }
            Expr::Access { array, indices } => {
                let is_volatile = volatile.contains(&id);
                let address = self.address(*array, indices, inner, is_volatile.then_some(own))?;
                let version = if is_volatile {
                    self.next_version += 1;
                    self.next_version
                } else {
                    self.versions.get(array).copied().unwrap_or(0)
                };
                let ty = Type::from(self.context.kernel[*array].dtype);
                self.node(Op::Load { array: *array, address: address.0, version }, ty, address.1)
            }
            Expr::Op { op, operands } => {
                let operands: Vec<Typed> = operands.iter().map(|&operand| of(self, operand)).collect();
                let exponent = match expr.children() {
                    [_, exponent] => whole_literal(&source.exprs[*exponent]),
                    _ => None,
                };
                self.operation(*op, &operands, exponent)?
            }
            Expr::Call { function, arguments } => {
                let name = &self.context.kernel[*function];
                if let ("pow", [base, exponent]) = (name.as_str(), &**arguments)
                    && let Some(exponent) = whole_literal(&source.exprs[*exponent])
                {
                    let base = of(self, *base);
                    let ty = if base.ty.is_float() { base.ty } else { Type::Float64 };
                    let node = self.materialise(base)?;
                    let node = self.convert(node, ty);
                    self.node(Op::Power(node, exponent), ty, self.set_of(node))
                } else {
                    let ty = arguments.iter().fold(Type::WeakInt, |ty, &argument| ty.join(of(self, argument).ty));
                    let ty = if ty.is_float() { ty } else { Type::Float64 };
                    let mut nodes = Vec::with_capacity(arguments.len());
                    for &argument in arguments {
                        let node = self.materialise(of(self, argument))?;
                        nodes.push(self.convert(node, ty));
                    }
                    let set = self.join_sets(&mut nodes)?;
                    let function = self.context.functions.position(name, nodes.len());
                    self.node(Op::Call { function, arguments: nodes }, ty, set)
                }
            }
            Expr::Reduce { op, inames, body } => {
                let body = of(self, *body);
                let node = self.materialise(body)?;
                self.reduction(
                    *op,
                    inames,
                    Typed { ty: body.ty.join(Type::WeakInt), value: Value::Node(node) },
                    inner,
                    own,
                )?
            }
            Expr::Cast { dtype, operand } => {
                let node = self.materialise(of(self, *operand))?;
                let to = Type::from(*dtype);
                if *dtype == Dtype::Float64 && self.type_of(node).is_float() {
                    return Ok(Typed { ty: to, value: Value::Node(node) });
                }
                let node = self.convert(node, to);
                return Ok(Typed { ty: to, value: Value::Node(node) });
            }
        };
        let _ = nest;
        Ok(self.typed(node))
    }

    fn typed(&self, node: NodeId) -> Typed {
        Typed { ty: self.type_of(node), value: Value::Node(node) }
    }

    fn form_type(&self, root: ExprId) -> Type {
        let exprs = &self.context.source.exprs;
        let mut ty = Type::WeakInt;
        let mut pending = vec![root];
        let mut seen = FxHashSet::default();
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            match &exprs[id] {
                Expr::Number(Number::Int(value)) if i32::try_from(*value).is_err() => ty = ty.join(Type::Int64),
                Expr::Iname(_) => ty = ty.join(Type::Int32),
                Expr::Parameter(parameter) => ty = ty.join(self.context.kernel[*parameter].dtype.into()),
                other => pending.extend(other.children()),
            }
        }
        ty
    }

    fn operation(&mut self, op: nestegg_ir::Op, operands: &[Typed], exponent: Option<i64>) -> Result<NodeId, Error> {
        use nestegg_ir::Op as Ir;
        let joined = operands.iter().fold(Type::WeakInt, |ty, operand| ty.join(operand.ty));
        let mut nodes = Vec::with_capacity(operands.len());
        for &operand in operands {
            nodes.push(self.materialise(operand)?);
        }
        let floated = match joined {
            ty if ty.is_float() => ty,
            Type::WeakInt => Type::WeakFloat,
            _ => Type::Float64,
        };
        let (binary, ty) = match op {
            Ir::Neg => {
                let node = self.convert(nodes[0], joined);
                return Ok(self.unary(Unary::Neg, node, joined));
            }
            Ir::Not => {
                let node = self.convert(nodes[0], Type::Bool);
                return Ok(self.unary(Unary::Not, node, Type::Bool));
            }
            Ir::BitNot => return Ok(self.unary(Unary::BitNot, nodes[0], joined)),
            Ir::If => {
                let condition = self.convert(nodes[0], Type::Bool);
                let ty = match (operands[1].ty, operands[2].ty) {
                    (Type::Bool, Type::Bool) => Type::Bool,
                    (a, b) => a.join(b),
                };
                let mut nodes = [condition, self.convert(nodes[1], ty), self.convert(nodes[2], ty)];
                let set = self.join_sets(&mut nodes)?;
                return Ok(self.node(Op::Select(nodes[0], nodes[1], nodes[2]), ty, set));
            }
            Ir::Pow => {
                if let Some(exponent) = exponent {
                    let base_ty = operands[0].ty.join(Type::WeakInt);
                    let ty = match base_ty {
                        ty if ty.is_float() || exponent >= 0 => ty,
                        Type::WeakInt => Type::WeakFloat,
                        _ => Type::Float64,
                    };
                    let base = self.convert(nodes[0], ty);
                    return Ok(self.node(Op::Power(base, exponent), ty, self.set_of(base)));
                }
                (Binary::Power, floated)
            }
            Ir::Add => (Binary::Add, joined),
            Ir::Sub => (Binary::Sub, joined),
            Ir::Mul => (Binary::Mul, joined),
            Ir::Div => (Binary::Div, floated),
            Ir::FloorDiv => (Binary::FloorDiv, joined),
            Ir::Mod => (Binary::Mod, joined),
            Ir::Min => (Binary::Min, joined),
            Ir::Max => (Binary::Max, joined),
            Ir::BitAnd => (Binary::BitAnd, joined),
            Ir::BitOr => (Binary::BitOr, joined),
            Ir::BitXor => (Binary::BitXor, joined),
            Ir::Shl => (Binary::Shl, joined),
            Ir::Shr => (Binary::Shr, joined),
            Ir::And => (Binary::And, Type::Bool),
            Ir::Or => (Binary::Or, Type::Bool),
            Ir::Lt | Ir::Gt => (Binary::Lt, joined),
            Ir::Le | Ir::Ge => (Binary::Le, joined),
            Ir::Eq => (Binary::Eq, joined),
            Ir::Ne => (Binary::Ne, joined),
        };
        for node in &mut nodes {
            *node = self.convert(*node, ty);
        }
        if matches!(op, Ir::Gt | Ir::Ge) {
            nodes.reverse();
        }
        let ty = if op.is_comparison() { Type::Bool } else { ty };
        let mut res = nodes[0];
        for &node in &nodes[1..] {
            res = self.binary(binary, res, node, ty)?;
        }
        Ok(res)
    }

    fn reduction(
        &mut self,
        op: nestegg_ir::ReduceOp,
        inames: &[InameId],
        body: Typed,
        inner: usize,
        own: SetId,
    ) -> Result<NodeId, Error> {
        let ty = body.ty;
        let body = self.materialise(body)?;
        let mut members = self.sets[self.set_of(body).index()].inames.clone();
        let is_open = |builder: &Self, iname: InameId| {
            builder.sets[own.index()].inames.contains(&iname) || builder.nests[inner].contains(&iname)
        };
        for &iname in inames {
            let tied: Vec<InameId> = self.context.domains.group(iname).to_vec();
            members.extend(tied.into_iter().filter(|&other| is_open(self, other)));
            members.push(iname);
        }
        let rest: Vec<InameId> = members.iter().copied().filter(|iname| !inames.contains(iname)).collect();
        let full = self.set(members)?;
        let set = self.set(rest)?;
        let body = self.spread(body, full);
        Ok(self.node(Op::Reduce(op, body), ty, set))
    }

    /// An address, and the set on which it is computed: `set` if one is asked for.
    fn address(
        &mut self,
        array: ArrayId,
        indices: &[ExprId],
        nest: usize,
        set: Option<SetId>,
    ) -> Result<(Address, SetId), Error> {
        let source = self.context.source;
        let forms: Option<Vec<(&Form, ExprId)>> =
            indices.iter().map(|&id| Some((source.forms[id.index()].as_ref()?, id))).collect();
        let Some(forms) = forms else {
            let mut nodes = Vec::with_capacity(indices.len());
            for &id in indices {
                nodes.push(self.materialise(self.values[&(id, nest)])?);
            }
            let mut own = SetId::new(SCALAR);
            for &node in &nodes {
                own = self.union(own, self.set_of(node))?;
            }
            let set = set.unwrap_or(own);
            for node in &mut nodes {
                *node = self.expand(*node, set);
            }
            return Ok((Address::Computed(nodes), set));
        };
        let mut dims = Vec::with_capacity(forms.len());
        for (form, id) in forms {
            dims.push(self.index(form, id)?);
        }
        let set = match set {
            Some(set) => set,
            None => self.set(dims.iter().flat_map(|dim| &dim.inner).map(|term| term.0).collect())?,
        };
        let too_large = || Error::Size {
            name: self.context.kernel[array].name.clone(),
            reason: "an index exceeds 64 bits".to_owned(),
        };
        let flat = flatten(&dims, &self.context.layouts[array.index()].strides).ok_or_else(too_large)?;
        let linear = match flat.inner.is_empty() {
            true => None,
            false => Some(self.node(Op::Linear(flat.inner.clone()), Type::Int64, set)),
        };
        Ok((Address::Affine { indices: dims, flat, linear }, set))
    }

    // Instructions.

    /// Adds a unit that only computes values, at one point: a condition, or what a call needs.
    pub(crate) fn add_values(&mut self, insn: Option<InsnId>, exprs: &[ExprId], dtypes: &[Type]) -> Result<(), Error> {
        let scalar = SetId::new(SCALAR);
        self.values.clear();
        let mut roots = Vec::with_capacity(exprs.len());
        for (idx, &expr) in exprs.iter().enumerate() {
            let typed = self.value(expr, &[], scalar)?;
            let node = self.materialise(typed)?;
            self.check_inames(node, scalar)?;
            roots.push(match dtypes.get(idx) {
                Some(&ty) => self.convert(node, ty),
                None => node,
            });
        }
        let groups = self.schedule(&roots);
        let action = Action::Values(roots);
        self.units.push(Unit { insn, set: scalar, mask: None, mask_groups: Vec::new(), groups, action });
        Ok(())
    }

    /// Adds an assignment.
    pub(crate) fn add_assignment(&mut self, entry: &Entry) -> Result<(), Refusal> {
        self.assignment(entry).map_err(|refusal| match refusal {
            Refusal::Error(Error::Unsupported { reason, .. }) => {
                let instruction = self.context.source.instructions[entry.insn.index()].id.clone();
                Refusal::Error(Error::Unsupported { instruction, reason })
            }
            other => other,
        })
    }

    fn assignment(&mut self, entry: &Entry) -> Result<(), Refusal> {
        let source = self.context.source;
        let instruction = &source.instructions[entry.insn.index()];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else {
            return Err(Refusal::NotABlock);
        };
        self.values.clear();
        let set = self.set(entry.loops.clone())?;
        let mask = self.mask(entry, &instruction.predicates, set)?;
        let mask_groups = match mask {
            Some(mask) => self.schedule(&[mask]),
            None => Vec::new(),
        };
        let value = self.value(*expression, &entry.volatile, set)?;
        let value = self.materialise(value)?;
        let dtype = Type::from(self.context.kernel[assignee.array].dtype);
        let value = self.convert(value, dtype);
        let forwarded = Typed { ty: dtype, value: Value::Node(value) };
        self.check_inames(value, set)?;
        let value = self.expand(value, set);
        for &index in &assignee.indices {
            self.value(index, &entry.volatile, set)?;
        }
        let (address, _) = self.address(assignee.array, &assignee.indices, 0, Some(set))?;
        let mut operands = Vec::new();
        address.for_each_operand(|operand| operands.push(operand));
        for &operand in &operands {
            self.check_inames(operand, set)?;
        }

        let is_chained = self.chained(&entry.volatile, mask.iter().chain(&operands))?;
        let mut roots = operands;
        roots.push(value);
        let chain: Vec<NodeId> = self.pending(&roots).into_iter().filter(|node| is_chained[node.index()]).collect();
        if chain.iter().any(|&node| self.set_of(node) != set) {
            return Err(Refusal::NotABlock);
        }
        for node in &chain {
            self.is_scheduled[node.index()] = true;
            self.nodes[node.index()].op.for_each_operand(|operand| roots.push(operand));
        }
        let groups = self.schedule(&roots);
        let action = Action::Store { array: assignee.array, address, value, chain };
        self.units.push(Unit { insn: Some(entry.insn), set, mask, mask_groups, groups, action });

        self.next_version += 1;
        self.versions.insert(assignee.array, self.next_version);
        if entry.is_forwarded {
            for &(_, access) in &source.writes[entry.insn.index()] {
                self.forwarded.insert(access, forwarded);
            }
        }
        Ok(())
    }

    /// Which nodes read what this instruction stores at other points. `forbidden` may not.
    fn chained<'n>(
        &self,
        volatile: &[ExprId],
        forbidden: impl Iterator<Item = &'n NodeId>,
    ) -> Result<Vec<bool>, Refusal> {
        let mut is_chained = vec![false; self.nodes.len()];
        if volatile.is_empty() {
            return Ok(is_chained);
        }
        for &access in volatile {
            for nest in 0..self.nests.len() {
                if let Some(Typed { value: Value::Node(node), .. }) = self.values.get(&(access, nest)) {
                    is_chained[node.index()] = true;
                }
            }
        }
        for (idx, node) in self.nodes.iter().enumerate() {
            let mut depends = is_chained[idx];
            node.op.for_each_operand(|operand| depends |= is_chained[operand.index()]);
            is_chained[idx] = depends;
        }
        for node in forbidden {
            if is_chained[node.index()] {
                return Err(Refusal::NotABlock);
            }
        }
        Ok(is_chained)
    }

    fn mask(&mut self, entry: &Entry, predicates: &[ExprId], set: SetId) -> Result<Option<NodeId>, Error> {
        let mut mask = None;
        for &condition in entry.conditions.iter().chain(predicates) {
            let typed = self.value(condition, &entry.volatile, set)?;
            let node = self.materialise(typed)?;
            let node = self.convert(node, Type::Bool);
            mask = Some(match mask {
                None => node,
                Some(before) => self.binary(Binary::And, before, node, Type::Bool)?,
            });
        }
        match mask {
            None => Ok(None),
            Some(mask) => {
                self.check_inames(mask, set)?;
                Ok(Some(self.expand(mask, set)))
            }
        }
    }

    /// Whether a value depends on no iname outside its loop.
    fn check_inames(&self, value: NodeId, set: SetId) -> Result<(), Error> {
        let allowed = &self.sets[set.index()].inames;
        match self.sets[self.set_of(value).index()].inames.iter().find(|iname| !allowed.contains(iname)) {
            None => Ok(()),
            Some(&iname) => {
                let name = &self.context.kernel[iname].name;
                Err(self.unsupported(&format!("iname `{name}` is used outside its loop")))
            }
        }
    }

    /// The nodes that `roots` need and that no earlier unit evaluates, operands first.
    fn pending(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<NodeId> = roots.to_vec();
        while let Some(node) = stack.pop() {
            if !self.is_scheduled[node.index()] && seen.insert(node) {
                self.nodes[node.index()].op.for_each_operand(|operand| stack.push(operand));
            }
        }
        let mut res: Vec<NodeId> = seen.into_iter().collect();
        res.sort_unstable();
        res
    }

    fn schedule(&mut self, roots: &[NodeId]) -> Vec<Group> {
        let mut by_deps: Vec<(usize, DepsId, Vec<NodeId>)> = Vec::new();
        let mut position: FxHashMap<DepsId, usize> = FxHashMap::default();
        for node in self.pending(roots) {
            self.is_scheduled[node.index()] = true;
            let deps = self.node_deps[node.index()];
            let idx = *position.entry(deps).or_insert_with(|| {
                by_deps.push((self.deps[deps as usize].len(), deps, Vec::new()));
                by_deps.len() - 1
            });
            by_deps[idx].2.push(node);
        }
        // What a node depends on, its operands depend on less or the same: fewer dependences come first.
        by_deps.sort_by_key(|group| group.0);
        by_deps
            .into_iter()
            .map(|(_, deps, nodes)| {
                self.n_clocks += 1;
                Group { deps: self.deps[deps as usize].clone(), nodes, clock: self.n_clocks - 1 }
            })
            .collect()
    }
}

/// `Σ stride·index` as one index.
fn flatten(dims: &[Index], strides: &[i64]) -> Option<Index> {
    let mut flat = Form::default();
    let mut outer = Form::default();
    for (dim, &stride) in dims.iter().zip(strides) {
        flat = flat.plus(stride, dim.constant, &dim.inner)?;
        outer = outer.plus(stride, 0, &dim.outer)?;
    }
    Some(Index { constant: flat.constant, outer: outer.terms, inner: flat.terms })
}

/// The value of a whole literal: `2`, or `2.0`.
fn whole_literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Number(Number::Int(value)) => Some(*value),
        Expr::Number(Number::Float(value)) if value.get().fract() == 0.0 && value.get().abs() < 1e15 => {
            Some(value.get() as i64)
        }
        _ => None,
    }
}
