//! Loops around sums in vectors: the same values for every number of iterations, and loops that stay as they are.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use compiled::write_in_vectors as write;

/// A loop is written in so many vectors at once, and the C computes what the kernel does.
fn check(text: &str, n_stores: usize, parameters: &[(&str, i64)]) {
    let (program, linearized, written) = write(text);
    let found = written.source.matches("lanes_store_").count();
    // One of them is the definition.
    assert_eq!(found, n_stores + 1, "{}", written.source);
    compiled::check_written(&program, (linearized, written), parameters, "");
}

/// Sums that elements are set to, and added to; a temporary, and a value that is the same in all lanes.
#[test]
fn every_number_of_iterations() {
    for n in (2..=40).chain([45, 61, 77, 125]) {
        let text = format!(
            "kernel k linearized\ndomain {{ [i] : 0 <= i < 3 }}\ndomain {{ [j] : 0 <= j < {n} }}\ndomain {{ [q] : 0 <= q < 5 }}\narg a : float64[3, 5] read\n\
             arg T : float64[5, {n}] read\narg x : float64[3, {n}] write\narg y : float64[3, {n}] readwrite\ntemp s : float64\ntemp t : float64\n\
             for i\n  for j\n    s = 0.5\n    t = a[i, 1]\n    for q\n      s = s + a[i, q]*T[q, j] - T[q, j]/(2.0 + a[i, q]*a[i, q])\n      t = t - s*a[i, q]\n    end\n    \
             x[i, j] = 2.0*s\n    y[i, j] = y[i, j] + t*s\n  end\nend\n"
        );
        let (_, _, written) = write(&text);
        let n_stores = written.source.matches("lanes_store_").count() - 1;
        assert!(n_stores >= 2, "{}", written.source);
        check(&text, n_stores, &[]);
    }
}

/// Neighbours forwards and backwards, a column of numbers, functions, and rows that are written from both ends until these meet.
#[test]
fn both_ends() {
    let column: Vec<String> = (0..21).map(|row| format!("[9.5, {row}.25]")).collect();
    for n in 2..=21 {
        let text = format!(
            "kernel k linearized\ndomain {{ [i] : 0 <= i < 3 }}\ndomain {{ [j] : 0 <= j < {n} }}\ndomain {{ [q] : 0 <= q < 5 }}\narg a : float64[3, 5] read\n\
             arg T : float64[5, 40] read\narg x : float64[3, 40] readwrite\ntable K : float64[21, 2] = [{}]\ntemp s : float64\n\
             for i\n  for j\n    s = 0.5\n    for q\n      s = s + a[i, q]*T[q, 39 - j] - T[q, j]\n    end\n    \
             x[i, j] = x[i, j] + s*K[j, 1]\n    x[i, 39 - j] = sqrt(abs(s)) - x[i, 39 - j]\n  end\nend\n",
            column.join(", ")
        );
        let (_, _, written) = write(&text);
        assert_eq!(written.source.contains("lanes_store_back_"), n <= 20, "{}", written.source);
        if n <= 20 {
            check(&text, written.source.matches("lanes_store_").count() - 1, &[]);
        }
    }
}

/// A loop of one vector without loops inside, if it computes more than it stores.
#[test]
fn one_vector() {
    let text = |n: usize, value: &str| {
        format!(
            "kernel k linearized\ndomain {{ [i] : 0 <= i < 9 }}\ndomain {{ [j] : 0 <= j < {n} }}\narg a : float64[9] read\narg x : float64[9, {n}] readwrite\n\
             for i\n  for j\n    x[i, j] = {value}\n  end\nend\n"
        )
    };
    check(&text(4, "a[i]*(x[i, j] + a[i]*x[i, j])"), 1, &[]);
    for (n, value) in [(4, "a[i]"), (2, "a[i]*(x[i, j] + a[i]*x[i, j])"), (5, "a[i]*(x[i, j] + a[i]*x[i, j])")] {
        let (_, _, written) = write(&text(n, value));
        assert!(!written.source.contains("lanes_"), "{}", written.source);
    }
}

/// Elements that inner loops add to are in vectors meanwhile; those that move with the inner loop are stored there.
#[test]
fn elements_of_arrays() {
    let text = "kernel k linearized\ndomain { [i] : 0 <= i < 2 }\ndomain { [j] : 3 <= j < 10 }\ndomain { [q] : 0 <= q < 6 }\narg a : float64[2, 6] read\n\
                arg T : float64[6, 10] read\narg x : float64[2, 10] readwrite\narg z : float64[6, 10] readwrite\ntemp v : float64[2, 10]\n\
                for i\n  for j\n    v[i, j] = 0.0\n    for q\n      v[i, j] = v[i, j] + a[i, q]*T[q, j]\n      z[q, j] = z[q, j]*2.0 + v[i, j]\n      x[i, j] = x[i, j] - T[q, j]\n    \
                end\n    x[i, j] = x[i, j]*v[i, j]\n  end\nend\n";
    check(text, 6, &[]);
}

#[test]
fn loops_in_loops_and_single_precision() {
    for n in [8, 11, 16, 23, 70] {
        let text = format!(
            "kernel k linearized\ndomain {{ [j] : 0 <= j < {n} }}\ndomain {{ [p] : 0 <= p < 3 }}\ndomain {{ [q] : 0 <= q < 4 }}\narg a : float32[3, 4] read\n\
             arg T : float32[4, 80] read\narg x : float32[80] readwrite\ntemp s : float32\ntemp t : float32\n\
             for j\n  s = 0.0\n  for p\n    t = 1.5\n    for q\n      t = t + a[p, q]*T[q, j + 2]\n    end\n    s = s + t*T[p, j]\n  end\n  x[j] = x[j] + s\nend\n"
        );
        let (_, _, written) = write(&text);
        let n_stores = written.source.matches("lanes_store_").count() - 1;
        assert!(n_stores >= 1, "{}", written.source);
        check(&text, n_stores, &[]);
    }
}

/// Strided loads are gathered lane by lane if most statements in inner loops load neighbours.
#[test]
fn elements_that_lie_apart() {
    for n in [4, 7, 16, 37] {
        let text = format!(
            "kernel k linearized\ndomain {{ [j] : 0 <= j < {n} }}\ndomain {{ [q] : 0 <= q < 5 }}\narg a : float64[5] read\narg T : float64[5, {n}] read\narg D : float64[{n}, 5] read\n\
             arg G : float64[2, {n}, 3] read\narg x : float64[{n}] write\ntemp s : float64\ntemp t : float64\ntemp u : float64\n\
             for j\n  s = 0.0\n  t = 1.0\n  u = 0.0\n  for q\n    s = s + a[q]*T[q, j]\n    u = u + T[q, j]\n    t = t - a[q]*D[{n} - 1 - j, q]\n  end\n  \
             x[j] = G[1, j, 2]*s + u*G[0, {n} - 1 - j, 1]*t\nend\n"
        );
        let (_, _, written) = write(&text);
        assert!(written.source.contains("lanes_load_apart_"), "{}", written.source);
        check(&text, written.source.matches("lanes_store_").count() - 1, &[]);
    }
}

#[test]
fn loops_that_stay() {
    let stays = |domain: &str, body: &str| {
        let text = format!(
            "kernel k linearized\ndomain {{ [j] : 0 <= j < 8 }}\n{domain}\narg a : float64[8] read\narg T : float64[8, 8] read\narg n : int32[8] read\n\
             arg x : float64[8] readwrite\narg w : float64[8, 8] readwrite\narg y : float64[15] readwrite\ntemp s : float64\nfor j\n  s = 0.0\n  for q\n    {body}\n  end\n  x[j] = s\nend\n"
        );
        let (_, _, written) = write(&text);
        assert!(!written.source.contains("lanes_"), "{}", written.source);
    };
    let plain = "domain { [q] : 0 <= q < 8 }";
    // Not along rows, other functions, integers, choices.
    stays(plain, "s = s + a[q]*T[j, q]");
    stays(plain, "s = s + exp(T[q, j])");
    stays(plain, "s = s + j*T[q, j]");
    stays(plain, "s = s + n[j]*T[q, j]");
    stays(plain, "s = s + (T[q, j] if T[q, j] > 0.0 else 0.0)");
    stays(plain, "s = s + T[q, n[j]]");
    // What other iterations write.
    stays(plain, "s = s + x[q]*T[q, j]");
    stays(plain, "y[j + q] = y[j + q] + T[q, j]");
    stays(plain, "w[q, j] = w[0, j] + T[q, j]");
    // Another number of iterations each time, or under a condition.
    stays("domain [j] -> { [q] : 0 <= q <= j }", "s = s + a[q]*T[q, j]");
    stays(plain, "s = s + a[q]*T[q, j]  {if=a[q] > 0.0}");
}
