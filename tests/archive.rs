//! The archive and backups, as a person uses them: conversations that the real Claude made are put away,
//! brought back and gone on with, on the newest version and on the oldest that must work in full; a full
//! disk, conversations that are open, and what Claude is about to delete.

#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use hopty::standin::home;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;
use support::claude::{self, Kind};
use support::small_disk::SmallDisk;
use support::term::Term;
use support::wait_for;
use support::world::World;

const FACT: &str = "The bridge is called Zwischenwasser.";
const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

/// Starts hopty, submits a prompt, and waits until a request has it: early versions lose an Enter that comes
/// while they start.
fn begin(world: &World, args: &[&str], prompt: &str) -> Term {
    let term = world.start(args);
    let is_box = |line: &String| ["❯\u{a0}", "> "].iter().any(|sign| line.starts_with(sign));
    term.wait_for("the prompt box", |screen| screen.lines().iter().any(is_box));
    term.send(prompt);
    term.wait_text(prompt);
    let mut next = Instant::now();
    wait_for("the request", || {
        if Instant::now() >= next {
            next += Duration::from_secs(1);
            term.send("\r");
        }
        world.api.main_requests().iter().any(|request| request.contains(prompt)).then_some(())
    });
    term
}

fn script() -> Script {
    Script::each(|request, _| match request.contains("what is the name?") {
        true => ScriptedReply::text("I know it.").filling(2000),
        false => ScriptedReply::text("Noted.").filling(1000),
    })
}

/// A conversation in which a fact was told; gives its id and its transcript.
fn told(world: &World) -> (String, PathBuf) {
    let term = begin(world, &[], FACT);
    term.wait_text("Noted.");
    world.wait_state("idle");
    // It is open: nothing is archived.
    let refused = world.hopty(&["conversations", "archive", "--older-than", "0d", "--remove"]);
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(said.contains("open in session proj"), "{said}");
    world.leave(term);
    let listed: Vec<Value> = serde_json::from_str(&world.ask(&["conversations", "ls", "--json"])).unwrap();
    let text = |key: &str| listed[0][key].as_str().unwrap().to_owned();
    (text("id"), PathBuf::from(text("transcript")))
}

/// Resumes a conversation and asks: the request has what was told.
fn remembers(world: &World, id: &str) {
    let term = begin(world, &["--resume", id], "what is the name?");
    term.wait_text("I know it.");
    let requests = world.api.main_requests();
    let last = requests.iter().rev().find(|request| request.contains("what is the name?")).unwrap();
    assert!(last.contains(FACT), "the conversation was lost");
    world.wait_state("idle");
    world.leave(term);
}

#[test]
fn item_078_a_conversation_is_put_away_comes_back_and_goes_on_newest() {
    if let Some(program) = claude::real() {
        is_archived_and_goes_on(program);
    }
}

#[test]
fn item_078_a_conversation_is_put_away_comes_back_and_goes_on_oldest() {
    if let Some(program) = claude::version(claude::OLDEST) {
        is_archived_and_goes_on(program);
    }
}

#[test]
fn item_081_a_backup_goes_on_in_another_home_newest() {
    if let Some(program) = claude::real() {
        is_backed_up_and_goes_on(program);
    }
}

#[test]
fn item_081_a_backup_goes_on_in_another_home_oldest() {
    if let Some(program) = claude::version(claude::OLDEST) {
        is_backed_up_and_goes_on(program);
    }
}

fn is_archived_and_goes_on(program: PathBuf) {
    let world = World::with(Kind::Real, Some(program), script());
    let (id, transcript) = told(&world);
    let before = std::fs::read(&transcript).unwrap();
    let moved = world.ask(&["conversations", "archive", &id[..8], "--remove"]);
    assert!(moved.starts_with("moved") && moved.contains(&id[..8]), "{moved}");
    assert!(!transcript.exists());
    let listed: Vec<Value> = serde_json::from_str(&world.ask(&["conversations", "ls", "--json"])).unwrap();
    assert_eq!((listed.len(), &listed[0]["archived"]), (1, &Value::Bool(true)));
    let kept = world.ask(&["conversations", "archive", "--list"]);
    assert!(kept.contains(&id[..8]), "{kept}");
    let found = world.ask(&["conversations", "search", "Zwischen\\w+", "--json"]);
    assert!(found.contains(&id) && found.contains("\"archived\""), "{found}");
    let restored = world.ask(&["conversations", "restore", &id[..8]]);
    assert!(restored.contains(&format!("hopty --resume {id}")), "{restored}");
    assert_eq!(std::fs::read(&transcript).unwrap(), before);
    let again = world.hopty(&["conversations", "restore", &id]);
    assert_eq!(again.status.code(), Some(1), "never over one that is there");
    remembers(&world, &id);
    world.assert_nothing_left();
}

fn is_backed_up_and_goes_on(program: PathBuf) {
    let mut world = World::with(Kind::Real, Some(program), script());
    let (id, _) = told(&world);
    let made: Value = serde_json::from_str(&world.ask(&["backup", "create", "--json"])).unwrap();
    let file = made["file"].as_str().unwrap();
    assert!(Path::new(file).starts_with(&world.home), "{file}");
    assert_eq!(std::fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    assert_eq!(made["read_back"], true);
    another_home(&mut world);
    assert!(world.ask(&["backup", "verify", file]).starts_with("intact: "));
    let planned = world.ask(&["backup", "restore", file, "--dry-run"]);
    assert!(planned.contains(&id) && !planned.contains("settings.json"), "{planned}");
    world.ask(&["backup", "restore", file]);
    remembers(&world, &id);
    world.assert_nothing_left();
}

/// From here on the world has another home, in which Claude was never used.
fn another_home(world: &mut World) {
    let (old, new) = (world.home.clone(), world.home.with_file_name("other-home"));
    std::fs::create_dir(&new).unwrap();
    let key = world.env.iter().find(|(name, _)| name == "ANTHROPIC_API_KEY").unwrap().1.clone();
    home::seed(&new, &world.project, key.to_str().unwrap()).unwrap();
    for (_, value) in &mut world.env {
        let text = value.to_str().unwrap().to_owned();
        if let Some(below) = text.strip_prefix(old.to_str().unwrap()) {
            *value = format!("{}{below}", new.display()).into();
        }
    }
    world.home = new;
}

/// A world of files alone, with a transcript that was written so many days ago.
fn files(days: u64) -> (World, PathBuf) {
    let world = World::new(Kind::StandIn, Script::list([ScriptedReply::text("hello")])).unwrap();
    let dir = world.claude_dir().join("projects/-p");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{ID}.jsonl"));
    // Random enough that it does not shrink to nothing.
    let line = |n: u64| {
        let text: String =
            (0..40).map(|k| format!("{:x} ", (n * 41 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        format!(
            "{{\"type\":\"user\",\"cwd\":\"/p\",\"sessionId\":\"{ID}\",\"message\":{{\"content\":\"{text}\"}}}}\n"
        )
    };
    std::fs::write(&path, (0..6000).map(line).collect::<String>()).unwrap();
    age(&path, days);
    (world, path)
}

/// Dates a file this many days back.
fn age(path: &Path, days: u64) {
    let at = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

fn text(world: &World, args: &[&str]) -> String {
    let output = world.hopty(args);
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn item_080_by_age_and_before_claude_deletes_it() {
    let (world, _) = files(12);
    let young = text(&world, &["conversations", "archive", "--older-than", "13d", "--dry-run"]);
    assert!(young.contains("no conversation is old enough"), "{young}");
    let told = text(&world, &["conversations", "archive", "--dry-run"]);
    assert!(told.contains(&ID[..8]) && told.contains("after 30 days without use (its default)"), "{told}");
    std::fs::write(world.claude_dir().join("settings.json"), r#"{"cleanupPeriodDays": 20}"#).unwrap();
    let told = text(&world, &["conversations", "archive", "--dry-run"]);
    assert!(told.contains("after 20 days without use (cleanupPeriodDays in your settings)"), "{told}");
    assert!(!world.home.join(".local/share/hopty/archive").exists(), "nothing was written");
}

#[test]
fn a_start_archives_in_the_background_what_claude_would_delete_soon() {
    let (world, path) = files(25);
    let archived = world.home.join(format!(".local/share/hopty/archive/-p/{ID}.jsonl.zst"));
    // Who has shortened the time wants them gone.
    let settings = world.claude_dir().join("settings.json");
    let before = std::fs::read_to_string(&settings).unwrap_or_else(|_| "{}".to_owned());
    std::fs::write(&settings, r#"{"cleanupPeriodDays": 20}"#).unwrap();
    assert_eq!(text(&world, &["conversations", "archive", "--auto"]), "");
    assert!(!archived.exists());
    std::fs::write(&settings, before).unwrap();
    let term = world.start(&[]);
    wait_for("the archive", || archived.exists().then_some(()));
    assert!(path.exists(), "the conversation stays");
    world.leave(term);
    wait_for("the end of the process in the background", || world.processes().is_empty().then_some(()));
}

/// `--older-than`, and `archive.auto`.
#[test]
fn what_is_archived_is_as_wanted() {
    let (mut world, path) = files(12);
    assert!(text(&world, &["conversations", "archive", "--dry-run"]).contains(&ID[..8]));
    let young = text(&world, &["conversations", "archive", "--dry-run", "--older-than", "13d"]);
    assert!(young.contains("no conversation is old enough"), "{young}");
    let archived = world.home.join(format!(".local/share/hopty/archive/-p/{ID}.jsonl.zst"));
    // Claude would delete it in 18 days, and then in 9.
    for (days, auto, is_there) in [(12, "on", false), (21, "off", false), (21, "on", true)] {
        age(&path, days);
        world.set("HOPTY_ARCHIVE_AUTO", auto);
        assert_eq!(text(&world, &["conversations", "archive", "--auto"]), "");
        assert_eq!(archived.exists(), is_there, "{days} {auto}");
    }
    // Whoever has shortened the time wants them gone, unless they say otherwise.
    std::fs::remove_file(&archived).unwrap();
    std::fs::write(world.claude_dir().join("settings.json"), r#"{"cleanupPeriodDays": 20}"#).unwrap();
    for (auto, is_there) in [("on", false), ("always", true)] {
        world.set("HOPTY_ARCHIVE_AUTO", auto);
        assert_eq!(text(&world, &["conversations", "archive", "--auto"]), "");
        assert_eq!(archived.exists(), is_there, "{auto}");
    }
}

#[test]
fn the_archive_has_a_limit_and_loses_nothing_by_itself() {
    let (world, path) = files(25);
    std::fs::create_dir_all(world.home.join(".config/hopty")).unwrap();
    std::fs::write(world.home.join(".config/hopty/config.toml"), "[archive]\nmax_mb = 0\n").unwrap();
    let full = text(&world, &["conversations", "archive", ID]);
    assert!(full.contains("reached its limit") && full.contains("--prune"), "{full}");
    std::fs::remove_file(world.home.join(".config/hopty/config.toml")).unwrap();
    world.ask(&["conversations", "archive", ID, "--remove"]);
    std::fs::write(world.home.join(".config/hopty/config.toml"), "[archive]\nmax_mb = 0\n").unwrap();
    let listed = text(&world, &["conversations", "archive", "--prune"]);
    assert!(listed.contains("would delete") && listed.contains("--yes"), "{listed}");
    let restored = text(&world, &["conversations", "restore", ID]);
    assert!(restored.contains("dated now") && path.exists(), "{restored}");
    let deleted = text(&world, &["conversations", "archive", "--prune", "--yes"]);
    assert!(deleted.starts_with("deleted"), "{deleted}");
    assert!(text(&world, &["conversations", "archive", "--list"]).contains("the archive is empty"));
}

#[test]
fn a_disk_that_fills_leaves_the_conversation_and_no_half_of_an_archive_or_backup() {
    let (world, path) = files(25);
    let data = world.home.join(".local/share/hopty");
    let Some(_disk) = SmallDisk::mount(&data, "512k") else { return };
    let before = std::fs::read(&path).unwrap();
    for args in [&["conversations", "archive", ID, "--remove"][..], &["backup", "create"]] {
        let said = text(&world, args);
        assert!(said.contains("No space left on device") && said.contains("hint: "), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{args:?}");
    }
    let mut dirs = vec![data];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(
                !name.ends_with(".zst") && !name.starts_with(".hopty-tmp-") && !name.contains(".tar"),
                "{name}"
            );
            if entry.path().is_dir() {
                dirs.push(entry.path());
            }
        }
    }
}

#[test]
fn a_passphrase_comes_from_a_descriptor_or_a_terminal_and_never_from_the_command_line() {
    let (world, _) = files(1);
    let file = world.home.join("backup.age");
    let secret = world.home.join("phrase");
    std::fs::write(&secret, "correct horse\n").unwrap();
    let run = |line: String| {
        let mut command = Command::new("sh");
        command.args(["-c", &line]).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
        command.output().unwrap()
    };
    let hopty = claude::hopty().display().to_string();
    let made = run(format!(
        "'{hopty}' backup create '{}' --passphrase-fd 7 7<'{}'",
        file.display(),
        secret.display()
    ));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(std::fs::read(&file).unwrap().starts_with(b"age-encryption.org/v1"));
    // 3 may be a descriptor that hopty itself has opened.
    for closed in [3, 9] {
        let refused = text(
            &world,
            &["backup", "verify", file.to_str().unwrap(), "--passphrase-fd", &closed.to_string()],
        );
        assert!(refused.contains(&format!("from descriptor {closed}: ")), "{refused}");
    }
    let none = text(&world, &["backup", "verify", file.to_str().unwrap()]);
    assert!(none.contains("it is encrypted") && none.contains("--passphrase"), "{none}");
    let missing = text(&world, &["backup", "verify", "/no/such"]);
    assert_eq!(missing.matches("/no/such").count(), 1, "{missing}");
    let args = ["backup", "verify", file.to_str().unwrap(), "--passphrase"];
    let mut term = Term::start(&claude::hopty(), &args, &world.env, &world.project, (100, 20));
    term.wait_text("Passphrase:");
    term.send("correct horse\r");
    term.wait_text("intact: ");
    term.wait_exit();
    assert!(!term.lines().join("\n").contains("horse"), "it is not shown");
}
