//! Outcomes of every kind, for the tests of all reports.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use super::TestReport;
use crate::screen::Screen;
use crate::testing::outcome::{
    EvidenceFile, FailureKind, RowComparison, ScreenComparison, ScreenCopy, SnapshotChange, SnapshotNote,
    TapeFailure, TapeOutcome, TapeVerdict, TapeWarning, TestPlace, TestSummary, TestTimes,
};
use crate::testing::redaction::{RedactedOutcome, TapeRedactions};

/// Text that tries to break out of each format.
pub const HOSTILE: &str = "a\x1b[2J\x1b]0;t\x07\u{202e}\u{0}\u{ffff}\u{9b}31m ]]></failure><x \
                           y='&\">\n::error::b\r\n::stop-commands::x\n##[error]c\n```\n````\n# d \\ | \
                           <script>\n...\n---\n1..7 %0A";

fn place(file: &str, line: u32) -> TestPlace {
    TestPlace { file: file.to_owned(), line, column: 1 }
}

fn cells(range: Range<u16>) -> Vec<Range<u16>> {
    std::iter::once(range).collect()
}

fn screen() -> ScreenCopy {
    let mut screen = Screen::new(20, 6);
    screen.feed(b"one\x1b[6;1H-- INSERT --\x1b[4;1Hfour");
    ScreenCopy { changed: vec![4], ..ScreenCopy::of(&screen) }
}

fn failure(file: &str) -> TapeFailure {
    TapeFailure {
        nearest: Some("row 4 \"four\" (drawn since line 7)".to_owned()),
        times: TestTimes {
            took: Duration::from_secs(5),
            program_ran: Duration::from_millis(100),
            waited_for_cpu: Duration::ZERO,
        },
        screen: Some(screen()),
        row_notes: vec![(4, "expected /^fuor$/".to_owned())],
        keys: "G o f o u r Escape".split(' ').map(str::to_owned).collect(),
        program: vec!["vim sleeps in pselect6".to_owned()],
        evidence: vec![EvidenceFile {
            kind: "trace".to_owned(),
            path: PathBuf::from("target/hopty/vim/trace.html"),
        }],
        again: Some(format!("hopty test {file} --pause")),
        ..TapeFailure::new(FailureKind::Timeout, place(file, 9), "Expect+Row 4 \"^fuor$\"", "not on row 4")
    }
}

fn outcome(tape: &str, verdict: TapeVerdict) -> TapeOutcome {
    let times = TestTimes { took: Duration::from_millis(120), ..TestTimes::default() };
    TapeOutcome { times, started_ms: 1_795_600_000_000, ..TapeOutcome::new(tape, verdict) }
}

fn redacted(outcome: TapeOutcome) -> RedactedOutcome {
    TapeRedactions::new().outcome(outcome)
}

/// A tape that failed.
pub fn failed() -> RedactedOutcome {
    let failure = failure("tests/vim.tape");
    let last_screen = failure.screen.clone();
    redacted(TapeOutcome { last_screen, ..outcome("tests/vim.tape", TapeVerdict::Failed(Box::new(failure))) })
}

/// A snapshot that differs.
pub fn snapshot_failed() -> RedactedOutcome {
    let row = RowComparison {
        row: 2,
        expected: Some("name  old".to_owned()),
        actual: Some("name  new".to_owned()),
        expected_cells: cells(6..9),
        actual_cells: cells(6..9),
    };
    let comparison =
        ScreenComparison { rows: vec![row], others: vec!["row 3, 7-12: fg red, was green".to_owned()] };
    let failure = TapeFailure {
        comparison: Some(comparison),
        ..TapeFailure::new(
            FailureKind::Snapshot,
            place("tests/snap.tape", 5),
            "Snapshot edited",
            "the screen differs from tests/snapshots/snap__edited.snap",
        )
    };
    let file = PathBuf::from("tests/snapshots/snap__edited.snap");
    let note = SnapshotNote { name: "edited".to_owned(), file, change: SnapshotChange::Differs };
    redacted(TapeOutcome {
        snapshots: vec![note],
        ..outcome("tests/snap.tape", TapeVerdict::Failed(Box::new(failure)))
    })
}

/// A failure in which every text is hostile.
pub fn hostile() -> RedactedOutcome {
    let mut screen = Screen::new(60, 20);
    screen.feed(HOSTILE.replace('\n', "\r\n").replace('\x1b', "").as_bytes());
    let mut copy = ScreenCopy::of(&screen);
    copy.title = HOSTILE.to_owned();
    copy.lines[0][0].text.push_str("\x1b[2J\u{202e}");
    let hostile = HOSTILE.to_owned();
    let failure = TapeFailure {
        nearest: Some(hostile.clone()),
        hint: Some(hostile.clone()),
        screen: Some(copy.clone()),
        row_notes: vec![(1, hostile.clone())],
        keys: vec![hostile.clone()],
        program: vec![hostile.clone()],
        evidence: vec![EvidenceFile { kind: "trace".to_owned(), path: PathBuf::from(HOSTILE) }],
        again: Some(hostile.clone()),
        comparison: Some(ScreenComparison {
            rows: vec![RowComparison {
                row: 1,
                expected: Some(hostile.clone()),
                actual: None,
                expected_cells: cells(0..3),
                actual_cells: Vec::new(),
            }],
            others: vec![hostile.clone()],
        }),
        ..TapeFailure::new(FailureKind::Check, place(HOSTILE, 2), HOSTILE, HOSTILE)
    };
    redacted(TapeOutcome {
        last_screen: Some(copy),
        warnings: vec![TapeWarning { place: place(HOSTILE, 1), message: hostile }],
        ..outcome(HOSTILE, TapeVerdict::Failed(Box::new(failure)))
    })
}

/// One of each kind.
pub fn all() -> Vec<RedactedOutcome> {
    let warning =
        TapeWarning { place: place("tests/ok.tape", 4), message: "Wait was true at once".to_owned() };
    let ok = TapeOutcome { warnings: vec![warning], ..outcome("tests/ok.tape", TapeVerdict::Passed) };
    let flaky = TapeOutcome {
        attempts: 3,
        other_failures: vec![failure("tests/flaky.tape")],
        ..outcome("tests/flaky.tape", TapeVerdict::Flaky)
    };
    let skipped = TapeVerdict::Skipped("vim is not installed".to_owned());
    let unreadable =
        TapeVerdict::Unreadable("tests/bad.tape:3:1: unknown command Tpye\n  Tpye\n  ^".to_owned());
    vec![
        redacted(ok),
        redacted(outcome("tests/smoke.tape", TapeVerdict::Smoke)),
        redacted(TapeOutcome { attempts: 0, ..outcome("tests/skip.tape", skipped) }),
        redacted(flaky),
        redacted(TapeOutcome { attempts: 0, ..outcome("tests/bad.tape", unreadable) }),
        failed(),
        snapshot_failed(),
    ]
}

/// Reports all of it.
pub fn play(report: &mut impl TestReport, outcomes: &[RedactedOutcome]) {
    let mut summary = TestSummary { took: Duration::from_secs(6), ..TestSummary::default() };
    report.begin(outcomes.len()).unwrap();
    for outcome in outcomes {
        report.finished(outcome).unwrap();
        summary.count(outcome);
    }
    report.end(&summary).unwrap();
}
