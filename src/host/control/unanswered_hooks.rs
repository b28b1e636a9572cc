//! Hook calls without an answer: Claude waits for each.

use std::collections::{BTreeMap, VecDeque};

use super::Control;
use crate::core::claude::hooks;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::handoff::operation::{Cut, at_a_boundary};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::action::Want;
use crate::core::supervisor::compaction::Compaction;
use crate::core::supervisor::event::{Event, HookEvent, PromptOf};
use crate::core::time::Stamp;
use crate::ipc::answers::HookReply;
use crate::ipc::message::{RequestId, ok_line};

/// A hook call without an answer yet.
#[derive(Debug)]
pub(in crate::host) struct OpenHookCall {
    pub request_id: RequestId,
    pub call: hooks::HookInput,
    /// The transcript lines that it waits for, and until when.
    pub awaits: Option<(Want, Stamp)>,
    /// PreCompact: how long the call waits for the record that is being saved.
    pub saves: Option<Stamp>,
}

impl OpenHookCall {
    /// The prompt of a `UserPromptSubmit` call, if it comes from a person or from a script in their place.
    pub fn persons_prompt(&self) -> Option<&str> {
        let hook = &self.call.hook;
        let persons = matches!(hook.prompt, Some(PromptOf::Person | PromptOf::Sent));
        self.call.prompt.as_deref().filter(|_| persons && hook.event == HookEvent::UserPromptSubmit)
    }

    /// Whether it submits a prompt in this conversation.
    pub fn is_prompt_in(&self, conversation: Option<&ConversationId>) -> bool {
        let hook = &self.call.hook;
        let of_this = !hook.agent && hook.conversation.as_ref() == conversation;
        of_this && self.call.prompt.is_some() && hook.event == HookEvent::UserPromptSubmit
    }
}

/// Hook calls without an answer, by number.
#[derive(Debug, Default)]
pub(in crate::host) struct HookCalls {
    calls: BTreeMap<u64, OpenHookCall>,
    /// Connections with an answer that Claude must read, and the number of the call.
    sent: BTreeMap<u64, u64>,
}

impl HookCalls {
    /// Whether a call of this connection is held.
    pub(super) fn has(&self, connection: u64) -> bool {
        self.calls.values().any(|call| call.request_id.connection == connection)
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub fn get(&self, id: u64) -> Option<&OpenHookCall> {
        self.calls.get(&id)
    }

    /// Removes a call that is being answered.
    pub fn remove(&mut self, id: u64) -> Option<OpenHookCall> {
        self.calls.remove(&id)
    }

    /// Notes that Claude must read the answer to call `id`.
    pub fn must_be_read(&mut self, connection: u64, id: u64) {
        self.sent.insert(connection, id);
    }

    /// Whether such an answer was sent on this connection: how it closes tells whether it was read.
    pub(super) fn awaits_reading(&self, connection: u64) -> bool {
        self.sent.contains_key(&connection)
    }

    /// The unanswered prompts of people, in order.
    pub fn persons_prompts(&self, conversation: Option<&ConversationId>) -> impl Iterator<Item = &str> {
        let calls = self.calls.values().filter(move |call| call.is_prompt_in(conversation));
        calls.filter_map(OpenHookCall::persons_prompt)
    }

    /// Whether any call waits for transcript lines.
    pub fn await_lines(&self) -> bool {
        self.calls.values().any(|call| call.awaits.is_some())
    }

    /// Makes a call wait for transcript lines. False if the call is gone.
    pub fn await_line(&mut self, id: u64, want: Want, until: Stamp) -> bool {
        self.calls.get_mut(&id).map(|call| call.awaits = Some((want, until))).is_some()
    }

    /// Reports the calls whose lines have arrived. `facts` must be of a transcript read to its end. Returns
    /// whether one of them waited for Claude's own lines.
    pub fn report_lines(&mut self, facts: &TranscriptFacts, events: &mut VecDeque<Event>) -> bool {
        let mut heard = false;
        for (id, waiting) in &mut self.calls {
            let Some((want, _)) = waiting.awaits else { continue };
            let uses = || waiting.call.tool_uses.iter().map(String::as_str);
            let found = match (want, &waiting.call.last_message) {
                (Want::Assistant, Some(text)) => facts.message.text_is(text),
                (Want::Assistant, None) => facts.calls.has_assistant_with(uses()),
                (Want::Results, _) => facts.calls.has_results(uses()),
                (Want::Prompt, _) => false,
            };
            if found {
                waiting.awaits = None;
                heard |= want == Want::Assistant;
                events.push_back(Event::Lines { id: *id, found, cut: cut(want, Some(facts)) });
            }
        }
        heard
    }

    /// Reports the calls that have waited too long for their lines.
    pub fn report_late_lines(
        &mut self,
        now: Stamp,
        facts: Option<&TranscriptFacts>,
        events: &mut VecDeque<Event>,
    ) {
        for (id, waiting) in &mut self.calls {
            if let Some((want, _)) = waiting.awaits.take_if(|(_, until)| *until <= now) {
                events.push_back(Event::Lines { id: *id, found: false, cut: cut(want, facts) });
            }
        }
    }

    /// The record for a PreCompact call was saved, or failed: the call continues. `changes`: the settings
    /// that run code and have changed since a person accepted them.
    pub fn settle_record(
        &mut self,
        id: u64,
        saved: Result<HandoffId, String>,
        gone: Option<String>,
        changes: impl FnOnce() -> Vec<String>,
    ) -> Option<Event> {
        let call = self.calls.get_mut(&id).filter(|call| call.saves.is_some())?;
        call.saves = None;
        let mut hook = call.call.hook.clone();
        let changed = if hook.auto { changes() } else { Vec::new() };
        let unable = match &saved {
            Err(why) => Some(format!("hopty cannot save a record: {why}")),
            Ok(_) if gone.is_some() => gone,
            Ok(_) if !changed.is_empty() => {
                Some(format!("settings that run code have changed since launch: {}", changed.join(", ")))
            }
            Ok(_) => None,
        };
        hook.compaction = Some(Compaction { record: saved.ok(), unable });
        Some(Event::Hook { id, hook })
    }

    /// When to continue a call without its lines.
    pub fn lines_deadline(&self) -> Option<Stamp> {
        self.calls.values().filter_map(|call| call.awaits).map(|(_, until)| until).min()
    }

    /// When to continue a call without its record.
    pub fn record_deadline(&self) -> Option<Stamp> {
        self.calls.values().filter_map(|call| call.saves).min()
    }

    /// The calls whose record has taken too long.
    pub fn late_records(&self, now: Stamp) -> Vec<u64> {
        let late = |call: &OpenHookCall| call.saves.is_some_and(|at| at <= now);
        self.calls.iter().filter(|(_, call)| late(call)).map(|(id, _)| *id).collect()
    }
}

fn cut(want: Want, facts: Option<&TranscriptFacts>) -> Cut {
    facts.filter(|_| want == Want::Assistant).map_or(Cut::Free, |facts| at_a_boundary(facts).cut())
}

impl Control {
    /// Answers a hook call with "hold".
    pub fn hold_hook(&mut self, id: u64, now: Stamp) {
        if let Some(request_id) = self.hooks.get(id).map(|call| call.request_id) {
            self.send(request_id.connection, &ok_line(request_id.request, &HookReply::hold()), now);
        }
    }

    /// Adds a hook call and returns its number.
    pub fn hold_call(&mut self, call: OpenHookCall) -> u64 {
        let id = self.number();
        self.hooks.calls.insert(id, call);
        id
    }

    /// Removes the calls of a closed connection. Returns them, and with `unread` the call whose answer Claude
    /// had to read but did not.
    pub fn drop_calls_of(&mut self, connection: u64, unread: bool) -> Vec<u64> {
        let HookCalls { calls, sent } = &mut self.hooks;
        let mut gone: Vec<u64> = calls
            .iter()
            .filter(|(_, call)| call.request_id.connection == connection)
            .map(|(id, _)| *id)
            .collect();
        for id in &gone {
            calls.remove(id);
        }
        gone.extend(sent.remove(&connection).filter(|_| unread));
        gone
    }

    /// The run is over: closes the remaining calls without an answer, which Claude treats as no output.
    /// `more`: the connections of calls that were not handled.
    pub fn drop_calls(&mut self, more: Vec<u64>) {
        let calls = std::mem::take(&mut self.hooks.calls);
        for connection in calls.into_values().map(|call| call.request_id.connection).chain(more) {
            self.connections.remove(&connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A call with the number 5.
    fn calls(event: &str, payload: &Value, saves: Option<Stamp>) -> HookCalls {
        let call = hooks::read(event, payload, None);
        let open =
            OpenHookCall { request_id: RequestId { connection: 1, request: 1 }, call, awaits: None, saves };
        HookCalls { calls: BTreeMap::from([(5, open)]), ..HookCalls::default() }
    }

    #[test]
    fn lines_are_reported_once_when_they_are_there_or_late() {
        let mut hooks = calls("Stop", &json!({"last_assistant_message": "done"}), None);
        let (mut facts, mut events) = (TranscriptFacts::new(), VecDeque::new());
        assert!(!hooks.await_line(6, Want::Assistant, Stamp(10)), "there is no such call");
        assert!(hooks.await_line(5, Want::Assistant, Stamp(10)));
        assert!(!hooks.report_lines(&facts, &mut events));
        hooks.report_late_lines(Stamp(9), Some(&facts), &mut events);
        assert!(events.is_empty() && hooks.await_lines());
        let content = json!([{"type": "text", "text": "done"}]);
        let line =
            json!({"type": "assistant", "uuid": "u", "message": {"role": "assistant", "content": content}});
        facts.feed(line.to_string().as_bytes());
        assert!(hooks.report_lines(&facts, &mut events), "Claude's own line");
        assert!(!hooks.report_lines(&facts, &mut events) && !hooks.await_lines());
        assert!(matches!(events.pop_front(), Some(Event::Lines { id: 5, found: true, .. })));
        hooks.await_line(5, Want::Prompt, Stamp(20));
        hooks.report_late_lines(Stamp(20), None, &mut events);
        assert_eq!(events, [Event::Lines { id: 5, found: false, cut: Cut::Free }]);
        assert_eq!(hooks.lines_deadline(), None);
    }

    #[test]
    fn a_record_settles_its_call_once_and_tells_what_forbids_a_compaction() {
        let settle = |payload: &Value, saved: Result<HandoffId, String>, changed: &[&str]| {
            let mut hooks = calls("PreCompact", payload, Some(Stamp(10)));
            assert_eq!((hooks.record_deadline(), hooks.late_records(Stamp(10))), (Some(Stamp(10)), vec![5]));
            let changes = || changed.iter().map(|change| (*change).to_owned()).collect();
            let Some(Event::Hook { id: 5, hook }) = hooks.settle_record(5, saved, None, changes) else {
                panic!("it is not settled")
            };
            assert_eq!(hooks.settle_record(5, Err(String::new()), None, Vec::new), None);
            hook.compaction.unwrap()
        };
        let id: HandoffId = "HO-20261126-101112-0123abcd".parse().unwrap();
        let (auto, manual) = (json!({"trigger": "auto"}), json!({"trigger": "manual"}));
        let fine = Compaction { record: Some(id.clone()), unable: None };
        assert_eq!(settle(&auto, Ok(id.clone()), &[]), fine);
        assert_eq!(settle(&manual, Ok(id.clone()), &["hooks changed"]), fine, "a person asked for it");
        let changed = settle(&auto, Ok(id), &["hooks changed"]);
        assert!(changed.unable.unwrap().contains("hooks changed"));
        let failed = settle(&auto, Err("no space left".to_owned()), &[]);
        assert!(failed.record.is_none() && failed.unable.unwrap().contains("no space left"));
    }
}
