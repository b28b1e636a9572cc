//! A prompt that a person sends with `hopty send --submit`: typed as the continuation prompt is (DESIGN 6.6), and proven.
//!
//! No Enter is blind here either. Nothing is typed into a dialog or behind somebody's draft: that is refused. Unlike a
//! delivery it may be typed while Claude works, which then queues it; and nothing is lost when it fails, so it is tried for
//! half a minute and no longer. The text itself never comes here, only that there is one.
//!
//! A dialog takes keys some 10 ms before it is drawn, and no hook of ours tells in time. Claude does not wait for
//! PermissionRequest; it came up to 190 ms before the dialog was seen, and up to 80 ms behind it. Enters every 10 ms into a busy
//! Claude approved a dialog that was not drawn in 8 of 8 cases on 2.1.197 and on 2.1.240, in 4 of 8 on 2.1.300, in none of 19 on
//! 2.1.329, which takes no Enter for a second behind a dialog's first picture (measured). So the older ones get an Enter only
//! while they are idle. A prompt is sent with one Enter, and with another one only while it still stands in the box.

use serde::{Deserialize, Serialize};

use super::action::{Action, Reply, SendResult, Typing};
use super::key_hold::Keys;
use super::limits::After;
use super::phase::Phase;
use super::screen_facts::PromptBox;
use super::state::State;
use super::{Supervisor, Turn};
use crate::core::time::Stamp;

/// How long a submission may take, in ms (CONTRACT C4).
const LIMIT_MS: u64 = 30_000;
/// How long a draft or a dialog must stand before it is taken for one, in ms: a screen that is just being drawn, or that
/// still shows the prompt before, is neither.
pub(super) const STANDS_MS: u64 = 300;
/// After a key how long a person is taken to be writing, in ms. Keys are reported up to 250 ms late.
pub(super) const TYPING_MS: u64 = 600;
/// How long a hand-over waits for a prompt that is being typed, in ms.
const HAND_OVER_MS: u64 = 5000;
/// The request number of hopty's own prompt: no request has it.
const OWN: u64 = 0;

/// A submission under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Submit {
    /// The request.
    id: u64,
    /// A slash command: nothing will prove it.
    command: bool,
    /// hopty's own prompt to go on, which nobody waits for.
    #[serde(default)]
    own: Option<After>,
    step: Step,
    until: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Step {
    /// An empty box is waited for; since when something is in the way.
    Ready { hindered: Option<Stamp> },
    /// The text was pasted then and is waited for in the box.
    Echo { pasted: Stamp },
    /// Enter was sent, while Claude was at work or not; another one, where it can be justified, is at `again`.
    Enter { pasted: Stamp, again: Stamp, works: bool },
}

impl Supervisor {
    pub(super) fn submit(&mut self, now: Stamp, id: u64, command: bool, out: &mut Vec<Action>) {
        let until = now.after(LIMIT_MS);
        if self.submit.is_some() {
            let reason = "another prompt is being submitted".to_owned();
            out.push(Action::Reply { id, with: Reply::Refused { reason } });
        } else {
            self.submit = Some(Submit { id, command, own: None, step: Step::Ready { hindered: None }, until });
        }
    }

    /// The same for a prompt of hopty's own.
    pub(super) fn submit_own(&mut self, now: Stamp, after: After) {
        let step = Step::Ready { hindered: None };
        self.submit = Some(Submit { id: OWN, command: false, own: Some(after), step, until: now.after(LIMIT_MS) });
    }

    /// Whether hopty's own prompt is on its way.
    pub(super) fn submits_own(&self) -> bool {
        self.submit.as_ref().is_some_and(|submit| submit.own.is_some())
    }

    /// Something changed: the next step, if it can be justified.
    pub(super) fn submit_goes_on(&mut self, now: Stamp, out: &mut Vec<Action>) {
        let Some(submit) = self.submit.clone() else { return };
        let runs = match (&self.phase, submit.step) {
            (Phase::Running, _) | (Phase::Waiting { .. }, Step::Ready { .. }) => true,
            // A hand-over has waited long enough: what is submitted now would be cut short.
            (Phase::Waiting { .. }, _) => self.submit_is_typed(now),
            _ => false,
        };
        match submit.step {
            _ if !runs => {}
            Step::Ready { hindered } => {
                let hindrance = self.hindrance();
                let since = hindrance.as_ref().map(|_| hindered.unwrap_or(now));
                self.set_step(Step::Ready { hindered: since });
                if let (Some(reason), Some(since)) = (hindrance, since) {
                    if now >= since.after(STANDS_MS) {
                        self.refuse_submit(reason, out);
                    }
                } else if self.box_is_free(now) && !self.enter_may_answer() {
                    self.hold_keys(out);
                    let typing = submit.own.map_or(Typing::Text { id: submit.id }, |after| Typing::GoOn { after });
                    out.push(Action::Type { typing });
                    self.set_step(Step::Echo { pasted: now });
                }
            }
            Step::Enter { again, .. } if submit.command && self.command_is_gone(now, again) => {
                self.settle_submit(SendResult::Unknown, out);
            }
            // A dialog came: a person must be able to answer it.
            _ if self.obstacle().is_some() => self.pass_keys(out),
            Step::Echo { pasted } => {
                if self.stands_alone() && !self.enter_may_answer() {
                    self.press(now, pasted, out);
                }
            }
            Step::Enter { pasted, again, .. } => {
                if now >= again && self.stands_alone() && !self.enter_may_answer() {
                    self.press(now, pasted, out);
                }
            }
        }
    }

    fn set_step(&mut self, step: Step) {
        if let Some(submit) = &mut self.submit {
            submit.step = step;
        }
    }

    fn press(&mut self, now: Stamp, pasted: Stamp, out: &mut Vec<Action>) {
        let again = now.after(self.policy.config.delivery.enter_every.ms().max(1));
        out.push(Action::Type { typing: Typing::Enter });
        let works = self.state().state == State::Busy;
        self.set_step(Step::Enter { pasted, again, works });
    }

    /// What must not be typed into.
    fn hindrance(&self) -> Option<String> {
        if let Some(reason) = self.limit_hinders(self.submit.as_ref().is_some_and(|submit| submit.command)) {
            return Some(reason);
        }
        if self.run.stopped {
            return Some("the program is stopped".to_owned());
        }
        match (self.obstacle(), self.run.screen.prompt) {
            (Some(name), _) => Some(format!("Claude shows a dialog ({name})")),
            (None, PromptBox::Draft) => Some("a draft stands in the prompt box".to_owned()),
            _ => None,
        }
    }

    pub(super) fn box_is_free(&self, now: Stamp) -> bool {
        let writes = self.run.typed.is_some_and(|at| now < at.after(TYPING_MS));
        // What was kept during a hand-over comes first.
        let settled = now >= self.phase_began.at.after(STANDS_MS) && self.keys == Keys::Free && !self.run.screen.unread;
        settled && !writes && self.run.screen.prompt == PromptBox::Empty && self.run.screen.paste
    }

    /// All that an Enter needs: our text in the live box, no dialog, nothing unread.
    fn stands_alone(&self) -> bool {
        !self.run.stopped && self.run.screen.prompt == PromptBox::Ours && self.obstacle().is_none() && !self.run.screen.unread
    }

    /// Whether a slash command has left the box: it is empty, or a panel has stood in its place for a while.
    fn command_is_gone(&self, now: Stamp, again: Stamp) -> bool {
        let panel = now >= again && self.run.screen.prompt != PromptBox::Ours;
        !self.run.screen.unread && (panel || self.run.screen.prompt == PromptBox::Empty)
    }

    /// Whether an Enter could answer a dialog that is not drawn yet.
    fn enter_may_answer(&self) -> bool {
        self.policy.submit_when_idle && self.state().state == State::Busy
    }

    /// A hook has the prompt. Where a turn ran when Enter was pressed, and runs still, it waits for that turn's end.
    pub(super) fn submit_hooked(&mut self, turn: Turn, out: &mut Vec<Action>) {
        if let Some(Submit { step: Step::Enter { works, .. }, .. }) = self.submit {
            let queued = works && turn == Turn::Busy;
            self.settle_submit(if queued { SendResult::Queued } else { SendResult::Submitted }, out);
        }
    }

    /// The same by the transcript, where no hook tells when a turn begins.
    pub(super) fn submit_read(&mut self, now: Stamp, queued: bool, out: &mut Vec<Action>) {
        if !queued && !self.run.hooks_seen && self.submit.is_some() {
            self.miss_hooks(out);
            self.set_turn(now, Turn::Busy);
            self.conversation.spoken = true;
        }
        if self.submit.as_ref().is_some_and(|submit| matches!(submit.step, Step::Enter { .. })) {
            self.settle_submit(if queued { SendResult::Queued } else { SendResult::Submitted }, out);
        }
    }

    fn settle_submit(&mut self, result: SendResult, out: &mut Vec<Action>) {
        let Some(submit) = self.submit.take() else { return };
        self.give_keys_back(&submit, out);
        out.push(Action::Reply { id: submit.id, with: Reply::Sent { result } });
        if submit.own.is_some() {
            match result {
                SendResult::Unknown => self.own_prompt_failed("nothing proves that it was submitted", out),
                SendResult::Submitted | SendResult::Queued => self.own_prompt_submitted(out),
            }
        }
    }

    fn refuse_submit(&mut self, reason: String, out: &mut Vec<Action>) {
        let Some(submit) = self.submit.take() else { return };
        self.give_keys_back(&submit, out);
        if submit.own.is_some() {
            self.own_prompt_failed(&reason, out);
        }
        out.push(Action::Reply { id: submit.id, with: Reply::Refused { reason } });
    }

    /// Keys are kept from the paste on, so that they do not mix; a hand-over that has begun keeps them for itself.
    fn give_keys_back(&mut self, submit: &Submit, out: &mut Vec<Action>) {
        let typed = !matches!(submit.step, Step::Ready { .. });
        if typed && self.keys != Keys::Free && matches!(self.phase, Phase::Running | Phase::Waiting { .. }) {
            self.release_keys(false, out);
        }
    }

    /// Ctrl+C while keys are kept for a submission: the person wins, and gets the box back without our text.
    pub(super) fn submit_interrupted(&mut self, out: &mut Vec<Action>) {
        let Some(submit) = &self.submit else { return };
        if !matches!(self.phase, Phase::Running | Phase::Waiting { .. }) {
            return;
        }
        let step = submit.step;
        if matches!(step, Step::Ready { .. }) {
            return;
        }
        if self.keys == Keys::Held {
            out.push(Action::Type { typing: Typing::Interrupt });
        }
        match step {
            Step::Echo { .. } => self.refuse_submit("a person pressed Ctrl+C".to_owned(), out),
            _ => self.settle_submit(SendResult::Unknown, out),
        }
    }

    /// The session is over.
    pub(super) fn submit_closes(&mut self, out: &mut Vec<Action>) {
        if let Some(Submit { id, step, .. }) = self.submit.take() {
            let with = match step {
                Step::Ready { .. } => Reply::Ended,
                Step::Echo { .. } | Step::Enter { .. } => Reply::Sent { result: SendResult::Unknown },
            };
            out.push(Action::Reply { id, with });
        }
    }

    /// After every event: a submission does not outlive its run, nor its time.
    pub(super) fn submit_ends(&mut self, now: Stamp, out: &mut Vec<Action>) {
        let Some(submit) = &self.submit else { return };
        let waits = matches!(submit.step, Step::Ready { .. });
        if !waits && (self.run.pid.is_none() || now >= submit.until) {
            self.settle_submit(SendResult::Unknown, out);
        } else if now >= submit.until {
            let reason = match &self.phase {
                Phase::Running | Phase::Waiting { .. } if self.enter_may_answer() => {
                    "Claude works, and this version might take an Enter for the answer to a question that it is about to ask; wait until it is idle"
                }
                Phase::Running | Phase::Waiting { .. } => "no empty prompt box was drawn in time",
                _ => "a hand-over took too long",
            };
            self.refuse_submit(reason.to_owned(), out);
        }
    }

    /// Whether a prompt stands half typed in the box, so that a hand-over waits a moment.
    pub(super) fn submit_is_typed(&self, now: Stamp) -> bool {
        self.submit.as_ref().is_some_and(|submit| match submit.step {
            Step::Ready { .. } => false,
            Step::Echo { pasted } | Step::Enter { pasted, .. } => now < pasted.after(HAND_OVER_MS),
        })
    }

    pub(super) fn submit_deadlines(&self, due: &mut Vec<Stamp>) {
        let Some(submit) = &self.submit else { return };
        due.push(submit.until);
        match submit.step {
            Step::Ready { hindered } => {
                due.extend(hindered.map(|since| since.after(STANDS_MS)));
                due.push(self.phase_began.at.after(STANDS_MS));
                due.extend(self.run.typed.map(|at| at.after(TYPING_MS)));
            }
            Step::Echo { pasted } => due.push(pasted.after(HAND_OVER_MS)),
            Step::Enter { pasted, again, .. } => due.extend([pasted.after(HAND_OVER_MS), again]),
        }
    }
}
