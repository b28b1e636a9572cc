//! Why a command of a tape failed.

use std::io;

use super::tape_findings::place_of;
use crate::core::io_words::io_words;
use crate::core::tape::TapeSpan;
use crate::testing::outcome::{FailureKind, ScreenComparison, TestPlace, TestTimes};
use crate::testing::program_wait::{WaitEnd, WaitFailure};
use crate::testing::test_terminal::TestStartError;

/// Commands that exist only in a shell.
const SHELL_WORDS: [&str; 8] = ["cd", "export", "source", "alias", "set", "read", "exec", "eval"];

/// The result of a command of a tape.
pub(super) type StepResult<T = ()> = Result<T, Box<StepFailure>>;

/// A command that failed.
#[derive(Debug)]
pub(super) struct StepFailure {
    pub kind: FailureKind,
    /// What went wrong; the first line must be complete by itself.
    pub message: String,
    pub hint: Option<String>,
    pub times: TestTimes,
    /// Notes after rows of the screen, from 1.
    pub row_notes: Vec<(u16, String)>,
    pub comparison: Option<ScreenComparison>,
    /// The location of the cause, if it is not the failed command.
    pub place: Option<TestPlace>,
    /// All tests were stopped.
    pub is_stop: bool,
    /// The tape is skipped, which is no failure.
    pub is_skip: bool,
}

impl StepFailure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Box<Self> {
        Box::new(StepFailure {
            kind,
            message: message.into(),
            hint: None,
            times: TestTimes::default(),
            row_notes: Vec::new(),
            comparison: None,
            place: None,
            is_stop: false,
            is_skip: false,
        })
    }

    /// A command that could not be carried out.
    pub fn command(message: impl Into<String>) -> Box<Self> {
        StepFailure::new(FailureKind::Command, message)
    }

    pub fn check(message: impl Into<String>) -> Box<Self> {
        StepFailure::new(FailureKind::Check, message)
    }

    /// The tape is skipped.
    pub fn skip(reason: impl Into<String>) -> Box<Self> {
        let mut failure = StepFailure::command(reason);
        failure.is_skip = true;
        failure
    }

    pub fn stopped() -> Box<Self> {
        let mut failure = StepFailure::new(FailureKind::Timeout, "stopped");
        failure.is_stop = true;
        failure
    }

    /// A file or directory that could not be used.
    pub fn io(what: &str, error: &io::Error) -> Box<Self> {
        StepFailure::command(format!("{what}: {}", io_words(error)))
    }

    /// Sets the location of the cause.
    #[must_use]
    pub fn at(mut self: Box<Self>, span: &TapeSpan) -> Box<Self> {
        self.place = Some(place_of(span));
        self
    }

    #[must_use]
    pub fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Box<WaitFailure>> for Box<StepFailure> {
    fn from(wait: Box<WaitFailure>) -> Self {
        let kind = match wait.end {
            WaitEnd::TimedOut | WaitEnd::Stopped => FailureKind::Timeout,
            WaitEnd::Ended(_) => FailureKind::ProgramEnd,
            WaitEnd::Present => FailureKind::Check,
        };
        let mut failure = StepFailure::new(kind, wait.message);
        failure.is_stop = wait.end == WaitEnd::Stopped;
        failure.times =
            TestTimes { took: wait.took, program_ran: wait.program_ran, waited_for_cpu: wait.waited_for_cpu };
        failure.row_notes = wait.nearest.iter().map(|place| (place.row + 1, String::new())).collect();
        failure
    }
}

impl From<TestStartError> for Box<StepFailure> {
    fn from(error: TestStartError) -> Self {
        let failure = StepFailure::command(error.to_string());
        match error {
            TestStartError::Refused(name, error) if error.kind() == io::ErrorKind::PermissionDenied => {
                failure.hint(format!("it is not executable; start what reads it, such as `Start sh {name}`"))
            }
            TestStartError::NotFound(name) if SHELL_WORDS.contains(&name.as_str()) => failure.hint(format!(
                "{name} is a command of shells, and `Start` runs none: Start+Shell \"{name} …\""
            )),
            _ => failure,
        }
    }
}
