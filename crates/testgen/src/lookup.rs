//! Accesses through arrays of indices: `A[map[e, i]]`, read or accumulated into, and `x[i + off[i]]`.
//!
//! The element of `map` is below the dimension that it is an index of; that of `off` is at most what the dimension is longer than the loop.
//! Whoever runs the kernel keeps to that.

use nestegg_ir::{Dtype, ExprId, InameId, Op};

use crate::builder::{Builder, Role};
use crate::space::Size;
use crate::targets::Target;

/// An offset is at most this.
const MAX_ROOM: i64 = 3;

impl Builder<'_> {
    /// `map[e, i]`, an index of a dimension of this size; `None` if that may be empty, or no iname has a value.
    pub(crate) fn mapped(&mut self, size: Size) -> Option<ExprId> {
        let rank = 1 + self.below(2) as usize;
        let valued: Vec<InameId> = self.valued().into_iter().take(rank).collect();
        if valued.is_empty() || size.least(&self.parameters) < 1 {
            return None;
        }
        let shape: Vec<Size> = valued.iter().map(|iname| self.ranges[iname.index()].size).collect();
        let is_fit = |info: &crate::builder::ArrayInfo| info.role == Role::Index(size) && info.shape == shape;
        let known = self.readable.iter().copied().find(|array| is_fit(&self.arrays[array.index()]));
        let map = match known {
            Some(map) if !self.chance(30) => map,
            _ => {
                let dtype = if self.chance(30) { Dtype::Int64 } else { Dtype::Int32 };
                self.declare(Role::Index(size), dtype, shape)
            }
        };
        let indices: Vec<ExprId> = valued.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
        Some(self.read(map, indices.into()))
    }

    /// `i + off[i]`, and the size of the dimension that this is an index of.
    pub(crate) fn relative(&mut self, iname: InameId) -> (Size, ExprId) {
        let room = self.between(1, MAX_ROOM);
        let size = self.ranges[iname.index()].size;
        let offsets = self.declare(Role::Index(Size::Const(room + 1)), Dtype::Int32, vec![size]);
        let value = self.kernel.exprs.iname(iname);
        let offset = self.read(offsets, [value].into());
        (size.plus(room), self.op(Op::Add, [value, offset]))
    }

    /// An element of an argument to accumulate into, found by looking its index up.
    pub(crate) fn scattered_target(&mut self) -> Option<Target> {
        let size = Size::Const(self.between(2, i64::from(self.knobs.extent.max(1)) + 2));
        let index = self.mapped(size)?;
        let (mut shape, mut indices) = (vec![size], vec![index]);
        let loops: Vec<InameId> = self.loops().collect();
        if self.chance(30) {
            let iname = self.pick(&loops);
            shape.push(self.ranges[iname.index()].size);
            indices.push(self.kernel.exprs.iname(iname));
        }
        let dtype = self.float_dtype();
        Some((self.declare(Role::InOut, dtype, shape), indices.into()))
    }
}
