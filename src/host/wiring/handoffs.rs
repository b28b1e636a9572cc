//! What is known of the conversation, for its handoff.

use crate::core::handoff::capture::Capture;
use crate::core::handoff::entry::HandoffKind;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::action::RestartBy;
use crate::core::supervisor::event::Event;
use crate::host::Host;
use crate::host::jobs::{ClaudeFiles, NoteState};

impl Host {
    /// The data on the conversation, for a record of it.
    pub(super) fn capture(&self, conversation: ConversationId, kind: HandoffKind, reason: String) -> Capture {
        let followed = self.observer.transcript();
        let (path, before) = (self.observer.transcript_path(), self.jobs.lineage.predecessor.clone());
        let origin = self.session.origin(conversation, kind, path, before);
        let (fill, moved_to) = (self.recorder.supervisor.fill(), self.observer.working_dir());
        self.jobs.capture(origin, followed.map(|transcript| &transcript.facts), fill, reason, moved_to)
    }

    fn own_files(&self) -> ClaudeFiles {
        self.jobs.own_files(self.child.pid(), self.session.began)
    }

    /// Has a record saved of what a compaction is about to shorten.
    pub(in crate::host) fn save_before_compaction(&mut self, hook: u64) {
        let Some(conversation) = self.recorder.supervisor.conversation().cloned() else {
            return self.record_settled(hook, Err("no conversation is known".to_owned()), None);
        };
        let mut capture = self.capture(
            conversation,
            HandoffKind::Auto,
            "Claude was about to compact its context.".to_owned(),
        );
        // Its queue stays with the conversation.
        capture.situation.queued.clear();
        let (own, code) = (self.own_files(), self.session.next_found(self.recorder.supervisor.next_dir()));
        self.jobs.save_record(hook, capture, self.session.dir.clone(), own, code);
    }

    /// Has a handoff saved.
    pub(in crate::host) fn save(&mut self, by: RestartBy, claim_for: &ConversationId) {
        let Some(conversation) = self.recorder.supervisor.conversation().cloned() else {
            self.events.push_back(Event::SaveFailed { error: "no conversation is known".to_owned() });
            return;
        };
        let draft = self.draft_text();
        let kind = match by {
            RestartBy::Level => HandoffKind::Auto,
            RestartBy::Signal => HandoffKind::Signal,
            RestartBy::Command => HandoffKind::Manual,
        };
        let mut capture = self.capture(conversation, kind, self.jobs.reason.sentence.clone());
        capture.situation.draft = draft;
        self.hear_note();
        if let NoteState::Said(note) = std::mem::take(&mut self.jobs.note) {
            capture.summary = Some(note.text());
            capture.note = Some(note);
        }
        let queued = self.observer.transcript().map(|transcript| transcript.facts.queued_prompts().collect());
        self.keyboard.carried.found_queued(queued.unwrap_or_default());
        let (own, material) = (self.own_files(), self.compat.needs_material());
        self.jobs.save_handoff(capture, claim_for, self.session.dir.clone(), own, material);
    }

    /// Claude's last message may be its note in a tool loop.
    pub(in crate::host) fn hear_note(&mut self) {
        if let Some(transcript) = self.observer.transcript() {
            self.jobs.note.hear(transcript.facts.last_text());
        }
    }

    pub(in crate::host) fn consume(&mut self, handoff: &HandoffId, conversation: &ConversationId) {
        let work = self.compat.handoff_consumed(handoff);
        self.do_compat(work);
        self.jobs.consume(handoff, conversation);
    }
}
