//! Instructions: assignments of several shapes, calls, opaque text.
//!
//! Of an instruction, the write is recorded first, then its predicates and its value are made, so that they read nothing that
//! the write forbids; a temporary that the instruction defines becomes readable last.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{ArrayId, Assignee, Dtype, ExprId, InameId, InsnId, Instruction, InstructionKind, Op};

use crate::builder::{Builder, Fact, Role, ScopeKind};
use crate::growth::Growth;
use crate::hazards::Use;
use crate::integer::MAX_BOUND;
use crate::space::Size;
use crate::targets::{Data, Target};

/// Expressions nest at most so deep.
const MAX_DEPTH: u64 = 5;

impl Builder<'_> {
    /// A new budget for one instruction's expressions, and their depth.
    pub(crate) fn begin(&mut self) -> u32 {
        self.pool.clear();
        self.reads.clear();
        self.n_operations = 1 + self.below(u64::from(self.knobs.operations.max(1))) as u32;
        1 + self.below(MAX_DEPTH) as u32
    }

    /// Adds an instruction at this place.
    pub(crate) fn emit(&mut self, kind: InstructionKind, mut predicates: Vec<ExprId>) {
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

    pub(crate) fn emit_assignment(&mut self, (array, indices): Target, expression: ExprId, predicates: Vec<ExprId>) {
        let assignee = Assignee { array, indices };
        self.emit(InstructionKind::Assignment { assignee, expression }, predicates);
    }

    pub(crate) fn data(&mut self) -> Data {
        match self.weighted(&[100, u32::from(self.knobs.integer), u32::from(self.knobs.boolean)]) {
            0 => Data::Float,
            1 => Data::Integer,
            _ => Data::Bool,
        }
    }

    pub(crate) fn dtype(&mut self, data: Data) -> Dtype {
        match data {
            Data::Float => self.float_dtype(),
            Data::Integer => self.integer_dtype(),
            Data::Bool => Dtype::Bool,
        }
    }

    /// A value for an array; integers are made to fit it.
    pub(crate) fn value(&mut self, array: ArrayId, depth: u32) -> ExprId {
        match self.kernel[array].dtype {
            Dtype::Bool => self.condition(2),
            dtype if dtype.is_integer() => {
                let (expr, bound) = self.integer(depth.min(3));
                if bound <= self.arrays[array.index()].bound { expr } else { self.remainder(expr) }
            }
            _ => {
                let value = self.float(depth);
                self.tamed(value, Growth::Linear)
            }
        }
    }

    /// A remainder that fits any array of integers.
    pub(crate) fn remainder(&mut self, expr: ExprId) -> ExprId {
        let modulus = self.kernel.exprs.int(7);
        self.op(Op::Mod, [expr, modulus])
    }

    /// Predicates of an instruction whose write may as well not happen, and what they say.
    pub(crate) fn predicates(&mut self) -> (Vec<ExprId>, Vec<Fact>) {
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
