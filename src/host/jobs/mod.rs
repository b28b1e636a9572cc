//! Jobs: everything that the host writes, reads, compresses or asks git, on threads. The loop waits for
//! none of them.
//!
//! [`Jobs`] owns the threads, the journal, the handoff being delivered and its origin, and the settings
//! that a person accepted. The result of a job is a [`JobEvent`], which `wiring/jobs` handles.
//!
//! | file | holds |
//! |---|---|
//! | `job_threads` | the threads, what is submitted to them, and the results of their jobs |
//! | `handoffs` | saving, claiming and consuming handoffs; the brief being delivered; compressing transcripts |
//! | `inherited_handoff` | `--handoff`, and what a conversation inherits |
//! | `note_so_far` | Claude's own words for the next handoff |
//! | `drift_check` | whether the work tree is still the one that a handoff was made in |
//! | `code_approval` | settings that run code when Claude starts, and whether a person accepted them |
//! | `journal_queue`, `disk_writer_thread` | the journal; the thread that writes it, the session's file and `host.log` |
//! | `compat_work` | the source documents' own forms |
//! | `ask_answer` | the person's answer in mode `ask` |
//! | `conversation_page` | the end of the conversation before a hand-over |
//! | `session_file` | when `session.json` is written |
//! | `shared_conversation` | whether another session runs the followed conversation, too |
//! | `log` | `host.log` |

mod ask_answer;
pub(super) mod code_approval;
mod compat_work;
mod conversation_page;
mod disk_writer_thread;
pub mod drift_check;
mod handoffs;
mod inherited_handoff;
mod job_threads;
mod journal_queue;
pub(super) mod log;
mod note_so_far;
mod session_file;
mod shared_conversation;

pub(super) use ask_answer::recalled_ask_answer;
pub(super) use code_approval::CodeFound;
pub(super) use conversation_page::no_conversation_page;
pub(super) use handoffs::{Brief, RestartReason};
pub(super) use job_threads::JobEvent;
pub(super) use journal_queue::JournalEvent;
pub(super) use note_so_far::NoteState;

use code_approval::CodeApproval;
use inherited_handoff::InheritedHandoff;
use journal_queue::Journal;
use session_file::SessionFile;
use shared_conversation::SharedConversation;

use crate::core::config::Config;
use crate::fs::paths::Paths;
use crate::sys::worker::Worker;

/// The threads, and what they write.
#[derive(Debug)]
pub(super) struct Jobs {
    /// Jobs that a hand-over waits for, and small files.
    worker: Worker<JobEvent>,
    /// Jobs that may take any time, on a thread of their own so that no hand-over waits for them.
    copier: Worker<JobEvent>,
    /// Reads Claude's and the project's files.
    reader: Worker<JobEvent>,
    /// Writes the files that a launch needs.
    launch_writer: Worker<JobEvent>,
    pub journal: Journal,
    pub session_file: SessionFile,
    pub shared: SharedConversation,
    /// The reason for the last restart.
    pub reason: RestartReason,
    /// Claude's own words for the next handoff.
    pub note: NoteState,
    /// The handoff being delivered, and its text for the new conversation.
    pub brief: Option<Brief>,
    pub inherited: InheritedHandoff,
    pub code: CodeApproval,
    paths: Paths,
    config: Config,
}
