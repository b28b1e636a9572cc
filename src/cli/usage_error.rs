//! Errors of usage: clap's finding in the form of all other errors.

use clap::error::{ContextKind, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::Cli;
use super::error::{VerbError, visible};
use super::exit_codes::USAGE;
use crate::core::text::nearest_word::nearest_word;

/// The verb as a person would name it, with the verb below it, such as `handoff show`.
pub(super) fn asked<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let tree = tree();
    let mut at = &tree;
    let mut path = Vec::new();
    for word in words {
        let Some(next) = at.find_subcommand(word) else { break };
        path.push(word);
        at = next;
    }
    path.join(" ")
}

/// clap's error in the form of all others. `asked`: the result of [`asked`].
pub(super) fn misused(error: &clap::Error, asked: &str) -> VerbError {
    let help = format!("`hopty {asked} --help` shows the usage");
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return VerbError::new(USAGE, format!("one of {} is needed", offered(asked).join(", "))).hint(help);
    }
    let text = error.to_string();
    let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let cause = parts.next().unwrap_or_default();
    let cause = cause.strip_prefix("error: ").unwrap_or(&cause);
    let cause =
        cause.replace("subcommand", "verb").replace("invalid digit found in string", "not a whole number");
    if let (ErrorKind::TooManyValues, Some(word)) = (error.kind(), error.get(ContextKind::InvalidValue))
        && matches!(asked, "ask" | "send")
    {
        let hint = format!("quote the text: `hopty {asked} NAME \"TEXT\"`");
        return VerbError::new(USAGE, format!("`{}` is a word too many", visible(&word.to_string())))
            .hint(hint);
    }
    let verb = error.get(ContextKind::InvalidSubcommand);
    // clap's suggestions for verbs include words that no typing mistake makes.
    let nearest = parts.filter(|_| verb.is_none()).find_map(|part| {
        let tips = part.strip_prefix("tip: a similar ")?;
        Some(format!("a similar {}", tips.split(" tip: ").next()?))
    });
    let known = verb.map(|verb| {
        let (verb, offered) = (verb.to_string(), offered(asked));
        match nearest_word(&verb, offered.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if asked == "help" => "`hopty help` lists all verbs".to_owned(),
            None if asked == "config" => format!(
                "one of {}; to change a key, edit the file that `hopty config path` names",
                offered.join(", ")
            ),
            None => format!("one of {}", offered.join(", ")),
        }
    });
    let option = error.get(ContextKind::InvalidArg);
    let elsewhere = match error.kind() {
        ErrorKind::MissingRequiredArgument if asked == "stop" => Some(
            "`hopty stop NAME` ends one session and does not ask, `hopty stop --all --yes` ends all"
                .to_owned(),
        ),
        ErrorKind::ArgumentConflict => Some(format!("leave one of them out; {help}")),
        ErrorKind::UnknownArgument => option.and_then(|option| match option.to_string().as_str() {
            "-o" | "--output" => file_hint(asked),
            "--last" if asked == "usage" => Some("`--since 7d` shows the last seven days".to_owned()),
            option if option.starts_with('-') => {
                verbs_with_option(option, asked).or_else(|| nearest_option(option, asked))
            }
            _ if asked == "config show" => Some("`hopty config show` prints every key".to_owned()),
            word => option_of_value(word, asked),
        }),
        _ => None,
    };
    VerbError::new(USAGE, cause).hint(nearest.or(known).or(elsewhere).unwrap_or(help))
}

/// A sentence that names the other verbs with an option; `None` without any.
fn verbs_with_option(option: &str, asked: &str) -> Option<String> {
    let name = option.strip_prefix("--")?.split('=').next()?;
    let tree = tree();
    let takes = |verb: &&Command| {
        verb.get_name() != asked && verb.get_arguments().any(|own| own.get_long() == Some(name))
    };
    let verbs: Vec<String> =
        tree.get_subcommands().filter(takes).map(|verb| format!("`hopty {}`", verb.get_name())).collect();
    (!verbs.is_empty() && name != "help").then(|| format!("--{name} is an option of {}", verbs.join(", ")))
}

/// The option of a verb that was probably meant. clap finds none for two letters that changed places.
fn nearest_option(option: &str, asked: &str) -> Option<String> {
    let name = option.strip_prefix("--")?.split('=').next()?;
    let tree = tree();
    let verb = asked.split(' ').try_fold(&tree, Command::find_subcommand)?;
    let near = nearest_word(name, verb.get_arguments().filter_map(clap::Arg::get_long))?;
    Some(format!("did you mean `--{near}`?"))
}

/// The hint that a verb takes its file without an option; `None` if it takes no file.
fn file_hint(asked: &str) -> Option<String> {
    let tree = tree();
    let verb = asked.split(' ').try_fold(&tree, Command::find_subcommand)?;
    let takes = verb.get_positionals().any(|own| own.get_id() == "file");
    takes.then(|| format!("the file needs no option: `hopty {asked} FILE`"))
}

/// The option of a verb that has this word as a value; `None` without one.
fn option_of_value(word: &str, asked: &str) -> Option<String> {
    let tree = tree();
    let verb = asked.split(' ').try_fold(&tree, Command::find_subcommand)?;
    let takes = |own: &&clap::Arg| {
        own.get_long() == Some("to")
            || own.get_possible_values().iter().any(|value| value.matches(word, false))
    };
    let long = verb.get_arguments().find(takes)?.get_long()?;
    Some(format!("did you mean `--{long} {}`?", visible(word)))
}

fn offered(asked: &str) -> Vec<String> {
    let tree = tree();
    let at = asked.split(' ').try_fold(&tree, Command::find_subcommand);
    at.into_iter()
        .flat_map(Command::get_subcommands)
        .map(|verb| verb.get_name().to_owned())
        .filter(|name| name != "help")
        .collect()
}

/// All verbs with `help`.
fn tree() -> Command {
    let mut tree = Cli::command();
    tree.build();
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_argument_gets_a_hint() {
        for (line, hint) in [
            ("stop --yes", "`hopty stop NAME` ends one session and does not ask, `hopty stop --all --yes` "),
            (
                "config set restart.mode",
                "one of show, check, path, init; to change a key, edit the file that ",
            ),
            ("config shwo", "did you mean `show`?"),
            ("config show restart.mode", "`hopty config show` prints every key"),
            ("usage --last 7d", "`--since 7d` shows the last seven days"),
            ("usage day", "did you mean `--by day`?"),
            ("ask p1 hello world", "quote the text: `hopty ask NAME \"TEXT\"`"),
            ("conversations copy p1 ../p2", "did you mean `--to ../p2`?"),
            ("status --yes", "--yes is an option of "),
            ("screen --sgv", "did you mean `--svg`?"),
        ] {
            let words: Vec<std::ffi::OsString> = line.split(' ').map(Into::into).collect();
            let error = Cli::read(&words).err().unwrap_or_else(|| panic!("{line}"));
            let said = misused(&error, &asked(line.split(' ')));
            assert!(said.help().starts_with(hint), "{line}: {}", said.help());
        }
    }
}
