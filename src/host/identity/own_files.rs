//! The session's own directory, socket and journal: detects that they are gone and restores them on a thread,
//! so that every command finds the session again.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use super::SessionIdentity;
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::fs::session::{self, NameKeeper, NameLock, SessionError};
use crate::host::jobs::log::{self, log};
use crate::host::observer::{DeviceInode, OwnFiles, file_id};
use crate::ipc::address;
use crate::ipc::message::{Code, RequestError};

/// How long checking its own socket may take.
const OWN_SOCKET: Duration = Duration::from_millis(50);

/// What a thread needs to restore the session's directory: the lock, the session's file, the log, and a
/// journal that continues from there.
#[derive(Debug)]
pub(in crate::host) struct RestoreOrder {
    paths: Paths,
    keeper: NameKeeper,
    /// The journal's file, by device and inode.
    journal: Option<DeviceInode>,
}

/// What the thread restored.
#[derive(Debug)]
pub(in crate::host) struct RestoredFiles {
    pub claim: Option<NameLock>,
    pub failed: Option<String>,
    /// The journal file that is gone.
    pub lost: Option<DeviceInode>,
    name: SessionName,
    pub dir: PathBuf,
}

impl RestoreOrder {
    /// Restores the directory, if it is gone.
    pub fn run(&self) -> RestoredFiles {
        let (claim, failed) = match self.keeper.restore(&self.paths) {
            Ok(claim) => (claim, None),
            Err(error) => (None, Some(error.to_string())),
        };
        if let Some(claim) = &claim {
            log::to(&claim.dir);
        }
        let (name, dir) = self.keeper.place();
        let there = file_id(&dir.join(session::JOURNAL));
        RestoredFiles { claim, failed, lost: self.journal.filter(|id| Some(*id) != there), name, dir }
    }

    /// [`RestoreOrder::run`], and a new socket if the session cannot be reached.
    pub fn run_with_socket(&self) -> (RestoredFiles, Option<UnixListener>) {
        let unsafe_now = session::prepare(&self.paths).is_err();
        let restored = self.run();
        let socket = self.paths.socket(&restored.name);
        let is_own = |stream| address::peer(&stream).ok() == i32::try_from(std::process::id()).ok();
        let leave = unsafe_now || address::connect(&socket, OWN_SOCKET).is_ok_and(is_own);
        (restored, if leave { None } else { address::bind(&socket).ok() })
    }
}

impl SessionIdentity {
    /// Whether its directory, its socket or its journal was deleted, moved away or replaced.
    pub fn misses(&self, found: &OwnFiles, journal: Option<DeviceInode>) -> bool {
        !found.socket
            || found.lock.is_none()
            || found.lock != self.claim.lock_id()
            || journal.is_some_and(|id| Some(id) != found.journal)
    }

    /// Restores the session's directory if it is gone. For a thread.
    pub fn restore_order(&self, journal: Option<DeviceInode>) -> RestoreOrder {
        RestoreOrder { paths: self.paths.clone(), keeper: self.claim.keeper(), journal }
    }

    /// Moves the session's directory, and gives its socket a second name at once, because the running program
    /// connects by the first. For a thread.
    pub fn rename_order(
        &self,
        name: SessionName,
        socket: PathBuf,
    ) -> impl FnOnce() -> Result<PathBuf, SessionError> + Send + use<> {
        let (keeper, paths) = (self.claim.keeper(), self.paths.clone());
        move || {
            let done = keeper.rename(&paths, &name);
            if done.is_ok() {
                let linked = paths.socket(&name);
                let _ = std::fs::remove_file(&linked);
                if let Err(error) = std::fs::hard_link(&socket, &linked) {
                    // The loss is noticed later, and the socket bound again.
                    log(format_args!("cannot give the socket its new name: {error}"));
                }
            }
            done
        }
    }
}

/// Parses a name that a person asks for.
pub(in crate::host) fn wanted_name(name: &str) -> Result<SessionName, RequestError> {
    name.parse().map_err(|error| {
        let hint = "a name has 1 to 48 lower-case letters, digits, `.`, `_` and `-`";
        RequestError::new(Code::BadRequest, format!("{error}"), hint)
    })
}

pub(in crate::host) fn not_renamed(name: &SessionName, error: &SessionError) -> RequestError {
    let code = match error {
        SessionError::Taken(_) | SessionError::Former { .. } | SessionError::Ended(_) => Code::Refused,
        _ => Code::Internal,
    };
    RequestError::new(code, format!("{name}: {error}"), error.hint())
}
