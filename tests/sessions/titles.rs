//! One name for a session and for Claude's conversation: `hopty --name`, `hopty run --name`.

use std::io::Write;

use hopty::standin::script::{Script, ScriptedReply};

use super::end_all;
use super::support::claude::Kind;
use super::support::text;
use super::support::wait_for;
use super::support::world::World;

fn world() -> World {
    World::new(Kind::StandIn, Script::each(|_, _| ScriptedReply::text("Hello.").filling(1000))).unwrap()
}

/// The names that Claude was given on its command line.
fn given(world: &World, name: &str) -> Vec<String> {
    let pid = world.status_of(name)["pid"].as_i64().unwrap();
    // Until it has become Claude, the child has the command line of its host.
    let words = wait_for("Claude's command line", || {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<String> = text(&line).split('\0').map(str::to_owned).collect();
        words.iter().any(|word| word.starts_with("--plugin-dir")).then_some(words)
    });
    let own = hopty::core::claude::args::OwnArgs::of(&words[1..]);
    own.name.into_iter().collect()
}

/// Nobody sees the screen of a detached Claude.
#[test]
fn a_detached_claude_that_refuses_an_option_is_told_of() {
    let world = world();
    let output = world.hopty(&["--detached", "--nmae", "foo"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    let said = text(&output.stderr);
    assert!(said.contains("the session ended at once: error: unknown option '--nmae'"), "{said}");
    assert!(said.contains("`hopty screen proj` shows its last screen"), "{said}");
    // One that is longer than the screen is wide.
    let long = format!("--on{}", "-and-on".repeat(20));
    let said = text(&world.hopty(&["--detached", &long]).stderr);
    assert!(said.contains(&format!("unknown option '{long}'")), "{said}");
    // A value that Claude refuses, too.
    let output = world.hopty(&["--detached", "--permission-mode", "bogus"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    let said = text(&output.stderr);
    assert!(said.contains("the session ended at once: error: option '--permission-mode"), "{said}");
    let why = text(&world.hopty(&["why", "proj"]).stderr);
    assert!(why.contains("hint: `hopty screen proj` shows its last screen\n"), "{why}");
    // The name that was given leads to the one that the session has.
    world.ask(&["--detached", "--name", "Fix It"]);
    let said = text(&world.hopty(&["stop", "Fix It"]).stderr);
    assert!(said.contains("did you mean fix-it?"), "{said}");
    end_all(&world);
}

#[test]
fn claude_s_name_names_the_session_whatever_it_is() {
    let world = world();
    assert_eq!(world.ask(&["--detached", "--name", "rocket"]), "rocket\n");
    assert_eq!(given(&world, "rocket"), ["rocket"]);
    // What is no session's name is Claude's all the same.
    let output = world.hopty(&["--detached", "-n", "My work/now"]);
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        ("my-work-now\n".into(), "hopty: this session is my-work-now\n".into())
    );
    assert_eq!(given(&world, "my-work-now"), ["My work/now"]);
    assert_eq!(world.status_of("my-work-now")["work"]["title"], "My work/now");
    let output = world.hopty(&["--detached", "--name=My work/now"]);
    assert_eq!(text(&output.stdout), "my-work-now-2\n");
    let said = text(&output.stderr);
    assert_eq!(said, "hopty: the name my-work-now is taken: this session is my-work-now-2\n");
    assert_eq!(given(&world, "my-work-now-2"), ["My work/now"]);
    let output = world.hopty(&["--detached", "--name", "日本"]);
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        ("proj\n".into(), "hopty: this session is proj\n".into())
    );
    assert_eq!(given(&world, "proj"), ["日本"]);
    end_all(&world);
}

#[test]
fn a_session_s_name_is_claude_s_unless_that_has_one() {
    let world = world();
    let run = |name: &str, more: &[&str]| {
        world.ask(&[&["run", "--name", name, "--detached", "--", "claude"], more].concat());
        given(&world, name)
    };
    assert_eq!(run("one", &[]), ["one"]);
    assert_eq!(run("two", &["--name", "Another"]), ["Another"]);
    // A conversation that is resumed has a name already, or none that hopty should give it.
    world.ask(&["ask", "one", "Hello?"]);
    let id = world.status_of("one")["conversation"].as_str().unwrap().to_owned();
    world.ask(&["stop", "one"]);
    assert_eq!(run("three", &["--resume", &id]), [""; 0]);
    wait_for("the name", || (world.status_of("three")["work"]["title"] == "one").then_some(()));
    // Without a name nothing is added.
    assert_eq!(world.ask(&["--detached"]), "proj\n");
    assert_eq!(given(&world, "proj"), [""; 0]);
    end_all(&world);
}

#[test]
fn a_fresh_conversation_goes_by_the_last_name_of_the_one_before() {
    let world = world();
    world.ask(&["--detached", "--name", "My work"]);
    let hand_over = || {
        world.ask(&["ask", "my-work", "Hello?"]);
        world.ask(&["restart", "my-work", "--wait"]);
        given(&world, "my-work")
    };
    assert_eq!(hand_over(), ["My work"]);
    world.ask(&["ask", "my-work", "Hello?"]);
    // As `/rename` writes it.
    let now = world.status_of("my-work");
    let line =
        serde_json::json!({"type": "custom-title", "customTitle": "Other", "sessionId": now["conversation"]});
    let file = std::fs::File::options().append(true).open(now["transcript"].as_str().unwrap());
    writeln!(file.unwrap(), "{line}").unwrap();
    wait_for("the new name", || (world.status_of("my-work")["work"]["title"] == "Other").then_some(()));
    assert_eq!(hand_over(), ["Other"]);
    assert_eq!(world.status_of("my-work")["work"]["title"], "Other");
    end_all(&world);
}

#[test]
fn the_real_claude_shows_the_name_before_and_after_a_hand_over() {
    let script = Script::each(|_, _| ScriptedReply::text("Hello.").filling(1000));
    let Some(world) = World::new(Kind::Real, script) else { return };
    let term = world.start(&["--name", "My work"]);
    let named =
        || term.wait_for("the name", |screen| screen.lines().iter().any(|row| row.contains("── My work ─")));
    term.wait_box();
    named();
    term.submit("Say hello.");
    term.wait_text("Hello.");
    let first = world.status_of("my-work")["conversation"].clone();
    world.ask(&["restart", "my-work", "--wait"]);
    named();
    assert_ne!(world.status_of("my-work")["conversation"], first);
    assert_eq!(world.status_of("my-work")["work"]["title"], "My work");
    end_all(&world);
}
