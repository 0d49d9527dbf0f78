//! Mutants that no check can kill, by proof.
//!
//! # Method
//! Both sides are brought to a normal form by laws that hold for all values: sums, products, minima and maxima have no order and no nesting, and
//! extrema no repetition; an operation of one operand is the operand; nothing added is 0, nothing multiplied is 1; magnitudes, squares
//! and conditions know no sign. A mutant is proved
//!
//! - *the same* if its sides are those of its origin, or of another rule that is trusted, under the same conditions;
//! - *idle* if its sides are equal to each other, so that it says nothing;
//! - *idle where it is new* if it lacks one `(some ?xs...)`, and its sides are equal to each other where `?xs...` is empty;
//! - *a case of its origin* if it lacks one `(some ?xs...)`, and both sides have `?xs...` in sums, or in products, only: none of them is
//!   then worth as much as one that is 0, or 1, which depends on no iname, and of which the origin speaks too.

use std::collections::BTreeSet;

use super::Mutant;
use super::tree::Tree;

/// Why a mutant of a sound rule is sound, if that can be proved with the texts of rules that are trusted.
#[must_use]
pub fn proof(trusted: &[String], origin: &str, mutant: &Mutant) -> Option<&'static str> {
    let (origin, broken) = (Tree::read(origin)?, Tree::read(&mutant.text)?);
    let (of_origin, of_mutant) = (sides(&origin, &[])?, sides(&broken, &[])?);
    let (before, after) = (conditions(&origin), conditions(&broken));
    if mutant.family == "tag-strengthened" {
        return None;
    }
    let is_same = |tree: &Tree| sides(tree, &[]).is_some_and(|own| own == of_mutant) && conditions(tree) == after;
    if is_same(&origin) || trusted.iter().filter_map(|text| Tree::read(text)).any(|tree| is_same(&tree)) {
        return Some("the same");
    }
    if of_mutant[0] == of_mutant[1] {
        return Some("idle");
    }
    if of_origin == of_mutant && after.is_subset(&before) {
        let dropped: Vec<&String> = before.difference(&after).collect();
        let [only] = dropped.as_slice() else { return None };
        let name = some_of(only)?;
        let [left, right] = sides(&broken, std::slice::from_ref(&name))?;
        if left == right {
            return Some("idle where it is new");
        }
        if is_neutral(&broken, &name) {
            return Some("a case of its origin");
        }
    }
    None
}

/// Both sides in normal form, where some rest variables are empty, and those that the condition says are.
fn sides(tree: &Tree, empty: &[String]) -> Option<[Tree; 2]> {
    let tests = conditions(tree);
    let none = tests.iter().filter_map(|test| some_of(test.strip_prefix("(not ")?.strip_suffix(')')?));
    let empty: Vec<String> = empty.iter().cloned().chain(none).collect();
    let empty = empty.as_slice();
    Some([normal(tree.at(&[2])?, empty), normal(tree.at(&[3])?, empty)])
}

/// The parts of the condition, and the tests of children.
fn conditions(tree: &Tree) -> BTreeSet<String> {
    let items = tree.items();
    let mut res: BTreeSet<String> = BTreeSet::new();
    for path in tree.paths(&[2]) {
        res.extend(tree.at(&path).filter(|part| is_filter(part)).map(ToString::to_string));
    }
    let at = items.iter().position(|item| item.as_word() == Some(":when"));
    match at.and_then(|at| items.get(at + 1)) {
        Some(condition) if condition.head() == Some("and") => {
            res.extend(condition.items()[1..].iter().map(ToString::to_string));
        }
        condition => res.extend(condition.map(ToString::to_string)),
    }
    res
}

/// Whether this is `(?xs... test)`.
fn is_filter(part: &Tree) -> bool {
    let is_test = |item: &Tree| item.as_word().is_some_and(|word| !word.starts_with('?'));
    part.head().is_some_and(|head| head.starts_with('?') && head.ends_with("..."))
        && part.items().get(1).is_some_and(is_test)
}

/// Whether a rest variable stands in lists of one operation alone, a sum or a product, with no test but that it is free of inames.
fn is_neutral(tree: &Tree, name: &str) -> bool {
    let mut operators: BTreeSet<&str> = BTreeSet::new();
    for path in [[2], [3]].iter().flat_map(|side| tree.paths(side)) {
        let Some(part) = tree.at(&path) else { return false };
        let is_own = part.as_word() == Some(name);
        let Some((&at, parent)) = path.split_last() else { return false };
        let Some(list) = tree.at(parent) else { return false };
        match list.head() {
            _ if !is_own => {}
            Some(operator @ ("+" | "*")) => {
                operators.insert(operator);
            }
            // `(?xs... free-of …)`: the list around it counts.
            Some(head) if head == name && at == 0 => {
                let around = path.len().checked_sub(2).and_then(|n| tree.at(&path[..n])).and_then(Tree::head);
                match (list.items().get(1).and_then(Tree::as_word), around) {
                    (Some("free-of"), Some(operator @ ("+" | "*"))) => {
                        operators.insert(operator);
                    }
                    _ => return false,
                }
            }
            _ => return false,
        }
    }
    let is_free = |test: &String| test.starts_with(&format!("({name} free-of"));
    let is_asked = |test: &String| test.contains(name) && !test.starts_with("(nonnegative ") && !is_free(test);
    operators.len() == 1 && !conditions(tree).iter().any(is_asked)
}

/// The variable of `(some ?xs...)`.
fn some_of(test: &str) -> Option<String> {
    Some(test.strip_prefix("(some ")?.strip_suffix(')')?.to_owned())
}

/// A reduction: one in another of its kind is one with it, and a size is no part of a sum's body.
fn reduction(operator: &Tree, inames: &[Tree], body: Tree) -> Tree {
    let mut inames = inames.to_vec();
    let mut body = body;
    if let (true, [_, Tree::List(inner), nested]) = (body.head() == operator.as_word(), body.items())
        && inner.iter().all(|name| name.as_word().is_some_and(|word| word.starts_with('?')))
    {
        inames.extend(inner.iter().cloned());
        body = nested.clone();
    }
    inames.sort_by_key(ToString::to_string);
    let whole = |body: Tree| Tree::List(vec![operator.clone(), Tree::List(inames.clone()), body]);
    if operator.as_word() == Some("sum") && body.head() == Some("*") {
        let is_size = |item: &Tree| item.head() == Some("size");
        let (sizes, others): (Vec<Tree>, Vec<Tree>) = body.items()[1..].iter().cloned().partition(is_size);
        if !sizes.is_empty() {
            let inner = match others.as_slice() {
                [only] => only.clone(),
                _ => Tree::List([vec![Tree::word("*")], others].concat()),
            };
            let mut factors = [sizes, vec![whole(inner)]].concat();
            factors.sort_by_key(ToString::to_string);
            return Tree::List([vec![Tree::word("*")], factors].concat());
        }
    }
    whole(body)
}

/// The normal form, where some rest variables are empty. Recursion is as deep as the pattern.
fn normal(tree: &Tree, empty: &[String]) -> Tree {
    let Tree::List(items) = tree else { return tree.clone() };
    let head = tree.head().unwrap_or_default();
    // `(?xs... test)` holds what the variable holds.
    if is_filter(tree) {
        return Tree::word(head);
    }
    let is_reduction = matches!(items.as_slice(), [_, Tree::List(inames), _]
        if matches!(head, "sum" | "product" | "min" | "max") && inames.iter().all(|name| name.as_word().is_some_and(|word| word.starts_with('?'))) && !inames.is_empty());
    if is_reduction {
        let body = normal(&items[2], empty);
        return match (head, body.as_word()) {
            ("sum", Some("0")) => Tree::word("0"),
            ("product", Some("1")) => Tree::word("1"),
            _ => reduction(&items[0], items[1].items(), body),
        };
    }
    let neutral = match head {
        "+" => Some("0"),
        "*" => Some("1"),
        _ => None,
    };
    let is_gone = |item: &Tree| match item {
        Tree::Word(word) => empty.contains(word),
        Tree::List(inner) => match item.head() {
            Some("each" | "open" | "reciprocals" | "inverse") => {
                inner.get(1).and_then(Tree::as_word).is_some_and(|word| empty.iter().any(|known| known == word))
            }
            Some(word) => empty.iter().any(|known| known == word),
            None => false,
        },
    };
    let mut own: Vec<Tree> = Vec::new();
    for item in items[1..].iter().filter(|item| !is_gone(item)) {
        let item = normal(item, empty);
        if neutral.is_none() || item.as_word() != neutral {
            own.push(item);
        }
    }
    if matches!(head, "+" | "*" | "min" | "max") {
        let flat = own.into_iter().flat_map(|item| match &item {
            Tree::List(inner) if item.head() == Some(head) => inner[1..].to_vec(),
            _ => vec![item],
        });
        own = flat.collect();
    }
    let negated = |item: &Tree| match (item.head(), item.items()) {
        (Some("-"), [_, inner]) => Some(inner.clone()),
        _ => None,
    };
    let unsigned = |item: &Tree| match (item.head(), item.items()) {
        (Some("-" | "fabs"), [_, inner]) => Some(inner.clone()),
        _ => None,
    };
    match (head, own.as_mut_slice()) {
        ("if", [condition, ..]) => {
            if let Some(inner) = negated(condition) {
                *condition = inner;
            }
        }
        ("fabs", [operand]) => {
            if let Some(inner) = unsigned(operand) {
                *operand = inner;
            }
        }
        ("**", [base, exponent]) if exponent.as_word() == Some("2") => {
            if let Some(inner) = unsigned(base) {
                *base = inner;
            }
        }
        _ => {}
    }
    match (head, own.as_slice()) {
        ("-", [only]) if only.as_word() == Some("0") => return only.clone(),
        ("/", [a, b]) if a == b && a.as_word() == Some("1") => return a.clone(),
        ("+" | "*", []) => return Tree::word(neutral.unwrap_or_default()),
        // A rest variable may stand for several operands or none, so that the operation stays.
        ("+" | "*" | "min" | "max", [only]) if !only.as_word().is_some_and(|word| word.ends_with("...")) => {
            return only.clone();
        }
        ("**", [base, _]) if base.as_word() == Some("1") => return Tree::word("1"),
        ("+" | "*" | "min" | "max" | "and" | "or", _) => own.sort_by_key(ToString::to_string),
        _ => {}
    }
    if matches!(head, "min" | "max" | "and" | "or") {
        own.dedup();
    }
    own.insert(0, items[0].clone());
    Tree::List(own)
}
