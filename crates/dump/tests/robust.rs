//! No input makes the readers panic, and a long line is quoted in part.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;

use expect_test::expect;
use miette::Diagnostic;
use nestegg_dump::{read, read_bytes, read_json, read_text, write_json, write_text};
use nestegg_span::Source;
use proptest::prelude::*;

const TEXT: &str = "kernel k linearized\nparam n : int32 = 3\nassume [n] -> { : n >= 1 }\n\
    domain [n] -> { [i, j] : 0 <= i, j < n }\nmeta {\"a\": [1, null]}\narg A : float64[n, 3] readwrite\n\
    arg o : uint8[*, 2] read\n\
    table w : float64[2] = [1, -2.5e3]\ntemp t : float64\ntag i vec\nsq(x) := x*x if x > 2 and not (x == 3) else -x**2\n\
    order b, a\nfor i\n  if i < 2\n    t = sum(j, sq(A[i, 0]))/3 + o[[i]] if reduce(any, j, A[j, 0] > 1) else o[0, 1] {id=a, if=n > 2:n < 9}\n  else\n    t, = f(1) {id=c}\n  end\nend\n\
    code \"x;\" reads A writes A {id=b, dep=a:c}\n";

fn json() -> String {
    let read = read_text(&Source::new("t", TEXT)).unwrap_or_else(|errors| panic!("{:#?}", errors.errors()));
    write_json(&read.program)
}

/// Reads a text in both notations; what is read is written and read again.
fn try_both(text: &str) {
    for read in [read_json(&Source::new("t", text)), read_text(&Source::new("t", text))].into_iter().flatten() {
        let json = write_json(&read.program);
        let again = read_json(&Source::new("j", &*json)).expect("what is written is read");
        assert_eq!(write_json(&again.program), json);
        let text = write_text(&read.program);
        let again = read_text(&Source::new("t", &*text)).expect("what is written is read");
        assert_eq!(write_json(&again.program), json);
    }
}

/// A text with one part of it replaced.
fn mutated(text: &str, at: usize, len: usize, new: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = at % (chars.len() + 1);
    let end = (at + len).min(chars.len());
    chars[..at].iter().copied().chain(new.chars()).chain(chars[end..].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_bytes("t", &bytes);
        let mut after = b"kernel k\n".to_vec();
        after.extend(&bytes);
        let _ = read_bytes("t", &after);
        try_both(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn token_soup(tokens in prop::collection::vec(prop::sample::select(vec![
        "i", "j", "A", "t", "sq", "(", ")", "[", "]", "[[", "*", "any", "uint8", "{", "}", ",", ":", ":=", "=", "+", "-", "*", "**", "/", "//", "%",
        "<", "==", "&", "~", "<<", "if", "else", "and", "not", "for", "end", "sum", "min", "reduce", "cast", "float32",
        "1", "2.5", "2.5f", "1e9", "elif", "with", "...", "nop", "id_prefix", "nosync", "max", ">", "<>", "t*", "\"s\"", "\"\"\"", "id", "dep", "domain", "arg", "temp", "tag", "code", "meta", "order", "\n", "#",
    ]), 0..60)) {
        try_both(&format!("{TEXT}{}\n", tokens.join(" ")));
    }

    #[test]
    fn mutated_texts(at in any::<usize>(), len in 0..12_usize, new in "[a-j0-9 \\[\\](){}+*<=:,\"\n-]{0,6}") {
        try_both(&mutated(TEXT, at, len, &new));
    }

    #[test]
    fn mutated_dumps(at in any::<usize>(), len in 0..12_usize, new in "[a-j0-9 \\[\\]{}:,\"\\\\\n.-]{0,6}") {
        try_both(&mutated(&json(), at, len, &new));
    }
}

#[test]
fn truncated() {
    for text in [TEXT, &json()] {
        for (at, _) in text.char_indices() {
            try_both(&text[..at]);
        }
    }
}

#[test]
fn a_long_line_is_quoted_in_part() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/coffee/ffc_mass_3d_nf0_q1.json");
    let text = fs::read_to_string(path).unwrap().replacen("\"K\",1]", "\"KK\",1]", 1);
    let errors = read(&Source::new("ffc.json", text)).map(|_| ()).unwrap_err();
    let source = errors.source_code().unwrap();
    let span = errors.errors()[0].place().into();
    let quoted = source.read_span(&span, 1, 1).unwrap();
    expect![[r#"ffc.json:1:5349 s":[],"depends_on":["i19"],"predicates":[],"assignee":["[]","KK",1],"expression":["/","d_10","detJ"]},{"id":"i21","kind":"as"#]].assert_eq(&format!(
        "{}:{}:{} {}",
        quoted.name().unwrap(),
        quoted.line() + 1,
        quoted.column() + 1,
        String::from_utf8_lossy(quoted.data())
    ));
}
