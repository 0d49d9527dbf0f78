//! Whatever the bytes: reading them as a rule file is a book or errors.
#![no_main]

use nestegg_rules::RuleBook;
use nestegg_span::Source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = RuleBook::parse(&[Source::new("fuzz.rules", text)], &nestegg_egraph::vocabulary::vocabulary());
    }
});
