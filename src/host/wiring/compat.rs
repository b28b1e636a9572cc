//! The source documents' own forms: what happened is reported to [`SessionCompat`], and what comes of it is
//! done on the worker. A failure never delays a hand-over, and is a line of the journal.
//!
//! [`SessionCompat`]: crate::core::compat::SessionCompat

use std::path::{Path, PathBuf};

use crate::core::claude::hooks::HookInput;
use crate::core::compat::{CompatWork, MemoryReason};
use crate::core::handoff::entry::HandoffKind;
use crate::core::ids::ConversationId;
use crate::core::supervisor::action::{Decision, HookAnswer};
use crate::core::supervisor::event::Event;
use crate::host::Host;
use crate::sys::clock::Clock;

impl Host {
    /// Does what a form asks for.
    pub(super) fn do_compat(&mut self, work: Option<CompatWork>) {
        let Some(work) = work else { return };
        let place = self.session.layout_place(self.child.pid(), self.observer.transcript_path());
        let conversation = self.observer.transcript().map(|transcript| transcript.conversation.clone());
        let capture = match work {
            CompatWork::CopyTranscript(..) => {
                conversation.map(|of| self.capture(of, HandoffKind::Auto, String::new()))
            }
            _ => None,
        };
        self.jobs.do_compat(work, place, capture);
    }

    /// The handoff on its way was saved.
    pub(super) fn write_layouts(&mut self) {
        let brief = self.jobs.brief.as_ref();
        let material = brief.and_then(|brief| brief.material.as_deref());
        let work = self.compat.handoff_saved(material);
        self.do_compat(work);
    }

    /// The transcript of the conversation was found.
    pub(super) fn write_current_session(&mut self) {
        let Some(transcript) = self.observer.transcript() else { return };
        let Some(path) = transcript.path() else { return };
        let work = self.compat.transcript_found(&transcript.conversation, &path.display().to_string());
        self.do_compat(work);
    }

    /// The context usage may be another one.
    pub(super) fn write_context_status(&mut self) {
        let (observer, supervisor, now) = (&self.observer, &self.recorder.supervisor, self.clock.now());
        let of = || (observer.context_usage(now).fill, supervisor.levels());
        let work = self.compat.context_usage(of);
        self.do_compat(work);
    }

    pub(in crate::host) fn log_decision(&mut self, decision: &Decision) {
        let (session, restarts) = (&self.session, self.recorder.supervisor.restarts());
        let code = self.child.last_end.map_or(0, |end| end.code());
        let work = self.compat.decided(decision, || session.about(restarts, code));
        self.do_compat(work);
    }

    /// A hook call is about to be answered.
    pub(super) fn back_up(&mut self, call: &HookInput, with: &HookAnswer) {
        let hands_over = self.phase().next_run().is_some_and(|next| next.handoff.is_some());
        if let Some(reason) = self.compat.hook_answered(call, with, hands_over) {
            self.copy_transcript(call.hook.conversation.as_ref(), reason);
        }
    }

    /// The session is over.
    pub(in crate::host) fn back_up_last(&mut self) {
        let conversation = self.recorder.supervisor.conversation().cloned();
        if let Some(reason) = self.compat.session_ended(conversation.as_ref()) {
            self.copy_transcript(conversation.as_ref(), reason);
        }
    }

    fn copy_transcript(&mut self, conversation: Option<&ConversationId>, reason: MemoryReason) {
        // A transcript that was never read has nothing to copy.
        let known = self
            .observer
            .transcript()
            .is_some_and(|t| Some(&t.conversation) == conversation && t.bytes() > 0);
        if known && self.observer.transcript_path().is_some() {
            let work = self.compat.copy(conversation, reason, &self.session.dir, Clock::wall());
            self.do_compat(work);
        }
    }

    /// A copy was made, or failed.
    pub(super) fn backed_up(&mut self, due: &Path, made: Result<Option<PathBuf>, String>) {
        let made = made.unwrap_or_else(|what| {
            self.events.push_back(Event::Limited { what });
            None
        });
        self.compat.copied(due, made);
    }

    /// A conversation begins: the scan that its hook waits for looks for a copy that nobody has reviewed.
    pub(super) fn look_for_backup(&mut self) {
        if self.compat.conversation_begins() {
            self.observer.scan_backup();
        }
    }

    /// The box of source document 002 above the first run, for a session that begins from a handoff.
    pub(in crate::host) fn print_resuming(&mut self) {
        let Some(text) = self.compat.take_resume_box() else { return };
        self.child.print(&text);
        self.show(text.as_bytes());
    }

    /// The lines between two runs, below hopty's own line.
    pub(in crate::host) fn printed_between(&self) -> String {
        let id = self.phase().next_run().and_then(|next| next.handoff.as_ref());
        let brief = id.and_then(|id| self.jobs.brief_of(id));
        let material = brief.and_then(|brief| brief.material.as_deref());
        self.compat.between_runs(material, self.recorder.supervisor.restarts() + 1)
    }
}
