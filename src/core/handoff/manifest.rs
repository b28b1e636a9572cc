//! The manifest of a channel: the status of each handoff, and the changes of status that are allowed.
//!
//! A handoff is `active` until it is consumed, expired or cleared, and never becomes active again. `current`
//! is the newest, even if it is consumed. Loading needs a claim, which one caller at most has. `fs::store`
//! reads and writes the file under a lock; the caller says whether a process is alive.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::manifest_entry::{Claim, HandoffProgress, IndexEntry};
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// The most entries of the history.
pub const HISTORY_CAP: usize = 100;
/// Why a handoff was not claimed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotClaimed {
    /// No channel has an entry with this id.
    #[error("there is no handoff {0}")]
    Unknown(HandoffId),
    /// It is no longer active.
    #[error("handoff {id} is {}", status.word())]
    NotActive { id: HandoffId, status: HandoffProgress },
    /// Another process is loading it.
    #[error("handoff {id} is being loaded by pid {} since {}", holder.by_pid, holder.at.rfc3339_s())]
    Held { id: HandoffId, holder: Claim },
    /// Its file is missing, or its id or content differs from the manifest.
    #[error("handoff {id} is not usable: {why}")]
    Unusable { id: HandoffId, why: String },
}

/// Why a status was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotMoved {
    #[error("there is no handoff {0}")]
    Unknown(HandoffId),
    /// It is not active.
    #[error("handoff {id} is {} already", status.word())]
    NotActive { id: HandoffId, status: HandoffProgress },
    /// The conversation does not have the claim, which it needs to consume the handoff.
    #[error("handoff {0} is not claimed by this conversation")]
    NotHolder(HandoffId),
}

/// The handoffs of one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub channel: Channel,
    #[serde(default)]
    pub current: Option<IndexEntry>,
    /// Older active handoffs of other sessions, newest first.
    #[serde(default)]
    pub also_active: Vec<IndexEntry>,
    /// Handoffs that are no longer active, newest first, at most [`HISTORY_CAP`].
    #[serde(default)]
    pub history: Vec<IndexEntry>,
    /// Fields of a later hopty, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Manifest {
    /// A channel without handoffs.
    #[must_use]
    pub fn new(channel: Channel) -> Self {
        Self { channel, current: None, also_active: Vec::new(), history: Vec::new(), other: Map::new() }
    }

    /// Keeps only the first of several entries with the same id, which every search finds: other programs
    /// write manifests too.
    pub fn unify(&mut self) {
        let mut seen = HashSet::new();
        let mut first = |entry: &IndexEntry| seen.insert(entry.id.clone());
        self.current = self.current.take().filter(&mut first);
        self.also_active.retain(&mut first);
        self.history.retain(&mut first);
    }

    /// All entries, newest first.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.current.iter().chain(&self.also_active).chain(&self.history)
    }

    pub fn find(&self, id: &HandoffId) -> Option<&IndexEntry> {
        self.entries().find(|entry| entry.id == *id)
    }

    fn find_mut(&mut self, id: &HandoffId) -> Option<&mut IndexEntry> {
        self.current
            .iter_mut()
            .chain(&mut self.also_active)
            .chain(&mut self.history)
            .find(|entry| entry.id == *id)
    }

    /// Makes `entry` the current one, and clears the active one that it replaces: a channel, project and
    /// session has at most one active handoff. A session that only reuses the name of an earlier one does not
    /// clear that one's handoff, because the person was told that it is still there. Handoffs made outside of
    /// a session belong together by directory, because all directories without a channel share one.
    pub fn add(&mut self, entry: IndexEntry) {
        for old in self.current.iter_mut().chain(&mut self.also_active) {
            let same = old.hopty_session == entry.hopty_session && old.project() == entry.project();
            let belongs = match entry.hopty_session {
                Some(_) => entry.follows(old),
                None => old.working_dir == entry.working_dir,
            };
            if old.status == HandoffProgress::Active && same && belongs {
                old.status = HandoffProgress::Cleared;
                old.claim = None;
            }
        }
        // An id leads to one record: an entry whose record is missing must not replace the new one.
        let other = |old: &IndexEntry| old.id != entry.id;
        self.also_active.retain(other);
        self.history.retain(other);
        self.current = self.current.take().filter(other);
        if let Some(former) = self.current.replace(entry) {
            self.also_active.insert(0, former);
        }
        self.settle();
    }

    /// Moves entries that are no longer active from `also_active` to the history.
    fn settle(&mut self) {
        let (active, over): (Vec<IndexEntry>, Vec<IndexEntry>) =
            self.also_active.drain(..).partition(|entry| entry.status == HandoffProgress::Active);
        self.also_active = active;
        for entry in over {
            let at = self
                .history
                .iter()
                .position(|old| old.created_at <= entry.created_at)
                .unwrap_or(self.history.len());
            self.history.insert(at, entry);
        }
        self.history.truncate(HISTORY_CAP);
    }

    /// The newest active handoff that no process is loading: of `session` or of no session; of any session if
    /// `session` is `None`. Of `project`, or of all if that is `None`; a handoff that was made in `dir` takes
    /// precedence.
    pub fn pending(
        &self,
        session: Option<&SessionName>,
        project: Option<&str>,
        dir: &str,
        now: WallTime,
        alive: impl Fn(u32, u64) -> bool,
    ) -> Option<&IndexEntry> {
        let waits = |entry: &&IndexEntry| {
            let mine =
                session.is_none() || entry.hopty_session.is_none() || entry.hopty_session.as_ref() == session;
            let here = project.is_none_or(|project| entry.project() == project);
            mine && here && entry.is_pending(now) && entry.held(now, &alive).is_none()
        };
        let waiting = || self.current.iter().chain(&self.also_active).filter(waits);
        let of_dir = || waiting().find(|entry| entry.working_dir == dir);
        project.and_then(|_| of_dir()).or_else(|| waiting().next())
    }

    /// Gives the handoff to `claim`, until the claim lapses.
    ///
    /// # Errors
    /// When the id is unknown, the handoff is not active, or there is a claim on it, even the caller's own.
    pub fn claim(
        &mut self,
        id: &HandoffId,
        claim: Claim,
        alive: impl Fn(u32, u64) -> bool,
    ) -> Result<&IndexEntry, NotClaimed> {
        let now = claim.at;
        let entry = self.find_mut(id).ok_or_else(|| NotClaimed::Unknown(id.clone()))?;
        if !entry.is_pending(now) {
            let status =
                if entry.status == HandoffProgress::Active { HandoffProgress::Expired } else { entry.status };
            return Err(NotClaimed::NotActive { id: id.clone(), status });
        }
        if let Some(holder) = entry.held(now, alive) {
            return Err(NotClaimed::Held { id: id.clone(), holder: holder.clone() });
        }
        entry.claim = Some(claim);
        Ok(entry)
    }

    /// Releases the claim of the conversation `by`, so that another can load the handoff; `false` if there
    /// was none.
    pub fn release(&mut self, id: &HandoffId, by: &ConversationId) -> bool {
        let entry = self
            .find_mut(id)
            .filter(|entry| entry.claim.as_ref().is_some_and(|claim| claim.session_id == *by));
        entry.is_some_and(|entry| entry.claim.take().is_some())
    }

    /// Marks the handoff as consumed by the conversation that has the claim.
    ///
    /// # Errors
    /// When the id is unknown, the handoff is not active, or the conversation does not have the claim.
    pub fn consume(
        &mut self,
        id: &HandoffId,
        by: &ConversationId,
        pid: u32,
        now: WallTime,
    ) -> Result<(), NotMoved> {
        let entry = self.active_mut(id)?;
        if entry.claim.as_ref().is_none_or(|claim| claim.session_id != *by) {
            return Err(NotMoved::NotHolder(id.clone()));
        }
        entry.status = HandoffProgress::Consumed;
        entry.consumed_at = Some(now);
        entry.consumed_by_pid = Some(pid);
        entry.consumed_by_session = Some(by.clone());
        self.settle();
        Ok(())
    }

    /// Discards the handoff.
    ///
    /// # Errors
    /// When the id is unknown or the handoff is not active.
    pub fn clear(&mut self, id: &HandoffId) -> Result<(), NotMoved> {
        let entry = self.active_mut(id)?;
        entry.status = HandoffProgress::Cleared;
        entry.claim = None;
        self.settle();
        Ok(())
    }

    /// Changes the expiry of an active handoff; none: never. A usage limit must not expire it.
    ///
    /// # Errors
    /// When the id is unknown or the handoff is not active.
    pub fn set_expiry(&mut self, id: &HandoffId, at: Option<WallTime>) -> Result<(), NotMoved> {
        self.active_mut(id)?.expires_at = at;
        Ok(())
    }

    /// Postpones the expiry of active handoffs by the time from `now` to `until`, except for time that was
    /// added before. Returns their ids.
    pub fn postpone_expiry(&mut self, now: WallTime, until: WallTime) -> Vec<HandoffId> {
        let mut moved = Vec::new();
        for entry in
            self.current.iter_mut().chain(&mut self.also_active).filter(|entry| entry.is_pending(now))
        {
            let from = entry.waited_until.map_or(now, |before| before.max(now));
            if let (Some(at), more @ 1..) = (entry.expires_at, until.0.saturating_sub(from.0)) {
                entry.expires_at = Some(at.after(more.unsigned_abs()));
                entry.waited_until = Some(until);
                moved.push(entry.id.clone());
            }
        }
        moved
    }

    /// Expires handoffs that are due at `now` and that no process is loading. Returns their ids.
    pub fn expire_due(&mut self, now: WallTime, alive: impl Fn(u32, u64) -> bool) -> Vec<HandoffId> {
        let mut expired = Vec::new();
        for entry in self.current.iter_mut().chain(&mut self.also_active) {
            if entry.status == HandoffProgress::Active
                && entry.is_due(now)
                && entry.held(now, &alive).is_none()
            {
                entry.status = HandoffProgress::Expired;
                expired.push(entry.id.clone());
            }
        }
        self.settle();
        expired
    }

    fn active_mut(&mut self, id: &HandoffId) -> Result<&mut IndexEntry, NotMoved> {
        let entry = self.find_mut(id).ok_or_else(|| NotMoved::Unknown(id.clone()))?;
        match entry.status {
            HandoffProgress::Active => Ok(entry),
            status => Err(NotMoved::NotActive { id: id.clone(), status }),
        }
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
