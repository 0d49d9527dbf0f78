//! The kernel under construction, and what is known at the place where the next instruction goes.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{ArrayId, Dtype, ExprId, InameId, InameSet, InsnId, Kernel, ParameterId};
use rustc_hash::FxHashMap;

use crate::cells::Cell;
use crate::choices::Choices;
use crate::defined::Defined;
use crate::elements::Stored;
use crate::fluxes::Flux;
use crate::hazards::Uses;
use crate::knobs::Knobs;
use crate::space::{ParameterInfo, Range, Size};

/// What an array is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An argument that is only read.
    Input,
    /// An argument of integers that are indices into dimensions of this size.
    Index(Size),
    /// An argument that is read and written.
    InOut,
    /// An argument that is only written.
    Output,
    /// A temporary.
    Temporary,
    /// A table.
    Table,
}

/// What is known of an array beside its declaration.
#[derive(Clone, Debug)]
pub(crate) struct ArrayInfo {
    pub(crate) role: Role,
    pub(crate) shape: Vec<Size>,
    /// Integers in it are at most this, either sign.
    pub(crate) bound: i64,
    /// What is defined of a temporary; absent if nothing is.
    pub(crate) defined: Option<Defined>,
    /// The first index is a literal in every access: what other indices may be is a matter of the elements that share it.
    pub(crate) is_blocked: bool,
}

/// A substitution rule, and where it may be used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleInfo {
    /// Inames that need a value.
    pub(crate) free: InameSet,
    /// Inames that must not have one.
    pub(crate) reduced: InameSet,
    /// What it reads.
    pub(crate) reads: Vec<(ArrayId, Box<[ExprId]>)>,
}

/// An open loop or condition.
pub(crate) struct Scope {
    pub(crate) kind: ScopeKind,
    /// What is in it.
    pub(crate) body: Vec<LoopTree>,
    /// Accesses to arrays, or to blocks of them, so far.
    pub(crate) uses: FxHashMap<(ArrayId, Option<ExprId>), Uses>,
}

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    /// The whole kernel.
    Kernel,
    /// A loop.
    Loop {
        /// Its iname.
        iname: InameId,
        /// Whether its iterations keep their order.
        is_sequential: bool,
    },
    /// A condition.
    Branch(ExprId),
}

/// Something that holds under a guard: the iname is at least `low`, and at least `high` below the last value of its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    pub(crate) iname: InameId,
    pub(crate) low: i64,
    pub(crate) high: i64,
}

/// An expression that may be used again in the same instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pooled {
    pub(crate) expr: ExprId,
    pub(crate) kind: Kind,
}

/// What kind of value an expression has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Condition,
}

/// The state of generation.
pub(crate) struct Builder<'a> {
    pub(crate) choices: &'a mut dyn Choices,
    pub(crate) knobs: Knobs,
    /// Arrays are in the order of creation; domains are made at the end.
    pub(crate) kernel: Kernel,
    pub(crate) parameters: Vec<ParameterInfo>,
    /// By iname.
    pub(crate) ranges: Vec<Range>,
    /// By array.
    pub(crate) arrays: Vec<ArrayInfo>,
    /// By substitution rule.
    pub(crate) rules: Vec<RuleInfo>,
    /// Arrays by role that may be read.
    pub(crate) readable: Vec<ArrayId>,
    /// Temporaries of which something is defined.
    pub(crate) live: Vec<ArrayId>,
    /// Arguments that may be written.
    pub(crate) writable: Vec<ArrayId>,
    /// The scope of the kernel first.
    pub(crate) scopes: Vec<Scope>,
    /// Inames of the reductions around the expression.
    pub(crate) bound: Vec<InameId>,
    /// What guards say.
    pub(crate) facts: Vec<Fact>,
    /// What can be shared.
    pub(crate) pool: Vec<Pooled>,
    /// Formal parameters that have a value here.
    pub(crate) n_formals: u32,
    /// Only literals are leaves of expressions.
    pub(crate) only_literals: bool,
    /// Reads of the rule under construction.
    pub(crate) reads: Vec<(ArrayId, Box<[ExprId]>)>,
    /// Operations that the expression may still have.
    pub(crate) n_operations: u32,
    /// Instructions that may still be made.
    pub(crate) n_instructions: u32,
    /// Whether the order of the kernel is implied by its instructions.
    pub(crate) is_unordered: bool,
    /// The dtype of most floats.
    pub(crate) float: Dtype,
    /// Inames that have had a loop.
    pub(crate) opened: InameSet,
    /// Instructions in the order in which they run.
    pub(crate) order: Vec<InsnId>,
    /// Tables that belong together.
    pub(crate) cells: Vec<Cell>,
    /// What an element tensor was made of last.
    pub(crate) stored: Option<Stored>,
    /// Scalars of cells.
    pub(crate) geometry: Option<ArrayId>,
    /// Functions of neighbours.
    pub(crate) fluxes: Vec<Flux>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(choices: &'a mut dyn Choices, knobs: &Knobs) -> Self {
        let mut builder = Self {
            choices,
            knobs: knobs.clone(),
            kernel: Kernel { name: "generated".to_owned(), ..Kernel::default() },
            parameters: Vec::new(),
            ranges: Vec::new(),
            arrays: Vec::new(),
            rules: Vec::new(),
            readable: Vec::new(),
            live: Vec::new(),
            writable: Vec::new(),
            scopes: vec![Scope { kind: ScopeKind::Kernel, body: Vec::new(), uses: FxHashMap::default() }],
            bound: Vec::new(),
            facts: Vec::new(),
            pool: Vec::new(),
            n_formals: 0,
            only_literals: false,
            reads: Vec::new(),
            n_operations: 0,
            n_instructions: 0,
            is_unordered: true,
            float: Dtype::Float64,
            opened: InameSet::new(),
            order: Vec::new(),
            cells: Vec::new(),
            stored: None,
            geometry: None,
            fluxes: Vec::new(),
        };
        builder.n_instructions = 1 + builder.below(u64::from(knobs.instructions)) as u32;
        builder.is_unordered = !builder.chance(knobs.linearized);
        if builder.chance(knobs.single / 2) {
            builder.float = Dtype::Float32;
        }
        builder
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.choices.below(n)
    }

    /// A position in a list of `n`.
    pub(crate) fn position(&mut self, n: usize) -> usize {
        self.choices.below(n as u64) as usize
    }

    /// True in `percent` of all cases; false is the simple answer.
    pub(crate) fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.choices.below(100) >= 100 - u64::from(percent.min(100))
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.choices.below((high - low + 1).max(1) as u64) as i64
    }

    /// One of a list.
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.position(list.len())]
    }

    /// The position of a weight; the first is the simplest.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut at = self.below(weights.iter().map(|&weight| u64::from(weight)).sum());
        for (idx, &weight) in weights.iter().enumerate() {
            match at.checked_sub(u64::from(weight)) {
                Some(rest) => at = rest,
                None => return idx,
            }
        }
        0
    }

    /// The inames of the open loops, outermost first.
    pub(crate) fn loops(&self) -> impl DoubleEndedIterator<Item = InameId> + '_ {
        self.scopes.iter().filter_map(|scope| match scope.kind {
            ScopeKind::Loop { iname, .. } => Some(iname),
            ScopeKind::Kernel | ScopeKind::Branch(_) => None,
        })
    }

    /// The open loops whose iterations have no order.
    pub(crate) fn free_loops(&self) -> Vec<InameId> {
        let free = |scope: &Scope| match scope.kind {
            ScopeKind::Loop { iname, is_sequential: false } => Some(iname),
            _ => None,
        };
        self.scopes.iter().filter_map(free).collect()
    }

    /// Whether an iname has a value here.
    pub(crate) fn has_value(&self, iname: InameId) -> bool {
        self.bound.contains(&iname) || self.loops().any(|open| open == iname)
    }

    /// All inames that have a value, innermost first.
    pub(crate) fn valued(&self) -> Vec<InameId> {
        self.bound.iter().rev().copied().chain(self.loops().rev()).collect()
    }

    /// The value of the iname minus this is not negative.
    pub(crate) fn margin_low(&self, iname: InameId) -> i64 {
        let facts = self.facts.iter().filter(|fact| fact.iname == iname).map(|fact| fact.low);
        facts.max().unwrap_or(0).max(self.ranges[iname.index()].margin_low())
    }

    /// The value of the iname plus this is below its size.
    pub(crate) fn margin_high(&self, iname: InameId) -> i64 {
        let facts = self.facts.iter().filter(|fact| fact.iname == iname).map(|fact| fact.high);
        facts.max().unwrap_or(0).max(self.ranges[iname.index()].margin_high())
    }

    /// A parameter, old or new.
    pub(crate) fn parameter(&mut self) -> ParameterId {
        let n = self.parameters.len();
        if n > 0 && (n == 3 || !self.chance(30)) {
            return ParameterId::new(self.position(n));
        }
        let least = self.pick(&[1, 0, 2, 3]);
        let value = least + self.pick(&[0, 1, 2, 5]);
        let dtype = if self.chance(self.knobs.integer / 2) { Dtype::Int64 } else { Dtype::Int32 };
        let name = ["n", "m", "l"][n].to_owned();
        self.kernel.parameters.push(nestegg_ir::Parameter { name, dtype, estimate: Some(value), is_stated: true });
        self.parameters.push(ParameterInfo { least, value });
        ParameterId::new(n)
    }
}
