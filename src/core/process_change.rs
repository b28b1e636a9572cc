//! Changes of a process: ended, stopped or continued.

use serde::{Deserialize, Serialize};

/// A signal by its number on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signal(pub i32);

impl Signal {
    pub const HUP: Signal = Signal(1);
    pub const INT: Signal = Signal(2);
    pub const QUIT: Signal = Signal(3);
    pub const KILL: Signal = Signal(9);
    pub const TERM: Signal = Signal(15);

    /// The name without `SIG` for common signals, else `signal N`.
    #[must_use]
    pub fn name(self) -> String {
        let known = match self.0 {
            1 => "HUP",
            2 => "INT",
            3 => "QUIT",
            4 => "ILL",
            6 => "ABRT",
            8 => "FPE",
            9 => "KILL",
            11 => "SEGV",
            13 => "PIPE",
            15 => "TERM",
            n => return format!("signal {n}"),
        };
        format!("SIG{known}")
    }

    /// The exit code of a program that it ended, as in a shell: 128 + n.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(255)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    Exited(u8),
    Signaled(Signal),
    /// Job control; the process lives.
    Stopped(Signal),
    Continued,
}

impl ProcessEnd {
    /// The exit code as in a shell: its own, or 128 + n for a signal. 0 if the process has not ended.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            ProcessEnd::Exited(code) => code,
            ProcessEnd::Signaled(signal) => signal.exit_code(),
            ProcessEnd::Stopped(_) | ProcessEnd::Continued => 0,
        }
    }

    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, ProcessEnd::Exited(_) | ProcessEnd::Signaled(_))
    }

    /// As part of a sentence: `with code 1`, `by SIGKILL`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            ProcessEnd::Exited(code) => format!("with code {code}"),
            ProcessEnd::Signaled(signal) => format!("by {}", signal.name()),
            ProcessEnd::Stopped(signal) => format!("stopped by {}", signal.name()),
            ProcessEnd::Continued => "continued".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(ProcessEnd::Exited(130).code(), 130);
        assert_eq!(ProcessEnd::Signaled(Signal::KILL).code(), 137);
        assert!(!ProcessEnd::Stopped(Signal(19)).is_final());
    }
}
