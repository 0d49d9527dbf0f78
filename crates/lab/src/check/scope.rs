//! Bound inames that are loops too: a value that leaves a reduction by mistake depends on an iname that the reduction binds, so a kernel that
//! shows both sides needs two inames where the rule had one.

/// What is added to the name of an iname inside the reductions that bind it.
pub(super) const INNER: &str = "_in";

/// The expression with these inames renamed in the reductions that bind them, and whether there are any.
pub(super) fn renamed(expression: &str, inames: &[&str]) -> (String, bool) {
    let mut text = expression.to_owned();
    let mut is_renamed = false;
    for start in reductions(expression).into_iter().rev() {
        // From the inside out: what is inside of `text` keeps its place, for changes are behind it or within it.
        let Some(end) = closing(&text, start) else { continue };
        let Some((list, _)) = text[start..end].split_once(']') else { continue };
        let bound: Vec<&str> = inames.iter().copied().filter(|iname| words(list).any(|word| word == *iname)).collect();
        if !bound.is_empty() {
            is_renamed = true;
            let inside = with_names(&text[start..end], &bound);
            text.replace_range(start..end, &inside);
        }
    }
    (text, is_renamed)
}

/// The same text with these words renamed.
pub(super) fn with_names(text: &str, names: &[&str]) -> String {
    let is_part = |symbol: char| symbol.is_ascii_alphanumeric() || symbol == '_';
    let mut res = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let n = rest.find(|symbol| is_part(symbol) != is_part(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(n);
        res.push_str(word);
        if names.contains(&word) {
            res.push_str(INNER);
        }
        rest = after;
    }
    res
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|symbol: char| !symbol.is_ascii_alphanumeric() && symbol != '_')
}

/// Where the lists of reductions begin, outer ones first: a bracket after an opening parenthesis or after `reduce(op, `.
fn reductions(text: &str) -> Vec<usize> {
    let is_list = |at: &usize| {
        let before = text[..*at].trim_end_matches(' ');
        before.ends_with('(')
            || (before.ends_with(',') && before.rsplit('(').next().is_some_and(|inside| !inside.contains('[')))
    };
    text.match_indices('[').map(|(at, _)| at).filter(is_list).collect()
}

/// The end of the call that a place is in.
fn closing(text: &str, from: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, symbol) in text[from..].char_indices() {
        match symbol {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(from + at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_reduction_binds_is_renamed() {
        let (text, is_renamed) = renamed("a[q]*sum([q, r], b[q, r]) + reduce(max, [r], c[r, q])", &["q"]);
        assert_eq!(text, "a[q]*sum([q_in, r], b[q_in, r]) + reduce(max, [r], c[r, q])");
        assert!(is_renamed);
        assert!(!renamed("a[q]*b[r]", &["q"]).1);
        assert_eq!(renamed("sum([q], a[q])*sum([q], b[q])", &["q"]).0, "sum([q_in], a[q_in])*sum([q_in], b[q_in])");
    }
}
