//! The control socket: lines of JSON, frames of bytes, and the identity of the peer.

pub mod address;
pub mod answers;
pub mod control_client;
pub mod farewell;
pub mod frame;
pub mod message;
pub mod stream;
