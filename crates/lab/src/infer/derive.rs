//! What rules imply: which equations an e-graph proves with them.
//!
//! # Method
//! Both sides of every equation are stored by one kernel, its values become an e-graph, and the rules run on it. An equation follows if both
//! sides are one e-class then; with no rules at all, if both have one normal form.

use nestegg_egraph::encode;
use nestegg_egraph::judge::{Judge, Judged};
use nestegg_egraph::pattern::functions;
use nestegg_egraph::saturate::saturate;
use nestegg_ir::Semantics;
use nestegg_ir::domains::Domains;
use nestegg_rules::{Name, ResolvedPhase, ResolvedStrategy, Rule};
use rayon::prelude::*;

use super::kernel;
use super::term::Term;

/// Sizes that are numbers which terms do not have.
const SIZES: [usize; 2] = [11, 13];
/// How often rules run.
const PASSES: u32 = 3;
/// The most e-nodes.
const MAX_NODES: u32 = 60_000;
/// Equations of one kernel.
const N_TOGETHER: usize = 64;

/// Whether each equation follows from the rules.
pub(super) fn follow(equations: &[(&Term, &Term)], rules: &[&Rule]) -> Vec<bool> {
    equations
        .par_chunks(N_TOGETHER)
        .flat_map_iter(|chunk| together(chunk, rules).unwrap_or_else(|| vec![false; chunk.len()]))
        .collect()
}

/// `None` if the terms are no kernel, or the rules run into a contradiction.
fn together(equations: &[(&Term, &Term)], rules: &[&Rule]) -> Option<Vec<bool>> {
    let sides: Vec<&Term> = equations.iter().flat_map(|(left, right)| [*left, *right]).collect();
    let program = kernel::read(kernel::text(&sides, SIZES, false))?;
    let mut form = program.into_linearized().ok()?;
    let functions = functions(&mut form.kernel, rules);
    let context = nestegg_isl::Context::new();
    let domains = Domains::new(&context, &form.kernel).ok()?;
    let mut encoded = encode::encode(&form, &domains, Semantics::default()).ok()?;
    let name = Name::from("infer");
    let phase = ResolvedPhase { name: &name, rules: rules.to_vec(), passes: PASSES, nodes: MAX_NODES };
    let strategy = ResolvedStrategy { name: &name, doc: "", phases: vec![phase], options: indexmap::IndexMap::new() };
    let mut judge = Judge::new(&form.kernel, &domains, Judged::Nobody);
    saturate(&mut encoded.graph, &strategy, &functions, &mut judge).ok()?;
    let class = |idx: usize| {
        let root = encoded.roots.iter().find(|root| form.kernel[root.insn].id == format!("s{idx}"));
        root.map(|root| encoded.graph.find(root.class))
    };
    (0..equations.len()).map(|idx| Some(class(2 * idx)? == class(2 * idx + 1)?)).collect()
}
