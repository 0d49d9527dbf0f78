//! Elements together: element e of a kernel of many is what the kernel makes of the data of element e.
//!
//! The transformation is run by the interpreter on random kernels; its C is compiled, run and compared, bit by bit, with the C of the kernel of one element.
//! Fused multiply-adds are off there: both are free to have them, at different places.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use indexmap::IndexMap;
use nestegg_codegen::c::harness::{HarnessOptions, Mode, WrittenArray, harness, read_outputs};
use nestegg_codegen::c::{COptions, CText, emit, emit_each};
use nestegg_driver::config::{Config, Strategy, Validation};
use nestegg_interp::{Inputs, RunOptions, Values};
use nestegg_ir::{LinearizedKernel, Program};
use nestegg_span::Source;
use nestegg_tests::random::for_each_that_runs;
use nestegg_transform::batch::{BatchLayout, BatchOptions, Batching, batch};

/// Kernels of the corpus with scalars, tables, facets, conditions, loops and straight lines; and their levels.
const KERNELS: [(&str, &str); 8] = [
    ("tsfc/helmholtz_tri_2", "O3"),
    ("tsfc/helmholtz_tet_2", "O2"),
    ("tsfc/mass_tet_2", "O3"),
    ("tsfc/helmholtz_quad_2", "O2"),
    ("tsfc/helmholtz_action_hex_2", "O1"),
    ("tsfc/elasticity_tet_1", "O3"),
    ("coffee/tsfc_mass_2d_nf0_q1", "O1"),
    ("coffee/ffc_helmholtz_3d_nf1_q1", "O2"),
];

/// A kernel with calls, extrema, powers, selections, a mask around a loop, a table looked up by a facet, integers and a function of the user's.
const ODD: &str = "kernel odd
domain { [i, k, p, j, m] : 0 <= i, k, p, j, m < 3 }
arg A : float64[3, 3] readwrite
arg b : float64[3] write
arg x : float64[3] read
arg h : float64 read
arg facet : int32 read
arg c : float64[3] read
table T : float64[4, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
temp t : float64[3]
temp n : int32
n = facet*2 + 1
for i
  t[i] = if(x[i] > h, sqrt(fabs(x[i])), min(x[i], h, 0.25)) + T[min(facet, 3), i] + x[i]**5/h**2 + n
end
if x[0] > 0.0 and h > 0.0
  for k
    if x[k] < h or not (x[1] > 1.0)
      t[k] = t[k]*pow(fabs(h), 0.5) + c[k]
    end
  end
end
for p
  b[p] = max(t[p], exp(h)) - user(t[p], h)
end
for j, m
  A[j, m] = A[j, m] + t[j]*t[m]*(if(j < m, h, 1.0))
end
";

/// A kernel that is a loop over elements: gathers by a map, a scatter that collides.
const MESH: &str = "kernel mesh
param n : int32 = 21
assume [n] -> { : n >= 0 }
domain [n] -> { [e] : 0 <= e < n }
domain { [q, j, m] : 0 <= q < 2 and 0 <= j, m < 3 }
arg map : int32[n, 3] read
arg u : float64[8] read
arg out : float64[8] readwrite
arg g : float64[n] write
arg det : float64[n] read
table phi : float64[2, 3] = [[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]
temp v : float64[2]
temp t : float64
for e
  for q
    t = 0.0
    for j
      t = t + phi[q, j]*u[map[e, j]]
    end
    v[q] = t*det[e]
  end
  for m
    out[map[e, m]] = out[map[e, m]] + (v[0]*phi[0, m] + v[1]*phi[1, m])
  end
  g[e] = v[0]
end
";

fn read(text: &str) -> LinearizedKernel {
    let source = Source::new("kernel", text);
    let read = nestegg_driver::read(&source).unwrap_or_else(|error| panic!("{error:?}"));
    read.program.into_linearized().unwrap()
}

fn options(width: u32, layout: BatchLayout) -> BatchOptions {
    BatchOptions { width, shared: Vec::new(), layout, may_split: false, may_reorder: true }
}

/// The data of all elements in one array.
fn joined(parts: &[&Values], layout: BatchLayout, width: usize) -> Values {
    let n = parts.first().map_or(0, |values| values.len());
    let n_blocks = parts.len().div_ceil(width);
    let at = |element: usize, value: usize| match layout {
        BatchLayout::Contiguous => element * n + value,
        BatchLayout::Interleaved => (element / width * n + value) * width + element % width,
    };
    let size = match layout {
        BatchLayout::Contiguous => parts.len() * n,
        BatchLayout::Interleaved => n_blocks * width * n,
    };
    match parts.first() {
        Some(Values::Ints(_)) => {
            let mut all = vec![0; size];
            for (element, part) in parts.iter().enumerate() {
                let Values::Ints(part) = part else { unreachable!() };
                part.iter().enumerate().for_each(|(value, &number)| all[at(element, value)] = number);
            }
            Values::Ints(all)
        }
        _ => {
            let mut all = vec![0.0; size];
            for (element, part) in parts.iter().enumerate() {
                let Values::Floats(part) = part else { unreachable!() };
                part.iter().enumerate().for_each(|(value, &number)| all[at(element, value)] = number);
            }
            Values::Floats(all)
        }
    }
}

fn bits(values: &Values) -> Vec<u64> {
    match values {
        Values::Floats(values) => values.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect(),
        Values::Ints(values) => values.iter().map(|&v| v as u64).collect(),
    }
}

/// Compares a kernel of many, run by the interpreter, with the kernel run for each element.
fn check(program: &LinearizedKernel, parameters: &[(String, i64)], width: u32, n: usize, layout: BatchLayout) {
    let batched = batch(program, &options(width, layout)).unwrap();
    let Batching::Elements { parameter, .. } = &batched.batching else { panic!("the loop may not be split") };
    let many = Program::Linearized(batched.program.clone());
    let violations = nestegg_ir::verify::verify(&many);
    assert!(violations.is_empty(), "{violations:?}");
    let one = Program::Linearized(program.clone());
    let mut parameters: IndexMap<String, i64> = parameters.iter().cloned().collect();
    let inputs: Vec<Inputs> =
        (0..n as u64).map(|seed| Inputs::random(&program.kernel, &parameters, seed).unwrap()).collect();
    let outputs: Vec<_> =
        inputs.iter().map(|inputs| nestegg_interp::run(&one, inputs, &RunOptions::default()).unwrap()).collect();
    let mut all = Inputs::default();
    parameters.insert(parameter.clone(), n as i64);
    all.parameters = parameters;
    for id in program.kernel.arguments() {
        let name = &program.kernel[id].name;
        let parts: Vec<&Values> = inputs.iter().filter_map(|inputs| inputs.arrays.get(name)).collect();
        let is_read = inputs.first().is_none_or(|inputs| inputs.arrays.contains_key(name));
        if is_read {
            let is_float = program.kernel[id].dtype.is_float();
            let empty = if is_float { Values::Floats(Vec::new()) } else { Values::Ints(Vec::new()) };
            all.arrays.insert(name.clone(), if n == 0 { empty } else { joined(&parts, layout, width as usize) });
        }
    }
    let found = nestegg_interp::run(&many, &all, &RunOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{}", nestegg_driver::Notation::Text.write(&many)));
    for (name, output) in &found.arrays {
        let parts: Vec<&Values> = outputs.iter().map(|outputs| &outputs.arrays[name].values).collect();
        // What pads the last block of interleaved data is nobody's.
        let is_whole = layout == BatchLayout::Contiguous || n.is_multiple_of(width as usize);
        if n > 0 && is_whole {
            let expected = joined(&parts, layout, width as usize);
            assert_eq!(bits(&output.values), bits(&expected), "{name} of {}", program.kernel.name);
        }
    }
}

#[test]
fn elements_of_random_kernels_are_the_kernel_on_their_data() {
    let (n_run, n_left_out) = for_each_that_runs(8, |seed, program, parameters| {
        let (width, n) = [(4, 5), (2, 4), (8, 8), (1, 2), (4, 0)][seed as usize % 5];
        let layout = if seed % 2 == 0 { BatchLayout::Contiguous } else { BatchLayout::Interleaved };
        check(program, parameters, width, n, layout);
    });
    assert!(n_run > 4 * n_left_out, "{n_left_out} kernels do not run, {n_run} do");
}

fn compilers() -> Vec<&'static str> {
    let found: Vec<&str> =
        ["gcc", "clang"].into_iter().filter(|name| Command::new(name).arg("--version").output().is_ok()).collect();
    assert!(!found.is_empty(), "there is neither gcc nor clang");
    found
}

/// Functions of one interface, compiled.
struct Built<'a> {
    compiler: &'a str,
    folder: tempfile::TempDir,
    kernel: &'a nestegg_ir::Kernel,
    functions: &'a [&'a CText],
    definitions: &'a str,
}

impl<'a> Built<'a> {
    fn new(
        compiler: &'a str,
        flags: &[&str],
        kernel: &'a nestegg_ir::Kernel,
        functions: &'a [&'a CText],
        definitions: &'a str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (idx, function) in functions.iter().enumerate() {
            let name = format!("f{idx}.c");
            fs::write(folder.path().join(&name), &function.source).unwrap();
            let mut command = Command::new(compiler);
            command.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]).args(flags);
            let built = command.args(["-c", &name]).current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&built.stderr);
            assert!(built.status.success(), "{compiler}: {said}\n{}", function.source);
        }
        Self { compiler, folder, kernel, functions, definitions }
    }

    /// What the functions write for these parameters.
    fn run(&self, parameters: &[(&str, i64)]) -> Vec<WrittenArray> {
        let options = HarnessOptions {
            parameters: parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            given: BTreeMap::new(),
            seed: 7,
            mode: Mode::Print,
            definitions: self.definitions.to_owned(),
        };
        let main = harness(self.kernel, self.functions, &options).unwrap();
        fs::write(self.folder.path().join("main.c"), main).unwrap();
        let mut command = Command::new(self.compiler);
        command.args((0..self.functions.len()).map(|idx| format!("f{idx}.o"))).current_dir(self.folder.path());
        let built = command.args(["main.c", "-o", "run", "-lm"]).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(self.folder.path().join("run")).output().unwrap();
        assert!(ran.status.success(), "{}: the program fails", self.compiler);
        read_outputs(&String::from_utf8(ran.stdout).unwrap()).unwrap()
    }
}

fn of_name(symbol: &str) -> COptions {
    COptions { symbol: Some(symbol.to_owned()), ..COptions::default() }
}

fn text(program: &LinearizedKernel, symbol: &str) -> CText {
    emit(program, &of_name(symbol)).unwrap()
}

/// Compares the C of a kernel of many with calls of the C of the kernel.
fn check_c(program: &LinearizedKernel, widths: &[u32], flags: &[&str], definitions: &str) {
    let realized = nestegg_schedule::realize_reductions(program.clone()).unwrap();
    let each = batch(&realized, &options(1, BatchLayout::Contiguous)).unwrap();
    let (_, each) = emit_each((&realized, &of_name("one")), (&each.program, &of_name("each"))).unwrap();
    let mut functions = vec![each];
    let mut kernel = None;
    for &width in widths {
        let batched = batch(&realized, &options(width, BatchLayout::Contiguous)).unwrap();
        functions.push(text(&batched.program, &format!("many_{width}")));
        kernel = Some(batched.program.kernel);
    }
    let kernel = kernel.unwrap();
    let functions: Vec<&CText> = functions.iter().collect();
    let mut counts: Vec<i64> = vec![0];
    for width in widths.iter().map(|&width| i64::from(width)) {
        counts.extend([1, width - 1, width, width + 1, 3 * width + 2]);
    }
    counts.sort_unstable();
    counts.dedup();
    for compiler in compilers() {
        let built = Built::new(compiler, flags, &kernel, &functions, definitions);
        for &n in &counts {
            let found = built.run(&[("n_elements", n)]);
            let expected: Vec<&WrittenArray> = found.iter().filter(|array| array.function == 0).collect();
            for array in found.iter().filter(|array| array.function > 0) {
                let expected = expected.iter().find(|expected| expected.name == array.name).unwrap();
                let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(
                    bits(&array.values),
                    bits(&expected.values),
                    "{} of {}, function {}, {n} elements, {compiler}",
                    array.name,
                    kernel.name,
                    array.function
                );
            }
        }
    }
}

#[test]
fn vectors_compute_what_single_elements_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for (name, level) in KERNELS {
        let source = Source::new(name, fs::read_to_string(folder.join(format!("{name}.json"))).unwrap());
        let config = Config {
            strategy: Strategy::Named(level.to_owned()),
            validation: Validation::Off,
            ..Config::of_operations()
        };
        let optimized = nestegg_driver::optimize(&source, &config).unwrap();
        check_c(&optimized.program, &[2, 4, 8], &["-O1"], "");
    }
}

#[test]
fn vectors_do_what_operators_cannot() {
    let definitions = "double user(double a, double b);\ndouble user(double a, double b) { return a - b*0.5; }\n";
    for flags in [&["-O0"][..], &["-O3", "-march=native"]] {
        check_c(&read(ODD), &[4, 16], flags, definitions);
    }
    let single = ODD.replace("float64", "float32").replace("int32", "int64");
    check_c(
        &read(&single),
        &[8],
        &["-O2", "-march=native"],
        "float user(float a, float b);\nfloat user(float a, float b) { return a - b*0.5f; }\n",
    );
    let text = text(&batch(&read(ODD), &options(4, BatchLayout::Contiguous)).unwrap().program, "odd");
    let (_, body) = text.source.split_once("int odd(").unwrap();
    assert!(!body.contains("++lane"), "everything in it has vectors:\n{body}");
}

#[test]
fn loops_over_elements_are_split_in_place() {
    let mesh = read(MESH);
    let batched = batch(&mesh, &BatchOptions { may_split: true, ..options(4, BatchLayout::Contiguous) }).unwrap();
    assert!(matches!(&batched.batching, Batching::InPlace { iname } if iname == "e"), "{:?}", batched.batching);
    let functions = [text(&mesh, "one"), text(&batched.program, "many")];
    assert!(functions[1].source.contains("f64x4"), "{}", functions[1].source);
    for compiler in compilers() {
        let functions: Vec<&CText> = functions.iter().collect();
        let built = Built::new(compiler, &["-O2"], &mesh.kernel, &functions, "");
        for n in [0, 1, 3, 4, 5, 14] {
            let found = built.run(&[("n", n)]);
            let (one, many) = found.split_at(found.len() / 2);
            for (one, many) in one.iter().zip(many) {
                for (a, b) in one.values.iter().zip(&many.values) {
                    assert!((a - b).abs() <= 1e-13 * a.abs().max(1.0), "{}: {a} and {b}", one.name);
                }
            }
        }
    }
}

/// What iterations have in common, one thing after the other.
#[test]
fn iterations_that_depend_on_each_other_are_not_put_together() {
    let reason = |text: &str| {
        let options = BatchOptions { may_split: true, ..options(4, BatchLayout::Contiguous) };
        match batch(&read(text), &options).unwrap().batching {
            Batching::Elements { reason, .. } => reason.unwrap_or_default(),
            Batching::InPlace { iname } => panic!("{iname} is split in\n{text}"),
        }
    };
    // A scatter that sets, where two elements may set the same.
    let set = MESH.replace("out[map[e, m]] = out[map[e, m]] + (", "out[map[e, m]] = (");
    assert!(reason(&set).contains("`out`"), "{}", reason(&set));
    // A temporary that passes from one iteration to the next.
    let carried = MESH.replace("    t = 0.0\n", "");
    assert!(reason(&carried).contains("`t`"), "{}", reason(&carried));
    // A recurrence.
    let recurrence = MESH
        .replace("arg g : float64[n] write", "arg g : float64[n] readwrite")
        .replace("domain [n] -> { [e] : 0 <= e < n }", "domain [n] -> { [e] : 1 <= e < n }")
        .replace("g[e] = v[0]", "g[e] = v[0] + g[e - 1]");
    assert!(reason(&recurrence).contains("`g`"), "{}", reason(&recurrence));
    // Sums in their order, where rounding must not change.
    let strict = BatchOptions { may_split: true, may_reorder: false, ..options(4, BatchLayout::Contiguous) };
    let batched = batch(&read(MESH), &strict).unwrap();
    assert!(matches!(&batched.batching, Batching::Elements { reason: Some(why), .. } if why.contains("`out`")));
    let sequential = MESH.replace("temp t : float64\n", "temp t : float64\ntag e sequential\n");
    assert!(reason(&sequential).contains("sequential"), "{}", reason(&sequential));
}
