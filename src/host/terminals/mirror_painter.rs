//! A mirror: a picture of the session on a terminal that does not get the child's bytes, because of its size
//! or because its client is not the leader.
//!
//! Modes that make a terminal report (mouse, focus) stay off, because the reports are not read.

use super::scene::ScreenRevision;
use crate::core::terminal::Size;
use crate::core::text::word_wrap::wrap_message;
use crate::core::time::Stamp;
use crate::host::child::GuardedScreen;
use crate::screen::{Mirror, Screen};

/// The least time between two pictures, in ms.
const MIRROR_FRAME_MS: u64 = 16;

/// Draws the mirror of one terminal, and decides when the next picture is due.
#[derive(Debug)]
pub(in crate::host) struct MirrorPainter {
    shadow: GuardedScreen,
    mirror: Mirror,
    /// The screen that was drawn last.
    drawn: Option<ScreenRevision>,
    at: Stamp,
}

impl MirrorPainter {
    /// For a terminal of this size without any of the program's modes, and the first bytes for it.
    pub fn new(size: Size) -> (Self, Vec<u8>) {
        let start = Mirror::START.as_bytes().to_vec();
        let mut shadow = GuardedScreen::new(size.drawn());
        shadow.change(|shadow| shadow.feed(&start));
        (MirrorPainter { shadow, mirror: Mirror::default(), drawn: None, at: Stamp(0) }, start)
    }

    /// Whether it was made for this size.
    pub fn fits(&self, size: Size) -> bool {
        self.shadow.size() == size.drawn()
    }

    /// When the next picture is due; `now` is the current screen.
    pub fn due(&self, now: ScreenRevision) -> Option<Stamp> {
        match self.drawn {
            None => Some(Stamp(0)),
            Some(drawn) => (drawn != now).then(|| self.at.after(MIRROR_FRAME_MS)),
        }
    }

    /// The bytes that make the terminal show the screen, or the part of it around the cursor. `None`: the
    /// terminal's content is no longer known.
    pub fn draw(&mut self, screen: &Screen, run: u32, now: Stamp) -> Option<Vec<u8>> {
        (self.drawn, self.at) = (Some(ScreenRevision { run, revision: screen.revision() }), now);
        let mirror = &mut self.mirror;
        self.shadow.change(|shadow| mirror.draw(shadow, shadow.size().1, screen))
    }

    /// The bytes that make the terminal show a text instead of the screen; `now` is the current screen.
    pub fn draw_text(&mut self, text: &str, now: ScreenRevision) -> Vec<u8> {
        self.drawn = Some(now);
        let text = wrap_message(text, usize::from(self.shadow.size().0)).replace('\n', "\r\n");
        let sent = format!("\x1b[m\x1b[H\x1b[2J{text}").into_bytes();
        self.shadow.change(|shadow| shadow.feed(&sent));
        sent
    }

    /// The bytes that undo the modes that the mirror has set.
    pub fn undo(&mut self) -> Vec<u8> {
        let undo = self.shadow.look(Screen::undo);
        undo.unwrap_or_else(|| self.shadow.last_undo().unwrap_or_default().to_vec())
    }

    /// Increases whenever the undo may have changed.
    pub fn undo_revision(&self) -> u64 {
        self.shadow.undo_revision()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::TerminalMode;

    #[test]
    fn a_picture_is_due_when_the_screen_has_changed() {
        let mut screen = Screen::new(20, 6);
        let (mut painter, start) = MirrorPainter::new(Size::cells(20, 6));
        let mut terminal = Screen::new(20, 6);
        terminal.feed(&start);
        screen.feed(b"text\x1b[?2004h\x1b[?1000h");
        let now = ScreenRevision { run: 1, revision: screen.revision() };
        assert_eq!(painter.due(now), Some(Stamp(0)));
        terminal.feed(&painter.draw(&screen, 1, Stamp(9)).unwrap());
        assert_eq!(terminal.lines()[0], "text");
        assert!(!terminal.is_on(TerminalMode::MouseButtons), "nobody reads the reports");
        assert_eq!(painter.due(now), None);
        assert_eq!(painter.due(ScreenRevision { run: 2, revision: 0 }), Some(Stamp(9 + MIRROR_FRAME_MS)));
        assert_eq!(painter.draw(&screen, 1, Stamp(9)), Some(Vec::new()));
        terminal.feed(&painter.undo());
        assert_eq!((terminal.modes(), terminal.alternate()), (vec![], false));
    }
}
