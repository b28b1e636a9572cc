//! Conversations that are exported and imported, also from a malicious package.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use super::transfer_tests::{ACTING, ACTING_AGENT, HARMLESS, HARMLESS_AGENT, Home, ID, LEFT_OUT, NEW_ID};
use super::*;
use crate::core::conversation_transfer::LeftOutOfLines;
use crate::core::package::{PackageFile, PackageKind, PackageLimits, PackageManifest, PackageName};
use crate::core::time::WallTime;
use crate::fs::conversations::{ConversationFiles, TranscriptFile};
use crate::fs::package::{self, PackageReader};

const NOW: WallTime = WallTime(1_795_000_000_000);

fn exported(home: &Home, redact: bool) -> (Vec<u8>, ExportReport) {
    let transcript = home.paths.claude.join(format!("projects/-old-web/{ID}.jsonl"));
    let transcript = TranscriptFile::at(&transcript).unwrap();
    let found = ConversationFiles::of(&home.paths, &transcript, Some("blue-fox")).unwrap();
    let options = ExportOptions { dir: Some("/old/web".to_owned()), redact, now: NOW };
    export(Vec::new(), &home.paths.claude, &found, &options).unwrap()
}

/// Imports the conversation of a package; returns what was done.
fn import(home: &Home, package: &[u8], dir: &str, id: &str) -> Result<TransferReport, TransferError> {
    let (transfers, _) = Transfers::begin(&home.paths, &|_| None).unwrap();
    let done = transfers.unpack(package, &PackageLimits::default()).and_then(|unpacked| {
        let target = TransferTarget { dir: dir.to_owned(), id: id.parse().unwrap() };
        let one = &unpacked.conversations[0];
        transfers.place(&TransferPlan::of_package(&home.paths.claude, one, &target)?)
    });
    let left: Vec<_> =
        fs::read_dir(home.paths.transfers()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".lock"], "nothing is left of the import");
    done
}

/// A home in which Claude was never used.
fn empty() -> Home {
    let home = Home::new();
    fs::remove_dir_all(&home.paths.claude).unwrap();
    home
}

#[test]
fn a_package_brings_all_files_that_claude_needs() {
    let (from, to) = (Home::new(), empty());
    from.file("plans/blue-fox.md", "plan");
    from.file(&format!("session-env/{ID}/hook.sh"), "export X=1");
    let (package, report) = exported(&from, false);
    assert_eq!((report.files, report.redacted, report.skipped.len()), (8, 0, 0));
    assert_eq!(exported(&from, false).0, package, "the same conversation gives the same package");
    let report = import(&to, &package, "/new/web", ID).unwrap();
    assert!(report.transcript.ends_with(format!("{ID}.jsonl")), "the transcript is the one that decides");
    let wanted = from.files().into_iter().filter_map(|(name, text)| {
        // Files of this machine alone are not exported.
        let goes = !name.starts_with("debug/") && !name.starts_with("session-env/");
        let (old, new) = (from.paths.claude.to_str().unwrap(), to.paths.claude.to_str().unwrap());
        let text = match name.ends_with(".jsonl") {
            true => text
                .replace("\"/old/web/src\"", "\"/new/web/src\"")
                .replace(&format!("{old}/projects/-old-web/"), &format!("{new}/projects/-new-web/")),
            false => text,
        };
        goes.then(|| (name.replace("/-old-web/", "/-new-web/"), text))
    });
    assert_eq!(to.files(), wanted.collect());
    let meta = fs::metadata(to.paths.claude.join(format!("projects/-new-web/{ID}.jsonl"))).unwrap();
    assert_eq!((meta.mode() & 0o777, meta.mtime()), (0o600, 1_790_000_000));
    // Again: nothing is replaced; under another id it is a second conversation.
    let before = to.files();
    assert!(matches!(import(&to, &package, "/new/web", ID), Err(TransferError::Exists(_))));
    assert_eq!(to.files(), before);
    import(&to, &package, "/new/web", NEW_ID).unwrap();
    let text = &to.files()[&format!("projects/-new-web/{NEW_ID}.jsonl")];
    assert!(!text.contains(ID) && text.contains(NEW_ID), "{text}");
}

#[test]
fn a_package_without_secrets_has_none_and_stays_a_conversation() {
    let (from, to) = (Home::new(), empty());
    let key = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let line = format!(r#"{{"type":"user","cwd":"/old/web","sessionId":"{ID}","text":"use {key}"}}"#);
    from.file(&format!("projects/-old-web/{ID}.jsonl"), &format!("{line}\n{{\"torn {key}"));
    from.file(&format!("projects/-old-web/{ID}/tool-results/t.txt"), &format!("token {key}\n"));
    from.file(&format!("tasks/{ID}/1.json"), &format!("{{\n \"subject\": \"{key}\"\n}}\n"));
    from.file(&format!("file-history/{ID}/x@v1"), &key);
    let image = [0xff, 0xd8].into_iter().chain(key.bytes()).collect::<Vec<u8>>();
    fs::write(from.paths.claude.join(format!("projects/-old-web/{ID}/i.jpg")), image).unwrap();
    let (package, report) = exported(&from, true);
    assert_eq!((report.redacted, report.skipped.len()), (4, 1));
    import(&to, &package, "/new", ID).unwrap();
    fs::remove_file(to.paths.claude.join(format!("projects/-new/{ID}/i.jpg"))).unwrap();
    for (name, text) in to.files() {
        assert!(!text.contains(&key) && !name.starts_with("file-history"), "{name}: {text}");
        assert!(
            name.contains("agent") || name.contains("todos") || text.contains("[redacted: "),
            "{name}: {text}"
        );
    }
    let task: Value = serde_json::from_str(&to.files()[&format!("tasks/{ID}/1.json")]).unwrap();
    assert_eq!(task["subject"], "[redacted: GitHub token]");
}

#[test]
fn what_claude_acts_on_does_not_come_out_of_a_package() {
    let (from, to) = (Home::new(), empty());
    from.file(&format!("projects/-old-web/{ID}.jsonl"), ACTING);
    let (package, _) = exported(&from, false);
    let (transfers, _) = Transfers::begin(&to.paths, &|_| None).unwrap();
    let unpacked = transfers.unpack(package.as_slice(), &PackageLimits::default()).unwrap();
    assert_eq!(unpacked.conversations[0].left_out, LEFT_OUT);
    drop((unpacked, transfers));
    let report = import(&to, &package, "/new", ID).unwrap();
    let moved = HARMLESS.replace("/old/web", "/new");
    assert_eq!(fs::read_to_string(&report.transcript).unwrap(), moved);
    assert_eq!(fs::metadata(&report.transcript).unwrap().mtime(), 1_790_000_000);
}

#[test]
fn what_claude_acts_on_does_not_come_out_of_the_files_of_a_sub_agent() {
    let (from, to) = (Home::new(), empty());
    let of_agent = |project: &str, end: &str| format!("projects/{project}/{ID}/subagents/agent-1.{end}");
    from.file(&of_agent("-old-web", "jsonl"), ACTING);
    from.file(&of_agent("-old-web", "meta.json"), ACTING_AGENT);
    // Files that Claude does not read as transcripts are unchanged.
    from.file(&format!("file-history/{ID}/x.jsonl"), ACTING);
    let (package, _) = exported(&from, false);
    let (transfers, _) = Transfers::begin(&to.paths, &|_| None).unwrap();
    let unpacked = transfers.unpack(package.as_slice(), &PackageLimits::default()).unwrap();
    assert_eq!(unpacked.conversations[0].left_out, LeftOutOfLines { agents: 1, ..LEFT_OUT });
    drop((unpacked, transfers));
    import(&to, &package, "/new", ID).unwrap();
    let files = to.files();
    assert_eq!(files[&of_agent("-new", "jsonl")], HARMLESS.replace("/old/web", "/new"));
    assert_eq!(files[&of_agent("-new", "meta.json")], HARMLESS_AGENT);
    assert_eq!(files[&format!("file-history/{ID}/x.jsonl")], ACTING);
}

/// A package with this list of conversations and these files.
fn forged(kind: PackageKind, info: Value, files: &[(&str, &str)]) -> Vec<u8> {
    let describe = |(name, text): &(&str, &str)| -> PackageFile {
        package::describe(
            PackageName::parse(name).unwrap(),
            &mut text.as_bytes(),
            std::time::UNIX_EPOCH,
            true,
        )
        .unwrap()
    };
    let manifest = PackageManifest::new(kind, 0, info, files.iter().map(describe).collect());
    package::write(Vec::new(), &manifest, |file| {
        let (_, text) = files.iter().find(|(name, _)| *name == file.name.as_str()).unwrap();
        Ok(Box::new(std::io::Cursor::new(text.as_bytes().to_vec())))
    })
    .unwrap()
}

#[test]
fn a_package_of_anything_else_is_refused_before_anything_is_written() {
    let home = empty();
    let list = |id: &str| {
        json!({"conversations": [{"id": id, "dir": "/d", "claude": "/c",
        "sidecar": "/c/projects/-d/x"}]})
    };
    let with = |change: fn(&mut Value)| {
        let mut info = list(ID);
        change(&mut info["conversations"][0]);
        info
    };
    let transcript = format!("{ID}/transcript.jsonl");
    let good = [(transcript.as_str(), "{}\n")];
    let plus = |name: &str| -> Vec<u8> {
        let name = format!("{ID}/{name}");
        forged(PackageKind::Conversations, list(ID), &[good[0], (&name, "x")])
    };
    let twice = {
        let mut info = list(ID);
        let again = info["conversations"][0].clone();
        info["conversations"].as_array_mut().unwrap().push(again);
        info
    };
    let kind = PackageKind::Conversations;
    for (package, why) in [
        (forged(PackageKind::Backup, list(ID), &good), "it is a package of a backup"),
        (forged(kind, Value::Null, &good), "list of conversations"),
        (forged(kind, json!({"conversations": []}), &[]), "it is empty"),
        (forged(kind, list("../../x"), &good), "list of conversations"),
        (forged(kind, list(NEW_ID), &good), "belongs to no conversation"),
        (forged(kind, list(ID), &[]), "has no transcript"),
        (forged(kind, twice, &good), "twice"),
        (forged(kind, with(|info| info["claude"] = json!("c")), &good), "not absolute"),
        (forged(kind, with(|info| info["dir"] = json!("../x")), &good), "not absolute"),
        (plus("session-env/hook-1.sh"), "belongs to no conversation"),
        (plus("debug/x.txt"), "belongs to no conversation"),
        (plus("plans/CLAUDE.txt"), "belongs to no conversation"),
        (plus("agents/d84cc080-94b9-4841-b82f-a62cfb8efdc0.jsonl"), "belongs to no conversation"),
        (plus("todos/other.json"), "belongs to no conversation"),
        (plus("settings.json"), "belongs to no conversation"),
    ] {
        let error = import(&home, &package, "/new", ID).unwrap_err();
        assert!(error.to_string().contains(why) && !error.hint().is_empty(), "{why}: {error}");
        assert!(!home.paths.claude.exists(), "{why}");
    }
    assert!(import(&home, &forged(kind, list(ID), &good), "/new", ID).is_ok(), "and a good one is not");
    let mode = fs::metadata(home.paths.claude.join(format!("projects/-new/{ID}.jsonl"))).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600, "nothing of it can be run");
}

#[test]
fn a_package_with_many_conversations_and_directories_takes_no_time() {
    let home = empty();
    let many = 20_000;
    let id = |n: usize| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0");
    let one = |n: usize| json!({"id": id(n), "claude": "/c", "sidecar": "/s"});
    let file = |name: String| PackageFile {
        name: PackageName::parse(&name).unwrap(),
        bytes: 0,
        sha256: "0".repeat(64),
        modified_ms: 0,
        executable: false,
    };
    let files = (0..many).map(|n| file(format!("{}/transcript.jsonl", id(n)))).collect();
    let info = json!({"conversations": (0..many).map(one).collect::<Vec<_>>()});
    let begun = std::time::Instant::now();
    let manifest = PackageManifest::new(PackageKind::Conversations, 0, info, files);
    assert_eq!(conversations_of(&manifest, &home.paths.home).unwrap().len(), many);
    // A conversation with one directory for each file.
    let mut files: Vec<PackageFile> = vec![file(format!("{}/transcript.jsonl", id(0)))];
    files.extend((0..many).map(|n| file(format!("{}/sidecar/{n}/x", id(0)))));
    let unpacked = home.paths.home.join("unpacked");
    for file in &files {
        let path = unpacked.join(file.name.as_str());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let info = json!({"conversations": [one(0)]});
    let manifest = PackageManifest::new(PackageKind::Conversations, 0, info, files);
    let packed = conversations_of(&manifest, &unpacked).unwrap().remove(0);
    let target = TransferTarget { dir: "/new".to_owned(), id: packed.id.clone() };
    let plan = TransferPlan::of_package(&home.paths.claude, &packed, &target).unwrap();
    assert_eq!((plan.files(), plan.record.new_dirs.len()), (many + 1, many + 4));
    let took = begun.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
}

fn plain(package: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(package).read_to_end(&mut content).unwrap();
    content
}

#[test]
fn a_package_that_is_cut_or_changed_leaves_nothing() {
    let (from, to) = (Home::new(), empty());
    let (package, _) = exported(&from, false);
    for length in (0..package.len()).step_by(97) {
        assert!(import(&to, &package[..length], "/new", ID).is_err(), "cut to {length}");
    }
    for at in (10..package.len() - 8).step_by(53) {
        let mut bad = package.clone();
        bad[at] ^= 0x10;
        // A few bits of a compressed stream can change without a change of its content.
        if import(&to, &bad, "/new", ID).is_ok() {
            assert_eq!(plain(&bad), plain(&package), "changed at {at}");
            fs::remove_dir_all(&to.paths.claude).unwrap();
        }
    }
    assert!(!to.paths.claude.exists());
    assert!(PackageReader::open(package.as_slice(), &PackageLimits::default()).unwrap().verify().is_ok());
    let limits = PackageLimits { total_bytes: 100, file_bytes: 100, ..PackageLimits::default() };
    let (transfers, _) = Transfers::begin(&to.paths, &|_| None).unwrap();
    let refused = transfers.unpack(package.as_slice(), &limits).unwrap_err();
    assert!(refused.to_string().contains("at most 100"), "{refused}");
}

#[test]
fn a_file_whose_name_is_taken_is_skipped() {
    let (from, to) = (Home::new(), empty());
    from.file("plans/blue-fox.md", "plan");
    let (package, _) = exported(&from, false);
    to.file("plans/blue-fox.md", "another plan");
    to.file("projects/-new/agent-a.jsonl", "another agent");
    import(&to, &package, "/new", ID).unwrap();
    let files = to.files();
    assert_eq!(files["plans/blue-fox.md"], "another plan");
    assert_eq!(files["projects/-new/agent-a.jsonl"], "another agent");
    assert!(files.contains_key(&format!("projects/-new/{ID}.jsonl")));
}
