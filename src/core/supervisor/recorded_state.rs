//! The state in an `open` line of a journal, including those of earlier releases, in which most of the state
//! was flat and a run's state stayed after its end.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::Supervisor;

/// Where earlier releases kept the state of a run.
const OF_RUN: [(&str, &str); 22] = [
    ("pid", "run.pid"),
    ("run_started", "run.started"),
    ("stopped", "run.stopped"),
    ("turn", "run.turn.state"),
    ("turn_since", "run.turn.since"),
    ("background", "run.turn.background"),
    ("hooks_seen", "run.hooks.seen"),
    ("held", "run.hooks.held"),
    ("asking", "run.hooks.asking"),
    ("cut", "run.hooks.turn_cut"),
    ("status", "run.file.status"),
    ("status_since", "run.file.since"),
    ("waiting_for", "run.file.waiting_for"),
    ("screen", "run.screen.facts"),
    ("dialog_since", "run.screen.dialog_since"),
    ("box_since", "run.screen.box_since"),
    ("queued", "run.queue.prompts"),
    ("queued_way", "run.queue.first"),
    ("frame_answered", "run.delivery.brief_answered"),
    ("frame_sent", "run.delivery.brief_sent"),
    ("offered", "run.delivery.offered"),
    ("broken_off", "run.delivery.broken_off"),
];

/// Where earlier releases kept the rest.
const OF_SESSION: [(&str, &str); 39] = [
    ("seq", "lines.seq"),
    ("event_seq", "lines.event"),
    ("usage_seq", "lines.usage"),
    ("phase_since", "phase_began.at"),
    ("phase_seq", "phase_began.seq"),
    ("run", "session.runs"),
    ("dir", "session.dir"),
    ("next", "session.next"),
    ("hooks_missed", "session.hooks_missed"),
    ("completed", "session.completed"),
    ("interrupt", "session.interrupt"),
    ("last_code", "session.last_code"),
    ("conversation", "conversation.id"),
    ("spoken", "conversation.spoken"),
    ("measured", "conversation.measured"),
    ("fill", "conversation.fill"),
    ("fired", "conversation.fired"),
    ("began", "conversation.start_level"),
    ("rearm_at_stop", "conversation.rearm_at_stop"),
    ("held_off", "conversation.held_off"),
    ("ask", "conversation.question"),
    ("word", "conversation.word"),
    ("progress", "conversation.progress"),
    ("held_dir", "conversation.held_dir"),
    ("restarts", "budget.times"),
    ("restart_count", "budget.total"),
    ("at_limit", "budget.told"),
    ("crashes", "crash_guard.in_a_row"),
    ("quick_deaths", "crash_guard.quick_deaths"),
    ("delivery_deaths", "crash_guard.delivery_deaths"),
    ("save_job", "handoffs.job"),
    ("active", "handoffs.active"),
    ("consuming", "handoffs.consuming"),
    ("modes", "modes"),
    ("entered", "entered"),
    ("submit", "sending"),
    ("chain", "chain"),
    ("keys", "keys"),
    ("ticked", "ticked"),
];

/// Reads the state of a supervisor in today's form or in that of an earlier release.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Box<Supervisor>, D::Error> {
    let state = Value::deserialize(from)?;
    let earlier = state["run"].is_u64();
    serde_json::from_value(if earlier { of_earlier_release(&state) } else { state })
        .map(Box::new)
        .map_err(D::Error::custom)
}

fn of_earlier_release(old: &Value) -> Value {
    let mut new = json!({"policy": old["policy"], "phase": old["phase"]});
    for (from, to) in OF_SESSION {
        put(&mut new, to, old.get(from));
    }
    put(&mut new, "limits", old.get("halts"));
    put(&mut new, "conversation.limit_wait", old["halts"].get("now"));
    put(&mut new, "person", old.get("person"));
    put(&mut new, "conversation.told_of_prompt", old["person"].get("told"));
    let phase = old["phase"]["phase"].as_str().unwrap_or_default();
    if let (Some(end), "spawning") = (old["end_wanted"].as_array(), phase) {
        put(&mut new, "phase.end", Some(&json!({"why": end.first(), "kill": end.get(1)})));
    }
    if !["cold", "cooling", "closed"].contains(&phase) {
        for (from, to) in OF_RUN {
            put(&mut new, to, old.get(from).filter(|_| is_of_this_run(old, from)));
        }
        put(&mut new, "run.typed", old.get("typed"));
        put(&mut new, "run.passed", old.get("passed"));
        put(&mut new, "run.hooks.claim", old["claims"].get("hook"));
        put(&mut new, "run.file.conversation", old["claims"].get("file"));
    }
    new
}

/// Whether a time belongs to the current run: some were kept from the previous one until their subject was
/// known.
fn is_of_this_run(old: &Value, key: &str) -> bool {
    match key {
        "run_started" => !old["pid"].is_null(),
        "turn_since" => old["turn"] != "unknown",
        "status_since" => !old["status"].is_null(),
        "dialog_since" => !old["screen"]["dialog"].is_null(),
        _ => true,
    }
}

/// Puts a value at a path of keys.
fn put(into: &mut Value, path: &str, value: Option<&Value>) {
    let Some(value) = value else { return };
    let mut at = into;
    for key in path.split('.') {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[key];
    }
    *at = value.clone();
}
