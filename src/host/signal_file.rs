//! `.restart-session`: read when it changes, described for the supervisor, and removed when it was obeyed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Host;
use crate::core::signal::{MAX_BYTES, RestartFile};
use crate::core::supervisor::event::Event;
use crate::fs::session;
use crate::io::clock::Clock;

impl Host {
    pub(super) fn look_at_signal(&mut self) {
        if self.launch.agent != crate::core::supervisor::Agent::Claude || !self.launch.config.compat.signal_files {
            return;
        }
        let path = self.paths.restart_signal();
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            self.watching.signal = None;
            return;
        };
        let seen = identity(&meta);
        if self.watching.signal == Some(seen) {
            return;
        }
        self.watching.signal = Some(seen);
        let file = if meta.is_file() && meta.len() <= MAX_BYTES as u64 && meta.uid() == nix::unistd::geteuid().as_raw() {
            RestartFile::parse(&std::fs::read(&path).unwrap_or_default())
        } else {
            let reason = if meta.is_file() { "it is too large or belongs to somebody else" } else { "it is no regular file" };
            RestartFile::Malformed { reason: reason.to_owned() }
        };
        let written = meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000;
        // File times are as coarse as the kernel's tick.
        let fresh = written + 20 >= self.began.0 && written <= Clock::wall().0 + 2000;
        let dir = match &file {
            RestartFile::Named { dir, .. } => dir.clone(),
            RestartFile::Bare { dir } => Some(dir.clone()),
            RestartFile::Malformed { .. } => None,
        };
        let dir_ok = dir.as_deref().is_some_and(|dir| self.may_start_in(Path::new(dir)));
        let sessions = match &file {
            RestartFile::Bare { dir } => self.sessions_in(Path::new(dir)),
            _ => 1,
        };
        self.events.push_back(Event::Signal { file, fresh, sessions, dir_ok });
    }

    /// A directory of a signal is taken only if it exists, is the person's, and Claude already trusts it (DESIGN 6.5).
    fn may_start_in(&self, dir: &Path) -> bool {
        if dir == self.dir {
            return true;
        }
        let own = std::fs::metadata(dir).is_ok_and(|m| m.is_dir() && m.uid() == nix::unistd::geteuid().as_raw());
        let Ok(real) = dir.canonicalize() else { return false };
        let trusted = std::fs::read(self.paths.claude_json())
            .ok()
            .and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok())
            .is_some_and(|state| state["projects"][real.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true);
        own && trusted
    }

    /// How many live sessions run in `dir`, this one included.
    fn sessions_in(&self, dir: &Path) -> u32 {
        let Ok(dir) = dir.canonicalize() else { return 0 };
        let live = session::list(&self.paths).into_iter().filter(|(name, alive)| {
            *alive
                && (name == &self.claim.name && self.dir == dir
                    || name != &self.claim.name && super::report::dir_of(&self.paths.session(name)).as_deref() == Some(dir.as_path()))
        });
        u32::try_from(live.count()).unwrap_or(u32::MAX)
    }

    pub(super) fn consume_signal(&mut self) {
        let path = self.paths.restart_signal();
        // Only the very file that was read: another one may have been written meanwhile.
        let same = std::fs::symlink_metadata(&path).is_ok_and(|m| self.watching.signal == Some(identity(&m)));
        if same {
            let _ = std::fs::remove_file(&path);
            self.watching.signal = None;
        }
    }
}

/// What tells one state of the file from the next. Its time alone does not: a shell makes it empty and writes it within one
/// tick of the kernel's clock, and hopty may have looked in between.
fn identity(meta: &std::fs::Metadata) -> (u64, i64, i64, u64) {
    (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len())
}
