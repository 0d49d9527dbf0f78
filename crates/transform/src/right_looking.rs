//! Left-looking updates become right-looking ones: a value goes to all that need it as soon as it is known.
//!
//! # Why
//! A triangular solve, `for j: { for k < j: A[i, j] -= A[i, k]*A[k, j]; A[i, j] /= A[j, j] }`, goes down a column of `A` in its innermost loop. Turned around,
//! `for j: { x = A[i, j]/A[j, j]; A[i, j] = x; for m > j: A[i, m] -= x*A[j, m] }`, it goes along a row, which is read in whole vectors.
//! # Input
//! A kernel in its final order, without reductions.
//! # Output
//! The same operations on the same operands, those on each element in the same order: the same values to the bit.
//! # Method
//! A loop over `j` qualifies if its body is a loop over `k` that updates one element, followed by the element's last step; around it, the element may be copied to a
//! scalar that is updated in its place, and back. isl must know that `k < j`, that each `k` is a `j`, and that whatever is read of the array, but for the element itself, is
//! complete in both orders. Loops turn only where the old innermost loop has accesses that lie apart, and the new one has none.
//! # Complexity
//! A few questions to isl for each such loop, two for each read of the array.
//! # Source
//! The names are those of dense linear algebra: Dongarra, Gustavson, Karp, "Implementing linear algebra algorithms for dense matrices on a vector pipeline machine", 1984.

use nestegg_ir::affine::Affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, to_tree};
use nestegg_ir::names::{Names, add_iname_inside, add_scalar};
use nestegg_ir::walk::below;
use nestegg_ir::{
    Array, ArrayId, Assignee, Expr, ExprId, InameId, InameSet, InameTag, InsnId, Instruction, InstructionKind, Kernel,
    LinearizedKernel, LoopTree, affine,
};
use nestegg_isl as isl;

use crate::depends::in_order_without_dead;
use crate::find::in_loops;
use crate::independent::MAX_ISL_OPERATIONS;
use crate::substitute::with_inames;

/// The kernel with such loops turned; `None` if it has none.
#[must_use]
pub fn look_right(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let mut found = in_loops(&tree, |open, iname, body| Solve::of(&linearized.kernel, open, iname, body));
    if found.is_empty() {
        return None;
    }
    let domains = Domains::bounded(&linearized.kernel, MAX_ISL_OPERATIONS).ok()?;
    // What is too hard for isl stays as it is.
    found.retain(|solve| solve.may_turn(&linearized.kernel, &domains).unwrap_or(false));
    let mut kernel = linearized.kernel.clone();
    let mut names = Names::new(&kernel);
    let turned = found.iter().map(|solve| solve.turn(&mut kernel, &mut names, &domains));
    let turned: Vec<Turned> = turned.collect::<Result<_, _>>().ok()?;
    if turned.is_empty() {
        return None;
    }
    let tree = rebuilt(tree, &turned);
    Some(in_order_without_dead(kernel, from_tree(&tree)))
}

/// A loop that may qualify.
struct Solve {
    /// The loops around it.
    outer: Vec<InameId>,
    /// `j` and `k`.
    inames: (InameId, InameId),
    /// The element that each iteration of the loop over `j` computes.
    element: Assignee,
    /// The scalar that stands for it, with the instructions that copy it from and to the element.
    scalar: Option<(ArrayId, Vec<InsnId>)>,
    update: InsnId,
    last: InsnId,
}

/// The assignee and the value of an assignment that always happens.
fn assignment(kernel: &Kernel, insn: InsnId) -> Option<(&Assignee, ExprId)> {
    match &kernel[insn] {
        Instruction { kind: InstructionKind::Assignment { assignee, expression }, predicates, .. }
            if predicates.is_empty() =>
        {
            Some((assignee, *expression))
        }
        _ => None,
    }
}

/// The loop over `k` with its only instruction.
fn updating(node: &LoopTree) -> Option<(InameId, InsnId)> {
    match node {
        LoopTree::Loop { iname, body } => match body.as_slice() {
            [LoopTree::Run(insn)] => Some((*iname, *insn)),
            _ => None,
        },
        _ => None,
    }
}

impl Solve {
    fn of(kernel: &Kernel, outer: &[InameId], j: InameId, body: &[LoopTree]) -> Option<Self> {
        let (copy, looped, back, last) = match body {
            [LoopTree::Run(copy), looped, LoopTree::Run(back), LoopTree::Run(last)] => {
                (Some(*copy), looped, Some(*back), *last)
            }
            [LoopTree::Run(copy), looped, LoopTree::Run(last)] => (Some(*copy), looped, None, *last),
            [looped, LoopTree::Run(last)] => (None, looped, None, *last),
            _ => return None,
        };
        let (k, update) = updating(looped)?;
        let (element, _) = assignment(kernel, last)?;
        let (updated, _) = assignment(kernel, update)?;
        let is_element = |value: ExprId, of: &Assignee| matches!(&kernel.exprs[value], Expr::Access { array, indices } if *array == of.array && *indices == of.indices);
        let scalar = match copy {
            None => None,
            Some(copy) => {
                let (scalar, value) = assignment(kernel, copy)?;
                let is_scalar = kernel[scalar.array].is_temporary() && scalar.indices.is_empty();
                let is_fit = is_element(value, element) && is_scalar && scalar.array != element.array;
                if let Some(back) = back {
                    let (to, value) = assignment(kernel, back)?;
                    (to == element && is_element(value, scalar)).then_some(())?;
                }
                let is_same = kernel[scalar.array].dtype == kernel[element.array].dtype;
                (is_fit && is_same).then_some(Some((scalar.array, [copy].into_iter().chain(back).collect())))?
            }
        };
        let is_it = match &scalar {
            None => updated == element,
            Some((scalar, _)) => updated.array == *scalar,
        };
        let array = &kernel[element.array];
        let is_plain = |iname: InameId| {
            let tags = &kernel[iname].tags;
            ![InameTag::Sequential, InameTag::Parallel, InameTag::Vec].iter().any(|tag| tags.contains(tag))
        };
        let of_element: Vec<Affine> =
            element.indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect::<Option<_>>()?;
        let varies = |iname: InameId| of_element.iter().any(|index| index.coefficient(affine::Var::Iname(iname)) != 0);
        let res = Self { outer: outer.to_vec(), inames: (j, k), element: element.clone(), scalar, update, last };
        let is_fit = is_it
            && array.stored.is_none()
            && is_plain(j)
            && is_plain(k)
            && varies(j)
            && !varies(k)
            && res.is_private(kernel)
            && res.roots(kernel).all(|(root, _)| {
                !below(&kernel.exprs, [root]).into_iter().any(|id| matches!(kernel.exprs[id], Expr::Reduce { .. }))
            })
            && res.wins(kernel);
        is_fit.then_some(res)
    }

    /// The values of the update and of the last step, and whether each is the update's.
    fn roots(&self, kernel: &Kernel) -> impl Iterator<Item = (ExprId, bool)> {
        let value = |insn| assignment(kernel, insn).map(|(_, value)| value);
        [(value(self.update), true), (value(self.last), false)].into_iter().filter_map(|(root, is)| Some((root?, is)))
    }

    /// Whether nothing else knows the scalar.
    fn is_private(&self, kernel: &Kernel) -> bool {
        let Some((scalar, copies)) = &self.scalar else { return true };
        let knows = |insn: InsnId| {
            let instruction = &kernel[insn];
            instruction.written_arrays().contains(scalar)
                || below(&kernel.exprs, instruction.expressions())
                    .into_iter()
                    .any(|id| matches!(&kernel.exprs[id], Expr::Access { array, .. } if array == scalar))
        };
        let own = |insn: &InsnId| [self.update, self.last].contains(insn) || copies.contains(insn);
        kernel.insn_ids().filter(|insn| !own(insn)).all(|insn| !knows(insn))
    }

    /// Whether an expression is the element's own value: it is in the scalar until that is copied back.
    fn is_own(&self, kernel: &Kernel, id: ExprId, is_update: bool) -> bool {
        let Expr::Access { array, indices } = &kernel.exprs[id] else { return false };
        let is_element = *array == self.element.array && *indices == self.element.indices;
        match &self.scalar {
            None => is_element,
            Some((scalar, copies)) => array == scalar || is_element && !is_update && copies.len() > 1,
        }
    }

    /// Whether accesses of the innermost loop lie apart, and none does once it is turned.
    fn wins(&self, kernel: &Kernel) -> bool {
        let Some((_, value)) = assignment(kernel, self.update) else { return false };
        let (j, k) = self.inames;
        let accesses = below(&kernel.exprs, [value]).into_iter().filter(|&id| !self.is_own(kernel, id, true));
        let accesses: Vec<&[ExprId]> = accesses
            .filter_map(|id| match &kernel.exprs[id] {
                Expr::Access { indices, .. } => Some(&**indices),
                _ => None,
            })
            .chain([&*self.element.indices])
            .collect();
        // Along an iname, neighbours lie apart if another axis than the last moves, or by more than one.
        let is_apart = |indices: &[ExprId], iname: InameId| {
            indices.iter().rev().enumerate().any(|(from_last, &index)| {
                match affine::of(&kernel.exprs, index).map(|index| index.coefficient(affine::Var::Iname(iname))) {
                    Some(0) => false,
                    Some(1 | -1) => from_last > 0,
                    _ => true,
                }
            })
        };
        accesses.iter().any(|indices| is_apart(indices, k)) && !accesses.iter().any(|indices| is_apart(indices, j))
    }

    /// Whether both orders compute the same, as isl knows.
    fn may_turn(&self, kernel: &Kernel, domains: &Domains) -> Result<bool, DomainError> {
        let (j, k) = self.inames;
        let of_last: InameSet = self.outer.iter().copied().chain([j]).collect();
        let of_update: InameSet = of_last.iter().chain([k]).collect();
        let (set, points) = (domains.of(&of_last)?, domains.of(&of_update)?);
        let (name_j, name_k) = (&kernel[j].name, &kernel[k].name);
        let dims = points.dim_names()?;
        let not_before = format!("{{ [{}] : {name_k} >= {name_j} }}", dims.join(", "));
        let ordered = isl::Set::parse(domains.context(), &not_before)?.is_disjoint(&points)?;
        let order = set.dim_names()?;
        let order: Vec<&str> = order.iter().map(String::as_str).collect();
        let used = points.project_out(&[name_j])?.rename_dim(name_k, name_j)?.project_onto(&order)?;
        if !ordered || !used.is_subset(&set)? {
            return Ok(false);
        }
        for (root, is_update) in self.roots(kernel) {
            for id in below(&kernel.exprs, [root]) {
                let Expr::Access { array, indices } = &kernel.exprs[id] else { continue };
                if *array == self.element.array
                    && !self.is_own(kernel, id, is_update)
                    && !self.is_complete(kernel, domains, indices, if is_update { &of_update } else { &of_last })?
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether elements of the array that are read in iterations of these loops are complete by then, whatever the order, or none of those that the loop computes.
    fn is_complete(
        &self,
        kernel: &Kernel,
        domains: &Domains,
        indices: &[ExprId],
        read_in: &InameSet,
    ) -> Result<bool, DomainError> {
        let affine_of = |indices: &[ExprId]| -> Option<Vec<Affine>> {
            indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect()
        };
        let (Some(read), Some(written)) = (affine_of(indices), affine_of(&self.element.indices)) else {
            return Ok(false);
        };
        let (j, k) = self.inames;
        let known = |index: &Affine| index.inames().all(|iname| read_in.contains(iname));
        if !read.iter().all(known) {
            return Ok(false);
        }
        let written_in: InameSet = self.outer.iter().copied().chain([j]).collect();
        let (read, written): (Vec<&Affine>, Vec<&Affine>) = (read.iter().collect(), written.iter().collect());
        let pairs = domains.pairs((&read, read_in), (&written, &written_in))?;
        let names = |letter: char, inames: &InameSet| -> Vec<String> {
            inames.iter().map(|iname| format!("{letter}{}", iname.index())).collect()
        };
        let (reads, writes) = (names('r', read_in), names('w', &written_in));
        let mut conditions: Vec<String> =
            self.outer.iter().map(|iname| format!("r{} = w{}", iname.index(), iname.index())).collect();
        // In the update, elements up to that of `k` are complete; in the last step those before that of `j`.
        conditions.push(match read_in.contains(k) {
            true => format!("w{} > r{}", j.index(), k.index()),
            false => format!("w{} >= r{}", j.index(), j.index()),
        });
        let (from, to) = (reads.join(", "), writes.join(", "));
        let early = format!("{{ [{from}] -> [{to}] : {} }}", conditions.join(" and "));
        let early = isl::Map::parse(domains.context(), &early)?;
        Ok(pairs.is_disjoint(&early)?)
    }

    /// Turns the instructions.
    fn turn(&self, kernel: &mut Kernel, names: &mut Names, domains: &Domains) -> Result<Turned, DomainError> {
        let (j, k) = self.inames;
        let inner = self.inner(kernel, names, domains)?;
        let Array { name, dtype, .. } = &kernel[self.element.array];
        let (name, dtype) = (names.new_name(&format!("{name}_element")), *dtype);
        let scalar = add_scalar(kernel, name.clone(), dtype);
        let own = kernel.exprs.access(self.element.array, self.element.indices.clone());
        let complete = kernel.exprs.access(scalar, []);
        let Instruction { within, .. } = kernel[self.last].clone();
        for insn in [self.update, self.last] {
            let Some((_, value)) = assignment(kernel, insn) else { continue };
            let of_left = self.scalar.as_ref().map(|(scalar, _)| *scalar);
            let in_place = kernel.exprs.rewrite([value], |exprs, _, new| match &new {
                Expr::Access { array, .. } if Some(*array) == of_left => own,
                _ => exprs.intern(new),
            });
            let value = in_place.get(value);
            let (assignee, expression) = if insn == self.last {
                (Assignee { array: scalar, indices: Box::new([]) }, value)
            } else {
                let roots: Vec<ExprId> = self.element.indices.iter().copied().chain([value]).collect();
                let moved = with_inames(&mut kernel.exprs, roots, |iname| match iname {
                    iname if iname == j => Some(Affine::var(affine::Var::Iname(inner))),
                    iname if iname == k => Some(Affine::var(affine::Var::Iname(j))),
                    _ => None,
                });
                let value = moved.get(value);
                let known = kernel.exprs.rewrite([value], |exprs, old, new| match old {
                    old if old == own => complete,
                    _ => exprs.intern(new),
                });
                kernel[insn].within = within.iter().copied().chain([inner]).collect();
                let indices = self.element.indices.iter().map(|&index| moved.get(index)).collect();
                (Assignee { array: self.element.array, indices }, known.get(value))
            };
            kernel[insn].kind = InstructionKind::Assignment { assignee, expression };
        }
        let store = InsnId::new(kernel.instructions.len());
        let id = names.new_name_like(&format!("store_{name}"));
        let kind = InstructionKind::Assignment { assignee: self.element.clone(), expression: complete };
        kernel.instructions.push(Instruction { id, kind, within, depends_on: Vec::new(), predicates: Vec::new() });
        let body = [self.last, store].map(LoopTree::Run).into_iter();
        let updates = LoopTree::Loop { iname: inner, body: vec![LoopTree::Run(self.update)] };
        Ok(Turned { iname: j, last: self.last, body: body.chain([updates]).collect() })
    }

    /// An iname with the values of `j` for which `k` takes the value that `j` has in the loop around.
    fn inner(&self, kernel: &mut Kernel, names: &mut Names, domains: &Domains) -> Result<InameId, DomainError> {
        let (j, k) = self.inames;
        let points = domains.of(&self.outer.iter().copied().chain([j, k]).collect())?;
        let name = names.new_name_like(&kernel[j].name);
        let set = points.rename_dim(&kernel[j].name, &name)?.rename_dim(&kernel[k].name, &kernel[j].name)?;
        let tags = kernel[j].tags.clone();
        let around: Vec<InameId> = self.outer.iter().copied().chain([j]).collect();
        add_iname_inside(kernel, domains, (name, tags), set, &around)
    }
}

/// The body of a loop that is turned, and the instruction that was its last.
struct Turned {
    iname: InameId,
    last: InsnId,
    body: Vec<LoopTree>,
}

/// The tree with the loops turned.
fn rebuilt(nodes: Vec<LoopTree>, turned: &[Turned]) -> Vec<LoopTree> {
    let of_node = |node| match node {
        LoopTree::Loop { iname, body } => {
            let is_it = |one: &&Turned| one.iname == iname && body.last() == Some(&LoopTree::Run(one.last));
            let body = match turned.iter().find(is_it) {
                None => rebuilt(body, turned),
                Some(one) => one.body.clone(),
            };
            LoopTree::Loop { iname, body }
        }
        LoopTree::Branch { condition, body } => LoopTree::Branch { condition, body: rebuilt(body, turned) },
        run @ LoopTree::Run(_) => run,
    };
    nodes.into_iter().map(of_node).collect()
}
