//! Progress of long runs: one line on standard error, that goes away.
//!
//! It is drawn only where standard error is a terminal, only after a second, and never in colours; nothing depends on it.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nestegg_driver::config::{Now, Watcher};

/// Runs that take less show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the time in the line moves.
const TICK: Duration = Duration::from_millis(200);

/// The line of a run; it goes away when this is dropped.
pub struct Progress {
    line: Option<Line>,
}

struct Line {
    bar: ProgressBar,
    /// Closed where the run is over.
    over: Option<Sender<()>>,
    timer: Option<JoinHandle<()>>,
}

impl Progress {
    /// The progress of so many kernels, if it `may_be_shown` and somebody sees it.
    pub fn start(n_kernels: usize, may_be_shown: bool) -> Self {
        Self::of("kernels", n_kernels, may_be_shown)
    }

    /// The progress of so many things of a kind, in the plural.
    pub fn of(kind: &str, n_things: usize, may_be_shown: bool) -> Self {
        if !may_be_shown || !io::stderr().is_terminal() {
            return Self { line: None };
        }
        let template = match n_things {
            1 => "{spinner} {elapsed} {wide_msg}".to_owned(),
            _ => format!("{{bar:20}} {{pos}}/{{len}} {kind}, {{elapsed}} {{wide_msg}}"),
        };
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(n_things as u64), ProgressDrawTarget::hidden()).with_style(style);
        let (over, is_over) = mpsc::channel::<()>();
        let drawn = bar.clone();
        let timer = std::thread::spawn(move || {
            if is_over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                drawn.set_draw_target(ProgressDrawTarget::stderr());
                drawn.enable_steady_tick(TICK);
            }
        });
        Self { line: Some(Line { bar, over: Some(over), timer: Some(timer) }) }
    }

    /// Shows what runs of the kernel in one file. Lines are short, so that folders are left out.
    pub fn watcher(&self, file: &str) -> Option<Watcher> {
        let bar = self.line.as_ref()?.bar.clone();
        let kernel = file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned();
        Some(Watcher(Arc::new(move |Now { stage, seed }| {
            let of_seed = seed.map(|seed| format!(" ({seed})")).unwrap_or_default();
            bar.set_message(format!("{kernel}: {stage}{of_seed}"));
        })))
    }

    /// Says something else.
    pub fn say(&self, words: &'static str) {
        if let Some(line) = &self.line {
            line.bar.set_message(words);
        }
    }

    /// One kernel is done.
    pub fn advance(&self) {
        if let Some(line) = &self.line {
            line.bar.inc(1);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(timer) = self.timer.take() {
            // A timer that panicked has drawn nothing that must go.
            let _ = timer.join();
        }
        self.bar.finish_and_clear();
    }
}
