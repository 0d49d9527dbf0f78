//! One test for each error code, and what is said of real mistakes.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use nestegg_dump::{ReadErrors, read, read_bytes};
use nestegg_span::Source;

/// The errors as a terminal shows them.
fn render(errors: &ReadErrors) -> String {
    let mut res = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    handler.render_report(&mut res, errors).expect("a diagnostic can be shown");
    res
}

/// Each error as `code  place  message`, and its help.
fn describe(errors: &ReadErrors) -> String {
    assert!(render(errors).len() < 3_000 * errors.errors().len(), "long lines are quoted in part");
    let mut res = String::new();
    for error in errors.errors() {
        let code = error.code().map(|code| code.to_string()).unwrap_or_default();
        let place: String = errors.source().slice(error.place()).chars().take(40).collect();
        let position = errors.source().position(error.place().start);
        writeln!(res, "{code} {position} `{}`: {error}", place.replace('\n', "⏎")).unwrap();
        if let Some(help) = error.help().filter(|help| help.to_string().starts_with("did you mean")) {
            writeln!(res, "  {help}").unwrap();
        }
    }
    res
}

fn check(text: &str, expect: Expect) {
    match read(&Source::new("t", text)) {
        Ok(read) => panic!("read: {}", nestegg_dump::write_text(&read.program)),
        Err(errors) => expect.assert_eq(&describe(&errors)),
    }
}

/// A text with some declarations before it.
fn check_body(body: &str, expect: Expect) {
    let text = format!(
        "kernel k\nparam n : int32\ndomain {{ [i, j] : 0 <= i, j < 4 }}\ndomain [i] -> {{ [l] : 0 <= l <= i }}\n\
         arg a : float64 read\narg x : float64[4] read\narg y : float64[4, 4] readwrite\narg z : float64 write\n\
         arg p : bool read\ntemp q : int32\ntable w : float64[2] = [1, 2.5]\nsq(v) := v*v\n{body}"
    );
    check(&text, expect);
}

/// A JSON dump with these fields in place of the ordinary ones.
fn check_json(fields: &str, expect: Expect) {
    let mut dump: serde_json::Map<String, serde_json::Value> = serde_json::from_str(
        r#"{"format": "nestegg-kernel/1", "name": "k", "domains": ["{ [i, j] : 0 <= i, j < 4 }"],
        "arguments": [{"name": "a", "dtype": "float64", "shape": [], "access": "read"},
                      {"name": "y", "dtype": "float64", "shape": [4], "access": "write"}],
        "temporaries": [], "instructions": [], "linearization": null}"#,
    )
    .unwrap();
    let new: serde_json::Map<String, serde_json::Value> = serde_json::from_str(fields).unwrap();
    dump.extend(new);
    check(&serde_json::to_string(&dump).unwrap(), expect);
}

#[test]
fn notation() {
    let errors = read_bytes("t", b"kernel \xff\n").map(|_| ()).unwrap_err();
    expect![[r#"
        dump::not_utf8 1:8 `�`: the file is not UTF-8: byte 7 is wrong
    "#]]
    .assert_eq(&describe(&errors));
    check(
        "",
        expect![[r#"
        dump::text_syntax 1:1 ``: expected `kernel`, found the end of the text
    "#]],
    );
    check(
        "{",
        expect![[r#"
        dump::json_syntax 1:1 `{`: not JSON: the text ends where a field name in double quotes or `}` is expected; this `{` is open
    "#]],
    );
    check(
        "{\"a\": [1, 2}",
        expect![[r#"
        dump::json_syntax 1:12 `}`: not JSON: expected `,` or the closing bracket, found `}`
    "#]],
    );
    check(
        "{\"a\": 'x'}",
        expect![[r#"
        dump::json_syntax 1:7 `'`: not JSON: single-quoted strings are not allowed
    "#]],
    );
    check(
        "{\"a\": 01}",
        expect![[r#"
        dump::json_syntax 1:8 `1`: not JSON: expected `,` or the closing bracket, found `1`
    "#]],
    );
    check(
        "{\"a\": NaN}",
        expect![[r#"
            dump::non_finite 1:7 `NaN`: the number `NaN` is not finite
        "#]],
    );
    check(
        "{\"a\": -Infinity}",
        expect![[r#"
            dump::non_finite 1:7 `-Infinity`: the number `-Infinity` is not finite
        "#]],
    );
    check(
        "{\"a\": 1} // no",
        expect![[r#"
        dump::json_syntax 1:10 `/`: not JSON: nothing may follow the object
    "#]],
    );
    check(
        "{\"a\": \"\t\"}",
        expect![[r#"
        dump::json_syntax 1:8 `	`: not JSON: a control character in a string is written as an escape
    "#]],
    );
    check(
        "{\"a\": \"\\ud800\"}",
        expect![[r#"
        dump::json_syntax 1:8 `\ud800"`: not JSON: invalid unicode escape sequence. 'd800 (unpaired high surrogate)' is not a valid UTF8 character
    "#]],
    );
    check(
        "{\"a\":\u{a0}1}",
        expect![[r#"
        dump::json_syntax 1:6 ` `: not JSON: only blanks may stand between tokens
    "#]],
    );
    check(
        "{,}",
        expect![[r#"
        dump::json_syntax 1:2 `,`: not JSON: expected a field name in double quotes or `}`, found `,`
    "#]],
    );
}

#[test]
fn fields() {
    check(
        "{\"format\": \"nestegg-kernel/3\"}",
        expect![[r#"
        dump::wrong_format 1:12 `"nestegg-kernel/3"`: unknown format `nestegg-kernel/3`
    "#]],
    );
    check(
        "{\"format\": 1, \"nam\": 1, \"meta\": 1, \"meta\": 2}",
        expect![[r#"
            dump::missing_field 1:1 `{`: a kernel lacks the field `name`
            dump::missing_field 1:1 `{`: a kernel lacks the field `domains`
            dump::missing_field 1:1 `{`: a kernel lacks the field `arguments`
            dump::missing_field 1:1 `{`: a kernel lacks the field `temporaries`
            dump::missing_field 1:1 `{`: a kernel lacks the field `instructions`
            dump::missing_field 1:1 `{`: a kernel lacks the field `linearization`
            dump::wrong_json_type 1:12 `1`: `format` is a string, not an integer
            dump::unknown_field 1:15 `"nam"`: a kernel has no field `nam`
              did you mean `name`?
            dump::duplicate_field 1:36 `"meta"`: the field `meta` is given twice
        "#]],
    );
    check_json(
        r#"{"domain": [], "arguments": {}, "temporaries": [1]}"#,
        expect![[r#"
            dump::wrong_json_type 1:94 `{}`: `arguments` is a list, not an object
            dump::wrong_json_type 1:112 `1`: a temporary is an object, not an integer
            dump::unknown_field 1:154 `"domain"`: a kernel has no field `domain`
              did you mean `domains`?
        "#]],
    );
    check_json(
        r#"{"instructions": [{"id": "a", "kind": "asignment"}, {"id": 1, "kind": "assignment", "within_inames": ["i"],
        "depends_on": [], "predicates": [], "assignee": true, "expresion": {}}]}"#,
        expect![[r#"
            dump::missing_field 1:247 `{`: an instruction lacks the field `within_inames`
            dump::missing_field 1:247 `{`: an instruction lacks the field `depends_on`
            dump::missing_field 1:247 `{`: an instruction lacks the field `predicates`
            dump::unknown_kind 1:264 `"asignment"`: unknown kind of instruction `asignment`
            dump::missing_field 1:277 `{`: an instruction lacks the field `expression`
            dump::wrong_json_type 1:283 `1`: `id` is a string, not an integer
            dump::wrong_json_type 1:370 `true`: an expression is a name, a number or a list, not a truth value
            dump::unknown_field 1:375 `"expresion"`: an instruction has no field `expresion`
              did you mean `expression`?
        "#]],
    );
    check_json(
        r#"{"parameters": [{"name": "n", "dtype": "float32", "estimate": 1.5}, {"name": "m", "dtype": "uint8"}],
            "inames": [{"name": "i", "tags": ["unrol", "vec", "vec"]}, {"name": "k", "tags": []}, {"name": "i", "tags": []}]}"#,
        expect![[r#"
            dump::parameter_dtype 1:304 `"float32"`: the parameter `n` is float32
            dump::wrong_json_type 1:325 `1.5`: `estimate` is an integer, not a float
            dump::unknown_dtype 1:350 `"uint8"`: unknown dtype `uint8`
            dump::unknown_tag 1:390 `"unrol"`: unknown tag `unrol`
            dump::repeated_name 1:404 `"vec"`: `vec` is given twice in one list
            dump::iname_without_domain 1:420 `"k"`: the iname `k` is in no domain
            dump::repeated_name 1:443 `"i"`: `i` is given twice in one list
        "#]],
    );
    check_json(
        r#"{"arguments": [{"name": "b", "dtype": "float", "shape": [0, 1.0, "i", "k", ["reduce", "sum", ["i"], 1]], "access": "rw"}]}"#,
        expect![[r#"
            dump::unknown_dtype 1:115 `"float"`: unknown dtype `float`
            dump::wrong_size 1:132 `0`: a size of 0
            dump::wrong_size 1:134 `1.0`: a size is an integer, not a float
            dump::wrong_size 1:138 `"i"`: a size holds an iname
            dump::unknown_name 1:142 `"k"`: the name `k` is not defined
            dump::wrong_size 1:146 `["reduce","sum",["i"],1]`: a size holds no reductions
            dump::unknown_access 1:181 `"rw"`: unknown access `rw`
        "#]],
    );
}

#[test]
fn expressions_in_json() {
    let check_expr = |expr: &str, expect: Expect| {
        check_json(
            &format!(
                r#"{{"substitutions": [{{"name": "s", "parameters": ["t"], "expression": "t"}}],
                "instructions": [{{"id": "e", "kind": "assignment", "within_inames": ["i"], "depends_on": [],
                "predicates": [], "assignee": ["[]", "y", "i"], "expression": {expr}}}]}}"#
            ),
            expect,
        );
    };
    check_expr(
        "[]",
        expect![[r#"
        dump::wrong_json_type 1:370 `[]`: an expression is a name, a number or a list that begins with an operator, not a list
    "#]],
    );
    check_expr(
        "[1, 2]",
        expect![[r#"
            dump::wrong_json_type 1:371 `1`: an operator is a string, not an integer
        "#]],
    );
    check_expr(
        "[\"+\", 1]",
        expect![[r#"
        dump::wrong_arity 1:370 `["+",1]`: `+` takes at least 2 operands, not 1
    "#]],
    );
    check_expr(
        "[\"plus\", 1, 2]",
        expect![[r#"
        dump::unknown_operator 1:371 `"plus"`: unknown operator `plus`
    "#]],
    );
    check_expr(
        "[\"[]\"]",
        expect![[r#"
        dump::wrong_arity 1:370 `["[]"]`: a subscript takes a name and its operands, not 0
    "#]],
    );
    check_expr(
        "[\"reduce\", \"mean\", [\"j\"], 1]",
        expect![[r#"
        dump::unknown_reduction 1:380 `"mean"`: unknown reduction `mean`
    "#]],
    );
    check_expr(
        "[\"reduce\", \"sum\", [], 1]",
        expect![[r#"
        dump::wrong_arity 1:386 `[]`: `reduce` takes at least one iname, not 0
    "#]],
    );
    check_expr(
        "[\"cast\", \"float16\", 1]",
        expect![[r#"
        dump::unknown_dtype 1:378 `"float16"`: unknown dtype `float16`
    "#]],
    );
    check_expr(
        "[\"call\", \"min\", 1]",
        expect![[r#"
        dump::invalid_name 1:378 `"min"`: `min` cannot be a name: it is an operation of the kernel format
    "#]],
    );
    check_expr(
        "[\"call\", \"s\", 1]",
        expect![[r#"
        dump::wrong_kind_of_name 1:378 `"s"`: `s` is a substitution, not a function
    "#]],
    );
    check_expr(
        "[\"subst\", \"a\", 1]",
        expect![[r#"
        dump::wrong_kind_of_name 1:379 `"a"`: `a` is an array, not a substitution
    "#]],
    );
    check_expr(
        "[\"subst\", \"s\"]",
        expect![[r#"
        dump::wrong_arity 1:370 `["subst","s"]`: the substitution `s` takes 1 argument, not 0
    "#]],
    );
    check_expr(
        "\"s\"",
        expect![[r#"
        dump::wrong_arity 1:370 `"s"`: the substitution `s` takes 1 argument, not 0
    "#]],
    );
    check_expr(
        "null",
        expect![[r#"
        dump::wrong_json_type 1:370 `null`: an expression is a name, a number or a list, not null
    "#]],
    );
}

#[test]
fn numbers() {
    check(
        "{\"format\": \"nestegg-kernel/1\", \"name\": \"k\", \"domains\": [], \"arguments\": [], \"temporaries\": [],
        \"substitutions\": [{\"name\": \"s\", \"parameters\": [], \"expression\": [\"+\", 9223372036854775808, 1e400]}],
        \"instructions\": [], \"linearization\": null}",
        expect![[r#"
            dump::integer_too_large 2:79 `9223372036854775808`: the integer `9223372036854775808` does not fit 64 bits
            dump::non_finite 2:100 `1e400`: the number `1e400` is not finite
        "#]],
    );
    check_body(
        "z = 1e999 + 9223372036854775808",
        expect![[r#"
        dump::non_finite 13:5 `1e999`: the number `1e999` is not finite
    "#]],
    );
    check_body(
        "z = a - 9223372036854775808",
        expect![[r#"
        dump::integer_too_large 13:9 `9223372036854775808`: the integer `9223372036854775808` does not fit 64 bits
    "#]],
    );
}

#[test]
fn statements() {
    check(
        "kernle k",
        expect![[r#"
        dump::text_syntax 1:1 `kernle`: expected `kernel`, found `kernle`
    "#]],
    );
    check_body(
        "z = (a + 2\nz = 3",
        expect![[r#"
        dump::text_syntax 14:1 `z`: expected an operator or `)`, found `z`
    "#]],
    );
    check_body(
        "z = f(a\nz = [2\nz = b",
        expect![[r#"
        dump::text_syntax 14:1 `z`: expected an operator, `,` or `)`, found `z`
        dump::text_syntax 14:5 `[`: expected an expression, found `[`
        dump::unknown_name 15:5 `b`: the name `b` is not defined
    "#]],
    );
    check(
        "kernel k\ndomain { [i : 0 <= i < 3 }\ndomain { [j] : 0 <= j < 3 }\nz = j",
        expect![[r#"
            dump::text_syntax 2:8 `{`: expected a closing bracket, found the end of the text
            dump::iname_out_of_scope 4:5 `j`: the iname `j` has no value here
        "#]],
    );
    check_body(
        "z = a +\nz = 3 4\nz = a if p\nend\nfor i\nelse",
        expect![[r#"
        dump::text_syntax 13:8 `⏎`: expected an expression, found the end of the line
        dump::text_syntax 14:7 `4`: expected the end of the statement, found `4`
        dump::text_syntax 15:7 `if`: expected `else`, found the end of the expression
        dump::unmatched_end 16:1 `end`: this end closes nothing that is open
        dump::unclosed 17:1 `for`: this loop is never closed
        dump::text_syntax 18:1 `else`: expected a statement, found `else`
    "#]],
    );
    check_body(
        "z = a {di=x}\nz = a {id=x, id=y}\nz = a {id}",
        expect![[r#"
        dump::unknown_option 13:8 `di`: unknown instruction option `di`
        dump::duplicate_field 14:14 `id`: the field `id` is given twice
        dump::text_syntax 15:10 `}`: expected `=`, found `}`
    "#]],
    );
    check_body(
        "z, q = a\n2*z = a\nf(1) := 2\narg r : float64 red\nr = 1",
        expect![[r#"
        dump::text_syntax 13:8 `a`: expected a call, found another expression
        dump::not_assignable 14:1 `2*z`: this expression cannot be assigned to
        dump::text_syntax 15:1 `f(1)`: expected `NAME(parameter, …) :=`, found `f(1)`
        dump::unknown_access 16:17 `red`: unknown access `red`
    "#]],
    );
    check_body(
        "for i\n  q = 0 {inames=j}\nend",
        expect![[r#"
        dump::text_syntax 14:17 `j`: expected `i` among the inames, as in the loop around, found a list without it
    "#]],
    );
    check_body(
        "order c, c, d\nz = a {id=c}",
        expect![[r#"
        dump::repeated_name 13:10 `c`: `c` is given twice in one list
        dump::unknown_instruction 13:13 `d`: no instruction has the id `d`
    "#]],
    );
    check_body(
        "param m : int32 = 1.5\nz = min(a)\nz = if(p, a)\nz = reduce(mean, [i], a)\ntemp r : float",
        expect![[r#"
        dump::text_syntax 13:19 `1.5`: expected an integer, found a float
        dump::wrong_arity 14:5 `min(a)`: `min` takes at least 2 operands, not 1
        dump::wrong_arity 15:5 `if(p, a)`: `if` takes 3 operands, not 2
        dump::unknown_reduction 16:12 `mean`: unknown reduction `mean`
        dump::unknown_dtype 17:10 `float`: unknown dtype `float`
    "#]],
    );
    check_body(
        "code \"x\" reads b\ncode \"y\" writes x",
        expect![[r#"
        dump::unknown_name 13:16 `b`: the name `b` is not defined
        dump::not_writable 14:17 `x`: `x` is a read-only argument and cannot be written
    "#]],
    );
    check_body(
        "table r : float64[2] = [1, x]\nmeta {\"a\": }\ntag i vectorize",
        expect![[r#"
        dump::text_syntax 13:28 `x`: expected a number or `[`, found `x`
        dump::json_syntax 14:12 `}`: not JSON: expected a value, found `}`
        dump::unknown_tag 15:7 `vectorize`: unknown tag `vectorize`
    "#]],
    );
}

#[test]
fn names() {
    check_body(
        "z = aa + xx[0] + f(j)",
        expect![[r#"
        dump::unknown_name 13:5 `aa`: the name `aa` is not defined
          did you mean `a`?
        dump::unknown_name 13:10 `xx`: the name `xx` is not defined
          did you mean `x`?
        dump::iname_out_of_scope 13:20 `j`: the iname `j` has no value here
    "#]],
    );
    check_body(
        "temp int : float64\ntemp a : float64\ntemp i : int32\nn := 2\nx(b, b) := b\nsum(t) := t",
        expect![[r#"
        dump::invalid_name 13:6 `int`: `int` cannot be a name: it is a keyword of C
        dump::duplicate_name 14:6 `a`: the name `a` is defined twice
        dump::duplicate_name 15:6 `i`: the name `i` is defined twice
        dump::duplicate_name 16:1 `n`: the name `n` is defined twice
        dump::duplicate_name 17:1 `x`: the name `x` is defined twice
        dump::repeated_name 17:6 `b`: `b` is given twice in one list
        dump::text_syntax 18:6 `)`: expected `,`, found `)`
    "#]],
    );
    check_body(
        "i = 2\nn = 3\nsq(2) = 4\nz = i[2] + n(3) + sq",
        expect![[r#"
            dump::not_assignable 13:1 `i`: `i`, an iname, cannot be assigned to
            dump::not_assignable 14:1 `n`: `n`, a parameter, cannot be assigned to
            dump::not_assignable 15:1 `sq(2)`: this expression cannot be assigned to
            dump::wrong_kind_of_name 16:5 `i`: `i` is an iname, not an array
            dump::wrong_kind_of_name 16:12 `n`: `n` is a parameter, not a function or a substitution
            dump::wrong_arity 16:19 `sq`: the substitution `sq` takes 1 argument, not 0
        "#]],
    );
    check_body(
        "z = a {id=c, dep=d}\nz = a {id=c, dep=c:c}",
        expect![[r#"
        dump::unknown_instruction 13:18 `d`: no instruction has the id `d`
        dump::duplicate_id 14:11 `c`: two instructions have the id `c`
        dump::repeated_dependence 14:20 `c`: the dependence on `c` is given twice
    "#]],
    );
    check_body(
        "z = a {id=aa, dep=cc}\nz = a {id=bb, dep=aa}\nz = a {id=cc, dep=bb}",
        expect![[r#"
        dump::dependence_cycle 13:11 `aa`: the instruction `aa` depends on itself: aa → cc → bb → aa
    "#]],
    );
    check_body(
        "u := v + 1\nv := w[0]*t(u)\nt(s) := s + v",
        expect![[r#"
        dump::cyclic_substitution 13:1 `u`: the substitution `u` uses itself: u → v → u
        dump::cyclic_substitution 14:1 `v`: the substitution `v` uses itself: v → t → v
    "#]],
    );
    check_json(
        r#"{"name": "a-b", "instructions": [{"id": "", "kind": "opaque", "within_inames": [], "depends_on": [], "predicates": [], "code": "", "reads": [], "writes": ["a"]}]}"#,
        expect![[r#"
        dump::invalid_name 1:37 `"a-b"`: `a-b` cannot be a name: names consist of letters, digits and `_`
        dump::invalid_name 1:255 `""`: `` cannot be a name: an instruction's id is not empty
        dump::not_writable 1:356 `"a"`: `a` is a read-only argument and cannot be written
    "#]],
    );
}

#[test]
fn inames() {
    check_body(
        "z = i\nz = sum(k, a)\nfor m, i\n z = sum(i, a)\nend",
        expect![[r#"
        dump::iname_out_of_scope 13:5 `i`: the iname `i` has no value here
        dump::iname_without_domain 14:9 `k`: the iname `k` is in no domain
        dump::iname_without_domain 15:5 `m`: the iname `m` is in no domain
        dump::reduction_over_outer_iname 16:10 `i`: a reduction over `i`, which has a value already
    "#]],
    );
    check_body(
        "z = sum(i, x[i]*sum(i, x[i]))\nz = sum([j, j], a)",
        expect![[r#"
        dump::reduction_over_outer_iname 13:21 `i`: a reduction over `i`, which has a value already
        dump::repeated_name 14:13 `j`: `j` is given twice in one list
    "#]],
    );
    check_body(
        "for l\n z = a\nend\nz = sum(l, a)",
        expect![[r#"
        dump::enclosing_iname_missing 13:5 `l`: `l` is enclosed by `i`, which has no value here
        dump::enclosing_iname_missing 16:9 `l`: `l` is enclosed by `i`, which has no value here
    "#]],
    );
    check_body(
        "r := sum(i, x[i])\ns := x[j]\nz = s\nfor i\n z = r\nend\nz = sum(j, s) + sum(i, r)",
        expect![[r#"
        dump::iname_out_of_scope 15:5 `s`: the iname `j` has no value here
        dump::reduction_over_outer_iname 17:6 `r`: a reduction over `i`, which has a value already
        dump::reduction_over_outer_iname 19:24 `r`: a reduction over `i`, which has a value already
    "#]],
    );
}

#[test]
fn domains() {
    check(
        "kernel k\ndomain { [i] : 0 <= }\nz = 2",
        expect![[r#"
        dump::isl_syntax 2:8 `{ [i] : 0 <= }`: the text of the domain is not in isl's notation: syntax error
    "#]],
    );
    check(
        "kernel k\ndomain { [i] : 0 <= i < n }",
        expect![[r#"
            dump::unlisted_parameter 2:25 `n`: `n` is used but not listed as a parameter of the set
        "#]],
    );
    check(
        "kernel k\nparam m : int32\ndomain [m] -> { [i] : m <= i < n and i < m }",
        expect![[r#"
        dump::unlisted_parameter 3:32 `n`: `n` is used but not listed as a parameter of the set
    "#]],
    );
    check(
        "kernel k\ndomain [n] -> { [i] : 0 <= i < n }",
        expect![[r#"
        dump::domain_parameter 2:9 `n`: `n` is neither an iname nor a parameter
    "#]],
    );
    check(
        "kernel k\ndomain { [i] : 0 <= i < 3 }\ndomain { [i, j] : 0 <= i, j < 2 }",
        expect![[r#"
        dump::iname_in_two_domains 3:11 `i`: the iname `i` is in two domains
    "#]],
    );
    check(
        "kernel k\ndomain { [i] : 0 <= i }",
        expect![[r#"
        dump::unbounded_domain 2:8 `{ [i] : 0 <= i }`: the domain is not bounded
    "#]],
    );
    check(
        "kernel k\nparam n : int32\nassume [n] -> { : n > n }",
        expect![[r#"
        dump::empty_assumptions 3:8 `[n] -> { : n > n }`: no values of the parameters satisfy the assumptions
    "#]],
    );
    check(
        "kernel k\nassume [m] -> { : m > 0 }",
        expect![[r#"
        dump::domain_parameter 2:9 `m`: `m` is neither an iname nor a parameter
    "#]],
    );
    check(
        "kernel k\nassume { [m] : m > 0 }",
        expect![[r#"
        dump::isl_syntax 2:8 `{ [m] : m > 0 }`: the text of the assumptions is not in isl's notation: it has set dimensions, and constrains no parameters
    "#]],
    );
    check(
        "kernel k\ndomain { S[i] : 0 <= i < 3 }",
        expect![[r#"
        dump::domain_shape 2:8 `{ S[i] : 0 <= i < 3 }`: the tuple of inames has the name `S`
    "#]],
    );
    check(
        "kernel k\ndomain { [i, i + 1] : 0 <= i < 3 }",
        expect![[r#"
        dump::domain_shape 2:8 `{ [i, i + 1] : 0 <= i < 3 }`: dimension 1 of the domain is no iname
    "#]],
    );
    check(
        "kernel k\ndomain [n] -> { : n > 3 }",
        expect![[r#"
        dump::domain_shape 2:8 `[n] -> { : n > 3 }`: the domain has no tuple of inames
    "#]],
    );
    check(
        "kernel k\ndomain [j] -> { [i] : 0 <= i < j < 9 }\ndomain [i] -> { [j] : 0 <= j < i < 9 }",
        expect![[r#"
        dump::domain_cycle 2:8 `[j] -> { [i] : 0 <= i < j < 9 }`: the domain of `i` encloses itself: i → j → i
    "#]],
    );
}

#[test]
fn large_domains() {
    let names: Vec<String> = (0..65).map(|idx| format!("i{idx}")).collect();
    check(
        &format!("kernel k\ndomain {{ [{0}] : 0 <= {0} < 2 }}", names.join(", ")),
        expect![[r#"
        dump::domain_too_complex 2:8 `{ [i0, i1, i2, i3, i4, i5, i6, i7, i8, i`: the text of the domain is too hard for isl: it holds more than 64 names
    "#]],
    );
    let chain = (1..65).fold("kernel k\ndomain { [i0] : 0 <= i0 < 9 }".to_owned(), |text, idx| {
        let outer = idx - 1;
        text + &format!("\ndomain [i{outer}] -> {{ [i{idx}] : i{outer} <= i{idx} < 9 }}")
    });
    check(
        &chain,
        expect![[r#"
        dump::domain_too_complex 66:8 `[i63] -> { [i64] : i63 <= i64 < 9 }`: the domain is too hard for isl: together with those around it, it has more than 64 dimensions
    "#]],
    );
}

/// What is wrong with a size is said where it is wrong, not wherever it is used.
#[test]
fn one_wrong_size_is_one_error() {
    let uses: String = ["a", "b", "c", "d", "e", "f"].map(|name| format!("arg {name} : float64[n] read\n")).concat();
    check(
        &format!("kernel k\nparam n : int32 = 8.5\n{uses}"),
        expect![[r#"
            dump::text_syntax 2:19 `8.5`: expected an integer, found a float
        "#]],
    );
    check(
        &format!("kernel k\nparam n : float64\n{uses}"),
        expect![[r#"
            dump::parameter_dtype 2:11 `float64`: the parameter `n` is float64
        "#]],
    );
    check(
        &format!("kernel k\nparam m : int32\n{uses}"),
        expect![[r#"
            dump::unknown_name 3:17 `n`: the name `n` is not defined
        "#]],
    );
}

#[test]
fn shapes_and_types() {
    check_body(
        "z = a[0] + x + x[0, 1] + x[4] + x[-1] + x[a] + y[0][1]",
        expect![[r#"
            dump::wrong_rank 13:5 `a`: `a` has no dimensions but is given 1 index
            dump::wrong_rank 13:12 `x`: `x` has 1 dimension but is given no index
            dump::wrong_rank 13:16 `x`: `x` has 1 dimension but is given 2 indices
            dump::wrong_type 13:43 `a`: an index of `x` is an integer, not a float
            dump::wrong_rank 13:48 `y`: `y` has 2 dimensions but is given 1 index
            dump::text_syntax 13:52 `[`: expected the end of the statement, found `[`
        "#]],
    );
    check_body(
        "z = a[0] + x + x[0, 1] + x[4] + x[-1] + x[a]",
        expect![[r#"
            dump::wrong_rank 13:5 `a`: `a` has no dimensions but is given 1 index
            dump::wrong_rank 13:12 `x`: `x` has 1 dimension but is given no index
            dump::wrong_rank 13:16 `x`: `x` has 1 dimension but is given 2 indices
            dump::wrong_type 13:43 `a`: an index of `x` is an integer, not a float
        "#]],
    );
    check_body(
        "z = p\nz = p + 1\nq = a\nq = a & 1\nz = a if q else a\nz = not a\nz = 1 {if=q}\nz = a < 1 < 2",
        expect![[r#"
            dump::wrong_type 13:5 `p`: `z` holds a number, not a condition
            dump::wrong_type 14:5 `p`: `+` takes a number, not a condition
            dump::wrong_type 15:5 `a`: `q` holds an integer, not a float
            dump::wrong_type 16:5 `a`: `&` takes an integer, not a float
            dump::wrong_type 17:10 `q`: `if` takes a condition, not an integer
            dump::wrong_type 18:5 `not a`: `z` holds a number, not a condition
            dump::wrong_type 18:9 `a`: `not` takes a condition, not a float
            dump::wrong_type 19:11 `q`: a predicate is a condition, not an integer
            dump::wrong_type 20:5 `a < 1`: `<` takes a number, not a condition
            dump::wrong_type 20:5 `a < 1 < 2`: `z` holds a number, not a condition
        "#]],
    );
    check_body(
        "q = 1/2\nq = 7//2\nq = 2**3\nq = 2**-1\nz = a if p else p\nz = sqrt(p) + sum(i, p)",
        expect![[r#"
        dump::wrong_type 13:5 `1/2`: `q` holds an integer, not a float
        dump::wrong_type 16:5 `2**-1`: `q` holds an integer, not a float
        dump::wrong_type 17:17 `p`: the other value of the `if` is a number, not a condition
        dump::wrong_type 18:10 `p`: the function `sqrt` takes a number, not a condition
        dump::wrong_type 18:15 `sum(i, p)`: `+` takes a number, not a condition
        dump::wrong_type 18:22 `p`: the reduction `sum` takes a number, not a condition
    "#]],
    );
    check_body(
        "temp r : float64[x]\ntemp s : float64[n - 1, 0, 2.5]\ntable t : float64[n] = [1]",
        expect![[r#"
        dump::wrong_size 13:18 `x`: a size holds an array
        dump::wrong_size 14:25 `0`: a size of 0
        dump::wrong_size 14:28 `2.5`: a size is an integer, not a float
        dump::wrong_size 15:19 `n`: the size of a table is not a literal
    "#]],
    );
    check_body(
        "table r : float64[2, 2] = [[1, 2], [3]]\ntable s : float64[2] = [[1, 2]]\ntable t : float64[2] = 3\n\
         table u : float64 = [1]\ntable v : int32[2] = [1, 2.0]\ntable b : bool[2] = [1, 2]\n\
         table c : float64[3] = [1, 2]\ntable d : float32 = 1e39",
        expect![[r#"
            dump::table_size 13:36 `[`: the table `r` has size 2 in dimension 1, but this list has 1 items
            dump::table_size 14:25 `[`: the table `s` has 1 dimension, but its lists nest deeper
            dump::table_size 15:24 `3`: the table `t` has 1 dimension, but its lists nest 0 deep
            dump::table_size 16:21 `[`: the table `u` has 0 dimensions, but its lists nest deeper
            dump::table_dtype 17:26 `2.0`: the int32 table `v` holds `2.0`
            dump::table_dtype 18:25 `2`: the bool table `b` holds `2`
            dump::table_size 19:24 `[`: the table `c` has size 3 in dimension 0, but this list has 2 items
            dump::table_dtype 20:21 `1e39`: the float32 table `d` holds `1e39`
        "#]],
    );
    check_body(
        "a = 1\nw[0] = 1\nx[0], z = f(a)",
        expect![[r#"
        dump::not_writable 13:1 `a`: `a` is a read-only argument and cannot be written
        dump::not_writable 14:1 `w`: `w` is a table and cannot be written
        dump::not_writable 15:1 `x`: `x` is a read-only argument and cannot be written
    "#]],
    );
    check_json(
        r#"{"instructions": [{"id": "c", "kind": "call", "within_inames": [], "depends_on": [], "predicates": [],
        "assignees": [], "function": "f", "arguments": ["a"]}]}"#,
        expect![[r#"
            dump::no_assignee 1:253 `"c"`: a call without an assignee
        "#]],
    );
}

#[test]
fn linearizations() {
    let check_items = |items: &str, expect: Expect| {
        let insn = |id: &str, within: &str| {
            format!(
                r#"{{"id": "{id}", "kind": "assignment", "within_inames": [{within}], "depends_on": [], "predicates": [],
                "assignee": ["[]", "y", 0], "expression": "a"}}"#
            )
        };
        let insns = [insn("none", ""), insn("one", r#""i""#)].join(",");
        let domains = r#"["{ [i, j] : 0 <= i, j < 4 }", "[i] -> { [l] : 0 <= l <= i }"]"#;
        check_json(
            &format!(r#"{{"domains": {domains}, "instructions": [{insns}], "linearization": {items}}}"#),
            expect,
        );
    };
    check_items(
        r#"[["run","none"],["for","i"],["run","one"]]"#,
        expect![[r#"
        dump::unclosed 1:565 `["for","i"]`: this loop is never closed
    "#]],
    );
    check_items(
        r#"[["run","none"],["for","i"],["run","one"],["end","j"]]"#,
        expect![[r#"
        dump::unmatched_end 1:591 `["end","j"]`: this end closes nothing that is open
    "#]],
    );
    check_items(
        r#"[["run","none"],["for","i"],["run","one"],["end","i"],["endif"]]"#,
        expect![[r#"
        dump::unmatched_end 1:603 `["endif"]`: this end closes nothing that is open
    "#]],
    );
    check_items(
        r#"[["if",["<","a",1]],["run","none"],["for","i"],["run","one"],["end","i"]]"#,
        expect![[r#"
        dump::unclosed 1:550 `["if",["<","a",1]]`: this condition is never closed
    "#]],
    );
    check_items(
        r#"[["for","i"],["run","none"],["for","i"],["run","one"],["end","i"],["end","i"]]"#,
        expect![[r#"
        dump::wrong_loops 1:569 `"none"`: the instruction `none` is within no inames but runs inside `i`
        dump::reopened_loop 1:577 `["for","i"]`: a loop over `i` inside a loop over `i`
    "#]],
    );
    check_items(
        r#"[["run","none"],["for","l"],["end","l"],["run","none"],["run","on"]]"#,
        expect![[r#"
        dump::never_run 1:410 `"one"`: the instruction `one` never runs
        dump::enclosing_iname_missing 1:572 `"l"`: `l` is enclosed by `i`, which has no value here
        dump::run_twice 1:596 `"none"`: the instruction `none` runs twice
        dump::unknown_instruction 1:611 `"on"`: no instruction has the id `on`
          did you mean `one`?
    "#]],
    );
    check_items(
        r#"[["run","none"],["for","i"],["if",["<","j",1]],["run","one"],["endif"],["end","i"],["if","a"],["endif"]]"#,
        expect![[r#"
            dump::iname_out_of_scope 1:588 `"j"`: the iname `j` has no value here
            dump::wrong_type 1:638 `"a"`: a predicate is a condition, not a float
        "#]],
    );
    check_items(
        r#"[["run"],["fro","i"],[],7,["for","k"]]"#,
        expect![[r#"
            dump::wrong_arity 1:550 `["run"]`: `run` takes one instruction id, not 0
            dump::unknown_item 1:559 `"fro"`: unknown item `fro` in the linearization
            dump::wrong_json_type 1:570 `[]`: an item of the linearization is a list that begins with its kind, not a list
            dump::wrong_json_type 1:573 `7`: an item of the linearization is a list, not an integer
        "#]],
    );
    let many = (0..201).map(|_| r#"["if",["<","a",1]]"#).collect::<Vec<_>>().join(",");
    check_items(
        &format!("[{many}]"),
        expect![[r#"
        dump::never_run 1:284 `"none"`: the instruction `none` never runs
        dump::never_run 1:410 `"one"`: the instruction `one` never runs
        dump::loops_nested_too_deep 1:4350 `["if",["<","a",1]]`: loops and conditions nest more than 200 deep
    "#]],
    );
    check(
        "kernel k linearized\ndomain { [i] : 0 <= i < 3 }\ntemp t : float64\nfor i\n  t = i {id=a, inames=i}\n  t = i {id=b}\nend\nend",
        expect![[r#"
        dump::unmatched_end 8:1 `end`: this end closes nothing that is open
    "#]],
    );
}

#[test]
fn depth() {
    let deep = format!("[\"-\",{}1{}]", "[\"-\",".repeat(1000), "]".repeat(1000));
    let json = |expr: &str| {
        format!(
            r#"{{"format":"nestegg-kernel/1","name":"k","domains":[],"arguments":[{{"name":"z","dtype":"float64","shape":[],"access":"write"}}],"temporaries":[],"instructions":[{{"id":"e","kind":"assignment","within_inames":[],"depends_on":[],"predicates":[],"assignee":"z","expression":{expr}}}],"linearization":null}}"#
        )
    };
    check(
        &json(&deep),
        expect![[r#"
        dump::nested_too_deep 1:269 `["-",["-",["-",["-",["-",["-",["-",["-",`: operations are nested more than 1000 deep
    "#]],
    );
    assert!(read(&Source::new("t", &*json(&deep[5..deep.len() - 1]))).is_ok(), "1,000 are allowed");
    let deeper = format!("{}1{}", "[\"-\",".repeat(100_000), "]".repeat(100_000));
    check(
        &json(&deeper),
        expect![[r#"
        dump::nested_too_deep 1:495264 `["-",["-",["-",["-",["-",["-",["-",["-",`: operations are nested more than 1000 deep
    "#]],
    );
    check(
        &json(&"[".repeat(100_000)),
        expect![[r#"
        dump::json_syntax 1:100269 `}`: not JSON: expected a value or `]`, found `}`
    "#]],
    );
    check(
        &json(&"{\"a\":".repeat(100_000)),
        expect![[r#"
        dump::json_syntax 1:500269 `}`: not JSON: expected a value, found `}`
    "#]],
    );
    let text = |expr: &str| format!("kernel k\narg z : float64 write\nz = {expr}\n");
    check(
        &text(&format!("{}1{}", "(-".repeat(100_000), ")".repeat(100_000))),
        expect![[r#"
        dump::nested_too_deep 3:198002 `-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(`: operations are nested more than 1000 deep
    "#]],
    );
    check(
        &text(&"(".repeat(100_000)),
        expect![[r#"
        dump::text_syntax 4:1 ``: expected an expression, found the end of the text
    "#]],
    );
    check(
        &text(&"1 - ".repeat(100_000)),
        expect![[r#"
        dump::text_syntax 3:400005 `⏎`: expected an expression, found the end of the line
    "#]],
    );
    check(
        &text(&format!("{}1", "1 - ".repeat(100_000))),
        expect![[r#"
        dump::nested_too_deep 3:5 `1 - 1 - 1 - 1 - 1 - 1 - 1 - 1 - 1 - 1 - `: operations are nested more than 1000 deep
    "#]],
    );
    check(
        &text(&format!("{}1", "1 if ".repeat(100_000))),
        expect![[r#"
        dump::text_syntax 3:500002 `if`: expected `else`, found the end of the expression
    "#]],
    );
    check(
        &text(&format!("{}1", "2**".repeat(100_000))),
        expect![[r#"
        dump::nested_too_deep 3:297002 `2**2**2**2**2**2**2**2**2**2**2**2**2**2`: operations are nested more than 1000 deep
    "#]],
    );
    check(
        &text(&"f(".repeat(100_000)),
        expect![[r#"
        dump::text_syntax 4:1 ``: expected an expression, found the end of the text
    "#]],
    );
    assert!(read(&Source::new("t", text(&format!("{}1", "1 + ".repeat(100_000))))).is_ok(), "one sum");
}

#[test]
fn many_errors() {
    let mut text = "kernel k\narg z : float64 write\n".to_owned();
    for idx in 0..1000 {
        writeln!(text, "z = unknown_{idx}").unwrap();
    }
    let errors = read(&Source::new("many.knl", &*text)).map(|_| ()).unwrap_err();
    assert_eq!(errors.errors().len(), nestegg_dump::MAX_ERRORS);
    expect!["`many.knl` has 1000 errors, of which the first 100 follow"].assert_eq(&errors.to_string());
}

#[test]
fn errors_on_a_terminal() {
    let text = "kernel k\narg x : float64[4] read\narg x : float64[4] write\ntemp t : float32\nt = x[0] + yy\n";
    let errors = read(&Source::new("k.knl", text)).map(|_| ()).unwrap_err();
    expect![[r#"
          × `k.knl` has 2 errors

        Error: dump::duplicate_name

          × the name `x` is defined twice
           ╭─[k.knl:2:5]
         1 │ kernel k
         2 │ arg x : float64[4] read
           ·     ┬
           ·     ╰── first defined here
         3 │ arg x : float64[4] write
           ·     ┬
           ·     ╰── defined again here
         4 │ temp t : float32
           ╰────
          help: inames, parameters, arrays and substitutions share one set of names

        Error: dump::unknown_name

          × the name `yy` is not defined
           ╭─[k.knl:5:12]
         4 │ temp t : float32
         5 │ t = x[0] + yy
           ·            ─┬
           ·             ╰── unknown name
           ╰────
    "#]]
    .assert_eq(&render(&errors));
}

#[test]
fn a_deep_line_on_a_terminal() {
    let text = format!("kernel k\ntemp t : float32\nt = {}1{}\n", "(-".repeat(5_000), ")".repeat(5_000));
    let errors = read(&Source::new("k.knl", text)).map(|_| ()).unwrap_err();
    expect![[r#"
          × `k.knl` has 1 error

        Error: dump::nested_too_deep

          × operations are nested more than 1000 deep
           ╭─[k.knl:3:8002]
         3 │ -(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(
           ·                                                             ──────────────────────────────┬─────────────────────────────
           ·                                                                                           ╰── too deep from here on
           ╰────
          help: name sub-expressions by substitutions and use the names
    "#]].assert_eq(&render(&errors));
}
