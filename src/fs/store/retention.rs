//! Retention: records that are too many or too old are deleted when another handoff is saved
//! (`handoff.keep_records`, `handoff.keep_days`), but never while they are needed.

use std::collections::HashSet;

use super::manifests::FoundManifest;
use super::{Retention, Store};
use crate::core::handoff::manifest_entry::HandoffProgress;
use crate::core::ids::HandoffId;
use crate::core::time::WallTime;

impl Store {
    /// Deletes records that are too many or too old, never one that is active in any channel. While a
    /// manifest cannot be read, its needs are unknown, so the records of its channel stay. Records that stay
    /// and errors become notices.
    pub(super) fn delete_old(&self, now: WallTime, keep: Retention) {
        let (mut active, mut unread) = (HashSet::new(), Vec::new());
        for channel in self.manifests.channels() {
            match self.manifests.find(&channel) {
                Ok(FoundManifest::Good(manifest)) => {
                    active.extend(
                        manifest
                            .entries()
                            .filter(|e| e.status == HandoffProgress::Active)
                            .map(|e| e.id.clone()),
                    );
                }
                Ok(FoundManifest::Absent) => {}
                Ok(FoundManifest::Bad(_)) | Err(_) => unread.push(channel),
            }
        }
        let may_need = |id: &HandoffId| {
            !unread.is_empty() && self.records.channel(id).is_none_or(|channel| unread.contains(&channel))
        };
        let oldest = WallTime(now.0.saturating_sub(i64::from(keep.days) * 86_400_000)).compact();
        let mut stay = 0;
        for (rank, id) in self.records.ids().into_iter().enumerate() {
            self.records.sweep(&id);
            let too_old = id.as_str().get(3..18).is_some_and(|made| made < oldest.as_str());
            if (rank < keep.records && !too_old) || active.contains(&id) {
                continue;
            }
            if may_need(&id) {
                stay += 1;
            } else if let Err(error) = self.records.delete(&id) {
                self.manifests.notice(error.to_string());
            }
        }
        if stay > 0 {
            let names = unread.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            self.manifests.notice(format!(
                "hopty keeps {stay} old records, because it cannot read the manifest of channel {names}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::handoff_store::tests::{capture, store};
    use super::*;

    #[test]
    fn an_unreadable_manifest_keeps_the_records_of_its_own_channel_and_no_others() {
        let (dir, store) = store();
        let save = |channel: &str, second, records| {
            let mut capture = capture(None, second);
            capture.origin.channel = channel.parse().unwrap();
            store.save(capture, Retention { records, ..Retention::default() }).unwrap().id
        };
        let (mine, hers) = (save("mine", 0, 50), save("hers", 1, 50));
        for (channel, second) in [("mine", 2), ("hers", 3)] {
            save(channel, second, 50);
        }
        let path = dir.path().join("c/handoff/hers.manifest.json");
        std::fs::write(&path, "{").unwrap();
        assert_eq!(store.take_notices(), Vec::<String>::new());
        let left = store.records().dir_of(&mine).join(".hopty-tmp-left");
        let (fresh, old) = (
            store.records().dir_of(&hers).join(".hopty-tmp-new"),
            store.records().dir_of(&hers).join(".hopty-tmp-old"),
        );
        for file in [&left, &fresh, &old] {
            std::fs::write(file, "half").unwrap();
        }
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(then).unwrap();
        save("mine", 4, 1);
        assert!(!store.records().dir_of(&mine).exists(), "what is known to be over goes");
        assert!(store.records().dir_of(&hers).join("handoff.md").exists(), "what may be needed stays");
        assert!(fresh.exists() && !old.exists(), "a copy that was killed is swept, one that is made is not");
        let told = store.take_notices();
        assert_eq!(told, ["hopty keeps 2 old records, because it cannot read the manifest of channel hers"]);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "{", "and it is left as it is");
    }
}
