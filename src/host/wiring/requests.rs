//! Connections, requests and their answers, and the clients' frames.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use serde::Serialize;

use crate::core::config::RestartMode;
use crate::core::ids::SessionName;
use crate::core::process_change::Signal;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::action::{DecisionKind, Refusal, Reply};
use crate::core::supervisor::event::{Asker, Event, RestartOrder};
use crate::core::supervisor::handover_question::AskAnswer;
use crate::core::terminal::Size;
use crate::fs::session::{self, SessionError};
use crate::host::Host;
use crate::host::child::Child;
use crate::host::control::{
    self, Awaited, ConnectionUse, ControlEvent, WaitOutcome, WaitScene, screen_answer,
};
use crate::host::identity::{SessionIdentity, not_renamed, wanted_name};
use crate::host::jobs::JobEvent;
use crate::host::keyboard::Keyboard;
use crate::host::terminals::{Client, Terminals};
use crate::ipc::answers::{
    AcceptAnswer, AttachAnswer, BackAnswer, DetachAnswer, EventsAnswer, LabelAnswer, RenameAnswer,
    RowsAnswer, SendAnswer, SnoozeAnswer, WaitAnswer,
};
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::{Attach, Code, Record, Request, RequestError, RequestId, error_line, ok_line};

/// What [`Control`] needs to know about connections from the other parts.
pub(in crate::host) struct KnownConnections<'host> {
    terminals: &'host Terminals,
    keyboard: &'host Keyboard,
    child: &'host Child,
}

impl<'host> KnownConnections<'host> {
    pub fn of(terminals: &'host Terminals, keyboard: &'host Keyboard, child: &'host Child) -> Self {
        KnownConnections { terminals, keyboard, child }
    }
}

impl ConnectionUse for KnownConnections<'_> {
    fn is_relayed(&self, id: u64) -> bool {
        self.terminals.is_relayed(id)
    }

    fn typing_waits(&self) -> bool {
        self.keyboard.held.is_full() || self.child.input_is_full()
    }

    fn is_quiet(&self, id: u64) -> bool {
        self.terminals.client(id).is_none_or(Client::is_quiet)
    }

    fn is_needed(&self, id: u64) -> bool {
        self.terminals.is_launcher(id) || self.keyboard.queue.has(id)
    }
}

/// Connections and the clients' frames.
impl Host {
    pub(in crate::host) fn known_connections(&self) -> KnownConnections<'_> {
        KnownConnections::of(&self.terminals, &self.keyboard, &self.child)
    }

    /// Whether the program has enough unread input, so that the keyboard must wait.
    pub(in crate::host) fn typing_waits(&self) -> bool {
        self.known_connections().typing_waits()
    }

    /// Accepts the waiting connections.
    pub(in crate::host) fn accept(&mut self) {
        for _ in 0..control::TURN {
            if !self.control.accept(self.clock.now()) {
                return;
            }
            self.take_control_events();
        }
    }

    /// Handles what arrived on the connection that was read last.
    pub(in crate::host) fn take_control_events(&mut self) {
        loop {
            let known = KnownConnections::of(&self.terminals, &self.keyboard, &self.child);
            let Some(event) = self.control.next_event(self.clock.now(), &known) else { return };
            match event {
                ControlEvent::Request { request_id, .. } | ControlEvent::Hook { request_id, .. } => {
                    self.take_request(request_id, event)
                }
                ControlEvent::Failed { request_id } => self.request_failed(request_id),
                ControlEvent::Frame { connection, frame } => self.take_frame(connection, &frame),
                ControlEvent::Closed { connection, unread } => self.drop_connection(connection, unread),
            }
        }
    }

    fn attach(&mut self, id: u64, attach: &Attach) -> u32 {
        let wanted = &self.session.launch.config.program.update_env;
        self.child.client_env.extend(
            attach.env.iter().filter(|(name, _)| wanted.contains(name)).map(|(n, v)| (n.clone(), v.clone())),
        );
        let Some(process) = self.control.make_client(id) else { return 0 };
        let (client, how) = self.terminals.attach(id, attach, process, self.clock.now());
        self.events.push_back(Event::Attached { client, how });
        client
    }

    fn take_frame(&mut self, id: u64, frame: &Frame) {
        match frame.tag {
            tag::TERMINAL => self.take_terminal(id),
            tag::INPUT => self.typed(id, &frame.payload),
            tag::RESIZE => {
                if let Some(size) = read_size(&frame.payload) {
                    self.on_terminals(|terminals, scene| terminals.resize(id, size, scene));
                }
            }
            tag::RELEASE => self.on_terminals(|terminals, scene| terminals.release(id, scene)),
            tag::RESUME => self.on_terminals(|terminals, scene| terminals.resume(id, scene)),
            tag::DETACH => self.detach(id),
            tag::HANGUP => self.on_terminals(|terminals, scene| terminals.hang_up(id, scene)),
            tag::SIGNAL => {
                if let Some(number) = frame.payload.first() {
                    self.pass_signal(id, Signal(i32::from(*number)));
                }
            }
            _ => {}
        }
    }

    /// Passes on to the program a signal that a client received. A read-only client detaches instead.
    fn pass_signal(&mut self, id: u64, signal: Signal) {
        // Only these signals are passed on: a hostile client cannot make the host send any other.
        use nix::libc::{SIGCONT, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
        if ![SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2].contains(&signal.0) {
            return;
        }
        let ends = [SIGINT, SIGQUIT, SIGTERM].contains(&signal.0);
        if !self.terminals.is_in_charge(id) {
            if ends {
                self.detach(id);
            }
            return;
        }
        self.events.push_back(Event::Passed { signal });
        self.signal_child(signal, true);
        if ends {
            // Like a shell's `kill %1`: a stopped program must be continued to receive the signal.
            self.signal_child(Signal(SIGCONT), true);
        }
    }

    /// A connection broke, with or without a farewell. `unread`: the peer did not read what was sent last.
    fn drop_connection(&mut self, id: u64, unread: bool) {
        if self.terminals.lose_launcher(id) && self.terminals.clients().next().is_none() {
            // The client ended before it attached: Ctrl+C while hopty was starting.
            self.events.push_back(Event::Stop { id: 0, kill: false });
        }
        self.observer.forget_connection(id);
        let calls = self.control.drop_calls_of(id, unread);
        self.events.extend(calls.into_iter().map(|id| Event::HookGone { id }));
        self.on_terminals(|terminals, scene| terminals.lose(id, "hangup", scene));
    }

    /// Handles input that had to wait, closes connections that are due, and handles the clients' deadlines.
    pub(in crate::host) fn expire_connections(&mut self) {
        for id in self.control.ids() {
            let known = KnownConnections::of(&self.terminals, &self.keyboard, &self.child);
            self.control.read_on(id, &known);
            self.take_control_events();
            self.flush_typing(id);
        }
        self.on_terminals(Terminals::due);
        let known = KnownConnections::of(&self.terminals, &self.keyboard, &self.child);
        for id in self.control.due(self.clock.now(), &known) {
            self.terminals.remove(id);
        }
    }
}

impl Host {
    /// Carries out a request. A failed request costs its own answer, not the session.
    fn take_request(&mut self, request_id: RequestId, event: ControlEvent) {
        let done = catch_unwind(AssertUnwindSafe(|| {
            crate::sys::fault_injection::panic_at("request");
            match event {
                ControlEvent::Request { wanted, .. } => {
                    if let Err(failure) = self.request(request_id, wanted) {
                        self.refuse(request_id, failure);
                    }
                }
                ControlEvent::Hook { run, event, payload, .. } => {
                    self.hook_request(request_id, run, event, payload)
                }
                ControlEvent::Failed { .. } | ControlEvent::Frame { .. } | ControlEvent::Closed { .. } => {}
            }
        }));
        if done.is_err() {
            self.request_failed(request_id);
        }
    }

    /// A request failed inside the host: reports it to the peer and in the journal.
    fn request_failed(&mut self, request_id: RequestId) {
        let failure = RequestError::new(
            Code::Internal,
            "the request failed inside the host",
            "the session's host.log has the error",
        );
        self.refuse(request_id, failure);
        self.events.push_back(Event::Degraded { part: "request".to_owned() });
    }

    pub(in crate::host) fn answer<T: Serialize>(
        &mut self,
        request_id: RequestId,
        with: Result<T, RequestError>,
    ) {
        let line = match with {
            Ok(done) => ok_line(request_id.request, &done),
            Err(failure) => error_line(request_id.request, &failure),
        };
        self.control.send(request_id.connection, &line, self.clock.now());
    }

    pub(in crate::host) fn refuse(&mut self, request_id: RequestId, failure: RequestError) {
        self.answer::<()>(request_id, Err(failure));
    }

    /// Carries out a request, or says why not. Its answer may come later.
    fn request(&mut self, request_id: RequestId, wanted: Request) -> Result<(), RequestError> {
        let RequestId { connection: id, request } = request_id;
        match wanted {
            Request::Status => self.answer_status(request_id),
            Request::Context => {
                self.observer.context_waits(self.clock.now(), request_id);
                self.scan_when_due();
            }
            Request::Send(wanted) => self.try_send(request_id, &wanted)?,
            Request::Answer { dialog, option } => self.try_answer(request_id, &dialog, option)?,
            Request::Screen { history } => {
                let model = self.child.run.as_mut().map(|run| &mut run.model);
                let line = screen_answer::answer(request, model, history);
                self.control.send(id, &line, self.clock.now());
            }
            Request::Wait(wanted) => self.wait(request_id, Awaited::Condition(wanted))?,
            Request::Watch(wanted) => self.wait(request_id, Awaited::Change(wanted))?,
            Request::Events => {
                let path = self.session.claim.dir.join(session::JOURNAL);
                self.answer(request_id, Ok(EventsAnswer { journal: path.to_string_lossy().into_owned() }));
            }
            Request::Stop { kill } => {
                let number = self.control.register_request(request_id);
                self.control.waits_for_end(id);
                self.events.push_back(Event::Stop { id: number, kill });
            }
            Request::Restart { now: at_once, no_handoff, wait } => {
                let order = RestartOrder { at_once, handoff: !no_handoff };
                let number = self.control.register_request(request_id);
                if wait {
                    self.control.waits_for_restart(id, request);
                }
                let by = self.control.asker(id);
                if by == Asker::Person {
                    self.restart_asked(number);
                } else if let Some(reply) =
                    self.recorder.supervisor.restart_changes_nothing(self.clock.now(), order)
                {
                    // Repeated requests must not fill the journal.
                    self.reply(number, &reply);
                    return Ok(());
                }
                self.events.push_back(Event::Restart { id: number, by, order });
            }
            Request::Back { now } => self.go_back(request_id, now)?,
            Request::Attach(_)
                if self.exit.is_some() && self.terminals.had_clients() && !self.terminals.is_launcher(id) =>
            {
                let what = format!("session {} has ended", self.session.name());
                return Err(RequestError::new(Code::Ended, what, "`hopty ls --all` says how"));
            }
            Request::Detach { client } => self.detach_clients(request_id, client),
            Request::Attach(attach) => {
                let client = self.attach(id, &attach);
                self.answer(request_id, Ok(AttachAnswer { client, frames: true }));
            }
            Request::Record(wanted) => self.record(request_id, &wanted)?,
            Request::Mark { label } => {
                let marked = self.cast.mark(&label, &self.session.cast_subject())?;
                self.answer(request_id, Ok(marked));
            }
            Request::Label { add, remove } => {
                if self.session.change_labels(&add, &remove)? {
                    self.write_session_file();
                }
                self.answer(request_id, Ok(LabelAnswer { labels: self.session.launch.labels.clone() }));
            }
            Request::Rename { name } => self.begin_rename(request_id, &name)?,
            Request::Ask { answer } => {
                let person = self.control.asker(id) == Asker::Person;
                let done = ask_answer(&self.session, answer, person)?;
                self.events.push_back(Event::Ask { answer });
                self.answer(request_id, Ok(done));
            }
            // A hook call is another event, and an unknown request was answered.
            Request::Hook { .. } | Request::Unknown => {}
        }
        Ok(())
    }

    fn answer_status(&mut self, request_id: RequestId) {
        // Claude's screen is evidence, too, and is read on request.
        if let Some(run) = self.child.run.as_mut().filter(|run| !run.model.is_behind()) {
            run.model.look(|_| ());
        }
        self.read_claude_screen();
        self.settle();
        let mut status = self.status();
        if self.control.asker(request_id.connection) != Asker::Person {
            // What knows its name can open a terminal, as your user can: not from here.
            status.clients.iter_mut().for_each(|client| client.tty = None);
        }
        status.draft = self.draft_line();
        status.why = self.why(&status);
        self.answer(request_id, Ok(status.json()));
    }

    /// Detaches all clients, or `only` the one with this number.
    fn detach_clients(&mut self, request_id: RequestId, only: Option<u32>) {
        let all = self.terminals.clients().filter(|(_, there)| !there.has_left());
        let meant: Vec<u64> = all
            .filter(|(_, there)| only.is_none_or(|only| only == there.number()))
            .map(|(id, _)| id)
            .collect();
        meant.iter().for_each(|client| self.detach(*client));
        self.answer(request_id, Ok(DetachAnswer { detached: meant.len() }));
    }

    /// Starts or ends a recording; the answer follows when that is done.
    fn record(&mut self, request_id: RequestId, wanted: &Record) -> Result<(), RequestError> {
        let subject = self.session.cast_subject();
        if wanted.stop {
            let (cast, control) = (&mut self.cast, &mut self.control);
            return cast.stop(|| control.register_request(request_id), &subject);
        }
        let order = self.cast.ask(wanted, &subject, self.exit.is_some())?;
        let (number, own) = (self.control.register_request(request_id), self.session.recordings());
        self.jobs.open_recording(number, order, own, None);
        Ok(())
    }

    /// `hopty back`. Without an earlier conversation the supervisor is not asked.
    fn go_back(&mut self, request_id: RequestId, now: bool) -> Result<(), RequestError> {
        if !self.session.is_claude() {
            return Err(not_claude(&self.session));
        }
        if self.exit.is_none() && self.recorder.supervisor.conversation_before().is_none() {
            let hint = "`hopty back` undoes a hand-over; this session had none";
            return Err(RequestError::new(Code::NotFound, "there is no earlier conversation", hint));
        }
        let number = self.control.register_request(request_id);
        self.restart_asked(number);
        self.events.push_back(Event::Back { id: number, now });
        Ok(())
    }

    /// A person requests a restart. Settings count as accepted only once the restart is decided.
    pub(super) fn restart_asked(&mut self, number: u64) {
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from);
        self.jobs.code.restart_requested(number, next);
    }

    /// Lets a thread move the session's directory.
    fn begin_rename(&mut self, request_id: RequestId, name: &str) -> Result<(), RequestError> {
        let name = wanted_name(name)?;
        if name == *self.session.name() {
            self.answer(request_id, Ok(RenameAnswer { name: name.clone(), before: name }));
            return Ok(());
        }
        if self.exit.is_some() {
            return Err(RequestError::session_has_ended());
        }
        let order = self.session.rename_order(name.clone(), self.control.socket().to_owned());
        self.jobs.write_launch(move || JobEvent::Renamed(request_id, name, order()));
        Ok(())
    }

    pub(super) fn end_rename(
        &mut self,
        request_id: RequestId,
        name: SessionName,
        done: Result<PathBuf, SessionError>,
    ) {
        let dir = match done {
            Ok(dir) => dir,
            Err(error) => return self.refuse(request_id, not_renamed(&name, &error)),
        };
        let before = self.session.name().clone();
        self.session.claim.take_name(name.clone(), dir);
        self.control.add_name(&name, self.session.paths.socket(&name));
        self.jobs.journal.moved(&self.session.claim.dir);
        self.write_session_file();
        self.observer.scan_all();
        self.segment_may_differ();
        self.answer(request_id, Ok(RenameAnswer { name, before }));
    }

    fn wait(&mut self, request_id: RequestId, wanted: Awaited) -> Result<(), RequestError> {
        let launch = &self.session.launch;
        let plain = (launch.agent == ProgramKind::Plain).then_some(&*launch.called);
        let screen = self.child.run.as_ref().map(|run| (run.number, &run.model));
        self.control.waits.ask(request_id, wanted, plain, screen, self.clock.now())
    }

    /// Answers the requests whose condition holds or whose time is up.
    pub(in crate::host) fn answer_waits(&mut self) {
        let now = self.clock.now();
        for waiting in self.control.waits.take() {
            if self.control.connection(waiting.request_id.connection).is_none() {
                continue;
            }
            let answer = waiting.answer(&mut WaitScene {
                supervisor: &self.recorder.supervisor,
                screen: self.child.run.as_mut().map(|run| (run.number, &mut run.model)),
                ended: self.exit.is_some(),
                now,
            });
            let Some(answer) = answer else {
                self.control.waits.put_back(waiting);
                continue;
            };
            let request_id = waiting.request_id;
            match answer {
                WaitOutcome::Session { met } => {
                    let session = Some(self.status());
                    self.answer(request_id, Ok(WaitAnswer { met, session, screen: RowsAnswer::default() }));
                }
                WaitOutcome::Screen(screen) => {
                    self.answer(request_id, Ok(WaitAnswer { met: !screen.degraded, session: None, screen }));
                }
                WaitOutcome::Change(answer) => self.answer(request_id, Ok(answer)),
                WaitOutcome::Refused(failure) => self.refuse(request_id, failure),
            }
            // The text may be in the program's last output, and the client may still ask for it.
            if waiting.wanted.shows_screen() && self.exit.is_none() {
                self.control.expect_request(waiting.request_id.connection, now);
            }
        }
    }

    pub(in crate::host) fn reply(&mut self, number: u64, with: &Reply) {
        // A prompt that was submitted without Enter by hopty has its mark taken now.
        if matches!(with, Reply::Sent { .. }) {
            self.mark_prompt();
        }
        let mark = self.keyboard.queue.prompt_mark();
        if self.keyboard.queue.settle(number) {
            self.observer.stop_seeking();
        }
        // A key has no answer of its own: a refusal becomes a notice.
        if self.control.settle_key(number)
            && let Reply::Refused(Refusal { reason, .. }) = with
        {
            self.notice(DecisionKind::RestartIgnored, &format!("No hand-over: {reason}."));
        }
        let accepted = matches!(with, Reply::Accepted | Reply::Back { .. });
        let (next, now) = (self.recorder.supervisor.next_dir().map(PathBuf::from), self.clock.now());
        self.jobs.restart_decided(number, accepted, &self.session, next, now);
        let Some(request_id) = self.control.settle(number) else { return };
        let seq = self.recorder.supervisor.seq();
        let failure = match with {
            Reply::Accepted => return self.answer(request_id, Ok(AcceptAnswer::new(seq))),
            Reply::Sent { result } => {
                let result = Some((*result).into());
                return self
                    .answer(request_id, Ok(SendAnswer { result, seq, mark, ..SendAnswer::default() }));
            }
            Reply::Refused(Refusal { reason, for_draft }) => {
                self.control.waits_no_more(request_id.connection);
                let draft = if *for_draft { self.draft_line() } else { None };
                let (name, status) = (&self.session.claim.name, self.status());
                let hint = match (draft, status.continue_hint()) {
                    (_, Some(way)) => way,
                    (Some(draft), _) => {
                        format!("it reads \"{draft}\"; `hopty send {name} --keys ctrl-c` clears it")
                    }
                    _ if status.waits_in_dialog() => {
                        format!("`hopty attach {name}` answers it, `hopty screen {name}` shows it")
                    }
                    _ => format!(
                        "`hopty screen {name}` shows Claude's screen, `hopty why {name}` what hopty does"
                    ),
                };
                RequestError::new(Code::Refused, reason.clone(), hint)
            }
            Reply::Back { conversation, newer } => {
                let (conversation, newer) = (conversation.clone(), newer.clone());
                return self.answer(request_id, Ok(BackAnswer { conversation, newer }));
            }
            Reply::Busy => {
                let hint = format!(
                    "`hopty back {} --now` does not wait for the end of the turn",
                    self.session.claim.name
                );
                RequestError::new(Code::Refused, "Claude is working, or waits for an answer", hint)
            }
            Reply::Ended => RequestError::session_has_ended(),
        };
        self.refuse(request_id, failure);
    }

    /// Whether the conversation has neither a prompt nor an answer, as far as its transcript shows.
    pub(super) fn shows_no_prompt(&self) -> bool {
        self.observer.has_no_prompt() && self.context().known_percent().is_none()
    }

    /// The prefix key and `r`. Not for read-only clients.
    pub(super) fn hand_over_by_key(&mut self) {
        let has_no_prompt = self.shows_no_prompt();
        // A prompt that was just submitted is not in the transcript yet.
        let supervisor = &self.recorder.supervisor;
        // If a hand-over is impossible, the supervisor says why.
        let can = supervisor.policy().no_handover.is_none();
        let may_have = supervisor.may_have_prompt(self.clock.now());
        if self.session.is_claude() && can && has_no_prompt && !may_have {
            // It would cost a prompt and carry nothing over.
            let text = "No hand-over: nothing has been said in this conversation yet.";
            return self.notice(DecisionKind::RestartIgnored, text);
        }
        let id = self.control.register_key();
        self.restart_asked(id);
        self.events.push_back(Event::Restart { id, by: Asker::Person, order: RestartOrder::USUAL });
    }
}

/// The error for a program without conversations.
fn not_claude(session: &SessionIdentity) -> RequestError {
    let hint = format!("`hopty status {}` shows what it runs", session.name());
    RequestError::new(Code::Refused, "it does not run Claude", hint)
}

/// The answer to an `ask` request.
fn ask_answer(
    session: &SessionIdentity,
    answer: AskAnswer,
    person: bool,
) -> Result<SnoozeAnswer, RequestError> {
    let restart = &session.launch.config.restart;
    let puts_off = answer == AskAnswer::Snooze && person && session.is_claude();
    if puts_off || restart.mode == RestartMode::Ask {
        let snooze = (answer == AskAnswer::Snooze).then_some(restart.snooze);
        return Ok(SnoozeAnswer { ask: answer, snooze });
    }
    if !session.is_claude() {
        return Err(not_claude(session));
    }
    let hint = "set `[restart] mode = \"ask\"` to be asked";
    Err(RequestError::new(Code::Refused, "this session asks no questions", hint))
}

fn read_size(payload: &[u8]) -> Option<Size> {
    let part = |n: usize| Some(u16::from_le_bytes([*payload.get(2 * n)?, *payload.get(2 * n + 1)?]));
    Some(Size { cols: part(0)?, rows: part(1)?, xpixel: part(2)?, ypixel: part(3)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_frame_must_be_whole() {
        let size = Size { cols: 80, rows: 24, xpixel: 1, ypixel: 258 };
        assert_eq!(read_size(&[80, 0, 24, 0, 1, 0, 2, 1]), Some(size));
        assert_eq!(read_size(&[80, 0, 24, 0, 1, 0, 2]), None);
    }
}
