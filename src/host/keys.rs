//! What people type: labelled, given to the child at once, or kept while a hand-over needs the prompt box for itself.

use std::collections::VecDeque;

use super::Host;
use crate::core::claude::view::BoxMode;
use crate::core::draft::{Draft, Unit, units};
use crate::core::input::{Class, Classifier};
use crate::core::supervisor::event::{Event, KeyClass};
use crate::core::time::Stamp;
use crate::fs::atomic;

/// After how long without input a lone ESC counts as the Escape key, in ms.
const FLUSH_MS: u64 = 100;
/// Typed bytes of one client are reported to the supervisor at most this often, in ms; a Ctrl+C at once.
const REPORT_MS: u64 = 250;
/// Bytes that are kept while a hand-over runs; a paste beyond it is kept from the keyboard by not reading on.
const KEPT_MAX: usize = 1 << 20;
/// How long a queued prompt may take to appear in the box before its Enter is not sent, in ms.
const ECHO_MS: u64 = 2000;
/// How long to wait between two looks for it, in ms.
const ECHO_LOOK_MS: u64 = 20;

/// What is typed by hopty itself, one after the other.
#[derive(Clone, Debug)]
enum Item {
    /// Bytes as a person typed them.
    Unit(Unit),
    /// A prompt that was queued in the old run: a paste, and Enter only when it stands in the box.
    Prompt { text: String, pasted: Option<Stamp> },
}

/// Keys that wait, and the draft of the prompt box.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub holding: bool,
    /// While keys are kept: new ones go to the child all the same, because a dialog needs a person.
    passing: bool,
    bytes: Vec<u8>,
    draft: Draft,
    /// The draft of the old run, to be typed into the new one.
    saved: Vec<u8>,
    items: VecDeque<Item>,
    due: Stamp,
}

impl Kept {
    pub fn deadline(&self) -> Option<Stamp> {
        (!self.items.is_empty()).then_some(self.due)
    }

    /// Whether what is typed now must wait its turn.
    fn must_wait(&self) -> bool {
        (self.holding && !self.passing) || !self.items.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= KEPT_MAX
    }

    /// What a person wrote and no run has got: the old draft, what is still to be typed, what was kept.
    fn unsent(&self) -> Vec<u8> {
        let mut unsent = self.saved.clone();
        for item in &self.items {
            match item {
                Item::Unit(unit) => unsent.extend_from_slice(&unit.bytes),
                Item::Prompt { text, .. } => unsent.extend_from_slice(format!("{text}\n").as_bytes()),
            }
        }
        let kept = units(&self.bytes).into_iter().filter(|unit| unit.class != Class::Report);
        unsent.extend(kept.flat_map(|unit| unit.bytes));
        unsent
    }

    /// The draft was submitted or the box is empty.
    pub fn forget_draft(&mut self) {
        self.draft.clear();
    }
}

/// What is known of one client's input.
#[derive(Debug, Default)]
pub(super) struct Typing {
    classifier: Classifier,
    unflushed: Option<Stamp>,
    reported: Option<(KeyClass, Stamp)>,
    offset: u64,
}

impl Typing {
    pub fn deadline(&self) -> Option<Stamp> {
        self.unflushed
    }
}

fn journal_class(class: Class) -> KeyClass {
    match class {
        Class::Typed | Class::Submit | Class::Suspend => KeyClass::Typed,
        Class::Interrupt => KeyClass::Interrupt,
        Class::Paste => KeyClass::Paste,
        Class::Report => KeyClass::Report,
    }
}

impl Host {
    /// Bytes from a client's terminal.
    pub(super) fn typed(&mut self, id: u64, bytes: &[u8]) {
        let now = self.clock.now();
        let Some(client) = self.connections.get_mut(&id).and_then(|c| c.client.as_mut()) else { return };
        if client.read_only {
            return;
        }
        let number = client.number;
        let typing = &mut client.typing;
        let mut pieces = Vec::new();
        typing.classifier.feed(bytes, &mut pieces);
        typing.unflushed = (typing.classifier.pending() > 0).then(|| now.after(FLUSH_MS));
        self.kept.draft.take(bytes, &pieces);
        let base = typing.offset;
        typing.offset += bytes.len() as u64;
        let mut interrupts = Vec::new();
        for piece in &pieces {
            let class = journal_class(piece.class);
            let length = u32::try_from(piece.range.end - piece.range.start).unwrap_or(u32::MAX);
            let again = typing.reported.is_some_and(|(c, at)| c == class && now.since(at) < REPORT_MS);
            if class == KeyClass::Interrupt || !again {
                typing.reported = Some((class, now));
                self.events.push_back(Event::Keys { client: number, class, bytes: length });
            }
            if class == KeyClass::Interrupt {
                // Where it lies in these bytes; its start may have come with an earlier read.
                let cut = |at: u64| usize::try_from(at.saturating_sub(base)).unwrap_or(usize::MAX).min(bytes.len());
                interrupts.push(cut(piece.range.start)..cut(piece.range.end));
            }
            if class == KeyClass::Report {
                client.asked = None;
            } else {
                self.leader = Some(id);
            }
        }
        if !self.kept.must_wait() {
            self.type_in(bytes);
            return;
        }
        if !self.kept.holding {
            // What was kept is still being typed: this comes after it, as it is.
            self.kept.bytes.extend_from_slice(bytes);
            self.queue_kept();
            return;
        }
        // A Ctrl+C is an order to hopty while keys are kept; the supervisor says what becomes of it.
        let mut at = 0;
        for range in interrupts {
            self.kept.bytes.extend_from_slice(&bytes[at..range.start.max(at)]);
            at = range.end;
        }
        self.kept.bytes.extend_from_slice(&bytes[at..]);
    }

    /// A lone ESC has waited long enough: it was a key.
    pub(super) fn flush_typing(&mut self, id: u64) {
        let now = self.clock.now();
        let Some(client) = self.connections.get_mut(&id).and_then(|c| c.client.as_mut()) else { return };
        if client.typing.unflushed.is_some_and(|at| at <= now) {
            let mut pieces = Vec::new();
            client.typing.classifier.flush(&mut pieces);
            client.typing.unflushed = None;
            self.kept.draft.take(&[], &pieces);
        }
    }

    pub(super) fn type_in(&mut self, bytes: &[u8]) {
        if let Some(run) = &mut self.run
            && !run.at_end
            && run.input.send(&run.pty, bytes).is_err()
        {
            run.input.clear();
        }
    }

    pub(super) fn hold_keys(&mut self) {
        self.kept.holding = true;
        self.kept.passing = false;
    }

    pub(super) fn pass_keys(&mut self) {
        self.kept.passing = true;
    }

    pub(super) fn release_keys(&mut self, with_draft: bool) {
        self.kept.holding = false;
        self.kept.passing = false;
        if with_draft {
            for text in std::mem::take(&mut self.requeue) {
                self.kept.items.push_back(Item::Prompt { text, pasted: None });
            }
            let saved = std::mem::take(&mut self.kept.saved);
            self.kept.draft = Draft::new();
            self.kept.items.extend(units(&saved).into_iter().map(Item::Unit));
        }
        self.queue_kept();
        self.kept.due = self.clock.now();
        self.pump_typing();
    }

    fn queue_kept(&mut self) {
        let bytes = std::mem::take(&mut self.kept.bytes);
        // What the terminal answered was for the old run; the new one did not ask.
        let kept = units(&bytes).into_iter().filter(|unit| unit.class != Class::Report);
        self.kept.items.extend(kept.map(Item::Unit));
    }

    /// Types what is due.
    pub(super) fn pump_typing(&mut self) {
        let now = self.clock.now();
        while self.kept.due <= now && !self.kept.holding {
            let Some(item) = self.kept.items.pop_front() else { return };
            match item {
                Item::Unit(unit) => {
                    self.type_in(&unit.bytes);
                    self.kept.due = now.after(unit.pause_after_ms);
                }
                Item::Prompt { text, pasted: None } => {
                    self.type_in(&paste(&text));
                    self.kept.items.push_front(Item::Prompt { text, pasted: Some(now) });
                    self.kept.due = now.after(ECHO_LOOK_MS);
                }
                Item::Prompt { text, pasted: Some(at) } => {
                    let holds = self.view().and_then(|view| view.prompt_box).is_some_and(|shown| shown.holds(&text));
                    if holds {
                        self.type_in(b"\r");
                        self.kept.due = now.after(2 * ECHO_LOOK_MS);
                    } else if now.since(at) < ECHO_MS {
                        self.kept.items.push_front(Item::Prompt { text, pasted: Some(at) });
                        self.kept.due = now.after(ECHO_LOOK_MS);
                    }
                    // Else it stays in the box, unsubmitted: an Enter that cannot be justified is not sent.
                }
            }
        }
    }

    /// Before the old run ends: what stands in its prompt box, as bytes that make the same again.
    pub(super) fn save_draft(&mut self) {
        let shown = self.view().and_then(|view| view.prompt_box);
        let typed = self.kept.draft.bytes().to_vec();
        self.kept.saved = match shown {
            // No box to look at: what was typed is all that is known.
            None => typed,
            Some(shown) if shown.text.is_empty() => Vec::new(),
            Some(shown) if shown.folded || self.draft_is(&shown.text) || shown.mode != BoxMode::Prompt => typed,
            // The box was edited in a way that the bytes do not show: what a person saw is what counts.
            Some(shown) => paste(&shown.text),
        };
        self.kept.draft = Draft::new();
    }

    /// At the end of a session: what a person wrote and no run has got is put into a file, so that nothing is lost in
    /// silence. Gives the sentence that names it.
    pub(super) fn keep_unsent(&self) -> Option<String> {
        let mut unsent: Vec<u8> = self.requeue.iter().flat_map(|prompt| format!("{prompt}\n").into_bytes()).collect();
        unsent.extend(self.kept.unsent());
        let text: String = String::from_utf8_lossy(&unsent).replace("\x1b[200~", "").replace("\x1b[201~", "");
        if text.chars().all(|c| c.is_control() || c.is_whitespace()) {
            return None;
        }
        let path = self.claim.dir.join("unsent.txt");
        atomic::write(&path, text.as_bytes()).ok()?;
        Some(format!("What you had typed and not sent is in {}.", path.display()))
    }

    /// The text of the draft in the prompt box, for the handoff.
    pub(super) fn draft_text(&self) -> Option<String> {
        self.view()?.prompt_box.map(|shown| shown.text).filter(|text| !text.is_empty())
    }

    /// Whether the typed bytes alone explain the text of the box.
    fn draft_is(&self, text: &str) -> bool {
        let squeeze = |s: &str| s.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect::<String>();
        let typed = String::from_utf8_lossy(self.kept.draft.bytes()).replace("\x1b[200~", "").replace("\x1b[201~", "");
        !typed.contains('\x1b') && !typed.contains('\x7f') && squeeze(&typed) == squeeze(text)
    }
}

/// A bracketed paste; nothing in the text can end it early.
pub(super) fn paste(text: &str) -> Vec<u8> {
    let clean: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    format!("\x1b[200~{clean}\x1b[201~").into_bytes()
}
