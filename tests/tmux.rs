//! `docs/TMUX.md` in a real tmux with a socket of its own: its setup loads, the segment shows, the keys work,
//! and what it says about what gets through is so.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;
mod support;

use std::process::Command;

use hopty::standin::script::Script;
use support::claude::{Kind, hopty};
use support::term::Term;
use support::wait_for;
use support::world::World;

const TMUX: &str = "/usr/bin/tmux";
/// tmux's prefix key.
const PREFIX: &str = "\x02";

/// tmux as a client of this world's own server.
fn command(world: &World, args: &[&str]) -> Command {
    let mut command = Command::new(TMUX);
    command.args(["-L", "hopty"]).args(args).env_clear().envs(world.env.iter().cloned());
    command
}

/// A tmux server with the setup of the page, and a terminal at its first window.
struct Tmux {
    world: World,
    term: Term,
}

impl Tmux {
    /// `None` where there is no tmux.
    fn start() -> Option<Tmux> {
        support::needs("tmux")?;
        let mut world = World::new(Kind::StandIn, Script::list([])).expect("the stand-in is always there");
        let dir = world.root.path().display().to_string();
        world.set("TMUX_TMPDIR", &dir);
        let path = format!("{}:/usr/bin:/bin", hopty().parent().unwrap().display());
        world.set("PATH", &path);
        let conf = world.root.path().join("setup.conf");
        let lines = source::blocks(&source::text("docs/TMUX.md"), "tmux");
        assert!(lines.len() > 15, "the page has its setup");
        std::fs::write(&conf, lines.join("\n")).unwrap();
        let tmux = |args: &[&str]| {
            let output = command(&world, args).current_dir(&world.project).output().unwrap();
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(output.status.success() && said.is_empty(), "{args:?}: {said}");
        };
        tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "exec /bin/sh"]);
        tmux(&["source-file", conf.to_str().unwrap()]);
        let term =
            Term::start(TMUX.as_ref(), &["-L", "hopty", "attach"], &world.env, &world.project, (120, 40));
        term.wait_for("tmux", |screen| screen.alternate() && screen.lines()[39].starts_with("[0]"));
        let tmux = Tmux { world, term };
        Some(tmux)
    }

    fn ask(&self, args: &[&str]) -> String {
        String::from_utf8(command(&self.world, args).output().unwrap().stdout).unwrap()
    }

    fn detached(&self, name: &str, script: &str) {
        self.world.ask(&["run", "--name", name, "--detached", "--", "sh", "-c", script]);
    }

    /// tmux's prefix key and another. Not at once: what comes within a millisecond tmux takes for a paste.
    fn bound(&self, key: &str) {
        self.term.send(PREFIX);
        wait_for("tmux to have its prefix", || {
            (self.ask(&["list-clients", "-F", "#{client_prefix}"]).trim() == "1").then_some(())
        });
        self.term.send(key);
    }

    fn has_written(&self, bytes: &str) -> bool {
        String::from_utf8_lossy(&self.term.bytes()).contains(bytes)
    }

    /// Ends the server and every session.
    fn end(mut self) {
        self.ask(&["kill-server"]);
        self.term.wait_exit();
        let list: serde_json::Value = serde_json::from_str(&self.world.ask(&["ls", "--json"])).unwrap();
        for session in list.as_array().unwrap() {
            self.world.ask(&["stop", session["name"].as_str().unwrap(), "--kill"]);
        }
        self.world.assert_nothing_left();
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

#[test]
fn the_segment_names_sessions_and_states() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.detached("alpha", "exec sleep 1000");
    tmux.detached("beta", "exec sleep 1000");
    tmux.ask(&["refresh-client", "-S"]);
    tmux.term.wait_for("the segment", |screen| {
        screen.lines().last().is_some_and(|line| line.contains("alpha running   beta running"))
    });
    tmux.end();
}

#[test]
fn the_popup_shows_the_dashboard() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.detached("alpha", "exec sleep 1000");
    tmux.bound("h");
    tmux.term.wait_text("hopty  1 session");
    tmux.term.wait_text("›alpha");
    tmux.term.send("q");
    tmux.term
        .wait_for("the popup to close", |screen| !screen.lines().iter().any(|line| line.contains("›alpha")));
    tmux.end();
}

#[test]
fn a_session_is_attached_beside() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.detached("alpha", "printf 'here is alpha'; exec sleep 1000");
    tmux.bound("a");
    tmux.term.wait_text("attach session:");
    tmux.term.send("alpha\r");
    tmux.term.wait_text("here is alpha");
    assert_eq!(tmux.ask(&["list-panes"]).lines().count(), 2);
    // A wrong name is told, and does not go away with its pane.
    tmux.bound("a");
    tmux.term.wait_text("attach session:");
    tmux.term.send("aleph\r");
    tmux.term.wait_text("hopty: attach: aleph: there");
    assert_eq!(tmux.ask(&["list-panes"]).lines().count(), 3);
    tmux.term.send("\r");
    wait_for("the pane to close", || (tmux.ask(&["list-panes"]).lines().count() == 2).then_some(()));
    tmux.end();
}

#[test]
fn every_session_gets_a_pane() {
    let Some(tmux) = Tmux::start() else { return };
    for name in ["alpha", "beta", "gamma"] {
        tmux.detached(name, &format!("printf 'here is {name}'; exec sleep 1000"));
    }
    tmux.bound("A");
    for name in ["alpha", "beta", "gamma"] {
        tmux.term.wait_text(&format!("here is {name}"));
    }
    assert_eq!(tmux.ask(&["list-panes"]).lines().count(), 3);
    tmux.end();
}

#[test]
fn claude_begins_in_a_window_of_the_same_directory() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.bound("H");
    tmux.term.wait_box();
    assert!(tmux.world.ask(&["ls"]).contains("proj"));
    tmux.end();
}

/// What the table of the page says, in a pane with hopty and with nothing attached elsewhere.
#[test]
fn titles_notices_and_focus_get_through_as_the_page_says() {
    let Some(tmux) = Tmux::start() else { return };
    let script = r#"
        stty raw -echo
        printf '\033[?1004h\033[>4;1m\033]2;a title\007'
        printf '\033]9;plain notice\007\033Ptmux;\033\033]9;wrapped notice\007\033\\'
        printf '\033]52;c;aGk=\007\033[38;2;1;2;3mready\033[m\r\n'
        while x=$(dd bs=3 count=1 2>/dev/null | od -An -c); [ -n "$x" ]; do printf '%s\r\n' "$x"; done
    "#;
    let file = tmux.world.root.path().join("writes");
    std::fs::write(&file, script).unwrap();
    tmux.ask(&["new-window", &format!("hopty run --name writes -- sh {}", file.display())]);
    tmux.term.wait_text("ready");
    wait_for("the wrapped notice", || tmux.has_written("\x1b]9;wrapped notice\x07").then_some(()));
    wait_for("the pane's title", || {
        (tmux.ask(&["display", "-p", "#{pane_title}"]).trim() == "a title").then_some(())
    });
    tmux.term.wait_for("the outer title", |screen| screen.title() == "a title");
    wait_for("the clipboard", || tmux.has_written("]52;").then_some(()));
    assert!(!tmux.has_written("plain notice"));
    // The outer terminal says that it lost the focus; the program hears it.
    wait_for("tmux to want to know of the focus", || tmux.has_written("\x1b[?1004h").then_some(()));
    tmux.term.send("\x1b[O");
    tmux.term.wait_text("033   [   O");
    // Shift+Enter, in the form that this tmux gives it: CSI 13;2u, or as it came.
    tmux.term.send("\x1b[27;2;13~");
    tmux.term.wait_for("the key", |screen| {
        screen.lines().iter().any(|line| line.contains("[   1") || line.contains("[   2"))
    });
    assert!(tmux.has_written("38;2;1;2;3m") || tmux.has_written("38:2::1:2:3m"), "a colour of 24 bits");
    tmux.end();
}
