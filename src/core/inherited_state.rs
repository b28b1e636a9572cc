//! State that a program inherits from its parent beside environment, directory and limits: its signals, and
//! where its errors go. Every run gets that of hopty's own start, so that a program under `nohup` or with
//! `2>log` behaves as without hopty.

use serde::{Deserialize, Serialize};

use super::process_change::Signal;

/// The signal state that survives exec: signals are ignored or default, and blocked or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalState {
    /// The ignored signals: bit n - 1 is signal n, as in Linux's `/proc/PID/status`.
    pub ignored: u64,
    /// The blocked signals, in the same form.
    pub blocked: u64,
}

impl SignalState {
    pub const ALL: std::ops::RangeInclusive<i32> = 1..=64;

    #[must_use]
    pub fn ignores(self, signal: Signal) -> bool {
        self.ignored & bit(signal) != 0
    }

    #[must_use]
    pub fn blocks(self, signal: Signal) -> bool {
        self.blocked & bit(signal) != 0
    }
}

/// The bit of a signal; 0 for an invalid number.
pub fn bit(signal: Signal) -> u64 {
    signal.0.checked_sub(1).and_then(|n| 1u64.checked_shl(u32::try_from(n).ok()?)).unwrap_or(0)
}

/// Where standard error goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorOutput {
    #[default]
    Terminal,
    /// To hopty's own standard error, which is not the terminal (`2>log`).
    Redirected,
    /// It is closed (`2>&-`).
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_a_signal() {
        let state = SignalState { ignored: 0x1000, blocked: 1 << 63 };
        assert!(state.ignores(Signal(13)) && !state.ignores(Signal(12)) && !state.blocks(Signal(13)));
        assert!(state.blocks(Signal(64)));
        for none in [i32::MIN, -1, 0, 65, i32::MAX] {
            assert_eq!(bit(Signal(none)), 0, "{none}");
        }
    }
}
