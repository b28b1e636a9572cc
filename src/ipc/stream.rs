//! One connection without blocking: bytes in, with descriptors that ride on them, and bytes out.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use super::frame::{Frame, TooLarge};
use super::message::MAX_LINE;

/// Whether a connection is still of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It goes on.
    Open,
    /// The other side closed it, or it broke.
    Closed,
}

/// A connection.
#[derive(Debug)]
pub struct Stream {
    socket: UnixStream,
    input: Vec<u8>,
    fds: VecDeque<OwnedFd>,
    output: VecDeque<u8>,
}

impl Stream {
    /// Takes a socket and makes it non-blocking.
    ///
    /// # Errors
    /// When that fails.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Stream { socket, input: Vec::new(), fds: VecDeque::new(), output: VecDeque::new() })
    }

    /// The peer's process id and user id, as the kernel knows them.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn peer(&self) -> io::Result<(i32, u32)> {
        let cred = nix::sys::socket::getsockopt(&self.socket, nix::sys::socket::sockopt::PeerCredentials)?;
        Ok((cred.pid(), cred.uid()))
    }

    /// Reads what is there. At most one megabyte is kept unread by the caller.
    pub fn fill(&mut self) -> Life {
        let mut buf = [0; 65536];
        let mut cmsg = nix::cmsg_space!([RawFd; 4]);
        loop {
            if self.input.len() > 2 * MAX_LINE {
                return Life::Open;
            }
            let mut iov = [IoSliceMut::new(&mut buf)];
            let got = recvmsg::<()>(self.socket.as_raw_fd(), &mut iov, Some(&mut cmsg), MsgFlags::MSG_CMSG_CLOEXEC);
            match got {
                Ok(message) => {
                    let n = message.bytes;
                    for control in message.cmsgs().into_iter().flatten() {
                        if let ControlMessageOwned::ScmRights(fds) = control {
                            // SAFETY: the kernel has just made these descriptors for this process.
                            self.fds.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                        }
                    }
                    self.fds.truncate(4);
                    if n == 0 {
                        return Life::Closed;
                    }
                    self.input.extend_from_slice(&buf[..n]);
                }
                Err(nix::errno::Errno::EINTR) => {}
                Err(nix::errno::Errno::EAGAIN) => return Life::Open,
                Err(_) => return Life::Closed,
            }
        }
    }

    /// The next whole line, without its end.
    ///
    /// # Errors
    /// When the line is over the limit.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, TooLarge> {
        match self.input.iter().position(|b| *b == b'\n') {
            Some(end) if end > MAX_LINE => Err(TooLarge(end)),
            Some(end) => {
                let mut line: Vec<u8> = self.input.drain(..=end).collect();
                line.pop();
                Ok(Some(line))
            }
            None if self.input.len() > MAX_LINE => Err(TooLarge(self.input.len())),
            None => Ok(None),
        }
    }

    /// The next whole frame.
    ///
    /// # Errors
    /// When the frame is over the limit.
    pub fn frame(&mut self) -> Result<Option<Frame>, TooLarge> {
        Ok(Frame::decode(&self.input)?.map(|(frame, taken)| {
            self.input.drain(..taken);
            frame
        }))
    }

    /// A descriptor that came with the bytes.
    pub fn take_fd(&mut self) -> Option<OwnedFd> {
        self.fds.pop_front()
    }

    /// Writes, at once where possible.
    pub fn send(&mut self, bytes: &[u8]) -> Life {
        self.output.extend(bytes);
        self.flush()
    }

    /// Writes bytes with a descriptor on the first of them. Only where nothing waits to be written.
    ///
    /// # Errors
    /// When the socket does not take them.
    pub fn send_with_fd(&mut self, bytes: &[u8], fd: &impl AsFd) -> io::Result<()> {
        self.socket.set_nonblocking(false)?;
        while !self.output.is_empty() {
            if self.flush() == Life::Closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        let fds = [fd.as_fd().as_raw_fd()];
        let n = sendmsg::<()>(
            self.socket.as_raw_fd(),
            &[io::IoSlice::new(bytes)],
            &[ControlMessage::ScmRights(&fds)],
            MsgFlags::MSG_NOSIGNAL,
            None,
        )?;
        self.socket.set_nonblocking(true)?;
        self.output.extend(&bytes[n..]);
        self.flush();
        Ok(())
    }

    /// Writes what waits, as far as it fits.
    pub fn flush(&mut self) -> Life {
        while !self.output.is_empty() {
            let (front, _) = self.output.as_slices();
            match nix::sys::socket::send(self.socket.as_raw_fd(), front, MsgFlags::MSG_NOSIGNAL) {
                Ok(n) => {
                    self.output.drain(..n);
                }
                Err(nix::errno::Errno::EINTR) => {}
                Err(nix::errno::Errno::EAGAIN) => return Life::Open,
                Err(_) => return Life::Closed,
            }
        }
        Life::Open
    }

    /// Bytes that wait to be written.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.output.len()
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
