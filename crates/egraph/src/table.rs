//! What is known of the elements of constant tables.
//!
//! # Method
//! Exact: elements are added as the rational numbers that they are, so that rows which add up to one but for rounding do not count. What
//! is found is kept for each table and dimension.

use std::cell::RefCell;

use egg::Id;
use nestegg_ir::{Array, InameSet, Kernel, Number};
use rustc_hash::FxHashMap;

use crate::analysis::Graph;
use crate::context::{Access, Index};
use crate::language::Node;
use crate::rational::Rational;

/// The constant tables of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    all: Vec<Option<Table>>,
    /// By table and dimension: what the elements along it add up to, wherever.
    totals: RefCell<FxHashMap<(usize, usize), Option<Rational>>>,
}

#[derive(Clone, Debug)]
struct Table {
    shape: Vec<usize>,
    elements: Vec<Number>,
}

impl Tables {
    /// The tables of a kernel.
    #[must_use]
    pub fn new(kernel: &Kernel) -> Self {
        let table = |array: &Array| {
            let elements = array.table()?.to_vec();
            let size = |&size| nestegg_ir::affine::of(&kernel.exprs, size).and_then(|size| size.as_constant());
            let shape = array.shape.iter().map(|id| usize::try_from(size(id)?).ok()).collect::<Option<Vec<usize>>>()?;
            (shape.iter().product::<usize>() == elements.len()).then_some(Table { shape, elements })
        };
        Self { all: kernel.arrays.iter().map(table).collect(), totals: RefCell::default() }
    }

    /// What the elements of a table along a dimension add up to, if that is the same wherever.
    fn total(&self, array: usize, dim: usize) -> Option<Rational> {
        if let Some(known) = self.totals.borrow().get(&(array, dim)) {
            return known.clone();
        }
        let total = self.all.get(array).and_then(|table| table.as_ref()?.total(dim));
        self.totals.borrow_mut().insert((array, dim), total.clone());
        total
    }
}

impl Table {
    fn total(&self, dim: usize) -> Option<Rational> {
        let size = *self.shape.get(dim)?;
        let stride: usize = self.shape[dim + 1..].iter().product();
        let mut common: Option<Rational> = None;
        for outer in 0..self.elements.len() / (size * stride).max(1) {
            for inner in 0..stride {
                let mut sum = Rational::ZERO;
                for idx in 0..size {
                    let element = self.elements[(outer * size + idx) * stride + inner];
                    sum = sum.plus(&match element {
                        Number::Int(value) => Rational::from_int(value),
                        Number::Float(value) => Rational::from_f64(value.get())?,
                    });
                }
                if *common.get_or_insert_with(|| sum.clone()) != sum {
                    return None;
                }
            }
        }
        common
    }
}

/// The access that a value is, if it is an element of a table.
#[must_use]
pub fn element(graph: &Graph, class: Id) -> Option<&Access> {
    let context = &graph.analysis.context;
    graph[class].nodes.iter().find_map(|node| match node {
        Node::Access(access, children) if children.is_empty() => {
            let access = context.access(*access);
            context.tables().all.get(access.array.index())?.as_ref()?;
            Some(access)
        }
        _ => None,
    })
}

/// What elements of a table add up to over all values of the one iname, if they are a whole row and that is the same for each row.
#[must_use]
pub fn total(graph: &Graph, class: Id, inames: &InameSet) -> Option<Rational> {
    let context = &graph.analysis.context;
    let access = element(graph, class)?;
    let mut over = inames.iter();
    let (Some(iname), None) = (over.next(), over.next()) else { return None };
    let mut dims = access.indices.iter().enumerate().filter(|(_, index)| index.inames().any(|own| own == iname));
    let (Some((dim, Index::Affine(affine))), None) = (dims.next(), dims.next()) else { return None };
    let size = context.tables().all.get(access.array.index())?.as_ref()?.shape.get(dim).copied()?;
    let mut shifted = affine.clone();
    shifted.constant = 0;
    let is_row = shifted.as_iname() == Some(iname)
        && context.start(iname)?.checked_add(affine.constant)? == 0
        && context.extent(iname)? == i64::try_from(size).ok()?;
    if is_row { context.tables().total(access.array.index(), dim) } else { None }
}
