//! The supervisor: the whole of hopty's judgement as one deterministic function, `step(now, event) ->
//! actions`.
//!
//! It reads no clock, touches no file and owns no descriptor; whatever it must know comes as an [`Event`],
//! whatever it wants is an [`Action`]. So every rule can be tested without a terminal, and a journal of
//! events gives the same actions again (`hopty replay`).
//!
//! | file | holds |
//! |---|---|
//! | `policy`, `event`, `key_class`, `screen_facts`, `agent_status`, `action`, `answer`, `reply`, `phase` | the vocabulary |
//! | `secrets` | secrets removed from an event before it is recorded |
//! | `exit_table` | why a child ended: one table |
//! | `run` | one life of the child: spawn, start, Ctrl+C, passed signals |
//! | `hooks`, `conversation` | what a hook call means, and which conversation it is about |
//! | `permission_mode` | the permission mode of the next run |
//! | `levels`, `compaction` | the context usage and what crossing a level asks for, Claude's own compaction |
//! | `question`, `task` | the question that is put to a person first, in mode `ask`; a task that is completed |
//! | `restart_signal`, `request`, `safe_point`, `handover_note`, `person`, `back` | a request, by a signal file too, and its safe point, Claude's own words before it, somebody who is there, the way back |
//! | `saving`, `progress` | from the safe point to a handoff on disk; whether hand-overs bring anything |
//! | `stopping`, `crash`, `budget` | from SIGTERM to the end; what follows a crash; how many restarts there may be within a time |
//! | `submission` | one text on its way into Claude's prompt: paste, echo, Enter, proof |
//! | `delivery`, `sending` | its two users: the continuation prompt, and what `hopty send --submit` or hopty itself sends |
//! | `limits` | a usage limit or an API error that ended the turn: the wait, and who goes on after it |
//! | `key_hold`, `next_deadline` | who gets what a person types meanwhile; when something is due |
//! | `step` | one event's way through the parts: the moment, its line, the actions and decisions so far |
//! | `state`, `next_handover`, `handover_step` | what others may ask |
//! | `recorded_state` | the state in journals of earlier releases |

pub mod action;
mod agent_status;
mod answer;
mod back;
mod budget;
pub mod compaction;
mod conversation;
mod crash;
mod delivery;
pub mod event;
pub mod exit_table;
mod handover_note;
pub mod handover_step;
mod hooks;
mod key_class;
mod key_hold;
mod levels;
pub mod limits;
mod next_deadline;
pub mod next_handover;
mod permission_mode;
mod person;
pub mod phase;
mod policy;
mod progress;
pub mod question;
pub(super) mod recorded_state;
mod reply;
mod request;
pub mod restart_signal;
mod run;
mod safe_point;
mod saving;
pub mod screen_facts;
mod secrets;
pub mod sending;
pub mod state;
mod step;
mod stopping;
pub mod submission;
mod task;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::core::context::Fill;
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;
use action::{Action, DecisionKind, Reply};
use back::ConversationChain;
use budget::RestartBudget;
use conversation::ConversationState;
use crash::CrashGuard;
use event::Event;
use key_hold::KeyHold;
use limits::LimitHistory;
use permission_mode::PermissionModes;
use person::People;
use phase::{Phase, StopFor};
pub use policy::{Agent, Policy, RULES};
use request::SignalSeen;
use run::RunState;
use saving::Handoffs;
use screen_facts::{PromptBox, ScreenFacts};
use sending::Sending;
use state::StateEntry;
use step::EventStep;

/// The version of these rules: a journal can only be replayed by the same version.
pub const CORE: u32 = 1;

/// Whether Claude is in the middle of a turn, according to its hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Turn {
    /// Not known.
    #[default]
    Unknown,
    /// No turn runs.
    Idle,
    /// A turn runs.
    Busy,
}

/// Numbers of journal lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct LineNumbers {
    /// The last line.
    seq: u64,
    /// The event that is being handled.
    event: u64,
    /// The event that brought the last context usage.
    usage: u64,
}

/// When the phase began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PhaseBegan {
    /// When the phase began; while saving, when its current step began.
    at: Stamp,
    /// The event that led to the phase.
    seq: u64,
}

/// State that lives as long as the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct SessionFacts {
    /// The number of the run, 0 before the first.
    runs: u32,
    /// Another working directory than the session's first, if a restart was requested there.
    dir: Option<String>,
    /// An unused id for the next conversation.
    next: Option<ConversationId>,
    /// People were told that no hook is called.
    hooks_missed: bool,
    /// An orchestrator's file says that the task is completed.
    completed: bool,
    /// The person's last Ctrl+C, and its journal line.
    interrupt: Option<(Stamp, u64)>,
    /// The exit code of the last run.
    last_code: u8,
}

impl SessionFacts {
    fn begin_run(&mut self, step: &mut EventStep<'_>) {
        self.runs += 1;
        step.run = self.runs;
    }

    /// The run that was about to begin is held.
    fn take_run_back(&mut self, step: &mut EventStep<'_>) {
        self.runs -= 1;
        step.run = self.runs;
    }
}

/// The state of one session. Each part owns its own; state that lives as long as a run or a conversation is
/// replaced as a whole when another one begins.
///
/// An `open` line of the journal holds it; `recorded_state` reads those of earlier releases.
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
    /// A session in which nothing has happened yet.
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

    /// Handles one event and returns the actions, in order. Each action is one line of the journal.
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
        self.note_state(now);
        self.lines.seq += u64::try_from(out.len() - before).unwrap_or(0);
    }

    fn take(&mut self, step: &mut EventStep<'_>, event: &Event) {
        match event {
            Event::Start { conversation, next, handoff } => {
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
            Event::TurnBegan { conversation } => {
                if !self.run.hooks.seen && self.is_current(conversation) && self.run.pid.is_some() {
                    self.miss_hooks(step);
                    self.set_turn(step.now, Turn::Busy);
                    self.conversation.spoken = true;
                }
            }
            Event::TurnEnded { conversation } => {
                if (!self.run.hooks.seen || self.run.hooks.turn_cut)
                    && self.is_current(conversation)
                    && self.run.pid.is_some()
                {
                    self.run.hooks.turn_cut = false;
                    self.set_turn(step.now, Turn::Idle);
                    self.rearm(step);
                }
            }
            Event::Prompted { conversation } => self.prompted(step, conversation),
            Event::Answered { conversation } => self.answered(step, conversation),
            Event::Queued { prompts, carries } => self.prompts_queued(step.now, *prompts, *carries),
            Event::Screen { facts } => self.look(step.now, facts),
            Event::Status { status, conversation, waiting_for } => {
                self.status(step, *status, conversation.as_ref(), waiting_for.as_ref());
            }
            Event::Signal { file, fresh, sessions, dir_ok, dir } => {
                self.signal(
                    step,
                    &SignalSeen { file, fresh: *fresh, sessions: *sessions, dir_ok: *dir_ok, dir: *dir },
                );
            }
            Event::Restart { id, by, now: at_once, handoff } => {
                self.restart(step, *id, *by, *at_once, *handoff)
            }
            Event::Back { id, now: at_once } => self.back(step, *id, *at_once),
            Event::Task { completed } => self.task(step, *completed),
            Event::Ask { answer } => self.ask_answered(step, *answer),
            Event::AskWas { answer, left } => self.ask_was(step.now, *answer, *left),
            Event::UsageLimit { conversation, limit, left, resets } => {
                self.usage_limit(step, conversation, *limit, *left, *resets);
            }
            Event::Submit { id, command } => self.submit(step, *id, *command),
            Event::Choice { dialog, option } => self.chosen(step, dialog, *option),
            Event::Taken { queued } => self.submit_read(step, *queued),
            Event::Stop { id, kill } => self.stop(step, *id, *kill),
            Event::Shutdown => self.end_for(step, StopFor::Shutdown, false),
            Event::Settings { changed } => self.settings(step, changed),
            Event::Saved { handoff, mark } => self.saved(step, handoff, *mark),
            Event::SaveFailed { error } => self.save_failed(step, error),
            Event::Reaped { run, processes } => self.reaped(step, *run, *processes),
            Event::Attached { client, how } => self.attached(step, *client, *how),
            Event::Detached { client, why } => self.detached(step, *client, why),
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

    /// After every event: a condition that something waits for may hold now.
    fn look_again(&mut self, step: &mut EventStep<'_>) {
        if self.run.pid.is_some() {
            self.tick_ask(step);
            self.deliver(step);
            self.look_at_limit_wait(step);
            self.submit_goes_on(step);
            self.try_safe_point(step);
            self.release_late(step);
        }
    }

    fn look(&mut self, now: Stamp, facts: &ScreenFacts) {
        self.mode_shown(now, facts);
        if !self.has_run() {
            return;
        }
        let screen = &mut self.run.screen;
        if screen.facts.dialog != facts.dialog {
            screen.dialog_since = facts.dialog.as_ref().map(|_| now);
        }
        if facts.prompt == PromptBox::Empty && facts.paste {
            screen.box_since.get_or_insert(now);
        }
        screen.facts = facts.clone();
    }

    fn enter(&mut self, step: &EventStep<'_>, phase: Phase) {
        self.phase = phase;
        self.phase_began.at = step.now;
        self.phase_began.seq = step.line;
    }

    fn is_current(&self, id: &ConversationId) -> bool {
        self.conversation.id.as_ref() == Some(id)
    }

    /// Whether a run is being started or lives.
    fn has_run(&self) -> bool {
        !matches!(self.phase, Phase::Cold | Phase::Cooling { .. } | Phase::Closed { .. })
    }

    fn set_turn(&mut self, now: Stamp, turn: Turn) {
        if self.has_run() {
            (self.run.turn.state, self.run.turn.since) = (turn, now);
            self.run.hooks.asking = None;
        }
    }
}
