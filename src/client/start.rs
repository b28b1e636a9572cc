//! Starting a host: hopty forks before it has read arguments or configuration, so that the host holds none of
//! them, and sends it a launch on a socket, which then becomes the first client's connection.
//!
//! Executing hopty again would cost another 0.8 ms and twice the memory, because the two processes share the
//! pages of a program that was loaded once (measured).

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sys::socket::{MsgFlags, recvmsg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::RawTerminal;
use crate::core::process_change::Signal;
use crate::host::start::{self, Launch, StartReport};
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::Signals;

/// Whether client and host have exchanged hellos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Both sides still have to send their hello.
    Due,
    /// This process started the host.
    Done {
        /// The host's process id.
        host: i32,
    },
}

/// A host that waits for its launch; without one it ends.
#[derive(Debug)]
pub struct Forked {
    socket: UnixStream,
    pid: Pid,
}

impl Forked {
    /// Forks the host, in which this does not return. Call it only while this process has one thread.
    ///
    /// # Errors
    /// When there can be no more processes or descriptors, or a sandbox refuses what a socket needs.
    pub fn new() -> io::Result<Self> {
        let (socket, hosts) = UnixStream::pair()?;
        try_socket(&socket, &hosts)?;
        // SAFETY: nothing before this starts a thread, so the child may do whatever this process may.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Forked { socket, pid: child }),
            ForkResult::Child => {
                drop(socket);
                std::process::exit(start::main(hosts))
            }
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Ends the host because there will be no session; nothing of it remains, so this process can become the
    /// program.
    pub fn dismiss(self) {
        drop(self.socket);
        let _ = waitpid(self.pid, None);
    }

    /// Sends the launch and waits until the program runs or fails to start. Afterwards the socket is the
    /// client's. `hold`: the raw terminal, whose signals are handled meanwhile.
    pub fn launch(
        self,
        launch: &Launch,
        args: &[OsString],
        hold: Option<&mut RawTerminal>,
    ) -> io::Result<(StartReport, UnixStream)> {
        // A host that ended at once says why in its answer, or by closing the socket.
        let _ = (&self.socket).write_all(&start::orders(launch, args)?);
        if let Some(signal) = hold.and_then(|hold| signal_before_report(&self.socket, hold.signals())) {
            return Ok((
                StartReport::failed(
                    Signal(signal).exit_code(),
                    "a signal ended it before the program ran",
                    "",
                ),
                self.socket,
            ));
        }
        let mut line = String::new();
        // After this line the host sends nothing until it is asked.
        let _ = BufReader::new(&self.socket).read_line(&mut line);
        let said = serde_json::from_str(&line);
        if let Ok(StartReport::Up { .. }) = said {
            return Ok((said?, self.socket));
        }
        let how = match waitpid(self.pid, None) {
            Ok(WaitStatus::Signaled(_, signal, _)) => format!(" by {signal}"),
            Ok(WaitStatus::Exited(_, code)) => format!(" with code {code}"),
            _ => String::new(),
        };
        let silent = || {
            StartReport::failed(
                125,
                format!("the host ended before the program ran{how}"),
                "the session's host.log may have the reason",
            )
        };
        Ok((said.unwrap_or_else(|_| silent()), self.socket))
    }
}

/// Sends one byte and receives it as the host would: a sandbox may refuse either.
fn try_socket(mut from: &UnixStream, to: &UnixStream) -> io::Result<()> {
    from.write_all(b"?")?;
    let mut byte = [0];
    recvmsg::<()>(to.as_raw_fd(), &mut [IoSliceMut::new(&mut byte)], None, MsgFlags::MSG_CMSG_CLOEXEC)?;
    Ok(())
}

/// Waits for the host's start report. Returns a signal that arrived first and ends programs.
fn signal_before_report(socket: &UnixStream, signals: &mut Signals) -> Option<i32> {
    loop {
        let mut set = PollSet::default();
        set.add('h', socket.as_fd(), Interest::Read);
        set.add('g', signals.as_fd(), Interest::Read);
        let ready = set.wait(None).ok()?;
        if ready.iter().any(|(token, _)| *token == 'h') {
            return None;
        }
        let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP];
        if let Some(signal) = signals.take().into_iter().find(|signal| ends.contains(signal)) {
            return Some(signal);
        }
    }
}
