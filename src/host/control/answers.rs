//! Requests whose answer is still owed: the supervisor decides about them, or a restart has to come about.

use std::collections::BTreeMap;

use super::Control;
use super::connection::ASKS_MS;
use crate::core::time::Stamp;
use crate::ipc::answers::RestartAnswer;
use crate::ipc::message::{Code, Failure, error_line, ok_line};

/// Requests that the supervisor has not answered yet.
#[derive(Debug, Default)]
pub(super) struct OwedAnswers {
    /// By number, each with its connection and its id there.
    requests: BTreeMap<u64, (u64, u64)>,
    /// A restart requested with the prefix key.
    by_key: Option<u64>,
}

impl OwedAnswers {
    /// Whether an answer is owed on this connection.
    pub fn has(&self, connection: u64) -> bool {
        self.requests.values().any(|(owed, _)| *owed == connection)
    }
}

impl Control {
    /// A number for the supervisor with which its answer finds the request; `asked`: its connection, and its id
    /// there.
    pub fn owe(&mut self, asked: (u64, u64)) -> u64 {
        let number = self.number();
        self.owed.requests.insert(number, asked);
        number
    }

    /// The connection and the id of a request that is answered now.
    pub fn settle(&mut self, number: u64) -> Option<(u64, u64)> {
        self.owed.requests.remove(&number)
    }

    /// The same for a restart that a person requests with the prefix key.
    pub fn owe_key(&mut self) -> u64 {
        let number = self.number();
        self.owed.by_key = Some(number);
        number
    }

    /// Whether this was the request of the prefix key.
    pub fn settle_key(&mut self, number: u64) -> bool {
        self.owed.by_key.take_if(|owed| *owed == number).is_some()
    }

    /// A connection is a client's from now on: frames follow. Gives its process, and when that began, in
    /// clock ticks since boot.
    pub fn becomes_client(&mut self, id: u64) -> Option<(i32, Option<u64>)> {
        let connection = self.connection_mut(id)?;
        connection.framed = true;
        Some((connection.pid, connection.began))
    }

    /// It was shown a screen that it searches: at the session's end, its next request is waited for.
    pub fn expect_request(&mut self, id: u64, now: Stamp) {
        if let Some(connection) = self.connection_mut(id) {
            connection.asks = Some(now.after(ASKS_MS));
        }
    }

    /// This connection asked to end the session, and stays open until it has.
    pub fn waits_for_end(&mut self, id: u64) {
        if let Some(connection) = self.connection_mut(id) {
            connection.stops = true;
        }
    }

    /// This request is answered again when the restart is over.
    pub fn waits_for_restart(&mut self, id: u64, request: u64) {
        if let Some(connection) = self.connection_mut(id) {
            connection.waits = Some(request);
        }
    }

    /// No restart will come of it.
    pub fn waits_no_more(&mut self, id: u64) {
        if let Some(connection) = self.connection_mut(id) {
            connection.waits = None;
        }
    }

    /// Answers the requests that wait for the end of a restart: with what came of it, or why there is none.
    pub fn settle_restarts(&mut self, outcome: &Result<RestartAnswer, String>, now: Stamp) {
        let waiting: Vec<(u64, u64)> =
            self.connections.iter_mut().filter_map(|(id, c)| Some((*id, c.waits.take()?))).collect();
        for (id, request) in waiting {
            let line = match outcome {
                Ok(done) => ok_line(request, done),
                Err(why) => {
                    error_line(request, &Failure::new(Code::Ended, why.clone(), "`hopty why` says more"))
                }
            };
            self.send(id, &line, now);
        }
    }
}
