//! Input from scripts: `hopty send`. Bytes and keys go to the child as a person's would; a prompt to submit
//! is typed step by step as the supervisor justifies it.
//!
//! Nothing is typed while keys are held for a hand-over, or while the child has enough unread input: a
//! request waits its turn, and is answered once it was typed. The queue is bounded.

use std::collections::VecDeque;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;

use super::drafts::paste;
use crate::core::claude::sent::{Sent, Unfit};
use crate::core::input::names::{self, CursorKeys};
use crate::core::input::{Classifier, Piece};
use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::child::INPUT_HIGH;
use crate::ipc::message::{Code, Failure, SEND_MAX, Send, error_line, ok_line};
use crate::screen::{Screen, TerminalMode};
use crate::sys::clock::Clock;

/// The most bytes that wait, over all requests.
const WAITING_MAX: usize = 4 << 20;
/// The pause after each key of `keys`, in ms: programs act on what they have drawn ("down, enter" in one
/// write selects the old choice in Claude, measured), and ESC followed by another byte is Alt.
const KEY_MS: u64 = 30;
/// How many reads of output may precede an Enter.
const READS: u32 = 16;

/// A pending request to type.
#[derive(Debug)]
struct QueuedSend {
    connection: u64,
    request: u64,
    parts: VecDeque<Vec<u8>>,
    bytes: usize,
    /// It was to be submitted, to a program that cannot confirm that.
    submit: bool,
    /// A mark is wanted before the last part.
    mark: bool,
}

/// A request that was typed completely.
#[derive(Debug, PartialEq, Eq)]
struct TypedSend {
    bytes: usize,
    submit: bool,
}

/// A prompt on its way.
#[derive(Debug)]
struct Submitting {
    /// Its number for the supervisor.
    number: u64,
    sent: Sent,
}

/// All pending input from scripts.
#[derive(Debug, Default)]
pub(in crate::host) struct SendQueue {
    waiting: VecDeque<QueuedSend>,
    /// When the next piece may be typed.
    due: Stamp,
    submitting: Option<Submitting>,
}

impl SendQueue {
    /// Whether input for this connection is still pending.
    pub fn has(&self, connection: u64) -> bool {
        self.waiting.iter().any(|queued| queued.connection == connection)
    }

    pub fn is_submitting(&self) -> bool {
        self.submitting.is_some()
    }

    /// The text of the prompt that is on its way.
    pub fn text(&self) -> Option<&str> {
        self.submitting.as_ref().map(|submitting| submitting.sent.text())
    }

    /// Whether `prompt`, as a hook reports it, is that one.
    pub fn is(&self, prompt: &str) -> bool {
        self.submitting.as_ref().is_some_and(|submitting| submitting.sent.is(prompt))
    }

    /// When the next piece is due, if it waits only for time.
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        (!self.waiting.is_empty() && self.due > now).then_some(self.due)
    }

    /// Adds a request. The queue is bounded.
    fn push(&mut self, queued: QueuedSend) -> Result<(), Failure> {
        let (bytes, waiting) = (queued.bytes, self.waiting.iter().map(|queued| queued.bytes).sum::<usize>());
        if bytes > SEND_MAX {
            return Err(Failure::new(
                Code::TooLarge,
                format!("{bytes} bytes exceed the limit of {SEND_MAX}"),
                "send it in parts",
            ));
        }
        if waiting + bytes > WAITING_MAX {
            let what = format!("{waiting} bytes already wait to be typed");
            return Err(Failure::new(
                Code::Busy,
                what,
                "the program does not read its input; `hopty screen` shows its screen",
            ));
        }
        self.waiting.push_back(queued);
        Ok(())
    }

    /// Whether the next piece is due, and a mark is wanted before it.
    fn wants_mark(&self, now: Stamp) -> bool {
        let first = self.waiting.front().filter(|_| self.due <= now);
        first.is_some_and(|queued| queued.mark && queued.parts.len() <= 1)
    }

    /// Connection and request of the next piece.
    fn first(&self) -> Option<(u64, u64)> {
        self.waiting.front().map(|queued| (queued.connection, queued.request))
    }

    /// The first request is done, or nobody wants it any more.
    fn drop_first(&mut self) {
        self.waiting.pop_front();
    }

    /// The next piece, and the request that it completes; `None` before it is due.
    fn next(&mut self, now: Stamp) -> Option<(Vec<u8>, Option<TypedSend>)> {
        let queued = self.waiting.front_mut().filter(|_| self.due <= now)?;
        let part = queued.parts.pop_front().unwrap_or_default();
        let done =
            queued.parts.is_empty().then_some(TypedSend { bytes: queued.bytes, submit: queued.submit });
        if done.is_some() {
            self.drop_first();
        }
        self.due = now.after(KEY_MS);
        Some((part, done))
    }
}

/// How the program reads keys and pastes.
#[derive(Clone, Copy, Debug)]
struct InputModes {
    cursor: CursorKeys,
    pastes: bool,
}

/// The pieces to type, one by one.
fn parts(wanted: &Send, modes: InputModes) -> Result<VecDeque<Vec<u8>>, Failure> {
    let wrong = |message: String| Failure::new(Code::BadRequest, message, "see docs/PROTOCOL.md");
    let mut parts = match (&wanted.text, &wanted.base64, &wanted.keys) {
        (Some(text), None, None) if wanted.submit => VecDeque::from([as_pasted(text, modes.pastes)]),
        (Some(text), None, None) => VecDeque::from([text.clone().into_bytes()]),
        (None, Some(text), None) => VecDeque::from([BASE64_STANDARD
            .decode(text)
            .map_err(|_| wrong("`base64` is invalid".to_owned()))?]),
        (None, None, Some(keys)) => {
            let bytes = |name: &String| names::bytes(name, modes.cursor).map_err(|e| wrong(e.to_string()));
            keys.iter().map(bytes).collect::<Result<_, _>>()?
        }
        _ => return Err(wrong("`send` takes one of `text`, `base64` and `keys`".to_owned())),
    };
    if wanted.submit {
        parts.push_back(b"\r".to_vec());
    }
    Ok(parts)
}

/// Text for a program that is not an agent: as a paste if it supports pastes.
fn as_pasted(text: &str, pastes: bool) -> Vec<u8> {
    let clean = text.replace("\r\n", "\n");
    let clean = clean.trim_end_matches(['\n', '\r']);
    if pastes { paste(clean) } else { clean.replace('\n', "\r").into_bytes() }
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
            return Err(Failure::new(Code::Ended, "the session has ended", "`hopty why` says how it ended"));
        }
        if wanted.submit && self.launch.agent == Agent::Claude {
            return self.begin_submit(connection, request, wanted);
        }
        let parts = parts(wanted, self.input_modes())?;
        let bytes = parts.iter().map(Vec::len).sum();
        let (submit, mark) = (wanted.submit, wanted.mark);
        self.keyboard.queue.push(QueuedSend { connection, request, parts, bytes, submit, mark })?;
        self.type_sends();
        Ok(())
    }

    fn input_modes(&mut self) -> InputModes {
        let on = |screen: &Screen| {
            (screen.is_on(TerminalMode::CursorKeys), screen.is_on(TerminalMode::BracketedPaste))
        };
        let (application, pastes) =
            self.child.run.as_mut().and_then(|run| run.model.look(on)).unwrap_or_default();
        InputModes { cursor: if application { CursorKeys::Application } else { CursorKeys::Normal }, pastes }
    }

    fn begin_submit(&mut self, connection: u64, request: u64, wanted: &Send) -> Result<(), Failure> {
        if self.keyboard.queue.is_submitting() {
            return Err(Failure::new(
                Code::Busy,
                "another prompt is in progress",
                "try again when it is done",
            ));
        }
        let bytes = wanted
            .base64
            .as_deref()
            .and_then(|text| BASE64_STANDARD.decode(text).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let text = wanted.text.clone().or(bytes).filter(|_| wanted.keys.is_none());
        let text = text.ok_or_else(|| {
            Failure::new(Code::BadRequest, "a prompt must be text", "use `--keys` without --submit")
        })?;
        if text.len() > SEND_MAX {
            return Err(Failure::new(
                Code::TooLarge,
                format!("{} bytes exceed the limit of {SEND_MAX}", text.len()),
                "write it to a file and send the path",
            ));
        }
        let sent = Sent::new(&text).map_err(|unfit| match unfit {
            Unfit::Empty => Failure::new(Code::BadRequest, "the text is empty", "give a prompt to submit"),
            Unfit::Shell => Failure::new(
                Code::Refused,
                "Claude would run it as a shell command, which gives no proof",
                "type it without --submit, then run it with `--keys enter`",
            ),
        })?;
        let number = self.control.owe(connection, request);
        let command = sent.is_command();
        self.keyboard.queue.submitting = Some(Submitting { number, sent });
        // The box must be read before the decision.
        self.look_anew();
        self.look_at_screen();
        self.events.push_back(Event::Submit { id: number, command });
        Ok(())
    }

    /// Types a prompt of hopty's own, without Enter; a prompt that a person has sent meanwhile goes first.
    pub(in crate::host) fn paste_own(&mut self, text: &str) {
        if self.keyboard.queue.is_submitting() {
            return;
        }
        if let Ok(sent) = Sent::new(text) {
            self.keyboard.queue.submitting = Some(Submitting { number: 0, sent });
            self.look_anew();
            self.paste_sent();
        }
    }

    /// The box must be read again: it is now compared with another text.
    fn look_anew(&mut self) {
        if let Some(run) = &mut self.child.run {
            run.seen = u64::MAX;
            run.looked = Stamp(0);
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
        for _ in 0..READS {
            if !self.read_output() {
                break;
            }
        }
        let shown = self.view().and_then(|view| view.prompt_box);
        let stands =
            self.keyboard.queue.text().is_some_and(|text| shown.is_some_and(|shown| shown.holds(text)));
        if !stands {
            return;
        }
        if let Some(submitting) = &mut self.keyboard.queue.submitting {
            submitting.sent.entered(Clock::wall().rfc3339_ms());
            if let Some(transcript) = self.observer.transcript_mut() {
                transcript.facts.seek(submitting.sent.clone());
            }
        }
        self.type_in(b"\r");
    }

    /// Whether the transcript has the prompt. If only the transcript reports turns, this one has begun.
    pub(in crate::host) fn tell_sent(&mut self) {
        let Some(transcript) = self.observer.transcript_mut().filter(|_| self.keyboard.queue.is_submitting())
        else {
            return;
        };
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
        if self.keyboard.queue.submitting.take_if(|submitting| submitting.number == number).is_some()
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
                self.send(
                    connection,
                    &error_line(request, &Failure::new(Code::Ended, "the session has ended", "")),
                );
                continue;
            }
            let reads =
                self.child.run.as_ref().is_some_and(|run| !run.at_end && run.input.len() <= INPUT_HIGH);
            if !reads || self.keyboard.held.must_wait() || in_a_sequence {
                return;
            }
            let mark = if self.keyboard.queue.wants_mark(now) { self.take_mark() } else { None };
            let Some((part, done)) = self.keyboard.queue.next(now) else { return };
            self.type_scripted(&part);
            if let Some(TypedSend { bytes, submit }) = done {
                let seq = self.recorder.supervisor.seq();
                let mut answer = if submit {
                    json!({"result": "unknown", "seq": seq})
                } else {
                    json!({"typed": bytes, "seq": seq})
                };
                if let Some(mark) = mark {
                    answer["mark"] = json!(mark);
                }
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

    /// As if a person had typed it: a script's Ctrl+C counts as one, too.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, submit: bool) -> Send {
        Send { text: Some(text.to_owned()), submit, ..Send::default() }
    }

    fn queued(request: u64, wanted: &Send) -> QueuedSend {
        let parts = parts(wanted, InputModes { cursor: CursorKeys::Normal, pastes: true }).unwrap();
        let bytes = parts.iter().map(Vec::len).sum();
        QueuedSend { connection: 7, request, parts, bytes, submit: wanted.submit, mark: wanted.mark }
    }

    #[test]
    fn each_piece_has_its_pause_and_the_request_is_done_with_the_last() {
        let mut queue = SendQueue::default();
        queue
            .push(queued(
                1,
                &Send { keys: Some(vec!["down".to_owned(), "enter".to_owned()]), ..Send::default() },
            ))
            .unwrap();
        queue.push(queued(2, &text("a\n", true))).unwrap();
        assert!(queue.has(7) && !queue.has(8));
        assert_eq!(queue.next(Stamp(5)), Some((b"\x1b[B".to_vec(), None)));
        assert_eq!((queue.next(Stamp(5)), queue.deadline(Stamp(5))), (None, Some(Stamp(5 + KEY_MS))));
        assert_eq!(
            queue.next(Stamp(50)),
            Some((b"\r".to_vec(), Some(TypedSend { bytes: 4, submit: false })))
        );
        assert_eq!(queue.first(), Some((7, 2)));
        assert_eq!(queue.next(Stamp(100)), Some((paste("a"), None)));
        assert_eq!(
            queue.next(Stamp(150)),
            Some((b"\r".to_vec(), Some(TypedSend { bytes: 14, submit: true })))
        );
        assert_eq!((queue.first(), queue.deadline(Stamp(150))), (None, None));
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut queue = SendQueue::default();
        let much = "x".repeat(SEND_MAX);
        let refused = |result: Result<(), Failure>| result.unwrap_err().code;
        assert_eq!(refused(queue.push(queued(1, &text(&format!("{much}x"), false)))), Code::TooLarge);
        for n in 0..WAITING_MAX / SEND_MAX {
            queue.push(queued(n as u64, &text(&much, false))).unwrap();
        }
        assert_eq!(refused(queue.push(queued(99, &text(&much, false)))), Code::Busy);
    }
}
