//! Why did it end? One table (CONTRACT C5): phase x Ctrl+C x end. The phase decides, the exit code is only evidence.

use serde::{Deserialize, Serialize};

use crate::core::process::{ProcessEnd, Signal};

/// The rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// Nothing was ever spawned.
    Cold,
    /// Spawn was asked for and exec has not succeeded yet.
    Spawning,
    /// The child runs.
    Running,
    /// A restart waits for a safe point.
    Waiting,
    /// The handoff is being saved.
    Saving,
    /// hopty stops the child to start the next run.
    StoppingForRestart,
    /// Somebody asked for the end of the session.
    StoppingForStop,
    /// The host itself is told to end.
    StoppingForShutdown,
    /// A pause before the next run.
    Cooling,
    /// The continuation prompt is being delivered.
    Delivering,
}

impl Row {
    /// Every row, for tests that want them all.
    pub const ALL: [Row; 10] = [
        Row::Cold,
        Row::Spawning,
        Row::Running,
        Row::Waiting,
        Row::Saving,
        Row::StoppingForRestart,
        Row::StoppingForStop,
        Row::StoppingForShutdown,
        Row::Cooling,
        Row::Delivering,
    ];
}

/// What is known of the person's Ctrl+C at the moment of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CtrlC {
    /// None that counts for this row.
    No,
    /// Within the time that the row names: 2 s before the end while running, since the request was acted on while
    /// stopping, at any time while cooling or delivering.
    Yes,
}

/// What an end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// exec failed; the session closes with 125, 126 or 127.
    CouldNotStart,
    /// The person ended it.
    UserInterrupt,
    /// The program came to its end by itself.
    Finished,
    /// Crashed or killed by somebody else: the crash rule decides.
    Crash,
    /// hopty stopped it for a restart: the next run.
    NextRun,
    /// Stopped for good, as asked.
    Stopped,
    /// Not an end: stopped or continued by job control (CONTRACT C11).
    JobControl,
}

/// How long before an end a Ctrl+C counts while the child runs, in ms (DESIGN 3.3).
pub const INTERRUPT_WINDOW_MS: u64 = 2000;

/// The table.
#[must_use]
pub fn meaning(row: Row, ctrl_c: CtrlC, end: ProcessEnd) -> Meaning {
    if !end.is_final() {
        return Meaning::JobControl;
    }
    match (row, ctrl_c) {
        (Row::Cold | Row::Spawning, CtrlC::Yes) => Meaning::UserInterrupt,
        (Row::Cold | Row::Spawning, CtrlC::No) => Meaning::CouldNotStart,
        (Row::Running | Row::Waiting | Row::Saving, CtrlC::Yes) if by_interrupt(end) => Meaning::UserInterrupt,
        (Row::Running | Row::Waiting | Row::Saving, _) => match end {
            ProcessEnd::Exited(0) => Meaning::Finished,
            _ => Meaning::Crash,
        },
        (Row::StoppingForRestart, CtrlC::No) => Meaning::NextRun,
        (Row::StoppingForRestart, CtrlC::Yes) => Meaning::UserInterrupt,
        (Row::StoppingForStop | Row::StoppingForShutdown, _) => Meaning::Stopped,
        (Row::Cooling | Row::Delivering, CtrlC::Yes) => Meaning::UserInterrupt,
        (Row::Cooling | Row::Delivering, CtrlC::No) => Meaning::Crash,
    }
}

/// The ends by which Claude answers a Ctrl+C: code 0, 130 or 143, or SIGINT.
fn by_interrupt(end: ProcessEnd) -> bool {
    matches!(end, ProcessEnd::Exited(0 | 130 | 143) | ProcessEnd::Signaled(Signal::INT))
}

/// The signal that an end stands for, where nobody of ours sent one: Claude turns SIGTERM into code 143 and SIGHUP into
/// 129 (CONTRACT C5, measured).
#[must_use]
pub fn killed_by(end: ProcessEnd) -> Option<Signal> {
    match end {
        ProcessEnd::Signaled(signal) => Some(signal),
        ProcessEnd::Exited(143) => Some(Signal::TERM),
        ProcessEnd::Exited(129) => Some(Signal::HUP),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [ProcessEnd; 9] = [
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

    /// The whole table written out once more, a line a cell: row, Ctrl+C, then the meaning for each of `ENDS`.
    const TABLE: &[(Row, CtrlC, &str)] = &[
        (Row::Cold, CtrlC::No, "ccccccc··"),
        (Row::Cold, CtrlC::Yes, "uuuuuuu··"),
        (Row::Spawning, CtrlC::No, "ccccccc··"),
        (Row::Spawning, CtrlC::Yes, "uuuuuuu··"),
        (Row::Running, CtrlC::No, "fxxxxxx··"),
        (Row::Running, CtrlC::Yes, "uxxuuux··"),
        (Row::Waiting, CtrlC::No, "fxxxxxx··"),
        (Row::Waiting, CtrlC::Yes, "uxxuuux··"),
        (Row::Saving, CtrlC::No, "fxxxxxx··"),
        (Row::Saving, CtrlC::Yes, "uxxuuux··"),
        (Row::StoppingForRestart, CtrlC::No, "nnnnnnn··"),
        (Row::StoppingForRestart, CtrlC::Yes, "uuuuuuu··"),
        (Row::StoppingForStop, CtrlC::No, "sssssss··"),
        (Row::StoppingForStop, CtrlC::Yes, "sssssss··"),
        (Row::StoppingForShutdown, CtrlC::No, "sssssss··"),
        (Row::StoppingForShutdown, CtrlC::Yes, "sssssss··"),
        (Row::Cooling, CtrlC::No, "xxxxxxx··"),
        (Row::Cooling, CtrlC::Yes, "uuuuuuu··"),
        (Row::Delivering, CtrlC::No, "xxxxxxx··"),
        (Row::Delivering, CtrlC::Yes, "uuuuuuu··"),
    ];

    fn sign(meaning: Meaning) -> char {
        match meaning {
            Meaning::CouldNotStart => 'c',
            Meaning::UserInterrupt => 'u',
            Meaning::Finished => 'f',
            Meaning::Crash => 'x',
            Meaning::NextRun => 'n',
            Meaning::Stopped => 's',
            Meaning::JobControl => '·',
        }
    }

    #[test]
    fn every_cell() {
        assert_eq!(TABLE.len(), Row::ALL.len() * 2, "every row has both columns");
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
