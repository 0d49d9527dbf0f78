//! The loop over lanes, put inside every loop.
//!
//! # Input
//! A kernel without substitution rules, what is varying in it, and the inames of block and lane. Blocks of one element have no lane, and nothing varies in them.
//! # Output
//! Varying instructions run in loops over the lane that hold nothing but runs; their accesses name the element. Adjacent
//! ones share a loop.
//! # Complexity
//! Linear in the kernel.

use nestegg_ir::names::Names;
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Domain, DomainId, Dtype, Expr, ExprId, Iname, InameId, InameTag, InsnId,
    Instruction, InstructionKind, Kernel, LoopTree, Op, ParameterId,
};

use super::{BatchLayout, Pair, varying};

/// Adds the inames of blocks and lanes, each with its name and domain.
pub(super) fn add_inames(
    kernel: &mut Kernel,
    block: (String, String),
    lane: Option<(String, String)>,
    parameters: &[ParameterId],
) -> Pair {
    let mut add = |(name, text): (String, String), tags: Vec<InameTag>, enclosing: Vec<InameId>| {
        let (domain, iname) = (DomainId::new(kernel.domains.len()), InameId::new(kernel.inames.len()));
        kernel.domains.push(Domain { text, inames: vec![iname], enclosing, parameters: parameters.to_vec() });
        kernel.inames.push(Iname { name, tags, domain });
        iname
    };
    let block = add(block, Vec::new(), Vec::new());
    (block, lane.map(|lane| add(lane, vec![InameTag::Vec], vec![block])))
}

/// How an access names its element.
pub(super) enum Element {
    /// By an axis of these arguments.
    Argument {
        /// The arguments.
        own: Vec<ArrayId>,
        /// Which axis.
        layout: BatchLayout,
    },
    /// By the value of an iname.
    Iname(InameId),
}

/// The pass at work.
pub(super) struct Lanes {
    pub(super) kernel: Kernel,
    names: Names,
    element: Element,
    /// Arrays.
    varying: Vec<bool>,
    /// Expressions, as they were before the pass.
    varying_exprs: Vec<bool>,
    block: InameId,
    lane: Option<InameId>,
    /// W.
    n_lanes: ExprId,
    /// `block`, `lane`, and `W*block + lane`.
    exprs: [ExprId; 3],
    open: Vec<InameId>,
}

impl Lanes {
    /// Gives the varying temporaries their lanes.
    pub(super) fn new(
        mut kernel: Kernel,
        names: Names,
        element: Element,
        varying: Vec<bool>,
        (block, lane): Pair,
        width: i64,
    ) -> Self {
        let iname = match element {
            Element::Iname(iname) => Some(iname),
            Element::Argument { .. } => None,
        };
        let varying_exprs = varying::expressions(&kernel, &varying, iname);
        let n_lanes = kernel.exprs.int(width);
        for (array, is_varying) in kernel.arrays.iter_mut().zip(&varying) {
            if *is_varying && array.is_temporary() {
                array.shape.push(n_lanes);
            }
        }
        let of_block = kernel.exprs.iname(block);
        let exprs = match lane {
            None => [of_block, kernel.exprs.int(0), of_block],
            Some(lane) => {
                let of_lane = kernel.exprs.iname(lane);
                let first = kernel.exprs.op(Op::Mul, [n_lanes, of_block]);
                [of_block, of_lane, kernel.exprs.op(Op::Add, [first, of_lane])]
            }
        };
        Self { kernel, names, element, varying, varying_exprs, block, lane, n_lanes, exprs, open: Vec::new() }
    }

    /// A tree inside the loop over blocks.
    pub(super) fn tree(&mut self, tree: &[LoopTree]) -> Vec<LoopTree> {
        self.sequence(tree, None)
    }

    /// Loops nest at most [`MAX_NESTING`](nestegg_ir::linearization::MAX_NESTING) deep.
    fn sequence(&mut self, tree: &[LoopTree], mask: Option<ExprId>) -> Vec<LoopTree> {
        let mut res: Vec<LoopTree> = Vec::new();
        for node in tree {
            match node {
                LoopTree::Loop { iname, body } => {
                    self.open.push(*iname);
                    let body = self.sequence(body, mask);
                    self.open.pop();
                    res.push(LoopTree::Loop { iname: *iname, body });
                }
                LoopTree::Branch { condition, body } if self.varying_exprs[condition.index()] => {
                    let mask = self.mask(*condition, mask, &mut res);
                    res.extend(self.sequence(body, Some(mask)));
                }
                LoopTree::Branch { condition, body } => {
                    let condition = self.rewrite(&[*condition])[0];
                    let body = self.sequence(body, mask);
                    res.push(LoopTree::Branch { condition, body });
                }
                LoopTree::Run(insn) => self.run(*insn, mask, &mut res),
            }
        }
        res
    }

    fn run(&mut self, insn: InsnId, mask: Option<ExprId>, res: &mut Vec<LoopTree>) {
        let written = self.kernel[insn].written_arrays();
        let is_own = |array: ArrayId| match &self.element {
            Element::Argument { .. } => self.varying[array.index()],
            // In place arguments are written where the iname of elements says.
            Element::Iname(_) => self.varying[array.index()] || self.kernel[array].is_argument(),
        };
        let is_varying = written.iter().any(|&array| is_own(array));
        let mut instruction = self.kernel[insn].clone();
        let roots: Vec<ExprId> = instruction.expressions().collect();
        let rewritten = self.rewrite(&roots);
        let mut rewritten = roots.into_iter().zip(rewritten).collect::<rustc_hash::FxHashMap<_, _>>();
        instruction.map_expressions(|id| *rewritten.entry(id).or_insert(id));
        match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => self.extend(assignee),
            InstructionKind::Call { assignees, .. } => assignees.iter_mut().for_each(|assignee| self.extend(assignee)),
            InstructionKind::Opaque { .. } => {}
        }
        instruction.within.retain(|&iname| !matches!(self.element, Element::Iname(element) if element == iname));
        instruction.within.insert(0, self.block);
        let lane = self.lane.filter(|_| is_varying);
        instruction.within.extend(lane);
        if let Some(mask) = mask {
            instruction.predicates.insert(0, mask);
        }
        self.kernel[insn] = instruction;
        in_lanes(lane, insn, res);
    }

    /// A new mask: whether a condition holds for each lane where `outer` does.
    fn mask(&mut self, condition: ExprId, outer: Option<ExprId>, res: &mut Vec<LoopTree>) -> ExprId {
        let condition = self.rewrite(&[condition])[0];
        let value = match outer {
            Some(outer) => self.kernel.exprs.op(Op::And, [outer, condition]),
            None => condition,
        };
        let (array, insn) = (ArrayId::new(self.kernel.arrays.len()), InsnId::new(self.kernel.instructions.len()));
        let name = self.names.new_name("mask");
        let shape = vec![self.n_lanes];
        self.kernel.arrays.push(Array {
            name: name.clone(),
            dtype: Dtype::Bool,
            stored: None,
            shape,
            kind: ArrayKind::Temporary,
        });
        self.varying.push(true);
        let assignee = Assignee { array, indices: Box::new([self.exprs[1]]) };
        self.kernel.instructions.push(Instruction {
            id: self.names.new_name(&format!("set_{name}")),
            kind: InstructionKind::Assignment { assignee, expression: value },
            within: [self.block].into_iter().chain(self.open.iter().copied()).chain(self.lane).collect(),
            depends_on: Vec::new(),
            predicates: Vec::new(),
        });
        in_lanes(self.lane, insn, res);
        self.kernel.exprs.access(array, [self.exprs[1]])
    }

    fn extend(&self, assignee: &mut Assignee) {
        let indices = std::mem::take(&mut assignee.indices).into_vec();
        assignee.indices = self.indices(assignee.array, indices).into();
    }

    /// The indices of an access with those of its element.
    fn indices(&self, array: ArrayId, mut indices: Vec<ExprId>) -> Vec<ExprId> {
        let [block, lane, element] = self.exprs;
        match &self.element {
            Element::Argument { own, layout } if own.contains(&array) => match layout {
                BatchLayout::Contiguous => indices.insert(0, element),
                BatchLayout::Interleaved => {
                    indices.insert(0, block);
                    indices.push(lane);
                }
            },
            _ if self.varying[array.index()] => indices.push(lane),
            _ => {}
        }
        indices
    }

    /// Expressions with the elements of their accesses.
    fn rewrite(&mut self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut exprs = std::mem::take(&mut self.kernel.exprs);
        let rewritten = exprs.rewrite(roots.iter().copied(), |exprs, _, expr| match expr {
            Expr::Access { array, indices } => {
                let indices = self.indices(array, indices.into_vec());
                exprs.access(array, indices)
            }
            Expr::Iname(iname) if matches!(self.element, Element::Iname(element) if element == iname) => self.exprs[2],
            other => exprs.intern(other),
        });
        self.kernel.exprs = exprs;
        roots.iter().map(|&root| rewritten.get(root)).collect()
    }
}

/// Puts a run into the loop over lanes that ends the sequence, or into a new one; without a lane it stands alone.
fn in_lanes(lane: Option<InameId>, insn: InsnId, res: &mut Vec<LoopTree>) {
    match (lane, res.last_mut()) {
        (None, _) => res.push(LoopTree::Run(insn)),
        (Some(lane), Some(LoopTree::Loop { iname, body })) if *iname == lane => body.push(LoopTree::Run(insn)),
        (Some(lane), _) => res.push(LoopTree::Loop { iname: lane, body: vec![LoopTree::Run(insn)] }),
    }
}
