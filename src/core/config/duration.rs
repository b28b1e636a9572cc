//! A duration as the configuration writes it: `300ms`, `4s`, `2m`, `2h`, `7d`, `2w`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A duration in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DurationMs(u64);

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a duration: write a whole number and one of ms, s, m, h, d, w, such as 300ms or 2m")]
pub struct BadSpan;

/// Units from the largest to the smallest, with their milliseconds. The last ones are read but never written.
const UNITS: [(&str, u64); 6] =
    [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1), ("d", 86_400_000), ("w", 604_800_000)];

impl DurationMs {
    /// A duration of `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        DurationMs(ms)
    }

    /// A duration of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        DurationMs(s.saturating_mul(1_000))
    }

    /// In words for a person: `5 min` if it is a whole number of minutes, otherwise as it is written.
    #[must_use]
    pub fn words(self) -> String {
        if self.0 > 0 && self.0.is_multiple_of(60_000) {
            format!("{} min", self.0 / 60_000)
        } else {
            self.to_string()
        }
    }

    /// The length in milliseconds.
    #[must_use]
    pub const fn ms(self) -> u64 {
        self.0
    }
}

impl fmt::Display for DurationMs {
    /// In the largest unit without a remainder: `90s`, but `1m` for sixty seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = UNITS.iter().find(|(_, ms)| self.0 != 0 && self.0.is_multiple_of(*ms));
        match found {
            Some((unit, ms)) => write!(f, "{}{unit}", self.0 / ms),
            None => f.write_str("0s"),
        }
    }
}

impl FromStr for DurationMs {
    type Err = BadSpan;
    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let (_, ms) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(BadSpan)?;
        let number: u64 = number.parse().map_err(|_| BadSpan)?;
        number.checked_mul(*ms).map(DurationMs).ok_or(BadSpan)
    }
}

impl TryFrom<String> for DurationMs {
    type Error = BadSpan;
    fn try_from(text: String) -> Result<Self, BadSpan> {
        text.parse()
    }
}

impl From<DurationMs> for String {
    fn from(span: DurationMs) -> String {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_units() {
        for (text, ms) in [
            ("300ms", 300),
            ("4s", 4_000),
            ("2m", 120_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("2w", 1_209_600_000),
            ("0ms", 0),
        ] {
            assert_eq!(text.parse::<DurationMs>().unwrap().ms(), ms, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "4", "s", "4 s", "-4s", "+4s", "4.5s", "4y", "4S", "4s ", "99999999999999999999s",
            "18446744073709551615h", "４s",
        ] {
            assert_eq!(text.parse::<DurationMs>(), Err(BadSpan), "{text:?}");
        }
    }

    #[test]
    fn it_is_shown_in_the_largest_whole_unit() {
        for (ms, text) in [(60_000, "1m"), (90_000, "90s"), (1_500, "1500ms"), (86_400_000, "24h"), (0, "0s")]
        {
            assert_eq!(DurationMs::from_ms(ms).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn displayed_durations_parse_back(ms in any::<u64>()) {
            prop_assert_eq!(DurationMs::from_ms(ms).to_string().parse::<DurationMs>().unwrap().ms(), ms);
        }
    }
}
