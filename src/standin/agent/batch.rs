//! Runs the tools of one answer one after another, with their hooks, permission questions and results.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::agent_shared::lock;
use super::agent_shared::{
    AgentEvent, AgentShared, ConversationItem, PayloadScope, PermissionAnswer, PermissionQuestion,
};
use super::engine::Engine;
use super::hook_outcome::Permission;
use super::model_client::ModelMessage;
use super::options::AgentPermissionMode;
use super::presence::AgentPresence;
use super::resumed_history;
use super::tools::{self, ToolContext, ToolRun};
use super::transcript::now;
use super::turn::TurnEnd;

/// The result for the model when a person refused a tool.
const REFUSED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. \
                       if it was a file edit, the new_string was NOT written to the file). STOP what you are \
                       doing and wait for the user to tell you how to proceed.";

/// How long a permission question is open before the Notification hook runs (measured: about 6 s).
const NOTIFY_AFTER: Duration = Duration::from_secs(6);

/// One call of a tool.
struct BatchCall {
    id: String,
    name: String,
    input: Value,
    /// The id of its transcript line.
    line: String,
}

/// The calls of one answer.
pub(super) struct Batch {
    shared: Arc<AgentShared>,
    calls: Vec<BatchCall>,
    results: Vec<Value>,
}

impl Batch {
    /// Writes the answer's lines (one per block, all with the same message id and usage) and collects its
    /// calls.
    pub(super) fn new(engine: &Engine, answer: &ModelMessage) -> Batch {
        let shared = Arc::clone(&engine.shared);
        let mut calls = Vec::new();
        for (index, block) in answer.content.iter().enumerate() {
            let mut block = block.clone();
            let name = block["name"].as_str().unwrap_or("").to_owned();
            if block["type"] == "tool_use" {
                block["input"] = tools::normalised(&name, block["input"].take(), &shared.world.cwd);
            }
            let message = json!({"id": answer.id, "type": "message", "role": "assistant",
                "model": answer.model,
                "content": [block], "stop_reason": answer.stop_reason, "stop_sequence": null,
                "usage": answer.usage});
            let line = shared.link(
                "assistant",
                json!({"message": message, "apiBlockIndex": index,
                "requestId": answer.request_id, "requestedModel": shared.options.model, "madeBy": "model"}),
            );
            if block["type"] == "tool_use" {
                let id = block["id"].as_str().unwrap_or("").to_owned();
                calls.push(BatchCall { id, name, input: block["input"].take(), line });
            }
        }
        Batch { shared, calls, results: Vec::new() }
    }

    /// Whether the model called no tool.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Runs the calls; `None` if the turn continues.
    pub(super) fn run(&mut self, engine: &mut Engine) -> Option<TurnEnd> {
        let calls = std::mem::take(&mut self.calls);
        let mut end = None;
        for call in &calls {
            if end.is_none() {
                end = self.call(call);
            } else if matches!(end, Some(TurnEnd::Interrupted(_))) {
                self.refuse(call);
            } else {
                break;
            }
        }
        if end.is_none() {
            end = self.after(&calls);
        }
        if end.is_none() {
            self.take_queue();
        }
        resumed_history::push(&mut engine.messages, "user", std::mem::take(&mut self.results));
        end
    }

    /// Runs one call, from PreToolUse to its result line.
    fn call(&mut self, call: &BatchCall) -> Option<TurnEnd> {
        if !tools::is_known(&call.name) {
            let mut done = ToolRun::failed(format!("No such tool available: {}", call.name));
            done.content = format!("<tool_use_error>Error: {}</tool_use_error>", done.content);
            self.result(call, done);
            return None;
        }
        let about = json!({"tool_name": call.name, "tool_input": call.input, "tool_use_id": call.id});
        let before = self.shared.fire("PreToolUse", PayloadScope::Turn, &call.name, about.clone());
        let denied = match &before.permission {
            Some((Permission::Deny, reason)) => Some(reason.clone()),
            _ => before.block.clone(),
        };
        let subject =
            ["command", "file_path", "subject"].iter().find_map(|k| call.input[*k].as_str()).unwrap_or("");
        let here = format!("{}/", self.shared.world.cwd.display());
        let subject = subject.strip_prefix(&here).unwrap_or(subject);
        self.shared.show(ConversationItem::Tool(format!("{}({subject})", call.name)));
        if let Some(reason) = denied {
            self.result(call, ToolRun::failed(reason));
            return None;
        }
        let allowed = matches!(before.permission, Some((Permission::Allow, _)))
            || self.is_allowed(call)
            || self.asked(call);
        if !allowed || self.shared.cancel.is_tripped() {
            self.refuse(call);
            return Some(TurnEnd::Interrupted(" for tool use"));
        }
        let begun = Instant::now();
        let (session, place) = {
            let live = lock(&self.shared.live);
            (live.session.clone(), live.place.clone())
        };
        let env = self.shared.environment("agent", "");
        let left = self.shared.transcript.path().with_extension("cwd");
        // The directory may not exist yet, because the transcript's first line is not written.
        let _ = left.parent().map(std::fs::create_dir_all);
        let bench = ToolContext {
            cwd: &place,
            left: &left,
            tasks: self.shared.world.tasks_dir(&session),
            children: &self.shared.children,
            env: &env,
        };
        let mut done = tools::run(&call.name, &call.input, &bench);
        if let Some(place) = bench.place_left() {
            lock(&self.shared.chain).go(&place.to_string_lossy());
            lock(&self.shared.live).place = place;
        }
        if self.shared.cancel.is_tripped() {
            self.refuse(call);
            return Some(TurnEnd::Interrupted(" for tool use"));
        }
        self.used(call, about, &mut done, begun.elapsed());
        self.result(call, done);
        before.stop.map(|reason| {
            self.stopped("PreToolUse", &reason);
            TurnEnd::Done
        })
    }

    /// Runs PostToolUse or PostToolUseFailure; their texts for the model are added to the result.
    fn used(&self, call: &BatchCall, mut about: Value, done: &mut ToolRun, took: Duration) {
        about["duration_ms"] = json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let event = if done.failed { "PostToolUseFailure" } else { "PostToolUse" };
        if done.failed {
            about["error"] = json!(done.content);
            about["is_interrupt"] = json!(false);
        } else {
            about["tool_response"] = done.result.clone();
        }
        let outcome = self.shared.fire(event, PayloadScope::Turn, &call.name, about);
        for text in &outcome.contexts {
            remind(&mut done.content, &format!("{event}:{} hook additional context: {text}", call.name));
        }
        if let Some(reason) = outcome.block {
            remind(&mut done.content, &format!("{event}:{} hook blocking error: {reason}", call.name));
        }
    }

    fn is_allowed(&self, call: &BatchCall) -> bool {
        let live = lock(&self.shared.live);
        let edits = live.mode == AgentPermissionMode::AcceptEdits && call.name != "Bash";
        live.mode == AgentPermissionMode::Bypass
            || live.granted
            || edits
            || !tools::needs_permission(&call.name, &call.input)
    }

    /// Asks a person; a PermissionRequest hook may answer first.
    fn asked(&self, call: &BatchCall) -> bool {
        let (reply, answers) = mpsc::channel();
        let question =
            PermissionQuestion { tool: call.name.clone(), input: call.input.clone(), reply: reply.clone() };
        self.shared.post.send(AgentEvent::Ask(question));
        self.shared.status(AgentPresence::Waiting);
        let (hooked, asking) = (
            reply,
            json!({"tool_name": call.name, "tool_input": call.input,
            "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits",
            "destination": "session"}]}),
        );
        let shared = Arc::clone(&self.shared);
        let name = call.name.clone();
        thread::spawn(move || {
            let outcome = shared.fire("PermissionRequest", PayloadScope::Turn, &name, asking);
            match outcome.permission {
                Some((Permission::Allow, _)) => drop(hooked.send(PermissionAnswer::Yes)),
                Some((Permission::Deny, _)) => drop(hooked.send(PermissionAnswer::No)),
                None => {}
            }
        });
        let begun = Instant::now();
        let mut notified = false;
        let answer = loop {
            match answers.recv_timeout(Duration::from_millis(50)) {
                Ok(answer) => break answer,
                Err(mpsc::RecvTimeoutError::Timeout) if self.shared.cancel.is_tripped() => {
                    break PermissionAnswer::No;
                }
                Err(_) if !notified && begun.elapsed() > NOTIFY_AFTER => {
                    notified = true;
                    let shared = Arc::clone(&self.shared);
                    thread::spawn(move || {
                        let text = json!({"message": "Claude needs your permission",
                            "notification_type": "permission_prompt"});
                        shared.fire("Notification", PayloadScope::Session, "permission_prompt", text);
                    });
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // The loop has ended: the agent exits.
                Err(mpsc::RecvTimeoutError::Disconnected) => break PermissionAnswer::No,
            }
        };
        self.shared.post.send(AgentEvent::Answered);
        self.shared.status(AgentPresence::Busy);
        if answer == PermissionAnswer::Always {
            lock(&self.shared.live).granted = true;
        }
        answer != PermissionAnswer::No
    }

    /// Runs PostToolBatch: all results exist, and the next request was not sent yet.
    fn after(&mut self, calls: &[BatchCall]) -> Option<TurnEnd> {
        let told: Vec<Value> = calls
            .iter()
            .map(|call| {
                let content =
                    self.results.iter().find(|r| r["tool_use_id"] == call.id.as_str()).map(|r| &r["content"]);
                json!({"tool_name": call.name, "tool_input": call.input, "tool_use_id": call.id,
                    "tool_response": content})
            })
            .collect();
        let outcome = self.shared.fire("PostToolBatch", PayloadScope::Turn, "", json!({"tool_calls": told}));
        self.shared.attach_contexts("PostToolBatch", &outcome.contexts);
        for text in &outcome.contexts {
            self.remind_last(&format!("PostToolBatch hook additional context: {text}"));
        }
        if let Some(reason) = outcome.stop.or(outcome.block) {
            self.stopped("PostToolBatch", &reason);
            self.remind_last(&format!("PostToolBatch hook stopped continuation: {reason}"));
            return Some(TurnEnd::Done);
        }
        self.shared.cancel.is_tripped().then_some(TurnEnd::Interrupted(" for tool use"))
    }

    fn stopped(&self, event: &str, reason: &str) {
        self.shared.attach(json!({"type": "hook_stopped_continuation", "message": reason, "hookName": event,
            "toolUseID": format!("hook-{}", Uuid::new_v4()), "hookEvent": event}));
        self.shared.show(ConversationItem::Result(format!("{event} hook stopped Claude\n{reason}")));
    }

    /// Sends prompts that were typed meanwhile to the model, together with the results.
    fn take_queue(&mut self) {
        let prompts: Vec<_> = lock(&self.shared.queue).drain(..).collect();
        for prompt in prompts {
            self.shared.note(
                "queue-operation",
                json!({"operation": "remove", "timestamp": now(), "content": prompt.text,
                "reason": "absorbed_mid_turn"}),
            );
            self.shared
                .attach(json!({"type": "queued_command", "prompt": prompt.text, "commandMode": "prompt",
                "origin": {"kind": "human"}, "timestamp": now(), "humanTurn": true}));
            self.remind_last(&format!(
                "The user sent a new message while you were working:\n{}\n\nAddress the message above as you \
                 continue this turn.",
                prompt.text
            ));
            self.shared.show(ConversationItem::Prompt(prompt.shown));
            self.shared.post.send(AgentEvent::Queue);
        }
    }

    fn refuse(&mut self, call: &BatchCall) {
        self.result(
            call,
            ToolRun { content: REFUSED.into(), result: json!("User rejected tool use"), failed: true },
        );
    }

    /// Adds a result to the transcript, the model's messages and the screen.
    fn result(&mut self, call: &BatchCall, done: ToolRun) {
        let block = json!({"tool_use_id": call.id, "type": "tool_result", "content": done.content,
            "is_error": done.failed});
        let id = lock(&self.shared.live).prompt_id.clone();
        self.shared.link(
            "user",
            json!({"promptId": id, "message": {"role": "user", "content": [block]},
            "toolUseResult": done.result, "sourceToolAssistantUUID": call.line}),
        );
        if done.content != REFUSED {
            self.shared.show(ConversationItem::Result(done.content));
        }
        self.results.push(block);
    }

    fn remind_last(&mut self, text: &str) {
        if let Some(last) = self.results.last_mut() {
            let mut content = last["content"].as_str().unwrap_or("").to_owned();
            remind(&mut content, text);
            last["content"] = json!(content);
        }
    }
}

fn remind(content: &mut String, text: &str) {
    content.push_str(&format!("\n\n<system-reminder>\n{text}\n</system-reminder>"));
}
