//! `hopty back`: from the conversation that a hand-over began back to the one before it. When a hand-over is
//! broken off, its messages name that conversation, too.

use serde::{Deserialize, Serialize};

use super::action::{Action, DecisionKind, Reply, RestartBy};
use super::levels::StartLevel;
use super::phase::{Phase, RestartRequest, RunPlan, StartKind, StopFor};
use super::state::SessionState;
use super::step::EventStep;
use super::{Agent, Supervisor, Turn};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// The most conversations that one can go back.
const CHAIN_CAP: usize = 100;
/// The first version of the rules that names the old conversation when a hand-over is broken off.
const NAMED_SINCE: u32 = 2;

/// A conversation that a hand-over led away from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PastConversation {
    conversation: ConversationId,
    /// Its working directory, if it differs from the session's first: it can only be resumed there.
    dir: Option<String>,
    /// The handoff of that hand-over.
    handoff: Option<HandoffId>,
}

/// The session's conversations, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConversationChain {
    /// Those before the current one, oldest first.
    before: Vec<PastConversation>,
    /// The one that the next run resumes.
    to: Option<PastConversation>,
    /// The conversation that it is resumed from, until its run has begun.
    newer: Option<ConversationId>,
    /// The last one that a person went back to.
    back_in: Option<ConversationId>,
    /// The conversation before the last hand-over.
    left: Option<ConversationId>,
}

impl Supervisor {
    /// The conversation before the current one, if one can go back to it.
    #[must_use]
    pub fn conversation_before(&self) -> Option<&ConversationId> {
        self.chain.before.last().map(|past| &past.conversation)
    }

    pub(super) fn back(&mut self, step: &mut EventStep<'_>, id: u64, at_once: bool) {
        let request =
            RestartRequest { explicit: true, person: true, ..self.new_request(step.now, RestartBy::Command) };
        let past = self.chain.before.last().cloned().zip(self.conversation.id.clone());
        let refused = match &self.phase {
            _ if self.policy.agent != Agent::Claude => Some("this session does not run Claude".to_owned()),
            Phase::Running | Phase::Waiting { .. } if self.over_limit(step.now) => Some(self.limit_reason()),
            Phase::Running | Phase::Waiting { .. } => None,
            Phase::Saving { .. } | Phase::Delivering { .. } => Some("a hand-over is under way".to_owned()),
            Phase::Stopping { .. } => Some("the program is being stopped".to_owned()),
            _ => Some("the program is not running".to_owned()),
        };
        let answer = match (refused, &past) {
            (Some(reason), _) => Err(Reply::Refused { reason }),
            (None, None) => Err(Reply::Refused { reason: "there is no earlier conversation".to_owned() }),
            (None, Some(_)) if !at_once && !self.may_be_left(step.now, &request) => Err(Reply::Busy),
            (None, Some((past, newer))) => Ok((past.clone(), newer.clone())),
        };
        let (past, newer) = match answer {
            Ok(answer) => answer,
            Err(with) => return step.reply(id, with),
        };
        let conversation = past.conversation.clone();
        step.reply(id, Reply::Back { conversation: conversation.clone(), newer });
        self.cancel_request(step, "you went back to the previous conversation");
        let text = format!("Going back to conversation {conversation} (`hopty back`).");
        step.decide(DecisionKind::RestartRequested, text)
            .by(RestartBy::Command)
            .conversation(conversation.clone());
        self.hold_keys(step);
        self.run.hooks.held = None;
        self.chain.before.pop();
        self.chain.to = Some(past);
        let plan = RunPlan {
            start: StartKind::Resume,
            conversation: Some(conversation),
            handoff: None,
            dir: None,
            draft: true,
            carries: None,
        };
        self.terminate(step, StopFor::Restart { plan, interrupted: false });
    }

    /// Whether nothing is cut off when Claude is ended now. A person asks, so the screen is evidence enough.
    fn may_be_left(&self, now: Stamp, request: &RestartRequest) -> bool {
        self.state().state == SessionState::Idle
            && !self.submit_is_typed(now)
            && !self.work_waits(now, request)
    }

    /// A run is about to start: records the conversation that it leaves or goes back to.
    pub(super) fn chain_goes_on(&mut self, step: &mut EventStep<'_>, plan: &RunPlan) {
        match (plan.start, self.conversation.id.clone()) {
            (StartKind::Fresh, Some(conversation)) if self.conversation.spoken => {
                if self.chain.before.len() >= CHAIN_CAP {
                    self.chain.before.remove(0);
                }
                self.chain.left = Some(conversation.clone());
                self.chain.before.push(PastConversation {
                    conversation,
                    dir: self.session.dir.clone(),
                    handoff: plan.handoff.clone(),
                });
            }
            (StartKind::Resume, newer) => {
                let Some(past) = self.chain.to.take() else { return };
                self.chain.newer = newer;
                self.chain.back_in = Some(past.conversation);
                self.chain.left = None;
                self.session.dir = past.dir;
                if let Some(handoff) = past.handoff {
                    self.handoffs.active.take_if(|active| *active == handoff);
                    self.handoffs.consuming.take_if(|(of, _)| *of == handoff);
                    step.act(Action::Clear { handoff });
                }
                self.conversation = self.conversation.gone_back();
            }
            _ => {}
        }
    }

    /// Whether the run that has just started goes back; tells people if it does.
    pub(super) fn went_back(&mut self, step: &mut EventStep<'_>) -> bool {
        let Some((newer, back)) = self.chain.newer.take().zip(self.chain.back_in.clone()) else {
            return false;
        };
        let text =
            format!("Back in conversation {back}; to return to the newer one: `hopty --resume {newer}`");
        step.tell(DecisionKind::ConversationChanged, text).conversation(back);
        true
    }

    /// hopty follows another conversation. An old Claude resumes a conversation under a new id.
    pub(super) fn chain_changed(&mut self, id: &ConversationId) -> StartLevel {
        if self.run.turn.state == Turn::Unknown
            && self.chain.back_in.is_some()
            && self.conversation.start_level == StartLevel::Unmeasured
        {
            self.chain.back_in = Some(id.clone());
            return StartLevel::Unmeasured;
        }
        StartLevel::Elsewhere
    }

    /// Whether a person went back to the current conversation.
    pub(super) fn is_back(&self) -> bool {
        self.chain.back_in.is_some() && self.chain.back_in == self.conversation.id
    }

    /// A sentence about a hand-over that was broken off, naming the conversation before it.
    pub(super) fn naming_left(&self, sentence: String) -> String {
        match &self.chain.left {
            Some(left) if self.policy.rules >= NAMED_SINCE => named(&sentence, left),
            _ => sentence,
        }
    }

    /// The same for a session's last sentence, if the hand-over had not reached the new conversation.
    pub(super) fn naming_unfinished(&self, sentence: String) -> String {
        let left = match &self.phase {
            Phase::Stopping { why: StopFor::Restart { plan, .. }, .. } if plan.start == StartKind::Fresh => {
                self.conversation.id.as_ref().filter(|_| self.conversation.spoken)
            }
            Phase::Stopping { why: StopFor::Limit, .. } => {
                self.conversation.id.as_ref().filter(|_| self.conversation.spoken)
            }
            _ => self.chain.left.as_ref().filter(|_| !self.conversation.spoken),
        };
        match left {
            Some(left) if self.policy.rules >= NAMED_SINCE => named(&sentence, left),
            _ => sentence,
        }
    }
}

fn named(sentence: &str, left: &ConversationId) -> String {
    format!("{}; to resume the old conversation: `hopty --resume {left}`", sentence.trim_end_matches('.'))
}
