//! Stores: the values of a unit into its array, all at once or point by point along a chain.

use crate::error::{Error, Trap};
use crate::evaluate::{Range, Reader, State};
use crate::machine::Machine;
use crate::memory::{Data, Storage};
use crate::node::{Action, Address, NodeId, Unit};
use crate::world::World;

impl<W: World> Machine<'_, W> {
    pub(super) fn store(&mut self, block_idx: usize, unit: &Unit) -> Result<(), Error> {
        let Action::Store { array, address, value, .. } = &unit.action else { return Ok(()) };
        let block = &self.code.blocks[block_idx];
        let state = &self.states[block_idx];
        let len = state.points[unit.set.index()].len;
        let mut target =
            std::mem::replace(&mut self.memory[array.index()], Storage { data: Data::Ints(Vec::new()), is_set: None });
        let reader = Reader {
            world: self.world,
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
            if let Some(insn) = unit.insn {
                self.watch.see(*array, position, insn);
            }
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
    pub(super) fn store_chain(&mut self, block_idx: usize, unit: &Unit) -> Result<(), Error> {
        let Action::Store { array, address, value, chain } = &unit.action else { return Ok(()) };
        let block = &self.code.blocks[block_idx];
        let len = self.states[block_idx].points[unit.set.index()].len;
        self.count(len as u64 * chain.len() as u64)?;
        for point in 0..len {
            let state = &mut self.states[block_idx];
            let reader = Reader {
                world: self.world,
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
                    if let Some(insn) = unit.insn {
                        self.watch.see(*array, position, insn);
                    }
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
