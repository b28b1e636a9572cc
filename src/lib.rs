//! hopty runs Claude Code in a pseudo-terminal of its own and supervises it: when the context window is
//! nearly full it saves a handoff, stops Claude at a point where no work is lost, starts a fresh one and
//! types the continuation prompt into it, with proof that it was submitted.
//!
//! # Theory of operation
//!
//! Data goes one way round a ring:
//!
//! ```text
//! fd ready -> edge reads -> Event -> Supervisor::step(now, event, &mut actions) -> Action -> edge performs
//!                             ^                                                                   |
//!                             +---------------------- its result is an Event <--------------------+
//! ```
//!
//! The supervisor is a deterministic function of its events. It reads no clock and touches no file, so it is
//! tested over random histories without a terminal, and the journal of a real session replays to the same
//! actions (`hopty replay`).
//!
//! Two processes work together. The **host** ([`host`]) owns the pseudo-terminal and outlives terminals;
//! there is one a session and no central daemon. The **client** ([`client`]) holds the person's terminal in
//! raw mode and hands it to the host by descriptor, so that a key takes one hop. Each is a loop
//! around one `poll`; what may be slow, such as a disk, has threads of its own in the host.
//!
//! # The modules, and who may use whom
//!
//! ```text
//! main -> cli -> { host, client, dashboard, standin,     the shell: owns descriptors and loops, performs
//!                  demo, testing, tape_recorder,         actions; client uses host, demo uses standin and
//!                  recording }                           testing, testing uses standin and recording,
//!                      |                                 tape_recorder uses testing
//!                      v
//!           { pty tty ipc fs git claude }            edges: one outside thing each, no decisions
//!                 |            \
//!                 |             v
//!                 |          { sys }                 the operating system: processes, files, poll, clocks
//!                 v             |
//!             { core } <--------+    { screen }      pure: no I/O, no clock, no environment
//! ```
//!
//! The shell may use everything below it; only the shell uses `screen`. `core` and `screen` do not know each
//! other: the host reads facts from the screen and gives them to the core as events. `tests/architecture.rs`
//! reads the `use` lines and holds these arrows.
//!
//! | module | what it knows |
//! |---|---|
//! | [`core`] | the supervisor, Claude's transcripts, hooks, screens and arguments, handoffs, tapes, configuration, journal |
//! | [`screen`] | a terminal without a window, fed with what the child writes |
//! | [`pty`] [`tty`] | the child's terminal; the person's terminal |
//! | [`ipc`] | the control socket: lines of JSON, frames of bytes |
//! | [`fs`] [`git`] [`claude`] | files, the work tree, Claude as a program on this machine |
//! | [`sys`] | what the loops and every edge use: processes, safe files, descriptors, signals, clocks, the worker thread |
//! | [`host`] [`client`] [`cli`] | the two processes, the verbs |
//! | [`dashboard`] | all sessions on one screen |
//! | [`standin`] | a stand-in for Claude and for its API, for tests and for people without an account |
//! | [`recording`] | recordings at any time of theirs: player, pictures, page |
//! | [`tape_recorder`] | what a person does in a program, written as a tape |
//! | [`testing`] | tapes played against programs, and reports of what came of it |
//! | [`demo`] | the whole loop on the stand-ins, for people to look at |

pub mod claude;
pub mod cli;
pub mod client;
pub mod core;
pub mod dashboard;
pub mod demo;
pub mod fs;
pub mod git;
pub mod host;
pub mod ipc;
pub mod pty;
pub mod recording;
pub mod screen;
pub mod standin;
pub mod sys;
pub mod tape_recorder;
pub mod testing;
pub mod tty;
