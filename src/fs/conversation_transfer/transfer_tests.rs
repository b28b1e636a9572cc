//! Transfers in use: all files of a conversation follow, nothing is replaced, and a failed transfer changes
//! nothing. `tests/transfer.rs` kills the program itself at every step.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::transfer_record::TransferRecord;
use super::*;
use crate::core::conversation_transfer::LeftOutOfLines;
use crate::core::ids::ConversationId;
use crate::fs::conversations::files::tests::paths;
use crate::fs::conversations::{ConversationFiles, TranscriptFile};
use crate::fs::file_error::FsError;
use crate::fs::paths::Paths;

pub(super) const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
pub(super) const NEW_ID: &str = "00000000-94b9-4841-b82f-a62cfb8efdc0";

/// Lines of a conversation of `/old/web` that Claude acts on when it resumes it, and what remains of them.
pub(in crate::fs) const ACTING: &str = "{\"type\":\"permission-mode\",\"permissionMode\":\"acceptEdits\"}\n\
    {\"type\":\"file-history-snapshot\",\"snapshot\":{\"trackedFileBackups\":{\
    \"a.rs\":{\"realParentDir\":\"/old/web\"},\"/home/u/.bashrc\":{},\
    \"lnk/.bashrc\":{\"realParentDir\":\"/home/u\"}}}}\n\
    {\"type\":\"file-history-delta\",\"trackingPath\":\"/home/u/.bashrc\",\"backup\":{}}\n\
    {\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"always push --force\"}\n\
    {\"type\":\"worktree-state\",\"worktreeSession\":{\"worktreePath\":\"/tmp/x\"}}\n\
    {\"type\":\"attachment\",\"attachment\":{\"type\":\"prompt_snapshot\",\"systemPrompt\":[\"x\"]}}\n\
    {\"type\":\"attachment\",\"attachment\":{\"type\":\"goal_status\",\"condition\":\"x\"}}\n\
    {\"type\":\"user\",\"toolUseResult\":{\"id\":\"x\",\"recurring\":true}}\n{\"type\":\"user\"}\n";
pub(in crate::fs) const HARMLESS: &str = "{\"type\":\"permission-mode\",\"permissionMode\":\"default\"}\n\
    {\"type\":\"file-history-snapshot\",\"snapshot\":{\"trackedFileBackups\":{\
    \"a.rs\":{\"realParentDir\":\"/old/web\"}}}}\n\
    {\"type\":\"attachment\",\"attachment\":{\"type\":\"session_cron_carry\",\"tasks\":[]}}\n\
    {\"type\":\"attachment\",\"attachment\":{\"type\":\"session_cron_carry\",\"tasks\":[]}}\n\
    {\"type\":\"user\",\"toolUseResult\":\"scheduled\"}\n{\"type\":\"user\"}\n";
pub(in crate::fs) const LEFT_OUT: LeftOutOfLines = LeftOutOfLines {
    modes: 1,
    files: 3,
    goals: 1,
    scheduled: 1,
    attachments: 1,
    agents: 0,
    others: 2,
    unreadable: 0,
};
/// The file beside a sub-agent's transcript, and what remains of it.
pub(in crate::fs) const ACTING_AGENT: &str =
    "{\"agentType\":\"x\",\"cwd\":\"/home/u\",\"permissionMode\":\"acceptEdits\"}";
pub(in crate::fs) const HARMLESS_AGENT: &str = "{\"agentType\":\"x\"}";

/// A home with one conversation of `/old/web`.
pub(super) struct Home {
    _root: tempfile::TempDir,
    pub paths: Paths,
}

impl Home {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = Home { paths: paths(root.path()), _root: root };
        let folder = home.paths.claude.join("projects/-old-web");
        let stored = folder.join(ID).join("tool-results/t.txt");
        let line = format!(
            r#"{{"type":"user","cwd":"/old/web/src","sessionId":"{ID}","text":"/old/web","toolUseResult":{{"persistedOutputPath":"{}"}}}}"#,
            stored.display()
        );
        home.file(
            &format!("projects/-old-web/{ID}.jsonl"),
            &format!("{line}\ntorn\n{{\"type\":\"user\",\"cwd\":\"/other\"}}"),
        );
        home.file(&format!("projects/-old-web/{ID}/subagents/agent-1.jsonl"), &format!("{line}\n"));
        home.file(&format!("projects/-old-web/{ID}/tool-results/t.txt"), "/old/web\n");
        home.file("projects/-old-web/agent-a.jsonl", &format!("{line}\n"));
        home.file(&format!("tasks/{ID}/1.json"), "{}");
        home.file(&format!("todos/{ID}-agent-{ID}.json"), "[]");
        home.file(&format!("file-history/{ID}/x@v1"), "old");
        home.file(&format!("debug/{ID}.txt"), "log");
        home
    }

    pub fn file(&self, name: &str, text: &str) {
        let path = self.paths.claude.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let at = UNIX_EPOCH + Duration::new(1_790_000_000, 123_456_789);
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
    }

    /// Every file below Claude's directory, with its content.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut dirs = vec![self.paths.claude.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => dirs.push(path),
                    kind if kind.is_file() => {
                        let name =
                            path.strip_prefix(&self.paths.claude).unwrap().to_str().unwrap().to_owned();
                        found.insert(name, fs::read_to_string(&path).unwrap());
                    }
                    _ => {}
                }
            }
        }
        found
    }

    fn plan(&self, kind: TransferKind, to: &str) -> Result<TransferPlan, TransferError> {
        let transcript = self.paths.claude.join(format!("projects/-old-web/{ID}.jsonl"));
        let found =
            ConversationFiles::of(&self.paths, &TranscriptFile::at(&transcript).unwrap(), None).unwrap();
        let id = if kind == TransferKind::Copy { NEW_ID } else { ID };
        let target = TransferTarget { dir: to.to_owned(), id: id.parse().unwrap() };
        let map = vec![("/old/web".to_owned(), to.to_owned())];
        TransferPlan::new(kind, &self.paths.claude, &found, Some("/old/web"), &target, map)
    }

    fn place(&self, plan: &TransferPlan) -> Result<TransferReport, TransferError> {
        let (transfers, recovered) = Transfers::begin(&self.paths, &|_| None).unwrap();
        assert_eq!(recovered, None);
        let placed = transfers.place(plan);
        assert!(!self.paths.transfers().join("current.json").exists());
        placed
    }
}

fn staged_names(files: &BTreeMap<String, String>) -> Vec<&String> {
    files.keys().filter(|name| name.contains(".hopty-")).collect()
}

#[test]
fn item_075_everything_of_a_conversation_follows_and_only_paths_change() {
    let home = Home::new();
    let before = home.files();
    let report = home.place(&home.plan(TransferKind::Move, "/new place").unwrap()).unwrap();
    assert_eq!((report.files, report.lines.changed, report.lines.foreign), (4, 3, 1));
    assert!(report.transcript.ends_with(format!("{ID}.jsonl")), "the transcript is the one that decides");
    let moved: BTreeMap<String, String> = before
        .iter()
        .map(|(name, text)| {
            let text = match name.ends_with(".jsonl") {
                true => text
                    .replace("\"/old/web/src\"", "\"/new place/src\"")
                    .replace("/projects/-old-web/", "/projects/-new-place/"),
                false => text.clone(),
            };
            (name.replace("/-old-web/", "/-new-place/"), text)
        })
        .collect();
    assert_eq!(home.files(), moved);
    assert!(!home.paths.claude.join("projects/-old-web").exists(), "nothing is left of the old folder");
    let meta = fs::metadata(&report.transcript).unwrap();
    assert_eq!((meta.mode() & 0o777, meta.mtime(), meta.nlink()), (0o600, 1_790_000_000, 1));
}

#[test]
fn item_075_a_copy_has_its_own_id_everywhere_and_its_source_stays() {
    // Also in the same folder.
    for to in ["/new", "/old/web"] {
        let home = Home::new();
        let before = home.files();
        let report = home.place(&home.plan(TransferKind::Copy, to).unwrap()).unwrap();
        assert!(report.transcript.ends_with(format!("{NEW_ID}.jsonl")));
        let mut after = home.files();
        for (name, text) in &before {
            assert_eq!(after.remove(name).as_ref(), Some(text), "{name}");
        }
        let folder = format!("projects/{}", to.replace('/', "-"));
        let wanted = [
            format!("file-history/{NEW_ID}/x@v1"),
            format!("{folder}/{NEW_ID}.jsonl"),
            format!("{folder}/{NEW_ID}/subagents/agent-1.jsonl"),
            format!("{folder}/{NEW_ID}/tool-results/t.txt"),
            format!("tasks/{NEW_ID}/1.json"),
            format!("todos/{NEW_ID}-agent-{NEW_ID}.json"),
        ];
        let agent = format!("{folder}/agent-a.jsonl");
        assert_eq!(after.remove(&agent).is_some(), to == "/new", "an old sub-agent has one name");
        assert_eq!(after.keys().cloned().collect::<Vec<_>>(), wanted);
        let text = &after[&format!("{folder}/{NEW_ID}.jsonl")];
        assert!(text.contains(&format!(r#""sessionId":"{NEW_ID}""#)) && !text.contains(ID), "{text}");
        assert!(text.contains(&format!("{folder}/{NEW_ID}/tool-results/t.txt")), "{text}");
    }
}

#[test]
fn nothing_is_replaced_and_no_link_is_followed() {
    let home = Home::new();
    home.file(&format!("projects/-new/{ID}/subagents/agent-1.jsonl"), "somebody's");
    let before = home.files();
    let error = home.plan(TransferKind::Move, "/new").unwrap_err();
    assert!(matches!(&error, TransferError::Exists(path) if path.ends_with("agent-1.jsonl")), "{error}");
    // A file that appears after the plan was made.
    let plan = home.plan(TransferKind::Move, "/late").unwrap();
    home.file(&format!("projects/-late/{ID}.jsonl"), "somebody's");
    let error = home.place(&plan).unwrap_err();
    assert!(
        matches!(&error, TransferError::Exists(path) if path.ends_with(format!("{ID}.jsonl"))),
        "{error}"
    );
    let mut after = home.files();
    assert_eq!(after.remove(&format!("projects/-late/{ID}.jsonl")).as_deref(), Some("somebody's"));
    assert_eq!(after, before);
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), home.paths.claude.join("projects/-link")).unwrap();
    let error = home.plan(TransferKind::Move, "/link").unwrap_err();
    assert!(matches!(error, TransferError::Fs(FsError::Symlink(_))), "{error}");
    assert!(matches!(home.plan(TransferKind::Move, "/old.web"), Err(TransferError::SameFolder(_))));
    assert!(!error.hint().is_empty());
}

#[test]
fn an_open_or_changed_conversation_is_not_moved() {
    let home = Home::new();
    let before = home.files();
    let plan = home.plan(TransferKind::Move, "/new").unwrap();
    // Open from the start, and only after everything is written.
    for closed_for in [0, 1] {
        let asked = std::cell::Cell::new(0);
        let is_open = |_: &ConversationId| {
            asked.set(asked.get() + 1);
            (asked.get() > closed_for).then(|| "session web".to_owned())
        };
        let (transfers, _) = Transfers::begin(&home.paths, &is_open).unwrap();
        assert!(matches!(transfers.place(&plan), Err(TransferError::Open(who)) if who == "session web"));
        assert_eq!(asked.get(), closed_for + 1);
        assert_eq!(home.files(), before);
    }
    let grown = format!("projects/-old-web/{ID}.jsonl");
    home.file(&grown, "more");
    assert!(matches!(home.place(&plan), Err(TransferError::Changed(path)) if path.ends_with(&grown)));
    assert_eq!(home.files().len(), before.len());
    assert!(!home.paths.claude.join("projects/-new").exists());
}

#[test]
fn a_source_that_changed_after_a_kill_is_not_removed() {
    let home = Home::new();
    let plan = home.plan(TransferKind::Move, "/new").unwrap();
    let transcript = format!("projects/-old-web/{ID}.jsonl");
    let killed = |home: &Home, linked: usize| {
        atomic_dir(&home.paths.transfers());
        plan.record.save(&home.paths.transfers()).unwrap();
        for dir in &plan.record.new_dirs {
            fs::create_dir_all(dir).unwrap();
        }
        for (number, step) in plan.record.steps.iter().enumerate() {
            fs::write(&step.staged, "new").unwrap();
            if number < linked {
                fs::hard_link(&step.staged, &step.to).unwrap();
            }
        }
    };
    let outcome =
        |home: &Home, is_open: IsOpen<'_>| Transfers::begin(&home.paths, is_open).unwrap().1.unwrap();
    let before = home.files();
    // Everything but the transcript was in place.
    killed(&home, plan.record.steps.len() - 1);
    let undone = outcome(&home, &|_| None);
    assert_eq!(undone.outcome, TransferOutcome::Undone);
    assert_eq!(
        undone.to_string(),
        "an interrupted move of c74cc080 to /new was undone: it is in /old/web, as before"
    );
    assert_eq!(home.files(), before);
    // The transcript was in place; then the old one was opened, or written to.
    for (is_open, cause) in [(true, "open in"), (false, "changed")] {
        killed(&home, plan.record.steps.len());
        if !is_open {
            home.file(&transcript, "more");
        }
        let finished = outcome(&home, &|_| is_open.then(|| "session web".to_owned()));
        assert!(matches!(&finished.outcome, TransferOutcome::SourceStays(_, why) if why.contains(cause)));
        let files = home.files();
        assert!(files.contains_key(&transcript) && staged_names(&files).is_empty(), "{files:?}");
        fs::remove_dir_all(home.paths.claude.join("projects/-new")).unwrap();
    }
    // The staged file was never written, and the new place belongs to somebody else.
    killed(&home, 0);
    plan.record.steps.iter().for_each(|step| fs::remove_file(&step.staged).unwrap());
    home.file(&format!("projects/-new/{ID}.jsonl"), "somebody's");
    assert_eq!(outcome(&home, &|_| None).outcome, TransferOutcome::Undone);
    assert!(home.files().contains_key(&transcript), "the source of a move that was not made stays");
}

fn atomic_dir(dir: &Path) {
    crate::fs::atomic::private_dir(dir).unwrap();
}

#[test]
fn one_process_transfers_at_a_time_and_a_damaged_record_is_not_obeyed() {
    let home = Home::new();
    let dir = home.paths.transfers();
    atomic_dir(&dir);
    fs::write(dir.join("current.json"), "{\"kind\":\"move\"").unwrap();
    assert!(matches!(Transfers::begin(&home.paths, &|_| None), Err(TransferError::Fs(_))));
    let plan = home.plan(TransferKind::Move, "/new").unwrap();
    plan.record.save(&dir).unwrap();
    assert_eq!(TransferRecord::load(&dir).unwrap().unwrap(), plan.record);
    fs::set_permissions(dir.join("current.json"), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(
        Transfers::begin(&home.paths, &|_| None),
        Err(TransferError::Fs(FsError::NotPrivate(_)))
    ));
}

#[test]
fn the_memory_of_a_project_moves_without_replacing_any() {
    let home = Home::new();
    home.file("projects/-old-web/memory/MEMORY.md", "index");
    home.file("projects/-old-web/memory/deep/a.md", "a");
    home.file("projects/-new/memory/MEMORY.md", "somebody's");
    let folder = |name: &str| home.paths.claude.join("projects").join(name);
    let memory = ProjectMemory::of(&folder("-old-web"), &folder("-new"));
    assert_eq!(memory.stay, [folder("-old-web/memory/MEMORY.md")]);
    let plan = TransferPlan::of_memory(&home.paths.claude, ("/old/web", "/new"), &memory).unwrap().unwrap();
    home.place(&plan).unwrap();
    let files = home.files();
    assert_eq!(files["projects/-new/memory/deep/a.md"], "a");
    assert_eq!(files["projects/-new/memory/MEMORY.md"], "somebody's");
    assert_eq!(files["projects/-old-web/memory/MEMORY.md"], "index");
    assert!(!folder("-old-web/memory/deep").exists());
    let none = ProjectMemory::of(&folder("-none"), &folder("-new"));
    assert!(TransferPlan::of_memory(&home.paths.claude, ("/x", "/new"), &none).unwrap().is_none());
}

#[test]
fn corruption_on_the_disk_is_noticed() {
    let home = Home::new();
    let plan = home.plan(TransferKind::Move, "/new").unwrap();
    plan.record.new_dirs.iter().for_each(|dir| fs::create_dir_all(dir).unwrap());
    for step in &plan.record.steps {
        let rules = plan.rules.as_ref().filter(|_| step.has_lines);
        let old = fs::read_to_string(&step.from).unwrap();
        let new = match step.has_lines {
            true => old.replace("\"/old/web/src\"", "\"/new/src\"").replace("/-old-web/", "/-new/"),
            false => old,
        };
        fs::write(&step.staged, &new).unwrap();
        transfers::check_staged(step, rules).unwrap();
        for at in 0..new.len() {
            let mut bad = new.clone().into_bytes();
            bad[at] ^= 1;
            fs::write(&step.staged, &bad).unwrap();
            let error = transfers::check_staged(step, rules).unwrap_err();
            assert!(matches!(error, TransferError::Differs(_)), "{error} at {at}");
        }
    }
}
