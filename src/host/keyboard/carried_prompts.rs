//! The person's prompts between two runs: the one that was stopped in the old conversation and begins the
//! fresh one, and those queued behind it. None is lost and none is typed twice: each has one owner at a time,
//! and a prompt that no run gets is saved to a file at the end.

use super::drafts::paste;
use crate::core::claude::carried::Carried;
use crate::core::claude::facts::Facts;
use crate::core::claude::sent::{Sent, Taken as Found};
use crate::core::handoff::operation::Cut;
use crate::core::ids::ConversationId;
use crate::core::supervisor::action::HookAnswer;
use crate::core::supervisor::event::{Event, HookEvent, PromptOf};
use crate::core::supervisor::phase::Phase;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::control::HookCall;
use crate::host::jobs::NoteState;
use crate::sys::clock::Clock;

/// How far in the past the line of a prompt may be dated, in ms: Claude records the time of the Enter.
const EARLIER_MS: i64 = 10_000;

/// The prompts that the next run may get.
#[derive(Debug, Default)]
pub(in crate::host) struct CarriedPrompts {
    /// The prompts in Claude's queue, according to its transcript: a run that continues still has them.
    queued: Vec<String>,
    /// The prompts that Claude was told to drop: only hopty has them.
    stopped: Vec<String>,
    /// The prompt that begins the fresh conversation, and the run in which it was submitted.
    taken: Option<(Carried, u32)>,
    /// The hook call that waits for its prompt's line, and until when.
    awaits: Option<(u64, Stamp)>,
    /// The conversation that began with it.
    given_to: Option<ConversationId>,
}

impl CarriedPrompts {
    /// A handoff is being saved, and these prompts are in Claude's queue. The transcript may still list a
    /// stopped one.
    pub fn found_queued(&mut self, queued: Vec<&str>) {
        let known =
            |prompt: &str| self.taken.iter().any(|(taken, _)| taken.is(prompt)) || has(&self.stopped, prompt);
        self.queued = queued.into_iter().filter(|prompt| !known(prompt)).map(str::to_owned).collect();
    }

    /// The hand-over is cancelled: the old Claude still has its queue.
    pub fn forget_queued(&mut self) {
        self.queued.clear();
    }

    fn stop(&mut self, prompt: &str) {
        self.queued.retain(|queued| !Carried::new(queued).is(prompt));
        if !has(&self.stopped, prompt) {
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

    /// Whether `prompt` is the one that run `run` was to begin with.
    pub fn begins(&self, run: u32, prompt: &str) -> bool {
        self.taken.as_ref().is_some_and(|(taken, of)| run > *of && taken.is(prompt))
    }

    /// Whether a fresh conversation that began with a person's prompt has answered it.
    fn has_answered(&self, conversation: &ConversationId, facts: &Facts) -> bool {
        self.given_to.as_ref() == Some(conversation) && facts.model().is_some()
    }

    /// The prompt that begins the fresh conversation.
    pub fn text(&self) -> Option<&str> {
        self.taken.as_ref().map(|(taken, _)| taken.text())
    }

    /// The first queued prompt, which the record that was just saved includes, begins the fresh conversation.
    /// `run`: the run in which it was submitted.
    pub fn take_first_queued(&mut self, run: u32) {
        if self.taken.is_none() && !self.queued.is_empty() {
            self.taken = Some((Carried::new(&self.queued.remove(0)), run));
        }
    }

    /// The prompt begins nothing: the next run submits it again, or it becomes part of the draft.
    pub(super) fn give_back(&mut self, submit: bool) -> Option<String> {
        let (taken, _) = self.taken.take()?;
        if submit {
            self.stopped.insert(0, taken.text().to_owned());
            return None;
        }
        Some(taken.text().to_owned())
    }

    /// Nobody needs it any more.
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
}

fn has(prompts: &[String], prompt: &str) -> bool {
    prompts.iter().any(|known| Carried::new(known).is(prompt))
}

/// A line of the transcript with this prompt, written from now on.
fn to_be_found(prompt: &Carried) -> Option<Sent> {
    let mut sent = Sent::new(prompt.text()).ok()?;
    let mut from = Clock::wall();
    from.0 -= EARLIER_MS;
    sent.entered(from.rfc3339_ms());
    Some(sent)
}

impl Host {
    /// The hook of a prompt is about to be answered.
    pub(in crate::host) fn prompt_answered(&mut self, call: &HookCall, with: &HookAnswer) {
        let hook = &call.call.hook;
        let of_this = !hook.agent && hook.conversation.as_ref() == self.recorder.supervisor.conversation();
        let persons = matches!(hook.prompt, Some(PromptOf::Person | PromptOf::Sent));
        let Some(prompt) =
            call.call.prompt.as_deref().filter(|_| of_this && hook.event == HookEvent::UserPromptSubmit)
        else {
            return;
        };
        if !matches!(with, HookAnswer::StopTurn { .. }) {
            // Claude's note on its work is older than this.
            self.jobs.note = NoteState::None;
        } else if persons && self.keyboard.carried.taken.is_some() {
            self.keyboard.carried.stop(prompt);
        } else if persons {
            let taken = Carried::new(prompt);
            if let Some(transcript) = self.observer.transcript_mut()
                && let Some(sent) = to_be_found(&taken)
            {
                transcript.facts.seek(sent);
            }
            self.keyboard.carried.taken = Some((taken, self.recorder.supervisor.run()));
        }
    }

    /// A prompt that arrives while its run is being stopped gets no answer.
    pub(in crate::host) fn keep_late_prompt(&mut self, id: u64) {
        let Some(call) = self.control.hooks.get(id) else { return };
        let persons = matches!(call.call.hook.prompt, Some(PromptOf::Person | PromptOf::Sent));
        let prompt = call
            .call
            .prompt
            .clone()
            .filter(|_| persons && call.call.hook.event == HookEvent::UserPromptSubmit);
        if let Some(prompt) = prompt.filter(|_| matches!(self.phase(), Phase::Stopping { .. })) {
            self.keyboard.carried.stop(&prompt);
        }
    }

    /// Whether the line of the stopped prompt is there, or its time is up.
    pub(in crate::host) fn tell_prompt_line(&mut self, now: Stamp) {
        let Some((id, until)) = self.keyboard.carried.awaits else { return };
        let transcript = self.observer.whole_transcript_mut();
        let found = transcript.is_some_and(|transcript| transcript.facts.take_found().is_some());
        if found || until <= now {
            self.keyboard.carried.awaits = None;
            self.events.push_back(Event::Lines { id, found, cut: Cut::Free });
        }
    }

    /// A fresh conversation begins: looks for the prompt in its transcript.
    pub(in crate::host) fn seek_carried(&mut self) {
        let run = self.recorder.supervisor.run();
        if let Some((taken, _)) = self.keyboard.carried.taken.as_ref().filter(|(_, of)| run > *of)
            && let (Some(sent), Some(transcript)) = (to_be_found(taken), self.observer.transcript_mut())
        {
            transcript.facts.seek(sent);
        }
    }

    /// The transcript's evidence for the prompt that began the conversation.
    pub(in crate::host) fn tell_carried(&mut self) {
        let run = self.recorder.supervisor.run();
        let Some(transcript) = self.observer.transcript_mut() else { return };
        let conversation = transcript.conversation.clone();
        let on_its_way = self.keyboard.carried.taken.as_ref().is_some_and(|(_, of)| run > *of);
        if on_its_way && transcript.facts.take_found() == Some(Found::Prompt) {
            self.events.push_back(Event::Prompted { conversation });
        } else if self.keyboard.carried.has_answered(&conversation, &transcript.facts) {
            self.keyboard.carried.given_to = None;
            self.events.push_back(Event::Answered { conversation });
        }
    }

    /// Types the prompt that begins the fresh conversation. If nobody has it any more, types the prompt that
    /// names the handoff instead.
    pub(in crate::host) fn type_carried(&mut self) {
        let text = self
            .keyboard
            .carried
            .text()
            .map(str::to_owned)
            .or_else(|| self.jobs.brief.as_ref().map(|frame| frame.prompt(true)));
        let Some(text) = text else { return };
        if let Some(frame) = &mut self.jobs.brief {
            frame.typed = Some(text.clone());
        }
        self.type_in(&paste(&text));
    }

    /// The fresh conversation provably has it.
    pub(in crate::host) fn carried_submitted(&mut self, conversation: Option<&ConversationId>) {
        if self.keyboard.carried.taken.take().is_some() {
            self.keyboard.carried.given_to = conversation.cloned();
        }
        self.tell_carried();
    }
}
