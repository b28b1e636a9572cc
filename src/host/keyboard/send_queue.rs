//! What scripts type: `hopty send`. Bytes and keys go to the child as a person's would; a prompt that is to be submitted is
//! typed step by step as the supervisor justifies it.
//!
//! Nothing is typed while keys are kept for a hand-over, or while the child has enough to read: it waits its turn, and is
//! answered when it was typed. What waits is bounded.

use std::collections::VecDeque;

use serde_json::json;

use super::drafts::paste;
use crate::core::base64;
use crate::core::claude::sent::{Sent, Unfit};
use crate::core::input::names::{self, CursorKeys};
use crate::core::input::{Classifier, Piece};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::ipc::message::{Code, Failure, SEND_MAX, Send, error_line, ok_line};
use crate::screen::Mode;
use crate::sys::clock::Clock;

/// The most that waits, of all requests, in bytes.
const WAITING_MAX: usize = 4 << 20;
/// The pause behind each key of `keys`, in ms: programs act on what they have drawn (measured on Claude: "down, enter" in one
/// write takes the old choice), and ESC with another byte behind it is Alt.
const KEY_MS: u64 = 30;
/// How many reads of output may come before an Enter.
const READS: u32 = 16;

/// A request to type that is not done.
#[derive(Debug)]
struct QueuedSend {
    connection: u64,
    request: u64,
    parts: VecDeque<Vec<u8>>,
    bytes: usize,
    /// It was to be submitted, to a program of which nobody knows whether it was.
    submit: bool,
}

/// A prompt on its way.
#[derive(Debug)]
struct Submitting {
    /// Its number for the supervisor.
    number: u64,
    sent: Sent,
}

/// All that is to be typed for scripts.
#[derive(Debug, Default)]
pub(in crate::host) struct SendQueue {
    waiting: VecDeque<QueuedSend>,
    /// When the next piece may be typed.
    due: Stamp,
    submitting: Option<Submitting>,
}

impl SendQueue {
    /// Whether something is still to be typed for this connection.
    pub fn has(&self, connection: u64) -> bool {
        self.waiting.iter().any(|typing| typing.connection == connection)
    }

    pub fn is_submitting(&self) -> bool {
        self.submitting.is_some()
    }

    /// The text of the prompt that is on its way.
    pub fn text(&self) -> Option<&str> {
        self.submitting.as_ref().map(|submitting| submitting.sent.text())
    }

    /// Whether `prompt`, as a hook tells it, is that one.
    pub fn is(&self, prompt: &str) -> bool {
        self.submitting.as_ref().is_some_and(|submitting| submitting.sent.is(prompt))
    }
}

impl Host {
    /// A `send` request.
    pub(in crate::host) fn send_request(&mut self, connection: u64, request: u64, wanted: &Send) {
        if let Err(failure) = self.try_send(connection, request, wanted) {
            self.send(connection, &error_line(request, &failure));
        }
    }

    fn try_send(&mut self, connection: u64, request: u64, wanted: &Send) -> Result<(), Failure> {
        if self.exit.is_some() {
            return Err(Failure::new(Code::Ended, "the session has ended", "`hopty why` tells how it ended"));
        }
        if wanted.submit && self.launch.agent == Agent::Claude {
            return self.begin_submit(connection, request, wanted);
        }
        let mut parts = self.parts(wanted)?;
        if wanted.submit {
            parts.push_back(b"\r".to_vec());
        }
        let bytes = parts.iter().map(Vec::len).sum();
        let waiting: usize = self.sends.waiting.iter().map(|typing| typing.bytes).sum();
        if bytes > SEND_MAX {
            return Err(Failure::new(Code::TooLarge, format!("{bytes} bytes are more than {SEND_MAX}"), "send it in parts"));
        }
        if waiting + bytes > WAITING_MAX {
            let what = format!("{waiting} bytes wait to be typed already");
            return Err(Failure::new(Code::Busy, what, "the program does not read them: `hopty screen` shows what it does"));
        }
        self.sends.waiting.push_back(QueuedSend { connection, request, parts, bytes, submit: wanted.submit });
        self.pump_sends();
        Ok(())
    }

    /// What is to be typed, piece by piece.
    fn parts(&mut self, wanted: &Send) -> Result<VecDeque<Vec<u8>>, Failure> {
        let wrong = |message: String| Failure::new(Code::BadRequest, message, "see docs/PROTOCOL.md");
        match (&wanted.text, &wanted.base64, &wanted.keys) {
            (Some(text), None, None) if wanted.submit => Ok(VecDeque::from([self.as_pasted(text)])),
            (Some(text), None, None) => Ok(VecDeque::from([text.clone().into_bytes()])),
            (None, Some(text), None) => {
                base64::decode(text).map(|bytes| VecDeque::from([bytes])).ok_or_else(|| wrong("`base64` is none".to_owned()))
            }
            (None, None, Some(keys)) => {
                let application =
                    self.run.as_mut().is_some_and(|run| run.model.look(|screen| screen.is_on(Mode::CursorKeys)) == Some(true));
                let cursor = if application { CursorKeys::Application } else { CursorKeys::Normal };
                let bytes = |name: &String| names::bytes(name, cursor).map_err(|e| wrong(e.to_string()));
                keys.iter().map(bytes).collect()
            }
            _ => Err(wrong("a `send` has one of `text`, `base64` and `keys`".to_owned())),
        }
    }

    /// A text for a program that is no agent: as a paste where it knows pastes.
    fn as_pasted(&mut self, text: &str) -> Vec<u8> {
        let pastes = self.run.as_mut().is_some_and(|run| run.model.look(|screen| screen.is_on(Mode::BracketedPaste)) == Some(true));
        let clean = text.replace("\r\n", "\n");
        let clean = clean.trim_end_matches(['\n', '\r']);
        if pastes { paste(clean) } else { clean.replace('\n', "\r").into_bytes() }
    }

    fn begin_submit(&mut self, connection: u64, request: u64, wanted: &Send) -> Result<(), Failure> {
        if self.sends.is_submitting() {
            return Err(Failure::new(Code::Busy, "another prompt is being submitted", "try again when it was"));
        }
        let bytes = wanted.base64.as_deref().and_then(base64::decode).and_then(|bytes| String::from_utf8(bytes).ok());
        let text = wanted.text.clone().or(bytes).filter(|_| wanted.keys.is_none());
        let text = text.ok_or_else(|| Failure::new(Code::BadRequest, "a prompt is a text", "`--keys` types keys"))?;
        if text.len() > SEND_MAX {
            return Err(Failure::new(Code::TooLarge, format!("{} bytes are more than {SEND_MAX}", text.len()), "name a file instead"));
        }
        let sent = Sent::new(&text).map_err(|unfit| match unfit {
            Unfit::Empty => Failure::new(Code::BadRequest, "the text is empty", "give the prompt that is to be submitted"),
            Unfit::Shell => Failure::new(
                Code::Refused,
                "Claude would run it as a shell command, and nothing proves that",
                "without --submit it is typed, and `--keys enter` runs it",
            ),
        })?;
        let number = self.remember(connection, request);
        let command = sent.is_command();
        self.sends.submitting = Some(Submitting { number, sent });
        // What stands in the box is to be known before it is decided on.
        self.look_anew();
        self.look_at_screen();
        self.events.push_back(Event::Submit { id: number, command });
        Ok(())
    }

    /// Types a prompt of hopty's own, without Enter; one that a person has sent meanwhile goes first.
    pub(in crate::host) fn paste_own(&mut self, text: &str) {
        if self.sends.is_submitting() {
            return;
        }
        if let Ok(sent) = Sent::new(text) {
            self.sends.submitting = Some(Submitting { number: 0, sent });
            self.look_anew();
            self.paste_sent();
        }
    }

    /// What stands in the box is to be known anew: now another text is looked for.
    fn look_anew(&mut self) {
        if let Some(run) = &mut self.run {
            run.seen = u64::MAX;
            run.looked = Stamp(0);
        }
    }

    /// Types the prompt, without Enter.
    pub(in crate::host) fn paste_sent(&mut self) {
        if let Some(text) = self.sends.text() {
            let bytes = paste(text);
            self.type_in(&bytes);
        }
    }

    /// Presses Enter if, at this very moment, the prompt still stands alone in the box: Claude may be at work, and a dialog
    /// may have come since the supervisor looked.
    pub(in crate::host) fn enter_sent(&mut self) {
        for _ in 0..READS {
            if !self.read_output() {
                break;
            }
        }
        let shown = self.view().and_then(|view| view.prompt_box);
        let stands = self.sends.text().is_some_and(|text| shown.is_some_and(|shown| shown.holds(text)));
        if !stands {
            return;
        }
        if let Some(submitting) = &mut self.sends.submitting {
            submitting.sent.entered(Clock::wall().rfc3339_ms());
            if let Some(transcript) = self.observer.transcript_mut() {
                transcript.facts.seek(submitting.sent.clone());
            }
        }
        self.type_in(b"\r");
    }

    /// Whether the transcript has it. Where only the transcript tells of turns, this one has begun.
    pub(in crate::host) fn tell_sent(&mut self) {
        let Some(transcript) = self.observer.transcript_mut().filter(|_| self.sends.is_submitting()) else { return };
        if let Some(taken) = transcript.facts.take_found() {
            let queued = taken == crate::core::claude::sent::Taken::Queued;
            if !queued {
                transcript.report_turn(false);
            }
            self.events.push_back(Event::Taken { queued });
        }
    }

    /// The supervisor has answered request `number`.
    pub(in crate::host) fn sent_settled(&mut self, number: u64) {
        if self.sends.submitting.take_if(|submitting| submitting.number == number).is_some()
            && let Some(transcript) = self.observer.transcript_mut()
        {
            transcript.facts.forget_sought();
        }
    }

    /// Types what is due.
    pub(in crate::host) fn pump_sends(&mut self) {
        let now = self.clock.now();
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        while let Some(typing) = self.sends.waiting.front_mut() {
            let (connection, request) = (typing.connection, typing.request);
            // Whoever asked is gone, and so is the wish.
            if !self.connections.contains_key(&connection) {
                self.sends.waiting.pop_front();
                continue;
            }
            if self.exit.is_some() {
                self.sends.waiting.pop_front();
                self.send(connection, &error_line(request, &Failure::new(Code::Ended, "the session has ended", "")));
                continue;
            }
            let reads = self.run.as_ref().is_some_and(|run| !run.at_end && run.input.len() <= crate::host::child::INPUT_HIGH);
            if !reads || self.kept.must_wait() || self.sends.due > now || in_a_sequence {
                return;
            }
            let (bytes, submit) = (typing.bytes, typing.submit);
            let part = typing.parts.pop_front().unwrap_or_default();
            let done = typing.parts.is_empty();
            self.sends.due = now.after(KEY_MS);
            self.type_scripted(&part);
            if !done {
                continue;
            }
            self.sends.waiting.pop_front();
            let seq = self.recorder.supervisor.seq();
            let answer = if submit { json!({"result": "unknown", "seq": seq}) } else { json!({"typed": bytes, "seq": seq}) };
            self.send(connection, &ok_line(request, &answer));
        }
    }

    /// As if a person had typed it: a Ctrl+C of a script is one too.
    fn type_scripted(&mut self, bytes: &[u8]) {
        let (mut pieces, mut classifier) = (Vec::<Piece>::new(), Classifier::new());
        classifier.feed(bytes, &mut pieces);
        classifier.flush(&mut pieces);
        for piece in pieces {
            let length = u32::try_from(piece.range.end - piece.range.start).unwrap_or(u32::MAX);
            self.events.push_back(Event::Keys { client: 0, class: piece.class.into(), bytes: length });
        }
        self.note_typed(bytes);
        self.type_in(bytes);
    }

    /// When the next piece is due.
    pub(in crate::host) fn sends_deadline(&self, now: Stamp) -> Option<Stamp> {
        let waits = !self.sends.waiting.is_empty() && !self.kept.must_wait();
        (waits && self.sends.due > now).then_some(self.sends.due)
    }
}
