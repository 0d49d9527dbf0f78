//! Explanations as text.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Equation, Evidence, Explanation, Origin, Search, Stage, Value};

impl Explanation {
    /// The explanation in lines; of one value alone where that is asked for, `None` if there is no such value.
    #[must_use]
    pub fn to_text(&self, value: Option<&str>) -> Option<String> {
        let mut text = format!(
            "{}: {} operations become {} at {}, from seed `{}`\n",
            self.kernel, self.before.total, self.after.total, self.strategy, self.seed
        );
        let mut is_found = value.is_none();
        for stage in &self.stages {
            match stage {
                Stage::Passes { name, evidence } => {
                    let _ = write!(text, "\n{name}");
                    match evidence {
                        Some(Evidence::Equal(because)) => {
                            let _ = write!(text, ": equal ({because})");
                        }
                        Some(Evidence::Different(because)) => {
                            let _ = write!(text, ": NOT EQUAL: {because}");
                        }
                        Some(Evidence::NotCompared(because)) => {
                            let _ = write!(text, ": not compared, because {because}");
                        }
                        None => {}
                    }
                    text.push('\n');
                }
                Stage::Search(search) => is_found |= write_search(search, value, &mut text),
            }
        }
        if let Some(verified) = &self.verified {
            let _ = write!(
                text,
                "\nverified: chains {}, equations {}, instances made again {} of {}, kernels {}",
                verified.chains, verified.equations, verified.rematched, verified.instances, verified.passes
            );
            let _ = match verified.unknown {
                0 => writeln!(text),
                n => writeln!(text, "; not told {n}"),
            };
            if verified.wrong > 0 {
                let _ = writeln!(text, "WRONG: {}", verified.wrong);
            }
        }
        is_found.then_some(text)
    }

    /// Only what concerns one value; `None` if there is no such value.
    #[must_use]
    pub fn only(mut self, value: &str) -> Option<Self> {
        let mut is_found = false;
        for stage in &mut self.stages {
            if let Stage::Search(search) = stage {
                search.values.retain(|own| own.is_named(value));
                is_found |= !search.values.is_empty();
            }
        }
        is_found.then_some(self)
    }
}

impl Value {
    /// Whether it goes by a name, with or without its indices.
    fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name || own.split('[').next() == Some(name))
    }
}

fn write_search(search: &Search, only: Option<&str>, text: &mut String) -> bool {
    let _ = writeln!(text, "\nrules of {} on seed `{}`", search.strategy, search.seed);
    let mut is_found = false;
    // An equation is written where it is first used.
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for value in search.values.iter().filter(|value| only.is_none_or(|only| value.is_named(only))) {
        is_found = true;
        write_value(value, &mut seen, text);
    }
    if let Some(chains) = &search.checked {
        let _ = writeln!(
            text,
            "  checked: chains {}, their steps {}, equations evaluated {} of {}, instances made again {} of {}",
            chains.values, chains.steps, chains.evaluated, chains.equations, chains.rematched, chains.instances
        );
        for step in &chains.not_made {
            let _ = writeln!(text, "  by values alone: {step}");
        }
        for wrong in &chains.wrong {
            let _ = writeln!(text, "  WRONG: {wrong}");
        }
    }
    is_found
}

fn write_value(value: &Value, seen: &mut BTreeSet<usize>, text: &mut String) {
    let names = if value.names.is_empty() { "a value".to_owned() } else { value.names.join(" and ") };
    let _ = writeln!(text, "  {names}");
    match &value.origin {
        Origin::Kernel { term } => {
            let _ = writeln!(text, "    from {term}");
        }
        Origin::Rule { term, by } => {
            let _ = writeln!(text, "    from {term}, a part of what step {} makes", by.number);
            write_step(by, seen, text);
        }
        Origin::Form { term } => {
            let _ = writeln!(text, "    from {term}, a part of another form");
        }
    }
    let (known, new): (Vec<_>, Vec<_>) = value.steps.iter().partition(|step| seen.contains(&step.number));
    if !known.is_empty() {
        let numbers: Vec<String> = known.iter().map(|step| step.number.to_string()).collect();
        let _ = writeln!(text, "    by steps {}, as above", numbers.join(", "));
    }
    new.into_iter().for_each(|step| write_step(step, seen, text));
    let _ = writeln!(text, "    is computed as {}", value.form);
}

/// Writes a step where it is first met.
fn write_step(step: &Equation, seen: &mut BTreeSet<usize>, text: &mut String) {
    if seen.insert(step.number) {
        let rule = step.rule.as_deref().unwrap_or("normal form");
        let _ = writeln!(text, "    {}. {rule}\n        {}\n      = {}", step.number, step.left, step.right);
    }
}
