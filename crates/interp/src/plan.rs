//! Cuts a linearization into blocks: parts that run instruction by instruction over all their points at once.
//!
//! # Input
//! A linearized kernel and parameter values.
//! # Output
//! [`Code`]: loops and conditions around [`Block`]s.
//! # Method
//! The outermost loop whose body may be *distributed* (each instruction run over all points before the next) is a block, if
//! its points are few enough; else it becomes an outer loop and its body is looked at. Distribution is legal if, for each
//! array that the block writes,
//! - only one instruction accesses it: if that reads what it wrote at other points, the reading nodes become a chain; or
//! - every access has the same affine indices, which tell the points of all loops apart: then only accesses at the same point
//!   meet, and they keep their order; or
//! - every read comes after an unconditional write with the same indices in the same loops or loops around: then the
//!   value is handed over without memory.
//! # Complexity
//! Linear in the expression DAG for each loop level.

mod nest;

use std::sync::Arc;

use nestegg_ir::linearization::{LoopTree, to_tree};
use nestegg_ir::types::Type;
use nestegg_ir::{ExprId, InameId, InsnId, InstructionKind, LinearizedKernel};
use rustc_hash::FxHashMap;

use crate::builder::{Builder, Context, Entry, Functions, Refusal};
use crate::domain::{Bounds, Domains};
use crate::error::Error;
use crate::memory::Layout;
use crate::node::{Block, Chunk, Step};
use crate::plan::nest::Nest;
use crate::source::Source;
use crate::world::Function;

/// A block evaluates at most about this many points of a node at once.
pub(crate) const MAX_POINTS: u64 = 512;

/// A compiled kernel.
pub(crate) struct Code {
    pub(crate) layouts: Vec<Layout>,
    pub(crate) functions: Vec<Function>,
    pub(crate) steps: Vec<Step>,
    pub(crate) blocks: Vec<Block>,
    /// For each instruction that is a call: its function's position.
    pub(crate) calls: FxHashMap<InsnId, usize>,
}

impl Code {
    /// How many points the innermost loops and reductions have, as if all domains were boxes: a run takes more steps, but where domains are no
    /// boxes, or conditions do not hold.
    pub(crate) fn n_points(&self) -> u64 {
        self.n_points_of(&self.steps)
    }

    /// How many values a run computes, as if all nodes were on all these points.
    pub(crate) fn n_values(&self) -> u64 {
        self.blocks.iter().map(|block| block.nodes.len() as u64).sum::<u64>().saturating_mul(self.n_points())
    }

    fn n_points_of(&self, steps: &[Step]) -> u64 {
        let product = |bounds: &[Arc<Bounds>]| bounds.iter().fold(1_u64, |res, it| res.saturating_mul(it.max_len()));
        let of_step = |step: &Step| match step {
            Step::Loop { bounds, body, .. } => bounds.max_len().saturating_mul(self.n_points_of(body)),
            Step::Branch { body, .. } => self.n_points_of(body),
            Step::Block(block) => self.blocks[*block].sets.iter().map(|set| product(&set.bounds)).max().unwrap_or(1),
            Step::Call { .. } | Step::Opaque { .. } => 1,
        };
        steps.iter().map(of_step).fold(0, u64::saturating_add)
    }
}

/// Compiles a kernel for these parameter values; blocks evaluate about `max_points` points of a node at once.
pub(crate) fn compile(linearized: &LinearizedKernel, parameters: &[i64], max_points: u64) -> Result<Code, Error> {
    let kernel = &linearized.kernel;
    let mut domains = Domains::new(kernel, parameters)?;
    let source = Source::new(kernel, parameters)?;
    let layouts = Layout::all(kernel, &source)?;
    let mut functions = Functions::default();
    let tree = to_tree(&linearized.linearization)?;
    let mut planner = Planner {
        context: Context {
            kernel,
            source: &source,
            layouts: &layouts,
            domains: &mut domains,
            functions: &mut functions,
        },
        max_points,
        blocks: Vec::new(),
        calls: FxHashMap::default(),
    };
    let steps = planner.level(&tree, &mut Vec::new())?;
    let Planner { blocks, calls, .. } = planner;
    Ok(Code { layouts, functions: functions.list, steps, blocks, calls })
}

struct Planner<'a, 'k> {
    context: Context<'a, 'k>,
    max_points: u64,
    blocks: Vec<Block>,
    calls: FxHashMap<InsnId, usize>,
}

impl Planner<'_, '_> {
    /// Loops nest at most `MAX_NESTING` deep.
    fn level(&mut self, tree: &[LoopTree], open: &mut Vec<InameId>) -> Result<Vec<Step>, Error> {
        let source = self.context.source;
        let plain = |node: &LoopTree| {
            let LoopTree::Run(insn) = node else { return None };
            let instruction = &source.instructions[insn.index()];
            let is_assignment = matches!(instruction.kind, InstructionKind::Assignment { .. });
            (is_assignment && instruction.predicates.is_empty()).then_some(*insn)
        };
        let mut steps = Vec::new();
        let mut rest = tree;
        while let Some(node) = rest.first() {
            let insns: Vec<InsnId> = rest.iter().map_while(plain).collect();
            rest = &rest[insns.len().max(1)..];
            if !insns.is_empty() {
                steps.push(self.assignments(&insns, open)?);
                continue;
            }
            match node {
                LoopTree::Run(insn) => steps.push(self.run(*insn, open)?),
                LoopTree::Branch { condition, body } => {
                    let condition = self.context.source.inlined[condition.index()];
                    let block = self.values(None, &[&[condition]], &[Type::Bool], open)?;
                    steps.push(Step::Branch { block, body: self.level(body, open)? });
                }
                LoopTree::Loop { iname, body } => {
                    let bounds = self.context.domains.bounds(*iname, open)?;
                    if let Some(block) = self.block(node, open)? {
                        steps.push(Step::Block(block));
                        continue;
                    }
                    open.push(*iname);
                    let body = self.level(body, open)?;
                    open.pop();
                    steps.push(Step::Loop { iname: *iname, bounds, body });
                }
            }
        }
        Ok(steps)
    }

    fn add(&mut self, block: Block) -> usize {
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// A block of units that only compute values, one for each list.
    fn values(
        &mut self,
        insn: Option<InsnId>,
        exprs: &[&[ExprId]],
        types: &[Type],
        open: &[InameId],
    ) -> Result<usize, Error> {
        let mut builder = Builder::new(&mut self.context, open, &[], None)?;
        for list in exprs {
            builder.add_values(insn, list, types)?;
        }
        let block = builder.finish(None);
        Ok(self.add(block))
    }

    /// Assignments one after the other at one point; what they have in common is computed once.
    fn assignments(&mut self, insns: &[InsnId], open: &[InameId]) -> Result<Step, Error> {
        let source = self.context.source;
        let mut builder = Builder::new(&mut self.context, open, &[], None)?;
        for &insn in insns {
            let entry =
                Entry { insn, loops: Vec::new(), conditions: Vec::new(), volatile: Vec::new(), is_forwarded: false };
            match builder.add_assignment(&entry) {
                Ok(()) => {}
                Err(Refusal::Error(error)) => return Err(error),
                Err(Refusal::NotABlock) => {
                    let instruction = source.instructions[insn.index()].id.clone();
                    let reason = "it cannot be run at a point".to_owned();
                    return Err(Error::Unsupported { instruction, reason });
                }
            }
        }
        let block = builder.finish(None);
        Ok(Step::Block(self.add(block)))
    }

    /// One instruction at one point.
    fn run(&mut self, insn: InsnId, open: &[InameId]) -> Result<Step, Error> {
        let source = self.context.source;
        let instruction = &source.instructions[insn.index()];
        let step = match &instruction.kind {
            InstructionKind::Assignment { .. } => return self.assignments(&[insn], open),
            InstructionKind::Call { assignees, function, arguments } => {
                let mut lists: Vec<&[ExprId]> = vec![arguments];
                lists.extend(assignees.iter().map(|assignee| &*assignee.indices));
                let block = self.values(Some(insn), &lists, &[], open)?;
                let name = &self.context.kernel[*function];
                self.calls.insert(insn, self.context.functions.position(name, arguments.len()));
                Step::Call { insn, block }
            }
            InstructionKind::Opaque { .. } => Step::Opaque { insn },
        };
        self.guarded(&instruction.predicates, step, open)
    }

    fn guarded(&mut self, predicates: &[ExprId], step: Step, open: &[InameId]) -> Result<Step, Error> {
        let mut step = step;
        for &predicate in predicates.iter().rev() {
            let block = self.values(None, &[&[predicate]], &[Type::Bool], open)?;
            step = Step::Branch { block, body: vec![step] };
        }
        Ok(step)
    }

    /// The block of a loop, if it can be one.
    fn block(&mut self, tree: &LoopTree, open: &[InameId]) -> Result<Option<usize>, Error> {
        let mut nest = Nest::default();
        if !nest.collect(self.context.source, tree) {
            return Ok(None);
        }
        let LoopTree::Loop { iname: outermost, .. } = tree else { return Ok(None) };
        let is_tied = |iname: &InameId, domains: &Domains| domains.tied(*iname).len() > 1;
        if nest.reopened.iter().any(|iname| is_tied(iname, self.context.domains))
            || !nest.distribute(self.context.source)
        {
            return Ok(None);
        }
        let bounds = self.context.domains.bounds(*outermost, open)?;
        let mut builder = Builder::new(&mut self.context, open, &nest.inames, Some(*outermost))?;
        for entry in &nest.entries {
            match builder.add_assignment(entry) {
                Ok(()) => {}
                Err(Refusal::NotABlock) => return Ok(None),
                Err(Refusal::Error(error)) => return Err(error),
            }
        }
        // A piece of one point is better a loop around the block: what stays the same is then not enumerated again.
        let Ok(len @ 2..) = usize::try_from(self.max_points / builder.max_points().max(1)) else { return Ok(None) };
        let block = builder.finish(Some(Chunk { iname: *outermost, bounds: Arc::clone(&bounds), len }));
        Ok(Some(self.add(block)))
    }
}
