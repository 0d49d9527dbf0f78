//! Every rule that comes with nestegg wins somewhere: on a kernel of its own, or on one of the corpus, the result has more operations without it.
//! `docs/laboratory.md` has the table; the test prints it where the two differ.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use nestegg_driver::config::{Config, Strategy};
use nestegg_egraph::builtin;
use nestegg_ir::Licence;
use nestegg_lab::ablate::{Part, ablate};
use nestegg_span::Source;

/// Rules that win on kernels of the corpus, in which one form leads to another, and not on a small one alone: the rule, the kernel, the level.
const OF_CORPUS: [(&str, &str, &str); 2] =
    [("common-factor", "energy_rank0_tri_2", "O2"), ("linear-form", "helmholtz_ehex_1", "O2")];

/// A kernel on which a rule may win, with the level and the licence that it names.
struct Place {
    path: PathBuf,
    level: String,
    float: Option<Licence>,
}

impl Place {
    /// The kernel with what the line at its top says.
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let header = text.lines().next().unwrap();
        let value = |key: &str| header.split_whitespace().find_map(|word| word.strip_prefix(key));
        let level = value("level=").unwrap_or("O1").to_owned();
        Self { level, float: value("float=").and_then(Licence::from_name), path }
    }

    /// How many times the operations the result has without the rule, if that is more.
    fn win(&self, rule: &str) -> Option<f64> {
        let source = Source::new(self.path.display().to_string(), fs::read_to_string(&self.path).unwrap());
        let config =
            Config { strategy: Strategy::Named(self.level.clone()), float: self.float, ..Config::of_operations() };
        let part = Part { kind: "rule".to_owned(), name: rule.to_owned() };
        let found = ablate(&[source], &config, (&self.level, &[part]), || {}).unwrap();
        found.iter().find_map(|ablated| ablated.most.as_ref().map(|most| most.1))
    }
}

#[test]
fn every_rule_wins_where_the_table_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = builtin::rule_book(&[]).unwrap();
    let mut table = "| rule | wins on | level | without / with |\n| --- | --- | --- | ---: |\n".to_owned();
    let mut idle = Vec::new();
    for rule in book.rules.keys().map(|name| name.as_str()) {
        let own = ["rules/tests", "tests/optimize"].map(|folder| root.join(folder).join(format!("{rule}.knl")));
        let mut places: Vec<Place> = own.into_iter().filter(|path| path.exists()).map(Place::read).collect();
        let of_corpus = OF_CORPUS.iter().filter(|(name, ..)| *name == rule);
        places.extend(of_corpus.map(|(_, kernel, level)| Place {
            path: root.join("fixtures/tsfc").join(format!("{kernel}.json")),
            level: (*level).to_owned(),
            float: None,
        }));
        match places.iter().find_map(|place| Some((place, place.win(rule)?))) {
            Some((place, ratio)) => {
                let path = place.path.strip_prefix(&root).unwrap().display();
                let float = place.float.map_or(String::new(), |float| format!(", `--float {}`", float.name()));
                table += &format!("| `{rule}` | [{path}](../{path}) | {}{float} | {ratio:.3} |\n", place.level);
            }
            None => idle.push(rule),
        }
    }
    assert!(idle.is_empty(), "rules that win nowhere: {idle:?}");
    let page = fs::read_to_string(root.join("docs/laboratory.md")).unwrap();
    assert!(page.contains(&table), "the table of wins in docs/laboratory.md is not this one:\n{table}");
}
