//! The manifests of the store, one per channel, and their locks.
//!
//! A manifest is replaced as a whole, so it can be read without a lock; it is changed under both locks. One
//! that is not valid is quarantined before anything is written in its place, and reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use super::boot_time;
use crate::core::handoff::manifest::Manifest;
use crate::core::ids::Channel;
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::fs::lock::{DirLock, FileLock};
use crate::fs::project::project_of;

/// How long to wait for another process's lock.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// The longest manifest that is read, in bytes.
const MANIFEST_CAP: u64 = 4 << 20;

/// The version of a manifest that has one; currently none does.
const VERSION: u64 = 1;

/// The version field, for a later hopty.
#[derive(Deserialize)]
struct ManifestVersion {
    version: Option<serde_json::Value>,
}

/// The manifests below one directory.
#[derive(Debug)]
pub(super) struct Manifests {
    dir: PathBuf,
    notices: Mutex<Vec<String>>,
}

/// Both locks; the directory lock is released first.
pub(super) struct Locked {
    _scripts: Option<DirLock>,
    _lock: FileLock,
}

/// The result of reading a manifest.
pub(super) enum FoundManifest {
    /// It does not exist.
    Absent,
    /// It is valid.
    Good(Box<Manifest>),
    /// It exists and is not valid, for this reason.
    Bad(String),
}

impl Manifests {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), notices: Mutex::new(Vec::new()) }
    }

    /// Notices for a person about the manifests, oldest first; each is returned once.
    pub(super) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn channels(&self) -> Vec<Channel> {
        let names = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let mut all: Vec<Channel> =
            names.filter_map(|name| name.strip_suffix(".manifest.json")?.parse().ok()).collect();
        all.sort_unstable();
        all
    }

    pub(super) fn lock(&self, channel: Option<&Channel>) -> Result<Locked, FsError> {
        let lock = FileLock::take(&self.dir.join(".lock"), LOCK_WAIT)?;
        let scripts =
            channel.map(|channel| DirLock::take(&self.dir.join(format!("{channel}.lock.d")), LOCK_WAIT));
        Ok(Locked { _scripts: scripts.transpose()?, _lock: lock })
    }

    pub(super) fn path_of(&self, channel: &Channel) -> PathBuf {
        self.dir.join(format!("{channel}.manifest.json"))
    }

    pub(super) fn put(&self, manifest: &Manifest) -> Result<(), FsError> {
        let path = self.path_of(&manifest.channel);
        let text =
            serde_json::to_vec_pretty(manifest).map_err(|error| FsError::io("write", &path)(error.into()))?;
        atomic::write(&path, &text)
    }

    /// Reads a manifest without a lock: writers replace it as a whole. One that is not valid is reported and
    /// left in place.
    pub(super) fn look(&self, channel: &Channel) -> Result<Option<Manifest>, FsError> {
        match self.find(channel)? {
            FoundManifest::Absent => Ok(None),
            FoundManifest::Good(manifest) => Ok(Some(*manifest)),
            FoundManifest::Bad(why) => {
                self.notice(format!(
                    "the manifest {} cannot be read: {why}",
                    self.path_of(channel).display()
                ));
                Ok(None)
            }
        }
    }

    /// As [`Manifests::look`], while all channels are read: one that cannot be opened is reported and hides
    /// no other.
    pub(super) fn look_past(&self, channel: &Channel) -> Option<Manifest> {
        self.look(channel).unwrap_or_else(|error| {
            self.notice(error.to_string());
            None
        })
    }

    /// Reads a manifest under the lock. One that is not valid is quarantined.
    pub(super) fn manifest_or_new(&self, channel: &Channel) -> Result<Manifest, FsError> {
        let why = match self.find(channel)? {
            FoundManifest::Absent => return Ok(Manifest::new(channel.clone())),
            FoundManifest::Good(manifest) => return Ok(*manifest),
            FoundManifest::Bad(why) => why,
        };
        let path = self.path_of(channel);
        let stamp = chrono::Utc::now().format("%Y%m%d-%H%M%S-%f");
        let aside = self.dir.join(format!("{channel}.manifest.json.corrupt-{stamp}"));
        // Before a valid one replaces it: a power cut must not keep the new one and lose this one.
        atomic::rename(&path, &aside)?;
        self.notice(format!(
            "the manifest {} could not be read ({why}); hopty keeps it as {}",
            path.display(),
            aside.display()
        ));
        Ok(Manifest::new(channel.clone()))
    }

    /// The manifest of a channel, unchecked.
    pub(super) fn find(&self, channel: &Channel) -> Result<FoundManifest, FsError> {
        // Scripts may have written it with a umask of 002, where a person's group is their own.
        let bytes = match atomic::read_own(&self.path_of(channel), MANIFEST_CAP, 0o002) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(FoundManifest::Absent),
            Err(error @ FsError::TooLong { .. }) => return Ok(FoundManifest::Bad(error.to_string())),
            Err(error) => return Err(error),
        };
        if let Ok(ManifestVersion { version: Some(version) }) = serde_json::from_slice(&bytes)
            && version != VERSION
        {
            return Ok(FoundManifest::Bad(format!("its version {version} is unknown to this hopty")));
        }
        Ok(match serde_json::from_slice::<Manifest>(&bytes) {
            Ok(mut manifest) if manifest.channel == *channel => {
                manifest.unify();
                let records = self.dir.join("records");
                for entry in manifest.current.iter_mut().chain(&mut manifest.also_active) {
                    entry.elapsed_ms = boot_time::elapsed(&records.join(entry.id.as_str()), entry.created_at);
                    // Older versions and other programs did not write one.
                    let derived = || project_of(Path::new(&entry.working_dir)).to_string_lossy().into_owned();
                    entry.project = Some(entry.project.take().unwrap_or_else(derived));
                }
                FoundManifest::Good(Box::new(manifest))
            }
            Ok(manifest) => FoundManifest::Bad(format!("it belongs to channel {}", manifest.channel)),
            Err(error) => FoundManifest::Bad(error.to_string()),
        })
    }

    pub(super) fn notice(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < 100 && !notices.contains(&text) {
            notices.push(text);
        }
    }
}
