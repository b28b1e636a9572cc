//! The yardsticks: the least that any wrapper must do. Read, write, poll, and nothing else.
//!
//! hop1 is one process between two terminals. hop2 is two: a client at the outer terminal, a host at the
//! inner one, a socket between them. Neither knows of sizes that change, of signals or of errors.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use hopty::pty::spawn::spawn_leader;
use nix::libc;
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, setsid};

use crate::tty;

/// One direction.
struct Flow {
    buf: Vec<u8>,
    at: usize,
    end: usize,
    closed: bool,
}

impl Flow {
    fn new() -> Self {
        Flow { buf: vec![0; 1 << 16], at: 0, end: 0, closed: false }
    }

    fn empty(&self) -> bool {
        self.at == self.end
    }

    fn read(&mut self, from: BorrowedFd) {
        match tty::read(from, &mut self.buf) {
            Ok(Some(0)) | Err(_) => self.closed = true,
            Ok(Some(n)) => (self.at, self.end) = (0, n),
            Ok(None) => {}
        }
    }

    fn write(&mut self, to: BorrowedFd) {
        match tty::write(to, &self.buf[self.at..self.end]) {
            Ok(n) => self.at += n,
            Err(_) => (self.at, self.closed) = (self.end, true),
        }
    }
}

/// Bytes from `near` to `far` and from `far` to `out`, until `far` has no more.
fn relay(near: BorrowedFd, out: BorrowedFd, far: BorrowedFd) {
    for fd in [near, out, far] {
        tty::set_blocking(fd, false);
    }
    let (mut keys, mut output) = (Flow::new(), Flow::new());
    while !output.closed {
        let fds = [
            (near, keys.empty() && !keys.closed, false),
            (out, false, !output.empty()),
            (far, output.empty(), !keys.empty()),
        ];
        let [(key, _), (_, room), (more, fits)] = tty::wait(&fds, -1);
        if more {
            output.read(far);
        }
        if (more || room) && !output.empty() {
            output.write(out);
        }
        if key {
            keys.read(near);
        }
        if (key || fits) && !keys.empty() {
            keys.write(far);
        }
    }
}

/// A program in a new terminal of the same size and modes.
fn spawn(program: &[OsString], modes: Option<&Termios>) -> io::Result<(OwnedFd, Child)> {
    let mut size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one Winsize.
    unsafe { libc::ioctl(0, libc::TIOCGWINSZ, &raw mut size) };
    let pty = openpty(&size, modes)?;
    tty::set_close_on_exec(pty.master.as_fd());
    tty::set_close_on_exec(pty.slave.as_fd());
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]);
    let child = spawn_leader(&File::from(pty.slave), command)?;
    Ok((pty.master, child))
}

fn code(child: &mut Child) -> i32 {
    child.wait().map_or(1, |status| status.code().unwrap_or(128 + status.signal().unwrap_or(0)))
}

/// One process. Gives the exit code.
pub fn one(program: &[OsString]) -> io::Result<i32> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let modes = tcgetattr(&stdin).ok();
    let (master, mut child) = spawn(program, modes.as_ref())?;
    tty::make_raw(stdin.as_fd());
    relay(stdin.as_fd(), stdout.as_fd(), master.as_fd());
    leave(modes.as_ref());
    Ok(code(&mut child))
}

/// Two processes: this one becomes the client, its child is the host. Gives the exit code.
pub fn two(program: &[OsString]) -> io::Result<i32> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let modes = tcgetattr(&stdin).ok();
    let (client, host) = UnixStream::pair()?;
    // SAFETY: this process has one thread.
    match unsafe { fork()? } {
        ForkResult::Child => {
            drop(client);
            let _ = setsid();
            let (master, mut child) = spawn(program, modes.as_ref())?;
            relay(host.as_fd(), host.as_fd(), master.as_fd());
            drop(host);
            Ok(code(&mut child))
        }
        ForkResult::Parent { child } => {
            drop(host);
            tty::make_raw(stdin.as_fd());
            relay(stdin.as_fd(), stdout.as_fd(), client.as_fd());
            leave(modes.as_ref());
            Ok(match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, code)) => code,
                _ => 1,
            })
        }
    }
}

fn leave(modes: Option<&Termios>) {
    if let Some(modes) = modes {
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, modes);
    }
    tty::set_blocking(io::stdin().as_fd(), true);
}
