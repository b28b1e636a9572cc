//! The signal file `.restart-session`.

use std::time::Duration;

use super::steps::{assert_handed_over, quiet_talk, talk, text_of};
use super::support::claude::Kind;
use super::support::world::World;

pub fn item_003_a_signal_file_hands_over(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}\n", world.project.display())).unwrap();
    let (old, _) = assert_handed_over(&world, 1, "Say hello to me.");
    assert_eq!(old, conversation);
    assert!(!signal.exists(), "the signal that was obeyed is gone");
    let current = std::fs::read_to_string(world.claude_dir().join(".current-session")).unwrap();
    assert!(current.starts_with(&text_of(&world.status(), "conversation")), "{current}");
    world.leave(term);
}

pub fn foreign_stale_and_malformed_signals_are_left_alone(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let signal = world.claude_dir().join(".restart-session");
    // One lies there from before.
    std::fs::write(&signal, "c74cc080-94b9-4841-b82f-a62cfb8efdc0:/home/somebody\n").unwrap();
    let (term, conversation) = talk(&world);
    world.wait_decision("restart.ignored", 1);
    let project = world.project.display().to_string();
    let mut cases: Vec<Vec<u8>> = [
        "",
        "\n",
        "test",
        "restart",
        "..",
        "~",
        "./x",
        "$PWD",
        "null",
        "{}",
        "[1]",
        "{\"id\":1}",
        ":/home",
        "::",
        "a:b",
        "yes",
        "0",
        "not-a-uuid:/home/u",
        "c74cc080:/home/u",
        "c74cc080-94b9-4841-b82f-a62cfb8efdcg:/x",
        "-rf:/",
        "/nowhere/at/all",
        "/",
        "/tmp",
        "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
        "c74cc080-94b9-4841-b82f-a62cfb8efdc0:/tmp",
        "https://example.invalid/x",
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    for tail in [
        ":relative", ":~/x", ":$(id)", "\nmore", ":/x\n/y", ":/x\0", ":/\u{1b}[2J", " :/x", "x",
        ":/x\r\n\r\n",
    ] {
        cases.push(format!("{conversation}{tail}").into_bytes());
    }
    cases.push(vec![0xff, 0xfe, b'/']);
    cases.push(vec![b'/'; 9000]);
    cases.push(format!(" {conversation}:{project}").into_bytes());
    assert!(cases.len() >= 40, "{}", cases.len());
    let replaced = signal.with_extension("new");
    for (n, case) in cases.iter().enumerate() {
        std::fs::write(&replaced, case).unwrap();
        std::fs::rename(&replaced, &signal).unwrap();
        world.wait_decision("restart.ignored", n + 2);
    }
    // A right one that is older than the session is stale.
    std::fs::write(&replaced, format!("{conversation}:{project}\n")).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::options().write(true).open(&replaced).unwrap().set_modified(old).unwrap();
    std::fs::rename(&replaced, &signal).unwrap();
    world.wait_decision("restart.ignored", cases.len() + 2);
    assert!(signal.exists(), "what is not obeyed is left where it is");
    let kinds: Vec<String> = world.decisions().iter().map(|d| text_of(d, "kind")).collect();
    assert!(!kinds.iter().any(|k| k == "restart.requested"), "{kinds:?}");
    assert_eq!(text_of(&world.status(), "conversation"), conversation);
    world.leave(term);
}
