//! A supervisor under test: events go in at stamps, and each action comes out as a word.

use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::{Config, DurationMs};
use crate::core::handoff::operation::Cut;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::supervisor::action::{Action, DecisionKind, HookAnswer, Reply, Typing};
use crate::core::supervisor::event::{
    Asker, Event, HookEvent, HookFacts, KeyClass, PromptOf, RestartOrder, SessionsFileStatus, StartSource,
};
use crate::core::supervisor::phase::{EndCause, Phase, StartKind};
use crate::core::supervisor::restart_signal::RestartSignal;
use crate::core::supervisor::screen_facts::{PromptBox, ScreenFacts};
use crate::core::supervisor::{Policy, ProgramKind, RULES, Supervisor};
use crate::core::time::Stamp;

pub(in crate::core::supervisor) const TERM_CODE: ProcessEnd = ProcessEnd::Exited(143);
pub(in crate::core::supervisor) const WINDOW: u64 = 200_000;

/// The `n`-th conversation id of a test.
pub(in crate::core::supervisor) fn conversation(n: u32) -> ConversationId {
    format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0").parse().unwrap()
}

/// The `n`-th handoff id of a test.
pub(in crate::core::supervisor) fn handoff(n: u32) -> HandoffId {
    format!("HO-20261120-142950-{n:08x}").parse().unwrap()
}

pub(in crate::core::supervisor) fn claude() -> Policy {
    Policy {
        agent: ProgramKind::Claude,
        hooks: true,
        notes: false,
        submit_when_idle: false,
        sessions_file: false,
        no_handover: None,
        rules: RULES,
        config: Config::default(),
    }
}

pub(in crate::core::supervisor) fn plain() -> Policy {
    Policy {
        agent: ProgramKind::Plain,
        hooks: false,
        notes: false,
        submit_when_idle: false,
        sessions_file: false,
        no_handover: None,
        rules: RULES,
        config: Config::default(),
    }
}

pub(in crate::core::supervisor) fn hook(event: HookEvent, of: &ConversationId) -> HookFacts {
    HookFacts {
        event,
        conversation: Some(of.clone()),
        agent: false,
        source: None,
        transcript: None,
        prompt: None,
        background: 0,
        carries: None,
        started: 0,
        lines: false,
        mode: None,
        asks: None,
        answered: None,
        auto: false,
        compaction: None,
        error: None,
    }
}

/// One word per action, so that a test reads like a story.
pub(in crate::core::supervisor) fn word(action: &Action) -> String {
    match action {
        Action::Spawn { run, start, .. } => format!("spawn {run} {start:?}"),
        Action::Signal { signal, to } => format!("{} {to:?}", signal.name()),
        Action::HoldHook { id } => format!("hold {id}"),
        Action::AnswerHook { id, with: HookAnswer::Nothing } => format!("let {id} go"),
        Action::AnswerHook { id, with: HookAnswer::Brief { .. } } => format!("brief {id}"),
        Action::AnswerHook { id, with: HookAnswer::Block { .. } } => format!("block {id}"),
        Action::AnswerHook { id, with: HookAnswer::Tell { what } } => format!("tell {what:?} {id}"),
        Action::AnswerHook { id, with: HookAnswer::StopTurn { .. } } => format!("stop turn {id}"),
        Action::AnswerHook { id, with: HookAnswer::Message { .. } } => format!("message {id}"),
        Action::AwaitLines { id, want, .. } => format!("await {want:?} {id}"),
        Action::Type { typing: Typing::Prompt { has_brief, .. } } => format!("paste brief={has_brief}"),
        Action::Type { typing: Typing::Carried { .. } } => "paste prompt".to_owned(),
        Action::ReturnPrompt { submit } => format!("return prompt{}", if *submit { "" } else { " as draft" }),
        Action::TakeQueued => "take queued".to_owned(),
        Action::TakeArgument => "take argument".to_owned(),
        Action::DropPrompt => "drop prompt".to_owned(),
        Action::Type { typing: Typing::Enter } => "enter".to_owned(),
        Action::Type { typing: Typing::Interrupt } => "ctrl-c".to_owned(),
        Action::Type { typing: Typing::DialogKey { dialog } } => format!("key for {dialog}"),
        Action::Type { typing: Typing::Text { .. } } => "paste".to_owned(),
        Action::Type { typing: Typing::GoOn { after } } => format!("go on after {after:?}"),
        Action::Reply { with: Reply::Sent { result }, .. } => format!("{result:?}").to_lowercase(),
        Action::ReleaseKeys { draft } => format!("release keys{}", if *draft { " draft" } else { "" }),
        Action::HoldKeys => "hold keys".to_owned(),
        Action::PassKeys => "pass keys".to_owned(),
        Action::Reply { with: Reply::Accepted, .. } => "accepted".to_owned(),
        Action::Reply { with: Reply::Refused { .. }, .. } => "refused".to_owned(),
        Action::Reply { with: Reply::Back { .. }, .. } => "back".to_owned(),
        Action::Reply { with: Reply::Busy, .. } => "busy".to_owned(),
        Action::Reply { with: Reply::Ended, .. } => "already ended".to_owned(),
        Action::Decide { decision } => {
            serde_json::to_value(decision.kind).unwrap().as_str().unwrap().to_owned()
        }
        Action::Close { cause, code } => format!("close {cause:?} {code}"),
        Action::Notice { .. } => "notice".to_owned(),
        Action::CollectTree => "collect".to_owned(),
        Action::ReapTree => "reap".to_owned(),
        Action::CheckSettings => "check settings".to_owned(),
        Action::Save { .. } => "save".to_owned(),
        Action::Consume { .. } => "consume".to_owned(),
        Action::Clear { .. } => "clear".to_owned(),
        Action::ConsumeSignal { .. } => "consume signal".to_owned(),
        Action::Follow { .. } => "follow".to_owned(),
        Action::WaitSafePoint { .. } => "wait".to_owned(),
        Action::KeepAsk { answer, .. } => format!("keep {answer:?}"),
        Action::KeepHandoffs { .. } => "keep handoffs".to_owned(),
        Action::Suspend => "suspend".to_owned(),
    }
}

/// A session under test: feeds events at stamps and keeps the resulting actions.
pub(in crate::core::supervisor) struct Session {
    pub sup: Supervisor,
    pub now: Stamp,
    /// The actions of the last event.
    pub last: Vec<Action>,
    /// Every action so far.
    pub all: Vec<Action>,
    pub hooks: u64,
    pub ids: u32,
}

impl Session {
    pub fn new(policy: Policy) -> Self {
        Session {
            sup: Supervisor::new(policy),
            now: Stamp(0),
            last: Vec::new(),
            all: Vec::new(),
            hooks: 0,
            ids: 1,
        }
    }

    /// A session after its start event.
    pub fn started(policy: Policy) -> Self {
        Session::started_with(policy, false)
    }

    /// [`Session::started`]; `fresh`: with arguments that resume nothing and contain no prompt.
    pub fn started_with(policy: Policy, fresh: bool) -> Self {
        let mut s = Session::new(policy);
        let claude = s.sup.policy().agent == ProgramKind::Claude;
        s.feed(Event::Start {
            conversation: claude.then(|| conversation(1)),
            next: conversation(2),
            handoff: None,
            fresh,
            prompt: None,
            command: false,
            before: None,
        });
        s.exec();
        s
    }

    /// A session that was started with a first prompt.
    pub fn given(policy: Policy, prompt: CarryMethod) -> Self {
        let mut s = Session::new(policy);
        s.feed(Event::Start {
            conversation: Some(conversation(1)),
            next: conversation(2),
            handoff: None,
            fresh: false,
            prompt: Some(prompt),
            command: false,
            before: None,
        });
        s.exec();
        s
    }

    /// Claude at its empty prompt, according to hooks, sessions file and screen.
    pub fn silent(policy: Policy) -> Self {
        let mut s = Session::started(policy);
        s.boot(StartSource::Startup);
        s.after(20_000);
        s
    }

    /// [`Session::silent`] in a conversation that has a transcript.
    pub fn idle(policy: Policy) -> Self {
        let mut s = Session::silent(policy);
        s.transcript();
        s
    }

    /// Something was said; the usage is not known.
    pub fn transcript(&mut self) {
        let conversation = self.current();
        self.feed(Event::Usage { conversation, tokens: 0, window: WINDOW, bytes: 1 });
    }

    /// Claude in the middle of a turn.
    pub fn busy(policy: Policy) -> Self {
        let mut s = Session::idle(policy);
        s.prompt(PromptOf::Person);
        s.status(SessionsFileStatus::Busy);
        s
    }

    /// Feeds an event, and checks what must always hold.
    pub fn feed(&mut self, event: Event) -> String {
        self.last.clear();
        let tick = event == Event::Tick;
        self.sup.step(self.now, &event, &mut self.last);
        self.all.extend(self.last.iter().cloned());
        if tick {
            assert!(
                self.sup.next_deadline().is_none_or(|at| at > self.now),
                "a tick that is due again at once: {:?}",
                self.sup.phase()
            );
        }
        self.words()
    }

    pub fn words(&self) -> String {
        self.last.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// Feeds an event and compares its actions.
    pub fn expect(&mut self, event: Event, want: &str) {
        let got = self.feed(event.clone());
        assert_eq!(got, want, "{event:?} in {:?}", self.sup.phase());
    }

    pub fn after(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.after(ms);
        self
    }

    /// Lets time pass to the next deadline, which must exist.
    pub fn tick(&mut self) -> String {
        let at = self.sup.next_deadline().unwrap_or_else(|| panic!("no deadline in {:?}", self.sup.phase()));
        self.now = self.now.max(at);
        self.feed(Event::Tick)
    }

    /// Lets `ms` pass, with a tick whenever one is due.
    pub fn pass(&mut self, ms: u64) -> String {
        let end = self.now.after(ms);
        let mut all = Vec::new();
        while let Some(at) = self.sup.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let words = self.feed(Event::Tick);
            all.extend((!words.is_empty()).then_some(words));
        }
        self.now = end;
        all.join(", ")
    }

    pub fn exec(&mut self) -> String {
        self.ids += 1;
        let (run, next) = (self.sup.run(), conversation(self.ids));
        self.feed(Event::Started { run, pid: 4000 + i32::try_from(run).unwrap(), next: Some(next) })
    }

    /// A Claude's start: SessionStart, an idle sessions file, an empty box.
    pub fn boot(&mut self, source: StartSource) -> String {
        let mut all = self.session_start(source, None);
        all = [all, self.status(SessionsFileStatus::Idle), self.screen(PromptBox::Empty)].join("; ");
        all
    }

    pub fn session_start(&mut self, source: StartSource, of: Option<ConversationId>) -> String {
        let of = of.unwrap_or_else(|| self.current());
        self.hook(HookFacts { source: Some(source), ..hook(HookEvent::SessionStart, &of) })
    }

    pub fn current(&self) -> ConversationId {
        self.sup.conversation().cloned().unwrap_or_else(|| conversation(1))
    }

    pub fn hook(&mut self, hook: HookFacts) -> String {
        self.hooks += 1;
        self.feed(Event::Hook { id: self.hooks, hook })
    }

    /// A hook call of the current conversation.
    pub fn call(&mut self, event: HookEvent) -> String {
        let of = self.current();
        self.hook(hook(event, &of))
    }

    /// [`Session::call`] with transcript lines to wait for.
    pub fn call_with_lines(&mut self, event: HookEvent) -> String {
        let of = self.current();
        self.hook(HookFacts { lines: true, ..hook(event, &of) })
    }

    pub fn lines(&mut self) -> String {
        self.lines_in(Cut::Free)
    }

    /// The lines have arrived; `cut` says whether Claude's work may be interrupted.
    pub fn lines_in(&mut self, cut: Cut) -> String {
        let id = self.hooks;
        self.feed(Event::Lines { id, found: true, cut })
    }

    pub fn hook_gone(&mut self) -> String {
        let id = self.hooks;
        self.feed(Event::HookGone { id })
    }

    pub fn prompt(&mut self, of: PromptOf) -> String {
        let current = self.current();
        self.hook(HookFacts { prompt: Some(of), ..hook(HookEvent::UserPromptSubmit, &current) })
    }

    pub fn status(&mut self, status: SessionsFileStatus) -> String {
        self.feed(Event::Status { status, conversation: None, waiting_for: None })
    }

    pub fn screen(&mut self, prompt: PromptBox) -> String {
        self.feed(Event::Screen { facts: ScreenFacts { prompt, paste: true, ..ScreenFacts::default() } })
    }

    pub fn dialog(&mut self, name: &str) -> String {
        let facts = ScreenFacts { dialog: Some(name.to_owned()), paste: true, ..ScreenFacts::default() };
        self.feed(Event::Screen { facts })
    }

    pub fn usage(&mut self, percent: u64) -> String {
        let conversation = self.current();
        self.feed(Event::Usage {
            conversation,
            tokens: percent * WINDOW / 100,
            window: WINDOW,
            bytes: 1 << 20,
        })
    }

    pub fn key(&mut self, class: KeyClass) -> String {
        self.feed(Event::Keys { client: 1, class, bytes: 1 })
    }

    pub fn ctrl_c(&mut self) -> String {
        self.key(KeyClass::Interrupt)
    }

    pub fn end(&mut self, end: ProcessEnd) -> String {
        let run = self.sup.run();
        self.feed(Event::Child { run, end })
    }

    pub fn restart(&mut self, by: Asker) -> String {
        self.feed(Event::Restart { id: 900, by, order: RestartOrder::USUAL })
    }

    pub fn restart_now(&mut self, by: Asker) -> String {
        self.feed(Event::Restart { id: 900, by, order: RestartOrder { at_once: true, handoff: true } })
    }

    pub fn settings(&mut self) -> String {
        self.feed(Event::Settings { changed: Vec::new() })
    }

    pub fn saved(&mut self, n: u32) -> String {
        self.feed(Event::Saved { handoff: handoff(n), mark: None })
    }

    /// From an idle Claude to one being stopped for a restart, with handoff 1 on disk.
    pub fn stopping(policy: Policy) -> Self {
        let mut s = Session::idle(policy);
        s.restart(Asker::Person);
        s.saved(1);
        assert_eq!(s.phase(), "stopping");
        s
    }

    /// To a fresh run with a delivery under way and nothing drawn yet.
    pub fn delivering(policy: Policy) -> Self {
        let mut s = Session::stopping(policy);
        s.end(TERM_CODE);
        s.exec();
        assert_eq!(s.phase(), "delivering");
        s
    }

    /// [`Session::delivering`] for a Claude without hopty's hooks.
    pub fn delivering_without_hooks(policy: Policy) -> Self {
        let mut s = Session::started(policy);
        s.status(SessionsFileStatus::Idle);
        s.transcript();
        s.restart(Asker::Person);
        s.saved(1);
        s.end(TERM_CODE);
        s.exec();
        assert_eq!(s.phase(), "delivering");
        s
    }

    /// To a crashed run that will be resumed.
    pub fn cooling(policy: Policy) -> Self {
        let mut s = Session::busy(policy);
        s.end(ProcessEnd::Exited(1));
        assert_eq!(s.phase(), "cooling");
        s
    }

    pub fn phase(&self) -> &'static str {
        self.sup.phase().word()
    }

    pub fn cause(&self) -> Option<EndCause> {
        match self.sup.phase() {
            Phase::Closed { cause, .. } => Some(*cause),
            _ => None,
        }
    }

    /// The sentences of the last event's decisions.
    pub fn sentences(&self) -> String {
        let decisions = self.last.iter().filter_map(|a| match a {
            Action::Decide { decision } => Some(decision.sentence.as_str()),
            _ => None,
        });
        decisions.collect::<Vec<_>>().join(" ")
    }

    pub fn count(&self, wanted: &str) -> usize {
        self.all.iter().filter(|a| word(a) == wanted).count()
    }

    pub fn decided(&self, kind: DecisionKind) -> bool {
        self.all.iter().any(|a| matches!(a, Action::Decide { decision } if decision.kind == kind))
    }

    pub fn spawned(&self, run: u32, start: StartKind) -> bool {
        self.all
            .iter()
            .any(|a| matches!(a, Action::Spawn { run: r, start: s, .. } if (*r, *s) == (run, start)))
    }

    pub fn signal_file(&mut self, file: RestartSignal, sessions: u32) -> String {
        self.feed(Event::Signal { file, fresh: true, sessions, dir_ok: true, dir: None })
    }
}

pub(in crate::core::supervisor) fn named(n: u32) -> RestartSignal {
    RestartSignal::Conversation { conversation: conversation(n), dir: Some("/home/u/proj".to_owned()) }
}

pub(in crate::core::supervisor) fn signal(n: i32) -> ProcessEnd {
    ProcessEnd::Signaled(Signal(n))
}

pub(in crate::core::supervisor) fn span(ms: u64) -> DurationMs {
    DurationMs::from_ms(ms)
}
