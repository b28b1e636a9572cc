//! Actions in a word each, for comparing and counting them.

use super::super::action::{Action, DecisionKind, RestartBy};
use super::super::tests::word;

/// The event was a restart signal that was left alone.
pub(super) fn ignored(out: &[Action]) -> bool {
    let of = (DecisionKind::RestartIgnored, Some(RestartBy::Signal));
    out.iter().any(|a| matches!(a, Action::Decide { decision } if (decision.kind, decision.by) == of))
}

/// The first word of an action: its kind.
pub(super) fn kind(action: &Action) -> String {
    let word = word(action);
    match action {
        Action::Decide { .. } => word,
        Action::Type { .. } => format!("type {}", word.split(' ').next().unwrap_or_default()),
        _ => word.split(' ').filter(|w| w.parse::<u64>().is_err()).take(2).collect::<Vec<_>>().join(" "),
    }
}
