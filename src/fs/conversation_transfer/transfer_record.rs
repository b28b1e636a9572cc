//! What is under way, in `STATE/transfers/current.json`: written before the first file of a transfer, removed
//! after the last step.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::TransferError;
use super::kill_point::kill_point;
use crate::core::ids::ConversationId;
use crate::fs::atomic;
use crate::fs::conversations::FileState;
use crate::fs::file_error::FsError;

/// The longest record that is read, in bytes.
const RECORD_CAP: u64 = 256 << 20;

/// What is done with a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferKind {
    /// It goes to another directory.
    Move,
    /// It is in both afterwards, under two ids.
    Copy,
    /// It comes out of a package.
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
    /// Where it goes.
    pub to: PathBuf,
    /// Where it is written first: in the same directory.
    pub staged: PathBuf,
    /// What it was when it was looked at.
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
    /// The one to which it goes.
    pub to_dir: String,
    /// In the order in which they are put in place. The last one decides whether the conversation is there.
    pub steps: Vec<TransferStep>,
    /// Directories that are made, those above first.
    pub new_dirs: Vec<PathBuf>,
    /// Directories that are removed after a move if they are empty then.
    pub old_dirs: Vec<PathBuf>,
    /// Every file is staged, and each gets its name by a rename: the file system has no hard links.
    #[serde(default)]
    pub by_rename: bool,
}

impl TransferRecord {
    /// One without files.
    pub fn new(kind: TransferKind, from_dir: Option<String>, to_dir: String) -> Self {
        let (steps, new_dirs, old_dirs) = (Vec::new(), Vec::new(), Vec::new());
        TransferRecord { kind, id: None, from_dir, to_dir, steps, new_dirs, old_dirs, by_rename: false }
    }

    /// The one in this directory.
    pub fn load(dir: &Path) -> Result<Option<Self>, TransferError> {
        let path = path(dir);
        let Some(bytes) = atomic::read_own(&path, RECORD_CAP, 0o022)? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes);
        record.map(Some).map_err(|error| FsError::io("read", &path)(error.into()).into())
    }

    /// Writes it, durably.
    pub fn save(&self, dir: &Path) -> Result<(), TransferError> {
        let path = path(dir);
        let bytes = serde_json::to_vec(self).map_err(|error| FsError::io("write", &path)(error.into()))?;
        kill_point();
        atomic::write_with(&path, |file| {
            use std::io::Write;
            let (begin, rest) = bytes.split_at(bytes.len() / 2);
            file.write_all(begin)?;
            kill_point();
            file.write_all(rest)
        })?;
        kill_point();
        Ok(())
    }

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
