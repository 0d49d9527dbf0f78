//! Which iterations of a loop have nothing in common.
//!
//! # Input
//! A loop with its body, in a kernel without substitution rules.
//! # Output
//! The accesses of the body; whether two of them touch one element only in equal iterations; the temporaries that an iteration reads before it has written them.
//! # Method
//! isl decides where accesses meet, first by one index at a time, which is remembered. A temporary is the iteration's own if everything that it reads of it
//! an earlier instruction of the same iteration, without condition, has written: the very element, whole dimensions, or in a loop all that a later loop over the same iname reads; several that write element by element count together.
//! # Complexity
//! One question to isl for each two different functions at an index, and one for each pair of accesses that no index decides.
//! # Not done
//! Reads of temporaries that only isl could see to be written before.

use std::cell::RefCell;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{for_each_run, from_tree};
use nestegg_ir::meetings::{Distance, Element};
use nestegg_ir::walk::{below, reads};
use nestegg_ir::{ArrayId, Expr, ExprId, InameId, InameSet, InsnId, InstructionKind, Kernel, LoopTree, Op};
use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

/// What isl may spend on one question.
pub(crate) const MAX_ISL_OPERATIONS: u64 = 1_000_000;

/// How an access touches its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Touch {
    Read,
    Write,
    /// `x = x ∘ e`, where `e` does not read the array.
    Update(Op),
}

/// An access inside the loop.
pub(crate) struct Access {
    /// The array.
    pub(crate) array: ArrayId,
    /// What it does.
    pub(crate) touch: Touch,
    indices: Vec<ExprId>,
    affine: Vec<Option<Affine>>,
    /// Loops around it, those of reductions included.
    loops: Vec<InameId>,
    /// Loops around its instruction.
    of_instruction: Vec<InameId>,
    /// Whether a condition is around it.
    is_conditional: bool,
    /// Its instruction, by position.
    position: usize,
}

impl Access {
    /// What it does to which element, in which loops: equal for accesses that meet others alike.
    pub(crate) fn at(&self) -> (Touch, &[ExprId], &[InameId]) {
        (self.touch, &self.indices, &self.loops)
    }
}

/// All accesses to arrays that are not tables, in the order of their instructions; reads before writes.
pub(crate) fn accesses(kernel: &Kernel, body: &[LoopTree]) -> Vec<Access> {
    let mut res = Vec::new();
    let mut position = 0;
    for_each_run(&from_tree(body), |insn, around| {
        position += 1;
        let instruction = &kernel[insn];
        let is_conditional = !around.conditions.is_empty() || !instruction.predicates.is_empty();
        let update = update_of(kernel, insn);
        let roots = match &update {
            Some((_, rest)) => {
                let indices = instruction.assignees().iter().flat_map(|assignee| assignee.indices.iter().copied());
                indices.chain(instruction.predicates.iter().copied()).chain(rest.iter().copied()).collect::<Vec<_>>()
            }
            None => instruction.expressions().collect(),
        };
        let roots = roots.into_iter().chain(around.conditions.iter().copied());
        let mut add = |array: ArrayId, touch, indices: &[ExprId], bound: &[InameId]| {
            res.push(Access {
                array,
                touch,
                affine: indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect(),
                indices: indices.to_vec(),
                loops: around.loops.iter().chain(bound).copied().collect(),
                of_instruction: around.loops.clone(),
                is_conditional,
                position,
            });
        };
        // Reductions inside bind further inames: all of them are around every read.
        let below: Vec<ExprId> = roots.flat_map(|root| below(&kernel.exprs, [root])).collect();
        let mut bound: Vec<InameId> = Vec::new();
        for &id in &below {
            if let Expr::Reduce { inames, .. } = &kernel.exprs[id] {
                bound.extend(inames.iter().copied());
            }
        }
        bound.sort_unstable();
        bound.dedup();
        for &id in &below {
            if let Expr::Access { array, indices } = &kernel.exprs[id]
                && kernel[*array].table().is_none()
            {
                add(*array, Touch::Read, indices, &bound);
            }
        }
        for assignee in instruction.assignees() {
            let touch = update.as_ref().map_or(Touch::Write, |(op, _)| Touch::Update(*op));
            add(assignee.array, touch, &assignee.indices, &[]);
        }
    });
    res
}

/// The operation and the other operands of `x = x ∘ …`, which reads the array of `x` nowhere else; `x = x - …` counts as an addition.
pub(crate) fn update_of(kernel: &Kernel, insn: InsnId) -> Option<(Op, Vec<ExprId>)> {
    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return None };
    let Expr::Op { op, operands } = &kernel.exprs[*expression] else { return None };
    let (op, may_be_self) = match op {
        Op::Add | Op::Mul | Op::Min | Op::Max => (*op, &operands[..]),
        Op::Sub => (Op::Add, &operands[..1]),
        _ => return None,
    };
    let at = may_be_self.iter().position(|&operand| assignee.is_read_by(&kernel.exprs, operand))?;
    let rest: Vec<ExprId> =
        operands.iter().enumerate().filter(|(idx, _)| *idx != at).map(|(_, &operand)| operand).collect();
    let others = rest.iter().chain(assignee.indices.iter()).chain(&kernel[insn].predicates).copied();
    (!reads(&kernel.exprs, others, assignee.array)).then_some((op, rest))
}

/// A temporary that an iteration may read before it has written it.
pub(crate) fn first_carried<'a>(
    kernel: &Kernel,
    domains: &Domains,
    accesses: impl Iterator<Item = &'a Access> + Clone,
) -> Option<ArrayId> {
    let is_temporary = |access: &&Access| kernel[access.array].is_temporary() && access.touch != Touch::Write;
    let is_carried = |read: &&Access| {
        let writes = accesses.clone().filter(|write| {
            write.array == read.array
                && write.touch == Touch::Write
                && !write.is_conditional
                && write.position < read.position
        });
        !cover(kernel, domains, writes, read)
    };
    accesses.clone().filter(is_temporary).find(is_carried).map(|access| access.array)
}

/// Whether earlier writes have written the element that is read: one of them alone, or several that differ in constants and leave out none.
fn cover<'a>(kernel: &Kernel, domains: &Domains, writes: impl Iterator<Item = &'a Access>, read: &Access) -> bool {
    // By the dimensions at which writes have constants, these.
    let mut found: FxHashMap<Vec<usize>, FxHashSet<Vec<i64>>> = FxHashMap::default();
    for write in writes {
        let Some(reached) = reached(kernel, domains, write, read) else { continue };
        let constants = reached.iter().enumerate().filter_map(|(dim, constant)| Some((dim, (*constant)?)));
        let (dims, constants): (Vec<usize>, Vec<i64>) = constants.unzip();
        if dims.is_empty() {
            return true;
        }
        found.entry(dims).or_default().insert(constants);
    }
    let extent = |dim: usize| affine::of(&kernel.exprs, kernel[read.array].shape[dim])?.as_constant();
    found.into_iter().any(|(dims, constants)| {
        let n = dims.iter().map(|&dim| extent(dim)).try_fold(1_i64, |n, extent| n.checked_mul(extent?));
        // Constants are inside of the array, so that all are there if they are as many.
        n == i64::try_from(constants.len()).ok()
    })
}

/// For each dimension what an earlier write has written of what is read: all of it, or only where the index is a constant. `None` if that cannot be told.
fn reached(kernel: &Kernel, domains: &Domains, write: &Access, read: &Access) -> Option<Vec<Option<i64>>> {
    let n_common = write.of_instruction.iter().zip(&read.of_instruction).take_while(|(a, b)| a == b).count();
    let (own, of_read) = (&write.of_instruction[n_common..], &read.of_instruction[n_common..]);
    // A loop that both have, each for itself, runs over the same values in both, if nothing but loops around both says which.
    let is_in_both = |iname: InameId| {
        let domain = &kernel[kernel[iname].domain];
        let mut others = domain.inames.iter().chain(&domain.enclosing).filter(|&&other| other != iname);
        own.contains(&iname)
            && of_read.contains(&iname)
            && others.all(|other| !own.contains(other) && !of_read.contains(other))
    };
    let mut swept: Vec<InameId> = Vec::new();
    let mut res = Vec::with_capacity(write.indices.len());
    let shape = &kernel[write.array].shape;
    for (((w, r), &extent), affine) in write.indices.iter().zip(&read.indices).zip(shape).zip(&write.affine) {
        let affine = affine.as_ref()?;
        if w == r && !affine.inames().any(|iname| own.contains(&iname)) {
            res.push(None);
            continue;
        }
        if let Some(constant) = affine.as_constant() {
            res.push(Some(constant));
            continue;
        }
        // The write sweeps all that is read, or the whole dimension.
        let iname = Affine { constant: 0, ..affine.clone() }.as_iname();
        let iname = iname.filter(|iname| own.contains(iname) && !swept.contains(iname))?;
        let sweeps = |extent: Affine| sweeps(kernel, domains, (iname, affine.constant), &extent).unwrap_or(false);
        if !(w == r && is_in_both(iname) || affine::of(&kernel.exprs, extent).is_some_and(sweeps)) {
            return None;
        }
        swept.push(iname);
        res.push(None);
    }
    // What sweeps a dimension runs if there is an element to read.
    let surely_runs = |iname: &InameId| swept.contains(iname) || runs(kernel, domains, *iname).unwrap_or(false);
    own.iter().all(surely_runs).then_some(res)
}

/// Whether a loop runs, by itself, over all values for which this index is inside a dimension of so many elements.
fn sweeps(
    kernel: &Kernel,
    domains: &Domains,
    (iname, constant): (InameId, i64),
    extent: &Affine,
) -> Result<bool, DomainError> {
    let Some(values) = values(kernel, domains, iname)? else { return Ok(false) };
    let name = kernel[iname].name.as_str();
    let index = isl::Affine::var(name).add(&isl::Affine::constant(constant))?;
    let behind = domains.affine(extent)?.sub(&index)?.sub(&isl::Affine::constant(1))?;
    let parameters: Vec<&str> = behind.names().into_iter().filter(|&other| other != name).collect();
    let inside = [isl::Constraint::inequality(index), isl::Constraint::inequality(behind.clone())];
    Ok(isl::Set::from_constraints(domains.context(), &parameters, &[name], &inside)?.is_subset(&values)?)
}

/// The values of an iname, if no other iname has to do with them.
fn values(kernel: &Kernel, domains: &Domains, iname: InameId) -> Result<Option<isl::Set>, DomainError> {
    let (domain, name) = (kernel[iname].domain, kernel[iname].name.as_str());
    if !kernel[domain].enclosing.is_empty() {
        return Ok(None);
    }
    let set = domains.set(domain);
    let alone = set.project_onto(&[name])?;
    if kernel[domain].inames.len() > 1 {
        let others: Vec<&str> = kernel[domain].inames.iter().map(|&other| kernel[other].name.as_str()).collect();
        let product = isl::Set::combine(&[alone.clone(), set.project_out(&[name])?])?.project_onto(&others)?;
        if !product.is_equal(set)? {
            return Ok(None);
        }
    }
    Ok(Some(alone))
}

/// Whether a loop, by itself, runs at least once.
fn runs(kernel: &Kernel, domains: &Domains, iname: InameId) -> Result<bool, DomainError> {
    Ok(values(kernel, domains, iname)?.is_some() && domains.surely_runs(iname, &InameSet::new())?)
}

/// Where the accesses of the iterations of a loop meet.
pub(crate) struct Meetings<'a> {
    domains: &'a Domains,
    /// Loops around the loop: only iterations inside the same of theirs count.
    outer: &'a [InameId],
    /// The loop.
    element: InameId,
    /// Whether two functions at one index have one value in equal iterations only.
    of_indices: RefCell<FxHashMap<(Affine, Affine), bool>>,
}

impl<'a> Meetings<'a> {
    pub(crate) fn new(domains: &'a Domains, outer: &'a [InameId], element: InameId) -> Self {
        Self { domains, outer, element, of_indices: RefCell::default() }
    }

    /// Whether two accesses to one array touch one element only in equal iterations; no if isl does not know.
    pub(crate) fn are_only_equal(&self, one: &Access, other: &Access) -> bool {
        // What is not affine may be anything: it says nothing.
        let known = one.affine.iter().zip(&other.affine);
        let known: Vec<(&Affine, &Affine)> = known.filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?))).collect();
        known.iter().any(|&(a, b)| self.index_tells(a, b)) || {
            let (first, second) = known.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
            let one = Element { loops: &one.loops, indices: &first };
            self.ask(one, Element { loops: &other.loops, indices: &second }).unwrap_or(false)
        }
    }

    /// Whether one index is enough.
    fn index_tells(&self, a: &Affine, b: &Affine) -> bool {
        // Most indices that do not tell are the same in all iterations.
        if !a.inames().chain(b.inames()).any(|iname| iname == self.element || !self.outer.contains(&iname)) {
            return a.plus(b, -1).and_then(|difference| difference.as_constant()).is_some_and(|constant| constant != 0);
        }
        let key = (a.clone(), b.clone());
        if let Some(&known) = self.of_indices.borrow().get(&key) {
            return known;
        }
        let res = self.ask(Element::at(&[a]), Element::at(&[b])).unwrap_or(false);
        self.of_indices.borrow_mut().insert(key, res);
        res
    }

    /// Whether functions of inames have the same values in equal iterations only.
    fn ask(&self, one: Element<'_>, other: Element<'_>) -> Result<bool, DomainError> {
        self.domains.meet_only(one, other, self.outer, (&[self.element], Distance::Zero))
    }
}
