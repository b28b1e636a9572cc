//! The real Claude Code. It animates, so pictures are compared, when it has come to rest.

use hopty::standin::script::{Script, ScriptedReply};

use super::case::{Case, Stage};
use super::emulator::View;
use super::support::claude::{Kind, hopty};
use super::support::term::Term;
use super::support::world::World;

/// What depends on time: the line after a turn (another word each time, how long it took, the time of day),
/// hints at the right of the foot line that come and go, and how many blank lines all the frames on the way
/// have left. And its last word, how to resume: it names no arguments where it was given hopty's.
fn times(view: &mut View) {
    if let Some(at) = view.rows.iter().position(|row| row.contains("--resume")) {
        view.rows.truncate(at);
    }
    view.rows.retain(|row| !row.is_empty() && !row.contains('✻'));
    for row in &mut view.rows {
        if let Some(at) = row.find("cycle)") {
            row.truncate(at);
        }
    }
    view.cursor.0 = 0;
}

fn wait_box(stage: &Stage) {
    stage.outer.wait_rows("the prompt box", |rows| rows.iter().any(|row| row.starts_with('❯')));
}

/// Waits until Claude is done with a turn and its box is empty.
fn submit(stage: &Stage, text: &str) {
    wait_box(stage);
    stage.send(text);
    stage.wait_text(text);
    stage.send("\r");
}

fn world() -> Option<World> {
    World::new(
        Kind::Real,
        Script::each(|request, _| {
            if request.assistant_messages() == 0 {
                ScriptedReply::bash("seq 1 5; echo from-the-shell").saying("I look.")
            } else {
                ScriptedReply::text("**Done**, with `code` and a list:\n\n- one\n- two 漢字\n")
            }
        }),
    )
}

#[test]
fn a_conversation() {
    let Some(mut world) = world() else { return };
    // What hopty sets, and says in `docs/TERMINAL.md`: its foot line is shorter with it.
    world.set("CLAUDE_CODE_DISABLE_AGENT_VIEW", "1");
    // Nor its segment in Claude's status line, which the case below is about.
    world.set("HOPTY_TERMINAL_SEGMENT", "false");
    // hopty's commands would stand in the menu.
    world.set("HOPTY_HOOKS_COMMANDS", "false");
    // A model without a notice about its age, which comes and goes.
    let args = ["--model", "sonnet", "--dangerously-skip-permissions"].map(str::to_owned);
    Case::claude(&world, &args).mask(times).run(|stage| {
        wait_box(stage);
        stage.look("at the start");
        submit(stage, "do it");
        stage.wait_text("two 漢字");
        stage.look("after a turn");
        stage.send("/");
        stage.wait_text("/clear");
        stage.look("a menu");
        stage.send("\x1b");
        stage.outer.wait_rows("no menu", |rows| !rows.iter().any(|row| row.contains("/clear")));
        stage.send("a draft\x1b[D\x1b[D");
        stage.wait_text("a draft");
        stage.look("a draft");
        stage.send("\x15\x0b");
        stage.outer.wait_rows("no draft", |rows| !rows.iter().any(|row| row.contains("a draft")));
        submit(stage, "/exit");
    });
}

/// With the segment, which is on by default, one row below the prompt box is all that differs.
#[test]
fn the_segment_is_one_row_below_the_prompt_box() {
    let Some(mut world) = world() else { return };
    world.set("CLAUDE_CODE_DISABLE_AGENT_VIEW", "1");
    let rows = |world: &World, segment: &str| {
        let mut world_env = world.env.clone();
        world_env.retain(|(name, _)| name != "HOPTY_TERMINAL_SEGMENT");
        world_env.push(("HOPTY_TERMINAL_SEGMENT".into(), segment.into()));
        let term = Term::start(&hopty(), &["--model", "sonnet"], &world_env, &world.project, (80, 24));
        term.wait_box();
        if segment == "true" {
            term.wait_text("  hopty proj");
        }
        term.wait_text("shift+tab to cycle");
        let rows: Vec<String> = term.lines().into_iter().filter(|row| !row.trim().is_empty()).collect();
        world.ask(&["stop", "proj"]);
        drop(term);
        rows
    };
    let without = rows(&world, "false");
    // What Claude says once in a home stands in both.
    world.renew();
    let with = rows(&world, "true");
    let below: Vec<&String> = with.iter().filter(|row| row.trim_start().starts_with("hopty proj")).collect();
    assert_eq!(below.len(), 1, "{with:#?}");
    let cut = |rows: &[String]| -> Vec<String> {
        // What comes and goes stands at the right of the foot line.
        let cut = |row: &String| row.split("cycle)").next().unwrap_or_default().trim_end().to_owned();
        rows.iter().filter(|row| !row.contains("hopty proj")).map(cut).collect()
    };
    assert_eq!(cut(&with), cut(&without));
    let at = with.iter().position(|row| row.contains("hopty proj")).unwrap();
    let boxed = with.iter().rposition(|row| row.starts_with('❯')).unwrap();
    assert!(at > boxed, "{with:#?}");
}
