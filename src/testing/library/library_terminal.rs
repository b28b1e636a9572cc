//! [`Terminal`]: a program in a terminal of its own, for one test in Rust.

use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::style_check::StyleCheck;
use super::terminal_builder::TerminalBuilder;
use super::test_failure::{TestFailure, TestResult};
use crate::core::cast::CastEvent;
use crate::core::process_change::ProcessEnd;
use crate::core::tape::KeyChord;
use crate::testing::fresh_text_watch::TestMark;
use crate::testing::input;
use crate::testing::isolation::TestDirs;
use crate::testing::look::{Look, ScreenArea, TextPattern};
use crate::testing::outcome::{FailureKind, ScreenCopy, TapeFailure, TestTimes};
use crate::testing::processes::end_words;
use crate::testing::program_wait::{SettleRules, WaitEnd, WaitFailure};
use crate::testing::redaction::TapeRedactions;
use crate::testing::snapshot::snapshot_store::{SnapshotMode, SnapshotStore};
use crate::testing::snapshot::{PendingSnapshot, ScreenSnapshot, SnapshotParts};
use crate::testing::test_terminal::TestTerminal;

/// How long typed text may take to appear.
const ECHO_LIMIT: Duration = Duration::from_secs(2);

/// A program in a terminal of its own, for one test.
pub struct Terminal {
    pub(super) terminal: TestTerminal,
    pub(super) dirs: TestDirs,
    pub(super) mark: TestMark,
    pub(super) limit: Duration,
    /// The test's name: the name of its snapshots and evidence.
    pub(super) name: String,
    pub(super) command: String,
    /// Columns and rows at the start.
    pub(super) size: (u16, u16),
    pub(super) root: PathBuf,
    pub(super) keys: Vec<String>,
    pub(super) redactions: TapeRedactions,
    pub(super) snapshots: Option<SnapshotStore>,
    pub(super) events: Arc<Mutex<Vec<CastEvent>>>,
}

impl Terminal {
    /// A program to start: a path, or a name in `PATH`. With cargo use `env!("CARGO_BIN_EXE_name")`.
    #[allow(clippy::new_ret_no_self, reason = "it reads as one sentence: Terminal::new(program).start()")]
    pub fn new(program: impl Into<std::ffi::OsString>) -> TerminalBuilder {
        TerminalBuilder::new(program.into())
    }

    /// The directory in which the program runs.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dirs.dir()
    }

    /// The current screen.
    #[must_use]
    pub fn screen(&self) -> ScreenCopy {
        ScreenCopy::of(self.terminal.screen())
    }

    /// Waits until `what`, a text or a [`Regex`](regex::Regex), has appeared on the screen since the last
    /// input.
    ///
    /// # Errors
    /// When it does not appear in time, or the program ends first.
    #[track_caller]
    pub fn expect(&mut self, what: impl Into<TextPattern>) -> TestResult<&mut Self> {
        self.expect_in(ScreenArea::All, what)
    }

    /// [`Terminal::expect`] in one part of the screen.
    ///
    /// # Errors
    /// As [`Terminal::expect`].
    #[track_caller]
    pub fn expect_in(&mut self, area: ScreenArea, what: impl Into<TextPattern>) -> TestResult<&mut Self> {
        let look = Look::on_screen(what.into()).within(area);
        let words = format!("expect {}", pattern_words(&look.pattern));
        let found = self.terminal.expect(&look, &self.mark, self.limit);
        self.waited(&words, found.map(drop), Location::caller())
    }

    /// Waits until `what` is on the screen, even if it was there before the last input.
    ///
    /// # Errors
    /// As [`Terminal::expect`].
    #[track_caller]
    pub fn wait_for(&mut self, what: impl Into<TextPattern>) -> TestResult<&mut Self> {
        let look = Look::on_screen(what.into());
        let words = format!("wait_for {}", pattern_words(&look.pattern));
        let found = self.terminal.wait_for(&look, &self.mark, self.limit);
        self.waited(&words, found.map(drop), Location::caller())
    }

    /// Waits until `what` is no longer on the screen. If it is not there at first, waits for the program's
    /// answer to the last input.
    ///
    /// # Errors
    /// As [`Terminal::expect`].
    #[track_caller]
    pub fn gone(&mut self, what: impl Into<TextPattern>) -> TestResult<&mut Self> {
        let look = Look::on_screen(what.into());
        let words = format!("gone {}", pattern_words(&look.pattern));
        let gone = self.terminal.gone(&look, &self.mark, SettleRules::default().quiet, self.limit);
        self.waited(&words, gone.map(drop), Location::caller())
    }

    /// Waits until nothing on the screen changes and the program is idle.
    ///
    /// # Errors
    /// When it does not settle in time; the message names the rows that kept changing.
    #[track_caller]
    pub fn settle(&mut self) -> TestResult<&mut Self> {
        let settled = self.terminal.settle(&SettleRules::default(), self.limit);
        self.waited("settle", settled, Location::caller())
    }

    /// Types a text and waits until the program shows it. A line feed is Enter, an input of its own: what was
    /// typed before it is no answer.
    ///
    /// # Errors
    /// When the terminal is gone, or the program has ended.
    #[track_caller]
    pub fn type_text(&mut self, text: &str) -> TestResult<&mut Self> {
        let (words, at) = (format!("type_text {text:?}"), Location::caller());
        self.keys.extend(text.chars().map(|c| match c {
            ' ' => "Space".to_owned(),
            '\n' => "Enter".to_owned(),
            c => c.to_string(),
        }));
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.send(&words, at, |terminal| {
                    terminal.note_unanswered(None);
                    terminal.send(b"\r")
                })?;
            }
            if number == 0 || !line.is_empty() {
                self.send(&words, at, |terminal| terminal.type_at_once(line))?;
                self.wait_for_echo(&words, line, at)?;
            }
        }
        Ok(self)
    }

    /// Presses a key: `enter`, `ctrl-s`, `shift-tab`, `f5`, `alt-left`. The bytes depend on the modes that
    /// the program has set.
    ///
    /// # Errors
    /// When there is no such key, these modes have no bytes for it, or the program has ended.
    #[track_caller]
    pub fn key(&mut self, key: &str) -> TestResult<&mut Self> {
        let (words, at) = (format!("key {key:?}"), Location::caller());
        let Ok(chord) = key.parse::<KeyChord>() else {
            return Err(self.failure(FailureKind::Command, &words, format!("there is no key {key:?}"), at));
        };
        self.keys.push(chord.to_string());
        let press = |terminal: &mut TestTerminal| {
            let bytes = input::key_press(terminal.screen(), chord).map_err(io::Error::other)?;
            terminal.note_unanswered(Some(chord));
            terminal.send(&bytes)
        };
        let first = input::key_press(self.terminal.screen(), chord);
        match first.is_ok_and(|bytes| self.terminal.makes_signal(&bytes)) {
            true => self.input(&words, at, press),
            false => self.send(&words, at, press),
        }
    }

    /// Pastes a text, bracketed if the program has enabled that, and waits until the program shows it.
    ///
    /// # Errors
    /// When the terminal is gone, or the program has ended.
    #[track_caller]
    pub fn paste(&mut self, text: &str) -> TestResult<&mut Self> {
        let at = Location::caller();
        self.keys.push(format!("(paste {text:?})"));
        self.send("paste", at, |terminal| {
            let bytes = input::paste(terminal.screen(), text);
            terminal.send(&bytes)
        })?;
        self.wait_for_echo("paste", text, at)
    }

    /// Changes the size of the terminal.
    ///
    /// # Errors
    /// When the terminal is gone, or the program has ended.
    #[track_caller]
    pub fn resize(&mut self, cols: u16, rows: u16) -> TestResult<&mut Self> {
        self.input("resize", Location::caller(), |terminal| terminal.resize(cols, rows))
    }

    /// The style of the first match of this text, for checks, after the program has answered the last input.
    ///
    /// # Errors
    /// When the text is not on the screen.
    #[track_caller]
    pub fn style(&mut self, text: &str) -> TestResult<StyleCheck<'_>> {
        self.wait_for(text)?;
        self.terminal.answered(&self.mark, self.limit);
        match StyleCheck::find(self.terminal.screen(), text) {
            Some((row, cols, styles)) => {
                Ok(StyleCheck::new(self, text.to_owned(), (row, cols), styles, Location::caller()))
            }
            None => {
                let words = format!("style {text:?}");
                let message = "the text spans more than one row".to_owned();
                Err(self.failure(FailureKind::Check, &words, message, Location::caller()))
            }
        }
    }

    /// Waits until the screen has settled and compares it with `tests/screens/snapshots/TEST__NAME.snap`.
    /// `UPDATE_SNAPSHOTS=1` accepts the current screen, and so do `INSTA_UPDATE=always`, and
    /// `INSTA_UPDATE=unseen` for a new snapshot; if `CI` is set nothing is written.
    ///
    /// # Errors
    /// When the screen differs or there is no file yet, and when the file cannot be read or written.
    #[track_caller]
    pub fn snapshot(&mut self, name: &str) -> TestResult<&mut Self> {
        self.compare(name, SnapshotParts::default(), Location::caller())
    }

    /// [`Terminal::snapshot`] with colours and attributes.
    ///
    /// # Errors
    /// As [`Terminal::snapshot`].
    #[track_caller]
    pub fn snapshot_with_styles(&mut self, name: &str) -> TestResult<&mut Self> {
        self.compare(name, SnapshotParts { cursor: false, styles: true }, Location::caller())
    }

    /// Waits for the end of the program and checks its exit status.
    ///
    /// # Errors
    /// When it does not end in time, or ends with another status.
    #[track_caller]
    pub fn exit(&mut self, code: i32) -> TestResult<&mut Self> {
        let words = format!("exit {code}");
        match self.terminal.exit(self.limit) {
            Ok(ProcessEnd::Exited(found)) if i32::from(found) == code => Ok(self),
            Ok(end) => {
                let message = format!("the program ended with {}", end_words(end));
                Err(self.failure(FailureKind::ProgramEnd, &words, message, Location::caller()))
            }
            Err(failure) => Err(self.wait_failure(&words, *failure, Location::caller())),
        }
    }

    /// Sends bytes, once the program reads its terminal.
    fn send(
        &mut self,
        words: &str,
        at: &Location<'_>,
        send: impl FnOnce(&mut TestTerminal) -> io::Result<()>,
    ) -> TestResult<&mut Self> {
        self.terminal.first_read(ECHO_LIMIT).map_err(|failure| self.wait_failure(words, *failure, at))?;
        self.input(words, at, send)
    }

    /// Gives the program an input: changes from here on are new.
    fn input(
        &mut self,
        words: &str,
        at: &Location<'_>,
        give: impl FnOnce(&mut TestTerminal) -> io::Result<()>,
    ) -> TestResult<&mut Self> {
        self.terminal.await_turn().map_err(|failure| self.wait_failure(words, *failure, at))?;
        self.mark = self.terminal.take_mark(at.line());
        if let Some(end) = self.terminal.end() {
            let message = format!("the program ended ({}) before this step", end_words(end));
            return Err(self.failure(FailureKind::ProgramEnd, words, message, at));
        }
        match give(&mut self.terminal) {
            Ok(()) => Ok(self),
            Err(error) => Err(self.failure(FailureKind::Command, words, error.to_string(), at)),
        }
    }

    /// Waits until the program shows a text. A program that ends instead has read it.
    fn wait_for_echo(&mut self, words: &str, text: &str, at: &Location<'_>) -> TestResult<&mut Self> {
        match self.terminal.typed(text, &self.mark, ECHO_LIMIT) {
            Err(failure) if !matches!(failure.end, WaitEnd::Ended(_)) => {
                Err(self.wait_failure(words, *failure, at))
            }
            _ => Ok(self),
        }
    }

    fn waited(
        &mut self,
        words: &str,
        result: Result<(), Box<WaitFailure>>,
        at: &Location<'_>,
    ) -> TestResult<&mut Self> {
        match result {
            Ok(()) => Ok(self),
            Err(failure) => Err(self.wait_failure(words, *failure, at)),
        }
    }

    fn compare(&mut self, name: &str, parts: SnapshotParts, at: &Location<'_>) -> TestResult<&mut Self> {
        let words = format!("snapshot {name:?}");
        let settled = self.terminal.settle_answer(&self.mark, &SettleRules::default(), self.limit);
        if let Err(failure) = settled
            && !matches!(failure.end, WaitEnd::Ended(_))
        {
            return Err(self.wait_failure(&words, *failure, at));
        }
        let screen = ScreenSnapshot::of(&self.redactions.snapshot_screen(&self.screen()), parts);
        let update = Update::of_env(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let store = match self.snapshots.take() {
            Some(store) => Ok(store),
            None => {
                SnapshotStore::of_tape(&self.root.join("tests/screens").join(format!("{}.rs", self.name)))
            }
        };
        let checked = store.and_then(|mut store| {
            let mode =
                if update == Update::Nothing { SnapshotMode::CompareOnly } else { SnapshotMode::Propose };
            if update != Update::Nothing {
                store.make_parents()?;
            }
            let check = store.check(name, &screen, mode)?;
            self.snapshots = Some(store);
            let accepts = match update {
                Update::All => true,
                Update::New => check.change == crate::testing::outcome::SnapshotChange::Missing,
                Update::Propose | Update::Nothing => false,
            };
            if accepts && check.failure.is_some() {
                PendingSnapshot::of_file(&check.file).accept()?;
                return Ok(None);
            }
            Ok(check.failure.clone().map(|failure| (failure.message, check.comparison)))
        });
        match checked {
            Ok(None) => Ok(self),
            Ok(Some((message, comparison))) => {
                let mut failure = self.bare_failure(FailureKind::Snapshot, &words, message, at);
                let accept = "accept what is there with `UPDATE_SNAPSHOTS=1 cargo test`";
                failure.hint = Some(accept.to_owned());
                failure.comparison = Some(comparison);
                Err(self.finished(failure))
            }
            Err(error) => Err(self.failure(FailureKind::Snapshot, &words, error.to_string(), at)),
        }
    }

    fn wait_failure(&mut self, words: &str, wait: WaitFailure, at: &Location<'_>) -> TestFailure {
        let kind = match wait.end {
            WaitEnd::Ended(_) => FailureKind::ProgramEnd,
            WaitEnd::Present => FailureKind::Check,
            _ => FailureKind::Timeout,
        };
        let mut failure = self.bare_failure(kind, words, wait.message, at);
        failure.times =
            TestTimes { took: wait.took, program_ran: wait.program_ran, waited_for_cpu: wait.waited_for_cpu };
        failure.row_notes.extend(wait.nearest.map(|place| (place.row + 1, "nearest".to_owned())));
        self.finished(failure)
    }

    pub(super) fn failure(
        &mut self,
        kind: FailureKind,
        words: &str,
        message: String,
        at: &Location<'_>,
    ) -> TestFailure {
        let failure = self.bare_failure(kind, words, message, at);
        self.finished(failure)
    }

    fn bare_failure(
        &mut self,
        kind: FailureKind,
        words: &str,
        message: String,
        at: &Location<'_>,
    ) -> TapeFailure {
        let place = crate::testing::outcome::TestPlace {
            file: at.file().to_owned(),
            line: at.line(),
            column: at.column(),
        };
        let mut failure = TapeFailure::new(kind, place, words, message);
        failure.keys.clone_from(&self.keys);
        failure.program.extend(self.terminal.end().map(|end| format!("ended: {}", end_words(end))));
        let mut screen = self.screen();
        screen.changed =
            changed_rows(self.terminal.watch().new_places(&self.mark).iter().map(|place| place.row));
        failure.screen = Some(screen);
        failure
    }

    /// Keeps the evidence and redacts the failure.
    fn finished(&mut self, mut failure: TapeFailure) -> TestFailure {
        failure.evidence = self.keep_evidence();
        TestFailure::new(self.redactions.failure(failure))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed assertion of the test itself has kept no evidence so far. The processes end with the
        // terminal.
        if thread::panicking() {
            self.keep_evidence();
        }
    }
}

/// Which screens become snapshots without asking a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Update {
    /// None: continuous integration.
    Nothing,
    /// None, but a `.snap.new` is written.
    Propose,
    /// Screens without a snapshot.
    New,
    All,
}

impl Update {
    fn of_env(var: impl Fn(&str) -> Option<String>) -> Update {
        if var("UPDATE_SNAPSHOTS").is_some_and(|value| value != "0") {
            return Update::All;
        }
        match var("INSTA_UPDATE").as_deref() {
            Some("always" | "1") => Update::All,
            Some("unseen") => Update::New,
            Some("no") => Update::Nothing,
            Some("new") => Update::Propose,
            _ if var("CI").is_some() => Update::Nothing,
            _ => Update::Propose,
        }
    }
}

impl From<&str> for TextPattern {
    fn from(text: &str) -> TextPattern {
        TextPattern::Text(text.to_owned())
    }
}

impl From<&String> for TextPattern {
    fn from(text: &String) -> TextPattern {
        TextPattern::Text(text.clone())
    }
}

/// `^` and `$` match at each row if the pattern itself says so: `(?m)`.
impl From<regex::Regex> for TextPattern {
    fn from(regex: regex::Regex) -> TextPattern {
        TextPattern::Regex(regex)
    }
}

fn changed_rows(rows: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut rows: Vec<u16> = rows.map(|row| row + 1).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn pattern_words(pattern: &TextPattern) -> String {
    match pattern {
        TextPattern::Text(text) => format!("{text:?}"),
        TextPattern::Regex(regex) => format!("/{}/", regex.as_str()),
    }
}

#[cfg(test)]
#[path = "library_terminal_tests.rs"]
mod tests;
