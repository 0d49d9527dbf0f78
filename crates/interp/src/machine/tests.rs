//! What is left out where masks fail: it is not evaluated, but counted.

use indexmap::IndexMap;

use super::*;
use crate::float::Floats;
use crate::input::{Inputs, Values};
use crate::memory::Data;
use crate::run::Compiled;

const HEAD: &str = "kernel k\ndomain { [i] : 0 <= i < 8 }\ndomain { [j] : 0 <= j < 10 }\ndomain { [l] : 0 <= l < 3 }\narg m : int32[8] read\n\
                    arg n : int32[8] read\narg x : float64[80] read\narg y : float64[8] readwrite\narg z : float64[8] readwrite\n\
                    arg w : float64[3] readwrite\ntemp t : float64[8]\n";

/// The outputs `y` and `z`, the steps, and the points that are evaluated, where the elements of `m` are these.
fn run(body: &str, m: [i64; 8], max_points: u64) -> (Vec<f64>, u64, u64) {
    let text = format!("{HEAD}{body}");
    let program = nestegg_dump::read(&nestegg_span::Source::new("k.knl", text)).expect("it is a kernel").program;
    let compiled = Compiled::with_pieces(&program, &IndexMap::new(), max_points).expect("it can be run");
    let floats = |len: i64| Values::Floats((0..len).map(|at| 0.25 + (at % 7) as f64 / 3.0).collect());
    let (m, n) = (Values::Ints(m.to_vec()), Values::Ints((0..8).collect()));
    let arrays = [("m", m), ("n", n), ("x", floats(80)), ("y", floats(8)), ("z", floats(8)), ("w", floats(3))];
    let arrays = arrays.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    let inputs = Inputs { arrays, ..Inputs::default() };
    let memory = compiled.memory(&Floats, &inputs).expect("the data fit");
    let mut watch = Watch::default();
    let memory = execute(&Floats, compiled.kernel(), &compiled.code, memory, 1_000_000, &mut watch).expect("it runs");
    let outputs = compiled.kernel().arguments().zip(0..).filter(|&(array, _)| compiled.kernel()[array].is_writable());
    let values = outputs.flat_map(|(array, _)| match &memory[array.index()].data {
        Data::Floats(values) => values.clone(),
        Data::Ints(_) => unreachable!("outputs are floats"),
    });
    (values.collect(), watch.n_steps, watch.n_evaluated)
}

const NONE: [i64; 8] = [0; 8];
const ALL: [i64; 8] = [1; 8];
const SOME: [i64; 8] = [0, 0, 1, 0, 1, 0, 0, 0];

/// How many evaluations a kernel saves whose masks fail at all points, and at most of them.
fn left_out(body: &str) -> [i64; 2] {
    let all = run(body, ALL, 512);
    let left_out = |m: [i64; 8]| {
        let (values, n_steps, n_evaluated) = run(body, m, 512);
        assert_eq!(values, run(body, m, 1).0, "point by point: {body}");
        assert_eq!(n_steps, all.1, "left out is counted: {body}");
        all.2 as i64 - n_evaluated as i64
    };
    [left_out(NONE), left_out(SOME)]
}

#[test]
fn what_only_a_masked_instruction_needs_is_left_out() {
    // A sum over `j` has a product and a load at 80 points, and more.
    let [none, some] = left_out("for i\n  y[i] = y[i] + sum([j], x[i*10 + j]*x[j]) {if=m[i] > 0}\nend\n");
    assert!(none >= 3 * 80, "{none}");
    // It runs at points 2 and 4: five of eight are before and after.
    assert!(some >= 3 * 50 && some < none, "{some} of {none}");
}

#[test]
fn what_others_need_is_evaluated_there() {
    let body = "for i\n  y[i] = sum([j], x[i*10 + j]*x[j])*2.0 {if=m[i] > 0}\n  z[i] = sum([j], x[i*10 + j]*x[j]) + 1.0\nend\n";
    let [none, some] = left_out(body);
    assert!((0..80).contains(&none) && (0..80).contains(&some), "the sum is needed at all points: {none}, {some}");
    let body = "for i\n  y[i] = sum([j], x[i*10 + j]*x[j])*2.0 {if=m[i] > 0}\n  z[i] = 1.0 {if=sum([j], x[i*10 + j]*x[j]) > 40.0}\nend\n";
    let [none, _] = left_out(body);
    assert!(none < 80, "a mask needs it: {none}");
    let body = "for i\n  y[i] = sum([j], x[i*10 + j]*x[j])*2.0 {if=m[i] > 0}\n  z[i] = sum([j], x[i*10 + j]*x[j]) + 1.0 {if=m[7 - i] > 0}\nend\n";
    let [none, _] = left_out(body);
    assert!(none >= 3 * 80, "nobody needs it: {none}");
}

#[test]
fn what_is_left_out_is_made_up_for_later() {
    // Around the block the mask changes, but nothing that the sum depends on.
    let body = "for l, i\n  z[i] = z[i]*(1.0 + w[l]*sum([j], x[i*10 + j]*x[j])) {if=m[i] > 0 and n[i] < 3*l or n[i] == 7 - l}\nend\n";
    left_out(body);
    let body = "for l\n  w[l] = w[l] + x[l]\n  for i\n    y[i] = y[i] + w[l]*sum([j], x[i*10 + j]) {if=m[i] > 0 and n[i] == 2*l}\n    \
                z[i] = z[i] + sum([j], x[i*10 + j])/2.0 {if=n[i] >= 5*l}\n  end\nend\n";
    left_out(body);
}

#[test]
fn chains_are_left_out_point_by_point() {
    let body = "for i\n  y[0] = y[0] + sum([j], x[i*10 + j]*x[j]) {if=m[i] > 0}\nend\n";
    let [none, some] = left_out(body);
    assert!(none >= 3 * 80 && some >= 3 * 50, "{none} {some}");
}

#[test]
fn traps_of_what_is_left_out_are_none() {
    // Beyond the end of `x`, and an index that does not exist: only where the mask fails.
    let [none, some] =
        left_out("for i\n  y[i] = sum([j], x[n[i]*10 + 100*(1 - m[i]) + j]) {if=m[i] > 0}\n  z[i] = y[i]\nend\n");
    assert!(some > 0 && none > some, "{none} {some}");
}
