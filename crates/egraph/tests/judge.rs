//! What the judge of rules must refuse, and what it must let pass.
//!
//! # Method
//! A kernel is saturated with one rule that fires there, whether or not its form would ever be chosen. A rule that is refused is
//! refused by name; of one that passes all equations are judged.

use nestegg_egraph::judge::{Judge, Judged};
use nestegg_egraph::saturate::{Saturation, Unsound, saturate};
use nestegg_egraph::{builtin, encode};
use nestegg_ir::domains::Domains;
use nestegg_ir::{FunctionId, Semantics};
use nestegg_span::Source;

/// Rules that are wrong, with an expression on which they fire.
const FALSE: [(&str, &str, &str); 62] = [
    ("(- ?a ?b)", "(- ?b ?a)", "a[i] - b[i]"),
    ("(- ?a ?b)", "0", "a[i] - b[i]"),
    ("(* ?a ?b)", "(* ?a ?b 1.0000001)", "a[i]*b[i]"),
    ("(* ?a ?b)", "(* ?a ?b 1.0000000000000000000000000000001)", "a[i]*b[i]"),
    ("(+ ?a ?b)", "(+ ?a ?b 0.000000000000000000000000000001)", "a[i] + b[i]"),
    ("(if (< ?x 100000) ?a ?b)", "?a", "a[i] if b[i] < 100000.0 else c[i]"),
    ("(if (< ?x 100000) ?a ?b)", "?a", "a[i] if m[i] < 100000 else c[i]"),
    ("(if (== ?x 77) ?a ?b)", "?b", "a[i] if m[i] == 77 else c[i]"),
    ("(if (< ?x 50) ?a ?b)", "?a", "a[i] if i < 50 else c[i]"),
    ("(min ?a 1000000000)", "?a", "min(a[i], 1000000000.0)"),
    ("(max ?a -12345)", "?a", "max(a[i], -12345.0)"),
    ("(+ (exp ?a) (exp ?b))", "(exp (+ ?a ?b))", "exp(a[i]) + exp(b[i])"),
    ("(exp (+ ?a ?b))", "(+ (exp ?a) (exp ?b))", "exp(a[i] + b[i])"),
    ("(exp (* ?a ?b))", "(* (exp ?a) (exp ?b))", "exp(a[i]*b[i])"),
    ("(sqrt (** ?x 2))", "?x", "sqrt(a[i]**2)"),
    ("(sqrt (+ ?a ?b))", "(+ (sqrt ?a) (sqrt ?b))", "sqrt(a[i] + b[i])"),
    ("(log (* ?a ?b))", "(* (log ?a) (log ?b))", "log(a[i]*b[i])"),
    ("(log (* ?a ?b))", "(+ (log ?a) (log ?b))", "log(a[i]*b[i])"),
    ("(log (+ ?a ?b))", "(+ (log ?a) (log ?b))", "log(a[i] + b[i])"),
    ("(log (** ?x 2))", "(* 2 (log ?x))", "log(a[i]**2)"),
    ("(+ (min ?a ?b) (max ?a ?b))", "(- ?a ?b)", "min(a[i], b[i]) + max(a[i], b[i])"),
    ("(* (min ?a ?b) (max ?a ?b))", "(+ ?a ?b)", "min(a[i], b[i])*max(a[i], b[i])"),
    ("(min (* ?c ?a) (* ?c ?b))", "(* ?c (min ?a ?b))", "min(c[i]*a[i], c[i]*b[i])"),
    ("(max ?a ?b)", "(fabs (- ?a ?b))", "max(a[i], b[i])"),
    ("(max ?a ?b)", "(min ?a ?b)", "max(a[i], b[i])"),
    ("(min ?a ?b)", "?a", "min(a[i], b[i])"),
    ("(sin (* 2 ?x))", "(* 2 (sin ?x))", "sin(2.0*a[i])"),
    ("(sin (+ ?a ?b))", "(+ (sin ?a) (sin ?b))", "sin(a[i] + b[i])"),
    ("(cos ?x)", "(sin ?x)", "cos(a[i])"),
    ("(cos (- ?x))", "(- (cos ?x))", "cos(-a[i])"),
    ("(+ (** (sin ?x) 2) (** (cos ?x) 2))", "2", "sin(a[i])**2 + cos(a[i])**2"),
    ("(- (** (cosh ?x) 2) (** (sinh ?x) 2))", "-1", "cosh(a[i])**2 - sinh(a[i])**2"),
    ("(tan ?x)", "(/ (cos ?x) (sin ?x))", "tan(a[i])"),
    ("(tanh (+ ?a ?b))", "(+ (tanh ?a) (tanh ?b))", "tanh(a[i] + b[i])"),
    ("(atan2 ?y ?x)", "(atan2 ?x ?y)", "atan2(a[i], b[i])"),
    ("(hypot ?x ?y)", "(+ (fabs ?x) (fabs ?y))", "hypot(a[i], b[i])"),
    ("(cbrt ?x)", "(** ?x 0.3333333333333333)", "cbrt(a[i])"),
    ("(exp2 ?x)", "(exp (* 0.6931471805599453 ?x))", "exp2(a[i])"),
    ("(expm1 ?x)", "(exp ?x)", "expm1(a[i])"),
    ("(log1p ?x)", "(log ?x)", "log1p(a[i])"),
    ("(log2 ?x)", "(log10 ?x)", "log2(a[i])"),
    ("(fabs (+ ?a ?b))", "(+ (fabs ?a) (fabs ?b))", "fabs(a[i] + b[i])"),
    ("(fabs ?x)", "?x", "fabs(a[i])"),
    ("(copysign ?x ?y)", "?x", "copysign(a[i], b[i])"),
    ("(pow ?x ?y)", "(pow ?y ?x)", "pow(a[i], b[i])"),
    ("(pow (** ?x 2) 0.5)", "?x", "pow(a[i]**2, 0.5)"),
    ("(** (+ ?a ?b) 2)", "(+ (** ?a 2) (** ?b 2))", "(a[i] + b[i])**2"),
    ("(/ 1 (+ ?a ?b))", "(+ (/ 1 ?a) (/ 1 ?b))", "1.0/(a[i] + b[i])"),
    ("(/ ?a ?b)", "(/ ?b ?a)", "a[i]/b[i]"),
    ("(* ?x (+ ?y ?z))", "(+ (* ?x ?y) ?z)", "a[i]*(b[i] + c[i])"),
    ("(+ ?x ?y ?rest...)", "(+ ?x ?y)", "a[i] + b[i] + c[i]"),
    ("(if ?c ?a ?b)", "(if ?c ?b ?a)", "a[i] if b[i] < c[i] else d[i]"),
    ("(if (< ?x ?y) ?x ?y)", "(max ?x ?y)", "a[i] if a[i] < b[i] else b[i]"),
    ("(if (<= ?x ?y) ?a ?b)", "(if (< ?x ?y) ?a ?b)", "a[i] if b[i] <= c[i] else d[i]"),
    ("(if (and ?p ?q) ?a ?b)", "(if (or ?p ?q) ?a ?b)", "a[i] if b[i] < c[i] and d[i] < a[i] else c[i]"),
    ("(if (not (< ?x ?y)) ?a ?b)", "(if (> ?x ?y) ?a ?b)", "a[i] if not (b[i] < c[i]) else d[i]"),
    ("(// ?x 2)", "(- ?x 1)", "m[i]//2"),
    ("(// (+ ?x ?y) 2)", "(+ (// ?x 2) (// ?y 2))", "(m[i] + k[i])//2"),
    ("(* (// ?x 3) 3)", "?x", "(m[i]//3)*3"),
    ("(% (+ ?x ?y) 3)", "(+ (% ?x 3) (% ?y 3))", "(m[i] + k[i])%3"),
    ("(- ?a ?b)", "(- ?b ?a)", "m[i] - k[i]"),
    ("(* (sqrt ?x) (sqrt ?y))", "(sqrt (+ ?x ?y))", "sqrt(a[i])*sqrt(b[i])"),
];

/// Rules that are right where their left sides have values, with an expression on which they fire.
const TRUE: [(&str, &str, &str); 40] = [
    ("(* (exp ?a) (exp ?b))", "(exp (+ ?a ?b))", "exp(a[i])*exp(b[i])"),
    ("(* (sqrt ?a) (sqrt ?b))", "(sqrt (* ?a ?b))", "sqrt(a[i])*sqrt(b[i])"),
    ("(+ (log ?a) (log ?b))", "(log (* ?a ?b))", "log(a[i]) + log(b[i])"),
    ("(- (log ?a) (log ?b))", "(log (/ ?a ?b))", "log(a[i]) - log(b[i])"),
    ("(+ (** (sin ?x) 2) (** (cos ?x) 2))", "1", "sin(a[i])**2 + cos(a[i])**2"),
    ("(- (** (cosh ?x) 2) (** (sinh ?x) 2))", "1", "cosh(a[i])**2 - sinh(a[i])**2"),
    ("(sqrt (** ?x 2))", "(fabs ?x)", "sqrt(a[i]**2)"),
    ("(** (sqrt ?x) 2)", "?x", "sqrt(a[i])**2"),
    ("(** (sqrt ?x) 2)", "(fabs ?x)", "sqrt(a[i])**2"),
    ("(** (pow ?x 0.5) 2)", "(fabs ?x)", "pow(a[i], 0.5)**2"),
    ("(* 2 (sin ?x) (cos ?x))", "(sin (* 2 ?x))", "2.0*sin(a[i])*cos(a[i])"),
    ("(sin (- ?x))", "(- (sin ?x))", "sin(-a[i])"),
    ("(cos (- ?x))", "(cos ?x)", "cos(-a[i])"),
    ("(/ (sin ?x) (cos ?x))", "(tan ?x)", "sin(a[i])/cos(a[i])"),
    ("(/ (sinh ?x) (cosh ?x))", "(tanh ?x)", "sinh(a[i])/cosh(a[i])"),
    ("(- (exp ?x) 1)", "(expm1 ?x)", "exp(a[i]) - 1.0"),
    ("(log (+ 1 ?x))", "(log1p ?x)", "log(1.0 + a[i])"),
    ("(log (exp ?x))", "?x", "log(exp(a[i]))"),
    ("(exp (log ?x))", "?x", "exp(log(a[i]))"),
    ("(pow (exp ?x) ?y)", "(exp (* ?x ?y))", "pow(exp(a[i]), b[i])"),
    ("(sqrt (+ (** ?x 2) (** ?y 2)))", "(hypot ?x ?y)", "sqrt(a[i]**2 + b[i]**2)"),
    ("(** (cbrt ?x) 3)", "?x", "cbrt(a[i])**3"),
    ("(pow ?x 0.5)", "(sqrt ?x)", "pow(a[i], 0.5)"),
    ("(+ (min ?a ?b) (max ?a ?b))", "(+ ?a ?b)", "min(a[i], b[i]) + max(a[i], b[i])"),
    ("(* (min ?a ?b) (max ?a ?b))", "(* ?a ?b)", "min(a[i], b[i])*max(a[i], b[i])"),
    ("(- (max ?a ?b) (min ?a ?b))", "(fabs (- ?a ?b))", "max(a[i], b[i]) - min(a[i], b[i])"),
    ("(max ?a (- ?a))", "(fabs ?a)", "max(a[i], -a[i])"),
    ("(* (fabs ?a) (fabs ?b))", "(fabs (* ?a ?b))", "fabs(a[i])*fabs(b[i])"),
    ("(if (< ?x ?y) ?x ?y)", "(min ?x ?y)", "a[i] if a[i] < b[i] else b[i]"),
    ("(if (< ?x ?y) ?a ?b)", "(if (<= ?y ?x) ?b ?a)", "a[i] if b[i] < c[i] else d[i]"),
    ("(if (not ?c) ?a ?b)", "(if ?c ?b ?a)", "a[i] if not (b[i] < c[i]) else d[i]"),
    ("(if (and ?p ?q) ?a ?b)", "(if ?p (if ?q ?a ?b) ?b)", "a[i] if b[i] < c[i] and d[i] < a[i] else c[i]"),
    ("(+ (* ?a ?c) (* ?b ?c))", "(* (+ ?a ?b) ?c)", "a[i]*c[i] + b[i]*c[i]"),
    ("(** (+ ?a ?b) 2)", "(+ (** ?a 2) (* 2 ?a ?b) (** ?b 2))", "(a[i] + b[i])**2"),
    ("(/ ?a ?b)", "(* ?a (/ 1 ?b))", "a[i]/b[i]"),
    ("(+ (// ?x 3) ?y)", "(// (+ ?x (* 3 ?y)) 3)", "m[i]//3 + k[i]"),
    ("(% (% ?x 6) 3)", "(% ?x 3)", "(m[i]%6)%3"),
    ("(+ (* 3 (// ?x 3)) (% ?x 3))", "?x", "3*(m[i]//3) + m[i]%3"),
    ("(+ (* ?a ?x) (* ?a ?y))", "(* ?a (+ ?x ?y))", "m[i]*k[i] + m[i]*m[i+1]"),
    ("(fabs (copysign ?x ?y))", "(fabs ?x)", "fabs(copysign(a[i], b[i]))"),
];

/// Wrong rules about reductions.
const FALSE_LOOPS: [(&str, &str, &str); 18] = [
    ("(+ ?a (sum (?q...) ?b))", "(sum (?q...) (+ ?a ?b))", "a[i] + sum(j, w[i, j])"),
    ("(sum (?q...) (* ?a ?b))", "(* ?a (sum (?q...) ?b))", "sum(j, z[j]*w[i, j])"),
    ("(sum (?q...) (* (?a... free-of ?q...) ?b...))", "(sum (?q...) (* ?b...))", "sum(j, a[i]*w[i, j])"),
    (
        "(sum (?q ?r...) (* (?a... free-of ?q) ?b...))",
        "(* ?a... (sum (?q ?r...) (* ?b...)))",
        "sum([j, l], z[j]*w[i, l])",
    ),
    ("(sum (?q...) ?a)", "?a", "sum(j, a[i])"),
    ("(sum (?q...) ?a)", "(* 7 ?a)", "sum(j, a[i])"),
    ("(sum (?q ?r...) ?a)", "(* (size ?q ?r...) (sum (?r...) ?a))", "sum([j, l], z[j])"),
    ("(sum (?q ?r...) ?a)", "(* (size ?q) (sum (?r...) ?a))", "sum(j, z[j])"),
    ("(sum (?q...) (* ?a ?b))", "(* (sum (?q...) ?a) (sum (?q...) ?b))", "sum(j, z[j]*w[i, j])"),
    ("(sum (?q...) (** ?a 2))", "(** (sum (?q...) ?a) 2)", "sum(j, z[j]**2)"),
    ("(sum (?q...) (+ ?a ?b))", "(sum (?q...) ?a)", "sum(j, z[j] + w[i, j])"),
    ("(sum (?q...) (exp ?a))", "(exp (sum (?q...) ?a))", "sum(j, exp(z[j]))"),
    ("(product (?q...) (+ ?a ?b))", "(+ (product (?q...) ?a) (product (?q...) ?b))", "product(j, z[j] + w[i, j])"),
    (
        "(product (?q...) (* (?a... free-of ?q...) ?b...))",
        "(* ?a... (product (?q...) (* ?b...)))",
        "product(j, a[i]*z[j])",
    ),
    (
        "(min (?q...) (* (?a... free-of ?q...) ?b...))",
        "(* ?a... (min (?q...) (* ?b...)))",
        "reduce(min, [j], a[i]*z[j])",
    ),
    ("(max (?q...) (+ ?a ?b))", "(+ (max (?q...) ?a) (max (?q...) ?b))", "reduce(max, [j], z[j] + w[i, j])"),
    ("(min (?q...) (- ?a))", "(- (min (?q...) ?a))", "reduce(min, [j], -z[j])"),
    ("(sum (?q) ?t)", "1", "sum(j, t[j])"),
];

/// Right ones.
const TRUE_LOOPS: [(&str, &str, &str); 10] = [
    ("(sum (?q...) (* (?a... free-of ?q...) ?b...))", "(* ?a... (sum (?q...) (* ?b...)))", "sum(j, a[i]*w[i, j])"),
    (
        "(sum (?r ?q...) (* (?a... free-of ?r) ?b...))",
        "(sum (?q...) (* ?a... (sum (?r) (* ?b...))))",
        "sum([j, l], z[j]*w[j, l])",
    ),
    ("(sum (?q...) (+ ?a...))", "(+ (each ?a... (sum (?q...) ?a)))", "sum(j, z[j] - w[i, j] + a[i])"),
    ("(sum (?q...) (+ ?a ?b))", "(+ (sum (?q...) ?a) (sum (?q...) ?b))", "sum(j, z[j] + w[i, j])"),
    ("(sum (?q ?r...) ?a)", "(sum (?r...) (sum (?q) ?a))", "sum([j, l], w[j, l])"),
    ("(product (?q...) (* ?a ?b))", "(* (product (?q...) ?a) (product (?q...) ?b))", "product(j, z[j]*w[i, j])"),
    (
        "(max (?q...) (+ (?a... free-of ?q...) ?b...))",
        "(+ ?a... (max (?q...) (+ ?b...)))",
        "reduce(max, [j], a[i] + z[j])",
    ),
    ("(min (?q...) (- ?a))", "(- (max (?q...) ?a))", "reduce(min, [j], -z[j])"),
    ("(sqrt (* ?x ?x))", "(fabs ?x)", "sqrt(a[i]*a[i])"),
    ("(* (sum (?q...) ?a) (sum (?r...) ?b))", "(sum (?q... ?r...) (* ?a ?b))", "sum(j, z[j])*sum(l, y[l])"),
];

#[test]
fn wrong_rules_are_refused() {
    let verdict = |&(left, right, expression): &(&str, &str, &str)| match judged(left, right, expression) {
        Ok(Err(Unsound::Judged(wrong))) if wrong.rule == "trial" => None,
        Ok(Err(error)) => Some(format!("{left} -> {right}: another error: {error}")),
        Ok(Ok(saturation)) => Some(format!("{left} -> {right} passes on {expression}: {saturation:?}")),
        Err(error) => Some(format!("{left} -> {right}: {error}")),
    };
    let wrong: Vec<String> = FALSE.iter().chain(&FALSE_LOOPS).filter_map(verdict).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn right_rules_pass() {
    let verdict = |&(left, right, expression): &(&str, &str, &str)| match judged(left, right, expression) {
        Ok(Ok(saturation)) if saturation.fired.contains_key("trial") && saturation.unjudged.is_empty() => None,
        Ok(Ok(saturation)) => Some(format!("{left} -> {right}: {saturation:?}")),
        Ok(Err(error)) => Some(format!("{left} -> {right}: {error}")),
        Err(error) => Some(format!("{left} -> {right}: {error}")),
    };
    let wrong: Vec<String> = TRUE.iter().chain(&TRUE_LOOPS).filter_map(verdict).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What comes of a rule in a kernel that evaluates an expression.
fn judged(left: &str, right: &str, expression: &str) -> Result<Result<Saturation, Unsound>, String> {
    let functions = [
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt",
        "cbrt", "fabs",
    ];
    let all: Vec<String> = functions.iter().map(|name| format!("{name}(e[i])")).collect();
    let ty = if expression.contains("m[i]") && !expression.contains("a[i]") { "int32" } else { "float64" };
    let text = format!(
        "kernel trial
param n : int32 = 8
assume [n] -> {{ : n >= 1 }}
domain [n] -> {{ [i] : 0 <= i < n }}
domain {{ [j] : 0 <= j < 8 }}
domain {{ [l] : 0 <= l < 6 }}
arg a : float64[n] read
arg b : float64[n] read
arg c : float64[n] read
arg d : float64[n] read
arg e : float64[n] read
arg z : float64[8] read
arg y : float64[6] read
arg w : float64[n + 8, 8] read
table t : float64[8] = [0.5, 0.25, 0.125, 1.0, 2.0, 3.0, 4.0, 5.0]
arg m : int32[n] read
arg k : int32[n] read
arg out : {ty}[n] write
arg more : float64[n] write
for i
  out[i] = {expression}
  more[i] = max({}, hypot(e[i], e[i]), atan2(e[i], e[i]), pow(e[i], e[i]), copysign(e[i], e[i]))
end
",
        all.join(", ")
    );
    let text_of_rule = format!(";; Rules of a trial.\n\n;; A rule.\n(rule trial {left} {right} :tag reassociate)\n")
        + "\n;; The rule alone.\n(strategy trial-alone (phase own :rules (trial) :passes 2 :nodes 10000))\n";
    let source = Source::new("trial.rules", text_of_rule);
    let book = builtin::rule_book(std::slice::from_ref(&source)).map_err(|errors| format!("{errors:?}"))?;
    let strategy = book.resolve("trial-alone").map_err(|error| format!("{error:?}"))?;
    let read = nestegg_dump::read_text(&Source::new("trial.knl", text)).map_err(|error| format!("{error:?}"))?;
    let form = read.program.into_linearized().map_err(|error| error.to_string())?;
    let context = nestegg_isl::Context::new();
    let domains = Domains::new(&context, &form.kernel).map_err(|error| error.to_string())?;
    let mut encoded = encode::encode(&form, &domains, Semantics::default()).map_err(|error| error.to_string())?;
    let functions = form.kernel.functions.iter().enumerate().map(|(idx, name)| (name.clone(), FunctionId::new(idx)));
    let functions = functions.collect();
    let mut judge = Judge::new(&form.kernel, &domains, Judged::Given);
    Ok(saturate(&mut encoded.graph, &strategy, &functions, &mut judge))
}
