//! The program: its output, its end and its screen.

use crate::claude::pasted_images::pasted_image;
use crate::core::claude::box_placeholders::with_image_files;
use crate::core::claude::screen_reading::ScreenPromptBox;
use crate::core::process_change::Signal;
use crate::core::status_segment::Segment;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::next_handover::NextHandover;
use crate::core::supervisor::phase::{Phase, StopStep};
use crate::core::supervisor::reported_state::SessionState;
use crate::core::supervisor::screen_facts::PromptBox;
use crate::host::Host;
use crate::host::child::TypingNow;
use crate::host::observer::topic_line;
use crate::host::terminals::Terminals;
use crate::sys::clock::Clock;
use crate::sys::poll::FdReadiness;

/// The most reads of a master in a turn, of some 30 us each: all others than the person who types wait that
/// long.
const READS: u32 = 8;
/// The most reads of output after a child's death.
const DRAIN_READS: u32 = 256;
/// The most reads of output before a program is muted, since it may write forever; and before an Enter or a
/// mark.
pub(super) const MUTE_READS: u32 = 16;
/// How long after a change of state Claude may run its status line by itself, in ms: about 0.5 s after an
/// answer.
const OWN_MS: u64 = 1500;
/// How soon Claude is made to redraw it otherwise.
const SEGMENT_DELAY_MS: u64 = 50;

impl Host {
    /// The master is ready: forwards output, then feeds the screen model, then writes waiting input.
    pub(in crate::host) fn master_ready(&mut self, ready: FdReadiness) {
        let Some(run) = &mut self.child.run else { return };
        if ready.write {
            run.flush();
        }
        let reads = if ready.read { READS } else { 0 };
        let _ = (0..reads).all(|_| self.read_output() && self.keeps_reading());
    }

    /// Reads some output. Returns whether there may be more.
    pub(in crate::host) fn read_output(&mut self) -> bool {
        self.on_terminals(Terminals::pause_slow);
        let Some(output) = self.child.run.as_mut().and_then(|run| run.read(&self.clock)) else {
            return false;
        };
        if let Some(bytes) = output.visible() {
            self.show(bytes);
        }
        self.child.run.as_mut().is_some_and(|run| run.feed(output))
    }

    /// Whether to read again at once: in a burst there is more by then, and only keys are polled in between.
    fn keeps_reading(&self) -> bool {
        let bursts = self.child.run.as_ref().is_some_and(|run| run.model.is_bursting());
        bursts
            && self.terminals.have_room(&self.control)
            && (self.typing_waits() || !self.terminals.have_input(&self.control))
    }

    /// Feeds the screen model if due.
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
        while left > 0 && !self.child.is_full() && self.read_output() {
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
            if self.session.is_claude() {
                self.child.keep_pastes(&mut undo);
            }
            undo.extend_from_slice(line.as_bytes());
            self.child.leave_line(&line);
        }
        if !undo.is_empty() {
            self.show(&undo);
        }
        self.drop_hook_calls();
        self.events.push_back(Event::Child { run: finished.number, end: finished.end });
    }

    /// Saves the draft of the run that ends.
    pub(in crate::host) fn save_draft(&mut self, shown: Option<&ScreenPromptBox>) {
        let supervisor = &self.recorder.supervisor;
        let conversation = supervisor.conversation();
        let image = |number| conversation.and_then(|id| pasted_image(id, number));
        self.keyboard.draft.save(supervisor.run(), shown, &image);
    }

    /// Names the images in prompts of this conversation by their files: the next run knows no image by
    /// number.
    pub(in crate::host) fn name_images(&self, prompts: &mut [String]) {
        let conversation = self.recorder.supervisor.conversation();
        let image = |number| conversation.and_then(|id| pasted_image(id, number));
        for prompt in prompts {
            *prompt = with_image_files(prompt, &image);
        }
    }

    pub(in crate::host) fn signal_child(&mut self, signal: Signal, group: bool) {
        if signal == Signal::TERM && self.phase().next_run().is_some() {
            // An incomplete frame has no readable prompt box, and output that is already written belongs to
            // the screen.
            (0..MUTE_READS).all(|_| self.read_output());
            let shown = self.child.view(&mut self.events).and_then(|view| view.prompt_box);
            self.save_draft(shown.as_ref());
            self.child.mute(shown.as_ref());
        }
        self.child.signal(signal, group, self.session.launch.agent);
    }
}

impl Host {
    /// Whether hopty types into the prompt box, by a delivery or for a script.
    pub(in crate::host) fn is_typing(&self) -> bool {
        self.phase().is_delivering() || self.keyboard.queue.is_submitting()
    }

    /// Reports changes of the screen to the supervisor while they matter.
    pub(in crate::host) fn report_screen(&mut self) {
        let phase = self.phase();
        let settling = matches!(phase, Phase::Stopping { step: StopStep::Settle { .. }, .. });
        // A hook call may lead to a stop, which a draft postpones; and the end of a dialog must be reported
        // if its start was.
        let matters = settling
            || matches!(phase, Phase::Waiting { .. })
            || self.is_typing()
            || !self.control.hooks.is_empty()
            || self.control.waits.for_state()
            || self.recorder.supervisor.in_limit_wait()
            || self.recorder.supervisor.watches_mode(self.clock.now());
        let told = self.child.facts().is_some_and(|facts| facts.dialog.is_some());
        if matters || told {
            self.read_claude_screen();
        }
    }

    /// Reports the screen to the supervisor if it has changed.
    pub(super) fn read_claude_screen(&mut self) {
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

    /// The person's draft in the prompt box, on a short line without secrets.
    pub(super) fn draft_line(&mut self) -> Option<String> {
        let is_draft = self.child.facts().is_some_and(|facts| facts.prompt == PromptBox::Draft);
        if !is_draft || self.is_typing() || !self.session.is_claude() {
            return None;
        }
        self.child.draft_text(&mut self.events).map(|draft| topic_line(&draft))
    }

    /// The current segment for Claude's status line.
    pub(super) fn segment_of<'a>(&'a self, next: Option<&'a NextHandover>) -> Segment<'a> {
        let config = &self.session.launch.config;
        let supervisor = &self.recorder.supervisor;
        let is_new = supervisor.conversation_before().is_some()
            && self.explanation.is_new_conversation(supervisor.handover_step().as_ref(), Clock::wall());
        Segment {
            name: self.session.name().as_str(),
            percent: self.context().known_percent(),
            level: config.context.handoff.percent,
            next,
            is_new,
            now: self.clock.now(),
            prefix: config.terminal.prefix,
            unread: self.terminals.unread_notices(),
            cols: self.child.size().map(|size| size.cols),
        }
    }

    /// The segment may have changed.
    pub(in crate::host) fn segment_may_differ(&mut self) {
        let now = self.clock.now();
        let is_new = now.since(self.recorder.supervisor.entered().0) < OWN_MS;
        if self.session.launch.offers.redraws_status_line {
            self.child.segment_may_differ(now, if is_new { OWN_MS } else { SEGMENT_DELAY_MS });
        }
    }

    /// Makes Claude redraw an outdated segment, but not during a dialog or while hopty types.
    pub(in crate::host) fn refresh_segment(&mut self) {
        let now = self.clock.now();
        let Some(mut refresh) = self.child.take_due_segment(now) else { return };
        let step = refresh.step(now, || {
            let supervisor = &self.recorder.supervisor;
            let may_refresh = matches!(supervisor.state().state, SessionState::Idle | SessionState::Busy);
            let types = !matches!(self.phase(), Phase::Running | Phase::Waiting { .. })
                || self.keyboard.sends_deadline(now).is_some();
            let next = supervisor.next_handover(now);
            (may_refresh && !types).then(|| self.segment_of(next.as_ref()).gist())
        });
        self.child.put_segment(refresh, step);
    }
}
