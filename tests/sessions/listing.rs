//! `ls`, `status`, `events`, `log`, `why`, `replay`, and how sessions begin and end.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::support::claude::{Kind, hopty};
use super::support::term::Term;
use super::support::text;
use super::support::world::World;
use super::{assert_fails, end_all, list, support, world};

/// A session object with every field.
fn example() -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/contract/session.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// That `found` has exactly the keys of `wanted`, with values of the same types; null may stand for what is
/// not there.
fn assert_shape(found: &Value, wanted: &Value, at: &str) {
    match (found, wanted) {
        (Value::Null, _) | (_, Value::Null) => {}
        (Value::Object(found), Value::Object(wanted)) => {
            let (have, want): (Vec<_>, Vec<_>) = (found.keys().collect(), wanted.keys().collect());
            assert_eq!(have, want, "{at}");
            for (key, value) in found {
                assert_shape(value, &wanted[key], &format!("{at}.{key}"));
            }
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.iter().for_each(|v| assert_shape(v, &wanted[0], &format!("{at}[]")))
        }
        (found, wanted) => {
            let kind =
                |v: &Value| (v.is_string(), v.is_number(), v.is_boolean(), v.is_object(), v.is_array());
            assert_eq!(kind(found), kind(wanted), "{at}: {found} is not like {wanted}");
        }
    }
}

#[test]
fn a_damaged_session_is_named_and_the_others_are_listed() {
    let world = world();
    for name in ["good", "bad"] {
        world.run_detached(name, &["true"]);
        world.ask(&["wait", name, "exit", "--timeout", "30s"]);
    }
    let file = world.state_dir().join("sessions/bad/session.json");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let words = "bad: its session.json is damaged";
    for args in [&["ls", "--all"][..], &["restore"]] {
        let output = world.hopty(args);
        let said = text(&output.stderr);
        assert!(output.status.success() && said.matches(words).count() == 1, "{args:?}: {output:?}");
        assert!(said.contains("`hopty rm bad` removes the session"), "{said}");
    }
    assert!(world.ask(&["ls", "--all"]).contains("good"));
    let checked: Value = serde_json::from_slice(&world.hopty(&["check", "--json"]).stdout).unwrap();
    let found = checked.as_array().unwrap().iter().find(|found| found["about"] == "sessions").unwrap();
    assert!(found["state"] == "bad" && found["fix"].as_str().unwrap().contains("hopty rm bad"), "{found}");
    let again = world.hopty(&["run", "--detached", "--name", "bad", "--", "true"]);
    assert!(text(&again.stderr).contains("the last session bad is damaged"), "{again:?}");
    world.ask(&["wait", "bad", "exit", "--timeout", "30s"]);
    assert!(!text(&world.hopty(&["ls", "--all"]).stderr).contains("damaged"));
}

#[test]
fn the_nearest_name_is_offered_for_ended_sessions_and_verbs_too() {
    let world = world();
    world.run_detached("rocket", &["true"]);
    world.ask(&["wait", "rocket", "exit", "--timeout", "30s"]);
    world.ask(&["label", "rocket", "work"]);
    for (args, code, hint) in [
        (&["rm", "rockt"][..], 3, "did you mean rocket?"),
        (&["restore", "rocke"], 3, "did you mean rocket?"),
        (&["man", "wiat"], 2, "did you mean `hopty man wait`?"),
        (&["end"], 2, "did you mean `hopty stop`?"),
        (&["ls", "--label", "wrok"], 0, "no session has label wrok; did you mean work?"),
        (&["ls", "--label", "other"], 0, "`hopty label NAME LABEL` adds one"),
        (&["ls", "--format", "yaml"], 2, "a text with fields in braces"),
    ] {
        let output = world.hopty(args);
        assert!(
            output.status.code() == Some(code) && text(&output.stderr).contains(hint),
            "{args:?}: {output:?}"
        );
    }
}

#[test]
fn of_two_sessions_of_a_directory_none_is_guessed() {
    let world = world();
    let project = world.project.canonicalize().unwrap();
    let folder: String =
        project.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = world.claude_dir().join("projects").join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let line = r#"{"type":"assistant","uuid":"a","message":{"role":"assistant","content":[{"type":"text","text":"Old."}],"stop_reason":"end_turn"}}"#;
    std::fs::write(folder.join("c74cc080-94b9-4841-b82f-a62cfb8efdc0.jsonl"), format!("{line}\n")).unwrap();
    assert_eq!(world.ask(&["answer"]), "Old.\n", "no session runs here");
    for name in ["one", "two"] {
        world.run_detached(name, &["cat"]);
    }
    for verb in ["answer", "context", "status"] {
        assert_fails(&world.hopty(&[verb]), 3, "one, two: which session?");
    }
    end_all(&world);
}

#[test]
fn options_that_do_not_go_together_are_named() {
    let world = world();
    for args in [&["ls", "--watch", "--json"][..], &["ls", "--json", "--format", "tmux"]] {
        let output = world.hopty(args);
        assert_fails(&output, 2, "cannot be used with");
        let said = text(&output.stderr);
        assert!(said.contains("hint: leave one of them out; `hopty ls --help` shows the usage"), "{said}");
    }
    let help = world.ask(&["ls", "--help"]);
    assert!(help.contains("age, branch, dir"), "{help}");
}

#[test]
fn the_session_object_is_that_of_the_contract() {
    let world = world();
    let example = example();
    let mut term = world.start(&[]);
    term.wait_box();
    world.wait_state("idle");
    let status = world.status();
    assert_shape(&status, &example, "status");
    for key in [
        "name", "state", "state_since", "state_from", "phase", "dir", "command", "conversation", "version",
        "context",
    ] {
        assert!(!status[key].is_null(), "{key} of an agent: {status}");
    }
    assert_eq!(
        (&status["agent"], &status["phase"], &status["run"]),
        (&json!("claude"), &json!("running"), &json!(1))
    );
    let client = json!({"id": 1, "tty": status["clients"][0]["tty"], "cols": 120, "rows": 40, "leader": true,
        "read_only": false, "via": "fd"});
    assert_eq!(status["clients"], json!([client]));
    assert!(status["clients"][0]["tty"].as_str().unwrap().starts_with("/dev/pts/"));
    assert_eq!(status["command"][0], "claude");
    world.run_detached("other", &["sleep", "100"]);
    let git = world.project.join(".git");
    ["objects", "refs"].iter().for_each(|dir| std::fs::create_dir_all(git.join(dir)).unwrap());
    std::fs::write(git.join("HEAD"), "ref: refs/heads/trunk\n").unwrap();
    let mut all = list(&world);
    assert_eq!(
        all.iter().map(|s| s["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["other", "proj"],
        "by name"
    );
    let has_shape = |session: &mut Value, at: &str| {
        let branch = session.as_object_mut().unwrap().remove("branch");
        assert_eq!(branch, Some(json!("trunk")), "only `ls` looks at git");
        assert_shape(session, &example, at);
    };
    all.iter_mut().for_each(|session| has_shape(session, "ls"));
    let other = all.remove(0);
    assert_eq!(
        (&other["state"], &other["clients"], &other["context"]["tokens_from"]),
        (&json!("unknown"), &json!([]), &json!("none"))
    );
    assert_eq!(other["command"], json!(["sleep", "100"]));
    // Ended ones keep their shape.
    end_all(&world);
    term.wait_exit();
    let mut ended: Vec<Value> = serde_json::from_str(&world.ask(&["ls", "--all", "--json"])).unwrap();
    assert_eq!(ended.len(), 2);
    for session in &mut ended {
        has_shape(session, "ls --all");
        assert_eq!(
            (&session["state"], &session["phase"], &session["clients"]),
            (&json!("ended"), &json!("closed"), &json!([]))
        );
        assert_eq!(session["exit"]["cause"], "stopped");
        assert_eq!(session["ended_at"], session["state_since"]);
    }
    let status: Value = serde_json::from_str(&world.ask(&["status", "other", "--json"])).unwrap();
    assert_eq!((&status["state"], &status["name"]), (&json!("ended"), &json!("other")));
    assert_eq!(status["exit"], json!({"kind": "signaled", "code": 137, "signal": 9, "cause": "stopped"}));
}

#[test]
fn how_a_program_ended_is_told_afterwards() {
    let world = world();
    for (name, script, exit) in [
        ("code", "exit 7", json!({"kind": "exited", "code": 7, "signal": null, "cause": "finished"})),
        ("zero", "exit 0", json!({"kind": "exited", "code": 0, "signal": null, "cause": "finished"})),
        (
            "killed",
            "kill -SEGV $$",
            json!({"kind": "signaled", "code": 139, "signal": 11, "cause": "killed"}),
        ),
    ] {
        world.run_detached(name, &["sh", "-c", script]);
        let status = support::wait_for("the end", || {
            let status: Value = serde_json::from_str(&world.ask(&["status", name, "--json"])).unwrap();
            (status["state"] == "ended").then_some(status)
        });
        assert_eq!(status["exit"], exit, "{name}");
        let shown = world.ask(&["status", name]);
        let by = if exit["signal"].is_null() { "" } else { " by SIGSEGV" };
        let cause = exit["cause"].as_str().unwrap();
        assert!(shown.contains(&format!("  exit          code {} ({cause}{by})\n", exit["code"])), "{shown}");
    }
    world.assert_nothing_left();
}

#[test]
fn an_empty_list_is_empty() {
    let world = world();
    for args in [&["ls", "--json"][..], &["ls", "--all", "--json"]] {
        assert_eq!(world.ask(args), "[]\n");
    }
    let output = world.hopty(&["ls"]);
    assert!(output.status.success() && output.stdout.is_empty());
}

#[test]
fn for_people_there_is_a_table() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    let table = world.ask(&["ls"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("NAME") && lines[0].contains("STATE") && lines[0].ends_with("DIRECTORY"),
        "{table}"
    );
    assert!(lines[1].starts_with("one ") && lines[1].ends_with(world.project.to_str().unwrap()), "{table}");
    let status = world.ask(&["status", "one"]);
    assert!(status.starts_with("one  running  ") && status.contains("sleep 100"), "{status}");
    assert!(status.contains("  state         running since 20"), "{status}");
    end_all(&world);
}

#[test]
fn a_list_is_narrowed_down_and_formatted() {
    let world = world();
    for name in ["one", "two"] {
        world.run_detached(name, &["sleep", "100"]);
    }
    assert_eq!(world.ask(&["ls", "--format", "{name} is {state}"]), "one is running\ntwo is running\n");
    assert_eq!(world.ask(&["ls", "two", "--format", "{name}"]), "two\n");
    assert_eq!(world.ask(&["ls", "--format", "tmux"]), "one running   two running\n");
    assert_fails(&world.hopty(&["ls", "--format", "{nmae}"]), 2, "unknown field in the format");
    assert_fails(&world.hopty(&["ls", "twoo"]), 3, "there is no such session");
    assert_fails(&world.hopty(&["ls", "--watch"]), 2, "--watch needs a terminal");
    let mut watch = world.terminal(&["ls", "--watch"]);
    watch.wait_text("two ");
    world.run_detached("three", &["sleep", "100"]);
    watch.wait_text("three ");
    watch.wait_text("q ends this list");
    for (key, code) in [("\x03", 130), ("xq", 0)] {
        watch.send(key);
        assert_eq!(watch.wait_exit(), code);
        watch.assert_whole();
        watch.wait_for("what stood there before", |screen| {
            !screen.lines().iter().any(|line| line.contains("three ") || line.contains('x'))
        });
        if code == 130 {
            watch = world.terminal(&["ls", "--watch"]);
            watch.wait_text("three ");
        }
    }
    end_all(&world);
}

#[test]
fn all_clients_are_detached_and_all_sessions_end_after_a_question() {
    let world = world();
    for name in ["one", "two"] {
        world.run_detached(name, &["sh", "-c", "echo this is $HOPTY_SESSION; exec sleep 100"]);
    }
    let mut term = world.terminal(&["attach", "two"]);
    term.wait_text("this is two");
    world.ask(&["detach", "--all"]);
    assert_eq!(term.wait_exit(), 0);
    assert_fails(&world.hopty(&["detach", "--all"]), 1, "no terminal is attached");
    let said = world.hopty(&["detach", "one"]);
    assert_fails(&said, 1, "no terminal is attached");
    assert!(text(&said.stderr).contains("hint: `hopty status one --json` lists clients"));
    let mut term = world.terminal(&["stop", "--all"]);
    term.wait_text("End one, two? [y/N]");
    term.send("n\r");
    assert_eq!(term.wait_exit(), 1);
    assert_eq!(list(&world).len(), 2);
    // Who has been in the shell meanwhile reads the question again.
    let mut term = world.terminal(&["stop", "--all"]);
    term.wait_text("End one, two? [y/N]");
    support::kill(i32::try_from(term.child.id()).unwrap(), nix::libc::SIGCONT);
    support::wait_for("the question again", || {
        (String::from_utf8_lossy(&term.bytes()).matches("End one, two? [y/N]").count() == 2).then_some(())
    });
    term.send("n\r");
    assert_eq!(term.wait_exit(), 1);
    let said = world.hopty(&["stop", "--all"]);
    assert_fails(&said, 4, "no terminal to ask");
    assert!(text(&said.stderr).contains("hint: `hopty stop --all --yes` does not ask"));
    assert_eq!(list(&world).len(), 2);
    assert_eq!(world.ask(&["stop", "--all", "--yes"]), "stopped one\nstopped two\n");
    world.run_detached("three", &["sleep", "100"]);
    let mut term = world.terminal(&["stop", "--all", "--yes"]);
    term.wait_text("stopped three");
    assert_eq!(term.wait_exit(), 0);
    world.assert_nothing_left();
}

#[test]
fn names_are_listed_in_the_order_in_which_people_count() {
    let world = world();
    for name in ["s10", "s2", "s1"] {
        world.run_detached(name, &["sleep", "100"]);
    }
    let table = world.ask(&["ls"]);
    let names: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["s1", "s2", "s10"], "{table}");
    assert_eq!(
        list(&world).iter().map(|session| session["name"].as_str().unwrap()).collect::<Vec<_>>(),
        names
    );
    assert_fails(&world.hopty(&["status"]), 3, "which session?");
    let said = String::from_utf8_lossy(&world.hopty(&["status"]).stderr).into_owned();
    assert!(said.contains("s1, s2, s10"), "{said}");
    end_all(&world);
}

#[test]
fn the_list_of_ended_ones_says_how_and_when() {
    let world = world();
    world.run_detached("code", &["sh", "-c", "exit 7"]);
    world.run_detached("killed", &["sh", "-c", "kill -SEGV $$"]);
    world.run_detached("lives", &["sleep", "100"]);
    world.run_detached("lost", &["sleep", "100"]);
    let host =
        list(&world).iter().find(|session| session["name"] == "lost").unwrap()["host_pid"].as_i64().unwrap();
    let host = nix::unistd::Pid::from_raw(i32::try_from(host).unwrap());
    nix::sys::signal::kill(host, nix::sys::signal::Signal::SIGKILL).unwrap();
    support::wait_for("one that lives", || (list(&world).len() == 1).then_some(()));
    let table = world.ask(&["ls", "--all"]);
    let cells = |line: &str| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = table.lines().map(cells).collect();
    assert_eq!(rows[0][..4], ["NAME", "STATE", "EXIT", "ENDED"], "{table}");
    for (row, [name, state, exit]) in rows[1..].iter().zip([
        ["code", "ended", "7"],
        ["killed", "ended", "SIGSEGV"],
        ["lives", "running", "-"],
        ["lost", "ended", "lost"],
    ]) {
        assert_eq!(row[..3], [name, state, exit], "{table}");
        assert_eq!(row[3].ends_with(" ago"), ["7", "SIGSEGV"].contains(&exit), "{table}");
    }
    assert!(!world.ask(&["ls"]).contains("EXIT"), "it is nothing to say of living ones");
    let lost = world.ask(&["status", "lost"]);
    assert!(lost.contains("  exit          unknown code (host lost)\n"), "{lost}");
    end_all(&world);
}

#[test]
fn a_conversation_in_the_list_and_after_its_end() {
    let world =
        World::new(Kind::StandIn, Script::list([ScriptedReply::text("Hello.").filling(1000)])).unwrap();
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    let id = world.status()["conversation"].as_str().unwrap().to_owned();
    assert!(!world.ask(&["status"]).contains("to resume"), "it is still running");
    // In a terminal a row is a line, and the state has a colour where colours are wanted.
    let listed = |no_color: &str, cols| {
        let mut env = world.env.clone();
        env.push(("NO_COLOR".into(), no_color.into()));
        let mut term = Term::start(&hopty(), &["ls"], &env, &world.project, (cols, 10));
        assert_eq!(term.wait_exit(), 0);
        term.wait_for("the row", |screen| screen.lines()[1].starts_with("proj"));
        (String::from_utf8(term.bytes()).unwrap(), term.lines())
    };
    let (bytes, lines) = listed("", 40);
    assert!(bytes.contains("\u{1b}[32midle\u{1b}[m") && bytes.matches('\u{1b}').count() == 4, "{bytes:?}");
    assert!(lines[1].starts_with("proj  idle") && lines[1].ends_with("Say hello."), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| !line.is_empty()).count(), 2, "{lines:?}");
    let wide = listed("", 100).0;
    assert!(wide.contains("\u{1b}[32m1 %\u{1b}[m"), "the context, too: {wide:?}");
    assert!(!listed("1", 100).0.contains('\u{1b}'));
    assert!(
        world.ask(&["ls"]).trim_end().ends_with(world.project.to_str().unwrap()),
        "and whole for a program"
    );
    world.leave(term);
    let shown = world.ask(&["status", "proj"]);
    assert!(shown.contains(&format!("  to resume     hopty --resume {id}\n")), "{shown}");
}

#[test]
fn the_decisions_are_told_to_programs_and_to_people() {
    let world = world();
    world.run_detached("one", &["sh", "-c", "read x; exit 7"]);
    let mut follow = std::process::Command::new(support::claude::hopty());
    follow
        .args(["events", "one", "--follow"])
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(&world.project);
    let follow = follow.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let events = world.ask(&["events", "one"]);
    let kinds = |text: &str| -> Vec<String> {
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.map(|v| v["decision"]["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&events), ["session.started", "run.spawned"]);
    for line in events.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["seq"].is_u64() && line["t"].is_u64() && line["at"].is_string(), "{line}");
        assert!(line["decision"]["sentence"].is_string() && line["decision"]["because"].is_array(), "{line}");
    }
    let log = world.ask(&["log", "one"]);
    let zone = |zone: &str| {
        let mut command = std::process::Command::new(support::claude::hopty());
        command
            .args(["log", "one"])
            .env_clear()
            .envs(world.env.iter().cloned())
            .env("TZ", zone)
            .current_dir(&world.project);
        text(&command.output().unwrap().stdout)
    };
    let begun: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    let begun = begun["at"].as_str().unwrap();
    assert!(
        zone("UTC0").starts_with(&format!("{} {}  session.started  ", &begun[..10], &begun[11..19])),
        "{}",
        zone("UTC0")
    );
    assert_ne!(zone("UTC0"), zone("PKT-5"), "times are the person's");
    assert!(log.lines().count() == 2 && log.contains("run.spawned") && !log.contains('{'), "{log}");
    assert_eq!(world.ask(&["log", "one", "--json"]), events);
    support::kill(i32::try_from(list(&world)[0]["pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGTERM);
    // It ends with the session, and has told everything.
    let followed = follow.wait_with_output().unwrap();
    assert!(followed.status.success());
    assert_eq!(
        kinds(&text(&followed.stdout)),
        ["session.started", "run.spawned", "run.ended", "session.ended"]
    );
    assert_eq!(text(&followed.stdout), world.ask(&["events", "one"]), "an ended session tells the same");
    let why: Value = serde_json::from_str(&world.ask(&["why", "one", "--json"])).unwrap();
    assert_eq!(why.as_object().unwrap().keys().collect::<Vec<_>>(), ["because", "sentence", "seq"]);
    assert_eq!(format!("{}\n", why["sentence"].as_str().unwrap()), world.ask(&["why", "one"]));
    assert!(why["sentence"].as_str().unwrap().contains("SIGTERM"), "{why}");
    let journal = world.state_dir().join("sessions/one/journal.jsonl");
    assert!(world.ask(&["replay", journal.to_str().unwrap()]).starts_with("identical: "));
    let same: Value =
        serde_json::from_str(&world.ask(&["replay", journal.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(same["same"], true);
    world.assert_nothing_left();
}

#[test]
fn nothing_decided_yet_is_said() {
    let world = world();
    let dir = world.state_dir().join("sessions/empty");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("journal.jsonl"), "").unwrap();
    assert_fails(&world.hopty(&["why", "empty"]), 1, "there is no decision yet");
}

/// A shell at its prompt ignores SIGTERM.
#[test]
fn stop_ends_a_shell_as_the_closing_of_its_window_does() {
    let mut world = world();
    let history = world.home.join("history");
    world.set("HISTFILE", history.to_str().unwrap());
    world.run_detached("one", &["bash", "--norc", "-i"]);
    world.ask(&["send", "one", "echo remember this\n"]);
    world.ask(&["wait", "one", "text=^remember this"]);
    world.ask(&["stop", "one"]);
    assert!(std::fs::read_to_string(&history).unwrap().contains("echo remember this"));
    let log = world.ask(&["log", "one"]);
    assert!(log.contains("SIGHUP") && !log.contains("stop.killed"), "{log}");
    std::fs::remove_file(world.state_dir().join("sessions/one/journal.jsonl")).unwrap();
    let said = text(&world.hopty(&["log", "one"]).stderr);
    assert!(said.contains("hint: it was deleted, or could not be written"), "{said}");
    world.assert_nothing_left();
}

#[test]
fn stop_returns_when_nothing_is_left() {
    let world = world();
    for (program, more) in [
        (&["sleep", "100"][..], None),
        (&["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], Some("--kill")),
    ] {
        world.run_detached("one", program);
        let pid = list(&world)[0]["pid"].as_i64().unwrap();
        let mut args = vec!["stop", "one"];
        args.extend(more);
        let output = world.hopty(&args);
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{}",
            text(&output.stderr)
        );
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "the child is reaped");
        assert!(!world.state_dir().join("run/one.sock").exists(), "the socket is gone");
        assert!(list(&world).is_empty(), "the name is free");
        assert_fails(&world.hopty(&args), 1, "stop: one: the session has ended");
    }
    world.assert_nothing_left();
}

#[test]
fn detached_starts_say_their_name_or_why_not() {
    let world = world();
    assert_eq!(world.ask(&["run", "--detached", "--", "sleep", "100"]), "proj\n");
    assert_eq!(world.ask(&["--detached"]), "proj-2\n", "the drop-in form");
    assert_eq!(list(&world).iter().find(|s| s["name"] == "proj-2").unwrap()["agent"], "claude");
    assert_eq!(world.ask(&["run", "--detached", "--", "claude", "--model", "opus"]), "proj-3\n");
    assert_fails(&world.hopty(&["run", "--detached", "--", "/no/such/program"]), 127, "run: ");
    let file = world.project.join("file");
    std::fs::write(&file, "").unwrap();
    assert_fails(
        &world.hopty(&["run", "--detached", "--", file.to_str().unwrap()]),
        126,
        "permission denied",
    );
    // A size of its own, and the kernel's modes.
    let status = list(&world).remove(0);
    assert_eq!(status["size"], json!({"cols": 80, "rows": 24}));
    end_all(&world);
}
