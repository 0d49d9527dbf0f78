//! A kernel: instructions over inames, each run once for every integer point of its inames' domain.
//!
//! The model is loopy's and the contract `nestegg-kernel/1`. A [`Kernel`] is plain data, checked by the reader and
//! by [`verify`](crate::verify::verify()); isl objects made from it live in [`Domains`](crate::domains::Domains). What order the instructions run in is
//! a [`Linearization`]; a kernel without one means [`default_order`](crate::order::default_order).

use std::sync::Arc;

use crate::affine;
use crate::expr::{Expr, Exprs, Op};
use crate::ids::{ArrayId, DomainId, ExprId, FunctionId, InameId, InameSet, InsnId, ParameterId, SubstitutionId};
use crate::linearization::{Item, Linearization, conditions_mut};
use crate::number::{Dtype, Number, Stored};

/// A symbolic integer size, fixed for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, a C identifier.
    pub name: String,
    /// An integer dtype.
    pub dtype: Dtype,
    /// The value that cost models assume, if given.
    pub estimate: Option<i64>,
    /// Whether it is a parameter of the kernel's. Otherwise it stands for the extent of an argument that the kernel does not state and occurs in
    /// shapes only, or for the end of a loop that [data bound](crate::data_bounds) and occurs in one domain only. No dump names it, and nobody
    /// passes it; [`unstated`](crate::unstated) chooses values where one is needed.
    pub is_stated: bool,
}

/// How an iname is implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InameTag {
    /// `unroll`.
    Unroll,
    /// `vec`.
    Vec,
    /// `parallel`.
    Parallel,
    /// `sequential`: iterations may not be reordered.
    Sequential,
}

impl InameTag {
    /// Every tag.
    pub const ALL: [Self; 4] = [Self::Unroll, Self::Vec, Self::Parallel, Self::Sequential];

    /// Its spelling in kernel dumps.
    #[must_use]
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Unroll => "unroll",
            Self::Vec => "vec",
            Self::Parallel => "parallel",
            Self::Sequential => "sequential",
        }
    }

    /// The tag with that spelling.
    #[must_use]
    pub fn from_spelling(spelling: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.spelling() == spelling)
    }
}

/// A named loop variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iname {
    /// Its name, a C identifier.
    pub name: String,
    /// How it is implemented, in the order written.
    pub tags: Vec<InameTag>,
    /// The one domain in which it is a set dimension.
    pub domain: DomainId,
}

/// An isl set of values of some inames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The set as isl reads it; kept as written.
    pub text: String,
    /// Its set dimensions, in order.
    pub inames: Vec<InameId>,
    /// Inames of other domains that it uses as parameters: they enclose it.
    pub enclosing: Vec<InameId>,
    /// Parameters of the kernel that it uses.
    pub parameters: Vec<ParameterId>,
}

/// What the kernel may do with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArgumentAccess {
    /// Only read.
    Read,
    /// Only written; elements that are not written keep no promised value.
    Write,
    /// Read and written.
    ReadWrite,
}

impl ArgumentAccess {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::ReadWrite];

    /// Its spelling in kernel dumps.
    #[must_use]
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "readwrite",
        }
    }

    /// The access with that spelling.
    #[must_use]
    pub fn from_spelling(spelling: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|access| access.spelling() == spelling)
    }
}

/// What kind of array it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayKind {
    /// Comes from outside; distinct arguments do not alias.
    Argument(ArgumentAccess),
    /// Local to the kernel, without a value at the start.
    Temporary,
    /// A read-only temporary with constant values, row-major; as many as the shape says.
    Table(Arc<[Number]>),
}

/// An argument, a temporary or a table; a scalar has the empty shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name, a C identifier.
    pub name: String,
    /// The type of its elements where they are computed with.
    pub dtype: Dtype,
    /// Their type in memory, if that is another: an integer type of which `dtype` is [the one to compute in](Stored::dtype).
    pub stored: Option<Stored>,
    /// One size per dimension, row-major: integer expressions in the parameters.
    pub shape: Vec<ExprId>,
    /// Argument, temporary or table.
    pub kind: ArrayKind,
}

impl Array {
    /// The name of the type of its elements in kernel dumps.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.stored.map_or(self.dtype.name(), Stored::name)
    }

    /// Bytes of one element in memory.
    #[must_use]
    pub fn element_size(&self) -> u64 {
        self.stored.map_or(self.dtype.size(), Stored::size)
    }

    /// Whether it comes from outside.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        matches!(self.kind, ArrayKind::Argument(_))
    }

    /// Whether it is a temporary that instructions write.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.kind, ArrayKind::Temporary)
    }

    /// Its constant values, if it is a table.
    #[must_use]
    pub fn table(&self) -> Option<&Arc<[Number]>> {
        match &self.kind {
            ArrayKind::Table(values) => Some(values),
            ArrayKind::Argument(_) | ArrayKind::Temporary => None,
        }
    }

    /// Whether instructions may write it.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        match self.kind {
            ArrayKind::Argument(access) => access != ArgumentAccess::Read,
            ArrayKind::Temporary => true,
            ArrayKind::Table(_) => false,
        }
    }
}

/// A pure, named expression. It says nothing of where a value is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// Its name, a C identifier.
    pub name: String,
    /// The names of its formal parameters.
    pub parameters: Vec<String>,
    /// Its body; [`Expr::Formal`](crate::Expr::Formal) stands for a formal parameter.
    pub expression: ExprId,
}

/// What an instruction writes: an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignee {
    /// A writable array.
    pub array: ArrayId,
    /// One integer expression per dimension.
    pub indices: Box<[ExprId]>,
}

impl Assignee {
    /// Whether an expression is the old value of the element: an access at the same indices.
    #[must_use]
    pub fn is_read_by(&self, exprs: &Exprs, id: ExprId) -> bool {
        matches!(&exprs[id], Expr::Access { array, indices } if *array == self.array && *indices == self.indices)
    }
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstructionKind {
    /// Stores a value.
    Assignment {
        /// Where.
        assignee: Assignee,
        /// What.
        expression: ExprId,
    },
    /// Calls a function with several results.
    Call {
        /// Where the results go.
        assignees: Vec<Assignee>,
        /// The function.
        function: FunctionId,
        /// Its arguments.
        arguments: Vec<ExprId>,
    },
    /// C text: never changed, never moved across what it reads or writes.
    Opaque {
        /// The text.
        code: String,
        /// Arrays, inames and parameters by name that it reads: the arrays.
        reads: Vec<ArrayId>,
        /// Arrays that it writes.
        writes: Vec<ArrayId>,
    },
}

/// An instruction: runs once for every point of the domain of `within` at which all predicates hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its id in the dump, unique in the kernel.
    pub id: String,
    /// What it does.
    pub kind: InstructionKind,
    /// The inames at whose points it runs, in the order written.
    pub within: Vec<InameId>,
    /// Instructions whose instances come before.
    pub depends_on: Vec<InsnId>,
    /// Conditions, all of which must hold.
    pub predicates: Vec<ExprId>,
}

impl Instruction {
    /// The inames at whose points it runs, as a set.
    #[must_use]
    pub fn within_set(&self) -> InameSet {
        self.within.iter().copied().collect()
    }

    /// What it writes as far as it is known by element; empty for an opaque instruction.
    #[must_use]
    pub fn assignees(&self) -> &[Assignee] {
        match &self.kind {
            InstructionKind::Assignment { assignee, .. } => std::slice::from_ref(assignee),
            InstructionKind::Call { assignees, .. } => assignees,
            InstructionKind::Opaque { .. } => &[],
        }
    }

    /// The operator and the operand of `x op= operand`, if it is that: a sum, a difference or a product of two operands.
    #[must_use]
    pub fn update(&self, exprs: &Exprs) -> Option<(Op, ExprId)> {
        let InstructionKind::Assignment { assignee, expression } = &self.kind else { return None };
        let Expr::Op { op, operands } = &exprs[*expression] else { return None };
        let [a, b] = **operands else { return None };
        match op {
            Op::Add | Op::Mul if assignee.is_read_by(exprs, a) => Some((*op, b)),
            Op::Add | Op::Mul if assignee.is_read_by(exprs, b) => Some((*op, a)),
            Op::Sub if assignee.is_read_by(exprs, a) => Some((Op::Sub, b)),
            _ => None,
        }
    }

    /// The arrays that it writes.
    #[must_use]
    pub fn written_arrays(&self) -> Vec<ArrayId> {
        match &self.kind {
            InstructionKind::Opaque { writes, .. } => writes.clone(),
            _ => self.assignees().iter().map(|assignee| assignee.array).collect(),
        }
    }

    /// Every expression that it evaluates: right sides, indices of assignees, predicates.
    pub fn expressions(&self) -> impl Iterator<Item = ExprId> + '_ {
        let values: &[ExprId] = match &self.kind {
            InstructionKind::Assignment { expression, .. } => std::slice::from_ref(expression),
            InstructionKind::Call { arguments, .. } => arguments,
            InstructionKind::Opaque { .. } => &[],
        };
        values
            .iter()
            .copied()
            .chain(self.assignees().iter().flat_map(|assignee| assignee.indices.iter().copied()))
            .chain(self.predicates.iter().copied())
    }

    /// Replaces every expression that it evaluates by what `map` answers.
    pub fn map_expressions(&mut self, mut map: impl FnMut(ExprId) -> ExprId) {
        let map_assignee = |assignee: &mut Assignee, map: &mut dyn FnMut(ExprId) -> ExprId| {
            for index in &mut assignee.indices {
                *index = map(*index);
            }
        };
        match &mut self.kind {
            InstructionKind::Assignment { assignee, expression } => {
                map_assignee(assignee, &mut map);
                *expression = map(*expression);
            }
            InstructionKind::Call { assignees, arguments, .. } => {
                for assignee in assignees {
                    map_assignee(assignee, &mut map);
                }
                for argument in arguments {
                    *argument = map(*argument);
                }
            }
            InstructionKind::Opaque { .. } => {}
        }
        for predicate in &mut self.predicates {
            *predicate = map(*predicate);
        }
    }
}

/// A kernel in the model of `nestegg-kernel/1`.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// A C identifier.
    pub name: String,
    /// JSON text that is carried through untouched.
    pub meta: Option<Arc<str>>,
    /// Symbolic sizes.
    pub parameters: Vec<Parameter>,
    /// An isl parameter set in text that holds for the parameters.
    pub assumptions: Option<String>,
    /// The domains of the inames.
    pub domains: Vec<Domain>,
    /// Loop variables, in the order in which domains name them.
    pub inames: Vec<Iname>,
    /// Arguments in their order, then temporaries and tables in theirs.
    pub arrays: Vec<Array>,
    /// Names of the functions that expressions and calls use.
    pub functions: Vec<String>,
    /// Substitution rules.
    pub substitutions: Vec<Substitution>,
    /// The instructions, in list order.
    pub instructions: Vec<Instruction>,
    /// All expressions.
    pub exprs: Exprs,
}

macro_rules! index_kernel {
    ($($id:ty => $field:ident: $target:ty, $ids:ident, $doc:literal;)+) => {$(
        impl std::ops::Index<$id> for Kernel {
            type Output = $target;

            fn index(&self, id: $id) -> &$target {
                &self.$field[id.index()]
            }
        }

        impl std::ops::IndexMut<$id> for Kernel {
            fn index_mut(&mut self, id: $id) -> &mut $target {
                &mut self.$field[id.index()]
            }
        }

        impl Kernel {
            #[doc = $doc]
            pub fn $ids(&self) -> impl DoubleEndedIterator<Item = $id> + ExactSizeIterator + use<> {
                (0..self.$field.len()).map(<$id>::new)
            }
        }
    )+};
}

index_kernel! {
    ParameterId => parameters: Parameter, parameter_ids, "All parameters, in order.";
    DomainId => domains: Domain, domain_ids, "All domains, in order.";
    InameId => inames: Iname, iname_ids, "All inames, in order.";
    ArrayId => arrays: Array, array_ids, "All arrays: arguments, then temporaries and tables.";
    FunctionId => functions: String, function_ids, "All functions, in order of first use.";
    SubstitutionId => substitutions: Substitution, substitution_ids, "All substitution rules, in order.";
    InsnId => instructions: Instruction, insn_ids, "All instructions, in list order.";
}

impl Kernel {
    /// The inames of a reduction in the order in which it runs over them, the outermost first: as written, but each after those that
    /// its domain depends on.
    #[must_use]
    pub fn enclosing_first(&self, inames: &[InameId]) -> Vec<InameId> {
        let mut left: Vec<InameId> = inames.to_vec();
        let mut res = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_next = |iname: &InameId| {
                let enclosing = &self[self[*iname].domain].enclosing;
                !enclosing.iter().any(|outer| left.contains(outer))
            };
            let next = left.iter().position(is_next).unwrap_or(0);
            res.push(left.remove(next));
        }
        res
    }

    /// Whether a size in a shape is an extent that the kernel does not state.
    #[must_use]
    pub fn is_unstated(&self, size: ExprId) -> bool {
        matches!(self.exprs[size], Expr::Parameter(parameter) if !self[parameter].is_stated)
    }

    /// The extents of an array, if all are constant and none is negative.
    #[must_use]
    pub fn constant_shape(&self, array: ArrayId) -> Option<Vec<usize>> {
        let extent = |&size: &ExprId| usize::try_from(affine::of(&self.exprs, size)?.as_constant()?).ok();
        self[array].shape.iter().map(extent).collect()
    }

    /// The parameters that the kernel states, in order.
    pub fn stated_parameters(&self) -> impl Iterator<Item = ParameterId> + '_ {
        self.parameter_ids().filter(|&parameter| self[parameter].is_stated)
    }

    /// The arguments, in order.
    pub fn arguments(&self) -> impl Iterator<Item = ArrayId> + '_ {
        self.array_ids().filter(|&array| self[array].is_argument())
    }

    /// Rewrites the expressions of all instructions, as [`Exprs::rewrite`] does. Conditions of a linearization stay.
    pub fn rewrite(&mut self, rewrite: impl FnMut(&mut Exprs, ExprId, Expr) -> ExprId) {
        self.rewrite_all(&mut [], rewrite);
    }

    /// The same with the conditions of a linearization.
    pub fn rewrite_all(&mut self, items: &mut [Item], rewrite: impl FnMut(&mut Exprs, ExprId, Expr) -> ExprId) {
        let conditions = conditions_mut(items);
        let of_instructions = self.instructions.iter().flat_map(Instruction::expressions);
        let roots: Vec<ExprId> = of_instructions.chain(conditions.iter().map(|id| **id)).collect();
        let rewritten = self.exprs.rewrite(roots, rewrite);
        self.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| rewritten.get(id)));
        conditions.into_iter().for_each(|id| *id = rewritten.get(*id));
    }

    /// For each array whether an instruction writes it.
    #[must_use]
    pub fn written(&self) -> Vec<bool> {
        let mut res = vec![false; self.arrays.len()];
        for array in self.instructions.iter().flat_map(Instruction::written_arrays) {
            res[array.index()] = true;
        }
        res
    }

    /// The id of the function of that name, which is added if it is new.
    pub fn function(&mut self, name: &str) -> FunctionId {
        match self.functions.iter().position(|function| function == name) {
            Some(idx) => FunctionId::new(idx),
            None => {
                self.functions.push(name.to_owned());
                FunctionId::new(self.functions.len() - 1)
            }
        }
    }

    /// Whether iterations of the iname may not be reordered.
    #[must_use]
    pub fn is_sequential(&self, iname: InameId) -> bool {
        self[iname].tags.contains(&InameTag::Sequential)
    }
}

impl Kernel {
    /// The float dtypes of arrays and conversions: all in which the kernel may compute. An argument that nothing reads or writes has no say:
    /// the parts of a kernel keep those of the others.
    pub fn float_dtypes(&self) -> impl Iterator<Item = Dtype> + '_ {
        let mut is_used: Vec<bool> = self.arrays.iter().map(|array| !array.is_argument()).collect();
        for (_, expr) in self.exprs.iter() {
            if let Expr::Access { array, .. } = expr {
                is_used[array.index()] = true;
            }
        }
        for instruction in &self.instructions {
            instruction.written_arrays().iter().for_each(|array| is_used[array.index()] = true);
            if let InstructionKind::Opaque { reads, .. } = &instruction.kind {
                reads.iter().for_each(|array| is_used[array.index()] = true);
            }
        }
        let of_arrays = self.arrays.iter().zip(is_used).filter(|(_, is_used)| *is_used).map(|(array, _)| array.dtype);
        let of_casts = self.exprs.iter().filter_map(|(_, expr)| match expr {
            Expr::Cast { dtype, .. } => Some(*dtype),
            _ => None,
        });
        of_arrays.chain(of_casts).filter(|dtype| dtype.is_float())
    }

    /// Whether it holds `float32` values, in arrays or on the way. An operation on float literals alone then takes the type that it
    /// meets, which may be either.
    #[must_use]
    pub fn has_single(&self) -> bool {
        self.float_dtypes().any(|dtype| dtype == Dtype::Float32)
    }

    /// Whether floats of two sizes meet, so that a literal has no size of its own.
    #[must_use]
    pub fn has_two_float_types(&self) -> bool {
        let mut floats = self.float_dtypes();
        floats.next().is_some_and(|first| floats.any(|other| other != first))
    }
}

/// A kernel whose instructions are in a fixed order: the loops, conditions and runs of its linearization.
#[derive(Clone, Debug, Default)]
pub struct LinearizedKernel {
    /// The kernel.
    pub kernel: Kernel,
    /// The order.
    pub linearization: Linearization,
}

/// What a dump holds: a kernel, with a linearization or without.
#[derive(Clone, Debug)]
pub enum Program {
    /// `linearization` is `null`.
    Unordered(Kernel),
    /// The list is the program.
    Linearized(LinearizedKernel),
}

impl Program {
    /// The kernel in either case.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        match self {
            Self::Unordered(kernel) => kernel,
            Self::Linearized(linearized) => &linearized.kernel,
        }
    }

    /// The linearization, if there is one.
    #[must_use]
    pub fn linearization(&self) -> Option<&Linearization> {
        match self {
            Self::Unordered(_) => None,
            Self::Linearized(linearized) => Some(&linearized.linearization),
        }
    }
}
