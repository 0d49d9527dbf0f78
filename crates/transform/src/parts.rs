//! Parts of a kernel that have nothing to do with each other, and kernels put together again.
//!
//! # Input
//! A kernel in value form; or kernels made of the parts of one kernel.
//! # Output
//! [`parts`]: for each set of instructions that has no value but those of tables in common with the others, the kernel that runs only these; in the order
//! of their first instructions. [`together`]: one kernel that runs all of them, one after the other.
//! # Method
//! Union-find over instructions: each array and each expression that reads one belongs to the first instruction that is met with it. Arguments keep their names. What parts
//! have in common, inames, tables and functions, is shared again; other names that are taken get a number.
//! # Complexity
//! Linear in the DAG.
//! # Not done
//! A kernel with opaque code, or with conditions around instructions, is one part.

use nestegg_ir::types::Types;
use nestegg_ir::{
    Array, ArrayId, Assignee, Domain, DomainId, Expr, ExprId, FunctionId, Iname, InameId, InsnId, Instruction,
    InstructionKind, Item, Kernel, LinearizedKernel,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::dead::{eliminate_dead, without_empty};

/// The parts of a kernel; only itself if it has no others.
#[must_use]
pub fn parts(linearized: &LinearizedKernel) -> Vec<LinearizedKernel> {
    let LinearizedKernel { kernel, linearization } = linearized;
    let is_opaque = |instruction: &Instruction| matches!(instruction.kind, InstructionKind::Opaque { .. });
    let has_conditions = linearization.iter().any(|item| matches!(item, Item::If(_)));
    if has_conditions || kernel.instructions.len() < 2 || kernel.instructions.iter().any(is_opaque) {
        return vec![linearized.clone()];
    }
    let part_of = components(kernel);
    let mut order: Vec<usize> = Vec::new();
    for item in linearization {
        if let Item::Run(insn) = item
            && !order.contains(&part_of[insn.index()])
        {
            order.push(part_of[insn.index()]);
        }
    }
    if order.len() < 2 {
        return vec![linearized.clone()];
    }
    let only = |part: usize| {
        let runs = |item: &&Item| !matches!(item, Item::Run(insn) if part_of[insn.index()] != part);
        let linearization = without_empty(linearization.iter().filter(runs).copied().collect());
        eliminate_dead(LinearizedKernel { kernel: kernel.clone(), linearization })
    };
    order.into_iter().map(only).collect()
}

/// For each instruction a number that it has in common with those of its part.
fn components(kernel: &Kernel) -> Vec<usize> {
    let is_shared = values(kernel);
    let mut parents: Vec<usize> = (0..kernel.instructions.len()).collect();
    let mut owner_of_expr: Vec<Option<usize>> = vec![None; kernel.exprs.len()];
    let mut owner_of_array: Vec<Option<usize>> = vec![None; kernel.arrays.len()];
    for insn in kernel.insn_ids() {
        let own = insn.index();
        // Whether nobody was met with it before.
        let mut join = |owner: &mut Option<usize>| match *owner {
            Some(other) => {
                let (a, b) = (root(&mut parents, own), root(&mut parents, other));
                parents[a.max(b)] = a.min(b);
                false
            }
            None => {
                *owner = Some(own);
                true
            }
        };
        for array in kernel[insn].written_arrays() {
            join(&mut owner_of_array[array.index()]);
        }
        let mut pending: Vec<ExprId> = kernel[insn].expressions().collect();
        while let Some(id) = pending.pop() {
            if !is_shared[id.index()] || !join(&mut owner_of_expr[id.index()]) {
                continue;
            }
            let expr = &kernel.exprs[id];
            if let Expr::Access { array, .. } = expr
                && kernel[*array].table().is_none()
            {
                join(&mut owner_of_array[array.index()]);
            }
            pending.extend(expr.children());
        }
    }
    (0..kernel.instructions.len()).map(|insn| root(&mut parents, insn)).collect()
}

/// For each expression whether those who have it in common belong together: all that read anything but tables, and floats that read nothing.
fn values(kernel: &Kernel) -> Vec<bool> {
    let types = Types::infer(kernel);
    let (mut res, mut reads_tables): (Vec<bool>, Vec<bool>) = (Vec::new(), Vec::new());
    for (id, expr) in kernel.exprs.iter() {
        let is_table = matches!(expr, Expr::Access { array, .. } if kernel[*array].table().is_some());
        let is_argument = matches!(expr, Expr::Access { .. }) && !is_table;
        let children = expr.children();
        reads_tables.push(is_table || children.iter().any(|child| reads_tables[child.index()]));
        let is_number = types.of(id).is_float() && !children.is_empty() && !reads_tables[id.index()];
        res.push(is_argument || is_number || children.iter().any(|child| res[child.index()]));
    }
    res
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// Kernels with the same arguments and parameters, run one after the other; `None` of none.
#[must_use]
pub fn together(kernels: &[&LinearizedKernel]) -> Option<LinearizedKernel> {
    let (first, others) = kernels.split_first()?;
    let mut res = (*first).clone();
    for other in others {
        Joiner::new(&mut res.kernel, &other.kernel).add(&mut res.linearization, other);
    }
    Some(res)
}

/// Where what a kernel has is in the joint one.
struct Joiner<'a> {
    into: &'a mut Kernel,
    /// Names in the joint kernel, and in the one that is added.
    taken: FxHashSet<String>,
    own: FxHashSet<String>,
    inames: Vec<InameId>,
    arrays: Vec<ArrayId>,
    functions: Vec<FunctionId>,
    exprs: FxHashMap<ExprId, ExprId>,
}

impl<'a> Joiner<'a> {
    fn new(into: &'a mut Kernel, from: &Kernel) -> Self {
        let (taken, own) = (names(into), names(from));
        let functions = from.functions.iter().map(|name| into.function(name)).collect();
        Self {
            into,
            taken,
            own,
            inames: vec![InameId::new(0); from.inames.len()],
            arrays: Vec::new(),
            functions,
            exprs: FxHashMap::default(),
        }
    }

    fn add(mut self, linearization: &mut Vec<Item>, from: &LinearizedKernel) {
        let LinearizedKernel { kernel, linearization: items } = from;
        self.add_domains(kernel);
        self.add_arrays(kernel);
        let n_before = self.into.instructions.len();
        for instruction in &kernel.instructions {
            let copy = self.instruction(kernel, instruction, n_before);
            self.into.instructions.push(copy);
        }
        for item in items {
            linearization.push(match item {
                Item::For(iname) => Item::For(self.inames[iname.index()]),
                Item::End(iname) => Item::End(self.inames[iname.index()]),
                Item::If(condition) => Item::If(self.expr(kernel, *condition)),
                Item::EndIf => Item::EndIf,
                Item::Run(insn) => Item::Run(InsnId::new(n_before + insn.index())),
            });
        }
    }

    fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 0;
        while self.taken.contains(&name) || (number > 0 && self.own.contains(&name)) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.taken.insert(name.clone());
        name
    }

    /// Adds domains, those first that enclose others. What both have is one.
    fn add_domains(&mut self, from: &Kernel) {
        let mut is_added = vec![false; from.domains.len()];
        let mut left: Vec<DomainId> = from.domain_ids().collect();
        while !left.is_empty() {
            let is_next =
                |domain: &DomainId| from[*domain].enclosing.iter().all(|&iname| is_added[from[iname].domain.index()]);
            // No domain encloses itself.
            let next = left.iter().position(is_next).unwrap_or(0);
            let domain = left.remove(next);
            self.add_domain(from, domain);
            is_added[domain.index()] = true;
        }
    }

    fn add_domain(&mut self, from: &Kernel, id: DomainId) {
        let domain = &from[id];
        let is_same = |&id: &DomainId| {
            let known = &self.into[id];
            let described = |kernel: &Kernel, inames: &[InameId]| -> Vec<_> {
                inames.iter().map(|&iname| (kernel[iname].name.clone(), kernel[iname].tags.clone())).collect()
            };
            known.text == domain.text
                && known.parameters == domain.parameters
                && known.enclosing.is_empty()
                && domain.enclosing.is_empty()
                && described(self.into, &known.inames) == described(from, &domain.inames)
        };
        if let Some(known) = self.into.domain_ids().find(is_same) {
            for (&own, &there) in domain.inames.iter().zip(&self.into[known].inames) {
                self.inames[own.index()] = there;
            }
            return;
        }
        let new = DomainId::new(self.into.domains.len());
        let mut inames = Vec::new();
        for &iname in &domain.inames {
            let Iname { name, tags, .. } = &from[iname];
            let name = self.fresh(name);
            self.inames[iname.index()] = InameId::new(self.into.inames.len());
            inames.push(self.inames[iname.index()]);
            self.into.inames.push(Iname { name, tags: tags.clone(), domain: new });
        }
        let enclosing: Vec<InameId> = domain.enclosing.iter().map(|iname| self.inames[iname.index()]).collect();
        let text = domain.inames.iter().chain(&domain.enclosing).fold(domain.text.clone(), |text, &iname| {
            renamed(&text, &from[iname].name, &self.into[self.inames[iname.index()]].name)
        });
        let parameters = domain.parameters.clone();
        self.into.domains.push(Domain { text, inames, enclosing, parameters });
    }

    fn add_arrays(&mut self, from: &Kernel) {
        for array in &from.arrays {
            let is_same = |known: &ArrayId| {
                let known = &self.into[*known];
                let sizes = known.shape.iter().zip(&array.shape);
                let has_same_sizes = |known: ExprId, own: ExprId| self.into.exprs[known] == from.exprs[own];
                known.name == array.name
                    && known.dtype == array.dtype
                    && known.kind == array.kind
                    && (known.is_argument()
                        || (known.table().is_some()
                            && known.shape.len() == array.shape.len()
                            && sizes.clone().all(|(&known, &own)| has_same_sizes(known, own))))
            };
            if let Some(known) = self.into.array_ids().find(is_same) {
                self.arrays.push(known);
                continue;
            }
            let shape = array.shape.iter().map(|&size| self.expr(from, size)).collect();
            let name = self.fresh(&array.name);
            self.arrays.push(ArrayId::new(self.into.arrays.len()));
            self.into.arrays.push(Array { name, dtype: array.dtype, shape, kind: array.kind.clone() });
        }
    }

    fn instruction(&mut self, from: &Kernel, instruction: &Instruction, n_before: usize) -> Instruction {
        let mut copy = instruction.clone();
        copy.map_expressions(|id| self.expr(from, id));
        copy.id = self.fresh(&instruction.id);
        copy.within.iter_mut().for_each(|iname| *iname = self.inames[iname.index()]);
        copy.depends_on.iter_mut().for_each(|insn| *insn = InsnId::new(n_before + insn.index()));
        let moved = |assignee: &mut Assignee| assignee.array = self.arrays[assignee.array.index()];
        match &mut copy.kind {
            InstructionKind::Assignment { assignee, .. } => moved(assignee),
            InstructionKind::Call { assignees, function, .. } => {
                assignees.iter_mut().for_each(moved);
                *function = self.functions[function.index()];
            }
            InstructionKind::Opaque { reads, writes, .. } => {
                reads.iter_mut().chain(writes).for_each(|array| *array = self.arrays[array.index()]);
            }
        }
        copy
    }

    fn expr(&mut self, from: &Kernel, root: ExprId) -> ExprId {
        if let Some(&known) = self.exprs.get(&root) {
            return known;
        }
        for old in nestegg_ir::walk::below(&from.exprs, [root]) {
            if self.exprs.contains_key(&old) {
                continue;
            }
            let mut expr = from.exprs[old].clone();
            expr.children_mut().iter_mut().for_each(|child| *child = self.exprs[child]);
            match &mut expr {
                Expr::Iname(iname) => *iname = self.inames[iname.index()],
                Expr::Reduce { inames, .. } => {
                    inames.iter_mut().for_each(|iname| *iname = self.inames[iname.index()]);
                }
                Expr::Access { array, .. } => *array = self.arrays[array.index()],
                Expr::Call { function, .. } => *function = self.functions[function.index()],
                _ => {}
            }
            let new = self.into.exprs.intern(expr);
            self.exprs.insert(old, new);
        }
        self.exprs[&root]
    }
}

/// The names of what a kernel holds.
fn names(kernel: &Kernel) -> FxHashSet<String> {
    let names = kernel.inames.iter().map(|iname| &iname.name).chain(kernel.arrays.iter().map(|array| &array.name));
    let names = names.chain(kernel.parameters.iter().map(|parameter| &parameter.name)).chain(&kernel.functions);
    names.chain(kernel.instructions.iter().map(|instruction| &instruction.id)).cloned().collect()
}

/// A domain's text with another name for an iname.
fn renamed(text: &str, from: &str, to: &str) -> String {
    if from == to {
        return text.to_owned();
    }
    let set = nestegg_isl::Set::parse(&nestegg_isl::Context::new(), text).and_then(|set| set.rename_dim(from, to));
    set.map_or_else(|_| text.to_owned(), |set| set.to_string())
}
