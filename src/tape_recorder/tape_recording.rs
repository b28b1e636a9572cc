//! One recording: a program under test, the person at the terminal, and the tape that is written.

use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use thiserror::Error;

use super::person_terminal::PersonTerminal;
use super::tape_draft::{ShellAnswer, TapeDraft};
use crate::core::input::{PASTE_END, PASTE_START};
use crate::core::io_words::io_words;
use crate::core::tape::{ClickCommand, TapeCommand, TapePlace, TapeText, TypedKeys};
use crate::screen::{Screen, ShellMark};
use crate::sys::fd::read_some;
use crate::sys::signals::Signals;
use crate::testing::fresh_text_watch::TestMark;
use crate::testing::input::{self, MouseEvent};
use crate::testing::isolation::{EnvironmentRules, TestDirs};
use crate::testing::program_wait::SettleRules;
use crate::testing::shells;
use crate::testing::tape_player::copy_tree;
use crate::testing::test_terminal::{ProgramUnderTest, PumpEnd, TestStartError, TestTerminal};
use crate::tty::full_screen;

/// Ends the recording: Ctrl+\.
const END_KEY: u8 = 0x1c;
/// How long after an escape the rest of a sequence may come.
const ESCAPE: Duration = Duration::from_millis(50);
/// How long there must be no output before the next input counts as an answer to the last picture.
const QUIET: Duration = Duration::from_millis(50);
/// How long the next input is delayed for that, and for a typed text to appear: later output would count as
/// the answer to it.
const ANSWER_MAX: Duration = Duration::from_millis(500);

/// Why nothing was recorded.
#[derive(Debug, Error)]
pub enum TapeRecorderError {
    /// The program did not start.
    #[error(transparent)]
    Start(#[from] TestStartError),
    /// The terminal or the disk refused.
    #[error("{}", io_words(.0))]
    Io(#[from] io::Error),
}

/// The result of a recording.
#[derive(Debug)]
pub struct RecordedTape {
    header: String,
    draft: TapeDraft,
}

impl RecordedTape {
    pub fn text(&self) -> String {
        self.draft.text(&self.header)
    }

    pub fn commands(&self) -> usize {
        self.draft.commands().len()
    }

    /// The variables that replace hidden input: the tape cannot be played without them.
    pub fn secrets(&self) -> Vec<String> {
        self.draft.secret_names()
    }

    /// Replaces an `Expect` that failed in a replay, on this line of the tape, by one with a text that the
    /// replay's screen (`rows`) has, too, else by `Settle`. Returns the new command; `None` if none can be
    /// replaced.
    pub fn replace_expect(&mut self, line: usize, rows: &[String]) -> Option<String> {
        self.draft.replace_expect(&self.header, line, rows)
    }
}

/// A file that the tape copies into the program's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    pub source: PathBuf,
    /// Its path, relative to the directory of the tape.
    pub from: String,
    /// Its destination, relative to the program's directory.
    pub to: String,
}

/// Lets a person use the program `argv` on standard input and output, which are a terminal, with copies of
/// `files`. `title` is shown below it. Ends with Ctrl+\ or with the program.
pub fn record_tape(
    argv: &[String],
    files: &[CopiedFile],
    title: &str,
) -> Result<RecordedTape, TapeRecorderError> {
    let dirs = TestDirs::create()?;
    copy_files(files, &dirs)?;
    let person = PersonTerminal::open(title)?;
    let (cols, rows) = person.program_size();
    let shell = match argv {
        [name] => shells::shell(name),
        _ => None,
    };
    let mut env = dirs.environment(&EnvironmentRules::default(), &|name| std::env::var_os(name));
    let (words, first) = match &shell {
        Some(shell) => {
            env.extend(shell.env.iter().map(|(name, value)| (name.into(), value.into())));
            (shell.argv.clone(), format!("Set Shell {}", argv.concat()))
        }
        None => {
            let start = TapeCommand::Start(argv.iter().map(TapeText::plain).collect());
            (argv.iter().map(Into::into).collect(), start.to_string())
        }
    };
    let program = ProgramUnderTest {
        env,
        cwd: dirs.dir().to_owned(),
        cols,
        rows,
        own_dir: Some(dirs.base().to_owned()),
        ..ProgramUnderTest::new(words)
    };
    let mut terminal = TestTerminal::start(&program)?;
    let mark = terminal.start_mark(1);
    let header = header((cols, rows), files, &first);
    // Caught last: only a recorder that exists is cleaned up on every way out.
    let signals = Signals::catch(&full_screen::SIGNALS)?;
    let wake = Arc::new(keys_or_signals(&signals)?);
    terminal.stop_on(Arc::clone(&wake));
    let (silent, _kept_open) = UnixStream::pair()?;
    let mut recorder = TapeRecorder {
        terminal,
        person,
        signals,
        wake,
        silent: Arc::new(silent.into()),
        mark,
        is_shell: shell.is_some_and(|shell| shell.reports_commands),
        draft: TapeDraft::new(unlasting_words(&dirs)),
        keys: TypedKeys::new(),
        pending: Vec::new(),
        began: Instant::now(),
    };
    recorder.run()?;
    let TapeRecorder { draft, terminal, person, .. } = recorder;
    drop(person);
    terminal.finish();
    Ok(RecordedTape { header, draft })
}

fn copy_files(files: &[CopiedFile], dirs: &TestDirs) -> io::Result<()> {
    for file in files {
        let target = dirs.dir().join(&file.to);
        target.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        copy_tree(&file.source, &target)?;
    }
    Ok(())
}

/// The first lines of the tape, up to `first`, the command that starts the program.
fn header((cols, rows): (u16, u16), files: &[CopiedFile], first: &str) -> String {
    let mut header = format!("Set Rows {rows}\nSet Columns {cols}\n");
    for CopiedFile { from, to, .. } in files {
        let copy = TapeCommand::CopyFile { from: TapeText::plain(from), to: Some(TapeText::plain(to)) };
        let _ = writeln!(header, "{copy}");
    }
    let _ = write!(header, "{first}\n\n");
    header
}

/// A descriptor that is readable if there are keys or signals.
fn keys_or_signals(signals: &Signals) -> io::Result<OwnedFd> {
    let both = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    both.add(io::stdin(), EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
    both.add(signals, EpollEvent::new(EpollFlags::EPOLLIN, 1))?;
    Ok(both.0)
}

/// Words that differ in every run or on another machine.
fn unlasting_words(dirs: &TestDirs) -> Vec<String> {
    let base = dirs.base().file_name().map(|name| name.to_string_lossy().into_owned());
    let host = nix::sys::utsname::uname().ok().map(|name| name.nodename().to_string_lossy().into_owned());
    base.into_iter().chain(host).filter(|word| !word.is_empty()).collect()
}

struct TapeRecorder {
    terminal: TestTerminal,
    person: PersonTerminal,
    signals: Signals,
    /// Readable when there are keys or signals.
    wake: Arc<OwnedFd>,
    /// Never readable.
    silent: Arc<OwnedFd>,
    /// The mark of the last input.
    mark: TestMark,
    /// The program is a shell that reports its commands.
    is_shell: bool,
    draft: TapeDraft,
    keys: TypedKeys,
    /// Bytes of an incomplete key.
    pending: Vec<u8>,
    began: Instant,
}

impl TapeRecorder {
    /// Runs until the program has ended, or the person ended the recording.
    fn run(&mut self) -> io::Result<()> {
        loop {
            self.draw()?;
            let until = (!self.pending.is_empty()).then(|| Instant::now() + ESCAPE);
            match self.terminal.pump(until) {
                PumpEnd::Frame(_) => {}
                PumpEnd::Ended(end) => {
                    self.check(true);
                    self.draft.end(end);
                    return Ok(());
                }
                PumpEnd::Deadline => {
                    // A paste may take longer; any other key arrives in one piece.
                    if !self.pending.starts_with(PASTE_START) {
                        let bytes = std::mem::take(&mut self.pending);
                        self.typed(&bytes)?;
                    }
                }
                PumpEnd::Stopped => {
                    if self.take_signals()? || self.read_keys()? {
                        self.check(false);
                        return Ok(());
                    }
                }
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.person.report_mouse(input::takes_mouse(self.terminal.screen()))?;
        let commands = self.draft.commands();
        let last = commands.last().map(ToString::to_string).unwrap_or_default();
        self.person.draw(self.terminal.screen(), commands.len(), &last)
    }

    /// Returns true if one of them ends the recording.
    fn take_signals(&mut self) -> io::Result<bool> {
        let signals = self.signals.take();
        if signals.contains(&libc::SIGCONT) {
            self.person.resume()?;
        }
        if signals.contains(&libc::SIGWINCH) {
            self.person.forget();
            let (cols, rows) = self.person.program_size();
            if self.terminal.screen().size() != (cols, rows) {
                let resize = TapeCommand::Resize { cols, rows };
                self.begin_input(&resize, false);
                self.terminal.resize(cols, rows)?;
                self.draft.input(resize, false, self.began.elapsed());
            }
        }
        Ok(signals.iter().any(|signal| ![libc::SIGWINCH, libc::SIGCONT].contains(signal)))
    }

    /// Returns true if the recording ends.
    fn read_keys(&mut self) -> io::Result<bool> {
        let stdin = io::stdin();
        if !crate::sys::poll::is_readable(stdin.as_fd()) {
            return Ok(false);
        }
        let mut buffer = [0; 4096];
        let length = match read_some(&stdin, &mut buffer)? {
            Some(0) => return Ok(true),
            Some(length) => length,
            None => return Ok(false),
        };
        self.pending.extend_from_slice(&buffer[..length]);
        let mut whole = whole_keys(&self.pending);
        let end = self.pending[..whole].iter().position(|byte| *byte == END_KEY);
        whole = end.unwrap_or(whole);
        let bytes: Vec<u8> = self.pending.drain(..whole).collect();
        self.typed(&bytes)?;
        Ok(end.is_some())
    }

    fn typed(&mut self, bytes: &[u8]) -> io::Result<()> {
        for command in self.keys.commands(bytes) {
            self.terminal.pump_now();
            let is_secret = self.terminal.is_hiding_input();
            self.begin_input(&command, is_secret);
            // Under the program's current modes.
            let Some((command, bytes)) = self.bytes_of(command) else { continue };
            self.terminal.send(&bytes)?;
            self.draft.input(command, is_secret, self.began.elapsed());
        }
        Ok(())
    }

    /// A command with the bytes that a tape sends for it; `None` if the program cannot receive it.
    fn bytes_of(&self, command: TapeCommand) -> Option<(TapeCommand, Vec<u8>)> {
        let screen = self.terminal.screen();
        let bytes = match &command {
            TapeCommand::Type { text, .. } | TapeCommand::Raw(text) => text.as_str().as_bytes().to_vec(),
            TapeCommand::Paste(text) => input::paste(screen, text.as_str()),
            TapeCommand::Key(press) => {
                let mut bytes = Vec::new();
                for chord in &press.chords {
                    bytes.extend(input::key_press(screen, *chord).ok()?);
                }
                bytes.repeat(usize::try_from(press.count).unwrap_or(1))
            }
            TapeCommand::Click(click) => {
                mouse_bytes(screen, &input::click_events(click, cell(screen, &click.place)?))?
            }
            TapeCommand::Drag { from, to, button } => {
                let (start, end) = (cell(screen, from)?, cell(screen, to)?);
                match mouse_bytes(screen, &input::drag_events(*button, start, end)) {
                    Some(bytes) => bytes,
                    // A program that does not receive motion sees a click.
                    None => return self.bytes_of(TapeCommand::Click(ClickCommand::once(from, *button))),
                }
            }
            TapeCommand::Wheel { direction, notches, at } => {
                mouse_bytes(screen, &input::wheel_events(*direction, *notches, cell(screen, at.as_ref()?)?))?
            }
            _ => return None,
        };
        Some((command, bytes))
    }

    /// Waits for the answer to the last input, as a tape does: a person may type ahead of the program.
    fn wait_for_answer(&mut self) {
        let Some(age) = self.draft.last_input().map(|last| self.began.elapsed().saturating_sub(last)) else {
            return;
        };
        self.terminal.stop_on(Arc::clone(&self.silent));
        // A late answer is no failure here.
        if let Some(text) = self.draft.typed_text() {
            let _ = self.terminal.typed(text, &self.mark, ANSWER_MAX);
        } else if age < QUIET || self.terminal.quiet_for() < QUIET {
            let rules = SettleRules { quiet: QUIET, ..SettleRules::default() };
            let _ = self.terminal.settle(&rules, ANSWER_MAX);
        }
        self.terminal.stop_on(Arc::clone(&self.wake));
    }

    /// Adds checks for the effect of the last input, unless the next one belongs to it.
    fn begin_input(&mut self, input: &TapeCommand, is_secret: bool) {
        self.draft.look_for_answer(self.terminal.watch(), &self.mark);
        if !self.draft.joins(input, is_secret, self.began.elapsed()) {
            self.wait_for_answer();
            self.check(false);
            self.mark = self.terminal.take_mark(1);
        }
    }

    fn check(&mut self, is_over: bool) {
        self.terminal.pump_now();
        let watch = self.terminal.watch();
        let is_waiting = !matches!(watch.shell_mark(), Some(ShellMark::Output | ShellMark::Done(_)) | None);
        let is_ready =
            self.is_shell && is_waiting && self.terminal.foreground_group() == Some(self.terminal.pid());
        let status = watch.status_since(&self.mark).filter(|_| !self.draft.commands().is_empty());
        let shell = ShellAnswer { is_ready: is_ready && status.is_some(), status };
        self.draft.check(watch, &self.mark, shell, is_over);
    }
}

/// The cell that a person clicked, 0-based; `None` for the line below the program's screen.
fn cell(screen: &Screen, place: &TapePlace) -> Option<(u16, u16)> {
    let TapePlace::Cell(row, col) = place else { return None };
    let (cols, rows) = screen.size();
    (*row <= rows && *col <= cols).then_some((row.checked_sub(1)?, col.checked_sub(1)?))
}

/// The bytes of these events on a tape; `None` if the program does not receive one of them.
fn mouse_bytes(screen: &Screen, events: &[MouseEvent]) -> Option<Vec<u8>> {
    let bytes: Result<Vec<_>, _> = events.iter().map(|event| input::mouse(screen, event)).collect();
    Some(bytes.ok()?.concat())
}

/// How many of these bytes are complete keys: a paste, a sequence or a character may have been cut.
fn whole_keys(bytes: &[u8]) -> usize {
    if let Some(at) = memchr::memmem::rfind(bytes, PASTE_START)
        && memchr::memmem::find(&bytes[at..], PASTE_END).is_none()
    {
        return at;
    }
    if let Some(at) = memchr::memrchr(0x1b, bytes) {
        let is_cut = match &bytes[at..] {
            [_] | [_, b'[' | b'O'] => true,
            [_, b'[', rest @ ..] => !rest.iter().any(|byte| (b'@'..=b'~').contains(byte)),
            _ => false,
        };
        if is_cut {
            return at;
        }
    }
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_cut_are_waited_for() {
        for (bytes, whole) in [
            (&b"ab"[..], 2),
            (b"a\x1b", 1),
            (b"a\x1b[", 1),
            (b"a\x1b[1;5", 1),
            (b"a\x1b[1;5D", 7),
            (b"a\x1bx", 3),
            (b"a\xe6\xbc", 1),
            ("a漢".as_bytes(), 4),
            (b"a\x1b[200~text\x1b[20", 1),
            (b"\x1b[200~text\x1b[201~", 16),
        ] {
            assert_eq!(whole_keys(bytes), whole, "{bytes:?}");
        }
    }
}
