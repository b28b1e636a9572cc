//! The files of views `acm`, `orchestrator` and `pid`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hopty::standin::script::Reply;

use super::steps::*;
use super::support::wait_for;

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
    assert!(handoffs.iter().all(|name| !name.starts_with("global-") || name == "global-CURRENT.md"), "{handoffs:?}");
    assert!(!world.claude_dir().join("auto-session.log").exists());
}

#[test]
fn item_114_the_state_lies_where_the_skill_looks_for_it() {
    let world = world("acm");
    let (term, conversation) = talk(&world);
    let id = hand_over(&world, 1);
    let dir = below(&world, ".claude/claudikins-acm");
    let state = wait_for("the state", || dir.join("handoff.md").exists().then(|| json(&dir.join("handoff-state.json"))));
    assert_eq!(state["version"], "2.0");
    assert_eq!(state["project_dir"], world.project.to_str().unwrap());
    assert!(state["transcript_path"].as_str().unwrap().contains(&conversation));
    assert_eq!(state["context"]["current_objective"], "Say hello to me.");
    assert!(std::fs::read_to_string(dir.join("handoff.md")).unwrap().contains("## Current Objective\nSay hello to me.\n"));
    assert!(world.ask(&["handoff", "show", &id]).contains("Say hello to me."), "and hopty presents it");
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
    let signal = json(&below(&world, ".claude/auto-execution/.handoff-requested"));
    assert_eq!((signal["checkpoint_id"].as_str(), signal["requested_by"].as_str()), (Some(checkpoint.as_str()), Some("hopty")));
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
        Some(_) => Reply::text("Too late.").after_ms(600_000),
        None => Reply::text("Hello.").filling(3000),
    });
    let (term, _) = talk(&world);
    let old = world.status()["pid"].as_i64().unwrap();
    world.ask(&["restart", "proj"]);
    world.wait_decision("delivery.submitted", 1);
    let file = world.claude_dir().join(format!("handoff/global-{old}.md"));
    wait_for("the file", || file.exists().then_some(()));
    assert!(!Path::new(&format!("/proc/{old}")).exists(), "its process is dead: a script of the source document loads it");
    wait_for("the signal", || below(&world, ".claude/auto-execution/.handoff-requested").exists().then_some(()));
    drop(term);
    world.ask(&["stop", "--kill", "proj"]);
    assert!(file.exists(), "who loads it does not delete it");

    let world = self::world("pid,orchestrator");
    let (term, _) = talk(&world);
    let old = world.status()["pid"].as_i64().unwrap();
    hand_over(&world, 1);
    let gone =
        [world.claude_dir().join(format!("handoff/global-{old}.md")), below(&world, ".claude/auto-execution/.handoff-requested")];
    wait_for("what is done with to go", || gone.iter().all(|path| !path.exists()).then_some(()));
    assert!(below(&world, ".claude/auto-execution/state.yaml").exists());
    world.leave(term);
}
