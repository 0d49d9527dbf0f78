//! From files to a book: names are declared, each form is read, then what the names refer to is checked.
//!
//! A form with errors still declares its name, so that one mistake is reported once and not at every use.

use indexmap::IndexMap;
use indexmap::map::Entry;
use nestegg_span::{Source, Span};

use crate::book::{Mention, Rule, RuleBook, RuleFile, RuleSet};
use crate::error::RuleError;
use crate::form::{FormSpec, Parts, Reader};
use crate::link;
use crate::name::Name;
use crate::read_rule::{GUIDED, RULE};
use crate::read_strategy::{RULESET, STRATEGY};
use crate::report::{File, RuleErrors, Sink};
use crate::sexpr::{self, Document, FORMS, Form};
use crate::suggest;
use crate::vocabulary::Vocabulary;

/// What the set of all rules of a file is called.
const FILE_SET: &str = "file's rule set";

impl RuleBook {
    /// Reads and checks `sources` against `vocabulary`. Names are shared by all of them: a later file may refer to
    /// what earlier files define, and the other way round, and may not define it again.
    ///
    /// # Errors
    /// Everything that is wrong in all files.
    pub fn parse(sources: &[Source], vocabulary: &Vocabulary) -> Result<Self, RuleErrors> {
        let mut sink = Sink::default();
        let defaults = vocabulary.options.iter().map(|(name, option)| (name.clone(), option.default.clone()));
        let mut book = Self {
            default_options: defaults.collect(),
            word_tags: vocabulary.word_tags.clone(),
            option_needs: vocabulary.option_needs.clone(),
            phases_need: vocabulary.phases_need.clone(),
            ..Self::default()
        };
        let mut declared = Declared::default();
        for (idx, source) in sources.iter().enumerate() {
            let file = File { source, idx };
            let document = sexpr::read(file, &mut sink);
            book.files.push(RuleFile { source: source.clone(), doc: document.header.clone() });
            let mut reader = Reader { file, document: &document, vocabulary, sink: &mut sink };
            for form in &document.forms {
                reader.form(form, &mut book, &mut declared);
            }
            declare_file_set(file, &document, &mut book, &mut declared, &mut sink);
        }
        link::check(&book, &declared, sources, &mut sink);
        sink.finish().map(|()| book)
    }
}

/// The names that forms define, whether or not the forms are right.
#[derive(Default)]
pub(crate) struct Declared {
    /// Rules and sets, which share their names.
    pub(crate) rules: IndexMap<Name, Declaration>,
    pub(crate) strategies: IndexMap<Name, Declaration>,
}

/// Where a name is defined.
pub(crate) struct Declaration {
    what: &'static str,
    at: Span,
    source: Source,
    pub(crate) file_idx: usize,
}

/// Defines `name`; reports it if it is defined already.
fn declare(
    names: &mut IndexMap<Name, Declaration>,
    file: File<'_>,
    sink: &mut Sink,
    name: &Name,
    what: &'static str,
    at: Span,
) -> bool {
    match names.entry(name.clone()) {
        Entry::Vacant(entry) => {
            entry.insert(Declaration { what, at, source: file.source.clone(), file_idx: file.idx });
            true
        }
        Entry::Occupied(entry) => {
            let first = entry.get();
            let position = first.source.position(first.at.start);
            let mut help =
                format!("the first one is the {} at {}:{position}; choose another name", first.what, first.source.name);
            if [what, first.what].contains(&FILE_SET) {
                help += "; a file with rules defines the set of them, under the name of the file";
            }
            let error = RuleError::DuplicateName {
                what,
                name: name.clone(),
                at,
                first: (first.file_idx == file.idx).then_some(first.at),
                help: Some(help),
            };
            sink.push(&file, error);
            false
        }
    }
}

impl Reader<'_> {
    /// Reads a top-level form into the book.
    fn form(&mut self, form: &Form, book: &mut RuleBook, declared: &mut Declared) {
        let document = self.document;
        let head = document.items(form.list).and_then(|items| items.first()).copied();
        let Some(head) = head.and_then(|head| document.word(head)) else {
            let (found, at) = match head {
                Some(head) => (document.describe(head), document.span(head)),
                None => ("nothing".into(), document.span(form.list)),
            };
            let help = suggest::help("", "forms", FORMS);
            return self.report(RuleError::UnknownForm { found, at, help });
        };
        match head.as_str() {
            "rule" => self.rule_form(form, "rule", &RULE, book, declared),
            "guided" => self.rule_form(form, "rule", &GUIDED, book, declared),
            "ruleset" => self.set_form(form, book, declared),
            "strategy" => self.strategy_form(form, book, declared),
            _ => {
                let at = document.items(form.list).and_then(|items| items.first()).map(|&head| document.span(head));
                let help = suggest::help(head, "forms", FORMS);
                let at = at.unwrap_or_else(|| document.span(form.list));
                self.report(RuleError::UnknownForm { found: format!("`{head}`"), at, help });
            }
        }
    }

    /// The name of a form and its parts, if the form can be read on; `None` also if the name is taken.
    fn begin(
        &mut self,
        form: &Form,
        what: &'static str,
        spec: &'static FormSpec,
        names: &mut IndexMap<Name, Declaration>,
    ) -> Option<(Name, Parts, bool)> {
        let document = self.document;
        if form.unclosed {
            let name = document.items(form.list).and_then(|items| items.get(1)).copied();
            let name = name.and_then(|id| Some((document.word(id)?, document.span(id))));
            let (name, at) = name.filter(|(name, _)| Name::is_valid(name))?;
            declare(names, self.file, self.sink, name, what, at);
            return None;
        }
        let parts = self.parts(form.list, spec);
        let Some(&name_at) = parts.positional.first() else {
            self.missing(&parts, "name");
            return None;
        };
        let at = document.span(name_at);
        let name = self.name(name_at, what)?;
        if form.doc.is_empty() {
            self.report(RuleError::MissingDoc { what, name: name.clone(), at });
        }
        let is_new = declare(names, self.file, self.sink, &name, what, at);
        Some((name, parts, is_new))
    }

    fn rule_form(
        &mut self,
        form: &Form,
        what: &'static str,
        spec: &'static FormSpec,
        book: &mut RuleBook,
        declared: &mut Declared,
    ) {
        let Some((name, parts, is_new)) = self.begin(form, what, spec, &mut declared.rules) else {
            return;
        };
        let kind = match spec.head {
            "rule" => self.pattern_rule(&name, &parts),
            _ => self.guided_rule(&parts),
        };
        let tags = self.tags(&parts);
        if let (Some(kind), true) = (kind, is_new) {
            let (doc, source) = (form.doc.clone(), self.file.source.clone());
            book.rules.insert(name.clone(), Rule { name, doc, kind, tags, span: parts.span, source });
        }
    }

    fn set_form(&mut self, form: &Form, book: &mut RuleBook, declared: &mut Declared) {
        let Some((name, parts, is_new)) = self.begin(form, "rule set", &RULESET, &mut declared.rules) else {
            return;
        };
        let members = self.members(&parts);
        if is_new {
            let (doc, source) = (form.doc.clone(), self.file.source.clone());
            book.sets.insert(name.clone(), RuleSet { name, doc, members, span: parts.span, source });
        }
    }

    fn strategy_form(&mut self, form: &Form, book: &mut RuleBook, declared: &mut Declared) {
        let Some((name, parts, is_new)) = self.begin(form, "strategy", &STRATEGY, &mut declared.strategies) else {
            return;
        };
        let strategy = self.strategy(&name, &form.doc, &parts);
        if is_new {
            book.strategies.insert(name, strategy);
        }
    }
}

/// Makes the set of all rules of a file, unless it has none, or its name is no name, or a form of the file has it.
fn declare_file_set(
    file: File<'_>,
    document: &Document,
    book: &mut RuleBook,
    declared: &mut Declared,
    sink: &mut Sink,
) {
    let stem = stem(&file.source.name);
    let members: Vec<Mention> = declared
        .rules
        .iter()
        .filter(|(_, declaration)| declaration.file_idx == file.idx && declaration.what == "rule")
        .map(|(name, declaration)| Mention { name: name.clone(), span: declaration.at })
        .collect();
    let is_own = declared.rules.get(stem).is_some_and(|declaration| declaration.file_idx == file.idx);
    if !Name::is_valid(stem) || members.is_empty() || is_own {
        return;
    }
    let name = Name::from(stem);
    if declare(&mut declared.rules, file, sink, &name, FILE_SET, Span::default()) {
        let (doc, source) = (document.header.clone(), file.source.clone());
        book.sets.insert(name.clone(), RuleSet { name, doc, members, span: Span::default(), source });
    }
}

/// The name of a file without folders and extensions.
fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.split('.').next().unwrap_or(file)
}
