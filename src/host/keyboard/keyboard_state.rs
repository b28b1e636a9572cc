//! Input that waits to be typed, and where each part of it is.

use std::path::PathBuf;

use super::carried_prompts::CarriedPrompts;
use super::drafts;
use super::drafts::PromptDraft;
use super::held_input::HeldInput;
use super::send_queue::SendQueue;
use super::unrecorded_prompts::UnrecordedPrompts;
use super::unsent_file::keep_unsent;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::event::PromptOf;
use crate::core::supervisor::phase::Phase;
use crate::core::time::Stamp;

/// Input that waits to be typed. Each prompt and key has exactly one owner until a run has read it or it is
/// saved to a file.
#[derive(Debug)]
pub struct Keyboard {
    pub held: HeldInput,
    pub draft: PromptDraft,
    pub queue: SendQueue,
    pub carried: CarriedPrompts,
    pub unrecorded: UnrecordedPrompts,
    /// The run in which the last prompt was submitted.
    pub prompted: Option<u32>,
    /// At the end: a sentence that says where the unsent input was saved.
    pub unsent: Option<String>,
}

impl Keyboard {
    /// Only Claude has a prompt box whose draft outlives it.
    pub fn new(agent: ProgramKind) -> Self {
        Keyboard {
            held: HeldInput::default(),
            draft: PromptDraft::new(agent == ProgramKind::Claude),
            queue: SendQueue::default(),
            carried: CarriedPrompts::default(),
            unrecorded: UnrecordedPrompts::default(),
            prompted: None,
            unsent: None,
        }
    }

    /// The author of the prompt that a hook reports, if it is not Claude itself: `raw` as Claude sent it,
    /// `prompt` as it was read. `run`: the run, if it belongs to the followed conversation.
    ///
    /// A prompt that the model scheduled looks like a person's: the call has no origin (measured on 2.1.332,
    /// CronCreate and ScheduleWakeup), and the transcript, which has one, can be written by any program. So a
    /// prompt is a person's only if a person has just pressed Enter after it, or if it begins its run: it may
    /// be an argument, or have been in the box of a resumed conversation.
    pub fn author_of(
        &self,
        raw: Option<&str>,
        prompt: Option<&str>,
        run: Option<u32>,
        now: Stamp,
    ) -> PromptOf {
        if raw.is_some_and(|prompt| self.queue.is(prompt)) {
            return PromptOf::Sent;
        }
        match run.zip(prompt) {
            Some((run, prompt)) if self.carried.begins(run, prompt) => PromptOf::Ours,
            Some((run, prompt)) if self.prompted == Some(run) && !self.draft.was_entered(prompt, now) => {
                PromptOf::Scheduled
            }
            _ => PromptOf::Person,
        }
    }

    /// Whether the draft in the box of a run that ended unexpectedly would be lost.
    pub fn would_lose_draft(&self, phase: &Phase) -> bool {
        // An earlier saved draft has not been typed yet. A script's text is not a person's.
        let is_saved = !self.draft.saved().is_empty();
        drafts::leaves_draft(phase) && !self.queue.is_submitting() && !is_saved
    }

    /// The run has ended with these prompts in its queue, which no transcript gives to the next run:
    /// they stand before the draft, and are not submitted.
    pub fn keep_queue(&mut self, mut queued: Vec<String>) {
        self.draft.take_foreign(&mut queued);
        if !queued.is_empty() {
            self.draft.put_first(&(queued.join("\n") + "\n"));
        }
    }

    /// A hand-over is over. `with_draft`: the new run gets the prompts and the draft of the old one first.
    pub fn release(&mut self, now: Stamp, with_draft: bool) {
        if with_draft {
            self.held.put_first(self.carried.take(), &self.draft.take_saved());
        }
        self.held.release(now);
    }

    /// When the next piece of a script's input is due, if it waits only for time.
    pub fn sends_deadline(&self, now: Stamp) -> Option<Stamp> {
        self.queue.deadline(now).filter(|_| !self.held.must_wait())
    }

    /// Gives the person the carried prompt back: submitted again, or as a draft.
    pub fn return_prompt(&mut self, submit: bool) {
        if let Some(prompt) = self.carried.give_back(submit) {
            self.draft.put_first(&prompt);
        }
    }

    /// At the end of a session, adds input that no run received to a file (`own`, if that outlives the
    /// session).
    pub fn keep_unsent(&mut self, own: Option<PathBuf>) {
        let mut unsent: Vec<u8> =
            self.carried.unsent().flat_map(|prompt| format!("{prompt}\n").into_bytes()).collect();
        unsent.extend_from_slice(self.draft.saved());
        unsent.extend(self.held.unsent());
        self.unsent = keep_unsent(&unsent, own).or(self.unsent.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::input::InputClass;
    use crate::ipc::message::Send;

    #[test]
    fn what_no_run_has_got_is_kept_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("unsent.txt");
        let mut keyboard = Keyboard::new(ProgramKind::Claude);
        keyboard.carried.found_queued(1, vec!["queued"]);
        keyboard.draft.note(b"draft ", Stamp(0));
        keyboard.draft.save(1, None, &|_| None);
        keyboard.held.hold();
        keyboard.held.push(InputClass::Typed, b"held".to_vec());
        keyboard.keep_unsent(Some(own.clone()));
        assert_eq!(std::fs::read_to_string(&own).unwrap(), "queued\ndraft held");
        keyboard.release(Stamp(0), true);
        let own = dir.path().join("later.txt");
        keyboard.keep_unsent(Some(own.clone()));
        assert_eq!(std::fs::read_to_string(&own).unwrap(), "queued\ndraft held");
    }

    #[test]
    fn a_prompt_has_one_author() {
        let mut keyboard = Keyboard::new(ProgramKind::Claude);
        let sent = keyboard.queue.next_prompt(&Send {
            text: Some("sent".to_owned()),
            submit: true,
            ..Send::default()
        });
        keyboard.queue.submit(1, sent.unwrap(), false);
        keyboard.carried.found_queued(1, vec!["carried"]);
        keyboard.carried.take_first_queued(1);
        let author = |prompt, run| keyboard.author_of(Some(prompt), Some(prompt), run, Stamp(0));
        assert_eq!(author("sent", Some(2)), PromptOf::Sent);
        assert_eq!(author("carried", Some(2)), PromptOf::Ours);
        assert_eq!(author("carried", Some(1)), PromptOf::Person, "the run in which it was submitted");
        assert_eq!(author("carried", None), PromptOf::Person, "another conversation");
        assert_eq!(author("typed", Some(2)), PromptOf::Person);
    }

    #[test]
    fn a_prompt_without_an_enter_behind_it_is_no_person_s() {
        let mut keyboard = Keyboard::new(ProgramKind::Claude);
        let author = |keyboard: &Keyboard, now| keyboard.author_of(Some("x"), Some("x"), Some(1), Stamp(now));
        assert_eq!(author(&keyboard, 0), PromptOf::Person, "an argument begins the run");
        keyboard.prompted = Some(1);
        assert_eq!(author(&keyboard, 0), PromptOf::Scheduled);
        for (typed, expected) in [
            (&b"x\r"[..], PromptOf::Person),
            (b"\x1b[200~x\x1b[201~\r", PromptOf::Person),
            (b"paint the shed\r", PromptOf::Scheduled),
            (b"\x1b[200~pasted\x1b[201~\r", PromptOf::Scheduled),
            (b"see @x\r", PromptOf::Person),
            (b"\x1b[A\r", PromptOf::Person),
            (b"a draft", PromptOf::Scheduled),
            (b"\r", PromptOf::Scheduled),
            (b"/model\r", PromptOf::Scheduled),
            (b"!ls\r", PromptOf::Scheduled),
        ] {
            keyboard.draft = PromptDraft::new(true);
            keyboard.draft.note(typed, Stamp(1000));
            let shown = String::from_utf8_lossy(typed);
            assert_eq!(author(&keyboard, 1500), expected, "{shown:?}");
            // A text that was certainly this prompt may have waited in Claude's queue.
            let is_exact = expected == PromptOf::Person && !shown.contains(['@', 'A']);
            let later = if is_exact { PromptOf::Person } else { PromptOf::Scheduled };
            assert_eq!(author(&keyboard, 60_000), later, "{shown:?}, long ago");
        }
        keyboard.draft.note(b"/review\r", Stamp(2000));
        let command = keyboard.author_of(Some("/review"), Some("/review"), Some(1), Stamp(2100));
        assert_eq!(command, PromptOf::Person);
        keyboard.draft.note(b"x\r", Stamp(2000));
        keyboard.draft.prompt_was_submitted(Some("x"), Stamp(2050));
        assert_eq!(author(&keyboard, 2100), PromptOf::Scheduled, "another prompt was submitted by it");
    }

    #[test]
    fn a_prompt_that_comes_back_is_submitted_again_or_stands_in_the_draft() {
        let mut keyboard = Keyboard::new(ProgramKind::Claude);
        for (submit, draft) in [(true, &b""[..]), (false, b"\x1b[200~first\x1b[201~")] {
            keyboard.carried.found_queued(1, vec!["first", "second"]);
            keyboard.carried.take_first_queued(1);
            keyboard.return_prompt(submit);
            assert_eq!(keyboard.draft.saved(), draft);
            assert_eq!(
                keyboard.carried.take(),
                if submit { vec!["first", "second"] } else { vec!["second"] }
            );
        }
    }
}
