//! Relations and data flow: every function on small cases.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use nestegg_isl::{Affine, Context, Dim, Error, Map, Result, Set, UnionMap, UnionSet, dataflow};

fn map(c: &Context, text: &str) -> Map {
    Map::parse(c, text).unwrap()
}

fn set(c: &Context, text: &str) -> Set {
    Set::parse(c, text).unwrap()
}

fn union(c: &Context, text: &str) -> UnionMap {
    UnionMap::parse(c, text).unwrap()
}

#[test]
fn from_and_as_affine() -> Result<()> {
    let c = Context::new();
    let domain = set(&c, "[n] -> { S[i, j] : 0 <= i < n and 0 <= j < 8 }");
    let i_plus_n = Affine::new(1, [("i".to_string(), 2), ("n".to_string(), 1)])?;
    let tile = Affine::var("j").floor_div(4)?;
    let outputs = [i_plus_n, tile, Affine::constant(7)];
    let access = Map::from_affine(&domain, Some("A"), &outputs)?;
    assert!(
        access.is_equal(&map(&c, "[n] -> { S[i, j] -> A[2i + n + 1, floor(j/4), 7] : 0 <= i < n and 0 <= j < 8 }"))?
    );
    assert_eq!(access.as_affine()?, Some(outputs.to_vec()));
    assert_eq!(access.tuple_name(Dim::Out)?.as_deref(), Some("A"));
    assert_eq!(Map::from_affine(&domain, None, &[])?.n(Dim::Out), Ok(0));
    for (text, expected) in [
        ("{ [i] -> [j] : 2j = i }", Some("floor((i)/2)")),
        ("{ [i] -> [i] : i <= 3 or i >= 7 }", Some("i")),
        ("{ [i] -> [0] : i <= 3 ; [i] -> [1] : i >= 4 }", None),
        ("{ [i] -> [j] : i <= j }", None),
        ("{ [i] -> [5] : i = 3 }", Some("5")),
        ("{ [i] -> [i mod 4] }", Some("i - 4*floor((i)/4)")),
    ] {
        let function = map(&c, text).as_affine()?;
        assert_eq!(function.map(|f| f[0].to_string()).as_deref(), expected, "{text}");
    }
    let unknown = Map::from_affine(&domain, None, &[Affine::var("k")]);
    assert_eq!(unknown.map(|_| ()), Err(Error::UnknownDim("k".to_string())));
    Ok(())
}

#[test]
fn algebra() -> Result<()> {
    let c = Context::new();
    let shift = map(&c, "{ S[i] -> S[i + 1] : 0 <= i < 9 }");
    for (result, expected) in [
        (shift.reverse()?, "{ S[i] -> S[i - 1] : 1 <= i <= 9 }"),
        (shift.apply_range(&shift)?, "{ S[i] -> S[i + 2] : 0 <= i < 8 }"),
        (shift.apply_domain(&shift)?, "{ S[i] -> S[i] : 1 <= i <= 9 }"),
        (shift.intersect_domain(&set(&c, "{ S[3] }"))?, "{ S[3] -> S[4] }"),
        (shift.intersect_range(&set(&c, "{ S[3] }"))?, "{ S[2] -> S[3] }"),
        (shift.union(&shift.reverse()?)?.lexmin()?, "{ S[i] -> S[i - 1] : 1 <= i <= 9; S[0] -> S[1] }"),
        (shift.union(&shift.reverse()?)?.lexmax()?, "{ S[i] -> S[i + 1] : 0 <= i < 9; S[9] -> S[8] }"),
        (shift.subtract(&map(&c, "{ S[i] -> S[1] }"))?, "{ S[i] -> S[i + 1] : 1 <= i < 9 }"),
        (shift.intersect(&map(&c, "{ S[i] -> S[1] }"))?, "{ S[0] -> S[1] }"),
        (shift.flat_range_product(&shift)?, "{ S[i] -> [i + 1, i + 1] : 0 <= i < 9 }"),
        (Map::lex_lt(&set(&c, "{ [i, j] }"))?, "{ [i, j] -> [k, l] : i < k or (i = k and j < l) }"),
        (Map::lex_le(&set(&c, "{ [i] }"))?, "{ [i] -> [k] : i <= k }"),
        (set(&c, "{ [0]; [1] }").lex_lt_set(&set(&c, "{ [0]; [1] }"))?, "{ [0] -> [1] }"),
        (set(&c, "{ [0]; [1] }").lex_le_set(&set(&c, "{ [0] }"))?, "{ [0] -> [0] }"),
        (set(&c, "{ A[i] : i > 0 }").identity()?, "{ A[i] -> A[i] : i > 0 }"),
        (Map::from_domain_and_range(&set(&c, "{ A[0] }"), &set(&c, "{ B[1] }"))?, "{ A[0] -> B[1] }"),
        (set(&c, "{ [A[i] -> B[i]] }").unwrap()?, "{ A[i] -> B[i] }"),
        (map(&c, "[n] -> { [i] -> [i + n] }").fix_params(&[("n", 2), ("m", 1)])?, "{ [i] -> [i + 2] }"),
        (shift.set_tuple_name(Dim::Out, None)?, "{ S[i] -> [i + 1] : 0 <= i < 9 }"),
        (map(&c, "{ [i, j] -> [j] }").project_out(Dim::In, 0, 1)?, "{ [j] -> [j] }"),
    ] {
        assert!(result.is_equal(&map(&c, expected))?, "{result} and {expected}");
    }
    for (result, expected) in [
        (shift.domain()?, "{ S[i] : 0 <= i < 9 }"),
        (shift.range()?, "{ S[i] : 1 <= i < 10 }"),
        (shift.deltas()?, "{ S[1] }"),
        (shift.wrap()?, "{ [S[i] -> S[i + 1]] : 0 <= i < 9 }"),
        (shift.as_set(&["i"], &["j"])?, "{ [i, i + 1] : 0 <= i < 9 }"),
        (set(&c, "{ S[3] }").apply(&shift)?, "{ S[4] }"),
    ] {
        assert!(result.is_equal(&set(&c, expected))?, "{result} and {expected}");
    }
    assert_eq!(shift.as_set(&["i"], &["j"])?.dim_names()?, ["i", "j"]);
    Ok(())
}

#[test]
fn tests() -> Result<()> {
    let c = Context::new();
    let identity = map(&c, "{ S[i] -> S[i] : 0 <= i < 9 }");
    assert!(identity.is_identity()? && identity.is_bijective()? && identity.is_injective()?);
    let halves = map(&c, "{ S[i] -> S[floor(i/2)] }");
    assert!(halves.is_single_valued()? && !halves.is_injective()? && !halves.is_identity()?);
    assert!(!halves.reverse()?.is_single_valued()?);
    assert!(!identity.is_empty()? && identity.subtract(&identity)?.is_empty()?);
    assert!(map(&c, "{ S[0] -> S[0] }").is_subset(&halves)? && !halves.is_subset(&identity)?);
    assert!(identity.is_disjoint(&map(&c, "{ S[i] -> S[i + 1] }"))?);
    Ok(())
}

#[test]
fn unions() -> Result<()> {
    let c = Context::new();
    let both = UnionMap::from_maps(&c, [map(&c, "{ T[i] -> B[i] }"), map(&c, "{ S[i] -> A[i] }")])?;
    assert!(both.is_equal(&union(&c, "{ S[i] -> A[i]; T[i] -> B[i] }"))?);
    let texts: Vec<String> = both.maps()?.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["{ S[i] -> A[i] }", "{ T[i] -> B[i] }"]);
    assert!(UnionMap::from_maps(&c, [])?.is_empty()? && UnionMap::empty(&c)?.maps()?.is_empty());
    let sets = UnionSet::from_sets(&c, [set(&c, "{ T[i] }"), set(&c, "{ S[i] : i > 0 }"), set(&c, "{ S[0] }")])?;
    assert_eq!(sets.sets()?.len(), 2);
    assert!(both.domain()?.subtract(&sets)?.is_equal(&UnionSet::parse(&c, "{ S[i] : i < 0 }").unwrap())?);
    assert!(sets.apply(&both)?.is_subset(&both.range()?)?);
    assert!(both.apply_range(&both.reverse()?)?.is_identity()?);
    let times = union(&c, "{ S[i] -> [i, 0]; T[i] -> [i, 1] }");
    let before = times.lex_lt_union_map(&times)?;
    assert!(before.is_equal(&union(
        &c,
        "{ S[i] -> S[j] : i < j; S[i] -> T[j] : i <= j; T[i] -> S[j] : i < j; T[i] -> T[j] : i < j }"
    ))?);
    Ok(())
}

#[test]
fn flow_finds_last_writes() -> Result<()> {
    let c = Context::new();
    let reads = union(&c, "{ R[i] -> a[i] : 0 <= i < 8; R[i] -> b[0] : 0 <= i < 8 }");
    let writes = union(&c, "{ W[i] -> a[i] : 0 <= i < 6; V[i] -> a[i] : 0 <= i < 2 }");
    let perhaps = union(&c, "{ U[i] -> a[j] : 0 <= i < 1 and 4 <= j < 5 }");
    let times = union(&c, "{ W[i] -> [0, i]; V[i] -> [1, i]; U[i] -> [2, i]; R[i] -> [3, i] }");
    let flow = dataflow(&reads, &writes, &perhaps, &times)?;
    assert!(flow.must.is_equal(&union(&c, "{ W[i] -> R[i] : 2 <= i < 4 or i = 5; V[i] -> R[i] : 0 <= i < 2 }"))?);
    assert!(flow.may.subtract(&flow.must)?.is_equal(&union(&c, "{ U[0] -> R[4]; W[4] -> R[4] }"))?);
    let unwritten = union(&c, "{ R[i] -> a[i] : 6 <= i < 8; R[i] -> b[0] : 0 <= i < 8 }");
    assert!(flow.must_no_source.is_equal(&unwritten)?);
    assert!(flow.may_no_source.is_equal(&unwritten)?);
    assert!(flow.must.is_subset(&flow.may)?);
    let first = flow.full_must.intersect_domain(&UnionSet::parse(&c, "{ V[0] }")?)?;
    assert!(first.is_equal(&union(&c, "{ V[0] -> [R[0] -> a[0]] }"))?);
    Ok(())
}
