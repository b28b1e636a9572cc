//! Layout `orchestrator`: the signal `.handoff-requested` of source document 002 in `.claude/auto-execution/`
//! of the project. hopty writes it beside `state.yaml` when it saves a handoff, and obeys a signal that it
//! did not write.
//!
//! The input is hostile, as for `.restart-session`: the worst result is a line in the journal.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Material, state_yaml};
use crate::core::compat::script_files::MAX_BYTES;
use crate::core::supervisor::restart_signal::RestartSignal;
use crate::core::time::WallTime;

/// The directory of its files, below the project.
pub const DIR: &str = ".claude/auto-execution";
pub const SIGNAL: &str = ".handoff-requested";
/// The file with the state of the task.
pub const STATE: &str = "state.yaml";
/// The author of a signal of hopty's own, which hopty must not obey.
const OURS: &str = "hopty";
/// The status of a task that waits for its next conversation.
const REQUESTED: &str = "handoff_requested";
/// The status of a running task, if no other is known.
const RUNNING: &str = "running";
/// The longest status that is restored, in bytes.
const STATUS: usize = 40;
/// The longest reason, in bytes.
const REASON: usize = 200;

/// The old values of `state.yaml` in hopty's signal, which are restored when the handoff is consumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateBefore {
    /// The status that the orchestrator had written.
    #[serde(default, rename = "previous_status", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The task that hopty wrote because there was none.
    #[serde(default, rename = "wrote_task", skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl StateBefore {
    /// From a signal that hopty wrote; empty if it is gone or somebody else's.
    pub fn of_signal(content: &[u8]) -> StateBefore {
        let word = |word: &String| {
            (1..=STATUS).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        };
        let ours = content.len() <= MAX_BYTES && read(content).is_none();
        let StateBefore { status, task } =
            ours.then(|| serde_json::from_slice(content).ok()).flatten().unwrap_or_default();
        StateBefore { status: status.filter(word), task }
    }
}

/// The text of `.handoff-requested` for a saved handoff.
pub fn signal(of: &Material, before: &StateBefore) -> String {
    let state = &of.state;
    let mut value = json!({
        "requested_at": state.created_at,
        "checkpoint_id": of.checkpoint(),
        "reason": if state.kind == "auto" { "token_limit" } else { "requested" },
        "tokens_used": state.tokens_used,
        "tokens_max": state.tokens_max,
        "resume_from": of.phases.done,
        "requested_by": OURS,
    });
    if let (Value::Object(value), Ok(Value::Object(before))) = (&mut value, serde_json::to_value(before)) {
        value.extend(before);
    }
    serde_json::to_string_pretty(&value).map(|text| text + "\n").unwrap_or_default()
}

/// `state.yaml` for a saved handoff, and the data for its signal. The rest of the file stays, even a task
/// that another program wrote. `before` is the data of an earlier handoff's signal that is not consumed yet.
///
/// # Errors
/// If the old file has a form that cannot be changed line by line.
pub fn state(
    of: &Material,
    old: &str,
    before: StateBefore,
) -> Result<(String, StateBefore), state_yaml::NotSimple> {
    let checkpoint = of.checkpoint();
    let written = state_yaml::value(old, "current_task");
    let ours = written.is_none() || written == before.task.as_deref();
    let task = of.current_task.as_ref().filter(|_| ours);
    let mut values = vec![("status", REQUESTED), ("checkpoint_id", checkpoint.as_str())];
    if let Some(task) = task {
        values.insert(1, ("current_task", task));
    }
    let status = match state_yaml::status(old) {
        Some(REQUESTED) => before.status,
        other => other.map(str::to_owned),
    };
    Ok((state_yaml::updated(old, &values)?, StateBefore { status, task: task.cloned() }))
}

/// `state.yaml` after the handoff of `checkpoint` was consumed: the old status is restored, and the task that
/// hopty wrote is removed. `None` if the file no longer asks for that handoff, or cannot be changed line by
/// line.
pub fn consumed(old: &str, checkpoint: &str, before: &StateBefore) -> Option<String> {
    let asks = state_yaml::status(old) == Some(REQUESTED)
        && state_yaml::value(old, "checkpoint_id") == Some(checkpoint);
    let status = before.status.as_deref().unwrap_or(RUNNING);
    let new = state_yaml::updated(old, &[("status", status)]).ok().filter(|_| asks)?;
    let ours = before.task.is_some() && state_yaml::value(old, "current_task") == before.task.as_deref();
    Some(if ours { state_yaml::without(&new, "current_task") } else { new })
}

/// Reads a signal; `None` if hopty itself wrote it.
pub fn read(content: &[u8]) -> Option<RestartSignal> {
    let malformed = |reason: &str| Some(RestartSignal::Malformed { reason: reason.to_owned() });
    if content.len() > MAX_BYTES {
        return malformed("it is too large");
    }
    let Ok(Value::Object(signal)) = serde_json::from_slice::<Value>(content) else {
        return malformed("it is not a JSON object");
    };
    let text = |key: &str| signal.get(key).and_then(Value::as_str);
    if text("requested_by") == Some(OURS) {
        return None;
    }
    let Some(checkpoint) = text("checkpoint_id").filter(|id| is_checkpoint(id)) else {
        return malformed("its checkpoint_id is invalid");
    };
    if text("requested_at").and_then(WallTime::parse_any).is_none() {
        return malformed("its requested_at is not a time");
    }
    if text("reason").is_none_or(|reason| {
        reason.is_empty() || reason.len() > REASON || reason.chars().any(char::is_control)
    }) {
        return malformed("its reason is invalid");
    }
    let number = |key: &str| signal.get(key).is_none_or(|value| value.is_null() || value.is_u64());
    if !["tokens_used", "tokens_max", "resume_from"].into_iter().all(number) {
        return malformed("its numbers are not whole numbers");
    }
    Some(RestartSignal::Here { checkpoint: checkpoint.to_owned() })
}

/// `chk-YYYYMMDD-HHMMSS`.
fn is_checkpoint(id: &str) -> bool {
    let digits = |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
    id.strip_prefix("chk-")
        .and_then(|rest| rest.split_once('-'))
        .is_some_and(|(day, time)| digits(day, 8) && digits(time, 6))
}

#[cfg(test)]
mod tests {
    use super::super::material;
    use super::*;

    #[test]
    fn item_093_the_signal_says_when_why_and_how_full() {
        let of = material();
        let value: Value = serde_json::from_str(&signal(&of, &StateBefore::default())).unwrap();
        assert_eq!(value["requested_at"], of.state.created_at);
        assert_eq!(value["checkpoint_id"], of.checkpoint());
        assert_eq!(value["reason"], "token_limit");
        assert_eq!(
            (value["tokens_used"].as_u64(), value["tokens_max"].as_u64()),
            (Some(82_000), Some(100_000))
        );
        assert_eq!(value["resume_from"], 3);
        assert_eq!(value["resume_from"], of.state.checkpoint.current_phase, "the same phase in both");
        assert_eq!(read(signal(&of, &StateBefore::default()).as_bytes()), None, "hopty does not obey itself");
    }

    #[test]
    fn item_094_the_state_asks_for_a_handoff_and_names_task_and_checkpoint() {
        let of = material();
        let (fresh, before) = state(&of, "", StateBefore::default()).unwrap();
        assert_eq!((&before.task, &before.status), (&of.current_task, &None));
        assert_eq!(
            fresh,
            format!("status: handoff_requested\ncurrent_task: task-4\ncheckpoint_id: {}\n", of.checkpoint())
        );
        let old = "# mine\nstatus: running\nphases:\n  - a\ncheckpoint_id: chk-20250126-143000\n";
        let (new, before) = state(&of, old, StateBefore::default()).unwrap();
        assert_eq!(before.status.as_deref(), Some("running"));
        assert_eq!(
            new,
            format!(
                "# mine\nstatus: handoff_requested\nphases:\n  - a\ncheckpoint_id: {}\ncurrent_task: \
                 task-4\n",
                of.checkpoint()
            )
        );
    }

    #[test]
    fn an_orchestrators_values_stay_and_are_restored() {
        let of = material();
        let old = "status: testing\ncurrent_task: build-7\nphases:\n  - a\n";
        let (new, before) = state(&of, old, StateBefore::default()).unwrap();
        assert!(
            new.contains("current_task: build-7\n") && new.contains("status: handoff_requested\n"),
            "{new}"
        );
        let kept = StateBefore::of_signal(signal(&of, &before).as_bytes());
        assert_eq!((kept.status.as_deref(), &kept.task), (Some("testing"), &None));
        // Another handoff before the first is consumed.
        let (again, before) = state(&of, &new, kept).unwrap();
        assert_eq!((again.as_str(), before.status.as_deref()), (new.as_str(), Some("testing")));
        let done = consumed(&again, &of.checkpoint(), &before).unwrap();
        assert_eq!(done, format!("{old}checkpoint_id: {}\n", of.checkpoint()));
        assert_eq!(consumed(&again, "chk-20200101-000000", &before), None);
        assert_eq!(consumed(&done, &of.checkpoint(), &before), None, "it asks for nothing");
        // A file of hopty's own.
        let (fresh, before) = state(&of, "", StateBefore::default()).unwrap();
        assert_eq!(before.task, of.current_task);
        assert_eq!(
            consumed(&fresh, &of.checkpoint(), &before).unwrap(),
            format!("status: running\ncheckpoint_id: {}\n", of.checkpoint())
        );
        let forged = signal(&of, &before).replace("\"hopty\"", "\"other\"");
        assert_eq!(StateBefore::of_signal(forged.as_bytes()), StateBefore::default());
        let odd = StateBefore { status: Some("a\nb: c".to_owned()), task: None };
        assert_eq!(StateBefore::of_signal(signal(&of, &odd).as_bytes()).status, None);
    }

    #[test]
    fn signals_of_the_form_are_read() {
        let short = r#"{"requested_at": "2025-01-26T14:30:00Z", "checkpoint_id": "chk-20250126-143000", "reason": "token_limit"}"#;
        let asked = Some(RestartSignal::Here { checkpoint: "chk-20250126-143000".to_owned() });
        assert_eq!(read(short.as_bytes()), asked);
        let long = short.replace('}', r#", "tokens_used": 82000, "tokens_max": 100000, "resume_from": 3}"#);
        assert_eq!(read(long.as_bytes()), asked);
    }

    #[test]
    fn hostile_signals_are_malformed() {
        let good = r#"{"requested_at":"2025-01-26T14:30:00Z","checkpoint_id":"chk-20250126-143000","reason":"token_limit","resume_from":3}"#;
        assert!(matches!(read(good.as_bytes()), Some(RestartSignal::Here { .. })));
        let mut cases: Vec<Vec<u8>> =
            ["", "\n", "null", "true", "1", "[]", "{}", "\"chk-20250126-143000\"", "{\"a\":"]
                .map(|s| s.as_bytes().to_vec())
                .to_vec();
        for (from, to) in [
            ("chk-20250126-143000", "chk-20250126-14300"),
            ("chk-20250126-143000", "../../etc/passwd"),
            ("chk-20250126-143000", "chk-2025O126-143000"),
            ("chk-20250126-143000", "chk-20250126-143000\\n"),
            ("\"chk-20250126-143000\"", "7"),
            ("\"chk-20250126-143000\"", "[\"chk-20250126-143000\"]"),
            ("2025-01-26T14:30:00Z", "yesterday"),
            ("\"2025-01-26T14:30:00Z\"", "1737901800"),
            ("\"token_limit\"", "\"\""),
            ("\"token_limit\"", "{}"),
            ("token_limit", "\\u001b[2J"),
            (":3}", ":-3}"),
            (":3}", ":\"3\"}"),
            (":3}", ":1e999}"),
            ("checkpoint_id", "checkpoint"),
        ] {
            cases.push(good.replace(from, to).into_bytes());
        }
        cases.push(format!("{good}{good}").into_bytes());
        cases.push(good.replace("token_limit", &"x".repeat(REASON + 1)).into_bytes());
        cases.push(vec![b'['; 5000]);
        cases.push(vec![b' '; MAX_BYTES + 1]);
        cases.push(vec![0xff, 0xfe]);
        for case in cases {
            let found = read(&case);
            assert!(
                matches!(found, Some(RestartSignal::Malformed { .. })),
                "{:?} -> {found:?}",
                String::from_utf8_lossy(&case)
            );
        }
    }
}
