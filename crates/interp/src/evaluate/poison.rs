//! Poison: points at which a node has no value, and which nodes take it over from their operands.

use crate::error::Trap;
use crate::evaluate::{Range, Reader, State};
use crate::node::{Binary, NodeId, Op};
use crate::world::Batch;

impl<F> State<F> {
    /// Whether what poisoned a point is only a gap in the world.
    fn is_gap(&self, code: u32) -> bool {
        let traps = code.checked_sub(1).and_then(|node| self.traps.get(&NodeId::new(node as usize)));
        traps.is_some_and(|traps| traps.iter().all(|(_, trap)| trap.is_gap()))
    }
}

impl<W: Batch> Reader<'_, W> {
    pub(super) fn spread_poison(
        &self,
        state: &mut State<W::Float>,
        id: NodeId,
        len: usize,
        range: Range,
        traps: Vec<(usize, Trap)>,
    ) {
        let node = &self.block.nodes[id.index()];
        let was_poisoned = !state.poison[id.index()].is_empty();
        let mut is_any_operand = false;
        node.op.for_each_operand(|operand| is_any_operand |= !state.poison[operand.index()].is_empty());
        if !was_poisoned && !is_any_operand && traps.is_empty() {
            return;
        }
        let mut poison = std::mem::take(&mut state.poison[id.index()]);
        if poison.len() == len {
            poison[range.lo..range.hi].fill(0);
        } else {
            poison = vec![0; len];
        }
        if is_any_operand {
            self.meet_poison(state, id, &mut poison, range);
        }
        let mut kept = Vec::new();
        for (point, trap) in traps {
            if poison[point] == 0 {
                poison[point] = id.index() as u32 + 1;
                kept.push((point, trap));
            }
        }
        if kept.is_empty() {
            state.traps.remove(&id);
        } else {
            state.traps.insert(id, kept);
        }
        if poison.iter().all(|&code| code == 0) {
            poison = Vec::new();
        }
        match (was_poisoned, !poison.is_empty()) {
            (false, true) => state.n_poisoned += 1,
            (true, false) => state.n_poisoned -= 1,
            _ => {}
        }
        state.poison[id.index()] = poison;
    }

    fn meet_poison(&self, state: &mut State<W::Float>, id: NodeId, poison: &mut [u32], range: Range) {
        let node = &self.block.nodes[id.index()];
        match &node.op {
            Op::Expand(a) | Op::Reduce(_, a) => {
                let own = self.block.nodes[a.index()].set;
                let is_reduction = matches!(node.op, Op::Reduce(..));
                let key =
                    if is_reduction { self.gather(state, own, node.set) } else { self.gather(state, node.set, own) };
                let map = &state.gathers[&key].1;
                let from = &state.poison[a.index()];
                if is_reduction {
                    for (&to, &code) in map.iter().zip(from) {
                        if poison[to as usize] == 0 {
                            poison[to as usize] = code;
                        }
                    }
                } else {
                    let places = poison[range.lo..range.hi].iter_mut().zip(&map[range.lo..range.hi]);
                    places.for_each(|(code, &place)| *code = from[place as usize]);
                }
            }
            Op::Select(condition, a, b) => {
                for (point, code) in poison.iter_mut().enumerate().take(range.hi).skip(range.lo) {
                    let chosen = if state.truth(*condition, point) { *a } else { *b };
                    *code = match state.poison_at(*condition, point) {
                        0 => state.poison_at(chosen, point),
                        own => own,
                    };
                }
            }
            Op::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                for (point, code) in poison.iter_mut().enumerate().take(range.hi).skip(range.lo) {
                    let decides = |operand| state.truth(operand, point) == (*op == Binary::Or);
                    let (of_a, of_b) = (state.poison_at(*a, point), state.poison_at(*b, point));
                    *code = match of_a {
                        0 if decides(*a) => 0,
                        0 => of_b,
                        // C would go on with some truth, and the other operand decides whatever that is.
                        _ if of_b == 0 && decides(*b) && state.is_gap(of_a) => 0,
                        _ => of_a,
                    };
                }
            }
            // Of operands that are poisoned, the first counts.
            _ => node.op.for_each_operand(|operand| match state.poison[operand.index()].as_slice() {
                [] => {}
                from => {
                    let own = poison.iter_mut().enumerate().take(range.hi).skip(range.lo);
                    own.filter(|(_, code)| **code == 0)
                        .for_each(|(point, code)| *code = from[if from.len() == 1 { 0 } else { point }]);
                }
            }),
        }
    }
}
