//! Where the things of a kernel were written.

use nestegg_ir::verify::Place;
use nestegg_ir::{ArrayId, DomainId, InameId, InsnId, ParameterId, SubstitutionId};
use nestegg_span::Span;

/// The places of a kernel's parts in its source, beside the kernel so that equality and hashing ignore them.
///
/// Named things are at their names, an instruction at its id, an iname in the domain that defines it. Ids that the
/// reader did not make have the place of the kernel.
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
}
