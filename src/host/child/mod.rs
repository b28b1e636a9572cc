//! The program that the session runs: its pseudo-terminal, the screen model beside its output, its end, and
//! the start of the next run.
//!
//! | file | holds |
//! |---|---|
//! | `child_program` | the program as the rest of the host uses it |
//! | `program_run` | one life of the program: its output and its exit |
//! | `descendants` | its descendants, and those that outlive it |
//! | `screen_model`, `guarded_screen`, `output_chunk` | the screen beside the byte stream, fed after the terminals |
//! | `screen_marks` | what is new on the screen since a mark |
//! | `screen_reader` | Claude's screen, read by the rules |
//! | `segment_refresh` | how to make Claude redraw its status line |
//! | `muting` | what a run that is stopped for the next one leaves on the terminal |
//! | `launching`, `run_command` | the steps of a launch: arguments, environment, files |
//! | `child_processes` | starting, signalling and inspecting processes; tests supply their own |

mod child_processes;
mod child_program;
mod descendants;
mod guarded_screen;
mod launching;
mod muting;
mod output_chunk;
mod program_run;
mod run_command;
mod screen_marks;
mod screen_model;
mod screen_reader;
mod segment_refresh;

pub(super) use child_processes::Processes;
pub(super) use guarded_screen::GuardedScreen;
pub(super) use launching::{LaunchFiles, LaunchOrder, LaunchPlan, LaunchSettings, LaunchStep};
pub(super) use program_run::{ChildRun, InputModes, RunStart};
pub(super) use run_command::ArgumentSources;
pub(super) use screen_model::ScreenModel;
pub(super) use screen_reader::TypingNow;

use std::collections::BTreeMap;

use launching::Launching;
use screen_reader::ScreenRules;

use crate::core::process_change::ProcessEnd;
use crate::host::start::InheritedDescriptors;

/// The program that the session runs, one run after another.
#[derive(Debug)]
pub(super) struct Child {
    pub processes: Box<dyn Processes>,
    /// The current run; after its end, the last one until the next starts.
    pub run: Option<ChildRun>,
    pub last_end: Option<ProcessEnd>,
    /// Whether the program uses the alternate screen, once known; passed on to the next run.
    pub full_screen: Option<bool>,
    pub launching: Launching,
    /// Variables that the next run takes from the client's environment (`program.update_env`).
    pub client_env: BTreeMap<String, String>,
    /// What the program inherits from the process that started this host.
    pub inherited: InheritedDescriptors,
    rules: ScreenRules,
}
