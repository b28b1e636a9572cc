//! Files whose changes nothing tells: there is no inotify to be had (the kernel gives a user 128 of them, and every session
//! of Claude needs one), or a directory cannot be watched. Then they are looked at, the more rarely the longer all rests.

use super::Host;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::fs::watch::{POLL_AT_REST_MS, POLL_MS, Watcher};

impl Host {
    /// When to look although nothing tells.
    pub(super) fn look_deadline(&self) -> Option<Stamp> {
        self.watching.deadline(self.run.as_ref().map_or(Stamp(0), |run| run.changed))
    }

    /// That nothing tells is said once: what a script writes is seen later than elsewhere.
    pub(super) fn tell_polling(&mut self) {
        if self.watching.looks.polls() && !std::mem::replace(&mut self.watching.told_polling, true) {
            let what = format!(
                "nothing tells when Claude's files change (inotify has no more for this user): they are looked at every {POLL_MS} ms, at \
                 rest every {POLL_AT_REST_MS} ms"
            );
            self.events.push_back(Event::Limited { what });
        }
    }
}

/// What tells of changes.
pub(super) fn watcher() -> Watcher {
    // For tests: a user who has no more of them.
    #[cfg(debug_assertions)]
    if std::env::var_os("HOPTY_TEST_BLIND").is_some() {
        return Watcher::blind();
    }
    Watcher::new()
}
