//! What stays a person's to allow.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{assert_handed_over, submit, talk, text_of};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

/// A spare Enter would approve a permission prompt.
pub fn a_late_hook_approves_no_permission(kind: Kind) {
    let script = Script::each(|request, _| {
        if request.continued_handoff().is_some() {
            return ScriptedReply::bash("touch approved-by-nobody").filling(2000);
        }
        ScriptedReply::text("Hello.").filling(3000)
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.args = ["--model", "claude-sonnet-4-5"].map(str::to_owned).to_vec();
    let (mut term, _) = talk(&world);
    // In the next run the report of the submission comes 3 s late, when the permission prompt has long been
    // there.
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
    wait_for("the late report", || {
        (world.journal().matches("\"UserPromptSubmit\"").count() >= 2).then_some(())
    });
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

pub fn changed_settings_hold_an_automatic_hand_over(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000);
        }
        if request.assistant_messages() == 0 {
            let plant = r#"mkdir -p .claude && echo '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch planted"}]}]}}' > .claude/settings.json"#;
            return ScriptedReply::bash(plant).filling(100_000);
        }
        ScriptedReply::text("Done with it.").filling(170_000)
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
    world.leave(term);
}
