//! Expressions to nodes: depth-first with an explicit stack, each (expression, open reductions) once.
//!
//! Affine integers stay forms until something other than an index needs them as a node.

use nestegg_ir::types::Type;
use nestegg_ir::{Dtype, Expr, ExprId, InameId, Number};

use crate::builder::{Builder, Typed, Value};
use crate::conversions::{self, whole_literal};
use crate::error::Error;
use crate::node::{Dep, NodeId, Op, SetId};

impl Builder<'_, '_, '_> {
    pub(super) fn value(&mut self, root: ExprId, volatile: &[ExprId], own: SetId) -> Result<Typed, Error> {
        let mut stack = vec![(root, 0)];
        while let Some(&(id, nest)) = stack.last() {
            if self.values.contains_key(&(id, nest)) {
                stack.pop();
                continue;
            }
            let source = self.context.source;
            let expr = &source.exprs[id];
            let inner = match expr {
                Expr::Reduce { inames, .. } => self.enter(nest, inames)?,
                _ => nest,
            };
            let is_leaf = source.forms[id.index()].is_some() || self.forwarded.contains_key(&id);
            if !is_leaf {
                let n_before = stack.len();
                let missing = expr.children().iter().map(|&child| (child, inner));
                stack.extend(missing.filter(|key| !self.values.contains_key(key)));
                if stack.len() > n_before {
                    continue;
                }
            }
            stack.pop();
            let typed = self.evaluate(id, nest, inner, volatile, own)?;
            self.know((id, nest), typed);
        }
        Ok(self.values[&(root, 0)])
    }

    /// Keeps a value for the instructions that follow, until an array that it was read from is written.
    fn know(&mut self, known: (ExprId, usize), typed: Typed) {
        if let Value::Node(node) = typed.value {
            let deps = &self.deps[self.node_deps[node.index()] as usize];
            for dep in deps {
                if let Dep::Array(array) = dep {
                    self.readers.entry(*array).or_default().push(known);
                }
            }
        }
        self.values.insert(known, typed);
    }

    /// Forgets the values of expressions; their nodes stay.
    pub(super) fn forget_all(&mut self) {
        self.values.clear();
        self.readers.clear();
    }

    /// The nest inside a reduction.
    fn enter(&mut self, nest: usize, inames: &[InameId]) -> Result<usize, Error> {
        let mut open = self.nests[nest].clone();
        for &iname in inames {
            if self.outer.contains(&iname) {
                let reason = format!("reduction over iname `{}` inside its loop", self.context.kernel[iname].name);
                return Err(self.unsupported(&reason));
            }
            self.inames.insert(iname);
            if self.context.domains.tied(iname).len() > 1 && !open.contains(&iname) {
                open.push(iname);
            }
        }
        open.sort_unstable();
        Ok(self.nests.insert_full(open).0)
    }

    fn evaluate(
        &mut self,
        id: ExprId,
        nest: usize,
        inner: usize,
        volatile: &[ExprId],
        own: SetId,
    ) -> Result<Typed, Error> {
        if let Some(&typed) = self.forwarded.get(&id) {
            return Ok(typed);
        }
        let source = self.context.source;
        let expr = &source.exprs[id];
        let of = |builder: &Self, child: ExprId| builder.values[&(child, inner)];
        if source.forms[id.index()].is_some() {
            return Ok(Typed {
                ty: conversions::of_form(self.context.kernel, self.context.source, id),
                value: Value::Affine(id),
            });
        }
        let node = match expr {
            Expr::Number(Number::Float(value)) => self.float(value.get()),
            Expr::Number(Number::Int(_)) | Expr::Iname(_) | Expr::Parameter(_) => {
                unreachable!("integers and inames have forms")
            }
            Expr::Formal(_) | Expr::Substitution { .. } => {
                return Err(self.unsupported("a formal parameter outside its substitution rule"));
            }
            Expr::Access { array, indices } => {
                let is_volatile = volatile.contains(&id);
                let address = self.address(*array, indices, inner, is_volatile.then_some(own))?;
                let version = if is_volatile {
                    self.next_version += 1;
                    self.next_version
                } else {
                    self.versions.get(array).copied().unwrap_or(0)
                };
                let ty = Type::from(self.context.kernel[*array].dtype);
                self.node(Op::Load { array: *array, address: address.0, version }, ty, address.1)
            }
            Expr::Op { op, operands } => {
                let operands: Vec<Typed> = operands.iter().map(|&operand| of(self, operand)).collect();
                let exponent = match expr.children() {
                    [_, exponent] => whole_literal(&source.exprs[*exponent]),
                    _ => None,
                };
                self.operation(*op, &operands, exponent)?
            }
            Expr::Call { function, arguments } => {
                let name = &self.context.kernel[*function];
                if let ("pow", [base, exponent]) = (name.as_str(), &**arguments)
                    && let Some(exponent) = whole_literal(&source.exprs[*exponent])
                {
                    let base = of(self, *base);
                    let ty = conversions::of_call(base.ty);
                    let node = self.materialise(base)?;
                    let node = self.convert(node, ty);
                    self.node(Op::Power(node, exponent), ty, self.set_of(node))
                } else {
                    let ty = arguments.iter().fold(Type::WeakInt, |ty, &argument| ty.join(of(self, argument).ty));
                    let ty = conversions::of_call(ty);
                    let mut nodes = Vec::with_capacity(arguments.len());
                    for &argument in arguments {
                        let node = self.materialise(of(self, argument))?;
                        nodes.push(self.convert(node, ty));
                    }
                    let set = self.join_sets(&mut nodes)?;
                    let function = self.context.functions.position(name, nodes.len());
                    self.node(Op::Call { function, arguments: nodes }, ty, set)
                }
            }
            Expr::Reduce { op, inames, body } => {
                let body = of(self, *body);
                let node = self.materialise(body)?;
                self.reduction(
                    *op,
                    inames,
                    Typed { ty: body.ty.join(Type::WeakInt), value: Value::Node(node) },
                    inner,
                    own,
                )?
            }
            Expr::Cast { dtype, operand } => {
                let node = self.materialise(of(self, *operand))?;
                let to = Type::from(*dtype);
                if *dtype == Dtype::Float64 && self.type_of(node).is_float() {
                    return Ok(Typed { ty: to, value: Value::Node(node) });
                }
                let node = self.convert(node, to);
                return Ok(Typed { ty: to, value: Value::Node(node) });
            }
        };
        let _ = nest;
        Ok(self.typed(node))
    }

    fn typed(&self, node: NodeId) -> Typed {
        Typed { ty: self.type_of(node), value: Value::Node(node) }
    }

    fn reduction(
        &mut self,
        op: nestegg_ir::ReduceOp,
        inames: &[InameId],
        body: Typed,
        inner: usize,
        own: SetId,
    ) -> Result<NodeId, Error> {
        let ty = body.ty;
        let body = self.materialise(body)?;
        let mut members = self.sets[self.set_of(body).index()].inames.clone();
        let is_open = |builder: &Self, iname: InameId| {
            builder.sets[own.index()].inames.contains(&iname) || builder.nests[inner].contains(&iname)
        };
        for &iname in inames {
            let tied: Vec<InameId> = self.context.domains.tied(iname).to_vec();
            members.extend(tied.into_iter().filter(|&other| is_open(self, other)));
        }
        members.retain(|iname| !inames.contains(iname));
        let set = self.set(members)?;
        // The order of the points is that in which they are joined, which rounding shows.
        let mut members = self.sets[set.index()].inames.clone();
        members.extend(self.context.kernel.enclosing_first(inames));
        let full = self.set_in_order(members)?;
        let body = self.spread(body, full);
        Ok(self.node(Op::Reduce(op, body), ty, set))
    }
}
