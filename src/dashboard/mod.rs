//! `hopty dash`: all sessions on one screen, with a live picture of the chosen one.
//!
//! It holds no state that a session could lose: each key becomes a request to the session's host, like
//! that of any other command, and a refusal is shown.
//!
//! | file | what |
//! |---|---|
//! | `dashboard_loop` | the loop: keys, signals, replies of hosts, changed files |
//! | `session_row`, `preview` | pure: a status as a row, a screen as lines |
//! | `dashboard_model`, `dashboard_view` | pure: a key as an action, the model as cells |
//! | `host_queries`, `run_verb` | queries to hosts in threads; hopty's own commands as programs |
//! | [`paint`] | cells as bytes |
//!
//! All text from sessions (names, titles, previews, reasons) is cleaned when it arrives
//! (`session_row::clean`) and filtered again when it is written ([`paint`]).

mod dashboard_loop;
mod dashboard_model;
#[cfg(test)]
mod dashboard_model_tests;
mod dashboard_view;
#[cfg(test)]
mod dashboard_view_tests;
mod host_queries;
pub mod paint;
mod preview;
mod run_verb;
mod session_row;

pub use dashboard_loop::{DashEnd, run};
