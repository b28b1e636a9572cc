//! The helper thread: it does slow work (disk, git, gzip), and its answers arrive on a pollable descriptor.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Runs a job that may hang on a disk and returns its answer, or `None` after `limit`. If no thread can be
/// started, the job runs here.
pub fn within<T: Send + 'static>(limit: Duration, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let job = Arc::new(Mutex::new(Some(job)));
    let take = |job: &Mutex<Option<_>>| job.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (answer, wait) = mpsc::channel();
    let of_thread = Arc::clone(&job);
    let started = thread::Builder::new().spawn(move || {
        if let Some(job) = take(&of_thread) {
            let _ = answer.send(job());
        }
    });
    match started {
        Ok(_) => wait.recv_timeout(limit).ok(),
        Err(_) => take(&job).map(|job| job()),
    }
}

type WorkerJob<T> = Box<dyn FnOnce() -> T + Send>;

/// A thread that does jobs in order and owns its state. It starts with the first job: many sessions never
/// have one.
#[derive(Debug)]
pub struct Worker<T: Send + 'static> {
    name: &'static str,
    thread: Option<WorkerThread<T>>,
    open: usize,
    /// Answers of jobs that ran without a thread.
    done_here: Vec<T>,
    #[cfg(test)]
    by_hand: Option<ByHand<T>>,
}

/// For tests: jobs that run on the test's own thread when it asks for it.
#[cfg(test)]
struct ByHand<T> {
    jobs: std::collections::VecDeque<WorkerJob<T>>,
    done: Vec<T>,
}

#[cfg(test)]
impl<T> std::fmt::Debug for ByHand<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} jobs", self.jobs.len())
    }
}

#[derive(Debug)]
struct WorkerThread<T> {
    jobs: Sender<WorkerJob<T>>,
    done: Receiver<T>,
    wake: UnixStream,
    thread: JoinHandle<()>,
}

impl<T: Send + 'static> WorkerThread<T> {
    fn start(name: &str) -> io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<WorkerJob<T>>();
        let (outbox, done) = mpsc::channel();
        let (wake, mut ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            for job in inbox {
                // A job that panics loses its answer, not the session.
                if let Ok(answer) = catch_unwind(AssertUnwindSafe(job)) {
                    let _ = outbox.send(answer);
                }
                let _ = ring.write_all(&[1]);
            }
        })?;
        Ok(WorkerThread { jobs, done, wake, thread })
    }
}

impl<T: Send + 'static> Worker<T> {
    /// A worker without a job yet; `name` is the name of its thread.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Worker {
            name,
            thread: None,
            open: 0,
            done_here: Vec::new(),
            #[cfg(test)]
            by_hand: None,
        }
    }

    /// From now on without a thread: the test runs each job with [`Worker::do_next`].
    #[cfg(test)]
    pub fn work_by_hand(&mut self) {
        self.by_hand = Some(ByHand { jobs: std::collections::VecDeque::new(), done: Vec::new() });
    }

    /// Runs the oldest waiting job; false if there is none.
    #[cfg(test)]
    pub fn do_next(&mut self) -> bool {
        let Some(by_hand) = &mut self.by_hand else { return false };
        let Some(job) = by_hand.jobs.pop_front() else { return false };
        by_hand.done.push(job());
        true
    }

    /// Queues a job. If no thread can be started, the job runs at once.
    pub fn submit(&mut self, job: impl FnOnce() -> T + Send + 'static) {
        #[cfg(test)]
        if let Some(by_hand) = &mut self.by_hand {
            self.open += 1;
            by_hand.jobs.push_back(Box::new(job));
            return;
        }
        if self.thread.is_none() {
            self.thread = WorkerThread::start(self.name).ok();
        }
        match &self.thread {
            Some(running) => {
                self.open += 1;
                let _ = running.jobs.send(Box::new(job));
            }
            // As on the thread: a job that panics loses its answer.
            None => self.done_here.extend(catch_unwind(AssertUnwindSafe(job))),
        }
    }

    /// Whether there are answers that no descriptor reports.
    pub fn has_done_here(&self) -> bool {
        !self.done_here.is_empty()
    }

    /// The answers so far.
    pub fn take(&mut self) -> Vec<T> {
        #[cfg(test)]
        if let Some(by_hand) = &mut self.by_hand {
            self.open -= by_hand.done.len();
            return std::mem::take(&mut by_hand.done);
        }
        let here = std::mem::take(&mut self.done_here);
        let Some(running) = &mut self.thread else { return here };
        let mut rings = [0; 64];
        while let Ok(n) = running.wake.read(&mut rings) {
            if n == 0 {
                break;
            }
            self.open = self.open.saturating_sub(n);
        }
        here.into_iter().chain(running.done.try_iter()).collect()
    }

    /// Whether a job is waiting or running.
    pub fn is_busy(&self) -> bool {
        self.open > 0
    }

    /// Ends the thread when it is idle; the next job starts another one.
    pub fn rest(&mut self) {
        if self.open == 0 {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(WorkerThread { jobs, thread, .. }) = self.thread.take() {
            drop(jobs);
            // A thread that hangs on a disk is abandoned: its answer is not needed any more.
            if self.open == 0 {
                let _ = thread.join();
            }
        }
    }

    /// The descriptor to poll, if there is one.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.thread.as_ref().map(|running| running.wake.as_fd())
    }
}

impl<T: Send + 'static> Drop for Worker<T> {
    fn drop(&mut self) {
        self.end();
    }
}
