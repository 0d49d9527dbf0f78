//! The reader: text to lists, with the comments that document them.
//!
//! # Input
//! Any text.
//! # Output
//! A [`Document`]: an arena of nodes in which children stand before their parents and each subtree is contiguous, the
//! top-level forms with their documentation, and the header comment. Everything that is not a well-formed list is
//! reported; what is left can still be checked.
//! # Method
//! One loop over the characters with a stack of open lists: no recursion. After a missing parenthesis reading
//! resumes where a line begins with a known form, so that one mistake does not hide the rest of the file.
//! # Complexity
//! Linear in the text.

use std::ops::Range;

use nestegg_span::Span;
use num_rational::BigRational;

use crate::comments;
use crate::error::RuleError;
use crate::literal::{self, Atom};
use crate::name::Name;
use crate::report::{File, Sink};

/// The deepest nesting of lists that is read. Rules are written by hand; none comes near it.
pub const MAX_DEPTH: usize = 64;

/// The longest atom, in bytes: enough for any number that a float can be.
pub const MAX_ATOM_BYTES: usize = 400;

/// The heads of top-level forms.
pub(crate) const FORMS: [&str; 4] = ["rule", "guided", "ruleset", "strategy"];

/// A position in the nodes of a [`Document`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

/// A file as lists.
pub(crate) struct Document {
    nodes: Vec<Node>,
    pub(crate) forms: Vec<Form>,
    /// The comment at the top of the file.
    pub(crate) header: String,
}

/// A list or an atom.
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) kind: NodeKind,
}

pub(crate) enum NodeKind {
    /// A list, and the first node of its subtree (its own id if it is empty).
    List {
        items: Vec<NodeId>,
        first: NodeId,
    },
    Variable(Name),
    Rest(Name),
    Key(Name),
    Number(BigRational),
    Word(Name),
    /// Something that was reported already.
    Broken,
}

/// A top-level list.
pub(crate) struct Form {
    pub(crate) list: NodeId,
    /// The comment directly above.
    pub(crate) doc: String,
    /// Whether a parenthesis is missing, so that nothing but the name can be trusted.
    pub(crate) unclosed: bool,
}

impl Document {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn span(&self, id: NodeId) -> Span {
        self.node(id).span
    }

    /// The items of a list; `None` for an atom.
    pub(crate) fn items(&self, id: NodeId) -> Option<&[NodeId]> {
        match &self.node(id).kind {
            NodeKind::List { items, .. } => Some(items),
            _ => None,
        }
    }

    /// The text of a word; `None` for anything else.
    pub(crate) fn word(&self, id: NodeId) -> Option<&Name> {
        match &self.node(id).kind {
            NodeKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn is_broken(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, NodeKind::Broken)
    }

    /// The nodes of a subtree, children before parents, `root` last.
    pub(crate) fn subtree(&self, root: NodeId) -> Subtree {
        let first = match self.node(root).kind {
            NodeKind::List { first, .. } => first,
            _ => root,
        };
        Subtree(first.0..root.0 + 1)
    }

    /// The node as a phrase for messages.
    pub(crate) fn describe(&self, id: NodeId) -> String {
        match &self.node(id).kind {
            NodeKind::List { .. } => "a list".into(),
            NodeKind::Variable(name) => format!("the variable `?{name}`"),
            NodeKind::Rest(name) => format!("the rest variable `?{name}...`"),
            NodeKind::Key(name) => format!("the key `:{name}`"),
            NodeKind::Number(value) => format!("the number `{value}`"),
            NodeKind::Word(word) => format!("the word `{word}`"),
            NodeKind::Broken => "text that cannot be read".into(),
        }
    }
}

/// The ids of a subtree.
pub(crate) struct Subtree(Range<u32>);

impl Subtree {
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        self.0.clone().map(NodeId)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The position of `id`, which is in the subtree, counted from its first node.
    pub(crate) fn index(&self, id: NodeId) -> usize {
        (id.0 - self.0.start) as usize
    }
}

/// Reads `file`; what is wrong goes to `sink`.
pub(crate) fn read(file: File<'_>, sink: &mut Sink) -> Document {
    let mut reader = Reader {
        file,
        sink,
        document: Document { nodes: Vec::new(), forms: Vec::new(), header: String::new() },
        open: Vec::new(),
        doc: String::new(),
        at: 0,
    };
    reader.run();
    reader.document
}

/// A list that is being read.
struct Open {
    at: Span,
    first: NodeId,
    items: Vec<NodeId>,
}

struct Reader<'a> {
    file: File<'a>,
    sink: &'a mut Sink,
    document: Document,
    open: Vec<Open>,
    /// The documentation of the form being read.
    doc: String,
    at: usize,
}

impl Reader<'_> {
    fn run(&mut self) {
        let text = self.file.source.text.clone();
        if text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        while let Some(c) = text[self.at..].chars().next() {
            match c {
                '(' => self.open_list(&text),
                ')' => self.close_list(),
                ';' => self.at = text[self.at..].find('\n').map_or(text.len(), |end| self.at + end),
                c if c.is_whitespace() => self.at += c.len_utf8(),
                _ => self.atom(&text),
            }
        }
        self.close_broken(None);
        if self.document.forms.is_empty() {
            self.document.header = comments::header(&text);
        }
    }

    fn open_list(&mut self, text: &str) {
        let at = Span::from_range(self.at..self.at + 1);
        if !self.open.is_empty() && begins_form(text, self.at) {
            self.close_broken(Some(at));
        }
        if self.open.len() == MAX_DEPTH {
            self.sink.push(&self.file, RuleError::TooDeep { at, max: MAX_DEPTH });
            self.skip_list(text);
            return;
        }
        if self.open.is_empty() {
            self.document_form(&text[..self.at]);
        }
        let first = self.next_id();
        self.open.push(Open { at, first, items: Vec::new() });
        self.at += 1;
    }

    /// Passes over a list that is too deep, up to its end or the next form.
    fn skip_list(&mut self, text: &str) {
        let start = self.at;
        let mut depth = 0usize;
        let mut in_comment = false;
        for (offset, c) in text[start..].char_indices() {
            self.at = start + offset;
            match c {
                '\n' => in_comment = false,
                ';' => in_comment = true,
                '(' if !in_comment && offset > 0 && begins_form(text, self.at) => break,
                '(' if !in_comment => depth += 1,
                ')' if !in_comment => depth -= 1,
                _ => {}
            }
            self.at += c.len_utf8();
            if depth == 0 {
                break;
            }
        }
        self.push_node(Span::from_range(start..self.at), NodeKind::Broken);
    }

    fn close_list(&mut self) {
        let at = Span::from_range(self.at..self.at + 1);
        self.at += 1;
        match self.open.pop() {
            Some(open) => self.finish_list(open, at, false),
            None => self.sink.push(&self.file, RuleError::UnopenedList { at }),
        }
    }

    /// Reports the lists that are still open where `next` begins, or at the end of the text, and closes them.
    fn close_broken(&mut self, next: Option<Span>) {
        let Some(innermost) = self.open.last() else {
            return;
        };
        let error = RuleError::UnclosedList { at: innermost.at, next };
        self.sink.push(&self.file, error);
        let end = next.map_or(self.file.source.end(), |next| Span::point(next.start));
        while let Some(open) = self.open.pop() {
            self.finish_list(open, end, true);
        }
    }

    fn finish_list(&mut self, open: Open, end: Span, unclosed: bool) {
        let kind = NodeKind::List { items: open.items, first: open.first };
        let list = self.push_node(open.at.to(end), kind);
        if self.open.is_empty() {
            let doc = std::mem::take(&mut self.doc);
            self.document.forms.push(Form { list, doc, unclosed });
        }
    }

    fn atom(&mut self, text: &str) {
        let rest = &text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ';'));
        let atom = &rest[..end.unwrap_or(rest.len())];
        let at = Span::from_range(self.at..self.at + atom.len());
        self.at += atom.len();
        let kind = if self.open.is_empty() {
            Err(RuleError::OutsideForm { at })
        } else if atom.len() > MAX_ATOM_BYTES {
            Err(RuleError::LongAtom { at, max: MAX_ATOM_BYTES })
        } else {
            literal::classify(atom, at).map(NodeKind::from)
        };
        let kind = kind.unwrap_or_else(|error| {
            self.sink.push(&self.file, error);
            NodeKind::Broken
        });
        self.push_node(at, kind);
    }

    /// Keeps the comment above the form that begins after `before`, and the header in front of the first one.
    fn document_form(&mut self, before: &str) {
        let first_form = self.document.forms.is_empty();
        let (doc, header) = comments::above(before, first_form);
        self.doc = doc;
        if first_form {
            self.document.header = header;
        }
    }

    fn next_id(&self) -> NodeId {
        // Spans saturate at the same size, and no text holds more nodes than bytes.
        NodeId(u32::try_from(self.document.nodes.len()).unwrap_or(u32::MAX))
    }

    fn push_node(&mut self, span: Span, kind: NodeKind) -> NodeId {
        let id = self.next_id();
        self.document.nodes.push(Node { span, kind });
        if let Some(open) = self.open.last_mut() {
            open.items.push(id);
        }
        id
    }
}

impl From<Atom> for NodeKind {
    fn from(atom: Atom) -> Self {
        match atom {
            Atom::Variable(name) => Self::Variable(name),
            Atom::Rest(name) => Self::Rest(name),
            Atom::Key(name) => Self::Key(name),
            Atom::Number(value) => Self::Number(value),
            Atom::Word(word) => Self::Word(word),
        }
    }
}

/// Whether the parenthesis at `at` begins a line and a top-level form.
fn begins_form(text: &str, at: usize) -> bool {
    let begins_line = at == 0 || text.as_bytes()[at - 1] == b'\n';
    let head = text[at + 1..].split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ';')).next();
    begins_line && head.is_some_and(|head| FORMS.contains(&head))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use nestegg_span::Source;

    use super::*;

    /// Shows the header, then each form's documentation and size.
    fn check(text: &str, expected: Expect) {
        let mut sink = Sink::default();
        let document = read(File { source: &Source::new("t.rules", text), idx: 0 }, &mut sink);
        let mut out = format!("header: {:?}\n", document.header);
        for form in &document.forms {
            let n_items = document.items(form.list).map_or(0, <[NodeId]>::len);
            out += &format!("{:?} {n_items} items{}\n", form.doc, if form.unclosed { ", unclosed" } else { "" });
        }
        for error in sink.finish().map_or_else(|errors| errors.errors, |()| Vec::new()) {
            out += &format!("{error}\n");
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn header_and_documentation() {
        check(
            ";; Header.\n;; More.\n\n;; One.\n(rule a)  ; not this\n\n;; Stray.\n\n;; Two,\n;; and two.\n(rule b 1)\n",
            expect![[r#"
                header: "Header.\nMore."
                "One." 2 items
                "Two,\nand two." 3 items
            "#]],
        );
    }

    #[test]
    fn header_and_documentation_in_one_block() {
        check(
            ";; Header.\n;;\n;; One.\n(rule a)\n(rule b)",
            expect![[r#"
            header: "Header."
            "One." 2 items
            "" 2 items
        "#]],
        );
    }

    #[test]
    fn documentation_only() {
        check(
            "\u{feff};; One.\r\n(rule a)",
            expect![[r#"
            header: ""
            "One." 2 items
        "#]],
        );
        check(
            "; Header.\n\n; More.\n",
            expect![[r#"
            header: "Header.\n\nMore."
        "#]],
        );
    }

    #[test]
    fn comments_hold_parentheses() {
        check(
            "(a ; (\n b) (c)",
            expect![[r#"
            header: ""
            "" 2 items
            "" 1 items
        "#]],
        );
    }

    #[test]
    fn reading_resumes_at_the_next_form() {
        check(
            ";; One.\n(rule a (+ ?x\n;; Two.\n(rule b)\n)",
            expect![[r#"
            header: ""
            "One." 3 items, unclosed
            "Two." 2 items
            this list is not closed
            this parenthesis closes nothing
        "#]],
        );
    }

    #[test]
    fn deep_lists_are_skipped() {
        let deep = format!("(rule {}x{})\n(rule b)", "(".repeat(100_000), ")".repeat(100_000));
        check(
            &deep,
            expect![[r#"
            header: ""
            "" 2 items
            "" 2 items
            lists nest deeper than 64
        "#]],
        );
    }
}
