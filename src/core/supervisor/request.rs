//! From a wish to a safe point (DESIGN 6.1 and 6.2): who may ask, how long is waited, and what may stand in the way.

use super::action::{Action, DecisionKind, HookAnswer, Reply, RestartBy};
use super::event::{AgentStatus, Asker};
use super::phase::{Phase, Plan, Request, SafePoint};
use super::question::Ask;
use super::screen_facts::PromptBox;
use super::{Agent, Held, Supervisor, Turn};
use crate::core::compat::signals::{NamedDir, RestartFile};
use crate::core::handoff::operation::Cut;
use crate::core::time::Stamp;

/// How long the sessions file must say idle before it outweighs hooks that say busy (an interrupt fires no Stop), in ms.
const IDLE_STABLE_MS: u64 = 1000;
/// The same where the file has said nothing since the turn began, in ms: it lags behind hooks, but never that long.
const IDLE_STALE_MS: u64 = 5000;
/// After a key how long a person is taken to be writing, in ms: the screen does not show it yet, or Enter was the key.
const TYPING_MS: u64 = 1000;
/// How long before Claude would give up on a held hook it is let go, in ms.
const HOLD_MARGIN_MS: u64 = 2000;

/// A signal file, with what was found out about it.
pub(super) struct SignalSeen<'a> {
    pub file: &'a RestartFile,
    pub fresh: bool,
    pub sessions: u32,
    pub dir_ok: bool,
    pub dir: Option<NamedDir>,
}

impl Supervisor {
    pub(super) fn signal(&mut self, now: Stamp, seen: &SignalSeen<'_>, out: &mut Vec<Action>) {
        let SignalSeen { file, fresh, sessions, .. } = *seen;
        let ignored = match file {
            RestartFile::Malformed { reason } => Some(reason.clone()),
            _ if self.policy.agent != Agent::Claude => Some("this session does not run Claude".to_owned()),
            RestartFile::Named { conversation, .. } if !self.is_current(conversation) => {
                Some(format!("it names conversation {conversation}, which this session does not run"))
            }
            RestartFile::Bare { .. } if seen.dir.is_some_and(|dir| dir != NamedDir::Own) => {
                Some("its directory is not this session's".to_owned())
            }
            _ if !fresh => Some("it was written before this session began".to_owned()),
            RestartFile::Bare { .. } | RestartFile::Requested { .. } if sessions != 1 => {
                Some(format!("its directory means {sessions} sessions"))
            }
            _ => match &self.phase {
                Phase::Running | Phase::Waiting { .. } if self.policy.rules > 0 && self.over_limit(now) => Some(self.limit_reason()),
                Phase::Running | Phase::Waiting { .. } => None,
                Phase::Saving { .. } | Phase::Delivering { .. } | Phase::Stopping { .. } => {
                    Some("a hand-over is under way".to_owned())
                }
                _ => Some("the program is not running".to_owned()),
            },
        };
        if let Some(reason) = ignored {
            let sentence = format!("A restart signal was left alone: {reason}.");
            self.decide(out, DecisionKind::RestartIgnored, sentence, &[self.lines.event], |d| d.by = Some(RestartBy::Signal));
            return;
        }
        // It means this session: it hands over, but where it is.
        let elsewhere = match (file, seen.dir.and_then(NamedDir::refusal)) {
            (RestartFile::Named { dir: Some(dir), .. }, Some(why)) => {
                Some(format!("A restart signal asks for directory {dir}; the session stays in its own: {why}."))
            }
            _ => None,
        };
        let dir = match file {
            // Where it runs already, by whatever name.
            _ if seen.dir == Some(NamedDir::Own) => None,
            RestartFile::Named { dir, .. } if seen.dir_ok => dir.clone(),
            RestartFile::Bare { dir } if seen.dir_ok => Some(dir.clone()),
            _ => None,
        };
        out.push(Action::ConsumeSignal { file: file.place() });
        if let Some(text) = &elsewhere {
            out.push(Action::Notice { about: DecisionKind::RestartRequested, text: text.clone() });
        }
        if let Phase::Waiting { request } = &mut self.phase {
            request.explicit = true;
            request.handoff = true;
            request.dir = dir.or(request.dir.take());
            return;
        }
        let sentence = match file {
            RestartFile::Requested { checkpoint } => {
                format!("An orchestrator's signal asks for a handoff (checkpoint {checkpoint}); a hand-over was requested.")
            }
            _ => "A restart signal names this conversation; a hand-over was requested.".to_owned(),
        };
        let sentence = elsewhere.map_or(sentence.clone(), |text| format!("{sentence} {text}"));
        let request = Request { explicit: true, dir, ..self.new_request(now, RestartBy::Signal) };
        self.wait(now, request, sentence, self.lines.event, out);
        self.try_safe_point(now, out);
    }

    pub(super) fn restart(&mut self, now: Stamp, id: u64, by: Asker, at_once: bool, handoff: bool, out: &mut Vec<Action>) {
        let handoff = handoff && self.policy.agent == Agent::Claude;
        if let (Phase::Cooling { plan, held, .. }, Asker::Person) = (&self.phase, by)
            && !held.is_empty()
        {
            let plan = Plan { handoff: plan.handoff.clone().filter(|_| handoff), ..plan.clone() };
            out.push(Action::Reply { id, with: Reply::Accepted });
            self.count_restart(now);
            self.spawn(now, plan, out);
            return;
        }
        let refused = match &self.phase {
            Phase::Running | Phase::Waiting { .. } if self.over_limit(now) => Some(self.limit_reason()),
            Phase::Running | Phase::Waiting { .. } => None,
            Phase::Saving { .. } | Phase::Delivering { .. } => Some("a hand-over is under way".to_owned()),
            Phase::Stopping { .. } => Some("the program is being stopped".to_owned()),
            Phase::Cooling { held, .. } if !held.is_empty() => {
                Some("what runs code has changed, and a person must accept it".to_owned())
            }
            _ => Some("the program is not running".to_owned()),
        };
        if let Some(reason) = refused {
            out.push(Action::Reply { id, with: Reply::Refused { reason } });
            return;
        }
        out.push(Action::Reply { id, with: Reply::Accepted });
        let person = by == Asker::Person;
        if let Phase::Waiting { request } = &mut self.phase {
            request.explicit = true;
            request.person |= person;
            request.now |= at_once;
            request.forced |= at_once && person;
            request.handoff |= handoff;
            return;
        }
        let sentence = match by {
            Asker::Person => "A restart was asked for on the command line.",
            Asker::Descendant => "A restart was asked for from inside the session.",
        };
        let request = Request {
            explicit: true,
            person,
            now: at_once,
            // For Claude's own command it means the next tool boundary: its turn cannot end while the command waits.
            forced: at_once && person,
            handoff,
            dir: self.run.held_dir.take_if(|_| person),
            ..self.new_request(now, RestartBy::Command)
        };
        self.wait(now, request, sentence.to_owned(), self.lines.event, out);
    }

    pub(super) fn new_request(&self, now: Stamp, by: RestartBy) -> Request {
        let c = &self.policy.config.restart;
        Request {
            by,
            level: None,
            explicit: false,
            person: false,
            now: false,
            forced: false,
            handoff: true,
            dir: None,
            seq: self.lines.event,
            turn_until: now.after(c.turn_wait.ms()),
            work_until: now.after(c.work_wait.ms()),
            draft_until: None,
            note_until: None,
            for_prompt: None,
        }
    }

    pub(super) fn wait(&mut self, now: Stamp, request: Request, sentence: String, because: u64, out: &mut Vec<Action>) {
        let (by, level) = (request.by, request.level);
        self.decide(out, DecisionKind::RestartRequested, sentence, &[because], |d| {
            d.by = Some(by);
            d.level = level;
        });
        out.push(Action::WaitSafePoint { until: request.turn_until });
        self.conversation.rearm_at_stop = false;
        if matches!(self.conversation.ask, Ask::Due { .. } | Ask::Put { .. }) {
            self.conversation.ask = Ask::Silent;
        }
        self.enter(now, Phase::Waiting { request });
    }

    /// Takes the safe point that there is, if there is one.
    pub(super) fn try_safe_point(&mut self, now: Stamp, out: &mut Vec<Action>) {
        let Phase::Waiting { request } = self.phase.clone() else { return };
        if self.run.pid.is_none() || self.submit_is_typed(now) {
            return;
        }
        if self.stands_still() && !request.forced {
            if self.run.held.as_ref().is_some_and(|held| held.ready) {
                self.let_go(out);
            }
            return;
        }
        if self.is_completed(&request) {
            self.cancel_request(now, "the task is completed", out);
            return;
        }
        if let Some(held) = self.run.held.clone() {
            if !held.ready {
                return;
            }
            let hold_over = now.since(held.since) + HOLD_MARGIN_MS >= self.policy.config.hooks.hold.ms();
            let work_waits = self.work_waits(now, &request);
            if held.stop {
                // What still runs, and a person's draft, are worth the wait, but not behind a hook.
                if work_waits || (!request.forced && self.person_writes(now)) {
                    self.let_go(out);
                } else if self.waits_for_prompt(now, &request) && !self.next_is_queued() {
                    self.wait_for_prompt(now, out);
                    self.let_go(out);
                } else if self.may_ask_for_note(&request) {
                    self.ask_for_note(now, &held, out);
                } else {
                    self.begin_saving(now, request, SafePoint::Stop { hook: held.id }, out);
                }
            } else if request.now || now >= request.turn_until {
                if work_waits && !hold_over {
                    return;
                }
                if self.completes_first(now, &request, &held) {
                    self.let_go(out);
                } else if self.may_ask_for_note(&request) {
                    self.ask_for_note(now, &held, out);
                } else if !request.now && request.note_until.is_some_and(|until| now < until) {
                    self.let_go(out);
                } else {
                    self.begin_saving(now, request, SafePoint::Batch { hook: held.id }, out);
                }
            } else if self.asks_in_loop(&request) {
                self.ask_in_loop(now, &held, out);
            } else {
                self.let_go(out);
            }
            return;
        }
        if request.forced {
            self.begin_saving(now, request, SafePoint::Now, out);
        } else if self.is_idle(now, &request) {
            if self.waits_for_prompt(now, &request) {
                // What is queued begins a turn by itself.
                if !self.next_is_queued() {
                    self.wait_for_prompt(now, out);
                }
            } else if !self.draft_waits(now) {
                self.begin_saving(now, request, SafePoint::Idle, out);
            }
        }
    }

    /// Sub-agents or background shells run, and there is time for them.
    pub(super) fn work_waits(&self, now: Stamp, request: &Request) -> bool {
        let works = self.run.background > 0 || self.run.status == Some(AgentStatus::Shell);
        works && !request.forced && now < request.work_until
    }

    /// What Claude is doing is not to be cut in two (checklist 90), and there is time to let it finish: the next boundary, or
    /// the end of the turn, comes with it done. Nobody waits who is over the hard level or wants it now.
    fn completes_first(&self, now: Stamp, request: &Request, held: &Held) -> bool {
        let last = request.turn_until.after(self.policy.config.restart.work_wait.ms());
        held.cut != Cut::Free && !request.now && !request.forced && now < last
    }

    fn person_writes(&self, now: Stamp) -> bool {
        self.run.screen.prompt == PromptBox::Draft || self.run.typed.is_some_and(|at| now < at.after(TYPING_MS))
    }

    /// A draft is in the box, and there is time for it; the time begins with the first one that was met.
    fn draft_waits(&mut self, now: Stamp) -> bool {
        let writes = self.person_writes(now);
        let until = now.after(self.policy.config.restart.draft_wait.ms());
        match &mut self.phase {
            Phase::Waiting { request } if writes => now < *request.draft_until.get_or_insert(until),
            _ => false,
        }
    }

    /// Whether Claude waits for a prompt, by everything that is known.
    fn is_idle(&self, now: Stamp, request: &Request) -> bool {
        if self.policy.agent == Agent::Plain {
            return true;
        }
        if self.run.stopped || self.obstacle().is_some() || self.work_waits(now, request) {
            return false;
        }
        match (self.run.status, self.run.turn) {
            (Some(AgentStatus::Idle), Turn::Idle | Turn::Unknown) => true,
            (Some(AgentStatus::Idle), Turn::Busy) => now >= self.idle_outweighs_hooks(),
            // Its turn is over and background work keeps it busy, but the time for that is over too.
            (Some(AgentStatus::Busy | AgentStatus::Shell), Turn::Idle) => now >= request.work_until && now >= self.busy_is_stale(),
            (Some(AgentStatus::Other) | None, Turn::Idle) => true,
            _ => false,
        }
    }

    fn idle_outweighs_hooks(&self) -> Stamp {
        if self.run.status_since >= self.run.turn_since {
            self.run.status_since.after(IDLE_STABLE_MS)
        } else {
            self.run.turn_since.after(IDLE_STALE_MS)
        }
    }

    /// When a file that says idle is believed against hooks that say busy, while it does.
    pub(super) fn idle_settles(&self) -> Option<Stamp> {
        let differ = self.run.turn == Turn::Busy && matches!(self.run.status, Some(AgentStatus::Idle | AgentStatus::Shell));
        (differ && self.run.pid.is_some()).then(|| self.idle_outweighs_hooks())
    }

    pub(super) fn idle_has_settled(&self) -> bool {
        self.ticked >= self.idle_outweighs_hooks()
    }

    fn busy_is_stale(&self) -> Stamp {
        self.run.status_since.max(self.run.turn_since).after(IDLE_STABLE_MS)
    }

    pub(super) fn waiting_deadlines(&self, request: &Request, due: &mut Vec<Stamp>) {
        due.push(request.work_until);
        due.extend(request.draft_until);
        due.extend(self.person_leaves_at());
        due.extend(self.run.typed.map(|at| at.after(TYPING_MS)));
        if let Some(held) = &self.run.held {
            due.push(request.turn_until);
            due.push(held.since.after(self.policy.config.hooks.hold.ms().saturating_sub(HOLD_MARGIN_MS)));
        }
        match (self.run.status, self.run.turn) {
            (Some(AgentStatus::Idle), Turn::Busy) => due.push(self.idle_outweighs_hooks()),
            (Some(AgentStatus::Busy | AgentStatus::Shell), Turn::Idle) => due.push(self.busy_is_stale()),
            _ => {}
        }
    }

    /// The restart that waits or is being saved does not happen; Claude goes on.
    pub(super) fn cancel_request(&mut self, now: Stamp, why: &str, out: &mut Vec<Action>) {
        let saving = matches!(self.phase, Phase::Saving { .. });
        let taken = self.has_taken_prompt();
        let Some(text) = self.drop_request(why, out) else { return };
        self.enter(now, Phase::Running);
        if let Some(held) = self.run.held.take() {
            self.answer(held.id, HookAnswer::Message { text: format!("hopty: {text}") }, out);
        }
        if saving {
            self.release_keys(taken, out);
        }
    }

    /// Says that the restart that waits or is being saved does not happen, and gives back in which words; `None` when
    /// there is none.
    pub(super) fn drop_request(&self, why: &str, out: &mut Vec<Action>) -> Option<String> {
        let (Phase::Waiting { request } | Phase::Saving { request, .. }) = &self.phase else { return None };
        let (by, level) = (request.by, request.level);
        let asker = match by {
            RestartBy::Level => "a context level",
            RestartBy::Signal => "a restart signal",
            RestartBy::Command => "`hopty restart`",
        };
        let text = format!("The hand-over asked for by {asker} does not happen: {why}.");
        self.tell(out, DecisionKind::RestartCancelled, text.clone(), &[self.lines.event, request.seq], |d| {
            d.by = Some(by);
            d.level = level;
        });
        if self.has_taken_prompt() {
            self.return_prompt(self.is_interrupt(), out);
        }
        Some(text)
    }

    /// The safe point is gone while saving: the next one is waited for.
    pub(super) fn back_to_waiting(&mut self, now: Stamp, out: &mut Vec<Action>) {
        let Phase::Saving { request, .. } = self.phase.clone() else { return };
        if self.has_taken_prompt() {
            // Claude works on it in spite of what it was told.
            out.push(Action::DropPrompt);
        }
        self.enter(now, Phase::Waiting { request: Request { for_prompt: None, ..request } });
        self.let_go(out);
        self.release_keys(false, out);
    }
}
