//! Input from scripts: `hopty send`. Bytes and keys go to the child as a person's would; a prompt to submit
//! is typed step by step, as the supervisor decides.
//!
//! Nothing is typed while keys are held for a hand-over, or while the child has enough unread input: a
//! request waits its turn, and is answered when it has been typed. The queue is bounded.

use std::collections::VecDeque;

use base64::prelude::{BASE64_STANDARD, Engine};

use super::drafts::paste;
use crate::core::claude::pasted_prompt::{NotSubmittable, PromptPlace, SentPrompt};
use crate::core::input::key_names;
use crate::core::input::{Classifier, InputPiece};
use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::action::SendResult;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::host::child::InputModes;
use crate::host::observer::TranscriptWatch;
use crate::ipc::answers::SendAnswer;
use crate::ipc::message::{Code, RequestError, RequestId, SEND_MAX, Send};

/// The most bytes that wait, over all requests.
const WAITING_MAX: usize = 4 << 20;
/// The pause after each key of `keys`, in ms: programs act on what they have drawn ("down, enter" in one
/// write selects the old choice in Claude, measured), and ESC followed by another byte is Alt.
const KEY_MS: u64 = 30;

/// A pending request to type.
#[derive(Debug)]
struct QueuedSend {
    request_id: RequestId,
    parts: VecDeque<Vec<u8>>,
    bytes: usize,
    /// It asked to submit, to a program that cannot confirm that.
    submit: bool,
    /// Take a mark before the last part.
    mark: bool,
}

/// A request that was typed completely.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) struct TypedSend {
    bytes: usize,
    submit: bool,
}

impl TypedSend {
    /// The answer to it. `seq`: the number of the last decision; `mark`: the requested mark.
    pub fn answer(&self, seq: u64, mark: Option<ScreenMark>) -> SendAnswer {
        let (typed, result) = match self.submit {
            true => (None, Some(SendResult::Unknown.into())),
            false => (Some(self.bytes as u64), None),
        };
        SendAnswer { typed, result, seq, mark }
    }
}

/// A prompt being submitted.
#[derive(Debug)]
struct Submitting {
    /// Its number for the supervisor.
    number: u64,
    prompt: SentPrompt,
    /// Take a mark before Enter.
    wants_mark: bool,
    /// The mark of the first Enter.
    mark: Option<ScreenMark>,
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
        self.waiting.iter().any(|queued| queued.request_id.connection == connection)
    }

    pub fn is_submitting(&self) -> bool {
        self.submitting.is_some()
    }

    /// The text of the prompt being submitted.
    pub fn text(&self) -> Option<&str> {
        self.submitting.as_ref().map(|submitting| submitting.prompt.text())
    }

    /// Whether `prompt`, as a hook reports it, is the one being submitted.
    pub fn is(&self, prompt: &str) -> bool {
        self.submitting.as_ref().is_some_and(|submitting| submitting.prompt.is(prompt))
    }

    /// When the next piece is due, if it waits only for time.
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        (!self.waiting.is_empty() && self.due > now).then_some(self.due)
    }

    /// Queues a request whose bytes are typed unchanged.
    ///
    /// # Errors
    /// When it makes no sense, or too much waits already.
    pub fn add(
        &mut self,
        request_id: RequestId,
        wanted: &Send,
        modes: InputModes,
    ) -> Result<(), RequestError> {
        let parts = parts(wanted, modes)?;
        let bytes = parts.iter().map(Vec::len).sum();
        self.push(QueuedSend { request_id, parts, bytes, submit: wanted.submit, mark: wanted.mark })
    }

    /// The prompt of a request that is to be submitted to Claude, if no other is being submitted.
    ///
    /// # Errors
    /// When another one is, or this one cannot be submitted.
    pub fn next_prompt(&self, wanted: &Send) -> Result<SentPrompt, RequestError> {
        if self.is_submitting() {
            return Err(RequestError::new(
                Code::Busy,
                "another prompt is in progress",
                "try again when it is done",
            ));
        }
        prompt(wanted)
    }

    /// Starts to submit this prompt, under a number for the supervisor.
    pub fn submit(&mut self, number: u64, prompt: SentPrompt, wants_mark: bool) {
        self.submitting = Some(Submitting { number, prompt, wants_mark, mark: None });
    }

    /// Takes the mark of the prompt being submitted, if it was requested and there is none yet.
    pub fn mark_prompt(&mut self, take: impl FnOnce() -> Option<ScreenMark>) {
        if let Some(submitting) = self.submitting.as_mut().filter(|it| it.wants_mark && it.mark.is_none()) {
            submitting.mark = take();
        }
    }

    /// The mark of the prompt being submitted.
    pub fn prompt_mark(&self) -> Option<ScreenMark> {
        self.submitting.as_ref()?.mark
    }

    /// Enter was pressed at this time. Returns what to look for in the transcript.
    pub fn entered(&mut self, at: String) -> Option<SentPrompt> {
        let submitting = self.submitting.as_mut()?;
        submitting.prompt.entered(at);
        Some(submitting.prompt.clone())
    }

    /// Whether the transcript has the prompt being submitted. If only the transcript reports turns, its turn
    /// has begun.
    pub fn report(&self, transcript: Option<&mut TranscriptWatch>) -> Option<Event> {
        let transcript = transcript.filter(|_| self.is_submitting())?;
        let queued = transcript.facts.proof.take_found()? == PromptPlace::Queued;
        if !queued {
            transcript.report_turn(false);
        }
        Some(Event::Taken { queued })
    }

    /// The supervisor has answered request `number`. Returns whether that was the prompt being submitted.
    pub fn settle(&mut self, number: u64) -> bool {
        self.submitting.take_if(|submitting| submitting.number == number).is_some()
    }

    fn push(&mut self, queued: QueuedSend) -> Result<(), RequestError> {
        let (bytes, waiting) = (queued.bytes, self.waiting.iter().map(|queued| queued.bytes).sum::<usize>());
        if bytes > SEND_MAX {
            return Err(RequestError::new(
                Code::TooLarge,
                format!("{bytes} bytes exceed the limit of {SEND_MAX}"),
                "send it in parts",
            ));
        }
        if waiting + bytes > WAITING_MAX {
            let what = format!("{waiting} bytes already wait to be typed");
            return Err(RequestError::new(
                Code::Busy,
                what,
                "the program does not read its input; `hopty screen` shows its screen",
            ));
        }
        self.waiting.push_back(queued);
        Ok(())
    }

    /// Whether the next piece is due and needs a mark first.
    pub fn wants_mark(&self, now: Stamp) -> bool {
        let first = self.waiting.front().filter(|_| self.due <= now);
        first.is_some_and(|queued| queued.mark && queued.parts.len() <= 1)
    }

    /// Types nothing before this time.
    pub fn wait_until(&mut self, at: Stamp) {
        self.due = self.due.max(at);
    }

    /// The request of the next piece.
    pub fn first(&self) -> Option<RequestId> {
        self.waiting.front().map(|queued| queued.request_id)
    }

    /// Drops the first request, which is done or no longer wanted.
    pub fn drop_first(&mut self) {
        self.waiting.pop_front();
    }

    /// The next piece, and the request that it completes; `None` before it is due.
    pub fn next(&mut self, now: Stamp) -> Option<(Vec<u8>, Option<TypedSend>)> {
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

/// The pieces to type, one by one.
fn parts(wanted: &Send, modes: InputModes) -> Result<VecDeque<Vec<u8>>, RequestError> {
    let wrong = |message: String| RequestError::new(Code::BadRequest, message, "see docs/PROTOCOL.md");
    let mut parts = match (&wanted.text, &wanted.base64, &wanted.keys) {
        (Some(text), None, None) if wanted.submit => VecDeque::from([as_pasted(text, modes.pastes)]),
        (Some(text), None, None) => VecDeque::from([text.clone().into_bytes()]),
        (None, Some(text), None) => VecDeque::from([BASE64_STANDARD
            .decode(text)
            .map_err(|_| wrong("`base64` is invalid".to_owned()))?]),
        (None, None, Some(keys)) => {
            let bytes =
                |name: &String| key_names::bytes(name, modes.cursor).map_err(|e| wrong(e.to_string()));
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

/// The prompt to submit to Claude.
///
/// # Errors
/// When there is no text, or Claude would give no proof of having it.
fn prompt(wanted: &Send) -> Result<SentPrompt, RequestError> {
    let bytes = wanted
        .base64
        .as_deref()
        .and_then(|text| BASE64_STANDARD.decode(text).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let text = wanted.text.clone().or(bytes).filter(|_| wanted.keys.is_none());
    let text = text.ok_or_else(|| {
        RequestError::new(Code::BadRequest, "a prompt must be text", "use `--keys` without --submit")
    })?;
    if text.len() > SEND_MAX {
        return Err(RequestError::new(
            Code::TooLarge,
            format!("{} bytes exceed the limit of {SEND_MAX}", text.len()),
            "write it to a file and send the path",
        ));
    }
    SentPrompt::new(&text).map_err(|unfit| match unfit {
        NotSubmittable::Empty => {
            RequestError::new(Code::BadRequest, "the text is empty", "give a prompt to submit")
        }
        NotSubmittable::Shell => RequestError::new(
            Code::Refused,
            "Claude would run it as a shell command, which gives no proof",
            "type it without --submit, then run it with `--keys enter`",
        ),
    })
}

/// Key events for what a script types, as if a person had typed it, so that a script's Ctrl+C counts as one,
/// too.
pub(in crate::host) fn script_keys(bytes: &[u8]) -> impl Iterator<Item = Event> + use<> {
    let (mut pieces, mut classifier) = (Vec::<InputPiece>::new(), Classifier::new());
    classifier.feed(bytes, &mut pieces);
    classifier.flush(&mut pieces);
    pieces.into_iter().map(|piece| {
        let length = u32::try_from(piece.range.end - piece.range.start).unwrap_or(u32::MAX);
        Event::Keys { client: 0, class: piece.class.into(), bytes: length }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::input::key_names::CursorKeys;
    use crate::core::supervisor::event::KeyClass;

    fn text(text: &str, submit: bool) -> Send {
        Send { text: Some(text.to_owned()), submit, ..Send::default() }
    }

    fn queued(request: u64, wanted: &Send) -> QueuedSend {
        let parts = parts(wanted, InputModes { cursor: CursorKeys::Normal, pastes: true }).unwrap();
        let bytes = parts.iter().map(Vec::len).sum();
        QueuedSend {
            request_id: RequestId { connection: 7, request },
            parts,
            bytes,
            submit: wanted.submit,
            mark: wanted.mark,
        }
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
        assert_eq!(queue.first(), Some(RequestId { connection: 7, request: 2 }));
        assert_eq!(queue.next(Stamp(100)), Some((paste("a"), None)));
        assert_eq!(
            queue.next(Stamp(150)),
            Some((b"\r".to_vec(), Some(TypedSend { bytes: 14, submit: true })))
        );
        assert_eq!((queue.first(), queue.deadline(Stamp(150))), (None, None));
    }

    #[test]
    fn a_piece_waits_until_a_dialog_takes_keys() {
        let mut queue = SendQueue::default();
        queue.push(queued(1, &text("1", false))).unwrap();
        queue.wait_until(Stamp(700));
        queue.wait_until(Stamp(300));
        assert_eq!((queue.next(Stamp(699)), queue.deadline(Stamp(699))), (None, Some(Stamp(700))));
        assert!(queue.next(Stamp(700)).is_some());
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut queue = SendQueue::default();
        let much = "x".repeat(SEND_MAX);
        let refused = |result: Result<(), RequestError>| result.unwrap_err().code;
        assert_eq!(refused(queue.push(queued(1, &text(&format!("{much}x"), false)))), Code::TooLarge);
        for n in 0..WAITING_MAX / SEND_MAX {
            queue.push(queued(n as u64, &text(&much, false))).unwrap();
        }
        assert_eq!(refused(queue.push(queued(99, &text(&much, false)))), Code::Busy);
    }

    #[test]
    fn one_prompt_is_on_its_way_until_the_supervisor_answers() {
        let mut queue = SendQueue::default();
        let refused = |result: Result<SentPrompt, RequestError>| result.unwrap_err().code;
        assert_eq!(refused(queue.next_prompt(&text(" \n", true))), Code::BadRequest);
        assert_eq!(refused(queue.next_prompt(&text("!ls", true))), Code::Refused);
        let keys = Send { keys: Some(vec!["up".to_owned()]), submit: true, ..Send::default() };
        assert_eq!(refused(queue.next_prompt(&keys)), Code::BadRequest);
        let sent = queue.next_prompt(&text("go", true)).unwrap();
        queue.submit(3, sent, true);
        let mark = |frame| Some(ScreenMark { seq: 1, run: 1, frame });
        queue.mark_prompt(|| mark(7));
        queue.mark_prompt(|| mark(8));
        assert_eq!(queue.prompt_mark(), mark(7), "that of the first Enter");
        assert_eq!((queue.text(), queue.is("go")), (Some("go"), true));
        assert_eq!(refused(queue.next_prompt(&text("again", true))), Code::Busy);
        assert!(queue.entered("2026-01-01T00:00:00Z".to_owned()).is_some());
        assert!(!queue.settle(2) && queue.settle(3) && !queue.is_submitting());
    }

    #[test]
    fn an_interrupt_of_a_script_counts_as_one() {
        let classes: Vec<KeyClass> = script_keys(b"a\x03")
            .map(|event| match event {
                Event::Keys { class, .. } => class,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(classes, [KeyClass::Typed, KeyClass::Interrupt]);
    }
}
