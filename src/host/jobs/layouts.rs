//! Handoffs in other tools' formats, and the messages for people who configured a source document's habits.
//! The worker writes them; they never delay a hand-over, and a failure is a line of the journal.

use std::path::{Path, PathBuf};

use crate::core::claude::hooks::Call;
use crate::core::compat::boxes;
use crate::core::compat::layouts::memory::{self, Reason};
use crate::core::config::{Layout, Profile};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::action::HookAnswer;
use crate::core::supervisor::event::{Event, HookEvent};
use crate::core::supervisor::phase::{Phase, StopFor};
use crate::fs::layouts::{self, Place};
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::sys::clock::Clock;

/// Copies of layout `memory`.
#[derive(Debug, Default)]
pub(in crate::host) struct MemoryCopies {
    /// The copies that the worker is about to make: their names, unless another process takes the name in the
    /// same second.
    due: Vec<PathBuf>,
    /// The one that nobody has reviewed, as of the last scan.
    pending: Option<PathBuf>,
    /// The last conversation whose end was copied.
    ended: Option<ConversationId>,
}

impl Host {
    pub(in crate::host) fn has_layout(&self, layout: Layout) -> bool {
        self.launch.config.handoff.views.contains(&layout)
    }

    /// Whether the messages of source document 002 are printed.
    pub(in crate::host) fn prints_boxes(&self) -> bool {
        self.has_layout(Layout::Orchestrator) || self.launch.config.context.profile == Profile::S2
    }

    /// Whether a handoff has layouts or boxes.
    pub(in crate::host) fn makes_layouts(&self) -> bool {
        !self.launch.config.handoff.views.is_empty() || self.prints_boxes()
    }

    /// Writes the layouts of the handoff that was just saved.
    pub(in crate::host) fn write_layouts(&mut self) {
        let chosen = self.launch.config.handoff.views.clone();
        let Some(of) =
            self.brief.as_ref().and_then(|frame| frame.material.clone()).filter(|_| !chosen.is_empty())
        else {
            return;
        };
        let host = std::process::id();
        let place = Place {
            project: self.dir.clone(),
            claude: self.paths.claude.clone(),
            channel: self.channel.clone(),
            pid: self.child.run.as_ref().and_then(|run| u32::try_from(run.pid).ok()).unwrap_or(host),
            transcript: self.transcript(),
        };
        self.jobs.work(move || JobEvent::Limited(layouts::write(&chosen, &place, &of, Clock::wall())));
    }

    /// The handoff was consumed: removes the files that only waited for that.
    pub(in crate::host) fn layouts_consumed(&mut self, id: &HandoffId) {
        if [Layout::Pid, Layout::Orchestrator, Layout::Memory]
            .into_iter()
            .any(|layout| self.has_layout(layout))
        {
            // A restart may have led elsewhere; the files are where the handoff was made.
            let frame = self.brief.as_ref().filter(|frame| frame.id == *id);
            let (dir, channel) =
                frame.map_or_else(|| (self.dir.clone(), self.channel.clone()), |frame| frame.made_in.clone());
            let (claude, id) = (self.paths.claude.clone(), id.clone());
            self.jobs.work(move || {
                layouts::consumed(&dir, &claude, &channel, &id);
                JobEvent::Quiet
            });
        }
    }

    /// Layout `memory`: the conversation ends, or is compacted. The hook does not wait: Claude ends hooks
    /// after 1.5 s.
    pub(in crate::host) fn back_up(&mut self, call: &Call, with: &HookAnswer) {
        if call.hook.agent || call.hook.conversation.is_none() {
            return;
        }
        let reason = match call.hook.event {
            // A compaction that is prevented loses nothing.
            HookEvent::PreCompact if !matches!(with, HookAnswer::Block { .. }) => Reason::PreCompact,
            HookEvent::SessionEnd => Reason::Ended(call.reason.clone().unwrap_or_default()),
            HookEvent::SessionStart => {
                self.backups.ended = None;
                return;
            }
            _ => return,
        };
        // The handoff has its own copy.
        let handed_over = matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } if plan.handoff.is_some());
        if !(handed_over && call.hook.event == HookEvent::SessionEnd) {
            self.copy_transcript(call.hook.conversation.as_ref(), &reason);
        }
    }

    /// Layout `memory`: the session is over. Claude was killed, or has no hooks, so its end was not copied
    /// yet.
    pub(in crate::host) fn back_up_last(&mut self) {
        let conversation = self.recorder.supervisor.conversation().cloned();
        if self.backups.ended != conversation {
            self.copy_transcript(conversation.as_ref(), &Reason::Ended(String::new()));
        }
    }

    fn copy_transcript(&mut self, conversation: Option<&ConversationId>, reason: &Reason) {
        // A transcript that was never read has nothing to copy.
        let known = self
            .observer
            .transcript()
            .is_some_and(|t| Some(&t.conversation) == conversation && t.bytes() > 0);
        if !self.has_layout(Layout::Memory) || !known {
            return;
        }
        let (dir, now, reason) = (self.dir.clone(), Clock::wall(), reason.clone());
        let Some(transcript) = self.transcript() else { return };
        let Some(due) = layouts::copy_name(&dir, &reason, now, &self.backups.due) else { return };
        self.backups.due.push(due.clone());
        if matches!(reason, Reason::Ended(_)) {
            self.backups.ended = conversation.cloned();
        }
        self.jobs.work(move || {
            let copy = layouts::copy_for(&dir, &transcript, &reason, now);
            let made = copy
                .map(|copy| layouts::back_up(&dir, &transcript, &reason, now, &copy).map(|()| copy))
                .transpose();
            JobEvent::Copied(
                due,
                made.map_err(|e| format!("The transcript could not be copied for layout memory: {e}")),
            )
        });
    }

    /// A copy was made, or failed.
    pub(in crate::host) fn backed_up(&mut self, due: &Path, made: Result<Option<PathBuf>, String>) {
        self.backups.due.retain(|one| one != due);
        match made {
            Ok(Some(copy)) => self.backups.pending = Some(copy),
            Ok(None) => {}
            Err(what) => self.events.push_back(Event::Limited { what }),
        }
    }

    /// A conversation begins: the scan that its hook waits for looks for a copy that nobody has reviewed.
    pub(in crate::host) fn look_for_backup(&mut self) {
        if self.has_layout(Layout::Memory) {
            self.backups.pending = None;
            self.observer.scan_backup();
        }
    }

    /// The result of that scan.
    pub(in crate::host) fn found_backup(&mut self, copy: Option<PathBuf>) {
        self.backups.pending = copy;
    }

    /// Layout `memory`: the text for a new conversation about a copy that nobody has reviewed, or that is
    /// being made. A conversation that continues from a handoff does not need it.
    pub(in crate::host) fn pending_backup(&self, call: &Call, with: &HookAnswer) -> Option<String> {
        let begins =
            call.hook.event == HookEvent::SessionStart && !call.hook.agent && *with == HookAnswer::Nothing;
        if !begins || !self.has_layout(Layout::Memory) {
            return None;
        }
        let copy = self.backups.due.last().or(self.backups.pending.as_ref());
        copy.map(|path| memory::pending(&path.to_string_lossy()))
    }

    fn transcript(&self) -> Option<PathBuf> {
        self.observer.transcript().and_then(|transcript| transcript.path()).map(Path::to_owned)
    }

    /// The box of source document 002 above the first run, for a session that begins from a handoff.
    pub(in crate::host) fn print_resuming(&mut self) {
        let Some(text) = self.resuming.take() else { return };
        if let Some(run) = &mut self.child.run {
            run.model.change(|screen| screen.feed(text.as_bytes()));
        }
        self.show(text.as_bytes());
    }

    /// The lines between two runs, below hopty's own line: the banner of source document 001, the boxes of
    /// 002.
    pub(in crate::host) fn printed_between(&self) -> String {
        let mut text = String::new();
        let frame = self.brief.as_ref().filter(|frame| Some(&frame.id) == self.next_handoff());
        if let Some(of) = frame.and_then(|frame| frame.material.as_ref()).filter(|_| self.prints_boxes()) {
            text.push_str(&boxes::handing_over(of));
            text.push_str(&boxes::resuming(&of.state.id, &of.state.context.current_objective, of.phases));
        }
        if self.launch.config.context.profile == Profile::S1 {
            text.push_str(&boxes::banner(self.recorder.supervisor.restarts() + 1));
        }
        text.replace('\n', "\r\n")
    }
}
