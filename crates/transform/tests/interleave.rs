//! Short loops that add to elements between each other's: the same values, over one iname.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::share_interleaved;
use support::{assert_has_loops, parse};

/// The loops of a kernel after the pass; none if it does nothing.
fn check(given: &str, loops: &[&str]) {
    let input = parse("test", given);
    let Some(output) = share_interleaved(&input.clone().into_linearized().unwrap()) else {
        assert!(loops.is_empty(), "nothing was shared");
        return;
    };
    assert_has_loops(&input, output, loops);
}

const ARGUMENTS: &str = "arg x : float64[20] read\narg A : float64[20, 3] readwrite\n";

fn of_loops(domains: &str, body: &str) -> String {
    format!("kernel k linearized\n{domains}{ARGUMENTS}{body}")
}

const EQUAL: &str = "domain { [i] : 0 <= i < 4 }\ndomain { [j] : 0 <= j < 4 }\ndomain { [k] : 0 <= k < 4 }\n";

#[test]
fn columns_of_one_array_share_an_iname() {
    let body = "for i\n  A[i, 0] = A[i, 0] + x[i]\nend\nfor j\n  A[j, 1] = A[j, 1] + 2.0*x[j]\nend\nfor k\n  A[k, 2] = 3.0*x[k] + A[k, 2]\nend\n";
    check(&of_loops(EQUAL, body), &["i", "i", "i"]);
}

/// Elements of different loops may be around the same row without being its columns.
#[test]
fn what_is_in_the_loop_comes_along() {
    let body = "for i\n  A[i + 1, 2] = A[i + 1, 2] + x[i]\nend\nfor j\n  if x[j] > 0.0\n    for k\n      A[2*j, 0] = x[k]*j\n    end\n  end\n  A[j + 2, 0] = A[j + 2, 0] + x[j]*x[j + 1]\nend\n";
    check(&of_loops(EQUAL, body), &["i", "i", "k"]);
}

#[test]
fn other_loops_keep_their_inames() {
    let columns = "for i\n  A[i, 0] = A[i, 0] + x[i]\nend\nfor j\n  A[j, 1] = A[j, 1] + x[j]\nend\n";
    check(&of_loops("domain { [i] : 0 <= i < 4 }\ndomain { [j] : 0 <= j < 5 }\n", columns), &[]);
    check(&of_loops("domain { [i] : 0 <= i < 20 }\ndomain { [j] : 0 <= j < 20 }\n", columns), &[]);
    check(&of_loops("domain { [i] : 0 <= i < 4 }\ndomain { [j] : 0 <= j < 4 }\ntag j sequential\n", columns), &[]);
    // Whole rows, stores that read nothing, elements that lie apart.
    for body in [
        "for i\n  A[0, 0] = A[0, 0] + x[i]\nend\nfor j\n  A[1, 0] = A[1, 0] + x[j]\nend\n",
        "for i\n  A[i, 0] = x[i]\nend\nfor j\n  A[j, 1] = 2.0*x[j]\nend\n",
        "for i\n  A[i, 0] = A[i, 0] + x[i]\nend\nfor j\n  A[j + 1, 1] = A[j + 1, 1] + x[j]\nend\n",
        "for i\n  A[i, 0] = A[i, 0] + x[i]\nend\nfor j\n  A[2*j, 1] = A[2*j, 1] + x[j]\nend\n",
    ] {
        check(&of_loops(EQUAL, body), &[]);
    }
}

/// A name that is taken inside, and an iname that bounds another loop.
#[test]
fn names_are_not_captured() {
    let within = "for i\n  A[i, 0] = A[i, 0] + x[i]\nend\nfor j\n  for i\n    A[j, 2] = x[i]\n  end\n  A[j, 1] = A[j, 1] + x[j]\nend\n";
    check(&of_loops(EQUAL, within), &[]);
    let bounding = "for i\n  A[i, 0] = A[i, 0] + x[i]\nend\nfor j\n  for m\n    A[j, 2] = x[m]\n  end\n  A[j, 1] = A[j, 1] + x[j]\nend\n";
    check(&of_loops(&format!("{EQUAL}domain [j] -> {{ [m] : 0 <= m <= j }}\n"), bounding), &[]);
}
