//! Names for sub-expressions, where a kernel written as text would be too deep or too large.
//!
//! # Input
//! Any program. Its expressions are a DAG; written, they are trees.
//! # Output
//! The same program, if each expression written as a tree can be read back and is not much larger than the DAG.
//! Otherwise an equal one in which sub-expressions are named by substitution rules, which say nothing of where a
//! value is computed and so change no count and no meaning.
//! # Method
//! One pass over the DAG, operands first, that knows the depth and size of each expression as it would be written.
//! An expression is named when it becomes too deep, or when it is large and used more than once. Formal parameters
//! in it become formal parameters of the new rule.
//! # Complexity
//! Linear in the DAG.

use std::borrow::Cow;

use nestegg_ir::data_bounds::unguarded;
use nestegg_ir::{Expr, ExprId, Exprs, Item, Kernel, LinearizedKernel, Program, Substitution, SubstitutionId};
use rustc_hash::FxHashSet;

use crate::MAX_EXPRESSION_DEPTH;

/// The deepest expression that is written without names in it: C compilers, too, have limits.
const MAX_DEPTH: usize = MAX_EXPRESSION_DEPTH / 4;
/// How many expressions may be written before sharing matters: more than honest files hold, so that those come
/// back as they were.
const MAX_SIZE: u64 = 5_000_000;
/// How many times its DAG a kernel of more than [`MAX_SIZE`] may be when written.
const MAX_GROWTH: u64 = 8;
/// The largest shared expression that is written at each of its uses in a kernel that would be too large.
const MAX_REPEATED: u64 = 8;

/// The program in a form that can be written as text and read back.
pub(crate) fn writable(program: &Program) -> Cow<'_, Program> {
    let kernel = program.kernel();
    let roots = roots(program);
    let order = kernel.exprs.reachable(roots.iter().copied());
    let written = measure(kernel, &order);
    let size = roots.iter().fold(0_u64, |sum, root| sum.saturating_add(written[root.index()].size));
    let n_nodes = u64::try_from(order.len()).unwrap_or(u64::MAX);
    let is_large = size > MAX_SIZE && size > n_nodes.saturating_mul(MAX_GROWTH);
    let is_deep = roots.iter().any(|root| written[root.index()].depth > MAX_EXPRESSION_DEPTH);
    if is_large || is_deep { Cow::Owned(named(program, &order, is_large)) } else { Cow::Borrowed(program) }
}

/// The program with the bounds that depend on data in its domains, where it has such bounds.
pub(crate) fn bounded(program: &Program) -> Cow<'_, Program> {
    // What cannot be bounded never leaves the driver.
    let bounded = unguarded(program).and_then(|unguarded| unguarded.bounded().ok().flatten());
    bounded.map_or(Cow::Borrowed(program), Cow::Owned)
}

/// An expression as it would be written.
#[derive(Clone, Copy, Default)]
struct Written {
    depth: usize,
    size: u64,
}

fn roots(program: &Program) -> Vec<ExprId> {
    let kernel = program.kernel();
    let mut roots: Vec<ExprId> = kernel.substitutions.iter().map(|substitution| substitution.expression).collect();
    roots.extend(kernel.instructions.iter().flat_map(|insn| insn.expressions()));
    let items = program.linearization().into_iter().flatten();
    roots.extend(items.filter_map(|item| if let Item::If(condition) = item { Some(*condition) } else { None }));
    roots
}

fn measure(kernel: &Kernel, order: &[ExprId]) -> Vec<Written> {
    let mut res = vec![Written::default(); kernel.exprs.len()];
    for &id in order {
        res[id.index()] = combine(kernel.exprs[id].children(), |child| res[child.index()]);
    }
    res
}

fn combine(children: &[ExprId], written: impl Fn(ExprId) -> Written) -> Written {
    children.iter().map(|&child| written(child)).fold(Written { depth: 0, size: 1 }, |sum, child| Written {
        depth: sum.depth.max(child.depth + 1),
        size: sum.size.saturating_add(child.size),
    })
}

/// The program with names for what is too deep and, if it is too large, for what is shared.
fn named(program: &Program, order: &[ExprId], is_large: bool) -> Program {
    let kernel = program.kernel();
    let mut n_uses = vec![0_u32; kernel.exprs.len()];
    for &id in order {
        for child in kernel.exprs[id].children() {
            n_uses[child.index()] = n_uses[child.index()].saturating_add(1);
        }
    }
    for root in roots(program) {
        n_uses[root.index()] = n_uses[root.index()].saturating_add(1);
    }
    let mut res = kernel.clone();
    let mut names = Names::new(kernel);
    let mut exprs = std::mem::take(&mut res.exprs);
    let mut written: Vec<Written> = Vec::new();
    let mut n_formals: Vec<u32> = Vec::new();
    let rewritten = exprs.rewrite(order.iter().copied(), |exprs, old, expr| {
        let mut id = exprs.intern(expr);
        extend(exprs, &mut written, &mut n_formals);
        let Written { depth, size } = written[id.index()];
        // Conditions stay: they are short, and a rule is known by its name as a number.
        if matches!(&exprs[id], Expr::Op { op, .. } if op.is_comparison() || op.is_logic()) {
            return id;
        }
        let is_shared = n_uses[old.index()] > 1 && size > MAX_REPEATED;
        if depth >= MAX_DEPTH || (is_large && is_shared) {
            let rule = SubstitutionId::new(res.substitutions.len());
            let formals = 0..n_formals[id.index()];
            let parameters = formals.clone().map(|idx| format!("x{idx}")).collect();
            res.substitutions.push(Substitution { name: names.next(), parameters, expression: id });
            let arguments: Vec<ExprId> = formals.map(|idx| exprs.intern(Expr::Formal(idx))).collect();
            id = exprs.intern(Expr::Substitution { rule, arguments: arguments.into() });
            extend(exprs, &mut written, &mut n_formals);
        }
        id
    });
    res.exprs = exprs;
    let n_old = kernel.substitutions.len();
    for substitution in &mut res.substitutions[..n_old] {
        substitution.expression = rewritten.get(substitution.expression);
    }
    for insn in &mut res.instructions {
        insn.map_expressions(|id| rewritten.get(id));
    }
    match program {
        Program::Unordered(_) => Program::Unordered(res),
        Program::Linearized(LinearizedKernel { linearization, .. }) => {
            let items = linearization.iter().map(|item| match item {
                Item::If(condition) => Item::If(rewritten.get(*condition)),
                other => *other,
            });
            Program::Linearized(LinearizedKernel { kernel: res, linearization: items.collect() })
        }
    }
}

/// Measures the expressions that are new.
fn extend(exprs: &Exprs, written: &mut Vec<Written>, n_formals: &mut Vec<u32>) {
    for (_, expr) in exprs.iter().skip(written.len()) {
        let children = expr.children();
        let own = if let Expr::Formal(idx) = expr { idx + 1 } else { 0 };
        n_formals.push(children.iter().map(|child| n_formals[child.index()]).fold(own, u32::max));
        let combined = combine(children, |child| written[child.index()]);
        written.push(combined);
    }
}

/// Names that the kernel does not have.
struct Names {
    taken: FxHashSet<String>,
    n_made: usize,
}

impl Names {
    fn new(kernel: &Kernel) -> Self {
        let names = kernel.parameters.iter().map(|parameter| &parameter.name);
        let names = names.chain(kernel.inames.iter().map(|iname| &iname.name));
        let names = names.chain(kernel.arrays.iter().map(|array| &array.name));
        let names = names.chain(kernel.substitutions.iter().map(|substitution| &substitution.name));
        let taken = names.chain(&kernel.functions).cloned().collect();
        Self { taken, n_made: 0 }
    }

    fn next(&mut self) -> String {
        loop {
            let name = format!("part{}", self.n_made);
            self.n_made += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use nestegg_ir::inline::inline_substitutions;
    use nestegg_ir::{InstructionKind, Op};
    use nestegg_span::Source;

    use super::*;

    const TEXT: &str = "kernel k\ndomain { [i] : 0 <= i < 4 }\narg a : float64[4] read\narg z : float64[4] write\n\
        part1(v) := v*v + a[i]\nfor i\n  z[i] = a[i]\nend\n";

    /// Grows the value of `z`, or the body of the rule, and checks that what is written is read as an equal kernel.
    fn check(in_rule: bool, n_steps: usize, step: impl Fn(&mut Exprs, ExprId) -> ExprId) {
        let Program::Unordered(mut kernel) = crate::read_text(&Source::new("t", TEXT)).expect("a kernel").program
        else {
            panic!("the text is not linearized");
        };
        let rule = SubstitutionId::new(0);
        let InstructionKind::Assignment { mut expression, assignee } = kernel.instructions[0].kind.clone() else {
            panic!("the text has one assignment");
        };
        let mut grown = if in_rule { kernel[rule].expression } else { expression };
        for _ in 0..n_steps {
            grown = step(&mut kernel.exprs, grown);
        }
        if in_rule {
            kernel[rule].expression = grown;
            expression = kernel.exprs.intern(Expr::Substitution { rule, arguments: [expression].into() });
        } else {
            expression = grown;
        }
        kernel.instructions[0].kind = InstructionKind::Assignment { assignee, expression };
        let program = Program::Unordered(kernel);
        for written in [crate::write_json(&program), crate::write_text(&program)] {
            assert!(written.len() < 200 * (n_steps + 10), "{} bytes", written.len());
            let again = crate::read(&Source::new("t", written)).expect("what is written is read");
            assert_eq!(inlined(again.program), inlined(program.clone()));
        }
    }

    /// The number of expressions of a program without rules, and the depth and size of its value.
    fn inlined(program: Program) -> (usize, usize, u64) {
        let Program::Unordered(mut kernel) = program else { panic!("the program is not linearized") };
        inline_substitutions(&mut kernel, &mut []).expect("rules are not recursive");
        let root = kernel.instructions[0].expressions().next().expect("an assignment has a value");
        let order = kernel.exprs.reachable([root]);
        let written = measure(&kernel, &order)[root.index()];
        (order.len(), written.depth, written.size)
    }

    #[test]
    fn deep_expressions_are_named() {
        check(false, 20_000, |exprs, id| {
            let one = exprs.int(1);
            exprs.op(Op::Sub, [one, id])
        });
    }

    #[test]
    fn large_expressions_are_named() {
        check(false, 200, |exprs, id| exprs.op(Op::Mul, [id, id]));
    }

    #[test]
    fn bodies_of_rules_are_named_with_their_formals() {
        check(true, 3_000, |exprs, id| {
            let formal = exprs.intern(Expr::Formal(0));
            exprs.op(Op::Sub, [formal, id])
        });
    }

    #[test]
    fn ordinary_kernels_stay() {
        let read = crate::read_text(&Source::new("t", TEXT)).expect("a kernel");
        assert!(matches!(writable(&read.program), Cow::Borrowed(_)));
    }
}
