//! Reading and setting a terminal's modes (termios), with everything that the kernel keeps: also the line
//! discipline's number and speeds without a name, which the older calls do not report.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::libc;

use crate::core::terminal::Modes;

fn get(fd: &impl AsFd) -> io::Result<libc::termios2> {
    // SAFETY: zeros are a valid termios2, and TCGETS2 writes one.
    unsafe {
        let mut raw: libc::termios2 = std::mem::zeroed();
        match libc::ioctl(fd.as_fd().as_raw_fd(), libc::TCGETS2, &raw mut raw) {
            0 => Ok(raw),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The modes of a terminal.
pub fn read(fd: &impl AsFd) -> io::Result<Modes> {
    let raw = get(fd)?;
    Ok(Modes {
        iflag: u64::from(raw.c_iflag),
        oflag: u64::from(raw.c_oflag),
        cflag: u64::from(raw.c_cflag),
        lflag: u64::from(raw.c_lflag),
        line: raw.c_line,
        cc: raw.c_cc.to_vec(),
        speed: (u64::from(raw.c_ispeed), u64::from(raw.c_ospeed)),
    })
}

/// Sets a terminal's modes immediately.
///
/// # Errors
/// When the descriptor is no terminal, or the value does not fit this system.
pub fn set(fd: &impl AsFd, modes: &Modes) -> io::Result<()> {
    let raw = prepare(fd, modes)?;
    loop {
        // SAFETY: the request reads one termios2.
        let done = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TCSETS2, &raw const raw) };
        let error = io::Error::last_os_error();
        if done == 0 {
            return Ok(());
        }
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The kernel's form of `modes` for this terminal.
pub(super) fn prepare(fd: &impl AsFd, modes: &Modes) -> io::Result<libc::termios2> {
    let mut raw = get(fd)?;
    let fits = |n: u64| u32::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    raw.c_iflag = fits(modes.iflag)?;
    raw.c_oflag = fits(modes.oflag)?;
    raw.c_cflag = fits(modes.cflag)?;
    raw.c_lflag = fits(modes.lflag)?;
    raw.c_line = modes.line;
    for (to, from) in raw.c_cc.iter_mut().zip(&modes.cc) {
        *to = *from;
    }
    raw.c_ispeed = fits(modes.speed.0)?;
    raw.c_ospeed = fits(modes.speed.1)?;
    Ok(raw)
}
