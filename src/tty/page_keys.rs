//! The keys that a person types into one of hopty's own pages, read from the terminal.
//!
//! A page also wakes for other reasons: a signal, an answer, its next picture. Only elapsed time turns an
//! escape into a key, so that a sequence that arrives in pieces (over ssh, say) stays one key.

use std::io::{self, Stdin};
use std::os::fd::{AsFd, BorrowedFd};

use crate::core::input::plain_keys::{PlainKey, PlainKeyParser};
use crate::sys::clock::Clock;
use crate::sys::fd::read_some;
use crate::sys::poll::{Interest, PollSet};

/// The terminal on standard input, and the bytes of an incomplete key.
#[derive(Debug)]
pub struct PageKeys<F = Stdin> {
    input: F,
    parser: PlainKeyParser,
    clock: Clock,
}

impl PageKeys {
    #[must_use]
    pub fn new() -> Self {
        PageKeys { input: io::stdin(), parser: PlainKeyParser::default(), clock: Clock::start() }
    }
}

impl Default for PageKeys {
    fn default() -> Self {
        PageKeys::new()
    }
}

impl<F: AsFd> PageKeys<F> {
    /// Watches the terminal under `token`.
    pub fn register<'fd, T: Copy>(&'fd self, set: &mut PollSet<'fd, T>, token: T) {
        set.add(token, self.input.as_fd(), Interest::Read);
    }

    /// The timeout of a `poll`, in ms, if the rest of the page can wait `other_ms` (`None`: no limit).
    pub fn timeout(&self, other_ms: Option<u64>) -> Option<u64> {
        let own = self.clock.wait_until(self.parser.deadline());
        [own, other_ms].into_iter().flatten().min()
    }

    /// Waits at most `limit_ms` (`None`: no limit) for keys or for something on `other`, and returns whether
    /// there are keys to read.
    pub fn wait_beside(&self, other: BorrowedFd<'_>, limit_ms: Option<u64>) -> io::Result<bool> {
        let mut set = PollSet::default();
        self.register(&mut set, true);
        set.add(false, other, Interest::Read);
        Ok(set.wait(self.timeout(limit_ms))?.iter().any(|(is_keys, _)| *is_keys))
    }

    /// The complete keys; `is_ready`: the terminal has something to read. `None` when it is gone.
    pub fn read(&mut self, is_ready: bool) -> io::Result<Option<Vec<PlainKey>>> {
        let now = self.clock.now();
        if !is_ready {
            return Ok(Some(self.parser.settle(now).into_iter().collect()));
        }
        let mut bytes = [0; 4096];
        Ok(match read_some(&self.input, &mut bytes)? {
            Some(0) => None,
            Some(n) => Some(self.parser.feed(&bytes[..n], now)),
            None => Some(Vec::new()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::core::input::plain_keys::ESCAPE_MS;

    #[test]
    fn an_event_between_two_pieces_of_a_key_does_not_tear_it() {
        static MS: AtomicU64 = AtomicU64::new(0);
        let (mut person, input) = UnixStream::pair().unwrap();
        let (mut others, other) = UnixStream::pair().unwrap();
        let mut keys = PageKeys { input, parser: PlainKeyParser::default(), clock: Clock::manual(&MS) };

        person.write_all(b"\x1b").unwrap();
        assert!(keys.wait_beside(other.as_fd(), None).unwrap());
        assert_eq!(keys.read(true).unwrap(), Some(vec![]));

        MS.store(ESCAPE_MS - 1, Ordering::Relaxed);
        others.write_all(b"!").unwrap();
        assert!(!keys.wait_beside(other.as_fd(), None).unwrap(), "only the other descriptor is ready");
        assert_eq!(keys.read(false).unwrap(), Some(vec![]), "the rest may still come");

        person.write_all(b"[5~").unwrap();
        assert!(keys.wait_beside(other.as_fd(), None).unwrap());
        assert_eq!(keys.read(true).unwrap(), Some(vec![PlainKey::PageUp]));

        person.write_all(b"\x1b").unwrap();
        assert_eq!(keys.read(true).unwrap(), Some(vec![]));
        MS.store(2 * ESCAPE_MS - 1, Ordering::Relaxed);
        assert_eq!(keys.read(false).unwrap(), Some(vec![PlainKey::Escape]));

        drop(person);
        assert!(keys.wait_beside(other.as_fd(), None).unwrap());
        assert_eq!(keys.read(true).unwrap(), None, "the terminal is gone");
    }

    #[test]
    fn a_page_waits_for_the_rest_of_a_key_or_for_its_own_next_work() {
        let (mut person, input) = UnixStream::pair().unwrap();
        let mut keys = PageKeys { input, parser: PlainKeyParser::default(), clock: Clock::start() };
        assert_eq!((keys.timeout(None), keys.timeout(Some(250))), (None, Some(250)));
        person.write_all(b"\x1b").unwrap();
        keys.read(true).unwrap();
        assert!(keys.timeout(Some(250)).is_some_and(|ms| ms <= ESCAPE_MS));
        assert_eq!(keys.timeout(Some(0)), Some(0));
    }
}
