//! Runs the hooks of one event and interprets their answers.
//!
//! Hooks of one event run in parallel; contexts are ordered by the end of their hooks, as measured. What
//! the agent does about the outcome is up to the turn.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::children::{Children, StderrMode};
use super::hook_settings::AgentHook;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookRun {
    pub(super) command: String,
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// How long it took, in milliseconds.
    pub(super) ms: u64,
}

/// A hook's decision about a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    Allow,
    Deny,
}

/// The combined outcome of the hooks of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HooksOutcome {
    /// Each hook that ran, in the order of their ends.
    pub(super) runs: Vec<HookRun>,
    /// Texts for the model.
    pub(super) contexts: Vec<String>,
    /// Texts for the person (`systemMessage`).
    pub(super) messages: Vec<String>,
    /// The reason of a `continue: false`.
    pub(super) stop: Option<String>,
    /// The reason of a `decision: block` or of exit code 2.
    pub(super) block: Option<String>,
    /// A permission that was given or refused.
    pub(super) permission: Option<(Permission, String)>,
}

/// The environment of hooks.
pub(super) struct HookPlace<'a> {
    /// Records the processes.
    pub(super) children: &'a Children,
    pub(super) cwd: &'a Path,
    /// Variables besides the inherited environment.
    pub(super) env: &'a [(String, String)],
    /// The time limit of a hook without a timeout of its own.
    pub(super) limit: Duration,
}

/// Runs the hooks with `payload` on their input.
pub(super) fn run(hooks: &[&AgentHook], payload: &Value, place: &HookPlace<'_>) -> HooksOutcome {
    let event = payload.get("hook_event_name").and_then(Value::as_str).unwrap_or("");
    let input = format!("{payload}\n").into_bytes();
    let mut outcome = HooksOutcome::default();
    thread::scope(|scope| {
        let (ended, all) = mpsc::channel();
        for hook in hooks {
            let (ended, input) = (ended.clone(), &input);
            // A hook that cannot be run has no answer.
            let _ = thread::Builder::new()
                .spawn_scoped(scope, move || drop(ended.send(run_one(hook, input, place))));
        }
        drop(ended);
        for ran in all.into_iter().flatten() {
            outcome.add(event, ran);
        }
    });
    outcome
}

/// `None` if it cannot be started or timed out: its output is then discarded (measured).
fn run_one(hook: &AgentHook, input: &[u8], place: &HookPlace<'_>) -> Option<HookRun> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &hook.command]).current_dir(place.cwd).envs(place.env.iter().cloned());
    if let Some(plugin) = &hook.plugin {
        command.env("CLAUDE_PLUGIN_ROOT", &plugin.root).env("CLAUDE_PLUGIN_DATA", &plugin.data);
    }
    let begun = Instant::now();
    let limit = hook.timeout.unwrap_or(place.limit);
    let done = place.children.run(&mut command, input, StderrMode::Apart, limit).ok()?;
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let ran = HookRun {
        command: hook.command.clone(),
        code: done.code,
        stdout: done.stdout,
        stderr: done.stderr,
        ms,
    };
    (!done.timed_out).then_some(ran)
}

impl HooksOutcome {
    fn add(&mut self, event: &str, ran: HookRun) {
        let answer: Value = serde_json::from_str(ran.stdout.trim()).unwrap_or(Value::Null);
        let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).map(str::to_owned);
        if ran.code == 2 {
            self.block.get_or_insert(ran.stderr.trim().to_owned());
        } else if answer.is_object() && ran.code == 0 {
            if answer.get("continue") == Some(&Value::Bool(false)) {
                self.stop.get_or_insert(text(&answer, "stopReason").unwrap_or_default());
            }
            self.messages.extend(text(&answer, "systemMessage").filter(|text| !text.is_empty()));
            if text(&answer, "decision").as_deref() == Some("block") {
                self.block.get_or_insert(text(&answer, "reason").unwrap_or_default());
            }
            if let Some(special) = answer.get("hookSpecificOutput") {
                self.contexts.extend(text(special, "additionalContext").filter(|c| !c.is_empty()));
                let said = text(special, "permissionDecision")
                    .or_else(|| text(special.get("decision")?, "behavior"));
                let reason = text(special, "permissionDecisionReason").unwrap_or_default();
                match said.as_deref() {
                    Some("allow") => self.permission = Some((Permission::Allow, reason)),
                    Some("deny") => self.permission = Some((Permission::Deny, reason)),
                    _ => {}
                }
            }
        } else if ran.code == 0
            && matches!(event, "SessionStart" | "UserPromptSubmit")
            && !ran.stdout.trim().is_empty()
        {
            self.contexts.push(ran.stdout.trim().to_owned());
        }
        self.runs.push(ran);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ran(code: i32, stdout: &str, stderr: &str) -> HookRun {
        HookRun { command: "c".into(), code, stdout: stdout.into(), stderr: stderr.into(), ms: 1 }
    }

    fn of(event: &str, code: i32, stdout: &str, stderr: &str) -> HooksOutcome {
        let mut outcome = HooksOutcome::default();
        outcome.add(event, ran(code, stdout, stderr));
        outcome
    }

    #[test]
    fn answers_are_read_as_measured() {
        let o = of("PostToolBatch", 0, r#"{"continue":false,"stopReason":"full"}"#, "");
        assert_eq!((o.stop.as_deref(), o.block), (Some("full"), None));
        let o = of("SessionStart", 0, r#"{"hookSpecificOutput":{"additionalContext":"ctx"}}"#, "");
        assert_eq!(o.contexts, ["ctx"]);
        assert_eq!(of("SessionStart", 0, "plain\n", "").contexts, ["plain"]);
        assert_eq!(of("Stop", 0, r#"{"systemMessage":"held"}"#, "").messages, ["held"]);
        assert!(of("Stop", 0, "plain\n", "").contexts.is_empty());
        assert_eq!(of("Stop", 2, "", "why\n").block.as_deref(), Some("why"));
        assert_eq!(of("Stop", 0, r#"{"decision":"block","reason":"r"}"#, "").block.as_deref(), Some("r"));
        let o = of("PermissionRequest", 0, r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}"#, "");
        assert_eq!(o.permission.map(|p| p.0), Some(Permission::Allow));
        let o = of(
            "PreToolUse",
            0,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
            "",
        );
        assert_eq!(o.permission, Some((Permission::Deny, "no".into())));
    }

    #[test]
    fn a_failed_hook_has_no_answer() {
        let o = of("UserPromptSubmit", 1, r#"{"continue":false}"#, "oops");
        assert_eq!((o.stop, o.block, o.contexts.len(), o.runs.len()), (None, None, 0, 1));
    }

    #[test]
    fn hooks_get_the_payload_and_the_environment() {
        let children = Children::default();
        let env = [("PROBE".to_owned(), "p1".to_owned())];
        let place =
            HookPlace { children: &children, cwd: Path::new("/"), env: &env, limit: Duration::from_secs(20) };
        let hook = AgentHook::for_test("Stop", r#"read l; echo "$PROBE $l""#, None);
        let late = AgentHook::for_test("Stop", "sleep 600", Some(Duration::from_millis(10)));
        let outcome = run(&[&hook, &late], &json!({"hook_event_name": "Stop"}), &place);
        assert_eq!(outcome.runs.len(), 1);
        assert_eq!(outcome.runs[0].stdout, "p1 {\"hook_event_name\":\"Stop\"}\n");
    }
}
