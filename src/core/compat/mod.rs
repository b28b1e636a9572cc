//! Compatibility with the five source documents (`docs/SEEDS.md`), for people who used another way to carry
//! work over. A part is active only if the configuration asks for it, and nothing else in the core depends on
//! it.
//!
//! | file | holds |
//! |---|---|
//! | `session` | the only way in: what happens in a session, and the work that follows |
//! | `layouts` | a handoff in the formats of other tools (`handoff.views`): texts, and the files that change |
//! | `boxes` | the messages of documents 001 and 002 between two sessions |
//! | `watched_files`, `script_files` | `.restart-session`, an orchestrator's files, and `.current-session` |
//! | `context_status` | the line of `.context-status` |
//! | `session_log` | the lines of `auto-session.log` |
//! | `profiles`, `profile_files` | the levels of each document, and its own configuration file |

mod boxes;
mod context_status;
mod layouts;
mod profile_files;
mod profiles;
mod script_files;
mod session;
mod session_log;
mod watched_files;

pub use layouts::Material;
pub use layouts::layout_place::LayoutPlace;
pub use layouts::memory::MemoryReason;
pub use layouts::memory_layout::MemoryLayout;
pub use script_files::CurrentSession;
pub use session::{CompatWork, SessionCompat};
pub use session_log::SessionLogContext;
pub use watched_files::{FileReport, WatchedFiles};
