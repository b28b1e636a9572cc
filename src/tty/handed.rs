//! A terminal that a client handed over (CONTRACT C12): the host reads and writes it directly, on a description of its
//! own, so that `O_NONBLOCK` never reaches the person's shell.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use nix::libc;
use thiserror::Error;

use super::modes::{self, When};
use crate::core::terminal::Modes;

/// Why a terminal is not taken; the client relays bytes instead.
#[derive(Debug, Error)]
pub enum NotTaken {
    /// It is no terminal.
    #[error("it is no terminal")]
    NoTerminal,
    /// It is `/dev/tty`, which means another terminal in every process.
    #[error("it is /dev/tty, which means another terminal here")]
    DevTty,
    /// Another user owns it.
    #[error("another user owns it")]
    Foreign,
    /// It cannot be opened again by name.
    #[error("it cannot be opened again: {0}")]
    NotReopened(io::Error),
}

/// A terminal in the host's hands.
#[derive(Debug)]
pub struct Handed {
    file: File,
    device: u64,
    found: Option<Modes>,
    raw: Modes,
}

impl Handed {
    /// Takes the terminal behind `fd`, which is closed. `found` are its modes before the client made it raw, `raw` those
    /// after: the client may be dead by now and its shell have set its own, so they are not simply those of now.
    ///
    /// # Errors
    /// When it cannot be taken.
    pub fn take(fd: OwnedFd, found: Option<Modes>, raw: Option<Modes>) -> Result<Self, NotTaken> {
        let given = File::from(fd);
        let meta = given.metadata().map_err(NotTaken::NotReopened)?;
        let now = modes::read(&given).map_err(|_| NotTaken::NoTerminal)?;
        match (libc::major(meta.rdev()), libc::minor(meta.rdev())) {
            (5, 0) => return Err(NotTaken::DevTty),
            // The other end of one: to open it again would make a new terminal.
            (5, 2) => return Err(NotTaken::NoTerminal),
            _ => {}
        }
        // SAFETY: geteuid cannot fail.
        if meta.uid() != unsafe { libc::geteuid() } && meta.uid() != unsafe { libc::getuid() } {
            return Err(NotTaken::Foreign);
        }
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(format!("/proc/self/fd/{}", given.as_raw_fd()))
            .map_err(NotTaken::NotReopened)?;
        Ok(Handed { file, device: meta.rdev(), found, raw: raw.unwrap_or(now) })
    }

    /// Which terminal it is (`st_rdev`).
    #[must_use]
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Puts the modes back that were there before the client, but only if they are still exactly the client's raw ones:
    /// for a client that died. A shell that already set its own is left alone.
    pub fn restore_modes(&self) {
        if let Some(found) = &self.found
            && modes::read(&self.file).is_ok_and(|now| now == self.raw)
        {
            let _ = modes::set(&self.file, found, When::Now);
        }
    }
}

impl AsFd for Handed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
