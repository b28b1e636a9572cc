//! Small functions on descriptors.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;

/// Makes an open file description non-blocking. Only for descriptions that are not shared.
pub fn set_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Reads what is available, at most `buf.len()` bytes. `Ok(None)`: nothing now; `Ok(Some(0))`: the end.
///
/// # Errors
/// When read fails; `EIO` of a PTY master whose child is gone counts as the end.
pub fn read_some(fd: &impl AsFd, buf: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match nix::unistd::read(fd, buf) {
            Ok(n) => return Ok(Some(n)),
            Err(nix::errno::Errno::EINTR) => {}
            Err(nix::errno::Errno::EAGAIN) => return Ok(None),
            Err(nix::errno::Errno::EIO) => return Ok(Some(0)),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Writes what fits now. `Ok(0)`: nothing fits.
pub fn write_some(fd: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match nix::unistd::write(fd, bytes) {
            Ok(n) => return Ok(n),
            Err(nix::errno::Errno::EINTR) => {}
            Err(nix::errno::Errno::EAGAIN) => return Ok(0),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Writes to a non-blocking socket without a SIGPIPE where its peer is gone: how many bytes it took, 0 where
/// it takes none now.
pub fn send_some(socket: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    use nix::sys::socket::{MsgFlags, send};
    loop {
        match send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL) {
            Ok(n) => return Ok(n),
            Err(nix::errno::Errno::EINTR) => {}
            Err(nix::errno::Errno::EAGAIN) => return Ok(0),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Makes every descriptor but the three streams close-on-exec, in one async-signal-safe call. Kernels before
/// Linux 5.11 cannot do it, and nothing changes.
pub fn close_on_exec_above_streams() {
    // SAFETY: close_range takes numbers only, and with this flag it closes nothing now.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Closes inherited descriptors that this process does not need.
pub fn close_all(inherited: &[i32]) {
    for fd in inherited {
        let _ = nix::unistd::close(*fd);
    }
}

/// Sets close-on-exec, so that only the intended programs get these descriptors.
pub fn close_on_exec(inherited: &[i32]) {
    for fd in inherited {
        set_close_on_exec(*fd, true);
    }
}

/// Sets or clears close-on-exec of a descriptor that this process may not own; ignores one that is not open.
/// May be called between fork and exec.
pub fn set_close_on_exec(fd: RawFd, on: bool) {
    // SAFETY: setting a descriptor flag is memory-safe for any number.
    unsafe { libc::fcntl(fd, libc::F_SETFD, if on { libc::FD_CLOEXEC } else { 0 }) };
}

/// Whether a descriptor that this process may not own closes on exec; `None` if it is not open.
pub fn is_close_on_exec(fd: RawFd) -> Option<bool> {
    // SAFETY: reading a descriptor flag is memory-safe for any number.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    (flags >= 0).then_some(flags & libc::FD_CLOEXEC != 0)
}

/// Standard input, where Rust's own handle, which allocates, may not be used: between fork and exec.
pub fn stdin() -> BorrowedFd<'static> {
    // SAFETY: `inherited::note` opened number 0, and it is never closed. If it were, calls would fail.
    unsafe { BorrowedFd::borrow_raw(libc::STDIN_FILENO) }
}

/// Whether both are the same terminal, by whatever name they were opened (`/dev/tty` is one).
pub fn is_same_terminal(one: &impl AsFd, other: &impl AsFd) -> bool {
    terminal_device(one).is_some_and(|device| terminal_device(other) == Some(device))
}

/// The device number of the terminal, even behind `/dev/tty`.
pub fn terminal_device(fd: &impl AsFd) -> Option<u64> {
    let mut device: u32 = 0;
    // SAFETY: TIOCGDEV writes one unsigned int.
    let done = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCGDEV, &raw mut device) };
    (done == 0).then_some(u64::from(device))
}

/// A descriptor of /dev/null, for a stream that must be open but unused.
pub fn dev_null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

pub fn is_terminal(fd: &impl AsFd) -> bool {
    nix::unistd::isatty(fd).unwrap_or(false)
}
