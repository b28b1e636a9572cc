//! The script of the person. Like anybody, the person watches the screen: types when the prompt box is
//! there, presses Enter when it contains the text, and leaves when the work is done.

use std::time::Duration;

use super::demo_event::Pace;
use super::journal_reader::JournalReader;
use super::scripted_model::{DONE, GOAL};
use crate::core::supervisor::action::DecisionKind;
use crate::screen::Screen;
use crate::testing::test_terminal::TestTerminal;

/// How long one beat may take before the demo gives up. Only a stuck machine takes that long.
const BEAT_LIMIT: Duration = Duration::from_secs(60);
/// What the person types to end the agent.
pub(super) const EXIT: &str = "/exit";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Beat {
    /// hopty and the agent start.
    Starting,
    /// The person types the goal.
    Asking,
    /// The agent works and its context fills.
    Working,
    /// A hand-over was requested and waits for a safe point.
    Waiting,
    /// hopty saves, stops, starts and delivers.
    HandingOver,
    GoingOn,
    /// Everything is done; a moment to read it.
    Done,
    /// The person types `/exit`.
    Leaving,
    Over,
}

impl Beat {
    /// The caption for the watching person.
    pub(super) fn caption(self) -> &'static str {
        match self {
            Beat::Starting => "You start hopty in place of claude. It looks the same.",
            Beat::Asking => "You type a goal. The keys go through hopty's terminal.",
            Beat::Working => {
                "The agent works: each answer is one tool call and fills the context. Watch the meter."
            }
            Beat::Waiting => "Above 80 %, hopty waits for the end of the turn. At 90 % it stops waiting.",
            Beat::HandingOver => {
                "The context is nearly full. hopty saves a handoff, stops the agent at a safe point, starts \
                 a fresh one."
            }
            Beat::GoingOn => {
                "A new conversation, an empty context: it has the handoff and continues where the file ends. \
                 Nobody typed."
            }
            Beat::Done => "Two conversations finished the work, and nobody had to be there.",
            Beat::Leaving => "You leave with /exit, and hopty ends with the agent.",
            Beat::Over => "Over.",
        }
    }
}

#[derive(Debug)]
pub(super) struct Story {
    pub(super) pace: Pace,
    pub(super) beat: Beat,
    /// When the beat began, since the demo began.
    since: Duration,
    /// How many characters of the current text were typed.
    typed: usize,
    last_key: Duration,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoryStep {
    Same,
    New,
    /// The beat takes too long.
    Stuck,
}

impl Story {
    pub(super) fn new(pace: Pace) -> Story {
        Story { pace, beat: Beat::Starting, since: Duration::ZERO, typed: 0, last_key: Duration::ZERO }
    }

    /// Does what is due at `now` (since the demo began).
    pub(super) fn step(
        &mut self,
        now: Duration,
        inner: &mut TestTerminal,
        journal: &JournalReader,
    ) -> StoryStep {
        let next = self.next(now, inner, journal);
        if next > self.beat {
            self.beat = next;
            self.since = now;
            self.typed = 0;
            self.last_key = now;
            return StoryStep::New;
        }
        if self.beat < Beat::Over && now.saturating_sub(self.since) > BEAT_LIMIT {
            StoryStep::Stuck
        } else {
            StoryStep::Same
        }
    }

    fn next(&mut self, now: Duration, inner: &mut TestTerminal, journal: &JournalReader) -> Beat {
        if inner.end().is_some() {
            return Beat::Over;
        }
        let decided = |kind| journal.first(kind).is_some();
        let beat = self.beat;
        match beat {
            Beat::Starting if has_box(inner.screen()) && now > self.since + self.pace.look() => Beat::Asking,
            Beat::Asking if self.enter(now, inner, GOAL) => Beat::Working,
            Beat::Working | Beat::Waiting if decided(DecisionKind::SafePointReached) => Beat::HandingOver,
            Beat::Working if decided(DecisionKind::RestartRequested) => Beat::Waiting,
            Beat::HandingOver if decided(DecisionKind::DeliverySubmitted) => Beat::GoingOn,
            Beat::GoingOn if shows(inner.screen(), DONE) && ended_turn(journal) => Beat::Done,
            Beat::Done if now > self.since + self.pace.look() => Beat::Leaving,
            Beat::Leaving => {
                self.enter(now, inner, EXIT);
                Beat::Leaving
            }
            beat => beat,
        }
    }

    /// Types `text`, waits until the box shows it, and presses Enter; returns true when that is done.
    fn enter(&mut self, now: Duration, inner: &mut TestTerminal, text: &str) -> bool {
        if now < self.last_key + Duration::from_millis(self.pace.key_ms) {
            return false;
        }
        match text.get(self.typed..=self.typed) {
            Some(key) => {
                self.typed += usize::from(inner.send(key.as_bytes()).is_ok());
                self.last_key = now;
                false
            }
            None if self.typed == text.len() && shows(inner.screen(), text) => {
                self.typed += 1;
                inner.send(b"\r").is_ok()
            }
            None => false,
        }
    }
}

/// Whether the turn of the new conversation has ended.
fn ended_turn(journal: &JournalReader) -> bool {
    let new = journal.continued().map(ToString::to_string);
    journal.ended_turns.iter().any(|ended| Some(ended) == new.as_ref())
}

/// Whether the screen shows `text`, on one row or wrapped between words over several.
fn shows(screen: &Screen, text: &str) -> bool {
    let rows = screen.lines();
    let words: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
    words.join(" ").contains(text)
}

fn has_box(screen: &Screen) -> bool {
    screen.lines().iter().any(|line| line.starts_with("❯\u{a0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_one_byte_per_key() {
        assert!(GOAL.is_ascii() && EXIT.is_ascii());
    }

    #[test]
    fn captions_fit_two_rows_of_eighty() {
        for beat in [
            Beat::Starting,
            Beat::Asking,
            Beat::Working,
            Beat::Waiting,
            Beat::HandingOver,
            Beat::GoingOn,
            Beat::Done,
            Beat::Leaving,
        ] {
            assert!(beat.caption().len() <= 2 * 76, "{beat:?}");
        }
    }
}
