//! The only file that reads a clock, or asks for the time zone.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::core::time::{Stamp, WallTime};

/// Time since the process's loop began, and the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begun: Instant,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        Clock { begun: Instant::now() }
    }

    /// Milliseconds since the start, rounded up, so that a deadline has passed when `poll` comes back for it.
    #[must_use]
    pub fn now(&self) -> Stamp {
        let micros = self.begun.elapsed().as_micros();
        Stamp(u64::try_from(micros.div_ceil(1000)).unwrap_or(u64::MAX))
    }

    /// Microseconds since the start, for what is measured rather than awaited.
    #[must_use]
    pub fn micros(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The wall clock.
    #[must_use]
    pub fn wall() -> WallTime {
        let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
        WallTime(i64::try_from(ms).unwrap_or(0))
    }
}

/// A moment in the time zone of this process (`TZ`, else the system's), for people: `2026-11-20 15:30:00`.
#[must_use]
pub fn local(at: WallTime) -> String {
    let utc = chrono::DateTime::from_timestamp_millis(at.0).unwrap_or_default();
    utc.with_timezone(&chrono::Local).format("%Y-%m-%d %H:%M:%S").to_string()
}
