//! The arguments of the first run and of the runs that follow.
//!
//! What a person wrote and what is not taken out stays as it is, in order, byte for byte. What hopty adds
//! stands in front, or behind where it must win; never behind `--`, and in forms that no list option
//! swallows.

use super::grammar::{ArgPiece, Grammar, OptionMeaning, prompt};
use super::own_args::OwnArgs;
use crate::core::claude::permission::PermissionMode;
use crate::core::ids::ConversationId;

/// What is known when a run is started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRunArgs {
    /// The new conversation's id, or the id to resume.
    pub session_id: ConversationId,
    /// The model last seen; used where the person named none.
    pub model: Option<String>,
    /// The model that the person changed to since; it goes before the one that they named.
    pub switched: Option<String>,
    /// The permission mode to go on with, where it is not the one that the person's own arguments and
    /// settings give.
    pub permission_mode: Option<PermissionMode>,
    /// hopty's plugin directory.
    pub plugin_dir: Option<String>,
    /// One `--settings` that stands for all: the person's own with hopty's additions.
    pub settings: Option<String>,
}

/// The arguments of the first run: the person's own, and hopty's in front. The id is passed only when nothing
/// else picks the conversation, because Claude refuses both together (measured).
pub fn for_launch(args: &[String], plugin_dir: Option<&str>, session_id: &ConversationId) -> Vec<String> {
    let mut out = Vec::new();
    plugin(&mut out, plugin_dir);
    if !OwnArgs::of(args).picks_conversation {
        out.extend(["--session-id".to_owned(), session_id.to_string()]);
    }
    out.extend_from_slice(args);
    out
}

/// The same `args` with `settings` as the `--settings` that counts: the last one.
pub fn with_settings(args: &[String], settings: &str) -> Vec<String> {
    let pieces = Grammar::new().parse(args);
    let end =
        pieces.iter().find_map(|piece| if let ArgPiece::Separator { at } = piece { Some(*at) } else { None });
    let (before, after) = args.split_at(end.unwrap_or(args.len()));
    let mut out = before.to_vec();
    out.push(format!("--settings={settings}"));
    out.extend_from_slice(after);
    out
}

/// The same `args` with `name` as the conversation's name, or without any: a version that does not know
/// `--name` refuses to start.
pub fn with_name(args: &[String], name: Option<&str>) -> Vec<String> {
    if OwnArgs::of(args).name.as_deref() == name {
        return args.to_vec();
    }
    let mut out: Vec<String> = name.map(|name| format!("--name={name}")).into_iter().collect();
    for piece in Grammar::new().parse(args) {
        if !matches!(&piece, ArgPiece::Option { name, .. } if name == "--name") {
            push(&mut out, args, piece);
        }
    }
    out
}

/// A piece as it was written, or as it would be written alone.
fn push(out: &mut Vec<String>, args: &[String], piece: ArgPiece) {
    match piece {
        ArgPiece::Option { at, alone, .. } => {
            out.push(alone.unwrap_or_else(|| args[at.start].clone()));
            out.extend_from_slice(&args[at.start + 1..at.end]);
        }
        ArgPiece::Unknown { at }
        | ArgPiece::Loose { at }
        | ArgPiece::Separator { at }
        | ArgPiece::Operand { at } => out.push(args[at].clone()),
    }
}

/// The arguments of a run after a hand-over: a new conversation, without the first prompt. `args` are always
/// the person's own, never those of an earlier run: which word was the prompt can only be seen there.
pub fn for_next_run(args: &[String], next: &NextRunArgs) -> Vec<String> {
    later_run(args, next, "--session-id")
}

/// The arguments of a run after a crash: the same conversation, without any prompt.
pub fn for_resume(args: &[String], next: &NextRunArgs) -> Vec<String> {
    later_run(args, next, "--resume")
}

fn later_run(args: &[String], next: &NextRunArgs, identity: &str) -> Vec<String> {
    let own = OwnArgs::of(args);
    let mut out = Vec::new();
    plugin(&mut out, next.plugin_dir.as_deref());
    out.extend([identity.to_owned(), next.session_id.to_string()]);
    if let Some(model) = next
        .model
        .as_deref()
        .filter(|model| own.model.is_none() && next.switched.is_none() && is_model(model))
    {
        out.extend(["--model".to_owned(), model.to_owned()]);
    }
    let mode = next.permission_mode.and_then(|mode| passable(&own, mode));
    out.extend(without_first_conversation(args, mode.is_some()));
    if let Some(model) =
        next.switched.as_deref().filter(|model| own.model.as_deref() != Some(*model) && is_model(model))
    {
        // Behind the person's own: of two the last counts.
        out.extend(["--model".to_owned(), model.to_owned()]);
    }
    if let Some(mode) = mode.filter(|mode| own.permission_mode.as_deref() != Some(mode.word())) {
        // Behind the person's own: of two the last counts.
        out.extend(["--permission-mode".to_owned(), mode.word().to_owned()]);
    }
    if let Some(settings) = &next.settings {
        out.push(format!("--settings={settings}"));
    }
    out
}

/// `=` because `--plugin-dir` takes a list on 2.0.76 and would swallow the prompt behind it (measured).
fn plugin(out: &mut Vec<String>, dir: Option<&str>) {
    out.extend(dir.map(|dir| format!("--plugin-dir={dir}")));
}

/// The person's arguments without what belongs to the first conversation only. Where another permission mode
/// is named behind them, `--dangerously-skip-permissions` would beat it; its weaker form leaves the widest
/// mode to the person's key (measured on 2.1.197 and 2.1.330).
fn without_first_conversation(args: &[String], mode_follows: bool) -> Vec<String> {
    let pieces = Grammar::new().parse(args);
    let loose_prompt = prompt(&pieces, args);
    let mut out = Vec::new();
    for piece in pieces {
        match piece {
            ArgPiece::Option { means: OptionMeaning::Identity | OptionMeaning::Once, .. }
            | ArgPiece::Operand { .. }
            | ArgPiece::Separator { .. } => {}
            ArgPiece::Loose { at } if loose_prompt == Some(at) => {}
            ArgPiece::Option { ref name, .. } if mode_follows && name == "--dangerously-skip-permissions" => {
                out.push("--allow-dangerously-skip-permissions".to_owned());
            }
            piece => push(&mut out, args, piece),
        }
    }
    out
}

/// What a run is told to go on in `mode`. The two widest are never named: they come from the person's own
/// arguments, or the run asks before it does anything, and the mode is one key away.
fn passable(own: &OwnArgs, mode: PermissionMode) -> Option<PermissionMode> {
    let is_own = match mode {
        PermissionMode::BypassPermissions => own.bypasses(),
        mode => own.permission_mode.as_deref() == Some(mode.word()),
    };
    match mode.may_be_passed() {
        true => Some(mode),
        false => (!is_own).then_some(PermissionMode::Default),
    }
}

/// Whether `model` looks like a model's name. It comes from a transcript or a hook, so nothing else is passed
/// on.
pub fn is_model(model: &str) -> bool {
    let inner = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'/' | b'@' | b'[' | b']')
    };
    (1..=200).contains(&model.len())
        && model.as_bytes()[0].is_ascii_alphanumeric()
        && model.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn id() -> ConversationId {
        ID.parse().unwrap()
    }

    fn bare() -> NextRunArgs {
        NextRunArgs {
            session_id: id(),
            model: None,
            switched: None,
            permission_mode: None,
            plugin_dir: None,
            settings: None,
        }
    }

    fn next(line: &str) -> String {
        for_next_run(&args(line), &bare()).join(" ").replace(&format!("--session-id {ID}"), "ID")
    }

    #[test]
    fn what_belongs_to_the_first_conversation_is_gone() {
        for (line, rest) in [
            ("", "ID"),
            ("fix --model opus", "ID --model opus"),
            ("--model opus -- fix", "ID --model opus"),
            ("-r abc --verbose", "ID --verbose"),
            ("--verbose -r", "ID --verbose"),
            ("-c --fork-session --session-id x", "ID"),
            ("--resume=abc --continue fix", "ID"),
            ("--from-pr 12 --teleport x --prefill y --verbose", "ID --verbose"),
            ("-cd api", "ID -d api"),
            ("-crabc --ide", "ID --ide"),
            ("--add-dir a b --resume x c", "ID --add-dir a b"),
            ("--brand-new val fix", "ID --brand-new val"),
            ("--system-prompt --resume x", "ID --system-prompt --resume"),
        ] {
            assert_eq!(next(line), rest, "{line}");
        }
    }

    #[test]
    fn the_first_run_gets_an_id_only_where_nothing_picks_the_conversation() {
        let launch = |line: &str| for_launch(&args(line), Some("/p"), &id()).join(" ");
        assert_eq!(launch("fix"), format!("--plugin-dir=/p --session-id {ID} fix"));
        for line in
            ["--session-id x", "-r", "--resume x", "-c", "--continue", "--from-pr 3", "--teleport", "-cd"]
        {
            assert_eq!(launch(line), format!("--plugin-dir=/p {line}"));
        }
        assert_eq!(
            for_launch(&args("--model -r"), None, &id()).join(" "),
            format!("--session-id {ID} --model -r")
        );
    }

    #[test]
    fn a_conversation_has_the_name_that_it_is_to_have_and_no_other() {
        let named = |line: &str, name: Option<&str>| with_name(&args(line), name).join("|");
        for (line, with, without) in [
            ("", "--name=My work", ""),
            ("-n a fix", "--name=My work|fix", "fix"),
            ("--name=a --verbose -n b", "--name=My work|--verbose", "--verbose"),
            ("-cnfoo --ide", "--name=My work|-c|--ide", "-c|--ide"),
            ("--add-dir a b -- -n x", "--name=My work|--add-dir|a|b|--|-n|x", "--add-dir|a|b|--|-n|x"),
            ("--new-option -n x y", "--name=My work|--new-option|y", "--new-option|y"),
            ("--system-prompt -n x", "--name=My work|--system-prompt|-n|x", "--system-prompt|-n|x"),
        ] {
            assert_eq!(named(line, Some("My work")), with, "{line}");
            assert_eq!(named(line, None), without, "{line}");
        }
        assert_eq!(named("-na --name=b -c", Some("b")), "-na|--name=b|-c", "it stays as it was written");
    }

    #[test]
    fn model_and_mode_are_passed_on() {
        let run = NextRunArgs {
            model: Some("claude-opus-4-8[1m]".into()),
            permission_mode: Some(PermissionMode::AcceptEdits),
            ..bare()
        };
        let to = |line: &str| {
            for_next_run(&args(line), &run).join(" ").replace(&format!("--session-id {ID} "), "")
        };
        assert_eq!(to("--ide"), "--model claude-opus-4-8[1m] --ide --permission-mode acceptEdits");
        assert_eq!(
            to("--model sonnet"),
            "--model sonnet --permission-mode acceptEdits",
            "the person's own model stays"
        );
        assert_eq!(
            to("--permission-mode plan"),
            "--model claude-opus-4-8[1m] --permission-mode plan --permission-mode acceptEdits"
        );
        assert_eq!(to("--permission-mode=acceptEdits --model m"), "--permission-mode=acceptEdits --model m");
        let run = NextRunArgs { switched: Some("claude-sonnet-5".into()), permission_mode: None, ..run };
        let to = |line: &str| {
            for_next_run(&args(line), &run).join(" ").replace(&format!("--session-id {ID} "), "")
        };
        assert_eq!(to("--ide"), "--ide --model claude-sonnet-5");
        assert_eq!(
            to("--model opus --ide"),
            "--model opus --ide --model claude-sonnet-5",
            "what was chosen last counts"
        );
        assert_eq!(to("--model claude-sonnet-5"), "--model claude-sonnet-5");
    }

    #[test]
    fn bypass_is_never_added() {
        let run = NextRunArgs { permission_mode: Some(PermissionMode::BypassPermissions), ..bare() };
        let to = |line: &str| {
            for_next_run(&args(line), &run).join(" ").replace(&format!("--session-id {ID}"), "ID")
        };
        assert_eq!(to(""), "ID --permission-mode default");
        assert_eq!(to("--permission-mode plan"), "ID --permission-mode plan --permission-mode default");
        let allowed = "--allow-dangerously-skip-permissions";
        assert_eq!(to(allowed), format!("ID {allowed} --permission-mode default"));
        assert_eq!(to("--dangerously-skip-permissions"), "ID --dangerously-skip-permissions");
        assert_eq!(to("--permission-mode bypassPermissions"), "ID --permission-mode bypassPermissions");
    }

    #[test]
    fn a_narrower_mode_is_not_beaten_by_the_person_s_own_flag() {
        let run = NextRunArgs { permission_mode: Some(PermissionMode::Plan), ..bare() };
        let to = |line: &str| {
            for_next_run(&args(line), &run).join(" ").replace(&format!("--session-id {ID}"), "ID")
        };
        assert_eq!(
            to("--dangerously-skip-permissions --ide"),
            "ID --allow-dangerously-skip-permissions --ide --permission-mode plan"
        );
        assert_eq!(
            to("--permission-mode bypassPermissions"),
            "ID --permission-mode bypassPermissions --permission-mode plan"
        );
        assert_eq!(
            to("--system-prompt --dangerously-skip-permissions"),
            "ID --system-prompt --dangerously-skip-permissions --permission-mode plan"
        );
        let run = NextRunArgs { permission_mode: Some(PermissionMode::Auto), ..bare() };
        assert_eq!(
            for_next_run(&args("--ide"), &run).join(" "),
            format!("--session-id {ID} --ide --permission-mode default")
        );
        assert_eq!(
            for_next_run(&args("--permission-mode auto"), &run).join(" "),
            format!("--session-id {ID} --permission-mode auto")
        );
    }

    #[test]
    fn names_that_are_no_names_are_left_out() {
        for bad in ["", "-p", "--settings", "a b", "x\n", "<synthetic>", "$(x)"] {
            let run = NextRunArgs { model: Some(bad.into()), ..bare() };
            assert_eq!(for_next_run(&[], &run), args(&format!("--session-id {ID}")), "{bad:?}");
        }
    }

    #[test]
    fn a_resume_names_the_conversation_and_asks_nothing() {
        let run = NextRunArgs { model: Some("opus".into()), plugin_dir: Some("/p".into()), ..bare() };
        assert_eq!(
            for_resume(&args("--ide fix -c"), &run).join(" "),
            format!("--plugin-dir=/p --resume {ID} --model opus --ide")
        );
    }

    #[test]
    fn settings_come_last() {
        let run = NextRunArgs { settings: Some("{}".into()), ..bare() };
        let out = for_next_run(&args("--settings mine --add-dir a"), &run);
        assert_eq!(out.join("|"), format!("--session-id|{ID}|--settings|mine|--add-dir|a|--settings={{}}"));
        assert_eq!(OwnArgs::of(&out).settings.as_deref(), Some("{}"));
        assert_eq!(
            with_settings(&args("--settings a -- -x"), "{}").join(" "),
            "--settings a --settings={} -- -x"
        );
    }

    fn words() -> impl Strategy<Value = Vec<String>> {
        let kept = ["--ide", "--verbose", "--debug=api", "--agent", "--brand-new", "-dx"];
        let word = prop_oneof![
            prop::sample::select(kept.to_vec()).prop_map(str::to_owned),
            prop::sample::select(vec![
                "--model", "--add-dir", "--resume", "-r", "-c", "--session-id", "--", "--settings", "-cd",
                "-n"
            ])
            .prop_map(str::to_owned),
            "[a-z]{1,4}",
            ".{0,6}",
        ];
        prop::collection::vec(word, 0..12)
    }

    proptest! {
        #[test]
        fn what_stays_stays_in_order_byte_for_byte(args in words()) {
            let pieces = Grammar::new().parse(&args);
            let loose = prompt(&pieces, &args);
            // Independent of `without_first_conversation`: walk the pieces and strike out whole arguments.
            let mut struck = vec![false; args.len()];
            let mut joined = vec![false; args.len()];
            for piece in &pieces {
                match piece {
                    ArgPiece::Option { means: OptionMeaning::Identity | OptionMeaning::Once, at, alone: None,
                        .. } => struck[at.clone()].fill(true),
                    ArgPiece::Option { alone: Some(_), at, .. } => { joined[at.clone()].fill(true); }
                    ArgPiece::Operand { at } | ArgPiece::Separator { at } => struck[*at] = true,
                    ArgPiece::Loose { at } if loose == Some(*at) => struck[*at] = true,
                    _ => {}
                }
            }
            prop_assume!(!joined.contains(&true));
            let expected: Vec<&String> = args.iter().zip(&struck).filter(|(_, gone)| !**gone)
                .map(|(arg, _)| arg).collect();
            let out = for_next_run(&args, &bare());
            prop_assert_eq!(out[2..].iter().collect::<Vec<_>>(), expected);
        }

        #[test]
        fn a_later_run_starts_one_conversation_of_ours(args in words()) {
            // A value with a space behind an unknown option reads as the prompt once the prompt is gone
            // (`grammar::prompt`).
            let spaced = |piece: &ArgPiece| matches!(piece,
                ArgPiece::Loose { at } if args[*at].contains(char::is_whitespace));
            prop_assume!(!Grammar::new().parse(&args).iter().any(spaced));
            let out = for_next_run(&args, &bare());
            let read = OwnArgs::of(&out);
            prop_assert_eq!(read.session_id.as_deref(), Some(ID));
            prop_assert_eq!((read.resume, read.continues, read.prompt), (None, false, None));
            prop_assert_eq!(for_next_run(&out, &bare()), out);
        }

        #[test]
        fn the_first_run_keeps_everything(args in words()) {
            let out = for_launch(&args, Some("/p"), &id());
            prop_assert!(out.ends_with(&args));
        }

        #[test]
        fn every_argument_is_covered_once(args in words()) {
            let mut covered = 0;
            for piece in Grammar::new().parse(&args) {
                let range = match piece {
                    ArgPiece::Option { at, .. } => at,
                    ArgPiece::Unknown { at } | ArgPiece::Loose { at } | ArgPiece::Separator { at } | ArgPiece::Operand { at } => at..at + 1,
                };
                prop_assert!(range.start == covered || range.start + 1 == covered, "gap or overlap at {}",
                    range.start);
                covered = covered.max(range.end);
            }
            prop_assert_eq!(covered, args.len());
        }
    }
}
