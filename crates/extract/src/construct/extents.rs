//! Where the values of inames begin and how many there are: shapes of temporaries, and indices into them.
//!
//! Bounds are constants where isl knows them, else affine in parameters below and any integer expression in these above. An iname without
//! such bounds has none, and is refused.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::DomainError;
use nestegg_ir::{ExprId, InameId, Op};

use super::Constructor;
use crate::emit;

impl Constructor<'_> {
    /// `iname - lower` for each dimension.
    pub(super) fn indices(&mut self, dims: &[InameId]) -> Box<[ExprId]> {
        dims.iter()
            .map(|&iname| {
                let lower = &self.bounds[&iname].0;
                let index = Affine::var(Var::Iname(iname)).plus(lower, -1).unwrap_or_default();
                index.to_expr(&mut self.kernel.exprs)
            })
            .collect()
    }

    /// The least value of an iname and how many there are from it to the greatest, over all of its domain.
    pub(super) fn bounds(&mut self, iname: InameId) -> Result<&(Affine, ExprId), DomainError> {
        if !self.bounds.contains_key(&iname) {
            let bounds = self.find_bounds(iname)?;
            self.bounds.insert(iname, bounds);
        }
        Ok(&self.bounds[&iname])
    }

    fn find_bounds(&mut self, iname: InameId) -> Result<(Affine, ExprId), DomainError> {
        let set = self.domains.of(&[iname].into_iter().collect())?;
        let name = self.kernel[iname].name.clone();
        if let (Some(lower), Some(upper)) = (set.dim_min_val(&name)?, set.dim_max_val(&name)?) {
            let extent = self.kernel.exprs.int((upper - lower + 1).max(1));
            return Ok((Affine::constant(lower), extent));
        }
        // Bounds by parameters: any lower bound that is affine will do, the greatest value is written out.
        let bounds = set.loop_bounds(&name, &[])?;
        let lower = match (bounds.lower.as_slice(), set.dim_min_val(&name)?) {
            (_, Some(constant)) => Some(Affine::constant(constant)),
            ([all], None) => all
                .iter()
                .find(|bound| bound.denominator == 1)
                .and_then(|bound| self.domains.in_parameters(&bound.numerator)),
            _ => None,
        };
        let mut upper = Vec::with_capacity(bounds.upper.len());
        for alternative in &bounds.upper {
            let mut least = Vec::with_capacity(alternative.len());
            for bound in alternative {
                let Some(numerator) = self.domains.in_parameters(&bound.numerator) else {
                    return Err(DomainError::NoValue(name));
                };
                let exprs = &mut self.kernel.exprs;
                let numerator = numerator.to_expr(exprs);
                least.push(if bound.denominator == 1 {
                    numerator
                } else {
                    let denominator = exprs.int(bound.denominator);
                    exprs.op(Op::FloorDiv, [numerator, denominator])
                });
            }
            upper.push(emit::n_ary(&mut self.kernel.exprs, Op::Min, least));
        }
        let Some(lower) = lower.filter(|_| !upper.is_empty()) else { return Err(DomainError::NoValue(name)) };
        let exprs = &mut self.kernel.exprs;
        let greatest = emit::n_ary(exprs, Op::Max, upper);
        let first = lower.plus(&Affine::constant(-1), 1).unwrap_or_default();
        let extent = match nestegg_ir::affine::of(exprs, greatest).and_then(|greatest| greatest.plus(&first, -1)) {
            Some(extent) => extent.to_size(exprs),
            None => {
                let first = first.to_expr(exprs);
                let extent = exprs.op(Op::Sub, [greatest, first]);
                exprs.clipped_at_zero(extent)
            }
        };
        Ok((lower, extent))
    }
}
