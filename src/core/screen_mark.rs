//! A moment in a session that separates old text on its screen from new.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A moment that `hopty send --mark` names and `hopty wait --since` refers to, written `118.1.42`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScreenMark {
    /// The last line of the journal before it.
    pub seq: u64,
    /// The run of the screen, from 1.
    pub run: u32,
    /// The last frame of that screen before it.
    pub frame: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a mark")]
pub struct BadScreenMark;

impl fmt::Display for ScreenMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.seq, self.run, self.frame)
    }
}

impl FromStr for ScreenMark {
    type Err = BadScreenMark;

    fn from_str(text: &str) -> Result<Self, BadScreenMark> {
        let mut parts = text.split('.');
        let mut next = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (seq, run, frame) = (next(), next(), next());
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<u64>().ok());
        let run = number(run).and_then(|run| u32::try_from(run).ok());
        match (number(seq), run, number(frame), parts.next()) {
            (Some(seq), Some(run), Some(frame), None) => Ok(ScreenMark { seq, run, frame }),
            _ => Err(BadScreenMark),
        }
    }
}

impl TryFrom<String> for ScreenMark {
    type Error = BadScreenMark;

    fn try_from(text: String) -> Result<Self, BadScreenMark> {
        text.parse()
    }
}

impl From<ScreenMark> for String {
    fn from(mark: ScreenMark) -> Self {
        mark.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_three_numbers() {
        let mark = ScreenMark { seq: 118, run: 1, frame: 42 };
        assert_eq!((mark.to_string().as_str(), "118.1.42".parse()), ("118.1.42", Ok(mark)));
        assert_eq!(serde_json::from_str::<ScreenMark>("\"118.1.42\"").ok(), Some(mark));
        for bad in ["", "118", "118.1", "118.1.42.0", "118.-1.42", "+118.1.42", "118.1.", "118.4294967296.1"]
        {
            assert_eq!(bad.parse::<ScreenMark>(), Err(BadScreenMark), "{bad:?}");
        }
    }
}
