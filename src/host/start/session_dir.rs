//! A session's directory, below the person's state directory. If that cannot be used (no home, a full or
//! read-only disk), in a private directory that is deleted with the session: there is no journal, and no
//! other terminal can attach.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::orphan;
use super::{BeginWith, Launch, StartReport};
use crate::core::claude::version_features::ClaudeFeatures;
use crate::fs::paths::Paths;
use crate::fs::session::{self, NameLock, SessionError};
use crate::ipc::address::{self, SocketError};
use crate::sys::private_dir;
use crate::sys::safe_file;

/// A session's name, directory and socket.
#[derive(Debug)]
pub(in crate::host) struct SessionPlace {
    pub paths: Paths,
    pub claim: NameLock,
    pub listener: UnixListener,
    pub socket: PathBuf,
    /// The private directory, and why the person's own was not used.
    pub private: Option<PrivateStateDir>,
}

/// A directory that is deleted with the session.
#[derive(Debug)]
pub(in crate::host) struct PrivateStateDir {
    dir: PathBuf,
    /// Why the person's state directory is not used.
    pub reason: String,
}

impl PrivateStateDir {
    /// Creates one with an unpredictable name.
    fn make_in(parent: &Path, reason: &str) -> io::Result<Self> {
        let dir = parent.join(format!("hopty-{}", uuid::Uuid::new_v4().simple()));
        // It must not exist yet: a link or another user's directory of that name is an error.
        private_dir::create(&dir)?;
        let made = PrivateStateDir { dir, reason: reason.to_owned() };
        std::fs::set_permissions(&made.dir, Permissions::from_mode(0o700))?;
        let meta = std::fs::symlink_metadata(&made.dir)?;
        if !meta.is_dir() || meta.uid() != nix::unistd::geteuid().as_raw() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(made)
    }

    /// The message for the person, once, with what Claude lacks.
    pub fn notice(&self, offers: &ClaudeFeatures) -> String {
        let reason = &self.reason;
        let lacks = offers.limited.as_ref().filter(|_| offers.no_handover.is_some());
        let lacks = lacks.map(|what| format!("; {what}")).unwrap_or_default();
        format!("{reason}: this session keeps no journal, and no other terminal can attach to it{lacks}")
    }
}

impl Drop for PrivateStateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The runtime directory, then the temporary ones.
fn parents() -> Vec<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = nix::unistd::geteuid();
    let run = absolute("XDG_RUNTIME_DIR").unwrap_or_else(|| PathBuf::from(format!("/run/user/{user}")));
    let mut all = vec![run];
    all.extend(absolute("TMPDIR"));
    all.push(PathBuf::from("/tmp"));
    all
}

/// Writes a file outside of the session's directory, for content that must not vanish with a private one.
/// Returns its path.
///
/// # Errors
/// When no directory accepts it; the error is that of the last one.
pub(in crate::host) fn write_outside(bytes: &[u8]) -> io::Result<PathBuf> {
    write_in(&parents(), bytes)
}

fn write_in(parents: &[PathBuf], bytes: &[u8]) -> io::Result<PathBuf> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for parent in parents {
        let path = parent.join(format!("hopty-unsent-{}.txt", uuid::Uuid::new_v4().simple()));
        // It must not exist yet: a link of that name is an error.
        match File::options().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                match safe_file::open_to_owner(&file)
                    .and_then(|()| file.write_all(bytes))
                    .and_then(|()| file.sync_all())
                {
                    Ok(()) => return Ok(path),
                    Err(error) => {
                        let _ = std::fs::remove_file(&path);
                        failed = error;
                    }
                }
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

enum Refused {
    Session(SessionError),
    Socket(SocketError),
}

impl Refused {
    fn ready(&self, launch: &Launch) -> StartReport {
        match self {
            Refused::Session(e @ (SessionError::Taken(_) | SessionError::Former { .. })) => {
                StartReport::failed(1, format!("{}: {e}", launch.name), e.hint())
            }
            Refused::Session(e) => StartReport::failed(125, e.to_string(), e.hint()),
            Refused::Socket(e) => {
                StartReport::failed(125, format!("cannot create the control socket: {e}"), e.hint())
            }
        }
    }

    fn reason(&self) -> String {
        match self {
            Refused::Session(e) => e.to_string(),
            Refused::Socket(e) => e.to_string(),
        }
    }
}

/// Takes a name, its directory and its socket.
///
/// # Errors
/// When the name is taken, or there is no usable directory at all.
pub(in crate::host) fn find(paths: &Paths, launch: &Launch) -> Result<SessionPlace, StartReport> {
    let refused = match take(paths, launch, None) {
        Ok(place) => return Ok(place),
        Err(refused) => refused,
    };
    // Without a terminal the session could not be reached, and a requested handoff is in the directory that
    // cannot be used.
    let may_go = !launch.detached && launch.handoff == BeginWith::Fresh;
    let is_taken = matches!(refused, Refused::Session(SessionError::Taken(_) | SessionError::Former { .. }));
    if !may_go || is_taken {
        return Err(refused.ready(launch));
    }
    let reason = launch.unplaced.clone().unwrap_or_else(|| refused.reason());
    let somewhere = parents().into_iter().find_map(|parent| {
        let private = PrivateStateDir::make_in(&parent, &reason).ok()?;
        take(&paths.within(&private.dir), launch, Some(private)).ok()
    });
    somewhere.ok_or_else(|| refused.ready(launch))
}

fn take(paths: &Paths, launch: &Launch, private: Option<PrivateStateDir>) -> Result<SessionPlace, Refused> {
    session::prepare_with_room(paths).map_err(Refused::Session)?;
    let claim = session::claim(paths, &launch.name, launch.numbered).map_err(Refused::Session)?;
    // This process holds its lock.
    orphan::end(paths, &claim.name, || true);
    // They belonged to the ended session of this name.
    session::forget_former_names(paths, &claim.name);
    let socket = paths.socket(&claim.name);
    let listener = address::bind(&socket).map_err(Refused::Socket)?;
    Ok(SessionPlace { paths: paths.clone(), claim, listener, socket, private })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_that_takes_a_file_gets_it() {
        let dir = tempfile::tempdir().unwrap();
        let parents = [dir.path().join("missing"), "/dev/null".into(), dir.path().to_owned()];
        let path = write_in(&parents, b"a thought").unwrap();
        assert!(
            path.starts_with(dir.path())
                && path.file_name().unwrap().to_str().unwrap().starts_with("hopty-unsent-")
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"a thought");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert!(write_in(&parents[..2], b"a thought").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
