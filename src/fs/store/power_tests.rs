//! What a power cut leaves of the store: every prefix of the steps in which it was written, on a disk that
//! keeps what was synced and any part of the rest.
//!
//! The disk is a model of the promises of POSIX. The content of a file survives if the file was synced;
//! otherwise it may be missing, zeros, or cut. A name in a directory survives if the directory was synced;
//! otherwise each change of a name may have happened or not, in any order. The store is opened on what is
//! left. The law: everything that the store had returned before the cut is there, and each entry is as it
//! was before or after the operation that was cut; no manifest is torn; quarantined files are kept; the
//! store can be written again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::handoff_store::tests::{at, capture, claim};
use super::{Retention, Store};
use crate::core::handoff::manifest_entry::IndexEntry;
use crate::core::ids::{Channel, HandoffId};
use crate::fs::store_trace::{self, Step};

/// The content of an unreadable manifest.
const GARBAGE: &str = "{\"channel\":";

type Names = BTreeMap<OsString, usize>;

/// A change of a directory that was not synced yet.
enum Change {
    Link(OsString, usize),
    Unlink(OsString),
    Rename(OsString, OsString, usize),
}

impl Change {
    fn make(&self, names: &mut Names) {
        match self {
            Change::Link(name, node) => drop(names.insert(name.clone(), *node)),
            Change::Unlink(name) => drop(names.remove(name)),
            Change::Rename(from, to, node) => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }
}

enum Node {
    File { now: Vec<u8>, synced: bool },
    Dir { now: Names, lasting: Names, pending: Vec<Change> },
}

impl Node {
    fn dir() -> Self {
        Node::Dir { now: Names::new(), lasting: Names::new(), pending: Vec::new() }
    }
}

/// How a disk decides about what was not synced.
#[derive(Clone, Copy)]
enum Cut {
    Nothing,
    /// All names are there, and no content.
    NamesOnly,
    /// A coin is tossed for each.
    Tossed(u64),
}

impl Cut {
    /// A number below `n`; splitmix64.
    fn toss(&mut self, n: u64) -> u64 {
        let Cut::Tossed(state) = self else { return 0 };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn keeps_name(&mut self) -> bool {
        match self {
            Cut::Nothing => false,
            Cut::NamesOnly => true,
            Cut::Tossed(_) => self.toss(2) == 0,
        }
    }

    fn content(&mut self, all: &[u8]) -> Vec<u8> {
        match self.toss(4) {
            0 => Vec::new(),
            1 => vec![0; all.len()],
            2 => all[..all.len() / 2].to_vec(),
            _ => all.to_vec(),
        }
    }
}

struct Disk {
    root: PathBuf,
    nodes: Vec<Node>,
}

impl Disk {
    fn new(root: &Path) -> Self {
        Disk { root: root.to_owned(), nodes: vec![Node::dir()] }
    }

    fn find(&self, path: &Path) -> usize {
        let inside = path.strip_prefix(&self.root).unwrap();
        inside.iter().fold(0, |node, name| match &self.nodes[node] {
            Node::Dir { now, .. } => now[name],
            Node::File { .. } => panic!("{} is below a file", path.display()),
        })
    }

    fn add(&mut self, path: &Path, node: Node) {
        self.nodes.push(node);
        let new = self.nodes.len() - 1;
        self.change(path, Change::Link(path.file_name().unwrap().to_owned(), new));
    }

    fn change(&mut self, path: &Path, change: Change) {
        let dir = self.find(path.parent().unwrap());
        let Node::Dir { now, pending, .. } = &mut self.nodes[dir] else { panic!("a file") };
        change.make(now);
        pending.push(change);
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Filled(path, bytes) => self.add(path, Node::File { now: bytes.clone(), synced: false }),
            Step::DirMade(path) => self.add(path, Node::dir()),
            Step::Removed(path) => self.change(path, Change::Unlink(path.file_name().unwrap().to_owned())),
            Step::Renamed(from, to) => {
                assert_eq!(from.parent(), to.parent());
                let name = |path: &Path| path.file_name().unwrap().to_owned();
                self.change(to, Change::Rename(name(from), name(to), self.find(from)));
            }
            Step::Synced(path) => {
                let node = self.find(path);
                let Node::File { synced, .. } = &mut self.nodes[node] else { panic!("a directory") };
                *synced = true;
            }
            Step::DirSynced(path) if path.starts_with(&self.root) => {
                let node = self.find(path);
                let Node::Dir { now, lasting, pending } = &mut self.nodes[node] else { panic!("a file") };
                lasting.clone_from(now);
                pending.clear();
            }
            Step::DirSynced(_) => {}
        }
    }

    /// Writes what is left after the cut below `target`.
    fn left(&self, target: &Path, cut: &mut Cut) {
        self.leave(0, target, cut);
    }

    fn leave(&self, node: usize, target: &Path, cut: &mut Cut) {
        match &self.nodes[node] {
            Node::File { now, synced } => {
                let content = if *synced { now.clone() } else { cut.content(now) };
                std::fs::write(target, content).unwrap();
            }
            Node::Dir { lasting, pending, .. } => {
                crate::fs::atomic::make_dir(target).unwrap();
                let mut names = lasting.clone();
                pending.iter().filter(|_| cut.keeps_name()).for_each(|change| change.make(&mut names));
                names.iter().for_each(|(name, node)| self.leave(*node, &target.join(name), cut));
            }
        }
    }
}

/// The entries of the store, with their documents where they exist.
fn said(store: &Store) -> BTreeMap<HandoffId, (IndexEntry, Option<String>)> {
    let all = store.list(None).unwrap().into_iter();
    all.map(|(_, entry)| {
        (entry.id.clone(), (entry.clone(), store.show(&entry.id).ok().map(|loaded| loaded.text)))
    })
    .collect()
}

/// In memory if possible: only the order is tested, and a real disk would take minutes.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

type Moments = Vec<(usize, BTreeMap<HandoffId, (IndexEntry, Option<String>)>)>;

/// Runs operations on a store; returns all steps, and after each operation the entries and the number of
/// steps so far.
fn life(root: &Path) -> (Vec<Step>, Moments) {
    store_trace::take();
    let store = Store::open(&root.join("c")).unwrap();
    let (mut steps, mut moments) = (Vec::new(), vec![(0, BTreeMap::new())]);
    let mut done = |more: Vec<Step>| {
        steps.extend(more);
        moments.push((steps.len(), said(&store)));
        store_trace::take();
    };
    done(store_trace::take());
    let keep = Retention { expiry_ms: None, records: 2, ..Retention::default() };
    let other: Channel = "other".parse().unwrap();
    let save = |session: &str, second: i64, channel: &Channel| {
        let mut made = capture(Some(session), second);
        made.origin.channel = channel.clone();
        made.git =
            Some(crate::core::handoff::capture::GitState { patch: b"diff".to_vec(), ..Default::default() });
        store.save(made, keep).unwrap().id
    };
    let global = Channel::global();
    let first = save("a", 0, &global);
    done(store_trace::take());
    store.claim(&first, claim(1, at(1))).unwrap();
    done(store_trace::take());
    store.consume(&first, &claim(1, at(1)).session_id, 7, at(2)).unwrap();
    done(store_trace::take());
    let transcript = root.join("t.jsonl");
    std::fs::write(&transcript, "{\"type\":\"mode\"}\n").unwrap();
    store.compress_transcript(&first, &transcript).unwrap();
    done(store_trace::take());
    let second = save("a", 3, &global);
    done(store_trace::take());
    store.set_expiry(&second, Some(at(4))).unwrap();
    done(store_trace::take());
    store.expire_due(at(5)).unwrap();
    done(store_trace::take());
    let third = save("b", 6, &global);
    done(store_trace::take());
    store.clear(&third).unwrap();
    done(store_trace::take());
    // Somebody else's file, which survives; the next save of its channel quarantines it.
    let bad = root.join("c/handoff/other.manifest.json");
    std::fs::write(&bad, GARBAGE).unwrap();
    store_trace::filled(&bad);
    store_trace::synced(&bad);
    store_trace::dir_synced(bad.parent().unwrap());
    done(store_trace::take());
    let fourth = save("a", 7, &other);
    done(store_trace::take());
    store.claim(&fourth, claim(2, at(8))).unwrap();
    done(store_trace::take());
    store.release(&fourth, &claim(2, at(8)).session_id).unwrap();
    done(store_trace::take());
    (steps, moments)
}

#[test]
fn a_power_cut_loses_nothing_that_was_saved() {
    let tosses: u64 = std::env::var("HOPTY_TEST_POWER").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let lived = scratch();
    let (steps, moments) = life(lived.path());
    assert!(steps.len() > 100, "{steps:#?}");
    let mut disk = Disk::new(lived.path());
    let garbage = steps
        .iter()
        .position(|step| matches!(step, Step::Filled(_, bytes) if bytes == GARBAGE.as_bytes()))
        .unwrap()
        + 3;
    for k in 0..=steps.len() {
        if k > 0 {
            disk.take(&steps[k - 1]);
        }
        let cuts = [Cut::Nothing, Cut::NamesOnly].into_iter();
        for (n, mut cut) in cuts.chain((0..tosses).map(|n| Cut::Tossed(n << 32 | k as u64))).enumerate() {
            let left = scratch();
            let root = left.path().join("left");
            disk.left(&root, &mut cut);
            let about = || format!("after step {k} ({:?}), cut {n}", k.checked_sub(1).map(|k| &steps[k]));
            let store = Store::open(&root.join("c")).unwrap();
            let found = said(&store);
            let before = &moments.iter().rev().find(|(steps, _)| *steps <= k).unwrap().1;
            let after = &moments.iter().find(|(steps, _)| *steps >= k).unwrap().1;
            for (id, (entry, text)) in before {
                let (then, text_then) = &after[id];
                let (is, text_is) = found.get(id).unwrap_or_else(|| panic!("{id} is lost {}", about()));
                assert!(is == entry || is == then, "{is:?} {}", about());
                // A record may be gone that the cut operation was deleting.
                assert!(text_is == text || text_then.is_none(), "the document of {id} is lost {}", about());
            }
            let is_quarantined = || {
                let names = std::fs::read_dir(root.join("c/handoff")).unwrap().map(|entry| entry.unwrap());
                let mut names = names
                    .filter(|entry| entry.file_name().to_string_lossy().starts_with("other.manifest.json"));
                names.any(|entry| std::fs::read_to_string(entry.path()).unwrap() == GARBAGE)
            };
            assert!(k < garbage || is_quarantined(), "the quarantined file is lost {}", about());
            let unread = store.take_notices();
            assert!(
                unread.iter().all(|said| k >= garbage - 2 && said.contains("other.manifest.json")),
                "{unread:?} {}",
                about()
            );
            if (k + n) % 5 == 0 {
                let lock = root.join("c/handoff/global.lock.d");
                std::fs::create_dir(&lock).unwrap();
                // Of before the power cut: whoever has its pid now began later.
                std::fs::write(lock.join("pid"), format!("{}:1000", std::process::id())).unwrap();
                let saved = store.save(capture(Some("c"), 100), Retention::default()).unwrap();
                assert!(
                    found.keys().chain([&saved.id]).all(|id| said(&store).contains_key(id)),
                    "{}",
                    about()
                );
            }
        }
    }
}
