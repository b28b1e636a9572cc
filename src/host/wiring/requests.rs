//! Requests on the control socket, and their answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::core::supervisor::action::Reply;
use crate::core::supervisor::event::{Asker, Event};
use crate::core::supervisor::sending::DRAFT;
use crate::host::Host;
use crate::host::control::{Awaited, ControlEvent, picture};
use crate::ipc::answers::{
    AcceptAnswer, AttachAnswer, BackAnswer, DetachAnswer, EventsAnswer, RestartAnswer, SendAnswer,
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

    /// Answers on a connection.
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
            Request::Wait(wanted) => self.wait(id, request, Awaited::Condition(wanted)),
            Request::Watch(wanted) => self.wait(id, request, Awaited::Change(wanted)),
            Request::Events => {
                let journal = self.claim.dir.join("journal.jsonl").to_string_lossy().into_owned();
                self.send(id, &ok_line(request, &EventsAnswer { journal }));
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
                    format!("session {} has ended", self.claim.name),
                    "`hopty ls --all` says how",
                );
                self.send(id, &error_line(request, &failure));
            }
            Request::Detach { client } => {
                let all = self.terminals.clients().filter(|(_, there)| !there.leaving);
                let meant: Vec<u64> = all
                    .filter(|(_, there)| client.is_none_or(|only| only == there.number))
                    .map(|(id, _)| id)
                    .collect();
                meant.iter().for_each(|client| self.detach(*client));
                self.send(id, &ok_line(request, &DetachAnswer { detached: meant.len() }));
            }
            Request::Attach(attach) => {
                let client = self.attach(id, &attach);
                self.send(id, &ok_line(request, &AttachAnswer { client, frames: true }));
            }
            Request::Record(wanted) if wanted.stop => self.stop_recording(id, request),
            Request::Record(wanted) => self.record(id, request, &wanted),
            Request::Mark { label } => self.mark(id, request, &label),
            Request::Label { add, remove } => self.label(id, request, &add, &remove),
            Request::Rename { name } => self.rename(id, request, &name),
            Request::Ask { answer } => self.ask_request(id, request, answer),
            // A hook comes as an event of its own, and what is not known was answered.
            Request::Hook { .. } | Request::Unknown => {}
        }
    }

    /// `hopty back`. Without an earlier conversation the supervisor is not asked.
    fn go_back(&mut self, id: u64, request: u64, now: bool) {
        if self.exit.is_none() && self.recorder.supervisor.conversation_before().is_none() {
            let hint = "`hopty back` undoes a hand-over; this session had none";
            let failure = Failure::new(Code::NotFound, "there is no earlier conversation", hint);
            return self.send(id, &error_line(request, &failure));
        }
        let number = self.control.owe(id, request);
        self.restart_asked(number);
        self.events.push_back(Event::Back { id: number, now });
    }

    pub(in crate::host) fn reply(&mut self, number: u64, with: &Reply) {
        self.sent_settled(number);
        self.key_answered(number, with);
        self.restart_decided(number, matches!(with, Reply::Accepted | Reply::Back { .. }));
        let Some((connection, request)) = self.control.settle(number) else { return };
        let seq = self.recorder.supervisor.seq();
        let line = match with {
            Reply::Accepted => ok_line(request, &AcceptAnswer::new(seq)),
            Reply::Sent { result } => {
                let result = Some((*result).into());
                ok_line(request, &SendAnswer { result, seq, ..SendAnswer::default() })
            }
            Reply::Refused { reason } => {
                self.control.waits_no_more(connection);
                let draft = if reason == DRAFT { self.draft_line() } else { None };
                let name = &self.claim.name;
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
                error_line(request, &Failure::new(Code::Refused, reason.clone(), hint))
            }
            Reply::Back { conversation, newer } => {
                let (conversation, newer) = (conversation.clone(), newer.clone());
                ok_line(request, &BackAnswer { conversation, newer })
            }
            Reply::Busy => {
                let hint =
                    format!("`hopty back {} --now` does not wait for the end of the turn", self.claim.name);
                error_line(
                    request,
                    &Failure::new(Code::Refused, "Claude is working, or waits for an answer", hint),
                )
            }
            Reply::Ended => error_line(request, &Failure::new(Code::Ended, "the session has ended", "")),
        };
        self.send(connection, &line);
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
}
