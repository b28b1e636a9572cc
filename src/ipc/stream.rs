//! A non-blocking connection: incoming bytes, with the descriptors sent along, and outgoing bytes.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, getsockopt, sendmsg, sockopt};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::frame::{Frame, TooLarge};
use super::message::MAX_LINE;
use crate::sys::outbuf::OutBuf;

/// How many descriptors from the peer may wait here; further ones are closed.
const MAX_FDS: usize = 4;
/// How many descriptors the kernel lets one message carry (`SCM_MAX_FD`).
const MESSAGE_FDS: usize = 253;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    Open,
    /// The peer closed it, or it broke.
    Closed,
}

#[derive(Debug)]
pub struct FrameStream {
    socket: UnixStream,
    input: Vec<u8>,
    /// How much of `input` has been consumed.
    taken: usize,
    fds: VecDeque<OwnedFd>,
    output: OutBuf,
    /// The peer closed its end without reading what had arrived there.
    reset: bool,
}

impl FrameStream {
    /// Takes a socket and makes it non-blocking.
    ///
    /// # Errors
    /// When the socket cannot be made non-blocking.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(FrameStream {
            socket,
            input: Vec::new(),
            taken: 0,
            fds: VecDeque::new(),
            output: OutBuf::default(),
            reset: false,
        })
    }

    /// The peer's process id and user id, as the kernel reports them.
    pub fn peer(&self) -> io::Result<(i32, u32)> {
        let cred = getsockopt(&self.socket, sockopt::PeerCredentials)?;
        Ok((cred.pid(), cred.uid()))
    }

    /// Opens a pidfd of the process that connected, so that no other process is mistaken for it. `None` if
    /// the kernel cannot (before Linux 6.5).
    pub fn peer_process(&self) -> io::Result<Option<OwnedFd>> {
        pidfd_of_peer(getsockopt(&self.socket, sockopt::PeerPidfd))
    }

    /// Reads what is available, unless more than two megabytes are waiting to be consumed.
    pub fn fill(&mut self) -> ConnectionState {
        // On the stack, whose pages stay resident: every process of every session has this buffer.
        let mut buf = [0; 16384];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MESSAGE_FDS))];
        loop {
            if self.is_full() {
                return ConnectionState::Open;
            }
            let mut iov = [IoSliceMut::new(&mut buf)];
            // It owns what arrives, even in a message that the kernel truncated, and closes descriptors that
            // are not taken.
            let mut control = RecvAncillaryBuffer::new(&mut space);
            match recvmsg(&self.socket, &mut iov, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(message) => {
                    let n = message.bytes;
                    for part in control.drain() {
                        if let RecvAncillaryMessage::ScmRights(fds) = part {
                            self.fds.extend(fds);
                        }
                    }
                    self.fds.truncate(MAX_FDS);
                    if n == 0 {
                        return ConnectionState::Closed;
                    }
                    self.input.extend_from_slice(&buf[..n]);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return ConnectionState::Open,
                Err(error) => {
                    self.reset |= error == rustix::io::Errno::CONNRESET;
                    return ConnectionState::Closed;
                }
            }
        }
    }

    /// Whether the peer closed its end with unread data (Linux reports `ECONNRESET`).
    pub fn left_unread(&self) -> bool {
        self.reset || !self.output.is_empty()
    }

    /// Whether the backlog is so large that reading pauses.
    pub fn is_full(&self) -> bool {
        self.input.len() - self.taken > 2 * MAX_LINE
    }

    /// The next whole line, without its end.
    ///
    /// # Errors
    /// When the line is over the limit.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, TooLarge> {
        let rest = &self.input[self.taken..];
        match rest.iter().position(|b| *b == b'\n') {
            Some(end) if end > MAX_LINE => Err(TooLarge(end)),
            Some(end) => {
                let line = rest[..end].to_vec();
                self.take(end + 1);
                Ok(Some(line))
            }
            None if rest.len() > MAX_LINE => Err(TooLarge(rest.len())),
            None => Ok(None),
        }
    }

    /// The next whole frame.
    ///
    /// # Errors
    /// When the frame is over the limit.
    pub fn frame(&mut self) -> Result<Option<Frame>, TooLarge> {
        let found = Frame::decode(&self.input[self.taken..])?;
        Ok(found.map(|(frame, length)| {
            self.take(length);
            frame
        }))
    }

    /// The next whole frame with another tag than this; frames with this tag stay queued, in order.
    ///
    /// # Errors
    /// When a frame is over the limit.
    pub fn frame_but(&mut self, tag: u8) -> Result<Option<Frame>, TooLarge> {
        let mut at = self.taken;
        while let Some((frame, length)) = Frame::decode(&self.input[at..])? {
            if frame.tag != tag {
                self.input.drain(at..at + length);
                return Ok(Some(frame));
            }
            at += length;
        }
        Ok(None)
    }

    /// Marks bytes as consumed; they are freed now and then, not one by one.
    fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken == self.input.len() || self.taken > MAX_LINE {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
    }

    /// A descriptor that came with the bytes.
    pub fn take_fd(&mut self) -> Option<OwnedFd> {
        self.fds.pop_front()
    }

    /// Writes, immediately if possible.
    pub fn send(&mut self, bytes: &[u8]) -> ConnectionState {
        self.output.push(bytes);
        self.flush()
    }

    /// Writes bytes with a descriptor attached to the first of them. Call it only while no bytes wait.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send_with_fd(&mut self, bytes: &[u8], fd: &impl AsFd) -> io::Result<()> {
        self.socket.set_nonblocking(false)?;
        let sent = self.send_waiting_with_fd(bytes, fd);
        // Also after an error: later writes must never block.
        self.socket.set_nonblocking(true)?;
        self.output.push_rest(bytes, sent?);
        self.flush();
        Ok(())
    }

    fn send_waiting_with_fd(&mut self, bytes: &[u8], fd: &impl AsFd) -> io::Result<usize> {
        while !self.output.is_empty() {
            if self.flush() == ConnectionState::Closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        let (iov, fds) = ([io::IoSlice::new(bytes)], [fd.as_fd().as_raw_fd()]);
        let rights = [ControlMessage::ScmRights(&fds)];
        Ok(sendmsg::<()>(self.socket.as_raw_fd(), &iov, &rights, MsgFlags::MSG_NOSIGNAL, None)?)
    }

    /// Writes as much of the backlog as fits.
    pub fn flush(&mut self) -> ConnectionState {
        if self.output.flush_socket(&self.socket).is_ok() {
            ConnectionState::Open
        } else {
            ConnectionState::Closed
        }
    }

    /// How many bytes the peer's end of the socket has taken.
    pub fn written(&self) -> u64 {
        self.output.written()
    }

    /// How many bytes wait to be written.
    pub fn waiting(&self) -> usize {
        self.output.len()
    }
}

impl AsFd for FrameStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Interprets the kernel's answer to `SO_PEERPIDFD`. A kernel without the option says so. Any other error
/// means that the process is gone: Linux 6.5 to 6.14 report `EINVAL`, later ones `ESRCH`.
fn pidfd_of_peer(answer: nix::Result<OwnedFd>) -> io::Result<Option<OwnedFd>> {
    match answer {
        Ok(process) => Ok(Some(process)),
        Err(Errno::ENOPROTOOPT | Errno::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn pair() -> (UnixStream, FrameStream) {
        let (far, near) = UnixStream::pair().unwrap();
        (far, FrameStream::new(near).unwrap())
    }

    /// The process of a peer that is gone must not be looked up by its number.
    #[test]
    fn only_a_kernel_without_the_option_leaves_a_peer_without_a_descriptor() {
        for unknown in [Errno::ENOPROTOOPT, Errno::EOPNOTSUPP] {
            assert!(pidfd_of_peer(Err(unknown)).unwrap().is_none());
        }
        for gone in [Errno::EINVAL, Errno::ESRCH, Errno::ENODATA] {
            assert!(pidfd_of_peer(Err(gone)).is_err(), "{gone}");
        }
    }

    #[test]
    fn lines_and_frames_survive_any_split() {
        let (mut far, mut near) = pair();
        let mut bytes = b"one\n\ntwo\n".to_vec();
        bytes.extend(Frame::new(7, b"payload").encode());
        for byte in bytes {
            far.write_all(&[byte]).unwrap();
            assert_eq!(near.fill(), ConnectionState::Open);
        }
        let lines: Vec<_> = (0..3).map(|_| near.line().unwrap().unwrap()).collect();
        assert_eq!(lines, [&b"one"[..], b"", b"two"]);
        assert_eq!(near.frame().unwrap(), Some(Frame::new(7, b"payload")));
        assert_eq!(near.frame().unwrap(), None);
        drop(far);
        // A process that another test is starting also has the far end until its exec.
        while near.fill() == ConnectionState::Open {
            assert!(
                crate::sys::poll::wait_for(&near.as_fd(), crate::sys::poll::Interest::Read, 10_000).unwrap(),
                "no end"
            );
        }
    }

    #[test]
    fn a_peer_that_left_data_unread_is_detected() {
        for reads in [true, false] {
            let (mut far, mut near) = pair();
            near.send(b"answer");
            if reads {
                std::io::Read::read_exact(&mut far, &mut [0; 6]).unwrap();
            }
            drop(far);
            while near.fill() == ConnectionState::Open {
                let waited =
                    crate::sys::poll::wait_for(&near.as_fd(), crate::sys::poll::Interest::Read, 10_000);
                assert!(waited.unwrap(), "no end");
            }
            assert_eq!(near.left_unread(), !reads);
        }
    }

    #[test]
    fn a_frame_can_be_taken_out_of_turn() {
        let (mut far, mut near) = pair();
        for (tag, payload) in [(2, b"one"), (2, b"two"), (3, b"now"), (2, b"end")] {
            far.write_all(&Frame::new(tag, payload).encode()).unwrap();
        }
        near.fill();
        assert_eq!(near.frame_but(2).unwrap(), Some(Frame::new(3, b"now")));
        assert_eq!(near.frame_but(2).unwrap(), None);
        let rest: Vec<Vec<u8>> =
            std::iter::from_fn(|| near.frame().unwrap()).map(|frame| frame.payload).collect();
        assert_eq!(rest, [b"one", b"two", b"end"]);
    }

    #[test]
    fn a_line_without_an_end_is_too_large_before_it_fills_the_memory() {
        let (far, mut near) = pair();
        far.set_nonblocking(true).unwrap();
        let part = vec![b'x'; 1 << 16];
        let error = loop {
            while (&far).write_all(&part).is_ok() {}
            assert_eq!(near.fill(), ConnectionState::Open);
            match near.line() {
                Ok(line) => assert_eq!(line, None),
                Err(error) => break error,
            }
        };
        assert!(error.0 > MAX_LINE && error.0 < 3 * MAX_LINE + part.len());
    }

    #[test]
    fn a_connection_does_not_wait_after_a_descriptor_could_not_be_sent() {
        let (far, near) = pair();
        drop(near);
        let mut far = FrameStream::new(far).unwrap();
        assert!(far.send_with_fd(b"x", &std::fs::File::open("/dev/null").unwrap()).is_err());
        let flags = nix::fcntl::fcntl(&far, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert!(flags & nix::libc::O_NONBLOCK != 0);
    }

    #[test]
    fn a_descriptor_rides_on_its_bytes_and_more_than_four_are_dropped() {
        let (far, mut near) = pair();
        let mut far = FrameStream::new(far).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        for _ in 0..6 {
            far.send_with_fd(b"x", &file).unwrap();
        }
        near.fill();
        let got = std::iter::from_fn(|| near.take_fd()).count();
        assert_eq!(got, 4);
    }

    /// A pipe whose other end is closed reports it, whatever other tests open and close meanwhile.
    #[test]
    fn descriptors_over_four_are_closed_however_many_one_message_brings() {
        for count in [5, MESSAGE_FDS] {
            let (far, mut near) = pair();
            let (mut kept, sent) = io::pipe().unwrap();
            let fds = vec![sent.as_raw_fd(); count];
            let rights = [ControlMessage::ScmRights(&fds)];
            let iov = [io::IoSlice::new(b"x")];
            sendmsg::<()>(far.as_raw_fd(), &iov, &rights, MsgFlags::empty(), None).unwrap();
            drop(sent);
            assert_eq!(near.fill(), ConnectionState::Open);
            assert_eq!(std::iter::from_fn(|| near.take_fd()).count(), MAX_FDS, "{count}");
            let end = crate::sys::poll::wait_for(&kept.as_fd(), crate::sys::poll::Interest::Read, 10_000);
            assert!(end.unwrap(), "a descriptor of {count} is still open");
            assert_eq!(io::Read::read(&mut kept, &mut [0; 1]).unwrap(), 0);
        }
    }
}
