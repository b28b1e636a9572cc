//! The session's own directory, socket and journal: noticed when they are gone, and restored by a thread.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::fs::session::{self, Keeper, NameLock};
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::host::jobs::log::log;
use crate::host::observer::{DeviceInode, OwnFiles, file_id};
use crate::ipc::address;

/// How long checking its own socket may take.
const OWN_SOCKET: Duration = Duration::from_millis(50);

/// What a thread needs to restore the session's directory.
#[derive(Debug)]
pub(in crate::host) struct Restore {
    pub paths: Paths,
    keeper: Keeper,
    /// The path of the journal.
    journal: Option<DeviceInode>,
}

/// What the thread restored.
#[derive(Debug)]
pub(in crate::host) struct RestoredFiles {
    claim: Option<NameLock>,
    failed: Option<String>,
    /// The journal file that is gone.
    lost: Option<DeviceInode>,
    pub name: SessionName,
    pub dir: PathBuf,
}

impl Restore {
    pub fn run(&self) -> RestoredFiles {
        let (claim, failed) = match self.keeper.restore(&self.paths) {
            Ok(claim) => (claim, None),
            Err(error) => (None, Some(error.to_string())),
        };
        if let Some(claim) = &claim {
            crate::host::jobs::log::to(&claim.dir);
        }
        let (name, dir) = self.keeper.place();
        let there = file_id(&dir.join("journal.jsonl"));
        RestoredFiles { claim, failed, lost: self.journal.filter(|id| Some(*id) != there), name, dir }
    }
}

impl Host {
    /// Notices that its directory or its socket was deleted or moved away. They are restored a moment later.
    pub(in crate::host) fn look_at_own_files(&mut self, found: OwnFiles) {
        let journal = self.jobs.journal.journal_id();
        let gone = !found.socket
            || found.lock.is_none()
            || found.lock != self.claim.lock_id()
            || journal.is_some_and(|id| Some(id) != found.journal);
        if gone {
            self.control.rebind_soon(self.clock.now());
        }
    }

    /// Restores the session's directory if it is gone, so that every command finds the session: the lock, the
    /// session's file, the log, and a journal that continues from here. For a thread.
    pub(in crate::host) fn restore(&self) -> Restore {
        Restore {
            paths: self.paths.clone(),
            keeper: self.claim.keeper(),
            journal: self.jobs.journal.journal_id(),
        }
    }

    /// The directory was restored, or nothing was missing.
    pub(in crate::host) fn restored(&mut self, restored: RestoredFiles) {
        let RestoredFiles { claim, failed, lost, .. } = restored;
        if let Some(error) = failed {
            return log(format_args!("cannot recreate the session's directory: {error}"));
        }
        // A journal that was begun meanwhile is not lost.
        let lost = lost.is_some_and(|id| self.jobs.journal.writes_to(id));
        if claim.is_none() && !lost {
            return;
        }
        if let Some(claim) = claim {
            self.claim = claim;
            self.control.renamed(&self.claim.name, self.paths.socket(&self.claim.name));
            self.jobs.journal.moved(&self.claim.dir);
            log("the session's directory was gone and is recreated");
            self.write_session_file();
        }
        if lost {
            self.renew_journal();
        }
        self.observer.scan_all();
    }

    pub(in crate::host) fn rebind_when_due(&mut self) {
        if self.control.take_rebind(self.clock.now()) {
            self.rebind();
        }
    }

    /// Has a thread check that the session can be reached, and restore what is missing for that.
    pub(in crate::host) fn rebind(&mut self) {
        let restore = self.restore();
        self.jobs.write_launch(move || {
            let unsafe_now = session::prepare(&restore.paths).is_err();
            let restored = restore.run();
            let socket = restore.paths.socket(&restored.name);
            let leave = unsafe_now || address::connect(&socket, OWN_SOCKET).is_ok();
            JobEvent::Restored(Box::new(restored), if leave { None } else { address::bind(&socket).ok() })
        });
    }

    /// The session's directory is back, and its socket, if it had to be bound again.
    pub(in crate::host) fn rebound(&mut self, restored: RestoredFiles, listener: Option<UnixListener>) {
        self.restored(restored);
        if let Some(listener) = listener {
            self.control.rebound(listener);
            // A new directory is not watched yet.
            self.observer.scan_all();
        }
    }
}
