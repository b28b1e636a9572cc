//! The command line of the stand-in agent: the flags of Claude Code that hopty passes on or looks at.
//!
//! Flags that change nothing here (tools, directories, prompts) are taken with their values and dropped, so
//! that a user's own arguments survive; what Claude does not know is refused as Claude refuses it.

use std::path::PathBuf;

/// What `--version` says after the number, so that nobody takes the stand-in for the real program.
pub(super) const VERSION: &str = "2.1.329";

/// Who may say yes to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentPermissionMode {
    /// Tools that change something are asked for.
    Default,
    /// File edits pass, commands are asked for.
    AcceptEdits,
    /// Planning only; treated as `Default`.
    Plan,
    /// Nothing is asked.
    Bypass,
}

impl AgentPermissionMode {
    /// The name in hooks, transcripts and flags.
    pub(super) fn name(self) -> &'static str {
        match self {
            AgentPermissionMode::Default => "default",
            AgentPermissionMode::AcceptEdits => "acceptEdits",
            AgentPermissionMode::Plan => "plan",
            AgentPermissionMode::Bypass => "bypassPermissions",
        }
    }

    fn parse(name: &str) -> Option<AgentPermissionMode> {
        match name {
            "default" | "manual" => Some(AgentPermissionMode::Default),
            "acceptEdits" => Some(AgentPermissionMode::AcceptEdits),
            "plan" => Some(AgentPermissionMode::Plan),
            "bypassPermissions" => Some(AgentPermissionMode::Bypass),
            _ => None,
        }
    }
}

/// Which conversation to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentBegin {
    /// A new one, under this id if one was given.
    New(Option<String>),
    /// The named one goes on.
    Resume(String),
    /// The newest one of this project goes on.
    Continue,
}

/// Everything the command line decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) begin: AgentBegin,
    /// Model id sent to the API.
    pub(super) model: String,
    /// Permission mode at the start.
    pub(super) mode: AgentPermissionMode,
    /// Whether Shift+Tab comes by the widest mode.
    pub(super) may_bypass: bool,
    /// `--name`: the conversation's name.
    pub(super) name: Option<String>,
    /// `--settings`: JSON text or a path. Only the last one counts, as in the real program.
    pub(super) settings: Option<String>,
    /// `--plugin-dir`, each.
    pub(super) plugin_dirs: Vec<PathBuf>,
    /// The positional prompt.
    pub(super) prompt: Option<String>,
    /// `-p`: answer once, no terminal.
    pub(super) print: bool,
}

/// What to do about a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Run(Options),
    /// Print this and end with 0.
    Say(String),
    /// Print this to the error output and end with 1.
    Fail(String),
}

/// Flags that take a value and change nothing here.
const WITH_VALUE: &[&str] = &[
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--system-prompt",
    "--system-prompt-snapshot",
    "--add-dir",
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--tools",
    "--mcp-config",
    "--output-format",
    "--input-format",
    "--fallback-model",
    "--effort",
    "--agents",
    "--agent",
    "-n",
    "--setting-sources",
    "--autocompact",
    "--max-turns",
    "--betas",
    "--permission-prompts",
];

/// Flags that take none and change nothing here.
const BARE: &[&str] = &[
    "--verbose",
    "--debug",
    "-d",
    "--ide",
    "--strict-mcp-config",
    "--chrome",
    "--no-chrome",
    "--include-partial-messages",
    "--disable-slash-commands",
    "--restricted",
];

/// Reads a command line (without the program's name).
pub(super) fn parse(args: &[String]) -> Parsed {
    let mut options = Options {
        begin: AgentBegin::New(None),
        model: "claude-opus-5-5".into(),
        mode: AgentPermissionMode::Default,
        may_bypass: false,
        name: None,
        settings: None,
        plugin_dirs: Vec::new(),
        prompt: None,
        print: false,
    };
    let (mut id, mut fork, mut skip) = (None, false, false);
    let mut words = args.iter().cloned().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            options.prompt = words.next().or(options.prompt);
            break;
        }
        if !word.starts_with('-') || word == "-" {
            options.prompt.get_or_insert(word);
            continue;
        }
        let (flag, mut given) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.to_owned())),
            _ => (word, None),
        };
        let mut value = || given.take().or_else(|| words.next());
        let complete = match flag.as_str() {
            "--version" | "-v" => return Parsed::Say(format!("{VERSION} (stand-in)")),
            "--help" | "-h" => return Parsed::Say(HELP.trim_end().to_owned()),
            "--print" | "-p" => {
                options.print = true;
                true
            }
            "--dangerously-skip-permissions" => {
                (skip, options.may_bypass) = (true, true);
                true
            }
            "--allow-dangerously-skip-permissions" => {
                options.may_bypass = true;
                true
            }
            "--continue" | "-c" => {
                options.begin = AgentBegin::Continue;
                true
            }
            "--fork-session" => {
                fork = true;
                true
            }
            "--resume" | "-r" => match given.or_else(|| words.next_if(|w| !w.starts_with('-'))) {
                Some(id) => {
                    options.begin = AgentBegin::Resume(id);
                    true
                }
                None => {
                    return Parsed::Fail("Error: the stand-in has no conversation picker; name one.".into());
                }
            },
            "--session-id" => value().map(|v| id = Some(v)).is_some(),
            "--model" => value().map(|v| options.model = v).is_some(),
            "--name" | "-n" => value().map(|v| options.name = Some(v)).is_some(),
            "--settings" => value().map(|v| options.settings = Some(v)).is_some(),
            "--plugin-dir" => value().map(|v| options.plugin_dirs.push(v.into())).is_some(),
            "--permission-mode" => match value().map(|v| AgentPermissionMode::parse(&v)) {
                Some(Some(mode)) => {
                    options.mode = mode;
                    true
                }
                Some(None) => {
                    return Parsed::Fail(
                        "error: option '--permission-mode <mode>' argument is invalid.".into(),
                    );
                }
                None => false,
            },
            other if WITH_VALUE.contains(&other) => value().is_some(),
            other if BARE.contains(&other) => true,
            other => return Parsed::Fail(format!("error: unknown option '{other}'")),
        };
        if !complete {
            return Parsed::Fail(format!("error: option '{flag} <value>' argument missing"));
        }
    }
    if skip {
        // Whatever else is named (measured on 2.1.197 and 2.1.330).
        options.mode = AgentPermissionMode::Bypass;
    }
    if let Some(id) = id {
        if options.begin != AgentBegin::New(None) && !fork {
            let text = "Error: --session-id can only be used with --continue or --resume if --fork-session \
                        is also specified.";
            return Parsed::Fail(text.into());
        }
        if uuid::Uuid::try_parse(&id).is_err() {
            return Parsed::Fail("Error: Invalid session ID. Must be a valid UUID.".into());
        }
        options.begin = AgentBegin::New(Some(id.to_ascii_lowercase()));
    }
    Parsed::Run(options)
}

const HELP: &str = "\
Usage: claude [options] [prompt]

A stand-in for Claude Code: it looks the same where hopty looks, and talks to the API at ANTHROPIC_BASE_URL.

Options:
  -c, --continue                     go on with the newest conversation here
  --dangerously-skip-permissions     ask nothing
  -h, --help                         this text
  --model <model>                    model id
  --permission-mode <mode>           default, acceptEdits, plan, bypassPermissions
  --plugin-dir <path>                load hooks/hooks.json of a plugin (repeatable)
  -p, --print                        answer once and end
  -r, --resume <id>                  go on with a conversation
  --session-id <uuid>                id of the new conversation
  --settings <file-or-json>          more settings
  -v, --version                      version
";

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &[&str]) -> Parsed {
        parse(&line.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_flags_that_hopty_passes_are_understood() {
        let id = "69b3dc25-8512-459a-a4bd-dba525f7b0b7";
        let Parsed::Run(o) = run(&[
            "--dangerously-skip-permissions",
            "--model",
            "m",
            "--session-id",
            id,
            "--plugin-dir",
            "/p",
            "--settings={}",
            "--add-dir",
            "/x",
            "do it",
        ]) else {
            panic!("refused")
        };
        assert_eq!((o.begin, o.mode), (AgentBegin::New(Some(id.into())), AgentPermissionMode::Bypass));
        assert_eq!(
            (o.model.as_str(), o.settings.as_deref(), o.prompt.as_deref()),
            ("m", Some("{}"), Some("do it"))
        );
        assert_eq!(o.plugin_dirs, vec![PathBuf::from("/p")]);
    }

    #[test]
    fn what_claude_refuses_is_refused_in_its_words() {
        assert_eq!(
            run(&["--session-id", "abc"]),
            Parsed::Fail("Error: Invalid session ID. Must be a valid UUID.".into())
        );
        assert_eq!(run(&["--nope"]), Parsed::Fail("error: unknown option '--nope'".into()));
        assert!(matches!(run(&["--model"]), Parsed::Fail(_)));
        assert!(matches!(
            run(&["-c", "--session-id", "69b3dc25-8512-459a-a4bd-dba525f7b0b7"]),
            Parsed::Fail(_)
        ));
    }

    #[test]
    fn version_help_and_a_prompt_after_two_dashes() {
        assert_eq!(run(&["-v"]), Parsed::Say("2.1.329 (stand-in)".into()));
        assert!(matches!(run(&["--help"]), Parsed::Say(t) if t.contains("--session-id")));
        assert!(matches!(run(&["--", "--not-a-flag"]),
                Parsed::Run(o) if o.prompt.as_deref() == Some("--not-a-flag")));
    }
}
