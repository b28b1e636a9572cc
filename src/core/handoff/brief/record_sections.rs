//! The record in a brief: Claude's last words, the next steps, work in hand, and the state of the work tree.

use super::answer_excerpts::{AnswerWords, returns_to};
use super::brief_files::{
    AGREED_FILE, ANSWER_FILE, BriefFiles, DOCUMENT_FILE, OPEN_PLAN_FILE, PLAN_FILE, REPORTS_FILE,
};
use super::section_lengths::BriefPart;
use super::shared_words::{SharedWordTable, has_any};
use super::truncation::{Passage, TextCut};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::core::claude::checks::CheckOutcome;
use crate::core::claude::checks::{is_check, is_same_run, judge};
use crate::core::claude::transcript_facts::{
    AgentReport, Check, DetachedCommand, EarlierAnswer, FileRead, REPLY_CAP, StatedDecision, ToolError,
    ToolOutcome, ToolStep, TranscriptSpeaker, is_informative, reports_finding,
};
use unicode_width::UnicodeWidthStr;

use crate::core::claude::prompts::{PromptKind, REFUSED_CALL, TranscriptPrompt};
use crate::core::claude::tasks::{Task, TaskStatus, task_key};
use crate::core::handoff::capture::{CHANGED_PATHS_MAX, Capture, GitState, PLAN_WAITS};
use crate::core::handoff::continuation_prompt::without_opening;
use crate::core::handoff::current_request::asks;
use crate::core::handoff::handoff_answers::AgreedAnswer;
use crate::core::handoff::handoff_work::{FinishedStep, PlanInHand};
use crate::core::handoff::operation::Operation;
use crate::core::handoff::pasted_text;
use crate::core::handoff::prompt_sentences::{has_digit, sentences};
use crate::core::handoff::recent_activity;
use crate::core::handoff::repeated_lines::form;
use crate::core::handoff::reports::{agent_name, origin};
use crate::core::handoff::safe_prompts::{PersonPrompt, Words, shorten};
use crate::core::handoff::sections::scheduled;
use crate::core::text::safe_text::{cut_chars, cut_words, safe, safe_line, units};

/// The longest line, in characters.
const RECORD_LINE_MAX: usize = 400;
/// The most to-dos that are listed first, and the most in all.
const TASKS: [usize; 2] = [12, 40];
/// The most files written, and files read, that are listed first.
const FILES: [usize; 2] = [20, 5];
/// The most tool calls that are listed of an unfinished turn.
const STEPS: usize = 6;
/// The paths of checks that passed like another one, in characters.
const LIKE_CHARS: usize = 100;
/// Short texts of Claude's that rank before the others.
const SAID: usize = 4;
/// The length of the excerpt of an earlier answer, in characters.
const EXCERPT_CHARS: usize = 180;
/// The length of a text from the middle of a turn, in characters.
const MIDWAY_CHARS: usize = 260;
/// The length of a person's reply to an answer, in characters.
const REPLIED: usize = 80;
/// The length of a prompt that `Request` quotes, in characters.
const NAMED: usize = 24;
/// The place of a text that no file of the record has in full.
const TRANSCRIPT: &str = "the transcript";
/// The most of the beginning of Claude's last words, in UTF-16 units: conclusions are there as often as at
/// the end.
const HEAD: usize = 600;
/// The length of a sub-agent's report before the newest one, in characters: one of the first [`REPORTS`], and
/// one of the next [`MORE_REPORTS`].
const REPORT: [usize; 2] = [320, 160];
/// Reports before the newest one that are listed first.
const REPORTS: usize = 4;
/// Reports before those that are listed with less of each.
const MORE_REPORTS: usize = 7;

/// The sections of the record.
pub(super) fn parts(
    of: &Capture,
    words: &Words,
    shared: &SharedWordTable,
    places: &BriefFiles,
) -> Vec<BriefPart> {
    let groups = step_groups(of);
    vec![
        last_words(of, words),
        list("Next", [500, 1300], &next(of, words, places), &HashMap::new()),
        open_plan(of, places),
        plan(of),
        agreed(of),
        own_words(of),
        summary_before(of),
        report(of),
        list("Work in hand", [1000, 2600], &in_hand(of, shared, places, &groups), &longer(of, &groups)),
        list("Record (data)", [500, 1400], &record(of, places, &groups), &HashMap::new()),
        said_before(of, words, shared),
        printed(of),
        further_back(of, places, &groups),
    ]
}

/// A part with lines, with its floor and its ideal. `longer` has longer forms of some lines, for when there
/// is room.
fn list(
    title: &'static str,
    [floor, ideal]: [usize; 2],
    lines: &[String],
    longer: &HashMap<String, String>,
) -> BriefPart {
    let short = |line: &String| format!("- {}", cut_chars(&safe_line(line), RECORD_LINE_MAX));
    let long = |line: &String| longer.get(line).map_or_else(|| short(line), |long| format!("- {long}"));
    let longer = if longer.is_empty() { Vec::new() } else { vec![lines.iter().map(long).collect()] };
    let order = (0..lines.len()).collect();
    let lines = lines.iter().map(short).collect();
    let passage = Passage::Lines { lines, order, longer, more_in: DOCUMENT_FILE };
    BriefPart { title, floor, ideal, passage }
}

/// A part with one text, with its floor and its ideal; `whole_in` names the file that has all of it.
fn text_part(
    title: &'static str,
    [floor, ideal]: [usize; 2],
    above: String,
    text: String,
    cut: TextCut,
    whole_in: &'static str,
) -> BriefPart {
    let passage = Passage::Text { above, text, cut, whole_in, below: String::new() };
    BriefPart { title, floor, ideal, passage }
}

/// Lines of the work in hand that have a longer form, with that form.
fn longer(of: &Capture, groups: &[StepGroup<'_>]) -> HashMap<String, String> {
    /// The length of either where there is room, in characters.
    const REPORT_LONG: usize = 3600;
    let reports = (0..).zip(of.reports.here.iter().rev().skip(1).take(REPORTS + MORE_REPORTS));
    let reports = reports.map(|(at, one)| {
        let cap = REPORT[usize::from(at >= REPORTS)];
        (reported(one, cap), reported(one, REPORT_LONG))
    });
    let steps = groups
        .iter()
        .take(STEPS)
        .map(|group| (last_step(&group.line, group), last_step(&group.longer, group)));
    reports.chain(steps).collect()
}

fn last_step(line: &str, group: &StepGroup<'_>) -> String {
    format!("last steps: {}", group.text(line))
}

fn last_words(of: &Capture, words: &Words) -> BriefPart {
    let mut below = String::new();
    if asks(&words.last_answer) {
        below.push_str(match (of.answers.replied, is_awaited(of, words)) {
            (true, _) if of.prompts.unanswered => "The person has answered: see \"Request\".\n",
            (false, true) if of.ran_since => "The person has run a command since: see \"Work in hand\".\n",
            (false, true) => "The person has not answered yet.\n",
            (false, false) if !of.situation.turn_ended && of.situation.queued.is_empty() => {
                "The person has said nothing since.\n"
            }
            _ => "",
        });
    }
    let title = "Your last words";
    BriefPart {
        title,
        floor: 900,
        ideal: 2600,
        passage: Passage::Text {
            above: String::new(),
            text: words.last_answer.clone(),
            cut: TextCut::Ends(HEAD),
            whole_in: ANSWER_FILE,
            below,
        },
    }
}

/// The plan that the person approved. Once they have set other work, it gets only the room that is left.
fn plan(of: &Capture) -> BriefPart {
    let none = PlanInHand::default();
    let plan = of.plans.approved.as_ref().unwrap_or(&none);
    let room = if plan.is_current { [2200, 3000] } else { [0, 300] };
    let above = match plan.is_current && !plan.said_since {
        true => String::new(),
        false => "The person has said more since: see \"Request\".\n".to_owned(),
    };
    let text = safe(&plan.text).trim().to_owned();
    text_part("Your plan, which the person approved", room, above, text, TextCut::Beginning, PLAN_FILE)
}

/// The plan that the person is asked to approve.
fn open_plan(of: &Capture, places: &BriefFiles) -> BriefPart {
    let none = PlanInHand::default();
    let plan = of.plans.open.as_ref().unwrap_or(&none);
    let above = match &plan.file {
        Some(file) => format!("Your own file of it: {}\n", places.show(file)),
        None => String::new(),
    };
    let text = safe(&plan.text).trim().to_owned();
    text_part("Your plan, not approved yet", [2200, 3000], above, text, TextCut::Beginning, OPEN_PLAN_FILE)
}

/// Long answers of Claude's to which the person replied in a few words, such as "ok do it".
fn agreed(of: &Capture) -> BriefPart {
    let said = |one: &AgreedAnswer| {
        let reply = cut_chars(&safe_line(&one.reply), REPLIED);
        format!("[to this the person said \"{reply}\"]\n{}", safe(&one.text).trim())
    };
    let text = of.answers.agreed.iter().map(said).collect::<Vec<_>>().join("\n\n");
    text_part(
        "Your answers that the person replied to in a few words",
        [900, 2600],
        String::new(),
        text,
        TextCut::Lines,
        AGREED_FILE,
    )
}

/// Claude's own summary of a conversation whose transcript does not exist.
fn summary_before(of: &Capture) -> BriefPart {
    let text = safe(of.summary_before.as_deref().unwrap_or_default()).trim().to_owned();
    text_part(
        "Your summary of what was said before this transcript begins (data)",
        [900, 2600],
        String::new(),
        text,
        TextCut::Beginning,
        TRANSCRIPT,
    )
}

/// What a sub-agent reported last.
fn report(of: &Capture) -> BriefPart {
    let none = AgentReport::default();
    let report = of.reports.here.last().unwrap_or(&none);
    let text = safe(&report.text).trim().to_owned();
    text_part(
        "What a sub-agent reported last (data)",
        [400, 1000],
        format!("{}:\n", cut_chars(&origin(report), RECORD_LINE_MAX)),
        text,
        TextCut::Ends(HEAD),
        REPORTS_FILE,
    )
}

/// The output of the last commands, newest first, except output that another line shows.
fn printed(of: &Capture) -> BriefPart {
    /// The most commands whose output is quoted.
    const PRINTED: usize = 16;
    /// The most output that is quoted in all, in UTF-16 units.
    const PRINTED_UNITS: usize = 8000;
    /// The length of the command above its output, in characters.
    const STEP_CHARS: usize = 140;
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A newer run of the same programs takes the place of one with a result.
    let failed = |about: &str, output: &str| {
        judge(about, output, false).is_some_and(|verdict| verdict.outcome == CheckOutcome::Failed)
    };
    let is_passed = |about: &str, output: &str| {
        let is_it = |at: &usize| flat(&of.checks[*at].command) == about;
        let is_newer_run = |at: &usize| is_same_run(&of.checks[*at].command, about) && failed(about, output);
        let all = 0..of.checks.len();
        let at = all.clone().rev().find(is_it).or_else(|| all.rev().find(is_newer_run));
        let at = at.filter(|_| !about.is_empty());
        at.is_some_and(|at| {
            of.checks[at].verdict.outcome == CheckOutcome::Passed || passed_since(&of.checks, at).is_some()
        })
    };
    let claudes = of.steps.here.iter().rev().map(|done| &done.step);
    // Claude Code's own text about a call that the person refused is not output.
    let claudes = claudes.filter(|step| step.outcome != ToolOutcome::Refused);
    let claudes = claudes.map(|step| (step.after, "", &step.about, &step.output));
    let persons = of.shell_commands.iter().rev();
    let persons = persons.map(|ran| (ran.after, "run by the person: ", &ran.command, &ran.output));
    let mut all: Vec<_> = persons.chain(claudes).collect();
    all.sort_by_key(|(after, ..)| Reverse(*after));
    // Only the newest run of a command counts.
    let mut known: HashSet<&str> = HashSet::new();
    all.retain(|(.., command, output)| {
        (command.is_empty() || known.insert(command)) && !output.is_empty() && !is_passed(command, output)
    });
    let mut room = PRINTED_UNITS;
    let texts = all.into_iter().take(PRINTED).map(|(_, whose, command, output)| {
        format!("[{whose}{}]\n{}", cut_chars(&safe_line(command), STEP_CHARS), safe(output).trim_end())
    });
    let texts = texts.take_while(|text| {
        let left = room.checked_sub(units(text));
        room = left.unwrap_or(0);
        left.is_some()
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    text_part(
        "What the last commands printed (data)",
        [0, 1500],
        String::new(),
        text,
        TextCut::Beginning,
        TRANSCRIPT,
    )
}

/// Whether Claude ended with a question that has no answer yet, as far as is known.
fn is_awaited(of: &Capture, words: &Words) -> bool {
    of.situation.turn_ended
        && !of.answers.replied
        && of.situation.queued.is_empty()
        && asks(&words.last_answer)
}

/// Claude's question that was not answered because something else followed it, such as a sub-agent's report.
fn open_question(of: &Capture) -> Option<&EarlierAnswer> {
    let newest = of.answers.earlier.iter().rev().find(|answer| answer.awaits_reply && asks(&answer.text));
    newest.filter(|_| of.situation.turn_ended && !of.answers.replied && of.situation.queued.is_empty())
}

/// Texts of Claude's or of a person: `--summary-file`, and files written for the next conversation.
fn own_words(of: &Capture) -> BriefPart {
    // The parts of a note in the requested form are in other sections.
    let summary = of.summary.as_deref().filter(|_| of.note.is_none());
    let texts: Vec<String> = [summary, of.own_file.as_deref()]
        .into_iter()
        .flatten()
        .map(|text| safe(text).trim().to_owned())
        .collect();
    let text = texts.join("\n\n");
    text_part("In your own words", [600, 2000], String::new(), text, TextCut::Ends(HEAD), DOCUMENT_FILE)
}

fn next(of: &Capture, words: &Words, places: &BriefFiles) -> Vec<String> {
    /// The length of a question without an answer, in characters.
    const QUESTION: usize = 300;
    /// The most background work that is listed as still running.
    const RUNNING: usize = 12;
    let situation = &of.situation;
    let mut next = Vec::new();
    let newest = words.prompts.first().filter(|said| said.number.is_some());
    if newest.is_some_and(|said| said.prompt.interrupted) {
        next.push(
            "the person stopped you in the middle of the newest request: do not go on with it unless they \
             ask for it"
                .to_owned(),
        );
    } else if is_awaited(of, words) && of.ran_since {
        next.push(
            "The person has run a command since your question above, see \"Work in hand\": ask again only \
             what that leaves open."
                .to_owned(),
        );
    } else if is_awaited(of, words) {
        next.push(
            "Your question above has no answer yet. Ask it again and wait, unless the request already \
             answers it."
                .to_owned(),
        );
    } else if let Some(question) = open_question(of) {
        let question = shorten(&safe_line(&question.text), QUESTION);
        next.push(format!("You had asked this and have no answer yet: ask it again and wait: {question}"));
    }
    if let Some(failure) = &situation.failure {
        let failure = if failure.is_empty() { String::new() } else { format!(" ({failure})") };
        next.push(format!("the API failed before you had answered{failure}: go on with the request"));
    }
    if let Some(note) = &of.note {
        if !note.doing.is_empty() {
            next.push(format!("you were in the middle of (in your own words): {}", note.doing));
        }
        next.extend(note.next.iter().map(|step| format!("next (in your own words): {step}")));
    }
    let head = of.git.as_ref().and_then(|git| git.head.as_deref());
    // Paths of the project are relative to it, as everywhere. A check that still runs is listed with its
    // output.
    let checked = match &situation.operation {
        Operation::Verifying(command) => Some(cut_chars(&safe_line(command), 100)),
        _ => None,
    };
    let is_checked = |what: &str| {
        checked.as_deref().is_some_and(|begin| safe_line(what).starts_with(begin.trim_end_matches("...")))
    };
    if !situation.background.iter().any(|what| is_checked(what)) {
        next.extend(
            situation
                .operation
                .sentence(head)
                .map(|sentence| sentence.replace(&format!("{}/", places.project), "")),
        );
    }
    next.extend(situation.asked.iter().map(|question| {
        if of.plans.open.is_some() && question.starts_with(PLAN_WAITS) {
            return "The person has not approved your plan below: ask for approval before you begin."
                .to_owned();
        }
        format!("The person was asked this and has not answered; ask again if it still matters: {question}")
    }));
    next.extend(
        situation
            .open_tools
            .iter()
            .filter(|tool| !is_checked(tool))
            .map(|tool| format!("This call was cut off; check whether it took effect: {tool}")),
    );
    // The lines below say nothing of the work in hand.
    let is_known = !next.is_empty();
    next.extend(
        situation
            .failed_unread
            .iter()
            .rev()
            .map(|one| format!("this failed, and you have not looked at it: {one}")),
    );
    let running = &situation.background;
    let more = running.len().saturating_sub(RUNNING);
    next.extend(running.iter().skip(more).map(|work| match is_checked(work) {
        true => format!("This check was still running: run it again before you rely on it: {work}"),
        false => format!("This was still running when the conversation ended: {work}"),
    }));
    if more > 0 {
        next.push(format!("{more} more that had been started before these were still running"));
    }
    next.extend(scheduled(of));
    next.extend(situation.queued.iter().map(|prompt| match situation.queue_follows {
        true => format!("the person had typed this, and hopty sends it after this brief: {prompt}"),
        false => format!("the person had typed this, and you have not answered it: {prompt}"),
    }));
    next.extend(situation.queued_by_nobody.iter().map(|text| {
        format!(
            "this stood in your queue, and nobody is known to have typed it as a prompt (it may be a shell \
             command); it did not run and is no request: {text}"
        )
    }));
    if situation.draft.as_deref().is_some_and(|draft| !draft.trim().is_empty()) {
        next.push(
            "a draft of the person stood in the prompt box, not sent: it is put back there, and is no \
                   request yet"
                .to_owned(),
        );
    }
    let first = match (of.prompts.unanswered, situation.turn_ended) {
        _ if is_known => None,
        (true, _) => Some("do what the newest words under \"Request\" say"),
        (false, true) if next.is_empty() => Some(
            "You had ended your turn. If your last words ask or offer something, wait for the person's answer; \
             else say what is left of the request.",
        ),
        (false, true) => None,
        (false, false) => Some("go on with the request: the last steps stand under \"Work in hand\""),
    };
    first.map(str::to_owned).into_iter().chain(next).collect()
}

fn in_hand(
    of: &Capture,
    shared: &SharedWordTable,
    places: &BriefFiles,
    groups: &[StepGroup<'_>],
) -> Vec<String> {
    /// The most background work that is listed as ended.
    const ENDED: usize = 4;
    let (old, current): (Vec<Task>, Vec<Task>) =
        of.tasks.list.iter().cloned().partition(|task| of.tasks.old.contains(&task_key(task)));
    let to_do = if of.tasks.said_since { "to do (the person has said more since)" } else { "to do" };
    let (mut lines, more_tasks) = tasks(of, &current, to_do);
    let done = of.tasks.list.iter().filter(|task| task.status == TaskStatus::Completed).count();
    if done > 0 {
        lines.push(format!("{done} of {} to-dos are done", of.tasks.list.len()));
    }
    let [newest_checks, _] = checks(of, places);
    lines.extend(newest_checks);
    lines.extend(written(of, places));
    let [first_read, _] = read(&of.files.read, places);
    lines.extend(first_read);
    let before = of.reports.here.iter().rev().skip(1);
    lines.extend(before.clone().take(REPORTS).map(|one| reported(one, REPORT[0])));
    let dir = |report: &AgentReport| Some(safe_line(report.file.as_ref()?.rsplit_once('/')?.0));
    if let Some(dir) = before.clone().find_map(dir) {
        lines.push(format!("what these agents wrote is in {dir}: reports.md has the names"));
    }
    let is_check = |command: &str| of.checks.iter().any(|check| check.command == command);
    lines.extend(of.shell_commands.iter().rev().map(|ran| {
        let line = match safe_line(&ran.line) {
            line if line.is_empty() || is_check(&ran.command) => String::new(),
            line => format!(" -> {}", cut_chars(&line, 140)),
        };
        format!("the person ran this themselves: `{}`{line}", safe_line(&ran.command))
    }));
    match &of.note {
        Some(note) => {
            lines.extend(note.decisions.iter().map(|one| format!("you decided: {one}")));
            lines.extend(note.verified.iter().map(|one| format!("checked, in your own words: {one}")));
            lines.extend(note.gotchas.iter().map(|one| format!("easy to get wrong: {one}")));
            lines.extend(note.done.iter().map(|one| format!("done, not to be done again: {one}")));
        }
        None => {
            let is_told = |one: &&StatedDecision| {
                let is_last = one.reply.is_none() && of.answers.last.contains(&one.text);
                is_last || of.answers.agreed.iter().any(|other| other.text.contains(&one.text))
            };
            lines.extend(
                of.answers.promises().filter(|one| !is_told(one)).map(|one| promised(one, of, shared)),
            );
        }
    }
    let is_next = |one: &&String| of.situation.failed_unread.contains(one);
    let ended = of.situation.ended.iter().rev().filter(|one| !is_next(one)).take(ENDED);
    lines.extend(ended.map(|one| format!("no longer running: {one}")));
    lines.extend(of.detached.iter().rev().map(detached));
    let steps = groups.iter().take(STEPS).filter(|group| !group.newest.looked);
    lines.extend(steps.map(|group| last_step(&group.line, group)));
    // Less useful lines, for when there is room.
    lines.extend(more_tasks);
    let (first, more) = tasks(of, &old, "to do, from before the current request");
    lines.extend(first.into_iter().chain(more));
    lines.extend(before.skip(REPORTS).take(MORE_REPORTS).map(|one| reported(one, REPORT[1])));
    lines
}

/// A report of a sub-agent's on one line.
fn reported(report: &AgentReport, cap: usize) -> String {
    format!("{} (data): {}", agent_name(report), shorten(&safe_line(&report.text), cap))
}

/// A promise, and Claude's later words about the same thing, which may say that it was kept.
fn promised(one: &StatedDecision, of: &Capture, shared: &SharedWordTable) -> String {
    /// The length of what Claude said later about a promise, in characters.
    const LATER: usize = 160;
    let answers = of.answers.all();
    let later = || {
        let at = answers.iter().position(|answer| answer.text.contains(&one.text))?;
        let (later, words) = shared.later_answer(at)?;
        let sentence = sentences(&answers[later].text).find(|sentence| has_any(sentence, &words))?;
        Some(format!(" Later you said: \"{}\"", cut_chars(&safe_line(sentence), LATER)))
    };
    format!("{}{}", stated(one), later().unwrap_or_default())
}

/// The written files that did not fit on the first lines of files.
fn more_written(of: &Capture, places: &BriefFiles) -> Vec<String> {
    /// The most written files of each kind, where there is room.
    const FILES_IN_ALL: usize = 60;
    let mut lines = Vec::new();
    for (first, more, paths) in written_files(of) {
        let names: Vec<String> = paths.iter().take(FILES_IN_ALL).map(|path| places.show(path)).collect();
        let told: Vec<String> =
            paths.iter().take(FILES[0]).map(|path| written_name(of, places, path)).collect();
        let mut rest = names.get(fitting(first, &told)..).unwrap_or_default();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(more, rest));
            lines.push(format!("{more}: {}", now.join(", ")));
            rest = later;
        }
    }
    lines
}

/// The files that tools wrote, newest first, in three groups: those that git reports as changed or knows
/// nothing about, those without a change in git, and those that no longer exist. Each group has the
/// beginnings of its lines.
fn written_files(of: &Capture) -> [(&'static str, &'static str, Vec<&String>); 3] {
    /// How the lines begin that list written files.
    const WRITTEN: &str = "files written, newest first";
    const MORE_WRITTEN: &str = "more files written";
    /// The same for written files in which git shows no change.
    const SETTLED: &str = "written, and git shows no change (committed, taken back or ignored)";
    const MORE_SETTLED: &str = "more files unchanged in git";
    /// The same for written files that no longer exist.
    const GONE: &str = "gone since you wrote them (moved or deleted)";
    const MORE_GONE: &str = "more files gone";
    let is_gone = |path: &&String| of.git.as_ref().is_some_and(|git| git.gone.contains(path));
    let (gone, there): (Vec<&String>, Vec<&String>) = of.files.written.iter().partition(is_gone);
    let settled = |path: &&String| of.git.as_ref().is_some_and(|git| is_settled(git, path));
    let (settled, open): (Vec<&String>, Vec<&String>) = there.into_iter().partition(settled);
    [(WRITTEN, MORE_WRITTEN, open), (SETTLED, MORE_SETTLED, settled), (GONE, MORE_GONE, gone)]
}

/// Whether git reports no change in a file of its work tree.
fn is_settled(git: &GitState, path: &str) -> bool {
    let Some(top) = git.top.as_deref().filter(|_| !git.unknown) else { return false };
    let Some(inner) = path.strip_prefix(top).and_then(|rest| rest.strip_prefix('/')) else { return false };
    if git.inner.iter().any(|top| path.strip_prefix(&**top).is_some_and(|rest| rest.starts_with('/'))) {
        return false;
    }
    // New folders are listed as one.
    let is_at = |changed: &str| inner == changed || changed.ends_with('/') && inner.starts_with(changed);
    !git.changed.iter().any(|(_, changed)| is_at(changed))
}

fn written_name(of: &Capture, places: &BriefFiles, path: &String) -> String {
    format!("{}{}", places.show(path), if of.files.created.contains(path) { " (new)" } else { "" })
}

/// A command that the shell left running.
fn detached(one: &DetachedCommand) -> String {
    let line = match safe_line(&one.line) {
        line if line.is_empty() => line,
        line => format!(" -> {}", cut_chars(&line, 80)),
    };
    format!("started by the shell, may still run: `{}`{line}", cut_chars(&safe_line(&one.command), 260))
}

/// A decision that Claude stated, with the person's reply.
fn stated(one: &StatedDecision) -> String {
    match &one.reply {
        // The reply is never cut to make room for a long sentence.
        Some(reply) => {
            let reply = then_said(&cut_chars(reply, REPLIED));
            format!("you said: {}{reply}", shorten(&safe_line(&one.text), 200))
        }
        None => format!("you said: {}", one.text),
    }
}

/// Tool calls of one form that ended in one form, as `git add a1` and `git add a2`.
struct StepGroup<'a> {
    /// The newest of them, and its line.
    newest: &'a ToolStep,
    line: String,
    /// The same with the end of a longer command.
    longer: String,
    form: String,
    /// How often the newest call ended this way.
    times: usize,
    /// The arguments of the other calls, newest first, without duplicates.
    alike: Vec<String>,
}

impl StepGroup<'_> {
    /// One of its lines, with the number of further calls.
    fn text(&self, line: &str) -> String {
        let mut text = line.to_owned();
        if self.times > 1 {
            text.push_str(&format!(" ({} times)", self.times));
        }
        match self.alike.len() {
            0 => {}
            1 => text.push_str(" (and one like it)"),
            more => text.push_str(&format!(" (and {more} like it)")),
        }
        text
    }

    /// The arguments of the other calls.
    fn others(&self) -> Option<String> {
        let name = named_call(&self.newest.about);
        let others: Vec<String> = self.alike.iter().filter(|one| **one != name).cloned().collect();
        (!others.is_empty()).then(|| listed(&format!("like {name}"), &others, others.len()))
    }
}

/// The argument of a call, as the call's name.
fn named_call(about: &str) -> String {
    /// The length of the name of a call, in characters.
    const LOOK_CHARS: usize = 100;
    format!("`{}`", cut_chars(&safe_line(about).replace('`', "'"), LOOK_CHARS))
}

/// The last tool calls that no other line mentions, newest first; calls that only read come last.
fn step_groups(of: &Capture) -> Vec<StepGroup<'_>> {
    // Paths of the project are relative to it, as everywhere; a command is left as it was, without its `cd`.
    let project = format!("{}/", of.origin.working_dir);
    let mut groups: Vec<StepGroup<'_>> = Vec::new();
    for done in steps_to_tell(of).filter(|done| !is_refusal_told(of, done)) {
        let [mut line, mut longer] = [recent_activity::line(done), recent_activity::longer_line(done)];
        let [from, to] = match &*done.step.tool {
            "Bash" => [format!("Bash: cd {} && ", of.origin.working_dir), "Bash: ".to_owned()],
            _ => [project.clone(), String::new()],
        };
        [line, longer] = [line, longer].map(|line| line.replace(&from, &to));
        let form = form(&line);
        let Some(group) = groups.iter_mut().find(|group| group.form == form) else {
            groups.push(StepGroup { newest: &done.step, line, longer, form, times: 1, alike: Vec::new() });
            continue;
        };
        let about = named_call(&done.step.about);
        if group.line == line {
            group.times += 1;
        } else if !group.alike.contains(&about) {
            group.alike.push(about);
        }
    }
    groups.sort_by_key(|group| group.newest.looked);
    groups
}

/// What was done before the last steps, in this conversation and earlier ones, and what agents had reported.
fn further_back(of: &Capture, places: &BriefFiles, groups: &[StepGroup<'_>]) -> BriefPart {
    let [_, more_read] = read(&of.files.read, places);
    let [_, mut lines] = checks(of, places);
    lines.extend(more_written(of, places));
    lines.extend(more_read);
    lines.extend(looks(of));
    let looked = groups.iter().take(STEPS).filter(|group| group.newest.looked);
    lines.extend(looked.map(|group| last_step(&group.line, group)));
    let told_here = |group: &&StepGroup<'_>| group.newest.outcome != ToolOutcome::Failed;
    lines.extend(groups.iter().skip(STEPS).filter(told_here).map(|group| group.text(&group.line)));
    lines.extend(groups.iter().filter(|group| !group.newest.looked).filter_map(StepGroup::others));
    let reports = of.reports.before.iter().map(|one| reported(one, REPORT[0]));
    lines.extend(reports.map(|line| format!("reported in an earlier conversation: {line}")));
    let reports = of.reports.here.iter().rev().skip(1 + REPORTS + MORE_REPORTS);
    lines.extend(reports.map(|one| reported(one, REPORT[1])));
    let before = of.steps.before.iter();
    lines.extend(before.map(|line| format!("in an earlier conversation: {line}")));
    list("What was done further back (data)", [0, 900], &lines, &HashMap::new())
}

/// What Claude searched and read with commands, newest first, without duplicates: this names files that no
/// other line mentions.
fn looks(of: &Capture) -> Option<String> {
    /// How the line begins that lists calls which only read.
    const LOOKED: &str = "searched last";
    /// The most calls on that line.
    const LOOKS: usize = 6;
    let mut told: Vec<String> = Vec::new();
    let passed = |done: &&FinishedStep| done.step.looked && done.step.outcome != ToolOutcome::Failed;
    for step in of.steps.here.iter().rev().filter(passed).map(|done| &done.step) {
        let look = named_call(&step.about);
        if !step.about.is_empty() && told.len() < LOOKS && !told.contains(&look) {
            told.push(look);
        }
    }
    (!told.is_empty()).then(|| listed(LOOKED, &told, told.len()))
}

/// The tool calls with information that no other line has, newest first.
fn steps_to_tell(of: &Capture) -> impl Iterator<Item = &FinishedStep> {
    let passed_since = |at: usize, failed: &FinishedStep| {
        of.steps.here[at + 1..].iter().any(|done| {
            let is_same = (&done.step.tool, &done.step.about) == (&failed.step.tool, &failed.step.about);
            is_same && done.step.outcome == ToolOutcome::Passed
        })
    };
    let is_detached = |done: &FinishedStep| of.detached.iter().any(|one| one.command == done.step.about);
    let is_over = move |at: usize, done: &FinishedStep| match done.step.outcome {
        ToolOutcome::Failed | ToolOutcome::Refused => passed_since(at, done),
        ToolOutcome::Passed | ToolOutcome::Unknown => is_detached(done) || done.step.looked,
    };
    let steps = of.steps.here.iter().enumerate().rev();
    steps.filter(move |(at, done)| !done.step.has_own_list() && !is_over(*at, done)).map(|(_, done)| done)
}

/// Whether the person said why they refused the call: their words then name it.
fn is_refusal_told(of: &Capture, done: &FinishedStep) -> bool {
    let call = format!("{REFUSED_CALL}{} {}", done.step.tool, done.step.about);
    let begin: String = call.trim_end().chars().take(REFUSED_CALL.len() + 60).collect();
    let is_about = |said: &TranscriptPrompt| {
        said.kind == PromptKind::Refusal
            && said.asked.as_deref().is_some_and(|asked| asked.starts_with(&begin))
    };
    let is_question = done.step.tool == "AskUserQuestion";
    done.step.outcome == ToolOutcome::Refused && (is_question || of.prompts.here.iter().any(is_about))
}

/// What Claude said before its last words, newest first: findings of the unfinished turn, answers with their
/// prompts and the person's replies, and texts from the middle of earlier turns.
fn said_before(of: &Capture, words: &Words, shared: &SharedWordTable) -> BriefPart {
    let all = of.answers.all();
    let texts = all.iter().map(|answer| &*answer.text).chain([&*words.last_answer]);
    let mut said = SaidBefore::of(words, shared, AnswerWords::of(texts));
    let exchanges: Vec<String> =
        all.iter().map(|answer| format!("{}\n{}", answer.prompt, answer.text)).collect();
    said.returned_to = returns_to(said.newest, &exchanges);
    let answers: Vec<(String, &EarlierAnswer)> =
        all.into_iter().map(|answer| (safe_line(&answer.text), answer)).collect();
    for text in of.answers.findings.iter().rev().map(|text| safe_line(text)) {
        said.midway(&text, of);
    }
    let mut from = 0;
    let recent = of.recent.iter().rev().filter(|said| said.speaker == TranscriptSpeaker::Claude);
    // The last words are in a section of their own, and an earlier answer may equal them.
    let mut recent = recent.map(|said| safe_line(&said.text)).peekable();
    recent.next_if(|text| said.last.contains(&begin_of(without_opening(text))));
    for text in recent {
        // A long text is in its answer with its beginning and its end.
        let begin = begin_of(&text);
        let is_same = |answer: &(String, &EarlierAnswer)| answer.0.starts_with(&begin);
        if let Some(at) = answers[from..].iter().position(is_same) {
            (from..=from + at).for_each(|at| said.answer(at, &answers[at], of));
            from += at + 1;
        } else if !of.answers.findings.iter().any(|finding| text.starts_with(&begin_of(&safe_line(finding))))
        {
            said.midway(&text, of);
        }
    }
    (from..answers.len()).for_each(|at| said.answer(at, &answers[at], of));
    of.answers.findings_before.iter().rev().for_each(|text| said.found_before(&safe_line(text), of));
    of.answers.stated.iter().rev().for_each(|one| said.reason(one, of));
    let all = said.lines;
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| {
        let line = &all[*at];
        // What says about as much as another comes in the order of time.
        let says = if *at < SAID { None } else { Some(Reverse((line.rare_words + 1).ilog2())) };
        (line.rank, says)
    });
    let lines = |of: &dyn Fn(&SaidLine) -> &String| -> Vec<String> {
        all.iter().map(|line| format!("- {}", safe_line(of(line)))).collect()
    };
    let longer =
        [0, 1].map(|at| lines(&|line| line.longer.as_ref().map_or(&line.text, |longer| &longer[at])));
    let passage = Passage::Lines {
        lines: lines(&|line| &line.text),
        order,
        longer: longer.into(),
        more_in: DOCUMENT_FILE,
    };
    BriefPart { title: "What you said before, newest first", floor: 0, ideal: 1800, passage }
}

/// The order in which lines of that part are kept when there is not enough room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SaidRank {
    /// The newest prompt returns to it.
    Asked,
    /// It has one of the newest reasons, or it refers to something older, which it may revoke.
    First,
    Says,
    /// Further texts without a number from the middle of turns.
    Behind,
    /// A further answer of a known form, or one that says little.
    Alike,
}

/// One of the lines of that part.
struct SaidLine {
    text: String,
    /// Longer forms: for some room, and for more.
    longer: Option<[String; 2]>,
    rank: SaidRank,
    /// How many words of its best sentence are in no other answer.
    rare_words: usize,
}

/// The lines of that part.
struct SaidBefore<'a> {
    shared: &'a SharedWordTable,
    answer_words: AnswerWords,
    /// The last words, on one line.
    last: String,
    /// The newest prompts, on one line. `Request` quotes them in full, so here their beginnings suffice.
    above: Vec<String>,
    /// The newest prompt, and the place of the answer of an older topic that it returns to.
    newest: &'a str,
    returned_to: Option<usize>,
    /// The prompt of the previous line's answer, which is the person's reply to this one.
    said_next: &'a str,
    prompts: &'a [PersonPrompt],
    /// Texts from the middle of a turn that have a line, and how many of them only announce the next step.
    texts: Vec<String>,
    plain: usize,
    /// The number of answers of each form so far.
    forms: HashMap<String, usize>,
    /// Newest first, as far as that is known.
    lines: Vec<SaidLine>,
}

impl<'a> SaidBefore<'a> {
    fn of(words: &'a Words, shared: &'a SharedWordTable, answer_words: AnswerWords) -> Self {
        /// The newest prompts that `Request` always quotes.
        const ABOVE: usize = 6;
        Self {
            shared,
            answer_words,
            last: safe_line(&words.last_answer),
            above: words.prompts.iter().take(ABOVE).map(|said| one_line(&said.prompt.text)).collect(),
            newest: words.prompts.first().map_or("", |said| &said.prompt.text),
            returned_to: None,
            said_next: "",
            prompts: &words.prompts,
            texts: Vec::new(),
            plain: 0,
            forms: HashMap::new(),
            lines: Vec::new(),
        }
    }

    /// Whether another part has it.
    fn is_told(&self, text: &str, of: &Capture) -> bool {
        let begin = begin_of(text);
        self.last.contains(text)
            || of.answers.promises().any(|one| safe_line(&one.text) == text)
            || of.answers.agreed.iter().any(|one| safe_line(&one.text).starts_with(&begin))
    }

    fn named(&self, prompt: &str, cap: usize) -> String {
        let line = one_line(prompt);
        let begin: String = line.chars().take(NAMED).collect();
        let is_above = self.above.iter().any(|known| known.starts_with(&begin));
        cut_chars(&line, if is_above { NAMED } else { cap })
    }

    /// A text from the middle of a turn. Texts with a number, a path or a name report findings; short ones
    /// without announce the next step.
    fn midway(&mut self, text: &str, of: &Capture) {
        let text = without_opening(text);
        let is_known = self.texts.iter().any(|known| known == text);
        if !is_informative(text) || is_known || self.is_told(text, of) {
            return;
        }
        let is_plain = !text.contains(|c: char| c.is_ascii_digit() || c == '`' || c == '/');
        let rank = match is_plain {
            _ if has_reason(of, text) => SaidRank::First,
            true if !reports_finding(text) => SaidRank::Alike,
            true if self.plain >= SAID => SaidRank::Behind,
            _ => {
                self.plain += usize::from(is_plain);
                SaidRank::Says
            }
        };
        let reply = refuted(of, text).map(|reply| then_said(&self.named(reply, REPLIED))).unwrap_or_default();
        let line = format!("{}{reply}", shorten(text, MIDWAY_CHARS));
        self.put(line, rank);
        self.texts.push(text.to_owned());
    }

    /// A text from the middle of a finished turn.
    fn found_before(&mut self, text: &str, of: &Capture) {
        let begin = begin_of(text);
        if !self.texts.iter().any(|known| known.starts_with(&begin)) && !self.is_told(text, of) {
            let line = shorten(text, MIDWAY_CHARS);
            let rank = if has_reason(of, text) { SaidRank::First } else { SaidRank::Behind };
            self.put(line, rank);
            self.texts.push(text.to_owned());
        }
    }

    /// A decision with its reason that no earlier line has.
    fn reason(&mut self, one: &StatedDecision, of: &Capture) {
        let text = safe_line(&one.text);
        let is_here = self.lines.iter().any(|line| line.text.contains(&text));
        let is_in_answer = || of.answers.all().iter().any(|answer| answer.text.contains(&one.text));
        if !one.is_promise && !is_here && !is_in_answer() && !self.is_told(&text, of) {
            let rank = if has_reason(of, &text) { SaidRank::First } else { SaidRank::Says };
            self.put(stated(one), rank);
        }
    }

    /// What the person said later with a number of an answer that few other texts have: it may be wrong.
    fn later_prompt(&self, answer: &EarlierAnswer) -> Option<String> {
        let is_own = |said: &PersonPrompt| {
            pasted_text::own_words(&said.prompt.text).trim().starts_with(&answer.prompt)
        };
        let own = self.prompts.iter().position(is_own).filter(|_| !answer.prompt.is_empty())?;
        let (prompt, numbers) = (0..own).find_map(|at| {
            let is_common = |word: &&String| has_digit(word) && has_any(&answer.text, &[(*word).clone()]);
            let numbers: Vec<String> =
                self.shared.prompt(at).of_older.iter().filter(is_common).cloned().collect();
            (!numbers.is_empty()).then_some((&self.prompts[at].prompt.text, numbers))
        })?;
        let own = pasted_text::own_words(prompt);
        let sentence = sentences(&own).find(|sentence| has_any(sentence, &numbers))?;
        Some(format!(" Later the person said: \"{}\"", cut_chars(&safe_line(sentence), REPLIED)))
    }

    /// An answer that ended a turn, the one at the place `at`.
    fn answer(&mut self, at: usize, (text, answer): &(String, &'a EarlierAnswer), of: &Capture) {
        /// The length of the mark for a text that was cut, in characters.
        const MARK_CHARS: usize = 8;
        /// The length of the prompt before its answer, in characters.
        const ANSWERED: usize = 60;
        /// The length of an answer where there is room, and where there is more, in characters.
        const ANSWER_LONG: [usize; 2] = [1000, 4200];
        /// The width of a short answer, in columns: an old one without a number ("It is behind
        /// `legacy_list`.") ranks last.
        const SAYS_DONE: usize = 80;
        /// After this many answers of one form, others of that form rank last.
        const OF_ONE_FORM: usize = 2;
        let text = without_opening(text);
        if self.is_told(text, of) {
            return;
        }
        let prompt = match self.named(&answer.prompt, ANSWERED) {
            prompt if prompt.is_empty() => prompt,
            prompt => format!("to \"{prompt}\": "),
        };
        let reply = answer.reply.as_deref().filter(|reply| *reply != self.said_next);
        let reply = reply.or_else(|| refuted(of, text));
        let reply = reply.map(|reply| then_said(&self.named(reply, REPLIED)));
        let reply = self.later_prompt(answer).or(reply).unwrap_or_default();
        let is_returned_to = self.returned_to == Some(at);
        let said = match answer.reply.as_deref() {
            _ if is_returned_to => self.newest,
            Some(reply) => reply,
            None => self.said_next,
        };
        self.said_next = &answer.prompt;
        let room =
            RECORD_LINE_MAX.saturating_sub(prompt.chars().count() + reply.chars().count() + MARK_CHARS);
        let whole = safe(&answer.text);
        let whole = without_opening(&whole);
        let excerpt = |cap| self.answer_words.excerpt(whole, said, cap);
        let line = format!(
            "{prompt}{}{reply}",
            excerpt(match is_returned_to {
                true => ANSWER_LONG[0],
                false => room.min(EXCERPT_CHARS),
            })
        );
        let times = self.forms.entry(form(text)).or_default();
        *times += 1;
        let longer = ANSWER_LONG.map(|cap| format!("{prompt}{}{reply}", excerpt(cap)));
        let rare_words = self.answer_words.most_rare_words(whole);
        let says_done = || at >= SAID && text.width() <= SAYS_DONE && !has_number(text);
        let says_little = !is_informative(text) || says_done();
        let rank = match () {
            () if is_returned_to => SaidRank::Asked,
            () if self.shared.answer_refers_back(at) || has_reason(of, text) => SaidRank::First,
            () if *times > OF_ONE_FORM || says_little && !answer.is_asked_for() => SaidRank::Alike,
            () => SaidRank::Says,
        };
        self.lines.push(SaidLine { text: line, longer: Some(longer), rank, rare_words });
    }

    fn put(&mut self, text: String, rank: SaidRank) {
        let rare_words = self.answer_words.most_rare_words(&text);
        self.lines.push(SaidLine { text, longer: None, rank, rare_words });
    }
}

/// Whether a text has one of the newest reasons that Claude gave.
fn has_reason(of: &Capture, text: &str) -> bool {
    /// The newest reasons of Claude's, which rank first.
    const REASONS: usize = 6;
    let mut newest = of.answers.stated.iter().rev().filter(|one| !one.is_promise).take(REASONS);
    newest.any(|one| text.contains(&safe_line(&one.text)))
}

/// The person's reply to a decision in this text, which it may reject.
fn refuted<'a>(of: &'a Capture, text: &str) -> Option<&'a str> {
    let is_in_it = |one: &&StatedDecision| one.reply.is_some() && text.contains(&safe_line(&one.text));
    of.answers.stated.iter().rev().find(is_in_it)?.reply.as_deref()
}

/// Whether a text has a digit outside of names in back-ticks.
fn has_number(text: &str) -> bool {
    text.split('`').step_by(2).any(|part| part.contains(|c: char| c.is_numeric()))
}

/// The beginning of a text, long enough to identify it.
fn begin_of(text: &str) -> String {
    /// Two answers that share this many first characters are the same.
    const BEGINNING: usize = 200;
    text.chars().take(BEGINNING).collect()
}

/// The beginning of a prompt on one line.
fn one_line(prompt: &str) -> String {
    safe_line(cut_words(prompt, 4 * REPLY_CAP))
}

/// The person's reply to something that Claude said.
fn then_said(reply: &str) -> String {
    format!(" Then the person said: \"{}\"", cut_chars(&safe_line(reply), REPLY_CAP))
}

/// The open to-dos: those that are listed first, and further ones for when there is room.
fn tasks(of: &Capture, all: &[Task], what: &str) -> (Vec<String>, Vec<String>) {
    let is_open = |id: &&String| {
        of.tasks.list.iter().any(|task| task.id == **id && task.status != TaskStatus::Completed)
    };
    let with = |status| all.iter().filter(move |task| task.status == status);
    let open = with(TaskStatus::InProgress).chain(with(TaskStatus::Pending));
    let count = open.clone().count();
    let mut lines: Vec<String> = open
        .take(TASKS[1])
        .map(|task| {
            let id = if task.id.is_empty() { String::new() } else { format!("#{} ", task.id) };
            let state = if task.status == TaskStatus::InProgress { " (in progress)" } else { "" };
            let first: Vec<String> = task.after.iter().filter(is_open).map(|id| format!("#{id}")).collect();
            let after =
                if first.is_empty() { String::new() } else { format!(" (after {})", first.join(", ")) };
            format!("{what}: {id}{}{state}{after}", task.subject)
        })
        .collect();
    let more = lines.split_off(lines.len().min(TASKS[0]));
    if count > TASKS[0] {
        lines.push(format!("{what}: {} more", count - TASKS[0]));
    }
    (lines, more)
}

/// The newest check that passed after this one had failed and files were edited, and that covers it: it names
/// a path that contains all of its failures.
fn passed_since(checks: &[Check], at: usize) -> Option<&Check> {
    let failed = &checks[at];
    let failing: Vec<&String> =
        failed.verdict.failing.iter().filter(|one| **one != failed.verdict.summary).collect();
    let covers = |word: &str| word.contains(['/', '.']) && failing.iter().all(|one| one.contains(word));
    let passed = |check: &&Check| {
        check.edits_after < failed.edits_after
            && check.verdict.outcome == CheckOutcome::Passed
            && check.command.split_whitespace().any(covers)
    };
    let is_failed = failed.verdict.outcome == CheckOutcome::Failed && !failing.is_empty();
    checks[at + 1..].iter().rev().find(passed).filter(|_| is_failed)
}

/// Checks, judged by their own output: failed ones first, each newest first. The second list has the others:
/// for when there is room.
fn checks(of: &Capture, places: &BriefFiles) -> [Vec<String>; 2] {
    /// The most checks.
    const CHECKS: usize = 6;
    /// The most checks among the first lines that passed before the last edits.
    const OLD_CHECKS: usize = 2;
    let is_first = |at: &usize| {
        of.checks[*at].verdict.outcome == CheckOutcome::Failed && passed_since(&of.checks, *at).is_none()
    };
    let (failed, others): (Vec<usize>, Vec<usize>) = (0..of.checks.len()).rev().partition(is_first);
    // The newest of several passed checks of one form represents them all.
    let mut told: Vec<CheckLine> = Vec::new();
    for at in failed.into_iter().chain(others) {
        let one = &of.checks[at];
        let mut line = check(one, places);
        if let Some(since) = passed_since(&of.checks, at) {
            let since = cut_chars(&safe_line(in_project(&since.command, places)), 100);
            line.push_str(&format!("; later `{since}` passed"));
        }
        let is_path = |word: &&str| word.contains('/') && !word.contains('>');
        let (paths, words): (Vec<&str>, Vec<&str>) =
            in_project(&one.command, places).split_whitespace().partition(is_path);
        let verdict = &one.verdict;
        let form = format!(
            "{} {} {} {}",
            verdict.outcome.word(),
            one.is_stale(),
            verdict.tool,
            form(&words.join(" "))
        );
        let is_passed = verdict.outcome == CheckOutcome::Passed;
        let paths = paths.join(" ");
        match told.iter_mut().find(|known| is_passed && known.form == form) {
            Some(known) => known.add(paths),
            None => told.push(CheckLine {
                form,
                line,
                paths: vec![paths],
                more: 0,
                is_old: is_passed && one.is_stale(),
            }),
        }
    }
    let mut lines = [Vec::new(), Vec::new()];
    let mut old = 0;
    for (at, check) in told.iter().enumerate() {
        old += usize::from(check.is_old);
        lines[usize::from(at >= CHECKS || check.is_old && old > OLD_CHECKS)].push(check.text());
    }
    lines
}

/// The line of a check, and the others of its form that passed.
struct CheckLine {
    /// Its outcome, its runner, and its command without paths.
    form: String,
    line: String,
    /// Its paths, and those of the others that differ in more than a number.
    paths: Vec<String>,
    more: usize,
    /// It passed before the last edits.
    is_old: bool,
}

impl CheckLine {
    fn add(&mut self, paths: String) {
        self.more += 1;
        if !self.paths.iter().any(|known| form(known) == form(&paths)) {
            self.paths.push(paths);
        }
    }

    fn text(&self) -> String {
        let others = match &self.paths[1..] {
            [] => String::new(),
            others => format!(": {}", cut_chars(&safe_line(&others.join(", ")), LIKE_CHARS)),
        };
        match self.more {
            0 => self.line.clone(),
            more => format!("{} ({more} more like it passed{others})", self.line),
        }
    }
}

/// A command without going to the directory of the project, where the next conversation begins.
fn in_project<'a>(command: &'a str, places: &BriefFiles) -> &'a str {
    let rest = command.strip_prefix("cd ").and_then(|rest| rest.strip_prefix(&*places.project));
    rest.and_then(|rest| rest.strip_prefix(" && ")).unwrap_or(command)
}

fn check(check: &Check, places: &BriefFiles) -> String {
    let verdict = &check.verdict;
    let command = cut_chars(&safe_line(in_project(&check.command, places)), 160);
    let mut line = format!("check {}: `{command}`", verdict.outcome.word());
    if !verdict.summary.is_empty() {
        line.push_str(&format!(" ({})", verdict.summary));
    }
    let failing: Vec<&str> =
        verdict.failing.iter().map(String::as_str).filter(|one| *one != verdict.summary).collect();
    if !failing.is_empty() {
        line.push_str(&format!(": {}", failing.join("; ")));
    }
    match &check.last_edit {
        Some(path) => line.push_str(&format!("; run before you last edited {}", places.show(path))),
        None if check.is_stale() => line.push_str("; run before your last edits"),
        None => {}
    }
    line
}

fn written(of: &Capture, places: &BriefFiles) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, _, paths) in written_files(of).iter().filter(|(_, _, paths)| !paths.is_empty()) {
        let names = paths.iter().take(FILES[0]).map(|path| written_name(of, places, path));
        lines.push(listed(what, &names.collect::<Vec<_>>(), paths.len()));
    }
    if !of.files.before.is_empty() {
        let shown: Vec<String> = of.files.before.iter().take(6).map(|path| places.show(path)).collect();
        lines.push(listed("written in the conversations before", &shown, of.files.before.len()));
    }
    lines
}

/// Files that were read: the newest, and further ones for when there is room.
fn read(files: &[FileRead], places: &BriefFiles) -> [Option<String>; 2] {
    /// The most files read that are listed in all.
    const FILES_READ: usize = 12;
    let range =
        |(from, to): &(u64, u64)| if *to == u64::MAX { format!("{from}-") } else { format!("{from}-{to}") };
    let show = |file: &FileRead| {
        let lines: Vec<String> = file.ranges.iter().map(range).collect();
        format!("{}{}{}", places.show(&file.path), if lines.is_empty() { "" } else { ":" }, lines.join(","))
    };
    let shown: Vec<String> = files.iter().take(FILES_READ).map(show).collect();
    let (first, more) = shown.split_at(shown.len().min(FILES[1]));
    let line = |what, shown: &[String], all| (!shown.is_empty()).then(|| listed(what, shown, all));
    [
        line("files read, newest first", first, files.len()),
        line("more files read", more, files.len() - first.len()),
    ]
}

fn listed(what: &str, shown: &[String], all: usize) -> String {
    let told = fitting(what, shown);
    let line = format!("{what}: {}", shown[..told].join(", "));
    if told < all { format!("{line} and {} more", all - told) } else { line }
}

/// How many names fit on a line of at most RECORD_LINE_MAX characters, so that no name is cut.
fn fitting(what: &str, names: &[String]) -> usize {
    let mut width = what.chars().count() + 2;
    let mut told = 0;
    for name in names {
        let more = name.chars().count() + if told > 0 { 2 } else { 0 };
        if told > 0 && width + more > RECORD_LINE_MAX - 20 {
            break;
        }
        width += more;
        told += 1;
    }
    told
}

fn record(of: &Capture, places: &BriefFiles, groups: &[StepGroup<'_>]) -> Vec<String> {
    /// The most changed paths.
    const CHANGED: usize = 15;
    let mut lines = Vec::new();
    if let Some(dir) = &of.situation.moved_to {
        lines.push(format!("it worked in {dir}; this one begins in {}", of.origin.working_dir));
    }
    if let Some(git) = &of.git {
        if git.unknown {
            lines.extend(git.notes.iter().map(|note| format!("git: {note}")));
        } else {
            let head = git.head.as_deref().map_or("no commit", |head| head.get(..12).unwrap_or(head));
            let new = git.changed.iter().filter(|(code, _)| code == "??").count();
            let dir = git.dir.as_deref().map(|dir| format!(" in {dir}")).unwrap_or_default();
            let apart = match (&git.upstream, git.ahead_behind) {
                (Some(upstream), Some((ahead, behind))) => {
                    format!(", {ahead} ahead of and {behind} behind {upstream}")
                }
                _ => String::new(),
            };
            let branch = git.branch.as_deref().unwrap_or("(detached)");
            // git lists new files last, so those are counted completely that come before them.
            let is_cut = git.changed.len() >= CHANGED_PATHS_MAX;
            let least = |is_last: bool| if is_cut && is_last { "at least " } else { "" };
            lines.push(format!(
                "git{dir}: branch {branch} at {head}{apart}, {}{} changed, {}{new} new",
                least(new == 0),
                git.changed.len() - new,
                least(new > 0)
            ));
            lines.extend(git.in_progress.iter().map(|one| format!("git: {one}")));
            let shown: Vec<String> = git
                .changed
                .iter()
                .take(CHANGED)
                .map(|(code, path)| format!("{} {}", code.trim(), places.show(path)))
                .collect();
            if !shown.is_empty() {
                lines.push(listed("git status", &shown, git.changed.len()));
            }
            lines.extend(git.notes.iter().map(|note| format!("git: {note}")));
            lines.extend(outside(of, git, places));
        }
    }
    lines.extend(errors(of, groups));
    lines
}

/// Written files outside of the directory whose git status was read: their state is unknown.
fn outside(of: &Capture, git: &GitState, places: &BriefFiles) -> Option<String> {
    /// The most files outside of the work tree.
    const OUTSIDE: usize = 6;
    let asked = git.dir.as_deref().unwrap_or(&of.origin.working_dir);
    let is_outside = |path: &&String| {
        let is_below = path.strip_prefix(asked).is_some_and(|rest| rest.starts_with('/'));
        path.starts_with('/') && !is_below && !path.starts_with("/tmp/") && !path.contains("/.claude/")
    };
    let files: Vec<String> =
        of.files.written.iter().filter(is_outside).map(|path| places.show(path)).collect();
    (!files.is_empty()).then(|| {
        let what = format!("written outside of {asked}, so git above may not show it");
        listed(&what, &files[..files.len().min(OUTSIDE)], files.len())
    })
}

/// Failures, newest first, without duplicates.
fn errors(of: &Capture, groups: &[StepGroup<'_>]) -> Vec<String> {
    /// The most errors.
    const ERRORS: usize = 6;
    let mut told: Vec<(String, usize)> = Vec::new();
    // Not if the call has passed since, or if it is one of the last steps, which have lines of their own.
    let is_told = |error: &ToolError| {
        let is_same = |step: &ToolStep| {
            step.outcome == ToolOutcome::Failed && (&step.tool, &step.about) == (&error.tool, &error.about)
        };
        let name = named_call(&error.about);
        let is_last = groups.iter().take(STEPS).any(|group| {
            let is_like = group.newest.outcome == ToolOutcome::Failed && group.alike.contains(&name);
            is_same(group.newest) || is_like
        });
        error.passed_since || error.looked || is_check(&error.about) || is_last
    };
    for error in of.errors.iter().rev().filter(|error| !is_told(error)) {
        let about = if error.about.is_empty() {
            String::new()
        } else {
            format!(" `{}`", cut_chars(&safe_line(&error.about), 160))
        };
        let line = format!("failed: {}{about}: {}", error.tool, error.line);
        if let Some((_, times)) = told.iter_mut().find(|(known, _)| *known == line) {
            *times += 1;
        } else if told.len() < ERRORS {
            told.push((line, 1));
        }
    }
    told.into_iter()
        .map(|(line, times)| if times > 1 { format!("{line} ({times} times)") } else { line })
        .collect()
}
