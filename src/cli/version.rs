//! `hopty version`, and `--version` and `--help` if there is no Claude to answer them.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use clap::CommandFactory;
use serde_json::json;

use super::args::Cli;
use super::error::{VerbError, note, say, say_wrapped, stdout};
use super::{read_config, run};
use crate::claude::find_claude;
use crate::core::claude::args::{ExecThroughReason, LaunchMode, Stream, classify};

const HOPTY: &str = env!("CARGO_PKG_VERSION");
/// How long Claude may take to print its version if no file has it.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// A question that Claude answers, or hopty if there is no Claude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VersionQuestion {
    Help,
    Version,
}

impl VersionQuestion {
    fn of(args: &[OsString]) -> Option<VersionQuestion> {
        match classify(&run::words(args)?, Stream::Terminal, Stream::Terminal) {
            LaunchMode::ExecThrough(ExecThroughReason::Option(name)) => match name.as_str() {
                "--help" => Some(VersionQuestion::Help),
                "--version" => Some(VersionQuestion::Version),
                _ => None,
            },
            _ => None,
        }
    }
}

pub(super) fn version(as_json: bool) -> Result<u8, VerbError> {
    let paths = run::paths_or_nowhere();
    let config = read_config::resolved(Some(&paths), &[]).config;
    let claude = run::find_claude(Some(&paths.home), &config);
    let version = claude
        .as_ref()
        .ok()
        .map(|program| find_claude::version(program, VERSION_LIMIT).map_err(|e| e.to_string()));
    if as_json {
        let number = version.and_then(Result::ok);
        let path = claude.ok().map(|path| path.display().to_string());
        say(format_args!("{}", json!({"hopty": HOPTY, "claude": number, "claude_path": path})))?;
        return Ok(0);
    }
    say(format_args!("hopty {HOPTY}"))?;
    match (claude, version) {
        (Ok(path), Some(Ok(number))) => {
            say_wrapped(format_args!("Claude Code {number} ({})", path.display()))?
        }
        (Ok(_), Some(Err(why))) => say_wrapped(format_args!("Claude Code, version unknown: {why}"))?,
        (Err(failed), _) => no_claude(&failed)?,
        (Ok(_), None) => {}
    }
    Ok(0)
}

fn no_claude(failed: &VerbError) -> std::io::Result<()> {
    let cause = failed.cause();
    say_wrapped(format_args!("Claude Code: {}", cause.strip_prefix("Claude Code is ").unwrap_or(cause)))?;
    note(format_args!("hint: {}", failed.help()));
    Ok(())
}

/// Answers `--version` and `--help` if Claude is missing; `None` for other arguments.
pub(super) fn instead_of_claude(args: &[OsString], missing: &VerbError) -> Option<Result<u8, VerbError>> {
    let answer = |question| -> Result<u8, VerbError> {
        super::verb_dispatch::default_sigpipe();
        match question {
            VersionQuestion::Version => {
                say(format_args!("hopty {HOPTY}"))?;
                no_claude(missing)?;
            }
            VersionQuestion::Help => {
                write!(stdout()?, "{}", Cli::command().render_help())?;
                note(format_args!("hopty: this is hopty's own help: {}", missing.cause()));
                note(format_args!("hint: {}", missing.help()));
            }
        }
        Ok(0)
    };
    VersionQuestion::of(args).map(answer)
}

/// Tells a person that the answer to `--version` or `--help` that follows is Claude's. Scripts get Claude's
/// answer alone.
pub(super) fn introduce_claude(args: &[OsString]) {
    if !(std::io::stdout().is_terminal() && std::io::stderr().is_terminal()) {
        return;
    }
    match VersionQuestion::of(args) {
        Some(VersionQuestion::Version) => note(format_args!("hopty {HOPTY}")),
        Some(VersionQuestion::Help) => {
            note(format_args!("hopty: Claude's help follows; `hopty help` shows hopty's\n"))
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_ask_for_a_version_or_help() {
        for (line, question) in [
            ("--version", Some(VersionQuestion::Version)),
            ("-v", Some(VersionQuestion::Version)),
            ("--model x --help", Some(VersionQuestion::Help)),
            ("-h", Some(VersionQuestion::Help)),
            ("", None),
            ("-p --version", None),
            ("--append-system-prompt --version", None),
            ("fix the help", None),
            ("mcp --help", None),
        ] {
            let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(VersionQuestion::of(&args), question, "{line}");
        }
    }
}
