//! The path of a session's socket, and safe ways to bind it and connect to it.
//!
//! Paths over 107 bytes do not fit into a socket address; `/proc/self/fd/N/NAME` of the opened directory
//! does.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr, sockopt};
use nix::sys::time::TimeVal;
use thiserror::Error;

use crate::core::io_words::io_words;
use crate::sys::private_dir::{self, DirError, is_own};
use crate::sys::safe_file::FileLinks;

/// The longest path of a socket address, in bytes (Linux, without the final NUL).
const MAX_PATH: usize = 107;

/// Why a socket is not used.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Its directory is not safe.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// Something in its place is not a socket, or belongs to another user.
    #[error("{0} is not a socket of this user")]
    NoSocket(PathBuf),
    /// The system refused it.
    #[error("{}: {}", .0.display(), io_words(.1))]
    Io(PathBuf, io::Error),
}

impl SocketError {
    /// How a person can fix it.
    pub fn hint(&self) -> String {
        let hint = match self {
            SocketError::Dir(error) => error.hint(),
            SocketError::NoSocket(path) => Some(format!("move {} out of the way", path.display())),
            SocketError::Io(..) => None,
        };
        hint.unwrap_or_else(|| "hopty keeps its sockets below XDG_STATE_HOME, or ~/.local/state".to_owned())
    }
}

fn split(path: &Path) -> io::Result<(&Path, &std::ffi::OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok((dir, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Calls `with` with a path of at most 107 bytes to the same file.
fn short<T>(path: &Path, with: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() <= MAX_PATH {
        return with(path);
    }
    let (dir, name) = split(path)?;
    let held = File::options()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC)
        .open(dir)?;
    with(&PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd())).join(name))
}

/// Binds a session's socket, replacing a stale one. The caller holds the session's lock, so no other host can
/// be listening.
///
/// # Errors
/// When the directory is not private, something else is in the socket's place, or the socket cannot
/// be created.
pub fn bind(path: &Path) -> Result<UnixListener, SocketError> {
    let io = |e| SocketError::Io(path.to_owned(), e);
    let (dir, _) = split(path).map_err(io)?;
    private_dir::check(dir, FileLinks::Refuse, 0o077)?;
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() && is_own(&meta) => {
            std::fs::remove_file(path).map_err(io)?
        }
        Ok(_) => return Err(SocketError::NoSocket(path.to_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(io(e)),
    }
    let listener = short(path, |path| UnixListener::bind(path)).map_err(io)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(io)?;
    listener.set_nonblocking(true).map_err(io)?;
    Ok(listener)
}

/// Connects to a session's socket and checks that this user's process listens there. Waits at most `limit`
/// for a host that is stopped or too busy to accept.
///
/// # Errors
/// When no process listens, when another user's does, and after `limit`.
pub fn connect(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // For a blocking connect, this is the time limit for a place in the listener's queue.
    let (sec, usec) = (limit.as_secs(), limit.subsec_micros());
    let time = TimeVal::new(sec.try_into().unwrap_or(i64::MAX), usec.into());
    socket::setsockopt(&socket, sockopt::SendTimeout, &time)?;
    short(path, |path| Ok(socket::connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?))?;
    let peer = socket::getsockopt(&socket, sockopt::PeerCredentials)?;
    if peer.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
    }
    let socket = UnixStream::from(socket);
    socket.set_write_timeout(None)?;
    Ok(socket)
}

/// The process that is listening at the other end of a connection.
pub fn peer(socket: &UnixStream) -> io::Result<i32> {
    Ok(socket::getsockopt(socket, sockopt::PeerCredentials)?.pid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_can_be_bound_and_reached() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x".repeat(120));
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
        let path = dir.join("session.sock");
        let _listener = bind(&path).unwrap();
        connect(&path, Duration::from_secs(5)).unwrap();
        let _again = bind(&path).unwrap();
    }

    #[test]
    fn a_listener_that_does_not_accept_does_not_hold_anybody_up() {
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let path = home.path().join("s.sock");
        let _listener = bind(&path).unwrap();
        let mut held = Vec::new();
        // A listener's queue is bounded, so it fills up at some point.
        let error = loop {
            match connect(&path, Duration::from_millis(50)) {
                Ok(socket) => held.push(socket),
                Err(error) => break error,
            }
            assert!(held.len() < 100_000);
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn an_open_directory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(bind(&home.path().join("s.sock")), Err(SocketError::Dir(DirError::Open { .. }))));
        let link = home.path().join("link");
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        assert!(matches!(bind(&link.join("s.sock")), Err(SocketError::Dir(DirError::NoDirectory(_)))));
    }
}
