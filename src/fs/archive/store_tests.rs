//! The archive in use: archive, read back, remove, restore; killed at every step; damaged and hostile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::*;
use crate::core::archive::{ArchiveLimits, ArchiveManifest, ArchivedFile, Seal};
use crate::core::time::WallTime;
use crate::fs::conversations::{ConversationFiles, TranscriptFile};
use crate::fs::paths::Paths;
use crate::fs::store_trace;

const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
const NOW: WallTime = WallTime(1_795_000_000_000);
const PART: &str = "HOPTY_TEST_ARCHIVE_PART";

/// A home with one conversation: a transcript, a sub-agent, a tool result, a task and an old todo list.
struct Home {
    dir: PathBuf,
}

impl Home {
    fn new(dir: &Path) -> Self {
        let home = Home { dir: dir.to_owned() };
        let line =
            |n: usize| format!("{{\"type\":\"user\",\"n\":{n},\"text\":\"{}\"}}\n", "word ".repeat(n % 40));
        home.file(&format!("projects/-home-u-web/{ID}.jsonl"), &(0..2000).map(line).collect::<String>(), 5);
        home.file(&format!("projects/-home-u-web/{ID}/subagents/agent-1.jsonl"), "{\"agent\":1}\n", 3);
        home.file(&format!("projects/-home-u-web/{ID}/tool-results/r.txt"), "", 4);
        home.file(&format!("tasks/{ID}/1.json"), "{\"id\":1}", 2);
        home.file(&format!("todos/{ID}-agent-{ID}.json"), "[]", 1);
        home
    }

    fn claude(&self) -> PathBuf {
        self.dir.join("claude")
    }

    fn store(&self) -> ArchiveStore {
        ArchiveStore::new(&self.dir.join("archive"), &self.claude())
    }

    fn transcript(&self) -> PathBuf {
        self.claude().join(format!("projects/-home-u-web/{ID}.jsonl"))
    }

    fn source(&self) -> ArchiveSource {
        self.find(&self.transcript()).unwrap()
    }

    fn find(&self, transcript: &Path) -> Option<ArchiveSource> {
        let paths = Paths {
            state: self.dir.join("state"),
            config: self.dir.join("config"),
            data: self.dir.join("data"),
            claude: self.claude(),
            home: self.dir.clone(),
        };
        let transcript = TranscriptFile::at(transcript)?;
        let files = ConversationFiles::of(&paths, &transcript, None).unwrap();
        ArchiveSource::of(&self.claude(), &files).ok()
    }

    fn file(&self, name: &str, text: &str, second: u64) {
        let path = self.claude().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let at = UNIX_EPOCH + Duration::new(1_790_000_000 + second, 123_456_789);
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
    }

    /// Every file below Claude's directory with its content, time and mode.
    fn files(&self) -> Vec<(String, Vec<u8>, i64, i64, u32)> {
        let mut found = Vec::new();
        let mut dirs = vec![self.claude()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let meta = entry.metadata().unwrap();
                if meta.is_dir() {
                    dirs.push(entry.path());
                    continue;
                }
                let name = entry.path().strip_prefix(self.claude()).unwrap().to_string_lossy().into_owned();
                let content = fs::read(entry.path()).unwrap();
                found.push((name, content, meta.mtime(), meta.mtime_nsec(), meta.mode() & 0o777));
            }
        }
        found.sort();
        found
    }

    fn put(&self) -> Archived {
        self.store().put(&self.source(), NOW, json!({"ai_title": "Bridge"})).unwrap()
    }

    fn archived(&self) -> ArchivedConversation {
        let (entries, bad) = self.store().entries();
        assert!(bad.is_empty(), "{bad:?}");
        self.store().open(entries.iter().find(|entry| entry.number == 0).unwrap()).unwrap()
    }

    fn restore(&self) -> Result<RestoredConversation, ArchiveFailure> {
        self.store().restore(&self.archived(), RestoreTimes::Original)
    }
}

fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::new(dir.path());
    (dir, home)
}

#[test]
fn item_079_a_conversation_comes_back_byte_for_byte_with_its_times() {
    let (_dir, home) = home();
    let before = home.files();
    let archived = home.put();
    assert_eq!((archived.replaced.clone(), archived.manifest.files.len()), (Replaced::Nothing, 5));
    assert_eq!(home.files(), before, "the conversation stays");
    assert!(home.store().has(&home.source()));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&archived.path), mode(archived.path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(mode(home.store().dir()), 0o700);
    home.store().remove_source(&archived, &home.source()).unwrap();
    assert_eq!(home.files(), vec![], "{:?}", home.files());
    assert!(!home.claude().join(format!("projects/-home-u-web/{ID}")).exists());
    assert!(home.claude().join("tasks").exists(), "a directory that is not the conversation's stays");
    let restored = home.restore().unwrap();
    assert_eq!((restored.written, restored.there), (5, 0));
    assert_eq!(home.files(), before);
    assert!(home.archived().verify().is_ok(), "it stays in the archive");
    assert!(matches!(home.restore(), Err(ArchiveFailure::Exists(path)) if path == home.transcript()));
}

#[test]
fn item_079_zstdcat_prints_the_transcript_and_what_lies_beside_it() {
    let (_dir, home) = home();
    let packed = fs::read(home.put().path).unwrap();
    let all = zstd::decode_all(packed.as_slice()).unwrap();
    let wanted: Vec<u8> = home.source().files.iter().flat_map(|file| fs::read(&file.path).unwrap()).collect();
    assert_eq!(all, wanted);
    assert!(all.starts_with(&fs::read(home.transcript()).unwrap()));
}

#[test]
fn restoring_may_set_the_times_to_now() {
    let (_dir, home) = home();
    let archived = home.put();
    home.store().remove_source(&archived, &home.source()).unwrap();
    home.store().restore(&home.archived(), RestoreTimes::Now).unwrap();
    let age = fs::metadata(home.transcript()).unwrap().modified().unwrap().elapsed().unwrap();
    assert!(age < Duration::from_secs(600), "{age:?}");
}

#[test]
fn an_archive_is_replaced_only_by_one_that_has_everything() {
    let (_dir, home) = home();
    home.put();
    assert_eq!(home.put().replaced, Replaced::Same);
    let grown = fs::read_to_string(home.transcript()).unwrap() + "{\"more\":1}\n";
    home.file(&format!("projects/-home-u-web/{ID}.jsonl"), &grown, 9);
    assert!(!home.store().has(&home.source()));
    assert_eq!(home.put().replaced, Replaced::Earlier);
    home.file(&format!("projects/-home-u-web/{ID}.jsonl"), "{\"another\":1}\n", 10);
    let Replaced::Beside(beside) = home.put().replaced else { panic!("the earlier one was lost") };
    assert!(beside.ends_with(format!("{ID}.1.jsonl.zst")));
    let numbers: Vec<u32> = home.store().entries().0.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers.len(), 2);
    assert!(numbers.contains(&0) && numbers.contains(&1));
    let kept = ArchivedConversation::open(&beside, &ArchiveLimits::default()).unwrap();
    assert_eq!(kept.manifest.files[0].bytes, grown.len() as u64);
    // A file that is gone is a loss, too.
    fs::remove_file(home.claude().join(format!("tasks/{ID}/1.json"))).unwrap();
    assert!(matches!(home.put().replaced, Replaced::Beside(_)));
}

#[test]
fn a_damaged_archive_is_kept_beside_the_new_one() {
    let (_dir, home) = home();
    let path = home.put().path;
    fs::write(&path, "torn").unwrap();
    assert!(matches!(home.put().replaced, Replaced::Beside(_)));
    let (entries, bad) = home.store().entries();
    assert_eq!((entries.len(), bad.len()), (1, 1));
    assert!(home.store().open(&entries[0]).unwrap().verify().is_ok());
}

#[test]
fn a_file_that_changed_since_it_was_archived_is_not_removed() {
    let (_dir, home) = home();
    let (archived, source) = (home.put(), home.source());
    home.file(&format!("tasks/{ID}/1.json"), "{\"id\":2}", 2);
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let before = (home.files(), inode(&home.transcript()));
    // Same length and time but other content: some program preserves times.
    home.file(&format!("tasks/{ID}/2.json"), "", 2);
    fs::rename(
        home.claude().join(format!("tasks/{ID}/2.json")),
        home.claude().join(format!("tasks/{ID}/1.json")),
    )
    .unwrap();
    let removed = home.store().remove_source(&archived, &source);
    assert!(matches!(removed, Err(ArchiveFailure::Changed(path)) if path.ends_with("1.json")));
    assert_eq!(inode(&home.transcript()), before.1);
    assert_eq!(home.files().len(), before.0.len());
}

#[test]
fn a_file_with_the_old_time_and_another_content_is_archived_anew() {
    let (_dir, home) = home();
    home.put();
    home.file(&format!("tasks/{ID}/1.json"), "{\"id\":2}", 2);
    assert!(home.store().has(&home.source()), "by length and time nothing has changed");
    assert!(
        matches!(home.put().replaced, Replaced::Beside(_)),
        "but it is read before it counts as the same"
    );
}

#[test]
fn links_and_devices_beside_a_conversation_are_left_alone() {
    let (dir, home) = home();
    let beside = home.claude().join(format!("projects/-home-u-web/{ID}"));
    fs::write(dir.path().join("secret"), "secret").unwrap();
    symlink(dir.path().join("secret"), beside.join("link")).unwrap();
    symlink(dir.path(), beside.join("dir-link")).unwrap();
    nix::unistd::mkfifo(&beside.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let source = home.source();
    assert_eq!((source.files.len(), source.skipped.len()), (5, 3), "{:?}", source.skipped);
    let archived = home.put();
    home.store().remove_source(&archived, &source).unwrap();
    assert!(beside.join("link").symlink_metadata().is_ok() && beside.join("fifo").exists());
    // A transcript that is a link is no conversation.
    let link = home.claude().join(format!("projects/-home-u-web/{}.jsonl", ID.replace("c7", "d7")));
    symlink(dir.path().join("secret"), &link).unwrap();
    assert_eq!(home.find(&link), None);
}

#[test]
fn restoring_replaces_nothing_and_follows_no_link() {
    let (dir, home) = home();
    let archived = home.put();
    let before = home.files();
    home.store().remove_source(&archived, &home.source()).unwrap();
    home.file(&format!("tasks/{ID}/1.json"), "another", 1);
    let refused = home.restore();
    assert!(
        matches!(&refused, Err(ArchiveFailure::Differs(path)) if path.ends_with("1.json")),
        "{refused:?}"
    );
    assert_eq!(home.files().len(), 1, "nothing was written");
    home.file(&format!("tasks/{ID}/1.json"), "{\"id\":1}", 2);
    assert_eq!(home.restore().unwrap().there, 1);
    assert_eq!(home.files(), before);
    // A directory that leads somewhere else.
    let archived = home.put();
    home.store().remove_source(&archived, &home.source()).unwrap();
    fs::create_dir(dir.path().join("else")).unwrap();
    symlink(dir.path().join("else"), home.claude().join(format!("projects/-home-u-web/{ID}"))).unwrap();
    assert!(matches!(home.restore(), Err(ArchiveFailure::Fs(FsError::Symlink(_)))));
    assert_eq!(fs::read_dir(dir.path().join("else")).unwrap().count(), 0);
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed_and_restores_nothing() {
    let (dir, home) = home();
    let before = home.files();
    let archived = home.put();
    home.store().remove_source(&archived, &home.source()).unwrap();
    let whole = fs::read(&archived.path).unwrap();
    let at = dir.path().join("bad.zst");
    let limits = ArchiveLimits::default();
    let check = |bytes: &[u8], about: &str| {
        fs::write(&at, bytes).unwrap();
        let read = ArchivedConversation::open(&at, &limits);
        let restored = read.and_then(|bad| home.store().restore(&bad, RestoreTimes::Original));
        assert!(matches!(restored, Err(ArchiveFailure::Refused { .. })), "{about}: {restored:?}");
        assert_eq!(home.files(), vec![], "{about}");
    };
    // Steps of a prime in the large part, and every byte of the end.
    let steps = (0..whole.len()).step_by(97).chain(whole.len().saturating_sub(300)..whole.len());
    for n in steps.clone() {
        check(&whole[..n], &format!("cut at {n}"));
    }
    let mut meaningless = 0;
    for n in steps {
        let mut bad = whole.clone();
        bad[n] ^= 0x04;
        fs::write(&at, &bad).unwrap();
        let read = ArchivedConversation::open(&at, &limits);
        if read.is_ok_and(|bad| home.store().restore(&bad, RestoreTimes::Original).is_ok()) {
            // zstd has bits without a meaning, such as the kind of an empty block.
            assert_eq!(home.files(), before, "changed at {n}");
            fs::remove_dir_all(home.claude()).unwrap();
            meaningless += 1;
        } else {
            check(&bad, &format!("changed at {n}"));
        }
    }
    assert!(meaningless < 5, "{meaningless} changes were not noticed");
    check(&[&whole[..], b"more"].concat(), "something follows");
    check(&[b"more", &whole[..]].concat(), "something comes before");
    check(&vec![0; 100_000], "zeros");
}

/// An archive with these files, made by hand: content, and the length that the manifest claims.
fn by_hand(path: &Path, files: &[(&str, &[u8], u64)]) {
    let mut bytes = Vec::new();
    let mut manifest = ArchiveManifest::new(ID.parse().unwrap(), "-home-u-web".to_owned(), NOW, json!({}));
    for (name, content, claimed) in files {
        let frame = zstd::encode_all(*content, 3).unwrap();
        manifest.files.push(ArchivedFile {
            name: (*name).to_owned(),
            bytes: *claimed,
            sha256: crate::core::hex::hex(&<sha2::Sha256 as sha2::Digest>::digest(content)),
            modified_ns: 1,
            mode: 0o6777,
            offset: bytes.len() as u64,
            packed: frame.len() as u64,
        });
        bytes.extend(frame);
    }
    bytes.extend(Seal::frame(&manifest.to_bytes()).unwrap());
    fs::write(path, bytes).unwrap();
}

#[test]
fn hostile_archives_are_refused_and_write_nothing() {
    let (dir, home) = home();
    let archived = home.put();
    home.store().remove_source(&archived, &home.source()).unwrap();
    let at = dir.path().join("bad.zst");
    let transcript = format!("projects/-home-u-web/{ID}.jsonl");
    let bomb = vec![b' '; 80 << 20];
    let outside = format!("projects/-home-u-web/{ID}/../../../../planted");
    for (about, files) in [
        ("longer than it says", vec![(transcript.as_str(), &b"0123456789"[..], 5)]),
        ("shorter than it says", vec![(transcript.as_str(), b"0123", 5)]),
        ("a bomb that says so", vec![(transcript.as_str(), &bomb, bomb.len() as u64)]),
        ("a bomb that does not", vec![(transcript.as_str(), &bomb, 10)]),
        ("a way out", vec![(transcript.as_str(), b"{}", 2), (outside.as_str(), b"x", 1)]),
        ("settings", vec![(transcript.as_str(), b"{}", 2), ("settings.json", b"{}", 2)]),
        ("twice", vec![(transcript.as_str(), b"{}", 2), (transcript.as_str(), b"[]", 2)]),
    ] {
        by_hand(&at, &files);
        let read = ArchivedConversation::open(&at, &ArchiveLimits::default());
        let restored = read.and_then(|bad| home.store().restore(&bad, RestoreTimes::Original));
        assert!(matches!(&restored, Err(ArchiveFailure::Refused { .. })), "{about}: {restored:?}");
        assert!(!restored.unwrap_err().hint().is_empty());
        assert_eq!(home.files(), vec![], "{about}");
        assert!(!dir.path().join("planted").exists());
    }
    // The same archive, but valid: modes that grant rights to others are not restored.
    by_hand(&at, &[(transcript.as_str(), b"{}\n", 3)]);
    let good = ArchivedConversation::open(&at, &ArchiveLimits::default()).unwrap();
    home.store().restore(&good, RestoreTimes::Original).unwrap();
    assert_eq!(fs::metadata(home.transcript()).unwrap().mode() & 0o7777, 0o755);
    symlink(&at, dir.path().join("link.zst")).unwrap();
    assert!(ArchivedConversation::open(&dir.path().join("link.zst"), &ArchiveLimits::default()).is_err());
}

#[test]
fn scripts_of_hooks_are_neither_archived_nor_restored() {
    let (dir, home) = home();
    let script = format!("session-env/{ID}/sessionstart-hook-0.sh");
    home.file(&script, "export X=1", 5);
    let archived = home.put();
    assert!(home.archived().manifest.files.iter().all(|file| !file.is_hook_script()));
    home.store().remove_source(&archived, &home.source()).unwrap();
    assert!(home.claude().join(&script).exists(), "it is not in the archive, so that it stays");
    fs::remove_dir_all(home.claude().join("session-env")).unwrap();
    // An archive of an older version, or of another program.
    let (at, transcript) = (dir.path().join("old.zst"), format!("projects/-home-u-web/{ID}.jsonl"));
    by_hand(&at, &[(transcript.as_str(), b"{}\n", 3), (script.as_str(), b"touch planted", 13)]);
    let old = ArchivedConversation::open(&at, &ArchiveLimits::default()).unwrap();
    let restored = home.store().restore(&old, RestoreTimes::Original).unwrap();
    assert_eq!((restored.written, restored.hook_scripts), (1, 1));
    assert!(home.transcript().exists() && !home.claude().join("session-env").exists());
}

#[test]
fn of_a_thousand_sub_agents_one_is_open_at_a_time() {
    use std::io::Read;
    let (_dir, home) = home();
    for n in 0..1000 {
        home.file(&format!("projects/-home-u-web/{ID}/subagents/a{n}.jsonl"), "{\"agent\":2}", 3);
    }
    home.put();
    let (entries, _) = home.store().entries();
    let archive = entries[0].path(home.store().dir());
    let sources = archive_sources(home.store().dir(), entries);
    let mut reader = sources[0].open().unwrap();
    let mut text = String::new();
    loop {
        let mut part = [0; 8 << 10];
        let n = reader.read(&mut part).unwrap();
        if n == 0 {
            break;
        }
        text.push_str(std::str::from_utf8(&part[..n]).unwrap());
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let open = open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|file| file == archive)).count();
        assert!(open <= 3, "{open} descriptors");
    }
    assert_eq!(text.lines().filter(|line| *line == "{\"agent\":2}").count(), 1000);
}

#[test]
fn a_kill_while_an_earlier_one_is_kept_beside_keeps_it_once() {
    let (_dir, home) = home();
    home.put();
    let path = home.archived().path().to_owned();
    let beside = path.with_file_name(format!("{ID}.1.jsonl.zst"));
    // The state after a kill right after this step.
    fs::hard_link(&path, &beside).unwrap();
    home.file(&format!("projects/-home-u-web/{ID}.jsonl"), "{\"another\":1}\n", 9);
    assert_eq!(home.put().replaced, Replaced::Beside(beside.clone()));
    assert_eq!(home.store().entries().0.len(), 2);
    assert_ne!(fs::read(&path).unwrap(), fs::read(&beside).unwrap());
}

#[test]
fn the_index_is_made_again_from_the_files() {
    let (_dir, home) = home();
    home.put();
    let (entries, _) = home.store().entries();
    let entry = &entries[0];
    assert_eq!((entry.conversation.as_str(), entry.project.as_str(), entry.files), (ID, "-home-u-web", 5));
    assert_eq!((entry.archived_at, &entry.summary), (NOW, &json!({"ai_title": "Bridge"})));
    assert_eq!(entry.written_at, WallTime(1_790_000_005_123));
    let index = home.store().dir().join("index.json");
    assert_eq!(fs::metadata(&index).unwrap().mode() & 0o777, 0o600);
    let known = fs::read(&index).unwrap();
    for bad in
        [None, Some("torn"), Some("{\"version\":99,\"entries\":[]}"), Some("{\"version\":1,\"entries\":[]}")]
    {
        fs::remove_file(&index).ok();
        bad.iter().for_each(|text| fs::write(&index, text).unwrap());
        assert_eq!(home.store().entries().0, entries, "{bad:?}");
        assert_eq!(fs::read(&index).unwrap(), known);
    }
    home.store().delete(entry).unwrap();
    assert_eq!(home.store().entries().0, vec![]);
    assert!(home.store().dir().read_dir().unwrap().all(|entry| !entry.unwrap().path().is_dir()));
}

#[test]
#[ignore = "a_kill_at_any_step_leaves_the_old_state_or_the_new_one runs it in a process of its own"]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    let words: Vec<&str> = part.split('\n').collect();
    let home = Home { dir: words[0].into() };
    match words[1] {
        "archive" => {
            let source = home.source();
            store_trace::end_after(words[2].parse().unwrap());
            let archived = home.store().put(&source, NOW, json!({})).unwrap();
            home.store().remove_source(&archived, &source).unwrap();
        }
        _ => {
            let archived = home.archived();
            store_trace::end_after(words[2].parse().unwrap());
            home.store().restore(&archived, RestoreTimes::Original).unwrap();
        }
    }
}

/// Runs a part up to its step; returns whether it was ended there.
fn ended_at(home: &Home, what: &str, step: usize) -> bool {
    let part = format!("{}\n{what}\n{step}", home.dir.display());
    store_trace::is_ended_at_step("fs::archive::store_tests::part", (PART, &part))
}

#[test]
fn a_kill_at_any_step_leaves_the_old_state_or_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: String| Home::new(&dir.path().join(name));
    let before = at("first".to_owned()).files();
    let is_whole = |home: &Home| home.files() == before;
    let mut steps = 0;
    for step in 1.. {
        let home = at(format!("archive-{step}"));
        if !ended_at(&home, "archive", step) {
            break;
        }
        steps += 1;
        if home.transcript().exists() {
            assert!(is_whole(&home), "archiving, step {step}: the old state is not whole");
            // The next run does everything.
            let (archived, source) = (home.put(), home.source());
            home.store().remove_source(&archived, &source).unwrap();
            assert_eq!(home.files(), vec![]);
        } else {
            assert!(home.archived().verify().is_ok(), "archiving, step {step}: it is nowhere");
        }
        home.restore().unwrap();
        assert!(is_whole(&home), "archiving, step {step}: it does not come back");
    }
    for step in 1.. {
        let home = at(format!("restore-{step}"));
        let archived = home.put();
        home.store().remove_source(&archived, &home.source()).unwrap();
        if !ended_at(&home, "restore", step) {
            assert!(is_whole(&home));
            break;
        }
        steps += 1;
        if !home.transcript().exists() {
            home.restore().unwrap();
        }
        assert!(is_whole(&home), "restoring, step {step}: {:?}", home.files());
    }
    for step in 1.. {
        let home = at(format!("beside-{step}"));
        let dir = home.put().path.parent().unwrap().to_owned();
        let archives = || -> Vec<Vec<u8>> {
            let files = fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path());
            files
                .filter(|file| file.extension().is_some_and(|end| end == "zst"))
                .map(|file| fs::read(file).unwrap())
                .collect()
        };
        let earlier = archives().remove(0);
        home.file(&format!("projects/-home-u-web/{ID}.jsonl"), "{\"another\":1}\n", 9);
        let later = home.files();
        if !ended_at(&home, "archive", step) {
            break;
        }
        steps += 1;
        assert!(archives().contains(&earlier), "beside, step {step}: the earlier one is gone");
        if home.transcript().exists() {
            assert_eq!(home.files(), later, "beside, step {step}: the old state is not whole");
            let (archived, source) = (home.put(), home.source());
            home.store().remove_source(&archived, &source).unwrap();
        }
        assert!(
            archives().contains(&earlier) && archives().len() == 2,
            "beside, step {step}: each is kept once"
        );
        home.restore().unwrap();
        assert_eq!(home.files(), later, "beside, step {step}: it does not come back");
    }
    assert!(steps > 45, "only {steps} steps");
}
