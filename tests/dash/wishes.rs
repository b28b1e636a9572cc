//! What the keys do to sessions, and what a host says to that.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::json;

use super::support::claude::{Kind, hopty};
use super::support::term::Term;
use super::support::wire::Wire;
use super::support::world::World;
use super::{dash, detached, end_all, leave, wait_chosen, wait_clients, world};

#[test]
fn attach_and_come_back_by_detach_and_by_the_programs_end() {
    let world = world();
    detached(&world, "one", "while read line; do [ \"$line\" = end ] && exit 3; echo \"got $line\"; done");
    detached(&world, "two", "exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "one");
    term.send("\r");
    term.wait_for("the primary screen", |screen| !screen.alternate());
    wait_clients(&world, "one", 1);
    term.send("hello\r");
    term.wait_text("got hello");
    world.ask(&["detach", "one"]);
    wait_chosen(&term, "one");
    term.wait_text("the session keeps running");
    assert!(term.look(hopty::screen::Screen::alternate));
    term.send("\r");
    term.wait_for("the primary screen", |screen| !screen.alternate());
    wait_clients(&world, "one", 1);
    term.send("end\r");
    wait_chosen(&term, "two");
    leave(term);
    end_all(&world);
}

#[test]
fn a_session_is_stopped_after_a_question() {
    let world = world();
    detached(&world, "one", "exec sleep 1000");
    detached(&world, "two", "exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "one");
    term.send("s");
    term.wait_text("Stop one for good? y / n");
    term.send("n");
    term.wait_text("cancelled");
    term.send("sy");
    wait_chosen(&term, "two");
    term.wait_text("1 session");
    leave(term);
    let list = world.ask(&["ls"]);
    assert!(!list.contains("one") && list.contains("two"), "{list}");
    end_all(&world);
}

#[test]
fn a_filter_leaves_what_matches() {
    let world = world();
    for name in ["alpha", "beta", "betas"] {
        detached(&world, name, "exec sleep 1000");
    }
    let term = dash(&world);
    term.wait_text("3 sessions");
    term.send("/bet");
    wait_chosen(&term, "beta");
    term.wait_text("3 sessions, 2 with \"bet\"");
    // The row of the filter is left, what it lets through stays.
    term.send("\rj");
    wait_chosen(&term, "betas");
    assert!(!term.lines().iter().any(|line| line.contains("alpha")));
    term.send("\x1b");
    term.wait_text("alpha");
    leave(term);
    end_all(&world);
}

#[test]
fn the_keys_are_explained() {
    let world = world();
    let term = dash(&world);
    term.send("?");
    term.wait_text("attach this terminal to it");
    term.send("x");
    term.wait_for("the list again", |screen| {
        !screen.lines().iter().any(|line| line.contains("attach this terminal to it"))
    });
    leave(term);
}

#[test]
fn a_program_that_is_no_agent_is_given_no_prompt() {
    let world = world();
    detached(&world, "one", "exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "one");
    term.wait_text("running");
    term.send(":sy");
    term.wait_text("one is not Claude: attach to type into it (Enter)");
    term.send("\r");
    leave(term);
    end_all(&world);
}

/// The agent, idle after a first answer, "Hello.".
fn greeted(script: Script) -> (World, Term) {
    let world = World::new(Kind::StandIn, script).unwrap();
    let claude = world.start(&[]);
    claude.wait_box();
    claude.submit("Say hello.");
    claude.wait_text("Hello.");
    world.wait_state("idle");
    (world, claude)
}

#[test]
fn an_agent_is_given_a_line() {
    let script = Script::list([
        ScriptedReply::text("Hello.").filling(1000),
        ScriptedReply::text("There is more.").filling(1000),
    ]);
    let (world, claude) = greeted(script);
    let term = dash(&world);
    wait_chosen(&term, "proj");
    term.send("iand what; is 'more'?");
    term.wait_text("to proj: and what; is 'more'?");
    term.send("\r");
    term.wait_text("proj: submitted");
    claude.wait_text("There is more.");
    assert!(world.api.main_requests().iter().any(|request| request.contains("and what; is 'more'?")));
    leave(term);
    world.leave(claude);
}

#[test]
fn an_agent_is_restarted_from_here() {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(90_000),
    });
    let (world, claude) = greeted(script);
    let term = dash(&world);
    wait_chosen(&term, "proj");
    term.wait_text("45%");
    term.send("r");
    term.wait_text("Hand proj over to a fresh conversation? y / n");
    term.send("y");
    term.wait_text("restart of proj requested");
    world.wait_decision("handoff.consumed", 1);
    term.wait_for("a row with one restart", |screen| {
        screen
            .lines()
            .iter()
            .any(|line| line.starts_with("›proj") && line.split_whitespace().any(|word| word == "1"))
    });
    leave(term);
    world.wait_state("idle");
    world.leave(claude);
}

#[test]
fn a_permission_is_given_from_here() {
    let script = Script::each(|request, _| {
        if request.tool_results().is_empty() {
            ScriptedReply::bash("touch made").filling(1000)
        } else {
            ScriptedReply::text("Made it.").filling(1000)
        }
    });
    let mut world = World::new(Kind::StandIn, script).unwrap();
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    let claude = world.start(&[]);
    claude.wait_box();
    claude.submit("Make it.");
    world.wait_state("blocked");
    let term = dash(&world);
    wait_chosen(&term, "proj");
    term.wait_text("1-3 answer");
    term.wait_text("Blocked on permission (Bash: touch made) for ");
    term.wait_text("blocked: Bash: touch made");
    term.send("9");
    term.wait_text("proj: the dialog has the answers 1 to 3");
    // One that is meant for another dialog is refused.
    let other = json!({"id": 1, "do": "answer", "dialog": "question", "option": 1});
    let refused = Wire::greet(&world, "proj").ask(&other);
    assert_eq!(refused["error"]["code"], "refused", "{refused}");
    term.send("1");
    claude.wait_text("Made it.");
    assert!(world.project.join("made").exists());
    term.send("w");
    term.wait_text("proj: newest first");
    term.wait_text("You chose option 1 of the dialog (permission)");
    term.send("x");
    assert_eq!(world.wait_decision("dialog.answered", 1)["run"], 1);
    assert!(world.ask(&["log", "proj"]).contains("You chose option 1 of the dialog (permission)"));
    term.wait_for("the idle session", |screen| screen.lines().iter().any(|line| line.contains("idle")));
    term.send("1");
    term.wait_text("proj does not wait for an answer");
    leave(term);
    world.leave(claude);
}

#[test]
fn a_session_that_is_started_from_here_is_selected() {
    let world = World::new(Kind::StandIn, Script::list([])).unwrap();
    detached(&world, "a", "exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "a");
    term.send("n\x15");
    term.send(format!("{}\r", world.project.display()));
    term.wait_text("proj: started in ");
    wait_chosen(&term, "proj");
    leave(term);
    end_all(&world);
}

#[test]
fn inside_a_session_it_looks_and_the_host_refuses_the_rest() {
    let world = world();
    let own = hopty().display().to_string();
    let mut term = world.terminal(&["run", "--name", "outer", "--", &own, "dash"]);
    wait_chosen(&term, "outer");
    term.send("sy");
    term.wait_text("a command inside the session may not stop it");
    term.send("\r");
    term.wait_text("this terminal is already inside session outer");
    term.send("q");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    world.assert_nothing_left();
}
