//! The loops and conditions of a linearization as an arena: the position of each instruction, and the nodes that
//! enclose it.
//!
//! Positions are indices into the linearization; a node covers the positions from its first item to the one after its
//! last.

use std::ops::Range;

use nestegg_ir::linearization::NestingError;
use nestegg_ir::{ExprId, InameId, InsnId, Item, Kernel, Linearization};

/// A loop, a condition, or the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The whole program.
    pub(crate) const ROOT: Self = Self(0);

    /// Position among the nodes.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// The whole program.
    Root,
    /// A loop over an iname.
    Loop(InameId),
    /// A condition, as written.
    Branch(ExprId),
}

/// A loop, a condition, or the whole program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// The innermost node around it; the root's is the root.
    pub(crate) parent: NodeId,
    /// Position of its first item.
    pub(crate) start: usize,
    /// Position after its last item.
    pub(crate) end: usize,
    /// How many nodes are around it.
    depth: usize,
}

/// Why a linearization is not the program of its kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NestError {
    /// Loops and conditions do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// An instruction runs at two places.
    #[error("instruction `{insn}` runs twice in the linearization")]
    RunTwice {
        /// Its id.
        insn: String,
    },
    /// An instruction is nowhere run.
    #[error("instruction `{insn}` does not run in the linearization")]
    NotRun {
        /// Its id.
        insn: String,
    },
}

/// The arena.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    nodes: Vec<Node>,
    /// For each instruction its position and the innermost node around it.
    places: Vec<(usize, NodeId)>,
    /// For each position the instruction that runs there, or the node that begins there.
    items: Vec<Option<Entry>>,
}

/// What begins at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An instruction runs.
    Run(InsnId),
    /// A loop or condition begins.
    Begin(NodeId),
}

impl Nest {
    /// The arena of a linearization, in which every instruction runs once.
    pub(crate) fn new(kernel: &Kernel, linearization: &Linearization) -> Result<Self, NestError> {
        nestegg_ir::linearization::to_tree(linearization)?;
        let root = Node { kind: NodeKind::Root, parent: NodeId::ROOT, start: 0, end: linearization.len(), depth: 0 };
        let mut res = Self { nodes: vec![root], places: Vec::new(), items: Vec::with_capacity(linearization.len()) };
        let mut places: Vec<Option<(usize, NodeId)>> = vec![None; kernel.instructions.len()];
        let mut open = NodeId::ROOT;
        for (position, item) in linearization.iter().enumerate() {
            let entry = match *item {
                Item::For(iname) => Some(res.begin(NodeKind::Loop(iname), open, position)),
                Item::If(condition) => Some(res.begin(NodeKind::Branch(condition), open, position)),
                Item::End(_) | Item::EndIf => {
                    res.nodes[open.index()].end = position + 1;
                    open = res[open].parent;
                    None
                }
                Item::Run(insn) => {
                    if places[insn.index()].replace((position, open)).is_some() {
                        return Err(NestError::RunTwice { insn: kernel[insn].id.clone() });
                    }
                    Some(Entry::Run(insn))
                }
            };
            if let Some(Entry::Begin(node)) = entry {
                open = node;
            }
            res.items.push(entry);
        }
        for (insn, place) in kernel.insn_ids().zip(places) {
            let Some(place) = place else {
                return Err(NestError::NotRun { insn: kernel[insn].id.clone() });
            };
            res.places.push(place);
        }
        Ok(res)
    }

    fn begin(&mut self, kind: NodeKind, parent: NodeId, start: usize) -> Entry {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("a linearization has fewer than 2^32 items"));
        self.nodes.push(Node { kind, parent, start, end: start, depth: self[parent].depth + 1 });
        Entry::Begin(id)
    }

    /// What begins at each position; nothing where a node ends.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        self.entries_in(0..self.items.len())
    }

    /// What begins at each of some positions.
    pub(crate) fn entries_in(&self, positions: Range<usize>) -> impl Iterator<Item = (usize, Entry)> + '_ {
        positions.filter_map(|position| Some((position, self.items[position]?)))
    }

    /// The instruction that runs at a position.
    pub(crate) fn run_at(&self, position: usize) -> InsnId {
        match self.items[position] {
            Some(Entry::Run(insn)) => insn,
            _ => unreachable!("positions of instructions come from `position`"),
        }
    }

    /// The number of nodes.
    pub(crate) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Where the instruction runs.
    pub(crate) fn position(&self, insn: InsnId) -> usize {
        self.places[insn.index()].0
    }

    /// The innermost node around the instruction.
    pub(crate) fn home(&self, insn: InsnId) -> NodeId {
        self.places[insn.index()].1
    }

    /// The nodes from `node` outwards to the root, both included.
    pub(crate) fn outwards(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let res = next?;
            next = (res != NodeId::ROOT).then(|| self[res].parent);
            Some(res)
        })
    }

    /// The nodes from `node` outwards that are inside `outer`; `outer` is not among them.
    pub(crate) fn below(&self, node: NodeId, outer: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.outwards(node).take_while(move |&id| id != outer)
    }

    /// The loops around `node`, itself included, innermost first.
    pub(crate) fn loops(&self, node: NodeId) -> impl Iterator<Item = InameId> + '_ {
        self.outwards(node).filter_map(|id| match self[id].kind {
            NodeKind::Loop(iname) => Some(iname),
            _ => None,
        })
    }
}

impl std::ops::Index<NodeId> for Nest {
    type Output = Node;

    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}
