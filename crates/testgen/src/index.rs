//! Index expressions that are within a dimension for all values that the inames take.

use nestegg_ir::{ArrayId, Dtype, ExprId, InameId, Op};

use crate::builder::{Builder, Role};
use crate::defined::Cover;
use crate::hazards::Use;
use crate::space::{Shape, Size};

/// Offsets are at most this.
const MAX_OFFSET: i64 = 2;

impl Builder<'_> {
    /// An index of a dimension all of which may be read.
    pub(crate) fn index(&mut self, size: Size) -> Option<ExprId> {
        if self.chance(self.knobs.indirect)
            && let Some(index) = self.indirect(size)
        {
            return Some(index);
        }
        if self.chance(self.knobs.scatter)
            && let Some(index) = self.mapped(size)
        {
            return Some(index);
        }
        if self.chance(self.knobs.integer / 4)
            && let least @ 1.. = size.least(&self.parameters)
        {
            let (value, _) = self.integer(2);
            let modulus = self.kernel.exprs.int(least);
            return Some(self.kernel.exprs.op(Op::Mod, [value, modulus]));
        }
        if self.chance(self.knobs.reshape)
            && let Some(index) = self.reshaped(size)
        {
            return Some(index);
        }
        if self.chance(self.knobs.offset)
            && let Some(index) = self.compound(size)
        {
            return Some(index);
        }
        let valued = self.valued();
        for _ in 0..4.min(valued.len()) {
            let iname = self.pick(&valued);
            if let Some(index) = self.index_by(iname, size) {
                return Some(index);
            }
        }
        let least = size.least(&self.parameters);
        if least <= 0 {
            return None;
        }
        let value = self.between(0, least.min(4) - 1);
        Some(self.kernel.exprs.int(value))
    }

    /// An index made of one iname.
    fn index_by(&mut self, iname: InameId, size: Size) -> Option<ExprId> {
        let slack = self.ranges[iname.index()].size.slack_in(size, &self.parameters)?;
        let high = slack + self.margin_high(iname);
        if high < 0 {
            return None;
        }
        let value = self.kernel.exprs.iname(iname);
        if !self.chance(self.knobs.offset) {
            return Some(value);
        }
        if self.chance(10) {
            // The iname backwards.
            let last = size.expr(-1, &mut self.kernel.exprs);
            return Some(self.kernel.exprs.op(Op::Sub, [last, value]));
        }
        let low = self.margin_low(iname).min(MAX_OFFSET);
        let offset = self.between(-low, high.min(MAX_OFFSET));
        Some(self.offset(value, offset))
    }

    pub(crate) fn offset(&mut self, value: ExprId, offset: i64) -> ExprId {
        let literal = self.kernel.exprs.int(offset.abs());
        match offset {
            0 => value,
            1.. => self.kernel.exprs.op(Op::Add, [value, literal]),
            _ => self.kernel.exprs.op(Op::Sub, [value, literal]),
        }
    }

    /// An index made of two inames, or of a multiple of one.
    fn compound(&mut self, size: Size) -> Option<ExprId> {
        let valued = self.valued();
        if valued.is_empty() {
            return None;
        }
        let first = self.pick(&valued);
        let range = self.ranges[first.index()];
        let (Size::Const(extent), Size::Const(total)) = (range.size, size) else {
            return self.difference(first, size);
        };
        let value = self.kernel.exprs.iname(first);
        let factor = self.between(2, 3);
        if factor * (extent - 1) < total && self.chance(50) {
            let factor = self.kernel.exprs.int(factor);
            return Some(self.kernel.exprs.op(Op::Mul, [factor, value]));
        }
        let second = self.pick(&valued);
        match self.ranges[second.index()].size {
            Size::Const(other) if second != first && extent + other - 1 <= total => {
                let other = self.kernel.exprs.iname(second);
                Some(self.kernel.exprs.op(Op::Add, [value, other]))
            }
            _ => self.difference(first, size),
        }
    }

    /// An index by division: a part of an iname, or one of two that were made one.
    fn reshaped(&mut self, size: Size) -> Option<ExprId> {
        let valued = self.valued();
        let least = size.least(&self.parameters);
        if valued.is_empty() || least < 1 {
            return None;
        }
        let first = self.pick(&valued);
        let value = self.kernel.exprs.iname(first);
        let second = self.pick(&valued);
        let extent_of = |iname: InameId| self.ranges[iname.index()].size.as_const();
        let (extent, other) = (extent_of(first), extent_of(second));
        let (op, dividend, divisor) = match (self.below(3), extent, other) {
            (0, Some(extent), _) => (Op::FloorDiv, value, (extent + least - 1) / least),
            (1, Some(extent), Some(other)) if first != second => {
                // The pair as one number, and one of the pair back.
                let radix = self.kernel.exprs.int(other);
                let high = self.kernel.exprs.op(Op::Mul, [value, radix]);
                let low = self.kernel.exprs.iname(second);
                let both = self.kernel.exprs.op(Op::Add, [high, low]);
                match (extent <= least, other <= least) {
                    (true, false) => (Op::FloorDiv, both, other),
                    (true, true) if self.chance(50) => (Op::FloorDiv, both, other),
                    (_, true) => (Op::Mod, both, other),
                    (false, false) => return None,
                }
            }
            (2, ..) if first != second => {
                let second = self.kernel.exprs.iname(second);
                (Op::Mod, self.kernel.exprs.op(Op::Add, [value, second]), least)
            }
            _ => (Op::Mod, value, least),
        };
        let divisor = self.kernel.exprs.int(divisor.max(1));
        Some(self.kernel.exprs.op(op, [dividend, divisor]))
    }

    /// The distance of an iname from the one that bounds it.
    fn difference(&mut self, iname: InameId, size: Size) -> Option<ExprId> {
        let range = self.ranges[iname.index()];
        if range.size.slack_in(size, &self.parameters)? < 0 {
            return None;
        }
        let value = self.kernel.exprs.iname(iname);
        let outer = self.kernel.exprs.iname(range.outers().next()?);
        match range.shape {
            Shape::Below { .. } | Shape::BelowBoth { .. } => Some(self.kernel.exprs.op(Op::Sub, [outer, value])),
            _ => Some(self.kernel.exprs.op(Op::Sub, [value, outer])),
        }
    }

    /// An index read from memory: an argument's element, which whoever runs the kernel keeps within bounds, or a table's.
    fn indirect(&mut self, size: Size) -> Option<ExprId> {
        let least = size.least(&self.parameters);
        if least < 1 {
            return None;
        }
        let is_suitable = |builder: &Self, array: ArrayId| match builder.arrays[array.index()].role {
            Role::Index(limit) if builder.arrays[array.index()].shape.len() == 1 => {
                limit.slack_in(size, &builder.parameters).is_some_and(|slack| slack >= 0)
            }
            _ => false,
        };
        let known = self.readable.iter().rev().copied().find(|&array| is_suitable(self, array));
        let array = match known {
            Some(array) if !self.chance(30) => array,
            _ => {
                let own = self.new_size().plus(0);
                if own.least(&self.parameters) < 1 && self.valued().is_empty() {
                    return None;
                }
                let dtype = if self.chance(30) { Dtype::Int64 } else { Dtype::Int32 };
                if self.chance(self.knobs.table) && own.as_const().is_some() {
                    self.index_table(own, least, dtype)
                } else {
                    self.declare(Role::Index(size), dtype, vec![own])
                }
            }
        };
        let own = self.arrays[array.index()].shape[0];
        let valued = self.valued();
        let by_iname = valued.iter().find_map(|&iname| {
            let slack = self.ranges[iname.index()].size.slack_in(own, &self.parameters)?;
            (slack + self.margin_high(iname) >= 0).then_some(iname)
        });
        let index = match by_iname {
            Some(iname) => self.kernel.exprs.iname(iname),
            None if own.least(&self.parameters) >= 1 => self.kernel.exprs.int(0),
            None => return None,
        };
        Some(self.read(array, [index].into()))
    }

    /// Indices at which a temporary has a value.
    pub(crate) fn defined_indices(&mut self, array: ArrayId) -> Option<Box<[ExprId]>> {
        let info = &self.arrays[array.index()];
        let (dims, shape) = (info.defined.as_ref()?.dims.clone(), info.shape.clone());
        let mut indices: Vec<Option<ExprId>> = vec![None; dims.len()];
        let mut same: Vec<(InameId, InameId)> = Vec::new();
        // Inames that bound others were made before them.
        let mut ranges: Vec<(InameId, usize)> = Vec::new();
        for (dim, cover) in dims.iter().enumerate() {
            match *cover {
                Cover::Exact(index) => indices[dim] = Some(index),
                Cover::Whole => indices[dim] = Some(self.index(shape[dim])?),
                Cover::Range(iname) => ranges.push((iname, dim)),
            }
        }
        ranges.sort_unstable();
        for (covered, dim) in ranges {
            let valued = self.valued();
            let stand_ins: Vec<InameId> =
                valued.into_iter().filter(|&iname| self.stays_in(iname, covered, &same)).collect();
            if stand_ins.is_empty() {
                return None;
            }
            let iname = self.pick(&stand_ins);
            same.push((covered, iname));
            indices[dim] = Some(self.kernel.exprs.iname(iname));
        }
        indices.into_iter().collect()
    }

    /// A read, recorded.
    pub(crate) fn read(&mut self, array: ArrayId, indices: Box<[ExprId]>) -> ExprId {
        self.record(array, &indices, Use::Read);
        self.reads.push((array, indices.clone()));
        self.kernel.exprs.access(array, indices)
    }
}
