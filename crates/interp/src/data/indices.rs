//! Integers that serve as indices: which values keep every access inside its array.
//!
//! # Method
//! Each index of each access is written as `Σ coefficient·element + affine form of inames`, where the elements are those of
//! integer arrays. The value of one element is bounded for each of these: its own subscripts fix inames, the others range over their domains, and several
//! elements in one index share the room that is left. What is bounded whatever the elements are (`a % 4`, `a & 7`, `min(max(a, 0), 9)`) asks nothing of them;
//! other indices that are no such sum leave their elements zero alone.
//! What the ends of loops are computed of is small, so that loops run as often as is assumed of them.
//! Elements that nothing reads, since affine predicates or loops without values keep the first kernel from it, take wild values.
//! # Not done
//! Other conditions around an access are not looked at: what they guard may be bounded too narrowly, never too widely.

use std::collections::BTreeSet;

use nestegg_ir::walk::arrays_below;
use nestegg_ir::{
    ArrayId, Expr, ExprId, InameId, Instruction, InstructionKind, Kernel, Number, Op, data_bounds, unstated,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::domain::Domains;
use crate::error::Error;
use crate::memory::Layout;
use crate::source::{Form, Source, floor_div};

/// The values of an element that nothing reads.
const UNREAD: (i64, i64) = (-9, 99);

/// Temporaries that are computed from temporaries are looked through so often.
const MAX_TEMPORARIES: usize = 8;

/// An index as a sum.
#[derive(Clone, Debug, Default)]
struct Linear {
    form: Form,
    elements: Vec<(ExprId, i64)>,
    /// What else is added to it: something between these.
    slack: (i64, i64),
}

impl Linear {
    fn scale(mut self, factor: i64) -> Option<Self> {
        self.form = Form::default().plus(factor, self.form.constant, &self.form.terms)?;
        for element in &mut self.elements {
            element.1 = element.1.checked_mul(factor)?;
        }
        let ends = [self.slack.0.checked_mul(factor)?, self.slack.1.checked_mul(factor)?];
        self.slack = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        Some(self)
    }

    fn plus(mut self, other: &Self) -> Option<Self> {
        self.form = self.form.plus(1, other.form.constant, &other.form.terms)?;
        self.slack = (self.slack.0.checked_add(other.slack.0)?, self.slack.1.checked_add(other.slack.1)?);
        for &(id, coefficient) in &other.elements {
            match self.elements.iter_mut().find(|known| known.0 == id) {
                Some(known) => known.1 = known.1.checked_add(coefficient)?,
                None => self.elements.push((id, coefficient)),
            }
        }
        Some(self)
    }

    /// The value, where it is only a number.
    fn constant(&self) -> Option<i64> {
        let is_constant = self.elements.is_empty() && self.form.terms.is_empty() && self.slack == (0, 0);
        is_constant.then_some(self.form.constant)
    }
}

/// What one index asks of the elements of one array that it reads.
#[derive(Clone, Debug)]
struct Room {
    /// The subscripts of the element, where they are affine.
    subscripts: Vec<Option<Form>>,
    coefficient: i64,
    /// The rest of the index, without elements.
    rest: Form,
    /// What else is added to it.
    slack: (i64, i64),
    /// How many elements share the room.
    n_elements: i64,
    extent: i64,
    /// What is not negative where the index is read.
    guards: Vec<Form>,
}

/// What all indices of a kernel ask of its integer arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Indices {
    rooms: FxHashMap<ArrayId, Vec<Room>>,
    /// Arrays in indices that are no sums.
    only_zero: Vec<ArrayId>,
    /// Arrays of which the ends of loops are computed, as far as elements are small enough for them.
    ending: Vec<ArrayId>,
    /// The least and greatest values of inames.
    hulls: FxHashMap<InameId, (i64, i64)>,
}

impl Indices {
    pub(super) fn of(kernel: &Kernel, source: &Source, domains: &mut Domains<'_>) -> Result<Self, Error> {
        let mut res = Self::default();
        let layouts = Layout::all(kernel, source)?;
        // For each access the guards around it, once for each instruction; conditions of a linearization belong to none.
        let mut accesses: Vec<(ExprId, Vec<Form>)> = Vec::new();
        let mut is_of_instruction = vec![false; source.exprs.len()];
        for (insn, instruction) in source.instructions.iter().enumerate() {
            let guards: Vec<Form> = instruction.predicates.iter().flat_map(|&it| guards(source, it)).collect();
            let never = if never_runs(instruction, domains)? { vec![never()] } else { Vec::new() };
            // Conditions are asked whatever the others are.
            let of_conditions: FxHashSet<ExprId> =
                source.exprs.reachable(instruction.predicates.iter().copied()).into_iter().collect();
            for &(_, access) in source.reads[insn].iter().chain(&source.writes[insn]) {
                is_of_instruction[access.index()] = true;
                let is_guarded = !of_conditions.contains(&access);
                let guards = if is_guarded { guards.iter() } else { [].iter() };
                accesses.push((access, guards.chain(&never).cloned().collect()));
            }
        }
        let is_access = |id: &ExprId| matches!(source.exprs[*id], Expr::Access { .. });
        let others = source.exprs.iter().map(|(id, _)| id).filter(|id| is_access(id) && !is_of_instruction[id.index()]);
        accesses.extend(others.map(|access| (access, Vec::new())));
        for (access, guards) in accesses {
            let Expr::Access { array, indices } = &source.exprs[access] else { continue };
            for (&index, &extent) in indices.iter().zip(&layouts[array.index()].shape) {
                if source.forms[index.index()].is_none() {
                    res.add(source, index, extent, &guards);
                }
            }
        }
        res.look_through(kernel, source);
        res.ending = ending(kernel);
        let mut inames: Vec<InameId> = Vec::new();
        for room in res.rooms.values().flatten() {
            let forms = room.subscripts.iter().flatten().chain([&room.rest]).chain(&room.guards);
            inames.extend(forms.flat_map(|form| form.terms.iter().map(|term| term.0)));
        }
        inames.sort_unstable();
        inames.dedup();
        for iname in inames {
            res.hulls.insert(iname, domains.bounds(iname, &[])?.hull());
        }
        res.only_zero.sort_unstable();
        res.only_zero.dedup();
        Ok(res)
    }

    fn add(&mut self, source: &Source, index: ExprId, extent: i64, guards: &[Form]) {
        let of = |id: ExprId| match &source.exprs[id] {
            Expr::Access { array, indices } => Some((*array, indices)),
            _ => None,
        };
        let (divided, divisor) = quotient(source, index).unwrap_or((index, 1));
        let Some(sum) = linear(source, divided) else {
            let parts = source.exprs.reachable([index]);
            self.only_zero.extend(parts.into_iter().filter_map(of).map(|(array, _)| array));
            return;
        };
        // `sum // divisor` is inside where `sum` is inside of as many times the extent.
        let extent = extent.saturating_mul(divisor);
        for &(element, coefficient) in &sum.elements {
            let Some((array, indices)) = of(element).filter(|_| coefficient != 0) else { continue };
            let subscripts = indices.iter().map(|index| source.forms[index.index()].clone()).collect();
            let n_elements = sum.elements.len() as i64;
            let (rest, guards) = (sum.form.clone(), guards.to_vec());
            let room = Room { subscripts, coefficient, rest, slack: sum.slack, n_elements, extent, guards };
            self.rooms.entry(array).or_default().push(room);
        }
    }

    /// What is asked of temporaries is asked of what they are computed from, at any subscript.
    fn look_through(&mut self, kernel: &Kernel, source: &Source) {
        for _ in 0..MAX_TEMPORARIES {
            let temporaries: Vec<ArrayId> = kernel
                .array_ids()
                .filter(|&array| kernel[array].is_temporary() && source.written[array.index()])
                .collect();
            let mut is_new = false;
            for array in temporaries {
                let rooms = self.rooms.remove(&array).unwrap_or_default();
                let only_zero = self.only_zero.contains(&array);
                self.only_zero.retain(|&other| other != array);
                if rooms.is_empty() && !only_zero {
                    continue;
                }
                is_new = true;
                for instruction in &source.instructions {
                    let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { continue };
                    if assignee.array == array {
                        self.hand_on(source, *expression, &rooms, only_zero);
                    }
                }
            }
            if !is_new {
                return;
            }
        }
    }

    /// The value of an expression has some room.
    fn hand_on(&mut self, source: &Source, value: ExprId, rooms: &[Room], only_zero: bool) {
        let sum = linear(source, value).filter(|_| !only_zero);
        let Some(sum) = sum else {
            let parts = source.exprs.reachable([value]);
            self.only_zero.extend(parts.into_iter().filter_map(|id| match &source.exprs[id] {
                Expr::Access { array, .. } => Some(*array),
                _ => None,
            }));
            return;
        };
        for room in rooms {
            for &(element, coefficient) in &sum.elements {
                let Expr::Access { array, indices } = &source.exprs[element] else { continue };
                let Some(rest) = room.rest.plus(room.coefficient, sum.form.constant, &sum.form.terms) else { continue };
                let Some(coefficient) = room.coefficient.checked_mul(coefficient).filter(|&it| it != 0) else {
                    continue;
                };
                let n_elements = room.n_elements.saturating_mul(sum.elements.len() as i64);
                let added = sum.clone().scale(room.coefficient).map_or((0, 0), |scaled| scaled.slack);
                let slack = (room.slack.0.saturating_add(added.0), room.slack.1.saturating_add(added.1));
                let subscripts = vec![None; indices.len()];
                self.rooms.entry(*array).or_default().push(Room {
                    subscripts,
                    coefficient,
                    rest,
                    slack,
                    n_elements,
                    extent: room.extent,
                    guards: Vec::new(),
                });
            }
        }
    }

    /// Whether elements of an array are indices.
    pub(super) fn holds(&self, array: ArrayId) -> bool {
        self.rooms.contains_key(&array) || self.only_zero.binary_search(&array).is_ok()
    }

    /// The values of an element that keep all accesses inside; `None` if it is no index. Zero alone where there are none.
    pub(super) fn range(&self, array: ArrayId, element: &[i64]) -> Option<(i64, i64)> {
        if self.only_zero.binary_search(&array).is_ok() {
            return Some((0, 0));
        }
        let is_ending = self.ending.binary_search(&array).is_ok();
        let none = Vec::new();
        let rooms = self.rooms.get(&array).or(is_ending.then_some(&none))?;
        let (mut lower, mut upper) = if is_ending { (0, unstated::N_VALUES - 1) } else { (i64::MIN, i64::MAX) };
        for room in rooms {
            if let Some((least, greatest)) = self.room(room, element) {
                lower = lower.max(least);
                upper = upper.min(greatest);
            }
        }
        Some(match (lower, upper) {
            // Nothing reads the element: it may be anything.
            (i64::MIN, i64::MAX) => UNREAD,
            (lower, upper) if lower > upper => (0, 0),
            bounds => bounds,
        })
    }

    /// What one index allows; `None` if it never reads the element.
    fn room(&self, room: &Room, element: &[i64]) -> Option<(i64, i64)> {
        let mut fixed: FxHashMap<InameId, i64> = FxHashMap::default();
        for _ in 0..room.subscripts.len() {
            for (form, &at) in room.subscripts.iter().zip(element) {
                let Some(form) = form else { continue };
                let (mut rest, mut open) = (at.checked_sub(form.constant)?, Vec::new());
                for &(iname, coefficient) in &form.terms {
                    match fixed.get(&iname) {
                        Some(value) => rest = rest.checked_sub(coefficient.checked_mul(*value)?)?,
                        None => open.push((iname, coefficient)),
                    }
                }
                match open.as_slice() {
                    [] if rest != 0 => return None,
                    [(_, coefficient)] if rest % coefficient != 0 => return None,
                    [(iname, coefficient)] => {
                        let value = rest / coefficient;
                        let (least, greatest) = self.hulls[iname];
                        if value < least || value > greatest {
                            return None;
                        }
                        fixed.insert(*iname, value);
                    }
                    _ => {}
                }
            }
        }
        if room.guards.iter().any(|guard| self.bounds(guard, &fixed).1 < 0) {
            return None;
        }
        let (least, greatest) = self.bounds(&room.rest, &fixed);
        let (least, greatest) = (least + i128::from(room.slack.0), greatest + i128::from(room.slack.1));
        let bound = |value: i128| i64::try_from(value).ok();
        let lower = bound(-least)?;
        let upper = bound(i128::from(room.extent) - 1 - greatest)?;
        let shared = (ceil_div(lower, room.n_elements)?, floor_div(upper, room.n_elements)?);
        let (low, high) = if room.coefficient > 0 { shared } else { (shared.1, shared.0) };
        Some((ceil_div(low, room.coefficient)?, floor_div(high, room.coefficient)?))
    }
}

impl Indices {
    /// The least and greatest value of a form, where some inames are fixed.
    fn bounds(&self, form: &Form, fixed: &FxHashMap<InameId, i64>) -> (i128, i128) {
        let (mut least, mut greatest) = (i128::from(form.constant), i128::from(form.constant));
        for &(iname, coefficient) in &form.terms {
            let (lower, upper) = fixed.get(&iname).map_or_else(|| self.hulls[&iname], |&value| (value, value));
            let ends = [lower, upper].map(|end| i128::from(end) * i128::from(coefficient));
            least += ends[0].min(ends[1]);
            greatest += ends[0].max(ends[1]);
        }
        (least, greatest)
    }
}

/// The arrays of which the ends of loops are computed, through temporaries too.
fn ending(kernel: &Kernel) -> Vec<ArrayId> {
    let mut res = BTreeSet::new();
    for iname in data_bounds::open_inames(kernel).iter() {
        let ends = kernel.exprs.iter().filter_map(|(id, _)| data_bounds::end(&kernel.exprs, id, iname));
        let leaves: Vec<ExprId> = ends.flat_map(|end| end.terms.into_keys()).collect();
        res.extend(arrays_below(&kernel.exprs, leaves));
    }
    let mut pending: Vec<ArrayId> = res.iter().copied().filter(|&array| kernel[array].is_temporary()).collect();
    while let Some(array) = pending.pop() {
        for instruction in &kernel.instructions {
            let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { continue };
            let below = if assignee.array == array { arrays_below(&kernel.exprs, [*expression]) } else { continue };
            let new = below.into_iter().filter(|&array| res.insert(array));
            pending.extend(new.filter(|&array| kernel[array].is_temporary()));
        }
    }
    res.into_iter().collect()
}

/// Whether one of the loops around an instruction has no value.
fn never_runs(instruction: &Instruction, domains: &mut Domains<'_>) -> Result<bool, Error> {
    for &iname in &instruction.within {
        if domains.bounds(iname, &[])?.max_len() == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A form that is negative everywhere.
fn never() -> Form {
    Form { constant: -1, terms: Vec::new() }
}

/// Forms that are not negative where a condition holds, if it compares such forms.
fn guards(source: &Source, condition: ExprId) -> Vec<Form> {
    let Expr::Op { op, operands } = &source.exprs[condition] else { return Vec::new() };
    if *op == Op::And {
        return operands.iter().flat_map(|&operand| guards(source, operand)).collect();
    }
    let forms: Option<Vec<&Form>> = operands.iter().map(|it| source.forms[it.index()].as_ref()).collect();
    let Some([a, b]) = forms.as_deref() else { return Vec::new() };
    let less = |a: &Form, b: &Form, gap: i64| {
        let negated = Form::default().plus(-1, a.constant, &a.terms)?;
        negated.plus(1, b.constant, &b.terms)?.plus(1, -gap, &[])
    };
    let found = match op {
        Op::Lt => [less(a, b, 1), None],
        Op::Le => [less(a, b, 0), None],
        Op::Gt => [less(b, a, 1), None],
        Op::Ge => [less(b, a, 0), None],
        Op::Eq => [less(a, b, 0), less(b, a, 0)],
        _ => [None, None],
    };
    found.into_iter().flatten().collect()
}

fn ceil_div(a: i64, b: i64) -> Option<i64> {
    floor_div(a.checked_neg()?, b)?.checked_neg()
}

/// A dividend and a positive constant, if an index is their quotient.
fn quotient(source: &Source, index: ExprId) -> Option<(ExprId, i64)> {
    let Expr::Op { op: Op::FloorDiv, operands } = &source.exprs[index] else { return None };
    positive(source, operands[1]).map(|divisor| (operands[0], divisor))
}

fn positive(source: &Source, id: ExprId) -> Option<i64> {
    constant(source, id).filter(|&constant| constant > 0)
}

/// The least and greatest value of an operation whose operands may be anything.
fn bounded(source: &Source, id: ExprId) -> Option<(i64, i64)> {
    let Expr::Op { op, operands } = &source.exprs[id] else { return None };
    let constants = || operands.iter().filter_map(|&operand| constant(source, operand));
    let inner = |other| operands.iter().find_map(|&operand| extremum_end(source, operand, other));
    match op {
        Op::Mod => positive(source, operands[1]).map(|divisor| (0, divisor - 1)),
        Op::BitAnd => constants().filter(|&mask| mask >= 0).min().map(|mask| (0, mask)),
        // The other end comes from an extremum inside.
        Op::Min => constants().min().zip(inner(Op::Max)).map(|(upper, lower)| (lower.min(upper), upper)),
        Op::Max => constants().max().zip(inner(Op::Min)).map(|(lower, upper)| (lower, upper.max(lower))),
        _ => None,
    }
}

/// The least constant of a minimum or the greatest of a maximum, if the expression is the one that is asked for.
fn extremum_end(source: &Source, id: ExprId, asked: Op) -> Option<i64> {
    let Expr::Op { op, operands } = &source.exprs[id] else { return None };
    let constants = operands.iter().filter_map(|&operand| constant(source, operand));
    match (*op == asked, asked) {
        (false, _) => None,
        (true, Op::Min) => constants.min(),
        (true, _) => constants.max(),
    }
}

fn constant(source: &Source, id: ExprId) -> Option<i64> {
    source.forms[id.index()].as_ref().filter(|form| form.terms.is_empty()).map(|form| form.constant)
}

/// An index as a sum of elements and inames, if it is one.
fn linear(source: &Source, index: ExprId) -> Option<Linear> {
    let mut known: FxHashMap<ExprId, Option<Linear>> = FxHashMap::default();
    let mut parts = source.exprs.reachable([index]);
    parts.sort_unstable();
    for id in parts {
        let of = |id: &ExprId| known.get(id).cloned().flatten();
        let sum = match (&source.forms[id.index()], &source.exprs[id]) {
            (Some(form), _) => Some(Linear { form: form.clone(), ..Linear::default() }),
            (None, Expr::Access { .. }) => Some(Linear { elements: vec![(id, 1)], ..Linear::default() }),
            (None, Expr::Number(Number::Float(_))) => None,
            (None, Expr::Cast { dtype, operand }) if !dtype.is_float() => of(operand),
            (None, Expr::Op { op, operands }) => match op {
                Op::Neg => of(&operands[0]).and_then(|a| a.scale(-1)),
                Op::Add => operands.iter().try_fold(Linear::default(), |sum, operand| sum.plus(&of(operand)?)),
                Op::Sub => of(&operands[0]).zip(of(&operands[1])).and_then(|(a, b)| a.plus(&b.scale(-1)?)),
                Op::Mul => operands.iter().map(of).try_fold(Linear::one(), |product, factor| {
                    let factor = factor?;
                    match (product.constant(), factor.constant()) {
                        (Some(constant), _) => factor.scale(constant),
                        (None, Some(constant)) => product.scale(constant),
                        (None, None) => None,
                    }
                }),
                _ => bounded(source, id).map(|slack| Linear { slack, ..Linear::default() }),
            },
            _ => None,
        };
        known.insert(id, sum);
    }
    known.remove(&index).flatten()
}

impl Linear {
    fn one() -> Self {
        Self { form: Form { constant: 1, terms: Vec::new() }, ..Self::default() }
    }
}
