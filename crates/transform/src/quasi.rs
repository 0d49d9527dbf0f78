//! Indices with divisions: affine functions with floors, as `//` and `%` by numbers make them.
//!
//! # Output
//! Equal functions mostly get equal spellings: terms cancel, a division is split where its divisor divides a term, and
//! it becomes a number where the values of the inames leave no choice. `x - 4*(x//4)` is spelled `x % 4`.
//! # Complexity
//! Linear in the expression, with divisions nested at most [`MAX_DEPTH`] deep.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{Expr, ExprId, Number, Op};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::workspace::Workspace;

/// How deep divisions may stand inside each other.
const MAX_DEPTH: usize = 8;

impl Workspace {
    /// The function that an index is; `None` if it is no affine function with floors.
    pub(crate) fn quasi_affine(&self, root: ExprId) -> Option<isl::Affine> {
        let exprs = &self.kernel.exprs;
        let mut known: FxHashMap<ExprId, isl::Affine> = FxHashMap::default();
        let mut walk = OperandsFirst::new(root);
        while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
            let expr = &exprs[id];
            let is_index = matches!(
                expr,
                Expr::Number(Number::Int(_))
                    | Expr::Iname(_)
                    | Expr::Parameter(_)
                    | Expr::Op { op: Op::Add | Op::Mul | Op::Neg | Op::Sub | Op::FloorDiv | Op::Mod, .. }
            );
            if !is_index {
                return None;
            }
            if walk.waits_for(expr.children().iter().copied(), |child| known.contains_key(child)) {
                continue;
            }
            let children: Vec<&isl::Affine> = expr.children().iter().map(|child| &known[child]).collect();
            let affine = self.combine_indices(expr, &children)?;
            known.insert(id, affine);
        }
        known.remove(&root)
    }

    fn combine_indices(&self, expr: &Expr, children: &[&isl::Affine]) -> Option<isl::Affine> {
        match expr {
            Expr::Number(Number::Int(value)) => Some(isl::Affine::constant(*value)),
            Expr::Iname(iname) => Some(isl::Affine::var(&self.kernel[*iname].name)),
            Expr::Parameter(parameter) => Some(isl::Affine::var(&self.kernel[*parameter].name)),
            Expr::Op { op: Op::Add, .. } => {
                children.iter().try_fold(isl::Affine::default(), |sum, child| sum.add(child).ok())
            }
            Expr::Op { op: Op::Sub, .. } => children[0].sub(children[1]).ok(),
            Expr::Op { op: Op::Neg, .. } => children[0].scale(-1).ok(),
            Expr::Op { op: Op::Mul, .. } => {
                let mut product = isl::Affine::constant(1);
                for child in children {
                    product = match (product.as_constant(), child.as_constant()) {
                        (Some(factor), _) => child.scale(factor).ok()?,
                        (_, Some(factor)) => product.scale(factor).ok()?,
                        (None, None) => return None,
                    };
                }
                Some(product)
            }
            Expr::Op { op, .. } => {
                let divisor = children[1].as_constant().filter(|&divisor| divisor > 0)?;
                let quotient = self.quotient(children[0], divisor)?;
                match op {
                    Op::FloorDiv => Some(quotient),
                    _ => children[0].sub(&quotient.scale(divisor).ok()?).ok(),
                }
            }
            _ => None,
        }
    }

    /// `floor(affine / divisor)`, as far as possible without the floor.
    fn quotient(&self, affine: &isl::Affine, divisor: i64) -> Option<isl::Affine> {
        let (mut whole, mut rest) = (affine.clone(), affine.clone());
        let divides = |coefficient: i64| coefficient % divisor == 0;
        whole.terms.retain(|term| divides(term.1));
        rest.terms.retain(|term| !divides(term.1));
        whole.floors.retain(|floor| divides(floor.1));
        rest.floors.retain(|floor| !divides(floor.1));
        rest.constant = affine.constant.rem_euclid(divisor);
        whole.constant = affine.constant.checked_sub(rest.constant)?;
        let whole = whole.floor_div(divisor).ok()?;
        if let (Some(least), Some(greatest)) = self.interval(&rest)
            && least.div_euclid(divisor) == greatest.div_euclid(divisor)
        {
            return whole.add(&isl::Affine::constant(least.div_euclid(divisor))).ok();
        }
        if depth(&rest) >= MAX_DEPTH {
            return None;
        }
        whole.add(&rest.floor_div(divisor).ok()?).ok()
    }

    /// The least and greatest value of a function without floors, where they are known.
    fn interval(&self, affine: &isl::Affine) -> (Option<i64>, Option<i64>) {
        if !affine.floors.is_empty() {
            return (None, None);
        }
        let terms = affine.terms.iter().map(|(name, coefficient)| Some((self.var(name)?, *coefficient)));
        match terms.collect::<Option<Vec<_>>>() {
            Some(mut terms) => {
                terms.sort_unstable();
                self.ranges.interval(&Affine { constant: affine.constant, terms })
            }
            None => (None, None),
        }
    }

    /// The iname or parameter of that name.
    fn var(&self, name: &str) -> Option<Var> {
        let iname = self.kernel.iname_ids().find(|&iname| self.kernel[iname].name == name).map(Var::Iname);
        iname.or_else(|| {
            let mut parameters = self.kernel.parameter_ids();
            parameters.find(|&parameter| self.kernel[parameter].name == name).map(Var::Parameter)
        })
    }

    /// A function as an expression; `None` if a name in it is none of the kernel, or it nests too deep.
    pub(crate) fn quasi_expr(&mut self, affine: &isl::Affine) -> Option<ExprId> {
        if depth(affine) > MAX_DEPTH {
            return None;
        }
        let mut rest = isl::Affine { floors: Vec::new(), ..affine.clone() };
        let mut operands: Vec<ExprId> = Vec::new();
        // As deep as floors nest, which is bounded.
        for (floor, coefficient) in &affine.floors {
            let numerator = self.quasi_expr(&floor.numerator)?;
            let denominator = self.kernel.exprs.int(floor.denominator);
            // k*x - k*d*floor(x/d) is k*(x % d).
            let factor = coefficient.checked_neg()? / floor.denominator;
            let is_rest = factor != 0
                && coefficient % floor.denominator == 0
                && floor.numerator.floors.is_empty()
                && floor
                    .numerator
                    .terms
                    .iter()
                    .all(|(name, own)| own.checked_mul(factor) == Some(rest.coefficient(name)));
            let (op, factor) = if is_rest { (Op::Mod, factor) } else { (Op::FloorDiv, *coefficient) };
            if is_rest {
                rest = rest.sub(&floor.numerator.scale(factor).ok()?).ok()?;
            }
            let value = self.intern(Expr::Op { op, operands: [numerator, denominator].into() });
            operands.push(self.multiple(factor, value));
        }
        let mut terms: Vec<(Var, i64)> = Vec::with_capacity(rest.terms.len());
        for (name, coefficient) in &rest.terms {
            terms.push((self.var(name)?, *coefficient));
        }
        terms.sort_unstable();
        let rest = Affine { constant: rest.constant, terms };
        if rest != Affine::default() || operands.is_empty() {
            operands.insert(0, self.affine(&rest));
        }
        Some(match operands.as_slice() {
            [single] => *single,
            _ => self.intern(Expr::Op { op: Op::Add, operands: operands.into() }),
        })
    }

    fn multiple(&mut self, factor: i64, value: ExprId) -> ExprId {
        if factor == 1 {
            return value;
        }
        let factor = self.kernel.exprs.int(factor);
        self.intern(Expr::Op { op: Op::Mul, operands: [factor, value].into() })
    }
}

/// How deep divisions nest.
fn depth(affine: &isl::Affine) -> usize {
    let mut level: Vec<&isl::Affine> = vec![affine];
    for depth in 0.. {
        level = level.into_iter().flat_map(|affine| affine.floors.iter().map(|floor| &*floor.0.numerator)).collect();
        if level.is_empty() || depth > MAX_DEPTH {
            return depth;
        }
    }
    unreachable!("the loop ends at the greatest depth")
}
