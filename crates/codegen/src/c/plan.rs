//! Where each operation of an instruction is computed: the plan of its locals.
//!
//! # Notions
//! A *region* is a stretch of C that runs together: the instruction itself, the loop of a reduction, a branch of a
//! selection, the rest of a condition after its first operand. An *instance* is an operation in a region. An operation is needed
//! in the regions of its uses; its instance stands in the innermost region around them all. Where a reduction
//! around some uses binds an iname that the operation depends on, uses under different reductions have different instances.
//! # Input
//! Roots, each with the region in which it is needed.
//! # Output
//! [`Plan`]: every operation below the roots that is not cheap has an instance for each region that needs its own, so that
//! no operation that can fail runs where the kernel would not evaluate it, shared operations run once, and no reduction
//! runs inside another that it does not depend on if the other's loop runs at least once.
//! # Method
//! Uses come before operands in decreasing order of id; a use passes its region down to its operands.
//! # Complexity
//! Linear in instances times the nesting of regions. Instances are as many as operations, except where reductions
//! with different loops share open operands; then up to [`MAX_INSTANCES`].

use std::collections::BTreeMap;

use nestegg_ir::{Expr, ExprId, InameId, Kernel, Number, Op};

use super::facts::{Facts, literal_of};

/// How many operations one instruction may become.
pub(crate) const MAX_INSTANCES: usize = 1 << 22;
/// How deep regions may nest.
pub(crate) const MAX_REGIONS: u32 = 4000;

/// How deep branches nest before those in which nothing can fail are evaluated whether they are chosen or not.
const MAX_LAZY: usize = 24;

/// A region, by position.
pub(crate) type RegionId = usize;
/// An instance, by position.
pub(crate) type InstanceId = usize;

/// The instruction's own region.
pub(crate) const ROOT: RegionId = 0;

/// A stretch of C that runs together.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The region around it; the root's is itself.
    pub(crate) parent: RegionId,
    depth: u32,
    /// The innermost loop region at or above it.
    innermost_loop: Option<RegionId>,
    /// The inames that it binds, if it is a loop.
    pub(crate) binds: Box<[InameId]>,
    /// Whether it is a loop that runs at least once.
    runs: bool,
}

/// What an operation works on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// Text that is written where it is used.
    Cheap(ExprId),
    /// Another operation.
    Instance(InstanceId),
}

/// An operation in a region.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The operation.
    pub(crate) expr: ExprId,
    /// Where it is computed.
    pub(crate) region: RegionId,
    /// How often its text would be written.
    pub(crate) n_uses: u32,
    /// Its operands, in order.
    pub(crate) operands: Vec<Operand>,
    /// The regions of its loop, branches or later operands.
    pub(crate) inner: Vec<RegionId>,
}

/// All operations of an instruction, users before operands.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The regions; each comes after the one around it.
    pub(crate) regions: Vec<Region>,
    /// The operations.
    pub(crate) instances: Vec<Instance>,
    /// The roots, in the order given.
    pub(crate) roots: Vec<Operand>,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// More than [`MAX_INSTANCES`].
    Instances,
    /// More than [`MAX_REGIONS`].
    Regions,
}

/// Who needs an operation.
#[derive(Clone, Copy, Debug)]
struct Use {
    region: RegionId,
    /// The operation and operand, or the root.
    user: Result<(InstanceId, usize), usize>,
    weight: u32,
}

impl Plan {
    /// A plan without operations, with a chain of `n_guards` regions in each other besides the root.
    pub(crate) fn with_guards(n_guards: usize) -> Self {
        let root = Region { parent: ROOT, depth: 0, innermost_loop: None, binds: Box::new([]), runs: false };
        let mut plan = Self { regions: vec![root], instances: Vec::new(), roots: Vec::new() };
        for guard in 0..n_guards {
            plan.region(guard, &[], false);
        }
        plan
    }

    /// The plan of roots. `runs` tells whether a reduction's loops run at least once, given the regions around.
    pub(crate) fn place(
        &mut self,
        kernel: &Kernel,
        facts: &Facts,
        roots: &[(ExprId, RegionId)],
        runs: &mut dyn FnMut(&Self, RegionId, &[InameId]) -> bool,
    ) -> Result<(), Excess> {
        let mut pending: BTreeMap<ExprId, Vec<Use>> = BTreeMap::new();
        for (idx, &(expr, region)) in roots.iter().enumerate() {
            self.roots.push(Operand::Cheap(expr));
            if facts.cheap(expr).is_none() {
                pending.entry(expr).or_default().push(Use { region, user: Err(idx), weight: 1 });
            }
        }
        while let Some((expr, uses)) = pending.pop_last() {
            for group in self.groups(facts, expr, uses) {
                let region = self.region_of(kernel, facts, expr, &group);
                let id = self.instances.len();
                if id >= MAX_INSTANCES {
                    return Err(Excess::Instances);
                }
                for one in &group {
                    match one.user {
                        Ok((user, at)) => self.instances[user].operands[at] = Operand::Instance(id),
                        Err(root) => self.roots[root] = Operand::Instance(id),
                    }
                }
                let n_uses = group.iter().map(|one| one.weight).fold(0, u32::saturating_add);
                let inner = self.open(kernel, facts, expr, region, runs);
                let children = kernel.exprs[expr].children();
                let operands = children.iter().map(|&child| Operand::Cheap(child)).collect();
                for (at, &child) in children.iter().enumerate() {
                    let weight = weight_of_operand(kernel, facts, expr, at);
                    if facts.cheap(child).is_none() && weight > 0 {
                        let region = region_of_operand(&kernel.exprs[expr], at, region, &inner);
                        pending.entry(child).or_default().push(Use { region, user: Ok((id, at)), weight });
                    }
                }
                self.instances.push(Instance { expr, region, n_uses, operands, inner });
                if self.regions.last().is_some_and(|last| last.depth > MAX_REGIONS) {
                    return Err(Excess::Regions);
                }
            }
        }
        Ok(())
    }

    /// The inames that reductions bind around a region, innermost last.
    pub(crate) fn bound_at(&self, mut region: RegionId) -> Vec<InameId> {
        let mut levels = Vec::new();
        while let Some(innermost) = self.regions[region].innermost_loop {
            levels.push(innermost);
            region = self.regions[innermost].parent;
        }
        levels.iter().rev().flat_map(|&level| self.regions[level].binds.iter().copied()).collect()
    }

    fn region(&mut self, parent: RegionId, binds: &[InameId], runs: bool) -> RegionId {
        let id = self.regions.len();
        let innermost_loop = if binds.is_empty() { self.regions[parent].innermost_loop } else { Some(id) };
        let depth = self.regions[parent].depth + 1;
        self.regions.push(Region { parent, depth, innermost_loop, binds: binds.into(), runs });
        id
    }

    /// The regions that an operation opens.
    fn open(
        &mut self,
        kernel: &Kernel,
        facts: &Facts,
        expr: ExprId,
        region: RegionId,
        runs: &mut dyn FnMut(&Self, RegionId, &[InameId]) -> bool,
    ) -> Vec<RegionId> {
        let depth = self.regions[region].depth as usize;
        let is_lazy = |operands: &[ExprId], n_levels: usize| {
            let deep = depth + n_levels > MAX_LAZY && operands.iter().all(|&operand| facts.is_harmless(operand));
            !deep && operands.iter().any(|&operand| facts.cheap(operand).is_none())
        };
        match &kernel.exprs[expr] {
            _ if facts.is_masked(expr) => Vec::new(),
            Expr::Reduce { inames, .. } => {
                let runs = runs(self, region, inames);
                vec![self.region(region, inames, runs)]
            }
            Expr::Op { op: Op::If, operands } if is_lazy(&operands[1..], 1) => {
                vec![self.region(region, &[], false), self.region(region, &[], false)]
            }
            Expr::Op { op: Op::And | Op::Or, operands } if is_lazy(&operands[1..], operands.len() - 1) => {
                let mut inner = Vec::with_capacity(operands.len() - 1);
                let mut around = region;
                for _ in 1..operands.len() {
                    around = self.region(around, &[], false);
                    inner.push(around);
                }
                inner
            }
            _ => Vec::new(),
        }
    }

    /// Uses that can share one instance, in a fixed order.
    fn groups(&self, facts: &Facts, expr: ExprId, uses: Vec<Use>) -> Vec<Vec<Use>> {
        let bound = facts.bound(expr);
        if bound.is_empty() || uses.len() == 1 {
            return vec![uses];
        }
        let mut groups: BTreeMap<RegionId, Vec<Use>> = BTreeMap::new();
        for one in uses {
            groups.entry(self.ceiling(facts, expr, one.region)).or_default().push(one);
        }
        groups.into_values().collect()
    }

    /// The innermost region at or above `region` that binds an iname of the operation.
    fn ceiling(&self, facts: &Facts, expr: ExprId, region: RegionId) -> RegionId {
        let bound = facts.bound(expr);
        let mut at = self.regions[region].innermost_loop;
        while let Some(candidate) = at {
            if self.regions[candidate].binds.iter().any(|&iname| bound.contains(iname)) {
                return candidate;
            }
            at = self.regions[self.regions[candidate].parent].innermost_loop;
        }
        ROOT
    }

    /// The innermost region around all uses; for a reduction, further out of loops that it does not depend on.
    fn region_of(&self, kernel: &Kernel, facts: &Facts, expr: ExprId, uses: &[Use]) -> RegionId {
        let mut res = uses[0].region;
        for one in &uses[1..] {
            res = self.common(res, one.region);
        }
        if matches!(kernel.exprs[expr], Expr::Reduce { .. }) {
            let ceiling = self.ceiling(facts, expr, res);
            while res != ceiling && self.regions[res].runs {
                res = self.regions[res].parent;
            }
        }
        res
    }

    fn common(&self, mut a: RegionId, mut b: RegionId) -> RegionId {
        while a != b {
            if self.regions[a].depth >= self.regions[b].depth {
                a = self.regions[a].parent;
            } else {
                b = self.regions[b].parent;
            }
        }
        a
    }
}

/// The region in which an operand is needed.
fn region_of_operand(expr: &Expr, at: usize, region: RegionId, inner: &[RegionId]) -> RegionId {
    match (expr, inner) {
        (_, []) => region,
        (Expr::Reduce { .. }, _) => inner[0],
        (_, _) if at == 0 => region,
        _ => inner[at - 1],
    }
}

/// How often an operand's text is written: the base of a small power as often as the exponent says; what the value does not
/// depend on, not at all.
fn weight_of_operand(kernel: &Kernel, facts: &Facts, expr: ExprId, at: usize) -> u32 {
    match &kernel.exprs[expr] {
        Expr::Op { op: Op::Pow, operands } if at == 0 => match whole_exponent(kernel, operands[1]) {
            Some(0) => 0,
            Some(n) if (2..=3).contains(&n.unsigned_abs()) => 2,
            _ => 1,
        },
        Expr::Op { op, operands } if op.is_comparison() => u32::from(!is_known(facts, operands)),
        _ => 1,
    }
}

/// Whether a comparison's answer is known because both sides are the same integer.
pub(crate) fn is_known(facts: &Facts, operands: &[ExprId]) -> bool {
    operands[0] == operands[1] && !facts.dtype(operands[0]).is_float()
}

/// The value of a literal whole exponent.
pub(crate) fn whole_exponent(kernel: &Kernel, exponent: ExprId) -> Option<i64> {
    match literal_of(kernel, exponent)? {
        Number::Int(value) => Some(value),
        Number::Float(value) => {
            let value = value.get();
            (value.fract() == 0.0 && value.abs() < 1e9).then_some(value as i64)
        }
    }
}
