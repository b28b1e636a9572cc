//! Outgoing bytes: a queue that handles partial writes and reports its length.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::fd::{send_some, write_some};

/// A queue of bytes for one descriptor.
#[derive(Debug, Default)]
pub struct OutBuf {
    bytes: VecDeque<u8>,
    written: u64,
}

impl OutBuf {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Appends the rest of `bytes`, of which the descriptor has already taken the first `written`.
    pub fn push_rest(&mut self, bytes: &[u8], written: usize) {
        self.written += written as u64;
        self.push(&bytes[written..]);
    }

    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes the descriptor has taken.
    pub fn written(&self) -> u64 {
        self.written
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Drops the waiting bytes.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Takes the waiting bytes out of the queue.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes).into()
    }

    /// Writes what fits now.
    ///
    /// # Errors
    /// When the descriptor is broken; the waiting bytes are kept.
    pub fn flush(&mut self, fd: &impl AsFd) -> io::Result<()> {
        self.flush_by(|bytes| write_some(fd, bytes))
    }

    /// [`OutBuf::flush`] for a socket: a peer that is gone is an error, not SIGPIPE.
    ///
    /// # Errors
    /// When the connection is broken; the waiting bytes are kept.
    pub fn flush_socket(&mut self, socket: &UnixStream) -> io::Result<()> {
        self.flush_by(|bytes| send_some(socket, bytes))
    }

    fn flush_by(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while !self.bytes.is_empty() {
            let (front, _) = self.bytes.as_slices();
            let n = write(front)?;
            if n == 0 {
                break;
            }
            self.bytes.drain(..n);
            self.written += n as u64;
        }
        Ok(())
    }

    /// Writes `bytes`: immediately if the queue is empty and the descriptor takes them, otherwise in turn.
    pub fn send(&mut self, fd: &impl AsFd, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        if self.bytes.is_empty() {
            done = write_some(fd, bytes)?;
        }
        self.push_rest(bytes, done);
        if done == 0 { self.flush(fd) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn everything_arrives_once_in_order_through_a_full_pipe() {
        let (mut far, near) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let data: Vec<u8> = (0..1_000_000u32).map(|n| n.to_le_bytes()[1]).collect();
        let mut out = OutBuf::default();
        for chunk in data.chunks(4096) {
            out.send(&near, chunk).unwrap();
        }
        assert!(!out.is_empty(), "a socket does not take a megabyte at once");
        let mut got = Vec::new();
        let mut buf = [0; 65536];
        while got.len() < data.len() {
            let n = far.read(&mut buf).unwrap();
            got.extend_from_slice(&buf[..n]);
            out.flush(&near).unwrap();
        }
        assert_eq!(got, data);
        assert_eq!(out.written(), data.len() as u64);
    }
}
