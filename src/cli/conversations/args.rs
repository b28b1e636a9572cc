//! `hopty conversations` and its options, as clap reads them.

use clap::{Args, Subcommand};

/// Which conversations are listed, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct LsOptions {
    /// List those of all projects, not only of this directory's
    #[arg(long, short)]
    pub all: bool,
    /// List at most N, the last used first
    #[arg(long, short, value_name = "N")]
    pub number: Option<usize>,
    /// Read every transcript to its end where tokens or cost are not known yet
    #[arg(long)]
    pub full: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConversationsVerb {
    /// List the conversations of this directory's project, the last used first
    Ls(LsOptions),
}

impl ConversationsVerb {
    /// Whether errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            ConversationsVerb::Ls(options) => options.json,
        }
    }
}
