//! Shapes and tables.

use nestegg_ir::{ArrayId, ArrayKind, Dtype, Expr, ExprId, Number, Op, Parameter, ParameterId, Stored};
use nestegg_span::Span;
use rustc_hash::FxHashSet;

use super::Lowering;
use super::exprs::Scope;
use crate::error::ReadError;
use crate::syntax::{ArrayKindSyntax, NodeId, NodeKind, TableItem, TableSyntax};

/// What costs assume of an extent that is not stated.
const UNSTATED_ESTIMATE: i64 = 1_000;

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn shapes(&mut self) {
        let syntax = self.syntax;
        let linear = syntax.nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Linear(name) => Some(&*name.text),
            _ => None,
        });
        let linear: FxHashSet<&str> = linear.collect();
        for (idx, array) in syntax.arrays.iter().enumerate() {
            let id = ArrayId::new(idx);
            let Some(sizes) = &array.shape else { continue };
            // The sizes that are literal; none if one of them is not, or was reported.
            let mut extents = Some(Vec::new());
            for (dim, &size) in sizes.iter().enumerate() {
                let n_errors = self.errors.len();
                let expr = match syntax.nodes[size].kind {
                    NodeKind::Unstated => self.unstated(id, dim, size),
                    _ => self.size(size),
                };
                self.kernel[id].shape.push(expr);
                let extent = match syntax.nodes[size].kind {
                    NodeKind::Number(Number::Int(size)) if self.errors.len() == n_errors => usize::try_from(size).ok(),
                    _ => None,
                };
                match (extent, &mut extents) {
                    (Some(extent), Some(extents)) => extents.push(extent),
                    _ => extents = None,
                }
                let is_wrong = extent.is_none() && self.errors.len() == n_errors && self.has_all_names;
                if is_wrong && matches!(array.kind, ArrayKindSyntax::Table(_)) {
                    let reason = "the size of a table is not a literal".to_owned();
                    self.errors.push(ReadError::WrongSize { reason, at: syntax.nodes.span(size) });
                }
            }
            if let (ArrayKindSyntax::Table(table), Some(extents)) = (&array.kind, extents) {
                let values = self.table(id, table, &extents, (array.dtype, array.stored));
                self.kernel[id].kind = ArrayKind::Table(values.into());
            }
            if sizes.len() > 1 && linear.contains(&*array.name.text) {
                self.flatten(id);
            }
        }
    }

    /// Gives an array one dimension: its elements in row-major order.
    fn flatten(&mut self, id: ArrayId) {
        let shape = std::mem::take(&mut self.kernel[id].shape);
        let is_open = shape.first().is_some_and(|&size| self.kernel.is_unstated(size));
        let exprs = &mut self.kernel.exprs;
        let mut product = |a: ExprId, b: ExprId| {
            let literal = |id: ExprId| match exprs[id] {
                Expr::Number(Number::Int(value)) => Some(value),
                _ => None,
            };
            match (literal(a), literal(b)) {
                (Some(1), _) => b,
                (_, Some(1)) => a,
                (Some(x), Some(y)) if x.checked_mul(y).is_some() => exprs.int(x * y),
                _ => exprs.op(Op::Mul, [a, b]),
            }
        };
        let mut strides = Vec::with_capacity(shape.len());
        let mut stride = None;
        for &size in shape.iter().rev() {
            strides.push(stride);
            stride = Some(stride.map_or(size, |stride| product(size, stride)));
        }
        let one = self.kernel.exprs.int(1);
        let strides = strides.into_iter().rev().map(|stride| stride.unwrap_or(one)).collect();
        self.kernel[id].shape = if is_open { vec![shape[0]] } else { stride.into_iter().collect() };
        self.strides.insert(id, strides);
    }

    /// The indices of an element in the kernel: one alone, if the array is flat there.
    pub(super) fn element(&mut self, array: ArrayId, indices: Box<[ExprId]>) -> Box<[ExprId]> {
        let Some(strides) = self.strides.get(&array) else { return indices };
        let exprs = &mut self.kernel.exprs;
        let terms = indices.iter().zip(strides).map(|(&index, &stride)| {
            let is_one = matches!(exprs[stride], Expr::Number(Number::Int(1)));
            if is_one { index } else { exprs.op(Op::Mul, [index, stride]) }
        });
        let terms: Vec<ExprId> = terms.collect();
        [exprs.op(Op::Add, terms)].into()
    }

    /// The parameter that stands for an extent which is not stated.
    fn unstated(&mut self, id: ArrayId, dim: usize, node: NodeId) -> ExprId {
        let at = self.syntax.nodes.span(node);
        if dim > 0 || !self.kernel[id].is_argument() {
            let reason = "only the first size of an argument may be left open".to_owned();
            self.errors.push(ReadError::WrongSize { reason, at });
        }
        let wanted = format!("extent_of_{}", self.kernel[id].name);
        let is_taken = |name: &str| self.names.contains_key(name);
        let name = std::iter::once(wanted.clone()).chain((0..).map(|idx| format!("{wanted}_{idx}")));
        let name = name.into_iter().find(|name| !is_taken(name)).unwrap_or(wanted);
        let parameter = ParameterId::new(self.kernel.parameters.len());
        let estimate = Some(UNSTATED_ESTIMATE);
        self.kernel.parameters.push(Parameter { name, dtype: Dtype::Int64, estimate, is_stated: false });
        self.spans.parameters.push(at);
        self.kernel.exprs.intern(Expr::Parameter(parameter))
    }

    fn size(&mut self, node: NodeId) -> ExprId {
        let n_errors = self.errors.len();
        let at = self.syntax.nodes.span(node);
        let (expr, ty) = self.expression(node, &mut Scope::size());
        if self.errors.len() == n_errors {
            if !ty.fits(super::types::Need::Int) {
                let reason = format!("a size is an integer, not {}", ty.name());
                self.errors.push(ReadError::WrongSize { reason, at });
            } else if let NodeKind::Number(Number::Int(size @ ..=0)) = self.syntax.nodes[node].kind {
                self.errors.push(ReadError::WrongSize { reason: format!("a size of {size}"), at });
            }
        }
        expr
    }

    /// The values of a table, checked against its shape.
    fn table(
        &mut self,
        id: ArrayId,
        table: &TableSyntax,
        extents: &[usize],
        (dtype, stored): (Option<Dtype>, Option<Stored>),
    ) -> Vec<Number> {
        let mut values = Vec::new();
        // The lists that are open: where each is, and how many items it has so far.
        let mut open: Vec<(Span, usize)> = Vec::new();
        let mut wrong: Option<(String, Span)> = None;
        let mut wrong_value: Option<(String, Span)> = None;
        for item in &table.items {
            if !matches!(item, TableItem::Close)
                && let Some((_, n_items)) = open.last_mut()
            {
                *n_items += 1;
            }
            match *item {
                TableItem::Error => return values,
                TableItem::Open(span) => {
                    if open.len() == extents.len() && wrong.is_none() {
                        wrong = Some((format!("has {}, but its lists nest deeper", dims(extents.len())), span));
                    }
                    open.push((span, 0));
                }
                TableItem::Close => {
                    let Some((span, n_items)) = open.pop() else { continue };
                    if let Some(&extent) = extents.get(open.len())
                        && extent != n_items
                        && wrong.is_none()
                    {
                        let dim = open.len();
                        wrong = Some((
                            format!("has size {extent} in dimension {dim}, but this list has {n_items} items"),
                            span,
                        ));
                    }
                }
                TableItem::Number(number, span) => {
                    if open.len() < extents.len() && wrong.is_none() {
                        wrong = Some((
                            format!("has {}, but its lists nest {} deep", dims(extents.len()), open.len()),
                            span,
                        ));
                    }
                    let fits = match (dtype, number) {
                        (_, Number::Int(value)) if stored.is_some_and(|stored| !stored.holds(value)) => false,
                        (Some(Dtype::Bool), Number::Int(0 | 1)) => true,
                        (Some(Dtype::Bool), _) => false,
                        (Some(Dtype::Int32), Number::Int(value)) => i32::try_from(value).is_ok(),
                        (Some(Dtype::Float32), Number::Float(value)) => (value.get() as f32).is_finite(),
                        (Some(dtype), Number::Float(_)) => dtype.is_float(),
                        _ => true,
                    };
                    if !fits && wrong_value.is_none() {
                        wrong_value = Some((number.to_string(), span));
                    }
                    // A table of float32 holds what C makes of its numbers.
                    values.push(if dtype == Some(Dtype::Float32) { number.to_single() } else { number });
                }
            }
        }
        let name = &self.kernel[id].name;
        if let Some((reason, at)) = wrong {
            self.errors.push(ReadError::TableSize { name: name.clone(), reason, at });
        }
        if let (Some((text, at)), Some(dtype)) = (wrong_value, dtype) {
            let name = name.clone();
            self.errors.push(ReadError::TableDtype {
                name,
                dtype: stored.map_or(dtype.name(), Stored::name),
                text,
                at,
            });
        }
        values
    }
}

fn dims(n: usize) -> String {
    match n {
        1 => "1 dimension".to_owned(),
        n => format!("{n} dimensions"),
    }
}
