//! First words that look like a verb but are none. hopty refuses them: as a prompt each would start a session
//! and cost tokens.

use std::ffi::OsString;

use strsim::osa_distance;

use super::error::VerbError;
use super::exit_codes::USAGE;
use super::run::words;
use crate::core::claude::args::{ArgPiece, Grammar, LaunchMode, Stream, classify};
use crate::core::text::nearest_word::nearest_word;
use crate::core::text::shell_word::shell_line;

/// Other tools' words for verbs of hopty, with the command to type instead.
const FOREIGN: &[(&str, &str)] = &[
    ("list", "ls"),
    ("sessions", "ls"),
    ("list-sessions", "ls"),
    ("ls-sessions", "ls"),
    ("ps", "ls"),
    ("jobs", "ls"),
    (KILL, "stop"),
    ("quit", "stop"),
    ("end", "stop"),
    ("exit", "stop"),
    ("kill-session", "stop"),
    ("attach-session", "attach"),
    ("join", "attach"),
    ("open", "attach"),
    ("switch", "attach"),
    ("switch-client", "attach"),
    ("detach-client", "detach"),
    ("send-keys", "send"),
    ("type", "send"),
    ("capture-pane", "screen"),
    ("show", "status"),
    ("info", "status"),
    ("tail", "log --follow"),
    ("follow", "log --follow"),
    ("top", "dash"),
    ("dashboard", "dash"),
    ("undo", "back"),
    ("settings", "config"),
    ("notify", "config"),
    ("completion", "completions"),
    ("manual", "man"),
    ("rename-session", "rename"),
    ("delete", "rm"),
    ("remove", "rm"),
    ("clean", "prune"),
    ("health", "check"),
    ("cost", "usage"),
    ("stats", "usage"),
    ("history", "conversations ls"),
    ("search", "conversations search"),
    ("conv", "conversations"),
    (NOTICES[0], "log"),
    (NOTICES[1], "log"),
    (NOTICES[2], "log"),
    ("snooze", "handoff snooze"),
    ("dismiss", "handoff dismiss"),
    ("load", "handoff load"),
    ("handover", "restart"),
    ("hand-over", "restart"),
    ("archive", "conversations archive"),
    ("export", "conversations export"),
    ("import", "conversations import"),
];
/// The same for starting or continuing a conversation.
const STARTS: &[(&str, &str)] = &[
    ("new", "hopty"),
    ("new-session", "hopty"),
    ("start", "hopty"),
    ("create", "hopty"),
    ("resume", "hopty --resume"),
    ("continue", "hopty --continue"),
];
/// A key shows notices, and no verb does.
const NOTICES: [&str; 3] = ["notices", "notes", "note"];
/// tmux's short forms of `attach`; a sentence may begin with one, too.
const ATTACH: [&str; 3] = ["a", "at", "att"];
/// Ends one of Claude's own background sessions, as `stop` does, which is also a verb of hopty.
const KILL: &str = "kill";
/// The longest word that is compared, in bytes.
const LONGEST: usize = 16;

/// Why `args` are not passed to Claude, if their first word was meant as a verb, or their only word as a
/// running session. `running`: the names of running sessions.
pub(super) fn refusal(args: &[OsString], running: impl FnOnce() -> Vec<String>) -> Option<VerbError> {
    let word = args.first()?.to_str()?;
    if let Some(failed) = behind_options(args) {
        return Some(failed);
    }
    let session = || {
        let running = running();
        let runs = |name: &str| running.iter().any(|known| known == name);
        match args {
            [_] if runs(word) => Some(format!("hopty attach {word}")),
            [_, verb] if runs(word) => {
                let verb = verb.to_str().filter(|verb| super::args::verbs().any(|known| known == *verb));
                verb.map(|verb| format!("hopty {verb} {word}"))
            }
            [_] if ATTACH.contains(&word) => Some("hopty attach".to_owned()),
            [_, name] if ATTACH.contains(&word) => {
                name.to_str().filter(|name| runs(name)).map(|name| format!("hopty attach {name}"))
            }
            // Shorter names are near each other, and near prompts.
            [_] if is_word(word) && word.len() >= 4 => nearest_word(word, running.iter().map(String::as_str))
                .filter(|name| osa_distance(word, name) <= slips(word))
                .map(|name| format!("hopty attach {name}")),
            _ => None,
        }
    };
    let instead = suggestion(word).or_else(session)?;
    // Claude's own subcommands and options are never mistakes.
    let is_prompt = classify(&words(args)?, Stream::Terminal, Stream::Terminal) == LaunchMode::Interactive;
    (is_prompt || word == KILL).then(|| {
        VerbError::new(USAGE, format!("`{word}` is not a verb; did you mean `{instead}`?"))
            .hint(match NOTICES.contains(&word) {
                true => format!(
                    "in a session the prefix key (ctrl-\\) and `n` show its notices; `hopty -- {word}` passes \
                     it to Claude"
                ),
                false => format!("`hopty -- {word}` passes it to Claude; `hopty help` lists all verbs"),
            })
    })
}

/// A sole word after options that is a verb or was meant as one. Claude's print mode is not a session.
fn behind_options(args: &[OsString]) -> Option<VerbError> {
    let all = words(args)?;
    let is_own = |word: &str| matches!(word, "--detached" | "--handoff") || word.starts_with("--handoff=");
    // Claude's grammar does not know hopty's own options, which take no value.
    let claudes: Vec<String> = all.iter().filter(|word| !is_own(word)).cloned().collect();
    let pieces = Grammar::new().parse(&claudes);
    let mut loose = pieces.iter().filter(|piece| !matches!(piece, ArgPiece::Option { .. }));
    let (Some(ArgPiece::Operand { at }), None) = (loose.next(), loose.next()) else { return None };
    let word = &claudes[*at];
    let mut options = all.clone();
    options.remove(all.iter().rposition(|other| other == word)?);
    if options.is_empty() || classify(&all, Stream::Terminal, Stream::Terminal) != LaunchMode::Interactive {
        return None;
    }
    let verb = super::args::verbs().find(|verb| verb == word).map(|verb| format!("hopty {verb}"));
    let instead = verb.or_else(|| suggestion(word))?;
    let options = shell_line(&options);
    Some(
        VerbError::new(USAGE, format!("`{word}` with {options} is a prompt; did you mean `{instead}`?"))
            .hint(format!("`hopty {options} -- {word}` sends it to Claude")),
    )
}

fn suggestion(word: &str) -> Option<String> {
    let small = word.to_ascii_lowercase();
    // `Attach` is a mistake, too; a sentence may begin with `Stop`, but has more words.
    if small != word && super::args::verbs().any(|verb| verb == small) {
        return Some(format!("hopty {small}"));
    }
    let named = |table: &[(&str, &str)]| {
        table.iter().find(|(foreign, _)| *foreign == word).map(|(_, instead)| (*instead).to_owned())
    };
    named(STARTS).or_else(|| {
        named(FOREIGN).or_else(|| nearest_verb(word).map(str::to_owned)).map(|verb| format!("hopty {verb}"))
    })
}

/// The verb that the word misspells.
fn nearest_verb(word: &str) -> Option<&'static str> {
    if word.len() > LONGEST || !is_word(word) {
        return None;
    }
    // Claude calls `hook`; no person types it.
    let verbs = super::args::verbs().filter(|verb| *verb != "hook");
    nearest_word(word, verbs).filter(|verb| *verb != word && osa_distance(word, verb) <= slips(word))
}

/// Whether it may be a mistyped verb or name: lowercase letters, digits and hyphens.
fn is_word(word: &str) -> bool {
    !word.starts_with('-') && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// How many mistakes a word may have. Two in a short one make another word: "hello" is not "help".
fn slips(word: &str) -> usize {
    if word.len() < 6 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::verbs;

    #[test]
    fn a_word_near_a_verb_or_of_another_tool_is_refused_and_a_prompt_is_a_prompt() {
        for (word, instead) in [
            ("atach", "hopty attach"),
            ("lss", "hopty ls"),
            ("Attach", "hopty attach"),
            ("sl", "hopty ls"),
            ("statsu", "hopty status"),
            ("statttus", "hopty status"),
            ("snd", "hopty send"),
            ("screendump", "hopty screen-dump"),
            ("versoin", "hopty version"),
            ("list", "hopty ls"),
            ("tail", "hopty log --follow"),
            ("help2", "hopty help"),
            ("new", "hopty"),
            ("resume", "hopty --resume"),
            ("archive", "hopty conversations archive"),
            ("snooze", "hopty handoff snooze"),
            ("export", "hopty conversations export"),
        ] {
            assert_eq!(suggestion(word).as_deref(), Some(instead), "{word}");
        }
        for word in [
            "", "ls", "fix", "fix the build", "hello", "list all files", "Lss", "l\u{e9}", "-h", "--help",
            "--ls", "-stop", "explain",
        ] {
            assert_eq!(suggestion(word), None, "{word}");
        }
        assert_eq!(suggestion(&"s".repeat(4000)), None);
    }

    #[test]
    fn verbs_are_no_words_of_other_tools() {
        for (word, _) in FOREIGN.iter().chain(STARTS) {
            assert!(!verbs().any(|verb| verb == *word), "{word}");
        }
        for (word, instead) in FOREIGN {
            let verb = instead.split(' ').next().unwrap();
            assert!(verbs().any(|known| known == verb), "{word}: {instead}");
        }
    }

    #[test]
    fn claude_s_own_commands_are_claude_s() {
        for line in ["logs 1", "doctor", "install", "update"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(refusal(&args, Vec::new).is_none(), "{line}");
        }
        assert!(refusal(&["list".into(), "--model".into(), "opus".into()], Vec::new).is_some());
        let of_session = |args: &[OsString]| {
            refusal(args, || vec!["p1".to_owned(), "rocket".to_owned()]).map(|failed| format!("{failed:?}"))
        };
        let after_options = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            refusal(&args, Vec::new).map(|failed| format!("{failed:?}"))
        };
        for (line, instead) in [
            ("--detached status", "`hopty status`?"),
            ("--detached --handoff ls", "`hopty ls`?"),
            ("--detached list", "`hopty ls`?"),
            ("notes", "`hopty log`?"),
            ("notify test", "`hopty config`?"),
            ("--name x ls", "`hopty ls`?"),
            ("-c ls", "`hopty ls`?"),
            ("--model opus --verbose atach", "`hopty attach`?"),
            ("--name=x --detached status --model opus", "`hopty status`?"),
        ] {
            let said = after_options(line).unwrap_or_else(|| panic!("{line}"));
            assert!(said.contains(instead), "{line}: {said}");
        }
        let status = after_options("--detached status").unwrap();
        assert!(status.contains("`hopty --detached -- status` sends it to Claude"), "{status}");
        for line in [
            "--detached -- status", "--detached fix", "--model status", "--detached status x",
            "--name x fix", "-r ls", "-p ls", "--detached -p ls", "--new-option ls", "--verbose mcp",
            "-c -- ls",
        ] {
            assert!(after_options(line).is_none(), "{line}");
        }
        assert!(of_session(&["p1".into()]).unwrap().contains("did you mean `hopty attach p1`?"));
        assert!(of_session(&["rokcet".into()]).unwrap().contains("did you mean `hopty attach rocket`?"));
        for prompt in [&["rockets-and-more".into()][..], &["p2".into(), "x".into()], &["Rocket!".into()]] {
            assert!(of_session(prompt).is_none(), "{prompt:?}");
        }
        assert!(of_session(&["a".into()]).unwrap().contains("did you mean `hopty attach`?"));
        assert!(of_session(&["a".into(), "p1".into()]).unwrap().contains("`hopty attach p1`?"));
        assert!(of_session(&["a".into(), "prompt".into()]).is_none());
        assert!(of_session(&["p2".into()]).is_none() && of_session(&["p1".into(), "x".into()]).is_none());
    }
}
