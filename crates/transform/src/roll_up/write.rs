//! Families as expressions in the inames of their digits.
//!
//! # Output
//! Where members' numbers are affine functions of the digits, they are that; numbers and tables that are not are tables of the digits on which they
//! depend. `None` where an index into memory is no affine function.
//! # Complexity
//! Linear in the nodes of a family, times the members.

use std::hash::Hash;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{ArrayId, Dtype, ExprId, Float, InameId, Kernel, Number, Op};
use rustc_hash::FxHashMap;

use super::digits::{Digit, Fit, Grid, Hole};
use super::family::{Family, Index, Node, Term};
use crate::table_pool::{Contents, TablePool};

/// No table of more entries is made.
const MAX_TABLE: usize = 1 << 20;

/// Numbers for values, equal ones for equal values.
fn classes<T: Hash + Eq>(values: impl Iterator<Item = Option<T>>) -> Vec<Option<u32>> {
    let mut known: FxHashMap<T, u32> = FxHashMap::default();
    values
        .map(|value| {
            let n_known = known.len() as u32;
            value.map(|value| *known.entry(value).or_insert(n_known))
        })
        .collect()
}

/// What differs between the members of a family, each difference once.
pub(super) fn holes(family: &Family, tables: &TablePool) -> Vec<Hole> {
    let mut res: indexmap::IndexSet<Hole> = indexmap::IndexSet::new();
    let numbers = |values: &[Option<Float>]| Hole {
        classes: classes(values.iter().copied()),
        integers: Vec::new(),
        is_required: false,
    };
    for node in &family.nodes {
        match node {
            Node::Literals(values) => {
                res.insert(numbers(values));
            }
            Node::Sum(terms) => res.extend(terms.iter().map(|term| numbers(&term.coefficients))),
            Node::Integers(values) => {
                res.insert(Hole::of_integers(values.clone()));
            }
            Node::Access(arrays, indices) => {
                res.insert(of_access(arrays, indices, tables));
            }
            Node::Same(_) | Node::Like(..) => {}
        }
    }
    res.into_iter().collect()
}

fn of_access(arrays: &[Option<ArrayId>], indices: &[Index], tables: &TablePool) -> Hole {
    let constants = |member: usize| -> Vec<Option<i64>> {
        indices
            .iter()
            .map(|index| if let Index::Affine(_, constants) = index { constants[member] } else { None })
            .collect()
    };
    let array = |member: usize| arrays[member].map(|array| tables.first_equal(array));
    let members = 0..arrays.len();
    let classes = classes(members.clone().map(|member| array(member).map(|array| (array, constants(member)))));
    let mut distinct: Vec<ArrayId> = members.filter_map(array).collect();
    distinct.dedup();
    let (mut integers, mut is_required) = (Vec::new(), distinct.iter().any(|&array| tables.contents(array).is_none()));
    for index in indices {
        if let Index::Affine(terms, constants) = index
            && varies(constants)
        {
            is_required |= !terms.terms.is_empty();
            integers.push(constants.clone());
        }
    }
    if distinct.len() > 1 && !is_required {
        integers.clear();
    }
    Hole { classes, integers, is_required }
}

fn varies<T: PartialEq>(values: &[Option<T>]) -> bool {
    let mut known = values.iter().flatten();
    let first = known.next();
    known.any(|value| Some(value) != first)
}

/// Writes a family.
pub(super) struct Writer<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) tables: &'a mut TablePool,
    pub(super) grid: &'a Grid,
    pub(super) digits: &'a [Digit],
    /// Of each digit.
    pub(super) inames: &'a [InameId],
}

impl Writer<'_> {
    /// The expressions of all nodes; `None` if one cannot be written.
    pub(super) fn write(&mut self, family: &Family) -> Option<Vec<ExprId>> {
        let mut done: Vec<ExprId> = Vec::with_capacity(family.nodes.len());
        for node in &family.nodes {
            let id = match node {
                Node::Same(id) => *id,
                Node::Literals(values) => self.literal(values)?,
                Node::Integers(values) => self.affine(&Affine::constant(0), values)?,
                Node::Access(arrays, indices) => self.access(arrays, indices)?,
                Node::Like(like, operands) => {
                    let mut expr = self.kernel.exprs[*like].clone();
                    for (child, &operand) in expr.children_mut().iter_mut().zip(operands) {
                        *child = done[operand];
                    }
                    self.kernel.exprs.intern(expr)
                }
                Node::Sum(terms) => self.sum(terms, &done)?,
            };
            done.push(id);
        }
        Some(done)
    }

    fn number(&mut self, value: Float) -> ExprId {
        self.kernel.exprs.float(value)
    }

    fn sum(&mut self, terms: &[Term], done: &[ExprId]) -> Option<ExprId> {
        let mut summed = Vec::with_capacity(terms.len());
        for Term { coefficients, factors } in terms {
            let mut product: Vec<ExprId> = factors.iter().map(|&factor| done[factor]).collect();
            let is_one = coefficients.iter().flatten().all(|value| value.get() == 1.0);
            let is_zero = coefficients.iter().flatten().all(|value| value.get() == 0.0);
            if is_zero {
                continue;
            }
            if !is_one || product.is_empty() {
                product.insert(0, self.literal(coefficients)?);
            }
            summed.push(if product.len() == 1 { product[0] } else { self.kernel.exprs.op(Op::Mul, product) });
        }
        Some(match summed.len() {
            0 => self.number(Float::new(0.0)?),
            1 => summed[0],
            _ => self.kernel.exprs.op(Op::Add, summed),
        })
    }

    /// An index: terms and a constant of each member.
    pub(super) fn affine(&mut self, terms: &Affine, constants: &[Option<i64>]) -> Option<ExprId> {
        let Fit { constant, coefficients } = self.grid.fit(constants, self.digits)?;
        let mut res = terms.plus(&Affine::constant(constant), 1)?;
        for (&iname, &coefficient) in self.inames.iter().zip(&coefficients) {
            res = res.plus(&Affine::var(Var::Iname(iname)), coefficient)?;
        }
        Some(res.to_expr(&mut self.kernel.exprs))
    }

    fn literal(&mut self, values: &[Option<Float>]) -> Option<ExprId> {
        let kept = self.grid.dependence(values, self.digits);
        let by_digits = self.grid.values_at(values, self.digits, &kept)?;
        let zero = Float::new(0.0)?;
        let entries: Vec<Float> = by_digits.into_iter().map(|value| value.unwrap_or(zero)).collect();
        if kept.is_empty() {
            return Some(self.number(entries[0]));
        }
        let contents = Contents {
            dtype: Dtype::Float64,
            shape: kept.iter().map(|&at| self.digits[at].extent).collect(),
            values: entries.into_iter().map(Number::Float).collect(),
        };
        let array = self.tables.get(&mut self.kernel.exprs, "rolled", contents);
        let indices: Vec<ExprId> = kept.iter().map(|&at| self.kernel.exprs.iname(self.inames[at])).collect();
        Some(self.kernel.exprs.access(array, indices))
    }

    fn access(&mut self, arrays: &[Option<ArrayId>], indices: &[Index]) -> Option<ExprId> {
        let firsts: Vec<Option<ArrayId>> =
            arrays.iter().map(|array| array.map(|array| self.tables.first_equal(array))).collect();
        if !varies(&firsts) {
            let array = *firsts.iter().flatten().next()?;
            let affine: Option<Vec<ExprId>> = indices.iter().map(|index| self.index(index)).collect();
            if let Some(affine) = affine {
                return Some(self.kernel.exprs.access(array, affine));
            }
        }
        self.gathered(&firsts, indices)
    }

    fn index(&mut self, index: &Index) -> Option<ExprId> {
        match index {
            Index::Fixed(id) => Some(*id),
            Index::Affine(terms, constants) => self.affine(terms, constants),
        }
    }

    /// A table of the entries that members read, in the order of their digits.
    fn gathered(&mut self, arrays: &[Option<ArrayId>], indices: &[Index]) -> Option<ExprId> {
        let is_constant = |index: &Index| matches!(index, Index::Affine(terms, _) if terms.terms.is_empty());
        let slice = |member: usize| -> Option<(ArrayId, Vec<Option<i64>>)> {
            let fixed = |index: &Index| match index {
                Index::Affine(terms, constants) if terms.terms.is_empty() => constants[member],
                _ => None,
            };
            Some((arrays[member]?, indices.iter().map(fixed).collect()))
        };
        let slices: Vec<Option<(ArrayId, Vec<Option<i64>>)>> = (0..arrays.len()).map(slice).collect();
        let classes = classes(slices.iter().map(Option::as_ref));
        let kept = self.grid.dependence(&classes, self.digits);
        let by_digits = self.grid.values_at(&classes, self.digits, &kept)?;
        let example = |class: u32| {
            let member = classes.iter().position(|other| *other == Some(class))?;
            let (array, fixed) = slices[member].as_ref()?;
            self.tables.contents(*array)?.slice(fixed)
        };
        let first = example(by_digits.iter().flatten().copied().next()?)?;
        if by_digits.len().saturating_mul(first.values.len()) > MAX_TABLE {
            return None;
        }
        let zero = if first.dtype.is_float() { Number::Float(Float::new(0.0)?) } else { Number::Int(0) };
        let mut values: Vec<Number> = Vec::with_capacity(by_digits.len() * first.values.len());
        for class in by_digits {
            match class {
                Some(class) => values.extend(example(class)?.values.iter().copied()),
                None => values.resize(values.len() + first.values.len(), zero),
            }
        }
        let shape = kept.iter().map(|&at| self.digits[at].extent).chain(first.shape.iter().copied()).collect();
        let contents = Contents { dtype: first.dtype, shape, values: values.into() };
        let array = self.tables.get(&mut self.kernel.exprs, "rolled", contents);
        let mut all: Vec<ExprId> = kept.iter().map(|&at| self.kernel.exprs.iname(self.inames[at])).collect();
        for index in indices.iter().filter(|index| !is_constant(index)) {
            all.push(self.index(index)?);
        }
        Some(self.kernel.exprs.access(array, all))
    }
}
