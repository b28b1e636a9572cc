//! `Snapshot`: the screen is compared with its file, or collected for an update.

use super::step_failure::{StepFailure, StepResult};
use super::{TapePlayer, duration};
use crate::core::tape::{ScreenRegion, Tape};
use crate::testing::outcome::{FailureKind, ScreenCopy, SnapshotChange, SnapshotNote};
use crate::testing::program_wait::{SettleRules, WaitEnd};
use crate::testing::redaction::TapeRedactions;
use crate::testing::snapshot::snapshot_store::SnapshotError;
use crate::testing::snapshot::{ScreenSnapshot, SnapshotMode, SnapshotParts, SnapshotStore};

/// What a tape's snapshots are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotUse {
    /// To be compared with their files.
    Compare(SnapshotMode),
    /// To be written, when they are the same in two runs.
    Collect,
}

/// What is replaced in all that is told of a tape and in its snapshots: what it says itself, and the values
/// of the variables `env` that it was given.
#[must_use]
pub fn redactions_of(tape: &Tape, env: &[String]) -> TapeRedactions {
    let rules = tape.settings().redactions;
    let variables = env.iter().fold(TapeRedactions::new(), |all, name| match std::env::var(name) {
        Ok(value) => all.variable(name, &value),
        Err(_) => all,
    });
    rules.iter().fold(variables, |all, (pattern, instead)| match pattern.compile(true) {
        Ok(regex) => all.rule(regex, instead.as_str()),
        Err(_) => all,
    })
}

impl TapePlayer<'_> {
    pub(super) fn snapshot(
        &mut self,
        name: &str,
        region: Option<&ScreenRegion>,
        styles: bool,
        cursor: bool,
        history: bool,
    ) -> StepResult {
        if history && region.is_some() {
            let failure = StepFailure::new(FailureKind::Snapshot, "a region has no scrollback (+History)");
            return Err(Box::new(failure.hint("leave out the region or +History")));
        }
        let rules = SettleRules {
            quiet: duration(self.settings.settle),
            only: region.map(|region| self.region(region)).transpose()?,
            ..SettleRules::default()
        };
        let limit = self.clock.check_limit(None);
        let (named, terminal) = self.terminal()?;
        match terminal.settle_answer(&named.mark, &rules, limit) {
            // A program that has ended has settled.
            Err(failure) if !matches!(failure.end, WaitEnd::Ended(_)) => return Err(failure.into()),
            _ => {}
        }
        let region = region.map(|region| self.region(region)).transpose()?;
        let mut redactions = redactions_of(self.tape, &self.options.env)
            .dir(&self.workspace.dirs().dir().to_string_lossy())
            .home(&self.workspace.dirs().home().to_string_lossy())
            .literal(&self.workspace.dirs().base().to_string_lossy(), "[TEST]");
        let (_, terminal) = self.terminal()?;
        let pids: Vec<i32> =
            terminal.look_at_processes().all.iter().map(|process| process.stat.pid).collect();
        redactions.add_pids(pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()));
        let copy = match region {
            Some(region) => ScreenCopy::part(terminal.view(), region.row_range(), region.col_range()),
            None if history => ScreenCopy::with_history(terminal.screen()),
            None => ScreenCopy::of(terminal.view()),
        };
        let snapshot =
            ScreenSnapshot::of(&redactions.snapshot_screen(&copy), SnapshotParts { cursor, styles });
        let SnapshotUse::Compare(mode) = self.options.snapshots else {
            self.collected.push((name.to_owned(), snapshot));
            return Ok(());
        };
        let checked = match &mut self.store {
            Some(store) => store.check(name, &snapshot, mode),
            None => SnapshotStore::of_tape(&self.file.path).and_then(|mut store| {
                let checked = store.check(name, &snapshot, mode);
                self.store = Some(store);
                checked
            }),
        };
        let checked = checked.map_err(|error| snapshot_failure(&error))?;
        self.snapshots.push(SnapshotNote {
            name: name.to_owned(),
            file: checked.file,
            change: checked.change,
        });
        let Some(failed) = checked.failure else { return Ok(()) };
        let mut failure = StepFailure::new(FailureKind::Snapshot, failed.message).hint(failed.hint);
        failure.comparison = (checked.change == SnapshotChange::Differs).then_some(checked.comparison);
        Err(Box::new(failure))
    }
}

/// An error in two parts: what is wrong, and what to do.
fn snapshot_failure(error: &SnapshotError) -> Box<StepFailure> {
    let text = error.to_string();
    let failure = |message: &str| StepFailure::new(FailureKind::Snapshot, message);
    Box::new(match text.split_once("\nhint: ") {
        Some((message, hint)) => failure(message).hint(hint),
        None => failure(&text),
    })
}
