//! Hook calls: what they tell the parts and the supervisor, and what Claude is answered.

use std::path::Path;

use serde_json::Value;

use crate::core::claude::hooks;
use crate::core::handoff::text::cut_bytes;
use crate::core::ids::HandoffId;
use crate::core::supervisor::action::{HookAnswer, HookInstruction};
use crate::core::supervisor::compaction::Compaction;
use crate::core::supervisor::event::{Event, HookEvent, PromptOf};
use crate::host::Host;
use crate::host::control::OpenHookCall;
use crate::host::jobs::NoteState;
use crate::host::jobs::code_approval::{CodeFound, UNREADABLE};
use crate::ipc::answers::HookReply;
use crate::ipc::message::ok_line;

/// How long a PreCompact call waits for its record, in ms. Claude aborts it after 30 s.
const RECORD_MS: u64 = 10_000;
/// The longest working directory that is accepted from a hook, in bytes.
const MAX_DIR: usize = 4096;

impl Host {
    /// A hook is called. A late call of an ended run does not count for the next one.
    pub(super) fn hook_request(
        &mut self,
        (id, request): (u64, u64),
        run: Option<u32>,
        event: String,
        payload: Value,
    ) {
        let late = run.is_some_and(|run| run != 0 && run != self.recorder.supervisor.run());
        if !late && event != "StatusLine" {
            return self.hook_asks(id, request, event, payload);
        }
        if !late && self.observer.status_line(&payload, self.clock.now()) {
            self.tell_transcript();
        }
        let segment = if late || event != "StatusLine" { String::new() } else { self.segment() };
        self.send(id, &ok_line(request, &HookReply::text(segment)));
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
        let expected = self.jobs.brief.as_ref().map(|brief| brief.id.clone());
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
        let now = self.clock.now();
        match call.hook.event {
            HookEvent::UserPromptSubmit if is_current => self.observer.turn_boundary(true, now),
            HookEvent::Stop | HookEvent::StopFailure if is_current => self.observer.turn_boundary(false, now),
            _ => {}
        }
        match call.hook.event {
            HookEvent::UserPromptSubmit if is_current => self.keyboard.draft.forget(),
            HookEvent::Stop if is_current => {
                self.jobs.note.answer(call.last_message.as_deref());
                // The draft in the box must be known now.
                self.look_at_screen();
            }
            _ => {}
        }
        if is_current {
            let cwd = payload["cwd"]
                .as_str()
                .filter(|cwd| cwd.starts_with('/') && Path::new(cwd) != self.session.dir);
            self.observer.set_working_dir(cwd.map(|cwd| cut_bytes(cwd, MAX_DIR).to_owned()));
        }
        self.observer.hook_called(&call);
        let hook = call.hook.clone();
        let of_this = hook.conversation.is_some()
            && hook.conversation.as_ref() == self.recorder.supervisor.conversation();
        let saves = (hook.event == HookEvent::PreCompact && !hook.agent && of_this)
            .then(|| self.clock.now().after(RECORD_MS));
        let id = self.control.hold_call(OpenHookCall { connection, request, call, awaits: None, saves });
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
        let Some(call) = self.control.hooks.get_mut(id).filter(|call| call.saves.is_some()) else { return };
        call.saves = None;
        let mut hook = call.call.hook.clone();
        let changed = match found {
            _ if !hook.auto => Vec::new(),
            Some(found) => self.jobs.code.changes(found),
            None => vec![UNREADABLE.to_owned()],
        };
        let unable = match &saved {
            Err(why) => Some(format!("hopty cannot save a record: {why}")),
            Ok(_) if !changed.is_empty() => {
                Some(format!("settings that run code have changed since launch: {}", changed.join(", ")))
            }
            Ok(_) => None,
        };
        hook.compaction = Some(Compaction { record: saved.ok(), unable });
        self.events.push_back(Event::Hook { id, hook });
    }

    pub(in crate::host) fn give_up_records(&mut self) {
        let late = self.control.hooks.late_records(self.clock.now());
        for id in late {
            self.record_settled(id, Err("it took too long".to_owned()), None);
        }
    }

    pub(in crate::host) fn hold_hook(&mut self, id: u64) {
        if let Some((connection, request)) =
            self.control.hooks.get(id).map(|call| (call.connection, call.request))
        {
            self.send(connection, &ok_line(request, &HookReply::hold()));
        }
    }

    pub(in crate::host) fn answer_hook(&mut self, id: u64, with: &HookAnswer) {
        let Some(call) = self.control.hooks.remove(id) else { return };
        self.back_up(&call.call, with);
        self.prompt_answered(&call, with);
        let brief = self.jobs.brief.as_ref().map(|brief| brief.text.clone());
        if matches!(with, HookAnswer::Tell { what: HookInstruction::Note | HookInstruction::NoteInLoop }) {
            self.jobs.note = NoteState::Asked;
        }
        let event = call.call.hook.event;
        let pending = self.compat.told_at_start(&call.call, with).map(|text| hooks::told(event, &text));
        let stdout = match with {
            HookAnswer::Message { .. } if self.segment_asks() => String::new(),
            _ => pending.unwrap_or_else(|| hooks::stdout(event, with, brief.as_deref())),
        };
        self.send(call.connection, &ok_line(call.request, &HookReply::text(stdout)));
    }

    /// The run is over: the remaining calls get no answer.
    pub(in crate::host) fn drop_hooks(&mut self) {
        self.control.drop_calls(self.observer.drop_hooks());
    }
}
