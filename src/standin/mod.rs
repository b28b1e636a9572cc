//! Stand-ins for the two things that a test or the demo cannot have: the Messages API ([`api`]) and Claude
//! Code itself ([`agent`]), with the home directory ([`home`]) that both the real program and the stand-in
//! are run in.
//!
//! The same script drives either agent, so whatever is proved with the stand-in can be proved again with the
//! real program. This is shell code: it owns sockets, threads and a terminal. The supervisor never depends on
//! it.

/// The hidden first argument under which hopty is the stand-in agent.
pub const AGENT_ARG: &str = "__agent";

pub mod agent;
pub mod answer;
pub mod api;
pub mod home;
pub mod http;
pub mod request;
pub mod script;
