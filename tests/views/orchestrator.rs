//! The loop of source document 002 on hopty: its signal, its state, its messages.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, SystemTime};

use hopty::core::config::{Config, Profile};
use hopty::standin::script::ScriptedReply;
use serde_json::{Value, json};

use super::steps::{self, below, consumed, hand_over, kinds, names, of_before, sent, talk, with, world};
use super::support::wait_for;
use super::support::world::World;

const SIGNAL: &str = r#"{"requested_at": "2025-01-26T14:30:00Z", "checkpoint_id": "chk-20250126-143000", "reason": "token_limit"}"#;

fn put(world: &World, name: &str, content: &str) {
    let dir = below(world, ".claude/auto-execution");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("new"), content).unwrap();
    std::fs::rename(dir.join("new"), dir.join(name)).unwrap();
}

#[test]
fn item_083_an_external_orchestrator_asks_for_a_handoff() {
    let world = world("orchestrator");
    let (term, _) = talk(&world);
    put(&world, ".handoff-requested", SIGNAL);
    let asked = world.wait_decision("restart.requested", 1);
    assert_eq!(asked["by"], "signal");
    assert!(asked["sentence"].as_str().unwrap().contains("chk-20250126-143000"), "{asked}");
    consumed(&world, 1);
    let signal = below(&world, ".claude/auto-execution/.handoff-requested");
    wait_for("the signals to be gone", || (!signal.exists()).then_some(()));
    assert!(
        !kinds(&world).iter().any(|kind| kind == "restart.ignored"),
        "hopty's own is not even looked at: {}",
        world.story()
    );
    world.leave(term);
}

#[test]
fn hostile_foreign_and_stale_signals_are_left_alone() {
    let world = world("orchestrator");
    put(&world, ".handoff-requested", SIGNAL);
    of_before(&below(&world, ".claude/auto-execution/.handoff-requested"));
    let (term, _) = talk(&world);
    world.wait_decision("restart.ignored", 1);
    let cases = [
        "",
        "{}",
        "chk-20250126-143000",
        "[1]",
        "{\"checkpoint_id\": \"chk-20250126-143000\"}",
        &SIGNAL.replace("chk-2", "../2"),
    ];
    for (n, case) in cases.iter().enumerate() {
        put(&world, ".handoff-requested", case);
        world.wait_decision("restart.ignored", n + 2);
    }
    let path = below(&world, ".claude/auto-execution/.handoff-requested");
    let aside = world.root.path().join("signal");
    std::fs::write(&aside, SIGNAL).unwrap();
    let old = SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::options().write(true).open(&aside).unwrap().set_modified(old).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    world.wait_decision("restart.ignored", cases.len() + 2);
    std::fs::write(&aside, SIGNAL).unwrap();
    std::fs::remove_file(&path).unwrap();
    symlink(&aside, &path).unwrap();
    world.wait_decision("restart.ignored", cases.len() + 3);
    assert!(path.is_symlink(), "what is not obeyed is left where it is");
    assert!(!kinds(&world).iter().any(|kind| kind == "restart.requested"), "{}", world.story());
    world.leave(term);
}

#[test]
fn a_signal_means_nothing_where_the_view_is_not_configured() {
    let world = world("");
    let (term, _) = talk(&world);
    put(&world, ".handoff-requested", SIGNAL);
    // What is told after it is seen, so it was seen before.
    std::fs::write(world.claude_dir().join(".restart-session"), "nonsense\n").unwrap();
    world.wait_decision("restart.ignored", 1);
    assert!(!kinds(&world).iter().any(|kind| kind == "restart.requested"));
    world.leave(term);
}

#[test]
fn item_098_completed_ends_the_loop() {
    let world = with("orchestrator", |continued| match continued {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(165_000),
    });
    put(&world, "state.yaml", "status: running\ncurrent_task: task-3\n");
    let mut term = world.start(&[]);
    term.wait_box();
    put(&world, "state.yaml", "status: completed\ncurrent_task: task-3\n");
    assert_eq!(world.wait_decision("task.completed", 1)["sentence"], "Task completed!");
    term.submit("Say hello to me.");
    let cancelled = world.wait_decision("restart.cancelled", 1);
    assert!(cancelled["sentence"].as_str().unwrap().contains("the task is completed"), "{cancelled}");
    world.wait_state("idle");
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0, "{}", world.story());
    term.wait_text("Task completed!");
    assert!(
        !kinds(&world).iter().any(|kind| kind == "handoff.saved"),
        "no further hand-over: {}",
        world.story()
    );
    world.assert_replays();
    world.assert_nothing_left();
}

#[test]
fn a_task_that_was_completed_before_the_session_ends_nothing() {
    let world = world("orchestrator");
    put(&world, "state.yaml", "status: completed\n");
    let old = SystemTime::now() - Duration::from_secs(60);
    let path = below(&world, ".claude/auto-execution/state.yaml");
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    assert!(!kinds(&world).iter().any(|kind| kind == "task.completed"), "{}", world.story());
    world.leave(term);
}

#[test]
fn item_084_monitor_detect_finish_checkpoint_signal_exit() {
    let world = with("orchestrator", |continued| match continued {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(165_000),
    });
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    consumed(&world, 1);
    let told = kinds(&world);
    let at =
        |kind: &str| told.iter().position(|k| k == kind).unwrap_or_else(|| panic!("no {kind} in {told:?}"));
    let steps = [
        "level.crossed", "restart.requested", "safe_point.reached", "handoff.saved", "stop.sent", "run.ended",
    ];
    let order: Vec<usize> = steps.iter().map(|kind| at(kind)).collect();
    assert!(order.windows(2).all(|two| two[0] < two[1]), "{told:?}");
    // What was printed between the two runs, in this order.
    let text = sent(&term);
    let mut rest = text.as_str();
    for line in [
        "! Token limit reached (83%)",
        "SESSION HANDOFF",
        "Progress: no list of phases",
        "Token usage: 165,",
        "Handoff complete. Orchestrator will start new session.",
        "RESUMING FROM HANDOFF",
        "Task: Say hello to me.",
    ] {
        rest = rest.split_once(line).unwrap_or_else(|| panic!("no {line:?} in {rest}")).1;
    }
    world.leave(term);
}

/// Where a person begins from a handoff, the box stands above the new session.
#[test]
fn item_097_who_begins_from_a_handoff_sees_the_box() {
    let mut world = world("");
    world.set("HOPTY_CONTEXT_PROFILE", "s2");
    let (term, _) = talk(&world);
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    world.leave(term);
    let term = world.start(&["--handoff"]);
    assert_eq!(consumed(&world, 1), id);
    let text = sent(&term);
    let (above, below) =
        text.split_once("RESUMING FROM HANDOFF").unwrap_or_else(|| panic!("no box in {text}"));
    assert!(!above.contains("SESSION HANDOFF"));
    for line in ["Checkpoint: chk-", "Task: Say hello to me.", "Progress: no list of phases", "Continuing..."]
    {
        assert!(below.contains(line), "no {line:?} in {below}");
    }
    world.leave(term);
}

#[test]
fn the_orchestrator_is_heard_where_the_other_signal_files_are_off() {
    let mut world = world("orchestrator");
    world.set("HOPTY_COMPAT_SIGNAL_FILES", "false");
    let (term, _) = talk(&world);
    put(&world, "state.yaml", "status: completed\n");
    wait_for("the task to be completed", || {
        kinds(&world).iter().any(|kind| kind == "task.completed").then_some(())
    });
    world.leave(term);
}

#[test]
fn the_profile_alone_prints_the_boxes_and_writes_no_file() {
    let mut world = world("");
    world.set("HOPTY_CONTEXT_PROFILE", "s2");
    let before = names(&below(&world, ".claude"));
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    assert!(
        sent(&term).contains("SESSION HANDOFF") && sent(&term).contains("! Handoff requested"),
        "{}",
        sent(&term)
    );
    assert_eq!(names(&below(&world, ".claude")), before);
    world.leave(term);
}

#[test]
fn item_085_the_thresholds_are_those_of_the_profile_and_the_window_can_be_set() {
    let levels = Profile::S2.levels();
    assert_eq!((levels.warn.percent, levels.handoff.percent), (Some(70.0), Some(80.0)));
    let mut world = with("", |continued| match continued {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(82_000),
    });
    world.set("HOPTY_CONTEXT_PROFILE", "s2");
    world.set("HOPTY_CONTEXT_WINDOW", "100000");
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    let crossed = world.wait_decision("level.crossed", 1);
    assert_eq!(crossed["sentence"], "Context is at 82 % of 100000 tokens (level handoff).");
    consumed(&world, 1);
    world.leave(term);
}

/// The records of two handoffs of the same talk: by default, and with every number of `config.yaml` set to
/// another.
#[test]
fn item_100_what_config_yaml_sets_has_its_key_and_acts() {
    let mut world = world("");
    git(&world, &["init", "-q"]);
    std::fs::write(below(&world, "pier.txt"), "stone\n").unwrap();
    git(&world, &["add", "pier.txt"]);
    let path = below(&world, "c74cc080-94b9-4841-b82f-a62cfb8efdc0.jsonl");
    let mut lines =
        vec![json!({"type": "user", "message": {"content": "Build the bridge."}, "cwd": world.project})];
    let mut call = |id: String, name: &str, input: Value, text: &str, error: bool, detail: Value| {
        lines.push(json!({"type": "assistant", "message": {"id": id, "model": "m", "content":
            [{"type": "tool_use", "id": id, "name": name, "input": input}]}}));
        lines.push(json!({"type": "user", "toolUseResult": detail, "message": {"content":
            [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}]}}));
    };
    for n in 0..14 {
        let question = format!("Which stone for pier {n}?");
        let detail = json!({"questions": [], "answers": {&question: "granite"}});
        call(
            format!("q{n}"),
            "AskUserQuestion",
            json!({"questions": [{"question": question}]}),
            "ok",
            false,
            detail,
        );
    }
    for n in 0..14 {
        let text = format!("way {} is closed", n % 7);
        call(format!("e{n}"), "Bash", json!({"command": "go"}), &text, true, json!(format!("Error: {text}")));
    }
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let told = |world: &World| {
        let id = world.ask(&["handoff", "create", "--transcript", path.to_str().unwrap()]).trim().to_owned();
        let record = world.claude_dir().join("handoff/records").join(&id);
        let checkpoint = steps::json(&record.join("state.json"))["checkpoint"].clone();
        let frame = world.ask(&["handoff", "show", "--frame", &id]);
        let diff = checkpoint["git_diff"].as_str().unwrap().contains("+stone");
        assert_eq!(record.join("changes.patch").exists(), diff);
        let count = |key: &str| checkpoint[key].as_array().unwrap().len();
        let document = std::fs::read_to_string(record.join("handoff.md")).unwrap();
        assert_eq!(document.matches("Which stone").count(), count("decisions"));
        assert_eq!(document.matches("- 2 times: Bash: way").count(), count("gotchas"));
        (count("decisions"), frame.matches("Which stone").count(), count("gotchas"), diff)
    };
    // max_decisions, all that the brief has room for, max_gotchas, include_git_diff.
    assert_eq!(told(&world), (10, 14, 5, true));
    for (key, value) in [("DECISIONS", "12"), ("GOTCHAS", "1"), ("DIFF", "false")] {
        world.set(&format!("HOPTY_HANDOFF_{key}"), value);
    }
    assert_eq!(told(&world), (12, 14, 1, false));
}

#[test]
fn the_configuration_of_another_program_counts_for_who_chose_its_profile() {
    let config = Config::default();
    let s2 = Profile::S2.levels();
    // threshold, warning_threshold, orchestrator.auto_continue; max_tokens is what the model has unless it is
    // set.
    assert_eq!((s2.handoff.percent, s2.warn.percent), (Some(80.0), Some(70.0)));
    assert_eq!((config.restart.mode.word(), config.context.window), ("auto", 0));
    for (profile, crossed) in [("default", false), ("s2", true)] {
        let mut world = with("", |_| ScriptedReply::text("Hello.").filling(100_000));
        world.set("HOPTY_CONTEXT_PROFILE", profile);
        std::fs::create_dir_all(below(&world, ".claude")).unwrap();
        std::fs::write(below(&world, ".claude/config.yaml"), "handoff:\n  warning_threshold: 0.4\n").unwrap();
        let (term, _) = talk(&world);
        assert_eq!(kinds(&world).iter().any(|kind| kind == "level.crossed"), crossed, "{profile}");
        world.leave(term);
    }
}

fn git(world: &World, args: &[&str]) {
    let done = Command::new("git")
        .args(args)
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(&world.project)
        .status();
    assert!(done.unwrap().success(), "git {args:?}");
}

#[test]
fn what_the_orchestrator_wrote_stays_and_its_status_comes_back() {
    let world = world("orchestrator");
    put(&world, "state.yaml", "status: testing\ncurrent_task: build-7\n");
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    consumed(&world, 1);
    let path = below(&world, ".claude/auto-execution/state.yaml");
    let state = wait_for("the status", || {
        let state = std::fs::read_to_string(&path).unwrap();
        (!state.contains("handoff_requested")).then_some(state)
    });
    let lines: Vec<&str> = state.lines().collect();
    assert_eq!(lines[..2], ["status: testing", "current_task: build-7"]);
    assert!(lines[2].starts_with("checkpoint_id: chk-") && lines.len() == 3, "{state}");
    world.leave(term);
}
