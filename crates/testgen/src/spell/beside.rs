//! Several kernels in one.

use nestegg_ir::{
    Array, ArrayId, Assignee, Domain, DomainId, Expr, ExprId, FunctionId, Iname, InameId, InsnId, Instruction,
    InstructionKind, Item, Kernel, LinearizedKernel, Op,
};

use super::plain;

/// One kernel that does what both do, first the one, then the other. Names of the second end in `_second`. `None` if one
/// of them has parameters or opaque code.
#[must_use]
pub fn beside(first: &LinearizedKernel, second: &LinearizedKernel) -> Option<LinearizedKernel> {
    let (first, second) = (plain(first)?, plain(second)?);
    let is_plain = |kernel: &Kernel| {
        kernel.parameters.is_empty()
            && kernel.instructions.iter().all(|insn| matches!(insn.kind, InstructionKind::Assignment { .. }))
    };
    if !is_plain(&first.kernel) || !is_plain(&second.kernel) {
        return None;
    }
    let mut res = LinearizedKernel::default();
    res.kernel.name = format!("{}_and_{}", first.kernel.name, second.kernel.name);
    let mut parts = Vec::new();
    for (number, part) in [&first, &second].into_iter().enumerate() {
        parts.push(Part::add_names(&mut res.kernel, &part.kernel, number));
    }
    // Arguments come first.
    for is_argument in [true, false] {
        for (part, source) in parts.iter_mut().zip([&first, &second]) {
            part.add_arrays(&mut res.kernel, &source.kernel, is_argument);
        }
    }
    for (part, source) in parts.iter().zip([&first, &second]) {
        part.add_instructions(&mut res, source);
    }
    Some(res)
}

/// The kernel with neighbouring accumulations into the same elements as one instruction: `A = A + a`, `A = A + b` is `A = A + (a + b)`.
#[must_use]
pub fn in_one_store(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = plain(linearized)?;
    let mut items = res.linearization.clone();
    let mut is_changed = false;
    let mut at = 0;
    while at + 1 < items.len() {
        if let (Item::Run(first), Item::Run(second)) = (items[at], items[at + 1])
            && let Some(expression) = joined(&mut res.kernel, first, second)
        {
            if let InstructionKind::Assignment { expression: old, .. } = &mut res.kernel[first].kind {
                *old = expression;
            }
            items.remove(at + 1);
            is_changed = true;
        } else {
            at += 1;
        }
    }
    res.linearization = items;
    is_changed.then_some(res)
}

fn joined(kernel: &mut Kernel, first: InsnId, second: InsnId) -> Option<ExprId> {
    let added = |kernel: &mut Kernel, insn: InsnId| -> Option<(Assignee, ExprId, ExprId)> {
        let InstructionKind::Assignment { assignee, expression } = kernel[insn].kind.clone() else { return None };
        let old = kernel.exprs.access(assignee.array, assignee.indices.clone());
        let Expr::Op { op: Op::Add, operands } = &kernel.exprs[expression] else { return None };
        let (own, rest): (Vec<ExprId>, Vec<ExprId>) = operands.iter().copied().partition(|&operand| operand == old);
        let reads_back = nestegg_ir::walk::reads(&kernel.exprs, rest.iter().copied(), assignee.array);
        (own.len() == 1 && !rest.is_empty() && !reads_back).then(|| {
            let rest = if rest.len() == 1 { rest[0] } else { kernel.exprs.op(Op::Add, rest) };
            (assignee, old, rest)
        })
    };
    let (to, old, one) = added(kernel, first)?;
    let (also_to, _, other) = added(kernel, second)?;
    let is_same = to == also_to
        && kernel[first].within_set() == kernel[second].within_set()
        && kernel[first].predicates == kernel[second].predicates;
    is_same.then(|| {
        let sum = kernel.exprs.op(Op::Add, [one, other]);
        kernel.exprs.op(Op::Add, [old, sum])
    })
}

/// Where the parts of a kernel are in the joint one.
struct Part {
    suffix: String,
    inames: Vec<InameId>,
    functions: Vec<FunctionId>,
    arrays: Vec<Option<ArrayId>>,
}

impl Part {
    fn add_names(res: &mut Kernel, source: &Kernel, number: usize) -> Self {
        let suffix = if number == 0 { String::new() } else { "_second".to_owned() };
        let (n_inames, n_domains) = (res.inames.len(), res.domains.len());
        let moved = |iname: &InameId| InameId::new(n_inames + iname.index());
        for domain in &source.domains {
            let text = domain.inames.iter().fold(domain.text.clone(), |text, &iname| {
                renamed(&text, &source[iname].name, &format!("{}{suffix}", source[iname].name))
            });
            let text = domain.enclosing.iter().fold(text, |text, &iname| {
                renamed(&text, &source[iname].name, &format!("{}{suffix}", source[iname].name))
            });
            res.domains.push(Domain {
                text,
                inames: domain.inames.iter().map(moved).collect(),
                enclosing: domain.enclosing.iter().map(moved).collect(),
                parameters: Vec::new(),
            });
        }
        for iname in &source.inames {
            let (tags, domain) = (iname.tags.clone(), DomainId::new(n_domains + iname.domain.index()));
            res.inames.push(Iname { name: format!("{}{suffix}", iname.name), tags, domain });
        }
        let inames = source.iname_ids().map(|iname| moved(&iname)).collect();
        let functions = source.functions.iter().map(|name| res.function(name)).collect();
        Self { suffix, inames, functions, arrays: vec![None; source.arrays.len()] }
    }

    fn add_arrays(&mut self, res: &mut Kernel, source: &Kernel, is_argument: bool) {
        for array in source.array_ids().filter(|&array| source[array].is_argument() == is_argument) {
            let old = &source[array];
            let shape = old.shape.iter().map(|&size| self.expr(res, source, size)).collect();
            let name = format!("{}{}", old.name, self.suffix);
            res.arrays.push(Array { name, dtype: old.dtype, shape, kind: old.kind.clone() });
            self.arrays[array.index()] = Some(ArrayId::new(res.arrays.len() - 1));
        }
    }

    fn expr(&self, res: &mut Kernel, source: &Kernel, root: ExprId) -> ExprId {
        let mut map: rustc_hash::FxHashMap<ExprId, ExprId> = rustc_hash::FxHashMap::default();
        for old in source.exprs.reachable([root]) {
            let mut expr = source.exprs[old].clone();
            expr.children_mut().iter_mut().for_each(|child| *child = map[child]);
            match &mut expr {
                Expr::Iname(iname) => *iname = self.inames[iname.index()],
                Expr::Reduce { inames, .. } => {
                    inames.iter_mut().for_each(|iname| *iname = self.inames[iname.index()]);
                }
                Expr::Call { function, .. } => *function = self.functions[function.index()],
                Expr::Access { array, .. } => *array = self.arrays[array.index()].unwrap_or(*array),
                _ => {}
            }
            let new = res.exprs.intern(expr);
            map.insert(old, new);
        }
        map[&root]
    }

    fn add_instructions(&self, res: &mut LinearizedKernel, source: &LinearizedKernel) {
        let n_instructions = res.kernel.instructions.len();
        for instruction in &source.kernel.instructions {
            let mut copy = Instruction { id: format!("{}{}", instruction.id, self.suffix), ..instruction.clone() };
            copy.map_expressions(|id| self.expr(&mut res.kernel, &source.kernel, id));
            copy.within.iter_mut().for_each(|iname| *iname = self.inames[iname.index()]);
            if let InstructionKind::Assignment { assignee, .. } = &mut copy.kind {
                assignee.array = self.arrays[assignee.array.index()].unwrap_or(assignee.array);
            }
            res.kernel.instructions.push(copy);
        }
        for item in &source.linearization {
            let item = match item {
                Item::For(iname) => Item::For(self.inames[iname.index()]),
                Item::End(iname) => Item::End(self.inames[iname.index()]),
                Item::If(condition) => Item::If(self.expr(&mut res.kernel, &source.kernel, *condition)),
                Item::EndIf => Item::EndIf,
                Item::Run(insn) => Item::Run(InsnId::new(n_instructions + insn.index())),
            };
            res.linearization.push(item);
        }
    }
}

/// A domain's text with another name for an iname.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let set = nestegg_isl::Set::parse(&nestegg_isl::Context::new(), text).and_then(|set| set.rename_dim(from, to));
    set.map_or_else(|_| text.to_owned(), |set| set.to_string())
}
