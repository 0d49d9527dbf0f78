//! Values at neighbours: the same function of an array's elements at several shifts of an iname, in one instruction or in several, under one iname or another.

use nestegg_ir::{ArrayId, ExprId, InameId, Op};

use crate::builder::{Builder, Role};
use crate::hazards::Use;
use crate::space::Size;

/// Shifts go from zero to this.
const MAX_SHIFT: i64 = 2;

/// A function of neighbours in an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flux {
    array: ArrayId,
    /// The size of inames that it may be taken at.
    size: Size,
    kind: usize,
}

impl Builder<'_> {
    /// A sum of multiples of a flux at several shifts.
    pub(crate) fn fluxes(&mut self) -> Option<ExprId> {
        let is_fit = |iname: &InameId| self.ranges[iname.index()].size.as_const().is_some();
        let inames: Vec<InameId> = self.valued().into_iter().filter(is_fit).collect();
        if inames.is_empty() {
            return None;
        }
        let iname = self.pick(&inames);
        let flux = self.flux(self.ranges[iname.index()].size);
        let n = 1 + self.weighted(&[2, 4, 1]);
        let mut terms = Vec::new();
        for _ in 0..n {
            let shift = self.between(0, MAX_SHIFT);
            let value = self.flux_at(flux, iname, shift)?;
            terms.push(match self.weighted(&[3, 2, 1]) {
                0 => value,
                1 => {
                    let factor = self.float_literal();
                    self.op(Op::Mul, [factor, value])
                }
                _ => self.op(Op::Neg, [value]),
            });
        }
        Some(match terms.as_slice() {
            [term] => *term,
            [first, second] if self.chance(40) => self.op(Op::Sub, [*first, *second]),
            _ => self.op(Op::Add, terms),
        })
    }

    /// A flux for inames of that size, old or new.
    fn flux(&mut self, size: Size) -> Flux {
        let known: Vec<Flux> = self.fluxes.iter().copied().filter(|flux| flux.size == size).collect();
        if !known.is_empty() && !self.chance(25) {
            return self.pick(&known);
        }
        let role = if self.chance(self.knobs.update / 2) { Role::InOut } else { Role::Input };
        let dtype = self.float_dtype();
        let array = self.declare(role, dtype, vec![size.plus(MAX_SHIFT + 1)]);
        let flux = Flux { array, size, kind: self.position(5) };
        self.fluxes.push(flux);
        flux
    }

    fn flux_at(&mut self, flux: Flux, iname: InameId, shift: i64) -> Option<ExprId> {
        let at = self.kernel.exprs.iname(iname);
        let indices = [self.offset(at, shift), self.offset(at, shift + 1)];
        let mut ends = Vec::new();
        for index in indices {
            if !self.admits(flux.array, &[index], Use::Read) {
                return None;
            }
            ends.push(self.read(flux.array, [index].into()));
        }
        let difference = self.op(Op::Sub, [ends[1], ends[0]]);
        Some(match flux.kind {
            0 => self.call("sin", vec![difference]),
            1 => self.op(Op::Mul, [difference, ends[0]]),
            2 => {
                let (one, square) = (self.number(1.5), self.op(Op::Mul, [difference, difference]));
                let sum = self.op(Op::Add, [one, square]);
                self.op(Op::Div, [difference, sum])
            }
            3 => {
                // The quotient has a whole part.
                let (one, square) = (self.number(1.5), self.op(Op::Mul, [difference, difference]));
                let divisor = self.op(Op::Add, [one, square]);
                let whole = self.op(Op::Mul, [ends[0], divisor]);
                let dividend = self.op(Op::Add, [whole, ends[1]]);
                self.op(Op::Div, [dividend, divisor])
            }
            _ => {
                let (a, b) = (self.number(0.5), self.number(0.25));
                let terms = [self.op(Op::Mul, [a, ends[0]]), self.op(Op::Mul, [b, ends[1]])];
                self.op(Op::Add, terms)
            }
        })
    }
}
