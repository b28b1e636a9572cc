//! The session's status, and the file that keeps it after the session's end.

use crate::core::ids::HandoffId;
use crate::core::status::{
    HandoffStatus, HandoffUse, HandoverStatus, Rfc3339, SessionSize, SessionStatus, WorkStatus,
};
use crate::core::supervisor::state::SessionState;
use crate::core::visible::escaped;
use crate::host::Host;
use crate::host::observer::topic_line;
use crate::host::session_exit::HostExit;
use crate::sys::clock::{Clock, local};

impl Host {
    /// The session object.
    pub(in crate::host) fn status(&self) -> SessionStatus {
        let supervisor = &self.recorder.supervisor;
        let entered = Some(Rfc3339(self.session.wall(supervisor.entered().0)));
        let standing = supervisor.state();
        let transcript = self.observer.transcript();
        let handoff =
            |id: &HandoffId, status: HandoffUse| HandoffStatus { id: id.clone(), status: status.into() };
        let active = supervisor.active_handoff().map(|id| handoff(id, HandoffUse::Active));
        let consumed = || self.jobs.lineage.predecessor.as_ref().map(|id| handoff(id, HandoffUse::Consumed));
        let size = self.child.run.as_ref().map_or(self.session.launch.size, |run| run.size);
        let status = SessionStatus {
            name: self.session.claim.name.to_string(),
            labels: self.session.launch.labels.iter().map(ToString::to_string).collect(),
            dir: self.session.dir.to_string_lossy().into_owned(),
            agent: self.session.launch.agent.into(),
            command: self.session.command(),
            state: standing.state.into(),
            state_since: entered,
            state_from: standing.from.into(),
            waiting_subject: self.subject_of(standing.waiting_for.as_deref()),
            waiting_for: standing.waiting_for,
            draft: None,
            phase: supervisor.phase().word().to_owned(),
            run: supervisor.run(),
            restarts: supervisor.restarts(),
            pid: supervisor.pid(),
            host_pid: std::process::id(),
            started_at: Some(Rfc3339(self.session.began)),
            machine: self.machine.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            claude_version: self.session.launch.version.clone(),
            conversation: supervisor.conversation().cloned(),
            before: supervisor.conversation_before().cloned(),
            transcript: transcript
                .and_then(|transcript| transcript.path())
                .map(|path| path.to_string_lossy().into_owned()),
            channel: self.session.channel.to_string(),
            context: self.context(),
            work: self.work(),
            limits: self.limits(),
            handoff: active.or_else(consumed),
            next_handover: self.next_handover(),
            size: SessionSize { cols: size.cols, rows: size.rows },
            recording: self.cast.status(),
            clients: self.terminals.list(),
            exit: self.exit.map(HostExit::status),
            ended_at: entered.filter(|_| self.exit.is_some()),
            why: String::new(),
            seq: supervisor.seq(),
            rest: serde_json::Map::new(),
        };
        SessionStatus { why: self.why(&status), ..status }
    }

    /// Why the session is as this status has it.
    pub(super) fn why(&self, status: &SessionStatus) -> String {
        let step = self.recorder.supervisor.handover_step();
        self.explanation.of(status, step.as_ref(), Clock::wall(), local)
    }

    /// What the dialog that is waited for is about: by a hook, or its own first line where no rule names it.
    fn subject_of(&self, dialog: Option<&str>) -> Option<String> {
        let title = || {
            let run = self.child.run.as_ref().filter(|_| dialog == Some("unknown"))?;
            run.dialog_title.as_deref().map(topic_line)
        };
        self.observer.subject_of(dialog).or_else(title)
    }

    /// What the conversation is about; until Claude tells its name, by the one that it was started with.
    fn work(&self) -> WorkStatus {
        let mut work = self.observer.work();
        work.title = work.title.or_else(|| self.session.launch.title.as_deref().map(topic_line));
        work
    }

    /// When the next hand-over comes.
    fn next_handover(&self) -> Option<HandoverStatus> {
        let next = self.recorder.supervisor.next_handover(self.clock.now())?;
        let at = next.at.map(|stamp| Rfc3339(self.session.wall(stamp)));
        Some(HandoverStatus { when: next.when.into(), why: next.why, at })
    }

    /// Writes the session's file a moment later: a terminal waits for the first bytes.
    pub(in crate::host) fn write_session_file_soon(&mut self) {
        self.jobs.session_file.write_soon(self.clock.now());
    }

    /// What a restore needs is saved when a turn begins, and the context usage when it ends: the host may be
    /// killed at any time.
    pub(in crate::host) fn note_turn(&mut self) {
        let entered = self.recorder.supervisor.entered().1;
        let state = self.recorder.supervisor.state().state;
        self.explanation.note(state);
        if self.jobs.session_file.note_state(entered)
            && matches!(state, SessionState::Busy | SessionState::Idle)
        {
            self.write_session_file_soon();
            self.segment_may_differ();
        }
    }

    pub(in crate::host) fn write_session_file_when_due(&mut self) {
        if self.jobs.session_file.deadline().is_some_and(|at| at <= self.clock.now()) {
            self.write_session_file();
        }
    }

    /// Writes `session.json`, which outlives the host. The writer does it, so that the loop does not wait for
    /// a disk.
    pub(in crate::host) fn write_session_file(&mut self) {
        self.jobs.session_file.written();
        let mut text = format!("{:#}", self.status().json());
        text.push('\n');
        self.jobs.journal.put_file(self.session.claim.dir.join("session.json"), escaped(&text).into_bytes());
    }
}
