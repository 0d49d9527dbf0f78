//! Which elements instructions write.

use nestegg_ir::{ArrayId, Dtype, ExprId, InameId, Op};

use crate::builder::{Builder, Role};
use crate::hazards::Use;
use crate::space::Size;

/// What an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    Float,
    Integer,
    Bool,
}

/// An element to write.
pub(crate) type Target = (ArrayId, Box<[ExprId]>);

impl Builder<'_> {
    /// An element of an argument that each iteration of the unordered loops may write.
    pub(crate) fn argument(&mut self, data: Data) -> Target {
        for _ in 0..2 {
            if self.writable.is_empty() || !self.chance(40) {
                break;
            }
            let at = self.position(self.writable.len().min(6));
            let array = self.writable[self.writable.len() - 1 - at];
            let is_fit = match data {
                Data::Float => self.kernel[array].dtype.is_float(),
                Data::Integer => self.kernel[array].dtype.is_integer(),
                Data::Bool => self.kernel[array].dtype == Dtype::Bool,
            };
            if is_fit
                && let Some(indices) = self.old_indices(array)
                && self.admits(array, &indices, Use::Write)
            {
                return (array, indices);
            }
        }
        let dtype = self.dtype(data);
        let inames = self.dims_of_write();
        let role = if self.chance(self.knobs.update.max(20)) { Role::InOut } else { Role::Output };
        self.new_target(role, dtype, &inames)
    }

    /// All loops without order, in some order, and some of the others.
    pub(crate) fn dims_of_write(&mut self) -> Vec<InameId> {
        let mut inames = self.free_loops();
        let others: Vec<InameId> = self.loops().filter(|iname| !inames.contains(iname)).collect();
        for iname in others {
            if self.chance(60) {
                inames.push(iname);
            }
        }
        if inames.len() > 1 && self.chance(30) {
            let at = self.position(inames.len());
            inames.rotate_left(at);
        }
        inames
    }

    /// A new array with one dimension for each iname.
    pub(crate) fn new_target(&mut self, role: Role, dtype: Dtype, inames: &[InameId]) -> Target {
        let mut shape = Vec::new();
        let mut indices: Vec<ExprId> = Vec::new();
        for &iname in inames {
            let size = self.ranges[iname.index()].size;
            let value = self.kernel.exprs.iname(iname);
            let (size, index) = match size {
                _ if role == Role::Temporary || !self.chance(self.knobs.offset / 2) => (size, value),
                Size::Const(extent) if self.chance(30) => {
                    let factor = self.kernel.exprs.int(2);
                    (Size::Const(2 * extent), self.op(Op::Mul, [factor, value]))
                }
                size => {
                    let offset = self.between(0, 2);
                    (size.plus(offset), self.offset(value, offset))
                }
            };
            shape.push(size);
            indices.push(index);
        }
        (self.declare(role, dtype, shape), indices.into())
    }

    /// A temporary without value, new or used up, indexed by some of the loops.
    pub(crate) fn undefined(&mut self, data: Data) -> Target {
        let dtype = self.dtype(data);
        let loops: Vec<InameId> = self.loops().collect();
        let mut inames: Vec<InameId> = Vec::new();
        for iname in loops {
            if self.chance(60) {
                inames.push(iname);
            }
        }
        if self.chance(30) {
            let shape: Vec<Size> = inames.iter().map(|iname| self.ranges[iname.index()].size).collect();
            let is_free = |array: &ArrayId| {
                let info = &self.arrays[array.index()];
                info.role == Role::Temporary
                    && info.defined.is_none()
                    && info.shape == shape
                    && self.kernel[*array].dtype == dtype
            };
            let n = self.kernel.arrays.len();
            let used_up = (n.saturating_sub(32)..n).map(ArrayId::new).find(is_free);
            if let Some(array) = used_up {
                let indices = inames.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
                return (array, indices);
            }
        }
        self.new_target(Role::Temporary, dtype, &inames)
    }

    /// An element that has a value and may be used so.
    pub(crate) fn defined_target(&mut self, access: Use) -> Option<Target> {
        for _ in 0..4 {
            let n_live = self.live.len().min(6);
            let n_writable = self.writable.len().min(6);
            if n_live + n_writable == 0 {
                return None;
            }
            let at = self.position(n_live + n_writable);
            let array = match at.checked_sub(n_live) {
                None => self.live[self.live.len() - 1 - at],
                Some(at) => self.writable[self.writable.len() - 1 - at],
            };
            let is_readable = self.arrays[array.index()].role != Role::Output;
            let is_number = self.kernel[array].dtype != Dtype::Bool;
            let is_fit = match access {
                Use::Accumulate(_) => {
                    is_readable && is_number && (self.kernel[array].dtype.is_float() || self.has_room(array))
                }
                Use::Read | Use::Write => is_readable,
            };
            if is_fit
                && let Some(indices) = self.old_indices(array)
                && self.admits(array, &indices, access)
            {
                return Some((array, indices));
            }
        }
        None
    }
}
