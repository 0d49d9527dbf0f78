//! Builds the kernel of a selection.
//!
//! # Input
//! The kernel in value form, its values in an e-graph, and a placement.
//! # Output
//! A linearized kernel: the same instructions at their places, and before the first one that needs it each temporary in
//! a little loop nest of its own, as a full array over its inames. Valid and naive: scheduling fuses the loops and
//! contracts the arrays.
//! # Method
//! A temporary belongs to the innermost sequence (body of a loop or condition) that a state of memory which it reads
//! is bound to, the whole program if there is none; it is put before the item in which its first user is. All later
//! users of the same state are between the same writers, so the value holds for them too.
//! # Complexity
//! Linear in the chosen e-nodes.

mod extents;

use std::collections::BTreeMap;

use egg::Id;
use nestegg_egraph::context::Stamp;
use nestegg_egraph::encode::Encoded;
use nestegg_egraph::language::Node;
use nestegg_ir::affine::Affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::sequences::{SequenceIdx, Sequences};
use nestegg_ir::types::Type;
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Expr, ExprId, Exprs, InameId, InameSet, InameTag, InsnId, Instruction,
    InstructionKind, Item, Kernel, LinearizedKernel, Op,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cost::Cost;
use crate::emit;
use crate::guard::Need;
use crate::place::Placement;
use crate::product::{Candidate, Vertex};

/// A temporary that selection introduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporary {
    /// Its array in the new kernel.
    pub array: ArrayId,
    /// The e-class of its values.
    pub class: Id,
    /// Its name.
    pub name: String,
    /// Its definition in the new kernel.
    pub expression: ExprId,
    /// The inames at whose points it is computed.
    pub inames: InameSet,
    /// How many values and instructions use it.
    pub n_uses: usize,
    /// Operations at all points of its inames.
    pub cost: Cost,
    /// What it saves against being written out at its uses.
    pub saved: Cost,
}

/// The kernel of a selection.
#[derive(Clone, Debug)]
pub struct Constructed {
    /// The kernel.
    pub linearized: LinearizedKernel,
    /// Its new temporaries, in the order of their definitions.
    pub temporaries: Vec<Temporary>,
}

/// Builds the kernel.
///
/// # Errors
/// If isl fails on a domain.
pub fn construct(
    linearized: &LinearizedKernel,
    encoded: &Encoded,
    placement: &Placement<'_>,
    domains: &Domains,
) -> Result<Constructed, DomainError> {
    let mut constructor = Constructor {
        encoded,
        placement,
        domains,
        sequences: Sequences::new(linearized),
        kernel: linearized.kernel.clone(),
        names: names(&linearized.kernel),
        values: vec![None; placement.product.len()],
        written: FxHashMap::default(),
        inserted: BTreeMap::new(),
        temporaries: Vec::new(),
        bounds: FxHashMap::default(),
    };
    let mut roots: FxHashMap<InsnId, Vec<(ExprId, Id)>> = FxHashMap::default();
    for root in &encoded.roots {
        roots.entry(root.insn).or_default().push((root.expr, root.class));
    }
    for item in &linearized.linearization {
        if let Item::Run(insn) = item {
            constructor.instruction(*insn, roots.get(insn).map_or(&[], Vec::as_slice))?;
        }
    }
    let linearization = constructor.linearize(&linearized.linearization);
    Ok(Constructed {
        linearized: LinearizedKernel { kernel: constructor.kernel, linearization },
        temporaries: constructor.temporaries,
    })
}

/// A temporary's value: its array and the inames of its dimensions, and where it is computed.
#[derive(Clone, Debug)]
struct Value {
    array: ArrayId,
    dims: Vec<InameId>,
    sequence: SequenceIdx,
}

struct Constructor<'a> {
    encoded: &'a Encoded,
    placement: &'a Placement<'a>,
    domains: &'a Domains,
    sequences: Sequences,
    kernel: Kernel,
    names: FxHashSet<String>,
    /// For each kept vertex its value, once it has been computed.
    values: Vec<Option<Value>>,
    /// Expressions of vertices that are not kept, with the innermost sequence that they are bound to.
    written: FxHashMap<Vertex, (ExprId, SequenceIdx)>,
    /// Definitions before an item of a sequence.
    inserted: BTreeMap<(SequenceIdx, usize), Vec<Vec<Item>>>,
    temporaries: Vec<Temporary>,
    bounds: FxHashMap<InameId, (Affine, ExprId)>,
}

impl Constructor<'_> {
    /// Rewrites what an instruction evaluates, after the definitions that it needs.
    fn instruction(&mut self, insn: InsnId, roots: &[(ExprId, Id)]) -> Result<(), DomainError> {
        // What is written out for one instruction may read memory that changes before the next.
        self.written.clear();
        let mut map: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for &(expr, class) in roots {
            let vertex = self.placement.vertex(class);
            self.define_below(vertex, insn)?;
            let ty = self.root_type(insn, expr);
            let (value, _) = self.expression(vertex, ty);
            map.insert(expr, value);
        }
        self.kernel[insn].map_expressions(|expr| map.get(&expr).copied().unwrap_or(expr));
        Ok(())
    }

    /// The type that a literal at a root takes.
    fn root_type(&self, insn: InsnId, expr: ExprId) -> Type {
        match &self.kernel[insn].kind {
            InstructionKind::Assignment { assignee, expression } if *expression == expr => {
                self.kernel[assignee.array].dtype.into()
            }
            InstructionKind::Call { arguments, .. } if arguments.contains(&expr) => Type::Float64,
            _ => Type::Int32,
        }
    }

    /// Defines the kept vertices at and below a vertex that are not defined yet, operands first.
    fn define_below(&mut self, root: Vertex, insn: InsnId) -> Result<(), DomainError> {
        let mut seen: FxHashSet<Vertex> = FxHashSet::default();
        let mut pending = vec![(root, false)];
        while let Some((vertex, is_done)) = pending.pop() {
            if is_done {
                self.define(vertex, insn)?;
            } else if self.values[vertex].is_none() && seen.insert(vertex) {
                if self.placement.is_kept[vertex] {
                    pending.push((vertex, true));
                }
                pending.extend(self.placement.candidate(vertex).children.iter().map(|&child| (child, false)));
            }
        }
        Ok(())
    }

    /// Adds the definition of a kept vertex before the item of `insn`.
    fn define(&mut self, vertex: Vertex, insn: InsnId) -> Result<(), DomainError> {
        let class = self.placement.product.classes[vertex];
        let data = &self.encoded.graph[class].data;
        let candidate = self.placement.candidate(vertex);
        let ty: Type = data.dtype.dtype().into();
        let guard = self.placement.guards[vertex].clone();
        if let Need::AnyOf(reasons) = &guard {
            for literal in reasons.iter().flatten() {
                self.define_below(literal.condition, insn)?;
            }
        }
        let (expression, sequence) = self.node(vertex, ty);
        let predicates = self.predicates(&guard);
        let around = &self.sequences.list[sequence];
        let outer: InameSet = around.loops.iter().copied().collect();
        let own: InameSet = data.inames.difference(&outer);
        let loops = self.nest(&own);
        let within: Vec<InameId> = around.loops.iter().copied().chain(loops.iter().copied()).collect();
        let item = self.sequences.item_in(self.sequences.places[insn.index()], sequence).unwrap_or(0);
        let name = self.fresh_name();
        // A loop tagged `vec` runs all at once: what is computed in it has a place for each of its iterations.
        let is_vector = |iname: &InameId| self.kernel[*iname].tags.contains(&InameTag::Vec);
        let lanes: InameSet = data.inames.intersection(&outer).iter().filter(is_vector).collect();
        let dims: Vec<InameId> = own.union(&lanes).iter().collect();
        let mut shape = Vec::with_capacity(dims.len());
        for &iname in &dims {
            shape.push(self.bounds(iname)?.1);
        }
        let array = ArrayId::new(self.kernel.arrays.len());
        let dtype = data.dtype.dtype();
        self.kernel.arrays.push(Array { name: name.clone(), dtype, stored: None, shape, kind: ArrayKind::Temporary });
        let indices = self.indices(&dims);
        let new = InsnId::new(self.kernel.instructions.len());
        self.kernel.instructions.push(Instruction {
            id: format!("define_{name}"),
            kind: InstructionKind::Assignment { assignee: Assignee { array, indices }, expression },
            within,
            depends_on: Vec::new(),
            predicates,
        });
        let mut items: Vec<Item> = loops.iter().map(|&iname| Item::For(iname)).collect();
        items.push(Item::Run(new));
        items.extend(loops.iter().rev().map(|&iname| Item::End(iname)));
        self.inserted.entry((sequence, item)).or_default().push(items);
        let points = self.placement.product.points[vertex];
        let per_point = candidate.cost.operations().checked_div(points.operations()).unwrap_or(0);
        self.temporaries.push(Temporary {
            array,
            class,
            name,
            expression,
            inames: data.inames.clone(),
            n_uses: self.placement.n_uses[vertex],
            cost: candidate.cost,
            saved: (self.placement.use_points[vertex] * Cost::new(per_point)).minus(candidate.cost),
        });
        self.values[vertex] = Some(Value { array, dims, sequence });
        Ok(())
    }

    /// The conditions of a definition, all of which hold where it is needed.
    fn predicates(&mut self, guard: &Need) -> Vec<ExprId> {
        let Need::AnyOf(reasons) = guard else { return Vec::new() };
        let mut alternatives: Vec<Vec<ExprId>> = Vec::with_capacity(reasons.len());
        for reason in reasons {
            let mut literals = Vec::with_capacity(reason.len());
            for literal in reason {
                let (condition, _) = self.expression(literal.condition, Type::Bool);
                let exprs = &mut self.kernel.exprs;
                literals.push(if literal.holds { condition } else { exprs.op(Op::Not, [condition]) });
            }
            alternatives.push(literals);
        }
        match <[Vec<ExprId>; 1]>::try_from(alternatives) {
            Ok([literals]) => literals,
            Err(alternatives) => {
                let exprs = &mut self.kernel.exprs;
                let all: Vec<ExprId> =
                    alternatives.into_iter().map(|literals| emit::n_ary(exprs, Op::And, literals)).collect();
                vec![emit::n_ary(exprs, Op::Or, all)]
            }
        }
    }

    /// Inames in an order in which they can be nested: those that enclose a domain outside it.
    fn nest(&self, inames: &InameSet) -> Vec<InameId> {
        let mut res: Vec<InameId> = Vec::with_capacity(inames.len());
        while res.len() < inames.len() {
            let next = inames.iter().find(|&iname| {
                let enclosing = self.domains.enclosing(iname);
                !res.contains(&iname) && inames.iter().all(|other| !enclosing.contains(other) || res.contains(&other))
            });
            match next {
                Some(iname) => res.push(iname),
                None => return inames.iter().collect(),
            }
        }
        res
    }

    fn fresh_name(&mut self) -> String {
        for number in self.temporaries.len().. {
            let name = format!("v{number}");
            if self.names.insert(name.clone()) {
                return name;
            }
        }
        unreachable!("there are more numbers than names")
    }

    /// The expression of a defined or written-out vertex, and the innermost sequence that it is bound to. A literal takes
    /// the type `ty` of its surroundings.
    fn expression(&mut self, root: Vertex, ty: Type) -> (ExprId, SequenceIdx) {
        let mut walk = OperandsFirst::new(root);
        while let Some(vertex) = walk.next_unknown(|&vertex| self.is_finished(vertex)) {
            let children = self.placement.candidate(vertex).children.iter().copied();
            if !walk.waits_for(children, |&child| self.is_finished(child)) {
                let written = self.node(vertex, self.own_type(vertex));
                self.written.insert(vertex, written);
            }
        }
        self.write(root, ty)
    }

    fn is_literal(&self, vertex: Vertex) -> bool {
        matches!(self.placement.candidate(vertex).node, Node::Number(..))
    }

    /// Whether a vertex can be written without looking at its operands.
    fn is_finished(&self, vertex: Vertex) -> bool {
        self.values[vertex].is_some() || self.written.contains_key(&vertex) || self.is_literal(vertex)
    }

    /// The type of a vertex that is no literal: operations on literals alone are of the type that literals have alone.
    fn own_type(&self, vertex: Vertex) -> Type {
        self.encoded.graph[self.placement.product.classes[vertex]].data.dtype.dtype().into()
    }

    /// The access of a kept vertex, a literal of the type of its surroundings, or the expression of another vertex, whose
    /// operands are finished.
    fn write(&mut self, vertex: Vertex, ty: Type) -> (ExprId, SequenceIdx) {
        if let Some(value) = self.values[vertex].clone() {
            let indices = self.indices(&value.dims);
            return (self.kernel.exprs.access(value.array, indices), value.sequence);
        }
        match &self.placement.candidate(vertex).node {
            Node::Number(value, _) => (emit::literal(&mut self.kernel.exprs, value, ty), 0),
            _ => match self.written.get(&vertex) {
                Some(&written) => written,
                None => self.node(vertex, self.own_type(vertex)),
            },
        }
    }

    /// The expression of a vertex's chosen e-node over its operands.
    fn node(&mut self, vertex: Vertex, ty: Type) -> (ExprId, SequenceIdx) {
        let class = self.placement.product.classes[vertex];
        let candidate = self.placement.candidate(vertex);
        let node = &candidate.node;
        if !matches!(node, Node::Number(..)) {
            // Operands that are not kept are written first, so that the closure below only looks them up.
            for &child in &candidate.children {
                if !self.is_finished(child) {
                    self.expression(child, ty);
                }
            }
        }
        let mut sequence = self.bound_sequence(node);
        let mut exprs = std::mem::take(&mut self.kernel.exprs);
        let mut deepest = Vec::new();
        let res = match node {
            Node::Number(value, _) => emit::literal(&mut exprs, value, ty),
            _ => {
                let graph = &self.encoded.graph;
                emit::node(graph, &mut exprs, class, node, &mut |exprs: &mut Exprs, id, ty| {
                    std::mem::swap(&mut self.kernel.exprs, exprs);
                    let (value, bound) = self.operand(candidate, graph.find(id), ty);
                    std::mem::swap(&mut self.kernel.exprs, exprs);
                    deepest.push(bound);
                    value
                })
            }
        };
        self.kernel.exprs = exprs;
        for bound in deepest {
            if self.sequences.list[bound].depth > self.sequences.list[sequence].depth {
                sequence = bound;
            }
        }
        (res, sequence)
    }

    /// The expression of an operand of a candidate: the reduction itself if it is accumulated.
    fn operand(&mut self, candidate: &Candidate, class: Id, ty: Type) -> (ExprId, SequenceIdx) {
        match candidate.accumulated.iter().find(|(id, _)| *id == class) {
            Some((_, Node::Reduce(reduction, [body]))) => {
                let graph = &self.encoded.graph;
                let reduction = graph.analysis.context.reduction(*reduction).clone();
                let (body, sequence) = self.write(self.placement.vertex(graph.find(*body)), ty);
                let expr = Expr::Reduce { op: reduction.op, inames: reduction.inames, body };
                (self.kernel.exprs.intern(expr), sequence)
            }
            _ => self.write(self.placement.vertex(class), ty),
        }
    }

    /// The sequence that the state of memory which a node reads is bound to.
    fn bound_sequence(&self, node: &Node) -> SequenceIdx {
        let Node::Access(access, _) = node else { return 0 };
        match self.encoded.graph.analysis.context.access(*access).stamp {
            Stamp::Constant => 0,
            Stamp::Version(version) => self.encoded.states[version as usize].1.sequence,
        }
    }

    /// The old linearization with the definitions in their places.
    fn linearize(&mut self, old: &[Item]) -> Vec<Item> {
        let mut res = Vec::with_capacity(old.len() + 4 * self.inserted.len());
        // Sequences are numbered in the order in which they are opened.
        let mut n_sequences = 1;
        let mut open: Vec<(SequenceIdx, usize)> = vec![(0, 0)];
        for item in old {
            if matches!(item, Item::End(_) | Item::EndIf) {
                open.pop();
                res.push(*item);
                continue;
            }
            if let Some((sequence, position)) = open.last_mut() {
                let definitions = self.inserted.remove(&(*sequence, *position)).unwrap_or_default();
                res.extend(definitions.into_iter().flatten());
                *position += 1;
            }
            if matches!(item, Item::For(_) | Item::If(_)) {
                open.push((n_sequences, 0));
                n_sequences += 1;
            }
            res.push(*item);
        }
        res
    }
}

/// All names of a kernel that a new temporary must not take.
fn names(kernel: &Kernel) -> FxHashSet<String> {
    let inames = kernel.inames.iter().map(|iname| &iname.name);
    let arrays = kernel.arrays.iter().map(|array| &array.name);
    let parameters = kernel.parameters.iter().map(|parameter| &parameter.name);
    let ids = kernel.instructions.iter().map(|instruction| &instruction.id);
    let rest = kernel.functions.iter().chain(kernel.substitutions.iter().map(|s| &s.name)).chain([&kernel.name]);
    inames.chain(arrays).chain(parameters).chain(ids).chain(rest).cloned().collect()
}
