//! The types of temporaries that an assignment declares without one: `<> t = a*x[i]`.
//!
//! # Output
//! A type where every assignment to the temporary gives the same under loopy's rules and C's; otherwise an error that asks for it. A float literal
//! alone has no type, because loopy takes it for a single float; integers next to floats and quotients of integers have none either.
//! # Method
//! Types of expressions bottom-up, again until no type of a temporary changes; each changes at most a few times.

use nestegg_ir::{Dtype, Number, Op};
use rustc_hash::FxHashMap;

use super::parser::Parser;
use crate::error::ReadError;
use crate::syntax::{Fold, InstructionKindSyntax, NodeId, NodeKind};

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Nothing yet.
    Nothing,
    /// An integer literal.
    Int,
    /// A float literal.
    Float,
    /// A type.
    Dtype(Dtype),
    /// Rules differ, or something is wrong.
    Unclear,
}

impl Known {
    /// The type of an operation on both.
    fn join(self, other: Self) -> Self {
        use Dtype::{Float32, Float64, Int32, Int64};
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            (Self::Int, Self::Dtype(dtype)) | (Self::Dtype(dtype), Self::Int) if dtype != Dtype::Bool => {
                Self::Dtype(dtype)
            }
            (Self::Float, Self::Dtype(dtype @ (Float32 | Float64)))
            | (Self::Dtype(dtype @ (Float32 | Float64)), Self::Float) => Self::Dtype(dtype),
            (Self::Dtype(Float32 | Float64), Self::Dtype(Float32 | Float64)) => Self::Dtype(Float64),
            (Self::Dtype(Int32 | Int64), Self::Dtype(Int32 | Int64)) => Self::Dtype(Int64),
            _ => Self::Unclear,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Nothing | Self::Float | Self::Dtype(Dtype::Float32 | Dtype::Float64))
    }
}

/// How often types are looked at again: a type goes from nothing over literals to narrow and wide, and is unclear at last.
const MAX_CHANGES: usize = 6;

impl Parser<'_, '_> {
    /// Gives untyped temporaries their types.
    pub(super) fn infer_types(&mut self) {
        if self.untyped.is_empty() {
            return;
        }
        let mut types: FxHashMap<String, Known> = FxHashMap::default();
        for array in &self.kernel.arrays {
            let known = array.dtype.map_or(Known::Nothing, Known::Dtype);
            types.insert(array.name.text.to_string(), known);
        }
        for parameter in &self.kernel.parameters {
            let known = parameter.dtype.map_or(Known::Unclear, |(dtype, _)| Known::Dtype(dtype));
            types.insert(parameter.name.text.to_string(), known);
        }
        for rule in &self.kernel.substitutions {
            types.insert(rule.name.text.to_string(), Known::Unclear);
        }
        let assigned: Vec<(String, NodeId)> = self
            .kernel
            .instructions
            .iter()
            .filter_map(|insn| match &insn.kind {
                InstructionKindSyntax::Assignment { assignee, expression } => {
                    match &self.kernel.nodes[*assignee].kind {
                        NodeKind::Name(text) => Some((text.to_string(), *expression)),
                        _ => None,
                    }
                }
                _ => None,
            })
            .filter(|(name, _)| self.untyped.iter().any(|untyped| untyped.text == *name))
            .collect();
        for _ in 0..self.untyped.len().saturating_mul(MAX_CHANGES) {
            let mut changes = false;
            for (name, expression) in &assigned {
                let known = self.known(*expression, &types);
                if let Some(old) = types.get_mut(name) {
                    let new = old.join(known);
                    changes |= new != *old;
                    *old = new;
                }
            }
            if !changes {
                break;
            }
        }
        for name in &self.untyped {
            let dtype = match types.get(&*name.text) {
                Some(Known::Dtype(dtype)) => Some(*dtype),
                Some(Known::Int) => Some(Dtype::Int32),
                _ => None,
            };
            if dtype.is_none() {
                self.errors.push(ReadError::NoType { name: name.text.to_string(), at: name.span });
            }
            for array in self.kernel.arrays.iter_mut().filter(|array| array.name.span == name.span) {
                array.dtype = dtype;
            }
        }
    }

    /// What is known of an expression.
    fn known(&self, root: NodeId, types: &FxHashMap<String, Known>) -> Known {
        let nodes = &self.kernel.nodes;
        let mut found: FxHashMap<NodeId, Known> = FxHashMap::default();
        for node in nodes.subtree(root) {
            let children = nodes.children(node);
            let of = |child: &NodeId| found.get(child).copied().unwrap_or(Known::Unclear);
            let joined = |children: &[NodeId]| children.iter().map(of).fold(Known::Nothing, Known::join);
            let float = |known: Known| if known.is_float() { known } else { Known::Unclear };
            let known = match &nodes[node].kind {
                NodeKind::Number(Number::Int(_)) => Known::Int,
                NodeKind::Number(Number::Float(_)) => Known::Float,
                // What has no other meaning is an iname.
                NodeKind::Name(text) => types.get(&**text).copied().unwrap_or(Known::Dtype(Dtype::Int32)),
                NodeKind::Subscript(name) | NodeKind::Linear(name) => {
                    types.get(&*name.text).copied().unwrap_or(Known::Unclear)
                }
                NodeKind::Cast(dtype) => Known::Dtype(*dtype),
                NodeKind::Reduce(Fold::Any | Fold::All, _) => Known::Dtype(Dtype::Bool),
                NodeKind::Reduce(..) => joined(children),
                NodeKind::Apply(name) if types.contains_key(&*name.text) => Known::Unclear,
                NodeKind::Apply(_) | NodeKind::Call(_) => float(joined(children)),
                NodeKind::Op(op) => match op {
                    _ if op.is_comparison() || op.is_logic() => Known::Dtype(Dtype::Bool),
                    Op::If => joined(children.get(1..).unwrap_or_default()),
                    Op::Div => float(joined(children)),
                    Op::Pow => match children {
                        [base, exponent] if of(exponent) == Known::Int => float(of(base)),
                        _ => float(joined(children)),
                    },
                    _ => joined(children),
                },
                NodeKind::Substitution(_) | NodeKind::Unstated | NodeKind::Error => Known::Unclear,
            };
            found.insert(node, known);
        }
        found.get(&root).copied().unwrap_or(Known::Unclear)
    }
}
