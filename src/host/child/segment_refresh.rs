//! When to make Claude redraw its status line, because hopty's segment in it changed without Claude's doing:
//! by a key of hopty's, a new name, a decision.
//!
//! Claude runs the status line when it has something new itself, and when its terminal's size changes: for
//! 2.1.332 one row less for 20 ms is enough; it redraws the screen once or twice (1 to 4 KiB) and runs the
//! status line 0.3 s later. Nothing else within hopty's reach triggers it: Claude does not watch the file of
//! `--settings`, and a short `refreshInterval` would run the person's own status line all day.

use crate::core::status_segment::SegmentGist;
use crate::core::time::Stamp;

/// How long the terminal has the other size, in ms, at each try: a Claude that gets no processor in that time
/// sees no other size.
const RESIZED_MS: [u64; 3] = [20, 100, 400];
/// How long Claude may take to run its status line, in ms, before the next try.
const SEGMENT_ANSWER_MS: u64 = 2000;

/// What Claude shows of the segment, and the refresh in progress.
#[derive(Debug, Default)]
pub(in crate::host) struct SegmentRefresh {
    /// The segment that Claude last got, once it has asked.
    last_gist: Option<SegmentGist>,
    /// The segment for which the size was last changed, and how often.
    tried: Option<(SegmentGist, usize)>,
    /// When to check whether Claude shows an outdated segment.
    due: Option<Stamp>,
    /// When to restore the terminal's size.
    back: Option<Stamp>,
}

/// How to change the terminal's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum SizeStep {
    /// One row less, for a moment.
    Less,
    /// Back to its own size.
    Back,
}

impl SegmentRefresh {
    /// Claude asked and got this segment.
    pub fn was_sent(&mut self, gist: SegmentGist) {
        self.last_gist = Some(gist);
        self.tried = None;
    }

    /// The segment may have changed: checks it after `ms`, in which Claude may ask by itself.
    pub fn may_differ(&mut self, now: Stamp, ms: u64) {
        if self.last_gist.is_some() {
            self.due = self.due.or(Some(now.after(ms)));
        }
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.due.into_iter().chain(self.back).min()
    }

    /// Does what is due. `gist`: the segment that Claude would get now; `None` if Claude must not be made to
    /// ask now; the next change starts another check.
    pub fn step(&mut self, now: Stamp, gist: impl FnOnce() -> Option<SegmentGist>) -> Option<SizeStep> {
        if self.back.take_if(|at| *at <= now).is_some() {
            self.due = self.due.or(Some(now.after(SEGMENT_ANSWER_MS)));
            return Some(SizeStep::Back);
        }
        self.due.take_if(|at| *at <= now)?;
        let gist = gist().filter(|gist| self.last_gist.as_ref() != Some(gist))?;
        let tries = self.tried.take().filter(|(tried, _)| *tried == gist).map_or(0, |(_, tries)| tries);
        self.tried = Some((gist, tries + 1));
        self.back = Some(now.after(*RESIZED_MS.get(tries)?));
        Some(SizeStep::Less)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gist(name: &str) -> Option<SegmentGist> {
        Some((name.to_owned(), None, 0))
    }

    #[test]
    fn claude_is_made_to_ask_for_what_it_does_not_show() {
        let mut refresh = SegmentRefresh::default();
        refresh.may_differ(Stamp(0), 100);
        assert_eq!(refresh.deadline(), None, "it has no status line");
        refresh.was_sent(gist("a").unwrap());
        refresh.may_differ(Stamp(0), 100);
        refresh.may_differ(Stamp(50), 100);
        assert_eq!(refresh.deadline(), Some(Stamp(100)), "the first one counts");
        assert_eq!(refresh.step(Stamp(99), || panic!("not yet")), None);
        assert_eq!(refresh.step(Stamp(100), || gist("a")), None, "it shows this");
        assert_eq!(refresh.deadline(), None);
        refresh.may_differ(Stamp(200), 100);
        assert_eq!(refresh.step(Stamp(300), || gist("b")), Some(SizeStep::Less));
        assert_eq!(refresh.step(Stamp(319), || gist("b")), None);
        assert_eq!(refresh.step(Stamp(320), || gist("b")), Some(SizeStep::Back));
        assert_eq!(refresh.step(Stamp(2320), || gist("b")), Some(SizeStep::Less), "it did not ask");
        assert_eq!(refresh.step(Stamp(2420), || gist("b")), Some(SizeStep::Back));
        assert_eq!(refresh.step(Stamp(4420), || gist("b")), Some(SizeStep::Less));
        assert_eq!(refresh.step(Stamp(4820), || gist("b")), Some(SizeStep::Back));
        for at in [6820, 9000] {
            assert_eq!(refresh.step(Stamp(at), || gist("b")), None, "it does not ask, and is left alone");
            refresh.may_differ(Stamp(at), 0);
        }
        refresh.was_sent(gist("b").unwrap());
        assert_eq!(refresh.step(Stamp(9100), || gist("b")), None);
        refresh.may_differ(Stamp(500), 0);
        assert_eq!(refresh.step(Stamp(500), || None), None, "not in a hand-over");
        refresh.may_differ(Stamp(600), 0);
        assert_eq!(refresh.step(Stamp(600), || gist("a")), Some(SizeStep::Less));
    }
}
