//! Encodes what a kernel's instructions evaluate into an e-graph.
//!
//! # Input
//! A verified kernel in value form.
//! # Output
//! The e-graph and one root for each expression of each instruction that is worth rewriting (anything but affine
//! functions of inames and parameters, which are kept as they are).
//! # Method
//! One pass over the DAG, operands first. An expression is encoded once for each of its `versions`: mostly once for all
//! instructions. Operands of mixed types get casts, so the operands of every sum and
//! product are of one type.
//! # Complexity
//! Linear in the DAG, for each version of what it reads.

mod guards;
mod rounded;
mod versions;

use egg::Id;
use indexmap::IndexSet;
use nestegg_ir::affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::sequences::{MemoryState, Sequences};
use nestegg_ir::types::{Type, Types};
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, InameSet, InsnId, Kernel, LinearizedKernel, Number, Op, ReduceOp, Semantics,
};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::analysis::{Facts, Graph};
use crate::bounds::Bounds;
use crate::build;
use crate::context::{Access, Context, Index, Reach, Stamp};
use crate::coupling;
use crate::defined::Definitions;
use crate::language::{Kind, Node};
use crate::rational::Rational;
use guards::Conditions;
use versions::{VersionIdx, Versions};

/// An expression of an instruction and the e-class of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The instruction.
    pub insn: InsnId,
    /// The expression as it came.
    pub expr: ExprId,
    /// Its value.
    pub class: Id,
}

/// A kernel's values in an e-graph.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The e-graph, rebuilt.
    pub graph: Graph,
    /// What [`Stamp::Version`] numbers: an array and a state of its memory.
    pub states: Vec<(ArrayId, MemoryState)>,
    /// Roots in the order of instructions and of [`Instruction::expressions`](nestegg_ir::Instruction::expressions).
    pub roots: Vec<Root>,
    /// Conditions inside expressions, with their values.
    pub conditions: Vec<(ExprId, Id)>,
}

impl Encoded {
    /// Whether some value of floats may trap where the kernel does not compute it.
    #[must_use]
    pub fn guards_floats(&self) -> bool {
        let is_guard = |node: &Node| matches!(node, Node::Guard(..));
        self.graph.classes().any(|class| class.data.dtype.is_float() && class.nodes.iter().any(is_guard))
    }
}

/// Encodes a kernel in value form.
///
/// # Errors
/// If isl fails on a domain.
pub fn encode(linearized: &LinearizedKernel, domains: &Domains, semantics: Semantics) -> Result<Encoded, DomainError> {
    let kernel = &linearized.kernel;
    let bounds = Bounds::new(kernel, domains)?;
    let (in_branches, in_conditions) = (guards::in_branches(kernel), guards::in_conditions(linearized));
    let types = Types::infer(kernel);
    let may_trap = |id: ExprId| guards::may_trap(kernel, &types, id, semantics.traps);
    let may_trap: Vec<bool> = kernel.exprs.iter().map(|(id, _)| may_trap(id)).collect();
    let may_be_guarded =
        !in_branches.is_empty() || !in_conditions.is_empty() || !bounds.always_runs(&kernel.iname_ids().collect());
    let sequences = Sequences::new(linearized);
    let coupled = coupling::coupled(kernel, domains)?;
    let definitions = Definitions::new(linearized, domains, &sequences);
    let stays = |id: usize, expr: &Expr| match expr {
        _ if !may_be_guarded => Ok(false),
        Expr::Access { array, indices } => {
            let indices = payload(kernel, indices);
            Ok(!bounds.is_inside(*array, &indices)? || !definitions.is_always_defined(*array, &indices)?)
        }
        _ => Ok(may_trap[id]),
    };
    let is_in_branch = |id: usize| in_branches.contains_key(&ExprId::new(id));
    let versions =
        Versions::new(kernel, &sequences, (stays, is_in_branch, |array| definitions.changes(array)), &coupled)?;
    let mut encoder = Encoder {
        kernel,
        types,
        in_branches,
        in_conditions,
        versions,
        may_trap,
        definitions,
        sequences: &sequences,
        states: IndexSet::default(),
        graph: Graph::new(Facts::new(
            Context::new(kernel, bounds.extents(), coupled.clone(), semantics).with_starts(bounds.starts()),
        )),
        bounds,
        known: FxHashMap::default(),
        insn: InsnId::new(0),
        is_first_predicate: false,
        nests: [InameSet::new()].into_iter().collect(),
        nest: NestIdx::default(),
        conditions: Vec::new(),
    };
    let mut roots = Vec::new();
    for insn in kernel.insn_ids() {
        // What the first predicate reads is read always, by what the instruction does else too.
        let first = kernel[insn].predicates.first().copied();
        if let Some(first) = first {
            encoder.enter(insn, true);
            encoder.class(first)?;
        }
        encoder.enter(insn, false);
        for expr in kernel[insn].expressions() {
            if affine::of(&kernel.exprs, expr).is_none() {
                if encoder.is_first_predicate != (Some(expr) == first) {
                    encoder.enter(insn, Some(expr) == first);
                }
                let class = encoder.class(expr)?;
                roots.push(Root { insn, expr, class });
            }
        }
    }
    let (mut graph, conditions) = (encoder.graph, encoder.conditions);
    let states = encoder.states.into_iter().collect();
    graph.rebuild();
    let origin = graph.classes().filter_map(|class| Some((class.id, class.nodes.first()?.clone()))).collect();
    graph.analysis.origin = origin;
    for root in &mut roots {
        root.class = graph.find(root.class);
    }
    graph.analysis.roots = roots.iter().map(|root| root.class).collect();
    Ok(Encoded { graph, states, roots, conditions })
}

struct Encoder<'a> {
    kernel: &'a Kernel,
    types: Types,
    bounds: Bounds<'a>,
    /// Expressions below a branch of a selection.
    in_branches: FxHashMap<ExprId, Conditions>,
    /// Instructions under a predicate or condition.
    in_conditions: FxHashMap<InsnId, Conditions>,
    /// Expressions that may trap.
    may_trap: Vec<bool>,
    versions: Versions<'a>,
    sequences: &'a Sequences,
    definitions: Definitions<'a>,
    /// States of memory, numbered as they are met, with the array.
    states: IndexSet<(ArrayId, MemoryState), FxBuildHasher>,
    graph: Graph,
    known: FxHashMap<(ExprId, NestIdx, VersionIdx), Id>,
    insn: InsnId,
    is_first_predicate: bool,
    /// Inames of reductions around an expression that are coupled with others, or may have no value.
    nests: IndexSet<InameSet, FxBuildHasher>,
    /// The nest of the operands of the expression at hand.
    nest: NestIdx,
    conditions: Vec<(ExprId, Id)>,
}

/// A position in [`Encoder::nests`]; the first is empty.
type NestIdx = usize;

impl Encoder<'_> {
    /// Goes on to an instruction, or to its first predicate.
    fn enter(&mut self, insn: InsnId, is_first_predicate: bool) {
        (self.insn, self.is_first_predicate) = (insn, is_first_predicate);
        let loops = self.kernel[insn].within_set();
        let is_guarded = self.conditions().is_some() || !self.bounds.always_runs(&loops);
        self.versions.enter(insn, is_first_predicate, loops, is_guarded);
    }

    /// The conditions under which the instruction at hand evaluates what is at hand.
    fn conditions(&self) -> Option<&Conditions> {
        let all = self.in_conditions.get(&self.insn)?;
        (!self.is_first_predicate || all.is_first_guarded || all.is_untold).then_some(all)
    }

    fn known(&self, expr: ExprId, nest: NestIdx) -> Option<Id> {
        self.known.get(&self.key(expr, nest)).copied()
    }

    fn key(&self, expr: ExprId, nest: NestIdx) -> (ExprId, NestIdx, VersionIdx) {
        (expr, nest, self.versions.of(expr, nest != NestIdx::default()))
    }

    /// The nest of the operands of an expression in a nest.
    fn inner(&mut self, expr: ExprId, nest: NestIdx) -> NestIdx {
        let Expr::Reduce { inames, .. } = &self.kernel.exprs[expr] else { return nest };
        let context = &self.graph.analysis.context;
        let is_coupled = |iname: &InameId| !context.coupled_with(&[*iname].into_iter().collect()).is_empty();
        let may_be_empty = |iname: &InameId| !self.bounds.always_runs(&[*iname].into_iter().collect());
        let noted: InameSet = inames.iter().copied().filter(|iname| is_coupled(iname) || may_be_empty(iname)).collect();
        let all = self.nests[nest].union(&self.bounds.with_enclosing(&noted));
        self.nests.insert_full(all).0
    }

    fn class(&mut self, root: ExprId) -> Result<Id, DomainError> {
        let mut walk = OperandsFirst::new((root, NestIdx::default()));
        while let Some((id, nest)) = walk.next_unknown(|&(id, nest)| self.known(id, nest).is_some()) {
            let inner = self.inner(id, nest);
            let operands = self.kernel.exprs[id].children().iter().map(|&child| (child, inner));
            if walk.waits_for(operands, |&(child, inner)| self.known(child, inner).is_some()) {
                continue;
            }
            self.nest = inner;
            let class = self.node(id, nest)?;
            self.known.insert(self.key(id, nest), class);
        }
        Ok(self.known(root, NestIdx::default()).expect("the loop ends when the root is known"))
    }

    /// The class of an operand, which is known.
    fn operand(&self, id: ExprId) -> Id {
        self.known(id, self.nest).expect("operands are encoded first")
    }

    /// The class of an operand; a literal among floats is a float.
    fn literal_as(&mut self, id: ExprId, ty: Type) -> Id {
        let class = self.operand(id);
        match &self.graph[class].data.constant {
            Some(value) if ty.is_float() => {
                let value = value.clone();
                build::number(&mut self.graph, value, Kind::Float)
            }
            _ => class,
        }
    }

    /// The class of an operand, converted to `ty` if it is of another type and no literal. What meets only float literals
    /// is converted to the type that these have alone.
    fn operand_as(&mut self, id: ExprId, ty: Type) -> Id {
        let class = self.literal_as(id, ty);
        let data = &self.graph[class].data;
        let is_weak = matches!(data.dtype, Type::WeakInt | Type::WeakFloat);
        let is_same = data.dtype == ty || (ty == Type::WeakInt) || (ty == Type::WeakFloat && data.dtype.is_float());
        let is_kept = is_same || data.constant.is_some() || (is_weak && Kind::of(data.dtype) == Kind::of(ty));
        if is_kept { class } else { self.graph.add(Node::Cast(ty.dtype(), [class])) }
    }

    fn node(&mut self, id: ExprId, nest: NestIdx) -> Result<Id, DomainError> {
        let kernel = self.kernel;
        let ty = self.types.of(id);
        Ok(match &kernel.exprs[id] {
            Expr::Number(Number::Int(value)) => {
                build::number(&mut self.graph, Rational::from_int(*value), Kind::Integer)
            }
            Expr::Number(Number::Float(value)) if self.is_strict() => {
                self.rounded_literal(value.get()).expect("literals are finite")
            }
            Expr::Number(Number::Float(value)) => {
                let value = Rational::from_f64(value.get()).expect("literals are finite");
                build::number(&mut self.graph, value, Kind::Float)
            }
            Expr::Iname(iname) => self.graph.add(Node::Iname(*iname)),
            Expr::Parameter(parameter) => self.graph.add(Node::Parameter(*parameter)),
            Expr::Formal(_) | Expr::Substitution { .. } => unreachable!("value form has no substitution rules"),
            Expr::Access { array, indices } => self.access(id, *array, indices, nest)?,
            Expr::Op { op, operands } => {
                let is_kept = self.may_trap[id.index()] && self.is_guarded(id, nest);
                let class = self.op(*op, operands, ty, is_kept || self.is_strict());
                match op {
                    Op::If => self.conditions.push((operands[0], self.operand(operands[0]))),
                    _ if op.is_comparison() || op.is_logic() => self.conditions.push((id, class)),
                    _ => {}
                }
                let is_divided = matches!(op, Op::FloorDiv | Op::Mod | Op::Div);
                let is_harmless = is_divided && self.graph[self.operand(operands[1])].data.nonzero;
                if is_harmless { class } else { self.guarded(id, class, nest)? }
            }
            Expr::Call { function, arguments } => {
                let children = arguments.iter().map(|&argument| self.literal_as(argument, ty)).collect();
                let class = self.graph.add(Node::Call(*function, children));
                self.guarded(id, class, nest)?
            }
            Expr::Reduce { op, inames, body } => {
                let body_class = self.operand(*body);
                let scope = self.around(nest);
                self.reduce(*op, inames, &scope, body_class)
            }
            Expr::Cast { dtype, operand } => {
                let class = self.operand(*operand);
                if self.types.of(*operand) == Type::from(*dtype) {
                    class
                } else {
                    let cast = self.graph.add(Node::Cast(*dtype, [class]));
                    self.guarded(id, cast, nest)?
                }
            }
        })
    }

    fn is_strict(&self) -> bool {
        self.graph.analysis.context.is_strict()
    }

    /// An operation; one of floats that `keeps` its rounding or its place is no other form's part.
    fn op(&mut self, op: Op, operands: &[ExprId], ty: Type, keeps: bool) -> Id {
        if keeps && ty.is_float() && build::is_rounded(op) {
            return self.rounded(op, operands, ty);
        }
        let all: Vec<Id> = match op {
            Op::Add | Op::Mul | Op::Neg | Op::Sub | Op::Div | Op::Min | Op::Max => {
                operands.iter().map(|&operand| self.operand_as(operand, ty)).collect()
            }
            Op::Pow if whole_exponent(self.kernel, operands[1]).is_some() => vec![self.operand_as(operands[0], ty)],
            Op::Pow => operands.iter().map(|&operand| self.operand(operand)).collect(),
            _ => {
                let joined = operands.iter().map(|&id| self.types.of(id)).reduce(Type::join).unwrap_or(ty);
                operands.iter().map(|&operand| self.literal_as(operand, joined)).collect()
            }
        };
        let graph = &mut self.graph;
        let one = || Rational::ONE;
        match op {
            Op::Add => build::sum(graph, all.into_iter().map(|class| (one(), class))),
            Op::Sub => build::sum(graph, [(one(), all[0]), (Rational::MINUS_ONE, all[1])]),
            Op::Neg => build::scale(graph, Rational::MINUS_ONE, all[0]),
            Op::Mul => build::product(graph, all.into_iter().map(|class| (1, class))),
            Op::Div => build::product(graph, [(1, all[0]), (-1, all[1])]),
            Op::Pow => match whole_exponent(self.kernel, operands[1]) {
                Some(exponent) => build::product(graph, [(exponent, all[0])]),
                None => graph.add(Node::Op(Op::Pow, all.into())),
            },
            Op::Min | Op::Max => {
                let mut children = all;
                children.sort_unstable();
                children.dedup();
                if children.len() == 1 { children[0] } else { graph.add(Node::Op(op, children.into())) }
            }
            _ => graph.add(Node::Op(op, all.into())),
        }
    }

    fn reduce(&mut self, op: ReduceOp, inames: &[InameId], scope: &InameSet, body: Id) -> Id {
        let context = &mut self.graph.analysis.context;
        let reduction = if context.is_strict() {
            context.intern_ordered_reduction(op, inames, scope)
        } else {
            context.intern_reduction(op, &inames.iter().copied().collect(), scope)
        };
        self.graph.add(Node::Reduce(reduction, [body]))
    }

    /// Whether an expression is evaluated only where a condition holds, or in loops that may be empty.
    fn is_guarded(&self, id: ExprId, nest: NestIdx) -> bool {
        self.in_branches.contains_key(&id)
            || self.conditions().is_some()
            || !self.bounds.always_runs(&self.around(nest))
    }

    /// The inames of the instruction's loops and of the reductions of a nest.
    fn around(&self, nest: NestIdx) -> InameSet {
        self.kernel[self.insn].within_set().union(&self.nests[nest])
    }

    /// The inames that a guarded value over `own` needs around it so that the input computes it at all of their points, and how far
    /// it may move.
    fn reach(&self, id: ExprId, own: &InameSet, nest: NestIdx) -> Result<(InameSet, Reach), DomainError> {
        let around = self.around(nest);
        let mut conditions = self.in_branches.get(&id).into_iter().chain(self.conditions()).peekable();
        if conditions.peek().is_none() {
            return Ok((self.bounds.around(own, &around)?, Reach::Anywhere));
        }
        let mut own = own.clone();
        for condition in conditions {
            if condition.is_untold {
                return Ok((own.union(&around), Reach::AtItsUses));
            }
            own = own.union(&condition.inames.intersection(&around));
        }
        Ok((self.bounds.around(&own, &around)?, Reach::UnderConditions))
    }

    /// A value, kept where the input computes it if that is not everywhere and it may trap.
    fn guarded(&mut self, id: ExprId, class: Id, nest: NestIdx) -> Result<Id, DomainError> {
        if !self.may_trap[id.index()] || !self.is_guarded(id, nest) {
            return Ok(class);
        }
        let (pinned, reach) = self.reach(id, &self.graph[class].data.inames, nest)?;
        let guard = self.graph.analysis.context.intern_guard(pinned, reach);
        Ok(self.graph.add(Node::Guard(guard, [class])))
    }

    fn access(&mut self, id: ExprId, array: ArrayId, indices: &[ExprId], nest: NestIdx) -> Result<Id, DomainError> {
        let payload = payload(self.kernel, indices);
        let others = indices.iter().zip(&payload).filter(|(_, index)| **index == Index::Child);
        let children: Vec<Id> = others.map(|(&index, _)| self.operand(index)).collect();
        let may_move = !self.is_guarded(id, nest)
            || (self.bounds.is_inside(array, &payload)? && self.definitions.is_defined(self.insn, array, &payload)?);
        let (stamp, mut pinned) = match self.sequences.memory_state(self.insn, array) {
            Some(state) => {
                let pinned = state.pinned.clone();
                let (version, _) = self.states.insert_full((array, state));
                (Stamp::Version(u32::try_from(version).expect("fewer than 2^32 states")), pinned)
            }
            None => (Stamp::Constant, InameSet::new()),
        };
        let mut reach = Reach::Anywhere;
        if !may_move {
            let mut own = pinned.clone();
            children.iter().for_each(|&child| own.extend(self.graph[child].data.inames.iter()));
            payload.iter().for_each(|index| own.extend(index.inames()));
            // What is read always, here or elsewhere, may be read under conditions too.
            for pinned in [pinned, self.bounds.around(&own, &self.around(nest))?] {
                let access = Access { array, indices: payload.clone(), stamp, pinned, reach };
                let known = self.graph.analysis.context.known_access(&access);
                let node = known.map(|access| Node::Access(access, children.as_slice().into()));
                if let Some(class) = node.and_then(|node| self.graph.lookup(node)) {
                    return Ok(class);
                }
            }
            (pinned, reach) = self.reach(id, &own, nest)?;
        }
        let access = Access { array, indices: payload, stamp, pinned, reach };
        let access = self.graph.analysis.context.intern_access(access);
        Ok(self.graph.add(Node::Access(access, children.into())))
    }
}

/// Indices as an access keeps them.
fn payload(kernel: &Kernel, indices: &[ExprId]) -> Box<[Index]> {
    indices.iter().map(|&index| affine::of(&kernel.exprs, index).map_or(Index::Child, Index::Affine)).collect()
}

/// The exponent if it is a literal whole number of moderate size.
fn whole_exponent(kernel: &Kernel, id: ExprId) -> Option<i32> {
    const LARGEST_EXPONENT: f64 = 64.0;
    let value = kernel.exprs.literal(id)?;
    (value.fract() == 0.0 && value.abs() <= LARGEST_EXPONENT).then_some(value as i32)
}
