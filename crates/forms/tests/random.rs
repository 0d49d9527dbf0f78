//! Forms of random small kernels are kernels, and compute the same values.
//!
//! The kernels have one to three test inames, tables with zeros and with repeated, proportional and identity entries, and sums of products of run-time scalars,
//! values at points and tables. Forms that compute with tables are compared in floats, the others exactly too.
#![allow(missing_docs)]

use std::fmt::Write;

use nestegg_dump::{read, write_text};
use nestegg_forms::{
    Options, Selected, Shape, Stores, Sums, eliminate_deltas, even_odd, interpolate, linear_maps, monomial_counts,
    paired_tables, point_features, separate, share_symmetric, split_digits, tabulate, traces,
};
use nestegg_interp::{ValidateOptions, Verdict, validate};
use nestegg_ir::verify::verify;
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_transform::{eliminate_dead, isolate_stores, normalise};

/// How many kernels.
const N_KERNELS: u64 = 80;

/// Numbers of tables, some several times.
const ENTRIES: [&str; 8] = ["0.0", "0.0", "0.5", "-0.5", "0.25", "1.0", "0.3", "0.7"];

/// What tables are multiplied with.
const SCALARS: [&str; 8] = ["a", "b", "a*b", "(a + b)", "(a - b)*a", "f[q]", "f[q]*a", "exp(f[q])"];

/// A kernel under construction; numbers come from a linear congruence.
struct Generator {
    state: u64,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.state >> 33) % n as u64).expect("a remainder fits")
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// A table over points and functions: random, of a tensor product, an identity, or with rows that add up to one; or its own mirror image.
    fn table(&mut self, n_points: usize, n_functions: usize, is_mirrored: bool) -> String {
        let kind = if is_mirrored { 4 } else { self.below(4) };
        let row = |generator: &mut Self| -> Vec<String> {
            (0..n_functions).map(|_| generator.one_of(&ENTRIES).to_owned()).collect()
        };
        let (first, second) = (row(self), row(self));
        let mirrored: Vec<Vec<String>> = (0..n_points).map(|_| row(self)).collect();
        let rows: Vec<String> = (0..n_points)
            .map(|point| {
                let row = match kind {
                    0 => row(self),
                    1 if point % 2 == 0 => first.clone(),
                    1 => second.clone(),
                    4 if 2 * point < n_points => mirrored[point].clone(),
                    4 => mirrored[n_points - 1 - point].iter().rev().cloned().collect(),
                    2 => (0..n_functions).map(|function| format!("{}.0", u8::from(function == point))).collect(),
                    _ => {
                        let mut row = vec![format!("{}", 0.25 * point as f64); n_functions];
                        row[0] = format!("{}", 1.0 - 0.25 * (point * (n_functions - 1)) as f64);
                        row
                    }
                };
                format!("[{}]", row.join(", "))
            })
            .collect();
        format!("[{}]", rows.join(", "))
    }

    fn kernel(&mut self) -> String {
        let n_axes = 1 + self.below(3);
        let n_points = [2, 3, 4][self.below(3)];
        let n_functions = [2, 3][self.below(2)];
        let inames = &["j", "k", "l"][..n_axes];
        let is_mirrored = self.below(4) == 0;
        // Where numbers select tables, both may select from one.
        let selectors: &[&str] = [[].as_slice(), &[], &[], &["s[0], "], &["s[0], ", "s[1], "]][self.below(5)];
        let scalars = if is_mirrored { &SCALARS[5..] } else { &SCALARS[..] };
        let shape = vec![n_functions.to_string(); n_axes].join(", ");
        let mut text = format!(
            "kernel random\ndomain {{ [q, {0}] : 0 <= q < {n_points} and 0 <= {0} < {n_functions} }}\narg A : float64[{shape}] readwrite\n",
            inames.join(", "),
        );
        text += &format!("arg a : float64 read\narg b : float64 read\narg f : float64[{n_points}] read\n");
        let n_members = if selectors.is_empty() { 1 } else { 2 + self.below(2) };
        if !selectors.is_empty() {
            text += "arg s : int32[2] read\n";
        }
        for table in ["T", "U"] {
            let members: Vec<String> = (0..n_members).map(|_| self.table(n_points, n_functions, is_mirrored)).collect();
            let (members, first) = match members.as_slice() {
                [single] if selectors.is_empty() => (single.clone(), String::new()),
                _ => (format!("[{}]", members.join(", ")), format!("{n_members}, ")),
            };
            writeln!(text, "table {table} : float64[{first}{n_points}, {n_functions}] = {members}")
                .expect("text grows");
        }
        let terms: Vec<String> = (0..1 + self.below(3))
            .map(|_| {
                let mut factors = vec![self.one_of(scalars).to_owned()];
                factors.extend(inames.iter().map(|iname| {
                    let table = self.one_of(&["T", "U"]);
                    let selector = if selectors.is_empty() { "" } else { self.one_of(selectors) };
                    format!("{table}[{selector}q, {iname}]")
                }));
                factors.join("*")
            })
            .collect();
        let (element, value) = (format!("A[{}]", inames.join(", ")), terms.join(" + "));
        writeln!(text, "for {}\n  {element} = {element} + sum(q, {value})\nend", inames.join(", "))
            .expect("text grows");
        text
    }
}

#[test]
fn forms_of_random_kernels_compute_the_same() {
    let mut n_found = [0_usize; 15];
    for seed in 0..N_KERNELS {
        let mut generator = Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let text = generator.kernel();
        let (input, form) = input_and_form(&text);
        let isolated = isolate_stores(form.clone()).expect("text grows");
        let switches = generator.below(16);
        let options = Options {
            shape: Shape::StraightLine,
            stores: Stores::Together,
            sums: Sums::Expanded,
            basis: switches & 1 == 0,
            moments: switches & 8 == 0,
            row_differences: switches & 2 == 0,
            pairs: switches & 4 == 0,
            scalars: switches & 8 == 0,
            max_statements: Options::DEFAULT_MAX_STATEMENTS,
            max_monomials: None,
            selected: Selected::Scalars,
        };
        let kept = Options { sums: Sums::Kept, ..options };
        let families = Options { selected: Selected::Families, ..if switches & 4 == 0 { options } else { kept } };
        let loops = Options { shape: Shape::Loops, ..options };
        // So few statements that some axes stay loops.
        let short = Options { max_statements: 20, ..options };
        let few = monomial_counts(&isolated).unwrap().first().copied();
        let integrands = few.map(|few| Options { max_monomials: Some(few), ..options });
        let integrands = integrands.and_then(|options| linear_maps(&isolated, &options).unwrap());
        // What is within the limit on statements is written straight.
        let straight = linear_maps(&isolated, &options).unwrap();
        let n_statements = straight.as_ref().map_or(0, |maps| maps.linearized.kernel.instructions.len());
        let components = linear_maps(&isolated, &short).unwrap();
        let components = components.filter(|maps| maps.linearized.kernel.instructions.len() < n_statements);
        let forms: [(&str, Option<LinearizedKernel>, bool); 15] = [
            ("linear-map", straight.map(|maps| maps.linearized), false),
            ("merged", linear_maps(&isolated, &loops).unwrap().map(|maps| maps.linearized), false),
            ("pairs", paired_tables(&isolated, &options).unwrap().map(|maps| maps.linearized), false),
            ("features", point_features(&isolated, &options).unwrap().map(|maps| maps.linearized), false),
            ("interpolation", interpolate(&form).unwrap().map(|maps| maps.linearized), false),
            ("digits", split_digits(&form).unwrap().map(|maps| maps.linearized), false),
            ("deltas", eliminate_deltas(&isolated).unwrap(), true),
            ("symmetric", share_symmetric(&isolated).unwrap(), true),
            ("tabulated", tabulate(&isolated).unwrap().map(|maps| maps.linearized), false),
            ("even-odd", even_odd(&isolated).unwrap().map(|maps| maps.linearized), false),
            ("integrands", integrands.map(|maps| maps.linearized), false),
            ("components", components.map(|maps| maps.linearized), false),
            ("features of sums", point_features(&isolated, &kept).unwrap().map(|maps| maps.linearized), false),
            ("maps of sums", linear_maps(&isolated, &kept).unwrap().map(|maps| maps.linearized), false),
            ("maps of families", linear_maps(&isolated, &families).unwrap().map(|maps| maps.linearized), false),
        ];
        for (kind_idx, (kind, found, is_exact)) in forms.into_iter().enumerate() {
            let Some(found) = found else { continue };
            n_found[kind_idx] += 1;
            // Stores that were replaced stay as dead code.
            check(kind, &input, &Program::Linearized(eliminate_dead(found)), is_exact);
        }
    }
    // Interpolation needs sums that are written out.
    for (kind_idx, kind) in ["linear-map", "merged", "pairs", "features"].iter().enumerate() {
        assert!(n_found[kind_idx] >= 5, "{kind} was found {} times", n_found[kind_idx]);
    }
    for (kind_idx, kind) in [
        (6, "deltas"),
        (7, "symmetric"),
        (9, "even-odd"),
        (10, "integrands"),
        (11, "components"),
        (14, "maps of families"),
    ] {
        assert!(n_found[kind_idx] > 0, "{kind} was never found");
    }
}

impl Generator {
    /// A number that no other of its table is likely to be.
    fn number(&mut self) -> f64 {
        (self.below(2_000) as f64 - 999.5) / 1_000.0
    }

    /// A kernel over functions that are products of functions of one dimension, in any order, and its tables.
    fn of_products(&mut self) -> String {
        let shapes: [&[(usize, usize)]; 3] = [&[(2, 2), (3, 2)], &[(3, 3), (2, 2)], &[(2, 2), (2, 2), (3, 2)]];
        let shape = shapes[self.below(3)];
        let (n_points, n_functions) = shape.iter().fold((1, 1), |all, next| (all.0 * next.0, all.1 * next.1));
        let mut order: Vec<usize> = (0..n_functions).collect();
        let is_in_order = self.below(3) == 0;
        (1..n_functions).rev().filter(|_| !is_in_order).for_each(|last| order.swap(last, self.below(last + 1)));
        let n_axes = self.below(3);
        let inames = &["j", "k"][..n_axes];
        let extents = vec![n_functions.to_string(); n_axes].join(", ");
        let (shape_of_result, element) = match n_axes {
            0 => (String::new(), "A".to_owned()),
            _ => (format!("[{extents}]"), format!("A[{}]", inames.join(", "))),
        };
        let all = [&["c"], inames].concat().join(", ");
        let mut text = format!(
            "kernel random\ndomain {{ [q, {all}] : 0 <= q < {n_points} and 0 <= {all} < {n_functions} }}\narg A : float64{shape_of_result} readwrite\n"
        );
        text += &format!("arg f : float64[{n_points}] read\narg x : float64[{n_functions}] read\n");
        for table in ["T", "U"] {
            let lines: Vec<Vec<f64>> = shape
                .iter()
                .map(|&(points, functions)| (0..points * functions).map(|_| self.number()).collect())
                .collect();
            let entry = |point: usize, function: usize| {
                let (mut res, mut point, mut function) = (1.0, point, order[function]);
                for (line, &(points, functions)) in lines.iter().zip(shape).rev() {
                    res *= line[point % points * functions + function % functions];
                    (point, function) = (point / points, function / functions);
                }
                format!("{res:?}")
            };
            let row =
                |point| format!("[{}]", (0..n_functions).map(|at| entry(point, at)).collect::<Vec<_>>().join(", "));
            let rows: Vec<String> = (0..n_points).map(row).collect();
            writeln!(text, "table {table} : float64[{n_points}, {n_functions}] = [{}]", rows.join(", "))
                .expect("text grows");
        }
        writeln!(
            text,
            "table w : float64[{n_functions}] = {:?}",
            (0..n_functions).map(|at| at as f64).collect::<Vec<_>>()
        )
        .expect("text grows");
        let factors: Vec<String> =
            inames.iter().map(|iname| format!("{}[q, {iname}]", self.one_of(&["T", "U", "(T + U)"]))).collect();
        let factors = factors
            .join("*")
            .replace("(T + U)[q, j]", "(T[q, j] + U[q, j])")
            .replace("(T + U)[q, k]", "(w[k]*T[q, k] - U[q, k])");
        let factors = if factors.is_empty() { "w[1]".to_owned() } else { factors };
        let sign = self.one_of(&["", "-"]);
        let start = self.one_of(&["", "A"]).replace('A', &format!("{element} + "));
        let store =
            format!("{element} = {start}sum(q, {factors}*f[q]*sum(c, T[q, c]*x[c])) + {sign}sum(q, {factors}*f[q])");
        match n_axes {
            0 => text += &format!("{store}\n"),
            _ => text += &format!("for {}\n  {store}\nend\n", inames.join(", ")),
        }
        text
    }
}

#[test]
fn tables_of_random_tensor_products_are_separated() {
    for seed in 0..N_KERNELS {
        let mut generator = Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let text = generator.of_products();
        let (input, form) = input_and_form(&text);
        let isolated = isolate_stores(form).expect("text grows");
        let found = separate(&isolated).unwrap().unwrap_or_else(|| panic!("nothing is separated\n{text}"));
        check("separated", &input, &Program::Linearized(eliminate_dead(found.linearized.clone())), false);
        let split = split_digits(&found.linearized).unwrap().unwrap_or_else(|| panic!("no digits are found\n{text}"));
        check("digits", &input, &Program::Linearized(eliminate_dead(split.linearized)), false);
    }
}

impl Generator {
    /// A table of a family: for each member few columns are not zero; of `is_alike` members the same ones, in some order, elsewhere.
    fn family(&mut self, (n_members, n_points, n_functions): (usize, usize, usize), is_alike: bool) -> String {
        let n_kept = 1 + self.below(n_functions - 1);
        let column = |generator: &mut Self| -> Vec<f64> { (0..n_points).map(|_| generator.number()).collect() };
        let shared: Vec<Vec<f64>> = (0..n_kept).map(|_| column(self)).collect();
        let mut members = Vec::new();
        for _ in 0..n_members {
            let mut places: Vec<usize> = (0..n_functions).collect();
            (1..n_functions).rev().for_each(|last| places.swap(last, self.below(last + 1)));
            let mut columns = vec![vec![0.0; n_points]; n_functions];
            // Members that differ may have fewer.
            let n_own = if is_alike { n_kept } else { 1 + self.below(n_kept) };
            for (&place, shared) in places.iter().zip(&shared).take(n_own) {
                columns[place] = if is_alike { shared.clone() } else { column(self) };
            }
            let rows =
                (0..n_points).map(|q| format!("{:?}", columns.iter().map(|column| column[q]).collect::<Vec<_>>()));
            members.push(format!("[{}]", rows.collect::<Vec<_>>().join(", ")));
        }
        format!("[{}]", members.join(", "))
    }

    /// A kernel over facets: sums and stores over functions of which most are zero on each.
    fn of_families(&mut self) -> String {
        let (n_members, n_points, n_functions) = (2 + self.below(2), 2 + self.below(2), 3 + self.below(3));
        let n_axes = self.below(3);
        let inames = &["j", "k"][..n_axes];
        let all = [&["c"], inames].concat().join(", ");
        let (shape_of_result, element) = match n_axes {
            0 => (String::new(), "A".to_owned()),
            _ => {
                let extents = vec![n_functions.to_string(); n_axes].join(", ");
                (format!("[{extents}]"), format!("A[{}]", inames.join(", ")))
            }
        };
        let mut text = format!(
            "kernel random\ndomain {{ [q, {all}] : 0 <= q < {n_points} and 0 <= {all} < {n_functions} }}\narg A : float64{shape_of_result} readwrite\n"
        );
        text +=
            &format!("arg f : float64[{n_points}] read\narg x : float64[{n_functions}] read\narg s : int32[2] read\n");
        let shape = (n_members, n_points, n_functions);
        let mut tables = vec![("T", self.family(shape, true)), ("U", self.family(shape, false))];
        let full = (0..n_members * n_points * n_functions).map(|_| self.number()).collect::<Vec<_>>();
        let full: Vec<_> = full.chunks(n_functions).collect::<Vec<_>>().chunks(n_points).map(<[_]>::to_vec).collect();
        tables.push(("V", format!("{full:?}")));
        for (table, values) in tables {
            writeln!(text, "table {table} : float64[{n_members}, {n_points}, {n_functions}] = {values}")
                .expect("text grows");
        }
        let directions: Vec<_> = (0..n_members).map(|_| [self.number(), self.number()]).collect();
        writeln!(text, "table F : float64[{n_members}, 2] = {directions:?}").expect("text grows");
        let member = |generator: &mut Self| generator.one_of(&["s[0]", "s[0]", "s[1]"]);
        let mut terms = Vec::new();
        for _ in 0..1 + self.below(3) {
            let mut factors = vec![self.one_of(&["f[q]", "exp(f[q])", "2.0", "F[s[0], 0]"]).to_owned()];
            for iname in inames {
                let own = format!("{}[{}, q, {iname}]", self.one_of(&["T", "U", "V"]), member(self));
                let other = format!("T[{}, q, {iname}]", member(self));
                factors.push(match self.below(3) {
                    0 => format!("({own} - f[q]*{other})"),
                    _ => own,
                });
            }
            terms.push(factors.join("*"));
        }
        let sum = |generator: &mut Self| {
            format!("sum(c, x[c]*{}[{}, q, c])", generator.one_of(&["T", "U"]), member(generator))
        };
        let (first, second) = (sum(self), sum(self));
        let value = match self.below(3) {
            0 => format!("(F[s[0], 0]*{first} - {second}*F[s[0], 1])"),
            1 => format!("({first} + exp({first})*F[s[1], 1]*{second})"),
            _ => format!("({first} + {second})"),
        };
        let start = self.one_of(&["", "A"]).replace('A', &format!("{element} + "));
        let store = format!("{element} = {start}sum(q, ({})*{value})", terms.join(" + "));
        match n_axes {
            0 => text += &format!("{store}\n"),
            _ => text += &format!("for {}\n  {store}\nend\n", inames.join(", ")),
        }
        text
    }
}

#[test]
fn random_families_of_tables_are_taken_without_their_zeros() {
    for seed in 0..N_KERNELS {
        let mut generator = Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let text = generator.of_families();
        let (input, form) = input_and_form(&text);
        let isolated = isolate_stores(form).expect("text grows");
        let found = traces(&isolated).unwrap().unwrap_or_else(|| panic!("nothing is left out\n{text}"));
        check("traces", &input, &Program::Linearized(eliminate_dead(found.linearized)), false);
    }
}

/// A program, and its value form.
fn input_and_form(text: &str) -> (Program, LinearizedKernel) {
    let input = match read(&Source::new("random", text)) {
        Ok(read) => read.program,
        Err(errors) => panic!("{errors}: {:#?}\n{text}", errors.errors()),
    };
    let linearized = input.clone().into_linearized().expect("random kernels have an order");
    let form = normalise(linearized).expect("random kernels have a value form");
    (input, form)
}

fn check(kind: &str, input: &Program, found: &Program, is_exact: bool) {
    let texts = || format!("{}\n{}", write_text(input), write_text(found));
    assert_eq!(verify(found), [], "{kind} makes a kernel\n{}", texts());
    let mut options = ValidateOptions { tolerance: 1e-9, ..ValidateOptions::default() };
    if !is_exact {
        options.seeds.clear();
    }
    match validate(input, found, &options) {
        Ok(Verdict::Equal(evidence)) => assert!(evidence.n_elements > 0, "{kind} is compared\n{}", texts()),
        Ok(Verdict::Different(difference)) => panic!("{kind}: {difference}\n{}", texts()),
        Err(error) => panic!("{kind}: {error}\n{}", texts()),
    }
}
