//! An entry of the manifest: a handoff's fields, type and status.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::core::ids::{ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// The time after which a claim lapses even if its holder is alive, in ms (10 minutes).
pub const CLAIM_MS: i64 = 600_000;

/// How far in the future the time of a handoff may be, in ms: the clocks of machines that share a home
/// differ.
const EARLY_MS: u64 = 600_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HandoffKind {
    #[default]
    Auto,
    Manual,
    /// `.restart-session`, an orchestrator or a hook.
    Signal,
    /// A run that ended unexpectedly.
    Crash,
}

impl HandoffKind {
    /// The word in files.
    pub fn word(self) -> &'static str {
        match self {
            HandoffKind::Auto => "auto",
            HandoffKind::Manual => "manual",
            HandoffKind::Signal => "signal",
            HandoffKind::Crash => "crash",
        }
    }

    /// Parses the word in files.
    pub fn from_word(word: &str) -> Option<Self> {
        [HandoffKind::Auto, HandoffKind::Manual, HandoffKind::Signal, HandoffKind::Crash]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HandoffProgress {
    /// Waiting to be loaded.
    Active,
    /// A conversation continued from it.
    Consumed,
    /// Not loaded in time.
    Expired,
    /// Discarded by hand, or replaced by a newer one of the same session.
    Cleared,
}

impl HandoffProgress {
    /// The word in files.
    pub fn word(self) -> &'static str {
        match self {
            HandoffProgress::Active => "active",
            HandoffProgress::Consumed => "consumed",
            HandoffProgress::Expired => "expired",
            HandoffProgress::Cleared => "cleared",
        }
    }
}

/// The claim of a process that loads a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Usually the host.
    pub by_pid: u32,
    /// The start time in clock ticks since boot, to detect a reused pid.
    pub by_start: u64,
    pub session_id: ConversationId,
    #[serde(with = "seconds")]
    pub at: WallTime,
    /// Fields of a later hopty, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One handoff of a channel. Fields that other programs omit are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    pub id: HandoffId,
    /// The conversation that it was made from.
    pub session_id: ConversationId,
    #[serde(with = "seconds")]
    pub created_at: WallTime,
    /// The process that made it.
    #[serde(default)]
    pub created_by_pid: u32,
    #[serde(default)]
    pub working_dir: String,
    /// The project of the directory; none in files of older versions and of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: HandoffKind,
    pub status: HandoffProgress,
    /// None for a handoff made outside of a session.
    #[serde(default)]
    pub hopty_session: Option<SessionName>,
    /// The handoff that its conversation was continued from.
    #[serde(default)]
    pub predecessor: Option<HandoffId>,
    /// SHA-256 of `handoff.md`, lower-case hexadecimal; empty in manifests of other programs.
    #[serde(default)]
    pub sha256: String,
    /// SHA-256 of `brief.md`; none in manifests of other programs and of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief_sha256: Option<String>,
    /// The expiry; none: never.
    #[serde(default, with = "seconds_or_none")]
    pub expires_at: Option<WallTime>,
    /// The end of the usage limit for which the expiry was postponed.
    #[serde(default, with = "seconds_or_none", skip_serializing_if = "Option::is_none")]
    pub waited_until: Option<WallTime>,
    #[serde(default)]
    pub claim: Option<Claim>,
    #[serde(default, with = "seconds_or_none")]
    pub consumed_at: Option<WallTime>,
    /// The process of the session that consumed it.
    #[serde(default)]
    pub consumed_by_pid: Option<u32>,
    #[serde(default)]
    pub consumed_by_session: Option<ConversationId>,
    /// The age in ms by a monotonic clock, if known. Not in the file.
    #[serde(skip)]
    pub elapsed_ms: Option<u64>,
    /// Fields of a later hopty, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl IndexEntry {
    /// The project as an absolute path; without one, the directory of the work.
    pub fn project(&self) -> &str {
        self.project.as_deref().unwrap_or(&self.working_dir)
    }

    /// Whether the same host made it later, or its conversation is one that `old` was made of or for.
    pub(super) fn follows(&self, old: &IndexEntry) -> bool {
        let of_conversation = |id: &ConversationId| *id == self.session_id;
        old.created_by_pid == self.created_by_pid
            || of_conversation(&old.session_id)
            || old.claim.as_ref().is_some_and(|claim| of_conversation(&claim.session_id))
            || self.predecessor.as_ref() == Some(&old.id)
    }

    /// Whether it is active at `now`. An entry with a time in the future is not, because its age is unknown.
    pub fn is_pending(&self, now: WallTime) -> bool {
        let early =
            self.expires_at.is_some() && self.elapsed_ms.is_none() && self.created_at > now.after(EARLY_MS);
        self.status == HandoffProgress::Active && !early && !self.is_due(now)
    }

    /// The monotonic clock takes precedence over the time of day.
    pub(super) fn is_due(&self, now: WallTime) -> bool {
        let now = self.elapsed_ms.map_or(now, |elapsed| self.created_at.after(elapsed));
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// The claim that is valid at `now`: its holder is alive, and it is not older than [`CLAIM_MS`].
    pub fn held(&self, now: WallTime, alive: impl Fn(u32, u64) -> bool) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| {
            now.0.saturating_sub(claim.at.0) <= CLAIM_MS && alive(claim.by_pid, claim.by_start)
        })
    }
}

mod seconds {
    use super::WallTime;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(time: &WallTime, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&time.rfc3339_s())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<WallTime, D::Error> {
        let text = String::deserialize(from)?;
        WallTime::parse(&text).ok_or_else(|| D::Error::custom("not an RFC 3339 time"))
    }
}

mod seconds_or_none {
    use super::WallTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(time: &Option<WallTime>, to: S) -> Result<S::Ok, S::Error> {
        time.map(WallTime::rfc3339_s).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WallTime>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let parse =
            |text: String| WallTime::parse(&text).ok_or_else(|| D::Error::custom("not an RFC 3339 time"));
        text.map(parse).transpose()
    }
}
