//! Requests without an answer: the supervisor has to decide, or a restart has to finish.

use std::collections::BTreeMap;

use super::Control;
use super::connection::{ConnectionStage, NEXT_REQUEST_MS, RequestLines};
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::supervisor::phase::Phase;
use crate::core::time::Stamp;
use crate::ipc::answers::RestartAnswer;
use crate::ipc::message::{Code, RequestError, RequestId, error_line, ok_line};
use crate::sys::process::ProcessStart;

/// Requests that the supervisor has not answered yet.
#[derive(Debug, Default)]
pub(super) struct OwedAnswers {
    requests: BTreeMap<u64, RequestId>,
    /// A restart requested with the prefix key.
    by_key: Option<u64>,
}

impl OwedAnswers {
    pub fn has(&self, connection: u64) -> bool {
        self.requests.values().any(|request_id| request_id.connection == connection)
    }
}

impl Control {
    /// Registers a request under a number for the supervisor, with which the answer finds it again.
    pub fn register_request(&mut self, request_id: RequestId) -> u64 {
        let number = self.number();
        self.pending_answers.requests.insert(number, request_id);
        number
    }

    /// Removes the request that is being answered.
    pub fn settle(&mut self, number: u64) -> Option<RequestId> {
        self.pending_answers.requests.remove(&number)
    }

    /// Registers a restart that a person requests with the prefix key.
    pub fn register_key(&mut self) -> u64 {
        let number = self.number();
        self.pending_answers.by_key = Some(number);
        number
    }

    /// Whether this was the request of the prefix key.
    pub fn settle_key(&mut self, number: u64) -> bool {
        self.pending_answers.by_key.take_if(|owed| *owed == number).is_some()
    }

    fn requests_of(&mut self, id: u64) -> Option<&mut RequestLines> {
        self.connection_mut(id)?.requests()
    }

    /// Turns a connection into a client's: frames follow. Returns the client's process.
    pub fn make_client(&mut self, id: u64) -> Option<ProcessStart> {
        let connection = self.connection_mut(id)?;
        connection.stage = ConnectionStage::Client { is_paused: false };
        Some(connection.process)
    }

    /// It got a screen to search: at the session's end, wait for its next request.
    pub fn expect_request(&mut self, id: u64, now: Stamp) {
        if let Some(requests) = self.requests_of(id) {
            requests.asks = Some(now.after(NEXT_REQUEST_MS));
        }
    }

    /// This connection asked to end the session, and stays open until then.
    pub fn waits_for_end(&mut self, id: u64) {
        if let Some(requests) = self.requests_of(id) {
            requests.stops = true;
        }
    }

    /// This request gets another answer when the restart is over.
    pub fn waits_for_restart(&mut self, id: u64, request: u64) {
        if let Some(requests) = self.requests_of(id) {
            requests.restart = Some(request);
        }
    }

    /// Removes a request whose restart will not happen.
    pub fn waits_no_more(&mut self, id: u64) {
        if let Some(requests) = self.requests_of(id) {
            requests.restart = None;
        }
    }

    /// Answers the requests that wait for a restart: with its outcome, or with the reason why it failed.
    pub fn settle_restarts(&mut self, outcome: &Result<RestartAnswer, String>, now: Stamp) {
        let waiting: Vec<(u64, u64)> = self
            .connections
            .iter_mut()
            .filter_map(|(id, c)| Some((*id, c.requests()?.restart.take()?)))
            .collect();
        for (id, request) in waiting {
            let line = match outcome {
                Ok(done) => ok_line(request, done),
                Err(why) => {
                    error_line(request, &RequestError::new(Code::Ended, why.clone(), "`hopty why` says more"))
                }
            };
            self.send(id, &line, now);
        }
    }
}

/// The outcome of a restart after this decision, if the session is now in this phase: what the new
/// conversation got, or why there is none. `None`: it is not over.
pub(in crate::host) fn restart_outcome(
    decision: &Decision,
    phase: &Phase,
) -> Option<Result<RestartAnswer, String>> {
    let done = |handoff| Ok(RestartAnswer { handoff, conversation: decision.conversation.clone() });
    match decision.kind {
        DecisionKind::DeliverySubmitted => Some(done(decision.handoff.clone())),
        // No prompt follows, so there is nothing to wait for.
        DecisionKind::RunSpawned if !phase.is_delivering() => Some(done(None)),
        // The new run has died: later prompts are not the requested one.
        DecisionKind::RunEnded if !matches!(phase, Phase::Cooling { .. }) => None,
        DecisionKind::RunEnded
        | DecisionKind::RestartCancelled
        | DecisionKind::DeliveryFailed
        | DecisionKind::RunHeld
        | DecisionKind::SessionEnded => Some(Err(decision.sentence.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::HandoffId;
    use crate::core::supervisor::phase::{RunPlan, StartKind};

    #[test]
    fn a_restart_is_over_with_its_prompt_its_run_or_its_failure() {
        let id: HandoffId = "HO-20261126-101112-0123abcd".parse().unwrap();
        let decision = |kind| Decision {
            kind,
            run: 2,
            by: None,
            level: None,
            handoff: Some(id.clone()),
            conversation: None,
            cause: None,
            held: false,
            sentence: "why".to_owned(),
            because: Vec::new(),
        };
        let plan = RunPlan {
            start: StartKind::Fresh,
            conversation: None,
            handoff: None,
            dir: None,
            draft: false,
            carries: None,
            first_prompt: false,
        };
        let cooling = Phase::Cooling { until: Stamp(0), plan, code: 0, held: Vec::new() };
        let outcome = |kind, phase: &Phase| restart_outcome(&decision(kind), phase);
        let done = |handoff| Some(Ok(RestartAnswer { handoff, conversation: None }));
        let failed = Some(Err("why".to_owned()));
        assert_eq!(outcome(DecisionKind::DeliverySubmitted, &Phase::Running), done(Some(id.clone())));
        assert_eq!(outcome(DecisionKind::RunSpawned, &Phase::Running), done(None));
        assert_eq!(outcome(DecisionKind::RunEnded, &Phase::Running), None, "the next one follows");
        assert_eq!(outcome(DecisionKind::RunEnded, &cooling), failed);
        assert_eq!(outcome(DecisionKind::RestartCancelled, &Phase::Running), failed);
        assert_eq!(outcome(DecisionKind::LevelCrossed, &Phase::Running), None);
    }
}
