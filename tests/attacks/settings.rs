//! Settings that run code and are changed while a session runs: the next run must not start with them before
//! a person agreed.

use std::path::{Path, PathBuf};

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::World;
use super::support::{both, kill, wait_for};

both! {
    what_lies_in_the_sessions_directory_is_written_afresh_for_every_run,
    a_change_made_while_claude_ends_holds_the_next_run_until_a_person_agrees,
    ctrl_c_ends_a_session_whose_next_run_is_held_and_the_handoff_waits,
    a_hand_over_is_held_once_for_a_change_and_goes_on_after_a_persons_restart,
    a_crash_starts_nothing_that_was_changed,
}

/// A hook that leaves a mark when it runs.
fn hook(event: &str, mark: &Path) -> Value {
    let command = format!("touch '{}'", mark.display());
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}})
}

/// The first turn runs `first`; the prompt after it fills the window, so that a hand-over is due. Every later
/// conversation answers.
fn full_after(first: String) -> Script {
    Script::each(move |request, _| {
        let fill = if request.contains("Fill the window.") { 190_000 } else { 3000 };
        match (request.continued_handoff(), request.assistant_messages()) {
            (None, 0) => ScriptedReply::bash(first.clone()).filling(fill),
            (Some(id), 0) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
            (_, n) => ScriptedReply::text(format!("Answer {n}.")).filling(fill),
        }
    })
}

fn plant(path: &Path, content: &Value) -> String {
    format!(
        "mkdir -p '{}' && cat > '{}' <<'END'\n{content}\nEND",
        path.parent().unwrap().display(),
        path.display()
    )
}

/// Starts a session in which the first turn has run.
fn begun(world: &World) -> Term {
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Do the first thing.");
    term.wait_text("Answer 1.");
    world.wait_state("idle");
    term
}

fn handed_over(world: &World, n: usize) {
    world.wait_decision("handoff.consumed", n);
    world.wait_state("idle");
}

fn kinds(world: &World, kind: &str) -> usize {
    world.decisions().iter().filter(|d| d["kind"] == kind).count()
}

fn what_lies_in_the_sessions_directory_is_written_afresh_for_every_run(kind: Kind) {
    for n in 0..4 {
        let Some(world) = World::new(kind, full_after("echo one".to_owned())) else { return };
        let mark = world.root.path().join("mark");
        let elsewhere = world.root.path().join("elsewhere");
        std::fs::create_dir_all(elsewhere.join("hooks")).unwrap();
        std::fs::create_dir_all(elsewhere.join("plugin/hooks")).unwrap();
        let planted = hook("SessionStart", &mark).to_string();
        for dir in ["hooks", "plugin/hooks"] {
            std::fs::write(elsewhere.join(dir).join("hooks.json"), &planted).unwrap();
        }
        let term = begun(&world);
        let dir = world.session_dir();
        match n {
            0 => {
                std::fs::write(dir.join("plugin/hooks/hooks.json"), &planted).unwrap();
                std::fs::write(
                    dir.join("plugin/.mcp.json"),
                    json!({"x": {"command": "touch", "args": [&mark]}}).to_string(),
                )
                .unwrap();
                let line = json!({"statusLine": {"type": "command", "command": format!("touch '{}'",
                    mark.display())}});
                std::fs::write(dir.join("settings.json"), line.to_string()).unwrap();
                std::fs::write(dir.join("statusline.json"), line["statusLine"].to_string()).unwrap();
            }
            1 => {
                std::fs::remove_dir_all(dir.join("plugin")).unwrap();
                std::os::unix::fs::symlink(&elsewhere, dir.join("plugin")).unwrap();
                std::fs::remove_file(dir.join("settings.json")).unwrap();
                std::fs::write(elsewhere.join("settings.json"), &planted).unwrap();
                std::os::unix::fs::symlink(elsewhere.join("settings.json"), dir.join("settings.json"))
                    .unwrap();
            }
            2 => {
                std::fs::rename(&dir, dir.with_extension("away")).unwrap();
                std::os::unix::fs::symlink(&elsewhere, &dir).unwrap();
            }
            _ => std::fs::remove_dir_all(dir.join("plugin")).unwrap(),
        }
        term.submit("Fill the window.");
        term.wait_for("the next conversation", |screen| {
            screen.lines().iter().any(|line| line.starts_with("● Continuing from handoff"))
        });
        assert!(!mark.exists(), "case {n}: what was planted has run");
        let ours = std::fs::read_to_string(world.session_dir().join("plugin/hooks/hooks.json")).unwrap();
        assert!(ours.contains(" hook PostToolBatch"), "case {n}: {ours}");
        assert_eq!(
            std::fs::read_to_string(elsewhere.join("hooks/hooks.json")).unwrap(),
            planted,
            "case {n}: a link was followed"
        );
        assert_eq!(
            std::fs::read_to_string(elsewhere.join("plugin/hooks/hooks.json")).unwrap(),
            planted,
            "case {n}: the same"
        );
        assert!(
            !world.session_dir().is_symlink() && !world.session_dir().join("settings.json").is_symlink(),
            "case {n}"
        );
        term.submit("/exit");
        drop(term);
        wait_for("the end", || world.processes().is_empty().then_some(()));
    }
}

/// The person's own SessionEnd hook is what runs behind the comparison, when Claude is asked to end.
fn changes_at_its_end(kind: Kind) -> Option<(World, PathBuf)> {
    let world = World::new(kind, full_after("echo one".to_owned()))?;
    let mark = world.root.path().join("mark");
    let settings = world.project.join(".claude/settings.local.json");
    let script = world.root.path().join("end.txt");
    std::fs::write(&script, plant(&settings, &hook("SessionStart", &mark))).unwrap();
    let path = world.claude_dir().join("settings.json");
    let mut own: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    own["hooks"] = json!({"SessionEnd": [{"hooks": [{"type": "command", "command": format!("sh < '{}'",
        script.display())}]}]});
    std::fs::write(path, own.to_string()).unwrap();
    Some((world, mark))
}

fn a_change_made_while_claude_ends_holds_the_next_run_until_a_person_agrees(kind: Kind) {
    let Some((world, mark)) = changes_at_its_end(kind) else { return };
    let term = begun(&world);
    term.submit("Fill the window.");
    let held = world.wait_decision("run.held", 1);
    let sentence = held["sentence"].as_str().unwrap();
    assert!(
        sentence.contains(".claude/settings.local.json: hooks added") && sentence.contains("`hopty restart`"),
        "{sentence}"
    );
    term.wait_text(
        "hopty: Claude is not started, because settings that run code have changed: \
                    .claude/settings.local.json: hooks added",
    );
    term.wait_text("hint: `hopty restart proj`");
    let status = world.status();
    assert_eq!(
        (&status["phase"], &status["state"], &status["waiting_for"]),
        (&json!("held"), &json!("blocked"), &json!("settings"))
    );
    assert!(status["pid"].is_null() && !mark.exists(), "{status}");
    assert_eq!(kinds(&world, "run.spawned"), 1);
    // A person agrees, and the hand-over goes on where it stood.
    world.ask(&["restart", "proj", "--wait"]);
    handed_over(&world, 1);
    assert_eq!(kinds(&world, "run.spawned"), 2);
    assert!(mark.exists(), "it is the person's wish now");
    world.leave(term);
}

fn ctrl_c_ends_a_session_whose_next_run_is_held_and_the_handoff_waits(kind: Kind) {
    let Some((world, mark)) = changes_at_its_end(kind) else { return };
    let mut term = begun(&world);
    term.submit("Fill the window.");
    world.wait_decision("run.held", 1);
    term.wait_text("Ctrl+C ends the session");
    term.send("\x03");
    term.wait_exit();
    term.wait_text("`hopty --handoff`");
    assert!(!mark.exists());
    world.assert_replays();
    world.assert_nothing_left();
}

fn a_hand_over_is_held_once_for_a_change_and_goes_on_after_a_persons_restart(kind: Kind) {
    let root = tempfile::tempdir().unwrap();
    let mark = root.path().join("mark");
    let script = full_after(
        "mkdir -p .claude; echo '{\"env\":{\"PLANTED\":\"1\"}}' > .claude/settings.json".to_owned(),
    );
    let Some(world) = World::new(kind, script) else { return };
    let term = begun(&world);
    term.submit("Fill the window.");
    let cancelled = world.wait_decision("restart.cancelled", 1);
    assert!(
        cancelled["sentence"].as_str().unwrap().contains(".claude/settings.json: env added"),
        "{cancelled}"
    );
    world.wait_state("idle");
    world.ask(&["restart", "proj", "--wait"]);
    handed_over(&world, 1);
    // From now on what is there is accepted, and nobody has to be asked for the next hand-over.
    term.submit("Fill the window.");
    handed_over(&world, 2);
    // Another change is another matter.
    std::fs::write(world.project.join(".claude/settings.json"), hook("SessionStart", &mark).to_string())
        .unwrap();
    term.submit("Fill the window.");
    world.wait_decision("restart.cancelled", 2);
    assert!(!mark.exists());
    world.leave(term);
}

fn a_crash_starts_nothing_that_was_changed(kind: Kind) {
    let Some(world) = World::new(kind, full_after("echo one".to_owned())) else { return };
    let mark = world.root.path().join("mark");
    let term = begun(&world);
    std::fs::create_dir_all(world.project.join(".claude")).unwrap();
    std::fs::write(world.project.join(".claude/settings.json"), hook("SessionStart", &mark).to_string())
        .unwrap();
    let pid = i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap();
    kill(pid, nix::libc::SIGKILL);
    world.wait_decision("run.held", 1);
    assert!(!mark.exists());
    world.ask(&["restart", "proj", "--wait"]);
    wait_for("the hook, which the person accepted", || mark.exists().then_some(()));
    term.wait_box();
    if kind == Kind::StandIn {
        let pid = world.status()["pid"].as_i64().unwrap();
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let line = String::from_utf8_lossy(&line);
        assert!(line.contains("--resume") && line.contains("--system-prompt-snapshot=off"), "{line}");
    }
    world.leave(term);
}

/// A signal may lead into another directory: what runs code there must have stood there when the session
/// began, as Claude trusts it.
#[test]
fn a_move_is_held_for_what_was_changed_where_it_leads() {
    for planted in [false, true] {
        let Some(world) = World::new(Kind::StandIn, full_after("echo one".to_owned())) else { return };
        let (mark, other) =
            (world.root.path().join("mark"), world.root.path().canonicalize().unwrap().join("other"));
        std::fs::create_dir_all(other.join(".claude")).unwrap();
        let state = world.home.join(".claude.json");
        let mut known: Value = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
        known["projects"][other.to_str().unwrap()] =
            json!({"hasTrustDialogAccepted": true, "allowedTools": []});
        std::fs::write(&state, known.to_string()).unwrap();
        let settings = other.join(".claude/settings.json");
        std::fs::write(&settings, json!({"env": {"OWN": "1"}}).to_string()).unwrap();
        let term = begun(&world);
        if planted {
            std::fs::write(&settings, hook("SessionStart", &mark).to_string()).unwrap();
        }
        let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
        std::fs::write(
            world.claude_dir().join(".restart-session"),
            format!("{conversation}:{}\n", other.display()),
        )
        .unwrap();
        if planted {
            let cancelled = world.wait_decision("restart.cancelled", 1);
            assert!(
                cancelled["sentence"].as_str().unwrap().contains(".claude/settings.json: hooks added"),
                "{cancelled}"
            );
            assert!(!mark.exists());
            // The person's restart goes where the hand-over would have gone.
            world.ask(&["restart", "proj", "--wait"]);
        }
        handed_over(&world, 1);
        assert_eq!(world.status()["dir"], json!(other.to_str().unwrap()));
        assert_eq!(mark.exists(), planted);
        // From then on it is this directory that counts.
        std::fs::write(
            other.join(".mcp.json"),
            json!({"mcpServers": {"x": {"command": "true"}}}).to_string(),
        )
        .unwrap();
        term.submit("Fill the window.");
        let held = world.wait_decision("restart.cancelled", 1 + usize::from(planted));
        assert!(held["sentence"].as_str().unwrap().contains(".mcp.json: mcpServers added"), "{held}");
        world.leave(term);
    }
}

/// What a tool can write besides the settings themselves, and that Claude would run.
#[test]
fn scripts_plugins_and_servers_hold_a_hand_over_as_well() {
    let cases: &[(&str, &str)] = &[
        ("check.sh", "touch MARK"),
        (".mcp.json", r#"{"mcpServers":{"x":{"command":"touch","args":["MARK"]}}}"#),
        ("../.mcp.json", r#"{"mcpServers":{"x":{"command":"touch","args":["MARK"]}}}"#),
        (".claude/settings.local.json", r#"{"apiKeyHelper":"touch MARK"}"#),
        (".claude/settings.json", "{\"x\":\"\u{1}\"}\u{0}"),
        (
            "../given/hooks/hooks.json",
            r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch MARK"}]}]}}"#,
        ),
        (".claude/agents/lead.md", "---\nname: lead\nhooks:\n  SessionStart: []\n---\n"),
    ];
    for (path, content) in cases {
        let Some(world) = World::new(Kind::StandIn, full_after("echo one".to_owned())) else { return };
        let own =
            json!({"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "./check.sh"}]}]}});
        std::fs::create_dir_all(world.project.join(".claude/agents")).unwrap();
        std::fs::write(world.project.join(".claude/settings.json"), own.to_string()).unwrap();
        std::fs::write(world.project.join("check.sh"), "true").unwrap();
        let given = world.root.path().canonicalize().unwrap().join("given");
        std::fs::create_dir_all(given.join("hooks")).unwrap();
        let term = world.start(&["--plugin-dir", given.to_str().unwrap()]);
        term.wait_box();
        term.submit("Do the first thing.");
        term.wait_text("Answer 1.");
        world.wait_state("idle");
        std::fs::write(world.project.join(path), content).unwrap();
        term.submit("Fill the window.");
        let held = world.wait_decision("restart.cancelled", 1);
        assert!(held["sentence"].as_str().unwrap().contains("settings that run code"), "{path}: {held}");
        world.leave(term);
    }
}

/// A session in which `before` is there when it begins; `after` is changed during it, and a full window must
/// not hand over to that.
fn holds_for(what: &str, more: &[&str], before: impl FnOnce(&World), after: impl FnOnce(&World)) {
    let Some(world) = World::new(Kind::StandIn, full_after("echo one".to_owned())) else { return };
    before(&world);
    let term = world.start(more);
    term.wait_box();
    term.submit("Do the first thing.");
    term.wait_text("Answer 1.");
    world.wait_state("idle");
    after(&world);
    term.submit("Fill the window.");
    let settled = wait_for("a decision", || {
        let told = |kind: &str| world.decisions().into_iter().find(|decision| decision["kind"] == kind);
        told("restart.cancelled").or_else(|| told("handoff.consumed"))
    });
    assert_eq!(settled["kind"], "restart.cancelled", "{what}: not noticed");
    assert!(settled["sentence"].as_str().unwrap().contains("settings that run code"), "{what}: {settled}");
    world.leave(term);
}

fn write(path: PathBuf, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// However an agent with hooks of its own is written, named and surrounded.
#[test]
fn an_agent_with_hooks_holds_a_hand_over_however_it_is_hidden() {
    let plain = "---\nname: lead\nhooks:\n  SessionStart: []\n---\n";
    let large = format!("{plain}{}", "x".repeat(2 << 20));
    for (what, file, text) in [
        ("beside many others", "m.md", plain),
        ("too large", "lead.md", &large),
        ("in a directory", "sub/deeper/lead.md", plain),
        ("escaped", "lead.md", "---\nname: lead\n\"\\u0068ooks\":\n  SessionStart: []\n---\n"),
        ("in flow style", "lead.md", "---\n{name: lead, hooks: {SessionStart: []}}\n---\n"),
        (
            "behind dashes",
            "lead.md",
            "---\nname: lead\ndescription: a --- b\nhooks:\n  SessionStart: []\n---\n",
        ),
        ("servers", "lead.md", "---\nname: lead\nmcpServers:\n  x: {command: x}\n---\n"),
    ] {
        let crowd = |world: &World| {
            let count = if what == "beside many others" { 2000 } else { 1 };
            for n in 0..count {
                write(
                    world.project.join(format!(".claude/agents/{n:04}.md")),
                    "---\nname: plain\n---\nBe kind.\n",
                );
            }
        };
        holds_for(what, &[], crowd, |world| write(world.project.join(".claude/agents").join(file), text));
    }
}

/// However a command names the script that it runs.
#[test]
fn a_rewritten_script_of_a_hook_holds_a_hand_over_however_it_is_named() {
    for (command, script) in [
        ("sh \"$(git rev-parse --show-toplevel)/.claude/hooks/x.sh\"", ".claude/hooks/x.sh"),
        ("sh $(git rev-parse --show-toplevel)/tools/x.sh", "tools/x.sh"),
        ("sh ${CLAUDE_PROJECT_DIR:-.}/tools/x.sh", "tools/x.sh"),
        ("cd tools && sh ./x.sh", "tools/x.sh"),
        ("for f in tools/*.sh; do sh $f; done", "tools/x.sh"),
        ("sh .claude/hooks/plain", ".claude/hooks/plain"),
    ] {
        let before = |world: &World| {
            let own =
                json!({"hooks": {"Notification": [{"hooks": [{"type": "command", "command": command}]}]}});
            write(world.project.join(".claude/settings.json"), &own.to_string());
            write(world.project.join(script), "true");
        };
        holds_for(command, &[], before, |world| write(world.project.join(script), "touch MARK"));
    }
    holds_for(
        "your own hooks",
        &[],
        |_| {},
        |world| write(world.claude_dir().join("hooks/x.sh"), "touch MARK"),
    );
}

/// What Claude's own state says about the repository that the session's directory lies in.
#[test]
fn servers_and_approvals_in_claudes_own_state_hold_a_hand_over() {
    let edit = |world: &World, key: &str, value: Value| {
        let path = world.home.join(".claude.json");
        let mut state: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut dir = world.project.clone();
        if key.starts_with("above ") {
            dir.pop();
        }
        state["projects"][dir.to_str().unwrap()][key.trim_start_matches("above ")] = value;
        std::fs::write(path, state.to_string()).unwrap();
    };
    let repository = |world: &World| write(world.root.path().join(".git/HEAD"), "ref: refs/heads/main\n");
    holds_for("servers of the repository", &[], repository, |world| {
        edit(world, "above mcpServers", json!({"x": {"command": "touch", "args": ["MARK"]}}));
    });
    let refused = |world: &World| {
        edit(world, "enableAllProjectMcpServers", json!(true));
        edit(world, "disabledMcpjsonServers", json!(["x"]));
    };
    holds_for("a refusal taken back", &[], refused, |world| edit(world, "disabledMcpjsonServers", json!([])));
}

/// A restart that is refused accepts nothing.
#[test]
fn a_refused_restart_accepts_nothing_that_was_planted() {
    let Some(mut world) = World::new(Kind::StandIn, full_after("echo one".to_owned())) else { return };
    world.set("HOPTY_RESTART_MAX_RESTARTS", "1");
    world.set("HOPTY_RESTART_WINDOW", "20s");
    let term = begun(&world);
    world.ask(&["restart", "proj", "--wait"]);
    handed_over(&world, 1);
    let settings = world.project.join(".claude/settings.json");
    write(settings, &json!({"env": {"PLANTED": "1"}}).to_string());
    let refused = world.hopty(&["restart", "proj"]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    // The limit is over some time later, and a level asks.
    wait_for("another try", || {
        if world.decisions().iter().any(|decision| decision["kind"] == "restart.cancelled") {
            return Some(());
        }
        world.wait_state("idle");
        assert_eq!(kinds(&world, "run.spawned"), 2, "the planted settings were started");
        term.wait_box();
        term.submit("Fill the window.");
        world.wait_state("idle");
        None
    });
    let held = world.wait_decision("restart.cancelled", 1);
    assert!(held["sentence"].as_str().unwrap().contains(".claude/settings.json: env added"), "{held}");
    world.leave(term);
}
