//! The screen as facts for the supervisor, and hopty's own line between two runs.

use crate::core::claude::screen_reading::ScreenReading;
use crate::core::ids::ConversationId;
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::RestartBy;
use crate::core::supervisor::phase::{Phase, StartKind, StopStep};
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::child::{LOOK_MS, TypingNow};

impl Host {
    /// hopty's own line between two runs.
    pub(super) fn going_on(&self) -> String {
        let supervisor = &self.recorder.supervisor;
        let fill = supervisor.fill();
        // A person who requested the restart knows the reason.
        let full = match self.jobs.reason.by {
            Some(RestartBy::Level) if fill.is_by_size(&supervisor.levels()) => {
                format!("transcript of {} KiB, ", fill.bytes / 1024)
            }
            Some(RestartBy::Level) if fill.tokens > 0 => format!("context {} % full, ", fill.percent()),
            _ => String::new(),
        };
        let next = self.phase().next_run();
        let into = match (next.and_then(|next| next.handoff.as_ref()), next) {
            (Some(id), _) => format!("handing over as {id}"),
            (None, Some(plan)) if plan.start == StartKind::Resume => {
                let id = |id: Option<&ConversationId>| id.map(ToString::to_string).unwrap_or_default();
                let (back, newer) = (id(plan.conversation.as_ref()), id(supervisor.conversation()));
                format!("back in conversation {back}; to return to the newer one: `hopty --resume {newer}`")
            }
            (None, _) => "starting a fresh conversation".to_owned(),
        };
        let line = self.child.on_rows(&format!("hopty: {full}{into}"));
        format!("\r\x1b[2m{line}\x1b[0m\r\n\r\n{}", self.printed_between())
    }

    /// The live screen, read by the rules.
    pub(in crate::host) fn view(&mut self) -> Option<ScreenReading> {
        self.child.view(&mut self.events)
    }

    /// Only the screen shows when the child has read what was typed, and an Enter may wait for that.
    pub(in crate::host) fn unread_deadline(&self, now: Stamp) -> Option<Stamp> {
        let types = matches!(self.phase(), Phase::Delivering { .. }) || self.keyboard.queue.is_submitting();
        let waits = types && self.child.run.as_ref().is_some_and(|run| run.facts.unread);
        waits.then(|| now.after(LOOK_MS))
    }

    /// Reports changes of the screen to the supervisor while they matter.
    pub(in crate::host) fn tell_screen(&mut self) {
        let phase = self.phase();
        let delivering = matches!(phase, Phase::Delivering { .. });
        let settling = matches!(phase, Phase::Stopping { step: StopStep::Settle { .. }, .. });
        // A hook call may lead to a stop, which a draft postpones; and whoever was told of a dialog must be
        // told of its end.
        let matters = delivering
            || settling
            || matches!(phase, Phase::Waiting { .. })
            || !self.control.hooks.is_empty()
            || self.control.waits.for_state()
            || self.keyboard.queue.is_submitting()
            || self.recorder.supervisor.stands_still()
            || self.recorder.supervisor.watches_mode(self.clock.now());
        let told = self.child.run.as_ref().is_some_and(|run| run.facts.dialog.is_some());
        if matters || told {
            self.look_at_screen();
        }
    }

    /// Reports the screen to the supervisor if it has changed.
    pub(super) fn look_at_screen(&mut self) {
        if self.session.launch.agent == Agent::Plain {
            return;
        }
        let delivering = matches!(self.phase(), Phase::Delivering { .. });
        let types = delivering || self.keyboard.queue.is_submitting();
        // Never paste into the middle of a key.
        let in_a_sequence = self.terminals.is_in_a_sequence(None);
        let unread = types
            && (in_a_sequence
                || self.child.run.as_ref().is_some_and(|run| !run.has_read_all())
                || (!delivering && self.keyboard.held.deadline().is_some()));
        let sent = self.keyboard.queue.text().filter(|_| !delivering);
        let expected = sent.or_else(|| self.jobs.brief.as_ref().and_then(|brief| brief.typed.as_deref()));
        let typing = TypingNow { expected, in_a_sequence };
        self.child.look(self.clock.now(), &typing, unread, &mut self.events);
    }
}
