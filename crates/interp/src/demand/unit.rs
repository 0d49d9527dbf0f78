//! Nodes to units: straight code with jumps, for one value at one point.
//!
//! # Method
//! A node becomes a *unit* of its own, whose values are kept for each point of the inames that it depends on, if it is used where other inames matter, or
//! from two *regions*: the operands that may not be needed (branches of a selection, operands of `and` and `or`) and the bodies of reductions
//! are regions. So what a kernel computes again and again at the points of inner loops is computed once, and nothing is computed that C would not compute.
//! Every other node is code in the one region that uses it, operands first; cheap nodes are code wherever they are used. Linear in the nodes.

use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, InameId, ReduceOp};
use rustc_hash::FxHashMap;

use crate::conversions::neutral;
use crate::demand::code::{AccessCode, Decision, DimCode, FormCode, Instr, LoopCode, Reg, Unit};
use crate::demand::lower::Lowering;
use crate::demand::node::{Dim, NodeId, Op, Place};
use crate::demand::partition::{Partition, RegionId, partition};
use crate::error::Error;

/// All units of a kernel.
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    pub(super) literals: Vec<f64>,
    pub(super) decisions: Vec<Decision>,
    /// The unit of a node that is one.
    pub(super) unit_of: FxHashMap<NodeId, usize>,
    pub(super) decision_of: FxHashMap<NodeId, usize>,
}

/// Makes the units; `roots` are nodes that must be units, with the instruction in which they stand.
pub(super) fn build(lowering: &mut Lowering<'_, '_>, roots: &[(NodeId, usize)]) -> Result<Units, Error> {
    let partition = partition(lowering, roots);
    let mut units = Units {
        units: Vec::new(),
        literals: Vec::new(),
        decisions: Vec::new(),
        unit_of: FxHashMap::default(),
        decision_of: FxHashMap::default(),
    };
    let mut instruction_of: Vec<usize> = vec![usize::MAX; lowering.nodes.len()];
    for &(root, instruction) in roots {
        instruction_of[root.index()] = instruction_of[root.index()].min(instruction);
    }
    for idx in (0..lowering.nodes.len()).rev() {
        let own = instruction_of[idx];
        lowering.nodes[idx].op.for_each_operand(|operand| {
            let of_operand = &mut instruction_of[operand.index()];
            *of_operand = (*of_operand).min(own);
        });
    }
    let mut order: Vec<NodeId> = partition.own_region.keys().copied().collect();
    order.sort_unstable();
    for (idx, &node) in order.iter().enumerate() {
        units.unit_of.insert(node, idx);
    }
    for &node in &order {
        let inames = lowering.facts[node.index()].deps.as_slice().to_vec();
        let mut emitter = Emitter {
            regs: inames.iter().enumerate().map(|(idx, &iname)| (iname, idx as Reg)).collect(),
            unit: Unit {
                n_ints: inames.len(),
                inames,
                is_float: lowering.ty(node).is_float(),
                instruction: instruction_of[node.index()],
                ..Unit::default()
            },
            lowering: &mut *lowering,
            partition: &partition,
            units: &mut units,
            scopes: Vec::new(),
        };
        let a = emitter.region(partition.own_region[&node], node)?;
        emitter.push(Instr::Return { a });
        let unit = emitter.unit;
        units.units.push(unit);
    }
    Ok(units)
}

struct Emitter<'e, 'a, 'k> {
    lowering: &'e mut Lowering<'a, 'k>,
    partition: &'e Partition,
    units: &'e mut Units,
    unit: Unit,
    regs: FxHashMap<InameId, Reg>,
    /// The registers of nodes, for each open region.
    scopes: Vec<FxHashMap<NodeId, Reg>>,
}

impl Emitter<'_, '_, '_> {
    fn push(&mut self, instr: Instr) -> usize {
        self.unit.code.push(instr);
        self.unit.code.len() - 1
    }

    fn here(&self) -> usize {
        self.unit.code.len()
    }

    fn int(&mut self) -> Reg {
        self.unit.n_ints += 1;
        (self.unit.n_ints - 1) as Reg
    }

    fn reg(&mut self, ty: Type) -> Reg {
        if ty.is_float() {
            self.unit.n_floats += 1;
            (self.unit.n_floats - 1) as Reg
        } else {
            self.int()
        }
    }

    /// The code of a region, and the register of its value.
    fn region(&mut self, region: RegionId, value: NodeId) -> Result<Reg, Error> {
        self.scopes.push(FxHashMap::default());
        for &node in &self.partition.members[region as usize] {
            let reg = self.emit(node)?;
            self.keep(node, reg);
        }
        let reg = self.operand(value);
        self.scopes.pop();
        reg
    }

    fn keep(&mut self, node: NodeId, reg: Reg) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(node, reg);
        }
    }

    /// The register of a node: computed before, called, or, if it is cheap, computed now.
    fn operand(&mut self, node: NodeId) -> Result<Reg, Error> {
        if let Some(&reg) = self.scopes.iter().rev().find_map(|scope| scope.get(&node)) {
            return Ok(reg);
        }
        let reg = match self.units.unit_of.get(&node) {
            Some(&unit) => self.call(node, unit, false),
            None => self.emit(node)?,
        };
        self.keep(node, reg);
        Ok(reg)
    }

    fn call(&mut self, node: NodeId, unit: usize, is_try: bool) -> Reg {
        let deps = &self.lowering.facts[node.index()].deps;
        let args = deps.iter().map(|iname| self.regs[&iname]).collect();
        let dst = self.reg(self.lowering.ty(node));
        self.push(Instr::Call { unit, args, dst, is_try });
        dst
    }

    fn form(&self, form: &crate::source::Form) -> FormCode {
        let terms = form.terms.iter().map(|&(iname, coefficient)| (self.regs[&iname], coefficient)).collect();
        FormCode { constant: form.constant, terms }
    }

    fn access(&mut self, array: ArrayId, dims: &[Dim], place: Option<Place>) -> Result<AccessCode, Error> {
        let mut codes = Vec::with_capacity(dims.len());
        for dim in dims {
            codes.push(match dim {
                Dim::Affine(form) => DimCode::Form(self.form(form)),
                Dim::Computed(node) => DimCode::Reg(self.operand(*node)?),
            });
        }
        let state = place.map(|place| {
            let loops = &self.lowering.sequences.list[place.sequence].loops;
            (place, loops.iter().map(|iname| self.regs[iname]).collect())
        });
        Ok(AccessCode { array, dims: codes, state })
    }

    fn decision(&mut self, node: NodeId, n_outcomes: u32) -> usize {
        *self.units.decision_of.entry(node).or_insert_with(|| {
            self.units.decisions.push(Decision { node, n_outcomes });
            self.units.decisions.len() - 1
        })
    }

    fn see(&mut self, condition: NodeId, a: Reg) {
        let decision = self.decision(condition, 2);
        self.push(Instr::See { decision, a });
    }

    fn copy(&mut self, ty: Type, dst: Reg, a: Reg) {
        self.push(if ty.is_float() { Instr::FloatCopy { dst, a } } else { Instr::IntCopy { dst, a } });
    }

    fn sub_region(&mut self, node: NodeId, position: usize, value: NodeId) -> Result<Reg, Error> {
        let region = self.partition.sub_region[&(node, position)];
        self.region(region, value)
    }

    fn emit(&mut self, id: NodeId) -> Result<Reg, Error> {
        let node = self.lowering.nodes[id.index()].clone();
        let ty = node.ty;
        let mut is_rounded = ty == Type::Float32;
        let dst = match &node.op {
            Op::Float(bits) => {
                let literal = self.units.literals.len();
                self.units.literals.push(f64::from_bits(*bits));
                let dst = self.reg(ty);
                self.push(Instr::Literal { dst, literal });
                dst
            }
            Op::Form(form) => {
                let form = self.form(form);
                let dst = self.reg(ty);
                self.push(Instr::Form { dst, form, ty });
                dst
            }
            Op::Read { array, dims } => {
                is_rounded = false;
                let access = self.access(*array, dims, None)?;
                let dst = self.reg(ty);
                self.push(Instr::Read { dst, access, is_float: ty.is_float() });
                dst
            }
            Op::Load { array, dims, place } => {
                is_rounded = false;
                let access = self.access(*array, dims, Some(*place))?;
                let dst = self.reg(ty);
                self.push(Instr::Load { dst, access });
                dst
            }
            Op::Neg(a) => {
                is_rounded = false;
                let a = self.operand(*a)?;
                let dst = self.reg(ty);
                self.push(if ty.is_float() { Instr::FloatNeg { dst, a } } else { Instr::IntNeg { dst, a, ty } });
                dst
            }
            Op::Not(a) => {
                let a = self.operand(*a)?;
                let dst = self.reg(ty);
                self.push(Instr::Not { dst, a });
                dst
            }
            Op::BitNot(a) => {
                let a = self.operand(*a)?;
                let dst = self.reg(ty);
                self.push(Instr::BitNot { dst, a });
                dst
            }
            Op::Convert(operand) => {
                let from = self.lowering.ty(*operand).is_float();
                let a = self.operand(*operand)?;
                let dst = self.reg(ty);
                self.push(match (from, ty.is_float()) {
                    (true, true) => Instr::FloatCopy { dst, a },
                    (false, true) => Instr::IntToFloat { dst, a },
                    (true, false) => Instr::FloatToInt { dst, a, ty },
                    (false, false) => Instr::IntToInt { dst, a, ty },
                });
                dst
            }
            Op::Binary(op, a, b) => {
                let is_float = self.lowering.ty(*a).is_float();
                let (a, b) = (self.operand(*a)?, self.operand(*b)?);
                let dst = self.reg(ty);
                self.push(match (is_float, ty.is_float()) {
                    (true, true) => Instr::Float { op: *op, dst, a, b },
                    (true, false) => Instr::Compare { op: *op, dst, a, b },
                    _ => Instr::Int { op: *op, dst, a, b, ty },
                });
                dst
            }
            Op::Power(a, exponent) => {
                let a = self.operand(*a)?;
                let dst = self.reg(ty);
                let exponent = *exponent;
                self.push(match ty.is_float() {
                    true => Instr::FloatPower { dst, a, exponent },
                    false => Instr::IntPower { dst, a, exponent, ty },
                });
                dst
            }
            Op::Select(condition, a, b) => {
                is_rounded = false;
                let test = self.operand(*condition)?;
                self.see(*condition, test);
                let dst = self.reg(ty);
                let to_else = self.push(Instr::Jump { to: 0 });
                let value = self.sub_region(id, 1, *a)?;
                self.copy(ty, dst, value);
                let to_end = self.push(Instr::Jump { to: 0 });
                self.unit.code[to_else] = Instr::JumpIf { a: test, value: 0, to: self.here() };
                let value = self.sub_region(id, 2, *b)?;
                self.copy(ty, dst, value);
                self.unit.code[to_end] = Instr::Jump { to: self.here() };
                dst
            }
            Op::Logic { is_or, operands } => self.logic(id, *is_or, operands)?,
            Op::Extremum { is_max, operands } => {
                let first = self.operand(operands[0])?;
                let (acc, winner) = (self.reg(ty), self.int());
                self.copy(ty, acc, first);
                self.push(Instr::IntSet { dst: winner, value: 0 });
                for (idx, &operand) in operands.iter().enumerate().skip(1) {
                    let a = self.operand(operand)?;
                    let (is_max, idx) = (*is_max, idx as i64);
                    self.push(match ty.is_float() {
                        true => Instr::FloatExtremum { is_max, acc, a, winner, idx },
                        false => Instr::IntExtremum { is_max, acc, a, winner, idx },
                    });
                }
                let decision = self.decision(id, operands.len() as u32);
                self.push(Instr::See { decision, a: winner });
                acc
            }
            Op::Call { function, result, arguments } => {
                let mut args = Vec::with_capacity(arguments.len());
                for &argument in arguments {
                    args.push(self.operand(argument)?);
                }
                let dst = self.reg(ty);
                let name = self.lowering.functions.list[*function].name.clone();
                if let ("fmin" | "fmax", [a, b]) = (name.as_str(), args.as_slice()) {
                    let (winner, acc) = (self.int(), self.reg(ty));
                    self.push(Instr::IntSet { dst: winner, value: 0 });
                    self.push(Instr::FloatCopy { dst: acc, a: *a });
                    self.push(Instr::FloatExtremum { is_max: name == "fmax", acc, a: *b, winner, idx: 1 });
                    let decision = self.decision(id, 2);
                    self.push(Instr::See { decision, a: winner });
                }
                self.push(Instr::Function { function: *function, result: *result, args: args.into(), dst });
                dst
            }
            Op::Reduce { op, inames, around, body } => {
                is_rounded = false;
                self.reduction(id, *op, inames, around, *body, ty)?
            }
        };
        if is_rounded {
            self.push(Instr::Round { reg: dst });
        }
        Ok(dst)
    }

    fn logic(&mut self, id: NodeId, is_or: bool, operands: &[NodeId]) -> Result<Reg, Error> {
        let decides = i64::from(is_or);
        let acc = self.int();
        let mut to_end = Vec::new();
        if operands.iter().any(|operand| self.lowering.facts[operand.index()].may_gap) {
            // 2 is a truth that nobody knows, and the others may decide whatever it is.
            self.push(Instr::IntSet { dst: acc, value: 1 - decides });
            let mut tried = Vec::new();
            for &operand in operands {
                // The ones before may decide: what is computed here is not there afterwards.
                self.scopes.push(FxHashMap::default());
                let a = match self.units.unit_of.get(&operand) {
                    Some(&unit) => {
                        tried.push((operand, unit));
                        self.call(operand, unit, true)
                    }
                    None => self.operand(operand)?,
                };
                self.scopes.pop();
                self.see(operand, a);
                let to_next = self.push(Instr::Jump { to: 0 });
                self.push(Instr::IntCopy { dst: acc, a });
                to_end.push(self.push(Instr::Jump { to: 0 }));
                let here = self.here();
                self.unit.code[to_next] = Instr::JumpIf { a, value: 1 - decides, to: here };
            }
            // Reached with all known to be neutral, or with an unknown one.
            for (operand, unit) in tried {
                self.call(operand, unit, false);
            }
            self.push(Instr::IntSet { dst: acc, value: 1 - decides });
            let to = self.here();
            for at in to_end {
                self.unit.code[at] = Instr::JumpIf { a: acc, value: decides, to };
            }
            return Ok(acc);
        }
        for (position, &operand) in operands.iter().enumerate() {
            let a = if position == 0 { self.operand(operand)? } else { self.sub_region(id, position, operand)? };
            self.see(operand, a);
            self.push(Instr::IntCopy { dst: acc, a });
            to_end.push(self.push(Instr::Jump { to: 0 }));
        }
        let to = self.here();
        for at in to_end {
            self.unit.code[at] = Instr::JumpIf { a: acc, value: decides, to };
        }
        Ok(acc)
    }

    fn reduction(
        &mut self,
        id: NodeId,
        op: ReduceOp,
        inames: &[InameId],
        around: &[InameId],
        body: NodeId,
        ty: Type,
    ) -> Result<Reg, Error> {
        let (acc, is_first) = (self.reg(ty), self.int());
        if ty.is_float() {
            self.push(Instr::FloatStart { op, acc });
            self.push(Instr::IntSet { dst: is_first, value: 1 });
        } else {
            let value = neutral(op, ty);
            self.push(Instr::IntSet { dst: acc, value });
        }
        let mut open = around.to_vec();
        let mut nest = Vec::new();
        for &iname in inames {
            let bounds = self.lowering.domains.bounds(iname, &open)?;
            open.push(iname);
            let inputs = bounds.depends_on.iter().map(|&other| (other, self.regs[&other])).collect();
            let code = self.unit.loops.len();
            self.unit.loops.push(LoopCode { bounds, inputs });
            let (cur, end, is_dense) = (self.int(), self.int(), self.int());
            let at = self.push(Instr::LoopInit { code, cur, end, is_dense, exit: 0 });
            nest.push((iname, at, self.regs.insert(iname, cur)));
        }
        let value = self.sub_region(id, 0, body)?;
        self.push(match ty.is_float() {
            true => Instr::FloatJoin { op, acc, a: value, is_first, is_single: ty == Type::Float32 },
            false => Instr::IntJoin { op, acc, a: value, ty },
        });
        for (iname, at, shadowed) in nest.into_iter().rev() {
            let Instr::LoopInit { code, cur, end, is_dense, .. } = self.unit.code[at] else { continue };
            self.push(Instr::LoopNext { code, cur, end, is_dense, body: at + 1 });
            let exit = self.here();
            self.unit.code[at] = Instr::LoopInit { code, cur, end, is_dense, exit };
            match shadowed {
                Some(reg) => self.regs.insert(iname, reg),
                None => self.regs.remove(&iname),
            };
        }
        Ok(acc)
    }
}
