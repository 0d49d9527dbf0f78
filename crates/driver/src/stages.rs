//! How long each stage took, and how much memory it needed.

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::{MemoryProbe, Now, Watcher};
use crate::trace::Event;

/// The stage that compares the result with the input: evidence, no part of the optimization.
pub const VALIDATE: &str = "validate";

/// The stage that measures rounding errors.
pub const ACCURACY: &str = "measure accuracy";

/// The stage that fits the coefficients of a result that is too far from the input.
pub const FIT: &str = "fit coefficients";

/// One stage of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Its name, as in `ARCHITECTURE.md`.
    pub name: Cow<'static, str>,
    /// Wall-clock seconds, of all its runs together; stages that ran side by side share the time.
    pub seconds: f64,
    /// The process's peak of resident memory during the stage, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

/// Records stages as they run. It measures; nothing ever decides by what it measured.
#[derive(Clone, Debug)]
pub struct Stages {
    probe: Option<MemoryProbe>,
    watcher: Option<Watcher>,
    /// What stages work on from now on.
    seed: Option<String>,
    done: Vec<Stage>,
    /// What happened, where somebody wants to know.
    events: Option<Vec<Event>>,
}

/// Stages that work on seeds; the others work on the kernel as a whole.
const OF_SEEDS: [&str; 5] = ["encode", "saturate", "select", "realize", "schedule"];

impl Stages {
    /// A record without stages.
    #[must_use]
    pub fn new(probe: Option<MemoryProbe>) -> Self {
        Self { probe, watcher: None, seed: None, done: Vec::new(), events: None }
    }

    /// The same, telling somebody what runs.
    #[must_use]
    pub fn watched_by(self, watcher: Option<Watcher>) -> Self {
        Self { watcher, ..self }
    }

    /// The same, noting events.
    #[must_use]
    pub fn traced(self, traces: bool) -> Self {
        Self { events: traces.then(Vec::new), ..self }
    }

    /// Notes an event, which is made only where events are noted.
    pub fn note(&mut self, event: impl FnOnce() -> Event) {
        if let Some(events) = &mut self.events {
            events.push(event());
        }
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.events.as_deref().unwrap_or_default()
    }

    /// Says which seed the stages that follow work on.
    pub fn now_on(&mut self, seed: &str) {
        self.seed = Some(seed.to_owned());
    }

    /// Runs a stage and records it, whatever it answers; a stage that runs again adds to its record.
    pub fn run<T>(&mut self, name: &'static str, stage: impl FnOnce() -> T) -> T {
        if let Some(probe) = self.probe {
            (probe.start)();
        }
        if let Some(Watcher(tell)) = &self.watcher {
            tell(Now { stage: name, seed: self.seed.as_deref().filter(|_| OF_SEEDS.contains(&name)) });
        }
        let start = Instant::now();
        let res = stage();
        let seconds = start.elapsed().as_secs_f64();
        let peak_bytes = self.probe.and_then(|probe| (probe.peak)());
        self.record(Stage { name: Cow::Borrowed(name), seconds, peak_bytes });
        res
    }

    /// Does work on several things side by side. The time that it takes is divided among its stages by how long each ran, so that
    /// all stages together take as long as the run.
    pub fn side_by_side<I: Sync, T: Send>(&mut self, items: &[I], work: impl Fn(&I, &mut Self) -> T + Sync) -> Vec<T> {
        let start = Instant::now();
        let record = &*self;
        let done: Vec<(T, Self)> = items
            .par_iter()
            .map(|item| {
                let mut stages = record.without_stages();
                (work(item, &mut stages), stages)
            })
            .collect();
        let seconds = start.elapsed().as_secs_f64();
        let (res, records): (Vec<T>, Vec<Self>) = done.into_iter().unzip();
        self.take_in(seconds, records);
        res
    }

    /// Runs two stages side by side, recorded in the same way.
    pub fn both<A: Send, B: Send>(
        &mut self,
        (first, a): (&'static str, impl FnOnce() -> A + Send),
        (second, b): (&'static str, impl FnOnce() -> B + Send),
    ) -> (A, B) {
        let start = Instant::now();
        let [mut of_first, mut of_second] = [self.without_stages(), self.without_stages()];
        let res = rayon::join(|| of_first.run(first, a), || of_second.run(second, b));
        self.take_in(start.elapsed().as_secs_f64(), vec![of_first, of_second]);
        res
    }

    /// Takes in what ran side by side in so many seconds.
    fn take_in(&mut self, seconds: f64, records: Vec<Self>) {
        let mut stages = Vec::new();
        for record in records {
            stages.extend(record.done);
            if let Some(events) = &mut self.events {
                events.extend(record.events.into_iter().flatten());
            }
        }
        self.share(seconds, stages);
    }

    /// Records stages that ran side by side in so many seconds.
    fn share(&mut self, seconds: f64, stages: Vec<Stage>) {
        let of_all: f64 = stages.iter().map(|stage| stage.seconds).sum();
        let share = if of_all > 0.0 { seconds / of_all } else { 0.0 };
        for stage in stages {
            self.record(Stage { seconds: stage.seconds * share, ..stage });
        }
    }

    fn without_stages(&self) -> Self {
        let events = self.events.as_ref().map(|_| Vec::new());
        Self { probe: self.probe, watcher: self.watcher.clone(), seed: self.seed.clone(), done: Vec::new(), events }
    }

    fn record(&mut self, Stage { name, seconds, peak_bytes }: Stage) {
        match self.done.iter_mut().find(|stage| stage.name == name) {
            Some(stage) => {
                stage.seconds += seconds;
                stage.peak_bytes = stage.peak_bytes.max(peak_bytes);
            }
            None => self.done.push(Stage { name, seconds, peak_bytes }),
        }
    }

    /// The stages so far, in order.
    #[must_use]
    pub fn into_done(self) -> Vec<Stage> {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn watchers_are_told_the_stage_and_its_seed() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let watcher = Watcher(Arc::new(move |now: Now<'_>| {
            log.lock().unwrap().push((now.stage.to_owned(), now.seed.map(str::to_owned)));
        }));
        let mut stages = Stages::new(None).watched_by(Some(watcher));
        stages.run("read", || ());
        stages.now_on("rolled");
        stages.run("saturate", || ());
        stages.run(VALIDATE, || ());
        let seed = Some("rolled".to_owned());
        let expected = [("read".to_owned(), None), ("saturate".to_owned(), seed), (VALIDATE.to_owned(), None)];
        assert_eq!(*told.lock().unwrap(), expected);
    }

    #[test]
    fn stages_side_by_side_take_no_longer_than_the_run() {
        let start = Instant::now();
        let mut stages = Stages::new(None);
        let wait = || std::thread::sleep(std::time::Duration::from_millis(5));
        let res = stages.side_by_side(&[1, 2, 3], |item, stages| stages.run("saturate", || (wait(), item * 2).1));
        assert_eq!(res, [2, 4, 6]);
        let done = stages.into_done();
        assert_eq!(done.len(), 1);
        assert!(done[0].seconds <= start.elapsed().as_secs_f64());
    }

    #[test]
    fn stages_are_recorded_in_order() {
        let mut stages = Stages::new(Some(MemoryProbe { start: || {}, peak: || Some(7) }));
        assert_eq!(stages.run("read", || 3), 3);
        stages.run("normalise", || ());
        let done = stages.into_done();
        assert_eq!(done.iter().map(|stage| &*stage.name).collect::<Vec<_>>(), ["read", "normalise"]);
        assert_eq!(done[0].peak_bytes, Some(7));
    }
}
