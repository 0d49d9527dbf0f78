//! Help for names that are not known: the nearest known one, or the list of them.
//!
//! Source: the Damerau–Levenshtein distance of `strsim`, with the bound of a third of the length that compilers use.

/// Names are listed only up to this many.
const LISTED: usize = 12;

/// Names longer than this are not compared: they are no typing errors.
const COMPARED_CHARS: usize = 64;

/// The help for an unknown `name` of a `kind` (in the plural): a near miss, else the known names.
pub(crate) fn help<'a>(name: &str, kind: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(nearest) = nearest(name, &known) {
        return Some(format!("did you mean `{nearest}`?"));
    }
    if known.is_empty() {
        return Some(format!("no {kind} are known here"));
    }
    let listed: Vec<String> = known.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let listed = listed.join(", ");
    Some(match known.len().saturating_sub(LISTED) {
        0 => format!("known {kind}: {listed}"),
        more => format!("known {kind}: {listed} and {more} more"),
    })
}

/// The known name with the least distance, the first one of several, if it is near enough to be meant.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let n_chars = name.chars().count();
    if !(2..=COMPARED_CHARS).contains(&n_chars) {
        return None;
    }
    let lower = name.to_lowercase();
    known
        .iter()
        .filter(|candidate| candidate.len() > 1)
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), *candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= (n_chars / 3).max(1))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_suggested() {
        let known = ["identities", "constants", "licm"];
        assert_eq!(nearest("identitys", &known), Some("identities"));
        assert_eq!(nearest("LICM", &known), Some("licm"));
        assert_eq!(nearest("limc", &known), Some("licm"));
        assert_eq!(nearest("hoist", &known), None);
    }

    #[test]
    fn others_are_listed() {
        assert_eq!(help("x", "tags", ["a", "b"]).as_deref(), Some("known tags: `a`, `b`"));
        assert_eq!(help("x", "tags", []).as_deref(), Some("no tags are known here"));
        let many: Vec<String> = (0..15).map(|i| format!("name-{i}")).collect();
        let help = help("zzz", "names", many.iter().map(String::as_str)).expect("a list");
        assert!(help.ends_with("`name-11` and 3 more"), "{help}");
    }
}
