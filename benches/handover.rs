//! How long a hand-over takes, stage by stage, and how much of it is hopty's own.
//!
//! ```sh
//! cargo bench --bench handover -- real inline 20          # real | stand-in, inline | full-screen, rounds
//! cargo bench --bench handover -- real inline 20 300      # the same with a transcript of 300 MB
//! ```
//!
//! Times come from the session's journal and from the arrival of requests at the stand-in API. Nothing is
//! asserted: a shared machine measures its neighbours too, so medians and ranges are printed.

#![allow(clippy::unwrap_used, reason = "as in tests: what is not as expected ends it")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hopty::core::time::WallTime;
use hopty::standin::request::AskerKind as Asks;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};
use support::claude::Kind;
use support::wait_for;
use support::world::World;

/// Stages in ms, each from the one before, with names as `docs/PERFORMANCE.md` explains them.
const STAGES: [&str; 10] = [
    "hook to results on disk",
    "to handoff saved",
    "to Claude idle (SIGTERM)",
    "SIGTERM to reaped",
    "to spawned",
    "spawn to prompt box and SessionStart",
    "to paste",
    "paste to Enter",
    "Enter to submitted",
    "to first request",
];

/// A restart from the safe point to the proof, less SIGTERM to reaped, less spawn to prompt box.
const OTHER: &str = "restart, less Claude's end and start";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let word = |n: usize, default: &str| args.get(n).cloned().unwrap_or_else(|| default.to_owned());
    let kind = if word(0, "stand-in") == "real" { Kind::Real } else { Kind::StandIn };
    let full_screen = word(1, "inline") == "full-screen";
    let rounds: usize = word(2, "5").parse().unwrap_or(5);
    let megabytes: usize = word(3, "0").parse().unwrap_or(0);
    let mut table: Vec<Vec<f64>> = vec![Vec::new(); STAGES.len() + 3];
    for round in 0..rounds {
        let Some(times) = measure(kind, full_screen, megabytes) else { return };
        for (column, time) in table.iter_mut().zip(&times) {
            column.push(*time);
        }
        eprintln!(
            "round {} of {rounds}: own {:.0} ms, whole chain {:.0} ms",
            round + 1,
            times[STAGES.len()],
            times[STAGES.len() + 2]
        );
    }
    println!("| stage, ms (n = {rounds}) | median | min | max |\n|---|---|---|---|");
    let names =
        STAGES.iter().copied().chain(["hopty's own share", OTHER, "whole chain: hook to first request"]);
    for (name, column) in names.zip(&mut table) {
        column.sort_by(f64::total_cmp);
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} |",
            column[column.len() / 2],
            column[0],
            column[column.len() - 1]
        );
    }
}

fn measure(kind: Kind, full_screen: bool, megabytes: usize) -> Option<Vec<f64>> {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        match request.assistant_messages() {
            0 => ScriptedReply::text("Hello.").filling(2000),
            n => ScriptedReply::bash("echo one more step").filling(60_000 * n as u64 + 10_000),
        }
    });
    let mut world = World::new(kind, script)?;
    work_tree(&world.project);
    world.set("CLAUDE_CODE_NO_FLICKER", if full_screen { "1" } else { "0" });
    let term = world.start(&[]);
    let submit = |text: &str| {
        term.wait_box();
        term.send(text);
        term.wait_text(text);
        term.send("\r");
    };
    submit("Say hello.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    if megabytes > 0 {
        grow(&world, megabytes);
    }
    submit("Work for long.");
    world.wait_decision_for("handoff.consumed", 1, Duration::from_secs(120));
    let new = world.wait_decision("delivery.submitted", 1)["conversation"].as_str()?.to_owned();
    let first = world.api.requests_of(&new).into_iter().find(|r| r.kind == Asks::Main)?;
    let requested = SystemTime::now() - first.at.elapsed();
    let lines: Vec<Value> = world.journal().lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    drop(term);
    world.wait_decision("client.detached", 1);
    world.ask(&["stop", "proj"]);
    Some(stages(&lines, requested))
}

/// A work tree with a commit and a change, as there mostly is one; without git there is none.
fn work_tree(project: &Path) {
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        Command::new("git")
            .args(who)
            .args(args)
            .current_dir(project)
            .output()
            .is_ok_and(|done| done.status.success())
    };
    for n in 0..200 {
        let _ = std::fs::write(project.join(format!("file{n}.txt")), format!("{n}\n").repeat(50));
    }
    if git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-qm", "begin"]) {
        let _ = std::fs::write(project.join("file7.txt"), "changed\n");
    }
}

/// Appends lines as a long conversation has them (a request's blob, a call, its result, a snapshot), and
/// waits until hopty has read them.
fn grow(world: &World, megabytes: usize) {
    let path = world.status()["transcript"].as_str().unwrap_or_default().to_owned();
    let mut file = std::fs::File::options().append(true).open(&path).expect("the transcript");
    let wanted = megabytes * 1_000_000;
    let mut written = 0;
    let mut step = 0;
    let begun = Instant::now();
    while written < wanted {
        let chunk: String = (0..100).map(|n| lines_of_a_step(step + n)).collect();
        step += 100;
        file.write_all(chunk.as_bytes()).expect("room for the transcript");
        written += chunk.len();
    }
    // A real one has been on disk for long: the handoff's own writes must not wait for these.
    file.sync_all().expect("room for the transcript");
    wait_for("the transcript to be read", || {
        (world.status()["context"]["bytes"].as_u64() >= Some(wanted as u64)).then_some(())
    });
    eprintln!("{megabytes} MB written and read in {:.1} s", begun.elapsed().as_secs_f64());
}

fn lines_of_a_step(n: usize) -> String {
    let text = "a line of output, as a compiler or a test prints it \\u001b[32mok\\u001b[0m\n".repeat(60);
    let call = format!("toolu_grown{n}");
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 1990, "cache_creation_input_tokens": 0,
        "output_tokens": 5});
    let called = json!({"id": format!("msg_grown{n}"), "role": "assistant", "model": "claude-sonnet-4-5",
        "stop_reason": "tool_use",
        "usage": usage, "content": [{"type": "tool_use", "id": call, "name": "Bash",
        "input": {"command": "make test"}}]});
    let answered =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]});
    let lines = [
        json!({"type": "api-request-blob", "hash": format!("{n:064x}"), "message": answered}),
        json!({"type": "assistant", "uuid": format!("a{n}"), "isSidechain": false, "message": called}),
        json!({"type": "user", "uuid": format!("u{n}"), "isSidechain": false, "message": answered,
            "toolUseResult": {"stdout": text}}),
        json!({"type": "file-history-snapshot", "messageId": format!("u{n}"),
            "snapshot": {"trackedFileBackups": {}}}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn stages(lines: &[Value], requested: SystemTime) -> Vec<f64> {
    let t = |line: &Value| line["t"].as_f64().unwrap_or(f64::NAN);
    let at = |from: usize, what: &str, test: &dyn Fn(&Value) -> bool| -> usize {
        (from..lines.len()).find(|n| test(&lines[*n])).unwrap_or_else(|| panic!("the journal has no {what}"))
    };
    let decision = |kind: &'static str| move |l: &Value| l["decision"]["kind"] == kind;
    let safe = at(0, "safe point", &decision("safe_point.reached"));
    let hook = (0..safe)
        .rev()
        .find(|n| lines[*n]["event"]["hook"]["event"] == "PostToolBatch")
        .expect("a tool batch");
    let saved = at(safe, "saved handoff", &|l| l["event"]["kind"] == "saved");
    let results = (safe..saved).rev().find(|n| lines[*n]["event"]["kind"] == "lines").unwrap_or(safe);
    let term = at(saved, "SIGTERM", &decision("stop.sent"));
    let reaped = at(term, "end", &|l| l["event"]["kind"] == "child");
    let spawned = at(reaped, "start", &|l| l["event"]["kind"] == "started");
    let drawn = at(spawned, "prompt box", &|l| l["event"]["facts"]["prompt"] == "empty");
    let begun = at(spawned, "SessionStart", &|l| l["event"]["hook"]["event"] == "SessionStart");
    let drawn = drawn.max(begun);
    let paste = at(spawned, "paste", &|l| l["action"]["typing"]["what"] == "prompt");
    let enter = at(paste, "Enter", &|l| l["action"]["typing"]["what"] == "enter");
    let submitted = at(enter, "proof", &decision("delivery.submitted"));
    let marks = [hook, results, saved, term, reaped, spawned, drawn, paste, enter, submitted];
    let mut times: Vec<f64> = marks.windows(2).map(|pair| t(&lines[pair[1]]) - t(&lines[pair[0]])).collect();
    // The journal's clock against the wall clock, from a decision that has both.
    let both = &lines[submitted];
    let wall = WallTime::parse(both["at"].as_str().unwrap_or_default()).expect("a time").0 as f64;
    let requested = requested.duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs_f64() * 1000.0;
    times.push(requested - wall);
    let whole = t(&lines[submitted]) - t(&lines[hook]) + (requested - wall);
    // The total up to the paste, less what is Claude's: its flush, coming to rest, its end, its start.
    let own = times[1] + times[4] + times[6];
    // The same with everything that hopty waits for on the way: that Claude comes to rest, echoes, takes the
    // prompt.
    let less_end_and_start = t(&lines[submitted]) - t(&lines[safe]) - times[3] - times[5];
    times.extend([own, less_end_and_start, whole]);
    times
}
