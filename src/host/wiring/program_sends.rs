//! What scripts and hopty type into the program.

use super::program::MUTE_READS;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::reported_state::SessionState;
use crate::host::Host;
use crate::host::child::ChildRun;
use crate::host::keyboard::script_keys;
use crate::ipc::message::{Code, RequestError, RequestId, Send};
use crate::sys::clock::Clock;

impl Host {
    pub(super) fn try_send(&mut self, request_id: RequestId, wanted: &Send) -> Result<(), RequestError> {
        if self.exit.is_some() {
            return Err(RequestError::session_has_ended());
        }
        if wanted.submit && self.session.is_claude() {
            let sent = self.keyboard.queue.next_prompt(wanted)?;
            let (id, command) = (self.control.register_request(request_id), sent.is_command());
            self.keyboard.queue.submit(id, sent, wanted.mark);
            self.child.force_look();
            // The decision needs the current content of the box.
            self.read_claude_screen();
            self.events.push_back(Event::Submit { id, command });
            return Ok(());
        }
        let modes = self.child.input_modes();
        self.keyboard.queue.add(request_id, wanted, modes)?;
        if let Some(at) = self.recorder.supervisor.dialog_takes_keys_at() {
            self.keyboard.queue.wait_until(at);
        }
        self.type_sends();
        Ok(())
    }

    /// An `answer` request: types the key of an option, but only into the dialog that the person saw.
    pub(super) fn try_answer(
        &mut self,
        request_id: RequestId,
        dialog: &str,
        option: u8,
    ) -> Result<(), RequestError> {
        self.read_claude_screen();
        self.settle();
        if !(1..=9).contains(&option) {
            let what = "an option is a number from 1 to 9";
            return Err(RequestError::new(Code::BadRequest, what, "see docs/PROTOCOL.md"));
        }
        if self.recorder.supervisor.state().waiting_for.as_deref() != Some(dialog) {
            let hint = "`hopty status` shows what it waits for";
            return Err(RequestError::new(Code::Refused, "it no longer waits for this answer", hint));
        }
        self.events.push_back(Event::Choice { dialog: dialog.to_owned(), option });
        let keys = Some(vec![option.to_string()]);
        self.try_send(request_id, &Send { keys, ..Send::default() })
    }

    /// Presses Enter if the prompt is still alone in the box now: Claude may work, and a dialog may have
    /// appeared since the supervisor checked.
    pub(in crate::host) fn enter_sent(&mut self) {
        (0..MUTE_READS).all(|_| self.read_output());
        let shown = self.child.view(&mut self.events).and_then(|view| view.prompt_box);
        let text = self.keyboard.queue.text();
        if text.is_some_and(|text| shown.is_some_and(|shown| shown.holds(text))) {
            self.observer.seek(self.keyboard.queue.entered(Clock::wall().rfc3339_ms()));
            self.mark_prompt();
            let text = self.keyboard.queue.text().unwrap_or_default().as_bytes().to_vec();
            self.note_claude_works();
            self.keyboard.draft.was_submitted(text, self.clock.now());
            self.type_own(b"\r");
        }
    }

    /// Tells the draft whether Claude works: a prompt submitted now may wait in Claude's queue.
    fn note_claude_works(&mut self) {
        if self.recorder.supervisor.state().state != SessionState::Idle {
            self.keyboard.draft.claude_works();
        }
    }

    /// Takes the mark of the prompt being submitted: before its first Enter.
    pub(super) fn mark_prompt(&mut self) {
        let (child, seq, now) = (&mut self.child, self.recorder.supervisor.seq(), self.clock.now());
        self.keyboard.queue.mark_prompt(|| child.take_mark(seq, now));
    }

    /// Types the due input of scripts.
    pub(in crate::host) fn type_sends(&mut self) {
        let now = self.clock.now();
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        while let Some(request_id) = self.keyboard.queue.first() {
            // The requester is gone, so the request is dropped.
            if self.control.connection(request_id.connection).is_none() {
                self.keyboard.queue.drop_first();
                continue;
            }
            if self.exit.is_some() {
                self.keyboard.queue.drop_first();
                self.refuse(request_id, RequestError::session_has_ended());
                continue;
            }
            let reads = self.child.run.as_ref().is_some_and(ChildRun::takes_input);
            if !reads || self.keyboard.held.must_wait() || in_a_sequence {
                return;
            }
            let mut mark = None;
            if self.keyboard.queue.wants_mark(now) {
                // Output that is already written belongs to the screen before the mark.
                (0..MUTE_READS).all(|_| self.read_output());
                mark = self.child.take_mark(self.recorder.supervisor.seq(), self.clock.now());
            }
            let Some((part, done)) = self.keyboard.queue.next(now) else { return };
            self.events.extend(script_keys(&part));
            self.note_claude_works();
            self.keyboard.draft.note(&part, now);
            self.notifier.queue.sent();
            self.type_own(&part);
            if let Some(typed) = done {
                self.answer(request_id, Ok(typed.answer(self.recorder.supervisor.seq(), mark)));
            }
        }
    }
}
