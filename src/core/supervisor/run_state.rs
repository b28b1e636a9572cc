//! The state of one run of the program.

use serde::{Deserialize, Serialize};

use super::Turn;
use super::event::{HookEvent, HookFacts, SessionsFileStatus};
use super::hook_decision::{HeldHook, LINES_MARGIN_MS, LINES_MS, UnreadAnswer};
use super::phase::{Phase, RestartRequest};
use super::policy::Policy;
use super::reported_state::{KnownState, SessionState, StateSource};
use super::screen_facts::{PromptBox, ScreenFacts};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process_change::Signal;
use crate::core::time::Stamp;

/// How long a Claude with hooks may take to call the first one after its start, in ms.
const HOOKS_MS: u64 = 10_000;
/// How long a program without any source of its state counts as starting, in ms.
const MUTE_MS: u64 = 30_000;
/// How long the sessions file must report idle before it outweighs hooks that report busy (an interrupt runs
/// no Stop hook), in ms.
const IDLE_STABLE_MS: u64 = 1000;
/// That time, if the file has not changed since the turn began, in ms: it lags behind hooks, but never that
/// long.
const IDLE_STALE_MS: u64 = 5000;
/// How long after a key a person counts as writing, in ms: the screen may not show it yet, or the key was
/// Enter.
const TYPING_MS: u64 = 1000;
/// How long a prompt that Claude was started with may take to begin its turn once Claude reports idle, in ms:
/// a person's own SessionStart hooks come first.
const ARGUMENT_MS: u64 = 60_000;
/// That time for a slash command: some begin no turn.
const COMMAND_MS: u64 = 5000;
/// How long a signal that a client passed on can explain an end, in ms.
const PASSED_MS: u64 = 10_000;
/// After the box is drawn, how long a SessionStart hook may still take before the prompt is typed without
/// waiting for hooks, in ms.
const HOOK_WAIT_MS: u64 = 3000;

/// The state of a run, from the order to start it to its end. It is replaced as a whole at both; without a
/// run it is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RunState {
    /// The child's process id, once exec has succeeded.
    pub(super) pid: Option<i32>,
    pub(super) started: Stamp,
    /// Job control has stopped the program.
    pub(super) stopped: bool,
    pub(super) turn: CurrentTurn,
    pub(super) hooks: HookState,
    pub(super) file: SessionsFileState,
    pub(super) screen: ScreenState,
    pub(super) queue: PromptQueue,
    pub(super) delivery: DeliveryState,
    /// When a person last typed into the child.
    pub(super) typed: Option<Stamp>,
    /// The last client signal that was passed on.
    pub(super) passed: Option<(Stamp, Signal)>,
}

/// The turn, according to hooks, or to the transcript if no hooks run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CurrentTurn {
    pub(super) state: Turn,
    /// When it was last reported.
    pub(super) since: Stamp,
    /// Sub-agents and background shells at work.
    pub(super) background: u32,
    /// The API error that ended it, as Claude names it.
    pub(super) error: Option<String>,
}

/// What hooks have reported, and the held call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HookState {
    /// A hook was called.
    #[serde(rename = "seen")]
    pub(super) any_call: bool,
    pub(super) held: Option<HeldHook>,
    /// What Claude asks a person for, until the next event.
    pub(super) asking: Option<String>,
    /// Claude asked for a permission or an answer, and no later call of the main conversation shows that a
    /// person gave it. A turn that ends with an error shows nothing: any program of this user can report one.
    #[serde(rename = "asked", skip_serializing_if = "std::ops::Not::not")]
    pub(super) awaits_person: bool,
    /// An old Claude was told to end its turn after a tool; its transcript will show when that has happened.
    pub(super) turn_cut: bool,
    /// The last answer that must be given again if Claude does not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unread: Option<(u64, UnreadAnswer)>,
    /// A call that reported another conversation than the followed one, until the sessions file agrees.
    pub(super) claim: Option<(HookFacts, Stamp)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionsFileState {
    pub(super) status: Option<SessionsFileStatus>,
    pub(super) since: Stamp,
    /// What Claude waits for a person to do.
    pub(super) waiting_for: Option<String>,
    pub(super) conversation: Option<ConversationId>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScreenState {
    pub(super) facts: ScreenFacts,
    /// When the dialog appeared, if one is shown.
    pub(super) dialog_since: Option<Stamp>,
    /// When an empty prompt box was first seen.
    pub(super) box_since: Option<Stamp>,
    /// Since when it shows a prompt box and no turn. `None` under the rules of the previous release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rests_since: Option<Stamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PromptQueue {
    pub(super) prompts: u32,
    /// How the first can be carried to another conversation.
    pub(super) first: Option<CarryMethod>,
    /// Claude was started with a prompt, and nothing shows yet that it has taken it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) argument: bool,
    /// That prompt cannot be carried to another conversation. It may be a command that begins no turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) command: bool,
}

/// How far the delivery of a handoff has got in this run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DeliveryState {
    /// The current conversation was given the brief.
    pub(super) brief_answered: bool,
    /// The brief was given in this run.
    pub(super) brief_sent: bool,
    /// The hook call that was answered with the brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) brief_call: Option<u64>,
    /// The handoff whose prompt was typed, until its submission is proven.
    pub(super) offered: Option<HandoffId>,
    /// When Ctrl+C stopped the delivery.
    pub(super) broken_off: Option<Stamp>,
}

impl DeliveryState {
    /// Hook call `id` is answered with the brief.
    pub(super) fn give_brief(&mut self, id: u64, policy: &Policy) {
        (self.brief_answered, self.brief_sent) = (true, true);
        self.brief_call = Some(id).filter(|_| !policy.is_previous_release());
    }

    /// Claude did not read the answer to hook call `id`. Returns whether it was the brief.
    pub(super) fn lose_brief(&mut self, id: u64) -> bool {
        let lost = self.brief_call.take_if(|call| *call == id).is_some();
        if lost {
            (self.brief_answered, self.brief_sent) = (false, false);
        }
        lost
    }
}

impl RunState {
    pub(super) fn set_turn(&mut self, now: Stamp, turn: Turn) {
        (self.turn.state, self.turn.since) = (turn, now);
        self.queue.argument &= turn != Turn::Busy;
        self.turn.error = None;
        self.hooks.asking = None;
    }

    /// Whether only the transcript shows when a turn begins and ends.
    pub(super) fn turns_by_transcript(&self, now: Stamp, policy: &Policy) -> bool {
        let hooks_may_come = policy.hooks && now.since(self.started) < HOOKS_MS;
        self.hooks.turn_cut || !(self.hooks.any_call || hooks_may_come)
    }

    /// Whether no source has reported yet when a turn of this run ends.
    pub(super) fn is_mute(&self, now: Stamp) -> bool {
        let speaks = self.hooks.any_call || self.turn.state != Turn::Unknown || self.file.status.is_some();
        !speaks && now.since(self.started) >= HOOKS_MS
    }

    /// Whether the turn is over according to a held call whose lines have arrived.
    pub(super) fn turn_is_over(&self) -> bool {
        let held = self.hooks.held.as_ref();
        held.map_or(self.turn.state == Turn::Idle, |held| held.stop && held.ready)
    }

    /// The source that reports a question to a person, and the question.
    pub(super) fn asks(&self) -> Option<(StateSource, &str)> {
        if let Some(name) = &self.screen.facts.dialog {
            return Some((StateSource::Screen, name));
        }
        // The file follows the hook after a tenth of a second and then is more precise.
        let hook_is_newer = self.file.status.is_some() && self.file.since <= self.turn.since;
        if let Some(what) = self.hooks.asking.as_deref().filter(|_| hook_is_newer) {
            return Some((StateSource::Hook, what));
        }
        let waits = self.file.status == Some(SessionsFileStatus::Waiting);
        waits.then(|| (StateSource::SessionsFile, self.file.waiting_for.as_deref().unwrap_or("unknown")))
    }

    /// Whether Claude may be asking for a permission or an answer, whatever the screen shows: a program that
    /// Claude started can draw on it.
    pub(super) fn may_be_asking(&self) -> bool {
        let of_person = |what: &str| matches!(what, "permission" | "question");
        self.hooks.awaits_person
            || self.hooks.asking.is_some()
            || self.file.waiting_for.as_deref().is_some_and(of_person)
    }

    /// What a person must answer first: the name of the dialog on the screen, or what hooks or the sessions
    /// file report; `unknown` if nothing does.
    pub(super) fn obstacle(&self) -> Option<&str> {
        self.asks().map(|(_, what)| what)
    }

    /// The state according to hooks and the sessions file; then to the window title and the lines around the
    /// prompt box. If two sources differ, the newer one counts.
    pub(super) fn state(&self, ticked: Stamp) -> KnownState {
        let hook = |state| KnownState { state, from: StateSource::Hook, waiting_for: None };
        let file = |state| KnownState { state, from: StateSource::SessionsFile, waiting_for: None };
        match (self.file.status, self.turn.state) {
            (Some(SessionsFileStatus::Busy | SessionsFileStatus::Waiting), _) => file(SessionState::Busy),
            // The file reports idle and hooks report busy: either a prompt was just submitted and the file is
            // about the previous turn, or an interrupt ended this turn. Only time shows which.
            (Some(SessionsFileStatus::Idle | SessionsFileStatus::Shell), Turn::Busy)
                if ticked < self.idle_outweighs_hooks() =>
            {
                hook(SessionState::Busy)
            }
            // A background shell does not block the prompt.
            (Some(SessionsFileStatus::Idle | SessionsFileStatus::Shell), _) => file(SessionState::Idle),
            (_, Turn::Idle) => hook(SessionState::Idle),
            (_, Turn::Busy) => hook(SessionState::Busy),
            (_, Turn::Unknown) => self.state_on_screen(ticked),
        }
    }

    /// Until when an idle Claude counts as at work, because it has a prompt that begins a turn by itself: the
    /// one that it was started with, or one in its queue. A prompt that Claude never takes stops counting.
    pub(super) fn prompt_due(&self) -> Option<Stamp> {
        let patience = match &self.queue {
            PromptQueue { argument: true, command: true, .. } => COMMAND_MS,
            PromptQueue { argument: true, .. } => ARGUMENT_MS,
            PromptQueue { prompts: 1.., .. } => IDLE_STALE_MS,
            _ => return None,
        };
        let idle_since = self.started.max(self.file.since).max(self.turn.since);
        self.pid.map(|_| idle_since.after(patience))
    }

    /// Whether Claude was started with a prompt that would be lost if it ended now.
    pub(super) fn command_waits(&self, now: Stamp) -> bool {
        self.queue.command && self.queue.argument && self.prompt_due().is_some_and(|until| now < until)
    }

    /// What Claude does with such a prompt, while [`Self::state`] reports idle or unknown.
    pub(super) fn state_before_prompt(&self, ticked: Stamp) -> Option<SessionState> {
        self.prompt_due().filter(|until| ticked < *until)?;
        Some(if self.queue.argument { SessionState::Starting } else { SessionState::Busy })
    }

    fn state_on_screen(&self, ticked: Stamp) -> KnownState {
        let known = |state, from| KnownState { state, from, waiting_for: None };
        let busy = |busy| if busy { SessionState::Busy } else { SessionState::Idle };
        match (self.screen.facts.title_busy, self.screen.facts.busy) {
            (Some(title), _) => known(busy(title), StateSource::Title),
            (None, Some(screen)) => known(busy(screen), StateSource::Screen),
            (None, None) if ticked < self.must_have_spoken() => {
                known(SessionState::Starting, StateSource::None)
            }
            (None, None) => known(SessionState::Unknown, StateSource::None),
        }
    }

    /// When a program without any source of its state no longer counts as starting.
    pub(super) fn must_have_spoken(&self) -> Stamp {
        self.started.after(MUTE_MS)
    }

    /// The status in the sessions file, and what Claude waits for.
    pub(super) fn set_status(
        &mut self,
        now: Stamp,
        status: SessionsFileStatus,
        waiting_for: Option<&String>,
    ) {
        self.file.waiting_for = waiting_for.cloned();
        // A repeated status is no news, unless a turn began or ended since it was first reported.
        if self.file.status != Some(status) || self.file.since < self.turn.since {
            self.file.since = now;
        }
        self.file.status = Some(status);
        self.queue.argument &= status != SessionsFileStatus::Busy;
    }

    /// Whether a hook call for the conversation `named` may be believed now, in a session that follows
    /// `current`. Any program of this user can call a hook, so a hook alone is not believed: it is kept until
    /// the sessions file agrees.
    pub(super) fn believes(
        &mut self,
        now: Stamp,
        hook: &HookFacts,
        named: &ConversationId,
        current: Option<&ConversationId>,
    ) -> bool {
        let believed = current == Some(named) || self.file.conversation.as_ref() == Some(named);
        // SessionStart says more than later hooks.
        let of_start = self.hooks.claim.as_ref().is_some_and(|(kept, _)| {
            kept.event == HookEvent::SessionStart && kept.conversation == hook.conversation
        });
        if !believed && !of_start {
            self.hooks.claim = Some((hook.clone(), now));
        }
        believed
    }

    /// Whether sub-agents or background shells run, and there is time to wait for them.
    pub(super) fn work_waits(&self, now: Stamp, request: &RestartRequest) -> bool {
        let works = self.turn.background > 0 || self.file.status == Some(SessionsFileStatus::Shell);
        works && !request.forced && now < request.work_until
    }

    pub(super) fn person_writes(&self, now: Stamp) -> bool {
        self.screen.facts.prompt == PromptBox::Draft || self.typed.is_some_and(|at| now < at.after(TYPING_MS))
    }

    /// Whether what a person writes postpones this hand-over. One that a person requested does not wait for
    /// the draft, which is carried along, but for a key that was just pressed: it may have been Enter.
    pub(super) fn writing_postpones(&self, now: Stamp, request: &RestartRequest, policy: &Policy) -> bool {
        let goes_along = request.person && !policy.is_previous_release();
        match self.typed.is_some_and(|at| now < at.after(TYPING_MS)) {
            true => !request.forced,
            false => !request.forced && !goes_along && self.screen.facts.prompt == PromptBox::Draft,
        }
    }

    /// Whether Claude waits for a prompt, according to all sources. `waits_since`: how long the request has
    /// waited, so that the screen is up to date.
    pub(super) fn is_idle(
        &self,
        now: Stamp,
        request: &RestartRequest,
        waits_since: Stamp,
        policy: &Policy,
    ) -> bool {
        if self.stopped || self.obstacle().is_some() || self.work_waits(now, request) {
            return false;
        }
        match (self.file.status, self.turn.state) {
            // No hook has run yet, and the sessions file lags: a prompt in the arguments begins its turn.
            (Some(SessionsFileStatus::Idle), Turn::Unknown) if !policy.is_previous_release() => {
                self.screen.facts.busy != Some(true)
            }
            (Some(SessionsFileStatus::Idle), Turn::Idle | Turn::Unknown) => true,
            (Some(SessionsFileStatus::Idle), Turn::Busy) => now >= self.idle_outweighs_hooks(),
            // Its turn is over and background work keeps it busy, but the time to wait for that is over.
            (Some(SessionsFileStatus::Busy | SessionsFileStatus::Shell), Turn::Idle) => {
                now >= request.work_until
                    && now >= self.busy_is_stale()
                    && (policy.is_previous_release()
                        || !self.turn_may_be_missed()
                        || self.looks_idle_at(waits_since).is_some_and(|at| now >= at))
            }
            (Some(SessionsFileStatus::Other) | None, Turn::Idle) => true,
            _ => false,
        }
    }

    /// Whether the sessions file reports a turn that no hook reported and background work does not explain.
    fn turn_may_be_missed(&self) -> bool {
        self.hooks.any_call && self.turn.background == 0 && self.file.status == Some(SessionsFileStatus::Busy)
    }

    /// When to believe the screen against a sessions file that keeps reporting busy. Never while the screen
    /// shows a turn or cannot be read: a tool may run for hours, and its end calls a hook.
    fn looks_idle_at(&self, waits_since: Stamp) -> Option<Stamp> {
        self.screen.rests_since.map(|at| at.max(waits_since).after(IDLE_STALE_MS))
    }

    fn idle_outweighs_hooks(&self) -> Stamp {
        if self.file.since >= self.turn.since {
            self.file.since.after(IDLE_STABLE_MS)
        } else {
            self.turn.since.after(IDLE_STALE_MS)
        }
    }

    /// When to believe a file that keeps reporting idle against hooks that report busy.
    pub(super) fn idle_settles(&self) -> Option<Stamp> {
        let differ = self.turn.state == Turn::Busy
            && matches!(self.file.status, Some(SessionsFileStatus::Idle | SessionsFileStatus::Shell));
        (differ && self.pid.is_some()).then(|| self.idle_outweighs_hooks())
    }

    fn busy_is_stale(&self) -> Stamp {
        self.file.since.max(self.turn.since).after(IDLE_STABLE_MS)
    }

    /// When a request that waits may find a safe point although nothing else happens; `hold_ms`: how long a
    /// call may be held; `waits_since`: how long the request has waited.
    pub(super) fn waiting_deadlines(
        &self,
        request: &RestartRequest,
        hold_ms: u64,
        waits_since: Stamp,
        due: &mut Vec<Stamp>,
    ) {
        due.push(request.work_until);
        due.extend(request.draft_until);
        due.extend(self.typed.map(|at| at.after(TYPING_MS)));
        if let Some(held) = &self.hooks.held {
            due.push(request.turn_until);
            due.push(held.since.after(hold_ms));
        }
        match (self.file.status, self.turn.state) {
            (Some(SessionsFileStatus::Idle), Turn::Busy) => due.push(self.idle_outweighs_hooks()),
            (Some(SessionsFileStatus::Busy | SessionsFileStatus::Shell), Turn::Idle) => {
                due.push(self.busy_is_stale());
                due.extend(self.looks_idle_at(waits_since).filter(|_| self.turn_may_be_missed()));
            }
            _ => {}
        }
    }

    /// Whether a client that passed on a signal to end explains the program's end, which then is no crash.
    /// Other signals explain only a death by the same signal.
    pub(super) fn passed_on(&self, now: Stamp, killed: Option<Signal>) -> bool {
        self.passed.is_some_and(|(at, signal)| {
            now.since(at) <= PASSED_MS && (ends_programs(signal) || killed == Some(signal))
        })
    }

    /// Whether the prompt box is empty and takes a paste.
    pub(super) fn box_is_empty(&self) -> bool {
        !self.stopped
            && self.obstacle().is_none()
            && self.screen.facts.prompt == PromptBox::Empty
            && self.screen.facts.paste
    }

    /// Until when a delivery waits for the SessionStart hook after the box is drawn.
    pub(super) fn hook_wait_deadline(&self, policy: &Policy) -> Option<Stamp> {
        let may_come = policy.hooks && !self.hooks.any_call;
        self.screen.box_since.filter(|_| may_come).map(|at| at.after(HOOK_WAIT_MS))
    }

    /// Whether the person's next prompt is known and can be carried to a fresh conversation: it is in
    /// Claude's queue.
    pub(super) fn next_is_queued(&self) -> bool {
        self.queue.prompts > 0 && self.queue.first.is_some()
    }
}

/// The signals that ask a program to end.
pub(super) fn ends_programs(signal: Signal) -> bool {
    matches!(signal, Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM)
}

impl HookState {
    /// Notes what a call of the current conversation says about a question to a person.
    pub(super) fn note_question(&mut self, hook: &HookFacts) {
        match hook.event {
            HookEvent::PermissionRequest => self.awaits_person = true,
            HookEvent::PreToolUse => self.awaits_person |= hook.asks.is_some(),
            HookEvent::PostToolBatch
            | HookEvent::PostToolUse
            | HookEvent::Stop
            | HookEvent::UserPromptSubmit
                if !hook.agent =>
            {
                self.awaits_person = false;
            }
            _ => {}
        }
    }

    /// When to decide on a held call without the report of its lines.
    pub(super) fn deadline(&self, phase: &Phase) -> Option<Stamp> {
        let waits = matches!(phase, Phase::Running | Phase::Waiting { .. });
        let held = self.held.as_ref().filter(|held| waits && !held.ready)?;
        Some(held.since.after(LINES_MS + LINES_MARGIN_MS))
    }
}

impl ScreenState {
    pub(super) fn look(&mut self, now: Stamp, facts: &ScreenFacts, policy: &Policy) {
        if self.facts.dialog != facts.dialog {
            self.dialog_since = facts.dialog.as_ref().map(|_| now);
        }
        if facts.prompt == PromptBox::Empty && facts.paste {
            self.box_since.get_or_insert(now);
        }
        let is_idle_prompt = !policy.is_previous_release() && facts.shows_idle_prompt();
        self.rests_since = is_idle_prompt.then(|| self.rests_since.unwrap_or(now));
        self.facts = facts.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{claude, conversation, hook};
    use super::*;

    fn state(run: &RunState, ticked: u64) -> (SessionState, StateSource) {
        let KnownState { state, from, .. } = run.state(Stamp(ticked));
        (state, from)
    }

    #[test]
    fn the_newer_of_two_sources_counts() {
        let mut run = RunState { pid: Some(1), ..RunState::default() };
        assert_eq!(state(&run, MUTE_MS - 1), (SessionState::Starting, StateSource::None));
        assert_eq!(state(&run, MUTE_MS), (SessionState::Unknown, StateSource::None));
        run.set_status(Stamp(10), SessionsFileStatus::Idle, None);
        run.set_turn(Stamp(20), Turn::Busy);
        let settles = run.idle_settles().unwrap();
        assert_eq!(settles, Stamp(20).after(IDLE_STALE_MS), "the file is about the turn before");
        run.set_status(Stamp(30), SessionsFileStatus::Idle, None);
        let settles = run.idle_settles().unwrap();
        assert_eq!(settles, Stamp(30).after(IDLE_STABLE_MS), "the same word after a turn began is news");
        assert_eq!(state(&run, settles.0 - 1), (SessionState::Busy, StateSource::Hook));
        assert_eq!(state(&run, settles.0), (SessionState::Idle, StateSource::SessionsFile));
        assert_eq!(RunState { pid: None, ..run }.idle_settles(), None);
    }

    #[test]
    fn a_question_is_reported_by_its_most_precise_source() {
        let mut run = RunState::default();
        run.hooks.asking = Some("permission".to_owned());
        assert_eq!(run.obstacle(), None, "no file has confirmed it");
        run.set_status(Stamp(0), SessionsFileStatus::Busy, None);
        assert_eq!(run.asks(), Some((StateSource::Hook, "permission")));
        run.set_status(Stamp(5), SessionsFileStatus::Waiting, Some(&"a plan".to_owned()));
        assert_eq!(run.asks(), Some((StateSource::SessionsFile, "a plan")));
        run.screen.look(
            Stamp(7),
            &ScreenFacts { dialog: Some("trust".to_owned()), ..ScreenFacts::default() },
            &claude(),
        );
        assert_eq!(
            (run.asks(), run.screen.dialog_since),
            (Some((StateSource::Screen, "trust")), Some(Stamp(7)))
        );
    }

    #[test]
    fn a_hook_that_names_another_conversation_waits_for_the_file() {
        let (own, other) = (conversation(1), conversation(2));
        let mut run = RunState::default();
        assert!(run.believes(Stamp(0), &hook(HookEvent::Stop, &own), &own, Some(&own)));
        let start = hook(HookEvent::SessionStart, &other);
        assert!(!run.believes(Stamp(1), &start, &other, Some(&own)));
        assert!(!run.believes(Stamp(2), &hook(HookEvent::Stop, &other), &other, Some(&own)));
        assert_eq!(run.hooks.claim, Some((start.clone(), Stamp(1))), "a later hook says less");
        run.file.conversation = Some(other.clone());
        assert!(run.believes(Stamp(3), &start, &other, Some(&own)));
    }

    #[test]
    fn an_empty_box_is_waited_in_for_a_hook_that_may_come() {
        let mut run = RunState::default();
        let facts = ScreenFacts { prompt: PromptBox::Empty, paste: true, ..ScreenFacts::default() };
        run.screen.look(Stamp(5), &facts, &claude());
        run.screen.look(Stamp(9), &facts, &claude());
        assert!(run.box_is_empty());
        assert_eq!(run.hook_wait_deadline(&claude()), Some(Stamp(5).after(HOOK_WAIT_MS)));
        assert!(run.turns_by_transcript(Stamp(HOOKS_MS), &claude()), "it calls none");
        run.hooks.any_call = true;
        assert_eq!(run.hook_wait_deadline(&claude()), None);
        run.stopped = true;
        assert!(!run.box_is_empty());
    }

    #[test]
    fn a_signal_that_was_passed_on_explains_an_end_for_a_while() {
        let passed = |signal| RunState { passed: Some((Stamp(0), signal)), ..RunState::default() };
        assert!(passed(Signal::HUP).passed_on(Stamp(PASSED_MS), Some(Signal::TERM)));
        assert!(!passed(Signal::HUP).passed_on(Stamp(PASSED_MS + 1), Some(Signal::TERM)));
        assert!(passed(Signal(10)).passed_on(Stamp(0), Some(Signal(10))));
        assert!(
            !passed(Signal(10)).passed_on(Stamp(0), None) && !RunState::default().passed_on(Stamp(0), None)
        );
    }
}
