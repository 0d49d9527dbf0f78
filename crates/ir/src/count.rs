//! Counts operations by the rule of the kernel format.
//!
//! # Input
//! A program, with a linearization or without; values for parameters that have no estimate.
//! # Output
//! The exact number of floating-point operations that it executes, by kind and by loop depth.
//! # Method
//! Expressions count as text: an operand that stands twice is executed twice. A forward pass over the DAG gives for
//! each expression how many operations of each kind run under which reduction inames; they are weighted with the
//! exact number of points of the joint domain of loops and reduction inames. A condition that is affine restricts the
//! points; any other counts as if it held.
//! # Complexity
//! Linear in the DAG; one isl count per distinct set of loops, reduction inames and affine conditions.
//! # Source
//! The contract `nestegg-kernel/1`, "How operations are counted".

use std::collections::BTreeMap;
use std::fmt;

use nestegg_isl as isl;
use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use crate::data_bounds::unguarded;
use crate::domains::{DomainError, Domains};
use crate::expr::{Expr, Op};
use crate::ids::{ExprId, InameId, InameSet, InsnId};
use crate::inline::{RecursiveRule, inline_substitutions};
use crate::kernel::{InstructionKind, Kernel, Program};
use crate::linearization::{Item, Surroundings};
use crate::types::Types;

/// A kind of operation that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// Additions and subtractions, also those of sum reductions.
    Add,
    /// Multiplications, also those of product reductions.
    Mul,
    /// Divisions.
    Div,
    /// Powers, by the multiplications that the rule charges.
    Pow,
    /// Function calls.
    Call,
    /// Comparisons.
    Compare,
    /// Selections.
    Select,
    /// Minima and maxima.
    MinMax,
}

impl OperationKind {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Mul => "mul",
            Self::Div => "div",
            Self::Pow => "pow",
            Self::Call => "call",
            Self::Compare => "compare",
            Self::Select => "select",
            Self::MinMax => "min/max",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Operations by kind and by the number of loops (reductions included) around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationCount {
    /// (loop depth, kind) to operations; no entry is zero.
    pub entries: BTreeMap<(usize, OperationKind), BigUint>,
    /// Operations of each instruction, its predicates among them; none is zero. Conditions that stand alone are of no instruction.
    pub by_instruction: BTreeMap<InsnId, BigUint>,
}

impl OperationCount {
    /// All operations.
    #[must_use]
    pub fn total(&self) -> BigUint {
        self.entries.values().sum()
    }

    /// Operations by kind.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<OperationKind, BigUint> {
        let mut res = BTreeMap::new();
        for ((_, kind), count) in &self.entries {
            *res.entry(*kind).or_default() += count;
        }
        res
    }

    /// Operations by loop depth.
    #[must_use]
    pub fn by_depth(&self) -> BTreeMap<usize, BigUint> {
        let mut res = BTreeMap::new();
        for ((depth, _), count) in &self.entries {
            *res.entry(*depth).or_default() += count;
        }
        res
    }
}

/// Why a program cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// A domain cannot be counted.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A substitution rule needs itself.
    #[error(transparent)]
    Recursive(#[from] RecursiveRule),
}

/// Counts the operations of a program; `values` are parameter values that go before the kernel's estimates.
///
/// # Errors
/// If a domain cannot be counted.
pub fn count(program: &Program, values: &[(String, i64)]) -> Result<OperationCount, CountError> {
    // Bounds of loops cost nothing, whatever they depend on.
    let unguarded = unguarded(program);
    let program = unguarded.as_ref().map_or(program, |unguarded| &unguarded.program);
    let mut kernel = program.kernel().clone();
    let mut linearization = program.linearization().cloned();
    let mut conditions: Vec<&mut ExprId> = linearization
        .iter_mut()
        .flatten()
        .filter_map(|item| match item {
            Item::If(condition) => Some(condition),
            _ => None,
        })
        .collect();
    inline_substitutions(&mut kernel, &mut conditions)?;
    let context = isl::Context::new();
    let domains = Domains::new(&context, &kernel)?.with_values(values);
    let mut counter = Counter {
        works: Works::of(&kernel),
        kernel: &kernel,
        domains: &domains,
        points: FxHashMap::default(),
        is_affine: FxHashMap::default(),
        current: None,
        res: OperationCount::default(),
    };
    match &linearization {
        Some(items) => counter.add_list(items)?,
        None => {
            for insn in kernel.insn_ids() {
                let around = Surroundings { loops: kernel[insn].within.clone(), conditions: Vec::new() };
                counter.add_instruction(insn, &around)?;
            }
        }
    }
    Ok(counter.res)
}

struct Counter<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    works: Works,
    points: FxHashMap<(InameSet, Vec<ExprId>), BigUint>,
    /// Whether conditions can restrict points.
    is_affine: FxHashMap<ExprId, bool>,
    /// The instruction at hand.
    current: Option<InsnId>,
    res: OperationCount,
}

impl Counter<'_> {
    fn add_list(&mut self, items: &[Item]) -> Result<(), CountError> {
        let mut around = Surroundings::default();
        for item in items {
            match *item {
                Item::For(iname) => around.loops.push(iname),
                Item::End(_) => {
                    around.loops.pop();
                }
                Item::If(condition) => {
                    self.add_expression(condition, &around)?;
                    around.conditions.push(condition);
                }
                Item::EndIf => {
                    around.conditions.pop();
                }
                Item::Run(insn) => self.add_instruction(insn, &around)?,
            }
        }
        Ok(())
    }

    fn add_instruction(&mut self, insn: InsnId, around: &Surroundings) -> Result<(), CountError> {
        self.current = Some(insn);
        let res = self.add_parts(insn, around);
        self.current = None;
        res
    }

    fn add_parts(&mut self, insn: InsnId, around: &Surroundings) -> Result<(), CountError> {
        let instruction = &self.kernel[insn];
        let mut around = around.clone();
        for &predicate in &instruction.predicates {
            self.add_expression(predicate, &around)?;
            around.conditions.push(predicate);
        }
        for index in instruction.assignees().iter().flat_map(|assignee| assignee.indices.iter()) {
            self.add_expression(*index, &around)?;
        }
        match &instruction.kind {
            InstructionKind::Assignment { expression, .. } => self.add_expression(*expression, &around),
            InstructionKind::Call { arguments, .. } => {
                for argument in arguments {
                    self.add_expression(*argument, &around)?;
                }
                self.add(OperationKind::Call, &InameSet::new(), &BigUint::from(1_u32), &around)
            }
            InstructionKind::Opaque { .. } => Ok(()),
        }
    }

    fn add_expression(&mut self, id: ExprId, around: &Surroundings) -> Result<(), CountError> {
        for ((kind, bound), executions) in self.works.of[id.index()].clone() {
            self.add(kind, &bound, &executions, around)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        kind: OperationKind,
        bound: &InameSet,
        executions: &BigUint,
        around: &Surroundings,
    ) -> Result<(), CountError> {
        let inames: InameSet = around.loops.iter().copied().chain(bound.iter()).collect();
        let depth = inames.len();
        let points = self.points(inames, &around.conditions)?;
        let operations = executions * points;
        if operations != BigUint::ZERO {
            if let Some(insn) = self.current {
                *self.res.by_instruction.entry(insn).or_default() += &operations;
            }
            *self.res.entries.entry((depth, kind)).or_default() += operations;
        }
        Ok(())
    }

    fn points(&mut self, inames: InameSet, conditions: &[ExprId]) -> Result<BigUint, CountError> {
        let kernel = self.kernel;
        let is_affine = |&&id: &&ExprId| *self.is_affine.entry(id).or_insert_with(|| Domains::is_affine(kernel, id));
        let conditions: Vec<ExprId> = conditions.iter().filter(is_affine).copied().collect();
        if conditions.is_empty() {
            return Ok(self.domains.count(&inames)?);
        }
        let key = (inames, conditions);
        if let Some(points) = self.points.get(&key) {
            return Ok(points.clone());
        }
        let mut set = self.domains.of(&key.0)?;
        for &condition in &key.1 {
            if let Some(part) = self.domains.restrict(&set, self.kernel, condition)? {
                set = part;
            }
        }
        let points = self.domains.count_set(&set)?;
        self.points.insert(key, points.clone());
        Ok(points)
    }
}

/// Operations of an expression as text: (kind, reduction inames around it inside the expression) to executions.
type Work = BTreeMap<(OperationKind, InameSet), BigUint>;

/// The work of every expression.
struct Works {
    of: Vec<Work>,
}

impl Works {
    fn of(kernel: &Kernel) -> Self {
        let types = Types::infer(kernel);
        let mut of: Vec<Work> = Vec::with_capacity(kernel.exprs.len());
        for (id, expr) in kernel.exprs.iter() {
            let mut work = Work::new();
            for child in expr.children() {
                for (key, executions) in &of[child.index()] {
                    *work.entry(key.clone()).or_default() += executions;
                }
            }
            if let Expr::Reduce { inames, .. } = expr {
                work = work
                    .into_iter()
                    .map(|((kind, bound), executions)| ((kind, with(&bound, inames)), executions))
                    .collect();
            }
            if let Some((kind, n)) = own_operations(kernel, &types, id, expr).filter(|(_, n)| *n > 0) {
                let bound = match expr {
                    Expr::Reduce { inames, .. } => with(&InameSet::new(), inames),
                    _ => InameSet::new(),
                };
                *work.entry((kind, bound)).or_default() += n;
            }
            of.push(work);
        }
        Self { of }
    }
}

fn with(bound: &InameSet, inames: &[InameId]) -> InameSet {
    bound.union(&inames.iter().copied().collect())
}

/// The operations that one expression adds to those of its operands; per point of its inames for a reduction.
fn own_operations(kernel: &Kernel, types: &Types, id: ExprId, expr: &Expr) -> Option<(OperationKind, u64)> {
    let n_less_one = |operands: &[ExprId]| operands.len() as u64 - 1;
    match expr {
        Expr::Op { op, operands } if op.is_comparison() => {
            let is_float = operands.iter().any(|&operand| types.of(operand).is_float());
            is_float.then_some((OperationKind::Compare, 1))
        }
        _ if !types.of(id).is_float() => None,
        Expr::Op { op: Op::Add, operands } => Some((OperationKind::Add, n_less_one(operands))),
        Expr::Op { op: Op::Sub, .. } => Some((OperationKind::Add, 1)),
        Expr::Op { op: Op::Mul, operands } => {
            let n_units = operands.iter().filter(|&&operand| is_unit(kernel, operand)).count() as u64;
            Some((OperationKind::Mul, n_less_one(operands).saturating_sub(n_units)))
        }
        Expr::Op { op: Op::Div, .. } => Some((OperationKind::Div, 1)),
        Expr::Op { op: Op::Pow, operands } => Some((OperationKind::Pow, power_operations(kernel, operands[1]))),
        Expr::Op { op: Op::If, .. } => Some((OperationKind::Select, 1)),
        Expr::Op { op: Op::Min | Op::Max, operands } => Some((OperationKind::MinMax, n_less_one(operands))),
        Expr::Op { op: Op::FloorDiv, .. } => Some((OperationKind::Div, 1)),
        Expr::Op { op: Op::Mod, .. } => Some((OperationKind::Call, 1)),
        Expr::Call { .. } => Some((OperationKind::Call, 1)),
        Expr::Reduce { op, .. } => Some((
            match op.operator() {
                Op::Add => OperationKind::Add,
                Op::Mul => OperationKind::Mul,
                _ => OperationKind::MinMax,
            },
            1,
        )),
        _ => None,
    }
}

/// Whether an operand is the literal 1 or −1.
fn is_unit(kernel: &Kernel, id: ExprId) -> bool {
    match &kernel.exprs[id] {
        Expr::Number(number) => number.to_f64().abs() == 1.0,
        Expr::Op { op: Op::Neg, operands } => {
            matches!(&kernel.exprs[operands[0]], Expr::Number(number) if number.to_f64() == 1.0)
        }
        _ => false,
    }
}

/// What a power costs unless its exponent is written as a whole number.
pub const POWER_OPERATIONS: u64 = 5;

/// The operations of a power with the exponent `n`: `⌈log2 |n|⌉`, one more where `n` is negative.
#[must_use]
pub fn whole_power_operations(n: i64) -> u64 {
    let magnitude = n.unsigned_abs();
    let products = if magnitude <= 1 { 0 } else { u64::from((magnitude - 1).ilog2()) + 1 };
    products + u64::from(n < 0)
}

fn power_operations(kernel: &Kernel, exponent: ExprId) -> u64 {
    match kernel.exprs.literal(exponent) {
        Some(value) if value.fract() == 0.0 && value.abs() <= 1e9 => whole_power_operations(value as i64),
        _ => POWER_OPERATIONS,
    }
}
