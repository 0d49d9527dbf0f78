//! Writes chosen e-nodes as expressions of the IR.
//!
//! A sum is its positive terms less its negative ones; a product the positive powers over the negative ones; numbers
//! come first. Literals take the type of what they meet.

use egg::Id;
use nestegg_egraph::analysis::Graph;
use nestegg_egraph::context::Index;
use nestegg_egraph::language::Node;
use nestegg_egraph::rational::Rational;
use nestegg_ir::types::Type;
use nestegg_ir::{Expr, ExprId, Exprs, Float, Op};

/// A literal of a type: an integer for integers, a float otherwise.
pub fn literal(exprs: &mut Exprs, value: &Rational, ty: Type) -> ExprId {
    match value.to_int() {
        Some(value) if !ty.is_float() => exprs.int(value),
        _ => {
            let nearest = Float::new(value.to_f64()).expect("constants of the e-graph are finite doubles");
            exprs.float(nearest)
        }
    }
}

/// The expression of an e-node; `child` writes an operand, literals of the type given.
pub fn node(
    graph: &Graph,
    exprs: &mut Exprs,
    class: Id,
    node: &Node,
    child: &mut dyn FnMut(&mut Exprs, Id, Type) -> ExprId,
) -> ExprId {
    let ty = graph[class].data.dtype;
    match node {
        Node::Number(value, _) => literal(exprs, value, ty),
        Node::Iname(iname) => exprs.intern(Expr::Iname(*iname)),
        Node::Parameter(parameter) => exprs.intern(Expr::Parameter(*parameter)),
        Node::Access(access, children) => {
            let access = graph.analysis.context.access(*access).clone();
            let mut rest = children.iter();
            let indices: Vec<ExprId> = access
                .indices
                .iter()
                .map(|index| match index {
                    Index::Affine(affine) => affine.to_expr(exprs),
                    Index::Child => {
                        let id = rest.next().expect("an access has a child for each such index");
                        child(exprs, *id, Type::Int32)
                    }
                })
                .collect();
            exprs.access(access.array, indices)
        }
        Node::Sum { .. } => {
            let terms: Vec<(Rational, Id)> =
                node.terms().into_iter().flatten().map(|(coefficient, id)| (coefficient.clone(), id)).collect();
            sum(graph, exprs, &terms, ty, child)
        }
        Node::Product { .. } => {
            let factors: Vec<(i32, Id)> = node.factors().into_iter().flatten().collect();
            product(graph, exprs, &factors, ty, child)
        }
        Node::Reduce(reduction, [body]) => {
            let reduction = graph.analysis.context.reduction(*reduction).clone();
            let body = child(exprs, *body, ty);
            exprs.intern(Expr::Reduce { op: reduction.op, inames: reduction.inames, body })
        }
        Node::Rounded(op, children) => {
            let is_exponent = |idx: usize| *op == Op::Pow && idx == 1;
            let types =
                children.iter().enumerate().map(|(idx, id)| if is_exponent(idx) { graph[*id].data.dtype } else { ty });
            let operands: Vec<ExprId> = children.iter().zip(types).map(|(&id, ty)| child(exprs, id, ty)).collect();
            exprs.op(*op, operands)
        }
        Node::Op(op, children) => {
            let joined =
                |ids: &[Id]| ids.iter().map(|&id| graph[id].data.dtype).reduce(Type::join).unwrap_or(Type::WeakInt);
            let types: Vec<Type> = match op {
                Op::If => vec![Type::Bool, ty, ty],
                _ if op.is_logic() => vec![Type::Bool; children.len()],
                _ => vec![joined(children); children.len()],
            };
            let operands: Vec<ExprId> = children.iter().zip(types).map(|(&id, ty)| child(exprs, id, ty)).collect();
            if op.arity().allows(operands.len()) { exprs.op(*op, operands) } else { operands[0] }
        }
        Node::Call(function, children) => {
            let arguments: Box<[ExprId]> = children.iter().map(|&id| child(exprs, id, ty)).collect();
            exprs.intern(Expr::Call { function: *function, arguments })
        }
        Node::Cast(dtype, [operand]) => {
            let own = graph[*operand].data.dtype;
            let operand = child(exprs, *operand, own);
            exprs.intern(Expr::Cast { dtype: *dtype, operand })
        }
        Node::Guard(_, [operand]) => child(exprs, *operand, ty),
    }
}

/// An operator applied to its operands; a single one by itself.
pub fn n_ary(exprs: &mut Exprs, op: Op, operands: Vec<ExprId>) -> ExprId {
    if let [single] = operands.as_slice() { *single } else { exprs.op(op, operands) }
}

fn sum(
    graph: &Graph,
    exprs: &mut Exprs,
    terms: &[(Rational, Id)],
    ty: Type,
    child: &mut dyn FnMut(&mut Exprs, Id, Type) -> ExprId,
) -> ExprId {
    let (mut plus, mut minus) = (Vec::new(), Vec::new());
    for (coefficient, id) in terms {
        let value = match &graph[*id].data.constant {
            Some(constant) if coefficient.abs().is_one() => literal(exprs, constant, ty),
            _ => child(exprs, *id, ty),
        };
        for part in coefficient.abs().to_doubles() {
            let scaled = if part.is_one() {
                value
            } else {
                let part = literal(exprs, &part, ty);
                exprs.op(Op::Mul, [part, value])
            };
            if coefficient.is_negative() { &mut minus } else { &mut plus }.push(scaled);
        }
    }
    match (plus.is_empty(), minus.is_empty()) {
        (true, true) => literal(exprs, &Rational::ZERO, ty),
        (false, true) => n_ary(exprs, Op::Add, plus),
        (true, false) => {
            let all = n_ary(exprs, Op::Add, minus);
            exprs.op(Op::Neg, [all])
        }
        (false, false) => {
            let first = n_ary(exprs, Op::Add, plus);
            let second = n_ary(exprs, Op::Add, minus);
            exprs.op(Op::Sub, [first, second])
        }
    }
}

fn product(
    graph: &Graph,
    exprs: &mut Exprs,
    factors: &[(i32, Id)],
    ty: Type,
    child: &mut dyn FnMut(&mut Exprs, Id, Type) -> ExprId,
) -> ExprId {
    let (mut above, mut below) = (Vec::new(), Vec::new());
    // Constants lead.
    let mut factors = factors.to_vec();
    factors.sort_by_key(|(_, id)| graph[*id].data.constant.is_none());
    for (exponent, id) in factors {
        let base = child(exprs, id, ty);
        let power = match exponent.unsigned_abs() {
            1 => base,
            magnitude => {
                let magnitude = exprs.int(magnitude.into());
                exprs.op(Op::Pow, [base, magnitude])
            }
        };
        if exponent < 0 { &mut below } else { &mut above }.push(power);
    }
    if below.is_empty() {
        return if above.is_empty() { literal(exprs, &Rational::ONE, ty) } else { n_ary(exprs, Op::Mul, above) };
    }
    let denominator = n_ary(exprs, Op::Mul, below);
    let numerator = if above.is_empty() { literal(exprs, &Rational::ONE, ty) } else { n_ary(exprs, Op::Mul, above) };
    exprs.op(Op::Div, [numerator, denominator])
}
