//! The name of each action, for comparing and counting them.

use super::super::action::{Action, Decision, DecisionKind, RestartBy};
use super::super::event::Event;
use super::super::tests::word;

/// Whether the event was a restart signal that was ignored, not only postponed.
pub(super) fn ignored(event: &Event, out: &[Action]) -> bool {
    let of = (DecisionKind::RestartIgnored, Some(RestartBy::Signal));
    let is_ignored =
        |decision: &Decision| (decision.kind, decision.by) == of && decision.sentence.starts_with("Ignored ");
    matches!(event, Event::Signal { .. })
        && out.iter().any(|a| matches!(a, Action::Decide { decision } if is_ignored(decision)))
}

/// The kind of an action: its first word.
pub(super) fn kind(action: &Action) -> String {
    let word = word(action);
    match action {
        Action::Decide { .. } => word,
        Action::Type { .. } => format!("type {}", word.split(' ').next().unwrap_or_default()),
        _ => word.split(' ').filter(|w| w.parse::<u64>().is_err()).take(2).collect::<Vec<_>>().join(" "),
    }
}
