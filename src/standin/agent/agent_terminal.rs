//! The terminal that the agent runs in: raw mode, size, reading, stopping.

use std::io::{self, Write};
use std::os::fd::AsFd;

use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{self, InputFlags, LocalFlags, SetArg, Termios};
use nix::unistd::{getpid, read};
use rustix::termios::tcgetwinsize;

/// The terminal on standard input, and its original modes.
pub(super) struct AgentTerminal {
    found: Termios,
}

impl AgentTerminal {
    /// Switches to raw mode. Output processing stays on, as in the real program (measured: iflag 0, lflag
    /// 0).
    ///
    /// # Errors
    /// When standard input is not a terminal.
    pub(super) fn raw() -> io::Result<AgentTerminal> {
        let terminal = AgentTerminal { found: termios::tcgetattr(io::stdin())? };
        terminal.raw_again();
        Ok(terminal)
    }

    /// Switches to raw mode again after a stop.
    pub(super) fn raw_again(&self) {
        let mut raw = self.found.clone();
        raw.input_flags = InputFlags::empty();
        raw.local_flags = LocalFlags::empty();
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &raw);
    }

    /// Restores the original modes.
    pub(super) fn restore(&self) {
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &self.found);
    }

    /// Columns and rows; 80x24 if the terminal does not report a usable size.
    pub(super) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(io::stdin()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                (usize::from(size.ws_col), usize::from(size.ws_row))
            }
            _ => (80, 24),
        }
    }

    /// Reads available bytes; `None` if the terminal is gone.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 65536];
        match read(io::stdin().as_fd(), &mut bytes) {
            Ok(0) => None,
            Ok(n) => {
                bytes.truncate(n);
                Some(bytes)
            }
            Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// Writes; a terminal that is gone is detected when reading.
    pub(super) fn write(&self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    /// Stops this process, as Ctrl+Z does. In an orphaned process group the kernel discards the signal
    /// (measured).
    pub(super) fn stop(&self) {
        let _ = kill(getpid(), Signal::SIGTSTP);
    }
}
