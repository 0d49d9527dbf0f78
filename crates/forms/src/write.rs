//! Linear maps as instructions.
//!
//! # Output
//! For straight-line code one assignment for each element that the map changes, in the place of the store's loops over table inames; for
//! loops the store itself with a sum of tables times features as its value. Shared values are shared expressions, not temporaries: which of
//! them are kept is the extractor's choice.
//! # Method
//! The map by [`linear_map`], the features, the sums in them and the operands of their operations together by
//! [`polynomials`]; both programs then become expressions.

use nestegg_ir::affine::Var;
use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Expr, ExprId, Float, InsnId, Instruction, InstructionKind, Kernel,
    LinearizedKernel, Number, Op,
};
use nestegg_solve::{LinearOptions, Operand as Value, Program, Step, Term, linear_map};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::atoms::{Atom, AtomId, Atoms, MonomialId, Operand, Scalar};
use crate::columns::{Columns, Map};
use crate::stores::{Found, Store};
use crate::{LinearMaps, Options, Shape};

/// The kernel with maps in the place of stores; `None` if it would have too many statements.
pub(crate) fn write(found: Found, columns: Columns, options: &Options) -> Option<LinearMaps> {
    let Found { stores, evaluator, mut trees } = found;
    let (mut kernel, atoms) = (evaluator.kernel, evaluator.algebra.atoms);
    let n_features = columns.maps.iter().map(|map| map.columns.len()).sum();
    let n_stores = columns.n_stores();
    let features = Features::new(&mut kernel, &atoms, &columns.maps, options);
    let mut names = Names::new(&kernel);
    let n_before = kernel.instructions.len();
    let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
    for (map, features) in columns.maps.iter().zip(&features.by_map) {
        match options.shape {
            Shape::StraightLine => {
                let program = straight_line(map, options);
                let values = expressions(&mut kernel, &program, features);
                for &(store_idx, first_row) in &map.stores {
                    let store = &stores[store_idx];
                    let statements =
                        elements(&mut kernel, &mut names, store, &evaluator.algebra.tables, &values[first_row..]);
                    replaced.insert(store.position, statements);
                    if kernel.instructions.len() - n_before > options.max_statements {
                        return None;
                    }
                }
            }
            Shape::Loops => {
                for &(store_idx, first_row) in &map.stores {
                    let store = &stores[store_idx];
                    let shape: Vec<usize> =
                        store.axes.iter().map(|&axis| evaluator.algebra.tables.extent(axis).unwrap_or(1)).collect();
                    let n_rows: usize = shape.iter().product();
                    loops(&mut kernel, &mut names, store, &shape, map, first_row..first_row + n_rows, features);
                }
            }
        }
    }
    trees = trees
        .into_iter()
        .enumerate()
        .flat_map(|(position, tree)| replaced.remove(&position).unwrap_or_else(|| vec![tree]))
        .collect();
    let linearized = LinearizedKernel { linearization: from_tree(&trees), kernel };
    Some(LinearMaps { linearized, n_stores, n_features, tolerance: columns.tolerance })
}

fn straight_line(map: &Map, options: &Options) -> Program {
    let mut entries = Vec::new();
    for (column_idx, column) in map.columns.iter().enumerate() {
        for (row, &value) in column.values.iter().enumerate() {
            if value != 0.0 {
                entries.push((row, column_idx, value));
            }
        }
    }
    let solver = LinearOptions { row_differences: options.row_differences, pairs: options.pairs, ..LinearOptions::ALL };
    linear_map(map.n_rows, map.columns.len(), &entries, &solver)
}

/// One assignment for each element of a store that is changed, in its outer loops.
fn elements(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    tables: &crate::table::TableStore,
    values: &[Option<ExprId>],
) -> Vec<LoopTree> {
    let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { return Vec::new() };
    let shape: Vec<usize> = store.axes.iter().map(|&axis| tables.extent(axis).unwrap_or(1)).collect();
    let n_points: usize = shape.iter().product();
    let original = kernel[store.insn].clone();
    let mut res = Vec::new();
    for (point_idx, value) in values.iter().take(n_points).enumerate() {
        let mut rest = point_idx;
        let mut indices = store.indices.clone();
        for (&axis, &extent) in store.axes.iter().zip(&shape).rev() {
            let value = nestegg_ir::affine::Affine::constant((rest % extent) as i64);
            rest /= extent;
            for index in &mut indices {
                // Extents are far below where an index could overflow, and it did not before.
                *index = index.substitute(Var::Iname(axis), &value).unwrap_or_default();
            }
        }
        let indices: Vec<ExprId> = indices.iter().map(|index| index.to_expr(&mut kernel.exprs)).collect();
        let element = kernel.exprs.access(assignee.array, indices.clone());
        let expression = match (store.is_accumulation, *value) {
            (true, None) => continue,
            (true, Some(value)) => kernel.exprs.op(Op::Add, [element, value]),
            (false, Some(value)) => value,
            (false, None) => number(kernel, 0.0),
        };
        let insn = InsnId::new(kernel.instructions.len());
        kernel.instructions.push(Instruction {
            id: names.new_name(&original.id),
            kind: InstructionKind::Assignment {
                assignee: Assignee { array: assignee.array, indices: indices.into() },
                expression,
            },
            within: store.outer.clone(),
            depends_on: original.depends_on.clone(),
            predicates: Vec::new(),
        });
        res.push(LoopTree::Run(insn));
    }
    for &iname in store.outer.iter().rev() {
        res = vec![LoopTree::Loop { iname, body: res }];
    }
    res
}

/// The store with tables times features as its value.
fn loops(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    shape: &[usize],
    map: &Map,
    rows: std::ops::Range<usize>,
    features: &[Option<ExprId>],
) {
    let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { return };
    let dtype = kernel[assignee.array].dtype;
    let mut terms = Vec::new();
    if store.is_accumulation {
        terms.push(kernel.exprs.access(assignee.array, assignee.indices.clone()));
    }
    let sizes: Vec<ExprId> = shape.iter().map(|&extent| kernel.exprs.int(extent as i64)).collect();
    let point: Vec<ExprId> = store.axes.iter().map(|&axis| kernel.exprs.iname(axis)).collect();
    for (column, feature) in map.columns.iter().zip(features) {
        let values = &column.values[rows.clone()];
        let Some(feature) = *feature else { continue };
        if values.iter().all(|&value| value == 0.0) {
            continue;
        }
        let numbers: Option<Vec<Number>> = values.iter().map(|&value| Float::new(value).map(Number::Float)).collect();
        let Some(numbers) = numbers else { continue };
        let array = ArrayId::new(kernel.arrays.len());
        kernel.arrays.push(Array {
            name: names.new_name("C"),
            dtype,
            shape: sizes.clone(),
            kind: ArrayKind::Table(numbers.into()),
        });
        let table = kernel.exprs.access(array, point.clone());
        terms.push(kernel.exprs.op(Op::Mul, [table, feature]));
    }
    let value = match terms.as_slice() {
        [] => number(kernel, 0.0),
        [single] => *single,
        _ => kernel.exprs.op(Op::Add, terms),
    };
    if let InstructionKind::Assignment { expression, .. } = &mut kernel[store.insn].kind {
        *expression = value;
    }
}

/// The expressions of features.
struct Features {
    /// For each map and column its feature; `None` where it is zero.
    by_map: Vec<Vec<Option<ExprId>>>,
}

impl Features {
    /// The expressions of all features of all maps.
    fn new(kernel: &mut Kernel, atoms: &Atoms, maps: &[Map], options: &Options) -> Self {
        let mut writer = Writer { atoms, polynomials: Vec::new(), of_atom: FxHashMap::default() };
        let mut of_column = Vec::new();
        for map in maps {
            of_column.push(
                map.columns.iter().map(|column| writer.polynomial(column.feature.clone())).collect::<Vec<usize>>(),
            );
        }
        writer.close();
        let values = writer.write(kernel, options);
        let by_map = of_column
            .into_iter()
            .map(|columns: Vec<usize>| columns.into_iter().map(|polynomial| values[polynomial]).collect())
            .collect();
        Self { by_map }
    }
}

/// Polynomials that are written down together.
struct Writer<'a> {
    atoms: &'a Atoms,
    /// What is computed: features, sums, and operands of operations.
    polynomials: Vec<Vec<(MonomialId, f64)>>,
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
        let system: Vec<Vec<(f64, Vec<(usize, i32)>)>> = self
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
        let _ = options.scalars;
        term_by_term(&system)
    }
}

/// The polynomials term by term.
fn term_by_term(system: &[Vec<(f64, Vec<(usize, i32)>)>]) -> Program {
    let mut p = Program::default();
    for poly in system {
        let mut ts = Vec::new();
        for (c, m) in poly {
            if m.is_empty() {
                ts.push(Term::constant(*c));
                continue;
            }
            p.steps.push(Step::Product(m.iter().map(|&(i, e)| (Value::Input(i), e)).collect()));
            ts.push(Term::new(*c, Value::Step(p.steps.len() - 1)));
        }
        if ts.len() == 1 {
            p.outputs.push(ts[0])
        } else {
            p.steps.push(Step::Sum(ts));
            p.outputs.push(Term::new(1.0, Value::Step(p.steps.len() - 1)))
        }
    }
    p
}

/// The expressions of a program's outputs; `None` for zero.
fn expressions(kernel: &mut Kernel, program: &Program, inputs: &[Option<ExprId>]) -> Vec<Option<ExprId>> {
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

fn product(kernel: &mut Kernel, factors: Vec<ExprId>) -> ExprId {
    match factors.as_slice() {
        [] => number(kernel, 1.0),
        [single] => *single,
        _ => kernel.exprs.op(Op::Mul, factors),
    }
}

fn scaled(kernel: &mut Kernel, coefficient: f64, expr: ExprId) -> ExprId {
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
fn number(kernel: &mut Kernel, value: f64) -> ExprId {
    kernel.exprs.intern(Expr::Number(Number::Float(Float::new(value).unwrap_or_else(zero))))
}

fn zero() -> Float {
    Float::new(0.0).expect("zero is finite")
}

/// Names that are in use.
struct Names {
    used: FxHashSet<String>,
    next: FxHashMap<String, usize>,
}

impl Names {
    fn new(kernel: &Kernel) -> Self {
        let used = kernel.instructions.iter().map(|instruction| instruction.id.clone());
        let used = used.chain(kernel.inames.iter().map(|iname| iname.name.clone()));
        let used = used.chain(kernel.arrays.iter().map(|array| array.name.clone()));
        let used = used.chain(kernel.parameters.iter().map(|parameter| parameter.name.clone()));
        let used = used.chain(kernel.functions.iter().cloned()).chain([kernel.name.clone()]);
        Self { used: used.collect(), next: FxHashMap::default() }
    }

    fn new_name(&mut self, stem: &str) -> String {
        loop {
            let next = self.next.entry(stem.to_owned()).or_default();
            let name = format!("{stem}_{next}");
            *next += 1;
            if self.used.insert(name.clone()) {
                return name;
            }
        }
    }
}
