//! Small things about descriptors.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Makes reads and writes on the open file description return at once. Only for descriptions that nobody else shares.
///
/// # Errors
/// When fcntl fails.
pub fn set_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Reads what is there, at most `buf.len()` bytes. `Ok(None)`: nothing now; `Ok(Some(0))`: the end.
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
///
/// # Errors
/// When write fails.
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

/// Closes every descriptor from 3 on, except those in `keep`: what the starting shell left open is nobody's business here.
pub fn close_inherited(keep: &[i32]) {
    let Ok(dir) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> = dir.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    for fd in open {
        if fd > 2 && !keep.contains(&fd) {
            // SAFETY: nothing in this process has taken ownership of these descriptors yet; it has just started.
            unsafe { nix::libc::close(fd) };
        }
    }
}

/// A descriptor of /dev/null, for what must be open but lead nowhere.
///
/// # Errors
/// When it cannot be opened.
pub fn dev_null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// Whether it is a terminal.
#[must_use]
pub fn is_terminal(fd: &impl AsRawFd) -> bool {
    // SAFETY: isatty only looks at the number.
    unsafe { nix::libc::isatty(fd.as_raw_fd()) == 1 }
}
