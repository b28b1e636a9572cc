//! One turn: from a prompt to the model's last answer, with any number of requests and tools.
//!
//! The order of requests, hooks and transcript lines is that of the real program (measured on 2.1.329): a
//! tool's result is written after its PostToolUse hook has ended, PostToolBatch runs when all results exist
//! and before the next request, Stop when the model calls no tool.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use uuid::Uuid;

use super::agent_shared::lock;
use super::agent_shared::{AgentEvent, AgentPrompt, ConversationItem, PayloadScope};
use super::batch::Batch;
use super::engine::{Engine, PromptSource};
use super::model_client::{ModelFailure, ModelMessage};
use super::presence::AgentPresence;
use super::resumed_history::{self, reminder};
use super::transcript::now;

/// How often Stop hooks may continue the turn (measured: 10).
const MAX_STOP_BLOCKS: usize = 10;

/// Why the turn has ended.
pub(super) enum TurnEnd {
    /// The model is done, or a hook stopped it.
    Done,
    /// The API returned a permanent error.
    Failed,
    /// A person interrupted it; `for tool use` while a tool ran or waited for permission.
    Interrupted(&'static str),
}

/// The outcome of UserPromptSubmit hooks.
enum Submitted {
    /// Accepted, with these contexts.
    Goes(Vec<String>),
    /// `continue: false`, with the reason.
    Stopped(String),
    /// `decision: block`: the prompt is put back into the box.
    PutBack,
}

impl Engine {
    /// Runs a turn to its end.
    pub(super) fn turn(&mut self, prompt: &AgentPrompt, source: PromptSource) {
        let shared = Arc::clone(&self.shared);
        if shared.cancel.is_closed() {
            return;
        }
        shared.cancel.reset();
        shared.status(AgentPresence::Busy);
        let begun = Instant::now();
        lock(&shared.live).prompt_id = Some(Uuid::new_v4().to_string());
        match self.submitted(prompt, source) {
            Submitted::Goes(contexts) => {
                self.accept(prompt, source, &contexts);
                if let TurnEnd::Done = self.steps() {
                    self.finished(prompt, begun);
                }
            }
            Submitted::Stopped(reason) => self.left(prompt, source, &reason),
            Submitted::PutBack => {}
        }
        shared.status(AgentPresence::Idle);
    }

    /// The lines after a turn that was neither interrupted nor failed.
    fn finished(&self, prompt: &AgentPrompt, begun: Instant) {
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.shared.link("system", json!({"subtype": "turn_duration", "durationMs": ms, "isMeta": false}));
        let shown: String = prompt.shown.chars().take(200).collect();
        let leaf = lock(&self.shared.chain).leaf().map(str::to_owned);
        self.shared.note("last-prompt", json!({"lastPrompt": shown, "leafUuid": leaf}));
        self.shared.show(ConversationItem::Notice(format!("✻ Worked for {}s", begun.elapsed().as_secs())));
    }

    /// Runs the UserPromptSubmit hooks.
    fn submitted(&mut self, prompt: &AgentPrompt, source: PromptSource) -> Submitted {
        if source == PromptSource::Queued {
            return Submitted::Goes(prompt.contexts.clone());
        }
        let outcome =
            self.shared.fire("UserPromptSubmit", PayloadScope::Turn, "", json!({"prompt": prompt.text}));
        if let Some(reason) = outcome.block {
            let text = format!(
                "UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: {}",
                prompt.shown
            );
            self.shared.show(ConversationItem::Notice(text));
            self.shared.post.send(AgentEvent::PutBack(prompt.shown.clone()));
            return Submitted::PutBack;
        }
        outcome.stop.map_or(Submitted::Goes(outcome.contexts), Submitted::Stopped)
    }

    /// A hook refused to continue with the prompt: it stays in the conversation, the box is empty, and no
    /// request is sent (measured on 2.1.331).
    fn left(&mut self, prompt: &AgentPrompt, source: PromptSource, reason: &str) {
        self.accept(prompt, source, &[]);
        let text = format!("Operation stopped by hook: {reason}");
        self.shared.link("user", json!({"message": {"role": "user", "content": text}, "isMeta": true}));
        self.shared.link(
            "system",
            json!({"subtype": "informational", "content": text, "isMeta": false, "level": "warning"}),
        );
        self.shared.show(ConversationItem::Text(text));
    }

    /// Adds the prompt to the conversation.
    fn accept(&mut self, prompt: &AgentPrompt, source: PromptSource, contexts: &[String]) {
        let shared = Arc::clone(&self.shared);
        self.prompts += 1;
        let (id, mode) = {
            let live = lock(&shared.live);
            (live.prompt_id.clone(), live.mode.name())
        };
        if let Some(name) = shared.options.name.as_ref().filter(|_| self.prompts == 1) {
            shared.note("custom-title", json!({"customTitle": name}));
            shared.note("agent-name", json!({"agentName": name}));
        }
        shared.note("mode", json!({"mode": "normal"}));
        shared.note("permission-mode", json!({"permissionMode": mode}));
        let snapshot = Uuid::new_v4().to_string();
        shared.note(
            "file-history-snapshot",
            json!({"messageId": snapshot, "isSnapshotUpdate": false,
            "snapshot": {"messageId": snapshot, "trackedFileBackups": {}, "timestamp": now()}}),
        );
        shared.link(
            "user",
            json!({"promptId": id, "message": {"role": "user", "content": prompt.text},
            "permissionMode": mode, "origin": {"kind": "human"},
            "promptSource": if source == PromptSource::Typed { "typed" } else { "queued" },
            "turnOrigin": "human",
            "turnPosition": {"promptIndex": self.prompts, "turnIndex": self.prompts}}),
        );
        shared.attach_contexts("UserPromptSubmit", contexts);
        let mut blocks = std::mem::take(&mut self.contexts);
        if self.messages.is_empty() {
            let place = shared.world.cwd.display();
            blocks.push(reminder(&format!(
                "# Environment\nYou have been invoked in the following environment: \n - Primary working \
                 directory: {place}"
            )));
        }
        if !contexts.is_empty() {
            blocks.push(reminder(&format!(
                "UserPromptSubmit hook additional context: {}",
                contexts.join("\n")
            )));
        }
        blocks.push(json!({"type": "text", "text": prompt.text}));
        resumed_history::push(&mut self.messages, "user", blocks);
        shared.show(ConversationItem::Prompt(prompt.shown.clone()));
        shared.transcript.open();
    }

    /// Sends requests and runs tools until the turn ends.
    fn steps(&mut self) -> TurnEnd {
        let mut blocks = 0;
        self.failed = false;
        loop {
            let answer = match self.request() {
                Ok(message) => message,
                Err(ModelFailure::Interrupted(texts)) => {
                    self.partial(texts);
                    return self.interrupted("");
                }
                Err(failure) => return self.failure(&failure),
            };
            let mut batch = Batch::new(self, &answer);
            if batch.is_empty() {
                if blocks < MAX_STOP_BLOCKS && self.sent_on(blocks > 0) {
                    blocks += 1;
                    continue;
                }
                return TurnEnd::Done;
            }
            match batch.run(self) {
                None => {}
                Some(TurnEnd::Interrupted(how)) => return self.interrupted(how),
                Some(end) => return end,
            }
        }
    }

    fn request(&mut self) -> Result<ModelMessage, ModelFailure> {
        if crash_after().is_some_and(|n| self.requests >= n) {
            // Nothing is restored or flushed, as in a crash.
            std::process::exit(1);
        }
        self.requests += 1;
        if let Some(message) = self.messages.last() {
            // The real program records requests, too, so that results are in the file twice.
            self.shared.note(
                "api-request-blob",
                json!({"hash": Uuid::new_v4().simple().to_string(), "message": message}),
            );
        }
        let session = lock(&self.shared.live).session.clone();
        let body = self.body(&self.messages);
        let message = self.shared.client.ask(&body, &session, &self.shared.cancel)?;
        resumed_history::push(&mut self.messages, "assistant", message.content.clone());
        let texts: Vec<&str> = message.content.iter().filter_map(|b| b["text"].as_str()).collect();
        self.last_text = texts.join("\n");
        for text in texts.into_iter().filter(|t| !t.is_empty()) {
            self.shared.show(ConversationItem::Text(text.to_owned()));
        }
        Ok(message)
    }

    /// Runs the Stop hooks; returns true if they continue the turn.
    fn sent_on(&mut self, active: bool) -> bool {
        let shared = Arc::clone(&self.shared);
        let outcome = shared.fire(
            "Stop",
            PayloadScope::Turn,
            "",
            json!({"stop_hook_active": active,
            "last_assistant_message": self.last_text, "background_tasks": [], "session_crons": []}),
        );
        if !outcome.runs.is_empty() {
            let infos: Vec<Value> =
                outcome.runs.iter().map(|r| json!({"command": r.command, "durationMs": r.ms})).collect();
            shared.link(
                "system",
                json!({"subtype": "stop_hook_summary", "hookCount": infos.len(), "hookInfos": infos,
                "hookErrors": [], "preventedContinuation": false, "stopReason": "", "level": "suggestion"}),
            );
        }
        let text = if let Some(reason) = outcome.block {
            format!("Stop hook feedback:\n{reason}")
        } else if !outcome.contexts.is_empty() && outcome.stop.is_none() {
            format!(
                "<system-reminder>\nStop hook additional context: {}\n</system-reminder>",
                outcome.contexts.join("\n")
            )
        } else {
            return false;
        };
        shared.link("user", json!({"message": {"role": "user", "content": text}, "isMeta": true}));
        resumed_history::push(&mut self.messages, "user", vec![json!({"type": "text", "text": text})]);
        true
    }

    /// Keeps the text that had arrived before an interruption.
    fn partial(&mut self, texts: Vec<Value>) {
        if texts.is_empty() {
            return;
        }
        let message = json!({"id": format!("msg_{}", Uuid::new_v4().simple()), "type": "message",
            "role": "assistant",
            "model": self.shared.options.model, "content": texts, "stop_reason": null,
            "usage": {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0}});
        self.shared.link("assistant", json!({"message": message}));
        for text in texts.iter().filter_map(|b| b["text"].as_str()) {
            self.shared.show(ConversationItem::Text(text.to_owned()));
        }
        resumed_history::push(&mut self.messages, "assistant", texts);
    }

    fn interrupted(&mut self, how: &'static str) -> TurnEnd {
        let block = json!({"type": "text", "text": format!("[Request interrupted by user{how}]")});
        let id = lock(&self.shared.live).prompt_id.clone();
        self.shared.link("user", json!({"promptId": id, "message": {"role": "user", "content": [block]}}));
        resumed_history::push(&mut self.messages, "user", vec![block]);
        self.shared.show(ConversationItem::Result("Interrupted · What should Claude do instead?".into()));
        TurnEnd::Interrupted(how)
    }

    /// Handles a permanent API error: a line without a model, and StopFailure instead of Stop.
    fn failure(&mut self, failure: &ModelFailure) -> TurnEnd {
        self.failed = true;
        let report = super::fault::ApiErrorReport::new(failure, self.shared.client.has_subscription());
        self.shared.link("assistant", report.line());
        self.shared.show(ConversationItem::Text(report.text.clone()));
        self.shared.fire("StopFailure", PayloadScope::Turn, "", report.payload());
        TurnEnd::Failed
    }
}

/// `HOPTY_AGENT_CRASH_AFTER`: after this number of requests the process exits instead of sending another.
fn crash_after() -> Option<usize> {
    std::env::var("HOPTY_AGENT_CRASH_AFTER").ok()?.parse().ok()
}
