//! Where the things of a kernel were written.

use nestegg_ir::verify::Place;
use nestegg_ir::{ArrayId, DomainId, ExprId, InameId, InsnId, ParameterId, SubstitutionId};
use nestegg_span::Span;
use rustc_hash::FxHashMap;

/// The places of a kernel's parts in its source, beside the kernel so that equality and hashing ignore them.
///
/// Named things are at their names, an instruction at its id, an iname in the domain that defines it. Ids that the
/// reader did not make have the place of the kernel. Equal expressions are one expression of the kernel: each place in which
/// it is written has a span of its own, the first there.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// The kernel: its name.
    pub kernel: Span,
    /// The parameters.
    pub parameters: Vec<Span>,
    /// The texts of the domains.
    pub domains: Vec<Span>,
    /// The text of the domain that defines each iname.
    pub inames: Vec<Span>,
    /// The arguments, temporaries and tables.
    pub arrays: Vec<Span>,
    /// The substitution rules.
    pub substitutions: Vec<Span>,
    /// The instructions.
    pub instructions: Vec<Span>,
    /// The items of the linearization.
    pub items: Vec<Span>,
    /// What each instruction writes, in the order of its assignees.
    pub assignees: Vec<Vec<Span>>,
    /// The operations and array accesses in each place.
    expressions: FxHashMap<(Place, ExprId), Span>,
    /// The first place of each in the source.
    first: FxHashMap<ExprId, Span>,
}

impl Spans {
    fn get(&self, spans: &[Span], idx: usize) -> Span {
        spans.get(idx).copied().unwrap_or(self.kernel)
    }

    /// The place that [`verify`](nestegg_ir::verify::verify()) speaks of.
    #[must_use]
    pub fn of(&self, place: Place) -> Span {
        match place {
            Place::Kernel => self.kernel,
            Place::Domain(id) => self.domain(id),
            Place::Array(id) => self.array(id),
            Place::Substitution(id) => self.substitution(id),
            Place::Instruction(id) => self.instruction(id),
            Place::Item(item_idx) => self.item(item_idx),
        }
    }

    /// The place of a parameter.
    #[must_use]
    pub fn parameter(&self, id: ParameterId) -> Span {
        self.get(&self.parameters, id.index())
    }

    /// The place of a domain.
    #[must_use]
    pub fn domain(&self, id: DomainId) -> Span {
        self.get(&self.domains, id.index())
    }

    /// The place of the domain that defines an iname.
    #[must_use]
    pub fn iname(&self, id: InameId) -> Span {
        self.get(&self.inames, id.index())
    }

    /// The place of an array.
    #[must_use]
    pub fn array(&self, id: ArrayId) -> Span {
        self.get(&self.arrays, id.index())
    }

    /// The place of a substitution rule.
    #[must_use]
    pub fn substitution(&self, id: SubstitutionId) -> Span {
        self.get(&self.substitutions, id.index())
    }

    /// The place of an instruction.
    #[must_use]
    pub fn instruction(&self, id: InsnId) -> Span {
        self.get(&self.instructions, id.index())
    }

    /// The place of an item of the linearization, by position.
    #[must_use]
    pub fn item(&self, item_idx: usize) -> Span {
        self.get(&self.items, item_idx)
    }

    /// Where an operation or an array access of the kernel as it was read is written: in that place (an instruction, a substitution rule, an
    /// item of the linearization), or else where the source has it first. `None` for literals, and for what the reader did not make.
    #[must_use]
    pub fn expression(&self, place: Place, id: ExprId) -> Option<Span> {
        self.expressions.get(&(place, id)).copied().or_else(|| self.first(id))
    }

    /// Where an operation or an array access of the kernel as it was read is written first.
    #[must_use]
    pub fn first(&self, id: ExprId) -> Option<Span> {
        self.first.get(&id).copied()
    }

    /// The place of what an instruction writes, by position among its assignees.
    #[must_use]
    pub fn assignee(&self, insn: InsnId, idx: usize) -> Span {
        let known = self.assignees.get(insn.index()).and_then(|all| all.get(idx));
        known.copied().unwrap_or_else(|| self.instruction(insn))
    }

    /// Notes where an expression is written, unless it has been seen in that place.
    pub(crate) fn note(&mut self, place: Place, id: ExprId, at: Span) {
        self.expressions.entry((place, id)).or_insert(at);
        self.first.entry(id).or_insert(at);
    }

    /// Notes that expressions have become others.
    pub(crate) fn rewrite(&mut self, image: impl Fn(ExprId) -> ExprId) {
        let places: Vec<(Place, ExprId, Span)> =
            self.expressions.iter().map(|(&(place, id), &at)| (place, image(id), at)).collect();
        let first: Vec<(ExprId, Span)> = self.first.iter().map(|(&id, &at)| (image(id), at)).collect();
        for (place, id, at) in places {
            let known = self.expressions.entry((place, id)).or_insert(at);
            *known = (*known).min(at);
        }
        for (id, at) in first {
            let known = self.first.entry(id).or_insert(at);
            *known = (*known).min(at);
        }
    }
}
