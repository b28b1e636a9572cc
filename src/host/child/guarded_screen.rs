//! A screen behind a guard: a panic in it only switches the screen off.
//!
//! The host can only reach a [`Screen`] through this guard: it is private here, and callers pass a closure,
//! whose result they get unless the screen has failed. Whether the screen or the closure panics makes no
//! difference: neither is trusted afterwards. Only stored numbers can be read without the guard.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::screen::Screen;

/// A screen as long as it works.
#[derive(Debug)]
pub(in crate::host) struct GuardedScreen(Result<Screen, Remains>);

/// The data kept of a screen that failed.
#[derive(Debug)]
struct Remains {
    size: (u16, u16),
    revision: u64,
    undo: Vec<u8>,
}

impl GuardedScreen {
    /// A fresh screen with this many columns and rows.
    pub fn new((cols, rows): (u16, u16)) -> Self {
        GuardedScreen(Ok(Screen::new(cols, rows)))
    }

    /// The result of `look` on the screen; `None` if the screen is switched off, or panics now and is
    /// switched off.
    pub fn look<T>(&mut self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        self.change(|screen| {
            crate::sys::fault_injection::panic_at("look");
            look(screen)
        })
    }

    /// [`GuardedScreen::look`] with a closure that changes the screen.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Screen) -> T) -> Option<T> {
        let screen = self.0.as_mut().ok()?;
        let done = catch_unwind(AssertUnwindSafe(|| change(screen))).ok();
        if done.is_none() {
            self.switch_off();
        }
        done
    }

    /// Switches the screen off after a panic.
    pub fn switch_off(&mut self) {
        let Ok(screen) = &self.0 else { return };
        // The modes that are set now must still be undone; later ones are unknown.
        let undo =
            catch_unwind(AssertUnwindSafe(|| [screen.ending(), &screen.undo()].concat())).unwrap_or_default();
        self.0 = Err(Remains { size: screen.size(), revision: screen.revision() + 1, undo });
    }

    pub fn is_off(&self) -> bool {
        self.0.is_err()
    }

    /// The sequences that undo the modes set when it failed; `None` while it works.
    pub fn last_undo(&self) -> Option<&[u8]> {
        self.0.as_ref().err().map(|remains| remains.undo.as_slice())
    }

    /// Sets the size in columns and rows, even of a screen that is switched off.
    pub fn resize(&mut self, (cols, rows): (u16, u16)) {
        self.change(|screen| {
            crate::sys::fault_injection::panic_at("resize");
            screen.resize(cols, rows);
        });
        if let Err(remains) = &mut self.0 {
            remains.size = (cols, rows);
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.0.as_ref().map_or_else(|remains| remains.size, Screen::size)
    }

    /// Increases whenever the screen looks different ([`Screen::revision`]), and when it fails.
    pub fn revision(&self) -> u64 {
        self.0.as_ref().map_or_else(|remains| remains.revision, Screen::revision)
    }

    /// Increases when the undo may have changed ([`Screen::undo_revision`]).
    pub fn undo_revision(&self) -> u64 {
        self.0.as_ref().map_or(u64::MAX, Screen::undo_revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded(bytes: &[u8]) -> GuardedScreen {
        let mut guarded = GuardedScreen::new((10, 2));
        guarded.change(|screen| screen.feed(bytes));
        guarded
    }

    #[test]
    fn who_looks_gets_what_is_there() {
        let mut guarded = guarded(b"abc");
        assert_eq!(guarded.look(|screen| screen.lines()[0].clone()).as_deref(), Some("abc"));
        assert_eq!((guarded.is_off(), guarded.last_undo()), (false, None));
    }

    #[test]
    fn a_panic_costs_the_screen_and_nothing_else() {
        let mut guarded = guarded(b"abc\x1b[?2004h\x1b]2;half");
        let revision = guarded.revision();
        assert_eq!(guarded.look(|_| -> u8 { panic!("wanted") }), None);
        assert!(guarded.is_off() && guarded.revision() > revision);
        assert_eq!(guarded.last_undo(), Some(&b"\x18\x1b\\\x1b[?2004l"[..]));
        let (revision, mut asked) = (guarded.revision(), false);
        assert_eq!(guarded.change(|_| asked = true), None);
        guarded.resize((7, 3));
        guarded.switch_off();
        assert_eq!((asked, guarded.revision(), guarded.size()), (false, revision, (7, 3)));
    }
}
