//! New names that nothing else in a kernel has.

use nestegg_ir::Kernel;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names that are in use.
#[derive(Debug)]
pub(crate) struct Names {
    used: FxHashSet<String>,
    next: FxHashMap<String, usize>,
}

impl Names {
    /// The names of a kernel.
    pub(crate) fn new(kernel: &Kernel) -> Self {
        let used = kernel.instructions.iter().map(|instruction| instruction.id.clone());
        let used = used.chain(kernel.inames.iter().map(|iname| iname.name.clone()));
        let used = used.chain(kernel.arrays.iter().map(|array| array.name.clone()));
        let used = used.chain(kernel.parameters.iter().map(|parameter| parameter.name.clone()));
        let used = used.chain(kernel.functions.iter().cloned()).chain([kernel.name.clone()]);
        Self { used: used.collect(), next: FxHashMap::default() }
    }

    /// A name that begins with `stem`.
    pub(crate) fn new_name(&mut self, stem: &str) -> String {
        loop {
            let next = self.next.entry(stem.to_owned()).or_default();
            let name = format!("{stem}_{next}");
            *next += 1;
            if self.used.insert(name.clone()) {
                return name;
            }
        }
    }
}
