//! People's terminals: what they show, what follows from their events, and what is typed on them.

use std::collections::VecDeque;

use nix::libc::SIGCONT;

use crate::core::config::OnHangup;
use crate::core::ids::SessionName;
use crate::core::input::prefix_command::{Order, order};
use crate::core::input::{InputClass, InputPiece};
use crate::core::process_change::Signal;
use crate::core::supervisor::Supervisor;
use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::handover_question::AskAnswer;
use crate::core::supervisor::reported_state::SessionState;
use crate::core::text::safe_text::safe_line;
use crate::core::text::word_wrap::wrap_words;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::cast_recording::SessionCast;
use crate::host::child::{Child, ChildRun};
use crate::host::jobs::no_conversation_page;
use crate::host::keyboard::{InputFocus, InputPart, Keyboard, PageKey, ProgramInput, TypingTarget};
use crate::host::terminals::{PageAnswer, Scene, TerminalEvent, TerminalInput, Terminals};
use crate::ipc::farewell::Farewell;
use crate::sys::clock::Clock;
use crate::sys::poll::FdReadiness;

impl Host {
    /// Runs a call on the terminals, and handles the events that it returns.
    pub(in crate::host) fn on_terminals<T>(
        &mut self,
        act: impl FnOnce(&mut Terminals, &mut Scene<'_>) -> T,
    ) -> T {
        let run = self.child.run.as_mut().map(ChildRun::for_terminals);
        let mut scene = Scene { clock: self.clock, run, links: &mut self.control, exit: self.exit };
        let done = act(&mut self.terminals, &mut scene);
        while let Some(event) = self.terminals.next_event() {
            self.take_terminal_event(event);
        }
        done
    }

    fn take_terminal_event(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Resized(size) => {
                self.child.resize_terminal(size);
                self.session.launch.size = size;
                self.cast.resized(size);
            }
            TerminalEvent::WantsRedraw => self.child.ask_redraw(),
            TerminalEvent::Continued => self.signal_child(Signal(SIGCONT), true),
            TerminalEvent::Answers(answers) => self.child.type_answers(answers),
            TerminalEvent::Detached { client, why, in_charge } => {
                // Output that no terminal can reach any more ends with the last terminal.
                let unreachable = self.session.private.is_some() && self.terminals.clients().next().is_none();
                let ends_with_terminal = self.session.launch.config.terminal.on_hangup == OnHangup::End;
                let ends = unreachable || in_charge && why == "hangup" && ends_with_terminal;
                self.events.push_back(Event::Detached { client, why });
                if ends && self.exit.is_none() {
                    self.events.push_back(Event::Stop { id: 0, kill: false });
                }
            }
        }
    }

    pub(super) fn take_terminal(&mut self, id: u64) {
        let taken = self.on_terminals(|terminals, scene| terminals.take_terminal(id, scene));
        let Some(returns) = taken else { return };
        if self.child.is_stopped() {
            self.on_terminals(|terminals, scene| terminals.meet_stopped_program(id, returns, scene));
        }
        // The program ended before its first client attached.
        if self.exit.is_some() {
            self.jobs.journal.remove_file(self.session.last_screen());
            let message = self.farewell_message();
            self.on_terminals(|terminals, scene| {
                terminals.disconnect(id, Farewell::ended(message.as_deref()), scene)
            });
        }
    }

    /// Detaches a client; the session keeps running.
    pub(super) fn detach(&mut self, id: u64) {
        self.on_terminals(|terminals, scene| terminals.disconnect(id, Farewell::Detached, scene));
    }

    /// Sends the program's output to every client that gets its bytes.
    pub(in crate::host) fn show(&mut self, bytes: &[u8]) {
        self.on_terminals(|terminals, scene| terminals.show(bytes, scene));
        self.cast.output(bytes);
    }

    /// Sends a notice to every attached client, and keeps it for the page.
    pub(in crate::host) fn notice(&mut self, about: DecisionKind, text: &str) {
        self.on_terminals(|terminals, scene| terminals.notice(about, text, scene));
        self.segment_may_differ();
    }
    /// Sends a notice about something that waits. While the segment shows it, it is sent nowhere else, and a
    /// terminal that is free again does not need it.
    pub(in crate::host) fn notice_of_wait(&mut self, text: &str) {
        if !self.segment_shows_wait() {
            self.terminals.keep_notices(self.clock.now(), std::iter::once(text));
        }
        self.segment_may_differ();
    }
}

impl Host {
    /// A borrowed terminal is ready.
    pub(in crate::host) fn terminal_ready(&mut self, id: u64, ready: FdReadiness) {
        let mut buf = [0; 4096];
        match self.terminals.read(id, ready, self.typing_waits(), self.clock.now(), &mut buf) {
            TerminalInput::Nothing => {}
            TerminalInput::Bytes(n) => self.typed(id, &buf[..n]),
            TerminalInput::HungUp => self.on_terminals(|terminals, scene| terminals.hang_up(id, scene)),
        }
    }

    /// Handles bytes from a client's terminal.
    pub(super) fn typed(&mut self, id: u64, bytes: &[u8]) {
        let waits_for_sequence = self.waits_for_sequence(id);
        let Some(client) = self.terminals.client_mut(id) else { return };
        if waits_for_sequence || !client.input.behind.is_empty() {
            client.input.behind.extend_from_slice(bytes);
            return;
        }
        let pieces = client.input.feed(bytes, self.clock.now());
        if self.terminals.leads(id)
            && let Some(run) = &mut self.child.run
        {
            run.model.learn(bytes);
        }
        self.take_pieces(id, &pieces);
    }

    /// Whether this client's keys must wait for the end of another client's sequence, briefly. Held keys
    /// cannot land in a sequence.
    fn waits_for_sequence(&self, id: u64) -> bool {
        self.terminals.is_in_a_sequence(Some(id)) && !self.keyboard.held.must_wait()
    }

    /// Types keys that waited for another client's sequence, once that is complete or keys are held.
    pub(in crate::host) fn type_after_sequence(&mut self) {
        let waiting = self.terminals.clients().filter(|(_, client)| !client.input.behind.is_empty());
        let waiting: Vec<u64> = waiting.map(|(id, _)| id).collect();
        for id in waiting {
            if !self.waits_for_sequence(id)
                && let Some(client) = self.terminals.client_mut(id)
            {
                let behind = std::mem::take(&mut client.input.behind);
                self.typed(id, &behind);
            }
        }
    }

    /// Checks whether a lone ESC has waited long enough to be a key.
    pub(super) fn flush_typing(&mut self, id: u64) {
        let (now, waits_for_sequence) = (self.clock.now(), self.waits_for_sequence(id));
        let Some(client) = self.terminals.client_mut(id) else { return };
        if let Some(pieces) = client.input.flush(now, waits_for_sequence) {
            self.take_pieces(id, &pieces);
            self.keyboard.draft.flush();
        }
    }

    /// Routes labelled input: to hopty or to the child.
    fn take_pieces(&mut self, id: u64, pieces: &[InputPiece]) {
        let now = self.clock.now();
        let (keyboard, mut program) = self.typing();
        keyboard.look(now, &mut program);
        let (takes, waits) = (self.child.takes_typing(), self.keyboard.held.must_wait());
        let Some(client) = self.terminals.client_mut(id) else { return };
        let mut pieces = pieces;
        // A run gets the rest of a sequence whose first half it has.
        if let (Some(rest), [first, others @ ..]) =
            (client.input.complete_head(takes, waits, pieces.first()), pieces)
        {
            self.events.extend(client.note_keys(first.class, first.range.end - first.range.start, now));
            let (keyboard, mut program) = self.typing();
            keyboard.type_persons(&rest, &mut program);
            pieces = others;
        }
        let any_key = pieces.iter().any(|piece| piece.class != InputClass::Report);
        if any_key {
            self.notifier.queue.typed(now);
        }
        let Some(client) = self.terminals.client_mut(id) else { return };
        if client.shows_page() {
            return self.leave_page(id, pieces);
        }
        if client.input.armed
            || client.is_read_only()
            || pieces.iter().any(|piece| piece.class == InputClass::Prefix)
        {
            for part in client.input.split(pieces) {
                self.take_part(id, part);
            }
            return;
        }
        if any_key {
            // The terminal that it was suspended in is its shell's by then. On any other one a key continues
            // it, as an attach does: there is no `fg`.
            let is_suspended = self.recorder.supervisor.state().state == SessionState::Stopped;
            if is_suspended && !self.terminals.leads(id) {
                self.signal_child(Signal(SIGCONT), true);
            }
            self.on_terminals(|terminals, scene| terminals.lead(id, scene));
        }
        let reports = pieces.iter().any(|piece| piece.class == InputClass::Report);
        // Claude leaves raw mode before it ends: its terminal would show an answer that arrives then.
        let answers = self.terminals.answers_queries(id)
            && !(reports && self.session.is_claude() && self.child.echoes_answers());
        let Some(client) = self.terminals.client_mut(id) else { return };
        for piece in pieces {
            self.events.extend(client.note_keys(piece.class, piece.range.end - piece.range.start, now));
        }
        if let Some(run) = self.child.run.as_ref().filter(|_| answers && !self.keyboard.held.must_wait()) {
            let bytes = client.input.take_pending(run.number);
            let (keyboard, mut program) = self.typing();
            return keyboard.type_persons(&bytes, &mut program);
        }
        let parts: Vec<_> = pieces.iter().map(|piece| (piece.class, client.input.cut(piece).bytes)).collect();
        let (keyboard, mut program) = self.typing();
        for (class, part) in parts {
            keyboard.give(class, part, answers, &mut program);
        }
    }

    /// A key on a page of hopty's own.
    fn leave_page(&mut self, id: u64, pieces: &[InputPiece]) {
        let Some(client) = self.terminals.client_mut(id) else { return };
        let PageKey::Closes(key) = client.input.page_key(pieces) else { return };
        let answers = client.take_page_answer();
        self.on_terminals(|terminals, scene| terminals.redraw(id, scene));
        if let Some(key) = key {
            self.obey(id, &key, answers);
        }
    }

    /// Handles a part of a client's input that may contain commands.
    fn take_part(&mut self, id: u64, part: InputPart) {
        let now = self.clock.now();
        match part {
            InputPart::Command(key) => self.obey(id, &key, None),
            InputPart::Keys(class, bytes) => {
                let client = self.terminals.client_mut(id).filter(|client| !client.is_read_only());
                let Some(client) = client.filter(|_| !bytes.is_empty()) else { return };
                self.events.extend(client.note_keys(class, bytes.len() as u64, now));
                let answers = self.terminals.answers_queries(id);
                let (keyboard, mut program) = self.typing();
                keyboard.give(class, bytes, answers, &mut program);
            }
        }
    }

    /// Handles a key after the prefix key. An unknown one does nothing: it was not meant for the child.
    /// `answers`: what a key means on the page that it has closed.
    fn obey(&mut self, id: u64, key: &[u8], answers: Option<PageAnswer>) {
        let Some(client) = self.terminals.client(id) else { return };
        let (size, read_only) = (client.size(), client.is_read_only());
        let cols = usize::from(size.drawn().0);
        let page = match order(key) {
            Some(Order::Detach) if self.session.private.is_some() => {
                let text = "\x1b[1mhopty\x1b[m no terminal could attach to this session again, so hopty does \
                            not detach this one.\n\nPress any key to return.";
                wrap_words(text, 0, cols)
            }
            Some(Order::Detach) => return self.detach(id),
            Some(Order::Redraw) => {
                return self.on_terminals(|terminals, scene| terminals.redraw(id, scene));
            }
            Some(Order::Help) => self.session.help_page(size.drawn(), read_only),
            Some(Order::Notices) => {
                let next = answers.and_then(PageAnswer::next_notice);
                self.on_terminals(|terminals, scene| terminals.show_notices(id, size, next, scene));
                return self.segment_may_differ();
            }
            Some(Order::Before | Order::Snooze) if !self.session.is_claude() => {
                wrap_words(&no_claude_page(&self.session.launch.called), 0, cols)
            }
            Some(Order::Before) => match self.recorder.supervisor.conversation_before() {
                Some(conversation) => return self.jobs.read_conversation(id, conversation, size),
                None => no_conversation_page(size),
            },
            // Not for read-only clients.
            Some(Order::HandOver | Order::Snooze) if read_only => {
                wrap_words(&watches_page(self.session.name()), 0, cols)
            }
            // What the program has not saved would be lost.
            Some(Order::HandOver) if !self.session.is_claude() && answers != Some(PageAnswer::Restart) => {
                let page = wrap_words(&restart_page(&self.session.launch.called), 0, cols);
                return self.on_terminals(|terminals, scene| terminals.ask_restart(id, &page, scene));
            }
            Some(Order::HandOver) => return self.hand_over_by_key(),
            Some(Order::Snooze) => {
                return self.events.push_back(Event::Ask { answer: AskAnswer::Snooze });
            }
            None => return,
        };
        self.on_terminals(|terminals, scene| terminals.show_page(id, &page, scene));
    }

    /// The keyboard, and the program as typed input reaches it.
    pub(in crate::host) fn typing(&mut self) -> (&mut Keyboard, ChildInput<'_>) {
        let program = ChildInput {
            child: &mut self.child,
            cast: &self.cast,
            clock: &self.clock,
            supervisor: &self.recorder.supervisor,
            is_claude: self.session.is_claude(),
            events: &mut self.events,
        };
        (&mut self.keyboard, program)
    }

    pub(in crate::host) fn type_held(&mut self) {
        let (now, in_a_sequence) = (self.clock.now(), self.terminals.is_in_a_sequence(None));
        let (keyboard, mut program) = self.typing();
        keyboard.type_held(now, in_a_sequence, &mut program);
    }

    /// Types text of hopty's or of a script's.
    pub(in crate::host) fn type_own(&mut self, bytes: &[u8]) {
        self.typing().1.type_own(bytes);
    }
}

/// The page that `r` and `s` show on a read-only client.
fn watches_page(name: &SessionName) -> String {
    format!(
        "\x1b[1mhopty\x1b[m this terminal only watches (`--read-only`): `hopty restart {name}` hands over, \
         `hopty handoff snooze {name}` snoozes hand-overs.\n\nPress any key to return."
    )
}

/// The question before `r` restarts a program other than Claude.
fn restart_page(called: &str) -> String {
    format!(
        "\x1b[1mhopty\x1b[m this ends {} and starts it again. What it has not saved is lost.\n\n\
         Press r to restart it, any other key to return.",
        safe_line(called)
    )
}

/// The page for a key about Claude's conversations if another program runs.
fn no_claude_page(called: &str) -> String {
    format!(
        "\x1b[1mhopty\x1b[m this session runs {}, not Claude: it has no hand-overs.\n\n\
         Press any key to return.",
        safe_line(called)
    )
}

/// The program, its screen, and the recording of its input.
pub(in crate::host) struct ChildInput<'host> {
    child: &'host mut Child,
    cast: &'host SessionCast,
    clock: &'host Clock,
    supervisor: &'host Supervisor,
    is_claude: bool,
    events: &'host mut VecDeque<Event>,
}

impl ProgramInput for ChildInput<'_> {
    fn type_persons(&mut self, bytes: &[u8]) {
        self.cast.input(bytes, || self.child.hides_input());
        self.child.type_persons(bytes);
    }

    fn type_own(&mut self, bytes: &[u8]) {
        self.cast.input(bytes, || self.child.hides_input());
        self.child.type_own(bytes);
    }

    fn now(&self) -> Stamp {
        self.clock.now()
    }

    fn is_idle(&self) -> bool {
        self.supervisor.state().state == SessionState::Idle
    }

    fn takes_answers(&self) -> bool {
        self.child.run.as_ref().is_some_and(|run| !run.is_muted())
    }

    fn target(&mut self, pasted: Option<&str>) -> TypingTarget {
        let view = if self.is_claude { self.child.view(self.events) } else { None };
        let blocked = self.supervisor.state().state == SessionState::Blocked;
        let focus =
            if self.is_claude { InputFocus::of_claude(view.as_ref(), blocked) } else { InputFocus::Prompt };
        let shown = view.and_then(|view| view.prompt_box);
        TypingTarget {
            run: self.child.run.as_ref().map(|run| run.number),
            focus,
            shows_pasted: pasted.is_some_and(|text| shown.is_some_and(|shown| shown.holds(text))),
            has_read_all: self.child.run.as_ref().is_none_or(ChildRun::has_read_all),
        }
    }
}
