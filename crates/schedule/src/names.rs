//! Names that a kernel does not use yet.

use nestegg_ir::Kernel;
use rustc_hash::{FxHashMap, FxHashSet};

/// All names of a kernel, and of its instructions, to make new ones that differ.
pub(crate) struct Names {
    entities: Used,
    instructions: Used,
}

/// Names of one kind, and for each stem the next number to try.
#[derive(Default)]
struct Used {
    names: FxHashSet<String>,
    next: FxHashMap<String, u64>,
}

impl Names {
    /// The names that `kernel` uses.
    pub(crate) fn of(kernel: &Kernel) -> Self {
        let mut entities: FxHashSet<String> = kernel.functions.iter().cloned().collect();
        entities.insert(kernel.name.clone());
        entities.extend(kernel.parameters.iter().map(|parameter| parameter.name.clone()));
        entities.extend(kernel.inames.iter().map(|iname| iname.name.clone()));
        entities.extend(kernel.arrays.iter().map(|array| array.name.clone()));
        entities.extend(kernel.substitutions.iter().map(|rule| rule.name.clone()));
        let instructions = kernel.instructions.iter().map(|instruction| instruction.id.clone()).collect();
        Self {
            entities: Used { names: entities, ..Used::default() },
            instructions: Used { names: instructions, ..Used::default() },
        }
    }

    /// A new name for an array: `stem`, or `stem` with the first free number.
    pub(crate) fn entity(&mut self, stem: &str) -> String {
        self.entities.fresh(stem)
    }

    /// A new id for an instruction: `stem`, or `stem` with the first free number.
    pub(crate) fn instruction(&mut self, stem: &str) -> String {
        self.instructions.fresh(stem)
    }
}

impl Used {
    fn fresh(&mut self, stem: &str) -> String {
        let mut name = stem.to_owned();
        while self.names.contains(&name) {
            let number = self.next.entry(stem.to_owned()).or_default();
            name = format!("{stem}_{number}");
            *number += 1;
        }
        self.names.insert(name.clone());
        name
    }
}
