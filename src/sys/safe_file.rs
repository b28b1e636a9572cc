//! Opening and reading files that may not be what hopty expects.
//!
//! By the time a path is opened it may name anything: a FIFO that nobody writes to, a device, a link to
//! `/dev/zero`, a sparse file of many gigabytes, another user's file. [`open`] looks before it opens, because
//! opening a FIFO or a device has effects of its own (a process substitution that Claude is to read would be
//! lost), never waits, and then checks the descriptor that it got, because the name may lead elsewhere by
//! then. [`read`] takes a bounded number of bytes.
//!
//! Every file that hopty did not create in the same moment is opened here. The exceptions are `/proc`, and
//! files that a person named on the command line, which may be pipes.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use thiserror::Error;

/// Whether a symbolic link may stand in the file's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLinks {
    /// It may: people keep their configuration elsewhere and link it.
    Follow,
    /// It may not: hopty makes no links of its own.
    Refuse,
}

/// Whose file it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    /// This user's.
    User,
    /// This user's, root's (an administrator's, or one in a read-only store), or that of whoever owns the
    /// directory it lies in: where a person starts a program, they trust the directory's owner with more than
    /// that.
    Trusted,
    /// Anybody's: Claude reads it whoever owns it, and hopty must see what Claude sees.
    Anyone,
}

/// What a file must be like to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRule {
    /// FileLinks in its place.
    pub links: FileLinks,
    /// Its owner.
    pub owner: FileOwner,
    /// The longest that is read, in bytes.
    pub cap: u64,
    /// Bits that its mode must not have.
    pub closed: u32,
}

impl FileRule {
    /// A file that hopty itself wrote, or that gives orders to it.
    #[must_use]
    pub const fn own(cap: u64) -> FileRule {
        FileRule { links: FileLinks::Refuse, owner: FileOwner::User, cap, closed: 0 }
    }

    /// A configuration file of hopty's, which a person wrote.
    #[must_use]
    pub const fn configuration(cap: u64) -> FileRule {
        FileRule { links: FileLinks::Follow, owner: FileOwner::Trusted, cap, closed: 0 }
    }

    /// A file that Claude reads or writes.
    #[must_use]
    pub const fn of_claude(cap: u64) -> FileRule {
        FileRule { links: FileLinks::Follow, owner: FileOwner::Anyone, cap, closed: 0 }
    }

    /// The same, of a file whose mode has none of these bits: what others can write may be forged.
    #[must_use]
    pub const fn closed_to(mut self, bits: u32) -> FileRule {
        self.closed = bits;
        self
    }

    /// The same, of a file of this user's.
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
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, a verb.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A symbolic link where none may be.
    #[error("{} is a symbolic link, not a file", .0.display())]
    Link(PathBuf),
    /// A directory, FIFO, socket or device.
    #[error("{} is {found}, not a file", path.display())]
    Kind {
        /// Where.
        path: PathBuf,
        /// What stands there, with its article.
        found: &'static str,
    },
    /// Another user owns it.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Others can write to it.
    #[error("{} can be written by other users", .0.display())]
    Writable(PathBuf),
    /// It is longer than it may be.
    #[error("{} is longer than {cap} bytes", path.display())]
    TooLong {
        /// Which.
        path: PathBuf,
        /// The bound in bytes.
        cap: u64,
    },
}

impl SafeFileError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
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

/// For tests: a host's disks, which answer nothing while a file is there.
#[cfg(debug_assertions)]
pub mod hangs {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    static FILE: OnceLock<PathBuf> = OnceLock::new();

    /// From now on this process's disks hang while the file is there that `HOPTY_TEST_HANGS` names.
    pub fn arm() {
        if let Some(file) = std::env::var_os("HOPTY_TEST_HANGS") {
            let _ = FILE.set(file.into());
        }
    }

    /// Waits as long as the file is there that this variable names.
    pub fn wait_while(variable: &str) {
        while std::env::var_os(variable).is_some_and(|file| std::path::Path::new(&file).exists()) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// A disk is about to be asked.
    pub fn wait() {
        while FILE.get().is_some_and(|file| file.exists()) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// Opens a regular file for reading; `None` when there is none. It is at most `rule.cap` bytes long now, and
/// may grow.
///
/// # Errors
/// When it is anything but what `rule` says, or the system refuses to open it.
pub fn open(path: &Path, rule: FileRule) -> Result<Option<File>, SafeFileError> {
    #[cfg(debug_assertions)]
    hangs::wait();
    let io = |doing| move |source| SafeFileError::Io { doing, path: path.to_owned(), source };
    let look =
        || if rule.links == FileLinks::Follow { fs::metadata(path) } else { fs::symlink_metadata(path) };
    match look() {
        Ok(meta) => check(path, &meta, rule)?,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(io("look at")(error)),
    }
    let links = if rule.links == FileLinks::Follow { 0 } else { libc::O_NOFOLLOW };
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC | links;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            // Swapped since the look: say what stands there now.
            look().map_or(Ok(()), |meta| check(path, &meta, rule))?;
            return Err(io("open")(error));
        }
    };
    check(path, &file.metadata().map_err(io("look at"))?, rule)?;
    Ok(Some(file))
}

/// The content of a regular file; `None` when there is none.
///
/// # Errors
/// As [`open`], and when it cannot be read or grows beyond the bound meanwhile.
pub fn read(path: &Path, rule: FileRule) -> Result<Option<Vec<u8>>, SafeFileError> {
    let Some(file) = open(path, rule)? else { return Ok(None) };
    let io = |source| SafeFileError::Io { doing: "read", path: path.to_owned(), source };
    let bytes = first_bytes(file, rule.cap.saturating_add(1)).map_err(io)?;
    match bytes.len() as u64 > rule.cap {
        true => Err(SafeFileError::TooLong { path: path.to_owned(), cap: rule.cap }),
        false => Ok(Some(bytes)),
    }
}

/// What comes next in an open file, at most `most` bytes of it.
///
/// # Errors
/// When it cannot be read.
pub fn first_bytes(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content as text; what is not UTF-8 is replaced, as Claude does it: a byte that is none must not hide a
/// file.
///
/// # Errors
/// As [`read`].
pub fn read_text(path: &Path, rule: FileRule) -> Result<Option<String>, SafeFileError> {
    let text = |bytes| {
        String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
    };
    Ok(read(path, rule)?.map(text))
}

/// That what was found is what `rule` says.
///
/// # Errors
/// What is wrong with it.
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

/// Gives a file that hopty just made the mode that it was made with (0600), whatever the umask took of it.
///
/// # Errors
/// When the system refuses.
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

fn is_absent(error: &io::Error) -> bool {
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
        assert!(said("loop", claude).starts_with("cannot look at /loop: "));
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
