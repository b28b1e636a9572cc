//! The pauses that input needs: some programs lose or join keys that come before they have read or answered
//! the last one.

use std::io;
use std::time::{Duration, Instant};

use nix::libc;

use super::program_wait::WaitFailure;
use super::test_terminal::TestTerminal;
use crate::core::tape::{KeyChord, KeyName};

/// How long most programs wait at most whether a sequence follows a lone Escape.
const ESCAPE_PAUSE: Duration = Duration::from_millis(60);
/// Twenty times the time between two keys that tmux treats as a paste (`assume-paste-time`): what is sent
/// with a pause may be read without one.
const PREFIX_PAUSE: Duration = Duration::from_millis(20);
/// How long a program may take to answer a key before the next input, if no command waits between them.
pub const KEY_ANSWER: Duration = Duration::from_millis(200);
/// How long a program may take to read a key, and how often to check.
const READ_LIMIT: Duration = Duration::from_secs(1);
const READ_LOOK: Duration = Duration::from_millis(2);
/// The same for a single character of a text.
const KEY_LOOK: Duration = Duration::from_micros(200);

/// What the last input of a terminal requires before the next.
#[derive(Debug, Default)]
pub struct LastInput {
    chord: Option<ChordPause>,
    /// It was not text, whose echo would have been awaited.
    is_unanswered: bool,
    /// The current input follows a key that may start a sequence.
    is_after_chord: bool,
}

/// The pause after a key that may start a sequence: the next key of a fast tape must not come while the
/// program waits for the rest.
#[derive(Debug)]
struct ChordPause {
    sent: Instant,
    pause: Duration,
}

impl ChordPause {
    fn after(chord: KeyChord) -> Option<Self> {
        let is_prefix = chord.modifiers.ctrl || chord.modifiers.alt;
        let is_escape = chord == KeyChord::plain(KeyName::Escape);
        let pause = if is_escape { Some(ESCAPE_PAUSE) } else { is_prefix.then_some(PREFIX_PAUSE) };
        pause.map(|pause| ChordPause { sent: Instant::now(), pause })
    }

    fn left(&self) -> Duration {
        self.pause.saturating_sub(self.sent.elapsed())
    }
}

impl TestTerminal {
    /// Call it before the mark of an input: lets the program answer the last key, and takes the pause that a
    /// key needs which may start a sequence.
    ///
    /// Fails when the test is stopped.
    pub fn await_turn(&mut self) -> Result<(), Box<WaitFailure>> {
        let chord = self.last_input.chord.take();
        self.last_input.is_after_chord = chord.is_some();
        if let Some(chord) = chord {
            self.pass_as_program(chord.left())?;
        }
        if std::mem::take(&mut self.last_input.is_unanswered) {
            self.let_answer(KEY_ANSWER)?;
        }
        Ok(())
    }

    /// Notes that the last input was no text: a key, which may start a sequence, or something else.
    pub fn note_unanswered(&mut self, key: Option<KeyChord>) {
        self.last_input.chord = key.and_then(ChordPause::after);
        self.last_input.is_unanswered = true;
    }

    /// Whether the terminal turns these bytes into a signal, which reaches a program that does not read, too.
    pub fn makes_signal(&self, bytes: &[u8]) -> bool {
        self.modes().is_ok_and(|modes| {
            let keys = [libc::VINTR, libc::VQUIT, libc::VSUSP];
            modes.lflag & u64::from(libc::ISIG) != 0
                && keys.iter().any(|key| modes.cc.get(*key).is_some_and(|set| bytes == [*set]))
        })
    }

    /// Types a text without line feeds at once, but to a program that reads single keys character by
    /// character, as it reads them: some know no key in two characters. The first character after a
    /// prefix key is a key of its own, even for a program that treats fast input as a paste.
    ///
    /// Fails when the terminal is gone.
    pub fn type_at_once(&mut self, text: &str) -> io::Result<()> {
        let is_after_chord = std::mem::take(&mut self.last_input.is_after_chord);
        let first = text.chars().next().filter(|_| is_after_chord).map_or(0, char::len_utf8);
        let (first, mut rest) = text.split_at(first);
        // These waits fail when the test is stopped, which the wait for the echo reports.
        if !first.is_empty() {
            self.send(first.as_bytes())?;
            let _ = self.pass_as_program(PREFIX_PAUSE);
        }
        while let Some(c) = rest.chars().next()
            && self.reads_keys()
        {
            let (first, left) = rest.split_at(c.len_utf8());
            self.send(first.as_bytes())?;
            rest = left;
            if !self.let_read(KEY_ANSWER).unwrap_or(false) {
                break;
            }
        }
        if rest.is_empty() { Ok(()) } else { self.send(rest.as_bytes()) }
    }

    /// Lets a time pass that starts when the program has read its input and is idle, so that a busy machine
    /// does not use it up.
    fn pass_as_program(&mut self, pause: Duration) -> Result<(), Box<WaitFailure>> {
        let until = Instant::now() + READ_LIMIT;
        while self.end().is_none()
            && Instant::now() < until
            && (self.has_unread_input() || self.inspect_processes().is_working())
        {
            self.pass(READ_LOOK)?;
        }
        if self.end().is_none() { self.pass(pause) } else { Ok(()) }
    }

    /// Waits until the program has read what was typed, no longer than `limit`, and returns whether it has.
    ///
    /// Fails when the test is stopped.
    pub fn let_read(&mut self, limit: Duration) -> Result<bool, Box<WaitFailure>> {
        let until = Instant::now() + limit;
        while self.has_unread_input() && self.end().is_none() {
            if Instant::now() >= until {
                return Ok(false);
            }
            self.pass(KEY_LOOK)?;
        }
        Ok(true)
    }

    /// Lets the program answer its last input, no longer than `limit`: it has read it, waits for input again,
    /// and none of its processes works, at two looks.
    ///
    /// Fails when the test is stopped.
    pub fn let_answer(&mut self, limit: Duration) -> Result<(), Box<WaitFailure>> {
        let until = Instant::now() + limit;
        let mut was_waiting = false;
        while self.end().is_none() && Instant::now() < until {
            let is_waiting = self.awaits_input();
            if is_waiting && was_waiting {
                break;
            }
            was_waiting = is_waiting;
            self.pass(READ_LOOK)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tape::KeyModifiers;

    #[test]
    fn only_a_key_that_may_begin_something_needs_a_pause() {
        let pause = |chord| ChordPause::after(chord).map(|chord| chord.pause);
        let ctrl = KeyModifiers { ctrl: true, ..KeyModifiers::default() };
        assert_eq!(pause(KeyChord::plain(KeyName::Enter)), None);
        assert_eq!(pause(KeyChord::plain(KeyName::Escape)), Some(ESCAPE_PAUSE));
        assert_eq!(
            pause(KeyChord { modifiers: ctrl, ..KeyChord::plain(KeyName::Enter) }),
            Some(PREFIX_PAUSE)
        );
    }

    #[test]
    fn a_pause_that_has_passed_is_not_waited_for_again() {
        let mut chord = ChordPause::after(KeyChord::plain(KeyName::Escape)).unwrap();
        assert!(chord.left() <= ESCAPE_PAUSE);
        chord.sent -= ESCAPE_PAUSE;
        assert_eq!(chord.left(), Duration::ZERO);
    }
}
