//! The verbs and their options, as clap reads them. Nothing is run here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::channel::ChannelVerb;
use super::config::ConfigVerb;
use super::handoff::args::HandoffVerb;
use crate::core::config::Span;
use crate::core::ids::SessionName;

/// All that is hopty's own. Where the first word is no verb, `--help` and `--version` are Claude's, so none of them stands here.
#[derive(Debug, Parser)]
#[command(
    name = "hopty",
    about = concat!("hopty ", env!("CARGO_PKG_VERSION"), ": run it in place of claude, and Claude Code never runs out of context."),
    override_usage = "hopty [--detached] [--handoff[=ID]] [CLAUDE ARGS...]\n       hopty VERB [ARGS...]",
    after_help = NOTES,
    help_template = "{about}\n\nUsage: {usage}\n\nVerbs:\n{subcommands}{after-help}\n",
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

impl Cli {
    /// Reads the arguments behind the program's name.
    ///
    /// # Errors
    /// As clap's, when they are wrong or ask for help.
    pub fn read(args: &[OsString]) -> Result<Cli, clap::Error> {
        // To make all verbs first would be a tenth of the time that coming back takes (`cargo bench --bench attach`).
        if let Some(options) = AttachOptions::plain(args) {
            return Ok(Cli { verb: Verb::Attach(options) });
        }
        Cli::try_parse_from(std::iter::once(&OsString::from("hopty")).chain(args))
    }
}

/// What stands below the verbs; clap breaks its lines.
pub(super) const NOTES: &str = "\
`hopty [CLAUDE ARGS...]` is `claude [CLAUDE ARGS...]`, supervised: `hopty --help` and `hopty --version` are Claude's. \
`hopty -- ARGS...` gives ARGS to Claude even when the first word is a verb. `hopty VERB --help` tells more of a verb.

In a session: ctrl-\\ and then d detaches, ctrl-\\ and then ? shows the other keys.

Exit codes: the program's own (128 + n for a signal), and for verbs 0 done, 1 it did not happen, 2 bad usage or \
configuration, 3 no session is meant, 4 refused, 125 hopty failed, 126 not executable, 127 not found.";

/// How a screen is shown; as plain text when none is given.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub(super) struct PictureForm {
    /// With the sequences for colours and looks
    #[arg(long)]
    pub ansi: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// As an image
    #[arg(long)]
    pub svg: bool,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub(super) struct RunOptions {
    /// Name of the session; the directory's name when left out
    #[arg(long)]
    pub name: Option<String>,
    /// Start it, leave it running and print its name
    #[arg(long)]
    pub detached: bool,
    /// How many restarts are allowed within `restart.window`
    #[arg(long, value_name = "N")]
    pub max_restarts: Option<u32>,
    /// Give Claude no hooks
    #[arg(long)]
    pub no_inject: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Options of `attach`.
#[derive(Debug, Args)]
pub(super) struct AttachOptions {
    /// The session
    pub name: Option<String>,
    /// Only look: nothing that is typed reaches the program
    #[arg(long, short)]
    pub read_only: bool,
}

impl AttachOptions {
    /// `attach` and `attach NAME`, which need no parser. Whatever else it is, is for clap.
    fn plain(args: &[OsString]) -> Option<AttachOptions> {
        match args {
            [verb] if verb == "attach" => Some(AttachOptions { name: None, read_only: false }),
            [verb, name] if verb == "attach" => {
                let name: SessionName = name.to_str()?.parse().ok()?;
                Some(AttachOptions { name: Some(name.to_string()), read_only: false })
            }
            _ => None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Supervise any program: hopty run -- vim notes.txt
    Run(RunOptions),
    /// List the sessions
    Ls {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Ended ones too
        #[arg(long)]
        all: bool,
        /// Only the names, one a line; no host is asked
        #[arg(long, conflicts_with = "json")]
        names: bool,
    },
    /// Bring a session into this terminal
    Attach(AttachOptions),
    /// Send the terminals of a session away; it goes on
    Detach {
        /// The session
        name: Option<String>,
        /// Only this client, by its number in `hopty status --json`
        #[arg(long)]
        client: Option<u32>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Hand off and start fresh at the next safe point; a program that is not Claude is stopped and started again at once
    Restart {
        /// The session
        name: Option<String>,
        /// Do not wait for a turn's end
        #[arg(long)]
        now: bool,
        /// Start fresh without a handoff
        #[arg(long)]
        no_handoff: bool,
        /// Wait until the new conversation has its prompt
        #[arg(long)]
        wait: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Go back from the conversation that a hand-over began to the one before it
    ///
    /// In a session that runs, it ends Claude and resumes that conversation in its place. Of one that has ended it says how to resume it.
    Back {
        /// The session
        name: Option<String>,
        /// Do not wait for a turn's end
        #[arg(long)]
        now: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// End a session for good
    Stop {
        /// The session
        name: Option<String>,
        /// With SIGKILL, at once
        #[arg(long)]
        kill: bool,
        /// Errors as JSON
        #[arg(long)]
        json: bool,
    },
    /// Type into a session: a text, keys by name, or what is on standard input
    ///
    /// Keys are named enter, tab, escape, space, backspace, delete, insert, up, down, left, right, home, end, pageup, pagedown,
    /// f1 to f12, ctrl-a to ctrl-z, shift-tab, shift-enter, alt- and a key, and every single character by itself.
    #[command(
        override_usage = "hopty send NAME TEXT [--submit]\n       hopty send [NAME] --keys KEYS\n       hopty send [NAME] --stdin [--submit]"
    )]
    Send {
        /// The session, and the text; the session alone with --keys and --stdin
        #[arg(num_args = 0..=2, value_name = "NAME, TEXT")]
        words: Vec<String>,
        /// Names of keys, such as ctrl-c,enter
        #[arg(long, value_delimiter = ',', value_name = "KEYS", conflicts_with = "stdin")]
        keys: Vec<String>,
        /// Take the text from standard input
        #[arg(long)]
        stdin: bool,
        /// Submit the text as a prompt, and say what became of it: submitted, queued, unknown, or refused
        #[arg(long, conflicts_with = "keys")]
        submit: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Wait until a session is idle, busy, blocked or over, or shows a text
    ///
    /// Conditions are idle, busy, blocked, exit, and text=REGEX, which is looked for in the rows of the screen: `^` and `$` are the
    /// edges of a row. Exit codes: 0 it is so, 1 not within the time, 3 no session.
    #[command(override_usage = "hopty wait [OPTIONS] [NAME] CONDITION")]
    Wait {
        /// The session, when more than one may be meant, and then the condition
        #[arg(num_args = 0..=2, value_name = "NAME, CONDITION")]
        words: Vec<String>,
        /// How long, such as 500ms, 30s or 2m
        #[arg(long, default_value = "30s", value_name = "TIME")]
        timeout: Span,
        /// Only a state that began after this line of the journal, as `send --submit --json` names it
        #[arg(long, default_value_t = 0, value_name = "SEQ")]
        since: u64,
        /// The session as JSON, once it is so
        #[arg(long)]
        json: bool,
    },
    /// What is on a session's screen now
    Screen {
        /// The session
        name: Option<String>,
        /// The lines that have left it at the top, too
        #[arg(long)]
        history: bool,
        #[command(flatten)]
        form: PictureForm,
    },
    /// What a terminal would show after the bytes on standard input
    ScreenDump {
        /// Columns of the terminal
        #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u16).range(1..=1000), value_name = "C")]
        cols: u16,
        /// Rows of the terminal
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=1000), value_name = "R")]
        rows: u16,
        #[command(flatten)]
        form: PictureForm,
    },
    /// Show one session in full
    Status {
        /// The session
        name: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The decisions of a session as JSON lines
    Events {
        /// The session
        name: Option<String>,
        /// Go on as they come
        #[arg(long, short)]
        follow: bool,
        /// They always are
        #[arg(long, hide = true)]
        json: bool,
    },
    /// The decisions of a session for people
    Log {
        /// The session
        name: Option<String>,
        /// Go on as they come
        #[arg(long, short)]
        follow: bool,
        /// The same as `hopty events`
        #[arg(long)]
        json: bool,
    },
    /// The last decision, explained
    Why {
        /// The session
        name: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// How full a conversation's window is, and where each number comes from
    Context {
        /// A session, a transcript, a conversation's id or a directory; this session or directory when left out
        #[arg(value_name = "PATH|NAME")]
        which: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Every source that was looked at: what it says, how old that is, whether it was taken and why
        #[arg(long)]
        explain: bool,
        /// One word: OK, WARNING or HANDOFF_REQUIRED
        #[arg(long)]
        status: bool,
    },
    /// The handoffs: save, show, list, load and clear them
    #[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
    Handoff {
        #[command(subcommand)]
        verb: HandoffVerb,
    },
    /// The name under which a directory's handoffs are kept
    #[command(args_conflicts_with_subcommands = true, subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
    Channel {
        #[command(subcommand)]
        verb: Option<ChannelVerb>,
        /// The directory; this one when left out
        path: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// All sessions on one screen
    Dash,
    /// Run the events of a journal through the supervisor again
    Replay {
        /// A journal.jsonl
        journal: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The whole loop on a built-in stand-in: no account, no network, under a minute
    Demo {
        /// Leave the files and say where they are
        #[arg(long)]
        keep: bool,
    },
    /// The configuration that is in force here, and where each value came from
    #[command(args_conflicts_with_subcommands = true, subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
    Config {
        #[command(subcommand)]
        verb: Option<ConfigVerb>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Whether all is there that hopty needs here, and what to do about what is not
    Check {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// What a shell reads to complete verbs, options and the names of sessions
    ///
    /// bash, in ~/.bashrc: `source <(hopty completions bash)`
    ///
    /// zsh, in ~/.zshrc behind compinit: `source <(hopty completions zsh)`
    ///
    /// fish, in ~/.config/fish/config.fish: `hopty completions fish | source`
    Completions {
        /// The shell
        shell: Shell,
    },
    /// The manual page of hopty, or of a verb
    ///
    /// Shown in a terminal; into a file or a pipe it is the page's source: hopty man > hopty.1
    Man {
        /// The verb, such as `send` or `handoff show`
        verb: Vec<String>,
    },
}

impl Verb {
    /// Whether errors are to be given as JSON too.
    pub fn wants_json(&self) -> bool {
        match self {
            Verb::Ls { json, .. }
            | Verb::Detach { json, .. }
            | Verb::Restart { json, .. }
            | Verb::Back { json, .. }
            | Verb::Stop { json, .. }
            | Verb::Send { json, .. }
            | Verb::Wait { json, .. }
            | Verb::Status { json, .. }
            | Verb::Events { json, .. }
            | Verb::Log { json, .. }
            | Verb::Why { json, .. }
            | Verb::Check { json }
            | Verb::Replay { json, .. } => *json,
            Verb::Context { json, .. } => *json,
            Verb::Channel { verb: Some(ChannelVerb::Set { json, .. } | ChannelVerb::List { json }), .. }
            | Verb::Channel { verb: None, json, .. } => *json,
            Verb::Config { verb: Some(ConfigVerb::Show { json }), .. } | Verb::Config { verb: None, json } => *json,
            Verb::Config { .. } => false,
            Verb::Handoff { verb } => verb.wants_json(),
            Verb::Screen { form, .. } | Verb::ScreenDump { form, .. } => form.json,
            Verb::Run(_) | Verb::Attach(_) | Verb::Dash | Verb::Demo { .. } | Verb::Completions { .. } | Verb::Man { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_parser_is_read_as_the_parser_reads_it() {
        for words in [
            &["attach"][..],
            &["attach", "proj-2"],
            &["attach", "-r"],
            &["attach", "--help"],
            &["attach", "NO"],
            &["attach", "a", "b"],
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            if let Some(plain) = AttachOptions::plain(&words) {
                let Ok(Cli { verb: Verb::Attach(parsed) }) =
                    Cli::try_parse_from(std::iter::once(&OsString::from("hopty")).chain(&words))
                else {
                    panic!("{words:?} is not taken");
                };
                assert_eq!((plain.name, plain.read_only), (parsed.name, parsed.read_only));
            } else {
                assert!(words.len() > 1 && words[1] != "proj-2", "{words:?}");
            }
        }
    }
}
