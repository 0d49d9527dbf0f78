//! The fields of `nestegg-kernel/1` and `/2`, as data.
//!
//! # Output
//! [`KERNEL`], and the objects in it. The reader takes fields from here (which there are, which must be there, which may be null), and
//! [`super::schema`] makes the JSON schema of it, so that the two cannot say different things.
//! # Not done
//! What a name stands for and how shapes, types and loops fit together is checked in lowering, and no schema says it.

use nestegg_ir::{ArgumentAccess, Dtype, InameTag, Stored};

/// The formats that are read, oldest first.
pub(crate) const FORMATS: [&str; 2] = ["nestegg-kernel/1", "nestegg-kernel/2"];

/// A kind of JSON object.
#[derive(Debug)]
pub(crate) struct Object {
    /// What it is, for messages.
    pub what: &'static str,
    /// Its fields, in the order in which messages name them.
    pub fields: &'static [Field],
    /// The field that says which further fields there are, and these for each of its words.
    pub kinds: &'static [(&'static str, &'static [Field])],
}

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// Whether `null` says that there is none.
    pub may_be_null: bool,
    /// What it holds.
    pub holds: Holds,
    /// What it means, in a sentence.
    pub doc: &'static str,
}

/// What a JSON value holds.
#[derive(Debug)]
pub(crate) enum Holds {
    /// Any JSON.
    Anything,
    /// The name of the format.
    Format,
    /// The word that says which fields an object has: one of [`Object::kinds`].
    Kind,
    /// Any string.
    Text,
    /// A string that can be declared as a name.
    Name,
    /// A string that can be declared as the name of a function.
    FunctionName,
    /// A number without point and exponent.
    Integer,
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// An expression.
    Expression,
    /// A list of sizes, of which the first may be `null`.
    OpenShape,
    /// A number, or nested lists of numbers.
    Table,
    /// An item of a linearization.
    Item,
    /// A list of these.
    List(&'static Holds),
    /// An object.
    Object(&'static Object),
}

const fn required(name: &'static str, holds: Holds, doc: &'static str) -> Field {
    Field { name, is_required: true, may_be_null: false, holds, doc }
}

const fn required_or_null(name: &'static str, holds: Holds, doc: &'static str) -> Field {
    Field { name, is_required: true, may_be_null: true, holds, doc }
}

const fn optional(name: &'static str, holds: Holds, doc: &'static str) -> Field {
    Field { name, is_required: false, may_be_null: true, holds, doc }
}

fn element_types() -> Vec<&'static str> {
    Dtype::ALL.map(Dtype::name).into_iter().chain(Stored::ALL.map(Stored::name)).collect()
}

fn integer_dtypes() -> Vec<&'static str> {
    Dtype::ALL.into_iter().filter(|dtype| dtype.is_integer()).map(Dtype::name).collect()
}

fn accesses() -> Vec<&'static str> {
    ArgumentAccess::ALL.map(ArgumentAccess::spelling).to_vec()
}

fn tags() -> Vec<&'static str> {
    InameTag::ALL.map(InameTag::spelling).to_vec()
}

/// The whole dump.
pub(crate) const KERNEL: Object = Object {
    what: "a kernel",
    fields: &[
        required("format", Holds::Format, "The format and its version."),
        required("name", Holds::Name, "The kernel's name."),
        Field {
            name: "meta",
            is_required: false,
            may_be_null: false,
            holds: Holds::Anything,
            doc: "Any JSON, carried through untouched.",
        },
        optional("parameters", Holds::List(&Holds::Object(&PARAMETER)), "Symbolic integer sizes."),
        optional("assumptions", Holds::Text, "What holds of the parameters: an isl parameter set."),
        required(
            "domains",
            Holds::List(&Holds::Text),
            "isl sets; every iname is a set dimension of exactly one. Integer temporaries may be parameters (since version 2).",
        ),
        optional("inames", Holds::List(&Holds::Object(&INAME)), "Inames with tags."),
        required("arguments", Holds::List(&Holds::Object(&ARGUMENT)), "Arrays and scalars that the caller owns."),
        required("temporaries", Holds::List(&Holds::Object(&TEMPORARY)), "Arrays and scalars of the kernel's own."),
        optional("substitutions", Holds::List(&Holds::Object(&SUBSTITUTION)), "Pure, named expressions."),
        required("instructions", Holds::List(&Holds::Object(&INSTRUCTION)), "What runs."),
        required_or_null("linearization", Holds::List(&Holds::Item), "The loop nest as a flat list."),
    ],
    kinds: &[],
};

/// One of `parameters`.
pub(crate) const PARAMETER: Object = Object {
    what: "a parameter",
    fields: &[
        required("name", Holds::Name, "Its name."),
        required("dtype", Holds::Words(integer_dtypes), "Its integer type."),
        optional("estimate", Holds::Integer, "The value that the cost model assumes."),
    ],
    kinds: &[],
};

/// One of `inames`.
pub(crate) const INAME: Object = Object {
    what: "an iname",
    fields: &[
        required("name", Holds::Text, "Its name, from a domain."),
        required("tags", Holds::List(&Holds::Words(tags)), "How its loop may run."),
    ],
    kinds: &[],
};

/// One of `arguments`.
pub(crate) const ARGUMENT: Object = Object {
    what: "an argument",
    fields: &[
        required("name", Holds::Name, "Its name."),
        required("dtype", Holds::Words(element_types), "The type of its elements."),
        required(
            "shape",
            Holds::OpenShape,
            "Its sizes, row-major; empty for a scalar. The first is `null` if it is not stated (since version 2).",
        ),
        required("access", Holds::Words(accesses), "What the kernel does to it."),
    ],
    kinds: &[],
};

/// One of `temporaries`.
pub(crate) const TEMPORARY: Object = Object {
    what: "a temporary",
    fields: &[
        required("name", Holds::Name, "Its name."),
        required("dtype", Holds::Words(element_types), "The type of its elements."),
        required("shape", Holds::List(&Holds::Expression), "Its sizes, row-major; empty for a scalar."),
        required_or_null("initializer", Holds::Table, "The numbers of a read-only table."),
    ],
    kinds: &[],
};

/// One of `substitutions`.
pub(crate) const SUBSTITUTION: Object = Object {
    what: "a substitution",
    fields: &[
        required("name", Holds::FunctionName, "Its name."),
        required("parameters", Holds::List(&Holds::Name), "Its formal parameters."),
        required("expression", Holds::Expression, "What it stands for."),
    ],
    kinds: &[],
};

/// One of `instructions`.
pub(crate) const INSTRUCTION: Object = Object {
    what: "an instruction",
    fields: &[
        required("id", Holds::Text, "Unique in the kernel."),
        required("kind", Holds::Kind, "Which further fields there are."),
        required("within_inames", Holds::List(&Holds::Text), "The inames at whose points it runs."),
        required("depends_on", Holds::List(&Holds::Text), "Ids of instructions that run before it."),
        required("predicates", Holds::List(&Holds::Expression), "Conditions, all of which must hold."),
    ],
    kinds: &[
        (
            "assignment",
            &[
                required("assignee", Holds::Expression, "A variable or an array element."),
                required("expression", Holds::Expression, "Its new value."),
            ],
        ),
        (
            "call",
            &[
                required("assignees", Holds::List(&Holds::Expression), "Variables or array elements."),
                required("function", Holds::FunctionName, "A function with several results."),
                required("arguments", Holds::List(&Holds::Expression), "What it is called with."),
            ],
        ),
        (
            "opaque",
            &[
                required("code", Holds::Text, "C text, never changed."),
                required("reads", Holds::List(&Holds::Text), "Names that it reads."),
                required("writes", Holds::List(&Holds::Text), "Names that it writes."),
            ],
        ),
    ],
};

impl Object {
    /// The fields of one kind of it.
    pub(crate) fn fields_of_kind(&self, kind: &str) -> Option<&'static [Field]> {
        self.kinds.iter().find(|(word, _)| *word == kind).map(|(_, fields)| *fields)
    }
}
