//! The configuration is held to the code: every key reaches a session, and something acts on it and on every
//! word that it takes.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;
mod support;

use std::collections::BTreeSet;

use hopty::core::config::{Config, ConfigKey, KEYS, ValueKind};
use source::{Source, Token, sources, text};
use support::wait_for;
use support::world::World;

/// The files that may act by the configuration: not its own, nor those that only set it for a show.
fn acting() -> Vec<Source> {
    let aside = ["src/core/config/", "src/core/compat/profile", "src/standin", "src/demo"];
    sources().into_iter().filter(|source| !aside.iter().any(|dir| source.file.starts_with(dir))).collect()
}

fn word_of(token: &Token) -> &str {
    if let Token::Word(word) = token { word } else { "" }
}

/// What a file calls a section: by its own name, by a `let` that ends in it, or as an argument of the
/// section's type.
fn names_of<'a>(section: &'a str, tokens: &'a [Token]) -> BTreeSet<&'a str> {
    let of_type = section[..1].to_uppercase() + &section[1..];
    let mut names = BTreeSet::from([section]);
    for (at, token) in tokens.iter().enumerate() {
        if word_of(token) == section && tokens.get(at + 1) == Some(&Token::Sign(';')) {
            let statement = tokens[..at]
                .iter()
                .rposition(|token| matches!(token, Token::Sign(';' | '{' | '}')))
                .map_or(0, |n| n + 1);
            names.extend((word_of(&tokens[statement]) == "let").then(|| word_of(&tokens[statement + 1])));
        }
        if word_of(token) == of_type && at > 4 {
            // `&Terminal` as well as `&config::Terminal`.
            let qualified = tokens[at - 1] == Token::Sep && word_of(&tokens[at - 2]) == "config";
            let at = if qualified { at - 2 } else { at };
            let colon = if tokens[at - 1] == Token::Sign('&') { at - 2 } else { at - 1 };
            names.extend((tokens[colon] == Token::Sign(':')).then(|| word_of(&tokens[colon - 1])));
        }
    }
    names
}

/// Whether a file reads the key: `section.name`, or the name of what it calls the section. A field of the
/// same name elsewhere is none.
fn reads(tokens: &[Token], key: &ConfigKey) -> bool {
    let mut names = names_of(key.section, tokens);
    // The four levels are read together (`Context::levels`).
    if key.section == "context" && matches!(key.kind, ValueKind::Level) {
        names = BTreeSet::from(["levels"]);
    }
    tokens
        .windows(3)
        .any(|t| names.contains(word_of(&t[0])) && t[1] == Token::Sign('.') && word_of(&t[2]) == key.name)
}

#[test]
fn every_key_is_acted_on() {
    let acting = acting();
    let unused = |key: &&ConfigKey| !acting.iter().any(|source| reads(&source.tokens, key));
    let unused: Vec<String> = KEYS.iter().filter(unused).map(ConfigKey::path).collect();
    assert!(unused.is_empty(), "keys that nothing acts on: {unused:?}");
    let of = |text: &str, path: &str| {
        let key = KEYS.iter().find(|key| key.path() == path).unwrap();
        reads(&source::tokens(text), key)
    };
    assert!(
        of("let c = &self.policy.config.restart; c.grace", "restart.grace")
            && of("x.restart.grace", "restart.grace")
    );
    assert!(of("fn f(c: &Handoff) { c.diff }", "handoff.diff") && of("levels.hard", "context.hard"));
    assert!(
        !of("let c = &self.config.handoff; c.grace", "restart.grace")
            && !of("capture.summary", "handoff.summary")
    );
}

/// Of the words that a key takes one may be what happens else; each other has to be asked for somewhere.
#[test]
fn every_word_of_a_key_is_acted_on() {
    let acting = acting();
    let schema = source::tokens(&text("src/core/config/schema.rs"));
    let (mut seen, mut unused) = (0, Vec::new());
    for at in schema
        .windows(3)
        .enumerate()
        .filter(|(_, t)| word_of(&t[0]) == "choice" && t[1] == Token::Sign('!'))
        .map(|(at, _)| at)
    {
        let (name, open) = (word_of(&schema[at + 3]), at + 4);
        let close = (open..schema.len()).find(|n| schema[*n] == Token::Sign('}')).unwrap();
        let variants = schema[open..close]
            .windows(3)
            .filter(|t| t[1] == Token::Sign('=') && matches!(t[2], Token::Text(_)));
        let named = |variant: &str| {
            let is = |t: &[Token]| word_of(&t[0]) == name && t[1] == Token::Sep && word_of(&t[2]) == variant;
            acting.iter().any(|source| source.tokens.windows(3).any(is))
        };
        let silent: Vec<&str> = variants.map(|t| word_of(&t[0])).filter(|variant| !named(variant)).collect();
        // A profile is a set of numbers, which `src/core/compat/profiles.rs` has.
        if silent.len() > 1 && name != "Profile" {
            unused.push(format!("{name}: {}", silent.join(", ")));
        }
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} kinds of words were found");
    assert!(unused.is_empty(), "words that nothing acts on: {unused:?}");
}

/// For each key a test that sees what another value of it changes: the key, the file, the test.
const EFFECTS: &str = "
program.claude tests/exec_through.rs without_a_home_it_is_the_claude_that_the_environment_names
program.update_env tests/sessions/restarts.rs the_next_run_has_the_variables_of_the_last_client
terminal.prefix tests/clients/orders.rs it_can_be_another_key_or_none
terminal.on_hangup tests/terminal/whole.rs a_window_that_is_closed_ends_the_session_where_that_is_configured
terminal.size tests/clients/leader.rs the_smallest_of_all_sizes_where_that_is_configured
terminal.detached_size tests/clients/leader.rs a_fixed_size_where_that_is_configured
terminal.segment tests/hooks.rs a_segment_stands_behind_the_person_s_own_status_line
terminal.offer_attach tests/start_messages.rs a_detached_session_is_offered
terminal.scrollback_lines tests/clients/history.rs as_many_lines_are_kept_as_are_wanted
context.profile tests/views/orchestrator.rs item_085_the_thresholds_are_those_of_the_profile_and_the_window_can_be_set
context.window tests/views/orchestrator.rs item_085_the_thresholds_are_those_of_the_profile_and_the_window_can_be_set
context.ask src/core/supervisor/tests/policy_keys.rs each_level_is_where_it_is_configured
context.warn src/core/supervisor/tests/policy_keys.rs each_level_is_where_it_is_configured
context.handoff src/core/supervisor/tests/policy_keys.rs each_level_is_where_it_is_configured
context.hard src/core/supervisor/tests/policy_keys.rs each_level_is_where_it_is_configured
restart.mode src/core/supervisor/tests/ask_mode.rs mode_manual_only_says_it
restart.ask_timeout src/core/supervisor/tests/policy_keys.rs a_question_stands_as_long_as_ask_timeout
restart.ask_default src/core/supervisor/tests/ask_mode.rs without_an_answer_it_acts_as_configured
restart.snooze src/core/supervisor/tests/items.rs item_108_the_threshold_and_the_snooze_are_sixty_and_five_minutes_or_as_configured
restart.max_restarts src/core/supervisor/tests/asking.rs exactly_so_many_restarts_within_the_window
restart.window src/core/supervisor/restart_limit.rs restarts_count_for_the_window_and_no_longer
restart.turn_wait src/core/supervisor/tests/policy_keys.rs the_end_of_a_turn_is_waited_for_as_long_as_turn_wait
restart.work_wait src/core/supervisor/tests/policy_keys.rs work_in_the_background_is_waited_for_as_long_as_work_wait
restart.draft_wait src/core/supervisor/tests/policy_keys.rs a_draft_postpones_as_long_as_draft_wait
restart.wait_for_person src/core/supervisor/tests/person_present.rs it_is_handed_over_at_once_where_nobody_is_there
restart.grace tests/views/wrapper.rs item_059_a_claude_that_does_not_end_is_killed_and_the_work_goes_on
restart.young src/core/supervisor/tests/stop_requests.rs a_young_run_is_given_more_time
restart.reap tests/sessions/restarts.rs what_a_run_leaves_behind_is_left_alone_where_that_is_configured
delivery.ready_timeout src/core/supervisor/tests/policy_keys.rs the_prompt_box_is_waited_for_as_long_as_ready_timeout
delivery.answer_dialogs src/core/supervisor/tests/limits.rs the_limits_dialog_is_answered_unless_that_is_configured_away
handoff.expiry tests/handoff/moves.rs item_031_a_handoff_expires_after_two_hours_or_as_configured
handoff.frame_chars src/core/handoff/brief/render_brief_tests.rs its_length_is_as_configured
handoff.decisions src/core/handoff/captured_tests.rs item_091_the_checkpoint_has_every_field
handoff.gotchas src/core/handoff/captured_tests.rs item_091_the_checkpoint_has_every_field
handoff.diff src/git/state_tests.rs git_is_asked_as_configured
handoff.git tests/handoff/trees.rs hold_leaves_it_and_ignore_does_not_look
handoff.git_timeout src/git/state_tests.rs git_is_asked_as_configured
handoff.summary src/core/supervisor/tests/words_before_handover.rs nobody_is_asked_who_has_no_room_or_no_time
handoff.views tests/views/layouts.rs item_114_a_skill_can_present_the_state_and_hopty_does
handoff.copy_transcript tests/handoff/moves.rs the_transcript_is_copied_unless_that_is_switched_off
handoff.keep_records src/fs/store/handoff_store.rs records_are_kept_as_configured
handoff.keep_days src/fs/store/handoff_store.rs records_are_kept_as_configured
recovery.resume_after_crash src/core/supervisor/tests/crashes.rs recovery_can_be_switched_off
recovery.quick_deaths src/core/supervisor/tests/crashes.rs pauses_double_up_to_a_minute
recovery.after_limit src/core/supervisor/tests/limits.rs after_a_limit_hopty_goes_on_when_it_is_told_and_not_at_all_where_that_is_off
recovery.limit_wait src/core/supervisor/tests/limits.rs after_a_limit_hopty_goes_on_when_it_is_told_and_not_at_all_where_that_is_off
recovery.after_error src/core/supervisor/tests/limits.rs who_is_there_is_left_alone
recovery.retry_pause src/core/supervisor/tests/limits.rs the_pause_before_a_retry_is_as_configured
hooks.inject tests/hooks.rs not_injected
hooks.commands tests/slash_commands.rs one_key_turns_the_commands_off
hooks.ack tests/hooks.rs the_wait_of_a_hook_is_that_of_the_configuration
hooks.hold src/core/supervisor/tests/policy_keys.rs a_hook_is_held_as_long_as_hooks_hold
compat.signal_files tests/handoff/starts.rs signal_files_are_left_alone_when_switched_off
compat.session_log tests/views/wrapper.rs item_070_the_log_has_the_lines_of_a_session_from_start_to_finish
journal.max_bytes src/fs/rotating_journal.rs a_full_journal_moves_aside_and_the_oldest_goes
journal.files src/fs/rotating_journal.rs a_full_journal_moves_aside_and_the_oldest_goes
journal.keep_ended_days src/fs/session/tests.rs old_ended_sessions_are_swept_away_and_living_ones_are_not
record.auto tests/recording.rs every_session_is_recorded_within_bounds_where_that_is_configured
record.max_bytes tests/recording.rs every_session_is_recorded_within_bounds_where_that_is_configured
record.keep_days tests/recording.rs every_session_is_recorded_within_bounds_where_that_is_configured
archive.auto tests/archive.rs what_is_archived_is_as_wanted
archive.max_mb tests/archive.rs the_archive_has_a_limit_and_loses_nothing_by_itself
control.allow_from tests/attacks/peers.rs only_the_person_s_own_configuration_allows
notify.command src/host/notifier/person_notifier_tests.rs a_command_gets_json_and_variables
notify.terminal tests/notifications.rs attached_terminals_ring
notify.desktop tests/notifications.rs what_fails_is_logged_once_and_nothing_stops
notify.after tests/notifications.rs a_key_in_the_meantime_keeps_it_silent
notify.events tests/notifications.rs a_turn_that_is_not_in_the_transcript_is_told_once
notify.quiet_hours src/host/notifier/person_notifier_tests.rs in_quiet_hours_nothing_is_due
";

#[test]
fn every_key_has_a_test_of_its_effect() {
    let rows: Vec<Vec<&str>> =
        EFFECTS.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let keys: Vec<String> = rows.iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(keys, KEYS.iter().map(ConfigKey::path).collect::<Vec<_>>(), "one row a key, in their order");
    let mut wrong = Vec::new();
    for row in &rows {
        let [path, file, test] = row[..] else { panic!("{row:?}") };
        let code = text(file);
        let before = code.find(&format!("fn {test}(")).map_or("", |at| &code[..at]);
        // What takes a kind of Claude is called by a test for each.
        let is_test = before.rsplit("\n\n").next().is_some_and(|head| head.contains("#[test]"))
            || code.contains(&format!("fn {test}(kind: Kind)"));
        let (_, name) = path.split_once('.').unwrap();
        let variable = format!("HOPTY_{}", path.replace('.', "_").to_uppercase());
        if !is_test || !code.contains(name) && !code.contains(&variable) {
            wrong.push(format!("{path}: {file} has no test {test} that names the key"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every key at a value that is not its default. `CLAUDE` is the world's program, and five are as the world's
/// environment has them.
const EVERY_KEY: &str = r#"
[program]
claude = "CLAUDE"
update_env = ["SSH_AUTH_SOCK"]
[terminal]
prefix = "ctrl-a"
on_hangup = "end"
size = "smallest"
detached_size = "100x30"
segment = false
offer_attach = false
scrollback_lines = 500
[context]
profile = "s0"
window = 300000
ask = { percent = 51 }
warn = { percent = 61, tokens = 90000 }
handoff = { percent = 71 }
hard = {}
[restart]
mode = "ask"
ask_timeout = "3m"
ask_default = "nothing"
snooze = "7m"
max_restarts = 4
window = "2h"
turn_wait = "1m"
work_wait = "90s"
draft_wait = "40s"
wait_for_person = "0s"
grace = "4s"
young = "9s"
reap = "none"
[delivery]
ready_timeout = "50s"
answer_dialogs = []
[handoff]
expiry = "3h"
frame_chars = 8000
decisions = 8
gotchas = 4
diff = false
git = "hold"
git_timeout = "2s"
summary = "off"
views = ["acm"]
copy_transcript = false
keep_records = 40
keep_days = 20
[recovery]
resume_after_crash = false
quick_deaths = 2
after_limit = false
limit_wait = "3m"
after_error = "never"
retry_pause = "2m"
[hooks]
inject = false
commands = false
ack = "400ms"
hold = "50s"
[compat]
signal_files = false
session_log = true
[journal]
max_bytes = 5000000
files = 2
keep_ended_days = 7
[record]
auto = true
max_bytes = 200000
keep_days = 3
[archive]
auto = "off"
max_mb = 512
[control]
allow_from = ["lead-*"]
[notify]
command = "true"
terminal = ["bell"]
desktop = true
after = "20s"
events = ["idle"]
quiet_hours = "22:00-07:30"
"#;

/// From the file to the host, whose journal begins with what it was configured with.
#[test]
fn every_key_reaches_the_session() {
    let world = World::plain();
    let claude = world.env.iter().find(|(name, _)| name == "HOPTY_PROGRAM_CLAUDE").unwrap();
    let file = EVERY_KEY.replace("CLAUDE", claude.1.to_str().unwrap());
    let wanted: toml::Table = file.parse().unwrap();
    let defaults = toml::Table::try_from(Config::default()).unwrap();
    let named = wanted.iter().flat_map(|(section, keys)| {
        keys.as_table().unwrap().keys().map(move |name| format!("{section}.{name}"))
    });
    let keys: BTreeSet<String> = KEYS.iter().map(ConfigKey::path).collect();
    assert_eq!(named.collect::<BTreeSet<_>>(), keys, "one line a key");
    for key in KEYS {
        let of = |table: &toml::Table| table[key.section].get(key.name).cloned();
        assert_ne!(of(&wanted), of(&defaults), "{}", key.path());
    }
    let dir = world.home.join(".config/hopty");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), file).unwrap();
    world.run_detached("proj", &["cat"]);
    let open = wait_for("the first line of the journal", || {
        let journal = world.journal();
        journal.split_once('\n').map(|(line, _)| serde_json::from_str::<serde_json::Value>(line).unwrap())
    });
    let got = &open["open"]["config"];
    let wanted = serde_json::to_value(wanted.try_into::<Config>().unwrap()).unwrap();
    for key in KEYS {
        let of = |config: &serde_json::Value| config[key.section][key.name].clone();
        assert_eq!(of(got), of(&wanted), "{}", key.path());
    }
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
}
