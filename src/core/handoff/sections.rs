//! The sections of a handoff document.
//!
//! Text of a model, a tool or a repository is made safe, and is in a fence or on one line of a list, so that
//! no line of it looks like a heading.

use super::capture::Capture;
use super::operation::Readiness;
use super::recent_activity::activity;
use super::safe_prompts::shorten;
use crate::core::claude::tasks::TaskStatus;
use crate::core::claude::transcript_facts::ToolError;
use crate::core::text::safe_text::{cut_bytes, cut_chars, cut_words, fenced, safe, safe_line};

/// The longest goal in the document, in bytes.
const GOAL_CAP: usize = 256 << 10;
/// The most entries of a list of tasks, files or next steps.
const LISTED: usize = 1000;
/// The most scheduled prompts.
const SCHEDULED: usize = 4;
/// The longest answer, in characters; no longer one is kept.
const ANSWER_CAP: usize = 4096;
/// The longest summary, in bytes.
const SUMMARY_CAP: usize = 16 << 10;

/// In order of priority: earlier sections get space first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Goal,
    State,
    NextSteps,
    Todos,
    Files,
    Decisions,
    Errors,
    Git,
    RecentActivity,
}

impl Section {
    pub const ALL: [Section; 9] = [
        Section::Goal,
        Section::State,
        Section::NextSteps,
        Section::Todos,
        Section::Files,
        Section::Decisions,
        Section::Errors,
        Section::Git,
        Section::RecentActivity,
    ];

    /// The heading without its `## `.
    pub fn title(self) -> &'static str {
        match self {
            Section::Goal => "Goal",
            Section::State => "State",
            Section::NextSteps => "Next Steps",
            Section::Todos => "Todos",
            Section::Files => "Files",
            Section::Decisions => "Decisions",
            Section::Errors => "Errors",
            Section::Git => "Git",
            Section::RecentActivity => "Recent Activity",
        }
    }

    pub fn from_title(title: &str) -> Option<Self> {
        Section::ALL.into_iter().find(|section| section.title() == title)
    }

    /// The text in whole lines; may be empty.
    #[must_use]
    pub fn body(self, of: &Capture) -> String {
        match self {
            Section::Goal => goal(of),
            Section::State => state(of),
            Section::NextSteps => list(&next_steps(of)),
            Section::Todos => todos(of),
            Section::Files => files(of),
            Section::Decisions => {
                let line = |d: &crate::core::claude::transcript_facts::AnsweredQuestion| {
                    format!("{}: {}", cut_line(&d.question), cut_line(&d.answer))
                };
                list(&of.listed_decisions().map(line).collect::<Vec<_>>())
            }
            Section::Errors => errors(of),
            Section::Git => git(of),
            Section::RecentActivity => activity(of),
        }
    }
}

/// What to do first, the most urgent first; never empty. Also in `state.json`.
pub fn next_steps(of: &Capture) -> Vec<String> {
    let situation = &of.situation;
    let head = of.git.as_ref().and_then(|git| git.head.as_deref());
    let mut steps: Vec<String> = Vec::new();
    if let Some(failure) = &situation.failure {
        steps.push(format!(
            "The API failed before the request was answered ({}): go on with it.",
            cut_line(failure)
        ));
    }
    steps.extend(situation.operation.sentence(head).map(|sentence| cut_line(&sentence)));
    for question in &situation.asked {
        steps.push(format!(
            "The person was asked this and has not answered; ask again if it still matters: {}",
            cut_line(question)
        ));
    }
    for tool in &situation.open_tools {
        steps.push(format!("This call was cut off; check whether it took effect: {}", cut_line(tool)));
    }
    for work in &situation.background {
        steps.push(format!("This was still running when the conversation ended: {}", cut_line(work)));
    }
    steps.extend(scheduled(of));
    for prompt in &situation.queued {
        steps.push(format!("The person had typed this, and it was not answered: {}", cut_line(prompt)));
    }
    let with = |status| of.tasks.list.iter().filter(move |task| task.status == status);
    for task in with(TaskStatus::InProgress) {
        steps.push(format!("Finish: {}", cut_line(&task.subject)));
    }
    for task in with(TaskStatus::Pending).take(3) {
        steps.push(format!("Then: {}", cut_line(&task.subject)));
    }
    steps.truncate(LISTED);
    if steps.is_empty() {
        steps.push(match situation.turn_ended {
            true => {
                "Claude had ended its turn: see whether the goal is reached, and say what is left.".to_owned()
            }
            false => "Go on from the end of Recent Activity.".to_owned(),
        });
    }
    steps
}

/// Prompts that Claude had scheduled, newest first: they ended with the conversation.
pub(super) fn scheduled(of: &Capture) -> impl Iterator<Item = String> {
    of.scheduled.iter().rev().take(SCHEDULED).map(|one| {
        let id = if one.id.is_empty() { String::new() } else { format!(" (id {})", safe_line(&one.id)) };
        let (when, prompt) = (safe_line(&one.when), shorten(&safe_line(&one.prompt), 200));
        format!("You had scheduled this, and it ended with the conversation: {when} \"{prompt}\"{id}")
    })
}

fn goal(of: &Capture) -> String {
    match of.goal.as_deref().map(|goal| safe(cut_words(goal, GOAL_CAP))) {
        Some(goal) if !goal.trim().is_empty() => fenced(cut_bytes(&goal, GOAL_CAP)),
        _ => "No prompt of a person was seen.\n".to_owned(),
    }
}

/// The state of the conversation, one named value a line.
fn state_lines(of: &Capture) -> Vec<String> {
    let situation = &of.situation;
    let mut lines = Vec::new();
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            lines.push(format!("{name}: {}", cut_line(&value)));
        }
    };
    say("Reason", Some(situation.reason.clone()));
    say(
        "Context",
        situation.tokens.map(|tokens| match situation.window {
            Some(window) if window > 0 => {
                let percent = (u128::from(tokens) * 200 + u128::from(window)) / (u128::from(window) * 2);
                format!("{tokens} of {window} tokens ({percent} %)")
            }
            _ => format!("{tokens} tokens"),
        }),
    );
    say("Model", situation.model.clone());
    say("Permission mode", situation.permission_mode.clone());
    let operation = &situation.operation;
    say("Handoff", Some(operation.readiness().word().to_owned()));
    say("Operation", (operation.readiness() == Readiness::Partial).then(|| operation.word().to_owned()));
    let done = of.tasks.list.iter().filter(|task| task.status == TaskStatus::Completed).count();
    say(
        "Progress",
        (!of.tasks.list.is_empty()).then(|| format!("{done} of {} tasks done", of.tasks.list.len())),
    );
    say("Turn", Some(if situation.turn_ended { "ended" } else { "was going on" }.to_owned()));
    say(
        "Working directory then",
        situation
            .moved_to
            .as_ref()
            .map(|dir| format!("{dir} (the next one begins in {})", of.origin.working_dir)),
    );
    say("Stopped at", situation.failure.clone());
    say("Predecessor", of.origin.predecessor.as_ref().map(ToString::to_string));
    say("Unfinished tool calls", (!situation.open_tools.is_empty()).then(|| situation.open_tools.join("; ")));
    say("Still running then", (!situation.background.is_empty()).then(|| situation.background.join("; ")));
    lines.extend(of.checks.iter().rev().map(|check| {
        let verdict = &check.verdict;
        let summary = if verdict.summary.is_empty() {
            String::new()
        } else {
            format!(" ({})", cut_line(&verdict.summary))
        };
        let stale = if check.is_stale() { " (run before your last edits)" } else { "" };
        format!("Verified: {}: {}{summary}{stale}", verdict.outcome.word(), cut_line(&check.command))
    }));
    lines
}

fn state(of: &Capture) -> String {
    let mut text = list(&state_lines(of));
    let mut add = |heading: &str, body: String| {
        if !body.is_empty() {
            text.push_str(&format!("\n{heading}:\n\n{body}"));
        }
    };
    let own = of.own_words().unwrap_or_default();
    add("In Claude's own words", fenced_words(safe(cut_words(&own, SUMMARY_CAP)).trim()));
    let answers = of.answers.earlier.iter().rev().chain(&of.answers.before);
    let answers = answers.map(|answer| whole_line(&answer.text)).collect();
    add("What Claude had answered before, newest first", answers);
    let findings = of.answers.findings.iter().rev().chain(of.answers.findings_before.iter().rev());
    let findings = findings.map(|text| whole_line(text)).collect();
    add("What Claude had said while it worked, newest first", findings);
    let draft = of.situation.draft.as_deref().unwrap_or_default();
    add("In the prompt box, not sent", fenced_words(&safe(cut_words(draft, SUMMARY_CAP))));
    text
}

/// Safe words in a fence, at most [`SUMMARY_CAP`] bytes; empty if they are blank.
fn fenced_words(words: &str) -> String {
    if words.trim().is_empty() { String::new() } else { fenced(cut_bytes(words, SUMMARY_CAP)) }
}

fn todos(of: &Capture) -> String {
    let of_status = |status| of.tasks.list.iter().filter(move |task| task.status == status);
    // Open tasks come first, so that a cut does not remove them.
    let ordered = of_status(TaskStatus::InProgress).chain(of_status(TaskStatus::Pending));
    let count = ordered.clone().count();
    let line = |task: &crate::core::claude::tasks::Task| match task.id.as_str() {
        "" => format!("[{}] {}", task.status.word(), cut_line(&task.subject)),
        id => format!("[{}] #{} {}", task.status.word(), cut_line(id), cut_line(&task.subject)),
    };
    let mut text = list(&ordered.take(LISTED).map(line).collect::<Vec<_>>()) + &more(count);
    let done = of.tasks.done();
    if !done.is_empty() {
        text.push_str(if text.is_empty() {
            "Done, not to be done again:\n\n"
        } else {
            "\nDone, not to be done again:\n\n"
        });
        text.push_str(&list(&done));
    }
    text
}

/// The line that says how many entries are left out.
fn more(count: usize) -> String {
    if count > LISTED { format!("- and {} more\n", count - LISTED) } else { String::new() }
}

fn errors(of: &Capture) -> String {
    let line = |e: &ToolError| format!("{}: {}", cut_line(&e.tool), cut_line(&e.line));
    let gotchas = of.gotchas();
    let mut text = String::new();
    if !gotchas.is_empty() {
        text.push_str("Known gotchas:\n\n");
        text.push_str(&list(&gotchas));
        text.push('\n');
    }
    text + &list(&of.errors.iter().rev().map(line).collect::<Vec<_>>())
}

fn files(of: &Capture) -> String {
    let mut text = if of.files.written.is_empty() { String::new() } else { files_here(of) };
    if !of.files.before.is_empty() {
        text.push_str(if text.is_empty() {
            "Before this conversation:\n\n"
        } else {
            "\nBefore this conversation:\n\n"
        });
        text.push_str(&list(&of.files.before));
    }
    text
}

fn files_here(of: &Capture) -> String {
    let created: std::collections::HashSet<&str> = of.files.created.iter().map(String::as_str).collect();
    let line =
        |path: &String| if created.contains(path.as_str()) { format!("{path} (new)") } else { path.clone() };
    let lines: Vec<String> = of.files.written.iter().take(LISTED).map(line).collect();
    let noun = if of.files.count == 1 { "file" } else { "files" };
    format!("{} {noun} written, newest first:\n\n", of.files.count)
        + &list(&lines)
        + &more(of.files.written.len())
}

fn git(of: &Capture) -> String {
    let Some(git) = &of.git else { return String::new() };
    let of_dir = git.dir.as_deref().map(|dir| format!("Directory: {}", cut_line(dir)));
    let mut lines: Vec<String> = of_dir.into_iter().collect();
    if git.unknown {
        return list(&git.notes);
    }
    lines.extend([
        format!("Branch: {}", git.branch.as_deref().map_or_else(|| "(detached)".to_owned(), cut_line)),
        format!("Head: {}", git.head.as_deref().map_or_else(|| "(no commit)".to_owned(), cut_line)),
        format!("Changed: {}", git.changed.len()),
    ]);
    if let Some(upstream) = &git.upstream {
        let apart = git
            .ahead_behind
            .map(|(ahead, behind)| format!(" ({ahead} ahead, {behind} behind)"))
            .unwrap_or_default();
        lines.insert(1, format!("Upstream: {}{apart}", cut_line(upstream)));
    }
    lines.extend(git.in_progress.iter().chain(&git.notes).map(|note| cut_line(note)));
    if !git.new_files.is_empty() {
        lines.push(
            "New files (??) are in changes.patch, too, but for those that a line above names.".to_owned(),
        );
    }
    lines.extend(
        git.changed.iter().take(50).map(|(code, path)| format!("{} {}", cut_line(code), cut_line(path))),
    );
    let mut text = list(&lines);
    if !git.stat.trim().is_empty() {
        text.push('\n');
        text.push_str(&fenced(cut_bytes(safe(cut_words(&git.stat, SUMMARY_CAP)).trim_end(), SUMMARY_CAP)));
    }
    text
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}\n", cut_line(line))).collect()
}

/// A whole answer as a line of a list.
fn whole_line(text: &str) -> String {
    format!("- {}\n", cut_chars(&safe_line(text), ANSWER_CAP))
}

fn cut_line(text: &str) -> String {
    cut_chars(&safe_line(cut_words(text, 4096)), 500)
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::capture;
    use super::*;
    use crate::core::claude::tasks::Task;
    use crate::core::claude::transcript_facts::{AnsweredQuestion, TranscriptFacts};
    use crate::core::handoff::capture::GitState;

    #[test]
    fn next_steps_begin_with_what_was_cut_off() {
        let mut of = capture("g");
        assert_eq!(next_steps(&of), ["Go on from the end of Recent Activity."]);
        let task = |subject: &str, status| Task {
            after: Vec::new(),
            id: String::new(),
            subject: subject.into(),
            status,
        };
        of.tasks.list = vec![task("later", TaskStatus::Pending), task("now", TaskStatus::InProgress)];
        of.situation.queued = vec!["and\nthis".into()];
        of.situation.open_tools = vec!["Bash: make".into()];
        let steps = next_steps(&of);
        assert!(steps[0].ends_with(": Bash: make") && steps[1].ends_with(": and this"), "{steps:?}");
        assert_eq!(steps[2..], ["Finish: now", "Then: later"]);
        assert!(Section::Todos.body(&of).starts_with("- [in_progress] now\n- [pending] later\n"));
    }

    #[test]
    fn the_state_has_the_figures_and_claudes_words() {
        let mut of = capture("g");
        of.situation.tokens = Some(164_000);
        of.situation.window = Some(200_000);
        of.summary = Some("half done, password=hunter22".into());
        let text = Section::State.body(&of);
        assert!(text.contains("- Context: 164000 of 200000 tokens (82 %)\n"));
        assert!(!text.contains("Working directory then"));
        of.situation.moved_to = Some("/home/u/proj/.claude/worktrees/x".into());
        let moved = "- Working directory then: /home/u/proj/.claude/worktrees/x (the next one begins in \
                     /home/u/proj)\n";
        assert!(Section::State.body(&of).contains(moved));
        assert!(text.contains("```text\nhalf done, password=[redacted: password]\n```\n"), "{text}");
    }

    #[test]
    fn lists_are_newest_first_and_cut() {
        let mut of = capture("g");
        of.decisions = (0..20)
            .map(|n| AnsweredQuestion { question: format!("q{n}"), answer: "y".repeat(9000) })
            .collect();
        let text = Section::Decisions.body(&of);
        assert!(text.starts_with("- q19: yyy") && text.lines().count() == 10 && text.len() < 10 * 520);
        of.git = Some(GitState {
            head: Some("abc".into()),
            notes: vec!["no patch".into()],
            ..GitState::default()
        });
        assert_eq!(Section::Git.body(&of), "- Branch: (detached)\n- Head: abc\n- Changed: 0\n- no patch\n");
        of.git =
            Some(GitState { unknown: true, notes: vec!["git is too old".into()], ..GitState::default() });
        assert_eq!(Section::Git.body(&of), "- git is too old\n");
    }

    #[test]
    fn the_document_says_that_new_files_are_in_the_patch() {
        let mut of = capture("g");
        let mut git = GitState {
            patch: b"diff".to_vec(),
            changed: vec![("??".into(), "new".into())],
            ..GitState::default()
        };
        of.git = Some(git.clone());
        assert!(!Section::Git.body(&of).contains("changes.patch"));
        git.notes.push("not in changes.patch: big (over 256 KiB)".into());
        git.new_files = b"diff".to_vec();
        of.git = Some(git);
        let says = "- not in changes.patch: big (over 256 KiB)\n\
                    - New files (??) are in changes.patch, too, but for those that a line above names.\n- ?? \
                    new\n";
        assert!(Section::Git.body(&of).contains(says), "{}", Section::Git.body(&of));
    }

    #[test]
    fn facts_become_a_handoff() {
        let mut facts = TranscriptFacts::new();
        for line in [
            r#"{"type":"user","permissionMode":"plan","message":{"content":"Build it"}}"#,
            r#"{"type":"assistant","message":{"id":"m","model":"opus","usage":{"input_tokens":5},"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}}"#,
        ] {
            facts.feed(line.as_bytes());
        }
        let of = Capture::new(capture("").origin, &facts);
        assert_eq!(Section::Goal.body(&of), "```text\nBuild it\n```\n");
        assert_eq!(of.situation.open_tools, ["make"]);
        assert!(Section::State.body(&of).contains("- Permission mode: plan\n"));
        assert!(Section::RecentActivity.body(&of).contains("PERSON: Build it\n"));
    }
}
