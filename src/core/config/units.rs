//! Two small values of the configuration: a size in cells and the prefix key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a text is not such a value. The message says what is valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadUnit(&'static str);

/// The size of a terminal in cells, written `80x24`. Both are in 2..=1000: full-screen programs misbehave
/// with one row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CellSize {
    pub cols: u16,
    pub rows: u16,
}

impl FromStr for CellSize {
    type Err = BadUnit;
    fn from_str(text: &str) -> Result<Self, BadUnit> {
        const BAD: BadUnit = BadUnit("not a size: write columns x rows, such as 80x24, each from 2 to 1000");
        let side = |part: &str| -> Result<u16, BadUnit> {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            let n = part.parse::<u16>().ok().filter(|n| plain && (2..=1000).contains(n));
            n.ok_or(BAD)
        };
        let (cols, rows) = text.split_once('x').ok_or(BAD)?;
        Ok(CellSize { cols: side(cols)?, rows: side(rows)? })
    }
}

impl fmt::Display for CellSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.cols, self.rows)
    }
}

/// The prefix key as the byte that a terminal sends for it; `None` if it is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PrefixKey(Option<u8>);

impl PrefixKey {
    /// `ctrl-\`, the default.
    pub const DEFAULT: PrefixKey = PrefixKey(Some(0x1c));

    /// The byte, 0x00 to 0x1f; `None` when all 256 byte values pass.
    #[must_use]
    pub fn byte(self) -> Option<u8> {
        self.0
    }
}

impl FromStr for PrefixKey {
    type Err = BadUnit;
    fn from_str(text: &str) -> Result<Self, BadUnit> {
        if text.is_empty() {
            return Ok(PrefixKey(None));
        }
        match text.strip_prefix("ctrl-").map(str::as_bytes) {
            Some([b'c' | b'm' | b'[']) => Err(BadUnit(
                "ctrl-c, ctrl-m and ctrl-[ are Interrupt, Enter and Escape and cannot be the prefix",
            )),
            Some([key @ (b'a'..=b'z' | b'@' | b'\\' | b']' | b'^' | b'_')]) => {
                Ok(PrefixKey(Some(key & 0x1f)))
            }
            _ => Err(BadUnit("not a prefix key: write ctrl- and one of a to z @ \\ ] ^ _, or \"\" for none")),
        }
    }
}

impl Default for PrefixKey {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for PrefixKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(byte @ 1..=26) => write!(f, "ctrl-{}", char::from(byte | 0x60)),
            Some(byte) => write!(f, "ctrl-{}", char::from(byte | 0x40)),
        }
    }
}

/// Hours of the day without notifications, written `22:00-07:30`; `None` if empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuietHours(Option<(u16, u16)>);

impl QuietHours {
    /// Start and end, in minutes after midnight; the end may be on the next day.
    #[must_use]
    pub fn bounds(self) -> Option<(u16, u16)> {
        self.0
    }
}

impl FromStr for QuietHours {
    type Err = BadUnit;
    fn from_str(text: &str) -> Result<Self, BadUnit> {
        const BAD: BadUnit = BadUnit("not hours: write start-end, such as 22:00-07:30, or \"\" for none");
        if text.is_empty() {
            return Ok(QuietHours(None));
        }
        let time = |part: &str| -> Result<u16, BadUnit> {
            let (hours, minutes) = part.trim().split_once(':').ok_or(BAD)?;
            let number = |digits: &str, most: u16| {
                let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
                digits.parse::<u16>().ok().filter(|n| plain && *n <= most).ok_or(BAD)
            };
            Ok(number(hours, 23)? * 60 + number(minutes, 59)?)
        };
        let (from, to) = text.split_once('-').ok_or(BAD)?;
        let (from, to) = (time(from)?, time(to)?);
        if from == to { Err(BAD) } else { Ok(QuietHours(Some((from, to)))) }
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((from, to)) = self.0 else { return Ok(()) };
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

macro_rules! as_text {
    ($name:ty) => {
        impl TryFrom<String> for $name {
            type Error = BadUnit;
            fn try_from(text: String) -> Result<Self, BadUnit> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}
as_text!(CellSize);
as_text!(PrefixKey);
as_text!(QuietHours);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("80x24".parse::<CellSize>().unwrap(), CellSize { cols: 80, rows: 24 });
        for text in [
            "", "80", "80x", "x24", "80X24", "1x24", "80x1", "1001x24", "+80x24", "80x24x1", "80 x 24",
            "99999x24",
        ] {
            assert!(text.parse::<CellSize>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn quiet_hours() {
        for text in ["22:00-07:30", "", "00:00-23:59"] {
            assert_eq!(text.parse::<QuietHours>().unwrap().to_string(), text);
        }
        assert_eq!("9:00-9:05".parse::<QuietHours>().unwrap().bounds(), Some((540, 545)));
        for text in ["22", "22:00", "24:00-07:00", "22:60-07:00", "22:00-22:00", "-", "a:b-c:d", "+1:00-2:00"]
        {
            assert!(text.parse::<QuietHours>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_prefix_key_reads_back_as_its_byte() {
        assert_eq!("ctrl-\\".parse::<PrefixKey>().unwrap(), PrefixKey::DEFAULT);
        assert_eq!("ctrl-a".parse::<PrefixKey>().unwrap().byte(), Some(1));
        assert_eq!("".parse::<PrefixKey>().unwrap().byte(), None);
        for key in "abdefghijklnopqrstuvwxyz@\\]^_".chars() {
            let text = format!("ctrl-{key}");
            assert_eq!(text.parse::<PrefixKey>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn keys_that_every_session_needs_are_refused() {
        for text in ["ctrl-c", "ctrl-m", "ctrl-[", "ctrl-A", "ctrl-", "ctrl-ab", "a", "alt-x", "ctrl-é"] {
            assert!(text.parse::<PrefixKey>().is_err(), "{text:?}");
        }
    }
}
