//! A place in a recording as a person writes it: a time, a percentage, a marker, a text.

use std::fmt;
use std::str::FromStr;

use super::moment::Moment;
use super::play_time::PlayTime;
use super::timeline::Timeline;
use super::timeline_search::{SearchDirection, TimelineSearch};

/// A place in a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum PlayPosition {
    /// A time of the recording, in µs.
    Time(u64),
    /// A percentage of the playing time.
    Percent(f64),
    /// A marker with this label, with this number (from 1), or with a label that contains this.
    Marker(String),
    /// Where a match of this regular expression first appears.
    Text(String),
}

/// Why a text is not a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a position: write a time (80, 1:20, 500ms), a share (50%), marker:LABEL or /TEXT/")]
pub struct BadPosition;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionMissing {
    /// There is no such marker.
    #[error("no marker is called {0}")]
    Marker(String),
    /// The text is on no screen.
    #[error("the text is on no screen: {0}")]
    Text(String),
}

impl FromStr for PlayPosition {
    type Err = BadPosition;

    fn from_str(text: &str) -> Result<Self, BadPosition> {
        if let Some(label) = text.strip_prefix("marker:").filter(|label| !label.is_empty()) {
            return Ok(Self::Marker(label.to_owned()));
        }
        if let Some(rest) = text.strip_prefix('/') {
            let found = rest.strip_suffix('/').unwrap_or(rest);
            return if found.is_empty() { Err(BadPosition) } else { Ok(Self::Text(found.to_owned())) };
        }
        if let Some(share) = text.strip_suffix('%') {
            let share: f64 = share.parse().map_err(|_| BadPosition)?;
            return if (0.0..=100.0).contains(&share) { Ok(Self::Percent(share)) } else { Err(BadPosition) };
        }
        micros(text).map(Self::Time).ok_or(BadPosition)
    }
}

/// A duration in µs: `80`, `80.5`, `80s`, `500ms`, `2m`, `1h`, `1:20`, `1:00:20.5`.
pub fn micros(text: &str) -> Option<u64> {
    let (number, unit) = match text {
        text if text.ends_with("ms") => (&text[..text.len() - 2], 0.001),
        text if text.ends_with('s') => (&text[..text.len() - 1], 1.0),
        text if text.ends_with('m') => (&text[..text.len() - 1], 60.0),
        text if text.ends_with('h') => (&text[..text.len() - 1], 3600.0),
        text => (text, 1.0),
    };
    let mut seconds = 0.0;
    let parts: Vec<&str> = number.split(':').collect();
    if parts.len() > 3 {
        return None;
    }
    for (at, part) in parts.iter().enumerate() {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let value: f64 = if plain { part.parse().ok()? } else { return None };
        if at > 0 && value >= 60.0 {
            return None;
        }
        seconds = seconds * 60.0 + value;
    }
    let micros = (seconds * unit * 1e6).round();
    (micros < 1e16).then_some(micros as u64)
}

impl PlayPosition {
    /// The time of the recording, in µs.
    pub fn find(&self, timeline: &Timeline, time: &PlayTime) -> Result<u64, PositionMissing> {
        match self {
            Self::Time(at_us) => Ok((*at_us).min(timeline.duration_us())),
            Self::Percent(share) => Ok(time.recorded((time.duration_us() as f64 * share / 100.0) as u64)),
            Self::Marker(label) => {
                let number = label.parse().ok().and_then(|number: usize| number.checked_sub(1));
                let named = |wanted: &dyn Fn(&str) -> bool| {
                    timeline.markers().find(|(_, label)| wanted(label)).map(|(at_us, _)| at_us)
                };
                named(&|name| name == label)
                    .or_else(|| timeline.markers().nth(number?).map(|(at_us, _)| at_us))
                    .or_else(|| named(&|name| name.contains(label.as_str())))
                    .ok_or_else(|| PositionMissing::Marker(label.clone()))
            }
            Self::Text(text) => {
                let mut start = Moment::new(timeline);
                start.go_to(0);
                let hit = TimelineSearch::new(&start, text, SearchDirection::Forward).run();
                hit.map(|hit| hit.at_us).ok_or_else(|| PositionMissing::Text(text.clone()))
            }
        }
    }
}

/// A time for a person: `0:07`, `1:02:03`.
#[derive(Clone, Copy, Debug)]
pub struct ClockTime(pub u64);

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000;
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}:{minutes:02}:{seconds:02}")
        } else {
            write!(f, "{minutes}:{seconds:02}")
        }
    }
}
