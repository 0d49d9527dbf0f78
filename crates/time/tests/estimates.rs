//! Estimates of small kernels, and what must hold for all of them; what machine files may say.

#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use miette::Diagnostic;
use nestegg_ir::LinearizedKernel;
use nestegg_span::Source;
use nestegg_time::{Constant, Machine, Profile, Timed, estimate, fit, misfit};

fn kernel(text: &str) -> LinearizedKernel {
    let read = nestegg_dump::read(&Source::new("k.knl", text)).unwrap();
    read.program.into_linearized().unwrap()
}

/// A machine of round numbers, so that estimates can be checked by head.
fn machine() -> Machine {
    let mut machine = Machine::default();
    for constant in Constant::ALL {
        machine[*constant] = match constant {
            Constant::VectorBytes => 32.0,
            Constant::Registers | Constant::UnrollTrips => 16.0,
            Constant::Reassociates | Constant::Fuses | Constant::CallLanes => 1.0,
            Constant::UnrollOperations => 200.0,
            Constant::Arithmetic | Constant::Load | Constant::Store => 1.0,
            Constant::Latency => 4.0,
            Constant::Divide => 8.0,
            Constant::DivideVector => 16.0,
            Constant::Exponential | Constant::Power => 50.0,
            Constant::CodeOperations | Constant::L1Bytes => 1e6,
            _ => 0.0,
        };
    }
    machine
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&estimate(&kernel(text), &[], &machine()).unwrap().to_string());
}

fn loop_over(n: usize, statement: &str) -> String {
    format!(
        "kernel k linearized\ndomain {{ [i] : 0 <= i < {n} }}\narg x : float64[2000] read\narg y : float64[2000] readwrite\nfor i\n  {statement}\nend\n"
    )
}

/// Shares of all instructions, by their names.
fn shares(text: &str) -> Vec<(String, f64)> {
    let kernel = kernel(text);
    let found = Profile::new(&kernel, &[], &machine()).unwrap().by_instruction(&machine());
    found.into_iter().map(|(insn, share)| (kernel.kernel[insn].id.to_string(), share)).collect()
}

#[test]
fn the_time_of_a_loop_is_shared_by_what_its_instructions_do() {
    // Three operations and a store against one of each; both are in one loop, which 24 ns go into.
    let text = "kernel k linearized
domain { [i] : 0 <= i < 40 }
arg x : float64[80] read
arg y : float64[80] write
arg z : float64[80] write
for i
  y[2*i] = 1.0/x[i]  {id=quotient}
  z[2*i] = x[i] + 1.0  {id=sum}
end
";
    let whole = estimate(&kernel(text), &[], &machine()).unwrap();
    let found = shares(text);
    let [(first, quotient), (second, sum)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("quotient", "sum"));
    assert!((quotient + sum - whole.nanoseconds).abs() < 1e-9, "{found:?} of {whole}");
    // A load, a quotient by multiplication with a reciprocal, and a store; a sum and a store, for the load is there already.
    assert!((quotient / sum - 11.0 / 2.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn loops_around_and_inside_have_shares_of_their_own() {
    let text = "kernel k linearized
domain { [i] : 0 <= i < 100 }
domain { [j] : 0 <= j < 100 }
arg x : float64[100] read
arg y : float64[100] write
arg z : float64[100, 100] write
for i
  y[i] = exp(x[i])  {id=outer}
  for j
    z[i, j] = x[j] + 1.0  {id=inner}
  end
end
";
    let whole = estimate(&kernel(text), &[], &machine()).unwrap();
    let found = shares(text);
    let total: f64 = found.iter().map(|(_, share)| share).sum();
    assert!((total - whole.nanoseconds).abs() < 1e-6 * total, "{found:?} of {whole}");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["outer", "inner"]);
    assert!(found[0].1 > 5_000.0, "a call of 50 ns, a hundred times: {found:?}");
}

#[test]
fn consecutive_elements_run_in_lanes_with_a_remainder() {
    check(
        &loop_over(43, "y[i] = y[i] + 2.5*x[i]"),
        &expect![[r#"
        24.0 ns
          outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
          i: 24.0 ns each time, bound by loads, 43 iterations, 4 lanes
    "#]],
    );
}

#[test]
fn strided_stores_keep_a_loop_scalar() {
    check(
        &loop_over(40, "y[2*i] = 2.5*x[i]"),
        &expect![[r#"
        40.0 ns
          outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
          i: 40.0 ns each time, bound by arithmetic, 40 iterations, 1 lanes
    "#]],
    );
}

#[test]
fn a_carried_value_keeps_a_loop_scalar() {
    check(
        &loop_over(40, "y[i + 1] = 2.5*y[i]"),
        &expect![[r#"
            320.0 ns
              outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
              i: 320.0 ns each time, bound by chain, 40 iterations, 1 lanes
        "#]],
    );
}

/// Scalars are added up in lanes, elements of arrays are not.
#[test]
fn sums_wait_for_each_other() {
    check(
        &loop_over(40, "y[0] = y[0] + x[i]"),
        &expect![[r#"
        161.0 ns
          outside: 1.0 ns each time, bound by loads, 1 iterations, 1 lanes
          i: 160.0 ns each time, bound by chain, 40 iterations, 1 lanes
    "#]],
    );
    let of_scalars = loop_over(40, "t = t + x[i]").replace("\nfor i", "\ntemp t : float64\nt = 0.0\nfor i");
    check(
        &format!("{of_scalars}y[0] = t\n"),
        &expect![[r#"
        27.0 ns
          outside: 1.0 ns each time, bound by stores, 1 iterations, 1 lanes
          i: 26.0 ns each time, bound by arithmetic, 40 iterations, 4 lanes
    "#]],
    );
}

#[test]
fn quotients_by_what_stays_are_products() {
    check(
        &loop_over(40, "y[i] = y[i]/x[0]"),
        &expect![[r#"
        18.0 ns
          outside: 8.0 ns each time, bound by quotients, 1 iterations, 1 lanes
          i: 10.0 ns each time, bound by arithmetic, 40 iterations, 4 lanes
    "#]],
    );
}

#[test]
fn calls_are_dearer_than_sums() {
    check(
        &loop_over(40, "y[i] = pow(x[i], 1.5)"),
        &expect![[r#"
        2040.0 ns
          outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
          i: 2040.0 ns each time, bound by calls, 40 iterations, 1 lanes
    "#]],
    );
}

#[test]
fn short_inner_loops_are_unrolled() {
    check(
        "kernel k linearized\ndomain { [q, j] : 0 <= q < 40 and 0 <= j < 4 }\narg x : float64[40, 4] read\narg y : float64[40, 4] readwrite\nfor q, j\n  y[q, j] = y[q, j] + 2.5*x[q, j]\nend\n",
        &expect![[r#"
            80.0 ns
              outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
              q: 80.0 ns each time, bound by loads, 40 iterations, 1 lanes
        "#]],
    );
}

/// Elements side by side in rows of six have no permutation, and single ones are taken one by one.
#[test]
fn several_elements_of_odd_rows_keep_a_loop_scalar() {
    let lanes = |a: &str, b: &str| {
        let statement = format!("y[i] = (((x[{a}] + 1.5)*x[{b}] + 2.5)*x[{a}] + 3.5)*x[{b}]");
        let estimate = estimate(&kernel(&loop_over(40, &statement)), &[], &machine()).unwrap();
        estimate.to_string().lines().last().unwrap().rsplit(", ").next().unwrap().to_owned()
    };
    assert_eq!(lanes("6*i", "6*i"), "4 lanes");
    assert_eq!(lanes("4*i", "4*i + 1"), "4 lanes");
    assert_eq!(lanes("6*i", "6*i + 1"), "1 lanes");
}

/// A row that is the same in each iteration of the loop around is no vector: 4*40 loads, operations and stores.
#[test]
fn rows_that_stay_the_same_are_no_vectors() {
    check(
        "kernel k linearized\ndomain { [q, j] : 0 <= q < 40 and 0 <= j < 4 }\narg x : float64[4] read\narg y : float64[40, 4] write\narg z : float64[40] read\nfor q, j\n  y[q, j] = z[q]*x[j]\nend\n",
        &expect![[r#"
            200.0 ns
              outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
              q: 200.0 ns each time, bound by loads, 40 iterations, 1 lanes
        "#]],
    );
}

fn straight(values: [&str; 4]) -> String {
    let mut text = "kernel k linearized\narg x : float64[8] read\narg y : float64[8] readwrite\ntemp d : float64\ntemp a : float64\ntemp b : float64\nd = x[6] + x[7]\na = x[0] + x[3]\nb = x[1]*x[5]\n".to_owned();
    for (at, value) in values.iter().enumerate() {
        text += &format!("y[{at}] = {value} + y[{at}]\n");
    }
    text
}

/// Numbers, signs and what all lanes share are one factor; different values are put together; what some lanes add and others subtract is done both ways.
#[test]
fn consecutive_stores_are_vectors_where_their_values_are_alike() {
    let alike = ["0.5*x[0]*d", "-(0.25*x[1]*d)", "0.5*x[2]*d", "2.0*x[3]*d"];
    check(
        &straight(alike),
        &expect![[r#"
            6.0 ns
              outside: 6.0 ns each time, bound by loads, 1 iterations, 1 lanes
        "#]],
    );
    let different = ["a", "b", "a*b", "x[4]"];
    check(
        &straight(different),
        &expect![[r#"
        11.0 ns
          outside: 11.0 ns each time, bound by loads, 1 iterations, 1 lanes
    "#]],
    );
    let of = |values| estimate(&kernel(&straight(values)), &[], &machine()).unwrap().nanoseconds;
    assert!(of(alike) < of(["0.5*x[0]*d", "x[1]*x[1]", "x[2]*d*a", "2.0"]));
}

/// Names of names end, and values that each use the one before many times take no time that grows without bound.
#[test]
fn straight_code_of_any_kind_has_an_estimate() {
    let head = "kernel k linearized\narg x : float64[8] read\narg y : float64[8] readwrite\n";
    let round = format!("{head}temp a : float64\ntemp b : float64\na = b\nb = a\ny[0] = a\ny[1] = b\ny[2] = -a\n");
    assert!(estimate(&kernel(&round), &[], &machine()).is_ok());
    let (mut declared, mut text) = (head.to_owned(), String::new());
    for at in 0..240 {
        declared += &format!("temp t{at} : float64\n");
        let operand = |of: usize| {
            if at < 40 {
                format!("x[{}]", of % 8)
            } else {
                format!("t{}", at % 2 + 2 * (of % 10) + (at - 40) / 40 * 40)
            }
        };
        let terms: Vec<String> = (0..40).map(|of| format!("{}.5*{}", of + at + 1, operand(of))).collect();
        text += &format!("t{at} = {}\n", terms.join(" + "));
    }
    text += "y[0] = t230\ny[1] = t231\ny[2] = t232\ny[3] = t233\n";
    assert!(estimate(&kernel(&(declared + &text)), &[], &machine()).unwrap().nanoseconds > 1000.0);
}

/// A kernel that says what its lanes are runs in them, whatever a compiler would make of its accesses.
#[test]
fn lanes_of_batches_are_vectors() {
    let text = |tag: &str| {
        format!(
            "kernel k linearized\ndomain {{ [block] : 0 <= block < 16 }}\ndomain {{ [lane] : 0 <= lane < 4 }}\narg x : float64[64, 3] read\narg y : float64[64] readwrite\ntemp v : float64[4]\n{tag}for block, lane\n  v[lane] = x[4*block + lane, 0]*x[4*block + lane, 1]\n  y[4*block + lane] = y[4*block + lane] + v[lane]*x[4*block + lane, 2]\nend\n"
        )
    };
    check(
        &text("tag lane vec\n"),
        &expect![[r#"
        64.0 ns
          outside: 0.0 ns each time, bound by issue, 1 iterations, 1 lanes
          block: 64.0 ns each time, bound by loads, 16 iterations, 1 lanes
    "#]],
    );
    let of = |text: &str| estimate(&kernel(text), &[], &machine()).unwrap().nanoseconds;
    assert!(of(&text("tag lane vec\n")) < 0.5 * of(&text("")));
}

/// A block of an argument is transposed once for what reads it, however often, and once for what writes it; terms alone are where each element gets one.
#[test]
fn blocks_are_transposed_as_a_whole() {
    let text = |statements: &str| {
        format!(
            "kernel k linearized\ndomain {{ [block] : 0 <= block < 16 }}\ndomain {{ [lane] : 0 <= lane < 4 }}\narg x : float64[64, 6] read\narg y : float64[64, 6] readwrite\ntag lane vec\nfor block, lane\n{statements}end\n"
        )
    };
    let of = |text: &str| {
        // Shuffles alone take time.
        let mut machine = machine();
        for &constant in Constant::ALL.iter().filter(|constant| constant.range().0 == 0.0) {
            machine[constant] = 0.0;
        }
        machine[Constant::Lane] = 1.0;
        estimate(&kernel(text), &[], &machine).unwrap().nanoseconds
    };
    let element = |array: &str, at: usize| format!("{array}[4*block + lane, {at}]");
    let (x0, x1, y0) = (element("x", 0), element("x", 1), element("y", 0));
    // Six vectors of an argument, two shuffles for each, 16 blocks.
    let once = 6.0 * 2.0 * 16.0;
    assert_eq!(of(&text(&format!("  {y0} = 2.0\n"))), once);
    assert_eq!(of(&text(&format!("  {y0} = {x0}\n"))), 2.0 * once);
    assert_eq!(of(&text(&format!("  {y0} = {x0}*{x0} + {x1}\n  {} = {x0}*{x1}\n", element("y", 1)))), 2.0 * once);
    assert_eq!(of(&text(&format!("  {y0} = {y0} + 2.0\n"))), once);
    assert_eq!(of(&text(&format!("  {y0} = {} + 2.0\n", element("y", 1)))), 2.0 * once);
}

/// What each iteration of a loop over elements brings from memory: whole blocks where they are transposed, else every line that it touches; written ones twice.
#[test]
fn elements_come_from_memory() {
    let mut machine = machine();
    for &constant in Constant::ALL.iter().filter(|constant| constant.range().0 == 0.0) {
        machine[constant] = 0.0;
    }
    machine[Constant::MemoryByte] = 1.0;
    let of = |text: &str| estimate(&kernel(text), &[], &machine).unwrap().nanoseconds;
    let in_lanes = "kernel k linearized\ndomain { [block] : 0 <= block < 16 }\ndomain { [lane] : 0 <= lane < 4 }\narg x : float64[64, 6] read\n\
                    arg y : float64[64, 6] readwrite\ntag lane vec\nfor block, lane\n  y[4*block + lane, 0] = x[4*block + lane, 0]\nend\n";
    assert_eq!(of(in_lanes), 3.0 * 64.0 * 6.0 * 8.0);
    let one_by_one = "kernel k linearized\ndomain { [e] : 0 <= e < 64 }\narg y : float64[64, 24] readwrite\n\
                      for e\n  y[e, 0] = 2.0\n  y[e, 1] = 2.0\n  y[e, 9] = 2.0\nend\n";
    assert_eq!(of(one_by_one), 2.0 * 64.0 * 2.0 * 64.0);
}

/// A plane that is overwritten in each iteration of an outer loop stays in cache. A whole array of planes goes to memory, but each plane is read from cache.
#[test]
fn planes_stay_in_cache() {
    let mut machine = machine();
    for &constant in Constant::ALL.iter().filter(|constant| constant.range().0 == 0.0) {
        machine[constant] = 0.0;
    }
    (machine[Constant::MemoryByte], machine[Constant::L1Bytes], machine[Constant::L2Bytes]) = (1.0, 8192.0, 65536.0);
    let bytes = |plane: &str| {
        let text = format!(
            "kernel k linearized\ndomain {{ [x] : 0 <= x < 20 }}\ndomain {{ [i, j] : 0 <= i, j < 2000 }}\narg a : float64[20, 2000] read\n\
             arg b : float64[20, 2000] write\ntemp t : float64[{}2000]\nfor x\n  for i\n    t[{plane}i] = 2.0*a[x, i]\n  end\n  \
             for j\n    b[x, j] = t[{plane}j]\n  end\nend\n",
            if plane.is_empty() { "" } else { "20, " },
        );
        estimate(&kernel(&text), &[], &machine).unwrap().nanoseconds / (20.0 * 2000.0 * 8.0)
    };
    // What is read once, and written twice.
    assert_eq!(bytes(""), 1.0 + 2.0);
    assert_eq!(bytes("x, "), 1.0 + 2.0 + 2.0);
}

/// Calls of functions without vector form cost a loop more than their own time.
#[test]
fn calls_hinder_the_rest_of_a_loop() {
    let of = |text: &str| estimate(&kernel(text), &[], &machine()).unwrap().nanoseconds;
    let (head, many) = (
        "kernel k linearized\ndomain { [i] : 0 <= i < 1000 }\ndomain { [j] : 0 <= j < 1000 }\narg a : float64[1000, 9] read\narg b : float64[1000] readwrite\n\
         temp t : float64[1000]\n",
        (0..9).map(|column| format!(" + a[i, {column}]*a[i, {column}]")).collect::<String>(),
    );
    let together = of(&format!("{head}for i\n  b[i] = f(b[i]){many}\nend\n"));
    let apart = of(&format!("{head}for j\n  t[j] = f(b[j])\nend\nfor i\n  b[i] = t[i]{many}\nend\n"));
    assert!(apart < together, "{apart} and {together}");
}

/// Small arrays of constants come from outside together, if no loop reads them again.
#[test]
fn small_tables_come_from_memory_where_they_are_read_once() {
    let of = |index: &str| {
        let text = format!(
            "kernel k linearized\ndomain {{ [e] : 0 <= e < 50 }}\ndomain {{ [i] : 0 <= i < 50 }}\narg a : float64[50, 50] read\narg b : float64[50] read\n\
             arg y : float64[50, 50] write\nfor e, i\n  y[e, i] = {index}\nend\n"
        );
        let machine = |byte: f64| {
            let mut machine = machine();
            (machine[Constant::L1Bytes], machine[Constant::L2Bytes]) = (25e3, 1e6);
            machine[Constant::L2Byte] = byte;
            machine
        };
        let time = |byte: f64| estimate(&kernel(&text), &[], &machine(byte)).unwrap().nanoseconds;
        time(1e3) - time(0.0)
    };
    // Rows of both matrices, or those of the one that is written, which takes two ways.
    assert!((of("a[e, i]") / of("b[i]") - 1.5).abs() < 0.01, "{} and {}", of("a[e, i]"), of("b[i]"));
}

/// Elements of small arrays are in registers only as far as there are registers.
#[test]
fn small_arrays_take_registers() {
    let mut machine = machine();
    machine[Constant::Overlap] = 1.0;
    // So many arrays of so many elements, each written and read in a loop of its own.
    let of = |n_arrays: usize, n: usize| {
        let names = || (0..n_arrays).map(|array| format!("t{array}"));
        let temps: String = names().map(|name| format!("temp {name} : float64[{n}]\n")).collect();
        let writes: String = names().map(|name| format!("    {name}[i] = x[e]*i\n")).collect();
        let sum: Vec<String> = names().map(|name| format!("{name}[j]")).collect();
        let text = format!(
            "kernel k linearized\ndomain {{ [e] : 0 <= e < 50 }}\ndomain {{ [i] : 0 <= i < {n} }}\ndomain {{ [j] : 0 <= j < {n} }}\narg x : float64[50] read\n\
             arg y : float64[100] write\n{temps}temp s : float64\nfor e\n  for i\n{writes}  end\n  s = 0.0\n  for j\n    s = s + {}\n  end\n  y[2*e] = s\nend\n",
            sum.join(" + ")
        );
        estimate(&kernel(&text), &[], &machine).unwrap().nanoseconds
    };
    let of_second = |n: usize| of(2, n) - of(1, n);
    // Of 16 elements none is spilled; of 24 a third is stored and loaded.
    assert!((of_second(8) - 50.0 * 8.0).abs() < 50.0, "{}", of_second(8));
    assert!((of_second(12) - 50.0 * (12.0 + 16.0)).abs() < 50.0, "{}", of_second(12));
}

#[test]
fn strided_sums_are_scalar() {
    check(
        &loop_over(40, "y[0] = y[0] + x[3*i]"),
        &expect![[r#"
            161.0 ns
              outside: 1.0 ns each time, bound by loads, 1 iterations, 1 lanes
              i: 160.0 ns each time, bound by chain, 40 iterations, 1 lanes
        "#]],
    );
}

#[test]
fn more_work_never_takes_less_time() {
    let statements = [
        "y[i] = y[i] + x[i]",
        "y[3*i] = y[3*i]*x[i]",
        "y[i] = exp(x[i]) + y[i]",
        "y[i] = y[i]/x[i + 1]",
        "y[0] = y[0] + sqrt(x[i])",
    ];
    for machine in [machine(), Machine::default()] {
        let of = |text: &str| estimate(&kernel(text), &[], &machine).unwrap().nanoseconds;
        for statement in statements {
            for n in [1, 7, 32, 600] {
                let base = of(&loop_over(n, statement));
                let more = [
                    loop_over(n + 32, statement),
                    loop_over(n, &format!("{statement} + pow(x[i + 5], 0.3)")),
                    loop_over(n, &format!("{statement} + 1.5*x[i + 7]")),
                    loop_over(n, &format!("{statement}\n  y[i + 1000] = x[i + 40]")),
                ];
                for text in more {
                    assert!(of(&text) >= base, "{} < {base}:\n{text}", of(&text));
                }
            }
        }
    }
}

#[test]
fn the_same_kernel_takes_the_same_time() {
    let text = loop_over(43, "y[i] = y[i] + 2.5*x[i]");
    let of = || estimate(&kernel(&text), &[], &machine()).unwrap();
    assert_eq!(of(), of());
}

/// From wrong constants, those with which kernels were timed are found again.
#[test]
fn constants_are_found_from_times() {
    let right = machine();
    let texts = [
        loop_over(64, "y[i] = y[i] + 2.5*x[i]"),
        loop_over(64, "y[i] = y[i]/x[i]"),
        loop_over(64, "y[i] = pow(x[i], 1.5)"),
    ];
    let timed: Vec<Timed> = texts
        .iter()
        .map(|text| {
            let profile = Profile::new(&kernel(text), &[], &right).unwrap();
            Timed { nanoseconds: profile.on(&right).nanoseconds, profile }
        })
        .collect();
    let mut wrong = right.clone();
    let free = [Constant::Power, Constant::DivideVector, Constant::Load];
    free.iter().for_each(|constant| wrong[*constant] *= 3.0);
    assert!(misfit(&wrong, &timed) > 0.5);
    assert!(misfit(&fit(&wrong, &free, &timed), &timed) < 0.02);
}

/// What is wrong with a file, and the text at its place.
fn check_error(change: impl Fn(String) -> String, expected: &Expect) {
    let source = Source::new("m.machine", change(machine().to_text()));
    let error = Machine::read(&source).unwrap_err();
    let place = error.labels().and_then(|mut labels| labels.next());
    let place =
        place.map_or(String::new(), |label| source.text[label.offset()..label.offset() + label.len()].to_owned());
    let code = error.code().map(|code| code.to_string()).unwrap_or_default();
    let help = error.help().map(|help| help.to_string()).unwrap_or_default();
    expected.assert_eq(&format!("{code}: {error}\nat: {place}\nhelp: {help}\n"));
}

#[test]
fn machine_files_are_checked() {
    check_error(
        |text| text + "laod = 3\n",
        &expect![[r#"
        machine::unknown_constant: machines have no constant `laod`
        at: laod
        help: did you mean `load`?
    "#]],
    );
    check_error(
        |text| text + "load = 3\n",
        &expect![[r#"
        machine::defined_twice: `load` is defined twice
        at: load
        help: remove one of the two
    "#]],
    );
    check_error(
        |text| text + "faster\n",
        &expect![[r#"
        machine::no_definition: this line is no definition
        at: faster
        help: constants are defined as `load = 0.08`
    "#]],
    );
    check_error(
        |text| text.replace("latency ", "# latency "),
        &expect![[r#"
        machine::not_defined: `latency` is not defined
        at: 
        help: it says: ns from a sum to the next that needs it; `nestegg calibrate` writes a whole file
    "#]],
    );
    check_error(
        |text| text.replace("divide             = 8", "divide = eight"),
        &expect![[r#"
        machine::value: `divide` cannot be `eight`
        at: eight
        help: it is a number from 0 to 1000000: ns for a quotient of scalars
    "#]],
    );
    check_error(
        |text| text.replace("overlap            = 0", "overlap = 2"),
        &expect![[r#"
        machine::value: `overlap` cannot be `2`
        at: 2
        help: it is a number from 0 to 1: how much of the time of all resources but the busiest is not hidden behind it
    "#]],
    );
}

#[test]
fn an_iteration_waits_for_what_the_one_before_has_stored() {
    let time = |value: &str| {
        let text = loop_over(1000, &format!("y[i + 2] = {value}"));
        estimate(&kernel(&text), &[], &machine()).unwrap().nanoseconds / 1000.0
    };
    // From the store to the read, and for the sum, four nanoseconds each; nothing else takes as long.
    assert_eq!(time("x[i] + x[i + 1] + x[i + 2] + y[i + 1]"), 8.0);
    // Three sums, one after the other.
    assert_eq!(time("y[i + 1] + x[i] + x[i + 1] + x[i + 2]"), 16.0);
    // Every second iteration waits for the other.
    assert_eq!(time("y[i] + x[i] + x[i + 1] + x[i + 2]"), 8.0);
    // A product that is added takes no time of its own.
    assert_eq!(time("x[i] + x[i + 1]*y[i + 1]"), 8.0);
    assert!(time("y[i + 2] + x[i] + x[i + 1] + x[i + 2]") < 8.0);
}
