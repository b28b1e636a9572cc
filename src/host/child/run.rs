//! One life of the child: its pseudo-terminal, the screen that listens beside it, and its end.

use super::launching::NextRun;
use super::screen_model::ScreenModel;

use crate::host::terminals::{Capabilities, Terminals, UnreadInput, repaint, takes_window_names};

use crate::core::ids::ConversationId;
use crate::core::process::{ProcessEnd, Signal};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StartKind, StopFor};
use crate::core::supervisor::screen_facts::ScreenFacts;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::pty::ahead;
use crate::pty::open::Pty;
use crate::pty::spawn::SpawnError;
use crate::screen::{Screen, TerminalMode};
use crate::sys::fd::read_some;
use crate::sys::memory;
use crate::sys::outbuf::OutBuf;
use crate::sys::poll::FdReadiness;
use crate::sys::process::Process;
use crate::tty::modes::{self, TakeEffect};
use crate::tty::raw::END_OF_ANYTHING;

/// Bytes waiting for the child above which keys are no longer read: it is the keyboard's turn to wait.
pub(in crate::host) const INPUT_HIGH: usize = 1 << 18;
/// How long after its death a child's output is still waited for while somebody else holds the terminal, in ms.
const DRAIN_MS: u64 = 100;
/// Most reads of a master in a turn, of some 30 us each: everybody but who types waits as long.
const READS: u32 = 8;
/// How many reads of output follow a child's death at most.
const DRAIN_READS: u32 = 256;
/// How often a terminal that nobody has open is looked at again, in ms.
const AWAY_MS: u64 = 200;
/// How long descendants that were left get between SIGTERM and SIGKILL, in ms.
const LEFTOVER_MS: u64 = 2000;

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
    /// The master has nothing more to give.
    pub at_end: bool,
    /// The child lives and has closed its terminal: when to see whether somebody opened it again.
    pub away: Option<Stamp>,
    /// The child is gone; when, and how.
    ended: Option<(Stamp, ProcessEnd)>,
    /// How it ended, once that was reported: its pid may be another process's by now.
    pub end: Option<ProcessEnd>,
    /// What the person does not see: from a stop for a restart on, with what undoes the modes that were on by then.
    pub muted: Option<Vec<u8>>,
    /// What is left on the terminal above the next run, where that is not all that the screen shows.
    pub above: Option<Vec<u8>>,
    pub facts: ScreenFacts,
    pub seen: u64,
    pub looked: Stamp,
    /// When the screen last changed, and its revision then.
    pub changed: Stamp,
    revision: u64,
    tree: Vec<Process>,
    leftovers: Vec<(Process, Stamp)>,
    pub unread: UnreadInput,
}

impl ChildRun {
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        let drain = self.ended.map(|(at, _)| at.after(DRAIN_MS));
        let leftover = self.leftovers.iter().map(|(_, at)| *at).min();
        let look = (self.model.revision() != self.seen && self.looked.after(crate::host::shown::LOOK_MS) > now)
            .then(|| self.looked.after(crate::host::shown::LOOK_MS));
        [drain, leftover, look, self.away, self.model.due()].into_iter().flatten().min()
    }

    /// What puts a terminal back that shows what this run has shown.
    pub fn undo(&mut self) -> Vec<u8> {
        self.muted.clone().unwrap_or_else(|| self.model.undo())
    }

    /// Whether all that hung on it has ended.
    pub fn is_clear(&self) -> bool {
        self.leftovers.iter().all(|(process, _)| process.is_gone())
    }

    /// Whether descendants that were left still have time to end.
    pub fn has_leftovers(&self) -> bool {
        !self.leftovers.is_empty()
    }

    /// The host ends although the child may live: the terminal is closed, which ends it.
    pub fn abandon(self) {
        for (process, _) in &self.leftovers {
            let _ = process.signal(Signal::KILL);
        }
    }
}

impl Host {
    pub(in crate::host) fn spawn_now(&mut self, next: NextRun) {
        let NextRun { number, start, conversation, prompt, .. } = next;
        let conversation = conversation.as_ref();
        let size = self.run.as_ref().map_or(self.launch.size, |run| run.size);
        self.observer.set_working_dir(None);
        let mut old = self.run.take();
        // It is the same terminal, and the old run has been undone.
        let former = old.as_mut().and_then(|old| old.model.look_so_far(|screen| screen.terminal_before().clone())).unwrap_or_default();
        let left = |old: &mut ChildRun| old.above.take().or_else(|| old.model.look_so_far(repaint::above));
        let above = old.as_mut().and_then(left).unwrap_or_default();
        let blind = old.as_ref().is_some_and(|old| old.model.is_off());
        let leftovers = old.map(|old| old.leftovers).unwrap_or_default();
        match self.try_spawn(number, (start, prompt), conversation, size) {
            Ok((pty, pid)) => {
                let lines = self.launch.config.terminal.scrollback_lines as usize;
                let mut model = ScreenModel::of_run(size, lines, takes_window_names(&self.child_term()));
                model.begin_below(&above);
                model.change(|screen| {
                    screen.set_terminal_before(former);
                    screen.answered();
                });
                let total = model.look(Screen::history_total).unwrap_or_default();
                self.terminals.begin_run(total);
                self.run = Some(ChildRun {
                    number,
                    pid,
                    pty,
                    input: OutBuf::default(),
                    model,
                    size,
                    kind: Capabilities::of(&self.child_term()),
                    at_end: false,
                    away: None,
                    ended: None,
                    end: None,
                    muted: None,
                    above: None,
                    facts: ScreenFacts::default(),
                    seen: 0,
                    looked: Stamp(0),
                    changed: self.clock.now(),
                    revision: 0,
                    tree: Vec::new(),
                    leftovers,
                    unread: UnreadInput::default(),
                });
                if blind {
                    self.on_terminals(Terminals::fit);
                }
                self.observer.run_started(self.paths.claude_session(pid));
                self.events.push_back(Event::Started { run: number, pid, next: Some(crate::host::start::fresh_id()) });
            }
            Err(error) => {
                self.launching.failure = Some(format!("{}: {error}", self.launch.program.display()));
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
        let pty = self.processes.open(size)?;
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
        let program = self.lent.program(&self.launch, args, env, self.dir.clone());
        let pid = self.processes.start(&pty, &program)?;
        Ok((pty, pid))
    }

    /// The master is ready: output forward first, then to the screen; waiting input into it.
    pub(in crate::host) fn master_ready(&mut self, ready: FdReadiness) {
        let Some(run) = &mut self.run else { return };
        if ready.write && run.input.flush(&run.pty).is_err() {
            run.input.clear();
        }
        let reads = if ready.read { READS } else { 0 };
        let _ = (0..reads).all(|_| self.read_output() && self.goes_on());
    }

    pub(in crate::host) fn read_output(&mut self) -> bool {
        self.on_terminals(Terminals::set_slow_aside);
        let Some(run) = &mut self.run else { return false };
        if run.at_end {
            return false;
        }
        let mut chunk = run.model.chunk();
        let read = read_some(&run.pty, chunk.room());
        let now = self.clock.now();
        let new = read.as_ref().ok().copied().flatten().unwrap_or(0);
        let bytes = chunk.took(new);
        run.away = None;
        if new > 0 && run.muted.is_none() {
            self.show(bytes);
        }
        let Some(run) = &mut self.run else { return false };
        run.model.put(chunk, new, now);
        match read {
            Ok(Some(0)) | Err(_) => {
                // The end, or a program that closed its terminal and may open it again by name.
                run.at_end = run.ended.is_some();
                run.away = (!run.at_end).then(|| now.after(AWAY_MS));
                false
            }
            Ok(None) => false,
            Ok(Some(_)) => true,
        }
    }

    /// Feeds the screen model if it is time to, and looks at what came of it.
    pub(in crate::host) fn feed_model(&mut self) {
        let Some(run) = &mut self.run else { return };
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
        let Some(run) = &mut self.run else { return };
        if run.model.revision() != run.revision {
            run.revision = run.model.revision();
            run.changed = self.clock.now();
        }
        let shown = run.model.look_so_far(|screen| (screen.alternate(), screen.is_on(TerminalMode::BracketedPaste)));
        match shown {
            Some((true, _)) => self.full_screen = Some(true),
            Some((false, true)) => {
                self.full_screen.get_or_insert(false);
            }
            _ => {}
        }
    }

    pub(in crate::host) fn child_changed(&mut self) {
        let now = self.clock.now();
        while let Some(run) = &mut self.run
            && run.ended.is_none()
            && run.end.is_none()
        {
            match self.processes.change(run.pid) {
                Ok(Some(end)) if end.is_final() => run.ended = Some((now, end)),
                Ok(Some(end)) => self.events.push_back(Event::Child { run: run.number, end }),
                Ok(None) | Err(_) => break,
            }
        }
        let child = self.run.as_ref().map_or(0, |run| run.pid);
        self.processes.collect_orphans(child);
    }

    /// Whether somebody has opened the terminal again that the child had closed.
    pub(in crate::host) fn look_for_opened(&mut self) {
        let now = self.clock.now();
        if self.run.as_ref().is_some_and(|run| run.away.is_some_and(|at| at <= now)) {
            self.read_output();
        }
    }

    /// Output comes before the exit: the end is reported when the terminal is drained.
    pub(in crate::host) fn finish_run(&mut self) {
        let Some((at, end)) = self.run.as_ref().and_then(|run| run.ended) else { return };
        // What is left is little; more comes only from somebody else who keeps the terminal open.
        let mut left = DRAIN_READS;
        while left > 0 && self.read_output() {
            left -= 1;
        }
        let now = self.clock.now();
        let Some(run) = &mut self.run else { return };
        if !run.at_end && left > 0 && now < at.after(DRAIN_MS) {
            return;
        }
        run.ended = None;
        run.end = Some(end);
        run.at_end = true;
        let number = run.number;
        // Whatever the child left on is turned off again, and nothing else.
        let mut undo = run.undo();
        run.muted = None;
        if matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { .. }, .. }) {
            let line = self.going_on();
            undo.extend_from_slice(line.as_bytes());
            if let Some(above) = self.run.as_mut().and_then(|run| run.above.as_mut()) {
                above.extend_from_slice(line.as_bytes());
            }
        }
        if !undo.is_empty() {
            self.show(&undo);
        }
        self.drop_hooks();
        self.last_end = Some(end);
        self.events.push_back(Event::Child { run: number, end });
    }

    pub(in crate::host) fn signal_child(&mut self, signal: Signal, group: bool) {
        if signal == Signal::TERM && matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { .. }, .. }) {
            self.mute();
        }
        let Some(run) = self.run.as_ref().filter(|run| run.ended.is_none() && run.end.is_none()) else { return };
        let _ = self.processes.signal(run.pid, signal, group);
        // A shell at its prompt ignores SIGTERM, and ends as it does when its window is closed.
        if signal == Signal::TERM && self.launch.agent == Agent::Plain && self.processes.ignores(run.pid, signal) {
            let _ = self.processes.signal(run.pid, Signal::HUP, group);
        }
    }

    /// What Claude writes on its way out would only clutter the screen of the run that follows.
    fn mute(&mut self) {
        // Half a frame has no prompt box to be found; what is written already belongs to the screen. Bounded, because a
        // program may write without end.
        (0..16).all(|_| self.read_output());
        self.save_draft();
        let (undo, last, above) = (self.without_the_box(), self.last_lines(), self.left_above());
        if let Some(run) = &mut self.run {
            if run.muted.is_none() {
                run.above = above;
            }
            let ending = run.model.look(Screen::ending).unwrap_or(END_OF_ANYTHING);
            let undo = [ending, &undo, &run.model.undo_so_far(), &last].concat();
            run.muted.get_or_insert(undo);
        }
    }

    pub(in crate::host) fn collect_tree(&mut self) {
        if let Some(run) = &mut self.run
            && self.launch.config.restart.reap == crate::core::config::Reap::Tree
        {
            // What hung on the child at an earlier look and hangs on the host by now is still of its tree.
            run.tree.retain(|known| !known.is_gone());
            let found = self.processes.descendants(run.pid);
            let new: Vec<Process> = found.into_iter().filter(|p| run.tree.iter().all(|known| known.pid != p.pid)).collect();
            run.tree.extend(new);
        }
    }

    pub(in crate::host) fn reap_tree(&mut self) {
        let until = self.clock.now().after(LEFTOVER_MS);
        if let Some(run) = &mut self.run {
            let before = run.leftovers.len();
            for process in run.tree.drain(..).filter(|p| !p.is_gone()) {
                let _ = process.signal(Signal::TERM);
                run.leftovers.push((process, until));
            }
            if let Ok(processes @ 1..) = u32::try_from(run.leftovers.len() - before) {
                self.events.push_back(Event::Reaped { run: run.number, processes });
            }
        }
    }

    pub(in crate::host) fn end_leftovers(&mut self) {
        let now = self.clock.now();
        if let Some(run) = &mut self.run {
            run.leftovers.retain(|(process, until)| {
                if now >= *until {
                    let _ = process.signal(Signal::KILL);
                }
                now < *until && !process.is_gone()
            });
        }
    }
}
