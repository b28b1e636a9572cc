//! `hopty completions`: the script that completes hopty's words in a shell. Verbs and options come from the
//! tree in `args`; the shell asks for session names when it needs them (`hopty ls --names`, which connects to
//! no host), and prints no errors then.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory, ValueHint};
use clap_complete::Shell;

use super::args::{Cli, verbs};
use super::error::{VerbError, stdout};
use super::wait_conditions;
use crate::core::input::key_names::NAMES;

/// Verbs whose first word is the name of a live session.
const LIVE: [&str; 11] =
    ["attach", "detach", "restart", "back", "stop", "send", "ask", "wait", "screen", "record", "mark"];
/// Verbs that also take the name of an ended session.
const TELLING: [&str; 7] = ["ls", "rename", "label", "status", "events", "log", "why"];
/// Verbs that take only the name of an ended session.
const ENDED: [&str; 2] = ["restore", "rm"];
/// Verbs that take several names.
const SEVERAL: [&str; 3] = ["stop", "restore", "rm"];
/// Verbs that take a file as well.
const OR_FILE: [&str; 2] = ["context", "answer"];
/// Options of these verbs whose value is the next word.
const WITH_VALUE: [&str; 13] = [
    "--label", "--client", "--keys", "--timeout", "--since", "--settle", "--max", "--older", "--format",
    "--output", "-o", "--max-size", "--redact",
];
pub(super) fn completions(shell: Shell) -> Result<u8, VerbError> {
    stdout()?.write_all(script(shell).as_bytes())?;
    Ok(0)
}

fn script(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut tree(), "hopty", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    match shell {
        // clap's own function completes only options behind a verb.
        Shell::Bash => {
            with_lists(BASH) + &text.replace("complete -F _hopty ", "complete -F _hopty_sessions ")
        }
        Shell::Zsh => text
            .replacen("_hopty() {", &(with_lists(ZSH) + "_hopty() {"), 1)
            .replace(":_users'", ":_hopty_sessions'"),
        Shell::Fish => text + &with_lists(FISH),
        _ => text,
    }
}

/// All verbs, with a mark where a session name goes.
fn tree() -> Command {
    let named = |tree: Command, verb: &&str| {
        tree.mut_subcommand(verb, |verb| {
            // The hint that no other argument can have: zsh's script has it where the names go.
            verb.mut_args(|arg| {
                if arg.is_positional() && !arg.is_last_set() {
                    arg.value_hint(ValueHint::Username)
                } else {
                    arg
                }
            })
        })
    };
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    let tree = Cli::command()
        // hopty's own options beside Claude's are read without clap.
        .arg(flag("detached", "Start a session in the background").action(ArgAction::SetTrue))
        .arg(flag("handoff", "Continue from the pending handoff").action(ArgAction::SetTrue))
        .mut_subcommand("send", |send| {
            send.mut_arg("keys", |arg| arg.value_parser(PossibleValuesParser::new(key_names())))
        })
        .mut_subcommand("man", |man| {
            man.mut_arg("verb", |arg| arg.value_parser(PossibleValuesParser::new(typed_verbs())))
        })
        // Neither value is a file.
        .mut_subcommand("ls", |ls| {
            ls.mut_arg("format", |arg| arg.value_parser(PossibleValuesParser::new(["tmux"])))
                .mut_arg("label", |arg| arg.value_hint(ValueHint::Other))
        });
    LIVE.iter().chain(&TELLING).chain(&ENDED).chain(&OR_FILE).fold(tree, named)
}

/// Names of keys, and the two that people send most.
fn key_names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(["ctrl-c", "ctrl-d"])
}

/// The verbs that a person types: only Claude calls `hook`.
fn typed_verbs() -> impl Iterator<Item = &'static str> {
    verbs().filter(|verb| *verb != "hook")
}

/// A piece of a script with the lists above filled in: `{live|}` becomes one with bars between its words,
/// `{live }` one with spaces.
fn with_lists(piece: &str) -> String {
    let verbs: Vec<&str> = typed_verbs().collect();
    let keys: Vec<&str> = key_names().collect();
    let lists: [(&str, &[&str]); 8] = [
        ("keys", &keys),
        ("live", &LIVE),
        ("telling", &TELLING),
        ("ended", &ENDED),
        ("several", &SEVERAL),
        ("or_file", &OR_FILE),
        ("with_value", &WITH_VALUE),
        ("verbs", &verbs),
    ];
    let piece = piece.replace("{conditions}", &wait_conditions::WORDS.join(" "));
    lists.into_iter().fold(piece, |text, (name, words)| {
        text.replace(&format!("{{{name}|}}"), &words.join("|"))
            .replace(&format!("{{{name} }}"), &words.join(" "))
    })
}

const BASH: &str = r#"_hopty_sessions() {
    _hopty "$@"
    local verb=${COMP_WORDS[1]-} cur=${COMP_WORDS[COMP_CWORD]} all= more= words=0 last= word
    (( COMP_CWORD > 1 )) && [[ $cur != -* ]] || return 0
    case $verb in
        {live|}) ;;
        {telling|}) all=--all ;;
        restore) all=--restorable ;;
        {ended|}) all=--ended ;;
        {or_file|}) all=--all more=files ;;
        *) return 0 ;;
    esac
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        case $last/$word in
            {with_value|}) ;;
            =/*|*/=|*/-*) ;;
            *) case $last in {with_value|}) ;; *) (( ++words )) ;; esac ;;
        esac
        last=$word
    done
    case $last in {with_value|}|=) return 0 ;; esac
    COMPREPLY=()
    [[ $more ]] || compopt +o default +o bashdefault 2>/dev/null
    if (( words == 0 )) || [[ $verb == @({several|}) ]]; then
        COMPREPLY=( $(compgen -W "$(command hopty ls --names $all 2>/dev/null)" -- "$cur") )
    fi
    if [[ $verb == wait ]]; then
        COMPREPLY+=( $(compgen -W "{conditions}" -- "$cur") )
        [[ ${COMPREPLY[*]} == *= ]] && (( ${#COMPREPLY[@]} == 1 )) && compopt -o nospace 2>/dev/null
    fi
    return 0
}

"#;

const ZSH: &str = r#"_hopty_sessions() {
    local verb=${${curcontext##*-command-}%%:*} expl ret=1
    local -a all names
    [[ $verb == ({telling|}|{or_file|}) ]] && all=(--all)
    [[ $verb == ({ended|}) ]] && all=(--ended)
    [[ $verb == restore ]] && all=(--restorable)
    # Behind the name zsh takes options for words.
    if [[ $verb == send && $words[CURRENT-1] == --keys ]]; then
        names=({keys })
        _wanted keys expl key compadd -a names
        return
    fi
    if [[ $verb != (send|ask|wait|mark|rename|label) ]] || (( CURRENT == 1 )); then
        names=(${(f)"$(command hopty ls --names $all 2>/dev/null)"})
        _wanted sessions expl session compadd -a names && ret=0
    fi
    if [[ $verb == wait ]]; then
        all=(${=:-{conditions}})
        names=(${all:#*=})
        _wanted conditions expl condition compadd -a names && ret=0
        names=(${(M)all:#*=})
        compadd -S '' -a names && ret=0
    fi
    [[ $verb == ({or_file|}) ]] && _files && ret=0
    return ret
}

"#;

const FISH: &str = r#"
function __fish_hopty_sessions
    command hopty ls --names $argv 2>/dev/null
end

# Whether so many words stand behind the verb already.
function __fish_hopty_words
    set -l words 0
    set -l last
    for word in (commandline -opc)[3..-1]
        if not string match -q -- '-*' $word; and not contains -- "$last" {with_value }
            set words (math $words + 1)
        end
        set last $word
    end
    not contains -- "$last" {with_value }; and test $words -eq $argv[1]
end

complete -c hopty -n "__fish_hopty_using_subcommand {live } {telling } {ended } man" -f
complete -c hopty -n "__fish_hopty_using_subcommand {live }; and __fish_hopty_words 0" -a "(__fish_hopty_sessions)"
complete -c hopty -n "__fish_hopty_using_subcommand {telling } {or_file }; and __fish_hopty_words 0" -a "(__fish_hopty_sessions --all)"
complete -c hopty -n "__fish_hopty_using_subcommand stop; and not __fish_hopty_words 0" -a "(__fish_hopty_sessions)"
complete -c hopty -n "__fish_hopty_using_subcommand rm" -a "(__fish_hopty_sessions --ended)"
complete -c hopty -n "__fish_hopty_using_subcommand restore" -a "(__fish_hopty_sessions --restorable)"
complete -c hopty -n "__fish_hopty_using_subcommand man; and __fish_hopty_words 0" -a "{verbs }"
complete -c hopty -n "__fish_hopty_using_subcommand wait" -a "{conditions}"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_that_takes_a_session_is_in_a_list() {
        for verb in tree().get_subcommands() {
            let takes = verb
                .get_positionals()
                .any(|arg| arg.get_help().is_some_and(|help| help.to_string().contains("session")));
            let known = [&LIVE[..], &TELLING, &ENDED, &OR_FILE].concat().contains(&verb.get_name());
            assert_eq!(takes, known, "{}", verb.get_name());
        }
    }

    #[test]
    fn every_placeholder_is_filled_in() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(
                text.contains("ls --names") && !text.contains("|}") && !text.contains("{conditions}"),
                "{shell}"
            );
        }
        assert!(!script(Shell::Zsh).contains("_users"));
        let bash = script(Shell::Bash);
        let (_, man) = bash.rsplit_once("        hopty__subcmd__man)").unwrap();
        let man = man.lines().nth(1).unwrap_or_default();
        assert!(man.contains(" attach ") && man.contains(" wait "), "`hopty man` completes verbs: {man}");
        assert!(!man.contains(" hook "), "which nobody types: {man}");
        assert!(bash.contains("restore|rm) all=--ended"), "they refuse one that runs");
        assert!(bash.contains(r#"compgen -W "tmux""#), "a format is no file");
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            for word in ["detached", "handoff", "pageup", "ctrl-c"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
        }
    }
}
