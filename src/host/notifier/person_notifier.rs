//! Sends notifications through every channel that is configured.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use super::notify_command::{NotifyJob, NotifyResult};
use super::{notification_sequences, payload};
use crate::core::claude::api_error::api_error_words;
use crate::core::config;
use crate::core::notification_queue::{Notification, NotificationQueue};
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::supervisor::event::{AttachKind, Event};
use crate::core::supervisor::reported_state::KnownState;
use crate::core::time::{Stamp, WallTime};
use crate::sys::worker::Worker;

/// How many commands may wait behind one that hangs.
const BACKLOG: usize = 16;
/// How many failures are remembered, so that each is logged once.
const FAILURES: usize = 50;

/// How long to wait for the end of the program's unfinished sequence, in ms.
const RING_AGAIN_MS: u64 = 50;

/// Sends notifications through all channels.
#[derive(Debug)]
pub struct Notifier {
    config: config::Notify,
    pub queue: NotificationQueue,
    worker: Worker<NotifyResult>,
    open: usize,
    /// Bytes to write to attached terminals.
    terminal: Vec<u8>,
    /// When to try again to write them between two sequences of the program.
    ring_at: Option<Stamp>,
    /// Failures that were already logged.
    logged: BTreeSet<String>,
}

impl Notifier {
    pub fn new(config: &config::Notify) -> Self {
        let silent = config.command.is_empty() && config.terminal.is_empty() && !config.desktop;
        let events = if silent { &[][..] } else { &config.events };
        Notifier {
            config: config.clone(),
            queue: NotificationQueue::new(config.after, events),
            worker: Worker::new("hopty-notify"),
            open: 0,
            terminal: Vec::new(),
            ring_at: None,
            logged: BTreeSet::new(),
        }
    }

    /// Call after an event and everything that follows from it, with the resulting state.
    pub fn watch(&mut self, event: &Event, state: &KnownState, now: Stamp) {
        // A person who attaches sees the screen.
        if matches!(event, Event::Attached { how, .. } if *how != AttachKind::Watches) {
            self.queue.typed(now);
        }
        self.queue.state(now, state);
    }

    /// Takes a decision into account. Returns the notification of the session's end, which must be sent
    /// at once. `cooling`: another run follows; `shutdown`: the host was told to end; `day_ms`: the
    /// local time of day, in ms.
    pub fn decided(
        &mut self,
        decision: &Decision,
        cooling: bool,
        shutdown: bool,
        now: Stamp,
        day_ms: u64,
    ) -> Option<Notification> {
        self.queue.decided(now, decision, cooling);
        let cause = decision.cause.filter(|_| decision.kind == DecisionKind::SessionEnded)?;
        let end = self.queue.ended(now, cause, &decision.sentence, shutdown);
        end.filter(|_| self.config.quiet_hours.left(day_ms).is_none())
    }

    /// The notifications that are due. `day_ms`: the local time of day, in ms.
    pub fn due(&mut self, now: Stamp, day_ms: u64) -> Vec<Notification> {
        self.queue.due(now, self.config.quiet_hours.left(day_ms))
    }

    /// Sends a notification through every channel. `at`: the wall clock time of the event.
    pub fn send(&mut self, notification: &Notification, at: WallTime, session: &SessionStatus) {
        let mut notification = notification.clone();
        // The subject of the dialog saves a trip to the terminal.
        let subject =
            session.waiting_subject.as_ref().filter(|_| notification.event == config::NotifyEvent::Blocked);
        notification.text.extend(subject.map(|subject| format!(": {subject}")));
        if let Some(error) =
            session.turn_error.as_deref().filter(|_| notification.event == config::NotifyEvent::Idle)
        {
            notification.text = format!("An API error ended Claude's turn ({})", api_error_words(error));
        }
        let notification = &notification;
        let title = format!("hopty: {}", session.name);
        self.terminal
            .extend(notification_sequences::bytes(&self.config.terminal, &title, &notification.text));
        let dir = PathBuf::from(&session.dir);
        if !self.config.command.is_empty() {
            let (input, variables) = payload::of(notification, at, session);
            self.submit(NotifyJob::shell(&self.config.command, input, variables, dir.clone()));
        }
        if self.config.desktop {
            self.submit(NotifyJob::desktop(&title, &notification.text, dir));
        }
    }

    fn submit(&mut self, job: NotifyJob) {
        if self.open >= BACKLOG {
            return self.log(format!("dropped, because {BACKLOG} commands wait behind one that hangs"));
        }
        self.open += 1;
        self.worker.submit(move || job.run());
    }

    /// Logs the results of the commands.
    pub fn take_done(&mut self) {
        for outcome in self.worker.take() {
            self.open = self.open.saturating_sub(1);
            if let Err(failure) = outcome {
                self.log(failure);
            }
        }
        self.worker.rest();
    }

    /// Logs a failure, once.
    fn log(&mut self, failure: String) {
        if self.logged.len() < FAILURES && !self.logged.contains(&failure) {
            crate::host::log(format_args!("notification: {failure}"));
            self.logged.insert(failure);
        }
    }

    /// Whether a command runs.
    pub fn is_busy(&self) -> bool {
        self.worker.is_busy()
    }

    /// The descriptor that reports the end of a command.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.worker.fd()
    }

    /// Bytes to write to attached terminals.
    pub fn terminal_bytes(&self) -> &[u8] {
        &self.terminal
    }

    /// `done`: the bytes were written, or no terminal is attached; otherwise the program is in the middle of
    /// a sequence.
    pub fn note_written(&mut self, done: bool, now: Stamp) {
        if done {
            self.terminal.clear();
        }
        self.ring_at = (!done).then(|| now.after(RING_AGAIN_MS));
    }

    pub fn is_due(&self, now: Stamp) -> bool {
        self.queue.deadline().is_some_and(|at| at <= now)
    }

    /// When something is due.
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        let done = self.worker.has_done_here().then_some(now);
        [self.queue.deadline(), self.ring_at, done].into_iter().flatten().min()
    }
}

#[cfg(test)]
#[path = "person_notifier_tests.rs"]
mod tests;
