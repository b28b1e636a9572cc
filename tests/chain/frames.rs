//! What of a long conversation stands in the frame, and where the rest is.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{assert_handed_over, is_asked, main_requests, submit, text_of};
use super::support::claude::Kind;
use super::support::world::World;

/// The model says nothing for the one who goes on: goal, tasks, files and the work tree reach it all the
/// same.
pub fn item_066_the_facts_alone_carry_a_task_over(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if is_asked(request) {
            return ScriptedReply::text("No.").filling(166_000);
        }
        match request.assistant_messages() {
            0 => ScriptedReply::text("Planning.")
                .filling(10_000)
                .and_tool("TaskCreate", json!({"subject": "Lay the foundation", "description": "first"}))
                .and_tool("TaskCreate", json!({"subject": "Raise the walls", "description": "second"})),
            1 => ScriptedReply::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
                .filling(20_000),
            2 => ScriptedReply::tool("TaskUpdate", json!({"taskId": "2", "status": "in_progress"}))
                .filling(30_000),
            3 => ScriptedReply::bash("echo brick > wall.txt; ls /nowhere").filling(40_000),
            _ => ScriptedReply::text("The walls are half up.").filling(165_000),
        }
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_HANDOFF_SUMMARY", "auto");
    repository(&world);
    let goal = "Build a house: first the foundation, then the walls.";
    let term = world.start(&[]);
    submit(&term, goal);
    let (_, new) = assert_handed_over(&world, 1, goal);
    let first = main_requests(&world, &new).remove(0);
    for part in [
        "- to do: #2 Raise the walls (in progress)\n",
        "- 1 of 2 to-dos are done\n",
        "The walls are half up.",
        "branch main at",
        "wall.txt",
        "/nowhere",
    ] {
        assert!(first.contains(part), "{part} is not in the first request\n{:#?}", first.texts());
    }
    world.leave(term);
}

fn repository(world: &World) {
    for args in [&["init", "-q", "-b", "main"][..], &["commit", "-q", "--allow-empty", "-m", "Nothing yet"]] {
        let mut git = std::process::Command::new("git");
        git.current_dir(&world.project)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
        assert!(git.args(args).status().unwrap().success());
    }
}

pub fn a_long_goal_many_tasks_and_files_fit_the_frame(kind: Kind) {
    // The real one takes 100 s for 500 tasks and 2,000 files.
    let (tasks, files) = if kind == Kind::Real { (10, 30) } else { (50, 200) };
    let script = Script::each(move |request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        let step = request.assistant_messages();
        if step < 10 {
            let mut reply = ScriptedReply::text("Working.").filling(10_000);
            for n in 0..tasks {
                let n = step * tasks + n;
                reply = reply.and_tool(
                    "TaskCreate",
                    json!({"subject": format!("Task number {n}"), "description": "to do"}),
                );
            }
            return reply;
        }
        if step < 20 {
            let mut reply = ScriptedReply::text("Writing.").filling(20_000);
            for n in 0..files {
                let n = (step - 10) * files + n;
                reply =
                    reply.and_tool("Write", json!({"file_path": format!("files/{n}.txt"), "content": "x"}));
            }
            return reply;
        }
        ScriptedReply::text("Enough.").filling(170_000)
    });
    let Some(world) = World::new(kind, script) else { return };
    // Relative paths are refused by Claude: the files are named below the project.
    let begin = "This is the goal: ";
    let goal = format!("{begin}{}", "count every single star and write it down. ".repeat(279));
    assert!(goal.len() > 12_000);
    let term = world.start(&["--", &goal]);
    world.wait_decision("handoff.consumed", 1);
    let submitted = world.wait_decision("delivery.submitted", 1);
    let (new, id) = (text_of(&submitted, "conversation"), text_of(&submitted, "handoff"));
    let first = main_requests(&world, &new).into_iter().next().unwrap();
    let frame = first
        .texts()
        .into_iter()
        .map(|(_, text)| text)
        .find(|text| text.contains("=== HANDOFF LOADED"))
        .unwrap();
    assert!(frame.contains("=== END HANDOFF ==="), "to its last line");
    let asked: Vec<&str> = frame.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    assert!(asked[0].starts_with(&goal[..1500]), "the request up to its budget");
    let words = frame.split_whitespace().map(|word| word.trim_matches(['`', ',', ':', ';', '(', ')']));
    let record = words.clone().find(|word| word.starts_with('/') && word.ends_with(&*id)).unwrap();
    assert!(words.clone().any(|word| word == "prompts.md"), "{frame}");
    assert!(
        std::fs::read_to_string(format!("{record}/prompts.md")).unwrap().contains(goal.trim_end()),
        "what is cut says where it is whole"
    );
    let record = world.claude_dir().join("handoff/records").join(&id);
    assert!(
        std::fs::read_to_string(record.join("handoff.md")).unwrap().contains(goal.trim_end()),
        "the record has it whole"
    );
    let state: Value = serde_json::from_slice(&std::fs::read(record.join("state.json")).unwrap()).unwrap();
    let todos = state["context"]["active_todos"].as_array().map_or(0, Vec::len);
    assert_eq!(todos, 10 * tasks, "every task");
    world.leave(term);
}

/// What was planned in the first conversation and not touched since is known in the third, with its number
/// and its subject: Claude shares one list of tasks along the chain.
pub fn open_tasks_are_carried_over_every_hand_over(kind: Kind) {
    let script = Script::each(|request, _| {
        let answers = request.assistant_messages();
        match (request.continued_handoff(), answers) {
            (None, 0) => ["Write the parser", "Write the printer", "Test the round trip"].iter().fold(
                ScriptedReply::text("").filling(20_000),
                |reply, subject| {
                    reply.and_tool("TaskCreate", json!({"subject": subject, "description": "d"}))
                },
            ),
            (Some(_), 0) if !request.contains("1 of 3 to-dos are done") => {
                ScriptedReply::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
                    .filling(20_000)
            }
            (Some(id), 0) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
            _ => ScriptedReply::bash("echo more").filling(190_000),
        }
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Write the language.");
    assert_handed_over(&world, 1, "Write the language.");
    let (_, third) = assert_handed_over(&world, 2, "Write the language.");
    let first = main_requests(&world, &third).remove(0);
    for text in ["- to do: #2 Write the printer", "- to do: #3 Test the round trip", "1 of 3 to-dos are done"]
    {
        assert!(first.contains(text), "{text:?} is missing\n{}", world.story());
    }
    assert!(!first.contains("task 1"), "a task has its subject");
    world.leave(term);
}
