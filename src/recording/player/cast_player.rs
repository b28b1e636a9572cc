//! The loop of the player: keys, signals and time.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::libc;

use super::player_state::PlayerOptions;
use super::player_state::{PlayerAction, PlayerState};
use super::player_view::{PlayerPicture, PlayerViewport};
use crate::core::input::plain_keys::PlainKey;
use crate::recording::svg::theme_of;
use crate::recording::timeline::Timeline;
use crate::screen::PictureLines;
use crate::sys::clock::Clock;
use crate::sys::fault_injection;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::{END_SIGNALS, Signals};
use crate::tty::full_screen::{self, BEGIN, FullScreen, UNDO, changed_rows, write};
use crate::tty::page_keys::PageKeys;

/// The least time between two pictures, in ms.
const PICTURE_MS: u64 = 8;
/// How long to wait for the end of a synchronized update, in µs.
const DRAWING_US: u64 = 150_000;
/// How many file names are tried.
const NAMES_MAX: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerEnd {
    /// By a key, or at the end of the recording.
    Quit,
    /// By a signal; a terminal that is gone counts as SIGHUP.
    Signal(i32),
}

/// Plays a recording in the terminal on standard input and output. Files that a person saves are named after
/// `stem`.
pub fn run(timeline: &Timeline, options: PlayerOptions, stem: &str) -> io::Result<PlayerEnd> {
    let others = [libc::SIGWINCH, libc::SIGCONT, libc::SIGTSTP];
    let caught: Vec<i32> = END_SIGNALS.into_iter().chain(others).collect();
    let signals = Signals::catch(&caught)?;
    let full_screen = if options.raw { FullScreen::enter(b"", b"") } else { FullScreen::enter(BEGIN, UNDO) }?;
    let clock = Clock::start();
    let mut player = Player {
        state: PlayerState::new(timeline, options, clock.micros()),
        clock,
        signals,
        full_screen,
        keys: PageKeys::new(),
        viewport: PlayerViewport::default(),
        drawn: PlayerPicture::default(),
        drawn_us: 0,
        undo_revision: 0,
        stem,
    };
    player.forget_drawn();
    let end = player.turn_until_end();
    let given_back = player.give_terminal_back();
    let end = end?;
    if end == PlayerEnd::Quit {
        given_back?;
    }
    Ok(end)
}

struct Player<'a> {
    state: PlayerState<'a>,
    clock: Clock,
    signals: Signals,
    full_screen: FullScreen,
    keys: PageKeys,
    viewport: PlayerViewport,
    /// The picture on the terminal.
    drawn: PlayerPicture,
    drawn_us: u64,
    /// The revision of the recorded terminal's state for which a panic is prepared, in raw mode.
    undo_revision: u64,
    stem: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlayerSource {
    Keys,
    Signals,
}

impl Player<'_> {
    fn turn_until_end(&mut self) -> io::Result<PlayerEnd> {
        loop {
            let ended = self.state.tick(self.clock.micros());
            self.draw()?;
            if ended && self.state.is_raw() {
                return Ok(PlayerEnd::Quit);
            }
            let ready = self.wait()?;
            if ready.contains(&PlayerSource::Signals)
                && let Some(end) = self.take_signals()?
            {
                return Ok(end);
            }
            let Some(keys) = self.keys.read(ready.contains(&PlayerSource::Keys))? else {
                return Ok(PlayerEnd::Signal(libc::SIGHUP));
            };
            for key in keys {
                if let Some(end) = self.take_key(key)? {
                    return Ok(end);
                }
            }
        }
    }

    fn wait(&mut self) -> io::Result<Vec<PlayerSource>> {
        let now = self.clock.micros();
        let timeout = self.state.next_due(now).map(|due| match due.saturating_sub(now).div_ceil(1000) {
            0 if !self.state.is_playing() => 0,
            ms => ms.max(PICTURE_MS),
        });
        let mut set = PollSet::default();
        self.keys.register(&mut set, PlayerSource::Keys);
        set.add(PlayerSource::Signals, self.signals.as_fd(), Interest::Read);
        Ok(set.wait(self.keys.timeout(timeout))?.into_iter().map(|(source, _)| source).collect())
    }

    fn take_signals(&mut self) -> io::Result<Option<PlayerEnd>> {
        for signal in self.signals.take() {
            match signal {
                libc::SIGCONT => self.resume()?,
                libc::SIGTSTP => {
                    if let Some(end) = self.suspend()? {
                        return Ok(Some(end));
                    }
                }
                libc::SIGWINCH => self.forget_drawn(),
                ends => return Ok(Some(PlayerEnd::Signal(ends))),
            }
        }
        Ok(None)
    }

    fn take_key(&mut self, key: PlainKey) -> io::Result<Option<PlayerEnd>> {
        match self.state.key(key, self.clock.micros()) {
            None => {}
            Some(PlayerAction::Quit) => return Ok(Some(PlayerEnd::Quit)),
            Some(PlayerAction::Redraw) => {
                fault_injection::panic_at("player");
                self.forget_drawn();
            }
            Some(PlayerAction::Suspend) => return self.suspend(),
            Some(PlayerAction::Save) => {
                let words = self.save().unwrap_or_else(|error| format!("not saved: {error}"));
                self.state.say(words, self.clock.micros());
            }
            Some(PlayerAction::Raw) => {
                self.change_way()?;
            }
        }
        Ok(None)
    }

    /// Draws what differs from the terminal's content.
    fn draw(&mut self) -> io::Result<()> {
        if self.state.is_raw() {
            let bytes = self.state.take_raw();
            let revision = self.state.moment().screen().undo_revision();
            if revision != self.undo_revision {
                self.full_screen.set_undo(self.raw_undo());
                self.undo_revision = revision;
            }
            return write(&bytes);
        }
        let now = self.clock.micros();
        if self.state.is_playing()
            && self.state.moment().screen().is_drawing()
            && now.saturating_sub(self.drawn_us) < DRAWING_US
        {
            return Ok(());
        }
        self.drawn_us = now;
        let picture = self.viewport.draw(&self.state, full_screen::size(), now);
        if picture == self.drawn {
            return Ok(());
        }
        let mut bytes = b"\x1b[?2026h\x1b[?25l".to_vec();
        bytes.extend_from_slice(changed_rows(&self.drawn.rows, &picture.rows).as_bytes());
        if let Some((col, row)) = picture.cursor {
            bytes.extend_from_slice(format!("\x1b[{};{}H\x1b[?25h", row + 1, col + 1).as_bytes());
        }
        bytes.extend_from_slice(b"\x1b[?2026l");
        self.drawn = picture;
        write(&bytes)
    }

    /// Forces the next picture to be drawn completely.
    fn forget_drawn(&mut self) {
        self.drawn = PlayerPicture::default();
        self.drawn_us = 0;
        self.state.forget_raw();
    }

    /// Switches between drawing the recording and writing its bytes.
    fn change_way(&mut self) -> io::Result<()> {
        self.forget_drawn();
        self.undo_revision = 0;
        if self.state.is_raw() {
            return self.full_screen.change(b"", self.raw_undo());
        }
        self.full_screen.set_undo(self.raw_undo());
        self.full_screen.change(BEGIN, UNDO.to_vec())
    }

    /// Restores the terminal, for a pause or for good.
    fn give_terminal_back(&mut self) -> io::Result<()> {
        if self.state.is_raw() {
            self.full_screen.set_undo(self.raw_undo());
        }
        self.full_screen.leave()
    }

    /// The bytes that undo the recorded program's sequences and put the cursor on a line of its own.
    fn raw_undo(&self) -> Vec<u8> {
        let screen = self.state.moment().screen();
        let mut undo = [screen.ending(), screen.undo().as_slice()].concat();
        if screen.cursor().col > 0 {
            undo.extend_from_slice(b"\r\n");
        }
        undo
    }

    fn suspend(&mut self) -> io::Result<Option<PlayerEnd>> {
        self.give_terminal_back()?;
        self.full_screen.stop()?;
        // SIGCONT is handled by the pause.
        if let Some(signal) = self.signals.take().into_iter().find(|signal| END_SIGNALS.contains(signal)) {
            return Ok(Some(PlayerEnd::Signal(signal)));
        }
        self.resume()?;
        Ok(None)
    }

    /// Takes the terminal again after a pause.
    fn resume(&mut self) -> io::Result<()> {
        if self.state.is_raw() {
            self.full_screen.set_undo(self.raw_undo());
        }
        self.full_screen.resume()?;
        self.forget_drawn();
        Ok(())
    }

    /// Writes the screen as SVG and as text; returns a message with the file names.
    fn save(&self) -> io::Result<String> {
        let moment = self.state.moment();
        let screen = moment.screen();
        let at = moment.at_us() / 1000;
        let stem = format!("{}-{}.{:03}s", self.stem, at / 1000, at % 1000);
        let svg = write_new(
            &stem,
            "svg",
            screen.themed_svg(PictureLines::Screen, &theme_of(moment.timeline())).as_bytes(),
        )?;
        let text = write_new(&stem, "txt", screen.text(PictureLines::Screen).as_bytes())?;
        Ok(format!("saved {} and {}", svg.display(), text.display()))
    }
}

impl Drop for Player<'_> {
    fn drop(&mut self) {
        // In a panic the hook has already restored everything.
        if !std::thread::panicking() {
            let _ = self.give_terminal_back();
        }
    }
}

/// Writes a file in the current directory under an unused name.
fn write_new(stem: &str, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=NAMES_MAX {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = PathBuf::from(format!("{stem}{number}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("there are {NAMES_MAX} files of that name")))
}
