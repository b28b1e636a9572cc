//! `auto-session.log` (`compat.session_log`): a line for each relevant decision, appended by the worker.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use crate::core::compat::session_log::{About, lines};
use crate::core::handoff::redact::redact_words;
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::fs::layouts::append;
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::sys::clock::{Clock, local};

/// The runs, as far as the log needs them.
#[derive(Debug, Default)]
pub(in crate::host) struct RunLog {
    /// The command of the current run.
    command: String,
    /// How the last run ended.
    before: String,
}

impl Host {
    /// A run is about to start with these arguments.
    pub(in crate::host) fn log_command(&mut self, args: &[OsString]) {
        let program = self.launch.program.as_os_str();
        let words = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
        let words: Vec<String> = words.map(OsStr::to_string_lossy).map(Cow::into_owned).collect();
        self.runs.command = redact_words(&words).join(" ");
    }

    pub(in crate::host) fn log_decision(&mut self, decision: &Decision) {
        if decision.kind == DecisionKind::RunEnded {
            self.runs.before.clone_from(&decision.sentence);
        }
        if !self.launch.config.compat.session_log || self.launch.agent != Agent::Claude {
            return;
        }
        let about = About {
            pid: std::process::id(),
            dir: self.dir.display().to_string(),
            channel: self.channel.to_string(),
            command: self.runs.command.clone(),
            before: self.runs.before.clone(),
            restarts: self.recorder.supervisor.restarts(),
            code: self.child.last_end.map_or(0, |end| end.code()),
        };
        let (at, lines) = (Clock::wall(), lines(decision, &about));
        if lines.is_empty() {
            return;
        }
        let path = self.paths.session_log();
        self.jobs.work(move || {
            let at = local(at);
            let text: String = lines.iter().map(|line| format!("[{at}] {line}\n")).collect();
            append(&path, &text).map_or_else(|e| JobEvent::Failed(e.to_string()), |()| JobEvent::Quiet)
        });
    }
}
