//! Requests for a restart: who may make them, in which phases, and how they are cancelled.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, HookAnswer, Reply, RestartBy, SETTINGS_CHANGED};
use super::event::{Asker, RestartOrder};
use super::phase::{Phase, RestartRequest, RunPlan, StopFor};
use super::reported_state::SessionState;
use super::step::EventStep;
use super::{ProgramKind, Supervisor};
use crate::core::supervisor::restart_signal::{NamedDir, RestartSignal};
use crate::core::time::Stamp;

/// How a restart that waits or is being saved is given up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dropped {
    /// The clients get no notice.
    Quietly,
    Openly,
    /// Changed settings hold it.
    Held,
}

/// A signal file, with the host's findings about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SignalReport {
    /// The event that brought it.
    pub line: u64,
    pub file: RestartSignal,
    pub fresh: bool,
    pub sessions: u32,
    pub dir_ok: bool,
    pub dir: Option<NamedDir>,
}

/// Why a signal is ignored.
struct SignalRefusal {
    reason: String,
    /// It counts once Claude runs again.
    counts_later: bool,
}

/// The decision that a signal leads to.
fn signal_sentence(file: &RestartSignal) -> String {
    match file {
        RestartSignal::Here { checkpoint } => {
            format!(
                "An orchestrator's signal asked for a handoff (checkpoint {checkpoint}); hand-over requested."
            )
        }
        RestartSignal::Directory { .. } => {
            "A restart signal names this directory; hand-over requested.".to_owned()
        }
        _ => "A restart signal names this conversation; hand-over requested.".to_owned(),
    }
}

impl Supervisor {
    pub(super) fn signal(&mut self, step: &mut EventStep<'_>, seen: &SignalReport) {
        self.session.late_signal = None;
        let file = &seen.file;
        if let Some(SignalRefusal { reason, counts_later }) = self.refuses_signal(step.now, seen) {
            let mut sentence = format!("Ignored a restart signal: {reason}.");
            if counts_later {
                sentence = format!(
                    "Put a restart signal off: {reason}. It counts afterwards in the same conversation."
                );
                self.session.late_signal = Some((self.conversation.id.clone(), seen.clone()));
            }
            step.decide(DecisionKind::RestartIgnored, sentence).by(RestartBy::Signal);
            return;
        }
        // It names this session, which hands over in its directory.
        let elsewhere = match (file, seen.dir.and_then(NamedDir::refusal)) {
            (RestartSignal::Conversation { dir: Some(dir), .. }, Some(why)) => Some(format!(
                "A restart signal asked for directory {dir}, but the session stays in its own: {why}."
            )),
            _ => None,
        };
        let dir = match file {
            // The session already runs there, whatever the name.
            _ if seen.dir == Some(NamedDir::Own) => None,
            RestartSignal::Conversation { dir, .. } if seen.dir_ok => dir.clone(),
            RestartSignal::Directory { dir } if seen.dir_ok => Some(dir.clone()),
            _ => None,
        };
        step.act(Action::ConsumeSignal { file: file.file() });
        if let Some(text) = &elsewhere {
            step.notice(DecisionKind::RestartRequested, text.clone());
        }
        if let Phase::Waiting { request } = &mut self.phase {
            request.explicit = true;
            request.handoff = true;
            request.dir = dir.or(request.dir.take());
            return;
        }
        let sentence = signal_sentence(file);
        let sentence = elsewhere.map_or(sentence.clone(), |text| format!("{sentence} {text}"));
        let request = RestartRequest {
            explicit: true,
            dir,
            ..RestartRequest::new(step, &self.policy, RestartBy::Signal)
        };
        self.wait_because(step, request, sentence, seen.line);
        self.try_safe_point(step);
    }

    /// Why a signal is ignored now.
    fn refuses_signal(&self, now: Stamp, seen: &SignalReport) -> Option<SignalRefusal> {
        let SignalReport { ref file, fresh, sessions, .. } = *seen;
        let reason = match file {
            RestartSignal::Malformed { reason } => reason.clone(),
            _ if self.policy.agent != ProgramKind::Claude => "this session does not run Claude".to_owned(),
            RestartSignal::Conversation { conversation, .. } if !self.conversation.is(conversation) => {
                format!("it names conversation {conversation}, which this session does not run")
            }
            RestartSignal::Directory { .. } if seen.dir.is_some_and(|dir| dir != NamedDir::Own) => {
                "it names a different directory".to_owned()
            }
            _ if self.policy.no_handover.is_some() => self.policy.no_handover.clone()?,
            _ if !fresh => "it was written before this session started".to_owned(),
            RestartSignal::Directory { .. } | RestartSignal::Here { .. } if sessions != 1 => {
                format!("its directory matches {sessions} sessions")
            }
            _ => return self.refuses_signal_in_phase(now, file),
        };
        Some(SignalRefusal { reason, counts_later: false })
    }

    fn refuses_signal_in_phase(&self, now: Stamp, file: &RestartSignal) -> Option<SignalRefusal> {
        let why = match &self.phase {
            Phase::Running | Phase::Waiting { .. } => {
                let refusal = self.restart_limit.refusal(now, &self.policy.config.restart);
                return refusal
                    .filter(|_| self.policy.rules > 0)
                    .map(|reason| SignalRefusal { reason, counts_later: false });
            }
            Phase::Saving { .. } | Phase::Delivering { .. } | Phase::Stopping { .. } => {
                "a hand-over is under way"
            }
            _ => "the program is not running",
        };
        // Without a conversation id it asked for the hand-over whose fresh Claude is already running.
        let has_come = matches!(self.phase, Phase::Delivering { .. })
            && !matches!(file, RestartSignal::Conversation { .. });
        let counts_later = !self.policy.is_previous_release() && !has_come;
        Some(SignalRefusal { reason: why.to_owned(), counts_later })
    }

    /// Claude runs again: checks a signal that arrived while it did not. A hand-over to another conversation
    /// has fulfilled it, and a person's Ctrl+C has cancelled it.
    pub(super) fn late_signal(&mut self, step: &mut EventStep<'_>) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        let Some((conversation, seen)) = self.session.late_signal.take() else { return };
        if conversation == self.conversation.id && !self.session.interrupted_after(seen.line) {
            self.signal(step, &seen);
        }
    }

    pub(super) fn restart(&mut self, step: &mut EventStep<'_>, id: u64, by: Asker, order: RestartOrder) {
        let RestartOrder { at_once, handoff } = order;
        let handoff = handoff && self.policy.agent == ProgramKind::Claude;
        if let (Phase::Cooling { plan, held, .. }, Asker::Person) = (&self.phase, by)
            && !held.is_empty()
        {
            let plan = RunPlan { handoff: plan.handoff.clone().filter(|_| handoff), ..plan.clone() };
            step.reply(id, Reply::Accepted);
            self.restart_limit.count(step.now, &self.policy.config.restart);
            self.spawn(step, plan);
            return;
        }
        if let Some(reason) = self.refuses_restart(step.now, handoff) {
            step.refuse(id, reason);
            return;
        }
        step.reply(id, Reply::Accepted);
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
            Asker::Person => "You requested a restart.",
            Asker::Descendant => "A command inside the session requested a restart.",
        };
        let request = RestartRequest {
            explicit: true,
            person,
            now: at_once,
            // For a command that Claude runs this means the next tool boundary: the turn cannot end while the
            // command waits.
            forced: at_once && person,
            handoff,
            dir: self.conversation.held_dir.take_if(|_| person),
            ..RestartRequest::new(step, &self.policy, RestartBy::Command)
        };
        self.wait(step, request, sentence);
    }

    /// The answer to `hopty restart` from a descendant that would change nothing, so that it is no event: the
    /// restart is already waiting, or is refused. `None` if it would restart something.
    pub fn restart_changes_nothing(&self, now: Stamp, order: RestartOrder) -> Option<Reply> {
        let RestartOrder { at_once, handoff } = order;
        let handoff = handoff && self.policy.agent == ProgramKind::Claude;
        if let Some(reason) = self.refuses_restart(now, handoff) {
            return Some(Reply::Refused(reason.into()));
        }
        let Phase::Waiting { request } = &self.phase else { return None };
        let covers = request.explicit && request.now >= at_once && request.handoff >= handoff;
        covers.then_some(Reply::Accepted)
    }

    /// `hopty back`: returns from the conversation that a hand-over started to the previous one.
    pub(super) fn back(&mut self, step: &mut EventStep<'_>, id: u64, at_once: bool) {
        let request = RestartRequest {
            explicit: true,
            person: true,
            ..RestartRequest::new(step, &self.policy, RestartBy::Command)
        };
        let way = self.chain.before().cloned().zip(self.conversation.id.clone());
        let refused = if self.policy.agent == ProgramKind::Claude {
            self.refuses_restart(step.now, false)
        } else {
            Some("this session does not run Claude".to_owned())
        };
        let answer = match (refused, way) {
            (Some(reason), _) => Err(Reply::Refused(reason.into())),
            (None, None) => Err(Reply::Refused("there is no earlier conversation".into())),
            (None, Some(_)) if !at_once && !self.may_be_left(step.now, &request) => Err(Reply::Busy),
            (None, Some(way)) => Ok(way),
        };
        let (conversation, newer) = match answer {
            Ok(answer) => answer,
            Err(with) => return step.reply(id, with),
        };
        step.reply(id, Reply::Back { conversation: conversation.clone(), newer });
        self.cancel_request(step, "you went back to the previous conversation");
        let text = format!("Going back to conversation {conversation} (`hopty back`).");
        step.decide(DecisionKind::RestartRequested, text)
            .by(RestartBy::Command)
            .conversation(conversation.clone());
        self.keys.hold(step);
        self.run.hooks.held = None;
        self.chain.go_back();
        let plan = RunPlan::resume(Some(conversation));
        self.terminate(step, StopFor::Restart { plan, interrupted: false });
    }

    /// Why a restart command is refused now, if it is; with or without a handoff.
    fn refuses_restart(&self, now: Stamp, handoff: bool) -> Option<String> {
        let unable = self.policy.no_handover.clone().filter(|_| handoff);
        let reason = match &self.phase {
            Phase::Running | Phase::Waiting { .. } => {
                return unable.or_else(|| self.restart_limit.refusal(now, &self.policy.config.restart));
            }
            Phase::Saving { .. } | Phase::Delivering { .. } => "a hand-over is under way",
            Phase::Stopping { .. } => "the program is being stopped",
            Phase::Cooling { held, .. } if !held.is_empty() => {
                "settings that run code have changed, and a person must accept them"
            }
            _ => "the program is not running",
        };
        Some(reason.to_owned())
    }

    /// Whether Claude can be ended now without interrupting work. A person asks, so the screen is sufficient
    /// evidence.
    fn may_be_left(&self, now: Stamp, request: &RestartRequest) -> bool {
        self.state_by_sources().state == SessionState::Idle
            && !self.sends_half_typed(now)
            && !self.run.work_waits(now, request)
    }

    pub(super) fn wait(
        &mut self,
        step: &mut EventStep<'_>,
        request: RestartRequest,
        sentence: impl Into<String>,
    ) {
        let line = step.line;
        self.wait_because(step, request, sentence, line);
    }

    /// Waits for a safe point, for a reason in another line than the event's.
    pub(super) fn wait_because(
        &mut self,
        step: &mut EventStep<'_>,
        request: RestartRequest,
        sentence: impl Into<String>,
        line: u64,
    ) {
        let (by, level) = (request.by, request.level);
        step.decide(DecisionKind::RestartRequested, sentence).because(&[line]).by(by).level(level);
        step.act(Action::WaitSafePoint { until: request.turn_until });
        self.conversation.usage.rearm_at_stop = false;
        self.conversation.question.withdraw();
        self.enter(step, Phase::Waiting { request });
    }

    /// Cancels the restart that waits or is being saved; Claude continues.
    pub(super) fn cancel_request(&mut self, step: &mut EventStep<'_>, why: &str) {
        let reported = self.drop_request(step, why);
        self.let_claude_continue(step, reported);
    }

    /// Cancels it without a notice, because people know.
    pub(super) fn cancel_quietly(&mut self, step: &mut EventStep<'_>, why: &str) {
        let text = self.cancelled(why);
        let reported = text.and_then(|text| self.report_dropped(step, text, Dropped::Quietly));
        self.let_claude_continue(step, reported);
    }

    /// Lets Claude continue after a report about the restart that waits or is being saved.
    fn let_claude_continue(&mut self, step: &mut EventStep<'_>, reported: Option<String>) {
        let saving = matches!(self.phase, Phase::Saving { .. });
        let taken = self.phase.has_taken_prompt();
        let Some(text) = reported else { return };
        self.enter(step, Phase::Running);
        if let Some(held) = self.run.hooks.held.take() {
            step.answer(held.id, HookAnswer::Message { text: format!("hopty: {text}") });
        }
        if saving {
            self.release_keys(step, taken);
        }
    }

    /// Changed settings that run code stop the restart that is being saved: a person has to request it again.
    pub(super) fn hold_request(&mut self, step: &mut EventStep<'_>, changed: &str) {
        let why = format!("{SETTINGS_CHANGED} ({changed})");
        if self.policy.is_previous_release() {
            return self.cancel_request(step, &format!("{why}; accept them with `hopty restart`"));
        }
        let asker = match self.phase.request().map(|request| request.by) {
            Some(RestartBy::Level) => "by a context level",
            Some(RestartBy::Signal) => "by a restart signal",
            // A person's own restart accepts the settings.
            Some(RestartBy::Command) => "inside the session",
            None => return,
        };
        self.conversation.settings_held = true;
        let text = format!(
            "Held the hand-over requested {asker}: {why}; accept them with `hopty restart` in another \
             terminal."
        );
        let reported = self.report_dropped(step, text, Dropped::Held);
        self.let_claude_continue(step, reported);
    }

    /// Reports that the restart that waits or is being saved is cancelled, and returns the sentence; `None`
    /// if there is none.
    pub(super) fn drop_request(&self, step: &mut EventStep<'_>, why: &str) -> Option<String> {
        self.report_dropped(step, self.cancelled(why)?, Dropped::Openly)
    }

    /// The sentence about the restart that waits or is being saved.
    fn cancelled(&self, why: &str) -> Option<String> {
        let asker = match self.phase.request()?.by {
            RestartBy::Level => "a context level",
            RestartBy::Signal => "a restart signal",
            RestartBy::Command => "`hopty restart`",
        };
        Some(format!("Cancelled the hand-over requested by {asker}: {why}."))
    }

    fn report_dropped(&self, step: &mut EventStep<'_>, text: String, how: Dropped) -> Option<String> {
        let request = self.phase.request()?;
        let (by, level) = (request.by, request.level);
        let decision = match how {
            Dropped::Quietly => step.decide(DecisionKind::RestartCancelled, text.clone()),
            Dropped::Openly | Dropped::Held => step.tell(DecisionKind::RestartCancelled, text.clone()),
        };
        let held = how == Dropped::Held && !self.policy.is_previous_release();
        decision.also(request.seq).by(by).level(level).held(held);
        if self.phase.has_taken_prompt() {
            let interrupted = self.session.interrupted_at(step.line);
            step.act(Action::ReturnPrompt { submit: !interrupted });
        }
        Some(text)
    }

    /// The safe point was lost while saving: wait for the next one.
    pub(super) fn back_to_waiting(&mut self, step: &mut EventStep<'_>) {
        let Phase::Saving { request, .. } = self.phase.clone() else { return };
        if self.phase.has_taken_prompt() {
            // Claude continues although it was told to stop.
            step.act(Action::DropPrompt);
        }
        self.enter(step, Phase::Waiting { request: RestartRequest { for_prompt: None, ..request } });
        self.let_go(step);
        self.release_keys(step, false);
    }
}
