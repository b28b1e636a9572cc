//! Backups in use: created, read back, restored into empty and used homes; damaged and hostile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::core::archive::CleanupPeriod;
use crate::core::conversation_transfer::LeftOutOfLines;
use crate::core::package::{PackageFile, PackageKind, PackageManifest, PackageName};
use crate::core::time::WallTime;
use crate::fs::conversation_transfer::transfer_tests::{
    ACTING, ACTING_AGENT, HARMLESS, HARMLESS_AGENT, LEFT_OUT,
};
use crate::fs::file_error::FsError;
use crate::fs::{atomic, package, store_trace};

const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
const NOW: WallTime = WallTime(1_795_000_000_000);
const PLAN: RestorePlan = RestorePlan { overwrite: false, with_settings: true, now: NOW, cleanup: None };

fn paths(home: &Path) -> Paths {
    let home = home.to_str().unwrap().to_owned();
    Paths::from_env(|name| (name == "HOME").then(|| home.clone().into())).unwrap()
}

fn put(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn home(dir: &Path) -> Paths {
    let paths = paths(dir);
    put(paths.claude.join(format!("projects/-p/{ID}.jsonl")), &"{\"type\":\"user\"}\n".repeat(5000));
    put(paths.claude.join(format!("projects/-p/{ID}/subagents/agent-1.jsonl")), "{\"type\":\"user\"}\n");
    put(paths.claude.join("handoff/records/HO/handoff.md"), "# Handoff\n");
    put(paths.claude.join("settings.json"), "{\"model\":\"opus\"}");
    put(paths.claude.join("commands/ship.md"), "Ship it.");
    put(paths.claude.join("CLAUDE.md"), "Be brief.");
    put(paths.claude.join(".credentials.json"), "{\"token\":\"secret\"}");
    put(paths.claude.join("commands/deploy.key"), "secret");
    put(paths.claude.join("statsig/x"), "not kept");
    put(paths.state.join("sessions/web/journal.jsonl"), "{}\n");
    put(paths.state.join("run/web.sock"), "");
    put(paths.config.join("config.toml"), "[handoff]\n");
    put(paths.data.join(format!("archive/-p/{ID}.jsonl.zst")), "packed");
    put(paths.data.join("archive/index.json"), "{}");
    symlink("/etc/passwd", paths.claude.join("commands/link.md")).unwrap();
    paths
}

/// The files below a home with their content.
fn files(home: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut dirs) = (Vec::new(), vec![home.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                dirs.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                let name = entry.path().strip_prefix(home).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read(entry.path()).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn made(dir: &Path, cipher: &BackupCipher) -> (Paths, BackupReport) {
    let from = home(&dir.join("from"));
    let report = create(&from, &dir.join("backup"), cipher, NOW).unwrap();
    (from, report)
}

fn of(report: &RestoreReport, put: RestoreOutcome) -> usize {
    report.files.iter().filter(|(_, what)| *what == put).count()
}

#[test]
fn item_081_a_backup_has_everything_but_keys_and_can_be_read_by_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = made(dir.path(), &BackupCipher::None);
    assert_eq!((report.files, report.was_read_back), (9, true), "{report:?}");
    assert_eq!(report.secrets.len(), 2, "{:?}", report.secrets);
    assert_eq!(report.odd.len(), 1, "{:?}", report.odd);
    assert_eq!(fs::metadata(&report.path).unwrap().mode() & 0o777, 0o600);
    let manifest = verify(&report.path, &BackupKey::None).unwrap();
    assert!(manifest.files.iter().all(|file| !file.name.as_str().contains("credential")));
    let again = create(&home(&dir.path().join("other")), &report.path, &BackupCipher::None, NOW);
    assert!(matches!(again, Err(BackupFailure::Exists(_))));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary file is left");
}

#[test]
fn item_082_a_backup_is_restored_into_an_empty_home() {
    let dir = tempfile::tempdir().unwrap();
    let (from, report) = made(dir.path(), &BackupCipher::None);
    let (to, into) = (paths(&dir.path().join("to")), dir.path().join("to"));
    fs::create_dir(&into).unwrap();
    let planned = plan(&to, &report.path, &BackupKey::None, &PLAN).unwrap();
    assert_eq!((of(&planned, RestoreOutcome::New), files(&into).len()), (9, 0), "a plan writes nothing");
    let restored = restore(&to, &report.path, &BackupKey::None, &PLAN).unwrap();
    assert_eq!(of(&restored, RestoreOutcome::New), 9);
    let left: Vec<String> = [".claude/.credentials.json", ".claude/commands/deploy.key", ".claude/statsig/x"]
        .map(str::to_owned)
        .into_iter()
        .chain([
            ".local/state/hopty/run/web.sock".to_owned(),
            ".local/share/hopty/archive/index.json".to_owned(),
        ])
        .collect();
    let mut wanted = files(&from.home);
    wanted.retain(|(name, _)| !left.contains(name));
    assert_eq!(files(&into), wanted);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&to.claude), mode(&to.claude.join("CLAUDE.md"))), (0o700, 0o600));
    let again = restore(&to, &report.path, &BackupKey::None, &PLAN).unwrap();
    assert_eq!(of(&again, RestoreOutcome::Same), 9, "what is there is left");
}

#[test]
fn item_082_a_living_home_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = made(dir.path(), &BackupCipher::None);
    let to = home(&dir.path().join("to"));
    let transcript = to.claude.join(format!("projects/-p/{ID}.jsonl"));
    put(transcript.clone(), "another");
    let kept = restore(&to, &report.path, &BackupKey::None, &PLAN).unwrap();
    assert_eq!((of(&kept, RestoreOutcome::Differs), of(&kept, RestoreOutcome::Same)), (1, 8));
    assert_eq!(fs::read_to_string(&transcript).unwrap(), "another");
    let over = RestorePlan { overwrite: true, ..PLAN };
    let replaced = restore(&to, &report.path, &BackupKey::None, &over).unwrap();
    assert_eq!(of(&replaced, RestoreOutcome::Replaced), 1);
    assert!(fs::read_to_string(&transcript).unwrap().starts_with("{\"type\""));
    let beside = transcript.with_file_name(format!("{ID}.jsonl.before-restore-{}", NOW.compact()));
    assert_eq!(fs::read_to_string(beside).unwrap(), "another");
}

#[test]
fn what_runs_programs_is_restored_only_when_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = made(dir.path(), &BackupCipher::None);
    let to = paths(&dir.path().join("to"));
    fs::create_dir(&to.home).unwrap();
    let plain = RestorePlan { with_settings: false, ..PLAN };
    let restored = restore(&to, &report.path, &BackupKey::None, &plain).unwrap();
    assert_eq!((of(&restored, RestoreOutcome::LeftOut), of(&restored, RestoreOutcome::New)), (5, 4));
    assert!(!to.claude.join("settings.json").exists() && !to.config.exists());
    assert!(!to.state.join("sessions").exists(), "a session has a command line");
}

#[test]
fn what_claude_acts_on_in_a_transcript_is_restored_only_when_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let from = home(&dir.path().join("from"));
    let name = format!("projects/-old-web/{ID}.jsonl");
    put(from.claude.join(&name), ACTING);
    let agent = format!("projects/-old-web/{ID}/subagents/agent-1.meta.json");
    put(from.claude.join(&agent), ACTING_AGENT);
    let backup = create(&from, &dir.path().join("backup"), &BackupCipher::None, NOW).unwrap().path;
    let plain = RestorePlan { with_settings: false, ..PLAN };
    let text = |paths: &Paths| fs::read_to_string(paths.claude.join(&name)).unwrap();
    let to = paths(&dir.path().join("to"));
    fs::create_dir(&to.home).unwrap();
    let restored = restore(&to, &backup, &BackupKey::None, &plain).unwrap();
    let left_out = LeftOutOfLines { agents: 1, ..LEFT_OUT };
    assert_eq!((text(&to).as_str(), restored.left_out), (HARMLESS, left_out));
    assert_eq!(fs::read_to_string(to.claude.join(&agent)).unwrap(), HARMLESS_AGENT);
    // Neither the restored transcript nor the person's own differs from the backup.
    for there in [&to, &from] {
        let again = restore(there, &backup, &BackupKey::None, &plain).unwrap();
        assert_eq!((of(&again, RestoreOutcome::Differs), again.left_out), (0, LeftOutOfLines::default()));
    }
    assert_eq!(text(&from), ACTING);
    let whole = restore(&to, &backup, &BackupKey::None, &RestorePlan { overwrite: true, ..PLAN }).unwrap();
    assert_eq!((of(&whole, RestoreOutcome::Replaced), text(&to).as_str()), (2, ACTING));
}

#[test]
fn no_backup_plants_a_session_a_memory_or_a_script_of_hooks() {
    let dir = tempfile::tempdir().unwrap();
    let to = paths(&dir.path().join("to"));
    fs::create_dir(&to.home).unwrap();
    let backup = dir.path().join("backup");
    for (name, with_settings, without) in [
        ("state/sessions/web/session.json", RestoreOutcome::New, RestoreOutcome::LeftOut),
        ("claude/projects/-p/memory/MEMORY.md", RestoreOutcome::New, RestoreOutcome::LeftOut),
        (
            "claude/session-env/x/sessionstart-hook-0.sh",
            RestoreOutcome::HookScript,
            RestoreOutcome::HookScript,
        ),
    ] {
        let _ = fs::remove_file(&backup);
        pack(&backup, PackageKind::Backup, name);
        let plain = RestorePlan { with_settings: false, ..PLAN };
        let restored = restore(&to, &backup, &BackupKey::None, &plain).unwrap();
        assert_eq!((of(&restored, without), files(&to.home)), (1, vec![]), "{name}");
        let planned = plan(&to, &backup, &BackupKey::None, &PLAN).unwrap();
        assert_eq!(of(&planned, with_settings), 1, "{name}");
    }
    let from = home(&dir.path().join("from"));
    put(from.claude.join(format!("session-env/{ID}/sessionstart-hook-0.sh")), "export X=1");
    let report = create(&from, &dir.path().join("made"), &BackupCipher::None, NOW).unwrap();
    let made = verify(&report.path, &BackupKey::None).unwrap();
    assert!(!made.files.iter().any(|file| file.name.as_str().contains("session-env")), "{made:?}");
    assert!(report.odd.iter().all(|path| !path.starts_with(from.claude.join("session-env"))));
}

/// A backup with one file of this name.
fn pack(backup: &Path, kind: PackageKind, name: &str) {
    let name = PackageName::parse(name).unwrap();
    let at = std::time::UNIX_EPOCH;
    let file: PackageFile = package::describe(name, &mut &b"x"[..], at, true).unwrap();
    let manifest = PackageManifest::new(kind, 1, json!({}), vec![file]);
    let out = fs::File::create(backup).unwrap();
    package::write(out, &manifest, |_| Ok(Box::new(&b"x"[..]))).unwrap();
}

#[test]
fn old_transcripts_are_dated_now_so_that_claude_keeps_them() {
    let dir = tempfile::tempdir().unwrap();
    let from = home(&dir.path().join("from"));
    let transcript = from.claude.join(format!("projects/-p/{ID}.jsonl"));
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_780_000_000);
    fs::File::options().write(true).open(&transcript).unwrap().set_modified(old).unwrap();
    let report = create(&from, &dir.path().join("backup"), &BackupCipher::None, NOW).unwrap();
    for (name, cleanup, is_old) in [("a", None, true), ("b", Some(CleanupPeriod::of_settings([])), false)] {
        let to = paths(&dir.path().join(name));
        fs::create_dir(&to.home).unwrap();
        restore(&to, &report.path, &BackupKey::None, &RestorePlan { cleanup, ..PLAN }).unwrap();
        let at = fs::metadata(to.claude.join(format!("projects/-p/{ID}.jsonl"))).unwrap().modified().unwrap();
        assert_eq!(at == old, is_old, "{name}");
    }
}

#[test]
fn an_encrypted_backup_opens_with_its_key_alone() {
    let dir = tempfile::tempdir().unwrap();
    let from = home(&dir.path().join("from"));
    let key = age::x25519::Identity::generate();
    let secret = age::secrecy::ExposeSecret::expose_secret(&key.to_string()).to_owned();
    let recipients = BackupCipher::Recipients(vec![key.to_public().to_string()]);
    let report = create(&from, &dir.path().join("for-key"), &recipients, NOW).unwrap();
    assert!(!report.was_read_back);
    let bytes = fs::read(&report.path).unwrap();
    assert!(is_encrypted(&bytes) && !bytes.windows(9).any(|part| part == b"Ship it.\n"));
    let opens = |key: &BackupKey| verify(&report.path, key).map(|manifest| manifest.files.len());
    assert_eq!(opens(&BackupKey::Identities(format!("# mine\n{secret}\n"))).unwrap(), 9);
    for wrong in [
        BackupKey::None,
        BackupKey::Passphrase("x".to_owned()),
        BackupKey::Identities("nonsense".to_owned()),
        BackupKey::Identities(
            age::secrecy::ExposeSecret::expose_secret(&age::x25519::Identity::generate().to_string())
                .to_owned(),
        ),
    ] {
        assert!(matches!(opens(&wrong), Err(BackupFailure::Key(_))));
    }
    let bad = BackupCipher::Recipients(vec!["age1nonsense".to_owned()]);
    assert!(matches!(create(&from, &dir.path().join("x"), &bad, NOW), Err(BackupFailure::Key(_))));
    let phrase = BackupCipher::Passphrase("correct horse".to_owned());
    let report = create(&from, &dir.path().join("for-phrase"), &phrase, NOW).unwrap();
    assert!(report.was_read_back);
    let opens = |phrase: &str| verify(&report.path, &BackupKey::Passphrase(phrase.to_owned()));
    assert!(opens("correct horse").is_ok() && matches!(opens("wrong"), Err(BackupFailure::Key(_))));
}

#[test]
fn a_head_without_end_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.age");
    let stanza = format!("-> X25519 {}\n{}\n", "A".repeat(43), "A".repeat(43));
    for head in [stanza.repeat(100_000), "-> ".to_owned() + &"x".repeat(10 << 20), String::new()] {
        fs::write(&bad, format!("age-encryption.org/v1\n{head}")).unwrap();
        let key = BackupKey::Identities("AGE-SECRET-KEY-1".to_owned());
        let failure = verify(&bad, &key).unwrap_err();
        assert!(failure.to_string().contains("its header is incomplete"), "{failure}");
    }
    // The work factor of a passphrase.
    let salt = "A".repeat(22);
    for factor in [19, 40] {
        let body = "A".repeat(43);
        let file = format!("age-encryption.org/v1\n-> scrypt {salt} {factor}\n{body}\n--- {body}\n");
        fs::write(&bad, [file.as_bytes(), &[0; 100]].concat()).unwrap();
        let failure = verify(&bad, &BackupKey::Passphrase("x".to_owned())).unwrap_err();
        let BackupFailure::Key(why) = failure else { panic!("{failure}") };
        assert!(why.ends_with(&format!("(scrypt work factor {factor}, at most 18)")), "{why}");
    }
}

#[test]
fn files_behind_a_persons_link_are_backed_up_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let from = home(&dir.path().join("from"));
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    for name in ["projects", "commands"] {
        fs::rename(from.claude.join(name), disk.join(name)).unwrap();
        symlink(disk.join(name), from.claude.join(name)).unwrap();
    }
    let linked = create(&from, &dir.path().join("backup"), &BackupCipher::None, NOW).unwrap();
    let plain = home(&dir.path().join("plain"));
    let plain = create(&plain, &dir.path().join("other"), &BackupCipher::None, NOW).unwrap();
    assert_eq!((linked.files, linked.odd.len()), (plain.files, plain.odd.len()));
    let to = paths(&dir.path().join("to"));
    fs::create_dir(&to.home).unwrap();
    restore(&to, &linked.path, &BackupKey::None, &PLAN).unwrap();
    assert!(to.claude.join(format!("projects/-p/{ID}.jsonl")).is_file());
}

#[test]
fn a_cut_or_changed_backup_restores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = made(dir.path(), &BackupCipher::None);
    let whole = fs::read(&report.path).unwrap();
    let to = paths(&dir.path().join("to"));
    fs::create_dir(&to.home).unwrap();
    let bad = dir.path().join("bad");
    for n in (0..whole.len()).step_by(61) {
        fs::write(&bad, &whole[..n]).unwrap();
        assert!(restore(&to, &bad, &BackupKey::None, &PLAN).is_err(), "cut at {n}");
        assert_eq!(files(&to.home), vec![], "cut at {n}");
    }
    let good = paths(&dir.path().join("good"));
    fs::create_dir(&good.home).unwrap();
    restore(&good, &report.path, &BackupKey::None, &PLAN).unwrap();
    let mut refused = 0;
    for n in (20..whole.len()).step_by(61) {
        let mut changed = whole.clone();
        changed[n] ^= 1;
        fs::write(&bad, &changed).unwrap();
        if restore(&to, &bad, &BackupKey::None, &PLAN).is_err() {
            refused += 1;
            assert_eq!(files(&to.home), vec![], "changed at {n}");
        } else {
            // Compressed data has bits without a meaning, such as the code of a byte that does not occur.
            assert_eq!(files(&to.home), files(&good.home), "changed at {n}");
            fs::remove_dir_all(&to.home).unwrap();
            fs::create_dir(&to.home).unwrap();
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn a_restore_that_ends_before_its_last_file_says_how_many_it_restored() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = made(dir.path(), &BackupCipher::None);
    let to = paths(&dir.path().join("to"));
    fs::create_dir_all(to.claude.join("projects")).unwrap();
    fs::set_permissions(&to.claude, fs::Permissions::from_mode(0o700)).unwrap();
    symlink(dir.path(), to.claude.join("projects/-p")).unwrap();
    let failure = restore(&to, &report.path, &BackupKey::None, &PLAN).unwrap_err();
    let BackupFailure::Partly { restored, of, cause } = &failure else { panic!("{failure:?}") };
    assert!(*restored > 0 && restored < of && matches!(**cause, BackupFailure::Fs(FsError::Symlink(_))));
    fs::remove_file(to.claude.join("projects/-p")).unwrap();
    let again = restore(&to, &report.path, &BackupKey::None, &PLAN).unwrap();
    assert!(
        self::of(&again, RestoreOutcome::Same) >= *restored && self::of(&again, RestoreOutcome::New) > 0,
        "{again:?}"
    );
}

#[test]
fn a_hostile_backup_plants_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let to = paths(&dir.path().join("to"));
    fs::create_dir(&to.home).unwrap();
    let bad = dir.path().join("bad");
    let pack = |kind, name: &str| pack(&bad, kind, name);
    for name in [
        ".bashrc", "claude/.credentials.json", "claude/plugins/x.js", "claude/local/claude",
        "state/run/x.sock",
    ] {
        pack(PackageKind::Backup, name);
        let restored = restore(&to, &bad, &BackupKey::None, &PLAN);
        assert!(matches!(restored, Err(BackupFailure::Foreign(_))), "{name}: {restored:?}");
    }
    pack(PackageKind::Conversations, "claude/projects/-p/x.jsonl");
    assert!(restore(&to, &bad, &BackupKey::None, &PLAN).is_err());
    assert_eq!(files(&to.home), vec![]);
    // A directory that leads somewhere else.
    pack(PackageKind::Backup, "claude/projects/-p/x.jsonl");
    fs::create_dir_all(to.claude.join("projects")).unwrap();
    fs::set_permissions(&to.claude, fs::Permissions::from_mode(0o700)).unwrap();
    symlink(dir.path(), to.claude.join("projects/-p")).unwrap();
    assert!(matches!(
        restore(&to, &bad, &BackupKey::None, &PLAN),
        Err(BackupFailure::Fs(FsError::Symlink(_)))
    ));
    assert!(!dir.path().join("x.jsonl").exists());
}

/// For the process of its own: home, backup, and the step at which it ends.
const PART: &str = "HOPTY_TEST_BACKUP_PART";

fn over() -> RestorePlan {
    RestorePlan { overwrite: true, ..PLAN }
}

#[test]
#[ignore = "a_kill_at_any_step_of_a_restore_leaves_each_file_old_or_new runs it in a process of its own"]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    let words: Vec<&str> = part.split('\n').collect();
    store_trace::end_after(words[2].parse().unwrap());
    if words.get(3) == Some(&"create") {
        create(&paths(Path::new(words[0])), Path::new(words[1]), &BackupCipher::None, NOW).unwrap();
        return;
    }
    restore(&paths(Path::new(words[0])), Path::new(words[1]), &BackupKey::None, &over()).unwrap();
}

/// Restores or creates up to a step; returns whether it was ended there.
fn ended_at(home: &Path, backup: &Path, step: usize, verb: &str) -> bool {
    let part = format!("{}\n{}\n{step}\n{verb}", home.display(), backup.display());
    store_trace::is_ended_at_step("fs::backup::tests::part", (PART, &part))
}

#[test]
fn a_kill_at_any_step_of_a_backup_leaves_none_or_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let from = home(&dir.path().join("from"));
    let old = std::time::SystemTime::now() - 2 * atomic::LEFT_OVER;
    let mut ends = 0;
    for step in 1.. {
        let to = dir.path().join(format!("to-{step}"));
        fs::create_dir(&to).unwrap();
        let path = to.join("backup");
        let was_ended = ended_at(&from.home, &path, step, "create");
        if path.exists() {
            assert_eq!(verify(&path, &BackupKey::None).unwrap().files.len(), 9, "step {step}");
        }
        if !was_ended {
            break;
        }
        ends += 1;
        // Leftovers are removed later and block nothing.
        for left in fs::read_dir(&to).unwrap().flatten().filter(|left| left.path() != path) {
            fs::File::options().write(true).open(left.path()).unwrap().set_modified(old).unwrap();
        }
        create(&from, &to.join("again"), &BackupCipher::None, NOW).unwrap();
        let left = fs::read_dir(&to).unwrap().flatten().filter(|left| left.path() != path).count();
        assert_eq!(left, 1, "step {step}: {:?}", fs::read_dir(&to).unwrap().collect::<Vec<_>>());
    }
    assert!(ends >= 3, "only {ends} steps");
}

#[test]
fn a_kill_at_any_step_of_a_restore_leaves_each_file_old_or_new() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = made(dir.path(), &BackupCipher::None);
    // Files that no backup has stay out of it.
    let of_backup = |home: &Path| -> Vec<(String, Vec<u8>)> {
        let mut files = files(home);
        files.retain(|(name, _)| !name.contains(".hopty-tmp-") && !name.contains(".before-restore-"));
        files
    };
    let target = |name: String| {
        let to = home(&dir.path().join(name));
        // One differs, one is gone.
        put(to.claude.join("CLAUDE.md"), "mine");
        fs::remove_file(to.claude.join("handoff/records/HO/handoff.md")).unwrap();
        fs::remove_file(to.claude.join(format!("projects/-p/{ID}.jsonl"))).unwrap();
        to
    };
    let old = of_backup(&target("old".to_owned()).home);
    let whole = target("whole".to_owned());
    assert!(!restore(&whole, &report.path, &BackupKey::None, &over()).unwrap().was_interrupted);
    let new = of_backup(&whole.home);
    assert!(old.len() + 2 == new.len() && old != new);
    let mut ends = 0;
    for step in 1.. {
        let to = target(format!("to-{step}"));
        let was_ended = ended_at(&to.home, &report.path, step, "restore");
        let now = of_backup(&to.home);
        for file in &now {
            assert!(old.contains(file) || new.contains(file), "step {step}: {} is neither", file.0);
        }
        for (name, _) in &old {
            assert!(now.iter().any(|(there, _)| there == name), "step {step}: {name} is gone");
        }
        // A transcript is restored last: every conversation in the list is complete.
        let transcript = format!(".claude/projects/-p/{ID}.jsonl");
        if now.iter().any(|(name, _)| *name == transcript) {
            assert_eq!(now, new, "step {step}");
        }
        if !was_ended {
            break;
        }
        ends += 1;
        // A person runs it again, later.
        let later = RestorePlan { now: NOW.after(60_000), ..over() };
        let again = restore(&to, &report.path, &BackupKey::None, &later).unwrap();
        assert!(again.was_interrupted, "step {step}: it is told");
        assert_eq!(of_backup(&to.home), new, "step {step}");
        let kept = files(&to.home)
            .into_iter()
            .any(|(name, content)| name.contains("CLAUDE.md.before-restore-") && content == b"mine");
        assert!(kept, "step {step}: what was replaced is kept");
        assert!(
            !files(&to.home).iter().any(|(name, _)| name.contains("tmp-restore-")),
            "step {step}: left over"
        );
        let third = restore(&to, &report.path, &BackupKey::None, &later).unwrap();
        assert!(!third.was_interrupted && of(&third, RestoreOutcome::Same) == 9);
    }
    assert!(ends >= 9, "only {ends} steps");
}
