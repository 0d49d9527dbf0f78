//! From values back to instructions: loops that fill an array for each value that is kept, and the stores that read them.

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Domain, DomainId, Dtype, Expr, ExprId, Float, Iname, InameId, InsnId,
    Instruction, InstructionKind, Item, Kernel, Number, Op,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::shift::boxes::{Hull, Interval, parameters, text};
use crate::shift::place::Placement;
use crate::shift::rescale::Multiples;
use crate::shift::scale::{Atom, Scale};
use crate::shift::translate::Root;
use crate::shift::values::{At, Body, Operation, Ref, Term, ValueId, Values, compose, iname_of};

/// The kernel at work.
pub(crate) struct Writer<'a> {
    kernel: Kernel,
    values: &'a Values,
    placement: &'a Placement,
    multiples: &'a Multiples,
    dtype: Dtype,
    names: FxHashSet<String>,
    /// For each value that is kept its array.
    arrays: FxHashMap<ValueId, ArrayId>,
    /// Scalars for factors, and the instructions that set them.
    factors: FxHashMap<Scale, ExprId>,
    first: Vec<Item>,
    /// What was written of values in the instruction at work.
    done: FxHashMap<Ref, ExprId>,
    /// The inames of the instruction at work, where they are not those of the kernel.
    inames: Vec<InameId>,
}

/// The kernel with its values written out.
pub(crate) fn write(
    kernel: Kernel,
    trees: &[LoopTree],
    values: &Values,
    (placement, multiples): (&Placement, &Multiples),
    roots: &[Root],
    names: FxHashSet<String>,
    dtype: Dtype,
) -> (Kernel, Vec<Item>) {
    let mut writer = Writer {
        kernel,
        values,
        placement,
        multiples,
        dtype,
        names,
        arrays: FxHashMap::default(),
        factors: FxHashMap::default(),
        first: Vec::new(),
        done: FxHashMap::default(),
        inames: Vec::new(),
    };
    writer.names.extend(writer.kernel.instructions.iter().map(|instruction| instruction.id.clone()));
    let mut before: Vec<Vec<Item>> = vec![Vec::new(); trees.len()];
    for &value in placement.kept.iter().rev() {
        if let Some(hull) = &placement.hulls[value.index()] {
            let items = writer.fill(value, hull);
            before[placement.positions[value.index()]].extend(items);
        }
    }
    // The reductions of an instruction before it, inner ones first.
    let mut reductions: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for root in roots.iter().rev() {
        writer.done.clear();
        writer.inames.clear();
        let new = writer.term(&root.value);
        let new = writer.with_reductions(new, &reductions);
        match root.reduction.map(|id| (id, writer.kernel.exprs[id].clone())) {
            Some((id, Expr::Reduce { op, inames, .. })) => {
                let reduction = writer.kernel.exprs.intern(Expr::Reduce { op, inames, body: new });
                reductions.insert(id, reduction);
            }
            _ => {
                if let InstructionKind::Assignment { expression, .. } = &mut writer.kernel[root.insn].kind {
                    *expression = new;
                }
                reductions.clear();
            }
        }
    }
    let mut items = std::mem::take(&mut writer.first);
    for (tree, before) in trees.iter().zip(before) {
        items.extend(before);
        items.extend(from_tree(std::slice::from_ref(tree)));
    }
    (writer.kernel, items)
}

impl Writer<'_> {
    fn fresh(&mut self, base: &str) -> String {
        let mut n = 0_usize;
        loop {
            let name = format!("{base}{n}");
            if self.names.insert(name.clone()) {
                return name;
            }
            n += 1;
        }
    }

    /// An expression with others in the place of reductions.
    fn with_reductions(&mut self, root: ExprId, reductions: &FxHashMap<ExprId, ExprId>) -> ExprId {
        if reductions.is_empty() {
            return root;
        }
        let rewritten = self.kernel.exprs.rewrite([root], |exprs, old, expr| match reductions.get(&old) {
            Some(&new) => new,
            None => exprs.intern(expr),
        });
        rewritten.get(root)
    }

    /// The loops that compute a value on a box.
    fn fill(&mut self, value: ValueId, hull: &Hull) -> Vec<Item> {
        let name = self.fresh("s");
        let extents = hull.iter().map(|interval| interval.extent().unwrap_or_default());
        let shape = extents.map(|extent| extent.to_size(&mut self.kernel.exprs)).collect();
        let array = ArrayId::new(self.kernel.arrays.len());
        self.kernel.arrays.push(Array {
            name: name.clone(),
            dtype: self.dtype,
            stored: None,
            shape,
            kind: ArrayKind::Temporary,
        });
        let inames: Vec<InameId> = hull.iter().map(|interval| self.iname(&name, interval)).collect();
        self.done.clear();
        self.inames.clone_from(&inames);
        let own: At = (0..hull.len()).map(|formal| (formal as u32, 0)).collect();
        let expression = self.value(&Ref { value, at: own.clone() });
        let indices = own.iter().zip(hull).map(|(at, interval)| self.index(at, interval)).collect();
        self.arrays.insert(value, array);
        let kind = InstructionKind::Assignment { assignee: Assignee { array, indices }, expression };
        let insn = self.instruction(&format!("set_{name}"), kind, inames.clone());
        let begins = inames.iter().map(|&iname| Item::For(iname));
        let ends = inames.iter().rev().map(|&iname| Item::End(iname));
        begins.chain([Item::Run(insn)]).chain(ends).collect()
    }

    fn iname(&mut self, array: &str, Interval { low, high }: &Interval) -> InameId {
        let name = self.fresh(&format!("{array}_"));
        let iname = InameId::new(self.kernel.inames.len());
        let domain = DomainId::new(self.kernel.domains.len());
        let parameters = parameters([low, high]);
        let names: Vec<&str> = parameters.iter().map(|&parameter| self.kernel[parameter].name.as_str()).collect();
        let given = if names.is_empty() { String::new() } else { format!("[{}] -> ", names.join(", ")) };
        let [low, high] = [low, high].map(|bound| text(&self.kernel, bound));
        let text = format!("{given}{{ [{name}] : {low} <= {name} <= {high} }}");
        self.kernel.inames.push(Iname { name, tags: Vec::new(), domain });
        self.kernel.domains.push(Domain { text, inames: vec![iname], enclosing: Vec::new(), parameters });
        iname
    }

    fn instruction(&mut self, id: &str, kind: InstructionKind, within: Vec<InameId>) -> InsnId {
        let id = if self.names.insert(id.to_owned()) { id.to_owned() } else { self.fresh(&format!("{id}_")) };
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on: Vec::new(), predicates: Vec::new() });
        InsnId::new(self.kernel.instructions.len() - 1)
    }

    /// Where the values begin at a variable of the instruction at work and an offset.
    fn index(&mut self, &(var, offset): &(u32, i64), Interval { low, .. }: &Interval) -> ExprId {
        let moved = Affine::var(Var::Iname(self.iname_at(var))).plus(&Affine::constant(offset), 1);
        moved.and_then(|moved| moved.plus(low, -1)).unwrap_or_default().to_expr(&mut self.kernel.exprs)
    }

    /// The iname of a variable of the instruction at work.
    fn iname_at(&self, var: u32) -> InameId {
        self.inames.get(var as usize).copied().unwrap_or_else(|| iname_of(var))
    }

    /// A multiple of a value that may be kept.
    fn term(&mut self, term: &Term) -> ExprId {
        let mut walk = OperandsFirst::new(term.of.clone());
        while let Some(of) = walk.next_unknown(|of| self.done.contains_key(of)) {
            if let Some(&array) = self.arrays.get(&of.value) {
                let hull = self.placement.hulls[of.value.index()].clone().unwrap_or_default();
                let indices: Vec<ExprId> =
                    of.at.iter().zip(&hull).map(|(at, interval)| self.index(at, interval)).collect();
                let read = self.kernel.exprs.access(array, indices);
                self.done.insert(of, read);
                continue;
            }
            if walk.waits_for(self.children(&of), |child| self.done.contains_key(child)) {
                continue;
            }
            let expr = self.body(&of);
            self.done.insert(of, expr);
        }
        let expr = self.done[&term.of];
        let scale = term.scale.times(&self.multiples[term.of.value.index()]);
        self.scaled(&scale, term.of.value, expr)
    }

    /// A value that is computed here.
    fn value(&mut self, of: &Ref) -> ExprId {
        let children: Vec<Ref> = self.children(of);
        for child in children {
            self.term(&Term { of: child, scale: Scale::one() });
        }
        self.body(of)
    }

    fn children(&self, of: &Ref) -> Vec<Ref> {
        let children = self.values.children(of.value);
        children.into_iter().map(|child| Ref { value: child.value, at: compose(&child.at, &of.at) }).collect()
    }

    fn operand(&mut self, child: &Ref, outer: &At) -> ExprId {
        self.done[&Ref { value: child.value, at: compose(&child.at, outer) }]
    }

    fn multiple(&mut self, term: &Term, outer: &At) -> ExprId {
        let expr = self.operand(&term.of, outer);
        let scale = term.scale.times(&self.multiples[term.of.value.index()]);
        self.scaled(&scale, term.of.value, expr)
    }

    /// The body of a value whose operands are written.
    fn body(&mut self, of: &Ref) -> ExprId {
        match self.values.values[of.value.index()].body.clone() {
            Body::One => self.literal(1.0),
            Body::Exact(expr) => expr,
            Body::Leaf { array, indices, .. } => {
                let indices: Vec<ExprId> = indices
                    .iter()
                    .map(|index| {
                        // In the inames of the instruction at work.
                        let mut res = nestegg_ir::affine::Affine::constant(index.constant);
                        for &(var, coefficient) in &index.terms {
                            let nestegg_ir::affine::Var::Iname(formal) = var else {
                                res.terms.push((var, coefficient));
                                continue;
                            };
                            let (outer, offset) = of.at[formal.index()];
                            let iname = self.iname_at(outer);
                            res.constant += offset * coefficient;
                            res.terms.push((nestegg_ir::affine::Var::Iname(iname), coefficient));
                        }
                        res.terms.sort_unstable();
                        res.to_expr(&mut self.kernel.exprs)
                    })
                    .collect();
                self.kernel.exprs.access(array, indices)
            }
            Body::Sum(terms) => {
                let own = self.multiples[of.value.index()].clone();
                let mut groups: Vec<(Scale, Vec<ExprId>)> = Vec::new();
                for term in &terms {
                    let scale = term.scale.times(&self.multiples[term.of.value.index()]).over(&own);
                    let operand = self.operand(&term.of, &of.at);
                    // A number takes its factor, and is no operand of a sum that is multiplied.
                    let is_number = self.values.values[term.of.value.index()].body == Body::One;
                    let inner = if is_number { scale.clone() } else { scale.sign() };
                    let operand = self.scaled(&inner, term.of.value, operand);
                    let outer = if is_number { Scale::one() } else { scale.clone().abs() };
                    match groups.iter_mut().find(|group| group.0 == outer) {
                        Some(group) => group.1.push(operand),
                        None => groups.push((outer, vec![operand])),
                    }
                }
                let mut operands = Vec::new();
                for (scale, group) in groups {
                    if scale.is_unit() {
                        operands.extend(group);
                    } else {
                        let sum = self.joined(Op::Add, group);
                        operands.push(self.scaled(&scale, of.value, sum));
                    }
                }
                self.joined(Op::Add, operands)
            }
            Body::Product(factors) => {
                let mut scale = self.multiples[of.value.index()].power(-1);
                let (mut above, mut below) = (Vec::new(), Vec::new());
                for (child, exponent) in &factors {
                    scale = scale.times(&self.multiples[child.value.index()].power(*exponent));
                    let base = self.operand(child, &of.at);
                    let power = self.power(base, exponent.abs());
                    if *exponent > 0 { above.push(power) } else { below.push(power) }
                }
                let value = if above.is_empty() {
                    self.factor(&scale.clone().abs())
                } else {
                    let above = self.joined(Op::Mul, above);
                    self.scaled(&scale.clone().abs(), of.value, above)
                };
                let value = if below.is_empty() {
                    value
                } else {
                    let below = self.joined(Op::Mul, below);
                    self.kernel.exprs.op(Op::Div, [value, below])
                };
                if scale.is_negative { self.kernel.exprs.op(Op::Neg, [value]) } else { value }
            }
            Body::Reduce(op, inames, term) => {
                let body = self.multiple(&term, &of.at);
                self.kernel.exprs.intern(Expr::Reduce { op, inames, body })
            }
            Body::Apply(operation, operands) => {
                let operands: Vec<ExprId> = operands.iter().map(|term| self.multiple(term, &of.at)).collect();
                let value = match operation {
                    Operation::Op(op) => self.kernel.exprs.op(op, operands),
                    Operation::Call(function) => {
                        self.kernel.exprs.intern(Expr::Call { function, arguments: operands.into() })
                    }
                };
                let scale = self.multiples[of.value.index()].power(-1);
                self.scaled(&scale, of.value, value)
            }
        }
    }

    fn literal(&mut self, value: f64) -> ExprId {
        let value = Float::new(value).expect("factors are finite");
        self.kernel.exprs.float(value)
    }

    fn joined(&mut self, op: Op, operands: Vec<ExprId>) -> ExprId {
        match operands.as_slice() {
            [single] => *single,
            _ => self.kernel.exprs.op(op, operands),
        }
    }

    fn power(&mut self, base: ExprId, exponent: i32) -> ExprId {
        if exponent == 1 {
            return base;
        }
        let exponent = self.kernel.exprs.intern(Expr::Number(Number::Int(i64::from(exponent))));
        self.kernel.exprs.op(Op::Pow, [base, exponent])
    }

    /// A multiple of a written value.
    fn scaled(&mut self, scale: &Scale, value: ValueId, expr: ExprId) -> ExprId {
        let is_one = self.values.values[value.index()].body == Body::One;
        let magnitude = scale.clone().abs();
        if magnitude.is_unit() {
            return if scale.is_negative { self.kernel.exprs.op(Op::Neg, [expr]) } else { expr };
        }
        let factor = self.factor(&magnitude);
        let res = if is_one { factor } else { self.kernel.exprs.op(Op::Mul, [factor, expr]) };
        if scale.is_negative { self.kernel.exprs.op(Op::Neg, [res]) } else { res }
    }

    /// A factor: a literal, or a scalar that is set before everything else.
    fn factor(&mut self, scale: &Scale) -> ExprId {
        if let (scalars, Some(number)) = scale.split()
            && scalars.is_unit()
        {
            return self.literal(number);
        }
        if let [(Atom::Divisor(scalar) | Atom::Invariant(scalar), 1)] = scale.factors.as_slice() {
            return *scalar;
        }
        if let Some(&known) = self.factors.get(scale) {
            return known;
        }
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for &(atom, exponent) in &scale.factors {
            let power = match atom {
                Atom::Two => {
                    above.push(self.literal(2.0_f64.powi(exponent)));
                    continue;
                }
                Atom::Mantissa(bits) => {
                    let base = self.literal(f64::from_bits(bits));
                    self.power(base, exponent.abs())
                }
                Atom::Divisor(base) | Atom::Invariant(base) => self.power(base, exponent.abs()),
            };
            if exponent > 0 { above.push(power) } else { below.push(power) }
        }
        let above = if above.is_empty() { self.literal(1.0) } else { self.joined(Op::Mul, above) };
        let expression = if below.is_empty() {
            above
        } else {
            let below = self.joined(Op::Mul, below);
            self.kernel.exprs.op(Op::Div, [above, below])
        };
        let name = self.fresh("c");
        let array = ArrayId::new(self.kernel.arrays.len());
        let kind = ArrayKind::Temporary;
        self.kernel.arrays.push(Array { name: name.clone(), dtype: self.dtype, stored: None, shape: Vec::new(), kind });
        let kind = InstructionKind::Assignment { assignee: Assignee { array, indices: Box::new([]) }, expression };
        let insn = self.instruction(&format!("set_{name}"), kind, Vec::new());
        self.first.push(Item::Run(insn));
        let res = self.kernel.exprs.access(array, []);
        self.factors.insert(scale.clone(), res);
        res
    }
}
