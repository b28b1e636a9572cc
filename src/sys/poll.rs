//! One `poll` for a whole loop: register, wait, query.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::time::TimeSpec;

/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// The events that a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Read,
    Write,
    Both,
    /// Only errors and hang-ups, which are always reported.
    Gone,
}

/// The events that have occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FdReadiness {
    /// There is something to read, or the end.
    pub read: bool,
    /// There is room to write.
    pub write: bool,
    /// The other side is gone or the descriptor is broken.
    pub gone: bool,
}

/// The descriptors of one turn of a loop, each with a token that the caller chooses.
#[derive(Debug)]
pub struct PollSet<'fd, T> {
    fds: Vec<PollFd<'fd>>,
    tokens: Vec<T>,
}

impl<T> Default for PollSet<'_, T> {
    fn default() -> Self {
        PollSet { fds: Vec::with_capacity(16), tokens: Vec::with_capacity(16) }
    }
}

impl<'fd, T: Copy> PollSet<'fd, T> {
    /// Watches `fd` under `token`.
    pub fn add(&mut self, token: T, fd: BorrowedFd<'fd>, interest: Interest) {
        let flags = match interest {
            Interest::Read => PollFlags::POLLIN,
            Interest::Write => PollFlags::POLLOUT,
            Interest::Both => PollFlags::POLLIN | PollFlags::POLLOUT,
            Interest::Gone => PollFlags::empty(),
        };
        self.fds.push(PollFd::new(fd, flags));
        self.tokens.push(token);
    }

    /// Waits until something is ready or `timeout_ms` has passed (`None`: no limit), and returns what is
    /// ready.
    ///
    /// # Errors
    /// When poll does, other than by a signal: no memory, or more descriptors than allowed. The
    /// error is returned after a pause, so that a loop that continues does not spin.
    pub fn wait(&mut self, timeout_ms: Option<u64>) -> io::Result<Vec<(T, FdReadiness)>> {
        let timeout = timeout_ms.map_or(PollTimeout::NONE, |ms| {
            PollTimeout::try_from(i32::try_from(ms).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX)
        });
        let polled = poll(&mut self.fds, timeout);
        self.ready(polled)
    }

    /// [`PollSet::wait`] with a timeout finer than a millisecond.
    pub fn wait_within(&mut self, timeout: Option<Duration>) -> io::Result<Vec<(T, FdReadiness)>> {
        let polled = ppoll(&mut self.fds, timeout.map(TimeSpec::from_duration), None);
        self.ready(polled)
    }

    fn ready(&self, polled: nix::Result<i32>) -> io::Result<Vec<(T, FdReadiness)>> {
        match polled {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => return Ok(Vec::new()),
            Err(e) => {
                std::thread::sleep(AFTER_FAILURE);
                return Err(e.into());
            }
        }
        let ready = self.fds.iter().zip(&self.tokens).filter_map(|(fd, token)| {
            let got = fd.revents().unwrap_or(PollFlags::POLLERR);
            let gone = got.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL);
            let ready = FdReadiness {
                read: got.intersects(PollFlags::POLLIN | PollFlags::POLLHUP),
                write: got.contains(PollFlags::POLLOUT),
                gone,
            };
            (!got.is_empty()).then_some((*token, ready))
        });
        Ok(ready.collect())
    }
}

/// Whether there is something to read now, including the end.
pub fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// Waits for one descriptor. Returns false on a timeout.
pub fn wait_for(fd: &(impl AsFd + AsRawFd), interest: Interest, timeout_ms: u64) -> io::Result<bool> {
    let mut set = PollSet::default();
    set.add((), fd.as_fd(), interest);
    Ok(!set.wait(Some(timeout_ms))?.is_empty())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_or_an_end_make_a_descriptor_readable() {
        let (mut far, near) = UnixStream::pair().unwrap();
        assert!(!is_readable(near.as_fd()));
        far.write_all(b"x").unwrap();
        assert!(is_readable(near.as_fd()));
        let (far, near) = UnixStream::pair().unwrap();
        drop(far);
        assert!(is_readable(near.as_fd()));
    }
}
