//! When to write `session.json`, which outlives the host.

use crate::core::time::Stamp;

/// How long after the start of the first run to write it, in ms: the terminal's first bytes come first.
const SESSION_FILE_DELAY_MS: u64 = 5;

/// When the session's file is due.
#[derive(Debug, Default)]
pub(in crate::host) struct SessionFile {
    at: Option<Stamp>,
    /// The journal line at which the last known state began.
    state_line: u64,
}

impl SessionFile {
    /// Plans to write it a moment later.
    pub fn write_soon(&mut self, now: Stamp) {
        self.at = Some(now.after(SESSION_FILE_DELAY_MS));
    }

    /// Whether the session's state differs from the one at the last call. `line`: the journal line at which
    /// it began.
    pub fn note_state(&mut self, line: u64) -> bool {
        std::mem::replace(&mut self.state_line, line) != line
    }

    /// When to write it.
    pub fn deadline(&self) -> Option<Stamp> {
        self.at
    }

    /// Notes that it is being written.
    pub fn written(&mut self) {
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_counts_once_and_a_written_file_is_not_due() {
        let mut file = SessionFile::default();
        assert!(file.note_state(4) && !file.note_state(4) && file.note_state(5));
        file.write_soon(Stamp(100));
        assert_eq!(file.deadline(), Some(Stamp(100 + SESSION_FILE_DELAY_MS)));
        file.written();
        assert_eq!(file.deadline(), None);
    }
}
