//! scratch
fn main() {
    let text = std::env::args().nth(1).unwrap();
    let file = nestegg_span::Source::new("x.rules", format!(";; A.\n\n;; B.\n{text}\n"));
    let book = nestegg_rules::RuleBook::parse(&[file], &nestegg_egraph::vocabulary::vocabulary()).unwrap();
    for rule in book.rules.values() {
        match nestegg_lab::check::check(rule).verdict {
            nestegg_lab::check::Verdict::Unsound(c) => println!("{c:?}\n{}", c.kernel),
            v => println!("{v:?}"),
        }
    }
}
