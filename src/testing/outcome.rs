//! The outcome of a tape, and of all tapes of one `hopty test`.
//!
//! The runner fills a [`TapeOutcome`] for each tape and counts it in the [`TestSummary`]; the reports write
//! both. Rows and columns for people are 1-based, row first, as in tapes.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use crate::core::text::visible::visible;
use crate::screen::{Screen, StyledRun};

/// A location in a file that a person wrote: a tape, or a test of the library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestPlace {
    /// The file as it was named on the command line.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The character of the line, from 1.
    pub column: u32,
}

impl fmt::Display for TestPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// How long something took, and what the program under test did meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestTimes {
    /// From start to end.
    pub took: Duration,
    /// How long the program's processes ran on a CPU.
    pub program_ran: Duration,
    /// How long they were runnable but waited for a CPU.
    pub waited_for_cpu: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TapeOutcome {
    /// The tape's path as it was found or named.
    pub tape: String,
    pub verdict: TapeVerdict,
    /// The failures of other attempts than the one in the verdict, oldest first: with `--retry`, `--repeat`
    /// and `--stress`.
    pub other_failures: Vec<TapeFailure>,
    /// How often the tape was played; 0 if it was not.
    pub attempts: u32,
    /// When the first attempt began, in ms since 1970.
    pub started_ms: u64,
    /// The times of all attempts together.
    pub times: TestTimes,
    /// Warnings for the author that do not make the tape fail.
    pub warnings: Vec<TapeWarning>,
    /// The snapshots that the last attempt took, in order.
    pub snapshots: Vec<SnapshotNote>,
    /// The last screen of the last attempt.
    pub last_screen: Option<ScreenCopy>,
}

impl TapeOutcome {
    /// An outcome of one attempt without a duration, to be filled.
    pub fn new(tape: impl Into<String>, verdict: TapeVerdict) -> TapeOutcome {
        let attempts = u32::from(!matches!(verdict, TapeVerdict::Skipped(_) | TapeVerdict::Unreadable(_)));
        TapeOutcome {
            tape: tape.into(),
            verdict,
            other_failures: Vec::new(),
            attempts,
            started_ms: 0,
            times: TestTimes::default(),
            warnings: Vec::new(),
            snapshots: Vec::new(),
            last_screen: None,
        }
    }

    /// The failure that decided the verdict: that of the last failed attempt. `None` if none failed.
    pub fn failure(&self) -> Option<&TapeFailure> {
        match &self.verdict {
            TapeVerdict::Failed(failure) => Some(failure),
            _ => self.other_failures.last(),
        }
    }

    /// How many attempts failed.
    pub fn failed_attempts(&self) -> usize {
        self.other_failures.len() + usize::from(matches!(self.verdict, TapeVerdict::Failed(_)))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TapeVerdict {
    /// Every check of every attempt passed.
    Passed,
    /// The tape has no check: nothing timed out or crashed.
    Smoke,
    /// Every attempt failed; this is the last one's failure.
    Failed(Box<TapeFailure>),
    /// Some attempts failed and some passed; [`TapeOutcome::other_failures`] has the failures.
    Flaky,
    /// It was not played for this reason, such as a missing program.
    Skipped(String),
    /// It does not parse; this is the parser's report, of one or more lines.
    Unreadable(String),
}

impl TapeVerdict {
    /// The verdict in one word, as in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            TapeVerdict::Passed => "passed",
            TapeVerdict::Smoke => "smoke",
            TapeVerdict::Failed(_) => "failed",
            TapeVerdict::Flaky => "flaky",
            TapeVerdict::Skipped(_) => "skipped",
            TapeVerdict::Unreadable(_) => "unreadable",
        }
    }
}

/// Why a tape failed, for reports and for people who sort failures by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Something that a command expects did not happen in time.
    Timeout,
    /// A check failed.
    Check,
    /// The program ended while a command waited, or ended with another status than expected.
    ProgramEnd,
    /// A snapshot differs, is missing, or differed between two runs.
    Snapshot,
    /// Processes of the program outlived the tape.
    Leftovers,
    /// The command itself could not be carried out: no such file, mouse not enabled.
    Command,
    Internal,
}

impl FailureKind {
    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            FailureKind::Timeout => "timeout",
            FailureKind::Check => "check",
            FailureKind::ProgramEnd => "program-end",
            FailureKind::Snapshot => "snapshot",
            FailureKind::Leftovers => "leftovers",
            FailureKind::Command => "command",
            FailureKind::Internal => "internal",
        }
    }
}

/// Why an attempt failed, with everything that helps to find the cause.
#[derive(Clone, Debug, PartialEq)]
pub struct TapeFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The command that failed.
    pub place: TestPlace,
    /// The command as in the tape: `Expect+Row 4 "^fuor$"`.
    pub command: String,
    /// What went wrong; the first line must be complete by itself.
    pub message: String,
    /// The text most similar to the expected one, as a sentence: `row 4 "four" (drawn since line 7)`.
    pub nearest: Option<String>,
    /// What a person can do about it.
    pub hint: Option<String>,
    /// How long this command took.
    pub times: TestTimes,
    /// The screen at the failure.
    pub screen: Option<ScreenCopy>,
    /// Notes after rows of that screen: the row, from 1, and `expected /^fuor$/`.
    pub row_notes: Vec<(u16, String)>,
    /// Expected and actual content, for snapshots.
    pub comparison: Option<ScreenComparison>,
    /// The names of the keys sent since the start, characters literally: `G`, `o`, `Space`, `Escape`.
    pub keys: Vec<String>,
    /// What the program's processes were doing, or how it ended, one per line.
    pub program: Vec<String>,
    pub evidence: Vec<EvidenceFile>,
    /// The command line to play this tape again.
    pub again: Option<String>,
}

impl TapeFailure {
    /// A failure with only its location and message.
    pub fn new(
        kind: FailureKind,
        place: TestPlace,
        command: impl Into<String>,
        message: impl Into<String>,
    ) -> TapeFailure {
        TapeFailure {
            kind,
            place,
            command: command.into(),
            message: message.into(),
            nearest: None,
            hint: None,
            times: TestTimes::default(),
            screen: None,
            row_notes: Vec::new(),
            comparison: None,
            keys: Vec::new(),
            program: Vec::new(),
            evidence: Vec::new(),
            again: None,
        }
    }
}

/// A file with more information about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFile {
    /// What it is, in one word: `trace`, `cast`, `screen`, `snapshot`.
    pub kind: String,
    pub path: PathBuf,
}

/// A warning about a line of a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeWarning {
    pub place: TestPlace,
    /// The text of the warning.
    pub message: String,
}

/// The result of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotNote {
    /// Its name in the tape.
    pub name: String,
    pub file: PathBuf,
    pub change: SnapshotChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotChange {
    /// The screen equals the file.
    Same,
    /// There was no file; a `.snap.new` waits to be accepted.
    Missing,
    /// The screen differs; a `.snap.new` waits to be accepted.
    Differs,
    /// The file was written on request.
    Updated,
}

impl SnapshotChange {
    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            SnapshotChange::Same => "same",
            SnapshotChange::Missing => "missing",
            SnapshotChange::Differs => "differs",
            SnapshotChange::Updated => "updated",
        }
    }
}

/// A copy of a screen, or of a region of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenCopy {
    pub cols: u16,
    pub rows: u16,
    /// Each row as runs of one style, without blanks at its end; at most `rows` rows.
    pub lines: Vec<Vec<StyledRun>>,
    /// The cursor if it is visible: row and column, from 1.
    pub cursor: Option<(u16, u16)>,
    pub title: String,
    /// The rows that changed since the tape's last input, from 1, ascending.
    pub changed: Vec<u16>,
}

impl ScreenCopy {
    /// The whole visible screen.
    pub fn of(screen: &Screen) -> ScreenCopy {
        let (cols, rows) = screen.size();
        ScreenCopy::part(screen, 0..rows, 0..cols)
    }

    /// A region of the visible screen: its rows and columns, from 0. The cursor is kept if it is inside,
    /// relative to the region's corner.
    pub fn part(screen: &Screen, rows: Range<u16>, cols: Range<u16>) -> ScreenCopy {
        let (all_cols, all_rows) = screen.size();
        let rows = rows.start.min(all_rows)..rows.end.min(all_rows);
        let cols = cols.start.min(all_cols)..cols.end.min(all_cols);
        let cursor = screen.cursor();
        let is_inside = cursor.visible && rows.contains(&cursor.row) && cols.contains(&cursor.col);
        ScreenCopy {
            cols: cols.end.saturating_sub(cols.start),
            rows: rows.end.saturating_sub(rows.start),
            lines: rows.clone().map(|row| screen.row_part(row, cols.clone())).collect(),
            cursor: is_inside.then(|| (cursor.row - rows.start + 1, cursor.col - cols.start + 1)),
            title: screen.title().to_owned(),
            changed: Vec::new(),
        }
    }

    /// The scrollback and the visible screen below it. Rows count from its oldest line.
    pub fn with_history(screen: &Screen) -> ScreenCopy {
        let mut copy = ScreenCopy::of(screen);
        // The oldest lines are dropped if there are too many.
        let kept = u16::try_from(screen.history_len()).unwrap_or(u16::MAX).min(u16::MAX - copy.rows);
        let first = screen.history_len() - usize::from(kept);
        let mut lines: Vec<_> =
            (first..screen.history_len()).map(|line| screen.history_row_runs(line)).collect();
        lines.append(&mut copy.lines);
        copy.lines = lines;
        copy.rows += kept;
        copy.cursor = copy.cursor.map(|(row, col)| (row + kept, col));
        copy
    }

    /// The rows as text, without blanks at their ends; as many as the screen has.
    pub fn text_rows(&self) -> Vec<String> {
        (0..usize::from(self.rows))
            .map(|row| {
                let runs = self.lines.get(row).map_or(&[][..], Vec::as_slice);
                let text: String = runs.iter().map(|run| run.text.as_str()).collect();
                text.trim_end_matches(' ').to_owned()
            })
            .collect()
    }
}

/// Two screens side by side, and their differences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenComparison {
    /// The rows whose text differs, in order.
    pub rows: Vec<RowComparison>,
    /// Differences that no row shows, in words: `row 3, 7-12: fg red, was green`, `cursor 4,5, was 1,1`.
    pub others: Vec<String>,
}

impl ScreenComparison {
    pub fn is_same(&self) -> bool {
        self.rows.is_empty() && self.others.is_empty()
    }
}

/// A row whose text differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowComparison {
    /// The row of the screen, from 1.
    pub row: u16,
    /// The expected text; `None` if the screen has a row too many.
    pub expected: Option<String>,
    /// The actual text; `None` if the screen has a row too few.
    pub actual: Option<String>,
    /// The cells of the expected row that differ, from 0.
    pub expected_cells: Vec<Range<u16>>,
    /// The cells of the actual row that differ, from 0.
    pub actual_cells: Vec<Range<u16>>,
}

/// The outcome of all tapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSummary {
    /// Tapes whose checks passed, and smoke tests that passed.
    pub passed: usize,
    /// How many of these have no check.
    pub smoke: usize,
    pub failed: usize,
    /// Tapes that failed in one attempt and passed in another.
    pub flaky: usize,
    /// Tapes that were not played.
    pub skipped: usize,
    /// Tapes that do not parse.
    pub unreadable: usize,
    /// From the start of the first tape to the end of the last.
    pub took: Duration,
    /// Whether a flaky tape counts as passed (`--allow-flaky`).
    pub allow_flaky: bool,
    /// Whether a person stopped it early.
    pub interrupted: bool,
    /// A failure of hopty itself, as a sentence.
    pub internal: Option<String>,
    /// The seed of `--shuffle` or `--stress`, which repeats the same run.
    pub seed: Option<u64>,
    /// Snapshots that no tape takes.
    pub unused_snapshots: Vec<PathBuf>,
    /// Command lines of processes that outlived all tapes and were killed. They belong to no tape any more:
    /// they had left its session, directory and environment.
    pub strays: Vec<String>,
}

impl TestSummary {
    /// The processes that outlived their tapes, as a sentence.
    pub fn stray_words(&self) -> Option<String> {
        let (first, others) = self.strays.split_first()?;
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        Some(format!("killed a process that outlived its tape: {}{more}", visible(first)))
    }

    pub fn count(&mut self, outcome: &TapeOutcome) {
        match &outcome.verdict {
            TapeVerdict::Passed => self.passed += 1,
            TapeVerdict::Smoke => {
                self.passed += 1;
                self.smoke += 1;
            }
            TapeVerdict::Failed(failure) => {
                self.failed += 1;
                if failure.kind == FailureKind::Internal && self.internal.is_none() {
                    self.internal = Some(failure.message.clone());
                }
            }
            TapeVerdict::Flaky => self.flaky += 1,
            TapeVerdict::Skipped(_) => self.skipped += 1,
            TapeVerdict::Unreadable(_) => self.unreadable += 1,
        }
    }

    /// All counted tapes.
    pub fn tapes(&self) -> usize {
        self.passed + self.failed + self.flaky + self.skipped + self.unreadable
    }

    /// The exit code. The first that applies: 125 hopty failed, 130 a person stopped it, 3 no tape matched, 2
    /// a tape does not parse, 1 a tape failed, was flaky or left a hidden process, 0.
    pub fn exit_code(&self) -> u8 {
        if self.internal.is_some() {
            125
        } else if self.interrupted {
            130
        } else if self.tapes() == 0 {
            3
        } else if self.unreadable > 0 {
            2
        } else if self.failed > 0 || (self.flaky > 0 && !self.allow_flaky) || !self.strays.is_empty() {
            1
        } else {
            0
        }
    }
}

/// The last line of a report: `12 passed, 1 failed, 2 skipped`. `passed` is always included.
impl fmt::Display for TestSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed", self.passed)?;
        for (count, word) in [
            (self.failed, "failed"),
            (self.flaky, "flaky"),
            (self.unreadable, "unreadable"),
            (self.skipped, "skipped"),
        ] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: FailureKind) -> TapeFailure {
        let place = TestPlace { file: "a.tape".to_owned(), line: 9, column: 1 };
        TapeFailure::new(kind, place, "Expect \"x\"", "it did not come")
    }

    fn summary(verdicts: Vec<TapeVerdict>) -> TestSummary {
        let mut summary = TestSummary::default();
        verdicts.into_iter().for_each(|verdict| summary.count(&TapeOutcome::new("a.tape", verdict)));
        summary
    }

    #[test]
    fn the_exit_code_says_the_worst() {
        let failed = |kind| TapeVerdict::Failed(Box::new(failure(kind)));
        let unreadable = || TapeVerdict::Unreadable("a.tape:1:1: Foo".to_owned());
        let skipped = || TapeVerdict::Skipped("vim is missing".to_owned());
        for (verdicts, code) in [
            (vec![], 3),
            (vec![TapeVerdict::Passed, TapeVerdict::Smoke, skipped()], 0),
            (vec![skipped()], 0),
            (vec![TapeVerdict::Passed, failed(FailureKind::Timeout)], 1),
            (vec![TapeVerdict::Passed, TapeVerdict::Flaky], 1),
            (vec![failed(FailureKind::Check), unreadable()], 2),
            (vec![failed(FailureKind::Internal), unreadable()], 125),
        ] {
            assert_eq!(summary(verdicts.clone()).exit_code(), code, "{verdicts:?}");
        }
        let mut stopped = summary(vec![failed(FailureKind::Check)]);
        stopped.interrupted = true;
        assert_eq!(stopped.exit_code(), 130);
        let mut allowed = summary(vec![TapeVerdict::Flaky]);
        allowed.allow_flaky = true;
        assert_eq!(allowed.exit_code(), 0);
        allowed.strays = vec!["sleep 60".to_owned(), "a".to_owned(), "b".to_owned()];
        assert_eq!(allowed.exit_code(), 1);
        assert_eq!(
            allowed.stray_words().unwrap(),
            "killed a process that outlived its tape: sleep 60 and 2 more"
        );
    }

    #[test]
    fn the_last_line_counts_what_there_was() {
        assert_eq!(summary(vec![TapeVerdict::Smoke]).to_string(), "1 passed");
        let failed = TapeVerdict::Failed(Box::new(failure(FailureKind::Check)));
        let all = vec![failed, TapeVerdict::Flaky, TapeVerdict::Skipped(String::new())];
        assert_eq!(summary(all).to_string(), "0 passed, 1 failed, 1 flaky, 1 skipped");
    }

    #[test]
    fn the_failure_of_an_outcome_is_the_last_one() {
        let mut outcome = TapeOutcome::new("a.tape", TapeVerdict::Flaky);
        assert_eq!((outcome.failure(), outcome.failed_attempts()), (None, 0));
        outcome.other_failures = vec![failure(FailureKind::Check), failure(FailureKind::Timeout)];
        assert_eq!(outcome.failure().map(|failure| failure.kind), Some(FailureKind::Timeout));
        outcome.verdict = TapeVerdict::Failed(Box::new(failure(FailureKind::Snapshot)));
        assert_eq!(outcome.failure().map(|failure| failure.kind), Some(FailureKind::Snapshot));
        assert_eq!(outcome.failed_attempts(), 3);
    }

    #[test]
    fn a_copy_has_text_styles_cursor_and_title() {
        let mut screen = Screen::new(10, 3);
        screen.feed("\x1b]2;t\x07a \x1b[31mred\x1b[m  \r\n\x1b[7m \x1b[m漢".as_bytes());
        let copy = ScreenCopy::of(&screen);
        assert_eq!(copy.text_rows(), ["a red", " 漢", ""]);
        assert_eq!((copy.cols, copy.rows, copy.cursor, copy.title.as_str()), (10, 3, Some((2, 4)), "t"));
        assert_eq!(copy.lines[0].len(), 2, "{:?}", copy.lines[0]);
        let part = ScreenCopy::part(&screen, 1..9, 1..3);
        assert_eq!((part.cols, part.rows, part.cursor), (2, 2, None));
        assert_eq!(part.text_rows(), ["漢", ""]);
        screen.feed(b"\x1b[?25l");
        assert_eq!(ScreenCopy::of(&screen).cursor, None);
    }
}
