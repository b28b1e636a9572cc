//! Creates a backup.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::cipher::{self, BackupCipher};
use super::collect::collect;
use super::{BackupFailure, restore_backup};
use crate::core::package::{PackageFile, PackageKind, PackageManifest, PackageName};
use crate::core::time::WallTime;
use crate::fs::file_error::FsError;
use crate::fs::package::{self, PackageFailure};
use crate::fs::paths::Paths;
use crate::fs::{atomic, store_trace};
use crate::sys::safe_file::{self, FileRule};

/// Files up to this length that do not only grow are kept in memory between hashing and packing, in bytes:
/// a session may rewrite them in between.
const SMALL: u64 = 256 << 10;
/// How much is kept in memory at most, in bytes.
const BACKUP_MEMORY_MAX: usize = 64 << 20;

/// What was backed up.
#[derive(Debug)]
pub struct BackupReport {
    pub path: PathBuf,
    /// Its length in bytes.
    pub packed_bytes: u64,
    /// How many files it has.
    pub files: usize,
    pub bytes: u64,
    /// Credentials and keys that were left out.
    pub secrets: Vec<PathBuf>,
    /// Other files that were left out: links, devices, files of other users.
    pub odd: Vec<PathBuf>,
    /// Whether it was read back. A backup that only others can decrypt was not.
    pub was_read_back: bool,
}

/// Writes a backup to `path`, which must not exist, readable only by this user.
///
/// # Errors
/// When a file cannot be read or changes meanwhile, the backup cannot be written, or reads back
/// differently. Nothing is left at `path` then.
pub fn create(
    paths: &Paths,
    path: &Path,
    cipher: &BackupCipher,
    now: WallTime,
) -> Result<BackupReport, BackupFailure> {
    if path.symlink_metadata().is_ok() {
        return Err(BackupFailure::Exists(path.to_owned()));
    }
    let found = collect(paths);
    let (files, sources) = describe_all(&found.files)?;
    let created_ms = u64::try_from(now.0).unwrap_or(0);
    let info = json!({"claude": paths.claude, "home": paths.home});
    let manifest = PackageManifest::new(PackageKind::Backup, created_ms, info, files);
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    atomic::sweep_older(dir, atomic::LEFT_OVER);
    let mut temp = atomic::temporary_in(dir)?;
    let open = |file: &PackageFile| sources.open(file);
    let out = io::BufWriter::with_capacity(1 << 17, temp.as_file_mut());
    let output = PackageFailure::Output;
    match cipher.writer(out)? {
        Err(plain) => package::write(plain, &manifest, open)?.flush().map_err(output)?,
        Ok(encrypted) => {
            let done = package::write(encrypted, &manifest, open)?;
            cipher::finish(done).and_then(|mut out| out.flush()).map_err(output)?;
        }
    }
    store_trace::filled(temp.path());
    temp.as_file().sync_all().map_err(FsError::io("sync", path))?;
    store_trace::synced(temp.path());
    let key = cipher.key();
    if let Some(key) = &key {
        let again = temp.reopen().map_err(FsError::io("open", path))?;
        if restore_backup::verified(again, key)?.files != manifest.files {
            return Err(PackageFailure::Changed(path.display().to_string()).into());
        }
    }
    let packed_bytes = temp.as_file().metadata().map_err(FsError::io("look at", path))?.len();
    store_trace::renamed(temp.path(), path);
    atomic::persist_new(temp, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupFailure::Exists(path.to_owned()),
        _ => FsError::io("rename to", path)(error).into(),
    })?;
    atomic::sync_dir(dir)?;
    Ok(BackupReport {
        path: path.to_owned(),
        packed_bytes,
        files: manifest.files.len(),
        bytes: manifest.total_bytes(),
        secrets: found.secrets,
        odd: found.odd,
        was_read_back: key.is_some(),
    })
}

/// Where the files of a backup are read from.
#[derive(Default)]
struct BackupSources {
    /// Small files, as they were when they were hashed.
    contents: HashMap<String, Vec<u8>>,
    paths: HashMap<String, PathBuf>,
}

impl BackupSources {
    fn open(&self, file: &PackageFile) -> Result<Box<dyn Read>, FsError> {
        if let Some(content) = self.contents.get(file.name.as_str()) {
            return Ok(Box::new(Cursor::new(content.clone())));
        }
        let path = self.paths.get(file.name.as_str()).map_or(Path::new(""), PathBuf::as_path);
        let opened = safe_file::open(path, FileRule::own(u64::MAX))?;
        let opened = opened.ok_or_else(|| FsError::io("open", path)(io::ErrorKind::NotFound.into()))?;
        // A transcript may have grown: its beginning is what was hashed.
        Ok(Box::new(opened.take(file.bytes)))
    }
}

/// The entries of all files that still exist.
fn describe_all(
    found: &[(PackageName, PathBuf)],
) -> Result<(Vec<PackageFile>, BackupSources), BackupFailure> {
    let (mut files, mut sources, mut held) = (Vec::new(), BackupSources::default(), 0);
    for (name, path) in found {
        let Some(Described { file, content }) = describe(name, path, &mut held)? else { continue };
        if let Some(content) = content {
            sources.contents.insert(name.to_string(), content);
        }
        sources.paths.insert(name.to_string(), path.clone());
        files.push(file);
    }
    Ok((files, sources))
}

/// A file's entry in the manifest, and its content if that is kept in memory.
struct Described {
    file: PackageFile,
    content: Option<Vec<u8>>,
}

/// Reads a file for its entry; `None` if it is gone.
fn describe(name: &PackageName, path: &Path, held: &mut usize) -> Result<Option<Described>, BackupFailure> {
    let Some(file) = safe_file::open(path, FileRule::own(u64::MAX)).map_err(FsError::from)? else {
        return Ok(None);
    };
    let meta = file.metadata().map_err(FsError::io("look at", path))?;
    let modified = meta.modified().unwrap_or(std::time::UNIX_EPOCH);
    let executable = meta.permissions().mode() & 0o100 != 0;
    let only_grows = name.as_str().ends_with(".jsonl") || name.as_str().ends_with(".log");
    if meta.len() <= SMALL && !only_grows && *held < BACKUP_MEMORY_MAX {
        let content = read_all(file, path)?;
        *held += content.len();
        let entry = package::describe(name.clone(), &mut content.as_slice(), modified, executable)?;
        return Ok(Some(Described { file: entry, content: Some(content) }));
    }
    let entry = package::describe(name.clone(), &mut file.take(meta.len()), modified, executable)?;
    Ok(Some(Described { file: entry, content: None }))
}

fn read_all(file: File, path: &Path) -> Result<Vec<u8>, BackupFailure> {
    Ok(safe_file::first_bytes(file, SMALL).map_err(FsError::io("read", path))?)
}
