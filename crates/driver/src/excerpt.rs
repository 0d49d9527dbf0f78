//! The beginning of an expression as a line of text, for reports and comments.
//!
//! Expressions are DAGs whose text can be exponentially long, so the text is written up to a budget and then cut off.
//! It reads like the text form but is made for eyes: a cut ends with `…`.

use nestegg_ir::{Expr, ExprId, Kernel, Op};

/// Characters after which the text is cut off.
const BUDGET: usize = 160;

/// The expression as text, cut off where it is long.
#[must_use]
pub fn excerpt(kernel: &Kernel, root: ExprId) -> String {
    let mut text = String::new();
    let mut n_chars = 0;
    // What is still to be written, the next piece last: a stack instead of recursion, for depth has no limit here.
    let mut pending = vec![Piece::Expr(root, Binding::Loosest)];
    while let Some(piece) = pending.pop() {
        match piece {
            Piece::Text(piece) => {
                n_chars += piece.chars().count();
                text.push_str(&piece);
            }
            Piece::Expr(id, binding) => push_pieces(kernel, id, binding, &mut pending),
        }
        if n_chars > BUDGET {
            text.push('…');
            return text;
        }
    }
    text
}

enum Piece {
    Text(String),
    Expr(ExprId, Binding),
}

/// How tightly a place binds: looser expressions get parentheses there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loosest,
    Sum,
    Product,
    Tightest,
}

fn push_pieces(kernel: &Kernel, id: ExprId, place: Binding, pending: &mut Vec<Piece>) {
    let text = |text: &str| Piece::Text(text.to_owned());
    let listed = |children: &[ExprId], separator: &str| {
        let mut pieces = Vec::new();
        for (idx, &child) in children.iter().enumerate() {
            if idx > 0 {
                pieces.push(text(separator));
            }
            pieces.push(Piece::Expr(child, Binding::Loosest));
        }
        pieces
    };
    let call = |name: &str, arguments: &[ExprId]| {
        let mut pieces = vec![text(name), text("(")];
        pieces.extend(listed(arguments, ", "));
        pieces.push(text(")"));
        pieces
    };
    let mut pieces = match &kernel.exprs[id] {
        Expr::Number(number) => vec![text(&number.to_string())],
        Expr::Iname(iname) => vec![text(&kernel[*iname].name)],
        Expr::Parameter(parameter) => vec![text(&kernel[*parameter].name)],
        Expr::Formal(position) => vec![text(&format!("#{position}"))],
        Expr::Access { array, indices } if indices.is_empty() => vec![text(&kernel[*array].name)],
        Expr::Access { array, indices } => {
            let mut pieces = vec![text(&kernel[*array].name), text("[")];
            pieces.extend(listed(indices, ", "));
            pieces.push(text("]"));
            pieces
        }
        Expr::Op { op, operands } => operation(*op, operands, place),
        Expr::Call { function, arguments } => call(&kernel[*function], arguments),
        Expr::Reduce { op, inames, body } => {
            let inames: Vec<&str> = inames.iter().map(|iname| kernel[*iname].name.as_str()).collect();
            let mut pieces = vec![text(&format!("{}([{}], ", op.spelling(), inames.join(", ")))];
            pieces.extend([Piece::Expr(*body, Binding::Loosest), text(")")]);
            pieces
        }
        Expr::Substitution { rule, arguments } => call(&kernel[*rule].name, arguments),
        Expr::Cast { dtype, operand } => call(dtype.name(), &[*operand]),
    };
    pieces.reverse();
    pending.append(&mut pieces);
}

/// The pieces of an operation, in parentheses where it binds more loosely than its place.
fn operation(op: Op, operands: &[ExprId], place: Binding) -> Vec<Piece> {
    let text = |text: &str| Piece::Text(text.to_owned());
    let (own, inner, separator) = match op {
        Op::Add => (Binding::Sum, Binding::Sum, " + "),
        Op::Sub => (Binding::Sum, Binding::Product, " - "),
        Op::Mul => (Binding::Product, Binding::Product, "*"),
        Op::Div => (Binding::Product, Binding::Tightest, "/"),
        Op::Pow => (Binding::Product, Binding::Tightest, "**"),
        Op::Neg | Op::Not | Op::BitNot => {
            return vec![text(op.spelling()), Piece::Expr(operands[0], Binding::Tightest)];
        }
        Op::Min | Op::Max | Op::If => {
            let mut pieces = vec![text(op.spelling()), text("(")];
            for (idx, &operand) in operands.iter().enumerate() {
                pieces.extend((idx > 0).then(|| text(", ")));
                pieces.push(Piece::Expr(operand, Binding::Loosest));
            }
            pieces.push(text(")"));
            return pieces;
        }
        _ => (Binding::Loosest, Binding::Tightest, ""),
    };
    let separator = if separator.is_empty() { format!(" {} ", op.spelling()) } else { separator.to_owned() };
    let mut pieces = Vec::new();
    for (idx, &operand) in operands.iter().enumerate() {
        pieces.extend((idx > 0).then(|| text(&separator)));
        pieces.push(Piece::Expr(operand, inner));
    }
    if own < place {
        pieces.insert(0, text("("));
        pieces.push(text(")"));
    }
    pieces
}
