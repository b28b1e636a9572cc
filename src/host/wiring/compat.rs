//! The source documents' own forms: what happened is reported to [`SessionCompat`], and what comes of it is
//! done on the worker. A failure never delays a hand-over, and is a line of the journal.
//!
//! [`SessionCompat`]: crate::core::compat::SessionCompat

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::core::claude::hooks::HookInput;
use crate::core::compat::{About, CompatWork, LayoutPlace, MemoryReason};
use crate::core::file_edit::FileEdit;
use crate::core::handoff::capture::Capture;
use crate::core::handoff::entry::HandoffKind;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::action::{Decision, HookAnswer};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StopFor};
use crate::fs::edits::{self, Disk};
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::sys::clock::{Clock, local};

impl Host {
    /// Does what a form asks for.
    pub(super) fn do_compat(&mut self, work: CompatWork) {
        let now = Clock::wall();
        match work {
            CompatWork::WriteLayouts(chosen, of) => {
                let place = self.layout_place();
                self.jobs
                    .work(move || JobEvent::Limited(edits::make_each(place.write(&chosen, &of, &Disk, now))));
            }
            CompatWork::SettleLayouts(id) => self.settle_layouts(id),
            CompatWork::CopyTranscript(reason, due) => {
                let (place, capture) = (self.layout_place(), self.capture_now());
                self.jobs.work(move || {
                    let copy = place.copy(&reason, &Disk, now, capture.as_ref());
                    let made = copy.map(|(copy, steps)| edits::make(steps).map(|()| copy)).transpose();
                    let failed = |e| format!("The transcript could not be copied for layout memory: {e}");
                    JobEvent::Copied(due, made.map_err(failed))
                });
            }
            CompatWork::WriteFile(name, text) => {
                self.jobs.write_small(self.paths.claude.join(name), text);
            }
            CompatWork::AppendLines(name, lines) => {
                let path = self.paths.claude.join(name);
                self.jobs.work(move || {
                    let at = local(now);
                    let text: String = lines.iter().map(|line| format!("[{at}] {line}\n")).collect();
                    edits::make(vec![Ok(FileEdit::Append(path, text))])
                        .map_or_else(JobEvent::Failed, |()| JobEvent::Quiet)
                });
            }
        }
    }

    /// Where the conversation stands.
    fn capture_now(&self) -> Option<Capture> {
        let conversation = self.observer.transcript()?.conversation.clone();
        Some(self.capture(conversation, HandoffKind::Auto, String::new()))
    }

    fn layout_place(&self) -> LayoutPlace {
        let host = std::process::id();
        LayoutPlace {
            project: self.dir.clone(),
            claude: self.paths.claude.clone(),
            channel: self.channel.clone(),
            pid: self.child.run.as_ref().and_then(|run| u32::try_from(run.pid).ok()).unwrap_or(host),
            transcript: self.transcript_path(),
        }
    }

    fn transcript_path(&self) -> Option<PathBuf> {
        self.observer.transcript().and_then(|transcript| transcript.path()).map(Path::to_owned)
    }

    /// Removes the files of a handoff's layouts that only waited for its end. A restart may have led
    /// elsewhere; the files are where the handoff was made.
    fn settle_layouts(&mut self, id: HandoffId) {
        let mut place = self.layout_place();
        if let Some(brief) = self.jobs.brief_of(&id) {
            (place.project, place.channel) = brief.made_in.clone();
        }
        self.jobs.work(move || {
            for steps in place.settle(&id, &Disk) {
                let _ = edits::make(steps);
            }
            JobEvent::Quiet
        });
    }

    /// The handoff on its way was saved.
    pub(super) fn write_layouts(&mut self) {
        let brief = self.jobs.brief.as_ref();
        let material = brief.and_then(|brief| brief.material.as_deref());
        if let Some(work) = self.compat.handoff_saved(material) {
            self.do_compat(work);
        }
    }

    /// The transcript of the conversation was found.
    pub(super) fn write_current_session(&mut self) {
        let Some(transcript) = self.observer.transcript() else { return };
        let Some(path) = transcript.path() else { return };
        let work = self.compat.transcript_found(&transcript.conversation, &path.display().to_string());
        if let Some(work) = work {
            self.do_compat(work);
        }
    }

    /// The context usage may be another one.
    pub(super) fn write_context_status(&mut self) {
        let (observer, supervisor, now) = (&self.observer, &self.recorder.supervisor, self.clock.now());
        let of = || (observer.context_usage(now).fill, supervisor.levels());
        if let Some(work) = self.compat.context_usage(of) {
            self.do_compat(work);
        }
    }

    /// A run is about to start with these arguments.
    pub(in crate::host) fn log_command(&mut self, args: &[OsString]) {
        let program = self.launch.program.as_os_str();
        let words = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
        let words: Vec<String> = words.map(OsStr::to_string_lossy).map(Cow::into_owned).collect();
        self.compat.run_starts(&words);
    }

    pub(in crate::host) fn log_decision(&mut self, decision: &Decision) {
        let about = || About {
            pid: std::process::id(),
            dir: self.dir.display().to_string(),
            channel: self.channel.to_string(),
            command: String::new(),
            before: String::new(),
            restarts: self.recorder.supervisor.restarts(),
            code: self.child.last_end.map_or(0, |end| end.code()),
        };
        if let Some(work) = self.compat.decided(decision, about) {
            self.do_compat(work);
        }
    }

    /// A hook call is about to be answered.
    pub(super) fn back_up(&mut self, call: &HookInput, with: &HookAnswer) {
        let hands_over = matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { plan, .. },
            .. } if plan.handoff.is_some());
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
        if !known || self.transcript_path().is_none() {
            return;
        }
        if let Some(work) = self.compat.copy(conversation, reason, &self.dir, Clock::wall()) {
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
        if let Some(run) = &mut self.child.run {
            run.model.change(|screen| screen.feed(text.as_bytes()));
        }
        self.show(text.as_bytes());
    }

    /// The lines between two runs, below hopty's own line.
    pub(in crate::host) fn printed_between(&self) -> String {
        let brief = self.next_handoff().and_then(|id| self.jobs.brief_of(id));
        let material = brief.and_then(|brief| brief.material.as_deref());
        self.compat.between_runs(material, self.recorder.supervisor.restarts() + 1)
    }
}
