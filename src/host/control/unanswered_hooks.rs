//! Hook calls that have no answer yet: Claude waits for it.

use std::collections::BTreeMap;

use super::Control;
use crate::core::claude::hooks;
use crate::core::supervisor::action::Want;
use crate::core::supervisor::event::{HookEvent, PromptOf};
use crate::core::time::Stamp;

/// A hook call without an answer yet.
#[derive(Debug)]
pub(in crate::host) struct OpenHookCall {
    /// Its connection, and the id of its request there.
    pub connection: u64,
    pub request: u64,
    pub call: hooks::HookInput,
    /// The lines that it waits for, and until when.
    pub awaits: Option<(Want, Stamp)>,
    /// PreCompact: a record is being saved, and until when the call waits for it.
    pub saves: Option<Stamp>,
}

impl OpenHookCall {
    /// The prompt that a person, or a script in their place, has submitted with it.
    pub fn persons_prompt(&self) -> Option<&str> {
        let hook = &self.call.hook;
        let persons = matches!(hook.prompt, Some(PromptOf::Person | PromptOf::Sent));
        self.call.prompt.as_deref().filter(|_| persons && hook.event == HookEvent::UserPromptSubmit)
    }
}

/// Hook calls without an answer, by number.
#[derive(Debug, Default)]
pub(in crate::host) struct HookCalls {
    calls: BTreeMap<u64, OpenHookCall>,
}

impl HookCalls {
    /// Whether one of this connection is held.
    pub(super) fn has(&self, connection: u64) -> bool {
        self.calls.values().any(|call| call.connection == connection)
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub fn get(&self, id: u64) -> Option<&OpenHookCall> {
        self.calls.get(&id)
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut OpenHookCall> {
        self.calls.get_mut(&id)
    }

    /// A call that is answered now.
    pub fn remove(&mut self, id: u64) -> Option<OpenHookCall> {
        self.calls.remove(&id)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut OpenHookCall)> {
        self.calls.iter_mut().map(|(id, call)| (*id, call))
    }

    /// Whether any waits for lines of the transcript.
    pub fn await_lines(&self) -> bool {
        self.calls.values().any(|call| call.awaits.is_some())
    }

    /// When to continue one without its lines.
    pub fn lines_deadline(&self) -> Option<Stamp> {
        self.calls.values().filter_map(|call| call.awaits).map(|(_, until)| until).min()
    }

    /// When to continue one without its record.
    pub fn record_deadline(&self) -> Option<Stamp> {
        self.calls.values().filter_map(|call| call.saves).min()
    }

    /// Those whose record has taken too long.
    pub fn late_records(&self, now: Stamp) -> Vec<u64> {
        let late = |call: &OpenHookCall| call.saves.is_some_and(|at| at <= now);
        self.calls.iter().filter(|(_, call)| late(call)).map(|(id, _)| *id).collect()
    }
}

impl Control {
    /// A hook is called; gives its number.
    pub fn hold_call(&mut self, call: OpenHookCall) -> u64 {
        let id = self.number();
        self.hooks.calls.insert(id, call);
        id
    }

    /// Forgets the calls of a connection that is gone. Returns them.
    pub fn drop_calls_of(&mut self, connection: u64) -> Vec<u64> {
        let calls = &mut self.hooks.calls;
        let gone: Vec<u64> =
            calls.iter().filter(|(_, call)| call.connection == connection).map(|(id, _)| *id).collect();
        for id in &gone {
            calls.remove(id);
        }
        gone
    }

    /// The run is over: the remaining calls get no answer, which Claude treats as no output. `more`: the
    /// connections of calls that are not handled yet.
    pub fn drop_calls(&mut self, more: Vec<u64>) {
        let calls = std::mem::take(&mut self.hooks.calls);
        for connection in calls.into_values().map(|call| call.connection).chain(more) {
            self.connections.remove(&connection);
        }
    }
}
