//! The lines of `auto-session.log`, the log of source document 001: `[YYYY-MM-DD HH:MM:SS] …`, in local time.
//!
//! Each comes from a decision of the journal, which has more details; the log is for people who follow it
//! with `tail -f`.

use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::supervisor::phase::EndCause;
use crate::core::text::safe_text::{cut_chars, safe_line};

/// The log, in Claude's directory.
pub const FILE: &str = "auto-session.log";
/// The longest command that is written, in characters.
const COMMAND: usize = 500;

/// The facts that the log adds to a decision.
#[derive(Clone, Debug)]
pub struct SessionLogContext {
    /// The host, which is also the monitor.
    pub pid: u32,
    /// The working directory.
    pub dir: String,
    pub channel: String,
    /// The program and the arguments of the current run; secrets are replaced here.
    pub command: String,
    /// How the previous run ended, in a sentence.
    pub before: String,
    /// How often the program was replaced so far.
    pub restarts: u32,
    /// The exit code of the last run.
    pub code: u8,
}

/// The lines for a decision, without their time; empty for most.
pub fn lines(decision: &Decision, about: &SessionLogContext) -> Vec<String> {
    let command = || cut_chars(&safe_line(&about.command), COMMAND);
    let mut texts = Vec::new();
    match decision.kind {
        DecisionKind::SessionStarted => {
            texts.push(format!("=== hopty {} started in {} ===", about.pid, safe_line(&about.dir)))
        }
        DecisionKind::RunSpawned => {
            if decision.run > 1 {
                texts.push(format!(
                    "Auto-restart triggered ({})",
                    safe_line(about.before.trim_end_matches('.'))
                ));
            }
            texts.push(format!("Channel: {}, Restart #{}", about.channel, about.restarts));
            texts.push(format!("Monitor PID: {}", about.pid));
            texts.push(match decision.run {
                0 | 1 => format!("Starting: {}", command()),
                _ => format!("Restarting: {}", command()),
            });
        }
        DecisionKind::RunEnded => {
            texts.push(format!("Claude exited: {}", about.code));
            texts.push(format!("Cause: {}", safe_line(&decision.sentence)));
        }
        DecisionKind::HandoffSaved => texts.push(safe_line(&decision.sentence)),
        DecisionKind::SessionEnded => {
            texts.push(match decision.cause {
                Some(EndCause::UserInterrupt) => "User pressed Ctrl+C - clean exit, no restart".to_owned(),
                Some(EndCause::RestartLimit) => "Max restarts reached".to_owned(),
                Some(EndCause::Finished) => "Clean exit".to_owned(),
                _ => safe_line(&decision.sentence),
            });
            texts.push("=== hopty finished ===".to_owned());
        }
        _ => {}
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(kind: DecisionKind, run: u32, cause: Option<EndCause>) -> Vec<String> {
        let decision = Decision {
            kind,
            run,
            by: None,
            level: None,
            handoff: None,
            conversation: None,
            cause,
            sentence: "It\nwas so.".to_owned(),
            because: Vec::new(),
            held: false,
        };
        let about = SessionLogContext {
            pid: 7,
            dir: "/home/u/proj".into(),
            channel: "web".into(),
            command: "claude -p sk-ant-api03-abcdefghijklmnopqrst0123456789".into(),
            before: "Run 1 was killed by SIGKILL from outside.".into(),
            restarts: 2,
            code: 130,
        };
        let lines = lines(&decision, &about);
        assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
        lines
    }

    #[test]
    fn every_line_of_the_document_has_its_decision() {
        assert_eq!(
            logged(DecisionKind::SessionStarted, 0, None),
            ["=== hopty 7 started in /home/u/proj ==="]
        );
        let starts = logged(DecisionKind::RunSpawned, 1, None);
        assert_eq!(starts[..2], ["Channel: web, Restart #2", "Monitor PID: 7"]);
        assert!(
            starts[2].starts_with("Starting: claude -p ") && !starts[2].contains("0123456789"),
            "{starts:?}"
        );
        let again = logged(DecisionKind::RunSpawned, 2, None);
        assert_eq!(again[0], "Auto-restart triggered (Run 1 was killed by SIGKILL from outside)");
        assert!(again[3].starts_with("Restarting: claude"));
        assert_eq!(logged(DecisionKind::RunEnded, 1, None), ["Claude exited: 130", "Cause: It was so."]);
        for (cause, line) in [
            (EndCause::UserInterrupt, "User pressed Ctrl+C - clean exit, no restart"),
            (EndCause::RestartLimit, "Max restarts reached"),
            (EndCause::Finished, "Clean exit"),
            (EndCause::Killed, "It was so."),
        ] {
            assert_eq!(logged(DecisionKind::SessionEnded, 1, Some(cause)), [line, "=== hopty finished ==="]);
        }
        assert!(logged(DecisionKind::SafePointReached, 1, None).is_empty());
    }
}
