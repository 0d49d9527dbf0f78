//! Instructions: assignments of several shapes, calls, opaque text.
//!
//! Of an instruction, the write is recorded first, then its predicates and its value are made, so that they read nothing that
//! the write forbids; a temporary that the instruction defines becomes readable last.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{ArrayId, Assignee, Dtype, ExprId, InameId, InsnId, Instruction, InstructionKind, Op, ReduceOp};

use crate::builder::{Builder, Fact, Role, ScopeKind};
use crate::hazards::Use;
use crate::integer::MAX_BOUND;
use crate::space::Size;

/// Expressions nest at most so deep.
const MAX_DEPTH: u64 = 5;
/// A sum of remainders in an array of integers stays below this.
const SUM_BOUND: i64 = 1 << 18;

/// What an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    Float,
    Integer,
    Bool,
}

/// An element to write.
type Target = (ArrayId, Box<[ExprId]>);

impl Builder<'_> {
    /// A new budget for one instruction's expressions, and their depth.
    pub(crate) fn begin(&mut self) -> u32 {
        self.pool.clear();
        self.reads.clear();
        self.n_operations = 1 + self.below(u64::from(self.knobs.operations.max(1))) as u32;
        1 + self.below(MAX_DEPTH) as u32
    }

    /// Adds an instruction at this place.
    fn emit(&mut self, kind: InstructionKind, mut predicates: Vec<ExprId>) {
        if self.is_unordered {
            let conditions = self.scopes.iter().filter_map(|scope| match scope.kind {
                ScopeKind::Branch(condition) => Some(condition),
                ScopeKind::Kernel | ScopeKind::Loop { .. } => None,
            });
            predicates.splice(0..0, conditions);
        }
        let insn = InsnId::new(self.kernel.instructions.len());
        let within = self.loops().collect();
        let id = format!("s{}", insn.index());
        self.kernel.instructions.push(Instruction { id, kind, within, depends_on: Vec::new(), predicates });
        self.order.push(insn);
        if let Some(scope) = self.scopes.last_mut() {
            scope.body.push(LoopTree::Run(insn));
        }
        self.n_instructions = self.n_instructions.saturating_sub(1);
    }

    fn emit_assignment(&mut self, (array, indices): Target, expression: ExprId, predicates: Vec<ExprId>) {
        let assignee = Assignee { array, indices };
        self.emit(InstructionKind::Assignment { assignee, expression }, predicates);
    }

    fn data(&mut self) -> Data {
        match self.weighted(&[100, u32::from(self.knobs.integer), u32::from(self.knobs.boolean)]) {
            0 => Data::Float,
            1 => Data::Integer,
            _ => Data::Bool,
        }
    }

    fn dtype(&mut self, data: Data) -> Dtype {
        match data {
            Data::Float => self.float_dtype(),
            Data::Integer => self.integer_dtype(),
            Data::Bool => Dtype::Bool,
        }
    }

    /// A value for an array; integers are made to fit it.
    fn value(&mut self, array: ArrayId, depth: u32) -> ExprId {
        match self.kernel[array].dtype {
            Dtype::Bool => self.condition(2),
            dtype if dtype.is_integer() => {
                let (expr, bound) = self.integer(depth.min(3));
                if bound <= self.arrays[array.index()].bound { expr } else { self.remainder(expr) }
            }
            _ => self.float(depth),
        }
    }

    /// A remainder that fits any array of integers.
    fn remainder(&mut self, expr: ExprId) -> ExprId {
        let modulus = self.kernel.exprs.int(7);
        self.op(Op::Mod, [expr, modulus])
    }

    /// Predicates of an instruction whose write may as well not happen, and what they say.
    fn predicates(&mut self) -> (Vec<ExprId>, Vec<Fact>) {
        let (mut predicates, mut facts) = (Vec::new(), Vec::new());
        while predicates.len() < 2 && self.chance(self.knobs.predicate) {
            let loops: Vec<InameId> = self.loops().collect();
            if !loops.is_empty() && self.chance(50) {
                let (condition, fact) = self.edge_condition(&loops);
                predicates.push(condition);
                facts.push(fact);
            } else {
                predicates.push(self.condition(1));
            }
        }
        self.pool.clear();
        (predicates, facts)
    }

    /// `y[i] = e`.
    pub(crate) fn assign_argument(&mut self) {
        let depth = self.begin();
        let data = self.data();
        let target = self.argument(data);
        self.record(target.0, &target.1, Use::Write);
        let (predicates, facts) = self.predicates();
        let array = target.0;
        let expression = self.under(&facts, |builder| builder.value(array, depth));
        self.emit_assignment(target, expression, predicates);
    }

    /// An element of an argument that each iteration of the unordered loops may write.
    fn argument(&mut self, data: Data) -> Target {
        for _ in 0..2 {
            if self.writable.is_empty() || !self.chance(40) {
                break;
            }
            let at = self.position(self.writable.len().min(6));
            let array = self.writable[self.writable.len() - 1 - at];
            let is_fit = match data {
                Data::Float => self.kernel[array].dtype.is_float(),
                Data::Integer => self.kernel[array].dtype.is_integer(),
                Data::Bool => self.kernel[array].dtype == Dtype::Bool,
            };
            if is_fit
                && let Some(indices) = self.old_indices(array)
                && self.admits(array, &indices, Use::Write)
            {
                return (array, indices);
            }
        }
        let dtype = self.dtype(data);
        let inames = self.dims_of_write();
        let role = if self.chance(self.knobs.update.max(20)) { Role::InOut } else { Role::Output };
        self.new_target(role, dtype, &inames)
    }

    /// All loops without order, in some order, and some of the others.
    fn dims_of_write(&mut self) -> Vec<InameId> {
        let mut inames = self.free_loops();
        let others: Vec<InameId> = self.loops().filter(|iname| !inames.contains(iname)).collect();
        for iname in others {
            if self.chance(60) {
                inames.push(iname);
            }
        }
        if inames.len() > 1 && self.chance(30) {
            let at = self.position(inames.len());
            inames.rotate_left(at);
        }
        inames
    }

    /// A new array with one dimension for each iname.
    fn new_target(&mut self, role: Role, dtype: Dtype, inames: &[InameId]) -> Target {
        let mut shape = Vec::new();
        let mut indices: Vec<ExprId> = Vec::new();
        for &iname in inames {
            let size = self.ranges[iname.index()].size;
            let value = self.kernel.exprs.iname(iname);
            let (size, index) = match size {
                _ if role == Role::Temporary || !self.chance(self.knobs.offset / 2) => (size, value),
                Size::Const(extent) if self.chance(30) => {
                    let factor = self.kernel.exprs.int(2);
                    (Size::Const(2 * extent), self.op(Op::Mul, [factor, value]))
                }
                size => {
                    let offset = self.between(0, 2);
                    (size.plus(offset), self.offset(value, offset))
                }
            };
            shape.push(size);
            indices.push(index);
        }
        (self.declare(role, dtype, shape), indices.into())
    }

    /// `t[i] = e` for a temporary without value.
    pub(crate) fn define_temporary(&mut self) {
        let depth = self.begin();
        let data = self.data();
        let target = self.undefined(data);
        let (array, indices) = target.clone();
        if data == Data::Float && self.chance(self.knobs.function / 2) {
            let argument = self.float(depth);
            let function = self.pick(&["sin", "cos", "fabs"]);
            let function = self.kernel.function(function);
            let assignees = vec![Assignee { array, indices: indices.clone() }];
            self.emit(InstructionKind::Call { assignees, function, arguments: vec![argument] }, Vec::new());
        } else {
            if data == Data::Integer {
                self.arrays[array.index()].bound = MAX_BOUND;
            }
            let expression = self.value(array, depth);
            self.emit_assignment(target, expression, Vec::new());
        }
        self.define(array, &indices);
    }

    /// A temporary without value, new or used up, indexed by some of the loops.
    fn undefined(&mut self, data: Data) -> Target {
        let dtype = self.dtype(data);
        let loops: Vec<InameId> = self.loops().collect();
        let mut inames: Vec<InameId> = Vec::new();
        for iname in loops {
            if self.chance(60) {
                inames.push(iname);
            }
        }
        if self.chance(30) {
            let shape: Vec<Size> = inames.iter().map(|iname| self.ranges[iname.index()].size).collect();
            let is_free = |array: &ArrayId| {
                let info = &self.arrays[array.index()];
                info.role == Role::Temporary
                    && info.defined.is_none()
                    && info.shape == shape
                    && self.kernel[*array].dtype == dtype
            };
            let n = self.kernel.arrays.len();
            let used_up = (n.saturating_sub(32)..n).map(ArrayId::new).find(is_free);
            if let Some(array) = used_up {
                let indices = inames.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
                return (array, indices);
            }
        }
        self.new_target(Role::Temporary, dtype, &inames)
    }

    /// `u[i] = e` where `u[i]` has a value, which `e` may use.
    pub(crate) fn update(&mut self) -> bool {
        let depth = self.begin();
        let Some(target) = self.defined_target(Use::Write) else { return false };
        let (array, indices) = target.clone();
        self.record(array, &indices, Use::Write);
        let (predicates, facts) = self.predicates();
        let is_float = self.kernel[array].dtype.is_float();
        let uses_old = self.chance(60);
        let mut expression = self.under(&facts, |builder| builder.value(array, depth));
        if is_float && uses_old && self.admits(array, &indices, Use::Read) {
            let old = self.read(array, indices);
            let factor = self.float_literal();
            let product = self.op(Op::Mul, [factor, old]);
            expression = self.op(Op::Add, [product, expression]);
        }
        self.emit_assignment(target, expression, predicates);
        true
    }

    /// An element that has a value and may be used so.
    fn defined_target(&mut self, access: Use) -> Option<Target> {
        for _ in 0..4 {
            let n_live = self.live.len().min(6);
            let n_writable = self.writable.len().min(6);
            if n_live + n_writable == 0 {
                return None;
            }
            let at = self.position(n_live + n_writable);
            let array = match at.checked_sub(n_live) {
                None => self.live[self.live.len() - 1 - at],
                Some(at) => self.writable[self.writable.len() - 1 - at],
            };
            let is_readable = self.arrays[array.index()].role != Role::Output;
            let is_number = self.kernel[array].dtype != Dtype::Bool;
            let is_fit = match access {
                Use::Accumulate(_) => {
                    is_readable && is_number && (self.kernel[array].dtype.is_float() || self.has_room(array))
                }
                Use::Read | Use::Write => is_readable,
            };
            if is_fit
                && let Some(indices) = self.old_indices(array)
                && self.admits(array, &indices, access)
            {
                return Some((array, indices));
            }
        }
        None
    }

    fn operation(&mut self) -> ReduceOp {
        if !self.chance(self.knobs.other_reductions) {
            return ReduceOp::Sum;
        }
        self.pick(&[ReduceOp::Max, ReduceOp::Min, ReduceOp::Product])
    }

    /// `u[i] = u[i] + e` for an argument or a temporary that has a value.
    pub(crate) fn accumulate(&mut self) {
        let depth = self.begin();
        let op = self.operation();
        let old = if self.chance(60) { self.defined_target(Use::Accumulate(op)) } else { None };
        let target = match old {
            Some(target) => target,
            None => {
                let loops: Vec<InameId> = self.loops().collect();
                let mut inames = Vec::new();
                for iname in loops {
                    if self.chance(60) {
                        inames.push(iname);
                    }
                }
                let dtype = self.float_dtype();
                self.new_target(Role::InOut, dtype, &inames)
            }
        };
        self.accumulate_into(target, op, depth);
    }

    fn accumulate_into(&mut self, target: Target, op: ReduceOp, depth: u32) {
        let (array, indices) = target.clone();
        // Products of integers grow too fast.
        let op = if op == ReduceOp::Product && !self.kernel[array].dtype.is_float() { ReduceOp::Max } else { op };
        if !self.admits(array, &indices, Use::Accumulate(op)) {
            return self.assign_argument();
        }
        self.record(array, &indices, Use::Accumulate(op));
        let (predicates, facts) = self.predicates();
        let mut value = self.under(&facts, |builder| builder.value(array, depth));
        if self.kernel[array].dtype.is_integer() {
            value = self.remainder(value);
            if op == ReduceOp::Sum {
                self.arrays[array.index()].bound = SUM_BOUND;
            }
        }
        let old = self.kernel.exprs.access(array, indices);
        let expression = match (op, self.weighted(&[6, 2, 1])) {
            (ReduceOp::Sum, 2) => self.op(Op::Sub, [old, value]),
            (_, 1) => self.op(op.operator(), [value, old]),
            _ => self.op(op.operator(), [old, value]),
        };
        self.emit_assignment(target, expression, predicates);
    }

    /// `t = 0`, and later `t = t + e` in loops that `inside` opens.
    pub(crate) fn initialise_and_accumulate(&mut self, inside: impl FnOnce(&mut Self, &mut dyn FnMut(&mut Self))) {
        self.begin();
        let data = if self.chance(self.knobs.integer / 2) { Data::Integer } else { Data::Float };
        let (array, indices) = self.undefined(data);
        let op = self.operation();
        let neutral = match (op, data) {
            (ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min, Data::Float) => self.number(0.0),
            (ReduceOp::Product, Data::Float) => self.number(1.0),
            _ => self.kernel.exprs.int(0),
        };
        self.emit_assignment((array, indices.clone()), neutral, Vec::new());
        self.define(array, &indices);
        inside(self, &mut |builder| {
            let depth = builder.begin();
            match builder.old_indices(array) {
                Some(indices) => builder.accumulate_into((array, indices), op, depth),
                None => builder.assign_argument(),
            }
        });
    }

    /// `u[i] = c*u[i - 1] + e` over a sequential iname.
    pub(crate) fn recurrence(&mut self, iname: InameId) {
        let depth = self.begin();
        let mut inames = self.free_loops();
        inames.insert(0, iname);
        let dtype = self.float_dtype();
        let shape = inames.iter().map(|iname| self.ranges[iname.index()].size).collect();
        let array = self.declare(Role::InOut, dtype, shape);
        let indices: Box<[ExprId]> = inames.iter().map(|&iname| self.kernel.exprs.iname(iname)).collect();
        self.record(array, &indices, Use::Write);
        let mut predicates = Vec::new();
        if self.margin_low(iname) < 1 {
            let one = self.kernel.exprs.int(1);
            predicates.push(self.op(Op::Ge, [indices[0], one]));
        }
        let mut before = indices.clone();
        before[0] = self.offset(indices[0], -1);
        let previous = self.read(array, before);
        let factor = self.float_literal();
        let product = self.op(Op::Mul, [factor, previous]);
        let value = self.float(depth);
        let expression = self.op(Op::Add, [product, value]);
        self.emit_assignment((array, indices), expression, predicates);
    }

    /// `t, s = f(…)`.
    pub(crate) fn call_instruction(&mut self) {
        let depth = self.begin();
        let targets = [self.undefined(Data::Float), {
            let dtype = self.float_dtype();
            let inames = self.dims_of_write();
            self.new_target(Role::Temporary, dtype, &inames)
        }];
        if targets[0].0 == targets[1].0 {
            return self.assign_argument();
        }
        let n = self.between(1, 2);
        let arguments = (0..n).map(|_| self.float(depth)).collect();
        let function = self.pick(&["two_values", "eigenvalues"]);
        let function = self.kernel.function(function);
        let assignees =
            targets.iter().map(|(array, indices)| Assignee { array: *array, indices: indices.clone() }).collect();
        self.emit(InstructionKind::Call { assignees, function, arguments }, Vec::new());
        for (array, indices) in targets {
            self.define(array, &indices);
        }
    }

    /// C text that reads one argument and changes another.
    pub(crate) fn opaque(&mut self) {
        self.begin();
        let size = Size::Const(self.between(1, i64::from(self.knobs.extent.max(1))));
        let read = self.declare(Role::Input, Dtype::Float64, vec![size]);
        let write = self.declare(Role::InOut, Dtype::Float64, vec![size]);
        let code = format!("{}[0] = {}[0] + 1.0;", self.kernel[write].name, self.kernel[read].name);
        self.emit(InstructionKind::Opaque { code, reads: vec![read, write], writes: vec![write] }, Vec::new());
    }
}
