//! The session status, from what each part knows: the JSON of `hopty status --json`.

use crate::core::ids::HandoffId;
use crate::core::status_types::{
    HandoffStatus, HandoffUse, HandoverStatus, Rfc3339, SessionSize, SessionStatus,
};
use crate::host::Host;
use crate::host::session_exit::HostExit;
use crate::sys::clock::{Clock, local};

impl Host {
    pub(in crate::host) fn status(&self) -> SessionStatus {
        let supervisor = &self.recorder.supervisor;
        let entered = Some(Rfc3339(self.session.wall(supervisor.entered().0)));
        let standing = supervisor.state();
        let dialog = standing.waiting_for.as_deref();
        let handoff =
            |id: &HandoffId, status: HandoffUse| HandoffStatus { id: id.clone(), status: status.into() };
        let active = supervisor.active_handoff().map(|id| handoff(id, HandoffUse::Active));
        let consumed =
            || self.jobs.inherited.predecessor.as_ref().map(|id| handoff(id, HandoffUse::Consumed));
        let size = self.child.size().unwrap_or(self.session.launch.size);
        let status = SessionStatus {
            name: self.session.claim.name.to_string(),
            labels: self.session.launch.labels.iter().map(ToString::to_string).collect(),
            dir: self.session.dir.to_string_lossy().into_owned(),
            agent: self.session.launch.agent.into(),
            command: self.session.command(),
            state: standing.state.into(),
            state_since: entered,
            state_from: standing.from.into(),
            waiting_subject: self.observer.subject_of(dialog).or_else(|| self.child.dialog_subject(dialog)),
            waiting_for: standing.waiting_for,
            turn_error: supervisor.turn_error().map(str::to_owned),
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
            transcript: self.observer.transcript_path().map(|path| path.to_string_lossy().into_owned()),
            channel: self.session.channel.to_string(),
            context: self.context(),
            work: self.observer.work(self.session.launch.title.as_deref()),
            limits: self.observer.limits(supervisor.limit()),
            handoff: active.or_else(consumed),
            next_handover: supervisor.next_handover(self.clock.now()).map(|next| {
                let at = next.at.map(|stamp| Rfc3339(self.session.wall(stamp)));
                HandoverStatus { when: next.when.into(), why: next.why, at }
            }),
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

    /// The text of `hopty why`.
    pub(super) fn why(&self, status: &SessionStatus) -> String {
        let supervisor = &self.recorder.supervisor;
        let (step, continues) =
            (supervisor.handover_step(), supervisor.continues_after_limit_at(self.clock.now()));
        let continues = continues.map(|at| self.session.wall(at));
        let interrupted = self.observer.turn_is_interrupted();
        let why = self.explanation.of(status, step.as_ref(), continues, interrupted, Clock::wall(), local);
        match self.jobs.shared.with(supervisor.conversation()) {
            Some(shared) if !why.contains(&shared) => format!("{why} {shared}."),
            _ => why,
        }
    }
}
