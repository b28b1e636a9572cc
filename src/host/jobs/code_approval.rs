//! The settings that run code when Claude starts: accepted at the start of the session and with every `hopty
//! restart` by a person, compared before a hand-over stops Claude and again before the next run starts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::{JobEvent, Jobs};
use crate::claude::start_code::{StartCode, StartCodePaths};
use crate::core::claude::settings_code::{CodeDigest, KeyChange};
use crate::core::ids::HandoffId;
use crate::core::supervisor::event::Event;
use crate::core::text::visible::visible;
use crate::core::time::Stamp;
use crate::host::control::HookCalls;
use crate::host::identity::SessionIdentity;

/// How long reading them may take, in ms: hopty does not wait for a hanging disk, and starts nothing
/// unchecked.
pub(in crate::host) const READ_MS: u64 = 5000;
/// The message if it takes longer.
pub(in crate::host) const UNREADABLE: &str = "its files cannot be read in time";
/// How many changes are listed by name.
const LISTED_MOST: usize = 20;

/// The settings that run code in a directory, as read.
#[derive(Debug)]
pub(in crate::host) struct CodeFound {
    /// The directory, with links resolved.
    real: PathBuf,
    code: StartCode,
    /// The directory is gone, so nothing can start there.
    is_gone: bool,
}

impl CodeFound {
    pub fn read(places: &StartCodePaths, dir: &Path) -> CodeFound {
        CodeFound { real: real(dir), code: StartCode::read(places, dir), is_gone: is_gone(dir) }
    }

    /// The directory, if it is gone.
    pub fn gone(&self) -> Option<String> {
        self.is_gone.then(|| visible(&self.real.to_string_lossy()))
    }

    /// The settings of every directory that Claude trusts but this one, each with its directory.
    pub fn trusted(places: &StartCodePaths, dir: &Path) -> Vec<(PathBuf, CodeDigest)> {
        let dirs = StartCode::trusted(places, dir);
        dirs.into_iter().map(|dir| (real(&dir), StartCode::here(places, &dir))).collect()
    }
}

/// Whether there is no such directory. A disk that does not answer, or a lack of permission, is another
/// matter.
pub(super) fn is_gone(dir: &Path) -> bool {
    matches!(dir.metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

/// The settings that run code as a person last accepted them, and the comparison with the current ones.
#[derive(Debug, Default)]
pub(in crate::host) struct CodeApproval {
    everywhere: CodeDigest,
    /// By directory. In any other directory nothing was ever accepted.
    dirs: BTreeMap<PathBuf, CodeDigest>,
    /// A person's restart requests without a decision, by number, with the directory of each.
    restarts: BTreeMap<u64, Option<PathBuf>>,
    /// The number of the last comparison.
    check: u64,
    /// When to give it up, while it runs.
    until: Option<Stamp>,
}

impl CodeApproval {
    pub fn accept(&mut self, found: CodeFound) {
        self.everywhere = found.code.everywhere;
        self.dirs.insert(found.real, found.code.here);
    }

    /// [`CodeApproval::accept`] for settings that were read because of a restart requested at `at`. A much
    /// later reading may include changes that the person has not seen.
    pub fn accept_read(&mut self, at: Stamp, now: Stamp, found: Vec<CodeFound>) {
        if now.since(at) < READ_MS {
            found.into_iter().for_each(|found| self.accept(found));
        }
    }

    /// Notes the settings of other directories at the start of the session. A restart may lead into any of
    /// them.
    pub fn know(&mut self, dirs: Vec<(PathBuf, CodeDigest)>) {
        for (dir, digest) in dirs {
            self.dirs.entry(dir).or_insert(digest);
        }
    }

    /// The changes since a person last accepted the settings: a phrase for each.
    pub fn changes(&self, found: &CodeFound) -> Vec<String> {
        let nothing = CodeDigest::default();
        let here = self.dirs.get(&found.real).unwrap_or(&nothing);
        let mut all: Vec<(String, KeyChange)> = self
            .everywhere
            .changes(&found.code.everywhere)
            .into_iter()
            .chain(here.changes(&found.code.here))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup();
        let more = all.len().saturating_sub(LISTED_MOST);
        let listed =
            all.into_iter().take(LISTED_MOST).map(|(key, change)| format!("{key} {}", change.word()));
        listed.chain((more > 0).then(|| format!("{more} more"))).collect()
    }

    /// A person requests a restart into `dir`. Its settings count as accepted only once the restart is
    /// decided.
    pub fn restart_requested(&mut self, number: u64, dir: Option<PathBuf>) {
        self.restarts.insert(number, dir);
    }

    /// A request was decided. Returns the directory of a person's restart.
    pub fn restart_decided(&mut self, number: u64) -> Option<Option<PathBuf>> {
        self.restarts.remove(&number)
    }

    /// A comparison begins: its number.
    pub fn begin_check(&mut self, now: Stamp) -> u64 {
        self.check += 1;
        self.until = Some(now.after(READ_MS));
        self.check
    }

    /// The settings for a comparison were read: the changes, if the comparison has not been given up.
    pub fn end_check(&mut self, number: u64, found: &CodeFound) -> Option<Vec<String>> {
        if number != self.check {
            return None;
        }
        self.until.take().map(|_| self.changes(found))
    }

    /// When to give up a comparison.
    pub fn deadline(&self) -> Option<Stamp> {
        self.until
    }

    /// Gives up a comparison that takes too long; returns what to report instead of changes.
    pub fn due(&mut self, now: Stamp) -> Option<Vec<String>> {
        self.until.take_if(|at| *at <= now).map(|_| vec![UNREADABLE.to_owned()])
    }
}

impl Jobs {
    /// Compares the settings while Claude still runs.
    pub fn check_settings(&mut self, read: impl FnOnce() -> CodeFound + Send + 'static, now: Stamp) {
        let number = self.code.begin_check(now);
        self.read(move || JobEvent::Checked(number, read()));
    }

    /// A request was decided. If it was a person's restart and was accepted, the current settings of every
    /// directory that the restart may lead into are accepted, too. `next`: the directory of the next run.
    pub fn restart_decided(
        &mut self,
        number: u64,
        is_accepted: bool,
        session: &SessionIdentity,
        next: Option<PathBuf>,
        now: Stamp,
    ) {
        let Some(asked) = self.code.restart_decided(number) else { return };
        if !is_accepted || !session.is_claude() {
            return;
        }
        let places = session.start_code_paths();
        let dirs: BTreeSet<PathBuf> =
            [Some(session.dir.clone()), asked, next].into_iter().flatten().collect();
        self.read(move || {
            JobEvent::Accepted(now, dirs.iter().map(|dir| CodeFound::read(&places, dir)).collect())
        });
    }

    /// The record for a PreCompact call is saved, or failed. `found`: the settings that run code, if they
    /// could be read. Returns the call, now that it can be handled.
    pub fn settle_record(
        &self,
        hooks: &mut HookCalls,
        id: u64,
        saved: Result<HandoffId, String>,
        found: Option<&CodeFound>,
    ) -> Option<Event> {
        let unreadable = || vec![UNREADABLE.to_owned()];
        let gone = found.and_then(CodeFound::gone).map(|dir| format!("{dir} is gone"));
        hooks.settle_record(id, saved, gone, || {
            found.map_or_else(unreadable, |found| self.code.changes(found))
        })
    }

    /// Reads the current settings of every directory that Claude trusts, as the basis of comparison, because
    /// a restart may lead into any of them.
    pub fn read_trusted_dirs(&mut self, session: &SessionIdentity) {
        let (places, dir) = (session.start_code_paths(), session.dir.clone());
        self.copy(move || JobEvent::Known(CodeFound::trusted(&places, &dir)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(dir: &str) -> CodeFound {
        CodeFound { real: dir.into(), code: StartCode::default(), is_gone: false }
    }

    #[test]
    fn a_comparison_ends_once_and_only_the_last_one_counts() {
        let mut approval = CodeApproval::default();
        let first = approval.begin_check(Stamp(0));
        let second = approval.begin_check(Stamp(10));
        assert_eq!(approval.end_check(first, &found("/p")), None, "somebody asked anew");
        assert_eq!(approval.deadline(), Some(Stamp(10 + READ_MS)));
        assert_eq!(approval.end_check(second, &found("/p")), Some(Vec::new()));
        assert_eq!((approval.end_check(second, &found("/p")), approval.deadline()), (None, None));
        let third = approval.begin_check(Stamp(20));
        assert_eq!(approval.due(Stamp(19 + READ_MS)), None);
        assert_eq!(approval.due(Stamp(20 + READ_MS)), Some(vec![UNREADABLE.to_owned()]));
        assert_eq!(approval.end_check(third, &found("/p")), None, "it is given up");
    }

    #[test]
    fn a_directory_that_is_gone_is_told_from_one_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_gone(dir.path()) && is_gone(&dir.path().join("gone")));
        assert_eq!(CodeFound { is_gone: true, ..found("/gone\n") }.gone().as_deref(), Some("/gone\\u{a}"));
    }

    #[test]
    fn a_restart_is_decided_once() {
        let mut approval = CodeApproval::default();
        approval.restart_requested(7, Some("/p".into()));
        assert_eq!(approval.restart_decided(8), None);
        assert_eq!(approval.restart_decided(7), Some(Some("/p".into())));
        assert_eq!(approval.restart_decided(7), None);
    }
}
