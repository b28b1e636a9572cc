//! A client's terminal: a pseudo-terminal of which the host takes one end.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use crate::core::terminal::Size;
use crate::ipc::frame::{Frame, tag};
use crate::pty::open::Pty;

/// How long the kernel may take to carry a key from one end to the other.
const CARRY: Duration = Duration::from_secs(5);

/// Both ends.
#[derive(Debug)]
pub(super) struct Terminal {
    /// The person's end: keyboard and screen.
    person: File,
    /// The end that is passed to the host.
    given: File,
}

impl Terminal {
    pub fn open() -> Terminal {
        let pty = Pty::open(Size::cells(120, 40)).unwrap();
        let given = pty.open_slave().unwrap();
        let mut modes = tcgetattr(&given).unwrap();
        cfmakeraw(&mut modes);
        tcsetattr(&given, SetArg::TCSANOW, &modes).unwrap();
        let person = File::from(pty.as_fd().try_clone_to_owned().unwrap());
        Terminal { person, given }
    }

    /// Sends the host the frame that hands it over.
    pub fn hand_over(&self, socket: &UnixStream) -> bool {
        let bytes = Frame::new(tag::TERMINAL, &[]).encode();
        let (iov, fds) = ([std::io::IoSlice::new(&bytes)], [self.given.as_raw_fd()]);
        sendmsg::<()>(
            socket.as_raw_fd(),
            &iov,
            &[ControlMessage::ScmRights(&fds)],
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .is_ok()
    }

    /// Presses keys, and waits until the kernel has carried them to the host's end.
    pub fn press(&mut self, bytes: &[u8]) -> bool {
        let wanted = self.unread() + bytes.len();
        if self.person.write_all(bytes).is_err() {
            return false;
        }
        let until = Instant::now() + CARRY;
        while self.unread() < wanted {
            assert!(Instant::now() < until, "a key does not reach the other end of its terminal");
            std::thread::yield_now();
        }
        true
    }

    /// Bytes that the host has not read.
    fn unread(&self) -> usize {
        usize::try_from(rustix::io::ioctl_fionread(&self.given).unwrap()).unwrap()
    }

    /// Reads what was written to the screen. Returns whether there was anything.
    pub fn show(&mut self) -> bool {
        let (mut buf, mut any) = ([0; 1 << 14], false);
        while let Ok(1..) = self.person.read(&mut buf) {
            any = true;
        }
        any
    }
}
