//! Loops that add to rows in vectors: the same values for every number of iterations, and loops that stay as they are.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use compiled::write_in_vectors as write;

/// A kernel with a loop over `j` from 0 to `n` in a loop over `i`, in which `A` has two rows for each `i`, of `length` elements for each `j`.
fn kernel(n: usize, length: usize, body: &str) -> String {
    format!(
        "kernel k linearized\ndomain {{ [i, j] : 0 <= i < 3 and 0 <= j < {n} }}\narg A : float64[6, {}] readwrite\narg a : float64[3] read\n\
         arg B : float64[60, {n}] read\narg n : int32[{n}] read\ntemp s : float64\ntemp t : float64\nfor i\n  for j\n{body}  end\nend\n",
        n * length
    )
}

/// Updates of both rows, with as many operations as make vectors worth it.
fn updates(length: usize) -> String {
    let mut body = "    s = B[0, j]*a[i] - B[1, j]\n    t = sqrt(abs(s))/3.0\n".to_owned();
    for row in 0..2 {
        for at in 0..length {
            let (at, own) = ((at + row) % length, row * length + at);
            let element = format!("A[2*i + {row}, {length}*j + {at}]");
            let sign = if own % 3 == 1 { '-' } else { '+' };
            body += &format!(
                "    {element} = {element} {sign} (B[{}, j]*a[{row}] + B[{}, j]*s - t*B[2, j]*2.0)\n",
                own + 3,
                own + 11
            );
        }
    }
    body
}

#[test]
fn every_number_of_iterations() {
    for length in 2..=4 {
        for n in (4..=26).chain([35, 64]) {
            let (program, linearized, written) = write(&kernel(n, length, &updates(length)));
            assert!(written.source.contains(&format!("lanes_rows_{length}_f64(&A[")), "{}", written.source);
            assert_eq!(written.source.contains("lanes_last_"), n % 4 != 0, "{}", written.source);
            compiled::check_written(&program, (linearized, written), &[], "");
        }
    }
}

/// A long body is there once; the last vector adds in the lanes that are left.
#[test]
fn long_bodies() {
    let sum = |row: usize| {
        let terms: Vec<String> =
            (0..150).map(|at| format!("B[{}, j]*a[{}]", at % 57 + row, (at / 57 + at) % 3)).collect();
        terms.join(" + ")
    };
    let of = |row: usize| format!("    A[i, 3*j + {row}] = A[i, 3*j + {row}] + ({})\n", sum(row));
    for n in 4..=13 {
        let (program, linearized, written) = write(&kernel(n, 3, &(0..3).map(of).collect::<String>()));
        assert_eq!(written.source.matches("lanes_rows_3_f64(&A[").count(), 1, "{}", written.source);
        assert_eq!(written.source.contains("lanes_keep("), n % 4 != 0, "{}", written.source);
        compiled::check_written(&program, (linearized, written), &[], "");
    }
}

/// Short loops, rows that are not filled or not added to, what vectors cannot do, and what is not worth it.
#[test]
fn loops_that_stay() {
    let stays = |n: usize, body: &str| {
        let (_, _, written) = write(&kernel(n, 2, body));
        assert!(!written.source.contains("lanes_rows_"), "{}", written.source);
    };
    let value = "B[0, j]*B[1, j] + B[2, j]*B[3, j] - B[4, j]*a[i]*(B[5, j] + B[6, j]*B[7, j])/(1.5 + B[8, j]*B[8, j])";
    let both = |first: &str, second: &str| format!("    {first}\n    {second}\n");
    let add = |element: &str| format!("{element} = {element} + ({value})");
    let fits = both(&add("A[i, 2*j]"), &add("A[i, 2*j + 1]"));
    assert!(write(&kernel(4, 2, &fits)).2.source.contains("lanes_rows_2_f64"));
    stays(3, &fits);
    // Rows that are not filled, or by others, or not added to.
    stays(8, &both(&add("A[i, 2*j]"), &add("A[i + 1, 2*j + 1]")));
    stays(8, &both(&add("A[i, 2*j]"), &add("A[i, 2*j]")));
    stays(8, &both(&add("A[i, j]"), &add("A[i, j + 1]")));
    stays(8, &both(&format!("A[i, 2*j] = {value}"), &add("A[i, 2*j + 1]")));
    // What is read, other functions, integers, little to compute.
    stays(8, &both(&add("A[i, 2*j]"), &format!("{} + A[0, 0]", add("A[i, 2*j + 1]"))));
    stays(8, &both(&add("A[i, 2*j]"), &format!("{} + exp(B[0, j])", add("A[i, 2*j + 1]"))));
    stays(8, &both(&add("A[i, 2*j]"), &format!("{} + n[j]", add("A[i, 2*j + 1]"))));
    stays(8, &both("A[i, 2*j] = A[i, 2*j] + B[0, j]", "A[i, 2*j + 1] = A[i, 2*j + 1] + B[1, j]"));
    stays(8, &both(&add("A[i, 2*j]"), &format!("{}  {{if=a[i] > 0.0}}", add("A[i, 2*j + 1]"))));
}
