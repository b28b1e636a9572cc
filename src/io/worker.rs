//! The one helper thread: slow work (disk, git, gzip) goes there, and its answer comes back as a readable descriptor.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

type Job<T> = Box<dyn FnOnce() -> T + Send>;

/// A thread that does jobs in order and owns what it works on.
#[derive(Debug)]
pub struct Worker<T: Send + 'static> {
    jobs: Option<Sender<Job<T>>>,
    done: Receiver<T>,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
    open: usize,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// When neither socket pair nor thread can be made.
    pub fn start(name: &str) -> io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job<T>>();
        let (outbox, done) = mpsc::channel();
        let (wake, mut ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            for job in inbox {
                // A job that panics costs its answer, not the session.
                if let Ok(answer) = catch_unwind(AssertUnwindSafe(job)) {
                    let _ = outbox.send(answer);
                }
                let _ = ring.write_all(&[1]);
            }
        })?;
        Ok(Worker { jobs: Some(jobs), done, wake, thread: Some(thread), open: 0 })
    }

    /// Hands a job over.
    pub fn submit(&mut self, job: impl FnOnce() -> T + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            self.open += 1;
            let _ = jobs.send(Box::new(job));
        }
    }

    /// Answers that are there.
    pub fn take(&mut self) -> Vec<T> {
        let mut rings = [0; 64];
        while let Ok(n) = self.wake.read(&mut rings) {
            if n == 0 {
                break;
            }
            self.open = self.open.saturating_sub(n);
        }
        self.done.try_iter().collect()
    }

    /// Whether a job is still to be done.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.open > 0
    }
}

impl<T: Send + 'static> AsFd for Worker<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl<T: Send + 'static> Drop for Worker<T> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
