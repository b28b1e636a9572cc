//! Notifications: what happens in the session comes to the notifier, and what it has for terminals goes
//! there.

use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::supervisor::event::{AttachKind, Event};
use crate::core::supervisor::phase::Phase;
use crate::host::Host;
use crate::sys::clock;

impl Host {
    /// An event and everything that follows from it were handled.
    pub(in crate::host) fn watch_for_notifications(&mut self, event: &Event) {
        let now = self.clock.now();
        // Who attaches looks.
        if matches!(event, Event::Attached { how, .. } if *how != AttachKind::Watches) {
            self.notifier.queue.typed(now);
        }
        self.notifier.queue.state(now, &self.recorder.supervisor.state());
    }

    /// A decision was made.
    pub(in crate::host) fn notify_of(&mut self, decision: &Decision) {
        let now = self.clock.now();
        let cooling = matches!(self.phase(), Phase::Cooling { .. });
        self.notifier.queue.decided(now, decision, cooling);
        if decision.kind == DecisionKind::SessionEnded
            && let Some(cause) = decision.cause
            && let Some(told) = self.notifier.queue.ended(now, cause, &decision.sentence)
            && !self.notifier.is_quiet(clock::day_ms())
        {
            let (at, status) = (self.session.wall(told.at), self.status());
            self.notifier.send(&told, at, &status);
        }
    }

    /// Sends what is due, and passes on what terminals have yet to get.
    pub(in crate::host) fn tend_notifications(&mut self) {
        self.notifier.take_done();
        let now = self.clock.now();
        if self.notifier.is_due(now) {
            let due = self.notifier.due(now, clock::day_ms());
            if !due.is_empty() {
                let status = self.status();
                for told in due {
                    let at = self.session.wall(told.at);
                    self.notifier.send(&told, at, &status);
                }
            }
        }
        if !self.notifier.terminal_bytes().is_empty() {
            let bytes = self.notifier.terminal_bytes().to_vec();
            let done = self.on_terminals(|terminals, scene| terminals.ring(&bytes, scene));
            self.notifier.rang(done, now);
        }
    }
}
