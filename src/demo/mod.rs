//! `hopty demo`: the whole loop without an account or a network, from a typed goal over a full context and
//! a hand-over to finished work.
//!
//! hopty itself works as always: the demo opens a terminal of its own
//! ([`crate::testing::test_terminal::TestTerminal`]), runs the real `hopty` in it in the drop-in form, and a
//! scripted person types into it. Only the agent and its API are stand-ins ([`crate::standin`]). What
//! happened is then read from hopty's journal, the API's requests and the file (`demo_outcome`), and printed
//! on a closing page (`page`).
//!
//! On a terminal the agent's screen is shown live (`demo_screen`); elsewhere the same events are printed as
//! lines (`plain_output`).

mod demo_dirs;
mod demo_event;
mod demo_loop;
mod demo_outcome;
mod demo_run;
mod demo_screen;
mod demo_text;
mod journal_reader;
mod page;
mod plain_output;
mod scripted_model;
mod story;

pub use demo_run::{Files, run};
