//! Factors leave the guards of loops that data end.
//!
//! # Output
//! `sum(j, a*v[j] if j < n else 0)` is `sum(j, a*(v[j] if j < n else 0))` where `a` does not depend on `j`, so that rules which move factors out of
//! sums find it; likewise in the terms of sums, and in numerators.
//! # Method
//! Only values that are defined wherever the instruction runs leave: what has no accesses, scalar arguments, and elements whose indices isl proves to be
//! inside at all points of their inames.
//! # Complexity
//! Linear in the bodies of guarded reductions; a question to isl for each element that might leave.
//! # Not done
//! Factors that depend on some inames of a reduction over several.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::data_bounds::{has_open_inames, is_open};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::walk::below;
use nestegg_ir::{Expr, ExprId, Exprs, InameId, InameSet, Instruction, Kernel, Licence, LinearizedKernel, Number, Op};
use nestegg_isl as isl;

/// Takes factors out of guards; a strict licence keeps them inside.
///
/// # Errors
/// If a domain cannot be read.
pub fn free_factors(mut linearized: LinearizedKernel, licence: Licence) -> Result<LinearizedKernel, DomainError> {
    let kernel = &mut linearized.kernel;
    if licence == Licence::Strict || !has_open_inames(kernel) {
        return Ok(linearized);
    }
    let context = isl::Context::new();
    let domains = Domains::new(&context, kernel)?;
    let original = kernel.clone();
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(Instruction::expressions).collect();
    let rewritten = kernel.exprs.rewrite(roots, |exprs, _, expr| {
        if let Expr::Reduce { op: nestegg_ir::ReduceOp::Sum, inames, body } = &expr
            && inames.iter().any(|&iname| is_open(&original, iname))
            && let Some((condition, value)) = guarded(exprs, *body)
        {
            let mut lift = Lift { kernel: &original, domains: &domains, exprs, inames, condition };
            let body = lift.push(value);
            return exprs.intern(Expr::Reduce { op: nestegg_ir::ReduceOp::Sum, inames: inames.clone(), body });
        }
        exprs.intern(expr)
    });
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
    Ok(linearized)
}

/// The condition and the value of a selection whose other branch is zero.
fn guarded(exprs: &Exprs, id: ExprId) -> Option<(ExprId, ExprId)> {
    let Expr::Op { op: Op::If, operands } = &exprs[id] else { return None };
    let is_zero = match &exprs[operands[2]] {
        Expr::Number(Number::Int(value)) => *value == 0,
        Expr::Number(Number::Float(value)) => value.get() == 0.0,
        _ => false,
    };
    is_zero.then_some((operands[0], operands[1]))
}

struct Lift<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    exprs: &'a mut Exprs,
    /// Those of the reduction.
    inames: &'a [InameId],
    condition: ExprId,
}

impl Lift<'_> {
    /// The value where the condition holds, else zero.
    fn guard(&mut self, value: ExprId) -> ExprId {
        let zero = self.exprs.int(0);
        self.exprs.op(Op::If, [self.condition, value, zero])
    }

    /// The same, with the condition as far inside as it brings factors out. Sums in sums are few levels deep once a kernel is in value form.
    fn push(&mut self, value: ExprId) -> ExprId {
        match self.exprs[value].clone() {
            Expr::Op { op: Op::Mul, operands } => {
                let (free, mut rest): (Vec<ExprId>, Vec<ExprId>) =
                    operands.iter().partition(|&&operand| self.is_free(operand));
                if free.is_empty() {
                    return self.guard(value);
                }
                let rest = match rest.len() {
                    0 => self.exprs.int(1),
                    1 => rest.remove(0),
                    _ => self.exprs.op(Op::Mul, rest),
                };
                let rest = self.guard(rest);
                let factors: Vec<ExprId> = free.into_iter().chain([rest]).collect();
                self.exprs.op(Op::Mul, factors)
            }
            Expr::Op { op: Op::Div, operands } if self.is_free(operands[1]) => {
                let numerator = self.push(operands[0]);
                self.exprs.op(Op::Div, [numerator, operands[1]])
            }
            Expr::Op { op: op @ (Op::Add | Op::Sub), operands } => {
                let pushed: Vec<ExprId> = operands.iter().map(|&operand| self.push_factors(operand)).collect();
                let is_plain = |exprs: &Exprs, id: ExprId| guarded(exprs, id).is_some_and(|it| it.0 == self.condition);
                if pushed.iter().all(|&id| is_plain(self.exprs, id)) {
                    return self.guard(value);
                }
                self.exprs.op(op, pushed)
            }
            _ => self.guard(value),
        }
    }

    fn push_factors(&mut self, value: ExprId) -> ExprId {
        match &self.exprs[value] {
            Expr::Op { op: Op::Mul | Op::Div, .. } => self.push(value),
            _ => self.guard(value),
        }
    }

    /// Whether a value depends on no iname of the reduction, and is defined wherever they are.
    fn is_free(&self, value: ExprId) -> bool {
        below(self.exprs, [value]).into_iter().all(|id| match &self.exprs[id] {
            Expr::Number(_) | Expr::Parameter(_) | Expr::Cast { .. } | Expr::Call { .. } => true,
            Expr::Iname(iname) => !self.inames.contains(iname) && !is_open(self.kernel, *iname),
            Expr::Access { array, indices } => {
                !self.kernel[*array].is_temporary()
                    && indices.iter().zip(&self.kernel[*array].shape).all(|(&index, &size)| self.is_inside(index, size))
            }
            Expr::Op { op, .. } => {
                matches!(op, Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Div | Op::Pow | Op::Min | Op::Max)
            }
            Expr::Formal(_) | Expr::Reduce { .. } | Expr::Substitution { .. } => false,
        })
    }

    fn is_inside(&self, index: ExprId, size: ExprId) -> bool {
        let (Some(index), Some(size)) = (affine::of(self.exprs, index), affine::of(self.exprs, size)) else {
            return false;
        };
        let inames: InameSet = index.inames().collect();
        let never = |wrong: Option<Affine>| {
            let wrong = wrong.ok_or(())?;
            let name = |var: Var| match var {
                Var::Iname(iname) => self.kernel[iname].name.clone(),
                Var::Parameter(parameter) => self.kernel[parameter].name.clone(),
            };
            let terms = wrong.terms.iter().map(|&(var, coefficient)| (name(var), coefficient));
            let wrong = isl::Affine::new(wrong.constant, terms).map_err(drop)?;
            let set = self.domains.of(&inames).map_err(drop)?;
            let names: Vec<String> = wrong.names().into_iter().map(str::to_owned).collect();
            let dims = set.dim_names().map_err(drop)?;
            let mut params = set.param_names().map_err(drop)?;
            params.extend(names.into_iter().filter(|name| !dims.contains(name)));
            params.sort();
            params.dedup();
            let params: Vec<&str> = params.iter().map(String::as_str).collect();
            let set = set.with_params(&params).map_err(drop)?;
            set.constrain_by(&isl::Constraint::inequality(wrong)).and_then(|set| set.is_empty()).map_err(drop)
        };
        let above = index.plus(&size, -1);
        let below = Affine::constant(-1).plus(&index, -1);
        [above, below].into_iter().all(|wrong| never(wrong) == Ok::<bool, ()>(true))
    }
}
