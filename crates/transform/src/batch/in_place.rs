//! The kernel's own loop over elements, split into blocks and lanes.
//!
//! # Input
//! A kernel without substitution rules or opaque instructions that is one loop, with its body.
//! # Output
//! Why its iterations cannot run side by side, or the kernel in which they do. `e` becomes `W*block + lane` everywhere.
//! # Method
//! Statement by statement all lanes run before the next statement does, so that iterations may have nothing in common but what commutes:
//! of two accesses to one argument, one of them writing, isl finds that only equal iterations meet, or both add to the
//! argument (or multiply, …), which lanes do one after the other. Temporaries get lanes; each iteration must write what it reads of them: an
//! earlier instruction of the same iteration, without condition, writes the very element, or whole dimensions.
//! Other loops must run alike in all lanes.
//! # Complexity
//! One question to isl for each pair of accesses to a written argument.
//! # Not done
//! Reads of temporaries that only isl could see to be written before.

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::{for_each_run, from_tree};
use nestegg_ir::names::Names;
use nestegg_ir::walk::{below, reads};
use nestegg_ir::{
    ArrayId, Domain, DomainId, Expr, ExprId, InameId, InameSet, InsnId, InstructionKind, Kernel, LinearizedKernel,
    LoopTree, Op,
};
use nestegg_isl as isl;

use super::lanes::{self, Element, Lanes};
use super::{BatchError, Batched, Batching, varying};
use crate::compact::compact;

/// What isl may spend on one question.
const MAX_ISL_OPERATIONS: u64 = 1_000_000;

/// Whether the values of an iname are as many as parameters say.
pub(super) fn is_bound_by_parameters(kernel: &Kernel, iname: InameId) -> bool {
    let domain = &kernel[kernel[iname].domain];
    domain.enclosing.is_empty() && !domain.parameters.is_empty()
}

/// Why the iterations of the loop over `element` around `body` cannot run in lanes; `None` if they can.
pub(super) fn why_not(
    kernel: &Kernel,
    element: InameId,
    body: &[LoopTree],
    may_reorder: bool,
) -> Result<Option<String>, BatchError> {
    let name = &kernel[element].name;
    if kernel.is_sequential(element) {
        return Ok(Some(format!("iterations of `{name}` are sequential")));
    }
    if let Some(inner) = kernel.domains.iter().find(|domain| domain.enclosing.contains(&element)) {
        let inner = &kernel[inner.inames[0]].name;
        return Ok(Some(format!("the loop over `{inner}` depends on `{name}`")));
    }
    let context = isl::Context::new();
    context.set_max_operations(Some(MAX_ISL_OPERATIONS));
    let domains = Domains::new(&context, kernel)?;
    if !is_product(kernel, &domains, element)? {
        return Ok(Some(format!("loops inside depend on `{name}`")));
    }
    let accesses = accesses(kernel, body);
    if let Some(array) = first_carried(kernel, &domains, &accesses) {
        return Ok(Some(format!("iterations of `{name}` may read what others left in `{}`", kernel[array].name)));
    }
    let is_argument = |access: &&Access| kernel[access.array].is_argument();
    for (at, one) in accesses.iter().enumerate().filter(|(_, access)| is_argument(access)) {
        for other in accesses[at..].iter().filter(|other| other.array == one.array) {
            let is_exact = may_reorder || !kernel[one.array].dtype.is_float();
            let commute = is_exact && one.touch == other.touch && matches!(one.touch, Touch::Update(_));
            let reads = one.touch == Touch::Read && other.touch == Touch::Read;
            if !reads && !commute && !meet_only_themselves(&domains, element, one, other) {
                return Ok(Some(format!("iterations of `{name}` may meet in `{}`", kernel[one.array].name)));
            }
        }
    }
    Ok(None)
}

/// Splits the loop over `element`.
pub(super) fn split(
    mut kernel: Kernel,
    element: InameId,
    body: &[LoopTree],
    width: u32,
) -> Result<Batched, BatchError> {
    let context = isl::Context::new();
    let set = Domains::new(&context, &kernel)?.set(kernel[element].domain).clone();
    let mut names = Names::new(&kernel);
    let iname = kernel[element].name.clone();
    let (block, lane) = (names.new_name_like("block"), names.new_name_like("lane"));
    let old = kernel[element].domain;
    let values = set.project_onto(&[&iname])?;
    let pairs =
        format!("{{ [{block}, {lane}] -> [{iname}] : {iname} = {width}{block} + {lane} and 0 <= {lane} < {width} }}");
    let pairs = isl::Map::parse(&context, &pairs)?.intersect_range(&values)?.domain()?.coalesce()?;
    let of_block = pairs.project_onto(&[&block])?.coalesce()?.to_string();
    let n_params = pairs.param_names()?.len();
    let of_lane = pairs.move_dims(isl::Dim::Param, n_params, isl::Dim::Set, 0, 1)?.to_string();
    // The other inames of the domain keep theirs; the old iname is left alone, and nothing uses it.
    if kernel[old].inames.len() > 1 {
        let text = set.project_out(&[&iname])?.to_string();
        let alone = DomainId::new(kernel.domains.len());
        let parameters = kernel[old].parameters.clone();
        kernel.domains.push(Domain {
            text: values.to_string(),
            inames: vec![element],
            enclosing: Vec::new(),
            parameters: parameters.clone(),
        });
        kernel[element].domain = alone;
        kernel[old].text = text;
        kernel[old].inames.retain(|&other| other != element);
        let words: Vec<String> = isl::Set::parse(&context, &kernel[old].text)?.param_names()?;
        let used = |parameter: &nestegg_ir::ParameterId| words.contains(&kernel[*parameter].name);
        kernel[old].parameters = parameters.into_iter().filter(used).collect();
    }
    let parameters = kernel[kernel[element].domain].parameters.clone();
    let varying = varying::varying(&kernel, body, &[], Some(element));
    let pair = lanes::add_inames(&mut kernel, (block, of_block), (lane, of_lane), &parameters);
    let mut pass = Lanes::new(kernel, names, Element::Iname(element), varying, pair, i64::from(width));
    let body = pass.tree(body);
    let tree = [LoopTree::Loop { iname: pair.0, body }];
    let program = compact(LinearizedKernel { kernel: pass.kernel, linearization: from_tree(&tree) });
    Ok(Batched { program, batching: Batching::InPlace { iname } })
}

/// Whether the other inames of the domain take the same values for each value of `element`.
fn is_product(kernel: &Kernel, domains: &Domains, element: InameId) -> Result<bool, BatchError> {
    let domain = kernel[element].domain;
    if kernel[domain].inames.len() == 1 {
        return Ok(true);
    }
    let (set, name) = (domains.set(domain), kernel[element].name.as_str());
    let parts = [set.project_onto(&[name])?, set.project_out(&[name])?];
    let order = set.dim_names()?;
    let order: Vec<&str> = order.iter().map(String::as_str).collect();
    Ok(isl::Set::combine(&parts)?.project_onto(&order)?.is_equal(set)?)
}

/// How an access touches its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    Read,
    Write,
    /// `x = x ∘ e`, where `e` does not read the array.
    Update(Op),
}

/// An access inside the loop.
struct Access {
    array: ArrayId,
    touch: Touch,
    indices: Vec<ExprId>,
    affine: Vec<Option<Affine>>,
    /// Loops around it, those of reductions included.
    loops: Vec<InameId>,
    /// Loops around its instruction.
    of_instruction: Vec<InameId>,
    /// Whether a condition is around it.
    is_conditional: bool,
    /// Its instruction, by position.
    position: usize,
}

/// All accesses to arrays that are not tables, in the order of their instructions; reads before writes.
fn accesses(kernel: &Kernel, body: &[LoopTree]) -> Vec<Access> {
    let mut res = Vec::new();
    let mut position = 0;
    for_each_run(&from_tree(body), |insn, around| {
        position += 1;
        let instruction = &kernel[insn];
        let is_conditional = !around.conditions.is_empty() || !instruction.predicates.is_empty();
        let update = update_of(kernel, insn);
        let roots = match &update {
            Some((_, rest)) => {
                let indices = instruction.assignees().iter().flat_map(|assignee| assignee.indices.iter().copied());
                indices.chain(instruction.predicates.iter().copied()).chain(rest.iter().copied()).collect::<Vec<_>>()
            }
            None => instruction.expressions().collect(),
        };
        let roots = roots.into_iter().chain(around.conditions.iter().copied());
        let mut add = |array: ArrayId, touch, indices: &[ExprId], bound: &[InameId]| {
            res.push(Access {
                array,
                touch,
                affine: indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect(),
                indices: indices.to_vec(),
                loops: around.loops.iter().chain(bound).copied().collect(),
                of_instruction: around.loops.clone(),
                is_conditional,
                position,
            });
        };
        // Reductions inside bind further inames: all of them are around every read.
        let below: Vec<ExprId> = roots.flat_map(|root| below(&kernel.exprs, [root])).collect();
        let mut bound: Vec<InameId> = Vec::new();
        for &id in &below {
            if let Expr::Reduce { inames, .. } = &kernel.exprs[id] {
                bound.extend(inames.iter().copied());
            }
        }
        bound.sort_unstable();
        bound.dedup();
        for &id in &below {
            if let Expr::Access { array, indices } = &kernel.exprs[id]
                && kernel[*array].table().is_none()
            {
                add(*array, Touch::Read, indices, &bound);
            }
        }
        for assignee in instruction.assignees() {
            let touch = update.as_ref().map_or(Touch::Write, |(op, _)| Touch::Update(*op));
            add(assignee.array, touch, &assignee.indices, &[]);
        }
    });
    res
}

/// The operation and the other operands of `x = x ∘ …`.
fn update_of(kernel: &Kernel, insn: InsnId) -> Option<(Op, Vec<ExprId>)> {
    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { return None };
    let Expr::Op { op: op @ (Op::Add | Op::Mul | Op::Min | Op::Max), operands } = &kernel.exprs[*expression] else {
        return None;
    };
    let is_self = |id: ExprId| matches!(&kernel.exprs[id], Expr::Access { array, indices } if *array == assignee.array && *indices == assignee.indices);
    let at = operands.iter().position(|&operand| is_self(operand))?;
    let rest: Vec<ExprId> =
        operands.iter().enumerate().filter(|(idx, _)| *idx != at).map(|(_, &operand)| operand).collect();
    let others = rest.iter().chain(assignee.indices.iter()).chain(&kernel[insn].predicates).copied();
    (!reads(&kernel.exprs, others, assignee.array)).then_some((*op, rest))
}

/// A temporary that an iteration may read before it has written it.
fn first_carried(kernel: &Kernel, domains: &Domains, accesses: &[Access]) -> Option<ArrayId> {
    let is_temporary = |access: &&Access| kernel[access.array].is_temporary() && access.touch != Touch::Write;
    accesses
        .iter()
        .filter(is_temporary)
        .find(|read| {
            let mut writes = accesses.iter().filter(|write| {
                write.array == read.array
                    && write.touch == Touch::Write
                    && !write.is_conditional
                    && write.position < read.position
            });
            !writes.any(|write| covers(kernel, domains, write, read))
        })
        .map(|access| access.array)
}

/// Whether an earlier write has written the element that is read.
fn covers(kernel: &Kernel, domains: &Domains, write: &Access, read: &Access) -> bool {
    let n_common = write.of_instruction.iter().zip(&read.of_instruction).take_while(|(a, b)| a == b).count();
    let own = &write.of_instruction[n_common..];
    if !own.iter().all(|&iname| runs(kernel, domains, iname).is_some()) {
        return false;
    }
    let shape = &kernel[write.array].shape;
    let mut swept: Vec<InameId> = Vec::new();
    write.indices.iter().zip(&read.indices).zip(shape).zip(&write.affine).all(|(((w, r), &extent), affine)| {
        let Some(affine) = affine else { return false };
        if w == r && !affine.inames().any(|iname| own.contains(&iname)) {
            return true;
        }
        // The write sweeps the whole dimension.
        let extent = affine::of(&kernel.exprs, extent).and_then(|extent| extent.as_constant());
        affine.as_iname().is_some_and(|iname| {
            let is_whole = own.contains(&iname) && extent.is_some() && runs(kernel, domains, iname) == extent;
            let is_new = !swept.contains(&iname);
            swept.push(iname);
            is_whole && is_new
        })
    })
}

/// How often the loop over an iname runs from zero on, if it does so by itself and that is a number above zero.
fn runs(kernel: &Kernel, domains: &Domains, iname: InameId) -> Option<i64> {
    let (domain, name) = (kernel[iname].domain, kernel[iname].name.as_str());
    let set = domains.set(domain);
    if !kernel[domain].enclosing.is_empty() {
        return None;
    }
    let others: Vec<&str> = kernel[domain].inames.iter().map(|&other| kernel[other].name.as_str()).collect();
    let alone = set.project_onto(&[name]).ok()?;
    if others.len() > 1 {
        let parts = [alone.clone(), set.project_out(&[name]).ok()?];
        let product = isl::Set::combine(&parts).and_then(|product| product.project_onto(&others)).ok()?;
        if !product.is_equal(set).ok()? {
            return None;
        }
    }
    let (least, greatest) = (alone.dim_min_val(name).ok()??, alone.dim_max_val(name).ok()??);
    let whole = isl::Set::parse(domains.context(), &format!("{{ [{name}] : 0 <= {name} <= {greatest} }}")).ok()?;
    (least == 0 && whole.is_subset(&alone).ok()?).then_some(greatest + 1)
}

/// Whether two accesses touch one element only in equal iterations; no if isl does not know.
fn meet_only_themselves(domains: &Domains, element: InameId, one: &Access, other: &Access) -> bool {
    let inames = |access: &Access| access.loops.iter().copied().chain([element]).collect::<InameSet>();
    let relation = |access: &Access| -> Result<isl::Map, BatchError> {
        // What is not affine may be anything: it says nothing.
        let known = one.affine.iter().zip(&other.affine).map(|(a, b)| a.is_some() && b.is_some());
        let affine = access.affine.iter().zip(known).filter_map(|(affine, known)| affine.as_ref().filter(|_| known));
        let indices = affine.map(|affine| domains.affine(affine)).collect::<Result<Vec<_>, _>>()?;
        Ok(isl::Map::from_affine(&domains.of(&inames(access))?, Some("element"), &indices)?)
    };
    let decide = || -> Result<bool, BatchError> {
        let mut pairs = relation(one)?.apply_range(&relation(other)?.reverse()?)?;
        for (side, access) in [(isl::Dim::In, one), (isl::Dim::Out, other)] {
            let inames = inames(access);
            let at = inames.iter().position(|iname| iname == element).unwrap_or(0);
            pairs = pairs.project_out(side, at + 1, inames.len() - at - 1)?.project_out(side, 0, at)?;
            pairs = pairs.set_tuple_name(side, None)?;
        }
        Ok(pairs.is_subset(&isl::Map::parse(domains.context(), "{ [i] -> [i] }")?)?)
    };
    decide().unwrap_or(false)
}
