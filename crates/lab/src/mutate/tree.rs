//! Rules as trees of words, to take apart and put together.

use std::fmt;

/// A word or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Word(String),
    List(Vec<Self>),
}

/// The way to a part: the position in each list from the outside in.
pub(super) type Path = Vec<usize>;

impl Tree {
    /// Reads what a rule prints; `None` if parentheses do not match.
    pub(super) fn read(text: &str) -> Option<Self> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut open: Vec<Vec<Self>> = vec![Vec::new()];
        for word in spaced.split_whitespace() {
            match word {
                "(" => open.push(Vec::new()),
                ")" => {
                    let list = open.pop()?;
                    open.last_mut()?.push(Self::List(list));
                }
                _ => open.last_mut()?.push(Self::Word(word.to_owned())),
            }
        }
        match open.as_slice() {
            [only] if only.len() == 1 => only.first().cloned(),
            _ => None,
        }
    }

    pub(super) fn word(text: &str) -> Self {
        Self::Word(text.to_owned())
    }

    pub(super) fn as_word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::List(_) => None,
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::Word(_) => &[],
            Self::List(items) => items,
        }
    }

    /// The first word of a list.
    pub(super) fn head(&self) -> Option<&str> {
        self.items().first().and_then(Self::as_word)
    }

    pub(super) fn at(&self, path: &[usize]) -> Option<&Self> {
        match path {
            [] => Some(self),
            [first, rest @ ..] => self.items().get(*first)?.at(rest),
        }
    }

    /// The same with another part in one place; `None` takes the part out of its list.
    pub(super) fn with(&self, path: &[usize], part: Option<Self>) -> Self {
        let Self::List(items) = self else { return part.unwrap_or_else(|| self.clone()) };
        let mut items = items.clone();
        match (path, part) {
            ([], Some(part)) => return part,
            ([only], Some(part)) if *only < items.len() => items[*only] = part,
            ([only], None) if *only < items.len() => {
                items.remove(*only);
            }
            ([first, rest @ ..], part) if *first < items.len() => items[*first] = items[*first].with(rest, part),
            _ => {}
        }
        Self::List(items)
    }

    /// The ways to all parts below a place, outer ones first.
    pub(super) fn paths(&self, from: &[usize]) -> Vec<Path> {
        let mut res = vec![from.to_vec()];
        let mut at = 0;
        while at < res.len() {
            let path = res[at].clone();
            let n = self.at(&path).map_or(0, |part| part.items().len());
            res.extend((0..n).map(|idx| [path.as_slice(), &[idx]].concat()));
            at += 1;
        }
        res
    }
}

/// As rule files have it.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::List(items) => {
                f.write_str("(")?;
                for (idx, item) in items.iter().enumerate() {
                    if idx > 0 {
                        f.write_str(" ")?;
                    }
                    item.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_out_and_put_in() {
        let tree = Tree::read("(rule r (+ ?a (* ?b 2)) ?a)").unwrap();
        assert_eq!(tree.at(&[2, 2, 1]).and_then(Tree::as_word), Some("?b"));
        assert_eq!(tree.with(&[2, 2], None).to_string(), "(rule r (+ ?a) ?a)");
        assert_eq!(tree.with(&[3], Some(Tree::word("?b"))).to_string(), "(rule r (+ ?a (* ?b 2)) ?b)");
        assert!(Tree::read("(rule").is_none());
    }
}
