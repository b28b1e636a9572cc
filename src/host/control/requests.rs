//! Requests on the control socket: who may make which, and the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::{Value, json};

use crate::core::claude::hooks;
use crate::core::handoff::text::cut_bytes;
use crate::core::ids::HandoffId;
use crate::core::supervisor::action::{HookAnswer, HookInstruction, Reply};
use crate::core::supervisor::compaction::Compaction;
use crate::core::supervisor::event::{Asker, Event, HookEvent, PromptOf};
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::jobs::NoteState;
use crate::host::jobs::start_code::{CodeFound, UNREADABLE};
use crate::host::picture::Above;
use crate::ipc::message::{
    ClientHello, Code, Failure, HostHello, PROTOCOL, Request, error_line, ok_line, parse_request,
};

/// How long a PreCompact call waits for its record, in ms. Claude aborts it after 30 s.
const RECORD_MS: u64 = 10_000;
/// The longest working directory that is accepted from a hook, in bytes.
const MAX_DIR: usize = 4096;

/// A hook call without an answer yet.
#[derive(Debug)]
pub(in crate::host) struct HookCall {
    /// Its connection, and the id of its request there.
    pub connection: u64,
    pub request: u64,
    pub call: hooks::Call,
    /// The lines that it waits for, and until when.
    pub awaits: Option<(crate::core::supervisor::action::Want, Stamp)>,
    /// PreCompact: a record is being saved, and until when the call waits for it.
    pub saves: Option<Stamp>,
}

impl Host {
    pub(in crate::host) fn take_line(&mut self, id: u64, line: &[u8]) {
        let greeted = self.connections.get(&id).is_some_and(|c| c.greeted);
        if !greeted {
            self.greet(id, line);
            return;
        }
        let now = self.clock.now();
        if let Some(connection) = self.connections.get_mut(&id) {
            (connection.asks, connection.active) = (None, now);
        }
        match parse_request(line) {
            Ok((request, wanted)) => {
                // A failed request costs its own answer, not the session.
                let done = catch_unwind(AssertUnwindSafe(|| {
                    #[cfg(debug_assertions)]
                    crate::host::event_loop::panic_when_asked("request");
                    self.request(id, request, wanted);
                }));
                if done.is_err() {
                    let failure = Failure::new(
                        Code::Internal,
                        "the request failed inside the host",
                        "the session's host.log has the error",
                    );
                    self.send(id, &error_line(request, &failure));
                    self.events.push_back(Event::Degraded { part: "request".to_owned() });
                }
            }
            Err((request, failure)) => self.send(id, &error_line(request, &failure)),
        }
    }

    /// The host's first line.
    pub(in crate::host) fn hello(&self) -> String {
        let hello = HostHello {
            hopty: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session: self.claim.name.to_string(),
            run: self.recorder.supervisor.run(),
            max_frame: crate::ipc::frame::MAX_PAYLOAD,
        };
        format!("{}\n", json!(hello))
    }

    fn greet(&mut self, id: u64, line: &[u8]) {
        let hello: Result<ClientHello, _> = serde_json::from_slice(line);
        let known = matches!(&hello, Ok(hello) if hello.hopty == PROTOCOL);
        let answer = self.hello();
        self.send(id, &answer);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.greeted = true;
        }
        if !known {
            self.close_connection(id);
            let failure = Failure::new(
                Code::Version,
                format!("this host speaks protocol {PROTOCOL}"),
                "use the version of hopty that started the session, or restart the session",
            );
            self.send(id, &error_line(0, &failure));
        }
    }

    pub(in crate::host) fn send(&mut self, id: u64, line: &str) {
        let now = self.clock.now();
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.stream.send(line.as_bytes());
            connection.active = now;
        }
    }

    fn request(&mut self, id: u64, request: u64, wanted: Request) {
        if let Some(failure) = self.refusal(id, &wanted) {
            self.send(id, &error_line(request, &failure));
            return;
        }
        match wanted {
            Request::Status => {
                // Claude's screen is evidence too, and is read on request.
                if let Some(run) = self.child.run.as_mut().filter(|run| !run.model.is_behind()) {
                    run.model.look(|_| ());
                }
                self.look_at_screen();
                self.settle();
                let status = self.status().json();
                self.send(id, &ok_line(request, &status));
            }
            Request::Context => self.context_asked(id, request),
            Request::Send(wanted) => self.send_request(id, request, &wanted),
            Request::Screen { history: true } => self.screen(id, request, Above::Wanted),
            Request::Screen { history: false } => self.screen(id, request, Above::Left),
            Request::Wait(wanted) => self.wait(id, request, wanted),
            Request::Events => {
                let path = self.claim.dir.join("journal.jsonl");
                self.send(id, &ok_line(request, &json!({"journal": path.to_string_lossy()})));
            }
            Request::Stop { kill } => {
                let number = self.remember(id, request);
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.stops = true;
                }
                self.events.push_back(Event::Stop { id: number, kill });
            }
            Request::Restart { now, no_handoff, wait } => {
                let number = self.remember(id, request);
                if wait && let Some(connection) = self.connections.get_mut(&id) {
                    connection.waits = Some(request);
                }
                let by = self.asker(id);
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
                self.send(id, &ok_line(request, &json!({"detached": meant.len()})));
            }
            Request::Attach(attach) => {
                let client = self.attach(id, &attach);
                self.send(id, &ok_line(request, &json!({"client": client, "frames": true})));
            }
            Request::Ask { answer } => self.ask_request(id, request, answer),
            Request::Hook { run: Some(run), .. } if run != 0 && run != self.recorder.supervisor.run() => {
                self.send(id, &ok_line(request, &json!({"stdout": ""})));
            }
            Request::Hook { event, payload, .. } if event == "StatusLine" => {
                if self.observer.status_line(&payload, self.clock.now()) {
                    self.tell_transcript();
                }
                self.send(id, &ok_line(request, &json!({"stdout": ""})));
            }
            Request::Hook { event, payload, .. } => self.hook_asks(id, request, event, payload),
        }
    }

    /// `hopty back`. Without an earlier conversation the supervisor is not asked.
    fn go_back(&mut self, id: u64, request: u64, now: bool) {
        if self.exit.is_none() && self.recorder.supervisor.conversation_before().is_none() {
            let hint = "`hopty back` undoes a hand-over, and this session had none";
            let failure = Failure::new(Code::NotFound, "there is no conversation before this one", hint);
            return self.send(id, &error_line(request, &failure));
        }
        let number = self.remember(id, request);
        self.restart_asked(number);
        self.events.push_back(Event::Back { id: number, now });
    }

    /// A number for the supervisor with which its answer finds the request.
    pub(in crate::host) fn remember(&mut self, connection: u64, request: u64) -> u64 {
        let number = self.next_id;
        self.next_id += 1;
        self.asked.insert(number, (connection, request));
        number
    }

    pub(in crate::host) fn reply(&mut self, number: u64, with: &Reply) {
        self.sent_settled(number);
        self.key_answered(number, with);
        self.restart_decided(number, matches!(with, Reply::Accepted | Reply::Back { .. }));
        let Some((connection, request)) = self.asked.remove(&number) else { return };
        let seq = self.recorder.supervisor.seq();
        let line = match with {
            Reply::Accepted => ok_line(request, &json!({"request": seq, "state": "accepted"})),
            Reply::Sent { result } => ok_line(request, &json!({"result": result, "seq": seq})),
            Reply::Refused { reason } => {
                if let Some(c) = self.connections.get_mut(&connection) {
                    c.waits = None;
                }
                error_line(
                    request,
                    &Failure::new(Code::Refused, reason.clone(), "`hopty why` says what is going on"),
                )
            }
            Reply::Back { conversation, newer } => {
                ok_line(request, &json!({"conversation": conversation, "newer": newer}))
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
    pub(in crate::host) fn restart_settled(&mut self, outcome: &Result<Value, String>) {
        let waiting: Vec<(u64, u64)> =
            self.connections.iter_mut().filter_map(|(id, c)| Some((*id, c.waits.take()?))).collect();
        for (id, request) in waiting {
            let line = match outcome {
                Ok(done) => ok_line(request, done),
                Err(why) => {
                    error_line(request, &Failure::new(Code::Ended, why.clone(), "`hopty why` says more"))
                }
            };
            self.send(id, &line);
        }
    }

    /// Handles a hook call; Claude's earlier output was read before. `believed`: the transcript that it names
    /// may be one.
    pub(in crate::host) fn hook_called(
        &mut self,
        connection: u64,
        request: u64,
        event: &str,
        payload: &Value,
        believed: bool,
    ) {
        let expected = self.brief.as_ref().map(|frame| frame.id.clone());
        let mut call = hooks::read(event, payload, expected.as_ref());
        let hook = &mut call.hook;
        if !believed {
            hook.transcript = None;
        }
        let is_current = !hook.agent && hook.conversation.as_ref() == self.recorder.supervisor.conversation();
        if call.hook.prompt == Some(PromptOf::Person)
            && payload["prompt"].as_str().is_some_and(|prompt| self.keyboard.queue.is(prompt))
        {
            call.hook.prompt = Some(PromptOf::Sent);
        }
        let begins = |prompt: &String| self.keyboard.carried.begins(self.recorder.supervisor.run(), prompt);
        if call.hook.prompt == Some(PromptOf::Person)
            && is_current
            && call.prompt.as_ref().is_some_and(begins)
        {
            call.hook.prompt = Some(PromptOf::Ours);
        }
        if let Some(model) = call.model.as_ref().filter(|_| is_current) {
            self.observer.model_named(model);
        }
        match call.hook.event {
            HookEvent::UserPromptSubmit if is_current => self.keyboard.draft.forget(),
            HookEvent::Stop if is_current => {
                self.words.answer(call.last_message.as_deref());
                // The draft in the box must be known now.
                self.look_at_screen();
            }
            _ => {}
        }
        if is_current {
            let cwd =
                payload["cwd"].as_str().filter(|cwd| cwd.starts_with('/') && Path::new(cwd) != self.dir);
            self.observer.set_working_dir(cwd.map(|cwd| cut_bytes(cwd, MAX_DIR).to_owned()));
        }
        let id = self.next_id;
        self.next_id += 1;
        let hook = call.hook.clone();
        let of_this = hook.conversation.is_some()
            && hook.conversation.as_ref() == self.recorder.supervisor.conversation();
        let saves = (hook.event == HookEvent::PreCompact && !hook.agent && of_this)
            .then(|| self.clock.now().after(RECORD_MS));
        self.hooks.insert(id, HookCall { connection, request, call, awaits: None, saves });
        if saves.is_some() {
            self.hold_hook(id);
            self.save_before_compaction(id);
        } else {
            self.events.push_back(Event::Hook { id, hook });
        }
    }

    /// The record for a PreCompact call is saved, or failed: now the call is handled.
    pub(in crate::host) fn record_settled(
        &mut self,
        id: u64,
        saved: Result<HandoffId, String>,
        found: Option<&CodeFound>,
    ) {
        let Some(call) = self.hooks.get_mut(&id).filter(|call| call.saves.is_some()) else { return };
        call.saves = None;
        let mut hook = call.call.hook.clone();
        let changed = match found {
            _ if !hook.auto => Vec::new(),
            Some(found) => self.start_code_changes(found),
            None => vec![UNREADABLE.to_owned()],
        };
        let unable = match &saved {
            Err(why) => Some(format!("hopty cannot save a record: {why}")),
            Ok(_) if !changed.is_empty() => {
                Some(format!("what runs code changed since launch: {}", changed.join(", ")))
            }
            Ok(_) => None,
        };
        hook.compaction = Some(Compaction { record: saved.ok(), unable });
        self.events.push_back(Event::Hook { id, hook });
    }

    /// When to handle a PreCompact call without its record.
    pub(in crate::host) fn record_deadline(&self) -> Option<Stamp> {
        self.hooks.values().filter_map(|call| call.saves).min()
    }

    pub(in crate::host) fn give_up_records(&mut self) {
        let now = self.clock.now();
        let late: Vec<u64> = self
            .hooks
            .iter()
            .filter(|(_, call)| call.saves.is_some_and(|at| at <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.record_settled(id, Err("it took too long".to_owned()), None);
        }
    }

    pub(in crate::host) fn hold_hook(&mut self, id: u64) {
        if let Some((connection, request)) = self.hooks.get(&id).map(|call| (call.connection, call.request)) {
            self.send(connection, &ok_line(request, &json!({"hold": true})));
        }
    }

    pub(in crate::host) fn answer_hook(&mut self, id: u64, with: &HookAnswer) {
        let Some(call) = self.hooks.remove(&id) else { return };
        self.back_up(&call.call, with);
        self.prompt_answered(&call, with);
        let frame = self.brief.as_ref().map(|frame| frame.text.clone());
        if matches!(with, HookAnswer::Tell { what: HookInstruction::Note | HookInstruction::NoteInLoop }) {
            self.words = NoteState::Asked;
        }
        let event = call.call.hook.event;
        let pending = self.pending_backup(&call.call, with).map(|text| hooks::told(event, &text));
        let stdout = pending.unwrap_or_else(|| hooks::stdout(event, with, frame.as_deref()));
        self.send(call.connection, &ok_line(call.request, &json!({"stdout": stdout})));
    }

    pub(in crate::host) fn hook_connection_gone(&mut self, connection: u64) {
        let gone: Vec<u64> =
            self.hooks.iter().filter(|(_, call)| call.connection == connection).map(|(id, _)| *id).collect();
        self.observer.forget_connection(connection);
        for id in gone {
            self.hooks.remove(&id);
            self.events.push_back(Event::HookGone { id });
        }
    }

    /// The run is over: the remaining calls get no answer, which Claude treats as no output.
    pub(in crate::host) fn drop_hooks(&mut self) {
        let asking = self.observer.drop_hooks();
        let connections: Vec<u64> = self.hooks.values().map(|call| call.connection).chain(asking).collect();
        self.hooks.clear();
        for id in connections {
            self.connections.remove(&id);
        }
    }
}
