//! Where a handoff stands, and who gets it.

use serde_json::json;

use super::steps::*;

#[test]
fn item_008_one_consumer_at_a_time_and_the_manifest_says_who() {
    let world = world();
    let id = create(&world);
    // The caller of hopty is this test, which lives on, or a Claude above it: the claim holds.
    world.ask(&["handoff", "load", &id, "--session", OTHER]);
    let claim = &manifest(&world)["current"]["claim"];
    assert_eq!(claim["session_id"], OTHER);
    assert!(hopty::sys::process::is_alive(
        claim["by_pid"].as_u64().unwrap() as u32,
        claim["by_start"].as_u64().unwrap()
    ));
    assert!(fails(&world, &["handoff", "load", &id], 4).contains("is being loaded by pid"));
    assert!(fails(&world, &["handoff", "load"], 1).contains("no handoff waits"));
    let listed = world.ask(&["handoff", "list"]);
    assert!(listed.contains("loading"), "{listed}");
}

#[test]
fn a_claim_lapses_with_the_process_that_it_was_taken_for() {
    let world = world();
    let id = create(&world);
    let mut holder = Holder::new();
    let pid = holder.pid().to_string();
    world.ask(&["handoff", "load", &id, "--pid", &pid]);
    fails(&world, &["handoff", "load", &id], 4);
    holder.end();
    world.ask(&["handoff", "load", &id]);
    assert!(fails(&world, &["handoff", "load", &id, "--pid", &pid], 2).contains("no such process"));
}

#[test]
fn item_018_a_handoff_is_cleared_once_and_never_comes_back() {
    let world = world();
    let id = create(&world);
    assert_eq!(world.ask(&["handoff", "clear"]), format!("discarded {id}\n"));
    assert_eq!(manifest(&world)["current"]["status"], "cleared");
    for args in [&["handoff", "clear", &id][..], &["handoff", "load", &id]] {
        assert!(fails(&world, args, 1).contains("is cleared"), "{args:?}");
    }
    fails(&world, &["handoff", "id"], 1);
    assert_eq!(json_of(&world, &["handoff", "list", "--json"]), json!([]));
    assert_eq!(json_of(&world, &["handoff", "list", "--all", "--json"])[0]["status"], "cleared");
    assert!(world.ask(&["handoff", "show", &id]).contains("Build the bridge."), "it can still be read");
}

#[test]
fn item_031_a_handoff_expires_after_two_hours_or_as_configured() {
    let mut world = world();
    let id = create(&world);
    let current = &manifest(&world)["current"];
    let at = |key: &str| hopty::core::time::WallTime::parse(current[key].as_str().unwrap()).unwrap().0;
    assert_eq!(at("expires_at") - at("created_at"), 7_200_000);
    // Two hours later, as far as the manifest says.
    let text = std::fs::read_to_string(manifest_path(&world)).unwrap();
    let old = current["expires_at"].as_str().unwrap();
    std::fs::write(manifest_path(&world), text.replace(old, "2026-01-01T00:00:00Z")).unwrap();
    let said = fails(&world, &["handoff", "load", &id], 1);
    assert!(said.contains("is expired") && said.contains("handoff.expiry"), "{said}");
    fails(&world, &["handoff", "load"], 1);
    assert_eq!(json_of(&world, &["handoff", "show", "--json"])["status"], "expired");
    world.set("HOPTY_HANDOFF_EXPIRY", "5m");
    let id = create(&world);
    assert_eq!(manifest(&world)["current"]["id"], json!(id));
    let current = &manifest(&world)["current"];
    let at = |key: &str| hopty::core::time::WallTime::parse(current[key].as_str().unwrap()).unwrap().0;
    assert_eq!(at("expires_at") - at("created_at"), 300_000);
}

#[test]
fn words_for_a_handoff() {
    let world = world();
    let id = create(&world);
    let stamp = &id[3..18];
    for word in [&id, &id[..18], &format!("chk-{stamp}"), stamp, &id[..11]] {
        assert_eq!(json_of(&world, &["handoff", "show", word, "--json"])["id"], json!(id), "{word}");
    }
    talk(&world, OTHER, "Dig the tunnel.");
    world.ask(&["handoff", "create", "--channel", "other"]);
    let said = fails(&world, &["handoff", "show", "HO-2"], 2);
    assert!(said.contains("2 handoffs begin with it") && said.contains(&id), "{said}");
    assert_eq!(
        json_of(&world, &["handoff", "show", "HO-2", "--channel", "global", "--json"])["id"],
        json!(id)
    );
    for (word, code) in
        [("../../etc/passwd", 2), ("HO-20200101-000000-c74cc080", 1), ("*", 2), ("chk-20200101-000000", 1)]
    {
        fails(&world, &["handoff", "show", word], code);
    }
    let output = world.hopty(&["handoff", "show", "HO-20200101-000000-c74cc080", "--json"]);
    let error: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(error["error"]["code"], "not_found");
}

#[test]
fn a_summary_is_put_in_and_bounded() {
    let world = world();
    talk(&world, ID, "Build the bridge.");
    let file = world.home.join("summary.md");
    std::fs::write(&file, "The piers stand; the deck is next.").unwrap();
    let id = world.ask(&["handoff", "create", "--summary-file", file.to_str().unwrap(), "--type", "signal"]);
    let shown = world.ask(&["handoff", "show", id.trim()]);
    assert!(shown.contains("The piers stand") && shown.contains("<!-- TYPE: signal -->"), "{shown}");
    std::fs::write(&file, "x".repeat(40_000)).unwrap();
    assert!(
        fails(&world, &["handoff", "create", "--summary-file", file.to_str().unwrap()], 2)
            .contains("longer than")
    );
    fails(&world, &["handoff", "create", "--type", "magic"], 2);
    fails(&world, &["handoff", "create", "--transcript", "/nowhere/x.jsonl"], 1);
}

#[test]
fn the_transcript_is_copied_unless_that_is_switched_off() {
    let mut world = world();
    talk(&world, ID, "Build the bridge.");
    for (copies, is_there) in [("true", true), ("false", false)] {
        world.set("HOPTY_HANDOFF_COPY_TRANSCRIPT", copies);
        let id = world.ask(&["handoff", "create"]);
        let record = world.claude_dir().join("handoff/records").join(id.trim());
        assert!(record.join("handoff.md").exists(), "{}", record.display());
        assert_eq!(record.join("transcript.jsonl.gz").exists(), is_there);
    }
}

#[test]
fn redactions_name_the_places_and_never_the_secret() {
    let world = world();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let id = {
        talk(&world, ID, &format!("Use the token {secret} to push."));
        world.ask(&["handoff", "create"]).trim().to_owned()
    };
    let shown = world.ask(&["handoff", "show", &id, "--redactions"]);
    assert!(
        shown.lines().any(|line| line.starts_with("handoff.md:") && line.contains(": GitHub token: ")),
        "{shown}"
    );
    assert!(
        shown.contains("\ntranscript.jsonl.gz:1: GitHub token: ")
            && shown.contains("[redacted: GitHub token]"),
        "{shown}"
    );
    for args in [
        &["handoff", "show", &id, "--redactions"][..],
        &["handoff", "show", &id],
        &["handoff", "show", &id, "--frame"],
    ] {
        assert!(!world.ask(args).contains(secret), "{args:?}");
    }
    let json = json_of(&world, &["handoff", "show", &id, "--redactions", "--json"]);
    let last = json.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["file"], &last["line"], &last["kind"]),
        (&json!("transcript.jsonl.gz"), &json!(1), &json!("GitHub token"))
    );
    world.ask(&["handoff", "clear"]);
    let id = create(&world);
    assert_eq!(world.ask(&["handoff", "show", &id, "--redactions"]), "");
}

#[test]
fn a_script_s_handoff_is_consumed_when_its_conversation_has_answered() {
    let world = world();
    let id = create(&world);
    let mut holder = Holder::new();
    let load = |id: &str| {
        world.ask(&["handoff", "load", id, "--session", OTHER, "--pid", &holder.pid().to_string()])
    };
    load(&id);
    let answered_at = |at: hopty::core::time::WallTime, sidechain: bool| {
        let mut lines = exchange(&world, OTHER, "Go on.", "Going on.", 9000);
        lines[1]["timestamp"] = json!(at.rfc3339_ms());
        lines[1]["isSidechain"] = json!(sidechain);
        transcript(&world, OTHER, &lines);
        json_of(&world, &["handoff", "list", "--all", "--json"])[0]["status"].clone()
    };
    let now = hopty::sys::clock::Clock::wall();
    assert_eq!(
        answered_at(hopty::core::time::WallTime(now.0 - 60_000), false),
        "active",
        "an answer of before"
    );
    assert_eq!(answered_at(now.after(60_000), true), "active", "a sub-agent's");
    assert_eq!(answered_at(now.after(60_000), false), "consumed");
    holder.end();
    let entry = json_of(&world, &["handoff", "show", &id, "--json"]);
    assert_eq!(
        (&entry["consumed_by_session"], &entry["consumed_by_pid"]),
        (&json!(OTHER), &json!(holder.pid()))
    );
    fails(&world, &["handoff", "load", &id], 1);
}

#[test]
fn a_handoff_that_a_script_loaded_is_the_predecessor_of_the_next() {
    let world = world();
    let id = create(&world);
    let mut holder = Holder::new();
    world.ask(&["handoff", "load", &id, "--session", OTHER, "--pid", &holder.pid().to_string()]);
    let mut lines = exchange(&world, OTHER, "Go on.", "Going on.", 9000);
    lines[1]["timestamp"] = json!(hopty::sys::clock::Clock::wall().after(60_000).rfc3339_ms());
    let path = transcript(&world, OTHER, &lines);
    // Nothing else has read the store since.
    let next = world.ask(&["handoff", "create", "--transcript", path.to_str().unwrap()]);
    holder.end();
    assert_eq!(json_of(&world, &["handoff", "show", next.trim(), "--json"])["predecessor"], json!(id));
}

#[test]
fn of_many_loaders_one_gets_it() {
    let world = world();
    let id = create(&world);
    let won: usize = std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..16)
            .map(|_| {
                let (world, id) = (&world, &id);
                scope.spawn(move || {
                    world.hopty(&["handoff", "load", id, "--pid", &std::process::id().to_string()])
                })
            })
            .collect();
        let outputs: Vec<_> = loaders.into_iter().map(|loader| loader.join().unwrap()).collect();
        assert!(outputs.iter().all(|output| matches!(output.status.code(), Some(0 | 4))), "{outputs:?}");
        outputs.iter().filter(|output| output.status.success()).count()
    });
    assert_eq!(won, 1);
}

#[test]
fn item_006_what_is_loaded_is_active_young_and_its_file_has_its_id_and_it_is_kept_in_history() {
    let world = world();
    let first = create(&world);
    world.ask(&["handoff", "load", &first, "--pid", &std::process::id().to_string()]);
    // A newer one of the same kind takes its place; the old one is over and stays in the history.
    let second = create(&world);
    let manifest = manifest(&world);
    assert_eq!((&manifest["current"]["id"], &manifest["history"][0]["id"]), (&json!(second), &json!(first)));
    assert_eq!(manifest["history"][0]["status"], "cleared");
    assert!(
        fails(&world, &["handoff", "load", &first], 1).contains("is cleared"),
        "only an active one is loaded"
    );
    // Its file has its id: with that of another it is refused, and not claimed.
    let file = |id: &str| world.claude_dir().join("handoff/records").join(id).join("handoff.md");
    let (whole, text) =
        (std::fs::read(file(&second)).unwrap(), std::fs::read_to_string(manifest_path(&world)).unwrap());
    let (old, new) =
        (manifest["current"]["sha256"].as_str().unwrap(), manifest["history"][0]["sha256"].as_str().unwrap());
    std::fs::copy(file(&first), file(&second)).unwrap();
    std::fs::write(manifest_path(&world), text.replace(old, new)).unwrap();
    assert!(
        fails(&world, &["handoff", "load", &second], 4).contains(&format!("its file belongs to {first}"))
    );
    std::fs::write(file(&second), whole).unwrap();
    // One that is older than two hours is over.
    let expires = manifest["current"]["expires_at"].as_str().unwrap();
    std::fs::write(manifest_path(&world), text.replace(expires, "2026-01-01T00:00:00Z")).unwrap();
    assert!(fails(&world, &["handoff", "load", &second], 1).contains("is expired"));
    std::fs::write(manifest_path(&world), &text).unwrap();
    let holder = Holder::new();
    let frame = world.ask(&["handoff", "load", "--session", OTHER, "--pid", &holder.pid().to_string()]);
    assert!(frame.contains(&format!("(ID: {second})")));
    assert!(fails(&world, &["handoff", "load", &second], 4).contains("is being loaded"), "by one at a time");
    for id in [&first, &second] {
        assert!(world.ask(&["handoff", "show", id]).contains(id.as_str()), "nothing is deleted by loading");
    }
}

#[test]
fn item_113_the_new_conversation_sees_objective_todos_and_files() {
    let world = world();
    let mut lines = exchange(&world, ID, "Build the bridge.", "I will.", 50_000);
    let used = std::cell::Cell::new(0);
    let use_tool = |name: &str, input: serde_json::Value| {
        let n = used.replace(used.get() + 1);
        let id = format!("toolu_{name}_{n}");
        [
            json!({"type": "assistant", "message": {"id": format!("msg_{name}_{n}"),
                "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}}),
            json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result",
                "tool_use_id": id, "content": "ok"}]}}),
        ]
    };
    lines.extend(use_tool(
        "TodoWrite",
        json!({"todos": [{"content": "Lay the deck", "status": "in_progress", "activeForm": "Laying"}]}),
    ));
    // Seven: source document 001 names five.
    let files: Vec<String> = (1..=7).map(|n| format!("/home/u/proj/deck-{n}.md")).collect();
    for file in &files {
        lines.extend(use_tool("Write", json!({"file_path": file, "content": "x"})));
    }
    transcript(&world, ID, &lines);
    world.ask(&["handoff", "create"]);
    let frame = world.ask(&["handoff", "show", "--frame"]);
    let part = |title: &str| {
        frame
            .split(&format!("\n## {title}\n"))
            .nth(1)
            .unwrap_or_else(|| panic!("{frame}"))
            .split("\n## ")
            .next()
            .unwrap()
    };
    assert!(part("Request").contains("> Build the bridge.\n"));
    assert!(part("Work in hand").contains("- to do: Lay the deck (in progress)\n"));
    let missing: Vec<&String> = files
        .iter()
        .filter(|file| !part("Work in hand").contains(file.rsplit('/').next().unwrap()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} in {frame}");
}

#[test]
fn a_full_disk_is_said_and_what_was_saved_stays() {
    let world = world();
    let id = create(&world);
    let before = std::fs::read(manifest_path(&world)).unwrap();
    // No file may grow: what a full disk does, without one.
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" handoff create"])
        .arg(super::support::claude::hopty());
    let output =
        command.env_clear().envs(world.env.iter().cloned()).current_dir(&world.project).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("File too large") && said.contains("handoff"), "{said}");
    assert_eq!(std::fs::read(manifest_path(&world)).unwrap(), before);
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id);
}
