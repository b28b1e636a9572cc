//! `ask` and `answer`: one command from a prompt to the whole answer.

use hopty::core::handoff::note::QUESTION_BEGINS;
use hopty::standin::request::ApiRequest;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{end, start, submit, submitted, wait_idle, with_stdin};
use super::support::claude::Kind;
use super::support::world::World;
use super::support::{kill, wait_for};

/// The text of the person's that the request ends with.
fn last_prompt(request: &ApiRequest) -> String {
    let mut texts = request.texts().into_iter().filter(|(role, _)| *role == "user");
    texts.next_back().map(|(_, text)| text).unwrap_or_default()
}

pub fn a_question_is_answered_whole(kind: Kind) {
    // Longer than what a listing or a hook keeps of it.
    let long: String = (0..400).map(|n| format!("Line {n} of a long answer.\n")).collect();
    let whole = long.trim_end().to_owned();
    let script = Script::each(move |request, _| match last_prompt(request).as_str() {
        text if text.contains("Be long.") => ScriptedReply::text(long.trim_end()).filling(1000),
        text if text.contains("Run it.") && request.tool_results().is_empty() => {
            ScriptedReply::bash("echo ran").filling(1000)
        }
        _ => ScriptedReply::text("Short.").filling(1000),
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    let none = world.hopty(&["answer", "proj"]);
    assert_eq!(none.status.code(), Some(1), "{}", String::from_utf8_lossy(&none.stdout));

    assert_eq!(
        world.ask(&["ask", "proj", "Be long.", "--timeout", "60s"]),
        format!("{whole}\n"),
        "{}",
        world.story()
    );
    assert_eq!(world.ask(&["answer"]), format!("{whole}\n"), "the session of this directory");

    let asked: Value = serde_json::from_str(&world.ask(&["ask", "proj", "Run it.", "--json"])).unwrap();
    assert_eq!(
        (&asked["answer"], &asked["session"], &asked["prompt"]),
        (&json!("Short."), &json!("proj"), &json!("Run it."))
    );
    assert_eq!(
        (&asked["tools"][0]["name"], &asked["tools"][0]["about"]),
        (&json!("Bash"), &json!("echo ran"))
    );
    assert_eq!((&asked["finished"], &asked["error"]), (&json!(true), &Value::Null), "{asked}");
    assert!(asked["tokens"]["output"].as_u64().is_some_and(|n| n > 0), "{asked}");
    if kind == Kind::Real {
        assert!(asked["cost_usd"].as_f64().is_some_and(|usd| usd > 0.0), "{asked}");
        // Claude writes it down when it ends.
        let usage = String::from_utf8(world.hopty(&["usage"]).stderr).unwrap();
        let cost = world.status()["work"]["cost_usd"].as_f64().unwrap();
        assert!(usage.contains(&format!("proj is running and has cost ${cost:.2} so far")), "{usage}");
    }
    let work = world.status()["work"].clone();
    assert_eq!(work["prompt"], "Run it.", "{work}");

    let again: Value = serde_json::from_str(&world.ask(&["answer", "proj", "--json"])).unwrap();
    for key in ["answer", "tools", "tokens", "conversation"] {
        assert_eq!(again[key], asked[key], "{key}");
    }
    let piped = with_stdin(&world, &["ask", "proj", "--stdin"], "What now?");
    assert_eq!(String::from_utf8_lossy(&piped.stdout), "Short.\n");
    let conversation = asked["conversation"].as_str().unwrap().to_owned();
    end(&world);
    assert_eq!(world.ask(&["answer", "proj"]), "Short.\n", "the session has ended");
    assert_eq!(world.ask(&["answer", &conversation]), "Short.\n");
}

/// The tools that the prompt starts fill the window, and the fresh conversation has the answer.
pub fn an_answer_is_waited_for_through_a_hand_over(kind: Kind) {
    let filling = || Script::filling_loop("true", 45_000);
    let Some(world) = World::new(kind, filling()) else { return };
    start(&world, &[]);
    let asked = world.ask(&["ask", "proj", "Do the work.", "--json", "--timeout", "60s"]);
    let asked: Value = serde_json::from_str(&asked).unwrap();
    let answer = asked["answer"].as_str().unwrap();
    assert!(answer.starts_with("Continuing from handoff ") && answer.ends_with("is done."), "{asked}");
    let status = world.status();
    assert_eq!((&asked["conversation"], &status["run"]), (&status["conversation"], &json!(2)), "{status}");
    end(&world);
    drop(world);

    let Some(world) = World::new(kind, filling()) else { return };
    start(&world, &[]);
    submitted(&world, "Do the work.");
    world.ask(&["wait", "proj", "idle", "--timeout", "60s"]);
    let status = world.status();
    assert_eq!((&status["run"], &status["phase"]), (&json!(2), &json!("running")), "{}", world.story());
    assert_eq!(world.ask(&["answer", "proj"]).lines().next().map(|line| &line[..10]), Some("Continuing"));
    end(&world);
}

/// The next prompt is queued while the turn of the first goes on: there is no moment of rest between them.
pub fn a_question_before_another_gets_its_own_answer(kind: Kind) {
    let script = Script::each(|request, _| match last_prompt(request) {
        text if text.contains("One?") => ScriptedReply::text("First.").after_ms(2000).filling(1000),
        text if text.contains("Two?") => ScriptedReply::text("Second.").filling(1000),
        _ => ScriptedReply::text("Other.").filling(1000),
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| world.ask(&["ask", "proj", "One?", "--timeout", "60s"]));
        world.wait_state("busy");
        assert_eq!(world.ask(&["ask", "proj", "Two?", "--timeout", "60s"]), "Second.\n", "{}", world.story());
        assert_eq!(first.join().unwrap(), "First.\n", "{}", world.story());
    });
    end(&world);
}

/// At the end of the turn the window is full, and nobody is at the keyboard: the fresh conversation answers
/// hopty's prompt, not this one.
pub fn an_answer_that_a_hand_over_follows_is_the_answer(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("Forty-two.").filling(170_000),
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    let asked = world.ask(&["ask", "proj", "What is it?", "--json", "--timeout", "60s"]);
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(
        (&asked["answer"], &asked["prompt"]),
        (&json!("Forty-two."), &json!("What is it?")),
        "{}",
        world.story()
    );
    world.wait_decision("delivery.submitted", 1);
    assert_ne!(asked["conversation"], world.status()["conversation"], "it was answered before");
    world.ask(&["wait", "proj", "idle", "--timeout", "60s"]);
    end(&world);
}

/// Whatever the model makes of hopty's request for a note, which came after its answer.
pub fn a_reply_to_the_request_for_a_note_is_no_answer(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None if request.contains(QUESTION_BEGINS) => {
            ScriptedReply::text("I was just finishing, nothing is open.").filling(170_000)
        }
        None => ScriptedReply::text("Forty-two.").filling(170_000),
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_HANDOFF_SUMMARY", "auto");
    start(&world, &[]);
    assert_eq!(
        world.ask(&["ask", "proj", "What is it?", "--timeout", "60s"]),
        "Forty-two.\n",
        "{}",
        world.story()
    );
    world.wait_decision("delivery.submitted", 1);
    assert!(world.api.requests().iter().any(|request| request.contains(QUESTION_BEGINS)), "it was asked");
    world.ask(&["wait", "proj", "idle", "--timeout", "60s"]);
    end(&world);
}

/// Claude was killed in the turn, and hopty has resumed the conversation: nothing will finish the answer.
pub fn an_answer_that_a_kill_cut_off_is_an_error(kind: Kind) {
    let script = Script::each(|request, _| match last_prompt(request).as_str() {
        text if text.contains("Slowly.") => ScriptedReply::text("Late.").after_ms(60_000).filling(1000),
        _ => ScriptedReply::text("Hello.").filling(1000),
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    assert_eq!(world.ask(&["ask", "proj", "Say hello.", "--timeout", "60s"]), "Hello.\n");
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| world.hopty(&["ask", "proj", "Slowly.", "--timeout", "60s"]));
        world.api.wait_for_main(2, std::time::Duration::from_secs(20));
        world.wait_state("busy");
        kill(i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGKILL);
        let cut = asks.join().unwrap();
        let said = String::from_utf8_lossy(&cut.stderr).into_owned();
        assert_eq!((&*cut.stdout, cut.status.code()), (&b""[..], Some(1)), "{said}{}", world.story());
        assert!(said.contains("hopty: ask: proj: Claude ended before it had answered; "), "{said}");
        assert!(said.contains("hint: `hopty ask proj \"go on\"`"), "{said}");
    });
    let answer = world.hopty(&["answer", "proj"]);
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    let transcript = world.status()["transcript"].as_str().unwrap().to_owned();
    if std::fs::read_to_string(transcript).unwrap().contains("Slowly.") {
        assert_eq!((&*answer.stdout, answer.status.code()), (&b""[..], Some(1)), "{said}");
        assert!(
            said.starts_with("hopty: answer: proj: Claude did not answer the last prompt\nhint: "),
            "{said}"
        );
    } else {
        // The real one was killed before it had written down the prompt: nothing tells of it any more.
        assert_eq!((&*answer.stdout, answer.status.code()), (&b"Hello.\n"[..], Some(0)), "{said}");
    }
    end(&world);
}

/// The second waits until the first is proven, and then for its turn.
pub fn two_questions_at_once_are_both_answered(kind: Kind) {
    let script = Script::each(|request, _| match last_prompt(request) {
        text if text.contains("One?") => ScriptedReply::text("First.").after_ms(1000).filling(1000),
        text if text.contains("Two?") => ScriptedReply::text("Second.").after_ms(1000).filling(1000),
        _ => ScriptedReply::text("Other.").filling(1000),
    });
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    std::thread::scope(|scope| {
        let ask = |text: &'static str| {
            let world = &world;
            scope.spawn(move || world.hopty(&["ask", "proj", text, "--timeout", "60s"]))
        };
        for (asked, answer) in ["One?", "Two?"].map(ask).into_iter().zip(["First.\n", "Second.\n"]) {
            let done = asked.join().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert_eq!(String::from_utf8_lossy(&done.stdout), answer, "{said}{}", world.story());
            assert_eq!(done.status.code(), Some(0), "{said}");
        }
    });
    end(&world);
}

pub fn after_a_clear_nothing_was_asked(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::text("Hello.").filling(1000));
    let Some(world) = World::new(kind, script) else { return };
    start(&world, &[]);
    let at = submitted(&world, "Say hello.");
    let before = wait_idle(&world, at)["conversation"].clone();
    assert_eq!(submit(&world, "/clear").0, "submitted", "{}", world.story());
    assert_ne!(world.status()["conversation"], before);
    world.wait_state("idle");
    let answer = world.hopty(&["answer", "proj"]);
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert_eq!((&*answer.stdout, answer.status.code()), (&b""[..], Some(1)), "{said}");
    let words = ["nothing was asked in this conversation yet", "Claude has no transcript yet"];
    assert!(words.iter().any(|words| said.starts_with(&format!("hopty: answer: proj: {words}\n"))), "{said}");
    assert!(!said.contains("hopty wait"), "it is idle already: {said}");
    let exit = world.hopty(&["send", "proj", "/exit", "--submit"]);
    assert_eq!(
        (String::from_utf8_lossy(&exit.stdout).trim(), exit.status.code()),
        ("submitted", Some(0)),
        "{}",
        String::from_utf8_lossy(&exit.stderr)
    );
    wait_for("the end", || (world.hopty(&["send", "proj", "x"]).status.code() == Some(1)).then_some(()));
    world.assert_nothing_left();
}

pub fn what_an_ended_session_did_not_answer_is_told(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::text("Late.").after_ms(60_000).filling(1000));
    let Some(world) = World::new(kind, script) else { return };
    let refused = |words: &str, hint: &str| {
        let output = world.hopty(&["answer", "proj"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with(&format!("hopty: answer: proj: the session has ended{words}\n")), "{said}");
        assert!(said.contains(hint), "{said}");
    };
    start(&world, &[]);
    end(&world);
    refused(" without a prompt", "hint: `hopty conversations ls`");
    start(&world, &[]);
    submitted(&world, "Take your time.");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    world.ask(&["stop", "proj"]);
    let hint = format!("hint: `hopty conversations show {conversation}` shows the conversation");
    refused(", and Claude did not answer its last prompt", &hint);
}

pub fn an_answer_that_does_not_come_is_told(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::bash("touch made").saying("I make it.").filling(1000));
    let Some(mut world) = World::new(kind, script) else { return };
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    start(&world, &[]);
    let blocked = world.hopty(&["ask", "proj", "Make it.", "--timeout", "5s"]);
    let said = String::from_utf8_lossy(&blocked.stderr).into_owned();
    assert_eq!(blocked.status.code(), Some(1), "{said}");
    assert!(
        said.contains("proj is blocked on permission (Bash: touch made): `hopty attach proj` answers it"),
        "{said}"
    );
    assert!(said.contains("hopty: ask: proj: no answer after 5s, the session is blocked\nhint: "), "{said}");
    let refused = world.hopty(&["ask", "proj", "And this?"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.starts_with("hopty: ask: proj: Claude shows a dialog"), "{said}");
    end(&world);
    let answer = world.hopty(&["answer", "proj"]);
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert_eq!((&*answer.stdout, answer.status.code()), (&b"I make it.\n"[..], Some(1)), "{said}");
    assert_eq!(said, "hopty: proj: the session ended before Claude had finished this answer\n");
}
