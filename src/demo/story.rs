//! What the scripted person does, and what the demo is about at the moment. The person looks at the screen,
//! as anybody would: types when the prompt box is there, presses Enter when the text stands in it, leaves
//! when the work is done.

use std::time::Duration;

use super::Pace;
use super::demo_terminal::DemoTerminal;
use super::journal_reader::JournalReader;
use super::scripted_model::{DONE, GOAL};

/// How long one beat may take before the demo gives up. Nothing here comes near it but a machine that is
/// stuck.
const BEAT_LIMIT: Duration = Duration::from_secs(60);
/// What ends the agent.
pub(super) const EXIT: &str = "/exit";

/// The parts of the story, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Beat {
    /// hopty and the agent start.
    Starting,
    /// The goal is typed.
    Asking,
    /// The agent works and its context fills.
    Working,
    /// A hand-over was requested; the next safe point is waited for.
    Waiting,
    /// hopty saves, stops, starts and delivers.
    HandingOver,
    /// The new conversation works.
    GoingOn,
    /// All is done; a moment to look at it.
    Done,
    /// `/exit` is typed.
    Leaving,
    /// hopty has ended.
    Over,
}

impl Beat {
    /// What is going on, for the person who watches.
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

/// The story so far.
#[derive(Debug)]
pub(super) struct Story {
    /// How fast it goes.
    pub(super) pace: Pace,
    pub(super) beat: Beat,
    /// When that began, since the demo began.
    since: Duration,
    /// Characters of the present text that were typed.
    typed: usize,
    last_key: Duration,
}

/// What became of the story after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoryStep {
    Same,
    New,
    /// A beat takes too long.
    Stuck,
}

impl Story {
    /// The story, at its beginning.
    pub(super) fn new(pace: Pace) -> Story {
        Story { pace, beat: Beat::Starting, since: Duration::ZERO, typed: 0, last_key: Duration::ZERO }
    }

    /// Looks, and does what is due at `now` (since the demo began).
    pub(super) fn step(
        &mut self,
        now: Duration,
        inner: &mut DemoTerminal,
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

    fn next(&mut self, now: Duration, inner: &mut DemoTerminal, journal: &JournalReader) -> Beat {
        if inner.exit_code().is_some() {
            return Beat::Over;
        }
        let decided = |kind: &str| journal.first(kind).is_some();
        let beat = self.beat;
        match beat {
            Beat::Starting if inner.has_box() && now > self.since + self.pace.look() => Beat::Asking,
            Beat::Asking if self.enter(now, inner, GOAL) => Beat::Working,
            Beat::Working | Beat::Waiting if decided("safe_point.reached") => Beat::HandingOver,
            Beat::Working if decided("restart.requested") => Beat::Waiting,
            Beat::HandingOver if decided("delivery.submitted") => Beat::GoingOn,
            Beat::GoingOn if inner.shows(DONE) && ended_turn(journal) => Beat::Done,
            Beat::Done if now > self.since + self.pace.look() => Beat::Leaving,
            Beat::Leaving => {
                self.enter(now, inner, EXIT);
                Beat::Leaving
            }
            beat => beat,
        }
    }

    /// Types `text` as a person does, sees it in the box and presses Enter; true when that is done.
    fn enter(&mut self, now: Duration, inner: &mut DemoTerminal, text: &str) -> bool {
        if now < self.last_key + Duration::from_millis(self.pace.key_ms) {
            return false;
        }
        match text.get(self.typed..=self.typed) {
            Some(key) => {
                inner.type_keys(key.as_bytes());
                self.typed += 1;
                self.last_key = now;
                false
            }
            None if self.typed == text.len() && inner.shows(text) => {
                inner.type_keys(b"\r");
                self.typed += 1;
                true
            }
            None => false,
        }
    }
}

/// Whether the turn of the new conversation is over.
fn ended_turn(journal: &JournalReader) -> bool {
    let new = journal.first("delivery.submitted").map_or("", |decision| decision.conversation.as_str());
    journal.hooks.iter().any(|hook| hook.event == "Stop" && hook.conversation == new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_one_byte_a_key() {
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
