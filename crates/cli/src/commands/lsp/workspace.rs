//! The files that an editor has open, with the rule files beside them, and what is to be said about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Hover, HoverContents, Location, MarkupContent,
    MarkupKind, NumberOrString, Position, PublishDiagnosticsParams, Range, Uri,
};
use nestegg_driver::problem::{Problem, problems};
use nestegg_driver::rules::vocabulary;
use nestegg_egraph::{builtin, lint};
use nestegg_rules::{RuleBook, RuleKind, Vocabulary};
use nestegg_span::{Source, Span};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::place::{offset, position, range};
use super::words;
use crate::files;

/// What stands for itself in an address is all but this.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'[')
    .add(b']')
    .add(b'^')
    .add(b'|')
    .add(b'\\');

/// What is open in the editor.
#[derive(Default)]
pub(super) struct Workspace {
    /// By path, as the editor has them.
    open: BTreeMap<PathBuf, Open>,
    /// The last rules that were right, by folder: while one writes, they often are not.
    books: BTreeMap<PathBuf, RuleBook>,
}

struct Open {
    uri: Uri,
    text: String,
}

impl Workspace {
    /// The editor has this text now; answers what is wrong in the files that it bears on.
    pub(super) fn set(&mut self, uri: Uri, text: String) -> Vec<PublishDiagnosticsParams> {
        let Some(path) = path(&uri) else { return Vec::new() };
        self.open.insert(path.clone(), Open { uri, text });
        if is_rules(&path) { self.check_rules(folder(&path)) } else { self.check_kernel(&path) }
    }

    /// The editor has closed a file: nothing is wrong with it any more.
    pub(super) fn close(&mut self, uri: &Uri) -> Vec<PublishDiagnosticsParams> {
        let Some(path) = path(uri) else { return Vec::new() };
        self.open.remove(&path);
        let mut res = vec![PublishDiagnosticsParams::new(uri.clone(), Vec::new(), None)];
        if is_rules(&path) {
            res.extend(self.check_rules(folder(&path)));
        }
        res
    }

    /// Where the name or the variable at a position is defined, if that is in a file.
    pub(super) fn definition(&self, uri: &Uri, position: Position) -> Option<Location> {
        let path = path(uri).filter(|path| is_rules(path))?;
        let own = self.open.get(&path)?;
        let word = words::at(&own.text, offset(&own.text, position))?;
        if word.text.starts_with('?') {
            let span = words::binding(&own.text, &word)?;
            return Some(Location::new(uri.clone(), range(&own.text, span)));
        }
        // The same file comes first.
        let mut files = self.rules_of(folder(&path));
        files.sort_by_key(|file| Path::new(&*file.name) != path);
        files.iter().find_map(|file| {
            let span = words::definition(&file.text, word.text)?;
            Some(Location::new(address(Path::new(&*file.name))?, range(&file.text, span)))
        })
    }

    /// What the word at a position means.
    pub(super) fn hover(&self, uri: &Uri, position: Position) -> Option<Hover> {
        let path = path(uri).filter(|path| is_rules(path))?;
        let own = self.open.get(&path)?;
        let word = words::at(&own.text, offset(&own.text, position))?;
        let book = match self.books.get(folder(&path)) {
            Some(book) => book,
            None => &builtin::rule_book(&[]).ok()?,
        };
        let told = [of_book(book, word.text), of_vocabulary(&vocabulary(), word.text)].concat();
        (!told.is_empty()).then(|| Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value: told.join("\n\n---\n\n"),
            }),
            range: Some(range(&own.text, word.span)),
        })
    }

    /// The rule files of a folder by their paths, as the editor has them where it has them.
    fn rules_of(&self, folder: &Path) -> Vec<Source> {
        let on_disk = files::in_folder(folder, "rules").unwrap_or_default();
        let mut all: BTreeMap<PathBuf, Option<Source>> =
            on_disk.into_iter().map(|path| (path.clone(), files::read(&path).ok())).collect();
        let is_here = |path: &&PathBuf| is_rules(path) && self::folder(path) == folder;
        for path in self.open.keys().filter(is_here) {
            all.insert(path.clone(), Some(Source::new(path.display().to_string(), self.open[path].text.as_str())));
        }
        all.into_values().flatten().collect()
    }

    /// Checks the rule files of a folder together, with those that come with nestegg.
    fn check_rules(&mut self, folder: &Path) -> Vec<PublishDiagnosticsParams> {
        let files = self.rules_of(folder);
        let found = match book_of(&files) {
            Ok(book) => {
                let warnings = lint::lint(&book, |rule| files.contains(&rule.source));
                self.books.insert(folder.to_owned(), book);
                warnings.iter().flat_map(|warning| problems(warning)).collect()
            }
            Err(errors) => problems(&*errors),
        };
        let here = self.open.keys().filter(|path| is_rules(path) && self::folder(path) == folder);
        here.map(|path| self.publish(path, &found)).collect()
    }

    fn check_kernel(&self, path: &Path) -> Vec<PublishDiagnosticsParams> {
        let Some(Open { text, .. }) = self.open.get(path) else { return Vec::new() };
        let source = Source::new(path.display().to_string(), text.as_str());
        let found = nestegg_driver::read_defined(&source, &[]).map_or_else(|error| problems(&error), |_| Vec::new());
        vec![self.publish(path, &found)]
    }

    /// What is wrong in one file. A problem without a place is one of the whole file.
    fn publish(&self, path: &Path, found: &[Problem]) -> PublishDiagnosticsParams {
        let open = &self.open[path];
        let name = path.display().to_string();
        let is_here = |problem: &&Problem| {
            problem.labels.first().and_then(|label| label.file.as_ref()).is_none_or(|file| *file == name)
        };
        let diagnostics = found.iter().filter(is_here).map(|problem| diagnostic(problem, open)).collect();
        PublishDiagnosticsParams::new(open.uri.clone(), diagnostics, None)
    }
}

/// The rules of some files with those that come with nestegg. A file with the name of one of those stands for it: it may be the one that is written.
fn book_of(files: &[Source]) -> Result<RuleBook, Box<nestegg_rules::RuleErrors>> {
    let name = |source: &Source| Path::new(&*source.name).file_name().map(ToOwned::to_owned);
    let mut all = builtin::sources();
    all.retain(|own| files.iter().all(|file| name(file) != name(own)));
    all.extend_from_slice(files);
    RuleBook::parse(&all, &vocabulary()).map_err(Box::new)
}

fn diagnostic(problem: &Problem, open: &Open) -> Diagnostic {
    let at = |label: &nestegg_driver::problem::Label| {
        Range::new(position(&open.text, label.offset), position(&open.text, label.offset + label.length))
    };
    let mut message = problem.message.clone();
    problem.causes.iter().for_each(|cause| message += &format!(": {cause}"));
    problem.help.iter().for_each(|help| message += &format!("\n{help}"));
    let further = problem.labels.iter().skip(1).map(|label| DiagnosticRelatedInformation {
        location: Location::new(open.uri.clone(), at(label)),
        message: label.text.clone().unwrap_or_default(),
    });
    let further: Vec<DiagnosticRelatedInformation> = further.collect();
    Diagnostic {
        range: problem.labels.first().map(at).unwrap_or_default(),
        severity: Some(match problem.severity {
            "warning" => DiagnosticSeverity::WARNING,
            _ => DiagnosticSeverity::ERROR,
        }),
        code: problem.code.clone().map(NumberOrString::String),
        source: Some("nestegg".to_owned()),
        message,
        related_information: (!further.is_empty()).then_some(further),
        ..Diagnostic::default()
    }
}

/// The rule, set or strategy of that name, as a rule file has it.
fn of_book(book: &RuleBook, name: &str) -> Vec<String> {
    let form = |text: String, source: &Source, span: Span| {
        let place = match span == Span::default() {
            true => format!("All rules of `{}`.", source.name),
            false => format!("In `{}`, line {}.", source.name, source.position(span.start).line),
        };
        format!("```lisp\n{}\n```\n\n{place}", text.trim_end())
    };
    let mut res = Vec::new();
    if let Some(rule) = book.rules.get(name) {
        res.push(form(rule.to_string(), &rule.source, rule.span));
        if let RuleKind::Guided { apply, .. } = &rule.kind
            && let Some(applier) = vocabulary().appliers.get(apply.as_str())
        {
            res.push(applier.doc.clone());
        }
    }
    res.extend(book.sets.get(name).map(|set| form(set.to_string(), &set.source, set.span)));
    res.extend(book.strategies.get(name).map(|strategy| form(strategy.to_string(), &strategy.source, strategy.span)));
    res
}

/// What rule files may use under that name.
fn of_vocabulary(vocabulary: &Vocabulary, name: &str) -> Vec<String> {
    let told = |what: &str, doc: &str| format!("{what} `{name}`: {doc}");
    let operator = vocabulary.operators.get(name).map(|one| format!("Operator `{name}`, {}: {}", one.arity, one.doc));
    let condition = vocabulary.conditions.get(name).map(|one| {
        let arguments: Vec<String> = one.arguments.iter().map(ToString::to_string).collect();
        let more = one.more.as_ref().map(|more| format!("; {more}, repeated")).unwrap_or_default();
        format!("Condition `{name}` ({}{more}): {}", arguments.join("; "), one.doc)
    });
    [
        operator,
        vocabulary.binders.get(name).map(|doc| told("Reduction", doc)),
        vocabulary.spreads.get(name).map(|doc| told("Function of a rest variable", doc)),
        condition,
        vocabulary.appliers.get(name).map(|applier| told("Applier", &applier.doc)),
        vocabulary.tags.get(name).map(|doc| told("Tag", doc)),
        vocabulary.options.get(name).map(|option| told("Option", &option.doc)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn is_rules(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rules")
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// The path of a file's address; `None` of any other address.
fn path(uri: &Uri) -> Option<PathBuf> {
    let path = uri.as_str().strip_prefix("file://")?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Some(PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.into_owned()))
}

/// The address of a file.
fn address(path: &Path) -> Option<Uri> {
    let path = path.to_str()?;
    Uri::from_str(&format!("file://{}", utf8_percent_encode(path, ESCAPED))).ok()
}
