//! The connections of clients, as their terminals use them.

use std::os::fd::OwnedFd;

use super::Control;
use crate::core::time::Stamp;
use crate::host::terminals::ClientLinks;

impl ClientLinks for Control {
    fn frame(&mut self, id: u64, tag: u8, payload: &[u8]) {
        if let Some(connection) = self.connection_mut(id) {
            connection.frame(tag, payload);
        }
    }

    fn waiting(&self, id: u64) -> usize {
        self.connection(id).map_or(0, |connection| connection.stream.waiting())
    }

    fn written(&self, id: u64) -> u64 {
        self.connection(id).map_or(0, |connection| connection.stream.written())
    }

    fn has_input(&self, id: u64) -> bool {
        self.connection(id).is_some_and(|connection| connection.has_input())
    }

    fn take_fd(&mut self, id: u64) -> Option<OwnedFd> {
        self.connection_mut(id)?.stream.take_fd()
    }

    fn close(&mut self, id: u64, now: Stamp, limit_ms: u64) {
        if let Some(connection) = self.connection_mut(id) {
            connection.close(now, limit_ms);
        }
    }
}
