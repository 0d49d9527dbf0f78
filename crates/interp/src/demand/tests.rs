//! Elements on demand are those of the machine, in every world; what the machine cannot hold; coverage.

use indexmap::IndexMap;
use nestegg_ir::{Expr, LinearizedKernel, Op, Program};
use nestegg_testgen::{Knobs, generate_seed};

use super::*;
use crate::demand::coverage::Outcomes;
use crate::field::Field;
use crate::float::Floats;
use crate::input::{Inputs, parameter_values};
use crate::memory::Data as Elements;
use crate::run::Compiled;
use crate::world::Batch;

/// The machine's memory at the start.
struct Given<'c, F> {
    compiled: &'c Compiled,
    memory: Vec<Storage<F>>,
}

impl<F> Given<'_, F> {
    fn position(&self, array: ArrayId, index: &[i64]) -> usize {
        let strides = &self.compiled.code.layouts[array.index()].strides;
        index.iter().zip(strides).map(|(index, stride)| index * stride).sum::<i64>() as usize
    }
}

impl<F: Clone> Data<F> for Given<'_, F> {
    fn float(&self, array: ArrayId, index: &[i64]) -> F {
        match &self.memory[array.index()].data {
            Elements::Floats(values) => values[self.position(array, index)].clone(),
            Elements::Ints(_) => unreachable!("a float array holds floats"),
        }
    }

    fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        match &self.memory[array.index()].data {
            Elements::Ints(values) => values[self.position(array, index)],
            Elements::Floats(_) => unreachable!("an integer array holds integers"),
        }
    }
}

/// What a comparison of all elements saw.
#[derive(Debug, Default)]
struct Seen {
    n_equal: usize,
    n_undefined: usize,
    n_trapped: usize,
    n_agreed: usize,
}

/// Compares all elements of all outputs with the machine's.
fn check<W: Batch>(
    what: &str,
    world: &W,
    program: &Program,
    inputs: &Inputs,
    seen: &mut Seen,
    is_same: impl Fn(W::Float, W::Float) -> bool,
) {
    let text = || format!("{what}\n{}", nestegg_dump::write_text(program));
    let compiled = Compiled::new(program, &inputs.parameters).unwrap_or_else(|error| panic!("{error}\n{}", text()));
    let given = Given { compiled: &compiled, memory: compiled.memory(world, inputs).unwrap() };
    let ran = compiled.execute(world, given.memory.clone(), 1_000_000_000);
    let parameters = parameter_values(program.kernel(), &inputs.parameters).unwrap();
    let plan = match Plan::new(&compiled.linearized, &parameters) {
        Ok(plan) => plan,
        Err(Error::Unsupported { reason, .. }) if reason.contains("opaque") => return,
        Err(error) => panic!("{error}\n{}", text()),
    };
    let mut demand = Demand::new(world, &plan, &given);
    let kernel = program.kernel();
    let mut has_trapped = false;
    for array in kernel.arguments().filter(|&array| kernel[array].is_writable()) {
        let layout = &compiled.code.layouts[array.index()];
        for position in 0..layout.len {
            let value = demand.element(array, &layout.index(position));
            has_trapped |= value.is_err();
            let Ok(memory) = &ran else { continue };
            let storage = &memory[array.index()];
            let place = || format!("{} {position}: {}", layout.name, text());
            match (value, storage.gap(position)) {
                (Err(Error::Trap { trap, .. }), Some(_)) => {
                    assert!(trap.is_gap(), "{trap} {}", place());
                    seen.n_undefined += 1;
                }
                (Ok(Value::Unwritten), None) => assert!(!storage.has_value(position), "{}", place()),
                (Ok(Value::Float(value)), None) => {
                    let Elements::Floats(values) = &storage.data else { panic!("{}", place()) };
                    assert!(storage.has_value(position), "{}", place());
                    assert!(is_same(value, values[position]), "{value:?} {:?} {}", values[position], place());
                    seen.n_equal += 1;
                }
                (Ok(Value::Int(value)), None) => {
                    let Elements::Ints(values) = &storage.data else { panic!("{}", place()) };
                    assert!(storage.has_value(position), "{}", place());
                    assert_eq!(value, values[position], "{}", place());
                    seen.n_equal += 1;
                }
                (value, gap) => panic!("{value:?} {gap:?} {}", place()),
            }
        }
    }
    if ran.is_err() {
        seen.n_trapped += 1;
        seen.n_agreed += usize::from(has_trapped);
    }
}

fn floats(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn random_kernels_are_those_of_the_machine() {
    let mut seen = Seen::default();
    for (name, knobs) in Knobs::presets() {
        for seed in 0..40 {
            let generated = generate_seed(seed, &knobs);
            let parameters: IndexMap<String, i64> = generated.parameters.iter().cloned().collect();
            let inputs = Inputs::random(generated.program.kernel(), &parameters, seed).unwrap();
            let what = format!("{name} {seed}");
            check(&what, &Floats, &generated.program, &inputs, &mut seen, floats);
            check(&what, &Field { seed }, &generated.program, &inputs, &mut seen, |a, b| a == b);
        }
    }
    assert!(seen.n_equal > 10_000, "{seen:?}");
}

fn read(text: &str) -> Program {
    match nestegg_dump::read(&nestegg_span::Source::new("k.knl", text)) {
        Ok(read) => read.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

fn linearized(text: &str) -> LinearizedKernel {
    read(text).into_linearized().unwrap()
}

/// A number for each index.
struct Hashed;

impl Data<f64> for Hashed {
    fn float(&self, array: ArrayId, index: &[i64]) -> f64 {
        index.iter().fold(array.index() as f64 + 1.0, |sum, &index| sum * 3.0 + (index % 7) as f64)
    }

    fn int(&self, _array: ArrayId, index: &[i64]) -> i64 {
        index.iter().sum::<i64>() % 5
    }
}

#[test]
fn small_kernels_in_all_ways() {
    let mut seen = Seen::default();
    let texts = [
        // Indices that are not affine, in place.
        "domain { [i] : 0 <= i < 9 }\narg p : int32[9] read\narg x : float64[9] read\narg y : float64[9] readwrite\nfor i\n  y[p[i]] = 0.5*y[p[i]] + x[i]\nend\n",
        // An index that depends on what was written through it.
        "domain { [i] : 0 <= i < 5 }\narg p : int32[5] readwrite\narg y : float64[5] readwrite\nfor i\n  p[p[i]] = p[i]\n  y[p[i]] = y[i] + 1.0\nend\n",
        // Loops exchanged, a value of the last iteration, several writers.
        "domain { [i, j] : 0 <= i < 4 and 0 <= j <= i }\ndomain { [k] : 0 <= k < 4 }\narg y : float64[8] readwrite\narg z : float64[4] write\nfor i\n  for j\n    y[i + j] = y[i] + 2.0*y[j]\n  end\n  y[2*i] = y[2*i] + 0.25\nend\nfor k\n  z[3 - k] = y[2*k]\nend\n",
        // Conditions, undefined ones among them.
        "domain { [i] : 0 <= i < 8 }\narg x : float64[8] read\narg y : float64[8] readwrite\nfor i\n  y[i] = 1.0/(x[i] - x[i]) {if=x[i] > 0.0}\n  y[i] = 3.0 {if=i > 4 and y[i] > 1.0}\nend\n",
        // What a condition leaves out is not there afterwards.
        "domain { [i] : 0 <= i < 4 }\narg x : float64 readwrite\narg y : float64[4] write\nfor i\n  y[i] = i*(0.0 if 1.5 > x and i >= 2 else 3.0)\nend\nx = 1.0\n",
        // Laziness.
        "domain { [i] : 0 <= i < 8 }\narg n : int32[8] read\narg y : int32[8] write\nfor i\n  y[i] = (8 // n[i] if n[i] > 0 and 8 % n[i] == 0 else (n[i - 1] if i > 0 else -1))\nend\n",
        // Each loop a dimension of its own, forwards and backwards, read at its own iteration, at earlier and at later ones, and outside of what is written.
        "domain { [i, j] : 1 <= i < 5 and 0 <= j < 3 }\narg x : float64[5, 3] read\narg t : float64[6, 4] readwrite\narg y : float64[5, 3] readwrite\nfor i\n  for j\n    t[5 - i, j + 1] = x[i, j] + t[6 - i, j]\n    y[i, j] = t[5 - i, j + 1] + t[4 - i, 0]*t[0, j] + t[5 - i, 3 - j]\n  end\nend\n",
        // Reductions around and inside of each other.
        "domain { [i, q] : 0 <= i < 5 and i <= q < 7 }\ndomain [q] -> { [r] : 0 <= r <= q }\narg x : float64[7] read\narg y : float64[5] write\nfor i\n  y[i] = sum(q, x[q]*reduce(max, [r], x[r]*x[q - r]))\nend\n",
    ];
    for (idx, text) in texts.iter().enumerate() {
        let program = read(&format!("kernel k\n{text}"));
        for seed in 0..6 {
            let mut inputs = Inputs::random(program.kernel(), &IndexMap::new(), seed).unwrap();
            if idx < 2 {
                let len = if idx == 0 { 9 } else { 5 };
                let values = (0..len).map(|at| (at * at + seed as i64 * 3) % len).collect();
                inputs.arrays.insert("p".to_owned(), crate::input::Values::Ints(values));
            }
            check("small", &Floats, &program, &inputs, &mut seen, floats);
            check("small", &Field { seed }, &program, &inputs, &mut seen, |a, b| a == b);
        }
    }
    assert!(seen.n_equal > 300 && seen.n_undefined > 5, "{seen:?}");
}

#[test]
fn arrays_need_not_exist() {
    let kernel = linearized(
        "kernel k\nparam n : int32 = 100000\ndomain [n] -> { [i, j] : 0 <= i, j < n }\narg a : float64[n, n] read\narg b : float64[n, n] write\nfor i, j\n  b[i, j] = 2.0*a[j, i]\nend\n",
    );
    let plan = Plan::new(&kernel, &[100_000]).unwrap();
    let mut demand = Demand::new(&Floats, &plan, &Hashed);
    let b = ArrayId::new(1);
    let expected = 2.0 * Hashed.float(ArrayId::new(0), &[3, 99_999]);
    assert_eq!(demand.element(b, &[99_999, 3]), Ok(Value::Float(expected)));
    assert!(demand.steps() < 100);
    assert!(matches!(demand.element(b, &[0, 100_000]), Err(Error::Trap { trap: Trap::OutOfBounds { .. }, .. })));
}

#[test]
fn long_chains_do_not_overflow() {
    let kernel = linearized(
        "kernel k\nparam n : int32 = 100000\ndomain [n] -> { [i] : 0 <= i < n }\narg a : float64[n] read\narg y : float64 write\ny = 0.0 {id=start}\nfor i\n  y = 0.5*y + a[i] {dep=start}\nend\n",
    );
    let plan = Plan::new(&kernel, &[100_000]).unwrap();
    let mut demand = Demand::new(&Floats, &plan, &Hashed);
    let expected = (0..100_000).fold(0.0, |sum, i| 0.5 * sum + Hashed.float(ArrayId::new(0), &[i]));
    assert_eq!(demand.element(ArrayId::new(1), &[]), Ok(Value::Float(expected)));
    let mut demand = Demand::new(&Floats, &plan, &Hashed).with_limit(1000);
    assert_eq!(demand.element(ArrayId::new(1), &[]), Err(Error::StepLimit { limit: 1000 }));
}

/// What does not depend on an inner loop is computed once.
#[test]
fn invariants_are_computed_once() {
    let kernel = linearized(
        "kernel k\ndomain { [q, j, l] : 0 <= q, j, l < 20 }\narg c : float64[4] read\narg p : float64[20, 20] read\narg a : float64[20, 20] readwrite\nfor j, l, q\n  a[j, l] = a[j, l] + (sqrt(c[0]*c[1] - c[2]*c[3]) + c[0]*c[1]*c[2]*c[3])*p[q, j]*p[q, l]\nend\n",
    );
    let plan = Plan::new(&kernel, &[]).unwrap();
    let mut demand = Demand::new(&Floats, &plan, &Hashed);
    for j in 0..20 {
        for l in 0..20 {
            demand.element(ArrayId::new(2), &[j, l]).unwrap();
        }
    }
    // A search of three loops, a load, two reads, two products, a sum, a call: for each of 8000 points.
    assert!(demand.steps() < 8000 * 14, "{}", demand.steps());
}

#[test]
fn decisions_are_covered() {
    let kernel = linearized(
        "kernel k\ndomain { [i] : 0 <= i < 8 }\narg a : float64[8] read\narg y : float64[8] readwrite\nfor i\n  y[i] = (min(a[i], 1e9) if a[i] < 1e5 or i == 3 else 0.0) {if=i < 9}\nend\n",
    );
    let plan = Plan::new(&kernel, &[]).unwrap();
    let mut demand = Demand::new(&Floats, &plan, &Hashed);
    for i in 0..8 {
        demand.element(ArrayId::new(1), &[i]).unwrap();
    }
    let seen = demand.coverage().by_expression(&plan);
    let of = |is_it: &dyn Fn(&Op, &str) -> bool| {
        let mut found = Vec::new();
        for (&expr, outcomes) in &seen {
            if let Expr::Op { op, operands } = &kernel.kernel.exprs[expr]
                && is_it(op, &format!("{:?}", operands.iter().map(|&id| &kernel.kernel.exprs[id]).collect::<Vec<_>>()))
            {
                found.push(*outcomes);
            }
        }
        assert_eq!(found.len(), 1);
        found[0]
    };
    let bits = |outcomes: Outcomes| (outcomes.seen, outcomes.n_outcomes);
    assert_eq!(bits(of(&|op, _| *op == Op::Or)), (0b10, 2));
    assert_eq!(bits(of(&|op, _| *op == Op::Min)), (0b01, 2));
    assert_eq!(bits(of(&|op, operands| *op == Op::Lt && operands.contains("100000.0"))), (0b10, 2));
    assert_eq!(bits(of(&|op, operands| *op == Op::Lt && operands.contains("Int(9)"))), (0b10, 2));
    // Never asked: the other operand decides.
    assert_eq!(bits(of(&|op, _| *op == Op::Eq)), (0, 2));
}

/// Real kernels; and a value is computed once for each point of the inames that it depends on.
#[test]
fn real_kernels_are_those_of_the_machine() {
    let mut seen = Seen::default();
    for name in ["tsfc/mass_tet_1", "tsfc/helmholtz_tri_4", "tsfc/helmholtz_action_hex_2", "tsfc/burgers_jac_tet_1"] {
        let program = Program::Linearized(fixture(name));
        let inputs = Inputs::random(program.kernel(), &IndexMap::new(), 3).unwrap();
        check(name, &Floats, &program, &inputs, &mut seen, floats);
        check(name, &Field { seed: 3 }, &program, &inputs, &mut seen, |a, b| a == b);
    }
    assert!(seen.n_equal > 500, "{seen:?}");
    let kernel = fixture("tsfc/helmholtz_tri_4");
    let plan = Plan::new(&kernel, &[]).unwrap();
    let mut demand = Demand::new(&Floats, &plan, &Hashed);
    for j in 0..15 {
        for k in 0..15 {
            demand.element(ArrayId::new(0), &[j, k]).unwrap();
        }
    }
    assert!(demand.steps() < 80_000, "{}", demand.steps());
}

/// The trap of an element is that of the machine.
#[test]
fn traps_are_those_of_the_machine() {
    let around = |body: &str| {
        format!(
            "kernel k\ndomain {{ [i] : 0 <= i < 4 }}\ndomain {{ [j] : 0 <= j < 4 }}\narg n : int32[4] read\narg x : float64[4] read\narg y : float64[4] write\ntemp t : float64[4]\ntemp m : int32[4]\nfor i\n{body}\nend\n"
        )
    };
    let bodies = [
        "  y[i] = x[i + 1] {id=s}",
        "  y[i] = x[n[i]*0 + 7] {id=s}",
        "  y[i] = t[3 - i] {id=s}\n  t[i] = x[i]",
        "  m[i] = 7 // (n[i] - n[i]) {id=s}\n  y[i] = 1.0*m[i]",
        "  m[i] = 2147483647 + n[i]*0 + i + 1 {id=s}\n  y[i] = x[m[i]]",
        "  m[i] = 1 << (40 + n[i]) {id=s}\n  y[i] = 1.0*m[i]",
        "  m[i] = cast(int32, 1e10*fabs(x[i])) {id=s}\n  y[i] = 1.0*m[i]",
    ];
    for body in bodies {
        let text = around(body);
        let program = match nestegg_dump::read(&nestegg_span::Source::new("k.knl", text.as_str())) {
            Ok(read) => read.program,
            Err(errors) => panic!("{errors:?}\n{text}"),
        };
        let inputs = Inputs::random(program.kernel(), &IndexMap::new(), 1).unwrap();
        let compiled = Compiled::new(&program, &inputs.parameters).unwrap();
        let given = Given { compiled: &compiled, memory: compiled.memory(&Floats, &inputs).unwrap() };
        let Err(Error::Trap { instruction, trap, .. }) = compiled.execute(&Floats, given.memory.clone(), 1_000_000)
        else {
            panic!("{text}")
        };
        let plan = Plan::new(&compiled.linearized, &[]).unwrap();
        let mut demand = Demand::new(&Floats, &plan, &given);
        let traps: Vec<(String, Trap)> = (0..4)
            .filter_map(|i| match demand.element(ArrayId::new(2), &[i]) {
                Err(Error::Trap { instruction, trap, .. }) => Some((instruction, trap)),
                _ => None,
            })
            .collect();
        assert!(traps.contains(&(instruction.clone(), trap.clone())), "{instruction} {trap}: {traps:?}\n{text}");
    }
}

/// A condition in the body of a substitution rule is a decision wherever the rule is applied.
#[test]
fn decisions_of_rules_are_covered() {
    let kernel = linearized(
        "kernel k\ndomain { [i] : 0 <= i < 8 }\narg a : float64[8] read\narg y : float64[8] write\nclip(x, m) := (x if x < m else m)\ntwice(x) := clip(2.0*x, 30.0)\nfor i\n  y[i] = twice(a[i]) + clip(a[i], 100.0)\nend\n",
    );
    let plan = Plan::new(&kernel, &[]).unwrap();
    let mut demand = Demand::new(&Floats, &plan, &Hashed);
    for i in 0..8 {
        demand.element(ArrayId::new(1), &[i]).unwrap();
    }
    let seen = demand.coverage().by_expression(&plan);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen.values().all(|outcomes| outcomes.n_outcomes == 2 && outcomes.seen != 0), "{seen:?}");
}

fn fixture(name: &str) -> LinearizedKernel {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format!("{name}.json"));
    let text = std::fs::read_to_string(path).unwrap();
    match nestegg_dump::read(&nestegg_span::Source::new("k.json", text.as_str())) {
        Ok(read) => read.program.into_linearized().unwrap(),
        Err(errors) => panic!("{errors:?}"),
    }
}
