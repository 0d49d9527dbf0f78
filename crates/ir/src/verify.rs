//! Checks that a program is well formed.
//!
//! # Input
//! Any program, also one that a pass got wrong.
//! # Output
//! Every violation, with its place. A reader reports them against its source; after a pass they are bugs of it.
//! # Checked
//! Ranks, arities, operand types, writability; every iname that an instruction uses is within its inames or bound by a
//! reduction, and a reduction binds no iname of its surroundings; formal parameters stand in rules only; every
//! assignment's value fits its assignee; the linearization nests, runs each instruction once, inside exactly its
//! inames, each opened inside those that enclose its domain.
//! # Not done
//! Bounds of array elements and definition before use: validation finds those.
//! # Complexity
//! Linear in the DAG times inames of an expression.

use crate::expr::Expr;
use crate::ids::{ArrayId, DomainId, ExprId, InameId, InameSet, InsnId, SubstitutionId};
use crate::kernel::{Array, ArrayKind, Assignee, Instruction, InstructionKind, Kernel, Program};
use crate::linearization::{Item, NestingError, for_each_run, to_tree};
use crate::types::{TypeError, Types};

/// Where in a program something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The kernel as a whole.
    Kernel,
    /// A domain.
    Domain(DomainId),
    /// An argument, temporary or table.
    Array(ArrayId),
    /// A substitution rule.
    Substitution(SubstitutionId),
    /// An instruction.
    Instruction(InsnId),
    /// An item of the linearization, by position.
    Item(usize),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An access with the wrong number of indices.
    #[error("`{array}` has {rank} dimensions but is accessed with {n_indices} indices")]
    Rank {
        /// The array's name.
        array: String,
        /// Its number of dimensions.
        rank: usize,
        /// The number of indices given.
        n_indices: usize,
    },
    /// A rule with the wrong number of arguments.
    #[error("substitution `{rule}` takes {n_parameters} arguments, not {n_arguments}")]
    Arguments {
        /// The rule's name.
        rule: String,
        /// How many it takes.
        n_parameters: usize,
        /// How many it was given.
        n_arguments: usize,
    },
    /// An operator with the wrong number of operands.
    #[error("`{operator}` does not take {n_operands} operands")]
    Arity {
        /// Its spelling.
        operator: &'static str,
        /// How many it was given.
        n_operands: usize,
    },
    /// An operand of the wrong type.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A bool assigned to a number or the reverse, or a float to an integer.
    #[error("a value of type {value} cannot be assigned to `{array}` of dtype {dtype}")]
    Assignment {
        /// The array's name.
        array: String,
        /// Its dtype.
        dtype: crate::Dtype,
        /// The dtype of the value.
        value: crate::Dtype,
    },
    /// A write to a table or a read-only argument.
    #[error("`{array}` is {what} and cannot be written")]
    ReadOnly {
        /// The array's name.
        array: String,
        /// `a table` or `a read-only argument`.
        what: &'static str,
    },
    /// An iname used where it has no value.
    #[error("iname `{iname}` is used here but the instruction is not within it")]
    UnboundIname {
        /// Its name.
        iname: String,
    },
    /// A reduction over an iname that has a value already.
    #[error("the reduction over `{iname}` is within a loop or reduction over the same iname")]
    Rebound {
        /// Its name.
        iname: String,
    },
    /// A formal parameter outside a rule.
    #[error("a formal parameter stands outside its substitution rule")]
    Formal,
    /// An instruction within an iname but not within one that encloses its domain.
    #[error("iname `{iname}` needs `{outer}`, whose value its domain depends on, around it")]
    NotEnclosed {
        /// The iname.
        iname: String,
        /// The one that encloses it.
        outer: String,
    },
    /// Loops and conditions that do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// An instruction that the linearization does not run, or runs more than once.
    #[error("the linearization runs instruction `{id}` {times} times, not once")]
    Runs {
        /// Its id.
        id: String,
        /// How often it is run.
        times: usize,
    },
    /// An instruction run inside other loops than its inames.
    #[error("instruction `{id}` is within {{{within}}} but is run inside loops over {{{loops}}}")]
    Loops {
        /// Its id.
        id: String,
        /// Its inames.
        within: String,
        /// The loops around it.
        loops: String,
    },
    /// A shape with anything but integers and parameters in it.
    #[error("sizes of `{array}` may only depend on parameters")]
    Shape {
        /// The array's name.
        array: String,
    },
}

/// A violation at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Where.
    pub place: Place,
    /// What.
    pub violation: Violation,
}

/// Every violation in a program, in order of places.
#[must_use]
pub fn verify(program: &Program) -> Vec<VerifyError> {
    let kernel = program.kernel();
    let mut verifier =
        Verifier { kernel, types: Types::infer(kernel), free: Vec::new(), place: Place::Kernel, errors: Vec::new() };
    verifier.free_inames();
    verifier.shapes();
    verifier.rules();
    for insn in kernel.insn_ids() {
        verifier.place = Place::Instruction(insn);
        verifier.instruction(&kernel[insn]);
    }
    if let Some(items) = program.linearization() {
        verifier.linearization(items);
    }
    verifier.errors
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    types: Types,
    /// For each expression its free inames.
    free: Vec<InameSet>,
    place: Place,
    errors: Vec<VerifyError>,
}

impl Verifier<'_> {
    fn report(&mut self, violation: impl Into<Violation>) {
        self.errors.push(VerifyError { place: self.place, violation: violation.into() });
    }

    fn name(&self, iname: InameId) -> String {
        self.kernel[iname].name.clone()
    }

    /// Free inames of every expression. A rule's body counts as an operand of its uses where it comes before them.
    fn free_inames(&mut self) {
        for (_, expr) in self.kernel.exprs.iter() {
            let mut all = InameSet::new();
            for child in expr.children() {
                all = all.union(&self.free[child.index()]);
            }
            match expr {
                Expr::Iname(iname) => {
                    all.insert(*iname);
                }
                Expr::Reduce { inames, .. } => all = all.difference(&inames.iter().copied().collect()),
                Expr::Substitution { rule, .. } => {
                    if let Some(body) = self.free.get(self.kernel[*rule].expression.index()) {
                        all = all.union(body);
                    }
                }
                _ => {}
            }
            self.free.push(all);
        }
    }

    fn shapes(&mut self) {
        for array in self.kernel.array_ids() {
            self.place = Place::Array(array);
            for &size in &self.kernel[array].shape {
                let is_size =
                    self.kernel.exprs.reachable([size]).into_iter().all(|id| {
                        matches!(self.kernel.exprs[id], Expr::Number(_) | Expr::Parameter(_) | Expr::Op { .. })
                    });
                if !is_size || !self.types.of(size).is_integer() {
                    self.report(Violation::Shape { array: self.kernel[array].name.clone() });
                }
            }
        }
    }

    fn rules(&mut self) {
        for rule in self.kernel.substitution_ids() {
            self.place = Place::Substitution(rule);
            for id in below(self.kernel, [self.kernel[rule].expression]) {
                self.expression(id);
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let within = instruction.within_set();
        for &iname in &instruction.within {
            for &outer in &self.kernel[self.kernel[iname].domain].enclosing {
                if !within.contains(outer) {
                    let (iname, outer) = (self.name(iname), self.name(outer));
                    self.report(Violation::NotEnclosed { iname, outer });
                }
            }
        }
        let roots: Vec<ExprId> = instruction.expressions().collect();
        let mut unbound = InameSet::new();
        for &root in &roots {
            unbound = unbound.union(&self.free[root.index()].difference(&within));
        }
        for iname in unbound.iter() {
            let iname = self.name(iname);
            self.report(Violation::UnboundIname { iname });
        }
        for id in below(self.kernel, roots.iter().copied()) {
            if let Expr::Formal(_) = self.kernel.exprs[id] {
                self.report(Violation::Formal);
            }
            if let Expr::Reduce { inames, .. } = &self.kernel.exprs[id] {
                for &iname in inames {
                    if within.contains(iname) {
                        let iname = self.name(iname);
                        self.report(Violation::Rebound { iname });
                    }
                }
            }
            self.expression(id);
        }
        for assignee in instruction.assignees() {
            self.assignee(assignee);
        }
        if let InstructionKind::Assignment { assignee, expression } = &instruction.kind {
            self.assignment(&self.kernel[assignee.array], *expression);
        }
        if let InstructionKind::Opaque { writes, .. } = &instruction.kind {
            for &array in writes {
                self.writable(&self.kernel[array]);
            }
        }
        for &predicate in &instruction.predicates {
            self.condition(predicate);
        }
    }

    /// Ranks, arities and operand types of one expression.
    fn expression(&mut self, id: ExprId) {
        let kernel = self.kernel;
        match &kernel.exprs[id] {
            Expr::Access { array, indices } => self.rank(&kernel[*array], indices.len()),
            Expr::Op { op, operands } if !op.arity().allows(operands.len()) => {
                self.report(Violation::Arity { operator: op.spelling(), n_operands: operands.len() });
                return;
            }
            Expr::Substitution { rule, arguments } if kernel[*rule].parameters.len() != arguments.len() => {
                self.report(Violation::Arguments {
                    rule: kernel[*rule].name.clone(),
                    n_parameters: kernel[*rule].parameters.len(),
                    n_arguments: arguments.len(),
                });
            }
            _ => {}
        }
        if let Err(error) = self.types.check(kernel, id) {
            self.report(error);
        }
    }

    fn rank(&mut self, array: &Array, n_indices: usize) {
        if array.shape.len() != n_indices {
            self.report(Violation::Rank { array: array.name.clone(), rank: array.shape.len(), n_indices });
        }
    }

    fn assignee(&mut self, assignee: &Assignee) {
        let array = &self.kernel[assignee.array];
        self.rank(array, assignee.indices.len());
        self.writable(array);
        for &index in &assignee.indices {
            let found = self.types.of(index);
            if !found.is_integer() {
                let operation = array.name.clone();
                self.report(TypeError { expr: index, operation, expected: "integer indices", found });
            }
        }
    }

    fn writable(&mut self, array: &Array) {
        if !array.is_writable() {
            let what = if matches!(array.kind, ArrayKind::Table(_)) { "a table" } else { "a read-only argument" };
            self.report(Violation::ReadOnly { array: array.name.clone(), what });
        }
    }

    fn assignment(&mut self, array: &Array, expression: ExprId) {
        let value = self.types.of(expression);
        let fits = match array.dtype {
            crate::Dtype::Bool => value == crate::types::Type::Bool,
            dtype if dtype.is_integer() => value.is_integer() || value == crate::types::Type::Bool,
            _ => true,
        };
        if !fits {
            let (array, dtype) = (array.name.clone(), array.dtype);
            self.report(Violation::Assignment { array, dtype, value: value.dtype() });
        }
    }

    fn condition(&mut self, id: ExprId) {
        let found = self.types.of(id);
        if found != crate::types::Type::Bool {
            self.report(TypeError { expr: id, operation: "if".into(), expected: "a condition", found });
        }
    }

    fn linearization(&mut self, items: &[Item]) {
        if let Err(error) = to_tree(items) {
            let (NestingError::Unmatched { item_idx }
            | NestingError::Unclosed { item_idx }
            | NestingError::Reopened { item_idx }
            | NestingError::TooDeep { item_idx }) = error;
            self.place = Place::Item(item_idx);
            self.report(error);
            return;
        }
        let mut n_runs = vec![0; self.kernel.instructions.len()];
        let mut mismatches = Vec::new();
        for_each_run(items, |insn, around| {
            n_runs[insn.index()] += 1;
            let loops: InameSet = around.loops.iter().copied().collect();
            if loops != self.kernel[insn].within_set() {
                mismatches.push((insn, loops));
            }
        });
        for (item_idx, item) in items.iter().enumerate() {
            if let Item::If(condition) = item {
                self.place = Place::Item(item_idx);
                self.condition(*condition);
            }
        }
        let names = |set: &InameSet| set.iter().map(|iname| self.name(iname)).collect::<Vec<_>>().join(", ");
        let mismatches: Vec<_> = mismatches
            .iter()
            .map(|(insn, loops)| (*insn, names(&self.kernel[*insn].within_set()), names(loops)))
            .collect();
        for (insn, within, loops) in mismatches {
            self.place = Place::Instruction(insn);
            self.report(Violation::Loops { id: self.kernel[insn].id.clone(), within, loops });
        }
        for insn in self.kernel.insn_ids() {
            if n_runs[insn.index()] != 1 {
                self.place = Place::Instruction(insn);
                self.report(Violation::Runs { id: self.kernel[insn].id.clone(), times: n_runs[insn.index()] });
            }
        }
    }
}

/// The expressions below `roots`, each once, in increasing order; work in proportion to their number.
fn below(kernel: &Kernel, roots: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
    let mut seen: std::collections::BTreeSet<ExprId> = roots.into_iter().collect();
    let mut pending: Vec<ExprId> = seen.iter().copied().collect();
    while let Some(id) = pending.pop() {
        for &child in kernel.exprs[id].children() {
            if seen.insert(child) {
                pending.push(child);
            }
        }
    }
    seen.into_iter().collect()
}
