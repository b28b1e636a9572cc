//! `send --submit`: what is answered is what happened, and nothing is typed where it must not be.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{end, start, submit, submitted, times_asked, wait_idle, with_stdin};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

pub fn idle_after_a_sent_prompt_is_never_early(kind: Kind) {
    let rounds = std::env::var("HOPTY_TEST_ROUNDS").ok().and_then(|n| n.parse().ok());
    let rounds: usize = rounds.unwrap_or(if kind == Kind::Real { 2 } else { 10 });
    let turn_ms = std::env::var("HOPTY_TEST_TURN_MS").ok().and_then(|n| n.parse().ok()).unwrap_or(700);
    let script =
        Script::each(move |_, n| ScriptedReply::text(format!("Answer {n}.")).after_ms(turn_ms).filling(1000));
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    for n in 0..rounds {
        let seq = submitted(&world, &format!("Question {n}?"));
        assert_eq!(world.status()["state"], "busy", "{}", world.story());
        let idle = wait_idle(&world, seq);
        let conversation = idle["conversation"].as_str().unwrap();
        let answered =
            |line: &Value| line["type"] == "assistant" && line.to_string().contains(&format!("Answer {n}."));
        wait_for("the answer in the transcript", || {
            world.transcript(conversation).iter().any(answered).then_some(())
        });
        assert!(world.api.main_requests().len() == n + 1, "round {n}: one request a turn");
        let screen = world.hopty(&["wait", "proj", &format!("text=Answer {n}\\."), "--timeout", "5s"]);
        assert!(screen.status.success(), "round {n}: idle before the answer was shown");
        assert_eq!(idle["seq"].as_u64().map(|at| at > seq), Some(true));
    }
    end(&world);
}

pub fn a_prompt_reaches_the_model_as_it_was_sent(kind: Kind) {
    let Some(world) = World::new(kind, Script::each(|_, _| ScriptedReply::text("Read.").filling(1000)))
    else {
        return;
    };
    start(&world, &[]);
    let lines: Vec<String> = (0..2500).map(|n| format!("line {n} of a long text that is sent")).collect();
    for text in [
        "one line",
        "two lines\nof text",
        "five\nlines\n\n  indented\n\tand a tab",
        "it ends nothing: \u{1b}[201~ and goes on\u{3}\u{4}",
        "ends with a backslash \\",
        "umlauts äöü, wide 漢字, and a flag 🇩🇪",
        &lines.join("\n"),
        &"x".repeat(5000),
    ] {
        let clean: String = text
            .replace("\u{1b}[201~", "[201~")
            .chars()
            .filter(|c| !c.is_control() || c.is_whitespace())
            .collect();
        let seq = submitted(&world, text);
        wait_idle(&world, seq);
        assert_eq!(times_asked(&world, &clean), 1, "{}", &clean[..clean.len().min(60)]);
    }
    for (text, words) in [(" \n", "the text is empty"), ("!ls", "shell command")] {
        let output = with_stdin(&world, &["send", "proj", "--stdin", "--submit"], text);
        assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains(words));
    }
    end(&world);
}

/// Both answers have the same words: only those of the second turn answer the second prompt.
pub fn a_mark_of_a_prompt_is_older_than_its_answer(kind: Kind) {
    let (open, opened) = channel::<()>();
    let opened = Mutex::new(opened);
    let script = Script::each(move |_, n| {
        if n == 1 {
            let _ = opened.lock().unwrap().recv();
        }
        ScriptedReply::text("All seven passed.").filling(1000)
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    let seq = submitted(&world, "Run the tests.");
    wait_idle(&world, seq);
    let words = "text=seven passed";
    let mark = world.ask(&["send", "proj", "Once more.", "--submit", "--mark"]).trim().to_owned();
    world.ask(&["wait", "proj", words, "--timeout", "5s"]);
    let early = world.hopty(&["wait", "proj", words, "--since", &mark, "--timeout", "500ms"]);
    assert_eq!(early.status.code(), Some(1), "that is the answer before: {}", world.story());
    open.send(()).unwrap();
    world.ask(&["wait", "proj", words, "--since", &mark, "--timeout", "30s"]);
    world.ask(&["wait", "proj", "idle", "--since", &mark, "--timeout", "30s"]);
    let said = world.ask(&["send", "proj", "And again.", "--submit", "--mark", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["result"], "submitted");
    world.ask(&["wait", "proj", words, "--since", said["mark"].as_str().unwrap(), "--timeout", "30s"]);
    // Standard output is for the mark alone.
    world.ask(&["wait", "proj", "idle", "--timeout", "30s"]);
    let refused = world.hopty(&["send", "proj", "!ls", "--submit", "--mark"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(4), 0), "{refused:?}");
    end(&world);
}

/// A tool that needs a permission.
fn asks_for_permission() -> Script {
    Script::each(|request, _| {
        if request.assistant_messages() == 0 {
            ScriptedReply::bash("touch made").filling(1000)
        } else {
            ScriptedReply::text("Done.").filling(1000)
        }
    })
}

pub fn nothing_is_sent_into_a_permission_dialog(kind: Kind) {
    let Some(mut world) = World::new(kind, asks_for_permission()) else { return };
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    start(&world, &[]);
    let seq = submitted(&world, "Make the file.");
    let blocked = world.ask(&["wait", "proj", "blocked", "--since", &seq.to_string(), "--json"]);
    let blocked: Value = serde_json::from_str(&blocked).unwrap();
    assert_eq!(blocked["waiting_for"], "permission");
    world.ask(&["wait", "proj", "text=Do you want to proceed", "--timeout", "10s"]);
    // The hook may come after the first picture of the dialog.
    wait_for("what the permission is for", || world.status()["waiting_subject"].is_string().then_some(()));
    let told = world.ask(&["status", "proj"]);
    assert!(told.contains("blocked on permission since"), "{}", world.story());
    assert!(told.contains("\n  permission    Bash: touch made\n"), "{told}");
    let why = world.ask(&["why", "proj"]);
    assert!(why.starts_with("Blocked on permission (Bash: touch made) for "), "{why}");
    let listed = world.ask(&["ls"]);
    assert!(listed.contains("  blocked: Bash: touch made  "), "{listed}");
    assert_eq!(world.ask(&["ls", "--format", "{reason}: {subject}"]), "permission: Bash: touch made\n");
    let refused = world.hopty(&["send", "proj", "More text", "--submit"]);
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}{}", world.story());
    assert_eq!(said, "refused: Claude shows a dialog (permission)\n");
    assert_eq!(world.status()["state"], "blocked");
    assert!(!world.project.join("made").exists(), "nothing was approved");
    // A person's own key is a person's own.
    let at = world.status()["seq"].as_u64().unwrap();
    world.ask(&["send", "proj", "--keys", "enter"]);
    let idle = wait_idle(&world, at);
    assert_eq!(idle["waiting_subject"], Value::Null);
    assert!(!world.ask(&["why", "proj"]).contains("touch made"));
    assert!(world.project.join("made").exists());
    submitted(&world, "And now?");
    end(&world);
}

/// Claude takes no key in a dialog that it has only just drawn.
pub fn a_key_that_follows_blocked_at_once_is_taken(kind: Kind) {
    let Some(mut world) = World::new(kind, asks_for_permission()) else { return };
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    start(&world, &[]);
    let seq = submitted(&world, "Make the file.");
    let blocked = world.ask(&["wait", "proj", "blocked", "--since", &seq.to_string(), "--json"]);
    let blocked: Value = serde_json::from_str(&blocked).unwrap();
    world.ask(&["send", "proj", "--keys", "enter"]);
    wait_idle(&world, blocked["seq"].as_u64().unwrap());
    assert!(world.project.join("made").exists(), "{}", world.story());
    assert_eq!(world.status()["draft"], Value::Null);
    end(&world);
}

pub fn nothing_is_sent_behind_a_draft(kind: Kind) {
    let Some(world) = World::new(kind, Script::each(|_, _| ScriptedReply::text("Hello.").filling(1000)))
    else {
        return;
    };
    start(&world, &[]);
    world.ask(&["send", "proj", "half a thought"]);
    world.ask(&["wait", "proj", "text=half a thought"]);
    let refused = world.hopty(&["send", "proj", "More text", "--submit"]);
    assert_eq!(
        String::from_utf8_lossy(&refused.stdout),
        "refused: there is a draft in the prompt box\n",
        "{}",
        world.story()
    );
    assert_eq!(refused.status.code(), Some(4));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("it reads \"half a thought\"; `hopty send proj --keys ctrl-c` clears it"),
        "{said}"
    );
    let why = world.ask(&["why", "proj"]);
    assert!(why.ends_with(" The prompt box holds a draft: \"half a thought\".\n"), "{why}");
    let file = std::fs::read_to_string(world.session_dir().join("session.json")).unwrap();
    assert!(!file.contains("half a thought"), "a draft is not written down");
    world.ask(&["wait", "proj", "text=half a thought$"]);
    assert!(world.api.main_requests().is_empty(), "nothing was submitted");
    world.ask(&["send", "proj", "--keys", "ctrl-c"]);
    wait_for("the empty box", || world.status()["draft"].is_null().then_some(()));
    assert_eq!(world.status()["state"], "idle", "it is still there");
    world.ask(&["send", "proj", "half a thought"]);
    world.ask(&["wait", "proj", "text=half a thought$"]);
    world.ask(&["send", "proj", "--keys", "enter"]);
    wait_for("the draft in a request", || {
        world.api.requests().iter().any(|r| r.contains("half a thought")).then_some(())
    });
    end(&world);
}

pub fn a_busy_claude_queues_what_is_sent(kind: Kind) {
    let script = Script::each(|request, _| {
        if request.assistant_messages() == 0 {
            ScriptedReply::bash("sleep 3").filling(1000)
        } else {
            ScriptedReply::text("Done.").filling(1000)
        }
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    let seq = submitted(&world, "Take your time.");
    let (result, at) = submit(&world, "And this, too.");
    assert_eq!(result, "queued", "{}", world.story());
    assert!(at > seq);
    assert_eq!(world.status()["state"], "busy");
    wait_for("the queued prompt in a request", || {
        world.api.requests().iter().any(|r| r.contains("And this, too.")).then_some(())
    });
    wait_idle(&world, at);
    assert_eq!(times_asked(&world, "And this, too."), 1);
    end(&world);
}

pub fn without_hooks_the_transcript_is_the_proof(kind: Kind) {
    let Some(world) = World::new(
        kind,
        Script::each(|_, n| ScriptedReply::text(format!("Answer {n}.")).after_ms(700).filling(1000)),
    ) else {
        return;
    };
    let path = world.claude_dir().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    settings["disableAllHooks"] = json!(true);
    std::fs::write(&path, settings.to_string()).unwrap();
    start(&world, &[]);
    for n in 0..3 {
        // The same words each time: an earlier prompt proves nothing.
        let seq = submitted(&world, "Go on.");
        wait_idle(&world, seq);
        assert_eq!(world.api.main_requests().len(), n + 1, "{}", world.story());
    }
    end(&world);
}
