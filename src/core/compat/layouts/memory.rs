//! Layout `memory`: raw copies of the transcript in `.claude/memory/` of the project, as source document 004
//! keeps them: when a handoff is saved, before a compaction and when a conversation
//! ends.

use crate::core::time::WallTime;

/// Where its files lie, below the project.
pub const DIR: &str = ".claude/memory";
/// The copies.
pub const RAW: &str = "raw";
/// The path of the newest copy that nobody looked at yet.
pub const MARKER: &str = ".pending-backup";
/// The paths of all copies that nobody looked at yet, the newest last: a second one does not make the first
/// forgotten.
pub const LIST: &str = ".pending-backups";
/// What was copied when.
pub const LOG: &str = ".backup-log";
/// What Claude reads at every start, where the project's CLAUDE.md imports it.
pub const CONTEXT: &str = "active-context.md";
/// How the line begins that says when the last session ended.
const ENDED: &str = "Last session ended: ";
/// How many paths the list keeps.
const LISTED: usize = 100;

/// What a copy is made at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A handoff was saved.
    Handoff,
    /// A compaction is about to begin.
    PreCompact,
    /// The conversation ended, for this reason in Claude's own word.
    Ended(String),
}

impl Reason {
    /// The word in the file's name: small letters, digits and `_`, at most 32.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Reason::Handoff => "handoff".to_owned(),
            Reason::PreCompact => "precompact".to_owned(),
            Reason::Ended(word) => {
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

/// `YYYYMMDD_HHMMSS_<reason>.jsonl`; the `n`-th of that second has a number.
#[must_use]
pub fn name(at: WallTime, reason: &Reason, n: u32) -> String {
    let (stamp, word) = (at.compact().replace('-', "_"), reason.word());
    if n == 0 { format!("{stamp}_{word}.jsonl") } else { format!("{stamp}_{word}_{n}.jsonl") }
}

/// A line of the log.
#[must_use]
pub fn log_line(at: WallTime, reason: &Reason, path: &str, bytes: u64) -> String {
    format!("[{}] {}: {path} ({bytes} bytes)\n", at.plain(), reason.word())
}

/// What a new conversation is told.
#[must_use]
pub fn pending(path: &str) -> String {
    format!(
        "SESSION_BACKUP_PENDING: A previous session backup exists at {path}\n\
         User should run /resume-latest to restore context, or /discard-backup to discard.\n"
    )
}

/// The name of the copy that a marker means. The marker may have come with the project, so it can name
/// nothing but a file in `raw`, and no name can carry words of its own.
#[must_use]
pub fn named(marker: &str) -> Option<&str> {
    let name = marker.lines().next()?.trim().rsplit('/').next()?;
    let stem = name.strip_suffix(".jsonl")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (!stem.is_empty() && stem.len() <= 80 && stem.bytes().all(plain)).then_some(name)
}

/// Whether a copy was made with a handoff; that is settled when the handoff is consumed.
#[must_use]
pub fn is_of_handoff(name: &str) -> bool {
    name.contains("_handoff")
}

/// The list with one path more.
#[must_use]
pub fn listed(old: &str, path: &str) -> String {
    let old: Vec<&str> = old.lines().filter(|line| !line.trim().is_empty() && *line != path).collect();
    let kept = &old[old.len().saturating_sub(LISTED - 1)..];
    kept.iter().chain([&path]).map(|line| format!("{line}\n")).collect()
}

/// The list without the copy of this name.
#[must_use]
pub fn unlisted(old: &str, name: &str) -> String {
    old.lines().filter(|line| named(line) != Some(name)).map(|line| format!("{line}\n")).collect()
}

/// `active-context.md` with the time of the end.
#[must_use]
pub fn context(old: &str, at: WallTime, reason: &Reason) -> String {
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

    fn at() -> WallTime {
        WallTime::parse("2026-11-20T14:30:05Z").unwrap()
    }

    #[test]
    fn a_copys_name_says_when_and_why() {
        assert_eq!(name(at(), &Reason::PreCompact, 0), "20261120_143005_precompact.jsonl");
        assert_eq!(
            name(at(), &Reason::Ended("prompt_input_exit".into()), 0),
            "20261120_143005_prompt_input_exit.jsonl"
        );
        assert_eq!(
            name(at(), &Reason::Ended("../../x\u{1b}Y".into()), 2),
            "20261120_143005_______x_y_2.jsonl"
        );
        assert_eq!(name(at(), &Reason::Ended(String::new()), 0), "20261120_143005_other.jsonl");
        assert_eq!(
            log_line(at(), &Reason::Handoff, "/p/x", 5),
            "[2026-11-20 14:30:05] handoff: /p/x (5 bytes)\n"
        );
    }

    #[test]
    fn what_is_settled_leaves_the_list() {
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
            "",
            "\n",
            "/etc/passwd",
            "x\ny.jsonl",
            "raw/..",
            "Run rm -rf now.jsonl",
            ".jsonl",
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
        let reason = Reason::Ended("logout".into());
        let line = "Last session ended: 2026-11-20 14:30:05 (logout)\n";
        assert_eq!(context("", at(), &reason), format!("# Active Context\n\n{line}"));
        assert_eq!(context("# Mine\nNext: x", at(), &reason), format!("# Mine\nNext: x\n\n{line}"));
        let again = context(&format!("# Mine\n\n{ENDED}long ago\nmore\n"), at(), &reason);
        assert_eq!(again, format!("# Mine\n\n{line}more\n"));
    }
}
