//! Several kernels as one.
//!
//! # Input
//! Kernels with the same parameters. Arguments that have the same name and type are the same.
//! # Output
//! One kernel that runs all of them, one after the other. What they have in common, inames over the same values, tables and functions, is shared; other names that
//! are taken get a number.
//! # Complexity
//! Linear in the kernels, times the domains, arrays and instructions of which each is compared with.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::names_of;
use crate::{
    Array, ArrayId, Assignee, Domain, DomainId, Expr, ExprId, FunctionId, Iname, InameId, InsnId, Instruction,
    InstructionKind, Item, Kernel, LinearizedKernel,
};

/// Kernels run one after the other; `None` of none.
#[must_use]
pub fn in_sequence(kernels: &[&LinearizedKernel]) -> Option<LinearizedKernel> {
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
        let (taken, own) = (names_of(into), names_of(from));
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
                    && (known.dtype, known.stored) == (array.dtype, array.stored)
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
            self.into.arrays.push(Array { name, shape, ..array.clone() });
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
        for old in crate::walk::below(&from.exprs, [root]) {
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

/// A domain's text with another name for an iname.
fn renamed(text: &str, from: &str, to: &str) -> String {
    if from == to {
        return text.to_owned();
    }
    let set = nestegg_isl::Set::parse(&nestegg_isl::Context::new(), text).and_then(|set| set.rename_dim(from, to));
    set.map_or_else(|_| text.to_owned(), |set| set.to_string())
}
