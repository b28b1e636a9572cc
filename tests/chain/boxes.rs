//! What source document 003 has a person verify by hand, 21 boxes, ticked in one run.

use std::path::Path;
use std::process::Command;

use hopty::core::claude::ask_mode_question::{HEADER, options, question};
use hopty::core::config::DurationMs;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::asking::{enter, is_told};
use super::steps::{assert_handed_over, main_requests, submit, text_of};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

const GOAL: &str = "Paint the fence green.";
/// What the person wants then: the objective of the handoff.
const NEXT: &str = "Now give all of it the second coat.";
/// In seconds; long enough to be seen, short enough to be waited for.
const SNOOZE: DurationMs = DurationMs::from_secs(2);

/// Todos, a file, and a window that is over the level; told to ask, the real Claude asks.
fn world(kind: Kind) -> Option<World> {
    let script = Script::each(move |request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if kind == Kind::Real && is_told(request) {
            let offered: Vec<_> = options(SNOOZE)
                .iter()
                .map(|label| json!({"label": label, "description": "as it says"}))
                .collect();
            let asked =
                json!({"question": question(65), "header": HEADER, "options": offered, "multiSelect": false});
            return ScriptedReply::tool("AskUserQuestion", json!({"questions": [asked]})).filling(131_000);
        }
        match request.assistant_messages() {
            0 => ScriptedReply::text("Planning.")
                .filling(10_000)
                .and_tool("TaskCreate", json!({"subject": "Sand the fence", "description": "first"}))
                .and_tool("TaskCreate", json!({"subject": "Paint the gate", "description": "second"})),
            1 => ScriptedReply::tool("TaskUpdate", json!({"taskId": "2", "status": "in_progress"}))
                .filling(20_000),
            2 => ScriptedReply::tool("Write", json!({"file_path": "colours.txt", "content": "green"}))
                .filling(30_000),
            n => ScriptedReply::text(format!("Answer {n}.")).filling(130_000),
        }
    });
    let mut world = World::new(kind, script)?;
    world.set("HOPTY_RESTART_MODE", "ask");
    world.set("HOPTY_RESTART_SNOOZE", &SNOOZE.to_string());
    world.set("HOPTY_HANDOFF_VIEWS", "acm");
    let git = Command::new("git").args(["init", "-q", "-b", "fence"]).current_dir(&world.project).status();
    assert!(git.unwrap().success());
    Some(world)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .unwrap()
}

/// The paths below a directory.
fn below(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => below(&entry.path()),
            false => vec![entry.path().display().to_string()],
        })
        .collect()
}

/// The answer that is kept with the session, once it is this one.
fn kept(world: &World, answer: &str) -> Value {
    let path = world.session_dir().join("ask.json");
    wait_for(&format!("the answer {answer} to be kept"), || {
        let kept: Value = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        (kept["answer"] == answer).then_some(kept)
    })
}

pub fn item_117_the_21_boxes_hold_in_one_run(kind: Kind) {
    let Some(world) = world(kind) else { return };
    let mut ticked = Vec::new();
    let mut tick = |boxes: &[u32], holds: bool, what: &str| {
        assert!(holds, "box {boxes:?}: {what}");
        ticked.extend_from_slice(boxes);
    };
    let term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text("Answer 3.");
    let crossed = world.wait_decision("level.crossed", 1);
    world.wait_state("idle");
    tick(&[1], world.journal().contains("\"event\":\"UserPromptSubmit\""), "the hook ran");
    let list = below(&world.state_dir()).into_iter().find(|path| path.ends_with("/hooks.json")).unwrap();
    tick(
        &[2],
        read(Path::new(&list))["hooks"]["UserPromptSubmit"].is_array(),
        "the list of hooks is valid and has it",
    );
    tick(
        &[3, 4],
        text_of(&crossed, "sentence").contains("Context is at 65 %"),
        "the level is known, with its percentage",
    );
    let conversation = text_of(&world.status(), "conversation");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let due = || world.journal().matches("Hand over to a fresh conversation?").count();
    let before = due();
    world.ask(&["handoff", "snooze", "proj"]);
    let until = kept(&world, "snooze")["until"].as_u64().unwrap();
    tick(&[8], u128::from(until) > now, "a snooze has an end, which is in the future");
    wait_for("the snooze to be over", || (due() > before).then_some(()));
    submit(&term, NEXT);
    let told = wait_for("the order to ask", || {
        main_requests(&world, &conversation).into_iter().find(|r| is_told(r))
    });
    tick(&[5], told.contains("hopty reads the answer itself"), "the hook's text reached the model");
    if kind == Kind::Real {
        term.wait_text("Yes, handoff now");
        term.wait_text("Snooze 2s");
        enter(&term);
    } else {
        term.wait_text("Answer 4.");
        world.wait_state("idle");
        world.ask(&["restart", "proj"]);
    }
    tick(
        &[6],
        told.contains("'Yes, handoff now' / 'Snooze 2s' / 'Dismiss'"),
        "Claude asks with its own tool",
    );
    let (_, new) = assert_handed_over(&world, 1, GOAL);
    let id = text_of(&world.wait_decision("handoff.saved", 1), "handoff");
    tick(&[7], id.starts_with("HO-"), "Yes hands over");
    let dir = world.project.join(".claude/claudikins-acm");
    let document = wait_for("the document", || std::fs::read_to_string(dir.join("handoff.md")).ok());
    let state = read(&dir.join("handoff-state.json"));
    let todos = json!([{"content": "Sand the fence", "status": "pending"}, {"content": "Paint the gate",
        "status": "in_progress"}]);
    tick(&[10], state["context"]["active_todos"] == todos, "todos from the transcript");
    let file = state["context"]["key_files_modified"][0].as_str().unwrap_or_default().to_owned();
    tick(&[11], file.ends_with("colours.txt"), "changed files from the transcript");
    let changed = state["git"]["modified_files"].to_string();
    tick(&[12], state["git"]["branch"] == "fence" && changed.contains("colours.txt"), "what git says");
    tick(
        &[13],
        state["version"] == "2.0" && state["context"]["current_objective"] == NEXT,
        "the state as JSON",
    );
    let lines = [
        NEXT,
        "- [pending] Sand the fence\n",
        "- [in_progress] Paint the gate\n",
        "colours.txt\n",
        "Branch: fence\n",
    ];
    tick(&[14], lines.iter().all(|line| document.contains(line)), "the document for people");
    let first = main_requests(&world, &new).remove(0);
    tick(&[15], first.contains(&format!("=== HANDOFF LOADED (ID: {id})")), "the start finds the handoff");
    tick(
        &[16],
        first.contains(GOAL)
            && first.contains(NEXT)
            && first.contains("colours.txt")
            && first.contains("branch fence at"),
        "its content is there",
    );
    // The person has named work since the to-dos were touched, and the brief says so.
    let again = ["#2 Paint the gate (in progress)", "#1 Sand the fence"];
    let is_to_do = |todo: &&str| {
        first.contains(&format!("- to do: {todo}"))
            || first.contains(&format!("- to do (the person has said more since): {todo}"))
    };
    tick(&[17], again.iter().all(is_to_do), "the todos are there again");
    let shown = world.ask(&["handoff", "show", &id]);
    let parts =
        ["## Goal", NEXT, "## Todos", "Paint the gate", "## Files", "colours.txt", "## Git", "Branch: fence"];
    tick(&[18], parts.iter().all(|part| shown.contains(part)), "it is presented clearly");
    world.ask(&["handoff", "dismiss", "proj"]);
    let dismissed = kept(&world, "dismiss");
    tick(
        &[9],
        dismissed["conversation"] == new.as_str() && dismissed["until"] == 0,
        "a dismissal is for good",
    );
    let left: Vec<String> = below(&world.project).into_iter().chain(below(&world.claude_dir())).collect();
    for (number, name) in [(19, "hookify"), (20, "inject-handoff-hook"), (21, "handoff-request-template")] {
        tick(&[number], !left.iter().any(|path| path.contains(name)), "nothing obsolete is left");
    }
    ticked.sort_unstable();
    assert_eq!(ticked, (1..=21).collect::<Vec<_>>());
    world.leave(term);
}
