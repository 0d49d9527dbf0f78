//! Kernels from C: read, optimized with validation, compiled, and run against the originals on the same data.
//!
//! The kernels are those of `examples/polybench`, and the C of every kernel in `fixtures/`, as nestegg writes it: with default options where
//! that is quick or gives vectors, else at O1.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;

/// Values of integer parameters, one after the other: matrices have more rows than columns, so that none of the columns to be orthogonalized is noise.
const SIZES: [i64; 5] = [9, 7, 8, 6, 5];

#[test]
fn polybench_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(&root().join("examples/polybench"), "c");
    assert!(files.len() >= 25, "{} kernels", files.len());
    in_parallel(&files, |file| {
        let optimized = folder.path().join(file.file_name().unwrap());
        let text = fs::read_to_string(file).unwrap();
        succeed(nestegg(&["optimize", "--level", "O1", "--quiet", "-o"]).arg(&optimized).arg(file));
        let head = text.lines().find(|line| line.starts_with("void ")).unwrap();
        assert!(
            fs::read_to_string(&optimized).unwrap().contains(head.trim_end_matches(',').trim_end()),
            "{file:?} keeps its head"
        );
        compare(file, &optimized, folder.path());
    });
}

/// Kernels with a text of at most so many bytes are written with default options.
const SMALL: u64 = 6_000;

/// Larger kernels that are too: their C computes symmetric matrices in tiles.
const TILED: [&str; 3] = ["tsfc_helmholtz_tri_4", "tsfc_mass_f1_tet_3", "tsfc_mass_f2_tet_3"];

/// A kernel whose C computes pairs: `A` and `w` are complex.
const PAIRED: &str = "\
kernel paired
domain { [q] : 0 <= q < 6 }
arg A : float64[6, 2] readwrite
arg w : float64[6, 2] read
arg c : float64[2] read
arg g : float64[6] read
temp x : float64
temp y : float64
for q
  x = w[q, 0]*g[q]
  y = w[q, 1]*g[q]
  A[q, 0] = x*c[0] + A[q, 0] - c[1]*y
  A[q, 1] = A[q, 1] + c[0]*y + c[1]*x
end
";

#[test]
fn c_of_nestegg_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> = ["tsfc", "coffee", "devito"]
        .iter()
        .flat_map(|group| files(&root().join("fixtures").join(group), "json"))
        .collect();
    assert!(files.len() > 150, "{} kernels", files.len());
    let paired = folder.path().join("paired.knl");
    fs::write(&paired, PAIRED).unwrap();
    files.push(paired.clone());
    in_parallel(&files, |file| {
        let group = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = format!("{group}_{}", file.file_stem().unwrap().to_str().unwrap());
        let written = folder.path().join(format!("{name}.c"));
        let optimized = folder.path().join(format!("{name}_optimized.c"));
        let is_default = TILED.contains(&name.as_str()) || fs::metadata(file).unwrap().len() <= SMALL;
        let level: &[&str] = if is_default { &[] } else { &["--level", "O1"] };
        succeed(nestegg(&["optimize", "--unvalidated", "--quiet", "-o"]).arg(&written).args(level).arg(file));
        let text = fs::read_to_string(&written).unwrap();
        assert_eq!(text.contains("tile_turn("), TILED.contains(&name.as_str()), "{name} has tiles: {text}");
        assert_eq!(text.contains("pair_f64 "), *file == paired, "{name} has pairs: {text}");
        succeed(nestegg(&["optimize", "--level", "O1", "--quiet", "-o"]).arg(&optimized).arg(&written));
        compare(&written, &optimized, folder.path());
    });
}

/// Compiles two files with the same function and compares what they write.
fn compare(original: &Path, optimized: &Path, folder: &Path) {
    let read = succeed(nestegg(&["convert", "--to", "json"]).arg(original));
    let kernel: Value = serde_json::from_slice(&read.stdout).unwrap();
    let stem = optimized.file_stem().unwrap().to_str().unwrap();
    let place = |ending: &str| folder.join(format!("{stem}_run{ending}"));
    fs::write(place(".c"), harness(&kernel)).unwrap();
    let name = kernel["name"].as_str().unwrap();
    let mut objects = Vec::new();
    for (file, prefix) in [(original, "original"), (optimized, "optimized")] {
        let object = place(&format!("_{prefix}.o"));
        let renamed = format!("-D{name}={prefix}");
        succeed(Command::new("cc").args(["-std=c11", "-O1", "-w", &renamed, "-c"]).arg(file).arg("-o").arg(&object));
        objects.push(object);
    }
    succeed(
        Command::new("cc").args(["-std=c11", "-w"]).arg(place(".c")).args(&objects).arg("-lm").arg("-o").arg(place("")),
    );
    succeed(&mut Command::new(place("")));
}

/// A program that calls the original and the optimized function with the same arguments and fails where they write different numbers.
fn harness(kernel: &Value) -> String {
    let head = kernel["meta"]["c_function"]["head"].as_str().unwrap();
    let list = head.split_once('(').unwrap().1.rsplit_once(')').unwrap().0;
    let order: Vec<&str> = split(list).into_iter().map(name_of).collect();
    let mut out = String::from(
        "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         float SafeInv(float a, float b) { return b == 0 ? 0 : a/b; }\n\
         static double number(long i) { return 0.05 + 0.15*(double)((i*i*7 + i*13 + 5) % 101)/101.0; }\n\
         ",
    );
    for which in ["original", "optimized"] {
        let types: Vec<&str> = order.iter().map(|name| type_of(kernel, name)).collect();
        writeln!(out, "void {which}({});", types.join(", ")).unwrap();
    }
    out.push_str("int main(void)\n{\n    int wrong = 0;\n");
    for (at, parameter) in kernel["parameters"].as_array().unwrap_or(&Vec::new()).iter().enumerate() {
        let (name, ty) = (parameter["name"].as_str().unwrap(), c_type(&parameter["dtype"]));
        writeln!(out, "    {ty} {name} = {};", SIZES[at % SIZES.len()]).unwrap();
    }
    let mut calls = BTreeMap::from([("original", Vec::new()), ("optimized", Vec::new())]);
    let mut checks = String::new();
    for name in order {
        let Some(argument) = argument_of(kernel, name) else {
            calls.values_mut().for_each(|list| list.push(name.to_owned()));
            continue;
        };
        let ty = c_type(&argument["dtype"]);
        let shape = argument["shape"].as_array().unwrap();
        if shape.is_empty() {
            writeln!(out, "    {ty} {name} = ({ty})1.25;").unwrap();
            calls.values_mut().for_each(|list| list.push(name.to_owned()));
            continue;
        }
        let size: Vec<String> = shape.iter().map(size_text).collect();
        writeln!(out, "    long n_{name} = {};", size.join("*")).unwrap();
        let value = if ty.starts_with("int") { "0".to_owned() } else { format!("number(i + {})", name.len()) };
        // What factorizes a matrix wants a large diagonal.
        let diagonal = match size.as_slice() {
            [rows, columns] if rows == columns => format!(" + (i % (({columns}) + 1) == 0 ? 10 : 0)"),
            _ => String::new(),
        };
        for which in ["original", "optimized"] {
            writeln!(out, "    {ty} *{which}_{name} = malloc(sizeof({ty})*(size_t)n_{name});").unwrap();
            writeln!(out, "    for (long i = 0; i < n_{name}; ++i) {which}_{name}[i] = ({ty})({value}{diagonal});")
                .unwrap();
            calls.get_mut(which).unwrap().push(format!("{which}_{name}"));
        }
        if argument["access"] != "read" {
            let tolerance = if ty == "float" { "1e-3" } else { "1e-9" };
            writeln!(
                checks,
                "    for (long i = 0; i < n_{name}; ++i) {{\n        \
                 double a = (double)original_{name}[i], b = (double)optimized_{name}[i];\n        \
                 if (!(fabs(a - b) <= {tolerance}*(1.0 + fabs(a)))) {{ \
                 if (wrong++ < 5) printf(\"{name}[%ld]: %.17g, not %.17g\\n\", i, b, a); }}\n    }}"
            )
            .unwrap();
        }
    }
    for (which, list) in &calls {
        writeln!(out, "    {which}({});", list.join(", ")).unwrap();
    }
    write!(out, "{checks}    return wrong != 0;\n}}\n").unwrap();
    out
}

/// The argument of the kernel that a parameter of the function is.
fn argument_of<'k>(kernel: &'k Value, name: &str) -> Option<&'k Value> {
    let passed = kernel["meta"]["c_function"]["passed"].as_object().unwrap();
    let is_it = |argument: &&Value| name_of(passed[argument["name"].as_str().unwrap()].as_str().unwrap()) == name;
    kernel["arguments"].as_array().unwrap().iter().find(is_it)
}

/// How a parameter of the function is passed.
fn type_of(kernel: &Value, name: &str) -> &'static str {
    match argument_of(kernel, name) {
        Some(argument) if argument["shape"].as_array().unwrap().is_empty() => c_type(&argument["dtype"]),
        Some(_) => "void *",
        None => "int32_t",
    }
}

/// The size of a dimension in C.
fn size_text(size: &Value) -> String {
    match size {
        Value::Array(parts) => {
            let operands: Vec<String> = parts[1..].iter().map(size_text).collect();
            format!("({})", operands.join(parts[0].as_str().unwrap()))
        }
        Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}

fn c_type(dtype: &Value) -> &'static str {
    match dtype.as_str().unwrap() {
        "float64" => "double",
        "float32" => "float",
        "int32" => "int32_t",
        "int64" => "int64_t",
        _ => "bool",
    }
}

/// The parameters of a function, separated by commas outside of brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut res, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                res.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    res.push(&list[start..]);
    res
}

/// The name of a parameter: the last word before its sizes.
fn name_of(parameter: &str) -> &str {
    let declarator = parameter.split('[').next().unwrap();
    declarator.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(|word| !word.is_empty()).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut res: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    res.sort();
    res
}

fn nestegg(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nestegg"));
    command.args(arguments);
    command
}

/// Runs a command, which must succeed.
fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}\n{}", texts.concat());
    output
}

/// Does something with every file, on as many threads as there are.
fn in_parallel(files: &[PathBuf], work: impl Fn(&PathBuf) + Sync) {
    let rest = Mutex::new(files.iter());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let next = rest.lock().unwrap().next();
                    let Some(file) = next else { return };
                    work(file);
                }
            });
        }
    });
}
