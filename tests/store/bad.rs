//! Stores that are not as they should be: what was there is kept and told once, nothing is overwritten
//! silently, and Claude runs all the same.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use hopty::fs::store::{Retention, Store};
use hopty::standin::script::{Script, ScriptedReply};

use super::steps::{Small, at, capture, claim, scratch};
use super::support::claude::Kind;
use super::support::skip;
use super::support::world::World;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Puts something odd where a manifest is due. The word that the refusal has; `None` where it cannot be made
/// here.
type Odd = fn(&Path) -> Option<&'static str>;

fn fifo(path: &Path) -> Option<&'static str> {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    Some("is not a file")
}

fn link(path: &Path) -> Option<&'static str> {
    let target = path.with_extension("target");
    std::fs::write(&target, "{}").unwrap();
    symlink(target, path).unwrap();
    Some("is a symbolic link")
}

fn device(path: &Path) -> Option<&'static str> {
    symlink("/dev/zero", path).unwrap();
    Some("is a symbolic link")
}

fn directory(path: &Path) -> Option<&'static str> {
    std::fs::create_dir(path).unwrap();
    Some("is not a file")
}

fn open_to_all(path: &Path) -> Option<&'static str> {
    std::fs::write(path, "{}").unwrap();
    set_mode(path, 0o666);
    Some("can be written by others")
}

fn of_another(path: &Path) -> Option<&'static str> {
    std::fs::write(path, "{}").unwrap();
    if std::os::unix::fs::chown(path, Some(65534), Some(65534)).is_err() {
        skip("only root can give a manifest to another user");
        return None;
    }
    Some("belongs to another user")
}

const ODD: &[Odd] = &[fifo, link, device, directory, open_to_all, of_another];

/// What can be seen of a file without opening it.
fn look(path: &Path) -> (u32, u64) {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::symlink_metadata(path).unwrap();
    (meta.mode(), meta.ino())
}

#[test]
fn what_is_no_manifest_is_refused_left_and_hides_no_other_channel() {
    for odd in ODD {
        let scratch = scratch();
        let dir = scratch.path().join("c");
        let store = Store::open(&dir).unwrap();
        let path = dir.join("handoff/other.manifest.json");
        let Some(word) = odd(&path) else { continue };
        let before = look(&path);
        let in_other = |second: i64| {
            let mut capture = capture("a", second);
            capture.origin.channel = "other".parse().unwrap();
            store.save(capture, Retention::default())
        };
        let said = in_other(0).unwrap_err().to_string();
        assert!(said.contains(word) && said.contains("other.manifest.json"), "{said}");
        assert_eq!(look(&path), before, "{word}: it was touched");
        // The other channels go on, and it is told once.
        let id = store.save(capture("a", 1), Retention::default()).unwrap().id;
        store.claim(&id, claim(1, at(1))).unwrap();
        store.consume(&id, &claim(1, at(1)).session_id, 7, at(2)).unwrap();
        store.show(&id).unwrap();
        store.expire_due(at(3)).unwrap();
        assert_eq!(store.list(None).unwrap().len(), 1);
        let notices = store.take_notices();
        assert!(notices.len() == 1 && notices[0].contains(word), "{notices:?}");
        assert_eq!(look(&path), before, "{word}: it was touched");
    }
}

#[test]
fn a_manifest_that_was_cut_anywhere_is_kept_as_it_was_and_the_next_handoff_is_saved() {
    let scratch = scratch();
    let dir = scratch.path().join("c");
    let path = dir.join("handoff/global.manifest.json");
    let store = Store::open(&dir).unwrap();
    store.save(capture("a", 0), Retention::default()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let cuts: Vec<usize> = (0..whole.len() - 1).step_by(whole.len() / 40).collect();
    for (n, cut) in cuts.iter().enumerate() {
        std::fs::write(&path, &whole[..*cut]).unwrap();
        let id = store.save(capture("a", n as i64 + 1), Retention::default()).unwrap().id;
        let notices = store.take_notices();
        let aside = notices[0].rsplit_once("hopty keeps it as ").unwrap().1;
        assert_eq!(std::fs::read(aside).unwrap(), &whole[..*cut]);
        let listed = store.list(None).unwrap();
        assert_eq!((notices.len(), listed.len(), &listed[0].1.id), (1, 1, &id), "{notices:?}");
        assert_eq!(store.take_notices(), Vec::<String>::new());
    }
}

#[test]
fn a_disk_that_fills_up_at_any_moment_of_a_save_loses_nothing() {
    let scratch = scratch();
    let Some(small) = Small::mount(&scratch.path().join("small"), "512k") else { return };
    let dir = small.0.join("c");
    let store = Store::open(&dir).unwrap();
    let first = store.save(capture("kept", 0), Retention::default()).unwrap();
    let manifest = dir.join("handoff/global.manifest.json");
    let (mut failed, mut saved) = (0, 0);
    for pages in 0..24 {
        // All but so many pages is taken by something else.
        small.take_all_but(pages * 4096);
        let before = std::fs::read(&manifest).unwrap();
        match store.save(capture("other", pages as i64 + 1), Retention::default()) {
            Ok(made) => {
                assert!(store.show(&made.id).is_ok());
                saved += 1;
            }
            Err(error) => {
                assert!(
                    error.to_string().contains("No space left on device")
                        && error.to_string().contains("handoff"),
                    "{error}"
                );
                assert_eq!(std::fs::read(&manifest).unwrap(), before, "{pages} pages were left");
                failed += 1;
            }
        }
        assert_eq!(store.show(&first.id).unwrap().text, first.document.render());
        assert_eq!(store.take_notices(), Vec::<String>::new());
        small.give_back();
    }
    assert!(failed > 3 && saved > 3, "{failed} failed, {saved} were saved");
    // With room again, it is as if nothing had been.
    let last = store.save(capture("other", 100), Retention::default()).unwrap();
    store.claim(&last.id, claim(1, at(101))).unwrap();
}

/// A session whose Claude has answered once. Asked to hand over, it either does or says why not, and answers
/// again.
fn host(prepare: impl FnOnce(&World), saves: bool, word: &str) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("Hello.").filling(3000),
    });
    let world = World::new(Kind::StandIn, script).unwrap();
    prepare(&world);
    let term = world.start(&[]);
    term.wait_box();
    term.submit("hi");
    term.wait_text("Hello.");
    world.wait_state("idle");
    world.ask(&["restart", "proj"]);
    if saves {
        world.wait_decision("handoff.consumed", 1);
        let told: Vec<_> = world.decisions().into_iter().filter(|d| d["kind"] == "degraded").collect();
        assert!(
            told.iter().filter(|d| d["sentence"].as_str().unwrap().contains(word)).count()
                == usize::from(!word.is_empty()),
            "{told:?}"
        );
    } else {
        let cancelled = world.wait_decision("restart.cancelled", 1);
        assert!(cancelled["sentence"].as_str().unwrap().contains(word), "{cancelled}");
        world.wait_state("idle");
        assert_eq!(world.status()["run"], 1);
        term.submit("and again");
        term.wait_text("and again");
        world.wait_state("idle");
    }
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
}

fn with_manifest(world: &World, make: impl FnOnce(&Path)) {
    let dir = world.claude_dir().join("handoff");
    std::fs::create_dir_all(&dir).unwrap();
    set_mode(&dir, 0o700);
    make(&dir.join("global.manifest.json"));
}

#[test]
fn a_host_hands_over_beside_a_manifest_that_it_cannot_read() {
    host(|world| with_manifest(world, |path| std::fs::write(path, "{").unwrap()), true, "hopty keeps it as");
    host(
        |world| {
            with_manifest(world, |path| assert!(fifo(&path.with_file_name("other.manifest.json")).is_some()))
        },
        true,
        "",
    );
    host(
        |world| {
            let elsewhere = world.home.join("elsewhere");
            std::fs::create_dir(&elsewhere).unwrap();
            set_mode(&elsewhere, 0o700);
            symlink(elsewhere, world.claude_dir().join("handoff")).unwrap();
        },
        true,
        "",
    );
}

/// What stands beside the manifests and is not as it should be costs only itself.
#[test]
fn a_host_hands_over_beside_a_bad_registry_document_or_later_manifest() {
    let later = r#"{"version": 99, "channel": "global", "current": null, "of": "a later version"}"#;
    host(
        |world| with_manifest(world, |path| std::fs::write(path, later).unwrap()),
        true,
        "hopty keeps it as",
    );
    // The document of the scripts is a directory: the record is the handoff, and is loaded.
    for odd in [directory, fifo, link] {
        let current = |path: &Path| path.with_file_name("global-CURRENT.md");
        host(
            |world| with_manifest(world, |path| assert!(odd(&current(path)).is_some())),
            true,
            "leaves it unchanged",
        );
    }
    for registry in ["{", "[]", "\0\0\0", r#"{"registry": 7}"#] {
        host(
            |world| std::fs::write(world.claude_dir().join("channel-registry.json"), registry).unwrap(),
            true,
            "",
        );
    }
    host(|world| assert!(fifo(&world.claude_dir().join("channel-registry.json")).is_some()), true, "");
    host(|world| assert!(directory(&world.claude_dir().join("channel-registry.json")).is_some()), true, "");
    host(|world| assert!(device(&world.claude_dir().join("channel-registry.json")).is_some()), true, "");
}

#[test]
fn a_host_whose_store_cannot_be_used_says_why_and_claude_goes_on() {
    host(|world| with_manifest(world, |path| assert!(fifo(path).is_some())), false, "is not a file");
    host(|world| with_manifest(world, |path| assert!(link(path).is_some())), false, "is a symbolic link");
    host(
        |world| with_manifest(world, |path| set_mode(path.parent().unwrap(), 0o777)),
        false,
        "can be written by others",
    );
    host(|world| std::fs::write(world.claude_dir().join("handoff"), "a file").unwrap(), false, "handoff");
}
