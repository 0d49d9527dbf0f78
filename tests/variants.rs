//! Kernels of the corpus' kinds that are not in the corpus: its kernels with other tables, and with other terms.
//!
//! * `values`: every entry of tables is another number, zeros stay.
//! * `zeros`: about every fourth entry is zero, too.
//! * `fewer`: the last term of each outermost sum below a reduction, or in what is added to elements, is gone.
//! * `signs`: every second term of these is subtracted instead.
//! * `powers`: these are squared.
//!
//! Each is validated at O3, has no more operations than at O1, and what the level is made of is tried on it as on the kernel that it comes from.

use std::collections::BTreeSet;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use nestegg_bench::fixtures::{self, Fixture};
use nestegg_driver::config::{Config, Strategy};
use nestegg_driver::report::{Report, Validated};
use nestegg_driver::{Notation, optimize};
use nestegg_ir::{ArrayKind, Expr, ExprId, Exprs, Float, InsnId, Kernel, Number, Op, Program};
use nestegg_span::Source;
use nestegg_tests::root;

/// The kernels that are changed.
const KERNELS: [&str; 8] = [
    "tsfc/mass_tri_2",
    "tsfc/mass_f1_tet_1",
    "tsfc/laplacian_tet_1",
    "tsfc/helmholtz_tri_1",
    "tsfc/helmholtz_f1_tri_1",
    "tsfc/elasticity_tri_1",
    "tsfc/helmholtz_quad_1",
    "tsfc/mixedpoisson_tri_1",
];

/// How a kernel is changed.
#[derive(Clone, Copy, Debug)]
enum Change {
    Values,
    Zeros,
    Fewer,
    Signs,
    Powers,
}

const CHANGES: [(&str, Change); 5] = [
    ("values", Change::Values),
    ("zeros", Change::Zeros),
    ("fewer", Change::Fewer),
    ("signs", Change::Signs),
    ("powers", Change::Powers),
];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for fixture in fixtures::fixtures(&root().join("fixtures")).expect("the fixtures are there") {
        if !KERNELS.contains(&fixture.full_name().as_str()) {
            continue;
        }
        let fixture = Arc::new(fixture);
        for (word, change) in CHANGES {
            let name = format!("{word}/{}", fixture.full_name());
            let fixture = Arc::clone(&fixture);
            trials.push(Trial::test(name, move || behaves_alike(&fixture, change)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn behaves_alike(fixture: &Fixture, change: Change) -> Result<(), Failed> {
    let source = changed(fixture, change)?;
    let (least, most) = (optimized(&source, "O1")?, optimized(&source, "O3")?);
    if most.after.total > least.after.total {
        return Err(format!("O1 has {} operations, O3 {}", least.after.total, most.after.total).into());
    }
    // A kind of seed may be gone for a limit alone, and then the report says so; or because nothing is left to compute.
    let original = optimized(&fixture.read()?, "O3")?;
    let kinds = |report: &Report| -> Vec<&'static str> {
        let has = |kind: &&str| report.seeds.keys().any(|seed| seed.contains(*kind));
        ["linear-map", "merged", "pairs"].into_iter().filter(has).collect()
    };
    let missing: Vec<&str> = kinds(&original).into_iter().filter(|kind| !kinds(&most).contains(kind)).collect();
    if !missing.is_empty() && most.limits.is_empty() && most.after.total > 0 {
        return Err(format!("without a word about it there is no {}", missing.join(", ")).into());
    }
    Ok(())
}

/// The kernel with other tables or terms.
fn changed(fixture: &Fixture, change: Change) -> Result<Source, Failed> {
    let source = fixture.read()?;
    let read = nestegg_driver::read(&source).map_err(|error| format!("{:?}", miette::Report::new(error)))?;
    let mut linearized = read.program.into_linearized().map_err(|error| error.to_string())?;
    match change {
        Change::Values | Change::Zeros => change_tables(&mut linearized.kernel, change),
        Change::Fewer | Change::Signs | Change::Powers => change_terms(&mut linearized.kernel, change),
    }
    Ok(Source::new(source.name.to_string(), Notation::Json.write(&Program::Linearized(linearized))))
}

/// Numbers come from a linear congruence.
fn change_tables(kernel: &mut Kernel, change: Change) {
    let mut state = 1_u64;
    let mut fraction = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    for array in &mut kernel.arrays {
        let ArrayKind::Table(values) = &array.kind else { continue };
        if !array.dtype.is_float() {
            continue;
        }
        let other = values.iter().map(|value| {
            let (value, fraction) = (value.to_f64(), fraction());
            let other = match change {
                Change::Zeros if fraction < 0.25 => 0.0,
                Change::Zeros => value,
                _ => value * (0.5 + fraction),
            };
            Float::new(other).map(Number::Float).expect("a table's entry is finite, and so is half of it")
        });
        array.kind = ArrayKind::Table(other.collect());
    }
}

fn change_terms(kernel: &mut Kernel, change: Change) {
    let roots: Vec<ExprId> = kernel.instructions.iter().flat_map(|instruction| instruction.expressions()).collect();
    let sums = outermost_sums(&kernel.exprs, &roots);
    assert!(!sums.is_empty(), "{} has no sum to change", kernel.name);
    let rewritten = kernel.exprs.rewrite(roots, |exprs, old, expr| match expr {
        Expr::Op { op: Op::Add, operands } if sums.contains(&old) => match change {
            Change::Signs => {
                let terms: Vec<ExprId> = (operands.iter().enumerate())
                    .map(|(idx, &operand)| if idx % 2 == 1 { exprs.op(Op::Neg, [operand]) } else { operand })
                    .collect();
                exprs.op(Op::Add, terms)
            }
            Change::Powers => {
                let (sum, two) = (exprs.op(Op::Add, operands), exprs.int(2));
                exprs.op(Op::Pow, [sum, two])
            }
            _ if operands.len() == 2 => operands[0],
            _ => exprs.op(Op::Add, operands[..operands.len() - 1].to_vec()),
        },
        expr => exprs.intern(expr),
    });
    for insn in 0..kernel.instructions.len() {
        kernel[InsnId::new(insn)].map_expressions(|expr| rewritten.get(expr));
    }
}

/// The first sums that one comes to from the bodies of reductions downwards, or from what is added in stores if there are none.
fn outermost_sums(exprs: &Exprs, roots: &[ExprId]) -> BTreeSet<ExprId> {
    let mut pending: Vec<ExprId> = Vec::new();
    for (_, expr) in exprs.iter() {
        if let Expr::Reduce { body, .. } = expr {
            pending.push(*body);
        }
    }
    if pending.is_empty() {
        pending.extend(roots.iter().flat_map(|&root| exprs[root].children()));
    }
    let (mut res, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = pending.pop() {
        match &exprs[id] {
            Expr::Op { op: Op::Add, .. } => {
                res.insert(id);
            }
            Expr::Access { .. } => {}
            expr if seen.insert(id) => pending.extend(expr.children()),
            _ => {}
        }
    }
    res
}

fn optimized(source: &Source, level: &str) -> Result<Report, Failed> {
    let config = Config { strategy: Strategy::Named(level.to_owned()), ..Config::of_operations() };
    let report = optimize(source, &config).map_err(|error| format!("{:?}", miette::Report::new(error)))?.report;
    if let Some(failure) = report.failures.iter().find(|failure| failure.is_bug()) {
        return Err(failure.to_string().into());
    }
    match &report.validation {
        Validated::Equal { .. } => Ok(report),
        Validated::NotCompared { reason } => Err(format!("not validated: {reason}").into()),
    }
}
