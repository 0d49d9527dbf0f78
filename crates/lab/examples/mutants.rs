//! scratch
use nestegg_lab::{check, mutate};
fn main() {
    let book = nestegg_egraph::builtin::rule_book(&[]).unwrap();
    let filter: Option<String> = std::env::args().nth(1);
    let mut n = (0, 0, 0, 0);
    let trusted: Vec<String> = book.rules.values().map(|r| nestegg_rules::Rule { doc: String::new(), ..r.clone() }.to_string()).collect();
    for rule in book.rules.values() {
        if filter.as_ref().is_some_and(|f| !rule.name.as_str().contains(f.as_str())) { continue; }
        let bare = nestegg_rules::Rule { doc: String::new(), ..rule.clone() }.to_string();
        let start = std::time::Instant::now();
        let own = check::check(rule);
        println!("# {} {:?} {:.2}s", rule.name, own.verdict, start.elapsed().as_secs_f64());
        if std::env::args().nth(2).is_some() { continue; }
        for mutant in mutate::mutants(rule) {
            n.0 += 1;
            let start = std::time::Instant::now();
            let verdict = check::check(&mutant.rule).verdict;
            let t = start.elapsed().as_secs_f64();
            let proof = mutate::trivial::proof(&trusted, &bare, &mutant);
            match (&verdict, proof) {
                (check::Verdict::Unsound(_), None) => n.1 += 1,
                (check::Verdict::Unsound(_), Some(p)) => println!("BADPROOF {p} {}", mutant.text),
                (_, Some(p)) => { n.2 += 1; println!("proved {p} [{}] {}", mutant.family, mutant.text) }
                (check::Verdict::NotChecked{..}, None) => { n.3 += 1; println!("NEVER [{}] {}", mutant.family, mutant.text) }
                (v, None) => println!("SURVIVES {} {:.2}s [{}] {}", v.name(), t, mutant.family, mutant.text),
            }
        }
    }
    println!("{n:?}");
}
