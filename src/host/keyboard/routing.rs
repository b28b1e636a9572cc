//! Where a person's keys go: to the child at once, behind another client's sequence, or into held input.

use super::held_input::{ECHO_LOOK_MS, InputFocus, Keystrokes, TypingTarget};
use crate::core::draft::units;
use crate::core::input::{Class, Piece};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::{Event, KeyClass};
use crate::core::supervisor::state::SessionState;
use crate::host::Host;
use crate::host::terminals::{StaleUntil, Viewport};

/// How long without input before a lone ESC counts as the Escape key, in ms.
const FLUSH_MS: u64 = 100;

impl Host {
    /// Bytes from a client's terminal.
    pub(in crate::host) fn typed(&mut self, id: u64, bytes: &[u8]) {
        let now = self.clock.now();
        let waits_behind = self.waits_behind(id);
        let Some(client) = self.client_mut(id) else { return };
        if waits_behind || !client.input.behind.is_empty() {
            client.input.behind.extend_from_slice(bytes);
            return;
        }
        if self.terminals.leads(id)
            && let Some(run) = &mut self.child.run
        {
            run.model.learn(bytes);
        }
        let Some(client) = self.terminals.client_mut(id) else { return };
        let input = &mut client.input;
        let mut pieces = Vec::new();
        input.classifier.feed(bytes, &mut pieces);
        input.unflushed = (input.classifier.pending() > 0).then(|| now.after(FLUSH_MS));
        input.pending.extend_from_slice(bytes);
        input.offset += bytes.len() as u64;
        self.take_pieces(id, &pieces);
    }

    /// Whether this client's keys must wait for the end of another client's sequence, [`FLUSH_MS`] at most.
    /// Held keys cannot land in a sequence.
    fn waits_behind(&self, id: u64) -> bool {
        self.terminals.is_in_a_sequence(Some(id)) && !self.keyboard.held.must_wait()
    }

    /// Keys that were typed behind another client's sequence, once it is whole or keys are held.
    pub(in crate::host) fn type_behind(&mut self) {
        let waiting = self.terminals.clients().filter(|(_, client)| !client.input.behind.is_empty());
        let waiting: Vec<u64> = waiting.map(|(id, _)| id).collect();
        for id in waiting {
            if !self.waits_behind(id) {
                let bytes = self
                    .client_mut(id)
                    .map(|client| std::mem::take(&mut client.input.behind))
                    .unwrap_or_default();
                self.typed(id, &bytes);
            }
        }
    }

    /// A sequence of which a run has the first half. The same run gets the rest, whatever happens to the keys
    /// behind it; if that run is over or ending, the whole sequence goes where keys go now. Returns how many
    /// pieces were handled.
    fn complete_sequence(&mut self, id: u64, pieces: &[Piece]) -> usize {
        let takes =
            self.child.run.as_ref().filter(|run| !run.at_end && run.muted.is_none()).map(|run| run.number);
        let waits = self.keyboard.held.must_wait();
        let Some(client) = self.client_mut(id) else { return 0 };
        let Some((run, head)) = client.input.head.take_if(|(run, _)| waits || Some(*run) != takes) else {
            return 0;
        };
        if Some(run) != takes {
            client.input.pending.splice(..0, head);
            return 0;
        }
        let Some(first) = pieces.first() else {
            client.input.head = Some((run, head));
            return 0;
        };
        let (_, rest) = client.input.cut(first);
        self.tell_keys(id, first.class, first.range.end - first.range.start);
        self.type_persons(&rest);
        1
    }

    /// Routes labelled input: to hopty or to the child.
    fn take_pieces(&mut self, id: u64, pieces: &[Piece]) {
        if self.keyboard.held.is_typing() {
            // The current screen decides whether keys wait.
            let (now, target) = (self.clock.now(), self.typing_target());
            self.keyboard.held.look(now, target.focus);
        }
        let pieces = &pieces[self.complete_sequence(id, pieces)..];
        if pieces.iter().any(|piece| piece.class != Class::Report) {
            self.notifier.queue.typed(self.clock.now());
        }
        let Some(client) = self.client_mut(id) else { return };
        let orders =
            client.input.armed || client.read_only || pieces.iter().any(|piece| piece.class == Class::Prefix);
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
            pieces
                .iter()
                .for_each(|piece| self.tell_keys(id, piece.class, piece.range.end - piece.range.start));
            self.give(id, pieces);
        }
    }

    /// Reports to the supervisor what a person types for the child, but not keys for hopty.
    pub(in crate::host) fn tell_keys(&mut self, id: u64, class: Class, length: u64) {
        let now = self.clock.now();
        let Some(client) = self.terminals.client_mut(id) else { return };
        let class = KeyClass::from(class);
        if class == KeyClass::Report {
            client.asked = None;
        }
        if client.input.is_news(class, now) {
            let bytes = u32::try_from(length).unwrap_or(u32::MAX);
            self.events.push_back(Event::Keys { client: client.number, class, bytes });
        }
    }

    /// A lone ESC has waited long enough: it was a key.
    pub(in crate::host) fn flush_typing(&mut self, id: u64) {
        let (now, waits_behind) = (self.clock.now(), self.waits_behind(id));
        let Some(client) = self.terminals.client_mut(id) else { return };
        if client.input.unflushed.is_some_and(|at| at <= now) {
            if waits_behind || !client.input.behind.is_empty() {
                client.input.unflushed = Some(now.after(ECHO_LOOK_MS));
                return;
            }
            let mut pieces = Vec::new();
            client.input.classifier.flush(&mut pieces);
            client.input.unflushed = None;
            self.take_pieces(id, &pieces);
            self.keyboard.draft.flush();
        }
    }

    /// Passes a client's keys to the child, or holds those that have a label.
    fn give(&mut self, id: u64, pieces: &[Piece]) {
        let waits = self.keyboard.held.must_wait();
        let leads = self.terminals.leads(id);
        let Some(client) = self.terminals.client_mut(id) else { return };
        let heard = leads && client.gets_bytes();
        let input = &mut client.input;
        if let Some(run) = self.child.run.as_ref().filter(|_| !waits && heard) {
            let bytes = input.take_pending(run.number);
            self.type_persons(&bytes);
            return;
        }
        let parts: Vec<_> = pieces.iter().map(|piece| (piece.class, input.cut(piece).1)).collect();
        for (class, part) in parts {
            self.give_part(id, class, part);
        }
    }

    /// The same for a labelled part.
    pub(in crate::host) fn give_part(&mut self, id: u64, class: Class, part: Vec<u8>) {
        let waits = self.keyboard.held.must_wait();
        let heard = self.terminals.leads(id) && self.client_mut(id).is_some_and(|client| client.gets_bytes());
        match class {
            // Only answers from the terminal that was asked count.
            Class::Report if !heard => {}
            _ if !waits => self.type_persons(&part),
            Class::Report => self.pass_report(&part),
            // While keys are held, a Ctrl+C is a command to hopty; the supervisor decides what it does.
            Class::Interrupt if self.keyboard.held.is_holding() => {}
            _ => self.keyboard.held.push(class, part),
        }
    }

    /// A terminal's report answers the run that asked and waits for it now. A click comes from a person, and
    /// was meant for something that is no longer on the screen.
    fn pass_report(&mut self, bytes: &[u8]) {
        if self.child.run.as_ref().is_some_and(|run| run.muted.is_none()) {
            for unit in units(bytes).iter().filter(|unit| !is_mouse(&unit.bytes)) {
                self.type_in(&unit.bytes);
            }
        }
    }

    /// Types a person's keys.
    pub(in crate::host) fn type_persons(&mut self, bytes: &[u8]) {
        self.note_typed(bytes);
        if let Some(run) = &mut self.child.run {
            run.begin_unread();
        }
        self.write_in(bytes);
    }

    /// A person's keys are on their way to the child: records them for the draft.
    pub(in crate::host) fn note_typed(&mut self, bytes: &[u8]) {
        // Only Claude has a prompt box whose draft outlives it.
        if self.launch.agent == Agent::Claude {
            self.keyboard.draft.note(bytes);
        }
    }

    /// Types Ctrl+C for hopty itself.
    pub(in crate::host) fn interrupt(&mut self) {
        self.keyboard.held.interrupt(self.child.run.as_ref().map(|run| run.number));
        self.type_held();
    }

    /// Types input that does not come from a person.
    pub(in crate::host) fn type_in(&mut self, bytes: &[u8]) {
        if let Some(run) = &mut self.child.run {
            run.mix_unread();
        }
        self.write_in(bytes);
    }

    fn write_in(&mut self, bytes: &[u8]) {
        self.record_input(bytes);
        if let Some(run) = &mut self.child.run {
            run.write(bytes);
        }
    }

    pub(in crate::host) fn release_keys(&mut self, with_draft: bool) {
        self.keyboard.release(self.clock.now(), with_draft);
        self.type_held();
    }

    /// Types held input that is due.
    pub(in crate::host) fn type_held(&mut self) {
        let now = self.clock.now();
        while self.keyboard.held.is_due(now) {
            if self.terminals.is_in_a_sequence(None) {
                self.keyboard.held.postpone(now);
                return;
            }
            let target = self.typing_target();
            match self.keyboard.held.next(now, &target) {
                Some(Keystrokes::Persons(bytes)) => self.type_persons(&bytes),
                Some(Keystrokes::Own(bytes)) => self.type_in(&bytes),
                None => {}
            }
        }
    }

    fn typing_target(&mut self) -> TypingTarget {
        let view = if self.launch.agent == Agent::Claude { self.view() } else { None };
        let focus = match self.launch.agent {
            Agent::Claude => InputFocus::of_claude(
                view.as_ref(),
                self.recorder.supervisor.state().state == SessionState::Blocked,
            ),
            Agent::Plain => InputFocus::Prompt,
        };
        let shown = view.and_then(|view| view.prompt_box);
        TypingTarget {
            run: self.child.run.as_ref().map(|run| run.number),
            focus,
            shows_pasted: self
                .keyboard
                .held
                .pasted_prompt()
                .is_some_and(|text| shown.is_some_and(|shown| shown.holds(text))),
            has_read_all: self.child.run.as_ref().is_none_or(|run| run.input.is_empty() && !run.pty.unread()),
        }
    }
}

/// A mouse report in any of its formats.
fn is_mouse(report: &[u8]) -> bool {
    report.starts_with(b"\x1b[<") || report.starts_with(b"\x1b[M")
}
