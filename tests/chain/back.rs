//! `hopty back`: from the conversation that a hand-over began to the one before it.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{assert_handed_over, main_requests, quiet_talk, submit, talk, text_of};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

/// Goes back from `newer` to `old`, and waits until Claude is there.
fn goes_back(world: &World, n: usize, old: &str, newer: &str) {
    let said = world.ask(&["back", "proj"]);
    assert_eq!(
        said,
        format!("back in conversation {old}; to return to the newer one: `hopty --resume {newer}`\n")
    );
    assert_eq!(world.status()["conversation"], old, "it is there when the verb has ended");
    let changed = world.wait_decision("conversation.changed", n);
    assert_eq!(
        changed["sentence"],
        format!("Back in conversation {old}; to return to the newer one: `hopty --resume {newer}`"),
        "{}",
        world.story()
    );
    world.wait_state("idle");
    let status = world.status();
    assert_eq!((&status["conversation"], &status["handoff"]), (&Value::from(old), &Value::Null), "{status}");
}

pub fn back_resumes_the_conversation_before_the_hand_over(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, first) = talk(&world);
    assert_eq!(world.status()["before"], Value::Null);
    let none = world.hopty(&["back", "proj"]);
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!((none.status.code(), said.lines().count()), (Some(1), 2), "{said}");
    assert!(said.starts_with("hopty: back: proj: there is no earlier conversation\nhint: "), "{said}");
    world.ask(&["restart", "proj"]);
    let (_, second) = assert_handed_over(&world, 1, "Say hello to me.");
    world.wait_state("idle");
    term.send("\x1cb");
    term.wait_text("before the hand-over");
    assert!(term.lines().iter().any(|line| line.starts_with("❯ Say hello to me.")), "{:?}", term.lines());
    term.send("q");
    term.wait_for("the conversation", |screen| {
        !screen.lines().join("\n").contains("Press any key to return")
    });
    assert_eq!(world.status()["before"], Value::from(first.as_str()));
    let handoff = text_of(&world.wait_decision("handoff.consumed", 1), "handoff");
    goes_back(&world, 1, &first, &second);
    term.wait_text("Hello.");
    submit(&term, "And again, please.");
    wait_for("an answer in the old conversation", || {
        (main_requests(&world, &first).len() >= 2).then_some(())
    });
    world.wait_state("idle");
    let last = main_requests(&world, &first).pop().unwrap();
    assert!(
        last.contains("Say hello to me.") && !last.contains(&handoff),
        "it is as it was before the hand-over"
    );
    let none = world.hopty(&["back", "proj"]);
    let said = String::from_utf8_lossy(&none.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(none.status.code(), Some(1), "nothing is before it");
    assert!(said.starts_with("hopty: back: proj: it is already in its first conversation"), "{said}");
    assert!(said.ends_with(&format!("resume its other conversations: `hopty --resume {second}`")), "{said}");
    // From there it is handed over again, and one can go back again.
    world.ask(&["restart", "proj"]);
    world.wait_decision("handoff.consumed", 2);
    let third = text_of(&world.wait_decision("delivery.submitted", 2), "conversation");
    world.wait_state("idle");
    assert!(third != second && third != first);
    assert_eq!(world.status()["before"], Value::from(first.as_str()));
    world.leave(term);
    let over = world.hopty(&["back", "proj"]);
    assert_eq!(over.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&over.stderr),
        format!(
            "hopty: back: proj: the session has ended\nhint: `hopty --resume {first}` resumes the conversation \
             before its last one\n"
        )
    );
}

pub fn back_goes_one_further_back_each_time(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, first) = talk(&world);
    let mut all = vec![first];
    for n in 1..=2 {
        world.ask(&["restart", "proj"]);
        world.wait_decision("handoff.consumed", n);
        all.push(text_of(&world.wait_decision("delivery.submitted", n), "conversation"));
        world.wait_state("idle");
    }
    goes_back(&world, 1, &all[1], &all[2]);
    goes_back(&world, 2, &all[0], &all[1]);
    assert_eq!(world.hopty(&["back", "proj"]).status.code(), Some(1));
    world.leave(term);
}

/// The level that led away is still there, and must not lead away again.
pub fn a_level_does_not_hand_over_what_was_gone_back_to(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("Hello.").filling(165_000),
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Say hello to me.");
    let (first, second) = assert_handed_over(&world, 1, "Say hello to me.");
    world.wait_state("idle");
    goes_back(&world, 1, &first, &second);
    let ignored = world.wait_decision("restart.ignored", 1);
    let says = "you went back to this conversation, which is at level handoff; `hopty restart` hands over";
    assert!(text_of(&ignored, "sentence").contains(says), "{ignored}");
    submit(&term, "And again, please.");
    wait_for("an answer in the old conversation", || {
        (main_requests(&world, &first).len() >= 2).then_some(())
    });
    world.wait_state("idle");
    assert_eq!(text_of(&world.status(), "conversation"), first, "{}", world.story());
    assert_eq!(world.decisions().iter().filter(|d| d["kind"] == "handoff.saved").count(), 1);
    world.leave(term);
}

pub fn back_waits_for_nobody_who_is_at_work_unless_asked_to(kind: Kind) {
    let script =
        Script::each(|request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (None, 0) => ScriptedReply::text("Hello.").filling(3000),
            _ if request.contains("Work on.") => ScriptedReply::bash("sleep 300").filling(3000),
            _ => ScriptedReply::text("Continuing.").filling(3000),
        });
    let Some(world) = World::new(kind, script) else { return };
    let (term, first) = talk(&world);
    world.ask(&["restart", "proj"]);
    let (_, second) = assert_handed_over(&world, 1, "Say hello to me.");
    world.wait_state("idle");
    submit(&term, "Work on.");
    world.wait_state("busy");
    let refused = world.hopty(&["back", "proj"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("Claude is working") && said.contains("hint: `hopty back proj --now`"), "{said}");
    world.ask(&["back", "proj", "--now"]);
    world.wait_decision("conversation.changed", 1);
    world.wait_state("idle");
    assert_eq!(text_of(&world.status(), "conversation"), first);
    assert!(world.story().contains(&second));
    world.leave(term);
}

/// Ctrl+C in a hand-over, and then the way that hopty names.
pub fn a_hand_over_that_was_broken_off_goes_on_with_name_model_and_mode(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    // A hook at the end makes stopping slow enough to press a key meanwhile.
    let settings_path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&settings_path).unwrap()).unwrap();
    settings["hooks"] =
        json!({"SessionEnd": [{"hooks": [{"type": "command", "command": "sleep 2", "timeout": 5}]}]});
    std::fs::write(&settings_path, settings.to_string()).unwrap();
    world.set("HOPTY_AGENT_EXIT_MS", "1000");
    let given = ["--model", "claude-sonnet-4-5", "--permission-mode", "plan", "--name", "Proj"];
    world.args = given.map(str::to_owned).to_vec();
    let (mut term, first) = talk(&world);
    world.ask(&["restart", "proj", "--now"]);
    world.wait_decision("stop.sent", 1);
    term.send("\x03");
    term.wait_exit();
    // As long as the host lives, the handoff is its own.
    wait_for("the end of the host", || world.processes().is_empty().then_some(()));
    world.args.clear();
    let term = world.start(&["--handoff"]);
    term.wait_text("Continuing from handoff");
    world.wait_state("idle");
    let now = world.status();
    assert_ne!(now["conversation"], Value::from(first));
    assert_eq!((&now["name"], &now["work"]["title"]), (&json!("proj"), &json!("Proj")), "{now}");
    let kept = ["claude", "--model", "claude-sonnet-4-5", "--permission-mode", "plan"];
    assert_eq!(now["command"], json!(kept), "{now}");
    world.leave(term);
}

pub fn a_hand_over_that_ctrl_c_breaks_off_names_the_old_conversation(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    world.set("HOPTY_AGENT_EXIT_MS", "1500");
    let (mut term, first) = talk(&world);
    if kind == Kind::Real {
        // The real one ends too soon for a key in between: it is told that its new Claude is not wanted.
        world.ask(&["restart", "proj"]);
        world.wait_decision("delivery.started", 1);
        term.send("\x03");
        let failed = world.wait_decision("delivery.failed", 1);
        assert!(
            text_of(&failed, "sentence")
                .ends_with(&format!("; to resume the old conversation: `hopty --resume {first}`")),
            "{failed}"
        );
        // A second key of the person's own may have ended it already.
        world.hopty(&["stop", "proj"]);
        term.wait_exit();
    } else {
        world.ask(&["restart", "proj", "--now"]);
        world.wait_decision("stop.sent", 1);
        term.send("\x03");
        term.wait_exit();
        term.wait_text(&format!("`hopty --resume {first}`"));
    }
    let end = world.decisions().into_iter().next_back().unwrap();
    if end["cause"] == "user_interrupt" {
        let shown = String::from_utf8_lossy(&term.bytes()).into_owned();
        assert_eq!(shown.matches(&format!("--resume {first}")).count(), 1, "it is told once: {shown}");
    }
    let told = format!("to resume the old conversation: `hopty --resume {first}`");
    assert!(
        world.decisions().iter().any(|decision| text_of(decision, "sentence").contains(&told)),
        "{}",
        world.story()
    );
    world.assert_replays();
    world.assert_nothing_left();
}
