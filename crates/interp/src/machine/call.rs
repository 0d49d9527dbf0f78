//! Instructions that are no assignments: calls with several results, and opaque code.
//!
//! Both run at one point, and what they compute from an undefined value is undefined. Opaque code is an oracle of its text, the point and everything that it reads; it writes every
//! element of what it writes.

use nestegg_ir::{Dtype, InsnId, InstructionKind};

use crate::error::Error;
use crate::evaluate::access::flat_position;
use crate::machine::Machine;
use crate::memory::Data;
use crate::node::Action;
use crate::world::{Batch, hash_text, hash_with};

/// The value of a scalar node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<F> {
    Float(F),
    Int(i64),
}

impl<W: Batch> Machine<'_, W> {
    /// The values of a unit that only computes.
    pub(super) fn scalars(
        &self,
        block_idx: usize,
        unit_idx: usize,
        instruction: &str,
    ) -> Result<Vec<Scalar<W::Float>>, Error> {
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

    pub(super) fn run_call(&mut self, insn: InsnId, block: usize) -> Result<(), Error> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let unsupported = |reason: String| Error::Unsupported { instruction: instruction.id.clone(), reason };
        self.run_piece(block, None)?;
        // A result is undefined if an argument is, or if nobody knows whether the call runs.
        let mut gap = self.doubt.clone();
        let arguments = match self.scalars(block, 0, &instruction.id) {
            Ok(arguments) => arguments,
            Err(Error::Trap { trap, .. }) if trap.is_gap() || gap.is_some() => {
                gap = Some(trap);
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let value = |argument| match argument {
            Scalar::Float(value) => value,
            Scalar::Int(value) => self.world.integer(value),
        };
        let arguments: Vec<W::Float> = arguments.into_iter().map(value).collect();
        let function = &self.code.functions[self.code.calls[&insn]];
        for (idx, assignee) in instruction.assignees().iter().enumerate() {
            let layout = &self.code.layouts[assignee.array.index()];
            let no_value =
                || unsupported(format!("function `{}` has no value in {}", function.name, self.world.name()));
            let value = match &gap {
                None => Ok(self.world.call(function, idx as u64, &arguments).ok_or_else(no_value)?),
                Some(trap) => Err(self.failure(insn, trap.clone())),
            };
            let indices = match self.scalars(block, idx + 1, &instruction.id) {
                Ok(indices) => indices.into_iter().map(|index| match index {
                    Scalar::Int(index) => index,
                    Scalar::Float(_) => -1,
                }),
                Err(error @ Error::Trap { .. }) if matches!(&error, Error::Trap { trap, .. } if trap.is_gap()) => {
                    self.memory[assignee.array.index()].note_all(&error);
                    self.watch.see_all(assignee.array, insn);
                    self.clock += 1;
                    self.array_at[assignee.array.index()] = self.clock;
                    continue;
                }
                Err(_) if self.doubt.is_some() => continue,
                Err(error) => return Err(error),
            };
            let position = match flat_position(layout, indices.collect()) {
                Ok(position) => position,
                Err(_) if self.doubt.is_some() => continue,
                Err(trap) => return Err(self.failure(insn, trap)),
            };
            self.watch.see(assignee.array, position, insn);
            let storage = &mut self.memory[assignee.array.index()];
            match (&mut storage.data, &value) {
                (Data::Ints(_), _) => return Err(unsupported("a call that stores integers".to_owned())),
                (Data::Floats(values), Ok(value)) if layout.dtype == Dtype::Float32 => {
                    values[position] = self.world.round_single(*value);
                }
                (Data::Floats(values), Ok(value)) => values[position] = *value,
                (Data::Floats(_), Err(_)) => {}
            }
            storage.note(position, value.map(|_| ()));
            self.clock += 1;
            self.array_at[assignee.array.index()] = self.clock;
        }
        self.count(1)
    }

    /// A random oracle of the code, the point, and all that is read writes every element.
    pub(super) fn run_opaque(&mut self, insn: InsnId) -> Result<(), Error> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let InstructionKind::Opaque { code, reads, writes } = &instruction.kind else { return Ok(()) };
        let mut hash = hash_text(code);
        // Whether the code looks at what is undefined nobody knows.
        let read = || reads.iter().find_map(|array| self.memory[array.index()].undefined.values().next().cloned());
        let gap = self.doubt.clone().map(|trap| self.failure(insn, trap)).or_else(read);
        for &iname in &instruction.within {
            hash = hash_with(hash, self.env[iname.index()] as u64);
        }
        for array in reads {
            let storage = &self.memory[array.index()];
            for idx in 0..storage.data.len() {
                let value = match &storage.data {
                    Data::Floats(values) => self.world.hash(values[idx]),
                    Data::Ints(values) => values[idx] as u64,
                };
                hash = hash_with(hash, if storage.has_value(idx) { value } else { u64::MAX });
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
            storage.undefined.clear();
            if let Some(gap) = &gap {
                storage.note_all(gap);
            }
            self.clock += 1;
            self.array_at[array.index()] = self.clock;
            self.watch.see_all(*array, insn);
        }
        let n_elements: usize = reads.iter().chain(writes).map(|array| self.memory[array.index()].data.len()).sum();
        self.count(1 + n_elements as u64)
    }
}
