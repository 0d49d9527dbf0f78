//! Loops that go to threads: which ones, and that the C with threads writes what the C without them writes.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use nestegg_codegen::c::harness::{HarnessOptions, Mode, harness};
use nestegg_codegen::c::{COptions, Parallel, emit};
use nestegg_driver::batch::Width;
use nestegg_driver::config::{BatchRequest, Config, CostModel, Validation};
use nestegg_ir::{Licence, LinearizedKernel};
use nestegg_span::Source;
use nestegg_tests::random::for_each_that_runs;
use nestegg_transform::parallel::parallel_loops;

fn read(text: &str) -> LinearizedKernel {
    let source = Source::new("kernel", text);
    let read = nestegg_driver::read(&source).unwrap_or_else(|error| panic!("{error:?}"));
    read.program.into_linearized().unwrap()
}

/// The loops that may go to threads: their inames, each with what threads need for themselves.
fn found(text: &str) -> String {
    let program = read(text);
    let kernel = &program.kernel;
    let found = parallel_loops(&program).unwrap();
    let line = |one: &nestegg_transform::parallel::ParallelLoop| {
        let private: Vec<&str> = one.private.iter().map(|&array| kernel[array].name.as_str()).collect();
        let name = &kernel[one.iname].name;
        if private.is_empty() { name.clone() } else { format!("{name}({})", private.join(" ")) }
    };
    found.iter().map(line).collect::<Vec<_>>().join(", ")
}

const HEAD: &str = "kernel k linearized
param n : int32 = 100
domain [n] -> { [i, j] : 0 <= i, j < n }
domain { [t] : 0 <= t < 10 }
domain { [a, b] : 0 <= a < 10 and 0 <= b < 4 }
arg A : float64[n, n] readwrite
arg x : float64[4*n + 4] readwrite
arg y : float64[n] readwrite
arg p : int32[n] read
temp s : float64
temp u : float64[4]
";

fn loops(body: &str) -> String {
    found(&format!("{HEAD}{body}"))
}

#[test]
fn iterations_that_touch_different_elements() {
    assert_eq!(loops("for i, j\n A[i, j] = 2.0*A[i, j]\nend\n"), "i, j");
    // In a row, only the diagonal is read where it is written.
    assert_eq!(loops("for i, j\n A[i, j] = A[j, i] + 1.0\nend\n"), "j");
    assert_eq!(loops("for i, j\n A[i, j] = A[i, j + 1] + 1.0\nend\n"), "i");
    assert_eq!(loops("for i, j\n y[i] = y[i] + A[i, j]\nend\n"), "i");
    assert_eq!(loops("for t, i\n A[0, i] = A[0, i] + A[1, i]\nend\n"), "i");
    // Neighbours.
    assert_eq!(loops("for i\n x[2*i] = x[2*i + 1] + 1.0\nend\n"), "i");
    assert_eq!(loops("for i\n x[i] = x[i + 1] + 1.0\nend\n"), "");
    // A flat index: rows of four.
    assert_eq!(loops("for a, b\n x[4*a + b] = x[4*a + b]*x[4*a + b]\nend\n"), "a, b");
    assert_eq!(loops("for a, b\n x[3*a + b] = 1.0\nend\n"), "b");
    // Nobody knows where they go.
    assert_eq!(loops("for i\n y[p[i]] = y[p[i]] + 1.0\nend\n"), "");
    assert_eq!(loops("for i\n y[i] = x[p[i]]\nend\n"), "i");
}

#[test]
fn temporaries_of_an_iteration() {
    assert_eq!(loops("for i\n s = y[i]*y[i]\n y[i] = s + 1.0/s\nend\n"), "i(s)");
    // The value of the iteration before.
    assert_eq!(loops("s = 0.0\nfor i\n y[i] = s\n s = s + y[i]\nend\n"), "");
    // Read after the loop.
    assert_eq!(loops("for i\n s = y[i]*y[i]\n y[i] = s + 1.0/s\nend\ny[0] = s\n"), "");
    // Written under a condition, read always.
    assert_eq!(loops("s = 0.0\nfor i\n s = y[i]*y[i] {if=y[i] > 0.0}\n y[i] = s\nend\n"), "");
    // Whole arrays, which the inner loop fills; it reads nothing else.
    assert_eq!(loops("for a\n for b\n  u[b] = x[4*a + b]\n end\n y[a] = u[0] + u[3]\nend\n"), "a(u), b");
    // Element by element; one is missing.
    let (three, fourth) = ("for a\n u[0] = y[a]\n u[1] = 1.0\n u[3] = 2.0\n", " u[2] = y[0]\n");
    let read = " for b\n  x[4*a + b] = u[b] + 1.0\n end\nend\n";
    assert_eq!(loops(&format!("{three}{read}")), "b");
    assert_eq!(loops(&format!("{three}{fourth}{read}")), "a(u), b");
    // Whole arrays that are filled from another value on, or whose size is a parameter.
    let shifted = HEAD.replace("0 <= a < 10 and 0 <= b < 4", "0 <= a < 10 and 3 <= b < 7");
    let (fill, read) = ("for a\n for b\n  u[b - 3] = x[4*a + b]\n end\n", " y[a] = u[0] + u[3]\nend\n");
    assert_eq!(found(&format!("{shifted}{fill}{read}")), "a(u), b");
    assert_eq!(found(&format!("{}{fill}{read}", shifted.replace("3 <= b", "4 <= b"))), "b");
    let row = HEAD.replace("temp s", "temp r : float64[n]\ntemp s");
    assert_eq!(found(&format!("{row}for a\n for i\n  r[i] = x[a + i]\n end\n y[a] = r[0]\nend\n")), "a(r), i");
    // In loops of the same length, which depends on the iteration; but not where the first may be shorter than the second.
    let head = HEAD.replace(
        "domain { [a, b] : 0 <= a < 10 and 0 <= b < 4 }",
        "domain { [a] : 0 <= a < 10 }\ndomain [a] -> { [b] : 0 <= b < 4 and b <= a }\ndomain { [c] : 0 <= c < 4 }",
    );
    let (first, same) =
        ("for a\n for b\n  u[b] = x[4*a + b]\n end\n", " for b\n  x[4*a + b] = u[b] + 1.0\n end\nend\n");
    assert_eq!(found(&format!("{head}{first}{same}")), "a(u), b, b");
    let other = same.replace("for b", "for c").replace("+ b] = u[b]", "+ c] = u[c]");
    assert_eq!(found(&format!("{head}{first}{other}")), "b, c");
}

#[test]
fn sequential_loops_and_foreign_code_stay() {
    assert_eq!(found(&format!("{HEAD}tag i sequential\nfor i, j\n A[i, j] = 2.0*A[i, j]\nend\n")), "j");
}

/// What a program writes, bit by bit, with a flag more or less.
fn outputs(program: &LinearizedKernel, values: &[(String, i64)], flags: &[&str]) -> String {
    let found = parallel_loops(program).unwrap();
    let parallel = found.into_iter().map(|one| Parallel { nth: one.nth, private: one.private, from: None }).collect();
    let text =
        emit(program, &COptions { symbol: Some("subject".to_owned()), parallel, ..COptions::default() }).unwrap();
    let options = HarnessOptions {
        parameters: values.iter().cloned().collect(),
        given: BTreeMap::new(),
        seed: 3,
        mode: Mode::Print,
        definitions: String::new(),
    };
    let main = harness(&program.kernel, &[&text], &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("subject.c"), &text.source).unwrap();
    fs::write(folder.path().join("main.c"), main).unwrap();
    let all = ["-std=c11", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"];
    let mut compile = Command::new("gcc");
    compile.args(all).args(flags).args(["subject.c", "main.c", "-o", "program", "-lm"]).current_dir(folder.path());
    let compiled = compile.output().unwrap();
    assert!(compiled.status.success(), "{}\n{}", String::from_utf8_lossy(&compiled.stderr), text.source);
    let run = Command::new(folder.path().join("program")).env("OMP_NUM_THREADS", "4").output().unwrap();
    assert!(run.status.success(), "{}", text.source);
    String::from_utf8(run.stdout).unwrap()
}

fn compare(program: &LinearizedKernel, values: &[(String, i64)]) {
    let (with, without) = (outputs(program, values, &["-fopenmp"]), outputs(program, values, &[]));
    assert_eq!(with, without, "{}", program.kernel.name);
}

#[test]
fn threads_write_the_same() {
    let mut n_compared = 0;
    // What reads elements without a value has no output to compare.
    for_each_that_runs(2, |_, program, parameters| {
        if !parallel_loops(program).unwrap().is_empty() {
            compare(program, parameters);
            n_compared += 1;
        }
    });
    assert!(n_compared > 10, "{n_compared}");
}

#[test]
fn threads_share_the_elements_of_a_batch() {
    for (name, batch) in [
        ("tsfc/mass_tri_2", Some(4)),
        ("tsfc/mass_tri_2", Some(1)),
        ("tsfc/helmholtz_action_hex_2", Some(4)),
        ("devito/acoustic_so8", None),
    ] {
        let path = format!("{}/../fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let source = Source::new(name, fs::read_to_string(path).unwrap());
        let is_of_many = batch.is_some();
        let batch = batch.map(|width| BatchRequest { width: Width::Lanes(width), ..BatchRequest::default() });
        let config = Config { batch, validation: Validation::Off, openmp: true, ..Config::default() };
        let optimized = nestegg_driver::optimize(&source, &config).unwrap();
        assert!(!optimized.parallel.is_empty(), "{name}");
        let c = nestegg_driver::emit::c(&optimized).unwrap();
        assert_eq!(c[0].text.matches("#pragma omp parallel for").count(), 1, "{name}:\n{}", c[0].text);
        assert_eq!(c[0].text.contains(" if(n_elements >= "), is_of_many, "{name}:\n{}", c[0].text);
        compare(optimized.runs(), &[("n_elements".to_owned(), 37)]);
    }
}

/// Loops inside threads are marked; those that add up only where sums may be reordered.
#[test]
fn loops_inside_threads_are_marked() {
    let text = "kernel k\ndomain { [i, j] : 0 <= i < 2000 and 0 <= j < 200 }\ndomain { [l] : 0 <= l < 300 }\narg a : float64[2000, 300] read\n\
                arg s : float64[2000] write\narg b : float64[2000, 200] write\nfor i\n  s[i] = sum(l, a[i, l]*a[i, l])\nend\n\
                for i, j\n  b[i, j] = 2.0*a[i, j] + a[i, j + 1]\nend\n";
    let marks = |float: Option<Licence>| {
        let config =
            Config { cost: CostModel::Time, openmp: true, validation: Validation::Off, float, ..Config::default() };
        let optimized = nestegg_driver::optimize(&Source::new("kernel", text), &config).unwrap();
        let c = nestegg_driver::emit::c(&optimized).unwrap();
        let count = |mark: &str| c[0].text.matches(mark).count();
        assert!(count("#pragma omp parallel for") > 0, "{}", c[0].text);
        (count("#pragma omp simd\n"), count("reduction(+:"))
    };
    assert_eq!(marks(None), (1, 1));
    assert_eq!(marks(Some(Licence::Strict)), (1, 0));
}
