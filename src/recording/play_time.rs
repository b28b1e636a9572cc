//! The playing time: long pauses are cut to the idle limit.

use super::timeline::Timeline;

/// Converts between times of a recording and playing times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayTime {
    /// The parts that are not cut: start in the recording, and start in playing time.
    parts: Vec<(u64, u64)>,
    end: (u64, u64),
}

impl PlayTime {
    /// Cuts pauses of a recording to `idle_us` µs; `None` cuts nothing.
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

    /// The whole playing time, in µs.
    pub fn duration_us(&self) -> u64 {
        self.end.1
    }

    /// The playing time of a time in the recording.
    pub fn playing(&self, recorded_us: u64) -> u64 {
        let next = self.parts.partition_point(|part| part.0 <= recorded_us);
        let (from, playing) = self.parts[next - 1];
        let limit = self.parts.get(next).map_or(self.end.1, |part| part.1);
        playing.saturating_add(recorded_us - from).min(limit)
    }

    /// The time in the recording at a playing time.
    pub fn recorded(&self, playing_us: u64) -> u64 {
        let next = self.parts.partition_point(|part| part.1 <= playing_us);
        let (recorded, from) = self.parts[next - 1];
        recorded.saturating_add(playing_us - from).min(self.end.0)
    }
}
