//! Tells an interactive session from everything that Claude runs without hopty.

use super::grammar::{ArgPiece, Grammar, OptionMeaning, OptionValues};

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
}
