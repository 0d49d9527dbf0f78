//! What `verify` says of kernels that a pass might get wrong.

use nestegg_ir::linearization::Item;
use nestegg_ir::verify::{Place, Violation, verify};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Domain, DomainId, Dtype, Expr, ExprId, Float, Iname, InameId, InsnId,
    Instruction, InstructionKind, Kernel, LinearizedKernel, Op, Program, ReduceOp, Substitution, SubstitutionId,
};

const I: usize = 0;
const J: usize = 1;

/// `y = EXPRESSION` within some inames; there are `i` and `j`.
fn program(within: &[usize], expression: impl FnOnce(&mut Kernel) -> ExprId) -> Program {
    let mut kernel = Kernel { name: "k".to_owned(), ..Kernel::default() };
    for (idx, name) in ["i", "j"].into_iter().enumerate() {
        kernel.domains.push(Domain {
            text: format!("{{ [{name}] : 0 <= {name} < 3 }}"),
            inames: vec![InameId::new(idx)],
            enclosing: Vec::new(),
            parameters: Vec::new(),
        });
        kernel.inames.push(Iname { name: name.to_owned(), tags: Vec::new(), domain: DomainId::new(idx) });
    }
    kernel.arrays.push(Array {
        name: "y".to_owned(),
        dtype: Dtype::Float64,
        stored: None,
        shape: Vec::new(),
        kind: ArrayKind::Temporary,
    });
    let expression = expression(&mut kernel);
    let assignee = Assignee { array: ArrayId::new(0), indices: Box::new([]) };
    kernel.instructions.push(Instruction {
        id: "s".to_owned(),
        kind: InstructionKind::Assignment { assignee, expression },
        within: within.iter().map(|&iname| InameId::new(iname)).collect(),
        depends_on: Vec::new(),
        predicates: Vec::new(),
    });
    Program::Unordered(kernel)
}

fn sum(kernel: &mut Kernel, inames: &[usize], body: ExprId) -> ExprId {
    let inames = inames.iter().map(|&iname| InameId::new(iname)).collect();
    kernel.exprs.intern(Expr::Reduce { op: ReduceOp::Sum, inames, body })
}

fn half(kernel: &mut Kernel) -> ExprId {
    kernel.exprs.float(Float::new(0.5).expect("a half is finite"))
}

/// `i < 2`.
fn below_two(kernel: &mut Kernel) -> ExprId {
    let (i, two) = (kernel.exprs.iname(InameId::new(I)), kernel.exprs.int(2));
    kernel.exprs.op(Op::Lt, [i, two])
}

fn violations(program: &Program) -> Vec<(Place, Violation)> {
    verify(program).into_iter().map(|error| (error.place, error.violation)).collect()
}

fn rebound(place: Place, iname: &str) -> (Place, Violation) {
    (place, Violation::Rebound { iname: iname.to_owned() })
}

fn at_instruction() -> Place {
    Place::Instruction(InsnId::new(0))
}

#[test]
fn a_reduction_within_a_reduction_or_a_loop_over_the_same_iname() {
    let nested = |within: &[usize], inner: &'static [usize], outer: &'static [usize]| {
        violations(&program(within, |kernel| {
            let body = half(kernel);
            let inner = sum(kernel, inner, body);
            sum(kernel, outer, inner)
        }))
    };
    assert_eq!(nested(&[], &[I], &[J]), []);
    assert_eq!(nested(&[], &[I], &[I]), [rebound(at_instruction(), "i")]);
    assert_eq!(nested(&[], &[I], &[J, I]), [rebound(at_instruction(), "i")]);
    assert_eq!(nested(&[], &[I], &[J, J]), [rebound(at_instruction(), "j")]);
    assert_eq!(nested(&[I], &[I], &[J]), [rebound(at_instruction(), "i")]);
    // One beside the other is no nest.
    let beside = program(&[], |kernel| {
        let body = half(kernel);
        let one = sum(kernel, &[I], body);
        kernel.exprs.op(Op::Mul, [one, one])
    });
    assert_eq!(violations(&beside), []);
}

#[test]
fn a_reduction_over_no_iname() {
    let empty = program(&[], |kernel| {
        let body = half(kernel);
        sum(kernel, &[], body)
    });
    assert_eq!(violations(&empty), [(at_instruction(), Violation::NoIname)]);
}

#[test]
fn a_reduction_in_a_rule_within_a_reduction_or_a_loop_over_the_same_iname() {
    let used = |within: &[usize], outer: Option<usize>| {
        violations(&program(within, |kernel| {
            let body = half(kernel);
            let expression = sum(kernel, &[I], body);
            kernel.substitutions.push(Substitution { name: "r".to_owned(), parameters: Vec::new(), expression });
            let rule = SubstitutionId::new(0);
            let used = kernel.exprs.intern(Expr::Substitution { rule, arguments: Box::new([]) });
            outer.map_or(used, |iname| sum(kernel, &[iname], used))
        }))
    };
    assert_eq!(used(&[], None), []);
    assert_eq!(used(&[], Some(J)), []);
    assert_eq!(used(&[], Some(I)), [rebound(at_instruction(), "i")]);
    assert_eq!(used(&[I], None), [rebound(at_instruction(), "i")]);
}

#[test]
fn a_condition_of_a_linearization_is_inside_the_loops_that_it_needs() {
    let (i, run) = (InameId::new(I), Item::Run(InsnId::new(0)));
    let with_items = |items: &dyn Fn(ExprId) -> Vec<Item>| {
        let Program::Unordered(mut kernel) = program(&[I], half) else { unreachable!("it has no linearization") };
        let condition = below_two(&mut kernel);
        violations(&Program::Linearized(LinearizedKernel { kernel, linearization: items(condition) }))
    };
    let inside = |condition| vec![Item::For(i), Item::If(condition), run, Item::EndIf, Item::End(i)];
    assert_eq!(with_items(&inside), []);
    let outside = |condition| vec![Item::If(condition), Item::For(i), run, Item::End(i), Item::EndIf];
    assert_eq!(with_items(&outside), [(Place::Item(0), Violation::UnboundIname { iname: "i".to_owned() })]);
}
