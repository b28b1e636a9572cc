//! The world around the supervisor: child, hooks, worker and keys, as its actions change them, and the laws
//! that are checked after each event.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::super::action::{Action, DecisionKind, HookAnswer, HookInstruction, RestartBy, Typing};
use super::super::event::{Event, HookEvent, HookFacts, KeyClass, PromptOf, SessionsFileStatus};
use super::super::handover_question::AskAnswer;
use super::super::phase::Phase;
use super::super::phase::{SafePoint, StartKind, StopFor, StopStep};
use super::super::prompt_delivery::PromptDelivery;
use super::super::screen_facts::{PromptBox, ScreenFacts};
use super::super::tests::{conversation, word};
use super::super::{Policy, ProgramKind, RULES, Supervisor};
use super::action_words::ignored;
use super::limit_laws::LimitLaws;
use super::prompt_law::Prompts;
use crate::core::context_level::Level;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::time::Stamp;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Child {
    None,
    /// exec of this run is under way.
    Born(u32),
    Lives,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Keys {
    Free,
    Held,
    Passing,
}

/// What happened in one run.
#[derive(Clone, Debug, Default)]
struct Run {
    screen: ScreenFacts,
    waits_for_person: bool,
    turn: bool,
    stopped: bool,
    pastes: u32,
    enters: u32,
    proven: bool,
    term_at: Option<Stamp>,
    killed: bool,
    /// The hook call that was answered with the brief.
    brief: Option<u64>,
    /// The last status in the sessions file.
    status: Option<SessionsFileStatus>,
    /// Claude has called a hook; `background`: one of them reported background work.
    hooks: bool,
    background: bool,
    /// The hook call at the end of a turn whose answer asked for a note; the turn continues.
    note: Option<u64>,
    /// The `send --submit` whose text was typed and that has no answer yet.
    sends: Option<u64>,
}

pub(super) struct World {
    pub sup: Supervisor,
    pub now: Stamp,
    pub out: Vec<Action>,
    pub hooks: u64,
    pub conversations: u32,
    pub handoffs: u32,
    /// Held calls whose connection is open.
    pub held: BTreeSet<u64>,
    pub saves_out: u32,
    /// Every handoff that was ever on disk for this session.
    pub known: HashSet<HandoffId>,
    pub ctrl_c_was_last: bool,
    open: BTreeSet<u64>,
    consumed: HashSet<HandoffId>,
    child: Child,
    keys: Keys,
    run: Run,
    restarts: Vec<Stamp>,
    /// A restart was accepted or a delivery begun, and its outcome has not been reported.
    request_open: bool,
    delivery_open: bool,
    limits: LimitLaws,
    /// When a handoff could not be saved, and the level then; until one is saved, or a person agrees.
    failed_save: Option<(Stamp, Level)>,
    prompts: Prompts,
    /// The last events and their actions, for failure messages.
    story: VecDeque<String>,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the story ends so:");
            self.story.iter().for_each(|line| eprintln!("{line}"));
        }
    }
}

impl World {
    pub fn new(policy: Policy) -> Self {
        World {
            sup: Supervisor::new(policy),
            now: Stamp(0),
            out: Vec::new(),
            hooks: 0,
            conversations: 1,
            handoffs: 0,
            held: BTreeSet::new(),
            saves_out: 0,
            known: HashSet::new(),
            ctrl_c_was_last: false,
            open: BTreeSet::new(),
            consumed: HashSet::new(),
            child: Child::None,
            keys: Keys::Free,
            run: Run::default(),
            restarts: Vec::new(),
            request_open: false,
            delivery_open: false,
            limits: LimitLaws::default(),
            failed_save: None,
            prompts: Prompts::default(),
            story: VecDeque::new(),
        }
    }

    pub fn current(&self) -> ConversationId {
        self.sup.conversation().cloned().unwrap_or_else(|| conversation(1))
    }

    /// Runs one event and checks every law.
    pub fn feed(&mut self, event: &Event) {
        let before = self.sup.phase().clone();
        let (seq, closed) = (self.sup.seq(), matches!(before, Phase::Closed { .. }));
        self.witness(event, closed);
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.sup.step(self.now, event, &mut out);
        self.record_story(event, &out);
        for action in &out {
            self.perform(event, &before, action);
        }
        assert_eq!(self.sup.seq(), seq + 1 + out.len() as u64, "every action has its number");
        if closed {
            assert!(out.iter().all(|a| matches!(a, Action::Reply { .. })), "closed is final: {out:?}");
        }
        if let Some(at) = out.iter().position(|a| matches!(a, Action::Close { .. })) {
            assert_eq!(at + 1, out.len(), "nothing after the end: {out:?}");
            assert_eq!(self.child, Child::None, "closed while a child lives");
        }
        self.after(event, &before, &out);
        self.out = out;
    }

    fn record_story(&mut self, event: &Event, out: &[Action]) {
        if std::env::var_os("HOPTY_LAWS_STORY").is_some() {
            let words: Vec<_> = out.iter().map(word).collect();
            self.story.push_back(format!(
                "{:>8} {event:?} -> {} [{}]",
                self.now.0,
                self.place(),
                words.join(", ")
            ));
        }
    }

    /// Changes the world according to the event.
    fn witness(&mut self, event: &Event, closed: bool) {
        if closed {
            return;
        }
        self.limits.witness(event, self.now, self.sup.conversation());
        let run = self.sup.run();
        match event {
            Event::Started { run: r, .. } if self.child == Child::Born(*r) => self.child = Child::Lives,
            Event::CouldNotStart { run: r, .. } if self.child == Child::Born(*r) => self.child = Child::None,
            Event::Settings { changed } if self.child == Child::Born(run) && !changed.is_empty() => {
                self.child = Child::None;
                self.restarts.pop();
            }
            Event::Child { run: r, end } if *r == run && self.child == Child::Lives => match end {
                ProcessEnd::Stopped(_) => self.run.stopped = true,
                ProcessEnd::Continued => self.run.stopped = false,
                _ => self.run_is_over(),
            },
            Event::Screen { facts } => self.run.screen = facts.clone(),
            Event::Status { status, .. } => {
                self.run.waits_for_person = *status == SessionsFileStatus::Waiting;
                self.run.status = Some(*status);
            }
            Event::Ask { answer: AskAnswer::Yes } => self.failed_save = None,
            Event::Hook { id, hook } => {
                self.failed_save.take_if(|_| hook.answered == Some(AskAnswer::Yes));
                self.prompts.asked(*id, hook);
                self.open.insert(*id);
                self.witness_hook(hook);
            }
            Event::Prompted { conversation } if self.sup.conversation() == Some(conversation) => {
                self.run.proven |= self.child == Child::Lives;
                self.prompts.came_by_itself();
            }
            Event::HookGone { id } => {
                self.open.remove(id);
                self.held.remove(id);
                self.run.brief.take_if(|call| call == id);
                self.run.turn &= self.run.note.take_if(|call| call == id).is_none();
            }
            Event::Saved { .. } | Event::SaveFailed { .. } => {
                self.saves_out = self.saves_out.saturating_sub(1)
            }
            _ => {}
        }
    }

    fn witness_hook(&mut self, hook: &HookFacts) {
        let current = hook.conversation.as_ref() == self.sup.conversation();
        if hook.agent || self.child != Child::Lives {
            return;
        }
        self.run.note = None;
        self.run.hooks |= hook.event != HookEvent::SubagentStop;
        self.run.background |= hook.background + hook.started > 0;
        match hook.event {
            HookEvent::SessionStart if !current => self.run.turn = false,
            _ if !current => {}
            HookEvent::UserPromptSubmit => {
                self.run.turn = true;
                self.run.proven |= hook.prompt == Some(PromptOf::Ours);
            }
            HookEvent::PostToolBatch
            | HookEvent::PreToolUse
            | HookEvent::PostToolUse
            | HookEvent::PermissionRequest => {
                self.run.turn = true;
            }
            HookEvent::Stop | HookEvent::StopFailure => self.run.turn = false,
            _ => {}
        }
    }

    fn run_is_over(&mut self) {
        self.child = Child::None;
        self.held.clear();
        self.open.clear();
    }

    fn perform(&mut self, event: &Event, before: &Phase, action: &Action) {
        let c = &self.sup.policy().config;
        match action {
            Action::Spawn { run, start, prompt, .. } => {
                if *prompt {
                    self.prompts.given();
                }
                // A fresh run is the requested outcome; a resumed one is not.
                self.request_open &= *start == StartKind::Resume;
                assert_eq!(self.child, Child::None, "a spawn while a child lives");
                self.child = Child::Born(*run);
                self.run = Run::default();
                if *run > 1 {
                    let window = c.restart.window.ms();
                    self.restarts.retain(|at| self.now.since(*at) < window);
                    self.restarts.push(self.now);
                    let allowed = c.restart.max_restarts as usize;
                    assert!(
                        self.restarts.len() <= allowed,
                        "{} restarts within the window",
                        self.restarts.len()
                    );
                }
            }
            Action::Signal { signal, .. } => {
                assert_eq!(self.child, Child::Lives, "{action:?} to nobody");
                if *signal == Signal::TERM {
                    self.run.term_at = Some(self.now);
                } else if *signal == Signal::KILL {
                    if *event == Event::Tick {
                        let since = self.run.term_at.map(|at| self.now.since(at));
                        assert!(since >= Some(c.restart.grace.ms()), "SIGKILL {since:?} ms after SIGTERM");
                    }
                    self.run.killed = true;
                }
            }
            Action::HoldHook { id } => {
                assert!(
                    self.open.contains(id) && self.held.insert(*id),
                    "{id} is told to wait twice, or is not there"
                );
            }
            Action::AnswerHook { id, with } => {
                assert!(self.open.remove(id), "{id} is answered twice, or is not there");
                self.held.remove(id);
                self.run.turn |= matches!(with, HookAnswer::Tell { .. });
                if let HookAnswer::Tell { what: HookInstruction::Note } = with {
                    self.run.note = Some(*id);
                }
                self.run.turn &= !self.prompts.answered(*id, with);
                if let HookAnswer::Brief { handoff } = with {
                    assert_eq!(self.run.brief.replace(*id), None, "one brief a run that is not lost");
                    assert_eq!(self.sup.active_handoff(), Some(handoff));
                }
            }
            Action::HoldKeys => {
                assert_ne!(self.keys, Keys::Held, "kept keys are kept again");
                self.keys = Keys::Held;
            }
            Action::PassKeys => {
                assert_eq!(self.keys, Keys::Held, "nothing is kept");
                self.keys = Keys::Passing;
            }
            Action::ReleaseKeys { .. } => {
                let dialog = self.run.screen.dialog.is_some() || self.run.waits_for_person;
                assert!(self.keys == Keys::Free || !dialog, "kept keys go into a dialog");
                self.keys = Keys::Free;
            }
            Action::ReturnPrompt { .. } | Action::DropPrompt | Action::TakeQueued | Action::TakeArgument => {
                self.prompts.moves(action)
            }
            Action::Type { typing } => self.typed(event, before, typing),
            Action::Reply { id, .. } if self.run.sends == Some(*id) => self.run.sends = None,
            Action::Save { by, .. } => {
                let pauses = self.failed_save.filter(|(at, level)| {
                    self.now.since(*at) < c.restart.snooze.ms() && self.sup.level() <= *level
                });
                assert!(*by != RestartBy::Level || pauses.is_none(), "no level tries again: {pauses:?}");
                self.saves_out += 1;
                assert_eq!(self.saves_out, 1, "one save at a time");
            }
            Action::Consume { handoff, .. } => {
                assert!(
                    self.known.contains(handoff) && self.consumed.insert(handoff.clone()),
                    "{handoff} is consumed twice"
                );
            }
            Action::Decide { decision } => {
                self.decided(decision.kind);
                assert!(decision.because.iter().all(|seq| *seq <= self.sup.seq()), "{decision:?}");
            }
            Action::Close { .. } => {
                if let Event::Child { .. } | Event::CouldNotStart { .. } = event {
                    assert_eq!(self.child, Child::None);
                }
            }
            _ => {}
        }
    }

    /// The outcome of a restart or a delivery is reported.
    fn decided(&mut self, kind: DecisionKind) {
        match kind {
            DecisionKind::RestartRequested => {
                assert!(!self.request_open, "a second request for one");
                self.request_open = true;
            }
            DecisionKind::HandoffSaved => self.failed_save = None,
            DecisionKind::RestartCancelled | DecisionKind::StopSent | DecisionKind::HandoffClaimed => {
                self.request_open = false
            }
            DecisionKind::DeliveryStarted => {
                assert!(!self.delivery_open);
                self.delivery_open = true;
            }
            DecisionKind::DeliverySubmitted | DecisionKind::DeliveryFailed | DecisionKind::RunEnded => {
                self.delivery_open = false;
                self.prompts.decided(kind);
            }
            _ => {}
        }
    }

    /// Checks that what is typed is justified by what was seen.
    fn typed(&mut self, event: &Event, before: &Phase, typing: &Typing) {
        let (seen, c) = (&self.run.screen, &self.sup.policy().config.delivery);
        let nobody_is_asked = seen.dialog.is_none() && !self.run.waits_for_person;
        let may_type = nobody_is_asked && !self.run.turn && !self.run.stopped && !self.run.proven;
        match typing {
            Typing::Carried { handoff } | Typing::Prompt { handoff, .. } => {
                if matches!(typing, Typing::Carried { .. }) {
                    self.prompts.given();
                }
                assert!(
                    may_type && seen.prompt == PromptBox::Empty && seen.paste,
                    "a paste into {:?}",
                    self.run
                );
                assert!(self.keys == Keys::Held);
                assert_eq!(self.sup.active_handoff(), Some(handoff), "an old handoff");
                assert!(self.known.contains(handoff) && !self.consumed.contains(handoff));
                self.run.pastes += 1;
                assert_eq!(self.run.pastes, 1, "one paste a run");
            }
            Typing::Text { .. } | Typing::GoOn { .. } => {
                let id = if let Typing::Text { id } = typing { *id } else { 0 };
                let may_type = nobody_is_asked && !self.run.stopped;
                assert!(
                    may_type && seen.prompt == PromptBox::Empty && seen.paste,
                    "a paste into {:?}",
                    self.run
                );
                assert!(self.keys == Keys::Held && matches!(before, Phase::Running | Phase::Waiting { .. }));
                assert_eq!(self.run.sends.replace(id), None, "one at a time");
                if let Typing::GoOn { after } = typing {
                    assert!(may_type && !self.run.turn && *before == Phase::Running, "{:?}", self.run);
                    self.limits.types_resume_prompt(*after, self.now, self.sup.policy());
                }
            }
            Typing::Enter if self.run.sends.is_some() => {
                let may_type = nobody_is_asked && !self.run.stopped;
                assert!(
                    may_type && seen.prompt == PromptBox::Ours && !seen.unread,
                    "an Enter into {:?}",
                    self.run
                );
                assert!(matches!(self.sup.phase(), Phase::Running | Phase::Waiting { .. }));
            }
            Typing::Enter => {
                assert!(
                    may_type && seen.prompt == PromptBox::Ours && !seen.unread,
                    "an Enter into {:?}",
                    self.run
                );
                assert!(self.keys == Keys::Held && self.run.pastes == 1, "an Enter without a paste");
                assert!(matches!(before, Phase::Delivering { .. }));
                self.run.enters += 1;
                assert!(self.run.enters <= super::super::prompt_delivery::ENTERS);
            }
            Typing::Interrupt => {
                let key = matches!(event, Event::Keys { class: KeyClass::Interrupt, .. });
                assert!(key || matches!(event, Event::Started { .. }), "a Ctrl+C that nobody pressed");
                assert_eq!(self.keys, Keys::Held, "it went through by itself");
            }
            Typing::DialogKey { dialog } => {
                assert_eq!(seen.dialog.as_ref(), Some(dialog));
                assert!(c.answer_dialogs.contains(dialog) && dialog != "permission");
            }
        }
    }

    /// Checks that Claude waits for a prompt when it is ended.
    fn is_at_rest(&self) {
        let run = &self.run;
        let may_be_missed = run.status == Some(SessionsFileStatus::Busy) && run.hooks && !run.background;
        let claude = self.sup.policy().agent == ProgramKind::Claude && self.sup.policy().rules >= RULES;
        assert!(
            !claude || !may_be_missed || run.screen.shows_idle_prompt(),
            "a turn that no hook has told of is ended: {run:?}"
        );
    }

    fn after(&mut self, event: &Event, before: &Phase, out: &[Action]) {
        let phase = self.sup.phase();
        LimitLaws::check(&self.sup, before, out);
        self.failed_save.take_if(|(_, level)| self.sup.level() > *level);
        match event {
            Event::SaveFailed { .. } | Event::DirectoryGone { .. }
                if matches!(before, Phase::Saving { .. }) && self.sup.policy().rules == RULES =>
            {
                let level = self.sup.level();
                self.failed_save = (!matches!(phase, Phase::Saving { .. })).then_some((self.now, level));
            }
            _ => {}
        }
        match event {
            Event::Hook { id, .. } if !matches!(before, Phase::Closed { .. }) => {
                let answered = !self.open.contains(id) || self.held.contains(id);
                assert!(answered, "{id} is neither answered nor told to wait");
            }
            Event::Tick => {
                let next = self.sup.next_deadline();
                assert!(
                    next.is_none_or(|at| at > self.now),
                    "due again at {next:?} after a tick at {:?}: {phase:?}",
                    self.now
                );
            }
            _ => {}
        }
        if ignored(event, out) {
            assert_eq!(out.len(), 1, "a signal that is left alone leads to {out:?}");
        }
        match phase {
            Phase::Waiting { .. } | Phase::Saving { .. } => assert!(self.request_open && !self.delivery_open),
            Phase::Delivering { .. } => assert!(self.delivery_open && !self.request_open),
            Phase::Running | Phase::Cooling { .. } | Phase::Spawning { .. } => {
                assert!(
                    !self.request_open && !self.delivery_open,
                    "nobody heard what became of it: {phase:?}"
                );
            }
            _ => {}
        }
        self.prompts.check(phase);
        if let Phase::Saving { point: SafePoint::Idle, .. } = phase
            && !matches!(before, Phase::Saving { .. })
        {
            self.is_at_rest();
        }
        let held = self.keys == Keys::Held;
        match phase {
            Phase::Cold | Phase::Running | Phase::Waiting { .. } => {
                assert!(!held || self.run.sends.is_some(), "keys are kept in {phase:?}");
            }
            Phase::Saving { .. }
            | Phase::Cooling { .. }
            | Phase::Stopping { why: StopFor::Restart { .. }, .. } => {
                assert!(held, "keys are not kept in {phase:?}");
            }
            Phase::Spawning { .. } => assert!(held || self.sup.run() == 1),
            Phase::Delivering(PromptDelivery { obstacle, .. }) => {
                assert!(held || obstacle.is_some(), "{phase:?}")
            }
            Phase::Stopping { .. } | Phase::Closed { .. } => {}
        }
        let alive = self.child == Child::Lives;
        assert_eq!(self.sup.pid().is_some(), alive, "the supervisor knows whether a child lives");
        match phase {
            Phase::Cold | Phase::Spawning { .. } | Phase::Cooling { .. } | Phase::Closed { .. } => {
                assert!(!alive)
            }
            _ => assert!(alive),
        }
    }

    /// Only time passes, and SIGKILL ends the child: every phase but a quiet one ends, and no hook is held
    /// forever.
    pub fn let_time_pass(&mut self) {
        for _ in 0..400 {
            match self.sup.phase() {
                Phase::Spawning { .. } => {
                    let next = conversation(900_000 + self.sup.run());
                    self.feed(&Event::Started { run: self.sup.run(), pid: 1, next: Some(next) });
                }
                Phase::Stopping { step: StopStep::Kill, .. } => {
                    assert!(self.run.killed);
                    let run = self.sup.run();
                    self.feed(&Event::Child { run, end: ProcessEnd::Signaled(Signal::KILL) });
                }
                Phase::Cooling { held, .. } if !held.is_empty() => return,
                Phase::Running | Phase::Waiting { .. } | Phase::Cold | Phase::Closed { .. }
                    if self.sup.next_deadline().is_none() =>
                {
                    let quiet = self.held.is_empty() || matches!(self.sup.phase(), Phase::Closed { .. });
                    assert!(quiet, "{:?} are held for ever in {:?}", self.held, self.sup.phase());
                    return;
                }
                phase => {
                    let at =
                        self.sup.next_deadline().unwrap_or_else(|| panic!("nothing leads out of {phase:?}"));
                    self.now = self.now.max(at);
                    self.feed(&Event::Tick);
                }
            }
        }
        panic!("it never comes to rest: {:?}", self.sup.phase());
    }
}
