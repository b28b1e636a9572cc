//! Claude's list of tasks, as a handoff has it.

use std::collections::HashSet;

use super::capture::EarlierHandoff;
use super::checkpoint::Phases;
use super::current_request::{names_work, newest_request};
use crate::core::claude::tasks::{Task, TaskStatus, task_key, unknown_subject};
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::text::safe_text::{cut_chars, safe_line};

/// The most finished tasks, and decisions for the next handoff.
pub(super) const DONE_CAP: usize = 50;

/// The tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffTasks {
    /// Claude's list, with open tasks of earlier conversations.
    pub list: Vec<Task>,
    /// The keys of tasks that were last touched before the current request began.
    pub old: HashSet<String>,
    /// The person has named work since any of them was touched.
    pub said_since: bool,
    /// Tasks that earlier conversations finished, newest first.
    pub done_before: Vec<String>,
}

impl HandoffTasks {
    pub(super) fn of(facts: &TranscriptFacts) -> Self {
        let prompts = &facts.prompts;
        // None are old if the request began in an earlier conversation.
        let old = newest_request(prompts.iter().rev())
            .map(|since| facts.tasks.untouched_since(prompts.count().saturating_sub(since as u64 + 1)));
        Self {
            list: facts.tasks.all().to_vec(),
            old: old.unwrap_or_default(),
            said_since: said_since_tasks(facts),
            done_before: Vec::new(),
        }
    }

    /// How many tasks are done, and how many there are.
    pub fn progress(&self) -> Phases {
        let done = self.list.iter().filter(|task| task.status == TaskStatus::Completed).count();
        Phases { done, total: self.list.len() }
    }

    /// The finished tasks of all conversations, newest first, each once, at most 50.
    pub fn done(&self) -> Vec<String> {
        let here = self.list.iter().rev().filter(|task| task.status == TaskStatus::Completed);
        let here = here.map(|task| cut_chars(&safe_line(&task.subject), 500));
        let mut done: Vec<String> = Vec::new();
        for one in here.chain(self.done_before.iter().cloned()).filter(|one| !one.is_empty()) {
            if done.len() < DONE_CAP && !done.contains(&one) {
                done.push(one);
            }
        }
        done
    }

    /// Claude's list continues after a hand-over: open tasks stay open. If this conversation has begun a list
    /// of its own, the numbers of the earlier one mean nothing, and its tasks are old. `has_request`: this
    /// conversation has a request of its own.
    pub(super) fn inherit(&mut self, before: &EarlierHandoff<'_>, has_request: bool) {
        let line = |text: &String| cut_chars(&safe_line(text), 500);
        self.done_before = before.done.iter().take(DONE_CAP).map(line).collect();
        let is_unknown = |task: &Task| !task.id.is_empty() && task.subject == unknown_subject(&task.id);
        let continues = self.list.is_empty() || self.list.iter().any(is_unknown);
        for earlier in before.tasks {
            let is_it = |task: &Task| task.subject.trim() == earlier.subject.trim();
            let is_here = self.list.iter().any(is_it);
            let numbered = |task: &&mut Task| !task.id.is_empty() && task.id == earlier.id;
            match self.list.iter_mut().find(numbered) {
                Some(task) if is_unknown(task) => task.subject.clone_from(&earlier.subject),
                _ if is_here => {}
                Some(_) if continues => {}
                _ => {
                    let id = if continues { earlier.id.clone() } else { String::new() };
                    let task = Task { id, ..earlier.clone() };
                    if has_request || !continues {
                        self.old.insert(task_key(&task));
                    }
                    self.list.push(task);
                }
            }
        }
    }
}

/// Whether the person has named work since a task was touched, and Claude has answered.
fn said_since_tasks(facts: &TranscriptFacts) -> bool {
    let prompts = &facts.prompts;
    let unanswered = usize::from(facts.turn.awaits_answer());
    let mut newest = (unanswered..).zip(prompts.iter().rev().skip(unanswered));
    let since = newest.find(|(_, prompt)| names_work(prompt)).map(|(at, _)| at as u64 + 1);
    since.is_some_and(|since| {
        let untouched = facts.tasks.untouched_since(prompts.count().saturating_sub(since));
        untouched.len() == facts.tasks.all().len()
    })
}
