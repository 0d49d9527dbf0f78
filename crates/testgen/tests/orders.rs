//! Inames without the tag `sequential` may run in any order: backwards, to begin with.

use indexmap::IndexMap;
use nestegg_interp::{Inputs, RunOptions, run_field};
use nestegg_ir::verify::verify;
use nestegg_ir::{Expr, ExprId, InameId, Item, Kernel, Op, Program};
use nestegg_testgen::{Knobs, generate_seed};

/// The iname and its number of values, if `constraint` is `0 <= iname < size`.
fn whole(kernel: &Kernel, constraint: &str) -> Option<(InameId, String)> {
    let (name, size) = constraint.strip_prefix("0 <= ")?.split_once(" < ")?;
    let iname = kernel.iname_ids().find(|&iname| kernel[iname].name == name)?;
    (!size.contains(['-', '(']) && !kernel.inames.iter().any(|other| other.name == size))
        .then(|| (iname, size.to_owned()))
}

/// Inames that may run backwards: of boxes, without order, bounding no other.
fn reversible(kernel: &Kernel) -> Vec<(InameId, String)> {
    let mut found = Vec::new();
    for domain in &kernel.domains {
        let (_, constraints) = domain.text.trim_end_matches(" }").split_once(" : ").expect("a domain has constraints");
        let constraints: Vec<&str> = constraints.split(" and ").collect();
        for constraint in &constraints {
            let Some((iname, size)) = whole(kernel, constraint) else { continue };
            let name = &kernel[iname].name;
            let words = |text: &str| text.split(' ').filter(|word| word == name).count();
            let is_alone = constraints.iter().map(|text| words(text)).sum::<usize>() == 1
                && kernel.domains.iter().all(|domain| !domain.enclosing.contains(&iname));
            if is_alone && !kernel.is_sequential(iname) {
                found.push((iname, size));
            }
        }
    }
    found
}

/// `size - 1 - iname`, the size being a literal, a parameter, or a parameter plus a literal.
fn backwards(kernel: &mut Kernel, iname: InameId, size: &str) -> ExprId {
    let mut last = kernel.exprs.int(-1);
    for part in size.split(" + ") {
        let part = match part.parse() {
            Ok(literal) => kernel.exprs.int(literal),
            Err(_) => {
                let parameter =
                    kernel.parameter_ids().find(|&id| kernel[id].name == part).expect("a size names a parameter");
                kernel.exprs.intern(Expr::Parameter(parameter))
            }
        };
        last = kernel.exprs.op(Op::Add, [last, part]);
    }
    let value = kernel.exprs.iname(iname);
    kernel.exprs.op(Op::Sub, [last, value])
}

/// The program with these inames backwards.
fn reversed(program: &Program, inames: &[(InameId, String)]) -> Program {
    let mut program = program.clone();
    let (kernel, items): (&mut Kernel, &mut [Item]) = match &mut program {
        Program::Unordered(kernel) => (kernel, &mut []),
        Program::Linearized(linearized) => (&mut linearized.kernel, &mut linearized.linearization),
    };
    let values: Vec<(InameId, ExprId)> =
        inames.iter().map(|(iname, size)| (*iname, backwards(kernel, *iname, size))).collect();
    let conditions =
        items.iter().filter_map(|item| if let Item::If(condition) = item { Some(*condition) } else { None });
    let roots: Vec<ExprId> = kernel
        .instructions
        .iter()
        .flat_map(|instruction| instruction.expressions())
        .chain(kernel.substitutions.iter().map(|rule| rule.expression))
        .chain(conditions)
        .collect();
    let map = kernel.exprs.rewrite(roots, |exprs, _, expr| match expr {
        Expr::Iname(iname) => match values.iter().find(|value| value.0 == iname) {
            Some(value) => value.1,
            None => exprs.iname(iname),
        },
        expr => exprs.intern(expr),
    });
    kernel.instructions.iter_mut().for_each(|instruction| instruction.map_expressions(|id| map.get(id)));
    kernel.substitutions.iter_mut().for_each(|rule| rule.expression = map.get(rule.expression));
    for item in items {
        if let Item::If(condition) = item {
            *condition = map.get(*condition);
        }
    }
    program
}

#[test]
fn iterations_without_order_have_none() {
    let mut n_reversed = 0;
    for (name, knobs) in Knobs::presets() {
        for seed in 0..300 {
            let generated = generate_seed(seed, &knobs);
            let program = &generated.program;
            let inames = reversible(program.kernel());
            if inames.is_empty() {
                continue;
            }
            n_reversed += 1;
            let backwards = reversed(program, &inames);
            let errors = verify(&backwards);
            assert!(errors.is_empty(), "{name} {seed}: {errors:?}");
            let parameters: IndexMap<String, i64> = generated.parameters.iter().cloned().collect();
            let inputs = Inputs::random(program.kernel(), &parameters, seed).unwrap();
            let outputs =
                [program, &backwards].map(|program| run_field(program, &inputs, seed, &RunOptions::default()));
            let [Ok(forwards), Ok(backwards)] = outputs else {
                panic!("{name} {seed}: {:?}\n{}", outputs.map(|res| res.err()), nestegg_dump::write_text(program));
            };
            assert_eq!(forwards, backwards, "{name} {seed}\n{}", nestegg_dump::write_text(program));
        }
    }
    assert!(n_reversed > 640, "{n_reversed}");
}
