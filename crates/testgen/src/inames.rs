//! New inames: boxes, triangles, between two others, strides; literal or parametric.

use nestegg_ir::{DomainId, Iname, InameId};

use crate::builder::Builder;
use crate::space::{Range, Shape, Size};

/// Names of inames in the order of creation; later ones are numbered.
const NAMES: [&str; 8] = ["i", "j", "k", "l_", "p", "q", "r", "s_"];

impl Builder<'_> {
    /// A new iname whose domain may be bounded by those that have a value.
    pub(crate) fn new_iname(&mut self) -> InameId {
        let outer = self.valued();
        let range = if outer.len() > 1 && self.chance(self.knobs.tetrahedral) {
            self.new_between(&outer)
        } else if !outer.is_empty() && self.chance(self.knobs.triangular) {
            let outer = self.pick(&outer);
            let size = self.ranges[outer.index()].size;
            // A strict bound must leave some points: of a literal size only if the outer iname takes all values, of another only if no
            // literal size bounds the outer iname.
            let range = self.ranges[outer.index()];
            let has_points = match size.as_const() {
                Some(size) => size > 1 && range.is_whole(),
                None => self.is_parametric(outer),
            };
            let strict = has_points && self.chance(40);
            let shape = if self.chance(40) { Shape::Above { outer, strict } } else { Shape::Below { outer, strict } };
            Range { size, shape }
        } else {
            self.new_box()
        };
        self.declare_iname(range)
    }

    /// Whether no literal size bounds an iname.
    fn is_parametric(&self, iname: InameId) -> bool {
        let mut pending = vec![iname];
        while let Some(iname) = pending.pop() {
            let range = self.ranges[iname.index()];
            if range.size.as_const().is_some() {
                return false;
            }
            pending.extend(range.outers());
        }
        true
    }

    /// A range that two inames bound.
    fn new_between(&mut self, outer: &[InameId]) -> Range {
        let high = self.pick(outer);
        let others: Vec<InameId> = outer.iter().copied().filter(|&other| other != high).collect();
        let other = self.pick(&others);
        // A domain that never has points is an error: where both are free, `other` is zero for some value of `high`; where a third
        // one bounds both, there may be no value that has points of both.
        let is_free = |iname: InameId| self.ranges[iname.index()].outers().next().is_none();
        let are_free = is_free(other) && is_free(high);
        let may_begin = are_free && self.ranges[other.index()].has_zero();
        let may_end = are_free || self.ranges[high.index()].outers().any(|bounding| bounding == other);
        let shape = if may_begin && self.chance(50) {
            Shape::Between { low: other, high }
        } else if may_end {
            Shape::BelowBoth { outer: high, other }
        } else {
            Shape::Below { outer: high, strict: false }
        };
        Range { size: self.ranges[high.index()].size, shape }
    }

    /// A range that depends on no other iname.
    fn new_box(&mut self) -> Range {
        let size = self.new_size();
        let least = size.least(&self.parameters);
        let shape = if self.chance(self.knobs.strided) {
            Shape::Strided(self.between(2, 3))
        } else if self.chance(self.knobs.hole) {
            Shape::Hole(self.between(0, 2))
        } else if self.chance(self.knobs.interior) && (least >= 2 || size.as_const().is_none()) {
            let low = self.between(0, 1);
            Shape::Box { low, high: if low == 0 { 1 } else { self.between(0, 1) } }
        } else {
            Shape::Box { low: 0, high: 0 }
        };
        let range = Range { size, shape };
        // A literal domain without points is an error.
        if size.as_const().is_some() && range.least_points(&self.parameters) == 0 {
            return Range { size, shape: Shape::Box { low: 0, high: 0 } };
        }
        range
    }

    /// The size of a dimension, often one that is there.
    pub(crate) fn new_size(&mut self) -> Size {
        let n = self.ranges.len();
        if n > 0 && self.chance(50) {
            let idx = self.position(n.min(8));
            return self.ranges[n - 1 - idx].size;
        }
        if self.chance(self.knobs.parametric) {
            let offset = self.pick(&[0, 0, 0, 1, 2]);
            return Size::Param(self.parameter(), offset);
        }
        let extent = i64::from(self.knobs.extent.max(1));
        // Two is the simplest size: one hides what loops do.
        Size::Const(match self.between(0, extent) {
            0 => 2.min(extent),
            size => size,
        })
    }

    pub(crate) fn declare_iname(&mut self, range: Range) -> InameId {
        let id = InameId::new(self.kernel.inames.len());
        let name = match NAMES.get(id.index()) {
            Some(name) => (*name).to_owned(),
            None => format!("i{}", id.index()),
        };
        self.kernel.inames.push(Iname { name, tags: Vec::new(), domain: DomainId::new(0) });
        self.ranges.push(range);
        id
    }

    /// An iname for a loop or reduction: one that has no value now, old or new.
    pub(crate) fn any_iname(&mut self, reuse: u8) -> InameId {
        let n = self.ranges.len();
        if n > 0 && self.chance(reuse) {
            for _ in 0..4 {
                let idx = self.position(n.min(16));
                let iname = InameId::new(n - 1 - idx);
                let mut outers = self.ranges[iname.index()].outers();
                if !self.has_value(iname) && outers.all(|outer| self.has_value(outer)) {
                    return iname;
                }
            }
        }
        self.new_iname()
    }

    /// A loop over all of `n` values.
    pub(crate) fn open_whole(&mut self, n: i64) -> InameId {
        let iname = self.whole_iname(n, self.is_unordered);
        self.opened.insert(iname);
        self.open_unordered(iname);
        iname
    }

    /// An iname of `n` values that has no value now; a new one if it must not have had a loop.
    pub(crate) fn whole_iname(&mut self, n: i64, is_new: bool) -> InameId {
        let range = Range { size: Size::Const(n), shape: Shape::Box { low: 0, high: 0 } };
        if !self.chance(20) {
            let is_fit = |iname: &InameId| {
                self.ranges[iname.index()] == range
                    && !self.has_value(*iname)
                    && !self.kernel.is_sequential(*iname)
                    && (!is_new || !self.opened.contains(*iname))
            };
            let known = (0..self.ranges.len()).map(InameId::new).find(is_fit);
            if let Some(iname) = known {
                return iname;
            }
        }
        self.declare_iname(range)
    }
}
