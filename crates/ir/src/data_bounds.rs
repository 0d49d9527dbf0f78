//! Loops whose ends depend on data.
//!
//! # Notation
//! An iname is *open* if its domain has a [parameter that the kernel does not state](crate::Parameter::is_stated): `0 <= j < end_of_j`. Data
//! decide where it ends: comparisons such as `j < hi - lo`, its *ends*, guard all that runs for it. In an instruction they are predicates, in a
//! reduction the condition of a selection whose other branch is neutral. So passes need not know about data: the domain is as long as it may be, and
//! whatever they do is right because the guards are.
//! # Output
//! [`unguarded`] finds the ends that guard everything inside a loop and strips them, so that the loop itself can take them as its bounds.
//! # Complexity
//! Linear in the expressions, for each open iname.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Exprs, Op};
use crate::ids::{DomainId, ExprId, InameId, InameSet, ParameterId};
use crate::kernel::{Kernel, LinearizedKernel, Program};
use crate::linearization::{Item, Linearization};
use crate::number::Number;
use crate::types::Types;
use crate::walk::below;

/// A linear combination of integer expressions, with integer coefficients and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// What is added.
    pub constant: i64,
    /// Each expression, none of them a sum itself, with its nonzero coefficient.
    pub terms: BTreeMap<ExprId, i64>,
}

impl Sum {
    /// The sum that an integer expression is.
    #[must_use]
    pub fn of(exprs: &Exprs, root: ExprId) -> Option<Self> {
        let mut known: FxHashMap<ExprId, Option<Self>> = FxHashMap::default();
        for id in below(exprs, [root]) {
            let of = |id: &ExprId| known[id].clone();
            let leaf = || Some(Self { constant: 0, terms: BTreeMap::from([(id, 1)]) });
            let sum = match &exprs[id] {
                Expr::Number(Number::Int(constant)) => Some(Self { constant: *constant, terms: BTreeMap::new() }),
                Expr::Number(Number::Float(_)) => None,
                Expr::Op { op: Op::Add, operands } => {
                    operands.iter().try_fold(Self::default(), |sum, operand| sum.plus(&of(operand)?, 1))
                }
                Expr::Op { op: Op::Sub, operands } => {
                    of(&operands[0]).zip(of(&operands[1])).and_then(|(a, b)| a.plus(&b, -1))
                }
                Expr::Op { op: Op::Neg, operands } => of(&operands[0]).and_then(|a| Self::default().plus(&a, -1)),
                Expr::Op { op: Op::Mul, operands } => match operands.iter().map(of).collect::<Option<Vec<Self>>>() {
                    Some(factors) => product(&factors).or_else(leaf),
                    None => None,
                },
                _ => leaf(),
            };
            known.insert(id, sum);
        }
        known.remove(&root).flatten()
    }

    /// `self + factor·other`; `None` on overflow.
    #[must_use]
    pub fn plus(mut self, other: &Self, factor: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (&leaf, coefficient) in &other.terms {
            let known = self.terms.entry(leaf).or_default();
            *known = known.checked_add(coefficient.checked_mul(factor)?)?;
        }
        self.terms.retain(|_, coefficient| *coefficient != 0);
        Some(self)
    }

    /// The expression.
    pub fn write(&self, exprs: &mut Exprs) -> ExprId {
        let (mut positive, mut negative) = (Vec::new(), Vec::new());
        for (&leaf, &coefficient) in &self.terms {
            let size = coefficient.saturating_abs();
            let term = if size == 1 {
                leaf
            } else {
                let size = exprs.int(size);
                exprs.op(Op::Mul, [size, leaf])
            };
            if coefficient > 0 { positive.push(term) } else { negative.push(term) }
        }
        if self.constant > 0 || (self.constant == 0 && positive.is_empty()) {
            positive.push(exprs.int(self.constant));
        } else if self.constant < 0 {
            negative.push(exprs.int(self.constant.saturating_neg()));
        }
        if positive.is_empty() {
            positive.push(exprs.int(0));
        }
        let mut add = |terms: Vec<ExprId>| if terms.len() == 1 { terms[0] } else { exprs.op(Op::Add, terms) };
        let positive = add(positive);
        negative.into_iter().fold(positive, |sum, term| exprs.op(Op::Sub, [sum, term]))
    }
}

fn product(factors: &[Sum]) -> Option<Sum> {
    let mut constant = 1_i64;
    let mut other = None;
    for factor in factors {
        match factor.terms.is_empty() {
            true => constant = constant.checked_mul(factor.constant)?,
            false if other.is_none() => other = Some(factor),
            false => return None,
        }
    }
    match other {
        Some(sum) => Sum::default().plus(sum, constant),
        None => Some(Sum { constant, terms: BTreeMap::new() }),
    }
}

/// The parameter that is the end of a domain, if it has one that the kernel does not state.
#[must_use]
pub fn end_of(kernel: &Kernel, domain: DomainId) -> Option<ParameterId> {
    kernel[domain].parameters.iter().copied().find(|&parameter| !kernel[parameter].is_stated)
}

/// Whether an iname is open.
#[must_use]
pub fn is_open(kernel: &Kernel, iname: InameId) -> bool {
    end_of(kernel, kernel[iname].domain).is_some()
}

/// The open inames of a kernel.
#[must_use]
pub fn open_inames(kernel: &Kernel) -> InameSet {
    kernel.iname_ids().filter(|&iname| is_open(kernel, iname)).collect()
}

/// Whether a kernel has loops that data end.
#[must_use]
pub fn has_open_inames(kernel: &Kernel) -> bool {
    kernel.domain_ids().any(|domain| end_of(kernel, domain).is_some())
}

/// The conditions that all hold where one does, in order.
#[must_use]
pub fn conjunction(exprs: &Exprs, condition: ExprId) -> Vec<ExprId> {
    let mut res = Vec::new();
    let mut pending = vec![condition];
    while let Some(id) = pending.pop() {
        match &exprs[id] {
            Expr::Op { op: Op::And, operands } => pending.extend(operands.iter().rev()),
            _ => res.push(id),
        }
    }
    res
}

/// If a condition says that an iname is less than something: what that is.
#[must_use]
pub fn end(exprs: &Exprs, condition: ExprId, iname: InameId) -> Option<Sum> {
    let Expr::Op { op, operands } = &exprs[condition] else { return None };
    let (less, more, gap) = match op {
        Op::Lt => (operands[0], operands[1], 0),
        Op::Le => (operands[0], operands[1], 1),
        Op::Gt => (operands[1], operands[0], 0),
        Op::Ge => (operands[1], operands[0], 1),
        _ => return None,
    };
    let own = exprs.find(&Expr::Iname(iname))?;
    // less < more + gap
    let mut sum = Sum::of(exprs, more)?.plus(&Sum::of(exprs, less)?, -1)?;
    sum.constant = sum.constant.checked_add(gap)?;
    let is_upper = sum.terms.remove(&own) == Some(-1);
    let is_free = |id: ExprId| below(exprs, [id]).into_iter().all(|id| exprs[id] != Expr::Iname(iname));
    (is_upper && sum.terms.keys().all(|&leaf| is_free(leaf))).then_some(sum)
}

/// Where a loop over an open iname ends: at the least of these.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The iname.
    pub iname: InameId,
    /// Sums of scalar temporaries, inames around it and parameters; at least one.
    pub ends: Vec<Sum>,
}

impl Ends {
    /// Whether a loop with these bounds says that a condition holds.
    fn say(&self, exprs: &Exprs, condition: ExprId) -> bool {
        end(exprs, condition, self.iname).is_some_and(|end| self.ends.contains(&end))
    }

    /// The domain of the iname as isl reads it, with the ends, and the names of scalar temporaries as parameters.
    ///
    /// # Errors
    /// If isl fails.
    pub fn domain(&self, kernel: &Kernel) -> nestegg_isl::Result<String> {
        use nestegg_isl as isl;
        let own = &kernel[self.iname];
        let set = isl::Set::parse(&isl::Context::new(), &kernel[own.domain].text)?;
        let Some(open) = end_of(kernel, own.domain) else { return Ok(set.to_string()) };
        let open = kernel[open].name.as_str();
        let mut constraints = Vec::new();
        let mut names = set.param_names()?;
        names.retain(|name| name != open);
        for end in &self.ends {
            let name = |id: ExprId| match &kernel.exprs[id] {
                Expr::Iname(iname) => kernel[*iname].name.clone(),
                Expr::Parameter(parameter) => kernel[*parameter].name.clone(),
                Expr::Access { array, .. } => kernel[*array].name.clone(),
                _ => unreachable!("ends are sums of names"),
            };
            let mut terms: Vec<(String, i64)> =
                end.terms.iter().map(|(&leaf, &coefficient)| (name(leaf), coefficient)).collect();
            names.extend(terms.iter().map(|term| term.0.clone()));
            terms.push((own.name.clone(), -1));
            let constant = end.constant.saturating_sub(1);
            constraints.push(isl::Constraint::inequality(isl::Affine::new(constant, terms)?));
        }
        names.sort();
        names.dedup();
        let params: Vec<&str> = names.iter().map(String::as_str).collect();
        let of_others: Vec<isl::Conjunction> = set.drop_constraints_involving(open)?.constraints()?;
        let of_others = of_others.into_iter().map(|mut conjunction| {
            conjunction.extend(constraints.iter().cloned());
            conjunction
        });
        let of_others: Vec<isl::Conjunction> = of_others.collect();
        let bounded = isl::Set::from_conjunctions(&isl::Context::new(), &params, &[own.name.as_str()], &of_others)?;
        Ok(bounded.to_string())
    }
}

/// A program without the guards of its open inames.
#[derive(Clone, Debug)]
pub struct Unguarded {
    /// The program; the domains of open inames have their ends no more.
    pub program: Program,
    /// The ends of each open iname that something runs for.
    pub ends: Vec<Ends>,
    /// Open inames that are not guarded as a loop with bounds needs it.
    pub unbounded: Vec<InameId>,
}

impl Unguarded {
    /// The program with the ends in its domains: scalar temporaries are parameters of these. `None` if some iname has no bounds.
    ///
    /// # Errors
    /// If isl fails.
    pub fn bounded(self) -> nestegg_isl::Result<Option<Program>> {
        if !self.unbounded.is_empty() {
            return Ok(None);
        }
        let mut program = self.program;
        let kernel = kernel_mut(&mut program);
        let texts = self.ends.iter().map(|ends| ends.domain(kernel)).collect::<Result<Vec<_>, _>>()?;
        for domain in kernel.domain_ids() {
            let Some(open) = end_of(kernel, domain) else { continue };
            kernel[domain].parameters.retain(|&parameter| parameter != open);
            // Nothing runs for it.
            let names: Vec<&str> = kernel[domain].inames.iter().map(|&iname| kernel[iname].name.as_str()).collect();
            kernel[domain].text = format!("{{ [{}] : false }}", names.join(", "));
        }
        for (ends, text) in self.ends.iter().zip(texts) {
            let domain = kernel[ends.iname].domain;
            kernel[domain].text = text;
        }
        Ok(Some(program))
    }
}

fn kernel_mut(program: &mut Program) -> &mut Kernel {
    match program {
        Program::Unordered(kernel) => kernel,
        Program::Linearized(linearized) => &mut linearized.kernel,
    }
}

/// Removes the guards of open inames; `None` if there is no open iname.
#[must_use]
pub fn unguarded(program: &Program) -> Option<Unguarded> {
    if !has_open_inames(program.kernel()) {
        return None;
    }
    let (ends, unbounded) = found(program.kernel(), program.linearization());
    let mut program = program.clone();
    drop_guards(&mut program, &ends);
    Some(Unguarded { program, ends, unbounded })
}

/// The ends of the open inames for which something runs, and the open inames without ends that guard all of it.
fn found(kernel: &Kernel, linearization: Option<&Linearization>) -> (Vec<Ends>, Vec<InameId>) {
    let (mut ends, mut unbounded) = (Vec::new(), Vec::new());
    let types = Types::infer(kernel);
    let roots = roots(kernel, linearization);
    for iname in open_inames(kernel).iter() {
        match common(kernel, &roots, &types, iname) {
            Common::Unused => {}
            Common::None => unbounded.push(iname),
            Common::Ends(found) => ends.push(Ends { iname, ends: found }),
        }
    }
    (ends, unbounded)
}

/// Whether all loops that data end have bounds of which they can be made: always so where there are none.
#[must_use]
pub fn is_bounded(linearized: &LinearizedKernel) -> bool {
    !has_open_inames(&linearized.kernel) || found(&linearized.kernel, Some(&linearized.linearization)).1.is_empty()
}

/// What a program evaluates.
fn roots(kernel: &Kernel, linearization: Option<&Linearization>) -> Vec<ExprId> {
    let mut res: Vec<ExprId> = kernel.substitutions.iter().map(|rule| rule.expression).collect();
    res.extend(kernel.instructions.iter().flat_map(crate::Instruction::expressions));
    res.extend(linearization.into_iter().flatten().filter_map(|item| match item {
        Item::If(condition) => Some(*condition),
        _ => None,
    }));
    res
}

enum Common {
    Unused,
    None,
    Ends(Vec<Sum>),
}

/// The ends that guard all that runs for an iname.
fn common(kernel: &Kernel, roots: &[ExprId], types: &Types, iname: InameId) -> Common {
    let domain = kernel[iname].domain;
    let is_inside = |array: crate::ArrayId| {
        let writers = kernel.instructions.iter().filter(|instruction| instruction.written_arrays().contains(&array));
        writers.into_iter().any(|writer| writer.within.contains(&iname))
    };
    let is_admitted = |leaf: ExprId| match &kernel.exprs[leaf] {
        Expr::Iname(other) => kernel[domain].enclosing.contains(other),
        Expr::Parameter(parameter) => kernel[*parameter].is_stated,
        Expr::Access { array, indices } => {
            indices.is_empty() && kernel[*array].is_temporary() && types.of(leaf).is_integer() && !is_inside(*array)
        }
        _ => false,
    };
    let ends = |conditions: &[ExprId]| -> Vec<Sum> {
        let conditions = conditions.iter().flat_map(|&condition| conjunction(&kernel.exprs, condition));
        let ends = conditions.filter_map(|condition| end(&kernel.exprs, condition, iname));
        ends.filter(|end| end.terms.keys().all(|&leaf| is_admitted(leaf))).collect()
    };
    let mut res: Option<Vec<Sum>> = None;
    let mut add = |found: Vec<Sum>| match &mut res {
        None => res = Some(found),
        Some(known) => known.retain(|end| found.contains(end)),
    };
    for instruction in kernel.instructions.iter().filter(|instruction| instruction.within.contains(&iname)) {
        add(ends(&instruction.predicates));
    }
    for id in kernel.exprs.reachable(roots.iter().copied()) {
        if let Expr::Reduce { inames, body, .. } = &kernel.exprs[id]
            && inames.contains(&iname)
        {
            add(guarded(&kernel.exprs, *body).map_or_else(Vec::new, |(condition, _)| ends(&[condition])));
        }
    }
    match res {
        None => Common::Unused,
        Some(mut found) => {
            // An end without data is no news.
            let is_data = |leaf: &ExprId| matches!(kernel.exprs[*leaf], Expr::Access { .. });
            let has_data = found.iter().any(|end| end.terms.keys().any(is_data));
            let mut unique: Vec<Sum> = Vec::new();
            for end in found.drain(..) {
                if !unique.contains(&end) {
                    unique.push(end);
                }
            }
            if kernel[domain].inames == [iname] && has_data { Common::Ends(unique) } else { Common::None }
        }
    }
}

/// The condition and the value of a selection whose other branch is a number.
fn guarded(exprs: &Exprs, id: ExprId) -> Option<(ExprId, ExprId)> {
    match &exprs[id] {
        Expr::Op { op: Op::If, operands } if matches!(exprs[operands[2]], Expr::Number(_)) => {
            Some((operands[0], operands[1]))
        }
        _ => None,
    }
}

/// The conditions without those that the bounds of a loop say.
fn without(exprs: &Exprs, condition: ExprId, ends: &Ends) -> Vec<ExprId> {
    conjunction(exprs, condition).into_iter().filter(|&id| !ends.say(exprs, id)).collect()
}

/// All of these conditions; `None` if there is none.
pub fn all_of(exprs: &mut Exprs, mut conditions: Vec<ExprId>) -> Option<ExprId> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(exprs.op(Op::And, conditions)),
    }
}

fn drop_guards(program: &mut Program, all: &[Ends]) {
    let roots = roots(program.kernel(), program.linearization());
    let kernel = kernel_mut(program);
    let rewritten = kernel.exprs.rewrite(roots, |exprs, _, expr| {
        if let Expr::Reduce { op, inames, body } = &expr {
            let mut body = *body;
            for ends in all.iter().filter(|ends| inames.contains(&ends.iname)) {
                let Some((condition, value)) = guarded(exprs, body) else { continue };
                let left = without(exprs, condition, ends);
                let Expr::Op { operands, .. } = exprs[body].clone() else { continue };
                body = match all_of(exprs, left) {
                    None => value,
                    Some(condition) => exprs.op(Op::If, [condition, value, operands[2]]),
                };
            }
            return exprs.intern(Expr::Reduce { op: *op, inames: inames.clone(), body });
        }
        exprs.intern(expr)
    });
    let Kernel { instructions, substitutions, exprs, .. } = kernel;
    for rule in substitutions {
        rule.expression = rewritten.get(rule.expression);
    }
    for instruction in instructions {
        instruction.map_expressions(|id| rewritten.get(id));
        for ends in all.iter().filter(|ends| instruction.within.contains(&ends.iname)) {
            instruction.predicates = instruction
                .predicates
                .iter()
                .filter_map(|&predicate| {
                    let left = without(exprs, predicate, ends);
                    let is_same = left.len() == conjunction(exprs, predicate).len();
                    if is_same { Some(predicate) } else { all_of(exprs, left) }
                })
                .collect();
        }
    }
    let Program::Linearized(LinearizedKernel { kernel, linearization }) = program else { return };
    let mut open: Vec<InameId> = Vec::new();
    // For each open condition, whether something of it is left.
    let mut is_left: Vec<bool> = Vec::new();
    let mut items = Vec::with_capacity(linearization.len());
    for item in linearization.drain(..) {
        match item {
            Item::For(iname) => open.push(iname),
            Item::End(_) => drop(open.pop()),
            Item::If(condition) => {
                let mut left = conjunction(&kernel.exprs, rewritten.get(condition));
                for ends in all.iter().filter(|ends| open.contains(&ends.iname)) {
                    left.retain(|&id| !ends.say(&kernel.exprs, id));
                }
                let left = all_of(&mut kernel.exprs, left);
                is_left.push(left.is_some());
                items.extend(left.map(Item::If));
                continue;
            }
            Item::EndIf => {
                if is_left.pop().unwrap_or(true) {
                    items.push(item);
                }
                continue;
            }
            Item::Run(_) => {}
        }
        items.push(item);
    }
    *linearization = items;
}
