//! The time a person watches: long pauses are cut to the idle limit.

use super::timeline::Timeline;

/// Turns times of a recording into times of playing it, and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayTime {
    /// Where time passes as it did: from when in the recording, and in playing. The rest is cut.
    parts: Vec<(u64, u64)>,
    end: (u64, u64),
}

impl PlayTime {
    /// Pauses of a recording are cut to `idle_us` µs; `None` cuts nothing.
    #[must_use]
    pub fn new(timeline: &Timeline, idle_us: Option<u64>) -> Self {
        let limit = idle_us.unwrap_or(u64::MAX).max(1);
        let (mut parts, mut last, mut cut) = (vec![(0, 0)], 0, 0);
        for at in timeline.times() {
            let pause = at - last;
            if pause > limit {
                cut += pause - limit;
                parts.push((at, at - cut));
            }
            last = at;
        }
        Self { parts, end: (last, last - cut) }
    }

    /// How long it plays, in µs.
    pub fn duration_us(&self) -> u64 {
        self.end.1
    }

    /// The time in playing at which a time of the recording comes.
    pub fn playing(&self, recorded_us: u64) -> u64 {
        let next = self.parts.partition_point(|part| part.0 <= recorded_us);
        let (from, playing) = self.parts[next - 1];
        let limit = self.parts.get(next).map_or(self.end.1, |part| part.1);
        playing.saturating_add(recorded_us - from).min(limit)
    }

    /// The time of the recording that is played at a time.
    pub fn recorded(&self, playing_us: u64) -> u64 {
        let next = self.parts.partition_point(|part| part.1 <= playing_us);
        let (recorded, from) = self.parts[next - 1];
        recorded.saturating_add(playing_us - from).min(self.end.0)
    }
}
