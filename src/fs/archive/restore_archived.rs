//! Restores an archived conversation.

use std::fs::{self, FileTimes};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::ArchiveFailure;
use super::store::ArchiveStore;
use super::unpack::ArchivedConversation;
use crate::core::archive::ArchivedFile;
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::fs::restore_target::restore_target;
use crate::fs::{free_space, store_trace};

/// Space that must remain free on the disk, in bytes.
const RESERVE: u64 = 16 << 20;

/// The modification times of restored files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreTimes {
    /// The original times.
    Original,
    /// The current time, so that Claude's clean-up does not delete the files at its next start.
    Now,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredConversation {
    pub transcript: PathBuf,
    /// How many files were written.
    pub written: usize,
    /// How many files were already there with the same content.
    pub there: usize,
    /// How many files are never restored, because hooks wrote them for Claude's shell to read.
    pub hook_scripts: usize,
}

impl ArchiveStore {
    /// Restores a conversation byte for byte, the transcript last. It stays in the archive. No file is
    /// replaced: a file with the same content is left alone, and one with another content aborts the
    /// restore before anything is written.
    ///
    /// # Errors
    /// When its transcript exists, a file differs, the archive is damaged, or the disk is full. The
    /// conversation is then not restored.
    pub fn restore(
        &self,
        archived: &ArchivedConversation,
        times: RestoreTimes,
    ) -> Result<RestoredConversation, ArchiveFailure> {
        let _lock = self.lock()?;
        let (transcript, others) = archived
            .manifest
            .files
            .split_first()
            .ok_or_else(|| ArchiveFailure::Missing(archived.path().to_owned()))?;
        let target = self.claude.join(&transcript.name);
        if target.symlink_metadata().is_ok() {
            return Err(ArchiveFailure::Exists(target));
        }
        if !self.claude.is_dir() {
            atomic::private_dir(&self.claude)?;
        }
        if let Some(lack) =
            free_space::space_problem(&self.claude, archived.manifest.total_bytes().saturating_add(RESERVE))
        {
            return Err(ArchiveFailure::NoRoom(lack));
        }
        // All checks that can fail come first: hashes, kinds of directories, differing files.
        archived.verify()?;
        let mut missing = Vec::new();
        let hook_scripts = others.iter().filter(|file| file.is_hook_script()).count();
        for file in others.iter().filter(|file| !file.is_hook_script()) {
            let at = self.place(file)?;
            match at.symlink_metadata() {
                Ok(_) if self.is_there(archived, file, &at)? => {}
                Ok(_) => return Err(ArchiveFailure::Differs(at)),
                Err(_) => missing.push((file, at)),
            }
        }
        let there = others.len() - hook_scripts - missing.len();
        let written = missing.len() + 1;
        missing.push((transcript, self.place(transcript)?));
        for (file, at) in missing {
            self.write(archived, file, &at, times)?;
        }
        Ok(RestoredConversation { transcript: target, written, there, hook_scripts })
    }

    /// The path that a file is restored to.
    fn place(&self, file: &ArchivedFile) -> Result<PathBuf, ArchiveFailure> {
        Ok(restore_target(&self.claude, Path::new(&file.name))?)
    }

    /// Whether the file exists with the archived content.
    fn is_there(
        &self,
        archived: &ArchivedConversation,
        file: &ArchivedFile,
        at: &Path,
    ) -> Result<bool, ArchiveFailure> {
        use std::io::Read;
        let Ok((mut there, state)) = super::source::open(at) else { return Ok(false) };
        if state.bytes != file.bytes {
            return Ok(false);
        }
        let (mut is_same, mut buffer) = (true, Vec::new());
        archived.checked(file, |part| {
            buffer.resize(part.len(), 0);
            is_same = is_same && there.read_exact(&mut buffer).is_ok() && buffer == part;
            Ok(())
        })?;
        Ok(is_same)
    }

    fn write(
        &self,
        archived: &ArchivedConversation,
        file: &ArchivedFile,
        at: &Path,
        times: RestoreTimes,
    ) -> Result<(), ArchiveFailure> {
        let dir = at.parent().unwrap_or(&self.claude);
        make_dirs(&self.claude, dir)?;
        atomic::sweep(dir);
        let mut temp = atomic::temporary_in(dir)?;
        let out = temp.as_file_mut();
        archived.checked(file, |part| Ok(out.write_all(part).map_err(FsError::io("write", at))?))?;
        let modified = match times {
            RestoreTimes::Original => UNIX_EPOCH.checked_add(Duration::from_nanos(file.modified_ns)),
            RestoreTimes::Now => None,
        };
        let times = FileTimes::new().set_modified(modified.unwrap_or_else(SystemTime::now));
        // Whatever the manifest says, others may never write it and the owner may always read it.
        let mode = fs::Permissions::from_mode(file.mode & 0o755 | 0o400);
        let set = out.set_permissions(mode).and_then(|()| out.set_times(times));
        set.map_err(FsError::io("write", at))?;
        store_trace::filled(temp.path());
        temp.as_file().sync_all().map_err(FsError::io("sync", at))?;
        store_trace::synced(temp.path());
        store_trace::renamed(temp.path(), at);
        atomic::persist_new(temp, at).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => ArchiveFailure::Exists(at.to_owned()),
            _ => FsError::io("rename to", at)(error).into(),
        })?;
        Ok(atomic::sync_dir(dir)?)
    }
}

/// Creates the directories from `top`, which exists, down to `dir`.
fn make_dirs(top: &Path, dir: &Path) -> Result<(), ArchiveFailure> {
    let mut at = top.to_owned();
    for part in dir.strip_prefix(top).into_iter().flat_map(Path::components) {
        let above = at.clone();
        at.push(part);
        match atomic::make_dir(&at) {
            Ok(()) => atomic::sync_dir(&above)?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && at.is_dir() => {}
            Err(error) => return Err(FsError::io("make the directory", &at)(error).into()),
        }
    }
    Ok(())
}
