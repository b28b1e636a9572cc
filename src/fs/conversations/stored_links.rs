//! The hand-overs that the store of handoffs and the journals of sessions know.

use std::path::Path;

use serde::Deserialize;

use crate::core::conversation::handover_links::{HandoverLink, HandoverLinks};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::fs::rotating_journal;
use crate::fs::session;
use crate::fs::store::Store;

/// The parts of a journal line that describe a hand-over.
#[derive(Deserialize)]
struct RawDecision {
    decision: Continued,
}

#[derive(Deserialize)]
struct Continued {
    kind: String,
    handoff: Option<HandoffId>,
    conversation: Option<ConversationId>,
}

/// Every hand-over in the manifests and records; with `journals`, also those whose outcome only the
/// sessions' journals know.
pub fn handover_links(paths: &Paths, journals: bool) -> HandoverLinks {
    let store = Store::at(&paths.claude);
    let mut links = HandoverLinks::default();
    for (_, entry) in store.list(None).unwrap_or_default() {
        links.add(HandoverLink {
            handoff: entry.id,
            from: entry.session_id,
            to: entry.consumed_by_session,
            at: entry.created_at,
            kind: entry.kind.word().to_owned(),
            reason: None,
            tokens: None,
            session: entry.hopty_session,
        });
    }
    if !journals {
        return links;
    }
    let mut unknown = Vec::new();
    for state in store.records().states() {
        links.add(HandoverLink {
            handoff: state.id.clone(),
            from: state.session_id,
            to: None,
            at: WallTime::parse(&state.created_at).unwrap_or_default(),
            kind: state.kind,
            reason: Some(state.reason).filter(|reason| !reason.is_empty()),
            tokens: state.tokens_used.zip(state.tokens_max),
            session: state.hopty_session,
        });
        if !links.has_both_ends(&state.id) {
            unknown.push(state.id);
        }
    }
    if !unknown.is_empty() {
        for listed in session::list(paths) {
            add_journal(&paths.session(&listed.name).join(session::JOURNAL), &mut links);
        }
    }
    links
}

fn add_journal(path: &Path, links: &mut HandoverLinks) {
    let Ok(text) = rotating_journal::read_back(path, |_| false) else { return };
    // Most lines are events, and long.
    let tells =
        |line: &&str| line.contains("\"handoff.consumed\"") || line.contains("\"delivery.submitted\"");
    for line in text.lines().filter(tells) {
        let Ok(RawDecision { decision }) = serde_json::from_str(line) else { continue };
        if let ("handoff.consumed" | "delivery.submitted", Some(handoff), Some(to)) =
            (decision.kind.as_str(), &decision.handoff, &decision.conversation)
        {
            links.continued(handoff, to);
        }
    }
}
