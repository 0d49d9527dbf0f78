//! Strength reduction: several quotients by one value, or one whose dividend is there long after its divisor, become products with the reciprocal; powers with a half in
//! the exponent become products with the root.
//!
//! # Why
//! A quotient takes as long as a dozen products, a root as long as two quotients, a power as long as four. The count of operations hides that, and C compilers
//! help only if flags let them round differently. And in `(a - log(x)*b)/x`, the quotient waits for the logarithm, while `1/x` does not.
//! # Input
//! A kernel in its final order, without reductions.
//! # Output
//! The same values over the real numbers, with a scalar for each reciprocal and root that is shared: a few more products, fewer quotients, no such powers.
//! # Method
//! Roots come first, since they leave quotients. A shared value is computed in the outermost loop in which its operand stays the same, just before the first operation
//! that needs it there. It leaves neither a condition nor a loop that may be empty. What an instruction computes only on a condition stays with that instruction,
//! unless it reads nothing but arguments at constant indices. How late a value is there is the length of the longest chain of operations that leads to it, through scalars too.
//! # Complexity
//! Each quotient or power costs a look at the loops around it and at the writers of the arrays that its operand reads.
//! # Source
//! Allen, Cocke, Kennedy, "Reduction of operator strength", 1981.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use indexmap::IndexMap;
use nestegg_ir::domains::Domains;
use nestegg_ir::names::{Names, add_scalar};
use nestegg_ir::types::{Type, Types};
use nestegg_ir::walk::{arrays_below, below};
use nestegg_ir::{
    ArrayId, Assignee, Dtype, Expr, ExprId, Exprs, Float, InameId, InameSet, InsnId, Instruction, InstructionKind,
    Item, Kernel, LinearizedKernel, Op, affine,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::depends::in_order_without_dead;
use crate::nest::{Nest, NodeId, NodeKind};

/// Cycles from a sum or product to what needs it.
const STEP: u32 = 4;
/// The same of a quotient.
const QUOTIENT: u32 = 13;
/// The same of a root.
const ROOT: u32 = 20;
/// The same of a call.
const CALL: u32 = 40;

/// Powers beyond this stay: the products would be many.
const MAX_EXPONENT: f64 = 4.0;

/// The kernel with fewer quotients and powers; `None` if it has none to share.
#[must_use]
pub fn reduce_strength(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    let is_opaque = |insn: &Instruction| matches!(insn.kind, InstructionKind::Opaque { .. });
    let is_plain = kernel.substitutions.is_empty() && !kernel.instructions.iter().any(is_opaque);
    if !is_plain {
        return None;
    }
    let roots = reduced(linearized, half_power);
    let quotients = reduced(roots.as_ref().unwrap_or(linearized), quotient);
    quotients.or(roots)
}

/// A value that operations are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shared {
    /// `1/x`.
    Reciprocal,
    /// `sqrt(x)`.
    Root,
}

impl Shared {
    /// Which power it is.
    fn exponent(self) -> f64 {
        match self {
            Self::Reciprocal => -1.0,
            Self::Root => 0.5,
        }
    }
}

/// An operation that may be computed from a shared value.
#[derive(Clone, Copy, Debug)]
struct Site {
    insn: InsnId,
    expr: ExprId,
    exponent: f64,
}

/// What operations are computed from, and which.
#[derive(Clone, Debug)]
struct Group {
    shared: Shared,
    of: ExprId,
    dtype: Dtype,
    /// The loop in which it is computed.
    home: NodeId,
    /// The position before which.
    at: usize,
    /// In order.
    sites: Vec<Site>,
}

/// What an operation may be computed from: the kind, the operand, and the exponent.
type Kind = fn(&Kernel, ExprId) -> Option<(Shared, ExprId, f64)>;

fn quotient(kernel: &Kernel, id: ExprId) -> Option<(Shared, ExprId, f64)> {
    let Expr::Op { op: Op::Div, operands } = &kernel.exprs[id] else { return None };
    Some((Shared::Reciprocal, operands[1], -1.0))
}

fn half_power(kernel: &Kernel, id: ExprId) -> Option<(Shared, ExprId, f64)> {
    let Expr::Op { op: Op::Pow, operands } = &kernel.exprs[id] else { return None };
    let exponent = kernel.exprs.literal(operands[1])?;
    (exponent.fract().abs() == 0.5 && exponent.abs() < MAX_EXPONENT).then_some((Shared::Root, operands[0], exponent))
}

fn reduced(linearized: &LinearizedKernel, kind: Kind) -> Option<LinearizedKernel> {
    let kernel = &linearized.kernel;
    if !kernel.exprs.iter().any(|(id, _)| kind(kernel, id).is_some()) {
        return None;
    }
    let domains = Domains::new(&isl::Context::new(), kernel).ok()?;
    let nest = Nest::new(kernel, &linearized.linearization).ok()?;
    let mut writers = vec![Vec::new(); kernel.arrays.len()];
    for insn in kernel.insn_ids() {
        for array in kernel[insn].written_arrays() {
            writers[array.index()].push(nest.position(insn));
        }
    }
    let search = Search { kernel, types: Types::infer(kernel), domains, nest, writers, chains: OnceCell::new() };
    let groups = search.groups(linearized, kind);
    (!groups.is_empty()).then(|| search.write(linearized, groups))
}

/// Of each expression, how many cycles the longest chain of operations takes that leads to it, through scalars that are written once.
fn chains(linearized: &LinearizedKernel, writers: &[Vec<usize>]) -> FxHashMap<ExprId, u32> {
    let kernel = &linearized.kernel;
    let mut res: FxHashMap<ExprId, u32> = FxHashMap::default();
    let mut of_scalars: FxHashMap<ArrayId, u32> = FxHashMap::default();
    for item in &linearized.linearization {
        let Item::Run(insn) = *item else { continue };
        let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { continue };
        for id in below(&kernel.exprs, [*expression]) {
            let expr = &kernel.exprs[id];
            let own = match expr {
                Expr::Access { array, .. } => of_scalars.get(array).copied().unwrap_or(0),
                Expr::Op { op: Op::Div, .. } => QUOTIENT,
                Expr::Op { op: Op::Pow, operands }
                    if kernel.exprs.literal(operands[1]).is_none_or(|exponent| exponent.fract() != 0.0) =>
                {
                    CALL
                }
                Expr::Op { .. } => STEP,
                Expr::Call { function, .. } => match kernel[*function].as_ref() {
                    "sqrt" => ROOT,
                    "fabs" | "abs" | "fmin" | "fmax" => STEP,
                    _ => CALL,
                },
                _ => 0,
            };
            let operands = expr.children().iter().map(|child| res.get(child).copied().unwrap_or(0)).max().unwrap_or(0);
            res.insert(id, operands.saturating_add(own));
        }
        if kernel[assignee.array].shape.is_empty() && writers[assignee.array.index()].len() == 1 {
            of_scalars.insert(assignee.array, res.get(expression).copied().unwrap_or(0));
        }
    }
    res
}

struct Search<'a> {
    kernel: &'a Kernel,
    types: Types,
    domains: Domains,
    nest: Nest,
    /// Of each array, the positions of the instructions that write it.
    writers: Vec<Vec<usize>>,
    /// [`chains`], once they are asked for.
    chains: OnceCell<FxHashMap<ExprId, u32>>,
}

impl Search<'_> {
    /// What pays, in the order in which it is computed: operands first.
    fn groups(&self, linearized: &LinearizedKernel, kind: Kind) -> Vec<Group> {
        let mut groups: IndexMap<(Shared, ExprId, NodeId), Vec<Group>> = IndexMap::new();
        for item in &linearized.linearization {
            let Item::Run(insn) = *item else { continue };
            let InstructionKind::Assignment { expression, .. } = self.kernel[insn].kind else { continue };
            let below = below(&self.kernel.exprs, [expression]);
            if below.iter().any(|&id| matches!(self.kernel.exprs[id], Expr::Reduce { .. })) {
                continue;
            }
            let is_choice =
                |&id: &ExprId| matches!(self.kernel.exprs[id], Expr::Op { op: Op::If | Op::And | Op::Or, .. });
            let is_certain = self.kernel[insn].predicates.is_empty() && !below.iter().any(is_choice);
            for expr in below {
                let Some((shared, of, exponent)) = kind(self.kernel, expr) else { continue };
                let reads = arrays_below(&self.kernel.exprs, [of]);
                let Some((home, at)) = self.place(insn, expr, (of, &reads), is_certain) else { continue };
                let site = Site { insn, expr, exponent };
                let known = groups.entry((shared, of, home)).or_default();
                match known.last_mut().filter(|group| !self.is_written(&reads, group.at..self.nest.position(insn))) {
                    Some(group) => group.sites.push(site),
                    None => {
                        let dtype = self.types.of(expr).dtype();
                        known.push(Group { shared, of, dtype, home, at, sites: vec![site] });
                    }
                }
            }
        }
        let mut res: Vec<Group> = groups.into_values().flatten().filter(|group| self.pays(group, linearized)).collect();
        res.sort_by_key(|group| (group.at, group.of));
        res
    }

    /// Where a value of `of` is computed for an operation of an instruction; `None` if it is no float, or a number.
    fn place(
        &self,
        insn: InsnId,
        expr: ExprId,
        (of, read): (ExprId, &BTreeSet<ArrayId>),
        is_certain: bool,
    ) -> Option<(NodeId, usize)> {
        let (kernel, nest) = (self.kernel, &self.nest);
        let is_strong = |ty: Type| matches!(ty, Type::Float32 | Type::Float64);
        let ty = self.types.of(of);
        if !is_strong(ty) || self.types.of(expr) != ty {
            return None;
        }
        let below = below(&kernel.exprs, [of]);
        // What may be read although the instruction may not read it.
        let is_there = |&id: &ExprId| match &kernel.exprs[id] {
            Expr::Access { array, indices } => {
                let is_constant = |&index: &ExprId| {
                    affine::of(&kernel.exprs, index).is_some_and(|index| index.as_constant().is_some())
                };
                !kernel[*array].is_temporary() && indices.iter().all(is_constant)
            }
            _ => true,
        };
        if !is_certain && !below.iter().all(is_there) {
            return None;
        }
        let (mut home, mut at) = (nest.home(insn), nest.position(insn));
        while let NodeKind::Loop(iname) = nest[home].kind {
            let reads = |&id: &ExprId| matches!(kernel.exprs[id], Expr::Iname(other) if other == iname);
            let positions = nest[home].start..nest[home].end;
            if below.iter().any(reads) || self.is_written(read, positions.clone()) || !self.runs(iname, home) {
                break;
            }
            (home, at) = (nest[home].parent, positions.start);
        }
        Some((home, at))
    }

    /// Whether a loop runs at least once, inside of those around it.
    fn runs(&self, iname: InameId, node: NodeId) -> bool {
        let outer: InameSet = self.nest.loops(self.nest[node].parent).collect();
        self.domains.surely_runs(iname, &outer).unwrap_or(false)
    }

    /// Whether one of these arrays is written at one of these positions.
    fn is_written(&self, arrays: &BTreeSet<ArrayId>, positions: Range<usize>) -> bool {
        arrays.iter().any(|array| self.writers[array.index()].iter().any(|at| positions.contains(at)))
    }

    /// Whether a shared value saves more than it takes.
    fn pays(&self, group: &Group, linearized: &LinearizedKernel) -> bool {
        let leaves_loop = || group.sites.iter().any(|site| self.nest.home(site.insn) != group.home);
        group.shared == Shared::Root
            || group.sites.len() > 1
            || leaves_loop()
            || self.waits(&group.sites[0], linearized)
    }

    /// Whether the dividend of a quotient is there later than the reciprocal of the divisor would be.
    fn waits(&self, site: &Site, linearized: &LinearizedKernel) -> bool {
        let Expr::Op { op: Op::Div, operands } = &self.kernel.exprs[site.expr] else { return false };
        let chains = self.chains.get_or_init(|| chains(linearized, &self.writers));
        let chain = |id: ExprId| chains.get(&id).copied().unwrap_or(0);
        chain(operands[0]) > chain(operands[1]) + QUOTIENT
    }

    /// The scalar that the first operation of a group already computes where the group needs it.
    fn own(&self, group: &Group) -> Option<ArrayId> {
        let Site { insn, expr, exponent } = group.sites[0];
        let InstructionKind::Assignment { assignee, expression } = &self.kernel[insn].kind else { return None };
        let array = assignee.array;
        let is_scalar = self.kernel[array].is_temporary() && self.kernel[array].shape.is_empty();
        let is_whole = match (group.shared, &self.kernel.exprs[expr]) {
            (Shared::Reciprocal, Expr::Op { operands, .. }) => is_one(&self.kernel.exprs, operands[0]),
            _ => exponent == group.shared.exponent(),
        };
        let is_only = *expression == expr && self.writers[array.index()].len() == 1;
        let has_dtype = self.kernel[array].dtype == group.dtype && self.kernel[insn].predicates.is_empty();
        (is_scalar && is_whole && is_only && has_dtype && self.nest.home(insn) == group.home).then_some(array)
    }

    /// The kernel with these groups.
    fn write(&self, linearized: &LinearizedKernel, groups: Vec<Group>) -> LinearizedKernel {
        let mut kernel = self.kernel.clone();
        let mut names = Names::new(&kernel);
        let mut sites: IndexMap<InsnId, FxHashMap<ExprId, Reduced>> = IndexMap::new();
        let mut arrays: Vec<ArrayId> = Vec::new();
        for group in &groups {
            let array = self.own(group).unwrap_or_else(|| {
                let name = names.new_name(match group.shared {
                    Shared::Reciprocal => "reciprocal",
                    Shared::Root => "root",
                });
                add_scalar(&mut kernel, name, group.dtype)
            });
            arrays.push(array);
            let value = kernel.exprs.access(array, []);
            for site in &group.sites {
                let exponent = (site.exponent - group.shared.exponent()) as i64;
                let reduced = Reduced { shared: group.shared, exponent, value };
                sites.entry(site.insn).or_default().insert(site.expr, reduced);
            }
        }
        let mut before: FxHashMap<usize, Vec<Item>> = FxHashMap::default();
        let mut definitions: FxHashMap<InsnId, ExprId> = FxHashMap::default();
        for (group, &array) in groups.iter().zip(&arrays) {
            // What it is computed from may have been reduced, too.
            let of = rewritten(&mut kernel.exprs, &sites[&group.sites[0].insn], group.of);
            let expression = definition(&mut kernel, group, of);
            if array.index() < self.kernel.arrays.len() {
                definitions.insert(group.sites[0].insn, expression);
                continue;
            }
            let mut within: Vec<InameId> = self.nest.loops(group.home).collect();
            within.reverse();
            let id = names.new_name_like(&format!("define_{}", kernel[array].name));
            let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: Box::new([]) }, expression };
            before.entry(group.at).or_default().push(Item::Run(InsnId::new(kernel.instructions.len())));
            kernel.instructions.push(Instruction { id, kind, within, depends_on: Vec::new(), predicates: Vec::new() });
        }
        for (insn, of_insn) in &sites {
            let Kernel { exprs, instructions, .. } = &mut kernel;
            if let InstructionKind::Assignment { expression, .. } = &mut instructions[insn.index()].kind {
                *expression = match definitions.get(insn) {
                    Some(&definition) => definition,
                    None => rewritten(exprs, of_insn, *expression),
                };
            }
        }
        let mut linearization = Vec::with_capacity(linearized.linearization.len() + groups.len());
        for (position, item) in linearized.linearization.iter().enumerate() {
            linearization.extend(before.remove(&position).into_iter().flatten());
            linearization.push(*item);
        }
        in_order_without_dead(kernel, linearization)
    }
}

/// How an operation is computed from a shared value.
#[derive(Clone, Copy, Debug)]
struct Reduced {
    shared: Shared,
    /// The exponent of the operand by which the shared value is multiplied.
    exponent: i64,
    value: ExprId,
}

/// The shared value, of an operand.
fn definition(kernel: &mut Kernel, group: &Group, of: ExprId) -> ExprId {
    match group.shared {
        Shared::Reciprocal => {
            let one = one(&mut kernel.exprs);
            kernel.exprs.op(Op::Div, [one, of])
        }
        Shared::Root => {
            let function = kernel.function("sqrt");
            kernel.exprs.intern(Expr::Call { function, arguments: Box::new([of]) })
        }
    }
}

fn one(exprs: &mut Exprs) -> ExprId {
    exprs.float(Float::new(1.0).expect("one is a float"))
}

fn is_one(exprs: &Exprs, id: ExprId) -> bool {
    matches!(&exprs[id], Expr::Number(number) if number.to_f64() == 1.0)
}

/// An expression with these operations computed from shared values.
fn rewritten(exprs: &mut Exprs, sites: &FxHashMap<ExprId, Reduced>, root: ExprId) -> ExprId {
    let map = exprs.rewrite([root], |exprs, old, new| {
        let (Some(&Reduced { shared, exponent, value }), Expr::Op { operands, .. }) = (sites.get(&old), &new) else {
            return exprs.intern(new);
        };
        match shared {
            Shared::Reciprocal if is_one(exprs, operands[0]) => value,
            Shared::Reciprocal => product(exprs, operands[0], value),
            Shared::Root if exponent >= 0 => multiple(exprs, operands[0], exponent, value),
            // x**-1.5 == 1/(x*sqrt(x)).
            Shared::Root => {
                let divisor = multiple(exprs, operands[0], -exponent - 1, value);
                let one = one(exprs);
                exprs.op(Op::Div, [one, divisor])
            }
        }
    });
    map.get(root)
}

/// A product, that of the first operand's factors if it is one.
fn product(exprs: &mut Exprs, first: ExprId, last: ExprId) -> ExprId {
    let mut factors = match &exprs[first] {
        Expr::Op { op: Op::Mul, operands } => operands.to_vec(),
        _ => vec![first],
    };
    factors.push(last);
    exprs.op(Op::Mul, factors)
}

/// A value times a power of a base.
fn multiple(exprs: &mut Exprs, base: ExprId, exponent: i64, value: ExprId) -> ExprId {
    match exponent {
        0 => value,
        1 => product(exprs, base, value),
        _ => {
            let exponent = exprs.int(exponent);
            let factor = exprs.op(Op::Pow, [base, exponent]);
            product(exprs, factor, value)
        }
    }
}
