//! From the syntax tree to the kernel, with every check.
//!
//! # Input
//! A syntax tree of either notation; what its reader reported is absent from it or marked as an error.
//! # Output
//! The kernel, its spans, and all errors. Lowering goes on after an error, and says nothing of what follows from
//! what has been reported.
//! # Method
//! Names first (parameters, the domains' inames, arrays, substitutions), then expressions, operands before operations.
//! # Complexity
//! Linear in the source, but for isl's work on the domains, and for instructions under conditions of the text form,
//! which each lower their conditions again.
//! # Not done
//! No data-flow: whether a temporary is written before it is read, or an index is in bounds.

mod arrays;
mod bounds;
mod cycles;
mod domains;
mod exprs;
mod instructions;
mod linearization;
mod names;
mod resolve;
mod substitutions;
mod types;

use nestegg_ir::verify::Place;
use nestegg_ir::{ArrayId, ExprId, InameId, InameSet, Kernel, LinearizedKernel, ParameterId, Program, SubstitutionId};
use nestegg_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Errors;
use crate::spans::Spans;
use crate::syntax::{KernelSyntax, NodeId};
pub(crate) use names::{FUNCTION_WORDS, RESERVED_WORDS};
use types::Type;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entity {
    Parameter(ParameterId),
    Iname(InameId),
    Array(ArrayId),
    Substitution(SubstitutionId),
}

/// What is known of a substitution rule besides its expression.
#[derive(Clone, Debug, Default)]
struct Rule {
    /// `Unknown` where it depends on the arguments.
    ty: Type,
    /// Inames that have no value in the rule itself.
    free: InameSet,
    /// Inames that the rule reduces over.
    reduced: InameSet,
}

struct Lowering<'k, 's> {
    syntax: &'k KernelSyntax<'s>,
    errors: &'k mut Errors,
    kernel: Kernel,
    spans: Spans,
    names: FxHashMap<&'k str, (Entity, Span)>,
    /// The number of dimensions of each array, unless its shape was reported.
    ranks: Vec<Option<usize>>,
    /// For each array that is read or written by linear subscripts, and so is flat in the kernel: what each of its indices is multiplied with.
    strides: FxHashMap<ArrayId, Vec<ExprId>>,
    /// Whether the dtype of each array is known.
    has_dtype: Vec<bool>,
    rules: Vec<Rule>,
    functions: FxHashMap<&'k str, nestegg_ir::FunctionId>,
    /// Whether all that defines names was read: otherwise an unknown name may be defined.
    has_all_names: bool,
    /// Names that were reported as unknown: once is enough.
    unknown: FxHashSet<String>,
    /// The expression of each node, by position.
    exprs: Vec<ExprId>,
    /// The type of each node, by position.
    types: Vec<Type>,
    /// Conditions, and the inames within which they were lowered last.
    conditions: FxHashMap<NodeId, (InameSet, ExprId)>,
    /// The domains whose bounds depend on data.
    data_domains: Vec<bounds::DataDomain>,
    /// Where the expressions at hand are.
    place: Place,
}

/// Lowers a kernel. The answer is meaningful only if no errors were reported.
pub(crate) fn lower(syntax: &KernelSyntax<'_>, errors: &mut Errors) -> (Program, Spans) {
    let mut lowering = Lowering {
        syntax,
        errors,
        kernel: Kernel::default(),
        spans: Spans::default(),
        names: FxHashMap::default(),
        ranks: Vec::new(),
        strides: FxHashMap::default(),
        has_dtype: Vec::new(),
        rules: Vec::new(),
        functions: FxHashMap::default(),
        has_all_names: !syntax.has_lost_names,
        unknown: FxHashSet::default(),
        exprs: Vec::new(),
        types: Vec::new(),
        conditions: FxHashMap::default(),
        data_domains: Vec::new(),
        place: Place::Kernel,
    };
    let filler = lowering.kernel.exprs.int(0);
    lowering.kernel.exprs = nestegg_ir::Exprs::new();
    lowering.exprs = vec![filler; syntax.nodes.len()];
    lowering.types = vec![Type::Unknown; syntax.nodes.len()];

    lowering.header();
    lowering.parameters();
    lowering.domains();
    lowering.declare_arrays();
    lowering.declare_substitutions();
    lowering.tags();
    lowering.shapes();
    lowering.substitutions();
    lowering.instructions();
    let mut linearization = lowering.linearization();
    lowering.guard_data_domains(linearization.as_mut());
    let Lowering { kernel, spans, .. } = lowering;
    let program = match linearization {
        None => Program::Unordered(kernel),
        Some(linearization) => Program::Linearized(LinearizedKernel { kernel, linearization }),
    };
    (program, spans)
}
