//! Value form of real kernels.
#![allow(missing_docs)]

mod support;

use std::path::{Path, PathBuf};

use nestegg_ir::{Expr, InstructionKind};

use support::{assert_same_results, parse};

/// All kernels of the corpus, the peers' results included.
fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = ["coffee", "devito", "tsfc", "tsfc/peer"].map(|folder| root.join(folder));
    let mut res: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the corpus is there"))
        .map(|entry| entry.expect("a folder is read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    res.sort();
    assert!(res.len() > 200, "{} kernels", res.len());
    res
}

#[test]
fn real_kernels_are_resolved_completely() {
    for path in corpus() {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).expect("a kernel is text");
        let program = parse(&name, &text);
        let linearized = program.clone().into_linearized().expect("a kernel has an order");
        let kernel = nestegg_transform::normalise(linearized).expect("a kernel has a value form");
        for instruction in &kernel.kernel.instructions {
            let InstructionKind::Assignment { assignee, .. } = &instruction.kind else {
                panic!("{name}: `{}` is no assignment", instruction.id)
            };
            assert!(kernel.kernel[assignee.array].is_argument(), "{name}: `{}` stays", instruction.id);
        }
        let has_rules = kernel.kernel.exprs.iter().any(|(_, expr)| matches!(expr, Expr::Substitution { .. }));
        assert!(!has_rules && kernel.kernel.substitutions.is_empty(), "{name}: rules stay");
        // Stencils take seconds each in the interpreter, and have no temporaries.
        if !name.contains("devito") {
            assert_same_results(&name, &program, &kernel, 1);
        }
    }
}
