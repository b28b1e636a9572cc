//! What a person finds above the prompt after a hand-over: run inside tmux, which keeps a history, and read
//! from there. Inline and full-screen, with the stand-in agent and with the real Claude Code.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::process::Command;

use hopty::standin::script::{Script, ScriptedReply};
use support::claude::{Kind, hopty};
use support::term::Term;
use support::world::World;

const TMUX: &str = "/usr/bin/tmux";

/// tmux with hopty in its only pane.
struct Tmux<'a> {
    world: &'a World,
    socket: String,
    term: Term,
}

impl Tmux<'_> {
    fn start(world: &World) -> Tmux<'_> {
        let socket = world.root.path().join("tmux.sock").display().to_string();
        let words: Vec<String> = world.args.iter().map(|word| format!("'{word}'")).collect();
        let inner = format!("'{}' {}; sleep 100", hopty().display(), words.join(" "));
        let args = ["-S", &socket, "-f", "/dev/null", "new-session", &inner];
        let term = Term::start(TMUX.as_ref(), &args, &world.env, &world.project, (100, 30));
        Tmux { world, socket, term }
    }

    fn ask(&self, args: &[&str]) -> String {
        let output = Command::new(TMUX)
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .env_clear()
            .envs(self.world.env.clone())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    /// Everything that the pane shows and ever showed.
    fn history(&self) -> Vec<String> {
        self.ask(&["capture-pane", "-p", "-S", "-"]).lines().map(str::to_owned).collect()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

fn at(history: &[String], text: &str) -> usize {
    history
        .iter()
        .rposition(|line| line.contains(text))
        .unwrap_or_else(|| panic!("no {text:?} in:\n{}", history.join("\n")))
}

fn hand_over(kind: Kind, full_screen: bool) {
    let Some(_) = support::needs("tmux") else { return };
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("The first answer.\n\nIts second line.\n\nIts last line.").filling(2000),
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("CLAUDE_CODE_NO_FLICKER", if full_screen { "1" } else { "0" });
    let tmux = Tmux::start(&world);
    tmux.term.wait_box();
    tmux.term.send("Say three lines.");
    tmux.term.wait_text("Say three lines.");
    tmux.term.send("\r");
    tmux.term.wait_text("Its last line.");
    world.wait_state("idle");
    assert_eq!(tmux.ask(&["display", "-p", "#{alternate_on}"]).trim() == "1", full_screen);
    world.ask(&["restart", "proj", "--wait"]);
    tmux.term.wait_text("Continuing from handoff");
    world.wait_state("idle");
    let shown = tmux.history();
    assert!(world.hopty(&["stop", "proj"]).status.success());
    tmux.term.wait_text("stopped the program as requested.");
    let history = tmux.history();
    if full_screen {
        // What was on the alternate screen is in no history, so its last lines stand on the primary one.
        assert_eq!(tmux.ask(&["display", "-p", "#{alternate_on}"]).trim(), "0");
        let (last, line) = (at(&history, "Its last line."), at(&history, "handing over as HO-"));
        assert!(
            last < line && line < at(&history, "stopped the program as requested"),
            "{}",
            history.join("\n")
        );
        let boxes = history[last..line].iter().filter(|row| row.starts_with('❯')).count();
        assert_eq!(boxes, 0, "without the old prompt box:\n{}", history.join("\n"));
    } else {
        let (last, line, next) =
            (at(&shown, "Its last line."), at(&shown, "hopty: "), at(&shown, "Continuing from handoff HO"));
        assert!(last < line && line < next, "{}", shown.join("\n"));
        let boxes = shown[last..line].iter().filter(|row| row.starts_with('❯')).count();
        assert_eq!(boxes, 0, "the old prompt box is gone:\n{}", shown.join("\n"));
        assert!(at(&history, "Its last line.") < at(&history, "stopped the program as requested"));
    }
    tmux.ask(&["kill-server"]);
    world.assert_nothing_left();
}

#[test]
fn inline_with_the_stand_in() {
    hand_over(Kind::StandIn, false);
}

#[test]
fn full_screen_with_the_stand_in() {
    hand_over(Kind::StandIn, true);
}

#[test]
fn inline_with_the_real_claude() {
    hand_over(Kind::Real, false);
}

#[test]
fn full_screen_with_the_real_claude() {
    hand_over(Kind::Real, true);
}

/// Who comes later finds the same history: no old prompt box, and the line between the two runs.
fn a_later_terminal(kind: Kind, full_screen: bool) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("The first answer.\n\nIts last line.").filling(2000),
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("CLAUDE_CODE_NO_FLICKER", if full_screen { "1" } else { "0" });
    let mut first = world.start(&[]);
    first.wait_box();
    first.submit("Say two lines.");
    first.wait_text("Its last line.");
    world.wait_state("idle");
    world.ask(&["restart", "proj", "--wait"]);
    first.wait_text("Continuing from handoff");
    world.wait_state("idle");
    world.ask(&["detach", "proj"]);
    first.wait_exit();
    let mut late = world.terminal(&["attach"]);
    late.wait_text("Continuing from handoff HO");
    late.wait_box();
    world.ask(&["stop", "proj"]);
    late.wait_exit();
    let mut screen = hopty::screen::Screen::new(120, 40);
    screen.set_history_limit(500);
    screen.feed(&late.bytes());
    let row = |n| screen.history_row_runs(n).into_iter().map(|run| run.text).collect::<String>();
    let history: Vec<String> = (0..screen.history_len()).map(row).chain(screen.lines()).collect();
    let (last, line) = (at(&history, "Its last line."), at(&history, "handing over as HO-"));
    let boxes = history[last..line].iter().filter(|row| row.starts_with('❯')).count();
    assert!(last < line && boxes == 0, "{}", history.join("\n"));
    world.assert_nothing_left();
}

#[test]
fn a_later_terminal_with_the_stand_in() {
    a_later_terminal(Kind::StandIn, false);
    a_later_terminal(Kind::StandIn, true);
}

#[test]
fn a_later_terminal_with_the_real_claude() {
    a_later_terminal(Kind::Real, false);
    a_later_terminal(Kind::Real, true);
}
