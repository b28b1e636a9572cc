//! The program itself, with changed files in its home: every verb that reads one ends in time, says nothing
//! that a terminal would obey, and blames no bug.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::random::{Random, assert_plain, fuzz_some};
use super::sample;

/// Where a file lies below the home, its sample, how it is changed, and the verbs that read it.
type Input = (&'static str, &'static str, Change, &'static [&'static str]);

const SESSION: &str = ".local/state/hopty/sessions/proj";

const INPUTS: [Input; 9] = [
    (
        ".local/state/hopty/sessions/proj/session.json",
        sample!("session.json"),
        Random::json,
        &[
            "ls --all", "ls --all --json", "ls --all --names", "status proj", "status proj --json",
            "why proj", "context proj",
        ],
    ),
    (
        ".local/state/hopty/sessions/proj/journal.jsonl",
        sample!("journal.jsonl"),
        Random::json_lines,
        &[
            "log proj",
            "events proj",
            "why proj",
            "why proj --json",
            "replay .local/state/hopty/sessions/proj/journal.jsonl",
            "log proj --json",
        ],
    ),
    (
        ".claude/handoff/global.manifest.json",
        sample!("manifest.json"),
        Random::json,
        &["handoff list --all", "handoff list --json", "handoff show", "handoff id", "handoff path", "check"],
    ),
    (
        ".claude/handoff/records/HO-20261123-215050-5450e68b/handoff.md",
        sample!("handoff.md"),
        Random::lines,
        &["handoff show HO-20261123-215050-5450e68b", "handoff show --frame HO-20261123-215050-5450e68b"],
    ),
    (
        ".claude/projects/-home-u-proj/5450e68b-83d4-47c0-9c2f-e6b0117e1081.jsonl",
        sample!("transcript.jsonl"),
        Random::json_lines,
        &[
            "context .claude/projects/-home-u-proj/5450e68b-83d4-47c0-9c2f-e6b0117e1081.jsonl",
            "context .claude/projects/-home-u-proj/5450e68b-83d4-47c0-9c2f-e6b0117e1081.jsonl --explain",
            "handoff recent --transcript \
             .claude/projects/-home-u-proj/5450e68b-83d4-47c0-9c2f-e6b0117e1081.jsonl",
        ],
    ),
    (
        ".claude/channel-registry.json",
        sample!("registry.json"),
        Random::json,
        &["channel", "channel list", "channel list --json"],
    ),
    (
        ".config/hopty/config.toml",
        include_str!("../../fixtures/contract/config.toml"),
        Random::lines,
        &["config", "config check", "config --json", "check"],
    ),
    (
        ".hopty.toml",
        include_str!("../../fixtures/contract/config.toml"),
        Random::lines,
        &["config", "config check", "check"],
    ),
    (".claude/settings.json", sample!("settings.json"), Random::json, &["check", "check --json"]),
];

/// Makes another input of a sample.
type Change = fn(&mut Random, &str) -> Vec<u8>;

/// What is given on standard input.
const STDIN: [(&str, &str, Change); 3] = [
    ("hook Stop", sample!("hooks.jsonl"), Random::json_lines),
    ("statusline", sample!("statusline.json"), Random::json),
    ("screen-dump", sample!("handoff.md"), Random::lines),
];

fn put(home: &Path, name: &str, bytes: &[u8]) {
    let path = home.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn run(home: &Path, verb: &str, input: Option<&PathBuf>) {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "15", env!("CARGO_BIN_EXE_hopty")]).args(verb.split(' '));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
    command.stdin(input.map_or_else(Stdio::null, |path| std::fs::File::open(path).unwrap().into()));
    let done = command.output().unwrap();
    let [out, err] = [done.stdout, done.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let code = done.status.code();
    assert!(code.is_some_and(|code| code < 101 || (125..=127).contains(&code)), "{verb}: {code:?} {err}");
    assert!(!err.contains("panicked") && out.len() + err.len() < 4 << 20, "{verb}: {err}");
    assert_plain(verb, &err);
    // JSON is for programs; what is in it is escaped.
    assert_plain(verb, &out);
}

#[test]
fn every_verb_that_reads_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    for (name, sample, ..) in INPUTS {
        put(home, name, sample.as_bytes());
    }
    put(home, &format!("{SESSION}/lock"), b"");
    for place in [".local/state/hopty", ".local/state/hopty/sessions", SESSION, ".claude/handoff"] {
        std::fs::set_permissions(home.join(place), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
    }
    let stdin = home.join("stdin");
    fuzz_some("verbs", 1000, |random| {
        if random.chance(4) {
            let (verb, sample, change) = random.pick(&STDIN);
            std::fs::write(&stdin, change(random, sample)).unwrap();
            return run(home, verb, Some(&stdin));
        }
        let (name, sample, change, verbs) = random.pick(&INPUTS);
        put(home, name, &change(random, sample));
        run(home, random.pick::<&str>(verbs), None);
        put(home, name, sample.as_bytes());
    });
}
