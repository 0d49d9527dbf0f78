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

mod address;
mod expression;
mod operation;
mod skip;
mod unit;

use indexmap::IndexSet;
use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, ExprId, InameId, InsnId, Kernel};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::domain::Domains;
use crate::error::Error;
use crate::math::Math;
use crate::memory::Layout;
use crate::node::{Address, Block, Chunk, Dep, Node, NodeId, Op, SCALAR, SetCode, SetId, Unit};
use crate::source::Source;
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
    /// What expressions are, in each nest, as long as no instruction changes it.
    values: FxHashMap<(ExprId, usize), Typed>,
    /// The values that depend on each array that instructions write.
    readers: FxHashMap<ArrayId, Vec<(ExprId, usize)>>,
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
            readers: FxHashMap::default(),
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
        let mut block = Block { chunk, sets, nodes: nodes.into_iter().collect(), units, n_clocks };
        skip::complete(&mut block);
        block
    }

    // Sets and dependences.

    fn set(&mut self, mut inames: Vec<InameId>) -> Result<SetId, Error> {
        inames.sort_by_key(|iname| self.inames.get_index_of(iname));
        inames.dedup();
        self.set_in_order(inames)
    }

    /// The set whose points are in the order of these inames, which differ.
    fn set_in_order(&mut self, inames: Vec<InameId>) -> Result<SetId, Error> {
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

    fn unsupported(&self, reason: &str) -> Error {
        Error::Unsupported { instruction: self.context.kernel.name.clone(), reason: reason.to_owned() }
    }
}
