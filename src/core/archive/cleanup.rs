//! When Claude deletes a conversation by itself.
//!
//! At a start Claude deletes what was not written for `cleanupPeriodDays`, a key of its settings, 30 by
//! default.

use serde_json::Value;

use crate::core::time::WallTime;

/// The days that Claude keeps a conversation if its settings do not say.
pub const CLEANUP_DAYS: u64 = 30;
/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Who says how long conversations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodOrigin {
    /// Nobody: it is Claude's default.
    Default,
    /// The person's settings.
    Settings,
}

/// How long Claude keeps conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPeriod {
    /// In days. With 0 Claude keeps none.
    pub days: u64,
    /// Who says so.
    pub origin: PeriodOrigin,
}

impl CleanupPeriod {
    /// From the text of Claude's user settings. What cannot be read there Claude does not obey, either.
    #[must_use]
    pub fn of_settings(text: &str) -> Self {
        let settings: Option<Value> = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok();
        let days = settings.and_then(|settings| settings.get("cleanupPeriodDays")?.as_f64());
        match days.filter(|days| *days >= 0.0) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
            Some(days) => CleanupPeriod { days: days as u64, origin: PeriodOrigin::Settings },
            None => CleanupPeriod { days: CLEANUP_DAYS, origin: PeriodOrigin::Default },
        }
    }

    /// Whether the person has chosen that conversations go sooner than by default.
    #[must_use]
    pub fn is_shortened(self) -> bool {
        self.origin == PeriodOrigin::Settings && self.days < CLEANUP_DAYS
    }

    /// When Claude may delete what was last written at `modified`.
    #[must_use]
    pub fn deletes_at(self, modified: WallTime) -> WallTime {
        let ms = i64::try_from(self.days).unwrap_or(i64::MAX).saturating_mul(DAY_MS);
        WallTime(modified.0.saturating_add(ms))
    }

    /// Whether Claude may delete what was last written at `modified` within `days` days from `now`.
    #[must_use]
    pub fn deletes_within(self, modified: WallTime, now: WallTime, days: u64) -> bool {
        let ms = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY_MS);
        self.deletes_at(modified).0 <= now.0.saturating_add(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_claudes_default_unless_the_settings_say() {
        let default = CleanupPeriod { days: 30, origin: PeriodOrigin::Default };
        let set = |days| CleanupPeriod { days, origin: PeriodOrigin::Settings };
        for (text, period) in [
            ("", default),
            ("{}", default),
            ("[]", default),
            (r#"{"cleanupPeriodDays": 7}"#, set(7)),
            ("\u{feff}{\"cleanupPeriodDays\": 0}", set(0)),
            (r#"{"cleanupPeriodDays": 99999}"#, set(99_999)),
            (r#"{"cleanupPeriodDays": "7"}"#, default),
            (r#"{"cleanupPeriodDays": -1}"#, default),
            (r#"{"cleanupPeriodDays": 1e300}"#, set(u64::MAX)),
            (r#"{"cleanupPeriodDays": 7"#, default),
        ] {
            assert_eq!(CleanupPeriod::of_settings(text), period, "{text}");
        }
        assert!(set(29).is_shortened() && !set(30).is_shortened() && !default.is_shortened());
    }

    #[test]
    fn what_is_near_its_end_is_known() {
        let day = |n: i64| WallTime(n * DAY_MS);
        let period = CleanupPeriod::of_settings("{}");
        assert_eq!(period.deletes_at(day(1)), day(31));
        assert!(!period.deletes_within(day(1), day(25), 5));
        assert!(period.deletes_within(day(1), day(26), 5));
        assert!(period.deletes_within(day(1), day(90), 5));
        let forever = CleanupPeriod { days: u64::MAX, origin: PeriodOrigin::Settings };
        assert!(!forever.deletes_within(day(1), day(90_000), 5));
    }
}
