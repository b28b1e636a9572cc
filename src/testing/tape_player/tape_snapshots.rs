//! `Snapshot`: the screen is compared with its file, or collected for an update.

use std::path::{Path, PathBuf};

use super::screen_regions::ScreenRegions;
use super::step_failure::{StepFailure, StepResult};
use super::test_clock::duration;
use super::test_session::TestSession;
use crate::core::tape::{ScreenRegion, Tape};
use crate::testing::outcome::{FailureKind, ScreenCopy, SnapshotChange, SnapshotNote};
use crate::testing::program_wait::{SettleRules, WaitEnd};
use crate::testing::redaction::TapeRedactions;
use crate::testing::snapshot::snapshot_store::SnapshotError;
use crate::testing::snapshot::{ScreenSnapshot, SnapshotMode, SnapshotParts, SnapshotStore};

/// What to do with a tape's snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotUse {
    /// Compare them with their files.
    Compare(SnapshotMode),
    /// Write them if they are the same in two runs.
    Collect,
}

/// The redactions of a tape's reports and snapshots: its own rules, and the values of the variables `env`
/// that were passed to it.
pub fn redactions_of(tape: &Tape, env: &[String]) -> TapeRedactions {
    let rules = &tape.settings.redactions;
    let variables = env.iter().fold(TapeRedactions::new(), |all, name| match std::env::var(name) {
        Ok(value) => all.variable(name, &value),
        Err(_) => all,
    });
    rules.iter().fold(variables, |all, (pattern, instead)| match pattern.compile(true) {
        Ok(regex) => all.rule(regex, instead.as_str()),
        Err(_) => all,
    })
}

/// The snapshots of one tape.
pub(super) struct TapeSnapshots {
    tape_file: PathBuf,
    purpose: SnapshotUse,
    /// The files, opened when first needed.
    store: Option<SnapshotStore>,
    /// The snapshots that were taken.
    notes: Vec<SnapshotNote>,
    /// The screens that were collected for an update.
    collected: Vec<(String, ScreenSnapshot)>,
}

impl TapeSnapshots {
    pub fn new(tape_file: &Path, purpose: SnapshotUse) -> Self {
        let tape_file = tape_file.to_owned();
        TapeSnapshots { tape_file, purpose, store: None, notes: Vec::new(), collected: Vec::new() }
    }

    /// The snapshots that were taken, and the screens that were collected for an update.
    pub fn into_parts(self) -> (Vec<SnapshotNote>, Vec<(String, ScreenSnapshot)>) {
        (self.notes, self.collected)
    }

    pub fn take(
        &mut self,
        session: &mut TestSession,
        regions: &ScreenRegions,
        name: &str,
        region: Option<&ScreenRegion>,
        history: bool,
        parts: SnapshotParts,
    ) -> StepResult {
        if history && region.is_some() {
            let failure = StepFailure::new(FailureKind::Snapshot, "a region has no scrollback (+History)");
            return Err(failure.hint("leave out the region or +History"));
        }
        let rules = SettleRules {
            quiet: duration(session.settings.settle),
            only: region.map(|region| regions.cells(session, region)).transpose()?,
            ..SettleRules::default()
        };
        let limit = session.clock.check_limit(None);
        let (named, terminal) = session.terminal()?;
        match terminal.settle_answer(&named.mark, &rules, limit) {
            // A program that has ended has settled.
            Err(failure) if !matches!(failure.end, WaitEnd::Ended(_)) => return Err(failure.into()),
            _ => {}
        }
        let region = region.map(|region| regions.cells(session, region)).transpose()?;
        let mut redactions = session
            .redactions
            .clone()
            .dir(&session.workspace.dirs().dir().to_string_lossy())
            .home(&session.workspace.dirs().home().to_string_lossy())
            .literal(&session.workspace.dirs().base().to_string_lossy(), "[TEST]");
        let (_, terminal) = session.terminal()?;
        let pids: Vec<i32> =
            terminal.inspect_processes().all.iter().map(|process| process.stat.pid).collect();
        redactions.add_pids(pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()));
        let copy = match region {
            Some(region) => ScreenCopy::part(terminal.view(), region.row_range(), region.col_range()),
            None if history => ScreenCopy::with_history(terminal.screen()),
            None => ScreenCopy::of(terminal.view()),
        };
        let snapshot = ScreenSnapshot::of(&redactions.snapshot_screen(&copy), parts);
        let SnapshotUse::Compare(mode) = self.purpose else {
            self.collected.push((name.to_owned(), snapshot));
            return Ok(());
        };
        let checked = match &mut self.store {
            Some(store) => store.check(name, &snapshot, mode),
            None => SnapshotStore::of_tape(&self.tape_file).and_then(|mut store| {
                let checked = store.check(name, &snapshot, mode);
                self.store = Some(store);
                checked
            }),
        };
        let checked = checked.map_err(|error| snapshot_failure(&error))?;
        self.notes.push(SnapshotNote { name: name.to_owned(), file: checked.file, change: checked.change });
        let Some(failed) = checked.failure else { return Ok(()) };
        let mut failure = StepFailure::new(FailureKind::Snapshot, failed.message).hint(failed.hint);
        failure.comparison = (checked.change == SnapshotChange::Differs).then_some(checked.comparison);
        Err(failure)
    }
}

/// An error in two parts: what is wrong, and what to do.
fn snapshot_failure(error: &SnapshotError) -> Box<StepFailure> {
    let text = error.to_string();
    let failure = |message: &str| StepFailure::new(FailureKind::Snapshot, message);
    match text.split_once("\nhint: ") {
        Some((message, hint)) => failure(message).hint(hint),
        None => failure(&text),
    }
}
