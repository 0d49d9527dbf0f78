//! Triangles of loops are written out: a short loop around others whose bounds depend on it becomes one copy of its body for each of its values.
//!
//! # Why
//! Compilers unroll loops, and run them in lanes, only where they know how often they run; in a triangle the inner loop runs another number of times each time.
//! # Input
//! A kernel in its final order.
//! # Output
//! The same instances in the same order. Loops inside a copy have domains of their own, in which the outer iname is a number.
//! # Complexity
//! Linear in what is written; at most [`MAX_COPIES`] instructions become more.
//! # Not done
//! Loops around opaque instructions, around reductions whose bounds depend on them, and loops whose own bounds depend on parameters.

use nestegg_ir::affine::Affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::linearization::{from_tree, runs_in, to_tree};
use nestegg_ir::names::Names;
use nestegg_ir::walk::below;
use nestegg_ir::{
    Domain, DomainId, Expr, ExprId, Iname, InameId, InameSet, InameTag, InsnId, InstructionKind, Kernel,
    LinearizedKernel, LoopTree,
};
use nestegg_isl as isl;

use crate::substitute::with_inames;

/// A loop of more iterations stays a loop.
const MAX_TRIPS: i64 = 16;

/// So many instructions are made at most.
const MAX_COPIES: usize = 512;

/// The kernel with its triangles written out; `None` if there are none, or one cannot be.
#[must_use]
pub fn write_out_triangles(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let tree = to_tree(&linearized.linearization).ok()?;
    let kernel = linearized.kernel.clone();
    let names = Names::new(&kernel);
    let mut pass = Pass { kernel, names, context: isl::Context::new(), n_copies: 0, is_done: false };
    let tree = pass.all(tree).ok()?;
    if !pass.is_done || pass.n_copies > MAX_COPIES {
        return None;
    }
    let res = LinearizedKernel { kernel: pass.kernel, linearization: from_tree(&tree) };
    Some(crate::eliminate_dead(res))
}

struct Pass {
    kernel: Kernel,
    names: Names,
    context: isl::Context,
    n_copies: usize,
    is_done: bool,
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
                let Some(values) = self.values(iname, &body)? else {
                    return Ok(vec![LoopTree::Loop { iname, body: self.all(body)? }]);
                };
                let mut res = Vec::new();
                for value in values {
                    let copy = self.copy(&body, &mut Copy { iname, value, inner: Vec::new() })?;
                    if self.n_copies > MAX_COPIES {
                        return Ok(Vec::new());
                    }
                    res.extend(self.all(copy)?);
                }
                self.is_done = true;
                Ok(res)
            }
            LoopTree::Branch { condition, body } => Ok(vec![LoopTree::Branch { condition, body: self.all(body)? }]),
            run @ LoopTree::Run(_) => Ok(vec![run]),
        }
    }

    /// The values of an iname whose loop is to be written out.
    fn values(&self, iname: InameId, body: &[LoopTree]) -> Result<Option<std::ops::RangeInclusive<i64>>, DomainError> {
        let kernel = &self.kernel;
        let bound = |tag| kernel[iname].tags.contains(&tag);
        if !self.is_around(iname, body)
            || bound(InameTag::Sequential)
            || bound(InameTag::Parallel)
            || bound(InameTag::Vec)
        {
            return Ok(None);
        }
        for insn in runs_in(body) {
            let instruction = &kernel[insn];
            let binds = |id: ExprId| match &kernel.exprs[id] {
                Expr::Reduce { inames, .. } => inames.iter().any(|&bound| self.depends(bound, iname)),
                _ => false,
            };
            if matches!(instruction.kind, InstructionKind::Opaque { .. })
                || below(&kernel.exprs, instruction.expressions()).into_iter().any(binds)
            {
                return Ok(None);
            }
        }
        let domain = &kernel[kernel[iname].domain];
        if domain.inames.len() != 1 || !domain.enclosing.is_empty() || !domain.parameters.is_empty() {
            return Ok(None);
        }
        let domains = Domains::new(&self.context, kernel)?;
        let set = domains.set(kernel[iname].domain);
        let name = kernel[iname].name.as_str();
        let (Some(first), Some(last)) = (set.dim_min_val(name)?, set.dim_max_val(name)?) else { return Ok(None) };
        let all: InameSet = std::iter::once(iname).collect();
        let is_interval = last.checked_sub(first).is_some_and(|distance| distance < MAX_TRIPS)
            && domains.count(&all)? == u64::try_from(last - first + 1).unwrap_or(0).into();
        Ok(is_interval.then_some(first..=last))
    }

    /// Whether the bounds of a loop inside depend on an iname.
    fn is_around(&self, iname: InameId, body: &[LoopTree]) -> bool {
        body.iter().any(|node| match node {
            LoopTree::Loop { iname: inner, body } => self.depends(*inner, iname) || self.is_around(iname, body),
            LoopTree::Branch { body, .. } => self.is_around(iname, body),
            LoopTree::Run(_) => false,
        })
    }

    fn depends(&self, inner: InameId, outer: InameId) -> bool {
        self.kernel[self.kernel[inner].domain].enclosing.contains(&outer)
    }

    fn copy(&mut self, body: &[LoopTree], copy: &mut Copy) -> Result<Vec<LoopTree>, DomainError> {
        let mut res = Vec::with_capacity(body.len());
        for node in body {
            match node {
                LoopTree::Loop { iname, body } if self.depends(*iname, copy.iname) => {
                    let Some(own) = self.inner(*iname, copy)? else {
                        // A loop of no iterations in this copy.
                        continue;
                    };
                    copy.inner.push((*iname, own));
                    let body = self.copy(body, copy)?;
                    copy.inner.pop();
                    res.push(LoopTree::Loop { iname: own, body });
                }
                LoopTree::Loop { iname, body } => {
                    res.push(LoopTree::Loop { iname: *iname, body: self.copy(body, copy)? });
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
        let kernel = &mut self.kernel;
        let domain = kernel[kernel[iname].domain].clone();
        let (old, outer) = (kernel[iname].name.clone(), kernel[copy.iname].name.clone());
        let set = isl::Set::parse(&self.context, &domain.text)?.fix_params(&[(&outer, copy.value)])?;
        if set.is_empty()? {
            return Ok(None);
        }
        let name = self.names.new_name(&old);
        let text = set.rename_dim(&old, &name)?.to_string();
        let id = InameId::new(kernel.inames.len());
        let tags = kernel[iname].tags.clone();
        kernel.inames.push(Iname { name, tags, domain: DomainId::new(kernel.domains.len()) });
        let enclosing = domain.enclosing.iter().copied().filter(|&other| other != copy.iname);
        kernel.domains.push(Domain {
            text,
            inames: vec![id],
            enclosing: enclosing.collect(),
            parameters: domain.parameters.clone(),
        });
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
    fn rewrite(&self, kernel: &mut Kernel, roots: impl IntoIterator<Item = ExprId>) -> nestegg_ir::Rewritten {
        with_inames(&mut kernel.exprs, roots, |iname| {
            if iname == self.iname {
                return Some(Affine::constant(self.value));
            }
            let inner = self.inner.iter().find(|(old, _)| *old == iname)?;
            Some(Affine::var(nestegg_ir::affine::Var::Iname(inner.1)))
        })
    }
}
