//! The store of one Claude directory: saves, finds and loads handoffs.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::manifests::Manifests;
use super::records::HandoffRecords;
use super::records::{DOCUMENT_CAP, digest};
use crate::core::config::Handoff;
use crate::core::handoff::brief::{Budget, brief_of_document, with_changes};
use crate::core::handoff::capture::Capture;
use crate::core::handoff::document::Document;
use crate::core::handoff::manifest::{Manifest, NotClaimed, NotMoved};
use crate::core::handoff::manifest_entry::{HandoffProgress, IndexEntry};
use crate::core::handoff::state_json::TranscriptCopy;
use crate::core::ids::{Channel, HandoffId};
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::fs::project::project_of;

/// Why the store failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file could not be read, written or locked.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The handoff could not be moved.
    #[error(transparent)]
    NotMoved(#[from] NotMoved),
    /// The handoff could not be claimed.
    #[error(transparent)]
    NotClaimed(#[from] NotClaimed),
}

/// How long handoffs stay valid and records are kept (`[handoff]` of the configuration).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Milliseconds until a new handoff expires; `None`: never.
    pub expiry_ms: Option<u64>,
    /// How many of the newest records are kept at least; active ones are always kept.
    pub records: usize,
    /// For how many days records are kept.
    pub days: u32,
    /// The length of the brief.
    pub brief: Budget,
    /// Whether the transcript is copied into the record.
    pub copies_transcript: bool,
}

impl Retention {
    /// From the configuration.
    #[must_use]
    pub fn of(config: &Handoff) -> Self {
        Self {
            expiry_ms: Some(config.expiry.ms()),
            records: usize::try_from(config.keep_records).unwrap_or(usize::MAX),
            days: config.keep_days,
            brief: Budget::of(config),
            copies_transcript: config.copy_transcript,
        }
    }
}

impl Default for Retention {
    /// The defaults of the configuration.
    fn default() -> Self {
        Self {
            expiry_ms: Some(7_200_000),
            records: 50,
            days: 30,
            brief: Budget::default(),
            copies_transcript: true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedHandoff {
    pub id: HandoffId,
    pub record_dir: PathBuf,
    /// Its document's file, which a cut mark and a prompt without hooks name.
    pub document_path: PathBuf,
    pub document: Document,
    /// The brief, which the next conversation is shown.
    pub brief: String,
    /// The brief's file.
    pub brief_path: PathBuf,
    pub entry: IndexEntry,
}

/// A handoff that was found or claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHandoff {
    /// The channel whose manifest names it.
    pub channel: Channel,
    pub entry: IndexEntry,
    pub document: Document,
    /// The text of its document.
    pub text: String,
    /// The file of its document.
    pub document_path: PathBuf,
    /// Its brief and the brief's file; `None` if another program or an earlier version made the handoff, or
    /// if the file was changed.
    pub brief: Option<(String, PathBuf)>,
}

impl StoredHandoff {
    /// The text for the next conversation, and the file to read where no hook can show it. `changes` are
    /// those of the work tree since the handoff.
    pub fn brief(&self, changes: &[String], budget: Budget) -> (String, PathBuf) {
        match &self.brief {
            Some((text, path)) => (with_changes(text, changes), path.clone()),
            None => {
                let text = brief_of_document(&self.document, &self.document_path.to_string_lossy(), budget);
                (with_changes(&text, changes), self.document_path.clone())
            }
        }
    }
}

/// The handoffs of one Claude directory.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    pub(super) records: HandoffRecords,
    pub(super) manifests: Manifests,
}

impl Store {
    /// The store below `claude_dir` (`C`), which is created if it is missing.
    ///
    /// # Errors
    /// When a directory cannot be created or is not private.
    pub fn open(claude_dir: &Path) -> Result<Self, StoreError> {
        let store = Self::at(claude_dir);
        store.make()?;
        Ok(store)
    }

    /// The store below `claude_dir`, without creating it; to save, it must exist ([`Store::make`]).
    #[must_use]
    pub fn at(claude_dir: &Path) -> Self {
        let dir = claude_dir.join("handoff");
        let records = HandoffRecords::new(&dir);
        let manifests = Manifests::new(&dir);
        Self { dir, records, manifests }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates its directory if that is missing.
    ///
    /// # Errors
    /// When it cannot be created or is not private.
    pub fn make(&self) -> Result<(), StoreError> {
        Ok(atomic::private_dir(&self.dir)?)
    }

    /// Notices for a person about the store, oldest first; each is returned once.
    pub fn take_notices(&self) -> Vec<String> {
        self.manifests.take_notices()
    }

    /// Saves a handoff as the current one of its channel. Old records are deleted afterwards.
    ///
    /// # Errors
    /// When anything could not be written or synced: the handoff is then not saved.
    pub fn save(&self, mut capture: Capture, keep: Retention) -> Result<SavedHandoff, StoreError> {
        let channel = capture.origin.channel.clone();
        let locked = self.manifests.lock(Some(&channel))?;
        atomic::sweep(&self.dir);
        let mut manifest = self.manifests.manifest_or_new(&channel)?;
        let written = self.records.write(&mut capture, |id| manifest.find(id).is_some(), keep)?;
        let digests = (written.sha256, written.brief_sha256);
        let entry = entry_of(&capture, &written.id, digests, keep.expiry_ms);
        match atomic::write(&self.current_of(&channel), written.text.as_bytes()) {
            // Something that is not a file belongs to somebody, and is left alone. hopty reads the record,
            // so only people who look for the document miss it.
            Err(odd @ (FsError::WrongKind { .. } | FsError::Symlink(_))) => {
                self.manifests.notice(format!(
                    "{odd}: hopty leaves it unchanged, and the handoff's document is only in its record"
                ));
            }
            done => done?,
        }
        manifest.add(entry.clone());
        self.manifests.put(&manifest)?;
        self.delete_old(capture.origin.created_at, keep);
        drop(locked);
        let document_path = self.records.document_of(&written.id);
        let brief_path = self.records.brief_of(&written.id);
        Ok(SavedHandoff {
            id: written.id,
            record_dir: written.dir,
            document_path,
            document: Document::of(&capture),
            brief: written.brief,
            brief_path,
            entry,
        })
    }

    /// The entries of one channel, or of all, the newest first.
    ///
    /// # Errors
    /// When the channel's manifest cannot be opened. One that is not valid (or, for all channels, cannot be
    /// opened) is reported and left out.
    pub fn list(&self, channel: Option<&Channel>) -> Result<Vec<(Channel, IndexEntry)>, StoreError> {
        let manifests: Vec<Manifest> = match channel {
            Some(channel) => self.manifests.look(channel)?.into_iter().collect(),
            None => self
                .manifests
                .channels()
                .iter()
                .filter_map(|channel| self.manifests.look_past(channel))
                .collect(),
        };
        let entries = |manifest: &Manifest| {
            manifest.entries().map(|e| (manifest.channel.clone(), e.clone())).collect::<Vec<_>>()
        };
        let mut all: Vec<(Channel, IndexEntry)> = manifests.iter().flat_map(entries).collect();
        // Entries of one second are ordered in the manifest but not by their ids: the sort must be stable.
        all.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.created_at));
        Ok(all)
    }

    /// A handoff with its document, whatever its status.
    ///
    /// # Errors
    /// [`NotClaimed::Unknown`] or [`NotClaimed::Unusable`] as [`StoreError::NotClaimed`]; others when files
    /// fail.
    pub fn show(&self, id: &HandoffId) -> Result<StoredHandoff, StoreError> {
        let known = self.list(None)?.into_iter().find(|(_, entry)| entry.id == *id);
        let (channel, entry) = known.ok_or_else(|| NotClaimed::Unknown(id.clone()))?;
        self.load(&channel, entry)
    }

    /// The records of all handoffs, whether or not a manifest names them.
    pub fn records(&self) -> &HandoffRecords {
        &self.records
    }

    /// Compresses the transcript `source` into the record, and writes the outcome to `state.json`. The source
    /// is only read. The lock is not held while the copy is made.
    ///
    /// # Errors
    /// When the copy could not be created or the outcome could not be written.
    pub fn compress_transcript(&self, id: &HandoffId, source: &Path) -> Result<PathBuf, StoreError> {
        let made = self.records.compress(id, source);
        let outcome = if made.is_ok() { TranscriptCopy::Done } else { TranscriptCopy::Failed };
        let _locked = self.manifests.lock(None)?;
        let marked = self.records.mark(id, outcome);
        let path = made?;
        marked?;
        Ok(path)
    }

    /// The document of an entry, checked against its digest.
    ///
    /// # Errors
    /// When the document is gone, was changed, or cannot be read.
    pub fn load(&self, channel: &Channel, entry: IndexEntry) -> Result<StoredHandoff, StoreError> {
        let id = entry.id.clone();
        let unusable = |why: String| NotClaimed::Unusable { id: id.clone(), why };
        let mut document_path = self.records.document_of(&id);
        let mut read = self.records.read(&id);
        // A manifest of the first source document's scripts has no digest, and no record but the channel's
        // one file.
        let foreign = entry.sha256.is_empty() && matches!(read, Ok(None));
        if foreign {
            document_path = self.current_of(channel);
            read = atomic::read_own(&document_path, DOCUMENT_CAP, 0o022);
        }
        let bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(unusable("its file is gone".to_owned()).into()),
            Err(error) => return Err(unusable(error.to_string()).into()),
        };
        if !foreign && entry.sha256 != digest(&bytes) {
            return Err(unusable("its file was changed after it was written".to_owned()).into());
        }
        let text = String::from_utf8(bytes).map_err(|_| unusable("its file is not text".to_owned()))?;
        let document = Document::parse(&text).map_err(|error| unusable(error.to_string()))?;
        if document.headers.id != id {
            return Err(unusable(format!("its file belongs to {}", document.headers.id)).into());
        }
        let brief = entry.brief_sha256.as_ref().and_then(|sha256| self.records.brief(&id, sha256));
        let brief = brief.map(|text| (text, self.records.brief_of(&id)));
        Ok(StoredHandoff { channel: channel.clone(), entry, document, text, document_path, brief })
    }

    /// The channel's `CURRENT.md`.
    fn current_of(&self, channel: &Channel) -> PathBuf {
        self.dir.join(format!("{channel}-CURRENT.md"))
    }
}

fn entry_of(
    capture: &Capture,
    id: &HandoffId,
    (sha256, brief_sha256): (String, String),
    expiry_ms: Option<u64>,
) -> IndexEntry {
    let origin = &capture.origin;
    IndexEntry {
        id: id.clone(),
        session_id: origin.conversation.clone(),
        created_at: origin.created_at,
        created_by_pid: origin.pid,
        working_dir: origin.working_dir.clone(),
        project: Some(project_of(Path::new(&origin.working_dir)).to_string_lossy().into_owned()),
        kind: origin.kind,
        status: HandoffProgress::Active,
        hopty_session: origin.session.clone(),
        predecessor: origin.predecessor.clone(),
        sha256,
        brief_sha256: Some(brief_sha256),
        expires_at: expiry_ms.map(|ms| origin.created_at.after(ms)),
        claim: None,
        consumed_at: None,
        consumed_by_pid: None,
        waited_until: None,
        consumed_by_session: None,
        elapsed_ms: None,
        other: Default::default(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::core::claude::transcript_facts::TranscriptFacts;
    use crate::core::handoff::capture::HandoffOrigin;
    use crate::core::handoff::manifest_entry::{Claim, HandoffKind};
    use crate::core::time::WallTime;
    use crate::fs::project::HandoffScope;
    use crate::sys::process;
    use std::io::Read;

    pub(crate) fn at(second: i64) -> WallTime {
        WallTime(1_795_000_000_000 + second * 1000)
    }

    pub(crate) fn capture(session: Option<&str>, second: i64) -> Capture {
        let origin = HandoffOrigin {
            conversation: "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap(),
            channel: Channel::global(),
            kind: HandoffKind::Auto,
            created_at: at(second),
            working_dir: "/home/u/proj".to_owned(),
            transcript: String::new(),
            session: session.map(|name| name.parse().unwrap()),
            pid: 1,
            predecessor: None,
        };
        let mut capture = Capture::new(origin, &TranscriptFacts::new());
        capture.goal = Some("Make it".to_owned());
        capture
    }

    pub(crate) fn claim(n: usize, now: WallTime) -> Claim {
        let by_pid = std::process::id();
        let session_id = format!("00000000-0000-4000-8000-{n:012}").parse().unwrap();
        Claim {
            by_pid,
            by_start: process::start_ticks(by_pid).unwrap(),
            session_id,
            at: now,
            other: Default::default(),
        }
    }

    pub(crate) fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("c")).unwrap();
        (dir, store)
    }

    #[test]
    fn an_id_that_is_taken_moves_a_second() {
        let (_dir, store) = store();
        let first = store.save(capture(Some("a"), 0), Retention::default()).unwrap();
        let second = store.save(capture(Some("b"), 0), Retention::default()).unwrap();
        assert_eq!(second.entry.created_at, at(1));
        assert_ne!(first.id, second.id);
        assert!(store.show(&second.id).unwrap().text.contains(second.id.as_str()));
        let listed: Vec<_> = store.list(None).unwrap().into_iter().map(|(_, entry)| entry.id).collect();
        assert_eq!(listed, [second.id, first.id.clone()]);
        std::fs::remove_dir_all(store.records().dir_of(&first.id)).unwrap();
        assert_ne!(
            store.save(capture(Some("c"), 0), Retention::default()).unwrap().id,
            first.id,
            "its entry is still there"
        );
    }

    #[test]
    fn a_changed_or_lost_document_is_refused() {
        let (_dir, store) = store();
        let saved = store.save(capture(None, 0), Retention::default()).unwrap();
        let path = &saved.document_path;
        std::fs::write(path, std::fs::read_to_string(path).unwrap().replace("Make", "Break")).unwrap();
        let refused = |store: &Store| match store.claim(&saved.id, claim(1, at(1))) {
            Err(StoreError::NotClaimed(NotClaimed::Unusable { why, .. })) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(&store).contains("changed"));
        std::fs::remove_file(path).unwrap();
        assert!(refused(&store).contains("gone"));
        assert!(store.list(None).unwrap()[0].1.claim.is_none());
    }

    #[test]
    fn a_corrupt_manifest_is_quarantined_and_reported() {
        let (dir, store) = store();
        let path = dir.path().join("c/handoff/global.manifest.json");
        for (second, text) in [(0, "{"), (1, ""), (2, "{\"channel\":\"other\"}"), (3, "[]")] {
            std::fs::write(&path, text).unwrap();
            assert!(
                store
                    .pending(&Channel::global(), None, HandoffScope::Channel, Path::new(""), at(0))
                    .unwrap()
                    .is_none()
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "reading changes nothing");
            store.save(capture(None, second), Retention::default()).unwrap();
            assert_eq!(store.list(None).unwrap().len(), 1);
            assert_eq!(store.take_notices().len(), 2);
        }
        let names = std::fs::read_dir(dir.path().join("c/handoff")).unwrap();
        let aside =
            names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().contains(".corrupt-"));
        assert_eq!(aside.count(), 4);
    }

    #[test]
    fn old_records_go_and_active_ones_stay() {
        let (_dir, store) = store();
        let keep = Retention { expiry_ms: None, records: 2, ..Retention::default() };
        let active = store.save(capture(Some("kept"), 0), keep).unwrap();
        let old: Vec<_> = (1..5).map(|n| store.save(capture(Some("p"), n), keep).unwrap().id).collect();
        let there: Vec<_> = old.iter().map(|id| store.records().dir_of(id).exists()).collect();
        assert_eq!(there, [false, false, true, true]);
        assert!(active.record_dir.exists());
        store.save(capture(Some("q"), 40 * 86_400), keep).unwrap();
        assert!(!store.records().dir_of(&old[2]).exists() && active.record_dir.exists());
        assert!(store.records().dir_of(&old[3]).exists(), "it is still active");
    }

    #[test]
    fn records_are_kept_as_configured() {
        let kept = |keep_records, keep_days| {
            let (_dir, store) = store();
            let keep = Retention::of(&Handoff { keep_records, keep_days, ..Handoff::default() });
            let old: Vec<_> = (0..2).map(|n| store.save(capture(None, n), keep).unwrap().id).collect();
            store.save(capture(None, 10 * 86_400), keep).unwrap();
            old.iter().filter(|id| store.records().dir_of(id).exists()).count()
        };
        assert_eq!([kept(50, 30), kept(2, 30), kept(1, 30), kept(50, 5)], [2, 1, 0, 0]);
    }

    #[test]
    fn a_transcript_is_compressed_beside_its_record() {
        let (dir, store) = store();
        let saved = store.save(capture(None, 0), Retention::default()).unwrap();
        let source = dir.path().join("t.jsonl");
        let state = || std::fs::read_to_string(saved.record_dir.join("state.json")).unwrap();
        assert!(store.compress_transcript(&saved.id, &source).is_err());
        assert!(state().contains("\"transcript\": \"failed\""));
        let lines = "{\"type\":\"mode\"}\n".repeat(9000);
        std::fs::write(&source, &lines).unwrap();
        let made = store.compress_transcript(&saved.id, &source).unwrap();
        let mut read = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(made).unwrap()).read_to_string(&mut read).unwrap();
        assert!(read == lines && std::fs::read_to_string(&source).unwrap() == lines);
        assert!(state().contains("\"transcript\": \"done\""));
    }

    /// Run by the next test in a process of its own: saves until it is killed, and prints what was saved.
    #[test]
    #[ignore = "a_saved_handoff_survives_a_kill_at_any_point runs it in a process of its own"]
    fn saver() {
        let Ok(dir) = std::env::var("HOPTY_TEST_SAVE") else { return };
        let store = Store::open(Path::new(&dir)).unwrap();
        for second in 0..1_000_000 {
            println!("\nsaved {}", store.save(capture(None, second), Retention::default()).unwrap().id);
        }
    }

    #[test]
    fn a_saved_handoff_survives_a_kill_at_any_point() {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};
        let (dir, store) = store();
        let module = module_path!().split_once("::").unwrap().1;
        for round in 1..=12 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args([&format!("{module}::saver"), "--exact", "--ignored", "--nocapture"])
                .stdout(Stdio::piped());
            let mut child = command.env("HOPTY_TEST_SAVE", dir.path().join("c")).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let ids =
                lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("saved ")?.to_owned()));
            let last: HandoffId = ids.take(round % 4 + 1).last().unwrap().parse().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(store.show(&last).unwrap().text.contains(last.as_str()));
            let current = std::fs::read_to_string(dir.path().join("c/handoff/global-CURRENT.md")).unwrap();
            Document::parse(&current).unwrap();
        }
        store.save(capture(None, 0), Retention::default()).unwrap();
        let names = std::fs::read_dir(dir.path().join("c/handoff")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(
            !names.iter().any(|name| name.starts_with(atomic::TEMP_PREFIX) || name.ends_with(".d")),
            "{names:?}"
        );
        assert_eq!(store.take_notices(), Vec::<String>::new());
    }
}
