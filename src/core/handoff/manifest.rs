//! Where each handoff of a channel stands: the manifest and the moves that are allowed.
//!
//! A handoff is `active` until it is consumed, expires or is cleared; there is no way back. `current` is the
//! newest, also after it was consumed. To load one takes a claim, which one caller at most holds. The file is
//! read and written under a lock by `fs::store`; whether a process lives is told by the caller.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::manifest_entry::{Claim, HandoffProgress, IndexEntry};
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// How many entries the history keeps.
pub const HISTORY_CAP: usize = 100;
/// Why a handoff was not claimed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotClaimed {
    /// No entry of any channel has this id.
    #[error("there is no handoff {0}")]
    Unknown(HandoffId),
    /// It does not wait any more.
    #[error("handoff {id} is {}", status.word())]
    NotActive { id: HandoffId, status: HandoffProgress },
    /// Somebody else is loading it.
    #[error("handoff {id} is being loaded by pid {} since {}", holder.by_pid, holder.at.rfc3339_s())]
    Held {
        id: HandoffId,
        /// Who holds it.
        holder: Claim,
    },
    /// Its file is gone, has another id or another content than the manifest says.
    #[error("handoff {id} is not usable: {why}")]
    Unusable { id: HandoffId, why: String },
}

/// Why a handoff was not moved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotMoved {
    /// No entry has this id.
    #[error("there is no handoff {0}")]
    Unknown(HandoffId),
    /// Only an active handoff can be moved.
    #[error("handoff {id} is {} already", status.word())]
    NotActive { id: HandoffId, status: HandoffProgress },
    /// Only the conversation that holds the claim can consume a handoff.
    #[error("handoff {0} is not claimed by this conversation")]
    NotHolder(HandoffId),
}

/// The handoffs of one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub channel: Channel,
    /// The newest handoff.
    #[serde(default)]
    pub current: Option<IndexEntry>,
    /// Older ones of other sessions that still wait, newest first.
    #[serde(default)]
    pub also_active: Vec<IndexEntry>,
    /// What is over, newest first, at most [`HISTORY_CAP`].
    #[serde(default)]
    pub history: Vec<IndexEntry>,
    /// Fields of a later hopty, kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Manifest {
    /// A channel without handoffs.
    #[must_use]
    pub fn new(channel: Channel) -> Self {
        Self { channel, current: None, also_active: Vec::new(), history: Vec::new(), other: Map::new() }
    }

    /// Leaves of several entries with one id the first, which every search finds: other programs write
    /// manifests too.
    pub fn unify(&mut self) {
        let mut seen = HashSet::new();
        let mut first = |entry: &IndexEntry| seen.insert(entry.id.clone());
        self.current = self.current.take().filter(&mut first);
        self.also_active.retain(&mut first);
        self.history.retain(&mut first);
    }

    /// Every entry, the newest first.
    pub fn entries(&self) -> impl Iterator<Item = &IndexEntry> {
        self.current.iter().chain(&self.also_active).chain(&self.history)
    }

    /// The entry with this id.
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

    /// Makes `entry` the current one. An active one that it replaces is cleared: at most one of a channel,
    /// project and session is active at a time. A session that has only taken the name of an earlier one
    /// leaves that one's handoff alone: the person was told that it waits. Of those that were made outside of
    /// a session, directories tell which belong together, because all that have no channel of their own share
    /// one.
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
        // An id leads to one record: an entry whose record is gone must not stand for the new one.
        let other = |old: &IndexEntry| old.id != entry.id;
        self.also_active.retain(other);
        self.history.retain(other);
        self.current = self.current.take().filter(other);
        if let Some(former) = self.current.replace(entry) {
            self.also_active.insert(0, former);
        }
        self.settle();
    }

    /// Moves what is over from `also_active` to the history.
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

    /// The newest handoff that waits and that nobody is loading: of `session` or of no session; any session's
    /// when `session` is none. Of `project`, or of all when that is none; one that was made in `dir` goes
    /// before.
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

    /// Gives the handoff to `claim`; one caller at most gets it until the claim lapses.
    ///
    /// # Errors
    /// When it is not known, does not wait any more, or a claim on it holds. The caller's own claim holds
    /// too.
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

    /// Gives up the claim of the conversation `by`, so that another can load the handoff. Whether there was
    /// one.
    pub fn release(&mut self, id: &HandoffId, by: &ConversationId) -> bool {
        let entry = self
            .find_mut(id)
            .filter(|entry| entry.claim.as_ref().is_some_and(|claim| claim.session_id == *by));
        entry.is_some_and(|entry| entry.claim.take().is_some())
    }

    /// Marks the handoff as consumed by the conversation that holds its claim.
    ///
    /// # Errors
    /// When it is not known, not active, or claimed by another conversation or by none.
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

    /// Puts the handoff aside.
    ///
    /// # Errors
    /// When it is not known or not active.
    pub fn clear(&mut self, id: &HandoffId) -> Result<(), NotMoved> {
        let entry = self.active_mut(id)?;
        entry.status = HandoffProgress::Cleared;
        entry.claim = None;
        self.settle();
        Ok(())
    }

    /// Moves the expiry of an active handoff; none: never. A usage limit must not expire it.
    ///
    /// # Errors
    /// When it is not known or not active.
    pub fn set_expiry(&mut self, id: &HandoffId, at: Option<WallTime>) -> Result<(), NotMoved> {
        self.active_mut(id)?.expires_at = at;
        Ok(())
    }

    /// Adds the time from `now` to `until` to what waits, but for what was added before. Gives the ids of
    /// what was moved.
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

    /// Expires what is due at `now` and nobody is loading. Gives the ids.
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
