//! Polynomials in scalar atoms, and programs of the solvers, as expressions.
//!
//! # Output
//! Expressions in which what is shared is one expression.
//! # Method
//! Polynomials, the sums that are atoms in them, and the operands of their operations go to the solver together, so that what
//! they have in common is found; its program becomes expressions in the order in which they need each other.

use nestegg_ir::{Expr, ExprId, Float, Kernel, Number, Op};
use nestegg_solve::{Operand as Value, Polynomial, PolynomialOptions, Program, Step, Term};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Options;
use crate::atoms::{Atom, AtomId, Atoms, MonomialId, Operand, Scalar};

/// How many tries the solver gets for systems of at most so many terms: the larger, the fewer.
const TRIES: [(usize, usize); 3] = [(1_500, usize::MAX), (4_000, 2), (20_000, 1)];

/// A sum of numbers times monomials.
pub(crate) type Terms = Vec<(MonomialId, f64)>;

/// The expressions of polynomials; `None` for zero.
pub(crate) fn polynomials(
    kernel: &mut Kernel,
    atoms: &Atoms,
    polynomials: Vec<Terms>,
    options: &Options,
) -> Vec<Option<ExprId>> {
    let n_polynomials = polynomials.len();
    let mut writer = Writer { atoms, polynomials, of_atom: FxHashMap::default() };
    writer.close();
    let mut values = writer.write(kernel, options);
    values.truncate(n_polynomials);
    values
}

/// How many operations the polynomials take, all that they are made from included.
pub(crate) fn operations(atoms: &Atoms, polynomials: Vec<Terms>, options: &Options) -> u64 {
    let mut writer = Writer { atoms, polynomials, of_atom: FxHashMap::default() };
    writer.close();
    writer.program(options).operations()
}

/// What any program of the polynomials takes at least: an operation for each that is no multiple of a value, equal ones and multiples once.
///
/// Polynomials with different monomials are no multiples of each other, so that those with equal ones count once. What the values themselves take is left out.
pub(crate) fn least_operations(polynomials: &[Terms]) -> u64 {
    let monomials = polynomials.iter().filter(|terms| terms.len() > 1).filter_map(|terms| {
        let mut monomials: Vec<MonomialId> = terms.iter().map(|term| term.0).collect();
        monomials.sort_unstable();
        // Equal monomials may cancel.
        let is_plain = monomials.is_sorted_by(|a, b| a < b) && terms.iter().all(|term| term.1 != 0.0);
        is_plain.then_some(monomials)
    });
    monomials.collect::<FxHashSet<_>>().len() as u64
}

/// Polynomials that are written down together.
struct Writer<'a> {
    atoms: &'a Atoms,
    /// What is computed: features, sums, and operands of operations.
    polynomials: Vec<Terms>,
    /// For each atom that occurs the polynomials that it is made from.
    of_atom: FxHashMap<AtomId, Vec<usize>>,
}

impl Writer<'_> {
    fn polynomial(&mut self, terms: Vec<(MonomialId, f64)>) -> usize {
        self.polynomials.push(terms);
        self.polynomials.len() - 1
    }

    /// Adds the polynomials that atoms are made from.
    fn close(&mut self) {
        let mut seen: FxHashSet<AtomId> = FxHashSet::default();
        let mut next = 0;
        while next < self.polynomials.len() {
            let monomials: Vec<MonomialId> = self.polynomials[next].iter().map(|term| term.0).collect();
            next += 1;
            for monomial in monomials {
                for &(atom, _) in self.atoms.factors(monomial) {
                    if !seen.insert(atom) {
                        continue;
                    }
                    let made_from: Vec<Vec<(MonomialId, f64)>> = match self.atoms.atom(atom) {
                        Atom::Leaf(_) => Vec::new(),
                        Atom::Sum(terms) => {
                            vec![terms.iter().map(|term| (term.monomial, term.coefficient.get())).collect()]
                        }
                        Atom::Operation(_, operands) => operands
                            .iter()
                            .filter_map(|operand| match operand {
                                Operand::Scalar(Scalar { coefficient, monomial }) => {
                                    Some(vec![(*monomial, coefficient.get())])
                                }
                                Operand::Given(_) => None,
                            })
                            .collect(),
                    };
                    let polynomials = made_from.into_iter().map(|terms| self.polynomial(terms)).collect();
                    self.of_atom.insert(atom, polynomials);
                }
            }
        }
    }

    /// The expressions of the polynomials; `None` for zero.
    fn write(&self, kernel: &mut Kernel, options: &Options) -> Vec<Option<ExprId>> {
        let program = self.program(options);
        let mut inputs: Vec<Option<ExprId>> = vec![None; self.atoms.len()];
        let mut steps: Vec<Option<ExprId>> = vec![None; program.steps.len()];
        let mut outputs: Vec<Option<Option<ExprId>>> = vec![None; self.polynomials.len()];
        // What is needed first is written first: atoms need polynomials, polynomials need steps, steps need atoms.
        #[derive(Clone, Copy)]
        enum Task {
            Polynomial(usize),
            Step(usize),
            Atom(usize),
        }
        let task = |operand: Value| match operand {
            Value::Input(idx) => Task::Atom(idx),
            Value::Step(idx) => Task::Step(idx),
        };
        for root in 0..self.polynomials.len() {
            let mut pending = vec![Task::Polynomial(root)];
            while let Some(&next) = pending.last() {
                let needs: Vec<Task> = match next {
                    Task::Polynomial(idx) => program.outputs[idx].operand.map(task).into_iter().collect(),
                    Task::Step(idx) => program.steps[idx].operands().map(task).collect(),
                    Task::Atom(idx) => self.of_atom[&Atoms::id(idx)].iter().map(|&idx| Task::Polynomial(idx)).collect(),
                };
                let is_done = |task: &Task| match *task {
                    Task::Polynomial(idx) => outputs[idx].is_some(),
                    Task::Step(idx) => steps[idx].is_some(),
                    Task::Atom(idx) => inputs[idx].is_some(),
                };
                if is_done(&next) {
                    pending.pop();
                    continue;
                }
                let n_pending = pending.len();
                pending.extend(needs.into_iter().filter(|task| !is_done(task)));
                if pending.len() > n_pending {
                    continue;
                }
                pending.pop();
                let value = |operand: Value| match operand {
                    Value::Input(idx) => inputs[idx],
                    Value::Step(idx) => steps[idx],
                };
                match next {
                    Task::Polynomial(idx) => outputs[idx] = Some(term(kernel, &program.outputs[idx], &value)),
                    Task::Step(idx) => {
                        let expr = step(kernel, &program.steps[idx], &value);
                        steps[idx] = Some(expr);
                    }
                    Task::Atom(idx) => {
                        let made_from = &self.of_atom[&Atoms::id(idx)];
                        let parts: Vec<Option<ExprId>> = made_from.iter().map(|&idx| outputs[idx].flatten()).collect();
                        inputs[idx] = Some(self.atom(kernel, Atoms::id(idx), &parts));
                    }
                }
            }
        }
        outputs.into_iter().map(Option::flatten).collect()
    }

    fn atom(&self, kernel: &mut Kernel, atom: AtomId, parts: &[Option<ExprId>]) -> ExprId {
        match self.atoms.atom(atom) {
            Atom::Leaf(expr) => *expr,
            Atom::Sum(_) => parts[0].unwrap_or_else(|| number(kernel, 0.0)),
            Atom::Operation(shape, operands) => {
                let mut parts = parts.iter();
                let values: Vec<ExprId> = operands
                    .iter()
                    .map(|operand| match operand {
                        Operand::Given(expr) => *expr,
                        Operand::Scalar(_) => parts.next().copied().flatten().unwrap_or_else(|| number(kernel, 0.0)),
                    })
                    .collect();
                let mut node: Expr = shape.clone();
                for (child, value) in node.children_mut().iter_mut().zip(values) {
                    *child = value;
                }
                kernel.exprs.intern(node)
            }
        }
    }

    fn program(&self, options: &Options) -> Program {
        let system: Vec<Polynomial> = self
            .polynomials
            .iter()
            .map(|polynomial| {
                polynomial
                    .iter()
                    .map(|&(monomial, coefficient)| {
                        let factors = self.atoms.factors(monomial);
                        (coefficient, factors.iter().map(|&(atom, power)| (atom.index(), power)).collect())
                    })
                    .collect()
            })
            .collect();
        let n_terms: usize = system.iter().map(Vec::len).sum();
        let n_tries = TRIES.iter().find(|tries| n_terms <= tries.0).map_or(0, |tries| tries.1);
        let solver =
            PolynomialOptions { sums: options.scalars, products: options.scalars, n_tries, ..PolynomialOptions::ALL };
        nestegg_solve::polynomials(&system, &solver)
    }
}

/// The expressions of a program's outputs; `None` for zero.
pub(crate) fn expressions(kernel: &mut Kernel, program: &Program, inputs: &[Option<ExprId>]) -> Vec<Option<ExprId>> {
    let mut steps: Vec<Option<ExprId>> = Vec::with_capacity(program.steps.len());
    for next in &program.steps {
        let value = |operand: Value| match operand {
            Value::Input(idx) => inputs[idx],
            Value::Step(idx) => steps[idx],
        };
        let expr = step(kernel, next, &value);
        steps.push(Some(expr));
    }
    let value = |operand: Value| match operand {
        Value::Input(idx) => inputs[idx],
        Value::Step(idx) => steps[idx],
    };
    program.outputs.iter().map(|output| term(kernel, output, &value)).collect()
}

/// A term; `None` for zero.
fn term(kernel: &mut Kernel, term: &Term, value: &dyn Fn(Value) -> Option<ExprId>) -> Option<ExprId> {
    match term.operand {
        None if term.coefficient == 0.0 => None,
        None => Some(number(kernel, term.coefficient)),
        Some(operand) => value(operand).map(|expr| scaled(kernel, term.coefficient, expr)),
    }
}

fn step(kernel: &mut Kernel, step: &Step, value: &dyn Fn(Value) -> Option<ExprId>) -> ExprId {
    match step {
        Step::Sum(terms) => {
            let terms: Vec<ExprId> = terms.iter().filter_map(|next| term(kernel, next, value)).collect();
            match terms.as_slice() {
                [] => number(kernel, 0.0),
                [single] => *single,
                _ => kernel.exprs.op(Op::Add, terms),
            }
        }
        Step::Product(factors) => {
            let (mut above, mut below) = (Vec::new(), Vec::new());
            for &(operand, power) in factors {
                let base = value(operand).unwrap_or_else(|| number(kernel, 0.0));
                let factor = match power.unsigned_abs() {
                    1 => base,
                    power => {
                        let exponent = kernel.exprs.int(i64::from(power));
                        kernel.exprs.op(Op::Pow, [base, exponent])
                    }
                };
                if power > 0 { above.push(factor) } else { below.push(factor) }
            }
            let dividend = product(kernel, above);
            if below.is_empty() {
                return dividend;
            }
            let divisor = product(kernel, below);
            kernel.exprs.op(Op::Div, [dividend, divisor])
        }
    }
}

pub(crate) fn product(kernel: &mut Kernel, factors: Vec<ExprId>) -> ExprId {
    match factors.as_slice() {
        [] => number(kernel, 1.0),
        [single] => *single,
        _ => kernel.exprs.op(Op::Mul, factors),
    }
}

pub(crate) fn scaled(kernel: &mut Kernel, coefficient: f64, expr: ExprId) -> ExprId {
    if coefficient == 1.0 {
        expr
    } else if coefficient == -1.0 {
        kernel.exprs.op(Op::Neg, [expr])
    } else {
        let coefficient = number(kernel, coefficient);
        kernel.exprs.op(Op::Mul, [coefficient, expr])
    }
}

/// A float literal; what is not finite cannot come from finite tables within the limits, and would be zero.
pub(crate) fn number(kernel: &mut Kernel, value: f64) -> ExprId {
    kernel.exprs.intern(Expr::Number(Number::Float(Float::new(value).unwrap_or_else(zero))))
}

fn zero() -> Float {
    Float::new(0.0).expect("zero is finite")
}
