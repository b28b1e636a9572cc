//! Restores a backup, into an empty home or one in use.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cipher::{BackupKey, is_encrypted};
use super::{BackupFailure, root};
use crate::core::archive::CleanupPeriod;
use crate::core::backup::{BackupContent, is_transcript, place_of};
use crate::core::conversation_transfer::{ForeignProject, LeftOutOfLines};
use crate::core::package::{PackageError, PackageFile, PackageKind, PackageLimits, PackageManifest};
use crate::core::time::WallTime;
use crate::fs::conversation_transfer::{leave_out_acting_parts, may_have_acting_parts};
use crate::fs::digest::length_and_sha256;
use crate::fs::file_error::FsError;
use crate::fs::lock::FileLock;
use crate::fs::package::{PackageFailure, PackageReader};
use crate::fs::paths::Paths;
use crate::fs::restore_target::restore_target;
use crate::fs::{atomic, free_space, store_trace};
use crate::sys::safe_file::{self, FileRule};

/// Space that must remain free on the disk, in bytes.
const RESERVE: u64 = 16 << 20;

/// What happens to a file of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// The file is missing: it is written.
    New,
    /// The file exists with the same content.
    Same,
    /// The file exists with other content, and is left alone.
    Differs,
    /// The file exists with other content: it is kept beside the new one, which replaces it.
    Replaced,
    /// The file configures what is run, and such files were not requested.
    LeftOut,
    /// Hooks wrote this script; it is never restored.
    HookScript,
}

/// How to restore.
#[derive(Clone, Copy, Debug)]
pub struct RestorePlan {
    /// Whether files that differ are replaced.
    pub overwrite: bool,
    /// Whether to restore files that configure what is run, and the parts of conversations that Claude acts
    /// on when it resumes them.
    pub with_settings: bool,
    /// The time of the restore.
    pub now: WallTime,
    /// How long Claude keeps conversations: those that it would soon delete get the current time. `None`:
    /// every file keeps its time.
    pub cleanup: Option<CleanupPeriod>,
}

#[derive(Debug, Default)]
pub struct RestoreReport {
    /// Each file with what happened to it.
    pub files: Vec<(PathBuf, RestoreOutcome)>,
    /// How many transcripts got the current time, so that Claude does not delete them.
    pub dated_now: usize,
    /// The parts that were left out of conversations because settings were not restored.
    pub left_out: LeftOutOfLines,
    /// Whether an earlier restore was interrupted. Each file is then either the old or the new one.
    pub was_interrupted: bool,
}

/// Reads a backup to its end and checks all of it.
///
/// # Errors
/// When it is damaged, or cannot be read or decrypted.
pub fn verify(path: &Path, key: &BackupKey) -> Result<PackageManifest, BackupFailure> {
    verified(open(path)?, key)
}

pub(super) fn verified(file: File, key: &BackupKey) -> Result<PackageManifest, BackupFailure> {
    let manifest = opened(file, key)?.verify()?;
    places(&manifest)?;
    Ok(manifest)
}

fn open(path: &Path) -> Result<File, BackupFailure> {
    let file = safe_file::open(path, FileRule::of_claude(u64::MAX)).map_err(FsError::from)?;
    Ok(file.ok_or_else(|| FsError::io("open", path)(io::ErrorKind::NotFound.into()))?)
}

fn opened(mut file: File, key: &BackupKey) -> Result<PackageReader<Box<dyn Read>>, BackupFailure> {
    let input = |error| BackupFailure::from(PackageFailure::Input(error));
    let begin = {
        let mut reader = BufReader::with_capacity(64, &mut file);
        reader.fill_buf().map_err(input)?.to_vec()
    };
    file.seek(SeekFrom::Start(0)).map_err(input)?;
    let plain: Box<dyn Read> = if is_encrypted(&begin) {
        key.reader(BufReader::with_capacity(1 << 17, file))?
    } else {
        Box::new(file)
    };
    let reader = PackageReader::open(plain, &PackageLimits::default())?;
    let found = reader.manifest().kind;
    if found != PackageKind::Backup {
        return Err(PackageFailure::Refused(PackageError::Kind { found, wanted: PackageKind::Backup }).into());
    }
    Ok(reader)
}

/// The path that each file is restored to.
fn places(manifest: &PackageManifest) -> Result<(), BackupFailure> {
    match manifest.files.iter().find(|file| place_of(file.name.as_str()).is_none()) {
        Some(foreign) => Err(BackupFailure::Foreign(foreign.name.to_string())),
        None => Ok(()),
    }
}

/// What a restore would do; writes nothing. A transcript that was restored without the parts that Claude
/// acts on counts as different.
///
/// # Errors
/// As [`verify`].
pub fn plan(
    paths: &Paths,
    path: &Path,
    key: &BackupKey,
    plan: &RestorePlan,
) -> Result<RestoreReport, BackupFailure> {
    let manifest = verify(path, key)?;
    let mut report = RestoreReport::default();
    for file in &manifest.files {
        let (target, put) = decide(paths, file, plan)?;
        report.dated_now += usize::from(put == RestoreOutcome::New && is_dated_now(file, plan));
        report.files.push((target, put));
    }
    Ok(report)
}

/// Restores a backup. Everything is unpacked and checked first, below hopty's data directory; then each
/// file goes to its place, transcripts last. A replaced file is kept beside the new one as
/// `NAME.before-restore-TIME`.
///
/// # Errors
/// When the backup is damaged or hostile, or the disk is full: nothing was restored. When a file cannot be
/// written to its place: the files before it are restored, and running the restore again continues.
pub fn restore(
    paths: &Paths,
    path: &Path,
    key: &BackupKey,
    plan: &RestorePlan,
) -> Result<RestoreReport, BackupFailure> {
    atomic::private_dir(&paths.data)?;
    let was_interrupted = sweep(&paths.data);
    let reader = opened(open(path)?, key)?;
    places(reader.manifest())?;
    check_room(paths, reader.manifest())?;
    let staged = tempfile::Builder::new()
        .prefix(STAGED)
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(&paths.data)
        .map_err(FsError::io("make a temporary directory in", &paths.data))?;
    // Shows the next restore that this one is running.
    let _lock = FileLock::try_take(&staged.path().join(LOCK))?;
    let manifest = reader.unpack(staged.path())?;
    let mut report = RestoreReport { was_interrupted, ..RestoreReport::default() };
    let mut files: Vec<&PackageFile> = manifest.files.iter().collect();
    files.sort_by_key(|file| is_transcript(file.name.as_str()));
    let of = files.len();
    for file in files {
        put_one(paths, staged.path(), file, plan, &mut report).map_err(|cause| {
            let is_restored =
                |put: &RestoreOutcome| matches!(put, RestoreOutcome::New | RestoreOutcome::Replaced);
            match report.files.iter().filter(|(_, put)| is_restored(put)).count() {
                0 => cause,
                restored => BackupFailure::Partly { restored, of, cause: Box::new(cause) },
            }
        })?;
    }
    Ok(report)
}

/// Moves one unpacked file to its place.
fn put_one(
    paths: &Paths,
    staged: &Path,
    file: &PackageFile,
    plan: &RestorePlan,
    report: &mut RestoreReport,
) -> Result<(), BackupFailure> {
    let (target, mut put) = decide(paths, file, plan)?;
    let staged = staged.join(file.name.as_str());
    let in_project = file.name.as_str().strip_prefix("claude/projects/");
    if let Some(name) = in_project.filter(|name| may_have_acting_parts(name))
        && put != RestoreOutcome::Same
        && !plan.with_settings
    {
        let folder = name.split('/').next().unwrap_or_default().to_owned();
        let left_out =
            leave_out_acting_parts(&staged, &ForeignProject { folder, ..ForeignProject::default() })?;
        if put != RestoreOutcome::New && !left_out.is_nothing() && hash(&staged)? == hash(&target)? {
            put = RestoreOutcome::Same;
        } else if put != RestoreOutcome::Differs {
            report.left_out += left_out;
        }
    }
    if matches!(put, RestoreOutcome::New | RestoreOutcome::Replaced) {
        let is_now = is_dated_now(file, plan);
        place(&staged, &target, file, put, is_now, plan.now)?;
        report.dated_now += usize::from(is_now);
    }
    report.files.push((target, put));
    Ok(())
}

/// Checks that each disk has the space to unpack every file and to write it once more in its place.
fn check_room(paths: &Paths, manifest: &PackageManifest) -> Result<(), BackupFailure> {
    let mut least: Vec<(u64, PathBuf, u64)> = Vec::new();
    let mut need = |dir: &Path, bytes: u64| {
        let there = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
        let Ok(disk) = fs::metadata(there).map(|meta| meta.dev()) else { return };
        match least.iter_mut().find(|(known, ..)| *known == disk) {
            Some((.., sum)) => *sum = sum.saturating_add(bytes),
            None => least.push((disk, there.to_owned(), bytes)),
        }
    };
    need(&paths.data, manifest.total_bytes());
    for file in &manifest.files {
        if let Some((part, ..)) = place_of(file.name.as_str()) {
            need(&root(paths, part), file.bytes);
        }
    }
    match least
        .iter()
        .find_map(|(_, dir, bytes)| free_space::space_problem(dir, bytes.saturating_add(RESERVE)))
    {
        Some(lack) => Err(BackupFailure::NoRoom(lack)),
        None => Ok(()),
    }
}

/// The prefix of the directories in which backups are unpacked.
const STAGED: &str = ".hopty-tmp-restore-";

/// The lock in such a directory; it is released when the restoring process ends.
const LOCK: &str = ".lock";

/// Deletes what killed restores have unpacked; returns whether there was anything.
fn sweep(data: &Path) -> bool {
    let mut found = false;
    for entry in fs::read_dir(data).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(STAGED);
        if is_ours
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(Some(_lock)) = FileLock::try_take(&entry.path().join(LOCK))
        {
            let _ = fs::remove_dir_all(entry.path());
            found = true;
        }
    }
    found
}

fn is_dated_now(file: &PackageFile, plan: &RestorePlan) -> bool {
    let modified = WallTime(i64::try_from(file.modified_ms).unwrap_or(i64::MAX));
    file.name.as_str().starts_with("claude/projects/")
        && plan.cleanup.is_some_and(|period| period.deletes_soon(modified, plan.now))
}

/// Where a file is restored to, and what happens to it.
fn decide(
    paths: &Paths,
    file: &PackageFile,
    plan: &RestorePlan,
) -> Result<(PathBuf, RestoreOutcome), BackupFailure> {
    let name = file.name.as_str();
    let (part, below, content) = place_of(name).ok_or_else(|| BackupFailure::Foreign(name.to_owned()))?;
    let top = root(paths, part);
    match content {
        BackupContent::HookScript => return Ok((top.join(below), RestoreOutcome::HookScript)),
        BackupContent::Settings if !plan.with_settings => {
            return Ok((top.join(below), RestoreOutcome::LeftOut));
        }
        BackupContent::Settings | BackupContent::Record => {}
    }
    let target = restore_target(&top, Path::new(below))?;
    let put = match fs::symlink_metadata(&target) {
        Err(_) => RestoreOutcome::New,
        Ok(meta) if meta.is_file() && meta.len() == file.bytes && hash(&target)? == file.sha256 => {
            RestoreOutcome::Same
        }
        Ok(meta) if meta.is_file() && plan.overwrite => RestoreOutcome::Replaced,
        Ok(_) => RestoreOutcome::Differs,
    };
    Ok((target, put))
}

fn hash(path: &Path) -> Result<String, BackupFailure> {
    let failed = |error| BackupFailure::from(FsError::io("read", path)(error));
    Ok(length_and_sha256(&mut open(path)?).map_err(failed)?.1)
}

fn place(
    staged: &Path,
    target: &Path,
    file: &PackageFile,
    put: RestoreOutcome,
    is_now: bool,
    now: WallTime,
) -> Result<(), BackupFailure> {
    let dir = target.parent().unwrap_or(Path::new("/"));
    if !dir.is_dir() {
        atomic::private_dir(dir)?;
    }
    atomic::sweep_older(dir, atomic::LEFT_OVER);
    let mut temp = atomic::temporary_in(dir)?;
    let mut content = open(staged)?;
    let written = io::copy(&mut content, temp.as_file_mut()).and_then(|_| temp.as_file_mut().flush());
    written.map_err(FsError::io("write", target))?;
    let at = if is_now { None } else { UNIX_EPOCH.checked_add(Duration::from_millis(file.modified_ms)) };
    let mode = if file.executable { 0o700 } else { 0o600 };
    let set = temp
        .as_file()
        .set_permissions(fs::Permissions::from_mode(mode))
        .and_then(|()| temp.as_file().set_modified(at.unwrap_or_else(SystemTime::now)));
    set.map_err(FsError::io("write", target))?;
    store_trace::filled(temp.path());
    temp.as_file().sync_all().map_err(FsError::io("sync", target))?;
    store_trace::synced(temp.path());
    if put == RestoreOutcome::Replaced {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".before-restore-{}", now.compact()));
        let beside = target.with_file_name(name);
        match atomic::keep_copy(target, &beside) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupFailure::Exists(beside));
            }
            Err(error) => return Err(FsError::io("keep", target)(error).into()),
        }
        store_trace::renamed(temp.path(), target);
        temp.persist(target).map_err(|failed| FsError::io("rename to", target)(failed.error))?;
    } else {
        store_trace::renamed(temp.path(), target);
        atomic::persist_new(temp, target).map_err(FsError::io("rename to", target))?;
    }
    Ok(atomic::sync_dir(dir)?)
}
