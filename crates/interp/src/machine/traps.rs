//! From a poisoned point back to the trap and the place where it happened.

use nestegg_ir::InsnId;

use crate::error::{Error, Point, Trap};
use crate::evaluate::State;
use crate::machine::Machine;
use crate::node::{Block, NodeId, SetId, Unit};
use crate::world::Batch;

impl<W: Batch> Machine<'_, W> {
    pub(super) fn check(&self, state: &State<W::Float>, unit: &Unit, node: NodeId, point: usize) -> Result<(), Trap> {
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
    pub(super) fn trap(&self, state: &State<W::Float>, block: &Block, set: SetId, code: u32, point: usize) -> Trap {
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

    pub(super) fn error(&self, block_idx: usize, unit: &Unit, point: usize, trap: Trap) -> Error {
        let set = &self.code.blocks[block_idx].sets[unit.set.index()];
        let columns = &self.states[block_idx].points[unit.set.index()].columns;
        let inner = set.inames.iter().zip(columns).map(|(&iname, column)| (iname, column[point]));
        let values = self.open.iter().map(|&iname| (iname, self.env[iname.index()])).chain(inner);
        let point = Point(values.map(|(iname, value)| (self.kernel[iname].name.clone(), value)).collect());
        let instruction = unit.insn.map_or_else(|| "if".to_owned(), |insn| self.kernel[insn].id.clone());
        Error::Trap { instruction, point, trap }
    }

    pub(super) fn failure(&self, insn: InsnId, trap: Trap) -> Error {
        let values = self.open.iter().map(|&iname| (self.kernel[iname].name.clone(), self.env[iname.index()]));
        Error::Trap { instruction: self.kernel[insn].id.clone(), point: Point(values.collect()), trap }
    }
}
