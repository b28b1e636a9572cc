//! What is found while a tape is played: warnings, and when each command began.

use std::time::Instant;

use crate::core::tape::{Tape, TapeSpan};
use crate::recording::html::{TraceOutcome, TraceStep};
use crate::testing::outcome::{TapeWarning, TestPlace};

pub(super) struct TapeFindings {
    /// The command that is carried out.
    place: TestPlace,
    /// When each command began.
    command_times: Vec<Instant>,
    warnings: Vec<TapeWarning>,
}

impl TapeFindings {
    /// None yet, at the begin of a tape's file.
    pub fn new(file: String) -> Self {
        let place = TestPlace { file, line: 1, column: 1 };
        TapeFindings { place, command_times: Vec::new(), warnings: Vec::new() }
    }

    pub fn begin_command(&mut self, span: &TapeSpan) {
        self.place = place_of(span);
        self.command_times.push(Instant::now());
    }

    pub fn place(&self) -> &TestPlace {
        &self.place
    }

    /// Something about the current command that its author should look at.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(TapeWarning { place: self.place.clone(), message: message.into() });
    }

    pub fn into_warnings(self) -> Vec<TapeWarning> {
        self.warnings
    }

    /// The commands with the times at which they began, since `started`; the last one that did has failed.
    pub fn trace_steps(&self, tape: &Tape, started: Instant) -> Vec<TraceStep> {
        let steps = tape.steps.iter().filter(|step| !step.ignored);
        let carried_out = self.command_times.len();
        steps
            .enumerate()
            .map(|(number, step)| {
                let began = self.command_times.get(number).copied().unwrap_or(started);
                let at_us = began.saturating_duration_since(started).as_micros();
                TraceStep {
                    at_us: u64::try_from(at_us).unwrap_or(u64::MAX),
                    line: step.command.to_string(),
                    source: format!("{}:{}", step.span.file, step.span.line),
                    outcome: match number + 1 {
                        number if number < carried_out => TraceOutcome::Passed,
                        number if number == carried_out => TraceOutcome::Failed,
                        _ => TraceOutcome::Skipped,
                    },
                }
            })
            .collect()
    }
}

pub(super) fn place_of(span: &TapeSpan) -> TestPlace {
    TestPlace { file: span.file.clone(), line: span.line, column: span.column }
}
