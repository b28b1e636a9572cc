//! One run of the program: its pseudo-terminal, the screen model beside it, and its end. The next run
//! replaces all of it.

use super::Child;
use super::descendants::Descendants;
use super::output_chunk::OutputChunk;
use super::screen_model::ScreenModel;
use super::screen_reader::SCREEN_LOOK_MS;
use super::segment_refresh::SegmentRefresh;

use nix::libc;

use crate::core::input::key_names::CursorKeys;
use crate::core::process_change::ProcessEnd;
use crate::core::supervisor::screen_facts::ScreenFacts;
use crate::core::terminal::{Ahead, Modes, Size};
use crate::core::text::word_wrap::wrap_message;
use crate::core::time::Stamp;
use crate::host::cast_recording::CastPicture;
use crate::host::terminals::{Capabilities, TerminalRun, UnreadInput, repaint_on_attach, takes_window_names};
use crate::pty::open::Pty;
use crate::pty::spawn::{ChildProgram, SpawnError};
use crate::pty::typeahead_feed;
use crate::screen::{Screen, TerminalBefore, TerminalMode};
use crate::sys::clock::Clock;
use crate::sys::fd::read_some;
use crate::sys::outbuf::OutBuf;
use crate::sys::return_memory;
use crate::tty::modes;

/// Bytes waiting for the child above which keys are not read, so that the keyboard waits.
pub(in crate::host) const INPUT_HIGH: usize = 1 << 18;
/// How long to wait for a dead child's output while another process holds the terminal open, in ms.
const DRAIN_MS: u64 = 100;
/// How long the end of a run waits for a screen model that is behind, in ms.
const LAG_MS: u64 = 2000;
/// How often to check a terminal that no process has open, in ms.
const AWAY_MS: u64 = 200;

#[derive(Debug)]
pub(in crate::host) struct ChildRun {
    pub number: u32,
    pub(super) pid: i32,
    pub(super) pty: Pty,
    pub(super) input: OutBuf,
    pub model: ScreenModel,
    pub size: Size,
    /// The terminal type that the child was started for.
    pub(super) kind: Capabilities,
    /// The master has no more output.
    pub(super) at_end: bool,
    /// The child is alive but has closed its terminal: when to check whether a process has opened it again.
    pub(super) away: Option<Stamp>,
    /// When and how the child ended.
    pub(super) exit: Option<(Stamp, ProcessEnd)>,
    /// How it ended, once reported: another process may have its pid by now.
    pub(super) reported_exit: Option<ProcessEnd>,
    /// Set while the output is muted, from a stop for a restart on: the sequences that undo the modes set at
    /// that time.
    pub(super) muted: Option<Vec<u8>>,
    /// The lines that stay on the terminal above the next run; `None`: all that the screen shows.
    pub(super) above: Option<Vec<u8>>,
    pub(super) facts: ScreenFacts,
    /// The first line of the dialog that the screen showed last.
    pub(super) dialog_title: Option<String>,
    /// What the status line shows of hopty's segment.
    pub(super) segment: SegmentRefresh,
    pub(super) seen: u64,
    pub(super) looked: Stamp,
    /// When the screen last changed, and its revision at that time.
    pub(super) changed: Stamp,
    revision: u64,
    pub(super) descendants: Descendants,
    pub(super) unread: UnreadInput,
    /// It has ended, and its terminal still has bracketed paste on for the next run.
    marks_pastes: bool,
    /// The memory that only its start needed was freed.
    tidied: bool,
}

/// Bracketed paste off, as in the undo of a run, and on.
const PASTES_OFF: &[u8] = b"\x1b[?2004l";
const PASTES_ON: &[u8] = b"\x1b[?2004h";

/// Output that was just read, and its chunk.
#[derive(Debug)]
pub(in crate::host) struct Output {
    chunk: OutputChunk,
    new: usize,
    at: Stamp,
    end: bool,
    muted: bool,
}

impl Output {
    /// The bytes that people's terminals show of it.
    pub fn visible(&self) -> Option<&[u8]> {
        (self.new > 0 && !self.muted).then(|| self.chunk.latest(self.new))
    }
}

/// What a new run takes over from the previous one in the same terminal.
#[derive(Debug, Default)]
pub(super) struct Inheritance {
    /// The state of the terminal before the session.
    terminal_before: TerminalBefore,
    /// The lines that stay above the new run.
    above: Vec<u8>,
    descendants: Descendants,
    marks_pastes: bool,
    /// The screen model had failed.
    pub blind: bool,
}

impl Inheritance {
    pub fn of(mut old: ChildRun) -> Self {
        Inheritance {
            // It is the same terminal, and the old run has been undone.
            terminal_before: old
                .model
                .look_so_far(|screen| screen.terminal_before().clone())
                .unwrap_or_default(),
            above: old
                .above
                .take()
                .or_else(|| old.model.look_so_far(repaint_on_attach::above))
                .unwrap_or_default(),
            marks_pastes: old.marks_pastes,
            blind: old.model.is_off(),
            descendants: old.descendants.handed_on(),
        }
    }
}

impl ChildRun {
    pub(super) fn new(
        (number, pid): (u32, i32),
        pty: Pty,
        model: ScreenModel,
        size: Size,
        kind: Capabilities,
        old: Inheritance,
        now: Stamp,
    ) -> Self {
        let mut run = ChildRun {
            number,
            pid,
            size,
            pty,
            input: OutBuf::default(),
            model,
            kind,
            at_end: false,
            away: None,
            exit: None,
            reported_exit: None,
            muted: None,
            above: None,
            facts: ScreenFacts::default(),
            dialog_title: None,
            segment: SegmentRefresh::default(),
            seen: 0,
            looked: Stamp(0),
            changed: now,
            revision: 0,
            descendants: old.descendants,
            unread: UnreadInput::default(),
            marks_pastes: false,
            tidied: false,
        };
        run.model.begin_below(&old.above);
        run.model.change(|screen| {
            screen.set_terminal_before(old.terminal_before);
            if old.marks_pastes {
                screen.feed(PASTES_ON);
            }
            screen.answered();
        });
        run
    }

    /// Types these bytes: now as many as the program accepts, the rest later.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if !self.at_end && self.input.send(&self.pty, bytes).is_err() {
            self.input.clear();
        }
    }

    /// Writes typed bytes that wait, because the program is ready for more.
    pub fn flush(&mut self) {
        if self.input.flush(&self.pty).is_err() {
            self.input.clear();
        }
    }

    /// What terminals show of the run.
    pub fn for_terminals(&mut self) -> TerminalRun<'_> {
        TerminalRun {
            number: self.number,
            model: &mut self.model,
            size: &mut self.size,
            capabilities: self.kind,
            muted: &mut self.muted,
            has_ended: self.reported_exit.is_some(),
        }
    }

    /// Notes that input was typed that is not a person's.
    pub(super) fn mix_unread(&mut self) {
        self.unread.mix();
    }

    /// A person types. Whether all earlier input was read is only known if no line waits for its end.
    pub(super) fn begin_unread(&mut self) {
        if self.input.is_empty() {
            self.unread.begin(&self.pty);
        }
    }

    /// Whether there may be output to read.
    pub(super) fn may_have_output(&self) -> bool {
        !self.at_end && self.away.is_none()
    }

    /// Whether it gets what people type.
    pub(super) fn takes_typing(&self) -> bool {
        !self.at_end && !self.is_muted()
    }

    /// Whether its output is muted.
    pub fn is_muted(&self) -> bool {
        self.muted.is_some()
    }

    /// The memory that only its start needed was freed.
    pub fn set_tidied(&mut self) {
        self.tidied = true;
    }

    pub(super) fn is_tidied(&self) -> bool {
        self.tidied
    }

    /// Whether the program has read all typed input.
    pub fn has_read_all(&self) -> bool {
        self.input.is_empty() && !self.pty.unread()
    }

    /// Whether it accepts typed bytes, because few enough of the earlier ones still wait.
    pub fn takes_input(&self) -> bool {
        !self.at_end && self.input.len() <= INPUT_HIGH
    }

    /// Reads some output. Write it to people's terminals and then pass it to [`ChildRun::feed`]. `None`:
    /// there is no more.
    pub fn read(&mut self, clock: &Clock) -> Option<Output> {
        if self.at_end {
            return None;
        }
        let mut chunk = self.model.chunk();
        let read = read_some(&self.pty, chunk.room());
        self.away = None;
        let new = read.as_ref().ok().copied().flatten().unwrap_or(0);
        chunk.took(new);
        Some(Output {
            chunk,
            new,
            at: clock.now(),
            end: matches!(read, Ok(Some(0)) | Err(_)),
            muted: self.muted.is_some(),
        })
    }

    /// Feeds the output to the screen model. Returns whether there may be more output.
    pub fn feed(&mut self, output: Output) -> bool {
        let Output { chunk, new, at, end, .. } = output;
        self.model.put(chunk, new, at);
        if end {
            // Either the end, or a program that closed its terminal and may open it again by name.
            self.at_end = self.exit.is_some();
            self.away = (!self.at_end).then(|| at.after(AWAY_MS));
        }
        new > 0
    }

    /// Whether the program has not ended as far as the host knows.
    pub(super) fn lives(&self) -> bool {
        self.exit.is_none() && self.reported_exit.is_none()
    }

    /// Whether a process may have opened the terminal again after the child closed it.
    fn is_to_be_looked_at(&self, now: Stamp) -> bool {
        self.away.is_some_and(|at| at <= now)
    }

    /// Records whether the screen looks different.
    fn note_change(&mut self, now: Stamp) {
        if self.model.revision() != self.revision {
            self.revision = self.model.revision();
            self.changed = now;
        }
    }

    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        let drain = self.exit.map(|(at, _)| at.after(DRAIN_MS));
        let at = self.looked.after(SCREEN_LOOK_MS);
        let look = (self.model.revision() != self.seen && at > now).then_some(at);
        [drain, self.descendants.deadline(), look, self.away, self.model.due()].into_iter().flatten().min()
    }

    /// Whether all its descendants have ended.
    pub fn is_clear(&self) -> bool {
        self.descendants.are_gone()
    }

    /// Whether remaining descendants still have time to end.
    pub fn has_leftovers(&self) -> bool {
        self.descendants.have_time()
    }

    /// Used when the host ends although the child may be alive: closing the terminal ends the child.
    pub fn abandon(self) {
        self.descendants.kill();
    }
}

#[derive(Debug)]
pub(in crate::host) struct RunStart<'a> {
    pub number: u32,
    pub program: ChildProgram,
    /// The size of the first run; later ones take that of the run before.
    pub size: Size,
    /// The modes of the person's terminal before raw mode, and what was typed ahead there.
    pub found: Option<&'a Modes>,
    pub typed: &'a Ahead,
    /// How many lines of history the screen model keeps.
    pub lines: usize,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct StartedRun {
    pub pid: i32,
    /// How many lines of scrollback it has from earlier runs.
    pub history: u64,
    /// The screen model of the previous run had failed.
    pub was_blind: bool,
}

/// How a run ended.
#[derive(Debug)]
pub(in crate::host) struct FinishedRun {
    pub number: u32,
    pub end: ProcessEnd,
    /// Undoes exactly the modes that the run left set.
    pub undo: Vec<u8>,
}

/// How the program reads keys and pastes.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct InputModes {
    pub cursor: CursorKeys,
    pub pastes: bool,
}

impl Child {
    /// Starts a run in place of the previous one.
    pub fn start(&mut self, start: &RunStart<'_>, now: Stamp) -> Result<StartedRun, SpawnError> {
        let size = self.size().unwrap_or(start.size);
        let pty = self.processes.open(size)?;
        // Held open until the program runs: without a slave the master reports an end.
        let slave = pty.open_slave()?;
        if let Some(found) = start.found {
            typeahead_feed::put(&pty, found, start.typed, |wanted| modes::set(&slave, wanted))?;
        }
        let pid = self.processes.start(&pty, &start.program)?;
        let old = self.run.take().map(Inheritance::of).unwrap_or_default();
        let term = self.term();
        let model = ScreenModel::of_run(size, start.lines, takes_window_names(&term));
        let was_blind = old.blind;
        let mut run = ChildRun::new((start.number, pid), pty, model, size, Capabilities::of(&term), old, now);
        let history = run.model.look(Screen::history_total).unwrap_or_default();
        self.run = Some(run);
        Ok(StartedRun { pid, history, was_blind })
    }

    /// The size of the terminal; `None` before the first run.
    pub fn size(&self) -> Option<Size> {
        self.run.as_ref().map(|run| run.size)
    }

    /// Feeds the screen model if due. Returns whether the model failed now; `None` if it was not due.
    pub fn feed_when_due(&mut self, clock: &Clock) -> Option<bool> {
        let run = self.run.as_mut()?;
        if !run.model.feed_when_due(clock) && run.model.is_bursting() {
            return None;
        }
        if run.model.take_relief(clock.now()) {
            return_memory::release_heap();
        }
        Some(run.model.take_failure())
    }

    /// Notes what the screen model shows now.
    pub fn note_screen(&mut self, now: Stamp) {
        let Some(run) = &mut self.run else { return };
        run.note_change(now);
        let shown =
            run.model.look_so_far(|screen| (screen.alternate(), screen.is_on(TerminalMode::BracketedPaste)));
        match shown {
            Some((true, _)) => self.full_screen = Some(true),
            Some((false, true)) => {
                self.full_screen.get_or_insert(false);
            }
            _ => {}
        }
    }

    /// Whether a process may have opened the terminal again after the child closed it.
    pub fn may_be_open_again(&self, now: Stamp) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_to_be_looked_at(now))
    }

    /// Whether the screen model must be fed before more output may be read.
    pub fn is_full(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.model.is_full())
    }

    /// Whether the program has ended and its end has not been reported.
    pub fn is_ending(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.exit.is_some())
    }

    /// The end of the run, once its output has been read. `anyway`: even if there is more output.
    pub fn finish(&mut self, now: Stamp, anyway: bool) -> Option<FinishedRun> {
        let run = self.run.as_mut()?;
        // Other processes may keep the terminal open.
        let is_drained = anyway || run.at_end;
        run.model.look(|_| ());
        let lags = run.model.lags();
        let (_, end) = run.exit.take_if(|(at, _)| {
            (is_drained || now >= at.after(DRAIN_MS)) && (!lags || now >= at.after(LAG_MS))
        })?;
        run.reported_exit = Some(end);
        run.at_end = true;
        let undo = run.for_terminals().undo();
        run.muted = None;
        self.last_end = Some(end);
        Some(FinishedRun { number: run.number, end, undo })
    }

    /// Keeps bracketed paste on between two runs, because without it each line of a paste would be a prompt.
    /// Changes `undo`, the sequences that undo the ended run's modes, accordingly.
    pub fn keep_pastes(&mut self, undo: &mut Vec<u8>) {
        let Some(run) = &mut self.run else { return };
        if undo.windows(PASTES_OFF.len()).any(|part| part == PASTES_OFF) {
            undo.extend_from_slice(PASTES_ON);
            run.marks_pastes = true;
        }
    }

    /// Undoes what [`Self::keep_pastes`] kept; call it when no run follows.
    pub fn end_pastes(&mut self) -> Option<&'static [u8]> {
        let run = self.run.as_mut()?;
        std::mem::take(&mut run.marks_pastes).then_some(PASTES_OFF)
    }

    /// Leaves a line of hopty's own on the terminal above the next run.
    pub fn leave_line(&mut self, line: &str) {
        if let Some(above) = self.run.as_mut().and_then(|run| run.above.as_mut()) {
            above.extend_from_slice(line.as_bytes());
        }
    }

    /// Prints a text of hopty's own on the run's screen.
    pub fn print(&mut self, text: &str) {
        if let Some(run) = &mut self.run {
            run.model.change(|screen| screen.feed(text.as_bytes()));
        }
    }

    /// Prints a text in place of everything that the run shows, except the lines that stay above the next
    /// run.
    pub fn print_page(&mut self, text: &str) {
        if let Some(run) = &mut self.run
            && run.above.is_none()
        {
            run.above = run.model.look_so_far(repaint_on_attach::above);
        }
        self.print(&format!("\x1b[m\x1b[2J\x1b[H{text}"));
    }

    /// Lays out a message of hopty's own as rows of this terminal.
    pub fn on_rows(&self, message: &str) -> String {
        let (cols, _) = self.size().unwrap_or(Size::cells(0, 0)).drawn();
        wrap_message(message, usize::from(cols)).replace('\n', "\r\n")
    }

    /// The whole state of the screen, for a recording that starts now. `size`: that of a session without a
    /// run.
    pub fn cast_picture(&mut self, size: Size) -> CastPicture {
        let term = self.term();
        let Some(run) = &mut self.run else { return CastPicture { size, term, output: Vec::new() } };
        let dump = run.model.dump(usize::MAX);
        let mut output: Vec<Vec<u8>> =
            dump.map(|dump| [dump.history, dump.screen, dump.unfinished].concat()).into_iter().collect();
        if run.reported_exit.is_some() {
            output.push(run.for_terminals().undo());
        }
        CastPicture { size: run.size, term, output }
    }

    /// Whether the terminal does not echo the line being typed.
    pub fn hides_input(&self) -> bool {
        self.has_local_modes(libc::ICANON, libc::ECHO)
    }

    /// Whether an answer to a query would show up on the terminal: it edits lines and echoes them.
    pub fn echoes_answers(&self) -> bool {
        self.has_local_modes(libc::ICANON | libc::ECHO, 0)
    }

    fn has_local_modes(&self, on: libc::tcflag_t, off: libc::tcflag_t) -> bool {
        self.run.as_ref().and_then(|run| modes::read(&run.pty).ok()).is_some_and(|modes| {
            modes.lflag & u64::from(on) == u64::from(on) && modes.lflag & u64::from(off) == 0
        })
    }

    pub fn input_modes(&mut self) -> InputModes {
        let on = |screen: &Screen| {
            (screen.is_on(TerminalMode::CursorKeys), screen.is_on(TerminalMode::BracketedPaste))
        };
        let (application, pastes) = self.run.as_mut().and_then(|run| run.model.look(on)).unwrap_or_default();
        InputModes { cursor: if application { CursorKeys::Application } else { CursorKeys::Normal }, pastes }
    }
}
