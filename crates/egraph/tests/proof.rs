//! Proofs hold, and the check refuses those that do not.
//!
//! # Method
//! Every form that a strategy finds of any value is chosen once, and proved. Then proofs are broken, or rules are.

use egg::{Id, Language};
use nestegg_egraph::judge::{Judge, Judged};
use nestegg_egraph::proof::{Checked, Choice, Log, Proofs, Why, check};
use nestegg_egraph::saturate::saturate;
use nestegg_egraph::{builtin, encode};
use nestegg_ir::domains::Domains;
use nestegg_ir::{FunctionId, Semantics};
use nestegg_span::Source;

/// Expressions with several forms.
const EXPRESSIONS: [&str; 7] = [
    "sum(j, a[i]*z[j]*b[i])",
    "sum([j, l], w[i, j]*y[l]*a[i] + y[l]*z[j])",
    "a[i]*c[i] + b[i]*c[i]",
    "sum(j, a[i]*z[j]) + sum(j, b[i]*z[j])",
    "fabs(fabs(a[i] - b[i]))*(a[i] + a[i])",
    "sum(j, a[i]*b[i] - z[j]*w[i, j])",
    "(a[i] if b[i] < c[i] else a[i]) + sum(j, 0.0*z[j])",
];

/// Proves every form of an expression under a strategy, breaks the proofs, and checks them.
fn checked(expression: &str, (rules, strategy): (&str, &str), tamper: impl FnOnce(&mut Proofs)) -> Checked {
    let text = format!(
        "kernel trial
domain {{ [i] : 0 <= i < 8 }}
domain {{ [j] : 0 <= j < 8 }}
domain {{ [l] : 0 <= l < 6 }}
arg a : float64[8] read
arg b : float64[8] read
arg c : float64[8] read
arg z : float64[8] read
arg y : float64[6] read
arg w : float64[8, 8] read
arg out : float64[8] write
for i
  out[i] = {expression}
end
"
    );
    let files: Vec<Source> =
        if rules.is_empty() { Vec::new() } else { vec![Source::new("trial.rules", rules.to_owned())] };
    let book = builtin::rule_book(&files).expect("the rules are well-formed");
    let strategy = book.resolve(strategy).expect("the strategy is there");
    let read = nestegg_dump::read_text(&Source::new("trial.knl", text)).expect("the kernel is well-formed");
    let form = read.program.into_linearized().expect("it has an order");
    let context = nestegg_isl::Context::new();
    let domains = Domains::new(&context, &form.kernel).expect("it has domains");
    let mut encoded = encode::encode(&form, &domains, Semantics::default()).expect("it can be encoded");
    let functions = form.kernel.functions.iter().enumerate().map(|(idx, name)| (name.clone(), FunctionId::new(idx)));
    let functions = functions.collect();
    let graph = &mut encoded.graph;
    let n_encoded = graph.nodes().len();
    graph.analysis.log = Some(Log::new(graph));
    let mut judge = Judge::new(&form.kernel, &domains, Judged::Nobody);
    saturate(graph, &strategy, &functions, &mut judge).expect("no constants contradict each other");
    let mut choices = Vec::new();
    let mut classes: Vec<Id> = graph.classes().map(|class| class.id).collect();
    classes.sort_unstable();
    for class in classes {
        for node in &graph[class].nodes {
            let node = node.clone().map_children(|child| graph.find(child));
            // What is made of itself is no choice.
            if !node.children().contains(&class) {
                choices.push(Choice { class, node, accumulated: Vec::new(), is_kept: true });
            }
        }
    }
    let rule = |name: &str| book.rules.get(name);
    let mut proofs = Proofs::new(graph, n_encoded, &choices, rule, &functions);
    tamper(&mut proofs);
    check(&proofs, graph, &form.kernel, &mut judge, rule, &functions)
}

#[test]
fn every_form_is_proved() {
    let (mut n_equations, mut n_instances, mut n_rematched) = (0, 0, 0);
    for expression in EXPRESSIONS {
        for level in ["O1", "O2"] {
            let found = checked(expression, ("", level), |_| ());
            assert_eq!(found.wrong, Vec::<String>::new(), "{expression} at {level}");
            assert_eq!(found.n_evaluated, found.n_equations, "{expression} at {level}: {found:?}");
            n_equations += found.n_equations;
            n_instances += found.n_instances;
            n_rematched += found.n_rematched;
        }
    }
    assert!(n_equations > 20 && n_instances > 10, "{n_equations} equations, {n_instances} instances");
    // A right side may have been made with a constant that another rule found.
    assert!(10 * n_rematched >= 9 * n_instances, "{n_rematched} of {n_instances} instances are made again");
}

#[test]
fn wrong_rules_do_not_pass() {
    for (left, right, expression) in [
        ("(- ?a ?b)", "(- ?b ?a)", "a[i] - b[i]"),
        ("(+ ?x ?y ?rest...)", "(+ ?x ?y)", "a[i] + b[i] + c[i]"),
        ("(sum (?q...) (* ?a ?b))", "(* (sum (?q...) ?a) (sum (?q...) ?b))", "sum(j, w[i, j]*z[j])"),
    ] {
        let rules = format!(
            ";; Rules of a trial.\n\n;; A rule.\n(rule trial {left} {right} :tag reassociate)\n\n;; The rule alone.\n\
             (strategy trial-alone (phase own :rules (trial) :passes 1 :nodes 1000))\n"
        );
        let found = checked(expression, (&rules, "trial-alone"), |_| ());
        assert!(found.n_wrong > 0 && found.wrong[0].contains("`trial`"), "{left}: {found:?}");
    }
}

#[test]
fn broken_proofs_do_not_pass() {
    let expression = "sum(j, a[i]*z[j]) + sum(j, b[i]*z[j]) + sum(j, fabs(fabs(c[j]))*fabs(c[j]))";
    let broken = |tamper: fn(&mut Proofs)| checked(expression, ("", "O2"), tamper);
    let whole = broken(|_| ());
    assert!(whole.n_wrong == 0 && whole.n_steps > 3 && whole.n_instances > 0, "{whole:?}");
    let without_lemma = broken(|proofs| proofs.values[0].lemma = None);
    assert!(without_lemma.wrong[0].starts_with("there is no proof"), "{without_lemma:?}");
    let cut_off = broken(|proofs| {
        for lemma in &mut proofs.lemmas {
            lemma.steps.pop();
        }
    });
    assert!(cut_off.wrong.iter().any(|what| what.contains("does not end")), "{cut_off:?}");
    let with_gap = broken(|proofs| {
        for lemma in &mut proofs.lemmas {
            let first = lemma.steps.first().cloned();
            lemma.steps.extend(first);
        }
    });
    assert!(with_gap.wrong.iter().any(|what| what.contains("gap")), "{with_gap:?}");
    let without_parts = broken(|proofs| {
        let steps = proofs.lemmas.iter_mut().flat_map(|lemma| &mut lemma.steps);
        for step in steps {
            if let Why::Parts(parts) = &mut step.why {
                parts.clear();
            }
        }
    });
    assert!(without_parts.wrong.iter().any(|what| what.contains("not the same")), "{without_parts:?}");
    let in_a_circle = broken(|proofs| {
        let n = proofs.lemmas.len();
        let steps = proofs.lemmas.iter_mut().flat_map(|lemma| &mut lemma.steps);
        for step in steps {
            if let Why::Parts(parts) = &mut step.why {
                parts.push(n - 1);
            }
        }
    });
    assert!(in_a_circle.wrong.iter().any(|what| what.contains("later")), "{in_a_circle:?}");
    // A rule that says something else is not made again, and a form that is not equal is found by its values.
    let by_another = broken(|proofs| {
        for step in proofs.lemmas.iter_mut().flat_map(|lemma| &mut lemma.steps) {
            if let Why::Rule { name, .. } = &mut step.why {
                *name = "flatten-sum".to_owned();
            }
        }
    });
    assert!(by_another.n_rematched < by_another.n_instances, "{by_another:?}");
    let of_another = broken(|proofs| {
        for lemma in &mut proofs.lemmas {
            for step in &mut lemma.steps {
                if !matches!(step.why, Why::Parts(_)) {
                    step.right = Id::from(0);
                }
            }
        }
    });
    assert!(of_another.n_evaluated < of_another.n_equations && of_another.n_wrong > 1, "{of_another:?}");
}
