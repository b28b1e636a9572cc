//! Every way out of a hand-over, with secrets planted in all that goes into it: none is left in a file that
//! is shown, in a request to the model, or in what a verb prints. Raw copies keep their bytes.

use std::path::Path;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::json;

use super::steps::{consumed, hand_over};
use super::support::claude::Kind;
use super::support::git;
use super::support::world::World;

/// A key for each place it is planted in, so that a leak says where it comes from.
fn key(place: &str) -> String {
    format!("gh{}{}{}", "p_", place, "x7Qk2Vb9Rt4Wm6Zc8Lp3Ns5")
}

const PLACES: [&str; 11] =
    ["goal", "todo", "file", "error", "decision", "words", "branch", "commit", "name", "staged", "diff"];

/// The files below `dir` that are not raw.
fn shown_files(dir: &Path, into: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().unwrap().is_dir() {
            // What Claude keeps itself, and raw copies, are the source's own bytes.
            if !matches!(name.as_str(), "projects" | "tasks" | "todos" | "raw" | "file-history" | ".git") {
                shown_files(&path, into);
            }
        } else if !name.ends_with(".gz") && name != "changes.patch" && name != "history.jsonl" {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            into.push((path.display().to_string(), text));
        }
    }
}

#[test]
fn no_way_out_of_a_hand_over_shows_a_secret() {
    let script =
        Script::each(|request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
            (None, 0) => ScriptedReply::tool(
                "TaskCreate",
                json!({"subject": format!("Rotate {}", key("todo")), "description": "d"}),
            )
            .and_tool("Write", json!({"file_path": format!("{}.txt", key("file")), "content": "x"})),
            (None, 1) => {
                ScriptedReply::tool("Bash", json!({"command": format!("echo {} >&2; exit 3", key("error"))}))
            }
            (None, _) => {
                ScriptedReply::text(format!("I decided to keep {} and go on.", key("decision"))).filling(3000)
            }
        });
    let mut world = World::with(Kind::StandIn, None, script);
    world.set("HOPTY_HANDOFF_VIEWS", "acm,orchestrator,pid,memory");
    world.set("HOPTY_COMPAT_SESSION_LOG", "true");
    let project = world.project.clone();
    std::fs::write(project.join("wall.txt"), "one brick\n").unwrap();
    std::fs::write(project.join(key("name")), "a\n").unwrap();
    git(&project, &["init", "-q", "-b", &format!("feature/{}", key("branch"))]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", &format!("Use {}", key("commit"))]);
    std::fs::write(project.join(key("name")), format!("{}\n", key("staged"))).unwrap();
    git(&project, &["add", "."]);
    std::fs::write(project.join("wall.txt"), format!("password={}\n", key("diff"))).unwrap();

    let term = world.start(&[]);
    term.wait_box();
    term.submit(&format!("Push it with {} please.", key("goal")));
    term.wait_text("and go on.");
    world.wait_state("idle");
    let old = world.status()["conversation"].as_str().unwrap().to_owned();
    let words = world.home.join("words.md");
    std::fs::write(&words, format!("The token is {}.", key("words"))).unwrap();
    let made = world.ask(&["handoff", "create", "--summary-file", words.to_str().unwrap()]).trim().to_owned();
    world.ask(&["handoff", "clear"]);
    let id = hand_over(&world, 1);
    assert_eq!(consumed(&world, 1), id);
    world.wait_state("idle");

    let mut outs = Vec::new();
    shown_files(&world.claude_dir(), &mut outs);
    shown_files(&project.join(".claude"), &mut outs);
    shown_files(&world.session_dir(), &mut outs);
    let named = |part: &str| outs.iter().any(|(path, _)| path.contains(part));
    for part in [
        "handoff.md", "CURRENT.md", "state.json", "handoff-state.json", "state.yaml", "auto-session.log",
        "manifest.json",
    ] {
        assert!(named(part), "{part} is not among {:?}", outs.iter().map(|out| &out.0).collect::<Vec<_>>());
    }
    for request in world.api.requests().iter().filter(|request| request.session_id() != Some(old.as_str())) {
        outs.push(("a request of the new conversation".to_owned(), format!("{request:?}")));
    }
    let verbs: [&[&str]; 16] = [
        &["handoff", "show", &made],
        &["handoff", "show", &id],
        &["handoff", "show", &id, "--json"],
        &["handoff", "show", &id, "--frame"],
        &["handoff", "show", &id, "--redactions"],
        &["handoff", "show", &id, "--redactions", "--json"],
        &["handoff", "list", "--all"],
        &["handoff", "list", "--all", "--json"],
        &["handoff", "path", &id],
        &["events", "proj"],
        &["log", "proj"],
        &["why", "proj"],
        &["status", "proj"],
        &["status", "proj", "--json"],
        &["ls"],
        &["context", "--explain"],
    ];
    for verb in verbs {
        let output = world.hopty(verb);
        let said = [output.stdout, output.stderr].concat();
        outs.push((verb.join(" "), String::from_utf8_lossy(&said).into_owned()));
    }
    // What is not known is repeated, with what was asked for.
    let output = world.hopty(&["handoff", "show", &key("asked")]);
    outs.push((
        "an error".to_owned(),
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    ));
    world.leave(term);

    let leaks: Vec<String> = outs
        .iter()
        .flat_map(|(out, text)| {
            PLACES
                .iter()
                .chain(&["asked"])
                .filter(|place| text.contains(&key(place)))
                .map(move |place| format!("{place} in {out}"))
        })
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    // They were there to be hidden.
    let document = &outs.iter().find(|(out, _)| *out == format!("handoff show {id}")).unwrap().1;
    assert!(document.matches("[redacted: GitHub token]").count() >= 6, "{document}");
}
