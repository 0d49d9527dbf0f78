//! Whatever the bytes: reading them as a dump in JSON is a kernel or an error, and a kernel is written and read again.
#![no_main]

use nestegg_span::Source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok((_, read)) = nestegg_dump::read_bytes("fuzz.json", bytes) {
        let written = nestegg_dump::write_json(&read.program);
        let again =
            nestegg_dump::read_json(&Source::new("again.json", written.as_str())).expect("what was written reads");
        assert_eq!(nestegg_dump::write_json(&again.program), written);
    }
});
