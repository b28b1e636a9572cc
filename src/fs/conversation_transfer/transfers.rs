//! Carries out a plan.

use std::fs::{self, FileTimes, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::TransferError;
use super::import_package;
use super::kill_point::{KillPoints, kill_point};
use super::recovery::{self, RecoveredTransfer};
use super::transfer_lines::{self, LineCounts};
use super::transfer_plan::TransferPlan;
use super::transfer_record::{TransferKind, TransferRecord, TransferStep};
use crate::core::conversation_transfer::TransferRules;
use crate::core::ids::ConversationId;
use crate::fs::conversations::FileState;
use crate::fs::file_error::FsError;
use crate::fs::lock::FileLock;
use crate::fs::paths::Paths;
use crate::fs::{atomic, free_space};
use crate::sys::safe_file::{self, FileRule};

/// How long to wait for another process that moves or copies.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How much of a file is read at once, in bytes.
const CHUNK: usize = 1 << 17;
/// Space that must remain free on the disk, in bytes.
pub(super) const RESERVE: u64 = 1 << 20;

/// Says in words who has a conversation open; `None` if nobody has.
pub type IsOpen<'a> = &'a dyn Fn(&ConversationId) -> Option<String>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferReport {
    /// How many files were put in place.
    pub files: usize,
    pub bytes: u64,
    /// The lines of all transferred transcripts.
    pub lines: LineCounts,
    /// The last file: the conversation's transcript.
    pub transcript: PathBuf,
}

/// The right to transfer conversations, which one process holds at a time.
pub struct Transfers<'a> {
    pub(super) dir: PathBuf,
    is_open: IsOpen<'a>,
    _lock: FileLock,
}

impl<'a> Transfers<'a> {
    /// Waits for other processes that transfer conversations, and recovers a transfer that was killed.
    ///
    /// # Errors
    /// [`TransferError::Busy`], and when the killed transfer can be neither finished nor undone.
    pub fn begin(
        paths: &Paths,
        is_open: IsOpen<'a>,
    ) -> Result<(Self, Option<RecoveredTransfer>), TransferError> {
        let dir = paths.transfers();
        atomic::private_dir(&dir)?;
        let lock = FileLock::take(&dir.join(".lock"), LOCK_WAIT).map_err(|error| match error {
            FsError::Locked { .. } => TransferError::Busy,
            other => TransferError::Fs(other),
        })?;
        atomic::sweep(&dir);
        let transfers = Transfers { dir, is_open, _lock: lock };
        let recovered = recovery::recover(&transfers.dir, is_open)?;
        let was_unpacking = import_package::remove_unpacked(&transfers.dir)?;
        let recovered = recovered.or_else(|| was_unpacking.then(RecoveredTransfer::of_unpacking));
        Ok((transfers, recovered))
    }

    /// Carries out a plan.
    ///
    /// # Errors
    /// Nothing has changed then, except for [`TransferError::SourceStays`]: the conversation is then in
    /// both places.
    pub fn place(&self, plan: &TransferPlan) -> Result<TransferReport, TransferError> {
        let mut record = plan.record.clone();
        self.check_closed(&record)?;
        let above = plan.transcript().ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
        if let Some(lack) = free_space::space_problem(above, plan.bytes().saturating_add(RESERVE)) {
            return Err(TransferError::NoRoom(lack));
        }
        record.save(&self.dir)?;
        let lines = match self.put_in_place(&mut record, plan.rules.as_ref()) {
            Ok(lines) => lines,
            Err(error) => {
                // If this cannot be undone now, the next call undoes it: the record still exists.
                recovery::undo(&record)?;
                TransferRecord::remove(&self.dir)?;
                return Err(error);
            }
        };
        let stays = recovery::finish(&record, self.is_open)?;
        if record.kind == TransferKind::Import {
            import_package::note_placed(&self.dir);
        }
        TransferRecord::remove(&self.dir)?;
        match stays {
            Some((path, cause)) => Err(TransferError::SourceStays { path, cause }),
            None => Ok(TransferReport {
                files: plan.files(),
                bytes: plan.bytes(),
                lines,
                transcript: plan.transcript().to_owned(),
            }),
        }
    }

    fn check_closed(&self, record: &TransferRecord) -> Result<(), TransferError> {
        match record.id.as_ref().and_then(|id| (self.is_open)(id)) {
            Some(who) => Err(TransferError::Open(who)),
            None => Ok(()),
        }
    }

    /// Writes, compares and names all files, the deciding one last.
    fn put_in_place(
        &self,
        record: &mut TransferRecord,
        rules: Option<&TransferRules>,
    ) -> Result<LineCounts, TransferError> {
        for dir in &record.new_dirs {
            kill_point();
            match atomic::make_dir(dir) {
                Ok(()) => atomic::sync_dir(dir.parent().unwrap_or(Path::new("/")))?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
                Err(error) => return Err(FsError::io("make the directory", dir)(error).into()),
            }
        }
        let mut lines = LineCounts::default();
        for step in &record.steps {
            lines += stage(step, rules)?;
        }
        let Some(deciding) = record.steps.len().checked_sub(1) else { return Ok(lines) };
        for number in 0..deciding {
            self.put_name(record, number)?;
        }
        for dir in directories(&record.steps[..deciding]) {
            atomic::sync_dir(dir)?;
        }
        self.check_closed(record)?;
        if let Some(changed) = record.steps.iter().find(|step| state_at(&step.from) != Some(step.state)) {
            return Err(TransferError::Changed(changed.from.clone()));
        }
        // From here on the conversation is in its new place.
        self.put_name(record, deciding)?;
        for dir in directories(&record.steps[deciding..]) {
            atomic::sync_dir(dir)?;
        }
        Ok(lines)
    }

    /// Gives a staged file its name, unless the name is taken.
    fn put_name(&self, record: &mut TransferRecord, number: usize) -> Result<(), TransferError> {
        kill_point();
        let failed = |step: &TransferStep, error: io::Error| match error.kind() {
            ErrorKind::AlreadyExists => TransferError::Exists(step.to.clone()),
            _ => FsError::io("put in place", &step.to)(error).into(),
        };
        if !record.by_rename {
            let step = &record.steps[number];
            match atomic::link(&step.staged, &step.to) {
                Ok(()) => return Ok(()),
                Err(error) if !atomic::has_no_links(&error) => return Err(failed(step, error)),
                Err(_) => {}
            }
            record.by_rename = true;
            record.save(&self.dir)?;
        }
        let step = &record.steps[number];
        kill_point();
        let is_free = step.to.symlink_metadata().is_err();
        let put =
            if is_free { fs::rename(&step.staged, &step.to) } else { Err(ErrorKind::AlreadyExists.into()) };
        put.map_err(|error| failed(step, error))
    }
}

fn directories(steps: &[TransferStep]) -> std::collections::BTreeSet<&Path> {
    steps.iter().filter_map(|step| step.to.parent()).collect()
}

/// The current state of a path; `None` if nothing is there.
pub(super) fn state_at(path: &Path) -> Option<FileState> {
    fs::symlink_metadata(path).ok().map(|meta| FileState::of(&meta))
}

/// Writes a file beside its place, durably, reads it back and compares it with its source.
fn stage(step: &TransferStep, rules: Option<&TransferRules>) -> Result<LineCounts, TransferError> {
    let rules = rules.filter(|_| step.has_lines);
    let written = |doing| FsError::io(doing, &step.to);
    let mut from = open(step)?;
    kill_point();
    let staged = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&step.staged);
    let staged = staged.map_err(written("create"))?;
    let mut to = BufWriter::with_capacity(CHUNK, KillPoints(&staged));
    let lines = match rules {
        Some(rules) => transfer_lines::move_lines(&mut from, &mut to, rules),
        None => io::copy(&mut from, &mut to).map(|_| LineCounts::default()),
    };
    let lines = lines.and_then(|lines| to.flush().map(|()| lines)).map_err(written("write"))?;
    drop(to);
    let modified =
        UNIX_EPOCH.checked_add(Duration::from_nanos(step.state.modified_ns.try_into().unwrap_or(0)));
    let times = modified.map_or_else(FileTimes::new, |at| FileTimes::new().set_modified(at));
    kill_point();
    let set = staged.set_permissions(fs::Permissions::from_mode(step.mode));
    set.and_then(|()| staged.set_times(times)).map_err(written("write"))?;
    kill_point();
    staged.sync_all().map_err(written("sync"))?;
    atomic::forget_cached(&staged);
    check_staged(step, rules).map(|()| lines)
}

/// Reads a staged file back and compares it with its source, by another method than the one that wrote it.
pub(super) fn check_staged(step: &TransferStep, rules: Option<&TransferRules>) -> Result<(), TransferError> {
    let again = safe_file::open(&step.staged, FileRule::own(u64::MAX)).map_err(FsError::from)?;
    let again = again.ok_or_else(|| TransferError::Differs(step.to.clone()))?;
    let mut again = BufReader::with_capacity(CHUNK, again);
    let mut from = open(step)?;
    let is_same = match rules {
        Some(rules) => transfer_lines::is_moved(&mut from, &mut again, rules),
        None => is_equal(&mut from, &mut again),
    };
    match is_same.map_err(FsError::io("read", &step.staged))? {
        true => Ok(()),
        false if state_at(&step.from) != Some(step.state) => Err(TransferError::Changed(step.from.clone())),
        false => Err(TransferError::Differs(step.to.clone())),
    }
}

/// Opens the source of a step, which must be unchanged.
fn open(step: &TransferStep) -> Result<BufReader<fs::File>, TransferError> {
    let file = safe_file::open(&step.from, FileRule::own(u64::MAX)).map_err(FsError::from)?;
    let file = file.ok_or_else(|| TransferError::Changed(step.from.clone()))?;
    let meta = file.metadata().map_err(FsError::io("look at", &step.from))?;
    match FileState::of(&meta) == step.state {
        true => Ok(BufReader::with_capacity(CHUNK, file)),
        false => Err(TransferError::Changed(step.from.clone())),
    }
}

fn is_equal(one: &mut impl Read, other: &mut impl Read) -> io::Result<bool> {
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let n = fill(one, &mut left)?;
        if fill(other, &mut right)? != n || left[..n] != right[..n] {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match from.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

impl TransferKind {
    /// Whether the source is removed once the new one is in place.
    pub(super) fn removes_source(self) -> bool {
        self == TransferKind::Move
    }
}
