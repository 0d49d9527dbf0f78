//! What kernels are made of: sizes, and how often each feature occurs.

/// Sizes, and weights of features in percent: 0 is never, 100 is wherever possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// At most so many instructions, but for the initialisations that others need.
    pub instructions: u32,
    /// At most so many loops around an instruction.
    pub depth: u32,
    /// Literal sizes of inames are at most this.
    pub extent: u32,
    /// Operands of a sum or product, at most.
    pub terms: u32,
    /// Operations of one expression, about.
    pub operations: u32,

    /// Parametric sizes, which may be zero.
    pub parametric: u8,
    /// Inames whose bounds depend on an outer iname.
    pub triangular: u8,
    /// Inames whose bounds depend on two outer inames.
    pub tetrahedral: u8,
    /// Inames with a stride.
    pub strided: u8,
    /// Inames that leave out the first or last values of their size.
    pub interior: u8,
    /// Inames that leave out a value between others, so that their domain is a union.
    pub hole: u8,
    /// Inames whose values do not begin at zero, often below it.
    pub shifted: u8,
    /// Several inames in one domain.
    pub joint_domains: u8,
    /// Inames that are tagged `sequential`, with recurrences over them.
    pub sequential: u8,
    /// Inames with another tag.
    pub tag: u8,
    /// Meta data, unused details.
    pub decoration: u8,

    /// Constant tables.
    pub table: u8,
    /// Temporaries.
    pub temporary: u8,
    /// Accumulation into arguments, and into temporaries that were initialised.
    pub accumulation: u8,
    /// Accumulations that follow each other into the same elements.
    pub term_by_term: u8,
    /// Products, minima and maxima among reductions and accumulations.
    pub other_reductions: u8,
    /// Reductions in expressions.
    pub reduction: u8,
    /// Arrays that are read and then overwritten.
    pub update: u8,
    /// Element tensors: stores of sums over points of products of tables and values.
    pub element: u8,
    /// Functions of neighbours at several shifts.
    pub flux: u8,
    /// Expressions of literals alone.
    pub constant: u8,
    /// Predicates, and conditions around several instructions.
    pub predicate: u8,
    /// Conditions that depend on data.
    pub data_dependent: u8,
    /// Loops over an iname that had a loop before.
    pub reopened: u8,
    /// Kernels with a linearization.
    pub linearized: u8,

    /// Sums, differences, products: everything else is less than this.
    pub arithmetic: u8,
    /// Expressions that occur again.
    pub sharing: u8,
    /// Constants of every magnitude in conditions and extrema.
    pub magnitude: u8,
    /// Selections.
    pub selection: u8,
    /// Operations that are only defined under the guard that they have.
    pub guard: u8,
    /// Minima and maxima.
    pub extremum: u8,
    /// Functions of math.h.
    pub function: u8,
    /// Powers.
    pub power: u8,
    /// Quotients.
    pub quotient: u8,
    /// What real numbers do not have, wherever it may come up: divisors that may be zero, functions that tell a zero from its negative, values that
    /// grow beyond all floats. Only to the bit two kernels agree on these.
    pub exceptional: u8,
    /// Substitution rules, with and without parameters.
    pub substitution: u8,
    /// Integer data and arithmetic.
    pub integer: u8,
    /// Operations on bits, where there are integers.
    pub bits: u8,
    /// Data of truth values.
    pub boolean: u8,
    /// `float32` beside `float64`.
    pub single: u8,
    /// Conversions.
    pub cast: u8,
    /// Conversions of floats to integers, which have no meaning in the prime field of validation.
    pub truncation: u8,
    /// Indices read from memory.
    pub indirect: u8,
    /// Indices `i + off[i]`.
    pub relative: u8,
    /// Indices looked up in arrays of several dimensions, for reads and accumulations.
    pub scatter: u8,
    /// Tables of which run-time numbers select one.
    pub selected: u8,
    /// Indices `i + 1`, `2*i`, `n - 1 - i`, `i + j`.
    pub offset: u8,
    /// Indices by `//` and `%`.
    pub reshape: u8,

    /// Calls with several results, which have no meaning in floats.
    pub call: u8,
    /// Opaque instructions, which have no meaning in floats.
    pub opaque: u8,
}

impl Knobs {
    /// Sums and products of arguments over boxes, and nothing else.
    pub const PLAIN: Self = Self {
        instructions: 4,
        depth: 3,
        extent: 4,
        terms: 3,
        operations: 6,
        parametric: 0,
        triangular: 0,
        tetrahedral: 0,
        strided: 0,
        interior: 0,
        hole: 0,
        shifted: 0,
        joint_domains: 30,
        sequential: 0,
        tag: 0,
        decoration: 0,
        table: 0,
        temporary: 0,
        accumulation: 0,
        term_by_term: 0,
        other_reductions: 0,
        reduction: 0,
        update: 0,
        element: 0,
        flux: 0,
        constant: 0,
        predicate: 0,
        data_dependent: 0,
        reopened: 0,
        linearized: 0,
        arithmetic: 100,
        sharing: 0,
        magnitude: 0,
        selection: 0,
        guard: 0,
        extremum: 0,
        function: 0,
        power: 0,
        quotient: 0,
        exceptional: 0,
        substitution: 0,
        integer: 0,
        bits: 0,
        boolean: 0,
        single: 0,
        cast: 0,
        truncation: 0,
        indirect: 0,
        relative: 0,
        scatter: 0,
        selected: 0,
        offset: 0,
        reshape: 0,
        call: 0,
        opaque: 0,
    };

    /// Element tensors: tables, coefficients in scalars, contractions over quadrature points.
    #[must_use]
    pub fn finite_element() -> Self {
        Self {
            instructions: 6,
            operations: 10,
            interior: 4,
            joint_domains: 60,
            sequential: 8,
            tag: 8,
            table: 60,
            temporary: 40,
            accumulation: 60,
            term_by_term: 30,
            reduction: 30,
            update: 15,
            element: 90,
            constant: 1,
            predicate: 3,
            data_dependent: 20,
            linearized: 30,
            sharing: 20,
            selection: 4,
            integer: 6,
            boolean: 6,
            offset: 5,
            function: 8,
            power: 4,
            quotient: 8,
            substitution: 8,
            ..Self::PLAIN
        }
    }

    /// Values at neighbouring points of parametric grids, and time steps.
    #[must_use]
    pub fn stencil() -> Self {
        Self {
            instructions: 5,
            terms: 5,
            operations: 10,
            extent: 6,
            parametric: 50,
            interior: 60,
            shifted: 10,
            sequential: 20,
            tag: 8,
            temporary: 40,
            update: 20,
            flux: 20,
            guard: 8,
            linearized: 30,
            sharing: 15,
            substitution: 15,
            offset: 60,
            reshape: 10,
            ..Self::PLAIN
        }
    }

    /// Many small statements that hand values to each other.
    #[must_use]
    pub fn statements() -> Self {
        Self {
            instructions: 14,
            operations: 4,
            parametric: 10,
            temporary: 80,
            accumulation: 15,
            term_by_term: 20,
            update: 25,
            element: 6,
            flux: 4,
            constant: 1,
            sequential: 10,
            predicate: 10,
            reopened: 30,
            linearized: 50,
            selection: 5,
            function: 5,
            quotient: 5,
            ..Self::PLAIN
        }
    }

    /// Every feature that has a meaning in floats and in the prime field, but for those of [`Self::constants`] and [`Self::lookups`].
    #[must_use]
    pub fn everything() -> Self {
        Self {
            instructions: 8,
            depth: 3,
            extent: 5,
            terms: 4,
            operations: 8,
            parametric: 25,
            triangular: 15,
            tetrahedral: 10,
            strided: 8,
            interior: 15,
            hole: 6,
            shifted: 10,
            joint_domains: 30,
            sequential: 20,
            tag: 15,
            decoration: 20,
            table: 20,
            temporary: 50,
            accumulation: 30,
            term_by_term: 20,
            other_reductions: 25,
            reduction: 12,
            update: 20,
            element: 20,
            flux: 4,
            constant: 3,
            predicate: 20,
            data_dependent: 30,
            reopened: 30,
            linearized: 50,
            arithmetic: 60,
            sharing: 12,
            magnitude: 0,
            selection: 8,
            guard: 8,
            extremum: 6,
            function: 8,
            power: 6,
            quotient: 8,
            exceptional: 0,
            substitution: 8,
            integer: 15,
            bits: 15,
            boolean: 10,
            single: 20,
            cast: 5,
            truncation: 0,
            indirect: 10,
            relative: 0,
            scatter: 0,
            selected: 0,
            offset: 25,
            reshape: 15,
            call: 0,
            opaque: 0,
        }
    }

    /// Conditions everywhere: predicates, branches, selections, guards, on data and on inames, around values that are shared.
    #[must_use]
    pub fn control_flow() -> Self {
        Self {
            instructions: 10,
            extent: 4,
            sequential: 25,
            temporary: 70,
            update: 30,
            predicate: 80,
            data_dependent: 60,
            reopened: 40,
            linearized: 60,
            sharing: 30,
            selection: 20,
            guard: 20,
            quotient: 12,
            integer: 10,
            boolean: 25,
            ..Self::everything()
        }
    }

    /// Integers, truth values and conversions, mostly.
    #[must_use]
    pub fn mixed_types() -> Self {
        Self {
            integer: 60,
            bits: 40,
            boolean: 30,
            single: 50,
            cast: 20,
            indirect: 20,
            reshape: 25,
            selection: 12,
            ..Self::everything()
        }
    }

    /// Loops of every shape around little.
    #[must_use]
    pub fn domains() -> Self {
        Self {
            depth: 4,
            operations: 5,
            parametric: 40,
            triangular: 40,
            tetrahedral: 30,
            strided: 20,
            interior: 20,
            hole: 20,
            shifted: 40,
            joint_domains: 50,
            reduction: 25,
            offset: 40,
            reshape: 30,
            ..Self::everything()
        }
    }

    /// Conditions and extrema with constants of every magnitude, on floats and on integers.
    #[must_use]
    pub fn constants() -> Self {
        Self {
            predicate: 40,
            data_dependent: 70,
            magnitude: 60,
            selection: 25,
            extremum: 20,
            integer: 30,
            bits: 20,
            ..Self::everything()
        }
    }

    /// Reads and accumulations through arrays of indices and offsets, and tables that numbers select.
    #[must_use]
    pub fn lookups() -> Self {
        Self {
            parametric: 15,
            accumulation: 60,
            term_by_term: 30,
            indirect: 25,
            relative: 40,
            scatter: 40,
            selected: 60,
            integer: 25,
            ..Self::everything()
        }
    }

    /// Elementary functions, roots, powers and quotients, each where it is defined.
    #[must_use]
    pub fn functions() -> Self {
        Self { operations: 12, function: 60, power: 25, quotient: 25, guard: 15, sharing: 20, ..Self::everything() }
    }

    /// Sizes of 0, 1 and 2, most of them parameters.
    #[must_use]
    pub fn edges() -> Self {
        Self { extent: 2, parametric: 70, interior: 40, triangular: 25, reduction: 20, ..Self::everything() }
    }

    /// What cannot be changed, among what can.
    #[must_use]
    pub fn opaque() -> Self {
        Self { opaque: 40, call: 20, ..Self::control_flow() }
    }

    /// Every feature of the format, also those that only some stages can run.
    #[must_use]
    pub fn whole_format() -> Self {
        Self { truncation: 10, call: 10, opaque: 6, ..Self::everything() }
    }

    /// The presets of which every kernel runs, by name.
    #[must_use]
    pub fn presets() -> [(&'static str, Self); 11] {
        [
            ("finite_element", Self::finite_element()),
            ("stencil", Self::stencil()),
            ("statements", Self::statements()),
            ("everything", Self::everything()),
            ("control_flow", Self::control_flow()),
            ("mixed_types", Self::mixed_types()),
            ("domains", Self::domains()),
            ("constants", Self::constants()),
            ("lookups", Self::lookups()),
            ("functions", Self::functions()),
            ("edges", Self::edges()),
        ]
    }

    /// The same features in kernels of about `n_nodes` nodes of the expression DAG.
    #[must_use]
    pub fn with_nodes(self, n_nodes: u32) -> Self {
        // An instruction with its expression has about this many nodes that no other has.
        let per_instruction = self.operations.max(1);
        Self { instructions: n_nodes.div_ceil(per_instruction), ..self }
    }
}
