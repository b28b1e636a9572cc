//! The person's prompts and drafts between two runs: what hooks, the transcript and the screen say of them.

use crate::core::ids::ConversationId;
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::HookAnswer;
use crate::core::supervisor::event::HookEvent;
use crate::core::supervisor::phase::Phase;
use crate::core::supervisor::screen_facts::PromptBox;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::control::OpenHookCall;
use crate::host::jobs::NoteState;
use crate::host::keyboard::{leaves_draft, paste};
use crate::host::observer::topic_line;
use crate::sys::clock::Clock;

impl Host {
    /// The hook of a prompt is about to be answered.
    pub(super) fn prompt_answered(&mut self, call: &OpenHookCall, with: &HookAnswer) {
        let hook = &call.call.hook;
        let of_this = !hook.agent && hook.conversation.as_ref() == self.recorder.supervisor.conversation();
        if !of_this || call.call.prompt.is_none() || hook.event != HookEvent::UserPromptSubmit {
            return;
        }
        if !matches!(with, HookAnswer::StopTurn { .. }) {
            // Claude's note on its work is older than this.
            self.jobs.note = NoteState::None;
        } else if let Some(prompt) = call.persons_prompt() {
            let run = self.recorder.supervisor.run();
            let sought = self.keyboard.carried.stop_first(prompt, run, Clock::wall());
            if let (Some(sent), Some(transcript)) = (sought, self.observer.transcript_mut()) {
                transcript.facts.seek(sent);
            }
        }
    }

    /// A prompt that arrives while its run is being stopped gets no answer.
    pub(in crate::host) fn keep_late_prompt(&mut self, id: u64) {
        if matches!(self.phase(), Phase::Stopping { .. })
            && let Some(prompt) = self.control.hooks.get(id).and_then(OpenHookCall::persons_prompt)
        {
            self.keyboard.carried.stop(prompt);
        }
    }

    /// Whether the line of the stopped prompt is there, or its time is up.
    pub(super) fn tell_prompt_line(&mut self, now: Stamp) {
        let facts = self.observer.whole_transcript_mut().map(|transcript| &mut transcript.facts);
        self.events.extend(self.keyboard.carried.report_line(now, facts));
    }

    /// A fresh conversation begins: looks for the prompt in its transcript.
    pub(super) fn seek_carried(&mut self) {
        let sought = self.keyboard.carried.sought(self.recorder.supervisor.run(), Clock::wall());
        if let (Some(sent), Some(transcript)) = (sought, self.observer.transcript_mut()) {
            transcript.facts.seek(sent);
        }
    }

    /// The transcript's evidence for the prompt that began the conversation.
    pub(super) fn tell_carried(&mut self) {
        let Some(transcript) = self.observer.transcript_mut() else { return };
        let (run, carried) = (self.recorder.supervisor.run(), &mut self.keyboard.carried);
        self.events.extend(carried.report(run, &transcript.conversation, &mut transcript.facts));
    }

    /// Types the prompt that begins the fresh conversation. If nobody has it any more, types the prompt that
    /// names the handoff instead.
    pub(in crate::host) fn type_carried(&mut self) {
        let carried = self.keyboard.carried.text().map(str::to_owned);
        let Some(text) = carried.or_else(|| self.jobs.brief.as_ref().map(|brief| brief.prompt(true))) else {
            return;
        };
        let keys = paste(&text);
        if let Some(brief) = &mut self.jobs.brief {
            brief.typed = Some(text);
        }
        self.type_in(&keys);
    }

    /// The fresh conversation provably has it.
    pub(in crate::host) fn carried_submitted(&mut self, conversation: Option<&ConversationId>) {
        self.keyboard.carried.submitted(conversation);
        self.tell_carried();
    }

    /// Saves the draft of a run that ended unexpectedly: the screen still shows its box.
    pub(in crate::host) fn save_lost_draft(&mut self) {
        // An earlier saved draft has not been typed yet. Text from hopty or a script is not a person's.
        let ours = self.keyboard.queue.is_submitting()
            || self.child.run.as_ref().is_some_and(|run| run.facts.prompt == PromptBox::Ours);
        let saved = !self.keyboard.draft.saved().is_empty();
        if leaves_draft(self.phase()) && !ours && !saved && self.session.launch.agent == Agent::Claude {
            let shown = self.view().and_then(|view| view.prompt_box);
            self.keyboard.draft.save(shown.as_ref());
        }
    }

    /// The person's draft in the prompt box, on one short line without secrets.
    pub(super) fn draft_line(&mut self) -> Option<String> {
        let is_draft = self.child.run.as_ref().is_some_and(|run| run.facts.prompt == PromptBox::Draft);
        let ours = self.keyboard.queue.is_submitting() || matches!(self.phase(), Phase::Delivering { .. });
        let draft =
            self.draft_text().filter(|_| is_draft && !ours && self.session.launch.agent == Agent::Claude);
        draft.map(|draft| topic_line(&draft))
    }

    /// The text of the draft in the prompt box, for the handoff.
    pub(super) fn draft_text(&mut self) -> Option<String> {
        self.view()?.prompt_box.map(|shown| shown.text).filter(|text| !text.is_empty())
    }
}
