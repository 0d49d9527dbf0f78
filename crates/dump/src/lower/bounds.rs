//! Domains whose bounds depend on data: scalar temporaries are parameters of their sets.
//!
//! # Output
//! Such a domain runs from zero to an unstated end, and its constraints on data become guards ([`data_bounds`](nestegg_ir::data_bounds)): every instruction
//! inside gets a predicate, and every reduction a condition in its body. If the lower bound depends on data too, the iname counts from there: `j` becomes
//! `lo + j` in all expressions.
//! # Method
//! isl's constraints, in two steps: [`Lowering::data_domain`] as the domains are read, [`Lowering::guard_data_domains`] once there are instructions.
//! # Not done
//! Unions, divisions, several inames in one domain, a domain around which another lies that starts at data, and reductions other than sums and products.

use nestegg_ir::data_bounds::{all_of, conjunction};
use nestegg_ir::{
    ArrayId, Dtype, Expr, ExprId, Exprs, InameId, InsnId, InstructionKind, Item, Linearization, Op, Parameter,
    ParameterId, ReduceOp,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use super::domains::{ReadDomain, find_word};
use super::{Entity, Lowering};
use crate::error::ReadError;
use crate::syntax::{ArrayKindSyntax, InstructionKindSyntax, NodeKind};

/// What costs assume of the length of a loop that data end.
const OPEN_ESTIMATE: i64 = 1_000;

/// A domain whose bounds depend on data.
pub(super) struct DataDomain {
    idx: usize,
    iname: InameId,
    /// Temporaries that bound it.
    temporaries: Vec<ArrayId>,
    /// What assigns them.
    assigners: Vec<InsnId>,
    /// The greatest of these is where the iname starts; it starts as its domain says if there is none.
    starts: Vec<isl::Affine>,
    /// What is not negative inside; the iname counts from its start there.
    guards: Vec<isl::Affine>,
}

impl<'k, 's> Lowering<'k, 's> {
    /// Whether an array of that name is a temporary.
    pub(super) fn is_temporary(&self, name: &str) -> bool {
        let is_such = |kind: &ArrayKindSyntax| matches!(kind, ArrayKindSyntax::Temporary | ArrayKindSyntax::Table(_));
        self.syntax.arrays.iter().any(|array| array.name.text == name && is_such(&array.kind))
    }

    /// Takes the constraints on data out of a domain.
    pub(super) fn data_domain(&mut self, idx: usize, read: &ReadDomain, data: Vec<String>) {
        let text = &self.syntax.domains[idx];
        let (mut temporaries, mut assigners) = (Vec::new(), Vec::new());
        for name in &data {
            let Some((array, insn)) = self.bounding(idx, name, &read.dims) else { return };
            temporaries.push(array);
            assigners.push(insn);
        }
        let at = text.span;
        let refuse = |this: &mut Self, reason: &str, help: &'static str| {
            let iname = read.dims.join(", ");
            this.errors.push(ReadError::DataDomain { iname, reason: reason.to_owned(), at, help });
        };
        let [name] = read.dims.as_slice() else {
            return refuse(
                self,
                "its domain has another iname",
                "give each iname whose bounds depend on data a domain of its own",
            );
        };
        let Some(&(Entity::Iname(iname), _)) = self.names.get(name.as_str()) else { return };
        let Some(pieces) = self.report_isl(read.set.constraints(), "the domain", text) else { return };
        let [constraints] = pieces.as_slice() else {
            return refuse(self, "its domain is a union, or empty", "say `or` by conditions of instructions");
        };
        let mut sides: Vec<isl::Affine> = Vec::new();
        for constraint in constraints {
            sides.push(constraint.affine.clone());
            if constraint.relation == isl::Relation::Equality {
                sides.extend(self.report_isl(constraint.affine.scale(-1), "the domain", text));
            }
        }
        let is_data = |affine: &isl::Affine| affine.names().into_iter().any(|name| data.iter().any(|it| it == name));
        if sides.iter().any(|side| is_data(side) && !side.floors.is_empty()) {
            return refuse(self, "a quotient is among them", "assign the quotient to a temporary");
        }
        let starts: Vec<isl::Affine> = match sides.iter().any(|side| is_data(side) && side.coefficient(name) == 1) {
            false => Vec::new(),
            true => sides.iter().filter(|side| side.coefficient(name) == 1).cloned().collect(),
        };
        let (starts, mut sides): (Vec<_>, Vec<_>) = sides.into_iter().partition(|side| starts.contains(side));
        let is_multiple = |side: &isl::Affine| !(-1..=1).contains(&side.coefficient(name));
        let is_wrong = |side: &isl::Affine| is_multiple(side) && (is_data(side) || !starts.is_empty());
        if sides.iter().any(is_wrong) || (!starts.is_empty() && sides.iter().any(|side| !side.floors.is_empty())) {
            return refuse(self, "they bound a multiple of it", "assign the quotient to a temporary");
        }
        if !sides.iter().any(|side| side.coefficient(name) == -1) {
            return refuse(self, "none of them is an upper one", "say `j < end` with a temporary `end`");
        }
        // What is kept of the domain, and what guards say.
        let kept: Vec<isl::Affine> = match starts.is_empty() {
            true => sides.iter().filter(|side| !is_data(side)).cloned().collect(),
            false => vec![isl::Affine::var(name)],
        };
        sides.retain(|side| !starts.is_empty() || is_data(side));
        let guards = || -> isl::Result<Vec<isl::Affine>> {
            let starts = starts.iter().map(|start| isl::Affine::var(name).sub(start));
            let starts = starts.collect::<isl::Result<Vec<_>>>()?;
            let mut res = Vec::new();
            for side in &sides {
                if side.coefficient(name) == 0 || starts.is_empty() {
                    res.push(side.clone());
                    continue;
                }
                // `j` counts from the greatest start, so `end - j` is not negative where it is not for each of them.
                for start in &starts {
                    res.push(side.sub(start)?);
                }
            }
            Ok(res)
        };
        let Some(guards) = self.report_isl(guards(), "the domain", text) else { return };
        let starts = starts.iter().map(|start| isl::Affine::var(name).sub(start)).collect::<isl::Result<Vec<_>>>();
        let Some(starts) = self.report_isl(starts, "the domain", text) else { return };
        let end = self.new_name(&format!("end_of_{name}"));
        let params: Vec<&str> = read.params.iter().filter(|name| !data.contains(name)).map(String::as_str).collect();
        let params: Vec<&str> = params.into_iter().chain([end.as_str()]).collect();
        let kept = kept.into_iter().map(isl::Constraint::inequality);
        let below_end = isl::Affine::new(-1, [(end.clone(), 1), (name.clone(), -1)]).map(isl::Constraint::inequality);
        let Some(below_end) = self.report_isl(below_end, "the domain", text) else { return };
        let kept: Vec<isl::Constraint> = kept.chain([below_end]).collect();
        let set = isl::Set::from_constraints(&isl::Context::new(), &params, &[name.as_str()], &kept);
        let Some(set) = self.report_isl(set, "the domain", text) else { return };
        let parameter = ParameterId::new(self.kernel.parameters.len());
        self.kernel.parameters.push(Parameter {
            name: end,
            dtype: Dtype::Int64,
            estimate: Some(OPEN_ESTIMATE),
            is_stated: false,
        });
        self.spans.parameters.push(at);
        let domain = &mut self.kernel.domains[idx];
        domain.text = set.to_string();
        domain.parameters.push(parameter);
        self.data_domains.push(DataDomain { idx, iname, temporaries, assigners, starts, guards });
    }

    /// The array of a temporary that bounds a domain, and the instruction that assigns it; `None` if something was reported.
    fn bounding(&mut self, idx: usize, name: &str, dims: &[String]) -> Option<(ArrayId, InsnId)> {
        let syntax = self.syntax;
        let text = &syntax.domains[idx];
        let in_domain = find_word(text, name).map_or(text.span, |(_, at)| at);
        let (position, array) = syntax.arrays.iter().enumerate().find(|(_, array)| array.name.text == name)?;
        let mut refuse = |reason: String, at, label, help| {
            let iname = dims.join(", ");
            self.errors.push(ReadError::DataBound { name: name.to_owned(), iname, reason, at, label, help });
            None
        };
        const SCALAR: &str = "assign the bound to an integer temporary without axes, once, outside of the loop";
        if !array.shape.as_ref()?.is_empty() {
            return refuse("it has axes".to_owned(), array.name.span, "an array", SCALAR);
        }
        if array.dtype.is_some_and(|dtype| !dtype.is_integer()) {
            let dtype = array.dtype.map_or("float64", Dtype::name);
            return refuse(format!("it is {dtype}"), array.name.span, "not an integer", SCALAR);
        }
        let is_it = |node: crate::syntax::NodeId| match &syntax.nodes[node].kind {
            NodeKind::Name(text) => *text == name,
            _ => false,
        };
        let mut writers = syntax.instructions.iter().enumerate().filter(|(_, insn)| match &insn.kind {
            InstructionKindSyntax::Assignment { assignee, .. } => is_it(*assignee),
            InstructionKindSyntax::Call { assignees, .. } => assignees.iter().any(|&assignee| is_it(assignee)),
            InstructionKindSyntax::Opaque { writes, .. } => writes.iter().any(|written| written.text == name),
            InstructionKindSyntax::Error => false,
        });
        let Some((insn, writer)) = writers.next() else {
            if syntax.has_lost_ids {
                return None;
            }
            return refuse("nothing assigns it".to_owned(), in_domain, "used as a bound here", SCALAR);
        };
        if let Some((_, second)) = writers.next() {
            return refuse("it is assigned twice".to_owned(), second.id.span, "the second assignment", SCALAR);
        }
        if !matches!(writer.kind, InstructionKindSyntax::Assignment { .. }) {
            return refuse("no plain assignment writes it".to_owned(), writer.id.span, "written here", SCALAR);
        }
        if let Some(inside) = writer.within.iter().find(|iname| dims.iter().any(|dim| *dim == iname.text)) {
            let reason = format!("it is assigned inside the loop over `{}`", inside.text);
            return refuse(reason, writer.id.span, "assigned inside", SCALAR);
        }
        Some((ArrayId::new(position), InsnId::new(insn)))
    }

    /// A name that nothing has.
    fn new_name(&self, wanted: &str) -> String {
        let syntax = self.syntax;
        let is_taken = |name: &str| {
            self.names.contains_key(name)
                || self.kernel.parameters.iter().any(|parameter| parameter.name == name)
                || syntax.arrays.iter().any(|array| array.name.text == name)
                || syntax.substitutions.iter().any(|rule| rule.name.text == name)
        };
        let names = std::iter::once(wanted.to_owned()).chain((0..).map(|idx| format!("{wanted}_{idx}")));
        names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// Reports domains whose bounds depend on an iname that counts from data.
    pub(super) fn check_data_enclosing(&mut self) {
        for data in &self.data_domains {
            let inside = |domain: &nestegg_ir::Domain| domain.enclosing.contains(&data.iname);
            let Some(inner) = self.kernel.domains.iter().position(inside).filter(|_| !data.starts.is_empty()) else {
                continue;
            };
            let iname = self.kernel[data.iname].name.clone();
            let reason = "it starts at data and bounds another domain".to_owned();
            let at = self.syntax.domains[inner].span;
            let help = "let it start at 0, and add the start where it is an index";
            self.errors.push(ReadError::DataDomain { iname, reason, at, help });
        }
    }

    /// Puts all that runs for a domain whose bounds depend on data under guards that say these bounds.
    pub(super) fn guard_data_domains(&mut self, linearization: Option<&mut Linearization>) {
        if self.data_domains.is_empty() || !self.errors.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.data_domains);
        // Outer ones first: they guard what bounds the inner ones.
        let kernel = &self.kernel;
        let depth = |data: &DataDomain| data.assigners.iter().map(|&insn| kernel[insn].within.len()).max();
        all.sort_by_key(depth);
        if !self.check_data_users(&all) {
            return;
        }
        let names: FxHashMap<String, ExprId> = self.name_exprs(&all);
        let exprs = &mut self.kernel.exprs;
        let mut starts: FxHashMap<InameId, ExprId> = FxHashMap::default();
        let mut guards: Vec<(InameId, Vec<ExprId>)> = Vec::new();
        for data in &all {
            let each: Vec<ExprId> = data.starts.iter().map(|start| affine(exprs, &names, start)).collect();
            match each.as_slice() {
                [] => {}
                [start] => drop(starts.insert(data.iname, *start)),
                [first, others @ ..] => {
                    // loopy has no maximum of integers.
                    let greater = others.iter().fold(*first, |known, &other| {
                        let is_greater = exprs.op(Op::Gt, [known, other]);
                        exprs.op(Op::If, [is_greater, known, other])
                    });
                    starts.insert(data.iname, greater);
                }
            }
            guards.push((data.iname, data.guards.iter().map(|guard| not_negative(exprs, &names, guard)).collect()));
        }
        let guards_of = |iname: InameId| guards.iter().filter(move |known| known.0 == iname).flat_map(|known| &known.1);
        let mut roots: Vec<ExprId> = self.kernel.substitutions.iter().map(|rule| rule.expression).collect();
        roots.extend(self.kernel.instructions.iter().flat_map(nestegg_ir::Instruction::expressions));
        roots.extend(linearization.iter().flat_map(|items| items.iter()).filter_map(|item| match item {
            Item::If(condition) => Some(*condition),
            _ => None,
        }));
        let rewritten = self.kernel.exprs.rewrite(roots, |exprs, _, expr| match expr {
            Expr::Iname(iname) => {
                let own = exprs.intern(Expr::Iname(iname));
                starts.get(&iname).map_or(own, |&start| exprs.op(Op::Add, [start, own]))
            }
            Expr::Reduce { op, inames, body } => {
                let conditions: Vec<ExprId> =
                    guards.iter().filter(|known| inames.contains(&known.0)).flat_map(|known| known.1.clone()).collect();
                let neutral = exprs.int(i64::from(op == ReduceOp::Product));
                let body = match all_of(exprs, conditions) {
                    Some(condition) => exprs.op(Op::If, [condition, body, neutral]),
                    None => body,
                };
                exprs.intern(Expr::Reduce { op, inames, body })
            }
            expr => exprs.intern(expr),
        });
        self.spans.rewrite(|id| rewritten.get(id));
        for rule in &mut self.kernel.substitutions {
            rule.expression = rewritten.get(rule.expression);
        }
        let users: Vec<Vec<InsnId>> = self.kernel.insn_ids().map(|insn| self.needed(insn, &all)).collect();
        for (instruction, needed) in self.kernel.instructions.iter_mut().zip(users) {
            instruction.map_expressions(|id| rewritten.get(id));
            let of_loops = all.iter().filter(|data| instruction.within.contains(&data.iname));
            let mut predicates: Vec<ExprId> = of_loops.flat_map(|data| guards_of(data.iname)).copied().collect();
            let own = instruction.predicates.drain(..).filter(|own| !predicates.contains(own)).collect::<Vec<_>>();
            predicates.extend(own);
            instruction.predicates = predicates;
            for insn in needed {
                if !instruction.depends_on.contains(&insn) {
                    instruction.depends_on.push(insn);
                }
            }
        }
        let Some(items) = linearization else { return };
        let mut open: Vec<InameId> = Vec::new();
        for item in items {
            match item {
                Item::For(iname) => open.push(*iname),
                Item::End(_) => drop(open.pop()),
                Item::If(condition) => {
                    let of_loops = all.iter().filter(|data| open.contains(&data.iname));
                    let mut conditions: Vec<ExprId> =
                        of_loops.flat_map(|data| guards_of(data.iname)).copied().collect();
                    let own = conjunction(&self.kernel.exprs, rewritten.get(*condition));
                    let is_new = own.iter().any(|own| !conditions.contains(own));
                    if conditions.is_empty() || !is_new {
                        *condition = rewritten.get(*condition);
                        continue;
                    }
                    conditions.push(rewritten.get(*condition));
                    *condition = self.kernel.exprs.op(Op::And, conditions);
                }
                Item::EndIf | Item::Run(_) => {}
            }
        }
    }

    /// Reports what cannot run for an iname whose bounds depend on data; says whether nothing was.
    fn check_data_users(&mut self, all: &[DataDomain]) -> bool {
        let n_errors = self.errors.len();
        for data in all {
            let iname = self.kernel[data.iname].name.clone();
            let at = self.syntax.domains[data.idx].span;
            for insn in self.kernel.insn_ids() {
                let instruction = &self.kernel[insn];
                let is_opaque = matches!(instruction.kind, InstructionKind::Opaque { .. });
                if is_opaque && !data.starts.is_empty() && instruction.within.contains(&data.iname) {
                    let reason = "text of C inside it may name it".to_owned();
                    let (at, iname) = (self.spans.instruction(insn), iname.clone());
                    let help = "let it start at 0, and add the start in the text";
                    self.errors.push(ReadError::DataDomain { iname, reason, at, help });
                }
            }
            let is_extremum = |expr: &Expr| match expr {
                Expr::Reduce { op: ReduceOp::Min | ReduceOp::Max, inames, .. } => inames.contains(&data.iname),
                _ => false,
            };
            let extremum = self.kernel.exprs.iter().find(|(_, expr)| is_extremum(expr)).map(|(id, _)| id);
            if let Some(id) = extremum {
                let reason = "an extremum of no values has no number".to_owned();
                let at = self.spans.first(id).unwrap_or(at);
                let help = "write the loop, and say with what it begins";
                self.errors.push(ReadError::DataDomain { iname, reason, at, help });
            }
        }
        self.errors.len() == n_errors
    }

    /// What each name in constraints is.
    fn name_exprs(&mut self, all: &[DataDomain]) -> FxHashMap<String, ExprId> {
        let mut res = FxHashMap::default();
        for data in all {
            for &array in &data.temporaries {
                let name = self.kernel[array].name.clone();
                res.insert(name, self.kernel.exprs.access(array, []));
            }
            let domain = &self.kernel.domains[data.idx];
            let inames: Vec<InameId> = domain.enclosing.iter().copied().chain([data.iname]).collect();
            for iname in inames {
                res.insert(self.kernel[iname].name.clone(), self.kernel.exprs.iname(iname));
            }
            for parameter in self.kernel.domains[data.idx].parameters.clone() {
                let expr = self.kernel.exprs.intern(Expr::Parameter(parameter));
                res.insert(self.kernel[parameter].name.clone(), expr);
            }
        }
        res
    }

    /// The instructions that assign the bounds which an instruction needs.
    fn needed(&self, insn: InsnId, all: &[DataDomain]) -> Vec<InsnId> {
        let instruction = &self.kernel[insn];
        let (mut roots, mut rules) = (instruction.expressions().collect::<Vec<_>>(), Vec::new());
        let below = loop {
            let below = nestegg_ir::walk::below(&self.kernel.exprs, roots.iter().copied());
            let used = below.iter().filter_map(|&id| match &self.kernel.exprs[id] {
                Expr::Substitution { rule, .. } if !rules.contains(rule) => Some(*rule),
                _ => None,
            });
            let Some(rule) = used.min() else { break below };
            roots.push(self.kernel[rule].expression);
            rules.push(rule);
        };
        let reduces = |iname: InameId| {
            below.iter().any(|&id| match &self.kernel.exprs[id] {
                Expr::Reduce { inames, .. } => inames.contains(&iname),
                _ => false,
            })
        };
        let of = all.iter().filter(|data| instruction.within.contains(&data.iname) || reduces(data.iname));
        of.flat_map(|data| data.assigners.iter().copied()).filter(|&other| other != insn).collect()
    }
}

/// An affine form as an expression.
fn affine(exprs: &mut Exprs, names: &FxHashMap<String, ExprId>, form: &isl::Affine) -> ExprId {
    let mut sum = nestegg_ir::data_bounds::Sum { constant: form.constant, ..Default::default() };
    for (name, coefficient) in &form.terms {
        sum.terms.insert(names[name], *coefficient);
    }
    sum.write(exprs)
}

/// That a form is not negative, as a comparison with positive terms on both sides.
fn not_negative(exprs: &mut Exprs, names: &FxHashMap<String, ExprId>, form: &isl::Affine) -> ExprId {
    let of_sign = |sign: i64| {
        let terms = form.terms.iter().filter(move |term| term.1.signum() == sign);
        let terms = terms.map(|(name, coefficient)| (name.clone(), coefficient.saturating_abs()));
        isl::Affine { constant: 0, terms: terms.collect(), floors: Vec::new() }
    };
    let (mut more, mut less) = (of_sign(1), of_sign(-1));
    // `less < more + constant + 1`.
    let constant = form.constant.saturating_add(1);
    if constant < 0 {
        less.constant = constant.saturating_neg()
    } else {
        more.constant = constant
    }
    let (less, more) = (affine(exprs, names, &less), affine(exprs, names, &more));
    exprs.op(Op::Lt, [less, more])
}
