//! Requests on the control socket, and their answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use serde::Serialize;

use crate::core::config::RestartMode;
use crate::core::ids::SessionName;
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::{DecisionKind, Reply};
use crate::core::supervisor::event::{Asker, Event};
use crate::core::supervisor::question::AskAnswer;
use crate::core::supervisor::sending::DRAFT;
use crate::fs::session::SessionError;
use crate::host::Host;
use crate::host::control::{Awaited, ControlEvent, WaitOutcome, WaitScene, picture};
use crate::host::identity::{SessionIdentity, not_renamed, wanted_name};
use crate::host::jobs::JobEvent;
use crate::ipc::answers::{
    AcceptAnswer, AttachAnswer, BackAnswer, DetachAnswer, EventsAnswer, LabelAnswer, RenameAnswer,
    RestartAnswer, RowsAnswer, SendAnswer, SnoozeAnswer, WaitAnswer,
};
use crate::ipc::message::{Code, Failure, Request, error_line, ok_line};

impl Host {
    /// Does what a peer asks for. A failed request costs its own answer, not the session.
    pub(super) fn take_request(&mut self, id: u64, request: u64, asked: ControlEvent) {
        let done = catch_unwind(AssertUnwindSafe(|| {
            #[cfg(debug_assertions)]
            crate::host::event_loop::panic_when_asked("request");
            match asked {
                ControlEvent::Request { wanted, .. } => self.request(id, request, wanted),
                ControlEvent::Hook { run, event, payload, .. } => {
                    self.hook_request((id, request), run, event, payload)
                }
                ControlEvent::Failed { .. } | ControlEvent::Frame { .. } | ControlEvent::Closed { .. } => {}
            }
        }));
        if done.is_err() {
            self.request_failed(id, request);
        }
    }

    /// A request failed inside the host: its peer is told, and so is the journal.
    pub(super) fn request_failed(&mut self, id: u64, request: u64) {
        let failure = Failure::new(
            Code::Internal,
            "the request failed inside the host",
            "the session's host.log has the error",
        );
        self.send(id, &error_line(request, &failure));
        self.events.push_back(Event::Degraded { part: "request".to_owned() });
    }

    /// Answers a request of a connection.
    pub(in crate::host) fn answer<T: Serialize>(
        &mut self,
        (id, request): (u64, u64),
        with: Result<T, Failure>,
    ) {
        let line = match with {
            Ok(done) => ok_line(request, &done),
            Err(failure) => error_line(request, &failure),
        };
        self.send(id, &line);
    }

    /// Refuses a request of a connection.
    pub(in crate::host) fn refuse(&mut self, (id, request): (u64, u64), failure: &Failure) {
        self.send(id, &error_line(request, failure));
    }

    /// Sends a line on a connection.
    pub(in crate::host) fn send(&mut self, id: u64, line: &str) {
        self.control.send(id, line, self.clock.now());
    }

    fn request(&mut self, id: u64, request: u64, wanted: Request) {
        match wanted {
            Request::Status => {
                // Claude's screen is evidence too, and is read on request.
                if let Some(run) = self.child.run.as_mut().filter(|run| !run.model.is_behind()) {
                    run.model.look(|_| ());
                }
                self.look_at_screen();
                self.settle();
                let mut status = self.status();
                status.draft = self.draft_line();
                status.why = self.why(&status);
                self.send(id, &ok_line(request, &status.json()));
            }
            Request::Context => self.context_asked(id, request),
            Request::Send(wanted) => self.send_request(id, request, &wanted),
            Request::Answer { dialog, option } => self.answer_request(id, request, &dialog, option),
            Request::Screen { history } => {
                let model = self.child.run.as_mut().map(|run| &mut run.model);
                let line = picture::answer(request, model, history);
                self.send(id, &line);
            }
            Request::Wait(wanted) => self.wait((id, request), Awaited::Condition(wanted)),
            Request::Watch(wanted) => self.wait((id, request), Awaited::Change(wanted)),
            Request::Events => {
                let path = self.session.claim.dir.join("journal.jsonl");
                self.answer((id, request), Ok(EventsAnswer { journal: path.to_string_lossy().into_owned() }));
            }
            Request::Stop { kill } => {
                let number = self.control.owe(id, request);
                self.control.waits_for_end(id);
                self.events.push_back(Event::Stop { id: number, kill });
            }
            Request::Restart { now, no_handoff, wait } => {
                let number = self.control.owe(id, request);
                if wait {
                    self.control.waits_for_restart(id, request);
                }
                let by = self.control.asker(id);
                if by == Asker::Person {
                    self.restart_asked(number);
                }
                self.events.push_back(Event::Restart { id: number, by, now, handoff: !no_handoff });
            }
            Request::Back { now } => self.go_back(id, request, now),
            Request::Attach(_)
                if self.exit.is_some() && self.terminals.had_clients() && !self.terminals.is_launcher(id) =>
            {
                let failure = Failure::new(
                    Code::Ended,
                    format!("session {} has ended", self.session.claim.name),
                    "`hopty ls --all` says how",
                );
                self.refuse((id, request), &failure);
            }
            Request::Detach { client } => {
                let all = self.terminals.clients().filter(|(_, there)| !there.leaving);
                let meant: Vec<u64> = all
                    .filter(|(_, there)| client.is_none_or(|only| only == there.number))
                    .map(|(id, _)| id)
                    .collect();
                meant.iter().for_each(|client| self.detach(*client));
                self.answer((id, request), Ok(DetachAnswer { detached: meant.len() }));
            }
            Request::Attach(attach) => {
                let client = self.attach(id, &attach);
                self.answer((id, request), Ok(AttachAnswer { client, frames: true }));
            }
            Request::Record(wanted) if wanted.stop => {
                let (cast, control) = (&mut self.cast, &mut self.control);
                let stopped = cast.stop(|| control.owe(id, request), &self.session.cast_subject());
                if let Err(failure) = stopped {
                    self.refuse((id, request), &failure);
                }
            }
            Request::Record(wanted) => {
                match self.cast.ask(&wanted, &self.session.cast_subject(), self.exit.is_some()) {
                    Ok(order) => {
                        let (number, own) = (self.control.owe(id, request), self.session.recordings());
                        self.jobs.open_recording(number, order, own, None);
                    }
                    Err(failure) => self.refuse((id, request), &failure),
                }
            }
            Request::Mark { label } => {
                let marked = self.cast.mark(&label, &self.session.cast_subject(), &self.clock);
                self.answer((id, request), marked);
            }
            Request::Label { add, remove } => {
                let changed = self.session.change_labels(&add, &remove);
                if changed == Ok(true) {
                    self.write_session_file();
                }
                let labels = changed.map(|_| LabelAnswer { labels: self.session.launch.labels.clone() });
                self.answer((id, request), labels);
            }
            Request::Rename { name } => self.rename((id, request), &name),
            Request::Ask { answer } => {
                let person = self.control.asker(id) == Asker::Person;
                let asked = ask_answer(&self.session, answer, person);
                if asked.is_ok() {
                    self.events.push_back(Event::Ask { answer });
                }
                self.answer((id, request), asked);
            }
            // A hook comes as an event of its own, and what is not known was answered.
            Request::Hook { .. } | Request::Unknown => {}
        }
    }

    /// `hopty back`. Without an earlier conversation the supervisor is not asked.
    fn go_back(&mut self, id: u64, request: u64, now: bool) {
        if self.exit.is_none() && self.recorder.supervisor.conversation_before().is_none() {
            let hint = "`hopty back` undoes a hand-over; this session had none";
            let failure = Failure::new(Code::NotFound, "there is no earlier conversation", hint);
            return self.refuse((id, request), &failure);
        }
        let number = self.control.owe(id, request);
        self.restart_asked(number);
        self.events.push_back(Event::Back { id: number, now });
    }

    /// A person requests a restart. Nothing is accepted before it is clear that there will be one.
    pub(super) fn restart_asked(&mut self, number: u64) {
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from);
        self.jobs.code.restart_requested(number, next);
    }

    /// Has a thread move the session's directory.
    fn rename(&mut self, asked: (u64, u64), name: &str) {
        let name = match wanted_name(name) {
            Ok(name) => name,
            Err(failure) => return self.refuse(asked, &failure),
        };
        if name == *self.name() {
            return self.answer(asked, Ok(RenameAnswer { name: name.clone(), before: name }));
        }
        if self.exit.is_some() {
            return self.refuse(asked, &Failure::new(Code::Ended, "the session has ended", ""));
        }
        let order = self.session.rename_order(name.clone(), self.control.socket().to_owned());
        self.jobs.write_launch(move || JobEvent::Renamed(asked, name, order()));
    }

    /// The directory has moved, or could not be moved.
    pub(super) fn renamed(
        &mut self,
        asked: (u64, u64),
        name: SessionName,
        done: Result<PathBuf, SessionError>,
    ) {
        let dir = match done {
            Ok(dir) => dir,
            Err(error) => return self.refuse(asked, &not_renamed(&name, &error)),
        };
        let before = self.name().clone();
        self.session.claim.renamed(name.clone(), dir);
        self.control.rename(&name, self.session.paths.socket(&name));
        self.jobs.journal.moved(&self.session.claim.dir);
        self.write_session_file();
        self.observer.scan_all();
        self.segment_may_differ();
        self.answer(asked, Ok(RenameAnswer { name, before }));
    }

    fn wait(&mut self, asked: (u64, u64), wanted: Awaited) {
        let launch = &self.session.launch;
        let plain = (launch.agent == Agent::Plain).then_some(&*launch.called);
        let screen = self.child.run.as_ref().map(|run| (run.number, &run.model));
        if let Err(failure) = self.control.waits.ask(asked, wanted, plain, screen, self.clock.now()) {
            self.refuse(asked, &failure);
        }
    }

    /// Answers the requests whose condition holds or whose time is up.
    pub(in crate::host) fn answer_waits(&mut self) {
        let now = self.clock.now();
        for waiting in self.control.waits.take() {
            if self.control.connection(waiting.connection).is_none() {
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
            let asked = (waiting.connection, waiting.request);
            match answer {
                WaitOutcome::Session { met } => {
                    let session = Some(self.status());
                    self.answer(asked, Ok(WaitAnswer { met, session, screen: RowsAnswer::default() }));
                }
                WaitOutcome::Screen(screen) => {
                    self.answer(asked, Ok(WaitAnswer { met: !screen.degraded, session: None, screen }));
                }
                WaitOutcome::Change(answer) => self.answer(asked, Ok(answer)),
                WaitOutcome::Refused(failure) => self.refuse(asked, &failure),
            }
            // The text may be in the program's last output, and the client may ask for it afterwards.
            if waiting.wanted.shows_screen() && self.exit.is_none() {
                self.control.expect_request(waiting.connection, now);
            }
        }
    }

    pub(in crate::host) fn reply(&mut self, number: u64, with: &Reply) {
        self.sent_settled(number);
        // A key has no answer of its own: a refusal becomes a notice.
        if self.control.settle_key(number)
            && let Reply::Refused { reason } = with
        {
            self.notice(DecisionKind::RestartIgnored, &format!("No hand-over: {reason}."));
        }
        let accepted = matches!(with, Reply::Accepted | Reply::Back { .. });
        let (next, now) = (self.recorder.supervisor.next_dir().map(PathBuf::from), self.clock.now());
        self.jobs.restart_decided((number, accepted), &self.session, next, now);
        let Some(asked) = self.control.settle(number) else { return };
        let seq = self.recorder.supervisor.seq();
        let failure = match with {
            Reply::Accepted => return self.answer(asked, Ok(AcceptAnswer::new(seq))),
            Reply::Sent { result } => {
                let result = Some((*result).into());
                return self.answer(asked, Ok(SendAnswer { result, seq, ..SendAnswer::default() }));
            }
            Reply::Refused { reason } => {
                self.control.waits_no_more(asked.0);
                let draft = if reason == DRAFT { self.draft_line() } else { None };
                let name = &self.session.claim.name;
                let hint = match draft {
                    Some(draft) => {
                        format!("it reads \"{draft}\"; `hopty send {name} --keys ctrl-c` clears it")
                    }
                    None if self.status().waits_in_a_dialog() => {
                        format!("`hopty attach {name}` answers it, `hopty screen {name}` shows it")
                    }
                    None => format!(
                        "`hopty screen {name}` shows Claude's screen, `hopty why {name}` what hopty does"
                    ),
                };
                Failure::new(Code::Refused, reason.clone(), hint)
            }
            Reply::Back { conversation, newer } => {
                let (conversation, newer) = (conversation.clone(), newer.clone());
                return self.answer(asked, Ok(BackAnswer { conversation, newer }));
            }
            Reply::Busy => {
                let hint = format!(
                    "`hopty back {} --now` does not wait for the end of the turn",
                    self.session.claim.name
                );
                Failure::new(Code::Refused, "Claude is working, or waits for an answer", hint)
            }
            Reply::Ended => Failure::new(Code::Ended, "the session has ended", ""),
        };
        self.refuse(asked, &failure);
    }

    /// Tells those who wait for the end of a restart.
    pub(in crate::host) fn restart_settled(&mut self, outcome: &Result<RestartAnswer, String>) {
        for (id, request) in self.control.take_restart_waits() {
            let line = match outcome {
                Ok(done) => ok_line(request, done),
                Err(why) => {
                    error_line(request, &Failure::new(Code::Ended, why.clone(), "`hopty why` says more"))
                }
            };
            self.send(id, &line);
        }
    }

    /// The prefix key and `r`. A client that only watches decides nothing.
    pub(super) fn hand_over_by_key(&mut self) {
        let has_no_prompt = self.observer.has_no_prompt() && self.context().known_percent().is_none();
        if self.session.is_claude() && has_no_prompt {
            // It would cost a prompt and tell the fresh conversation nothing.
            let text = "No hand-over: nothing has been said in this conversation yet.";
            return self.notice(DecisionKind::RestartIgnored, text);
        }
        let id = self.control.owe_key();
        self.restart_asked(id);
        self.events.push_back(Event::Restart { id, by: Asker::Person, now: false, handoff: true });
    }
}

/// The answer to a request that answers the question of mode `ask`.
fn ask_answer(session: &SessionIdentity, answer: AskAnswer, person: bool) -> Result<SnoozeAnswer, Failure> {
    let restart = &session.launch.config.restart;
    let puts_off = answer == AskAnswer::Snooze && person && session.is_claude();
    if puts_off || restart.mode == RestartMode::Ask {
        let snooze = (answer == AskAnswer::Snooze).then_some(restart.snooze);
        return Ok(SnoozeAnswer { ask: answer, snooze });
    }
    let hint = "set `[restart] mode = \"ask\"` to be asked";
    Err(Failure::new(Code::Refused, "this session asks no questions", hint))
}
