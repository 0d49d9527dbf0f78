//! Loop bounds on small sets: the text of the bounds, and by brute force that bounds, stride and guard give the projection.

use nestegg_isl::{Bounds, Conjunction, Context, Result, Set};

fn bounds(text: &str, dim: &str, outer: &[&str]) -> Result<Bounds> {
    Set::parse(&Context::new(), text)?.loop_bounds(dim, outer)
}

fn show(b: &Bounds) -> String {
    let side = |alternatives: &Vec<Vec<nestegg_isl::Bound>>| {
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
