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

use std::collections::BTreeSet;

use egg::{Id, Language};
use nestegg_ir::{InameSet, ReduceOp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::Pass;
use super::contract::{Contraction, Term};
use super::nested::unnested;
use crate::build;
use crate::language::{Kind, Node};
use crate::rational::Rational;

/// A product of atoms with what it is multiplied by.
#[derive(Clone, Debug)]
struct Monomial {
    /// Increasing.
    atoms: SmallVec<[Id; 2]>,
    /// The coefficient, as a sum.
    terms: SmallVec<[(Rational, Id); 1]>,
}

/// Monomials by increasing atoms, no two with the same.
type Monomials = Vec<Monomial>;

/// What is known of a class.
#[derive(Debug)]
struct Apart {
    /// `None` beyond the limits.
    monomials: Option<Monomials>,
    /// Whether a sum below it is taken apart that stays one value among coarse atoms.
    is_finer: bool,
}

/// What is known of classes, for one set of inames.
#[derive(Debug, Default)]
struct Known {
    fine: FxHashMap<Id, Apart>,
    coarse: FxHashMap<Id, Apart>,
}

/// A coefficient of more terms than this becomes a value of its own, lest sums of sums copy their terms again and again.
const MAX_TERMS: usize = 256;

/// A value whose operands all depend on the same inames gets linear forms only up to this many terms: nothing can leave a
/// loop, and the forms of long sums would fill the e-graph. Without a loop around it, such a value gets none at all.
const MAX_TERMS_IN_ONE_LOOP: usize = 2;

/// For each e-node that a phase allows so many classes are taken apart: those that values with different inames share are so for each set of these.
const VISITS_PER_NODE: usize = 4;

/// No number of a coefficient has more bits, nor is it larger than all floats: one has 53 bits, so that this is a product of dozens.
const MAX_BITS: u64 = 2048;

/// Adds what terms of the same value have as factors: values that are shared would otherwise be there once for each
/// way to them, and there are exponentially many. `None` where a number is beyond its limit.
fn merge(terms: &mut SmallVec<[(Rational, Id); 1]>) -> Option<()> {
    terms.sort_by_key(|&(_, id)| id);
    terms.dedup_by(|(next, next_id), (sum, id)| {
        let is_same = next_id == id;
        if is_same {
            *sum = sum.plus(next);
        }
        is_same
    });
    let is_within = |number: &Rational| number.n_bits() <= MAX_BITS && number.is_in_range();
    terms.iter().all(|(number, _)| is_within(number)).then_some(())
}

/// One monomial for each product of atoms.
fn gathered(mut parts: Monomials) -> Monomials {
    parts.sort_by(|a, b| a.atoms.cmp(&b.atoms));
    parts.dedup_by(|next, monomial| {
        let is_same = next.atoms == monomial.atoms;
        if is_same {
            monomial.terms.append(&mut next.terms);
        }
        is_same
    });
    parts
}

/// `Σ_q (a·x[q, j] + b·y[q, j])·z[q, k]` as monomials, contracted in every order, factorised by every iname.
pub fn linear_form(pass: &mut Pass<'_>) {
    let limit = pass.limit("monomials");
    let origin = Origin::new(pass);
    let roots: BTreeSet<Id> = pass.graph.analysis.roots.iter().map(|&root| pass.graph.find(root)).collect();
    let mut n_visits = 0_usize;
    // By the inames that values depend on.
    let mut known: FxHashMap<InameSet, Known> = FxHashMap::default();
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
        let known = known.entry(free.clone()).or_default();
        for atoms in [Atoms::Fine, Atoms::Coarse] {
            let mut form = LinearForm { origin: &origin, free: &free, atoms, limit, known };
            if atoms == Atoms::Coarse && form.known.is_same(pass.graph.find(body)) {
                continue;
            }
            let n_known = form.known.len();
            form.take_apart(pass, body);
            n_visits += form.known.len() - n_known;
            let Some(monomials) = known.get(atoms, pass.graph.find(body)).and_then(|apart| apart.monomials.as_ref())
            else {
                pass.limits_hit.insert("monomials".into());
                continue;
            };
            if inames.is_empty() && monomials.len() > MAX_TERMS_IN_ONE_LOOP && stays_in_loop(pass, monomials, &free) {
                continue;
            }
            let mut terms = Vec::with_capacity(monomials.len());
            for Monomial { atoms, terms: coefficient } in monomials {
                let coefficient = build::sum(pass.graph, coefficient.iter().cloned());
                terms.push(Term::new(pass.graph, atoms.iter().copied().chain([coefficient])));
            }
            if seen.contains(&terms) {
                continue;
            }
            seen.push(terms.clone());
            let kind = Kind::of(pass.graph[class].data.dtype);
            let groups = if scope.is_empty() { unnested(pass, &origin, &terms, &inames) } else { None };
            if let Some(value) = Contraction::new(pass, kind, scope.clone()).contract(terms, &inames) {
                pass.equate(class, value);
            }
            let parts = groups.into_iter().flatten().map(|(inames, terms)| {
                Some((Rational::ONE, Contraction::new(pass, kind, InameSet::new()).contract(terms, &inames)?))
            });
            if let Some(parts) = parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty()) {
                let value = build::sum(pass.graph, parts);
                pass.equate(class, value);
            }
        }
    }
}

/// Whether all monomials are numbers times values that depend on all the inames.
fn stays_in_loop(pass: &Pass<'_>, monomials: &Monomials, inames: &InameSet) -> bool {
    let depends_on_all = |atom: &Id| pass.graph[*atom].data.inames == *inames;
    let is_number = |term: &(Rational, Id)| pass.graph[term.1].data.constant.is_some();
    monomials.iter().all(|Monomial { atoms, terms }| atoms.iter().all(depends_on_all) && terms.iter().all(is_number))
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

impl Known {
    /// What is known of a class. Coarse atoms are fine ones where no sum makes a difference.
    fn get(&self, atoms: Atoms, class: Id) -> Option<&Apart> {
        let fine = self.fine.get(&class);
        match atoms {
            Atoms::Fine => fine,
            Atoms::Coarse => fine.filter(|apart| !apart.is_finer).or_else(|| self.coarse.get(&class)),
        }
    }

    /// Whether coarse atoms of a class that is known are its fine ones.
    fn is_same(&self, class: Id) -> bool {
        self.fine.get(&class).is_some_and(|apart| !apart.is_finer)
    }

    /// The number of times that a class was taken apart.
    fn len(&self) -> usize {
        self.fine.len() + self.coarse.len()
    }
}

/// The atoms of a product. Classes may have been united since they were noted.
fn product_of(pass: &Pass<'_>, left: &[Id], right: &[Id]) -> SmallVec<[Id; 2]> {
    let mut res: SmallVec<[Id; 2]> = left.iter().chain(right).map(|&atom| pass.graph.find(atom)).collect();
    res.sort_unstable();
    res
}

struct LinearForm<'a> {
    origin: &'a Origin,
    free: &'a InameSet,
    atoms: Atoms,
    limit: usize,
    known: &'a mut Known,
}

impl LinearForm<'_> {
    /// Finds the monomials of a class, or that they are beyond the limit. A class that is below itself is an atom.
    fn take_apart(&mut self, pass: &mut Pass<'_>, root: Id) {
        let mut pending = vec![pass.graph.find(root)];
        let mut open: FxHashSet<Id> = FxHashSet::default();
        while let Some(&class) = pending.last() {
            if self.of(class).is_some() {
                pending.pop();
                continue;
            }
            open.insert(class);
            let node = self.origin.node(pass, class);
            let is_cyclic =
                |node: &Node| node.children().iter().any(|&child| open.contains(&child) && self.of(child).is_none());
            let node = node.filter(|node| !is_cyclic(node));
            let is_coarser = node.as_ref().is_some_and(|node| self.is_coarser(pass, class, node));
            let is_atom = |node: &Node| is_coarser && self.atoms == Atoms::Coarse || self.is_atomic(pass, class, node);
            let node = node.filter(|node| !is_atom(node));
            let children = node.as_ref().map_or(&[][..], Node::children);
            let apart = if children.iter().any(|&child| self.of(child).is_some_and(|apart| apart.monomials.is_none())) {
                Apart { monomials: None, is_finer: true }
            } else {
                let n_pending = pending.len();
                pending.extend(children.iter().copied().filter(|&child| self.of(child).is_none()));
                if pending.len() > n_pending {
                    continue;
                }
                let is_finer =
                    is_coarser || children.iter().any(|&child| self.of(child).is_some_and(|apart| apart.is_finer));
                Apart { monomials: self.combine(pass, class, node.as_ref()), is_finer }
            };
            pending.pop();
            match self.atoms {
                Atoms::Fine => self.known.fine.insert(class, apart),
                Atoms::Coarse => self.known.coarse.insert(class, apart),
            };
        }
    }

    fn of(&self, class: Id) -> Option<&Apart> {
        self.known.get(self.atoms, class)
    }

    fn monomials(&self, class: Id) -> &[Monomial] {
        self.of(class).and_then(|apart| apart.monomials.as_deref()).unwrap_or_default()
    }

    /// Whether a value is not taken apart: free of the inames, or neither a sum nor a plain product.
    fn is_atomic(&self, pass: &Pass<'_>, class: Id, node: &Node) -> bool {
        !self.depends(pass, class)
            || match node {
                Node::Sum { .. } => false,
                Node::Product { exponents, children } => {
                    exponents.iter().zip(children.iter()).any(|(&e, &child)| e != 1 && self.depends(pass, child))
                }
                _ => true,
            }
    }

    /// Whether a value is a sum that is not taken apart among coarse atoms only.
    fn is_coarser(&self, pass: &Pass<'_>, class: Id, node: &Node) -> bool {
        let is_part = || self.depends(pass, class) && !self.free.is_subset(&pass.graph[class].data.inames);
        matches!(node, Node::Sum { .. }) && is_part()
    }

    fn depends(&self, pass: &Pass<'_>, class: Id) -> bool {
        !pass.graph[class].data.inames.is_disjoint(self.free)
    }

    /// The monomials of a class from those of its children; `None` beyond the limits.
    fn combine(&self, pass: &mut Pass<'_>, class: Id, node: Option<&Node>) -> Option<Monomials> {
        let kind = Kind::of(pass.graph[class].data.dtype);
        let one = |pass: &mut Pass<'_>| smallvec![(Rational::ONE, build::number(pass.graph, Rational::ONE, kind))];
        let res = match node {
            Some(Node::Sum { coefficients, children }) => {
                let mut parts = Monomials::new();
                for (coefficient, &child) in coefficients.iter().zip(children.iter()) {
                    parts.extend(self.monomials(child).iter().map(|Monomial { atoms, terms }| Monomial {
                        atoms: product_of(pass, &[], atoms),
                        terms: terms.iter().map(|(c, id)| (coefficient.times(c), pass.graph.find(*id))).collect(),
                    }));
                }
                let mut res = gathered(parts);
                for Monomial { terms, .. } in &mut res {
                    merge(terms)?;
                    if terms.len() > MAX_TERMS {
                        *terms = smallvec![(Rational::ONE, build::sum(pass.graph, terms.iter().cloned()))];
                    }
                }
                res
            }
            Some(Node::Product { exponents, children }) => {
                let mut factors: Vec<(i32, Id)> = Vec::new();
                let mut res = vec![Monomial { atoms: SmallVec::new(), terms: one(pass) }];
                for (&exponent, &child) in exponents.iter().zip(children.iter()) {
                    if !self.depends(pass, child) {
                        factors.push((exponent, child));
                        continue;
                    }
                    let mut product = Monomials::new();
                    for a in &res {
                        for b in self.monomials(child) {
                            let atoms = product_of(pass, &a.atoms, &b.atoms);
                            let a = build::sum(pass.graph, a.terms.iter().cloned());
                            let b = build::sum(pass.graph, b.terms.iter().cloned());
                            let coefficient = build::product(pass.graph, [(1, a), (1, b)]);
                            product.push(Monomial { atoms, terms: smallvec![(Rational::ONE, coefficient)] });
                        }
                    }
                    res = gathered(product);
                    if res.len() > self.limit {
                        return None;
                    }
                }
                if !factors.is_empty() {
                    for Monomial { terms, .. } in &mut res {
                        let coefficient = build::sum(pass.graph, terms.iter().cloned());
                        let all = factors.iter().copied().chain([(1, coefficient)]);
                        *terms = smallvec![(Rational::ONE, build::product(pass.graph, all))];
                    }
                }
                res
            }
            _ if self.depends(pass, class) => vec![Monomial { atoms: smallvec![class], terms: one(pass) }],
            _ => vec![Monomial { atoms: SmallVec::new(), terms: smallvec![(Rational::ONE, class)] }],
        };
        (res.len() <= self.limit).then_some(res)
    }
}
