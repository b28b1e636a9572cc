//! Plays a tape.
//!
//! | part | owns |
//! |---|---|
//! | `play_tape` | the player: it passes each command to one of the other parts |
//! | `test_session` | a test: its workspace, clock and terminals, and how programs are started |
//! | `test_workspace`, `test_files` | directories, variables, files, and `Run` |
//! | `known_files` | which files have not changed since the tape wrote or checked them |
//! | `test_clock` | the deadline, and how long a wait may last |
//! | `test_terminals`, `terminal_recording` | several terminals, and the recording of each |
//! | `tape_input` | keys, mouse, paste, resize, signals, and their report |
//! | `wait_commands`, `inspection` | checks of text, time and end; of style, cursor, title, bell, modes |
//! | `screen_regions`, `tape_snapshots` | named parts of the screen; `Snapshot` |
//! | `tape_outputs`, `recorded_output` | files that a tape makes of its screen |
//! | `claude_test` | Claude Code with a scripted model, and its recorded hooks |
//! | `tape_findings`, `failure_evidence` | warnings; the evidence of a failure |
//! | `pausing`, `step_failure` | `Pause`; why a command failed |

mod claude_test;
mod failure_evidence;
mod inspection;
mod known_files;
mod pausing;
mod play_tape;
mod recorded_output;
mod screen_regions;
mod step_failure;
mod tape_findings;
mod tape_input;
mod tape_outputs;
mod tape_snapshots;
mod terminal_recording;
mod test_clock;
mod test_files;
mod test_session;
mod test_terminals;
mod test_workspace;
mod wait_commands;

pub use play_tape::{PlayEnd, PlayOptions, PlayedTape, play, wants_to_be_alone};
pub use tape_snapshots::{SnapshotUse, redactions_of};
pub(crate) use test_files::copy_tree;
