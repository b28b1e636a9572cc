//! Where each handoff of a channel stands: the manifest (CONTRACT C8) and the moves that are allowed.
//!
//! A handoff is `active` until it is consumed, expires or is cleared; there is no way back. `current` is the newest,
//! also after it was consumed. To load one takes a claim, which one caller at most holds. The file is read and written
//! under a lock by `fs::store`; whether a process lives is told by the caller.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::entry::{Claim, Entry, Status};
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// How many entries the history keeps.
pub const HISTORY_CAP: usize = 100;
/// Why a handoff was not claimed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotClaimed {
    /// No entry of any channel has this id.
    #[error("handoff {0} is not known")]
    Unknown(HandoffId),
    /// It does not wait any more.
    #[error("handoff {id} is {}", status.word())]
    NotActive {
        /// The handoff.
        id: HandoffId,
        /// Where it stands.
        status: Status,
    },
    /// Somebody else is loading it.
    #[error("handoff {id} is being loaded by pid {} since {}", holder.by_pid, holder.at.rfc3339_s())]
    Held {
        /// The handoff.
        id: HandoffId,
        /// Who holds it.
        holder: Claim,
    },
    /// Its file is gone, has another id or another content than the manifest says (checklist 26, 27).
    #[error("handoff {id} is not usable: {why}")]
    Unusable {
        /// The handoff.
        id: HandoffId,
        /// What is wrong.
        why: String,
    },
}

/// Why a handoff was not moved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotMoved {
    /// No entry has this id.
    #[error("handoff {0} is not known")]
    Unknown(HandoffId),
    /// Only an active handoff can be moved.
    #[error("handoff {id} is {} already", status.word())]
    NotActive {
        /// The handoff.
        id: HandoffId,
        /// Where it stands.
        status: Status,
    },
    /// Only the conversation that holds the claim can consume a handoff.
    #[error("handoff {0} is not claimed by this conversation")]
    NotHolder(HandoffId),
}

/// The handoffs of one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The channel.
    pub channel: Channel,
    /// The newest handoff.
    #[serde(default)]
    pub current: Option<Entry>,
    /// Older ones of other sessions that still wait, newest first.
    #[serde(default)]
    pub also_active: Vec<Entry>,
    /// What is over, newest first, at most [`HISTORY_CAP`].
    #[serde(default)]
    pub history: Vec<Entry>,
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

    /// Every entry, the newest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.current.iter().chain(&self.also_active).chain(&self.history)
    }

    /// The entry with this id.
    #[must_use]
    pub fn find(&self, id: &HandoffId) -> Option<&Entry> {
        self.entries().find(|entry| entry.id == *id)
    }

    fn find_mut(&mut self, id: &HandoffId) -> Option<&mut Entry> {
        self.current.iter_mut().chain(&mut self.also_active).chain(&mut self.history).find(|entry| entry.id == *id)
    }

    /// Makes `entry` the current one. An active one that it replaces is cleared: at most one of a channel and session is active
    /// at a time (DESIGN 3.3). Of those that were made outside of a session, directories tell which belong together, because
    /// all that have no channel of their own share one.
    pub fn add(&mut self, entry: Entry) {
        for old in self.current.iter_mut().chain(&mut self.also_active) {
            let same = old.hopty_session == entry.hopty_session;
            let here = entry.hopty_session.is_some() || old.working_dir == entry.working_dir;
            if old.status == Status::Active && same && here {
                old.status = Status::Cleared;
                old.claim = None;
            }
        }
        if let Some(former) = self.current.replace(entry) {
            self.also_active.insert(0, former);
        }
        self.settle();
    }

    /// Moves what is over from `also_active` to the history.
    fn settle(&mut self) {
        let (active, over): (Vec<Entry>, Vec<Entry>) = self.also_active.drain(..).partition(|entry| entry.status == Status::Active);
        self.also_active = active;
        for entry in over {
            let at = self.history.iter().position(|old| old.created_at <= entry.created_at).unwrap_or(self.history.len());
            self.history.insert(at, entry);
        }
        self.history.truncate(HISTORY_CAP);
    }

    /// The newest handoff that waits and that nobody is loading: of `session` or of no session; any session's when
    /// `session` is none. On the channel that unrelated directories share, one that was made in `dir` goes before.
    pub fn pending(
        &self,
        session: Option<&SessionName>,
        dir: &str,
        now: WallTime,
        alive: impl Fn(u32, u64) -> bool,
    ) -> Option<&Entry> {
        let waits = |entry: &&Entry| {
            let mine = session.is_none() || entry.hopty_session.is_none() || entry.hopty_session.as_ref() == session;
            mine && entry.is_pending(now) && entry.held(now, &alive).is_none()
        };
        let waiting = || self.current.iter().chain(&self.also_active).filter(waits);
        let of_here = || waiting().find(|entry| entry.working_dir == dir);
        let shared = self.channel == Channel::global();
        shared.then(of_here).flatten().or_else(|| waiting().next())
    }

    /// Gives the handoff to `claim`; one caller at most gets it until the claim lapses.
    ///
    /// # Errors
    /// When it is not known, does not wait any more, or a claim on it holds. The caller's own claim holds too.
    pub fn claim(&mut self, id: &HandoffId, claim: Claim, alive: impl Fn(u32, u64) -> bool) -> Result<&Entry, NotClaimed> {
        let now = claim.at;
        let entry = self.find_mut(id).ok_or_else(|| NotClaimed::Unknown(id.clone()))?;
        if !entry.is_pending(now) {
            let status = if entry.status == Status::Active { Status::Expired } else { entry.status };
            return Err(NotClaimed::NotActive { id: id.clone(), status });
        }
        if let Some(holder) = entry.held(now, alive) {
            return Err(NotClaimed::Held { id: id.clone(), holder: holder.clone() });
        }
        entry.claim = Some(claim);
        Ok(entry)
    }

    /// Gives up the claim of the conversation `by`, so that another can load the handoff. Whether there was one.
    pub fn release(&mut self, id: &HandoffId, by: &ConversationId) -> bool {
        let entry = self.find_mut(id).filter(|entry| entry.claim.as_ref().is_some_and(|claim| claim.session_id == *by));
        entry.is_some_and(|entry| entry.claim.take().is_some())
    }

    /// Marks the handoff as consumed by the conversation that holds its claim.
    ///
    /// # Errors
    /// When it is not known, not active, or claimed by another conversation or by none.
    pub fn consume(&mut self, id: &HandoffId, by: &ConversationId, pid: u32, now: WallTime) -> Result<(), NotMoved> {
        let entry = self.active_mut(id)?;
        if entry.claim.as_ref().is_none_or(|claim| claim.session_id != *by) {
            return Err(NotMoved::NotHolder(id.clone()));
        }
        entry.status = Status::Consumed;
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
        entry.status = Status::Cleared;
        entry.claim = None;
        self.settle();
        Ok(())
    }

    /// Moves when an active handoff expires; none: never (a usage limit must not expire it, DESIGN 7).
    ///
    /// # Errors
    /// When it is not known or not active.
    pub fn set_expiry(&mut self, id: &HandoffId, at: Option<WallTime>) -> Result<(), NotMoved> {
        self.active_mut(id)?.expires_at = at;
        Ok(())
    }

    /// Adds the time from `now` to `until` to what waits, but for what was added before. Gives the ids of what was moved.
    pub fn postpone_expiry(&mut self, now: WallTime, until: WallTime) -> Vec<HandoffId> {
        let mut moved = Vec::new();
        for entry in self.current.iter_mut().chain(&mut self.also_active).filter(|entry| entry.is_pending(now)) {
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
            if entry.status == Status::Active && entry.is_due(now) && entry.held(now, &alive).is_none() {
                entry.status = Status::Expired;
                expired.push(entry.id.clone());
            }
        }
        self.settle();
        expired
    }

    fn active_mut(&mut self, id: &HandoffId) -> Result<&mut Entry, NotMoved> {
        let entry = self.find_mut(id).ok_or_else(|| NotMoved::Unknown(id.clone()))?;
        match entry.status {
            Status::Active => Ok(entry),
            status => Err(NotMoved::NotActive { id: id.clone(), status }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONTRACT: &str = r#"{"channel":"global",
 "current":{"id":"HO-20261120-142950-c74cc080","session_id":"c74cc080-94b9-4841-b82f-a62cfb8efdc0","created_at":"2026-11-20T14:29:50Z","created_by_pid":4240,"working_dir":"/home/u/proj",
  "type":"auto","status":"active","hopty_session":"proj","predecessor":null,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","expires_at":"2026-11-20T16:29:50Z",
  "claim":{"by_pid":4240,"by_start":8123456,"session_id":"0b0c9c5e-0000-4000-8000-000000000000","at":"2026-11-20T14:29:52Z"},"consumed_at":null,"consumed_by_pid":null,"consumed_by_session":null},
 "also_active":[],"history":[]}"#;

    fn contract() -> Manifest {
        serde_json::from_str(CONTRACT).unwrap()
    }

    fn entry(second: i64, session: Option<&str>) -> Entry {
        let created_at = WallTime(1_795_000_000_000 + second * 1000);
        let mut entry = contract().current.unwrap();
        entry.id = HandoffId::new(created_at, &entry.session_id);
        entry.created_at = created_at;
        entry.expires_at = Some(created_at.after(7_200_000));
        entry.hopty_session = session.map(|name| name.parse().unwrap());
        entry.claim = None;
        entry
    }

    fn claim(pid: u32, at: WallTime) -> Claim {
        let session_id = format!("00000000-0000-4000-8000-{pid:012}").parse().unwrap();
        Claim { by_pid: pid, by_start: 1, session_id, at, other: Map::new() }
    }

    #[test]
    fn the_form_is_that_of_the_contract() {
        let value: serde_json::Value = serde_json::from_str(CONTRACT).unwrap();
        assert_eq!(serde_json::to_value(contract()).unwrap(), value);
    }

    #[test]
    fn what_a_later_hopty_wrote_outlives_every_move() {
        let mut value: Value = serde_json::from_str(CONTRACT).unwrap();
        value["mood"] = "good".into();
        value["current"]["colour"] = serde_json::json!({"of": ["the", "pier"]});
        value["current"]["claim"]["by_host"] = "h".into();
        let mut manifest: Manifest = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&manifest).unwrap(), value);
        let (id, by) = (contract().current.unwrap().id, contract().current.unwrap().claim.unwrap().session_id);
        manifest.consume(&id, &by, 7, WallTime(1_795_000_000_000)).unwrap();
        manifest.add(entry(9, None));
        let written = serde_json::to_value(&manifest).unwrap();
        assert_eq!((&written["mood"], &written["history"][0]["status"]), (&"good".into(), &"consumed".into()));
        assert_eq!(written["history"][0]["colour"], value["current"]["colour"]);
        assert_eq!(written["history"][0]["claim"]["by_host"], "h");
    }

    #[test]
    fn a_manifest_of_the_shell_scripts_is_read() {
        let old = r#"{"channel":"c","current":{"id":"HO-20261120-142950-c74cc080","session_id":"c74cc080-94b9-4841-b82f-a62cfb8efdc0",
            "created_at":"2026-11-20T14:29:50Z","created_by_pid":1,"working_dir":"/p","type":"auto","status":"consumed"}}"#;
        let manifest: Manifest = serde_json::from_str(old).unwrap();
        assert_eq!(manifest.current.unwrap().status, Status::Consumed);
        assert!(serde_json::from_str::<Manifest>(&old.replace("consumed", "eaten")).is_err());
    }

    #[test]
    fn one_claim_holds_until_its_holder_is_gone_or_ten_minutes_passed() {
        let mut manifest = Manifest::new(Channel::global());
        manifest.add(entry(0, None));
        let id = manifest.current.as_ref().unwrap().id.clone();
        let now = manifest.current.as_ref().unwrap().created_at;
        assert!(manifest.claim(&id, claim(1, now), |_, _| true).is_ok());
        for pid in [1, 2] {
            let other = manifest.claim(&id, claim(pid, now.after(600_000)), |_, _| true);
            assert!(matches!(other, Err(NotClaimed::Held { holder, .. }) if holder.by_pid == 1));
        }
        assert!(manifest.pending(None, "", now, |_, _| true).is_none());
        assert!(manifest.claim(&id, claim(2, now.after(600_001)), |_, _| true).is_ok());
        assert!(manifest.claim(&id, claim(3, now), |_, _| false).is_ok());
        let holder = claim(3, now).session_id;
        assert!(!manifest.release(&id, &claim(2, now).session_id) && manifest.release(&id, &holder));
        assert!(manifest.pending(None, "", now, |_, _| true).is_some());
    }

    #[test]
    fn only_the_holder_consumes_and_only_once() {
        let mut manifest = contract();
        let (id, now) = (manifest.current.as_ref().unwrap().id.clone(), WallTime(1_795_000_000_000));
        let holder = manifest.current.as_ref().unwrap().claim.as_ref().unwrap().session_id.clone();
        let other = claim(7, now).session_id;
        assert_eq!(manifest.consume(&id, &other, 7, now), Err(NotMoved::NotHolder(id.clone())));
        manifest.consume(&id, &holder, 7, now).unwrap();
        let current = manifest.current.clone().unwrap();
        assert_eq!((current.status, current.consumed_by_pid), (Status::Consumed, Some(7)));
        assert!(matches!(manifest.consume(&id, &holder, 7, now), Err(NotMoved::NotActive { .. })));
        assert!(manifest.clear(&id).is_err() && manifest.set_expiry(&id, None).is_err());
        assert!(matches!(manifest.claim(&id, claim(1, now), |_, _| true), Err(NotClaimed::NotActive { .. })));
    }

    #[test]
    fn a_due_handoff_expires_unless_somebody_is_loading_it() {
        let mut manifest = contract();
        let due = manifest.current.as_ref().unwrap().expires_at.unwrap();
        manifest.current.as_mut().unwrap().claim.as_mut().unwrap().at = due;
        assert!(manifest.expire_due(WallTime(due.0 - 1), |_, _| false).is_empty());
        assert!(manifest.expire_due(due, |_, _| true).is_empty());
        let id = manifest.current.as_ref().unwrap().id.clone();
        let late = manifest.clone().claim(&id, claim(1, due), |_, _| false).map(|_| ());
        assert_eq!(late, Err(NotClaimed::NotActive { id: id.clone(), status: Status::Expired }));
        assert_eq!(manifest.expire_due(due, |_, _| false), [id]);
    }

    #[test]
    fn time_that_was_waited_is_added_once_and_only_to_what_waits() {
        let mut manifest = Manifest::new(Channel::global());
        manifest.add(entry(0, Some("a")));
        manifest.add(entry(1, Some("b")));
        let (first, due) = (entry(0, None).id, entry(0, None).expires_at.unwrap());
        let at = |seconds: i64| WallTime(entry(0, None).created_at.0 + seconds * 1000);
        assert_eq!(manifest.postpone_expiry(at(60), at(10_860)).len(), 2);
        assert_eq!(manifest.find(&first).unwrap().expires_at, Some(due.after(10_800_000)));
        // Another session of the same account says the same, and one says it later.
        assert_eq!(manifest.postpone_expiry(at(600), at(10_860)), []);
        assert_eq!(manifest.postpone_expiry(at(600), at(10_920)).len(), 2);
        assert_eq!(manifest.find(&first).unwrap().expires_at, Some(due.after(10_860_000)));
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
        // A second limit after the first; and what is over stays over.
        manifest.clear(&first).unwrap();
        assert_eq!(manifest.postpone_expiry(at(12_000), at(12_001)).len(), 1);
        assert_eq!(manifest.postpone_expiry(at(100_000), at(200_000)), []);
    }

    /// Two projects without channels of their own, and scripts that save in both.
    #[test]
    fn outside_of_sessions_each_directory_keeps_its_own() {
        let made = |second, dir: &str| Entry { working_dir: dir.to_owned(), ..entry(second, None) };
        let mut manifest = Manifest::new(Channel::global());
        manifest.add(made(0, "/alpha"));
        manifest.add(made(1, "/beta"));
        let active = |manifest: &Manifest| {
            let active = manifest.entries().filter(|entry| entry.status == Status::Active);
            active.map(|entry| entry.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(active(&manifest), [made(1, "/beta").id, made(0, "/alpha").id]);
        manifest.add(made(2, "/alpha"));
        assert_eq!(active(&manifest), [made(2, "/alpha").id, made(1, "/beta").id], "the newer one of the same directory");
    }

    #[test]
    fn the_pending_one_is_the_sessions_own() {
        let mut manifest = Manifest::new(Channel::global());
        manifest.add(entry(0, Some("a")));
        manifest.add(entry(1, Some("b")));
        let now = entry(1, None).created_at;
        let of = |name: Option<&str>| {
            let name = name.map(|name| name.parse().unwrap());
            manifest.pending(name.as_ref(), "", now, |_, _| true).map(|e| e.hopty_session.clone().unwrap().to_string())
        };
        assert_eq!(of(Some("a")).as_deref(), Some("a"));
        assert_eq!(of(Some("b")).as_deref(), Some("b"));
        assert_eq!(of(Some("c")), None);
        assert_eq!(of(None).as_deref(), Some("b"));
    }

    #[test]
    fn on_a_shared_channel_the_one_of_this_directory_goes_before() {
        let of = |channel: &str, dir: &str| {
            let mut manifest = Manifest::new(channel.parse().unwrap());
            for (second, dir) in ["/alpha", "/beta"].into_iter().enumerate() {
                manifest.add(Entry { working_dir: dir.to_owned(), ..entry(second as i64, Some(&dir[1..])) });
            }
            let now = entry(1, None).created_at;
            manifest.pending(None, dir, now, |_, _| true).map(|e| e.working_dir.clone()).unwrap()
        };
        assert_eq!(of("global", "/alpha"), "/alpha");
        assert_eq!(of("global", "/beta"), "/beta");
        assert_eq!(of("global", "/gamma"), "/beta", "else the newest");
        assert_eq!(of("project", "/alpha"), "/beta", "a channel of their own makes directories one");
    }

    proptest! {
        #[test]
        fn a_session_has_one_active_handoff_and_history_is_ordered(moves in proptest::collection::vec((0u8..4, 0u8..3), 0..150)) {
            let mut manifest = Manifest::new(Channel::global());
            for (second, (what, session)) in (0i64..).zip(moves) {
                let name = ["a", "b", "c"][session as usize];
                let now = entry(second, None).created_at;
                let id = manifest.entries().nth(session as usize).map(|e| e.id.clone());
                match (what, id) {
                    (0, Some(id)) => drop(manifest.clear(&id)),
                    (1, Some(id)) => {
                        let _ = manifest.claim(&id, claim(9, now), |_, _| false);
                        let _ = manifest.consume(&id, &claim(9, now).session_id, 9, now);
                    }
                    (2, _) => drop(manifest.expire_due(now.after(7_195_000), |_, _| false)),
                    _ => manifest.add(entry(second, Some(name))),
                }
                for name in ["a", "b", "c"] {
                    let active = manifest.entries().filter(|e| e.status == Status::Active);
                    prop_assert!(active.filter(|e| e.hopty_session.as_ref().unwrap().as_str() == name).count() <= 1);
                }
                prop_assert!(manifest.also_active.iter().all(|e| e.status == Status::Active));
                prop_assert!(manifest.history.iter().all(|e| e.status != Status::Active));
                prop_assert!(manifest.history.is_sorted_by(|a, b| a.created_at >= b.created_at));
                prop_assert!(manifest.history.len() <= HISTORY_CAP);
            }
        }
    }
}
