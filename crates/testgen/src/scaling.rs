//! Kernels of a given size, for measuring how stages grow.
//!
//! # Input
//! A kind and roughly how many nodes the expression DAG shall have.
//! # Output
//! A kernel that is verified, in bounds, and defines what it reads; the same for the same input.
//! # Method
//! Each kind repeats one step; which operands a step takes is decided by a generator with a fixed seed, among recent ones, so
//! that every value is used and distances stay short.
//! # Complexity
//! Linear.

use nestegg_ir::{
    ArgumentAccess, Array, ArrayId, ArrayKind, Assignee, Domain, DomainId, Dtype, Expr, ExprId, Float, Iname, InameId,
    Instruction, InstructionKind, Kernel, Number, Op, Program, Substitution, SubstitutionId,
};

use crate::choices::{Choices, Seeded};

/// What a kernel of a given size consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// A chain of substitution rules, each on the one before.
    Chain,
    /// One sum of many products.
    WideSum,
    /// Many assignments to scalar temporaries in a loop nest, each on earlier ones.
    Statements,
    /// Element tensors: many terms `coefficient × table[q, j] × table[q, k]`, with many tables and coefficients in scalars.
    FiniteElement,
}

impl Scaling {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Chain, Self::WideSum, Self::Statements, Self::FiniteElement];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::WideSum => "wide_sum",
            Self::Statements => "statements",
            Self::FiniteElement => "finite_element",
        }
    }
}

/// Seeds the choices of operands.
const SEED: u64 = 20_260_721;
/// Values of each iname.
const EXTENT: i64 = 6;
/// Scalars that come from outside.
const N_INPUTS: usize = 16;
/// Operands are among so many recent values.
const N_RECENT: usize = 32;
/// A new pair of tables comes with so many terms.
const TERMS_PER_TABLE: usize = 16;

/// The kernel of that kind with about `n_nodes` nodes.
#[must_use]
pub fn scaling(n_nodes: usize, kind: Scaling) -> Program {
    let mut maker = Maker::new(&format!("{}_{n_nodes}", kind.name()));
    match kind {
        Scaling::Chain => maker.chain(n_nodes),
        Scaling::WideSum => maker.wide_sum(n_nodes),
        Scaling::Statements => maker.statements(n_nodes),
        Scaling::FiniteElement => maker.finite_element(n_nodes),
    }
    Program::Unordered(maker.kernel)
}

struct Maker {
    kernel: Kernel,
    choices: Seeded,
}

impl Maker {
    fn new(name: &str) -> Self {
        Self { kernel: Kernel { name: name.to_owned(), ..Kernel::default() }, choices: Seeded::new(SEED) }
    }

    /// A domain in which each iname has the values from 0 to below its size.
    fn inames(&mut self, names: &[&str]) -> Vec<InameId> {
        let constraints: Vec<String> = names.iter().map(|name| format!("0 <= {name} < {EXTENT}")).collect();
        let text = format!("{{ [{}] : {} }}", names.join(", "), constraints.join(" and "));
        let domain = DomainId::new(self.kernel.domains.len());
        let first = self.kernel.inames.len();
        for name in names {
            self.kernel.inames.push(Iname { name: (*name).to_owned(), tags: Vec::new(), domain });
        }
        let inames: Vec<InameId> = (first..self.kernel.inames.len()).map(InameId::new).collect();
        self.kernel.domains.push(Domain {
            text,
            inames: inames.clone(),
            enclosing: Vec::new(),
            parameters: Vec::new(),
        });
        inames
    }

    fn array(&mut self, name: String, shape: &[i64], kind: ArrayKind) -> ArrayId {
        let shape = shape.iter().map(|&size| self.kernel.exprs.int(size)).collect();
        self.kernel.arrays.push(Array { name, dtype: Dtype::Float64, stored: None, shape, kind });
        ArrayId::new(self.kernel.arrays.len() - 1)
    }

    fn input(&mut self, name: &str, shape: &[i64]) -> ArrayId {
        self.array(name.to_owned(), shape, ArrayKind::Argument(ArgumentAccess::Read))
    }

    fn output(&mut self, name: &str, shape: &[i64]) -> ArrayId {
        self.array(name.to_owned(), shape, ArrayKind::Argument(ArgumentAccess::ReadWrite))
    }

    /// The elements of an argument of scalars.
    fn inputs(&mut self, name: &str) -> Vec<ExprId> {
        let array = self.input(name, &[N_INPUTS as i64]);
        (0..N_INPUTS as i64)
            .map(|idx| {
                let idx = self.kernel.exprs.int(idx);
                self.kernel.exprs.access(array, [idx])
            })
            .collect()
    }

    fn literal(&mut self, value: f64) -> ExprId {
        self.kernel.exprs.float(Float::new(value).expect("literals of the generator are finite"))
    }

    fn op(&mut self, op: Op, operands: &[ExprId]) -> ExprId {
        self.kernel.exprs.op(op, operands)
    }

    fn recent(&mut self, values: &[ExprId]) -> ExprId {
        let n = values.len().min(N_RECENT);
        values[values.len() - 1 - self.choices.below(n as u64) as usize]
    }

    fn assign(&mut self, array: ArrayId, indices: &[ExprId], expression: ExprId, within: &[InameId]) {
        let id = format!("s{}", self.kernel.instructions.len());
        let assignee = Assignee { array, indices: indices.into() };
        let kind = InstructionKind::Assignment { assignee, expression };
        let within = within.to_vec();
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on: Vec::new(), predicates: Vec::new() });
    }

    /// `a[i] = a[i] + e`.
    fn accumulate(&mut self, array: ArrayId, indices: &[ExprId], value: ExprId, within: &[InameId]) {
        let old = self.kernel.exprs.access(array, indices);
        let sum = self.op(Op::Add, &[old, value]);
        self.assign(array, indices, sum, within);
    }

    /// `f1 := 0.5*f0 + x`, and so on; three nodes a step.
    fn chain(&mut self, n_nodes: usize) {
        let i = self.inames(&["i"])[0];
        let i_value = self.kernel.exprs.iname(i);
        let x = self.input("x", &[EXTENT]);
        let mut operands = self.inputs("w");
        operands.push(self.kernel.exprs.access(x, [i_value]));
        let y = self.output("y", &[EXTENT]);
        let half = self.literal(0.5);
        let mut value = operands[N_INPUTS];
        for idx in 0..(n_nodes / 3).max(1) {
            let other = self.recent(&operands);
            let product = self.op(Op::Mul, &[half, value]);
            let expression = self.op(Op::Add, &[product, other]);
            self.kernel.substitutions.push(Substitution {
                name: format!("f{idx}"),
                parameters: Vec::new(),
                expression,
            });
            value =
                self.kernel.exprs.intern(Expr::Substitution { rule: SubstitutionId::new(idx), arguments: [].into() });
        }
        self.accumulate(y, &[i_value], value, &[i]);
    }

    /// `y[i] = x[i]*w[0] + x[i + 1]*w[1] + …`; six nodes a term.
    fn wide_sum(&mut self, n_nodes: usize) {
        let i = self.inames(&["i"])[0];
        let i_value = self.kernel.exprs.iname(i);
        let n_terms = (n_nodes / 5).max(2);
        let x = self.input("x", &[EXTENT + n_terms as i64]);
        let w = self.input("w", &[n_terms as i64]);
        let y = self.output("y", &[EXTENT]);
        let terms: Vec<ExprId> = (0..n_terms as i64)
            .map(|idx| {
                let literal = self.kernel.exprs.int(idx);
                let position = self.op(Op::Add, &[i_value, literal]);
                let factors = [self.kernel.exprs.access(x, [position]), self.kernel.exprs.access(w, [literal])];
                self.op(Op::Mul, &factors)
            })
            .collect();
        let sum = self.op(Op::Add, &terms);
        self.accumulate(y, &[i_value], sum, &[i]);
    }

    /// `t1 = 0.5*t0*a - b` under two loops; three nodes a statement, and its access.
    fn statements(&mut self, n_nodes: usize) {
        let loops = self.inames(&["i", "j"]);
        let indices: Vec<ExprId> = loops.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
        let x = self.input("x", &[EXTENT, EXTENT]);
        let mut values = self.inputs("w");
        let n_statements = (n_nodes / 4).max(1);
        let y = self.output("y", &[EXTENT, EXTENT]);
        values.push(self.kernel.exprs.access(x, indices.as_slice()));
        let half = self.literal(0.5);
        for idx in 0..n_statements {
            let last = values[values.len() - 1];
            let (a, b) = (self.recent(&values), self.recent(&values));
            let product = self.op(Op::Mul, &[half, last, a]);
            let value = self.op(Op::Sub, &[product, b]);
            let temporary = self.array(format!("t{idx}"), &[], ArrayKind::Temporary);
            self.assign(temporary, &[], value, &loops);
            values.push(self.kernel.exprs.access(temporary, []));
        }
        self.accumulate(y, &indices, values[values.len() - 1], &loops);
    }

    /// `c = a*b + 0.5*d`, `A[j, k] = A[j, k] + c*phi[q, j]*psi[q, k]`; about ten nodes a term.
    fn finite_element(&mut self, n_nodes: usize) {
        let loops = self.inames(&["q", "j", "k"]);
        let [q, j, k] = [0, 1, 2].map(|idx: usize| self.kernel.exprs.iname(loops[idx]));
        let tensor = self.output("A", &[EXTENT, EXTENT]);
        let mut coefficients = self.inputs("w");
        let half = self.literal(0.5);
        let mut tables: Vec<ArrayId> = Vec::new();
        let n_terms = (n_nodes / 8).max(1);
        let mut terms = Vec::with_capacity(n_terms);
        for idx in 0..n_terms {
            if idx % TERMS_PER_TABLE == 0 {
                for _ in 0..2 {
                    let table = self.table(tables.len());
                    tables.push(table);
                }
            }
            let [a, b, d] = [0; 3].map(|_| self.recent(&coefficients));
            let (product, scaled) = (self.op(Op::Mul, &[a, b]), self.op(Op::Mul, &[half, d]));
            let value = self.op(Op::Add, &[product, scaled]);
            let scalar = self.array(format!("c{idx}"), &[], ArrayKind::Temporary);
            self.assign(scalar, &[], value, &[]);
            coefficients.push(self.kernel.exprs.access(scalar, []));
            let [test, trial] = [0; 2].map(|_| tables[self.choices.below(tables.len() as u64) as usize]);
            let (test, trial) = (self.kernel.exprs.access(test, [q, j]), self.kernel.exprs.access(trial, [q, k]));
            let coefficient = coefficients[coefficients.len() - 1];
            terms.push(self.op(Op::Mul, &[coefficient, test, trial]));
        }
        for term in terms {
            self.accumulate(tensor, &[j, k], term, &loops);
        }
    }

    /// A table of small dyadic numbers, a fifth of them zero.
    fn table(&mut self, idx: usize) -> ArrayId {
        let values: Vec<Number> = (0..EXTENT * EXTENT)
            .map(|_| {
                let value = self.choices.below(80).saturating_sub(16) as f64 / 64.0;
                Number::Float(Float::new(value).expect("entries of tables are finite"))
            })
            .collect();
        self.array(format!("phi{idx}"), &[EXTENT, EXTENT], ArrayKind::Table(values.into()))
    }
}
