//! Expressions as JSON lists.

use nestegg_ir::{Expr, ExprId, Kernel};

use super::write::quoted;

enum Task<'k> {
    Expr(ExprId),
    Text(&'k str),
}

/// Writes an expression; a list of what is still to do instead of recursion.
///
/// Writes the tree that the DAG stands for: an expression that the DAG shares is written at each of its uses.
pub(crate) fn write_expr(kernel: &Kernel, formals: &[String], root: ExprId, out: &mut String) {
    let mut tasks = vec![Task::Expr(root)];
    while let Some(task) = tasks.pop() {
        let id = match task {
            Task::Text(text) => {
                out.push_str(text);
                continue;
            }
            Task::Expr(id) => id,
        };
        let children = kernel.exprs[id].children();
        match &kernel.exprs[id] {
            Expr::Number(number) => {
                out.push_str(&number.to_string());
                continue;
            }
            Expr::Iname(iname) => {
                quoted(&kernel[*iname].name, out);
                continue;
            }
            Expr::Parameter(parameter) => {
                quoted(&kernel[*parameter].name, out);
                continue;
            }
            Expr::Formal(idx) => {
                quoted(formals.get(*idx as usize).map_or("", String::as_str), out);
                continue;
            }
            Expr::Access { array, .. } if children.is_empty() => {
                quoted(&kernel[*array].name, out);
                continue;
            }
            Expr::Substitution { rule, .. } if children.is_empty() => {
                quoted(&kernel[*rule].name, out);
                continue;
            }
            Expr::Access { array, .. } => head(out, "[]", &kernel[*array].name),
            Expr::Op { op, .. } => {
                out.push('[');
                quoted(op.spelling(), out);
            }
            Expr::Call { function, .. } => head(out, "call", &kernel[*function]),
            Expr::Substitution { rule, .. } => head(out, "subst", &kernel[*rule].name),
            Expr::Cast { dtype, .. } => head(out, "cast", dtype.name()),
            Expr::Reduce { op, inames, .. } => {
                head(out, "reduce", op.spelling());
                out.push_str(",[");
                for (idx, iname) in inames.iter().enumerate() {
                    if idx > 0 {
                        out.push(',');
                    }
                    quoted(&kernel[*iname].name, out);
                }
                out.push(']');
            }
        }
        tasks.push(Task::Text("]"));
        for &child in children.iter().rev() {
            tasks.push(Task::Expr(child));
            tasks.push(Task::Text(","));
        }
    }
}

fn head(out: &mut String, form: &str, name: &str) {
    out.push('[');
    quoted(form, out);
    out.push(',');
    quoted(name, out);
}
