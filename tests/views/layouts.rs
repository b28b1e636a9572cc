//! The files of views `acm`, `orchestrator` and `pid`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{below, hand_over, kinds, names, sent, talk, with, world};
use super::support::both;
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

#[test]
fn without_configuration_the_project_stays_as_it_is() {
    let world = world("");
    let before = names(&below(&world, ".claude"));
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    assert!(!sent(&term).contains("SESSION HANDOFF") && !sent(&term).contains("Auto-restarting"));
    world.leave(term);
    assert_eq!(names(&below(&world, ".claude")), before);
    let handoffs = names(&world.claude_dir().join("handoff"));
    assert!(
        handoffs.iter().all(|name| !name.starts_with("global-") || name == "global-CURRENT.md"),
        "{handoffs:?}"
    );
    assert!(!world.claude_dir().join("auto-session.log").exists());
}

/// What the skill of source document 003 reads and says: objective, todos that are open, five of the files.
fn as_the_skill_says(state: &Value) -> Vec<String> {
    let context = &state["context"];
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {state}")).to_owned();
    let todos = context["active_todos"].as_array().unwrap();
    let files = context["key_files_modified"].as_array().unwrap();
    let mut lines = vec![format!("PREVIOUS OBJECTIVE: {}", text(&context["current_objective"]))];
    lines.extend(
        todos.iter().map(|todo| format!("  - [{}] {}", text(&todo["status"]), text(&todo["content"]))),
    );
    lines.push(format!(
        "RECENTLY MODIFIED: {}",
        files.iter().take(5).map(text).collect::<Vec<_>>().join(", ")
    ));
    lines
}

fn item_114_a_skill_can_present_the_state_and_hopty_does(kind: Kind) {
    let script =
        Script::each(|request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
            (None, 0) => {
                ScriptedReply::tool("TaskCreate", json!({"subject": "Lay the keel", "description": "d"}))
                    .and_tool("TaskCreate", json!({"subject": "Cut the sail", "description": "d"}))
                    .and_tool("TaskCreate", json!({"subject": "Tar the hull", "description": "d"}))
            }
            (None, 1) => ScriptedReply::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
                .and_tool("TaskUpdate", json!({"taskId": "2", "status": "in_progress"})),
            (None, 2) => ScriptedReply::tool("Write", json!({"file_path": "sail.txt", "content": "linen"})),
            (None, _) => ScriptedReply::text("Hello.").filling(3000),
        });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_HANDOFF_VIEWS", "acm");
    let (term, conversation) = talk(&world);
    let id = hand_over(&world, 1);
    let dir = below(&world, ".claude/claudikins-acm");
    let state = wait_for("the state", || {
        dir.join("handoff.md").exists().then(|| super::steps::json(&dir.join("handoff-state.json")))
    });
    let said = as_the_skill_says(&state);
    let file = said[3].strip_prefix("RECENTLY MODIFIED: ").unwrap();
    assert_eq!(
        said[..3],
        [
            "PREVIOUS OBJECTIVE: Say hello to me.",
            "  - [in_progress] Cut the sail",
            "  - [pending] Tar the hull"
        ]
    );
    assert!(file.ends_with("sail.txt"), "{file}");
    assert_eq!((&state["version"], &state["project_dir"]), (&json!("2.0"), &json!(world.project)));
    assert!(state["transcript_path"].as_str().unwrap().contains(&conversation));
    let document = std::fs::read_to_string(dir.join("handoff.md")).unwrap();
    let shown = world.ask(&["handoff", "show", &id]);
    for (text, todo) in
        [(&document, "- [in_progress] Cut the sail\n"), (&shown, "- [in_progress] #2 Cut the sail\n")]
    {
        assert!(
            text.contains("Say hello to me.") && text.contains(todo) && text.contains("sail.txt"),
            "{text}"
        );
        assert!(
            !text.contains("] Lay the keel") && !text.contains("] #1 Lay the keel"),
            "what is done is no todo: {text}"
        );
    }
    assert!(shown.contains("Done, not to be done again:\n\n- Lay the keel\n"), "{shown}");
    assert_eq!(std::fs::metadata(dir.join("handoff-state.json")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(names(&dir), ["handoff-state.json", "handoff.md"], "nothing else is left there");
    world.leave(term);
}

#[test]
fn handoff_create_writes_every_view() {
    let world = world("acm,orchestrator,pid,memory");
    let (term, _) = talk(&world);
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    let checkpoint = format!("chk-{}", &id[3..18]);
    let signal = super::steps::json(&below(&world, ".claude/auto-execution/.handoff-requested"));
    assert_eq!(
        (signal["checkpoint_id"].as_str(), signal["requested_by"].as_str()),
        (Some(checkpoint.as_str()), Some("hopty"))
    );
    let state = std::fs::read_to_string(below(&world, ".claude/auto-execution/state.yaml")).unwrap();
    assert_eq!(state, format!("status: handoff_requested\ncheckpoint_id: {checkpoint}\n"));
    assert!(world.ask(&["handoff", "path", &checkpoint]).contains(&id), "the checkpoint is the handoff");
    assert!(below(&world, ".claude/claudikins-acm/handoff-state.json").exists());
    assert_eq!(names(&below(&world, ".claude/memory/raw")).len(), 1);
    let pid = world.status()["pid"].as_i64().unwrap();
    let text = std::fs::read_to_string(world.claude_dir().join(format!("handoff/global-{pid}.md"))).unwrap();
    assert!(text.starts_with("# Handoff State\n\n**Task:** Say hello to me.\n"), "{text}");
    // Nothing of hopty's own asked it for anything.
    assert!(!kinds(&world).iter().any(|kind| kind.starts_with("restart.")), "{:?}", kinds(&world));
    world.leave(term);
}

#[test]
fn item_047_the_file_with_the_pid_stays_until_the_handoff_is_consumed() {
    let world = with("pid,orchestrator", |continued| match continued {
        // Its answer never comes: the handoff is loaded and not consumed.
        Some(_) => ScriptedReply::text("Too late.").after_ms(600_000),
        None => ScriptedReply::text("Hello.").filling(3000),
    });
    let (term, _) = talk(&world);
    let old = world.status()["pid"].as_i64().unwrap();
    world.ask(&["restart", "proj"]);
    world.wait_decision("delivery.submitted", 1);
    let file = world.claude_dir().join(format!("handoff/global-{old}.md"));
    wait_for("the file", || file.exists().then_some(()));
    assert!(
        !Path::new(&format!("/proc/{old}")).exists(),
        "its process is dead: a script of the source document loads it"
    );
    wait_for("the signal", || {
        below(&world, ".claude/auto-execution/.handoff-requested").exists().then_some(())
    });
    drop(term);
    world.ask(&["stop", "--kill", "proj"]);
    assert!(file.exists(), "who loads it does not delete it");

    let world = self::world("pid,orchestrator");
    let (term, _) = talk(&world);
    let old = world.status()["pid"].as_i64().unwrap();
    hand_over(&world, 1);
    let gone = [
        world.claude_dir().join(format!("handoff/global-{old}.md")),
        below(&world, ".claude/auto-execution/.handoff-requested"),
    ];
    wait_for("what is done with to go", || gone.iter().all(|path| !path.exists()).then_some(()));
    assert!(below(&world, ".claude/auto-execution/state.yaml").exists());
    world.leave(term);
}

both! {
    item_114_a_skill_can_present_the_state_and_hopty_does,
}
