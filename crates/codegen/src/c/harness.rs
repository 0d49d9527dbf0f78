//! C programs that run or time emitted functions.
//!
//! # Input
//! A kernel with its parameters' values, and one or more functions of its interface ([`CText`]), each in a source of its own
//! with a name of its own ([`COptions::symbol`](super::COptions::symbol)).
//! # Output
//! A `main` to be compiled and linked with these sources. Every function gets arguments of its own with the same contents.
//! In [`Mode::Print`] it prints what each function wrote, bit by bit ([`read_outputs`]); in [`Mode::Time`] it calls the functions in
//! turn, in rounds, so that what disturbs the machine disturbs all of them, and prints nanoseconds per call ([`read_times`]).
//! # Complexity
//! The text is linear in the arguments' names and given values.
//! # Not done
//! Names of functions and of what they call are taken not to be those that the program itself uses.

use std::collections::BTreeMap;
use std::fmt::Write;

use nestegg_ir::walk::OperandsFirst;
use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, Kernel, Number, Op, Stored, unstated};
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::CodegenError;
use super::names::identifiers;
use super::text::{stored_name, stored_type};
use super::{CText, literal};

/// The fixed part of the program.
const FRAME: &str = include_str!("harness.c");

/// What the program does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Calls each function once and prints what it wrote.
    Print,
    /// Times the functions in turn.
    Time {
        /// How many rounds.
        n_rounds: u32,
        /// How long one function runs in one round, at least.
        milliseconds: u32,
        /// Sets of arguments that the calls of one function take in turn, as far as [`BYTES_IN_TURN`] hold them, but at least one.
        /// A function called again on the arguments that it has just written waits for its own stores to arrive;
        /// one that is called for one element after the other does not.
        n_sets: u32,
    },
}

/// All sets of arguments of a function that is timed take at most so many bytes, if there is more than one: they stay in the first-level cache.
pub const BYTES_IN_TURN: usize = 16 * 1024;

/// How the program is made.
#[derive(Clone, Debug, PartialEq)]
pub struct HarnessOptions {
    /// Values of parameters, before their estimates.
    pub parameters: BTreeMap<String, i64>,
    /// Contents of arguments by name, row-major; the others are filled by a fixed rule from the seed, the argument's
    /// position and the element's.
    pub given: BTreeMap<String, Vec<Number>>,
    /// The seed.
    pub seed: u64,
    /// What the program does.
    pub mode: Mode,
    /// Definitions, in C, of functions that the kernel's user defines. A function that is called but not named here gets a stand-in,
    /// a weighted sum of its arguments.
    pub definitions: String,
}

/// The program.
///
/// # Errors
/// A parameter without value, or a size that is none.
pub fn harness(kernel: &Kernel, functions: &[&CText], options: &HarnessOptions) -> Result<String, CodegenError> {
    let values = parameter_values(kernel, &options.parameters)?;
    let limits = index_limits(kernel, &values)?;
    let mut out = String::from(FRAME);
    let _ = writeln!(out, "{}", options.definitions);
    let mut defined: FxHashSet<&str> = identifiers(&options.definitions).collect();
    for function in functions {
        for (name, signature) in &function.externals {
            if defined.insert(name) {
                out.push_str(&signature.stand_in(name));
            }
        }
        let _ = writeln!(out, "{};", function.prototype);
    }
    let mut arguments = Vec::new();
    for (at, id) in kernel.arguments().enumerate() {
        let n = n_elements(kernel, id, &values)?;
        let (dtype, ty) = (kernel[id].dtype, stored_name(&kernel[id]));
        let contents = options.given.get(&kernel[id].name).filter(|given| given.len() == n);
        if let Some(given) = contents.filter(|given| !given.is_empty()) {
            let list: Vec<String> = given.iter().map(|&value| literal::literal(value, dtype).text).collect();
            let _ = writeln!(out, "static const {ty} given_{at}[{n}] = {{\n    {}\n}};", list.join(",\n    "));
        }
        let limit = limits.get(&id).copied().unwrap_or(8).max(1);
        let limit = kernel[id].stored.map_or(limit, |stored| limit.min(stored.range().1));
        let size = kernel[id].element_size();
        arguments.push(Argument {
            at,
            id,
            n,
            dtype,
            ty,
            size,
            given: contents.is_some_and(|given| !given.is_empty()),
            limit,
        });
    }
    let n_sets = n_sets(&arguments, options.mode);
    let _ =
        writeln!(out, "static void *arguments[{}][{n_sets}][{}];\n", functions.len().max(1), arguments.len().max(1));
    write_prepare(&arguments, n_sets, options, &mut out);
    write_call(kernel, functions, &arguments, &values, &mut out);
    write_main(kernel, functions.len(), &arguments, (options.mode, n_sets), &mut out);
    Ok(out)
}

/// One argument of the functions.
struct Argument {
    at: usize,
    id: ArrayId,
    n: usize,
    dtype: Dtype,
    /// The C type of its elements, and their bytes.
    ty: String,
    size: u64,
    given: bool,
    /// Integers are below it.
    limit: i64,
}

/// How many sets of arguments each function has.
fn n_sets(arguments: &[Argument], mode: Mode) -> usize {
    let Mode::Time { n_sets, .. } = mode else { return 1 };
    let bytes = arguments.iter().map(|argument| argument.n.saturating_mul(argument.size as usize));
    let bytes = bytes.fold(0, usize::saturating_add).max(1);
    (BYTES_IN_TURN / bytes).min(n_sets as usize).max(1)
}

/// `prepare(function)`: fresh contents for all arguments. Where functions are timed, floats are near 1: others cancel, and near a pole two ways to round
/// differ by any factor.
fn write_prepare(arguments: &[Argument], n_sets: usize, options: &HarnessOptions, out: &mut String) {
    let number = if options.mode == Mode::Print { "dyadic" } else { "near_one" };
    out.push_str("static void prepare(int function)\n{\n    (void)function;\n");
    let _ = writeln!(out, "    for (int set = 0; set < {n_sets}; ++set) {{");
    for Argument { at, n, dtype, ty, given, limit, .. } in arguments {
        let target = format!("arguments[function][set][{at}]");
        let _ = writeln!(out, "    if (!{target}) {target} = allocate({n}u, sizeof({ty}));");
        if *given {
            let _ = writeln!(out, "    memcpy({target}, given_{at}, sizeof given_{at});");
            continue;
        }
        let stream = format!("UINT64_C({})", options.seed.wrapping_mul(1_000_003).wrapping_add(*at as u64));
        let _ = match dtype.is_float() {
            true => writeln!(out, "    fill_{ty}({target}, {n}u, {stream}, {number});"),
            false => writeln!(out, "    fill_{ty}({target}, {n}u, {stream}, INT64_C({limit}));"),
        };
    }
    out.push_str("    }\n}\n\n");
}

/// `call(function, set)`: one call; not 0 if the function failed.
fn write_call(kernel: &Kernel, functions: &[&CText], arguments: &[Argument], values: &[i64], out: &mut String) {
    out.push_str("static int call(int function, int set)\n{\n    (void)set;\n    switch (function) {\n");
    for (idx, function) in functions.iter().enumerate() {
        let mut list: Vec<String> = kernel
            .stated_parameters()
            .map(|id| (id, values[id.index()]))
            .map(|(id, value)| literal::literal(Number::Int(value), kernel[id].dtype).text)
            .collect();
        list.extend(arguments.iter().map(|Argument { at, id, ty, .. }| {
            let by_value = kernel[*id].shape.is_empty() && !kernel[*id].is_writable();
            let pointer = format!("({ty} *)arguments[{idx}][set][{at}]");
            if by_value { format!("*{pointer}") } else { pointer }
        }));
        let call = format!("{}({})", function.symbol, list.join(", "));
        let _ = writeln!(out, "    case {idx}: return {call};");
    }
    out.push_str("    default: return 1;\n    }\n}\n\n");
}

fn write_main(
    kernel: &Kernel,
    n_functions: usize,
    arguments: &[Argument],
    (mode, n_sets): (Mode, usize),
    out: &mut String,
) {
    let written: Vec<&Argument> = arguments.iter().filter(|argument| kernel[argument.id].is_writable()).collect();
    out.push_str("static void print_outputs(int function)\n{\n    (void)function;\n");
    for Argument { at, id, n, ty, .. } in &written {
        let _ = writeln!(out, "    printf(\"output %d {} {n}\\n\", function);", kernel[*id].name);
        let _ = writeln!(out, "    print_{ty}(arguments[function][0][{at}], {n}u);");
    }
    out.push_str("}\n\nstatic double difference(int function)\n{\n    double greatest = 0.0;\n    (void)function;\n");
    for Argument { at, n, ty, .. } in &written {
        let pair = format!("arguments[0][0][{at}], arguments[function][0][{at}]");
        let _ = writeln!(out, "    greatest = fmax(greatest, difference_{ty}({pair}, {n}u));");
    }
    out.push_str("    return greatest;\n}\n\n");
    let run = match mode {
        Mode::Print => format!("run_print({n_functions}, prepare, call, print_outputs)"),
        Mode::Time { n_rounds, milliseconds, .. } => {
            format!("run_time({n_functions}, {n_sets}, {n_rounds}, {milliseconds}, prepare, call, difference)")
        }
    };
    // A function that is mentioned is used: compilers do not complain.
    let mut mentioned =
        ["dyadic", "near_one", "run_print", "run_time", "print_outputs", "difference"].map(str::to_owned).to_vec();
    let stored = Stored::ALL.map(stored_type);
    for ty in Dtype::ALL.map(|dtype| dtype.c_name().to_owned()).into_iter().chain(stored) {
        mentioned.extend(["fill", "print", "difference"].map(|name| format!("{name}_{ty}")));
    }
    out.push_str("int main(void)\n{\n");
    for name in mentioned {
        let _ = writeln!(out, "    (void){name};");
    }
    let _ = write!(out, "    return {run};\n}}\n");
}

/// The value of each parameter, in the kernel's order.
fn parameter_values(kernel: &Kernel, given: &BTreeMap<String, i64>) -> Result<Vec<i64>, CodegenError> {
    let given: Vec<(String, i64)> = given.iter().map(|(name, value)| (name.clone(), *value)).collect();
    let missing = |parameter: &nestegg_ir::Parameter| CodegenError::NoValue { parameter: parameter.name.clone() };
    let values = unstated::values(kernel, &given).into_iter().zip(&kernel.parameters);
    values.map(|(value, parameter)| value.ok_or_else(|| missing(parameter))).collect()
}

fn n_elements(kernel: &Kernel, id: ArrayId, values: &[i64]) -> Result<usize, CodegenError> {
    let size = || CodegenError::Size { array: kernel[id].name.clone() };
    let mut n = 1_usize;
    for &extent in &kernel[id].shape {
        let extent =
            evaluate(kernel, extent, values).and_then(|extent| usize::try_from(extent).ok()).ok_or_else(size)?;
        n = n.checked_mul(extent).ok_or_else(size)?;
    }
    Ok(n)
}

/// The value of an integer expression in parameters; `None` if it is something else or exceeds 64 bits.
fn evaluate(kernel: &Kernel, root: ExprId, values: &[i64]) -> Option<i64> {
    let mut known: FxHashMap<ExprId, i64> = FxHashMap::default();
    let mut walk = OperandsFirst::new(root);
    while let Some(id) = walk.next_unknown(|id| known.contains_key(id)) {
        let expr = &kernel.exprs[id];
        if walk.waits_for(expr.children().iter().copied(), |child| known.contains_key(child)) {
            continue;
        }
        let operands: Vec<i64> = expr.children().iter().map(|child| known[child]).collect();
        let value = match expr {
            Expr::Number(Number::Int(value)) => *value,
            Expr::Parameter(parameter) => *values.get(parameter.index())?,
            Expr::Cast { .. } => operands[0],
            Expr::Op { op, .. } => integer(*op, &operands)?,
            _ => return None,
        };
        known.insert(id, value);
    }
    known.get(&root).copied()
}

fn integer(op: Op, operands: &[i64]) -> Option<i64> {
    let fold =
        |f: fn(i64, i64) -> Option<i64>| operands[1..].iter().try_fold(operands[0], |res, &operand| f(res, operand));
    match op {
        Op::Add => fold(i64::checked_add),
        Op::Mul => fold(i64::checked_mul),
        Op::Sub => fold(i64::checked_sub),
        Op::Neg => operands[0].checked_neg(),
        Op::Min => operands.iter().copied().min(),
        Op::Max => operands.iter().copied().max(),
        Op::FloorDiv => {
            let quotient = operands[0].checked_div(operands[1])?;
            let inexact = operands[0].checked_rem(operands[1])? != 0;
            Some(quotient - i64::from(inexact && (operands[0] < 0) != (operands[1] < 0)))
        }
        Op::Mod => {
            let rest = operands[0].checked_rem(operands[1])?;
            Some(if rest != 0 && (rest < 0) != (operands[1] < 0) { rest + operands[1] } else { rest })
        }
        Op::Pow => operands[0].checked_pow(u32::try_from(operands[1]).ok()?),
        _ => None,
    }
}

/// For integer arrays that are read inside indices: values below this keep those indices in bounds, where an element is an
/// index by itself; elsewhere only zero is safe.
fn index_limits(kernel: &Kernel, values: &[i64]) -> Result<FxHashMap<ArrayId, i64>, CodegenError> {
    let mut limits: FxHashMap<ArrayId, i64> = FxHashMap::default();
    let mut limit = |array: ArrayId, limit: i64| {
        limits.entry(array).and_modify(|old| *old = limit.min(*old)).or_insert(limit);
    };
    let assignees = kernel.instructions.iter().flat_map(|instruction| instruction.assignees());
    let accesses = kernel.exprs.iter().filter_map(|(_, expr)| match expr {
        Expr::Access { array, indices } => Some((*array, indices)),
        _ => None,
    });
    for (array, indices) in accesses.chain(assignees.map(|assignee| (assignee.array, &assignee.indices))) {
        for (&index, &extent) in indices.iter().zip(&kernel[array].shape) {
            if let Expr::Access { array, .. } = &kernel.exprs[index] {
                limit(*array, evaluate(kernel, extent, values).unwrap_or(1));
                continue;
            }
            let mut pending = vec![index];
            let mut seen = FxHashSet::default();
            while let Some(id) = pending.pop().filter(|&id| seen.insert(id)) {
                if let Expr::Access { array, .. } = &kernel.exprs[id] {
                    limit(*array, 1);
                }
                pending.extend(kernel.exprs[id].children().iter().filter(|child| !seen.contains(child)));
            }
        }
    }
    Ok(limits)
}

/// What one function wrote to one argument.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenArray {
    /// The function, by position.
    pub function: usize,
    /// The argument's name.
    pub name: String,
    /// Its elements; integers and truth values as floats.
    pub values: Vec<f64>,
}

/// Reads what a program of [`Mode::Print`] printed; `None` if it is not that.
#[must_use]
pub fn read_outputs(text: &str) -> Option<Vec<WrittenArray>> {
    let mut lines = text.lines();
    let mut res = Vec::new();
    while let Some(line) = lines.next() {
        let mut words = line.strip_prefix("output ")?.split(' ');
        let function = words.next()?.parse().ok()?;
        let name = words.next()?.to_owned();
        let n: usize = words.next()?.parse().ok()?;
        let values = lines
            .by_ref()
            .take(n)
            .map(|line| u64::from_str_radix(line, 16).ok().map(f64::from_bits))
            .collect::<Option<Vec<f64>>>()?;
        if values.len() != n {
            return None;
        }
        res.push(WrittenArray { function, name, values });
    }
    Some(res)
}

/// What a program of [`Mode::Time`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The greatest difference of an element that a function wrote from what the first function wrote there, relative to the greater
    /// of the two and 1.
    pub difference: f64,
    /// Nanoseconds per call: for each round, one number per function.
    pub rounds: Vec<Vec<f64>>,
}

/// Reads what a program of [`Mode::Time`] printed; `None` if it is not that.
#[must_use]
pub fn read_times(text: &str) -> Option<Times> {
    let mut lines = text.lines();
    let difference = lines.next()?.strip_prefix("difference ")?.parse().ok()?;
    let rounds = lines
        .map(|line| line.strip_prefix("round ")?.split(' ').map(|word| word.parse().ok()).collect())
        .collect::<Option<Vec<Vec<f64>>>>()?;
    Some(Times { difference, rounds })
}
