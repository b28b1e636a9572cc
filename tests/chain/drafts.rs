//! What a person typed and did not send, or what waits to be read.

use hopty::standin::script::{Script, ScriptedReply};

use super::steps::{assert_handed_over, main_requests, submit, talk, text_of};
use super::support::claude::Kind;
use super::support::world::World;
use super::support::{kill, wait_for};

pub fn a_draft_and_keys_typed_meanwhile_are_carried_over(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) if request.assistant_messages() == 0 => {
            ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000)
        }
        _ => ScriptedReply::text("Hello.").filling(3000),
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
    world.leave(term);
}

pub fn a_draft_outlives_a_crash(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000));
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_RECOVERY_QUICK_DEATHS", "2");
    let (term, conversation) = talk(&world);
    term.send("half a tho");
    term.wait_text("half a tho");
    let pid = |world: &World| i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    kill(pid(&world), nix::libc::SIGKILL);
    wait_for("the crash to be seen", || (world.status()["phase"] == "cooling").then_some(()));
    term.send("ught, typed meanwhile");
    world.wait_decision("run.spawned", 2);
    term.wait_text("half a thought, typed meanwhile");
    world.wait_state("idle");
    term.send("\r");
    wait_for("the prompt", || (main_requests(&world, &conversation).len() >= 2).then_some(()));
    let last = main_requests(&world, &conversation).pop().unwrap();
    let prompts = last.texts().iter().filter(|(_, t)| t.contains("half a thought, typed meanwhile")).count();
    assert_eq!(prompts, 1, "the draft was submitted as it stood");
    // Where no run follows, it is put into a file.
    world.wait_state("idle");
    let mut term = term;
    term.send("a last word");
    term.wait_text("a last word");
    kill(pid(&world), nix::libc::SIGKILL);
    term.wait_exit();
    assert_eq!(std::fs::read_to_string(world.session_dir().join("unsent.txt")).unwrap(), "a last word");
    world.assert_nothing_left();
}

pub fn a_queued_prompt_is_carried_over(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000).after_ms(300);
        }
        let step = request.assistant_messages() as u64 + 1;
        ScriptedReply::bash("until [ -e go-on ]; do sleep 0.05; done").filling(step * 95_000)
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
        world
            .transcript(&conversation)
            .iter()
            .any(|l| l["type"] == "queue-operation" && l["operation"] == "enqueue")
            .then_some(())
    });
    // The second response is over the hard level; the prompt is absorbed by its request or still queued:
    // nothing is lost.
    std::fs::write(world.project.join("go-on"), "").unwrap();
    world.wait_decision("handoff.consumed", 1);
    let new = text_of(&world.wait_decision("delivery.submitted", 1), "conversation");
    wait_for("the queued prompt to be somewhere", || {
        let seen = |id: &str| {
            main_requests(&world, id).iter().any(|r| r.contains("a prompt that waits in the queue"))
        };
        (seen(&conversation) || seen(&new)).then_some(())
    });
    world.leave(term);
}
