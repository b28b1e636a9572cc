//! The window of a paused test: `hopty __pause-window SOCKET`, the program of a session that a person
//! attaches to.
//!
//! It draws the screen of the test at the top left of its terminal, whatever the terminal's size, sets the
//! modes that change what keys send, and passes the keys on. Ctrl+] ends it, and with it the pause.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::libc;
use serde_json::Value;

use crate::core::text::visible::visible;
use crate::screen::{Mirror, Screen};
use crate::sys::fd::read_some;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::Signals;
use crate::tty::full_screen::{FullScreen, SIGNALS, write};
use crate::tty::raw;

/// Ctrl+], from an ordinary terminal and from one with the kitty keyboard protocol.
const END_KEYS: [&[u8]; 2] = [b"\x1d", b"\x1b[93;5u"];
#[derive(Clone, Copy, PartialEq)]
enum PauseToken {
    Test,
    Keys,
    Signal,
}

/// Runs the window until the person or the test ends it.
///
/// # Errors
/// When there is no terminal, or no test at the socket.
pub fn run(socket: &Path) -> io::Result<()> {
    let mut test = UnixStream::connect(socket)?;
    let mut lines = BufReader::new(test.try_clone()?);
    let mut signals = Signals::catch(&SIGNALS)?;
    let mut terminal = FullScreen::enter(b"", b"")?;
    let mut painter = WindowPainter::new(raw::size().drawn());
    let mut picture = None;
    let result = loop {
        let mut set = PollSet::default();
        let (input, keyboard) = (io::stdin(), test.try_clone()?);
        set.add(PauseToken::Test, keyboard.as_fd(), Interest::Read);
        set.add(PauseToken::Keys, input.as_fd(), Interest::Read);
        set.add(PauseToken::Signal, signals.as_fd(), Interest::Read);
        let ready = set.wait(None).unwrap_or_default();
        let is = |wanted| ready.iter().any(|(ready, _)| *ready == wanted);
        if is(PauseToken::Test) {
            match read_latest(&mut lines) {
                Ok(Some(latest)) => picture = Some(latest),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        }
        if is(PauseToken::Signal) {
            let came = signals.take();
            if came.iter().any(|signal| ![libc::SIGWINCH, libc::SIGCONT].contains(signal)) {
                break Ok(());
            }
            // Everything is redrawn, including the modes.
            terminal.resume()?;
            painter = WindowPainter::new(raw::size().drawn());
        }
        if is(PauseToken::Keys) {
            let mut typed = [0; 4096];
            let length = read_some(&io::stdin(), &mut typed)?.unwrap_or(0);
            let typed = &typed[..length];
            let end = END_KEYS.iter().find_map(|key| memchr::memmem::find(typed, key));
            test.write_all(&typed[..end.unwrap_or(length)])?;
            if length == 0 || end.is_some() {
                break Ok(());
            }
        }
        if let Some(picture) = &picture {
            let bytes = painter.draw(picture);
            terminal.set_undo(painter.end());
            write(&bytes)?;
        }
    };
    terminal.leave()?;
    result
}

/// The screen of the test, and a note below it.
struct TestPicture {
    screen: Screen,
    note: String,
}

/// Reads the last of the screens that have arrived.
fn read_latest(lines: &mut BufReader<UnixStream>) -> io::Result<Option<TestPicture>> {
    loop {
        let picture = read_picture(lines)?;
        if picture.is_none() || lines.buffer().is_empty() {
            return Ok(picture);
        }
    }
}

/// Reads the next screen; `None` at the end of the test.
fn read_picture(lines: &mut impl BufRead) -> io::Result<Option<TestPicture>> {
    let mut line = String::new();
    if lines.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let told: Value = serde_json::from_str(&line)?;
    let side = |name: &str| told[name].as_u64().and_then(|side| u16::try_from(side).ok()).unwrap_or(1);
    let mut screen = Screen::new(side("cols"), side("rows"));
    screen.feed(told["dump"].as_str().unwrap_or_default().as_bytes());
    let note = visible(told["note"].as_str().unwrap_or_default());
    Ok(Some(TestPicture { screen, note }))
}

/// Draws the mirror of the test's screen with the note below it.
struct WindowPainter {
    /// The content of the terminal.
    shadow: Screen,
    mirror: Mirror,
    is_started: bool,
}

impl WindowPainter {
    fn new((cols, rows): (u16, u16)) -> Self {
        WindowPainter { shadow: Screen::new(cols, rows), mirror: Mirror::with_reports(), is_started: false }
    }

    /// The bytes that show a picture.
    fn draw(&mut self, picture: &TestPicture) -> Vec<u8> {
        let TestPicture { screen, note } = picture;
        let (cols, rows) = self.shadow.size();
        let mut out = String::new();
        if !std::mem::replace(&mut self.is_started, true) {
            out.push_str(Mirror::START);
        }
        if rows > screen.size().1 {
            let note: String = note.chars().take(usize::from(cols)).collect();
            out.push_str(&format!("\x1b[{rows};1H\x1b[m\x1b[2K\x1b[7m{note}\x1b[m"));
        }
        self.shadow.feed(out.as_bytes());
        let mut bytes = out.into_bytes();
        bytes.extend(self.mirror.draw(&mut self.shadow, rows.min(screen.size().1), screen));
        bytes
    }

    /// The bytes that restore the terminal.
    fn end(&self) -> Vec<u8> {
        self.shadow.undo()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::TerminalMode;

    fn picture(bytes: &str) -> TestPicture {
        let mut screen = Screen::new(10, 3);
        screen.feed(bytes.as_bytes());
        TestPicture { screen, note: "paused".to_owned() }
    }

    #[test]
    fn the_window_shows_the_screen_whatever_its_own_size() {
        for (size, wanted) in [
            ((20, 5), &["one", "two", "three", "", "paused"][..]),
            ((10, 3), &["one", "two", "three"]),
            ((4, 2), &["o", "ree"]),
        ] {
            let mut painter = WindowPainter::new(size);
            painter.draw(&picture("one\r\ntwo\r\nthree"));
            assert_eq!(painter.shadow.lines(), wanted, "{size:?}");
        }
    }

    #[test]
    fn modes_follow_the_program_and_are_undone() {
        let mut painter = WindowPainter::new((20, 5));
        painter.draw(&picture("\x1b[?1h\x1b[?1000;1006;2004h"));
        assert!(
            painter.shadow.is_on(TerminalMode::CursorKeys) && painter.shadow.is_on(TerminalMode::MouseSgr)
        );
        painter.draw(&picture("\x1b[?1000h"));
        assert!(!painter.shadow.is_on(TerminalMode::CursorKeys));
        let end = String::from_utf8(painter.end()).unwrap();
        assert!(end.contains("\x1b[?1000l") && end.contains("\x1b[?1049l"), "{end:?}");
    }

    #[test]
    fn only_rows_that_changed_are_drawn_again() {
        let mut painter = WindowPainter::new((20, 5));
        painter.draw(&picture("one\r\ntwo"));
        let again = String::from_utf8(painter.draw(&picture("one\r\nTWO"))).unwrap();
        assert!(again.contains("TWO") && !again.contains("one"), "{again:?}");
    }

    #[test]
    fn a_screen_is_read_as_it_was_sent() {
        let line = "{\"cols\":10,\"rows\":2,\"dump\":\"hi\\u001b[2;1H\",\"note\":\"a\\u001bb\"}\n";
        let told = read_picture(&mut line.as_bytes()).unwrap().unwrap();
        assert_eq!(
            (told.screen.lines(), told.screen.size()),
            (vec!["hi".to_owned(), String::new()], (10, 2))
        );
        assert!(!told.note.contains('\x1b'));
        assert!(read_picture(&mut &b""[..]).unwrap().is_none());
    }
}
