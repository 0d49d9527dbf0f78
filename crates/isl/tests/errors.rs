//! What is refused, where, and in silence.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use nestegg_isl::{Affine, Constraint, Context, Dim, Error, Map, Result, Set, UnionMap, UnionSet};

#[test]
fn syntax_errors_have_a_place() {
    let c = Context::new();
    for (text, at, message) in [
        ("{ [i] : i < }", Some(10), "syntax error"),
        ("{ [i] : 0 <= k }", Some(13), "syntax error"),
        ("{ [i] } x", Some(8), "unexpected text after the end"),
        ("", None, "syntax error"),
        ("{", Some(0), "syntax error"),
        ("{ [i] : i mod 0 = 1 }", Some(14), "factor needs to be positive"),
        ("{ A[i] -> B[i] }", None, "this is no set"),
        ("{ A[i]; B[i] }", None, "this is no set"),
        ("{ [i] : 0 <= i < 10 é }", Some(20), "syntax error"),
        ("{ rat: [i] : 2i = 1 }", Some(2), "rational sets are not supported"),
        ("{ [i] : i < 2^1000000000 }", Some(13), "exponent too large"),
        ("{ [i] : \0 }", Some(8), "zero byte"),
    ] {
        match Set::parse(&c, text) {
            Err(Error::Syntax { message: said, offset, .. }) => {
                assert_eq!((offset, said.as_str()), (at, message), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn hostile_text_is_refused_in_time() {
    let c = Context::new();
    let n = 100_000;
    for text in [
        format!("{{ [i] : {}i >= 0{} }}", "(".repeat(n), ")".repeat(n)),
        format!("{{ [i] : {}i >= 0 }}", "not ".repeat(n)),
        format!("{{ [i] : {}1*i >= 0 }}", "1*".repeat(n)),
        format!("{{ [i] : {}i >= 0 }}", "exists e : ".repeat(n)),
        format!("{{ {}i{} }}", "[".repeat(n), "]".repeat(n)),
        format!("{{ [i] : i < {} }}", "9".repeat(n)),
        "{".repeat(n),
    ] {
        assert!(matches!(Set::parse(&c, &text), Err(Error::Syntax { .. })));
        assert!(Map::parse(&c, &text).is_err() && UnionMap::parse(&c, &text).is_err());
        assert!(UnionSet::parse(&c, &text).is_err());
    }
}

#[test]
fn names() -> Result<()> {
    let c = Context::new();
    let bad = |name: &str| Err(Error::BadName(name.to_string()));
    for name in ["", "1i", "a b", "a-b", "max", "NaN", "é", "a\0"] {
        assert_eq!(Set::universe(&c, &[], &[name]).map(|_| ()), bad(name));
    }
    let set = Set::universe(&c, &["n"], &["i", "j"])?;
    let duplicate = |name: &str| Err(Error::DuplicateDim(name.to_string()));
    let unknown = |name: &str| Err(Error::UnknownDim(name.to_string()));
    assert_eq!(set.rename_dim("i", "n").map(|_| ()), duplicate("n"));
    assert_eq!(set.rename_dim("k", "l").map(|_| ()), unknown("k"));
    assert_eq!(set.project_onto(&["i", "i"]).map(|_| ()), duplicate("i"));
    assert_eq!(set.project_onto(&["n"]).map(|_| ()), unknown("n"));
    assert_eq!(set.project_out(&["k"]).map(|_| ()), unknown("k"));
    assert_eq!(set.fix("k", 0).map(|_| ()), unknown("k"));
    assert_eq!(set.contains(&[("k", 0)]), unknown("k").map(|()| false));
    assert_eq!(set.with_params(&["i"]).map(|_| ()), duplicate("i"));
    assert_eq!(set.with_dim_names(&["a", "a"]).map(|_| ()), duplicate("a"));
    assert_eq!(set.insert_dims(0, &["n"]).map(|_| ()), duplicate("n"));
    assert_eq!(set.loop_bounds("k", &[]).map(|_| ()), unknown("k"));
    let by_k = Constraint::inequality(Affine::var("k"));
    assert_eq!(set.constrain(&[by_k]).map(|_| ()), unknown("k"));
    assert!(matches!(set.with_dim_names(&["a"]), Err(Error::Isl(_))));
    assert!(matches!(set.insert_dims(7, &["x"]), Err(Error::Isl(_))));
    assert!(matches!(set.set_dim_name(Dim::Set, 7, "x"), Err(Error::Isl(_))));
    assert!(matches!(Set::combine(&[]), Err(Error::Isl(_))));
    assert_eq!(Set::parse(&c, "{ [i, i + 1] }")?.dim_names(), Err(Error::UnnamedDim(1)));
    Ok(())
}

#[test]
fn unfitting_operands() -> Result<()> {
    let (c, d) = (Context::new(), Context::new());
    let [one, two] = ["{ [i] }", "{ [i, j] }"].map(|text| Set::parse(&c, text).unwrap());
    assert!(matches!(one.intersect(&two), Err(Error::Isl(_))));
    assert!(matches!(one.is_subset(&two), Ok(false) | Err(Error::Isl(_))));
    let elsewhere = Set::parse(&d, "{ [i] }")?;
    assert_eq!(one.intersect(&elsewhere).map(|_| ()), Err(Error::ContextMismatch));
    assert_eq!(one.is_equal(&elsewhere), Err(Error::ContextMismatch));
    assert_eq!(one.context(), &c);
    drop((c, d));
    assert_eq!(one.to_string(), "{ [i] }");
    Ok(())
}

#[test]
fn numbers_beyond_64_bits() -> Result<()> {
    let c = Context::new();
    let huge = Set::parse(&c, "{ [i] : i = 99999999999999999999 }")?;
    assert!(matches!(huge.constraints(), Err(Error::Overflow(_))));
    assert!(matches!(huge.sample(), Err(Error::Overflow(_))));
    assert!(matches!(huge.dim_min_val("i"), Err(Error::Overflow(_))));
    let long = i64::MAX;
    assert!(Affine::constant(long).add(&Affine::constant(1)).is_err());
    assert!(Affine::new(0, [("i".to_string(), long)])?.scale(2).is_err());
    let exact = Set::universe(&c, &[], &["i"])?.fix("i", i64::MIN)?;
    assert_eq!(exact.sample(), Ok(Some(vec![i64::MIN])));
    Ok(())
}

#[test]
fn the_limit_stops_a_call_and_not_the_next() -> Result<()> {
    let c = Context::new();
    let set = Set::parse(&c, "{ [i, j, k] : 0 <= 3i + 2j <= 5k <= 70 and 7j <= 3k + i and i >= 0 and j >= 0 }")?;
    c.set_max_operations(Some(20));
    assert!(matches!(set.complement(), Err(Error::LimitExceeded(_))));
    assert!(set.to_string().starts_with("{ [i, j, k]"), "printing knows no limit");
    assert_eq!(c.max_operations(), Some(20));
    c.set_max_operations(None);
    assert!(set.complement()?.is_disjoint(&set)?);
    Ok(())
}

/// The name of the variable that makes [`work_that_fails`] do its work in a child process.
const CHILD: &str = "NESTEGG_ISL_TEST_CHILD";

#[test]
fn nothing_is_printed() {
    let program = std::env::current_exe().unwrap();
    let child =
        Command::new(program).args(["--exact", "work_that_fails", "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert!(child.status.success());
    assert_eq!(String::from_utf8_lossy(&child.stderr), "");
    assert!(String::from_utf8_lossy(&child.stdout).lines().all(|line| {
        ["", "running 1 test", "test work_that_fails ... ok"].contains(&line)
            || line.starts_with("test result: ok. 1 passed")
    }));
}

#[test]
fn work_that_fails() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let c = Context::new();
    for text in
        ["{", "{ [i] : i < }", "{ [i] : i mod 0 = 1 }", "[n,n] -> { [i] }", "{ [i] -> 3 }", "{ [i] : i * i = 1 }"]
    {
        assert!(Set::parse(&c, text).is_err());
    }
    let [one, two] = ["{ [i] }", "{ [i, j] }"].map(|text| Set::parse(&c, text).unwrap());
    assert!(
        one.union(&two).is_err()
            && one.lexmin().is_err()
            && one.unwrap().is_err()
            && one.insert_dims(9, &["x"]).is_err()
    );
    let triangle = Set::parse(&c, "{ [i, j] : 0 <= 2j <= 3i <= 100 and 5j <= i + 70 }").unwrap();
    c.set_max_operations(Some(1));
    assert!(matches!(triangle.complement(), Err(Error::LimitExceeded(_))));
    assert!(matches!(triangle.count(), Err(Error::LimitExceeded(_))));
}
