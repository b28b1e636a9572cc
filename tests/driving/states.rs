//! What a session is said to do, beside what Claude does: dialogs, interrupts, commands, shells.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{end, start, submit, submitted, wait_idle};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

fn quick() -> Script {
    Script::each(|_, n| ScriptedReply::text(format!("Answer {n}.")).filling(1000))
}

/// Waits for a state after line `since`; the session then.
fn wait_state(world: &World, state: &str, since: u64) -> Value {
    serde_json::from_str(&world.ask(&["wait", "proj", state, "--since", &since.to_string(), "--json"]))
        .unwrap()
}

fn seq(world: &World) -> u64 {
    world.status()["seq"].as_u64().unwrap()
}

/// Sends a slash command, of which nothing tells but what follows.
fn command(world: &World, text: &str) -> u64 {
    let (result, seq) = submit(world, text);
    assert_eq!(result, "unknown", "{}", world.story());
    seq
}

/// No hook is called and no file is written while the directory is not trusted.
pub fn the_question_of_trust_blocks(kind: Kind) {
    let Some(world) = World::new(kind, quick()) else { return };
    for path in [world.claude_dir().join(".claude.json"), world.home.join(".claude.json")] {
        let Ok(text) = std::fs::read(&path) else { continue };
        let mut state: Value = serde_json::from_slice(&text).unwrap();
        state["projects"] = json!({});
        std::fs::write(&path, state.to_string()).unwrap();
    }
    let mut args = vec!["--detached"];
    args.extend(world.args.iter().map(String::as_str));
    assert_eq!(world.terminal(&args).wait_exit(), 0);
    let blocked = wait_state(&world, "blocked", 0);
    assert_eq!((&blocked["waiting_for"], &blocked["state_from"]), (&"trust".into(), &"screen".into()));
    let refused = world.hopty(&["send", "proj", "Go on.", "--submit"]);
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "refused: Claude shows a dialog (trust)\n");
    assert_eq!(
        wait_state(&world, "blocked", 0)["state_since"],
        blocked["state_since"],
        "it is blocked as it was"
    );
    let why = world.ask(&["why", "proj"]);
    assert!(why.starts_with("Blocked on trust dialog for ") && why.lines().count() == 1, "{why}");
    assert!(why.ends_with(" s. `hopty attach proj` answers it.\n"), "{why}");
    assert_eq!(
        world.status()["why"].as_str().map(|told| told.starts_with("Blocked on trust dialog")),
        Some(true)
    );
    let late = world.hopty(&["wait", "proj", "idle", "--timeout", "100ms"]);
    let late = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(
        late.contains("the session is blocked on trust dialog\nhint: `hopty attach proj` answers it"),
        "{late}"
    );
    let mut restart = world.terminal(&["restart", "proj"]);
    assert_eq!(restart.wait_exit(), 0);
    restart.wait_text("restart of proj requested: waiting for a safe point");
    restart.wait_text("hint: it is blocked on trust dialog; `hopty restart proj --now` does not wait");
    end(&world);
}

/// An interrupt calls no hook.
pub fn an_interrupted_turn_is_over(kind: Kind) {
    let script = Script::each(|_, n| {
        ScriptedReply::text("Late.").after_ms(if n == 0 { 60_000 } else { 0 }).filling(1000)
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    let at = submitted(&world, "Take your time.");
    assert_eq!(world.status()["state"], "busy");
    world.api.wait_for_main(1, std::time::Duration::from_secs(20));
    world.ask(&["send", "proj", "--keys", "escape"]);
    let idle = wait_idle(&world, at);
    assert_eq!(idle["state_from"], "sessions_file");
    // The prompt is back in the box of the real one.
    world.ask(&["send", "proj", "--keys", "ctrl-u"]);
    wait_for("an empty box", || (submit(&world, "Once more.").0 == "submitted").then_some(()));
    end(&world);
}

/// Its name was used before, and is about to be taken again.
#[test]
fn a_session_that_is_just_starting_is_waited_for() {
    let Some(world) = World::new(Kind::StandIn, quick()) else { return };
    let conditions: [&[&str]; 4] =
        [&["idle"], &["idle", "blocked"], &["idle", "--settle", "20ms"], &["text=."]];
    for words in conditions {
        let mut command = std::process::Command::new(super::support::claude::hopty());
        command
            .args(["wait", "proj", "--timeout", "60s"])
            .args(words)
            .env_clear()
            .envs(world.env.iter().cloned());
        let waits = command.current_dir(&world.project).stderr(std::process::Stdio::piped()).spawn().unwrap();
        start(&world, &[]);
        let done = waits.wait_with_output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        end(&world);
    }
    let output = world.hopty(&["wait", "proj", "idle", "--timeout", "100ms"]);
    assert_eq!(output.status.code(), Some(1), "one that has ended and does not come is told so");
}

pub fn commands_make_it_busy_and_idle_again(kind: Kind) {
    let Some(world) = World::new(kind, quick()) else { return };
    start(&world, &[]);
    let at = submitted(&world, "Say something.");
    let first = wait_idle(&world, at);
    command(&world, "/compact");
    wait_for("the compaction", || (world.api.requests().len() > 1).then_some(()));
    let compacted = wait_idle(&world, 0);
    assert_eq!(compacted["conversation"], first["conversation"]);
    assert_eq!(submit(&world, "/clear").0, "submitted", "{}", world.story());
    assert_ne!(world.status()["conversation"], first["conversation"], "which proves it");
    wait_idle(&world, 0);
    let at = submitted(&world, "Say something else.");
    assert_ne!(wait_idle(&world, at)["conversation"], first["conversation"]);
    let asked = world.hopty(&["ask", "proj", "/clear"]);
    let said = String::from_utf8(asked.stderr).unwrap();
    assert!(said.contains("proj: Claude did the command itself and gave no answer"), "{said}");
    assert_eq!(asked.status.code(), Some(1));
    end(&world);
}

/// A panel stands in the place of the prompt box then. The stand-in has none.
pub fn a_command_that_opens_a_panel_is_answered_at_once() {
    let Some(world) = World::new(Kind::Real, quick()) else { return };
    start(&world, &[]);
    for panel in ["/help", "/cost"] {
        let began = std::time::Instant::now();
        command(&world, panel);
        let took = began.elapsed();
        assert!(
            took.as_secs() < 20,
            "{panel} after {took:?}, which is when all hope is given up\n{}",
            world.ask(&["screen", "proj"])
        );
        // A panel that has just been drawn may not take keys yet.
        wait_for("an empty box", || {
            world.ask(&["send", "proj", "--keys", "escape"]);
            (submit(&world, "Once more.").0 == "submitted").then_some(())
        });
        world.wait_state("idle");
    }
    for (panel, dialog) in [("/help", "a dialog (help)"), ("/cost", "a dialog")] {
        // The panel before may still be on the screen.
        let (asked, said) = wait_for("the command to be taken", || {
            let asked = world.hopty(&["ask", "proj", panel]);
            let said = String::from_utf8(asked.stderr.clone()).unwrap();
            if said.contains("Claude shows a dialog") {
                // Or Escape twice has opened another one.
                world.ask(&["send", "proj", "--keys", "escape"]);
                return None;
            }
            Some((asked, said))
        });
        assert!(said.contains(&format!("the command opened {dialog}, and Claude gave no answer")), "{said}");
        assert!(said.contains("`hopty send proj --keys escape` closes it"), "{said}");
        assert_eq!(asked.status.code(), Some(1));
        wait_for("the end of the panel", || {
            world.ask(&["send", "proj", "--keys", "escape"]);
            (world.status()["state"] == "idle").then_some(())
        });
    }
    end(&world);
}

pub fn a_stopped_claude_is_stopped_until_somebody_attaches(kind: Kind) {
    let Some(world) = World::new(kind, quick()) else { return };
    start(&world, &[]);
    world.ask(&["send", "proj", "--keys", "ctrl-z"]);
    world.wait_state("stopped");
    let refused = world.hopty(&["send", "proj", "Go on.", "--submit"]);
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "refused: the program is suspended\n");
    let hint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(hint.ends_with("hint: `hopty attach proj` continues it\n"), "{hint}");
    let since = seq(&world);
    let mut term = world.terminal(&["attach", "proj"]);
    wait_idle(&world, since);
    term.hang_up();
    submitted(&world, "Go on.");
    end(&world);
}

/// A tool call for the first request of a turn, then an answer.
fn once(name: &'static str, input: Value) -> Script {
    Script::each(move |request, _| match request.assistant_messages() {
        0 => ScriptedReply::tool(name, input.clone()).filling(1000),
        _ => ScriptedReply::text("Done.").filling(1000),
    })
}

/// The stand-in has no background shells.
pub fn a_background_shell_keeps_nobody_waiting() {
    let input = json!({"command": "sleep 1000", "run_in_background": true, "description": "sleeps"});
    let Some(world) = World::new(Kind::Real, once("Bash", input)) else { return };
    start(&world, &[]);
    let at = submitted(&world, "Sleep in the background.");
    wait_idle(&world, at);
    world.ask(&["wait", "proj", "text=1 shell"]);
    assert_eq!(world.status()["state"], "idle", "{}", world.story());
    let at = submitted(&world, "And now?");
    wait_idle(&world, at);
    end(&world);
}

/// The stand-in asks no questions.
pub fn a_question_of_the_model_blocks() {
    let options =
        json!([{"label": "A", "description": "the first"}, {"label": "B", "description": "the second"}]);
    let input = json!({"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false,
        "options": options}]});
    let Some(world) = World::new(Kind::Real, once("AskUserQuestion", input)) else { return };
    start(&world, &[]);
    let at = submitted(&world, "Ask me.");
    let blocked = wait_state(&world, "blocked", at);
    assert_eq!(blocked["waiting_for"], "question", "{}", world.story());
    world.ask(&["wait", "proj", "text=Enter to select"]);
    let refused = world.hopty(&["send", "proj", "A", "--submit"]);
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "refused: Claude shows a dialog (question)\n");
    let at = seq(&world);
    world.ask(&["send", "proj", "--keys", "enter"]);
    wait_idle(&world, at);
    end(&world);
}

/// The stand-in has no plan mode.
pub fn a_plan_that_waits_for_approval_blocks() {
    let Some(mut world) = World::new(Kind::Real, once("ExitPlanMode", json!({"plan": "1. Do it."}))) else {
        return;
    };
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    start(&world, &["--permission-mode", "plan"]);
    let at = submitted(&world, "Make a plan.");
    let blocked = wait_state(&world, "blocked", at);
    assert_eq!(blocked["waiting_for"], "permission", "{}", world.story());
    let refused = world.hopty(&["send", "proj", "Yes", "--submit"]);
    assert_eq!(refused.status.code(), Some(4), "{}", String::from_utf8_lossy(&refused.stdout));
    end(&world);
}

/// The stand-in has no shell mode.
pub fn a_shell_command_of_the_persons_is_work() {
    let Some(world) = World::new(Kind::Real, quick()) else { return };
    start(&world, &[]);
    let since = seq(&world);
    world.ask(&["send", "proj", "!sleep 1; echo slept"]);
    world.ask(&["wait", "proj", "text=!.sleep 1; echo slept"]);
    assert_eq!(world.status()["state"], "idle");
    let refused = world.hopty(&["send", "proj", "Go on.", "--submit"]);
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "refused: there is a draft in the prompt box\n");
    world.ask(&["send", "proj", "--keys", "enter"]);
    let busy = wait_state(&world, "busy", since)["seq"].as_u64().unwrap();
    wait_idle(&world, busy);
    end(&world);
}
