//! Why a run ended. A table of phase, Ctrl+C and end. The phase decides; the exit code is only evidence.

use serde::{Deserialize, Serialize};

use crate::core::process_change::{ProcessEnd, Signal};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitRow {
    /// No spawn was requested yet.
    Cold,
    /// A spawn was requested, and exec has not succeeded yet.
    Spawning,
    Running,
    /// A restart waits for a safe point.
    Waiting,
    /// The handoff is being saved.
    Saving,
    /// hopty stops the child to start the next run.
    StoppingForRestart,
    /// The session was asked to end.
    StoppingForStop,
    /// The host itself was told to end.
    StoppingForShutdown,
    /// A pause before the next run.
    Cooling,
    /// The continuation prompt is being delivered.
    Delivering,
}

impl ExitRow {
    /// All rows, for tests.
    pub const ALL: [ExitRow; 10] = [
        ExitRow::Cold,
        ExitRow::Spawning,
        ExitRow::Running,
        ExitRow::Waiting,
        ExitRow::Saving,
        ExitRow::StoppingForRestart,
        ExitRow::StoppingForStop,
        ExitRow::StoppingForShutdown,
        ExitRow::Cooling,
        ExitRow::Delivering,
    ];
}

/// A Ctrl+C of the person, as known when the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CtrlC {
    /// No Ctrl+C that counts in this row.
    No,
    /// Within the row's time: 2 s before the end while running, since the restart began while stopping, at
    /// any time while cooling or delivering.
    Yes,
}

/// What an end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitMeaning {
    /// exec failed; the session closes with 125, 126 or 127.
    CouldNotStart,
    /// The person ended it.
    UserInterrupt,
    /// The program finished by itself.
    Finished,
    /// It crashed or was killed from outside: the crash rule decides.
    Crash,
    /// hopty stopped it for a restart: the next run follows.
    NextRun,
    /// It was stopped for good, on request.
    Stopped,
    /// Not an end: job control stopped or continued it.
    JobControl,
}

/// How long before an end a Ctrl+C counts while the child runs, in ms.
pub const INTERRUPT_WINDOW_MS: u64 = 2000;

/// The meaning of an end in this row. `ctrl_c`: whether Ctrl+C was pressed in the [`INTERRUPT_WINDOW_MS`]
/// before it.
pub fn meaning(row: ExitRow, ctrl_c: CtrlC, end: ProcessEnd) -> ExitMeaning {
    if !end.is_final() {
        return ExitMeaning::JobControl;
    }
    match (row, ctrl_c) {
        (ExitRow::Cold | ExitRow::Spawning, CtrlC::Yes) => ExitMeaning::UserInterrupt,
        (ExitRow::Cold | ExitRow::Spawning, CtrlC::No) => ExitMeaning::CouldNotStart,
        (ExitRow::Running | ExitRow::Waiting | ExitRow::Saving, CtrlC::Yes) if by_interrupt(end) => {
            ExitMeaning::UserInterrupt
        }
        (ExitRow::Running | ExitRow::Waiting | ExitRow::Saving, _) => match end {
            ProcessEnd::Exited(0) => ExitMeaning::Finished,
            _ => ExitMeaning::Crash,
        },
        (ExitRow::StoppingForRestart, CtrlC::No) => ExitMeaning::NextRun,
        (ExitRow::StoppingForRestart, CtrlC::Yes) => ExitMeaning::UserInterrupt,
        (ExitRow::StoppingForStop | ExitRow::StoppingForShutdown, _) => ExitMeaning::Stopped,
        (ExitRow::Cooling | ExitRow::Delivering, CtrlC::Yes) => ExitMeaning::UserInterrupt,
        (ExitRow::Cooling | ExitRow::Delivering, CtrlC::No) => ExitMeaning::Crash,
    }
}

/// The ends with which Claude answers a Ctrl+C: code 0, 130 or 143, or SIGINT.
fn by_interrupt(end: ProcessEnd) -> bool {
    matches!(end, ProcessEnd::Exited(0 | 130 | 143) | ProcessEnd::Signaled(Signal::INT))
}

/// The signal that an end implies, if hopty did not send one: Claude turns SIGTERM into code 143 and SIGHUP
/// into 129 (measured).
pub fn killed_by(end: ProcessEnd) -> Option<Signal> {
    match end {
        ProcessEnd::Signaled(signal) => Some(signal),
        ProcessEnd::Exited(143) => Some(Signal::TERM),
        ProcessEnd::Exited(129) => Some(Signal::HUP),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Ends of a process, one of each kind.
    pub(in crate::core::supervisor) const ENDS: [ProcessEnd; 9] = [
        ProcessEnd::Exited(0),
        ProcessEnd::Exited(1),
        ProcessEnd::Exited(129),
        ProcessEnd::Exited(130),
        ProcessEnd::Exited(143),
        ProcessEnd::Signaled(Signal::INT),
        ProcessEnd::Signaled(Signal::KILL),
        ProcessEnd::Stopped(Signal(20)),
        ProcessEnd::Continued,
    ];

    /// The whole table again, one line per cell: row, Ctrl+C, then the meaning for each of `ENDS`.
    const TABLE: &[(ExitRow, CtrlC, &str)] = &[
        (ExitRow::Cold, CtrlC::No, "ccccccc··"),
        (ExitRow::Cold, CtrlC::Yes, "uuuuuuu··"),
        (ExitRow::Spawning, CtrlC::No, "ccccccc··"),
        (ExitRow::Spawning, CtrlC::Yes, "uuuuuuu··"),
        (ExitRow::Running, CtrlC::No, "fxxxxxx··"),
        (ExitRow::Running, CtrlC::Yes, "uxxuuux··"),
        (ExitRow::Waiting, CtrlC::No, "fxxxxxx··"),
        (ExitRow::Waiting, CtrlC::Yes, "uxxuuux··"),
        (ExitRow::Saving, CtrlC::No, "fxxxxxx··"),
        (ExitRow::Saving, CtrlC::Yes, "uxxuuux··"),
        (ExitRow::StoppingForRestart, CtrlC::No, "nnnnnnn··"),
        (ExitRow::StoppingForRestart, CtrlC::Yes, "uuuuuuu··"),
        (ExitRow::StoppingForStop, CtrlC::No, "sssssss··"),
        (ExitRow::StoppingForStop, CtrlC::Yes, "sssssss··"),
        (ExitRow::StoppingForShutdown, CtrlC::No, "sssssss··"),
        (ExitRow::StoppingForShutdown, CtrlC::Yes, "sssssss··"),
        (ExitRow::Cooling, CtrlC::No, "xxxxxxx··"),
        (ExitRow::Cooling, CtrlC::Yes, "uuuuuuu··"),
        (ExitRow::Delivering, CtrlC::No, "xxxxxxx··"),
        (ExitRow::Delivering, CtrlC::Yes, "uuuuuuu··"),
    ];

    fn sign(meaning: ExitMeaning) -> char {
        match meaning {
            ExitMeaning::CouldNotStart => 'c',
            ExitMeaning::UserInterrupt => 'u',
            ExitMeaning::Finished => 'f',
            ExitMeaning::Crash => 'x',
            ExitMeaning::NextRun => 'n',
            ExitMeaning::Stopped => 's',
            ExitMeaning::JobControl => '·',
        }
    }

    #[test]
    fn every_cell() {
        assert_eq!(TABLE.len(), ExitRow::ALL.len() * 2, "every row has both columns");
        for (row, ctrl_c, want) in TABLE {
            let got: String = ENDS.iter().map(|end| sign(meaning(*row, *ctrl_c, *end))).collect();
            assert_eq!(&got, want, "{row:?} {ctrl_c:?}");
        }
    }

    #[test]
    fn codes_that_stand_for_signals() {
        assert_eq!(killed_by(ProcessEnd::Exited(143)), Some(Signal::TERM));
        assert_eq!(killed_by(ProcessEnd::Exited(129)), Some(Signal::HUP));
        assert_eq!(killed_by(ProcessEnd::Exited(1)), None);
    }
}
