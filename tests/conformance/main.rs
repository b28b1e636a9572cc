//! Every case runs a program twice in identical terminals, without hopty and with it, by the same steps, and
//! compares what can be compared: the bytes that reach the terminal, the picture by an emulator that is not
//! hopty's, what is on, what the program finds, its exit code, the terminal afterwards. `docs/TESTING.md` has
//! the table.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod case;
mod emulator;
mod outer;

mod answers;
mod bytes;
mod claude;
mod jobs;
mod programs;
mod redirected;
mod sees;
mod sequences;
mod sizes;
mod within;

use support::needs;
