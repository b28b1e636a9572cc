//! Claude's compaction: a record is saved before every one, and only a hand-over that can follow holds one
//! off.

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{main_requests, quiet_talk, submit, talk};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

fn compacted(world: &World, conversation: &str) -> bool {
    world.transcript(conversation).iter().any(|line| line["subtype"] == json!("compact_boundary"))
}

fn records(world: &World) -> Vec<Value> {
    serde_json::from_str(&world.ask(&["handoff", "list", "--all", "--json"])).unwrap()
}

pub fn a_record_is_saved_before_a_persons_compact_in_every_mode(kind: Kind) {
    for mode in ["auto", "ask", "manual"] {
        let Some(mut world) = World::new(kind, quiet_talk()) else { return };
        world.set("HOPTY_RESTART_MODE", mode);
        let (term, conversation) = talk(&world);
        submit(&term, "/compact");
        wait_for("the compaction", || compacted(&world, &conversation).then_some(()));
        let saved = world.wait_decision("handoff.saved", 1);
        assert!(saved["sentence"].as_str().unwrap().contains("before Claude compacts"), "{saved}");
        let records = records(&world);
        assert_eq!(
            (records.len(), &records[0]["id"], &records[0]["status"]),
            (1, &saved["handoff"], &json!("active")),
            "{mode}"
        );
        let document = world.ask(&["handoff", "show", records[0]["id"].as_str().unwrap()]);
        assert!(document.contains("Say hello to me."), "{document}");
        assert!(
            !world.decisions().iter().any(|d| d["kind"] == "restart.requested"),
            "{mode}: nobody asked for a hand-over"
        );
        world.leave(term);
    }
}

/// The record would say that no prompt of a person was seen, at each start.
pub fn nothing_is_saved_before_a_compact_with_nothing_to_compact(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    submit(&term, "/clear");
    wait_for("another conversation", || {
        (world.status()["conversation"].as_str() != Some(conversation.as_str())).then_some(())
    });
    submit(&term, "/compact");
    submit(&term, "Say hello to me again.");
    let cleared = world.status()["conversation"].as_str().unwrap().to_owned();
    wait_for("an answer", || (!main_requests(&world, &cleared).is_empty()).then_some(()));
    world.wait_state("idle");
    assert_eq!(records(&world), [] as [Value; 0], "{}", world.story());
    world.leave(term);
}

/// The stand-in agent cannot play it: it compacts only when a person asks for it.
#[test]
fn claude_compacts_where_no_hand_over_could_follow() {
    let plant = r#"mkdir -p .claude && echo '{"env":{"PLANTED":"1"}}' > .claude/settings.json"#;
    let full = r#"rm -rf "$HOME/.claude/handoff" && touch "$HOME/.claude/handoff""#;
    for (mode, first, why) in [
        ("auto", plant, "settings that run code have changed since launch: .claude/settings.json: env added"),
        ("auto", full, "hopty cannot save a record"),
        ("manual", "echo one", ""),
    ] {
        let script = Script::each(move |request, _| match request.assistant_messages() {
            _ if request.contains("This session is being continued") => {
                ScriptedReply::text("Done with it.").filling(4000)
            }
            0 => ScriptedReply::bash(first).filling(30_000),
            1 => ScriptedReply::bash("echo two").filling(70_000),
            n @ 2..5 => ScriptedReply::bash(format!("echo {n}")).filling(119_000 + n as u64 * 1000),
            _ => ScriptedReply::text("It was never compacted.").filling(130_000),
        });
        let Some(mut world) = World::new(Kind::Real, script) else { return };
        // It puts Claude's threshold to 117,000 tokens, far below hopty's levels (measured).
        world.set("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "150000");
        world.set("HOPTY_RESTART_MODE", mode);
        let term = world.start(&[]);
        submit(&term, "Count to five.");
        term.wait_text("Done with it.");
        world.wait_state("idle");
        let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
        assert!(compacted(&world, &conversation), "{first}\n{}", world.story());
        let told: Vec<String> =
            world.decisions().iter().filter_map(|d| Some(d["sentence"].as_str()?.to_owned())).collect();
        assert_eq!(
            told.iter().any(|text| text.contains("a hand-over would fail") && text.contains(why)),
            mode == "auto",
            "{told:#?}"
        );
        assert!(
            !world.journal().contains("\"answer\":\"block\""),
            "{first}: held off for nothing\n{}",
            world.story()
        );
        let saved = world.decisions().iter().filter(|d| d["kind"] == "handoff.saved").count();
        assert_eq!(saved, usize::from(first != full), "{first}");
        world.leave(term);
    }
}
