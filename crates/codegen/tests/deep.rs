//! Expressions that are large as trees, deep, or wide: the text stays linear and compilers take it.
#![allow(missing_docs, clippy::unwrap_used)]

mod compiled;

use compiled::{check_program, write};
use nestegg_codegen::c::{COptions, CodegenError, emit};
use nestegg_ir::{
    ArgumentAccess, Array, ArrayId, ArrayKind, Assignee, Dtype, ExprId, Float, Instruction, InstructionKind, Item,
    Kernel, LinearizedKernel, Op, Program,
};

/// `y = expression of x`, for scalars x and y.
fn scalar_kernel(build: impl FnOnce(&mut Kernel, ExprId) -> ExprId) -> Program {
    let mut kernel = Kernel { name: "deep".to_owned(), ..Kernel::default() };
    for (name, access) in [("x", ArgumentAccess::Read), ("y", ArgumentAccess::Write)] {
        let kind = ArrayKind::Argument(access);
        kernel.arrays.push(Array {
            name: name.to_owned(),
            dtype: Dtype::Float64,
            stored: None,
            shape: Vec::new(),
            kind,
        });
    }
    let x = kernel.exprs.access(ArrayId::new(0), []);
    let expression = build(&mut kernel, x);
    let assignee = Assignee { array: ArrayId::new(1), indices: Box::new([]) };
    kernel.instructions.push(Instruction {
        id: "set".to_owned(),
        kind: InstructionKind::Assignment { assignee, expression },
        within: Vec::new(),
        depends_on: Vec::new(),
        predicates: Vec::new(),
    });
    let linearization = vec![Item::Run(nestegg_ir::InsnId::new(0))];
    Program::Linearized(LinearizedKernel { kernel, linearization })
}

fn literal(kernel: &mut Kernel, value: f64) -> ExprId {
    kernel.exprs.float(Float::new(value).unwrap())
}

#[test]
fn a_dag_of_2_to_the_60_tree_nodes() {
    let program = scalar_kernel(|kernel, x| {
        let half = literal(kernel, 0.5);
        let mut value = x;
        for _ in 0..60 {
            let part = kernel.exprs.op(Op::Mul, [half, value]);
            let rest = kernel.exprs.op(Op::Sub, [value, part]);
            value = kernel.exprs.op(Op::Add, [part, rest]);
        }
        value
    });
    assert!(write(&program, None).1.source.len() < 10_000);
    check_program(&program, &[], "");
}

#[test]
fn chains_of_100_000_operations() {
    let program = scalar_kernel(|kernel, x| {
        let half = literal(kernel, 0.5);
        let mut value = x;
        for _ in 0..50_000 {
            value = kernel.exprs.op(Op::Mul, [half, value]);
            value = kernel.exprs.op(Op::Add, [x, value]);
        }
        value
    });
    // Compilers need seconds for it; that the text is cut into short statements is what matters.
    let text = write(&program, None).1.source;
    let longest = text.split(';').map(str::len).max().unwrap();
    assert!(longest < 2_000, "{longest}");
}

#[test]
fn chains_of_1_000_operations_compile() {
    let program = scalar_kernel(|kernel, x| {
        let half = literal(kernel, 0.5);
        let mut value = x;
        for _ in 0..500 {
            value = kernel.exprs.op(Op::Mul, [half, value]);
            value = kernel.exprs.op(Op::Sub, [x, value]);
        }
        value
    });
    check_program(&program, &[], "");
}

#[test]
fn nested_selections() {
    let program = scalar_kernel(|kernel, x| {
        let mut value = x;
        for level in 0..300 {
            let bound = literal(kernel, f64::from(level) / 100.0);
            let condition = kernel.exprs.op(Op::Gt, [x, bound]);
            let other = kernel.exprs.op(Op::Add, [x, bound]);
            value = kernel.exprs.op(Op::If, [condition, value, other]);
        }
        value
    });
    check_program(&program, &[], "");
}

#[test]
fn sums_products_and_extrema_of_many() {
    let program = scalar_kernel(|kernel, x| {
        let terms: Vec<ExprId> = (0..600)
            .map(|at| {
                let factor = literal(kernel, 1.0 + f64::from(at) / 600.0);
                kernel.exprs.op(Op::Mul, [factor, x])
            })
            .collect();
        let sum = kernel.exprs.op(Op::Add, terms.clone());
        let least = kernel.exprs.op(Op::Min, terms.clone());
        let all: Vec<ExprId> = terms.iter().map(|&term| kernel.exprs.op(Op::Lt, [term, sum])).collect();
        let all = kernel.exprs.op(Op::And, all);
        kernel.exprs.op(Op::If, [all, sum, least])
    });
    check_program(&program, &[], "");
}

#[test]
fn blocks_that_nest_too_deeply_are_an_error() {
    let program = scalar_kernel(|kernel, x| {
        let mut value = x;
        let function = kernel.function("f");
        for level in 0..500 {
            let bound = literal(kernel, f64::from(level));
            let condition = kernel.exprs.op(Op::Gt, [x, bound]);
            let called = kernel.exprs.intern(nestegg_ir::Expr::Call { function, arguments: [value].into() });
            value = kernel.exprs.op(Op::If, [condition, called, x]);
        }
        value
    });
    let linearized = program.into_linearized().unwrap();
    let error = emit(&linearized, &COptions::default());
    assert!(matches!(error, Err(CodegenError::TooDeep { .. })), "{error:?}");
}
