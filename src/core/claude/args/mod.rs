//! Claude's command line: what the person's arguments mean, and the arguments of every run.
//!
//! [`classify`] tells an interactive session from everything that runs without hopty, [`OwnArgs`] holds the
//! few arguments that hopty needs, and [`for_launch`], [`for_next_run`] and [`for_resume`] write the arguments
//! of a run. The options are data (`options.txt`); `grammar` reads them as Claude's own parser does.
//!
//! hopty validates nothing that Claude validates itself, and never changes an argument that it passes on.

mod grammar;
mod launch_mode;
mod own_args;
mod rewrite;

pub use grammar::{ArgPiece, Grammar, OptionMeaning, OptionValues};
pub use launch_mode::{ExecThroughReason, LaunchMode, Stream, classify};
pub use own_args::OwnArgs;
pub use rewrite::{NextRunArgs, for_launch, for_next_run, for_resume, is_model, with_name, with_settings};
