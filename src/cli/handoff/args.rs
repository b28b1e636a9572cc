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
    /// The id of the handoff that waits here; exit code 1 when none does
    Id {
        #[command(flatten)]
        at: Where,
        /// Not that: the id that a handoff made now would have
        #[arg(long)]
        new: bool,
    },
    /// Where hopty asks before it hands over: ask again in five minutes
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
            HandoffVerb::Load(options) => options.which.at.json,
            HandoffVerb::Snooze(session) | HandoffVerb::Dismiss(session) => session.json,
            HandoffVerb::Clear(which) | HandoffVerb::Path { which, .. } => which.at.json,
        }
    }
}
