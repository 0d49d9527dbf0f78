//! Spellings: the same kernel written in other ways, to ask whether an optimizer notices.
//!
//! # Input
//! A linearized kernel that [`verify`](nestegg_ir::verify::verify()) accepts.
//! # Output
//! [`Spelling`]s: kernels that compute the same values in the reals, each written as one [`Family`] says. A family that has nothing to do on a kernel
//! gives none.
//! # Method
//! Each family rewrites the whole kernel once, deterministically. Families are independent: each starts from the kernel itself.
//! # Complexity
//! Linear in the kernel, times the copies that written-out loops and multiplied-out products make, which are limited.
//! # Not done
//! Iteration domains that depend on parameters are not reversed, and loops around recurrences may come out different: callers compare a spelling with
//! the kernel before they rely on it.

mod around;
mod arrays;
mod beside;
mod loops;
mod operands;
mod reductions;
mod rolled;
mod scope;
mod terms;
mod unrolled;

use nestegg_ir::inline::expand_substitutions;
use nestegg_ir::linearization::conditions_mut;
use nestegg_ir::verify::verify_parts;
use nestegg_ir::{Domain, DomainId, Expr, ExprId, Exprs, Iname, InameId, Kernel, LinearizedKernel};

use crate::compact::{compacted, roots};

pub use around::N_ELEMENTS;
pub use beside::{Arguments, beside};

/// A kernel written in another way.
#[derive(Clone, Debug)]
pub struct Spelling {
    /// The name of the family.
    pub family: &'static str,
    /// The kernel.
    pub kernel: LinearizedKernel,
    /// How many times it does the work of the original: 1, or the number of elements that it loops over.
    pub n_elements: u64,
    /// Whether it has the arguments of the original, so that the two can be compared.
    pub is_comparable: bool,
}

/// One way to write kernels.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What is different.
    pub meaning: &'static str,
    respell: fn(&LinearizedKernel) -> Option<LinearizedKernel>,
    n_elements: u64,
    is_comparable: bool,
}

/// A family that keeps the arguments.
const fn same_arguments(
    name: &'static str,
    meaning: &'static str,
    respell: fn(&LinearizedKernel) -> Option<LinearizedKernel>,
) -> Family {
    Family { name, meaning, respell, n_elements: 1, is_comparable: true }
}

/// Every family.
pub const FAMILIES: &[Family] = &[
    same_arguments("renamed", "inames have other names, and domains come in another order", loops::renamed),
    same_arguments("shifted", "loops and reductions start at 3 more", loops::shifted),
    same_arguments("reversed", "loops and reductions run down, as far as their indices show", loops::reversed),
    same_arguments("strided", "loops and reductions run over even numbers", loops::strided),
    same_arguments("interchanged", "loops are nested the other way round", loops::interchanged),
    same_arguments("shuffled", "operands of sums and products come in another order", operands::shuffled),
    same_arguments("multiplied-out", "products of sums are sums of products", operands::multiplied_out),
    same_arguments("nested", "reductions over several inames are nested", reductions::nested),
    same_arguments(
        "digits",
        "reductions over a composite number of values are two, one in the other",
        reductions::digits,
    ),
    same_arguments("merged", "nested reductions are one", reductions::merged),
    same_arguments("split", "reductions of sums are sums of reductions", reductions::split),
    same_arguments("apart", "each term has an instruction of its own", terms::apart),
    same_arguments("written-out", "short loops and reductions are written out", unrolled::written_out),
    same_arguments("rolled", "sums of products with tables are reductions over a stack of tables", rolled::rolled),
    same_arguments("in-scalars", "sums without inames are kept in scalars", arrays::in_scalars),
    same_arguments("in-arrays", "sums over inames are kept in arrays", arrays::in_arrays),
    same_arguments("under-true", "everything is under a condition on inames that always holds", around::under_true),
    Family {
        name: "under-flag",
        meaning: "everything is under a condition on an argument",
        respell: around::under_flag,
        n_elements: 1,
        is_comparable: false,
    },
    Family {
        name: "elements",
        meaning: "a loop over elements is around it",
        respell: around::over_elements,
        n_elements: N_ELEMENTS,
        is_comparable: false,
    },
];

/// All spellings of a kernel. Those that are not well-formed, or write the kernel as it is, are left out.
#[must_use]
pub fn spellings(linearized: &LinearizedKernel) -> Vec<Spelling> {
    let Some(plain) = plain(linearized) else { return Vec::new() };
    let made = FAMILIES.iter().filter_map(|family| {
        let mut kernel = (family.respell)(&plain)?;
        kernel.kernel.instructions.iter_mut().for_each(|instruction| instruction.depends_on.clear());
        let kernel = compacted(kernel);
        let is_well_formed = verify_parts(&kernel.kernel, Some(&kernel.linearization)).is_empty();
        let Family { name, n_elements, is_comparable, .. } = *family;
        is_well_formed.then_some(Spelling { family: name, kernel, n_elements, is_comparable })
    });
    made.collect()
}

/// The kernel with its substitution rules expanded, and without dependencies that its order states anyway.
fn plain(linearized: &LinearizedKernel) -> Option<LinearizedKernel> {
    let mut res = linearized.clone();
    let mut conditions = conditions_mut(&mut res.linearization);
    expand_substitutions(&mut res.kernel, &mut conditions).ok()?;
    res.kernel.instructions.iter_mut().for_each(|instruction| instruction.depends_on.clear());
    Some(compacted(res))
}

/// Rewrites every expression that is evaluated; `rewrite` is told the expression on its rewritten operands.
fn rewrite(linearized: &mut LinearizedKernel, mut rewrite: impl FnMut(&mut Exprs, Expr) -> ExprId) {
    let roots = roots(linearized);
    let rewritten = linearized.kernel.exprs.rewrite(roots, |exprs, _, expr| rewrite(exprs, expr));
    linearized.kernel.instructions.iter_mut().for_each(|instruction| {
        instruction.map_expressions(|id| rewritten.get(id));
    });
    conditions_mut(&mut linearized.linearization).into_iter().for_each(|id| *id = rewritten.get(*id));
}

/// Adds an iname from zero to before `extent`, called `wanted` and a number, in a domain of its own.
fn add_iname(kernel: &mut Kernel, wanted: &str, extent: i64) -> InameId {
    let (iname, domain) = (InameId::new(kernel.inames.len()), DomainId::new(kernel.domains.len()));
    let name = fresh(kernel, wanted);
    let text = format!("{{ [{name}] : 0 <= {name} < {extent} }}");
    kernel.domains.push(Domain { text, inames: vec![iname], enclosing: Vec::new(), parameters: Vec::new() });
    kernel.inames.push(Iname { name, tags: Vec::new(), domain });
    iname
}

/// A name that nothing in the kernel has.
fn fresh(kernel: &Kernel, wanted: &str) -> String {
    let is_taken = |name: &str| {
        kernel.arrays.iter().any(|array| array.name == name)
            || kernel.inames.iter().any(|iname| iname.name == name)
            || kernel.parameters.iter().any(|parameter| parameter.name == name)
            || kernel.instructions.iter().any(|instruction| instruction.id == name)
            || kernel.functions.iter().any(|function| function == name)
    };
    let numbered = (0..).map(|number| format!("{wanted}{number}"));
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| wanted.to_owned())
}
