//! The supervisor: the whole of hopty's judgement as one deterministic function, `step(now, event) -> actions`.
//!
//! It reads no clock, touches no file and owns no descriptor; whatever it must know comes as an [`Event`], whatever it
//! wants is an [`Action`]. So every rule can be tested without a terminal, and a journal of events gives the same actions
//! again (`hopty replay`).
//!
//! | file | holds |
//! |---|---|
//! | `policy`, `event`, `key_class`, `shown`, `action`, `answer`, `phase` | the vocabulary |
//! | `ends` | why a child ended: the table of CONTRACT C5 |
//! | `run` | one life of the child: spawn, start, Ctrl+C, passed signals |
//! | `hooks`, `conversation` | what a hook call means, and which conversation it is about |
//! | `mode` | the permission mode of the next run |
//! | `level`, `compact` | the context figure and what crossing a level asks for, Claude's own compaction |
//! | `ask`, `task` | the question that is put to a person first, in mode `ask`; a task that is completed |
//! | `restart`, `note`, `person`, `back` | from a wish to a safe point, Claude's own words before it, somebody who is there, the way back |
//! | `save`, `progress` | from the safe point to a handoff on disk; whether hand-overs bring anything |
//! | `stop`, `crash` | from SIGTERM to the end, and what follows an end that nobody asked for |
//! | `deliver` | the continuation prompt: paste, echo, Enter, proof |
//! | `halt`, `proceed` | a usage limit or an API error that ended the turn, and who goes on after it |
//! | `submit` | a prompt that a person sends from outside, typed and proven in the same way |
//! | `keys`, `due` | who gets what a person types meanwhile; when something is due |
//! | `decisions`, `state`, `next` | what is written down with its reasons, and what others may ask |

pub mod action;
mod agent_status;
mod answer;
pub mod ask;
mod back;
pub mod compact;
mod conversation;
mod crash;
mod decisions;
mod deliver;
mod due;
pub mod ends;
pub mod event;
pub mod halt;
mod hooks;
mod key_class;
mod keys;
mod level;
mod mode;
pub mod next;
mod note;
mod person;
pub mod phase;
mod policy;
mod proceed;
mod progress;
mod reply;
mod restart;
mod run;
mod save;
mod secrets;
pub mod shown;
pub mod state;
mod stop;
mod submit;
mod task;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::core::claude::carried::Way;
use crate::core::context::{Fill, Level};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process::Signal;
use crate::core::time::Stamp;
use action::{Action, DecisionKind, Reply};
use ask::Ask;
use back::Chain;
use conversation::Claims;
use event::{AgentStatus, Event};
use halt::Halts;
use hooks::Held;
use keys::Keys;
use level::Began;
use mode::Modes;
use person::Person;
use phase::{Phase, StopFor};
pub use policy::{Agent, Policy, RULES};
use progress::Progress;
use restart::SignalSeen;
use shown::{PromptBox, ScreenFacts};
use state::Entered;
use submit::Submit;

/// The version of these rules: a journal is replayed only by the same number (CONTRACT C7).
pub const CORE: u32 = 1;

/// Whether Claude is in the middle of a turn, by its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Turn {
    /// Not known.
    Unknown,
    /// Over.
    Idle,
    /// Under way.
    Busy,
}

/// Where the one job of saving a handoff stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SaveJob {
    /// The worker has none.
    #[default]
    None,
    /// It has one.
    Asked,
    /// It has one for a hand-over that was dropped, and the next one waits for it to be done.
    Abandoned,
}

/// The state of one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Supervisor {
    policy: Policy,
    phase: Phase,
    /// Since when the phase is as it is; while saving, since when its step is.
    phase_since: Stamp,
    /// The event that led to the phase.
    phase_seq: u64,
    /// Number of the last journal line.
    seq: u64,
    run: u32,
    /// Another working directory than the session's first, since a restart was asked for there.
    dir: Option<String>,
    /// Where a hand-over would have gone that changed settings held: a person's restart goes there.
    #[serde(default)]
    held_dir: Option<String>,
    pid: Option<i32>,
    run_started: Stamp,
    stopped: bool,
    stopped_since: Stamp,
    /// The conversation that is followed, and an unused id for the one after it.
    conversation: Option<ConversationId>,
    next: Option<ConversationId>,
    /// A prompt was submitted in the conversation, so it can be resumed.
    spoken: bool,
    /// The context figure is of after the last call that may wait for lines.
    #[serde(default)]
    measured: bool,
    /// What a hook named, and what the sessions file names.
    #[serde(default)]
    claims: Claims,
    hooks_seen: bool,
    /// It was said that no hook comes.
    #[serde(default)]
    hooks_missed: bool,
    /// An old Claude was told to end its turn after a tool; its transcript will say when it has.
    #[serde(default)]
    cut: bool,
    /// The conversation that runs was given the frame; the frame was given in this run.
    frame_answered: bool,
    frame_sent: bool,
    #[serde(default)]
    modes: Modes,
    turn: Turn,
    turn_since: Stamp,
    background: u32,
    queued: u32,
    #[serde(default)]
    queued_way: Option<Way>,
    held: Option<Held>,
    status: Option<AgentStatus>,
    status_since: Stamp,
    /// What a person is waited for, by the sessions file.
    #[serde(default)]
    waiting_for: Option<String>,
    /// What a hook said that a person is asked for, while nothing has happened since.
    #[serde(default)]
    asking: Option<String>,
    #[serde(default)]
    entered: Entered,
    #[serde(default)]
    submit: Option<Submit>,
    #[serde(default)]
    halts: Halts,
    #[serde(default)]
    progress: Progress,
    #[serde(default)]
    chain: Chain,
    screen: ScreenFacts,
    dialog_since: Stamp,
    /// When an empty prompt box was first seen in this run.
    box_since: Option<Stamp>,
    /// When a person last typed into the child.
    typed: Option<Stamp>,
    keys: Keys,
    #[serde(default)]
    person: Person,
    fill: Fill,
    fired: Level,
    #[serde(default)]
    began: Began,
    /// It was said that the restart limit is reached.
    #[serde(default)]
    at_limit: bool,
    rearm_at_stop: bool,
    /// How often Claude was kept from compacting in this conversation.
    #[serde(default)]
    held_off: u32,
    #[serde(default)]
    ask: Ask,
    /// What a person is to read with the answer of the next hook.
    #[serde(default)]
    word: Option<String>,
    /// An orchestrator's file says that the task is completed.
    #[serde(default)]
    completed: bool,
    interrupt: Option<(Stamp, u64)>,
    /// Ctrl+C stopped a delivery then.
    broken_off: Option<Stamp>,
    passed: Option<(Stamp, Signal)>,
    /// The end was asked for while exec was under way; with `true`, by SIGKILL.
    end_wanted: Option<(StopFor, bool)>,
    /// When each restart and resume happened, for the limit.
    restarts: Vec<Stamp>,
    restart_count: u32,
    crashes: u32,
    quick_deaths: u32,
    delivery_deaths: u32,
    save_job: SaveJob,
    /// A handoff that is active and not consumed: named on exit.
    active: Option<HandoffId>,
    /// The handoff whose prompt was typed in this run, until its submission is proven.
    offered: Option<HandoffId>,
    consuming: Option<(HandoffId, ConversationId)>,
    last_code: u8,
    usage_seq: u64,
    /// The last `Tick`, so that a deadline is due once.
    ticked: Stamp,
    event_seq: u64,
}

impl Supervisor {
    /// A session in which nothing has happened yet.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Supervisor {
            policy,
            phase: Phase::Cold,
            phase_since: Stamp(0),
            phase_seq: 0,
            seq: 0,
            run: 0,
            dir: None,
            held_dir: None,
            pid: None,
            run_started: Stamp(0),
            stopped: false,
            stopped_since: Stamp(0),
            conversation: None,
            next: None,
            spoken: false,
            measured: false,
            claims: Claims::default(),
            hooks_seen: false,
            hooks_missed: false,
            cut: false,
            frame_answered: false,
            frame_sent: false,
            modes: Modes::default(),
            turn: Turn::Unknown,
            turn_since: Stamp(0),
            background: 0,
            queued: 0,
            queued_way: None,
            held: None,
            status: None,
            status_since: Stamp(0),
            waiting_for: None,
            asking: None,
            entered: Entered::default(),
            submit: None,
            halts: Halts::default(),
            progress: Progress::default(),
            chain: Chain::default(),
            screen: ScreenFacts::default(),
            dialog_since: Stamp(0),
            box_since: None,
            typed: None,
            keys: Keys::Free,
            person: Person::default(),
            fill: Fill::default(),
            fired: Level::Ok,
            began: Began::default(),
            at_limit: false,
            rearm_at_stop: false,
            held_off: 0,
            ask: Ask::Silent,
            word: None,
            completed: false,
            interrupt: None,
            broken_off: None,
            passed: None,
            end_wanted: None,
            restarts: Vec::new(),
            restart_count: 0,
            crashes: 0,
            quick_deaths: 0,
            delivery_deaths: 0,
            save_job: SaveJob::None,
            active: None,
            offered: None,
            consuming: None,
            last_code: 0,
            usage_seq: 0,
            ticked: Stamp(0),
            event_seq: 0,
        }
    }

    /// Takes one event and says what is to be done, in order. Every action is one line of the journal.
    pub fn step(&mut self, now: Stamp, event: &Event, out: &mut Vec<Action>) {
        self.seq += 1;
        self.event_seq = self.seq;
        let before = out.len();
        if !matches!(self.phase, Phase::Closed { .. }) {
            self.take(now, event, out);
            // A signal file that is left alone must not even seem to lead to anything.
            if !matches!(event, Event::Signal { .. }) {
                self.look_again(now, out);
                self.submit_ends(now, out);
            }
        } else if let Some(id) = event.request() {
            out.push(Action::Reply { id, with: Reply::Ended });
        }
        self.note_state(now);
        self.seq += u64::try_from(out.len() - before).unwrap_or(0);
    }

    fn take(&mut self, now: Stamp, event: &Event, out: &mut Vec<Action>) {
        match event {
            Event::Start { conversation, next, handoff } => {
                self.start(now, conversation.clone(), next.clone(), handoff.clone(), out);
            }
            Event::Started { run, pid, next } => self.started(now, *run, *pid, next.clone(), out),
            Event::CouldNotStart { run, code } => self.could_not_start(now, *run, *code, out),
            Event::Child { run, end } if *run == self.run && self.pid.is_some() => self.child(now, *end, out),
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
                if !self.hooks_seen && self.is_current(conversation) && self.pid.is_some() {
                    self.miss_hooks(out);
                    self.set_turn(now, Turn::Busy);
                    self.spoken = true;
                }
            }
            Event::TurnEnded { conversation } => {
                if (!self.hooks_seen || self.cut) && self.is_current(conversation) && self.pid.is_some() {
                    self.cut = false;
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
                self.signal(now, &SignalSeen { file, fresh: *fresh, sessions: *sessions, dir_ok: *dir_ok, dir: *dir }, out);
            }
            Event::Restart { id, by, now: at_once, handoff } => self.restart(now, *id, *by, *at_once, *handoff, out),
            Event::Back { id, now: at_once } => self.back(now, *id, *at_once, out),
            Event::Task { completed } => self.task(*completed, out),
            Event::Ask { answer } => self.ask_answered(now, *answer, out),
            Event::AskWas { answer, left } => self.ask_was(now, *answer, *left),
            Event::UsageLimit { conversation, limit, left, resets } => {
                self.usage_limit(now, conversation, *limit, *left, *resets, out);
            }
            Event::Submit { id, command } => self.submit(now, *id, *command, out),
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
                self.decide(out, DecisionKind::Degraded, format!("{what}."), &[self.event_seq], |_| {});
            }
            Event::Degraded { part } => {
                let text = format!("The {part} failed and is switched off; the session goes on without it.");
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

    /// Whatever happened, something that is waited for may be true now.
    fn look_again(&mut self, now: Stamp, out: &mut Vec<Action>) {
        if self.pid.is_some() {
            self.tick_ask(now, out);
            self.deliver(now, out);
            self.look_at_halt(now, out);
            self.submit_goes_on(now, out);
            self.try_safe_point(now, out);
            self.release_late(out);
        }
    }

    fn look(&mut self, now: Stamp, facts: &ScreenFacts) {
        if self.screen.dialog != facts.dialog {
            self.dialog_since = now;
        }
        if facts.prompt == PromptBox::Empty && facts.paste {
            self.box_since.get_or_insert(now);
        }
        self.mode_shown(now, facts);
        self.screen = facts.clone();
    }

    fn enter(&mut self, now: Stamp, phase: Phase) {
        self.phase = phase;
        self.phase_since = now;
        self.phase_seq = self.event_seq;
    }

    fn is_current(&self, id: &ConversationId) -> bool {
        self.conversation.as_ref() == Some(id)
    }

    fn set_turn(&mut self, now: Stamp, turn: Turn) {
        self.turn = turn;
        self.turn_since = now;
        self.asking = None;
    }
}
