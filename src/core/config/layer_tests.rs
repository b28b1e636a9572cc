use super::*;
use crate::core::config::{DurationMs, RestartMode};
use proptest::prelude::*;

const CONTRACT: &str = include_str!("../../../fixtures/contract/config.toml");

fn user(text: &str) -> Resolved {
    resolve(&Sources { user: Some(File { path: "config.toml", text }), ..Sources::default() })
}

fn project(text: &str) -> Resolved {
    resolve(&Sources { project: Some(File { path: ".hopty.toml", text }), ..Sources::default() })
}

fn env(name: &str, value: &str) -> Resolved {
    resolve(&Sources { env: &[(name.to_owned(), value.to_owned())], ..Sources::default() })
}

fn says(resolved: &Resolved) -> String {
    resolved.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A value in one notation: durations in ms, numbers as floats.
fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text
            .parse::<DurationMs>()
            .map_or_else(|_| format!("{text:?}"), |span| format!("{} ms", span.ms())),
        Value::Integer(n) => format!("{:?}", *n as f64),
        Value::Table(parts) => {
            parts.iter().map(|(k, v)| format!("{k}:{}", spelled(v))).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

fn flat(table: &Table) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    for (section, keys) in table {
        for (name, value) in keys.as_table().unwrap() {
            flat.insert(format!("{section}.{name}"), spelled(value));
        }
    }
    flat
}

/// Keys that hopty has beyond the contract.
const BEYOND: &str = r#"
archive = { auto = "on", max_mb = 10240 }
control = { allow_from = [] }
handoff = { decisions = 10, diff = true, gotchas = 5 }
hooks = { commands = true }
record = { auto = false, max_bytes = 268435456, keep_days = 7 }
recovery = { after_error = "unattended", after_limit = true, limit_wait = "2m", retry_pause = "1m" }
restart = { snooze = "5m" }
terminal = { offer_attach = true, segment = true }
notify = { command = "", terminal = [], desktop = false, after = "30s", quiet_hours = "", events = ["blocked", "idle", "limit_reached", "limit_over", "handover_held", "handover_failed", "crashed", "transcript", "ended"] }
"#;

#[test]
fn the_contract_and_the_defaults_are_the_same_key_by_key() {
    let mut contract = flat(&CONTRACT.parse().unwrap());
    let defaults = flat(&Table::try_from(Config::default()).unwrap());
    for (key, value) in flat(&BEYOND.parse().unwrap()) {
        assert_eq!(contract.insert(key, value), None);
    }
    assert_eq!(contract, defaults);
    let table: Vec<String> = KEYS.iter().map(ConfigKey::path).collect();
    assert_eq!(contract.keys().cloned().collect::<Vec<_>>(), {
        let mut t = table;
        t.sort();
        t
    });
}

#[test]
fn the_contract_marks_the_keys_a_project_may_set() {
    let mut section = ("", false);
    for line in CONTRACT.lines().filter(|line| !line.trim().is_empty()) {
        let (code, note) = line.split_once('#').unwrap_or((line, ""));
        let marked = note.trim_start().starts_with("P:") || note.trim_start().starts_with("P,");
        if let Some(name) = code.trim().strip_prefix('[') {
            section = (name.trim_end_matches(']'), marked);
        } else if let Some((name, _)) = code.split_once('=') {
            let key = ConfigKey::find(section.0, name.trim()).unwrap();
            // It would move every level at once.
            let taken_back = key.path() == "context.window";
            assert_eq!(
                key.project != ProjectMay::NotSet,
                (section.1 || marked) && !taken_back,
                "{}",
                key.path()
            );
        }
    }
}

#[test]
fn the_contract_itself_has_no_problems_and_changes_nothing() {
    let read = user(CONTRACT);
    assert_eq!(says(&read), "");
    assert_eq!(read.config, Config::default());
}

#[test]
fn without_sources_the_defaults_apply() {
    let read = resolve(&Sources::default());
    assert_eq!(read.config, Config::default());
    assert!(read.origins.is_empty());
}

#[test]
fn each_layer_beats_the_one_below_and_is_named() {
    let user = File {
        path: "u",
        text: "[handoff]\ngotchas = 1\n[context]\nwindow = 1\n[restart]\nmode = \"ask\"\ngrace = \"6s\"",
    };
    let project = File { path: "p", text: "[handoff]\ngotchas = 2\n\n[restart]\nmode = \"manual\"" };
    let env = [
        ("HOPTY_HANDOFF_GOTCHAS".to_owned(), "3".to_owned()),
        ("HOPTY_RESTART_MAX_RESTARTS".to_owned(), "7".to_owned()),
    ];
    let flags = [FlagValue { flag: "--max-restarts", key: "restart.max_restarts", value: "4" }];
    let read = resolve(&Sources {
        user: Some(user),
        project: Some(project),
        env: &env,
        flags: &flags,
        document: None,
    });
    assert_eq!(says(&read), "");
    assert_eq!((read.config.handoff.gotchas, read.config.context.window), (3, 1));
    assert_eq!(read.config.restart.mode, RestartMode::Manual);
    assert_eq!(read.config.restart.max_restarts, 4);
    let line = |path: &str, line| ConfigSource::File { path: path.to_owned(), line: Some(line) };
    assert_eq!(read.origins["restart.grace"], ValueOrigin::User(line("u", 7)));
    assert_eq!(read.origins["restart.mode"], ValueOrigin::Project(line("p", 5)));
    assert_eq!(
        read.origins["handoff.gotchas"],
        ValueOrigin::Environment(ConfigSource::Variable("HOPTY_HANDOFF_GOTCHAS".into()))
    );
    assert_eq!(
        read.origins["restart.max_restarts"],
        ValueOrigin::Flag(ConfigSource::Flag("--max-restarts".into()))
    );
    assert_eq!(read.origins.get("journal.files"), None);
}

#[test]
fn an_unknown_key_names_file_line_and_the_nearest_key() {
    let read = user("[restart]\nmax_restart = 3\ngrace = \"7s\"\n");
    assert_eq!(
        says(&read),
        "config.toml:2: unknown key \"restart.max_restart\"; the nearest known key is restart.max_restarts"
    );
    assert_eq!(read.config.restart.grace, DurationMs::from_secs(7), "the good key beside it counts");
    assert!(says(&user("max_restarts = 3")).starts_with("config.toml:1: unknown key \"max_restarts\""));
    assert!(says(&user("\n[restarts]")).starts_with("config.toml:2: unknown key \"restarts\""));
    assert!(says(&user("[[restart]]\ngrace = \"7s\"")).contains("unknown key"));
}

#[test]
fn a_key_of_an_earlier_version_says_what_happens_instead() {
    let gone =
        "delivery.method is ignored: hopty always types the continuation prompt, with proof; delete the line";
    let notes = |read: &Resolved| read.retired.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for value in ["pty", "argument", "1"] {
        let read = user(&format!("[delivery]\nmethod = {value:?}\nready_timeout = \"3s\""));
        assert_eq!((says(&read), notes(&read)), (String::new(), format!("config.toml:2: {gone}")));
        assert_eq!(
            read.config.delivery.ready_timeout,
            DurationMs::from_secs(3),
            "the good key beside it counts"
        );
    }
    let env = [("HOPTY_DELIVERY_METHOD".to_owned(), "argument".to_owned())];
    let read = resolve(&Sources { env: &env, ..Sources::default() });
    assert_eq!((says(&read), notes(&read)), (String::new(), format!("HOPTY_DELIVERY_METHOD: {gone}")));
    let read = project("[delivery]\nmethod = \"pty\"");
    assert!(says(&read).is_empty() && notes(&read).contains(gone));
    let read =
        user("[context]\nrearm = 9\n[restart]\nquiet = \"4s\"\n[recovery]\nquick_death = \"no duration\"");
    assert_eq!((says(&read), read.retired.len(), read.config), (String::new(), 3, Config::default()));
}

#[test]
fn a_project_sets_only_what_it_may() {
    for (text, what) in [
        ("[program]\nclaude = \"/home/evil\"", "may not set program.claude"),
        ("[hooks]\ninject = false", "may not set hooks.inject"),
        ("[restart]\nmode = \"auto\"", "may set restart.mode only to \"ask\" or \"manual\""),
        ("[restart]\nmode = 1", "may set restart.mode only to"),
        ("[handoff]\nsummary = \"auto\"", "may set handoff.summary only to \"off\""),
        ("[delivery]\nanswer_dialogs = [\"trust\"]", "may not set delivery.answer_dialogs"),
        ("[context]\nwindow = 1000", "may not set context.window"),
        ("[context]\nprofile = \"test\"", "may set context.profile only to \"default\" or \"s0\""),
        ("[context]\nhandoff = { percent = 39 }", "may set context.handoff only to percent from 40"),
        ("[context]\nhard = { percent = 1.5 }", "may set context.hard only to percent from 40"),
        ("[context]\nask = { percent = 90, tokens = 59999 }", "may set context.ask only to"),
        ("[context]\nwarn = { kb = 999 }", "may set context.warn only to"),
        ("[context]\nwarn = 3", "context.warn = 3: must be a table"),
    ] {
        let read = project(text);
        assert!(says(&read).contains(what), "{text}: {}", says(&read));
        assert_eq!(read.config, Config::default(), "{text}");
    }
    let read = project(
        "[context]\nprofile = \"s2\"\n[restart]\nmode = \"manual\"\n[handoff]\ngit = \"hold\"\nsummary = \
         \"off\"",
    );
    assert_eq!(says(&read), "");
    assert_eq!(read.config.restart.mode, RestartMode::Manual);
    let read = project(
        "[context]\nask = {}\nhandoff = { percent = 40, tokens = 60000, kb = 1000 }\nhard = { percent = \
         99.5 }",
    );
    assert_eq!(says(&read), "");
}

#[test]
fn a_project_makes_nothing_laxer_than_the_user() {
    for (user, project, allowed) in [
        ("[restart]\nmode = \"manual\"", "[restart]\nmode = \"ask\"", "restart.mode only to \"manual\""),
        ("[handoff]\ngit = \"hold\"", "[handoff]\ngit = \"tell\"", "handoff.git only to \"hold\""),
    ] {
        let (user, project) = (File { path: "u", text: user }, File { path: "p", text: project });
        let read = resolve(&Sources { user: Some(user), project: Some(project), ..Sources::default() });
        assert!(says(&read).contains(allowed), "{}", says(&read));
        assert_eq!(read.config, resolve(&Sources { user: Some(user), ..Sources::default() }).config);
    }
}

/// The keys that a file in a clone may set. A new key is the user's alone until it is listed here.
#[test]
fn these_are_the_keys_that_a_project_may_set() {
    let may: Vec<String> =
        KEYS.iter().filter(|key| key.project != ProjectMay::NotSet).map(ConfigKey::path).collect();
    assert_eq!(
        may,
        [
            "context.profile", "context.ask", "context.warn", "context.handoff", "context.hard",
            "restart.mode", // How much of its knowledge a handoff contains.
            "handoff.decisions", "handoff.gotchas", "handoff.diff", "handoff.git", "handoff.summary"
        ]
    );
}

#[test]
fn a_value_out_of_range_leaves_the_layer_below() {
    let user = File { path: "u", text: "[handoff]\nframe_chars = 9000" };
    let env = [("HOPTY_HANDOFF_FRAME_CHARS".to_owned(), "20000".to_owned())];
    let read = resolve(&Sources { user: Some(user), env: &env, ..Sources::default() });
    assert_eq!(
        says(&read),
        "HOPTY_HANDOFF_FRAME_CHARS: handoff.frame_chars = 20000: must be a whole number from 1000 to 10000"
    );
    assert_eq!(read.config.handoff.frame_chars, 9_000);
}

#[test]
fn variables_of_every_kind() {
    assert!(!env("HOPTY_HOOKS_INJECT", "false").config.hooks.inject);
    assert_eq!(env("HOPTY_PROGRAM_CLAUDE", "/usr/bin/claude").config.program.claude, "/usr/bin/claude");
    assert_eq!(env("HOPTY_PROGRAM_UPDATE_ENV", "A, B").config.program.update_env, ["A", "B"]);
    assert!(env("HOPTY_PROGRAM_UPDATE_ENV", "").config.program.update_env.is_empty());
    assert_eq!(env("HOPTY_TERMINAL_PREFIX", "").config.terminal.prefix.byte(), None);
    assert_eq!(env("HOPTY_CONTEXT_HARD", "{ kb = 9 }").config.context.hard, Threshold::kb(9));
    assert_eq!(env("HOPTY_RESTART_GRACE", "9s").config.restart.grace, DurationMs::from_secs(9));
    assert_eq!(
        says(&env("HOPTY_RESTART_GRACE", "9")),
        "HOPTY_RESTART_GRACE: restart.grace = \"9\": not a duration: write a whole number and one of ms, s, m, h, \
         d, w, such as 300ms or 2m"
    );
}

#[test]
fn marks_of_a_session_are_not_configuration() {
    for name in [
        "HOPTY_SESSION", "HOPTY_SOCKET", "HOPTY_RUN", "HOPTY_DEPTH", "HOPTY_TEST_BIN", "HOPTY", "HOPTY_",
        "PATH",
    ] {
        assert_eq!(says(&env(name, "x")), "", "{name}");
    }
    assert!(says(&env("HOPTY_RESTART_GRACES", "9s")).contains("nearest known key is restart.grace"));
    for (name, meant) in
        [("HOPTY_RESTAT_GRACE", "restart.grace"), ("HOPTY_MAX_RESTARTS", "restart.max_restarts")]
    {
        let said = says(&env(name, "9"));
        assert!(said.starts_with(&format!("{name}: unknown key")) && said.ends_with(meant), "{said}");
    }
}

#[test]
fn a_profile_sets_only_levels_that_are_not_set() {
    let read = user("[context]\nprofile = \"test\"\nhard = { percent = 95 }");
    assert_eq!(read.config.context.warn, Threshold::kb(10));
    assert_eq!(read.config.context.hard, Threshold::percent(95.0));
    assert_eq!(read.origins["context.warn"], ValueOrigin::Profile("test".into()));
    assert!(matches!(read.origins["context.hard"], ValueOrigin::User(_)));
}

#[test]
fn a_file_that_is_no_toml_costs_only_itself() {
    for text in [
        "[restart",
        "a = = b",
        "\u{0}",
        "[restart]\ngrace = \"6s\"\ngrace = \"7s\"",
        &"[".repeat(5000),
        "x = 99999999999999999999",
    ] {
        let read = user(text);
        assert_eq!(read.config, Config::default(), "{text:.20}");
        assert_eq!(read.problems.len(), 1, "{text:.20}");
        assert!(!says(&read).chars().any(|c| c.is_control() && c != '\n'), "{text:.20}");
    }
    assert!(says(&user("\n\n[restart")).starts_with("config.toml:3: not valid TOML"));
    assert!(says(&user(&"#".repeat(CONFIG_FILE_MAX + 1))).contains("larger than 1048576 bytes"));
    assert_eq!(says(&user("")), "");
    assert_eq!(says(&user("\u{feff}[restart]\r\ngrace = \"6s\"\r\n")), "");
}

#[test]
fn the_number_of_problems_is_bounded() {
    let text: String = (0..5_000).map(|n| format!("k{n} = 1\n")).collect();
    assert_eq!(user(&text).problems.len(), MAX_PROBLEMS);
}

#[test]
fn a_configuration_survives_json_and_toml() {
    let read = user(
        "[context]\nhard = {}\n[restart]\nyoung = \"90s\"\n[terminal]\nprefix = \"ctrl-b\"\n[handoff]\nviews \
         = [\"acm\"]",
    );
    assert_eq!(says(&read), "");
    let json = serde_json::to_string(&read.config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), read.config);
    let toml = toml::to_string(&read.config).unwrap();
    let again = user(&toml);
    assert_eq!((says(&again), again.config), (String::new(), read.config));
    assert_eq!(
        serde_json::from_str::<Config>(r#"{"restart":{"mode":"auto","new":1}}"#).unwrap(),
        Config::default()
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "[\\[\\]{}=\"a-z_.0-9\n #']{0,200}") {
        let _ = user(&text);
        let _ = project(&text);
    }

    #[test]
    fn no_variable_panics(which in 0..KEYS.len(), text in ".{0,40}") {
        let read = env(&KEYS[which].variable(), &text);
        prop_assert!(read.problems.len() <= 1);
    }
}
