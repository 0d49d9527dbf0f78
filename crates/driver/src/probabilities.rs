//! Stated probabilities of conditions: `meta {"probabilities": {"x[i] > 0": 0.1}}`.
//!
//! The keys are conditions as text, as reports write expressions; temporaries in a condition stand for their values. A
//! value that is not a number from 0 to 1 says nothing, because `meta` is free.

use std::collections::BTreeMap;

use nestegg_ir::{ExprId, Kernel};

use crate::excerpt::excerpt;

/// What a kernel states of its conditions.
pub(crate) struct Probabilities {
    by_text: BTreeMap<String, f64>,
}

impl Probabilities {
    /// What the kernel's `meta` states.
    pub(crate) fn of(kernel: &Kernel) -> Self {
        let meta = kernel.meta.as_deref().and_then(|meta| serde_json::from_str::<serde_json::Value>(meta).ok());
        let stated = meta.as_ref().and_then(|meta| meta.get("probabilities")?.as_object()).into_iter().flatten();
        let known = stated.filter_map(|(condition, value)| {
            let value = value.as_f64().filter(|value| (0.0..=1.0).contains(value))?;
            Some((without_spaces(condition), value))
        });
        Self { by_text: known.collect() }
    }

    /// The probability of a condition of a kernel, if it is stated.
    pub(crate) fn get(&self, kernel: &Kernel, condition: ExprId) -> Option<f64> {
        if self.by_text.is_empty() {
            return None;
        }
        self.by_text.get(&without_spaces(&excerpt(kernel, condition))).copied()
    }
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}
