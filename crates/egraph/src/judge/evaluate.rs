//! Values of terms at the points of one sample.
//!
//! # Input
//! An e-graph and the id of a term in it.
//! # Output
//! Its value there, or why it has none.
//! # Method
//! Operands first, each at the values of its own free inames, and remembered: what several terms share is evaluated once. Of a selection only
//! the branch that is taken is looked at; `and` is false if one of its operands is, `or` likewise. A conversion between floats is
//! none for real numbers. A function of which nothing is known is a number drawn for its arguments, if these are exact.
//! # Complexity
//! Linear in the terms, for each point of the reductions around them; steps are counted.

use std::cmp::Ordering;

use egg::{Id, Language};
use indexmap::IndexSet;
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::domains::Domains;
use nestegg_ir::sets::SetId;
use nestegg_ir::types::Type;
use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{ArrayId, FunctionId, InameId, Kernel, Number, Op, ReduceOp};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::data::{Data, PROFILES, Palette, Profile, mixed};
use super::function::{Function, extreme, pow, quotient, to_whole};
use super::gap::Gap;
use super::places::{Places, WeightedPoint};
use super::real::{Precise, Real};
use super::terms::{Terms, read_at};
use crate::analysis::Graph;
use crate::context::{Index, Stamp};
use crate::language::{AccessId, Node, ReductionId};
use crate::rational::Rational;

/// Steps of a function, where an operation has one.
const FUNCTION_STEPS: u64 = 16;

/// Values of free inames, by number.
type FrameIdx = usize;

/// A value, or why there is none.
pub(super) type Outcome = Result<Real, Gap>;

/// One sample: a place, data, and all that was evaluated there.
#[derive(Debug)]
pub(super) struct Sample<'a> {
    kernel: &'a Kernel,
    places: Places<'a>,
    data: Data,
    frames: IndexSet<Box<[(InameId, i64)]>, FxBuildHasher>,
    /// Frames of the outermost terms, by their free inames.
    outermost: FxHashMap<SetId, Result<FrameIdx, Gap>>,
    restricted: FxHashMap<(FrameIdx, SetId), FrameIdx>,
    known: FxHashMap<(Id, FrameIdx), Outcome>,
}

/// What evaluation needs beside the sample.
pub(super) struct World<'w> {
    pub(super) graph: &'w Graph,
    pub(super) terms: &'w Terms,
    pub(super) precise: &'w mut Precise,
    /// Steps that are left.
    pub(super) steps: &'w mut u64,
}

impl<'a> Sample<'a> {
    /// The sample of that number.
    pub(super) fn new(kernel: &'a Kernel, domains: &'a Domains, number: usize, palette: &Palette) -> Self {
        let seed = mixed(number as u64);
        Self {
            kernel,
            places: Places::new(kernel, domains, number as u64, palette),
            data: Data { seed, profile: PROFILES[number % PROFILES.len()] },
            frames: IndexSet::default(),
            outermost: FxHashMap::default(),
            restricted: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// The value of a term.
    pub(super) fn value(&mut self, world: &mut World<'_>, root: Id) -> Outcome {
        let frame = self.outermost(world.terms, world.terms.free(root))?;
        let mut walk = OperandsFirst::new((root, frame));
        while let Some((id, frame)) = walk.next_unknown(|key| self.known.contains_key(key)) {
            let node = world.graph.id_to_node(id);
            let wanted = self.wanted(world, node, frame);
            if walk.waits_for(wanted, |key| self.known.contains_key(key)) {
                continue;
            }
            let steps = if matches!(node, Node::Call(..)) { FUNCTION_STEPS } else { 1 + node.children().len() as u64 };
            *world.steps = world.steps.checked_sub(steps).ok_or(Gap::Steps)?;
            let value = self.compute(world, node, frame);
            self.known.insert((id, frame), value);
        }
        self.known[&(root, frame)].clone()
    }

    /// The elements that a term reads, with their values: the first ones that are not of tables.
    pub(super) fn elements(&mut self, world: &mut World<'_>, roots: [Id; 2], limit: usize) -> Vec<(String, f64)> {
        let mut pending: Vec<(Id, FrameIdx)> = Vec::new();
        for root in roots {
            pending.extend(self.outermost(world.terms, world.terms.free(root)).ok().map(|frame| (root, frame)));
        }
        pending.reverse();
        let mut seen: IndexSet<(Id, FrameIdx), FxBuildHasher> = IndexSet::default();
        let mut res: Vec<(String, f64)> = Vec::new();
        while let Some((id, frame)) = pending.pop() {
            if res.len() >= limit || !seen.insert((id, frame)) {
                continue;
            }
            let node = world.graph.id_to_node(id);
            if let (Node::Access(access, children), Some(Ok(value))) = (node, self.known.get(&(id, frame)).cloned()) {
                let array = world.graph.analysis.context.access(*access).array;
                let indices = self.indices(world, *access, children, frame);
                if let (None, Ok(indices)) = (self.kernel[array].table(), indices) {
                    let indices: Vec<String> = indices.iter().map(i64::to_string).collect();
                    let name = &self.kernel[array].name;
                    let text =
                        if indices.is_empty() { name.clone() } else { format!("{name}[{}]", indices.join(", ")) };
                    res.push((text, value.to_f64()));
                }
            }
            let mut wanted = self.wanted(world, node, frame);
            wanted.retain(|key| self.known.contains_key(key));
            pending.extend(wanted.into_iter().rev());
        }
        res
    }

    /// The values of parameters and of these inames.
    pub(super) fn place(&mut self, terms: &Terms, roots: [Id; 2]) -> Vec<(String, i64)> {
        let mut inames: Vec<InameId> =
            roots.iter().flat_map(|&root| terms.members(terms.free(root)).to_vec()).collect();
        inames.sort_unstable();
        inames.dedup();
        let parameters = self
            .kernel
            .parameter_ids()
            .map(|parameter| (self.kernel[parameter].name.clone(), self.places.parameter(parameter)));
        let mut res: Vec<(String, i64)> = parameters.collect();
        for iname in inames {
            res.extend(self.places.value(iname).map(|value| (self.kernel[iname].name.clone(), value)));
        }
        res
    }

    fn outermost(&mut self, terms: &Terms, free: SetId) -> Result<FrameIdx, Gap> {
        if let Some(known) = self.outermost.get(&free) {
            return *known;
        }
        let values: Option<Vec<(InameId, i64)>> =
            terms.members(free).iter().map(|&iname| Some((iname, self.places.value(iname)?))).collect();
        let frame = values.map(|values| self.frames.insert_full(values.into()).0).ok_or(Gap::Domain);
        self.outermost.insert(free, frame);
        frame
    }

    /// What has to be known before a node is computed, as far as can be told yet.
    fn wanted(&mut self, world: &World<'_>, node: &Node, frame: FrameIdx) -> Vec<(Id, FrameIdx)> {
        match node {
            Node::Op(Op::If, children) => {
                let condition = (children[0], self.inner(world.terms, children[0], frame));
                let branch = match self.known.get(&condition) {
                    Some(Ok(value)) => Some(children[if is_true(value) { 1 } else { 2 }]),
                    _ => None,
                };
                let branch = branch.map(|branch| (branch, self.inner(world.terms, branch, frame)));
                [condition].into_iter().chain(branch).collect()
            }
            Node::Reduce(reduction, [body]) => {
                let Ok(points) = self.points(world, *reduction, frame) else { return Vec::new() };
                points.iter().map(|point| (*body, self.bound(world, *reduction, *body, frame, point))).collect()
            }
            _ => node.children().iter().map(|&child| (child, self.inner(world.terms, child, frame))).collect(),
        }
    }

    /// The frame of an operand.
    fn inner(&mut self, terms: &Terms, child: Id, frame: FrameIdx) -> FrameIdx {
        let free = terms.free(child);
        if let Some(&known) = self.restricted.get(&(frame, free)) {
            return known;
        }
        let members = terms.members(free);
        let values: Vec<(InameId, i64)> =
            self.frames[frame].iter().copied().filter(|(iname, _)| members.contains(iname)).collect();
        let (inner, _) = self.frames.insert_full(values.into());
        self.restricted.insert((frame, free), inner);
        inner
    }

    /// The frame of a reduction's body at one of its points.
    fn bound(
        &mut self,
        world: &World<'_>,
        reduction: ReductionId,
        body: Id,
        frame: FrameIdx,
        point: &WeightedPoint,
    ) -> FrameIdx {
        let bound = &world.graph.analysis.context.reduction(reduction).inames;
        let members = world.terms.members(world.terms.free(body));
        let outer = self.frames[frame].iter().copied().filter(|(iname, _)| !bound.contains(iname));
        let own = bound.iter().copied().zip(point.values.iter().copied());
        let mut values: Vec<(InameId, i64)> = outer.chain(own).filter(|(iname, _)| members.contains(iname)).collect();
        values.sort_unstable();
        self.frames.insert_full(values.into()).0
    }

    fn points(
        &mut self,
        world: &World<'_>,
        reduction: ReductionId,
        frame: FrameIdx,
    ) -> Result<std::rc::Rc<[WeightedPoint]>, Gap> {
        let context = &world.graph.analysis.context;
        let around = context.around_reduction(reduction);
        let outer: Vec<(InameId, i64)> =
            self.frames[frame].iter().copied().filter(|(iname, _)| around.contains(*iname)).collect();
        self.places.points(context, reduction, &outer)
    }

    fn operand(&mut self, world: &World<'_>, child: Id, frame: FrameIdx) -> Outcome {
        let frame = self.inner(world.terms, child, frame);
        self.known[&(child, frame)].clone()
    }

    fn operands(&mut self, world: &World<'_>, children: &[Id], frame: FrameIdx) -> Result<Vec<Real>, Gap> {
        children.iter().map(|&child| self.operand(world, child, frame)).collect()
    }

    fn compute(&mut self, world: &mut World<'_>, node: &Node, frame: FrameIdx) -> Outcome {
        match node {
            Node::Number(value, _) => Ok(Real::Exact(value.clone())),
            Node::Iname(iname) => self.iname(*iname, frame).map(Real::int),
            Node::Parameter(parameter) => Ok(Real::int(self.places.parameter(*parameter))),
            Node::Access(access, children) => self.element(world, *access, children, frame),
            Node::Sum { coefficients, children } => {
                let mut sum = Real::ZERO;
                for (coefficient, &child) in coefficients.iter().zip(children.iter()).filter(|(c, _)| !c.is_zero()) {
                    let term = self.operand(world, child, frame)?.times(&Real::Exact(coefficient.clone()))?;
                    sum = sum.plus(&term)?;
                }
                Ok(sum)
            }
            Node::Product { exponents, children } => {
                let mut product = Real::ONE;
                for (&exponent, &child) in exponents.iter().zip(children.iter()).filter(|(e, _)| **e != 0) {
                    let factor = self.operand(world, child, frame)?.power(exponent.into())?;
                    product = product.times(&factor)?;
                }
                Ok(product)
            }
            Node::Reduce(reduction, [body]) => self.reduce(world, *reduction, *body, frame),
            Node::Op(Op::If, children) => {
                let branch = if is_true(&self.operand(world, children[0], frame)?) { 1 } else { 2 };
                self.operand(world, children[branch], frame)
            }
            Node::Op(op @ (Op::And | Op::Or), children) => {
                // One operand decides, whether or not the others have values.
                let decides = *op == Op::Or;
                let mut gap = None;
                for &child in children {
                    match self.operand(world, child, frame) {
                        Ok(value) if is_true(&value) == decides => return Ok(Real::truth(decides)),
                        Ok(_) => {}
                        Err(error) => gap = gap.or(Some(error)),
                    }
                }
                gap.map_or(Ok(Real::truth(!decides)), Err)
            }
            Node::Rounded(op, children) | Node::Op(op, children) => {
                operate(*op, &self.operands(world, children, frame)?, world.precise)
            }
            Node::Call(function, children) => {
                let arguments = self.operands(world, children, frame)?;
                self.call(world, *function, &arguments)
            }
            Node::Cast(dtype, [child]) => {
                let value = self.operand(world, *child, frame)?;
                match Type::from(*dtype) {
                    Type::Bool => Ok(Real::truth(is_true(&value))),
                    Type::Int32 => {
                        let whole = to_whole(&value)?;
                        i32::try_from(whole).map(|_| Real::int(whole)).map_err(|_| Gap::Overflow)
                    }
                    Type::Int64 => to_whole(&value).map(Real::int),
                    _ => Ok(value),
                }
            }
            Node::Guard(_, [child]) => self.operand(world, *child, frame),
        }
    }

    fn iname(&self, iname: InameId, frame: FrameIdx) -> Result<i64, Gap> {
        self.frames[frame].iter().find(|(own, _)| *own == iname).map(|&(_, value)| value).ok_or(Gap::Domain)
    }

    fn reduce(&mut self, world: &World<'_>, reduction: ReductionId, body: Id, frame: FrameIdx) -> Outcome {
        let points = self.points(world, reduction, frame)?;
        let op = world.graph.analysis.context.reduction(reduction).op;
        let mut res: Option<Real> = None;
        for point in &*points {
            let inner = self.bound(world, reduction, body, frame, point);
            let value = self.known[&(body, inner)].clone()?;
            let value = match op {
                ReduceOp::Sum => value.times(&Real::int(point.weight))?,
                ReduceOp::Product => value.power(point.weight)?,
                ReduceOp::Min | ReduceOp::Max => value,
            };
            res = Some(match (res, op) {
                (None, _) => value,
                (Some(all), ReduceOp::Sum) => all.plus(&value)?,
                (Some(all), ReduceOp::Product) => all.times(&value)?,
                (Some(all), ReduceOp::Min) => extreme(&all, &value, Ordering::Less)?,
                (Some(all), ReduceOp::Max) => extreme(&all, &value, Ordering::Greater)?,
            });
        }
        match (res, op) {
            (Some(value), _) => Ok(value),
            (None, ReduceOp::Sum) => Ok(Real::ZERO),
            (None, ReduceOp::Product) => Ok(Real::ONE),
            (None, ReduceOp::Min | ReduceOp::Max) => Err(Gap::Infinite),
        }
    }

    /// The indices of an access.
    fn indices(
        &mut self,
        world: &World<'_>,
        access: AccessId,
        children: &[Id],
        frame: FrameIdx,
    ) -> Result<Vec<i64>, Gap> {
        let mut others = children.iter();
        let indices = world.graph.analysis.context.access(access).indices.clone();
        let index = |index: &Index| match index {
            Index::Affine(affine) => self.affine(affine, frame),
            Index::Child => {
                let child = others.next().ok_or(Gap::Outside)?;
                self.operand(world, *child, frame)?.to_int().ok_or(Gap::Overflow)
            }
        };
        indices.iter().map(index).collect()
    }

    fn affine(&self, affine: &Affine, frame: FrameIdx) -> Result<i64, Gap> {
        let mut sum = affine.constant;
        for &(var, coefficient) in &affine.terms {
            let value = match var {
                Var::Iname(iname) => self.iname(iname, frame)?,
                Var::Parameter(parameter) => self.places.parameter(parameter),
            };
            let term = value.checked_mul(coefficient).ok_or(Gap::Overflow)?;
            sum = sum.checked_add(term).ok_or(Gap::Overflow)?;
        }
        Ok(sum)
    }

    fn element(&mut self, world: &World<'_>, access: AccessId, children: &[Id], frame: FrameIdx) -> Outcome {
        let indices = self.indices(world, access, children, frame)?;
        let access = world.graph.analysis.context.access(access);
        let array = &self.kernel[access.array];
        if let Some(table) = array.table() {
            let position = self.position(access.array, &indices)?;
            return match table.get(position) {
                Some(Number::Int(value)) => Ok(Real::int(*value)),
                Some(Number::Float(value)) => Rational::from_f64(value.get()).map(Real::Exact).ok_or(Gap::Infinite),
                None => Err(Gap::Outside),
            };
        }
        let state = match access.stamp {
            Stamp::Constant => -1,
            Stamp::Version(version) => version.into(),
        };
        // Memory that the kernel writes is another one at other points of the loops that write it.
        let pinned: Vec<i64> = match access.stamp {
            Stamp::Constant => Vec::new(),
            Stamp::Version(_) => {
                access.pinned.iter().map(|iname| self.iname(iname, frame)).collect::<Result<_, _>>()?
            }
        };
        debug_assert!(read_at(access).iter().all(|&iname| self.iname(iname, frame).is_ok()));
        let source = match self.data.profile {
            Profile::Tied => world.terms.stand_in(access.array),
            _ => access.array,
        };
        let place = [source.index() as i64, state].into_iter().chain(indices).chain(pinned);
        Ok(self.drawn(self.data.key(place), array.dtype.into(), &world.terms.palette))
    }

    /// Where in a table an element stands.
    fn position(&self, array: ArrayId, indices: &[i64]) -> Result<usize, Gap> {
        let mut position = 0_i64;
        for (&index, &size) in indices.iter().zip(&self.kernel[array].shape) {
            let size = nestegg_ir::affine::of(&self.kernel.exprs, size)
                .and_then(|size| size.as_constant())
                .ok_or(Gap::Outside)?;
            if index < 0 || index >= size {
                return Err(Gap::Outside);
            }
            position = position * size + index;
        }
        usize::try_from(position).map_err(|_| Gap::Outside)
    }

    fn drawn(&self, key: u64, ty: Type, palette: &Palette) -> Real {
        match ty {
            Type::Bool => Real::truth(self.data.truth(key)),
            ty if ty.is_integer() => Real::int(self.data.integer(key, palette)),
            _ => Real::Exact(self.data.float(key, palette)),
        }
    }

    fn call(&self, world: &mut World<'_>, function: FunctionId, arguments: &[Real]) -> Outcome {
        if let Some(function) = Function::of(&self.kernel[function], arguments.len()) {
            return function.evaluate(arguments, world.precise);
        }
        let mut parts = vec![-2, function.index() as i64];
        for argument in arguments {
            // Numbers that are equal have equal texts.
            let text = argument.exact().ok_or(Gap::Function)?.to_string();
            parts.push(i64::try_from(text.len()).map_err(|_| Gap::Function)?);
            parts.extend(text.bytes().map(i64::from));
        }
        Ok(self.drawn(self.data.key(parts), Type::Float64, &world.terms.palette))
    }
}

fn is_true(value: &Real) -> bool {
    value.exact().is_none_or(|value| !value.is_zero())
}

/// The value of an operation whose operands all have values.
fn operate(op: Op, values: &[Real], precise: &mut Precise) -> Outcome {
    let truth = |holds: fn(Ordering) -> bool| Ok(Real::truth(holds(values[0].compare(&values[1])?)));
    let bits = |join: fn(i64, i64) -> i64| {
        let values: Option<Vec<i64>> = values.iter().map(Real::to_int).collect();
        values.and_then(|values| values.into_iter().reduce(join)).map(Real::int).ok_or(Gap::Overflow)
    };
    let shift = |join: fn(i64, u32) -> Option<i64>| {
        let (value, by) = (values[0].to_int().ok_or(Gap::Overflow)?, values[1].to_int().ok_or(Gap::Overflow)?);
        let by = u32::try_from(by).ok().filter(|by| *by < 32).ok_or(Gap::Overflow)?;
        join(value, by).map(Real::int).ok_or(Gap::Overflow)
    };
    match op {
        Op::Add => values.iter().try_fold(Real::ZERO, |sum, value| sum.plus(value)),
        Op::Mul => values.iter().try_fold(Real::ONE, |product, value| product.times(value)),
        Op::Neg => Ok(values[0].negated()),
        Op::Sub => values[0].minus(&values[1]),
        Op::Div => quotient(&values[0], &values[1]),
        Op::Pow => pow(&values[0], &values[1], precise),
        Op::FloorDiv => quotient(&values[0], &values[1])?.floor(),
        Op::Mod => values[0].minus(&quotient(&values[0], &values[1])?.floor()?.times(&values[1])?),
        Op::Lt => truth(Ordering::is_lt),
        Op::Le => truth(Ordering::is_le),
        Op::Gt => truth(Ordering::is_gt),
        Op::Ge => truth(Ordering::is_ge),
        Op::Eq => truth(Ordering::is_eq),
        Op::Ne => truth(Ordering::is_ne),
        Op::Not => Ok(Real::truth(!is_true(&values[0]))),
        Op::Min => values[1..].iter().try_fold(values[0].clone(), |all, value| extreme(&all, value, Ordering::Less)),
        Op::Max => values[1..].iter().try_fold(values[0].clone(), |all, value| extreme(&all, value, Ordering::Greater)),
        Op::BitAnd => bits(|a, b| a & b),
        Op::BitOr => bits(|a, b| a | b),
        Op::BitXor => bits(|a, b| a ^ b),
        Op::BitNot => values[0].to_int().map(|value| Real::int(!value)).ok_or(Gap::Overflow),
        Op::Shl => shift(|value, by| value.checked_mul(1_i64.checked_shl(by)?)),
        Op::Shr => shift(|value, by| value.checked_shr(by)),
        Op::If | Op::And | Op::Or => unreachable!("selections and logic look at their operands one by one"),
    }
}
