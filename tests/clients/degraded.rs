//! A screen that fails inside the host: it is switched off, that is said once, and the session goes on
//! without it.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::claude::Kind;
use super::support::world::World;
use super::{end, run, sized, support, wait_clients};

/// A world in which the host panics where the file says.
fn world(script: Script) -> (World, std::path::PathBuf) {
    let mut world = World::new(Kind::StandIn, script).expect("the stand-in is always there");
    let file = world.faults().join("panic");
    (world, file)
}

fn told(world: &World) -> Vec<Value> {
    world.decisions().into_iter().filter(|decision| decision["kind"] == "degraded").collect()
}

fn assert_says(world: &World, args: &[&str], words: &str) {
    let output = world.hopty(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains(words), "{args:?}: {output:?}");
}

/// Reads lines, and asks its terminal something after each.
const ASKS: &str =
    "stty -echo; echo ready; while read -r line; do echo \"got $line\"; printf '\\033[5n'; done";

#[test]
fn wherever_it_fails_the_session_goes_on() {
    for place in ["look", "dump", "resize", "answer"] {
        let (world, file) = world(Script::list([]));
        world.ask(&["run", "--name", "proj", "--detached", "--", "sh", "-c", ASKS]);
        world.ask(&["wait", "proj", "text=ready", "--timeout", "30s"]);
        std::fs::write(&file, place).unwrap();
        match place {
            "look" => drop(world.hopty(&["status", "proj"])),
            "dump" => assert_says(&world, &["screen", "proj"], "its screen model has failed"),
            "answer" => {
                world.ask(&["send", "proj", "zero\r"]);
                // Before anybody is there: the terminal of a client would answer.
                world.wait_decision("degraded", 1);
            }
            _ => {}
        }
        let first = sized(&world, &["attach", "proj"], (100, 30));
        wait_clients(&world, 1);
        world.wait_decision("degraded", 1);
        assert!(!file.exists(), "{place}: it has happened");
        assert_says(&world, &["screen", "proj"], "its screen model has failed");
        assert_says(&world, &["wait", "proj", "text=x", "--timeout", "30s"], "its screen model has failed");
        // Who leads sees what is written from now on; who would get pictures is told, and sees it when it
        // leads.
        first.send("\rone\r");
        first.wait_text("got one");
        let second = sized(&world, &["attach", "proj"], (60, 20));
        second.wait_text("has failed and is switched off");
        second.send("two\r");
        second.wait_text("two");
        first.wait_text("has failed and is switched off");
        let mut third = sized(&world, &["attach", "proj", "--read-only"], (60, 20));
        third.wait_text("has failed and is switched off");
        third.hang_up();
        world.ask(&["detach", "proj"]);
        assert_eq!(world.status()["exit"], Value::Null, "{place}");
        assert_eq!(told(&world).len(), 1, "{place}: {:?}", told(&world));
        assert!(told(&world)[0]["sentence"].as_str().unwrap().contains("screen model"));
        end(&world);
        world.assert_replays();
    }
}

/// What waits for a text is told as soon as there is no screen to find it on.
#[test]
fn who_waits_for_a_text_is_told() {
    let (world, file) = world(Script::list([]));
    let term = run(&world, ASKS);
    term.wait_text("ready");
    let waits = std::thread::scope(|scope| {
        let waits = scope.spawn(|| world.hopty(&["wait", "proj", "text=never", "--timeout", "60s"]));
        std::fs::write(&file, "look").unwrap();
        term.send("one\r");
        term.wait_text("got one");
        waits.join().unwrap()
    });
    assert!(String::from_utf8_lossy(&waits.stderr).contains("its screen model has failed"), "{waits:?}");
    end(&world);
}

/// The next run has a screen of its own, on every terminal.
#[test]
fn a_restart_brings_the_screen_back() {
    for (place, part) in [("look", "screen model"), ("rules", "reading of Claude's screen")] {
        let (world, file) =
            world(Script::list((0..4).map(|n| ScriptedReply::text(format!("Answer {n}.")).filling(1000))));
        let term = world.start(&[]);
        term.wait_box();
        let other = sized(&world, &["attach", "proj"], (90, 30));
        wait_clients(&world, 2);
        std::fs::write(&file, place).unwrap();
        term.send("x");
        // The rules look when somebody asks and the screen has changed.
        support::wait_for("the decision", || {
            (world.status().is_object() && !told(&world).is_empty()).then_some(())
        });
        assert!(
            !file.exists() && told(&world)[0]["sentence"].as_str().unwrap().contains(part),
            "{:?}",
            told(&world)
        );
        world.ask(&["restart", "proj", "--now", "--no-handoff"]);
        support::wait_for("the next run", || (world.status()["run"] == 2).then_some(()));
        world.ask(&["wait", "proj", "text=❯", "--timeout", "30s"]);
        other.wait_for("the picture", |screen| screen.lines().iter().any(|line| line.contains('❯')));
        assert_eq!(told(&world).len(), 1);
        end(&world);
        world.assert_replays();
        drop(term);
    }
}
