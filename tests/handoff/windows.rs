//! The figure of the real Claude Code where its window or its conversation changes: `/model`, `--resume`,
//! `--continue`, `/compact`, a sub-agent, a status line of the project's own.

use hopty::standin::request::AskerKind as Asks;
use hopty::standin::script::{ReplyUsage, Script, ScriptedReply};
use serde_json::{Value, json};

use super::real::{assert_same, listen, told};
use super::steps::*;
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::World;

const SMALL: &str = "claude-sonnet-4-5";
const LARGE: &str = "claude-opus-4-8[1m]";

/// What the answer after `earlier` ones is told to have cost, by kinds of tokens that all differ, and their
/// sum.
fn cost(earlier: u64) -> (ReplyUsage, u64) {
    let usage =
        ReplyUsage { input: 111, cache_read: 30_000 + earlier * 1000, cache_creation: 2222, output: 4444 };
    (usage, usage.input + usage.cache_read + usage.cache_creation)
}

fn costing(mut reply: ScriptedReply, earlier: usize) -> ScriptedReply {
    reply.usage = cost(earlier as u64).0;
    reply
}

fn answers() -> Script {
    Script::each(|request, _| {
        let earlier = request.assistant_messages();
        let text = request
            .continued_handoff()
            .map_or_else(|| format!("Answer {earlier}."), |id| format!("Continuing from handoff {id}."));
        costing(ScriptedReply::text(text), earlier)
    })
}

fn world(script: Script, model: &str) -> Option<World> {
    let mut world = World::new(Kind::Real, script)?;
    world.set("HOPTY_RESTART_MODE", "manual");
    world.args = ["--model", model, "--dangerously-skip-permissions"].map(str::to_owned).to_vec();
    Some(world)
}

fn say(world: &World, term: &Term, text: &str, answer: &str) {
    term.wait_box();
    term.submit(text);
    term.wait_text(answer);
    world.wait_state("idle");
}

/// `/model`, and the question that Claude asks where it has answered before.
fn change_model(world: &World, term: &Term, model: &str) {
    term.wait_box();
    term.submit(&format!("/model {model}"));
    term.wait_text("Switch model?");
    term.send("\r");
    term.wait_for("the question to go", |screen| {
        !screen.lines().iter().any(|line| line.contains("Switch model?"))
    });
    world.wait_state("idle");
}

fn exit(world: &World, mut term: Term) {
    world.wait_state("idle");
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
}

#[test]
fn a_model_that_is_changed_and_a_conversation_that_is_resumed_keep_the_figure_claude_s() {
    let Some(world) = world(answers(), SMALL) else { return };
    listen(&world, &world.claude_dir().join("settings.json"));
    let term = world.start(&[]);
    term.wait_box();
    // Before the first prompt Claude has a window and no tokens, and so has hopty.
    let file = world.home.join("told.json");
    let window = wait_for("the first status line", || {
        let payload: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        Some(payload["context_window"].clone())
    });
    assert_eq!((&window["current_usage"], &window["context_window_size"]), (&json!(null), &json!(200_000)));
    let fresh = wait_for("the window", || {
        let context = json_of(&world, &["context", "proj", "--json"]);
        (context["window_from"] == "statusline").then_some(context)
    });
    assert_eq!(
        (&fresh["tokens"], &fresh["percent"], &fresh["tokens_from"]),
        (&json!(0), &json!(0), &json!("none"))
    );
    let said = world.ask(&["context", "proj", "--explain"]);
    assert!(
        said.contains(
            "\nstatusline: no tokens of 200000: window used: it has no tokens until the next answer\n"
        ),
        "{said}"
    );

    say(&world, &term, "Say a.", "Answer 0.");
    assert_same(&world, cost(0).1);
    change_model(&world, &term, LARGE);
    wait_for("the larger window", || (told(&world)?["window"] == 1_000_000).then_some(()));
    assert_eq!(assert_same(&world, cost(0).1)["window"], 1_000_000);
    let said = world.ask(&["context", "proj", "--explain"]);
    assert!(
        said.contains(&format!(
            "\nmodel table: 1000000 tokens for {LARGE}: nothing used: a better source knows it\n"
        )),
        "{said}"
    );
    say(&world, &term, "Say b.", "Answer 1.");
    assert_eq!(assert_same(&world, cost(1).1)["percent"], 3);
    change_model(&world, &term, SMALL);
    wait_for("the smaller window", || (told(&world)?["window"] == 200_000).then_some(()));
    assert_eq!(assert_same(&world, cost(1).1)["percent"], 17);

    let id = world.status()["conversation"].as_str().unwrap().to_owned();
    exit(&world, term);
    // With `--continue` the status line may be called before the hook that names the conversation, and only
    // once.
    for args in [&["--resume", &id][..], &["--continue"]] {
        std::fs::remove_file(&file).unwrap();
        let term = world.start(args);
        term.wait_box();
        let context = assert_same(&world, cost(1).1);
        assert_eq!(
            (&context["tokens_from"], &world.status()["conversation"]),
            (&json!("transcript"), &json!(id)),
            "{args:?}"
        );
        wait_for("the window of the status line", || {
            (world.status()["context"]["window_from"] == "statusline").then_some(())
        });
        exit(&world, term);
    }
    let term = world.start(&["--resume", &id]);
    say(&world, &term, "/compact", "Compacted");
    // Claude's status line says 0 now; hopty says what Claude wrote down that is left, and says so.
    wait_for("a status line of nothing", || (told(&world)?["tokens"] == 0).then_some(()));
    let left = wait_for("what the compaction left", || {
        let context = world.status()["context"].clone();
        (context["tokens"].as_u64()? < cost(1).1).then_some(context)
    });
    let tokens = left["tokens"].as_u64().unwrap();
    assert!(tokens > 0 && left["tokens_from"] == "transcript", "{left}");
    let said = world.ask(&["context", "proj", "--explain"]);
    let why = "what the compaction left, as Claude recorded it; the status line says 0 until the next answer";
    assert!(said.contains(&format!("\ntranscript: {tokens} tokens: tokens used: {why}\n")), "{said}");
    term.wait_box();
    term.submit("Say c.");
    term.wait_text("Answer 1.");
    assert_same(&world, cost(1).1);
    world.leave(term);
}

#[test]
fn a_sub_agent_s_tokens_are_its_own_while_it_works_and_after() {
    let script = Script::each(|request, _| {
        let earlier = request.assistant_messages();
        if earlier == 1 {
            let input = json!({"description": "look", "prompt": "Look.", "subagent_type": "general-purpose"});
            return costing(ScriptedReply::tool("Agent", input), earlier);
        }
        costing(ScriptedReply::text(format!("Answer {earlier}.")), earlier)
    });
    let found = ScriptedReply::text("I have looked.").filling(170_000).after_ms(2500);
    let Some(world) = world(script.with_subagents(found), SMALL) else { return };
    listen(&world, &world.claude_dir().join("settings.json"));
    let term = world.start(&[]);
    say(&world, &term, "Say a.", "Answer 0.");
    term.wait_box();
    term.submit("Have it looked at.");
    wait_for("the sub-agent", || {
        world.api.requests().iter().any(|request| request.kind == Asks::Subagent).then_some(())
    });
    let during = wait_for("the answer that started it", || {
        let context = world.status()["context"].clone();
        (context["tokens"].as_u64()? >= cost(1).1).then_some(context)
    });
    assert!(during["tokens"].as_u64().unwrap() <= cost(2).1, "{during}");
    term.wait_text("Answer 3.");
    world.wait_state("idle");
    assert_same(&world, cost(3).1);
    world.leave(term);
}

/// A project that brings a status line of its own keeps it, and hopty is told nothing: the models that are
/// named tell the window.
#[test]
fn without_a_status_line_of_its_own_the_model_that_answers_tells_the_window() {
    for (first, windows) in [(LARGE, [1_000_000, 200_000]), ("claude-sonnet-5", [1_000_000, 200_000])] {
        let Some(world) = world(answers(), first) else { return };
        std::fs::create_dir(world.project.join(".claude")).unwrap();
        listen(&world, &world.project.join(".claude/settings.json"));
        let term = world.start(&[]);
        say(&world, &term, "Say a.", "Answer 0.");
        let context = assert_same(&world, cost(0).1);
        assert_eq!(
            (&context["window"], &context["window_from"]),
            (&json!(windows[0]), &json!("model_table"))
        );
        change_model(&world, &term, SMALL);
        say(&world, &term, "Say b.", "Answer 1.");
        let context = assert_same(&world, cost(1).1);
        assert_eq!(
            (&context["window"], &context["window_from"]),
            (&json!(windows[1]), &json!("model_table"))
        );
        world.leave(term);
    }
}

/// What a person chose last is what the next conversation runs, and not what the command line had named.
#[test]
fn the_next_conversation_has_the_model_that_was_changed_to() {
    let Some(world) = world(answers(), SMALL) else { return };
    let term = world.start(&[]);
    say(&world, &term, "Say a.", "Answer 0.");
    change_model(&world, &term, LARGE);
    world.ask(&["restart", "proj"]);
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    let status = world.status();
    assert_eq!(status["run"], 2);
    let new = status["conversation"].as_str().unwrap();
    let models: Vec<String> = world
        .api
        .requests_of(new)
        .iter()
        .filter(|r| r.kind == Asks::Main)
        .map(|r| r.model().to_owned())
        .collect();
    assert_eq!(models, ["claude-opus-4-8"], "{}", world.story());
    wait_for("its window", || (world.status()["context"]["window"] == 1_000_000).then_some(()));
    world.leave(term);
}

/// A default of the person's settings is no option of the command line, and has its window in the next
/// conversation too.
#[test]
fn the_next_conversation_has_the_window_of_the_settings_model() {
    let Some(mut world) = world(answers(), SMALL) else { return };
    world.args.drain(..2);
    let path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    settings["model"] = json!(LARGE);
    std::fs::write(&path, settings.to_string()).unwrap();
    let term = world.start(&[]);
    say(&world, &term, "Say a.", "Answer 0.");
    wait_for("its window", || (world.status()["context"]["window"] == 1_000_000).then_some(()));
    world.ask(&["restart", "proj"]);
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    let of_run = |run: u64| {
        wait_for("the status line of the run", || {
            (world.status()["run"] == run && world.status()["context"]["window_from"] == "statusline")
                .then(|| world.status())
        })
    };
    let status = of_run(2);
    assert_eq!(status["context"]["window"], 1_000_000, "{status}");
    world.leave(term);
}
