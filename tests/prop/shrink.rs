//! Makes a kernel that shows a failure small.
//!
//! # Input
//! A kernel, and a test that says whether a kernel still shows the failure.
//! # Output
//! A kernel that does, from which no single step takes away anything more.
//! # Method
//! Delta debugging (Zeller, Hildebrandt, 2002) by [`Edit`]s of the kernel, the coarse ones first: an edit that the test lets
//! pass stays. Then declarations that nothing needs are struck out of its text.

use nestegg_ir::types::{Type, Types};
use nestegg_ir::{Expr, ExprId, Float, InsnId, InstructionKind, Item, Kernel, Op, Program};
use nestegg_span::Source;

/// A step towards a smaller kernel.
#[derive(Clone, Copy, Debug)]
enum Edit {
    /// Forgets the linearization.
    Unorder,
    /// Takes out so many instructions from one on.
    DropInstructions(usize, usize),
    /// Takes out the condition at this item of the linearization.
    DropCondition(usize),
    /// Takes out a predicate of an instruction.
    DropPredicate(usize, usize),
    /// Takes out what an instruction depends on.
    DropDependences(usize),
    /// Takes out the tags of an iname.
    DropTags(usize),
    /// Puts an operand in the place of an expression in an instruction.
    Lift(usize, ExprId, usize),
    /// Takes out an operand of an expression in an instruction.
    DropOperand(usize, ExprId, usize),
    /// Puts a number in the place of an expression in an instruction.
    Number(usize, ExprId),
}

/// The smallest kernel found that `fails`, after at most `max_trials` of them.
pub fn shrink(program: &Program, max_trials: usize, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    let mut n_trials = 0;
    let mut test = |program: &Program| {
        n_trials += 1;
        n_trials <= max_trials && fails(program)
    };
    loop {
        let mut is_smaller = false;
        let mut edit_idx = 0;
        let mut all = edits(&smallest);
        while let Some(&edit) = all.get(edit_idx) {
            match apply(&smallest, edit).filter(|candidate| test(candidate)) {
                // The edits from this place on are those of the smaller kernel.
                Some(candidate) => {
                    smallest = candidate;
                    all = edits(&smallest);
                    is_smaller = true;
                }
                None => edit_idx += 1,
            }
        }
        is_smaller |= strike_lines(&mut smallest, &mut test);
        if !is_smaller {
            return smallest;
        }
    }
}

fn edits(program: &Program) -> Vec<Edit> {
    let kernel = program.kernel();
    let n_instructions = kernel.instructions.len();
    let mut res = Vec::new();
    let mut n_dropped = n_instructions / 2;
    while n_dropped > 0 {
        res.extend((0..n_instructions / n_dropped).map(|idx| Edit::DropInstructions(idx * n_dropped, n_dropped)));
        n_dropped /= 2;
    }
    if let Some(items) = program.linearization() {
        res.push(Edit::Unorder);
        let conditions = items.iter().enumerate().filter(|(_, item)| matches!(item, Item::If(_)));
        res.extend(conditions.map(|(idx, _)| Edit::DropCondition(idx)));
    }
    for (idx, instruction) in kernel.instructions.iter().enumerate() {
        res.extend((0..instruction.predicates.len()).map(|predicate| Edit::DropPredicate(idx, predicate)));
        if !instruction.depends_on.is_empty() {
            res.push(Edit::DropDependences(idx));
        }
    }
    let tagged = kernel.inames.iter().enumerate().filter(|(_, iname)| !iname.tags.is_empty());
    res.extend(tagged.map(|(idx, _)| Edit::DropTags(idx)));
    for (idx, instruction) in kernel.instructions.iter().enumerate() {
        for expr in kernel.exprs.reachable(instruction.expressions()).into_iter().rev() {
            if matches!(kernel.exprs[expr], Expr::Number(_)) {
                continue;
            }
            res.push(Edit::Number(idx, expr));
            let n_operands = kernel.exprs[expr].children().len();
            res.extend((0..n_operands).map(|operand| Edit::Lift(idx, expr, operand)));
            if n_operands > 2 {
                res.extend((0..n_operands).map(|operand| Edit::DropOperand(idx, expr, operand)));
            }
        }
    }
    res
}

fn apply(program: &Program, edit: Edit) -> Option<Program> {
    let mut res = program.clone();
    if let Edit::Unorder = edit {
        return Some(Program::Unordered(res.kernel().clone()));
    }
    let (kernel, items) = match &mut res {
        Program::Unordered(kernel) => (kernel, None),
        Program::Linearized(linearized) => (&mut linearized.kernel, Some(&mut linearized.linearization)),
    };
    match edit {
        Edit::Unorder => {}
        Edit::DropInstructions(start, n_dropped) => drop_instructions(kernel, items, start, n_dropped),
        Edit::DropCondition(item_idx) => {
            let items = items?;
            let end = end_of(items, item_idx)?;
            items.remove(end);
            items.remove(item_idx);
        }
        Edit::DropPredicate(insn, predicate) => {
            kernel.instructions[insn].predicates.remove(predicate);
        }
        Edit::DropDependences(insn) => kernel.instructions[insn].depends_on.clear(),
        Edit::DropTags(iname) => kernel.inames[iname].tags.clear(),
        Edit::Lift(insn, expr, operand) => {
            let operand = *kernel.exprs[expr].children().get(operand)?;
            let types = Types::infer(kernel);
            if kind(types.of(expr)) != kind(types.of(operand)) {
                return None;
            }
            replace(kernel, insn, expr, |kernel| kernel.exprs[operand].clone());
        }
        Edit::DropOperand(insn, expr, operand) => {
            let Expr::Op { op: Op::Add | Op::Mul | Op::Min | Op::Max | Op::And | Op::Or, operands } =
                &kernel.exprs[expr]
            else {
                return None;
            };
            let rest = operands.iter().enumerate().filter(|(idx, _)| *idx != operand).map(|(_, &id)| id);
            let rest: Box<[ExprId]> = rest.collect();
            replace(kernel, insn, expr, |kernel| match &kernel.exprs[expr] {
                Expr::Op { op, .. } => Expr::Op { op: *op, operands: rest },
                other => other.clone(),
            });
        }
        Edit::Number(insn, expr) => {
            let number = match kind(Types::infer(kernel).of(expr)) {
                Kind::Bool => return None,
                Kind::Integer => kernel.exprs.int(0),
                Kind::Float => kernel.exprs.float(Float::new(1.5)?),
            };
            replace(kernel, insn, expr, |kernel| kernel.exprs[number].clone());
        }
    }
    Some(res)
}

#[derive(PartialEq)]
enum Kind {
    Bool,
    Integer,
    Float,
}

fn kind(ty: Type) -> Kind {
    match ty {
        Type::Bool => Kind::Bool,
        ty if ty.is_integer() => Kind::Integer,
        _ => Kind::Float,
    }
}

/// Puts another expression in the place of `old`, in one instruction.
fn replace(kernel: &mut Kernel, insn: usize, old: ExprId, new: impl FnOnce(&Kernel) -> Expr) {
    let roots: Vec<ExprId> = kernel.instructions[insn].expressions().collect();
    let new = new(kernel);
    let map = kernel.exprs.rewrite(roots, |exprs, id, expr| exprs.intern(if id == old { new.clone() } else { expr }));
    kernel.instructions[insn].map_expressions(|id| map.get(id));
}

/// The item that closes the one at `start`.
fn end_of(items: &[Item], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    items.iter().enumerate().skip(start).find_map(|(idx, item)| {
        match item {
            Item::For(_) | Item::If(_) => depth += 1,
            Item::End(_) | Item::EndIf => depth -= 1,
            Item::Run(_) => {}
        }
        (depth == 0).then_some(idx)
    })
}

/// Takes out instructions, and the loops and conditions that are empty without them.
fn drop_instructions(kernel: &mut Kernel, items: Option<&mut Vec<Item>>, start: usize, n_dropped: usize) {
    let is_dropped = |insn: InsnId| (start..start + n_dropped).contains(&insn.index());
    let renumber = |insn: InsnId| {
        let idx = insn.index();
        InsnId::new(if idx < start { idx } else { idx - n_dropped })
    };
    kernel.instructions.drain(start..start + n_dropped);
    for instruction in &mut kernel.instructions {
        instruction.depends_on.retain(|&insn| !is_dropped(insn));
        instruction.depends_on.iter_mut().for_each(|insn| *insn = renumber(*insn));
    }
    let Some(items) = items else { return };
    let mut kept: Vec<Item> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        match (item, kept.last()) {
            (Item::Run(insn), _) if is_dropped(insn) => {}
            (Item::Run(insn), _) => kept.push(Item::Run(renumber(insn))),
            (Item::End(_), Some(Item::For(_))) | (Item::EndIf, Some(Item::If(_))) => {
                kept.pop();
            }
            (other, _) => kept.push(other),
        }
    }
    *items = kept;
}

/// Strikes out declarations, and makes tables arguments; says whether that did anything.
fn strike_lines(smallest: &mut Program, test: &mut impl FnMut(&Program) -> bool) -> bool {
    let text = nestegg_dump::write_text(smallest);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut is_smaller = false;
    let mut line_idx = 0;
    while line_idx < lines.len() {
        let is_struck = strike(&lines, line_idx).into_iter().any(|fewer| {
            let candidate = nestegg_dump::read_text(&Source::new("smaller.knl", fewer.join("\n") + "\n"));
            let Some(candidate) = candidate.ok().map(|read| read.program).filter(|candidate| test(candidate)) else {
                return false;
            };
            *smallest = candidate;
            lines = fewer;
            true
        });
        is_smaller |= is_struck;
        line_idx += usize::from(!is_struck);
    }
    is_smaller
}

/// What may stand in the place of all lines, with less in this one.
fn strike(lines: &[String], line_idx: usize) -> Vec<Vec<String>> {
    let line = &lines[line_idx];
    let is_declaration = ["arg ", "temp ", "table ", "domain ", "param ", "assume ", "tag ", "meta "]
        .iter()
        .any(|word| line.starts_with(word))
        || line.contains(" := ");
    if !is_declaration {
        return Vec::new();
    }
    let mut without = lines.to_vec();
    without.remove(line_idx);
    let mut res = vec![without];
    if let Some((name, _)) = line.strip_prefix("table ").and_then(|rest| rest.split_once(" = ")) {
        let mut as_argument = lines.to_vec();
        as_argument[line_idx] = format!("arg {name} read");
        res.push(as_argument);
    }
    res
}

/// The number of operations and instructions: what a smaller kernel has fewer of.
pub fn size(program: &Program) -> usize {
    let kernel = program.kernel();
    let of_instruction = |instruction: &nestegg_ir::Instruction| match instruction.kind {
        InstructionKind::Opaque { .. } => 1,
        _ => 1 + kernel.exprs.reachable(instruction.expressions()).len(),
    };
    kernel.instructions.iter().map(of_instruction).sum()
}
