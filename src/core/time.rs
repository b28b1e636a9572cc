//! Time as a value: nothing here reads a clock.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// A moment in milliseconds since the host began (monotonic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub u64);

impl Stamp {
    /// This moment plus `ms` milliseconds.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        Stamp(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment, 0 when it is not earlier.
    #[must_use]
    pub fn since(self, earlier: Stamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// How long ago something was, such as `just now`, `5 min ago` and `3 h ago`. `ms` in milliseconds.
pub fn ago(ms: u64) -> String {
    match ms / 60_000 {
        0 => "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes} min ago"),
        minutes => format!("{} h ago", minutes / 60),
    }
}

/// A duration in its largest useful unit, such as `40 s`, `5 min`, `3 h` and `2 d`. `ms` in milliseconds.
pub fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time of day in milliseconds since the Unix epoch, for people and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(pub i64);

impl WallTime {
    #[must_use]
    pub fn of_seconds(seconds: u64) -> Self {
        WallTime(i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX))
    }

    /// RFC 3339 UTC with milliseconds: `2026-11-20T14:30:00.000Z`.
    #[must_use]
    pub fn rfc3339_ms(self) -> String {
        self.utc().to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// RFC 3339 UTC with seconds: `2026-11-20T14:30:00Z`, the form of the handoff manifest.
    #[must_use]
    pub fn rfc3339_s(self) -> String {
        self.utc().to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// `YYYYMMDD-HHMMSS` in UTC, the middle of a handoff id.
    #[must_use]
    pub fn compact(self) -> String {
        self.utc().format("%Y%m%d-%H%M%S").to_string()
    }

    /// `YYYY-MM-DD HH:MM:SS` in UTC, for logs.
    #[must_use]
    pub fn plain(self) -> String {
        self.utc().format("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// `Fri 2026-11-20` in UTC: people think in days of the week.
    #[must_use]
    pub fn day(self) -> String {
        self.utc().format("%a %Y-%m-%d").to_string()
    }

    /// `14:30` in UTC.
    #[must_use]
    pub fn hour(self) -> String {
        self.utc().format("%H:%M").to_string()
    }

    /// Parses an RFC 3339 time of any precision.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|t| WallTime(t.timestamp_millis()))
    }

    /// The same, or a time without a zone, as Python's `isoformat` writes it, taken as UTC.
    pub fn parse_any(text: &str) -> Option<Self> {
        let local =
            || text.parse::<chrono::NaiveDateTime>().ok().map(|t| WallTime(t.and_utc().timestamp_millis()));
        Self::parse(text).or_else(local)
    }

    /// This moment plus `ms` milliseconds.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        WallTime(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_wall_time() {
        let t = WallTime::parse("2026-11-20T14:30:00.125Z").unwrap();
        assert_eq!(t.rfc3339_ms(), "2026-11-20T14:30:00.125Z");
        assert_eq!(t.rfc3339_s(), "2026-11-20T14:30:00Z");
        assert_eq!(t.compact(), "20261120-143000");
        assert_eq!(t.plain(), "2026-11-20 14:30:00");
        assert_eq!(t.day(), "Fri 2026-11-20");
    }

    #[test]
    fn a_time_may_lack_its_zone() {
        let t = WallTime::parse("2025-01-26T14:30:00.125Z");
        for text in
            ["2025-01-26T14:30:00.125Z", "2025-01-26T14:30:00.125000", "2025-01-26T15:30:00.125+01:00"]
        {
            assert_eq!(WallTime::parse_any(text), t, "{text}");
        }
        assert_eq!((WallTime::parse("2025-01-26T14:30:00"), WallTime::parse_any("2025-01-26")), (None, None));
    }

    #[test]
    fn a_stamp_never_goes_below_zero() {
        assert_eq!(Stamp(5).since(Stamp(9)), 0);
        assert_eq!(Stamp(9).since(Stamp(5)), 4);
    }
}
