//! One life of the child: spawn, start, job control, and what a person or a client does to it.

use super::action::{Action, DecisionKind, SETTINGS_CHANGED, SignalTarget, Typing};
use super::conversation_chain::PastConversation;
use super::event::KeyClass;
use super::exit_table::{CtrlC, ExitMeaning, ExitRow, meaning};
use super::key_hold_decision::KeyHold;
use super::phase::{EndCause, EndRequest, Phase, RunPlan, StartKind, StopFor};
use super::run_state::{RunState, ends_programs};
use super::step::EventStep;
use super::{ProgramKind, Supervisor};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process_change::{ProcessEnd, Signal};

impl Supervisor {
    pub(super) fn start(
        &mut self,
        step: &mut EventStep<'_>,
        conversation: Option<ConversationId>,
        next: ConversationId,
        handoff: Option<HandoffId>,
    ) {
        if self.phase != Phase::Cold {
            return;
        }
        self.session.next = Some(next);
        self.handoffs.active.clone_from(&handoff);
        step.decide(DecisionKind::SessionStarted, "The session started.");
        self.spawn(
            step,
            RunPlan {
                start: StartKind::First,
                conversation,
                handoff,
                dir: None,
                draft: false,
                carries: None,
                first_prompt: false,
            },
        );
    }

    pub(super) fn spawn(&mut self, step: &mut EventStep<'_>, plan: RunPlan) {
        self.session.begin_run(step);
        self.run = RunState::default();
        self.record_chain(step, &plan);
        self.conversation = self.conversation.in_next_run(plan.start);
        if plan.start == StartKind::Fresh {
            self.conversation.begin_empty(&self.policy);
        }
        if plan.dir.is_some() {
            // Kept for later runs: a conversation can only be resumed in its own directory.
            self.session.dir.clone_from(&plan.dir);
        }
        if plan.conversation.is_some() {
            self.conversation.id.clone_from(&plan.conversation);
        }
        let prompt = plan.carries == Some(CarryMethod::Argument) && plan.handoff.is_some();
        let own = plan.first_prompt || plan.start == StartKind::First;
        let command = own && self.session.command;
        self.run.queue.argument = prompt || command || own && self.session.argument.is_some();
        self.run.queue.command = command;
        let (run, start, conversation) = (self.session.runs, plan.start, plan.conversation.clone());
        let (dir, first_prompt) = (self.session.dir.clone(), plan.first_prompt);
        step.act(Action::Spawn { run, start, conversation, dir, prompt, first_prompt });
        self.enter(step, Phase::Spawning { plan, end: None });
    }

    /// A run is about to start: records the conversation that it leaves or returns to.
    fn record_chain(&mut self, step: &mut EventStep<'_>, plan: &RunPlan) {
        match (plan.start, self.conversation.id.clone()) {
            (StartKind::Fresh, Some(_)) if plan.handoff.is_none() && self.is_unwritten() => {}
            (StartKind::Fresh, Some(conversation)) if self.conversation.spoken => {
                let (dir, handoff) = (self.session.dir.clone(), plan.handoff.clone());
                self.chain.leave(PastConversation { conversation, dir, handoff });
            }
            (StartKind::Resume, newer) => {
                let Some(past) = self.chain.resume(newer) else { return };
                self.session.dir = past.dir;
                if let Some(handoff) = past.handoff {
                    self.handoffs.clear(step, handoff);
                }
                self.conversation = self.conversation.for_return();
            }
            _ => {}
        }
    }

    pub(super) fn started(
        &mut self,
        step: &mut EventStep<'_>,
        run: u32,
        pid: i32,
        next: Option<ConversationId>,
    ) {
        let Phase::Spawning { plan, end } = self.phase.clone() else { return };
        if run != self.session.runs {
            return;
        }
        // From the second run on keys are held here, including Ctrl+C.
        let interrupted = self.keys == KeyHold::Held && self.session.interrupted_after(self.phase_began.seq);
        self.run.pid = Some(pid);
        self.run.started = step.now;
        self.session.next = next.or(self.session.next.take());
        let sentence = match (&plan.handoff, plan.start) {
            (Some(id), _) => format!("Started run {run} to continue from {id}."),
            (None, StartKind::Resume) => format!("Started run {run} to resume the same conversation."),
            (None, _) => format!("Started run {run}."),
        };
        step.decide(DecisionKind::RunSpawned, sentence).conversation(self.conversation.id.clone());
        if let Some(EndRequest { why, kill }) = end {
            self.enter(step, Phase::Running);
            self.end_for(step, why, kill);
            return;
        }
        let back = self.chain.has_returned(step);
        if let Some(id) = self.conversation.id.clone() {
            step.act(Action::Follow { conversation: id, transcript: None, anew: back });
        }
        match plan.handoff.clone() {
            Some(handoff) if self.policy.agent == ProgramKind::Claude => {
                self.begin_delivery(step, plan, handoff);
                if interrupted {
                    self.deliver_interrupted(step);
                }
            }
            _ => {
                self.enter(step, Phase::Running);
                if plan.carries.is_some() {
                    step.act(Action::ReturnPrompt { submit: !interrupted });
                }
                if interrupted {
                    step.type_in(Typing::Interrupt);
                }
                self.release_keys(step, plan.draft);
            }
        }
        // The signal arrived while no program was running.
        if let Some((_, signal)) = self.run.passed {
            step.act(Action::Signal { signal, to: SignalTarget::Group });
        }
    }

    pub(super) fn could_not_start(
        &mut self,
        step: &mut EventStep<'_>,
        run: u32,
        code: u8,
        gone: Option<&str>,
    ) {
        let Phase::Spawning { end, plan } = &self.phase else { return };
        if run != self.session.runs {
            return;
        }
        let ctrl_c =
            if self.session.interrupted_after(self.phase_began.seq) { CtrlC::Yes } else { CtrlC::No };
        let resume = plan.conversation.as_ref().filter(|_| plan.start == StartKind::Resume);
        let without_dir = gone.map(|dir| {
            let way = resume.map(|id| format!(" Once it is back, `hopty --resume {id}` continues."));
            format!("The program could not be started: {dir} is gone.{}", way.unwrap_or_default())
        });
        let (cause, text) = match meaning(ExitRow::Spawning, ctrl_c, ProcessEnd::Exited(code)) {
            _ if end.is_some() => (EndCause::Stopped, "The session was stopped before the program started."),
            ExitMeaning::UserInterrupt => {
                (EndCause::UserInterrupt, "You pressed Ctrl+C before the program started.")
            }
            _ if code == 126 => {
                (EndCause::CouldNotStart, "The program could not be started: it is not executable.")
            }
            _ if code == 127 => {
                (EndCause::CouldNotStart, "The program could not be started: it was not found.")
            }
            _ => {
                let text = without_dir.as_deref().unwrap_or("The program could not be started.");
                (EndCause::CouldNotStart, text)
            }
        };
        self.close(step, cause, code, text, None);
        // The session's conversation is the last one that has begun.
        let never_began = self.is_unwritten() && !self.conversation.spoken;
        if let Some(left) = self.chain.before_handover().filter(|_| never_began) {
            (self.conversation.id, self.conversation.spoken) = (Some(left.clone()), true);
        }
    }

    /// The settings that run code changed between the last check and this start: nothing runs until a person
    /// accepts them. The session, its handoff and the held input wait.
    pub(super) fn start_held(&mut self, step: &mut EventStep<'_>, changed: &[String]) {
        let Phase::Spawning { plan, end } = self.phase.clone() else { return };
        if changed.is_empty() {
            return;
        }
        let run = self.session.runs;
        let interrupted = self.session.interrupted_after(self.phase_began.seq);
        self.session.take_run_back(step);
        self.run = RunState::default();
        self.restart_limit.take_back();
        self.enter(
            step,
            Phase::Cooling { until: step.now, plan, code: self.session.last_code, held: changed.to_vec() },
        );
        if let Some(EndRequest { why, kill }) = end {
            self.end_for(step, why, kill);
            return;
        }
        let text = format!(
            "Run {run} is held: {SETTINGS_CHANGED} ({}); accept them with `hopty restart`.",
            changed.join(", ")
        );
        step.decide(DecisionKind::RunHeld, text);
        self.keys.hold(step);
        if interrupted {
            self.interrupted(step);
        }
    }

    pub(super) fn child(&mut self, step: &mut EventStep<'_>, end: ProcessEnd) {
        match end {
            ProcessEnd::Stopped(_) => {
                self.run.stopped = true;
                self.delivery_pauses(step.now, true);
                step.act(Action::Suspend);
            }
            ProcessEnd::Continued => {
                self.run.stopped = false;
                self.delivery_pauses(step.now, false);
            }
            ProcessEnd::Exited(_) | ProcessEnd::Signaled(_) => self.ended(step, end),
        }
    }

    pub(super) fn keys(&mut self, step: &mut EventStep<'_>, client: u32, class: KeyClass) {
        if class == KeyClass::Report {
            return;
        }
        let sends_own = self.sends_own();
        self.limits.person_types(step, &mut self.conversation.limit_wait, sends_own);
        self.person.presses(client, step.now);
        if class == KeyClass::Mode {
            self.modes.press(step.now, client);
        }
        match class {
            KeyClass::Interrupt => self.interrupted(step),
            _ if self.phase.has_run() => self.run.typed = Some(step.now),
            _ => {}
        }
    }

    /// Releases held input, unless a dialog would get it.
    pub(super) fn release_keys(&mut self, step: &mut EventStep<'_>, draft: bool) {
        self.keys.release(step, draft, self.run.obstacle().is_some());
    }

    /// Ctrl+C: the person has priority.
    pub(super) fn interrupted(&mut self, step: &mut EventStep<'_>) {
        self.session.interrupt = Some((step.now, step.line));
        self.run.queue.argument = false;
        self.submit_interrupted(step);
        match &mut self.phase {
            // At an idle prompt Ctrl+C clears the box and cancels nothing.
            Phase::Waiting { request } if request.for_prompt.is_some() => {}
            Phase::Waiting { request } if !request.explicit => self.interrupt_request(step),
            Phase::Saving { request, .. } => {
                // Keys are held while a handoff is saved, but this one is meant for Claude now.
                let explicit = request.explicit;
                step.type_in(Typing::Interrupt);
                if !explicit {
                    self.interrupt_request(step);
                }
            }
            Phase::Stopping { why: StopFor::Restart { interrupted, .. }, .. } => *interrupted = true,
            Phase::Cooling { code, .. } => {
                let code = *code;
                let text = "You pressed Ctrl+C before the next run.";
                self.close(step, EndCause::UserInterrupt, code, text, None);
            }
            Phase::Delivering { .. } => self.deliver_interrupted(step),
            _ => {}
        }
    }

    fn interrupt_request(&mut self, step: &mut EventStep<'_>) {
        self.conversation.usage.rearm_later(&self.phase);
        self.cancel_request(step, "you pressed Ctrl+C");
    }

    /// A client's signal was passed on to the child's process group. A signal that ends programs ends the
    /// session if no program is running, or if hopty is replacing the program.
    pub(super) fn passed_on(&mut self, step: &mut EventStep<'_>, signal: Signal) {
        if self.phase.has_run() {
            self.run.passed = Some((step.now, signal));
        }
        if !ends_programs(signal) {
            return;
        }
        match &self.phase {
            Phase::Stopping { why: StopFor::Restart { .. }, .. } => self.end_for(step, StopFor::Stop, false),
            Phase::Cooling { .. } => {
                let text = format!("{} arrived before the next run.", signal.name());
                self.close(step, EndCause::Stopped, self.session.last_code, text, None);
            }
            _ => {}
        }
    }
}
