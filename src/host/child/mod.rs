//! The program that the session runs: its pseudo-terminal, the screen model beside its output, its end, and the start of
//! the next run.
//!
//! | file | holds |
//! |---|---|
//! | `run` | one life of the program: output, exit, descendants that were left |
//! | `screen_model`, `guarded_screen`, `output_chunk` | the screen beside the byte stream, fed after the terminals |
//! | `launching`, `command` | from the order to start a run to its start: arguments, environment, files |
//! | `processes` | starting, signalling and asking about processes; the tests put their own in its place |

mod command;
mod guarded_screen;
mod launching;
mod output_chunk;
mod processes;
mod run;
mod screen_model;

pub(super) use guarded_screen::GuardedScreen;
pub(super) use launching::{LaunchFiles, Launching, NextRun, Site};
pub(super) use processes::{Processes, System};
pub(super) use run::{ChildRun, INPUT_HIGH};
pub(super) use screen_model::ScreenModel;
