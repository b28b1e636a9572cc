//! The configuration: every key of `config.toml`, its type, its default, and how five layers become one
//! value.
//!
//! What it does: holds the typed [`Config`] and [`resolve`]s the texts of a user file and a
//! project file, the environment and flags into one, saying for every key where its value came from and for
//! every bad piece what is wrong with it. A bad piece costs only itself: the layer below stands, because a
//! bad file must not keep anyone from Claude.
//!
//! What it does not do: it reads no file and no environment, it prints nothing, and it does not decide
//! whether a problem is fatal. A verb exits 2 on any [`Problem`]; the drop-in form prints one line and goes
//! on.

mod duration;
mod keys;
mod layer;
mod level;
mod problem;
mod schema;
mod units;

pub use duration::{BadSpan, DurationMs};
pub use keys::{ConfigKey, Floor, KEYS, ProjectMay, ValueKind};
pub use layer::{File, FlagValue, Resolved, Sources, ValueOrigin, resolve};
pub use level::{Levels, Threshold};
pub use problem::{ConfigSource, Problem, ProblemKind, Retired, counts};
pub use schema::{
    AfterError, Archive, AskDefault, AutoArchive, Compat, Config, Context, Control, Delivery, GitPolicy,
    Handoff, Hooks, Journal, Layout, Notify, NotifyEvent, NotifyTerminal, OnHangup, Profile, Program, Reap,
    Recovery, Restart, RestartMode, SizePolicy, SummaryMode, Terminal,
};
pub use units::{BadUnit, CellSize, PrefixKey, QuietHours};
