//! Looks for loops of a shape.
//!
//! # Input
//! The loops of a kernel, and a question about one of them: the loops around it, its iname and its body.
//! # Output
//! The answers, in program order. A loop with an answer is not searched any further.

use nestegg_ir::{InameId, LoopTree};

/// What a question finds.
pub(crate) fn in_loops<'t, T>(
    nodes: &'t [LoopTree],
    mut question: impl FnMut(&[InameId], InameId, &'t [LoopTree]) -> Option<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    search(nodes, &mut Vec::new(), &mut question, &mut found);
    found
}

/// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
fn search<'t, T>(
    nodes: &'t [LoopTree],
    open: &mut Vec<InameId>,
    question: &mut impl FnMut(&[InameId], InameId, &'t [LoopTree]) -> Option<T>,
    found: &mut Vec<T>,
) {
    for node in nodes {
        match node {
            LoopTree::Loop { iname, body } => match question(open, *iname, body) {
                Some(answer) => found.push(answer),
                None => {
                    open.push(*iname);
                    search(body, open, question, found);
                    open.pop();
                }
            },
            LoopTree::Branch { body, .. } => search(body, open, question, found),
            LoopTree::Run(_) => {}
        }
    }
}
