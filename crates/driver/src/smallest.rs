//! Where a result differs from its input: the smallest sub-expression of the input that goes wrong.
//!
//! # Input
//! A program whose result differs from it, and a way to ask whether the same holds for another program.
//! # Output
//! A [`Smallest`]: an expression that an instruction stores, none of whose operands goes wrong in its place.
//! # Method
//! The search takes the kernel in value form, where an instruction stores its whole value; if that does not go wrong,
//! it takes the original. It first tries the one instruction that the difference names alone, else it leaves out
//! halves, quarters, and so on. Then it replaces each stored value by parts of it. Those operands that are more than
//! half of the value lie one below the other; bisection finds the last of them that goes wrong. Then the search tries
//! the other operands of that one, and so on. It reduces an operand inside a reduction's body likewise, and stores a
//! condition as 1 or 0.
//! # Complexity
//! The logarithm of the expression's size as a tree, squared, times the operands of one operation; at most
//! [`MAX_TRIALS`] kernels with [`MAX_EXPRESSIONS`] expressions together are optimized.
//! # Not done
//! Conditions around instructions, and the arguments of calls with several results, are not made smaller.
//! # Source
//! Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28 (2002).

use std::collections::BTreeMap;
use std::fmt;

use nestegg_interp::Difference;
use nestegg_ir::types::{Type, Types};
use nestegg_ir::verify::verify_parts;
use nestegg_ir::{
    Expr, ExprId, InameId, InsnId, InstructionKind, Item, Kernel, Licence, LinearizedKernel, Number, Op, ReduceOp,
};

use crate::excerpt::excerpt;

/// How many kernels are optimized.
const MAX_TRIALS: usize = 100;

/// How many expressions these have together.
const MAX_EXPRESSIONS: usize = 200_000;

/// Ids that are shown of instructions beside the one that goes wrong.
const MAX_BESIDE: usize = 5;

/// What is wrong with a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wrong {
    /// An element that differs.
    pub(crate) difference: Difference,
    /// The rules that found something.
    pub(crate) rules: Vec<String>,
}

/// A sub-expression of the input that goes wrong, whose operands do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// As text, cut off where it is long.
    pub expression: String,
    /// The instruction that stores it, or what it is part of.
    pub instruction: String,
    /// Other instructions without which it would not go wrong.
    pub beside: Vec<String>,
    /// The rules that found something in these alone.
    pub rules: Vec<String>,
    /// Whether a limit was hit, so that there may be a smaller one.
    pub is_limited: bool,
}

/// Prints the end of a sentence.
impl fmt::Display for Smallest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let found = if self.is_limited { "a sub-expression" } else { "the smallest sub-expression" };
        write!(f, "{found} that goes wrong is `{}` in `{}`", self.expression, self.instruction)?;
        if !self.beside.is_empty() {
            write!(f, " beside {}", quoted(&self.beside[..self.beside.len().min(MAX_BESIDE)]))?;
        }
        match self.rules.is_empty() {
            true => f.write_str(", where no rule fired"),
            false => write!(f, ", where these rules fired: {}", quoted(&self.rules)),
        }
    }
}

/// The smallest sub-expression of `input`, which goes `wrong` so, that does. `None` if no instruction of it stores a value.
pub(crate) fn smallest(
    input: LinearizedKernel,
    wrong: Wrong,
    licence: Licence,
    goes_wrong: &dyn Fn(&LinearizedKernel) -> Option<Wrong>,
) -> Option<Smallest> {
    let form = nestegg_transform::normalise_under(input.clone(), licence);
    let mut hunt = Hunt { kernel: input, wrong, goes_wrong, n_trials: 0, n_expressions: 0, is_limited: false };
    if let Ok(form) = form {
        hunt.takes(form);
    }
    hunt.leave_out_instructions();
    for id in hunt.ids() {
        while hunt.descends(&id) {}
    }
    hunt.found()
}

/// A kernel that goes wrong, which becomes smaller and smaller.
struct Hunt<'a> {
    kernel: LinearizedKernel,
    wrong: Wrong,
    goes_wrong: &'a dyn Fn(&LinearizedKernel) -> Option<Wrong>,
    n_trials: usize,
    n_expressions: usize,
    is_limited: bool,
}

/// An expression, with the reductions around it, the outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    reductions: Vec<(ReduceOp, Box<[InameId]>)>,
    expr: ExprId,
}

impl Place {
    /// An operand in this place; of a reduction its body.
    fn of(&self, kernel: &Kernel, operand: ExprId) -> Self {
        let mut res = Self { reductions: self.reductions.clone(), expr: operand };
        while let Expr::Reduce { op, inames, body } = &kernel.exprs[res.expr] {
            res.reductions.push((*op, inames.clone()));
            res.expr = *body;
        }
        res
    }

    /// What can be tried in place of the expression: its operands, without literals.
    fn operands(&self, kernel: &Kernel) -> Vec<Self> {
        let of_interest = |operand: &&ExprId| !matches!(kernel.exprs[**operand], Expr::Number(_));
        let operands = kernel.exprs[condition_of_one(kernel, self.expr).unwrap_or(self.expr)].children();
        operands.iter().filter(of_interest).map(|&operand| self.of(kernel, operand)).collect()
    }
}

/// The condition of a selection between 1 and 0, as which conditions are stored.
fn condition_of_one(kernel: &Kernel, expr: ExprId) -> Option<ExprId> {
    let Expr::Op { op: Op::If, operands } = &kernel.exprs[expr] else { return None };
    let is = |operand: ExprId, value| kernel.exprs[operand] == Expr::Number(Number::Int(value));
    (is(operands[1], 1) && is(operands[2], 0)).then_some(operands[0])
}

/// The way down a value, always to the operand that is more than half of it as a tree.
fn path(kernel: &Kernel, value: ExprId) -> Vec<Place> {
    let mut sizes: BTreeMap<ExprId, u64> = BTreeMap::new();
    for id in kernel.exprs.reachable([value]) {
        let operands = kernel.exprs[id].children().iter().map(|operand| sizes[operand]);
        sizes.insert(id, operands.fold(1, u64::saturating_add));
    }
    let mut res = vec![Place { reductions: Vec::new(), expr: value }.of(kernel, value)];
    while let Some(next) =
        res[res.len() - 1].operands(kernel).into_iter().find(|operand| sizes[&operand.expr] > sizes[&value] / 2)
    {
        res.push(next);
    }
    res
}

/// The kernel whose instruction stores what is in a place of its value.
fn with_value(base: &LinearizedKernel, insn: InsnId, types: &Types, place: &Place) -> LinearizedKernel {
    let mut res = base.clone();
    let exprs = &mut res.kernel.exprs;
    let mut value = place.expr;
    if types.of(value) == Type::Bool {
        let (one, zero) = (exprs.int(1), exprs.int(0));
        value = exprs.op(Op::If, [value, one, zero]);
    }
    for (op, inames) in place.reductions.iter().rev() {
        value = exprs.intern(Expr::Reduce { op: *op, inames: inames.clone(), body: value });
    }
    if let InstructionKind::Assignment { expression, .. } = &mut res.kernel[insn].kind {
        *expression = value;
    }
    nestegg_transform::eliminate_dead(res)
}

impl Hunt<'_> {
    /// Goes on with a kernel if it goes wrong too.
    fn takes(&mut self, candidate: LinearizedKernel) -> bool {
        if !verify_parts(&candidate.kernel, Some(&candidate.linearization)).is_empty() {
            return false;
        }
        self.n_trials += 1;
        self.n_expressions += candidate.kernel.exprs.len();
        self.is_limited |= self.n_trials > MAX_TRIALS || self.n_expressions > MAX_EXPRESSIONS;
        if self.is_limited {
            return false;
        }
        match (self.goes_wrong)(&candidate) {
            Some(wrong) => {
                (self.kernel, self.wrong) = (candidate, wrong);
                true
            }
            None => false,
        }
    }

    /// The instructions that are left, in their order.
    fn ids(&self) -> Vec<String> {
        let LinearizedKernel { kernel, linearization } = &self.kernel;
        let run = |item: &Item| if let Item::Run(insn) = item { Some(kernel[*insn].id.clone()) } else { None };
        linearization.iter().filter_map(run).collect()
    }

    /// The kernel with these instructions alone.
    fn with_only(&self, stays: impl Fn(&String) -> bool) -> LinearizedKernel {
        let LinearizedKernel { kernel, mut linearization } = self.kernel.clone();
        linearization.retain(|item| !matches!(item, Item::Run(insn) if !stays(&kernel[*insn].id)));
        nestegg_transform::eliminate_dead(LinearizedKernel { kernel, linearization })
    }

    fn leave_out_instructions(&mut self) {
        let ids = self.ids();
        if let Difference::Value { instruction: Some(named), .. } = self.wrong.difference.clone()
            && ids.len() > 1
            && ids.contains(&named)
            && self.takes(self.with_only(|id| *id == named))
        {
            return;
        }
        let mut n_out = ids.len() / 2;
        while n_out > 0 {
            for out in self.ids().chunks(n_out) {
                if out.len() < self.ids().len() {
                    self.takes(self.with_only(|id| !out.contains(id)));
                }
            }
            n_out /= 2;
        }
    }

    /// Replaces what an instruction stores by a part of it that goes wrong; whether there may be a smaller one.
    fn descends(&mut self, id: &str) -> bool {
        let base = self.kernel.clone();
        let kernel = &base.kernel;
        let Some(insn) = kernel.insn_ids().find(|&insn| kernel[insn].id == id) else { return false };
        let InstructionKind::Assignment { expression, .. } = kernel[insn].kind else { return false };
        let types = Types::infer(kernel);
        let with = |place: &Place| with_value(&base, insn, &types, place);
        let path = path(kernel, expression);
        let (mut last, mut end) = (0, path.len());
        while end - last > 1 {
            let middle = last.midpoint(end);
            *(if self.takes(with(&path[middle])) { &mut last } else { &mut end }) = middle;
        }
        let operands = path[last].operands(kernel);
        operands.iter().filter(|operand| path.get(last + 1) != Some(operand)).any(|operand| self.takes(with(operand)))
    }

    fn found(self) -> Option<Smallest> {
        let ids = self.ids();
        let named = match &self.wrong.difference {
            Difference::Value { instruction: Some(named), .. } => ids.iter().find(|id| *id == named),
            _ => None,
        };
        let id = named.or(ids.last())?.clone();
        let kernel = &self.kernel.kernel;
        let stores = kernel.instructions.iter().find(|instruction| instruction.id == id)?;
        let InstructionKind::Assignment { expression, .. } = &stores.kind else { return None };
        Some(Smallest {
            expression: excerpt(kernel, *expression),
            beside: ids.into_iter().filter(|other| *other != id).collect(),
            instruction: id,
            rules: self.wrong.rules,
            is_limited: self.is_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use nestegg_span::Source;

    use crate::config::{Config, Judged, Strategy};
    use crate::error::Error;
    use crate::pipeline::optimize;

    /// Two rules that are no equalities: of one value, and of a condition.
    const WRONG: &str = ";; Wrong.

;; sin(x)*cos(x) == sin(x).
(rule wrong-product (* (sin ?x) (cos ?x) ?rest...) (* (sin ?x) ?rest...) :tag exact)

;; tanh(x) < y == 1 < 0.
(rule wrong-condition (< (tanh ?x) ?y) (< 1 0) :tag exact)
";

    /// Rules after which saturation goes on.
    const STRATEGY: &str = ";; Wrong.

;; The wrong rules beside others.
(strategy wrong-too :extends O2 (phase wrong :rules (wrong) :passes 1 :nodes 1000))
";

    /// What is said of a kernel over `x`, `y` and some inames.
    fn check(instructions: &str, expected: &str) {
        let text = format!(
            "kernel k\ndomain {{ [i, q, r] : 0 <= i, q, r < 4 }}\narg x : float64[4] read\narg y : float64[4, 4] read
arg out : float64[4] write\narg more : float64[4] write\ntemp t : float64\n{instructions}\n"
        );
        let config = Config {
            strategy: Strategy::InFile(Source::new("too.rules", STRATEGY)),
            rules: vec![Source::new("wrong.rules", WRONG)],
            judged: Judged::Nobody,
            ..Config::of_operations()
        };
        let error = optimize(&Source::new("k.knl", text), &config).expect_err("the rules are wrong");
        let Error::NotEqual { smallest, .. } = error else { panic!("another error: {error:?}") };
        assert_eq!(smallest.map(|it| it.to_string()).as_deref(), Some(expected), "{instructions}");
    }

    fn smallest(expression: &str, insn: &str, rest: &str) -> String {
        format!("the smallest sub-expression that goes wrong is `{expression}` in `{insn}`{rest}")
    }

    #[test]
    fn operands_are_taken_apart_and_instructions_left_out() {
        let rules = ", where these rules fired: `wrong-product`";
        check(
            "for i\n  more[i] = x[i]*x[i] {id=a}\n  out[i] = exp(1.0 + (x[i] + sin(x[i])*cos(x[i]))**2) {id=b}\nend",
            &smallest("sin(x[i])*cos(x[i])", "b", rules),
        );
        let chain = "cbrt(".repeat(300) + "sin(x[i])*cos(x[i])" + &")".repeat(300);
        check(&format!("for i\n  out[i] = {chain} {{id=a}}\nend"), &smallest("sin(x[i])*cos(x[i])", "a", rules));
    }

    #[test]
    fn temporaries_and_reductions_are_looked_through() {
        let text = "for i\n  t = sum(q, 3.0*x[i]*y[i, q] + exp(y[i, q])*(sin(y[i, q])*cos(y[i, q]) + x[q])) {id=a}
  out[i] = t*t + x[i] {id=b, dep=a}\nend";
        let rules = ", where these rules fired: `wrong-product`";
        check(text, &smallest("sum([q], sin(y[i, q])*cos(y[i, q]))", "b", rules));
    }

    #[test]
    fn conditions_are_values() {
        let text = "for i\n  out[i] = 2.0*(x[i]*x[i] if tanh(x[i]) < 3.0*x[i] else 1.0 + x[i]) {id=a}\nend";
        check(
            text,
            &smallest("if(tanh(x[i]) < (3.0*x[i]), 1, 0)", "a", ", where these rules fired: `wrong-condition`"),
        );
    }
}
