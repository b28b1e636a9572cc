//! When Claude deletes a conversation by itself.
//!
//! At a start Claude deletes conversations that were not written for `cleanupPeriodDays`, a key of its
//! settings, 30 by default.

use crate::core::claude::settings_code::parse;
use crate::core::time::WallTime;

/// The default of `cleanupPeriodDays`.
pub const CLEANUP_DAYS: u64 = 30;
/// How many days before Claude may delete a conversation hopty archives it: long enough for a person who is
/// away for a week, and short enough that no conversation in use is archived.
const SOON_DAYS: i64 = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The source of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodOrigin {
    /// Claude's default.
    Default,
    Settings,
    Project,
    Managed,
}

/// The owner of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsScope {
    User,
    /// A project's, or this machine's for it.
    Project,
    /// An administrator's.
    Managed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPeriod {
    /// With 0 Claude keeps none.
    pub days: u64,
    pub origin: PeriodOrigin,
}

impl CleanupPeriod {
    /// From the texts of Claude's settings files, the weakest first: the last valid number counts. Claude
    /// ignores invalid ones, too.
    #[must_use]
    pub fn of_settings<'a>(texts: impl IntoIterator<Item = (SettingsScope, &'a str)>) -> Self {
        let days = |text: &str| parse(text)?.get("cleanupPeriodDays")?.as_f64().filter(|days| *days >= 0.0);
        let strongest = texts.into_iter().filter_map(|(scope, text)| Some((scope, days(text)?))).last();
        let Some((scope, days)) = strongest else {
            return CleanupPeriod { days: CLEANUP_DAYS, origin: PeriodOrigin::Default };
        };
        let origin = match scope {
            SettingsScope::User => PeriodOrigin::Settings,
            SettingsScope::Project => PeriodOrigin::Project,
            SettingsScope::Managed => PeriodOrigin::Managed,
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
        let days = days as u64;
        CleanupPeriod { days, origin }
    }

    pub fn origin_words(self) -> &'static str {
        match self.origin {
            PeriodOrigin::Default => "its default",
            PeriodOrigin::Settings => "cleanupPeriodDays in your settings",
            PeriodOrigin::Project => "cleanupPeriodDays in the settings of this project",
            PeriodOrigin::Managed => "cleanupPeriodDays in managed settings",
        }
    }

    /// Whether the person has chosen a period shorter than the default. A project's settings are no choice:
    /// they came with a clone.
    #[must_use]
    pub fn is_shortened(self) -> bool {
        matches!(self.origin, PeriodOrigin::Settings | PeriodOrigin::Managed) && self.days < CLEANUP_DAYS
    }

    /// When Claude may delete a file that was last written at `modified`.
    #[must_use]
    pub fn deletes_at(self, modified: WallTime) -> WallTime {
        let ms = i64::try_from(self.days).unwrap_or(i64::MAX).saturating_mul(DAY_MS);
        WallTime(modified.0.saturating_add(ms))
    }

    /// Whether Claude may delete a file that was last written at `modified` within ten days from `now`.
    #[must_use]
    pub fn deletes_soon(self, modified: WallTime, now: WallTime) -> bool {
        self.deletes_at(modified).0 <= now.0.saturating_add(SOON_DAYS * DAY_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[(SettingsScope, &str)]) -> CleanupPeriod {
        CleanupPeriod::of_settings(texts.iter().copied())
    }

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
            assert_eq!(of(&[(SettingsScope::User, text)]), period, "{text}");
        }
        let (user, week) =
            ((SettingsScope::User, r#"{"cleanupPeriodDays": 90}"#), r#"{"cleanupPeriodDays": 7}"#);
        let project = of(&[user, (SettingsScope::Project, week), (SettingsScope::Project, "{}")]);
        assert_eq!(project, CleanupPeriod { days: 7, origin: PeriodOrigin::Project });
        assert!(!project.is_shortened(), "a clone says so, not the person");
        assert!(of(&[user, (SettingsScope::Managed, week)]).is_shortened());
        assert!(set(29).is_shortened() && !set(30).is_shortened() && !default.is_shortened());
    }

    #[test]
    fn what_is_near_its_end_is_known() {
        let day = |n: i64| WallTime(n * DAY_MS);
        let period = of(&[]);
        assert_eq!(period.deletes_at(day(1)), day(31));
        assert!(!period.deletes_soon(day(1), day(20)));
        assert!(period.deletes_soon(day(1), day(21)));
        assert!(period.deletes_soon(day(1), day(90)));
        let forever = CleanupPeriod { days: u64::MAX, origin: PeriodOrigin::Settings };
        assert!(!forever.deletes_soon(day(1), day(90_000)));
    }
}
