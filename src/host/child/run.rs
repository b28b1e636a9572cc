//! One run of the program: its pseudo-terminal, the screen model beside it, and its end. All of it is
//! replaced when the next run starts.

use super::descendants::Descendants;
use super::launching::NextRun;
use super::output_chunk::OutputChunk;
use super::screen_model::ScreenModel;

use crate::host::terminals::{Capabilities, Terminals, UnreadInput, repaint, takes_window_names};

use crate::core::ids::ConversationId;
use crate::core::process::{ProcessEnd, Signal};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StartKind, StopFor};
use crate::core::supervisor::screen_facts::ScreenFacts;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::pty::ahead;
use crate::pty::open::Pty;
use crate::pty::spawn::SpawnError;
use crate::screen::{Screen, TerminalBefore, TerminalMode};
use crate::sys::clock::Clock;
use crate::sys::fd::read_some;
use crate::sys::memory;
use crate::sys::outbuf::OutBuf;
use crate::sys::poll::FdReadiness;
use crate::tty::modes::{self, TakeEffect};
use crate::tty::raw::END_OF_ANYTHING;

/// Bytes waiting for the child above which keys are no longer read, so that the keyboard waits.
pub(in crate::host) const INPUT_HIGH: usize = 1 << 18;
/// How long to wait for a dead child's output while another process holds the terminal open, in ms.
const DRAIN_MS: u64 = 100;
/// The most reads of a master in a turn, of some 30 us each: everybody but the person who types waits that
/// long.
const READS: u32 = 8;
/// The most reads of output after a child's death.
const DRAIN_READS: u32 = 256;
/// How often to check a terminal that nobody has open, in ms.
const AWAY_MS: u64 = 200;

/// A run.
#[derive(Debug)]
pub(in crate::host) struct ChildRun {
    pub number: u32,
    pub pid: i32,
    pub pty: Pty,
    pub input: OutBuf,
    pub model: ScreenModel,
    pub size: Size,
    /// The terminal that the child was started for.
    pub kind: Capabilities,
    /// The master has no more output.
    pub at_end: bool,
    /// The child lives and has closed its terminal: when to check whether a process has opened it again.
    pub away: Option<Stamp>,
    /// The child has ended; when, and how.
    pub(super) ended: Option<(Stamp, ProcessEnd)>,
    /// How it ended, once reported: another process may have its pid by now.
    pub end: Option<ProcessEnd>,
    /// The output is muted, from a stop for a restart on; with the sequences that undo the modes set at that
    /// time.
    pub muted: Option<Vec<u8>>,
    /// The lines that stay on the terminal above the next run, if they are not all that the screen shows.
    pub above: Option<Vec<u8>>,
    pub facts: ScreenFacts,
    pub seen: u64,
    pub looked: Stamp,
    /// When the screen last changed, and its revision at that time.
    pub changed: Stamp,
    revision: u64,
    pub(super) descendants: Descendants,
    pub unread: UnreadInput,
    /// The memory that only its start needed was freed.
    pub tidied: bool,
}

/// Output that was just read, with its chunk.
#[derive(Debug)]
pub(in crate::host) struct Output {
    chunk: OutputChunk,
    new: usize,
    at: Stamp,
    end: bool,
    /// It is muted.
    muted: bool,
}

impl Output {
    /// The data that people's terminals show of it.
    pub fn shown(&self) -> Option<&[u8]> {
        (self.new > 0 && !self.muted).then(|| self.chunk.latest(self.new))
    }
}

/// What a new run takes over from the one before, in the same terminal.
#[derive(Debug, Default)]
pub(super) struct Inheritance {
    /// The state of the terminal before the session.
    terminal_before: TerminalBefore,
    /// The lines that stay above the new run.
    above: Vec<u8>,
    descendants: Descendants,
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
            above: old.above.take().or_else(|| old.model.look_so_far(repaint::above)).unwrap_or_default(),
            blind: old.model.is_off(),
            descendants: old.descendants.handed_on(),
        }
    }
}

impl ChildRun {
    /// A run that has just started.
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
            ended: None,
            end: None,
            muted: None,
            above: None,
            facts: ScreenFacts::default(),
            seen: 0,
            looked: Stamp(0),
            changed: now,
            revision: 0,
            descendants: old.descendants,
            unread: UnreadInput::default(),
            tidied: false,
        };
        run.model.begin_below(&old.above);
        run.model.change(|screen| {
            screen.set_terminal_before(old.terminal_before);
            screen.answered();
        });
        run
    }

    /// Types these bytes: as many as the program takes at once, the rest when it is ready.
    pub fn write(&mut self, bytes: &[u8]) {
        if !self.at_end && self.input.send(&self.pty, bytes).is_err() {
            self.input.clear();
        }
    }

    /// The program is ready for more typed bytes.
    fn flush(&mut self) {
        if self.input.flush(&self.pty).is_err() {
            self.input.clear();
        }
    }

    /// Reads some output, which goes to people's terminals and then back to [`ChildRun::feed`]. `None`: there
    /// is no more.
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
            self.at_end = self.ended.is_some();
            self.away = (!self.at_end).then(|| at.after(AWAY_MS));
        }
        new > 0
    }

    /// Whether the program has not ended, as far as is known.
    pub(super) fn lives(&self) -> bool {
        self.ended.is_none() && self.end.is_none()
    }

    /// Whether its end can be reported: the terminal is drained, or others have kept it open for long enough.
    fn is_drained(&self, at: Stamp, now: Stamp) -> bool {
        self.at_end || now >= at.after(DRAIN_MS)
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
        let drain = self.ended.map(|(at, _)| at.after(DRAIN_MS));
        let look = (self.model.revision() != self.seen
            && self.looked.after(crate::host::shown::LOOK_MS) > now)
            .then(|| self.looked.after(crate::host::shown::LOOK_MS));
        [drain, self.descendants.deadline(), look, self.away, self.model.due()].into_iter().flatten().min()
    }

    /// Restores a terminal that shows this run's output.
    pub fn undo(&mut self) -> Vec<u8> {
        self.muted.clone().unwrap_or_else(|| self.model.undo())
    }

    /// Whether all its descendants have ended.
    pub fn is_clear(&self) -> bool {
        self.descendants.are_gone()
    }

    /// Whether remaining descendants still have time to end.
    pub fn has_leftovers(&self) -> bool {
        self.descendants.have_time()
    }

    /// The host ends although the child may live: closing the terminal ends the child.
    pub fn abandon(self) {
        self.descendants.kill();
    }
}

impl Host {
    pub(in crate::host) fn spawn_now(&mut self, next: NextRun) {
        let NextRun { number, start, conversation, prompt, .. } = next;
        let size = self.child.run.as_ref().map_or(self.launch.size, |run| run.size);
        self.observer.set_working_dir(None);
        let old = self.child.run.take().map(Inheritance::of).unwrap_or_default();
        match self.try_spawn(number, (start, prompt), conversation.as_ref(), size) {
            Ok((pty, pid)) => {
                let term = self.child_term();
                let lines = self.launch.config.terminal.scrollback_lines as usize;
                let model = ScreenModel::of_run(size, lines, takes_window_names(&term));
                let blind = old.blind;
                let mut run = ChildRun::new(
                    (number, pid),
                    pty,
                    model,
                    size,
                    Capabilities::of(&term),
                    old,
                    self.clock.now(),
                );
                let total = run.model.look(Screen::history_total).unwrap_or_default();
                self.child.run = Some(run);
                self.terminals.begin_run(total);
                if blind {
                    self.on_terminals(Terminals::fit);
                }
                self.observer.run_started(self.paths.claude_session(pid));
                self.events.push_back(Event::Started {
                    run: number,
                    pid,
                    next: Some(crate::host::start::fresh_id()),
                });
            }
            Err(error) => {
                self.child.launching.failure = Some(format!("{}: {error}", self.launch.program.display()));
                self.events.push_back(Event::CouldNotStart { run: number, code: error.code() });
            }
        }
    }

    fn try_spawn(
        &mut self,
        number: u32,
        (start, prompt): (StartKind, bool),
        conversation: Option<&ConversationId>,
        size: Size,
    ) -> Result<(Pty, i32), SpawnError> {
        let pty = self.child.processes.open(size)?;
        let slave = pty.open_slave()?;
        let typed = std::mem::take(&mut self.launch.ahead);
        if let Some(found) = &self.launch.termios {
            ahead::put(&pty, found, &typed, |wanted| modes::set(&slave, wanted, TakeEffect::Now))?;
            self.note_typed(&typed.bytes());
        }
        let (mut args, env) = self.command(number, start, conversation);
        if let Some(text) = self.keyboard.carried.text().filter(|_| prompt) {
            args.extend(["--".into(), text.into()]);
        }
        let program = self.child.lent.program(&self.launch, args, env, self.dir.clone());
        let pid = self.child.processes.start(&pty, &program)?;
        Ok((pty, pid))
    }

    /// The master is ready: first forward output, then feed it to the screen, then write waiting input.
    pub(in crate::host) fn master_ready(&mut self, ready: FdReadiness) {
        let Some(run) = &mut self.child.run else { return };
        if ready.write {
            run.flush();
        }
        let reads = if ready.read { READS } else { 0 };
        let _ = (0..reads).all(|_| self.read_output() && self.goes_on());
    }

    pub(in crate::host) fn read_output(&mut self) -> bool {
        self.on_terminals(Terminals::set_slow_aside);
        let Some(output) = self.child.run.as_mut().and_then(|run| run.read(&self.clock)) else {
            return false;
        };
        if let Some(bytes) = output.shown() {
            self.show(bytes);
        }
        self.child.run.as_mut().is_some_and(|run| run.feed(output))
    }

    /// Feeds the screen model if that is due, and checks the result.
    pub(in crate::host) fn feed_model(&mut self) {
        let Some(run) = &mut self.child.run else { return };
        if !run.model.feed_when_due(&self.clock) && run.model.is_bursting() {
            return;
        }
        if run.model.take_relief(self.clock.now()) {
            memory::give_back();
        }
        if run.model.take_failure() {
            self.events.push_back(Event::Degraded { part: "screen model".to_owned() });
            self.on_terminals(Terminals::fit);
        }
        self.on_terminals(Terminals::keep_notifications);
        let Some(run) = &mut self.child.run else { return };
        run.note_change(self.clock.now());
        let shown =
            run.model.look_so_far(|screen| (screen.alternate(), screen.is_on(TerminalMode::BracketedPaste)));
        match shown {
            Some((true, _)) => self.child.full_screen = Some(true),
            Some((false, true)) => {
                self.child.full_screen.get_or_insert(false);
            }
            _ => {}
        }
    }

    pub(in crate::host) fn child_changed(&mut self) {
        self.child.take_changes(self.clock.now(), &mut self.events);
    }

    /// Whether a process has opened the terminal again after the child closed it.
    pub(in crate::host) fn look_for_opened(&mut self) {
        let now = self.clock.now();
        if self.child.run.as_ref().is_some_and(|run| run.is_to_be_looked_at(now)) {
            self.read_output();
        }
    }

    /// Output comes before the exit: the end is reported when the terminal is drained.
    pub(in crate::host) fn finish_run(&mut self) {
        let Some((at, end)) = self.child.run.as_ref().and_then(|run| run.ended) else { return };
        // Little output remains; more comes only from another process that keeps the terminal open.
        let mut left = DRAIN_READS;
        while left > 0 && self.read_output() {
            left -= 1;
        }
        let now = self.clock.now();
        let Some(run) = &mut self.child.run else { return };
        if left > 0 && !run.is_drained(at, now) {
            return;
        }
        run.ended = None;
        run.end = Some(end);
        run.at_end = true;
        let number = run.number;
        // Undoes the modes that the child left set, and nothing else.
        let mut undo = run.undo();
        run.muted = None;
        if matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { .. }, .. }) {
            let line = self.going_on();
            undo.extend_from_slice(line.as_bytes());
            if let Some(above) = self.child.run.as_mut().and_then(|run| run.above.as_mut()) {
                above.extend_from_slice(line.as_bytes());
            }
        }
        if !undo.is_empty() {
            self.show(&undo);
        }
        self.drop_hooks();
        self.child.last_end = Some(end);
        self.events.push_back(Event::Child { run: number, end });
    }

    pub(in crate::host) fn signal_child(&mut self, signal: Signal, group: bool) {
        if signal == Signal::TERM
            && matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { .. }, .. })
        {
            self.mute();
        }
        self.child.signal(signal, group, self.launch.agent);
    }

    /// Claude's output while it exits would only clutter the screen of the next run.
    fn mute(&mut self) {
        // No prompt box can be found in half a frame, and output that is already written belongs to the
        // screen. Bounded, because a program may write forever.
        (0..16).all(|_| self.read_output());
        self.save_draft();
        let (undo, last, above) = (self.without_the_box(), self.last_lines(), self.left_above());
        if let Some(run) = &mut self.child.run {
            if run.muted.is_none() {
                run.above = above;
            }
            let ending = run.model.look(Screen::ending).unwrap_or(END_OF_ANYTHING);
            let undo = [ending, &undo, &run.model.undo_so_far(), &last].concat();
            run.muted.get_or_insert(undo);
        }
    }

    pub(in crate::host) fn collect_tree(&mut self) {
        if self.launch.config.restart.reap == crate::core::config::Reap::Tree {
            self.child.collect_tree();
        }
    }

    pub(in crate::host) fn reap_tree(&mut self) {
        let now = self.clock.now();
        if let Some(run) = &mut self.child.run
            && let processes @ 1.. = run.descendants.end(now)
        {
            self.events.push_back(Event::Reaped { run: run.number, processes });
        }
    }

    pub(in crate::host) fn end_leftovers(&mut self) {
        if let Some(run) = &mut self.child.run {
            run.descendants.kill_late(self.clock.now());
        }
    }
}
