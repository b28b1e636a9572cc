//! In an interactive shell: Ctrl+Z, `fg`, `bg`, `kill %1`, exit codes. What the person sees is the same.

use super::case::{Case, Stage, Way, world};
use super::needs;
use super::support::wait_for;
use super::support::world::World;

/// bash, in which `./p` is the program.
fn shell<'w>(world: &'w World, program: &str) -> Case<'w> {
    let file = world.root.path().join("p");
    let line = format!(
        "chmod 755 '{}'; PS1='$ ' PATH=\"{}:$PATH\" exec bash --norc --noprofile -i",
        file.display(),
        world.root.path().display()
    );
    let script = format!("#!/bin/sh\nexec @ {program}\n");
    Case::around_file(world, &file, &script, &line).pictures().prepare(&lines)
}

fn lines(world: &World) {
    let lines: String = (1..100).map(|n| format!("line {n}\n")).collect();
    std::fs::write(world.project.join("lines"), lines).unwrap();
}

/// Waits for the shell's prompt below everything else.
fn prompt(stage: &Stage) {
    stage.outer.wait_rows("the prompt", |rows| {
        rows.iter().rfind(|row| !row.is_empty()).is_some_and(|row| row.ends_with('$'))
    });
}

fn order(stage: &Stage, line: &str) {
    prompt(stage);
    stage.send(line);
    // So that the next look does not take this prompt for the one after it.
    stage.outer.wait_rows("the echo", |rows| rows.iter().any(|row| row.ends_with(&format!("$ {line}"))));
    stage.send("\r");
}

/// Waits until hopty holds the terminal again: what is typed before is echoed by both terminals, as before
/// every start.
fn held_again(stage: &Stage) {
    let echoes = || stage.outer.modes().lflag & u64::from(nix::libc::ECHO) != 0;
    wait_for("a raw terminal", || (stage.way == Way::Bare || !echoes()).then_some(()));
}

#[test]
fn less_is_suspended_and_goes_on() {
    let (Some(_), Some(_)) = (needs("less"), needs("bash")) else { return };
    let world = world();
    shell(&world, "less lines").run(|stage| {
        order(stage, "p");
        stage.wait_text("line 20");
        for n in 0..2 {
            // A Ctrl+Z before less waits for a key is remembered and not obeyed until there is one.
            stage.outer.wait_quiet();
            stage.send("\x1a");
            stage.wait_text("Stopped");
            prompt(stage);
            stage.picture("suspended");
            order(stage, &format!("echo between {n}"));
            order(stage, "clear; fg");
            stage.outer.wait_rows("the pager", |rows| {
                rows[0] == "line 1" && [":", "lines"].contains(&rows[23].as_str())
            });
            stage.picture("going on");
        }
        stage.send("q");
        order(stage, "echo code $?");
        stage.wait_text("code 0");
        prompt(stage);
        stage.picture("after it");
        order(stage, "exit");
    });
}

#[test]
fn vim_is_suspended_and_goes_on() {
    let (Some(_), Some(_)) = (needs("vim"), needs("bash")) else { return };
    let world = world();
    shell(
        &world,
        "vim -u NONE -i NONE -N --cmd 'set ruler nomore t_RV= t_RB= t_RF= t_RC= t_RS= t_u7=' lines",
    )
    .run(|stage| {
        order(stage, "p");
        stage.wait_text("1,1");
        stage.send("\x1a");
        stage.wait_text("Stopped");
        prompt(stage);
        stage.picture("suspended");
        order(stage, "clear; fg");
        stage.wait_text("1,1");
        stage.outer.wait_rows("vim", |rows| rows[0] == "line 1");
        stage.picture("going on");
        stage.send(":cq 5\r");
        order(stage, "echo code $?");
        stage.wait_text("code 5");
        order(stage, "exit");
    });
}

#[test]
fn a_program_that_knows_nothing_of_it() {
    let Some(_) = needs("bash") else { return };
    let world = world();
    shell(&world, "sh -c 'echo begun; read line; echo got $line; exit 3'").run(|stage| {
        order(stage, "p");
        stage.wait_text("begun");
        stage.send("\x1a");
        stage.wait_text("Stopped");
        order(stage, "jobs");
        order(stage, "fg");
        stage.outer.wait_rows("the job again", |rows| rows.iter().any(|row| row == "p"));
        held_again(stage);
        stage.send("typed\r");
        stage.wait_text("got typed");
        order(stage, "echo code $?");
        stage.wait_text("code 3");
        prompt(stage);
        stage.picture("the end");
        order(stage, "exit");
    });
}

#[test]
fn ctrl_c_and_what_the_shell_makes_of_it() {
    let Some(_) = needs("bash") else { return };
    let world = world();
    shell(&world, "sh -c 'echo begun; exec sleep 100'").run(|stage| {
        order(stage, "p");
        stage.wait_text("begun");
        stage.send("\x03");
        // bash begins a new line after a signal, and not after a code of its kind: `docs/TERMINAL.md` says
        // so.
        order(stage, "code=$?; clear; echo code $code");
        stage.wait_text("code 130");
        prompt(stage);
        stage.picture("the end");
        order(stage, "exit");
    });
}
