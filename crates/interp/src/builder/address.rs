//! Affine forms to indices, addresses and integer nodes.

use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, ExprId};

use crate::builder::{Builder, Typed, Value};
use crate::error::Error;
use crate::node::{Address, Binary, Index, NodeId, Op, SCALAR, SetId};
use crate::source::Form;

impl Builder<'_, '_, '_> {
    pub(super) fn index(&self, form: &Form, expr: ExprId) -> Result<Index, Error> {
        let (outer, inner): (Vec<_>, Vec<_>) =
            form.terms.iter().copied().partition(|term| self.outer.contains(&term.0));
        match inner.iter().find(|term| !self.inames.contains(&term.0)) {
            Some(term) => Err(self.unsupported(&format!(
                "iname `{}` is used outside its loop (expression {expr:?})",
                self.context.kernel[term.0].name
            ))),
            None => Ok(Index { constant: form.constant, outer, inner }),
        }
    }

    pub(super) fn materialise(&mut self, typed: Typed) -> Result<NodeId, Error> {
        let expr = match typed.value {
            Value::Node(node) => return Ok(node),
            Value::Affine(expr) => expr,
        };
        let source = self.context.source;
        let form = source.forms[expr.index()].as_ref().expect("an affine value has a form");
        let index = self.index(form, expr)?;
        let scalar = Op::Affine { constant: index.constant, outer: index.outer };
        let is_zero = matches!(&scalar, Op::Affine { constant: 0, outer } if outer.is_empty());
        let scalar = self.node(scalar, typed.ty, SetId::new(SCALAR));
        if index.inner.is_empty() {
            return Ok(scalar);
        }
        let set = self.set(index.inner.iter().map(|term| term.0).collect())?;
        let linear = self.node(Op::Linear(index.inner), typed.ty, set);
        if is_zero { Ok(linear) } else { self.binary(Binary::Add, linear, scalar, typed.ty) }
    }

    /// An address, and the set on which it is computed: `set` if one is asked for.
    pub(super) fn address(
        &mut self,
        array: ArrayId,
        indices: &[ExprId],
        nest: usize,
        set: Option<SetId>,
    ) -> Result<(Address, SetId), Error> {
        let source = self.context.source;
        let forms: Option<Vec<(&Form, ExprId)>> =
            indices.iter().map(|&id| Some((source.forms[id.index()].as_ref()?, id))).collect();
        let Some(forms) = forms else {
            let mut nodes = Vec::with_capacity(indices.len());
            for &id in indices {
                nodes.push(self.materialise(self.values[&(id, nest)])?);
            }
            let mut own = SetId::new(SCALAR);
            for &node in &nodes {
                own = self.union(own, self.set_of(node))?;
            }
            let set = set.unwrap_or(own);
            for node in &mut nodes {
                *node = self.expand(*node, set);
            }
            return Ok((Address::Computed(nodes), set));
        };
        let mut dims = Vec::with_capacity(forms.len());
        for (form, id) in forms {
            dims.push(self.index(form, id)?);
        }
        let set = match set {
            Some(set) => set,
            None => self.set(dims.iter().flat_map(|dim| &dim.inner).map(|term| term.0).collect())?,
        };
        let too_large = || Error::Size {
            name: self.context.kernel[array].name.clone(),
            reason: "an index exceeds 64 bits".to_owned(),
        };
        let flat = flatten(&dims, &self.context.layouts[array.index()].strides).ok_or_else(too_large)?;
        let linear = match flat.inner.is_empty() {
            true => None,
            false => Some(self.node(Op::Linear(flat.inner.clone()), Type::Int64, set)),
        };
        Ok((Address::Affine { indices: dims, flat, linear }, set))
    }
}

/// `Σ stride·index` as one index.
fn flatten(dims: &[Index], strides: &[i64]) -> Option<Index> {
    let mut flat = Form::default();
    let mut outer = Form::default();
    for (dim, &stride) in dims.iter().zip(strides) {
        flat = flat.plus(stride, dim.constant, &dim.inner)?;
        outer = outer.plus(stride, 0, &dim.outer)?;
    }
    Some(Index { constant: flat.constant, outer: outer.terms, inner: flat.terms })
}
