//! Stand-ins for what tests and the demo cannot have: the Messages API ([`api`]) and Claude Code itself
//! ([`agent`]), with a home directory ([`home`]) for both the real program and the stand-in.
//!
//! The same script drives either agent, so everything that is proved with the stand-in can be proved again
//! with the real program. The supervisor never depends on this code.

/// The hidden first argument that makes hopty the stand-in agent.
pub const AGENT_ARG: &str = "__agent";

pub mod agent;
pub mod answer;
pub mod api;
pub mod home;
pub mod http;
pub mod request;
pub mod script;
