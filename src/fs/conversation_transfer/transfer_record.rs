//! The transfer in progress, in `STATE/transfers/current.json`: written before its first file, removed
//! after its last step.

use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::TransferError;
use super::kill_point::{KillPoints, kill_point};
use crate::core::ids::ConversationId;
use crate::fs::atomic;
use crate::fs::conversations::FileState;
use crate::fs::file_error::FsError;

/// The longest record that is read, in bytes.
const RECORD_CAP: u64 = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferKind {
    /// To another directory.
    Move,
    /// In both directories afterwards, under two ids.
    Copy,
    /// From a package.
    Import,
}

impl fmt::Display for TransferKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransferKind::Move => "move",
            TransferKind::Copy => "copy",
            TransferKind::Import => "import",
        })
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TransferStep {
    pub from: PathBuf,
    /// The new place.
    pub to: PathBuf,
    /// The temporary name, in the same directory.
    pub staged: PathBuf,
    /// Its state when it was listed.
    pub state: FileState,
    /// The mode of the new file.
    pub mode: u32,
    /// Whether its lines are those of a transcript.
    pub has_lines: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TransferRecord {
    pub kind: TransferKind,
    /// The conversation, by its old id; `None` for a project's memory.
    pub id: Option<ConversationId>,
    /// The directory that it belonged to.
    pub from_dir: Option<String>,
    /// The directory that it goes to.
    pub to_dir: String,
    /// In the order in which they are put in place. The last one decides whether the conversation exists.
    pub steps: Vec<TransferStep>,
    /// Directories that are created, parents first.
    pub new_dirs: Vec<PathBuf>,
    /// Directories that a move removes if they are empty afterwards.
    pub old_dirs: Vec<PathBuf>,
    /// Whether all files are staged first and then renamed, because the file system has no hard links.
    #[serde(default)]
    pub by_rename: bool,
}

impl TransferRecord {
    /// A record without files.
    pub fn new(kind: TransferKind, from_dir: Option<String>, to_dir: String) -> Self {
        let (steps, new_dirs, old_dirs) = (Vec::new(), Vec::new(), Vec::new());
        TransferRecord { kind, id: None, from_dir, to_dir, steps, new_dirs, old_dirs, by_rename: false }
    }

    /// Reads the record in this directory.
    ///
    /// # Errors
    /// When it cannot be read, is not a record, or others can write to it.
    pub fn load(dir: &Path) -> Result<Option<Self>, TransferError> {
        let path = path(dir);
        let Some(bytes) = atomic::read_own(&path, RECORD_CAP, 0o022)? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes);
        record.map(Some).map_err(|error| FsError::io("read", &path)(error.into()).into())
    }

    /// Writes the record, durably.
    ///
    /// # Errors
    /// When it cannot be written or synced.
    pub fn save(&self, dir: &Path) -> Result<(), TransferError> {
        let path = path(dir);
        let bytes = serde_json::to_vec(self).map_err(|error| FsError::io("write", &path)(error.into()))?;
        kill_point();
        atomic::write_with(&path, |file| KillPoints(file).write_all(&bytes))?;
        kill_point();
        Ok(())
    }

    /// Deletes the record in this directory, durably; it may be missing.
    ///
    /// # Errors
    /// When it cannot be deleted, or the directory cannot be synced.
    pub fn remove(dir: &Path) -> Result<(), TransferError> {
        kill_point();
        let path = path(dir);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(FsError::io("delete", &path)(error).into()),
        }
        Ok(atomic::sync_dir(dir)?)
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("current.json")
}
