//! Fifty restarts in a row, on the stand-in agent: the host holds no more descriptors, watches, processes and
//! memory after them than before, and nothing is left when it ends. `--nocapture` prints the figures.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use hopty::standin::script::{Script, ScriptedReply};
use support::claude::Kind;
use support::wait_for;
use support::world::World;

/// Restarts before the first look: caches are warm, the first of everything has been allocated.
const BEFORE: usize = 10;
const RESTARTS: usize = 50;

#[test]
fn item_012_the_host_restarts_fifty_times_and_leaves_nothing_behind() {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(2000),
    });
    let Some(mut world) = World::new(Kind::StandIn, script) else { return };
    world.set("HOPTY_RESTART_MAX_RESTARTS", "1000");
    let term = world.start(&[]);
    term.wait_box();
    term.send("Say hello.\r");
    term.wait_text("Hello.");
    let host = world.status()["host_pid"].as_i64().unwrap();
    let restart = |n: usize| {
        world.wait_state("idle");
        world.ask(&["restart", "proj", "--wait"]);
        world.wait_decision("handoff.consumed", n);
    };
    (1..=BEFORE).for_each(restart);
    let before = Held::by(host, &world);
    (BEFORE + 1..=BEFORE + RESTARTS).for_each(restart);
    let after = Held::by(host, &world);
    println!("before: {before:?}\nafter {RESTARTS} restarts: {after:?}");
    assert_eq!(
        (&after.descriptors, after.watches, after.processes),
        (&before.descriptors, before.watches, before.processes)
    );
    assert!(after.resident_kb < before.resident_kb + 4096, "before {before:?}, after {after:?}");
    world.leave(term);
    let temporary = temporary_files(&world.home);
    assert!(temporary.is_empty(), "left: {temporary:?}");
    assert!(!world.session_dir().join("plugin").exists());
}

/// What a process holds.
#[derive(Debug)]
struct Held {
    /// What its descriptors lead to, in order.
    descriptors: Vec<String>,
    /// inotify watches.
    watches: usize,
    /// Processes of the session, the host, the client and the agent included.
    processes: usize,
    /// Resident memory in KiB.
    resident_kb: u64,
}

impl Held {
    /// Looks until two looks in a row agree: the last call of a hook may still be on its way out.
    fn by(host: i64, world: &World) -> Held {
        let mut last = None;
        wait_for("the host to come to rest", || {
            let now = Held::look(host, world);
            let same = last.as_ref().is_some_and(|last: &Held| {
                (last.processes, &last.descriptors) == (now.processes, &now.descriptors)
            });
            last = Some(now);
            same.then(|| last.take()).flatten()
        })
    }

    fn look(host: i64, world: &World) -> Held {
        let proc = Path::new("/proc").join(host.to_string());
        let links = std::fs::read_dir(proc.join("fd")).unwrap().flatten();
        let mut descriptors: Vec<String> = links
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .map(|path| kind_of(&path))
            .collect();
        descriptors.sort();
        let infos = std::fs::read_dir(proc.join("fdinfo")).unwrap().flatten();
        let watches = infos
            .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
            .map(|text| text.matches("inotify wd:").count())
            .sum();
        let status = std::fs::read_to_string(proc.join("status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let resident_kb = resident.trim().trim_end_matches(" kB").parse().unwrap();
        Held { descriptors, watches, processes: world.processes().len(), resident_kb }
    }
}

/// What a descriptor leads to, without what differs from run to run: a socket's number, a conversation's id.
fn kind_of(path: &Path) -> String {
    if path.parent().is_some_and(|dir| dir.parent().is_some_and(|dir| dir.ends_with("projects"))) {
        return "a transcript".to_owned();
    }
    path.to_string_lossy().split(":[").next().unwrap_or_default().to_owned()
}

fn temporary_files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(temporary_files(&path));
        } else if name.starts_with(hopty::fs::atomic::TEMP_PREFIX) {
            found.push(path);
        }
    }
    found
}
