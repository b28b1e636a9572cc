//! How often a session's program has died, and when hopty gives up.

use serde::{Deserialize, Serialize};

use crate::core::config::Recovery;

/// The longest pause before a resume, in ms.
const LONGEST_PAUSE_MS: u64 = 60_000;
/// The recovery stops after this many deaths during the delivery of a handoff.
const DELIVERY_DEATHS: u32 = 2;

/// How often the program has died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CrashCount {
    /// Crashes in quick succession: the pause grows with them.
    pub(super) in_a_row: u32,
    /// Deaths soon after the start, in a row.
    pub(super) quick_deaths: u32,
    /// Deaths during the delivery of a handoff since the last successful one.
    pub(super) delivery_deaths: u32,
}

impl CrashCount {
    pub(super) fn count(&mut self, quick: bool, delivering: bool) {
        self.quick_deaths = if quick { self.quick_deaths + 1 } else { 0 };
        self.in_a_row = if quick { self.in_a_row + 1 } else { 1 };
        self.delivery_deaths += u32::from(delivering);
    }

    /// The pause before the next run, in ms.
    pub(super) fn pause_ms(self) -> u64 {
        1000u64.saturating_mul(1 << self.in_a_row.saturating_sub(1).min(6)).min(LONGEST_PAUSE_MS)
    }

    /// Why the program is not started again, if it has died too often.
    pub(super) fn gives_up(self, recovery: &Recovery) -> Option<String> {
        let (deliveries, quick) = (self.delivery_deaths, self.quick_deaths);
        if deliveries >= DELIVERY_DEATHS {
            Some(format!(
                "The program ended {deliveries} times during the delivery of a handoff; hopty gave up."
            ))
        } else if quick >= recovery.quick_deaths {
            Some(format!("The program ended {quick} times soon after its start; hopty gave up."))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_quick_deaths_and_they_end_it() {
        let recovery = Recovery { quick_deaths: 8, ..Recovery::default() };
        let mut guard = CrashCount::default();
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                assert_eq!(guard.gives_up(&recovery), None);
                guard.count(true, false);
                guard.pause_ms()
            })
            .collect();
        assert_eq!(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert!(guard.gives_up(&recovery).is_some());
        guard.count(false, false);
        assert_eq!((guard.pause_ms(), guard.gives_up(&recovery)), (1000, None), "that run has worked");
    }

    #[test]
    fn deaths_during_a_delivery_add_up_however_long_each_took() {
        let (mut guard, recovery) = (CrashCount::default(), Recovery::default());
        guard.count(false, true);
        assert_eq!(guard.gives_up(&recovery), None);
        guard.count(false, true);
        assert!(guard.gives_up(&recovery).unwrap().contains("2 times during the delivery"));
    }
}
