//! The record of a handoff: one directory per id with everything that is known.
//!
//! `handoff.md`, `brief.md`, `prompts.md`, `answer.md`, `plan.md`, `open-plan.md`, `reports.md`, `agreed.md`,
//! `state.json` and `changes.patch` are written when the handoff is made; `transcript.jsonl.gz` follows.
//! Records are created, changed and deleted under the store's lock, which the caller holds.

use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::Retention;
use super::boot_time;
use crate::core::handoff::brief::{BriefFiles, brief};
use crate::core::handoff::capture::Capture;
use crate::core::handoff::checkpoint::Phases;
use crate::core::handoff::document::Document;
use crate::core::handoff::reports::{agreed_file, open_plan_file, plan_file, reports_file};
use crate::core::handoff::safe_prompts::Words;
use crate::core::handoff::state_json::{Git, HandoffState, TranscriptCopy};
use crate::core::hex::hex;
use crate::core::ids::{Channel, HandoffId};
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::sys::safe_file::{self, FileRule};

/// The longest document that is read, in bytes.
pub(super) const DOCUMENT_CAP: u64 = 16 << 20;
/// The copy of the transcript in a record.
const TRANSCRIPT: &str = "transcript.jsonl.gz";
/// The longest transcript that is copied, in bytes. Claude's own are some megabytes.
pub(in crate::fs) const TRANSCRIPT_CAP: u64 = 1 << 30;
/// Uncommitted changes and new files, as a patch.
const PATCH: &str = "changes.patch";
/// The brief, which the next conversation is shown.
const BRIEF: &str = "brief.md";
/// The longest brief that is read, in bytes.
const BRIEF_CAP: u64 = 64 << 10;
/// All prompts of the person, complete.
const PROMPTS: &str = "prompts.md";
/// Claude's last message, complete.
const ANSWER_FILE: &str = "answer.md";
/// The plan that the person approved, complete.
const PLAN: &str = "plan.md";
/// The plan that waits for approval, complete.
const OPEN_PLAN: &str = "open-plan.md";
/// What sub-agents reported.
const REPORTS: &str = "reports.md";
const AGREED: &str = "agreed.md";
/// The record for programs.
const STATE: &str = "state.json";
/// The longest patch that is compared, in bytes; no longer one is written.
const PATCH_CAP: u64 = 8 << 20;
/// A temporary file that was not written for this long is abandoned.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);
/// By how many seconds an id is moved at most if others took it.
const ID_TRIES: usize = 120;

/// The part of `state.json` that is read back.
#[derive(Deserialize)]
struct WorkTree {
    #[serde(default)]
    git: Option<Git>,
}

/// The part of it about the work's progress.
#[derive(Deserialize)]
struct ProgressFields {
    context: Objective,
    checkpoint: PhaseFields,
}

#[derive(Deserialize)]
struct Objective {
    current_objective: String,
}

#[derive(Deserialize)]
struct PhaseFields {
    current_phase: u64,
    total_phases: u64,
}

/// The part of it about its owner.
#[derive(Deserialize)]
struct RecordChannel {
    channel: Channel,
}

/// The directory of all records.
#[derive(Clone, Debug)]
pub struct HandoffRecords {
    dir: PathBuf,
}

#[derive(Debug)]
pub(super) struct WrittenRecord {
    pub(super) id: HandoffId,
    pub(super) dir: PathBuf,
    /// The text of `handoff.md`.
    pub(super) text: String,
    pub(super) sha256: String,
    /// The text of `brief.md`.
    pub(super) brief: String,
    pub(super) brief_sha256: String,
}

impl HandoffRecords {
    pub(super) fn new(handoff_dir: &Path) -> Self {
        Self { dir: handoff_dir.join("records") }
    }

    /// The directory of a handoff's record.
    pub fn dir_of(&self, id: &HandoffId) -> PathBuf {
        self.dir.join(id.as_str())
    }

    pub(super) fn document_of(&self, id: &HandoffId) -> PathBuf {
        self.dir_of(id).join("handoff.md")
    }

    /// Creates the record. `capture.origin.created_at` is moved by a second for as long as its id is taken:
    /// by a record, or by an entry whose record is gone (`is_known`).
    pub(super) fn write(
        &self,
        capture: &mut Capture,
        is_known: impl Fn(&HandoffId) -> bool,
        keep: Retention,
    ) -> Result<WrittenRecord, FsError> {
        atomic::private_dir(&self.dir)?;
        let dir = self.make_dir(capture, is_known)?;
        if let Some(before) = capture.origin.predecessor.as_ref().and_then(|id| self.state(id)) {
            before.pass_on(capture);
        }
        let text = Document::of(capture).render();
        atomic::write(&dir.join("handoff.md"), text.as_bytes())?;
        let words = Words::of(capture);
        atomic::write(&dir.join(STATE), HandoffState::with(capture, &words).render().as_bytes())?;
        // The transcript has both: a hand-over does not wait until the disk has them, too.
        atomic::swap(&dir.join(PROMPTS), words.prompts_file().as_bytes())?;
        if !words.last_answer.is_empty() {
            atomic::swap(&dir.join(ANSWER_FILE), (words.last_answer.clone() + "\n").as_bytes())?;
        }
        let texts = [
            (PLAN, plan_file(capture)),
            (OPEN_PLAN, open_plan_file(capture)),
            (REPORTS, reports_file(capture)),
            (AGREED, agreed_file(capture)),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                atomic::swap(&dir.join(name), text.as_bytes())?;
            }
        }
        let places =
            BriefFiles::of(capture, &self.dir.to_string_lossy(), &capture.id(), keep.copies_transcript);
        let brief = brief(capture, &words, &places, keep.brief);
        atomic::write(&dir.join(BRIEF), brief.as_bytes())?;
        if let Some(git) =
            capture.git.as_ref().filter(|git| !git.patch.is_empty() || !git.new_files.is_empty())
        {
            atomic::write(&dir.join(PATCH), &[&*git.patch, &*git.new_files].concat())?;
        }
        // Without it the time of day decides when it expires.
        let _ = boot_time::note(&dir, capture.origin.created_at);
        atomic::sync_dir(&self.dir)?;
        let sha256 = digest(text.as_bytes());
        let brief_sha256 = digest(brief.as_bytes());
        Ok(WrittenRecord { id: capture.id(), dir, text, sha256, brief, brief_sha256 })
    }

    fn make_dir(
        &self,
        capture: &mut Capture,
        is_known: impl Fn(&HandoffId) -> bool,
    ) -> Result<PathBuf, FsError> {
        for _ in 0..ID_TRIES {
            let dir = self.dir_of(&capture.id());
            if is_known(&capture.id()) {
                capture.origin.created_at = capture.origin.created_at.after(1000);
                continue;
            }
            match atomic::make_dir(&dir) {
                Ok(()) => return Ok(dir),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    capture.origin.created_at = capture.origin.created_at.after(1000);
                }
                Err(error) => return Err(FsError::io("create the record", &dir)(error)),
            }
        }
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(FsError::io("create the record", &self.dir_of(&capture.id()))(taken))
    }

    /// The document of a record; `None` if it is gone.
    pub(super) fn read(&self, id: &HandoffId) -> Result<Option<Vec<u8>>, FsError> {
        atomic::read_own(&self.document_of(id), DOCUMENT_CAP, 0o022)
    }

    /// The brief of a record, if it has this digest.
    pub(super) fn brief(&self, id: &HandoffId, sha256: &str) -> Option<String> {
        let bytes = atomic::read_own(&self.dir_of(id).join(BRIEF), BRIEF_CAP, 0o022).ok()??;
        String::from_utf8(bytes).ok().filter(|text| digest(text.as_bytes()) == sha256)
    }

    pub(super) fn brief_of(&self, id: &HandoffId) -> PathBuf {
        self.dir_of(id).join(BRIEF)
    }

    /// The state of the work tree when the handoff was made: branch, head and changed files, and their
    /// changes if there was room. `None` if the record does not have it.
    pub fn work_tree(&self, id: &HandoffId) -> Option<(Option<Git>, Option<Vec<u8>>)> {
        let dir = self.dir_of(id);
        let bytes = read_state(&dir.join(STATE)).ok()??;
        let state: WorkTree = serde_json::from_slice(&bytes).ok()?;
        let patch = atomic::read_own(&dir.join(PATCH), PATCH_CAP, 0o022).ok().flatten();
        Some((state.git, patch))
    }

    /// What the work was about, and its progress. `None` if the record does not have it.
    pub fn progress(&self, id: &HandoffId) -> Option<(String, Phases)> {
        let bytes = read_state(&self.dir_of(id).join(STATE)).ok()??;
        let state: ProgressFields = serde_json::from_slice(&bytes).ok()?;
        let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let phases = Phases {
            done: count(state.checkpoint.current_phase),
            total: count(state.checkpoint.total_phases),
        };
        Some((state.context.current_objective, phases))
    }

    /// Compresses `source` into the record, up to its length at the start. The source is only read.
    pub(super) fn compress(&self, id: &HandoffId, source: &Path) -> Result<PathBuf, FsError> {
        let target = self.dir_of(id).join(TRANSCRIPT);
        let missing = || FsError::io("open", source)(io::ErrorKind::NotFound.into());
        let file = safe_file::open(source, FileRule::of_claude(TRANSCRIPT_CAP).of_this_user())?
            .ok_or_else(missing)?;
        let meta = file.metadata().map_err(FsError::io("inspect", source))?;
        atomic::write_with(&target, |out| {
            let mut input = BufReader::with_capacity(1 << 16, io::Read::take(file, meta.len()));
            let mut gz = GzEncoder::new(out, Compression::default());
            io::copy(&mut input, &mut gz)?;
            gz.finish().map(drop)
        })?;
        Ok(target)
    }

    /// The existing raw copies of a record, uncompressed, each with its file's name.
    pub fn raw_copies(&self, id: &HandoffId) -> Vec<(&'static str, Box<dyn io::Read>)> {
        let mut copies: Vec<(&'static str, Box<dyn io::Read>)> = Vec::new();
        let open = |name| safe_file::open(&self.dir_of(id).join(name), FileRule::own(TRANSCRIPT_CAP));
        copies.extend(self.transcript(id).map(|copy| (TRANSCRIPT, copy)));
        if let Ok(Some(file)) = open(PATCH) {
            copies.push((PATCH, Box::new(file)));
        }
        copies
    }

    /// Whether a record has a copy of the transcript.
    pub fn has_transcript(&self, id: &HandoffId) -> bool {
        self.dir_of(id).join(TRANSCRIPT).symlink_metadata().is_ok_and(|meta| meta.is_file())
    }

    /// The copy of the transcript in a record, uncompressed; `None` if there is none.
    pub fn transcript(&self, id: &HandoffId) -> Option<Box<dyn io::Read>> {
        let file =
            safe_file::open(&self.dir_of(id).join(TRANSCRIPT), FileRule::own(TRANSCRIPT_CAP)).ok()??;
        Some(Box::new(GzDecoder::new(BufReader::with_capacity(1 << 16, file))))
    }

    /// The states of all records that can be read, the newest first.
    pub fn states(&self) -> Vec<HandoffState> {
        let names = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut ids: Vec<HandoffId> =
            names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.iter().filter_map(|id| self.state(id)).collect()
    }

    /// The state of a record; `None` if it is gone or cannot be read.
    pub fn state(&self, id: &HandoffId) -> Option<HandoffState> {
        let bytes = read_state(&self.dir_of(id).join(STATE)).ok().flatten()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Records the progress of the transcript's copy. A state that cannot be read is left as it is.
    pub(super) fn mark(&self, id: &HandoffId, copy: TranscriptCopy) -> Result<(), FsError> {
        let path = self.dir_of(id).join(STATE);
        let Some(bytes) = read_state(&path)? else { return Ok(()) };
        // Only this field: a later hopty may have more of them.
        let Ok(mut state) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes)
        else {
            return Ok(());
        };
        let Ok(word) = serde_json::to_value(copy) else { return Ok(()) };
        state.insert("transcript".to_owned(), word);
        let text = serde_json::to_string_pretty(&state).map(|text| text + "\n").unwrap_or_default();
        if text.is_empty() { Ok(()) } else { atomic::write(&path, text.as_bytes()) }
    }

    /// The channel of a record; `None` if it does not have one.
    pub(super) fn channel(&self, id: &HandoffId) -> Option<Channel> {
        let bytes = read_state(&self.dir_of(id).join(STATE)).ok().flatten()?;
        serde_json::from_slice::<RecordChannel>(&bytes).ok().map(|state| state.channel)
    }

    /// Deletes the leftovers of a killed copy in a record. A copy in progress is younger than that.
    pub(super) fn sweep(&self, id: &HandoffId) {
        atomic::sweep_older(&self.dir_of(id), ABANDONED_AFTER);
    }

    /// The ids of all records, the newest first.
    pub(super) fn ids(&self) -> Vec<HandoffId> {
        let names = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let dirs = names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut ids: Vec<HandoffId> =
            dirs.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    pub(super) fn delete(&self, id: &HandoffId) -> Result<(), FsError> {
        atomic::remove_dir(&self.dir_of(id))
    }
}

/// `state.json` of a record; one that others may write may be forged.
fn read_state(path: &Path) -> Result<Option<Vec<u8>>, FsError> {
    atomic::read_own(path, DOCUMENT_CAP, 0o022)
}

/// SHA-256 in lower-case hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
