//! `hopty handoff` and its options, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::core::ids::{Channel, ConversationId};

/// The channel to look in and the output format.
#[derive(Debug, Args)]
pub(in crate::cli) struct ChannelAndFormat {
    /// The channel; by default that of this directory
    #[arg(long, value_name = "NAME")]
    pub channel: Option<Channel>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct HandoffArg {
    /// Its id or a unique prefix; by default the handoff that waits here
    pub id: Option<String>,
    #[command(flatten)]
    pub at: ChannelAndFormat,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Session {
    /// The session; optional when only one matches
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateOptions {
    /// The type to record: auto, manual, signal or crash
    #[arg(long = "type", default_value = "manual", value_name = "TYPE")]
    pub kind: String,
    /// The transcript; by default that of this session or directory
    #[arg(long, value_name = "PATH")]
    pub transcript: Option<PathBuf>,
    /// Include the summary in this file (`-` for standard input)
    #[arg(long, visible_alias = "summary", value_name = "FILE")]
    pub summary_file: Option<PathBuf>,
    #[command(flatten)]
    pub at: ChannelAndFormat,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct HandoffShowOptions {
    #[command(flatten)]
    pub which: HandoffArg,
    /// Show the brief that the next conversation would get
    #[arg(long, conflicts_with = "redactions")]
    pub frame: bool,
    /// List the replaced secrets and their lines in the raw copies
    #[arg(long)]
    pub redactions: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LoadOptions {
    #[command(flatten)]
    pub which: HandoffArg,
    /// The conversation that loads it; a new id by default
    #[arg(long, value_name = "UUID")]
    pub session: Option<ConversationId>,
    /// The process that holds the claim while it lives; by default the session's host or the caller
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FitOptions {
    /// The tokens that the work will take
    pub tokens: u64,
    /// Whose window: a session, a transcript, a conversation id or a directory
    #[arg(long, value_name = "PATH|NAME")]
    pub of: Option<String>,
    /// Answer in an orchestrator's words for this phase
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RecentOptions {
    /// How many messages
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    pub number: usize,
    /// The transcript; by default that of this session or directory
    #[arg(long, value_name = "PATH")]
    pub transcript: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SessionOptions {
    /// A session, a transcript, a conversation id or a directory; this session or directory by default
    #[arg(value_name = "PATH|NAME")]
    pub which: Option<String>,
    /// Print only the id
    #[arg(long, conflicts_with = "transcript")]
    pub id: bool,
    /// Print only the path of the transcript
    #[arg(long)]
    pub transcript: bool,
    /// Write it to `.current-session` as well
    #[arg(long, conflicts_with = "clear")]
    pub write: bool,
    /// Remove `.current-session` instead
    #[arg(long)]
    pub clear: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HandoffVerb {
    /// Save a handoff now and print its id
    Create(CreateOptions),
    /// Show a handoff
    Show(HandoffShowOptions),
    /// List the handoffs that wait here
    List {
        /// Include all channels and finished handoffs
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        at: ChannelAndFormat,
    },
    /// Claim a handoff and print its brief
    Load(LoadOptions),
    /// Discard a handoff: it no longer waits
    Clear(HandoffArg),
    /// Print the path of a handoff's document
    Path {
        #[command(flatten)]
        which: HandoffArg,
        /// Print the directory of its record
        #[arg(long)]
        record: bool,
    },
    /// Check whether work of that many tokens fits into the window, with a margin of a fifth
    Fit(FitOptions),
    /// Print the last prompts and answers of the conversation, at most 12
    Recent(RecentOptions),
    /// Print the conversation and its transcript as ID:PATH
    Session(SessionOptions),
    /// Print the id of the handoff that waits here; exit code 1 if there is none
    Id {
        #[command(flatten)]
        at: ChannelAndFormat,
        /// Print the id that a handoff saved now would get
        #[arg(long)]
        new: bool,
    },
    /// Postpone automatic hand-overs for `restart.snooze`; in mode `ask`, ask again after that
    Snooze(Session),
    /// In mode `ask`: do not ask again in this conversation
    Dismiss(Session),
}
