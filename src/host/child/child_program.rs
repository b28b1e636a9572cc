//! The program as the rest of the host uses it: its input, its signals and its deadlines.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::AsFd;

use nix::libc::SIGWINCH;

use super::Child;
use super::child_processes::System;
use super::launching::Launching;
use super::program_run::INPUT_HIGH;
use super::screen_reader::SCREEN_LOOK_MS;
use super::screen_reader::ScreenRules;
use super::segment_refresh::{SegmentRefresh, SizeStep};
use crate::core::process_change::Signal;
use crate::core::screen_mark::ScreenMark;
use crate::core::status_segment::SegmentGist;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::screen_facts::ScreenFacts;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::event_loop::PollToken;
use crate::host::start::InheritedDescriptors;
use crate::host::terminals::ScreenRevision;
use crate::sys::poll::{Interest, PollSet};

/// How long the screen must have been quiet before a turn without a hook counts as over, in ms.
const SCREEN_REST_MS: u64 = 2000;

impl Child {
    pub fn new(inherited: InheritedDescriptors) -> Self {
        Child {
            processes: Box::new(System),
            run: None,
            last_end: None,
            full_screen: None,
            launching: Launching::default(),
            client_env: BTreeMap::new(),
            inherited,
            rules: ScreenRules::default(),
        }
    }

    /// The process id of the program, or of the last one.
    pub fn pid(&self) -> Option<u32> {
        self.run.as_ref().and_then(|run| u32::try_from(run.pid).ok())
    }

    /// Watches the master: for output if `room` and if the screen model has room, and for room if input waits
    /// to be written.
    pub fn register<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>, room: bool) {
        let Some(run) = &self.run else { return };
        match (room && !run.model.is_full() && run.may_have_output(), run.input.is_empty()) {
            (true, true) => set.add(PollToken::Master, run.pty.as_fd(), Interest::Read),
            (true, false) => set.add(PollToken::Master, run.pty.as_fd(), Interest::Both),
            (false, false) => set.add(PollToken::Master, run.pty.as_fd(), Interest::Write),
            (false, true) => {}
        }
    }

    /// The facts of the screen as last reported to the supervisor.
    pub fn facts(&self) -> Option<&ScreenFacts> {
        self.run.as_ref().map(|run| &run.facts)
    }

    /// The revision of the screen that terminals show; `None` without a run, or while its output is muted.
    pub fn terminal_revision(&self) -> Option<ScreenRevision> {
        let run = self.run.as_ref().filter(|run| !run.is_muted())?;
        Some(ScreenRevision { run: run.number, revision: run.model.revision() })
    }

    /// Whether too much typed input waits for more keys to be read.
    pub fn input_is_full(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.input.len() > INPUT_HIGH)
    }

    /// Whether memory that only the run's start needed is still to be freed.
    pub fn needs_tidying(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.is_tidied())
    }

    /// Sets the terminal's size.
    pub fn resize_terminal(&self, size: Size) {
        if let Some(run) = &self.run {
            let _ = run.pty.resize(size);
        }
    }

    /// Asks the program to redraw.
    pub fn ask_redraw(&self) {
        if let Some(run) = &self.run {
            let _ = run.pty.signal_foreground(Signal(SIGWINCH));
        }
    }

    /// Claude was given this segment for its status line.
    pub fn segment_was_sent(&mut self, gist: SegmentGist) {
        if let Some(run) = &mut self.run {
            run.segment.was_sent(gist);
        }
    }

    pub fn segment_deadline(&self) -> Option<Stamp> {
        self.run.as_ref().and_then(|run| run.segment.deadline())
    }

    /// The next deadline of the run.
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        self.run.as_ref().and_then(|run| run.deadline(now))
    }

    /// When the screen last changed.
    pub fn screen_changed(&self) -> Stamp {
        self.run.as_ref().map_or(Stamp(0), |run| run.changed)
    }

    /// When the screen counts as quiet if it does not change until then.
    pub fn quiet_from(&self) -> Stamp {
        self.screen_changed().after(SCREEN_REST_MS)
    }

    /// The number of the run that takes typed input.
    pub fn takes_typing(&self) -> Option<u32> {
        self.run.as_ref().filter(|run| run.takes_typing()).map(|run| run.number)
    }

    /// Whether the program has just written output.
    pub fn flows(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.model.due().is_some())
    }

    /// The next deadline in the middle of a burst of output: the others can wait a millisecond.
    pub fn burst_deadline(&self, now: Stamp) -> Option<Stamp> {
        let due = self.run.as_ref().and_then(|run| run.model.due());
        [due, Some(now.after(1))].into_iter().flatten().min()
    }

    /// When to check the screen for whether the program has read what was typed; nothing else shows that.
    pub fn unread_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.run.as_ref().filter(|run| run.facts.unread).map(|_| now.after(SCREEN_LOOK_MS))
    }

    /// Types a person's input.
    pub fn type_persons(&mut self, bytes: &[u8]) {
        if let Some(run) = &mut self.run {
            run.begin_unread();
            run.write(bytes);
        }
    }

    /// Types input that does not come from a person.
    pub fn type_own(&mut self, bytes: &[u8]) {
        if let Some(run) = &mut self.run {
            run.mix_unread();
            run.write(bytes);
        }
    }

    /// Types the host's answers to queries of the program, as many as it accepts.
    pub fn type_answers(&mut self, answers: Vec<Vec<u8>>) {
        let Some(run) = &mut self.run else { return };
        run.mix_unread();
        for answer in answers {
            if run.input.send(&run.pty, &answer).is_err() {
                break;
            }
        }
    }

    /// What a person typed that the ended program did not read.
    pub fn take_unread(&mut self) -> Option<Vec<u8>> {
        let run = self.run.as_mut().filter(|run| run.reported_exit.is_some())?;
        run.unread.take(&run.pty, &mut run.input)
    }

    /// Takes a mark of the screen; `None` without a screen. `seq`: the number of the last decision.
    pub fn take_mark(&mut self, seq: u64, now: Stamp) -> Option<ScreenMark> {
        let run = self.run.as_mut()?;
        Some(ScreenMark { seq, run: run.number, frame: run.model.take_mark(now)? })
    }

    /// Forces the screen to be read again, because its prompt box is now compared with another text.
    pub fn force_look(&mut self) {
        if let Some(run) = &mut self.run {
            run.force_look();
        }
    }

    /// The segment may have changed: checks it after `ms`.
    pub fn segment_may_differ(&mut self, now: Stamp, ms: u64) {
        if let Some(run) = &mut self.run {
            run.segment.may_differ(now, ms);
        }
    }

    /// The state of the segment, if it needs an action now; return it with [`Child::put_segment`].
    pub fn take_due_segment(&mut self, now: Stamp) -> Option<SegmentRefresh> {
        let run = self.run.as_mut()?;
        run.segment.deadline().filter(|at| *at <= now)?;
        Some(std::mem::take(&mut run.segment))
    }

    /// `step`: how to change the terminal's size. A program that has just ended has no terminal.
    pub fn put_segment(&mut self, refresh: SegmentRefresh, step: Option<SizeStep>) {
        let Some(run) = &mut self.run else { return };
        run.segment = refresh;
        let size = match step {
            Some(SizeStep::Less) if run.size.rows > 2 => Size { rows: run.size.rows - 1, ..run.size },
            Some(_) => run.size,
            None => return,
        };
        let _ = run.pty.resize(size);
    }

    /// Whether the program is stopped, for example by Ctrl+Z.
    pub fn is_stopped(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.reported_exit.is_none() && self.processes.is_stopped(run.pid))
    }

    /// Handles SIGCHLD. A stop is reported at once; an end only after the output has been read.
    pub fn take_changes(&mut self, now: Stamp, events: &mut VecDeque<Event>) {
        while let Some(run) = self.run.as_mut().filter(|run| run.lives()) {
            match self.processes.change(run.pid) {
                Ok(Some(end)) if end.is_final() => run.exit = Some((now, end)),
                Ok(Some(end)) => events.push_back(Event::Child { run: run.number, end }),
                Ok(None) | Err(_) => break,
            }
        }
        let child = self.run.as_ref().map_or(0, |run| run.pid);
        self.processes.collect_orphans(child);
    }

    /// Signals the program or its process group if it is alive.
    pub fn signal(&mut self, signal: Signal, group: bool, agent: ProgramKind) {
        let Some(run) = self.run.as_ref().filter(|run| run.lives()) else { return };
        let _ = self.processes.signal(run.pid, signal, group);
        // A shell at its prompt ignores SIGTERM; it ends on SIGHUP, as if its window were closed.
        if signal == Signal::TERM && agent == ProgramKind::Plain && self.processes.ignores(run.pid, signal) {
            let _ = self.processes.signal(run.pid, Signal::HUP, group);
        }
    }

    /// Records the program's descendants.
    pub fn collect_tree(&mut self) {
        if let Some(run) = &mut self.run {
            run.descendants.collect(self.processes.descendants(run.pid));
        }
    }

    /// Ends the recorded descendants that remain.
    pub fn reap_tree(&mut self, now: Stamp, events: &mut VecDeque<Event>) {
        if let Some(run) = &mut self.run
            && let processes @ 1.. = run.descendants.end(now)
        {
            events.push_back(Event::Reaped { run: run.number, processes });
        }
    }

    /// Kills descendants that did not end in time.
    pub fn kill_late_descendants(&mut self, now: Stamp) {
        if let Some(run) = &mut self.run {
            run.descendants.kill_late(now);
        }
    }
}

#[cfg(test)]
#[path = "child_program_tests.rs"]
mod tests;
