//! Handoff files that Claude or a person wrote by hand go into the record, once.

use std::fs;

use hopty::standin::script::{Script, ScriptedReply};

use super::steps::*;
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

fn quiet() -> World {
    let script = Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    });
    World::with(Kind::StandIn, None, script)
}

fn written(task: &str) -> String {
    format!(
        "# Handoff State\n\n**Task:** {task}\n**Progress:** half\n**Current File:** pier.rs\n**Next Steps:** \
         lay plank 7\n\n## Context\noak\n"
    )
}

/// Hands over; the document that is made.
fn handed_over(world: &World, n: usize) -> String {
    world.ask(&["restart", "proj"]);
    world.wait_decision("handoff.consumed", n);
    world.wait_state("idle");
    let id = world.wait_decision("handoff.saved", n)["handoff"].as_str().unwrap().to_owned();
    world.ask(&["handoff", "show", &id])
}

#[test]
fn what_claude_wrote_by_hand_is_carried_over_once() {
    let world = quiet();
    let store = world.claude_dir().join("handoff");
    fs::create_dir_all(&store).unwrap();
    fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let yesterday = fs::File::create(store.join("global.md")).unwrap();
    fs::write(store.join("global.md"), written("the wall of yesterday")).unwrap();
    yesterday.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(86_400)).unwrap();
    let term = greeted(&world);
    let pid = world.status()["pid"].as_u64().unwrap();
    let own = store.join(format!("global-{pid}.md"));
    fs::write(&own, written("the pier\u{1b}[2J with ghp_16C7e42F292c6912E7710c838347Ae178B4a")).unwrap();
    fs::write(store.join("global-1.md"), written("another Claude's")).unwrap();
    let document = handed_over(&world, 1);
    assert!(
        document.contains("In Claude's own words:") && document.contains(&format!("From {}:", own.display())),
        "{document}"
    );
    assert!(
        document.contains("**Task:** the pier") && document.contains("**Next Steps:** lay plank 7"),
        "{document}"
    );
    for wrong in ["yesterday", "another Claude's", "ghp_16C7", "\u{1b}"] {
        assert!(!document.contains(wrong), "{wrong}: {document}");
    }
    let first = world.api.main_requests();
    assert!(first.iter().any(|request| request.contains("lay plank 7")), "the new conversation is told");
    term.send(b"\x1cn");
    term.wait_text("its text is in the handoff.");
    term.send(b" ");
    term.wait_box();
    assert!(own.is_file(), "it is left where it is");
    // The next one is of another Claude, and the channel's file is of before.
    fs::write(store.join("global.md"), written("the tower")).unwrap();
    let document = handed_over(&world, 2);
    assert!(document.contains("**Task:** the tower") && !document.contains("the pier"), "{document}");
    let document = handed_over(&world, 3);
    assert!(!document.contains("the tower"), "once: {document}");
    world.leave(term);
}

/// hopty writes files of that name, too.
#[test]
fn hoptys_own_view_is_nobodys_words() {
    let mut world = quiet();
    world.set("HOPTY_HANDOFF_VIEWS", "pid");
    let store = world.claude_dir().join("handoff");
    let term = greeted(&world);
    wait_for("the transcript", || {
        std::path::Path::new(world.status()["transcript"].as_str()?).exists().then_some(())
    });
    world.ask(&["handoff", "create"]);
    let pid = world.status()["pid"].as_u64().unwrap();
    let view = fs::read_to_string(store.join(format!("global-{pid}.md"))).unwrap();
    assert!(view.contains("# Handoff State") && view.contains("<!-- HANDOFF-ID: "), "{view}");
    fs::write(store.join("global.md"), &view).unwrap();
    let document = handed_over(&world, 1);
    assert!(
        !document.contains("In Claude's own words") && !document.contains("# Handoff State"),
        "{document}"
    );
    world.leave(term);
}
