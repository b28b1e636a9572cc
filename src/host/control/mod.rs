//! The control socket: who may connect, what is asked, and what is answered.
//!
//! | file | holds |
//! |---|---|
//! | `listener` | connections are accepted; a socket file that vanished is bound again |
//! | `peer` | who is at the other end, and what they may ask for |
//! | `connection` | one connection: its stream, its time limits, its client |
//! | `requests` | requests and their answers; hook calls that are held |
//! | `waits` | requests that wait for a state, an end or a change of the screen |
//! | `ask` | the question of mode `ask`, and what a person answered |
//! | `prefix_key` | what a person asks for with the prefix key |
//! | `status` | the session's status, and the file in which it is found after the end |

mod ask;
pub(super) mod connection;
mod listener;
pub(super) mod peer;
mod prefix_key;
mod requests;
pub(super) mod status;
mod waits;

pub(super) use connection::Connection;
pub(super) use requests::HookCall;
pub(super) use status::Exit;
pub(super) use waits::Waits;
