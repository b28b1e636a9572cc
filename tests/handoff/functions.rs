//! The library of the first source document, function by function, and its files.

use std::os::unix::fs::PermissionsExt;

use hopty::core::claude::line_context::project_dir_name;
use serde_json::{Value, json};

use super::steps::*;

#[test]
fn item_007_loading_prints_the_frame_that_the_next_conversation_gets() {
    let world = world();
    let id = create(&world);
    let frame = world.ask(&["handoff", "load", "--session", OTHER]);
    let word = frame.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert!(
        frame.starts_with(&format!(
            "=== HANDOFF LOADED (ID: {id}) === {word}\nChannel: global\nPrevious Session: {ID}\nType: \
             manual\nDate: "
        )) && frame.contains(" (UTC)\nYou continue the work"),
        "{frame}"
    );
    assert!(
        frame.ends_with(&format!("\n=== END HANDOFF === {word}\n")) && frame.contains("Build the bridge."),
        "{frame}"
    );
    assert_eq!(world.ask(&["handoff", "show", &id, "--frame"]), frame);
}

#[test]
fn item_016_ids_are_made_of_time_and_conversation() {
    let world = world();
    talk(&world, ID, "x");
    for args in [&["handoff", "create"][..], &["handoff", "id", "--new"]] {
        let id = world.ask(args);
        let id: hopty::core::ids::HandoffId = id.trim().parse().unwrap();
        assert!(id.as_str().ends_with("-c74cc080"), "{id}");
    }
}

#[test]
fn item_017_the_manifest_has_the_fields_of_the_source_document_and_the_contract() {
    let world = world();
    let id = create(&world);
    let manifest = manifest(&world);
    assert_eq!(manifest["channel"], "global");
    let current = &manifest["current"];
    assert_eq!((current["id"].as_str(), current["session_id"].as_str()), (Some(id.as_str()), Some(ID)));
    assert_eq!((&current["type"], &current["status"]), (&json!("manual"), &json!("active")));
    assert_eq!(current["working_dir"], json!(world.project));
    assert!(
        current["created_at"].as_str().unwrap().ends_with('Z')
            && current["created_by_pid"].as_u64().unwrap() > 1
    );
    let contract: Value = serde_json::from_str(
        r#"{"id":0,"session_id":0,"created_at":0,"created_by_pid":0,"working_dir":0,"type":0,"status":0,"hopty_session":0,"predecessor":0,
            "sha256":0,"brief_sha256":0,"expires_at":0,"claim":0,"consumed_at":0,"consumed_by_pid":0,"consumed_by_session":0,"project":0}"#,
    )
    .unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(current), keys(&contract));
    assert_eq!(json_of(&world, &["handoff", "show", "--json"]), *current);
}

#[test]
fn item_019_current_md_is_the_document_with_its_six_headers() {
    let world = world();
    let id = create(&world);
    let current = std::fs::read_to_string(world.claude_dir().join("handoff/global-CURRENT.md")).unwrap();
    let project = world.project.display().to_string();
    let entry = manifest(&world)["current"].clone();
    let created = entry["created_at"].as_str().unwrap();
    let headers = [("HANDOFF-ID", id.as_str()), ("SESSION", ID), ("CHANNEL", "global"), ("CREATED", created)];
    let headers = headers.into_iter().chain([("TYPE", "manual"), ("WORKING-DIR", &project)]);
    let wanted: Vec<String> = headers.map(|(name, value)| format!("<!-- {name}: {value} -->")).collect();
    assert_eq!(current.lines().take(6).collect::<Vec<_>>(), wanted);
    // Title, facts, what was said last in a fence, and what Claude is to do, in this order.
    let mut rest = current.as_str();
    for part in [
        "\n# Auto-Handoff (Pre-Compaction)\n",
        &format!("\nTimestamp: {created}\n"),
        &format!("\nProject: {project}\n"),
        "\nChannel: global\n",
        &format!("\nSession: {ID}\n"),
        "\n## Recent Activity\n\n```text\nPERSON: Build the bridge.\n\nCLAUDE: It is done.\n```\n",
        "\n## Instructions for Claude\n\n1. ",
    ] {
        rest = rest
            .find(part)
            .map(|at| &rest[at + part.len() - 1..])
            .unwrap_or_else(|| panic!("no {part:?} in {rest}"));
    }
    assert_eq!(world.ask(&["handoff", "show", &id]), current);
    let path = world.ask(&["handoff", "path"]);
    assert_eq!(std::fs::read_to_string(path.trim()).unwrap(), current);
}

#[test]
fn item_033_every_function_of_the_library_is_a_verb() {
    let world = world();
    let path = talk(&world, ID, "Build the bridge.");
    // generate_handoff_id, and nothing is written by it.
    assert!(world.ask(&["handoff", "id", "--new"]).starts_with("HO-"));
    // has_active_handoff, get_active_handoff_id: none yet.
    assert!(fails(&world, &["handoff", "id"], 1).contains("no handoff waits in channel global"));
    // create_handoff, and with it write_manifest.
    let id = world.ask(&["handoff", "create", "--transcript", path.to_str().unwrap()]).trim().to_owned();
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id);
    // get_active_handoff_file.
    let file = world.ask(&["handoff", "path"]);
    assert!(std::fs::read_to_string(file.trim()).unwrap().contains(&id));
    let record = world.ask(&["handoff", "path", "--record"]);
    assert!(std::path::Path::new(record.trim()).join("state.json").is_file());
    // read_manifest: one entry, or all of them.
    assert_eq!(json_of(&world, &["handoff", "show", "--json"])["status"], "active");
    assert_eq!(json_of(&world, &["handoff", "list", "--json"])[0]["id"], json!(id));
    // load_handoff: the claim is in the manifest.
    world.ask(&["handoff", "load", "--session", OTHER]);
    assert_eq!(manifest(&world)["current"]["claim"]["session_id"], OTHER);
    // extract_recent_context.
    assert_eq!(world.ask(&["handoff", "recent", "-n", "1"]), "CLAUDE: It is done.\n");
    assert_eq!(
        json_of(&world, &["handoff", "recent", "--json"])[0],
        json!({"role": "user", "text": "Build the bridge."})
    );
    // write_session_file, get_current_session_id, get_current_transcript_path, clear_session_file.
    let file = world.claude_dir().join(".current-session");
    assert_eq!(world.ask(&["handoff", "session", "--id", "--write"]).trim(), ID);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{ID}:{}\n", path.display()));
    assert_eq!(world.ask(&["handoff", "session", "--transcript"]).trim(), path.to_str().unwrap());
    world.ask(&["handoff", "session", "--clear"]);
    world.ask(&["handoff", "session", "--clear"]);
    assert!(!file.exists());
    // clear_handoff: not while it is being loaded.
    assert!(fails(&world, &["handoff", "clear", &id], 4).contains("is being loaded by pid"));
}

#[test]
fn item_023_locks_of_scripts_and_files_are_private() {
    let world = world();
    create(&world);
    let dir = world.claude_dir().join("handoff");
    let lock = dir.join("global.lock.d");
    assert!(!lock.exists(), "it is given back");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    // While it is held a script can read by whom, and since when.
    let seconds = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let before = seconds();
    let held = hopty::fs::lock::DirLock::take(&lock, std::time::Duration::ZERO).unwrap();
    let said = std::fs::read_to_string(lock.join("pid")).unwrap();
    let (pid, since) = said.split_once(':').unwrap();
    assert_eq!(pid, std::process::id().to_string());
    assert!((before..=seconds()).contains(&since.parse::<u64>().unwrap()), "{said}");
    assert_eq!((mode(&lock), mode(&lock.join("pid"))), (0o700, 0o600));
    assert!(
        fails(&world, &["handoff", "create"], 125).contains(&format!("pid {pid}")),
        "hopty keeps out of it"
    );
    drop(held);
    assert!(!lock.exists());
    for file in ["global.manifest.json", "global-CURRENT.md", ".lock"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}

#[test]
fn item_025_the_lock_of_a_dead_script_is_cleaned_up() {
    let world = world();
    create(&world);
    let lock = world.claude_dir().join("handoff/global.lock.d");
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    std::fs::create_dir(&lock).unwrap();
    std::fs::write(lock.join("pid"), format!("{}:1795000000", dead.id())).unwrap();
    create(&world);
    assert!(!lock.exists());
}

#[test]
fn the_session_file_leads_to_a_conversation_where_nothing_better_does() {
    let world = world();
    let elsewhere = world.home.join("t.jsonl");
    let file = world.claude_dir().join(".current-session");
    fails(&world, &["handoff", "session"], 3);
    // Nothing else leads to a conversation, so the file does; not when it names what is not there, or is
    // nonsense.
    for content in [
        "",
        "x",
        ":",
        &format!("{ID}:"),
        &format!("{ID}:/not/there"),
        &format!("../../x:{}", elsewhere.display()),
    ] {
        std::fs::write(&file, content).unwrap();
        fails(&world, &["handoff", "session"], 3);
    }
    std::fs::write(&elsewhere, "{}\n").unwrap();
    std::fs::write(&file, format!("{ID}:{}\n", elsewhere.display())).unwrap();
    assert_eq!(world.ask(&["handoff", "session"]), format!("{ID}:{}\n", elsewhere.display()));
    // Another project's conversation is not this directory's; that of a directory above it is.
    let above = world.project.canonicalize().unwrap().parent().unwrap().to_path_buf();
    for (dir, code) in [("/another/project".into(), 3), (above, 0)] {
        let projects = world.claude_dir().join("projects").join(project_dir_name(&dir.to_string_lossy()));
        std::fs::create_dir_all(&projects).unwrap();
        let transcript = projects.join(format!("{ID}.jsonl"));
        std::fs::write(&transcript, "{}\n").unwrap();
        std::fs::write(&file, format!("{ID}:{}\n", transcript.display())).unwrap();
        for verb in ["session", "recent"] {
            assert_eq!(world.hopty(&["handoff", verb]).status.code(), Some(code), "{verb} {}", dir.display());
        }
    }
}
