//! Sets: every function on small cases, and errors.

use nestegg_isl::{Affine, Constraint, Context, Dim, Error, Result, Set};

fn set(context: &Context, text: &str) -> Set {
    Set::parse(context, text).unwrap()
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
    Ok(())
}

#[test]
fn constraints_are_plain_data() -> Result<()> {
    let c = Context::new();
    let even = set(&c, "[n] -> { [i] : 0 <= i < n and i mod 2 = 0 }");
    let text: Vec<Vec<String>> =
        even.constraints()?.iter().map(|all| all.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(text, [["i - 2*floor((i)/2) = 0", "i >= 0", "-i + n - 1 >= 0"]]);
    let back = Set::from_conjunctions(&c, &["n"], &["i"], &even.constraints()?)?;
    assert!(back.is_equal(&even)?);
    Ok(())
}

#[test]
fn errors() {
    let c = Context::new();
    assert!(matches!(Set::parse(&c, "{ [i] : i < }"), Err(Error::Syntax { .. })));
    let s = set(&c, "{ [i] : 0 <= i }");
    assert_eq!(s.count(), Err(Error::Unbounded));
    assert_eq!(s.find_dim(Dim::Set, "k"), Err(Error::UnknownDim("k".to_string())));
    let k = Constraint::inequality(Affine::var("k"));
    assert_eq!(s.constrain(&[k]).map(|_| ()), Err(Error::UnknownDim("k".to_string())));
}
