//! A machine that restarts: what died with it is resumed once, and nothing else.

#![allow(clippy::unwrap_used)]

mod support;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use support::claude::{Kind, hopty};
use support::term::Term;
use support::world::World;
use support::{kill, wait_for};

fn world(kind: Kind) -> Option<World> {
    let script = Script::each(|_, n| ScriptedReply::text(format!("Answer {n}.")).filling(1000));
    let mut world = World::new(kind, script)?;
    // A mode of its own, so that it is seen whether the resumed one has another.
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    Some(world)
}

/// Starts a session of this name in the project and asks it something.
fn start(world: &World, name: &str) {
    let mut args = vec!["run", "--detached", "--name", name, "--", "claude"];
    args.extend(world.args.iter().map(String::as_str));
    world.ask(&args);
    world.ask(&["wait", name, "idle", "--timeout", "60s"]);
    world.ask(&["ask", name, &format!("Say {name}."), "--timeout", "60s"]);
}

fn session_file(world: &World, name: &str) -> std::path::PathBuf {
    world.state_dir().join("sessions").join(name).join("session.json")
}

/// Waits until the session's file names the transcript, and the conversation's prompt.
fn wait_noted_conversation(world: &World, name: &str) {
    let file = session_file(world, name);
    wait_for("the conversation in the session's file", || {
        let object: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        let is_there = std::path::Path::new(object["transcript"].as_str()?).is_file();
        (is_there && object.to_string().contains("Say one.")).then_some(())
    });
}

/// Kills every process of a session at once, as a power cut does.
fn cut(world: &World, name: &str) {
    let found = world.status_of(name);
    for pid in ["host_pid", "pid"] {
        kill(i32::try_from(found[pid].as_i64().unwrap()).unwrap(), nix::libc::SIGKILL);
    }
    wait_for("the end of the host", || (world.status_of(name)["state"] == "ended").then_some(()));
}

#[test]
fn a_session_whose_host_was_killed_is_offered_in_every_list() {
    let Some(world) = world(Kind::StandIn) else { return };
    start(&world, "lost");
    cut(&world, "lost");
    for args in [&["ls"][..], &["ls", "--all"], &["restore"]] {
        let said = String::from_utf8(world.hopty(args).stderr).unwrap();
        let hint = "hint: the host of lost was killed: `hopty restore lost` resumes it";
        assert_eq!(said.matches(hint).count(), 1, "{args:?}: {said}");
    }
    // Every verb names this way back: it keeps name, options and labels.
    let way = "`hopty restore lost` resumes it";
    assert!(world.ask(&["why", "lost"]).contains(way));
    for args in [&["attach", "lost"][..], &["send", "lost", "hello"], &["stop", "lost"]] {
        let said = String::from_utf8(world.hopty(args).stderr).unwrap();
        assert!(said.contains(way) && !said.contains("--resume"), "{args:?}: {said}");
    }
    let status = world.ask(&["status", "lost"]);
    assert!(status.contains("ended, last seen ") && status.contains("hopty restore lost\n"), "{status}");
    world.ask(&["restore", "lost"]);
    assert!(!String::from_utf8(world.hopty(&["ls"]).stderr).unwrap().contains("was killed"));
    world.ask(&["stop", "--all", "--yes"]);
}

/// A logout, or a container that stops: the machine runs on.
#[test]
fn a_session_whose_host_was_told_to_end_is_not_one_that_somebody_stopped() {
    let Some(world) = world(Kind::StandIn) else { return };
    start(&world, "told");
    let host = world.status_of("told")["host_pid"].as_i64().unwrap();
    kill(i32::try_from(host).unwrap(), nix::libc::SIGTERM);
    wait_for("the end", || (world.status_of("told")["state"] == "ended").then_some(()));
    let why = world.ask(&["why", "told"]);
    assert!(why.starts_with("The host was told to end (SIGTERM)"), "{why}");
    assert!(why.contains("`hopty restore told` resumes it"), "{why}");
    let kept = String::from_utf8(world.hopty(&["prune"]).stderr).unwrap();
    assert!(kept.contains("1 session was killed and stays"), "{kept}");
    let env = &world.env;
    let size = (100, 30);
    let term = Term::start(&hopty(), &["restore"], env, &world.project, size);
    term.wait_text("hopty: the host of told was killed. Resume it? [Y/n]");
    term.send("\r");
    term.wait_text("restored    told");
    wait_for("the session", || (world.status_of("told")["state"] == "idle").then_some(()));
    world.ask(&["stop", "told"]);
    assert_eq!(String::from_utf8(world.hopty(&["prune"]).stdout).unwrap(), "removed told\n");
    world.assert_nothing_left();
}

#[test]
fn a_restored_session_knows_the_conversation_before() {
    let Some(world) = world(Kind::StandIn) else { return };
    start(&world, "one");
    let first = world.status_of("one")["conversation"].clone();
    world.ask(&["restart", "one", "--wait"]);
    world.ask(&["wait", "one", "idle", "--timeout", "60s"]);
    let file = session_file(&world, "one");
    wait_for("the conversation before in the session's file", || {
        let object: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        let is_there = std::path::Path::new(object["transcript"].as_str()?).is_file();
        (is_there && object["before"] == first).then_some(())
    });
    cut(&world, "one");
    world.ask(&["restore", "one"]);
    world.ask(&["wait", "one", "idle", "--timeout", "60s"]);
    assert_eq!(world.status_of("one")["before"], first);
    world.ask(&["back", "one"]);
    assert_eq!(world.status_of("one")["conversation"], first);
    world.ask(&["stop", "one"]);
    world.assert_nothing_left();
}

#[test]
fn a_killed_session_stays_whose_conversation_is_archived_or_moved() {
    let Some(world) = world(Kind::StandIn) else { return };
    start(&world, "lost");
    start(&world, "other");
    let conversation = world.status_of("lost")["conversation"].as_str().unwrap().to_owned();
    cut(&world, "lost");
    cut(&world, "other");
    let listed = String::from_utf8(world.hopty(&["ls"]).stderr).unwrap();
    let hint = "hint: the hosts of other, lost were killed: `hopty restore other lost` resumes them\n";
    assert!(listed.ends_with(hint), "{listed}");
    let why = |name: &str| {
        let said = world.hopty(&["restore", name]);
        assert_eq!(said.status.code(), Some(1));
        assert_eq!(world.ask(&["prune", "--dry-run"]), "", "it stays");
        String::from_utf8(said.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    world.ask(&["conversations", "archive", &conversation, "--remove"]);
    let back = format!("its conversation is archived: `hopty conversations restore {conversation}`");
    let said = why("lost");
    assert!(said.contains(&back), "{said}");
    world.ask(&["conversations", "restore", &conversation]);
    let to = world.home.join("elsewhere");
    std::fs::create_dir(&to).unwrap();
    let to = to.to_str().unwrap();
    world.ask(&["conversations", "move", &conversation, "--to", to]);
    let said = why("lost");
    assert!(said.contains(&format!("`cd {to} && hopty --resume {conversation}` resumes it")), "{said}");
    world.ask(&["rm", "lost", "other"]);
    world.assert_nothing_left();
}

/// The machine has been started again since.
fn reboot(world: &World) {
    for file in std::fs::read_dir(world.state_dir().join("run")).into_iter().flatten().flatten() {
        std::fs::remove_file(file.path()).unwrap();
    }
    for session in std::fs::read_dir(world.state_dir().join("sessions")).unwrap().flatten() {
        let file = session.path().join("session.json");
        let Ok(text) = std::fs::read(&file) else { continue };
        let mut object: Value = serde_json::from_slice(&text).unwrap();
        object["machine"]["boot_id"] = json!("11111111-2222-3333-4444-555555555555");
        std::fs::write(&file, object.to_string()).unwrap();
    }
}

fn restore(world: &World, more: &[&str]) -> Vec<(String, String)> {
    let args = [&["restore", "--json"][..], more].concat();
    let output = world.hopty(&args);
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(|row| (word(row, "name"), word(row, "result"))).collect()
}

fn pairs(found: &[(&str, &str)]) -> Vec<(String, String)> {
    found.iter().map(|(name, result)| ((*name).to_owned(), (*result).to_owned())).collect()
}

fn what_died_with_the_machine_is_resumed_once(kind: Kind) {
    let Some(world) = world(kind) else { return };
    for name in ["one", "two", "over"] {
        start(&world, name);
    }
    world.ask(&["stop", "over"]);
    let before = [world.status_of("one"), world.status_of("two")];
    cut(&world, "one");
    // A shutdown tells the hosts to end, and they do.
    kill(i32::try_from(before[1]["host_pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGTERM);
    wait_for("the end of two", || (world.status_of("two")["state"] == "ended").then_some(()));
    assert_eq!(restore(&world, &[]), [], "the machine runs");
    reboot(&world);
    let listed = world.hopty(&["ls", "--all"]);
    assert!(
        String::from_utf8_lossy(&listed.stderr).contains("2 sessions died with the machine: `hopty restore`")
    );

    assert_eq!(restore(&world, &["--dry-run"]), pairs(&[("two", "restorable"), ("one", "restorable")]));
    assert_eq!(
        restore(&world, &["--dry-run", "--max", "1"]),
        pairs(&[("two", "restorable"), ("one", "waits")])
    );
    assert!(world.processes().is_empty(), "nothing was started");
    assert_eq!(restore(&world, &[]), pairs(&[("two", "restored"), ("one", "restored")]));
    assert_eq!(restore(&world, &[]), [], "nothing is resumed twice");
    for (name, before) in ["one", "two"].iter().zip(&before) {
        world.ask(&["wait", name, "idle", "--timeout", "60s"]);
        let now = world.status_of(name);
        for key in ["conversation", "dir"] {
            assert_eq!(now[key], before[key], "{name}: {key}");
        }
        assert!(now["command"].to_string().contains("claude-sonnet-4-5"), "{now}");
        assert_eq!(now["clients"], json!([]));
        assert!(now["why"].as_str().unwrap().contains("`hopty restore` resumed its conversation"), "{now}");
    }
    let requests = world.api.main_requests().len();
    assert_eq!(requests, 3, "Claude was asked nothing");
    world.ask(&["ask", "one", "And on.", "--timeout", "60s"]);
    assert!(world.api.main_requests().last().unwrap().contains("Say one."), "it is the same conversation");
    for name in ["one", "two"] {
        world.ask(&["stop", name]);
    }
    world.assert_nothing_left();
}

/// Any program of this user can write session.json, and the unit at login asks nobody.
#[test]
fn what_stands_in_session_json_runs_no_code_and_widens_no_mode_unasked() {
    let Some(world) = world(Kind::StandIn) else { return };
    start(&world, "one");
    cut(&world, "one");
    reboot(&world);
    let file = session_file(&world, "one");
    let mut object: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let plant = ["--permission-mode", "acceptEdits", "--settings", "{}"].map(|word| json!(word));
    object["command"].as_array_mut().unwrap().extend(plant);
    std::fs::write(&file, object.to_string()).unwrap();
    assert_eq!(restore(&world, &[]), pairs(&[("one", "skipped")]));
    let named = world.hopty(&["restore", "one"]);
    let said = String::from_utf8_lossy(&named.stdout);
    let why = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(why.contains("has --permission-mode, --settings"), "{why}");
    assert_eq!(named.status.code(), Some(1));
    world.assert_nothing_left();
}

/// One at login and one by hand, for instance.
#[test]
fn two_restores_at_once_fail_at_nothing() {
    let Some(world) = world(Kind::StandIn) else { return };
    start(&world, "one");
    cut(&world, "one");
    reboot(&world);
    let begin = || {
        let mut command = std::process::Command::new(support::claude::hopty());
        command.args(["restore", "--json"]).env_clear().envs(world.env.iter().cloned());
        command.current_dir(&world.project).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let both = [begin(), begin()].map(|child| child.wait_with_output().unwrap());
    let mut results = Vec::new();
    for output in &both {
        assert!(output.status.success(), "{output:?}");
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        results.extend(rows.as_array().unwrap().iter().map(|row| row["result"].as_str().unwrap().to_owned()));
    }
    results.sort();
    // The second may come so late that there is nothing left.
    results.retain(|result| result != "running");
    assert_eq!(results, ["restored"], "{both:?}");
    world.ask(&["stop", "one"]);
    world.assert_nothing_left();
}

/// The first thing that a person does after a restart of the machine is to start Claude in the project.
fn a_start_offers_what_died_there_and_takes_nothing_of_it(kind: Kind) {
    let Some(mut world) = world(kind) else { return };
    world.set("HOPTY_TERMINAL_OFFER_ATTACH", "true");
    let mut first = world.start(&[]);
    first.wait_box();
    first.submit("Say one.");
    first.wait_text("Answer 0.");
    wait_noted_conversation(&world, "proj");
    cut(&world, "proj");
    first.wait_exit();
    reboot(&world);
    let listed = world.hopty(&["ls"]).stderr;
    let listed = String::from_utf8_lossy(&listed);
    assert!(listed.contains("1 session died with the machine: `hopty restore`"), "{listed}");

    let other = world.start(&[]);
    other.wait_text("died with the machine. Resume it? [Y/n]");
    other.send("n\r");
    other.wait_box();
    assert_eq!(world.ask(&["ls", "--names"]), "proj-2\n");
    assert_eq!(restore(&world, &["--dry-run"]), pairs(&[("proj", "restorable")]), "it was left alone");
    // A prompt is for a new session: nobody is asked, but told.
    let third = world.start(&["Begin."]);
    third.wait_text("Answer 1.");
    // The prefix key and n: the notices.
    third.send("\x1cn");
    third.wait_text("`hopty restore proj` resumes it");
    third.send("x");
    world.ask(&["stop", "proj-2"]);
    world.ask(&["stop", "proj-3"]);

    let mut again = world.start(&[]);
    again.wait_text("proj (Say one.) died with the machine. Resume it? [Y/n]");
    again.send("\r");
    again.wait_text("Answer 0.");
    again.wait_box();
    assert_eq!(world.ask(&["ls", "--names"]), "proj\n");
    assert_eq!(restore(&world, &[]), [], "nothing is resumed twice");
    // It dies again, and its conversation goes on in another session.
    wait_noted_conversation(&world, "proj");
    let conversation = world.status_of("proj")["conversation"].as_str().unwrap().to_owned();
    cut(&world, "proj");
    again.wait_exit();
    reboot(&world);
    assert_eq!(restore(&world, &["--dry-run"]), pairs(&[("proj", "restorable")]));
    let resumed = world.start(&["--resume", &conversation]);
    resumed.wait_text("Answer 0.");
    resumed.wait_box();
    let other = world.ask(&["ls", "--names"]).trim().to_owned();
    world.ask(&["wait", &other, "idle"]);
    world.ask(&["stop", &other]);
    assert_eq!(restore(&world, &["--dry-run"]), [], "what went on is not offered");
    world.ask(&["rm", "proj"]);
    world.assert_nothing_left();
}

/// A machine may die in the middle of the first turn, when nothing has been answered yet.
fn a_conversation_that_died_in_its_first_turn_is_resumed(kind: Kind) {
    let script = Script::each(|_, n| match n {
        0 => ScriptedReply::text("Too late.").after_ms(120_000),
        _ => ScriptedReply::text("Going on.").filling(1000),
    });
    let Some(world) = World::new(kind, script) else { return };
    let mut args = vec!["run", "--detached", "--name", "one", "--", "claude"];
    args.extend(world.args.iter().map(String::as_str));
    world.ask(&args);
    world.ask(&["wait", "one", "idle", "--timeout", "60s"]);
    world.ask(&["send", "one", "Say one.", "--submit"]);
    world.ask(&["wait", "one", "busy", "--timeout", "60s"]);
    let file = session_file(&world, "one");
    wait_for("the prompt in the transcript that the session's file names", || {
        let object: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        let transcript = std::fs::read_to_string(object["transcript"].as_str()?).ok()?;
        transcript.contains("Say one.").then_some(())
    });
    cut(&world, "one");
    reboot(&world);
    assert_eq!(restore(&world, &[]), pairs(&[("one", "restored")]));
    world.ask(&["wait", "one", "idle", "--timeout", "60s"]);
    world.ask(&["ask", "one", "And on.", "--timeout", "60s"]);
    assert!(world.api.main_requests().last().unwrap().contains("Say one."), "it is the same conversation");
    world.ask(&["stop", "one"]);
    world.assert_nothing_left();
}

support::both! {
    what_died_with_the_machine_is_resumed_once,
    a_conversation_that_died_in_its_first_turn_is_resumed,
    a_start_offers_what_died_there_and_takes_nothing_of_it,
}

#[test]
fn what_cannot_be_resumed_is_told_and_stops_nothing() {
    let world = world(Kind::StandIn).unwrap();
    for name in ["gone", "same", "good"] {
        start(&world, name);
    }
    let conversation = world.status_of("good")["conversation"].clone();
    for name in ["gone", "same", "good"] {
        cut(&world, name);
    }
    reboot(&world);
    let edit = |name: &str, key: &str, value: Value| {
        let file = session_file(&world, name);
        let mut object: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        object[key] = value;
        std::fs::write(&file, object.to_string()).unwrap();
    };
    edit("gone", "dir", json!("/nowhere/at/all"));
    edit("same", "conversation", conversation);
    edit("same", "state_since", json!("2020-01-01T00:00:00.000Z"));
    let damaged = world.state_dir().join("sessions/damaged");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("session.json"), "{").unwrap();
    let output = world.hopty(&["restore"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let line =
        |name: &str| said.lines().find(|line| line.contains(&format!("  {name}  "))).unwrap_or_default();
    assert!(line("good").starts_with("restored  ") && line("good").contains("Say good."), "{said}");
    assert!(
        line("gone").starts_with("skipped  ") && line("gone").ends_with(": its directory is gone"),
        "{said}"
    );
    assert!(line("same").ends_with(": another session runs its conversation"), "{said}");
    assert_eq!(output.status.code(), Some(0));

    // By name, whatever ended it; but not one that runs.
    assert_eq!(world.hopty(&["restore", "good"]).status.code(), Some(4));
    world.ask(&["stop", "good"]);
    assert_eq!(restore(&world, &["good"]), pairs(&[("good", "restored")]));
    assert_eq!(world.hopty(&["restore", "nosuch"]).status.code(), Some(3));
    assert_eq!(world.hopty(&["rm", "good"]).status.code(), Some(4), "it runs");
    world.ask(&["stop", "good"]);

    assert_eq!(world.ask(&["ls", "--names", "--ended"]), "damaged\ngone\ngood\nsame\n");
    assert_eq!(world.ask(&["ls", "--names", "--restorable"]), "good\nsame\n");
    let pruned = world.ask(&["prune", "--older", "7d"]);
    assert_eq!(pruned, "", "none is that old");
    assert_eq!(
        world.ask(&["prune", "--dry-run"]),
        "would remove damaged\nwould remove good\nwould remove same\n"
    );
    let removed = "removed damaged\nremoved good\nremoved same\n";
    assert_eq!(world.ask(&["prune"]), removed, "another session went on with the conversation of `same`");
    assert_eq!(world.ask(&["ls", "--names", "--all"]), "gone\n");
    world.ask(&["rm", "gone"]);
    assert_eq!(world.ask(&["ls", "--names", "--all"]), "");
    assert_eq!(world.hopty(&["rm", "gone"]).status.code(), Some(3));
    world.assert_nothing_left();
}

/// `setup` asks before it writes, and `unsetup` leaves nothing.
#[test]
fn the_unit_is_written_after_a_question_and_removed_without_a_trace() {
    let world = world(Kind::StandIn).unwrap();
    let unit = world.home.join(".config/systemd/user/hopty-restore.service");
    let config = || std::fs::read_dir(world.home.join(".config")).map(|dir| dir.count()).unwrap_or(0);
    let before = config();
    let refused = world.hopty(&["setup"]);
    assert_eq!(refused.status.code(), Some(4), "there is no terminal to ask on");
    let said = support::text(&refused.stdout);
    assert!(said.contains("is skipped: `hopty restore NAME` in a terminal asks you"), "{said}");
    assert!(!unit.exists());
    let mut term = world.terminal(&["setup"]);
    term.wait_text("Write them? [y/N]");
    term.send("\r");
    assert_eq!(term.wait_exit(), 1);
    assert!(!unit.exists());
    let mut term = world.terminal(&["setup"]);
    term.wait_text("Write them? [y/N]");
    term.send("y\r");
    assert_eq!(term.wait_exit(), 0);
    let text = std::fs::read_to_string(&unit).unwrap();
    assert!(
        text.contains(&format!("ExecStart=\"{}\" restore", support::claude::hopty().display())),
        "{text}"
    );
    let link = unit.with_file_name("default.target.wants").join("hopty-restore.service");
    assert_eq!(std::fs::read_link(&link).unwrap(), unit);
    let again = world.hopty(&["setup"]);
    assert_eq!((again.status.code(), again.stdout.len()), (Some(0), 0), "it is in place already");
    world.ask(&["unsetup"]);
    assert!(!unit.exists() && !world.home.join(".config/systemd").exists());
    assert!(config() <= before.max(1));
    world.ask(&["unsetup"]);
}
