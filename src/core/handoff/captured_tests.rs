//! What a handoff says of transcripts in the shapes that Claude writes, and what becomes of it over many
//! hand-overs.

use serde_json::{Value, json};

use super::brief::{BriefFiles, Budget, brief};
use super::capture::{Capture, GitState, Lists};
use super::continuation_prompt::Continuation;
use super::document::Document;
use super::document::tests::capture as made;
use super::safe_prompts::Words;
use super::sections::{Section, next_steps};
use super::state_json::HandoffState;
use crate::core::claude::transcript_facts::{AnsweredQuestion, TranscriptFacts};
use crate::core::config::Handoff;
use crate::core::time::WallTime;

fn prompt(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}, "origin": {"kind": "human"},
        "promptSource": "typed"})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "assistant", "message": {"id": "m", "model": "m", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}})
}

fn answer(id: &str, text: &str, detail: Value) -> Value {
    json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id,
        "content": text}]}, "toolUseResult": detail})
}

fn failed(id: &str, text: &str) -> Value {
    json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id,
        "content": text, "is_error": true}]},
        "toolUseResult": format!("Error: {text}")})
}

fn said(id: &str, text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": id, "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}]}})
}

fn facts(lines: &[Value]) -> TranscriptFacts {
    let mut facts = TranscriptFacts::new();
    lines.iter().for_each(|line| facts.feed(line.to_string().as_bytes()));
    assert_eq!(facts.counts().1, 0);
    facts
}

/// The brief of what was captured, with its record in `records`.
fn shown_in(capture: &Capture, records: &str) -> String {
    let places = BriefFiles::of(capture, records, &capture.id(), true);
    brief(capture, &Words::of(capture), &places, Budget::default())
}

fn shown(capture: &Capture) -> String {
    shown_in(capture, "/r")
}

fn captured(lines: &[Value]) -> Capture {
    Capture::new(made("").origin, &facts(lines))
}

/// A conversation with something of everything.
fn busy() -> Vec<Value> {
    vec![
        prompt("Make the parser fast"),
        call("1", "TaskCreate", json!({"subject": "Measure", "description": "d"})),
        answer(
            "1",
            "Task #1 created successfully: Measure",
            json!({"task": {"id": "1", "subject": "Measure"}}),
        ),
        call("2", "TaskCreate", json!({"subject": "Make it fast", "description": "d"})),
        answer("2", "Task #2 created successfully", json!({"task": {"id": "2", "subject": "Make it fast"}})),
        call("3", "TaskUpdate", json!({"taskId": "1", "status": "completed"})),
        answer(
            "3",
            "Updated task #1 status",
            json!({"success": true, "taskId": "1", "statusChange": {"from": "pending", "to": "completed"}}),
        ),
        call("4", "TaskUpdate", json!({"taskId": "2", "status": "in_progress"})),
        answer(
            "4",
            "Updated",
            json!({"success": true, "taskId": "2", "statusChange": {"from": "pending", "to": "in_progress"}}),
        ),
        call("5", "Write", json!({"file_path": "/p/bench.rs", "content": "x"})),
        answer(
            "5",
            "File created successfully at: /p/bench.rs",
            json!({"type": "create", "filePath": "/p/bench.rs", "structuredPatch": []}),
        ),
        call("6", "Edit", json!({"file_path": "/p/parser.rs", "old_string": "a", "new_string": "b"})),
        answer(
            "6",
            "The file /p/parser.rs has been updated.",
            json!({"filePath": "/p/parser.rs", "structuredPatch": []}),
        ),
        call("7", "NotebookEdit", json!({"notebook_path": "/p/n.ipynb", "new_source": "x"})),
        answer("7", "Updated cell", Value::Null),
        call("8", "AskUserQuestion", json!({"questions": [{"question": "Which corpus?", "options": []}]})),
        answer("8", "ok", json!({"questions": [], "answers": {"Which corpus?": "the large one"}})),
        call("9", "ExitPlanMode", json!({"plan": "1. measure 2. improve"})),
        answer(
            "9",
            "User has approved your plan.",
            json!({"plan": "1. measure 2. improve", "isAgent": false}),
        ),
        call("10", "Bash", json!({"command": "cargo test -q", "description": "Run the tests"})),
        answer(
            "10",
            "test result: ok",
            json!({"stdout": "test result: ok", "stderr": "", "interrupted": false}),
        ),
        call("11", "Bash", json!({"command": "cargo clippy", "description": "Lint"})),
        failed("11", "Exit code 101\nerror: unused"),
        call("12", "Bash", json!({"command": "cargo clippy", "description": "Lint"})),
        failed("12", "Exit code 101\nerror: unused"),
        call("13", "Bash", json!({"command": "./serve", "description": "Serve", "run_in_background": true})),
        answer(
            "13",
            "Command running in background with ID: b1x. Output is being written to: /run/u/b1x.output",
            json!({"stdout": "", "stderr": "", "backgroundTaskId": "b1x"}),
        ),
        call(
            "14",
            "Agent",
            json!({"description": "Look for slow code", "prompt": "look", "subagent_type": "Explore"}),
        ),
        answer(
            "14",
            "Async agent launched",
            json!({"isAsync": true, "status": "async_launched", "agentId": "a77",
                "description": "Look for slow code", "outputFile": "/run/u/a77.output"}),
        ),
        call("15", "AskUserQuestion", json!({"questions": [{"question": "Break the API?", "options": []}]})),
    ]
}

#[test]
fn item_091_the_checkpoint_has_every_field() {
    let mut capture = captured(&busy());
    capture.git = Some(GitState {
        staged: b"diff --git a/x b/x\n+password=hunter22\n".to_vec(),
        ..GitState::default()
    });
    capture.situation.permission_mode = Some("plan".into());
    capture.situation.tokens = Some(82_000);
    capture.summary = Some("The parser is half as slow.".into());
    let state: Value = serde_json::from_str(&HandoffState::of(&capture).render()).unwrap();
    let checkpoint = &state["checkpoint"];
    for (field, expected) in [
        ("id", json!("chk-20261120-142950")),
        ("reason", json!("handoff")),
        ("created_at", json!("2026-11-20T14:29:50Z")),
        ("task_id", json!("2")),
        ("task_input", json!("Make the parser fast")),
        ("mode", json!("plan")),
        ("current_phase", json!(1)),
        ("total_phases", json!(2)),
        ("completed_phases", json!(["Measure"])),
        ("files_created", json!(["/p/bench.rs"])),
        ("files_modified", json!(["/p/n.ipynb", "/p/parser.rs"])),
        ("git_diff", json!("diff --git a/x b/x\n+password=[redacted: password]\n")),
        ("context_summary", json!("The parser is half as slow.")),
        ("tokens_used", json!(82_000)),
        ("evidence", json!(["failed: cargo clippy", "passed: cargo test -q"])),
        ("can_resume", json!(true)),
    ] {
        assert_eq!(checkpoint[field], expected, "{field}");
    }
    assert_eq!(
        checkpoint["decisions"][0],
        json!({"question": "Is this plan approved?", "answer": "approved: 1. measure 2. improve"})
    );
    assert!(checkpoint["resume_instructions"].as_str().unwrap().contains("Finish: Make it fast\n"));
    let mut many = captured(&busy());
    many.decisions = (0..40)
        .map(|n| AnsweredQuestion { question: format!("Q{n}?"), ..many.decisions[0].clone() })
        .collect();
    let kept: Vec<String> =
        HandoffState::of(&many).checkpoint.decisions.into_iter().map(|one| one.question).collect();
    assert_eq!(
        kept,
        (30..40).rev().map(|n| format!("Q{n}?")).collect::<Vec<_>>(),
        "the last ten, the newest first"
    );
    many.lists = Lists::of(&Handoff { decisions: 3, gotchas: 0, ..Handoff::default() });
    assert_eq!(HandoffState::of(&many).checkpoint.decisions.len(), 3);
    assert!(!Section::Errors.body(&many).contains("Known gotchas"));
}

#[test]
fn to_dos_are_known_by_their_numbers_over_a_chain() {
    use crate::core::claude::tasks::{Task, TaskStatus};
    let mut first = super::document::tests::capture("x");
    let task = |id: &str, subject: &str, status| Task {
        after: Vec::new(),
        id: id.into(),
        subject: subject.into(),
        status,
    };
    first.tasks.list = vec![
        task("2", "Paint the gate", TaskStatus::Pending),
        task("3", "Oil the hinge", TaskStatus::Pending),
        task("4", "Done", TaskStatus::Completed),
    ];
    let state: HandoffState = serde_json::from_str(&HandoffState::of(&first).render()).unwrap();
    let mut next = super::document::tests::capture("x");
    next.tasks.list = vec![task("2", "task 2", TaskStatus::InProgress)];
    state.pass_on(&mut next);
    let told: Vec<_> = next.tasks.list.iter().map(|task| (task.subject.as_str(), task.status)).collect();
    assert_eq!(told, [("Paint the gate", TaskStatus::InProgress), ("Oil the hinge", TaskStatus::Pending)]);
    let mut own = super::document::tests::capture("x");
    own.tasks.list = vec![
        task("1", "A list of its own", TaskStatus::Pending),
        task("2", "Oil the hinge", TaskStatus::Completed),
    ];
    state.pass_on(&mut own);
    let told: Vec<_> = own.tasks.list.iter().map(|task| (task.id.as_str(), task.subject.as_str())).collect();
    assert_eq!(told, [("1", "A list of its own"), ("2", "Oil the hinge"), ("", "Paint the gate")]);
    assert!(own.tasks.old.contains("Paint the gate") && own.tasks.old.len() == 1);
}

#[test]
fn decisions_outlive_a_chain_that_makes_more_than_a_document_tells() {
    let mut first = captured(&busy());
    first.decisions =
        (0..30).map(|n| AnsweredQuestion { question: format!("Q{n}?"), answer: "yes".into() }).collect();
    let mut next = super::document::tests::capture("x");
    HandoffState::of(&first).pass_on(&mut next);
    let mut third = super::document::tests::capture("x");
    HandoffState::of(&next).pass_on(&mut third);
    assert_eq!(third.decisions, first.decisions);
}

#[test]
fn a_plan_is_in_hand_until_other_work_is_set_also_over_a_chain() {
    let mut first = captured(&busy());
    assert!(first.plans.approved.as_ref().unwrap().is_current);
    first.plans.approved.as_mut().unwrap().text = "1. measure\n2. improve".into();
    let state = HandoffState::of(&first);
    let next = |prompt: &str| {
        let mut next = super::document::tests::capture("x");
        next.prompts.here[0].text = prompt.to_owned();
        state.pass_on(&mut next);
        next.plans.approved
    };
    let plan = next("go on").unwrap();
    assert_eq!((plan.text.as_str(), plan.is_current), ("1. measure\n2. improve", true));
    let other = "now write a changelog for version three, with one line for each change that its readers see";
    let plan = next(other).unwrap();
    assert_eq!((plan.text.as_str(), plan.is_current), ("1. measure\n2. improve", false));
    first.plans.approved.as_mut().unwrap().is_current = false;
    let mut last = super::document::tests::capture("go on");
    HandoffState::of(&first).pass_on(&mut last);
    assert_eq!(
        last.plans.approved.map(|plan| plan.is_current),
        Some(false),
        "it is known, and not in hand again"
    );
}

#[test]
fn a_plan_and_to_dos_are_told_to_be_older_than_what_was_said_since() {
    let mut lines = busy();
    let first = captured(&lines);
    assert!(!first.tasks.said_since && !first.plans.approved.as_ref().unwrap().said_since);
    lines.extend([said("m1", "Step 1 is begun."), prompt("scrap that, we keep the old parser")]);
    let next = captured(&lines);
    assert!(
        next.plans.approved.as_ref().unwrap().said_since && next.plans.approved.as_ref().unwrap().is_current
    );
    assert!(!next.tasks.said_since, "Claude has not answered yet");
    lines.extend([said("m2", "The old parser is as it was."), prompt("ok")]);
    let last = captured(&lines);
    assert!(last.tasks.said_since);
    let mut after = super::document::tests::capture("go on");
    after.prompts.here.clear();
    HandoffState::of(&last).pass_on(&mut after);
    assert!(after.plans.approved.unwrap().said_since, "also over a hand-over");
}

#[test]
fn item_092_the_summary_says_where_the_work_stands() {
    let mut capture = captured(&busy());
    capture.situation.permission_mode = Some("plan".into());
    let state = Section::State.body(&capture);
    assert!(
        Section::Goal.body(&capture).contains("Make the parser fast")
            && state.contains("- Permission mode: plan\n")
    );
    assert!(Section::NextSteps.body(&capture).contains("Finish: Make it fast\n"));
    assert!(Section::Todos.body(&capture).contains("Done, not to be done again:\n\n- Measure\n"));
    for line in [
        "- Progress: 1 of 2 tasks done\n",
        "- Verified: passed: cargo test -q (exit code 0)\n",
        "- Handoff: ready\n",
        "id b1x",
    ] {
        assert!(state.contains(line), "{line} in {state}");
    }
    assert!(
        Section::Errors
            .body(&capture)
            .starts_with("Known gotchas:\n\n- 2 times: Bash: Exit code 101: error: unused\n")
    );
    assert!(Section::Files.body(&capture).starts_with(
        "3 files written, newest first:\n\n- /p/n.ipynb\n- /p/parser.rs\n- /p/bench.rs (new)\n"
    ));
    let mut many = captured(&busy());
    many.decisions = (0..20)
        .map(|n| AnsweredQuestion { question: format!("Which corpus? {n}"), answer: "it".into() })
        .collect();
    let document = Document::of(&many);
    let count = |text: &str| text.matches("Which corpus?").count();
    assert_eq!(count(&document.render()), 10, "the record has ten decisions");
}

#[test]
fn what_was_done_last_stands_between_what_was_said_with_its_outcome() {
    let mut lines = vec![prompt("Make the parser fast"), said("m0", "I look at it first.")];
    let mut call_and = |n: usize, name: &str, input: Value, result: Value| {
        let id = format!("s{n}");
        lines.push(call(&id, name, input));
        let mut result = result;
        result["message"]["content"][0]["tool_use_id"] = json!(id);
        lines.push(result);
    };
    let ok = |text: &str| answer("", text, Value::Null);
    call_and(0, "Grep", json!({"pattern": "fn parse"}), ok("Found 3 files"));
    call_and(1, "Read", json!({"file_path": "/p/parser.rs"}), ok("     1\tfn parse() {"));
    for n in 2..5 {
        let command = json!({"command": "cargo test -q", "description": "Run the tests"});
        call_and(n, "Bash", command, failed("", "Exit code 101\ntest a ... FAILED"));
    }
    call_and(9, "TaskUpdate", json!({"taskId": "1", "status": "completed"}), ok("Updated task #1 status"));
    call_and(5, "Edit", json!({"file_path": "/p/parser.rs"}), ok("The file /p/parser.rs has been updated."));
    let login = json!({"command": "curl -u me:Tr0ub4dor3xyz https://h/x"});
    call_and(6, "Bash", login, ok("warming up\npassword=hunter22\n``` and\nall 12 passed \u{1b}[0m\n\n"));
    lines.push(said("m9", "Now it passes."));
    let capture = captured(&lines);
    let expected = "```text\nPERSON: Make the parser fast\n\nCLAUDE: I look at it first.\n\n  Grep: fn parse \
                    -> ok\n  \
         Read: /p/parser.rs -> ok\n  Bash: cargo test -q -> failed: Exit code 101: test a ... FAILED (3 \
         times)\n  \
         TaskUpdate: #1 completed -> ok\n  Edit: /p/parser.rs -> ok\n  Bash: curl -u me:[redacted: password] \
         https://h/x -> ok: all 12 passed\n\n\
         CLAUDE: Now it passes.\n```\n";
    assert_eq!(Section::RecentActivity.body(&capture), expected);
    let tools = HandoffState::of(&capture).context.recent_tools;
    assert_eq!(
        (tools.len(), tools[0].as_str(), tools[6].as_str()),
        (8, "Grep: fn parse -> ok", "Edit: /p/parser.rs -> ok")
    );
    // However long the loop: the last twenty, each bounded.
    for n in 100..400 {
        let command = json!({"command": format!("step-{n} {}", "x".repeat(9000))});
        lines.push(call(&format!("s{n}"), "Bash", command));
        lines.push(answer(&format!("s{n}"), &"y ".repeat(9000), Value::Null));
    }
    let text = Section::RecentActivity.body(&captured(&lines));
    assert!(
        text.ends_with(" y ...\n```\n") && text.contains("step-380 ") && !text.contains("step-379 "),
        "{text}"
    );
    assert!(text.len() < 8000, "{}", text.len());
}

#[test]
fn item_055_what_the_template_asks_for_is_there() {
    let capture = captured(&busy());
    let text = Document::of(&capture).render();
    for part in [
        "## Goal\n",
        "Make the parser fast",
        "Progress: 1 of 2",
        "- /p/n.ipynb\n",
        "## Next Steps\n",
        "./serve (Serve) (id b1x, output in /run/u/b1x.output)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(
        next_steps(&capture).iter().any(|step| step.ends_with("again if it still matters: Break the API?"))
    );
}

#[test]
fn item_110_the_state_has_the_named_fields() {
    let mut capture = captured(&busy());
    capture.git = Some(GitState {
        branch: Some("main".into()),
        changed: vec![(".M".into(), "a".into())],
        ..GitState::default()
    });
    let state: Value = serde_json::from_str(&HandoffState::of(&capture).render()).unwrap();
    assert_eq!(state["version"], "2.0");
    for field in ["created_at", "project_dir", "transcript_path"] {
        assert!(state[field].is_string(), "{field}");
    }
    let context = &state["context"];
    assert!(context["current_objective"].is_string() && context["progress_summary"].is_string());
    for field in ["active_todos", "recent_decisions", "key_files_modified", "next_steps"] {
        assert!(context[field].is_array(), "{field}");
    }
    assert_eq!(state["git"]["branch"], "main");
    assert_eq!(state["git"]["modified_files"], json!([".M a"]));
}

#[test]
fn item_111_the_rules_hold_for_todos_files_messages_and_objective() {
    let mut lines = vec![
        json!({"type": "user", "isMeta": true, "message": {"content": "not a person's"}}),
        prompt("hi"),
        call(
            "t",
            "TodoWrite",
            json!({"todos": [
            {"content": "done", "status": "completed", "activeForm": "x"},
            {"content": "now", "status": "in_progress", "activeForm": "x"},
            {"content": "later", "status": "pending", "activeForm": "x"}]}),
        ),
        answer("t", "Todos have been modified", json!({"oldTodos": [], "newTodos": []})),
    ];
    for n in 0..15 {
        let (id, path) = (format!("e{n}"), format!("/p/{n}.rs"));
        lines.push(call(&id, "MultiEdit", json!({"file_path": path, "edits": []})));
        lines.push(answer(&id, "ok", Value::Null));
        lines.push(said(&format!("s{n}"), &"long ".repeat(300)));
    }
    lines.push(prompt(&format!("The work. {}", "word ".repeat(100))));
    lines.push(prompt("thanks"));
    let context = HandoffState::of(&captured(&lines)).context;
    let todos: Vec<_> =
        context.active_todos.iter().map(|todo| (todo.content.as_str(), todo.status.as_str())).collect();
    assert_eq!(todos, [("now", "in_progress"), ("later", "pending")]);
    assert_eq!((context.key_files_modified.len(), context.key_files_modified[0].as_str()), (10, "/p/14.rs"));
    assert_eq!(context.recent_messages.len(), 10);
    assert!(context.recent_messages.iter().all(|message| message.text.chars().count() <= 503));
    assert!(
        context.current_objective.starts_with("The work. word")
            && context.current_objective.chars().count() == 203
    );
}

#[test]
fn item_112_the_document_lists_objective_todos_files_and_git() {
    let mut capture = captured(&busy());
    capture.git = Some(GitState {
        branch: Some("main".into()),
        changed: vec![("M.".into(), "a b".into())],
        ..GitState::default()
    });
    let text = Document::of(&capture).render();
    for part in [
        "## Goal\n\n```text\nMake the parser fast\n",
        "- [in_progress] #2 Make it fast\n",
        "- /p/parser.rs\n",
        "- Branch: main\n",
        "- M. a b\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn item_113_the_new_conversation_is_told_objective_todos_and_files() {
    let text = shown(&captured(&busy()));
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(
        at("> Make the parser fast") < at("to do: #2 Make it fast (in progress)")
            && at("to do: #2") < at("/p/parser.rs")
    );
    assert!(at("1 of 2 to-dos are done") > 0 && !text.contains("Measure"), "what is finished is a count");
}

#[test]
fn what_was_told_to_have_ended_runs_no_more() {
    let mut lines = busy();
    let told = |id: &str| {
        format!(
            "<task-notification>\n<task-id>{id}</task-id>\n<status>completed</status>\n</task-notification>"
        )
    };
    lines.push(json!({"type": "queue-operation", "operation": "enqueue", "content": told("a77")}));
    let capture = captured(&lines);
    assert_eq!(capture.situation.background, ["./serve (Serve) (id b1x, output in /run/u/b1x.output)"]);
    lines.push(call("k", "TaskStop", json!({"task_id": "b1x"})));
    lines.push(answer("k", "Successfully stopped task: b1x (./serve)", Value::Null));
    assert!(captured(&lines).situation.background.is_empty());
}

#[test]
fn a_plan_that_was_refused_is_a_decision_too() {
    let lines = [
        call("1", "ExitPlanMode", json!({"plan": "p"})),
        failed("1", "The user doesn't want to proceed with this tool use."),
    ];
    let capture = captured(&lines);
    assert!(capture.errors.is_empty());
    assert!(capture.decisions[0].answer.starts_with("refused: The user doesn't want"));
    let waiting = captured(&lines[..1]);
    assert_eq!(waiting.situation.asked, ["a plan waits for approval: p"]);
    assert!(waiting.situation.open_tools.is_empty());
}

#[test]
fn what_is_shown_is_redacted_wherever_it_comes_from() {
    let secret = format!("gh{}{}", "p_", "Ab3xYz9QwK7LmN2pRs5TuV8");
    let mut capture = captured(&[
        prompt(&format!("Use {secret}")),
        call("1", "Write", json!({"file_path": format!("/p/{secret}/x")})),
        answer("1", "ok", Value::Null),
        call("2", "Bash", json!({"command": format!("cargo test --token {secret}")})),
        failed("2", &format!("denied {secret}")),
        call("3", "TaskCreate", json!({"subject": format!("rotate {secret}")})),
        answer("3", "Task #1 created", Value::Null),
        call("4", "AskUserQuestion", json!({"questions": [{"question": format!("keep {secret}?")}]})),
        answer("4", &format!("yes {secret}"), Value::Null),
        call("5", "Bash", json!({"command": format!("curl -H 'X: {secret}'")})),
        said("x", &format!("I used {secret}")),
    ]);
    capture.origin.working_dir = format!("/home/{secret}");
    capture.origin.transcript = format!("/home/{secret}/t.jsonl");
    capture.situation.draft = Some(secret.clone());
    capture.situation.queued = vec![secret.clone()];
    capture.situation.reason = format!("because {secret}");
    capture.situation.model = Some(secret.clone());
    capture.situation.failure = Some(secret.clone());
    capture.summary = Some(format!("done with {secret}"));
    capture.git = Some(GitState {
        branch: Some(secret.clone()),
        upstream: Some(secret.clone()),
        changed: vec![(".M".into(), secret.clone())],
        stat: format!(" {secret} | 2 +-\n"),
        staged: format!("+{secret}\n").into_bytes(),
        unstaged: format!("-{secret}\n").into_bytes(),
        notes: vec![secret.clone()],
        ..GitState::default()
    });
    let document = Document::of(&capture);
    for text in
        [document.render(), shown_in(&capture, &format!("/r/{secret}")), HandoffState::of(&capture).render()]
    {
        assert!(text.contains("[redacted: GitHub token]") && !text.contains(&secret), "{text}");
    }
}

#[test]
fn twenty_hand_overs_in_a_row_keep_the_goal_and_do_not_grow() {
    let goal = format!("Port the engine.\n{}all", "Every detail of it counts. ".repeat(40));
    let mut sizes = Vec::new();
    let mut before: Option<(HandoffState, String)> = None;
    for n in 0..20_i64 {
        let mut capture = made("");
        capture.origin.created_at = WallTime(capture.origin.created_at.0 + n * 60_000);
        let mut lines = Vec::new();
        match &before {
            None => lines.push(prompt(&goal)),
            Some((state, shown)) => {
                // What Claude writes of the brief, and the prompt that names it.
                lines.push(json!({"type": "attachment", "attachment": {"type": "hook_additional_context",
                    "content": [shown]}}));
                lines.push(prompt(Continuation::with_brief(&state.id).text()));
                lines.push(said("c", &format!("Continuing from handoff {}. {shown}", state.id)));
                capture.origin.predecessor = Some(state.id.clone());
            }
        }
        lines.push(call("t", "TaskCreate", json!({"subject": format!("part {n}")})));
        lines.push(answer(
            "t",
            "Task",
            json!({"task": {"id": n.to_string(), "subject": format!("part {n}")}}),
        ));
        lines.push(call("u", "TaskUpdate", json!({"taskId": n.to_string(), "status": "completed"})));
        lines.push(answer("u", "ok", json!({"taskId": n.to_string(), "statusChange": {"to": "completed"}})));
        lines.push(call("w", "Write", json!({"file_path": format!("/p/part_{n:02}.rs")})));
        lines.push(answer("w", "ok", json!({"type": "create"})));
        let mut next = Capture::new(capture.origin, &facts(&lines));
        if let Some((state, _)) = &before {
            assert_eq!(next.goal, None, "nothing of the brief is taken for a prompt");
            state.pass_on(&mut next);
        }
        let (state, document) = (HandoffState::of(&next), Document::of(&next));
        let shown = shown(&next);
        assert_eq!(state.goal.as_deref(), Some(goal.as_str()), "hand-over {n}");
        assert!(shown.contains("> Port the engine.\n") && shown.contains(&goal[20..]), "{shown}");
        let count = usize::try_from(n).unwrap() + 1;
        assert_eq!((state.done.len(), state.done[0].as_str()), (count, format!("part {n}").as_str()));
        let earlier: Vec<String> = (0..n).rev().map(|n| format!("/p/part_{n:02}.rs")).collect();
        assert_eq!(state.files_before, earlier);
        sizes.push((document.render().len(), state.render().len(), shown.encode_utf16().count()));
        before = Some((state, shown));
    }
    // What grows are the lists of what is done and of files, by a line a hand-over; they end at 50 and at 20.
    for pair in sizes[1..].windows(2) {
        assert!(pair[1].0 <= pair[0].0 + 50 && pair[1].1 <= pair[0].1 + 90, "{sizes:?}");
    }
    assert!(sizes.iter().all(|size| size.2 <= Budget::default().brief), "{sizes:?}");
}

#[test]
fn what_was_written_and_decided_in_the_first_conversation_is_told_to_the_third() {
    let conversation = |file: &str, question: &str, chosen: &str| {
        captured(&[
            prompt("Port the engine."),
            call("w", "Write", json!({"file_path": file})),
            answer("w", "ok", json!({"type": "create"})),
            call("q", "AskUserQuestion", json!({"questions": [{"question": question}]})),
            answer("q", "ok", json!({"questions": [], "answers": {question: chosen}})),
        ])
    };
    let first = HandoffState::of(&conversation("/p/lexer.rs", "Which corpus?", "the large one"));
    let mut second = conversation("/p/parser.rs", "Break the API?", "no");
    first.pass_on(&mut second);
    let mut third = conversation("/p/parser.rs", "Which corpus?", "the small one");
    HandoffState::of(&second).pass_on(&mut third);
    let text = shown(&third);
    let files = "files written, newest first: /p/parser.rs (new)\n- written in the conversations before: /p/lexer.rs\n";
    assert!(text.contains(files), "{text}");
    assert!(text.contains("Break the API?") && text.contains("the small one"), "{text}");
    assert!(!text.contains("the large one"), "asked again, and answered otherwise: {text}");
    // A conversation that writes nothing.
    let mut fourth = captured(&[prompt("Look at it.")]);
    HandoffState::of(&third).pass_on(&mut fourth);
    let text = shown(&fourth);
    assert!(text.contains("written in the conversations before: /p/parser.rs, /p/lexer.rs\n"), "{text}");
    assert!(text.contains("the small one"), "{text}");
}

#[test]
fn nothing_that_is_captured_can_make_the_files_large() {
    let long = "x y".repeat(4_000);
    let mut capture = made(&long);
    capture.summary = Some(long.clone());
    capture.situation.draft = Some(long.clone());
    capture.situation.queued = vec![long.clone(); 64];
    capture.situation.open_tools = vec![long[..5000].to_owned(); 512];
    capture.situation.background = vec![long[..5000].to_owned(); 64];
    capture.files.written = (0..1000).map(|n| format!("{n}{}", "a/".repeat(300))).collect();
    capture.tasks.done_before = vec![long[..5000].to_owned(); 50];
    capture.files.before = vec![long[..5000].to_owned(); 20];
    capture.git = Some(GitState {
        changed: (0..1000).map(|n| (".M".to_owned(), format!("{n}{}", "b/".repeat(300)))).collect(),
        staged: vec![b'x'; 64 << 10],
        unstaged: vec![0xff; 64 << 10],
        stat: long,
        ..GitState::default()
    });
    let (document, state) =
        (Document::of(&capture).render().len(), HandoffState::of(&capture).render().len());
    assert!(document < 2 << 20 && state < 4 << 20, "{document} {state}");
}
