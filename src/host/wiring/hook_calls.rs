//! Hook calls: each waits until Claude's earlier output is read, becomes an event, and is answered as the
//! supervisor decides.

use serde_json::Value;

use crate::core::claude::hooks;
use crate::core::handoff::operation::Cut;
use crate::core::supervisor::action::{HookAnswer, HookInstruction, Want};
use crate::core::supervisor::event::{Event, HookEvent, PromptOf};
use crate::core::supervisor::next_handover::HandoverWhen;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::control::OpenHookCall;
use crate::host::jobs::NoteState;
use crate::host::observer::{AfterScan, ScanWaiter};
use crate::ipc::answers::HookReply;
use crate::ipc::message::RequestId;
use crate::sys::clock::Clock;

/// How long a PreCompact call waits for its record, in ms. Claude aborts it after 30 s.
const RECORD_MS: u64 = 10_000;

impl Host {
    /// A hook is called: Claude's earlier output is read first. A late call of an ended run does not count
    /// for the next one.
    pub(super) fn hook_request(
        &mut self,
        request_id: RequestId,
        run: Option<u32>,
        event: String,
        payload: Value,
    ) {
        let late = run.is_some_and(|run| run != 0 && run != self.recorder.supervisor.run());
        if late || event == "StatusLine" {
            let segment = if late { String::new() } else { self.status_line(&payload) };
            return self.answer(request_id, Ok(HookReply::text(segment)));
        }
        if event == "SessionStart" && self.compat.conversation_begins() {
            // The scan looks for a copy that has not been reviewed.
            self.observer.scan_backup();
        }
        let followed = self.recorder.supervisor.conversation();
        self.observer.hook_waits(self.clock.now(), request_id, event, payload, followed);
        self.scan_when_due();
    }

    /// Claude runs its status line. Returns hopty's segment in it; empty if it is disabled.
    fn status_line(&mut self, payload: &Value) -> String {
        if self.observer.status_line(payload, self.clock.now()) {
            self.report_transcript_news();
        }
        if !self.session.launch.config.terminal.segment {
            return String::new();
        }
        let next = self.recorder.supervisor.next_handover(self.clock.now());
        let segment = self.segment_of(next.as_ref());
        let (text, gist) = (segment.text(), segment.gist());
        self.child.segment_was_sent(gist);
        text
    }

    /// Handles a hook call; Claude's earlier output was read before. `believed`: the transcript path in the
    /// call may be right.
    pub(super) fn hook_called(
        &mut self,
        request_id: RequestId,
        event: &str,
        payload: &Value,
        believed: bool,
    ) {
        let (call, is_current) = self.read_call(event, payload, believed);
        let now = self.clock.now();
        let is_gone = self.control.connection(request_id.connection).is_none();
        let was_entered = |prompt: &String| self.keyboard.draft.was_entered(prompt, now);
        let is_known = match call.hook.prompt {
            Some(PromptOf::Person) => call.prompt.as_ref().is_some_and(was_entered),
            prompt => matches!(prompt, Some(PromptOf::Ours | PromptOf::Sent)),
        };
        let facts = [is_current, is_known];
        self.observer.take_hook(&call, facts, payload["cwd"].as_str(), &self.session.dir, now);
        match call.hook.event {
            HookEvent::UserPromptSubmit if is_current => {
                // A prompt of Claude's own has emptied no box.
                if !matches!(call.hook.prompt, Some(PromptOf::Scheduled | PromptOf::Claude)) {
                    self.keyboard.draft.prompt_was_submitted(call.prompt.as_deref(), now);
                }
                self.keyboard.prompted = Some(self.recorder.supervisor.run());
                if call.hook.prompt == Some(PromptOf::Person)
                    && let Some(prompt) = &call.prompt
                {
                    self.keyboard.unrecorded.submitted(prompt, self.observer.facts(), now);
                }
            }
            HookEvent::SessionStart if is_current => {
                self.keyboard.draft.turn_has_ended(now);
                self.keyboard.unrecorded.clear();
            }
            HookEvent::Stop if is_current => {
                self.keyboard.draft.turn_has_ended(now);
                // Claude has answered these prompts, even if no transcript can be written.
                self.keyboard.unrecorded.clear();
                self.jobs.note.answer(call.last_message.as_deref());
                // Read the draft in the box before the supervisor decides.
                self.read_claude_screen();
            }
            _ => {}
        }
        let hook = call.hook.clone();
        let saves = hook.event == HookEvent::PreCompact && is_current && hook.conversation.is_some();
        // With nothing to compact Claude only says so.
        let saves = saves && (hook.auto || !self.shows_no_prompt());
        if saves && is_gone {
            return;
        }
        let saves = saves.then(|| now.after(RECORD_MS));
        let id = self.control.hold_call(OpenHookCall { request_id, call, awaits: None, saves });
        if saves.is_some() {
            self.control.hold_hook(id, now);
            self.save_before_compaction(id);
        } else {
            self.events.push_back(Event::Hook { id, hook });
            self.events.extend(is_gone.then_some(Event::HookGone { id }));
        }
    }

    /// Reads a hook call, and whether Claude itself makes it in the followed conversation. `believed`: the
    /// transcript path in the call may be right.
    fn read_call(&self, event: &str, payload: &Value, believed: bool) -> (hooks::HookInput, bool) {
        let expected = self.jobs.brief.as_ref().map(|brief| brief.id.clone());
        let mut call = hooks::read(event, payload, expected.as_ref());
        if !believed {
            call.hook.transcript = None;
        }
        let (now, supervisor) = (self.clock.now(), &self.recorder.supervisor);
        let is_current = !call.hook.agent && call.hook.conversation.as_ref() == supervisor.conversation();
        if call.hook.prompt == Some(PromptOf::Person) {
            let (raw, run) = (payload["prompt"].as_str(), is_current.then(|| supervisor.run()));
            let author = self.keyboard.author_of(raw, call.prompt.as_deref(), run, now);
            let is_scheduled = author == PromptOf::Person
                && self
                    .observer
                    .facts()
                    .zip(raw)
                    .is_some_and(|(facts, prompt)| facts.queue.is_scheduled(prompt));
            call.hook.prompt = Some(if is_scheduled { PromptOf::Scheduled } else { author });
        }
        (call, is_current)
    }

    /// The run is over: the remaining hook calls get no answer. Claude has not worked on the prompts among
    /// them, so the next run gets those.
    pub(super) fn drop_hook_calls(&mut self) {
        let waiting = self.observer.take_hooks();
        let connections: Vec<u64> = waiting.iter().map(|waiter| waiter.request_id.connection).collect();
        let now = self.clock.now();
        for ScanWaiter { request_id, what, .. } in waiting {
            let AfterScan::Hook { event, payload, believed, .. } = what else { continue };
            let (call, is_current) = self.read_call(&event, &payload, believed);
            if is_current && call.hook.event == HookEvent::Stop {
                self.keyboard.unrecorded.clear();
            }
            let is_persons = is_current && call.hook.prompt == Some(PromptOf::Person);
            if let Some(prompt) = call.prompt.as_deref().filter(|_| is_persons) {
                self.keyboard.unrecorded.submitted(prompt, self.observer.facts(), now);
            }
            self.control.hold_call(OpenHookCall { request_id, call, awaits: None, saves: None });
        }
        if let Some(next) = self.phase().next_run() {
            let hands_over = next.handoff.is_some();
            let conversation = self.recorder.supervisor.conversation();
            for prompt in self.control.hooks.persons_prompts(conversation) {
                self.keyboard.carried.stop(prompt);
            }
            for prompt in self.keyboard.unrecorded.take(now) {
                self.keyboard.carried.stop(&prompt);
            }
            if !hands_over {
                self.keep_queue();
            }
        }
        self.control.drop_calls(connections);
    }

    /// The run has ended, and its prompts that wait in Claude's queue are in no handoff.
    pub(in crate::host) fn keep_queue(&mut self) {
        let queue = self.observer.facts().map(|facts| facts.queue.iter().map(str::to_owned).collect());
        let mut queue: Vec<String> = queue.unwrap_or_default();
        self.name_images(&mut queue);
        self.keyboard.keep_queue(queue);
    }

    /// This call needs no answer any more; the supervisor already knows.
    pub(in crate::host) fn forget_call(&mut self, id: u64) {
        self.control.hooks.remove(id);
    }

    pub(in crate::host) fn answer_hook(&mut self, id: u64, with: &HookAnswer) {
        let Some(call) = self.control.hooks.remove(id) else { return };
        let hands_over = self.phase().next_run().is_some_and(|next| next.handoff.is_some());
        if let Some(reason) = self.compat.hook_answered(&call.call, with, hands_over) {
            self.copy_transcript(call.call.hook.conversation.as_ref(), reason);
        }
        if call.is_prompt_in(self.recorder.supervisor.conversation()) {
            if !matches!(with, HookAnswer::StopTurn { .. }) {
                // Claude's hand-over note is older than this prompt.
                self.jobs.note = NoteState::None;
            } else if let Some(prompt) = call.persons_prompt() {
                let run = self.recorder.supervisor.run();
                self.observer.seek(self.keyboard.carried.stop_first(prompt, run, Clock::wall()));
            }
        }
        if matches!(with, HookAnswer::Tell { what: HookInstruction::Note | HookInstruction::NoteInLoop }) {
            self.jobs.note = NoteState::Asked;
        }
        let acts_on_it = match with {
            HookAnswer::Brief { .. } | HookAnswer::Tell { .. } => true,
            HookAnswer::StopTurn { .. } => call.persons_prompt().is_some(),
            _ => false,
        };
        if acts_on_it && self.control.connection(call.request_id.connection).is_some() {
            self.control.hooks.must_be_read(call.request_id.connection, id);
        }
        let event = call.call.hook.event;
        let pending =
            self.compat.copy_reminder(&call.call, with).map(|text| hooks::context_output(event, &text));
        let stdout = match with {
            HookAnswer::Message { .. } if self.segment_shows_wait() => String::new(),
            _ => pending.unwrap_or_else(|| {
                hooks::stdout(event, with, self.jobs.brief.as_ref().map(|brief| &*brief.text))
            }),
        };
        self.answer(call.request_id, Ok(HookReply::text(stdout)));
    }

    /// Whether the segment shows the question of mode `ask`, or that the next prompt hands over. As the words
    /// of a hook, Claude would show it again.
    pub(super) fn segment_shows_wait(&self) -> bool {
        let next = self.recorder.supervisor.next_handover(self.clock.now());
        let waits = next.is_some_and(|next| {
            matches!(next.when, HandoverWhen::Asked | HandoverWhen::Prompt | HandoverWhen::NextPrompt)
        });
        waits && self.session.launch.config.terminal.segment && self.observer.has_status_line()
    }

    pub(in crate::host) fn await_lines(&mut self, id: u64, want: Want, until: Stamp) {
        if want == Want::Prompt {
            self.keyboard.carried.await_line(id, until);
        } else if !self.control.hooks.await_line(id, want, until) {
            self.events.push_back(Event::Lines { id, found: false, cut: Cut::Free });
        }
        self.report_awaited_lines();
        self.observer.read_on();
    }
}
