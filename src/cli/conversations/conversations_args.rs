//! `hopty conversations` and its options, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Which conversations are listed, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct LsOptions {
    /// List those of all projects, not only of this directory's
    #[arg(long, short)]
    pub all: bool,
    /// List at most N, the last used first
    #[arg(long, short, value_name = "N")]
    pub number: Option<usize>,
    /// Read whole transcripts if their tokens or cost are not known yet
    #[arg(long)]
    pub full: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which conversation is shown, and in which form.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowOptions {
    /// The conversation: its id or a prefix of it, its title or a part of it, or its transcript
    #[arg(value_name = "ID")]
    pub which: String,
    /// Show the input and output of tools
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
    /// Print one self-contained HTML page
    #[arg(long)]
    pub html: bool,
    /// Do not replace secrets
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
    /// Show N lines before and after each match
    #[arg(long, short = 'C', default_value_t = 0, value_name = "N")]
    pub context: usize,
    /// Search the input and output of tools and Claude's thinking, too
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

/// Which conversations are archived, and how.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct ArchiveOptions {
    /// The conversations: ids, prefixes of ids, titles or transcripts; all that are old enough by default
    #[arg(value_name = "CONVERSATION")]
    pub conversations: Vec<String>,
    /// Archive those not used for this many days, such as 10d
    #[arg(long, value_name = "DAYS", value_parser = days, conflicts_with = "conversations")]
    pub older_than: Option<u64>,
    /// Remove each from Claude's directory after the archive was read back and compared
    #[arg(long)]
    pub remove: bool,
    /// Only list them, and say when Claude deletes conversations
    #[arg(long)]
    pub dry_run: bool,
    /// List what is in the archive
    #[arg(long, conflicts_with_all = ["conversations", "older_than", "remove", "dry_run", "prune"])]
    pub list: bool,
    /// List the oldest archived conversations to delete until the archive is within archive.max_mb
    #[arg(long, conflicts_with_all = ["conversations", "older_than", "remove"])]
    pub prune: bool,
    /// With --prune: delete them for good
    #[arg(long, requires = "prune")]
    pub yes: bool,
    /// Archive what a Claude in DIR would delete soon, as a session's start there does in the background
    #[arg(long, hide = true, value_name = "DIR", num_args = 0..=1, default_missing_value = "/")]
    pub auto: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which archived conversation is restored, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct RestoreOptions {
    /// The conversation: its id, a prefix of its id, its title, or its file in the archive
    #[arg(value_name = "CONVERSATION", allow_hyphen_values = true)]
    pub conversation: String,
    /// Keep the times of its files even if Claude would delete them soon because of their age
    #[arg(long)]
    pub keep_times: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which conversations move, and where to.
#[derive(Debug, Args)]
pub(in crate::cli) struct MoveOptions {
    /// The conversation, as for `show`
    #[arg(value_name = "ID", required_unless_present = "from", conflicts_with = "from")]
    pub which: Option<String>,
    /// Move all conversations of this directory and of those below it; it need not exist any more
    #[arg(long, value_name = "OLDDIR", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,
    /// The new directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: PathBuf,
    /// Only say what would be moved
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which conversation is copied, and where to.
#[derive(Debug, Args)]
pub(in crate::cli) struct CopyOptions {
    /// The conversation, as for `show`
    #[arg(value_name = "ID")]
    pub which: String,
    /// The directory of the copy; by default that of the conversation itself
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,
    /// Only say what would be copied
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which conversation is exported, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportPackageOptions {
    /// The conversation, as for `show`
    #[arg(value_name = "ID")]
    pub which: String,
    /// The file, which must not exist; `-` or none for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace secrets that hopty recognizes with placeholders, and omit file history
    #[arg(long)]
    pub redact: bool,
}

/// Which package is imported, and how.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportOptions {
    /// The package; `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The new directory; by default the one to which it belonged, if that exists here
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,
    /// Give it a new id, for example if a conversation with its id exists here
    #[arg(long)]
    pub new_id: bool,
    /// Keep the times of its files even if Claude would delete them soon because of their age
    #[arg(long)]
    pub keep_times: bool,
    /// Check the whole package and say what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Parses a number of days: `10d` or `10`.
fn days(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('d').unwrap_or(text);
    number.parse().map_err(|_| "write a whole number of days, such as 10d".to_owned())
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConversationsVerb {
    /// List the conversations of this directory's project, the last used first
    Ls(LsOptions),
    /// Show a conversation, as text or in a format to share
    ///
    /// Each tool call is one line unless you say --tools. In a terminal the text goes through $PAGER, or
    /// `less -R`. hopty replaces secrets that it recognizes.
    Show(ShowOptions),
    /// Search everything that you and Claude wrote
    ///
    /// It searches Claude's transcripts, archived ones, and those that only a handoff has kept. Exit codes: 0
    /// something was found, 1 nothing was.
    Search(SearchOptions),
    /// Show one task through all its hand-overs, oldest conversation first
    Chain(ChainOptions),
    /// Compress conversations into hopty's archive, where Claude does not delete them
    ///
    /// Each is read back and compared. It stays where it is, unless you say --remove. An open conversation is
    /// left alone. Without a name, it archives those that were not used for 10 days, and those that Claude
    /// would delete within 10 days.
    Archive(ArchiveOptions),
    /// Restore an archived conversation without replacing an existing one
    Restore(RestoreOptions),
    /// Move a conversation to another directory, or all conversations of a directory that was renamed
    ///
    /// Claude then lists and resumes it in DIR. Paths in its lines change from the old directory to the new
    /// one; nothing that you or Claude wrote changes. hopty writes everything anew, reads it back and
    /// compares it before it removes the old files. An open conversation is left alone, and no file is ever
    /// replaced. If it was interrupted, the next move, copy or import finishes or undoes it.
    Move(MoveOptions),
    /// Copy a conversation under a new id, to the same or another directory
    ///
    /// The two are independent. hopty makes the copy as `move` does, and only reads the source.
    Copy(CopyOptions),
    /// Write a conversation to a package, with everything that Claude needs to continue it elsewhere
    ///
    /// The package (a tar.gz with a hash of each file) has the transcript, sub-agents, tool results, tasks,
    /// file history, pasted images and the plan; no settings and no credentials. A file is readable only by
    /// you, and read back before it gets its name. An open conversation is not exported.
    Export(ExportPackageOptions),
    /// Import a conversation from a package without replacing an existing one
    ///
    /// hopty unpacks and checks the whole package before it puts anything in place, as `move` does:
    /// paths in its lines follow. Claude believes what a conversation says: import only what you would let
    /// Claude read.
    Import(ImportOptions),
}
