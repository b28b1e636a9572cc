//! Jobs: what the host writes, and what it has read, git asked or compressed, on threads. The loop waits for
//! none of them.
//!
//! | file | holds |
//! |---|---|
//! | `handoffs` | handoffs: saved, claimed, consumed; the brief of the one on its way; transcripts compressed; answers of the threads |
//! | `lineage` | `--handoff`, and what a conversation has from before it |
//! | `note` | Claude's own words for the next handoff |
//! | `drift` | whether the work tree is still the one that a handoff was made in |
//! | `layouts` | handoffs in other tools' formats, and what is printed between two runs |
//! | `start_code` | what runs code when Claude starts, and whether a person accepted it |
//! | `journal`, `disk_writer` | the journal; the thread that writes it, the session's file and `host.log` |
//! | `log`, `session_log` | `host.log`; `auto-session.log` |

mod disk_writer;
pub mod drift;
pub(super) mod handoffs;
mod journal;
mod layouts;
mod lineage;
pub(super) mod log;
mod note;
mod session_log;
pub(super) mod start_code;

pub(super) use handoffs::{Brief, COPIER, Done, LAUNCH_WRITER, READER};
pub(super) use journal::Journal;
pub(super) use layouts::MemoryCopies;
pub(super) use lineage::Lineage;
pub(super) use note::NoteState;
pub(super) use session_log::RunLog;
pub(super) use start_code::{AcceptedCode, CodeCheck};
