//! `hopty man`: manual pages made from the tree of verbs in `args`, so that they always agree with it.

use std::io::{IsTerminal, Write};
use std::process::Stdio;

use clap::CommandFactory;
use clap_mangen::Man;

use super::args::{Cli, NOTES, verbs};
use super::error::{VerbError, stdout};
use super::exit_codes::USAGE;
use crate::core::text::nearest_word::nearest_word;
use crate::sys::program_search::command_outside_of_projects;

const EXAMPLES: &str = include_str!("examples.txt");

/// Prints the manual page of hopty, or of a verb such as `handoff show`: formatted, or its source.
pub(super) fn man(verb: &[String], roff: bool) -> Result<u8, VerbError> {
    // A verb of two words may be quoted, and `hopty` names hopty's own page.
    let words = verb.iter().flat_map(|words| words.split_whitespace());
    let verb = &words.skip_while(|word| *word == "hopty").map(str::to_owned).collect::<Vec<_>>()[..];
    let (tree, page) = page(verb)?;
    if roff {
        stdout()?.write_all(&page)?;
    } else if std::io::stdout().is_terminal() {
        if !show_with_man(&page) {
            stdout()?.write_all(plain(tree, verb).as_bytes())?;
        }
    } else {
        let text = formatted(page).unwrap_or_else(|| plain(tree, verb).into_bytes());
        stdout()?.write_all(&text)?;
    }
    Ok(0)
}

/// The page without `man`: the help, followed by the examples.
fn plain(mut of: clap::Command, verb: &[String]) -> String {
    let all = examples_of(&verb.join(" "));
    let examples = all.iter().map(|(command, what)| format!("  {command}\n      {what}\n"));
    let heading = if all.is_empty() { "" } else { "\nExamples:\n" };
    format!("{}{heading}{}", of.render_long_help(), examples.collect::<String>())
}

fn page(verb: &[String]) -> Result<(clap::Command, Vec<u8>), VerbError> {
    // `hopty --help` is Claude's, and the page has what `help` would print.
    let mut tree = Cli::command()
        .disable_help_flag(true)
        .about("run it in place of claude, and Claude Code never runs out of context");
    tree.build();
    let unknown = || {
        let near = verb.first().and_then(|word| nearest_word(word, verbs()));
        let near = near.filter(|near| verb.first().is_none_or(|word| word != near));
        let near = near.map_or_else(String::new, |near| format!("did you mean `hopty man {near}`? "));
        let failed = VerbError::new(USAGE, "unknown verb").about(verb.join(" "));
        failed.hint(format!("{near}`hopty help` lists all verbs"))
    };
    let of = verb.iter().try_fold(&tree, |at, word| at.find_subcommand(word)).ok_or_else(unknown)?.clone();
    let of = if of.find_subcommand("help").is_some() {
        of.mut_subcommand("help", |help| help.hide(true))
    } else {
        of
    };
    let of = if verb.is_empty() { of.long_about(LONG) } else { of };
    let name: Vec<&str> = std::iter::once("hopty").chain(verb.iter().map(String::as_str)).collect();
    let mut page = Vec::new();
    let (arguments, verbs) = (of.get_arguments().next().is_some(), of.has_subcommands());
    let man = Man::new(of.clone().subcommand_help_heading("VERBS"))
        .title(name.join("-"))
        .source(concat!("hopty ", env!("CARGO_PKG_VERSION")))
        .manual("hopty");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if arguments {
        man.render_options_section(&mut page)?;
    }
    if verbs {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend_from_slice(examples(&verb.join(" ")).as_bytes());
    if verb.is_empty() {
        page.extend_from_slice(more().as_bytes());
    }
    Ok((of, page))
}

const LONG: &str = "hopty runs Claude Code in a pseudo-terminal of its own and supervises it: when the \
                    context window is nearly full it \
saves a handoff, stops Claude at a safe point, starts a fresh conversation and types the continuation prompt \
into it, with \
proof that it was submitted. A session outlives its terminal: `hopty attach` returns to it.";

const FILES: [(&str, &str); 4] = [
    (
        "~/.config/hopty/config.toml",
        "Your configuration; `hopty config init` writes a template that explains every key.",
    ),
    (".hopty.toml", "A project's configuration, in its directory."),
    ("~/.local/state/hopty", "Sessions: sockets and journals."),
    ("~/.claude/handoff", "Handoffs and their records."),
];
const VARIABLES: [(&str, &str); 4] = [
    ("HOPTY_SECTION_KEY", "A key of the configuration, such as HOPTY_RESTART_MODE=ask."),
    ("HOPTY_SESSION", "Set in a session: its name, which verbs use by default."),
    ("NO_COLOR", "If set, hopty uses no colours."),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "Replace ~/.config and ~/.local/state."),
];

/// The examples of a verb, or of hopty itself if it is empty: each command with its explanation.
fn examples_of(verb: &str) -> Vec<(&'static str, &'static str)> {
    let head = format!("[{verb}]");
    let block = EXAMPLES.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.is_empty());
    let lines: Vec<&str> = block.map(str::trim_start).collect();
    lines.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn examples(verb: &str) -> String {
    let all = examples_of(verb);
    if all.is_empty() {
        return String::new();
    }
    let example =
        |(command, what): &(&str, &str)| format!(".TP\n.B {}\n{}\n", escaped(command), escaped(what));
    format!(".SH EXAMPLES\n{}", all.iter().map(example).collect::<String>())
}

/// The other sections of hopty's own page: the notes of `hopty help`, each below its heading, and the tables
/// above.
fn more() -> String {
    let mut out = String::new();
    for (heading, text) in ["NOTES", "KEYS", "EXIT STATUS"].into_iter().zip(NOTES.split("\n\n")) {
        out.push_str(&format!(".SH {heading}\n{}\n", escaped(text)));
    }
    for (heading, table) in [("FILES", FILES), ("ENVIRONMENT", VARIABLES)] {
        out.push_str(&format!(".SH {heading}\n"));
        out.extend(table.map(|(name, what)| format!(".TP\n{}\n{}\n", escaped(name), escaped(what))));
    }
    out + ".SH SEE ALSO\n`hopty man VERB` shows the page of a verb; `hopty check` finds what is missing.\n"
}

/// A line of text for troff, with a leading `.` or `'` escaped.
fn escaped(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('~', "\\(ti")
        .replace('`', "\\`")
        .replace('\'', "\\(aq")
        // In the argument of a request a quote would start or end a word.
        .replace('"', "\\(dq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

/// The text that `man` makes of a page for a pipe; `None` without `man`.
fn formatted(page: Vec<u8>) -> Option<Vec<u8>> {
    let mut man = command_outside_of_projects("man")?
        .args(["-l", "-"])
        .env("MANWIDTH", "80")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut pipe = man.stdin.take()?;
    let writer = std::thread::spawn(move || pipe.write_all(&page));
    let done = man.wait_with_output().ok()?;
    let _ = writer.join();
    (done.status.success() && !done.stdout.is_empty()).then_some(done.stdout)
}

fn show_with_man(page: &[u8]) -> bool {
    let man = command_outside_of_projects("man");
    let started = man.and_then(|mut man| man.args(["-l", "-"]).stdin(Stdio::piped()).spawn().ok());
    let Some(mut man) = started else { return false };
    // If `man` ends without reading, its exit code says so.
    let _ = man.stdin.take().map(|mut pipe| pipe.write_all(page));
    man.wait().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    /// troff removes the quotes around the arguments of a request such as `.B`.
    #[test]
    fn no_request_has_a_quote_that_troff_would_take() {
        fn walk(verb: &clap::Command, words: &mut Vec<String>) {
            let page = String::from_utf8(page(words).unwrap().1).unwrap();
            let example = page.lines().find(|line| line.starts_with(".B ") && line.contains('"'));
            assert_eq!(example, None, "{words:?}");
            for below in verb.get_subcommands().filter(|below| below.get_name() != "help") {
                words.push(below.get_name().to_owned());
                walk(below, words);
                words.pop();
            }
        }
        walk(&Cli::command(), &mut Vec::new());
        for verb in ["dash", "test", "rm", "setup"] {
            assert!(!examples_of(verb).is_empty(), "{verb}");
        }
    }

    /// hopty parses each of its own commands in the examples.
    #[test]
    fn every_example_is_a_command_that_is_read() {
        let heads = EXAMPLES.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        let (mut blocks, mut examples) = (0, 0);
        for verb in heads {
            blocks += 1;
            let words: Vec<String> = verb.split_whitespace().map(str::to_owned).collect();
            assert!(verb.is_empty() || page(&words).is_ok(), "{verb}");
            for (command, _) in examples_of(verb) {
                examples += 1;
                assert!(!command.contains(char::is_control), "{command:?}");
                let words = command.split("hopty ").nth(1).unwrap_or_default();
                let words = words
                    .split(" | ")
                    .next()
                    .unwrap()
                    .split(" > ")
                    .next()
                    .unwrap()
                    .split(" && ")
                    .next()
                    .unwrap();
                let words = words.split(" < ").next().unwrap().trim_end_matches(')');
                // Quotes are removed as a shell does.
                let mut args: Vec<OsString> = Vec::new();
                for (n, part) in words.split(['"', '\'']).enumerate() {
                    match n % 2 {
                        0 => args.extend(part.split_whitespace().map(OsString::from)),
                        _ => args.push(part.into()),
                    }
                }
                let own =
                    args.first().is_some_and(|first| super::super::args::verbs().any(|verb| *first == *verb));
                assert_eq!(
                    own,
                    !verb.is_empty() || ["hopty ls", "hopty attach"].contains(&command),
                    "{command}"
                );
                if own {
                    assert!(Cli::read(&args).is_ok(), "{command}: {args:?}");
                }
            }
        }
        // Each block has a heading, two lines an example and an empty line, below a comment.
        assert_eq!(EXAMPLES.lines().count() + 1, 2 + 2 * blocks + 2 * examples);
        let ask = String::from_utf8(page(&["ask".to_owned()]).unwrap().1).unwrap();
        assert!(ask.contains("\n.B hopty ask rocket \\(dqWhich tests fail?\\(dq\n"), "{ask}");
        let page = String::from_utf8(page(&["wait".to_owned()]).unwrap().1).unwrap();
        assert!(page.contains(".SH EXAMPLES\n.TP\n.B hopty wait rocket idle \\-\\-timeout 10m\n"), "{page}");
    }
}
