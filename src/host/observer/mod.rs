//! The observer reads Claude's and the project's files. It knows the transcript, the sessions file,
//! signal files, the status line, how full the context window is and which usage limits are reached.
//!
//! It reads no file itself. The [`FileReader`] does, on a thread that borrows it for one scan at a time,
//! so that a hanging disk delays nothing else. A scan starts when inotify reports a change, when a hook or a
//! person asks, and, if nothing reports changes, every 250 ms and less often while nothing
//! happens.
//!
//! | file | holds |
//! |---|---|
//! | `claude_observer` | what is taken from scans, hooks and the status line |
//! | `growing_file_reader` | one scan: the transcript's new bytes, the sessions file, signal files, the session's own files |
//! | `signal_files` | files with which scripts request a restart |
//! | `scan_queue` | when to scan, for what, and who waits for it |
//! | `transcript_watch` | the facts of the conversation, and what was reported to the supervisor |
//! | `turns` | when a turn begins and ends, if no hook reports it |
//! | `status_line` | Claude's status line: the window that it reports |
//! | `context_usage_sources`, `usage_limits` | how full the window is; which limit is reached |
//! | `session_topic` | what the conversation is about |
//! | `unwritten_turn_check` | whether the transcript grew with the turn |

mod claude_observer;
mod context_usage_sources;
mod growing_file_reader;
mod scan_queue;
mod session_topic;
mod signal_files;
pub(super) mod status_line;
mod transcript_watch;
mod turns;
mod unwritten_turn_check;
mod usage_limits;

pub(super) use growing_file_reader::{
    DeviceInode, FileReader, OwnFiles, ScanOrder, ScanResult, SessionFiles, file_id,
};
pub(super) use scan_queue::{AfterScan, ScanWaiter};
pub(super) use session_topic::topic_line;
pub(super) use transcript_watch::TranscriptWatch;
pub(super) use usage_limits::earlier_limit_reset;

use scan_queue::ScanQueue;
use unwritten_turn_check::UnwrittenTurnCheck;

use crate::core::claude::args::OwnArgs;
use crate::core::claude::language_model::LanguageModel;
use crate::core::claude::statusline_payload::StatusLine;
use crate::core::claude::tasks::Tasks;
use crate::core::ids::ConversationId;
use crate::core::supervisor::action::RestartBy;
use crate::core::time::Stamp;

/// A handoff that waits for the lines of the last turn.
#[derive(Debug)]
struct LateSave {
    by: RestartBy,
    claim_for: ConversationId,
    /// When to look again, and when to give up.
    look: Stamp,
    until: Stamp,
}

/// What is known of Claude's files, and when to read them next.
#[derive(Debug)]
pub(super) struct Observer {
    scans: ScanQueue,
    transcript: Option<TranscriptWatch>,
    /// Claude's task list at the end of the previous conversation: after a hand-over both share one list.
    tasks: Tasks,
    unwritten_turn: UnwrittenTurnCheck,
    late_save: Option<LateSave>,
    /// The person's last prompt in the conversations before, which a hand-over continues.
    prompt_before: Option<String>,
    name_before: Option<String>,
    /// The last dialog that a hook reported: its kind, and its subject.
    dialog: Option<(String, String)>,
    /// The model that Claude runs.
    model: LanguageModel,
    /// Claude's working directory as its hooks report it, when it differs from the session's.
    working_dir: Option<String>,
    /// Claude's last status line, and when it arrived.
    status_line: Option<(StatusLine, Stamp)>,
    /// The status line of a conversation that no hook has named yet.
    early_status_line: Option<(StatusLine, Stamp)>,
    /// The person's own arguments.
    own: OwnArgs,
    /// Whether the program is Claude. No files are read for other programs.
    claude: bool,
    /// `context.window`; 0 when it is not set.
    configured_window: u64,
    /// Whether people were told that the file system reports no changes.
    polling_reported: bool,
    /// No hook reports turns or names the transcript, so hopty must find it.
    turns_by_transcript: bool,
    /// When the files were last polled.
    polled: Stamp,
    /// How long a call or a request waits for a scan, in ms.
    patience_ms: u64,
}
