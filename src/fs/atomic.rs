//! Atomic files: a reader sees the old or the new content, never half of it.
//!
//! A write goes to a temporary file in the same directory (0600), is synced, renamed over the old one, and
//! the directory is synced; [`swap`] skips the syncing. A symbolic link in place of the file is refused; one
//! above it is followed, since people link `~/.claude`. Reads are bounded, and never wait for a FIFO.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use super::file_error::FsError;
use super::store_trace;
use crate::sys::fault_injection;
use crate::sys::private_dir;
use crate::sys::safe_file::{self, FileLinks, FileOwner, FileRule};

/// The age at which a temporary file counts as left by a killed process, in directories whose writers hold
/// no lock.
pub const LEFT_OVER: Duration = Duration::from_secs(3600);
/// The prefix of temporary files, by which the leftovers of a crash are recognized.
pub const TEMP_PREFIX: &str = crate::core::io_words::TEMPORARY;

/// Replaces the content of `path`.
///
/// # Errors
/// When `path` is a symbolic link or not a file, or the system refuses a step; the old content is then kept.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    write_with(path, |file| file.write_all(bytes))
}

/// Replaces the content of `path` with the output of `fill`.
///
/// # Errors
/// As [`write()`], and when `fill` fails.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FsError> {
    let (temp, dir) = filled(path, fill)?;
    temp.as_file().sync_all().map_err(FsError::io("sync", path))?;
    store_trace::synced(temp.path());
    persist(temp, path)?;
    sync_dir(dir)
}

/// Replaces the content of `path` without waiting for the disk: no process ever reads half of it, but after a
/// power cut the file may have the old content, or none. For status files only.
///
/// # Errors
/// As [`write()`].
pub fn swap(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let (temp, _) = filled(path, |file| file.write_all(bytes))?;
    if exchange(temp.path(), path).is_ok() {
        // The temporary file that is deleted now has the old content.
        return Ok(());
    }
    persist(temp, path)
}

/// Exchanges two files. When a rename replaces a file, ext4 allocates the new one's blocks at once and writes
/// them to the disk, which costs 0.2 to 0.4 ms (measured); an exchange does not.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// An empty temporary file in `dir` (0600), with the prefix of leftovers.
///
/// # Errors
/// When it cannot be created.
pub fn temporary_in(dir: &Path) -> Result<NamedTempFile, FsError> {
    tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(fs::Permissions::from_mode(0o600))
        .tempfile_in(dir)
        .map_err(FsError::io("make a temporary file in", dir))
}

/// A temporary file beside `path` with the new content, and their directory.
fn filled(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(NamedTempFile, &Path), FsError> {
    refuse_special_file(path)?;
    let dir = above(path);
    let mut temp = temporary_in(dir)?;
    safe_file::open_to_owner(temp.as_file()).map_err(FsError::io("make a temporary file in", dir))?;
    fill(temp.as_file_mut()).map_err(FsError::io("write", path))?;
    store_trace::filled(temp.path());
    Ok((temp, dir))
}

fn persist(temp: NamedTempFile, path: &Path) -> Result<(), FsError> {
    store_trace::renamed(temp.path(), path);
    temp.persist(path).map(drop).map_err(|failed| FsError::Io {
        doing: "rename to",
        path: path.to_owned(),
        source: failed.error,
    })
}

/// Gives a temporary file its name, unless the name is taken. Where the file system can neither rename
/// without replacing nor link, the name is checked first.
///
/// # Errors
/// `AlreadyExists`, or when the system refuses it.
pub fn persist_new(temp: NamedTempFile, path: &Path) -> io::Result<()> {
    let temp = match fault_injection::is_wanted("no-links") {
        true => temp,
        false => match temp.persist_noclobber(path) {
            Ok(_) => return Ok(()),
            Err(failed) if has_no_links(&failed.error) => failed.file,
            Err(failed) => return Err(failed.error),
        },
    };
    match path.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => temp.persist(path).map(drop).map_err(|failed| failed.error),
    }
}

/// Gives a file a second name, unless the name is taken.
///
/// # Errors
/// `AlreadyExists`; an error of [`has_no_links`] where the file system has no hard links.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    if fault_injection::is_wanted("no-links") {
        return Err(io::Error::from_raw_os_error(nix::libc::EPERM));
    }
    fs::hard_link(from, to)
}

/// Whether an error means that the file system has no hard links (vfat, exfat, some FUSE and network file
/// systems).
pub fn has_no_links(error: &io::Error) -> bool {
    use nix::libc::{EINVAL, EMLINK, ENOSYS, EOPNOTSUPP, EPERM};
    matches!(error.raw_os_error(), Some(EPERM | EOPNOTSUPP | ENOSYS | EINVAL | EMLINK))
}

/// Keeps a file under a second name: by a hard link, or where there are none, as a copy with the same mode
/// and time.
///
/// # Errors
/// `AlreadyExists`, or when the copy cannot be written.
pub fn keep_copy(path: &Path, beside: &Path) -> io::Result<()> {
    match link(path, beside) {
        Err(error) if has_no_links(&error) => {}
        done => return done,
    }
    let mut from = File::open(path)?;
    let meta = from.metadata()?;
    let mut temp = tempfile::Builder::new().prefix(TEMP_PREFIX).tempfile_in(above(beside))?;
    io::copy(&mut from, temp.as_file_mut())?;
    temp.as_file().set_permissions(meta.permissions())?;
    temp.as_file().set_modified(meta.modified()?)?;
    temp.as_file().sync_all()?;
    persist_new(temp, beside)
}

/// Makes the names in `dir` durable.
///
/// # Errors
/// When the directory cannot be opened or synced.
pub fn sync_dir(dir: &Path) -> Result<(), FsError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(FsError::io("sync", dir))?;
    store_trace::dir_synced(dir);
    Ok(())
}

/// Renames a file within its directory, durably.
///
/// # Errors
/// When it cannot be renamed, or the directory cannot be synced.
pub fn rename(from: &Path, to: &Path) -> Result<(), FsError> {
    fs::rename(from, to).map_err(FsError::io("rename", from))?;
    store_trace::renamed(from, to);
    sync_dir(above(to))
}

/// Creates a directory (0700) that must not exist yet. Its name is durable only once the directory above is
/// synced.
///
/// # Errors
/// When it exists, or cannot be created.
pub fn make_dir(path: &Path) -> io::Result<()> {
    private_dir::create(path)?;
    // Whatever the umask is: a directory of mode 000 would stay unusable.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    store_trace::dir_made(path);
    Ok(())
}

/// Deletes a directory with its content.
///
/// # Errors
/// When any of it cannot be deleted.
pub fn remove_dir(path: &Path) -> Result<(), FsError> {
    store_trace::removed(path);
    fs::remove_dir_all(path).map_err(FsError::io("delete", path))
}

/// Drops the file from the page cache, so that reading it back proves that it is on the disk.
pub(super) fn forget_cached(file: &File) {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    // If this fails, the cached pages are read, as for any file.
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The content of `path`; `None` if there is no such file.
///
/// # Errors
/// When it is a symbolic link or not a file, is longer than `cap` bytes, or cannot be read.
pub fn read(path: &Path, cap: u64) -> Result<Option<Vec<u8>>, FsError> {
    Ok(safe_file::read(path, FileRule { owner: FileOwner::Anyone, ..FileRule::own(cap) })?)
}

/// As [`read`], for a file that must belong to this user and have none of the bits of `closed` in its mode: a
/// file that others can write may be forged.
///
/// # Errors
/// As [`read`], and [`FsError::NotPrivate`].
pub fn read_own(path: &Path, cap: u64, closed: u32) -> Result<Option<Vec<u8>>, FsError> {
    Ok(safe_file::read(path, FileRule::own(cap).closed_to(closed))?)
}

/// Ensures that `path` is a directory that only this user can write. Creates it (0700) and its missing
/// parents, durably: a synced file is still lost if its directory was not synced.
///
/// # Errors
/// When it cannot be created, is not a directory, or is not private.
pub fn private_dir(path: &Path) -> Result<(), FsError> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|at| !at.as_os_str().is_empty() && !at.exists()).collect();
    // Creating a missing home is up to its owner.
    if let Some(home) = missing.iter().find(|dir| dir.ends_with(".claude")).and_then(|dir| dir.parent())
        && !home.exists()
    {
        return Err(FsError::io("create the directory", path)(io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no {}", home.display()),
        )));
    }
    for dir in missing.into_iter().rev() {
        match make_dir(dir) {
            // Another process may be creating it, too.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !dir.is_dir() => {
                return Err(FsError::io("create the directory", dir)(error));
            }
            _ => sync_dir(above(dir))?,
        }
    }
    Ok(private_dir::check(path, FileLinks::Follow, 0o022)?)
}

/// Deletes the temporary files that a crash left in `dir`. Only for directories whose writers hold a lock,
/// and with that lock held.
pub fn sweep(dir: &Path) {
    sweep_older(dir, Duration::ZERO);
}

/// The same for directories whose writers hold no lock: deletes only files that were not written for `age`.
pub fn sweep_older(dir: &Path, age: Duration) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX);
        let left = |meta: fs::Metadata| {
            age.is_zero() || meta.modified().is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age))
        };
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) && entry.metadata().is_ok_and(left) {
            // A file that cannot be deleted now is tried again at the next write.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn refuse_special_file(path: &Path) -> Result<(), FsError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Err(FsError::Symlink(path.to_owned())),
        Ok(meta) if !meta.is_file() => Err(FsError::WrongKind { path: path.to_owned(), expected: "file" }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_write_replaces_the_file_and_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(read(&path, 10).unwrap().unwrap(), b"two");
        swap(&path, b"three").unwrap();
        assert_eq!(read(&path, 10).unwrap().unwrap(), b"three");
        swap(&dir.path().join("g"), b"new").unwrap();
        fs::rename(dir.path().join("g"), &path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_keeps_the_old_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write(&path, b"old").unwrap();
        let failed = write_with(&path, |file| {
            file.write_all(b"ne")?;
            Err(io::Error::other("disk full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), format!("cannot write {}: disk full", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_directories_and_pipes_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link, pipe) =
            (dir.path().join("target"), dir.path().join("link"), dir.path().join("pipe"));
        fs::write(&target, b"precious").unwrap();
        symlink(&target, &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(write(&link, b"x"), Err(FsError::Symlink(_))));
        assert!(matches!(read(&link, 10), Err(FsError::Symlink(_))));
        assert!(matches!(read(&pipe, 10), Err(FsError::WrongKind { .. })));
        assert!(matches!(write(&pipe, b"x"), Err(FsError::WrongKind { .. })));
        assert!(matches!(read(dir.path(), 10), Err(FsError::WrongKind { .. })));
        assert!(matches!(read(&target, 7), Err(FsError::TooLong { .. })));
        assert!(read(&dir.path().join("none"), 7).unwrap().is_none());
        assert_eq!(fs::read(&target).unwrap(), b"precious");
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let made = dir.path().join("a/b");
        private_dir(&made).unwrap();
        assert_eq!(fs::metadata(&made).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&made, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(matches!(private_dir(&made), Err(FsError::NotPrivate(_))));
        fs::write(dir.path().join("f"), b"").unwrap();
        assert!(private_dir(&dir.path().join("f")).is_err());
    }

    #[test]
    fn a_sweep_takes_temporary_files_only() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".hopty-tmp-x", "keep", ".hopty"] {
            fs::write(dir.path().join(name), b"").unwrap();
        }
        sweep(dir.path());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
