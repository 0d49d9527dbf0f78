//! Loops that may run in lanes although they add to scalars.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use nestegg_transform::summing_loops;
use support::parse;

const HEAD: &str = "kernel k linearized\nparam n : int32 = 100\ndomain { [i] : 0 <= i < 16 }\ndomain { [j] : 0 <= j < 6 }\ndomain { [k] : 0 <= k < 40 }\n\
                    domain [n] -> { [m] : 0 <= m < n }\narg x : float64[16] read\narg M : float64[40, 40] readwrite\narg y : float64[40] readwrite\narg p : int32[16] readwrite\n\
                    temp s : float64\ntemp t : float64\ntemp u : float64\ntemp c : int32\n";

/// The loops, each with what it adds to.
fn loops(body: &str) -> String {
    let program = parse("test", &format!("{HEAD}{body}")).into_linearized().unwrap();
    let kernel = &program.kernel;
    let line = |found: &nestegg_ir::SummingLoop| {
        let sums: Vec<&str> = found.sums.iter().map(|&array| kernel[array].name.as_str()).collect();
        format!("{}({})", kernel[found.iname].name, sums.join(" "))
    };
    summing_loops(&program).unwrap().iter().map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn sums_along_neighbours() {
    assert_eq!(loops("s = 0.0\nfor i\n  s = s + x[i]*x[i]\nend\ny[0] = s\n"), "i(s)");
    assert_eq!(
        loops("s = 0.0\nt = 1.0\nfor k\n  u = M[2, k]\n  s = s + u\n  t = t + u*y[k]\nend\ny[0] = s*t\n"),
        "k(s t)"
    );
    // However many they are, and backwards.
    assert_eq!(loops("s = 0.0\nfor m\n  s = s + 2.0\nend\ny[0] = s\n"), "m(s)");
    assert_eq!(loops("s = 0.0\nfor i\n  s = s + x[15 - i]\nend\ny[0] = s\n"), "i(s)");
    // A difference adds.
    assert_eq!(loops("s = 1.0\nfor k\n  s = s - M[0, k]*y[k]\nend\ny[0] = s\n"), "k(s)");
    assert_eq!(loops("s = 1.0\nfor k\n  s = M[0, k] - s\nend\ny[0] = s\n"), "");
    // What each iteration stores goes along, too.
    assert_eq!(loops("s = 0.0\nfor k\n  y[k] = 2.0*M[0, k]\n  s = s + y[k]\nend\ny[0] = s\n"), "k(s)");
}

/// A short loop inside is unrolled; a long one is where the lanes are.
#[test]
fn the_innermost_loop_that_is_long_enough() {
    let nest = |inner: &str| {
        format!(
            "s = 0.0\nfor k\n  t = 0.0\n  for {inner}\n    t = t + M[{inner}, k]\n  end\n  s = s + t\nend\ny[0] = s\n"
        )
    };
    assert_eq!(loops(&nest("j")), "k(s)");
    assert_eq!(loops("s = 0.0\nfor j\n  for k\n    s = s + M[j, k]\n  end\nend\ny[0] = s\n"), "k(s)");
    assert_eq!(
        loops("s = 0.0\nfor k\n  t = 0.0\n  for i\n    t = t + x[i]\n  end\n  s = s + t*y[k]\nend\ny[0] = s\n"),
        "i(t)"
    );
}

/// With or without a sum, along neighbours or not.
#[test]
fn loops_that_call_functions() {
    assert_eq!(loops("for i\n  y[i] = exp(x[i])\nend\n"), "i()");
    assert_eq!(loops("for i\n  y[2*i] = exp(M[i, 2])\nend\n"), "i()");
    assert_eq!(loops("s = 0.0\nfor i\n  s = s + cos(y[p[i]])\nend\ny[0] = s\n"), "i(s)");
    assert_eq!(loops("for k\n  u = 2.0*y[k]\n  for i\n    M[k, i] = u*sin(x[i])\n  end\nend\n"), "i()");
    // Few iterations, those that need each other, another function.
    assert_eq!(loops("for j\n  y[j] = exp(x[j])\nend\n"), "");
    assert_eq!(loops("for i\n  y[i + 1] = exp(y[i])\nend\n"), "");
    assert_eq!(loops("for i\n  y[p[i]] = exp(x[i])\nend\n"), "");
    assert_eq!(loops("for i\n  y[i] = tan(x[i])\nend\n"), "");
}

#[test]
fn others_stay_as_they_are() {
    // Few iterations, elements that lie apart, or that other numbers name.
    assert_eq!(loops("s = 0.0\nfor j\n  s = s + x[j]\nend\ny[0] = s\n"), "");
    assert_eq!(loops("s = 0.0\nfor i\n  s = s + M[i, 0]\nend\ny[0] = s\n"), "");
    assert_eq!(loops("s = 0.0\nfor k\n  s = s + M[k, 0]\nend\ny[0] = s\n"), "");
    assert_eq!(loops("s = 0.0\nfor i\n  s = s + y[p[i]]\nend\ny[0] = s\n"), "");
    // A sum that the loop reads, or sets, a product, integers, an element of an array.
    assert_eq!(loops("s = 0.0\nfor i\n  s = s + x[i]\n  y[i] = s\nend\n"), "");
    assert_eq!(loops("s = 1.0\nfor i\n  s = s*x[i]\nend\ny[0] = s\n"), "");
    assert_eq!(loops("c = 0\nfor i\n  c = c + p[i]\nend\np[0] = c\n"), "");
    assert_eq!(loops("for i\n  y[0] = y[0] + x[i]\nend\n"), "");
    // Iterations that need each other.
    assert_eq!(loops("s = 0.0\nfor i\n  y[i + 1] = y[i]*x[i]\n  s = s + y[i]\nend\ny[0] = s\n"), "");
}
