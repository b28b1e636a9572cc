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

/// Which conversation is shown, and in which form.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowOptions {
    /// The conversation: its id or the begin of it, its title or a part of it, or its transcript
    #[arg(value_name = "ID")]
    pub which: String,
    /// Show what tools were given and what they answered
    #[arg(long)]
    pub tools: bool,
    /// Show Claude's thinking
    #[arg(long)]
    pub thinking: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["markdown", "html"])]
    pub json: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "html")]
    pub markdown: bool,
    /// Print one page of HTML that needs nothing else
    #[arg(long)]
    pub html: bool,
    /// Leave secrets as they are
    #[arg(long)]
    pub no_redact: bool,
}

/// What is searched for, and where.
#[derive(Debug, Args)]
pub(in crate::cli) struct SearchOptions {
    /// A regular expression, matched against each line of text
    #[arg(value_name = "REGEX")]
    pub pattern: String,
    /// Ignore case
    #[arg(long, short)]
    pub ignore_case: bool,
    /// Show N lines before and behind each that matches
    #[arg(long, short = 'C', default_value_t = 0, value_name = "N")]
    pub context: usize,
    /// Search what tools were given and what they answered, and Claude's thinking, too
    #[arg(long)]
    pub tools: bool,
    /// Search only the conversations of this directory's project
    #[arg(long)]
    pub here: bool,
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// Whose chain is shown.
#[derive(Debug, Args)]
pub(in crate::cli) struct ChainOptions {
    /// The conversation, as for `show`; by default the last one of this directory
    #[arg(value_name = "ID")]
    pub which: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConversationsVerb {
    /// List the conversations of this directory's project, the last used first
    Ls(LsOptions),
    /// Show a conversation to read, or in a form to share
    ///
    /// Each tool call is one line unless you say --tools. In a terminal the text goes through $PAGER, or
    /// `less -R`. Secrets that hopty recognizes are replaced by marks.
    Show(ShowOptions),
    /// Search everything that you and Claude wrote
    ///
    /// It searches Claude's transcripts, archived ones, and those that only a handoff has kept. Exit codes: 0
    /// something was found, 1 nothing was.
    Search(SearchOptions),
    /// Show one task through all its hand-overs, oldest conversation first
    Chain(ChainOptions),
}

impl ConversationsVerb {
    /// Whether errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            ConversationsVerb::Ls(options) => options.json,
            ConversationsVerb::Show(options) => options.json,
            ConversationsVerb::Search(options) => options.json,
            ConversationsVerb::Chain(options) => options.json,
        }
    }
}
