//! `hopty send`: from the request to what is typed, and hopty's own prompts, which take the same way.

use crate::core::claude::pasted_prompt::{PromptPlace, SentPrompt};
use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::host::Host;
use crate::host::child::ChildRun;
use crate::host::keyboard::{paste, script_keys};
use crate::ipc::message::{Code, Failure, Send, error_line, ok_line};
use crate::sys::clock::Clock;

/// How many reads of output may precede an Enter or a mark.
const READS: u32 = 16;

impl Host {
    /// A `send` request.
    pub(super) fn send_request(&mut self, connection: u64, request: u64, wanted: &Send) {
        if let Err(failure) = self.try_send(connection, request, wanted) {
            self.send(connection, &error_line(request, &failure));
        }
    }

    /// An `answer` request: the key of an option, typed only into the dialog that the person saw.
    pub(super) fn answer_request(&mut self, connection: u64, request: u64, dialog: &str, option: u8) {
        self.look_at_screen();
        self.settle();
        let done = if !(1..=9).contains(&option) {
            Err(Failure::new(Code::BadRequest, "an option is a number from 1 to 9", "see docs/PROTOCOL.md"))
        } else if self.recorder.supervisor.state().waiting_for.as_deref() != Some(dialog) {
            let hint = "`hopty status` shows what it waits for";
            Err(Failure::new(Code::Refused, "it no longer waits for this answer", hint))
        } else {
            self.events.push_back(Event::Choice { dialog: dialog.to_owned(), option });
            let keys = Some(vec![option.to_string()]);
            self.try_send(connection, request, &Send { keys, ..Send::default() })
        };
        if let Err(failure) = done {
            self.send(connection, &error_line(request, &failure));
        }
    }

    fn try_send(&mut self, connection: u64, request: u64, wanted: &Send) -> Result<(), Failure> {
        if self.exit.is_some() {
            return Err(Failure::new(Code::Ended, "the session has ended", "`hopty why` says how it ended"));
        }
        if wanted.submit && self.session.launch.agent == Agent::Claude {
            let sent = self.keyboard.queue.next_prompt(wanted)?;
            let (id, command) = (self.control.owe(connection, request), sent.is_command());
            self.begin_submit(id, sent);
            // The box must be read before the decision.
            self.look_at_screen();
            self.events.push_back(Event::Submit { id, command });
            return Ok(());
        }
        let modes = self.child.input_modes();
        self.keyboard.queue.add((connection, request), wanted, modes)?;
        self.type_sends();
        Ok(())
    }

    fn begin_submit(&mut self, number: u64, sent: SentPrompt) {
        self.keyboard.queue.submit(number, sent);
        if let Some(run) = &mut self.child.run {
            run.look_anew();
        }
    }

    /// Types a prompt of hopty's own, without Enter; a prompt that a person has sent meanwhile goes first.
    pub(in crate::host) fn paste_own(&mut self, text: &str) {
        if self.keyboard.queue.is_submitting() {
            return;
        }
        if let Ok(sent) = SentPrompt::new(text) {
            self.begin_submit(0, sent);
            self.paste_sent();
        }
    }

    /// Types the prompt, without Enter.
    pub(in crate::host) fn paste_sent(&mut self) {
        if let Some(text) = self.keyboard.queue.text() {
            let bytes = paste(text);
            self.type_in(&bytes);
        }
    }

    /// Presses Enter if, at this very moment, the prompt is still alone in the box: Claude may work, and a
    /// dialog may have appeared since the supervisor checked.
    pub(in crate::host) fn enter_sent(&mut self) {
        (0..READS).all(|_| self.read_output());
        let shown = self.view().and_then(|view| view.prompt_box);
        let text = self.keyboard.queue.text();
        if !text.is_some_and(|text| shown.is_some_and(|shown| shown.holds(text))) {
            return;
        }
        if let (Some(sent), Some(transcript)) =
            (self.keyboard.queue.entered(Clock::wall().rfc3339_ms()), self.observer.transcript_mut())
        {
            transcript.facts.seek(sent);
        }
        self.type_in(b"\r");
    }

    /// Whether the transcript has the prompt. If only the transcript reports turns, this one has begun.
    pub(super) fn tell_sent(&mut self) {
        let submitting = self.keyboard.queue.is_submitting();
        let Some(transcript) = self.observer.transcript_mut().filter(|_| submitting) else { return };
        if let Some(taken) = transcript.facts.take_found() {
            let queued = taken == PromptPlace::Queued;
            if !queued {
                transcript.report_turn(false);
            }
            self.events.push_back(Event::Taken { queued });
        }
    }

    /// The supervisor has answered request `number`.
    pub(super) fn sent_settled(&mut self, number: u64) {
        if self.keyboard.queue.settle(number)
            && let Some(transcript) = self.observer.transcript_mut()
        {
            transcript.facts.forget_sought();
        }
    }

    /// Types what is due.
    pub(in crate::host) fn type_sends(&mut self) {
        let now = self.clock.now();
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        while let Some((connection, request)) = self.keyboard.queue.first() {
            // The requester is gone, so the request is dropped.
            if self.control.connection(connection).is_none() {
                self.keyboard.queue.drop_first();
                continue;
            }
            if self.exit.is_some() {
                self.keyboard.queue.drop_first();
                let failure = Failure::new(Code::Ended, "the session has ended", "");
                self.send(connection, &error_line(request, &failure));
                continue;
            }
            let reads = self.child.run.as_ref().is_some_and(ChildRun::takes_input);
            if !reads || self.keyboard.held.must_wait() || in_a_sequence {
                return;
            }
            let mark = if self.keyboard.queue.wants_mark(now) { self.take_mark() } else { None };
            let Some((part, done)) = self.keyboard.queue.next(now) else { return };
            self.events.extend(script_keys(&part));
            self.note_typed(&part);
            self.notifier.queue.sent();
            self.type_in(&part);
            if let Some(typed) = done {
                let answer = typed.answer(self.recorder.supervisor.seq(), mark);
                self.send(connection, &ok_line(request, &answer));
            }
        }
    }

    /// A mark of the screen; `None` without a screen.
    fn take_mark(&mut self) -> Option<ScreenMark> {
        // What the program has written belongs to the screen before the mark.
        (0..READS).all(|_| self.read_output());
        let now = self.clock.now();
        let seq = self.recorder.supervisor.seq();
        let run = self.child.run.as_mut()?;
        Some(ScreenMark { seq, run: run.number, frame: run.model.take_mark(now)? })
    }
}
