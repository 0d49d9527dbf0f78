//! Expressions as text, with the fewest parentheses that keep their structure.

use nestegg_ir::{ArrayId, Expr, ExprId, Kernel, Number, Op, ReduceOp};

use super::exprs::level;

enum Task<'k> {
    /// An expression where one is needed that binds at least this tightly.
    Expr(ExprId, u8),
    Text(&'k str),
    Number(Number),
}

/// An array element as it is written.
pub(crate) fn access_text(kernel: &Kernel, array: ArrayId, indices: &[ExprId]) -> String {
    let mut res = kernel[array].name.clone();
    for (idx, &index) in indices.iter().enumerate() {
        res.push_str(if idx == 0 { "[" } else { ", " });
        write_expr(kernel, &[], index, &mut res);
    }
    if !indices.is_empty() {
        res.push(']');
    }
    res
}

/// Writes an expression; a list of what is still to do instead of recursion.
pub(super) fn write_expr(kernel: &Kernel, formals: &[String], root: ExprId, out: &mut String) {
    let mut tasks = vec![Task::Expr(root, 0)];
    while let Some(task) = tasks.pop() {
        let (id, least) = match task {
            Task::Text(text) => {
                out.push_str(text);
                continue;
            }
            Task::Number(number) => {
                out.push_str(&number.to_string());
                continue;
            }
            Task::Expr(id, least) => (id, least),
        };
        let start = tasks.len();
        if level_of(&kernel.exprs[id]) < least {
            tasks.push(Task::Text("("));
            parts(kernel, formals, id, &mut tasks);
            tasks.push(Task::Text(")"));
        } else {
            parts(kernel, formals, id, &mut tasks);
        }
        // The parts were pushed in order of writing; the last task is done first.
        tasks[start..].reverse();
    }
}

/// How tightly an expression binds as it is written.
fn level_of(expr: &Expr) -> u8 {
    match expr {
        Expr::Number(Number::Int(..0)) => level::UNARY,
        Expr::Number(Number::Float(value)) if value.get().is_sign_negative() => level::UNARY,
        Expr::Op { op, .. } => op_level(*op),
        _ => level::PRIMARY,
    }
}

fn op_level(op: Op) -> u8 {
    match op {
        Op::If => level::IF,
        Op::Or => level::OR,
        Op::And => level::AND,
        Op::Not => level::NOT,
        Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne => level::COMPARE,
        Op::BitOr => level::BIT_OR,
        Op::BitXor => level::BIT_XOR,
        Op::BitAnd => level::BIT_AND,
        Op::Shl | Op::Shr => level::SHIFT,
        Op::Add | Op::Sub => level::ADD,
        Op::Mul => level::MULTIPLY,
        Op::Div | Op::FloorDiv | Op::Mod => level::DIVIDE,
        Op::Neg | Op::BitNot => level::UNARY,
        Op::Pow => level::POWER,
        Op::Min | Op::Max => level::PRIMARY,
    }
}

fn parts<'k>(kernel: &'k Kernel, formals: &'k [String], id: ExprId, tasks: &mut Vec<Task<'k>>) {
    match &kernel.exprs[id] {
        Expr::Number(number) => tasks.push(Task::Number(*number)),
        Expr::Iname(iname) => tasks.push(Task::Text(&kernel[*iname].name)),
        Expr::Parameter(parameter) => tasks.push(Task::Text(&kernel[*parameter].name)),
        Expr::Formal(idx) => tasks.push(Task::Text(formals.get(*idx as usize).map_or("", String::as_str))),
        Expr::Access { array, indices } => {
            tasks.push(Task::Text(&kernel[*array].name));
            if !indices.is_empty() {
                list(tasks, "[", indices, "]");
            }
        }
        Expr::Call { function, arguments } => {
            tasks.push(Task::Text(&kernel[*function]));
            list(tasks, "(", arguments, ")");
        }
        Expr::Substitution { rule, arguments } => {
            tasks.push(Task::Text(&kernel[*rule].name));
            if !arguments.is_empty() {
                list(tasks, "(", arguments, ")");
            }
        }
        Expr::Cast { dtype, operand } => {
            tasks.extend([Task::Text("cast("), Task::Text(dtype.name()), Task::Text(", ")]);
            tasks.extend([Task::Expr(*operand, 0), Task::Text(")")]);
        }
        Expr::Reduce { op, inames, body } => {
            match (op, &**inames) {
                (ReduceOp::Sum | ReduceOp::Product, [iname]) => {
                    tasks.extend([Task::Text(op.spelling()), Task::Text("("), Task::Text(&kernel[*iname].name)]);
                }
                _ => {
                    tasks.extend([Task::Text("reduce("), Task::Text(op.spelling())]);
                    for (idx, iname) in inames.iter().enumerate() {
                        tasks.push(Task::Text(if idx == 0 { ", [" } else { ", " }));
                        tasks.push(Task::Text(&kernel[*iname].name));
                    }
                    tasks.push(Task::Text("]"));
                }
            }
            tasks.extend([Task::Text(", "), Task::Expr(*body, 0), Task::Text(")")]);
        }
        Expr::Op { op, operands } => operation(kernel, *op, operands, tasks),
    }
}

fn operation<'k>(kernel: &'k Kernel, op: Op, operands: &'k [ExprId], tasks: &mut Vec<Task<'k>>) {
    let level = op_level(op);
    match (op, operands) {
        (Op::Min | Op::Max, _) => {
            tasks.push(Task::Text(op.spelling()));
            list(tasks, "(", operands, ")");
        }
        (Op::If, &[condition, value, other]) => {
            tasks.extend([Task::Expr(value, level + 1), Task::Text(" if "), Task::Expr(condition, level + 1)]);
            tasks.extend([Task::Text(" else "), Task::Expr(other, level)]);
        }
        (Op::Neg, &[operand]) => {
            // A minus before a number would make a negative literal.
            let is_number = matches!(kernel.exprs[operand], Expr::Number(_));
            let least = if is_number && level_of(&kernel.exprs[operand]) == level::PRIMARY { u8::MAX } else { level };
            tasks.extend([Task::Text("-"), Task::Expr(operand, least)]);
        }
        (Op::BitNot, &[operand]) => tasks.extend([Task::Text("~"), Task::Expr(operand, level)]),
        (Op::Not, &[operand]) => {
            // Operations after `not` have another reading in loopy.
            let least = if level_of(&kernel.exprs[operand]) == level::NOT { level } else { level::UNARY };
            tasks.extend([Task::Text("not "), Task::Expr(operand, least)]);
        }
        (Op::Pow, &[base, exponent]) => {
            tasks.extend([Task::Expr(base, level::PRIMARY), Task::Text("**"), Task::Expr(exponent, level::UNARY)]);
        }
        _ => {
            let separator = separator(op);
            for (idx, &operand) in operands.iter().enumerate() {
                if idx > 0 {
                    tasks.push(Task::Text(separator));
                }
                // Operations that group to the left; sums and products of more than two operands are one operation.
                let joins_left = match op {
                    Op::Add => matches!(kernel.exprs[operand], Expr::Op { op: Op::Sub, .. }),
                    Op::Sub | Op::Div | Op::FloorDiv | Op::Mod | Op::Shl | Op::Shr => true,
                    _ => false,
                };
                let tighter = if op.is_comparison() || op == Op::BitOr {
                    // Bits beside these have another reading in loopy.
                    tighter_than_bits(op, &kernel.exprs[operand])
                } else {
                    level + 1
                };
                let least = if idx == 0 && joins_left { level } else { tighter };
                tasks.push(Task::Expr(operand, least));
            }
        }
    }
}

/// How tightly an operand of a comparison or of `|` must bind so that loopy reads it as an operand, too.
fn tighter_than_bits(op: Op, operand: &Expr) -> u8 {
    match operand {
        Expr::Op { op: Op::BitAnd, .. } if op == Op::BitOr => level::BIT_AND,
        _ => level::SHIFT,
    }
}

fn separator(op: Op) -> &'static str {
    match op {
        Op::Add => " + ",
        Op::Sub => " - ",
        Op::Lt => " < ",
        Op::Le => " <= ",
        Op::Gt => " > ",
        Op::Ge => " >= ",
        Op::Eq => " == ",
        Op::Ne => " != ",
        Op::And => " and ",
        Op::Or => " or ",
        Op::BitAnd => " & ",
        Op::BitOr => " | ",
        Op::BitXor => " ^ ",
        Op::Shl => " << ",
        Op::Shr => " >> ",
        other => other.spelling(),
    }
}

fn list<'k>(tasks: &mut Vec<Task<'k>>, open: &'k str, operands: &[ExprId], close: &'k str) {
    tasks.push(Task::Text(open));
    for (idx, &operand) in operands.iter().enumerate() {
        if idx > 0 {
            tasks.push(Task::Text(", "));
        }
        tasks.push(Task::Expr(operand, 0));
    }
    tasks.push(Task::Text(close));
}
