//! `hopty conversations` on conversations that the real Claude made, on the newest version and on the oldest
//! that must work in full, and on files that nobody made in good faith.

#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;
use support::claude::{self, Kind};
use support::term::Term;
use support::world::World;

const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

fn world(program: PathBuf, script: Script) -> World {
    World::with(Kind::Real, Some(program), script)
}

/// Starts hopty and submits a prompt.
fn begin(world: &World, prompt: &str) -> Term {
    let term = world.start(&[]);
    let is_box = |line: &String| ["❯\u{a0}", "> "].iter().any(|sign| line.starts_with(sign));
    term.wait_for("the prompt box", |screen| screen.lines().iter().any(is_box));
    world.submit_first(&term, prompt);
    term
}

fn list(world: &World, args: &[&str]) -> Vec<Value> {
    let args = [&["conversations", "ls", "--json"], args].concat();
    serde_json::from_str(&world.ask(&args)).unwrap()
}

#[test]
fn what_the_newest_claude_made_is_listed_shown_and_found() {
    if let Some(program) = claude::real() {
        is_listed_shown_and_found(program);
    }
}

#[test]
fn what_the_oldest_claude_made_is_listed_shown_and_found() {
    if let Some(program) = claude::version(claude::OLDEST) {
        is_listed_shown_and_found(program);
    }
}

fn is_listed_shown_and_found(program: PathBuf) {
    let world = world(
        program,
        Script::list([
            ScriptedReply::bash("echo planted-in-a-tool").filling(1000),
            ScriptedReply::text("The answer is \"žluť\" <b>42</b>.").filling(2000),
        ]),
    );
    let term = begin(&world, "what is the planted answer?");
    term.wait_text("42");
    world.wait_state("idle");
    let open = list(&world, &[]);
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["open"]["session"], "proj");
    assert!(open[0]["open"]["pid"].is_number(), "Claude's own file says so too");
    world.leave(term);
    let listed = list(&world, &["--full"]).remove(0);
    assert_eq!(listed["open"], Value::Null);
    assert_eq!(listed["project"], world.project.to_str().unwrap());
    assert_eq!(listed["first_prompt"], "what is the planted answer?");
    assert!(listed["tokens"]["all"].as_u64().unwrap() > 0, "{listed}");
    assert_eq!(listed["bytes"], std::fs::metadata(listed["transcript"].as_str().unwrap()).unwrap().len());
    if listed["version"].as_str().unwrap() != claude::OLDEST {
        assert!(listed["cost_usd"].as_f64().is_some(), "Claude reported it: {listed}");
        assert_eq!(listed["tokens"]["from"], "claude");
    }
    let id = listed["id"].as_str().unwrap();
    assert!(!world.transcript(id).is_empty());
    usage_is_what_claude_says(&world, &listed);
    // The list for people, in a narrow terminal.
    let mut narrow =
        Term::start(&claude::hopty(), &["conversations", "ls"], &world.env, &world.project, (40, 20));
    narrow.wait_text(&id[..8]);
    narrow.wait_exit();
    // By the begin of its id; with tools folded and not; as pages.
    let text = world.ask(&["conversations", "show", &id[..8]]);
    assert!(text.contains("what is the planted answer?") && text.contains("\"žluť\" <b>42</b>"), "{text}");
    assert!(text.contains("* Bash echo planted-in-a-tool -> ok, 1 line"), "{text}");
    let unfolded = world.ask(&["conversations", "show", id, "--tools"]);
    assert!(unfolded.contains("> planted-in-a-tool"), "{unfolded}");
    let html = world.ask(&["conversations", "show", id, "--html"]);
    assert!(html.contains("&lt;b&gt;42&lt;/b&gt;") && !html.contains("<b>"), "{html}");
    assert!(world.ask(&["conversations", "show", id, "--markdown"]).contains("## Claude"));
    let shown: Value = serde_json::from_str(&world.ask(&["conversations", "show", id, "--json"])).unwrap();
    assert_eq!((&shown["id"], &shown["entries"][0]["kind"]), (&listed["id"], &Value::from("person")));
    // Quotes and letters beyond ASCII stand in the file in another way than they are searched for.
    for pattern in ["\"žluť\"", "planted answer\\?$", "answer is .* <b>"] {
        let found = world.ask(&["conversations", "search", pattern]);
        assert!(found.contains(id), "{pattern}: {found}");
    }
    assert_eq!(world.hopty(&["conversations", "search", "^planted-in-a-tool$"]).status.code(), Some(1));
    let found = world.ask(&["conversations", "search", "^planted-in-a-tool$", "--tools", "--json"]);
    let hit: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!((&hit["conversation"], &hit["place"]), (&listed["id"], &Value::from("live")));
    // Archived, it is listed, shown and found as before.
    world.ask(&["conversations", "archive", id, "--remove"]);
    let archived = list(&world, &[]).remove(0);
    assert_eq!((&archived["id"], &archived["archived"]), (&listed["id"], &Value::from(true)));
    assert_eq!((&archived["first_prompt"], &archived["bytes"]), (&listed["first_prompt"], &listed["bytes"]));
    assert!(world.ask(&["conversations", "show", &id[..8]]).contains("what is the planted answer?"));
    assert!(world.ask(&["conversations", "search", "planted answer"]).contains("(archived)"));
    world.assert_nothing_left();
}

/// `hopty usage` has the tokens and the cost that Claude's own account has, by every grouping.
fn usage_is_what_claude_says(world: &World, listed: &Value) {
    for by in ["day", "week", "month", "project", "model", "conversation"] {
        let usage: Value = serde_json::from_str(&world.ask(&["usage", "--by", by, "--json"])).unwrap();
        let (total, rows) = (&usage["total"], usage["rows"].as_array().unwrap());
        for kind in ["input", "output", "cache_read", "cache_creation", "all"] {
            assert_eq!(total["tokens"][kind], listed["tokens"][kind], "{by} {kind}: {usage}");
            let sum: u64 = rows.iter().map(|row| row["tokens"][kind].as_u64().unwrap()).sum();
            assert_eq!(total["tokens"][kind], sum, "{by}: {usage}");
        }
        match listed["cost_usd"].as_f64() {
            Some(usd) => {
                assert!((total["cost_usd"].as_f64().unwrap() - usd).abs() < 1e-6, "{usage}");
                assert_eq!(total["tokens_without_cost"], 0, "{usage}");
            }
            // The oldest version reports none.
            None => assert_eq!(total["tokens_without_cost"], total["tokens"]["all"], "{usage}"),
        }
        assert_eq!((&total["conversations"], &total["handovers"]), (&1.into(), &0.into()), "{usage}");
        assert!(total["work_ms"].as_u64().unwrap() > 0, "{usage}");
    }
    let text = world.ask(&["usage", "--project", world.project.to_str().unwrap()]);
    assert!(text.lines().last().unwrap().starts_with("total"), "{text}");
    let nowhere = world.hopty(&["usage", "--project", "nope"]);
    assert_eq!(nowhere.status.code(), Some(2));
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(said.starts_with("hopty: usage: nope: there is no such directory\nhint: "), "{said}");
    let early = world.hopty(&["usage", "--project", ".", "--since", "2020-01-01", "--until", "2020-01-02"]);
    let said = String::from_utf8_lossy(&early.stderr).into_owned();
    let none =
        format!("no conversation used anything in {} from 2020-01-01 to 2020-01-02", world.project.display());
    assert!(said.starts_with(&none), "{said}");
    let none = world.hopty(&["usage", "--project", "/", "--all"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("no conversation used anything"), "{none:?}");
}

#[test]
fn a_fork_adds_to_the_usage_what_is_new_in_it() {
    let Some(program) = claude::real() else { return };
    let replies = [1000, 2000, 3000].map(|tokens| ScriptedReply::text("Yes, 42.").filling(tokens));
    let world = world(program, Script::list(replies));
    let term = begin(&world, "is it 42?");
    term.wait_text("Yes, 42.");
    world.wait_state("idle");
    world.leave(term);
    let source = list(&world, &["--full"]).remove(0);
    let forked = world.hopty(&["-p", "--resume", source["id"].as_str().unwrap(), "--fork-session", "still?"]);
    assert!(String::from_utf8_lossy(&forked.stdout).contains("Yes, 42."), "{forked:?}");
    let listed = list(&world, &["--full"]);
    let fork = listed.iter().find(|row| row["id"] != source["id"]).unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    // Claude's account of the fork has what was before it, too.
    let usage: Value = serde_json::from_str(&world.ask(&["usage", "--json"])).unwrap();
    let total = &usage["total"];
    assert_eq!(
        (&total["tokens"]["all"], &total["answers"]),
        (&fork["tokens"]["all"], &2.into()),
        "{usage} {fork}"
    );
    assert_ne!(fork["tokens"]["all"], source["tokens"]["all"]);
    assert_eq!((&fork["forked_from"], &source["forked_from"]), (&source["id"], &Value::Null));
    let rows: Value = serde_json::from_str(&world.ask(&["usage", "--by", "conversation", "--json"])).unwrap();
    let row = |id: &Value| rows["rows"].as_array().unwrap().iter().find(|row| row["conversation"] == *id);
    assert_eq!(row(&source["id"]).unwrap()["tokens"]["all"], source["tokens"]["all"], "{rows}");
    let chain: Vec<Value> =
        serde_json::from_str(&world.ask(&["conversations", "chain", fork["id"].as_str().unwrap(), "--json"]))
            .unwrap();
    assert_eq!((&chain[0]["id"], &chain[1]["forked_from"]), (&source["id"], &source["id"]), "{chain:?}");
    let page = world.ask(&["conversations", "show", fork["id"].as_str().unwrap(), "--markdown"]);
    assert!(page.contains(&format!("forked from: {}", source["id"].as_str().unwrap())), "{page}");
    let (usd, claudes) = (total["cost_usd"].as_f64().unwrap(), fork["cost_usd"].as_f64().unwrap());
    assert!((usd - claudes).abs() < 1e-6, "{usage} {fork}");
    assert_eq!(total["conversations"], 2);
    world.assert_nothing_left();
}

#[test]
fn what_was_used_before_claude_was_killed_counts_in_the_list_as_in_usage() {
    let Some(program) = claude::real() else { return };
    let replies = [1000, 2000].map(|tokens| ScriptedReply::text("Yes, 42.").filling(tokens));
    let world = world(program.clone(), Script::list(replies));
    let claude = |args: &[&str]| {
        let args: Vec<&str> = world.args.iter().map(String::as_str).chain(args.iter().copied()).collect();
        Term::start(&program, &args, &world.env, &world.project, (100, 30))
    };
    let resume = |prompt: &[&str]| {
        let mut term = claude(&[&["--resume", ID], prompt].concat());
        term.wait_box();
        term.wait_text("Yes, 42.");
        if !prompt.is_empty() {
            // The text on the screen may be that of the answer before.
            let is_answer =
                |line: &&Value| line["type"] == "assistant" && line["message"]["model"] != "<synthetic>";
            support::wait::wait_for("the second answer in the transcript", || {
                (world.transcript(ID).iter().filter(is_answer).count() > 1).then_some(())
            });
        }
        term.submit("/exit");
        assert_eq!(term.wait_exit(), 0);
    };
    let agree = |when: &str| -> Value {
        let listed = list(&world, &[]).remove(0);
        let usage = world.ask(&["usage", "--by", "conversation", "--json"]);
        let row = serde_json::from_str::<Value>(&usage).unwrap()["rows"][0].clone();
        for kind in ["input", "output", "cache_read", "cache_creation", "all"] {
            assert_eq!(listed["tokens"][kind], row["tokens"][kind], "{when}: {listed} {row}");
        }
        assert_eq!(listed["cost_usd"], row["cost_usd"], "{when}: {listed} {row}");
        listed
    };
    let mut term = claude(&["--session-id", ID, "is it 42?"]);
    term.wait_text("Yes, 42.");
    support::wait::wait_for("the answer in the transcript", || {
        world.transcript(ID).iter().any(|line| line["type"] == "assistant").then_some(())
    });
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(term.child.id().cast_signed()),
        nix::sys::signal::SIGKILL,
    )
    .unwrap();
    term.wait_exit();
    let killed = agree("killed")["tokens"]["all"].as_u64().unwrap();
    assert!(killed > 0);
    // Claude's account of these runs says that nothing was used.
    for when in ["resumed", "resumed twice"] {
        resume(&[]);
        assert_eq!(agree(when)["tokens"]["all"], killed, "{when}");
    }
    let accounts = || world.transcript(ID).iter().filter(|line| line["type"] == "cost-state").count();
    assert!(accounts() >= 2, "Claude writes an account at the end of each run");
    resume(&["still?"]);
    let more = agree("went on");
    assert!(more["tokens"]["all"].as_u64().unwrap() > killed, "{more}");
    assert!(more["cost_usd"].as_f64().unwrap() > 0.0, "{more}");
    assert_eq!(more["cost_is_complete"], false, "nobody knows what the run cost that was killed: {more}");
    resume(&[]);
    assert_eq!(agree("resumed after that")["tokens"], more["tokens"]);
    world.ask(&["conversations", "archive", ID, "--remove"]);
    assert_eq!(agree("archived")["archived"], true);
}

#[test]
fn a_chain_of_hand_overs_is_shown_from_each_of_its_conversations() {
    let Some(program) = claude::real() else { return };
    let world = world(program, Script::filling_loop("echo step", 40_000));
    let term = begin(&world, "Count the stars.");
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    let named = |kind: &str, field: &str| world.wait_decision(kind, 1)[field].as_str().unwrap().to_owned();
    let (old, new) = (named("run.spawned", "conversation"), named("delivery.submitted", "conversation"));
    let handoff = named("handoff.saved", "handoff");
    world.leave(term);
    let chain = |args: &[&str]| -> Vec<Value> {
        serde_json::from_str(&world.ask(&[&["conversations", "chain", "--json"], args].concat())).unwrap()
    };
    let check = |what: &str| {
        for of in [&[old.as_str()][..], &[&new], &[]] {
            let steps = chain(of);
            assert_eq!(steps.len(), 2, "{what}: {steps:?}");
            assert_eq!(
                (&steps[0]["id"], &steps[1]["id"]),
                (&old.as_str().into(), &new.as_str().into()),
                "{what}"
            );
            assert_eq!(steps[1]["begun_by"]["handoff"], handoff.as_str(), "{what}");
        }
    };
    check("everything is there");
    let begun_by = chain(&[])[1]["begun_by"].clone();
    assert!(
        begun_by["tokens"].as_u64().unwrap() > 0 && begun_by["window"].as_u64().unwrap() > 0,
        "{begun_by}"
    );
    assert_eq!(begun_by["session"], "proj");
    let text = world.ask(&["conversations", "chain"]);
    assert!(text.contains(&format!("hopty --resume {old}")) && text.contains(&handoff), "{text}");
    let links = list(&world, &[]);
    let of = |id: &str| links.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(of(&old)["handed_over_to"][0], new.as_str());
    assert_eq!(of(&new)["handed_over_from"], old.as_str());
    assert_eq!(of(&new)["first_prompt"], Value::Null, "hopty typed it");
    let usage: Value = serde_json::from_str(&world.ask(&["usage", "--json"])).unwrap();
    assert_eq!((&usage["total"]["handovers"], &usage["total"]["conversations"]), (&1.into(), &2.into()));
    // Without the manifests, then without the journal, then without any file of the handoff.
    let store = world.claude_dir().join("handoff");
    for file in std::fs::read_dir(&store).unwrap().flatten() {
        if file.file_name().to_string_lossy().ends_with(".manifest.json") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    check("without the manifest");
    std::fs::remove_dir_all(world.session_dir()).unwrap();
    check("without the session");
    // The transcript of the first conversation survives in the record alone.
    let path = PathBuf::from(of(&old)["transcript"].as_str().unwrap());
    let kept = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let found = world.ask(&["conversations", "search", "Count the stars", "--json"]);
    assert!(found.lines().any(|line| line.contains(&old) && line.contains("handed over")), "{found}");
    assert!(world.ask(&["conversations", "show", &old[..8]]).contains("Count the stars."));
    std::fs::write(&path, kept).unwrap();
    std::fs::remove_dir_all(&store).unwrap();
    check("without the store");
    world.assert_nothing_left();
}

/// A world of files alone.
fn files() -> (World, PathBuf) {
    let world = World::new(Kind::StandIn, Script::list([])).expect("the stand-in is always there");
    let dir = world.claude_dir().join("projects/-p");
    std::fs::create_dir_all(&dir).unwrap();
    (world, dir)
}

fn prompt(dir: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "{{\"type\":\"user\",\"cwd\":\"{dir}\",\"sessionId\":\"{ID}\",\"message\":{{\"content\":{text}}},\"timestamp\":\"2026-11-20T14:00:00.000Z\"}}\n"
    )
}

#[test]
fn what_is_no_transcript_is_left_alone_and_two_of_one_id_are_told() {
    let (world, dir) = files();
    let project = world.project.to_str().unwrap().to_owned();
    let name = |n: u32| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0.jsonl");
    std::fs::write(dir.join(name(1)), prompt(&project, "real")).unwrap();
    symlink("/dev/zero", dir.join(name(2))).unwrap();
    nix::unistd::mkfifo(&dir.join(name(3)), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink(dir.join(name(1)), dir.join(name(4))).unwrap();
    symlink(&dir, dir.with_file_name("-link")).unwrap();
    std::fs::create_dir(dir.with_file_name("-q")).unwrap();
    std::fs::write(dir.with_file_name("-q").join(name(1)), prompt("/elsewhere", "copy")).unwrap();
    let listed = list(&world, &[]);
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(
        (listed[0]["first_prompt"].as_str(), listed[0]["files_with_this_id"].as_u64()),
        (Some("real"), Some(2))
    );
    assert_eq!(list(&world, &["--all"]).len(), 2);
    let done = world.hopty(&["conversations", "ls", "--all"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(said.matches("not a regular file").count(), 3, "{said}");
    assert_eq!(said.matches("is a link").count(), 1, "{said}");
    let done = world.hopty(&["conversations", "show", &name(1)[..8]]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("/-p/") && said.contains("/-q/"), "{said}");
    for verb in ["show", "chain"] {
        assert_eq!(world.hopty(&["conversations", verb, "no such title"]).status.code(), Some(1));
    }
    assert_eq!(world.hopty(&["conversations", "search", "("]).status.code(), Some(2));
}

#[test]
fn what_sub_agents_said_is_found_and_counted_also_in_the_archive() {
    let (world, dir) = files();
    let cwd = world.project.to_str().unwrap();
    let line = |id: &str, is_agent: bool, text: &str| {
        serde_json::json!({"type": "assistant", "isSidechain": is_agent, "cwd": cwd, "sessionId": ID,
            "timestamp": "2026-11-20T10:00:00.000Z", "requestId": id, "message": {"id": id, "model": "m",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 10, "output_tokens": 1}}})
        .to_string()
    };
    std::fs::create_dir_all(dir.join(ID).join("subagents")).unwrap();
    std::fs::write(dir.join(format!("{ID}.jsonl")), prompt(cwd, "go") + &line("m1", false, "in short"))
        .unwrap();
    std::fs::write(dir.join(ID).join("subagents/agent-1.jsonl"), line("a1", true, "found a needle")).unwrap();
    std::fs::write(dir.join("agent-2.jsonl"), line("a2", true, "an old needle") + "\n").unwrap();
    let check = |place: &str, is_live: bool| {
        let found = world.ask(&["conversations", "search", "needle", "--json"]);
        let hits: Vec<Value> = found.lines().map(|hit| serde_json::from_str(hit).unwrap()).collect();
        assert_eq!(hits.len(), 2, "{place}: {found}");
        for hit in &hits {
            assert_eq!(
                (&hit["conversation"], &hit["place"]),
                (&Value::from(ID), &Value::from(place)),
                "{hit}"
            );
            assert_eq!((&hit["sub_agent"], &hit["title"]), (&true.into(), &Value::Null), "{hit}");
            assert_eq!(hit["project"], cwd, "{hit}");
        }
        let text = world.ask(&["conversations", "search", "needle", "--here"]);
        assert!(text.contains("sub-agent: ") && text.contains("go\n") | text.contains("go  "), "{text}");
        let short = world.ask(&["conversations", "search", "in short", "--json"]);
        assert!(short.contains("\"sub_agent\":false"), "{short}");
        let used: Value = serde_json::from_str(&world.ask(&["usage", "--all", "--json"])).unwrap();
        assert_eq!(
            (&used["total"]["tokens"]["all"], &used["total"]["answers"]),
            (&33.into(), &3.into()),
            "{used}"
        );
        let shown = world.ask(&["conversations", "show", ID]);
        assert!(shown.contains("sub-agents: 2") && !shown.contains("needle"), "{shown}");
        let listed = list(&world, &["--full"]).remove(0);
        assert_eq!(listed["tokens"]["all"], 33, "{place}: {listed}");
        assert_eq!(listed["cost_usd"], Value::Null, "{listed}");
        if is_live {
            assert_eq!(listed["sub_agents"], 2, "{listed}");
            assert!(world.ask(&["conversations", "ls"]).contains("2 sub-agents"));
        }
    };
    check("live", true);
    check("live", true);
    world.ask(&["conversations", "archive", ID, "--remove"]);
    assert!(!dir.join("agent-2.jsonl").exists());
    check("archived", false);
}

#[test]
fn a_hostile_transcript_reaches_neither_terminal_nor_browser() {
    let (world, dir) = files();
    let project = world.project.to_str().unwrap().to_owned();
    let hostile = "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{9b}31m\u{202e}</pre><script>alert(1)</script> needle \
                   ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let lines = prompt(&project, hostile)
        + &format!(
            "{{\"type\":\"custom-title\",\"customTitle\":{}}}\n",
            serde_json::to_string(hostile).unwrap()
        )
        + "{\"torn\n\u{0}\u{0}\n[[[[\n"
        + &prompt(&project, "after it");
    std::fs::write(dir.join(format!("{ID}.jsonl")), lines).unwrap();
    let runs: [&[&str]; 8] = [
        &["ls"],
        &["ls", "--json"],
        &["show", ID],
        &["show", ID, "--json"],
        &["show", ID, "--html", "--tools"],
        &["show", ID, "--markdown"],
        &["search", "needle", "-C", "3"],
        &["chain", ID],
    ];
    for args in runs {
        let out = world.ask(&[&["conversations"], args].concat());
        let hidden: Vec<char> = out
            .chars()
            .filter(|c| hopty::core::text::visible::is_hidden(*c) && !matches!(c, '\n' | '\t'))
            .collect();
        assert_eq!(hidden, [], "{args:?}: {out}");
        assert!(!out.contains("ghp_0123"), "{args:?}: {out}");
        assert!(!args.contains(&"--html") || !out.contains("<script"), "{out}");
        assert!(args[0] != "show" || out.contains("after it"), "{args:?}: {out}");
    }
    assert!(world.ask(&["conversations", "show", ID, "--no-redact"]).contains("ghp_0123"));
}

#[test]
fn a_directory_that_was_renamed_to_this_one_is_named_with_the_way_to_its_conversations() {
    let (world, dir) = files();
    let gone = world.project.with_file_name("old name");
    std::fs::write(dir.join(format!("{ID}.jsonl")), prompt(gone.to_str().unwrap(), "go")).unwrap();
    let said = || String::from_utf8(world.hopty(&["conversations", "ls"]).stderr).unwrap();
    let command = format!("hopty conversations move --from '{}' --to .", gone.display());
    assert!(said().contains("the directory is gone") && said().contains(&command), "{}", said());
    assert!(
        !String::from_utf8_lossy(&world.hopty(&["conversations", "ls", "--all"]).stderr).contains("gone")
    );
    std::fs::create_dir(&gone).unwrap();
    assert!(!said().contains("gone"), "it is there: {}", said());
}

#[test]
fn a_reader_that_goes_away_ends_the_search_in_silence() {
    let (world, dir) = files();
    let many = prompt("/p", &"needle in a long line of hay ".repeat(20)).repeat(20_000);
    std::fs::write(dir.join(format!("{ID}.jsonl")), many).unwrap();
    let script =
        format!("'{}' conversations search needle | head -n 3; echo done", claude::hopty().display());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    let done = command.output().unwrap();
    let (out, err) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert_eq!((out.lines().count(), out.lines().last(), err.as_str()), (4, Some("done"), ""), "{out}");
}

#[test]
fn a_person_reads_through_a_pager() {
    let (world, dir) = files();
    let mut world = world;
    let project = world.project.to_str().unwrap().to_owned();
    let many: String = (1..=200).map(|n| prompt(&project, &format!("line number {n}"))).collect();
    std::fs::write(dir.join(format!("{ID}.jsonl")), many).unwrap();
    world.set("PAGER", "sed 's/^line number 200$/seen by the pager/'");
    let mut term = world.terminal(&["conversations", "show", &ID[..8]]);
    term.wait_text("seen by the pager");
    term.wait_exit();
    // One that does not read to the end is no failure.
    world.set("PAGER", "head -n 1");
    let mut term = world.terminal(&["conversations", "show", &ID[..8]]);
    term.wait_exit();
    assert!(term.lines().iter().all(|line| !line.contains("hopty:")), "{:?}", term.lines());
}
