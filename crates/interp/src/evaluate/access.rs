//! Where accesses find their elements.
//!
//! An affine address is checked once, by the least and greatest value of each iname; only if that could be outside the
//! shape is it checked point by point.

use nestegg_ir::InameId;

use crate::error::{Error, Trap};
use crate::evaluate::{Range, Reader, State};
use crate::memory::Layout;
use crate::node::{Address, Index, NodeId, SetId};
use crate::world::Batch;

/// Flat positions in an array.
pub(crate) enum Places<'s> {
    /// The same at all points.
    One(usize),
    /// The sum of both, at each point; all are inside the array.
    Offset(i64, &'s [i64]),
    /// Computed one by one.
    Each(Vec<Result<usize, Trap>>),
}

impl Places<'_> {
    pub(crate) fn get(&self, idx: usize) -> Result<usize, Trap> {
        match self {
            Self::One(position) => Ok(*position),
            Self::Offset(base, linear) => Ok((base + linear[idx]) as usize),
            Self::Each(positions) => positions[idx].clone(),
        }
    }
}

pub(crate) fn flat_position(layout: &Layout, index: Vec<i64>) -> Result<usize, Trap> {
    let is_inside = index.len() == layout.shape.len()
        && index.iter().zip(&layout.shape).all(|(&index, &extent)| 0 <= index && index < extent);
    if !is_inside {
        return Err(layout.out_of_bounds(index));
    }
    Ok(index.iter().zip(&layout.strides).map(|(&index, &stride)| index * stride).sum::<i64>() as usize)
}

impl<W: Batch> Reader<'_, W> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn load<T: Copy>(
        &self,
        state: &State<W::Float>,
        id: NodeId,
        array: usize,
        address: &Address,
        values: &[T],
        out: &mut [T],
        range: Range,
        traps: &mut Vec<(usize, Trap)>,
    ) {
        let set = self.block.nodes[id.index()].set;
        let storage = &self.memory[array];
        let places = self.places(state, array, address, set, range);
        let missing = |position: usize| match storage.gap(position) {
            _ if !storage.has_value(position) => Some(self.layouts[array].uninitialised(position)),
            Some(Error::Trap { trap, .. }) => Some(trap.clone()),
            _ => None,
        };
        match &places {
            Places::One(position) => match missing(*position) {
                Some(trap) => traps.extend((range.lo..range.hi).map(|point| (point, trap.clone()))),
                None => out.fill(values[*position]),
            },
            Places::Offset(base, linear) => {
                let at = |offset: i64| (base + offset) as usize;
                out.iter_mut().zip(*linear).for_each(|(out, &offset)| *out = values[at(offset)]);
                if storage.is_set.is_some() || !storage.undefined.is_empty() {
                    let found = linear.iter().enumerate();
                    traps.extend(found.filter_map(|(idx, &offset)| Some((range.lo + idx, missing(at(offset))?))));
                }
            }
            Places::Each(positions) => {
                for (idx, position) in positions.iter().enumerate() {
                    match position {
                        Ok(position) => match missing(*position) {
                            Some(trap) => traps.push((range.lo + idx, trap)),
                            None => out[idx] = values[*position],
                        },
                        Err(trap) => traps.push((range.lo + idx, trap.clone())),
                    }
                }
            }
        }
    }

    /// The flat positions of an address at the points `range` of `set`.
    pub(crate) fn places<'s>(
        &self,
        state: &'s State<W::Float>,
        array: usize,
        address: &Address,
        set: SetId,
        range: Range,
    ) -> Places<'s> {
        let layout = &self.layouts[array];
        let points = &state.points[set.index()];
        let inames = &self.block.sets[set.index()].inames;
        match address {
            Address::Affine { indices, flat, linear } => {
                let is_inside = indices.iter().zip(&layout.shape).all(|(index, &extent)| {
                    let (mut lo, mut hi) = (index_value(index, self.env), index_value(index, self.env));
                    for &(iname, coefficient) in &index.inner {
                        let (least, greatest) = points.hull[position(inames, iname)];
                        let ends = [least, greatest].map(|end| i128::from(coefficient) * i128::from(end));
                        lo += ends[0].min(ends[1]);
                        hi += ends[0].max(ends[1]);
                    }
                    0 <= lo && hi < i128::from(extent)
                });
                if is_inside {
                    let base = index_value(flat, self.env) as i64;
                    return match linear {
                        None => Places::One(base as usize),
                        Some(linear) => Places::Offset(base, &state.ints[linear.index()][range.lo..range.hi]),
                    };
                }
                let place = |point: usize| {
                    let value = |index: &Index| {
                        let inner = index.inner.iter().map(|&(iname, coefficient)| {
                            i128::from(coefficient) * i128::from(points.columns[position(inames, iname)][point])
                        });
                        i64::try_from(index_value(index, self.env) + inner.sum::<i128>()).unwrap_or(i64::MAX)
                    };
                    flat_position(layout, indices.iter().map(value).collect())
                };
                Places::Each((range.lo..range.hi).map(place).collect())
            }
            Address::Computed(indices) => {
                let operands: Vec<_> =
                    indices.iter().map(|&index| self.int_operand(state, index, set, range)).collect();
                let place =
                    |idx: usize| flat_position(layout, operands.iter().map(|operand| operand.get(idx)).collect());
                Places::Each((0..range.hi - range.lo).map(place).collect())
            }
        }
    }
}

pub(super) fn index_value(index: &Index, env: &[i64]) -> i128 {
    index
        .outer
        .iter()
        .map(|&(iname, coefficient)| i128::from(coefficient) * i128::from(env[iname.index()]))
        .sum::<i128>()
        + i128::from(index.constant)
}

pub(super) fn position(inames: &[InameId], iname: InameId) -> usize {
    inames.iter().position(|&other| other == iname).expect("a node's inames are in its set")
}
