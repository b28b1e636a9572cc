//! The person's prompts between two runs: the carried one, which was stopped in the old conversation and
//! begins the fresh one, and those queued after it. None is lost and none is typed twice: each has one owner
//! at a time, and a prompt that no run gets is saved to a file at the end.

use crate::core::claude::carry_over::CarriedPrompt;
use crate::core::claude::pasted_prompt::{PromptPlace as Found, SentPrompt};
use crate::core::handoff::operation::Cut;
use crate::core::ids::ConversationId;
use crate::core::supervisor::event::Event;
use crate::core::time::{Stamp, WallTime};
use crate::host::observer::TranscriptWatch;

/// How far in the past the line of a prompt may be dated, in ms: Claude records the time of the Enter.
const EARLIER_MS: i64 = 10_000;

/// The prompts that the next run may get.
#[derive(Debug, Default)]
pub(in crate::host) struct CarriedPrompts {
    /// The prompts in Claude's queue, according to its transcript: a cancelled hand-over leaves them there.
    queued: Vec<String>,
    /// The run with that queue.
    queued_in: u32,
    /// The prompts that Claude was told to drop, so that only hopty has them.
    stopped: Vec<String>,
    /// The prompt that begins the fresh conversation, and the run in which it was submitted.
    taken: Option<(CarriedPrompt, u32)>,
    /// The hook call that waits for its prompt's line, and until when.
    awaits: Option<(u64, Stamp)>,
    /// The conversation that began with it.
    given_to: Option<ConversationId>,
}

impl CarriedPrompts {
    /// A handoff of run `run` is being saved, and these prompts are in Claude's queue. The transcript may
    /// still list a stopped one. Prompts from the queue of an earlier run are hopty's alone.
    pub fn found_queued(&mut self, run: u32, queued: Vec<&str>) {
        if std::mem::replace(&mut self.queued_in, run) != run {
            self.stopped.append(&mut self.queued);
        }
        let known =
            |prompt: &str| self.taken.iter().any(|(taken, _)| taken.is(prompt)) || has(&self.stopped, prompt);
        // The fresh conversation is what `/compact` asks for.
        let compacts = |prompt: &str| prompt.split_whitespace().next() == Some("/compact");
        let queued = queued.into_iter().filter(|prompt| !known(prompt) && !compacts(prompt));
        self.queued = queued.map(str::to_owned).collect();
    }

    /// The hand-over of run `run` is cancelled: its Claude still has its queue.
    pub fn forget_queued(&mut self, run: u32) {
        if self.queued_in == run {
            self.queued.clear();
        }
    }

    /// The hook's answer stops a prompt before Claude works on it. The first such prompt begins the fresh
    /// conversation: returns what to look for in the transcript. `run`: the run in which it was submitted.
    pub fn stop_first(&mut self, prompt: &str, run: u32, now: WallTime) -> Option<SentPrompt> {
        self.forget_stale(run);
        if self.taken.is_some() {
            self.stop(prompt);
            return None;
        }
        let taken = CarriedPrompt::new(prompt);
        let sought = to_be_found(&taken, now);
        self.taken = Some((taken, run));
        sought
    }

    /// Forgets a prompt that was submitted before run `run` and has not begun its conversation: the person
    /// has it back.
    fn forget_stale(&mut self, run: u32) {
        self.taken.take_if(|(_, of)| *of < run);
    }

    pub fn stop(&mut self, prompt: &str) {
        self.queued.retain(|queued| !CarriedPrompt::new(queued).is(prompt));
        let is_taken = self.taken.as_ref().is_some_and(|(taken, _)| taken.is(prompt));
        if !is_taken && !has(&self.stopped, prompt) {
            self.stopped.push(prompt.to_owned());
        }
    }

    /// The prompts for the next run, in order; they come before the draft.
    pub fn take(&mut self) -> Vec<String> {
        let mut prompts = std::mem::take(&mut self.stopped);
        prompts.append(&mut self.queued);
        prompts
    }

    /// The prompts that no run has, in order.
    pub fn unsent(&self) -> impl Iterator<Item = &str> {
        let taken = self.taken.iter().map(|(taken, _)| taken.text());
        taken.chain(self.stopped.iter().chain(&self.queued).map(String::as_str))
    }

    /// Whether `prompt` is the one with which run `run` was to begin.
    pub fn begins(&self, run: u32, prompt: &str) -> bool {
        self.taken.as_ref().is_some_and(|(taken, of)| run > *of && taken.is(prompt))
    }

    /// The prompt that begins the fresh conversation.
    pub fn text(&self) -> Option<&str> {
        self.taken.as_ref().map(|(taken, _)| taken.text())
    }

    /// Makes the first queued prompt, which the record that was just saved includes, begin the fresh
    /// conversation. `run`: the run in which it was submitted.
    pub fn take_first_queued(&mut self, run: u32) {
        self.forget_stale(run);
        if self.taken.is_none() && !self.queued.is_empty() {
            self.taken = Some((CarriedPrompt::new(&self.queued.remove(0)), run));
        }
    }

    /// Makes the first prompt of the person's arguments, which no run has taken, begin the fresh
    /// conversation. `run`: the run that was started with it.
    pub fn take_argument(&mut self, prompt: &str, run: u32) {
        self.forget_stale(run);
        self.taken.get_or_insert_with(|| (CarriedPrompt::new(prompt), run));
    }

    /// Gives up the carried prompt: the next run submits it again, or it becomes part of the draft.
    pub(super) fn give_back(&mut self, submit: bool) -> Option<String> {
        let (taken, _) = self.taken.take()?;
        if submit {
            self.stopped.insert(0, taken.text().to_owned());
            return None;
        }
        Some(taken.text().to_owned())
    }

    /// Drops the carried prompt.
    pub fn drop_taken(&mut self) {
        self.taken = None;
    }

    /// Hook call `id` waits for the prompt's line in the transcript.
    pub fn await_line(&mut self, id: u64, until: Stamp) {
        self.awaits = Some((id, until));
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.awaits.map(|(_, until)| until)
    }

    /// Reports that the line has been found, or that time is up. `whole`: the transcript, if it has been read
    /// to its end.
    pub fn report_line(&mut self, now: Stamp, whole: Option<&mut TranscriptWatch>) -> Option<Event> {
        let (id, until) = self.awaits?;
        let found = whole.is_some_and(|transcript| transcript.facts.proof.take_found().is_some());
        if !found && until > now {
            return None;
        }
        self.awaits = None;
        Some(Event::Lines { id, found, cut: Cut::Free })
    }

    /// What to look for in the transcript of the fresh conversation of run `run`.
    pub fn sought(&self, run: u32, now: WallTime) -> Option<SentPrompt> {
        let (taken, _) = self.taken.as_ref().filter(|(_, of)| run > *of)?;
        to_be_found(taken, now)
    }

    /// The fresh conversation provably has its carried prompt. `hoptys`: it was part of hopty's own prompt,
    /// which the transcript shows by its text.
    pub fn submitted(&mut self, conversation: Option<&ConversationId>, hoptys: bool) {
        if self.taken.take().is_some() || !hoptys {
            self.given_to = conversation.cloned();
        }
    }

    /// What the transcript says about the carried prompt. `run`: the current run.
    pub fn report(&mut self, run: u32, transcript: Option<&mut TranscriptWatch>) -> Option<Event> {
        let TranscriptWatch { conversation, facts, .. } = transcript?;
        let conversation = conversation.clone();
        let on_its_way = self.taken.as_ref().is_some_and(|(_, of)| run > *of);
        if on_its_way && facts.proof.take_found() == Some(Found::Prompt) {
            return Some(Event::Prompted { conversation });
        }
        let answered = self.given_to.as_ref() == Some(&conversation) && facts.window.model().is_some();
        answered.then(|| {
            self.given_to = None;
            Event::Answered { conversation }
        })
    }
}

fn has(prompts: &[String], prompt: &str) -> bool {
    prompts.iter().any(|known| CarriedPrompt::new(known).is(prompt))
}

/// What to look for in the transcript: a line with this prompt, written from now on.
fn to_be_found(prompt: &CarriedPrompt, WallTime(now): WallTime) -> Option<SentPrompt> {
    let mut sent = SentPrompt::new(prompt.text()).ok()?;
    sent.entered(WallTime(now - EARLIER_MS).rfc3339_ms());
    Some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::tasks::Tasks;

    const NOW: WallTime = WallTime(1_800_000_000_000);

    #[test]
    fn the_first_stopped_prompt_begins_the_fresh_conversation_and_the_others_follow() {
        let mut carried = CarriedPrompts::default();
        assert!(carried.stop_first("first", 1, NOW).is_some());
        assert!(carried.stop_first("second", 1, NOW).is_none());
        assert!(!carried.begins(1, "first") && carried.begins(2, "first") && !carried.begins(2, "second"));
        assert!(carried.sought(1, NOW).is_none() && carried.sought(2, NOW).is_some());
        carried.submitted(None, false);
        assert_eq!(carried.unsent().collect::<Vec<_>>(), ["second"]);
        assert_eq!(carried.take(), ["second"]);
    }

    #[test]
    fn a_prompt_that_was_left_in_an_earlier_fresh_conversation_is_not_given_again() {
        let mut carried = CarriedPrompts::default();
        carried.stop_first("first", 1, NOW);
        assert!(carried.stop_first("second", 2, NOW).is_some());
        assert_eq!(carried.unsent().collect::<Vec<_>>(), ["second"]);
        carried.found_queued(3, vec!["third"]);
        carried.take_first_queued(3);
        assert_eq!(carried.text(), Some("third"));
        carried.found_queued(3, vec!["fourth"]);
        carried.take_first_queued(3);
        assert_eq!(carried.unsent().collect::<Vec<_>>(), ["third", "fourth"], "of the same run");
    }

    #[test]
    fn a_compaction_that_waits_in_the_queue_is_not_for_the_fresh_conversation() {
        let mut carried = CarriedPrompts::default();
        carried.found_queued(1, vec!["/compact keep the rules", "/compact", "/compactor"]);
        carried.take_first_queued(1);
        assert_eq!(carried.unsent().collect::<Vec<_>>(), ["/compactor"]);
    }

    /// Its hook runs while its run is being stopped.
    #[test]
    fn a_first_prompt_of_the_arguments_is_kept_once() {
        let mut carried = CarriedPrompts::default();
        carried.take_argument("first", 1);
        carried.stop("first");
        carried.stop("second");
        assert_eq!(carried.unsent().collect::<Vec<_>>(), ["first", "second"]);
        assert!(carried.begins(2, "first"));
        carried.take_argument("first", 2);
        assert!(!carried.begins(2, "first") && carried.begins(3, "first"), "the next run gets it");
    }

    #[test]
    fn the_answer_to_a_prompt_that_is_not_hopty_s_is_reported_once() {
        let of: ConversationId = "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b".parse().unwrap();
        for hoptys in [false, true] {
            let mut carried = CarriedPrompts::default();
            let mut transcript = TranscriptWatch::new(of.clone(), &Tasks::default());
            carried.submitted(Some(&of), hoptys);
            assert_eq!(carried.report(1, Some(&mut transcript)), None, "no answer yet");
            let line = r#"{"type": "assistant", "uuid": "u", "message": {"role": "assistant", "id": "m",
                "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "done"}]}}"#;
            transcript.facts.feed(line.replace('\n', " ").as_bytes());
            let answered = carried.report(1, Some(&mut transcript)).is_some();
            assert_eq!(answered, !hoptys);
            assert_eq!(carried.report(1, Some(&mut transcript)), None);
        }
    }

    #[test]
    fn a_hook_waits_for_the_line_of_its_prompt_and_no_longer_than_its_time() {
        let mut carried = CarriedPrompts::default();
        assert_eq!(carried.report_line(Stamp(0), None), None);
        carried.await_line(7, Stamp(100));
        let of = "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b".parse().unwrap();
        let mut transcript = TranscriptWatch::new(of, &Tasks::default());
        assert_eq!(carried.report_line(Stamp(99), Some(&mut transcript)), None);
        let late = Event::Lines { id: 7, found: false, cut: Cut::Free };
        assert_eq!(carried.report_line(Stamp(100), None), Some(late));
        assert_eq!(carried.deadline(), None);
    }
}
