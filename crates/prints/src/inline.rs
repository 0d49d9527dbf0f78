//! Kernels in place of the calls of them.
//!
//! # Input
//! A call of another kernel of the print: inputs are its parameters, outputs its left side, each array given as the part that some inames sweep.
//! # Output
//! The instructions of the other kernel, with inames, temporaries and ids of their own. An element of an argument becomes the element of the
//! part that it is; that is right where the strides of both agree, and only then is a call inlined.

use nestegg_ir::ArgumentAccess;
use nestegg_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arrays::{Array, ArrayKind};
use crate::expr::{E, Expr, Kind, is_equal, rebuilt};
use crate::instructions::{Action, Instruction};
use crate::kernel::{Domain, Kernel, Tags};
use crate::layout::{is_same, strides};
use crate::problem::{self, Known};

/// How many calls are inlined: kernels that call each other never end.
const MAX_CALLS: usize = 1_000;

/// The one kernel that no other calls, with all calls inlined.
pub(crate) fn entry(kernels: Vec<Kernel>) -> Known<Kernel> {
    let names: FxHashSet<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
    let called: FxHashSet<&str> =
        kernels.iter().flat_map(|kernel| kernel.instructions.iter().filter_map(callee)).collect();
    let entries: Vec<usize> = (0..kernels.len()).filter(|&at| !called.contains(kernels[at].name.as_str())).collect();
    let &[entry] = entries.as_slice() else {
        let at = kernels.get(entries.get(1).copied().unwrap_or_default()).map_or(Span::point(0), |kernel| kernel.at);
        let found: Vec<String> = entries.iter().map(|&at| format!("`{}`", kernels[at].name)).collect();
        let help = match found.as_slice() {
            [] => "each kernel of this print is called by another".to_owned(),
            found => format!("keep one of {}, with the kernels that it calls", found.join(", ")),
        };
        return Err(problem::no_entry(&help, at));
    };
    let mut res = kernels[entry].clone();
    for _ in 0..MAX_CALLS {
        let call = res.instructions.iter().position(|insn| callee(insn).is_some_and(|name| names.contains(name)));
        let Some(call) = call else { return Ok(res) };
        let name = callee(&res.instructions[call]).unwrap_or_default().to_owned();
        let Some(callee) = kernels.iter().find(|kernel| kernel.name == name) else { return Ok(res) };
        inline(&mut res, call, callee)?;
    }
    Err(problem::not_inlined(&res.name, "kernels call each other without end", res.at))
}

/// The function that an instruction calls as a whole.
fn callee(insn: &Instruction) -> Option<&str> {
    match &insn.action {
        Action::Assign { right, .. } => match &right.kind {
            Kind::Call(name) => Some(name),
            _ => None,
        },
        Action::Code { .. } => None,
    }
}

/// What an argument of a kernel is in the one that calls it.
enum Given {
    Value(E),
    /// The axes of an array that it sweeps, and its other indices.
    Part {
        array: String,
        indices: Vec<E>,
        axes: Vec<usize>,
    },
}

fn inline(caller: &mut Kernel, call: usize, callee: &Kernel) -> Known<()> {
    let insn = caller.instructions[call].clone();
    let Action::Assign { left, right } = &insn.action else { return Ok(()) };
    let refused = |why: &str| problem::not_inlined(&callee.name, why, right.at);
    let given = arguments(caller, callee, left, right)?;

    // Names of its own.
    let mut taken = caller.names();
    let mut renamed: FxHashMap<String, String> = FxHashMap::default();
    let own = callee.domains.iter().flat_map(|domain| domain.inames.iter());
    let temporaries = callee.arrays.iter().filter(|array| array.kind == ArrayKind::Temporary).map(|array| &array.name);
    for name in own.chain(temporaries) {
        renamed.insert(name.clone(), unique(name, &mut taken));
    }
    for array in &callee.arrays {
        if let Some(Given::Value(value)) = given.get(&array.name)
            && let Kind::Name(of) = &value.kind
        {
            renamed.insert(array.name.clone(), of.clone());
        }
    }
    let mut change = |expr: &E| in_caller(expr, &given, &renamed);
    for array in callee.arrays.iter().filter(|array| array.kind == ArrayKind::Temporary) {
        let mut array = array.clone();
        array.name = renamed[&array.name].clone();
        array.shape = array.shape.iter().map(|extent| rebuilt(extent, &mut change)).collect::<Known<_>>()?;
        array.strides.clear();
        caller.arrays.push(array);
    }
    for domain in &callee.domains {
        if let Some(name) = domain.parameters.iter().find(|name| !renamed.contains_key(*name)) {
            return Err(refused(&format!("its bounds depend on `{name}`, which is given as an expression")));
        }
        caller.domains.push(Domain {
            parameters: domain.parameters.iter().map(|name| renamed[name].clone()).collect(),
            inames: domain.inames.iter().map(|name| renamed[name].clone()).collect(),
            body: crate::kernel::with_names(&domain.body, &renamed),
            at: domain.at,
        });
    }
    for tags in &callee.tags {
        let name = renamed.get(&tags.name).unwrap_or(&tags.name).clone();
        caller.tags.push(Tags { name, ..tags.clone() });
    }
    let mut ids: FxHashSet<String> = caller.instructions.iter().map(|insn| insn.id.clone()).collect();
    let mut instructions = Vec::new();
    for inner in &callee.instructions {
        let Action::Assign { left, right } = &inner.action else {
            return Err(refused("it has text of C, whose names cannot be changed"));
        };
        let mut within = insn.within.clone();
        within.extend(inner.within.iter().map(|name| renamed.get(name).unwrap_or(name).clone()));
        let mut predicates = insn.predicates.clone();
        for predicate in &inner.predicates {
            predicates.push(rebuilt(predicate, &mut change)?);
        }
        instructions.push(Instruction {
            id: unique(&inner.id, &mut ids),
            at: inner.at,
            within,
            predicates,
            action: Action::Assign {
                left: left.iter().map(|expr| rebuilt(expr, &mut change)).collect::<Known<_>>()?,
                right: rebuilt(right, &mut change)?,
            },
        });
    }
    caller.instructions.splice(call..=call, instructions);
    Ok(())
}

/// A name like that which is not taken, and now is.
fn unique(name: &str, taken: &mut FxHashSet<String>) -> String {
    let mut res = name.to_owned();
    let mut at = 0_usize;
    while !taken.insert(res.clone()) {
        res = format!("{name}_{at}");
        at += 1;
    }
    res
}

/// What the arguments of the callee are.
fn arguments(caller: &Kernel, callee: &Kernel, left: &[E], right: &E) -> Known<FxHashMap<String, Given>> {
    let refused = |why: &str, at: Span| problem::not_inlined(&callee.name, why, at);
    let (mut inputs, mut outputs) = (right.of.iter(), left.iter());
    let mut res = FxHashMap::default();
    for argument in callee.arrays.iter().filter(|array| array.kind != ArrayKind::Temporary) {
        let is_output = matches!(argument.kind, ArrayKind::Argument(ArgumentAccess::Write | ArgumentAccess::ReadWrite));
        let is_input = argument.kind != ArrayKind::Argument(ArgumentAccess::Write);
        let input = if is_input { inputs.next() } else { None };
        let output = if is_output { outputs.next() } else { None };
        let missing = (is_input && input.is_none()) || (is_output && output.is_none());
        let Some(given) = output.or(input).filter(|_| !missing) else {
            return Err(refused(&format!("nothing is given for `{}`", argument.name), right.at));
        };
        let found = if argument.kind == ArrayKind::Value {
            Given::Value(given.clone())
        } else {
            let found = part(caller, given, &|why| refused(why, given.at))?;
            if let (Some(input), Some(_)) = (input, output) {
                let other = part(caller, input, &|why| refused(why, input.at))?;
                if !is_same_part(&found, &other) {
                    return Err(refused(
                        &format!("`{}` is read from one part and written to another", argument.name),
                        input.at,
                    ));
                }
            }
            found
        };
        res.insert(argument.name.clone(), found);
    }
    if inputs.next().is_some() || outputs.next().is_some() {
        return Err(refused("more is given than it has arguments", right.at));
    }
    // Strides agree in the names of the caller.
    for argument in &callee.arrays {
        let Some(Given::Part { array, axes, .. }) = res.get(&argument.name) else { continue };
        let Some(whole) = caller.arrays.iter().find(|other| other.name == *array) else { continue };
        let renamed = FxHashMap::default();
        let mut change = |expr: &E| in_caller(expr, &res, &renamed);
        let (own, outer) = (strides(argument)?, strides(whole)?);
        let mut agree = own.len() == axes.len() && outer.len() == whole.shape.len();
        for (stride, &axis) in own.iter().zip(axes) {
            agree = agree && is_same(&rebuilt(stride, &mut change)?, &outer[axis]);
        }
        if !agree {
            return Err(refused(
                &format!("`{}` lies in memory otherwise than the part that is given for it", argument.name),
                right.at,
            ));
        }
    }
    Ok(res)
}

fn is_same_part(a: &Given, b: &Given) -> bool {
    match (a, b) {
        (Given::Part { array, indices, axes }, Given::Part { array: other, indices: others, axes: other_axes }) => {
            let mut pairs = indices.iter().zip(others).enumerate();
            array == other && axes == other_axes && pairs.all(|(at, (a, b))| axes.contains(&at) || is_equal(a, b))
        }
        _ => false,
    }
}

/// The part of an array that is given.
fn part(caller: &Kernel, given: &E, refused: &dyn Fn(&str) -> Box<nestegg_dump::ReadError>) -> Known<Given> {
    let (Kind::Part(swept), [element]) = (&given.kind, given.of.as_slice()) else {
        return Err(refused("an array is given otherwise than as a part"));
    };
    let Kind::Subscript(array) = &element.kind else {
        return Err(refused("an array is given otherwise than as a part"));
    };
    if !caller.arrays.iter().any(|other| other.name == *array && other.shape.len() == element.of.len()) {
        return Err(problem::unknown_name(array, element.at));
    }
    let mut axes = Vec::new();
    for iname in swept {
        let is_it = |expr: &Expr| matches!(&expr.kind, Kind::Name(name) if name == iname);
        let mut n_uses = 0;
        element.visit(&mut |expr| n_uses += usize::from(is_it(expr)));
        match element.of.iter().position(|index| is_it(index)) {
            Some(axis) if n_uses == 1 => axes.push(axis),
            _ => return Err(refused(&format!("`{iname}` does not sweep one axis"))),
        }
    }
    Ok(Given::Part { array: array.clone(), indices: element.of.clone(), axes })
}

/// A part of an expression of the callee in the caller, its operands being there already.
fn in_caller(expr: &E, given: &FxHashMap<String, Given>, renamed: &FxHashMap<String, String>) -> Known<Option<E>> {
    let new_name = |name: &String| renamed.get(name).unwrap_or(name).clone();
    match &expr.kind {
        Kind::Name(name) => match given.get(name) {
            Some(Given::Value(value)) => Ok(Some(value.clone())),
            Some(Given::Part { .. }) => Err(problem::unsupported("an array as a number", expr.at, "")),
            None => Ok(renamed.get(name).map(|name| Expr::name(name, expr.at))),
        },
        Kind::Subscript(name) => match given.get(name) {
            Some(Given::Part { array, indices, axes }) if axes.len() == expr.of.len() => {
                let mut indices = indices.clone();
                for (&axis, index) in axes.iter().zip(&expr.of) {
                    indices[axis] = index.clone();
                }
                Expr::new(Kind::Subscript(array.clone()), indices, expr.at).map(Some)
            }
            Some(_) => Err(problem::unsupported("an element with other indices than its array has axes", expr.at, "")),
            None => Expr::new(Kind::Subscript(new_name(name)), expr.of.clone(), expr.at).map(Some),
        },
        Kind::Linear(name) if given.contains_key(name) => {
            Err(problem::unsupported("an argument of an inlined kernel, read by a linear subscript,", expr.at, ""))
        }
        Kind::Linear(name) => Expr::new(Kind::Linear(new_name(name)), expr.of.clone(), expr.at).map(Some),
        Kind::Reduce(reduction, inames) => {
            let inames = inames.iter().map(new_name).collect();
            Expr::new(Kind::Reduce(*reduction, inames), expr.of.clone(), expr.at).map(Some)
        }
        Kind::Part(inames) => {
            let inames = inames.iter().map(new_name).collect();
            Expr::new(Kind::Part(inames), expr.of.clone(), expr.at).map(Some)
        }
        _ => Ok(None),
    }
}

/// The arrays of a kernel by their names.
pub(crate) fn by_name(arrays: &[Array]) -> FxHashMap<&str, &Array> {
    arrays.iter().map(|array| (array.name.as_str(), array)).collect()
}
