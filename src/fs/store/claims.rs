//! Claims: who gets a handoff, and the moves of an entry from `active` to its final status.
//!
//! The rules are those of the manifest; here they hold between processes: each move is made under the
//! locks.

use std::path::Path;

use super::manifests::Locked;
use super::{HandoffScope, Store, StoreError, StoredHandoff};
use crate::core::handoff::manifest::{Manifest, NotClaimed, NotMoved};
use crate::core::handoff::manifest_entry::{Claim, IndexEntry};
use crate::core::ids::{Channel, ConversationId, HandoffId, SessionName};
use crate::core::text::safe_text::safe_line;
use crate::core::time::WallTime;
use crate::fs::project::project_of;
use crate::sys::process;

impl Store {
    /// The handoff that would be loaded now in `dir`: the newest pending one of `session` or of no session;
    /// of any session if `session` is `None`. Within a project, one that was made in `dir` takes precedence.
    /// Changes nothing.
    ///
    /// # Errors
    /// When the manifest cannot be read.
    pub fn pending(
        &self,
        channel: &Channel,
        session: Option<&SessionName>,
        scope: HandoffScope,
        dir: &Path,
        now: WallTime,
    ) -> Result<Option<IndexEntry>, StoreError> {
        let Some(manifest) = self.manifests.look(channel)? else { return Ok(None) };
        let project =
            (scope == HandoffScope::Project).then(|| project_of(dir).to_string_lossy().into_owned());
        Ok(manifest
            .pending(session, project.as_deref(), &dir.to_string_lossy(), now, process::is_alive)
            .cloned())
    }

    /// The handoff that a conversation began from, which no transcript names.
    pub fn begun_from(&self, conversation: &ConversationId) -> Option<HandoffId> {
        let known = self.list(None).ok()?;
        known
            .into_iter()
            .find(|(_, entry)| entry.consumed_by_session.as_ref() == Some(conversation))
            .map(|(_, entry)| entry.id)
    }

    /// A sentence saying that no handoff is pending for the project of `dir`; it names the newest one that is
    /// pending in its channel for another project.
    pub fn no_pending_sentence(&self, channel: &Channel, dir: &Path, now: WallTime) -> String {
        let other = self.pending(channel, None, HandoffScope::Channel, dir, now).ok().flatten();
        match other.filter(|entry| entry.project() != project_of(dir).to_string_lossy()) {
            Some(entry) => format!(
                "no handoff waits in channel {channel} for this project; {} waits for {}",
                entry.id,
                safe_line(entry.project())
            ),
            None => format!("no handoff waits in channel {channel}"),
        }
    }

    /// Claims a handoff and returns its document. At most one caller wins until the claim is released,
    /// consumed or lapses.
    ///
    /// # Errors
    /// [`StoreError::NotClaimed`] with the reason; others when files or locks fail.
    pub fn claim(&self, id: &HandoffId, claim: Claim) -> Result<StoredHandoff, StoreError> {
        let (_locked, mut manifest) =
            self.locked_manifest(id)?.ok_or_else(|| NotClaimed::Unknown(id.clone()))?;
        let entry = manifest.claim(id, claim, process::is_alive)?.clone();
        let loaded = self.load(&manifest.channel, entry)?;
        self.manifests.put(&manifest)?;
        Ok(loaded)
    }

    /// Releases an unused claim. Returns whether this conversation had one.
    ///
    /// # Errors
    /// When files or locks fail.
    pub fn release(&self, id: &HandoffId, by: &ConversationId) -> Result<bool, StoreError> {
        let Some((_locked, mut manifest)) = self.locked_manifest(id)? else { return Ok(false) };
        let released = manifest.release(id, by);
        if released {
            self.manifests.put(&manifest)?;
        }
        Ok(released)
    }

    /// Marks a handoff as consumed by the conversation `by`, which must hold the claim, in the session of
    /// process `pid`.
    ///
    /// # Errors
    /// [`StoreError::NotMoved`] with the reason; others when files or locks fail.
    pub fn consume(
        &self,
        id: &HandoffId,
        by: &ConversationId,
        pid: u32,
        now: WallTime,
    ) -> Result<(), StoreError> {
        self.change(id, |manifest| manifest.consume(id, by, pid, now))
    }

    /// Discards an active handoff.
    ///
    /// # Errors
    /// As [`Store::consume`].
    pub fn clear(&self, id: &HandoffId) -> Result<(), StoreError> {
        self.change(id, |manifest| manifest.clear(id))
    }

    /// Changes the time at which an active handoff expires; `None`: never.
    ///
    /// # Errors
    /// As [`Store::consume`].
    pub fn set_expiry(&self, id: &HandoffId, at: Option<WallTime>) -> Result<(), StoreError> {
        self.change(id, |manifest| manifest.set_expiry(id, at))
    }

    /// Extends the pending handoffs of a channel by the time until `until`, because a usage limit keeps
    /// everybody from loading them. Time that was added before is not added again, whoever asks. Returns the
    /// ids.
    ///
    /// # Errors
    /// When files or locks fail.
    pub fn postpone_expiry(
        &self,
        channel: &Channel,
        now: WallTime,
        until: WallTime,
    ) -> Result<Vec<HandoffId>, StoreError> {
        let Some(seen) = self.manifests.look(channel)? else { return Ok(Vec::new()) };
        if seen.clone().postpone_expiry(now, until).is_empty() {
            return Ok(Vec::new());
        }
        let _locked = self.manifests.lock(Some(channel))?;
        let mut manifest = self.manifests.manifest_or_new(channel)?;
        let ids = manifest.postpone_expiry(now, until);
        self.manifests.put(&manifest)?;
        Ok(ids)
    }

    /// Expires the handoffs that are due in every channel. Returns the ids.
    ///
    /// # Errors
    /// When files or locks fail.
    pub fn expire_due(&self, now: WallTime) -> Result<Vec<HandoffId>, StoreError> {
        let mut expired = Vec::new();
        for channel in self.manifests.channels() {
            let Some(seen) = self.manifests.look_past(&channel) else { continue };
            if seen.clone().expire_due(now, process::is_alive).is_empty() {
                continue;
            }
            let _locked = self.manifests.lock(Some(&channel))?;
            let mut manifest = self.manifests.manifest_or_new(&channel)?;
            let ids = manifest.expire_due(now, process::is_alive);
            if !ids.is_empty() {
                self.manifests.put(&manifest)?;
                expired.extend(ids);
            }
        }
        Ok(expired)
    }

    /// The manifest that names `id`, read under its locks. One that cannot be opened affects only its own
    /// channel.
    fn locked_manifest(&self, id: &HandoffId) -> Result<Option<(Locked, Manifest)>, StoreError> {
        let mut unread = None;
        for channel in self.manifests.channels() {
            match self.manifests.look(&channel) {
                Ok(Some(manifest)) if manifest.find(id).is_some() => {}
                Ok(_) => continue,
                Err(error) => {
                    unread.get_or_insert(error);
                    continue;
                }
            }
            let locked = self.manifests.lock(Some(&channel))?;
            let manifest = self.manifests.manifest_or_new(&channel)?;
            if manifest.find(id).is_some() {
                return Ok(Some((locked, manifest)));
            }
        }
        // The missing handoff may be in the manifest that could not be read.
        unread.map_or(Ok(None), |error| Err(error.into()))
    }

    fn change(
        &self,
        id: &HandoffId,
        make: impl FnOnce(&mut Manifest) -> Result<(), NotMoved>,
    ) -> Result<(), StoreError> {
        let (_locked, mut manifest) =
            self.locked_manifest(id)?.ok_or_else(|| NotMoved::Unknown(id.clone()))?;
        make(&mut manifest)?;
        Ok(self.manifests.put(&manifest)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Retention;
    use super::super::handoff_store::tests::{at, capture, claim, store};
    use super::*;
    use crate::core::handoff::manifest_entry::HandoffProgress;
    use std::io::{BufRead, Write};
    use std::path::Path;
    use std::process::{Command, Stdio};

    const CHILD: &str = "HOPTY_TEST_CLAIM";

    #[test]
    fn a_handoff_is_saved_found_claimed_and_consumed() {
        let (dir, store) = store();
        let saved = store.save(capture(Some("proj"), 0), Retention::default()).unwrap();
        let base = dir.path().join("c/handoff");
        let text = std::fs::read_to_string(saved.record_dir.join("handoff.md")).unwrap();
        assert_eq!(std::fs::read_to_string(base.join("global-CURRENT.md")).unwrap(), text);
        assert!(saved.record_dir.join("state.json").is_file() && !base.join("global.lock.d").exists());
        let name = "proj".parse().unwrap();
        assert_eq!(
            store
                .pending(&Channel::global(), Some(&name), HandoffScope::Channel, Path::new(""), at(1))
                .unwrap(),
            Some(saved.entry.clone())
        );
        assert_eq!(
            store
                .pending(&Channel::global(), Some(&name), HandoffScope::Channel, Path::new(""), at(7200))
                .unwrap(),
            None
        );
        let loaded = store.claim(&saved.id, claim(1, at(1))).unwrap();
        assert_eq!((&loaded.text, &loaded.document), (&text, &saved.document));
        assert!(store.consume(&saved.id, &claim(2, at(1)).session_id, 7, at(2)).is_err());
        store.consume(&saved.id, &claim(1, at(1)).session_id, 7, at(2)).unwrap();
        assert_eq!(store.show(&saved.id).unwrap().entry.status, HandoffProgress::Consumed);
        assert_eq!(store.take_notices(), Vec::<String>::new());
    }

    #[test]
    fn of_many_threads_one_claims() {
        let (dir, store) = store();
        let id = store.save(capture(None, 0), Retention::default()).unwrap().id;
        let open = || Store::open(&dir.path().join("c")).unwrap();
        let won = std::thread::scope(|scope| {
            let claims: Vec<_> = (0..16)
                .map(|n| {
                    scope.spawn({
                        let (id, open) = (&id, &open);
                        move || open().claim(id, claim(n, at(1))).is_ok()
                    })
                })
                .collect();
            claims.into_iter().filter_map(|thread| thread.join().ok()).filter(|won| *won).count()
        });
        assert_eq!(won, 1);
    }

    /// Run by the next test in processes of its own; claims when a line comes, and lives until its input
    /// ends.
    #[test]
    #[ignore = "of_many_processes_one_claims_and_a_dead_holder_loses runs it in processes of its own"]
    fn claimer() {
        let Ok(job) = std::env::var(CHILD) else { return };
        let (dir, id) = job.split_once('\n').unwrap();
        let store = Store::open(Path::new(dir)).unwrap();
        println!("\nready");
        let mut go = String::new();
        std::io::stdin().lock().read_line(&mut go).unwrap();
        let won = store.claim(&id.parse().unwrap(), claim(std::process::id() as usize, at(1))).is_ok();
        println!("\n{}", if won { "won" } else { "lost" });
        std::io::stdin().lock().read_line(&mut go).unwrap();
    }

    #[test]
    fn of_many_processes_one_claims_and_a_dead_holder_loses() {
        let (dir, store) = store();
        let id = store.save(capture(None, 0), Retention::default()).unwrap().id;
        let job = format!("{}\n{id}", dir.path().join("c").display());
        let mut children: Vec<_> = (0..16)
            .map(|_| {
                let mut command = Command::new(std::env::current_exe().unwrap());
                let module = module_path!().split_once("::").unwrap().1;
                command
                    .args([&format!("{module}::claimer"), "--exact", "--ignored", "--nocapture"])
                    .env(CHILD, &job);
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let mut outputs: Vec<_> = children
            .iter_mut()
            .map(|child| std::io::BufReader::new(child.stdout.take().unwrap()).lines())
            .collect();
        let mut heard = |n: usize, words: &[&str]| {
            outputs[n].by_ref().map(Result::unwrap).find(|line| words.contains(&line.as_str())).unwrap()
        };
        (0..16).for_each(|n| assert_eq!(heard(n, &["ready"]), "ready"));
        children.iter_mut().for_each(|child| child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap());
        let won: Vec<_> = (0..16).filter(|n| heard(*n, &["won", "lost"]) == "won").collect();
        assert_eq!(won.len(), 1);
        assert!(matches!(
            store.claim(&id, claim(1, at(2))),
            Err(StoreError::NotClaimed(NotClaimed::Held { .. }))
        ));
        children.iter_mut().for_each(|child| {
            child.stdin.take();
            child.wait().unwrap();
        });
        assert!(store.claim(&id, claim(1, at(2))).is_ok());
    }
}
