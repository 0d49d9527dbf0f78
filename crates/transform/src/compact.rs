//! Renumbers a kernel after instructions were removed from its linearization.
//!
//! The pass keeps everything that the runs of the linearization use, in its order, and drops the rest, expressions
//! included; arguments and parameters stay. A dependence on a dropped instruction becomes dependences on those that it
//! depended on.

use nestegg_ir::{
    ArrayId, Assignee, DomainId, Expr, ExprId, Exprs, FunctionId, InameId, InsnId, Instruction, InstructionKind, Item,
    Kernel, LinearizedKernel, SubstitutionId,
};

/// Which entities of a kind stay, and their new numbers.
struct Kept {
    new: Vec<Option<usize>>,
}

impl Kept {
    fn new(is_used: &[bool]) -> Self {
        let mut n = 0;
        let number = |&used: &bool| {
            used.then(|| {
                n += 1;
                n - 1
            })
        };
        Self { new: is_used.iter().map(number).collect() }
    }

    fn get(&self, old: usize) -> usize {
        self.new[old].expect("what is used is kept")
    }

    fn filter<T>(&self, all: Vec<T>) -> Vec<T> {
        all.into_iter().zip(&self.new).filter_map(|(entity, new)| new.map(|_| entity)).collect()
    }
}

/// What is used.
struct Uses {
    arrays: Vec<bool>,
    inames: Vec<bool>,
    domains: Vec<bool>,
    functions: Vec<bool>,
    substitutions: Vec<bool>,
    instructions: Vec<bool>,
    exprs: Vec<bool>,
}

/// The kernel with only what its linearization uses.
pub(crate) fn compact(linearized: LinearizedKernel) -> LinearizedKernel {
    let uses = Uses::of(&linearized);
    let LinearizedKernel { kernel, linearization } = linearized;
    let arrays = Kept::new(&uses.arrays);
    let inames = Kept::new(&uses.inames);
    let domains = Kept::new(&uses.domains);
    let functions = Kept::new(&uses.functions);
    let substitutions = Kept::new(&uses.substitutions);
    let instructions = Kept::new(&uses.instructions);
    let depends_on = dependences(&kernel, &uses.instructions);

    let array = |id: ArrayId| ArrayId::new(arrays.get(id.index()));
    let iname = |id: InameId| InameId::new(inames.get(id.index()));
    let mut exprs = Exprs::new();
    let mut new: Vec<Option<ExprId>> = vec![None; kernel.exprs.len()];
    for (id, old) in kernel.exprs.iter().filter(|(id, _)| uses.exprs[id.index()]) {
        let mut expr = old.clone();
        for child in expr.children_mut() {
            *child = new[child.index()].expect("operands come before operations");
        }
        match &mut expr {
            Expr::Access { array: target, .. } => *target = array(*target),
            Expr::Iname(target) => *target = iname(*target),
            Expr::Reduce { inames, .. } => inames.iter_mut().for_each(|target| *target = iname(*target)),
            Expr::Call { function, .. } => *function = FunctionId::new(functions.get(function.index())),
            Expr::Substitution { rule, .. } => *rule = SubstitutionId::new(substitutions.get(rule.index())),
            _ => {}
        }
        new[id.index()] = Some(exprs.intern(expr));
    }
    let expr = |id: ExprId| new[id.index()].expect("what is used is kept");

    let mut res = Kernel {
        name: kernel.name,
        meta: kernel.meta,
        parameters: kernel.parameters,
        assumptions: kernel.assumptions,
        domains: domains.filter(kernel.domains),
        inames: inames.filter(kernel.inames),
        arrays: arrays.filter(kernel.arrays),
        functions: functions.filter(kernel.functions),
        substitutions: substitutions.filter(kernel.substitutions),
        instructions: Vec::new(),
        exprs,
    };
    for domain in &mut res.domains {
        domain.inames.iter_mut().chain(&mut domain.enclosing).for_each(|target| *target = iname(*target));
    }
    for target in &mut res.inames {
        target.domain = DomainId::new(domains.get(target.domain.index()));
    }
    for target in &mut res.arrays {
        target.shape.iter_mut().for_each(|size| *size = expr(*size));
    }
    for rule in &mut res.substitutions {
        rule.expression = expr(rule.expression);
    }
    let rename = |assignee: &mut Assignee| assignee.array = array(assignee.array);
    for (mut instruction, before) in instructions.filter(kernel.instructions.into_iter().zip(depends_on).collect()) {
        instruction.map_expressions(expr);
        match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => rename(assignee),
            InstructionKind::Call { assignees, function, .. } => {
                assignees.iter_mut().for_each(rename);
                *function = FunctionId::new(functions.get(function.index()));
            }
            InstructionKind::Opaque { reads, writes, .. } => {
                reads.iter_mut().chain(writes).for_each(|target| *target = array(*target));
            }
        }
        instruction.within.iter_mut().for_each(|target| *target = iname(*target));
        instruction.depends_on = before.into_iter().map(|insn| InsnId::new(instructions.get(insn.index()))).collect();
        res.instructions.push(instruction);
    }
    let linearization = linearization
        .into_iter()
        .map(|item| match item {
            Item::For(id) => Item::For(iname(id)),
            Item::End(id) => Item::End(iname(id)),
            Item::If(condition) => Item::If(expr(condition)),
            Item::EndIf => Item::EndIf,
            Item::Run(insn) => Item::Run(InsnId::new(instructions.get(insn.index()))),
        })
        .collect();
    LinearizedKernel { kernel: res, linearization }
}

impl Uses {
    fn of(linearized: &LinearizedKernel) -> Self {
        let LinearizedKernel { kernel, linearization } = linearized;
        let mut res = Self {
            arrays: kernel.arrays.iter().map(|array| array.is_argument()).collect(),
            inames: vec![false; kernel.inames.len()],
            domains: vec![false; kernel.domains.len()],
            functions: vec![false; kernel.functions.len()],
            substitutions: vec![false; kernel.substitutions.len()],
            instructions: vec![false; kernel.instructions.len()],
            exprs: vec![false; kernel.exprs.len()],
        };
        let mut roots = Vec::new();
        for item in linearization {
            match item {
                Item::For(iname) => res.inames[iname.index()] = true,
                Item::If(condition) => roots.push(*condition),
                Item::Run(insn) => {
                    res.instructions[insn.index()] = true;
                    res.use_instruction(&kernel[*insn], &mut roots);
                }
                Item::End(_) | Item::EndIf => {}
            }
        }
        // Whether an array is used is known after its reads are; its shape is then used, which reads no array.
        res.use_exprs(kernel, roots);
        let shapes = kernel.array_ids().filter(|array| res.arrays[array.index()]);
        let shapes = shapes.flat_map(|array| kernel[array].shape.iter().copied()).collect();
        res.use_exprs(kernel, shapes);
        res.use_domains(kernel);
        res
    }

    fn use_instruction(&mut self, instruction: &Instruction, roots: &mut Vec<ExprId>) {
        roots.extend(instruction.expressions());
        instruction.within.iter().for_each(|iname| self.inames[iname.index()] = true);
        instruction.written_arrays().iter().for_each(|array| self.arrays[array.index()] = true);
        match &instruction.kind {
            InstructionKind::Opaque { reads, .. } => reads.iter().for_each(|array| self.arrays[array.index()] = true),
            InstructionKind::Call { function, .. } => self.functions[function.index()] = true,
            InstructionKind::Assignment { .. } => {}
        }
    }

    fn use_exprs(&mut self, kernel: &Kernel, roots: Vec<ExprId>) {
        let mut pending = roots;
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut self.exprs[id.index()], true) {
                continue;
            }
            let expr = &kernel.exprs[id];
            pending.extend(expr.children());
            match expr {
                Expr::Access { array, .. } => self.arrays[array.index()] = true,
                Expr::Iname(iname) => self.inames[iname.index()] = true,
                Expr::Reduce { inames, .. } => inames.iter().for_each(|iname| self.inames[iname.index()] = true),
                Expr::Call { function, .. } => self.functions[function.index()] = true,
                Expr::Substitution { rule, .. } => {
                    self.substitutions[rule.index()] = true;
                    pending.push(kernel[*rule].expression);
                }
                _ => {}
            }
        }
    }

    /// The domains of used inames, the inames in them, and those that enclose them.
    fn use_domains(&mut self, kernel: &Kernel) {
        let mut pending: Vec<InameId> = kernel.iname_ids().filter(|iname| self.inames[iname.index()]).collect();
        while let Some(iname) = pending.pop() {
            let domain = kernel[iname].domain;
            if std::mem::replace(&mut self.domains[domain.index()], true) {
                continue;
            }
            for &other in kernel[domain].inames.iter().chain(&kernel[domain].enclosing) {
                self.inames[other.index()] = true;
                pending.push(other);
            }
        }
    }
}

/// For each instruction the kept ones that it depends on, through those that go.
fn dependences(kernel: &Kernel, is_kept: &[bool]) -> Vec<Vec<InsnId>> {
    let mut through: Vec<Option<Vec<InsnId>>> = vec![None; kernel.instructions.len()];
    let mut is_open = vec![false; kernel.instructions.len()];
    for insn in kernel.insn_ids() {
        let mut pending = vec![insn];
        while let Some(&id) = pending.last() {
            if through[id.index()].is_some() {
                pending.pop();
                continue;
            }
            let before = &kernel[id].depends_on;
            let n_pending = pending.len();
            // A cycle is not an order; its members are then passed over.
            let open: Vec<InsnId> = before
                .iter()
                .copied()
                .filter(|&other| !is_kept[other.index()] && through[other.index()].is_none())
                .filter(|other| !std::mem::replace(&mut is_open[other.index()], true))
                .collect();
            pending.extend(open);
            if pending.len() > n_pending {
                continue;
            }
            let mut res: Vec<InsnId> = Vec::new();
            for &other in before {
                if is_kept[other.index()] {
                    res.push(other);
                } else {
                    res.extend(through[other.index()].iter().flatten());
                }
            }
            let mut seen = rustc_hash::FxHashSet::default();
            res.retain(|&other| other != id && seen.insert(other));
            through[id.index()] = Some(res);
            pending.pop();
        }
    }
    through.into_iter().map(Option::unwrap_or_default).collect()
}
