//! Short loops are written out: one copy of the body for each value of the iname.
//!
//! # Why
//! Compilers unroll loops, and run them in lanes, only where they know how often they run; in a triangle of loops the inner one runs another number of times each time.
//! And `for q: for j < 5: s[j] += a[q]*T[j, q]` runs in lanes only as five sums of scalars.
//! # Input
//! A kernel in its final order.
//! # Output
//! The same instances in the same order. Loops inside a copy have domains of their own, in which the outer iname is a number.
//! # Method
//! [`write_out_triangles`] takes loops around others whose bounds depend on them; [`write_out_sums`] takes those inside loops that add to elements of temporaries, where
//! accesses stay the same from one iteration of the outer loop to the next, or go to a neighbour. The elements become [scalars](crate::scalars).
//! # Complexity
//! Linear in what is written; at most [`MAX_COPIES`] instructions become more.
//! # Not done
//! Loops around opaque instructions, around reductions whose bounds depend on them, and loops whose own bounds depend on parameters.

use std::ops::RangeInclusive;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, loops_in, runs_in, to_tree};
use nestegg_ir::names::{Names, add_iname_of_set};
use nestegg_ir::walk::below;
use nestegg_ir::{
    Expr, ExprId, InameId, InameSet, InameTag, InsnId, InstructionKind, Kernel, LinearizedKernel, LoopTree, Op,
    SummingLoop,
};
use nestegg_isl as isl;

use crate::find::in_loops;
use crate::ranges::{Ranges, interval};
use crate::scalars::replace_by_scalars;
use crate::substitute::with_inames;
use crate::summing::is_in_order;

/// A loop of more iterations stays a loop.
const MAX_TRIPS: i64 = 16;

/// At most this many instructions are made.
const MAX_COPIES: usize = 512;

/// A loop that adds to elements has at most so many instances inside when its short loops are written out: more sums do not fit any registers.
const MAX_SUMS: i64 = 32;

/// The kernel with its triangles written out; `None` if none can be.
#[must_use]
pub fn write_out_triangles(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    if !may_have_triangles(&linearized.kernel, &tree) {
        return None;
    }
    let context = isl::Context::new();
    let ranges = Ranges::new(&linearized.kernel, &Domains::new(&context, &linearized.kernel).ok()?).ok()?;
    written_out(linearized, tree, (context, &ranges), Which::Triangles)
}

/// The kernel with short loops written out inside of long ones that add to elements; `None` if there are none.
#[must_use]
pub fn write_out_sums(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let kernel = &linearized.kernel;
    let found = in_loops(&tree, |_, iname, body| {
        let inner = loops_in(body);
        (!inner.is_empty() && adds_to_elements(kernel, iname, body)).then(|| (iname, inner, runs_in(body)))
    });
    if found.is_empty() {
        return None;
    }
    let context = isl::Context::new();
    let ranges = Ranges::new(kernel, &Domains::new(&context, kernel).ok()?).ok()?;
    let is_such = |(iname, inner, insns): &(InameId, Vec<InameId>, Vec<InsnId>)| {
        let copies = |insn: &InsnId| {
            let within = kernel[*insn].within.iter().filter(|iname| inner.contains(iname));
            within.map(|&iname| ranges.trips(iname)).try_fold(1, |known: i64, n| known.checked_mul(n?))
        };
        let n_sums = insns.iter().map(copies).try_fold(0, |known, n| Some(known + n?));
        ranges.trips(*iname).is_none_or(|n| n >= SummingLoop::MIN_TRIPS) && n_sums.is_some_and(|n| n <= MAX_SUMS)
    };
    let sums: InameSet = found.into_iter().filter(is_such).map(|found| found.0).collect();
    if sums.is_empty() {
        return None;
    }
    let res = written_out(linearized, tree, (context, &ranges), Which::Inside(sums))?;
    Some(replace_by_scalars(&res).unwrap_or(res))
}

/// Whether a loop does nothing but assign sums, products and quotients of elements that stay the same or go to a neighbour, and adds to elements of temporaries that stay.
fn adds_to_elements(kernel: &Kernel, iname: InameId, body: &[LoopTree]) -> bool {
    let is_plain = |id: ExprId| match &kernel.exprs[id] {
        Expr::Access { indices, .. } => is_in_order(kernel, indices, iname),
        Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg, .. } | Expr::Number(_) | Expr::Iname(_) => true,
        _ => false,
    };
    let mut adds = false;
    !body.iter().any(|node| matches!(node, LoopTree::Branch { .. }))
        && runs_in(body).into_iter().all(|insn| {
            let instruction = &kernel[insn];
            let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return false };
            let is_fixed = |&index: &ExprId| {
                affine::of(&kernel.exprs, index).is_some_and(|index| index.coefficient(Var::Iname(iname)) == 0)
            };
            let stays = !assignee.indices.is_empty() && assignee.indices.iter().all(is_fixed);
            adds |= stays
                && kernel[assignee.array].is_temporary()
                && matches!(instruction.update(&kernel.exprs), Some((Op::Add | Op::Sub, _)));
            instruction.predicates.is_empty() && below(&kernel.exprs, [*expression]).into_iter().all(is_plain)
        })
        && adds
}

/// Which loops are written out.
enum Which {
    /// Those around loops whose bounds depend on them.
    Triangles,
    /// Those inside of these.
    Inside(InameSet),
}

fn written_out(
    linearized: &LinearizedKernel,
    tree: Vec<LoopTree>,
    (context, ranges): (isl::Context, &Ranges),
    which: Which,
) -> Option<LinearizedKernel> {
    let kernel = linearized.kernel.clone();
    let known = |iname| Known {
        dependencies: ranges.dependencies(iname).clone(),
        values: match ranges.bounds(iname) {
            (Some(first), Some(last)) if ranges.is_interval(iname) => Some((first, last)),
            _ => None,
        },
    };
    let known = kernel.iname_ids().map(known).collect();
    let mut pass = Pass { which, names: Names::new(&kernel), known, context, kernel, open: Vec::new(), n_copies: 0 };
    let tree = pass.all(tree).ok()?;
    if pass.n_copies == 0 || pass.n_copies > MAX_COPIES {
        return None;
    }
    let res = LinearizedKernel { kernel: pass.kernel, linearization: from_tree(&tree) };
    Some(crate::eliminate_dead(res))
}

/// Whether the domain of any loop has to do with another iname.
pub(crate) fn may_have_triangles(kernel: &Kernel, tree: &[LoopTree]) -> bool {
    loops_in(tree).into_iter().any(|iname| {
        let domain = &kernel[kernel[iname].domain];
        domain.inames.len() > 1 || !domain.enclosing.is_empty()
    })
}

/// What is known of an iname.
struct Known {
    /// The inames on whose values its range depends.
    dependencies: InameSet,
    /// The first and last of its values, if these are all integers between.
    values: Option<(i64, i64)>,
}

struct Pass {
    which: Which,
    names: Names,
    /// Of each iname.
    known: Vec<Known>,
    context: isl::Context,
    kernel: Kernel,
    /// Loops around what is visited.
    open: Vec<InameId>,
    n_copies: usize,
}

impl Pass {
    fn all(&mut self, nodes: Vec<LoopTree>) -> Result<Vec<LoopTree>, DomainError> {
        let mut res = Vec::with_capacity(nodes.len());
        for node in nodes {
            res.extend(self.visit(node)?);
        }
        Ok(res)
    }

    /// What stands in the place of a node. Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn visit(&mut self, node: LoopTree) -> Result<Vec<LoopTree>, DomainError> {
        match node {
            LoopTree::Loop { iname, body } => {
                let Some(values) = self.values(iname, &body) else {
                    self.open.push(iname);
                    let body = self.all(body)?;
                    self.open.pop();
                    return Ok(vec![LoopTree::Loop { iname, body }]);
                };
                let mut res = Vec::new();
                for value in values {
                    let copy = self.copy(&body, &mut Copy { iname, value, inner: Vec::new() })?;
                    if self.n_copies > MAX_COPIES {
                        return Ok(Vec::new());
                    }
                    res.extend(self.all(copy)?);
                }
                Ok(res)
            }
            LoopTree::Branch { condition, body } => Ok(vec![LoopTree::Branch { condition, body: self.all(body)? }]),
            run @ LoopTree::Run(_) => Ok(vec![run]),
        }
    }

    fn depends(&self, inner: InameId, outer: InameId) -> bool {
        self.known[inner.index()].dependencies.contains(outer)
    }

    /// The values of an iname whose loop is to be written out.
    fn values(&self, iname: InameId, body: &[LoopTree]) -> Option<RangeInclusive<i64>> {
        let kernel = &self.kernel;
        let tags = &kernel[iname].tags;
        let (first, last) = self.known[iname.index()].values?;
        if last.checked_sub(first).is_none_or(|distance| distance >= MAX_TRIPS)
            || [InameTag::Sequential, InameTag::Parallel, InameTag::Vec].iter().any(|tag| tags.contains(tag))
            || self.open.iter().any(|&outer| self.depends(iname, outer))
            || !self.is_wanted(iname, body)
        {
            return None;
        }
        let binds = |id: ExprId| match &kernel.exprs[id] {
            Expr::Reduce { inames, .. } => inames.iter().any(|&bound| self.depends(bound, iname)),
            _ => false,
        };
        let is_fixed = |insn: InsnId| {
            let instruction = &kernel[insn];
            matches!(instruction.kind, InstructionKind::Opaque { .. })
                || below(&kernel.exprs, instruction.expressions()).into_iter().any(binds)
        };
        (!runs_in(body).into_iter().any(is_fixed)).then_some(first..=last)
    }

    fn is_wanted(&self, iname: InameId, body: &[LoopTree]) -> bool {
        match &self.which {
            Which::Triangles => loops_in(body).into_iter().any(|inner| self.depends(inner, iname)),
            Which::Inside(outer) => self.open.iter().any(|&open| outer.contains(open)),
        }
    }

    fn copy(&mut self, body: &[LoopTree], copy: &mut Copy) -> Result<Vec<LoopTree>, DomainError> {
        let mut res = Vec::with_capacity(body.len());
        for node in body {
            match node {
                LoopTree::Loop { iname, body } => {
                    let is_changed = copy.changed().any(|outer| self.depends(*iname, outer));
                    let own = if is_changed { self.inner(*iname, copy)? } else { Some(*iname) };
                    // A loop of no iterations in this copy is left out.
                    let Some(own) = own else { continue };
                    copy.inner.push((*iname, own));
                    let body = self.copy(body, copy)?;
                    copy.inner.pop();
                    res.push(LoopTree::Loop { iname: own, body });
                }
                LoopTree::Branch { condition, body } => {
                    let condition = copy.rewrite(&mut self.kernel, [*condition]).get(*condition);
                    res.push(LoopTree::Branch { condition, body: self.copy(body, copy)? });
                }
                LoopTree::Run(insn) => res.push(LoopTree::Run(self.instruction(*insn, copy))),
            }
        }
        Ok(res)
    }

    /// An iname with the values that an inner one has in a copy; `None` if it has none there.
    fn inner(&mut self, iname: InameId, copy: &Copy) -> Result<Option<InameId>, DomainError> {
        let domain = self.kernel[self.kernel[iname].domain].clone();
        let set = isl::Set::parse(&self.context, &domain.text)?.set_tuple_name(None)?;
        let kernel = &mut self.kernel;
        let outer = kernel[copy.iname].name.clone();
        let mut set = if domain.enclosing.contains(&copy.iname) {
            set.fix_params(&[(&outer, copy.value)])?
        } else {
            set.fix(&outer, copy.value)?
        };
        // Other dimensions are parameters where their loops are open, and gone where they are further inside.
        let around = |other: InameId| {
            let of_copy = copy.inner.iter().find(|(old, _)| *old == other).map(|(_, new)| *new);
            of_copy.or_else(|| self.open.contains(&other).then_some(other))
        };
        let mut kept: Vec<(InameId, InameId)> =
            domain.inames.iter().chain(&domain.enclosing).filter_map(|&other| Some((other, around(other)?))).collect();
        kept.retain(|(other, _)| *other != iname && *other != copy.iname);
        let old = kernel[iname].name.clone();
        let mut dims: Vec<&str> = vec![&old];
        dims.extend(
            kept.iter().filter(|(other, _)| domain.inames.contains(other)).map(|one| kernel[one.0].name.as_str()),
        );
        set = set.project_onto(&dims)?;
        if set.is_empty()? {
            return Ok(None);
        }
        let name = self.names.new_name(&old);
        set = set.rename_dim(&old, &name)?;
        for (other, new) in &kept {
            if other != new {
                set = set.rename_dim(&kernel[*other].name, &kernel[*new].name)?;
            }
        }
        set = set.dims_to_params()?.params_to_dims(&[&name])?;
        let values = interval(&self.context, &set, &name)?;
        let tags = kernel[iname].tags.clone();
        let around: Vec<InameId> = kept.iter().map(|(_, new)| *new).collect();
        let id = add_iname_of_set(kernel, (name, tags), &set, &around)?;
        let dependencies = kernel[kernel[id].domain].enclosing.iter().copied().collect();
        self.known.push(Known { dependencies, values });
        Ok(Some(id))
    }

    /// An instruction in a copy.
    fn instruction(&mut self, insn: InsnId, copy: &Copy) -> InsnId {
        let kernel = &mut self.kernel;
        let mut instruction = kernel[insn].clone();
        let rewritten = copy.rewrite(kernel, instruction.expressions().collect::<Vec<_>>());
        instruction.map_expressions(|id| rewritten.get(id));
        let image = |iname: &InameId| match copy.inner.iter().find(|(old, _)| old == iname) {
            Some((_, new)) => Some(*new),
            None => (*iname != copy.iname).then_some(*iname),
        };
        instruction.within = instruction.within.iter().filter_map(image).collect();
        self.n_copies += 1;
        instruction.id = self.names.new_name(&instruction.id);
        kernel.instructions.push(instruction);
        InsnId::new(kernel.instructions.len() - 1)
    }
}

/// The body of a loop at one value of its iname.
struct Copy {
    iname: InameId,
    value: i64,
    /// Inames of loops that are open in it, with those that take their places.
    inner: Vec<(InameId, InameId)>,
}

impl Copy {
    /// Inames that are something else in the copy.
    fn changed(&self) -> impl Iterator<Item = InameId> {
        let inner = self.inner.iter().filter(|(old, new)| old != new);
        std::iter::once(self.iname).chain(inner.map(|(old, _)| *old))
    }

    fn rewrite(&self, kernel: &mut Kernel, roots: impl IntoIterator<Item = ExprId>) -> nestegg_ir::Rewritten {
        with_inames(&mut kernel.exprs, roots, |iname| {
            if iname == self.iname {
                return Some(Affine::constant(self.value));
            }
            let inner = self.inner.iter().find(|(old, _)| *old == iname)?;
            Some(Affine::var(Var::Iname(inner.1)))
        })
    }
}
