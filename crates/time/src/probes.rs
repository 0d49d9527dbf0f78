//! Small kernels that show the constants of a machine when they are timed.
//!
//! Each leans on one or two constants: straight-line code for scalars, long loops for vectors, short ones for entries and remainders, large arrays for caches.

/// A kernel to be timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its name, also that of the kernel.
    pub name: String,
    /// The kernel in the text form.
    pub text: String,
}

/// All of them.
#[must_use]
pub fn probes() -> Vec<Probe> {
    let mut res = vec![
        loop_over("axpy", 600, "y[i] = y[i] + 2.5*x[i]"),
        loop_over(
            "polynomial",
            600,
            "y[i] = (((((((x[i] + 0.5)*x[i] + 0.25)*x[i] + 0.125)*x[i] + 1.5)*x[i] + 1.25)*x[i] + 1.125)*x[i] + 1.0625)*x[i]",
        ),
        loop_over("quotients", 600, "y[i] = 1.5/x[i]"),
        loop_over("roots", 600, "y[i] = sqrt(1.5 + x[i]*x[i])"),
        loop_over("exponentials", 600, "y[i] = exp(0.25*x[i])"),
        loop_over("sines", 600, "y[i] = sin(x[i])"),
        loop_over("powers", 600, "y[i] = pow(3.0 + x[i], 1.25)"),
        loop_over("functions", 600, "y[i] = tanh(x[i])"),
        loop_over("strided", 300, "y[i] = x[2*i]"),
        loop_over("dot", 600, "s[0] = s[0] + x[i]*y[i]"),
        loop_over("second_cache", 20_000, "y[i] = y[i] + 2.5*x[i]"),
        loop_over("last_cache", 300_000, "y[i] = y[i] + 2.5*x[i]"),
        loop_over("memory", 6_000_000, "y[i] = y[i] + 2.5*x[i]"),
        straight("nothing", 1, 1, 3),
        straight("straight_60", 60, 12, 3),
        straight("straight_400", 400, 40, 3),
        straight("straight_3000", 3000, 100, 3),
        scalar("scalar_quotients", 12, "1.5/"),
        scalar("scalar_roots", 12, "sqrt"),
        stores("stores", 120),
    ];
    for (n, q) in [(6, 6), (10, 11), (20, 24)] {
        res.push(contraction("contraction", n, q, ["q", "j", "k"]));
        res.push(contraction("reduction", n, q, ["j", "k", "q"]));
    }
    for written in [Written::Out, Written::InLoops] {
        res.push(element(6, 3, written));
    }
    res.extend([(36, 14), (96, 12)].map(|(n, n_values)| lanes(n, n_values)));
    res
}

fn head(name: &str, domain: &str, n: usize) -> String {
    format!(
        "kernel {name} linearized\ndomain {{ {domain} }}\narg y : float64[{n}] readwrite\narg x : float64[{}] read\narg s : float64[1] readwrite\n",
        2 * n
    )
}

/// A loop around one statement.
fn loop_over(name: &str, n: usize, statement: &str) -> Probe {
    let text = head(name, &format!("[i] : 0 <= i < {n}"), n) + "for i\n  " + statement + "\nend\n";
    Probe { name: name.to_owned(), text }
}

/// Statements without a loop: each takes two earlier values; the last ones are stored, `apart` elements from each other.
fn straight(name: &str, n_statements: usize, n_outputs: usize, apart: usize) -> Probe {
    let mut text = head(name, "[i] : 0 <= i < 1", apart * n_outputs.max(24));
    for at in 0..n_statements {
        text += &format!("temp t{at} : float64\n");
    }
    let value = |at: usize, back: usize| match at.checked_sub(back + 1) {
        Some(earlier) => format!("t{earlier}"),
        None => format!("x[{}]", (7 * at + 5 * back) % 24),
    };
    for at in 0..n_statements {
        let (near, far) = (value(at, 3 + at % 5), value(at, 11 + (at * at) % 23));
        text += &match at % 3 {
            0 => format!("t{at} = {near} - {far}\n"),
            1 => format!("t{at} = 0.5*{near} + {far}\n"),
            _ => format!("t{at} = 0.25*{near}*{far}\n"),
        };
    }
    for output in 0..n_outputs {
        text +=
            &format!("y[{}] = y[{}] + t{}\n", apart * output, apart * output, n_statements - 1 - output % n_statements);
    }
    Probe { name: name.to_owned(), text }
}

/// Scalars that no vector can be made of, each with an operation before it.
fn scalar(name: &str, n: usize, operation: &str) -> Probe {
    let mut text = head(name, "[i] : 0 <= i < 1", 5 * n);
    for at in 0..n {
        text += &format!("y[{}] = {operation}(2.5 + x[{}]*x[{}])\n", 5 * at, 3 * at, (7 * at) % n);
    }
    Probe { name: name.to_owned(), text }
}

/// Stores that are not consecutive.
fn stores(name: &str, n: usize) -> Probe {
    let mut text = head(name, "[i] : 0 <= i < 1", 3 * n);
    for at in 0..n {
        text += &format!("y[{}] = x[{}]\n", 3 * at, at % 4);
    }
    Probe { name: name.to_owned(), text }
}

/// A matrix of sums over products of a table, with its loops in this order.
fn contraction(name: &str, n: usize, q: usize, order: [&str; 3]) -> Probe {
    let name = format!("{name}_{n}_{q}");
    let text = format!(
        "kernel {name} linearized\ndomain {{ [q, j, k] : 0 <= q < {q} and 0 <= j, k < {n} }}\narg A : float64[{n}, {n}] readwrite\narg T : float64[{q}, {n}] read\narg G : float64[{q}] read\nfor {}\n  A[j, k] = A[j, k] + G[q]*T[q, j]*T[q, k]\nend\n",
        order.join(", ")
    );
    Probe { name, text }
}

/// A few values, each added to many consecutive elements in no order: compilers put vectors together from them, lane by lane.
fn lanes(n: usize, n_values: usize) -> Probe {
    let name = format!("lanes_{n}");
    let mut text = head(&name, "[i] : 0 <= i < 1", n);
    for value in 0..n_values {
        text += &format!("temp t{value} : float64\n");
    }
    text += "temp d : float64\ntemp e : float64\nd = x[0]*x[1] - x[2]*x[3]\ne = x[4]*x[5]\n";
    for value in 0..n_values {
        let value_of = |step: usize| 0.25 * (1 + step) as f64 + 0.125 * value as f64;
        text += &format!("t{value} = {:?}*d + {:?}*e\n", value_of(0), value_of(1));
    }
    for at in 0..n {
        text += &format!("y[{at}] = y[{at}] + t{}\n", (at * at + 3 * at + at / 7) % n_values);
    }
    Probe { name, text }
}

/// How an element matrix is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// One statement for each of its elements.
    Out,
    /// Two loops, with tables.
    InLoops,
}

/// A symmetric matrix of sums of numbers times a few features, each a quotient of polynomials: what straight-line code and loops take for the same.
fn element(n: usize, n_features: usize, written: Written) -> Probe {
    // Numbers with few digits, a third of them zero, as pre-evaluated integrals have.
    let entry = |feature: usize, j: usize, k: usize| {
        let (j, k) = (j.min(k), j.max(k));
        let hash = (3 * j + 5 * k + 7 * feature + j * k) % 9;
        if hash.is_multiple_of(3) { 0.0 } else { hash as f64 / 8.0 }
    };
    let name = if written == Written::Out { "element_out" } else { "element_loops" };
    let name = format!("{name}_{n}_{n_features}");
    let mut text = format!(
        "kernel {name} linearized\ndomain {{ [j, k] : 0 <= j, k < {n} }}\narg A : float64[{n}, {n}] readwrite\narg x : float64[12] read\n"
    );
    let features = 0..n_features;
    if written == Written::InLoops {
        for feature in features.clone() {
            let row = |j: usize| {
                let row: Vec<String> = (0..n).map(|k| format!("{:?}", entry(feature, j, k))).collect();
                format!("[{}]", row.join(", "))
            };
            let rows: Vec<String> = (0..n).map(row).collect();
            text += &format!("table T{feature} : float64[{n}, {n}] = [{}]\n", rows.join(", "));
        }
    }
    text += "temp d : float64\n";
    for feature in features.clone() {
        text += &format!("temp g{feature} : float64\n");
    }
    text += "d = fabs((x[0] - x[1])*(x[2] - x[3]) - (x[4] - x[5])*(x[6] - x[7]))\n";
    for feature in features.clone() {
        let at = |step: usize| (feature * 5 + step * 3) % 8;
        text += &format!(
            "g{feature} = ((x[{}] - x[{}])*(x[{}] - x[{}]) + x[{}]*x[8])/d\n",
            at(0),
            at(1),
            at(2),
            at(3),
            at(4)
        );
    }
    match written {
        Written::Out => {
            for j in 0..n {
                for k in 0..n {
                    let terms = features.clone().filter(|&feature| entry(feature, j, k) != 0.0);
                    let terms: Vec<String> =
                        terms.map(|feature| format!("{:?}*g{feature}", entry(feature, j, k))).collect();
                    if !terms.is_empty() {
                        text += &format!("A[{j}, {k}] = A[{j}, {k}] + ({})\n", terms.join(" + "));
                    }
                }
            }
        }
        Written::InLoops => {
            let terms: Vec<String> = features.map(|feature| format!("T{feature}[j, k]*g{feature}")).collect();
            text += &format!("for j, k\n  A[j, k] = A[j, k] + ({})\nend\n", terms.join(" + "));
        }
    }
    Probe { name, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_kernels_of_different_names_and_not_too_many() {
        let all = probes();
        assert!(all.len() <= 30, "{}", all.len());
        for (idx, probe) in all.iter().enumerate() {
            assert!(all[..idx].iter().all(|other| other.name != probe.name), "{}", probe.name);
            let source = nestegg_span::Source::new(probe.name.as_str(), probe.text.as_str());
            let read = nestegg_dump::read(&source).unwrap_or_else(|error| panic!("{}: {error:?}", probe.name));
            let program = read.program.into_linearized().unwrap();
            let estimate = crate::estimate(&program, &[], &crate::Machine::default()).unwrap();
            assert!(estimate.nanoseconds > 0.0, "{}", probe.name);
        }
    }
}
