//! Whatever the choices: the kernel that they make is optimized at every level, and the result is valid.
#![no_main]

use nestegg_driver::{
    config::{Config, Strategy},
    optimize,
    rules::rule_book,
};
use nestegg_span::Source;
use nestegg_testgen::{FromBytes, Knobs, generate};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let generated = generate(&mut FromBytes::new(bytes), &Knobs::everything());
    let source = Source::new("fuzz.knl", nestegg_dump::write_text(&generated.program));
    for level in rule_book(&[]).expect("the built-in rules read").strategies.keys() {
        let strategy = Strategy::Named(level.to_string());
        let config = Config { strategy, parameters: generated.parameters.clone(), ..Config::of_operations() };
        if let Err(error) = optimize(&source, &config) {
            panic!("{level}: {error}\n{}", source.text);
        }
    }
});
