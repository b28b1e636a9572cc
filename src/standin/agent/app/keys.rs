//! Which key does what: in the prompt box, at the trust question, at a permission question.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::json;

use super::super::engine::Command;
use super::super::input::Key;
use super::super::lock;
use super::super::options::PermissionMode;
use super::super::screen::Block;
use super::super::shared::{Answer, Event, Prompt, Scope, Shown};
use super::super::transcript::now;
use super::{App, TWICE, Twice};

impl App {
    /// Does what the keys of one read ask for.
    pub(super) fn keys(&mut self, keys: Vec<Key>) {
        // Keys of one write act on what was drawn before it (measured: "down, Enter" at once takes the old
        // choice).
        let drawn = self.chosen;
        for key in keys {
            if self.exit.is_some() {
                return;
            }
            match key {
                Key::KittyKnown => self.screen.use_kitty(),
                Key::Suspend => self.suspend(),
                key if self.orders.is_some() => self.trust_key(&key, drawn),
                key if self.question.is_some() => self.question_key(&key, drawn),
                key => self.box_key(key),
            }
        }
    }

    fn trust_key(&mut self, key: &Key, drawn: usize) {
        match key {
            Key::Up => self.chosen = 0,
            Key::Down => self.chosen = 1,
            Key::Enter if drawn == 1 => {
                let _ = self.shared.world.trust();
                self.chosen = 0;
                self.draw_block(Block::default());
                self.begin();
            }
            Key::Enter | Key::Escape | Key::Interrupt => {
                self.finish("other", 1);
                self.terminal.write(
                    b"\r\nClaude Code didn't start because this folder isn't trusted.\r\nRun claude again and choose Yes, or run it in another folder.\r\n",
                );
            }
            _ => {}
        }
    }

    fn question_key(&mut self, key: &Key, drawn: usize) {
        const ANSWERS: [Answer; 3] = [Answer::Yes, Answer::Always, Answer::No];
        let answer = match key {
            Key::Up => {
                self.chosen = self.chosen.saturating_sub(1);
                return;
            }
            Key::Down => {
                self.chosen = (self.chosen + 1).min(2);
                return;
            }
            Key::Enter => ANSWERS[drawn.min(2)],
            Key::Text(text) => match text.as_str() {
                "1" => Answer::Yes,
                "2" => Answer::Always,
                "3" => Answer::No,
                _ => return,
            },
            Key::Escape => Answer::No,
            // Ctrl+C does nothing here (measured).
            _ => return,
        };
        if let Some(question) = self.question.take() {
            let _ = question.reply.send(answer);
        }
    }

    fn box_key(&mut self, key: Key) {
        let twice = self.twice.take().filter(|(_, since)| since.elapsed() < TWICE).map(|(which, _)| which);
        match key {
            Key::Text(text) => self.draft.insert(&text),
            Key::Paste(text) => self.draft.paste(&text),
            Key::Newline => self.draft.insert("\n"),
            Key::Backspace => self.draft.backspace(),
            Key::KillLine => self.draft.kill_line(),
            Key::Left => self.draft.step(-1),
            Key::Right => self.draft.step(1),
            Key::Home => self.draft.home(),
            Key::End => self.draft.end(),
            Key::BackTab => self.next_mode(),
            Key::Enter if self.swallow > 0 => self.swallow -= 1,
            Key::Enter => self.enter(),
            Key::Escape if self.running > 0 => self.shared.interrupt(),
            Key::Interrupt if self.running > 0 => self.shared.interrupt(),
            Key::Interrupt if twice == Some(Twice::Interrupt) && self.draft.is_empty() => {
                self.finish("prompt_input_exit", 0)
            }
            Key::Interrupt => {
                self.draft.clear();
                self.twice = Some((Twice::Interrupt, Instant::now()));
            }
            Key::EndOfInput if !self.draft.is_empty() => {}
            Key::EndOfInput if twice == Some(Twice::EndOfInput) => self.finish("prompt_input_exit", 0),
            Key::EndOfInput => self.twice = Some((Twice::EndOfInput, Instant::now())),
            Key::Up | Key::Down | Key::Escape | Key::Suspend | Key::KittyKnown => {}
        }
    }

    /// The order is that of Claude Code 2.1.330; the widest is among them where the command line allows it.
    fn next_mode(&self) {
        let mut live = lock(&self.shared.live);
        live.mode = match live.mode {
            PermissionMode::Default => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits => PermissionMode::Plan,
            PermissionMode::Plan if live.may_bypass => PermissionMode::Bypass,
            PermissionMode::Plan | PermissionMode::Bypass => PermissionMode::Default,
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

    /// Sends a prompt on its way, or does what a slash command says.
    pub(super) fn submit(&mut self, text: String, shown: String) {
        let (word, rest) = text.split_once(' ').unwrap_or((text.as_str(), ""));
        match word {
            "/exit" | "/quit" => self.finish("prompt_input_exit", 0),
            "/clear" => self.order(Command::Clear),
            "/compact" => self.order(Command::Compact(rest.to_owned())),
            _ if word.starts_with('/') && !word[1..].contains('/') => {
                let shown = Shown::Notice(format!("Unknown command: {word}"));
                self.event(Event::Show(shown));
            }
            _ if self.running > 0 => self.queue(Prompt { text, shown, contexts: Vec::new() }),
            _ => self.order(Command::Prompt(Prompt { text, shown, contexts: Vec::new() })),
        }
    }

    /// While a turn runs: the UserPromptSubmit hooks run at once, then the prompt is in the queue (measured).
    fn queue(&self, mut prompt: Prompt) {
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            let outcome = shared.fire("UserPromptSubmit", Scope::Turn, "", json!({"prompt": prompt.text}));
            if let Some(reason) = outcome.stop.or(outcome.block) {
                shared.show(Shown::Notice(format!("UserPromptSubmit operation blocked by hook:\n{reason}")));
                return;
            }
            prompt.contexts = outcome.contexts;
            shared.note(
                "queue-operation",
                json!({"operation": "enqueue", "timestamp": now(), "content": prompt.text}),
            );
            lock(&shared.queue).push_back(prompt);
            shared.post.send(Event::Queue);
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
