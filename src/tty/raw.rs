//! Raw mode of the person's terminal, taken back whatever happens: on leaving, in a panic, and never from the
//! background, where the terminal is the shell's.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crossterm::terminal;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use rustix::termios::{Winsize, tcgetwinsize};

use super::modes;
use super::unread_input;
use crate::core::terminal::{Modes, Size};

/// What a panic has to put back: the modes, and what undoes the program's sequences where nobody else will
/// write it.
static RESCUE: Mutex<Option<Rescue>> = Mutex::new(None);

/// Ends a sequence or a string that may have been cut, for who cannot know; does nothing elsewhere: CAN, and
/// ST for terminals that let no string be cancelled.
pub const END_OF_ANYTHING: &[u8] = b"\x18\x1b\\";

/// The modes as they were found, for a signal handler.
static FOUND: AtomicPtr<libc::termios2> = AtomicPtr::new(std::ptr::null_mut());

static LAST_WORDS: Mutex<Option<String>> = Mutex::new(None);

struct Rescue {
    found: Modes,
    undo: Vec<u8>,
}

/// The terminal is raw as long as this lives.
#[derive(Debug)]
pub struct RawMode {
    found: Modes,
    raw: Modes,
    is_on: bool,
}

impl RawMode {
    /// Makes the terminal on standard input raw, as soon as it is this process's.
    pub fn enter() -> io::Result<Self> {
        wait_for_foreground();
        let found = modes::read(&io::stdin())?;
        *RESCUE.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Rescue { found: found.clone(), undo: Vec::new() });
        if terminal::is_raw_mode_enabled()? {
            // It remembers an earlier time, and would do nothing now.
            terminal::disable_raw_mode()?;
            modes::set(&io::stdin(), &found)?;
        }
        terminal::enable_raw_mode()?;
        let raw = modes::read(&io::stdin())?;
        Ok(RawMode { found, raw, is_on: true })
    }

    /// Whether it is raw now, and no pause lasts.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// The modes as they were found.
    pub fn found(&self) -> &Modes {
        &self.found
    }

    /// The raw modes.
    pub fn set(&self) -> &Modes {
        &self.raw
    }

    /// Until [`RawMode::resume`]: nothing is echoed and no line is edited, but Ctrl+C ends programs and lines
    /// end as they do.
    pub fn lend(&mut self) -> io::Result<()> {
        let mut lent = Modes { oflag: self.found.oflag, ..self.raw.clone() };
        lent.lflag |= u64::from(libc::ISIG);
        // Whoever stopped this process now would find its terminal like that.
        if let Some(stop) = lent.cc.get_mut(libc::VSUSP) {
            *stop = 0;
        }
        modes::set(&io::stdin(), &lent)
    }

    /// Puts the modes back, for a pause or for good.
    pub fn suspend(&mut self) {
        if std::mem::take(&mut self.is_on) && in_foreground() {
            let _ = modes::set(&io::stdin(), &self.found);
        }
    }

    /// Raw again after a pause. In the background this stops the process (SIGTTOU) until the shell has put it
    /// into the foreground.
    pub fn resume(&mut self) -> io::Result<()> {
        modes::set(&io::stdin(), &self.raw)?;
        self.is_on = true;
        // Whoever goes on has had what was typed ahead of it.
        unread_input::forget();
        Ok(())
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if self.is_on && in_foreground() {
            unread_input::give(&self.found);
        }
        self.suspend();
        *RESCUE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether this process may set its terminal without being stopped for it. True where it has no job control.
pub fn in_foreground() -> bool {
    nix::unistd::tcgetpgrp(io::stdin()).map_or(true, |group| group == nix::unistd::getpgrp())
}

/// Whether standard input and output are the same terminal, under whatever names.
pub fn is_one_terminal() -> bool {
    let device = |fd: std::os::fd::BorrowedFd<'_>| nix::sys::stat::fstat(fd).map(|stat| stat.st_rdev).ok();
    // Only the controlling terminal tells its foreground group, and there is but one, also where it is called
    // /dev/tty.
    match (nix::unistd::tcgetpgrp(io::stdin()), nix::unistd::tcgetpgrp(io::stdout())) {
        (Ok(_), Ok(_)) => true,
        (Err(_), Err(_)) => device(io::stdin().as_fd()) == device(io::stdout().as_fd()),
        _ => false,
    }
}

/// In the background this stops the process (SIGTTOU), until the shell has put its job into the foreground:
/// before that the terminal's modes are those of the shell's own line.
pub fn wait_for_foreground() {
    while ask_for_foreground().is_err_and(|e| e.kind() == io::ErrorKind::Interrupted) {}
}

/// The same for who hears signals: each that may interrupt a call ends the wait.
///
/// # Errors
/// `Interrupted`; another where no shell could continue this process, or the terminal is gone.
pub fn ask_for_foreground() -> io::Result<()> {
    // Among the calls that ask for the foreground the one that changes nothing. Only there: it also waits for
    // what is written.
    if in_foreground() { Ok(()) } else { Ok(nix::sys::termios::tcdrain(io::stdin())?) }
}

/// What a panic writes besides restoring the modes; empty where the host does it.
pub fn set_rescue(undo: &[u8]) {
    if let Some(rescue) = RESCUE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        rescue.undo = undo.to_vec();
    }
}

/// From here on a panic leaves the terminal whole. While it is raw nothing is printed, because it may show
/// another screen still: the words are kept for [`last_words`].
pub fn restore_on_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Not waited for: the panic may have happened while it was held.
        let Ok(rescue) = RESCUE.try_lock() else { return say(panic) };
        let Some(rescue) = rescue.as_ref() else { return say(panic) };
        if !rescue.undo.is_empty() {
            let _ = io::stdout().write_all(END_OF_ANYTHING);
            let _ = io::stdout().write_all(&rescue.undo);
        }
        let _ = io::stdout().flush();
        let _ = modes::set(&io::stdin(), &rescue.found);
        if let Ok(mut words) = LAST_WORDS.try_lock() {
            *words = Some(panic.to_string());
        }
    }));
}

/// What a panic said while the terminal was raw.
pub fn last_words() -> Option<String> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// From here on these signals put the modes back and end this process, whatever it waits for: nobody else is
/// there to hear them.
pub fn end_by(signals: &[i32]) {
    if let Some(rescue) = RESCUE.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        && let Ok(found) = modes::prepare(&io::stdin(), &rescue.found)
    {
        // Never given back: a handler may look at it at any time.
        FOUND.store(Box::into_raw(Box::new(found)), Ordering::Release);
    }
    for signal in signals {
        let handler = SigHandler::Handler(put_back_and_end);
        let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
        let Ok(signal) = Signal::try_from(*signal) else { continue };
        // SAFETY: the handler makes only calls that a handler may make.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

extern "C" fn put_back_and_end(signal: libc::c_int) {
    let found = FOUND.load(Ordering::Acquire);
    // SAFETY: these calls may be made in a handler; `found` is nothing or was leaked. The signal is blocked
    // until this returns.
    unsafe {
        if !found.is_null() && matches!(libc::tcgetpgrp(0), group if group == libc::getpgrp() || group == -1)
        {
            libc::ioctl(0, libc::TCSETS2, found);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// The size of the terminal on standard input as it says it, in cells and pixels: 0 is not known, and all of
/// them are 0 where it is no terminal.
pub fn size() -> Size {
    let none = Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    let size = tcgetwinsize(io::stdin()).unwrap_or(none);
    Size { cols: size.ws_col, rows: size.ws_row, xpixel: size.ws_xpixel, ypixel: size.ws_ypixel }
}

/// How many columns a terminal has; `None` if it is not a terminal, or does not say.
pub fn columns(terminal: impl AsFd) -> Option<usize> {
    tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col)).filter(|cols| *cols > 0)
}
