//! Runs compiled code in one world.
//!
//! The machine keeps a clock of changes: of each outer iname, array and set of points it knows when it last changed, and of each
//! group of nodes when it was last evaluated. A group runs again only if one of its dependences is newer. Values that do not
//! depend on the loops around them are therefore computed once, wherever they stand.
//!
//! Where the mask of a unit fails, what only the unit needs is left out: before the first point and after the last at which it runs. Such points are
//! counted as if they were evaluated, so that a run takes the same steps.
//!
//! A world may have no value for an operation that C does have one for, as the prime field for a quotient by zero. It is
//! undefined, and so is what is computed from it, element by element of the arrays; what an undefined condition
//! decides on is undefined as a whole: all elements that may be written under it, and all that an undefined index may mean.

mod call;
mod store;
#[cfg(test)]
mod tests;
mod traps;

use nestegg_ir::{ArrayId, InameId, InsnId, Kernel};

use crate::domain::Values;
use crate::error::{Error, Trap};
use crate::evaluate::{Range, Reader, State};
use crate::machine::call::Scalar;
use crate::memory::Storage;
use crate::node::{Action, Block, Dep, Group, GroupAt, NodeId, Step, Unit};
use crate::plan::Code;
use crate::world::Batch;

/// A run of a kernel.
pub(crate) struct Machine<'c, W: Batch> {
    world: &'c W,
    kernel: &'c Kernel,
    code: &'c Code,
    pub(crate) memory: Vec<Storage<W::Float>>,
    states: Vec<State<W::Float>>,
    chunks: Vec<Vec<i64>>,
    env: Vec<i64>,
    open: Vec<InameId>,
    clock: u64,
    iname_at: Vec<u64>,
    array_at: Vec<u64>,
    steps: u64,
    max_steps: u64,
    watch: Watch,
    /// Why nobody knows whether what runs now runs at all, if so: a condition around it is undefined.
    doubt: Option<Trap>,
}

/// What is seen of a run: the instruction that wrote an element last, and how long the run was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watch {
    element: Option<(ArrayId, usize)>,
    pub(crate) last_writer: Option<InsnId>,
    /// Steps of the run.
    pub(crate) n_steps: u64,
    /// Points at which nodes were evaluated, those of chains apart.
    #[cfg(test)]
    n_evaluated: u64,
}

impl Watch {
    /// Watches the element at a flat position.
    pub(crate) fn of(array: ArrayId, position: usize) -> Self {
        Self { element: Some((array, position)), ..Self::default() }
    }

    #[inline(always)]
    fn see(&mut self, array: ArrayId, position: usize, insn: InsnId) {
        if self.element == Some((array, position)) {
            self.last_writer = Some(insn);
        }
    }

    fn see_all(&mut self, array: ArrayId, insn: InsnId) {
        if self.element.is_some_and(|element| element.0 == array) {
            self.last_writer = Some(insn);
        }
    }
}

/// Runs `code` from `memory`; the arrays at the end. `watch` tells what it saw.
pub(crate) fn execute<W: Batch>(
    world: &W,
    kernel: &Kernel,
    code: &Code,
    memory: Vec<Storage<W::Float>>,
    max_steps: u64,
    watch: &mut Watch,
) -> Result<Vec<Storage<W::Float>>, Error> {
    let mut machine = Machine {
        world,
        kernel,
        code,
        memory,
        states: code.blocks.iter().map(State::new).collect(),
        chunks: vec![Vec::new(); code.blocks.len()],
        env: vec![0; kernel.inames.len()],
        open: Vec::new(),
        clock: 1,
        iname_at: vec![1; kernel.inames.len()],
        array_at: vec![1; kernel.arrays.len()],
        steps: 0,
        max_steps,
        watch: *watch,
        doubt: None,
    };
    machine.run(&code.steps)?;
    *watch = Watch { n_steps: machine.steps, ..machine.watch };
    Ok(machine.memory)
}

impl<W: Batch> Machine<'_, W> {
    /// Steps nest at most as deep as the linearization.
    fn run(&mut self, steps: &[Step]) -> Result<(), Error> {
        let code = self.code;
        for step in steps {
            match step {
                Step::Loop { iname, bounds, body } => {
                    let values = bounds.values(&mut self.env).ok_or_else(|| self.unbounded(*iname))?;
                    self.run_loop(*iname, &values, body)?;
                }
                Step::Branch { block, body } => {
                    self.run_piece(*block, None)?;
                    match self.scalars(*block, 0, "if") {
                        Ok(values) if values[0] == Scalar::Int(0) => {}
                        Ok(_) => self.run(body)?,
                        Err(Error::Trap { trap, .. }) if trap.is_gap() || self.doubt.is_some() => {
                            let outer = self.doubt.replace(trap);
                            self.run(body)?;
                            self.doubt = outer;
                        }
                        Err(error) => return Err(error),
                    }
                }
                Step::Block(block) => match &code.blocks[*block].chunk {
                    None => self.run_piece(*block, None)?,
                    Some(chunk) => {
                        let values = chunk.bounds.values(&mut self.env).ok_or_else(|| self.unbounded(chunk.iname))?;
                        let (mut piece, mut start) = (Vec::with_capacity(chunk.len), 0);
                        while start < values.len() {
                            let end = values.len().min(start + chunk.len);
                            piece.clear();
                            piece.extend((start..end).map(|idx| values.get(idx)));
                            self.run_piece(*block, Some((chunk.iname, &piece)))?;
                            start = end;
                        }
                    }
                },
                Step::Call { insn, block } => self.run_call(*insn, *block)?,
                Step::Opaque { insn } => self.run_opaque(*insn)?,
            }
        }
        Ok(())
    }

    fn unbounded(&self, iname: InameId) -> Error {
        Error::Unbounded { iname: self.kernel[iname].name.clone() }
    }

    fn run_loop(&mut self, iname: InameId, values: &Values, body: &[Step]) -> Result<(), Error> {
        self.open.push(iname);
        for value in values.iter() {
            self.count(1)?;
            self.env[iname.index()] = value;
            self.clock += 1;
            self.iname_at[iname.index()] = self.clock;
            self.run(body)?;
            // Blocks use the entries of their own inames, and loops may be inside one another's bounds.
            self.env[iname.index()] = value;
        }
        self.open.pop();
        Ok(())
    }

    fn count(&mut self, steps: u64) -> Result<(), Error> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.max_steps { Err(Error::StepLimit { limit: self.max_steps }) } else { Ok(()) }
    }

    // Blocks.

    fn run_piece(&mut self, block_idx: usize, chunk: Option<(InameId, &[i64])>) -> Result<(), Error> {
        let block = &self.code.blocks[block_idx];
        self.refresh_points(block_idx, block, chunk)?;
        for unit in &block.units {
            self.make_up_for(block_idx, &unit.skip.before_mask);
            self.run_groups(block_idx, unit, &unit.mask_groups, Range::ALL)?;
            let range = self.running(block_idx, unit);
            if !range.is_empty() {
                self.make_up_for(block_idx, &unit.skip.before);
            }
            self.run_groups(block_idx, unit, &unit.groups, range)?;
            match &unit.action {
                Action::Values(_) => {}
                Action::Store { chain, .. } if chain.is_empty() => self.store(block_idx, unit, range)?,
                Action::Store { .. } => self.store_chain(block_idx, unit, range)?,
            }
        }
        Ok(())
    }

    fn refresh_points(
        &mut self,
        block_idx: usize,
        block: &Block,
        chunk: Option<(InameId, &[i64])>,
    ) -> Result<(), Error> {
        let is_new_chunk = chunk.is_some_and(|(_, values)| self.chunks[block_idx] != values);
        if let Some((_, values)) = chunk.filter(|_| is_new_chunk) {
            self.chunks[block_idx].clear();
            self.chunks[block_idx].extend(values);
        }
        let state = &mut self.states[block_idx];
        for (idx, set) in block.sets.iter().enumerate() {
            let at = state.points_at[idx];
            let is_old = at == 0
                || (set.is_chunked && is_new_chunk)
                || set.outer.iter().any(|outer| self.iname_at[outer.index()] > at);
            if is_old {
                let Some(is_shifted) = state.points[idx].fill(set, &mut self.env, chunk) else {
                    let iname = set.inames.last().map(|&iname| self.kernel[iname].name.clone()).unwrap_or_default();
                    return Err(Error::Unbounded { iname });
                };
                self.clock += 1;
                state.points_at[idx] = self.clock;
                if at == 0 || !is_shifted {
                    state.shape_at[idx] = self.clock;
                }
            }
        }
        Ok(())
    }

    /// Evaluates groups at the points `range` of their unit. Steps are counted as if it were at all points.
    fn run_groups(&mut self, block_idx: usize, unit: &Unit, groups: &[Group], range: Range) -> Result<(), Error> {
        let mut steps = 0;
        for (position, group) in groups.iter().enumerate() {
            let (state, block) = (&mut self.states[block_idx], &self.code.blocks[block_idx]);
            let at = state.groups_at[group.clock];
            let is_old = at == 0
                || group.deps.iter().any(|dep| match dep {
                    Dep::Iname(iname) => self.iname_at[iname.index()] > at,
                    Dep::Array(array) => self.array_at[array.index()] > at,
                    Dep::Points(set) => state.points_at[set.index()] > at,
                });
            if is_old {
                let len = |node: &NodeId| state.points[block.nodes[node.index()].set.index()].len as u64;
                steps += group.nodes.iter().map(len).sum::<u64>();
                state.groups_at[group.clock] = self.clock;
                state.held[group.clock] = Range::NONE;
            }
            if !state.held[group.clock].holds(range) {
                let is_shared = unit.skip.is_shared.get(position) == Some(&true);
                self.evaluate(block_idx, unit, group, if is_shared { Range::ALL } else { range });
            }
        }
        self.count(steps)
    }

    /// Evaluates groups of other units that these have left out, wholly or in part.
    fn make_up_for(&mut self, block_idx: usize, groups: &[GroupAt]) {
        for &(unit, position) in groups {
            let unit = &self.code.blocks[block_idx].units[unit];
            let group = &unit.groups[position];
            if !self.states[block_idx].held[group.clock].holds(Range::ALL) {
                self.evaluate(block_idx, unit, group, Range::ALL);
            }
        }
    }

    fn evaluate(&mut self, block_idx: usize, unit: &Unit, group: &Group, range: Range) {
        let (state, block) = (&mut self.states[block_idx], &self.code.blocks[block_idx]);
        let reader = Reader::new(self.world, self.code, block, &self.memory, &self.env);
        for &node in &group.nodes {
            let set = block.nodes[node.index()].set;
            let follows = range != Range::ALL && unit.skip.follows[set.index()];
            let range = reader.over(state, set, unit.set, if follows { range } else { Range::ALL });
            reader.evaluate(state, node, range);
            #[cfg(test)]
            {
                self.watch.n_evaluated += (range.hi - range.lo) as u64;
            }
        }
        state.held[group.clock] = range;
    }

    /// The points from the first to the last at which a unit runs, or at which nobody knows whether it does.
    fn running(&self, block_idx: usize, unit: &Unit) -> Range {
        let Some(mask) = unit.mask else { return Range::ALL };
        let state = &self.states[block_idx];
        let len = state.points[unit.set.index()].len;
        let runs =
            |&point: &usize| (state.n_poisoned > 0 && state.poison_at(mask, point) != 0) || state.truth(mask, point);
        match ((0..len).find(runs), (0..len).rfind(runs)) {
            (Some(lo), Some(hi)) if unit.skip.follows.is_empty() || (lo, hi + 1) == (0, len) => Range::ALL,
            (Some(lo), Some(hi)) => Range { lo, hi: hi + 1 },
            _ => Range::NONE,
        }
    }
}
