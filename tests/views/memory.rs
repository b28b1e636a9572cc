//! Layout `memory`: raw copies of transcripts, and what the next conversation is told of them.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use hopty::standin::script::{Script, ScriptedReply};

use super::steps::*;
use super::support::both;
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::World;

fn memory(world: &World, name: &str) -> PathBuf {
    below(world, ".claude/memory").join(name)
}

fn text(world: &World, name: &str) -> String {
    std::fs::read_to_string(memory(world, name)).unwrap_or_default()
}

/// The newest copy, by the marker.
fn marked(world: &World) -> PathBuf {
    let marker = text(world, ".pending-backup");
    assert_eq!(marker.lines().count(), 1, "{marker:?}");
    PathBuf::from(marker.trim_end())
}

fn raw(world: &World) -> Vec<String> {
    names(&memory(world, "raw"))
}

/// What the conversation that a new Claude begins is told: the text of its first request.
fn first_request(world: &World, term: &Term) -> String {
    request_with(world, term, "Say hello again.")
}

/// The text of the request that begins with this prompt, which nobody has said before.
fn request_with(world: &World, term: &Term, prompt: &str) -> String {
    term.wait_box();
    term.submit(prompt);
    wait_for("the request", || {
        let conversation = world.status()["conversation"].as_str()?.to_owned();
        let requests = world.api.requests_of(&conversation);
        let first = requests.iter().find(|r| r.contains(prompt))?;
        Some(first.texts().iter().map(|(_, text)| text.to_string()).collect::<Vec<_>>().join("\n"))
    })
}

fn item_119_the_tree_has_copies_marker_list_and_log_and_nothing_else_is_touched(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    put_persons(&world);
    let (term, _) = talk(&world);
    world.ask(&["handoff", "create"]);
    let copy = marked(&world);
    assert_eq!(copy.parent().unwrap(), memory(&world, "raw"));
    let name = copy.file_name().unwrap().to_str().unwrap();
    let (stamp, reason) = name.split_at(15);
    assert!(
        stamp.bytes().enumerate().all(|(n, b)| if n == 8 { b == b'_' } else { b.is_ascii_digit() }),
        "{name}"
    );
    assert_eq!(reason, "_handoff.jsonl");
    assert_eq!(text(&world, ".pending-backups"), format!("{}\n", copy.display()));
    assert!(text(&world, ".backup-log").contains(&format!("] handoff: {} (", copy.display())));
    for path in [copy, memory(&world, ".pending-backup"), memory(&world, ".backup-log")] {
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
    }
    world.leave(term);
    // All that the two of them left: the person's files as they were, and these.
    assert_persons(&world);
    let persons = |dir: &str| {
        PERSONS.iter().filter_map(|(name, _)| name.strip_prefix(dir).map(str::to_owned)).collect::<Vec<_>>()
    };
    let hoptys =
        [".backup-log", ".pending-backup", ".pending-backups", "active-context.md", "raw"].map(str::to_owned);
    let mut all: Vec<String> = persons("memory/").into_iter().chain(hoptys).collect();
    all.sort();
    assert_eq!(names(&memory(&world, "")), all);
    assert_eq!(
        names(&below(&world, ".claude")),
        ["CLAUDE.md", "commands", "hooks", "memory", "scripts", "settings.json"]
    );
    let copies: Vec<String> = raw(&world).iter().map(|name| name[15..].to_owned()).collect();
    assert_eq!(copies.len(), 2, "one of the handoff and one of the end: {copies:?}");
}

/// What is not hopty's: the person's files round that tree, with something in each.
const PERSONS: [(&str, &str); 7] = [
    ("CLAUDE.md", "@memory/active-context.md\n@memory/project-memory.md\n"),
    ("settings.json", "{}\n"),
    ("commands/resume-latest.md", "Read the marker.\n"),
    ("hooks/on-session-end.sh", "exit 0\n"),
    ("scripts/discard-backup.sh", "exit 0\n"),
    ("memory/project-memory.md", "Stone is hard.\n"),
    ("memory/session-2026-11-20-1430.md", "by hand\n"),
];

fn put_persons(world: &World) {
    for (name, text) in PERSONS {
        let path = below(world, ".claude").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn assert_persons(world: &World) {
    for (name, text) in PERSONS {
        assert_eq!(std::fs::read_to_string(below(world, ".claude").join(name)).unwrap(), text, "{name}");
    }
}

#[test]
fn item_120_what_is_loaded_by_at_has_the_time_of_the_end_and_the_rest_is_the_persons() {
    // The real Claude, where there is one, loads them: what hopty wrote reaches the next conversation.
    for kind in [Kind::StandIn, Kind::Real] {
        let script = Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000));
        let Some(mut world) = World::new(kind, script) else { return };
        world.set("HOPTY_HANDOFF_VIEWS", "memory");
        put_persons(&world);
        std::fs::write(memory(&world, "active-context.md"), "# Active\nNext: paint\n").unwrap();
        let (term, _) = talk(&world);
        world.leave(term);
        assert_persons(&world);
        let context = text(&world, "active-context.md");
        let ended = context
            .strip_prefix("# Active\nNext: paint\n\nLast session ended: ")
            .unwrap_or_else(|| panic!("{context}"));
        if kind == Kind::Real {
            let term = world.start(&[]);
            let request = first_request(&world, &term);
            // Claude leaves comments out.
            let at = format!("Last session ended: {}", ended.lines().next().unwrap());
            for part in [
                "Stone is hard.",
                "Next: paint",
                &at,
                "- Request: Say hello to me.",
                "## Its next steps\n\n- ",
                "## Its blockers\n\n- none seen",
            ] {
                assert!(request.contains(part), "{part:?} is not in {request}");
            }
            world.leave(term);
        }
    }
}

/// Whether the marker stands, and the copy that it names.
fn marked_there(world: &World) -> bool {
    let marker = std::fs::read_to_string(memory(world, ".pending-backup")).unwrap_or_default();
    !marker.is_empty() && Path::new(marker.trim_end()).is_file()
}

#[test]
fn item_122_the_end_of_a_session_leaves_copy_marker_time_and_line() {
    let world = world("memory");
    let (term, _) = talk(&world);
    world.leave(term);
    assert_eq!(raw(&world).len(), 1);
    let reason =
        marked(&world).file_name().unwrap().to_str().unwrap()[16..].trim_end_matches(".jsonl").to_owned();
    assert!(!reason.is_empty());
    assert!(
        text(&world, "active-context.md").contains(&format!(" ({reason})\n")),
        "{}",
        text(&world, "active-context.md")
    );
    assert_eq!(text(&world, ".backup-log").lines().count(), 1);
}

#[test]
fn item_123_before_a_compaction_the_transcript_is_copied() {
    let world = world("memory");
    let (term, _) = talk(&world);
    term.submit("/compact");
    wait_for("the copy", || memory(&world, ".backup-log").exists().then_some(()));
    let all = raw(&world);
    assert!(all.len() == 1 && all[0].ends_with("_precompact.jsonl"), "the reason is always there: {all:?}");
    assert!(!memory(&world, "active-context.md").exists(), "nothing ended");
    world.leave(term);
}

fn item_131_what_was_copied_before_a_compaction_is_told_after_it(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    let (term, conversation) = talk(&world);
    term.submit("/compact");
    wait_for("the copy", || memory(&world, ".backup-log").exists().then_some(()));
    let copy = std::fs::read_to_string(marked(&world)).unwrap();
    assert!(
        copy.contains("Say hello to me.") && copy.contains(&conversation),
        "what the summary leaves out is in it"
    );
    world.wait_state("idle");
    // The compacted conversation itself is told where the rest lies, and so is the next session.
    let named =
        format!("SESSION_BACKUP_PENDING: A previous session backup exists at {}\n", marked(&world).display());
    assert!(request_with(&world, &term, "After the compaction.").contains(&named));
    world.wait_state("idle");
    world.leave(term);
    let term = world.start(&[]);
    assert!(first_request(&world, &term).contains("SESSION_BACKUP_PENDING"));
    world.leave(term);
}

#[test]
fn item_121_the_next_conversation_is_told_of_a_backup_in_two_lines() {
    let world = world("memory");
    let (term, _) = talk(&world);
    world.leave(term);
    let copy = marked(&world);
    let term = world.start(&[]);
    let request = first_request(&world, &term);
    let lines = format!(
        "SESSION_BACKUP_PENDING: A previous session backup exists at {}\nUser should run /resume-latest to \
         restore context, or /discard-backup to discard.",
        copy.display()
    );
    assert!(request.contains(&lines), "{request}");
    assert!(!sent(&term).contains("SESSION_BACKUP_PENDING"), "it goes to Claude, not to the terminal");
    world.leave(term);
    // A marker whose copy is gone is cleaned up, and nothing is told.
    std::fs::remove_dir_all(memory(&world, "raw")).unwrap();
    let term = world.start(&[]);
    assert!(!first_request(&world, &term).contains("SESSION_BACKUP_PENDING"));
    assert!(!memory(&world, ".pending-backup").exists());
    world.leave(term);
}

#[test]
fn item_121_it_is_told_at_a_start_a_clear_a_compaction_and_a_resume() {
    for kind in [Kind::StandIn, Kind::Real] {
        let Some(mut world) =
            World::new(kind, Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000)))
        else {
            return;
        };
        world.set("HOPTY_HANDOFF_VIEWS", "memory");
        let (term, _) = talk(&world);
        world.leave(term);
        let term = world.start(&[]);
        assert!(
            request_with(&world, &term, "After the start.").contains("SESSION_BACKUP_PENDING"),
            "{kind:?}"
        );
        world.wait_state("idle");
        let before = world.status()["conversation"].clone();
        term.submit("/clear");
        wait_for("another conversation", || {
            Some(world.status()["conversation"].clone()).filter(|now| *now != before && now.is_string())
        });
        assert!(
            request_with(&world, &term, "After the clear.").contains("SESSION_BACKUP_PENDING"),
            "{kind:?}"
        );
        world.wait_state("idle");
        let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
        term.submit("/compact");
        let compacted = |line: &serde_json::Value| line["subtype"] == "compact_boundary";
        wait_for("a compaction", || world.transcript(&conversation).iter().any(compacted).then_some(()));
        wait_for("its copy", || {
            raw(&world).iter().any(|name| name.ends_with("_precompact.jsonl")).then_some(())
        });
        assert!(
            request_with(&world, &term, "After the compaction.").contains("_precompact.jsonl"),
            "{kind:?}"
        );
        world.wait_state("idle");
        world.leave(term);
        let newest = marked(&world).display().to_string();
        let term = world.start(&["--continue"]);
        assert!(request_with(&world, &term, "After the resume.").contains(&newest), "{kind:?}");
        world.leave(term);
    }
}

/// However long the copy takes: a conversation that a person clears has megabytes.
#[test]
fn item_121_a_cleared_conversation_s_copy_is_told_at_once() {
    for kind in [Kind::StandIn, Kind::Real] {
        let Some(mut world) =
            World::new(kind, Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000)))
        else {
            return;
        };
        world.set("HOPTY_HANDOFF_VIEWS", "memory");
        let (term, conversation) = talk(&world);
        let projects = world.claude_dir().join("projects");
        let transcript = projects.join(&names(&projects)[0]).join(format!("{conversation}.jsonl"));
        let mut file = std::fs::OpenOptions::new().append(true).open(&transcript).unwrap();
        std::io::copy(&mut std::io::Read::take(std::io::repeat(b'\n'), 48 << 20), &mut file).unwrap();
        wait_for("all of it to be read", || {
            (world.status()["context"]["bytes"].as_u64()? >= 48 << 20).then_some(())
        });
        term.submit("/clear");
        wait_for("another conversation", || {
            Some(world.status()["conversation"].clone())
                .filter(|now| now.as_str().is_some_and(|now| now != conversation))
        });
        assert!(request_with(&world, &term, "After the clear.").contains("_clear.jsonl"), "{kind:?}");
        wait_for("the copy", || marked_there(&world).then_some(()));
        assert!(std::fs::metadata(marked(&world)).unwrap().len() >= 48 << 20, "{kind:?}");
        world.leave(term);
    }
}

#[test]
fn item_122_who_restarts_without_a_handoff_has_the_copy() {
    let world = world("memory");
    let (term, conversation) = talk(&world);
    world.ask(&["restart", "proj", "--no-handoff", "--wait"]);
    wait_for("the copy", || marked_there(&world).then_some(()));
    assert!(std::fs::read_to_string(marked(&world)).unwrap().contains(&conversation));
    world.leave(term);
}

#[test]
fn item_122_a_claude_that_says_no_word_at_its_end_is_copied_too() {
    for hooks in ["true", "false"] {
        let mut world = world("memory");
        world.set("HOPTY_HOOKS_INJECT", hooks);
        let (term, conversation) = talk(&world);
        wait_for("its transcript to be found", || world.status()["transcript"].is_string().then_some(()));
        world.ask(&["stop", "proj", "--kill"]);
        wait_for(&format!("the copy, hooks {hooks}"), || marked_there(&world).then_some(()));
        assert!(std::fs::read_to_string(marked(&world)).unwrap().contains(&conversation), "hooks: {hooks}");
        assert_eq!(raw(&world).len(), 1, "hooks: {hooks}");
        drop(term);
        world.assert_nothing_left();
    }
}

#[test]
fn item_122_what_was_never_written_is_not_copied() {
    let world = world("memory");
    let term = world.start(&[]);
    world.wait_state("idle");
    world.leave(term);
    assert!(!memory(&world, "").exists());
    assert!(
        !world.decisions().iter().any(|decision| decision["kind"] == "degraded"),
        "{:?}",
        world.decisions()
    );
}

/// A hand-over's own copy is settled with it; what waited before waits on.
fn item_132_a_hand_over_makes_no_earlier_copy_forgotten(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    let (term, _) = talk(&world);
    world.leave(term);
    let first = marked(&world);
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    wait_for("the hand-over's copy to be settled", || {
        (raw(&world).len() == 2 && marked_there(&world) && marked(&world) == first).then_some(())
    });
    assert_eq!(text(&world, ".pending-backups"), format!("{}\n", first.display()));
    world.leave(term);
}

fn item_132_each_exit_leaves_a_copy_and_none_is_forgotten(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    for round in 1..=2 {
        let (term, _) = talk(&world);
        world.leave(term);
        assert_eq!((raw(&world).len(), text(&world, ".pending-backups").lines().count()), (round, round));
    }
    assert!(
        text(&world, ".pending-backups").ends_with(&text(&world, ".pending-backup")),
        "the marker holds the newest"
    );
    assert_eq!(text(&world, "active-context.md").matches("Last session ended: ").count(), 1);
}

fn item_133_nothing_of_a_backup_is_loaded_by_itself(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Paint it saffron.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    world.leave(term);
    let copy = marked(&world);
    let whole = std::fs::read_to_string(&copy).unwrap();
    assert!(whole.contains("saffron"), "what could be loaded is there");
    // A start, a cleared and a compacted conversation are told that there is one, and nothing of what is in
    // it.
    let term = world.start(&[]);
    let mut told = vec![first_request(&world, &term)];
    world.wait_state("idle");
    for (command, prompt) in [("/clear", "And after a clear."), ("/compact", "And after a compaction.")] {
        let before = (world.status()["conversation"].clone(), raw(&world).len());
        term.submit(command);
        wait_for("it to be done", || (raw(&world).len() > before.1).then_some(()));
        if command == "/clear" {
            wait_for("another conversation", || {
                Some(world.status()["conversation"].clone()).filter(|now| *now != before.0 && now.is_string())
            });
        }
        told.push(request_with(&world, &term, prompt));
        world.wait_state("idle");
    }
    for request in told {
        assert!(request.contains("SESSION_BACKUP_PENDING: ") && !request.contains("saffron"), "{request}");
    }
    assert!(!sent(&term).contains("saffron"), "nor is the person shown any of it");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), whole, "the copy is as it was");
    assert!(
        text(&world, ".pending-backups").contains(&format!("{}\n", copy.display())),
        "and waits for the person"
    );
    world.leave(term);
}

#[test]
fn item_134_the_context_comes_first() {
    let world = world("memory");
    std::fs::create_dir_all(memory(&world, "")).unwrap();
    // The copy cannot be made: what is updated before it is there all the same.
    symlink(world.root.path(), memory(&world, "raw")).unwrap();
    let (term, _) = talk(&world);
    world.leave(term);
    assert!(text(&world, "active-context.md").contains("Last session ended: "));
    assert!(!memory(&world, ".pending-backup").exists());
}

#[test]
fn item_135_a_copy_is_the_transcript_byte_for_byte() {
    let world = world("memory");
    let (term, conversation) = talk(&world);
    world.ask(&["handoff", "create"]);
    let projects = names(&world.claude_dir().join("projects"));
    let source = world.claude_dir().join("projects").join(&projects[0]).join(format!("{conversation}.jsonl"));
    // Claude goes on writing lines of its own.
    let (copy, source) =
        (std::fs::read_to_string(marked(&world)).unwrap(), std::fs::read_to_string(source).unwrap());
    assert!(source.starts_with(&copy) && copy.contains("\"Hello.\""), "{copy}");
    world.leave(term);
}

/// Save by hand, leave, and go on in a new session with what was saved.
fn item_130_what_was_saved_by_hand_is_gone_on_from_when_a_person_wants_to(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    put_persons(&world);
    let (term, conversation) = talk(&world);
    std::fs::write(below(&world, "words.md"), "The pier stands; the deck is next.\n").unwrap();
    let id = world.ask(&["handoff", "create", "--summary-file", "words.md"]).trim().to_owned();
    let by_hand = marked(&world);
    world.leave(term);
    assert_persons(&world);
    assert!(by_hand.is_file() && text(&world, "active-context.md").contains("Last session ended: "));
    // A new session is told of it and begins without it.
    let term = world.start(&[]);
    if kind == Kind::StandIn {
        // The real one draws over it.
        term.wait_text(&format!("hopty: a handoff waits: {id}"));
    }
    let request = first_request(&world, &term);
    assert!(!request.contains("HANDOFF LOADED") && !request.contains("the deck is next"), "{request}");
    world.leave(term);
    // Who wants the whole of it says so.
    let term = world.start(&["--handoff"]);
    assert_eq!(consumed(&world, 1), id);
    let new = world.status()["conversation"].as_str().unwrap().to_owned();
    assert_ne!(new, conversation);
    let first = world.api.requests_of(&new).into_iter().find(|r| r.contains("HANDOFF LOADED")).unwrap();
    for part in [id.as_str(), "Say hello to me.", "The pier stands; the deck is next."] {
        assert!(first.contains(part), "{part:?} is not in it");
    }
    world.leave(term);
    assert_persons(&world);
}

#[test]
fn a_handoff_that_is_consumed_settles_its_own_copy() {
    let world = world("memory");
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    wait_for("the marker to go", || {
        (!raw(&world).is_empty() && !memory(&world, ".pending-backup").exists()).then_some(())
    });
    assert_eq!(raw(&world).len(), 1, "the end that hopty itself made is no second copy: {:?}", raw(&world));
    world.leave(term);
}

fn item_132_a_closed_terminal_ends_nothing_and_the_copy_comes_with_the_end(kind: Kind) {
    let Some(world) = world_of(kind, "memory") else { return };
    let (mut term, _) = talk(&world);
    term.hang_up();
    wait_for("the client to go", || world.status()["clients"].as_array()?.is_empty().then_some(()));
    assert_eq!(world.status()["state"], "idle", "the conversation goes on without a terminal");
    assert!(!memory(&world, ".pending-backup").exists());
    world.ask(&["stop", "proj"]);
    wait_for("the copy", || {
        (raw(&world).len() == 1 && memory(&world, ".pending-backup").exists()).then_some(())
    });
    assert!(marked(&world).is_file());
    world.assert_nothing_left();
    drop(world);
    // Who wants a closed terminal to be the end has the copy then, the time of the end, and is told at the
    // next start.
    let Some(mut world) = world_of(kind, "memory") else { return };
    world.set("HOPTY_TERMINAL_ON_HANGUP", "end");
    let (mut term, _) = talk(&world);
    term.hang_up();
    wait_for("the copy", || (raw(&world).len() == 1 && marked_there(&world)).then_some(()));
    wait_for("the end", || text(&world, "active-context.md").contains("Last session ended: ").then_some(()));
    world.assert_nothing_left();
    let term = world.start(&[]);
    assert!(first_request(&world, &term).contains("SESSION_BACKUP_PENDING"));
    world.leave(term);
}

both! {
    item_119_the_tree_has_copies_marker_list_and_log_and_nothing_else_is_touched,
    item_130_what_was_saved_by_hand_is_gone_on_from_when_a_person_wants_to,
    item_131_what_was_copied_before_a_compaction_is_told_after_it,
    item_132_each_exit_leaves_a_copy_and_none_is_forgotten,
    item_132_a_hand_over_makes_no_earlier_copy_forgotten,
    item_132_a_closed_terminal_ends_nothing_and_the_copy_comes_with_the_end,
    item_133_nothing_of_a_backup_is_loaded_by_itself,
}
