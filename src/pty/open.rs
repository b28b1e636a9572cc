//! Opening a pseudo-terminal. portable-pty opens it but does not spawn (see ADR 2).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::libc;
use portable_pty::{PtySize, native_pty_system};
use rustix::io::ioctl_fionread;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::core::process_change::Signal;
use crate::core::terminal::Size;

/// The master side of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    slave: PathBuf,
}

impl Pty {
    /// Opens a new one, master non-blocking and close-on-exec. portable-pty sets close-on-exec only after
    /// opening, so programs that other threads start meanwhile close what they inherit
    /// ([`crate::sys::process::lead_session`]).
    ///
    /// # Errors
    /// When there is no free pseudo-terminal or descriptor.
    pub fn open(size: Size) -> io::Result<Self> {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: size.rows,
                cols: size.cols,
                pixel_width: size.xpixel,
                pixel_height: size.ypixel,
            })
            .map_err(|e| io::Error::other(e.to_string()))?;
        let fd = pair
            .master
            .as_raw_fd()
            .ok_or_else(|| io::Error::other("the pseudo-terminal has no descriptor"))?;
        let slave =
            pair.master.tty_name().ok_or_else(|| io::Error::other("the pseudo-terminal has no name"))?;
        // SAFETY: fd is open as long as `pair` lives, which is longer than this borrow.
        let master = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
        nix::fcntl::fcntl(&master, nix::fcntl::FcntlArg::F_SETFL(OFlag::O_NONBLOCK | OFlag::O_RDWR))?;
        Ok(Pty { master, slave })
    }

    /// For tests: a terminal whose child is the other end of a socket, where bytes arrive at once and there
    /// are no modes.
    #[cfg(test)]
    pub fn of_socket(master: OwnedFd) -> Self {
        Pty { master, slave: "/dev/null".into() }
    }

    /// The path of the slave side.
    pub fn slave(&self) -> &Path {
        &self.slave
    }

    /// Opens the slave side, without making it this process's controlling terminal.
    ///
    /// # Errors
    /// When it cannot be opened, as after a revoke or without a free descriptor.
    pub fn open_slave(&self) -> io::Result<File> {
        open_slave(&self.slave)
    }

    /// Sets the size; the kernel sends SIGWINCH to the foreground group if it changed.
    ///
    /// # Errors
    /// When the kernel refuses, which it does not while the master is open.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let winsize =
            Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: size.xpixel, ws_ypixel: size.ypixel };
        Ok(tcsetwinsize(&self.master, winsize)?)
    }

    /// Whether bytes written to the master have not been read from the slave yet.
    pub fn unread(&self) -> bool {
        let Ok(slave) = self.open_slave() else { return false };
        ioctl_fionread(&slave).is_ok_and(|bytes| bytes > 0)
    }

    /// Sends a signal to the terminal's foreground group.
    ///
    /// # Errors
    /// When the terminal has no foreground group, or the group is gone.
    pub fn signal_foreground(&self, signal: Signal) -> io::Result<()> {
        let group = nix::unistd::tcgetpgrp(&self.master)?;
        let signal = nix::sys::signal::Signal::try_from(signal.0)?;
        Ok(nix::sys::signal::killpg(group, signal)?)
    }
}

impl AsFd for Pty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}

/// Opens a terminal by name without making it this process's controlling one.
pub(super) fn open_slave(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC).open(path)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// While another thread opens terminals, programs are started.
    #[test]
    fn no_program_inherits_a_master_or_a_slave() {
        let (over, size) = (AtomicBool::new(false), Size::cells(80, 24));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let pty = Pty::open(size).unwrap();
                    drop(pty.open_slave().unwrap());
                }
            });
            for _ in 0..100 {
                let mut list = Command::new("ls");
                crate::sys::process::lead_session(list.args(["-l", "/proc/self/fd"]).stdin(Stdio::null()));
                let listed = String::from_utf8(list.output().unwrap().stdout).unwrap();
                let inherited = listed.lines().find(|line| line.contains("/ptmx") || line.contains("/pts/"));
                over.store(inherited.is_some(), Ordering::Relaxed);
                assert_eq!(inherited, None);
            }
            over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_new_terminal_has_its_size_and_waits_for_its_first_program() {
        let size = Size { cols: 97, rows: 31, xpixel: 970, ypixel: 620 };
        let pty = Pty::open(size).unwrap();
        let found = rustix::termios::tcgetwinsize(pty.open_slave().unwrap()).unwrap();
        assert_eq!(
            (found.ws_col, found.ws_row, found.ws_xpixel, found.ws_ypixel),
            (size.cols, size.rows, size.xpixel, size.ypixel)
        );
    }
}
