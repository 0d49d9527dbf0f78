//! The words of a rule file, and what each defines: also of a file that is not right, as files are while one writes.

use nestegg_span::Span;

/// The forms that define a name.
const DEFINING: [&str; 5] = ["rule", "guided", "ruleset", "strategy", "phase"];

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// It, without the points of a rest variable and the colon of a key.
    pub(super) text: &'a str,
    /// Its place.
    pub(super) span: Span,
    /// The form at the top level that it is in, by number.
    form: usize,
    /// Whether it is the name that a form defines.
    pub(super) is_defined_here: bool,
}

/// The words of a text outside of comments, in order.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut res: Vec<Word<'_>> = Vec::new();
    let (mut depth, mut form) = (0_usize, 0);
    // Whether a list has just been opened, and whether its head defines what comes next.
    let (mut is_head, mut defines) = (false, false);
    let mut rest = 0;
    while let Some(symbol) = text[rest..].chars().next() {
        let end = match symbol {
            ';' => text[rest..].find('\n').map_or(text.len(), |newline| rest + newline),
            '(' => {
                form += usize::from(depth == 0);
                depth += 1;
                (is_head, defines) = (true, false);
                rest + 1
            }
            ')' => {
                depth = depth.saturating_sub(1);
                (is_head, defines) = (false, false);
                rest + 1
            }
            symbol if symbol.is_whitespace() => rest + symbol.len_utf8(),
            _ => {
                let is_end = |symbol: char| symbol.is_whitespace() || "();".contains(symbol);
                let end = text[rest..].find(is_end).map_or(text.len(), |len| rest + len);
                let whole = &text[rest..end];
                let start = rest + usize::from(whole.starts_with(':'));
                let word = text[start..end].strip_suffix("...").unwrap_or(&text[start..end]);
                let span = Span::from_range(start..start + word.len());
                res.push(Word { text: word, span, form, is_defined_here: defines });
                defines = is_head && DEFINING.contains(&whole);
                is_head = false;
                end
            }
        };
        rest = end;
    }
    res
}

/// The word at a byte, or one that ends there.
pub(super) fn at(text: &str, offset: usize) -> Option<Word<'_>> {
    words(text).into_iter().find(|word| word.span.start as usize <= offset && offset <= word.span.end as usize)
}

/// Where a name is defined.
pub(super) fn definition(text: &str, name: &str) -> Option<Span> {
    words(text).into_iter().find(|word| word.is_defined_here && word.text == name).map(|word| word.span)
}

/// Where the variable of a word is bound: its first place in the form.
pub(super) fn binding(text: &str, variable: &Word<'_>) -> Option<Span> {
    let is_it = |word: &Word<'_>| word.form == variable.form && word.text == variable.text;
    words(text).into_iter().find(is_it).map(|word| word.span)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "; (rule no ?x)\n(rule factor (+ (* ?a ?c) ?rest...) (* ?c ?a ?rest...) :tag reassociate)\n(ruleset all factor)\n(rule broken (";

    fn spans(word: &str) -> Vec<usize> {
        words(TEXT).iter().filter(|found| found.text == word).map(|found| found.span.start as usize).collect()
    }

    #[test]
    fn words_are_found_in_broken_files_too() {
        assert_eq!(spans("no"), Vec::<usize>::new());
        assert_eq!(spans("factor").len(), 2);
        assert_eq!(definition(TEXT, "factor").map(|span| span.start as usize), Some(spans("factor")[0]));
        assert_eq!(definition(TEXT, "broken").map(|span| span.start as usize), Some(spans("broken")[0]));
        assert_eq!(definition(TEXT, "reassociate"), None);
        assert_eq!(spans("tag").len(), 1, "the colon of a key is not part of it");
    }

    #[test]
    fn variables_are_bound_where_they_stand_first() {
        let rest = spans("?rest");
        let last = at(TEXT, rest[1] + 2).unwrap();
        assert_eq!(last.text, "?rest");
        assert_eq!(binding(TEXT, &last).map(|span| span.start as usize), Some(rest[0]));
        assert_eq!(at(TEXT, 0), None, "a comment has no words");
    }
}
