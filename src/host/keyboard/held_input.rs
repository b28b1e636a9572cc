//! What people type: labelled, given to the child at once, or kept while a hand-over needs the prompt box for itself.

use std::collections::VecDeque;

use super::drafts::paste;
use crate::core::draft::{Draft, Unit, units};
use crate::core::input::{Class, Classifier, Piece};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::{Event, KeyClass};
use crate::core::supervisor::state::State;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::terminals::{StaleUntil, Viewport};

/// After how long without input a lone ESC counts as the Escape key, in ms.
const FLUSH_MS: u64 = 100;
/// Bytes that are kept while a hand-over runs; a paste beyond it is kept from the keyboard by not reading on.
const KEPT_MAX: usize = 1 << 20;
/// How long a queued prompt may take to appear in the box before its Enter is not sent, in ms.
const ECHO_MS: u64 = 2000;
/// How long to wait between two looks for it, or for a box that keys may be typed into, in ms.
const ECHO_LOOK_MS: u64 = 20;
/// How long new keys wait behind kept ones for a prompt box, in ms; then they go to the child at once.
const BOX_MS: u64 = 10_000;

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
pub(in crate::host) struct HeldInput {
    pub holding: bool,
    /// While keys are kept: new ones go to the child all the same, because a dialog needs a person.
    passing: bool,
    /// Keys that were to be typed again met a dialog or no prompt box, and wait: new ones are for what stands there.
    blocked: bool,
    /// Since when there has been no prompt box for them.
    boxless: Option<Stamp>,
    bytes: Vec<u8>,
    /// What the child was given of a person's keys: labelled, and since the last submit.
    sent: Classifier,
    pub(in crate::host) draft: Draft,
    /// The draft of the old run, to be typed into the new one.
    pub(in crate::host) saved: Vec<u8>,
    items: VecDeque<Item>,
    /// The run that hopty wants to interrupt, once nobody is in the middle of a sequence.
    interrupt: Option<u32>,
    due: Stamp,
}

impl HeldInput {
    pub fn deadline(&self) -> Option<Stamp> {
        (self.interrupt.is_some() || !self.holding && !self.items.is_empty()).then_some(self.due)
    }

    /// Whether what is typed now must wait its turn.
    pub fn must_wait(&self) -> bool {
        if self.holding { !self.passing } else { !self.items.is_empty() && !self.blocked }
    }

    pub fn is_full(&self) -> bool {
        let waiting = self.items.iter().map(|item| match item {
            Item::Unit(unit) => unit.bytes.len(),
            Item::Prompt { text, .. } => text.len(),
        });
        self.bytes.len() + waiting.sum::<usize>() >= KEPT_MAX
    }

    #[cfg(test)]
    pub fn is_settled(&self) -> bool {
        !self.holding && self.items.is_empty() && self.bytes.is_empty()
    }

    /// Keeps what came while keys are kept, or while kept ones are still being typed: this comes after them, as it is.
    fn keep(&mut self, class: Class, part: Vec<u8>) {
        match class {
            _ if self.holding => self.bytes.extend(part),
            // A long paste comes in parts, which mean nothing by themselves.
            Class::Paste => self.items.push_back(Item::Unit(Unit { class, bytes: part, pause_after_ms: 0 })),
            _ => self.items.extend(units(&part).into_iter().map(Item::Unit)),
        }
    }

    /// What a person wrote and no run has got: the old draft, what is still to be typed, what was kept.
    pub(in crate::host) fn unsent(&self) -> Vec<u8> {
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

impl Host {
    /// Bytes from a client's terminal.
    pub(in crate::host) fn typed(&mut self, id: u64, bytes: &[u8]) {
        let now = self.clock.now();
        let waits_behind = self.waits_behind(id);
        let Some(client) = self.client_mut(id) else { return };
        if waits_behind || !client.typing.behind.is_empty() {
            client.typing.behind.extend_from_slice(bytes);
            return;
        }
        if self.terminals.leads(id)
            && let Some(run) = &mut self.run
        {
            run.model.learn(bytes);
        }
        let Some(client) = self.terminals.client_mut(id) else { return };
        let typing = &mut client.typing;
        let mut pieces = Vec::new();
        typing.classifier.feed(bytes, &mut pieces);
        typing.unflushed = (typing.classifier.pending() > 0).then(|| now.after(FLUSH_MS));
        typing.pending.extend_from_slice(bytes);
        typing.offset += bytes.len() as u64;
        self.take_pieces(id, &pieces);
    }

    /// Whether what this client types must wait for the end of another one's sequence, which lasts for [`FLUSH_MS`] at most. What is
    /// kept lands in no sequence.
    fn waits_behind(&self, id: u64) -> bool {
        self.terminals.is_in_a_sequence(Some(id)) && !self.kept.must_wait()
    }

    /// What was typed behind another client's sequence, once that is whole or keys are kept.
    pub(in crate::host) fn type_behind(&mut self) {
        let waiting = self.terminals.clients().filter(|(_, client)| !client.typing.behind.is_empty());
        let waiting: Vec<u64> = waiting.map(|(id, _)| id).collect();
        for id in waiting {
            if !self.waits_behind(id) {
                let bytes = self.client_mut(id).map(|client| std::mem::take(&mut client.typing.behind)).unwrap_or_default();
                self.typed(id, &bytes);
            }
        }
    }

    /// A sequence of which a run has the first half. The same run gets the rest, whatever becomes of the keys behind it; where
    /// that run is over, or on its way out, the sequence is whole again and goes where keys go now. Gives how many pieces
    /// are dealt with.
    fn complete_sequence(&mut self, id: u64, pieces: &[Piece]) -> usize {
        let takes = self.run.as_ref().filter(|run| !run.at_end && run.muted.is_none()).map(|run| run.number);
        let waits = self.kept.must_wait();
        let Some(client) = self.client_mut(id) else { return 0 };
        let Some((run, head)) = client.typing.head.take_if(|(run, _)| waits || Some(*run) != takes) else { return 0 };
        if Some(run) != takes {
            client.typing.pending.splice(..0, head);
            return 0;
        }
        let Some(first) = pieces.first() else {
            client.typing.head = Some((run, head));
            return 0;
        };
        let (_, rest) = client.typing.cut(first);
        self.tell_keys(id, first.class, first.range.end - first.range.start);
        self.type_persons(&rest);
        1
    }

    /// What a client typed, labelled: for hopty, or for the child.
    fn take_pieces(&mut self, id: u64, pieces: &[Piece]) {
        if !self.kept.holding && !self.kept.items.is_empty() {
            // What stands there now says whether keys wait.
            self.box_is_there();
        }
        let pieces = &pieces[self.complete_sequence(id, pieces)..];
        let Some(client) = self.client_mut(id) else { return };
        let orders = client.typing.armed || client.read_only || pieces.iter().any(|piece| piece.class == Class::Prefix);
        if matches!(&client.viewport, Viewport::Stale { until: StaleUntil::Key, .. }) {
            self.leave_page(id, pieces);
            return;
        }
        let leads = !orders && pieces.iter().any(|piece| piece.class != Class::Report);
        if leads {
            self.on_terminals(|terminals, scene| terminals.lead(id, scene));
        }
        if orders {
            self.take_orders(id, pieces);
        } else {
            pieces.iter().for_each(|piece| self.tell_keys(id, piece.class, piece.range.end - piece.range.start));
            self.give(id, pieces);
        }
    }

    /// The supervisor hears what a person types for the child, and nothing of what was for hopty.
    pub(in crate::host) fn tell_keys(&mut self, id: u64, class: Class, length: u64) {
        let now = self.clock.now();
        let Some(client) = self.terminals.client_mut(id) else { return };
        let class = KeyClass::from(class);
        if class == KeyClass::Report {
            client.asked = None;
        }
        if client.typing.is_news(class, now) {
            let bytes = u32::try_from(length).unwrap_or(u32::MAX);
            self.events.push_back(Event::Keys { client: client.number, class, bytes });
        }
    }

    /// A lone ESC has waited long enough: it was a key.
    pub(in crate::host) fn flush_typing(&mut self, id: u64) {
        let (now, waits_behind) = (self.clock.now(), self.waits_behind(id));
        let Some(client) = self.terminals.client_mut(id) else { return };
        if client.typing.unflushed.is_some_and(|at| at <= now) {
            if waits_behind || !client.typing.behind.is_empty() {
                client.typing.unflushed = Some(now.after(ECHO_LOOK_MS));
                return;
            }
            let mut pieces = Vec::new();
            client.typing.classifier.flush(&mut pieces);
            client.typing.unflushed = None;
            self.take_pieces(id, &pieces);
            self.label_sent();
        }
    }

    /// Gives what a client typed to the child, or keeps it as far as it has a label.
    fn give(&mut self, id: u64, pieces: &[Piece]) {
        let waits = self.kept.must_wait();
        let leads = self.terminals.leads(id);
        let Some(client) = self.terminals.client_mut(id) else { return };
        let heard = leads && client.gets_bytes();
        let typing = &mut client.typing;
        if let Some(run) = self.run.as_ref().filter(|_| !waits && heard) {
            let bytes = typing.take_pending(run.number);
            self.type_persons(&bytes);
            return;
        }
        let parts: Vec<_> = pieces.iter().map(|piece| (piece.class, typing.cut(piece).1)).collect();
        for (class, part) in parts {
            self.give_part(id, class, part);
        }
    }

    /// The same for a part with a label.
    pub(in crate::host) fn give_part(&mut self, id: u64, class: Class, part: Vec<u8>) {
        let waits = self.kept.must_wait();
        let heard = self.terminals.leads(id) && self.client_mut(id).is_some_and(|client| client.gets_bytes());
        match class {
            // Only the terminal that was asked is heard.
            Class::Report if !heard => {}
            _ if !waits => self.type_persons(&part),
            Class::Report => self.pass_report(&part),
            // A Ctrl+C is an order to hopty while keys are kept; the supervisor says what becomes of it.
            Class::Interrupt if self.kept.holding => {}
            _ => self.kept.keep(class, part),
        }
    }

    /// What a terminal says of itself answers the run that asked, and that one waits for it now. A click is a person's, and
    /// was meant for what is no longer there.
    fn pass_report(&mut self, bytes: &[u8]) {
        if self.run.as_ref().is_some_and(|run| run.muted.is_none()) {
            for unit in units(bytes).iter().filter(|unit| !is_mouse(&unit.bytes)) {
                self.type_in(&unit.bytes);
            }
        }
    }

    /// Types a person's keys.
    pub(in crate::host) fn type_persons(&mut self, bytes: &[u8]) {
        self.note_typed(bytes);
        if let Some(run) = &mut self.run {
            run.begin_unread();
        }
        self.write_in(bytes);
    }

    /// A person's keys are on their way to the child: what they are in its prompt box.
    pub(in crate::host) fn note_typed(&mut self, bytes: &[u8]) {
        // Only Claude has a prompt box whose draft outlives it.
        if self.launch.agent == Agent::Claude {
            let mut pieces = Vec::new();
            self.kept.sent.feed(bytes, &mut pieces);
            self.kept.draft.take(bytes, &pieces);
        }
    }

    fn label_sent(&mut self) {
        let mut pieces = Vec::new();
        self.kept.sent.flush(&mut pieces);
        self.kept.draft.take(&[], &pieces);
    }

    /// Types Ctrl+C for hopty itself.
    pub(in crate::host) fn interrupt(&mut self) {
        self.kept.interrupt = self.run.as_ref().map(|run| run.number);
        self.pump_typing();
    }

    /// Types what no person has typed.
    pub(in crate::host) fn type_in(&mut self, bytes: &[u8]) {
        if let Some(run) = &mut self.run {
            run.mix_unread();
        }
        self.write_in(bytes);
    }

    fn write_in(&mut self, bytes: &[u8]) {
        if let Some(run) = &mut self.run
            && !run.at_end
            && run.input.send(&run.pty, bytes).is_err()
        {
            run.input.clear();
        }
    }

    pub(in crate::host) fn hold_keys(&mut self) {
        self.kept.holding = true;
        self.kept.passing = false;
    }

    pub(in crate::host) fn pass_keys(&mut self) {
        self.kept.passing = true;
    }

    pub(in crate::host) fn release_keys(&mut self, with_draft: bool) {
        self.kept.holding = false;
        self.kept.passing = false;
        self.kept.boxless = None;
        if with_draft {
            let prompts = self.prompts.take().into_iter().map(|text| Item::Prompt { text, pasted: None });
            let saved = units(&std::mem::take(&mut self.kept.saved)).into_iter().map(Item::Unit);
            // What an earlier hand-over had kept and was not typed yet came after the draft; a prompt that was is in it.
            let left = std::mem::take(&mut self.kept.items).into_iter();
            let left = left.filter(|item| !matches!(item, Item::Prompt { pasted: Some(_), .. }));
            self.kept.items = prompts.chain(saved).chain(left).collect();
            self.kept.draft = Draft::new();
            self.kept.sent = Classifier::new();
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
    pub(in crate::host) fn pump_typing(&mut self) {
        let now = self.clock.now();
        if self.kept.due <= now && self.kept.interrupt.is_some() {
            if self.terminals.is_in_a_sequence(None) {
                self.kept.due = now.after(ECHO_LOOK_MS);
                return;
            }
            if self.kept.interrupt.take() == self.run.as_ref().map(|run| run.number) {
                self.type_persons(b"\x03");
            }
        }
        while self.kept.due <= now && !self.kept.holding {
            if self.terminals.is_in_a_sequence(None) && !self.kept.items.is_empty() {
                self.kept.due = now.after(ECHO_LOOK_MS);
                return;
            }
            let Some(item) = self.kept.items.pop_front() else { return };
            if !self.may_type(&item) {
                let item = match item {
                    // Its time to appear begins again.
                    Item::Prompt { text, pasted: Some(_) } => Item::Prompt { text, pasted: Some(now) },
                    item => item,
                };
                self.kept.items.push_front(item);
                self.kept.due = now.after(ECHO_LOOK_MS);
                return;
            }
            match item {
                Item::Unit(unit) => {
                    self.type_persons(&unit.bytes);
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

    /// Whether what was kept may be typed now.
    fn may_type(&mut self, item: &Item) -> bool {
        if !self.box_is_there() {
            return false;
        }
        // The box is looked at when everything before an Enter has arrived in it.
        let enter = matches!(item, Item::Unit(unit) if unit.bytes.ends_with(b"\r") || unit.class == Class::Submit);
        !enter || self.run.as_ref().is_none_or(|run| run.input.is_empty() && !run.pty.unread())
    }

    /// HeldInput keys are typed into a prompt box, and never into a dialog: they were typed before it was there, and one Enter
    /// among them would approve whatever is asked. While there is none, says whether new keys wait behind them.
    fn box_is_there(&mut self) -> bool {
        if self.launch.agent != Agent::Claude {
            return true;
        }
        let (now, view) = (self.clock.now(), self.view());
        let asked =
            view.as_ref().is_some_and(|view| view.dialog.is_some()) || self.recorder.supervisor.state().state == State::Blocked;
        if asked || view.is_none_or(|view| view.prompt_box.is_none()) {
            let since = *self.kept.boxless.get_or_insert(now);
            self.kept.blocked = asked || now >= since.after(BOX_MS);
            return false;
        }
        self.kept.blocked = false;
        self.kept.boxless = None;
        true
    }
}

/// A mouse report, in any of its forms.
fn is_mouse(report: &[u8]) -> bool {
    report.starts_with(b"\x1b[<") || report.starts_with(b"\x1b[M")
}
