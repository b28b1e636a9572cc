//! For tests: the process is killed before its nth change of the disk.

use std::io::{self, Write};

/// Called before each change of a name or a file. In a debug build, `HOPTY_TEST_KILL_TRANSFER_AT` is the
/// number of the call, counted from 0, at which the process is killed.
#[cfg(debug_assertions)]
pub(super) fn kill_point() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};
    static KILL_AT: OnceLock<Option<usize>> = OnceLock::new();
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let kill_at = *KILL_AT.get_or_init(|| std::env::var("HOPTY_TEST_KILL_TRANSFER_AT").ok()?.parse().ok());
    if kill_at.is_some() && kill_at == Some(COUNT.fetch_add(1, Ordering::Relaxed)) {
        let _ = nix::sys::signal::kill(nix::unistd::getpid(), nix::sys::signal::Signal::SIGKILL);
    }
}

/// Nothing, in a release.
#[cfg(not(debug_assertions))]
pub(super) fn kill_point() {}

/// A file with a kill point before each write.
pub(super) struct KillPoints<W>(pub W);

impl<W: Write> Write for KillPoints<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        kill_point();
        self.0.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
