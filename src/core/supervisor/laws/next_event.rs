//! Chooses the next event: mostly one that fits the phase, so that every phase is reached, and sometimes any
//! other.

use super::super::ProgramKind;
use super::super::event::{
    Asker, AttachKind, Event, HookEvent, HookFacts, KeyClass, PromptOf, RestartOrder, SessionsFileStatus,
    StartSource,
};
use super::super::exit_table::tests::ENDS;
use super::super::handover_question::AskAnswer;
use super::super::limit_and_error_wait::LimitKind;
use super::super::phase::Phase;
use super::super::phase::SaveStep;
use super::super::prompt_delivery::PromptDelivery;
use super::super::screen_facts::{PromptBox, ScreenFacts};
use super::super::tests::{conversation, handoff, hook, named};
use super::world::World;
use crate::core::claude::carry_over::CarryMethod;
use crate::core::handoff::operation::Cut;
use crate::core::handoff::work_progress::Mark;
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::supervisor::restart_signal::{NamedDir, RestartSignal};

const PAUSES: [u64; 16] = [0, 0, 1, 5, 20, 60, 110, 200, 300, 500, 900, 1500, 2500, 6000, 30_000, 125_000];

/// The random choices for one event: what, its argument, the pause before it, and how unusual it is.
#[derive(Clone, Copy)]
pub(super) struct Dice {
    what: u32,
    with: u32,
    pause: u32,
    wild: u32,
}

impl Dice {
    pub fn new(bits: u32) -> Self {
        Dice { what: bits & 0xff, with: bits >> 8 & 0xff, pause: bits >> 16 & 0xf, wild: bits >> 20 & 0xfff }
    }
}

impl World {
    /// Lets the pause pass and creates the event.
    pub fn next_event(&mut self, dice: Dice) -> Event {
        let after_ctrl_c = std::mem::take(&mut self.ctrl_c_was_last);
        let mut pause = PAUSES[dice.pause as usize];
        let event = if after_ctrl_c && dice.wild.is_multiple_of(3) {
            pause = pause.min(1000);
            self.end(dice)
        } else if dice.wild % 10 == 9 {
            self.anything(dice)
        } else {
            self.fitting(dice)
        };
        self.now = self.now.after(pause);
        if event == Event::Tick
            && let Some(at) = self.sup.next_deadline().filter(|_| !dice.wild.is_multiple_of(4))
        {
            self.now = self.now.max(at);
        }
        self.ctrl_c_was_last = matches!(event, Event::Keys { class: KeyClass::Interrupt, .. });
        event
    }

    fn fitting(&mut self, dice: Dice) -> Event {
        let plain = self.sup.policy().agent == ProgramKind::Plain;
        match self.sup.phase().clone() {
            Phase::Cold => match dice.what {
                0..200 => self.start(dice),
                200..228 => ctrl_c(),
                _ => self.end(dice),
            },
            Phase::Spawning { .. } => match dice.what {
                0..20 if self.sup.run() > 1 => Event::Settings { changed: vec!["hooks".to_owned()] },
                0..204 => self.started(),
                204..214 => self.end(dice),
                214..232 => ctrl_c(),
                232..250 => stop(dice),
                _ => Event::Passed { signal: a_signal(dice) },
            },
            Phase::Running if plain => match dice.what {
                0..80 => self.restart(dice),
                80..110 => self.end(dice),
                110..140 => ctrl_c(),
                140..160 => stop(dice),
                _ => self.anything(dice),
            },
            // hopty's own prompt is being submitted: it is in the box, and a hook reports it.
            Phase::Running if self.sup.sends_own() && dice.wild & 16 == 0 => match dice.what {
                0..100 => Event::Screen {
                    facts: ScreenFacts { prompt: PromptBox::Ours, paste: true, ..ScreenFacts::default() },
                },
                100..200 => self.call(HookEvent::UserPromptSubmit, Dice { with: 3, ..dice }),
                200..230 => Event::Tick,
                _ => self.anything(dice),
            },
            // A limit wait: time passes, the box is empty, then hopty's own prompt.
            Phase::Running if self.sup.in_limit_wait() && dice.wild & 16 == 0 => match dice.what {
                0..90 => Event::Tick,
                90..140 => Event::Screen {
                    facts: ScreenFacts { prompt: PromptBox::Empty, paste: true, ..ScreenFacts::default() },
                },
                140..190 => Event::Screen {
                    facts: ScreenFacts { prompt: PromptBox::Ours, paste: true, ..ScreenFacts::default() },
                },
                190..215 => self.call(HookEvent::UserPromptSubmit, Dice { with: 3, ..dice }),
                215..225 => self.call(HookEvent::StopFailure, dice),
                225..235 => self.usage_limit(dice),
                _ => self.anything(dice),
            },
            // A person attaches and types: a hand-over at the end of a turn then waits for their prompt.
            Phase::Running if dice.wild & 64 == 0 && dice.what < 40 => match dice.what {
                0..16 => Event::Attached { client: 1, how: AttachKind::Joins },
                _ => Event::Keys { client: 1, class: KeyClass::Typed, bytes: 1 },
            },
            Phase::Running => match dice.what {
                0..56 => self.usage(60 + dice.with % 40),
                56..90 => self.call(HookEvent::UserPromptSubmit, dice),
                90..120 => self.call(HookEvent::PostToolBatch, dice),
                120..144 => self.call(HookEvent::Stop, dice),
                144..168 => self.lines(),
                168..184 => self.restart(dice),
                184..192 => self.signal_file(dice),
                192..210 => a_status(dice),
                210..230 => self.answered(),
                230..235 => ctrl_c(),
                235..238 => self.end(dice),
                238..241 => stop(dice),
                241..245 => self.submit(dice),
                245..247 => self.call(HookEvent::StopFailure, dice),
                247 => self.usage_limit(dice),
                248..250 => self.back(dice),
                250..253 => Event::Queued { prompts: 1, carries: a_way(dice) },
                _ => self.screen(dice),
            },
            Phase::Waiting { request } if request.for_prompt.is_some() && dice.wild & 32 == 0 => {
                match dice.what {
                    0..160 => self.call(HookEvent::UserPromptSubmit, Dice { with: 1, ..dice }),
                    160..200 => Event::Tick,
                    200..220 => Event::Detached { client: 1, why: "asked".to_owned() },
                    _ => self.anything(dice),
                }
            }
            Phase::Waiting { .. } => match dice.what {
                0..50 => self.call(HookEvent::Stop, dice),
                50..90 => self.call(HookEvent::PostToolBatch, dice),
                90..120 => self.lines(),
                120..160 => a_status(dice),
                160..190 => self.screen(dice),
                190..210 => Event::Tick,
                210..222 => ctrl_c(),
                222..230 => self.end(dice),
                230..240 => self.restart(dice),
                240..246 => self.session_start(dice),
                246..250 => stop(dice),
                _ => self.usage(95),
            },
            Phase::Saving { step, .. } => match (dice.what, step) {
                (0..140, SaveStep::Settings) => Event::Settings { changed: Vec::new() },
                (140..148, _) => Event::Settings { changed: vec!["hooks".to_owned()] },
                (148..150, _) => Event::DirectoryGone { dir: "/p".to_owned() },
                (0..140, SaveStep::Results | SaveStep::Prompt) => self.lines(),
                (0..140, SaveStep::Writing) => self.save_answer(dice),
                (150..160, _) => self.gone(dice),
                (160..175, _) => Event::Tick,
                (175..195, _) => ctrl_c(),
                (195..207, _) => self.end(dice),
                (207..213, _) => self.session_start(dice),
                (213..225, _) => self.call(HookEvent::UserPromptSubmit, dice),
                (225..237, _) => self.call(HookEvent::PostToolBatch, dice),
                (237..241, _) => stop(dice),
                (241..249, _) => Event::Queued { prompts: dice.with % 2, carries: a_way(dice) },
                _ => self.anything(dice),
            },
            Phase::Stopping { .. } => match dice.what {
                0..70 => self.end(dice),
                70..110 => {
                    Event::Status { status: SessionsFileStatus::Idle, conversation: None, waiting_for: None }
                }
                110..150 => Event::Tick,
                150..190 => ctrl_c(),
                190..205 => stop(dice),
                205..215 => self.save_answer(dice),
                215..225 => self.session_start(dice),
                225..235 => Event::Passed { signal: a_signal(dice) },
                235..245 => self.call(HookEvent::UserPromptSubmit, dice),
                _ => self.anything(dice),
            },
            Phase::Cooling { held, .. } if !held.is_empty() && dice.what < 120 => self.restart(dice),
            Phase::Cooling { .. } => match dice.what {
                0..160 => Event::Tick,
                160..190 => self.end(dice),
                190..206 => ctrl_c(),
                206..210 => stop(dice),
                _ => self.anything(dice),
            },
            Phase::Delivering(PromptDelivery { submission, .. }) => match dice.what {
                0..60 if submission.is_ready() => self.session_start(dice),
                0..20 => self.session_start(dice),
                20..60 => self.call(HookEvent::UserPromptSubmit, Dice { with: 0, ..dice }),
                60..100 => {
                    let box_now = if submission.is_ready() { 2 } else { 5 };
                    self.screen(Dice { with: box_now, ..dice })
                }
                100..150 => self.screen(dice),
                150..170 => a_status(dice),
                170..196 => Event::Tick,
                196..210 => self.call(HookEvent::UserPromptSubmit, dice),
                210..216 => Event::Prompted { conversation: self.current() },
                216..232 => ctrl_c(),
                232..246 => self.end(dice),
                246..248 => stop(dice),
                _ => self.anything(dice),
            },
            Phase::Closed { .. } => self.anything(dice),
        }
    }

    fn anything(&mut self, dice: Dice) -> Event {
        match dice.what % 43 {
            0 => self.start(dice),
            1 => Event::Started { run: dice.with % 4, pid: 7, next: Some(self.new_conversation()) },
            2 => Event::CouldNotStart { run: dice.with % 4, code: 127, gone: None },
            3 => Event::Child { run: dice.with % 4, end: ENDS[dice.wild as usize % ENDS.len()] },
            4 => Event::Keys { client: 1 + dice.with % 2, class: KeyClass::Typed, bytes: 3 },
            5 => Event::Keys { client: 2, class: KeyClass::Paste, bytes: 300 },
            6 => Event::Keys { client: 1, class: KeyClass::Report, bytes: 9 },
            7 => Event::Passed { signal: a_signal(dice) },
            8 => self.call(HookEvent::SubagentStop, dice),
            9 => self.call(HookEvent::PreToolUse, dice),
            10 => self.call(HookEvent::StopFailure, dice),
            11 => self.call(HookEvent::SessionEnd, dice),
            12 => self.session_start(dice),
            13 => self.lines(),
            14 => self.gone(dice),
            15 => self.usage(dice.with % 110),
            16 => Event::TurnEnded { conversation: self.current() },
            17 => Event::Prompted { conversation: self.current() },
            18 => self.answered(),
            19 => Event::Queued { prompts: dice.with % 3, carries: a_way(dice) },
            20 => self.screen(dice),
            21 => a_status(dice),
            22 => self.signal_file(dice),
            23 => self.restart(dice),
            24 => self.save_answer(dice),
            25 => Event::Settings { changed: Vec::new() },
            26 => {
                let how =
                    [AttachKind::Joins, AttachKind::Starts, AttachKind::Watches][(dice.wild % 3) as usize];
                Event::Attached { client: dice.with % 3, how }
            }
            27 => Event::Detached { client: dice.with % 3, why: "hangup".to_owned() },
            29 => Event::TurnBegan { conversation: self.current() },
            30 => self.call(HookEvent::PostToolUse, dice),
            31 => Event::Limited { what: "hooks are switched off".to_owned() },
            32 => self.submit(dice),
            33 => Event::Taken { queued: dice.wild.is_multiple_of(2) },
            34 => self.call(HookEvent::PreCompact, dice),
            35 => self.call(HookEvent::PostCompact, dice),
            36 => Event::Ask { answer: an_answer(dice) },
            37 => Event::AskWas { answer: an_answer(dice), left: u64::from(dice.with) * 100 },
            38 => self.usage_limit(dice),
            39 => Event::Reaped { run: dice.with % 4, processes: 1 + dice.with % 3 },
            28 => Event::Degraded { part: "screen model".to_owned() },
            40 => self.back(dice),
            41 => Event::Choice { dialog: "permission".to_owned(), option: 1 },
            _ => Event::Tick,
        }
    }

    fn submit(&mut self, dice: Dice) -> Event {
        self.hooks += 1;
        Event::Submit { id: 1_000_000 + self.hooks, command: dice.wild.is_multiple_of(5) }
    }

    fn usage_limit(&self, dice: Dice) -> Event {
        let limit = [LimitKind::FiveHour, LimitKind::SevenDay][dice.with as usize % 2];
        Event::UsageLimit {
            conversation: self.current(),
            limit,
            left: u64::from(dice.with) * 500,
            resets: u64::from(dice.wild % 3),
        }
    }

    fn start(&mut self, dice: Dice) -> Event {
        let claude = self.sup.policy().agent == ProgramKind::Claude;
        let pending = (claude && dice.with.is_multiple_of(8)).then(|| handoff(0));
        if self.sup.phase() == &Phase::Cold {
            self.known.extend(pending.clone());
        }
        let fresh = dice.with.is_multiple_of(2);
        let prompt = [None, Some(CarryMethod::Typed), Some(CarryMethod::Argument)][dice.wild as usize % 3];
        let prompt = prompt.filter(|_| !fresh && claude);
        Event::Start {
            conversation: claude.then(|| conversation(1)),
            next: self.new_conversation(),
            handoff: pending,
            fresh,
            prompt,
            command: claude && !fresh && prompt.is_none() && dice.wild.is_multiple_of(2),
            before: None,
        }
    }

    fn started(&mut self) -> Event {
        Event::Started { run: self.sup.run(), pid: 4242, next: Some(self.new_conversation()) }
    }

    /// The end of the child; while exec is under way, its failure.
    fn end(&mut self, dice: Dice) -> Event {
        let (run, end) = (self.sup.run(), ENDS[dice.wild as usize / 4 % ENDS.len()]);
        match self.sup.phase() {
            Phase::Spawning { .. } if matches!(end, ProcessEnd::Exited(_)) => {
                Event::CouldNotStart { run, code: end.code(), gone: None }
            }
            _ => Event::Child { run, end },
        }
    }

    fn call(&mut self, event: HookEvent, dice: Dice) -> Event {
        let of = if dice.wild % 32 == 1 { conversation(99) } else { self.current() };
        let mut hook =
            HookFacts { agent: dice.wild % 16 == 2, lines: dice.with & 1 == 1, ..hook(event, &of) };
        match event {
            HookEvent::UserPromptSubmit => {
                hook.prompt = Some(
                    [PromptOf::Ours, PromptOf::Person, PromptOf::Claude, PromptOf::Sent]
                        [dice.with as usize % 4],
                );
                hook.carries = a_way(dice);
            }
            HookEvent::StopFailure => {
                let errors =
                    ["server_error", "rate_limit", "unknown", "authentication_failed", "invalid_request"];
                hook.error = Some(errors[dice.with as usize % errors.len()].to_owned());
            }
            HookEvent::Stop => hook.background = u32::from(dice.with.is_multiple_of(5)),
            HookEvent::PreCompact => hook.auto = !dice.with.is_multiple_of(4),
            HookEvent::PostToolBatch => {
                hook.started = u32::from(dice.with.is_multiple_of(7));
                hook.answered = dice.wild.is_multiple_of(9).then(|| an_answer(dice));
            }
            _ => {}
        }
        self.hook_call(hook)
    }

    fn session_start(&mut self, dice: Dice) -> Event {
        let source = match dice.with % 8 {
            0 => StartSource::Clear,
            1 => StartSource::Resume,
            2 => StartSource::Compact,
            _ => StartSource::Startup,
        };
        let new = matches!(source, StartSource::Clear | StartSource::Resume);
        let of = if new { self.new_conversation() } else { self.current() };
        self.hook_call(HookFacts {
            source: Some(source),
            mode: Some("plan".to_owned()),
            ..hook(HookEvent::SessionStart, &of)
        })
    }

    fn hook_call(&mut self, hook: HookFacts) -> Event {
        self.hooks += 1;
        Event::Hook { id: self.hooks, hook }
    }

    fn lines(&mut self) -> Event {
        Event::Lines {
            id: self.held.iter().next_back().copied().unwrap_or(self.hooks),
            found: true,
            cut: if self.hooks.is_multiple_of(3) { Cut::Complete } else { Cut::Free },
        }
    }

    fn gone(&mut self, dice: Dice) -> Event {
        Event::HookGone { id: self.held.iter().next_back().copied().unwrap_or(u64::from(dice.with)) }
    }

    fn usage(&self, percent: u32) -> Event {
        Event::Usage {
            conversation: self.current(),
            tokens: u64::from(percent) * 2000,
            window: 200_000,
            bytes: 70_000,
        }
    }

    fn answered(&self) -> Event {
        Event::Answered { conversation: self.current() }
    }

    fn screen(&self, dice: Dice) -> Event {
        let prompt = match dice.with % 8 {
            0 => PromptBox::None,
            1 => PromptBox::Draft,
            2..5 => PromptBox::Empty,
            _ => PromptBox::Ours,
        };
        let dialog = (dice.wild % 8 == 3)
            .then(|| ["trust", "permission", "unknown", "limit"][dice.with as usize % 4].to_owned());
        let (paste, unread) = (dice.wild % 9 != 4, dice.wild % 7 == 5);
        let busy = (prompt != PromptBox::None && dice.wild & 32 == 0).then_some(dice.wild & 128 == 0);
        Event::Screen { facts: ScreenFacts { prompt, dialog, paste, unread, busy, ..ScreenFacts::default() } }
    }

    fn signal_file(&self, dice: Dice) -> Event {
        let bare = RestartSignal::Directory { dir: "/home/u".to_owned() };
        let (file, fresh, sessions) = match dice.with % 8 {
            0 => (RestartSignal::Malformed { reason: "it is empty".to_owned() }, true, 1),
            1 => (named(99), true, 1),
            2 => (bare, true, 2),
            3 => (bare, false, 1),
            4 => (bare, true, 1),
            5 => (RestartSignal::Conversation { conversation: self.current(), dir: None }, false, 1),
            _ => (RestartSignal::Conversation { conversation: self.current(), dir: None }, true, 3),
        };
        let dir = [None, Some(NamedDir::Own), Some(NamedDir::Trusted), Some(NamedDir::Untrusted)]
            [dice.wild as usize % 4];
        Event::Signal { file, fresh, sessions, dir_ok: dice.wild.is_multiple_of(2), dir }
    }

    fn restart(&self, dice: Dice) -> Event {
        let by = if dice.with & 1 == 0 { Asker::Person } else { Asker::Descendant };
        Event::Restart {
            id: 11,
            by,
            order: RestartOrder { at_once: dice.with & 6 == 0, handoff: dice.with & 24 != 0 },
        }
    }

    fn back(&self, dice: Dice) -> Event {
        Event::Back { id: 13, now: dice.with & 1 == 0 }
    }

    /// The worker answers a request; only an idle session gets an answer to a job that was not requested.
    fn save_answer(&mut self, dice: Dice) -> Event {
        let unasked = matches!(self.sup.phase(), Phase::Running) && dice.with.is_multiple_of(16);
        if self.saves_out == 0 && !unasked {
            return Event::Tick;
        }
        if dice.with.is_multiple_of(8) {
            return Event::SaveFailed { error: "no space left on device".to_owned() };
        }
        self.handoffs += 1;
        let id = handoff(self.handoffs);
        self.known.insert(id.clone());
        let mark = (!dice.wild.is_multiple_of(3)).then(|| Mark {
            next: u64::from(dice.wild % 2),
            tree: 0,
            files: u64::from(dice.wild % 5 == 4),
        });
        Event::Saved { handoff: id, mark }
    }

    fn new_conversation(&mut self) -> crate::core::ids::ConversationId {
        self.conversations += 1;
        conversation(self.conversations)
    }
}

fn ctrl_c() -> Event {
    Event::Keys { client: 1, class: KeyClass::Interrupt, bytes: 1 }
}

fn stop(dice: Dice) -> Event {
    match dice.with % 8 {
        3.. => Event::Tick,
        0 => Event::Stop { id: 12, kill: true },
        1 => Event::Stop { id: 12, kill: false },
        _ => Event::Shutdown,
    }
}

fn an_answer(dice: Dice) -> AskAnswer {
    [AskAnswer::Yes, AskAnswer::Snooze, AskAnswer::Dismiss][dice.wild as usize % 3]
}

fn a_way(dice: Dice) -> Option<CarryMethod> {
    [None, Some(CarryMethod::Typed), Some(CarryMethod::Argument)][dice.wild as usize % 3]
}

fn a_signal(dice: Dice) -> Signal {
    [Signal::TERM, Signal::INT, Signal(10), Signal(12)][dice.with as usize % 4]
}

fn a_status(dice: Dice) -> Event {
    let status = match dice.with % 8 {
        0..4 => SessionsFileStatus::Idle,
        4..6 => SessionsFileStatus::Busy,
        6 => SessionsFileStatus::Waiting,
        _ => SessionsFileStatus::Shell,
    };
    Event::Status { status, conversation: None, waiting_for: None }
}
