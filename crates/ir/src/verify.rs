//! Checks that a program is well formed.
//!
//! # Input
//! Any program, also one that a pass got wrong.
//! # Output
//! Every violation, with its place. A reader reports them against its source; after a pass they are bugs of it.
//! # Checked
//! Ranks, arities, operand types, writability; every iname that an instruction uses is within its inames or bound by a
//! reduction, and a reduction binds some iname and none of its surroundings, which are loops and other reductions; formal parameters stand in rules only; every
//! assignment's value fits its assignee; the linearization nests, runs each instruction once, inside exactly its
//! inames, each opened inside those that enclose its domain.
//! # Not done
//! Bounds of array elements and definition before use: validation finds those.
//! # Complexity
//! Linear in the DAG times inames of an expression; where something is wrong, linear in each instruction that uses it.

mod violation;

use crate::expr::Expr;
use crate::ids::{ExprId, InameId, InameSet};
use crate::kernel::{Array, ArrayKind, Assignee, Instruction, InstructionKind, Kernel, Program};
use crate::linearization::{Item, NestingError, for_each_run, to_tree};
use crate::types::{TypeError, Types};
use crate::walk::below;
pub use violation::{Place, VerifyError, Violation};

/// Every violation in a program, in order of places.
#[must_use]
pub fn verify(program: &Program) -> Vec<VerifyError> {
    verify_parts(program.kernel(), program.linearization().map(Vec::as_slice))
}

/// Every violation in a kernel, and in its order if it has one.
#[must_use]
pub fn verify_parts(kernel: &Kernel, linearization: Option<&[Item]>) -> Vec<VerifyError> {
    let mut verifier = Verifier {
        kernel,
        types: Types::infer(kernel),
        free: Vec::new(),
        bound: Vec::new(),
        is_clean: Vec::new(),
        place: Place::Kernel,
        errors: Vec::new(),
    };
    verifier.inames();
    verifier.clean();
    verifier.shapes();
    verifier.rules();
    for insn in kernel.insn_ids() {
        verifier.place = Place::Instruction(insn);
        verifier.instruction(&kernel[insn]);
    }
    if let Some(items) = linearization {
        verifier.linearization(items);
    }
    verifier.errors
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    types: Types,
    /// For each expression its free inames.
    free: Vec<InameSet>,
    /// For each expression the inames of the reductions in it.
    bound: Vec<InameSet>,
    /// For each expression whether nothing is wrong with it and all that is below it, so that no use of it is.
    is_clean: Vec<bool>,
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

    /// Free and bound inames of every expression. A rule's body counts as an operand of its uses where it comes before them.
    fn inames(&mut self) {
        for (_, expr) in self.kernel.exprs.iter() {
            let mut all = InameSet::new();
            let mut bound = InameSet::new();
            for child in expr.children() {
                all = all.union(&self.free[child.index()]);
                bound = bound.union(&self.bound[child.index()]);
            }
            match expr {
                Expr::Iname(iname) => {
                    all.insert(*iname);
                }
                Expr::Reduce { inames, .. } => {
                    let own = inames.iter().copied().collect();
                    all = all.difference(&own);
                    bound = bound.union(&own);
                }
                Expr::Substitution { rule, .. } => {
                    let body = self.kernel[*rule].expression.index();
                    if let (Some(free_in_body), Some(bound_in_body)) = (self.free.get(body), self.bound.get(body)) {
                        all = all.union(free_in_body);
                        bound = bound.union(bound_in_body);
                    }
                }
                _ => {}
            }
            self.free.push(all);
            self.bound.push(bound);
        }
    }

    fn clean(&mut self) {
        for (id, expr) in self.kernel.exprs.iter() {
            let is_own = !matches!(expr, Expr::Formal(_)) && self.wrong_in(id).is_empty();
            let is_clean = is_own && expr.children().iter().all(|child| self.is_clean[child.index()]);
            self.is_clean.push(is_clean);
        }
    }

    /// The expressions below `roots` with something wrong in them, operands before operations.
    fn unclean_below(&self, roots: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
        let roots: Vec<ExprId> = roots.into_iter().filter(|root| !self.is_clean[root.index()]).collect();
        below(&self.kernel.exprs, roots).into_iter().filter(|id| !self.is_clean[id.index()]).collect()
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
            for id in self.unclean_below([self.kernel[rule].expression]) {
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
        self.used(&roots, &within);
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

    /// What is used inside loops over the inames `within`.
    fn used(&mut self, roots: &[ExprId], within: &InameSet) {
        let (mut unbound, mut rebound) = (InameSet::new(), InameSet::new());
        for &root in roots {
            unbound = unbound.union(&self.free[root.index()].difference(within));
            rebound.extend(self.bound[root.index()].iter().filter(|&iname| within.contains(iname)));
        }
        for iname in unbound.iter() {
            let iname = self.name(iname);
            self.report(Violation::UnboundIname { iname });
        }
        for iname in rebound.iter() {
            let iname = self.name(iname);
            self.report(Violation::Rebound { iname });
        }
        for id in self.unclean_below(roots.iter().copied()) {
            if let Expr::Formal(_) = self.kernel.exprs[id] {
                self.report(Violation::Formal);
            }
            self.expression(id);
        }
    }

    fn expression(&mut self, id: ExprId) {
        for violation in self.wrong_in(id) {
            self.report(violation);
        }
    }

    /// Ranks, arities, operand types and reductions of one expression.
    fn wrong_in(&self, id: ExprId) -> Vec<Violation> {
        let kernel = self.kernel;
        let mut res = Vec::new();
        match &kernel.exprs[id] {
            Expr::Access { array, indices } => res.extend(rank(&kernel[*array], indices.len())),
            Expr::Op { op, operands } if !op.arity().allows(operands.len()) => {
                return vec![Violation::Arity { operator: op.spelling(), n_operands: operands.len() }];
            }
            Expr::Substitution { rule, arguments } if kernel[*rule].parameters.len() != arguments.len() => {
                res.push(Violation::Arguments {
                    rule: kernel[*rule].name.clone(),
                    n_parameters: kernel[*rule].parameters.len(),
                    n_arguments: arguments.len(),
                });
            }
            Expr::Reduce { inames, body, .. } => {
                if inames.is_empty() {
                    res.push(Violation::NoIname);
                }
                for (idx, &iname) in inames.iter().enumerate() {
                    if self.bound[body.index()].contains(iname) || inames[..idx].contains(&iname) {
                        res.push(Violation::Rebound { iname: self.name(iname) });
                    }
                }
            }
            _ => {}
        }
        res.extend(self.types.check(kernel, id).err().map(Violation::from));
        res
    }

    fn assignee(&mut self, assignee: &Assignee) {
        let array = &self.kernel[assignee.array];
        if let Some(violation) = rank(array, assignee.indices.len()) {
            self.report(violation);
        }
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
        let mut open = InameSet::new();
        for (item_idx, item) in items.iter().enumerate() {
            match item {
                Item::For(iname) => {
                    open.insert(*iname);
                }
                Item::End(iname) => {
                    open.remove(*iname);
                }
                Item::If(condition) => {
                    self.place = Place::Item(item_idx);
                    self.used(&[*condition], &open);
                    self.condition(*condition);
                }
                Item::EndIf | Item::Run(_) => {}
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

fn rank(array: &Array, n_indices: usize) -> Option<Violation> {
    let rank = array.shape.len();
    (rank != n_indices).then(|| Violation::Rank { array: array.name.clone(), rank, n_indices })
}
