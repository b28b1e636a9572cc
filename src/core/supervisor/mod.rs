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
//! | `decisions`, `state`, `next_handover`, `handover_step` | what is written down with its reasons, and what others may ask |
//! | `recorded_state` | the state in journals of earlier releases |

pub mod action;
mod agent_status;
mod answer;
mod back;
mod budget;
pub mod compaction;
mod conversation;
mod crash;
mod decisions;
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
use hooks::HeldHook;
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
        if !matches!(self.phase, Phase::Closed { .. }) {
            self.take(now, event, out);
            // A signal file that is ignored must not appear to cause anything.
            if !matches!(event, Event::Signal { .. }) {
                self.look_again(now, out);
                self.submit_ends(now, out);
            }
        } else if let Some(id) = event.request() {
            out.push(Action::Reply { id, with: Reply::Ended });
        }
        self.note_state(now);
        self.lines.seq += u64::try_from(out.len() - before).unwrap_or(0);
    }

    fn take(&mut self, now: Stamp, event: &Event, out: &mut Vec<Action>) {
        match event {
            Event::Start { conversation, next, handoff } => {
                self.start(now, conversation.clone(), next.clone(), handoff.clone(), out);
            }
            Event::Started { run, pid, next } => self.started(now, *run, *pid, next.clone(), out),
            Event::CouldNotStart { run, code } => self.could_not_start(now, *run, *code, out),
            Event::Child { run, end } if *run == self.session.runs && self.run.pid.is_some() => {
                self.child(now, *end, out)
            }
            Event::Child { .. } => {}
            Event::Keys { client, class, .. } => self.keys(now, *client, *class, out),
            Event::Passed { signal } => self.passed_on(now, *signal, out),
            Event::Hook { id, hook } => self.hook(now, *id, hook, out),
            Event::Lines { id, cut, .. } => self.lines(now, *id, *cut, out),
            Event::HookGone { id } => self.hook_gone(now, *id, out),
            Event::Usage { conversation, tokens, window, bytes } => {
                self.usage(now, conversation, Fill { tokens: *tokens, window: *window, bytes: *bytes }, out);
            }
            Event::TurnBegan { conversation } => {
                if !self.run.hooks.seen && self.is_current(conversation) && self.run.pid.is_some() {
                    self.miss_hooks(out);
                    self.set_turn(now, Turn::Busy);
                    self.conversation.spoken = true;
                }
            }
            Event::TurnEnded { conversation } => {
                if (!self.run.hooks.seen || self.run.hooks.turn_cut)
                    && self.is_current(conversation)
                    && self.run.pid.is_some()
                {
                    self.run.hooks.turn_cut = false;
                    self.set_turn(now, Turn::Idle);
                    self.rearm(now, out);
                }
            }
            Event::Prompted { conversation } => self.prompted(now, conversation, out),
            Event::Answered { conversation } => self.answered(conversation, out),
            Event::Queued { prompts, carries } => self.prompts_queued(now, *prompts, *carries),
            Event::Screen { facts } => self.look(now, facts),
            Event::Status { status, conversation, waiting_for } => {
                self.status(now, *status, conversation.as_ref(), waiting_for.as_ref(), out);
            }
            Event::Signal { file, fresh, sessions, dir_ok, dir } => {
                self.signal(
                    now,
                    &SignalSeen { file, fresh: *fresh, sessions: *sessions, dir_ok: *dir_ok, dir: *dir },
                    out,
                );
            }
            Event::Restart { id, by, now: at_once, handoff } => {
                self.restart(now, *id, *by, *at_once, *handoff, out)
            }
            Event::Back { id, now: at_once } => self.back(now, *id, *at_once, out),
            Event::Task { completed } => self.task(*completed, out),
            Event::Ask { answer } => self.ask_answered(now, *answer, out),
            Event::AskWas { answer, left } => self.ask_was(now, *answer, *left),
            Event::UsageLimit { conversation, limit, left, resets } => {
                self.usage_limit(now, conversation, *limit, *left, *resets, out);
            }
            Event::Submit { id, command } => self.submit(now, *id, *command, out),
            Event::Choice { dialog, option } => self.chosen(dialog, *option, out),
            Event::Taken { queued } => self.submit_read(now, *queued, out),
            Event::Stop { id, kill } => self.stop(now, *id, *kill, out),
            Event::Shutdown => self.end_for(now, StopFor::Shutdown, false, out),
            Event::Settings { changed } => self.settings(now, changed, out),
            Event::Saved { handoff, mark } => self.saved(now, handoff, *mark, out),
            Event::SaveFailed { error } => self.save_failed(now, error, out),
            Event::Reaped { run, processes } => self.reaped(*run, *processes, out),
            Event::Attached { client, how } => self.attached(*client, *how, out),
            Event::Detached { client, why } => self.detached(*client, why, out),
            Event::Limited { what } => {
                self.decide(out, DecisionKind::Degraded, format!("{what}."), &[self.lines.event], |_| {});
            }
            Event::Degraded { part } => {
                let text =
                    format!("The {part} failed and is switched off; the session continues without it.");
                self.tell(out, DecisionKind::Degraded, text, &[], |_| {});
            }
            Event::Tick => {
                self.ticked = now;
                self.tick_hook(now, out);
                self.tick_save(now, out);
                self.tick_stop(now, out);
                self.tick_deliver(now, out);
            }
        }
    }

    /// After every event: a condition that something waits for may hold now.
    fn look_again(&mut self, now: Stamp, out: &mut Vec<Action>) {
        if self.run.pid.is_some() {
            self.tick_ask(now, out);
            self.deliver(now, out);
            self.look_at_limit_wait(now, out);
            self.submit_goes_on(now, out);
            self.try_safe_point(now, out);
            self.release_late(out);
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

    fn enter(&mut self, now: Stamp, phase: Phase) {
        self.phase = phase;
        self.phase_began.at = now;
        self.phase_began.seq = self.lines.event;
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
