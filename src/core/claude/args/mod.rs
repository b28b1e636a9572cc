//! Claude's command line: what a person's arguments mean, and the arguments of the runs that follow.
//!
//! What it does: tells an interactive session from everything that is run without hopty ([`classify`]), reads
//! the few facts that hopty needs ([`facts`]), and writes the arguments of the first and of later runs
//! ([`for_launch`], [`for_next_run`], [`for_resume`]). The options themselves are data (`options.txt`); how
//! they are read follows the real program's parser (`grammar.rs`).
//!
//! What it does not do: it validates nothing that Claude validates itself, and it never changes an argument
//! that stays.

mod grammar;
mod rewrite;

pub use grammar::{ArgPiece, Grammar, OptionMeaning, OptionValues};
pub use rewrite::{NextRunArgs, for_launch, for_next_run, for_resume, is_model, with_name, with_settings};

/// What one of the standard streams is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Terminal,
    /// A pipe, a file, nothing.
    Other,
}

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchMode {
    /// A session in this terminal: hopty supervises it.
    Interactive,
    /// Anything else: Claude takes hopty's place at once, with nothing added.
    ExecThrough(ExecThroughReason),
}

/// Why hopty steps aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecThroughReason {
    /// Standard input or output is no terminal; Claude then prints and exits (measured).
    NotATerminal,
    /// This option: print mode, help, version, a background or cloud session.
    Option(String),
    Subcommand(String),
    /// This option lacks its value; Claude says so itself.
    MissingValue(String),
}

/// Decides whether `args` (without the program's name) start an interactive session.
pub fn classify(args: &[String], stdin: Stream, stdout: Stream) -> LaunchMode {
    if (stdin, stdout) != (Stream::Terminal, Stream::Terminal) {
        return LaunchMode::ExecThrough(ExecThroughReason::NotATerminal);
    }
    let grammar = Grammar::new();
    if let Some(word) = args.first().filter(|word| grammar.is_first_command(word)) {
        return LaunchMode::ExecThrough(ExecThroughReason::Subcommand(word.clone()));
    }
    let pieces = grammar.parse(args);
    for piece in &pieces {
        match piece {
            ArgPiece::Option { means: OptionMeaning::Through, name, .. } => {
                return LaunchMode::ExecThrough(ExecThroughReason::Option(name.clone()));
            }
            ArgPiece::Option { takes: OptionValues::One | OptionValues::Many, name, values, .. }
                if values.is_empty() =>
            {
                return LaunchMode::ExecThrough(ExecThroughReason::MissingValue(name.clone()));
            }
            _ => {}
        }
    }
    // A word right behind an option that this table does not know is `Loose`: it may be a value, so it is no
    // command.
    let first = pieces
        .iter()
        .find_map(|piece| if let ArgPiece::Operand { at } = piece { Some(&args[*at]) } else { None });
    match first.filter(|word| grammar.is_command(word)) {
        Some(word) => LaunchMode::ExecThrough(ExecThroughReason::Subcommand(word.clone())),
        None => LaunchMode::Interactive,
    }
}

/// What hopty reads out of a person's arguments. Of an option given several times the last counts, as in
/// Claude itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnArgs {
    pub prompt: Option<String>,
    /// `--session-id`.
    pub session_id: Option<String>,
    /// `--resume`: the value, `Some(None)` when it stands alone and opens the picker.
    pub resume: Option<Option<String>>,
    /// Whether `--continue` is there.
    pub continues: bool,
    /// Whether `--fork-session` is there.
    pub forks: bool,
    /// Whether any option picks or names the conversation (these, `--from-pr`, `--teleport`).
    pub picks_conversation: bool,
    /// The last `--settings`; Claude uses no other (measured on 2.1.329).
    pub settings: Option<String>,
    /// Every `--plugin-dir`.
    pub plugin_dirs: Vec<String>,
    /// Every `--mcp-config` value: what starts servers.
    pub mcp_configs: Vec<String>,
    /// `--setting-sources`.
    pub setting_sources: Option<String>,
    /// `--name`: how the person calls the conversation.
    pub name: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--permission-mode`.
    pub permission_mode: Option<String>,
    /// Whether `--dangerously-skip-permissions` is there.
    pub skips_permissions: bool,
    /// Whether `--bare` is there: no hooks, no plugins.
    pub bare: bool,
    /// Whether `--safe-mode` is there: no hooks, no plugins.
    pub safe_mode: bool,
    /// `--worktree`: the value, `Some(None)` when Claude makes up a name (a new tree for every run).
    pub worktree: Option<Option<String>>,
}

impl OwnArgs {
    /// Whether the person's own arguments allow `bypassPermissions`.
    pub fn bypasses(&self) -> bool {
        self.skips_permissions || self.permission_mode.as_deref() == Some("bypassPermissions")
    }
}

/// Reads the facts out of `args` (without the program's name).
pub fn facts(args: &[String]) -> OwnArgs {
    let pieces = Grammar::new().parse(args);
    let mut facts =
        OwnArgs { prompt: grammar::prompt(&pieces, args).map(|at| args[at].clone()), ..OwnArgs::default() };
    for piece in pieces {
        let ArgPiece::Option { name, values, means, .. } = piece else { continue };
        facts.picks_conversation |= means == OptionMeaning::Identity;
        let value = values.last().cloned();
        match name.as_str() {
            "--session-id" => facts.session_id = value,
            "--resume" => facts.resume = Some(value),
            "--continue" => facts.continues = true,
            "--fork-session" => facts.forks = true,
            "--settings" => facts.settings = value,
            "--plugin-dir" => facts.plugin_dirs.extend(values),
            "--mcp-config" => facts.mcp_configs.extend(values),
            "--setting-sources" => facts.setting_sources = value,
            "--name" => facts.name = value,
            "--model" => facts.model = value,
            "--permission-mode" => facts.permission_mode = value,
            "--dangerously-skip-permissions" => facts.skips_permissions = true,
            "--bare" => facts.bare = true,
            "--safe-mode" => facts.safe_mode = true,
            "--worktree" => facts.worktree = Some(value),
            _ => {}
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn of(line: &str) -> LaunchMode {
        classify(&args(line), Stream::Terminal, Stream::Terminal)
    }

    #[test]
    fn sessions() {
        for line in [
            "",
            "fix",
            "--model agents",
            "--model mcp fix",
            "-r",
            "-r mcp",
            "--resume stop",
            "-c",
            "-d mcp",
            "--debug -c",
            "--add-dir a mcp",
            "--session-id 7c1 x",
            "fix mcp",
            "config",
            "ps",
            "-- fix",
            "-- -p",
            "--verbose attach x",
            "--system-prompt -p",
            "-n -p",
            "-cr --help-me",
            "-dp",
            "--append-system-prompt --version",
            "--new-option mcp",
            "--remote-control x",
            "-w mcp",
            "-",
            "--rc",
        ] {
            assert_eq!(of(line), LaunchMode::Interactive, "{line}");
        }
    }

    #[test]
    fn everything_else_goes_straight_through() {
        for (line, why) in [
            ("-p", "--print"),
            ("--print hi", "--print"),
            ("hi -p", "--print"),
            ("-cp", "--print"),
            ("-vx", "--version"),
            ("--model x -h", "--help"),
            ("--bg hi", "--background"),
            ("-w x --tmux", "--tmux"),
            ("--cloud", "--cloud"),
            ("--init-only", "--init-only"),
        ] {
            assert_eq!(of(line), LaunchMode::ExecThrough(ExecThroughReason::Option(why.into())), "{line}");
        }
        for (line, word) in [
            ("mcp list", "mcp"),
            ("--verbose mcp", "mcp"),
            ("-- mcp", "mcp"),
            ("--model=x mcp", "mcp"),
            ("-wfoo mcp", "mcp"),
            ("-r=x mcp", "mcp"),
            ("attach 1", "attach"),
            ("stop 1", "stop"),
            ("--plugin-dir x mcp", "mcp"),
            ("update", "update"),
            ("--new-option val mcp", "mcp"),
        ] {
            assert_eq!(
                of(line),
                LaunchMode::ExecThrough(ExecThroughReason::Subcommand(word.into())),
                "{line}"
            );
        }
        assert_eq!(
            of("fix --model"),
            LaunchMode::ExecThrough(ExecThroughReason::MissingValue("--model".into()))
        );
        assert_eq!(
            of("--add-dir"),
            LaunchMode::ExecThrough(ExecThroughReason::MissingValue("--add-dir".into()))
        );
    }

    #[test]
    fn both_streams_must_be_terminals() {
        for (stdin, stdout) in [
            (Stream::Other, Stream::Terminal),
            (Stream::Terminal, Stream::Other),
            (Stream::Other, Stream::Other),
        ] {
            assert_eq!(
                classify(&[], stdin, stdout),
                LaunchMode::ExecThrough(ExecThroughReason::NotATerminal)
            );
        }
    }

    #[test]
    fn the_facts() {
        let read = facts(&args(
            "--settings a --model opus --settings={} -r abc --fork-session --plugin-dir p --plugin-dir=q \
             --permission-mode plan \
             --mcp-config m n --bare -w fix",
        ));
        assert_eq!(read.settings.as_deref(), Some("{}"));
        assert_eq!(read.model.as_deref(), Some("opus"));
        assert_eq!(read.name, None);
        assert_eq!(facts(&args("-n a --name=b")).name.as_deref(), Some("b"));
        assert_eq!(read.resume, Some(Some("abc".into())));
        assert_eq!(read.plugin_dirs, ["p", "q"]);
        assert_eq!(read.mcp_configs, ["m", "n"]);
        assert_eq!(read.worktree, Some(Some("fix".into())));
        assert!(read.forks && read.bare && read.picks_conversation && !read.continues && !read.bypasses());
        assert_eq!(read.prompt, None);
        assert_eq!(facts(&args("-r")).resume, Some(None));
        assert!(facts(&args("--dangerously-skip-permissions")).bypasses());
        assert!(facts(&args("--permission-mode bypassPermissions")).bypasses());
        assert!(
            !facts(&args(
                "--allow-dangerously-skip-permissions --system-prompt --dangerously-skip-permissions"
            ))
            .bypasses()
        );
    }

    #[test]
    fn the_prompt_is_no_value_and_no_value_is_the_prompt() {
        for (line, prompt) in [
            ("--model opus fix", Some("fix")),
            ("fix --model opus", Some("fix")),
            ("--model opus", None),
            ("--add-dir a b", None),
            ("--add-dir a -- b", Some("b")),
            ("--add-dir=a b", Some("b")),
            ("-- -p", Some("-p")),
            ("-d api fix", Some("fix")),
            ("-r id fix", Some("fix")),
            ("-- --", Some("--")),
            ("--brand-new val fix", Some("fix")),
            ("--brand-new val", None),
            ("one two", Some("one")),
        ] {
            assert_eq!(facts(&args(line)).prompt.as_deref(), prompt, "{line}");
        }
        let spaced = ["--brand-new".to_owned(), "fix the bug".to_owned()];
        assert_eq!(facts(&spaced).prompt.as_deref(), Some("fix the bug"));
        assert_eq!(facts(&[String::new()]).prompt.as_deref(), Some(""));
    }
}
