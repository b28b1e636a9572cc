//! The outcome of an attach.

use super::deferred_notices::NoticeList;
use crate::ipc::message::RequestError;

/// How an attach ended.
#[derive(Debug)]
pub enum AttachEnd {
    /// The program ended, with this exit code and an optional message for the person.
    Ended(u8, Option<String>),
    /// This client left or was made to leave; the session keeps running.
    Detached,
    /// The connection closed without a `BYE`, most often because the host died.
    Closed,
    /// The host is alive but does not answer.
    Silent,
    /// The host refused this client.
    Refused(RequestError),
    /// The terminal is gone.
    HungUp,
}

#[derive(Debug)]
pub struct AttachOutcome {
    pub end: AttachEnd,
    /// Notices that the host sent meanwhile.
    pub notices: NoticeList,
}
