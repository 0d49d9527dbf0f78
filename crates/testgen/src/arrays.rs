//! Arrays: declarations, tables, and reads of them.

use std::sync::Arc;

use nestegg_ir::{ArgumentAccess, Array, ArrayId, ArrayKind, Dtype, ExprId, Float, InameId, Number};

use crate::builder::{ArrayInfo, Builder, Role};
use crate::hazards::Use;
use crate::space::Size;

/// Integers that whoever runs a kernel gives it are small.
pub(crate) const INPUT_BOUND: i64 = 16;
/// Arrays have at most so many dimensions.
const MAX_RANK: usize = 3;
/// Numbers that tables are made of, some rarer than others.
const ENTRIES: [f64; 12] = [1.0, 0.5, 0.0, 0.25, -1.0, 2.0, -0.5, 0.1, 1.0 / 3.0, -0.125, 1.5, 3.0e-3];

impl Builder<'_> {
    /// A new array.
    pub(crate) fn declare(&mut self, role: Role, dtype: Dtype, shape: Vec<Size>) -> ArrayId {
        let kind = match role {
            Role::Input | Role::Index(_) => ArrayKind::Argument(ArgumentAccess::Read),
            Role::InOut => ArrayKind::Argument(ArgumentAccess::ReadWrite),
            Role::Output => ArrayKind::Argument(ArgumentAccess::Write),
            Role::Temporary => ArrayKind::Temporary,
            Role::Table => ArrayKind::Table(Arc::from([])),
        };
        let id = ArrayId::new(self.kernel.arrays.len());
        let letter = match role {
            Role::Input => "a",
            Role::Index(_) => "idx",
            Role::InOut => "u",
            Role::Output => "y",
            Role::Temporary => "t",
            Role::Table => "phi",
        };
        let name = format!("{letter}{}", id.index());
        let exprs = &mut self.kernel.exprs;
        let sizes = shape.iter().map(|size| size.expr(0, exprs)).collect();
        self.kernel.arrays.push(Array { name, dtype, stored: None, shape: sizes, kind });
        self.arrays.push(ArrayInfo { role, shape, bound: INPUT_BOUND, defined: None, is_blocked: false });
        match role {
            Role::Input | Role::Index(_) | Role::Table => self.readable.push(id),
            Role::InOut => {
                self.readable.push(id);
                self.writable.push(id);
            }
            Role::Output => self.writable.push(id),
            Role::Temporary => {}
        }
        id
    }

    /// The dtype of a new array of floats.
    pub(crate) fn float_dtype(&mut self) -> Dtype {
        if !self.chance(self.knobs.single / 4) {
            return self.float;
        }
        if self.float == Dtype::Float64 { Dtype::Float32 } else { Dtype::Float64 }
    }

    /// The dtype of a new array of integers.
    pub(crate) fn integer_dtype(&mut self) -> Dtype {
        if self.chance(40) { Dtype::Int64 } else { Dtype::Int32 }
    }

    /// A table of indices below `limit`.
    pub(crate) fn index_table(&mut self, size: Size, limit: i64, dtype: Dtype) -> ArrayId {
        let n = size.as_const().unwrap_or(1);
        let values: Vec<Number> = (0..n).map(|_| Number::Int(self.between(0, limit.min(8) - 1))).collect();
        let table = self.declare(Role::Table, dtype, vec![size]);
        self.arrays[table.index()].role = Role::Index(Size::Const(limit.min(8)));
        self.arrays[table.index()].bound = limit;
        self.kernel[table].kind = ArrayKind::Table(values.into());
        table
    }

    /// A new table of floats with literal sizes; rows may be zero, equal, or proportional.
    fn new_table(&mut self, shape: Vec<Size>) -> ArrayId {
        let sizes: Vec<i64> = shape.iter().map(|size| size.as_const().unwrap_or(1)).collect();
        let n_columns = sizes.last().copied().unwrap_or(1);
        let n_rows: i64 = sizes.iter().rev().skip(1).product();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for row_idx in 0..n_rows as usize {
            let kind = if row_idx == 0 { 0 } else { self.weighted(&[5, 1, 1, 1]) };
            let row = match kind {
                1 => vec![0.0; n_columns as usize],
                2 => {
                    let old = self.position(row_idx);
                    rows[old].clone()
                }
                3 => {
                    let old = self.position(row_idx);
                    let factor = self.pick(&[2.0, -1.0, 0.5]);
                    rows[old].iter().map(|value| value * factor).collect()
                }
                _ => (0..n_columns).map(|_| self.pick(&ENTRIES)).collect(),
            };
            rows.push(row);
        }
        self.table(shape, rows)
    }

    /// A table of these numbers, none of them a negative zero.
    pub(crate) fn table(&mut self, shape: Vec<Size>, rows: Vec<Vec<f64>>) -> ArrayId {
        let dtype = self.float_dtype();
        let number = |value: f64| {
            let value = Float::new(if value == 0.0 { 0.0 } else { value }).expect("entries of tables are finite");
            let number = Number::Float(value);
            if dtype == Dtype::Float32 { number.to_single() } else { number }
        };
        let values: Vec<Number> = rows.into_iter().flatten().map(number).collect();
        let table = self.declare(Role::Table, dtype, shape);
        self.kernel[table].kind = ArrayKind::Table(values.into());
        table
    }

    /// An element that has a value here; makes an array if no old one will do.
    pub(crate) fn element(&mut self, wanted: impl Fn(Dtype) -> bool + Copy, new: Dtype) -> ExprId {
        if !self.chance(25) {
            for _ in 0..3 {
                if let Some(expr) = self.old_element(wanted) {
                    return expr;
                }
            }
        }
        self.new_element(new)
    }

    /// An element of an array that is there.
    pub(crate) fn old_element(&mut self, wanted: impl Fn(Dtype) -> bool) -> Option<ExprId> {
        let n_live = self.live.len().min(6);
        let n_readable = self.readable.len().min(12);
        if n_live + n_readable == 0 {
            return None;
        }
        let at = self.position(n_live + n_readable);
        let array = match at.checked_sub(n_live) {
            None => self.live[self.live.len() - 1 - at],
            Some(at) => self.readable[self.readable.len() - 1 - at],
        };
        if !wanted(self.kernel[array].dtype) {
            return None;
        }
        let indices = self.old_indices(array)?;
        self.admits(array, &indices, Use::Read).then(|| self.read(array, indices))
    }

    /// Indices at which an array may be read.
    pub(crate) fn old_indices(&mut self, array: ArrayId) -> Option<Box<[ExprId]>> {
        if self.arrays[array.index()].role == Role::Temporary {
            return self.defined_indices(array);
        }
        let shape = self.arrays[array.index()].shape.clone();
        let is_blocked = self.arrays[array.index()].is_blocked;
        let of_dim = |(dim, size): (usize, Size)| match size.as_const() {
            Some(n) if dim == 0 && is_blocked => {
                let block = self.between(0, n - 1);
                Some(self.kernel.exprs.int(block))
            }
            _ => self.index(size),
        };
        shape.into_iter().enumerate().map(of_dim).collect()
    }

    /// An element of a new argument or table, indexed by inames that have a value.
    fn new_element(&mut self, dtype: Dtype) -> ExprId {
        let mut valued = self.valued();
        let rank = match valued.len() {
            0 => usize::from(self.chance(20)),
            n => self.weighted(&[3, 5, 4, 2]).min(n + 1).min(MAX_RANK),
        };
        let mut shape = Vec::new();
        let mut indices = Vec::new();
        for _ in 0..rank {
            let (size, index) = self.dimension(&mut valued);
            shape.push(size);
            indices.push(index);
        }
        let is_literal = shape.iter().all(|size| size.as_const().is_some());
        let array = if dtype.is_float() && rank > 0 && is_literal && self.chance(self.knobs.table) {
            self.new_table(shape)
        } else {
            let role = if self.chance(self.knobs.update / 3) { Role::InOut } else { Role::Input };
            self.declare(role, dtype, shape)
        };
        self.read(array, indices.into())
    }

    /// A new dimension and an index for it.
    fn dimension(&mut self, valued: &mut Vec<InameId>) -> (Size, ExprId) {
        if valued.is_empty() || self.chance(8) {
            let size = self.between(1, i64::from(self.knobs.extent.max(1)));
            let index = self.between(0, size - 1);
            return (Size::Const(size), self.kernel.exprs.int(index));
        }
        let iname = valued.remove(self.position(valued.len()));
        let size = self.ranges[iname.index()].size;
        if self.chance(self.knobs.relative) {
            return self.relative(iname);
        }
        let value = self.kernel.exprs.iname(iname);
        if !self.chance(self.knobs.offset) {
            return (size, value);
        }
        if let (Size::Const(extent), Some(&other)) = (size, valued.first())
            && let Size::Const(more) = self.ranges[other.index()].size
            && self.chance(25)
        {
            let other = self.kernel.exprs.iname(other);
            let sum = self.kernel.exprs.op(nestegg_ir::Op::Add, [value, other]);
            return (Size::Const(extent + more - 1), sum);
        }
        let (low, high) = (self.margin_low(iname), self.margin_high(iname));
        let offset = self.between(-low.min(2), high.clamp(1, 2));
        (size.plus((offset - high).max(0)), self.offset(value, offset))
    }
}
