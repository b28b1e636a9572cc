//! What a notification's command gets: JSON on standard input, and the same as variables
//! (`docs/NOTIFICATIONS.md`).

use serde_json::json;

use crate::core::notification_queue::Notification;
use crate::core::redact::redact;
use crate::core::status_types::{Rfc3339, SessionStatus};
use crate::core::text::visible::{escaped, visible};
use crate::core::time::WallTime;

/// The longest input, in bytes, which fits into a pipe that is not read yet.
const INPUT_MAX: usize = 60_000;

/// The input and the variables.
pub(super) fn of(
    notification: &Notification,
    at: WallTime,
    session: &SessionStatus,
) -> (Vec<u8>, Vec<(&'static str, String)>) {
    let text = visible(&redact(&notification.text));
    let reason = notification.reason.as_deref().map(visible);
    let event = notification.event.word();
    let mut object = json!({
        "event": event,
        "session": session.name,
        "text": text,
        "reason": reason,
        "dir": session.dir,
        "at": Rfc3339(at),
        "status": session,
    });
    let mut input = escaped(&object.to_string()).into_bytes();
    if input.len() > INPUT_MAX {
        object["status"] = json!(null);
        input = escaped(&object.to_string()).into_bytes();
    }
    input.push(b'\n');
    let variables = vec![
        ("HOPTY_NOTIFY_EVENT", event.to_owned()),
        ("HOPTY_NOTIFY_SESSION", session.name.clone()),
        ("HOPTY_NOTIFY_TEXT", text),
        ("HOPTY_NOTIFY_REASON", reason.unwrap_or_default()),
        ("HOPTY_NOTIFY_DIR", session.dir.replace('\0', "")),
    ];
    (input, variables)
}
