//! The grammars of `editors/`: their words are those of the languages, and every rule file and kernel of the repository is made of their tokens.
//!
//! [`Grammar`] reads what these grammars use of TextMate's: patterns in order, of which the one that matches first wins, and strings over several lines.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fancy_regex::Regex;
use nestegg_driver::rules::vocabulary;
use nestegg_rules::{CONNECTIVES, OptionKind};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Grammar {
    /// By name, as in the repository of the grammar.
    texts: BTreeMap<String, String>,
    /// In order: the name of the pattern, what begins it, and what ends it if that is not itself.
    patterns: Vec<(String, Regex, Option<Regex>)>,
}

impl Grammar {
    fn read(name: &str) -> Self {
        let path = root().join("editors/vscode/syntaxes").join(format!("{name}.tmLanguage.json"));
        let json: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let repository = json["repository"].as_object().unwrap();
        let included = json["patterns"].as_array().unwrap().iter();
        let names: Vec<&str> =
            included.map(|one| one["include"].as_str().unwrap().strip_prefix('#').unwrap()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), repository.len(), "each pattern is used once");
        let (mut texts, mut patterns) = (BTreeMap::new(), Vec::new());
        for name in names {
            let pattern = &repository[name];
            let text = pattern["match"].as_str().or(pattern["begin"].as_str()).unwrap();
            let end = pattern["end"].as_str().map(|end| Regex::new(end).unwrap());
            let is_named = pattern["name"].is_string() || pattern["captures"].is_object();
            assert!(is_named, "`{name}` has a name for its colour");
            texts.insert(name.to_owned(), text.to_owned());
            patterns.push((name.to_owned(), Regex::new(text).unwrap(), end));
        }
        Self { texts, patterns }
    }

    /// The words in the first group of a pattern.
    fn words(&self, name: &str) -> BTreeSet<String> {
        let text = &self.texts[name];
        // Groups that only look around begin with a question mark.
        let start = text
            .match_indices('(')
            .find(|(at, _)| !text[at + 1..].starts_with('?') && !text[..*at].ends_with('\\'))
            .unwrap()
            .0;
        let group = &text[start + 1..start + text[start..].find(')').unwrap()];
        group.split('|').map(|word| word.replace('\\', "")).collect()
    }

    /// The tokens of a text, each with its pattern; or a line, and what there is no token for.
    fn tokens<'t>(&self, text: &'t str) -> Result<Vec<(&str, &'t str)>, String> {
        let mut res: Vec<(&str, &str)> = Vec::new();
        let mut open: Option<&(String, Regex, Option<Regex>)> = None;
        for line in text.lines() {
            let mut at = 0;
            while at < line.len() {
                if let Some((name, _, Some(end))) = open {
                    let stop = end.find_from_pos(line, at).unwrap().map(|found| found.end());
                    res.push((name, &line[at..stop.unwrap_or(line.len())]));
                    open = if stop.is_some() { None } else { open };
                    at = stop.unwrap_or(line.len());
                    continue;
                }
                let found = self.patterns.iter().filter_map(|pattern| {
                    let found = pattern.1.find_from_pos(line, at).unwrap()?;
                    (!found.range().is_empty()).then_some((found, pattern))
                });
                let Some((found, pattern)) = found.min_by_key(|(found, _)| found.start()) else {
                    if line[at..].trim().is_empty() {
                        break;
                    }
                    return Err(format!("{line}: {:?}", &line[at..]));
                };
                if !line[at..found.start()].trim().is_empty() {
                    return Err(format!("{line}: {:?}", &line[at..found.start()]));
                }
                res.push((&pattern.0, found.as_str()));
                open = pattern.2.is_some().then_some(pattern);
                at = found.end();
            }
        }
        Ok(res)
    }
}

/// Files of the repository with that ending.
fn files(ending: &str) -> Vec<PathBuf> {
    let is_ours = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        name != "target" && (name == ".." || !name.starts_with('.'))
    };
    let all = walkdir::WalkDir::new(root()).sort_by_file_name().into_iter();
    let files =
        all.filter_entry(move |entry| entry.depth() == 0 || is_ours(entry)).map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

fn set<'a>(words: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_words_of_rule_files_are_those_of_the_vocabulary() {
    let (grammar, vocabulary) = (Grammar::read("rules"), vocabulary());
    let is_word = |name: &&str| name.starts_with(|first: char| first.is_ascii_alphabetic());
    let operators: Vec<&str> = vocabulary.operators.keys().map(|name| name.as_str()).collect();
    let (words, symbols): (Vec<&str>, Vec<&str>) = operators.iter().copied().partition(is_word);
    let functions: Vec<&str> = words.iter().copied().filter(|word| !CONNECTIVES.contains(word)).collect();
    assert_eq!(grammar.words("operator"), set(symbols));
    assert_eq!(grammar.words("function"), set(functions.iter().copied()));
    let binders = vocabulary.binders.keys().map(|name| name.as_str()).filter(|name| !functions.contains(name));
    assert_eq!(grammar.words("reduction"), set(binders));
    assert_eq!(grammar.words("connective"), set(CONNECTIVES));
    let spreads = vocabulary.spreads.keys().map(|name| name.as_str());
    assert_eq!(grammar.words("spread"), set(spreads.chain(["each", "size"])));
    assert_eq!(grammar.words("applier"), set(vocabulary.appliers.keys().map(|name| name.as_str())));
    assert_eq!(grammar.words("tag"), set(vocabulary.tags.keys().map(|name| name.as_str())));
    let conditions = vocabulary.conditions.keys().map(|name| name.as_str());
    assert_eq!(grammar.words("condition"), set(conditions.filter(is_word)));
    assert_eq!(grammar.words("option"), set(vocabulary.options.keys().map(|name| name.as_str())));
    let mut of_options = BTreeSet::new();
    for option in vocabulary.options.values() {
        if let OptionKind::Word(words) | OptionKind::Words(words) = &option.kind {
            of_options.extend(words.iter().map(ToString::to_string));
        }
    }
    assert_eq!(grammar.words("option-word"), of_options);
}

#[test]
fn rule_files_are_made_of_tokens() {
    let grammar = Grammar::read("rules");
    let mut seen = BTreeSet::new();
    let paths = files("rules");
    assert!(paths.len() > 7);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let tokens = grammar.tokens(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        seen.extend(tokens.iter().map(|(name, _)| (*name).to_owned()));
    }
    let two_way = grammar.tokens("(rule b (fabs ?x) <-> (fabs (- ?x)))").unwrap();
    seen.extend(two_way.iter().map(|(name, _)| (*name).to_owned()));
    // No pattern hides another one for good.
    let all: BTreeSet<String> = grammar.texts.keys().cloned().collect();
    assert_eq!(seen, all);
    let tokens = grammar
        .tokens("(rule a (+ (* ?x ?xs...) 1/2) (sqrt ?x) :when (and (nonnegative ?x)) :tag exact) ; so")
        .unwrap();
    let named: Vec<(&str, &str)> = tokens.into_iter().filter(|(name, _)| *name != "parenthesis").collect();
    let expected = [
        ("definition", "rule a"),
        ("operator", "+"),
        ("operator", "*"),
        ("variable", "?x"),
        ("variable", "?xs..."),
        ("number", "1/2"),
        ("function", "sqrt"),
        ("variable", "?x"),
        ("key", ":when"),
        ("connective", "and"),
        ("condition", "nonnegative"),
        ("variable", "?x"),
        ("key", ":tag"),
        ("tag", "exact"),
        ("comment", "; so"),
    ];
    assert_eq!(named, expected);
}

/// The words in quotes in the grammar of kernels.
fn words_of_kernels() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("crates/dump/GRAMMAR.md")).unwrap();
    let mut res = BTreeSet::new();
    for block in text.split("```").skip(1).step_by(2) {
        let productions = block.lines().filter(|line| line.contains(" = ") || line.trim_start().starts_with('|'));
        for quoted in productions.flat_map(|line| line.split('"').skip(1).step_by(2)) {
            if quoted.chars().all(|symbol| symbol.is_ascii_alphanumeric() || symbol == '_') {
                res.insert(quoted.to_owned());
            }
        }
    }
    res
}

#[test]
fn the_words_of_kernels_are_those_of_their_grammar() {
    let grammar = Grammar::read("knl");
    let of_patterns = ["kernel", "declaration", "block", "dtype", "reduction", "literal", "option", "access"];
    let mut words: BTreeSet<String> = of_patterns.iter().flat_map(|name| grammar.words(name)).collect();
    words.insert("linearized".to_owned());
    assert_eq!(words, words_of_kernels());
}

#[test]
fn kernels_are_made_of_tokens() {
    let grammar = Grammar::read("knl");
    let mut seen = BTreeSet::new();
    let paths = files("knl");
    assert!(paths.len() > 300);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        // What must be refused may have anything in it.
        if nestegg_driver::read(&nestegg_span::Source::new("k.knl", text.as_str())).is_err() {
            continue;
        }
        let tokens = grammar.tokens(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        seen.extend(tokens.iter().map(|(name, _)| (*name).to_owned()));
    }
    let raw = grammar.tokens("code \"\"\"\n  any ' thing §\n\"\"\" reads x\n").unwrap();
    assert_eq!(raw.iter().filter(|(name, _)| *name == "raw-string").count(), 3, "{raw:?}");
    seen.extend(raw.iter().map(|(name, _)| (*name).to_owned()));
    let all: BTreeSet<String> = grammar.texts.keys().cloned().collect();
    assert_eq!(seen, all);
    let tokens = grammar.tokens("for i  # all\n  y[i] = sum(q, 2.5f*x[q]) if c < 1 else .5  {id=a}").unwrap();
    let kinds = |word: &str| tokens.iter().find(|(_, text)| *text == word).map(|(name, _)| *name);
    for (word, kind) in [
        ("for", "block"),
        ("# all", "comment"),
        ("sum", "reduction"),
        ("2.5f", "number"),
        ("if", "logical"),
        (".5", "number"),
        ("id", "option"),
        ("y", "name"),
    ] {
        assert_eq!(kinds(word), Some(kind), "{word}");
    }
}

#[test]
fn the_extension_names_files_that_are_there() {
    let folder = root().join("editors/vscode");
    let read = |path: &Path| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let package = read(&folder.join("package.json"));
    let contributes = &package["contributes"];
    let endings: Vec<&Value> =
        contributes["languages"].as_array().unwrap().iter().map(|one| &one["extensions"][0]).collect();
    assert_eq!(endings, [".rules", ".knl"]);
    for language in contributes["languages"].as_array().unwrap() {
        let configuration = read(&folder.join(language["configuration"].as_str().unwrap()));
        assert!(configuration["comments"]["lineComment"].is_string() && configuration["brackets"].is_array());
    }
    for grammar in contributes["grammars"].as_array().unwrap() {
        let read = read(&folder.join(grammar["path"].as_str().unwrap()));
        assert_eq!(read["scopeName"], grammar["scopeName"]);
    }
}
