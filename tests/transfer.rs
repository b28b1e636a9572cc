//! Moving and copying conversations, as a person does it: killed at every write, on a full disk, as another
//! user.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;
use support::claude::{self, Kind};
use support::nobody;
use support::small_disk::SmallDisk;
use support::world::World;

const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
const SECOND: &str = "d84cc080-94b9-4841-b82f-a62cfb8efdc0";
/// An id that no conversation has.
const NONE: &str = "00000000-0000-4000-8000-000000000000";
const OLD: &str = "/gone/web";

/// A world of files alone, with the directory to which conversations go.
struct Files {
    world: World,
    to: PathBuf,
    faults: PathBuf,
}

impl Files {
    fn new() -> Self {
        let mut world = World::new(Kind::StandIn, Script::list([ScriptedReply::text("hello")])).unwrap();
        let faults = world.faults();
        let to = world.project.with_file_name("new place");
        std::fs::create_dir(&to).unwrap();
        let files = Files { world, to, faults };
        files.renew(20);
        files
    }

    fn claude(&self) -> PathBuf {
        self.world.claude_dir()
    }

    /// Writes the conversations anew: one with everything that Claude keeps, one of a directory below, and a
    /// memory.
    fn renew(&self, lines: u32) {
        for dir in ["projects", "tasks", "file-history", "todos"] {
            let _ = std::fs::remove_dir_all(self.claude().join(dir));
        }
        let line = |id: &str, n: u32| {
            format!(
                r#"{{"type":"user","uuid":"u{n}","cwd":"{OLD}/src","sessionId":"{id}","message":{{"role":"user","content":"say {n} in {OLD}"}}}}"#
            ) + "\n"
        };
        let text = |id: &str, count: u32| (0..count).map(|n| line(id, n)).collect::<String>();
        let first = |id: &str, dir: &str, count: u32| {
            format!("{{\"type\":\"mode\",\"cwd\":\"{dir}\",\"sessionId\":\"{id}\"}}\n{}", text(id, count))
        };
        self.file(&format!("projects/-gone-web/{ID}.jsonl"), &first(ID, OLD, lines));
        self.file(&format!("projects/-gone-web/{ID}/subagents/agent-1.jsonl"), &text(ID, 2));
        self.file(&format!("projects/-gone-web/{ID}/tool-results/r.txt"), OLD);
        self.file(&format!("tasks/{ID}/1.json"), "{}");
        self.file(&format!("file-history/{ID}/x@v1"), "old");
        self.file("projects/-gone-web/memory/MEMORY.md", "remember");
        self.file(
            &format!("projects/-gone-web-src/{SECOND}.jsonl"),
            &first(SECOND, &format!("{OLD}/src"), 2),
        );
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.claude().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Every file of conversations with its content; the id of a copy is `NEW`.
    fn found(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for top in ["projects", "tasks", "file-history", "todos"] {
            let mut dirs = vec![self.claude().join(top)];
            while let Some(dir) = dirs.pop() {
                for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                    if entry.path().is_dir() {
                        dirs.push(entry.path());
                        continue;
                    }
                    let path = entry.path();
                    let name = path.strip_prefix(self.claude()).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, std::fs::read_to_string(path).unwrap());
                }
            }
        }
        let is_copy = |name: &&str| name.len() == ID.len() && *name != ID && *name != SECOND;
        let ids = found.keys().flat_map(|name| name.split(['/', '.']));
        let Some(copy) = ids.clone().find(|name| is_copy(name) && name.matches('-').count() == 4) else {
            return found;
        };
        let copy = copy.to_owned();
        found
            .into_iter()
            .map(|(name, text)| (name.replace(&copy, "NEW"), text.replace(&copy, "NEW")))
            .collect()
    }

    /// Runs a verb that is killed at its write number `at`.
    fn killed_at(&self, at: usize, args: &[&str]) -> Output {
        let kill = self.faults.join("kill");
        std::fs::write(&kill, at.to_string()).unwrap();
        let output = self.world.hopty(args);
        std::fs::remove_file(kill).unwrap();
        output
    }

    /// What the next verb says of the one before.
    fn next_says(&self) -> String {
        let next = self.world.hopty(&["conversations", "copy", NONE]);
        assert_eq!(next.status.code(), Some(1));
        let said = String::from_utf8(next.stderr).unwrap();
        let record = self.world.state_dir().join("transfers/current.json");
        assert!(!record.exists(), "{said}");
        said.lines().find(|line| line.contains("interrupted")).unwrap_or_default().to_owned()
    }
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_kill_at_every_write_leaves_the_old_state_or_the_new_one_and_the_next_verb_says_which() {
    let files = Files::new();
    let to = files.to.to_str().unwrap().to_owned();
    let to = to.as_str();
    for (verb, has_links) in [("move", true), ("copy", true), ("move", false), ("copy", false)] {
        let args = ["conversations", verb, ID, "--to", to];
        if !has_links {
            std::fs::write(files.faults.join("no-links"), "").unwrap();
        }
        files.renew(20);
        let old = files.found();
        files.world.ask(&args);
        let new = files.found();
        assert_ne!(old, new);
        let (mut undone, mut finished, mut at) = (0, 0, 0);
        loop {
            files.renew(20);
            let output = files.killed_at(at, &args);
            if output.status.success() {
                break;
            }
            assert_eq!(output.status.signal(), Some(9), "{}", words(&output));
            let said = files.next_says();
            let found = files.found();
            // Where nothing is said, there was nothing to take up: it had not begun, or was done.
            match () {
                () if said.contains("undone") => {
                    undone += 1;
                    assert_eq!(found, old, "{verb} killed at {at}: {said}");
                }
                () if said.contains("finished: it is in") => {
                    finished += 1;
                    assert_eq!(found, new, "{verb} killed at {at}: {said}");
                }
                () => assert!(found == old || found == new, "{verb} killed at {at}: {said:?}"),
            }
            assert!(said.is_empty() || said.contains(&ID[..8]) && said.contains(to), "{said}");
            at += 1;
        }
        assert!(undone > 15 && finished > 2, "{verb}: {at} kills, {undone} undone, {finished} finished");
    }
}

#[test]
fn without_hard_links_conversations_are_archived_backed_up_and_restored_too() {
    let files = Files::new();
    std::fs::write(files.faults.join("no-links"), "").unwrap();
    let transcript = format!("projects/-gone-web/{ID}.jsonl");
    let before = files.found();
    files.world.ask(&["conversations", "archive", ID]);
    // Another state, in which lines of the first are missing: both are kept.
    let line = format!(r#"{{"type":"user","cwd":"{OLD}","sessionId":"{ID}","message":{{"content":"x"}}}}"#);
    files.file(&transcript, &(line + "\n"));
    files.world.ask(&["conversations", "archive", ID]);
    let archive = files.world.home.join(".local/share/hopty/archive/-gone-web");
    let earlier = archive.join(format!("{ID}.1.jsonl.zst"));
    assert!(earlier.is_file(), "{:?}", std::fs::read_dir(&archive).unwrap().collect::<Vec<_>>());
    std::fs::remove_file(files.claude().join(&transcript)).unwrap();
    let file = format!("-gone-web/{ID}.1.jsonl.zst");
    files.world.ask(&["conversations", "restore", &file, "--keep-times"]);
    assert_eq!(files.found(), before);
    let backup = files.world.root.path().join("b.tar.gz");
    let backup = backup.to_str().unwrap();
    files.world.ask(&["backup", "create", backup]);
    files.file(&transcript, "changed\n");
    files.world.ask(&["backup", "restore", backup, "--overwrite"]);
    let (kept, now): (Vec<_>, Vec<_>) =
        files.found().into_iter().partition(|(name, _)| name.contains(".before-restore-"));
    assert_eq!(now.into_iter().collect::<BTreeMap<_, _>>(), before);
    assert!(kept.iter().any(|(_, text)| text == "changed\n"), "{kept:?}");
}

#[test]
fn a_renamed_directory_that_is_killed_at_every_write_is_moved_by_the_next_try() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let args = ["conversations", "move", "--from", OLD, "--to", to];
    let old = files.found();
    let said = files.world.ask(&args);
    assert!(said.contains(&format!("moved 2 conversations from {OLD} to {to}, and 1 file of")), "{said}");
    let new = files.found();
    let folder = to.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    for name in [format!("{ID}.jsonl"), "memory/MEMORY.md".to_owned()] {
        assert!(new.contains_key(&format!("projects/{folder}/{name}")), "{name}: {new:?}");
    }
    assert!(new[&format!("projects/{folder}-src/{SECOND}.jsonl")].contains(&format!("\"cwd\":\"{to}/src\"")));
    assert!(!files.claude().join("projects/-gone-web").exists(), "nothing is left of the old one");
    let mut at = 0;
    loop {
        files.renew(2);
        let (old_now, before) = (files.found(), old.len());
        assert_eq!(old_now.len(), before);
        let output = files.killed_at(at, &args);
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.signal(), Some(9), "{}", words(&output));
        files.next_says();
        for (id, name) in [(ID, "-gone-web"), (SECOND, "-gone-web-src")] {
            let found = files.found();
            let places = found.keys().filter(|path| path.ends_with(&format!("/{id}.jsonl"))).count();
            assert_eq!(places, 1, "killed at {at}: {name} {:?}", found.keys());
        }
        files.world.hopty(&args);
        let found: Vec<String> = files.found().into_keys().collect();
        assert_eq!(found, new.keys().cloned().collect::<Vec<_>>(), "killed at {at}");
        at += 1;
    }
    assert!(at > 40, "{at} kills");
}

#[test]
fn a_kill_while_an_interrupted_move_is_taken_up_leaves_the_old_state_or_the_new_one() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let args = ["conversations", "move", ID, "--to", to];
    let old = files.found();
    files.world.ask(&args);
    let new = files.found();
    let mut killed_twice = 0;
    for at in (0..).step_by(5) {
        let mut second = 0;
        loop {
            files.renew(20);
            if files.killed_at(at, &args).status.success() {
                assert!(killed_twice > 30, "{killed_twice}");
                return;
            }
            let again = files.killed_at(second, &["conversations", "copy", NONE]);
            let said = files.next_says();
            let found = files.found();
            assert!(found == old || found == new, "killed at {at} and then at {second}: {said}");
            assert!(
                found != old || !said.contains("finished"),
                "killed at {at} and then at {second}: {said}"
            );
            assert!(found != new || !said.contains("undone"), "killed at {at} and then at {second}: {said}");
            if again.status.signal() != Some(9) {
                break;
            }
            (second, killed_twice) = (second + 1, killed_twice + 1);
        }
    }
}

#[test]
fn an_import_that_is_killed_at_every_write_leaves_nothing_or_all_of_it() {
    let files = Files::new();
    let package = files.world.root.path().join("c.tar.gz");
    let (to, file) = (files.to.to_str().unwrap(), package.to_str().unwrap());
    files.world.ask(&["conversations", "export", ID, "-o", file]);
    let forget = || {
        files.renew(0);
        for dir in ["projects", "tasks", "file-history"] {
            std::fs::remove_dir_all(files.claude().join(dir)).unwrap();
        }
    };
    let args = ["conversations", "import", file, "--to", to];
    forget();
    files.world.ask(&args);
    let whole = files.found();
    assert!(whole.len() > 4, "{whole:?}");
    let (mut undone, mut finished, mut at) = (0, 0, 0);
    loop {
        forget();
        let output = files.killed_at(at, &args);
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.signal(), Some(9), "{}", words(&output));
        let said = files.next_says();
        let found = files.found();
        match () {
            () if said.contains("undone: nothing of it is left") => {
                undone += 1;
                assert_eq!(found.len(), 0, "killed at {at}: {said} {found:?}");
            }
            () if said.contains("finished: it is in") => {
                finished += 1;
                assert_eq!(found, whole, "killed at {at}: {said}");
            }
            () => assert!(found.is_empty() || found == whole, "killed at {at}: {said:?}"),
        }
        let left = std::fs::read_dir(files.world.state_dir().join("transfers")).unwrap().count();
        assert_eq!(left, 1, "only the lock: killed at {at}");
        at += 1;
    }
    assert!(undone > 15 && finished > 2, "{at} kills, {undone} undone, {finished} finished");
}

#[test]
fn what_is_archived_and_moved_at_once_stays_whole() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let archive = files.world.home.join(".local/share/hopty/archive");
    let verbs: [&[&str]; 4] = [
        &["archive", ID, "--remove"],
        &["move", ID, "--to", to],
        &["archive", ID],
        &["move", "--from", OLD, "--to", to],
    ];
    for round in 0..6 {
        files.renew(400);
        let _ = std::fs::remove_dir_all(&archive);
        // Each of them begins first once.
        let started = (0..verbs.len()).map(|at| {
            Command::new(claude::hopty())
                .arg("conversations")
                .args(verbs[(at + round) % verbs.len()])
                .env_clear()
                .envs(files.world.env.iter().cloned())
                .current_dir(&files.world.project)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let started: Vec<Child> = started.collect();
        let outputs = started.into_iter().map(|child| child.wait_with_output().unwrap());
        let said: Vec<String> = outputs.map(|output| words(&output)).collect();
        let live = |found: &BTreeMap<String, String>| {
            found
                .iter()
                .filter(|(name, _)| name.ends_with(&format!("/{ID}.jsonl")))
                .map(|(_, text)| text.lines().count())
                .collect::<Vec<_>>()
        };
        let mut found = files.found();
        if live(&found).is_empty() {
            files.world.ask(&["conversations", "restore", ID]);
            found = files.found();
        }
        assert_eq!(live(&found), [401], "round {round}: {said:?}");
        assert!(!found.keys().any(|name| name.contains(".hopty-t")), "round {round}: {found:?}");
        assert!(
            found.keys().any(|name| name.ends_with("subagents/agent-1.jsonl")),
            "round {round}: {said:?}"
        );
    }
}

#[test]
fn a_package_goes_through_a_pipe_and_to_a_file_that_only_its_owner_reads() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let file = files.world.root.path().join("c.tar.gz");
    let path = file.to_str().unwrap();
    let run = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env_clear().envs(files.world.env.iter().cloned());
        command.current_dir(&files.world.project).output().unwrap()
    };
    let hopty = claude::hopty().display().to_string();
    let piped = run(&format!(
        "'{hopty}' conversations export {ID} | '{hopty}' conversations import - --new-id --to '{to}' --json"
    ));
    let said: Value = serde_json::from_slice(&piped.stdout).unwrap_or_else(|_| panic!("{}", words(&piped)));
    assert_eq!((&said["id"], &said["state"], &said["to"]), (&ID.into(), &"imported".into(), &to.into()));
    assert_ne!(said["new_id"], ID);
    assert!(Path::new(said["transcript"].as_str().unwrap()).is_file());
    // A file of its owner alone, whatever the umask, and never over one that is there.
    let made = run(&format!("umask 0; '{hopty}' conversations export {ID} -o '{path}'"));
    assert!(words(&made).contains(&format!("exported {ID} to {path}: 5 files")), "{}", words(&made));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let again = files.world.hopty(&["conversations", "export", ID, "-o", path]);
    assert!(words(&again).contains("already exists") && words(&again).contains("hint: "));
    // It is here already, and where it belonged is not here.
    let same = files.world.hopty(&["conversations", "import", path, "--to", to]);
    assert!(words(&same).contains("already exists") && words(&same).contains("--new-id"), "{}", words(&same));
    let nowhere = files.world.hopty(&["conversations", "import", path, "--new-id"]);
    assert!(words(&nowhere).contains("which does not exist here") && words(&nowhere).contains("--to DIR"));
    let before = files.found();
    let dry = files.world.ask(&["conversations", "import", path, "--new-id", "--to", to, "--dry-run"]);
    assert!(dry.contains("would import") && dry.contains("the package is whole"), "{dry}");
    let left_out = "a permission mode, the system prompt, goals, scheduled prompts and what /rewind would do";
    assert!(dry.contains(left_out), "{dry}");
    assert_eq!(files.found(), before);
    for (args, said) in [
        (vec!["import", "/no/such"], "No such file"),
        (vec!["import", "/etc/passwd"], "not a hopty package"),
        (vec!["export", NONE], "no conversation has this id"),
        (vec!["export", ID, "-o", "/no/such/file"], "No such file"),
    ] {
        let output = files.world.hopty(&[&["conversations"], args.as_slice()].concat());
        let words = words(&output);
        assert!(!output.status.success() && words.contains(said) && words.contains("hint: "), "{words}");
    }
    // A terminal gets no package, and gives none.
    for (args, said) in [
        (vec!["conversations", "export", ID], "a terminal cannot show a package"),
        (vec!["conversations", "import", "-"], "standard input is a terminal, not a package"),
    ] {
        let mut term = files.world.terminal(&args);
        term.wait_text(said);
        term.wait_exit();
    }
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_would_be_done() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let before = files.found();
    let one = files.world.ask(&["conversations", "move", ID, "--to", to, "--dry-run"]);
    assert!(one.contains("would move c74cc080") && one.contains("3 files"), "{one}");
    let all = files.world.ask(&["conversations", "move", "--from", OLD, "--to", to, "--dry-run", "--json"]);
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!((all["conversations"].as_array().unwrap().len(), &all["memory_files"]), (2, &Value::from(1)));
    assert_eq!(all["conversations"][0]["state"], "would");
    let copy = files.world.ask(&["conversations", "copy", &ID[..8], "--dry-run"]);
    assert!(copy.contains("would copy") && copy.contains(OLD), "{copy}");
    assert_eq!(files.found(), before);
    assert!(!files.world.state_dir().join("transfers").exists());
}

#[test]
fn mistakes_are_refused_with_a_hint() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let before = files.found();
    let clash = files.to.join("clash");
    std::fs::create_dir(&clash).unwrap();
    let folder = clash.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    files.file(&format!("projects/{folder}/{SECOND}.jsonl"), "{}\n");
    for (args, said) in [
        (vec!["move", ID, "--to", "/no/such"], "there is no such directory"),
        (vec!["move", ID, "--to", "/dev/null"], "it is not a directory"),
        (vec!["move", NONE, "--to", to], "no conversation has this id or title"),
        (vec!["move", "--from", "/never/used", "--to", to], "Claude has no conversation of this directory"),
        (vec!["move", SECOND, "--to", clash.to_str().unwrap()], "hint: "),
    ] {
        let output = files.world.hopty(&[&["conversations"], args.as_slice()].concat());
        let words = words(&output);
        assert!(!output.status.success() && words.contains(said) && words.contains("hint: "), "{words}");
    }
    let mut found = files.found();
    found.remove(&format!("projects/{folder}/{SECOND}.jsonl"));
    assert_eq!(found, before);
}

#[test]
fn a_disk_that_fills_leaves_everything_as_it_was() {
    let files = Files::new();
    let projects = files.claude().join("projects");
    std::fs::remove_dir_all(&projects).unwrap();
    let Some(_disk) = SmallDisk::mount(&projects, "4m") else { return };
    // A name so long that the lines outgrow the room that there seemed to be.
    let mut long = files.to.clone();
    for _ in 0..8 {
        long.push("x".repeat(100));
    }
    std::fs::create_dir_all(&long).unwrap();
    files.renew(6000);
    let before = files.found();
    for verb in ["move", "copy"] {
        let output = files.world.hopty(&["conversations", verb, ID, "--to", long.to_str().unwrap()]);
        let words = words(&output);
        assert!(words.contains("No space left on device") && words.contains("hint: "), "{words}");
        assert_eq!(files.found(), before, "{verb}");
        assert_eq!(files.next_says(), "", "it was undone at once");
    }
    // One of which it is known before.
    files.file("projects/fill", &"x".repeat(2 << 20));
    let output = files.world.hopty(&["conversations", "copy", ID, "--to", files.to.to_str().unwrap()]);
    assert!(words(&output).contains("is full: "), "{}", words(&output));
}

#[test]
fn a_disk_that_fills_leaves_no_package_and_no_half_of_an_import() {
    let files = Files::new();
    files.renew(6000);
    let (root, to) = (files.world.root.path(), files.to.to_str().unwrap());
    let whole = root.join("whole.tar.gz");
    files.world.ask(&["conversations", "export", ID, "-o", whole.to_str().unwrap()]);
    let small_dir = root.join("small");
    let Some(small) = SmallDisk::mount(&small_dir, "16k") else { return };
    let package = small_dir.join("c.tar.gz");
    let output = files.world.hopty(&["conversations", "export", ID, "-o", package.to_str().unwrap()]);
    assert!(words(&output).contains("No space left on device"), "{}", words(&output));
    assert_eq!(std::fs::read_dir(&small_dir).unwrap().count(), 0);
    drop(small);
    let before = files.found();
    let args = ["conversations", "import", whole.to_str().unwrap(), "--new-id", "--to", to];
    // First where it is unpacked, then where it goes.
    for dir in [files.world.state_dir().join("transfers"), files.claude().join("tasks")] {
        let _ = std::fs::remove_dir_all(&dir);
        let Some(_disk) = SmallDisk::mount(&dir, "4k") else { return };
        std::fs::write(dir.join("fill"), [b'x'; 4096]).unwrap();
        let output = files.world.hopty(&args);
        let words = words(&output);
        let is_told = words.contains("is full: ") || words.contains("No space left on device");
        assert!(!output.status.success() && is_told && words.contains("hint: "), "{words}");
        let others = |found: BTreeMap<String, String>| -> Vec<(String, String)> {
            found.into_iter().filter(|(name, _)| !name.starts_with("tasks/")).collect()
        };
        assert_eq!(others(files.found()), others(before.clone()));
        assert!(
            !dir.ends_with("tasks") || std::fs::read_dir(&dir).unwrap().count() == 1,
            "only what filled it"
        );
    }
    assert_eq!(files.next_says(), "");
}

#[test]
fn what_belongs_to_another_user_is_not_touched() {
    let files = Files::new();
    let to = files.to.to_str().unwrap();
    let Some(hopty) = nobody::give(&files.world) else { return };
    let run = |args: &[&str]| {
        let output = nobody::command(&files.world, &hopty, args).output().unwrap();
        (output.status.success(), words(&output))
    };
    let chown = |owner: &str, path: &Path| {
        assert!(Command::new("chown").arg(owner).arg(path).status().unwrap().success());
    };
    let before = files.found();
    // A directory of root's in which nobody may write: the copy's first file goes there last but one.
    let tasks = files.claude().join("tasks");
    chown("0:0", &tasks);
    let (done, said) = run(&["conversations", "copy", ID, "--to", to]);
    assert!(!done && said.contains("Permission denied") && said.contains("hint: "), "{said}");
    assert_eq!(files.found(), before);
    chown("65534:65534", &tasks);
    // A file of root's among those of the conversation.
    let foreign = files.claude().join(format!("projects/-gone-web/{ID}/tool-results/r.txt"));
    chown("0:0", &foreign);
    let (done, said) = run(&["conversations", "move", ID, "--to", to]);
    assert!(!done && said.contains("belongs to another user") && said.contains("hint: "), "{said}");
    assert_eq!(files.found(), before);
    chown("65534:65534", &foreign);
    let (done, said) = run(&["conversations", "move", ID, "--to", to]);
    assert!(done, "{said}");
    assert_ne!(files.found(), before);
}

const FACT: &str = "The bridge is called Zwischenwasser.";
const QUESTION: &str = "what is the name?";

/// A world in which the real Claude was told a fact, the id of that conversation, and another directory.
fn told(program: PathBuf) -> (World, String, PathBuf) {
    let script = Script::each(|request, _| match request.contains(QUESTION) {
        true => ScriptedReply::text("I know it."),
        false => ScriptedReply::text("Noted."),
    });
    let world = World::with(Kind::Real, Some(program), script);
    let to = world.project.with_file_name("other.proj");
    std::fs::create_dir(&to).unwrap();
    print(&world, &world.project, &[FACT]);
    let listed: Vec<Value> = serde_json::from_str(&world.ask(&["conversations", "ls", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    (world, id, to)
}

/// Claude's `-p` in a directory, which must succeed.
fn print(world: &World, dir: &Path, args: &[&str]) {
    let done = output(world, dir, args);
    assert!(done.status.success(), "{}", words(&done));
}

fn output(world: &World, dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(claude::hopty());
    command.args(&world.args).arg("-p").args(args);
    command.env_clear().envs(world.env.iter().cloned()).current_dir(dir).output().unwrap()
}

/// The last request that asks.
fn last_request(world: &World) -> String {
    let requests = world.api.main_requests();
    requests.iter().rev().find(|request| request.contains(QUESTION)).unwrap().body.to_string()
}

/// Asks in a directory with these options: the request has the fact. Gives the transcript of this id there.
fn remembers(world: &World, dir: &Path, options: &[&str], id: &str) -> String {
    print(world, dir, &[options, &[QUESTION]].concat());
    assert!(last_request(world).contains(FACT), "the conversation was lost");
    let folder = dir.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let path = world.claude_dir().join("projects").join(folder).join(format!("{id}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(text.contains(QUESTION), "it goes on in its new place");
    text
}

#[test]
fn item_077_a_moved_conversation_goes_on_newest() {
    if let Some(program) = claude::real() {
        is_moved_and_goes_on(program);
    }
}

#[test]
fn item_077_a_moved_conversation_goes_on_oldest() {
    if let Some(program) = claude::version(claude::OLDEST) {
        is_moved_and_goes_on(program);
    }
}

fn is_moved_and_goes_on(program: PathBuf) {
    let (world, id, to) = told(program);
    let said = world.ask(&["conversations", "move", &id[..8], "--to", to.to_str().unwrap()]);
    assert!(said.contains(&format!("&& hopty --resume {id}")), "{said}");
    let text = remembers(&world, &to, &["--resume", &id], &id);
    let old = format!("\"cwd\":\"{}\"", world.project.display());
    assert!(!text.contains(&old) && text.contains(&format!("\"cwd\":\"{}\"", to.display())), "{text}");
    world.assert_nothing_left();
}

#[test]
fn item_076_claude_itself_finds_the_conversations_of_a_renamed_project() {
    let Some(program) = claude::real() else { return };
    let (world, id, to) = told(program);
    let renamed = world.project.with_file_name("renamed");
    // In a directory to which it does not belong, Claude does not find it, and begins anew.
    print(&world, &to, &["--continue", QUESTION]);
    assert!(!last_request(&world).contains(FACT), "it was found elsewhere");
    std::fs::rename(&world.project, &renamed).unwrap();
    let (from, to) = (world.project.to_str().unwrap(), renamed.to_str().unwrap());
    let moved = Command::new(claude::hopty())
        .args(["conversations", "move", "--from", from, "--to", to])
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(&renamed)
        .output()
        .unwrap();
    assert!(
        words(&moved).contains(&format!("moved 1 conversation from {from} to {to}")),
        "{}",
        words(&moved)
    );
    // `--continue` takes the last conversation of the directory, without an index that hopty would have to
    // write.
    remembers(&world, &renamed, &["--continue"], &id);
    world.assert_nothing_left();
}

#[test]
fn a_moved_conversation_is_in_the_list_from_which_a_person_chooses() {
    let Some(program) = claude::real() else { return };
    let script = Script::each(|_, _| ScriptedReply::text("Noted.").filling(1000));
    let mut world = World::with(Kind::Real, Some(program), script);
    // What `-p` made is in no such list.
    let term = world.start(&[FACT]);
    term.wait_text("Noted.");
    world.wait_state("idle");
    // While it is open it is left alone.
    let listed: Vec<Value> = serde_json::from_str(&world.ask(&["conversations", "ls", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    let other = world.home.to_str().unwrap();
    for args in
        [vec!["move", id, "--to", other], vec!["copy", id, "--to", other], vec!["export", id, "-o", "x"]]
    {
        let output = world.hopty(&[&["conversations"], args.as_slice()].concat());
        assert_eq!(output.status.code(), Some(4), "{}", words(&output));
        assert!(words(&output).contains("it is open in session proj"), "{}", words(&output));
    }
    world.leave(term);
    let renamed = world.project.with_file_name("renamed");
    std::fs::create_dir(&renamed).unwrap();
    let (from, to) = (world.project.to_str().unwrap().to_owned(), renamed.to_str().unwrap().to_owned());
    let key = world.env.iter().find(|(name, _)| name == "ANTHROPIC_API_KEY").unwrap().1.clone();
    hopty::standin::home::seed(&world.home, &renamed, key.to_str().unwrap()).unwrap();
    let moved = world.ask(&["conversations", "move", "--from", &from, "--to", &to]);
    assert!(moved.contains("moved 1 conversation from"), "{moved}");
    world.project = renamed;
    let mut term = world.start(&["--resume"]);
    term.wait_text("Zwischenwasser");
    term.send("\r");
    term.wait_text("Noted.");
    world.ask(&["stop", "renamed"]);
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn two_directories_with_one_folder_share_their_conversations_for_claude_too() {
    let Some(program) = claude::real() else { return };
    let script = Script::each(|request, _| match request.contains(QUESTION) {
        true => ScriptedReply::text("I know it."),
        false => ScriptedReply::text("Noted."),
    });
    let mut world = World::with(Kind::Real, Some(program), script);
    let (old, new) = (world.project.with_file_name("my_app"), world.project.with_file_name("my-app"));
    std::fs::create_dir(&old).unwrap();
    print(&world, &old, &[FACT]);
    std::fs::rename(&old, &new).unwrap();
    world.project = new.clone();
    let (from, to) = (old.to_str().unwrap(), new.to_str().unwrap());
    let said = world.ask(&["conversations", "move", "--from", from, "--to", to]);
    assert!(said.starts_with("there ") && said.contains("Claude finds it in"), "{said}");
    print(&world, &new, &["--continue", QUESTION]);
    assert!(last_request(&world).contains(FACT), "it was not found");
    world.assert_nothing_left();
}

#[test]
fn item_073_a_copy_of_the_conversation_that_an_id_begins_goes_on_beside_it() {
    let Some(program) = claude::real() else { return };
    let (world, id, to) = told(program);
    let copied = world.ask(&["conversations", "copy", &id[..6], "--to", to.to_str().unwrap(), "--json"]);
    let copied: Value = serde_json::from_str(&copied).unwrap();
    let new = copied["new_id"].as_str().unwrap();
    assert_ne!(new, id);
    let source = std::fs::read(world.claude_dir().join(find(&world, &id))).unwrap();
    let text = remembers(&world, &to, &["--resume", new], new);
    assert!(!text.contains(&format!("\"sessionId\":\"{id}\"")), "{text}");
    assert_eq!(
        std::fs::read(world.claude_dir().join(find(&world, &id))).unwrap(),
        source,
        "the source is as it was"
    );
    remembers(&world, &world.project, &["--resume", &id], &id);
    world.assert_nothing_left();
}

#[test]
fn an_exported_conversation_goes_on_in_another_home_newest() {
    if let Some(program) = claude::real() {
        is_exported_and_goes_on(program);
    }
}

#[test]
fn an_exported_conversation_goes_on_in_another_home_oldest() {
    if let Some(program) = claude::version(claude::OLDEST) {
        is_exported_and_goes_on(program);
    }
}

fn is_exported_and_goes_on(program: PathBuf) {
    let (mut world, id, to) = told(program);
    let file = world.root.path().join("c.tar.gz");
    let path = file.to_str().unwrap();
    world.ask(&["conversations", "export", &id[..8], "-o", path]);
    // A home in which Claude was never used, as on another machine.
    let (old, new) = (world.home.clone(), world.home.with_file_name("other-home"));
    std::fs::create_dir(&new).unwrap();
    let key = world.env.iter().find(|(name, _)| name == "ANTHROPIC_API_KEY").unwrap().1.clone();
    hopty::standin::home::seed(&new, &to, key.to_str().unwrap()).unwrap();
    for (_, value) in &mut world.env {
        let text = value.to_str().unwrap().to_owned();
        if let Some(below) = text.strip_prefix(old.to_str().unwrap()) {
            *value = format!("{}{below}", new.display()).into();
        }
    }
    world.home = new;
    let said = world.ask(&["conversations", "import", path, "--to", to.to_str().unwrap()]);
    assert!(said.starts_with("imported ") && said.contains(&format!("hopty --resume {id}")), "{said}");
    let text = remembers(&world, &to, &["--resume", &id], &id);
    let old_dir = format!("\"cwd\":\"{}\"", world.project.display());
    assert!(!text.contains(&old_dir), "{text}");
    world.assert_nothing_left();
}

/// The transcript of a conversation, by hopty's list.
fn find(world: &World, id: &str) -> PathBuf {
    let listed = world.ask(&["conversations", "ls", "--all", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let row = listed.iter().find(|row| row["id"] == id).unwrap();
    PathBuf::from(row["transcript"].as_str().unwrap())
}
