//! `auto-session.log` (`compat.session_log`): a line for what a decision means, appended by the worker.

use super::Host;
use super::save::Done;
use crate::core::session_log::{About, lines};
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::Decision;
use crate::fs::views::append;
use crate::io::clock::Clock;

impl Host {
    pub(super) fn log_decision(&mut self, decision: &Decision) {
        if !self.launch.config.compat.session_log || self.launch.agent != Agent::Claude {
            return;
        }
        let mut command = self.launch.program.display().to_string();
        for word in &self.args {
            command.push(' ');
            command.push_str(&word.to_string_lossy());
        }
        let about = About {
            pid: std::process::id(),
            dir: self.dir.display().to_string(),
            channel: self.channel.to_string(),
            command,
            restarts: self.recorder.supervisor.restarts(),
            code: self.last_end.map_or(0, |end| end.code()),
        };
        let text = lines(Clock::wall(), decision, &about);
        if text.is_empty() {
            return;
        }
        let path = self.paths.session_log();
        self.do_quietly(move || append(&path, &text).map_or_else(|e| Done::Failed(e.to_string()), |()| Done::Quiet));
    }
}
