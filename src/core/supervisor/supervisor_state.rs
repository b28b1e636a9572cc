//! The state of the supervisor: its parts, which of them takes each event, and when the next deadline is.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, Reply, SignalTarget};
use super::conversation_chain::ConversationChain;
use super::conversation_state::ConversationState;
use super::crash_count::CrashCount;
use super::event::{AttachKind, Event};
use super::key_hold_decision::KeyHold;
use super::limit_and_error_wait::LimitHistory;
use super::permission_mode::PermissionModes;
use super::person::{People, dialog_answered};
use super::phase::{Phase, StopFor, StopStep};
use super::policy::Policy;
use super::prompt_delivery::PromptDelivery;
use super::reported_state::{SessionState, StateEntry};
use super::restart_limit::RestartLimit;
use super::restart_request::SignalReport;
use super::run_state::RunState;
use super::safe_point::HOLD_MARGIN_MS;
use super::saving::Handoffs;
use super::send_submit::{OBSTACLE_SETTLE_MS, Sending, TYPING_MS};
use super::session_facts::SessionFacts;
use super::step::EventStep;
use super::stopping::{CONT, reaped};
use crate::core::context_level::Fill;
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

/// The version of the journal's format: other versions cannot be replayed.
pub const CORE: u32 = 1;

/// Whether Claude is in the middle of a turn, according to its hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Turn {
    #[default]
    Unknown,
    Idle,
    Busy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LineNumbers {
    /// The last line.
    pub(super) seq: u64,
    /// The current event.
    pub(super) event: u64,
    /// The event that brought the last context usage.
    pub(super) usage: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PhaseStart {
    /// When the phase began, or while saving, when its current step began.
    pub(super) at: Stamp,
    /// The event that led to the phase.
    pub(super) seq: u64,
}

/// The state of one session. Each part owns its own; the state of a run or a conversation is replaced as a
/// whole when another one begins.
///
/// An `open` line of the journal contains it; `recorded_state` reads those of earlier releases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Supervisor {
    pub(super) policy: Policy,
    pub(super) phase: Phase,
    #[serde(default)]
    pub(super) phase_began: PhaseStart,
    #[serde(default)]
    pub(super) lines: LineNumbers,
    #[serde(default)]
    pub(super) run: RunState,
    #[serde(default)]
    pub(super) conversation: ConversationState,
    #[serde(default)]
    pub(super) session: SessionFacts,
    #[serde(default)]
    #[serde(rename = "budget")]
    pub(super) restart_limit: RestartLimit,
    #[serde(default)]
    #[serde(rename = "crash_guard")]
    pub(super) crash_count: CrashCount,
    #[serde(default)]
    pub(super) handoffs: Handoffs,
    #[serde(default)]
    pub(super) modes: PermissionModes,
    #[serde(default)]
    pub(super) entered: StateEntry,
    #[serde(default)]
    pub(super) sending: Option<Sending>,
    #[serde(default)]
    pub(super) limits: LimitHistory,
    #[serde(default)]
    pub(super) chain: ConversationChain,
    pub(super) keys: KeyHold,
    #[serde(default)]
    pub(super) person: People,
    /// The last `Tick`, so that each deadline fires once.
    pub(super) ticked: Stamp,
}

impl Supervisor {
    /// A session before its first event.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Supervisor {
            policy,
            phase: Phase::Cold,
            phase_began: PhaseStart::default(),
            lines: LineNumbers::default(),
            run: RunState::default(),
            conversation: ConversationState::default(),
            session: SessionFacts::default(),
            restart_limit: RestartLimit::default(),
            crash_count: CrashCount::default(),
            handoffs: Handoffs::default(),
            modes: PermissionModes::default(),
            entered: StateEntry::default(),
            sending: None,
            limits: LimitHistory::default(),
            chain: ConversationChain::default(),
            keys: KeyHold::Free,
            person: People::default(),
            ticked: Stamp(0),
        }
    }

    /// Handles one event and returns the actions, in order. Each action becomes one line of the journal.
    pub fn step(&mut self, now: Stamp, event: &Event, out: &mut Vec<Action>) {
        self.lines.seq += 1;
        self.lines.event = self.lines.seq;
        let before = out.len();
        let mut step = EventStep::new(now, self.lines.event, self.session.runs, out);
        if !matches!(self.phase, Phase::Closed { .. }) {
            self.take(&mut step, event);
            // A signal file that is ignored must not appear to cause anything.
            if !matches!(event, Event::Signal { .. }) {
                self.check_conditions(&mut step);
                self.submit_ends(&mut step);
            }
        } else if let Some(id) = event.request() {
            step.reply(id, Reply::Ended);
        }
        self.entered.note(self.state().state, now, self.lines.event);
        self.lines.seq += u64::try_from(out.len() - before).unwrap_or(0);
    }

    fn take(&mut self, step: &mut EventStep<'_>, event: &Event) {
        match event {
            Event::Start { conversation, next, handoff, fresh, prompt, command, before } => {
                self.chain.restore(before.clone());
                (self.session.argument, self.session.command) = (*prompt, *command);
                if *fresh {
                    self.conversation.begin_empty(&self.policy);
                }
                self.start(step, conversation.clone(), next.clone(), handoff.clone());
            }
            Event::Started { run, pid, next } => self.started(step, *run, *pid, next.clone()),
            Event::CouldNotStart { run, code, gone } => {
                self.could_not_start(step, *run, *code, gone.as_deref())
            }
            Event::Child { run, end } if *run == self.session.runs && self.run.pid.is_some() => {
                self.child(step, *end)
            }
            Event::Child { .. } => {}
            Event::Keys { client, class, .. } => self.keys(step, *client, *class),
            Event::Passed { signal } => self.passed_on(step, *signal),
            Event::Hook { id, hook } => self.hook(step, *id, hook),
            Event::Lines { id, cut, .. } => self.lines(step, *id, *cut),
            Event::HookGone { id } => self.hook_closed(step, *id),
            Event::Usage { conversation, tokens, window, bytes } => {
                self.usage(step, conversation, Fill { tokens: *tokens, window: *window, bytes: *bytes });
            }
            Event::TurnBegan { conversation } if self.runs(conversation) && !self.run.hooks.any_call => {
                if self.policy.hooks {
                    self.session.miss_hooks(step);
                }
                self.run.set_turn(step.now, Turn::Busy);
                self.session.prompted |= !self.policy.is_previous_release();
                self.conversation.spoken = true;
            }
            Event::TurnBegan { .. } => {}
            Event::TurnEnded { conversation } => {
                if self.runs(conversation) && (!self.run.hooks.any_call || self.run.hooks.turn_cut) {
                    self.run.hooks.turn_cut = false;
                    self.run.set_turn(step.now, Turn::Idle);
                    self.rearm(step);
                }
            }
            Event::Prompted { conversation } if self.runs(conversation) => self.proven(step, false),
            Event::Prompted { .. } => {}
            Event::Answered { conversation } => self.handoffs.answered(step, conversation),
            Event::Queued { prompts, carries } => self.prompts_queued(step.now, *prompts, *carries),
            Event::Screen { facts } => {
                self.modes.look(step.now, facts, self.has_spoken());
                if self.phase.has_run() {
                    self.run.screen.look(step.now, facts, &self.policy);
                }
            }
            Event::Status { status, conversation, waiting_for } => {
                self.status(step, *status, conversation.as_ref(), waiting_for.as_ref());
            }
            Event::Signal { file, fresh, sessions, dir_ok, dir } => {
                let (line, file) = (step.line, file.clone());
                let (fresh, sessions, dir_ok, dir) = (*fresh, *sessions, *dir_ok, *dir);
                self.signal(step, &SignalReport { line, file, fresh, sessions, dir_ok, dir });
            }
            Event::Restart { id, by, order } => self.restart(step, *id, *by, *order),
            Event::Back { id, now: at_once } => self.back(step, *id, *at_once),
            Event::Task { completed } => self.task(step, *completed),
            Event::Ask { answer } => self.ask_answered(step, *answer),
            Event::AskWas { answer, left } => {
                self.conversation.question.restore(step.now, *answer, *left, &self.policy.config.restart);
            }
            Event::UsageLimit { conversation, limit, left, resets } => {
                if self.runs(conversation) {
                    let (wait, recovery) = (&mut self.conversation.limit_wait, &self.policy.config.recovery);
                    self.limits.usage_limit(step, wait, recovery, *limit, *left, *resets);
                }
            }
            Event::Submit { id, command } => self.submit(step, *id, *command),
            Event::Choice { dialog, option } => dialog_answered(step, dialog, *option),
            Event::Taken { queued } => self.submit_read(step, *queued),
            Event::Stop { id, kill } => {
                step.reply(*id, Reply::Accepted);
                self.end_for(step, StopFor::Stop, *kill);
            }
            Event::Shutdown => self.end_for(step, StopFor::Shutdown, false),
            Event::Settings { changed } => self.settings(step, changed),
            Event::DirectoryGone { dir } => self.directory_gone(step, dir),
            Event::Saved { handoff, mark } => self.saved(step, handoff, *mark),
            Event::SaveFailed { error } => self.save_failed(step, error),
            Event::Reaped { run, processes } => reaped(step, *run, *processes),
            Event::Attached { client, how } => {
                self.person.add_client(step, *client, *how);
                if self.run.stopped && *how == AttachKind::Joins {
                    step.act(Action::Signal { signal: CONT, to: SignalTarget::Group });
                }
            }
            Event::Detached { client, why } => self.person.leaves(step, *client, why),
            Event::Limited { what } => {
                step.decide(DecisionKind::Degraded, format!("{what}."));
            }
            Event::Degraded { part } => {
                let text =
                    format!("The {part} failed and is switched off; the session continues without it.");
                step.tell(DecisionKind::Degraded, text).because(&[]);
            }
            Event::Tick => {
                self.ticked = step.now;
                self.tick_hook(step);
                self.tick_save(step);
                self.tick_stop(step);
                self.tick_deliver(step);
            }
        }
    }

    /// After every event: checks the conditions that something waits for.
    fn check_conditions(&mut self, step: &mut EventStep<'_>) {
        if self.run.pid.is_some() {
            self.late_signal(step);
            self.tick_ask(step);
            self.deliver(step);
            self.resume_when_due(step);
            self.continue_submit(step);
            self.try_safe_point(step);
            if matches!(self.phase, Phase::Running | Phase::Waiting { .. }) && self.run.obstacle().is_none() {
                self.keys.release_late(step);
            }
        }
    }

    /// When the next `Tick` is due; always later than the last `Tick`, so the loop cannot spin.
    pub fn next_deadline(&self) -> Option<Stamp> {
        let mut due = Vec::new();
        match &self.phase {
            Phase::Running => {
                due.extend(self.conversation.question.deadline());
                let starts = self.state().state == SessionState::Starting;
                due.extend(starts.then(|| self.run.must_have_spoken()));
            }
            Phase::Waiting { request } => {
                let hold = self.policy.config.hooks.hold.ms().saturating_sub(HOLD_MARGIN_MS);
                self.run.waiting_deadlines(request, hold, self.phase_began.at, &mut due);
                due.extend(self.person.present_until(&self.policy.config.restart));
            }
            Phase::Saving { step, .. } => due.push(self.phase_began.at.after(step.limit_ms())),
            Phase::Stopping { step: StopStep::Settle { until }, .. } => due.push(*until),
            Phase::Stopping { step: StopStep::Term { kill_at }, .. } => due.push(*kill_at),
            Phase::Cooling { until, held, .. } => due.extend(held.is_empty().then_some(*until)),
            Phase::Delivering(PromptDelivery { submission, .. }) => {
                submission.deadlines(&mut due);
                due.extend(self.own_prompt_deadline());
                due.extend(self.run.hook_wait_deadline(&self.policy).filter(|_| submission.is_ready()));
            }
            Phase::Stopping { step: StopStep::Kill, .. }
            | Phase::Cold
            | Phase::Spawning { .. }
            | Phase::Closed { .. } => {}
        }
        due.extend(self.run.hooks.deadline(&self.phase));
        due.extend(self.run.idle_settles());
        due.extend(self.run.prompt_due());
        if let Some(sending) = &self.sending {
            sending.deadlines(self.phase_began.at, self.run.typed, &mut due);
        }
        if let Some(wait) = self.conversation.limit_wait.as_ref().filter(|_| self.run.pid.is_some()) {
            self.limits.deadlines(wait, &self.run.screen, &self.policy, &mut due);
            if let Some((at, _)) = wait.resumes() {
                due.extend([at, self.phase_began.at.after(OBSTACLE_SETTLE_MS)]);
                due.extend(self.run.typed.map(|typed| typed.after(TYPING_MS)));
            }
        }
        due.into_iter().filter(|at| *at > self.ticked).min()
    }

    /// Whether this is the followed conversation, and the program is running.
    pub(super) fn runs(&self, conversation: &ConversationId) -> bool {
        self.conversation.is(conversation) && self.run.pid.is_some()
    }

    pub(super) fn enter(&mut self, step: &EventStep<'_>, phase: Phase) {
        self.phase = phase;
        self.phase_began = PhaseStart { at: step.now, seq: step.line };
    }
}
