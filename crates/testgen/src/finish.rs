//! From the state of generation to a kernel: domains, order, and only what is used.

use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::{
    ArrayId, Assignee, Domain, DomainId, Expr, ExprId, FunctionId, InameId, InameTag, InsnId, Instruction,
    InstructionKind, Item, Kernel, Linearization, LinearizedKernel, Op, ParameterId, Program, SubstitutionId,
};
use rustc_hash::FxHashMap;

use crate::Generated;
use crate::builder::Builder;
use crate::space::{Shape, Size};

impl Builder<'_> {
    /// The kernel.
    pub(crate) fn finish(mut self) -> Generated {
        self.decorate();
        let mut tree: Vec<LoopTree> = self.scopes.pop().map(|scope| scope.body).unwrap_or_default();
        if !self.is_unordered {
            self.interchange(&mut tree);
        }
        let order = from_tree(&tree);
        let parameters = self
            .kernel
            .parameters
            .iter()
            .zip(&self.parameters)
            .map(|(parameter, info)| (parameter.name.clone(), info.value))
            .collect();
        let mut compaction = Compaction::default();
        compaction.mark(&self.kernel, &order);
        compaction.close_inames(&self);
        compaction.shifts = self.shifts();
        let mut kernel = compaction.rebuild(&self.kernel);
        let mut order: Linearization = order.into_iter().map(|item| compaction.item(item)).collect();
        self.assumptions(&mut kernel);
        self.domains(&compaction, &mut kernel);
        self.dependences(&mut kernel, &mut order);
        let program = if self.is_unordered {
            Program::Unordered(kernel)
        } else {
            Program::Linearized(LinearizedKernel { kernel, linearization: order.clone() })
        };
        Generated { program, parameters, order }
    }

    /// Some loops of perfect nests the other way round: iterations of one of them may run in any order, so the meaning stays.
    fn interchange(&mut self, level: &mut [LoopTree]) {
        for node in level {
            let (LoopTree::Loop { body, .. } | LoopTree::Branch { body, .. }) = node else { continue };
            self.interchange(body);
            let LoopTree::Loop { iname: outer, body } = node else { continue };
            let [LoopTree::Loop { iname: inner, .. }] = body.as_mut_slice() else { continue };
            let is_free = !(self.kernel.is_sequential(*outer) && self.kernel.is_sequential(*inner))
                && self.ranges[inner.index()].outers().all(|bounding| bounding != *outer);
            if is_free && self.chance(25) {
                std::mem::swap(outer, inner);
            }
        }
    }

    /// What has no meaning but must not get lost.
    fn decorate(&mut self) {
        for iname in self.kernel.iname_ids() {
            if self.kernel[iname].tags.is_empty() && self.chance(self.knobs.tag) {
                let tag = self.pick(&[InameTag::Unroll, InameTag::Vec, InameTag::Parallel]);
                self.kernel[iname].tags.push(tag);
            }
        }
        if !self.chance(self.knobs.decoration) {
            return;
        }
        if self.chance(30) {
            self.kernel.meta = Some(r#"{"source":"generated","list":[1,2.5,null,"ü"]}"#.into());
        }
        for idx in 0..self.kernel.parameters.len() {
            if self.chance(20) {
                self.kernel.parameters[idx].estimate = Some(self.parameters[idx].value + 10);
            }
        }
    }

    /// What each iname is less than its value in the state of generation.
    fn shifts(&mut self) -> Vec<i64> {
        let n_inames = self.ranges.len();
        (0..n_inames).map(|_| if self.chance(self.knobs.shifted) { self.pick(&[2, 5, -1]) } else { 0 }).collect()
    }

    fn assumptions(&self, kernel: &mut Kernel) {
        if kernel.parameters.is_empty() {
            return;
        }
        let names: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let bounds: Vec<String> =
            names.iter().zip(&self.parameters).map(|(name, info)| format!("{name} >= {}", info.least)).collect();
        kernel.assumptions = Some(format!("[{}] -> {{ : {} }}", names.join(", "), bounds.join(" and ")));
    }

    /// Domains of the inames that are left. Neighbours may share a domain if each has values whatever the others
    /// are, so that projections are what they would be apart, and if no iname outside bounds one of them.
    fn domains(&mut self, compaction: &Compaction, kernel: &mut Kernel) {
        let mut groups: Vec<Vec<InameId>> = Vec::new();
        for &old in &compaction.inames.list {
            let range = self.ranges[old.index()];
            let may_join = groups.last().is_some_and(|group: &Vec<InameId>| {
                let is_closed = |iname: InameId| {
                    let range = self.ranges[iname.index()];
                    range.least_points(&self.parameters) > 0 && range.outers().all(|outer| group.contains(&outer))
                };
                group.iter().all(|&iname| is_closed(iname))
                    && range.least_points(&self.parameters) > 0
                    && range.outers().all(|outer| group.contains(&outer))
            });
            match groups.last_mut() {
                Some(group) if may_join && self.choices.below(100) >= 100 - u64::from(self.knobs.joint_domains) => {
                    group.push(old);
                }
                _ => groups.push(vec![old]),
            }
        }
        for (idx, group) in groups.iter().enumerate() {
            let names: Vec<&str> = group.iter().map(|&old| self.kernel[old].name.as_str()).collect();
            let (mut enclosing, mut parameters): (Vec<InameId>, Vec<ParameterId>) = (Vec::new(), Vec::new());
            let mut constraints = Vec::new();
            for &old in group {
                let range = self.ranges[old.index()];
                if let Size::Param(parameter, _) = range.size
                    && !parameters.contains(&parameter)
                    && !matches!(range.shape, Shape::Below { .. } | Shape::BelowBoth { .. } | Shape::Between { .. })
                {
                    parameters.push(parameter);
                }
                for outer in range.outers() {
                    if !group.contains(&outer) && !enclosing.contains(&outer) {
                        enclosing.push(outer);
                    }
                }
                let shifted = |iname: InameId| match compaction.shifts[iname.index()] {
                    0 => self.kernel[iname].name.clone(),
                    shift => format!("({} + {shift})", self.kernel[iname].name),
                };
                constraints
                    .push(range.constraint(&shifted(old), shifted, |parameter| self.kernel[parameter].name.clone()));
            }
            let params: Vec<&str> = parameters
                .iter()
                .map(|&parameter| self.kernel[parameter].name.as_str())
                .chain(enclosing.iter().map(|&iname| self.kernel[iname].name.as_str()))
                .collect();
            let prefix = if params.is_empty() { String::new() } else { format!("[{}] -> ", params.join(", ")) };
            let text = format!("{prefix}{{ [{}] : {} }}", names.join(", "), constraints.join(" and "));
            let domain = DomainId::new(idx);
            let inames: Vec<InameId> = group.iter().map(|&old| compaction.inames.renumbered(old)).collect();
            for &iname in &inames {
                kernel[iname].domain = domain;
            }
            let enclosing = enclosing.into_iter().map(|outer| compaction.inames.renumbered(outer)).collect();
            kernel.domains.push(Domain { text, inames, enclosing, parameters });
        }
    }

    /// States the order of the instructions, or leaves it to the list.
    fn dependences(&mut self, kernel: &mut Kernel, order: &mut Linearization) {
        let n = kernel.instructions.len();
        match self.below(4) {
            0 => {}
            1 => {
                for idx in 1..n {
                    if self.chance(50) {
                        let before = self.position(idx);
                        kernel.instructions[idx].depends_on = vec![InsnId::new(before)];
                    }
                }
            }
            kind => {
                for idx in 1..n {
                    kernel.instructions[idx].depends_on = vec![InsnId::new(idx - 1)];
                }
                if kind == 3 {
                    self.shuffle(kernel, order);
                }
            }
        }
    }

    /// Puts the instructions, all of whose order is stated, in another order in the list.
    fn shuffle(&mut self, kernel: &mut Kernel, order: &mut Linearization) {
        let n = kernel.instructions.len();
        let mut place: Vec<usize> = (0..n).collect();
        for idx in (1..n).rev() {
            let other = idx - self.position(idx + 1);
            place.swap(idx, other);
        }
        let moved = |insn: InsnId| InsnId::new(place[insn.index()]);
        let mut shuffled: Vec<(usize, Instruction)> = Vec::new();
        for (idx, mut instruction) in std::mem::take(&mut kernel.instructions).into_iter().enumerate() {
            for before in &mut instruction.depends_on {
                *before = moved(*before);
            }
            shuffled.push((place[idx], instruction));
        }
        shuffled.sort_by_key(|entry| entry.0);
        kernel.instructions = shuffled.into_iter().map(|entry| entry.1).collect();
        for item in order {
            if let Item::Run(insn) = item {
                *insn = moved(*insn);
            }
        }
    }
}

/// Which of some entities stay, in what order, and where each goes.
struct Kept<T> {
    list: Vec<T>,
    place: FxHashMap<T, usize>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { list: Vec::new(), place: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Kept<T> {
    fn of(list: Vec<T>) -> Self {
        let place = list.iter().enumerate().map(|(idx, &old)| (old, idx)).collect();
        Self { list, place }
    }
}

macro_rules! renumber {
    ($($id:ty),+) => {$(
        impl Kept<$id> {
            fn renumbered(&self, old: $id) -> $id {
                <$id>::new(self.place[&old])
            }
        }
    )+};
}

renumber!(InameId, ArrayId, FunctionId, SubstitutionId);

/// What is used of a kernel.
#[derive(Default)]
struct Compaction {
    /// Expressions, operands first.
    exprs: Vec<ExprId>,
    inames: Kept<InameId>,
    arrays: Kept<ArrayId>,
    functions: Kept<FunctionId>,
    rules: Kept<SubstitutionId>,
    map: FxHashMap<ExprId, ExprId>,
    /// By old iname: what its new value is less.
    shifts: Vec<i64>,
}

impl Compaction {
    /// Finds what instructions and order need.
    fn mark(&mut self, kernel: &Kernel, order: &[Item]) {
        let mut pending: Vec<ExprId> = kernel.instructions.iter().flat_map(Instruction::expressions).collect();
        let mut inames: Vec<InameId> = kernel.instructions.iter().flat_map(|insn| insn.within.clone()).collect();
        let mut arrays: Vec<ArrayId> = Vec::new();
        let (mut functions, mut rules) = (Vec::new(), Vec::new());
        for instruction in &kernel.instructions {
            arrays.extend(instruction.written_arrays());
            match &instruction.kind {
                InstructionKind::Opaque { reads, .. } => arrays.extend(reads),
                InstructionKind::Call { function, .. } => functions.push(*function),
                InstructionKind::Assignment { .. } => {}
            }
        }
        for item in order {
            if let Item::If(condition) = item {
                pending.push(*condition);
            }
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let mut n_shaped = 0;
        loop {
            while let Some(id) = pending.pop() {
                if !seen.insert(id) {
                    continue;
                }
                let expr = &kernel.exprs[id];
                pending.extend(expr.children());
                match expr {
                    Expr::Iname(iname) => inames.push(*iname),
                    Expr::Reduce { inames: bound, .. } => inames.extend(bound),
                    Expr::Access { array, .. } => arrays.push(*array),
                    Expr::Call { function, .. } => functions.push(*function),
                    Expr::Substitution { rule, .. } => {
                        rules.push(*rule);
                        pending.push(kernel[*rule].expression);
                    }
                    _ => {}
                }
            }
            pending.extend(arrays[n_shaped..].iter().flat_map(|&array| kernel[array].shape.iter().copied()));
            n_shaped = arrays.len();
            if pending.is_empty() {
                break;
            }
        }
        self.exprs = seen.into_iter().collect();
        self.exprs.sort_unstable();
        self.inames = Kept::of(sorted(inames));
        let (arguments, others): (Vec<ArrayId>, Vec<ArrayId>) =
            sorted(arrays).into_iter().partition(|&array| kernel[array].is_argument());
        self.arrays = Kept::of(arguments.into_iter().chain(others).collect());
        self.functions = Kept::of(sorted(functions));
        self.rules = Kept::of(sorted(rules));
    }

    /// Adds the inames that bound others.
    fn close_inames(&mut self, builder: &Builder<'_>) {
        let mut list = self.inames.list.clone();
        let mut idx = 0;
        while idx < list.len() {
            for outer in builder.ranges[list[idx].index()].outers() {
                if !list.contains(&outer) {
                    list.push(outer);
                }
            }
            idx += 1;
        }
        self.inames = Kept::of(sorted(list));
    }

    fn rebuild(&mut self, old: &Kernel) -> Kernel {
        let mut kernel = Kernel {
            name: old.name.clone(),
            meta: old.meta.clone(),
            parameters: old.parameters.clone(),
            ..Kernel::default()
        };
        kernel.inames = self.inames.list.iter().map(|&iname| old[iname].clone()).collect();
        kernel.functions = self.functions.list.iter().map(|&function| old[function].clone()).collect();
        for idx in 0..self.exprs.len() {
            let id = self.exprs[idx];
            let mut new = kernel.exprs.intern(self.expr(&old.exprs[id]));
            let shift = if let Expr::Iname(iname) = old.exprs[id] { self.shifts[iname.index()] } else { 0 };
            if shift != 0 {
                let literal = kernel.exprs.int(shift.abs());
                new = kernel.exprs.op(if shift > 0 { Op::Add } else { Op::Sub }, [new, literal]);
            }
            self.map.insert(id, new);
        }
        for &id in &self.arrays.list {
            let mut array = old[id].clone();
            array.shape.iter_mut().for_each(|size| *size = self.map[size]);
            kernel.arrays.push(array);
        }
        for &id in &self.rules.list {
            let mut rule = old[id].clone();
            rule.expression = self.map[&rule.expression];
            kernel.substitutions.push(rule);
        }
        kernel.instructions = old.instructions.iter().map(|instruction| self.instruction(instruction)).collect();
        kernel
    }

    fn expr(&self, old: &Expr) -> Expr {
        let mut expr = old.clone();
        for child in expr.children_mut() {
            *child = self.map[child];
        }
        match &mut expr {
            Expr::Iname(iname) => *iname = self.inames.renumbered(*iname),
            Expr::Reduce { inames, .. } => inames.iter_mut().for_each(|iname| *iname = self.inames.renumbered(*iname)),
            Expr::Access { array, .. } => *array = self.arrays.renumbered(*array),
            Expr::Call { function, .. } => *function = self.functions.renumbered(*function),
            Expr::Substitution { rule, .. } => *rule = self.rules.renumbered(*rule),
            _ => {}
        }
        expr
    }

    fn instruction(&self, old: &Instruction) -> Instruction {
        let mut instruction = old.clone();
        instruction.map_expressions(|id| self.map[&id]);
        instruction.within.iter_mut().for_each(|iname| *iname = self.inames.renumbered(*iname));
        let assignees: &mut [Assignee] = match &mut instruction.kind {
            InstructionKind::Assignment { assignee, .. } => std::slice::from_mut(assignee),
            InstructionKind::Call { assignees, function, .. } => {
                *function = self.functions.renumbered(*function);
                assignees
            }
            InstructionKind::Opaque { reads, writes, .. } => {
                reads.iter_mut().chain(writes).for_each(|array| *array = self.arrays.renumbered(*array));
                &mut []
            }
        };
        for assignee in assignees {
            assignee.array = self.arrays.renumbered(assignee.array);
        }
        instruction
    }

    fn item(&self, item: Item) -> Item {
        match item {
            Item::For(iname) => Item::For(self.inames.renumbered(iname)),
            Item::End(iname) => Item::End(self.inames.renumbered(iname)),
            Item::If(condition) => Item::If(self.map[&condition]),
            item => item,
        }
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}
