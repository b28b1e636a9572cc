//! The control socket: lines of JSON, frames of bytes, and who is at the other end.

pub mod address;
pub mod control_client;
pub mod frame;
pub mod message;
pub mod stream;
