//! Counts: by brute force on small sets, by formula on large ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nestegg_isl::{Context, Error, Set};
use num_bigint::BigUint;

fn count(text: &str) -> Result<String, Error> {
    Set::parse(&Context::new(), text)?.count().map(|n| n.to_string())
}

#[test]
fn large() {
    for (set, expected) in [
        ("{ [i, j, k] : 0 <= i, j, k < 1000 }", "1000000000"),
        ("{ [i, j] : 0 <= i < 100000 and 0 <= j <= i }", "5000050000"),
        ("{ [i, j, k] : 0 <= i <= j <= k < 100000 }", "166671666700000"),
        ("{ [i] : 0 <= i < 1000000007 and i mod 3 = 1 }", "333333336"),
        ("{ [a, b, c, d] : a, b, c, d >= 0 and a + b + c + d <= 1000 }", "42084793751"),
        ("{ [i, t] : 0 <= i < 1000000 and 16t <= i < 16t + 16 }", "1000000"),
        ("{ [t] : exists i : 0 <= i < 1000000 and 16t <= i < 16t + 16 }", "62500"),
        ("{ [i, j, ti, tj] : 0 <= j <= i < 1000 and ti = floor(i/16) and tj = floor(j/16) }", "500500"),
        ("{ [ti, tj] : exists i, j : 0 <= j <= i < 1000 and ti = floor(i/16) and tj = floor(j/16) }", "2016"),
        ("{ [x, y] : 2x + 3y <= 100000 and x >= 0 and y >= 0 }", "833383334"),
        ("{ [x, y] : 1000003x = 999983y and 0 <= x < 1000000000000 }", "1000018"),
        ("{ [i, j] : (0 <= i < 1000 and 0 <= j < 1000) or (500 <= i < 1500 and 500 <= j < 1500) }", "1750000"),
        ("{ [x, y, z] : 0 <= x, y, z <= 1000 and x + y <= z and x + z <= y + 500 }", "47313751"),
        ("{ [x, y, z] : 7x + 11y + 13z <= 10000 and x >= 0 and y >= 0 and z >= 0 }", "167300505"),
        // Intervals by propagation alone led to residues modulo hundreds here.
        (
            "{ [i, j, k, l] : i <= 6 and j >= 0 and k <= 1 and 3k >= 4 - i + 3j and 13k <= 34 - 7i + 15j and 2l = i - 3j + 3k - 4 \
             and (i + j + 3k) mod 6 = 0 and 3*floor((i - 1)/3) <= i - 2 }",
            "1",
        ),
        ("{ [] }", "1"),
        ("{ : 1 = 0 }", "0"),
        ("{ [i] : 1 = 0 }", "0"),
    ] {
        assert_eq!(count(set).as_deref(), Ok(expected), "{set}");
    }
}

#[test]
fn refused() {
    assert_eq!(count("{ [i] : i >= 0 }"), Err(Error::Unbounded));
    assert_eq!(count("[n] -> { [i] : 0 <= i < n }"), Err(Error::Parametric("n".to_string())));
}

/// A small generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        i64::try_from((self.0 >> 33) % n).unwrap()
    }
}

#[test]
fn random_small_sets() {
    let mut random = Random(1);
    let context = Context::new();
    for round in 0..ROUNDS {
        let n = 1 + random.below(4) as usize;
        let names = &["i", "j", "k", "l"][..n];
        let piece = |random: &mut Random| {
            let mut all: Vec<String> = names.iter().map(|d| format!("0 <= {d} <= {}", random.below(7))).collect();
            for _ in 0..random.below(4) {
                let sum: Vec<String> = names.iter().map(|d| format!("{}{d}", random.below(7) - 3)).collect();
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
        let text = format!("{{ [{}] : {} }}", names.join(", "), pieces.join(" or "));
        let set = Set::parse(&context, &text).unwrap();
        let mut expected = 0_u32;
        for at in 0..7_i64.pow(u32::try_from(n).unwrap()) {
            let point: Vec<(&str, i64)> =
                names.iter().enumerate().map(|(d, name)| (*name, at / 7_i64.pow(d as u32) % 7)).collect();
            expected += u32::from(set.contains(&point).unwrap());
        }
        assert_eq!(set.count(), Ok(BigUint::from(expected)), "round {round}: {text}");
        if n > 1 {
            let projected = set.project_onto(&names[..1]).unwrap();
            let expected: u32 = (0..7).map(|i| u32::from(projected.contains(&[("i", i)]).unwrap())).sum();
            assert_eq!(projected.count(), Ok(BigUint::from(expected)), "round {round}: projection of {text}");
        }
    }
}

const ROUNDS: usize = 100;
