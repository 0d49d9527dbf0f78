//! Linear form: what a reduction sums, as monomials in the values that depend on its free inames.
//!
//! # Method
//! The body of a sum reduction over `R` with free inames `C` (or a whole value that is stored, `R` empty) is written as a map from multisets of *atoms* (values that
//! depend on `C` and are no sum or product) to coefficients (values that do not depend on `C`), by distributing products
//! over sums where both depend on `C`. No coefficient is expanded, so the map stays as small as the multilinear structure
//! of the kernel. The monomials are handed to [`contract`], which gives every order of the reductions and every
//! factorisation by iname as forms of the same value.
//! # Complexity
//! The number of monomials, at most the rule's limit and each with at most [`MAX_TERMS`] terms, times orders and factorisations, at most [`FORMS_LIMIT`] forms.
//! What many stored values share is taken apart once for each set of inames that they depend on, in all at most [`VISITS_PER_NODE`] times as many
//! classes as the phase allows e-nodes.
//! # Source
//! Reference 001 (factorisation), the sharing elimination of COFFEE (`peers/coffee.md`, 10), TSFC's argument
//! factorisation and sum factorisation; `egraph-study.md`, stages C and S.

use std::collections::{BTreeMap, BTreeSet};

use egg::{Id, Language};
use nestegg_ir::{InameSet, ReduceOp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Pass;
use super::contract::{Contraction, Term};
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// Monomials by their atoms.
type Monomials = BTreeMap<Vec<Id>, Vec<(Rational, Id)>>;

/// A coefficient of more terms than this becomes a value of its own, lest sums of sums copy their terms again and again.
const MAX_TERMS: usize = 256;

/// For each e-node that a phase allows so many classes are taken apart: those that values with different inames share are so for each set of these.
const VISITS_PER_NODE: usize = 4;

/// No number of a coefficient has more bits, nor is it larger than all floats: one has 53 bits, so that this is a product of dozens.
const MAX_BITS: u64 = 2048;

/// Adds what terms of the same value have as factors: values that are shared would otherwise be there once for each
/// way to them, and there are exponentially many. `None` where a number is beyond its limit.
fn merge(terms: &mut Vec<(Rational, Id)>) -> Option<()> {
    terms.sort_by_key(|&(_, id)| id);
    terms.dedup_by(|(next, next_id), (sum, id)| {
        let is_same = next_id == id;
        if is_same {
            *sum = sum.plus(next);
        }
        is_same
    });
    let is_within = |number: &Rational| number.n_bits() <= MAX_BITS && number.to_f64().is_finite();
    terms.iter().all(|(number, _)| is_within(number)).then_some(())
}

/// `Σ_q (a·x[q, j] + b·y[q, j])·z[q, k]` as monomials, contracted in every order, factorised by every iname.
pub fn linear_form(pass: &mut Pass<'_>) {
    let limit = pass.limit("monomials");
    let origin = Origin::new(pass);
    let roots: BTreeSet<Id> = pass.graph.analysis.roots.iter().map(|&root| pass.graph.find(root)).collect();
    let mut n_visits = 0_usize;
    // What is known of classes, by the inames that values depend on and what is taken apart.
    let mut known: FxHashMap<(InameSet, Atoms), FxHashMap<Id, Monomials>> = FxHashMap::default();
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        if n_visits > pass.nodes.saturating_mul(VISITS_PER_NODE) {
            pass.limits_hit.insert("visits".into());
            return;
        }
        let (body, inames, scope) = match origin.node(pass, class) {
            Some(Node::Reduce(reduction, [body])) => {
                let reduction = pass.graph.analysis.context.reduction(reduction);
                if reduction.op != ReduceOp::Sum {
                    continue;
                }
                (body, reduction.inames.iter().copied().collect(), reduction.pinned.clone())
            }
            Some(_) if roots.contains(&class) => (class, InameSet::new(), InameSet::new()),
            _ => continue,
        };
        let free = pass.graph[class].data.inames.clone();
        let mut seen: Vec<Vec<Term>> = Vec::new();
        for atoms in [Atoms::Fine, Atoms::Coarse] {
            let known = known.entry((free.clone(), atoms)).or_default();
            let n_known = known.len();
            let mut form = LinearForm { origin: &origin, free: &free, atoms, limit, known };
            let monomials = form.of(pass, body);
            n_visits += form.known.len() - n_known;
            let Some(monomials) = monomials else {
                pass.limits_hit.insert("monomials".into());
                continue;
            };
            let mut terms = Vec::with_capacity(monomials.len());
            for (atoms, coefficient) in monomials {
                let coefficient = build::sum(pass.graph, coefficient);
                terms.push(Term::new(pass.graph, atoms.into_iter().chain([coefficient])));
            }
            if seen.contains(&terms) {
                continue;
            }
            seen.push(terms.clone());
            let kind = Kind::of(pass.graph[class].data.dtype);
            if let Some(value) = Contraction::new(pass, kind, scope.clone()).contract(terms, &inames) {
                pass.equate(class, value);
            }
        }
    }
}

/// What is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Atoms {
    /// Every sum that depends on the free inames.
    Fine,
    /// Sums that depend on all of them: a sum of one side (of test functions, say) stays one value, computed once.
    Coarse,
}

/// The e-node that each class came with: what a search reads, so that it does not depend on what was united before.
pub struct Origin {
    nodes: FxHashMap<Id, Node>,
}

impl Origin {
    /// The first e-node of every class that was there when saturation began; of others the only one.
    #[must_use]
    pub fn new(pass: &Pass<'_>) -> Self {
        let mut nodes: FxHashMap<Id, Node> = FxHashMap::default();
        for (id, node) in &pass.graph.analysis.origin {
            nodes.entry(pass.graph.find(*id)).or_insert_with(|| node.clone());
        }
        Self { nodes }
    }

    /// The e-node of a class, children canonical.
    #[must_use]
    pub fn node(&self, pass: &Pass<'_>, class: Id) -> Option<Node> {
        let class = pass.graph.find(class);
        let node = self.nodes.get(&class).or_else(|| match pass.graph[class].nodes.as_slice() {
            [single] => Some(single),
            _ => None,
        })?;
        Some(node.clone().map_children(|child| pass.graph.find(child)))
    }
}

/// The atoms of a product. Classes may have been united since they were noted.
fn product_of(pass: &Pass<'_>, left: &[Id], right: &[Id]) -> Vec<Id> {
    let mut res: Vec<Id> = left.iter().chain(right).map(|&atom| pass.graph.find(atom)).collect();
    res.sort_unstable();
    res
}

struct LinearForm<'a> {
    origin: &'a Origin,
    free: &'a InameSet,
    atoms: Atoms,
    limit: usize,
    known: &'a mut FxHashMap<Id, Monomials>,
}

impl LinearForm<'_> {
    /// The monomials of a class; `None` beyond the limit. A class that is below itself is an atom.
    fn of(&mut self, pass: &mut Pass<'_>, root: Id) -> Option<Monomials> {
        let root = pass.graph.find(root);
        let mut pending = vec![root];
        let mut open: FxHashSet<Id> = FxHashSet::default();
        while let Some(&class) = pending.last() {
            if self.known.contains_key(&class) {
                pending.pop();
                continue;
            }
            open.insert(class);
            let node = self.origin.node(pass, class);
            let is_cyclic = |node: &Node| {
                node.children().iter().any(|child| open.contains(child) && !self.known.contains_key(child))
            };
            let node = node.filter(|node| !is_cyclic(node) && !self.is_atomic(pass, class, node));
            let n_pending = pending.len();
            if let Some(node) = &node {
                pending.extend(node.children().iter().filter(|child| !self.known.contains_key(child)));
            }
            if pending.len() > n_pending {
                continue;
            }
            pending.pop();
            let monomials = self.combine(pass, class, node.as_ref())?;
            self.known.insert(class, monomials);
        }
        self.known.get(&root).cloned()
    }

    /// Whether a value is not taken apart: free of the inames, or neither a sum nor a plain product.
    fn is_atomic(&self, pass: &Pass<'_>, class: Id, node: &Node) -> bool {
        !self.depends(pass, class)
            || match node {
                Node::Sum { .. } => self.atoms == Atoms::Coarse && !self.free.is_subset(&pass.graph[class].data.inames),
                Node::Product { exponents, children } => {
                    exponents.iter().zip(children.iter()).any(|(&e, &child)| e != 1 && self.depends(pass, child))
                }
                _ => true,
            }
    }

    fn depends(&self, pass: &Pass<'_>, class: Id) -> bool {
        !pass.graph[class].data.inames.is_disjoint(self.free)
    }

    fn combine(&self, pass: &mut Pass<'_>, class: Id, node: Option<&Node>) -> Option<Monomials> {
        let kind = Kind::of(pass.graph[class].data.dtype);
        let one = |pass: &mut Pass<'_>| build::number(pass.graph, Rational::ONE, kind);
        let mut res = Monomials::new();
        match node {
            Some(Node::Sum { coefficients, children }) => {
                for (coefficient, child) in coefficients.iter().zip(children.iter()) {
                    for (atoms, terms) in &self.known[child] {
                        let scaled = terms.iter().map(|(c, id)| (coefficient.times(c), pass.graph.find(*id)));
                        res.entry(product_of(pass, &[], atoms)).or_default().extend(scaled);
                    }
                }
                for terms in res.values_mut() {
                    merge(terms)?;
                    if terms.len() > MAX_TERMS {
                        *terms = vec![(Rational::ONE, build::sum(pass.graph, terms.iter().cloned()))];
                    }
                }
            }
            Some(Node::Product { exponents, children }) => {
                let mut factors: Vec<(i32, Id)> = Vec::new();
                let unit = one(pass);
                res.insert(Vec::new(), vec![(Rational::ONE, unit)]);
                for (&exponent, &child) in exponents.iter().zip(children.iter()) {
                    if !self.depends(pass, child) {
                        factors.push((exponent, child));
                        continue;
                    }
                    let mut product = Monomials::new();
                    for (left, a) in &res {
                        for (right, b) in &self.known[&child] {
                            let atoms = product_of(pass, left, right);
                            let a = build::sum(pass.graph, a.iter().cloned());
                            let b = build::sum(pass.graph, b.iter().cloned());
                            let coefficient = build::product(pass.graph, [(1, a), (1, b)]);
                            product.entry(atoms).or_default().push((Rational::ONE, coefficient));
                        }
                    }
                    res = product;
                    if res.len() > self.limit {
                        return None;
                    }
                }
                if !factors.is_empty() {
                    for terms in res.values_mut() {
                        let coefficient = build::sum(pass.graph, terms.iter().cloned());
                        let all = factors.iter().copied().chain([(1, coefficient)]);
                        *terms = vec![(Rational::ONE, build::product(pass.graph, all))];
                    }
                }
            }
            _ if self.depends(pass, class) => {
                let unit = one(pass);
                res.insert(vec![class], vec![(Rational::ONE, unit)]);
            }
            _ => {
                res.insert(Vec::new(), vec![(Rational::ONE, class)]);
            }
        }
        (res.len() <= self.limit).then_some(res)
    }
}
