//! Whatever the bytes: reading them as text is a kernel or an error, and a kernel is written and read again.
#![no_main]

use nestegg_span::Source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok((_, read)) = nestegg_dump::read_bytes("fuzz.knl", bytes) {
        let written = nestegg_dump::write_text(&read.program);
        let again =
            nestegg_dump::read_text(&Source::new("again.knl", written.as_str())).expect("what was written reads");
        assert_eq!(nestegg_dump::write_text(&again.program), written);
    }
});
