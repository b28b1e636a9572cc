//! The program: its output and its end, the start of the next run, its screen, and what scripts and hopty
//! type.

use std::io;

use crate::core::process_change::Signal;
use crate::core::status_segment::Segment;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::next_handover::NextHandover;
use crate::core::supervisor::phase::{Phase, StartKind, StopStep};
use crate::core::supervisor::screen_facts::PromptBox;
use crate::core::supervisor::state::SessionState;
use crate::host::Host;
use crate::host::child::{
    ArgumentSources, ChildRun, LaunchFiles, LaunchPlan, LaunchStep, RunStart, Site, TypingNow,
};
use crate::host::jobs::JobEvent;
use crate::host::jobs::log::log;
use crate::host::keyboard::script_keys;
use crate::host::observer::topic_line;
use crate::host::start::fresh_id;
use crate::host::terminals::Terminals;
use crate::ipc::message::{Code, Failure, RequestId, Send};
use crate::sys::clock::Clock;
use crate::sys::poll::FdReadiness;

/// The most reads of a master in a turn, of some 30 us each: everybody but the person who types waits that
/// long.
const READS: u32 = 8;
/// The most reads of output after a child's death.
const DRAIN_READS: u32 = 256;
/// The most reads of output before a program is muted, which may write forever; and before an Enter or a
/// mark.
const MUTE_READS: u32 = 16;
/// How long after a new state Claude may run its status line by itself, in ms: about 0.5 s after an answer.
const OWN_MS: u64 = 1500;
/// How soon it is made to otherwise.
const SOON_MS: u64 = 50;

/// Output and end.
impl Host {
    /// The master is ready: first forward output, then feed it to the screen, then write waiting input.
    pub(in crate::host) fn master_ready(&mut self, ready: FdReadiness) {
        let Some(run) = &mut self.child.run else { return };
        if ready.write {
            run.flush();
        }
        let reads = if ready.read { READS } else { 0 };
        let _ = (0..reads).all(|_| self.read_output() && self.goes_on());
    }

    /// Reads some output. Returns whether there may be more.
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

    /// Whether to read again at once: in a burst there is more by then, and only keys are polled in between.
    fn goes_on(&self) -> bool {
        let bursts = self.child.run.as_ref().is_some_and(|run| run.model.is_bursting());
        bursts
            && self.terminals.have_room(&self.control)
            && (self.typing_waits() || !self.terminals.have_input(&self.control))
    }

    /// Feeds the screen model if that is due.
    pub(in crate::host) fn feed_model(&mut self) {
        let Some(failed) = self.child.feed_when_due(&self.clock) else { return };
        if failed {
            self.events.push_back(Event::Degraded { part: "screen model".to_owned() });
            self.on_terminals(Terminals::fit);
        }
        self.on_terminals(Terminals::keep_notifications);
        self.child.note_screen(self.clock.now());
    }

    /// Output comes before the exit: the end is reported when the terminal is drained.
    pub(in crate::host) fn finish_run(&mut self) {
        if !self.child.is_ending() {
            return;
        }
        // Little output remains; more comes only from another process that keeps the terminal open.
        let mut left = DRAIN_READS;
        while left > 0 && self.read_output() {
            left -= 1;
        }
        let Some(finished) = self.child.finish(self.clock.now(), left == 0) else { return };
        let mut undo = finished.undo;
        let supervisor = &self.recorder.supervisor;
        if let Some(next) = supervisor.phase().next_run() {
            let brief = next.handoff.as_ref().and_then(|id| self.jobs.brief_of(id));
            let material = brief.and_then(|brief| brief.material.as_deref());
            let below = self.compat.between_runs(material, supervisor.restarts() + 1);
            let line = self.child.on_rows(&self.jobs.reason.handover_line(supervisor));
            let line = format!("\r\x1b[2m{line}\x1b[0m\r\n\r\n{below}");
            undo.extend_from_slice(line.as_bytes());
            self.child.leave_line(&line);
        }
        if !undo.is_empty() {
            self.show(&undo);
        }
        self.drop_hook_calls();
        self.events.push_back(Event::Child { run: finished.number, end: finished.end });
    }

    pub(in crate::host) fn signal_child(&mut self, signal: Signal, group: bool) {
        if signal == Signal::TERM && self.phase().next_run().is_some() {
            // No prompt box can be found in half a frame, and output that is already written belongs to the
            // screen.
            (0..MUTE_READS).all(|_| self.read_output());
            let shown = self.child.view(&mut self.events).and_then(|view| view.prompt_box);
            self.keyboard.draft.save(self.recorder.supervisor.run(), shown.as_ref());
            self.child.mute(shown.as_ref());
        }
        self.child.signal(signal, group, self.session.launch.agent);
    }
}

/// From the order for a run to its start.
impl Host {
    /// Takes the next step of a launch, if it is due.
    pub(in crate::host) fn go_on_launching(&mut self) {
        let is_clear = self.child.run.as_ref().is_none_or(ChildRun::is_clear);
        let step = self.child.launching.due(self.clock.now(), is_clear, self.session.launch.agent);
        self.take_launch_step(step, None);
    }

    /// `settings`: the content of `--settings`, once it is known.
    fn take_launch_step(&mut self, step: Option<LaunchStep>, settings: Option<String>) {
        let fresh = self.child.launching.fresh_conversation();
        let before = self.observer.transcript().map(|transcript| &transcript.conversation);
        let tasks = before.zip(fresh).map(|(before, next)| (before.clone(), next.clone()));
        match step {
            None => {}
            // A person starts it, so they accept what runs code now. Nothing is running yet that could wait.
            Some(LaunchStep::Read { number: number @ 1, dir }) => {
                let Site { found, settings, .. } = self.session.next_site(dir)();
                self.jobs.code.accept(found);
                self.jobs.look_at_trusted(&self.session);
                let given = self.session.launch_order(settings, tasks).write();
                self.launch_files_written(number, given);
            }
            Some(LaunchStep::Read { number, dir }) => {
                let read = self.session.next_site(dir);
                self.jobs.read(move || JobEvent::Site(number, Box::new(read())));
            }
            Some(LaunchStep::Write { number }) => {
                let mut order = self.session.launch_order(settings, tasks);
                let restore = self.session.restore_order(self.jobs.journal.journal_id());
                self.jobs.write_launch(move || {
                    let restored = restore.run();
                    order.dir.clone_from(&restored.dir);
                    JobEvent::Written(number, Box::new(restored), order.write())
                });
            }
            Some(LaunchStep::Start { next, without_hooks }) => {
                self.events.extend(without_hooks.map(|what| Event::Limited { what }));
                self.start_run(&next);
                // The box of source document 002 above the first run of a session that begins from a handoff.
                if let Some(text) = self.compat.take_resume_box() {
                    self.child.print(&text);
                    self.show(text.as_bytes());
                }
            }
            Some(LaunchStep::Hold { changed }) => self.events.push_back(Event::Settings { changed }),
        }
    }

    /// The settings of the next run have been read: they must be what a person accepted.
    pub(super) fn site_read(&mut self, number: u32, site: Site) {
        if !self.child.launching.reads(number) {
            return;
        }
        let changed = self.jobs.code.changes(&site.found);
        self.session.move_to(site.moved);
        let step = self.child.launching.site_read(number, changed, self.clock.now());
        self.take_launch_step(step, site.settings);
    }

    /// The launch files were written or failed.
    pub(super) fn launch_files_written(&mut self, number: u32, given: io::Result<LaunchFiles>) {
        let step = self.child.launching.written(number, given);
        self.take_launch_step(step, None);
    }

    fn start_run(&mut self, next: &LaunchPlan) {
        self.observer.forget_working_dir();
        let typed = std::mem::take(&mut self.session.launch.ahead);
        if self.session.launch.termios.is_some() {
            self.keyboard.draft.note(&typed.bytes(), self.clock.now());
        }
        if next.start == StartKind::Fresh {
            // A fresh conversation goes by the name that the one before had at last.
            self.session.rename_conversation(self.observer.conversation_name());
        }
        let launch = &self.session.launch;
        let mut args = self.child.arguments(&ArgumentSources {
            agent: launch.agent,
            own: &self.session.args,
            start: next.start,
            conversation: next.conversation.as_ref(),
            model: self.observer.started_model(),
            switched: self.observer.switched_model(),
            permission_mode: self.recorder.supervisor.permission_mode(),
            // One that is resumed has its name already.
            name: launch.title.as_deref().filter(|_| next.start != StartKind::Resume && launch.offers.names),
        });
        self.compat.run_starts(&self.session.command_of(&args));
        if let Some(text) = self.keyboard.carried.text().filter(|_| next.prompt) {
            args.extend(["--".into(), text.into()]);
        } else if let Some(text) = self.session.own.prompt.as_deref().filter(|_| next.first_prompt) {
            // One that was submitted while its run was being stopped is carried over.
            if !self.keyboard.carried.unsent().any(|carried| carried == text) {
                args.extend(["--".into(), text.into()]);
            }
        }
        let (name, socket) = (self.session.name(), self.control.socket());
        let env = self.child.environment(next.number, launch.agent, name, socket);
        let start = RunStart {
            number: next.number,
            program: self.child.lent.program(launch, args, env, self.session.dir.clone()),
            size: launch.size,
            found: launch.termios.as_ref(),
            typed: &typed,
            lines: launch.config.terminal.scrollback_lines as usize,
        };
        match self.child.start(&start, self.clock.now()) {
            Ok(started) => {
                self.terminals.begin_run(started.history);
                if started.was_blind {
                    self.on_terminals(Terminals::fit);
                }
                self.observer.run_started(self.session.paths.claude_session(started.pid));
                let (run, pid) = (next.number, started.pid);
                self.events.push_back(Event::Started { run, pid, next: Some(fresh_id()) });
            }
            // From the second run on everything that it is to get waits with it.
            Err(error)
                if error.may_pass()
                    && next.number > 1
                    && matches!(self.phase(), Phase::Spawning { end: None, .. })
                    && self.child.launching.lacks(next.clone(), self.clock.now()) =>
            {
                log(format_args!("cannot start run {} yet: {error}", next.number));
            }
            Err(error) => {
                self.child.launching.failure = Some(format!("{}: {error}", launch.program.display()));
                self.events.push_back(Event::CouldNotStart { run: next.number, code: error.code() });
            }
        }
    }

    /// While the next run is held nothing draws: the terminal shows the reason, and what to do.
    pub(in crate::host) fn print_held(&mut self) {
        let Phase::Cooling { held, .. } = self.phase() else { return };
        let name = self.session.name();
        let text = self.child.on_rows(&format!(
            "hopty: Claude is not started, because settings that run code have changed: {}\nhint: `hopty \
             restart {name}` in another terminal starts it anyway; Ctrl+C ends the session\n",
            held.join(", ")
        ));
        self.child.print_page(&text);
        self.show(format!("\r\n{text}").as_bytes());
    }
}

/// Its screen, as facts for the supervisor, and hopty's segment in it.
impl Host {
    /// Whether hopty types into the prompt box, by a delivery or for a script.
    pub(in crate::host) fn is_typing(&self) -> bool {
        self.phase().is_delivering() || self.keyboard.queue.is_submitting()
    }

    /// Reports changes of the screen to the supervisor while they matter.
    pub(in crate::host) fn tell_screen(&mut self) {
        let phase = self.phase();
        let settling = matches!(phase, Phase::Stopping { step: StopStep::Settle { .. }, .. });
        // A hook call may lead to a stop, which a draft postpones; and whoever was told of a dialog must be
        // told of its end.
        let matters = settling
            || matches!(phase, Phase::Waiting { .. })
            || self.is_typing()
            || !self.control.hooks.is_empty()
            || self.control.waits.for_state()
            || self.recorder.supervisor.stands_still()
            || self.recorder.supervisor.watches_mode(self.clock.now());
        let told = self.child.facts().is_some_and(|facts| facts.dialog.is_some());
        if matters || told {
            self.look_at_screen();
        }
    }

    /// Reports the screen to the supervisor if it has changed.
    pub(super) fn look_at_screen(&mut self) {
        if !self.session.is_claude() {
            return;
        }
        let delivering = self.phase().is_delivering();
        // Never paste into the middle of a key.
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        let unread = self.is_typing()
            && (in_a_sequence
                || self.child.run.as_ref().is_some_and(|run| !run.has_read_all())
                || (!delivering && self.keyboard.held.deadline().is_some()));
        let sent = self.keyboard.queue.text().filter(|_| !delivering);
        let expected = sent.or_else(|| self.jobs.brief.as_ref().and_then(|brief| brief.typed.as_deref()));
        let typing = TypingNow { expected, in_a_sequence };
        self.child.look(self.clock.now(), &typing, unread, &mut self.events);
    }

    /// The person's draft in the prompt box, on one short line without secrets.
    pub(super) fn draft_line(&mut self) -> Option<String> {
        let is_draft = self.child.facts().is_some_and(|facts| facts.prompt == PromptBox::Draft);
        if !is_draft || self.is_typing() || !self.session.is_claude() {
            return None;
        }
        self.child.draft_text(&mut self.events).map(|draft| topic_line(&draft))
    }

    /// The segment in Claude's status line as it is now.
    pub(super) fn segment_of<'a>(&'a self, next: Option<&'a NextHandover>) -> Segment<'a> {
        let config = &self.session.launch.config;
        Segment {
            name: self.session.name().as_str(),
            percent: self.context().known_percent(),
            level: config.context.handoff.percent,
            next,
            now: self.clock.now(),
            prefix: config.terminal.prefix,
            unread: self.terminals.unread_notices(),
            cols: self.child.size().map(|size| size.cols),
        }
    }

    /// Something has changed that the segment may tell.
    pub(in crate::host) fn segment_may_differ(&mut self) {
        let now = self.clock.now();
        let is_new = now.since(self.recorder.supervisor.entered().0) < OWN_MS;
        if self.session.launch.offers.redraws_status_line {
            self.child.segment_may_differ(now, if is_new { OWN_MS } else { SOON_MS });
        }
    }

    /// Has Claude draw a segment anew that is out of date: not while a dialog stands before it, nor while
    /// hopty types.
    pub(in crate::host) fn refresh_segment(&mut self) {
        let now = self.clock.now();
        let Some(mut refresh) = self.child.take_due_segment(now) else { return };
        let step = refresh.step(now, || {
            let supervisor = &self.recorder.supervisor;
            let rests = matches!(supervisor.state().state, SessionState::Idle | SessionState::Busy);
            let types = !matches!(self.phase(), Phase::Running | Phase::Waiting { .. })
                || self.keyboard.sends_deadline(now).is_some();
            let next = supervisor.next_handover(now);
            (rests && !types).then(|| self.segment_of(next.as_ref()).gist())
        });
        self.child.put_segment(refresh, step);
    }
}

/// What scripts and hopty type.
impl Host {
    /// A `send` request.
    pub(super) fn try_send(&mut self, asked: RequestId, wanted: &Send) -> Result<(), Failure> {
        if self.exit.is_some() {
            return Err(Failure::session_has_ended());
        }
        if wanted.submit && self.session.is_claude() {
            let sent = self.keyboard.queue.next_prompt(wanted)?;
            let (id, command) = (self.control.owe(asked), sent.is_command());
            self.keyboard.queue.submit(id, sent, wanted.mark);
            self.child.look_anew();
            // The box must be read before the decision.
            self.look_at_screen();
            self.events.push_back(Event::Submit { id, command });
            return Ok(());
        }
        let modes = self.child.input_modes();
        self.keyboard.queue.add(asked, wanted, modes)?;
        self.type_sends();
        Ok(())
    }

    /// An `answer` request: the key of an option, typed only into the dialog that the person saw.
    pub(super) fn try_answer(&mut self, asked: RequestId, dialog: &str, option: u8) -> Result<(), Failure> {
        self.look_at_screen();
        self.settle();
        if !(1..=9).contains(&option) {
            let what = "an option is a number from 1 to 9";
            return Err(Failure::new(Code::BadRequest, what, "see docs/PROTOCOL.md"));
        }
        if self.recorder.supervisor.state().waiting_for.as_deref() != Some(dialog) {
            let hint = "`hopty status` shows what it waits for";
            return Err(Failure::new(Code::Refused, "it no longer waits for this answer", hint));
        }
        self.events.push_back(Event::Choice { dialog: dialog.to_owned(), option });
        let keys = Some(vec![option.to_string()]);
        self.try_send(asked, &Send { keys, ..Send::default() })
    }

    /// Presses Enter if, at this very moment, the prompt is still alone in the box: Claude may work, and a
    /// dialog may have appeared since the supervisor checked.
    pub(in crate::host) fn enter_sent(&mut self) {
        (0..MUTE_READS).all(|_| self.read_output());
        let shown = self.child.view(&mut self.events).and_then(|view| view.prompt_box);
        let text = self.keyboard.queue.text();
        if text.is_some_and(|text| shown.is_some_and(|shown| shown.holds(text))) {
            self.observer.seek(self.keyboard.queue.entered(Clock::wall().rfc3339_ms()));
            self.mark_prompt();
            self.type_in(b"\r");
        }
    }

    /// Takes the mark of the prompt that is on its way: before its first Enter.
    pub(super) fn mark_prompt(&mut self) {
        let (child, seq, now) = (&mut self.child, self.recorder.supervisor.seq(), self.clock.now());
        self.keyboard.queue.mark_prompt(|| child.take_mark(seq, now));
    }

    /// Types what is due.
    pub(in crate::host) fn type_sends(&mut self) {
        let now = self.clock.now();
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        while let Some(asked) = self.keyboard.queue.first() {
            // The requester is gone, so the request is dropped.
            if self.control.connection(asked.connection).is_none() {
                self.keyboard.queue.drop_first();
                continue;
            }
            if self.exit.is_some() {
                self.keyboard.queue.drop_first();
                self.refuse(asked, Failure::session_has_ended());
                continue;
            }
            let reads = self.child.run.as_ref().is_some_and(ChildRun::takes_input);
            if !reads || self.keyboard.held.must_wait() || in_a_sequence {
                return;
            }
            let mut mark = None;
            if self.keyboard.queue.wants_mark(now) {
                // What the program has written belongs to the screen before the mark.
                (0..MUTE_READS).all(|_| self.read_output());
                mark = self.child.take_mark(self.recorder.supervisor.seq(), self.clock.now());
            }
            let Some((part, done)) = self.keyboard.queue.next(now) else { return };
            self.events.extend(script_keys(&part));
            self.keyboard.draft.note(&part, now);
            self.notifier.queue.sent();
            self.type_in(&part);
            if let Some(typed) = done {
                self.answer(asked, Ok(typed.answer(self.recorder.supervisor.seq(), mark)));
            }
        }
    }
}
