//! One life of the child: spawn, start, job control, and what a person or a client does to it from outside.

use super::action::{Action, DecisionKind, Target, Typing};
use super::ask::Ask;
use super::conversation::Claims;
use super::ends::{CtrlC, Meaning, Row, meaning};
use super::keys::Keys;
use super::level::Began;
use super::phase::{Cause, Phase, Plan, StartKind, StopFor};
use super::{Agent, ScreenFacts, Supervisor, Turn};
use crate::core::claude::carried::Way;
use crate::core::context::{Fill, Level};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process::{ProcessEnd, Signal};
use crate::core::time::Stamp;

impl Supervisor {
    pub(super) fn start(
        &mut self,
        now: Stamp,
        conversation: Option<ConversationId>,
        next: ConversationId,
        handoff: Option<HandoffId>,
        out: &mut Vec<Action>,
    ) {
        if self.phase != Phase::Cold {
            return;
        }
        self.next = Some(next);
        self.active.clone_from(&handoff);
        self.decide(out, DecisionKind::SessionStarted, "The session began.".to_owned(), &[self.event_seq], |_| {});
        self.spawn(now, Plan { start: StartKind::First, conversation, handoff, dir: None, draft: false, carries: None }, out);
    }

    pub(super) fn spawn(&mut self, now: Stamp, plan: Plan, out: &mut Vec<Action>) {
        self.run += 1;
        self.pid = None;
        self.held_dir = None;
        self.stopped = false;
        self.hooks_seen = false;
        self.claims = Claims::default();
        self.cut = false;
        self.frame_answered = false;
        self.frame_sent = false;
        self.held = None;
        self.status = None;
        self.waiting_for = None;
        self.asking = None;
        self.screen = ScreenFacts::default();
        self.box_since = None;
        self.typed = None;
        self.turn = Turn::Unknown;
        self.background = 0;
        (self.queued, self.queued_way) = (0, None);
        self.broken_off = None;
        self.passed = None;
        self.offered = None;
        self.chain_goes_on(&plan, out);
        if plan.start != StartKind::Resume {
            self.halts.forget();
        }
        if plan.start == StartKind::Fresh {
            self.spoken = false;
            self.fill = Fill::default();
            self.fired = Level::Ok;
            self.began = Began::Unmeasured;
            self.rearm_at_stop = false;
            self.ask = Ask::Silent;
            self.person.begins_anew();
        }
        if plan.dir.is_some() {
            // For the runs after it too: a conversation can only be resumed where it was had.
            self.dir.clone_from(&plan.dir);
        }
        if plan.conversation.is_some() {
            self.conversation.clone_from(&plan.conversation);
        }
        let prompt = plan.carries == Some(Way::Argument) && plan.handoff.is_some();
        let (run, start, conversation) = (self.run, plan.start, plan.conversation.clone());
        out.push(Action::Spawn { run, start, conversation, dir: self.dir.clone(), prompt });
        self.enter(now, Phase::Spawning { plan });
    }

    pub(super) fn started(&mut self, now: Stamp, run: u32, pid: i32, next: Option<ConversationId>, out: &mut Vec<Action>) {
        let Phase::Spawning { plan } = self.phase.clone() else { return };
        if run != self.run {
            return;
        }
        // Keys are kept here from the second run on, and a Ctrl+C with them.
        let interrupted = self.keys == Keys::Held && self.interrupted_here();
        self.pid = Some(pid);
        self.run_started = now;
        self.next = next.or(self.next.take());
        let sentence = match (&plan.handoff, plan.start) {
            (Some(id), _) => format!("Run {run} was started to go on from {id}."),
            (None, StartKind::Resume) => format!("Run {run} was started to resume the same conversation."),
            (None, _) => format!("Run {run} was started."),
        };
        let conversation = self.conversation.clone();
        self.decide(out, DecisionKind::RunSpawned, sentence, &[self.event_seq], |d| d.conversation = conversation);
        if let Some((why, kill)) = self.end_wanted.take() {
            self.enter(now, Phase::Running);
            self.end_for(now, why, kill, out);
            return;
        }
        let back = self.went_back(out);
        if let Some(id) = self.conversation.clone() {
            out.push(Action::Follow { conversation: id, transcript: None, anew: back });
        }
        match plan.handoff.clone() {
            Some(handoff) if self.policy.agent == Agent::Claude => {
                self.begin_delivery(now, plan, handoff, out);
                if interrupted {
                    self.deliver_interrupted(now, out);
                }
            }
            _ => {
                self.enter(now, Phase::Running);
                if plan.carries.is_some() {
                    self.return_prompt(interrupted, out);
                }
                if interrupted {
                    out.push(Action::Type { typing: Typing::Interrupt });
                }
                self.release_keys(plan.draft, out);
            }
        }
        // It was passed on while there was nobody to get it.
        if let Some((_, signal)) = self.passed {
            out.push(Action::Signal { signal, to: Target::Group });
        }
    }

    pub(super) fn could_not_start(&mut self, now: Stamp, run: u32, code: u8, out: &mut Vec<Action>) {
        if !matches!(self.phase, Phase::Spawning { .. }) || run != self.run {
            return;
        }
        let ctrl_c = if self.interrupted_here() { CtrlC::Yes } else { CtrlC::No };
        let (cause, text) = match meaning(Row::Spawning, ctrl_c, ProcessEnd::Exited(code)) {
            _ if self.end_wanted.is_some() => (Cause::Stopped, "The session was stopped before the program had started."),
            Meaning::UserInterrupt => (Cause::UserInterrupt, "Ctrl+C was pressed before the program had started."),
            _ if code == 126 => (Cause::CouldNotStart, "The program could not be started: it is not executable."),
            _ if code == 127 => (Cause::CouldNotStart, "The program could not be started: it was not found."),
            _ => (Cause::CouldNotStart, "The program could not be started."),
        };
        self.close(now, cause, code, text.to_owned(), &[self.event_seq], out);
    }

    /// What runs code changed between the last look and this start: nothing runs until a person agrees. The session, its handoff and
    /// what was typed wait.
    pub(super) fn start_held(&mut self, now: Stamp, changed: &[String], out: &mut Vec<Action>) {
        let Phase::Spawning { plan } = self.phase.clone() else { return };
        if changed.is_empty() {
            return;
        }
        let run = self.run;
        let interrupted = self.interrupted_here();
        self.run -= 1;
        // It was none.
        self.restarts.pop();
        self.restart_count = self.restart_count.saturating_sub(1);
        self.enter(now, Phase::Cooling { until: now, plan, code: self.last_code, held: changed.to_vec() });
        if let Some((why, kill)) = self.end_wanted.take() {
            self.end_for(now, why, kill, out);
            return;
        }
        let text = format!(
            "Run {run} is not started: what runs code changed since launch ({}); `hopty restart` starts it all the same.",
            changed.join(", ")
        );
        self.decide(out, DecisionKind::RunHeld, text, &[self.event_seq], |_| {});
        self.hold_keys(out);
        if interrupted {
            self.interrupted(now, out);
        }
    }

    pub(super) fn child(&mut self, now: Stamp, end: ProcessEnd, out: &mut Vec<Action>) {
        match end {
            ProcessEnd::Stopped(_) => {
                if !self.stopped {
                    self.stopped_since = now;
                }
                self.stopped = true;
                out.push(Action::Suspend);
            }
            ProcessEnd::Continued => self.stopped = false,
            ProcessEnd::Exited(_) | ProcessEnd::Signaled(_) => self.ended(now, end, out),
        }
    }

    /// Ctrl+C: the person wins (CONTRACT C5).
    pub(super) fn interrupted(&mut self, now: Stamp, out: &mut Vec<Action>) {
        self.interrupt = Some((now, self.event_seq));
        self.submit_interrupted(out);
        match &mut self.phase {
            // At an idle prompt it clears the box, and means nothing that is to come.
            Phase::Waiting { request } if request.for_prompt.is_some() => {}
            Phase::Waiting { request } if !request.explicit => self.interrupt_request(now, out),
            Phase::Saving { request, .. } => {
                // Keys are kept while a handoff is saved, but this one is the person's word to Claude.
                let explicit = request.explicit;
                out.push(Action::Type { typing: Typing::Interrupt });
                if !explicit {
                    self.interrupt_request(now, out);
                }
            }
            Phase::Stopping { why: StopFor::Restart { interrupted, .. }, .. } => *interrupted = true,
            Phase::Cooling { code, .. } => {
                let code = *code;
                let text = "Ctrl+C was pressed before the next run.".to_owned();
                self.close(now, Cause::UserInterrupt, code, text, &[self.event_seq], out);
            }
            Phase::Delivering { .. } => self.deliver_interrupted(now, out),
            _ => {}
        }
    }

    fn interrupt_request(&mut self, now: Stamp, out: &mut Vec<Action>) {
        self.rearm_later();
        self.cancel_request(now, "the person pressed Ctrl+C", out);
    }

    /// A client's signal went on to the child's group. One that is meant to end a program ends the session where there
    /// is no program to get it, or where hopty is replacing it.
    pub(super) fn passed_on(&mut self, now: Stamp, signal: Signal, out: &mut Vec<Action>) {
        self.passed = Some((now, signal));
        if !ends_programs(signal) {
            return;
        }
        match &self.phase {
            Phase::Stopping { why: StopFor::Restart { .. }, .. } => self.end_for(now, StopFor::Stop, false, out),
            Phase::Cooling { .. } => {
                let text = format!("{} came before the next run.", signal.name());
                self.close(now, Cause::Stopped, self.last_code, text, &[self.event_seq], out);
            }
            _ => {}
        }
    }
}

/// The signals by which one asks a program to end.
pub(super) fn ends_programs(signal: Signal) -> bool {
    matches!(signal, Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM)
}
