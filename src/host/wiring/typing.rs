//! What clients type: to the program, behind another client's sequence, or into held input; and held input,
//! once it is due.

use crate::core::input::{InputClass, InputPiece};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::{Event, KeyClass};
use crate::core::supervisor::state::SessionState;
use crate::host::Host;
use crate::host::child::ChildRun;
use crate::host::keyboard::{InputFocus, KeyRoute, Keystrokes, TypingTarget, answers};
use crate::host::terminals::{StaleUntil, Viewport};

impl Host {
    /// Bytes from a client's terminal.
    pub(super) fn typed(&mut self, id: u64, bytes: &[u8]) {
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
        let pieces = client.input.feed(bytes, now);
        self.take_pieces(id, &pieces);
    }

    /// Whether this client's keys must wait for the end of another client's sequence, for a moment at most.
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
                let behind = self.client_mut(id).map(|client| std::mem::take(&mut client.input.behind));
                self.typed(id, &behind.unwrap_or_default());
            }
        }
    }

    /// Gives a run the rest of a sequence that it has the first half of. Returns the pieces behind it.
    fn complete_sequence<'a>(&mut self, id: u64, pieces: &'a [InputPiece]) -> &'a [InputPiece] {
        let takes =
            self.child.run.as_ref().filter(|run| !run.at_end && run.muted.is_none()).map(|run| run.number);
        let waits = self.keyboard.held.must_wait();
        let Some(client) = self.client_mut(id) else { return pieces };
        let rest = client.input.complete_head(takes, waits, pieces.first());
        match (rest, pieces) {
            (Some(rest), [first, others @ ..]) => {
                self.tell_keys(id, first.class, first.range.end - first.range.start);
                self.type_persons(&rest);
                others
            }
            _ => pieces,
        }
    }

    /// Routes labelled input: to hopty or to the child.
    fn take_pieces(&mut self, id: u64, pieces: &[InputPiece]) {
        if self.keyboard.held.is_typing() {
            // The current screen decides whether keys wait.
            let (now, target) = (self.clock.now(), self.typing_target());
            self.keyboard.held.look(now, target.focus);
        }
        let pieces = self.complete_sequence(id, pieces);
        let any_key = pieces.iter().any(|piece| piece.class != InputClass::Report);
        if any_key {
            self.notifier.queue.typed(self.clock.now());
        }
        let Some(client) = self.client_mut(id) else { return };
        let orders = client.input.armed
            || client.read_only
            || pieces.iter().any(|piece| piece.class == InputClass::Prefix);
        if matches!(&client.viewport, Viewport::Stale { until: StaleUntil::Key, .. }) {
            self.leave_page(id, pieces);
            return;
        }
        if orders {
            return self.take_orders(id, pieces);
        }
        if any_key {
            self.on_terminals(|terminals, scene| terminals.lead(id, scene));
        }
        for piece in pieces {
            self.tell_keys(id, piece.class, piece.range.end - piece.range.start);
        }
        self.give(id, pieces);
    }

    /// Reports to the supervisor what a person types for the child, but not keys for hopty.
    pub(super) fn tell_keys(&mut self, id: u64, class: InputClass, length: u64) {
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

    /// A lone ESC may have waited long enough to be a key.
    pub(super) fn flush_typing(&mut self, id: u64) {
        let (now, waits_behind) = (self.clock.now(), self.waits_behind(id));
        let Some(client) = self.terminals.client_mut(id) else { return };
        if let Some(pieces) = client.input.flush(now, waits_behind) {
            self.take_pieces(id, &pieces);
            self.keyboard.draft.flush();
        }
    }

    /// Passes a client's keys to the child, or holds those that have a label.
    fn give(&mut self, id: u64, pieces: &[InputPiece]) {
        let waits = self.keyboard.held.must_wait();
        let heard = self.is_heard(id);
        let Some(client) = self.terminals.client_mut(id) else { return };
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
    pub(super) fn give_part(&mut self, id: u64, class: InputClass, part: Vec<u8>) {
        match self.keyboard.route(class, self.is_heard(id)) {
            KeyRoute::Program => self.type_persons(&part),
            KeyRoute::Held => self.keyboard.held.push(class, part),
            KeyRoute::Answer if self.child.run.as_ref().is_some_and(|run| run.muted.is_none()) => {
                answers(&part).for_each(|answer| self.type_in(&answer));
            }
            KeyRoute::Answer | KeyRoute::Nowhere => {}
        }
    }

    /// Whether the program asks this client's terminal.
    fn is_heard(&self, id: u64) -> bool {
        self.terminals.leads(id) && self.terminals.client(id).is_some_and(|client| client.gets_bytes())
    }

    /// Types a person's keys.
    fn type_persons(&mut self, bytes: &[u8]) {
        self.note_typed(bytes);
        if let Some(run) = &mut self.child.run {
            run.begin_unread();
        }
        self.write_in(bytes);
    }

    /// A person's keys are on their way to the child: records them for the draft.
    pub(super) fn note_typed(&mut self, bytes: &[u8]) {
        // Only Claude has a prompt box whose draft outlives it.
        if self.session.launch.agent == Agent::Claude {
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
        self.cast.input(bytes, || self.child.hides_input(), &self.clock);
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
        let view = if self.session.launch.agent == Agent::Claude { self.view() } else { None };
        let blocked = self.recorder.supervisor.state().state == SessionState::Blocked;
        let focus = match self.session.launch.agent {
            Agent::Claude => InputFocus::of_claude(view.as_ref(), blocked),
            Agent::Plain => InputFocus::Prompt,
        };
        let shown = view.and_then(|view| view.prompt_box);
        let pasted = self.keyboard.held.pasted_prompt();
        TypingTarget {
            run: self.child.run.as_ref().map(|run| run.number),
            focus,
            shows_pasted: pasted.is_some_and(|text| shown.is_some_and(|shown| shown.holds(text))),
            has_read_all: self.child.run.as_ref().is_none_or(ChildRun::has_read_all),
        }
    }
}
