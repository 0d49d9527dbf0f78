//! Loop bounds on small sets: the text of the bounds, and by brute force that bounds, stride and guard give the projection.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nestegg_isl::{Bound, Bounds, Conjunction, Context, Result, Set};

fn bounds(text: &str, dim: &str, outer: &[&str]) -> Result<Bounds> {
    Set::parse(&Context::new(), text)?.loop_bounds(dim, outer)
}

fn show(b: &Bounds) -> String {
    let side = |alternatives: &Vec<Vec<Bound>>| {
        let each: Vec<String> =
            alternatives.iter().map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")).collect();
        each.join(" | ")
    };
    let stride = b.stride.as_ref().map(|s| format!(" step {} from {}", s.modulus, s.remainder)).unwrap_or_default();
    let all = |c: &Conjunction| c.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    let guard = if b.exact {
        String::new()
    } else {
        format!(" if {}", b.guard.iter().map(all).collect::<Vec<_>>().join(" or "))
    };
    format!("{} .. {}{stride}{guard}", side(&b.lower), side(&b.upper))
}

#[test]
fn text() -> Result<()> {
    for (set, dim, outer, expected) in [
        ("[n] -> { [i, j] : 0 <= i < n and i <= j < n }", "j", &["i"][..], "i .. n - 1"),
        ("[n] -> { [i, j] : 0 <= i < n and i <= j < n }", "i", &["j"][..], "0 .. j"),
        ("[n] -> { [i, j] : 0 <= i < n and i <= j < n }", "j", &[][..], "0 .. n - 1"),
        ("{ [i] : 0 <= 2i < 9 and i mod 2 = 1 }", "i", &[][..], "0 .. 4 step 2 from 1"),
        ("[n] -> { [i, j] : 0 <= 3j <= i < n }", "j", &["i"][..], "0 .. (i)/3"),
        ("{ [i] : i = 0 or i = 7 }", "i", &[][..], "0 .. 7 if i - 7 = 0 or i = 0"),
        ("[n, m] -> { [i] : 0 <= i < n or 0 <= i < m }", "i", &[][..], "0 .. m - 1 | n - 1"),
        ("{ [i, t] : 0 <= i < 64 and 8t <= i < 8t + 8 }", "i", &["t"][..], "0, 8t .. 8t + 7, 63"),
        ("{ [i, j] : 0 <= i < 64 and j = 3i + 1 }", "j", &["i"][..], "3i + 1 .. 3i + 1"),
        ("{ [i, j] : 0 <= i < 64 and j = 3i + 1 }", "i", &["j"][..], "(j - 1)/3 .. (j - 1)/3"),
        ("{ [i] : 0 <= i < 0 }", "i", &[][..], "0 .. -1"),
    ] {
        assert_eq!(show(&bounds(set, dim, outer)?), expected, "{set}");
    }
    Ok(())
}

/// A small generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        i64::try_from((self.0 >> 33) % n).unwrap()
    }
}

/// The values of `dim` by the bounds alone, `value` giving the outer values.
fn values(bounds: &Bounds, dim: &str, value: &dyn Fn(&str) -> Option<i64>) -> Vec<i64> {
    let least = |all: &Vec<Bound>| all.iter().map(|b| b.ceil().unwrap().evaluate(value).unwrap()).max().unwrap();
    let greatest = |all: &Vec<Bound>| all.iter().map(|b| b.floor().unwrap().evaluate(value).unwrap()).min().unwrap();
    let from = bounds.lower.iter().map(least).min().unwrap();
    let to = bounds.upper.iter().map(greatest).max().unwrap();
    assert!(to - from < 100, "the bounds are near the values");
    let on_stride = |v: i64| match &bounds.stride {
        Some(stride) => (v - stride.remainder.evaluate(value).unwrap()) % stride.modulus == 0,
        None => true,
    };
    let allowed = |v: i64| {
        let value = |name: &str| if name == dim { Some(v) } else { value(name) };
        bounds.guard.iter().any(|all| all.iter().all(|constraint| constraint.holds(&value).unwrap()))
    };
    (from..=to).filter(|v| on_stride(*v) && allowed(*v)).collect()
}

#[test]
fn bounds_stride_and_guard_give_the_projection() {
    let mut random = Random(2);
    let context = Context::new();
    for round in 0..100 {
        let piece = |random: &mut Random| {
            let mut all: Vec<String> = ["i", "j", "k"].map(|d| format!("0 <= {d} <= {}", random.below(7))).to_vec();
            for _ in 0..random.below(4) {
                let sum: Vec<String> = ["i", "j", "k", "n"].map(|d| format!("{}{d}", random.below(7) - 3)).to_vec();
                let sum = sum.join(" + ");
                let c = random.below(13) - 4;
                all.push(match random.below(5) {
                    0 => format!("({sum} + {c}) mod {} = 0", 2 + random.below(3)),
                    1 => format!("floor(({sum})/{}) <= {c}", 2 + random.below(4)),
                    2 => format!("{sum} = {c}"),
                    _ => format!("{sum} + {c} >= 0"),
                });
            }
            all.join(" and ")
        };
        let pieces: Vec<String> = (0..1 + random.below(3)).map(|_| format!("({})", piece(&mut random))).collect();
        let text = format!("[n] -> {{ [i, j, k] : 0 <= n <= 3 and ({}) }}", pieces.join(" or "));
        let set = Set::parse(&context, &text).unwrap();
        for (dim, outer) in [("k", &["i", "j"][..]), ("j", &["i"]), ("i", &[])] {
            let bounds = set.loop_bounds(dim, outer).unwrap_or_else(|error| panic!("{error}: {text}"));
            for n in 0..4 {
                for at in 0..7_i64.pow(u32::try_from(outer.len()).unwrap()) {
                    let mut point: Vec<(&str, i64)> = vec![("n", n)];
                    point.extend(outer.iter().enumerate().map(|(d, name)| (*name, at / 7_i64.pow(d as u32) % 7)));
                    if !set.contains(&point).unwrap() {
                        continue;
                    }
                    let value = |name: &str| point.iter().find(|p| p.0 == name).map(|p| p.1);
                    let fixed = point.iter().fold(set.clone(), |set, (name, v)| set.fix(name, *v).unwrap());
                    let fixed = fixed.fix_params(&[("n", n)]).unwrap().project_onto(&[dim]).unwrap();
                    let expected: Vec<i64> = fixed.points(100).unwrap().iter().map(|p| p[0]).collect();
                    assert_eq!(values(&bounds, dim, &value), expected, "round {round}: {dim} in {text} at {point:?}");
                }
            }
        }
    }
}
