//! The conversation: prompts, `/clear` and `/compact`, one after another.
//!
//! The engine runs in a thread of its own and gets commands from the loop that owns the terminal. `turn`
//! has a single turn; this file has the rest.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};
use uuid::Uuid;

use super::agent_shared::lock;
use super::agent_shared::{AgentEvent, AgentPrompt, AgentShared, ConversationItem, PayloadScope};
use super::options::AgentBegin;
use super::resumed_history::{self, reminder};
use super::tools;
use super::transcript::Chain;

/// A command to the engine.
pub(super) enum Command {
    /// A prompt was submitted while the agent was idle.
    Prompt(AgentPrompt),
    /// Prompts wait in the queue.
    Drain,
    /// `/clear`.
    Clear,
    /// `/compact`, with instructions.
    Compact(String),
}

/// The source of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptSource {
    /// Submitted while the agent was idle: its hooks have not run.
    Typed,
    /// From the queue: its hooks have run.
    Queued,
}

/// The conversation and its state.
pub(super) struct Engine {
    pub(super) shared: Arc<AgentShared>,
    /// The messages in the form of the API.
    pub(super) messages: Vec<Value>,
    /// Contexts of SessionStart hooks, which precede the next prompt.
    pub(super) contexts: Vec<Value>,
    /// How many requests this process has sent.
    pub(super) requests: usize,
    /// How many prompts this conversation has.
    pub(super) prompts: usize,
    /// The last text of the model.
    pub(super) last_text: String,
    /// Whether the last turn ended in an API error.
    pub(super) failed: bool,
}

impl Engine {
    pub(super) fn new(shared: Arc<AgentShared>) -> Engine {
        Engine {
            shared,
            messages: Vec::new(),
            contexts: Vec::new(),
            requests: 0,
            prompts: 0,
            last_text: String::new(),
            failed: false,
        }
    }

    /// Begins or resumes the conversation, then carries out commands until the channel is closed.
    pub(super) fn run(mut self, commands: &Receiver<Command>) {
        self.start();
        for command in commands {
            match command {
                Command::Prompt(prompt) => self.turn(&prompt, PromptSource::Typed),
                Command::Drain => {}
                Command::Clear => self.clear(),
                Command::Compact(instructions) => self.compact(&instructions),
            }
            while let Some(prompt) = self.dequeue() {
                self.turn(&prompt, PromptSource::Queued);
            }
            self.shared.post.send(AgentEvent::Idle);
        }
    }

    fn dequeue(&self) -> Option<AgentPrompt> {
        let prompt = lock(&self.shared.queue).pop_front()?;
        self.shared
            .note("queue-operation", json!({"operation": "dequeue", "timestamp": super::transcript::now()}));
        self.shared.post.send(AgentEvent::Queue);
        Some(prompt)
    }

    /// Loads a resumed conversation, and runs the SessionStart hooks.
    pub(super) fn start(&mut self) {
        if self.shared.options.begin == AgentBegin::New(None)
            || matches!(self.shared.options.begin, AgentBegin::New(Some(_)))
        {
            self.session_start("startup");
            return;
        }
        self.messages = resumed_history::load(&self.shared.transcript.path());
        for message in &self.messages {
            let texts =
                message["content"].as_array().into_iter().flatten().filter_map(|b| b["text"].as_str());
            for text in texts.filter(|t| !t.starts_with("<system-reminder>")) {
                let mine = message["role"] == "user";
                let text = text.to_owned();
                self.shared.show(if mine {
                    ConversationItem::Prompt(text)
                } else {
                    ConversationItem::Text(text)
                });
            }
        }
        self.shared.transcript.open();
        self.session_start("resume");
    }

    fn session_start(&mut self, source: &str) {
        let mut extra = json!({"source": source});
        if matches!(source, "startup" | "compact") {
            extra["model"] = json!(self.shared.options.model);
        }
        let outcome = self.shared.fire("SessionStart", PayloadScope::Session, source, extra);
        self.contexts.clear();
        if !outcome.contexts.is_empty() {
            let text = outcome.contexts.join("\n");
            self.contexts.push(reminder(&format!("SessionStart hook additional context: {text}")));
            self.shared.attach_contexts("SessionStart", &outcome.contexts);
        }
    }

    /// `/clear`: starts another conversation in the same process.
    fn clear(&mut self) {
        let shared = Arc::clone(&self.shared);
        lock(&shared.live).prompt_id = Some(Uuid::new_v4().to_string());
        shared.fire("SessionEnd", PayloadScope::Session, "clear", json!({"reason": "clear"}));
        let id = Uuid::new_v4().to_string();
        shared.transcript.switch(shared.world.transcript(&id));
        lock(&shared.live).session.clone_from(&id);
        *lock(&shared.chain) =
            Chain::new(&id, &shared.world.cwd.to_string_lossy(), &shared.world.git_branch());
        lock(&shared.presence).session(&id);
        self.messages.clear();
        self.prompts = 0;
        shared.post.send(AgentEvent::Cleared);
        self.session_start("clear");
        shared.note("mode", json!({"mode": "normal"}));
        self.local_command("clear", "");
        shared.transcript.open();
    }

    /// The transcript lines of a slash command.
    fn local_command(&self, name: &str, output: &str) {
        let caveat = "<local-command-caveat>The command below was run directly in Claude Code, not sent to \
                      you as a request.</local-command-caveat>";
        let command = format!(
            "<command-name>/{name}</command-name>\n            \
             <command-message>{name}</command-message>\n            <command-args></command-args>"
        );
        self.shared.link("user", json!({"message": {"role": "user", "content": caveat}, "isMeta": true}));
        self.shared.link("user", json!({"message": {"role": "user", "content": command}}));
        let content = format!("<local-command-stdout>{output}</local-command-stdout>");
        self.shared.link(
            "system",
            json!({"subtype": "local_command", "content": content, "level": "info", "isMeta": false}),
        );
    }

    /// `/compact`: replaces the conversation by a summary.
    fn compact(&mut self, instructions: &str) {
        let shared = Arc::clone(&self.shared);
        shared.cancel.reset();
        let id = Uuid::new_v4().to_string();
        lock(&shared.live).prompt_id = Some(id.clone());
        if self.messages.is_empty() {
            shared.show(ConversationItem::Notice("Error: No messages to compact".into()));
            return;
        }
        let custom = if instructions.is_empty() { Value::Null } else { json!(instructions) };
        let outcome = shared.fire(
            "PreCompact",
            PayloadScope::Session,
            "manual",
            json!({"trigger": "manual", "custom_instructions": custom}),
        );
        if let Some(reason) = outcome.block {
            shared.show(ConversationItem::Notice(format!("Compaction blocked by PreCompact hook: {reason}")));
            return;
        }
        let session = lock(&shared.live).session.clone();
        let Some(summary) = self.ask_for_summary(instructions, &session) else { return };
        let agent = format!("a{}", &Uuid::new_v4().simple().to_string()[..16]);
        let transcript =
            shared.world.project_dir().join(&session).join(format!("subagents/agent-{agent}.jsonl"));
        shared.fire(
            "SubagentStop",
            PayloadScope::Turn,
            "",
            json!({"agent_id": agent, "agent_type": "", "stop_hook_active": false,
            "agent_transcript_path": transcript,
            "last_assistant_message": summary, "background_tasks": [], "session_crons": []}),
        );
        let text = self.begin_compacted_chain(&session, &id, &summary);
        self.local_command("compact", "Compacted (ctrl+o to see full summary)");
        self.session_start("compact");
        let mut blocks = std::mem::take(&mut self.contexts);
        blocks.push(json!({"type": "text", "text": text}));
        self.messages = vec![json!({"role": "user", "content": blocks})];
        shared.fire(
            "PostCompact",
            PayloadScope::Session,
            "manual",
            json!({"trigger": "manual", "compact_summary": summary}),
        );
        shared.show(ConversationItem::Notice("✻ Conversation compacted (ctrl+o for the summary)".into()));
    }

    /// Asks the model for a summary of the conversation; `None` if it fails, which is shown.
    fn ask_for_summary(&self, instructions: &str, session: &str) -> Option<String> {
        let mut messages = self.messages.clone();
        let task = "Your task is to create a detailed summary of the conversation so far.";
        resumed_history::push(
            &mut messages,
            "user",
            vec![json!({"type": "text", "text": format!("{task}\n{instructions}")})],
        );
        match self.shared.client.ask(&self.body(&messages), session, &self.shared.cancel) {
            Ok(message) => {
                let texts: Vec<_> = message.content.iter().filter_map(|b| b["text"].as_str()).collect();
                Some(texts.join("\n"))
            }
            Err(failure) => {
                self.shared.show(ConversationItem::Notice(format!("Error during compaction: {failure:?}")));
                None
            }
        }
    }

    /// Starts the transcript's chain of lines anew, with the summary; returns the text of that line.
    fn begin_compacted_chain(&self, session: &str, prompt_id: &str, summary: &str) -> String {
        let shared = &self.shared;
        let logical = lock(&shared.chain).leaf().map(str::to_owned);
        *lock(&shared.chain) =
            Chain::new(session, &shared.world.cwd.to_string_lossy(), &shared.world.git_branch());
        shared.link(
            "system",
            json!({"logicalParentUuid": logical, "subtype": "compact_boundary",
            "content": "Conversation compacted", "level": "info",
            "compactMetadata": {"trigger": "manual", "preTokens": 0, "postTokens": 0, "durationMs": 0}}),
        );
        let inner = summary.split_once("<summary>").map_or(summary, |(_, s)| s).replace("</summary>", "");
        let text = format!(
            "This session is being continued from a previous conversation that ran out of context. The \
             summary below covers the earlier portion of the conversation.\n\nSummary:\n{}\n",
            inner.trim()
        );
        shared.link(
            "user",
            json!({"promptId": prompt_id, "message": {"role": "user", "content": text},
                "isVisibleInTranscriptOnly": true,
            "isCompactSummary": true}),
        );
        text
    }

    pub(super) fn body(&self, messages: &[Value]) -> Value {
        let session = lock(&self.shared.live).session.clone();
        json!({
            "model": self.shared.options.model, "max_tokens": 32000, "stream": true,
            "system": [{"type": "text", "text": "You are Claude Code, Anthropic's official CLI for Claude."}],
            "tools": tools::definitions(), "messages": messages,
            "metadata": {"user_id": format!("user_standin_account__session_{session}")},
        })
    }
}
