//! Elements together: a kernel of one element becomes a kernel of many, W of them at a time.
//!
//! # Input
//! A verified kernel with its order, preferably without reductions: the lanes' loop encloses a reduction, so its terms cannot be vectorized across lanes.
//! # Output
//! A verified kernel with an outer loop over blocks of W elements, and a loop over the W lanes of a block that is innermost everywhere. Blocks of one element
//! have no lanes: their loop goes around the kernel as it is.
//! Element e computes what the kernel computes from the data of element e; elements from `n_elements` on are neither
//! read nor written. Substitution rules are inlined.
//!
//! * *Elements*: a kernel of one element gets a parameter `n_elements`; each argument gets a leading axis of elements, unless
//!   the caller declares it shared. With [`BatchLayout::Interleaved`] the leading axis counts blocks, and a last one lanes.
//! * *In place*: a kernel that is one loop over elements with parametric bounds keeps its arguments; the loop is split into blocks and lanes.
//! # Method
//! Values that differ between the elements of a block are *varying*: unshared arguments and, by a least fixpoint, the temporaries that varying
//! instructions write. Varying temporaries get a last axis of W lanes; everything else stays outside the lanes' loop. A varying condition of the
//! linearization becomes a mask, a temporary of truth values, and a predicate on every instruction below it: loops run where one lane needs them.
//! Elements share no data that they write, so their instructions may run in any order; in place, [`in_place`] asks isl.
//! # Complexity
//! Linear in the kernel, times the depth of the fixpoint; in place one question for each pair of accesses.
//! # Not done
//! Opaque instructions are refused: their text names arrays whose shapes change.

mod in_place;
mod lanes;
mod varying;

use nestegg_ir::domains::DomainError;
use nestegg_ir::inline::{RecursiveRule, inline_substitutions};
use nestegg_ir::linearization::{NestingError, conditions_mut, from_tree, to_tree};
use nestegg_ir::names::Names;
use nestegg_ir::{
    ArgumentAccess, ArrayId, ArrayKind, Dtype, InameId, InstructionKind, Kernel, LinearizedKernel, LoopTree, Op,
    Parameter, ParameterId,
};

use lanes::{Element, Lanes};

/// The supported numbers of lanes.
pub const WIDTHS: [u32; 5] = [1, 2, 4, 8, 16];

/// The value that cost models assume for the number of elements.
const ESTIMATE: i64 = 1000;

/// How the arguments of elements lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchLayout {
    /// `[n_elements][…]`: one element after the other.
    #[default]
    Contiguous,
    /// `[n_elements / W][…][W]`, rounded up: the lanes of a block side by side.
    Interleaved,
}

/// How elements are put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// The number of lanes, one of [`WIDTHS`].
    pub width: u32,
    /// Arguments that all elements share.
    pub shared: Vec<String>,
    /// How the others lie in memory.
    pub layout: BatchLayout,
    /// Whether a loop of the kernel may be the loop over elements.
    pub may_split: bool,
    /// Whether what iterations add to one element may be added in another order.
    pub may_reorder: bool,
}

/// Which elements are put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batching {
    /// A new axis of elements, as long as the parameter of this name says; `reason` tells why no loop of the kernel is the loop over elements, if one seemed to be.
    Elements {
        /// The parameter.
        parameter: String,
        /// Why the outermost loop was not split.
        reason: Option<String>,
    },
    /// The iterations of the kernel's own loop over this iname.
    InPlace {
        /// The iname that was split.
        iname: String,
    },
}

/// A kernel of many elements.
#[derive(Clone, Debug)]
pub struct Batched {
    /// The kernel.
    pub program: LinearizedKernel,
    /// Which elements.
    pub batching: Batching,
    /// The number of lanes; 1 if there are none.
    pub width: u32,
}

/// Why elements cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A number of lanes that no vectors have.
    #[error("{0} elements cannot be put together: it is 1, 2, 4, 8 or 16")]
    Width(u32),
    /// A shared argument that is none.
    #[error("`{0}` is shared by all elements, but no argument has that name")]
    UnknownShared(String),
    /// A shared argument that elements would write by turns.
    #[error("`{0}` is shared by all elements, but the kernel writes it")]
    WrittenShared(String),
    /// C text.
    #[error("instruction `{0}` is opaque: its text says nothing of several elements")]
    Opaque(String),
    /// An argument whose elements cannot lie behind each other.
    #[error(
        "`{0}` has no stated extent, so nobody knows where the next element's begins: state it, or share the argument"
    )]
    Unstated(String),
    /// A loop that ends elsewhere in each element.
    #[error("the bounds of `{0}` depend on data, which differ between elements")]
    DataBounds(String),
    /// A layout that a loop in the kernel cannot have.
    #[error("the elements are those of the kernel's own loop over `{0}`: its arguments keep their layout")]
    Layout(String),
    /// Loops and conditions that do not nest.
    #[error(transparent)]
    Nesting(#[from] NestingError),
    /// A rule that is defined by itself.
    #[error(transparent)]
    Recursive(#[from] RecursiveRule),
    /// A domain that isl cannot use.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// isl cannot answer.
    #[error(transparent)]
    Isl(#[from] nestegg_isl::Error),
}

/// As many lanes as fill a vector of so many bytes with the widest floats that the kernel holds.
#[must_use]
pub fn preferred_width(kernel: &Kernel, vector_bytes: u64) -> u32 {
    let widest = kernel.float_dtypes().map(Dtype::size).max().unwrap_or(8);
    WIDTHS.into_iter().rfind(|&width| u64::from(width) * widest <= vector_bytes).unwrap_or(1)
}

/// Puts the elements of a kernel together.
///
/// # Errors
/// If the kernel or the options do not admit it.
pub fn batch(program: &LinearizedKernel, options: &BatchOptions) -> Result<Batched, BatchError> {
    let mut program = program.clone();
    let mut conditions = conditions_mut(&mut program.linearization);
    inline_substitutions(&mut program.kernel, &mut conditions)?;
    let LinearizedKernel { kernel, linearization } = program;
    check(&kernel, options)?;
    let tree = to_tree(&linearization)?;
    let mut reason = None;
    if options.may_split
        && let [LoopTree::Loop { iname, body }] = tree.as_slice()
        && in_place::is_bound_by_parameters(&kernel, *iname)
    {
        match in_place::why_not(&kernel, *iname, body, options.may_reorder)? {
            None if !options.shared.is_empty() || options.layout != BatchLayout::Contiguous => {
                return Err(BatchError::Layout(kernel[*iname].name.clone()));
            }
            None if options.width == 1 => {
                let iname = kernel[*iname].name.clone();
                let program = LinearizedKernel { kernel, linearization };
                return Ok(Batched { program, batching: Batching::InPlace { iname }, width: 1 });
            }
            None => return in_place::split(kernel, *iname, body, options.width),
            Some(why) => reason = Some(why),
        }
    }
    let is_open = |array: &ArrayId| kernel[*array].shape.iter().any(|&size| kernel.is_unstated(size));
    let own = |array: &ArrayId| !options.shared.contains(&kernel[*array].name);
    if let Some(array) = kernel.arguments().find(|array| own(array) && is_open(array)) {
        return Err(BatchError::Unstated(kernel[array].name.clone()));
    }
    Ok(elements(kernel, &tree, options, reason))
}

fn check(kernel: &Kernel, options: &BatchOptions) -> Result<(), BatchError> {
    if !WIDTHS.contains(&options.width) {
        return Err(BatchError::Width(options.width));
    }
    if let Some(opaque) =
        kernel.instructions.iter().find(|instruction| matches!(instruction.kind, InstructionKind::Opaque { .. }))
    {
        return Err(BatchError::Opaque(opaque.id.clone()));
    }
    if let Some(open) = kernel.iname_ids().find(|&iname| nestegg_ir::data_bounds::is_open(kernel, iname)) {
        return Err(BatchError::DataBounds(kernel[open].name.clone()));
    }
    let written = kernel.written();
    for name in &options.shared {
        let argument = kernel.arguments().find(|&array| kernel[array].name == *name);
        let argument = argument.ok_or_else(|| BatchError::UnknownShared(name.clone()))?;
        if written[argument.index()] || kernel[argument].kind != ArrayKind::Argument(ArgumentAccess::Read) {
            return Err(BatchError::WrittenShared(name.clone()));
        }
    }
    Ok(())
}

/// A kernel of one element as one of many.
fn elements(mut kernel: Kernel, tree: &[LoopTree], options: &BatchOptions, reason: Option<String>) -> Batched {
    let mut names = Names::new(&kernel);
    let width = i64::from(options.width);
    let n_elements = names.new_name_like("n_elements");
    let parameter = ParameterId::new(kernel.parameters.len());
    kernel.parameters.push(Parameter {
        name: n_elements.clone(),
        dtype: Dtype::Int64,
        estimate: Some(ESTIMATE),
        is_stated: true,
    });
    let own = kernel.arguments().filter(|&array| !options.shared.contains(&kernel[array].name));
    let own: Vec<_> = own.collect();
    let has_lanes = width > 1;
    let varying = match has_lanes {
        true => varying::varying(&kernel, tree, &own, None),
        false => vec![false; kernel.arrays.len()],
    };
    let block = names.new_name_like(if has_lanes { "block" } else { "element" });
    let of_block = match has_lanes {
        true => format!("[{n_elements}] -> {{ [{block}] : 0 <= {block} and {width}*{block} < {n_elements} }}"),
        false => format!("[{n_elements}] -> {{ [{block}] : 0 <= {block} < {n_elements} }}"),
    };
    let lane = has_lanes.then(|| {
        let lane = names.new_name_like("lane");
        let text = format!(
            "[{n_elements}, {block}] -> {{ [{lane}] : 0 <= {lane} < {width} and {width}*{block} + {lane} < {n_elements} }}"
        );
        (lane, text)
    });
    let pair = lanes::add_inames(&mut kernel, (block, of_block), lane, &[parameter]);
    let count = kernel.exprs.intern(nestegg_ir::Expr::Parameter(parameter));
    let n_lanes = kernel.exprs.int(width);
    for &array in &own {
        let mut shape = std::mem::take(&mut kernel[array].shape);
        match options.layout {
            BatchLayout::Contiguous => shape.insert(0, count),
            BatchLayout::Interleaved => {
                let rest = kernel.exprs.int(width - 1);
                let sum = kernel.exprs.op(Op::Add, [count, rest]);
                let n_blocks = kernel.exprs.op(Op::FloorDiv, [sum, n_lanes]);
                shape.insert(0, n_blocks);
                shape.push(n_lanes);
            }
        }
        kernel[array].shape = shape;
    }
    kernel.name = names.new_name_like(&format!("{}_batch", kernel.name));
    let element = Element::Argument { own, layout: options.layout };
    let mut pass = Lanes::new(kernel, names, element, varying, pair, width);
    let body = pass.tree(tree);
    let tree = [LoopTree::Loop { iname: pair.0, body }];
    let program = LinearizedKernel { kernel: pass.kernel, linearization: from_tree(&tree) };
    Batched { program, batching: Batching::Elements { parameter: n_elements, reason }, width: options.width }
}

/// The block, and the lane if there is one.
type Pair = (InameId, Option<InameId>);
