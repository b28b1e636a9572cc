//! The context figure: of a transcript, and of a session.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::steps::*;
use super::support::world::World;
use super::support::{claude, wait_for};

/// The figure of a transcript of these lines.
fn figure(world: &World, lines: &[Value]) -> Value {
    let path = transcript(world, ID, lines);
    json_of(world, &["context", path.to_str().unwrap(), "--json"])
}

fn answer(world: &World, tokens: u64) -> Vec<Value> {
    exchange(world, ID, "Go on.", "Done.", tokens)
}

fn with(mut lines: Vec<Value>, change: impl Fn(&mut Value)) -> Vec<Value> {
    lines.iter_mut().for_each(change);
    lines
}

#[test]
fn the_line_is_that_of_the_contract() {
    let world = world();
    let path = transcript(&world, ID, &answer(&world, 164_000));
    let line = world.ask(&["context", path.to_str().unwrap()]);
    assert_eq!(
        line,
        "82 % of 200000 tokens (164000), level handoff; tokens: transcript, window: model_table\n"
    );
    let object = json_of(&world, &["context", path.to_str().unwrap(), "--json"]);
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["at", "bytes", "level", "percent", "tokens", "tokens_from", "window", "window_from"]);
    assert_eq!(object["bytes"], json!(std::fs::metadata(&path).unwrap().len()));
}

/// By size alone: the tokens say that there is room.
fn levels_by_size(profile: &str, sizes: &[(u64, &str)]) {
    let mut world = world();
    world.set("HOPTY_CONTEXT_PROFILE", profile);
    let path = transcript(&world, ID, &answer(&world, 3000));
    let talk = std::fs::read_to_string(&path).unwrap();
    for (kb, level) in sizes {
        let more = usize::try_from(kb * 1024).unwrap() - talk.len();
        let (begin, end) = ("{\"type\":\"padding\",\"text\":\"", "\"}\n");
        std::fs::write(&path, format!("{talk}{begin}{}{end}", "x".repeat(more - begin.len() - end.len())))
            .unwrap();
        let object = json_of(&world, &["context", path.to_str().unwrap(), "--json"]);
        assert_eq!(
            (&object["bytes"], &object["level"]),
            (&json!(kb * 1024), &json!(level)),
            "{profile}, {kb} KB"
        );
    }
}

#[test]
fn item_024_the_first_document_s_sizes_reach_its_levels() {
    levels_by_size(
        "s0",
        &[
            (1299, "ok"),
            (1300, "ask"),
            (1499, "ask"),
            (1500, "warn"),
            (1699, "warn"),
            (1700, "handoff"),
            (1900, "handoff"),
        ],
    );
    levels_by_size("default", &[(1700, "ok")]);
}

#[test]
fn item_048_the_second_document_s_sizes_reach_its_levels() {
    levels_by_size("s1", &[(4095, "ok"), (4096, "ask"), (6144, "warn"), (8192, "handoff")]);
    levels_by_size("test", &[(4, "ok"), (5, "ask"), (9, "ask"), (10, "warn"), (14, "warn"), (15, "handoff")]);
}

#[test]
fn windows_models_and_sub_agents() {
    let world = world();
    let read = |lines: &[Value]| {
        let object = figure(&world, lines);
        (
            object["tokens"].as_u64().unwrap(),
            object["window"].as_u64().unwrap(),
            object["window_from"].as_str().unwrap().to_owned(),
        )
    };
    let table = "model_table".to_owned();
    let model = |lines, name: &str| with(lines, |line| line["message"]["model"] = json!(name));
    assert_eq!(read(&answer(&world, 50_000)), (50_000, 200_000, table.clone()));
    assert_eq!(read(&model(answer(&world, 50_000), "claude-opus-5-5")), (50_000, 1_000_000, table.clone()));
    // The name lacks `[1m]`; more tokens than fit prove it.
    assert_eq!(
        read(&model(answer(&world, 460_000), "claude-opus-4-8")),
        (460_000, 1_000_000, "assumed".to_owned())
    );
    assert_eq!(read(&model(answer(&world, 60_000), "claude-new")), (60_000, 200_000, "assumed".to_owned()));
    // The model was changed on the way: the last one's window counts.
    let mut changed = answer(&world, 50_000);
    changed.extend(model(answer(&world, 60_000), "claude-sonnet-5"));
    assert_eq!(read(&changed), (60_000, 1_000_000, table.clone()));
    // A sub-agent's tokens are its own.
    let mut agent = answer(&world, 50_000);
    agent.extend(with(answer(&world, 170_000), |line| line["isSidechain"] = json!(true)));
    assert_eq!(read(&agent), (50_000, 200_000, table.clone()));
    // One message is several lines with the same usage: it counts once.
    let mut twice = answer(&world, 50_000);
    twice.push(twice[1].clone());
    assert_eq!(read(&twice).0, 50_000);
}

#[test]
fn after_a_compaction_the_figure_is_what_is_left() {
    let world = world();
    let boundary = |meta: Value| {
        json!({"type": "system", "subtype": "compact_boundary",
        "content": "Conversation compacted", "compactMetadata": meta})
    };
    let summary = json!({"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
        "message": {"role": "user",
        "content": "This session is being continued from a previous conversation that ran out of context."}});
    let mut lines = answer(&world, 164_000);
    lines.push(boundary(json!({"trigger": "manual", "preTokens": 164_000, "postTokens": 9000})));
    lines.push(summary.clone());
    // A tail of the old lines is written again, with their old figures.
    lines.push(lines[1].clone());
    assert_eq!(figure(&world, &lines)["tokens"], 9000);
    lines.extend(answer(&world, 12_000));
    assert_eq!(figure(&world, &lines)["tokens"], 12_000);
    let mut unknown = answer(&world, 164_000);
    unknown.extend([boundary(json!({})), summary]);
    assert_ne!(figure(&world, &unknown)["tokens"], 164_000);
}

#[test]
fn explain_names_every_source_in_its_order() {
    let world = world();
    let path = transcript(&world, ID, &answer(&world, 164_000));
    let said = world.ask(&["context", path.to_str().unwrap(), "--explain"]);
    let heads: Vec<&str> = said.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(
        heads[1..],
        ["transcript file", "statusline", "transcript", "bytes", "model table", "Claude's screen", "levels"],
        "{said}"
    );
    assert!(
        said.contains("(you named it)")
            && said.contains("164000 tokens, ")
            && said.contains(" old: tokens used: "),
        "{said}"
    );
    assert!(said.ends_with("levels: ask at 60 %, warn at 70 %, handoff at 80 %, hard at 90 %\n"), "{said}");
    let bare = with(answer(&world, 1000), |line| line["message"]["usage"] = Value::Null);
    let object = figure(&world, &bare);
    assert_eq!(object["tokens_from"], "bytes");
    assert_eq!(figure(&world, &bare[..1])["tokens_from"], "none");
}

#[test]
fn item_049_no_transcript_is_guessed_where_anything_says_which_it_is() {
    let mut world = world();
    let how = |world: &World, args: &[&str]| {
        let mut all = vec!["context"];
        all.extend_from_slice(args);
        all.extend(["--json", "--explain"]);
        let object = json_of(world, &all);
        (object["tokens"].as_u64().unwrap(), object["transcript"]["how"].as_str().unwrap().to_owned())
    };
    assert!(fails(&world, &["context"], 3).contains("no session is running"));
    fails(&world, &["context", "."], 1);
    transcript(&world, ID, &answer(&world, 10_000));
    let only = "the only one in the directory".to_owned();
    assert_eq!(how(&world, &[]), (10_000, only.clone()));
    assert_eq!(how(&world, &["."]), (10_000, only));
    assert_eq!(how(&world, &[ID]), (10_000, "its name is the conversation id".to_owned()));
    let second = transcript(&world, OTHER, &answer(&world, 20_000));
    let file = std::fs::File::open(second).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    assert_eq!(how(&world, &["."]), (20_000, "a guess: the newest of 2 of the directory".to_owned()));
    // What Claude says itself goes before a guess; a file that a dead one left is not believed.
    let sessions = world.claude_dir().join("sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let me = std::process::id();
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    for (pid, id) in [(me, ID), (dead.id(), OTHER)] {
        let said = json!({"pid": pid, "sessionId": id, "cwd": world.project, "status": "idle"});
        std::fs::write(sessions.join(format!("{pid}.json")), said.to_string()).unwrap();
    }
    assert_eq!(how(&world, &["."]), (10_000, format!("the Claude with pid {me} runs it there")));
    world.set("CLAUDE_CODE_SESSION_ID", OTHER);
    assert_eq!(how(&world, &[]), (20_000, "Claude runs this command in it".to_owned()));
    fails(&world, &["context", "0b0c9c5e-9999-4222-8333-444444444444"], 1);
    fails(&world, &["context", "/not/there.jsonl"], 1);
    fails(&world, &["context", "/etc/passwd"], 1);
    fails(&world, &["context", "unheard-of"], 3);
}

#[test]
fn item_086_one_word_says_what_to_do_by_every_profile() {
    let mut world = world();
    let mut word = |tokens: u64, profile: &str| {
        world.set("HOPTY_CONTEXT_PROFILE", profile);
        let path = transcript(&world, ID, &answer(&world, tokens));
        world.ask(&["context", path.to_str().unwrap(), "--status"]).trim().to_owned()
    };
    for (percent, profile, expected) in [
        (50, "default", "OK"),
        (65, "default", "OK"),
        (72, "default", "WARNING"),
        (82, "default", "HANDOFF_REQUIRED"),
        (95, "default", "HANDOFF_REQUIRED"),
        (65, "s2", "OK"),
        (70, "s2", "WARNING"),
        (80, "s2", "HANDOFF_REQUIRED"),
        (65, "s3", "WARNING"),
        (95, "s3", "WARNING"),
        (85, "s4", "OK"),
        (90, "s4", "HANDOFF_REQUIRED"),
    ] {
        assert_eq!(word(percent * 2000, profile), expected, "{percent} % {profile}");
    }
    let path = transcript(&world, ID, &answer(&world, 144_000));
    world.set("HOPTY_CONTEXT_PROFILE", "default");
    assert_eq!(
        json_of(&world, &["context", path.to_str().unwrap(), "--status", "--json"]),
        json!({"status": "WARNING", "percent": 72, "remaining": 56_000, "tokens": 144_000, "window": 200_000})
    );
}

#[test]
fn item_099_the_lines_of_an_orchestrator() {
    let world = world();
    let path = transcript(&world, ID, &answer(&world, 144_000));
    let path = path.to_str().unwrap();
    let said = world.ask(&["context", path, "--status", "--explain"]);
    assert_eq!(said, "WARNING\nToken usage: 72% - approaching limit\n");
    let said = world.ask(&["handoff", "fit", "8000", "--phase", "3", "--of", path]);
    assert_eq!(
        said,
        "Checking if Phase 3 fits...\nEstimated: 8,000 tokens, Available: 56,000\nContinuing...\n"
    );
    transcript(&world, ID, &answer(&world, 164_000));
    assert!(
        world.ask(&["context", path, "--status", "--explain"]).ends_with("\nToken limit reached (82%)\n")
    );
}

#[test]
fn fit_says_so_by_its_exit_code_too() {
    let world = world();
    let path = transcript(&world, ID, &answer(&world, 172_000));
    let path = path.to_str().unwrap();
    let run = |tokens: &str| {
        let output = world.hopty(&["handoff", "fit", tokens, "--of", path]);
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(run("23333"), (Some(0), "fits\n".to_owned()));
    assert_eq!(run("23334"), (Some(1), "does not fit\n".to_owned()));
    let output = world.hopty(&["handoff", "fit", "30000", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object, json!({"fits": false, "remaining": 28_000, "estimated": 30_000, "needed": 36_000}));
    fails(&world, &["handoff", "fit", "many"], 2);
}

/// The payload that Claude would give its status line.
fn status_line(world: &World, conversation: &Value, tokens: Option<u64>, window: u64) {
    let usage = tokens.map(
        |tokens| json!({"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "output_tokens": 3}),
    );
    let payload = json!({"session_id": conversation, "context_window": {"context_window_size": window,
        "current_usage": usage}});
    let mut command = Command::new(claude::hopty());
    command.arg("statusline").env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    command
        .env("HOPTY_SOCKET", world.state_dir().join("run/proj.sock"))
        .env("HOPTY_RUN", "1")
        .env("HOPTY_SESSION", "proj");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_session_shows_one_figure_everywhere() {
    let world = world();
    let term = greeted(&world);
    let conversation = world.status()["conversation"].clone();
    status_line(&world, &conversation, Some(3000), 1_000_000);
    wait_for("the window of the status line, and the transcript", || {
        let context = world.status()["context"].take();
        (context["window_from"] == "statusline" && context["tokens_from"] == "transcript").then_some(())
    });
    let status = world.status();
    let object = json_of(&world, &["context", "proj", "--json"]);
    for key in ["tokens", "window", "percent", "level", "tokens_from", "window_from"] {
        assert_eq!(object[key], status["context"][key], "{key}");
    }
    assert_eq!((&object["tokens"], &object["window"]), (&json!(3000), &json!(1_000_000)));
    let line = world.ask(&["context"]);
    assert!(world.ask(&["status"]).contains(line.trim()), "{line}");
    let said = world.ask(&["context", "--explain"]);
    let line = said.lines().find(|line| line.starts_with("statusline: 3000 tokens of 1000000, ")).unwrap();
    assert!(line.contains(" s old: window used: "), "{said}");
    // What Claude says of another conversation is not this one's.
    status_line(&world, &json!(OTHER), Some(999_000), 1_000_000);
    assert_eq!(world.status()["context"]["tokens"], 3000);
    // After its end the last state is shown.
    world.leave(term);
    assert_eq!(json_of(&world, &["context", "proj", "--json"])["window"], 1_000_000);
    // The window is remembered of the conversation, too.
    let id = conversation.as_str().unwrap();
    let object = json_of(&world, &["context", id, "--json"]);
    assert_eq!((&object["window"], &object["window_from"]), (&json!(1_000_000), &json!("statusline")));
    assert!(fails(&world, &["handoff", "id"], 1).contains("no handoff waits"));
}

#[test]
fn a_program_that_is_no_agent_has_no_window() {
    let world = world();
    world.ask(&["run", "--detached", "--name", "plain", "--", "sleep", "1000"]);
    assert!(fails(&world, &["context", "plain"], 4).contains("does not run Claude"));
    let output = world.hopty(&["context", "plain", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["error"]["code"], "refused");
    world.ask(&["stop", "--kill", "plain"]);
    world.assert_nothing_left();
}
