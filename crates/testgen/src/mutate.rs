//! Mutants: kernels broken in one place, to ask whether validation notices.
//!
//! # Input
//! A linearized kernel that [`verify`](nestegg_ir::verify::verify()) accepts, how many mutants of each family are wanted, a seed.
//! # Output
//! [`Mutant`]s, the same for the same input. Each differs from the kernel in one place, passes `verify` and has the same arguments. Some
//! mean the same as the kernel, because the place does not matter; who uses them decides that.
//! # Method
//! A [`Family`] lists the places where it applies. Places are drawn without replacement until enough of them give a well-formed kernel that is not the one it was made of.
//! # Complexity
//! Each family looks at each expression once; a mutant costs a copy of the kernel.
//! # Not done
//! Bodies of substitution rules and opaque code stay as they are.
//! # Source
//! DeMillo, Lipton, Sayward, "Hints on test data selection", IEEE Computer, 1978.

mod arithmetic;
mod conditions;
mod extrema;
mod functions;
mod indices;
mod instructions;
mod loops;
mod numbers;
mod view;

use nestegg_ir::verify::verify_parts;
use nestegg_ir::{Expr, ExprId, Kernel, LinearizedKernel};

use crate::choices::{Choices, Seeded};
use crate::compact::compacted;
use view::{Node, Place, View};

/// A kernel broken in one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The name of the family.
    pub family: &'static str,
    /// What was changed, and where.
    pub description: String,
    /// The broken kernel.
    pub kernel: LinearizedKernel,
}

/// One way to break kernels.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub meaning: &'static str,
    find: for<'a> fn(&View<'a>, &mut Sites<'a>),
}

/// Every family, by theme.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "condition-lost",
        meaning: "a predicate or a condition around instructions",
        find: conditions::lost,
    },
    Family { name: "condition-turned", meaning: "a condition becomes its opposite", find: conditions::turned },
    Family { name: "condition-part-lost", meaning: "an operand of `and` or `or`", find: conditions::part_lost },
    Family { name: "connective-exchanged", meaning: "`and` for `or`", find: conditions::connective },
    Family { name: "comparison-changed", meaning: "`<=` for `<`, `!=` for `==`, …", find: conditions::comparison },
    Family { name: "comparison-constant", meaning: "a constant in a comparison, by one", find: conditions::constant },
    Family {
        name: "comparison-constant-scaled",
        meaning: "a constant in a comparison, by a factor",
        find: conditions::constant_scaled,
    },
    Family {
        name: "comparison-constant-next",
        meaning: "a float in a comparison, to the next float",
        find: conditions::constant_next,
    },
    Family { name: "selection-lost", meaning: "a selection becomes one of its branches", find: conditions::selection },
    Family { name: "extremum-part-lost", meaning: "an operand of `min` or `max`", find: extrema::part_lost },
    Family { name: "extremum-exchanged", meaning: "`min` for `max`", find: extrema::exchanged },
    Family { name: "extremum-constant", meaning: "a constant in `min` or `max`", find: extrema::constant },
    Family { name: "read-off-by-one", meaning: "one index of a read", find: indices::read },
    Family { name: "store-off-by-one", meaning: "one index of a store", find: indices::store },
    Family { name: "indices-transposed", meaning: "two indices of an access change places", find: indices::transposed },
    Family {
        name: "inames-swapped",
        meaning: "two inames change places in an access or a value",
        find: indices::swapped,
    },
    Family { name: "index-term-lost", meaning: "a term or factor of an index", find: indices::term_lost },
    Family { name: "array-exchanged", meaning: "a read of another array of the same shape", find: indices::array },
    Family { name: "loop-bound", meaning: "a loop runs one value more or less", find: loops::bound },
    Family { name: "reduction-bound", meaning: "a reduction has one point more or less", find: loops::reduction_bound },
    Family { name: "reduction-exchanged", meaning: "another operation of a reduction", find: loops::reduction },
    Family { name: "loops-exchanged", meaning: "two nested loops", find: loops::exchanged },
    Family { name: "loops-joined", meaning: "two loops over one iname become one", find: loops::joined },
    Family { name: "loop-cut", meaning: "one loop becomes two", find: loops::cut },
    Family { name: "order-exchanged", meaning: "neighbours that touch the same array", find: instructions::order },
    Family {
        name: "moved-out-of-loop",
        meaning: "an instruction runs before or after its loop",
        find: instructions::moved,
    },
    Family { name: "instruction-lost", meaning: "an instruction", find: instructions::lost },
    Family { name: "instruction-doubled", meaning: "an instruction runs twice", find: instructions::doubled },
    Family {
        name: "accumulation-lost",
        meaning: "an accumulation becomes a store",
        find: instructions::accumulation_lost,
    },
    Family {
        name: "accumulation-added",
        meaning: "a store becomes an accumulation",
        find: instructions::accumulation_added,
    },
    Family { name: "start-changed", meaning: "the number that an array starts with", find: instructions::start },
    Family { name: "sign-flipped", meaning: "the sign of a term, factor or argument", find: arithmetic::sign },
    Family { name: "term-lost", meaning: "a term of a sum or difference", find: arithmetic::term_lost },
    Family { name: "factor-lost", meaning: "a factor of a product, or a divisor", find: arithmetic::factor_lost },
    Family { name: "sum-for-product", meaning: "`+` for `*`, or `*` for `+`", find: arithmetic::exchanged },
    Family { name: "difference-turned", meaning: "the operands of a difference", find: arithmetic::difference },
    Family { name: "quotient-turned", meaning: "the operands of a quotient", find: arithmetic::quotient },
    Family { name: "exponent-changed", meaning: "the exponent of a power, by one", find: arithmetic::exponent },
    Family { name: "integer-division-changed", meaning: "`//`, `%`, or the divisor", find: arithmetic::division },
    Family { name: "bits-changed", meaning: "another operation on bits", find: arithmetic::bits },
    Family {
        name: "number-slightly",
        meaning: "a float, by 1e-7 of itself, 1e-5 in kernels with float32",
        find: numbers::slightly,
    },
    Family { name: "number-doubled", meaning: "a number, by a factor of 2", find: numbers::doubled },
    Family { name: "integer-by-one", meaning: "an integer beside values, by one", find: numbers::by_one },
    Family { name: "table-slightly", meaning: "a number of a table, by as much", find: numbers::table_slightly },
    Family { name: "table-sign", meaning: "the sign of a number of a table", find: numbers::table_sign },
    Family {
        name: "table-zero",
        meaning: "a zero of a table becomes a number, or the other way round",
        find: numbers::table_zero,
    },
    Family {
        name: "function-exchanged", meaning: "`cos` for `sin`, `log1p` for `log`, …", find: functions::exchanged
    },
    Family { name: "function-lost", meaning: "a function becomes its argument", find: functions::lost },
    Family { name: "arguments-exchanged", meaning: "two arguments of a function", find: functions::arguments },
    Family { name: "cast-lost", meaning: "a conversion", find: functions::cast },
];

/// Draws mutants of a kernel: of each family at most `per_family`.
#[must_use]
pub fn mutants(linearized: &LinearizedKernel, per_family: usize, seed: u64) -> Vec<Mutant> {
    let view = View::new(linearized);
    FAMILIES.iter().flat_map(|family| of_family(&view, family, per_family, seed)).collect()
}

/// How many places of one family are tried for each mutant that is wanted: many give no well-formed kernel.
const TRIALS: usize = 16;

fn of_family<'a>(view: &View<'a>, family: &Family, wanted: usize, seed: u64) -> Vec<Mutant> {
    let mut sites = Sites::default();
    (family.find)(view, &mut sites);
    let mut left = sites.all;
    let name = family.name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let mut choices = Seeded::new(name);
    let mut res = Vec::new();
    for _ in 0..wanted.saturating_mul(TRIALS) {
        if left.is_empty() || res.len() == wanted {
            break;
        }
        let site = left.swap_remove(choices.below(left.len() as u64) as usize);
        let mut kernel = view.linearized.clone();
        (site.edit)(&mut kernel);
        if is_changed(view.linearized, &kernel) && verify_parts(&kernel.kernel, Some(&kernel.linearization)).is_empty()
        {
            let description = match site.place {
                Some(place) => format!("{}, {}", site.what, place.describe(&view.linearized.kernel)),
                None => site.what,
            };
            res.push(Mutant { family: family.name, description, kernel: compacted(kernel) });
        }
    }
    res
}

/// Where a family applies.
struct Site<'a> {
    what: String,
    place: Option<Place>,
    edit: Box<dyn Fn(&mut LinearizedKernel) + 'a>,
}

/// The places that a family finds.
#[derive(Default)]
struct Sites<'a> {
    all: Vec<Site<'a>>,
}

impl<'a> Sites<'a> {
    /// A change of one expression in its place.
    fn expression(&mut self, node: &Node, what: impl Into<String>, make: impl Fn(&mut Kernel) -> ExprId + 'a) {
        let (place, old) = (node.place, node.id);
        let edit = move |linearized: &mut LinearizedKernel| {
            let new = make(&mut linearized.kernel);
            place.replace(linearized, old, new);
        };
        self.all.push(Site { what: what.into(), place: Some(place), edit: Box::new(edit) });
    }

    /// Another operation or other operands in the place of an expression.
    fn put(&mut self, node: &Node, what: impl Into<String>, expr: Expr) {
        self.expression(node, what, move |kernel| kernel.exprs.intern(expr.clone()));
    }

    /// A change of something else.
    fn kernel(&mut self, what: impl Into<String>, edit: impl Fn(&mut LinearizedKernel) + 'a) {
        self.all.push(Site { what: what.into(), place: None, edit: Box::new(edit) });
    }
}

/// Whether a copy of a kernel is another kernel. Expressions of the copy have been added to, not renumbered.
fn is_changed(old: &LinearizedKernel, new: &LinearizedKernel) -> bool {
    old.linearization != new.linearization
        || old.kernel.instructions != new.kernel.instructions
        || old.kernel.arrays != new.kernel.arrays
        || old.kernel.domains != new.kernel.domains
}
