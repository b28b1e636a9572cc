//! Raw mode of the person's terminal: restored on leaving and in a panic, and never changed from the
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

/// What a panic must restore: the modes, and the program's escape sequences if no other process does it.
static RESCUE: Mutex<Option<Rescue>> = Mutex::new(None);

/// Ends a sequence or a string that may have been cut off, and does nothing otherwise: CAN, and ST for
/// terminals whose strings cannot be cancelled.
pub const END_OF_ANYTHING: &[u8] = b"\x18\x1b\\";

/// The modes before raw mode, for a signal handler.
static MODES_BEFORE: AtomicPtr<libc::termios2> = AtomicPtr::new(std::ptr::null_mut());

static PANIC_MESSAGE: Mutex<Option<String>> = Mutex::new(None);

struct Rescue {
    modes_before: Modes,
    undo: Vec<u8>,
}

/// The terminal is raw as long as this lives.
#[derive(Debug)]
pub struct RawMode {
    modes_before: Modes,
    raw: Modes,
    is_on: bool,
}

impl RawMode {
    /// Makes the terminal on standard input raw, as soon as this process may.
    pub fn enter() -> io::Result<Self> {
        wait_for_foreground();
        let modes_before = modes::read(&io::stdin())?;
        *RESCUE.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Rescue { modes_before: modes_before.clone(), undo: Vec::new() });
        if terminal::is_raw_mode_enabled()? {
            // crossterm remembers an earlier call and would do nothing now.
            terminal::disable_raw_mode()?;
            modes::set(&io::stdin(), &modes_before)?;
        }
        terminal::enable_raw_mode()?;
        let raw = modes::read(&io::stdin())?;
        Ok(RawMode { modes_before, raw, is_on: true })
    }

    /// Whether the terminal is raw now, not suspended.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// The modes before raw mode.
    pub fn modes_before(&self) -> &Modes {
        &self.modes_before
    }

    /// The modes while it is raw.
    pub fn raw_modes(&self) -> &Modes {
        &self.raw
    }

    /// Until [`RawMode::resume`]: no echo and no line editing, but Ctrl+C ends programs and line ends are
    /// translated.
    pub fn enter_cbreak(&mut self) -> io::Result<()> {
        let mut cbreak = Modes { oflag: self.modes_before.oflag, ..self.raw.clone() };
        cbreak.lflag |= u64::from(libc::ISIG);
        // Not Ctrl+Z: a stop now would leave the shell with these modes.
        if let Some(stop) = cbreak.cc.get_mut(libc::VSUSP) {
            *stop = 0;
        }
        modes::set(&io::stdin(), &cbreak)
    }

    /// Restores the modes, for a pause or for good.
    pub fn suspend(&mut self) {
        if std::mem::take(&mut self.is_on) && in_foreground() {
            let _ = modes::set(&io::stdin(), &self.modes_before);
        }
    }

    /// Back to raw mode after a pause. In the background this stops the process (SIGTTOU) until the shell has
    /// put it into the foreground.
    pub fn resume(&mut self) -> io::Result<()> {
        modes::set(&io::stdin(), &self.raw)?;
        self.is_on = true;
        // Input that was left for the shell has reached it by now.
        unread_input::forget();
        Ok(())
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if self.is_on && in_foreground() {
            unread_input::give(&self.modes_before);
        }
        self.suspend();
        *RESCUE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether this process may set its terminal without being stopped for it. True without job control.
pub fn in_foreground() -> bool {
    nix::unistd::tcgetpgrp(io::stdin()).map_or(true, |group| group == nix::unistd::getpgrp())
}

/// Whether standard input and output are the same terminal, under whatever names.
pub fn is_one_terminal() -> bool {
    let device = |fd: std::os::fd::BorrowedFd<'_>| nix::sys::stat::fstat(fd).map(|stat| stat.st_rdev).ok();
    // Only the controlling terminal reports its foreground group, and a process has only one, even under the
    // name /dev/tty.
    match (nix::unistd::tcgetpgrp(io::stdin()), nix::unistd::tcgetpgrp(io::stdout())) {
        (Ok(_), Ok(_)) => true,
        (Err(_), Err(_)) => device(io::stdin().as_fd()) == device(io::stdout().as_fd()),
        _ => false,
    }
}

/// In the background this stops the process (SIGTTOU) until the shell puts its job into the foreground:
/// before that the modes are those of the shell's line editor.
pub fn wait_for_foreground() {
    while ask_for_foreground().is_err_and(|e| e.kind() == io::ErrorKind::Interrupted) {}
}

/// [`wait_for_foreground`] for a caller with signal handlers: each signal that interrupts a call ends the
/// wait.
///
/// # Errors
/// `Interrupted`; another if no shell could continue this process, or the terminal is gone.
pub fn ask_for_foreground() -> io::Result<()> {
    // Waits for the foreground with a call that changes nothing. It also waits for pending output, so it is
    // made only in the background.
    if in_foreground() { Ok(()) } else { Ok(nix::sys::termios::tcdrain(io::stdin())?) }
}

/// What a panic writes besides restoring the modes; empty if the host does it.
pub fn set_rescue(undo: &[u8]) {
    if let Some(rescue) = RESCUE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        rescue.undo = undo.to_vec();
    }
}

/// From here on a panic restores the terminal. While it is raw nothing is printed, because another screen may
/// still be shown: the message is kept for [`last_words`].
pub fn restore_on_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Does not wait: the panic may have happened while it was locked.
        let Ok(rescue) = RESCUE.try_lock() else { return say(panic) };
        let Some(rescue) = rescue.as_ref() else { return say(panic) };
        if !rescue.undo.is_empty() {
            let _ = io::stdout().write_all(END_OF_ANYTHING);
            let _ = io::stdout().write_all(&rescue.undo);
        }
        let _ = io::stdout().flush();
        let _ = modes::set(&io::stdin(), &rescue.modes_before);
        if let Ok(mut words) = PANIC_MESSAGE.try_lock() {
            *words = Some(panic.to_string());
        }
    }));
}

/// The message of a panic while the terminal was raw.
pub fn last_words() -> Option<String> {
    PANIC_MESSAGE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// From here on these signals restore the modes and end this process, whatever it waits for: nothing else
/// handles them.
pub fn end_by(signals: &[i32]) {
    if let Some(rescue) = RESCUE.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        && let Ok(found) = modes::prepare(&io::stdin(), &rescue.modes_before)
    {
        // Never freed: a handler may read it at any time.
        MODES_BEFORE.store(Box::into_raw(Box::new(found)), Ordering::Release);
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
    let found = MODES_BEFORE.load(Ordering::Acquire);
    // SAFETY: these calls are allowed in a handler; `found` is null or was leaked. The signal is blocked
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

/// The size of the terminal on standard input, in cells and pixels, as it reports it: 0 is unknown, and all
/// are 0 without a terminal.
pub fn size() -> Size {
    let none = Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    let size = tcgetwinsize(io::stdin()).unwrap_or(none);
    Size { cols: size.ws_col, rows: size.ws_row, xpixel: size.ws_xpixel, ypixel: size.ws_ypixel }
}

/// How many columns a terminal has; `None` if it is not a terminal or does not know.
pub fn columns(terminal: impl AsFd) -> Option<usize> {
    tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col)).filter(|cols| *cols > 0)
}
