//! The effects of keys: in the prompt box, at the trust question, at a permission question.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::json;

use super::super::agent_input::AgentKey;
use super::super::agent_screen::Block;
use super::super::agent_shared::lock;
use super::super::agent_shared::{AgentEvent, AgentPrompt, ConversationItem, PayloadScope, PermissionAnswer};
use super::super::engine::Command;
use super::super::options::AgentPermissionMode;
use super::super::transcript::now;
use super::{App, PendingSecondPress, TWICE};

impl App {
    /// Handles the keys of one read.
    pub(super) fn keys(&mut self, keys: Vec<AgentKey>) {
        // Keys of one write refer to what was drawn before it (measured: "down, Enter" at once takes the
        // old option).
        let drawn = self.chosen;
        for key in keys {
            if self.exit.is_some() {
                return;
            }
            match key {
                AgentKey::KittyKnown => self.screen.use_kitty(),
                AgentKey::Suspend => self.suspend(),
                key if self.orders.is_some() => self.trust_key(&key, drawn),
                key if self.question.is_some() => self.question_key(&key, drawn),
                key => self.box_key(key),
            }
        }
    }

    fn trust_key(&mut self, key: &AgentKey, drawn: usize) {
        match key {
            AgentKey::Up => self.chosen = 0,
            AgentKey::Down => self.chosen = 1,
            AgentKey::Enter if drawn == 1 => {
                let _ = self.shared.world.trust();
                self.chosen = 0;
                self.draw_block(Block::default());
                self.begin();
            }
            AgentKey::Enter | AgentKey::Escape | AgentKey::Interrupt => {
                self.finish("other", 1);
                self.terminal.write(
                    b"\r\nClaude Code didn't start because this folder isn't trusted.\r\nRun claude again \
                      and choose Yes, or run it in another folder.\r\n",
                );
            }
            _ => {}
        }
    }

    fn question_key(&mut self, key: &AgentKey, drawn: usize) {
        const ANSWERS: [PermissionAnswer; 3] =
            [PermissionAnswer::Yes, PermissionAnswer::Always, PermissionAnswer::No];
        let answer = match key {
            AgentKey::Up => {
                self.chosen = self.chosen.saturating_sub(1);
                return;
            }
            AgentKey::Down => {
                self.chosen = (self.chosen + 1).min(2);
                return;
            }
            AgentKey::Enter => ANSWERS[drawn.min(2)],
            AgentKey::Text(text) => match text.as_str() {
                "1" => PermissionAnswer::Yes,
                "2" => PermissionAnswer::Always,
                "3" => PermissionAnswer::No,
                _ => return,
            },
            AgentKey::Escape => PermissionAnswer::No,
            // Ctrl+C has no effect here (measured).
            _ => return,
        };
        if let Some(question) = self.question.take() {
            let _ = question.reply.send(answer);
        }
    }

    fn box_key(&mut self, key: AgentKey) {
        let twice = self.twice.take().filter(|(_, since)| since.elapsed() < TWICE).map(|(which, _)| which);
        match key {
            AgentKey::Text(text) => self.draft.insert(&text),
            AgentKey::Paste(text) => self.draft.paste(&text),
            AgentKey::Newline => self.draft.insert("\n"),
            AgentKey::Backspace => self.draft.backspace(),
            AgentKey::KillLine => self.draft.kill_line(),
            AgentKey::Left => self.draft.step(-1),
            AgentKey::Right => self.draft.step(1),
            AgentKey::Home => self.draft.home(),
            AgentKey::End => self.draft.end(),
            AgentKey::BackTab => self.next_mode(),
            AgentKey::Enter if self.swallow > 0 => self.swallow -= 1,
            AgentKey::Enter => self.enter(),
            AgentKey::Escape if self.running > 0 => self.shared.interrupt(),
            AgentKey::Interrupt if self.running > 0 => self.shared.interrupt(),
            AgentKey::Interrupt if twice == Some(PendingSecondPress::Interrupt) && self.draft.is_empty() => {
                self.finish("prompt_input_exit", 0)
            }
            AgentKey::Interrupt => {
                self.draft.clear();
                self.twice = Some((PendingSecondPress::Interrupt, Instant::now()));
            }
            AgentKey::EndOfInput if !self.draft.is_empty() => {}
            AgentKey::EndOfInput if twice == Some(PendingSecondPress::EndOfInput) => {
                self.finish("prompt_input_exit", 0)
            }
            AgentKey::EndOfInput => self.twice = Some((PendingSecondPress::EndOfInput, Instant::now())),
            AgentKey::Up | AgentKey::Down | AgentKey::Escape | AgentKey::Suspend | AgentKey::KittyKnown => {}
        }
    }

    /// The order is that of Claude Code 2.1.330; it includes the mode that asks nothing if the command line
    /// allows it.
    fn next_mode(&self) {
        let mut live = lock(&self.shared.live);
        live.mode = match live.mode {
            AgentPermissionMode::Default => AgentPermissionMode::AcceptEdits,
            AgentPermissionMode::AcceptEdits => AgentPermissionMode::Plan,
            AgentPermissionMode::Plan if live.may_bypass => AgentPermissionMode::Bypass,
            AgentPermissionMode::Plan | AgentPermissionMode::Bypass => AgentPermissionMode::Default,
        };
    }

    fn enter(&mut self) {
        if self.draft.takes_break() {
            return;
        }
        let (text, shown) = self.draft.submit();
        if !text.trim().is_empty() {
            self.submit(text, shown);
        }
    }

    /// Submits a prompt, or runs a slash command.
    pub(super) fn submit(&mut self, text: String, shown: String) {
        let (word, rest) = text.split_once(' ').unwrap_or((text.as_str(), ""));
        match word {
            "/exit" | "/quit" => self.finish("prompt_input_exit", 0),
            "/clear" => self.order(Command::Clear),
            "/compact" => self.order(Command::Compact(rest.to_owned())),
            _ if word.starts_with('/') && !word[1..].contains('/') => {
                let shown = ConversationItem::Notice(format!("Unknown command: {word}"));
                self.event(AgentEvent::Show(shown));
            }
            _ if self.running > 0 => self.queue(AgentPrompt { text, shown, contexts: Vec::new() }),
            _ => self.order(Command::Prompt(AgentPrompt { text, shown, contexts: Vec::new() })),
        }
    }

    /// While a turn runs, the UserPromptSubmit hooks run at once, and then the prompt is queued (measured).
    fn queue(&self, mut prompt: AgentPrompt) {
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            let outcome =
                shared.fire("UserPromptSubmit", PayloadScope::Turn, "", json!({"prompt": prompt.text}));
            if let Some(reason) = outcome.stop.or(outcome.block) {
                shared.show(ConversationItem::Notice(format!(
                    "UserPromptSubmit operation blocked by hook:\n{reason}"
                )));
                return;
            }
            prompt.contexts = outcome.contexts;
            shared.note(
                "queue-operation",
                json!({"operation": "enqueue", "timestamp": now(), "content": prompt.text}),
            );
            lock(&shared.queue).push_back(prompt);
            shared.post.send(AgentEvent::Queue);
        });
    }

    fn suspend(&mut self) {
        self.screen.suspend();
        self.terminal.write(&self.screen.take());
        self.terminal.restore();
        self.suspended = true;
        self.terminal.stop();
    }
}
