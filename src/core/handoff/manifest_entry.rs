//! One handoff of a manifest: its fields, its type and its status.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::core::ids::{ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// After how many milliseconds a claim lapses although its holder lives (10 minutes).
pub const CLAIM_MS: i64 = 600_000;

/// By how many milliseconds a handoff may be made later than now: clocks of machines that share a home
/// differ.
const EARLY_MS: u64 = 600_000;

/// What made a handoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HandoffKind {
    /// A context level.
    #[default]
    Auto,
    /// A person or a command.
    Manual,
    /// `.restart-session`, an orchestrator or a hook.
    Signal,
    /// The end of a run that nobody asked for.
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

    /// Reads the word in files.
    pub fn from_word(word: &str) -> Option<Self> {
        [HandoffKind::Auto, HandoffKind::Manual, HandoffKind::Signal, HandoffKind::Crash]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// Where a handoff stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HandoffProgress {
    /// Waits to be loaded.
    Active,
    /// A conversation went on from it.
    Consumed,
    /// Was not loaded in time.
    Expired,
    /// Put aside by hand, or replaced by a newer one of the same session.
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

/// Who is loading a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The process, usually the host.
    pub by_pid: u32,
    /// Its start time in clock ticks since boot, so that a reused pid is not it.
    pub by_start: u64,
    /// The conversation that will get the handoff.
    pub session_id: ConversationId,
    /// When the claim was made.
    #[serde(with = "seconds")]
    pub at: WallTime,
    /// Fields of a later hopty, kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One handoff of a channel. Fields that other programs leave out are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    pub id: HandoffId,
    /// The conversation that it was made from.
    pub session_id: ConversationId,
    /// When it was made.
    #[serde(with = "seconds")]
    pub created_at: WallTime,
    /// The process that made it.
    #[serde(default)]
    pub created_by_pid: u32,
    #[serde(default)]
    pub working_dir: String,
    /// The project that the directory belongs to; none in files of older versions and of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What made it.
    #[serde(default, rename = "type")]
    pub kind: HandoffKind,
    pub status: HandoffProgress,
    /// The hopty session that it belongs to; none when made outside of one.
    #[serde(default)]
    pub hopty_session: Option<SessionName>,
    /// The handoff that this conversation had been continued from.
    #[serde(default)]
    pub predecessor: Option<HandoffId>,
    /// SHA-256 of `handoff.md`, lower-case hexadecimal; empty in manifests of other programs.
    #[serde(default)]
    pub sha256: String,
    /// SHA-256 of `brief.md`; none in manifests of other programs and of hopty 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief_sha256: Option<String>,
    /// From when on it is expired; none: never.
    #[serde(default, with = "seconds_or_none")]
    pub expires_at: Option<WallTime>,
    /// Until when the waiting for a usage limit was added to that time.
    #[serde(default, with = "seconds_or_none", skip_serializing_if = "Option::is_none")]
    pub waited_until: Option<WallTime>,
    /// Who is loading it.
    #[serde(default)]
    pub claim: Option<Claim>,
    /// When it was consumed.
    #[serde(default, with = "seconds_or_none")]
    pub consumed_at: Option<WallTime>,
    /// The process whose session consumed it.
    #[serde(default)]
    pub consumed_by_pid: Option<u32>,
    #[serde(default)]
    pub consumed_by_session: Option<ConversationId>,
    /// Milliseconds since it was made, by a clock that nobody sets, where that is known. In no file.
    #[serde(skip)]
    pub elapsed_ms: Option<u64>,
    /// Fields of a later hopty, kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl IndexEntry {
    /// The project that it belongs to, an absolute path: the directory of the work where no other is known.
    pub fn project(&self) -> &str {
        self.project.as_deref().unwrap_or(&self.working_dir)
    }

    /// Whether it was made later by the same host, or of a conversation that `old` was made of or for.
    pub(super) fn follows(&self, old: &IndexEntry) -> bool {
        let of_conversation = |id: &ConversationId| *id == self.session_id;
        old.created_by_pid == self.created_by_pid
            || of_conversation(&old.session_id)
            || old.claim.as_ref().is_some_and(|claim| of_conversation(&claim.session_id))
            || self.predecessor.as_ref() == Some(&old.id)
    }

    /// Whether it waits to be loaded at `now`. One that says it was made later than that does not: how old it
    /// is, nobody knows.
    pub fn is_pending(&self, now: WallTime) -> bool {
        let early =
            self.expires_at.is_some() && self.elapsed_ms.is_none() && self.created_at > now.after(EARLY_MS);
        self.status == HandoffProgress::Active && !early && !self.is_due(now)
    }

    /// The clock that nobody sets goes before the time of day.
    pub(super) fn is_due(&self, now: WallTime) -> bool {
        let now = self.elapsed_ms.map_or(now, |elapsed| self.created_at.after(elapsed));
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// The claim that still holds at `now`: its holder lives, and it is not older than [`CLAIM_MS`].
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
