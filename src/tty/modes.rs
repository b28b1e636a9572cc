//! Reading and setting a terminal's modes (termios).

use std::io;
use std::os::fd::AsFd;

use nix::libc;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};

use crate::core::terminal::Modes;

/// When new modes take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// When what was written has gone out.
    Drained,
}

/// The modes of a terminal.
///
/// # Errors
/// When the descriptor is no terminal.
pub fn read(fd: &impl AsFd) -> io::Result<Modes> {
    let raw: libc::termios = tcgetattr(fd)?.into();
    Ok(Modes {
        iflag: u64::from(raw.c_iflag),
        oflag: u64::from(raw.c_oflag),
        cflag: u64::from(raw.c_cflag),
        lflag: u64::from(raw.c_lflag),
        cc: raw.c_cc.to_vec(),
        speed: (u64::from(raw.c_ispeed), u64::from(raw.c_ospeed)),
    })
}

/// Puts a terminal into `modes`.
///
/// # Errors
/// When the descriptor is no terminal, or the value does not fit this system.
pub fn set(fd: &impl AsFd, modes: &Modes, when: When) -> io::Result<()> {
    let mut raw: libc::termios = tcgetattr(fd)?.into();
    let fits = |n: u64| u32::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    raw.c_iflag = fits(modes.iflag)?;
    raw.c_oflag = fits(modes.oflag)?;
    raw.c_cflag = fits(modes.cflag)?;
    raw.c_lflag = fits(modes.lflag)?;
    for (to, from) in raw.c_cc.iter_mut().zip(&modes.cc) {
        *to = *from;
    }
    raw.c_ispeed = fits(modes.speed.0)?;
    raw.c_ospeed = fits(modes.speed.1)?;
    let at = match when {
        When::Now => SetArg::TCSANOW,
        When::Drained => SetArg::TCSADRAIN,
    };
    Ok(tcsetattr(fd, at, &Termios::from(raw))?)
}
