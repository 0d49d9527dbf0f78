//! A kernel whose expressions and inames grow, with facts about them.

use std::cell::RefCell;

use nestegg_ir::affine::Affine;
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::{Expr, ExprId, InameId, Kernel, Licence};
use nestegg_isl as isl;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::alias::Aliases;
use crate::facts::Facts;
use crate::normalise::element::Source;
use crate::normalise::joint::{JointAnswer, Pair};
use crate::normalise::reshape::Question;
use crate::ranges::Ranges;
use crate::rename::Renamings;

/// How many steps isl may take in one call before the answer is that it is not known.
const MAX_ISL_OPERATIONS: u64 = 2_000_000;

/// A kernel at work.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) kernel: Kernel,
    pub(crate) facts: Facts,
    pub(crate) ranges: Ranges,
    /// The domains of the inames that the kernel came with.
    pub(crate) domains: Domains,
    /// Whether sums of floats may be taken in another order.
    pub(crate) licence: Licence,
    /// Whether floats of two sizes can meet.
    pub(crate) has_two_float_types: bool,
    /// Names that a new iname must not have.
    pub(crate) names: FxHashSet<String>,
    pub(crate) aliases: Aliases,
    pub(crate) renamings: Renamings,
    /// How many inames the kernel came with.
    pub(crate) n_original_inames: usize,
    /// What isl said of elements with divisions in their indices.
    pub(crate) reshape_answers: RefCell<FxHashMap<Question, Source>>,
    /// What isl said of elements written and read; with an iname, whether an earlier iteration of its loop writes.
    pub(crate) joint_answers: RefCell<FxHashMap<(Pair, Option<InameId>), JointAnswer>>,
}

impl Workspace {
    /// A workspace on a kernel, with a context of isl's of its own.
    pub(crate) fn new(kernel: Kernel) -> Result<Self, DomainError> {
        let context = isl::Context::new();
        let domains = Domains::new(&context, &kernel)?;
        let ranges = Ranges::new(&kernel, &domains)?;
        context.set_max_operations(Some(MAX_ISL_OPERATIONS));
        let names = kernel.inames.iter().map(|iname| &iname.name);
        let names = names.chain(kernel.arrays.iter().map(|array| &array.name));
        let names = names.chain(kernel.parameters.iter().map(|parameter| &parameter.name));
        let names = names.chain(kernel.substitutions.iter().map(|rule| &rule.name)).chain(&kernel.functions);
        Ok(Self {
            facts: Facts::new(&kernel, &ranges),
            licence: Licence::default(),
            has_two_float_types: kernel.has_two_float_types(),
            names: names.cloned().collect(),
            aliases: Aliases::default(),
            renamings: Renamings::default(),
            n_original_inames: kernel.inames.len(),
            reshape_answers: RefCell::default(),
            joint_answers: RefCell::default(),
            kernel,
            ranges,
            domains,
        })
    }

    /// Stores an expression and its facts.
    pub(crate) fn intern(&mut self, expr: Expr) -> ExprId {
        let id = self.kernel.exprs.intern(expr);
        self.facts.extend(&self.kernel, &self.ranges);
        id
    }

    /// An affine function as an expression.
    pub(crate) fn affine(&mut self, affine: &Affine) -> ExprId {
        let id = affine.to_expr(&mut self.kernel.exprs);
        self.facts.extend(&self.kernel, &self.ranges);
        id
    }

    /// Whether the value of `expr` depends on that of `iname`.
    pub(crate) fn is_free(&self, expr: ExprId, iname: InameId) -> bool {
        self.facts.free(expr).binary_search(&iname).is_ok()
    }

    /// Whether a reduction in `expr` binds `iname`.
    pub(crate) fn is_bound(&self, expr: ExprId, iname: InameId) -> bool {
        self.facts.bound(expr).binary_search(&iname).is_ok()
    }

    /// Whether `expr` reads `array`, which some instruction writes.
    pub(crate) fn reads(&self, expr: ExprId, array: nestegg_ir::ArrayId) -> bool {
        self.facts.memory(expr).binary_search(&array).is_ok()
    }
}
