//! The scripted person's terminal: a pseudo-terminal with a screen model that answers queries, in which the
//! real `hopty` runs as the real client. Every key goes the whole way: client, host, the agent's terminal.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::wait::{WaitPidFlag, waitpid};

use super::demo_dirs::DemoDirs;
use crate::core::process_change::Signal;
use crate::core::terminal::{Modes, Size};
use crate::pty::open::Pty;
use crate::pty::spawn::spawn_leader;
use crate::screen::{Screen, TerminalIdentity, reply};
use crate::sys::fd::read_some;
use crate::sys::outbuf::OutBuf;
use crate::sys::process;
use crate::tty::modes;

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;
/// How long the session may take to end before remaining processes are killed.
const ORDERLY: Duration = Duration::from_secs(5);
/// How long after a `hopty stop` the next one is tried.
const AGAIN: Duration = Duration::from_millis(300);

pub(super) struct DemoTerminal {
    pty: Pty,
    slave: File,
    before: Modes,
    child: Option<Child>,
    code: Option<i32>,
    pub(super) screen: Screen,
    /// Typed input, and answers to queries.
    input: OutBuf,
}

impl DemoTerminal {
    /// Starts `hopty` in a new terminal of `size`, as its session leader, like a shell in a window.
    ///
    /// # Errors
    /// When there is no pseudo-terminal, or hopty cannot be executed again.
    pub(super) fn start(place: &DemoDirs, args: &[&str], size: (u16, u16)) -> io::Result<DemoTerminal> {
        let pty = Pty::open(Size::cells(size.0, size.1))?;
        let slave = pty.open_slave()?;
        let before = modes::read(&slave)?;
        let mut command = place.hopty();
        command.args(args);
        let child = spawn_leader(&slave, command)?;
        let screen = Screen::new(size.0, size.1);
        Ok(DemoTerminal {
            pty,
            slave,
            before,
            child: Some(child),
            code: None,
            screen,
            input: OutBuf::default(),
        })
    }

    pub(super) fn type_keys(&mut self, keys: &[u8]) {
        let _ = self.input.send(&self.pty, keys);
    }

    /// Reads the terminal's output and answers queries. Returns true if the picture may have changed.
    pub(super) fn take(&mut self) -> bool {
        let mut buf = [0; CHUNK];
        let before = self.screen.revision();
        // Bounded: a program that writes endlessly must not block the demo.
        for _ in 0..16 {
            match read_some(&self.pty, &mut buf) {
                Ok(Some(n)) if n > 0 => self.screen.feed(&buf[..n]),
                _ => break,
            }
        }
        for query in self.screen.take_queries() {
            self.input.push(&reply(&query, &TerminalIdentity::new(env!("CARGO_PKG_VERSION"))));
        }
        let _ = self.input.flush(&self.pty);
        self.screen.revision() != before
    }

    pub(super) fn resize(&mut self, cols: u16, rows: u16) {
        self.screen.resize(cols, rows);
        let _ = self.pty.resize(Size::cells(cols, rows));
    }

    /// Whether the screen shows `text`, on one row or wrapped between words over several.
    pub(super) fn shows(&self, text: &str) -> bool {
        let rows = self.screen.lines();
        let words: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
        words.join(" ").contains(text)
    }

    pub(super) fn has_box(&self) -> bool {
        self.screen.lines().iter().any(|line| line.starts_with("❯\u{a0}"))
    }

    /// The client's exit code once it has ended; 128 + n for a signal.
    pub(super) fn exit_code(&mut self) -> Option<i32> {
        if let Some(child) = &mut self.child
            && let Ok(Some(status)) = child.try_wait()
        {
            self.code = Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
            self.child = None;
        }
        self.code
    }

    /// Whether the terminal is restored to its state before hopty: modes, screen, cursor.
    pub(super) fn is_whole(&self) -> bool {
        let screen =
            self.screen.undo().is_empty() && !self.screen.alternate() && self.screen.cursor().visible;
        screen && modes::read(&self.slave).is_ok_and(|now| now == self.before)
    }

    /// Ends the session and all of its processes, by request if possible, else by force. Returns whether no
    /// process that the demo started is left, whoever its parent was (this process is a sub-reaper).
    pub(super) fn end(&mut self, place: &DemoDirs) -> bool {
        let until = Instant::now() + ORDERLY;
        let mut asked: Option<(Child, Instant)> = None;
        while Instant::now() < until {
            self.take();
            let over = self.exit_code().is_some();
            let ended = asked.as_mut().is_some_and(|(stop, _)| !matches!(stop.try_wait(), Ok(None)));
            let is_due = asked.as_ref().is_none_or(|(_, at)| ended && at.elapsed() > AGAIN);
            if !over && is_due {
                // A session that was just starting was not found at the first try.
                asked = stop(place).map(|child| (child, Instant::now()));
            }
            reap(&[self.child.as_ref(), asked.as_ref().map(|(stop, _)| stop)]);
            if over && process::descendants(own_pid()).is_empty() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..200 {
            let left = process::descendants(own_pid());
            left.iter().for_each(|process| _ = process.signal(Signal::KILL));
            let _ = self.exit_code();
            reap(&[self.child.as_ref()]);
            if left.is_empty() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl AsFd for DemoTerminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pty.as_fd()
    }
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// Runs `hopty stop`, as a person would.
fn stop(place: &DemoDirs) -> Option<Child> {
    let mut command: Command = place.hopty();
    command.arg("stop").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()
}

/// Reaps processes that this process adopted as a sub-reaper, but not the children with a handle.
fn reap(held: &[Option<&Child>]) {
    for pid in process::own_children() {
        let is_held = held.iter().flatten().any(|child| i32::try_from(child.id()) == Ok(pid));
        if !is_held {
            let _ = waitpid(nix::unistd::Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
    }
}
