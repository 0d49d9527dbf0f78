//! Loops that end where data say get bounds.
//!
//! # Input
//! A kernel in its order, with reductions as loops. Loops over [open](nestegg_ir::data_bounds) inames run to an unstated end, and
//! conditions anywhere in their bodies compare the iname with data.
//! # Output
//! The same kernel, its open loops guarded so that they can be written with bounds: all instructions inside have a predicate `j < end`, where `end` is a
//! sum of scalar temporaries, parameters and inames around the loop. Where it is another expression, a new temporary holds it. `None` if some open
//! loop does something where no such condition holds, if an array is as long as an open loop, or if anything else reads its end.
//! # Method
//! Outermost loops first. A statement of the body does nothing where one of certain comparisons is false: one of its conditions, or one whose failure
//! makes the added term zero. The comparisons that all statements share become the bounds. A statement that writes only a temporary local to the body, which
//! each iteration writes before reading, needs no such comparison: the iterations where it is false come last, so none of the others sees their values.
//! # Complexity
//! Linear in the expressions of a body, for each open loop around it.
//! # Not done
//! Other loops, whose bounds could be narrowed likewise. Reductions over open inames that are not guarded as the format reads them.

use std::collections::BTreeSet;

use nestegg_ir::data_bounds::{Sum, all_of, conjunction, end, end_of, has_open_inames, is_bounded, is_open};
use nestegg_ir::linearization::{from_tree, runs_in, to_tree};
use nestegg_ir::names::Names;
use nestegg_ir::order::arrays_read;
use nestegg_ir::types::{Type, Types};
use nestegg_ir::walk::{arrays_below, below};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Domain, DomainId, Dtype, Expr, ExprId, Exprs, Iname, InameId, InsnId,
    Instruction, InstructionKind, Item, Kernel, LinearizedKernel, LoopTree, Number, Op,
};
use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::depends::set_dependences;

/// Gives bounds to loops that data end; `None` if one of them cannot have any.
#[must_use]
pub fn bound_loops(linearized: LinearizedKernel) -> Option<LinearizedKernel> {
    if !has_open_inames(&linearized.kernel) {
        return Some(linearized);
    }
    if reads_ends(&linearized) {
        return None;
    }
    let LinearizedKernel { kernel, linearization } = linearized;
    let tree = to_tree(&linearization).ok()?;
    let names = Names::new(&kernel);
    let mut bounder = Bounder { kernel, names, known: FxHashMap::default() };
    let tree = bounder.block(tree, &mut Vec::new())?;
    let mut kernel = bounder.kernel;
    in_order(&mut kernel, &runs_in(&tree));
    let mut runs = kernel.insn_ids();
    let linearization = from_tree(&tree).into_iter().map(|item| match item {
        Item::Run(old) => Item::Run(runs.next().unwrap_or(old)),
        item => item,
    });
    let linearization: Vec<Item> = linearization.collect();
    set_dependences(&mut kernel, &linearization);
    let res = LinearizedKernel { kernel, linearization };
    is_bounded(&res).then_some(res)
}

/// Lists instructions in the order in which they run, each of them once; what they depend on is to be found anew.
fn in_order(kernel: &mut Kernel, order: &[InsnId]) {
    let mut new = vec![InsnId::new(0); kernel.instructions.len()];
    for (idx, old) in order.iter().enumerate() {
        new[old.index()] = InsnId::new(idx);
    }
    let listed: Vec<Instruction> = order.iter().map(|&old| kernel[old].clone()).collect();
    kernel.instructions = listed;
    for instruction in &mut kernel.instructions {
        instruction.depends_on.iter_mut().for_each(|other| *other = new[other.index()]);
    }
}

/// Whether anything but a domain reads the end of an open loop.
fn reads_ends(linearized: &LinearizedKernel) -> bool {
    let LinearizedKernel { kernel, linearization } = linearized;
    let ends: FxHashSet<_> = kernel.domain_ids().filter_map(|domain| end_of(kernel, domain)).collect();
    let mut roots: Vec<ExprId> = kernel.instructions.iter().flat_map(Instruction::expressions).collect();
    roots.extend(kernel.arrays.iter().flat_map(|array| array.shape.iter().copied()));
    roots.extend(linearization.iter().filter_map(|item| match item {
        Item::If(condition) => Some(*condition),
        _ => None,
    }));
    let is_end = |id: ExprId| matches!(&kernel.exprs[id], Expr::Parameter(parameter) if ends.contains(parameter));
    kernel.exprs.reachable(roots).into_iter().any(is_end)
}

struct Bounder {
    kernel: Kernel,
    names: Names,
    /// The ends of loops that were given bounds, by their inames.
    known: FxHashMap<InameId, Vec<Sum>>,
}

/// A loop that is open around another.
struct Outer {
    iname: InameId,
    /// Predicates of all that is inside of it; none if it is bounded by other than data.
    guards: Vec<ExprId>,
}

/// A statement of a body: an instruction, and the loops and conditions around it in the body, by the order of their beginnings.
struct Statement {
    insn: InsnId,
    path: Vec<usize>,
    conditions: Vec<ExprId>,
    has_branch: bool,
}

impl Bounder {
    fn block(&mut self, nodes: Vec<LoopTree>, open: &mut Vec<Outer>) -> Option<Vec<LoopTree>> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                LoopTree::Run(_) => res.push(node),
                LoopTree::Branch { condition, body } => {
                    res.push(LoopTree::Branch { condition, body: self.block(body, open)? });
                }
                LoopTree::Loop { iname, body } if is_open(&self.kernel, iname) => {
                    let (iname, body, guards, new) = self.bound(iname, body, open)?;
                    res.extend(new.into_iter().map(LoopTree::Run));
                    open.push(Outer { iname, guards });
                    let body = self.block(body, open)?;
                    open.pop();
                    res.push(LoopTree::Loop { iname, body });
                }
                LoopTree::Loop { iname, body } => {
                    open.push(Outer { iname, guards: Vec::new() });
                    let body = self.block(body, open)?;
                    open.pop();
                    res.push(LoopTree::Loop { iname, body });
                }
            }
        }
        Some(res)
    }

    /// Bounds one loop; answers its iname, its body, the predicates of all inside, and what runs before it.
    #[expect(clippy::type_complexity, reason = "four things that are taken apart at once")]
    fn bound(
        &mut self,
        iname: InameId,
        body: Vec<LoopTree>,
        open: &[Outer],
    ) -> Option<(InameId, Vec<LoopTree>, Vec<ExprId>, Vec<InsnId>)> {
        let domain = self.kernel[iname].domain;
        if self.kernel[domain].inames != [iname] {
            return None;
        }
        let mut statements = Vec::new();
        list(&body, &mut (Vec::new(), Vec::new(), false), &mut 0, &mut statements);
        let outer: Vec<ExprId> = open.iter().flat_map(|outer| outer.guards.iter().copied()).collect();
        let of_loop = self.common(iname, &statements, &outer)?;
        let written: BTreeSet<ArrayId> =
            statements.iter().flat_map(|statement| self.kernel[statement.insn].written_arrays()).collect();
        let is_invariant = |id: ExprId| {
            below(&self.kernel.exprs, [id]).into_iter().all(|id| match &self.kernel.exprs[id] {
                Expr::Iname(other) => open.iter().any(|outer| outer.iname == *other),
                Expr::Access { array, .. } => !written.contains(array),
                Expr::Reduce { .. } | Expr::Substitution { .. } | Expr::Formal(_) => false,
                _ => true,
            })
        };
        let ends: Vec<Sum> =
            of_loop.into_iter().filter(|end| end.terms.keys().all(|&leaf| is_invariant(leaf))).collect();
        if ends.is_empty() {
            return None;
        }
        // What holds wherever the body does anything may be what keeps the ends from being read outside of arrays.
        let shared = self.shared_conditions(&statements, &outer, &is_invariant);
        let types = Types::infer(&self.kernel);
        let is_admitted = |leaf: ExprId| match &self.kernel.exprs[leaf] {
            Expr::Iname(other) => self.kernel[domain].enclosing.contains(other),
            Expr::Parameter(_) => true,
            Expr::Access { array, indices } => {
                indices.is_empty() && self.kernel[*array].is_temporary() && types.of(leaf).is_integer()
            }
            _ => false,
        };
        let admitted: Vec<bool> = ends.iter().map(|end| end.terms.keys().all(|&leaf| is_admitted(leaf))).collect();
        let is_long = |end: &Sum| end.terms.keys().any(|&leaf| types.of(leaf) == Type::Int64);
        let dtypes: Vec<Dtype> =
            ends.iter().map(|end| if is_long(end) { Dtype::Int64 } else { Dtype::Int32 }).collect();
        let mut canonical = Vec::with_capacity(ends.len());
        let mut new = Vec::new();
        for ((sum, is_admitted), dtype) in ends.iter().zip(admitted).zip(dtypes) {
            canonical.push(if is_admitted {
                sum.clone()
            } else {
                let (insn, leaf) = self.assign_end((iname, sum, dtype), &shared, open, &outer);
                new.push(insn);
                Sum { constant: 0, terms: [(leaf, 1)].into() }
            });
        }
        let (iname, body) = self.own_iname(iname, body, &statements, &canonical)?;
        let own = self.kernel.exprs.iname(iname);
        let guards: Vec<ExprId> = canonical
            .iter()
            .map(|sum| {
                let sum = sum.write(&mut self.kernel.exprs);
                self.kernel.exprs.op(Op::Lt, [own, sum])
            })
            .collect();
        self.known.insert(iname, canonical.clone());
        let body = self.guard_body(iname, body, &statements, (&ends, &canonical), (&outer, &guards));
        Some((iname, body, guards, new))
    }

    /// The ends without which no statement does anything.
    fn common(&self, iname: InameId, statements: &[Statement], outer: &[ExprId]) -> Option<Vec<Sum>> {
        let reads = arrays_read(&self.kernel);
        let inside: FxHashSet<InsnId> = statements.iter().map(|statement| statement.insn).collect();
        let mut res: Option<Vec<Sum>> = None;
        for statement in statements {
            let instruction = &self.kernel[statement.insn];
            let conditions = statement.conditions.iter().chain(&instruction.predicates);
            let conditions = conditions.flat_map(|&condition| conjunction(&self.kernel.exprs, condition));
            let mut ends: Vec<Sum> =
                conditions.filter_map(|condition| end(&self.kernel.exprs, condition, iname)).collect();
            if let InstructionKind::Assignment { assignee, expression } = &instruction.kind {
                ends.extend(self.idle_ends(iname, assignee, *expression));
            }
            let written = instruction.written_arrays();
            let is_opaque = matches!(instruction.kind, InstructionKind::Opaque { .. });
            let mut local =
                written.iter().map(|&array| self.is_local(array, (iname, outer), statements, &inside, &reads));
            if !is_opaque && local.all(|is_local| is_local) {
                continue;
            }
            match &mut res {
                None => res = Some(ends),
                Some(known) => known.retain(|end| ends.contains(end)),
            }
        }
        let mut unique: Vec<Sum> = Vec::new();
        for end in res? {
            if !unique.contains(&end) {
                unique.push(end);
            }
        }
        Some(unique)
    }

    /// Whether a temporary is touched in a body only, and written there before it is read.
    fn is_local(
        &self,
        array: ArrayId,
        (iname, outer): (InameId, &[ExprId]),
        statements: &[Statement],
        inside: &FxHashSet<InsnId>,
        reads: &[Vec<ArrayId>],
    ) -> bool {
        if !self.kernel[array].is_temporary() {
            return false;
        }
        let touches =
            |insn: InsnId| reads[insn.index()].contains(&array) || self.kernel[insn].written_arrays().contains(&array);
        if self.kernel.insn_ids().any(|insn| !inside.contains(&insn) && touches(insn)) {
            return false;
        }
        let is_condition = |condition: &ExprId| arrays_below(&self.kernel.exprs, [*condition]).contains(&array);
        if statements.iter().any(|statement| statement.conditions.iter().any(is_condition)) {
            return false;
        }
        let mut touching = statements.iter().filter(|statement| touches(statement.insn));
        let Some(first) = touching.next() else { return false };
        let instruction = &self.kernel[first.insn];
        let is_implied = |&condition: &ExprId| {
            conjunction(&self.kernel.exprs, condition)
                .into_iter()
                .all(|condition| outer.contains(&condition) || end(&self.kernel.exprs, condition, iname).is_some())
        };
        let is_scalar = self.kernel[array].shape.is_empty();
        instruction.written_arrays().contains(&array)
            && !reads[first.insn.index()].contains(&array)
            && !first.has_branch
            && instruction.predicates.iter().all(is_implied)
            && (!is_scalar || touching.all(|other| other.path.starts_with(&first.path)))
    }

    /// The ends without which a value leaves an element as it is.
    fn idle_ends(&self, iname: InameId, assignee: &Assignee, value: ExprId) -> Vec<Sum> {
        let exprs = &self.kernel.exprs;
        let Some(element) = exprs.find(&Expr::Access { array: assignee.array, indices: assignee.indices.clone() })
        else {
            return Vec::new();
        };
        let mut idle: FxHashMap<ExprId, Known> = FxHashMap::default();
        let mut zero: FxHashMap<ExprId, Known> = FxHashMap::default();
        for id in below(exprs, [value]) {
            let of_zero = |id: &ExprId| zero.get(id).cloned().unwrap_or_default();
            let of_idle = |id: &ExprId| idle.get(id).cloned().unwrap_or_default();
            let (mut is_zero, mut is_idle) = (Known::default(), Known::default());
            match &exprs[id] {
                Expr::Number(Number::Int(0)) => is_zero = Known::Any,
                Expr::Number(Number::Float(number)) if number.get() == 0.0 => is_zero = Known::Any,
                Expr::Cast { operand, .. } => is_zero = of_zero(operand),
                Expr::Op { op, operands } => match op {
                    Op::If => {
                        let conditions = conjunction(exprs, operands[0]).into_iter();
                        let ends =
                            Known::These(conditions.filter_map(|condition| end(exprs, condition, iname)).collect());
                        let branches = |of: &dyn Fn(&ExprId) -> Known| {
                            let (then, other) = (of(&operands[1]), of(&operands[2]));
                            match other {
                                Known::Any => ends.clone().or(then),
                                other => other.and(then),
                            }
                        };
                        is_zero = branches(&of_zero);
                        is_idle = branches(&of_idle);
                    }
                    Op::Mul => is_zero = operands.iter().map(of_zero).fold(Known::default(), Known::or),
                    Op::Neg => is_zero = of_zero(&operands[0]),
                    Op::Div => is_zero = of_zero(&operands[0]),
                    Op::Add | Op::Sub => {
                        is_zero = operands.iter().map(of_zero).fold(Known::Any, Known::and);
                        let at = operands.iter().position(|operand| *operand == element || idle.contains_key(operand));
                        if let Some(at) = at.filter(|&at| *op == Op::Add || at == 0) {
                            let others = operands.iter().enumerate().filter(|other| other.0 != at);
                            let rest = others.map(|other| of_zero(other.1)).fold(Known::Any, Known::and);
                            is_idle = of_idle(&operands[at]).and(rest);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
            if id == element {
                is_idle = Known::Any;
            }
            if !is_zero.is_none() {
                zero.insert(id, is_zero);
            }
            if !is_idle.is_none() {
                idle.insert(id, is_idle);
            }
        }
        match idle.remove(&value) {
            Some(Known::These(ends)) => ends,
            Some(Known::Any) | None => Vec::new(),
        }
    }

    /// Conditions of all instructions of a body that can be tested before it.
    fn shared_conditions(
        &self,
        statements: &[Statement],
        outer: &[ExprId],
        is_invariant: &dyn Fn(ExprId) -> bool,
    ) -> Vec<ExprId> {
        let mut res: Option<Vec<ExprId>> = None;
        for statement in statements {
            let of_insn = statement.conditions.iter().chain(&self.kernel[statement.insn].predicates);
            let of_insn: Vec<ExprId> =
                of_insn.flat_map(|&condition| conjunction(&self.kernel.exprs, condition)).collect();
            match &mut res {
                None => res = Some(of_insn),
                Some(known) => known.retain(|condition| of_insn.contains(condition)),
            }
        }
        let mut res = res.unwrap_or_default();
        res.retain(|&condition| !outer.contains(&condition) && is_invariant(condition));
        res
    }

    /// A new temporary that holds an end: the instruction that assigns it, and its value.
    fn assign_end(
        &mut self,
        (iname, sum, dtype): (InameId, &Sum, Dtype),
        shared: &[ExprId],
        open: &[Outer],
        outer: &[ExprId],
    ) -> (InsnId, ExprId) {
        let kernel = &mut self.kernel;
        let mut expression = sum.write(&mut kernel.exprs);
        if let Some(condition) = all_of(&mut kernel.exprs, shared.to_vec()) {
            let nothing = kernel.exprs.int(0);
            expression = kernel.exprs.op(Op::If, [condition, expression, nothing]);
        }
        let array = ArrayId::new(kernel.arrays.len());
        let name = self.names.new_name_like(&format!("{}_end", kernel[iname].name));
        kernel.arrays.push(Array {
            name: name.clone(),
            dtype,
            stored: None,
            shape: Vec::new(),
            kind: ArrayKind::Temporary,
        });
        let used: FxHashSet<&str> = kernel.instructions.iter().map(|insn| insn.id.as_str()).collect();
        let ids = std::iter::once(name.clone()).chain((0..).map(|idx| format!("{name}_{idx}")));
        let id = ids.into_iter().find(|id| !used.contains(id.as_str())).unwrap_or(name);
        let insn = InsnId::new(kernel.instructions.len());
        kernel.instructions.push(Instruction {
            id,
            kind: InstructionKind::Assignment { assignee: Assignee { array, indices: [].into() }, expression },
            within: open.iter().map(|outer| outer.iname).collect(),
            depends_on: Vec::new(),
            predicates: outer.to_vec(),
        });
        (insn, kernel.exprs.access(array, []))
    }

    /// The iname of a loop, and its body: another one if a loop with other ends has it.
    fn own_iname(
        &mut self,
        iname: InameId,
        body: Vec<LoopTree>,
        statements: &[Statement],
        ends: &[Sum],
    ) -> Option<(InameId, Vec<LoopTree>)> {
        if self.known.get(&iname).is_none_or(|known| known == ends) {
            return Some((iname, body));
        }
        let kernel = &mut self.kernel;
        if kernel.domains.iter().any(|domain| domain.enclosing.contains(&iname)) {
            return None;
        }
        let old = kernel[kernel[iname].domain].clone();
        let new = InameId::new(kernel.inames.len());
        let name = self.names.new_name(&kernel[iname].name);
        let set = isl::Set::parse(&isl::Context::new(), &old.text).ok()?;
        let text = set.rename_dim(&kernel[iname].name, &name).ok()?.to_string();
        let domain = DomainId::new(kernel.domains.len());
        kernel.domains.push(Domain { text, inames: vec![new], ..old });
        let tags = kernel[iname].tags.clone();
        kernel.inames.push(Iname { name, tags, domain });
        let image = |exprs: &mut Exprs, roots: Vec<ExprId>| {
            exprs.rewrite(roots, |exprs, _, expr| match expr {
                Expr::Iname(old) if old == iname => exprs.iname(new),
                expr => exprs.intern(expr),
            })
        };
        for statement in statements {
            let roots: Vec<ExprId> = kernel[statement.insn].expressions().collect();
            let renamed = image(&mut kernel.exprs, roots);
            let instruction = &mut kernel[statement.insn];
            instruction.map_expressions(|id| renamed.get(id));
            instruction.within.iter_mut().filter(|within| **within == iname).for_each(|within| *within = new);
        }
        let body = with_conditions(body, &mut |condition| {
            let renamed = image(&mut kernel.exprs, vec![condition]);
            vec![renamed.get(condition)]
        });
        Some((new, body))
    }

    /// The body with its guards as predicates, and without what they say.
    fn guard_body(
        &mut self,
        iname: InameId,
        body: Vec<LoopTree>,
        statements: &[Statement],
        (ends, canonical): (&[Sum], &[Sum]),
        (outer, guards): (&[ExprId], &[ExprId]),
    ) -> Vec<LoopTree> {
        let kernel = &mut self.kernel;
        let is_said = |exprs: &Exprs, condition: ExprId| {
            end(exprs, condition, iname).is_some_and(|end| ends.contains(&end) || canonical.contains(&end))
        };
        let left = |exprs: &Exprs, condition: ExprId| -> Vec<ExprId> {
            conjunction(exprs, condition).into_iter().filter(|&condition| !is_said(exprs, condition)).collect()
        };
        for statement in statements {
            let roots: Vec<ExprId> = kernel[statement.insn].expressions().collect();
            let rewritten = kernel.exprs.rewrite(roots, |exprs, _, expr| {
                if let Expr::Op { op: Op::If, operands } = &expr {
                    let rest = left(exprs, operands[0]);
                    if rest.len() < conjunction(exprs, operands[0]).len() {
                        return match all_of(exprs, rest) {
                            None => operands[1],
                            Some(condition) => exprs.op(Op::If, [condition, operands[1], operands[2]]),
                        };
                    }
                }
                exprs.intern(expr)
            });
            let instruction = &mut kernel.instructions[statement.insn.index()];
            instruction.map_expressions(|id| rewritten.get(id));
            let mut predicates: Vec<ExprId> = outer.iter().chain(guards).copied().collect();
            for predicate in std::mem::take(&mut instruction.predicates) {
                if outer.contains(&predicate) {
                    continue;
                }
                let rest = left(&kernel.exprs, predicate);
                if rest.len() == conjunction(&kernel.exprs, predicate).len() {
                    predicates.push(predicate);
                } else {
                    predicates.extend(rest);
                }
            }
            instruction.predicates = predicates;
        }
        // A condition may read what only the guards let it read.
        with_conditions(body, &mut |condition| {
            let mut rest = left(&kernel.exprs, condition);
            rest.retain(|condition| !outer.contains(condition));
            let rest = all_of(&mut kernel.exprs, rest);
            let all = rest.map(|rest| outer.iter().chain(guards).copied().chain([rest]).collect::<Vec<_>>());
            all.and_then(|all| all_of(&mut kernel.exprs, all)).into_iter().collect()
        })
    }
}

/// Ends without which a value is zero, or an element stays.
#[derive(Clone, Debug)]
enum Known {
    /// It always is.
    Any,
    /// It is where one of these does not hold.
    These(Vec<Sum>),
}

impl Default for Known {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl Known {
    fn is_none(&self) -> bool {
        matches!(self, Self::These(ends) if ends.is_empty())
    }

    /// Where both are.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, other) | (other, Self::Any) => other,
            (Self::These(mut ends), Self::These(others)) => {
                ends.retain(|end| others.contains(end));
                Self::These(ends)
            }
        }
    }

    /// Where one of them is.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::These(mut ends), Self::These(others)) => {
                ends.extend(others);
                Self::These(ends)
            }
        }
    }
}

/// A tree whose conditions are what `map` makes of them: all must hold.
fn with_conditions(nodes: Vec<LoopTree>, map: &mut dyn FnMut(ExprId) -> Vec<ExprId>) -> Vec<LoopTree> {
    let mut res = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            LoopTree::Run(_) => res.push(node),
            LoopTree::Loop { iname, body } => res.push(LoopTree::Loop { iname, body: with_conditions(body, map) }),
            LoopTree::Branch { condition, body } => {
                let conditions = map(condition);
                let mut body = with_conditions(body, map);
                for condition in conditions.into_iter().rev() {
                    body = vec![LoopTree::Branch { condition, body }];
                }
                res.extend(body);
            }
        }
    }
    res
}

/// The statements of a body in order. What is around them: the blocks by number, the conditions, and whether there are any.
fn list(
    nodes: &[LoopTree],
    around: &mut (Vec<usize>, Vec<ExprId>, bool),
    n_blocks: &mut usize,
    res: &mut Vec<Statement>,
) {
    for node in nodes {
        match node {
            LoopTree::Run(insn) => res.push(Statement {
                insn: *insn,
                path: around.0.clone(),
                conditions: around.1.clone(),
                has_branch: around.2,
            }),
            LoopTree::Loop { body, .. } => {
                around.0.push(*n_blocks);
                *n_blocks += 1;
                list(body, around, n_blocks, res);
                around.0.pop();
            }
            LoopTree::Branch { condition, body } => {
                let had_branch = std::mem::replace(&mut around.2, true);
                around.0.push(*n_blocks);
                around.1.push(*condition);
                *n_blocks += 1;
                list(body, around, n_blocks, res);
                around.0.pop();
                around.1.pop();
                around.2 = had_branch;
            }
        }
    }
}
