//! Quotients as products with reciprocals.
//!
//! `x/y` is rounded once and `x*(1/y)` twice, and `1/y` may be infinite or zero where `x/y` is neither. What it wins is that
//! powers of one reciprocal are products: `1/y` and `a/y**2` need one division together.

use egg::Id;

use super::Pass;
use crate::build;
use crate::language::Node;

/// An exponent and what it is of.
type Factor = (i32, Id);

/// The factors of a divisor that is a product.
fn opened(pass: &Pass<'_>, (exponent, base): Factor) -> Vec<Factor> {
    let inner = pass.graph[base].nodes.iter().find_map(Node::factors);
    match inner {
        Some(inner) if inner.clone().all(|(inner, _)| inner > 0) => {
            inner.map(|(inner, base)| (exponent.saturating_mul(inner), base)).collect()
        }
        _ => vec![(exponent, base)],
    }
}

/// `x/(y·z²) == x·(1/y)·(1/z)²`, and `x·(1/(y·z²))`.
pub fn reciprocals(pass: &mut Pass<'_>) {
    for &class in pass.classes {
        if pass.is_full() {
            return;
        }
        let products: Vec<Vec<Factor>> =
            pass.graph[class].nodes.iter().filter_map(Node::factors).map(Iterator::collect).collect();
        for factors in products {
            let (below, above): (Vec<Factor>, Vec<Factor>) =
                factors.into_iter().partition(|(exponent, _)| *exponent < 0);
            let below: Vec<Factor> = below.into_iter().flat_map(|factor| opened(pass, factor)).collect();
            let is_reciprocal = above.is_empty() && matches!(below.as_slice(), [(-1, _)]);
            if below.is_empty() || is_reciprocal {
                continue;
            }
            let mut single = above.clone();
            for &(exponent, base) in &below {
                let reciprocal = build::product(pass.graph, [(-1, base)]);
                single.push((-exponent, reciprocal));
            }
            let form = build::product(pass.graph, single);
            pass.equate(class, form);
            if !above.is_empty() && below.len() > 1 {
                let all = build::product(pass.graph, below);
                let form = build::product(pass.graph, above.into_iter().chain([(1, all)]));
                pass.equate(class, form);
            }
        }
    }
}
