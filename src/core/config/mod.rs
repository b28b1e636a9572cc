//! The configuration: every key of `config.toml`, its type and default, and how five layers are merged.
//!
//! This module has the typed [`Config`], and [`resolve`]s the texts of a user file and a project file, the
//! environment and flags into one. It reports where every value comes from and what is wrong with every bad
//! piece. A bad piece is ignored and the layer below applies, because a bad file must not keep anyone from
//! Claude.
//!
//! It reads no file and no environment, prints nothing, and does not decide whether a problem is fatal. A
//! verb exits with code 2 on any [`Problem`]; the drop-in form prints one line and continues.

mod duration;
mod keys;
mod layer;
mod level;
mod problem;
mod schema;
mod units;

pub use duration::{BadSpan, DurationMs};
pub use keys::{ConfigKey, Floor, KEYS, ProjectMay, ValueKind};
pub use layer::{CONFIG_FILE_MAX, File, FlagValue, Resolved, Sources, ValueOrigin, resolve};
pub use level::{Levels, Threshold};
pub use problem::{ConfigSource, Problem, ProblemKind, Retired, counts};
pub use schema::{
    AfterError, Archive, AskDefault, AutoArchive, Compat, Config, Context, Control, Delivery, GitPolicy,
    Handoff, Hooks, Journal, Layout, Notify, NotifyEvent, NotifyTerminal, OnHangup, Profile, Program, Reap,
    Recovery, Restart, RestartMode, SizePolicy, SummaryMode, Terminal,
};
pub use units::{BadUnit, CellSize, PrefixKey, QuietHours};
