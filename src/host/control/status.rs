//! The session's status, and the file that keeps it after the session's end.

use std::path::PathBuf;

use crate::core::handoff::redact::redact_words;
use crate::core::ids::{HandoffId, SessionName};
use crate::core::process::ProcessEnd;
use crate::core::status::{
    CellSize, ExitKind, ExitStatus, HandoffStatus, HandoffUse, HandoverStatus, Rfc3339, SessionStatus,
};
use crate::core::supervisor::phase::EndCause;
use crate::core::supervisor::state::SessionState;
use crate::core::time::{Stamp, WallTime};
use crate::core::visible::escaped;
use crate::fs::paths::Paths;
use crate::fs::session::{Keeper, NameLock};
use crate::host::Host;
use crate::host::jobs::log::log;
use crate::host::observer::{FileId, OwnFiles, file_id};

/// How long after the start of the first run to write the session's file, in ms.
const SOON_MS: u64 = 5;

/// How a session ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct Exit {
    pub cause: EndCause,
    code: u8,
    signal: Option<i32>,
}

impl Exit {
    /// The code is the program's, in shell form; `end` is the program's last end as the kernel reported it.
    pub fn new(cause: EndCause, code: u8, end: Option<ProcessEnd>) -> Self {
        let signal = match end {
            Some(ProcessEnd::Signaled(signal)) if ProcessEnd::Signaled(signal).code() == code => {
                Some(signal.0)
            }
            _ => None,
        };
        Exit { cause, code, signal }
    }

    pub fn code(self) -> u8 {
        self.code
    }

    /// The `exit` part of the session object.
    pub fn status(self) -> ExitStatus {
        let kind = if self.signal.is_some() { ExitKind::Signaled } else { ExitKind::Exited };
        ExitStatus { kind: kind.into(), code: Some(self.code), signal: self.signal, cause: self.cause.into() }
    }
}

/// What a thread needs to restore the session's directory.
#[derive(Debug)]
pub(in crate::host) struct Restore {
    pub paths: Paths,
    keeper: Keeper,
    /// The path of the journal.
    journal: Option<FileId>,
}

/// What the thread restored.
#[derive(Debug)]
pub(in crate::host) struct Restored {
    claim: Option<NameLock>,
    failed: Option<String>,
    /// The journal file that is gone.
    lost: Option<FileId>,
    pub name: SessionName,
    pub dir: PathBuf,
}

impl Restore {
    pub fn run(&self) -> Restored {
        let (claim, failed) = match self.keeper.restore(&self.paths) {
            Ok(claim) => (claim, None),
            Err(error) => (None, Some(error.to_string())),
        };
        if let Some(claim) = &claim {
            crate::host::jobs::log::to(&claim.dir);
        }
        let (name, dir) = self.keeper.place();
        let there = file_id(&dir.join("journal.jsonl"));
        Restored { claim, failed, lost: self.journal.filter(|id| Some(*id) != there), name, dir }
    }
}

impl Host {
    /// The session object.
    pub(in crate::host) fn status(&self) -> SessionStatus {
        let supervisor = &self.recorder.supervisor;
        let entered = Some(Rfc3339(self.wall(supervisor.entered().0)));
        let standing = supervisor.state();
        let transcript = self.observer.transcript();
        let handoff =
            |id: &HandoffId, status: HandoffUse| HandoffStatus { id: id.clone(), status: status.into() };
        let active = supervisor.active_handoff().map(|id| handoff(id, HandoffUse::Active));
        let consumed = || self.lineage.predecessor.as_ref().map(|id| handoff(id, HandoffUse::Consumed));
        let size = self.child.run.as_ref().map_or(self.launch.size, |run| run.size);
        let mut command = vec![self.launch.called.clone()];
        command.extend(self.args.iter().map(|a| a.to_string_lossy().into_owned()));
        SessionStatus {
            name: self.claim.name.to_string(),
            dir: self.dir.to_string_lossy().into_owned(),
            agent: self.launch.agent.into(),
            command: redact_words(&command),
            state: standing.state.into(),
            state_since: entered,
            state_from: standing.from.into(),
            waiting_for: standing.waiting_for,
            phase: supervisor.phase().word().to_owned(),
            run: supervisor.run(),
            restarts: supervisor.restarts(),
            pid: supervisor.pid(),
            host_pid: std::process::id(),
            started_at: Some(Rfc3339(self.began)),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            claude_version: self.launch.version.clone(),
            conversation: supervisor.conversation().cloned(),
            before: supervisor.conversation_before().cloned(),
            transcript: transcript
                .and_then(|transcript| transcript.path())
                .map(|path| path.to_string_lossy().into_owned()),
            channel: self.channel.to_string(),
            context: self.context(),
            limits: self.limits(),
            handoff: active.or_else(consumed),
            next_handover: self.next_handover(),
            size: CellSize { cols: size.cols, rows: size.rows },
            clients: self.terminals.list(),
            exit: self.exit.map(Exit::status),
            ended_at: entered.filter(|_| self.exit.is_some()),
            why: self.why.clone(),
            seq: supervisor.seq(),
            rest: serde_json::Map::new(),
        }
    }

    /// The wall clock time of a stamp of the session.
    pub(in crate::host) fn wall(&self, stamp: Stamp) -> WallTime {
        WallTime(self.began.0).after(stamp.0)
    }

    /// When the next hand-over comes.
    fn next_handover(&self) -> Option<HandoverStatus> {
        let next = self.recorder.supervisor.next_handover(self.clock.now())?;
        let at = next.at.map(|stamp| Rfc3339(self.wall(stamp)));
        Some(HandoverStatus { when: next.when.into(), why: next.why, at })
    }

    /// Writes the session's file a moment later: a terminal waits for the first bytes.
    pub(in crate::host) fn write_session_file_soon(&mut self) {
        self.session_file_at = Some(self.clock.now().after(SOON_MS));
    }

    /// At the end of a turn the context usage is saved, so that it can be read when the host is gone.
    pub(in crate::host) fn note_turn(&mut self) {
        let entered = self.recorder.supervisor.entered().1;
        if entered != self.session_file_of {
            self.session_file_of = entered;
            if self.recorder.supervisor.state().state == SessionState::Idle {
                self.write_session_file_soon();
            }
        }
    }

    pub(in crate::host) fn write_session_file_when_due(&mut self) {
        if self.session_file_at.is_some_and(|at| at <= self.clock.now()) {
            self.write_session_file();
        }
    }

    /// Notices that its directory or its socket was deleted or moved away. They are restored a moment later.
    pub(in crate::host) fn look_at_own_files(&mut self, found: OwnFiles) {
        let journal = self.journal.journal_id();
        let gone = !found.socket
            || found.lock.is_none()
            || found.lock != self.claim.lock_id()
            || journal.is_some_and(|id| Some(id) != found.journal);
        if gone {
            self.rebind_soon();
        }
    }

    /// Restores the session's directory if it is gone, so that every command finds the session: the lock, the
    /// session's file, the log, and a journal that continues from here. For a thread.
    pub(in crate::host) fn restore(&self) -> Restore {
        Restore { paths: self.paths.clone(), keeper: self.claim.keeper(), journal: self.journal.journal_id() }
    }

    /// The directory was restored, or nothing was missing.
    pub(in crate::host) fn restored(&mut self, restored: Restored) {
        let Restored { claim, failed, lost, .. } = restored;
        if let Some(error) = failed {
            return log(format_args!("cannot recreate the session's directory: {error}"));
        }
        // A journal that was begun meanwhile is not lost.
        let lost = lost.is_some_and(|id| self.journal.writes_to(id));
        if claim.is_none() && !lost {
            return;
        }
        if let Some(claim) = claim {
            self.claim = claim;
            self.socket = self.paths.socket(&self.claim.name);
            log("the session's directory was gone and is recreated");
            self.write_session_file();
        }
        if lost {
            self.renew_journal();
        }
        self.observer.scan_all();
    }

    /// Writes `session.json`, which outlives the host. The writer does it, so that the loop does not wait for
    /// a disk.
    pub(in crate::host) fn write_session_file(&mut self) {
        self.session_file_at = None;
        let mut text = format!("{:#}", self.status().json());
        text.push('\n');
        self.journal.put_file(self.claim.dir.join("session.json"), escaped(&text).into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::process::Signal;

    #[test]
    fn a_code_is_a_signal_only_where_there_was_one() {
        let exit = |code, end| Exit::new(EndCause::Stopped, code, Some(end)).status();
        assert!(exit(143, ProcessEnd::Signaled(Signal::TERM)).kind.is(ExitKind::Signaled));
        assert_eq!(exit(143, ProcessEnd::Signaled(Signal::TERM)).signal, Some(15));
        // Claude turns SIGTERM into a code of its own.
        assert_eq!(exit(143, ProcessEnd::Exited(143)).signal, None);
        assert!(Exit::new(EndCause::CouldNotStart, 127, None).status().kind.is(ExitKind::Exited));
    }
}
