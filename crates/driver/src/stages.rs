//! How long each stage took, and how much memory it needed.

use std::time::Instant;

use serde::Serialize;

use crate::config::MemoryProbe;

/// The stage that compares the result with the input: evidence, no part of the optimization.
pub const VALIDATE: &str = "validate";

/// The stage that measures rounding errors.
pub const ACCURACY: &str = "measure accuracy";

/// One stage of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Its name, as in `ARCHITECTURE.md`.
    pub name: &'static str,
    /// Wall-clock seconds, of all its runs together.
    pub seconds: f64,
    /// The process's peak of resident memory during the stage, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

/// Records stages as they run. It measures; nothing ever decides by what it measured.
#[derive(Debug)]
pub struct Stages {
    probe: Option<MemoryProbe>,
    done: Vec<Stage>,
}

impl Stages {
    /// A record without stages.
    #[must_use]
    pub fn new(probe: Option<MemoryProbe>) -> Self {
        Self { probe, done: Vec::new() }
    }

    /// Runs a stage and records it, whatever it answers; a stage that runs again adds to its record.
    pub fn run<T>(&mut self, name: &'static str, stage: impl FnOnce() -> T) -> T {
        if let Some(probe) = self.probe {
            (probe.start)();
        }
        let start = Instant::now();
        let res = stage();
        let seconds = start.elapsed().as_secs_f64();
        let peak_bytes = self.probe.and_then(|probe| (probe.peak)());
        match self.done.iter_mut().find(|stage| stage.name == name) {
            Some(stage) => {
                stage.seconds += seconds;
                stage.peak_bytes = stage.peak_bytes.max(peak_bytes);
            }
            None => self.done.push(Stage { name, seconds, peak_bytes }),
        }
        res
    }

    /// The stages so far, in order.
    #[must_use]
    pub fn into_done(self) -> Vec<Stage> {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_recorded_in_order() {
        let mut stages = Stages::new(Some(MemoryProbe { start: || {}, peak: || Some(7) }));
        assert_eq!(stages.run("read", || 3), 3);
        stages.run("normalise", || ());
        let done = stages.into_done();
        assert_eq!(done.iter().map(|stage| stage.name).collect::<Vec<_>>(), ["read", "normalise"]);
        assert_eq!(done[0].peak_bytes, Some(7));
    }
}
