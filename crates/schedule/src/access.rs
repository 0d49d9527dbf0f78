//! What an instruction reads and writes, by element as far as that is known.

use std::collections::BTreeMap;
use std::rc::Rc;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel, Licence, Op, ReduceOp};
use rustc_hash::{FxHashMap, FxHashSet};

use nestegg_ir::walk::below;

/// How an access touches its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Touch {
    /// Its value is used.
    Read,
    /// It gets a value.
    Write,
    /// `x = x ∘ e`: accumulations into one element by one operation commute, up to rounding. Whatever `e` reads, even of `x`'s array, counts as a read.
    Accumulate(ReduceOp),
}

impl Touch {
    /// Whether the order of two touches of one element makes no difference.
    pub(crate) fn commutes(self, other: Self) -> bool {
        self == other && self != Self::Write
    }

    /// Whether the element may change.
    pub(crate) fn changes(self) -> bool {
        self != Self::Read
    }
}

/// An access of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    /// Which array; [`Accesses::outside`] stands for everything that only opaque instructions know, and each of these has one for
    /// the dependences on it and of it that are stated.
    pub(crate) array: ArrayId,
    /// What it does.
    pub(crate) touch: Touch,
    /// For each dimension its index, if it is affine in the inames that the instruction is within; `None` if nothing is
    /// known.
    pub(crate) indices: Option<Box<[Option<Rc<Affine>>]>>,
}

/// Finds accesses; keeps affine forms of index expressions.
pub(crate) struct Accesses<'a> {
    kernel: &'a Kernel,
    affine: FxHashMap<ExprId, Option<Rc<Affine>>>,
    licence: Licence,
    /// For each instruction the stated dependences on opaque instructions, or of them, that it has a part in.
    stated: BTreeMap<InsnId, Vec<InsnId>>,
}

impl<'a> Accesses<'a> {
    /// For the instructions of `kernel`. Under a strict licence an accumulation is a read and a write.
    pub(crate) fn new(kernel: &'a Kernel, licence: Licence) -> Self {
        let is_opaque = |insn: InsnId| matches!(kernel[insn].kind, InstructionKind::Opaque { .. });
        let mut stated: BTreeMap<InsnId, Vec<InsnId>> = BTreeMap::new();
        for insn in kernel.insn_ids() {
            for &other in &kernel[insn].depends_on {
                for opaque in [insn, other].into_iter().filter(|&insn| is_opaque(insn)) {
                    stated.entry(insn).or_default().push(opaque);
                    stated.entry(other).or_default().push(opaque);
                }
            }
        }
        for opaque in stated.values_mut() {
            opaque.sort_unstable();
            opaque.dedup();
        }
        Self { kernel, affine: FxHashMap::default(), licence, stated }
    }

    /// The array that stands for the stated order of an opaque instruction and others.
    fn order_of(&self, opaque: InsnId) -> ArrayId {
        ArrayId::new(self.kernel.arrays.len() + 1 + opaque.index())
    }

    /// The array that stands for what opaque instructions do beside their arrays: they keep their order.
    pub(crate) fn outside(kernel: &Kernel) -> ArrayId {
        ArrayId::new(kernel.arrays.len())
    }

    /// All accesses of an instruction, predicates included, each once.
    pub(crate) fn of(&mut self, insn: InsnId) -> Vec<Access> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let mut res = Vec::new();
        if let InstructionKind::Opaque { reads, writes, .. } = &instruction.kind {
            let unknown = |touch| move |&array: &ArrayId| Access { array, touch, indices: None };
            res.extend(reads.iter().map(unknown(Touch::Read)));
            res.extend(writes.iter().map(unknown(Touch::Write)));
            res.push(unknown(Touch::Write)(&Self::outside(kernel)));
        }
        for &opaque in self.stated.get(&insn).into_iter().flatten() {
            let touch = if opaque == insn { Touch::Write } else { Touch::Read };
            res.push(Access { array: self.order_of(opaque), touch, indices: None });
        }
        let accumulation = accumulation(kernel, instruction).filter(|_| self.licence != Licence::Strict);
        let roots: Vec<ExprId> = match accumulation {
            None => instruction.expressions().collect(),
            Some((_, added)) => {
                let others = instruction.assignees().iter().flat_map(|assignee| assignee.indices.iter().copied());
                [added].into_iter().chain(others).chain(instruction.predicates.iter().copied()).collect()
            }
        };
        res.extend(self.reads(&instruction.within, roots));
        for assignee in instruction.assignees() {
            let touch = accumulation.map_or(Touch::Write, |(op, _)| Touch::Accumulate(op));
            let indices = Some(self.indices(&instruction.within, &assignee.indices));
            res.push(Access { array: assignee.array, touch, indices });
        }
        res
    }

    /// Everything that a node touches, each access once.
    pub(crate) fn below(&mut self, node: &LoopTree) -> Vec<Access> {
        let mut seen: FxHashSet<Access> = FxHashSet::default();
        let mut res = Vec::new();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let found = match node {
                LoopTree::Run(insn) => self.of(*insn),
                LoopTree::Loop { body, .. } => {
                    pending.extend(body.iter().rev());
                    continue;
                }
                LoopTree::Branch { condition, body } => {
                    pending.extend(body.iter().rev());
                    let all: Vec<InameId> = self.kernel.iname_ids().collect();
                    self.reads(&all, [*condition])
                }
            };
            res.extend(found.into_iter().filter(|access| seen.insert(access.clone())));
        }
        res
    }

    /// What is read below some expressions, each once, in loops over `within`.
    pub(crate) fn reads(&mut self, within: &[InameId], roots: impl IntoIterator<Item = ExprId>) -> Vec<Access> {
        let kernel = self.kernel;
        let mut roots: Vec<ExprId> = roots.into_iter().collect();
        let mut rules = Vec::new();
        let mut res = Vec::new();
        let mut seen = FxHashSet::default();
        while !roots.is_empty() {
            for id in below(&kernel.exprs, std::mem::take(&mut roots)) {
                match &kernel.exprs[id] {
                    Expr::Access { array, indices } if seen.insert(id) => {
                        let indices = Some(self.indices(within, indices));
                        res.push(Access { array: *array, touch: Touch::Read, indices });
                    }
                    Expr::Substitution { rule, .. } if !rules.contains(rule) => {
                        rules.push(*rule);
                        roots.push(kernel[*rule].expression);
                    }
                    _ => {}
                }
            }
        }
        res
    }

    fn indices(&mut self, within: &[InameId], indices: &[ExprId]) -> Box<[Option<Rc<Affine>>]> {
        let exprs = &self.kernel.exprs;
        indices
            .iter()
            .map(|&index| {
                let affine =
                    self.affine.entry(index).or_insert_with(|| affine::of(exprs, index).map(Rc::new)).clone()?;
                let is_known = affine.inames().all(|iname| within.contains(&iname));
                is_known.then_some(affine)
            })
            .collect()
    }
}

/// The operation and what is accumulated, if the instruction is an accumulation.
fn accumulation(kernel: &Kernel, instruction: &Instruction) -> Option<(ReduceOp, ExprId)> {
    let InstructionKind::Assignment { assignee, expression } = &instruction.kind else {
        return None;
    };
    let Expr::Op { op, operands } = &kernel.exprs[*expression] else {
        return None;
    };
    let reduce = match op {
        Op::Add | Op::Sub => ReduceOp::Sum,
        Op::Mul => ReduceOp::Product,
        Op::Min => ReduceOp::Min,
        Op::Max => ReduceOp::Max,
        _ => return None,
    };
    let [target, added] = **operands else {
        return None;
    };
    let is_target = |id: ExprId| assignee.is_read_by(&kernel.exprs, id);
    let added = match (is_target(target), is_target(added)) {
        (true, false) => added,
        (false, true) if *op != Op::Sub => target,
        _ => return None,
    };
    let others = assignee.indices.iter().chain(&instruction.predicates).copied();
    (!nestegg_ir::walk::reads(&kernel.exprs, others, assignee.array)).then_some((reduce, added))
}
