//! The figure beside that of the real Claude Code: what its own status line is told, to the token.

use std::path::Path;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::*;
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

/// What Claude told its status line last.
pub fn told(world: &World) -> Option<Value> {
    let payload: Value = serde_json::from_slice(&std::fs::read(world.home.join("told.json")).ok()?).ok()?;
    let window = &payload["context_window"];
    let usage = window["current_usage"].as_object()?;
    let part = |name: &str| usage[name].as_u64().unwrap();
    let tokens = part("input_tokens") + part("cache_creation_input_tokens") + part("cache_read_input_tokens");
    Some(json!({"tokens": tokens, "window": window["context_window_size"],
            "percent": window["used_percentage"], "of": payload["session_id"]}))
}

/// Waits until Claude's status line has `tokens`, and holds hopty's figures to it, wherever they are shown.
pub fn assert_same(world: &World, tokens: u64) -> Value {
    let told = wait_for("the status line", || told(world).filter(|told| told["tokens"] == tokens));
    let by = told["window"].clone();
    wait_for("hopty's figure", || {
        let context = json_of(world, &["context", "proj", "--json"]);
        (context["tokens"] == tokens && context["window"] == by).then_some(())
    });
    let context = json_of(world, &["context", "proj", "--json"]);
    let listed = json_of(world, &["ls", "--json"])[0]["context"].clone();
    for key in ["tokens", "window", "percent"] {
        assert_eq!(context[key], told[key], "{key}: {context} {told}");
        assert_eq!(world.status()["context"][key], told[key], "{key} in status");
        assert_eq!(listed[key], told[key], "{key} in ls");
    }
    let line = world.ask(&["context", "proj"]);
    assert!(
        line.starts_with(&format!("{} % of {} tokens ({tokens}), level ", told["percent"], told["window"])),
        "{line}"
    );
    assert!(world.ask(&["status", "proj"]).contains(line.trim()), "{line}");
    assert!(world.ask(&["context", "proj", "--explain"]).contains(&format!("\ntranscript: {tokens} tokens")));
    let word = match context["level"].as_str().unwrap() {
        "ok" => "OK",
        "ask" => "EARLY_WARN",
        "warn" => "WARN",
        _ => "CRITICAL",
    };
    wait_for("the file for scripts", || {
        let file = std::fs::read_to_string(world.claude_dir().join(".context-status")).ok()?;
        let kb = world.status()["context"]["bytes"].as_u64()? / 1024;
        (kb < 1024 && file == format!("{word}:{kb}KB\n")).then_some(())
    });
    // Of the file alone, as a script would ask; the window is known of the session.
    let path = world.status()["transcript"].as_str().unwrap().to_owned();
    assert_eq!(json_of(world, &["context", &path, "--json"])["tokens"], tokens);
    context
}

fn start(model: &str) -> Option<World> {
    let script = Script::each(|request, _| {
        let fills = [("first", 12_345), ("second", 54_321), ("newly", 7_777), ("over", 250_001)];
        let last = request.texts().into_iter().rev().find_map(|(_, text)| {
            fills.iter().find(|(word, _)| text.contains(&format!("Say {word}."))).copied()
        });
        let (word, tokens) = last.unwrap_or(("nothing", 3000));
        ScriptedReply::text(format!("It is {word}.")).filling(tokens)
    });
    let mut world = World::new(Kind::Real, script)?;
    world.set("HOPTY_RESTART_MODE", "manual");
    world.args = ["--model", model, "--dangerously-skip-permissions"].map(str::to_owned).to_vec();
    listen(&world, &world.claude_dir().join("settings.json"));
    Some(world)
}

/// Puts a status line into these settings that keeps what it is told.
pub fn listen(world: &World, path: &Path) {
    let mut settings: Value =
        std::fs::read(path).map_or(json!({}), |text| serde_json::from_slice(&text).unwrap());
    let file = world.home.join("told.json");
    settings["statusLine"] = json!({"type": "command", "command": format!("cat > '{0}.new' && mv '{0}.new' \
        '{0}'", file.display())});
    std::fs::write(path, settings.to_string()).unwrap();
}

#[test]
fn the_figure_is_claude_s_own_to_the_token() {
    let Some(world) = start("claude-sonnet-4-5") else { return };
    let term = world.start(&[]);
    let say = |word: &str| {
        term.wait_box();
        term.submit(&format!("Say {word}."));
        term.wait_text(&format!("It is {word}."));
        world.wait_state("idle");
    };
    say("first");
    assert_eq!(assert_same(&world, 12_345)["window_from"], "statusline");
    say("second");
    assert_same(&world, 54_321);
    let first = world.status()["conversation"].clone();
    // A new conversation in the same process begins at nothing.
    term.submit("/clear");
    world.wait_decision("conversation.changed", 1);
    let fresh = json_of(&world, &["context", "proj", "--json"]);
    assert_eq!(
        (&fresh["tokens"], &fresh["tokens_from"], &fresh["level"]),
        (&json!(0), &json!("none"), &json!("ok"))
    );
    say("newly");
    assert_same(&world, 7_777);
    // What is left after a compaction: Claude's status line has nothing until the next answer, hopty what
    // Claude wrote down.
    term.wait_box();
    term.submit("/compact");
    let after = wait_for("a compaction", || {
        let figure = json_of(&world, &["context", "proj", "--json"]);
        (figure["tokens"] != json!(7_777)).then_some(figure)
    });
    assert!(after["tokens"].as_u64().unwrap() < 7_777 || after["tokens_from"] == "transcript", "{after}");
    world.wait_state("idle");
    say("second");
    assert_same(&world, 54_321);
    world.leave(term);
    // The first conversation's own file still has its own figure.
    assert_eq!(json_of(&world, &["context", first.as_str().unwrap(), "--json"])["tokens"], 54_321);
}

#[test]
fn a_window_of_a_million_is_claude_s_own_to_the_token() {
    let Some(world) = start("claude-opus-4-8[1m]") else { return };
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say over.");
    term.wait_text("It is over.");
    world.wait_state("idle");
    assert_same(&world, 250_001);
    let figure = json_of(&world, &["context", "--json"]);
    assert_eq!(
        (&figure["window"], &figure["percent"], &figure["level"]),
        (&json!(1_000_000), &json!(25), &json!("ok"))
    );
    let path = world.status()["transcript"].as_str().unwrap().to_owned();
    world.leave(term);
    // Where no session knows it, the name lacks `[1m]`, and the tokens prove it.
    std::fs::remove_dir_all(world.state_dir()).unwrap();
    let bare = json_of(&world, &["context", &path, "--json"]);
    assert_eq!((&bare["window"], &bare["window_from"]), (&json!(1_000_000), &json!("assumed")));
}
