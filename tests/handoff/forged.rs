//! Handoffs that are not what they seem, and stores that cannot be used: refused with a reason, and nothing
//! lost.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::steps::*;
use super::support::nobody;

fn document(world: &super::support::world::World, id: &str) -> std::path::PathBuf {
    world.claude_dir().join("handoff/records").join(id).join("handoff.md")
}

#[test]
fn item_027_a_changed_document_is_refused_and_left() {
    let world = world();
    let id = create(&world);
    let path = document(&world, &id);
    let forged = std::fs::read_to_string(&path).unwrap().replace("Build", "Burn");
    std::fs::write(&path, &forged).unwrap();
    for args in [&["handoff", "load"][..], &["handoff", "show"], &["handoff", "show", "--frame"]] {
        assert!(fails(&world, args, 4).contains("was changed after it was written"), "{args:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), forged);
    assert!(manifest(&world)["current"]["claim"].is_null(), "it was not claimed");
}

#[test]
fn a_document_of_another_handoff_is_refused() {
    let world = world();
    let first = create(&world);
    let second = create(&world);
    std::fs::copy(document(&world, &first), document(&world, &second)).unwrap();
    let text = std::fs::read_to_string(manifest_path(&world)).unwrap();
    let entry = |id: &str| {
        json_of(&world, &["handoff", "list", "--all", "--json"])
            .as_array()
            .unwrap()
            .iter()
            .find(|e| e["id"] == id)
            .unwrap()
            .clone()
    };
    let (old, new) = (
        entry(&second)["sha256"].as_str().unwrap().to_owned(),
        entry(&first)["sha256"].as_str().unwrap().to_owned(),
    );
    std::fs::write(manifest_path(&world), text.replace(&old, &new)).unwrap();
    assert!(
        fails(&world, &["handoff", "load", &second], 4).contains(&format!("its file belongs to {first}"))
    );
}

#[test]
fn item_026_a_document_that_vanished_is_said_to_be_gone() {
    let world = world();
    let id = create(&world);
    let record = document(&world, &id).parent().unwrap().to_owned();
    let away = world.home.join("away");
    // In the middle of being read: it is there or gone, and nothing between.
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (record, away) = (&record, &away);
        scope.spawn(move || {
            while matches!(stopped.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty)) {
                std::fs::rename(record, away).unwrap();
                std::fs::rename(away, record).unwrap();
            }
        });
        // Dropped in the end, and by a failure, too.
        let _stop = stop;
        for _ in 0..40 {
            let output = world.hopty(&["handoff", "show"]);
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            match output.status.code() {
                Some(0) => assert!(out.contains(&id) && out.contains("Build the bridge."), "{out}"),
                code => assert!(
                    code == Some(4) && out.is_empty() && err.contains("its file is gone"),
                    "{code:?} {out} {err}"
                ),
            }
        }
    });
    std::fs::remove_dir_all(&record).unwrap();
    assert!(fails(&world, &["handoff", "load"], 4).contains("its file is gone"));
    assert!(manifest(&world)["current"]["claim"].is_null(), "it was not claimed");
    // Who starts with nothing said begins afresh.
    let term = world.start(&[]);
    term.wait_box();
    world.leave(term);
}

#[test]
fn links_and_files_that_others_can_write_are_refused() {
    let world = world();
    let id = create(&world);
    let path = document(&world, &id);
    for mode in [0o620, 0o602, 0o666] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(fails(&world, &["handoff", "load"], 4).contains("can be written by others"), "{mode:o}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let elsewhere = world.home.join("copy.md");
    std::fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert!(fails(&world, &["handoff", "load"], 4).contains("is a symbolic link"));
    let manifest = manifest_path(&world);
    std::fs::set_permissions(&manifest, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(fails(&world, &["handoff", "load"], 125).contains("can be written by others"));
    let handoff = world.claude_dir().join("handoff");
    std::fs::set_permissions(&manifest, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::set_permissions(&handoff, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(fails(&world, &["handoff", "create"], 125).contains("can be written by others"));
}

#[test]
fn a_corrupt_or_future_manifest_is_kept_aside_and_told() {
    let world = world();
    create(&world);
    for text in [
        "{",
        "",
        "[]",
        "{\"channel\":\"other\"}",
        "{\"version\":9,\"channel\":\"global\"}",
        "{\"channel\":\"global\",\"current\":{\"id\":\"x\"}}",
    ] {
        std::fs::write(manifest_path(&world), text).unwrap();
        let output = world.hopty(&["handoff", "list"]);
        assert!(
            output.status.success() && self::text(&output.stderr).contains("cannot be read"),
            "{text:?}: {output:?}"
        );
        assert_eq!(std::fs::read_to_string(manifest_path(&world)).unwrap(), text, "reading changes nothing");
        let output = world.hopty(&["handoff", "create"]);
        assert!(output.status.success(), "{text:?}: {output:?}");
        assert!(self::text(&output.stderr).contains("hopty keeps it as"), "{text:?}: {output:?}");
        let output = world.hopty(&["handoff", "list"]);
        assert!(!self::text(&output.stderr).contains("hopty:"), "told once: {output:?}");
    }
    let names = std::fs::read_dir(world.claude_dir().join("handoff")).unwrap();
    assert_eq!(
        names
            .filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().contains(".corrupt-"))
            .count(),
        6
    );
}

#[test]
fn item_029_a_directory_that_cannot_be_written_loses_nothing() {
    let world = world();
    let id = create(&world);
    // Modes say nothing to root.
    let other = nix::unistd::geteuid().is_root().then(|| nobody::give(&world));
    if matches!(other, Some(None)) {
        return;
    }
    let run = |args: &[&str]| match other.as_ref().and_then(Option::as_ref) {
        Some(hopty) => nobody::command(&world, hopty, args).output().unwrap(),
        None => world.hopty(args),
    };
    for dir in ["handoff/records", "handoff"] {
        let dir = world.claude_dir().join(dir);
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap();
        let output = run(&["handoff", "create"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(
            said.contains("Permission denied")
                && said.contains(dir.to_str().unwrap())
                && said.contains("hint: "),
            "{said}"
        );
        let output = run(&["handoff", "show"]);
        assert!(output.status.success() && text(&output.stdout).contains(&id), "{}", text(&output.stderr));
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    std::fs::set_permissions(world.claude_dir().join("handoff"), std::fs::Permissions::from_mode(0o500))
        .unwrap();
    let output = run(&["handoff", "load"]);
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    // Neither half a record nor a claim that nobody holds was left, and what was there is loaded when it can
    // be.
    let records: Vec<_> = std::fs::read_dir(world.claude_dir().join("handoff/records"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(records, [id.as_str()]);
    std::fs::set_permissions(world.claude_dir().join("handoff"), std::fs::Permissions::from_mode(0o700))
        .unwrap();
    let output = run(&["handoff", "load"]);
    assert!(
        output.status.success() && text(&output.stdout).contains("Build the bridge."),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_manifest_of_the_source_document_is_read() {
    let world = world();
    let dir = world.claude_dir().join("handoff");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    let id = "HO-20261120-142950-c74cc080";
    std::fs::write(
        manifest_path(&world),
        format!(
            r#"{{"channel":"global","current":{{"id":"{id}","session_id":"{ID}","created_at":"2026-11-20T14:29:50Z","created_by_pid":1,
            "working_dir":"/home/u/proj","type":"auto","status":"active"}}}}"#
        ),
    )
    .unwrap();
    std::fs::write(
        dir.join("global-CURRENT.md"),
        format!(
            "<!-- HANDOFF-ID: {id} -->\n<!-- SESSION: {ID} -->\n<!-- CHANNEL: global -->\n<!-- CREATED: \
             2026-11-20T14:29:50Z -->\n\
             <!-- TYPE: auto -->\n<!-- WORKING-DIR: /home/u/proj -->\n\n# Auto-Handoff \
             (Pre-Compaction)\n\n## Recent Activity\n\n\
             ```\nthe deck is next \u{1b}[2J\n```\n"
        ),
    )
    .unwrap();
    let frame = world.ask(&["handoff", "load", id]);
    assert!(frame.contains("the deck is next") && !frame.contains('\u{1b}'), "{frame}");
    assert!(!world.ask(&["handoff", "show", id]).contains('\u{1b}'));
}
