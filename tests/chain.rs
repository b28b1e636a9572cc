//! The main job, end to end, with the stand-in agent and with the real Claude Code: the same cases for both, so that the
//! stand-in cannot drift into fiction. `docs/TESTING.md` has the table.

#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use hopty::standin::request::{Kind as Asks, Request};
use hopty::standin::script::{Reply, Script};
use serde_json::{Value, json};
use support::claude::Kind;
use support::term::Term;
use support::wait_for;
use support::world::{World, tools};

/// Each case becomes two tests, `stand_in::NAME` and `real::NAME`.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod stand_in {
            $(#[test] fn $name() { super::$name(super::Kind::StandIn); })*
        }
        mod real {
            $(#[test] fn $name() { super::$name(super::Kind::Real); })*
        }
    };
}

both! {
    a_prompt_is_answered_and_exit_leaves_a_whole_terminal,
    a_tool_loop_over_the_hard_level_hands_over_at_a_tool_boundary,
    hand_overs_in_a_row_lose_nothing,
    a_turn_that_ends_over_the_handoff_level_hands_over,
    a_signal_file_hands_over,
    foreign_stale_and_malformed_signals_are_left_alone,
    hopty_restart_hands_over_an_idle_session,
    a_restart_from_inside_claudes_own_bash,
    a_late_hook_approves_no_permission,
    a_long_goal_many_tasks_and_files_fit_the_frame,
    ctrl_c_twice_ends_it_in_every_encoding,
    ctrl_c_during_a_hand_over_wins,
    a_kill_from_outside_is_resumed,
    a_draft_and_keys_typed_meanwhile_are_carried_over,
    a_queued_prompt_is_carried_over,
    changed_settings_hold_an_automatic_hand_over,
    a_pending_handoff_is_loaded_on_request,
    clear_begins_another_conversation,
    a_claude_inside_a_claude_writes_its_transcript,
}

fn a_prompt_is_answered_and_exit_leaves_a_whole_terminal(kind: Kind) {
    let Some(world) = World::new(kind, Script::list([Reply::text("The answer is 42.").filling(1000)])) else { return };
    let settings = std::fs::read(world.claude_dir().join("settings.json")).unwrap();
    let mut term = world.start(&[]);
    term.wait_box();
    term.send("what is the answer?");
    term.wait_text("what is the answer?");
    term.send("\r");
    term.wait_text("The answer is 42.");
    world.wait_state("idle");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    assert!(!world.transcript(&conversation).is_empty(), "a transcript is written");
    term.send("/exit");
    term.wait_text("/exit");
    term.send("\r");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    assert_eq!(std::fs::read(world.claude_dir().join("settings.json")).unwrap(), settings, "settings are left alone");
    world.assert_replays();
    world.assert_nothing_left();
}

/// Cases that the stand-in agent cannot play: it has no status line.
mod real_only {
    use super::*;

    #[test]
    fn the_window_is_what_claude_reports_and_the_persons_status_line_is_shown() {
        let Some(world) = World::new(Kind::Real, quiet_talk()) else { return };
        let path = world.claude_dir().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        settings["statusLine"] = json!({"type": "command", "command": "echo status of \"$(cat | wc -c | grep -c .)\" mine"});
        std::fs::write(&path, settings.to_string()).unwrap();
        let before = std::fs::read(&path).unwrap();
        let (term, _) = talk(&world);
        term.wait_text("status of 1 mine");
        wait_for("the window from the status line", || (world.status()["context"]["window_from"] == "statusline").then_some(()));
        assert_eq!(world.status()["context"]["window"], 200_000);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        leave(&world, term);
    }
}

/// Types a prompt, sees it in the box, and submits it.
fn submit(term: &Term, text: &str) {
    term.wait_box();
    term.send(text);
    let shown: String = text.chars().take(40).collect();
    term.wait_text(&shown);
    term.send("\r");
}

fn leave(world: &World, mut term: Term) {
    world.wait_state("idle");
    submit(&term, "/exit");
    assert_eq!(term.wait_exit(), 0, "{}", world.story());
    term.assert_whole();
    world.assert_replays();
    world.assert_nothing_left();
}

fn main_requests(world: &World, conversation: &str) -> Vec<Arc<Request>> {
    world.api.requests_of(conversation).into_iter().filter(|r| r.kind == Asks::Main).collect()
}

fn text_of(decision: &Value, key: &str) -> String {
    decision[key].as_str().unwrap_or_else(|| panic!("no {key} in {decision}")).to_owned()
}

/// What CONTRACT C9 and C10 promise of the `n`-th hand-over (from 1): the first request of the new conversation carries the
/// whole frame, the id and the goal, and our prompt exactly once; in the old one no tool result is missing.
fn assert_handed_over(world: &World, n: usize, goal: &str) -> (String, String) {
    world.wait_decision("handoff.consumed", n);
    let runs: Vec<Value> = world.decisions().into_iter().filter(|d| d["kind"] == "run.spawned").collect();
    let old = text_of(&runs[n - 1], "conversation");
    let submitted = world.wait_decision("delivery.submitted", n);
    let (new, id) = (text_of(&submitted, "conversation"), text_of(&submitted, "handoff"));
    let (uses, results) = tools(&world.transcript(&old));
    assert_eq!(uses, results, "every tool use has its result");
    let first = main_requests(world, &new).into_iter().next().expect("a request of the new conversation");
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {id}) ===")), "the frame begins");
    assert!(first.contains("=== END HANDOFF ==="), "the frame ends");
    assert!(first.contains(goal), "the goal stands in it, verbatim");
    let prompt = format!("Continue from handoff {id}.");
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "our prompt stands in it once");
    (old, new)
}

fn hand_overs_in_a_row_lose_nothing(kind: Kind) {
    let rounds: usize = std::env::var("HOPTY_TEST_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let wanted = format!("handed over {rounds} times");
    let said = wanted.clone();
    let script = Script::each(move |request, _| {
        let done = request.first_prompt().is_some_and(|p| p.starts_with("Continue from handoff")) && request.contains(&said);
        if done {
            return Reply::text("All done.").filling(1000);
        }
        let step = request.assistant_messages() as u64 + 1;
        Reply::bash(format!("echo step {step}")).filling(step * 60_000)
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_RESTART_MAX_RESTARTS", "100");
    let term = world.start(&[]);
    let goal = "Count the stars again and again.";
    submit(&term, goal);
    for n in 1..=rounds {
        let (old, _) = assert_handed_over(&world, n, goal);
        assert_eq!(main_requests(&world, &old).len(), 3, "not one request after the hard level\n{}", world.story());
    }
    drop(term);
    world.wait_decision("client.detached", 1);
    world.ask(&["stop", "proj"]);
    world.assert_replays();
    world.assert_nothing_left();
}

fn a_turn_that_ends_over_the_handoff_level_hands_over(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return Reply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        Reply::text("That was a lot of work.").filling(165_000)
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Do a lot of work.");
    let (old, _) = assert_handed_over(&world, 1, "Do a lot of work.");
    assert_eq!(main_requests(&world, &old).len(), 1);
    assert!(
        world
            .decisions()
            .iter()
            .any(|d| d["kind"] == "safe_point.reached" && d["sentence"].as_str().unwrap().contains("turn is over")),
        "{}",
        world.story()
    );
    leave(&world, term);
}

fn quiet_talk() -> Script {
    Script::each(|request, _| {
        let text = request.continued_handoff().map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        Reply::text(text).filling(3000)
    })
}

fn talk(world: &World) -> (Term, String) {
    let term = world.start(&[]);
    submit(&term, "Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    let conversation = text_of(&world.status(), "conversation");
    (term, conversation)
}

fn a_signal_file_hands_over(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}\n", world.project.display())).unwrap();
    let (old, _) = assert_handed_over(&world, 1, "Say hello to me.");
    assert_eq!(old, conversation);
    assert!(!signal.exists(), "the signal that was obeyed is gone");
    let current = std::fs::read_to_string(world.claude_dir().join(".current-session")).unwrap();
    assert!(current.starts_with(&text_of(&world.status(), "conversation")), "{current}");
    leave(&world, term);
}

fn foreign_stale_and_malformed_signals_are_left_alone(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let signal = world.claude_dir().join(".restart-session");
    // One lies there from before.
    std::fs::write(&signal, "c74cc080-94b9-4841-b82f-a62cfb8efdc0:/home/somebody\n").unwrap();
    let (term, conversation) = talk(&world);
    world.wait_decision("restart.ignored", 1);
    let project = world.project.display().to_string();
    let mut cases: Vec<Vec<u8>> = [
        "",
        "\n",
        "test",
        "restart",
        "..",
        "~",
        "./x",
        "$PWD",
        "null",
        "{}",
        "[1]",
        "{\"id\":1}",
        ":/home",
        "::",
        "a:b",
        "yes",
        "0",
        "not-a-uuid:/home/u",
        "c74cc080:/home/u",
        "c74cc080-94b9-4841-b82f-a62cfb8efdcg:/x",
        "-rf:/",
        "/nowhere/at/all",
        "/",
        "/tmp",
        "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
        "c74cc080-94b9-4841-b82f-a62cfb8efdc0:/tmp",
        "https://example.invalid/x",
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    for tail in [":relative", ":~/x", ":$(id)", "\nmore", ":/x\n/y", ":/x\0", ":/\u{1b}[2J", " :/x", "x", ":/x\r\n\r\n"] {
        cases.push(format!("{conversation}{tail}").into_bytes());
    }
    cases.push(vec![0xff, 0xfe, b'/']);
    cases.push(vec![b'/'; 9000]);
    cases.push(format!(" {conversation}:{project}").into_bytes());
    assert!(cases.len() >= 40, "{}", cases.len());
    let replaced = signal.with_extension("new");
    for (n, case) in cases.iter().enumerate() {
        std::fs::write(&replaced, case).unwrap();
        std::fs::rename(&replaced, &signal).unwrap();
        world.wait_decision("restart.ignored", n + 2);
    }
    // A right one that is older than the session is stale.
    std::fs::write(&replaced, format!("{conversation}:{project}\n")).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::options().write(true).open(&replaced).unwrap().set_modified(old).unwrap();
    std::fs::rename(&replaced, &signal).unwrap();
    world.wait_decision("restart.ignored", cases.len() + 2);
    assert!(signal.exists(), "what is not obeyed is left where it is");
    let kinds: Vec<String> = world.decisions().iter().map(|d| text_of(d, "kind")).collect();
    assert!(!kinds.iter().any(|k| k == "restart.requested"), "{kinds:?}");
    assert_eq!(text_of(&world.status(), "conversation"), conversation);
    leave(&world, term);
}

fn hopty_restart_hands_over_an_idle_session(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    let said = world.ask(&["restart", "proj"]);
    assert_eq!(said, "restart of proj requested: waiting for a safe point\n");
    let (old, new) = assert_handed_over(&world, 1, "Say hello to me.");
    assert_eq!(old, conversation);
    world.wait_state("idle");
    let said = world.ask(&["restart", "proj", "--wait"]);
    assert!(said.contains("handed over as HO-"), "{said}");
    let (old, _) = assert_handed_over(&world, 2, "Say hello to me.");
    assert_eq!(old, new);
    // The worker writes it after the decision.
    let manifest = wait_for("the manifest to say consumed", || {
        let text = std::fs::read(world.claude_dir().join("handoff/global.manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&text).unwrap();
        (manifest["current"]["status"] == "consumed").then_some(manifest)
    });
    assert_eq!(manifest["history"][0]["status"], "consumed");
    assert_eq!(manifest["current"]["predecessor"], manifest["history"][0]["id"]);
    let record = world.claude_dir().join("handoff/records").join(manifest["current"]["id"].as_str().unwrap());
    wait_for("the transcript's copy", || record.join("transcript.jsonl.gz").exists().then_some(()));
    for file in ["handoff.md", "state.json"] {
        assert_eq!(std::fs::metadata(record.join(file)).unwrap().mode() & 0o777, 0o600, "{file}");
    }
    leave(&world, term);
}

fn a_restart_from_inside_claudes_own_bash(kind: Kind) {
    let hopty = support::claude::hopty().display().to_string();
    let script = Script::each(move |request, _| {
        if let Some(id) = request.continued_handoff() {
            return Reply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if request.assistant_messages() == 0 {
            return Reply::bash(format!("{hopty} restart && {hopty} stop; echo code $?")).filling(2000);
        }
        Reply::text("I asked for it.").filling(2500)
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Restart yourself.");
    let (old, _) = assert_handed_over(&world, 1, "Restart yourself.");
    let requests = main_requests(&world, &old);
    let results = requests.last().unwrap().tool_results();
    assert!(results[0].1.contains("restart of proj requested"), "{results:?}");
    assert!(
        results[0].1.contains("may not stop it") && results[0].1.contains("code 4"),
        "a descendant may not stop its session: {results:?}"
    );
    leave(&world, term);
}

/// The one that CONTRACT C10 is about: a spare Enter approves a permission prompt.
fn a_late_hook_approves_no_permission(kind: Kind) {
    let script = Script::each(|request, _| {
        if request.continued_handoff().is_some() {
            return Reply::bash("touch approved-by-nobody").filling(2000);
        }
        Reply::text("Hello.").filling(3000)
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.args = ["--model", "claude-sonnet-4-5"].map(str::to_owned).to_vec();
    let (mut term, _) = talk(&world);
    // In the next run the report of the submission comes 3 s late, when the permission prompt has long been there.
    let hooks_path = world.session_dir().join("plugin/hooks/hooks.json");
    let mut hooks: Value = serde_json::from_slice(&std::fs::read(&hooks_path).unwrap()).unwrap();
    let command = &mut hooks["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"];
    let late = world.root.path().join("late-payload");
    let (late, own) = (late.display(), command.as_str().unwrap().to_owned());
    *command = json!(format!("cat >'{late}'; (sleep 3; {own}) <'{late}' >/dev/null 2>&1 &"));
    std::fs::write(&hooks_path, hooks.to_string()).unwrap();
    world.ask(&["restart", "proj"]);
    term.wait_text("Do you want to proceed?");
    world.wait_decision("delivery.submitted", 1);
    world.wait_state("blocked");
    wait_for("the late report", || (world.journal().matches("\"UserPromptSubmit\"").count() >= 2).then_some(()));
    // Whatever hopty might still send would have arrived by the time that two more answers have come back.
    for _ in 0..2 {
        world.status();
    }
    term.wait_text("Do you want to proceed?");
    assert!(!world.project.join("approved-by-nobody").exists(), "the permission prompt stands unanswered");
    let enters = world.journal().matches("\"what\":\"enter\"").count();
    assert!(enters <= 2, "{enters} Enters");
    world.ask(&["stop", "proj"]);
    assert_eq!(term.wait_exit(), 143);
    term.assert_whole();
    world.assert_nothing_left();
}

fn a_long_goal_many_tasks_and_files_fit_the_frame(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return Reply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        let step = request.assistant_messages();
        if step < 10 {
            let mut reply = Reply::text("Working.").filling(10_000);
            for n in 0..50 {
                let n = step * 50 + n;
                reply = reply.and_tool("TaskCreate", json!({"subject": format!("Task number {n}"), "description": "to do"}));
            }
            return reply;
        }
        if step < 20 {
            let mut reply = Reply::text("Writing.").filling(20_000);
            for n in 0..200 {
                let n = (step - 10) * 200 + n;
                reply = reply.and_tool("Write", json!({"file_path": format!("files/{n}.txt"), "content": "x"}));
            }
            return reply;
        }
        Reply::text("Enough.").filling(170_000)
    });
    let Some(world) = World::new(kind, script) else { return };
    // Relative paths are refused by Claude: the files are named below the project.
    let begin = "This is the goal: ";
    let goal = format!("{begin}{}", "count every single star and write it down. ".repeat(279));
    assert!(goal.len() > 12_000);
    let term = world.start(&["--", &goal]);
    // 500 tasks and 2,000 files take the real one a while.
    world.wait_decision_for("handoff.consumed", 1, Duration::from_secs(300));
    let submitted = world.wait_decision("delivery.submitted", 1);
    let (new, id) = (text_of(&submitted, "conversation"), text_of(&submitted, "handoff"));
    let first = main_requests(&world, &new).into_iter().next().unwrap();
    let frame = first.texts().into_iter().map(|(_, text)| text).find(|text| text.contains("=== HANDOFF LOADED")).unwrap();
    assert!(frame.contains("=== END HANDOFF ==="), "to its last line");
    assert!(frame.contains(&goal[..3000]), "the goal up to its budget");
    assert!(frame.contains("[cut: whole text in "), "what is cut says where it is whole");
    let record = world.claude_dir().join("handoff/records").join(&id);
    assert!(std::fs::read_to_string(record.join("handoff.md")).unwrap().contains(goal.trim_end()), "the record has it whole");
    let state: Value = serde_json::from_slice(&std::fs::read(record.join("state.json")).unwrap()).unwrap();
    let todos = state["context"]["active_todos"].as_array().map_or(0, Vec::len);
    assert_eq!(todos, 500, "every task");
    leave(&world, term);
}

fn ctrl_c_twice_ends_it_in_every_encoding(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let signal = world.claude_dir().join(".restart-session");
    for key in ["\x03", "\x1b[99;5u", "\x1b[27;5;99~"] {
        std::fs::write(&signal, "c74cc080-94b9-4841-b82f-a62cfb8efdc0:/home/somebody\n").unwrap();
        let mut term = world.start(&[]);
        term.wait_box();
        world.wait_state("idle");
        term.send(key);
        term.wait_text("again to exit");
        term.send(key);
        assert_eq!(term.wait_exit(), 0, "{key:?}");
        term.assert_whole();
        let end = world.decisions().into_iter().next_back().unwrap();
        assert_eq!(end["cause"], "user_interrupt", "{key:?}: {end}");
        let why = world.ask(&["why", "proj"]);
        assert!(why.contains("Ctrl+C"), "{why}");
        world.assert_replays();
        world.assert_nothing_left();
    }
}

fn ctrl_c_during_a_hand_over_wins(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    // A hook at the end makes stopping slow enough to press a key meanwhile.
    let settings_path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&settings_path).unwrap()).unwrap();
    settings["hooks"] = json!({"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 2", "timeout": 5}]}]});
    std::fs::write(&settings_path, settings.to_string()).unwrap();
    world.set("HOPTY_AGENT_EXIT_MS", "1000");
    let (mut term, _) = talk(&world);
    term.send("an unsent thought");
    term.wait_text("an unsent thought");
    world.ask(&["restart", "proj", "--now"]);
    world.wait_decision("stop.sent", 1);
    term.send("\x03");
    term.wait_exit();
    term.assert_whole();
    let unsent = std::fs::read_to_string(world.session_dir().join("unsent.txt")).unwrap();
    assert_eq!(unsent, "an unsent thought", "a draft is not lost in silence");
    let end = world.decisions().into_iter().next_back().unwrap();
    assert_eq!(end["cause"], "user_interrupt", "{}", world.story());
    let handoff = text_of(&end, "handoff");
    wait_for("handoff and draft to be named on exit", || {
        let shown = String::from_utf8_lossy(&term.bytes()).into_owned();
        (shown.contains(&handoff) && shown.contains("unsent.txt")).then_some(())
    });
    assert_eq!(world.decisions().iter().filter(|d| d["kind"] == "run.spawned").count(), 1, "nothing restarts");
    let why = world.ask(&["why", "proj"]);
    assert!(why.contains("Ctrl+C") && why.contains(&handoff), "{why}");
    world.assert_replays();
    world.assert_nothing_left();
}

fn a_kill_from_outside_is_resumed(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    let pid = i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    // SAFETY: kill takes two numbers; the process was started by this test.
    unsafe { nix::libc::kill(pid, nix::libc::SIGKILL) };
    world.wait_decision("run.spawned", 2);
    let why = world.decisions().into_iter().find(|d| d["kind"] == "run.ended").unwrap();
    assert!(text_of(&why, "sentence").contains("SIGKILL from outside"), "{why}");
    term.wait_text("Hello.");
    world.wait_state("idle");
    assert_eq!(text_of(&world.status(), "conversation"), conversation, "the same conversation goes on");
    submit(&term, "And again, please.");
    wait_for("an answer in the same conversation", || (main_requests(&world, &conversation).len() >= 2).then_some(()));
    leave(&world, term);
}

fn a_draft_and_keys_typed_meanwhile_are_carried_over(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) if request.assistant_messages() == 0 => Reply::text(format!("Continuing from handoff {id}.")).filling(3000),
        _ => Reply::text("Hello.").filling(3000),
    });
    let Some(world) = World::new(kind, script) else { return };
    let (term, _) = talk(&world);
    term.send("half a tho");
    term.wait_text("half a tho");
    world.ask(&["restart", "proj", "--now"]);
    world.wait_decision("stop.sent", 1);
    term.send("ught, typed meanwhile");
    let (_, new) = assert_handed_over(&world, 1, "Say hello to me.");
    term.wait_text("half a thought, typed meanwhile");
    world.wait_state("idle");
    term.send("\r");
    wait_for("the prompt", || (main_requests(&world, &new).len() >= 2).then_some(()));
    let last = main_requests(&world, &new).pop().unwrap();
    let prompts = last.texts().iter().filter(|(_, t)| t.contains("half a thought, typed meanwhile")).count();
    assert_eq!(prompts, 1, "the draft was submitted as it stood");
    leave(&world, term);
}

fn a_queued_prompt_is_carried_over(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return Reply::text(format!("Continuing from handoff {id}.")).filling(3000).after_ms(300);
        }
        let step = request.assistant_messages() as u64 + 1;
        Reply::bash("until [ -e go-on ]; do sleep 0.05; done").filling(step * 95_000)
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Work for long.");
    let conversation = {
        wait_for("the tool to run", || (world.api.main_requests().len() == 1).then_some(()));
        text_of(&world.status(), "conversation")
    };
    world.wait_state("busy");
    submit(&term, "a prompt that waits in the queue");
    wait_for("the queue", || {
        world.transcript(&conversation).iter().any(|l| l["type"] == "queue-operation" && l["operation"] == "enqueue").then_some(())
    });
    // The second response is over the hard level; the prompt is absorbed by its request or still queued: nothing is lost.
    std::fs::write(world.project.join("go-on"), "").unwrap();
    world.wait_decision("handoff.consumed", 1);
    let new = text_of(&world.wait_decision("delivery.submitted", 1), "conversation");
    wait_for("the queued prompt to be somewhere", || {
        let seen = |id: &str| main_requests(&world, id).iter().any(|r| r.contains("a prompt that waits in the queue"));
        (seen(&conversation) || seen(&new)).then_some(())
    });
    leave(&world, term);
}

fn changed_settings_hold_an_automatic_hand_over(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return Reply::text(format!("Continuing from handoff {id}.")).filling(3000);
        }
        if request.assistant_messages() == 0 {
            let plant = r#"mkdir -p .claude && echo '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch planted"}]}]}}' > .claude/settings.json"#;
            return Reply::bash(plant).filling(100_000);
        }
        Reply::text("Done with it.").filling(170_000)
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Plant a hook.");
    let cancelled = world.wait_decision("restart.cancelled", 1);
    let sentence = text_of(&cancelled, "sentence");
    assert!(sentence.contains("hooks") && sentence.contains("hopty restart"), "{sentence}");
    world.wait_state("idle");
    assert!(!world.project.join("planted").exists());
    assert_eq!(world.decisions().iter().filter(|d| d["kind"] == "run.spawned").count(), 1);
    // The person decides.
    world.ask(&["restart", "proj"]);
    assert_handed_over(&world, 1, "Plant a hook.");
    leave(&world, term);
}

fn a_pending_handoff_is_loaded_on_request(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    world.set("HOPTY_AGENT_EXIT_MS", "500");
    let settings_path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&settings_path).unwrap()).unwrap();
    settings["hooks"] = json!({"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 1", "timeout": 5}]}]});
    std::fs::write(&settings_path, settings.to_string()).unwrap();
    let (mut term, _) = talk(&world);
    world.ask(&["restart", "proj"]);
    world.wait_decision("stop.sent", 1);
    term.send("\x03");
    term.wait_exit();
    drop(term);
    world.assert_nothing_left();
    let term = world.start(&["--handoff"]);
    world.wait_decision("handoff.consumed", 1);
    let new = text_of(&world.wait_decision("delivery.submitted", 1), "conversation");
    let first = main_requests(&world, &new).into_iter().next().unwrap();
    assert!(first.contains("=== HANDOFF LOADED") && first.contains("Say hello to me."));
    leave(&world, term);
    let again = world.hopty(&["--detached", "--handoff"]);
    assert_eq!(again.status.code(), Some(1), "a handoff has one reader: {}", String::from_utf8_lossy(&again.stderr));
    assert!(String::from_utf8_lossy(&again.stderr).contains("hint:"));
}

fn clear_begins_another_conversation(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    submit(&term, "/clear");
    let changed = world.wait_decision("conversation.changed", 1);
    let new = text_of(&changed, "conversation");
    assert_ne!(new, conversation);
    // A signal that names the old one is foreign now; one that names the new one is obeyed.
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}", world.project.display())).unwrap();
    world.wait_decision("restart.ignored", 1);
    submit(&term, "Say hello to me, newly.");
    wait_for("the answer", || (main_requests(&world, &new).len() == 1).then_some(()));
    world.wait_state("idle");
    let replaced = signal.with_extension("new");
    std::fs::write(&replaced, format!("{new}:{}", world.project.display())).unwrap();
    std::fs::rename(&replaced, &signal).unwrap();
    world.wait_decision("handoff.consumed", 1);
    let submitted = world.wait_decision("delivery.submitted", 1);
    let first = main_requests(&world, &text_of(&submitted, "conversation")).into_iter().next().unwrap();
    assert!(first.contains(&format!("Previous Session: {new}")), "the handoff is of the conversation that asked");
    leave(&world, term);
}

fn a_claude_inside_a_claude_writes_its_transcript(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    for name in ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "AI_AGENT"] {
        world.set(name, "1");
    }
    let (term, conversation) = talk(&world);
    wait_for("the transcript", || (!world.transcript(&conversation).is_empty()).then_some(()));
    leave(&world, term);
}

fn a_tool_loop_over_the_hard_level_hands_over_at_a_tool_boundary(kind: Kind) {
    let Some(world) = World::new(kind, Script::filling_loop("echo step", 40_000)) else { return };
    let mut term = world.start(&[]);
    term.wait_box();
    let goal = "Count the stars, one by one, and never stop.";
    term.send(goal);
    term.wait_text(goal);
    term.send("\r");
    world.wait_decision("handoff.consumed", 1);
    let decisions = world.decisions();
    let saved = decisions.iter().find(|d| d["kind"] == "handoff.saved").unwrap()["handoff"].as_str().unwrap().to_owned();
    let new = decisions.iter().find(|d| d["kind"] == "delivery.submitted").unwrap()["conversation"].as_str().unwrap().to_owned();
    let old = decisions.iter().find(|d| d["kind"] == "run.spawned").unwrap()["conversation"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    let (uses, results) = tools(&world.transcript(&old));
    assert_eq!((uses, results), (5, 5), "no tool result is lost");
    let (of_old, of_new) = (world.api.requests_of(&old), world.api.requests_of(&new));
    let main = |list: &[std::sync::Arc<hopty::standin::request::Request>]| {
        list.iter().filter(|r| r.kind == hopty::standin::request::Kind::Main).count()
    };
    assert_eq!(main(&of_old), 5, "not one more request from the old conversation");
    let first = of_new.iter().find(|r| r.kind == hopty::standin::request::Kind::Main).unwrap();
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {saved}) ===")), "the frame is there");
    assert!(first.contains("=== END HANDOFF ==="));
    assert!(first.contains(goal), "the goal is there, verbatim");
    let prompt = format!("Continue from handoff {saved}.");
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "the prompt is there exactly once");
    world.wait_state("idle");
    term.send("/exit");
    term.wait_text("/exit");
    term.send("\r");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    world.assert_replays();
    world.assert_nothing_left();
}
