//! What reads files and messages of others, called directly.

use std::collections::BTreeMap;
use std::path::Path;

use hopty::claude::sessions_file;
use hopty::core::claude::line_splitter::LineSplitter;
use hopty::core::claude::settings::{hooks_disabled, merge};
use hopty::core::claude::settings_code::{CodeDigest, Role, SettingsFile};
use hopty::core::claude::statusline_payload::StatusLine;
use hopty::core::claude::transcript_facts::TranscriptFacts;
use hopty::core::claude::{ask_mode_question, hooks, mcp_servers};
use hopty::core::compat::{FileReport, SessionCompat};
use hopty::core::config::{self, Config, File, Layout, Sources};
use hopty::core::handoff::brief::{BriefFiles, Budget, brief, brief_of_document};
use hopty::core::handoff::capture::{Capture, HandoffOrigin};
use hopty::core::handoff::channel_registry::Registry;
use hopty::core::handoff::document::Document;
use hopty::core::handoff::manifest::Manifest;
use hopty::core::handoff::manifest_entry::{Claim, HandoffKind};
use hopty::core::handoff::safe_prompts::Words;
use hopty::core::handoff::state_json::HandoffState;
use hopty::core::ids::{Channel, HandoffId};
use hopty::core::journal::{JournalRecorder, decisions, last_explained, last_session, replay};
use hopty::core::supervisor::action::HookAnswer;
use hopty::core::supervisor::event::Event;
use hopty::core::supervisor::restart_signal::RestartSignal;
use hopty::core::supervisor::{Policy, ProgramKind};
use hopty::core::tape;
use hopty::core::time::{Stamp, WallTime};
use hopty::ipc::message::parse_request;
use serde_json::Value;

use super::random::{Random, assert_plain, fuzz};
use super::sample;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn signal_files() {
    let named = "5450e68b-83d4-47c0-9c2f-e6b0117e1081:/home/u/proj\n";
    let mut config = Config::default();
    config.compat.signal_files = true;
    config.handoff.views = vec![Layout::Orchestrator];
    let mut watched = SessionCompat::new(&config, true).watched_files();
    fuzz("signals", |random| {
        let bytes = match random.below(3) {
            0 => random.damaged(named.into()),
            1 => random.lines(named),
            _ => random.json(sample!("handoff-requested.json")),
        };
        for file in watched.files.clone() {
            let Some(FileReport::Signal(signal)) = watched.changed(file, Ok(Some(&bytes)), true) else {
                continue;
            };
            match &signal {
                RestartSignal::Malformed { reason: text } | RestartSignal::Here { checkpoint: text } => {
                    assert_plain("signal", text)
                }
                RestartSignal::Directory { dir } => {
                    assert!(dir.starts_with('/') && !dir.chars().any(char::is_control), "{dir:?}")
                }
                RestartSignal::Conversation { dir, .. } => {
                    assert!(
                        dir.iter().all(|dir| dir.starts_with('/') && !dir.chars().any(char::is_control)),
                        "{dir:?}"
                    );
                }
            }
        }
    });
}

#[test]
fn sessions_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("29790.json");
    fuzz("sessions files", |random| {
        std::fs::write(&file, random.json(sample!("sessions_file.json"))).unwrap();
        let said = sessions_file::read(&file);
        assert!(said.and_then(|said| said.waiting_for).is_none_or(|text| text.len() < 1 << 16));
        assert!(sessions_file::living(dir.path()).len() <= 1);
    });
}

#[test]
fn journals() {
    let events: Vec<Value> = sample!("journal.jsonl")
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap().get("event").cloned())
        .collect();
    let policy = Policy {
        agent: ProgramKind::Claude,
        hooks: true,
        notes: true,
        submit_when_idle: true,
        sessions_file: true,
        no_handover: None,
        rules: hopty::core::supervisor::RULES,
        config: Config::default(),
    };
    fuzz("journals", |random| {
        let journal = text(&random.json_lines(sample!("journal.jsonl")));
        if let Err(error) = replay(&journal) {
            assert!(error.to_string().len() < 10_000, "{error}");
        }
        assert!(decisions(last_session(&journal)).count() <= journal.lines().count());
        let _ = last_explained(&journal);
        // The same events in a session of their own: what they make is written down, and that can be
        // replayed.
        let mut recorder = JournalRecorder::new(policy.clone());
        let mut lines = recorder.open_line(Stamp(0), WallTime(0), "fuzz");
        let mut now = 0_u64;
        for event in &events {
            let event = if random.chance(10) { random.pick(&events) } else { event };
            let Ok(event) = serde_json::from_value::<Event>(random.value(event)) else { continue };
            now += random.next() % 3000;
            recorder.step(Stamp(now), WallTime(0), &event, &mut lines);
        }
        assert!(lines.len() < 4 << 20, "{} bytes", lines.len());
        let again = replay(&lines).unwrap();
        assert!(matches!(again, hopty::core::journal::Replay::Same { .. }), "{again:?}");
    });
}

#[test]
fn hook_payloads() {
    let expected: HandoffId = "HO-20261123-215050-5450e68b".parse().unwrap();
    let payloads: Vec<&str> = sample!("hooks.jsonl").lines().collect();
    fuzz("hooks", |random| {
        let bytes = {
            let payload = random.pick(&payloads);
            random.json(payload)
        };
        let Ok(payload) = serde_json::from_slice::<Value>(&bytes) else { return };
        let event = if random.chance(4) {
            random.words()
        } else {
            payload["hook_event_name"].as_str().unwrap_or_default().to_owned()
        };
        let call = hooks::read(&event, &payload, Some(&expected));
        assert!(call.tool_uses.len() <= 1000);
        assert!(
            [&call.hook.mode, &call.hook.error].into_iter().flatten().all(|word| word.chars().count() <= 40)
        );
        for answer in [
            HookAnswer::Nothing,
            HookAnswer::Message { text: random.words() },
            HookAnswer::Block { reason: random.words() },
        ] {
            let said = hooks::stdout(call.hook.event, &answer, Some("frame"));
            assert!(said.is_empty() || serde_json::from_str::<Value>(&said).is_ok(), "{said}");
        }
        payload["tool_calls"].as_array().into_iter().flatten().for_each(|call| {
            let _ = ask_mode_question::answer(call);
        });
    });
}

#[test]
fn requests() {
    let known = [
        r#"{"id":1,"do":"status"}"#,
        r#"{"id":2,"do":"wait","for":"idle","since":3,"timeout_ms":5}"#,
        r#"{"id":3,"do":"attach","cols":120,"rows":40,"xpixel":0,"ypixel":0,"read_only":false,"term":"x","env":{},"redraw":true}"#,
        r#"{"id":4,"do":"send","text":"a","keys":["enter"],"submit":true}"#,
        r#"{"id":5,"do":"restart","now":true,"handoff":false}"#,
        r#"{"id":6,"do":"stop","kill":true}"#,
        r#"{"id":7,"do":"hook","event":"Stop","run":1,"payload":{"a":[1,2,{"b":null}]}}"#,
        r#"{"id":8,"do":"screen","history":true}"#,
        r#"{"id":9,"do":"detach","client":1}"#,
        r#"{"id":10,"do":"answer","answer":"snooze"}"#,
    ];
    fuzz("requests", |random| {
        let bytes = {
            let line = random.pick(&known);
            random.json(line)
        };
        if let Err((_, failure)) = parse_request(&bytes) {
            for said in [&failure.message, &failure.hint] {
                assert_plain("request", said);
                assert!(said.len() < 2000, "{said}");
            }
        }
    });
}

#[test]
fn configurations() {
    let sample = include_str!("../../fixtures/contract/config.toml");
    let conf = "# of the script\nTHRESHOLD=45\nSNOOZE_DURATION=60\nMODE=x\n";
    fuzz("configuration", |random| {
        let [user, project, document] =
            [random.lines(sample), random.lines(sample), random.lines(conf)].map(|bytes| text(&bytes));
        let env = [
            ("HOPTY_RESTART_MODE".to_owned(), random.words()),
            ("HOPTY_CONTEXT_PROFILE".to_owned(), "s3".to_owned()),
        ];
        let file = |path, text| Some(File { path, text });
        let resolved = config::resolve(&Sources {
            user: file("/home/u/.config/hopty/config.toml", &user),
            project: file(".hopty.toml", &project),
            env: &env[random.below(3)..],
            flags: &[],
            document: file("/home/u/.claude/x.conf", &document),
        });
        assert!(resolved.problems.len() <= 256, "{}", resolved.problems.len());
        for problem in &resolved.problems {
            let said = problem.to_string();
            assert_plain("problem", &said);
            assert!(said.len() < 2000, "{said}");
        }
    });
}

fn origin() -> HandoffOrigin {
    HandoffOrigin {
        conversation: "5450e68b-83d4-47c0-9c2f-e6b0117e1081".parse().unwrap(),
        channel: Channel::global(),
        kind: HandoffKind::Auto,
        created_at: WallTime::parse("2026-11-20T14:30:00Z").unwrap(),
        working_dir: "/home/u/proj".to_owned(),
        transcript: "/home/u/t.jsonl".to_owned(),
        session: None,
        pid: 7,
        predecessor: None,
    }
}

#[test]
fn transcripts() {
    fuzz("transcripts", |random| {
        let mut bytes = random.json_lines(sample!("transcript.jsonl"));
        if random.chance(20) {
            let huge = format!(
                "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
                "long ".repeat(random.below(400_000))
            );
            bytes.extend(huge.bytes());
        }
        let mut splitter = LineSplitter::with_cap(1 << 20);
        let mut facts = TranscriptFacts::new();
        for part in random.pieces(&bytes, 20_000) {
            splitter.feed(part, |line| facts.feed(line));
        }
        let capture = Capture::new(origin(), &facts);
        let document = Document::of(&capture);
        let whole = document.render();
        assert_plain("document", &whole);
        assert!(whole.len() < 400_000, "{} bytes", whole.len());
        assert_eq!(Document::parse(&whole).unwrap().render(), whole);
        let budget = Budget { brief: random.below(12_000), request: random.below(5000) };
        let words = Words::of(&capture);
        let places = BriefFiles::of(&capture, "/home/u/.claude/handoff/records", &capture.id(), true);
        for brief in
            [brief(&capture, &words, &places, budget), brief_of_document(&document, "/r/handoff.md", budget)]
        {
            assert_plain("brief", &brief);
            assert!(brief.encode_utf16().count() <= 10_000, "{} units", brief.encode_utf16().count());
        }
        assert_plain("prompts", &words.prompts_file());
        let state = HandoffState::of(&capture).render();
        // The current request is in it as the goal and among the prompts, 256 KiB each at most; 64 KiB of
        // other prompts, and the rest.
        assert!(
            state.len() < 700_000 && serde_json::from_str::<HandoffState>(&state).is_ok(),
            "{} bytes",
            state.len()
        );
    });
}

#[test]
fn the_store() {
    let id: HandoffId = "HO-20261123-215050-5450e68b".parse().unwrap();
    let now = WallTime::parse("2026-11-23T22:00:00Z").unwrap();
    fuzz("store", |random| {
        if let Ok(mut manifest) = serde_json::from_slice::<Manifest>(&random.json(sample!("manifest.json"))) {
            let by = "a75e46e7-7917-4554-a745-e11731f87ad0".parse().unwrap();
            let claim =
                Claim { by_pid: 1, by_start: 1, session_id: by, at: now, other: serde_json::Map::new() };
            let session = "proj".parse().ok();
            let lives = random.chance(2);
            let _ = manifest
                .pending(session.as_ref(), Some("/home/u/proj"), "/home/u/proj", now, |_, _| lives)
                .cloned();
            let said =
                manifest.claim(&id, claim.clone(), |_, _| false).map(drop).map_err(|error| error.to_string());
            assert_plain("claim", &said.err().unwrap_or_default());
            let _ = (
                manifest.consume(&id, &claim.session_id, 1, now),
                manifest.release(&id, &claim.session_id),
                manifest.clear(&id),
            );
            let _ = (manifest.expire_due(now, |_, _| false), manifest.postpone_expiry(now, now));
            let written = serde_json::to_string(&manifest).unwrap();
            serde_json::from_str::<Manifest>(&written).unwrap();
        }
        match Document::parse(&text(&random.lines(sample!("handoff.md")))) {
            Ok(document) => {
                assert_plain(
                    "brief",
                    &brief_of_document(&document, "/r", Budget { brief: 9500, request: 4000 }),
                );
                Document::parse(&document.render()).unwrap();
            }
            Err(error) => assert_plain("document", &error.to_string()),
        }
        if let Ok(state) = serde_json::from_slice::<HandoffState>(&random.json(sample!("state.json"))) {
            assert!(serde_json::from_str::<HandoffState>(&state.render()).is_ok());
            state.pass_on(&mut Capture::new(origin(), &TranscriptFacts::new()));
        }
        match Registry::parse(&text(&random.json(sample!("registry.json")))) {
            Ok(mut registry) => {
                let _ = registry.covering(Path::new("/home/u/proj/x"), |path| Some(path.to_owned()));
                registry.set("/home/u/new", &Channel::global(), |_| None);
                Registry::parse(&registry.render()).unwrap();
            }
            Err(error) => assert_plain("registry", &error.to_string()),
        }
    });
}

#[test]
fn settings() {
    let additions: BTreeMap<&str, Value> =
        [("env", serde_json::json!({"X": "y"})), ("hooks", serde_json::json!({"Stop": []}))].into();
    let additions = additions.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let projects = ["/home/u/proj".to_owned(), "/home/u".to_owned()];
    fuzz("settings", |random| {
        let [one, two] = [0, 1].map(|_| text(&random.json(sample!("settings.json"))));
        let role = *random.pick(&[Role::Settings, Role::Mcp, Role::State { projects: &projects }]);
        let of = |text: &str| CodeDigest::of(&[SettingsFile { name: "settings.json", role, text }]);
        let (before, after) = (of(&one), of(&two));
        assert_eq!(before.changes(&before), []);
        for (what, _) in before.changes(&after) {
            assert_plain("change", &what);
            assert!(what.len() < 2000, "{what}");
        }
        let _ = (
            hooks_disabled([one.as_str(), two.as_str()]),
            mcp_servers::has_memory_keeper(&[(role, &one), (Role::Settings, &two)]),
        );
        if let Ok(Some(merged)) = merge(Some(&one), &additions) {
            serde_json::from_str::<serde_json::Map<String, Value>>(&merged).unwrap();
        }
    });
}

#[test]
fn status_lines() {
    fuzz("status lines", |random| {
        let Ok(payload) = serde_json::from_slice::<Value>(&random.json(sample!("statusline.json"))) else {
            return;
        };
        let Some(mut line) = StatusLine::read(&payload) else { return };
        let earlier = line.clone();
        line.keep_limits(&earlier, random.next());
        assert!(
            line.limits.len() <= 2 * earlier.limits.len()
                && line.model.is_none_or(|model| model.len() <= 200)
        );
    });
}

impl Random {
    /// The bytes in pieces of at most `most`.
    fn pieces<'b>(&mut self, bytes: &'b [u8], most: usize) -> Vec<&'b [u8]> {
        let mut parts = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, behind) = rest.split_at((1 + self.below(most)).min(rest.len()));
            parts.push(part);
            rest = behind;
        }
        parts
    }
}

/// Examples of every command: those of the page on tapes.
fn tape_lines() -> Vec<String> {
    let page = include_str!("../../docs/TAPES.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.map(|(example, _)| example.replace("\\|", "|")).collect()
}

#[test]
fn tapes() {
    struct Files;
    impl tape::TapeFiles for Files {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            if path == "setup.tape" {
                Ok(b"Source other.tape Enter".to_vec())
            } else {
                Ok(b"Type a\nEnter".to_vec())
            }
        }
    }
    let lines = tape_lines();
    let signs = [
        "\"", "'", "/", "$\"", "<<X\n", "\nX\n", "{", "}", "#> ", "@", "+", "\\", "\n", " ", "s", "5", "ü",
        "\0",
    ];
    fuzz("tapes", |random| {
        let mut source = String::new();
        for _ in 0..random.below(12) {
            match random.below(4) {
                0 => source.push_str(random.pick::<&str>(&signs)),
                _ => source.push_str(random.pick::<String>(&lines)),
            }
            source.push_str(if random.chance(3) { " " } else { "\n" });
        }
        let source = if random.chance(2) { random.damaged(source.into_bytes()) } else { source.into_bytes() };
        let options = tape::ParseOptions { vhs_only: random.chance(3) };
        let read = tape::parse("a.tape", &source, options, &Files);
        assert_plain("report", &read.report());
        assert!(read.errors.len() <= 101 && read.warnings.len() <= 100);
        let (cols, rows) = read.settings.grid_size();
        assert!(cols >= 1 && rows >= 1);
        for step in &read.steps {
            // A setting is kept as it is in the tape.
            if matches!(step.command, tape::TapeCommand::Set(_)) {
                continue;
            }
            let line = step.command.to_string();
            let again = tape::parse("b.tape", line.as_bytes(), tape::ParseOptions::default(), &Files);
            let commands: Vec<_> = again.steps.iter().map(|step| &step.command).collect();
            assert_eq!(commands, [&step.command], "{line:?}\n{}", again.report());
        }
    });
}
