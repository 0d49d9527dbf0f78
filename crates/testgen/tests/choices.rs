//! Where decisions come from: seeds and bytes.

use expect_test::expect;
use nestegg_ir::verify::verify;
use nestegg_testgen::{FromBytes, Generated, Knobs, Scaling, generate, generate_seed, scaling};
use proptest::prelude::*;

fn text(generated: &Generated) -> String {
    nestegg_dump::write_text(&generated.program)
}

#[test]
fn no_bytes_are_the_smallest_kernel() {
    let smallest = generate(&mut FromBytes::new(&[]), &Knobs::everything());
    expect![[r#"
        kernel generated
        arg y0 : float64 write
        arg a1 : float64 read
        y0 = a1  {id=s0}
    "#]]
    .assert_eq(&text(&smallest));
}

#[test]
fn the_same_seed_gives_the_same_kernel() {
    for (_, knobs) in Knobs::presets() {
        for seed in 0..20 {
            assert_eq!(text(&generate_seed(seed, &knobs)), text(&generate_seed(seed, &knobs)));
        }
    }
    for kind in Scaling::ALL {
        let [first, second] = [0; 2].map(|_| nestegg_dump::write_json(&scaling(500, kind)));
        assert_eq!(first, second);
    }
}

/// Every knob that is turned up changes some kernel.
#[test]
fn presets_differ() {
    let texts: Vec<String> = Knobs::presets()
        .iter()
        .map(|(_, knobs)| (0..20).map(|seed| text(&generate_seed(seed, knobs))).collect())
        .collect();
    for (idx, text) in texts.iter().enumerate() {
        assert!(!texts[..idx].contains(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_kernel(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let generated = generate(&mut FromBytes::new(&bytes), &Knobs::whole_format());
        prop_assert!(verify(&generated.program).is_empty());
    }
}
