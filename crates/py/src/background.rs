//! Work on another thread, while Python goes on.
//!
//! # Method
//! The caller's thread lets go of the interpreter and looks every [`PATIENCE`] whether a signal came in. If one did, it raises at once; the
//! work ends at its next stage: the watcher that it tells of every stage unwinds it, as query engines cancel their queries. Nothing is
//! shared with abandoned work, so that it leaves nothing half done.
//!
//! Threads are kept for the next work: starting them takes as long as a small kernel does. Work has its threads to itself, so that none of it
//! waits for that of another caller. Threads do not survive a fork, so those of another process are not used.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nestegg_driver::config::{Now, Watcher};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::problem::Problem;

/// How long an interrupt may go unseen.
const PATIENCE: Duration = Duration::from_millis(50);

/// How many groups of threads wait for work at most.
const MAX_IDLE: usize = 4;

/// Threads that wait for work. Whoever looks at them holds the interpreter, as whoever forks does: no fork meets the lock held.
static IDLE: Mutex<Vec<Threads>> = Mutex::new(Vec::new());

/// Threads for one piece of work at a time.
struct Threads {
    process: u32,
    /// As they were asked for: 0 for one on each processor.
    n_threads: usize,
    pool: ThreadPool,
}

impl Threads {
    fn take(n_threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let process = std::process::id();
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |threads: &Self| (threads.process, threads.n_threads) == (process, n_threads);
        if let Some(at) = idle.iter().position(fits) {
            return Ok(idle.swap_remove(at));
        }
        drop(idle);
        let pool = ThreadPoolBuilder::new().num_threads(n_threads).build()?;
        Ok(Self { process, n_threads, pool })
    }

    /// Keeps them, if not too many are kept already.
    fn put_back(self) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody can tell threads of another process to end: they are not there.
        let process = self.process;
        idle.extract_if(.., |threads| threads.process != process).for_each(std::mem::forget);
        if idle.len() < MAX_IDLE {
            idle.push(self);
        }
    }
}

/// Why work ended without a result.
#[derive(Debug)]
pub enum Stop {
    /// Something is wrong.
    Problem(Problem),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// What a worker is unwound with when nobody waits for it.
struct Cancelled;

/// What a worker says.
enum Message<T> {
    /// It is at this stage, of this seed.
    At(String, Option<String>),
    /// It is done.
    Done(Result<T, Stop>),
}

/// Does work on `n_threads` threads (0 for one on each processor) and waits for its result.
///
/// # Errors
/// What the work, `progress` or a signal handler raises.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    n_threads: usize,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(Watcher) -> Result<T, Stop> + Send + 'static,
) -> PyResult<T> {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let stage_sender = progress.is_some().then(|| sender.clone());
    let watched = Arc::clone(&is_cancelled);
    let watcher = Watcher(Arc::new(move |now: Now<'_>| {
        if watched.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Cancelled));
        }
        if let Some(sender) = &stage_sender {
            // Nobody listens once the caller is gone.
            let _ = sender.send(Message::At(now.stage.to_owned(), now.seed.map(str::to_owned)));
        }
    }));
    let threads = Threads::take(n_threads)
        .map_err(|error| Problem::said(&format!("cannot start threads: {error}")).into_exception(py))?;
    threads.pool.spawn(move || {
        let res = catch_unwind(AssertUnwindSafe(|| work(watcher)))
            .unwrap_or_else(|panic| Err(Problem::bug(&said(panic.as_ref())).into()));
        let _ = sender.send(Message::Done(res));
    });
    let waited = wait(py, receiver, progress);
    is_cancelled.store(true, Ordering::Relaxed);
    if waited.is_ok() {
        threads.put_back();
    }
    match waited? {
        Ok(res) => Ok(res),
        Err(Stop::Problem(problem)) => Err(problem.into_exception(py)),
    }
}

fn wait<T: Send>(
    py: Python<'_>,
    receiver: std::sync::mpsc::Receiver<Message<T>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Result<T, Stop>> {
    // A receiver belongs to one thread, which this one is while others hold the interpreter.
    let receiver = Mutex::new(receiver);
    loop {
        let message = py.detach(|| match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(PATIENCE),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match message {
            Ok(Message::Done(res)) => return Ok(res),
            Ok(Message::At(stage, seed)) => {
                if let Some(progress) = &progress {
                    progress.call1(py, (stage, seed))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(Problem::bug("a thread was lost").into())),
        }
        py.check_signals()?;
    }
}

/// The words of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it stopped without a word").to_owned()
}
