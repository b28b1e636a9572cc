//! The file `C/channel-registry.json`: read with a size limit, changed under the lock of the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::atomic;
use super::file_error::FsError;
use super::lock::FileLock;
use crate::core::handoff::channel_registry::{BadRegistry, Registry};
use crate::core::ids::Channel;

/// The longest registry that is read, in bytes.
const REGISTRY_MAX: u64 = 1 << 20;
/// How long to wait for another process's lock.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why the registry cannot be used.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// It could not be read, written or locked.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// It is not a valid registry.
    #[error("{} cannot be used: {why}", path.display())]
    Bad {
        path: PathBuf,
        /// What is wrong with it.
        why: BadRegistry,
    },
}

/// Its path below `claude_dir` (`C`).
pub fn path(claude_dir: &Path) -> PathBuf {
    claude_dir.join("channel-registry.json")
}

/// The registry; an empty one when there is none.
///
/// # Errors
/// When it is a link or not a file, can be written by others, is too long, or is not a valid registry.
pub fn read(claude_dir: &Path) -> Result<Registry, RegistryError> {
    let path = path(claude_dir);
    let Some(bytes) = atomic::read_own(&path, REGISTRY_MAX, 0o002)? else { return Ok(Registry::default()) };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Registry::parse(text).map_err(|why| RegistryError::Bad { path, why })
}

/// The channel of `dir`: that of the longest entry that covers it, links resolved on both sides, else
/// `global`.
///
/// # Errors
/// As [`read`].
pub fn channel_of(claude_dir: &Path, dir: &Path) -> Result<Channel, RegistryError> {
    let registry = read(claude_dir)?;
    Ok(registry.covering(&real(dir), resolved).map_or_else(Channel::global, |(_, channel)| channel))
}

/// Assigns `dir`, which must be an absolute path without links, to `channel`. The rest of the file stays.
///
/// # Errors
/// As [`read`], and when it cannot be locked or written; the file is then unchanged.
pub fn set(claude_dir: &Path, dir: &str, channel: &Channel) -> Result<(), RegistryError> {
    let store = claude_dir.join("handoff");
    atomic::private_dir(&store)?;
    let _lock = FileLock::take(&store.join(".lock"), LOCK_WAIT)?;
    let mut registry = read(claude_dir)?;
    registry.set(dir, channel, resolved);
    Ok(atomic::write(&path(claude_dir), registry.render().as_bytes())?)
}

/// The path of an existing entry with links resolved.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// `path` with links resolved as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there.and_then(|(above, real)| Some((path.strip_prefix(above).ok()?, real))) {
        Some((rest, real)) if rest.as_os_str().is_empty() => real,
        Some((rest, real)) => real.join(rest),
        None => path.to_owned(),
    }
}
