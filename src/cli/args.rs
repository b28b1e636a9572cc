//! The verbs and their options, as clap reads them. Nothing is run here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use strum::VariantNames;

use super::ask::{AnswerOptions, AskOptions};
use super::backup::BackupVerb;
use super::channel::ChannelVerb;
use super::config::ConfigVerb;
use super::context::ContextOptions;
use super::conversations::conversations_args::ConversationsVerb;
use super::handoff::handoff_args::HandoffVerb;
use super::list::ListOptions;
use super::play::PlayRecordingOptions;
use super::send::SendOptions;
use super::token_usage::UsageOptions;
use super::wait::WaitOptions;
use crate::core::config::DurationMs;
use crate::core::ids::{ConversationId, SessionName};

/// hopty's own command line. Without a verb, `--help` and `--version` are Claude's, so they are not defined
/// here.
#[derive(Debug, Parser)]
#[command(
    name = "hopty",
    about = concat!("hopty ", env!("CARGO_PKG_VERSION"), ": run it in place of claude, and Claude Code never \
        runs out of context."),
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
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// clap's error, for bad usage or a request for help.
    pub fn read(args: &[OsString]) -> Result<Cli, clap::Error> {
        // Building the parser takes a tenth of the time of an attach (`cargo bench --bench attach`).
        if let Some(options) = AttachOptions::plain(args) {
            return Ok(Cli { verb: Verb::Attach(options) });
        }
        Cli::try_parse_from(std::iter::once(&OsString::from("hopty")).chain(args))
    }
}

/// The text below the list of verbs; clap wraps it.
pub(super) const NOTES: &str = "\
`hopty [CLAUDE ARGS...]` is `claude [CLAUDE ARGS...]`, supervised: `hopty --help` and `hopty --version` are \
Claude's if Claude is installed. \
`hopty -- ARGS...` passes ARGS to Claude even if the first word is a verb or looks like one. `hopty VERB \
--help` describes a verb.

In a session: press ctrl-\\ and then d to detach, ctrl-\\ and then ? for the other keys.

Exit codes: the program's own (128 + n for a signal); for verbs 0 success, 1 failure, 2 bad usage or \
configuration, \
3 no such session or no tape that matches, 4 refused, 125 hopty failed, 126 not executable, 127 not found.";

/// The format of a screen; plain text if none is given.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub(super) struct PictureForm {
    /// Include the escape sequences for colours and styles
    #[arg(long)]
    pub ansi: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print it as an SVG image
    #[arg(long)]
    pub svg: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunOptions {
    /// Name of the session and of Claude's conversation; the directory's name by default
    #[arg(long)]
    pub name: Option<String>,
    /// Give the session a label, by which `hopty ls --label` finds it; repeatable
    #[arg(long = "label", value_name = "LABEL")]
    pub labels: Vec<String>,
    /// Start it in the background and print its name
    #[arg(long)]
    pub detached: bool,
    /// Allow at most N restarts within `restart.window`
    #[arg(long, value_name = "N")]
    pub max_restarts: Option<u32>,
    /// Run Claude without hopty's hooks
    #[arg(long)]
    pub no_inject: bool,
    /// It resumes the conversation of a session that died
    #[arg(long, hide = true)]
    pub restored: bool,
    /// The conversation to which `hopty back` returned in that session
    #[arg(long, hide = true, requires = "restored")]
    pub before: Option<ConversationId>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(super) struct RestartOptions {
    /// The session
    pub name: Option<String>,
    /// Do not wait for the end of the turn
    #[arg(long)]
    pub now: bool,
    /// Start a fresh conversation without a handoff
    #[arg(long)]
    pub no_handoff: bool,
    /// Wait until the fresh conversation has its prompt
    #[arg(long)]
    pub wait: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RecordOptions {
    /// The session; with PROGRAM, the name of the new one
    pub name: Option<String>,
    /// The file; by default a new one in the session's directory
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// End the recording
    #[arg(long, conflicts_with_all = ["output", "input", "append", "overwrite", "max_size", "program"])]
    pub stop: bool,
    /// Record your keys, too; they are dots while the terminal does not echo
    #[arg(long)]
    pub input: bool,
    /// Continue the recording in FILE
    #[arg(long, requires = "output", conflicts_with = "overwrite")]
    pub append: bool,
    /// Replace FILE, or OUT
    #[arg(long)]
    pub overwrite: bool,
    /// Copy the recording IN to OUT without the secrets that hopty recognizes
    #[arg(
        long,
        num_args = 2,
        value_names = ["OUT", "IN"],
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["name", "output", "stop", "input", "append", "max_size", "program"]
    )]
    pub redact: Vec<PathBuf>,
    /// Write the last TIME of the session's recording to FILE (`-o FILE --last 10m`)
    #[arg(
        long,
        value_name = "TIME",
        value_parser = super::record::last_part,
        requires = "output",
        conflicts_with_all = ["stop", "input", "append", "redact", "max_size", "program"]
    )]
    pub last: Option<u64>,
    /// Write what you do in PROGRAM as a tape that `hopty test` plays; Ctrl+\ ends it
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "program",
        conflicts_with_all = ["name", "output", "stop", "input", "append", "redact", "max_size", "detached"]
    )]
    pub tape: Option<PathBuf>,
    /// End the recording before the file exceeds SIZE, such as 500K or 2G; 1G by default
    #[arg(long, value_name = "SIZE", value_parser = super::record::size)]
    pub max_size: Option<u64>,
    /// Start PROGRAM in the background and print the name of its session
    #[arg(long, requires = "program")]
    pub detached: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "program")]
    pub json: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(super) struct AttachOptions {
    /// The session
    pub name: Option<String>,
    /// Only watch: your keys do not reach the program
    #[arg(long, short)]
    pub read_only: bool,
}

impl AttachOptions {
    /// Reads `attach` and `attach NAME` without clap; `None` for anything else.
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

#[derive(Debug, Subcommand, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum Verb {
    /// Supervise any program: hopty run -- vim notes.txt
    Run(RunOptions),
    /// List sessions, those that wait for you first
    #[command(long_about = super::list::long_about())]
    Ls(ListOptions),
    /// Attach this terminal to a session
    ///
    /// Without a name, it attaches to the session of this directory (of several, the only detached one), or
    /// to the only one that runs. Otherwise you pick one from a list: arrow keys, j, k or a number
    /// select, Enter attaches, q cancels.
    Attach(AttachOptions),
    /// Detach all clients; the session keeps running
    Detach {
        /// The session
        name: Option<String>,
        /// Detach the clients of every session
        #[arg(long, conflicts_with_all = ["name", "client"])]
        all: bool,
        /// Detach only this client (its id in `hopty status --json`)
        #[arg(long)]
        client: Option<u32>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Hand over to a fresh conversation at the next safe point; restart any other program at once
    Restart(RestartOptions),
    /// Undo a hand-over: go back to the conversation before it
    ///
    /// In a running session, hopty stops Claude and resumes that conversation in its place. For an ended
    /// session, it prints the command that resumes it.
    Back {
        /// The session
        name: Option<String>,
        /// Do not wait for the end of the turn
        #[arg(long)]
        now: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a session another name
    ///
    /// Attached terminals stay attached, and the program notices nothing. Claude's conversation keeps its own
    /// name: `/rename` in Claude changes that.
    #[command(override_usage = "hopty rename [OPTIONS] [NAME] NEW")]
    Rename {
        /// The session, if more than one matches, and the new name
        #[arg(num_args = 1..=2, required = true, value_name = "NAME, NEW")]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add labels to a session and remove others, or print them
    ///
    /// `hopty ls --label LABEL` lists the sessions with a label, and the filter of `hopty dash` finds them.
    #[command(override_usage = "hopty label [OPTIONS] NAME [LABEL|+LABEL|-LABEL]...")]
    Label {
        /// The session
        name: String,
        /// A label to add (LABEL or +LABEL) or to remove (-LABEL)
        #[arg(allow_hyphen_values = true, value_name = "LABEL")]
        changes: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End sessions for good
    Stop {
        /// The sessions; this directory's by default
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// End every session, after asking you; without a terminal only with --yes
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Do not ask
        #[arg(long, short, requires = "all")]
        yes: bool,
        /// Kill it at once with SIGKILL
        #[arg(long)]
        kill: bool,
        /// Print errors as JSON
        #[arg(long)]
        json: bool,
    },
    /// Type into a session: a text, named keys, or standard input
    ///
    /// Key names: enter, tab, escape, space, backspace, delete, insert, up, down, left, right, home, end,
    /// pageup, pagedown, f1 to f12, ctrl-a to ctrl-z, shift-tab, shift-enter, any single character, and any
    /// of them with ctrl-, alt- or shift- before it, such as alt-enter and ctrl-left.
    #[command(
        override_usage = "hopty send NAME TEXT [--submit] [--mark]\n       hopty send [NAME] --keys KEYS \
                          [--mark]\n       hopty send [NAME] --stdin [--submit] [--mark]"
    )]
    Send(SendOptions),
    /// Submit a prompt, wait for the end of the turn, and print Claude's whole answer
    ///
    /// Exit codes: 0 answered, 1 no answer in time, or the turn ended with an API error or was interrupted,
    /// 3 no such session, 4 refused: Claude shows a dialog, or its prompt box holds a draft.
    #[command(override_usage = "hopty ask NAME TEXT [OPTIONS]\n       hopty ask [NAME] --stdin [OPTIONS]")]
    Ask(AskOptions),
    /// Print Claude's last answer, whole
    Answer(AnswerOptions),
    /// Wait until a session is idle, busy or blocked, has ended, shows a text, or is quiet
    ///
    /// Conditions: idle, busy, blocked, exit, text=REGEX, and quiet=TIME (the screen has not changed for
    /// TIME). The first condition that holds ends the wait and is printed; `not` before one waits until it
    /// does not hold. The pattern is matched against the rows of the screen: `^` and `$` are the edges of a
    /// row. A text that was on the screen before counts as well, unless --since names a mark. Exit codes: 0
    /// the condition is met, 1 timeout, 3 no such session.
    #[command(override_usage = "hopty wait [OPTIONS] [NAME] [not] CONDITION...")]
    Wait(WaitOptions),
    /// Print a session's screen
    Screen {
        /// The session
        name: Option<String>,
        /// Include the scrollback
        #[arg(long)]
        history: bool,
        #[command(flatten)]
        form: PictureForm,
    },
    /// Record a session or a program as an asciicast, which `asciinema play` and other players show
    ///
    /// The recording of a session begins with what is on its screen and goes on while nobody is attached,
    /// until the session ends or you stop it. Only the output is recorded, unless you say --input. Secrets on
    /// the screen are in the file, which only you can read.
    #[command(
        override_usage = "hopty record [OPTIONS] [NAME]\n       hopty record [OPTIONS] [NAME] -- PROGRAM \
                          [ARGS...]\n       hopty record --tape FILE -- PROGRAM [ARGS...]\n       hopty \
                          record [NAME] --stop\n       hopty record [NAME] --last TIME -o FILE\n       hopty \
                          record --redact OUT IN [--overwrite]"
    )]
    Record(RecordOptions),
    /// Put a marker into a session's recording
    #[command(override_usage = "hopty mark [OPTIONS] [NAME] TEXT")]
    Mark {
        /// The session, if more than one is running, and the marker's text
        #[arg(num_args = 1..=2, required = true, value_name = "NAME, TEXT")]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what a terminal would show after the bytes on standard input
    ScreenDump {
        /// Columns of the terminal
        #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u16).range(1..=1000),
            value_name = "C")]
        cols: u16,
        /// Rows of the terminal
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=1000),
            value_name = "R")]
        rows: u16,
        #[command(flatten)]
        form: PictureForm,
    },
    /// Show one session in full
    Status {
        /// The session
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a session's decisions as JSON lines
    Events {
        /// The session
        name: Option<String>,
        /// Keep printing new decisions
        #[arg(long, short)]
        follow: bool,
        /// No effect: the output is always JSON
        #[arg(long, hide = true)]
        json: bool,
    },
    /// Print a session's decisions in readable form
    Log {
        /// The session
        name: Option<String>,
        /// Keep printing new decisions
        #[arg(long, short)]
        follow: bool,
        /// The same as `hopty events`
        #[arg(long)]
        json: bool,
    },
    /// Explain in one sentence what the session is doing and why
    Why {
        /// The session
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a conversation's context usage and the source of each number
    Context(ContextOptions),
    /// List, search, move and archive Claude's conversations
    #[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
    Conversations {
        #[command(subcommand)]
        verb: ConversationsVerb,
    },
    /// Show what Claude used: tokens, cost, time and hand-overs
    Usage(UsageOptions),
    /// Back up conversations, handoffs, sessions and settings, and restore them
    #[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
    Backup {
        #[command(subcommand)]
        verb: BackupVerb,
    },
    /// Save, show, list, load and clear handoffs
    #[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
    Handoff {
        #[command(subcommand)]
        verb: HandoffVerb,
    },
    /// Show or set the channel of a directory's handoffs
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_value_name = "VERB",
        subcommand_help_heading = "Verbs"
    )]
    Channel {
        #[command(subcommand)]
        verb: Option<ChannelVerb>,
        /// The directory; the current one by default
        path: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show all sessions on one screen
    Dash,
    /// Run a journal's events through the supervisor again
    Replay {
        /// Path of a journal.jsonl
        journal: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Play a hand-over on a built-in stand-in for Claude: no account, no network, under a minute
    Demo {
        /// Keep the files and print their location
        #[arg(long)]
        keep: bool,
    },
    /// Play a recording, show one screen of it, or convert it
    ///
    /// Keys: space plays and pauses, . and , step by frames, the arrows go 5 s (30 s with Shift), ] and [ go
    /// to the next and previous marker, m lists them, 0 to 9 go to 0-90 %, / and ? search, n and N search
    /// again, < and > change the speed, i cuts pauses, r writes the output straight to the terminal, s saves
    /// the screen as .svg and .txt, h lists the keys, q quits.
    Play(PlayRecordingOptions),
    /// Show the configuration in force here and the source of each value
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_value_name = "VERB",
        subcommand_help_heading = "Verbs"
    )]
    Config {
        #[command(subcommand)]
        verb: Option<ConfigVerb>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Play terminal tapes as tests: type into programs and check what they show
    ///
    /// A tape is a script in the language of VHS with commands for tests. `hopty test` plays those in tests/
    /// and tapes/. Exit codes: 0 all passed, 1 one failed or is flaky, 2 one does not parse, 3 none matched,
    /// 125 hopty failed, 130 interrupted.
    Test(Box<super::test::TestArgs>),
    /// Find what is missing and say how to fix it
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the script that completes verbs, options and session names in your shell
    ///
    /// bash, in ~/.bashrc: `source <(hopty completions bash)`
    ///
    /// zsh, in ~/.zshrc after compinit: `source <(hopty completions zsh)`
    ///
    /// fish, in ~/.config/fish/config.fish: `hopty completions fish | source`
    ///
    /// The scripts for elvish and powershell complete verbs and options alone.
    Completions {
        /// The shell
        #[arg(value_name = "bash|zsh|fish|elvish|powershell")]
        shell: Shell,
    },
    /// Show the manual page of hopty or of a verb
    Man {
        /// Print the source of the page, for your man path: hopty man --roff > hopty.1
        #[arg(long)]
        roff: bool,
        /// The verb, such as `send` or `handoff show`
        verb: Vec<String>,
    },
    /// Resume the sessions that died with the machine, each in its own directory, detached
    ///
    /// Claude waits for your prompt in each. It skips sessions that you ended and conversations that run
    /// elsewhere. With names, it resumes those ended sessions, whatever ended them.
    Restore {
        /// The sessions; all that died with the machine by default
        names: Vec<String>,
        /// Only list them
        #[arg(long)]
        dry_run: bool,
        /// Start at most N
        #[arg(long, value_name = "N", default_value_t = 10,
            value_parser = clap::value_parser!(u32).range(1..=1000))]
        max: u32,
        /// How long to wait for a session to start before starting the next
        #[arg(long, default_value = "30s", value_name = "TIME")]
        timeout: DurationMs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove ended sessions with their journals and recordings; conversations and handoffs stay
    ///
    /// For Claude's own background sessions, use `hopty -- rm ID`.
    Rm {
        /// The sessions
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Print errors as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove all ended sessions with their recordings; what `hopty restore` would resume stays
    Prune {
        /// Only those that ended at least this long ago, such as 7d
        #[arg(long, default_value = "0s", value_name = "TIME")]
        older: DurationMs,
        /// Only list them
        #[arg(long)]
        dry_run: bool,
    },
    /// Restore sessions at login with a systemd user unit
    ///
    /// It shows what it would write and asks first. `hopty unsetup` removes it.
    Setup {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Remove what `hopty setup` wrote
    Unsetup,
    /// Print the versions of hopty and of the Claude that it would run
    Version {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// All verbs. clap adds `help`, and `hook` is read without clap.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    Verb::VARIANTS.iter().copied().chain(["help", "hook"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_attach_reads_what_clap_would_read() {
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
