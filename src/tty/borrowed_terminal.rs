//! A client's terminal that the host reads and writes directly, through an open file description of its own,
//! so that `O_NONBLOCK` never reaches the person's shell.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::unistd::{geteuid, getuid};
use thiserror::Error;

use super::modes;
use crate::core::terminal::Modes;
use crate::sys::fd::terminal_device;

/// Why the host does not borrow a terminal; the client relays bytes instead.
#[derive(Debug, Error)]
pub enum BorrowError {
    #[error("it is not a terminal")]
    NoTerminal,
    /// It is `/dev/tty`, which means another terminal in every process.
    #[error("it is /dev/tty, which is another terminal in this process")]
    DevTty,
    /// Another user owns it.
    #[error("another user owns it")]
    Foreign,
    /// It cannot be opened again by name.
    #[error("it cannot be opened again: {0}")]
    NotReopened(io::Error),
}

/// A terminal that the host has borrowed.
#[derive(Debug)]
pub struct BorrowedTerminal {
    file: File,
    device: u64,
    found: Option<Modes>,
    raw: Modes,
}

impl BorrowedTerminal {
    /// Opens the terminal behind `fd` again and closes `fd`. `found` are its modes before the client made it
    /// raw, `raw` those after: the client may be dead by now and its shell have set its own, so the current
    /// ones are no evidence.
    pub fn take(fd: OwnedFd, found: Option<Modes>, raw: Option<Modes>) -> Result<Self, BorrowError> {
        let given = File::from(fd);
        let meta = given.metadata().map_err(BorrowError::NotReopened)?;
        let now = modes::read(&given).map_err(|_| BorrowError::NoTerminal)?;
        match (libc::major(meta.rdev()), libc::minor(meta.rdev())) {
            (5, 0) => return Err(BorrowError::DevTty),
            // A pseudo-terminal's master: opening it again would make a new terminal.
            (5, 2) => return Err(BorrowError::NoTerminal),
            _ => {}
        }
        if meta.uid() != geteuid().as_raw() && meta.uid() != getuid().as_raw() {
            return Err(BorrowError::Foreign);
        }
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(format!("/proc/self/fd/{}", given.as_raw_fd()))
            .map_err(BorrowError::NotReopened)?;
        Ok(BorrowedTerminal { file, device: meta.rdev(), found, raw: raw.unwrap_or(now) })
    }

    /// Its device number (`st_rdev`).
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Restores the modes of a client that died, but only if they are still the client's raw ones: a shell
    /// may already have set its own.
    pub fn restore_modes(&self) {
        restore(&self.file, self.found.as_ref(), &self.raw);
    }
}

/// A terminal that cannot be opened again here, so that its client relays. It is kept in case the client
/// dies, and not touched until then.
#[derive(Debug)]
pub struct KeptTerminal {
    file: File,
    found: Option<Modes>,
    raw: Modes,
}

impl KeptTerminal {
    /// Keeps the terminal behind `fd`; `None` when it is not a terminal. `found` are its modes before the
    /// client made it raw.
    pub fn keep(fd: OwnedFd, found: Option<Modes>) -> Option<Self> {
        let raw = modes::read(&fd).ok()?;
        let flags = OFlag::from_bits_truncate(fcntl(&fd, FcntlArg::F_GETFL).ok()?);
        // `</dev/tty` is read-only.
        let readable = flags & OFlag::O_ACCMODE == OFlag::O_RDONLY;
        let file = if readable { by_name(&fd)? } else { File::from(fd) };
        Some(KeptTerminal { file, found, raw })
    }

    /// Writes `undo` and restores the modes, if they are still the client's raw ones. The shell shares this
    /// file description, so it must stay blocking: a thread waits while the terminal takes nothing.
    pub fn restore_later(self, undo: Vec<u8>) {
        let thread = std::thread::Builder::new().name("hopty-restore_later".to_owned());
        // Without a thread the terminal stays as it is: the host must not block on one.
        let _ = thread.spawn(move || {
            let _ = (&self.file).write_all(&undo);
            restore(&self.file, self.found.as_ref(), &self.raw);
        });
    }
}

/// The pseudo-terminal behind `fd`, opened for writing: what `/dev/tty` means in the client.
fn by_name(fd: &OwnedFd) -> Option<File> {
    let device = terminal_device(fd)?;
    let name = format!("/dev/pts/{}", libc::minor(device));
    let file = File::options().write(true).custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC).open(name).ok()?;
    file.metadata().is_ok_and(|meta| meta.rdev() == device).then_some(file)
}

fn restore(file: &File, found: Option<&Modes>, raw: &Modes) {
    if let Some(found) = found
        && modes::read(file).is_ok_and(|now| now == *raw)
    {
        let _ = modes::set(file, found);
    }
}

impl AsFd for BorrowedTerminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
