//! What of a long conversation stands in the frame, and where the rest is.

use std::time::Duration;

use hopty::standin::script::{Reply, Script};
use serde_json::{Value, json};

use super::steps::{main_requests, text_of};
use super::support::claude::Kind;
use super::support::world::World;

pub fn a_long_goal_many_tasks_and_files_fit_the_frame(kind: Kind) {
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
    world.leave(term);
}
