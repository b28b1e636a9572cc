//! The command line of the stand-in agent, parsed as Claude Code does ([`Grammar`]).
//!
//! Options without an effect here (tools, directories, prompts) are accepted with their values and ignored,
//! so that a user's own arguments work; options that Claude does not know are refused as Claude does.

use std::path::PathBuf;

use crate::core::claude::args::{ArgPiece, Grammar, OptionValues};

/// The Claude version that the stand-in reports; `--version` adds that it is the stand-in.
pub(super) const VERSION: &str = "2.1.329";

/// Which tools need permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentPermissionMode {
    /// Tools that change something.
    Default,
    /// Commands, but not file edits.
    AcceptEdits,
    /// Planning only; treated as `Default`.
    Plan,
    /// None.
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

/// The conversation to start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentBegin {
    /// A new one, with this id if one was given.
    New(Option<String>),
    /// Resumes this one.
    Resume(String),
    /// Resumes the newest one of this project.
    Continue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) begin: AgentBegin,
    /// The model id for the API.
    pub(super) model: String,
    /// The permission mode at the start.
    pub(super) mode: AgentPermissionMode,
    /// Whether Shift+Tab reaches the mode that asks nothing.
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

/// What to do for a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParsedCommandLine {
    Run(Options),
    /// Print this and exit with 0.
    Say(String),
    /// Print this to standard error and exit with 1.
    Fail(String),
}

/// Parses a command line without the program's name.
pub(super) fn parse(args: &[String]) -> ParsedCommandLine {
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
    for piece in Grammar::new().parse(args) {
        let (name, takes, value) = match piece {
            ArgPiece::Option { name, takes, values, .. } => (name, takes, values.into_iter().next()),
            ArgPiece::Operand { at } => {
                options.prompt.get_or_insert_with(|| args[at].clone());
                continue;
            }
            ArgPiece::Unknown { at } => {
                return ParsedCommandLine::Fail(format!("error: unknown option '{}'", args[at]));
            }
            ArgPiece::Loose { .. } | ArgPiece::Separator { .. } => continue,
        };
        if value.is_none() && matches!(takes, OptionValues::One | OptionValues::Many) {
            return ParsedCommandLine::Fail(format!("error: option '{name} <value>' argument missing"));
        }
        let value = value.unwrap_or_default();
        match name.as_str() {
            "--version" => return ParsedCommandLine::Say(format!("{VERSION} (stand-in)")),
            "--help" => return ParsedCommandLine::Say(HELP.trim_end().to_owned()),
            "--print" => options.print = true,
            "--dangerously-skip-permissions" => (skip, options.may_bypass) = (true, true),
            "--allow-dangerously-skip-permissions" => options.may_bypass = true,
            "--continue" => options.begin = AgentBegin::Continue,
            "--fork-session" => fork = true,
            "--resume" if value.is_empty() => {
                return ParsedCommandLine::Fail(
                    "Error: the stand-in has no conversation picker; name one.".into(),
                );
            }
            "--resume" => options.begin = AgentBegin::Resume(value),
            "--session-id" => id = Some(value),
            "--model" => options.model = value,
            "--name" => options.name = Some(value),
            "--settings" => options.settings = Some(value),
            "--plugin-dir" => options.plugin_dirs.push(value.into()),
            "--permission-mode" => match AgentPermissionMode::parse(&value) {
                Some(mode) => options.mode = mode,
                None => {
                    return ParsedCommandLine::Fail(
                        "error: option '--permission-mode <mode>' argument is invalid.".into(),
                    );
                }
            },
            _ => {}
        }
    }
    if skip {
        // Whatever other mode is given (measured on 2.1.197 and 2.1.330).
        options.mode = AgentPermissionMode::Bypass;
    }
    if let Some(id) = id {
        let resumes = options.begin != AgentBegin::New(None) && !fork;
        match new_session_id(&id, resumes) {
            Ok(id) => options.begin = AgentBegin::New(Some(id)),
            Err(text) => return ParsedCommandLine::Fail(text.into()),
        }
    }
    ParsedCommandLine::Run(options)
}

/// The value of `--session-id`, or an error message.
fn new_session_id(id: &str, resumes: bool) -> Result<String, &'static str> {
    if resumes {
        return Err("Error: --session-id can only be used with --continue or --resume if --fork-session is \
                    also specified.");
    }
    if uuid::Uuid::try_parse(id).is_err() {
        return Err("Error: Invalid session ID. Must be a valid UUID.");
    }
    Ok(id.to_ascii_lowercase())
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

    fn run(line: &[&str]) -> ParsedCommandLine {
        parse(&line.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_flags_that_hopty_passes_are_understood() {
        let id = "69b3dc25-8512-459a-a4bd-dba525f7b0b7";
        let ParsedCommandLine::Run(o) = run(&[
            "--dangerously-skip-permissions",
            "--model",
            "m",
            "--session-id",
            id,
            "--plugin-dir",
            "/p",
            "--settings={}",
            "do it",
            "--add-dir",
            "/x",
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
    fn every_option_of_claude_is_taken() {
        let table = include_str!("../../core/claude/args/options.txt");
        let mut count = 0;
        for line in table.lines().filter(|line| line.starts_with('-')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (names, takes) = (&words[..words.len() - 2], words[words.len() - 2]);
            for name in names {
                let value = match names[0] {
                    "--session-id" => "69b3dc25-8512-459a-a4bd-dba525f7b0b7",
                    "--permission-mode" => "plan",
                    _ => "value",
                };
                let line = if takes == "none" { vec![*name] } else { vec![*name, value] };
                match run(&line) {
                    ParsedCommandLine::Run(options) => assert_eq!(options.prompt, None, "{line:?}"),
                    ParsedCommandLine::Say(_) => assert!(["-h", "-v"].contains(&names[0]), "{line:?}"),
                    ParsedCommandLine::Fail(error) => panic!("{line:?}: {error}"),
                }
                count += 1;
            }
        }
        assert!(count > 120, "{count}");
    }

    #[test]
    fn options_that_claude_refuses_are_refused_in_its_words() {
        assert_eq!(
            run(&["--session-id", "abc"]),
            ParsedCommandLine::Fail("Error: Invalid session ID. Must be a valid UUID.".into())
        );
        assert_eq!(run(&["--nope"]), ParsedCommandLine::Fail("error: unknown option '--nope'".into()));
        assert!(matches!(run(&["--model"]), ParsedCommandLine::Fail(_)));
        assert!(matches!(
            run(&["-c", "--session-id", "69b3dc25-8512-459a-a4bd-dba525f7b0b7"]),
            ParsedCommandLine::Fail(_)
        ));
    }

    #[test]
    fn version_help_and_a_prompt_after_two_dashes() {
        assert_eq!(run(&["-v"]), ParsedCommandLine::Say("2.1.329 (stand-in)".into()));
        assert!(matches!(run(&["--help"]), ParsedCommandLine::Say(t) if t.contains("--session-id")));
        assert!(matches!(run(&["--", "--not-a-flag"]),
                ParsedCommandLine::Run(o) if o.prompt.as_deref() == Some("--not-a-flag")));
    }
}
