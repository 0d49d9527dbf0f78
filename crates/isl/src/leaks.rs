//! Nothing leaks: after any work, finished or cut short anywhere by the operation limit, no object refers to the context.

use crate::{Affine, Constraint, Context, Dim, Map, Result, Set, UnionMap, UnionSet, dataflow};

fn sets(c: &Context) -> Result<()> {
    let a = Set::parse(c, "[n] -> { [i, j] : 0 <= i < n and i <= j < 2n and (i + j) mod 3 = 1 }")?;
    let b = Set::parse(c, "[n] -> { [i, j] : 0 <= i < n and (j = 2i or 3 <= j <= 5) }")?;
    let [both, either, rest] = [a.intersect(&b)?, a.union(&b)?, a.subtract(&b)?];
    for set in [&a, &b, &both, &either, &rest] {
        set.complement()?.coalesce()?.gist(&a)?;
        set.make_disjoint()?.detect_equalities()?.remove_redundancies()?;
        set.lexmin()?.union(&set.lexmax()?)?.params()?.is_params()?;
        let _ = (set.is_empty()?, set.is_bounded()?, set.is_singleton()?, set.is_box()?);
        let _ = (set.is_equal(&a)?, set.is_subset(&b)?, set.is_disjoint(&a)?);
        let _ = (set.involves("n")?, set.dim_min_val("i")?, set.dim_max_val("j")?, set.sample()?, set.stride("j")?);
        set.project_out(&["i"])?.eliminate(&["n"])?.drop_constraints_involving("j")?;
        set.drop_constraints_not_involving("i")?.intersect_params(&set.params()?)?;
        set.rename_dim("i", "k")?.insert_dims(1, &["x", "y"])?.project_onto(&["y", "k"])?.constraints()?;
        set.with_params(&["m"])?.dims_to_params()?.params_to_dims(&["n", "j"])?;
        set.move_dims(Dim::Param, 1, Dim::Set, 0, 1)?.set_tuple_name(Some("S"))?.tuple_name()?;
        let fixed = set.fix_params(&[("n", 6)])?;
        let _ = (fixed.count()?, fixed.points(3), fixed.points(100)?, fixed.lexmin_point()?, fixed.lexmax_point()?);
        let _ = (fixed.contains(&[("i", 1)])?, fixed.fix("i", 2)?.to_string(), set.count());
        for outer in [&["i"][..], &[]] {
            let _ = set.fix("n", 9)?.loop_bounds("j", outer)?;
        }
        let _ = set.constrain(&[Constraint::equality(Affine::var("i").floor_div(3)?)])?;
        let _ = (set.constrain_by(&Constraint::inequality(Affine::var("unknown"))), set.find_dim(Dim::Set, "unknown"));
        let _ = Set::combine(&[set.clone(), fixed, Set::universe(c, &["j"], &["k"])?, Set::empty(c, &[], &["i"])?])?;
    }
    Ok(())
}

fn maps(c: &Context) -> Result<()> {
    let a = Map::parse(c, "[n] -> { S[i, j] -> A[i + j, floor(j/3)] : 0 <= i < n and 0 <= j < i }")?;
    let b = a.reverse()?.apply_range(&a)?;
    let domain = a.domain()?;
    let _ = Map::from_affine(&domain, Some("T"), &[Affine::var("i").floor_div(2)?, Affine::var("n")])?.as_affine()?;
    let _ = (a.union(&a)?.coalesce()?, b.intersect(&b)?.subtract(&b)?, b.gist(&b)?, a.lexmin()?, a.lexmax()?);
    let _ = (b.deltas()?, a.wrap()?.unwrap()?, a.range()?.flatten()?, b.complement()?, a.product(&b)?);
    let _ = (a.range_product(&a)?, a.flat_range_product(&a)?, a.intersect_domain(&domain)?, a.gist_domain(&domain)?);
    let _ = (b.is_empty()?, b.is_injective()?, b.is_single_valued()?, b.is_bijective()?, b.is_identity()?);
    let _ = (a.is_equal(&a)?, a.is_subset(&a)?, a.is_disjoint(&a)?, a.is_subset(&b), a.intersect(&b));
    let _ = (Map::lex_lt(&domain)?, Map::lex_le(&domain)?, domain.lex_lt_set(&domain)?, domain.lex_le_set(&domain)?);
    let _ = (a.dim_names(Dim::In)?, a.with_dim_names(Dim::In, &["x", "y"])?.fix_params(&[("n", 3)])?.to_string());
    let union = UnionMap::from_maps(c, [a.clone(), b, domain.identity()?])?;
    let _ = (union.maps()?, UnionSet::from_sets(c, [domain])?.sets()?);
    let reads = UnionMap::parse(c, "{ R[i, j] -> t[j] : 0 <= i, j < 5; R[i, j] -> A[i] : 0 <= i, j < 5 }")?;
    let writes = UnionMap::parse(c, "{ W[j] -> t[j] : 0 <= j < 4; V[] -> t[2] }")?;
    let times = UnionMap::parse(c, "{ W[j] -> [0, j, 0]; V[] -> [1, 0, 0]; R[i, j] -> [2, i, j] }")?;
    let flow = dataflow(&reads, &writes, &UnionMap::empty(c)?, &times)?;
    let _ = flow.must.union(&flow.may)?.to_string();
    Ok(())
}

#[test]
fn no_object_outlives_its_handle() {
    let c = Context::new();
    assert_eq!(sets(&c), Ok(()));
    assert_eq!(maps(&c), Ok(()));
    assert_eq!(c.references(), 0);
    for text in
        ["", "{", "{ [i] : i < }", "{ [i] } x", "{ [i] : exists (e : i = 2e", "{ A[i] -> B[i] }", "[n] -> { : n"]
    {
        assert!(Set::parse(&c, text).is_err(), "{text}");
        let _ = (Map::parse(&c, text), UnionMap::parse(&c, text), UnionSet::parse(&c, text));
        assert_eq!(c.references(), 0, "{text}");
    }
}

/// isl's own clean-up after an error is part of what must not leak; cuts work off at many places.
#[test]
fn nothing_leaks_when_the_limit_strikes() {
    let c = Context::new();
    let mut limit = 1;
    while limit < 100_000 {
        c.set_max_operations(Some(limit));
        let _ = (sets(&c), maps(&c));
        assert_eq!(c.references(), 0, "limit {limit}");
        limit += limit.div_ceil(8);
    }
}
