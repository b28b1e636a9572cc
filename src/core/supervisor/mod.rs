//! The supervisor: all of hopty's decisions as one deterministic function, `step(now, event) ->
//! actions`.
//!
//! It reads no clock, touches no file and owns no descriptor; its input is an [`Event`],
//! its output [`Action`]s. So every rule can be tested without a terminal, and a journal of
//! events gives the same actions again (`hopty replay`).
//!
//! | file | holds |
//! |---|---|
//! | `policy`, `event`, `key_class`, `screen_facts`, `agent_status`, `action`, `reply`, `phase` | the vocabulary |
//! | `secrets` | removing secrets from an event before it is recorded |
//! | `step` | the state of one step: time, journal line, actions and decisions so far |
//! | `exit_table` | why a child ended: one table |
//! | `session_facts`, `run_state`, `conversation_state` | the state of the session, of a run, of a conversation |
//! | `context_level_watch`, `handover_question`, `fruitless_handovers` | parts of the conversation: context usage and levels, the question of mode `ask`, hand-overs without progress |
//! | `conversation_chain`, `restart_budget`, `crash_guard`, `permission_mode`, `person`, `key_hold_decision` | parts of the session: earlier conversations, restarts, deaths, the permission mode, people present, where keys go |
//! | `child_run` | one life of the child: spawn, start, keys, Ctrl+C, passed signals |
//! | `hook_decision`, `followed_conversation` | what a hook call means, and which conversation it is about |
//! | `context_level_crossing`, `compaction` | what follows when a level is crossed; Claude's own compaction |
//! | `restart_signal`, `restart_request`, `safe_point` | requests, also by signal file, and `hopty back`; the safe point, the hand-over note before it, a person who is present |
//! | `saving` | from the safe point to a handoff on disk |
//! | `stopping` | from SIGTERM to the end, and recovery from a crash |
//! | `paste_and_enter` | submitting a text to Claude: paste, echo, Enter, proof |
//! | `prompt_delivery`, `send_submit` | its two users: the continuation prompt, and what `hopty send --submit` or hopty itself sends |
//! | `limit_and_error_wait` | a usage limit or an API error that ended the turn: the wait, and resuming after it |
//! | `state`, `next_handover`, `handover_step` | queries for the host |
//! | `recorded_state` | the state in journals of earlier releases |

pub mod action;
mod agent_status;
mod child_run;
pub mod compaction;
mod context_level_crossing;
mod context_level_watch;
mod conversation_chain;
mod conversation_state;
mod crash_guard;
pub mod event;
pub mod exit_table;
mod followed_conversation;
mod fruitless_handovers;
pub mod handover_question;
pub mod handover_step;
mod hook_decision;
mod key_class;
mod key_hold_decision;
pub mod limit_and_error_wait;
pub mod next_handover;
pub mod paste_and_enter;
mod permission_mode;
mod person;
pub mod phase;
mod policy;
mod prompt_delivery;
pub(super) mod recorded_state;
mod reply;
mod restart_budget;
mod restart_request;
pub mod restart_signal;
mod run_state;
mod safe_point;
mod saving;
pub mod screen_facts;
mod secrets;
pub mod send_submit;
mod session_facts;
pub mod state;
mod step;
mod stopping;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::core::context_level::Fill;
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;
use action::{Action, DecisionKind, Reply, SignalTarget};
use conversation_chain::ConversationChain;
use conversation_state::ConversationState;
use crash_guard::CrashGuard;
use event::{AttachKind, Event};
use key_hold_decision::KeyHold;
use limit_and_error_wait::LimitHistory;
use permission_mode::PermissionModes;
use person::{People, dialog_answered};
use phase::{Phase, StopFor, StopStep};
use policy::REMEMBERS_SINCE;
pub use policy::{Agent, Policy, RULES};
use prompt_delivery::PromptDelivery;
use restart_budget::RestartBudget;
use restart_request::SignalSeen;
use run_state::RunState;
use safe_point::HOLD_MARGIN_MS;
use saving::Handoffs;
use send_submit::{OBSTACLE_SETTLE_MS, Sending, TYPING_MS};
use session_facts::SessionFacts;
use state::{SessionState, StateEntry};
use step::EventStep;
use stopping::{CONT, reaped};

/// The version of the journal's format: other versions cannot be replayed.
pub const CORE: u32 = 1;

/// Whether Claude is in the middle of a turn, according to its hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Turn {
    #[default]
    Unknown,
    Idle,
    Busy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct LineNumbers {
    /// The last line.
    seq: u64,
    /// The current event.
    event: u64,
    /// The event that brought the last context usage.
    usage: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PhaseBegan {
    /// When the phase began, or while saving, when its current step began.
    at: Stamp,
    /// The event that led to the phase.
    seq: u64,
}

/// The state of one session. Each part owns its own; the state of a run or a conversation is replaced as a
/// whole when another one begins.
///
/// An `open` line of the journal contains it; `recorded_state` reads those of earlier releases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Supervisor {
    policy: Policy,
    phase: Phase,
    #[serde(default)]
    phase_began: PhaseBegan,
    #[serde(default)]
    lines: LineNumbers,
    #[serde(default)]
    run: RunState,
    #[serde(default)]
    conversation: ConversationState,
    #[serde(default)]
    session: SessionFacts,
    #[serde(default)]
    budget: RestartBudget,
    #[serde(default)]
    crash_guard: CrashGuard,
    #[serde(default)]
    handoffs: Handoffs,
    #[serde(default)]
    modes: PermissionModes,
    #[serde(default)]
    entered: StateEntry,
    #[serde(default)]
    sending: Option<Sending>,
    #[serde(default)]
    limits: LimitHistory,
    #[serde(default)]
    chain: ConversationChain,
    keys: KeyHold,
    #[serde(default)]
    person: People,
    /// The last `Tick`, so that each deadline fires once.
    ticked: Stamp,
}

impl Supervisor {
    /// A session before its first event.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Supervisor {
            policy,
            phase: Phase::Cold,
            phase_began: PhaseBegan::default(),
            lines: LineNumbers::default(),
            run: RunState::default(),
            conversation: ConversationState::default(),
            session: SessionFacts::default(),
            budget: RestartBudget::default(),
            crash_guard: CrashGuard::default(),
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
                self.look_again(&mut step);
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
            Event::Start { conversation, next, handoff, fresh, prompt, command } => {
                (self.session.argument, self.session.command) = (*prompt, *command);
                if *fresh {
                    self.conversation.begin_empty(&self.policy);
                }
                self.start(step, conversation.clone(), next.clone(), handoff.clone());
            }
            Event::Started { run, pid, next } => self.started(step, *run, *pid, next.clone()),
            Event::CouldNotStart { run, code } => self.could_not_start(step, *run, *code),
            Event::Child { run, end } if *run == self.session.runs && self.run.pid.is_some() => {
                self.child(step, *end)
            }
            Event::Child { .. } => {}
            Event::Keys { client, class, .. } => self.keys(step, *client, *class),
            Event::Passed { signal } => self.passed_on(step, *signal),
            Event::Hook { id, hook } => self.hook(step, *id, hook),
            Event::Lines { id, cut, .. } => self.lines(step, *id, *cut),
            Event::HookGone { id } => self.hook_gone(step, *id),
            Event::Usage { conversation, tokens, window, bytes } => {
                self.usage(step, conversation, Fill { tokens: *tokens, window: *window, bytes: *bytes });
            }
            Event::TurnBegan { conversation } if self.runs(conversation) && !self.run.hooks.seen => {
                if self.policy.hooks {
                    self.session.miss_hooks(step);
                }
                self.run.set_turn(step.now, Turn::Busy);
                self.session.prompted |= self.policy.rules >= REMEMBERS_SINCE;
                self.conversation.spoken = true;
            }
            Event::TurnBegan { .. } => {}
            Event::TurnEnded { conversation } => {
                if self.runs(conversation) && (!self.run.hooks.seen || self.run.hooks.turn_cut) {
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
                    self.run.screen.look(step.now, facts, self.policy.rules);
                }
            }
            Event::Status { status, conversation, waiting_for } => {
                self.status(step, *status, conversation.as_ref(), waiting_for.as_ref());
            }
            Event::Signal { file, fresh, sessions, dir_ok, dir } => {
                let (line, file) = (step.line, file.clone());
                let (fresh, sessions, dir_ok, dir) = (*fresh, *sessions, *dir_ok, *dir);
                self.signal(step, &SignalSeen { line, file, fresh, sessions, dir_ok, dir });
            }
            Event::Restart { id, by, now: at_once, handoff } => {
                self.restart(step, *id, *by, *at_once, *handoff)
            }
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
    fn look_again(&mut self, step: &mut EventStep<'_>) {
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
    fn runs(&self, conversation: &ConversationId) -> bool {
        self.conversation.is(conversation) && self.run.pid.is_some()
    }

    fn enter(&mut self, step: &EventStep<'_>, phase: Phase) {
        self.phase = phase;
        self.phase_began = PhaseBegan { at: step.now, seq: step.line };
    }
}
