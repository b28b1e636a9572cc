//! The only file that reads a clock or the time zone.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::core::time::{Stamp, WallTime, age};

/// Time since the process's loop began, and the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
    /// For tests: the time in ms, which only the test advances.
    #[cfg(test)]
    manual: Option<&'static std::sync::atomic::AtomicU64>,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Clock {
            epoch: Instant::now(),
            #[cfg(test)]
            manual: None,
        }
    }

    /// A stopped clock until the test advances it.
    #[cfg(test)]
    pub fn manual(ms: &'static std::sync::atomic::AtomicU64) -> Self {
        Clock { epoch: Instant::now(), manual: Some(ms) }
    }

    /// Milliseconds since the start, rounded up, so that a deadline has passed when `poll` returns for it.
    pub fn now(&self) -> Stamp {
        #[cfg(test)]
        if let Some(ms) = self.manual {
            return Stamp(ms.load(std::sync::atomic::Ordering::Relaxed));
        }
        let micros = self.epoch.elapsed().as_micros();
        Stamp(u64::try_from(micros.div_ceil(1000)).unwrap_or(u64::MAX))
    }

    /// How long a `poll` may wait for `deadline`, in ms; `None`: without a limit.
    pub fn wait_until(&self, deadline: Option<Stamp>) -> Option<u64> {
        #[cfg(test)]
        if self.manual.is_some() {
            return Some(0);
        }
        deadline.map(|at| at.since(self.now()))
    }

    /// Microseconds since the start, for measurements rather than deadlines.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub fn wall() -> WallTime {
        let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
        WallTime(i64::try_from(ms).unwrap_or(0))
    }
}

/// Milliseconds since the last midnight in this process's time zone.
pub fn day_ms() -> u64 {
    use chrono::Timelike;
    u64::from(chrono::Local::now().num_seconds_from_midnight()) * 1000
}

/// A moment in this process's time zone (`TZ`, else the system's), for people: `2026-11-20 15:30:00`.
pub fn local(at: WallTime) -> String {
    zoned(at).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The day of a moment in this process's time zone.
pub fn local_date(at: WallTime) -> chrono::NaiveDate {
    zoned(at).date_naive()
}

/// A future time in this process's time zone, as short as possible: `15:30` within a day, else `Nov 22`.
pub fn ahead(at: WallTime) -> String {
    let is_soon = at.0.saturating_sub(Clock::wall().0) < 86_400_000;
    zoned(at).format(if is_soon { "%H:%M" } else { "%b %-d" }).to_string()
}

/// How long ago a time was: `5 min`.
pub fn elapsed(at: WallTime) -> String {
    age(Clock::wall().0.saturating_sub(at.0))
}

fn zoned(at: WallTime) -> chrono::DateTime<chrono::Local> {
    let utc = chrono::DateTime::from_timestamp_millis(at.0).unwrap_or_default();
    utc.with_timezone(&chrono::Local)
}
