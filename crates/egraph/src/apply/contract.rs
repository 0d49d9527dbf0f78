//! Contraction: a sum of products under reductions, in every order and factorised by every iname.
//!
//! # Method
//! Recursively over the reduction inames that are left: each one that no other's domain depends on, with those that it is coupled with, may be the innermost; terms
//! are split into what depends on it and what does not, terms with equal outer parts share one inner reduction. When no
//! reduction is left, the sum is factorised: terms with equal factors in an iname are joined, iname after iname. All
//! results of one call are one e-class; calls with equal arguments are made once, so different terms may take
//! different orders.
//! # Complexity
//! Subsets of the reduction inames times subsets of the others, at most [`FORMS_LIMIT`] calls.
//! # Source
//! `egraph-study.md`, stage S (dynamic programming over subsets); sum factorisation as in TSFC's spectral mode.

use std::collections::BTreeMap;

use egg::Id;
use nestegg_ir::{InameId, InameSet, ReduceOp};
use rustc_hash::FxHashMap;

use super::Pass;
use crate::analysis::Graph;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// How many sums one contraction may make.
pub const FORMS_LIMIT: usize = 3_000;

/// What leaves an innermost reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pull {
    /// Every factor that does not depend on its iname.
    All,
    /// Those of them that depend on other inames: scalars stay, so that terms which differ in scalars stay together.
    Indexed,
}

/// A coefficient times powers of classes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// Exact.
    pub coefficient: Rational,
    /// Sorted by class.
    pub factors: Vec<(i32, Id)>,
}

impl Term {
    /// The product of classes; products among them are taken apart, constants and signs go to the coefficient.
    pub fn new(graph: &mut Graph, factors: impl IntoIterator<Item = Id>) -> Self {
        let factors = factors.into_iter().map(|class| (1, class)).collect();
        Self::of(graph, Rational::ONE, factors)
    }

    /// A number times a product of powers of classes, taken apart likewise.
    pub fn of(graph: &mut Graph, coefficient: Rational, factors: Vec<(i32, Id)>) -> Self {
        let mut coefficient = coefficient;
        let mut rest: Vec<(i32, Id)> = Vec::new();
        let mut pending: Vec<Option<(i32, Id)>> = factors.into_iter().map(Some).collect();
        // What is being taken apart: a value may be below itself (`x == a*(x/a)`), and is a factor there.
        let mut open: Vec<Id> = Vec::new();
        while let Some(next) = pending.pop() {
            let Some((exponent, class)) = next else {
                open.pop();
                continue;
            };
            let class = graph.find(class);
            let (sign, class) = build::unscaled(graph, class, Rational::is_unit);
            if sign.is_negative() && exponent % 2 != 0 {
                coefficient = coefficient.negated();
            }
            let is_one = graph[class].data.constant.as_ref().is_some_and(Rational::is_one);
            let product = graph[class].nodes.iter().find_map(|node| match node {
                Node::Product { .. } => node.factors().map(|factors| factors.collect::<Vec<_>>()),
                _ => None,
            });
            match product {
                _ if is_one => {}
                Some(factors) if exponent == 1 && !open.contains(&class) => {
                    open.push(class);
                    pending.push(None);
                    pending.extend(factors.into_iter().map(Some));
                }
                _ => rest.push((exponent, class)),
            }
        }
        let Node::Product { exponents, children } = Node::product(rest) else { unreachable!("products are products") };
        Self { coefficient, factors: exponents.iter().copied().zip(children.iter().copied()).collect() }
    }
}

/// One contraction: remembers what it made.
pub struct Contraction<'a, 'b> {
    pass: &'a mut Pass<'b>,
    kind: Kind,
    /// Inames around the reductions that they may be coupled with.
    scope: InameSet,
    known: FxHashMap<(Vec<Term>, InameSet, InameSet), Id>,
    n_forms: usize,
}

impl<'a, 'b> Contraction<'a, 'b> {
    /// A contraction of values of a kind, inside loops over `scope`, that has made nothing yet.
    pub fn new(pass: &'a mut Pass<'b>, kind: Kind, scope: InameSet) -> Self {
        Self { pass, kind, scope, known: FxHashMap::default(), n_forms: 0 }
    }

    /// The class of `Σ_inames Σ terms`; `None` if the limit is hit.
    pub fn contract(&mut self, terms: Vec<Term>, inames: &InameSet) -> Option<Id> {
        let terms = self.merged(terms);
        let factor_by = self.inames(&terms).difference(inames);
        let res = self.at_once(&terms, inames, &factor_by).and_then(|at_once| {
            let in_order = self.reduced(terms, inames, &factor_by)?;
            self.pass.equate(at_once, in_order);
            Some(at_once)
        });
        if res.is_none() {
            self.pass.limits_hit.insert("forms".into());
        }
        res
    }

    /// All reductions around one factorised sum.
    fn at_once(&mut self, terms: &[Term], inames: &InameSet, factor_by: &InameSet) -> Option<Id> {
        let body = self.factorised(terms.to_vec(), factor_by)?;
        if inames.is_empty() {
            return Some(body);
        }
        Some(self.reduce(inames, body))
    }

    fn reduce(&mut self, inames: &InameSet, body: Id) -> Id {
        let reduction = self.pass.graph.analysis.context.intern_reduction(ReduceOp::Sum, inames, &self.scope);
        self.pass.graph.add(Node::Reduce(reduction, [body]))
    }

    /// Every order of the reductions. Recursion is as deep as there are inames.
    fn reduced(&mut self, terms: Vec<Term>, inames: &InameSet, factor_by: &InameSet) -> Option<Id> {
        if inames.is_empty() {
            return self.factorised(terms, factor_by);
        }
        let key = (terms, inames.clone(), factor_by.clone());
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        let mut res: Option<Id> = None;
        for iname in inames.iter() {
            let context = &self.pass.graph.analysis.context;
            let block = context.block(iname, inames);
            if block.iter().next() != Some(iname) || !context.can_be_inner(&block, inames) {
                continue;
            }
            for pull in [Pull::Indexed, Pull::All] {
                let form = self.innermost(&key.0, &block, pull, inames, factor_by)?;
                match res {
                    Some(known) => self.pass.equate(known, form),
                    None => res = Some(form),
                }
            }
        }
        let res = res?;
        self.known.insert(key, res);
        Some(res)
    }

    /// The inames of `block` reduced first, the others after them.
    fn innermost(
        &mut self,
        terms: &[Term],
        block: &InameSet,
        pull: Pull,
        inames: &InameSet,
        factor_by: &InameSet,
    ) -> Option<Id> {
        let mut by_outer: BTreeMap<Vec<(i32, Id)>, Vec<Term>> = BTreeMap::new();
        for term in terms {
            let (inner, outer): (Vec<_>, Vec<_>) = term.factors.iter().copied().partition(|&(_, id)| {
                let is_scalar = self.pass.graph[id].data.inames.is_empty();
                !self.pass.graph[id].data.inames.is_disjoint(block) || (pull == Pull::Indexed && is_scalar)
            });
            by_outer.entry(outer).or_default().push(Term { coefficient: term.coefficient.clone(), factors: inner });
        }
        let mut reduced = Vec::with_capacity(by_outer.len());
        for (outer, inner) in by_outer {
            let inner = self.merged(inner);
            // A common coefficient goes outside.
            let coefficient = if inner.len() == 1 { inner[0].coefficient.clone() } else { Rational::ONE };
            let inner: Vec<Term> = if inner.len() == 1 {
                vec![Term { coefficient: Rational::ONE, factors: inner[0].factors.clone() }]
            } else {
                inner
            };
            let inside = self.inames(&inner).difference(block);
            let body = self.factorised(inner, &inside)?;
            let sum = self.reduce(block, body);
            let factors = outer.into_iter().chain([(1, sum)]).collect();
            reduced.push(Term::of(self.pass.graph, coefficient, factors));
        }
        let left = inames.difference(block);
        let reduced = self.merged(reduced);
        self.reduced(reduced, &left, factor_by)
    }

    /// The sum of the terms, and its factorisations by the inames.
    fn factorised(&mut self, terms: Vec<Term>, factor_by: &InameSet) -> Option<Id> {
        let factor_by = factor_by.intersection(&self.inames(&terms));
        let key = (terms, InameSet::new(), factor_by);
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        self.n_forms += 1;
        if self.n_forms > FORMS_LIMIT || self.pass.is_full() {
            return None;
        }
        let (terms, _, factor_by) = &key;
        let flat = self.sum(terms);
        let mut res = flat;
        if terms.len() > 1 {
            for iname in factor_by.iter() {
                let mut by_factor: BTreeMap<Vec<(i32, Id)>, Vec<Term>> = BTreeMap::new();
                for term in terms {
                    let (with, without): (Vec<_>, Vec<_>) =
                        term.factors.iter().copied().partition(|&(_, id)| self.depends(id, iname));
                    let rest = Term { coefficient: term.coefficient.clone(), factors: without };
                    by_factor.entry(with).or_default().push(rest);
                }
                if by_factor.len() == terms.len() {
                    continue;
                }
                let mut left = factor_by.clone();
                left.remove(iname);
                let mut parts = Vec::with_capacity(by_factor.len());
                for (factor, rest) in by_factor {
                    let rest = self.merged(rest);
                    let sum = self.factorised(rest, &left)?;
                    parts.push(Term::of(
                        self.pass.graph,
                        Rational::ONE,
                        factor.into_iter().chain([(1, sum)]).collect(),
                    ));
                }
                let form = self.sum(&parts);
                self.pass.equate(res, form);
                res = self.pass.graph.find(res);
            }
        }
        self.known.insert(key.clone(), res);
        Some(res)
    }

    fn sum(&mut self, terms: &[Term]) -> Id {
        if terms.is_empty() {
            return build::number(self.pass.graph, Rational::ZERO, self.kind);
        }
        let mut parts = Vec::with_capacity(terms.len());
        for term in terms {
            let product = build::product(self.pass.graph, term.factors.iter().copied());
            parts.push((term.coefficient.clone(), product));
        }
        build::sum(self.pass.graph, parts)
    }

    /// Terms with equal factors joined, in order; terms that cancel dropped.
    fn merged(&self, terms: Vec<Term>) -> Vec<Term> {
        let mut by_factors: BTreeMap<Vec<(i32, Id)>, Rational> = BTreeMap::new();
        for term in terms {
            let sum = by_factors.entry(term.factors).or_default();
            *sum = sum.plus(&term.coefficient);
        }
        by_factors
            .into_iter()
            .filter(|(_, coefficient)| !coefficient.is_zero())
            .map(|(factors, coefficient)| Term { coefficient, factors })
            .collect()
    }

    fn inames(&self, terms: &[Term]) -> InameSet {
        let classes = terms.iter().flat_map(|term| &term.factors);
        classes.fold(InameSet::new(), |all, (_, id)| all.union(&self.pass.graph[*id].data.inames))
    }

    fn depends(&self, class: Id, iname: InameId) -> bool {
        self.pass.graph[class].data.inames.contains(iname)
    }
}
