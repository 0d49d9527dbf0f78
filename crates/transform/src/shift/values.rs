//! Values modulo renaming, shift and scale.
//!
//! A value is a function of its *formals*, which stand for inames at an offset. A reference says for each formal which iname (or which formal
//! of the value that refers) and which offset. Formals are numbered in the order of their first occurrence, and the offset of the first
//! occurrence is 0; what factors the terms of a sum have in common is outside. So values that differ by names of inames, by a shift, or by a
//! factor are one value, and references to it differ. A reduction binds inames that have one name for each range; where its body refers to them, they are
//! marked as bound, and stay what they are wherever the reduction stands.

use indexmap::IndexSet;
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{ArrayId, ExprId, FunctionId, InameId, Op, ReduceOp};
use rustc_hash::FxBuildHasher;

use crate::shift::scale::Scale;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ValueId(u32);

impl ValueId {
    pub(crate) fn new(idx: usize) -> Self {
        Self(u32::try_from(idx).expect("there are fewer values than expressions"))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// For each formal an iname (or formal of the user), by number, and an offset.
pub(crate) type At = Vec<(u32, i64)>;

/// Marks the number of an iname that a reduction binds: it is that iname wherever the reduction stands.
const BOUND: u32 = 1 << 31;

/// The variable that stands for an iname which a reduction binds.
pub(crate) fn bound(iname: InameId) -> u32 {
    BOUND | iname.index() as u32
}

/// The iname of a variable that a reduction binds.
pub(crate) fn as_bound(var: u32) -> Option<InameId> {
    (var & BOUND != 0).then(|| InameId::new((var & !BOUND) as usize))
}

/// The iname of a variable of an instruction.
pub(crate) fn iname_of(var: u32) -> InameId {
    as_bound(var).unwrap_or_else(|| InameId::new(var as usize))
}

/// A value somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ref {
    pub(crate) value: ValueId,
    pub(crate) at: At,
}

/// A multiple of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Term {
    pub(crate) of: Ref,
    pub(crate) scale: Scale,
}

/// What is no sum and no product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operation {
    Op(Op),
    Call(FunctionId),
}

/// How a value is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Body {
    /// 1.
    One,
    /// An element of an array, in a state of the array's memory.
    Leaf { array: ArrayId, indices: Vec<Affine>, version: u32 },
    /// An expression of the kernel as it is.
    Exact(ExprId),
    /// A sum of multiples.
    Sum(Vec<Term>),
    /// A product of powers.
    Product(Vec<(Ref, i32)>),
    /// An operation on multiples.
    Apply(Operation, Vec<Term>),
    /// A reduction of a multiple over inames that no other reduction depends on.
    Reduce(ReduceOp, Box<[InameId]>, Term),
}

impl Body {
    /// The multiples that it adds up, applies an operation to, or reduces.
    pub(crate) fn terms(&self) -> &[Term] {
        match self {
            Self::Sum(terms) | Self::Apply(_, terms) => terms,
            Self::Reduce(_, _, term) => std::slice::from_ref(term),
            Self::One | Self::Leaf { .. } | Self::Exact(_) | Self::Product(_) => &[],
        }
    }
}

/// A memory state that is not the same throughout the tree of loops that reads it.
pub(crate) const NO_VERSION: u32 = u32::MAX;

/// A value with what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) body: Body,
    pub(crate) n_formals: usize,
    /// Whether it has the same value wherever it is computed.
    pub(crate) is_movable: bool,
}

/// All values; those that others are made of come first until pairs are taken out.
#[derive(Debug)]
pub(crate) struct Values {
    known: IndexSet<Body, FxBuildHasher>,
    pub(crate) values: Vec<Value>,
}

/// Numbers formals in the order in which they come.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) vars: At,
}

impl Frame {
    /// A reference in terms of the frame's formals.
    pub(crate) fn local(&mut self, at: &At) -> At {
        at.iter().map(|&entry| self.formal(entry)).collect()
    }

    /// An entry of a reference in terms of the frame's formals.
    fn formal(&mut self, (var, offset): (u32, i64)) -> (u32, i64) {
        let formal = self.vars.iter().position(|known| known.0 == var).unwrap_or_else(|| {
            self.vars.push((var, offset));
            self.vars.len() - 1
        });
        (formal as u32, offset - self.vars[formal].1)
    }
}

/// A reference of a value that stands at `outer`, from where that value is referred to.
pub(crate) fn compose(inner: &At, outer: &At) -> At {
    inner
        .iter()
        .map(|&(formal, offset)| {
            if as_bound(formal).is_some() {
                return (formal, offset);
            }
            let (var, base) = outer[formal as usize];
            (var, base + offset)
        })
        .collect()
}

impl Values {
    /// The value 1.
    pub(crate) const ONE: ValueId = ValueId(0);

    pub(crate) fn new() -> Self {
        let mut res = Self { known: IndexSet::default(), values: Vec::new() };
        res.intern(Body::One, true);
        res
    }

    /// A number.
    pub(crate) fn number(scale: Scale) -> Term {
        Term { of: Ref { value: Self::ONE, at: At::new() }, scale }
    }

    fn intern(&mut self, body: Body, is_movable: bool) -> ValueId {
        let n_formals = match &body {
            Body::One | Body::Exact(_) => 0,
            Body::Leaf { indices, .. } => n_formals(indices.iter().flat_map(Affine::inames).map(InameId::index)),
            Body::Product(factors) => n_formals(vars(factors.iter().map(|factor| &factor.0))),
            Body::Sum(_) | Body::Apply(..) | Body::Reduce(..) => {
                n_formals(vars(body.terms().iter().map(|term| &term.of)))
            }
        };
        let (idx, is_new) = self.known.insert_full(body.clone());
        if is_new {
            self.values.push(Value { body, n_formals, is_movable });
        }
        ValueId::new(idx)
    }

    fn is_movable(&self, of: &Ref) -> bool {
        self.values[of.value.index()].is_movable
    }

    /// An element of an array.
    pub(crate) fn leaf(&mut self, array: ArrayId, indices: &[Affine], version: u32) -> Term {
        let mut vars: At = At::new();
        for index in indices {
            let is_plain = matches!(index.terms.as_slice(), [(Var::Iname(_), 1)]);
            for iname in index.inames() {
                let iname = iname.index() as u32;
                if vars.iter().all(|known| known.0 != iname) {
                    vars.push((iname, if is_plain { index.constant } else { 0 }));
                }
            }
        }
        let local = indices.iter().map(|index| {
            let mut res = Affine::constant(index.constant);
            for &(var, coefficient) in &index.terms {
                match var {
                    Var::Iname(iname) => {
                        let formal = vars.iter().position(|known| known.0 == iname.index() as u32).unwrap_or(0);
                        res.constant -= coefficient * vars[formal].1;
                        res.terms.push((Var::Iname(InameId::new(formal)), coefficient));
                    }
                    Var::Parameter(_) => res.terms.push((var, coefficient)),
                }
            }
            res.terms.sort_unstable();
            res
        });
        let body = Body::Leaf { array, indices: local.collect(), version };
        let value = self.intern(body, version != NO_VERSION);
        Term { of: Ref { value, at: vars }, scale: Scale::one() }
    }

    /// An expression of the kernel as it is.
    pub(crate) fn exact(&mut self, expr: ExprId) -> Term {
        let value = self.intern(Body::Exact(expr), false);
        Term { of: Ref { value, at: At::new() }, scale: Scale::one() }
    }

    /// A sum; `None` if it is zero.
    pub(crate) fn sum(&mut self, terms: Vec<Term>) -> Option<Term> {
        let mut terms = merged(terms);
        match terms.as_slice() {
            [] => return None,
            [single] => return Some(single.clone()),
            _ => {}
        }
        terms.sort();
        // The most frequent magnitude is the unit; of equals the first.
        let count = |scale: &Scale| terms.iter().filter(|term| term.scale.factors == scale.factors).count();
        let best = terms.iter().map(|term| count(&term.scale)).max().unwrap_or(0);
        let unit = terms.iter().find(|term| count(&term.scale) == best).map_or(Scale::one(), |term| term.scale.clone());
        let unit = unit.common(&terms.iter().map(|term| &term.scale).collect::<Vec<_>>());
        let is_movable = terms.iter().all(|term| self.is_movable(&term.of));
        let mut frame = Frame::default();
        let body = terms
            .iter()
            .map(|term| Term {
                of: Ref { value: term.of.value, at: frame.local(&term.of.at) },
                scale: term.scale.over(&unit),
            })
            .collect();
        let value = self.intern(Body::Sum(body), is_movable);
        Some(Term { of: Ref { value, at: frame.vars }, scale: unit })
    }

    /// A product of powers of multiples; products among the factors are taken apart.
    pub(crate) fn product(&mut self, factors: impl IntoIterator<Item = (Term, i32)>) -> Term {
        let mut scale = Scale::one();
        let mut flat: Vec<(Ref, i32)> = Vec::new();
        let mut push = |of: Ref, exponent: i32| match flat.iter_mut().find(|known| known.0 == of) {
            Some(known) => known.1 += exponent,
            None => flat.push((of, exponent)),
        };
        for (term, exponent) in factors {
            scale = scale.times(&term.scale.power(exponent));
            match &self.values[term.of.value.index()].body {
                Body::One => {}
                Body::Product(inner) => {
                    for (of, power) in inner {
                        push(Ref { value: of.value, at: compose(&of.at, &term.of.at) }, power * exponent);
                    }
                }
                _ => push(term.of, exponent),
            }
        }
        flat.retain(|factor| factor.1 != 0);
        if flat.len() > 1 {
            // A power is a value of its own, so that products share it.
            flat = flat.into_iter().map(|(of, exponent)| self.power(of, exponent)).collect();
        }
        flat.sort();
        match flat.as_slice() {
            [] => return Self::number(scale),
            [(of, 1)] => return Term { of: of.clone(), scale },
            _ => {}
        }
        let is_movable = flat.iter().all(|(of, _)| self.is_movable(of));
        let mut frame = Frame::default();
        let body =
            flat.iter().map(|(of, exponent)| (Ref { value: of.value, at: frame.local(&of.at) }, *exponent)).collect();
        let value = self.intern(Body::Product(body), is_movable);
        Term { of: Ref { value, at: frame.vars }, scale }
    }

    /// A power as a factor: to the power 1 or -1, or a value of its own.
    fn power(&mut self, of: Ref, exponent: i32) -> (Ref, i32) {
        if exponent.abs() == 1 {
            return (of, exponent);
        }
        let is_movable = self.is_movable(&of);
        let mut frame = Frame::default();
        let base = Ref { value: of.value, at: frame.local(&of.at) };
        let value = self.intern(Body::Product(vec![(base, exponent)]), is_movable);
        (Ref { value, at: frame.vars }, 1)
    }

    /// An operation on multiples.
    pub(crate) fn apply(&mut self, operation: Operation, operands: &[Term]) -> Term {
        let is_movable = operands.iter().all(|term| self.is_movable(&term.of));
        let mut frame = Frame::default();
        let body = operands
            .iter()
            .map(|term| Term {
                of: Ref { value: term.of.value, at: frame.local(&term.of.at) },
                scale: term.scale.clone(),
            })
            .collect();
        let value = self.intern(Body::Apply(operation, body), is_movable);
        Term { of: Ref { value, at: frame.vars }, scale: Scale::one() }
    }

    /// A reduction of a multiple. Factors leave sums.
    pub(crate) fn reduce(&mut self, op: ReduceOp, inames: &[InameId], term: &Term) -> Term {
        let is_movable = self.is_movable(&term.of);
        let (inside, outside) = match op {
            ReduceOp::Sum => (Scale::one(), term.scale.clone()),
            _ => (term.scale.clone(), Scale::one()),
        };
        let mut frame = Frame::default();
        let is_own = |var: u32| as_bound(var).is_some_and(|iname| inames.contains(&iname));
        let at = term.of.at.iter().map(|&entry| if is_own(entry.0) { entry } else { frame.formal(entry) });
        let of = Ref { value: term.of.value, at: at.collect() };
        let value = self.intern(Body::Reduce(op, inames.into(), Term { of, scale: inside }), is_movable);
        Term { of: Ref { value, at: frame.vars }, scale: outside }
    }

    /// A value of its own, whether or not an equal one is known.
    pub(crate) fn push(&mut self, body: Body, n_formals: usize) -> ValueId {
        let is_movable = match &body {
            Body::Sum(terms) | Body::Apply(_, terms) => terms.iter().all(|term| self.is_movable(&term.of)),
            Body::Product(factors) => factors.iter().all(|(of, _)| self.is_movable(of)),
            _ => false,
        };
        self.values.push(Value { body, n_formals, is_movable });
        ValueId::new(self.values.len() - 1)
    }

    /// The references in a value's body.
    pub(crate) fn children(&self, value: ValueId) -> Vec<&Ref> {
        match &self.values[value.index()].body {
            Body::Product(factors) => factors.iter().map(|factor| &factor.0).collect(),
            body => body.terms().iter().map(|term| &term.of).collect(),
        }
    }

    /// The values that `roots` need, users before what they use.
    pub(crate) fn users_first(&self, roots: &[Term]) -> Vec<ValueId> {
        let mut state = vec![0_u8; self.values.len()];
        let mut order = Vec::new();
        for root in roots {
            let mut pending = vec![root.of.value];
            while let Some(&value) = pending.last() {
                if state[value.index()] == 0 {
                    state[value.index()] = 1;
                    pending.extend(
                        self.children(value).iter().map(|of| of.value).filter(|child| state[child.index()] == 0),
                    );
                } else {
                    pending.pop();
                    if state[value.index()] == 1 {
                        state[value.index()] = 2;
                        order.push(value);
                    }
                }
            }
        }
        order.reverse();
        order
    }
}

/// Terms with multiples of the same value joined where that is exact.
pub(crate) fn merged(terms: Vec<Term>) -> Vec<Term> {
    let mut res: Vec<Term> = Vec::with_capacity(terms.len());
    let mut sorted = terms;
    sorted.sort();
    for term in sorted {
        let known = res.iter_mut().rev().take_while(|known| known.of == term.of);
        let mut sum = None;
        for known in known {
            if let Some(joined) = known.scale.plus(&term.scale) {
                sum = Some((known.clone(), joined));
                break;
            }
        }
        match sum {
            None => res.push(term),
            Some((known, joined)) => {
                res.retain(|other| *other != known);
                res.extend(joined.map(|scale| Term { of: term.of, scale }));
            }
        }
    }
    res
}

/// The formals that references name; an iname that a reduction binds is none.
fn vars<'a>(refs: impl Iterator<Item = &'a Ref>) -> impl Iterator<Item = usize> {
    let vars = refs.flat_map(|of| of.at.iter().map(|entry| entry.0));
    vars.filter(|&var| as_bound(var).is_none()).map(|var| var as usize)
}

fn n_formals(vars: impl Iterator<Item = usize>) -> usize {
    vars.max().map_or(0, |last| last + 1)
}
