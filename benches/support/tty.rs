//! The few system calls on descriptors that child, yardsticks and terminal share.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// Now, in ns of the clock that all processes share.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// From now on this thread runs when no other wants to (Linux, `SCHED_IDLE`).
pub fn run_when_idle() {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: sched_setscheduler reads one sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) };
}

/// Sets a terminal raw; what is none stays as it is.
pub fn make_raw(fd: BorrowedFd) {
    if let Ok(mut modes) = tcgetattr(fd) {
        cfmakeraw(&mut modes);
        let _ = tcsetattr(fd, SetArg::TCSANOW, &modes);
    }
}

/// Sets whether calls wait.
pub fn set_blocking(fd: BorrowedFd, blocking: bool) {
    let flags = fcntl(fd, FcntlArg::F_GETFL).map_or(OFlag::empty(), OFlag::from_bits_truncate);
    let flags = if blocking { flags - OFlag::O_NONBLOCK } else { flags | OFlag::O_NONBLOCK };
    let _ = fcntl(fd, FcntlArg::F_SETFL(flags));
}

/// Reads once. `None` where nothing is there; zero at the end, which a terminal also says with EIO.
pub fn read(fd: BorrowedFd, buf: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: the kernel writes at most buf.len() bytes.
        let n = unsafe { libc::read(fd.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) };
        if n >= 0 {
            return Ok(Some(n as usize));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => return Ok(None),
            Some(libc::EIO) => return Ok(Some(0)),
            _ => return Err(error),
        }
    }
}

/// Writes once. Zero where nothing fits now.
pub fn write(fd: BorrowedFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel reads bytes.len() bytes.
        let n = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        if n >= 0 {
            return Ok(n as usize);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => return Ok(0),
            _ => return Err(error),
        }
    }
}

/// Writes all of it to a descriptor that waits.
pub fn write_all(fd: BorrowedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = write(fd, bytes)?;
        if n == 0 {
            wait(&[(fd, false, true)], 1000);
        }
        bytes = &bytes[n..];
    }
    Ok(())
}

/// Waits for descriptors, each with whether to read and whether to write, `ms` at most (negative: for ever).
/// Gives for each what is ready, ends included; one that is watched for nothing is left out.
pub fn wait<const N: usize>(fds: &[(BorrowedFd, bool, bool); N], ms: i32) -> [(bool, bool); N] {
    let mut watched = fds.map(|(fd, read, write)| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, read);
        flags.set(PollFlags::POLLOUT, write);
        PollFd::new(fd, flags)
    });
    let _ = poll(&mut watched, PollTimeout::try_from(ms).unwrap_or(PollTimeout::NONE));
    let mut ready = [(false, false); N];
    for ((ready, watched), (_, read, write)) in ready.iter_mut().zip(&watched).zip(fds) {
        let got = watched.revents().unwrap_or(PollFlags::empty());
        let end = got.intersects(PollFlags::POLLHUP | PollFlags::POLLERR);
        *ready = (
            *read && (got.contains(PollFlags::POLLIN) || end),
            *write && (got.contains(PollFlags::POLLOUT) || end),
        );
    }
    ready
}

/// A descriptor that can be read when the process has ended.
pub fn process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two numbers and gives a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Keeps a descriptor from programs that are started.
pub fn set_close_on_exec(fd: BorrowedFd) {
    let _ = fcntl(fd, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC));
}
