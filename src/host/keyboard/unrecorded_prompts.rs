//! Prompts that Claude has taken and not yet written to its transcript. It writes one when all hooks for
//! it have answered; if it dies before, only hopty has the prompt (measured on 2.1.332).

use crate::core::claude::carry_over::CarriedPrompt;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::time::Stamp;

/// How long the person's own hooks may keep a prompt, in ms: Claude's limit for a hook. One that is not
/// in the transcript by then was refused by a hook.
const HOOKS_MS: u64 = 60_000;

/// The prompts of the current run that may not be in its transcript.
#[derive(Debug, Default)]
pub(in crate::host) struct UnrecordedPrompts(Vec<UnrecordedPrompt>);

#[derive(Debug)]
struct UnrecordedPrompt {
    text: String,
    at: Stamp,
    /// How many prompts the transcript had when the hook was called.
    recorded_before: u64,
}

impl UnrecordedPrompts {
    /// A hook reports a prompt of a person. `facts`: the transcript, as far as it was read before.
    pub fn submitted(&mut self, text: &str, facts: Option<&TranscriptFacts>, now: Stamp) {
        let recorded_before = facts.map_or(0, |facts| facts.prompts.count());
        self.0.push(UnrecordedPrompt { text: text.to_owned(), at: now, recorded_before });
    }

    /// More of the transcript was read: forgets the prompts that are in it.
    pub fn read(&mut self, facts: &TranscriptFacts) {
        self.0.retain(|prompt| {
            let own = CarriedPrompt::new(&prompt.text);
            let new = facts.prompts.count().saturating_sub(prompt.recorded_before);
            let new = facts.prompts.iter().rev().take(usize::try_from(new).unwrap_or(usize::MAX));
            let mut recorded = new.map(|line| line.text.as_str()).chain(facts.queue.iter());
            !recorded.any(|line| own.is(line))
        });
    }

    /// Claude has answered, or another conversation begins in the same run.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes what the run that just ended has not recorded, in order.
    pub fn take(&mut self, now: Stamp) -> Vec<String> {
        let taken = std::mem::take(&mut self.0).into_iter();
        taken.filter(|prompt| now.since(prompt.at) <= HOOKS_MS).map(|prompt| prompt.text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(lines: &[&str]) -> TranscriptFacts {
        let mut facts = TranscriptFacts::default();
        for line in lines {
            facts.feed(line.as_bytes());
        }
        facts
    }

    fn prompt(text: &str) -> String {
        format!(r#"{{"type":"user","uuid":"{text}","message":{{"role":"user","content":"{text}"}}}}"#)
    }

    #[test]
    fn a_prompt_is_kept_until_the_transcript_has_it() {
        let before = transcript(&[&prompt("go on")]);
        let mut prompts = UnrecordedPrompts::default();
        prompts.submitted("go on", Some(&before), Stamp(0));
        prompts.submitted("then test", Some(&before), Stamp(10));
        prompts.read(&before);
        assert_eq!(prompts.0.len(), 2, "the same words, earlier, are another prompt");
        prompts.read(&transcript(&[&prompt("go on"), &prompt("go on")]));
        assert_eq!(prompts.take(Stamp(20)), ["then test"]);
        assert!(prompts.take(Stamp(20)).is_empty(), "only once");
    }

    #[test]
    fn a_queued_prompt_is_recorded() {
        let mut prompts = UnrecordedPrompts::default();
        prompts.submitted("then test", None, Stamp(0));
        prompts.read(&transcript(&[
            r#"{"type":"queue-operation","operation":"enqueue","content":"then test"}"#,
        ]));
        assert!(prompts.take(Stamp(0)).is_empty());
    }

    #[test]
    fn a_prompt_that_a_hook_refused_long_ago_does_not_come_back() {
        let mut prompts = UnrecordedPrompts::default();
        prompts.submitted("refused", None, Stamp(0));
        prompts.submitted("just now", None, Stamp(HOOKS_MS));
        assert_eq!(prompts.take(Stamp(HOOKS_MS + 1)), ["just now"]);
    }
}
