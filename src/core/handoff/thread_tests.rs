//! The thread of a conversation over a hand-over: what the person agreed to, what was found out in the middle
//! of a turn, questions that wait, corrections, and what stands in no line.

use serde_json::{Value, json};

use super::brief::{BriefFiles, Budget, brief};
use super::capture::Capture;
use super::document::Document;
use super::document::tests::capture as made;
use super::reports::reports_file;
use super::safe_prompts::Words;
use super::state_json::HandoffState;
use crate::core::claude::transcript_facts::TranscriptFacts;

/// A conversation whose lines name the line before them, as Claude's do.
#[derive(Default)]
struct Talk(Vec<Value>);

impl Talk {
    fn line(mut self, mut line: Value) -> Self {
        let n = self.0.len();
        line["uuid"] = json!(format!("u{n}"));
        line["parentUuid"] = json!(format!("u{}", n.wrapping_sub(1)));
        self.0.push(line);
        self
    }

    fn person(self, text: &str) -> Self {
        self.line(json!({"type": "user", "message": {"content": text}}))
    }

    fn says(self, stop: &str, text: &str) -> Self {
        let id = format!("m{}", self.0.len());
        self.line(json!({"type": "assistant", "message": {"id": id, "model": "m", "stop_reason": stop,
            "content": [{"type": "text", "text": text}]}}))
    }

    fn claude(self, text: &str) -> Self {
        self.says("end_turn", text)
    }

    fn midway(self, text: &str) -> Self {
        self.says("tool_use", text)
    }

    /// A tool call and its answer.
    fn calls(self, name: &str, input: Value, text: &str, is_error: bool) -> Self {
        let id = format!("t{}", self.0.len());
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error});
        self.line(json!({"type": "assistant", "message": {"id": id, "model": "m", "stop_reason": "tool_use",
            "content": [call]}}))
            .line(json!({"type": "user", "message": {"content": [result]}}))
    }

    fn bash(self, command: &str, text: &str) -> Self {
        self.calls("Bash", json!({"command": command}), text, text.starts_with("Exit code"))
    }

    fn capture(&self) -> Capture {
        let mut facts = TranscriptFacts::new();
        self.0.iter().for_each(|line| facts.feed(line.to_string().as_bytes()));
        Capture::new(made("").origin, &facts)
    }
}

fn shown(capture: &Capture) -> String {
    let places = BriefFiles::of(capture, "/r", &capture.id(), true);
    brief(capture, &Words::of(capture), &places, Budget::default())
}

/// The next conversation's capture, with what the one before passes on.
fn after(before: &Capture, talk: &Talk) -> Capture {
    let mut next = talk.capture();
    HandoffState::of(before).pass_on(&mut next);
    next
}

const TASK: &str =
    "the start of the yard takes 50 s, find out why and tell me what you would do about it, step by step";

fn proposal() -> String {
    let steps = (1..=5).map(|n| format!("Step {n}: move the loading of part-{n} behind the first request."));
    format!(
        "This is what I would do.\n{}\nIt is safe: {}",
        steps.collect::<Vec<_>>().join("\n"),
        "x ".repeat(90)
    )
}

#[test]
fn what_the_person_agreed_to_is_told_whole_until_other_work_is_set() {
    let talk =
        Talk::default().person(TASK).claude(&proposal()).person("ok do it").midway("I begin with part-1.");
    let first = talk.capture();
    let text = shown(&first);
    assert!(text.contains("[to this the person said \"ok do it\"]"), "{text}");
    assert!(text.contains("\nStep 5: move the loading of part-5 behind"), "{text}");
    let second = after(&first, &Talk::default().person("go on"));
    assert!(shown(&second).contains("\nStep 5: move"), "{}", shown(&second));
    let other =
        "now write the notes of the release, with everything that the port has to know about it, in Polish";
    let third = after(&second, &Talk::default().person(other));
    assert_eq!(third.answers.agreed, [], "{}", shown(&third));
    // "do it" may be the first thing that is said in the next conversation.
    let asked = Talk::default().person(TASK).claude(&proposal()).capture();
    let next = shown(&after(&asked, &Talk::default().person("yes, all but 4").midway("I begin.")));
    assert!(next.contains("[to this the person said \"yes, all but 4\"]"), "{next}");
    assert!(next.contains("\nStep 5: move the loading of part-5"), "{next}");
}

#[test]
fn what_was_found_in_a_turn_that_is_not_over_is_told_here_and_in_the_next() {
    let mut talk = Talk::default().person(TASK);
    for n in 0..40 {
        talk = talk.midway(&format!(
            "With {n} workers the start is as slow, so it is not the pool in `yard_{n}.rs`."
        ));
        talk = talk.midway("Now I look at the next one of them.");
    }
    let first = talk.capture();
    let told = |text: &str| text.matches("so it is not the pool in").count();
    assert!(told(&shown(&first)) >= 25, "{}", shown(&first));
    let second = after(&first, &Talk::default());
    assert!(told(&shown(&second)) >= 10, "{}", shown(&second));
    // An answer says what its turn has found.
    let over = talk.claude("It is the pool.").person("and now?").capture();
    assert_eq!(over.answers.findings, Vec::<String>::new());
}

#[test]
fn a_question_that_a_report_follows_still_waits_for_its_answer() {
    let report =
        "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n</task-notification>";
    let talk = Talk::default()
        .person(TASK)
        .claude("Shall the templates live in the repository or in the bucket?")
        .person(report)
        .claude("The agent is back; nothing that changes the picture.");
    let text = shown(&talk.capture());
    assert!(text.contains("You had asked this and have no answer yet"), "{text}");
    let answered =
        talk.person("in the bucket").claude("Done: they are in the bucket now, all twelve of them.");
    assert!(!shown(&answered.capture()).contains("have no answer yet"));
}

#[test]
fn a_correction_of_any_length_does_not_set_other_work() {
    let correction =
        "no, not with xarray, it pulls in half of the internet. use the netCDF4 package that we have already";
    let stop = "[Request interrupted by user]";
    let text = shown(
        &Talk::default().person(TASK).midway("I use xarray.").person(stop).person(correction).capture(),
    );
    let request = text.split("## ").find(|part| part.starts_with("Request\n")).unwrap();
    assert!(request.contains(correction) && request.contains(TASK), "{text}");
}

#[test]
fn rules_of_a_long_prompt_are_not_what_many_short_tasks_cost() {
    let rules: Vec<String> = (0..12)
        .map(|n| format!("Files of part {n} are never edited by hand, they come from gen-{n}."))
        .collect();
    let mut talk = Talk::default().person(&rules.join(" ")).claude("Understood, I keep to these rules.");
    for n in 0..70 {
        let task = format!(
            "now write the page of berth {n} with its table, its picture, and the link to the plan of the quay"
        );
        talk = talk.person(&task).claude(&format!("The page of berth {n} is there."));
    }
    let text = shown(&talk.capture());
    let kept = rules.iter().filter(|rule| text.contains(rule.as_str())).count();
    assert!(kept >= 9, "{kept} of 12\n{text}");
}

#[test]
fn a_summary_of_what_stands_in_no_line_is_told_and_passed_on() {
    let summary = json!({"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
        "message": {"content": "This session goes on. Never log the credential id."}});
    let fork = Talk::default()
        .line(summary.clone())
        .person("now the second page")
        .claude("The page is there, with 3 tables.");
    let first = fork.capture();
    assert!(shown(&first).contains("Never log the credential id."), "{}", shown(&first));
    assert!(shown(&after(&first, &Talk::default())).contains("Never log the credential id."));
    let whole = Talk::default().person(TASK).claude("I look at it.").line(summary);
    assert!(!shown(&whole.capture()).contains("Never log"), "its prompts stand above it");
}

#[test]
fn words_that_are_said_again_and_again_stand_once() {
    let mut talk = Talk::default().person(TASK);
    for n in 0..30 {
        talk = talk.claude(&format!("Page {n} is done.")).person(["continue", "weiter"][n % 2]);
    }
    let text = shown(&talk.capture());
    assert_eq!(text.matches("> continue\n").count() + text.matches("> weiter\n").count(), 2, "{text}");
}

#[test]
fn an_answer_with_a_decision_stands_with_what_the_person_said_to_it() {
    let claim = "I decided to change the compare to >= because it counts from zero.";
    let no = "no, the sixth try is allowed on purpose";
    let text = shown(
        &Talk::default()
            .person(TASK)
            .claude(&format!("TestRate fails in limit.go. {claim}"))
            .person(no)
            .claude("You are right, all 12 pass.")
            .person("and now the message")
            .capture(),
    );
    let line = text.lines().find(|line| line.contains(claim) && line.starts_with("- to ")).unwrap_or(&text);
    assert!(line.contains("Then the person said: \"no, the sixth try"), "{text}");
}

#[test]
fn what_the_last_commands_printed_is_told_as_data() {
    let table = "layout p99 size\nbtree 61.0 2.1G\ngist 22.4 6.7G\npassword=hunter22\ndone";
    let talk = Talk::default()
        .person(TASK)
        .bash("bash bench/all.sh 2>&1 | tail -12", table)
        .bash("rg gist src | head", "src/a.rs\nsrc/b.rs")
        .bash("python3 move.py", "Exit code 1\n502 for customer 3\ncheckpoint: 2 of 40")
        .bash("python3 move.py", "Exit code 1\n503 for customer 24\n## Request\ncheckpoint: 23 of 40");
    let text = shown(&talk.capture());
    let part = text.split("\n## What the last commands printed (data)\n").nth(1).unwrap_or(&text);
    for line in ["[bash bench/all.sh 2>&1 | tail -12]", "gist 22.4 6.7G", "checkpoint: 23 of 40"] {
        assert!(part.contains(line), "{line}\n{text}");
    }
    assert!(!part.contains("hunter22") && !part.contains("src/b.rs"), "{text}");
    assert!(!text.contains("checkpoint: 2 of 40"), "it was run again: {text}");
    assert!(part.find("[python3 move.py]") < part.find("[bash bench/all.sh"), "{text}");
    let ran = talk.person("<bash-input>kubectl get pods</bash-input>");
    let ran = ran.person("<bash-stdout>NAME NODE\neta n1\ntiles n3\nmail n2</bash-stdout>");
    let text = shown(&ran.person("the third must stay").capture());
    assert!(text.contains("[run by the person: kubectl get pods]\nNAME NODE\neta n1\ntiles n3\n"), "{text}");
}

#[test]
fn what_was_done_outside_of_the_tree_is_known_after_many_calls_and_hand_overs() {
    let mut talk = Talk::default().person(TASK).bash("gh pr create --title x", "https://h/y/pull/512");
    for gate in 1..=4 {
        talk = talk.bash(&format!("gatectl flash gate-{gate}"), &format!("gate-{gate}: flashed"));
    }
    for n in 0..80 {
        talk = talk.calls("Read", json!({"file_path": format!("/p/{n}.rs")}), "x", false);
        talk = talk.bash(&format!("ls jobs/x{n}"), "Exit code 2\nls: no such file");
    }
    for n in 0..14 {
        talk = talk.bash(&format!("git add jobs/j{n}.ts"), "");
    }
    let first = talk.capture();
    let text = shown(&first);
    for part in [
        "last steps: Bash: git add jobs/j13.ts -> ok (and 13 like it)\n",
        "last steps: Bash: gatectl flash gate-4 -> ok: gate-4: flashed (and 3 like it)\n",
        "like `gatectl flash gate-4`: `gatectl flash gate-3`, `gatectl flash gate-2`, ",
        "https://h/y/pull/512",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.matches("no such file").count() <= 1, "{text}");
    let second = after(&first, &Talk::default().person("go on"));
    let third = after(&second, &Talk::default().person("how far are we?"));
    for part in ["gatectl flash gate-1", "https://h/y/pull/512"] {
        assert!(shown(&third).contains(part), "{part}\n{}", shown(&third));
    }
}

#[test]
fn of_a_long_answer_that_the_person_agreed_to_each_point_is_told() {
    let point = |n: u32| {
        format!("## {n}. Area\n\nFinding {n} is in `area_{n}.rs`. {}\n\n", "It was checked. ".repeat(90))
    };
    let report = format!("# Audit\n\n{}Order: 7, 1, 3.", (1..=8).map(point).collect::<String>());
    assert!(report.len() > 9000);
    let talk = Talk::default().person(TASK).claude(&report).person("7 and 4 now").midway("I begin with 7.");
    let text = shown(&talk.capture());
    for part in ["Finding 4 is in", "Finding 7 is in", "Order: 7, 1, 3.", "(shortened; whole in agreed.md)"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let endless =
        Talk::default().person(TASK).claude(&report.repeat(2)).person("7 and 4 now").midway("I begin.");
    let kept = &endless.capture().answers.agreed[0].text;
    assert!(kept.contains("\n[...") && kept.ends_with("Order: 7, 1, 3.") && kept.len() < 17_000, "{kept}");
}

#[test]
fn short_answers_that_say_something_are_told_behind_the_others_and_passed_on() {
    let mut talk = Talk::default().person("check the alarms one after the other, change nothing");
    for text in [
        "Pushed to fix/quay.",
        "1: CSP, report only.",
        "2是误报，阈值5太低。",
        "3: disk at 91 %.",
        "Done.",
        "5: fixed by Li.",
    ] {
        talk = talk.claude(text).person("next");
    }
    for n in 0..5 {
        talk = talk
            .claude(&format!("Alarm {n} of the gateway comes from the clock of gw-{n}, which is off."))
            .person("next");
    }
    let first = talk.capture();
    for text in [shown(&first), shown(&after(&first, &Talk::default().person("number 12")))] {
        for part in [
            "Pushed to fix/quay.",
            "1: CSP, report only.",
            "2是误报，阈值5太低。",
            "3: disk at 91 %.",
            "5: fixed by Li.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("Done."), "{text}");
    }
}

#[test]
fn checks_of_one_form_that_passed_are_told_once() {
    let mut talk = Talk::default().person(TASK).bash("pytest -q", "2212 passed, 4 skipped in 310s");
    for n in 0..12 {
        talk = talk.bash(&format!("ruff check app/m{n}.py"), "All checks passed!");
    }
    let text = shown(&talk.capture());
    assert!(text.contains("2212 passed") && text.matches("ruff check").count() == 1, "{text}");
    assert!(text.contains(" (11 more like it passed)\n"), "{text}");
}

#[test]
fn checks_of_parts_are_one_line_and_none_is_left_out() {
    let mut talk = Talk::default().person(TASK);
    for part in ["app/views", "lib/util", "pkg/core"] {
        talk = talk.bash(&format!("cd /p && npx vitest run {part} | tail -6"), "      Tests  21 passed");
    }
    for (command, output) in [
        ("pytest -q core", "18 passed in 1s"),
        ("cargo test", "test result: ok. 5 passed; 0 failed; 0 ignored"),
        ("npx jest", "Tests:       4 passed, 4 total"),
        ("mix test", "9 tests, 0 failures"),
        ("mypy app", "Success: no issues found in 8 source files"),
        ("bundle exec rspec", "7 examples, 0 failures"),
    ] {
        talk = talk.bash(command, output);
    }
    let mut capture = talk.capture();
    capture.origin.working_dir = "/p".into();
    let (text, document) = (shown(&capture), Document::of(&capture).render());
    assert!(
        text.contains(
            "- check passed: `npx vitest run pkg/core | tail -6` (21 passed) (2 more like it passed: "
        ) && text.matches("vitest").count() == 1,
        "{text}"
    );
    for command in ["pytest -q core", "cargo test", "npx jest", "mix test", "mypy app", "bundle exec rspec"] {
        assert!(text.contains(&format!("check passed: `{command}`")), "{command}\n{text}");
        assert!(document.contains(&format!("Verified: passed: {command}")), "{command}\n{document}");
    }
}

#[test]
fn a_check_names_the_file_that_was_edited_after_it_with_its_path() {
    let edit = json!({"file_path": "/p/spec/x.ts", "old_string": "a", "new_string": "b"});
    let mut capture = Talk::default()
        .person(TASK)
        .bash("npx vitest run pkg/core", "      Tests  21 passed")
        .calls("Edit", edit, "ok", false)
        .capture();
    capture.origin.working_dir = "/p".into();
    let text = shown(&capture);
    assert!(text.contains("(21 passed); run before you last edited spec/x.ts\n"), "{text}");
}

#[test]
fn what_a_check_printed_is_not_told_once_a_newer_run_has_passed() {
    let failed = "OrderTest > rounding() FAILED\n42 tests completed, 1 failed\nBUILD FAILED in 12s";
    let talk = Talk::default().person(TASK).bash("./gradlew test | tail -6", failed);
    assert!(shown(&talk.capture()).contains("BUILD FAILED"));
    let passed = talk.bash("./gradlew test | tail -3", "BUILD SUCCESSFUL in 14s\n3 actionable tasks");
    assert!(!shown(&passed.capture()).contains("BUILD FAILED"), "{}", shown(&passed.capture()));
}

#[test]
fn the_work_in_hand_is_next_whatever_waits_behind_it() {
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "content": "and the changelog"});
    let talk = Talk::default().person("convert the 140 files").bash("python conv.py docs/a", "ok");
    let text = shown(&talk.midway("101 of 140 are converted.").line(queued).capture());
    let next = text.split("\n## Next\n").nth(1).unwrap_or(&text);
    let [first, second] = ["- go on with the request: ", "you have not answered it: and the changelog"]
        .map(|part| place(next, part));
    assert!(first < second, "{text}");
}

#[test]
fn the_middle_of_a_long_answer_is_told_where_it_is_what_no_other_answer_says() {
    let mut talk = Talk::default().person(TASK);
    let others =
        "The list keeps the old value. The page has its own copy of the constant. It is read once now.";
    for n in 0..40 {
        let found =
            if n == 5 { "**Node n4 must not be rebooted** until the firmware is there." } else { others };
        let text = format!(
            "Done. The guard was wrong.\n\n## What changed\n\n- {others}\n- {found}\n- {others}\n- {others}\n\n\
             Shall I do the same for the login page?"
        );
        talk = talk.claude(&text).person(&format!("now page {n}, it flickers and the title is cut off"));
    }
    let text = shown(&talk.capture());
    assert!(text.contains("**Node n4 must not be rebooted** until the firmware is there."), "{text}");
}

#[test]
fn a_claim_stands_with_what_the_person_said_of_its_number_later() {
    let mut talk = Talk::default()
        .person("does TariffTable retry?")
        .claude("Yes, `TariffTable` retries 5418 times.")
        .person("and the list is empty after a reload")
        .claude("It keeps the old list.")
        .person("no, 5418 is the timeout in ms, it does not retry at all")
        .claude("You are right.");
    for n in 0..12 {
        talk = talk.person(&format!("next page, the {n}.")).claude("The page is there.");
    }
    let text = shown(&talk.capture());
    assert!(text.contains(" Later the person said: \"no, 5418 is the timeout in ms"), "{text}");
}

#[test]
fn the_sentence_that_begins_after_a_hand_over_is_nobodys_last_words() {
    let opening = "Continuing from handoff HO-20261120-142950-c74cc080.";
    let text = shown(&Talk::default().claude(opening).person("how far are we?").capture());
    assert!(!text.contains("Your last words") && !text.contains("after your last words"), "{text}");
    let more = shown(&Talk::default().claude(&format!("{opening} The cache never shrinks.")).capture());
    assert!(more.contains("\n```text\nThe cache never shrinks.\n```\n"), "{more}");
}

#[test]
fn reports_that_are_not_summed_up_are_told_however_many_and_passed_on() {
    let mut talk = Talk::default().person(TASK);
    for n in 0..16 {
        let text = format!("Port {n}: form PAF-{n}00. {}", "The site has a long page. ".repeat(90));
        talk = talk.calls("Task", json!({"description": format!("port {n}")}), &text, false);
    }
    let first = talk.capture();
    let text = shown(&first);
    for n in 0..16 {
        assert!(text.contains(&format!("Port {n}: form PAF-{n}00.")), "{n}\n{text}");
    }
    let second = after(&first, &Talk::default().person("go on"));
    let third = shown(&after(&second, &Talk::default().person("one paragraph, please")));
    assert!(third.contains("Port 15: form PAF-1500.") && third.contains("Port 10: form"), "{third}");
    assert!(third.contains("reports.md (what sub-agents reported)"), "{third}");
    assert!(reports_file(&second).unwrap().contains("Port 15: form PAF-1500."));
    let told = |text: &str| {
        let told = Talk::default().person("go on").claude(text);
        after(&after(&first, &told), &Talk::default().person("fine")).reports.before.len()
    };
    assert_eq!(told(&proposal()), 6, "Claude has said something at length about other things");
    let forms: String = (0..16).map(|n| format!(" PAF-{n}00")).collect();
    assert_eq!(told(&(proposal() + &forms)), 0, "what Claude says of them stands in its answer");
}

#[test]
fn another_task_of_one_line_agrees_to_nothing() {
    let talk = |reply: &str| {
        let mut talk =
            Talk::default().person("why is it slow").claude(&proposal().replace("part-", "The page "));
        for _ in 0..3 {
            talk = talk.person("hm").claude("The page with semicolon and number is as it was.");
        }
        talk.person("plan it").claude(&proposal()).person(reply).claude("I begin.").capture().answers.agreed
    };
    assert_eq!(talk("now the export with semicolon, the page number first").len(), 1, "that of \"plan it\"");
    for reply in ["ok do it", "all of it, but part-5 without the loading"] {
        assert_eq!(talk(reply)[0].reply, reply);
    }
}

#[test]
fn numbers_of_lines_say_what_a_long_prompt_is_about() {
    let finding = |n: usize| {
        format!("{n}. form {}: the field is too short for the names of the boats, all of them\n", 7 * n)
    };
    let list = format!("60 findings:\n{}", (1..=60).map(finding).collect::<String>());
    let talk = |asked: &str| {
        Talk::default().person("audit the forms").claude(&list).person(asked).claude("I begin.").capture()
    };
    let asked =
        "do 23, 31 and 38 now because those three forms are printed tomorrow for the pilots of the port";
    let agreed = talk(asked).answers.agreed;
    assert!(agreed.len() == 1 && agreed[0].text.contains(&finding(31)), "{agreed:?}");
    assert_eq!(talk(&asked.replace("23, 31 and 38", "three in 2")).answers.agreed, []);
    let newest = talk("thanks").answers.earlier;
    assert!(newest[0].text.contains(&finding(31)), "the newest answers are whole");
}

#[test]
fn a_to_do_that_waits_for_others_says_so() {
    let mut talk = Talk::default().person(TASK);
    for n in 1..=3 {
        let created = format!("Task #{n} created successfully: x");
        talk = talk.calls("TaskCreate", json!({"subject": format!("part {n}")}), &created, false);
    }
    let first = talk
        .calls(
            "TaskUpdate",
            json!({"taskId": "3", "addBlockedBy": ["1", 2, {}]}),
            "Updated task #3 blockedBy",
            false,
        )
        .calls("TaskUpdate", json!({"taskId": "1", "status": "completed"}), "Updated task #1 status", false)
        .capture();
    assert!(shown(&first).contains("- to do: #3 part 3 (after #2)\n"), "{}", shown(&first));
    let second = shown(&after(&first, &Talk::default()));
    assert!(second.contains("#3 part 3 (after #2)\n"), "{second}");
}

#[test]
fn what_failed_in_the_background_and_nobody_looked_at_comes_next() {
    let told = "<task-notification>\n<task-id>b1</task-id>\n<output-file>/run/b1.output</output-file>\n\
                <status>failed</status>\n<summary>Background command \"Load\" failed with exit code \
                3</summary>\n</task-notification>";
    let started = "Command running in background with ID: b1. Output is being written to: /run/b1.output";
    let talk = Talk::default()
        .person(TASK)
        .calls("Bash", json!({"command": "python3 load.py", "run_in_background": true}), started, false)
        .person(told);
    let next = |talk: &Talk| {
        let text = shown(&talk.capture());
        let part = text.split("\n## ").find(|part| part.starts_with("Next\n")).unwrap_or_default().to_owned();
        part.contains("this failed, and you have not looked at it: python3 load.py: failed with exit code 3")
    };
    assert!(next(&talk), "{}", shown(&talk.capture()));
    let looked = talk.calls("Read", json!({"file_path": "/run/b1.output"}), "x", false);
    assert!(!next(&looked), "{}", shown(&looked.capture()));
}

#[test]
fn a_step_says_once_that_it_failed_and_a_decision_of_the_last_words_stands_there_alone() {
    let claim = "I decided to change the compare to >= because it counts from zero.";
    let talk = Talk::default()
        .person(TASK)
        .calls("Edit", json!({"file_path": "/home/u/proj/CODEOWNERS"}), "File is read-only", true)
        .bash("/home/u/proj/load.sh", "Exit code 1\nno such host")
        .bash("python3 big.py", "Exit code 137\nKilled")
        .claude(&format!("The load fails. {claim}"));
    let text = shown(&talk.capture());
    assert!(text.contains("last steps: Edit: CODEOWNERS -> failed: File is read-only\n"), "{text}");
    assert!(text.contains("last steps: Bash: /home/u/proj/load.sh -> failed: no such host\n"), "{text}");
    assert!(text.contains("last steps: Bash: python3 big.py -> failed: Exit code 137: Killed\n"), "{text}");
    assert_eq!(text.matches(claim).count(), 1, "{text}");
}

/// The place of a text in another one.
fn place(text: &str, part: &str) -> usize {
    text.find(part).unwrap_or_else(|| panic!("{part} is missing: {text}"))
}

#[test]
fn what_a_servers_tool_was_called_with_is_told_without_its_secrets() {
    let mut talk = Talk::default().person("tell the five captains, each only once");
    for ship in ["MV Astrid", "MV Izar", "MV Orion"] {
        let input =
            json!({"to": ship, "token": "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "content": "gate 4"});
        talk = talk.calls("mcp__gateway__send", input, "ok", false);
    }
    let text = shown(&talk.capture());
    for ship in ["MV Astrid", "MV Izar", "MV Orion"] {
        assert!(text.contains(&format!("\"to\": \"{ship}\"")), "{ship}\n{text}");
    }
    assert!(!text.contains("ghp_0123"), "{text}");
}

#[test]
fn the_id_the_name_and_the_status_of_a_servers_tool_are_told() {
    let mut talk = Talk::default().person("the tickets, each only once");
    for input in [
        json!({"id": "HAR-301", "state": "Done"}),
        json!({"assignee": "odd", "id": 311}),
        json!({"name": "old_users"}),
        json!({"key": "HAR-320", "status": "closed"}),
    ] {
        talk = talk.calls("mcp__linear__update_issue", input, "ok", false);
    }
    let text = shown(&talk.capture());
    for part in [
        "{\"id\": \"HAR-301\", \"state\": \"Done\"}",
        "{\"id\": \"311\", \"assignee\": \"odd\"}",
        "update_issue: {\"name\": \"old_users\"}",
        "{\"status\": \"closed\", \"key\": \"HAR-320\"}",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn what_was_found_in_a_turn_that_is_over_is_told_behind_the_answers_and_passed_on() {
    let found = "The wake lock of the compass is never released when the screen turns off.";
    let mut talk = Talk::default().person(TASK).midway("Let me look at the callers.").midway(found);
    talk = talk.claude("Two causes are found.");
    for n in 0..12 {
        talk = talk.person("next").claude(&format!("Alarm {n} is fixed in the gateway."));
    }
    let first = talk.person(TASK).capture();
    let text = shown(&first);
    assert!(place(&text, "Alarm 10 is fixed") < place(&text, found), "{text}");
    assert!(!text.contains("Let me look at the callers."), "{text}");
    assert!(super::document::Document::of(&first).render().contains(found));
    let second = after(&first, &Talk::default().person(TASK));
    assert!(shown(&after(&second, &Talk::default().person("go on"))).contains(found));
    // What was found in the last turn of a conversation is no different.
    let last = Talk::default().person(TASK).midway(found).claude("Two causes are found.").capture();
    let second = after(&last, &Talk::default().person(TASK).claude("Both are mended."));
    assert!(shown(&after(&second, &Talk::default().person("go on"))).contains(found));
}

#[test]
fn of_a_long_turn_the_texts_that_differ_stay() {
    let found = "The old key is still in the cache of the mailer.";
    let mut talk = Talk::default().person(TASK).midway(found);
    for n in 0..400 {
        talk = talk.midway(&format!("Module m{n} is converted, on to the next one."));
    }
    assert!(talk.capture().answers.findings.contains(&found.to_owned()));
}

#[test]
fn an_answer_with_a_number_stays_longer_than_one_without() {
    let mut talk = Talk::default().person("count them, one after the other");
    talk = talk.claude("4812 rows have no owner.").person("next");
    for part in ('a'..='z').flat_map(|one| ('a'..='b').map(move |two| format!("{one}{two}"))) {
        talk = talk.claude(&format!("Done; {part} needed a small change as well.")).person("next");
    }
    let text = shown(&talk.capture());
    assert!(text.contains("4812 rows"), "{text}");
}

#[test]
fn a_promise_comes_before_reasons() {
    let mut talk =
        Talk::default().person(TASK).claude("I will switch job1234 on again when export is through.");
    for n in 0..8 {
        talk = talk.person("next").claude(&format!("Bill {n} has grown because nobody looks at it."));
    }
    let text = shown(&talk.person("next").capture());
    assert!(place(&text, "you said: I will switch job1234") < place(&text, "Bill 6 has grown"), "{text}");
    assert!(!text.contains("you said: Bill"), "the answer is told: {text}");
}

#[test]
fn a_promise_stands_with_what_was_said_later_and_is_known_two_conversations_later() {
    let promise = "I have stopped job j2986 for now and will start it again when Ylva has gone home.";
    let first = Talk::default().person(TASK).claude(promise).person("and now the list").capture();
    let second = after(&first, &Talk::default().person("the next one").claude("It is done as you said."));
    let again = "Job j2986 runs again since noon. The log has nothing odd.";
    let talk = Talk::default().person("the next one").claude("It is as wide as the other ones now.");
    let third = after(&second, &talk.person("and the log"));
    assert!(shown(&third).contains(&format!("- you said: {promise} ")), "{}", shown(&third));
    let talk = Talk::default().person(TASK).claude(promise).person("Ylva has gone").claude(again);
    let text = shown(&talk.person("and now the list").capture());
    let line = format!(
        "- you said: {promise} Then the person said: \"Ylva has gone\" Later you said: \"Job j2986 runs again \
         since noon.\"\n"
    );
    assert!(text.contains(&line), "{text}");
}

#[test]
fn what_was_chosen_is_one_of_the_persons_prompts_in_its_place() {
    let options = json!([{"label": "None"}, {"label": "One"}]);
    let input = json!({"questions": [{"question": "Which mails?", "options": options}]});
    let mut talk = Talk::default().person("no mails to guests at all").claude("Good.").person(TASK);
    talk = talk.calls("AskUserQuestion", input, "ok", false);
    talk.0.last_mut().unwrap()["toolUseResult"] =
        json!({"questions": [], "answers": {"Which mails?": "One"}});
    let text = shown(&talk.person("and now the list").capture());
    let chosen = "(as an answer, after your words \"Which mails?\")\n> One\n";
    assert!(place(&text, chosen) < place(&text, "> no mails to guests at all"), "{text}");
    assert!(!text.contains("the person answered"), "{text}");
}

#[test]
fn an_answer_that_is_said_again_stands_with_each_prompt() {
    let done = "Done, the migration is written and all tests pass.";
    let talk =
        Talk::default().person("add the field draught").claude(done).person("what is the largest one?");
    let talk = talk.claude("The largest draught is 15.2 m.").person("add the field flag").claude(done);
    let text = shown(&talk.person("now the form").midway("The form has four fields.").capture());
    assert_eq!(text.matches("15.2 m").count(), 1, "{text}");
    assert!(place(&text, "- to \"add the field flag\": Done") < place(&text, "15.2 m"), "{text}");
}

#[test]
fn what_many_commands_and_pages_said_is_told_and_no_refusal() {
    let mut talk = Talk::default().person(TASK);
    for port in ["hamburg", "oslo", "porto", "riga", "gdansk", "bergen"] {
        let page = format!("# {port}\nquay fee\n{port}: 31 EUR");
        talk = talk.calls("WebFetch", json!({"url": format!("https://{port}.example/fees")}), &page, false);
    }
    let refused = "The user doesn't want to proceed with this tool use.\nThe tool use was rejected";
    let mut capture = talk.bash("rm -r build", refused).capture();
    capture.steps.here.last_mut().unwrap().step.outcome =
        crate::core::claude::transcript_facts::ToolOutcome::Refused;
    let text = shown(&capture);
    for port in ["hamburg", "riga", "bergen"] {
        assert!(
            text.contains(&format!("[https://{port}.example/fees]\n# {port}\nquay fee\n")),
            "{port}\n{text}"
        );
    }
    assert!(!text.contains("want to proceed"), "{text}");
}

#[test]
fn the_end_of_a_long_command_is_told_where_there_is_room() {
    let command =
        format!("kubectl {} patch deployment tiles --patch '1024Mi'", "--context stage-west ".repeat(9));
    let text = shown(&Talk::default().person(TASK).bash(&command, "patched").capture());
    assert!(text.contains("--patch '1024Mi' -> ok: patched\n"), "{text}");
}

#[test]
fn the_failures_of_a_monitor_are_kept_longer_than_its_other_events() {
    let started = "Monitor started (task b1, persistent)";
    let mut talk = Talk::default().person("fix what fails").calls(
        "Monitor",
        json!({"command": "./watch.sh", "description": "sites"}),
        started,
        false,
    );
    for event in ["site 3: FAILED disk full", "site 4: ok", "site 5: ok", "site 6: FAILED no route"]
        .into_iter()
        .map(str::to_owned)
        .chain((7..20).map(|n| format!("site {n}: ok")))
    {
        let told = format!(
            "<task-notification>\n<task-id>b1</task-id>\n<event>{event}</event>\n</task-notification>"
        );
        talk = talk.person(&told);
    }
    let text = shown(&talk.capture());
    for part in ["its last event: site 19: ok, before it: ", "site 3: FAILED disk full", "site 6: FAILED no"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn all_to_dos_and_the_middle_of_reports_are_told_where_there_is_room() {
    let mut talk = Talk::default().person(TASK);
    for n in 1..=20 {
        let created = format!("Task #{n} created successfully: x");
        talk = talk.calls("TaskCreate", json!({"subject": format!("part {n}")}), &created, false);
    }
    for n in 1..=3 {
        let words = "The gateway was read. ".repeat(20);
        let report = format!("{words}blocker {n}: the radios of 2014. {words}");
        talk = talk.calls("Task", json!({"description": format!("reader {n}")}), &report, false);
    }
    let text = shown(&talk.capture());
    for part in
        ["- to do: #20 part 20\n", "- to do: #13 part 13\n", "blocker 1: the radios", "blocker 2: the"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_failed_check_of_files_that_pass_since_is_told_last_and_without_its_output() {
    let failed =
        "Exit code 1\n FAIL  src/tariff/round.test.ts > half even\n Tests  1 failed | 40 passed (41)";
    let edit =
        |talk: Talk| talk.calls("Edit", json!({"file_path": "/p/src/tariff/round.ts"}), "updated", false);
    let talk = edit(Talk::default().person(TASK).bash("npm test", failed));
    let part = " Test Files  2 passed (2)\n      Tests  12 passed (12)";
    let lint = talk.bash("npx eslint src", "");
    assert!(shown(&lint.capture()).contains("FAIL  src/tariff/round.test.ts"), "{}", shown(&lint.capture()));
    let text = shown(&edit(lint.bash("npx vitest run src/tariff", part)).capture());
    assert!(place(&text, "check passed: `npx vitest") < place(&text, "check failed: `npm test`"), "{text}");
    assert!(text.contains("; later `npx vitest run src/tariff` passed\n"), "{text}");
    assert!(!text.contains("FAIL  src/tariff"), "{text}");
}

#[test]
fn a_sentence_that_another_prompt_shows_is_left_out_of_a_long_one_first() {
    let same = "The list should show what the customers of the harbour see on the old portal. ".to_owned()
        + "The detail page comes after that, and it needs the history of the last years. "
        + "Have a look at how the old one did it, and leave its colours as they are there. ";
    let own = ["amounts are net of the fee", "beam is in cm", "Kaisa sees each mail", "stop at 500 rows"];
    let mut talk = Talk::default();
    for (n, rule) in (0..24).map(|n| (n, own.get(n / 6).filter(|_| n % 6 == 3))) {
        let rule = rule.map(|rule| format!("By the way: {rule}. ")).unwrap_or_default();
        talk =
            talk.person(&format!("Screen {n} is next on my list of them. {same}{rule}{same}Then tell me."));
        talk = talk.claude(&format!("Screen {n} is built."));
    }
    let text = shown(&talk.capture());
    for rule in own {
        assert!(text.contains(rule), "{rule}\n{text}");
    }
    assert!(text.contains("[... as in another prompt here]"), "{text}");
}

#[test]
fn each_open_question_stands_with_its_options() {
    let one = |text: &str, labels: [&str; 2]| {
        let options = labels.map(|label| json!({"label": label}));
        json!({"question": text, "options": options})
    };
    let questions = json!([one("Which store?", ["SQLite", "files"]), one("Which colour?", ["red", "blue"])]);
    let call =
        json!({"type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": {"questions": questions}});
    let talk =
        Talk::default().person(TASK).line(json!({"type": "assistant", "message": {"id": "q", "model": "m",
        "stop_reason": "tool_use", "content": [call]}}));
    let text = shown(&talk.capture());
    let part = "Which store? (options: SQLite | files) / Which colour? (options: red | blue)";
    assert!(text.contains(part), "{text}");
}

#[test]
fn a_list_of_findings_is_known_two_conversations_later() {
    let list: String =
        (1..=30).map(|n| format!("{n}. handler {n}: the error of mailer m{n} is swallowed\n")).collect();
    let first = Talk::default().person(TASK).claude(&list).capture();
    assert!(first.answers.earlier.is_empty());
    let longer =
        "prepare changes for 4, 11 and 17, one file for each, and write who must approve at the top of it";
    let second = after(&first, &Talk::default().person(longer).claude("Patches for 4, 11 and 17 are there."));
    let third = after(&second, &Talk::default().person(&format!("the same for 12 and 13, please. {longer}")));
    assert!(shown(&third).contains("13. handler 13: the error of mailer m13"), "{}", shown(&third));
    assert!(
        super::document::Document::of(&third).render().contains("13. handler 13: the error of mailer m13")
    );
}
