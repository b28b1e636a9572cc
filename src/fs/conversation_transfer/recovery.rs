//! Finishes or undoes a transfer, also after a kill at any point. So each step here may already have been
//! done.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::TransferError;
use super::import_package;
use super::kill_point::kill_point;
use super::transfer_record::{TransferKind, TransferRecord, TransferStep};
use super::transfers::{IsOpen, state_at};
use crate::core::ids::ConversationId;
use crate::fs::atomic;
use crate::fs::file_error::FsError;

/// How an interrupted transfer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferOutcome {
    /// Everything is as before the transfer.
    Undone,
    Finished,
    /// It is finished, but this source could not be removed, for this reason.
    SourceStays(PathBuf, String),
}

/// An interrupted transfer that the next call recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTransfer {
    pub kind: TransferKind,
    /// The conversation, by its old id; `None` for a project's memory.
    pub id: Option<ConversationId>,
    /// The directory that it belonged to.
    pub from_dir: Option<String>,
    /// The directory that it was going to; empty if the package was not read yet.
    pub to_dir: String,
    pub outcome: TransferOutcome,
}

impl RecoveredTransfer {
    /// An import that was killed while it unpacked.
    pub(super) fn of_unpacking() -> Self {
        RecoveredTransfer {
            kind: TransferKind::Import,
            id: None,
            from_dir: None,
            to_dir: String::new(),
            outcome: TransferOutcome::Undone,
        }
    }
}

impl fmt::Display for RecoveredTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.to_dir.is_empty() {
            return write!(f, "an interrupted {} was undone: nothing of it is left", self.kind);
        }
        let what = self.id.as_ref().map_or("the project's memory", |id| id.short());
        let from = self.from_dir.as_deref().unwrap_or("its old directory");
        let to = &self.to_dir;
        write!(f, "an interrupted {} of {what} to {to} was ", self.kind)?;
        match (&self.outcome, self.kind) {
            (TransferOutcome::Undone, TransferKind::Move) => write!(f, "undone: it is in {from}, as before"),
            (TransferOutcome::Undone, _) => write!(f, "undone: nothing of it is left"),
            (TransferOutcome::Finished, _) => write!(f, "finished: it is in {to}"),
            (TransferOutcome::SourceStays(path, cause), _) => {
                write!(f, "finished: it is in {to}, but {} could not be removed: {cause}", path.display())
            }
        }
    }
}

/// Recovers an interrupted transfer, if there is one.
pub(super) fn recover(dir: &Path, is_open: IsOpen) -> Result<Option<RecoveredTransfer>, TransferError> {
    let Some(record) = TransferRecord::load(dir)? else { return Ok(None) };
    let Some(deciding) = record.steps.last() else {
        return TransferRecord::remove(dir).map(|()| None);
    };
    let outcome = if has_name(&record, deciding) {
        match finish(&record, is_open)? {
            Some((path, cause)) => TransferOutcome::SourceStays(path, cause),
            None => TransferOutcome::Finished,
        }
    } else {
        // Its staged name is removed last. Without it, either everything or nothing was done: the file in
        // the new place may then be somebody else's, and no source is removed for it.
        let there = |path: &Path| path.symlink_metadata().is_ok();
        let is_done = !there(&deciding.staged)
            && there(&deciding.to)
            && !(record.kind.removes_source() && there(&deciding.from));
        undo(&record)?;
        if is_done { TransferOutcome::Finished } else { TransferOutcome::Undone }
    };
    if record.kind == TransferKind::Import && outcome != TransferOutcome::Undone {
        import_package::note_placed(dir);
    }
    TransferRecord::remove(dir)?;
    let TransferRecord { kind, id, from_dir, to_dir, .. } = record;
    Ok(Some(RecoveredTransfer { kind, id, from_dir, to_dir, outcome }))
}

/// Whether the staged file has its own name: as a second name, or as the only one if it was renamed.
fn has_name(record: &TransferRecord, step: &TransferStep) -> bool {
    match (step.staged.symlink_metadata(), step.to.symlink_metadata()) {
        (Ok(staged), Ok(there)) => (staged.dev(), staged.ino()) == (there.dev(), there.ino()),
        (Err(error), Ok(_)) => record.by_rename && error.kind() == ErrorKind::NotFound,
        _ => false,
    }
}

/// Removes what was put in place. The deciding file was not.
pub(super) fn undo(record: &TransferRecord) -> Result<(), TransferError> {
    for step in record.steps.iter().rev() {
        if has_name(record, step) {
            remove(&step.to)?;
        }
        remove(&step.staged)?;
    }
    remove_empty(record.new_dirs.iter().rev());
    Ok(())
}

/// Removes the staged names, and the source of a move as far as it is unchanged. Returns what stays, with
/// the reason.
pub(super) fn finish(
    record: &TransferRecord,
    is_open: IsOpen,
) -> Result<Option<(PathBuf, String)>, TransferError> {
    let stays = if record.kind.removes_source() { remove_source(record, is_open) } else { None };
    for step in &record.steps {
        remove(&step.staged)?;
    }
    Ok(stays)
}

fn remove_source(record: &TransferRecord, is_open: IsOpen) -> Option<(PathBuf, String)> {
    // The deciding file first: a conversation is where its transcript is.
    for (number, step) in record.steps.iter().rev().enumerate() {
        let stays = |cause: String| Some((step.from.clone(), cause));
        match state_at(&step.from) {
            None => {}
            Some(state) if state != step.state => return stays("it has changed meanwhile".to_owned()),
            Some(_) => {
                let who = record.id.as_ref().filter(|_| number == 0).and_then(is_open);
                if let Some(who) = who {
                    return stays(format!("it is open in {who}"));
                }
                if let Err(error) = remove(&step.from) {
                    return stays(error.to_string());
                }
                if let Some(dir) = step.from.parent().filter(|_| number == 0) {
                    let _ = atomic::sync_dir(dir);
                }
            }
        }
    }
    let mut dirs: Vec<&PathBuf> = record.old_dirs.iter().collect();
    dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
    remove_empty(dirs.into_iter());
    None
}

/// Removes a file that may be gone already.
fn remove(path: &Path) -> Result<(), TransferError> {
    kill_point();
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory => {
            Err(FsError::io("delete", path)(error).into())
        }
        _ => Ok(()),
    }
}

fn remove_empty<'a>(dirs: impl Iterator<Item = &'a PathBuf>) {
    for dir in dirs {
        kill_point();
        // A directory that is not empty stays.
        let _ = fs::remove_dir(dir);
    }
}
