//! Hooks that are switched off, and hooks of the person's own beside hopty's: with the stand-in and the real
//! Claude Code.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use hopty::standin::request::AskerKind as Asks;
use hopty::standin::script::{Script, ScriptedReply};
use support::claude::Kind;
use support::wait_for;
use support::world::{World, tools};

macro_rules! cases {
    ($($module:ident $kind:ident { $($name:ident),* $(,)? })*) => {
        $(mod $module {
            $(#[test] fn $name() { super::$name(super::Kind::$kind); })*
        })*
    };
}

cases! {
    stand_in StandIn {
        switched_off_by_the_person,
        switched_off_by_the_project,
        switched_off_by_a_flag,
        not_injected,
        a_person_is_told_why_a_hand_over_is_held,
        item_115_the_persons_own_hooks_go_on_working_and_no_file_of_theirs_is_touched,
    }
    real Real {
        switched_off_by_the_person,
        switched_off_by_the_project,
        switched_off_by_a_flag,
        not_injected,
        // The stand-in has neither of these two modes.
        bare,
        safe_mode,
        a_person_is_told_why_a_hand_over_is_held,
        item_115_the_persons_own_hooks_go_on_working_and_no_file_of_theirs_is_touched,
    }
}

/// Without a host, with one that is gone, and with anything at all on its input, a hook ends with 0 and says
/// nothing.
#[test]
fn item_061_a_hook_is_silent_whatever_is_missing() {
    let gone = tempfile::tempdir().unwrap().path().join("gone.sock");
    let events =
        hopty::claude::plugin::FULL.iter().chain(&hopty::claude::plugin::OLD).map(|(event, _)| *event);
    for (n, event) in events.chain(["Nonsense", ""]).enumerate() {
        let input: &[u8] = [&b"{}"[..], b"", b"not json \xff\0", b"{\"session_id\":\"../x\"}"][n % 4];
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hopty"));
        command.args(["hook", event]).env_clear();
        if n % 2 == 0 {
            command.env("HOPTY_SOCKET", &gone);
        }
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may have gone before it has read anything.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
        let done = child.wait_with_output().unwrap();
        assert_eq!(
            (done.status.code(), done.stdout.len(), done.stderr.len()),
            (Some(0), 0, 0),
            "{event}: {done:?}"
        );
    }
}

/// A host that never answers, and one that answers late: a hook waits as long as its command says, and says
/// nothing else.
#[test]
fn a_hook_waits_for_a_silent_host_as_long_as_it_was_told_and_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let call = |ack: Option<&str>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hopty"));
        command.args(["hook", "Stop"]).args(ack).env_clear().env("HOPTY_SOCKET", &socket);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{}").unwrap();
        child
    };
    for ack in [None, Some("20"), Some("not a number")] {
        // Nobody takes the connection; the kernel does.
        let done = call(ack).wait_with_output().unwrap();
        assert_eq!(
            (done.status.code(), done.stdout.len(), done.stderr.len()),
            (Some(0), 0, 0),
            "{ack:?}: {done:?}"
        );
        drop(listener.accept().unwrap());
    }
    // The one that was told to wait for a minute is there for an answer that comes when it comes.
    let child = call(Some("60000"));
    let (mut stream, _) = listener.accept().unwrap();
    let mut asked = String::new();
    let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
    while !asked.contains("\"event\"") {
        assert!(std::io::BufRead::read_line(&mut reader, &mut asked).unwrap() > 0, "{asked}");
    }
    // Longer than the default; on a slow machine longer still, which is as good.
    let (_nobody, silence) = std::sync::mpsc::channel::<()>();
    let _ = silence.recv_timeout(std::time::Duration::from_millis(400));
    let answer = b"{\"hopty\":1,\"version\":\"0\"}\n{\"id\":1,\"ok\":{\"stdout\":\"late\"}}\n";
    std::io::Write::write_all(&mut stream, answer).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"late", "longer than the default");
}

/// `hooks.ack` reaches the command that Claude is given.
#[test]
fn the_wait_of_a_hook_is_that_of_the_configuration() {
    let mut world =
        World::new(Kind::StandIn, Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000))).unwrap();
    world.set("HOPTY_HOOKS_ACK", "2s");
    world.ask(&["--detached"]);
    let hooks = std::fs::read_to_string(world.session_dir().join("plugin/hooks/hooks.json")).unwrap();
    assert_eq!(hooks.matches(" 2000 || :").count(), hopty::claude::plugin::FULL.len(), "{hooks}");
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

const OFF: &str = r#"{"disableAllHooks":true,"skipDangerousModePermissionPrompt":true}"#;

fn switched_off_by_the_person(kind: Kind) {
    let Some(world) = World::new(kind, long_turn()) else { return };
    std::fs::write(world.claude_dir().join("settings.json"), OFF).unwrap();
    hands_over_without_hooks(&world, &[], "disableAllHooks");
}

fn switched_off_by_the_project(kind: Kind) {
    let Some(world) = World::new(kind, long_turn()) else { return };
    std::fs::create_dir(world.project.join(".claude")).unwrap();
    std::fs::write(world.project.join(".claude/settings.json"), OFF).unwrap();
    hands_over_without_hooks(&world, &[], "disableAllHooks");
}

fn switched_off_by_a_flag(kind: Kind) {
    let Some(world) = World::new(kind, long_turn()) else { return };
    hands_over_without_hooks(&world, &["--settings", OFF], "disableAllHooks");
}

fn not_injected(kind: Kind) {
    let Some(mut world) = World::new(kind, long_turn()) else { return };
    world.set("HOPTY_HOOKS_INJECT", "false");
    hands_over_without_hooks(&world, &[], "as configured");
}

fn bare(kind: Kind) {
    let Some(world) = World::new(kind, long_turn()) else { return };
    hands_over_without_hooks(&world, &["--bare"], "--bare");
}

fn safe_mode(kind: Kind) {
    let Some(world) = World::new(kind, long_turn()) else { return };
    hands_over_without_hooks(&world, &["--safe-mode"], "--safe-mode");
}

/// Three tools, the last answer over the handoff level; then a conversation that goes on as it was asked to.
fn long_turn() -> Script {
    Script::each(|request, _| match (request.continued_handoff(), request.assistant_messages()) {
        (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        (None, n @ 0..3) => ScriptedReply::bash(format!("echo step {n}")).filling(50_000 * (n as u64 + 1)),
        _ => ScriptedReply::text("All three are done.").filling(190_000),
    })
}

fn hands_over_without_hooks(world: &World, flags: &[&str], told: &str) {
    let term = world.start(flags);
    term.wait_box();
    let said = String::from_utf8_lossy(&term.bytes()).into_owned();
    assert_eq!(said.matches("hopty: ").count(), 1, "said once:\n{said}");
    assert!(said.contains(told), "the person is told why:\n{said}");
    term.submit("Do the three things.");
    world.wait_decision("handoff.consumed", 1);
    let named = |kind: &str, field: &str| world.wait_decision(kind, 1)[field].as_str().unwrap().to_owned();
    assert!(named("degraded", "sentence").contains(told));
    let (old, new) = (named("run.spawned", "conversation"), named("delivery.submitted", "conversation"));
    let saved = named("handoff.saved", "handoff");
    assert_eq!(tools(&world.transcript(&old)), (3, 3), "no tool result is lost");
    let main = |id: &str| {
        let all = world.api.requests_of(id);
        all.into_iter().filter(|request| request.kind == Asks::Main).collect::<Vec<_>>()
    };
    assert_eq!(main(&old).len(), 4, "not one more request from the old conversation");
    let first = main(&new).into_iter().next().unwrap();
    assert!(!first.contains("=== HANDOFF LOADED"), "no hook gave it the frame");
    let document = world.claude_dir().join(format!("handoff/records/{saved}/brief.md"));
    assert!(first.contains(&format!("Read {} first.", document.display())), "the prompt names the brief");
    assert!(std::fs::read_to_string(document).unwrap().contains("Do the three things."), "the goal is in it");
    let prompt = format!("Continue from handoff {saved}.");
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "the prompt is there exactly once");
    assert!(world.decisions().iter().filter(|d| d["kind"] == "conversation.changed").count() == 0);
    world.leave(term);
}

fn a_person_is_told_why_a_hand_over_is_held(kind: Kind) {
    let script = Script::each(|request, _| match request.assistant_messages() {
        0 => ScriptedReply::bash(
            r#"mkdir -p .claude && echo '{"env":{"PLANTED":"1"}}' > .claude/settings.json"#,
        )
        .filling(100_000),
        1 => ScriptedReply::bash("echo more").filling(190_000),
        _ => ScriptedReply::text("Done with it.").filling(195_000),
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Plant a variable.");
    world.wait_decision("restart.cancelled", 1);
    term.wait_text("hopty restart");
    term.wait_text("Done with it.");
    let told = world.api.main_requests().iter().any(|request| request.contains("Held the hand-over"));
    assert!(!told, "the word is for the person, not for the model");
    world.leave(term);
}

/// Hooks in the user's and the project's settings, in `--settings` and in two plugins, of which one has the
/// name that hopty's own might have.
fn item_115_the_persons_own_hooks_go_on_working_and_no_file_of_theirs_is_touched(kind: Kind) {
    let Some(world) = World::new(kind, Script::filling_loop("echo step", 40_000)) else { return };
    let marks = world.root.path().join("marks");
    std::fs::create_dir(&marks).unwrap();
    let hooks = |name: &str| {
        let touch = format!("touch '{}/{name}'", marks.display());
        serde_json::json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command",
            "command": touch}]}]}})
    };
    let user = world.claude_dir().join("settings.json");
    let mut settings: serde_json::Value = serde_json::from_slice(&std::fs::read(&user).unwrap()).unwrap();
    settings["hooks"] = hooks("user")["hooks"].clone();
    std::fs::write(&user, settings.to_string()).unwrap();
    std::fs::create_dir(world.project.join(".claude")).unwrap();
    let project = world.project.join(".claude/settings.json");
    std::fs::write(&project, hooks("project").to_string()).unwrap();
    let before = [&user, &project].map(|path| std::fs::read(path).unwrap());
    let beside = |dir: &std::path::Path| std::fs::read_dir(dir).unwrap().count();
    let files_before = [beside(&world.project), beside(&world.project.join(".claude"))];
    let mut flags = vec!["--settings".to_owned(), hooks("flag").to_string()];
    for name in ["hopty", "theirs"] {
        let dir = world.root.path().join(name);
        std::fs::create_dir_all(dir.join(".claude-plugin")).unwrap();
        std::fs::create_dir_all(dir.join("hooks")).unwrap();
        let manifest =
            serde_json::json!({"name": name, "version": "1.0.0", "description": "of the person's own"});
        std::fs::write(dir.join(".claude-plugin/plugin.json"), manifest.to_string()).unwrap();
        std::fs::write(dir.join("hooks/hooks.json"), hooks(&format!("plugin-{name}")).to_string()).unwrap();
        flags.extend(["--plugin-dir".to_owned(), dir.display().to_string()]);
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let term = world.start(&flags);
    term.wait_box();
    term.submit("Count the stars.");
    let all = ["flag", "plugin-hopty", "plugin-theirs", "project", "user"];
    let marked = || all.iter().all(|name| marks.join(name).exists()).then_some(());
    wait_for("every hook of the person's own", marked);
    for name in all {
        let _ = std::fs::remove_file(marks.join(name));
    }
    world.wait_decision("handoff.consumed", 1);
    wait_for("every hook of the person's own in the next run too", marked);
    assert_eq!(
        [&user, &project].map(|path| std::fs::read(path).unwrap()),
        before,
        "their files are left alone"
    );
    let files = [beside(&world.project), beside(&world.project.join(".claude"))];
    assert_eq!(files, files_before, "there is nothing of hopty's that somebody would have to clean up");
    world.leave(term);
}

/// Claude gives a hook its input and closes it. Where nobody does, the hook is silent in time all the same.
#[test]
fn a_hook_whose_input_stays_open_ends_in_time() {
    let world = World::new(Kind::StandIn, Script::list([])).unwrap();
    world.ask(&["run", "--name", "one", "--detached", "--", "cat"]);
    for input in ["", "{\"session_id\":"] {
        let mut hook = std::process::Command::new(support::claude::hopty());
        hook.args(["hook", "Stop", "200"]).env_clear().envs(world.env.iter().cloned());
        hook.env("HOPTY_SOCKET", world.state_dir().join("run/one.sock"));
        let piped = std::process::Stdio::piped;
        let mut hook = hook.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
        std::io::Write::write_all(hook.stdin.as_mut().unwrap(), input.as_bytes()).unwrap();
        // Its input is still held here.
        let end = support::wait::end_of(&mut hook, std::time::Duration::from_secs(20));
        let Some(end) = end else {
            hook.kill().unwrap();
            hook.wait().unwrap();
            panic!("it waits for {input:?} to go on");
        };
        assert!(end.success());
    }
    world.ask(&["stop", "one", "--kill"]);
    world.assert_nothing_left();
}

/// hopty's segment stands behind the person's own status line, on the real Claude.
#[test]
fn a_segment_stands_behind_the_person_s_own_status_line() {
    let script = hopty::standin::script::Script::each(|_, _| {
        hopty::standin::script::ScriptedReply::text("Hello.").filling(82_000)
    });
    let Some(mut world) = World::new(Kind::Real, script) else { return };
    let path = world.claude_dir().join("settings.json");
    let mut settings: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    settings["statusLine"] = serde_json::json!({"type": "command", "command": "echo mine"});
    std::fs::write(&path, settings.to_string()).unwrap();
    world.set("HOPTY_TERMINAL_SEGMENT", "true");
    let term = world.start(&[]);
    term.wait_box();
    term.wait_text("mine  hopty proj");
    term.submit("Say hello.");
    term.wait_text("mine  hopty proj · 41 % · hands over at 80 %");
    // A hand-over reads the screen below the segment, and the fresh conversation has one again.
    world.ask(&["restart", "proj", "--wait"]);
    world.wait_state("idle");
    term.wait_text("mine  hopty proj");
    world.leave(term);
}

/// What a person has just done shows in it before the next turn, on the real Claude.
#[test]
fn the_segment_tells_the_truth_at_once() {
    let script = hopty::standin::script::Script::each(|_, _| {
        hopty::standin::script::ScriptedReply::text("Hello.").filling(82_000)
    });
    let Some(mut world) = World::new(Kind::Real, script) else { return };
    world.set("HOPTY_TERMINAL_SEGMENT", "true");
    let mut term = world.start(&[]);
    term.wait_box();
    term.wait_text("hopty proj");
    // Without a prompt there is nothing to hand over, and none is paid for.
    term.send("\x1cr");
    term.wait_text("· 1 notice");
    term.send("\x1cn");
    term.wait_text("No hand-over: nothing has been said in this conversation yet.");
    term.send("x");
    term.wait_box();
    assert_eq!(world.status()["restarts"], 0);
    term.submit("Say hello.");
    term.wait_text("hopty proj · 41 % · hands over at 80 %");
    term.send("\x1cs");
    term.wait_text("hopty proj · 41 % · hand-over snoozed");
    world.ask(&["rename", "proj", "rocket"]);
    term.wait_text("hopty rocket · 41 % · hand-over snoozed");
    // The page of notices is read, and none is new.
    term.send("\x1cn");
    term.wait_text("notices, newest first");
    term.send("x");
    term.wait_for("a segment without notices", |screen| {
        screen.lines().iter().any(|line| line.trim_end().ends_with("hand-over snoozed"))
    });
    term.wait_box();
    world.ask(&["stop", "rocket"]);
    assert_eq!(term.wait_exit(), 128 + nix::libc::SIGTERM);
    world.assert_nothing_left();
}
