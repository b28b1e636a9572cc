//! The answers to requests, one type for each request: the host writes them and clients read them. Fields
//! that a host of another version leaves out get their default; those it adds are ignored.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::config::{DurationMs, Levels};
use crate::core::ids::{ConversationId, HandoffId, Label, SessionName};
use crate::core::screen_mark::ScreenMark;
use crate::core::status_types::{ContextStatus, OpenWord, SessionStatus, lenient};
use crate::core::supervisor::action::SendResult;
use crate::core::supervisor::handover_question::AskAnswer;
use crate::core::supervisor::reported_state::SessionState;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextAnswer {
    pub context: ContextStatus,
    /// Every source in order, as [`SourceReport`](crate::core::context_usage::SourceReport) describes it.
    pub tried: Value,
    pub levels: Levels,
    /// The transcript that is followed.
    pub transcript: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventsAnswer {
    pub journal: String,
}

/// The answer to `stop`, and the first one to `restart`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AcceptAnswer {
    /// The journal line of the request.
    pub request: u64,
    pub state: String,
}

/// The second answer to `restart`, which comes with `wait` when the restart is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RestartAnswer {
    /// The handoff that the new conversation got.
    pub handoff: Option<HandoffId>,
    pub conversation: Option<ConversationId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackAnswer {
    /// The conversation that is resumed.
    pub conversation: ConversationId,
    /// The one that ends.
    pub newer: ConversationId,
}

/// The answer to `ask`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnoozeAnswer {
    pub ask: AskAnswer,
    /// For how long no level hands over, after `snooze`.
    #[serde(default)]
    pub snooze: Option<DurationMs>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SendAnswer {
    /// Bytes that were typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<u64>,
    /// The outcome of a prompt that was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<OpenWord<SendResult>>,
    /// The last journal line before the answer.
    pub seq: u64,
    /// The screen mark, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<ScreenMark>,
}

/// The answer to `screen`, and the file with the last screen of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenAnswer {
    /// Columns of the screen.
    pub cols: u16,
    /// Rows of the screen.
    pub rows: u16,
    /// The escape sequences that draw it on a fresh terminal of this size.
    pub dump: String,
    /// The screen model has failed.
    pub degraded: bool,
}

/// What the answers to `wait` and `watch` say of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowsAnswer {
    /// The screen model has failed.
    #[serde(skip_serializing_if = "is_false")]
    pub degraded: bool,
    /// The revision of the screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The text of each row, without blanks at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<String>>,
    /// The parts that are new since the mark: row, first byte, and the byte behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Vec<(u16, usize, usize)>>,
    /// The cursor's row, and how many bytes of it stand before the cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<(u16, usize)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitAnswer {
    /// Whether the condition holds.
    pub met: bool,
    /// The session, for every condition but `text`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub session: Option<SessionStatus>,
    /// The screen, for `text`.
    #[serde(flatten)]
    pub screen: RowsAnswer,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchAnswer {
    /// Whether something changed.
    pub met: bool,
    /// The state, if something changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<OpenWord<SessionState>>,
    /// The journal line at which the state began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entered: Option<u64>,
    /// The screen, if that changed.
    #[serde(flatten)]
    pub screen: RowsAnswer,
}

/// The answer to `attach`, after which both sides send frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttachAnswer {
    /// The client's number.
    pub client: u32,
    /// Always true.
    pub frames: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DetachAnswer {
    /// How many clients were detached.
    pub detached: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameAnswer {
    pub name: SessionName,
    pub before: SessionName,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelAnswer {
    /// All labels of the session.
    pub labels: BTreeSet<Label>,
}

/// The answer to `record` and `mark`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordAnswer {
    pub file: String,
    /// The length of a recording that has ended, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How long it was recorded, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// An answer to `hook`: that the text follows, or the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookReply {
    /// Another answer follows.
    #[serde(skip_serializing_if = "is_false")]
    pub hold: bool,
    /// What the hook prints for Claude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
}

impl AcceptAnswer {
    /// The request with this journal line is accepted.
    #[must_use]
    pub fn new(request: u64) -> Self {
        AcceptAnswer { request, state: "accepted".to_owned() }
    }
}

impl RowsAnswer {
    /// There is no screen: the model has failed, or the run is gone.
    #[must_use]
    pub fn without_screen() -> Self {
        RowsAnswer { degraded: true, ..RowsAnswer::default() }
    }
}

impl RecordAnswer {
    /// The request about this recording was carried out.
    #[must_use]
    pub fn of(file: &std::path::Path) -> Self {
        RecordAnswer { file: file.to_string_lossy().into_owned(), ..RecordAnswer::default() }
    }
}

impl HookReply {
    /// The text follows in a second answer.
    #[must_use]
    pub fn hold() -> Self {
        HookReply { hold: true, stdout: None }
    }

    #[must_use]
    pub fn text(stdout: String) -> Self {
        HookReply { hold: false, stdout: Some(stdout) }
    }
}

/// For `serde`: a false flag is left out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}
