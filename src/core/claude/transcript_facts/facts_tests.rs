//! Whole lines of a transcript, and what all the parts make of them.

use serde_json::json;

use super::tool_steps::ToolOutcome;
use super::{AnsweredQuestion, TranscriptFacts};
use crate::core::claude::prompts::PromptKind;
use crate::core::supervisor::limit_and_error_wait::ResumeAfter;

fn of(lines: &[String]) -> TranscriptFacts {
    let mut facts = TranscriptFacts::new();
    for line in lines {
        facts.feed(line.as_bytes());
    }
    assert_eq!(facts.counts(), (lines.len() as u64, 0));
    facts
}

fn prompt(text: &str) -> String {
    json!({"type": "user", "message": {"content": text}}).to_string()
}

fn said(facts: &TranscriptFacts) -> Vec<String> {
    facts.prompts.iter().map(|prompt| prompt.text.clone()).collect()
}

fn answer(id: &str, model: &str, fill: u64) -> String {
    let usage = json!({"input_tokens": 1, "cache_read_input_tokens": fill - 1, "output_tokens": 9});
    let message = json!({"id": id, "model": model, "usage": usage, "content": [],
        "stop_reason": "end_turn"});
    json!({"type": "assistant", "message": message}).to_string()
}

fn tool(id: &str, name: &str, input: serde_json::Value) -> String {
    let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    json!({"type": "assistant", "message": {"id": "m", "model": "m", "content": [call]}}).to_string()
}

fn result(id: &str, text: &str, is_error: bool, detail: serde_json::Value) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": text,
        "is_error": is_error});
    json!({"type": "user", "message": {"content": [block]}, "toolUseResult": detail}).to_string()
}

#[test]
fn a_command_of_the_persons_is_judged_by_its_output() {
    let facts = of(&[
        prompt("<bash-input>pytest -q tests</bash-input>"),
        prompt(
            "<bash-stdout>FAILED t.py::test_quote\n1 failed, 8 passed</bash-stdout><bash-stderr></bash-stderr>",
        ),
        prompt("<bash-input>tsc</bash-input>"),
        prompt("<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"),
        prompt("<bash-input>df /</bash-input>"),
        prompt("<bash-stdout>used\n91%</bash-stdout><bash-stderr></bash-stderr>"),
    ]);
    let checks: Vec<_> =
        facts.checks.iter().map(|one| (one.command.as_str(), one.verdict.outcome.word())).collect();
    assert_eq!(checks, [("pytest -q tests", "failed"), ("tsc", "unknown")]);
    assert_eq!(facts.shell_commands.iter().next_back().unwrap().line, "91%");
}

#[test]
fn esc_with_queued_prompts_stops_what_was_before_them() {
    let typed = |text: &str, source: &str| {
        json!({"type": "user", "message": {"content": text}, "promptSource": source,
            "origin": {"kind": "human"}})
        .to_string()
    };
    let stop = |message: &str| {
        json!({"type": "user", "interruptedMessageId": message, "message": {"content":
            [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}})
        .to_string()
    };
    let call = || tool("t1", "Bash", json!({"command": "npm run test:all"}));
    let refused = || result("t1", "The user doesn't want to proceed", true, "User rejected tool use".into());
    let marked = |facts: &TranscriptFacts| -> Vec<bool> {
        facts.prompts.iter().map(|prompt| prompt.interrupted).collect()
    };
    let mut lines = vec![typed("refactor it", "typed"), call(), typed("the second one", "queued")];
    lines.extend([typed("no network calls", "queued"), refused(), stop("m")]);
    let facts = of(&lines);
    assert_eq!(marked(&facts), [true, false, false]);
    assert!(facts.turn.awaits_answer() && !facts.turn_ended());
    let step = facts.tool_log.steps().next_back().unwrap();
    assert_eq!((step.about.as_str(), step.outcome), ("npm run test:all", ToolOutcome::Refused));
    // Stopped again, before Claude answered them.
    let twice = of(&[lines.clone(), vec![stop("m")]].concat());
    assert_eq!((marked(&twice), twice.turn_ended()), (vec![true, false, true], true));
    // Stopped after Claude had begun to answer them, or in another message.
    lines.push(answer("m2", "m", 10).replace("end_turn", "tool_use"));
    lines.push(stop("m2"));
    assert_eq!(marked(&of(&lines)), [true, false, true]);
    lines.truncate(5);
    lines.push(stop("other"));
    assert_eq!(marked(&of(&lines)), [false, false, true]);
    // Taken from the queue when the turn was over.
    let quiet = [typed("a", "typed"), answer("m", "m", 10), typed("b", "queued"), stop("m")];
    assert_eq!(marked(&of(&quiet)), [false, true]);
}

#[test]
fn a_prompt_may_begin_with_a_tag_and_have_a_selection() {
    let text = "<channel> has no <link>, add it, and set <ttl> to 15";
    let from = |kind: &str| {
        json!({"type": "user", "message": {"content": text}, "origin": {"kind": kind}}).to_string()
    };
    let selection = |kind: &str, from: u64| {
        json!({"parentUuid": "x", "attachment": {"type": kind, "filename": "/p/src/overlap.ts",
            "displayPath": "src/overlap.ts", "lineStart": from, "lineEnd": 163, "content": "x"},
            "type": "attachment"})
        .to_string()
    };
    let facts = of(&[
        from("channel"),
        prompt(text),
        from("human"),
        selection("opened_file_in_ide", 1),
        selection("selected_lines_in_ide", 141),
        answer("m", "m", 10),
        selection("selected_lines_in_ide", 7),
    ]);
    assert_eq!(said(&facts), [text]);
    let selected = facts.prompts.newest().unwrap().selected.clone();
    assert_eq!(selected.as_deref(), Some("src/overlap.ts:141-163"));
}

#[test]
fn a_chosen_option_carries_its_description() {
    let option = |label: &str, meaning: &str| json!({"label": label, "description": meaning});
    let questions = json!([
        {"question": "How to merge?", "options": [option("Strategy 1", "Last writer wins"),
            option("Strategy 2", &"Operation log with Lamport clocks. ".repeat(20))]},
        {"question": "Where?", "options": [option("Strategy 1", "In the cloud"), option("Here", "Here")]},
    ]);
    let choose = |merge: &str, place: &str| {
        let detail = json!({"answers": {"How to merge?": merge, "Where?": place}});
        let facts = of(&[
            tool("t", "AskUserQuestion", json!({"questions": questions})),
            result("t", "ok", false, detail),
        ]);
        facts.decisions.iter().map(|one| one.answer.clone()).collect::<Vec<_>>()
    };
    let told = choose("Strategy 2", "Here");
    assert!(told[0].starts_with("Strategy 2 (Operation log with Lamport clocks. ") && told[0].len() < 140);
    assert_eq!(told[1], "Here");
    assert_eq!(choose("Strategy 1", "Strategy 1")[1], "Strategy 1 (In the cloud)");
    assert_eq!(choose("neither", "Here")[0], "neither");
}

#[test]
fn words_in_a_dialog_are_the_persons() {
    let asked = tool(
        "t1",
        "AskUserQuestion",
        json!({"questions": [{"question": "Which linters?",
        "options": [{"label": "ruff"}]}]}),
    );
    let words = "only ruff. Line length 110, never 120.";
    let detail = json!({"answers": {}, "response": words});
    let compact = "<command-name>/compact</command-name>\n  <command-message>compact</command-message>\n  \
                   <command-args>keep port 8411</command-args>";
    let facts = of(&[
        prompt("choose linters"),
        asked,
        result("t1", &format!("The user responded: {words}"), false, detail),
        prompt(compact),
        prompt(&compact.replace("keep port 8411", "")),
    ]);
    assert_eq!(said(&facts), ["choose linters", words, "/compact keep port 8411"]);
    assert_eq!(facts.prompts.newest().unwrap().kind, PromptKind::Compact, "no rule for all work");
    assert_eq!(facts.decisions.iter().next().unwrap().answer, words);
}

#[test]
fn an_answer_is_to_the_prompt_above_it_and_to_no_note() {
    let end = json!({"type": "assistant", "message": {"id": "m1", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "The search takes 350 ms."}]}});
    let facts = of(&[
        prompt("how slow is it"),
        end.to_string(),
        prompt("<user-memory-input>always use tabs</user-memory-input>"),
        prompt("<command-name>/compact</command-name><command-args>keep the rules</command-args>"),
        prompt("now the map"),
    ]);
    let answer = facts.answers.earlier().next().unwrap();
    assert_eq!(
        (answer.prompt.as_str(), answer.text.as_str()),
        ("how slow is it", "The search takes 350 ms.")
    );
}

#[test]
fn the_fill_is_the_last_real_answer_of_the_main_chain() {
    let side = answer("m3", "m", 900).replacen('{', "{\"isSidechain\":true,", 1);
    let facts = of(&[answer("m1", "m", 50), answer("m1", "m", 70), answer("m2", "<synthetic>", 1), side]);
    assert_eq!(facts.window.last().unwrap().tokens, 70);
    assert_eq!(facts.window.last().unwrap().message_id, "m1");
}

#[test]
fn hoptys_own_prompt_to_go_on_is_nobodys_word() {
    let facts =
        of(&[prompt(ResumeAfter::Error.prompt()), prompt("build it"), prompt(ResumeAfter::Limit.prompt())]);
    assert_eq!(said(&facts), ["build it"]);
    assert_eq!(facts.exchanges.iter().count(), 1);
    assert!(!facts.turn_ended(), "and it is a prompt all the same");
}

#[test]
fn only_what_the_person_wrote_is_a_prompt() {
    let noise = [
        r#"{"type":"user","isMeta":true,"message":{"content":"caveat"}}"#.to_owned(),
        r#"{"type":"user","isCompactSummary":true,"message":{"content":"summary"}}"#.to_owned(),
        r#"{"type":"user","origin":{"kind":"auto-continuation"},"message":{"content":"go on"}}"#.to_owned(),
        prompt("<command-name>/model</command-name>"),
        prompt("<task-notification>\n<task-id>1</task-id>"),
        prompt(
            "Continue from handoff HO-20261120-142950-c74cc080.\nRead /r first. Then begin with \
             \"Continuing from handoff HO-20261120-142950-c74cc080.\" and go on with the next step.",
        ),
    ];
    assert_eq!(said(&of(&noise)), Vec::<String>::new());
    let mut lines = noise.to_vec();
    lines.push(prompt("\n\n<pasted_content id=\"1a\">\nBuild it\nwell\n</pasted_content id=\"1a\">\n"));
    lines.push(prompt("later"));
    assert_eq!(said(&of(&lines)), ["[pasted]\nBuild it\nwell\n[end of paste]", "later"]);
}

#[test]
fn a_handoff_is_answered_by_a_real_answer_after_its_prompt() {
    let id = "HO-20261120-142950-c74cc080".parse().unwrap();
    let text = crate::core::handoff::continuation_prompt::Continuation::with_brief(&id);
    let mut lines = vec![answer("m0", "m", 5), prompt(text.text())];
    assert!(of(&lines).proof.continued(&id) && !of(&lines).proof.answered(&id));
    lines.push(answer("m1", "<synthetic>", 5));
    assert!(!of(&lines).proof.answered(&id));
    lines.push(answer("m2", "m", 5));
    assert!(of(&lines).proof.answered(&id));
    assert!(!of(&lines).proof.answered(&"HO-20261120-142951-c74cc080".parse().unwrap()));
}

#[test]
fn an_answer_before_its_prompt_still_answers_it() {
    let id = "HO-20261120-142950-c74cc080".parse().unwrap();
    let text = crate::core::handoff::continuation_prompt::Continuation::with_brief(&id);
    let at = |line: String, at: &str| {
        line.replacen('{', &format!("{{\"timestamp\":\"2026-11-20T14:29:{at}Z\","), 1)
    };
    let swapped = of(&[at(answer("m1", "m", 5), "52.100"), at(prompt(text.text()), "52.000")]);
    assert!(swapped.proof.answered(&id) && swapped.turn_ended());
    let later = of(&[at(answer("m1", "m", 5), "52.100"), at(prompt(text.text()), "53.000")]);
    assert!(!later.proof.answered(&id) && !later.turn_ended());
    let second =
        [at(prompt("a"), "50.000"), at(answer("m1", "m", 5), "52.100"), at(prompt(text.text()), "52.000")];
    assert!(!of(&second).proof.answered(&id), "only the first lines of a file are written out of order");
}

#[test]
fn tools_count_when_their_answer_came() {
    let path = |p: &str| json!({"file_path": p});
    let none = serde_json::Value::Null;
    let facts = of(&[
        tool("1", "Write", path("/a")),
        tool("2", "Edit", path("/b")),
        tool("3", "Edit", path("/c")),
        tool("4", "Bash", json!({"command": "false", "description": "Fail"})),
        result("1", "ok", false, none.clone()),
        result("2", "<tool_use_error>refused</tool_use_error>", true, none.clone()),
        result("4", "Exit code 3\n\nno such file", true, none),
    ]);
    assert_eq!(facts.files.newest_first(), ["/a"]);
    let errors: Vec<_> = facts.tool_log.errors().map(|e| (e.tool.as_str(), e.line.as_str())).collect();
    assert_eq!(errors, [("Edit", "refused"), ("Bash", "Exit code 3: no such file")]);
    assert_eq!(facts.calls.open().len(), 1);
    assert_eq!(facts.calls.open()[0].input.path.as_deref(), Some("/c"));
}

#[test]
fn decisions_come_from_the_structured_answer_or_the_text() {
    let ask = json!({"questions": [{"question": "Which?", "options": []}]});
    let lines =
        |detail| of(&[tool("1", "AskUserQuestion", ask.clone()), result("1", "chose B", false, detail)]);
    let structured = lines(json!({"answers": {"Which?": "A"}}));
    assert_eq!(structured.decisions.iter().next().unwrap().answer, "A");
    let plain = lines(serde_json::Value::Null);
    assert_eq!(
        *plain.decisions.iter().next().unwrap(),
        AnsweredQuestion { question: "Which?".into(), answer: "chose B".into() }
    );
}

#[test]
fn plans_reports_and_the_persons_commands_are_read() {
    let plan = format!("# Plan\n{}", "1. a step\n".repeat(400));
    let note = |text: &str| {
        json!({"type": "user", "origin": {"kind": "task-notification"},
            "message": {"content": text}})
        .to_string()
    };
    let told = "<task-notification>\n<task-id>a1</task-id>\n<summary>Agent \"Look\" completed</summary>\n\
                <result>It is the index.</result>\n</task-notification>";
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "content": told}).to_string();
    let facts = of(&[
        prompt("plan it"),
        tool("1", "ExitPlanMode", json!({"plan": "an earlier form"})),
        result("1", "approved", false, json!({"plan": plan, "filePath": "/plans/a.md"})),
        queued,
        note(told),
        tool("2", "Task", json!({"description": "History"})),
        result("2", "Since commit 9f3c1ab7.", false, json!({"status": "completed"})),
        prompt("<bash-input>git checkout -b tide</bash-input>"),
        prompt("<bash-stdout>Switched</bash-stdout><bash-stderr></bash-stderr>"),
        prompt("<user-memory-input>always use metric units</user-memory-input>"),
    ]);
    let approved = facts.decisions.plan().unwrap();
    assert_eq!(
        (approved.text.as_str(), approved.file.as_deref(), approved.after),
        (plan.trim(), Some("/plans/a.md"), 1)
    );
    let reports: Vec<_> = facts.reports.iter().map(|one| (one.about.as_str(), one.text.as_str())).collect();
    assert_eq!(
        reports,
        [
            ("Agent \"Look\" completed", "It is the index."),
            ("Agent \"History\" completed", "Since commit 9f3c1ab7.")
        ]
    );
    assert_eq!(
        facts.shell_commands.iter().map(|one| one.command.as_str()).collect::<Vec<_>>(),
        ["git checkout -b tide"]
    );
    assert_eq!(said(&facts), ["plan it", "always use metric units"]);
    assert_eq!(facts.prompts.iter().last().unwrap().kind, PromptKind::Memory);
}

#[test]
fn five_hundred_tasks_hold() {
    let mut lines = Vec::new();
    for n in 1..=600 {
        let id = n.to_string();
        lines.push(tool(&id, "TaskCreate", json!({"subject": format!("task {n}")})));
        lines.push(result(&id, "", false, json!({"task": {"id": id, "subject": format!("task {n}")}})));
    }
    let facts = of(&lines);
    assert_eq!(facts.tasks.all().len(), 600);
    assert_eq!(facts.tasks.all()[599].id, "600");
}

#[test]
fn a_queued_prompt_of_the_person_counts_and_a_scheduled_one_does_not() {
    let queue = |operation: &str, text: &str| {
        json!({"type": "queue-operation", "operation": operation, "content": text}).to_string()
    };
    let schedules = tool("t", "CronCreate", json!({"cron": "* * * * *", "prompt": "c"}));
    let mut lines = vec![queue("enqueue", "a"), schedules, queue("enqueue", "c"), queue("enqueue", "d")];
    assert_eq!(of(&lines).queue.iter().collect::<Vec<_>>(), ["a", "d"]);
    lines.push(queue("remove", "a"));
    let facts = of(&lines);
    assert_eq!(facts.queue.iter().collect::<Vec<_>>(), ["d"]);
    assert_eq!((said(&facts), facts.exchanges.iter().next().unwrap().text.as_str()), (vec!["a".into()], "a"));
}

#[test]
fn steering_refusals_and_interrupts_are_the_persons_words() {
    let queue = |operation: &str, text: &str| {
        json!({"type": "queue-operation", "operation": operation, "content": text}).to_string()
    };
    let refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the \
                   user said:\nnot in vendor/";
    let stop =
        r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
    let facts = of(&[
        prompt("paint the fence"),
        queue("enqueue", "in green"),
        queue("remove", "in green"),
        tool("1", "Write", json!({"file_path": "/vendor/a"})),
        result("1", refused, true, json!("User rejected tool use")),
        tool("2", "mcp__x__y", json!({})),
        result("2", refused, true, json!(format!("Error: {refused}"))),
        prompt("then the gate"),
        stop.to_owned(),
        stop.to_owned(),
    ]);
    let all: Vec<_> = facts.prompts.iter().map(|p| (p.text.as_str(), p.kind, p.interrupted)).collect();
    assert_eq!(
        all,
        [
            ("paint the fence", PromptKind::Typed, false),
            ("in green", PromptKind::Steering, false),
            ("not in vendor/", PromptKind::Refusal, false),
            ("then the gate", PromptKind::Typed, true),
        ],
        "what a tool prints is nobody's word"
    );
    let refusal = facts.prompts.iter().nth(2).unwrap();
    assert!(refusal.asked.as_ref().unwrap().ends_with("refused: Write /vendor/a)"));
}

#[test]
fn the_reason_of_a_refusal_and_the_comment_of_an_approval_are_the_persons_words() {
    // The forms of 2.1.332.
    let quoted = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell \
                  you how to proceed, the user said:\nno, use mktemp";
    let bash = |id: &str| tool(id, "Bash", json!({"command": "rm -r tmp"}));
    let line = |id: &str, text: &str, rest: serde_json::Value| {
        let mut line: serde_json::Value =
            serde_json::from_str(&result(id, text, true, json!(format!("Error: {text}")))).unwrap();
        line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        line
    };
    let refusal = line(
        "1",
        quoted,
        json!({"toolDenialKind": "user-rejected", "userFeedback": "no, use mktemp",
            "permissionDecision": {"decision": "reject", "source": "user_reject"}}),
    );
    let by_a_hook = line(
        "2",
        quoted,
        json!({"toolDenialKind": "user-rejected", "userFeedback": "delete it all",
            "permissionDecision": {"decision": "reject", "source": "hook"}}),
    );
    let allowed = |id: &str, said: &str, source: &str| {
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": "ok"}, {"type": "text", "text": said}]},
            "toolUseResult": {"stdout": "ok"},
            "permissionDecision": {"decision": "accept", "source": source}})
        .to_string()
    };
    let facts = of(&[
        prompt("clean up"),
        bash("1"),
        refusal.to_string(),
        bash("2"),
        by_a_hook.to_string(),
        bash("3"),
        allowed("3", "yes but only between 01:00 and 05:00", "user_temporary"),
        bash("4"),
        allowed("4", "the tool was loaded", "config"),
        tool("5", "ExitPlanMode", json!({"plan": "1. split"})),
        allowed("5", "good but flag off by default", "user_temporary"),
        tool("6", "ExitPlanMode", json!({"plan": "1. split"})),
        refusal.to_string().replace("no, use mktemp", "audit wants 14 days").replace("\"1\"", "\"6\""),
    ]);
    let all: Vec<_> = facts.prompts.iter().map(|p| (p.text.as_str(), p.kind)).collect();
    assert_eq!(
        all,
        [
            ("clean up", PromptKind::Typed),
            ("no, use mktemp", PromptKind::Refusal),
            ("yes but only between 01:00 and 05:00", PromptKind::Approval),
            ("good but flag off by default", PromptKind::Approval),
            ("audit wants 14 days", PromptKind::Refusal),
        ]
    );
    let asked: Vec<_> = facts.prompts.iter().map(|p| p.asked.as_deref().unwrap_or_default()).collect();
    assert_eq!(
        asked[1..3],
        [
            "(a tool call that the person refused: Bash rm -r tmp)",
            "(a tool call that the person allowed: Bash rm -r tmp)"
        ]
    );
    assert_eq!(facts.tool_log.errors().count(), 1, "what the person refused is no error");
    assert_eq!(facts.decisions.iter().last().unwrap().answer, "refused: audit wants 14 days");
}

#[test]
fn a_custom_command_is_a_prompt_as_it_was_typed() {
    let command = |name: &str, args: &str| {
        prompt(&format!(
            "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n\
             <command-args>{args}</command-args>"
        ))
    };
    let facts = of(&[
        command("fix-issue", "4127 but leave <b>queue.go</b> alone"),
        r#"{"type":"user","isMeta":true,"message":{"content":[{"type":"text","text":"Fix the issue."}]}}"#
            .to_owned(),
        prompt("<command-message>tidy</command-message>\n<command-name>/tidy</command-name>"),
        prompt(
            "<command-name>/model</command-name>\n            <command-message>model</command-message>\n            <command-args>opus</command-args>",
        ),
        prompt(
            "<command-message>The \"pdf\" skill is loading</command-message>\n<command-name>pdf</command-name>",
        ),
        command("hopty-hooks:handoff", ""),
        command("hopty-hooks:resume-from", "docs/x.md"),
        command("mine", "x").replacen('{', "{\"isMeta\":true,", 1),
    ]);
    let text = "\n[pasted]\nFix the issue.\n[end of paste]";
    assert_eq!(
        said(&facts),
        [&format!("/fix-issue 4127 but leave <b>queue.go</b> alone{text}"), "/tidy"],
        "what the command says is told below it"
    );
    assert!(!facts.turn_ended());
    let facts = of(&[
        command("hopty-hooks:handoff", "the parser is next"),
        r#"{"type":"user","isMeta":true,"message":{"content":[{"type":"text","text":"End your turn."}]}}"#
            .to_owned(),
    ]);
    assert_eq!(said(&facts), ["the parser is next"], "hopty's own text is not the person's");
}

#[test]
fn what_was_chosen_or_written_as_an_answer_is_a_prompt_and_a_decision() {
    let ask = json!({"questions": [
        {"question": "Which runner?", "options": [{"label": "hosted"}, {"label": "own"}]},
        {"question": "Which linters?", "options": [{"label": "ruff"}, {"label": "mypy"}]},
        {"question": "When?", "options": [{"label": "on tag"}, {"label": "nightly"}]},
        {"question": "What name?", "options": [{"label": "fw.bin"}]}]});
    let detail = json!({
        "answers": {"Which runner?": "own", "Which linters?": "ruff, mypy",
            "When?": "on tag, but ask Henrik first", "What name?": "fw.bin"},
        "annotations": {"What name?": {"notes": "append the revision"}, "When?": {"notes": null}}});
    let facts = of(&[tool("1", "AskUserQuestion", ask), result("1", "ok", false, detail)]);
    let all: Vec<_> =
        facts.prompts.iter().map(|p| (p.text.as_str(), p.kind, p.asked.as_deref().unwrap())).collect();
    assert_eq!(
        all,
        [
            ("fw.bin (note: append the revision)", PromptKind::Answer, "What name?"),
            ("on tag, but ask Henrik first", PromptKind::Answer, "When?"),
            ("ruff, mypy", PromptKind::Answer, "Which linters?"),
            ("own", PromptKind::Answer, "Which runner?"),
        ]
    );
    assert_eq!(facts.decisions.iter().count(), 4);
}

#[test]
fn what_the_person_wrote_instead_of_answers_is_theirs_and_claudes_frame_is_not() {
    let why = "The user wants to clarify these questions.\n    Start by asking them what they would like \
               to clarify.\n\n    Questions asked:\n- \"Which?\"\n  Answer: neither, see the \
               notes\n- \"When?\"\n  (No answer provided)";
    let mut line: serde_json::Value =
        serde_json::from_str(&result("1", why, true, serde_json::Value::Null)).unwrap();
    line["toolDenialKind"] = "user-rejected".into();
    line["userFeedback"] = why.into();
    let facts = of(&[tool("1", "AskUserQuestion", json!({})), line.to_string()]);
    assert_eq!(said(&facts), ["Which? neither, see the notes"]);
    assert_eq!(facts.decisions.iter().next().unwrap().answer, "refused: Which? neither, see the notes");
}

#[test]
fn an_abandoned_branch_is_forgotten() {
    let at = |line: String, uuid: &str, parent: &str| {
        line.replacen('{', &format!("{{\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\","), 1)
    };
    let say = |id: &str, text: &str| {
        let block = json!({"type": "text", "text": text});
        json!({"type": "assistant", "message": {"id": id, "model": "m", "content": [block]}}).to_string()
    };
    let ask = json!({"questions": [{"question": "Which Oracle?", "options": []}]});
    let mut lines = vec![
        at(prompt("write the calculator"), "u1", "p0"),
        say("m1", "The calculator is there."),
        at(prompt("replace Postgres by Oracle"), "u2", "p1"),
        tool("1", "TaskCreate", json!({"subject": "Oracle"})),
        result("1", "ok", false, json!({"task": {"id": "1", "subject": "Oracle"}})),
        tool("2", "Write", json!({"file_path": "/oracle.py"})),
        result("2", "ok", false, serde_json::Value::Null),
        tool("3", "AskUserQuestion", ask),
        result("3", "ok", false, json!({"answers": {"Which Oracle?": "23ai"}})),
        say("m2", "I'll use Oracle 23ai because you chose it."),
        at(prompt("and deploy it"), "u3", "p2"),
    ];
    let whole = of(&lines);
    assert_eq!(said(&whole).len(), 4);
    let same_line = of(&[lines.clone(), vec![lines[2].clone()]].concat());
    assert_eq!(said(&same_line).len(), 5, "a line that stands twice is no way back");
    lines.push(at(prompt("add the winter tariff"), "u4", "p1"));
    let facts = of(&lines);
    assert_eq!(said(&facts), ["write the calculator", "add the winter tariff"]);
    assert_eq!(
        (facts.decisions.iter().count(), facts.answers.stated().count(), facts.tasks.all().len()),
        (0, 0, 0)
    );
    assert_eq!(facts.answers.last().text, "The calculator is there.");
    assert_eq!(facts.files.newest_first(), ["/oracle.py"], "what was written stays");
    let recent: Vec<_> = facts.exchanges.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(recent, ["write the calculator", "The calculator is there.", "add the winter tariff"]);
    // Back again, and then to the beginning.
    lines.push(at(prompt("add the summer tariff"), "u5", "p1"));
    assert_eq!(said(&of(&lines)), ["write the calculator", "add the summer tariff"]);
    lines.push(at(prompt("write a poem"), "u6", "p0"));
    assert_eq!(said(&of(&lines)), ["write a poem"]);
}

#[test]
fn the_last_answer_reads_and_decisions_are_collected() {
    let say = |id: &str, text: &str| {
        let block = json!({"type": "text", "text": text});
        json!({"type": "assistant", "message": {"id": id, "model": "m", "content": [block]}}).to_string()
    };
    let alone = r#"{"type":"user","message":{"content":[{"type":"image","source":{}}]}}"#;
    assert_eq!(of(&[alone.to_owned()]).prompts.newest().map(|prompt| prompt.images), Some(1));
    let image = r#"{"type":"user","message":{"content":[{"type":"image","source":{}},{"type":"text","text":"like this"}]}}"#;
    let facts = of(&[
        say("m1", "first"),
        say("m2", "I'll use one loop because it is shorter."),
        say("m2", "And go on."),
        tool("1", "Read", json!({"file_path": "/a", "offset": 3, "limit": 2})),
        result("1", "text", false, serde_json::Value::Null),
        image.to_owned(),
    ]);
    let last = facts.answers.last();
    assert_eq!(last.text, "I'll use one loop because it is shorter.\nAnd go on.");
    assert!(last.replied);
    assert_eq!(facts.files_read.newest_first().next().unwrap().ranges, [(3, 4)]);
    assert_eq!(facts.answers.stated().count(), 1);
    assert_eq!(facts.prompts.iter().next().unwrap().images, 1);
    let place = r#"{"type":"user","isMeta":true,"turnCompanion":true,"message":{"content":[{"type":"text","text":"[Image: source: /p/shot.png]"}]}}"#;
    let facts = of(&[image.to_owned(), place.to_owned(), say("m3", "I see it."), place.replace("shot", "x")]);
    assert_eq!(facts.prompts.newest().unwrap().image_files, ["/p/shot.png"]);
}

const ASK: &str = r#"{"type":"assistant","message":{"id":"m1","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#;
const ANSWER: &str =
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
const END: &str = r#"{"type":"assistant","message":{"id":"m2","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"done"}]}}"#;

fn of_lines(lines: &[&str]) -> TranscriptFacts {
    of(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
}

#[test]
fn a_turn_ends_with_its_last_message_and_its_last_tool() {
    assert!(!of_lines(&[ASK]).turn_ended());
    assert!(!of_lines(&[ASK, ANSWER]).turn_ended());
    assert!(of_lines(&[ASK, ANSWER, END]).turn_ended());
    assert!(!of_lines(&[ASK, END]).turn_ended(), "t1 is still open");
    let next = r#"{"type":"user","message":{"content":"next"}}"#;
    assert!(!of_lines(&[ASK, ANSWER, END, next]).turn_ended());
    let stopped =
        r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
    assert!(of_lines(&[ASK, stopped]).turn_ended());
}

#[test]
fn no_request_fails_while_a_tool_is_open() {
    let limit = r#"{"type":"assistant","error":"rate_limit","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"You've hit your limit"}]}}"#;
    let (planted, real) = (of_lines(&[ASK, limit]), of_lines(&[ASK, ANSWER, limit]));
    assert!(planted.turn.failure().is_some() && planted.failure_of_request().is_none());
    assert_eq!(real.failure_of_request(), real.turn.failure());
    assert!(real.turn.failure().is_some());
    assert!(of_lines(&[ASK, limit, ANSWER]).failure_of_request().is_some(), "the result may be written late");
}
