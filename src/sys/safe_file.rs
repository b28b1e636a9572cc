//! Opening and reading files that may not be what hopty expects.
//!
//! By the time a path is opened it may name anything: a FIFO without a writer, a device, a link to
//! `/dev/zero`, a sparse file of many gigabytes, another user's file. [`open`] checks the path first, because
//! opening a FIFO or a device has side effects (a process substitution that Claude is to read would be lost).
//! It never blocks, and it then checks the descriptor, because the path may lead elsewhere by then. [`read`]
//! reads a bounded number of bytes.
//!
//! Every file that hopty did not just create is opened here. The exceptions are `/proc`, and files that a
//! person named on the command line, which may be pipes.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use thiserror::Error;

use super::fault_injection;
use crate::core::io_words::io_words;

/// Whether the path may be a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLinks {
    /// Yes: people keep their configuration elsewhere and link to it.
    Follow,
    /// No: hopty creates no links of its own.
    Refuse,
}

/// Who may own the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    User,
    /// This user, root (an administrator's file, or one in a read-only store), or the owner of its directory:
    /// a person who starts a program there already trusts the directory's owner with more.
    Trusted,
    /// Any user. Claude reads the file without checking its owner, and hopty must see what Claude sees.
    Anyone,
}

/// The conditions for reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRule {
    /// Whether it may be a link.
    pub links: FileLinks,
    pub owner: FileOwner,
    /// The longest file that is read, in bytes.
    pub cap: u64,
    /// Bits that its mode must not have.
    pub closed: u32,
}

impl FileRule {
    /// A file that hopty itself wrote, or that gives it instructions.
    pub const fn own(cap: u64) -> FileRule {
        FileRule { links: FileLinks::Refuse, owner: FileOwner::User, cap, closed: 0 }
    }

    /// A configuration file of hopty's, which a person wrote.
    pub const fn configuration(cap: u64) -> FileRule {
        FileRule { links: FileLinks::Follow, owner: FileOwner::Trusted, cap, closed: 0 }
    }

    /// A file that Claude reads or writes.
    pub const fn of_claude(cap: u64) -> FileRule {
        FileRule { links: FileLinks::Follow, owner: FileOwner::Anyone, cap, closed: 0 }
    }

    /// Also requires that the mode has none of these bits: a file that others can write may be forged.
    #[must_use]
    pub const fn closed_to(mut self, bits: u32) -> FileRule {
        self.closed = bits;
        self
    }

    /// Also requires that this user owns it.
    #[must_use]
    pub const fn of_this_user(mut self) -> FileRule {
        self.owner = FileOwner::User;
        self
    }
}

/// Why a file is not read.
#[derive(Debug, Error)]
pub enum SafeFileError {
    /// The system refused it.
    #[error("cannot {doing} {}: {}", path.display(), io_words(source))]
    Io {
        /// The operation, a verb.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A symbolic link where none is allowed.
    #[error("{} is a symbolic link, not a file", .0.display())]
    Link(PathBuf),
    /// A directory, FIFO, socket or device.
    #[error("{} is {found}, not a file", path.display())]
    Kind {
        path: PathBuf,
        /// What it is, with an article.
        found: &'static str,
    },
    /// Another user owns it.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Others can write to it.
    #[error("{} can be written by other users", .0.display())]
    Writable(PathBuf),
    #[error("{} is longer than {cap} bytes", path.display())]
    TooLong {
        path: PathBuf,
        /// The limit in bytes.
        cap: u64,
    },
}

impl From<SafeFileError> for io::Error {
    /// Keeps the system's own error.
    fn from(error: SafeFileError) -> Self {
        match error {
            SafeFileError::Io { source, .. } => source,
            other => io::Error::other(other),
        }
    }
}

impl SafeFileError {
    /// How a person can fix it.
    pub fn hint(&self) -> String {
        match self {
            SafeFileError::Io { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                format!("create the directory {}", path.parent().unwrap_or(path).display())
            }
            SafeFileError::Io { path, .. } => format!("check the permissions of {}", path.display()),
            SafeFileError::Foreign(path) => {
                format!("change its owner to yourself (chown), or move {} out of the way", path.display())
            }
            SafeFileError::Writable(path) => format!("close it: chmod go-w {}", path.display()),
            SafeFileError::Link(path)
            | SafeFileError::Kind { path, .. }
            | SafeFileError::TooLong { path, .. } => {
                format!("move {} out of the way", path.display())
            }
        }
    }
}

/// Opens a regular file for reading; `None` if there is none. It is at most `rule.cap` bytes long now, and
/// may grow.
///
/// # Errors
/// When it violates `rule`, or the system refuses to open it.
pub fn open(path: &Path, rule: FileRule) -> Result<Option<File>, SafeFileError> {
    fault_injection::before_read();
    let io = |doing| move |source| SafeFileError::Io { doing, path: path.to_owned(), source };
    let look =
        || if rule.links == FileLinks::Follow { fs::metadata(path) } else { fs::symlink_metadata(path) };
    match look() {
        Ok(meta) => check(path, &meta, rule)?,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(io("inspect")(error)),
    }
    let links = if rule.links == FileLinks::Follow { 0 } else { libc::O_NOFOLLOW };
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC | links;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            // It was replaced since the check: report what is there now.
            look().map_or(Ok(()), |meta| check(path, &meta, rule))?;
            return Err(io("open")(error));
        }
    };
    check(path, &file.metadata().map_err(io("inspect"))?, rule)?;
    Ok(Some(file))
}

/// What happens to a file that is opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    Append,
    /// Read it, then append.
    ReadAndAppend,
    /// Read and append, but the file must not exist yet.
    NewToAppend,
    Empty,
    /// Leave the content: a lock.
    Keep,
}

/// Opens a regular file for writing; creates it, for this user alone, if it does not exist.
///
/// # Errors
/// When it violates `rule`, or the system refuses to open it.
pub fn open_to_write(path: &Path, mode: WriteMode, rule: FileRule) -> Result<File, SafeFileError> {
    let io = |doing| move |source| SafeFileError::Io { doing, path: path.to_owned(), source };
    let links = if rule.links == FileLinks::Follow { 0 } else { libc::O_NOFOLLOW };
    let mut options = File::options();
    // Opening a FIFO without a reader then fails instead of blocking.
    options.mode(0o600).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC | links);
    match mode {
        WriteMode::Append => options.append(true).create(true),
        WriteMode::ReadAndAppend => options.read(true).append(true).create(true),
        WriteMode::NewToAppend => options.read(true).append(true).create_new(true),
        WriteMode::Empty => options.write(true).create(true).truncate(true),
        WriteMode::Keep => options.read(true).write(true).create(true).truncate(false),
    };
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => SafeFileError::Link(path.to_owned()),
        _ => io("open")(error),
    })?;
    check(path, &file.metadata().map_err(io("inspect"))?, rule)?;
    Ok(file)
}

/// Whether `path` still names this file.
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// The content of a regular file; `None` when there is none.
///
/// # Errors
/// As [`open`], and when it cannot be read or grows beyond the limit meanwhile.
pub fn read(path: &Path, rule: FileRule) -> Result<Option<Vec<u8>>, SafeFileError> {
    let Some(file) = open(path, rule)? else { return Ok(None) };
    let io = |source| SafeFileError::Io { doing: "read", path: path.to_owned(), source };
    let bytes = first_bytes(file, rule.cap.saturating_add(1)).map_err(io)?;
    match bytes.len() as u64 > rule.cap {
        true => Err(SafeFileError::TooLong { path: path.to_owned(), cap: rule.cap }),
        false => Ok(Some(bytes)),
    }
}

/// The next bytes of an open file or another stream, at most `most`.
pub fn first_bytes(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content as text; invalid UTF-8 is replaced, as Claude does: one bad byte must not hide a file.
pub fn read_text(path: &Path, rule: FileRule) -> Result<Option<String>, SafeFileError> {
    let text = |bytes| {
        String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
    };
    Ok(read(path, rule)?.map(text))
}

/// Checks a file against `rule`.
///
/// # Errors
/// Which condition it violates.
pub fn check(path: &Path, meta: &Metadata, rule: FileRule) -> Result<(), SafeFileError> {
    let path_of = || path.to_owned();
    if meta.is_symlink() {
        return Err(SafeFileError::Link(path_of()));
    }
    if !meta.is_file() {
        return Err(SafeFileError::Kind { path: path_of(), found: kind(meta.file_type()) });
    }
    if !is_allowed(path, meta.uid(), rule.owner) {
        return Err(SafeFileError::Foreign(path_of()));
    }
    if meta.mode() & rule.closed != 0 {
        return Err(SafeFileError::Writable(path_of()));
    }
    if meta.len() > rule.cap {
        return Err(SafeFileError::TooLong { path: path_of(), cap: rule.cap });
    }
    Ok(())
}

/// Gives a file that hopty just created its intended mode (0600), whatever the umask removed.
pub fn open_to_owner(file: &File) -> io::Result<()> {
    match file.metadata()?.mode() & 0o600 {
        0o600 => Ok(()),
        _ => file.set_permissions(fs::Permissions::from_mode(0o600)),
    }
}

fn is_allowed(path: &Path, owner: u32, allowed: FileOwner) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    match allowed {
        FileOwner::Anyone => true,
        FileOwner::User => owner == own,
        FileOwner::Trusted => {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            owner == own || owner == 0 || fs::metadata(dir).is_ok_and(|dir| dir.uid() == owner)
        }
    }
}

/// Whether there is no such file.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn kind(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_bounded_regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), b"text").unwrap();
        fs::File::create(at("huge")).unwrap().set_len(3 << 30).unwrap();
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        drop(std::os::unix::net::UnixListener::bind(at("socket")).unwrap());
        for (link, to) in [
            ("link", "file"),
            ("dangling", "none"),
            ("to-fifo", "fifo"),
            ("to-zero", "/dev/zero"),
            ("loop", "loop"),
        ] {
            symlink(to, at(link)).unwrap();
        }
        let said = |name: &str, rule: FileRule| match read(&at(name), rule) {
            Ok(found) => format!("{:?}", found.map(|bytes| String::from_utf8(bytes).unwrap())),
            Err(error) => {
                assert!(!error.hint().is_empty());
                error.to_string().replace(dir.path().to_str().unwrap(), "")
            }
        };
        let (own, claude) = (FileRule::own(4), FileRule::of_claude(4));
        for (name, refused, followed) in [
            ("file", "Some(\"text\")", "Some(\"text\")"),
            ("none", "None", "None"),
            ("file/none", "None", "None"),
            ("huge", "/huge is longer than 4 bytes", "/huge is longer than 4 bytes"),
            ("fifo", "/fifo is a FIFO, not a file", "/fifo is a FIFO, not a file"),
            ("socket", "/socket is a socket, not a file", "/socket is a socket, not a file"),
            ("", "/ is a directory, not a file", "/ is a directory, not a file"),
            ("link", "/link is a symbolic link, not a file", "Some(\"text\")"),
            ("dangling", "/dangling is a symbolic link, not a file", "None"),
            ("to-fifo", "/to-fifo is a symbolic link, not a file", "/to-fifo is a FIFO, not a file"),
            ("to-zero", "/to-zero is a symbolic link, not a file", "/to-zero is a device, not a file"),
        ] {
            assert_eq!(
                (said(name, own), said(name, claude)),
                (refused.to_owned(), followed.to_owned()),
                "{name}"
            );
        }
        assert!(said("loop", claude).starts_with("cannot inspect /loop: "));
        assert_eq!(said("file", FileRule::own(3)), "/file is longer than 3 bytes");
        fs::write(at("file"), b"t\xffxt").unwrap();
        assert_eq!(read_text(&at("file"), claude).unwrap().unwrap(), "t\u{fffd}xt");
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(said("file", own.closed_to(0o002)), "/file can be written by other users");
    }

    #[test]
    fn who_may_own_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let own = nix::unistd::geteuid().as_raw();
        let allowed = |uid| {
            [FileOwner::User, FileOwner::Trusted, FileOwner::Anyone]
                .map(|owner| is_allowed(&path, uid, owner))
        };
        assert_eq!(allowed(own), [true, true, true]);
        assert_eq!(allowed(0), [own == 0, true, true]);
        assert_eq!(allowed(12_345), [false, false, true]);
        assert!(is_allowed(Path::new("/etc/x"), 0, FileOwner::Trusted));
    }
}
