//! Warnings about rules that are well formed and yet do not do what their writer expects.
//!
//! # Input
//! A book of rules, and which of them are asked about.
//! # Output
//! For each rule: variables that nothing uses; parts of left sides that the normal form of sums and products never has, with what stands
//! there instead; values that go into a reduction, or out of one, without a condition that they are free of its inames; a rule that
//! applies to what it makes, with ever larger forms; a rule that adds nothing to another one.
//! # Complexity
//! Linear in each rule; pairs of rules for the last.
//! # Not done
//! Whether a rule is true: that is for the [judge](crate::judge), which sees it fire. Rules that grow only together show where they run, which is for the
//! laboratory.

use std::collections::BTreeMap;
use std::sync::Arc;

use miette::NamedSource;
use nestegg_rules::{InameVariable, Name, Pattern, PatternId, PatternNode, Rule, RuleBook, RuleKind, Test};
use nestegg_span::Span;
use num_traits::{One, Zero};

/// Something about a rule that its writer may not have meant.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("rule `{rule}`: {what}")]
#[diagnostic(code(rules::warning), severity(Warning), help("{help}"))]
pub struct Warning {
    /// The rule.
    pub rule: String,
    /// What is noticed, as a clause.
    pub what: String,
    /// What to do.
    pub help: String,
    #[source_code]
    file: NamedSource<Arc<str>>,
    #[label("here")]
    at: Span,
}

/// The warnings about some rules of a book, in their order.
pub fn lint(book: &RuleBook, is_asked: impl Fn(&Rule) -> bool) -> Vec<Warning> {
    let mut res = Vec::new();
    let mut earlier: Vec<&Rule> = Vec::new();
    for rule in book.rules.values() {
        if is_asked(rule) {
            let mut warn = |at: Span, what: String, help: String| {
                res.push(Warning { rule: rule.name.to_string(), what, help, file: rule.source.named_source(), at });
            };
            if let RuleKind::Pattern { lhs, rhs, is_two_way, .. } = &rule.kind {
                unused(rule, &mut warn);
                hidden(lhs, &mut warn);
                if *is_two_way {
                    hidden(rhs, &mut warn);
                }
                moved(rule, &mut warn);
                growth(rule).into_iter().for_each(|(at, what, help)| warn(at, what, help));
                if let Some(general) = earlier.iter().find(|general| covers(general, rule)) {
                    let what = format!("`{}` gives the same forms wherever this rule applies", general.name);
                    warn(rule.span, what, "remove one of the two, or its condition".to_owned());
                }
            }
        }
        earlier.push(rule);
    }
    res
}

/// Variables that occur once, but for those whose names say so.
fn unused(rule: &Rule, warn: &mut impl FnMut(Span, String, String)) {
    let RuleKind::Pattern { lhs, rhs, when, .. } = &rule.kind else { return };
    let mut uses: BTreeMap<&Name, (usize, Option<Span>)> = BTreeMap::new();
    for (pattern, is_left) in [(lhs, true), (rhs, false)] {
        for (id, node) in pattern.nodes() {
            for name in names(node) {
                let entry = uses.entry(name).or_default();
                entry.0 += 1;
                entry.1 = entry.1.or(is_left.then(|| pattern.span(id)));
            }
        }
    }
    for name in when.iter().flat_map(|when| when.tests()).flat_map(Test::variables) {
        uses.entry(name).or_default().0 += 1;
    }
    for (name, (n, at)) in uses {
        if let (1, Some(at), false) = (n, at, name.starts_with('_')) {
            let help =
                format!("use it on the right side or in the condition, or call it `?_{name}` if it is to be dropped");
            warn(at, format!("nothing uses `?{name}`"), help);
        }
    }
}

/// The variables that a node itself names.
fn names(node: &PatternNode) -> Vec<&Name> {
    match node {
        PatternNode::Variable(name) | PatternNode::Rest(name) | PatternNode::Spread { rest: name, .. } => vec![name],
        PatternNode::Each { rest, .. } => vec![rest],
        PatternNode::Filtered { rest, test } => [rest].into_iter().chain(test.variables()).collect(),
        PatternNode::Reduce { inames, .. } | PatternNode::Size(inames) => {
            inames.iter().map(InameVariable::name).collect()
        }
        PatternNode::Number(_) | PatternNode::Apply { .. } => Vec::new(),
    }
}

/// Parts of a left side that are in another form when rules look for them.
fn hidden(lhs: &Pattern, warn: &mut impl FnMut(Span, String, String)) {
    for (id, node) in lhs.nodes() {
        let PatternNode::Apply { operator, children } = node else { continue };
        let text = |id: PatternId| part(lhs, id);
        let is = |id: PatternId, test: fn(&num_rational::BigRational) -> bool| matches!(lhs.node(id), PatternNode::Number(value) if test(value));
        let any = |test: fn(&num_rational::BigRational) -> bool| children.iter().any(|&child| is(child, test));
        let is_pair = children.len() == 2 && text(children[0]) == text(children[1]);
        let all_numbers = children.iter().all(|&child| matches!(lhs.node(child), PatternNode::Number(_)));
        let inside = match children.as_slice() {
            [child] => match lhs.node(*child) {
                PatternNode::Apply { operator, children } if children.len() == 1 => {
                    Some((operator.as_str(), children[0]))
                }
                _ => None,
            },
            _ => None,
        };
        let instead = match operator.as_str() {
            "+" | "*" | "-" | "/" | "**" if all_numbers => "numbers are computed: write the result".to_owned(),
            "+" | "-" if any(Zero::is_zero) => "a term that is 0 is dropped: write the other one".to_owned(),
            "*" if any(Zero::is_zero) => "a product with 0 is 0".to_owned(),
            "*" | "/" if any(One::is_one) && !(operator.as_str() == "/" && is(children[0], One::is_one)) => {
                "a factor that is 1 is dropped: write the other one".to_owned()
            }
            "**" if children.len() == 2 && (is(children[1], One::is_one) || is(children[1], Zero::is_zero)) => {
                "such a power is its base, or 1".to_owned()
            }
            "-" if is_pair => "it is 0".to_owned(),
            "/" if is_pair => "it is 1".to_owned(),
            "min" | "max" if is_pair => format!("equal operands are one: it is {}", text(children[0])),
            "-" if inside.is_some_and(|(operator, _)| operator == "-") => {
                let (_, inner) = inside.unwrap_or(("", id));
                format!("two negations are none: it is {}", text(inner))
            }
            "*" | "+" => match mixed(lhs, operator.as_str(), children) {
                Some(base) if operator.as_str() == "*" => {
                    format!("powers of `{base}` are one power: add the exponents")
                }
                Some(base) => format!("multiples of `{base}` are one multiple: add the numbers"),
                None => continue,
            },
            _ => continue,
        };
        warn(lhs.span(id), format!("`{}` never stands in an e-graph", text(id)), instead);
    }
}

/// What several children of a product are different powers of, or of a sum different multiples.
fn mixed(lhs: &Pattern, operator: &str, children: &[PatternId]) -> Option<String> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for &child in children {
        let base = match lhs.node(child) {
            PatternNode::Variable(_) => child,
            PatternNode::Apply { operator: inner, children } if children.len() == 2 => match (operator, inner.as_str())
            {
                ("*", "**") if matches!(lhs.node(children[1]), PatternNode::Number(_)) => children[0],
                ("+", "*") if matches!(lhs.node(children[0]), PatternNode::Number(_)) => children[1],
                ("+", "*") if matches!(lhs.node(children[1]), PatternNode::Number(_)) => children[0],
                _ => continue,
            },
            _ => continue,
        };
        let (base, whole) = (part(lhs, base), part(lhs, child));
        if seen.insert(base.clone(), whole.clone()).is_some_and(|known| known != whole) {
            return Some(base);
        }
    }
    None
}

/// A part of a pattern as text.
fn part(pattern: &Pattern, id: PatternId) -> String {
    let list = |ids: &[PatternId]| ids.iter().map(|&id| part(pattern, id)).collect::<Vec<String>>().join(" ");
    match pattern.node(id) {
        PatternNode::Variable(name) => format!("?{name}"),
        PatternNode::Rest(name) => format!("?{name}..."),
        PatternNode::Filtered { rest, test } => format!("(?{rest}... {test})"),
        PatternNode::Number(value) => value.to_string(),
        PatternNode::Apply { operator, children } => format!("({operator} {})", list(children)),
        PatternNode::Reduce { operator, inames, body } => {
            let inames: Vec<String> = inames.iter().map(ToString::to_string).collect();
            format!("({operator} ({}) {})", inames.join(" "), part(pattern, *body))
        }
        PatternNode::Each { rest, body } => format!("(each ?{rest}... {})", part(pattern, *body)),
        PatternNode::Spread { function, rest } => format!("({function} ?{rest}...)"),
        PatternNode::Size(inames) => {
            format!("(size {})", inames.iter().map(ToString::to_string).collect::<Vec<String>>().join(" "))
        }
    }
}

/// For each variable for values the inames of the reductions around it: once for each place.
fn around(pattern: &Pattern) -> BTreeMap<&Name, Vec<Vec<&Name>>> {
    let mut res: BTreeMap<&Name, Vec<Vec<&Name>>> = BTreeMap::new();
    let mut pending: Vec<(PatternId, Vec<&Name>)> = vec![(pattern.root(), Vec::new())];
    while let Some((id, bound)) = pending.pop() {
        match pattern.node(id) {
            PatternNode::Variable(name)
            | PatternNode::Rest(name)
            | PatternNode::Filtered { rest: name, .. }
            | PatternNode::Spread { rest: name, .. } => res.entry(name).or_default().push(bound),
            PatternNode::Each { body, .. } => pending.push((*body, bound)),
            PatternNode::Reduce { inames, body, .. } => {
                let own = inames.iter().map(InameVariable::name);
                pending.push((*body, bound.into_iter().chain(own).collect()));
            }
            PatternNode::Apply { children, .. } => {
                pending.extend(children.iter().map(|&child| (child, bound.clone())));
            }
            PatternNode::Number(_) | PatternNode::Size(_) => {}
        }
    }
    res
}

/// Values that go into a reduction or out of one, though nothing says that they may.
fn moved(rule: &Rule, warn: &mut impl FnMut(Span, String, String)) {
    let RuleKind::Pattern { lhs, rhs, when, .. } = &rule.kind else { return };
    // What is said to be free of what: in the condition, as tests of children, or by what tables add up to.
    let mut free: Vec<(&Name, &Name)> = Vec::new();
    let asked = when.iter().flat_map(|when| when.tests());
    for test in asked.filter(|test| matches!(test.name.as_str(), "free-of" | "invariant" | "constant" | "total")) {
        let names: Vec<&Name> = test.variables().collect();
        free.extend(names.iter().skip(1).map(|&other| (names[0], other)));
        if names.len() == 1 {
            return;
        }
    }
    for (_, node) in lhs.nodes() {
        if let PatternNode::Filtered { rest, test } = node
            && test.name.as_str() == "free-of"
        {
            free.extend(test.variables().map(|other| (rest, other)));
        }
    }
    let (before, after) = (around(lhs), around(rhs));
    for (name, places) in &after {
        let Some(first) = before.get(name).and_then(|places| places.first()) else { continue };
        for place in places {
            let entered = place.iter().find(|iname| !first.contains(iname) && !free.contains(&(name, **iname)));
            let left = first.iter().find(|iname| !place.contains(iname) && !free.contains(&(name, **iname)));
            let (iname, how) = match (entered, left) {
                (Some(iname), _) => (iname, "goes into a reduction"),
                (None, Some(iname)) => (iname, "leaves a reduction"),
                (None, None) => continue,
            };
            let help =
                format!("add `(free-of ?{name} ?{iname})` to the condition, with dots where the variables have them");
            warn(rule.span, format!("`?{name}` {how} over `?{iname}`, and may depend on it"), help);
            break;
        }
    }
}

/// Whether a rule applies to what it makes, with ever larger forms.
#[must_use]
pub fn grows(rule: &Rule) -> bool {
    !growth(rule).is_empty()
}

/// Where a rule grows, in what words, and what to do: once for each side that it matches.
fn growth(rule: &Rule) -> Vec<(Span, String, String)> {
    let RuleKind::Pattern { lhs, rhs, is_two_way, .. } = &rule.kind else { return Vec::new() };
    let back = is_two_way.then(|| growth_of(rule, (rhs, lhs))).flatten();
    growth_of(rule, (lhs, rhs)).into_iter().chain(back).collect()
}

/// A part of a right side to which the rule applies again so that the form grows, and grows again, without a condition on what grows.
fn growth_of(rule: &Rule, (lhs, rhs): (&Pattern, &Pattern)) -> Option<(Span, String, String)> {
    let RuleKind::Pattern { when, .. } = &rule.kind else { return None };
    let asked: Vec<&Name> = when.iter().flat_map(|when| when.tests()).flat_map(Test::variables).collect();
    for (id, node) in rhs.nodes() {
        let mut stands: BTreeMap<String, String> = BTreeMap::new();
        if !matches!(node, PatternNode::Apply { .. } | PatternNode::Reduce { .. })
            || !stands_for(lhs, lhs.root(), rhs, id, &mut stands)
        {
            continue;
        }
        let grows = |name: &&String| {
            !asked.iter().any(|asked| **asked == ***name)
                && stands[*name].starts_with('(')
                && !is_undone(&stands[*name], name)
                && returns(&stands, name)
        };
        if let Some(name) = stands.keys().find(grows) {
            let what =
                format!("it applies to `{}`, which it makes itself, and `?{name}` grows each time", part(rhs, id));
            let help =
                format!("add a condition on `?{name}`, or run the rule in a phase of your own with few `:passes`");
            return Some((rhs.span(id), what, help));
        }
    }
    None
}

/// Whether a form, applied twice, gives its variable back: a negation, or a number minus the variable or divided by it.
fn is_undone(form: &str, name: &str) -> bool {
    let words: Vec<&str> = form.trim_matches(['(', ')']).split(' ').collect();
    let is_number = |word: &str| !word.starts_with('?') && !word.contains('(');
    match words.as_slice() {
        ["-", last] => last.strip_prefix('?') == Some(name),
        ["-" | "/", first, last] => is_number(first) && last.strip_prefix('?') == Some(name),
        _ => false,
    }
}

/// Whether what a variable stands for depends on the variable itself, at once or by way of others.
fn returns(stands: &BTreeMap<String, String>, name: &str) -> bool {
    let variables = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
        words.filter_map(|word| word.strip_prefix('?')).map(ToOwned::to_owned).collect()
    };
    let mut seen: Vec<String> = Vec::new();
    let mut pending: Vec<String> = stands.get(name).map(|text| variables(text)).unwrap_or_default();
    while let Some(next) = pending.pop() {
        if next == name {
            return true;
        }
        if !seen.contains(&next) {
            pending.extend(stands.get(&next).map(|text| variables(text)).unwrap_or_default());
            seen.push(next);
        }
    }
    false
}

/// Whether the general rule produces every form that the special rule produces.
fn covers(general: &Rule, special: &Rule) -> bool {
    let (RuleKind::Pattern { lhs, rhs, when, .. }, RuleKind::Pattern { lhs: own, rhs: own_rhs, when: own_when, .. }) =
        (&general.kind, &special.kind)
    else {
        return false;
    };
    if when.is_some() && when != own_when {
        return false;
    }
    let mut bound: BTreeMap<String, String> = BTreeMap::new();
    stands_for(lhs, lhs.root(), own, own.root(), &mut bound)
        && stands_for(rhs, rhs.root(), own_rhs, own_rhs.root(), &mut bound)
}

/// Whether a pattern, its variables replaced, is another one. Recursion is as deep as the pattern.
fn stands_for(
    general: &Pattern,
    id: PatternId,
    special: &Pattern,
    other: PatternId,
    bound: &mut BTreeMap<String, String>,
) -> bool {
    let own = part(special, other);
    match (general.node(id), special.node(other)) {
        (PatternNode::Variable(name), node) if !matches!(node, PatternNode::Rest(_) | PatternNode::Filtered { .. }) => {
            *bound.entry(name.to_string()).or_insert_with(|| own.clone()) == own
        }
        (PatternNode::Apply { operator: a, children: left }, PatternNode::Apply { operator: b, children: right }) => {
            a == b
                && left.len() == right.len()
                && left.iter().zip(right).all(|(&a, &b)| stands_for(general, a, special, b, bound))
        }
        (
            PatternNode::Reduce { operator: a, inames: left, body: inner },
            PatternNode::Reduce { operator: b, inames: right, body },
        ) => a == b && left == right && stands_for(general, *inner, special, *body, bound),
        (a, b) => a == b,
    }
}
