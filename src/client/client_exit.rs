//! How a client's time with a session ends.

use super::deferred_notices::NoticeList;
use crate::ipc::message::Failure;

/// How a client's time with a session ended.
#[derive(Debug)]
pub enum AttachEnd {
    /// The program ended; its exit code, and what is to be said.
    Ended(u8, Option<String>),
    /// This client left or was made to leave, and the session goes on.
    Detached,
    /// The connection closed without a word, most often because the host died.
    Closed,
    /// The host lives and does not answer.
    Silent,
    /// The host did not take this client.
    Refused(Failure),
    /// The terminal is gone.
    HungUp,
}

/// A client's time with a session.
#[derive(Debug)]
pub struct Stay {
    pub left: AttachEnd,
    /// What the host had to tell meanwhile.
    pub notices: NoticeList,
}
