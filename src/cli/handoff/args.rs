//! `hopty handoff` and its options, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::core::ids::{Channel, ConversationId};

/// Where to look, and how to answer.
#[derive(Debug, Args)]
pub(in crate::cli) struct Where {
    /// The channel; that of this directory when left out
    #[arg(long, value_name = "NAME")]
    pub channel: Option<Channel>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Which handoff.
#[derive(Debug, Args)]
pub(in crate::cli) struct Which {
    /// Its id, or as much of it as only one has; the one that waits here when left out
    pub id: Option<String>,
    #[command(flatten)]
    pub at: Where,
}

/// Which session.
#[derive(Debug, Args)]
pub(in crate::cli) struct Session {
    /// Its name; may be left out when only one is meant
    pub name: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// What a handoff is made from.
#[derive(Debug, Args)]
pub(in crate::cli) struct CreateOptions {
    /// What makes it: auto, manual, signal or crash
    #[arg(long = "type", default_value = "manual", value_name = "TYPE")]
    pub kind: String,
    /// The transcript; that of this session or directory when left out
    #[arg(long, value_name = "PATH")]
    pub transcript: Option<PathBuf>,
    /// A file with a summary to put in, `-` for standard input
    #[arg(long, visible_alias = "summary", value_name = "FILE")]
    pub summary_file: Option<PathBuf>,
    #[command(flatten)]
    pub at: Where,
}

/// What of a handoff is shown: its document when none is given.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowOptions {
    #[command(flatten)]
    pub which: Which,
    /// What the next conversation would get of it
    #[arg(long, conflicts_with = "redactions")]
    pub frame: bool,
    /// What was hidden in it, and where that stands in the raw copies
    #[arg(long)]
    pub redactions: bool,
}

/// Who loads a handoff.
#[derive(Debug, Args)]
pub(in crate::cli) struct LoadOptions {
    #[command(flatten)]
    pub which: Which,
    /// The conversation that gets it; a new id is made when left out
    #[arg(long, value_name = "UUID")]
    pub session: Option<ConversationId>,
    /// The process for whose life the claim holds; the session's host, or who called hopty, when left out
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// What is to fit.
#[derive(Debug, Args)]
pub(in crate::cli) struct FitOptions {
    /// How much the work will take, in tokens
    pub tokens: u64,
    /// Into which window: a session, a transcript, a conversation's id or a directory
    #[arg(long, value_name = "PATH|NAME")]
    pub of: Option<String>,
    /// Say it in the words of an orchestrator, for the phase of this name
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Which messages.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecentOptions {
    /// How many
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    pub number: usize,
    /// The transcript; that of this session or directory when left out
    #[arg(long, value_name = "PATH")]
    pub transcript: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Which conversation, and what of it.
#[derive(Debug, Args)]
pub(in crate::cli) struct SessionOptions {
    /// A session, a transcript, a conversation's id or a directory; this session or directory when left out
    #[arg(value_name = "PATH|NAME")]
    pub which: Option<String>,
    /// Only the id
    #[arg(long, conflicts_with = "transcript")]
    pub id: bool,
    /// Only the transcript's path
    #[arg(long)]
    pub transcript: bool,
    /// Write it to `.current-session`, too
    #[arg(long, conflicts_with = "clear")]
    pub write: bool,
    /// Remove `.current-session` instead
    #[arg(long)]
    pub clear: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HandoffVerb {
    /// Save a handoff now, and print its id
    Create(CreateOptions),
    /// Show a handoff
    Show(ShowOptions),
    /// The handoffs that wait here
    List {
        /// Those of all channels, and what is over
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        at: Where,
    },
    /// Claim a handoff and print what the next conversation gets of it
    Load(LoadOptions),
    /// Put a handoff aside: it waits no more
    Clear(Which),
    /// Where a handoff's document lies
    Path {
        #[command(flatten)]
        which: Which,
        /// The directory of its record
        #[arg(long)]
        record: bool,
    },
    /// Whether work of so many tokens still fits into the window, with a margin of a fifth
    Fit(FitOptions),
    /// The last prompts and answers of the conversation, at most 12
    Recent(RecentOptions),
    /// Which conversation this is, and where its transcript lies: ID:PATH
    Session(SessionOptions),
    /// The id of the handoff that waits here; exit code 1 when none does
    Id {
        #[command(flatten)]
        at: Where,
        /// Not that: the id that a handoff made now would have
        #[arg(long)]
        new: bool,
    },
    /// No hand-over because of a full context for a while (`restart.snooze`); where hopty asks first, it asks again then
    Snooze(Session),
    /// Where hopty asks before it hands over: ask no more in this conversation
    Dismiss(Session),
}

impl HandoffVerb {
    /// Whether errors are to be given as JSON too.
    pub fn wants_json(&self) -> bool {
        match self {
            HandoffVerb::Create(options) => options.at.json,
            HandoffVerb::Show(options) => options.which.at.json,
            HandoffVerb::List { at, .. } | HandoffVerb::Id { at, .. } => at.json,
            HandoffVerb::Fit(options) => options.json,
            HandoffVerb::Recent(options) => options.json,
            HandoffVerb::Session(options) => options.json,
            HandoffVerb::Load(options) => options.which.at.json,
            HandoffVerb::Snooze(session) | HandoffVerb::Dismiss(session) => session.json,
            HandoffVerb::Clear(which) | HandoffVerb::Path { which, .. } => which.at.json,
        }
    }
}
