//! Shapes and tables.

use nestegg_ir::{ArrayId, ArrayKind, Dtype, Number};
use nestegg_span::Span;

use super::Lowering;
use super::exprs::Scope;
use crate::error::ReadError;
use crate::syntax::{ArrayKindSyntax, NodeKind, TableItem, TableSyntax};

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn shapes(&mut self) {
        let syntax = self.syntax;
        for (idx, array) in syntax.arrays.iter().enumerate() {
            let id = ArrayId::new(idx);
            let Some(sizes) = &array.shape else { continue };
            // The sizes that are literal; none if one of them is not, or was reported.
            let mut extents = Some(Vec::new());
            for &size in sizes {
                let n_errors = self.errors.len();
                let expr = self.size(size);
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
                let values = self.table(id, table, &extents, array.dtype);
                self.kernel[id].kind = ArrayKind::Table(values.into());
            }
        }
    }

    fn size(&mut self, node: crate::syntax::NodeId) -> nestegg_ir::ExprId {
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
    fn table(&mut self, id: ArrayId, table: &TableSyntax, extents: &[usize], dtype: Option<Dtype>) -> Vec<Number> {
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
            self.errors.push(ReadError::TableDtype { name, dtype: dtype.name(), text, at });
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
