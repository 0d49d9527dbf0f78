//! Sets: every function on small cases.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nestegg_isl::{Affine, Conjunction, Constraint, Context, Dim, Error, Result, Set};

fn set(context: &Context, text: &str) -> Set {
    Set::parse(context, text).unwrap()
}

fn text(conjunctions: &[Conjunction]) -> Vec<String> {
    conjunctions.iter().map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")).collect()
}

#[test]
fn combine_identifies_parameters_with_dimensions() -> Result<()> {
    let c = Context::new();
    let joined = Set::combine(&[
        set(&c, "[i, n] -> { [j] : i <= j < n }"),
        set(&c, "[n] -> { [i] : 0 <= i < n }"),
        set(&c, "{ [q] : 0 <= q < 4 }"),
    ])?;
    assert_eq!(joined.dim_names()?, ["j", "i", "q"]);
    assert_eq!(joined.param_names()?, ["n"]);
    assert!(joined.is_equal(&set(&c, "[n] -> { [j, i, q] : 0 <= i <= j < n and 0 <= q < 4 }"))?);
    let projected = joined.project_onto(&["q", "j"])?;
    assert_eq!(projected.dim_names()?, ["q", "j"]);
    assert!(projected.is_equal(&set(&c, "[n] -> { [q, j] : 0 <= j < n and 0 <= q < 4 }"))?);
    assert_eq!(joined.fix_params(&[("n", 3)])?.count()?, 24u32.into());
    let shared =
        Set::combine(&[set(&c, "{ A[i] : i >= 0 }"), set(&c, "{ [i] : i < 3 }"), set(&c, "[k] -> { : k = 1 }")])?;
    assert!(shared.is_equal(&set(&c, "[k] -> { [i] : 0 <= i < 3 and k = 1 }"))?);
    let alone = Set::combine(&[set(&c, "{ [] }")])?;
    assert_eq!((alone.n_dim()?, alone.count()?), (0, 1u32.into()));
    Ok(())
}

#[test]
fn constraints_are_plain_data_and_back() -> Result<()> {
    let c = Context::new();
    for (input, expected) in [
        ("[n] -> { [i] : 0 <= i < n and i mod 2 = 0 }", &["i - 2*floor((i)/2) = 0 and i >= 0 and -i + n - 1 >= 0"][..]),
        ("[n] -> { [i] : exists e : i = 3e + n }", &["i - n - 3*floor((i - n)/3) = 0"]),
        ("{ [i, j] : j = 2i + 1 }", &["2i - j + 1 = 0"]),
        ("{ [i] : i <= -7 }", &["-i - 7 >= 0"]),
        ("{ [i] }", &[""]),
        ("{ [i] : false }", &[]),
        ("{ [] }", &[""]),
        ("[n] -> { : n > 2 }", &["n - 3 >= 0"]),
    ] {
        let set = set(&c, input);
        let constraints = set.constraints()?;
        assert_eq!(text(&constraints), expected, "{input}");
        let (params, dims) = (set.param_names()?, set.dim_names()?);
        let params: Vec<&str> = params.iter().map(String::as_str).collect();
        let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
        let back = Set::from_conjunctions(&c, &params, &dims, &constraints)?;
        let set = if set.is_params()? { set.params_to_dims(&[])? } else { set };
        assert!(back.is_equal(&set)?, "{back} and {set}");
    }
    let equal = Constraint::equality(Affine::var("i").floor_div(4)?);
    let tile = Set::from_constraints(&c, &[], &["i"], &[equal])?;
    assert!(tile.is_equal(&set(&c, "{ [i] : 0 <= i < 4 }"))?);
    Ok(())
}

#[test]
fn algebra() -> Result<()> {
    let c = Context::new();
    let a = set(&c, "{ [i] : 0 <= i < 8 }");
    let b = set(&c, "{ [i] : 4 <= i < 12 }");
    for (result, expected) in [
        (a.intersect(&b)?, "{ [i] : 4 <= i < 8 }"),
        (a.union(&b)?.coalesce()?, "{ [i] : 0 <= i < 12 }"),
        (a.subtract(&b)?, "{ [i] : 0 <= i < 4 }"),
        (a.complement()?, "{ [i] : i < 0 or i >= 8 }"),
        (a.lexmin()?, "{ [0] }"),
        (a.lexmax()?, "{ [7] }"),
        (a.intersect(&b)?.gist(&b)?, "{ [i] : i < 8 }"),
        (a.fix("i", 3)?, "{ [3] }"),
        (a.eliminate(&["i"])?, "{ [i] }"),
        (a.insert_dims(0, &["x"])?, "{ [x, i] : 0 <= i < 8 }"),
        (set(&c, "{ [i, j] : 0 <= i < 3 and j = 2i }").project_out(&["i"])?, "{ [0]; [2]; [4] }"),
        (set(&c, "{ [i, j] : 0 <= i < 3 and j < i }").drop_constraints_involving("j")?, "{ [i, j] : 0 <= i < 3 }"),
        (set(&c, "{ [i, j] : 0 <= i < 3 and j < i }").drop_constraints_not_involving("j")?, "{ [i, j] : j < i }"),
        (
            set(&c, "[n] -> { [i] : i < n }").intersect_params(&set(&c, "[n] -> { : n = 3 }"))?,
            "[n] -> { [i] : i < n = 3 }",
        ),
        (set(&c, "[n] -> { [i] : 0 <= i < n }").params()?, "[n] -> { : n > 0 }"),
        (set(&c, "[n] -> { [i] : i < n }").dims_to_params()?, "[n, i] -> { : i < n }"),
        (set(&c, "[n, i] -> { : i < n }").params_to_dims(&["i"])?, "[n] -> { [i] : i < n }"),
        (set(&c, "[n] -> { [i] : i < n }").move_dims(Dim::Set, 1, Dim::Param, 0, 1)?, "{ [i, n] : i < n }"),
        (set(&c, "[n] -> { [i] : i < n }").fix_params(&[("n", 3), ("m", 1)])?, "{ [i] : i < 3 }"),
        (a.set_tuple_name(Some("S"))?, "{ S[i] : 0 <= i < 8 }"),
    ] {
        assert!(result.is_equal(&set(&c, expected))?, "{result} and {expected}");
    }
    let overlapping = a.union(&b)?.make_disjoint()?;
    assert_eq!(overlapping.count()?, 12u32.into());
    Ok(())
}

#[test]
fn tests_and_names() -> Result<()> {
    let c = Context::new();
    let triangle = set(&c, "[n] -> { S[i, j] : 0 <= i < n and 0 <= j <= i }");
    assert!(!triangle.is_empty()? && triangle.is_bounded()? && !triangle.is_box()? && !triangle.is_params()?);
    assert!(set(&c, "{ [i, j] : 0 <= i, j < 7 }").is_box()?);
    assert!(set(&c, "{ [3, 4] }").is_singleton()? && set(&c, "{ [i] : 2i = 1 }").is_empty()?);
    assert!(!set(&c, "{ [i] : i > 0 }").is_bounded()?);
    assert!(triangle.involves("n")? && !set(&c, "[n] -> { [i] : i > 0 }").involves("n")?);
    assert!(set(&c, "{ [0] }").is_disjoint(&set(&c, "{ [1] }"))? && set(&c, "{ [0] }").is_subset(&set(&c, "{ [i] }"))?);
    assert_eq!((triangle.n(Dim::Param)?, triangle.n_dim()?), (1, 2));
    assert_eq!(triangle.tuple_name()?.as_deref(), Some("S"));
    assert_eq!(triangle.find_dim(Dim::Set, "j"), Ok(1));
    assert_eq!(triangle.locate("n"), Ok((Dim::Param, 0)));
    assert_eq!(triangle.rename_dim("i", "k")?.dim_names()?, ["k", "j"]);
    assert_eq!(triangle.rename_dim("n", "m")?.param_names()?, ["m"]);
    assert_eq!(triangle.with_dim_names(&["j", "i"])?.dim_names()?, ["j", "i"]);
    assert_eq!(triangle.with_params(&["m", "n"])?.param_names()?.len(), 2);
    assert_eq!(triangle.to_string(), "[n] -> { S[i, j] : 0 <= i < n and 0 <= j <= i }");
    Ok(())
}

#[test]
fn points() -> Result<()> {
    let c = Context::new();
    let odd = set(&c, "{ [i, j] : 0 <= i < 3 and 0 <= j < 3 and (i + j) mod 2 = 1 }");
    assert_eq!(odd.points(4)?, [[0, 1], [1, 0], [1, 2], [2, 1]]);
    assert!(matches!(odd.points(3), Err(Error::LimitExceeded(_))));
    assert_eq!(set(&c, "{ [] }").points(1)?, [[0_i64; 0]]);
    assert_eq!(set(&c, "{ [i] : i > 0 }").points(9), Err(Error::Unbounded));
    assert_eq!(set(&c, "[n] -> { [i] : 0 < i < n }").points(9), Err(Error::Parametric("n".to_string())));
    assert_eq!((odd.lexmin_point()?, odd.lexmax_point()?), (Some(vec![0, 1]), Some(vec![2, 1])));
    assert!(
        odd.contains(&[("i", 1), ("j", 2)])? && !odd.contains(&[("i", 1), ("j", 1)])? && odd.contains(&[("i", 1)])?
    );
    assert!(odd.sample()?.is_some_and(|point| (point[0] + point[1]) % 2 == 1));
    assert_eq!(set(&c, "{ [i] : 2i = 1 }").sample()?, None);
    assert_eq!(set(&c, "{ [i] : 2i = 1 }").lexmin_point()?, None);
    assert_eq!(set(&c, "{ [i] : i > 0 }").lexmax_point(), Err(Error::Unbounded));
    assert_eq!((odd.dim_min_val("i")?, odd.dim_max_val("j")?), (Some(0), Some(2)));
    assert_eq!(set(&c, "[n] -> { [i] : 0 <= i < n }").dim_max_val("i")?, None);
    assert_eq!(
        set(&c, "{ [i] : i mod 3 = 2 }").stride("i")?.map(|s| (s.modulus, s.remainder.to_string())),
        Some((3, "2".to_string()))
    );
    Ok(())
}

/// What was done with a set that was read before leaves no trace in the next one of the same text.
#[test]
fn what_is_read_again_is_new() -> Result<()> {
    let text = "[n] -> { [i, j] : 0 <= i < n and i <= 2j <= i + 1 and (j = 3 or i >= 7) }";
    let fresh = std::thread::spawn(move || Set::parse(&Context::new(), text).map(|set| set.to_string()));
    let fresh = fresh.join().unwrap()?;
    for _ in 0..3 {
        let c = Context::new();
        let set = Set::parse(&c, text)?;
        assert_eq!(set.to_string(), fresh);
        let worked = set.detect_equalities()?.remove_redundancies()?.coalesce()?;
        assert!(!set.is_empty()? && set.is_bounded().is_ok() && worked.is_equal(&set)?);
        set.sample()?;
        set.lexmin()?;
    }
    Ok(())
}

/// A limit strikes whether or not the text was read before.
#[test]
fn limits_hold_for_what_was_read_before() -> Result<()> {
    let text = "{ [i] : exists (e : i = 3e and 0 <= e <= 9) }";
    let limited = Context::new();
    limited.set_max_operations(Some(2));
    for _ in 0..2 {
        // isl's parser may call it a syntax error.
        assert!(Set::parse(&limited, text).is_err());
        Set::parse(&Context::new(), text)?;
    }
    limited.set_max_operations(Some(100_000));
    for _ in 0..10_000 {
        Set::parse(&limited, text)?;
    }
    Ok(())
}
