//! What a start says and does when a handoff waits, and the small files that a session writes for scripts.

use std::process::Command;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::*;
use super::support::claude::{Kind, hopty};
use super::support::world::World;
use super::support::{kill, wait_for};

/// A handoff of the session's conversation, once Claude has written that down.
fn create_in_session(world: &World) -> String {
    wait_for("the transcript", || {
        std::path::Path::new(world.status()["transcript"].as_str()?).exists().then_some(())
    });
    world.ask(&["handoff", "create"]).trim().to_owned()
}

#[test]
fn item_052_a_start_tells_of_a_handoff_that_waits() {
    let world = world();
    let output = world.hopty(&["--detached"]);
    assert!(!text(&output.stderr).contains("handoff"), "{output:?}");
    world.ask(&["stop", "--kill", "proj"]);
    let id = create(&world);
    let output = world.hopty(&["--detached"]);
    let said = text(&output.stderr);
    assert!(said.starts_with(&format!("hopty: a handoff waits: {id} (")), "{said}");
    assert!(said.ends_with(" s old, Build the bridge.); load it with `hopty --handoff`\n"), "{said}");
    world.ask(&["stop", "--kill", "proj"]);
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id, "it waits on: it was not asked for");
    // Of several the newest is named, and how many more there are. Those of other sessions wait beside it.
    let mut all = manifest(&world);
    for (n, line) in [
        "hopty: 1 more handoff waits here; `hopty handoff list` shows both",
        "hopty: 2 more handoffs wait here; `hopty handoff list` shows all",
    ]
    .into_iter()
    .enumerate()
    {
        let mut other = all["current"].clone();
        other["id"] = json!(format!("{}{:08x}", &id[..id.len() - 8], n + 1));
        other["hopty_session"] = json!(format!("other-{n}"));
        all["also_active"].as_array_mut().unwrap().push(other);
        std::fs::write(manifest_path(&world), all.to_string()).unwrap();
        let said = text(&world.hopty(&["--detached"]).stderr);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() == 2 && lines[0].contains(&id) && lines[1] == line, "{said}");
        world.ask(&["stop", "--kill", "proj"]);
    }
    all["also_active"] = json!([]);
    std::fs::write(manifest_path(&world), all.to_string()).unwrap();
    world.ask(&["handoff", "clear"]);
    assert_eq!(text(&world.hopty(&["--detached"]).stderr), "");
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn the_notice_stands_above_claude_and_is_safe() {
    let world = world();
    talk(
        &world,
        ID,
        "Build\u{1b}[2J the ghp_16C7e42F292c6912E7710c838347Ae178B4a bridge, and then the tunnel, and then \
         the tower and the gate.",
    );
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    let term = world.start(&[]);
    term.wait_text(&format!("hopty: a handoff waits: {id}"));
    term.wait_box();
    world.leave(term);
    let said = text(&world.hopty(&["--detached"]).stderr);
    assert!(said.contains("[redacted: ") && said.contains("...") && !said.contains('\u{1b}'), "{said}");
    world.ask(&["stop", "--kill", "proj"]);
    // A store that cannot be read keeps nobody from Claude.
    let whole = std::fs::read(manifest_path(&world)).unwrap();
    std::fs::write(manifest_path(&world), "{").unwrap();
    let start = || {
        let output = world.hopty(&["--detached"]);
        assert!(output.status.success(), "{output:?}");
        world.ask(&["stop", "--kill", "proj"]);
        text(&output.stderr)
    };
    // It is said before the work begins, and nothing is changed.
    let said = start();
    assert!(said.starts_with("hopty: cannot save handoffs: ") && said.contains("cannot be read"), "{said}");
    assert_eq!(std::fs::read_to_string(manifest_path(&world)).unwrap(), "{");
    std::fs::write(manifest_path(&world), whole).unwrap();
    let store = world.claude_dir().join("handoff");
    let mode =
        |mode| std::fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o777);
    assert!(start().contains("can be written by others"));
    mode(0o700);
    // A registry that is none would put the work of every project under one name, and nobody knew.
    let registry = world.claude_dir().join("channel-registry.json");
    for bad in ["{", "[]", r#"{"registry": 7}"#] {
        std::fs::write(&registry, bad).unwrap();
        let said = start();
        assert!(
            said.contains("channel-registry.json")
                && said.contains("until you fix the file, handoffs go to channel global"),
            "{said}"
        );
        assert_eq!(std::fs::read_to_string(&registry).unwrap(), bad, "it is left");
    }
    std::fs::remove_file(&registry).unwrap();
    assert!(start().starts_with("hopty: a handoff waits: "), "all is well again");
}

#[test]
fn item_072_handoff_loads_the_one_that_is_named_and_a_start_alone_loads_none() {
    let script = Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    });
    let world = World::with(Kind::StandIn, None, script);
    let id = create(&world);
    talk(&world, OTHER, "Dig the tunnel.");
    world.ask(&["handoff", "create", "--channel", "other"]);
    // As much of the id as only one has.
    let term = world.start(&[&format!("--handoff={}", &id["HO-".len()..])]);
    world.wait_decision("handoff.consumed", 1);
    let entry = wait_for("the manifest to say so", || {
        let entry = json_of(&world, &["handoff", "show", &id, "--json"]);
        (entry["status"] == "consumed").then_some(entry)
    });
    // The audit trail: who, when, which conversation.
    assert_eq!(entry["consumed_by_session"], world.status()["conversation"]);
    assert_eq!(entry["consumed_by_pid"], world.status()["host_pid"]);
    assert!(entry["consumed_at"].is_string());
    world.leave(term);
    fails(&world, &["handoff", "load", &id], 1);
    assert_eq!(
        world.ask(&["handoff", "id", "--channel", "other"]).len(),
        id.len() + 1,
        "the other one waits on"
    );
    // Without a session it is known all the same where that conversation came from: the goal goes on.
    let conversation = entry["consumed_by_session"].as_str().unwrap();
    let next = world.ask(&["handoff", "create"]);
    assert!(next.trim().ends_with(&conversation[..8]), "{next}");
    let document = world.ask(&["handoff", "show", next.trim()]);
    assert!(
        document.contains("Build the bridge.") && document.contains(&format!("- Predecessor: {id}")),
        "{document}"
    );
}

#[test]
fn the_status_file_follows_the_session() {
    let script = Script::each(|request, _| {
        ScriptedReply::text("Done.").filling(if request.contains("more") { 150_000 } else { 3000 })
    });
    let mut world = World::with(Kind::StandIn, None, script);
    world.set("HOPTY_RESTART_MODE", "manual");
    let file = world.claude_dir().join(".context-status");
    let shown = || std::fs::read_to_string(&file).unwrap_or_default();
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Done.");
    world.wait_state("idle");
    let kb = |word: &str| shown().trim().strip_prefix(word)?.strip_suffix("KB")?.parse::<u64>().ok();
    wait_for("a status", || kb("OK:"));
    term.submit("And more.");
    wait_for("the word of its level", || kb("WARN:"));
    world.wait_state("idle");
    world.leave(term);
}

#[test]
fn item_021_the_status_file_has_the_word_and_the_size_of_the_transcript() {
    let script = Script::each(|_, n| {
        ScriptedReply::text(format!("Answer {n}. {}", "word ".repeat(150))).filling(3000)
    });
    let mut world = World::with(Kind::StandIn, None, script);
    world.set("HOPTY_RESTART_MODE", "manual");
    world.set("HOPTY_CONTEXT_PROFILE", "test");
    let file = world.claude_dir().join(".context-status");
    let term = world.start(&[]);
    term.wait_box();
    let first =
        wait_for("the first status", || std::fs::read_to_string(&file).ok().filter(|said| !said.is_empty()));
    let mut words = vec![first.split(':').next().unwrap().to_owned()];
    for n in 0.. {
        term.submit(&format!("Prompt {n}."));
        term.wait_text(&format!("Answer {n}."));
        world.wait_state("idle");
        let said = wait_for("the status of this size", || {
            let bytes = std::fs::metadata(world.status()["transcript"].as_str()?).ok()?.len();
            let word = match bytes / 1024 {
                0..=4 => "OK",
                5..=9 => "EARLY_WARN",
                10..=14 => "WARN",
                _ => "CRITICAL",
            };
            let wanted = format!("{word}:{}KB", bytes / 1024);
            std::fs::read_to_string(&file).ok().filter(|said| said.trim_end() == wanted)
        });
        let word = said.split(':').next().unwrap().to_owned();
        if words.last() != Some(&word) {
            words.push(word);
        }
        if words.last().is_some_and(|word| word == "CRITICAL") {
            break;
        }
    }
    assert_eq!(words, ["OK", "EARLY_WARN", "WARN", "CRITICAL"]);
    world.leave(term);
}

#[test]
fn item_020_a_session_writes_its_conversation_for_scripts() {
    let world = world();
    let term = greeted(&world);
    let status = world.status();
    let expected =
        format!("{}:{}\n", status["conversation"].as_str().unwrap(), status["transcript"].as_str().unwrap());
    let file = world.claude_dir().join(".current-session");
    wait_for("the file", || (std::fs::read_to_string(&file).ok()? == expected).then_some(()));
    assert_eq!(world.ask(&["handoff", "session"]), expected);
    // From inside, as Claude's own Bash tool would: the session is known, and so is its channel.
    let id = create_in_session(&world);
    let entry = json_of(&world, &["handoff", "show", &id, "--json"]);
    assert_eq!((&entry["hopty_session"], &entry["session_id"]), (&json!("proj"), &status["conversation"]));
    world.leave(term);
}

#[test]
fn signal_files_are_left_alone_when_switched_off() {
    let mut world = world();
    world.set("HOPTY_COMPAT_SIGNAL_FILES", "false");
    let term = greeted(&world);
    world.leave(term);
    assert!(
        !world.claude_dir().join(".context-status").exists()
            && !world.claude_dir().join(".current-session").exists()
    );
}

#[test]
fn item_071_memory_keeper_is_named_only_where_it_is_configured() {
    let world = world();
    let id = create(&world);
    assert!(!world.ask(&["handoff", "show", &id]).contains("context_get"));
    std::fs::write(
        world.project.join(".mcp.json"),
        json!({"mcpServers": {"memory-keeper": {"command": "npx"}}}).to_string(),
    )
    .unwrap();
    let id = create(&world);
    let line = "1. Call context_get({channel: 'global', priorities: ['high']}).";
    assert!(world.ask(&["handoff", "show", &id]).contains(line));
}

#[test]
fn a_hosts_death_leaves_what_it_saved() {
    let world = world();
    let term = greeted(&world);
    let id = create_in_session(&world);
    kill(i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGKILL);
    drop(term);
    wait_for("the session's end", || (world.hopty(&["ls"]).stdout.is_empty()).then_some(()));
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id);
}

#[test]
fn item_042_a_clean_exit_names_the_handoff_that_waits() {
    let world = world();
    let mut term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    let id = create_in_session(&world);
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
    term.drained();
    let shown = term.lines().join("\n");
    let flat: String = shown.split_whitespace().collect();
    assert!(
        flat.contains(&format!(
            "ahandoffwaitsat{}",
            world.claude_dir().join("handoff/records").join(&id).display()
        )),
        "{shown}"
    );
    assert!(flat.ends_with(";loaditwith`hopty--handoff`"), "{shown}");
}

#[test]
fn item_051_a_start_loads_only_what_waits_is_young_and_is_nobody_else_s() {
    let world = world();
    let start = |args: &[&str]| {
        let mut all = vec!["--detached"];
        all.extend_from_slice(args);
        let output = world.hopty(&all);
        (output.status.code(), text(&output.stderr))
    };
    let refused = |args: &[&str], why: &str| {
        let (code, said) = start(args);
        assert!(
            code == Some(1) && said.contains(why) && said.contains("hint: "),
            "{args:?}: {code:?} {said}"
        );
        assert!(world.hopty(&["ls"]).stdout.is_empty(), "nothing was started");
    };
    // What is known of an ended session of that name stays known.
    world.ask(&["run", "--detached", "--", "sh", "-c", "exit 7"]);
    world.ask(&["wait", "proj", "exit"]);
    let log = world.ask(&["log", "proj"]);
    assert!(log.contains("code 7"), "{log}");
    refused(&["--handoff"], "no handoff waits in channel global");
    assert_eq!(world.ask(&["log", "proj"]), log);
    let id = create(&world);
    let mut loader = Holder::new();
    world.ask(&["handoff", "load", &id, "--pid", &loader.pid().to_string()]);
    refused(&["--handoff"], "no handoff waits");
    refused(&[&format!("--handoff={id}")], "is being loaded by pid");
    loader.end();
    let path = manifest_path(&world);
    let whole = std::fs::read_to_string(&path).unwrap();
    let expires = manifest(&world)["current"]["expires_at"].as_str().unwrap().to_owned();
    std::fs::write(&path, whole.replace(&expires, "2026-01-01T00:00:00Z")).unwrap();
    refused(&["--handoff"], "no handoff waits");
    refused(&[&format!("--handoff={id}")], "is expired");
    std::fs::write(&path, whole).unwrap();
    // What brings an old conversation back is not mixed with it, and the handoff waits on.
    for old in
        [&["--resume", OTHER][..], &["-r"], &["-c"], &["--continue"], &["--resume", OTHER, "--fork-session"]]
    {
        for loads in ["--handoff", &format!("--handoff={id}")] {
            let (code, said) = start(&[&[loads], old].concat());
            assert_eq!(code, Some(2), "{old:?}: {said}");
            assert!(
                said.contains("--handoff starts a new conversation") && said.contains("hint: remove options"),
                "{said}"
            );
            assert!(world.hopty(&["ls"]).stdout.is_empty(), "nothing was started");
        }
    }
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id);
    let (code, said) = start(&["--handoff", "--session-id", OTHER]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(world.status()["conversation"], OTHER);
    assert!(!said.contains("a handoff waits"), "{said}");
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

/// A talk of one prompt, and what writes a signal: never seen half, as a script that is well made renames.
fn talk_with_signal(world: &World) -> (super::support::term::Term, String, impl Fn(&str)) {
    let term = greeted(world);
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    let signal = world.claude_dir().join(".restart-session");
    let dir = world.project.display().to_string();
    let write = move |id: &str| {
        let new = signal.with_extension("new");
        std::fs::write(&new, format!("{id}:{dir}\n")).unwrap();
        std::fs::rename(&new, &signal).unwrap();
    };
    (term, conversation, write)
}

#[test]
fn item_010_a_signal_hands_over_the_conversation_and_directory_that_it_names() {
    let world = world();
    let (term, conversation, _) = talk_with_signal(&world);
    // A directory in which Claude works already.
    let other = world.root.path().canonicalize().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    hopty::standin::home::seed(&world.home, &other, "").unwrap();
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}\n", other.display())).unwrap();
    let saved = world.wait_decision("handoff.saved", 1);
    world.wait_decision("run.spawned", 2);
    assert!(!signal.exists(), "it is obeyed once");
    let entry = json_of(&world, &["handoff", "show", saved["handoff"].as_str().unwrap(), "--json"]);
    assert_eq!((&entry["session_id"], &entry["type"]), (&json!(conversation), &json!("signal")));
    assert_eq!(entry["working_dir"], json!(world.project), "the work was done in the old directory");
    world.wait_state("idle");
    let status = world.status();
    assert_eq!(status["dir"], json!(other), "and goes on in the one that was named");
    assert_eq!(std::fs::read_link(format!("/proc/{}/cwd", status["pid"])).unwrap(), other);
    assert_ne!(status["conversation"], json!(conversation));
    drop(term);
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn item_028_a_signal_for_another_conversation_is_left_alone_and_logged() {
    let world = world();
    let (term, conversation, signal) = talk_with_signal(&world);
    let before = world.status();
    signal(OTHER);
    let ignored = world.wait_decision("restart.ignored", 1);
    assert!(ignored["sentence"].as_str().unwrap().contains(OTHER), "{ignored}");
    assert!(world.ask(&["log", "proj"]).contains(OTHER), "and people can read it");
    let after = world.status();
    assert_eq!(
        (&after["pid"], &after["run"], &after["conversation"]),
        (&before["pid"], &json!(1), &json!(conversation))
    );
    assert!(world.claude_dir().join(".restart-session").exists(), "it is somebody else's");
    world.leave(term);
}

#[test]
fn item_030_restarts_have_a_limit_which_is_ten_and_claude_goes_on() {
    assert_eq!(hopty::core::config::Config::default().restart.max_restarts, 10);
    let mut world = world();
    world.set("HOPTY_RESTART_MAX_RESTARTS", "1");
    let (mut term, _, signal) = talk_with_signal(&world);
    world.ask(&["restart", "proj", "--wait"]);
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    signal(world.status()["conversation"].as_str().unwrap());
    let ignored = world.wait_decision("restart.ignored", 1);
    let sentence = ignored["sentence"].as_str().unwrap();
    assert!(sentence.contains("within the window is reached"), "{sentence}");
    let status = json_of(&world, &["status", "proj", "--json"]);
    assert_eq!(
        (&status["run"], &status["state"]),
        (&json!(2), &json!("idle")),
        "exactly one restart, and Claude goes on"
    );
    term.submit("Say hello to me.");
    world.wait_state("idle");
    world.ask(&["stop", "proj"]);
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn item_067_several_sessions_on_one_channel_each_keep_their_own_handoff() {
    let world = world();
    let terms: Vec<_> = (0..2)
        .map(|n| {
            let term = world.start(&[]);
            term.wait_box();
            term.submit("Say hello to me.");
            term.wait_text("Hello.");
            let name = if n == 0 { "proj" } else { "proj-2" };
            wait_for("idle, and written down", || {
                let status = json_of(&world, &["status", name, "--json"]);
                (status["state"] == "idle" && std::path::Path::new(status["transcript"].as_str()?).exists())
                    .then_some(())
            });
            term
        })
        .collect();
    let in_session = |name: &str, args: &[&str]| {
        let mut command = std::process::Command::new(super::support::claude::hopty());
        command
            .args(args)
            .env_clear()
            .envs(world.env.iter().cloned())
            .env("HOPTY_SESSION", name)
            .current_dir(&world.project);
        text(&command.output().unwrap().stdout).trim().to_owned()
    };
    let first = in_session("proj", &["handoff", "create"]);
    let second = in_session("proj-2", &["handoff", "create"]);
    let found = manifest(&world);
    assert_eq!((&found["current"]["id"], &found["also_active"][0]["id"]), (&json!(second), &json!(first)));
    assert_eq!(found["also_active"][0]["status"], "active");
    assert_eq!(
        (in_session("proj", &["handoff", "id"]), in_session("proj-2", &["handoff", "id"])),
        (first.clone(), second.clone())
    );
    // A newer one of the same session takes the place of its own, not of the other's.
    let third = in_session("proj-2", &["handoff", "create"]);
    assert_eq!(
        (in_session("proj", &["handoff", "id"]), in_session("proj-2", &["handoff", "id"])),
        (first, third)
    );
    drop(terms);
    for name in ["proj", "proj-2"] {
        world.ask(&["stop", "--kill", name]);
    }
    world.assert_nothing_left();
}

/// Who closed a window and starts again has not lost the work, and is told so.
#[test]
fn a_start_tells_of_a_session_that_no_terminal_shows() {
    let world = World::with(Kind::StandIn, None, Script::list([]));
    let mut first = world.start(&[]);
    first.wait_box();
    let told = |term: &super::support::term::Term| {
        term.lines().iter().any(|line| line.contains("without a terminal"))
    };
    let mut second = world.start(&[]);
    second.wait_box();
    assert!(!told(&second), "it is shown by one");
    world.ask(&["stop", "--kill", "proj-2"]);
    second.wait_exit();
    first.hang_up();
    first.wait_exit();
    wait_for("nobody to be attached", || {
        (json_of(&world, &["status", "proj", "--json"])["clients"] == json!([])).then_some(())
    });
    let mut second = world.start(&[]);
    second.wait_text("hopty: proj is already running here, detached: `hopty attach proj`");
    second.wait_box();
    for name in ["proj", "proj-2"] {
        world.ask(&["stop", "--kill", name]);
    }
    second.wait_exit();
    world.assert_nothing_left();
}

/// Directories without a channel of their own share one.
#[test]
fn a_start_loads_what_was_made_in_its_directory_before_anything_newer() {
    let world = world();
    let here = create(&world);
    let other = world.project.with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    let there = |args: &[&str]| {
        let command =
            Command::new(hopty()).args(args).env_clear().envs(world.env.clone()).current_dir(&other).output();
        text(&command.unwrap().stdout).trim().to_owned()
    };
    let lines =
        exchange(&world, OTHER, "Dig the tunnel.", "It is dug.", 50_000).into_iter().map(|mut line| {
            line["cwd"] = json!(other);
            line
        });
    let transcript = transcript(&world, OTHER, &lines.collect::<Vec<_>>());
    let newer = there(&["handoff", "create", "--transcript", transcript.to_str().unwrap()]);
    assert_eq!(
        (world.ask(&["handoff", "id"]).trim(), there(&["handoff", "id"])),
        (here.as_str(), newer.clone())
    );
    // What is over is shown where it was made, and is nobody's path.
    there(&["handoff", "clear", &newer]);
    world.ask(&["handoff", "clear", &here]);
    assert!(there(&["handoff", "show"]).contains(&newer) && world.ask(&["handoff", "show"]).contains(&here));
    let empty = world.project.with_file_name("empty");
    std::fs::create_dir(&empty).unwrap();
    for verb in ["show", "path"] {
        let nothing = Command::new(hopty())
            .args(["handoff", verb])
            .env_clear()
            .envs(world.env.clone())
            .current_dir(&empty)
            .output();
        assert_eq!(nothing.unwrap().status.code(), Some(1), "{verb}");
    }
    assert_eq!(world.hopty(&["handoff", "path"]).status.code(), Some(1));
    let here = create(&world);
    let said = text(&world.hopty(&["--detached", "--handoff"]).stderr);
    assert!(!said.contains("was made in"), "{said}");
    assert_eq!(world.wait_decision("handoff.consumed", 1)["handoff"], here.as_str());
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

/// Whoever comes when the host is gone reads them there.
#[test]
fn the_figures_of_a_turn_that_is_over_are_written_down() {
    let world = world();
    let term = greeted(&world);
    world.wait_state("idle");
    let tokens = world.status()["context"]["tokens"].clone();
    assert_eq!(tokens.as_u64().map(|tokens| tokens >= 3000), Some(true), "{tokens}");
    wait_for("the figure", || {
        let session: Value =
            serde_json::from_slice(&std::fs::read(world.session_dir().join("session.json")).ok()?).ok()?;
        (session["context"]["tokens"] == tokens && session["state"] == "idle").then_some(())
    });
    world.leave(term);
}
