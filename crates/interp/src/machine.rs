//! Runs compiled code in one world.
//!
//! The machine keeps a clock of changes: of each outer iname, array and set of points it knows when it last changed, and of each
//! group of nodes when it was last evaluated. A group runs again only if one of its dependences is newer. Values that do not
//! depend on the loops around them are therefore computed once, wherever they stand.

use nestegg_ir::{Dtype, InameId, InsnId, InstructionKind, Kernel};

use crate::domain::Values;
use crate::error::{Error, Point, Trap};
use crate::evaluate::{Range, Reader, State, flat_position};
use crate::memory::{Data, Storage};
use crate::node::{Action, Address, Block, Dep, Group, NodeId, SetId, Step, Unit};
use crate::plan::Code;
use crate::world::{World, hash_text, hash_with};

/// A run of a kernel.
pub(crate) struct Machine<'c, W: World> {
    world: W,
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
}

/// Runs `code` from `memory`; the arrays at the end.
pub(crate) fn execute<W: World>(
    world: W,
    kernel: &Kernel,
    code: &Code,
    memory: Vec<Storage<W::Float>>,
    max_steps: u64,
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
    };
    machine.run(&code.steps)?;
    Ok(machine.memory)
}

impl<W: World> Machine<'_, W> {
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
                    if self.scalars(*block, 0, "if")?[0] != Scalar::Int(0) {
                        self.run(body)?;
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
            self.run_groups(block_idx, &unit.mask_groups)?;
            self.run_groups(block_idx, &unit.groups)?;
            match &unit.action {
                Action::Values(_) => {}
                Action::Store { chain, .. } if chain.is_empty() => self.store(block_idx, unit)?,
                Action::Store { .. } => self.store_chain(block_idx, unit)?,
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
                if state.points[idx].fill(set, &mut self.env, chunk).is_none() {
                    let iname = set.inames.last().map(|&iname| self.kernel[iname].name.clone()).unwrap_or_default();
                    return Err(Error::Unbounded { iname });
                }
                self.clock += 1;
                state.points_at[idx] = self.clock;
            }
        }
        Ok(())
    }

    fn run_groups(&mut self, block_idx: usize, groups: &[Group]) -> Result<(), Error> {
        let mut steps = 0;
        let state = &mut self.states[block_idx];
        let block = &self.code.blocks[block_idx];
        for group in groups {
            let at = state.groups_at[group.clock];
            let is_old = at == 0
                || group.deps.iter().any(|dep| match dep {
                    Dep::Iname(iname) => self.iname_at[iname.index()] > at,
                    Dep::Array(array) => self.array_at[array.index()] > at,
                    Dep::Points(set) => state.points_at[set.index()] > at,
                });
            if !is_old {
                continue;
            }
            let reader = Reader {
                world: &self.world,
                block,
                layouts: &self.code.layouts,
                functions: &self.code.functions,
                memory: &self.memory,
                env: &self.env,
            };
            for &node in &group.nodes {
                let len = state.points[block.nodes[node.index()].set.index()].len;
                steps += len as u64;
                reader.evaluate(state, node, Range { lo: 0, hi: len });
            }
            state.groups_at[group.clock] = self.clock;
        }
        self.count(steps)
    }

    fn store(&mut self, block_idx: usize, unit: &Unit) -> Result<(), Error> {
        let Action::Store { array, address, value, .. } = &unit.action else { return Ok(()) };
        let block = &self.code.blocks[block_idx];
        let state = &self.states[block_idx];
        let len = state.points[unit.set.index()].len;
        let mut target =
            std::mem::replace(&mut self.memory[array.index()], Storage { data: Data::Ints(Vec::new()), is_set: None });
        let reader = Reader {
            world: &self.world,
            block,
            layouts: &self.code.layouts,
            functions: &self.code.functions,
            memory: &self.memory,
            env: &self.env,
        };
        let places = reader.places(state, array.index(), address, unit.set, Range { lo: 0, hi: len });
        let mut failure = None;
        for point in 0..len {
            match self.runs_at(state, unit, point).and_then(|runs| match runs {
                true => self.check(state, unit, *value, point).map(|()| true),
                false => Ok(false),
            }) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(failed) => {
                    failure = Some((point, failed));
                    break;
                }
            }
            match address_poison(state, address, point) {
                0 => {}
                code => {
                    failure = Some((point, self.trap(state, block, unit.set, code, point)));
                    break;
                }
            }
            let position = match places.get(point) {
                Ok(position) => position,
                Err(trap) => {
                    failure = Some((point, trap));
                    break;
                }
            };
            write(&mut target, position, state, *value, point);
        }
        self.memory[array.index()] = target;
        self.clock += 1;
        self.array_at[array.index()] = self.clock;
        match failure {
            None => Ok(()),
            Some((point, trap)) => Err(self.error(block_idx, unit, point, trap)),
        }
    }

    /// Evaluates the chain and stores, point by point.
    fn store_chain(&mut self, block_idx: usize, unit: &Unit) -> Result<(), Error> {
        let Action::Store { array, address, value, chain } = &unit.action else { return Ok(()) };
        let block = &self.code.blocks[block_idx];
        let len = self.states[block_idx].points[unit.set.index()].len;
        self.count(len as u64 * chain.len() as u64)?;
        for point in 0..len {
            let state = &mut self.states[block_idx];
            let reader = Reader {
                world: &self.world,
                block,
                layouts: &self.code.layouts,
                functions: &self.code.functions,
                memory: &self.memory,
                env: &self.env,
            };
            let range = Range { lo: point, hi: point + 1 };
            for &node in chain {
                reader.evaluate(state, node, range);
            }
            let place = reader.places(state, array.index(), address, unit.set, range).get(0);
            let state = &self.states[block_idx];
            let outcome = match self.runs_at(state, unit, point) {
                Ok(false) => continue,
                Ok(true) => match address_poison(state, address, point) {
                    0 => self.check(state, unit, *value, point).and(place),
                    code => Err(self.trap(state, block, unit.set, code, point)),
                },
                Err(trap) => Err(trap),
            };
            match outcome {
                Ok(position) => {
                    write(&mut self.memory[array.index()], position, &self.states[block_idx], *value, point);
                }
                Err(trap) => return Err(self.error(block_idx, unit, point, trap)),
            }
        }
        self.clock += 1;
        self.array_at[array.index()] = self.clock;
        Ok(())
    }

    /// Whether the unit's mask holds at a point.
    fn runs_at(&self, state: &State<W::Float>, unit: &Unit, point: usize) -> Result<bool, Trap> {
        match unit.mask {
            None => Ok(true),
            Some(mask) => {
                self.check(state, unit, mask, point)?;
                Ok(state.truth(mask, point))
            }
        }
    }

    fn check(&self, state: &State<W::Float>, unit: &Unit, node: NodeId, point: usize) -> Result<(), Trap> {
        if state.n_poisoned == 0 {
            return Ok(());
        }
        match state.poison_at(node, point) {
            0 => Ok(()),
            code => {
                let idx = self.states.iter().position(|other| std::ptr::eq(other, state)).unwrap_or(0);
                Err(self.trap(state, &self.code.blocks[idx], unit.set, code, point))
            }
        }
    }

    /// The trap behind a poison code, at the point of the origin that agrees with a point of `set`.
    fn trap(&self, state: &State<W::Float>, block: &Block, set: SetId, code: u32, point: usize) -> Trap {
        let origin = NodeId::new(code as usize - 1);
        let origin_set = block.nodes[origin.index()].set;
        let (from, to) = (&block.sets[origin_set.index()].inames, &block.sets[set.index()].inames);
        let agrees = |at: usize| {
            from.iter().enumerate().all(|(idx, iname)| {
                to.iter().position(|other| other == iname).is_none_or(|other| {
                    let columns = (&state.points[origin_set.index()].columns, &state.points[set.index()].columns);
                    columns.0[idx][at] == columns.1[other][point]
                })
            })
        };
        let traps = state.traps.get(&origin).map(Vec::as_slice).unwrap_or_default();
        let found = traps.iter().find(|(at, _)| agrees(*at)).or(traps.first());
        found.map_or_else(|| Trap::Unsupported("an operation without value".to_owned()), |(_, trap)| trap.clone())
    }

    fn error(&self, block_idx: usize, unit: &Unit, point: usize, trap: Trap) -> Error {
        let set = &self.code.blocks[block_idx].sets[unit.set.index()];
        let columns = &self.states[block_idx].points[unit.set.index()].columns;
        let inner = set.inames.iter().zip(columns).map(|(&iname, column)| (iname, column[point]));
        let values = self.open.iter().map(|&iname| (iname, self.env[iname.index()])).chain(inner);
        let point = Point(values.map(|(iname, value)| (self.kernel[iname].name.clone(), value)).collect());
        let instruction = unit.insn.map_or_else(|| "if".to_owned(), |insn| self.kernel[insn].id.clone());
        Error::Trap { instruction, point, trap }
    }

    // Calls and opaque instructions.

    /// The values of a unit that only computes.
    fn scalars(&self, block_idx: usize, unit_idx: usize, instruction: &str) -> Result<Vec<Scalar<W::Float>>, Error> {
        let block = &self.code.blocks[block_idx];
        let state = &self.states[block_idx];
        let unit = &block.units[unit_idx];
        let Action::Values(nodes) = &unit.action else { return Ok(Vec::new()) };
        let mut res = Vec::with_capacity(nodes.len());
        for &node in nodes {
            if let Err(trap) = self.check(state, unit, node, 0) {
                return Err(match self.error(block_idx, unit, 0, trap) {
                    Error::Trap { point, trap, .. } => Error::Trap { instruction: instruction.to_owned(), point, trap },
                    other => other,
                });
            }
            res.push(match block.nodes[node.index()].ty.is_float() {
                true => Scalar::Float(state.floats[node.index()][0]),
                false => Scalar::Int(state.ints[node.index()][0]),
            });
        }
        Ok(res)
    }

    fn failure(&self, insn: InsnId, trap: Trap) -> Error {
        let values = self.open.iter().map(|&iname| (self.kernel[iname].name.clone(), self.env[iname.index()]));
        Error::Trap { instruction: self.kernel[insn].id.clone(), point: Point(values.collect()), trap }
    }

    fn run_call(&mut self, insn: InsnId, block: usize) -> Result<(), Error> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let unsupported = |reason: String| Error::Unsupported { instruction: instruction.id.clone(), reason };
        self.run_piece(block, None)?;
        let arguments: Vec<W::Float> = self
            .scalars(block, 0, &instruction.id)?
            .into_iter()
            .map(|argument| match argument {
                Scalar::Float(value) => value,
                Scalar::Int(value) => self.world.from_int(value),
            })
            .collect();
        let function = &self.code.functions[self.code.calls[&insn]];
        for (idx, assignee) in instruction.assignees().iter().enumerate() {
            let layout = &self.code.layouts[assignee.array.index()];
            let no_value =
                || unsupported(format!("function `{}` has no value in {}", function.name, self.world.name()));
            let value = self.world.call(function, idx as u64, &arguments).ok_or_else(no_value)?;
            let indices = self.scalars(block, idx + 1, &instruction.id)?.into_iter().map(|index| match index {
                Scalar::Int(index) => index,
                Scalar::Float(_) => -1,
            });
            let position = flat_position(layout, indices.collect()).map_err(|trap| self.failure(insn, trap))?;
            let storage = &mut self.memory[assignee.array.index()];
            match &mut storage.data {
                Data::Floats(values) if layout.dtype == Dtype::Float32 => {
                    values[position] = self.world.round_single(value);
                }
                Data::Floats(values) => values[position] = value,
                Data::Ints(_) => return Err(unsupported("a call that stores integers".to_owned())),
            }
            if let Some(is_set) = &mut storage.is_set {
                is_set[position] = true;
            }
            self.clock += 1;
            self.array_at[assignee.array.index()] = self.clock;
        }
        self.count(1)
    }

    /// A random oracle of the code, the point, and all that is read writes every element.
    fn run_opaque(&mut self, insn: InsnId) -> Result<(), Error> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let InstructionKind::Opaque { code, reads, writes } = &instruction.kind else { return Ok(()) };
        let mut hash = hash_text(code);
        for &iname in &instruction.within {
            hash = hash_with(hash, self.env[iname.index()] as u64);
        }
        for array in reads {
            let storage = &self.memory[array.index()];
            let is_set = |idx: usize| storage.is_set.as_ref().is_none_or(|is_set| is_set[idx]);
            for idx in 0..storage.data.len() {
                let value = match &storage.data {
                    Data::Floats(values) => self.world.hash(values[idx]),
                    Data::Ints(values) => values[idx] as u64,
                };
                hash = hash_with(hash, if is_set(idx) { value } else { u64::MAX });
            }
        }
        for array in writes {
            let storage = &mut self.memory[array.index()];
            let of_array = hash_with(hash, hash_text(&kernel[*array].name));
            for idx in 0..storage.data.len() {
                let of_element = hash_with(of_array, idx as u64);
                match &mut storage.data {
                    Data::Floats(values) => {
                        values[idx] = self.world.oracle(of_element).ok_or_else(|| Error::Unsupported {
                            instruction: instruction.id.clone(),
                            reason: format!("opaque code has no value in {}", self.world.name()),
                        })?;
                    }
                    Data::Ints(values) => values[idx] = (of_element & 1) as i64,
                }
            }
            if let Some(is_set) = &mut storage.is_set {
                is_set.fill(true);
            }
            self.clock += 1;
            self.array_at[array.index()] = self.clock;
        }
        let n_elements: usize = reads.iter().chain(writes).map(|array| self.memory[array.index()].data.len()).sum();
        self.count(1 + n_elements as u64)
    }
}

/// The value of a scalar node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar<F> {
    Float(F),
    Int(i64),
}

fn address_poison<F: Copy + Default>(state: &State<F>, address: &Address, point: usize) -> u32 {
    let mut code = 0;
    if state.n_poisoned > 0 {
        address.for_each_operand(|operand| {
            if code == 0 {
                code = state.poison_at(operand, point);
            }
        });
    }
    code
}

fn write<F: Copy + Default>(target: &mut Storage<F>, position: usize, state: &State<F>, value: NodeId, point: usize) {
    match &mut target.data {
        Data::Floats(target) => {
            let values = &state.floats[value.index()];
            target[position] = values[if values.len() == 1 { 0 } else { point }];
        }
        Data::Ints(target) => {
            let values = &state.ints[value.index()];
            target[position] = values[if values.len() == 1 { 0 } else { point }];
        }
    }
    if let Some(is_set) = &mut target.is_set {
        is_set[position] = true;
    }
}
