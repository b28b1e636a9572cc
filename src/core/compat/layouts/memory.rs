//! Layout `memory` of source document 004: raw copies of the transcript in `.claude/memory/` of the project.
//! They are made when a handoff is saved, before a compaction and when a conversation ends.

use crate::core::claude::checks::CheckOutcome;
use crate::core::handoff::capture::Capture;
use crate::core::handoff::checkpoint::Phases;
use crate::core::handoff::sections::{Section, next_steps};
use crate::core::text::safe_text::{cut_chars, cut_words, safe_line, without_imports};
use crate::core::time::WallTime;

/// The directory of its files, below the project.
pub const DIR: &str = ".claude/memory";
/// The directory of the copies.
pub const RAW: &str = "raw";
/// The file with the path of the newest copy that nobody has reviewed.
pub const MARKER: &str = ".pending-backup";
/// The file with the paths of all copies that nobody has reviewed, the newest last, so that a second copy
/// does not hide the first.
pub const LIST: &str = ".pending-backups";
/// The log of the copies.
pub const LOG: &str = ".backup-log";
/// The file that Claude loads at every start if the project's CLAUDE.md imports it.
pub const CONTEXT: &str = "active-context.md";
/// How the line begins that says when the last session ended.
const ENDED: &str = "Last session ended: ";
/// The lines around the part that hopty rewrites each time. Claude does not load comments.
const BLOCK: &str = "<!-- hopty: written anew each time; your own text goes outside of these two lines -->\n";
const BLOCK_END: &str = "<!-- hopty: end -->\n";
/// How many paths the list keeps.
const LISTED: usize = 100;
/// How many entries a list in `active-context.md` has at most, because it is loaded at every start.
const NOTED: usize = 10;
/// The longest entry of such a list, in characters.
const NOTE_CHARS: usize = 300;
/// How the name of a session document begins and ends.
const DOCUMENT: (&str, &str) = ("session-", ".md");

/// Why a copy is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryReason {
    /// A handoff was saved.
    Handoff,
    /// A compaction is about to begin.
    PreCompact,
    /// The conversation ended; Claude's own word for the reason.
    Ended(String),
}

impl MemoryReason {
    /// The word in the file's name: small letters, digits and `_`, at most 32.
    pub fn word(&self) -> String {
        match self {
            MemoryReason::Handoff => "handoff".to_owned(),
            MemoryReason::PreCompact => "precompact".to_owned(),
            MemoryReason::Ended(word) => {
                let plain: String = word
                    .chars()
                    .take(32)
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
                    .collect();
                if plain.is_empty() { "other".to_owned() } else { plain }
            }
        }
    }
}

/// `YYYYMMDD_HHMMSS_<reason>.jsonl`; the `n`-th copy of a second has a number.
pub fn name(at: WallTime, reason: &MemoryReason, n: u32) -> String {
    let (stamp, word) = (at.compact().replace('-', "_"), reason.word());
    if n == 0 { format!("{stamp}_{word}.jsonl") } else { format!("{stamp}_{word}_{n}.jsonl") }
}

pub fn log_line(at: WallTime, reason: &MemoryReason, path: &str, bytes: u64) -> String {
    format!("[{}] {}: {path} ({bytes} bytes)\n", at.plain(), reason.word())
}

/// The text for a new conversation about a copy that waits.
pub fn pending(path: &str) -> String {
    format!(
        "SESSION_BACKUP_PENDING: A previous session backup exists at {path}\n\
         User should run /resume-latest to restore context, or /discard-backup to discard.\n"
    )
}

/// The name of the copy in a marker. The marker may have come with the project, so only a plain name in `raw`
/// is accepted, and no name can carry words of its own.
pub fn named(marker: &str) -> Option<&str> {
    let name = marker.lines().next()?.trim().rsplit('/').next()?;
    let stem = name.strip_suffix(".jsonl")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (!stem.is_empty() && stem.len() <= 80 && stem.bytes().all(plain)).then_some(name)
}

/// Whether a copy was made for a handoff. It is settled when the handoff is consumed.
pub fn is_of_handoff(name: &str) -> bool {
    name.contains("_handoff")
}

/// The list with one more path.
pub fn listed(old: &str, path: &str) -> String {
    let old: Vec<&str> = old.lines().filter(|line| !line.trim().is_empty() && *line != path).collect();
    let kept = &old[old.len().saturating_sub(LISTED - 1)..];
    kept.iter().chain([&path]).map(|line| format!("{line}\n")).collect()
}

/// The list without the copy of this name.
pub fn unlisted(old: &str, name: &str) -> String {
    old.lines().filter(|line| named(line) != Some(name)).map(|line| format!("{line}\n")).collect()
}

/// The state of a session in `active-context.md`, beside the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionNotes {
    state: Vec<String>,
    next_steps: Vec<String>,
    blockers: Vec<String>,
}

impl SessionNotes {
    #[must_use]
    pub fn of(of: &Capture) -> Self {
        let situation = &of.situation;
        let mut state: Vec<String> = of.goal.iter().map(|goal| format!("Request: {goal}")).collect();
        let Phases { done, total } = of.tasks.progress();
        if total > 0 {
            state.push(format!("Progress: {done} of {total} tasks done"));
        }
        if !of.files.written.is_empty() {
            let named: Vec<&str> = of.files.written.iter().take(NOTED).map(String::as_str).collect();
            state.push(format!("{} files written, newest first: {}", of.files.count, named.join(", ")));
        }
        let checks = of.checks.iter().rev().filter(|check| !check.is_stale());
        state.extend(
            checks
                .clone()
                .filter(|check| check.verdict.outcome != CheckOutcome::Failed)
                .map(|check| format!("Verified: {}: {}", check.verdict.outcome.word(), check.command)),
        );
        if !of.answers.last.trim().is_empty() {
            state.push(format!("Claude's last words: {}", of.answers.last));
        }
        let failed = checks.filter(|check| check.verdict.outcome == CheckOutcome::Failed);
        let mut blockers: Vec<String> = failed
            .map(|check| format!("A check fails: {} ({})", check.command, check.verdict.summary))
            .collect();
        blockers.extend(situation.asked.iter().map(|what| format!("Not answered yet: {what}")));
        blockers.extend(situation.failure.iter().map(|what| format!("The last turn stopped at: {what}")));
        blockers.extend(situation.open_tools.iter().map(|what| format!("No result is known of: {what}")));
        Self { state: noted(&state), next_steps: noted(&next_steps(of)), blockers: noted(&blockers) }
    }

    fn render(&self, at: WallTime) -> String {
        let list = |lines: &[String], none: &str| match lines {
            [] => format!("- {none}\n"),
            lines => lines.iter().map(|line| format!("- {line}\n")).collect(),
        };
        format!(
            "{BLOCK}## Where the session stood ({})\n\n{}\n## Its next steps\n\n{}\n## Its \
             blockers\n\n{}{BLOCK_END}",
            at.plain(),
            list(&self.state, "no prompt of a person was seen"),
            list(&self.next_steps, "none known"),
            list(&self.blockers, "none seen"),
        )
    }
}

/// Lines for the file: short, safe, and without words that Claude would take for a file to load.
fn noted(lines: &[String]) -> Vec<String> {
    let line = |text: &String| without_imports(&cut_chars(&safe_line(cut_words(text, 4096)), NOTE_CHARS));
    lines.iter().take(NOTED).map(line).collect()
}

/// `session-YYYY-MM-DD-HHMM.md`; the `n`-th document of a minute has a number.
pub fn document_name(at: WallTime, n: u32) -> String {
    let stamp = at.plain().replace(' ', "-").replace(':', "");
    let (minute, (begins, ends)) = (stamp.get(..15).unwrap_or(&stamp), DOCUMENT);
    if n == 0 { format!("{begins}{minute}{ends}") } else { format!("{begins}{minute}-{n}{ends}") }
}

/// Whether a file of this name is a session document. The project may have come with any name, so a name that
/// could carry words of its own is refused.
pub fn is_document(name: &str) -> bool {
    let stem = name.strip_prefix(DOCUMENT.0).and_then(|rest| rest.strip_suffix(DOCUMENT.1));
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    stem.is_some_and(|stem| !stem.is_empty() && stem.len() <= 80 && stem.bytes().all(plain))
}

/// A session as a document: the sections of a handoff, without what makes it a handoff.
pub fn document(of: &Capture, at: WallTime) -> String {
    let mut text = format!("# Session {}\n\nDirectory: {}\n", at.plain(), safe_line(&of.origin.working_dir));
    for section in Section::ALL {
        let body = section.body(of);
        if !body.is_empty() {
            text.push_str(&format!("\n## {}\n\n{}\n", section.title(), body.trim_end()));
        }
    }
    text
}

/// `active-context.md` with the state of the session and, if it has ended, the time of its end. Everything
/// else in the file stays.
pub fn context(old: &str, at: WallTime, ended: Option<&MemoryReason>, notes: &SessionNotes) -> String {
    let mut out = match ended {
        Some(reason) => with_end(old, at, reason),
        None if old.is_empty() => "# Active Context\n".to_owned(),
        None => old.to_owned(),
    };
    let block = notes.render(at);
    let begins = out.find(BLOCK);
    let ends = begins.and_then(|begins| Some(begins + out[begins..].find(BLOCK_END)? + BLOCK_END.len()));
    match begins.zip(ends) {
        Some((begins, ends)) => out.replace_range(begins..ends, &block),
        None => {
            out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
            out.push_str(&block);
        }
    }
    out
}

/// The text with the time of the end.
fn with_end(old: &str, at: WallTime, reason: &MemoryReason) -> String {
    let line = format!("{ENDED}{} ({})\n", at.plain(), reason.word());
    let mut out = String::with_capacity(old.len() + line.len() + 2);
    let mut there = false;
    for text in old.split_inclusive('\n') {
        match text.starts_with(ENDED) {
            true if there => {}
            true => {
                there = true;
                out.push_str(&line);
            }
            false => out.push_str(text),
        }
    }
    if !there {
        match out.as_str() {
            "" => out.push_str("# Active Context\n\n"),
            text if text.ends_with("\n\n") => {}
            text if text.ends_with('\n') => out.push('\n'),
            _ => out.push_str("\n\n"),
        }
        out.push_str(&line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::tasks::{Task, TaskStatus};
    use crate::core::handoff::document::tests::capture;

    fn at() -> WallTime {
        WallTime::parse("2026-11-20T14:30:05Z").unwrap()
    }

    #[test]
    fn a_copys_name_says_when_and_why() {
        assert_eq!(name(at(), &MemoryReason::PreCompact, 0), "20261120_143005_precompact.jsonl");
        assert_eq!(
            name(at(), &MemoryReason::Ended("prompt_input_exit".into()), 0),
            "20261120_143005_prompt_input_exit.jsonl"
        );
        assert_eq!(
            name(at(), &MemoryReason::Ended("../../x\u{1b}Y".into()), 2),
            "20261120_143005_______x_y_2.jsonl"
        );
        assert_eq!(name(at(), &MemoryReason::Ended(String::new()), 0), "20261120_143005_other.jsonl");
        assert_eq!(
            log_line(at(), &MemoryReason::Handoff, "/p/x", 5),
            "[2026-11-20 14:30:05] handoff: /p/x (5 bytes)\n"
        );
    }

    #[test]
    fn a_settled_copy_leaves_the_list() {
        let list = "/p/raw/20260101_120000_clear.jsonl\n/p/raw/20260101_120001_handoff.jsonl\n";
        assert_eq!(unlisted(list, "20260101_120001_handoff.jsonl"), "/p/raw/20260101_120000_clear.jsonl\n");
        assert_eq!(unlisted(list, "other.jsonl"), list);
    }

    #[test]
    fn a_marker_names_a_copy_and_nothing_else() {
        assert_eq!(
            named("/p/.claude/memory/raw/20260101_120000_clear.jsonl\n"),
            Some("20260101_120000_clear.jsonl")
        );
        assert_eq!(named("20260101_120000.jsonl"), Some("20260101_120000.jsonl"));
        for text in [
            "", "\n", "/etc/passwd", "x\ny.jsonl", "raw/..", "Run rm -rf now.jsonl", ".jsonl",
            "a\u{1b}b.jsonl",
        ] {
            assert_eq!(named(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_list_is_bounded_and_the_newest_is_last() {
        assert_eq!(listed("/a\n/b\n", "/a"), "/b\n/a\n");
        let long: String = (0..300).map(|n| format!("/{n}\n")).collect();
        let new = listed(&long, "/new");
        assert_eq!((new.lines().count(), new.lines().last()), (LISTED, Some("/new")));
    }

    #[test]
    fn the_exit_is_one_line_of_the_context() {
        let reason = MemoryReason::Ended("logout".into());
        let line = "Last session ended: 2026-11-20 14:30:05 (logout)\n";
        assert_eq!(with_end("", at(), &reason), format!("# Active Context\n\n{line}"));
        assert_eq!(with_end("# Mine\nNext: x", at(), &reason), format!("# Mine\nNext: x\n\n{line}"));
        let again = with_end(&format!("# Mine\n\n{ENDED}long ago\nmore\n"), at(), &reason);
        assert_eq!(again, format!("# Mine\n\n{line}more\n"));
    }

    #[test]
    fn the_context_describes_the_session_and_keeps_other_text() {
        let mut of = capture("Build the pier. See @/etc/passwd, password=hunter22");
        of.tasks.list = vec![
            Task {
                after: Vec::new(),
                id: "1".into(),
                subject: "deck".into(),
                status: TaskStatus::InProgress,
            },
            Task {
                after: Vec::new(),
                id: "2".into(),
                subject: "piles".into(),
                status: TaskStatus::Completed,
            },
        ];
        of.situation.asked = vec!["Which stone?".into()];
        let notes = SessionNotes::of(&of);
        let once = context("# Mine\nkeep\n", at(), None, &notes);
        for part in [
            "# Mine\nkeep\n",
            "## Where the session stood (2026-11-20 14:30:05)\n\n- Request: Build the pier. See \
             (at)/etc/passwd",
            "- Progress: 1 of 2 tasks done\n",
            "## Its next steps\n\n- ",
            "- Finish: deck\n",
            "## Its blockers\n\n- Not answered yet: Which stone?\n",
        ] {
            assert!(once.contains(part), "{part:?} is not in {once}");
        }
        assert!(!once.contains('@') && !once.contains("hunter22"), "{once}");
        let later =
            context(&format!("{once}\n## By Claude\nmore\n"), at(), Some(&MemoryReason::PreCompact), &notes);
        assert_eq!(later.matches("## Where the session stood").count(), 1);
        assert!(
            later.ends_with("## By Claude\nmore\n\nLast session ended: 2026-11-20 14:30:05 (precompact)\n")
        );
        let none = context("", at(), None, &SessionNotes::default());
        assert!(
            none.starts_with("# Active Context\n\n<!-- hopty") && none.contains("- none seen\n"),
            "{none}"
        );
        // If somebody removed an end mark, no text is lost.
        let torn = once.replace(BLOCK_END, "");
        assert!(context(&torn, at(), None, &notes).starts_with(&torn));
    }

    #[test]
    fn session_documents_are_recognized_by_their_names() {
        assert_eq!(document_name(at(), 0), "session-2026-11-20-1430.md");
        assert_eq!(document_name(at(), 2), "session-2026-11-20-1430-2.md");
        for name in ["session-2026-11-20-1430.md", "session-pier_2.md"] {
            assert!(is_document(name), "{name}");
        }
        for name in ["session-.md", "session-a b.md", "session-@x.md", "active-context.md", "session-x.txt"] {
            assert!(!is_document(name), "{name}");
        }
        let text = document(&capture("Build the pier."), at());
        assert!(
            text.starts_with("# Session 2026-11-20 14:30:05\n\nDirectory: /home/u/proj\n\n## Goal\n"),
            "{text}"
        );
        assert!(text.contains("\n## Next Steps\n"));
    }
}
